//! Reports the schema version of a database and its pending migrations, without changing anything.
//!
//! Migrations run whenever a store is opened, in `db`.

use pensa_core::Result;

use crate::db::migrations;
use crate::db::{Postgres, snapshot};
use crate::store::StoreDir;

/// The schema version of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// 0 if the database does not exist yet.
    pub version: i64,
    /// The names of the migrations that it lacks.
    pub pending: Vec<&'static str>,
}

impl Schema {
    fn at(version: i64) -> Self {
        Self { version, pending: migrations::pending(version).map(|migration| migration.name).collect() }
    }
}

/// The schema of a store's database. Error if it is newer than this build knows.
pub fn schema_of_store(store: &StoreDir) -> Result<Schema> {
    store.refuse_tracked_database()?;
    let file = store.database();
    if !file.exists() {
        return Ok(Schema::at(0));
    }
    let version = snapshot::version(&file)?;
    snapshot::refuse_schema(&file, version)?;
    Ok(Schema::at(version))
}

/// The schema of a server's database.
pub fn schema_of_database(address: &str) -> Result<Schema> {
    Postgres::schema_version(address).map(Schema::at)
}

/// Brings the schema of a server's database up to date.
pub fn migrate_database(address: &str) -> Result<()> {
    Postgres::open(address, 1).map(drop)
}
