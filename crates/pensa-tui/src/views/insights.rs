//! Insights: what holds up the most, when all may be done, and the numbers that say so.

use std::collections::HashSet;
use std::time::Duration;

use pensa_core::triage::{
    Cascade, ChainStep, Forecast, Insights, Plan, PriorityConflict, Ranked, StaleClaim, StartIssue, Unit,
};

use super::{TuiView, ViewContext, brief_row};
use crate::keys::UserCommand;
use crate::rows::{ListRow, RowList, piece};
use crate::store::{Answer, StoreQuery};
use crate::text::age;
use crate::theme::Tone;

#[derive(Debug, Default)]
pub(crate) struct InsightsView {
    found: Option<(Box<Insights>, Box<Plan>)>,
    /// The rows whose numbers are shown
    opened: HashSet<String>,
    rows: RowList,
}

impl InsightsView {
    fn make(&self) -> Vec<ListRow> {
        let Some((found, plan)) = &self.found else { return Vec::new() };
        let mut rows = Vec::new();
        if let Some(forecast) = &plan.forecast {
            rows.push(ListRow::heading("Forecast"));
            rows.extend(forecast_rows(forecast));
        }
        let mut add = |title: &str, of: Vec<(ListRow, String)>| {
            if of.is_empty() {
                return;
            }
            rows.push(ListRow::heading(title));
            for (mut row, numbers) in of {
                row.key = format!("{title} {}", row.key);
                if self.opened.contains(&row.key) {
                    row.lines.push(vec![piece(format!("    {numbers}"), Tone::Good)]);
                }
                rows.push(row);
            }
        };
        add("Start now", plan.start.iter().map(start).collect());
        add("Bottlenecks", found.bottlenecks.iter().map(|one| ranked(one, "betweenness")).collect());
        add("Keystones", found.keystones.iter().map(|one| ranked(one, "PageRank")).collect());
        let longest = match found.critical_path.unit {
            Unit::Issues => format!("Longest chain, {} issues", found.critical_path.length),
            Unit::Seconds => format!("Longest chain, {}", age(found.critical_path.length.saturating_mul(1000))),
        };
        add(&longest, found.critical_path.issues.iter().map(step).collect());
        add(
            "Without which the graph falls apart",
            found.articulation_points.iter().map(|one| ranked(one, "neighbours")).collect(),
        );
        add("Stale claims", found.stale_claims.iter().map(stale).collect());
        add("Hold up the most", found.blocked_cascades.iter().map(cascade).collect());
        add("Less urgent than what waits for them", found.priority_conflicts.iter().map(conflict).collect());
        if rows.is_empty() {
            rows.push(ListRow::note("nothing waits for anything"));
        }
        rows
    }
}

fn forecast_rows(forecast: &Forecast) -> Vec<ListRow> {
    let day = |at: pensa_core::Timestamp| at.to_string()[..10].to_owned();
    let Forecast { date, earliest, latest, left, closed, days, per_day, deviation } = forecast;
    vec![
        ListRow::note(format!(
            "  all {left} closed by {}, between {} and {}",
            day(*date),
            day(*earliest),
            day(*latest)
        )),
        ListRow::note(format!("  {closed} closed in {days} days: {per_day:.2} a day, deviation {deviation:.2}")),
    ]
}

fn ranked(one: &Ranked, score: &str) -> (ListRow, String) {
    let Ranked { issue, score: value, waits_for, blocks, behind, frees } = one;
    let numbers =
        format!("{score} {value:.4}; waits for {waits_for}, blocks {blocks}, behind it {behind}, frees {frees}");
    (brief_row(issue.id.to_string(), issue, "", format!("  {behind} behind it")), numbers)
}

fn start(one: &StartIssue) -> (ListRow, String) {
    let numbers =
        format!("track {}, frees {}, {} issues in the longest chain behind it", one.track, one.frees, one.depth);
    (brief_row(one.issue.id.to_string(), &one.issue, "", format!("  frees {}", one.frees)), numbers)
}

fn step(one: &ChainStep) -> (ListRow, String) {
    let numbers = format!("its own length {}, slack {}", one.length, one.slack);
    (brief_row(one.issue.id.to_string(), &one.issue, "", String::new()), numbers)
}

fn stale(one: &StaleClaim) -> (ListRow, String) {
    let who = one.assignee.as_deref().unwrap_or("nobody");
    let idle = age(one.idle_hours.saturating_mul(3_600_000));
    let numbers = format!("unchanged since {}, {} hours; {} behind it", one.updated_at, one.idle_hours, one.behind);
    (brief_row(one.issue.id.to_string(), &one.issue, "", format!("  {who}, idle for {idle}")), numbers)
}

fn cascade(one: &Cascade) -> (ListRow, String) {
    let numbers = format!("blocks {}, behind it {}, frees {}, depth {}", one.blocks, one.behind, one.frees, one.depth);
    (brief_row(one.issue.id.to_string(), &one.issue, "", format!("  {} behind it", one.behind)), numbers)
}

fn conflict(one: &PriorityConflict) -> (ListRow, String) {
    let numbers = format!("{} {} waits for it; {} behind it", one.because_of.id, one.because_of.priority, one.behind);
    (brief_row(one.issue.id.to_string(), &one.issue, "", format!("  should be {}", one.should_be)), numbers)
}

impl TuiView for InsightsView {
    fn query(&self) -> StoreQuery {
        StoreQuery::Insights
    }

    fn take(&mut self, answer: Answer, cx: &ViewContext) {
        if let Answer::Insights(found, plan) = answer {
            self.found = Some((found, plan));
            self.resize(cx);
        }
    }

    fn resize(&mut self, cx: &ViewContext) {
        self.rows.set(self.make(), cx.at);
    }

    fn summary(&self) -> String {
        let Some((found, _)) = &self.found else { return String::new() };
        let stuck = if found.stuck > 0 { format!(", {} stuck in cycles", found.stuck) } else { String::new() };
        format!("{} issues not closed, {} waits{stuck}; x shows the numbers", found.issues, found.waits)
    }

    fn list(&self) -> Option<&RowList> {
        Some(&self.rows)
    }

    fn list_mut(&mut self) -> Option<&mut RowList> {
        Some(&mut self.rows)
    }

    fn command(&mut self, command: UserCommand, cx: &ViewContext) -> Option<bool> {
        if command != UserCommand::Numbers {
            return None;
        }
        if let Some(key) = self.rows.selected().map(|row| row.key.clone())
            && !self.opened.remove(&key)
        {
            self.opened.insert(key);
        }
        self.resize(cx);
        Some(false)
    }

    fn pause(&self) -> Duration {
        Duration::from_secs(1)
    }
}
