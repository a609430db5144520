//! The history of issues as git carries it, if a project wants that: lines that are only ever added.
//!
//! No store takes it in. A line is an event of the clone that caused it, so two files become one by having the lines of
//! both, in the order of their times.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::sync::file::{bad_line, lines, refuse_marker};

pub const EVENTS_FILE: &str = "events.jsonl";

/// What the order of lines needs to know.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    created_at: Cow<'a, str>,
}

/// The lines of several files, each once.
pub fn united(path: &Path, files: &[&[u8]]) -> Result<Vec<u8>> {
    let mut all = BTreeSet::new();
    for line in files.iter().flat_map(|file| lines(file)) {
        let read = |()| serde_json::from_slice::<Event<'_>>(line.text).map_err(|e| Error::invalid(e.to_string()));
        let event = refuse_marker(line).and_then(read).map_err(|why| bad_line(path, line.number, why))?;
        all.insert((event.created_at, line.text));
    }
    let mut bytes = Vec::new();
    for (_, line) in all {
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn united_of(files: &[&str]) -> Result<String> {
        let files: Vec<&[u8]> = files.iter().map(|file| file.as_bytes()).collect();
        united(Path::new("events.jsonl"), &files).map(|bytes| String::from_utf8(bytes).expect("UTF-8"))
    }

    const A: &str = "{\"id\":1,\"created_at\":\"2026-01-01T00:00:00.000Z\"}\n";
    const B: &str = "{\"id\":1,\"created_at\":\"2026-01-02T00:00:00.000Z\"}\n";
    const C: &str = "{\"id\":2,\"created_at\":\"2026-01-02T00:00:00.000Z\"}\n";

    #[test]
    fn files_become_one_with_every_line_once_in_the_order_of_their_times() {
        let all = format!("{A}{B}{C}");
        for files in [[A, B, C], [C, B, A], [&all, &all, ""], [&format!("{C}{A}"), &format!("{B}{A}"), B]] {
            assert_eq!(united_of(&files).expect("lines"), all, "{files:?}");
        }
        assert_eq!(united_of(&[&A.replace('\n', "\r\n"), A]).expect("lines"), A);
        assert_eq!(united_of(&[]).expect("nothing"), "");
    }

    #[test]
    fn a_line_that_is_no_event_is_named() {
        for bad in ["<<<<<<< ours\n", "{\"id\":1\n", "[]\n", "{\"created_at\":1}\n", "\u{0}\n"] {
            let error = united_of(&[A, &format!("{A}{bad}")]).expect_err(bad);
            assert!(error.message.contains("events.jsonl line 2"), "{error}");
        }
    }
}
