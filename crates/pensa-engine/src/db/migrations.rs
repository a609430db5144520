//! The numbered migrations from an empty database to the current schema. New ones are appended; released ones never
//! change.

use pensa_core::similar::hash64;

/// A migration, with the SQL for each database.
#[derive(Debug)]
#[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "two fields are for PostgreSQL only"))]
pub(crate) struct Migration {
    pub(crate) name: &'static str,
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
    /// The oldest schema version whose servers still work after this migration. During a rolling upgrade, servers of
    /// two versions share a database. A migration that only adds something names the first version.
    pub(crate) oldest: i64,
}

impl Migration {
    pub(crate) fn checksum(sql: &str) -> String {
        format!("{:016x}", hash64(sql.as_bytes()))
    }
}

macro_rules! migration {
    ($name:literal, oldest: $oldest:expr) => {
        Migration {
            name: $name,
            sqlite: include_str!(concat!("migrations/", $name, ".sqlite.sql")),
            postgres: include_str!(concat!("migrations/", $name, ".postgres.sql")),
            oldest: $oldest,
        }
    };
}

const MIGRATIONS: [Migration; 3] = [
    migration!("0001_initial", oldest: FIRST),
    migration!("0002_recall", oldest: FIRST + 1),
    migration!("0003_vectors", oldest: FIRST + 1),
];

/// The first released schema version. Lower ones were never released.
pub(crate) const FIRST: i64 = 20;

/// The schema version of this build: the first, plus one for each further migration.
pub const SCHEMA_VERSION: i64 = FIRST - 1 + MIGRATIONS.len() as i64;

/// The name of the first migration in databases of an unreleased version.
pub(crate) const UNRELEASED: &str = "0000_migrations";

/// The schema version of a database with this many applied migrations.
pub(crate) fn version_of(steps: i64) -> i64 {
    if steps == 0 { 0 } else { FIRST - 1 + steps }
}

/// The migrations missing from a database of schema `version`.
pub(crate) fn pending(version: i64) -> impl Iterator<Item = &'static Migration> {
    MIGRATIONS.iter().skip(usize::try_from(version - FIRST + 1).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A released migration must never change: databases out there have already run it.
    #[test]
    fn migrations_are_what_was_released() {
        let line =
            |m: &Migration| format!("{} {} {}", m.name, Migration::checksum(m.sqlite), Migration::checksum(m.postgres));
        assert_eq!(MIGRATIONS.iter().map(line).collect::<Vec<_>>(), RELEASED);
    }

    const RELEASED: [&str; 3] = [
        "0001_initial c7099b078ef5657e 1bedbf1efaa6abea",
        "0002_recall 011747752078aab9 7b90fbd83ece85f3",
        "0003_vectors ff5c94820378fb8a 7fe1c07e0cc4fb1a",
    ];

    #[test]
    fn every_step_is_pending_until_it_is_applied() {
        let names = |version| pending(version).map(|migration| migration.name).collect::<Vec<_>>();
        assert_eq!(names(0).len(), MIGRATIONS.len());
        assert_eq!(names(FIRST), names(0)[1..]);
        assert_eq!(names(SCHEMA_VERSION), [""; 0]);
        assert_eq!((version_of(0), version_of(1)), (0, FIRST));
    }
}
