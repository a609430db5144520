//! The numbered steps from an empty database to the current schema. They are only ever appended.

use pensa_core::similar::hash64;

/// One step, in the words of each database.
#[derive(Debug)]
#[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "two fields are for PostgreSQL only"))]
pub(crate) struct Migration {
    pub(crate) name: &'static str,
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
    /// The oldest schema whose servers can go on after this step. Servers of two versions share a database while they
    /// are exchanged one by one; a step that only adds names the schema of the first release.
    pub(crate) oldest: i64,
}

impl Migration {
    pub(crate) fn checksum(sql: &str) -> String {
        format!("{:016x}", hash64(sql.as_bytes()))
    }
}

macro_rules! migration {
    ($name:literal, oldest: $oldest:literal) => {
        Migration {
            name: $name,
            sqlite: include_str!(concat!("migrations/", $name, ".sqlite.sql")),
            postgres: include_str!(concat!("migrations/", $name, ".postgres.sql")),
            oldest: $oldest,
        }
    };
}

const MIGRATIONS: [Migration; 19] = [
    Migration {
        name: "0000_migrations",
        sqlite: "CREATE TABLE _migrations (name TEXT PRIMARY KEY, checksum TEXT NOT NULL, applied_at TEXT NOT NULL);",
        postgres: include_str!("migrations/0000_migrations.postgres.sql"),
        oldest: 0,
    },
    migration!("0001_issues", oldest: 0),
    migration!("0002_projects", oldest: 3),
    migration!("0003_operations", oldest: 3),
    migration!("0004_sync", oldest: 3),
    migration!("0005_agents", oldest: 3),
    migration!("0006_runs", oldest: 3),
    migration!("0007_snapshots", oldest: 3),
    migration!("0008_work", oldest: 3),
    migration!("0009_learnings", oldest: 3),
    migration!("0010_peers", oldest: 3),
    migration!("0011_records", oldest: 3),
    migration!("0012_policies", oldest: 3),
    migration!("0013_claims", oldest: 3),
    migration!("0014_sessions", oldest: 3),
    migration!("0015_operators", oldest: 3),
    migration!("0016_changes", oldest: 3),
    migration!("0017_event_sessions", oldest: 3),
    migration!("0018_skills", oldest: 3),
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
        let told =
            |m: &Migration| format!("{} {} {}", m.name, Migration::checksum(m.sqlite), Migration::checksum(m.postgres));
        assert_eq!(MIGRATIONS.iter().map(told).collect::<Vec<_>>(), RELEASED);
    }

    const RELEASED: [&str; 19] = [
        "0000_migrations 113adbe8c631d3d4 8342ad0dc15833b2",
        "0001_issues 5546ae09932dceb9 cda04c08dd19b5c1",
        "0002_projects 97ae198aa50a5d9a bca5c08f773e3abf",
        "0003_operations 9615bfbce7db682e 9515a1712db4fdd7",
        "0004_sync c2ae5cd934eacffe d31a6297a17428d6",
        "0005_agents 9658c97daede5548 85be47809244617e",
        "0006_runs bd62ed7ffb7dc46d 34e26cc558ca85ea",
        "0007_snapshots 97e4faa8e61a395f fbb0310619383c8d",
        "0008_work f6b0ce301960fea2 bdb5a0b8c896303a",
        "0009_learnings f440290fef4302e1 e18b58655097771a",
        "0010_peers bde085d38e5fb501 fa1baaab93dac83d",
        "0011_records feca0aa08adce0d0 2e5b7134a6f3d8d5",
        "0012_policies 0c5e956418470eeb 67ecb05e9e87e548",
        "0013_claims d26167933feb1c88 27244ef2f788e98a",
        "0014_sessions 07c09f5bc389035d 35544be282ae7e11",
        "0015_operators 89c6fee5d20d8347 960222b6d2c2c577",
        "0016_changes de619e5ecce6ced5 bdd6cc4da78e2c0c",
        "0017_event_sessions cbe9413084bb8109 4f6441d176366075",
        "0018_skills 07f6e547dacd08e9 aa795ff53a98f8d1",
    ];
}
