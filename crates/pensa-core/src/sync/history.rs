//! Merges the optional history file `events.jsonl`, which is append-only.
//!
//! No store imports it. Each line is an event of the clone that wrote it, so a merge is the union of all lines, ordered
//! by time.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::sync::file::{bad_line, lines, refuse_marker};

pub const EVENTS_FILE: &str = "events.jsonl";

/// The part of a line that determines its order.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    created_at: Cow<'a, str>,
}

/// The union of the lines of several files, ordered by time. Returns an error for a line that is not an event.
pub fn merge_history(path: &Path, files: &[&[u8]]) -> Result<Vec<u8>> {
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

    fn merged(files: &[&str]) -> Result<String> {
        let files: Vec<&[u8]> = files.iter().map(|file| file.as_bytes()).collect();
        merge_history(Path::new("events.jsonl"), &files).map(|bytes| String::from_utf8(bytes).expect("UTF-8"))
    }

    const A: &str = "{\"id\":1,\"created_at\":\"2026-01-01T00:00:00.000Z\"}\n";
    const B: &str = "{\"id\":1,\"created_at\":\"2026-01-02T00:00:00.000Z\"}\n";
    const C: &str = "{\"id\":2,\"created_at\":\"2026-01-02T00:00:00.000Z\"}\n";

    #[test]
    fn merged_history_has_every_line_once_in_order_of_time() {
        let all = format!("{A}{B}{C}");
        for files in [[A, B, C], [C, B, A], [&all, &all, ""], [&format!("{C}{A}"), &format!("{B}{A}"), B]] {
            assert_eq!(merged(&files).expect("lines"), all, "{files:?}");
        }
        assert_eq!(merged(&[&A.replace('\n', "\r\n"), A]).expect("lines"), A);
        assert_eq!(merged(&[]).expect("nothing"), "");
    }

    #[test]
    fn error_names_the_line_that_is_not_an_event() {
        for bad in ["<<<<<<< ours\n", "{\"id\":1\n", "[]\n", "{\"created_at\":1}\n", "\u{0}\n"] {
            let error = merged(&[A, &format!("{A}{bad}")]).expect_err(bad);
            assert!(error.message.contains("events.jsonl line 2"), "{error}");
        }
    }
}
