//! Agents, sessions and entries are rebuilt from the journal. SQLite only.

use std::fs;

use pensa_core::ops::store::{Doctor, Finding};
use pensa_core::ops::{agent, backup, issue, session, store};
use pensa_engine::{Engine, Execute, StoreDir};
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

struct ClosedStore {
    dir: TempDir,
}

fn run<O: Execute>(engine: &Engine, fields: Value) -> O::Output {
    let op: O = serde_json::from_value(fields).expect("an operation");
    engine.call("alice", &op).expect(O::NAME)
}

/// All agents with their sessions and entries.
fn full_state(engine: &Engine) -> Value {
    let agents = run::<agent::List>(engine, json!({}));
    let whole: Vec<Value> = agents
        .iter()
        .map(|agent| {
            let id = json!({"id": agent.id});
            let sessions = run::<session::List>(engine, json!({"agent": agent.id}));
            let entries = run::<session::History>(engine, json!({"id": agent.id, "all": true}));
            json!([agent, sessions, entries, run::<session::Context>(engine, id)])
        })
        .collect();
    json!(whole)
}

fn findings(engine: &Engine) -> Vec<Finding> {
    let report = run::<Doctor>(engine, json!({"deep": true}));
    report.findings.into_iter().filter(|finding| finding.severity != store::Severity::Info).collect()
}

impl ClosedStore {
    /// A store with every kind of change to agents.
    fn with_every_change() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        StoreDir::create(&dir.path().join(".pensa")).expect("a store");
        let on_disk = Self { dir };
        let engine = on_disk.open();
        let issue = run::<issue::Create>(&engine, json!({"title": "t", "issue_type": "task"})).issue.id;
        let made = json!({"type": "user", "name": "ann", "descriptor": {"x": [0.1, 1e300, "\u{202e}\u{0}"]},
            "permissions": {"p": true}, "issue_id": issue, "run_id": "run-1", "inference_session_id": "i"});
        let ann = run::<agent::Create>(&engine, made).id;
        let child = json!({"type": "subagent", "name": "kid", "parent": "ann"});
        run::<agent::Create>(&engine, child);
        run::<agent::Create>(&engine, json!({"type": "cron", "name": "gone"}));
        let say = |name: &str, text: &str| {
            let entries = json!([{"type": "user_message", "text": text, "n": -0.30000000000000004}, {"type": "note"}]);
            run::<session::Append>(&engine, json!({"id": name, "entries": entries}));
        };
        ["ann", "kid", "gone", "ann"].into_iter().for_each(|name| say(name, "hé\n\u{9b}"));
        run::<session::Reset>(&engine, json!({"id": "ann", "message": "again"}));
        run::<session::Compact>(&engine, json!({"id": "kid", "summary": "so far"}));
        say("ann", &"long ".repeat(10_000));
        run::<agent::Update>(&engine, json!({"id": ann, "tokens": {"a": 1}, "stats": {"b": 2}}));
        run::<agent::Sleep>(&engine, json!({"id": "ann"}));
        run::<agent::Kill>(&engine, json!({"id": "kid"}));
        run::<agent::Delete>(&engine, json!({"id": "gone", "force": true}));
        say("ann", "after");
        drop(engine);
        on_disk
    }

    fn store(&self) -> StoreDir {
        StoreDir::at(&self.dir.path().join(".pensa")).expect("a store")
    }

    fn open(&self) -> Engine {
        Engine::open(self.store()).expect("opens")
    }

    fn delete_database(&self) {
        for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
            let _ = fs::remove_file(self.dir.path().join(".pensa").join(name));
        }
    }
}

#[test]
fn agents_and_their_sessions_are_rebuilt_after_the_database_is_deleted() {
    let on_disk = ClosedStore::with_every_change();
    let before = full_state(&on_disk.open());
    assert_eq!(findings(&on_disk.open()), [], "the journal says the same as the database");
    on_disk.delete_database();
    let engine = on_disk.open();
    assert_eq!(full_state(&engine), before);
    assert_eq!(findings(&engine), []);
    run::<session::Append>(&engine, json!({"id": "ann", "entries": [{"type": "note"}]}));
    assert_eq!(findings(&engine), [], "and life goes on");
}

#[test]
fn a_restored_old_database_gets_the_later_entries() {
    let on_disk = ClosedStore::with_every_change();
    let copy = on_disk.dir.path().join("copy.sqlite");
    run::<backup::Backup>(&on_disk.open(), json!({"file": copy}));
    let engine = on_disk.open();
    run::<session::Append>(&engine, json!({"id": "ann", "entries": [{"type": "note", "text": "later"}]}));
    run::<session::Compact>(&engine, json!({"id": "ann", "summary": "later still"}));
    let before = full_state(&engine);
    drop(engine);
    on_disk.delete_database();
    fs::copy(&copy, on_disk.store().database()).expect("put back");
    let engine = on_disk.open();
    run::<agent::Update>(&engine, json!({"id": "ann", "name": "anna"}));
    run::<agent::Update>(&engine, json!({"id": "anna", "name": "ann"}));
    let mut after = full_state(&engine);
    after[0][0]["updated_at"] = before[0][0]["updated_at"].clone();
    assert_eq!(after, before);
}

#[test]
fn a_changed_entry_is_found_by_a_deep_check_and_repaired() {
    let on_disk = ClosedStore::with_every_change();
    let before = full_state(&on_disk.open());
    let raw = Connection::open(on_disk.store().database()).expect("opens");
    raw.execute("UPDATE session_history SET data = '{\"text\":\"never said\"}' WHERE id = 1", []).expect("changed");
    raw.execute("DELETE FROM session_history WHERE id = 2", []).expect("deleted");
    raw.execute("UPDATE agents SET stats = '{}' WHERE name = 'ann'", []).expect("changed");
    drop(raw);
    let engine = on_disk.open();
    let messages: Vec<String> = findings(&engine).into_iter().map(|finding| finding.message).collect();
    for part in ["session_history 1 ", "session_history 2 ", "in stats"] {
        assert!(messages.iter().any(|line| line.contains(part)), "{part}: {messages:?}");
    }
    run::<Doctor>(&engine, json!({"deep": true, "fix": true}));
    assert_eq!(full_state(&engine), before);
    assert_eq!(findings(&engine), []);
}

#[test]
fn an_authoritative_import_leaves_agents_alone() {
    let on_disk = ClosedStore::with_every_change();
    let engine = on_disk.open();
    run::<store::Export>(&engine, json!({}));
    let before = full_state(&engine);
    run::<store::Import>(&engine, json!({"authoritative": true}));
    assert_eq!(full_state(&engine), before);
}

#[test]
fn the_schema_refuses_entries_that_are_not_json_or_have_no_session() {
    let on_disk = ClosedStore::with_every_change();
    let raw = Connection::open(on_disk.store().database()).expect("opens");
    raw.pragma_update(None, "foreign_keys", true).expect("set");
    for forbidden in [
        "UPDATE session_history SET data = '{' WHERE id = 1",
        "UPDATE session_history SET session_id = 'se-nope' WHERE id = 1",
        "UPDATE agents SET descriptor = 'x'",
        "UPDATE agents SET permissions = ''",
        "UPDATE agents SET tokens = '{,}'",
        "UPDATE agents SET stats = NULL",
        "UPDATE agents SET lifecycle = 'undead'",
        "UPDATE agents SET active_session_id = 'se-nope'",
        "UPDATE sessions SET opened_by = 'magic'",
        "UPDATE sessions SET agent_id = 'ag-nope'",
        "DELETE FROM sessions",
    ] {
        let error = raw.execute(forbidden, []).expect_err(forbidden);
        assert!(error.to_string().contains("constraint failed"), "{forbidden}: {error}");
    }
}
