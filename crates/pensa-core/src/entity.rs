//! How a noun is kept: one declaration of its table, from which the engine reads and writes rows, journals, replays and
//! undoes them.
//!
//! A noun has a table, whose SQL is in the engine's migrations and held against these declarations by a test; or it is
//! kept as records, in a collection of its own, which needs no SQL. New nouns begin as records.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::id::IssueId;
use crate::issue::Extra;
use crate::op::Op;
use crate::time::Timestamp;

/// A noun whose state is kept in a table. Declared with [`entity!`](crate::entity).
pub trait Entity: Serialize + DeserializeOwned + 'static {
    const SCHEMA: Schema;
}

/// The table of an entity.
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    /// What messages call one of them.
    pub name: &'static str,
    pub table: &'static str,
    /// How many of the columns, from the first, are the key.
    pub keys: usize,
    /// The column with the issue without which it makes no sense.
    pub owner: Option<&'static str>,
    /// Fields that have no column, because other rows tell them.
    pub derived: &'static [&'static str],
    /// Of one that is kept as records, the fields by which they are found; `table` is the name of the collection.
    pub indexes: Option<&'static [&'static str]>,
    pub columns: &'static [Column],
}

/// A column, and the field that it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    pub field: &'static str,
    /// The member, if the field is an object that has a column for each member.
    pub member: Option<&'static str>,
    pub kind: ColumnKind,
}

impl Column {
    /// A column of text, called as its field.
    pub const fn text(name: &'static str) -> Self {
        Self { name, field: name, member: None, kind: ColumnKind::Text }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    Text,
    Int,
    Bool,
    /// Any value, as JSON; null if it is absent.
    Json,
    /// A list, as JSON; empty if it is absent.
    List,
    /// An object, as JSON; empty if it is absent.
    Object,
    /// The fields that have no column, as JSON.
    Extra,
    /// The revision of a record, which is no field of the entity.
    Revision,
}

/// The columns of what is kept as records.
pub const RECORD: &[Column] = &[
    Column { name: "id", field: "id", member: None, kind: ColumnKind::Text },
    Column { name: "rev", field: "", member: None, kind: ColumnKind::Revision },
    Column { name: "data", field: "", member: None, kind: ColumnKind::Extra },
];

/// What everything has that is attached to an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attached<Id> {
    pub id: Id,
    pub issue_id: IssueId,
    pub actor: String,
    pub created_at: Timestamp,
    /// Fields that this version does not know, kept for those who do
    #[serde(flatten)]
    pub extra: Extra,
}

/// Declares what is attached to issues, with the function that checks one: `attached!(Ref: "ref" in "refs", checked)`. It
/// has its [`Attached`] in the field `of`, and is kept as records.
#[macro_export]
macro_rules! attached {
    ($type:ty: $name:literal in $collection:literal, $checked:path) => {
        $crate::entity!($type: $name in records $collection by [issue_id], owner issue_id);

        impl $crate::sync::Noun for $type {
            fn adopt(self) -> $crate::Result<Self> {
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
/// `, derived [names]` after the keys lists fields without a column; `, owner issue_id` names the column with the issue that it belongs to. A column is text unless a
/// [`ColumnKind`] follows its name; `= field` names a field that is called otherwise, and
/// `= field.member` a member of it.
///
/// `entity!(Ref: "ref" in records "refs" by [issue_id], owner issue_id)` declares one that is kept as records with an
/// `id`, found by the fields in brackets.
#[macro_export]
macro_rules! entity {
    ($type:ty: $name:literal in records $collection:literal by [$($index:ident),*] $(, owner $owner:ident)?) => {
        impl $crate::entity::Entity for $type {
            const SCHEMA: $crate::entity::Schema = $crate::entity::Schema {
                name: $name,
                table: $collection,
                keys: 1,
                owner: $crate::entity!(@option $(stringify!($owner))?),
                derived: &[],
                indexes: Some(&[$(stringify!($index)),*]),
                columns: $crate::entity::RECORD,
            };
        }
    };
    ($type:ty: $name:literal in $table:literal, keys $keys:literal $(, owner $owner:ident)? $(, derived [$($derived:ident),*])? {
        $($column:ident $(: $kind:ident)? $(= $field:ident $(. $member:ident)?)?),* $(,)?
    }) => {
        impl $crate::entity::Entity for $type {
            const SCHEMA: $crate::entity::Schema = $crate::entity::Schema {
                name: $name,
                table: $table,
                keys: $keys,
                owner: $crate::entity!(@option $(stringify!($owner))?),
                derived: &[$($(stringify!($derived)),*)?],
                indexes: None,
                columns: &[$($crate::entity::Column {
                    name: stringify!($column),
                    field: $crate::entity!(@or $(stringify!($field),)? stringify!($column)),
                    member: $crate::entity!(@option $($(stringify!($member))?)?),
                    kind: $crate::entity!(@kind $($kind)?),
                }),*],
            };
        }
    };
    (@or $first:expr $(, $rest:expr)?) => { $first };
    (@kind) => { $crate::entity::ColumnKind::Text };
    (@kind $kind:ident) => { $crate::entity::ColumnKind::$kind };
    (@option) => { None };
    (@option $value:expr) => { Some($value) };
}
