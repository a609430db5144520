//! Operations on records: documents in named collections.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::op::op;
use crate::record::{Cursor, Filter, Order, Record};
use crate::session::Object;
use crate::time::Timestamp;

/// Keep a document in a collection, in place of the one with the same id
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Put {
    /// The collection, such as jobs; it is made with its first record
    #[arg(value_name = "COLLECTION")]
    pub collection: String,
    /// The document
    #[arg(skip)]
    pub data: Object,
    /// Its id [default: the one in the document, or a new one]
    #[arg(long, value_name = "RECORD")]
    pub id: Option<String>,
    /// Only if the record has this revision; 0 means that there is none yet
    #[arg(long, value_name = "N")]
    pub if_rev: Option<i64>,
    /// Only if the record is there
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub if_present: bool,
    /// When it was changed [default: now]
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

/// Find records by what their fields are
///
/// Tests look like status=running, n>=5, title~word, kind in ["a","b"] or 'parent is null'; a value that is no JSON is a
/// text. A test looks at values of its own kind only, so n<5 finds numbers and no texts; what is missing is null. ~ finds
/// a text in a text, whatever the case of its letters, and a value in a list.
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
    /// Only those that pass this test; may be given again
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
    /// Go on from where an answer said that there is more
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<Cursor>,
}

op!(Query => QueryPage, "record.query", get("/records/{collection}"), Read);

/// Some of the records that were asked for. An answer ends after 10,000 records or 8 MiB.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Page")]
pub struct QueryPage {
    pub records: Vec<Record>,
    /// Where to go on, if there are more
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
    /// Only those that pass this test; may be given again
    #[arg(long = "where", value_name = "TEST")]
    #[serde(rename = "where", default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<Filter>,
}

op!(Count => Counted, "record.count", get("/records/{collection}/count"), Read);

/// How many records there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counted {
    pub collection: String,
    pub count: i64,
}

/// Delete a record, or all that pass tests
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
    /// All that pass this test; may be given again
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

/// Records that are gone.
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

/// What is known of a collection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Collection")]
pub struct CollectionInfo {
    pub collection: String,
    pub records: i64,
    /// When the last of them was changed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// The fields that have an index
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indexes: Vec<String>,
    /// True if secrets are taken out of its documents; else absent
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redact: bool,
}

/// Have fields of a collection indexed, so that questions about them need not look at every record
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
    /// Make what is indexed anew from the records
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rebuild: bool,
    /// Take secrets out of documents that are put into it from now on
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redact: bool,
    /// Compare what is indexed with the records, and make it anew if they differ
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
    /// True if what was indexed has been made anew; else absent
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rebuilt: bool,
}

/// Make many changes of records in one transaction, across collections: all of them happen, or none
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Apply {
    pub changes: Vec<Change>,
}

/// Most changes of one transaction.
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
    /// Deletes the record if it is there; with `if_rev` it has to be
    Delete(Removal),
}

/// A record that is to be gone.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Removal {
    pub collection: String,
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_rev: Option<i64>,
}

/// What came of one change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Applied {
    pub id: String,
    /// Absent if the record is gone
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rev: Option<i64>,
}

/// Write the files of records anew, without what was replaced or deleted
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Compact {}

op!(Compact => Compacted, "record.compact", post("/taskstore/compact"), Write);

/// How large the files are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compacted {
    pub collections: usize,
    pub bytes_before: u64,
    pub bytes: u64,
}
