//! `cargo xtask tidy`, writes: lists every table of the engine, and checks which files write it.
//!
//! State changes only through `entity::put` and similar functions, which record the previous row for undo and the
//! journal. The exceptions are listed here with their reasons.

use crate::layers::without_tests;
use crate::tidy::SourceFile;

/// What a table contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// Data of users and peers, written only by `entity/`.
    State,
    /// Data derived from state.
    Projection,
    /// The log, and records of peers and requests.
    Bookkeeping,
}
use Holds::{Bookkeeping, Projection, State};

/// Every table, and the files outside `entity/` that write it.
const TABLES: &[(&str, Holds, &[&str])] = &[
    ("_migrations", Bookkeeping, &["db/postgres/set_up.rs", "db/sqlite.rs"]),
    ("stores", Bookkeeping, &["db/postgres/mod.rs"]),
    ("events", Bookkeeping, LOG),
    ("changes", Bookkeeping, &["sync/import.rs", "tables/agents.rs", "tables/purge.rs"]),
    ("answers", Bookkeeping, &["tables/answers.rs"]),
    ("peers", Bookkeeping, &[]),
    ("merge_bases", Bookkeeping, &["tables/peers.rs", "tables/purge.rs"]),
    ("title_keys", Projection, &["tables/titles.rs"]),
    ("learning_keys", Projection, &["tables/learnings.rs"]),
    ("recall_dirty", Projection, &["replay.rs", "tables/recall.rs"]),
    ("recall_parts", Projection, &["tables/recall.rs"]),
    ("vectors", Projection, &["tables/vectors.rs"]),
    ("record_keys", Projection, &["tables/records/mod.rs", "tables/records/write.rs"]),
    // Which fields of records have keys follows from what was declared.
    ("record_indexes", Projection, &["tables/records/mod.rs"]),
    // The counts of blockers are computed from dependencies; after a replay, references to what is lost are taken out.
    ("issues", State, &["tables/deps.rs", REPLAY]),
    ("deps", State, &[REPLAY]),
    ("comments", State, &[REPLAY]),
    // Removal for good.
    ("agents", State, &["tables/agents.rs", REPLAY]),
    ("sessions", State, &["tables/agents.rs", REPLAY]),
    ("work", State, &["tables/purge.rs"]),
    // An import that replaces everything, removal for good, and the new id of an issue.
    ("conflicts", State, &["sync/import.rs", "tables/issues.rs", "tables/purge.rs"]),
    ("tombstones", State, &["sync/import.rs"]),
    // Entries are appended many at a time, and never changed.
    ("session_history", State, &["tables/agents.rs", "tables/entries.rs", "tables/sessions.rs", REPLAY]),
    // The rows of entities that are kept as records, and of records that are put many at a time.
    ("records", State, &["tables/records/write.rs"]),
    ("runs", State, &[REPLAY]),
    ("fs_snapshots", State, &[REPLAY]),
    ("harnesses", State, &[]),
    ("kv", State, &[]),
    ("learnings", State, &[]),
    ("projects", State, &[]),
    ("releases", State, &[]),
    ("repos", State, &[]),
    ("runtimes", State, &[]),
    ("skills", State, &[]),
    ("tokens", State, &[]),
    ("views", State, &[]),
    ("workspaces", State, &[]),
];

const REPLAY: &str = "replay.rs";

const LOG: &[&str] = &[
    "db/postgres/mod.rs",
    "db/sqlite.rs",
    "recover.rs",
    REPLAY,
    "tables/issues.rs",
    "tables/operations.rs",
    "tables/purge.rs",
];

/// Files that write tables whose names they are given: an import that replaces everything, and the new id of an issue.
const ANY_TABLE: &[&str] = &["sync/import.rs", "sync/synced_tables.rs", "tables/issues.rs"];

const VERBS: [&str; 3] = ["INSERT INTO ", "UPDATE ", "DELETE FROM "];

/// Forbidden writes, and tables that are not listed.
pub(crate) fn problems(rust: &[SourceFile], schema: &[SourceFile]) -> Vec<String> {
    let undeclared = TABLES.iter().filter_map(|(table, holds, _)| undeclared(table, *holds, rust));
    schema.iter().flat_map(unlisted).chain(rust.iter().flat_map(forbidden_writes)).chain(undeclared).collect()
}

/// State tables without an `entity!` declaration, except those with their own bulk writes.
fn undeclared(table: &str, holds: Holds, rust: &[SourceFile]) -> Option<String> {
    let declaration = format!(" in \"{table}\", keys ");
    let is_due = holds == State && !["records", "session_history"].contains(&table);
    let is_missing = is_due && !rust.iter().any(|source| source.text.contains(&declaration));
    is_missing.then(|| format!("the table {table} holds state and is declared by no entity!"))
}

fn unlisted(schema: &SourceFile) -> Vec<String> {
    let made = schema.text.split("CREATE TABLE ").skip(1).map(name);
    let is_listed = |table: &&str| TABLES.iter().any(|(known, ..)| known == table);
    let output = |table| format!("{}: the table {table} is not listed (xtask/src/writes.rs)", schema.name);
    made.filter(|table| !is_listed(table)).map(output).collect()
}

fn forbidden_writes(source: &SourceFile) -> Vec<String> {
    let Some(path) = source.name.strip_prefix("crates/pensa-engine/src/") else { return Vec::new() };
    if path.starts_with("entity/") {
        return Vec::new();
    }
    let text = without_tests(&source.text);
    let mut problems = Vec::new();
    for verb in VERBS {
        for (at, _) in text.match_indices(verb) {
            let table = name(&text[at + verb.len()..]);
            let may = match TABLES.iter().find(|(known, ..)| *known == table) {
                Some((_, _, files)) => files.contains(&path),
                // A table of SQLite, `DO UPDATE SET`, or prose.
                None if !table.is_empty() => true,
                None => !text[at + verb.len()..].starts_with('{') || ANY_TABLE.contains(&path),
            };
            if !may {
                let line = text[..at].matches('\n').count() + 1;
                problems.push(format!("{}:{line}: {verb}{table}: changes of it go through entity/", source.name));
            }
        }
    }
    problems
}

/// The table name at the start of a text, without its schema.
fn name(text: &str) -> &str {
    let text = text.strip_prefix("pensa.").unwrap_or(text);
    &text[..text.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str, text: &str) -> SourceFile {
        SourceFile { name: format!("crates/pensa-engine/src/{name}"), text: text.to_owned() }
    }

    #[test]
    fn state_is_written_only_by_listed_files() {
        let written = |name: &str, text: &str| forbidden_writes(&source(name, text)).len();
        assert_eq!(written("ops/issue.rs", "tx.send(\"UPDATE issues SET title = ?1\")"), 1);
        assert_eq!(written("ops/issue.rs", "\"DELETE FROM {table}\" and \"INSERT INTO kv (k)\""), 2);
        assert_eq!(written("entity/mod.rs", "UPDATE issues SET {set}"), 0);
        assert_eq!(written("tables/deps.rs", "UPDATE issues SET blockers = 0"), 0);
        assert_eq!(written("tables/deps.rs", "DO UPDATE SET a = 1; UPDATE sqlite_sequence SET seq = 1"), 0);
    }

    #[test]
    fn every_table_must_be_listed_and_declared() {
        let made = "CREATE TABLE pensa.issues (id TEXT); CREATE TABLE boards (id TEXT)";
        assert_eq!(unlisted(&source("db/migrations/x.sql", made)).len(), 1);
        let declared = [source("issue.rs", "entity!(Issue: \"issue\" in \"issues\", keys 1 { id })")];
        assert_eq!(undeclared("issues", State, &declared), None);
        assert!(undeclared("kv", State, &declared).is_some() && undeclared("events", Bookkeeping, &declared).is_none());
    }
}
