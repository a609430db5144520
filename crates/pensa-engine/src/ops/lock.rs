//! Operations on locks. A released lock stays a record, so that its fencing number keeps growing.

use std::borrow::Cow;

use pensa_core::event::EventType;
use pensa_core::lock::{self, Acquired, COLLECTION, Lock, LockRecord};
use pensa_core::ops::lock::{Acquire, List, Release, Status};
use pensa_core::record::Record;
use pensa_core::{Access, Code, Error, Result};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::clock_check;
use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::tables::records::{Collection, Expect, Query, RecordDraft};
use crate::tables::{events, loops};

fn load(tx: &Tx<'_>, name: &str) -> Result<LockRecord> {
    Collection::open(tx, COLLECTION)?.get(tx, name)?.map_or_else(|| Ok(LockRecord::new(name)), read)
}

fn read(record: Record) -> Result<LockRecord> {
    serde_json::from_value(Value::Object(record.data)).map_err(|e| {
        Error::new(Code::Corrupt, format!("lock {} is unreadable: {e}", record.id)).hint("run pn doctor --deep")
    })
}

fn save(cx: &Context<'_>, tx: &Tx<'_>, lock: &LockRecord, event: EventType) -> Result<()> {
    let Value::Object(data) = serde_json::to_value(lock).map_err(Error::internal)? else {
        return Err(Error::internal("a lock is an object"));
    };
    let draft = RecordDraft { id: lock.name.clone(), data: Cow::Owned(data), updated_at: cx.now };
    let put = Collection::open(tx, COLLECTION)?.put(tx, draft, Expect::Any)?;
    if put.is_change() {
        events::append(cx, tx, ("lock", &lock.name), None, event, loops::changes(put.detail()))?;
    }
    Ok(())
}

/// Locks listed by default.
const DEFAULT_LIMIT: usize = 1000;

fn hash(token: &str) -> String {
    hex::encode(Sha256::digest(token.as_bytes()))
}

impl Execute for Acquire {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Lock> {
        let (name, ttl) = (lock::name(&self.name)?, lock::ttl(self.ttl)?);
        let token = match &self.token {
            Some(token) => lock::token(token)?.to_owned(),
            // A single UUID has fewer random bits.
            None => format!("{}{}", cx.uuid().simple(), cx.uuid().simple()),
        };
        let mut lock = load(tx, name)?;
        let event = match lock.acquire(&cx.actor, &hash(&token), ttl, clock_check::confirmed(cx, tx)?)? {
            Acquired::New => EventType::LockAcquired,
            Acquired::Renewed => EventType::LockRenewed,
        };
        save(cx, tx, &lock, event)?;
        Ok(Lock { token: Some(token), ..lock.state(cx.now) })
    }
}

impl Execute for Release {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Lock> {
        let name = lock::name(&self.name)?;
        if self.force {
            cx.require(Access::Maintain, "lock.release with force")?;
        }
        let token = self.token.as_ref().map(|token| lock::token(token).map(hash)).transpose()?;
        let mut lock = load(tx, name)?;
        if lock.release(&cx.actor, token.as_deref(), self.force, cx.now)? {
            save(cx, tx, &lock, EventType::LockReleased)?;
        }
        Ok(lock.state(cx.now))
    }
}

impl Execute for Status {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Lock> {
        Ok(load(tx, lock::name(&self.name)?)?.state(cx.now))
    }
}

impl Execute for List {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Lock>> {
        let most = self.limit.map_or(DEFAULT_LIMIT, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let (collection, mut query, mut locks) = (Collection::open(tx, COLLECTION)?, Query::default(), Vec::new());
        loop {
            let page = collection.select(tx, &query)?;
            for record in page.records {
                let lock = read(record)?.state(cx.now);
                if self.all || lock.held {
                    locks.push(lock);
                }
            }
            match page.next {
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
        locks.sort_by(|a, b| a.name.cmp(&b.name));
        locks.truncate(most);
        Ok(locks)
    }
}
