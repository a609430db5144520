//! A record as a line of a JSONL file: its document with its id, and beside it what is needed to know its revision.
//!
//! Lines of other tools have no such notes; a deletion is then a line that says `"deleted":true`. Reading the files is
//! left to others.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{RESERVED, Record, View, check_id};
use crate::error::Result;
use crate::json;
use crate::session::object::Object;
use crate::time::Timestamp;

/// What stands in a line besides the document.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Notes {
    rev: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    updated_at: Option<Timestamp>,
    /// Whether the record is gone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    deleted: bool,
    /// Whether the document has no id of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    bare: bool,
}

/// What a line says of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub id: String,
    pub rev: Option<i64>,
    pub updated_at: Option<Timestamp>,
    /// Its document; none if it is gone.
    pub data: Option<Object>,
}

impl Line {
    /// Whether this line, which comes later, has the last word. Merged files are in no order, so a line that says it is
    /// older is believed.
    pub fn supersedes(&self, before: &Self) -> bool {
        match (self.rev, before.rev) {
            (Some(new), Some(old)) => return new >= old,
            (None, Some(_)) => return false,
            (Some(_), None) => return true,
            (None, None) => {}
        }
        match (self.updated_at, before.updated_at) {
            (Some(new), Some(old)) => new >= old,
            _ => true,
        }
    }
}

/// Adds the line of a record, with its line end.
pub fn of_record(record: &Record, to: &mut Vec<u8>) -> Result<()> {
    of_written(record.view(), &json::to_line(&record.data)?, to)
}

/// The same of a record whose document is written already.
pub fn of_written(record: View<'_>, written: &str, to: &mut Vec<u8>) -> Result<()> {
    let bare = !record.data.contains_key("id");
    let notes = Notes { rev: record.rev, updated_at: Some(record.updated_at), deleted: false, bare };
    to.push(b'{');
    if bare {
        to.extend_from_slice(b"\"id\":");
        json::write_line(to, record.id)?;
        to.push(b',');
    }
    let members = written.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
    to.extend_from_slice(members.as_bytes());
    if !members.is_empty() {
        to.push(b',');
    }
    to.extend_from_slice(b"\"");
    to.extend_from_slice(RESERVED.as_bytes());
    to.extend_from_slice(b"\":");
    json::write_line(to, &notes)?;
    to.extend_from_slice(b"}\n");
    Ok(())
}

/// Adds the line of a record that is gone, with its line end.
pub fn of_deleted(id: &str, rev: i64, at: Timestamp, to: &mut Vec<u8>) -> Result<()> {
    #[derive(Serialize)]
    struct Gone<'a> {
        id: &'a str,
        deleted: bool,
        updated_at: i64,
        _pensa: Notes,
    }
    let notes = Notes { rev, updated_at: None, deleted: true, bare: false };
    json::write_line(to, &Gone { id, deleted: true, updated_at: at.as_millis(), _pensa: notes })?;
    to.push(b'\n');
    Ok(())
}

/// Reads a line, ours or another tool's; or says why it cannot be read.
pub fn parse(bytes: &[u8]) -> Result<Line, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|e| format!("not JSON: {e}"))?;
    let Value::Object(mut data) = value else { return Err("not an object".into()) };
    let id = match data.get("id") {
        Some(Value::String(id)) => id.clone(),
        Some(_) => return Err("its id is not a text".into()),
        None => return Err("it has no id".into()),
    };
    check_id(&id).map_err(|e| e.message)?;
    let notes = match data.shift_remove(RESERVED) {
        Some(notes) => Some(Notes::deserialize(notes).map_err(|e| format!("{RESERVED}: {e}"))?),
        None => None,
    };
    let own_time = data.get("updated_at").and_then(|at| Timestamp::deserialize(at).ok());
    let deleted = match &notes {
        Some(notes) => notes.deleted,
        None => data.get("deleted") == Some(&Value::Bool(true)),
    };
    if notes.as_ref().is_some_and(|notes| notes.bare) {
        data.shift_remove("id");
    }
    let updated_at = notes.as_ref().and_then(|notes| notes.updated_at).or(own_time);
    Ok(Line { id, rev: notes.map(|notes| notes.rev), updated_at, data: (!deleted).then_some(data) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_comes_back_from_its_line() {
        for data in
            [json!({}), json!({"id": "a", "n": 1}), json!({"deleted": true, "x": "\u{9b}\n"}), json!({"updated_at": 5})]
        {
            let Value::Object(data) = data else { panic!("an object") };
            let updated_at = "2026-02-27T14:30:00.000Z".parse().expect("a time");
            let record = Record { collection: "c".into(), id: "a".into(), rev: 7, updated_at, data };
            let mut line = Vec::new();
            of_record(&record, &mut line).expect("a line");
            assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            let back = parse(&line).expect("readable");
            assert_eq!(
                back,
                Line { id: "a".into(), rev: Some(7), updated_at: Some(updated_at), data: Some(record.data) }
            );
        }
    }

    #[test]
    fn lines_of_other_tools_are_understood() {
        let live = parse(br#"{"id":"lp-1","status":"running","updated_at":1772202600000}"#).expect("a line");
        assert_eq!((live.rev, live.data.is_some()), (None, true));
        let gone = parse(br#"{"id":"lp-1","deleted":true,"updated_at":1772202600001}"#).expect("a line");
        assert!(gone.data.is_none() && gone.supersedes(&live) && !live.supersedes(&gone));
        let mut ours = Vec::new();
        of_deleted("lp-1", 9, gone.updated_at.expect("a time"), &mut ours).expect("a line");
        let ours = parse(&ours).expect("a line");
        assert!(ours.data.is_none() && ours.supersedes(&gone) && !gone.supersedes(&ours));
    }

    #[test]
    fn what_is_no_line_is_told() {
        let deep = "[".repeat(100_000);
        for (bad, why) in [
            ("", "not JSON"),
            ("{\"id\":\"a\"", "not JSON"),
            ("[]", "not an object"),
            ("{}", "no id"),
            ("{\"id\":1}", "not a text"),
            ("{\"id\":\"\"}", "not an id"),
            ("{\"id\":\"a\",\"_pensa\":1}", "_pensa"),
            ("\u{0}", "not JSON"),
            (&deep, "not JSON"),
        ] {
            let told = parse(bad.as_bytes()).expect_err(why);
            assert!(told.contains(why), "{told}");
        }
        assert!(parse(b"\xff\xfe").is_err());
    }
}
