//! Reading a history, line by line, and cutting it into sessions at its markers.
//!
//! The order is that of the lines: a compaction writes two records with the same time.

use std::io::{BufRead, BufReader, Read};
use std::mem;
use std::path::Path;

use pensa_core::Timestamp;
use serde_json::{Map, Value};

use super::{Entry, OpenedBy, Session};
use crate::files::{object, open, time, without_mark};

/// Longest line that is read; a longer one counts as corrupt and is passed over.
const LONGEST: u64 = 128 << 20;
/// The text of the marker that a compaction wrote. The summary is in the message behind it.
const COMPACTED: &str = "Session context compacted.";

/// The sessions of a history, at least one, and how many lines were skipped.
pub(super) fn read(path: &Path) -> Result<(Vec<Session>, usize), String> {
    let mut history = History::default();
    if let Some(file) = open(path)? {
        history
            .add(BufReader::with_capacity(1 << 16, file), LONGEST)
            .map_err(|error| format!("can not read history.jsonl: {error}"))?;
    }
    Ok(history.end())
}

#[derive(Debug, Default)]
struct History {
    sessions: Vec<Session>,
    skipped: usize,
}

impl History {
    fn add(&mut self, mut from: impl BufRead, longest: u64) -> std::io::Result<()> {
        let mut line = Vec::new();
        let mut is_first = true;
        loop {
            line.clear();
            if from.by_ref().take(longest).read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            if line.len() as u64 == longest && !line.ends_with(b"\n") {
                self.skipped += 1;
                from.skip_until(b'\n')?;
                continue;
            }
            let bytes = if mem::take(&mut is_first) { without_mark(&line) } else { &line };
            match record(bytes) {
                Some((kind, record)) => self.record(kind, record),
                None => self.skipped += 1,
            }
        }
    }

    fn record(&mut self, kind: String, mut data: Map<String, Value>) {
        let at = data.get("at").and_then(time);
        let opened_by = match &*kind {
            "start" => Some(OpenedBy::Start),
            "reset" => Some(OpenedBy::Reset),
            _ => None,
        };
        if let Some(opened_by) = opened_by {
            let message = data.get("message").and_then(Value::as_str).filter(|message| !message.is_empty());
            let reset_message = message.filter(|_| opened_by == OpenedBy::Reset).map(str::to_owned);
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

    fn end(mut self) -> (Vec<Session>, usize) {
        self.last(None);
        (self.sessions, self.skipped)
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
            let (sessions, skipped) = history.end();
            let kinds: Vec<_> = sessions[0].entries.iter().map(|entry| &*entry.kind).collect();
            assert_eq!((kinds, skipped), (vec!["a", "b"], 2));
        }
    }
}
