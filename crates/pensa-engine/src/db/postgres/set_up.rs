//! Brings the schema of a database up to date, one server at a time.

use std::time::Duration;

use pensa_core::{Code, Error, Result};
use tokio::time::timeout;

use super::address::Address;
use super::failure::{self, Failure, ROLE_HINT};
use super::session::{Session, block_on};
use crate::clock::{Clock, SystemClock};
use crate::db::migrations::{self, Migration, SCHEMA_VERSION};
use crate::db::params;

/// Longest time for all of it, the wait for another server that is at it included.
const PATIENCE: Duration = Duration::from_secs(60);
/// Under which number servers agree who migrates.
const LOCK: &str = "SELECT pg_advisory_xact_lock(7533002026)";

/// What a database says of itself.
struct Schema {
    version: i64,
    /// The oldest schema that a server may have been built for to still use this one.
    oldest: i64,
}

pub(super) fn bring_up_to_date(address: &Address) -> Result<()> {
    in_time(PATIENCE, migrate(address)).map_err(|failure| match failure.error.code {
        Code::Forbidden => failure.error.hint(ROLE_HINT),
        _ => failure.error,
    })
}

async fn migrate(address: &Address) -> Result<(), Failure> {
    let mut session = Session::connect(address).await?;
    session.batch("SET client_min_messages = warning").await?;
    if is_current(&mut session).await? {
        return Ok(());
    }
    session.batch("BEGIN; SET LOCAL lock_timeout = '30s'").await?;
    session.query(LOCK, params![]).await?;
    if !is_current(&mut session).await? {
        let version = schema(&mut session).await?.version;
        for migration in migrations::pending(version) {
            apply(&mut session, migration).await?;
        }
    }
    session.batch("COMMIT").await
}

/// How many steps the schema has. One that is too new is an error.
pub(super) fn version(address: &Address) -> Result<i64> {
    let ask = async {
        let mut session = Session::connect(address).await?;
        is_current(&mut session).await?;
        schema(&mut session).await.map(|schema| schema.version)
    };
    in_time(super::BEGIN, ask).map_err(|failure| failure.error)
}

fn in_time<T>(time: Duration, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    block_on(async { timeout(time, work).await.unwrap_or_else(|_| Err(failure::silent())) })
}

/// Whether there is nothing to do. A schema that is too new is an error.
async fn is_current(session: &mut Session) -> Result<bool, Failure> {
    let schema = schema(session).await?;
    if schema.oldest > SCHEMA_VERSION {
        let message = format!(
            "the database was brought to schema {} by a newer Pensa; this one knows {SCHEMA_VERSION}",
            schema.version
        );
        return Err(Failure::other(Error::new(Code::NewerSchema, message).hint("update pn; nothing was touched")));
    }
    Ok(schema.version >= SCHEMA_VERSION)
}

async fn schema(session: &mut Session) -> Result<Schema, Failure> {
    // Not to_regclass: what it once could not find it may take for missing until the transaction ends.
    let exists = "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = 'pensa' AND c.relname = '_migrations'";
    if session.query(exists, params![]).await?.is_empty() {
        return Ok(Schema { version: 0, oldest: 0 });
    }
    let ask = "SELECT COUNT(*), COALESCE(MAX(oldest), 0) FROM pensa._migrations";
    let rows = session.query(ask, params![]).await?;
    let Some(row) = rows.first() else { return Ok(Schema { version: 0, oldest: 0 }) };
    Ok(Schema { version: row.try_get(0)?, oldest: row.try_get(1)? })
}

async fn apply(session: &mut Session, migration: &Migration) -> Result<(), Failure> {
    let now = SystemClock.now().map_err(Failure::other)?;
    session.batch(migration.postgres).await?;
    let note = "INSERT INTO pensa._migrations (name, checksum, applied_at, oldest) VALUES (?1, ?2, ?3, ?4)";
    let checksum = Migration::checksum(migration.postgres);
    session.query(note, params![migration.name, checksum, now, migration.oldest]).await.map(drop)
}
