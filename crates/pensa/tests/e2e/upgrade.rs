//! `pn upgrade`: shows and applies pending steps, and leaves a newer database alone.

use std::fs;

use pensa_testkit::Sandbox;
use rusqlite::Connection;
use serde_json::json;

use crate::steps::{task, text};

/// Runs SQL on the store's database.
fn sqlite(pn: &Sandbox, sql: &str) {
    let connection = Connection::open(pn.store().join("db.sqlite")).expect("opens");
    connection.execute_batch(sql).expect("done");
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("folded");
}

#[test]
fn upgrade_shows_and_applies_pending_steps_once() {
    let pn = crate::sandbox();
    let current = pn.pn(["upgrade"]).ok_json();
    let newest = current["schema"].as_i64().expect("a number");
    assert_eq!(current, json!({"schema": newest, "pending": [], "applied": []}));
    assert_eq!(pn.pn(["upgrade"]).ok(), format!("the schema is up to date ({newest})\n"));
    let id = task(&pn, "kept");
    for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
        let _ = fs::remove_file(pn.store().join(name));
    }
    let dry = pn.pn(["upgrade", "--dry-run"]).ok_json();
    assert_eq!((&dry["schema"], &dry["applied"]), (&json!(0), &json!([])));
    assert_eq!(dry["pending"][0], "0001_initial");
    assert!(pn.pn(["upgrade", "--dry-run"]).ok().starts_with("pending 0001_initial\n"));
    assert!(!pn.store().join("db.sqlite").exists(), "a look changes nothing");
    let done = pn.pn(["upgrade"]).ok_json();
    assert_eq!(done, json!({"schema": newest, "pending": [], "applied": dry["pending"]}));
    assert_eq!(pn.pn(["upgrade"]).ok_json(), current);
    assert_eq!(pn.pn(["show", &id]).ok_json()["title"], "kept");
}

#[test]
fn a_store_from_before_the_first_release_is_refused_untouched() {
    let pn = crate::sandbox();
    task(&pn, "old");
    sqlite(&pn, "UPDATE _migrations SET name = '0000_migrations' WHERE name LIKE '0001%'; PRAGMA user_version = 1");
    let before = fs::read(pn.store().join("db.sqlite")).expect("a file");
    for args in
        [&["list"][..], &["create", "x", "-t", "task"], &["upgrade"], &["upgrade", "--dry-run"], &["doctor", "--fix"]]
    {
        let error = pn.pn(args).fails("unsupported");
        assert!(text(&error["hint"]).contains("pn export"), "{error}");
    }
    assert!(fs::read(pn.store().join("db.sqlite")).expect("a file") == before, "the file was changed");
    assert!(!pn.store().join("local/set-aside").exists());
}

#[test]
fn a_newer_database_is_refused_untouched() {
    let pn = crate::sandbox();
    sqlite(&pn, "INSERT INTO _migrations VALUES ('0002_more', '', ''); PRAGMA user_version = 99");
    let before = fs::read(pn.store().join("db.sqlite")).expect("a file");
    for args in [&["upgrade"][..], &["upgrade", "--dry-run"]] {
        let error = pn.pn(args).fails("newer_schema");
        assert!(text(&error["error"]).contains("99"), "{error}");
    }
    assert_eq!(fs::read(pn.store().join("db.sqlite")).expect("a file"), before);
}

#[test]
fn upgrade_without_a_store_fails_and_creates_none() {
    let pn = Sandbox::bare(crate::PN);
    pn.pn(["upgrade"]).fails("no_store");
    pn.pn(["upgrade"]).env("PN_DAEMON", "http://localhost:1").fails("unsupported");
    pn.pn(["agent", "list"]).ok();
    assert_eq!(pn.pn(["upgrade"]).ok_json()["pending"], json!([]), "the user's own");
    let dry = pn.pn(["upgrade", "--dry-run", "--database", "nonsense"]).answer();
    assert_eq!(dry.code, Some(1), "{dry:?}");
}
