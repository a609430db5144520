//! Operations on key-value pairs.

use pensa_core::event::{self, EventType};
use pensa_core::kv::{self as rules, KvPair};
use pensa_core::ops::kv::{Delete, Deleted, Get, List, Set};
use pensa_core::sync::KV;
use pensa_core::{Code, Error, Result};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::db::{Tx, params};
use crate::entity::{self, StoredEntity};
use crate::execute::Execute;
use crate::tables::{events, kv, tombstones};

fn unknown(scope: &str, key: &str) -> Error {
    Error::not_found("value", format!("{key} in {scope}")).hint("pn kv list shows those that are there")
}

pub(super) fn get_pair(tx: &Tx<'_>, scope: &str, key: &str) -> Result<Option<KvPair>> {
    rules::check_scope(scope)?;
    rules::check_key(key)?;
    entity::get(tx, params![scope, key])
}

/// Refuses to continue if the value is not the one that the caller expects.
fn check_expected(before: Option<&KvPair>, expected: &str, scope: &str, key: &str) -> Result<()> {
    match before {
        Some(pair) if pair.value == expected => Ok(()),
        Some(_) => Err(Error::new(Code::Conflict, format!("{key} in {scope} has another value"))
            .hint("look at it again with pn kv get, then decide")),
        None => Err(Error::new(Code::Conflict, format!("{key} in {scope} has no value"))
            .hint("--if-absent sets one that is not there")),
    }
}

/// Logs a change with the lengths of the values, because the values may be long.
pub(super) fn log(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    (scope, key): (&str, &str),
    event_type: EventType,
    [old, new]: [Option<&KvPair>; 2],
) -> Result<()> {
    let bytes = |pair: Option<&KvPair>| pair.map(|pair| pair.value.len());
    let mut detail = Map::new();
    detail.insert("scope".into(), Value::from(scope));
    detail.insert("key".into(), Value::from(key));
    detail.insert("bytes".into(), event::change(bytes(old), bytes(new)));
    events::append(cx, tx, ("kv", &format!("{scope} {key}")), None, event_type, detail).map(drop)
}

impl StoredEntity for KvPair {
    fn store(cx: &Context<'_>, tx: &Tx<'_>, old: Option<&Self>, new: &Self) -> Result<()> {
        entity::put(tx, new)?;
        let event_type = if old.is_some() { EventType::Updated } else { EventType::Created };
        log(cx, tx, (&new.scope, &new.key), event_type, [old, Some(new)])
    }

    fn remove(cx: &Context<'_>, tx: &Tx<'_>, pair: &Self) -> Result<()> {
        entity::delete::<Self>(tx, params![&pair.scope, &pair.key])?;
        log(cx, tx, (&pair.scope, &pair.key), EventType::Deleted, [Some(pair), None])
    }
}

impl Execute for Get {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<KvPair> {
        get_pair(tx, &self.scope, &self.key)?.ok_or_else(|| unknown(&self.scope, &self.key))
    }
}

impl Execute for Set {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<KvPair> {
        let (scope, key) = (self.scope.as_str(), self.key.as_str());
        rules::check_value(&self.value)?;
        let before = get_pair(tx, scope, key)?;
        if let Some(expected) = &self.if_value {
            check_expected(before.as_ref(), expected, scope, key)?;
        }
        if self.if_absent && before.is_some() {
            return Err(Error::new(Code::Conflict, format!("{key} in {scope} has a value already"))
                .hint("--if-value sets one that is there"));
        }
        let known = before.as_ref().map(|before| before.updated_at);
        let updated_at = tombstones::version_after(cx, tx, &KV, &format!("{scope} {key}"), known)?;
        let extra = before.as_ref().map(|before| before.extra.clone()).unwrap_or_default();
        let pair = KvPair { scope: scope.into(), key: key.into(), value: self.value.clone(), updated_at, extra };
        if let Some(same) = before.as_ref().filter(|before| before.value == pair.value) {
            return Ok(same.clone());
        }
        KvPair::store(cx, tx, before.as_ref(), &pair)?;
        Ok(pair)
    }
}

impl Execute for List {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<KvPair>> {
        self.scope.as_deref().map_or(Ok(()), rules::check_scope)?;
        kv::list(tx, self.scope.as_deref(), self.prefix.as_deref().unwrap_or_default(), self.limit)
    }
}

impl Execute for Delete {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Deleted> {
        let (scope, key) = (self.scope.as_str(), self.key.as_str());
        let before = get_pair(tx, scope, key)?;
        if let Some(expected) = &self.if_value {
            check_expected(before.as_ref(), expected, scope, key)?;
        }
        let before = before.ok_or_else(|| unknown(scope, key))?;
        let name = format!("{scope} {key}");
        if KV.carries(&name) {
            tombstones::write_tombstone(cx, tx, &KV, &name, Some(before.updated_at))?;
        }
        KvPair::remove(cx, tx, &before)?;
        Ok(Deleted { status: "deleted".into(), scope: scope.into(), key: key.into() })
    }
}
