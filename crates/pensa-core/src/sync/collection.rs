//! Declares every synced collection: the key, file order and merge rules of its records.
//!
//! To sync a new entity, add a collection here and its table in the engine.

use std::fmt;
use std::rc::Rc;
use std::sync::LazyLock;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::agent::Agent;
use crate::comment::Comment;
use crate::dep::Dep;
use crate::entity::{Column, Entity};
use crate::error::{Code, Error, Result};
use crate::for_each_attached;
use crate::issue::{Extra, Issue};
use crate::json;
use crate::kv::KvPair;
use crate::learning::Learning;
use crate::op::Access;
use crate::ops::view::View;
use crate::release::Release;
use crate::session::SessionHead;
use crate::skill::Mapping;
use crate::sync::Tombstone;
use crate::time::Timestamp;
use crate::work::WorkRecord;

/// A record of any collection as JSON, including fields that this version does not know.
pub type SyncObject = Map<String, Value>;

/// The newest line format that this version can read.
const FORMAT: u64 = 1;
/// The field in which a later version can announce a newer line format.
const FORMAT_FIELD: &str = "schema_version";

/// An entity that is exported as lines of a JSONL file and merged with other copies.
pub trait SyncEntity: Serialize + DeserializeOwned {
    /// Returns the entity in the form in which it is stored, with dependent fields made consistent. Returns an error if it
    /// cannot be stored.
    fn normalise(self) -> Result<Self>;

    /// Fields that this version does not know.
    fn extra(&self) -> &Extra {
        static NONE: LazyLock<Extra> = LazyLock::new(Extra::new);
        &NONE
    }

    /// The identity and version, as [`Collection`] would read them from the fields. Entities with many records implement
    /// this to avoid converting each one to JSON.
    fn version(&self) -> Option<(RecordIdentity, Option<Timestamp>)> {
        None
    }
}

/// Identifies a record: its key and, where two copies may generate the same key by chance, its time of creation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordIdentity {
    pub key: String,
    pub birth: Option<Timestamp>,
}

/// A parsed line with what a merge needs to know before it looks at single fields.
#[derive(Debug)]
pub(super) struct LineHeader {
    pub(super) name: Rc<RecordIdentity>,
    pub(super) changed_at: Option<Timestamp>,
    /// Whether this version knows all fields of the record.
    pub(super) is_plain: bool,
    /// The line in our own formatting.
    pub(super) line: Vec<u8>,
}

/// The rules for the records of one collection: what identifies them, how lines are ordered, how fields merge.
pub struct Collection {
    /// The name of the collection, and of its file without `.jsonl`.
    pub name: &'static str,
    /// The columns that form the key of a record.
    key: &'static [Column],
    /// The fields that order the lines of the file; the key breaks ties.
    order: &'static [&'static str],
    /// The field with the time of the last change, which decides which version is newer.
    pub(super) version: Option<&'static str>,
    /// The field that never changes and differs between two records that got the same id by chance.
    birth: Option<&'static str>,
    /// Groups of fields that are merged as one. A conflict is named after the first field.
    pub(super) units: &'static [&'static [&'static str]],
    /// Fields with values so distinctive that the same value again is an old one, not a new edit.
    pub(super) distinctive: &'static [&'static str],
    /// Times that merge to the later one.
    pub(super) latest: &'static [&'static str],
    /// Lists and objects whose members merge one by one.
    pub(super) members: &'static [&'static str],
    /// Whether disagreements are merged without recording a conflict.
    pub(super) quiet: bool,
    /// Whether no file is written while the collection is empty.
    optional: bool,
    /// Whether users choose the keys, so that they need not look like ids.
    pub(super) free_names: bool,
    /// The access that is needed to delete a record.
    pub removal: Access,
    /// Whether a deletion loses against a change that it did not know, even an earlier one.
    pub outlives_unknown: bool,
    /// Fields that are local to each store and never synced.
    pub local: &'static [&'static str],
    /// If only some records are synced: the first words of their keys.
    only: &'static [&'static str],
    read: fn(&[u8]) -> Result<SyncObject>,
    parse_line: fn(&Collection, &[u8]) -> Result<LineHeader>,
    write: fn(SyncObject) -> Result<Vec<u8>>,
}

impl fmt::Debug for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Collection").field(&self.name).finish()
    }
}

pub static ISSUES: Collection = Collection {
    order: &["created_at"],
    version: Some("updated_at"),
    birth: Some("created_at"),
    units: &[
        &["status", "closed_at", "close_reason"],
        &["assignee", "lease_expires_at", "claim_session", "claim_host"],
    ],
    distinctive: &["title", "description", "closed_at"],
    members: &["labels", "links", "acceptance", "fields"],
    optional: false,
    ..Collection::of::<Issue>("issues", &[Column::text("id")])
};

pub static DEPS: Collection = Collection {
    optional: false,
    removal: Access::Write,
    ..Collection::of::<Dep>("deps", &[Column::text("issue_id"), Column::text("depends_on_id")])
};

pub static COMMENTS: Collection = Collection {
    order: &["created_at"],
    birth: Some("created_at"),
    optional: false,
    ..Collection::of_entity::<Comment>()
};

/// Releases never change, so they have no version.
pub static RELEASES: Collection =
    Collection { order: &["shipped_at"], birth: Some("shipped_at"), ..Collection::of_entity::<Release>() };

pub static LEARNINGS: Collection = Collection {
    order: &["created_at"],
    version: Some("updated_at"),
    birth: Some("created_at"),
    distinctive: &["text"],
    latest: &["verified_at"],
    members: &["sources", "derived_from", "useful", "former_files", "agrees_with"],
    ..Collection::of_entity::<Learning>()
};

pub static SKILLS: Collection = Collection {
    version: Some("updated_at"),
    free_names: true,
    removal: Access::Write,
    ..Collection::of_entity::<Mapping>()
};

pub static VIEWS: Collection = Collection {
    version: Some("updated_at"),
    free_names: true,
    removal: Access::Write,
    ..Collection::of_entity::<View>()
};

/// Deletions. The last file in the order, so that a reader knows all records before their tombstones.
pub static TOMBSTONES: Collection = Collection {
    version: Some("deleted_at"),
    units: &[&["deleted_at", "actor", "version", "comments"]],
    latest: &["restored_at"],
    quiet: true,
    ..Collection::of_entity::<Tombstone>()
};

macro_rules! attached {
    ($($module:ident $entity:ident $id:ident,)*) => {
        const ATTACHED: &[&Collection] = &[$(&Collection::of_attached::<crate::ops::$module::$entity>(),)*];
    };
}

for_each_attached!(attached);

/// The collections that git carries, in an order in which records come after the records they refer to.
pub static COLLECTIONS: [&Collection; 8 + ATTACHED.len()] = {
    let first: [&Collection; 7] = [&ISSUES, &DEPS, &COMMENTS, &RELEASES, &LEARNINGS, &SKILLS, &VIEWS];
    let (mut all, mut at) = ([&TOMBSTONES; 8 + ATTACHED.len()], 0);
    while at < first.len() + ATTACHED.len() {
        all[at] = if at < first.len() { first[at] } else { ATTACHED[at - first.len()] };
        at += 1;
    }
    all
};

/// Work in progress and its steps.
pub static WORK: Collection = Collection {
    version: Some("updated_at"),
    units: &[&["status", "actor", "started_at", "done_at"]],
    ..Collection::of_entity::<WorkRecord>()
};

/// Agents. Their permissions and their active session stay local.
pub static AGENTS: Collection = Collection {
    version: Some("updated_at"),
    local: &["permissions", "tokens", "active_session_id"],
    ..Collection::of_entity::<Agent>()
};

/// Values in the scopes `project` and `user`. Other scopes belong to a machine and stay there.
pub static KV: Collection = Collection {
    version: Some("updated_at"),
    free_names: true,
    removal: Access::Write,
    only: &["project", "user"],
    ..Collection::of_entity::<KvPair>()
};

/// Sessions, if the user enables their sync. Their entries are sent separately and have no collection here.
pub static SESSIONS: Collection = Collection {
    version: Some("updated_at"),
    latest: &["ended_at", "archived_at"],
    outlives_unknown: true,
    ..Collection::of::<SessionHead>("sessions", &[Column::text("id")])
};

/// The collections that are synced between stores but not written to git.
const BETWEEN_STORES: [&Collection; 4] = [&WORK, &AGENTS, &KV, &SESSIONS];

/// All collections that are synced between stores: those in git, then the others.
pub static EXCHANGED: [&Collection; COLLECTIONS.len() + BETWEEN_STORES.len()] = {
    let (mut all, mut at) = ([&TOMBSTONES; COLLECTIONS.len() + BETWEEN_STORES.len()], 0);
    while at < all.len() {
        all[at] = if at < COLLECTIONS.len() { COLLECTIONS[at] } else { BETWEEN_STORES[at - COLLECTIONS.len()] };
        at += 1;
    }
    all
};

impl Collection {
    /// The synced collection with this name.
    pub fn named(name: &str) -> Option<&'static Collection> {
        EXCHANGED.into_iter().find(|collection| collection.name == name)
    }

    /// Whether the collection is written to git.
    pub fn is_in_git(&self) -> bool {
        COLLECTIONS.iter().any(|collection| collection.name == self.name)
    }

    /// Whether the record with this key is synced.
    pub fn carries(&self, key: &str) -> bool {
        self.only.is_empty() || key.split(' ').next().is_some_and(|first| self.only.contains(&first))
    }

    /// The record without its local fields.
    pub fn without_local(&self, mut record: SyncObject) -> SyncObject {
        self.local.iter().for_each(|field| drop(record.shift_remove(*field)));
        record
    }

    /// A collection with the table name and key of an entity.
    const fn of_entity<E: Entity + SyncEntity>() -> Self {
        Self::of::<E>(E::SCHEMA.table, E::SCHEMA.columns.split_at(E::SCHEMA.keys).0)
    }

    /// A collection of an entity that is attached to issues.
    pub const fn of_attached<E: Entity + SyncEntity>() -> Self {
        Self { order: &["created_at"], birth: Some("created_at"), removal: Access::Write, ..Self::of_entity::<E>() }
    }

    /// A collection with defaults for everything but name and key.
    const fn of<E: SyncEntity>(name: &'static str, key: &'static [Column]) -> Self {
        Self {
            name,
            key,
            order: &[],
            version: None,
            birth: None,
            units: &[],
            distinctive: &[],
            latest: &[],
            members: &[],
            quiet: false,
            optional: true,
            free_names: false,
            removal: Access::Maintain,
            outlives_unknown: false,
            local: &[],
            only: &[],
            read: read::<E>,
            parse_line: parse_line::<E>,
            write: write::<E>,
        }
    }

    /// The collection that is stored in this file.
    pub fn of_file(name: &str) -> Option<&'static Collection> {
        let name = name.strip_suffix(".jsonl")?;
        COLLECTIONS.into_iter().find(|collection| collection.name == name)
    }

    pub fn file_name(&self) -> String {
        format!("{}.jsonl", self.name)
    }

    /// Parses a line into a record in its stored form.
    pub fn read(&self, line: &[u8]) -> Result<SyncObject> {
        Ok(self.without_local((self.read)(line)?))
    }

    /// Parses a line without converting it to a JSON object, which is most of the work of [`read`](Self::read).
    pub(super) fn parse_line(&self, line: &[u8]) -> Result<LineHeader> {
        (self.parse_line)(self, line)
    }

    /// Formats a record as a line, without the line end.
    pub fn write(&self, record: SyncObject) -> Result<Vec<u8>> {
        let line = (self.write)(record)?;
        if self.local.is_empty() {
            return Ok(line);
        }
        let record = serde_json::from_slice(&line).map_err(Error::internal)?;
        json::to_line(&self.without_local(record)).map(String::into_bytes)
    }

    /// Returns the record in its stored form; see [`SyncEntity::normalise`].
    pub fn normalise(&self, record: SyncObject) -> Result<SyncObject> {
        self.read(&self.write(record)?)
    }

    /// The key fields.
    pub fn key_fields(&self) -> impl Iterator<Item = &'static str> {
        self.key.iter().map(|column| column.field)
    }

    /// The columns of the key fields.
    pub fn key_columns(&self) -> impl Iterator<Item = &'static str> {
        self.key.iter().map(|column| column.name)
    }

    /// The key of a record: its key fields joined by spaces, which ids do not contain.
    pub fn key(&self, record: &SyncObject) -> String {
        self.key_fields().map(|field| text(record, field)).collect::<Vec<_>>().join(" ")
    }

    /// The time of creation, which distinguishes two records with the same key; empty if the collection needs none.
    pub fn birth<'r>(&self, record: &'r SyncObject) -> &'r str {
        self.birth.map_or("", |field| text(record, field))
    }

    /// The time of the last change, as text in sort order; empty if the records have none.
    pub fn version<'r>(&self, record: &'r SyncObject) -> &'r str {
        self.version.map_or("", |field| text(record, field))
    }

    /// The identity and version of a record.
    fn version_of(&self, record: &SyncObject) -> Result<(RecordIdentity, Option<Timestamp>)> {
        let time = |text: &str| if text.is_empty() { Ok(None) } else { text.parse().map(Some) };
        let name = RecordIdentity { key: self.key(record), birth: time(self.birth(record))? };
        Ok((name, time(self.version(record))?))
    }

    /// The sort key of a record's line.
    pub fn sort_key(&self, record: &SyncObject) -> (String, String) {
        let order: Vec<&str> = self.order.iter().map(|field| text(record, field)).collect();
        (order.join(" "), self.key(record))
    }

    /// The columns that order the lines.
    pub fn order_columns(&self) -> Vec<&'static str> {
        self.order.iter().copied().chain(self.key_columns()).collect()
    }

    /// The field with the time of the last change.
    pub fn version_field(&self) -> Option<&'static str> {
        self.version
    }

    /// Whether no file is written while the collection is empty.
    pub fn is_optional(&self) -> bool {
        self.optional
    }

    /// Whether disagreements are merged without recording a conflict.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether a field identifies the record or its version, and so is never merged.
    pub(super) fn is_identity(&self, field: &str) -> bool {
        self.key_fields().any(|key| key == field) || self.birth == Some(field) || self.version == Some(field)
    }
}

fn text<'r>(record: &'r SyncObject, field: &str) -> &'r str {
    record.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn read<E: SyncEntity>(line: &[u8]) -> Result<SyncObject> {
    record(&parse::<E>(line)?)
}

fn record<E: SyncEntity>(entity: &E) -> Result<SyncObject> {
    match serde_json::to_value(entity).map_err(Error::internal)? {
        Value::Object(record) => Ok(record),
        _ => Err(Error::invalid("it is not an object")),
    }
}

fn parse_line<E: SyncEntity>(collection: &Collection, line: &[u8]) -> Result<LineHeader> {
    let entity: E = parse(line)?;
    let mut written = Vec::with_capacity(line.len());
    json::write_line(&mut written, &entity)?;
    let (name, changed_at) = match entity.version() {
        Some(version) => version,
        None => collection.version_of(&record(&entity)?)?,
    };
    Ok(LineHeader { name: Rc::new(name), changed_at, is_plain: entity.extra().is_empty(), line: written })
}

fn parse<E: SyncEntity>(line: &[u8]) -> Result<E> {
    let entity: E = serde_json::from_slice(line).map_err(|e| not_a_record(line, e))?;
    let entity = entity.normalise()?;
    check_format(entity.extra())?;
    Ok(entity)
}

fn write<E: SyncEntity>(record: SyncObject) -> Result<Vec<u8>> {
    let entity: E = serde_json::from_value(Value::Object(record)).map_err(|e| Error::invalid(e.to_string()))?;
    let mut line = Vec::with_capacity(256);
    json::write_line(&mut line, &entity)?;
    Ok(line)
}

/// A line in a newer format may lack fields that this version requires, so report the format first.
fn not_a_record(line: &[u8], error: serde_json::Error) -> Error {
    match serde_json::from_slice::<SyncObject>(line).map(|record| check_format(&record)) {
        Ok(Err(newer)) => newer,
        _ => Error::invalid(error.to_string()),
    }
}

fn check_format(record: &SyncObject) -> Result<()> {
    match record.get(FORMAT_FIELD).and_then(Value::as_u64) {
        Some(format) if format > FORMAT => Err(Error::new(
            Code::NewerSchema,
            format!("it was written by a newer Pensa (form {format}, this one knows {FORMAT})"),
        )
        .hint("update pn; nothing was imported")),
        _ => Ok(()),
    }
}
