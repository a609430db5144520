//! Brings the schema of a database up to date, one server at a time.

use std::time::{Duration, Instant};

use pensa_core::{Code, Error, Result};

use super::address::Address;
use super::connection::Connection;
use super::failure::{Failure, ROLE_HINT};
use crate::context::{Clock, SystemClock};
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
    let deadline = Instant::now() + PATIENCE;
    let connecting = Instant::now() + super::BEGIN;
    let mut connection = Connection::open_unbound(address, connecting).map_err(|failure| failure.error)?;
    let mut migrate = || {
        connection.batch("SET client_min_messages = warning", deadline)?;
        if is_current(&mut connection, deadline)? {
            return Ok(());
        }
        connection.batch("BEGIN; SET LOCAL lock_timeout = '30s'", deadline)?;
        connection.query(LOCK, params![], deadline)?;
        if !is_current(&mut connection, deadline)? {
            let version = schema(&mut connection, deadline)?.version;
            for migration in migrations::pending(version) {
                apply(&mut connection, migration, deadline)?;
            }
        }
        connection.batch("COMMIT", deadline)
    };
    migrate().map_err(|failure| match failure.error.code {
        Code::Forbidden => failure.error.hint(ROLE_HINT),
        _ => failure.error,
    })
}

/// How many steps the schema has. One that is too new is an error.
pub(super) fn version(address: &Address) -> Result<i64> {
    let deadline = Instant::now() + super::BEGIN;
    let mut connection = Connection::open_unbound(address, deadline).map_err(|failure| failure.error)?;
    let mut ask = || {
        is_current(&mut connection, deadline)?;
        schema(&mut connection, deadline).map(|schema| schema.version)
    };
    ask().map_err(|failure: Failure| failure.error)
}

/// Whether there is nothing to do. A schema that is too new is an error.
fn is_current(connection: &mut Connection, deadline: Instant) -> Result<bool, Failure> {
    let schema = schema(connection, deadline)?;
    if schema.oldest > SCHEMA_VERSION {
        let message = format!(
            "the database was brought to schema {} by a newer Pensa; this one knows {SCHEMA_VERSION}",
            schema.version
        );
        return Err(Failure::other(Error::new(Code::NewerSchema, message).hint("update pn; nothing was touched")));
    }
    Ok(schema.version >= SCHEMA_VERSION)
}

fn schema(connection: &mut Connection, deadline: Instant) -> Result<Schema, Failure> {
    // Not to_regclass: what it once could not find it may take for missing until the transaction ends.
    let exists = "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = 'pensa' AND c.relname = '_migrations'";
    let (rows, _) = connection.query(exists, params![], deadline)?;
    if rows.is_empty() {
        return Ok(Schema { version: 0, oldest: 0 });
    }
    let ask = "SELECT COUNT(*), COALESCE(MAX(oldest), 0) FROM pensa._migrations";
    let (rows, _) = connection.query(ask, params![], deadline)?;
    let Some(row) = rows.first() else { return Ok(Schema { version: 0, oldest: 0 }) };
    Ok(Schema { version: row.int(0)?, oldest: row.int(1)? })
}

fn apply(connection: &mut Connection, migration: &Migration, deadline: Instant) -> Result<(), Failure> {
    let now = SystemClock.now().map_err(Failure::other)?;
    connection.batch(migration.postgres, deadline)?;
    connection.execute(
        "INSERT INTO pensa._migrations (name, checksum, applied_at, oldest) VALUES (?1, ?2, ?3, ?4)",
        params![migration.name, Migration::checksum(migration.postgres), now, migration.oldest],
        deadline,
    )?;
    Ok(())
}
