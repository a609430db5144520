//! The database file: schema, version, and other files in its place. SQLite only.

use std::fs;
use std::thread;

use pensa_core::Code;
use pensa_core::ops::issue;
use pensa_engine::{Engine, SCHEMA_VERSION, StoreDir};
use rusqlite::Connection;

use crate::world::World;

/// Schemas that were never released only count.
const BEFORE_THE_FIRST: i64 = 19;

fn raw(world: &World) -> Connection {
    let connection = Connection::open(world.store().database()).expect("opens");
    connection.pragma_update(None, "foreign_keys", true).expect("set");
    connection
}

#[test]
fn the_schema_refuses_what_the_rules_forbid() {
    let world = World::sqlite();
    world.task("a");
    let connection = raw(&world);
    for forbidden in [
        "UPDATE issues SET status = 'done'",
        "UPDATE issues SET priority = 'p9'",
        "UPDATE issues SET issue_type = 'epic'",
        "UPDATE issues SET title = NULL",
        "UPDATE issues SET fixes = 'pn-nope'",
        "INSERT INTO deps (issue_id, depends_on_id) SELECT id, id FROM issues",
        "INSERT INTO deps (issue_id, depends_on_id) SELECT id, 'pn-nope' FROM issues",
        "INSERT INTO comments (id, issue_id, actor, text, created_at) VALUES ('c', 'pn-nope', 'a', 't', 'now')",
        "INSERT INTO events (subject_kind, subject_id, issue_id, event_type, actor, detail, created_at)
         VALUES ('issue', 'x', 'pn-nope', 'created', 'a', '{}', 'now')",
        "DELETE FROM issues",
    ] {
        let error = connection.execute(forbidden, []).expect_err(forbidden);
        assert!(error.to_string().contains("constraint failed"), "{forbidden}: {error}");
    }
}

#[test]
fn migrations_are_recorded_and_in_step_with_the_version() {
    let world = World::sqlite();
    let connection = raw(&world);
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).expect("a number");
    let recorded: i64 = connection
        .query_row(
            "SELECT COUNT(*) FROM _migrations WHERE length(checksum) = 16 AND applied_at LIKE '20%Z'",
            [],
            |row| row.get(0),
        )
        .expect("a number");
    assert_eq!((version, recorded), (SCHEMA_VERSION, SCHEMA_VERSION - BEFORE_THE_FIRST));
}

#[test]
fn a_database_from_before_the_first_release_is_refused_untouched() {
    let world = World::sqlite();
    let store = world.store();
    raw(&world)
        .execute_batch(
            "DELETE FROM _migrations; INSERT INTO _migrations VALUES ('0000_migrations', '', ''), ('0001_issues', '', '');
             PRAGMA user_version = 2",
        )
        .expect("as it was");
    raw(&world).query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("folded");
    let before = fs::read(store.database()).expect("a file");
    let error = Engine::open(store.clone()).expect_err("too old");
    assert_eq!(error.code, Code::Unsupported, "{error}");
    assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("pn export")), "{error:?}");
    assert_eq!(fs::read(store.database()).expect("a file"), before);
    assert!(!store.root().join("local/set-aside").exists());
}

#[test]
fn a_flipped_bit_in_the_header_is_damage_and_not_an_old_schema() {
    let world = World::sqlite();
    let task = world.task("kept");
    raw(&world).pragma_update(None, "user_version", SCHEMA_VERSION ^ 4).expect("set");
    let engine = Engine::open(world.store()).expect("rebuilt");
    assert_eq!(engine.call("a", &issue::Show { id: (&task.id).into() }).expect("an issue").issue.title, "kept");
}

#[test]
fn a_database_of_a_newer_pensa_is_refused_unchanged() {
    let world = World::sqlite();
    let store = world.store();
    raw(&world).pragma_update(None, "user_version", SCHEMA_VERSION + 1).expect("set");
    raw(&world).execute_batch("INSERT INTO _migrations VALUES ('0002_more', '', '')").expect("listed");
    raw(&world).query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("folded");
    let before = fs::read(store.database()).expect("a file");
    let error = Engine::open(store.clone()).expect_err("too new");
    assert_eq!(error.code, Code::NewerSchema);
    assert_eq!(fs::read(store.database()).expect("a file"), before);
}

#[test]
fn a_file_that_is_not_a_pensa_database_is_refused_unchanged() {
    let content = "just text, long enough to be a header of SQLite, or not".repeat(100);
    let dir = tempfile::tempdir().expect("a directory");
    let (store, _) = StoreDir::create(&dir.path().join(".pensa")).expect("a store");
    fs::write(store.database(), &content).expect("written");
    assert_eq!(Engine::open(store.clone()).expect_err("no database").code, Code::Corrupt);
    assert_eq!(fs::read_to_string(store.database()).expect("a file"), content);

    let dir = tempfile::tempdir().expect("a directory");
    let (store, _) = StoreDir::create(&dir.path().join(".pensa")).expect("a store");
    Connection::open(store.database()).expect("opens").execute_batch("CREATE TABLE theirs (x)").expect("made");
    assert_eq!(Engine::open(store).expect_err("somebody else's").code, Code::Corrupt);
}

#[test]
fn concurrent_first_opens_create_one_database() {
    let dir = tempfile::tempdir().expect("a directory");
    let root = dir.path().join(".pensa");
    let threads: Vec<_> = (0..8)
        .map(|n| {
            let root = root.clone();
            thread::spawn(move || {
                let (store, _) = StoreDir::create(&root).expect("a store");
                let id = store.id().expect("an id");
                let engine = Engine::open(store).expect("opens");
                let op = serde_json::from_value(serde_json::json!({"title": format!("t{n}"), "issue_type": "task"}));
                engine.call::<issue::Create>("a", &op.expect("an operation")).expect("created");
                id
            })
        })
        .collect();
    let ids: Vec<String> = threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "one store id: {ids:?}");
    let engine = Engine::open(StoreDir::at(&root).expect("a store")).expect("opens");
    assert_eq!(engine.call("a", &issue::List::default()).expect("a list").len(), 8);
}

#[test]
fn the_last_connection_checkpoints_a_large_write_ahead_log() {
    let world = World::sqlite();
    let log = world.store().root().join("db.sqlite-wal");
    let text = "x".repeat(100_000);
    for n in 0..30 {
        world.create(serde_json::json!({"title": format!("t{n}"), "description": text}));
    }
    assert!(fs::metadata(&log).expect("a log").len() > 1 << 20);
    let World { engine, .. } = world;
    drop(engine);
    assert!(fs::metadata(&log).map_or(0, |meta| meta.len()) < 1 << 20);
}
