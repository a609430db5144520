//! How a noun is kept: one declaration of its table, from which the engine reads and writes rows, journals, replays and
//! undoes them.
//!
//! The SQL of the tables is in the engine's migrations, where a test holds it against these declarations.

use serde::Serialize;
use serde::de::DeserializeOwned;

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
    /// The fields that this version does not know, as JSON.
    Extra,
}

/// Declares the table of an entity: `entity!(Pair: "kv" in "kv", keys 2 { scope, k = key, v = value, updated_at })`.
///
/// `, derived [names]` after the keys lists fields without a column; `, owner issue_id` names the column with the issue that it belongs to. A column is text unless a
/// [`ColumnKind`] follows its name; `= field` names a field that is called otherwise, and
/// `= field.member` a member of it.
#[macro_export]
macro_rules! entity {
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
