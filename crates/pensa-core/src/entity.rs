//! Declares how each entity is stored. The engine reads, writes, journals, replays and undoes rows from this one
//! declaration.
//!
//! An entity has either a table, whose SQL is in the engine's migrations (a test compares it with the declaration), or a
//! collection of records, which needs no SQL. New entities start as records.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::id::IssueId;
use crate::issue::Extra;
use crate::op::Op;
use crate::time::Timestamp;

/// A type that is stored in a table or a record collection. Implemented by [`entity!`](crate::entity!).
pub trait Entity: Serialize + DeserializeOwned + 'static {
    const SCHEMA: EntitySchema;

    /// The value of a column of kind [`ColumnKind::Hidden`], which no answer contains.
    fn hidden(&self, _column: &str) -> Option<i64> {
        None
    }

    fn set_hidden(&mut self, _column: &str, _value: i64) {}
}

/// The table of an entity, or its record collection.
#[derive(Debug, Clone, Copy)]
pub struct EntitySchema {
    /// The singular used in messages.
    pub name: &'static str,
    pub table: &'static str,
    /// How many leading columns form the key.
    pub keys: usize,
    /// The column with the issue that the row belongs to; deleting the issue deletes the row.
    pub owner: Option<&'static str>,
    /// SQL condition for rows that are not deleted. Deleted rows stay, so that undo can restore them.
    pub shown: Option<&'static str>,
    /// Fields without a column, computed from other rows.
    pub derived: &'static [&'static str],
    /// Columns without a field, which the engine derives to search and count rows.
    pub computed: &'static [&'static str],
    /// For an entity stored as records: its indexed fields. `table` is then the name of the collection.
    pub indexes: Option<&'static [&'static str]>,
    pub columns: &'static [Column],
}

/// A column and the field it stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    pub field: &'static str,
    /// The member, if the field is an object with one column per member.
    pub member: Option<&'static str>,
    pub kind: ColumnKind,
}

impl Column {
    /// A text column with the name of its field.
    pub const fn text(name: &'static str) -> Self {
        Self { name, field: name, member: None, kind: ColumnKind::Text }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    Text,
    Int,
    Bool,
    /// Any value as JSON; null if absent.
    Json,
    /// A list as JSON; empty if absent.
    List,
    /// An object as JSON; empty if absent.
    Object,
    /// All fields without a column of their own, as JSON.
    Extra,
    /// The revision of a record; not a field of the entity.
    Revision,
    /// An internal number; see [`Entity::hidden`].
    Hidden,
}

/// The columns of an entity stored as records.
pub const RECORD: &[Column] = &[
    Column { name: "id", field: "id", member: None, kind: ColumnKind::Text },
    Column { name: "rev", field: "", member: None, kind: ColumnKind::Revision },
    Column { name: "data", field: "", member: None, kind: ColumnKind::Extra },
];

/// The columns of records that users put: their data has no reliable time of change, so they have a column for it.
pub const DATED_RECORD: &[Column] = &[RECORD[0], RECORD[1], RECORD[2], Column::text("updated_at")];

/// The fields shared by everything that is attached to an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attached<Id> {
    pub id: Id,
    pub issue_id: IssueId,
    pub actor: String,
    pub created_at: Timestamp,
    /// Fields unknown to this version, kept so that a newer version does not lose them
    #[serde(flatten)]
    pub extra: Extra,
}

/// Declares an entity that is attached to issues: `attached!(Ref: "ref" in "refs", checked)`, where `checked` validates
/// one. The type has its [`Attached`] in the field `of` and is stored as records.
#[macro_export]
macro_rules! attached {
    ($type:ty: $name:literal in $collection:literal, $checked:path) => {
        $crate::entity!($type: $name in records $collection by [issue_id], owner issue_id);

        impl $crate::sync::SyncEntity for $type {
            fn normalise(self) -> $crate::Result<Self> {
                $checked(self)
            }

            fn extra(&self) -> &$crate::issue::Extra {
                &self.of.extra
            }
        }
    };
}

/// An operation that attaches something to an issue, named by its field `id`.
pub trait Attach<Id>: Op {
    fn attach(&self, to: Attached<Id>) -> Result<Self::Output>;
}

/// Declares the table of an entity: `entity!(Pair: "kv" in "kv", keys 2 { scope, k = key, v = value, updated_at })`.
///
/// The options after the keys set the fields of [`EntitySchema`]: `, owner issue_id`, `, shown "SQL"`,
/// `, derived [names]` and `, computed [names]`. A column is text unless a [`ColumnKind`] follows its name. `= field`
/// maps a column to a field with another name, `= field.member` to a member of it. The functions of hidden columns
/// follow the braces.
///
/// `entity!(Ref: "ref" in records "refs" by [issue_id], owner issue_id)` declares an entity that is stored as records
/// with an `id` and indexed by the fields in brackets.
#[macro_export]
macro_rules! entity {
    ($type:ty: $name:literal in records $collection:literal by [$($index:ident),*] $(, owner $owner:ident)?) => {
        impl $crate::entity::Entity for $type {
            const SCHEMA: $crate::entity::EntitySchema = $crate::entity::EntitySchema {
                name: $name,
                table: $collection,
                keys: 1,
                owner: $crate::entity!(@option $(stringify!($owner))?),
                shown: None,
                derived: &[],
                computed: &[],
                indexes: Some(&[$(stringify!($index)),*]),
                columns: $crate::entity::RECORD,
            };
        }
    };
    ($type:ty: $name:literal in $table:literal, keys $keys:literal $(, owner $owner:ident)? $(, shown $shown:literal)? $(, derived [$($derived:ident),*])?
        $(, computed [$($computed:ident),*])? {
        $($column:ident $(: $kind:ident)? $(= $field:ident $(. $member:ident)?)?),* $(,)?
    } $($hidden:item)*) => {
        impl $crate::entity::Entity for $type {
            const SCHEMA: $crate::entity::EntitySchema = $crate::entity::EntitySchema {
                name: $name,
                table: $table,
                keys: $keys,
                owner: $crate::entity!(@option $(stringify!($owner))?),
                shown: $crate::entity!(@option $($shown)?),
                derived: &[$($(stringify!($derived)),*)?],
                computed: &[$($(stringify!($computed)),*)?],
                indexes: None,
                columns: &[$($crate::entity::Column {
                    name: stringify!($column),
                    field: $crate::entity!(@or $(stringify!($field),)? stringify!($column)),
                    member: $crate::entity!(@option $($(stringify!($member))?)?),
                    kind: $crate::entity!(@kind $($kind)?),
                }),*],
            };

            $($hidden)*
        }
    };
    (@or $first:expr $(, $rest:expr)?) => { $first };
    (@kind) => { $crate::entity::ColumnKind::Text };
    (@kind $kind:ident) => { $crate::entity::ColumnKind::$kind };
    (@option) => { None };
    (@option $value:expr) => { Some($value) };
}
