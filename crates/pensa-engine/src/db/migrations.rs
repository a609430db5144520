//! The numbered steps from an empty database to the current schema. They are only ever appended.

use pensa_core::similar::hash64;

/// One step.
#[derive(Debug)]
pub(crate) struct Migration {
    pub(crate) name: &'static str,
    pub(crate) sql: &'static str,
}

impl Migration {
    pub(crate) fn checksum(&self) -> String {
        format!("{:016x}", hash64(self.sql.as_bytes()))
    }
}

const MIGRATIONS: [Migration; 2] = [
    Migration {
        name: "0000_migrations",
        sql: "CREATE TABLE _migrations (name TEXT PRIMARY KEY, checksum TEXT NOT NULL, applied_at TEXT NOT NULL);",
    },
    Migration { name: "0001_issues", sql: include_str!("migrations/0001_issues.sqlite.sql") },
];

/// The schema that this build writes: how many migrations there are.
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// What is still to be applied to a database of schema `version`.
pub(crate) fn pending(version: i64) -> impl Iterator<Item = &'static Migration> {
    MIGRATIONS.iter().skip(usize::try_from(version).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A released migration must never change: databases out there have already run it.
    #[test]
    fn migrations_are_what_was_released() {
        let known: Vec<_> = MIGRATIONS.iter().map(|m| format!("{} {}", m.name, m.checksum())).collect();
        assert_eq!(known, RELEASED);
    }

    const RELEASED: [&str; 2] = ["0000_migrations 113adbe8c631d3d4", "0001_issues 5546ae09932dceb9"];
}
