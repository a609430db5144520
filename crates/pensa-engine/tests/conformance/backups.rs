//! Whole copies of a store: made, kept, refused and put back. SQLite only.

use std::fs;
use std::path::Path;
use std::sync::mpsc;

use pensa_core::Result;
use pensa_core::ops::store::{Doctor, Severity};
use pensa_core::ops::{backup, batch, issue};
use pensa_engine::{Caller, Engine, GroupWriter, entry};
use serde_json::{Value, json};

use crate::site::{Site, create, everything, run};
use crate::world::World;

fn restore(engine: &Engine, file: &str) -> backup::Restored {
    run::<backup::Restore>(engine, "alice", json!({"file": file}))
}

#[test]
fn a_restore_brings_back_what_was_and_the_journal_does_not_undo_it() {
    let site = Site::lived_in();
    let engine = site.open();
    let then = everything(&engine);
    let made = run::<backup::Backup>(&engine, "alice", json!({}));
    create(&engine, "to be undone");
    let last = everything(&engine);
    let restored = restore(&engine, &made.path);
    assert!(restored.event > made.event + 1, "{restored:?} {made:?}");
    assert_eq!(everything(&engine), then);
    drop(engine);
    assert_eq!(everything(&site.open()), then);
    site.delete_database();
    assert_eq!(everything(&site.open()), then, "rebuilt");
    create(&site.open(), "later");
    let later = everything(&site.open());
    site.delete_database();
    let engine = site.open();
    assert_eq!(everything(&engine), later, "rebuilt with what came later");
    restore(&engine, &restored.backup);
    assert_eq!(everything(&engine), last, "the backup of before the restore");
}

#[test]
fn a_database_from_before_a_restore_is_not_brought_forward_across_it() {
    let site = Site::lived_in();
    let old: Vec<_> =
        ["db.sqlite", "db.sqlite-wal"].map(|name| (name, fs::read(site.path(name)).expect("a file"))).into();
    let engine = site.open();
    let made = run::<backup::Backup>(&engine, "alice", json!({}));
    create(&engine, "to be undone");
    restore(&engine, &made.path);
    create(&engine, "later");
    let before = everything(&engine);
    drop(engine);
    site.delete_database();
    for (name, bytes) in old {
        fs::write(site.path(name), bytes).expect("put back");
    }
    assert_eq!(everything(&site.open()), before);
}

#[test]
fn a_file_that_is_no_sound_backup_of_this_store_is_refused_and_nothing_changes() {
    let site = Site::lived_in();
    let engine = site.open();
    let before = everything(&engine);
    let good = run::<backup::Backup>(&engine, "alice", json!({"file": site.path("good.sqlite")}));
    let refused = |file: &Path| {
        let op: backup::Restore = serde_json::from_value(json!({"file": file})).expect("an operation");
        engine.call("alice", &op).expect_err("refused").code.as_str().to_owned()
    };
    assert_eq!(refused(&site.path("nowhere.sqlite")), "not_found");
    assert_eq!(refused(&site.path("config.toml")), "invalid_input");
    let bytes = fs::read(&good.path).expect("a backup");
    let bad = site.path("bad.sqlite");
    for length in [0, 1, 100, 4096, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&bad, &bytes[..length]).expect("truncated");
        assert_eq!(refused(&bad), "invalid_input", "{length}");
    }
    let foreign = Site::lived_in();
    run::<backup::Backup>(&foreign.open(), "alice", json!({"file": foreign.path("b.sqlite")}));
    assert_eq!(refused(&foreign.path("b.sqlite")), "wrong_store");
    assert_eq!(everything(&engine), before);
    let op = json!({"file": foreign.path("b.sqlite"), "force": true});
    run::<backup::Restore>(&engine, "alice", op);
    assert_eq!(everything(&engine)["issues"][0]["shown"], everything(&foreign.open())["issues"][0]["shown"]);
}

#[test]
fn a_backup_never_replaces_a_file_unasked_and_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let site = Site::lived_in();
    let engine = site.open();
    let file = site.path("mine.sqlite");
    run::<backup::Backup>(&engine, "alice", json!({"file": file}));
    assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
    let op: backup::Backup = serde_json::from_value(json!({"file": file})).expect("an operation");
    assert_eq!(engine.call("alice", &op).expect_err("refused").code.as_str(), "conflict");
    run::<backup::Backup>(&engine, "alice", json!({"file": file, "force": true}));
}

#[test]
fn five_backups_are_kept_and_the_journal_ends_behind_them() {
    let site = Site::new();
    let engine = site.open();
    let text = "x".repeat(60_000);
    for round in 0..7 {
        let one = |n| json!({"op": "issue.create", "title": format!("{round} {n}"), "issue_type": "task", "description": text});
        let count = if round < 3 { 40 } else { 1 };
        run::<batch::Batch>(&engine, "alice", json!({"operations": (0..count).map(one).collect::<Vec<_>>()}));
        run::<backup::Backup>(&engine, "alice", json!({}));
    }
    let kept = engine.call("alice", &backup::Backups {}).expect("a list");
    assert_eq!(kept.len(), 5);
    let size: u64 = fs::read_dir(site.path("local/journal"))
        .expect("listed")
        .map(|e| e.expect("one").metadata().expect("a size").len())
        .sum();
    // The first rounds journal about five megabytes each.
    assert!(size < 6 << 20, "{size}");
    let before = everything(&engine);
    drop(engine);
    site.delete_database();
    assert_eq!(everything(&site.open()), before);
}

#[test]
fn an_unreadable_backup_is_passed_over_for_the_one_before() {
    let site = Site::lived_in();
    let engine = site.open();
    run::<backup::Backup>(&engine, "alice", json!({}));
    create(&engine, "between");
    let newest = run::<backup::Backup>(&engine, "alice", json!({}));
    create(&engine, "after");
    let before = everything(&engine);
    drop(engine);
    fs::write(&newest.path, "no longer a database").expect("damaged");
    site.delete_database();
    assert_eq!(everything(&site.open()), before);
}

#[test]
fn a_restore_among_many_writers_leaves_nothing_out_of_its_backup() {
    let site = Site::lived_in();
    let engine = site.open();
    let backup = engine.call("a", &backup::Backup { file: None, force: false }).expect("a backup").path;
    let name = Path::new(&backup).file_name().expect("a name").to_string_lossy().into_owned();
    let writer = GroupWriter::start(engine).expect("a writer");
    let (send, answers) = mpsc::channel();
    let submit = |op: &'static str, input: Value| {
        let (entry, send) = (entry(op).expect("in the catalog"), send.clone());
        let reply = move |answer: Result<String>| send.send((op, answer.expect("done"))).expect("awaited");
        match entry.alone {
            Some(alone) => writer.submit_alone(Caller::local("alice"), None, alone, input, reply),
            None => writer.submit(Caller::local("alice"), None, move |cx, tx| (entry.run)(cx, tx, &input), reply),
        }
    };
    for n in 0..100 {
        submit("issue.create", json!({"title": format!("t{n}"), "issue_type": "task"}));
        if n == 50 {
            submit("store.restore", json!({ "file": name }));
        }
    }
    drop(writer);
    drop(send);
    let all: Vec<(&str, Value)> =
        answers.iter().map(|(op, text)| (op, serde_json::from_str(&text).expect("JSON"))).collect();
    let restored = all.iter().position(|(op, _)| *op == "store.restore").expect("restored");
    let saved = all[restored].1["backup"].as_str().expect("a path");
    let saved = rusqlite::Connection::open(saved).expect("a database");
    let engine = site.open();
    for (at, (_, made)) in all.iter().enumerate().filter(|(at, _)| *at != restored) {
        let id = made["id"].as_str().expect("an id");
        let in_backup: i64 =
            saved.query_row("SELECT COUNT(*) FROM issues WHERE id = ?1", [id], |row| row.get(0)).expect("a count");
        let is_there = engine.call("a", &issue::Show { id: id.parse().expect("an id") }).is_ok();
        assert_eq!((in_backup == 1, is_there), (at < restored, at > restored), "{id}, {at} of {restored}");
    }
}

/// A database as the first release left it.
fn of_the_first_release(path: &Path) {
    let old = rusqlite::Connection::open(path).expect("opens");
    let sql = include_str!("../../src/db/migrations/0001_issues.sqlite.sql");
    old.execute_batch(
        "CREATE TABLE _migrations (name TEXT PRIMARY KEY, checksum TEXT NOT NULL, applied_at TEXT NOT NULL);
        INSERT INTO _migrations VALUES ('0000_migrations', '', ''), ('0001_issues', '', '')",
    )
    .expect("made");
    old.execute_batch(sql).expect("made");
    old.execute_batch(
        "INSERT INTO issues (id, title, issue_type, created_at, updated_at, search_text)
            VALUES ('pn-old', 'old', 'task', '2026-02-27T14:30:00.000Z', '2026-02-27T14:30:00.000Z', 'old');
         INSERT INTO events (subject_kind, subject_id, issue_id, event_type, actor, detail, created_at)
            VALUES ('issue', 'pn-old', 'pn-old', 'created', 'a', '{}', '2026-02-27T14:30:00.000Z');
         PRAGMA user_version = 2",
    )
    .expect("filled");
}

#[test]
fn a_migration_is_preceded_by_a_backup_and_an_old_backup_can_be_restored() {
    let site = Site::new();
    of_the_first_release(&site.path("db.sqlite"));
    let engine = site.open();
    let before = everything(&engine);
    assert_eq!(before["issues"][0]["shown"]["id"], "pn-old");
    let kept = engine.call("a", &backup::Backups {}).expect("a list");
    let raw = rusqlite::Connection::open(&kept[0].path).expect("opens");
    let version: i64 = raw.query_row("PRAGMA user_version", [], |row| row.get(0)).expect("a version");
    assert_eq!((kept.len(), version), (1, 2), "as it was before");
    let report = engine.call("a", &Doctor { fix: false, deep: true }).expect("a report");
    assert!(report.findings.iter().all(|finding| finding.severity != Severity::Error), "{report:?}");
    drop(raw);
    create(&engine, "new");
    restore(&engine, &kept[0].path);
    assert_eq!(everything(&engine), before);
    drop(engine);
    site.delete_database();
    assert_eq!(everything(&site.open()), before);
}

#[test]
fn a_store_in_postgresql_says_where_its_backups_are() {
    let world = World::postgres();
    for refused in [
        world.refused::<backup::Backup>("alice", json!({})),
        world.refused::<backup::Backups>("alice", json!({})),
        world.refused::<backup::Restore>("alice", json!({"file": "x.sqlite"})),
    ] {
        assert_eq!(refused.as_str(), "unsupported");
    }
    world.json::<Doctor>("alice", json!({"deep": true, "fix": true})).expect("a report");
}
