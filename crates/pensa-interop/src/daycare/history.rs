//! Reading a history, line by line, and cutting it into sessions at its markers.
//!
//! The order is that of the lines: a compaction writes two records with the same time.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use pensa_core::Timestamp;
use serde_json::{Map, Value};

use super::{Entry, OpenedBy, Session};
use crate::files::{object, open, time, without_mark};

/// Longest line that is read; a longer one counts as corrupt and is passed over.
const LONGEST: u64 = 128 << 20;
/// The text of the marker that a compaction wrote. The summary is in the message behind it.
const COMPACTED: &str = "Session context compacted.";

/// Most lines that are named one by one.
const MAX_NAMED: usize = 20;

/// The sessions of a history.
#[derive(Debug)]
pub(super) struct Sessions {
    /// At least one.
    pub(super) sessions: Vec<Session>,
    /// Blank lines too.
    pub(super) lines_skipped: usize,
}

/// Reads a history; what was left out of it is added to the notes.
pub(super) fn read(path: &Path, notes: &mut Vec<String>) -> Result<Sessions, String> {
    let mut history = History::default();
    if let Some(file) = open(path)? {
        history
            .add(BufReader::with_capacity(1 << 16, file), LONGEST)
            .map_err(|error| format!("can not read history.jsonl: {error}"))?;
    }
    Ok(history.end(notes))
}

#[derive(Debug, Default)]
struct History {
    sessions: Vec<Session>,
    skipped: usize,
    /// Lines that say something and could not be read.
    unreadable: Vec<usize>,
    /// Fields of markers, which have no place in a session.
    left_out: Vec<String>,
}

impl History {
    fn add(&mut self, mut from: impl BufRead, longest: u64) -> std::io::Result<()> {
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            if from.by_ref().take(longest).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            if line.len() as u64 == longest && !line.ends_with(b"\n") {
                self.skip(number);
                from.skip_until(b'\n')?;
                continue;
            }
            let bytes = if number == 1 { without_mark(&line) } else { &line };
            match record(bytes) {
                Some((kind, record)) => self.record(number, kind, record),
                None if bytes.trim_ascii().is_empty() => self.skipped += 1,
                None => self.skip(number),
            }
        }
        Ok(())
    }

    fn skip(&mut self, line: usize) {
        self.skipped += 1;
        self.unreadable.push(line);
    }

    fn record(&mut self, number: usize, kind: String, mut data: Map<String, Value>) {
        let at = data.get("at").and_then(time);
        let opened_by = match &*kind {
            "start" => Some(OpenedBy::Start),
            "reset" => Some(OpenedBy::Reset),
            _ => None,
        };
        if let Some(opened_by) = opened_by {
            let is_message =
                |value: &Value| opened_by == OpenedBy::Reset && value.as_str().is_some_and(|text| !text.is_empty());
            let reset_message = match data.get("message").filter(|value| is_message(value)) {
                Some(_) => data.shift_remove("message").and_then(|message| message.as_str().map(str::to_owned)),
                None => None,
            };
            data.retain(|name, value| !(value.is_null() || *value == "" || name == "at" && at.is_some()));
            if !data.is_empty() && self.left_out.len() < MAX_NAMED {
                let fields: Vec<&str> = data.keys().map(String::as_str).collect();
                self.left_out
                    .push(format!("history.jsonl line {number}: no place for {} of a {kind}", fields.join(", ")));
            }
            self.sessions.push(Session { opened_by, at, reset_message, entries: Vec::new() });
            return;
        }
        if at.is_some() {
            data.shift_remove("at");
        }
        self.last(at).push(Entry { kind, at, data });
    }

    /// The last session. If there is none yet, one is opened at the time `at`.
    fn last(&mut self, at: Option<Timestamp>) -> &mut Session {
        if self.sessions.is_empty() {
            self.sessions.push(Session { opened_by: OpenedBy::Start, at, reset_message: None, entries: Vec::new() });
        }
        let last = self.sessions.len() - 1;
        &mut self.sessions[last]
    }

    fn end(mut self, notes: &mut Vec<String>) -> Sessions {
        self.last(None);
        if !self.unreadable.is_empty() {
            let shown: Vec<String> = self.unreadable.iter().take(MAX_NAMED).map(ToString::to_string).collect();
            let more = if self.unreadable.len() > MAX_NAMED { " and more" } else { "" };
            notes.push(format!("history.jsonl: could not read line {}{more}", shown.join(", ")));
        }
        notes.extend(self.left_out);
        Sessions { sessions: self.sessions, lines_skipped: self.skipped }
    }
}

impl Session {
    fn push(&mut self, entry: Entry) {
        let says_so = self.entries.is_empty() && self.reset_message.as_deref() == Some(COMPACTED);
        if says_so && entry.kind == "user_message" && entry.at.is_some() && entry.at == self.at {
            self.opened_by = OpenedBy::Compaction;
        }
        self.entries.push(entry);
    }
}

/// The record on a line and its type, which is taken out of it.
fn record(line: &[u8]) -> Option<(String, Map<String, Value>)> {
    let Ok(Value::Object(mut data)) = object(line) else {
        return None;
    };
    match data.shift_remove("type") {
        Some(Value::String(kind)) if !kind.is_empty() => Some((kind, data)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_one_is_read() {
        let long = format!("{{\"type\":\"{}\"}}", "x".repeat(200));
        for end in ["\n", "\r\n", ""] {
            let mut history = History::default();
            let text = format!("{{\"type\":\"a\"}}\n{long}\n{{\"type\":\"b\"}}\n{long}{end}");
            history.add(text.as_bytes(), 50).expect("readable");
            let mut notes = Vec::new();
            let Sessions { sessions, lines_skipped } = history.end(&mut notes);
            let kinds: Vec<_> = sessions[0].entries.iter().map(|entry| &*entry.kind).collect();
            assert_eq!((kinds, lines_skipped), (vec!["a", "b"], 2));
            assert_eq!(notes, ["history.jsonl: could not read line 2, 4"]);
        }
    }
}
