//! Backups: create, rotate, check and restore. SQLite only.

use std::fs;
use std::path::Path;
use std::sync::mpsc;

use pensa_core::ops::store::Doctor;
use pensa_core::ops::{backup, batch, issue};
use pensa_core::{Code, Result};
use pensa_engine::{Caller, Engine, GroupWriter, entry};
use serde_json::{Value, json};

use crate::closed_store::{ClosedStore, create, full_state, run};
use crate::world::World;

fn restore(engine: &Engine, file: &str) -> backup::Restored {
    run::<backup::Restore>(engine, "alice", json!({"file": file}))
}

#[test]
fn a_restore_is_not_reverted_by_the_journal() {
    let on_disk = ClosedStore::with_every_change();
    let engine = on_disk.open();
    let then = full_state(&engine);
    let made = run::<backup::Backup>(&engine, "alice", json!({}));
    create(&engine, "to be undone");
    let last = full_state(&engine);
    let restored = restore(&engine, &made.path);
    assert!(restored.event > made.event + 1, "{restored:?} {made:?}");
    assert_eq!(full_state(&engine), then);
    drop(engine);
    assert_eq!(full_state(&on_disk.open()), then);
    on_disk.delete_database();
    assert_eq!(full_state(&on_disk.open()), then, "rebuilt");
    create(&on_disk.open(), "later");
    let later = full_state(&on_disk.open());
    on_disk.delete_database();
    let engine = on_disk.open();
    assert_eq!(full_state(&engine), later, "rebuilt with what came later");
    restore(&engine, &restored.backup);
    assert_eq!(full_state(&engine), last, "the backup of before the restore");
}

#[test]
fn a_database_older_than_a_restore_is_not_replayed_past_it() {
    let on_disk = ClosedStore::with_every_change();
    let old: Vec<_> =
        ["db.sqlite", "db.sqlite-wal"].map(|name| (name, fs::read(on_disk.path(name)).expect("a file"))).into();
    let engine = on_disk.open();
    let made = run::<backup::Backup>(&engine, "alice", json!({}));
    create(&engine, "to be undone");
    restore(&engine, &made.path);
    create(&engine, "later");
    let before = full_state(&engine);
    drop(engine);
    on_disk.delete_database();
    for (name, bytes) in old {
        fs::write(on_disk.path(name), bytes).expect("put back");
    }
    assert_eq!(full_state(&on_disk.open()), before);
}

#[test]
fn an_invalid_backup_is_refused_and_nothing_changes() {
    let on_disk = ClosedStore::with_every_change();
    let engine = on_disk.open();
    let before = full_state(&engine);
    let good = run::<backup::Backup>(&engine, "alice", json!({"file": on_disk.path("good.sqlite")}));
    let refused = |file: &Path| {
        let op: backup::Restore = serde_json::from_value(json!({"file": file})).expect("an operation");
        engine.call("alice", &op).expect_err("refused").code.as_str().to_owned()
    };
    assert_eq!(refused(&on_disk.path("nowhere.sqlite")), "not_found");
    assert_eq!(refused(&on_disk.path("config.toml")), "invalid_input");
    let bytes = fs::read(&good.path).expect("a backup");
    let bad = on_disk.path("bad.sqlite");
    for length in [0, 1, 100, 4096, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&bad, &bytes[..length]).expect("truncated");
        assert_eq!(refused(&bad), "invalid_input", "{length}");
    }
    let foreign = ClosedStore::with_every_change();
    run::<backup::Backup>(&foreign.open(), "alice", json!({"file": foreign.path("b.sqlite")}));
    assert_eq!(refused(&foreign.path("b.sqlite")), "wrong_store");
    assert_eq!(full_state(&engine), before);
    let op = json!({"file": foreign.path("b.sqlite"), "force": true});
    run::<backup::Restore>(&engine, "alice", op);
    assert_eq!(full_state(&engine)["issues"][0]["shown"], full_state(&foreign.open())["issues"][0]["shown"]);
}

#[test]
fn a_backup_replaces_no_file_without_force_and_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let on_disk = ClosedStore::with_every_change();
    let engine = on_disk.open();
    let file = on_disk.path("mine.sqlite");
    run::<backup::Backup>(&engine, "alice", json!({"file": file}));
    assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
    let op: backup::Backup = serde_json::from_value(json!({"file": file})).expect("an operation");
    assert_eq!(engine.call("alice", &op).expect_err("refused").code.as_str(), "conflict");
    run::<backup::Backup>(&engine, "alice", json!({"file": file, "force": true}));
}

#[test]
fn five_backups_are_kept_and_older_journal_segments_are_removed() {
    let on_disk = ClosedStore::new();
    let engine = on_disk.open();
    let text = "x".repeat(60_000);
    for round in 0..7 {
        let one = |n| json!({"op": "issue.create", "title": format!("{round} {n}"), "issue_type": "task", "description": text});
        let count = if round < 3 { 40 } else { 1 };
        run::<batch::Batch>(&engine, "alice", json!({"operations": (0..count).map(one).collect::<Vec<_>>()}));
        run::<backup::Backup>(&engine, "alice", json!({}));
    }
    let kept = engine.call("alice", &backup::Backups {}).expect("a list");
    assert_eq!(kept.len(), 5);
    let size: u64 = fs::read_dir(on_disk.path("local/journal"))
        .expect("listed")
        .map(|e| e.expect("one").metadata().expect("a size").len())
        .sum();
    // The first rounds journal about five megabytes each.
    assert!(size < 6 << 20, "{size}");
    let before = full_state(&engine);
    drop(engine);
    on_disk.delete_database();
    assert_eq!(full_state(&on_disk.open()), before);
}

#[test]
fn an_unreadable_backup_is_skipped_for_the_previous_one() {
    let on_disk = ClosedStore::with_every_change();
    let engine = on_disk.open();
    run::<backup::Backup>(&engine, "alice", json!({}));
    create(&engine, "between");
    let newest = run::<backup::Backup>(&engine, "alice", json!({}));
    create(&engine, "after");
    let before = full_state(&engine);
    drop(engine);
    fs::write(&newest.path, "no longer a database").expect("damaged");
    on_disk.delete_database();
    assert_eq!(full_state(&on_disk.open()), before);
}

#[test]
fn a_restore_during_many_writes_backs_up_all_of_them() {
    let on_disk = ClosedStore::with_every_change();
    let engine = on_disk.open();
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
    let engine = on_disk.open();
    for (at, (_, made)) in all.iter().enumerate().filter(|(at, _)| *at != restored) {
        let id = made["id"].as_str().expect("an id");
        let in_backup: i64 =
            saved.query_row("SELECT COUNT(*) FROM issues WHERE id = ?1", [id], |row| row.get(0)).expect("a count");
        let is_there = engine.call("a", &issue::Show { id: id.parse().expect("an id") }).is_ok();
        assert_eq!((in_backup == 1, is_there), (at < restored, at > restored), "{id}, {at} of {restored}");
    }
}

#[test]
fn a_backup_from_before_the_first_release_is_refused() {
    let on_disk = ClosedStore::new();
    let engine = on_disk.open();
    create(&engine, "kept");
    let file = engine.call("a", &backup::Backup::default()).expect("a backup").path;
    let before = full_state(&engine);
    let old = rusqlite::Connection::open(&file).expect("opens");
    old.pragma_update(None, "user_version", 2).expect("set");
    drop(old);
    let refused = engine.call("a", &backup::Restore { file, force: false });
    assert_eq!(refused.expect_err("too old").code, Code::Unsupported);
    assert_eq!(full_state(&engine), before);
}

#[test]
fn a_store_in_postgresql_points_to_its_backups() {
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
