//! What schema a database has and what it lacks, told without changing anything.
//!
//! Adding what is missing happens whenever a store is opened, in `db`.

use pensa_core::Result;

use crate::db::migrations::{self, SCHEMA_VERSION};
use crate::db::{Postgres, snapshot};
use crate::store::StoreDir;

/// The schema of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// How many steps it has.
    pub version: i64,
    /// The names of those that it lacks.
    pub pending: Vec<&'static str>,
}

impl Schema {
    fn at(version: i64) -> Self {
        Self { version, pending: migrations::pending(version).map(|migration| migration.name).collect() }
    }
}

/// The schema of a store's database; that of none if it is yet to be made. One that is too new is an error.
pub fn schema_of_store(store: &StoreDir) -> Result<Schema> {
    store.refuse_tracked_database()?;
    let file = store.database();
    if !file.exists() {
        return Ok(Schema::at(0));
    }
    let version = snapshot::version(&file)?;
    if version > SCHEMA_VERSION {
        return Err(snapshot::newer(&file, version));
    }
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
