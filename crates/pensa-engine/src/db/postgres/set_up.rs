//! Migrates the schema of a database, one server at a time.

use std::time::Duration;

use pensa_core::{Code, Error, Result};
use tokio::time::timeout;

use super::address::Address;
use super::connection::{PgConnection, block_on};
use super::failure::{self, Failure, ROLE_HINT};
use crate::clock::{Clock, SystemClock};
use crate::db::migrations::{self, Migration, SCHEMA_VERSION};
use crate::db::params;
use crate::error;

/// Timeout for a migration, including the wait for another server that is migrating.
const MIGRATION_TIMEOUT: Duration = Duration::from_secs(60);
/// The advisory lock held by the migrating server.
const MIGRATION_LOCK: &str = "SELECT pg_advisory_xact_lock(7533002026)";

/// The schema of a database.
struct Schema {
    version: i64,
    /// Servers built for an older schema version cannot use it.
    oldest: i64,
}

pub(super) fn bring_up_to_date(address: &Address) -> Result<()> {
    in_time(MIGRATION_TIMEOUT, migrate(address)).map_err(|failure| match failure.error.code {
        Code::Forbidden => failure.error.hint(ROLE_HINT),
        _ => failure.error,
    })
}

async fn migrate(address: &Address) -> Result<(), Failure> {
    let mut session = PgConnection::connect(address).await?;
    session.batch("SET client_min_messages = warning").await?;
    if is_current(&mut session).await? {
        return Ok(());
    }
    session.batch("BEGIN; SET LOCAL lock_timeout = '30s'").await?;
    session.query(MIGRATION_LOCK, params![]).await?;
    if !is_current(&mut session).await? {
        let version = schema(&mut session).await?.version;
        for migration in migrations::pending(version) {
            apply(&mut session, migration).await?;
        }
    }
    session.batch("COMMIT").await
}

/// The schema version. Error if it is newer than this build knows, or was never released.
pub(super) fn version(address: &Address) -> Result<i64> {
    let ask = async {
        let mut session = PgConnection::connect(address).await?;
        is_current(&mut session).await?;
        schema(&mut session).await.map(|schema| schema.version)
    };
    in_time(super::BEGIN_TIMEOUT, ask).map_err(|failure| failure.error)
}

fn in_time<T>(time: Duration, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    block_on(async { timeout(time, work).await.unwrap_or_else(|_| Err(failure::silent())) })
}

/// Whether the schema is current. Error if it is newer than this build knows.
async fn is_current(session: &mut PgConnection) -> Result<bool, Failure> {
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

async fn schema(session: &mut PgConnection) -> Result<Schema, Failure> {
    // Not `to_regclass`: it may cache a missing table until the transaction ends.
    let exists = "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = 'pensa' AND c.relname = '_migrations'";
    if session.query(exists, params![]).await?.is_empty() {
        return Ok(Schema { version: 0, oldest: 0 });
    }
    let ask = "SELECT COUNT(*), COALESCE(MAX(oldest), 0), COALESCE(MIN(name), '') FROM pensa._migrations";
    let rows = session.query(ask, params![]).await?;
    let Some(row) = rows.first() else { return Ok(Schema { version: 0, oldest: 0 }) };
    if row.try_get::<_, String>(2)? == migrations::UNRELEASED {
        return Err(Failure::other(error::unreleased("the database")));
    }
    Ok(Schema { version: migrations::version_of(row.try_get(0)?), oldest: row.try_get(1)? })
}

async fn apply(session: &mut PgConnection, migration: &Migration) -> Result<(), Failure> {
    let now = SystemClock.now().map_err(Failure::other)?;
    session.batch(migration.postgres).await?;
    let note = "INSERT INTO pensa._migrations (name, checksum, applied_at, oldest) VALUES (?1, ?2, ?3, ?4)";
    let checksum = Migration::checksum(migration.postgres);
    session.query(note, params![migration.name, checksum, now, migration.oldest]).await.map(drop)
}
