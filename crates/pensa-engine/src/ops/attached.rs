//! Operations on what is attached to issues, such as references: add, list and remove.

use std::fmt::Display;

use pensa_core::entity::{Attach, Attached, Entity};
use pensa_core::id::IssueRef;
use pensa_core::issue::Extra;
use pensa_core::sync::COLLECTIONS;
use pensa_core::{Error, Result, for_each_attached, ops};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::context::Context;
use crate::db::{Tx, params};
use crate::entity::{self, StoredEntity};
use crate::execute::Execute;
use crate::tables::ids::IdTable;
use crate::tables::{issues, tombstones};

macro_rules! attached {
    ($($module:ident $noun:ident $id:ident,)*) => {$(
        impl StoredEntity for ops::$module::$noun {}

        impl Execute for ops::$module::Add {
            fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Self::Output> {
                add::<_, ops::$module::$id>(cx, tx, &self.id, self, ops::$module::$id::PREFIX)
            }
        }

        impl Execute for ops::$module::List {
            fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Self::Output> {
                entity::attached(tx, &issues::find(cx, tx, &self.id)?.id)
            }
        }

        impl Execute for ops::$module::Remove {
            fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Self::Output> {
                remove::<ops::$module::$noun>(cx, tx, self.id.as_str(), ops::$module::$id::PREFIX)
            }
        }
    )*};
}

for_each_attached!(attached);

fn add<A, Id>(cx: &Context<'_>, tx: &Tx<'_>, to: &IssueRef, op: &A, prefix: &'static str) -> Result<A::Output>
where
    A: Attach<Id>,
    A::Output: StoredEntity,
    Id: From<Uuid> + Display,
{
    let issue_id = issues::find(cx, tx, to)?.id;
    let id = with_kind::<A::Output, _>(prefix, |kind| kind.new_id(tx, || Id::from(cx.uuid())))?;
    let (actor, created_at, extra) = (cx.actor.clone(), cx.now, Extra::new());
    let new = op.attach(Attached { id, issue_id: issue_id.clone(), actor, created_at, extra })?;
    // Adding the same thing again returns the existing one.
    for known in entity::attached::<A::Output>(tx, &issue_id)? {
        if content(&known)? == content(&new)? {
            return Ok(known);
        }
    }
    A::Output::store(cx, tx, None, &new)?;
    Ok(new)
}

fn remove<E: StoredEntity>(cx: &Context<'_>, tx: &Tx<'_>, reference: &str, prefix: &'static str) -> Result<E> {
    let id = with_kind::<E, _>(prefix, |kind| kind.find(tx, reference))?;
    let removed = entity::get::<E>(tx, params![&id])?.ok_or_else(|| Error::not_found(E::SCHEMA.name, &id))?;
    E::remove(cx, tx, &removed)?;
    if let Some(collection) = COLLECTIONS.into_iter().find(|collection| collection.name == E::SCHEMA.table) {
        tombstones::write_tombstone(cx, tx, collection, &id, None)?;
    }
    Ok(removed)
}

fn with_kind<E: Entity, T>(prefix: &'static str, work: impl FnOnce(&IdTable<'_>) -> Result<T>) -> Result<T> {
    let (name, table) = (E::SCHEMA.name, entity::rows(&E::SCHEMA));
    work(&IdTable { name, table: &table, prefix, hint: &format!("pn {name} list shows the ids") })
}

/// The content, without actor and time.
fn content(attached: &impl Serialize) -> Result<Value> {
    let mut content = serde_json::to_value(attached).map_err(Error::internal)?;
    if let Value::Object(fields) = &mut content {
        fields.retain(|name, _| !["id", "actor", "created_at"].contains(&name.as_str()));
    }
    Ok(content)
}
