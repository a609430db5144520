//! The form of a record in a JSONL file: its document with an id, and metadata under the member `_pensa`.
//!
//! Lines of other tools have no metadata; they mark a deletion with `"deleted":true`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{RESERVED, Record, RecordView, check_id};
use crate::error::Result;
use crate::json;
use crate::session::object::Object;
use crate::time::Timestamp;

/// The metadata in a line.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Metadata {
    rev: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    updated_at: Option<Timestamp>,
    /// Whether the record was deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    deleted: bool,
    /// Whether the document itself has no `id`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    bare: bool,
}

/// A parsed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordLine {
    pub id: String,
    pub rev: Option<i64>,
    pub updated_at: Option<Timestamp>,
    /// The document; `None` if the record was deleted.
    pub data: Option<Object>,
}

impl RecordLine {
    /// Whether this line replaces an earlier one in the file. Merged files are unordered, so revisions and times decide
    /// before the position does.
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

/// Appends the line of a record, with a line end.
pub fn write_record(record: &Record, to: &mut Vec<u8>) -> Result<()> {
    write_record_json(record.view(), &json::to_line(&record.data)?, to)
}

/// Like [`write_record`], given the JSON of the document.
pub fn write_record_json(record: RecordView<'_>, written: &str, to: &mut Vec<u8>) -> Result<()> {
    let bare = !record.data.contains_key("id");
    let metadata = Metadata { rev: record.rev, updated_at: Some(record.updated_at), deleted: false, bare };
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
    json::write_line(to, &metadata)?;
    to.extend_from_slice(b"}\n");
    Ok(())
}

/// Appends the line of a deleted record, with a line end.
pub fn write_deletion(id: &str, rev: i64, at: Timestamp, to: &mut Vec<u8>) -> Result<()> {
    #[derive(Serialize)]
    struct Deletion<'a> {
        id: &'a str,
        deleted: bool,
        updated_at: i64,
        _pensa: Metadata,
    }
    let metadata = Metadata { rev, updated_at: None, deleted: true, bare: false };
    json::write_line(to, &Deletion { id, deleted: true, updated_at: at.as_millis(), _pensa: metadata })?;
    to.push(b'\n');
    Ok(())
}

/// Parses a line, ours or another tool's. The error is the reason, for a message.
pub fn parse(bytes: &[u8]) -> Result<RecordLine, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|e| format!("not JSON: {e}"))?;
    let Value::Object(mut data) = value else { return Err("not an object".into()) };
    let id = match data.get("id") {
        Some(Value::String(id)) => id.clone(),
        Some(_) => return Err("its id is not a text".into()),
        None => return Err("it has no id".into()),
    };
    check_id(&id).map_err(|e| e.message)?;
    let metadata = match data.shift_remove(RESERVED) {
        Some(metadata) => Some(Metadata::deserialize(metadata).map_err(|e| format!("{RESERVED}: {e}"))?),
        None => None,
    };
    let own_time = data.get("updated_at").and_then(|at| Timestamp::deserialize(at).ok());
    let deleted = match &metadata {
        Some(metadata) => metadata.deleted,
        None => data.get("deleted") == Some(&Value::Bool(true)),
    };
    if metadata.as_ref().is_some_and(|metadata| metadata.bare) {
        data.shift_remove("id");
    }
    let updated_at = metadata.as_ref().and_then(|metadata| metadata.updated_at).or(own_time);
    Ok(RecordLine { id, rev: metadata.map(|metadata| metadata.rev), updated_at, data: (!deleted).then_some(data) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn record_round_trips_through_its_line() {
        for data in
            [json!({}), json!({"id": "a", "n": 1}), json!({"deleted": true, "x": "\u{9b}\n"}), json!({"updated_at": 5})]
        {
            let Value::Object(data) = data else { panic!("an object") };
            let updated_at = "2026-02-27T14:30:00.000Z".parse().expect("a time");
            let record = Record { collection: "c".into(), id: "a".into(), rev: 7, updated_at, data };
            let mut line = Vec::new();
            write_record(&record, &mut line).expect("a line");
            assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            let back = parse(&line).expect("readable");
            assert_eq!(
                back,
                RecordLine { id: "a".into(), rev: Some(7), updated_at: Some(updated_at), data: Some(record.data) }
            );
        }
    }

    #[test]
    fn lines_of_other_tools_are_read() {
        let live = parse(br#"{"id":"lp-1","status":"running","updated_at":1772202600000}"#).expect("a line");
        assert_eq!((live.rev, live.data.is_some()), (None, true));
        let gone = parse(br#"{"id":"lp-1","deleted":true,"updated_at":1772202600001}"#).expect("a line");
        assert!(gone.data.is_none() && gone.supersedes(&live) && !live.supersedes(&gone));
        let mut ours = Vec::new();
        write_deletion("lp-1", 9, gone.updated_at.expect("a time"), &mut ours).expect("a line");
        let ours = parse(&ours).expect("a line");
        assert!(ours.data.is_none() && ours.supersedes(&gone) && !gone.supersedes(&ours));
    }

    #[test]
    fn invalid_line_is_refused_with_a_reason() {
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
            let error = parse(bad.as_bytes()).expect_err(why);
            assert!(error.contains(why), "{error}");
        }
        assert!(parse(b"\xff\xfe").is_err());
    }
}
