//! `pn insights`, `pn plan`, `pn why`, `pn impact` and `pn diff`: what matters among the issues that are not closed.

use clap::Subcommand;
use pensa_core::Result;
use pensa_core::ops::triage as op;
use pensa_core::time::Span;
use pensa_core::triage::diff::{ChangedIssue, Diff};
use pensa_core::triage::{
    Chain, ChainStep, Forecast, Held, Impact, Insights, IssueBrief, Plan, Ranked, Ranking, State, Track, Unit, Why,
};
use serde_json::Value;

use crate::cli::GlobalOptions;
use crate::output::Output;
use crate::render::{Render, Screen, counted, fit_line, when};

/// Tracks of a plan that a person is shown, and issues of each.
const TRACKS: usize = 10;
const STEPS: usize = 5;

/// Commands that say what matters and why.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Triage {
    Insights(op::Insights),
    Plan(op::Plan),
    Why(op::Why),
    Impact(op::Impact),
    Diff(op::Diff),
}

impl Triage {
    pub(super) fn run(&self, options: &GlobalOptions, output: Output) -> Result<()> {
        match self {
            Self::Insights(op) => super::run_op(options, output, op),
            Self::Plan(op) => super::run_op(options, output, op),
            Self::Why(op) => super::run_op(options, output, op),
            Self::Impact(op) => super::run_op(options, output, op),
            Self::Diff(op) => super::run_op(options, output, op),
        }
    }
}

/// An issue behind its numbers.
fn line(screen: &mut Screen, numbers: &str, issue: &IssueBrief) {
    let before = numbers.chars().count() + issue.id.as_str().len() + 4;
    screen.plain(numbers).id(&issue.id).plain(" ").priority(issue.priority).plain(" ");
    screen.text(&fit_line(&issue.title, before)).end();
}

fn heading(screen: &mut Screen, title: &str, explained: &str) {
    screen.heading(title).plain(": ").faint(explained).end();
}

fn ids<'a>(issues: impl IntoIterator<Item = &'a IssueBrief>) -> Vec<String> {
    issues.into_iter().map(|issue| issue.id.to_string()).collect()
}

/// A length or slack in what it counts.
fn length(count: i64, unit: Unit) -> String {
    match unit {
        Unit::Issues => counted(count, "issue", "issues"),
        Unit::Seconds if count == 0 => "0s".to_owned(),
        Unit::Seconds => Span::from_millis(count * 1000).to_string(),
    }
}

impl Render for Insights {
    fn render(&self, screen: &mut Screen) {
        let (issues, waits) = (counted(self.issues, "open issue", "open issues"), counted(self.waits, "wait", "waits"));
        screen.plain(&format!("{issues}, {waits} between them")).end();
        if self.stuck > 0 {
            screen.error(&format!("{} in or behind a cycle; pn dep cycles shows it", self.stuck)).end();
        }
        let estimate = self.sources.map_or_else(String::new, |sources| format!(" (estimated from {sources} issues)"));
        ranked(screen, "Bottlenecks", &format!("most chains run through them{estimate}"), "between", &self.bottlenecks);
        ranked(screen, "Keystones", "much depends on them", "pagerank", &self.keystones);
        self.critical_path.render_into(screen);
        let explained = format!("without them the graph falls into parts; {} in all", self.articulation_count);
        ranked(screen, "Articulation points", &explained, "neighbours", &self.articulation_points);
        if !self.stale_claims.is_empty() {
            heading(screen, "Stale claims", "nothing happened for long");
            for claim in &self.stale_claims {
                let name = claim.assignee.as_deref().unwrap_or("nobody");
                let numbers = format!("  {:>5} h  behind {:<4} @{} ", claim.idle_hours, claim.behind, name);
                line(screen, &pensa_core::text::printable_line(&numbers), &claim.issue);
            }
        }
        if !self.blocked_cascades.is_empty() {
            heading(screen, "Blocked cascades", "ready issues that hold up the most");
            screen.faint("  behind  frees  depth").end();
            for cascade in &self.blocked_cascades {
                let numbers = format!("  {:>6} {:>6} {:>6}  ", cascade.behind, cascade.frees, cascade.depth);
                line(screen, &numbers, &cascade.issue);
            }
        }
        if !self.priority_conflicts.is_empty() {
            let all = format!("less urgent than what waits for them; {} in all", self.priority_conflict_count);
            heading(screen, "Priorities that contradict the graph", &all);
            for conflict in &self.priority_conflicts {
                let because = format!("  {} for {}  ", conflict.should_be, conflict.because_of.id);
                line(screen, &because, &conflict.issue);
            }
        }
    }

    fn ids(&self) -> Vec<String> {
        ids(self.bottlenecks.iter().chain(&self.keystones).map(|ranked| &ranked.issue))
    }
}

fn ranked(screen: &mut Screen, title: &str, explained: &str, score: &str, issues: &[Ranked]) {
    if issues.is_empty() {
        return;
    }
    heading(screen, title, explained);
    screen.faint(&format!("  {score:>10}  blocks  behind  frees")).end();
    for Ranked { issue, score, blocks, behind, frees, .. } in issues {
        let score = if score.fract() == 0.0 { format!("{score}") } else { format!("{score:.5}") };
        line(screen, &format!("  {score:>10} {blocks:>7} {behind:>7} {frees:>6}  "), issue);
    }
}

/// A part of an answer.
trait RenderInto {
    fn render_into(&self, screen: &mut Screen);
}

impl RenderInto for Chain {
    fn render_into(&self, screen: &mut Screen) {
        if self.issues.len() < 2 {
            return;
        }
        heading(screen, "Critical path", &format!("{}, first to do first", length(self.length, self.unit)));
        const SHOWN: usize = 12;
        for ChainStep { issue, length: own, .. } in self.issues.iter().take(SHOWN) {
            let own =
                if self.unit == Unit::Seconds { format!("  {:>6}  ", length(*own, self.unit)) } else { "  ".into() };
            line(screen, &own, issue);
        }
        if self.issues.len() > SHOWN {
            screen.faint(&format!("  and {} more", self.issues.len() - SHOWN)).end();
        }
        if !self.slack.is_empty() {
            screen.faint("  slack of others: how much later they may be done").end();
            for ChainStep { issue, slack, .. } in self.slack.iter().take(STEPS) {
                line(screen, &format!("  {:>9}  ", length(*slack, self.unit)), issue);
            }
        }
    }
}

impl Render for Plan {
    fn render(&self, screen: &mut Screen) {
        let issues = counted(self.issues, "open issue", "open issues");
        let tracks = counted(self.tracks.len() as u64, "track", "tracks");
        screen.plain(&format!("{issues} in {tracks}")).end();
        if !self.start.is_empty() {
            heading(screen, "Start now", "by what it frees");
            screen.faint("  track  frees  depth").end();
            for start in &self.start {
                let numbers = format!("  {:>5} {:>6} {:>6}  ", start.track, start.frees, start.depth);
                line(screen, &numbers, &start.issue);
            }
        }
        self.tracks.iter().take(TRACKS).for_each(|track| track.render_into(screen));
        if let Some(rest) = self.tracks.get(TRACKS..).filter(|rest| !rest.is_empty()) {
            let issues: usize = rest.iter().map(|track| track.issues.len()).sum();
            let rest = format!(
                "and {} more with {}; --json has all",
                counted(rest.len() as u64, "track", "tracks"),
                counted(issues as u64, "issue", "issues")
            );
            screen.faint(&rest).end();
        }
        self.longest_chain.render_into(screen);
        match &self.forecast {
            Some(forecast) => forecast.render_into(screen),
            None if self.issues > 0 => {
                screen.faint("no forecast: fewer than 3 issues closed in the last 90 days").end()
            }
            None => {}
        }
    }

    fn ids(&self) -> Vec<String> {
        ids(self.start.iter().map(|start| &start.issue))
    }
}

impl RenderInto for Track {
    fn render_into(&self, screen: &mut Screen) {
        let issues = counted(self.issues.len() as u64, "issue", "issues");
        heading(screen, &format!("Track {}", self.track), &format!("{issues}, longest chain {}", self.depth));
        for step in self.issues.iter().take(STEPS) {
            line(screen, "  ", &step.issue);
        }
        if self.issues.len() > STEPS {
            screen.faint(&format!("  and {} more", self.issues.len() - STEPS)).end();
        }
    }
}

impl RenderInto for Forecast {
    fn render_into(&self, screen: &mut Screen) {
        let day = |at: pensa_core::Timestamp| at.to_string()[..10].to_owned();
        let range = format!("between {} and {}", day(self.earliest), day(self.latest));
        screen.heading("Forecast").plain(&format!(" {} ", day(self.date))).faint(&format!("{range} (8 of 10)")).end();
        let Self { left, closed, days, per_day, deviation, .. } = self;
        let basis =
            format!("{closed} closed in {days} days: {per_day:.2} a day, deviation {deviation:.2}; {left} left");
        screen.plain("  ").faint(&basis).end();
    }
}

impl Render for Why {
    fn render(&self, screen: &mut Screen) {
        line(screen, "", &self.issue);
        let name = || self.assignee.clone().unwrap_or_else(|| "nobody".to_owned());
        match self.state {
            State::Ready => screen.plain("ready: it is open and waits for nothing").end(),
            State::Blocked => {
                screen
                    .plain("blocked: it waits for ")
                    .plain(&counted(self.waits_for.len() as u64, "issue", "issues"))
                    .end();
            }
            State::InProgress => screen.plain("in progress: ").text(&name()).plain(" works on it").end(),
            State::Deferred => {
                let until = self.defer.map(when).unwrap_or_default();
                screen.plain("deferred until ").plain(&until).end();
            }
            State::Report => screen.plain("a bug: never listed as ready, closed with what fixes it").end(),
            State::Closed => screen.plain("closed").end(),
        }
        held(screen, "waits for", &self.waits_for);
        if self.begin_with != self.waits_for {
            held(screen, "begin with", &self.begin_with);
        }
        if let Some(place) = &self.rank {
            place.render_into(screen);
        }
    }

    fn ids(&self) -> Vec<String> {
        ids([&self.issue])
    }
}

fn held(screen: &mut Screen, title: &str, issues: &[Held]) {
    for Held { issue, assignee } in issues.iter().take(2 * STEPS) {
        let name = assignee.as_ref().map(|name| format!(" @{name}")).unwrap_or_default();
        let before = format!("  {title} {} ", issue.status);
        let taken = before.len() + issue.id.as_str().len() + 4 + name.chars().count();
        screen.plain(&before).id(&issue.id).plain(" ").priority(issue.priority).plain(" ");
        screen.text(&fit_line(&issue.title, taken)).faint(&name).end();
    }
    if issues.len() > 2 * STEPS {
        screen.faint(&format!("  and {} more", issues.len() - 2 * STEPS)).end();
    }
}

impl RenderInto for Ranking {
    fn render_into(&self, screen: &mut Screen) {
        if let (Some(priority), Some(impact)) = (self.by_priority, self.by_impact) {
            let ready = self.ready;
            screen.plain(&format!("  place {priority} of {ready} by priority and age, {impact} by impact")).end();
        }
        if let Some(ahead) = &self.ahead {
            line(screen, "  right after ", ahead);
        }
        let Self { blocks, behind, frees, depth, .. } = self;
        screen.plain(&format!("  blocks {blocks} directly, {behind} in all; longest chain behind it {depth}")).end();
        screen.plain(&format!("  closing it, and then each issue that it frees, makes {frees} ready")).end();
        let estimate = if self.approximate { " (estimated)" } else { "" };
        let Self { issues, page_rank, page_rank_place, betweenness, betweenness_place, .. } = self;
        screen.plain(&format!("  pagerank {page_rank:.5}, place {page_rank_place} of {issues}")).end();
        screen.plain(&format!("  betweenness {betweenness:.5}{estimate}, place {betweenness_place} of {issues}")).end();
        match self.slack {
            Some(0) => screen.plain("  on the critical path: no slack").end(),
            Some(slack) => screen.plain(&format!("  slack {}", length(slack, self.unit))).end(),
            None => {}
        }
        if let Some(urgent) = &self.more_urgent {
            line(screen, "  less urgent than what waits for it: ", urgent);
        }
    }
}

impl Render for Impact {
    fn render(&self, screen: &mut Screen) {
        line(screen, "", &self.issue);
        let (frees, behind) = (self.frees, self.behind);
        screen.plain(&format!("closing it makes {frees} ready, of {behind} that wait for it")).end();
        for wave in &self.waves {
            heading(screen, &format!("Wave {}", wave.wave), if wave.wave == 1 { "at once" } else { "then" });
            wave.issues.iter().for_each(|issue| line(screen, "  ", issue));
        }
        if !self.still_blocked.is_empty() {
            heading(screen, "Still blocked", "they wait for others too");
            for blocked in &self.still_blocked {
                line(screen, "  ", &blocked.issue);
                blocked.waits_for.iter().for_each(|issue| line(screen, "    waits for ", issue));
            }
        }
    }

    fn ids(&self) -> Vec<String> {
        ids(self.waves.iter().flat_map(|wave| &wave.issues))
    }
}

impl Render for Diff {
    fn render(&self, screen: &mut Screen) {
        screen.plain(&format!("from {} to {}", when(self.since), when(self.until))).end();
        let Self { created, closed, reopened, deleted, changed, .. } = self;
        let lists = [
            ("Created", created),
            ("Closed", closed),
            ("Reopened", reopened),
            ("Deleted", deleted),
            ("Changed", changed),
        ];
        for (title, issues) in lists.into_iter().filter(|(_, issues)| !issues.is_empty()) {
            heading(screen, title, &issues.len().to_string());
            issues.iter().for_each(|issue| issue.render_into(screen));
        }
    }

    fn ids(&self) -> Vec<String> {
        let Self { created, closed, reopened, deleted, changed, .. } = self;
        let mut ids: Vec<String> = [created, closed, reopened, deleted, changed]
            .into_iter()
            .flatten()
            .map(|issue| issue.id.to_string())
            .collect();
        let mut seen = std::collections::HashSet::new();
        ids.retain(|id| seen.insert(id.clone()));
        ids
    }
}

impl RenderInto for ChangedIssue {
    fn render_into(&self, screen: &mut Screen) {
        let title = self.title.as_deref().unwrap_or_default();
        let taken = self.id.as_str().len() + self.actor.chars().count() + 5;
        screen.plain("  ").id(&self.id).plain(" ").text(&fit_line(title, taken)).plain(" ");
        screen.faint(&format!("@{}", self.actor)).end();
        let shown = |value: &Value| match value {
            Value::Null => "nothing".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        for (name, change) in &self.fields {
            let change = format!("{name}: {} → {}", shown(&change["old"]), shown(&change["new"]));
            screen.plain("    ").text(&fit_line(&change, 4)).end();
        }
        for (words, ids) in [("waits for", &self.waits_for), ("no longer waits for", &self.no_longer_waits_for)] {
            for id in ids {
                screen.plain("    ").plain(words).plain(" ").id(id).end();
            }
        }
        if self.comments > 0 {
            screen.plain("    ").plain(&counted(self.comments, "comment", "comments")).end();
        }
    }
}
