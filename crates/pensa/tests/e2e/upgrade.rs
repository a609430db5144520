//! `pn upgrade`: what is pending is shown and applied, and a newer database is left alone.

use std::fs;

use pensa_testkit::Sandbox;
use rusqlite::Connection;
use serde_json::json;

use crate::steps::{elements, task, text};

/// Runs SQL on the store's database.
fn sqlite(pn: &Sandbox, sql: &str) {
    let connection = Connection::open(pn.store().join("db.sqlite")).expect("opens");
    connection.execute_batch(sql).expect("done");
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("folded");
}

/// Makes the store's database one from before there were agents.
fn make_old(pn: &Sandbox) {
    sqlite(
        pn,
        "ALTER TABLE events DROP COLUMN session; DROP TABLE changes; DROP TABLE sync_peers; DROP TABLE sync_bases; DROP TABLE work; DROP TABLE releases; DROP TABLE skills; DROP TABLE learnings; DROP TABLE learning_keys; DROP TABLE records; DROP TABLE record_indexes; DROP TABLE record_keys; DROP TABLE fs_snapshots; DROP TABLE runs; DROP TABLE repos; DROP TABLE workspaces; DROP TABLE harnesses; DROP TABLE runtimes;
         DROP TABLE kv; DROP TABLE session_history; DROP TABLE sessions; DROP TABLE agents;
         ALTER TABLE issues DROP COLUMN claim_session; ALTER TABLE issues DROP COLUMN claim_host;
         DELETE FROM _migrations WHERE name >= '0005'; PRAGMA user_version = 5",
    );
}

#[test]
fn what_is_pending_is_shown_applied_and_then_nothing() {
    let pn = crate::sandbox();
    let current = pn.pn(["upgrade"]).ok_json();
    let newest = current["schema"].as_i64().expect("a number");
    assert_eq!(current, json!({"schema": newest, "pending": [], "applied": []}));
    assert_eq!(pn.pn(["upgrade"]).ok(), format!("the schema is up to date ({newest})\n"));
    let id = task(&pn, "kept");
    make_old(&pn);
    let before = fs::read(pn.store().join("db.sqlite")).expect("a file");
    let dry = pn.pn(["upgrade", "--dry-run"]).ok_json();
    assert_eq!((&dry["schema"], &dry["applied"]), (&json!(5), &json!([])));
    assert_eq!(dry["pending"][0], "0005_agents");
    assert!(pn.pn(["upgrade", "--dry-run"]).ok().starts_with("pending 0005_agents\n"));
    assert_eq!(fs::read(pn.store().join("db.sqlite")).expect("a file"), before, "a look changes nothing");
    let done = pn.pn(["upgrade"]).ok_json();
    assert_eq!(done, json!({"schema": newest, "pending": [], "applied": dry["pending"]}));
    assert_eq!(pn.pn(["upgrade"]).ok_json(), current);
    assert_eq!(pn.pn(["show", &id]).ok_json()["title"], "kept");
    pn.pn(["agent", "create", "--type", "user"]).ok_json();
}

#[test]
fn every_command_upgrades_by_itself() {
    let pn = crate::sandbox();
    task(&pn, "kept");
    make_old(&pn);
    assert_eq!(elements(&pn.pn(["list"]).ok_json()).len(), 1);
    assert_eq!(pn.pn(["upgrade", "--dry-run"]).ok_json()["pending"], json!([]));
}

#[test]
fn a_newer_database_is_refused_untouched() {
    let pn = crate::sandbox();
    sqlite(
        &pn,
        "WITH RECURSIVE n(n) AS (SELECT (SELECT COUNT(*) FROM _migrations) UNION ALL SELECT n + 1 FROM n LIMIT 99)
         INSERT INTO _migrations SELECT 'm' || n, '', '' FROM n WHERE n < 99; PRAGMA user_version = 99",
    );
    let before = fs::read(pn.store().join("db.sqlite")).expect("a file");
    for args in [&["upgrade"][..], &["upgrade", "--dry-run"]] {
        let error = pn.pn(args).fails("newer_schema");
        assert!(text(&error["error"]).contains("99"), "{error}");
    }
    assert_eq!(fs::read(pn.store().join("db.sqlite")).expect("a file"), before);
}

#[test]
fn without_a_store_there_is_nothing_to_upgrade_and_none_is_made() {
    let pn = Sandbox::bare(crate::PN);
    pn.pn(["upgrade"]).fails("no_store");
    pn.pn(["upgrade"]).env("PN_DAEMON", "http://localhost:1").fails("unsupported");
    pn.pn(["agent", "list"]).ok();
    assert_eq!(pn.pn(["upgrade"]).ok_json()["pending"], json!([]), "the user's own");
    let dry = pn.pn(["upgrade", "--dry-run", "--database", "nonsense"]).answer();
    assert_eq!(dry.code, Some(1), "{dry:?}");
}
