//! Operations on records: documents in named collections.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::op::op;
use crate::record::{Cursor, Filter, Order, Record};
use crate::session::Object;
use crate::time::Timestamp;

/// Store a document in a collection, replacing the one with the same id
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Put {
    /// The collection, such as jobs; the first record creates it
    #[arg(value_name = "COLLECTION")]
    pub collection: String,
    /// The document
    #[arg(skip)]
    pub data: Object,
    /// Its id [default: the one in the document, or a new one]
    #[arg(long, value_name = "RECORD")]
    pub id: Option<String>,
    /// Only if the record has this revision; 0 means that it does not exist
    #[arg(long, value_name = "N")]
    pub if_rev: Option<i64>,
    /// Only if the record exists
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub if_present: bool,
    /// The time of the change [default: now]
    #[arg(long, value_name = "TIME")]
    pub updated_at: Option<Timestamp>,
}

op!(Put => Record, "record.put", post("/records/{collection}"), Write, {
    /// Documents are their owner's; a collection can ask for redaction.
    const VERBATIM: &'static [&'static str] = &["*"];
});

/// Show a record
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Get {
    /// Its collection
    #[arg(value_name = "COLLECTION")]
    pub collection: String,
    /// Its id
    #[arg(value_name = "RECORD")]
    pub id: String,
}

op!(Get => Record, "record.get", get("/records/{collection}/record"), Read);

/// Find records by the values of their fields
///
/// Tests look like status=running, n>=5, title~word, kind in ["a","b"] or 'parent is null'; a value that is not JSON is
/// a string. A test matches only values of its own type: n<5 finds numbers, not strings; a missing field is null. ~
/// finds a substring, ignoring case, or an element of a list.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
#[command(after_help = "Examples:
  pn record query loops --where status=running --where 'iteration>=3'
  pn record query signals --where 'acknowledged_at is null' --order 'created_at desc' -n 10")]
pub struct Query {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    pub collection: String,
    /// Only records that pass this test; may be given again
    #[arg(long = "where", value_name = "TEST")]
    #[serde(rename = "where", default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<Filter>,
    /// Sort by this field, or by FIELD desc [default: id]
    #[arg(long, value_name = "FIELD")]
    pub order: Option<Order>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(alias = "n")]
    pub limit: Option<u32>,
    /// Continue at the cursor of an earlier answer
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<Cursor>,
}

op!(Query => QueryPage, "record.query", get("/records/{collection}"), Read);

/// A page of matching records. A page ends after 10,000 records or 8 MiB.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Page")]
pub struct QueryPage {
    pub records: Vec<Record>,
    /// Where the next page starts, if there is one
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Cursor>,
}

/// Count records
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    pub collection: String,
    /// Only records that pass this test; may be given again
    #[arg(long = "where", value_name = "TEST")]
    #[serde(rename = "where", default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<Filter>,
}

op!(Count => Counted, "record.count", get("/records/{collection}/count"), Read);

/// The number of matching records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counted {
    pub collection: String,
    pub count: i64,
}

/// Delete a record, or all records that pass tests
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Delete {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    pub collection: String,
    /// The record
    #[arg(value_name = "RECORD", required_unless_present = "filters", conflicts_with = "filters")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// All records that pass this test; may be given again
    #[arg(long = "where", value_name = "TEST")]
    #[serde(rename = "where", default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<Filter>,
    /// Only if the record has this revision
    #[arg(long, value_name = "N", conflicts_with = "filters")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_rev: Option<i64>,
}

op!(Delete => Deleted, "record.delete", delete("/records/{collection}"), Write, {
    /// Documents are their owner's; a collection can ask for redaction.
    const VERBATIM: &'static [&'static str] = &["*"];
});

/// Deleted records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deleted {
    /// Always `deleted`
    pub status: String,
    pub collection: String,
    pub ids: Vec<String>,
}

/// List the collections
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Collections {}

op!(Collections => Vec<CollectionInfo>, "record.collections", get("/records"), Read);

/// A collection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Collection")]
pub struct CollectionInfo {
    pub collection: String,
    pub records: i64,
    /// When a record last changed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// The indexed fields
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indexes: Vec<String>,
    /// True if secrets in its documents are redacted; else absent
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redact: bool,
}

/// Index fields of a collection, so that queries on them need not read every record
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    pub collection: String,
    /// The fields
    #[arg(value_name = "FIELD", required_unless_present_any = ["rebuild", "check", "redact"])]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// Rebuild the indexes from the records
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rebuild: bool,
    /// Redact secrets in documents that are stored from now on
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redact: bool,
    /// Compare the indexes with the records, and rebuild them if they differ
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub check: bool,
}

op!(Index => Indexed, "record.index", post("/records/{collection}/indexes"), Write, {
    /// Documents are their owner's; a collection can ask for redaction.
    const VERBATIM: &'static [&'static str] = &["*"];
});

/// A collection and its indexes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Indexed {
    #[serde(flatten)]
    pub collection: CollectionInfo,
    /// True if the indexes were rebuilt; else absent
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rebuilt: bool,
}

/// Change many records in one transaction, across collections: all changes happen, or none
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Apply {
    pub changes: Vec<Change>,
}

/// Maximum number of changes in one transaction.
pub const MAX_CHANGES: usize = 200_000;

op!(Apply => Vec<Applied>, "record.apply", post("/records"), Write, {
    /// Documents are their owner's; a collection can ask for redaction.
    const VERBATIM: &'static [&'static str] = &["*"];
    /// Room for many records.
    const MAX_BODY: usize = 256 << 20;
});

/// One change of a record.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Change {
    Put(Put),
    /// Deletes the record if it exists; with `if_rev` it must exist
    Delete(Removal),
}

/// A record to delete.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Removal {
    pub collection: String,
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_rev: Option<i64>,
}

/// The result of one change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Applied {
    pub id: String,
    /// Absent if the record was deleted
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rev: Option<i64>,
}

/// Compact the files of records: drop replaced and deleted versions
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Compact {}

op!(Compact => Compacted, "record.compact", post("/taskstore/compact"), Write);

/// The size of the files, before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compacted {
    pub collections: usize,
    pub bytes_before: u64,
    pub bytes: u64,
}
