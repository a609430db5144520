//! `pn remember`, whose standard input may be text or JSON records of other tools, and `pn learning`.

use pensa_core::learning::{Learning, LearningDetail};
use pensa_core::ops::learning::{self, Forgotten, ImportLearnings, Remember, Remembered};
use pensa_core::recall::{Explanation, Recalled};
use pensa_core::session::Object;
use pensa_core::{Error, Op, Result};
use serde_json::Value;

use super::{run_op, stdin};
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{ListItem, Render, Screen, field, list_item, when};

op_subcommands!(LearningCommand {
    List(learning::List),
    Show(learning::Show),
    Verify(learning::Verify),
    Forget(learning::Forget),
});

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
    if remembered.merged {
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
        field(screen, "expires", learning.expires_at.map(when));
        field(screen, "supersedes", learning.supersedes.as_ref().map(ToString::to_string));
        field(screen, "superseded by", self.superseded_by.as_ref().map(ToString::to_string));
    }

    fn ids(&self) -> Vec<String> {
        self.learning.ids()
    }
}

impl Render for Forgotten {
    fn render(&self, screen: &mut Screen) {
        screen.plain("forgot ").id(&self.id).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
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
