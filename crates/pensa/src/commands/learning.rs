//! `pn remember`, whose standard input may be text or JSON records of other tools, and `pn learning`.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use pensa_client::memory;
use pensa_core::id::LearningId;
use pensa_core::learning::contradiction::Contradiction;
use pensa_core::learning::upkeep::{LearningStats, ReviewItem, ReviewReason};
use pensa_core::learning::{FileMove, Learning, LearningDetail, MergedSource};
use pensa_core::ops::learning::{self, Forgotten, ImportLearnings, Remember, Remembered};
use pensa_core::ops::upkeep;
use pensa_core::recall::{Explanation, Recalled};
use pensa_core::session::Object;
use pensa_core::{Error, Op, Result};
use serde_json::Value;

use super::{run_op, stdin};
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{ListItem, Render, Screen, counted, field, list_item, when};

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum LearningCommand {
    List(learning::List),
    Show(learning::Show),
    Verify(learning::Verify),
    Review(ReviewArgs),
    Conflicts(upkeep::Conflicts),
    Supersede(upkeep::Supersede),
    Agree(upkeep::Agree),
    Merge(upkeep::Merge),
    Stats(upkeep::Stats),
    Forget(learning::Forget),
}

#[derive(Debug, Args)]
pub(crate) struct ReviewArgs {
    #[command(flatten)]
    op: upkeep::Review,
    /// Have learnings follow their files to the names that git knows
    #[arg(long)]
    follow_renames: bool,
}

pub(super) fn run(options: &GlobalOptions, output: Output, command: LearningCommand) -> Result<()> {
    match command {
        LearningCommand::List(op) => run_op(options, output, &op),
        LearningCommand::Show(op) => run_op(options, output, &op),
        LearningCommand::Verify(op) => run_op(options, output, &op),
        LearningCommand::Review(args) => review(options, output, &args),
        LearningCommand::Conflicts(op) => run_op(options, output, &op),
        LearningCommand::Supersede(op) => run_op(options, output, &op),
        LearningCommand::Agree(op) => run_op(options, output, &op),
        LearningCommand::Merge(op) => run_op(options, output, &op),
        LearningCommand::Stats(op) => run_op(options, output, &op),
        LearningCommand::Forget(op) => run_op(options, output, &op),
    }
}

fn review(options: &GlobalOptions, output: Output, args: &ReviewArgs) -> Result<()> {
    let (client, dir) = (connect::client(options)?, connect::cwd()?);
    let moves = memory::renames_of_gone_files(&client, &dir)?;
    if args.follow_renames && !moves.is_empty() {
        let moved = client.call(&upkeep::MoveFiles { moves: moves.clone() })?;
        output.note(&format!("note: {} renamed files", counted(moved.len(), "learning follows", "learnings follow")));
    }
    output.answer(&memory::review(&client, &dir, &args.op)?)?;
    if !args.follow_renames {
        for FileMove { from, to } in &moves {
            output.note(&format!("note: {from} is {to} now; --follow-renames has learnings follow"));
        }
    }
    Ok(())
}

pub(super) fn remember(options: &GlobalOptions, output: Output, mut op: Remember) -> Result<()> {
    if op.text == "-" {
        op.text = stdin::read_within(ImportLearnings::MAX_BODY)?;
        if op.text.trim_start().starts_with('{') {
            refuse_flags(&op)?;
            let take = ImportLearnings { records: records(&op.text)?, no_redact: op.no_redact };
            return run_op(options, output, &take);
        }
    }
    let remembered = connect::client(options)?.call(&op)?;
    output.answer(&remembered)?;
    if remembered.recalled {
        output.note(&format!("note: it was recalled from {}, and is not stored again", remembered.learning.id));
    } else if remembered.merged {
        output.note(&format!("note: it was known, and is now in revision {}", remembered.learning.revision));
    }
    if remembered.redactions > 0 {
        output.note(&format!("note: {} replaced; --no-redact keeps what looks like a secret", remembered.redactions));
    }
    Ok(())
}

/// Refuses flags together with records: a record has these fields itself.
fn refuse_flags(op: &Remember) -> Result<()> {
    let plain = Remember { text: op.text.clone(), no_redact: op.no_redact, ..Remember::default() };
    if serde_json::to_value(op).ok() == serde_json::to_value(plain).ok() {
        return Ok(());
    }
    Err(Error::invalid("records on standard input say by themselves what kind they are and where they are from")
        .hint("leave out the flags, or write the text itself"))
}

/// Parses concatenated JSON objects.
fn records(text: &str) -> Result<Vec<Object>> {
    let mut records = Vec::new();
    for record in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let at = records.len() + 1;
        match record.map_err(|e| Error::invalid(format!("record {at} is not JSON: {e}")))? {
            Value::Object(record) => records.push(record),
            _ => return Err(Error::invalid(format!("record {at} is not an object"))),
        }
    }
    Ok(records)
}

fn line(learning: &Learning, screen: &mut Screen) {
    screen.id(&learning.id).plain(&format!(" {:<8} ", learning.kind)).text(&learning.text);
    for tag in &learning.tags {
        screen.plain(" ").faint(&format!("#{tag}"));
    }
}

impl Render for Learning {
    fn render(&self, screen: &mut Screen) {
        line(self, screen);
        screen.end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for Remembered {
    fn render(&self, screen: &mut Screen) {
        self.learning.render(screen);
    }

    fn ids(&self) -> Vec<String> {
        self.learning.ids()
    }
}

list_item!(Remembered, "learning", "learnings");

impl ListItem for Recalled {
    const NOUN: [&str; 2] = ["match", "matches"];

    fn render_item(&self, screen: &mut Screen) {
        let kind = self.learning.as_ref().map_or(self.kind.as_str(), |learning| learning.learning_kind.as_str());
        screen.id(&self.id).plain(&format!(" {kind:<8} "));
        marked(&self.snippet, screen);
        for tag in self.learning.iter().flat_map(|learning| &learning.tags) {
            screen.plain(" ").faint(&format!("#{tag}"));
        }
        screen.plain(if self.cut { " …" } else { "" }).end();
        screen.faint(&recalled_from(self)).end();
        for entry in &self.context {
            screen.faint(&format!("    #{}: {}", entry.id, entry.snippet)).end();
        }
        if let Some(why) = &self.explain {
            screen.faint(&explained(self.score, why)).end();
        }
    }

    fn item_ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

/// Writes a text whose matches are between marks.
fn marked(snippet: &str, screen: &mut Screen) {
    for (at, piece) in snippet.split("**").enumerate() {
        if at % 2 == 1 {
            screen.heading(piece);
        } else {
            screen.text(piece);
        }
    }
}

/// Where a learning is from, in one line.
fn origin(learning: &Learning) -> String {
    let mut line = format!("  from {} at {}", learning.actor, when(learning.created_at));
    let about = [
        ("issue", learning.issue_id.as_ref().map(ToString::to_string)),
        ("work", learning.work.as_ref().map(ToString::to_string)),
        ("session", learning.session_id.as_ref().map(ToString::to_string)),
        ("in", (!learning.files.is_empty()).then(|| learning.files.join(" "))),
    ];
    for (name, value) in about {
        line.push_str(&value.map(|value| format!(", {name} {value}")).unwrap_or_default());
    }
    line
}

/// Where a match is from, in one line.
fn recalled_from(hit: &Recalled) -> String {
    let from = if hit.actor.is_empty() { String::new() } else { format!("from {} ", hit.actor) };
    let mut line = format!("  {from}at {}", when(hit.at));
    let about = [
        ("issue", hit.issue_id.as_ref().map(ToString::to_string)),
        ("work", hit.learning.as_ref().and_then(|learning| learning.work.as_ref()).map(ToString::to_string)),
        ("session", hit.session_id.as_ref().map(ToString::to_string)),
    ];
    for (name, id) in about {
        if let Some(id) = id {
            line.push_str(&format!(", {name} {id}"));
        }
    }
    if let Some(learning) = hit.learning.as_ref().filter(|learning| !learning.files.is_empty()) {
        line.push_str(&format!(", in {}", learning.files.join(" ")));
    }
    line
}

/// What made a score, in one line.
fn explained(score: i64, why: &Explanation) -> String {
    let terms: Vec<String> = why.terms.iter().map(|term| format!("{} {:.2}", term.term, term.score)).collect();
    format!(
        "    score {score}: {}; in {}; near {:.2}, beside {:.2}, meaning {:.2}, age and impact ×{:.2}",
        terms.join(", "),
        why.fields.join(", "),
        why.nearness,
        why.links,
        why.vector,
        why.recency
    )
}

impl ListItem for LearningDetail {
    const NOUN: [&str; 2] = ["learning", "learnings"];

    fn render_item(&self, screen: &mut Screen) {
        line(&self.learning, screen);
        if let Some(by) = &self.superseded_by {
            screen.plain(" ").faint(&format!("superseded by {by}"));
        }
        screen.end();
    }

    fn item_ids(&self) -> Vec<String> {
        vec![self.learning.id.to_string()]
    }
}

impl Render for LearningDetail {
    fn render(&self, screen: &mut Screen) {
        let learning = &self.learning;
        screen.id(&learning.id).plain(&format!(" {} {} impact", learning.kind, learning.impact)).end();
        screen.block(&learning.text);
        field(screen, "tags", (!learning.tags.is_empty()).then(|| learning.tags.join(" ")));
        field(screen, "files", (!learning.files.is_empty()).then(|| learning.files.join(" ")));
        field(screen, "issue", learning.issue_id.as_ref().map(ToString::to_string));
        field(screen, "work", learning.work.as_ref().map(ToString::to_string));
        field(screen, "session", learning.session_id.as_ref().map(ToString::to_string));
        field(screen, "tracker", learning.linear_id.clone());
        field(screen, "worth", learning.value.as_ref().and_then(|value| value.description.clone()));
        field(screen, "recorded by", Some(learning.actor.clone()));
        field(screen, "recorded at", Some(when(learning.created_at)));
        field(screen, "revision", Some(learning.revision.to_string()));
        field(screen, "verified", learning.verified_at.map(when));
        field(screen, "useful", uses(learning));
        field(screen, "expires", learning.expires_at.map(when));
        field(screen, "supersedes", learning.supersedes.as_ref().map(ToString::to_string));
        field(screen, "superseded by", self.superseded_by.as_ref().map(ToString::to_string));
        field(screen, "cites", ids_of(&learning.derived_from));
        field(screen, "agrees with", ids_of(&learning.agrees_with));
        field(screen, "once called", (!learning.former_files.is_empty()).then(|| learning.former_files.join(" ")));
        for source in &learning.sources {
            field(screen, "merged from", Some(merged_from(source)));
        }
    }

    fn ids(&self) -> Vec<String> {
        self.learning.ids()
    }
}

fn ids_of(ids: &[LearningId]) -> Option<String> {
    (!ids.is_empty()).then(|| ids.iter().map(LearningId::as_str).collect::<Vec<_>>().join(" "))
}

fn uses(learning: &Learning) -> Option<String> {
    let last = learning.last_used()?;
    Some(format!("{}, last {}", counted(learning.useful.len(), "time", "times"), when(last)))
}

/// Where a duplicate came from, in one line.
fn merged_from(source: &MergedSource) -> String {
    let mut line = format!("{} at {}", source.actor, when(source.at));
    let about = [
        ("issue", source.issue_id.as_ref().map(ToString::to_string)),
        ("work", source.work.as_ref().map(ToString::to_string)),
        ("session", source.session_id.as_ref().map(ToString::to_string)),
        ("as", source.learning.as_ref().map(ToString::to_string)),
    ];
    for (name, id) in about {
        line.push_str(&id.map(|id| format!(", {name} {id}")).unwrap_or_default());
    }
    line
}

impl Render for Forgotten {
    fn render(&self, screen: &mut Screen) {
        for id in self.descendants.iter().chain([&self.id]) {
            screen.plain("forgot ").id(id).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.descendants.iter().chain([&self.id]).map(ToString::to_string).collect()
    }
}

list_item!(Learning, "learning", "learnings");

impl ListItem for Contradiction {
    const NOUN: [&str; 2] = ["contradiction", "contradictions"];

    fn render_item(&self, screen: &mut Screen) {
        for (name, learning) in [("newer", &self.newer), ("older", &self.older)] {
            screen.plain(&format!("{name} "));
            line(learning, screen);
            screen.end();
            screen.faint(&origin(learning)).end();
        }
    }

    fn item_ids(&self) -> Vec<String> {
        vec![format!("{} {}", self.newer.id, self.older.id)]
    }
}

impl ListItem for ReviewItem {
    const NOUN: [&str; 2] = ["learning to review", "learnings to review"];

    fn render_item(&self, screen: &mut Screen) {
        line(&self.learning, screen);
        screen.end();
        let reason = |reason: &ReviewReason| match reason {
            ReviewReason::FilesGone => format!("gone: {}", self.gone_files.join(" ")),
            ReviewReason::Contradicted => format!("contradicted, see pn learning conflicts {}", self.learning.id),
            ReviewReason::Duplicate => {
                let of = self.duplicate_of.as_ref().map(ToString::to_string).unwrap_or_default();
                format!("says the same as {of}")
            }
            ReviewReason::Unused => format!("not used since {}", when(self.learning.fresh_at())),
            ReviewReason::Unverified => "never verified".to_owned(),
        };
        let reasons: Vec<String> = self.reasons.iter().map(reason).collect();
        screen.faint(&format!("  {}", reasons.join("; "))).end();
    }

    fn item_ids(&self) -> Vec<String> {
        vec![self.learning.id.to_string()]
    }
}

impl Render for LearningStats {
    fn render(&self, screen: &mut Screen) {
        let by = |counts: &BTreeMap<String, usize>| {
            counts.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
        };
        let Self { total, valid, expired, superseded, .. } = self;
        screen.plain(&counted(*total, "learning", "learnings"));
        screen.plain(&format!(": {valid} valid, {expired} expired, {superseded} superseded")).end();
        field(screen, "kinds", Some(by(&self.kinds)).filter(|kinds| !kinds.is_empty()));
        field(screen, "impact", Some(by(&self.impacts)).filter(|impacts| !impacts.is_empty()));
        for (name, count) in [
            ("verified", self.verified),
            ("useful", self.useful),
            ("merged", self.merged),
            ("derived", self.derived),
            ("about files", self.about_files),
            ("conflicts", self.contradictions),
            ("to review", self.to_review),
        ] {
            field(screen, name, Some(count.to_string()));
        }
        for one in &self.most_useful {
            screen.id(&one.id).plain(&format!(" {} ", counted(one.uses, "use", "uses"))).text(&one.text).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.most_useful.iter().map(|one| one.id.to_string()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_may_share_a_line_or_span_lines() {
        for text in ["{\"a\":1}\n{\"b\":2}\n", "{\"a\":1}{\"b\":2}", "{\n  \"a\": 1\n}\n\n{\"b\":2}"] {
            assert_eq!(records(text).expect("two").len(), 2, "{text}");
        }
        for (bad, message) in [("{\"a\":1}\n[]", "record 2 is not an object"), ("{\"a\":1}\n{", "record 2 is not JSON")]
        {
            assert!(records(bad).expect_err(message).message.starts_with(message));
        }
        assert!(records(&"{\"a\":".repeat(100_000)).is_err(), "too deep");
    }
}
