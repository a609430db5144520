//! Reads a history line by line and splits it into sessions at its markers.
//!
//! The order of lines counts, not their times: a compaction writes two records with the same time.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use pensa_core::Timestamp;
use serde_json::{Map, Value};

use super::{DaycareSession, HistoryEntry, OpenedBy};
use crate::files::{object, open, time, without_bom};

/// Limit on the length of a line. Longer lines are skipped as corrupt.
const MAX_LINE: u64 = 128 << 20;
/// The text in the marker of a compaction. The next message has the summary.
const COMPACTION_MESSAGE: &str = "Session context compacted.";

/// Limit on the lines named in notes.
const MAX_NAMED: usize = 20;

/// The content of a history.
#[derive(Debug)]
pub(super) struct ParsedHistory {
    /// Never empty.
    pub(super) sessions: Vec<DaycareSession>,
    /// Including blank lines.
    pub(super) lines_skipped: usize,
}

/// Reads a history. Adds a note on what is left out.
pub(super) fn read(path: &Path, notes: &mut Vec<String>) -> Result<ParsedHistory, String> {
    let mut history = HistoryReader::default();
    if let Some(file) = open(path)? {
        history
            .add(BufReader::with_capacity(1 << 16, file), MAX_LINE)
            .map_err(|error| format!("can not read history.jsonl: {error}"))?;
    }
    Ok(history.finish(notes))
}

#[derive(Debug, Default)]
struct HistoryReader {
    sessions: Vec<DaycareSession>,
    skipped: usize,
    /// Numbers of the lines that could not be parsed.
    unreadable: Vec<usize>,
    /// Notes on fields of markers that a session cannot store.
    left_out: Vec<String>,
}

impl HistoryReader {
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
            let bytes = if number == 1 { without_bom(&line) } else { &line };
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
            self.sessions.push(DaycareSession { opened_by, at, reset_message, entries: Vec::new() });
            return;
        }
        if at.is_some() {
            data.shift_remove("at");
        }
        self.last(at).push(HistoryEntry { kind, at, data });
    }

    /// The last session. Opens one at time `at` if there is none yet.
    fn last(&mut self, at: Option<Timestamp>) -> &mut DaycareSession {
        if self.sessions.is_empty() {
            self.sessions.push(DaycareSession {
                opened_by: OpenedBy::Start,
                at,
                reset_message: None,
                entries: Vec::new(),
            });
        }
        let last = self.sessions.len() - 1;
        &mut self.sessions[last]
    }

    fn finish(mut self, notes: &mut Vec<String>) -> ParsedHistory {
        self.last(None);
        if !self.unreadable.is_empty() {
            let shown: Vec<String> = self.unreadable.iter().take(MAX_NAMED).map(ToString::to_string).collect();
            let more = if self.unreadable.len() > MAX_NAMED { " and more" } else { "" };
            notes.push(format!("history.jsonl: could not read line {}{more}", shown.join(", ")));
        }
        notes.extend(self.left_out);
        ParsedHistory { sessions: self.sessions, lines_skipped: self.skipped }
    }
}

impl DaycareSession {
    fn push(&mut self, entry: HistoryEntry) {
        let may_be_compaction = self.entries.is_empty() && self.reset_message.as_deref() == Some(COMPACTION_MESSAGE);
        if may_be_compaction && entry.kind == "user_message" && entry.at.is_some() && entry.at == self.at {
            self.opened_by = OpenedBy::Compaction;
        }
        self.entries.push(entry);
    }
}

/// Parses a line: the type of the record, and its other fields. `None` if it is not a record.
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
    fn too_long_lines_are_skipped_and_later_lines_are_read() {
        let long = format!("{{\"type\":\"{}\"}}", "x".repeat(200));
        for end in ["\n", "\r\n", ""] {
            let mut history = HistoryReader::default();
            let text = format!("{{\"type\":\"a\"}}\n{long}\n{{\"type\":\"b\"}}\n{long}{end}");
            history.add(text.as_bytes(), 50).expect("readable");
            let mut notes = Vec::new();
            let ParsedHistory { sessions, lines_skipped } = history.finish(&mut notes);
            let kinds: Vec<_> = sessions[0].entries.iter().map(|entry| &*entry.kind).collect();
            assert_eq!((kinds, lines_skipped), (vec!["a", "b"], 2));
            assert_eq!(notes, ["history.jsonl: could not read line 2, 4"]);
        }
    }
}
