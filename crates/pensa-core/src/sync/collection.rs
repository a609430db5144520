//! The collections that git carries. A new noun is one more entry here and one in the engine.

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
use crate::kv::Pair;
use crate::learning::Learning;
use crate::op::Access;
use crate::release::Release;
use crate::skill::Mapping;
use crate::sync::Tombstone;
use crate::time::Timestamp;
use crate::work::Piece;

/// A record of any collection, with every field it has, known or not.
pub type Record = Map<String, Value>;

/// The newest form of a line that this version understands.
const FORMAT: u64 = 1;
/// The field by which a later version may say that its lines are no longer of this form.
const FORMAT_FIELD: &str = "schema_version";

/// Something that has lines of its own in a file.
pub trait Noun: Serialize + DeserializeOwned {
    /// The same as it is stored, its fields in step with each other; or why it can't be stored.
    fn adopt(self) -> Result<Self>;

    /// Fields that this version does not know.
    fn extra(&self) -> &Extra {
        static NONE: LazyLock<Extra> = LazyLock::new(Extra::new);
        &NONE
    }

    /// What tells it from others and how new it is, as its collection says of records. Nouns of which there are many
    /// tell it without being taken apart.
    fn version(&self) -> Option<(Name, Option<Timestamp>)> {
        None
    }
}

/// What tells a record from all others: its key, and its birth where two may have the same key by chance.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    pub key: String,
    pub birth: Option<Timestamp>,
}

/// A line that was read, and what can be told of it without its fields.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) name: Rc<Name>,
    pub(super) changed_at: Option<Timestamp>,
    /// Whether this version knows all its fields.
    pub(super) is_plain: bool,
    /// The line as it is written here.
    pub(super) line: Vec<u8>,
}

/// What a file's records are called, how they are told apart and ordered, and what belongs together in them.
pub struct Collection {
    /// Its name, and without the ending that of its file.
    pub name: &'static str,
    /// The columns whose fields name a record.
    key: &'static [Column],
    /// The fields by which lines are ordered; the key breaks ties.
    order: &'static [&'static str],
    /// The field that tells how new a version is.
    pub(super) version: Option<&'static str>,
    /// The field that never changes and that two records which have the same id by chance do not share.
    birth: Option<&'static str>,
    /// Fields that make sense only together; the first names them all.
    pub(super) units: &'static [&'static [&'static str]],
    /// Fields whose value is so much its own that it is recognised where it was seen before.
    pub(super) telling: &'static [&'static str],
    /// Times of which the later one holds, whoever wrote it.
    pub(super) latest: &'static [&'static str],
    /// Whether it matters to anybody that two versions disagreed.
    pub(super) quiet: bool,
    /// Whether its file is left away while it would be empty.
    optional: bool,
    /// Whether people choose the names of its records, which are no ids then.
    pub(super) free_names: bool,
    /// What it takes to delete one of its records.
    pub removal: Access,
    /// Fields that each store has for itself.
    pub local: &'static [&'static str],
    /// If only some records travel, how their keys begin.
    only: &'static [&'static str],
    read: fn(&[u8]) -> Result<Record>,
    form: fn(&Collection, &[u8]) -> Result<Form>,
    write: fn(Record) -> Result<Vec<u8>>,
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
    telling: &["title", "description", "closed_at"],
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

/// What was shipped. Nobody changes a release, so its records have no versions.
pub static RELEASES: Collection =
    Collection { order: &["shipped_at"], birth: Some("shipped_at"), ..Collection::of_entity::<Release>() };

pub static LEARNINGS: Collection = Collection {
    order: &["created_at"],
    version: Some("updated_at"),
    birth: Some("created_at"),
    telling: &["text"],
    latest: &["verified_at"],
    ..Collection::of_entity::<Learning>()
};

pub static SKILLS: Collection = Collection {
    version: Some("updated_at"),
    free_names: true,
    removal: Access::Write,
    ..Collection::of_entity::<Mapping>()
};

/// What was deleted. The last of the files, so that whoever reads them in this order has seen the rest.
pub static TOMBSTONES: Collection = Collection {
    version: Some("deleted_at"),
    units: &[&["deleted_at", "actor", "version", "comments"]],
    latest: &["restored_at"],
    quiet: true,
    ..Collection::of_entity::<Tombstone>()
};

macro_rules! attached {
    ($($module:ident $noun:ident $id:ident,)*) => {
        const ATTACHED: &[&Collection] = &[$(&Collection::of_attached::<crate::ops::$module::$noun>(),)*];
    };
}

for_each_attached!(attached);

/// Every collection, in the order in which their records refer to each other.
pub static COLLECTIONS: [&Collection; 7 + ATTACHED.len()] = {
    let first: [&Collection; 6] = [&ISSUES, &DEPS, &COMMENTS, &RELEASES, &LEARNINGS, &SKILLS];
    let (mut all, mut at) = ([&TOMBSTONES; 7 + ATTACHED.len()], 0);
    while at < first.len() + ATTACHED.len() {
        all[at] = if at < first.len() { first[at] } else { ATTACHED[at - first.len()] };
        at += 1;
    }
    all
};

/// What actors are doing, in steps.
pub static WORK: Collection = Collection {
    version: Some("updated_at"),
    units: &[&["status", "actor", "started_at", "done_at"]],
    ..Collection::of_entity::<Piece>()
};

/// Agents. What one may do and what it is in the midst of is each store's own affair.
pub static AGENTS: Collection = Collection {
    version: Some("updated_at"),
    local: &["permissions", "tokens", "active_session_id"],
    ..Collection::of_entity::<Agent>()
};

/// Values of the project and of the user; others are those of a machine.
pub static KV: Collection = Collection {
    version: Some("updated_at"),
    free_names: true,
    removal: Access::Write,
    only: &["project", "user"],
    ..Collection::of_entity::<Pair>()
};

/// The collections that servers carry and git does not.
const BETWEEN_STORES: [&Collection; 3] = [&WORK, &AGENTS, &KV];

/// Every collection that servers carry: those of git, and then these.
pub static EXCHANGED: [&Collection; COLLECTIONS.len() + BETWEEN_STORES.len()] = {
    let (mut all, mut at) = ([&TOMBSTONES; COLLECTIONS.len() + BETWEEN_STORES.len()], 0);
    while at < all.len() {
        all[at] = if at < COLLECTIONS.len() { COLLECTIONS[at] } else { BETWEEN_STORES[at - COLLECTIONS.len()] };
        at += 1;
    }
    all
};

impl Collection {
    /// The collection of this name, whoever carries it.
    pub fn named(name: &str) -> Option<&'static Collection> {
        EXCHANGED.into_iter().find(|collection| collection.name == name)
    }

    /// Whether git carries it.
    pub fn is_in_git(&self) -> bool {
        COLLECTIONS.iter().any(|collection| collection.name == self.name)
    }

    /// Whether the record with this key travels.
    pub fn carries(&self, key: &str) -> bool {
        self.only.is_empty() || key.split(' ').next().is_some_and(|first| self.only.contains(&first))
    }

    /// A record without what each store has for itself.
    pub fn without_local(&self, mut record: Record) -> Record {
        self.local.iter().for_each(|field| drop(record.shift_remove(*field)));
        record
    }

    /// The rows of an entity, with the name of its table and its key.
    const fn of_entity<E: Entity + Noun>() -> Self {
        Self::of::<E>(E::SCHEMA.table, E::SCHEMA.columns.split_at(E::SCHEMA.keys).0)
    }

    /// What is attached to issues.
    pub const fn of_attached<E: Entity + Noun>() -> Self {
        Self { order: &["created_at"], birth: Some("created_at"), removal: Access::Write, ..Self::of_entity::<E>() }
    }

    /// A collection with defaults for all but its name and key.
    const fn of<N: Noun>(name: &'static str, key: &'static [Column]) -> Self {
        Self {
            name,
            key,
            order: &[],
            version: None,
            birth: None,
            units: &[],
            telling: &[],
            latest: &[],
            quiet: false,
            optional: true,
            free_names: false,
            removal: Access::Maintain,
            local: &[],
            only: &[],
            read: read::<N>,
            form: form::<N>,
            write: write::<N>,
        }
    }

    /// The collection whose file has this name.
    pub fn of_file(name: &str) -> Option<&'static Collection> {
        let name = name.strip_suffix(".jsonl")?;
        COLLECTIONS.into_iter().find(|collection| collection.name == name)
    }

    pub fn file_name(&self) -> String {
        format!("{}.jsonl", self.name)
    }

    /// The record in a line, as it would be stored.
    pub fn read(&self, line: &[u8]) -> Result<Record> {
        Ok(self.without_local((self.read)(line)?))
    }

    /// The same as far as it can be told without taking the record apart, which is most of the work.
    pub(super) fn form(&self, line: &[u8]) -> Result<Form> {
        (self.form)(self, line)
    }

    /// A record as a line, without the line end.
    pub fn write(&self, record: Record) -> Result<Vec<u8>> {
        let line = (self.write)(record)?;
        if self.local.is_empty() {
            return Ok(line);
        }
        let record = serde_json::from_slice(&line).map_err(Error::internal)?;
        json::to_line(&self.without_local(record)).map(String::into_bytes)
    }

    /// A record brought into the form in which it is stored.
    pub fn settle(&self, record: Record) -> Result<Record> {
        self.read(&self.write(record)?)
    }

    /// The fields that name a record.
    pub fn key_fields(&self) -> impl Iterator<Item = &'static str> {
        self.key.iter().map(|column| column.field)
    }

    /// The columns of these fields, if it is a table.
    pub fn key_columns(&self) -> impl Iterator<Item = &'static str> {
        self.key.iter().map(|column| column.name)
    }

    /// What names a record: the fields of its key, with blanks between, which no id has.
    pub fn key(&self, record: &Record) -> String {
        self.key_fields().map(|field| text(record, field)).collect::<Vec<_>>().join(" ")
    }

    /// What tells a record from another that got the same key by chance.
    pub fn birth<'r>(&self, record: &'r Record) -> &'r str {
        self.birth.map_or("", |field| text(record, field))
    }

    /// How new a version is. Times are text that sorts.
    pub fn version<'r>(&self, record: &'r Record) -> &'r str {
        self.version.map_or("", |field| text(record, field))
    }

    /// What tells a record from others, and how new it is.
    fn version_of(&self, record: &Record) -> Result<(Name, Option<Timestamp>)> {
        let time = |text: &str| if text.is_empty() { Ok(None) } else { text.parse().map(Some) };
        let name = Name { key: self.key(record), birth: time(self.birth(record))? };
        Ok((name, time(self.version(record))?))
    }

    /// Where the line of a record stands.
    pub fn place(&self, record: &Record) -> (String, String) {
        let order: Vec<&str> = self.order.iter().map(|field| text(record, field)).collect();
        (order.join(" "), self.key(record))
    }

    /// The columns by which lines are ordered.
    pub fn order_columns(&self) -> Vec<&'static str> {
        self.order.iter().copied().chain(self.key_columns()).collect()
    }

    /// The field that tells how new a version is.
    pub fn version_field(&self) -> Option<&'static str> {
        self.version
    }

    /// Whether its file is left away while it would be empty.
    pub fn is_optional(&self) -> bool {
        self.optional
    }

    /// Whether what it tells of others counts also where the same was told before.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether a field is part of what a record is, and so the same in all its versions.
    pub(super) fn is_identity(&self, field: &str) -> bool {
        self.key_fields().any(|key| key == field) || self.birth == Some(field) || self.version == Some(field)
    }
}

fn text<'r>(record: &'r Record, field: &str) -> &'r str {
    record.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn read<N: Noun>(line: &[u8]) -> Result<Record> {
    record(&parse::<N>(line)?)
}

fn record<N: Noun>(noun: &N) -> Result<Record> {
    match serde_json::to_value(noun).map_err(Error::internal)? {
        Value::Object(record) => Ok(record),
        _ => Err(Error::invalid("it is not an object")),
    }
}

fn form<N: Noun>(collection: &Collection, line: &[u8]) -> Result<Form> {
    let noun: N = parse(line)?;
    let mut written = Vec::with_capacity(line.len());
    json::write_line(&mut written, &noun)?;
    let (name, changed_at) = match noun.version() {
        Some(told) => told,
        None => collection.version_of(&record(&noun)?)?,
    };
    Ok(Form { name: Rc::new(name), changed_at, is_plain: noun.extra().is_empty(), line: written })
}

fn parse<N: Noun>(line: &[u8]) -> Result<N> {
    let noun: N = serde_json::from_slice(line).map_err(|e| not_a_record(line, e))?;
    let noun = noun.adopt()?;
    check_format(noun.extra())?;
    Ok(noun)
}

fn write<N: Noun>(record: Record) -> Result<Vec<u8>> {
    let noun: N = serde_json::from_value(Value::Object(record)).map_err(|e| Error::invalid(e.to_string()))?;
    let mut line = Vec::with_capacity(256);
    json::write_line(&mut line, &noun)?;
    Ok(line)
}

/// What a line of a later form lacks may well be what this version asks for, so its form is looked at first.
fn not_a_record(line: &[u8], error: serde_json::Error) -> Error {
    match serde_json::from_slice::<Record>(line).map(|record| check_format(&record)) {
        Ok(Err(newer)) => newer,
        _ => Error::invalid(error.to_string()),
    }
}

fn check_format(record: &Record) -> Result<()> {
    match record.get(FORMAT_FIELD).and_then(Value::as_u64) {
        Some(format) if format > FORMAT => Err(Error::new(
            Code::NewerSchema,
            format!("it was written by a newer Pensa (form {format}, this one knows {FORMAT})"),
        )
        .hint("update pn; nothing was imported")),
        _ => Ok(()),
    }
}
