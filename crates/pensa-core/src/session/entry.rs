//! The entry: one item of a session's history, and the parser for new entries in JSONL.
//!
//! [`context`](super::context()) interprets the data; the engine assigns the number.

use schemars::JsonSchema;
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::object::{self, Object};
use crate::error::{Code, Error, Result};
use crate::id::SessionId;
use crate::json;
use crate::text;
use crate::text_form::checked_text;
use crate::time::Timestamp;

/// Maximum size of an entry's data, in bytes of JSON. It leaves room for a tool output of 10 MB.
pub const MAX_ENTRY_BYTES: usize = 16 << 20;
/// Bytes that a line may have besides its data: type, time, version and whitespace.
const LINE_OVERHEAD: usize = 64 << 10;

/// The payload version that this build writes and reads.
pub const PAYLOAD_VERSION: u32 = 1;

/// The type of an entry, such as `user_message`. Types unknown to this version are kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, with = "String")]
pub struct EntryType(String);

impl EntryType {
    const MAX: usize = 64;
    /// Types with which other tools mark the start of a session. Pensa stores a new session instead.
    const BOUNDARIES: [&str; 2] = ["start", "reset"];
}

checked_text!(EntryType);

impl TryFrom<String> for EntryType {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        if Self::BOUNDARIES.contains(&text.as_str()) {
            return Err(Error::invalid(format!("{text} is not a type of entry but opens a session"))
                .hint("pn session reset opens the next one"));
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        if !text.is_empty() && text.len() <= Self::MAX && text.bytes().all(plain) {
            return Ok(Self(text));
        }
        let shown: String = text.chars().take(Self::MAX).collect();
        Err(Error::invalid(format!("not a type of entry: {shown:?}"))
            .hint("up to 64 letters, digits, _, . and -, such as user_message"))
    }
}

/// One item of a session's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// Its number, larger than that of every entry before it
    pub id: i64,
    pub session_id: SessionId,
    #[serde(rename = "type")]
    pub entry_type: EntryType,
    /// When it happened, possibly before it was written
    pub at: Timestamp,
    /// The version of the payload
    pub v: u32,
    pub data: Object,
}

/// An entry to append: `{"type","at"?,"data"}`, or with the fields of its data next to `type` and `at`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NewEntry {
    /// Its type, such as user_message
    #[serde(rename = "type")]
    pub entry_type: EntryType,
    /// When it happened [default: now]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    #[serde(default)]
    pub data: Object,
}

impl NewEntry {
    /// Reads one line of JSON, in either form, and checks that it can be stored.
    pub fn from_line(line: &str) -> Result<Self> {
        // Check before parsing: the parsed tree can take many times the size of the line.
        if line.len() > MAX_ENTRY_BYTES + LINE_OVERHEAD {
            return Err(object::too_large("entry", line.len(), MAX_ENTRY_BYTES).hint(TOO_LARGE_HINT));
        }
        let entry: Self = match object::parse_value("entry", line)? {
            Value::Object(fields) => fields.try_into()?,
            other => return Err(object::not_an_object("entry", &other)),
        };
        // Serialising can make numbers longer, but not by this factor, so most lines need not be measured.
        if line.len() > MAX_ENTRY_BYTES / 8 {
            entry.check()?
        } else {
            object::check_depth("entry", &entry.data)?
        }
        Ok(entry)
    }

    /// Refuses data that is too large or too deeply nested.
    pub fn check(&self) -> Result<()> {
        object::check("entry", &self.data, MAX_ENTRY_BYTES).map_err(|error| match error.code {
            Code::TooLarge => error.hint(TOO_LARGE_HINT),
            _ => error,
        })
    }

    /// The data as one line of JSON, or an error if it is too large or too deeply nested.
    pub fn data_line(&self) -> Result<String> {
        object::check_depth("entry", &self.data)?;
        let line = json::to_line(&self.data)?;
        // The line has more escapes than the JSON that the limit counts, so only a long line must be measured.
        if line.len() > MAX_ENTRY_BYTES {
            self.check()?;
        }
        Ok(line)
    }
}

const TOO_LARGE_HINT: &str = "keep large output in a file and name it in the entry";

impl TryFrom<Object> for NewEntry {
    type Error = Error;

    fn try_from(mut fields: Object) -> Result<Self> {
        let nested = is_nested(&fields)?;
        let entry_type = match fields.shift_remove("type") {
            Some(Value::String(name)) => name.try_into()?,
            Some(other) => {
                return Err(Error::invalid(format!("type is {}, not a string", brief(&other))).hint(TYPE_HINT));
            }
            None => return Err(Error::invalid("entry has no type").hint(TYPE_HINT)),
        };
        let at = match fields.shift_remove("at") {
            None | Some(Value::Null) => None,
            Some(given) => Some(time(&given)?),
        };
        if !nested {
            return Ok(Self { entry_type, at, data: fields });
        }
        known_version(fields.get("v"))?;
        match fields.shift_remove("data") {
            Some(Value::Object(data)) => Ok(Self { entry_type, at, data }),
            other => Err(object::not_an_object("data", &other.unwrap_or_default())),
        }
    }
}

const TYPE_HINT: &str = "such as {\"type\":\"user_message\",\"data\":{\"text\":\"hello\"}}";

impl<'de> Deserialize<'de> for NewEntry {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Object::deserialize(from)?.try_into().map_err(de::Error::custom)
    }
}

/// Whether the data is in a field `data`, with only fields of an entry next to it.
///
/// Exported entries have this form too; their number and session are ignored.
fn is_nested(fields: &Object) -> Result<bool> {
    let of_entry = |name: &String| matches!(name.as_str(), "type" | "at" | "v" | "data" | "id" | "session_id");
    let exported = fields.contains_key("id") == fields.contains_key("session_id");
    match fields.get("data") {
        Some(data) if exported && fields.keys().all(of_entry) => match data {
            Value::Object(_) => Ok(true),
            other => Err(object::not_an_object("data", other)),
        },
        _ => Ok(false),
    }
}

fn time(given: &Value) -> Result<Timestamp> {
    Timestamp::deserialize(given).map_err(|_| {
        Error::invalid(format!("at is not a time: {}", brief(given)))
            .hint("Unix milliseconds, or a text such as 2026-02-27T14:30:00.000Z")
    })
}

fn known_version(given: Option<&Value>) -> Result<()> {
    match given {
        None => Ok(()),
        Some(version) if version.as_u64() == Some(PAYLOAD_VERSION.into()) => Ok(()),
        Some(other) => Err(Error::new(Code::Unsupported, format!("payload version {} is not known", brief(other)))
            .hint(format!("this version of pn writes {PAYLOAD_VERSION}"))),
    }
}

/// A short description of a value for an error message.
fn brief(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) => {
            let cut: String = text.chars().take(60).collect();
            let rest = if cut.len() < text.len() { "…" } else { "" };
            format!("{:?}{rest}", text::printable_line(&cut))
        }
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Object {
        value.as_object().expect("an object").clone()
    }

    #[test]
    fn flat_and_nested_lines_are_read() {
        let at = "2026-02-27T14:30:00.000Z";
        let table = [
            ("no data at all", json!({"type": "note"}), None, json!({})),
            ("nested", json!({"type": "note", "data": {"text": "x"}}), None, json!({"text": "x"})),
            ("nested with a time", json!({"type": "note", "at": at, "data": {"a": 1}}), Some(at), json!({"a": 1})),
            ("nested with a version", json!({"type": "note", "v": 1, "data": {"a": 1}}), None, json!({"a": 1})),
            ("nested and empty", json!({"type": "note", "data": {}}), None, json!({})),
            ("nested whose data has data", json!({"type": "n", "data": {"data": 1}}), None, json!({"data": 1})),
            (
                "as it is exported",
                json!({"id": 7, "session_id": "se-1", "type": "note", "at": at, "v": 1, "data": {"a": 1}}),
                Some(at),
                json!({"a": 1}),
            ),
            ("flat", json!({"type": "note", "text": "x", "b": [1]}), None, json!({"text": "x", "b": [1]})),
            (
                "flat, time in milliseconds",
                json!({"type": "n", "at": 1772202600000u64, "x": 1}),
                Some(at),
                json!({"x": 1}),
            ),
            ("flat, digits as text", json!({"type": "n", "at": "1772202600000"}), Some(at), json!({})),
            ("flat, other zone", json!({"type": "n", "at": "2026-02-27T15:30:00+01:00"}), Some(at), json!({})),
            ("null is no time", json!({"type": "n", "at": null, "x": 1}), None, json!({"x": 1})),
            (
                "flat with data among its fields",
                json!({"type": "n", "data": {"a": 1}, "text": "x"}),
                None,
                json!({"data": {"a": 1}, "text": "x"}),
            ),
            (
                "flat with data of another kind",
                json!({"type": "n", "data": 5, "x": 1}),
                None,
                json!({"data": 5, "x": 1}),
            ),
            ("flat with an id", json!({"type": "n", "id": 1, "data": {}}), None, json!({"id": 1, "data": {}})),
            ("flat with a version of its own", json!({"type": "n", "v": 9, "x": 1}), None, json!({"v": 9, "x": 1})),
        ];
        for (name, line, at, data) in table {
            let read = NewEntry::from_line(&line.to_string()).expect(name);
            assert_eq!(read.at.map(|at| at.to_string()).as_deref(), at, "{name}");
            assert_eq!(read.data, object(data), "{name}");
            assert_eq!(serde_json::from_value::<NewEntry>(line).expect(name), read, "{name}");
            let written = serde_json::to_string(&read).expect("serialises");
            assert_eq!(NewEntry::from_line(&written).expect(name), read, "{name}: {written}");
        }
    }

    #[test]
    fn invalid_entry_is_refused_with_a_reason() {
        let long = json!({"type": "n", "at": "x".repeat(10_000)}).to_string();
        let table = [
            ("", "entry is not JSON"),
            ("{\"type\":\"n\"", "entry is not JSON"),
            ("{\"type\":\"n\"} {}", "entry is not JSON"),
            ("\u{feff}{}", "entry is not JSON"),
            ("[]", "entry is a list, not an object"),
            ("null", "entry is null, not an object"),
            ("\"note\"", "entry is a string, not an object"),
            ("{}", "entry has no type"),
            (r#"{"text":"x"}"#, "entry has no type"),
            (r#"{"type":null}"#, "type is null, not a string"),
            (r#"{"type":["n"]}"#, "type is a list, not a string"),
            (r#"{"type":""}"#, "not a type of entry: \"\""),
            (r#"{"type":"a note"}"#, "not a type of entry: \"a note\""),
            (r#"{"type":"reset","message":"m"}"#, "reset is not a type of entry but opens a session"),
            (r#"{"type":"start"}"#, "start is not a type of entry but opens a session"),
            (r#"{"type":"n","at":true}"#, "at is not a time: true"),
            (r#"{"type":"n","at":1.5}"#, "at is not a time: 1.5"),
            (r#"{"type":"n","at":{}}"#, "at is not a time: an object"),
            (r#"{"type":"n","at":"yesterday"}"#, "at is not a time: \"yesterday\""),
            (r#"{"type":"n","at":99999999999999999}"#, "at is not a time: 99999999999999999"),
            (&long, "at is not a time: \"xxx"),
            (r#"{"type":"n","data":5}"#, "data is a number, not an object"),
            (r#"{"type":"n","data":null}"#, "data is null, not an object"),
            (r#"{"type":"n","at":1,"data":"x"}"#, "data is a string, not an object"),
            (r#"{"type":"n","v":2,"data":{}}"#, "payload version 2 is not known"),
            (r#"{"type":"n","v":"1","data":{}}"#, "payload version \"1\" is not known"),
        ];
        for (line, expected) in table {
            let error = NewEntry::from_line(line).expect_err(line);
            assert!(error.message.starts_with(expected), "{line}: {error}");
            assert!(error.hint.is_some() && error.message.len() < 300, "{line}: {error:?}");
            let code = if expected.contains("version") { Code::Unsupported } else { Code::InvalidInput };
            assert_eq!(error.code, code, "{line}");
        }
        let error = NewEntry::from_line(r#"{"type":"reset"}"#).expect_err("a boundary");
        assert!(error.hint.expect("a hint").contains("pn session reset"));
    }

    #[test]
    fn error_for_a_large_entry_names_the_limit() {
        let line = |bytes: usize| format!(r#"{{"type":"tool_result","data":{{"a":"{}"}}}}"#, "x".repeat(bytes - 8));
        assert_eq!(object::json_bytes(&NewEntry::from_line(&line(10_000_000)).expect("10 MB").data), 10_000_000);
        assert!(NewEntry::from_line(&line(MAX_ENTRY_BYTES)).is_ok());
        for bytes in [MAX_ENTRY_BYTES + 1, 100_000_000] {
            let error = NewEntry::from_line(&line(bytes)).expect_err("too large");
            assert_eq!(error.code, Code::TooLarge);
            assert!(error.message.contains("16777216") && error.hint.is_some(), "{error:?}");
        }
        // Short as a line, long as it is stored.
        let numbers = format!(r#"{{"type":"n","a":[{}1]}}"#, "1E15,".repeat(900_000));
        assert_eq!(NewEntry::from_line(&numbers).expect_err("too large").code, Code::TooLarge);
    }

    #[test]
    fn deeply_nested_data_is_refused_in_both_forms() {
        let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        for levels in [100, 126, 10_000] {
            for line in [
                format!(r#"{{"type":"n","a":{}}}"#, deep(levels)),
                format!(r#"{{"type":"n","data":{{"a":{}}}}}"#, deep(levels)),
            ] {
                assert_eq!(NewEntry::from_line(&line).expect_err("too deep").code, Code::InvalidInput);
            }
        }
        assert!(NewEntry::from_line(&format!(r#"{{"type":"n","a":{}}}"#, deep(99))).is_ok());
    }

    #[test]
    fn entry_json_round_trips() {
        let given = json!({"id": 7, "session_id": "se-1", "type": "swarm.step-2", "at": "2026-02-27T14:30:00.000Z",
            "v": 1, "data": {"z": 1, "a": {"é": [null, 1.5]}}});
        let entry: Entry = serde_json::from_value(given.clone()).expect("an entry");
        assert_eq!(serde_json::to_string(&entry).expect("serialises"), given.to_string());
    }

    #[test]
    fn types_are_plain_words() {
        for good in
            ["note", "rlm_tool_call", "x", "0", "somethingNew", "a.b-c_d", &"a".repeat(64), "restart", "reset_all"]
        {
            assert_eq!(good.parse::<EntryType>().expect(good).as_str(), good);
        }
        for bad in ["", "a b", "a/b", "ä", "a\0", "\u{1b}[31m", "a\n", "start", "reset", &"a".repeat(65)] {
            assert!(bad.parse::<EntryType>().is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn no_line_causes_a_panic_or_a_long_message(line in prop_oneof![".{0,200}", r#"\{"(type|at|data)":[\[\]{}":,a-z0-9. ]{0,60}\}"#]) {
            let read = NewEntry::from_line(&line);
            prop_assert!(read.is_ok() || read.is_err_and(|error| error.message.len() < 600));
        }
    }
}
