//! The record: a JSON document with an id in a named collection. The application that stores it defines its type.
//!
//! This module has the names and limits. [`filter`] selects records, [`order`] sorts them, and [`mod@line`] defines
//! their form in JSONL files.

pub mod filter;
pub mod line;
pub mod order;
pub mod value;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::entity::{Entity, EntitySchema};
use crate::error::{Code, Error, Result};
use crate::for_each_attached;
use crate::json;
use crate::session::object::{self, Object};
use crate::time::Timestamp;

pub use filter::{Filter, Test};
pub use order::{Cursor, Order};

/// Maximum size of a document, in bytes of JSON.
pub const DATA_BYTES: usize = 1 << 20;
/// Maximum length of an id, in bytes.
pub const ID_BYTES: usize = 200;
/// Maximum length of a collection name.
const COLLECTION_BYTES: usize = 64;
/// Maximum length of a field name, in bytes.
const FIELD_BYTES: usize = 200;
/// Maximum number of indexed fields per collection.
pub const MAX_INDEXES: usize = 16;
/// The reserved member under which JSONL files store metadata of a record.
pub const RESERVED: &str = "_pensa";

/// A document with its collection and id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    pub collection: String,
    pub id: String,
    /// Changes with every change of the record and is never reused, not even for another record with the same id
    pub rev: i64,
    pub updated_at: Timestamp,
    pub data: Object,
}

/// A record with borrowed parts.
#[derive(Debug, Clone, Copy)]
pub struct RecordView<'a> {
    pub collection: &'a str,
    pub id: &'a str,
    pub rev: i64,
    pub updated_at: Timestamp,
    pub data: &'a Object,
}

impl Record {
    pub fn view(&self) -> RecordView<'_> {
        let Record { collection, id, rev, updated_at, data } = self;
        RecordView { collection, id, rev: *rev, updated_at: *updated_at, data }
    }

    /// The value of a field: a member of the document, or a nested member if the name contains dots. `id` and
    /// `updated_at` exist for every record, even if the document has none.
    pub fn field(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.view().field(name)
    }

    /// The sort key for a field; see [`value`].
    pub fn key(&self, field: &str) -> String {
        self.view().key(field)
    }
}

impl<'a> RecordView<'a> {
    pub fn to_record(self) -> Record {
        let RecordView { collection, id, rev, updated_at, data } = self;
        Record { collection: collection.to_owned(), id: id.to_owned(), rev, updated_at, data: data.clone() }
    }

    fn field(self, name: &str) -> Option<Cow<'a, Value>> {
        match name {
            "id" => Some(Cow::Owned(Value::from(self.id))),
            "updated_at" => match self.data.get(name) {
                Some(value) => Some(Cow::Borrowed(value)),
                None => Some(Cow::Owned(Value::from(self.updated_at.to_string()))),
            },
            name => member(self.data, name).map(Cow::Borrowed),
        }
    }

    /// The sort key for a field; see [`value`].
    pub fn key(self, field: &str) -> String {
        value::key(self.field(field).as_deref())
    }

    /// Appends the record as JSON, given the JSON of its document. The output equals serialising the record.
    pub fn write_json(self, written: &str, to: &mut Vec<u8>) -> Result<()> {
        #[derive(Serialize)]
        struct Head<'a> {
            collection: &'a str,
            id: &'a str,
            rev: i64,
            updated_at: Timestamp,
        }
        let RecordView { collection, id, rev, updated_at, .. } = self;
        json::write_line(to, &Head { collection, id, rev, updated_at })?;
        // Replace the closing brace.
        to.pop();
        to.extend_from_slice(b",\"data\":");
        to.extend_from_slice(written.as_bytes());
        to.push(b'}');
        Ok(())
    }
}

/// A member with this name, or else a nested member by the names between the dots.
fn member<'a>(object: &'a Object, name: &str) -> Option<&'a Value> {
    if let Some(value) = object.get(name) {
        return Some(value);
    }
    let (first, rest) = name.split_once('.')?;
    member(object.get(first)?.as_object()?, rest)
}

/// Refuses an invalid collection name.
pub fn check_collection(name: &str) -> Result<()> {
    let starts_well = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    if starts_well && name.len() <= COLLECTION_BYTES && name.bytes().all(plain) {
        return Ok(());
    }
    let shown: String = name.chars().take(COLLECTION_BYTES).collect();
    Err(Error::invalid(format!("not a collection: {shown:?}"))
        .hint(format!("a word of a-z, 0-9, - and _ that begins with a letter, of at most {COLLECTION_BYTES}")))
}

/// Collections that belong to an entity, and the command that changes them.
const OWNED: [(&str, &str); 6] = [
    (crate::loops::COLLECTION, "pn loop"),
    (crate::signal::COLLECTION, "pn signal"),
    (crate::signal::RECEIPTS, "pn signal"),
    (crate::lock::COLLECTION, "pn lock"),
    (crate::job::COLLECTION, "pn job"),
    (crate::job::OUTPUTS, "pn job"),
];

macro_rules! attached {
    ($($module:ident $entity:ident $id:ident,)*) => {
        /// The same for entities that are attached to issues.
        const ATTACHED: &[EntitySchema] = &[$(<crate::ops::$module::$entity as Entity>::SCHEMA,)*];
    };
}

for_each_attached!(attached);

/// An index on this field marks a collection whose documents are redacted. `_pensa` is reserved, so no document has the
/// field itself.
pub const REDACTED: &str = "_pensa.redact";

/// Refuses direct changes of a collection that belongs to an entity, because they would bypass its rules.
pub fn refuse_owned(name: &str) -> Result<()> {
    let owned = OWNED.iter().find(|(owned, _)| *owned == name).map(|(_, command)| (*command).to_owned());
    let attached = || ATTACHED.iter().find(|schema| schema.table == name).map(|schema| format!("pn {}", schema.name));
    match owned.or_else(attached) {
        None => Ok(()),
        Some(command) => Err(Error::new(Code::Forbidden, format!("collection {name} has rules of its own"))
            .hint(format!("{command} changes it; pn record query {name} only looks"))),
    }
}

/// Refuses an invalid record id.
pub fn check_id(id: &str) -> Result<()> {
    if !id.is_empty() && id.len() <= ID_BYTES && !id.chars().any(char::is_control) {
        return Ok(());
    }
    let shown: String = id.chars().take(40).collect();
    Err(Error::invalid(format!("not an id of a record: {shown:?}"))
        .hint(format!("ids are texts of 1 to {ID_BYTES} bytes without control characters")))
}

/// Refuses an invalid field name.
pub fn check_field(field: &str) -> Result<()> {
    if !field.is_empty() && field.len() <= FIELD_BYTES && !field.chars().any(char::is_control) {
        return Ok(());
    }
    let shown: String = field.chars().take(40).collect();
    Err(Error::invalid(format!("not a name of a field: {shown:?}")))
}

/// Refuses a document that is too large, nested too deeply, or has another `id` than the record.
pub fn check_data(id: &str, data: &Object) -> Result<()> {
    object::check("the record", data, DATA_BYTES)?;
    check_members(id, data)
}

/// Like [`check_data`], given the JSON of the document, so that its size need not be measured.
pub fn check_written(id: &str, data: &Object, written: &str) -> Result<()> {
    if written.len() > DATA_BYTES {
        return check_data(id, data);
    }
    check_members(id, data)
}

fn check_members(id: &str, data: &Object) -> Result<()> {
    if data.contains_key(RESERVED) {
        return Err(Error::invalid(format!("no document has a member called {RESERVED}"))
            .hint("give it another name; this one is kept for Pensa's own notes"));
    }
    match data.get("id") {
        None => Ok(()),
        Some(Value::String(own)) if own == id => Ok(()),
        Some(_) => Err(Error::invalid(format!("the document of record {id} has another id"))
            .hint("leave out one of them, or make them the same")),
    }
}

/// The `id` member of a document, if it has one.
pub fn own_id(data: &Object) -> Result<Option<String>> {
    match data.get("id") {
        None => Ok(None),
        Some(Value::String(id)) => check_id(id).map(|()| Some(id.clone())),
        Some(_) => Err(Error::invalid("the id of a record is a text")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(data: Value) -> Record {
        let Value::Object(data) = data else { panic!("an object") };
        let updated_at = "2026-02-27T14:30:00.000Z".parse().expect("a time");
        Record { collection: "loops".into(), id: "lp-1".into(), rev: 1, updated_at, data }
    }

    #[test]
    fn field_is_a_member_or_a_nested_member() {
        let record = record(json!({"a": {"b": {"c": 1}, "b.c": 2}, "a.b": 3, "n": null}));
        assert_eq!(record.field("a.b").as_deref(), Some(&json!(3)), "the whole name comes first");
        assert_eq!(record.field("a.b.c").as_deref(), Some(&json!(2)));
        assert_eq!(record.field("n").as_deref(), Some(&Value::Null));
        for missing in ["x", "a.x", "a.b.c.d", ".", "", "a."] {
            assert_eq!(record.field(missing), None, "{missing}");
        }
        assert_eq!(record.field("id").as_deref(), Some(&json!("lp-1")));
        assert_eq!(record.field("updated_at").as_deref(), Some(&json!("2026-02-27T14:30:00.000Z")));
    }

    #[test]
    fn write_json_equals_serialising_the_record() {
        for data in [json!({}), json!({"id": "lp-1", "text": "\u{9b}\n\"", "n": [1.5, null]})] {
            let (record, mut written) = (record(data), Vec::new());
            record.view().write_json(&json::to_line(&record.data).expect("JSON"), &mut written).expect("JSON");
            assert_eq!(String::from_utf8(written).expect("UTF-8"), json::to_line(&record).expect("JSON"));
        }
    }

    #[test]
    fn updated_at_of_the_document_takes_precedence() {
        assert_eq!(record(json!({"updated_at": 5})).field("updated_at").as_deref(), Some(&json!(5)));
    }

    #[test]
    fn names_and_ids_are_checked() {
        for good in ["loops", "tool_jobs", "a-1", &"a".repeat(64)] {
            assert!(check_collection(good).is_ok(), "{good}");
        }
        for bad in ["", "Loops", "1a", "a/b", "..", "a b", "ä", "_indexes", "a\n", &"a".repeat(65)] {
            assert!(check_collection(bad).is_err(), "{bad:?}");
        }
        for good in ["lp-1", "a b/c", "é", " ", &"x".repeat(200)] {
            assert!(check_id(good).is_ok(), "{good}");
        }
        for bad in ["", "a\nb", "\u{1b}[2J", "\0", &"x".repeat(201)] {
            assert!(check_id(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn documents_are_checked() {
        let check = |data: Value| match data {
            Value::Object(data) => check_data("a", &data),
            _ => panic!("an object"),
        };
        assert!(check(json!({})).is_ok() && check(json!({"id": "a"})).is_ok());
        assert!(check(json!({"id": "b"})).is_err() && check(json!({"id": 1})).is_err());
        assert!(check(json!({"_pensa": {}})).is_err());
        let large = json!({"text": "x".repeat(DATA_BYTES)});
        assert_eq!(check(large).expect_err("large").code, Code::TooLarge);
        let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
        assert!(check(json!({"deep": deep})).is_err());
    }
}
