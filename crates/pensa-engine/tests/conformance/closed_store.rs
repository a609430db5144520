//! A store in its own directory, to be damaged and reopened. SQLite only.

use std::fs;
use std::path::PathBuf;

use pensa_core::Result;
use pensa_core::ops::{comment, dep, issue};
use pensa_engine::{Engine, Execute, StoreDir};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A store that no process has open.
pub(crate) struct ClosedStore {
    pub(crate) dir: TempDir,
}

/// All data of a store, with its history.
pub(crate) fn full_state(engine: &Engine) -> Value {
    try_full_state(engine).expect("all of it")
}

pub(crate) fn try_full_state(engine: &Engine) -> Result<Value> {
    let issues = engine.call("a", &issue::List::default())?;
    let whole = issues.iter().map(|issue| {
        let shown = engine.call("a", &issue::Show { id: (&issue.id).into() })?;
        let history = engine.call("a", &issue::History { id: (&issue.id).into(), limit: None })?;
        Ok(json!({"shown": shown, "history": history}))
    });
    let whole: Vec<Value> = whole.collect::<Result<_>>()?;
    let ready = engine.call("a", &issue::Ready::default())?;
    Ok(json!({"issues": whole, "ready": ready}))
}

pub(crate) fn run<O: Execute>(engine: &Engine, actor: &str, fields: Value) -> O::Output {
    let op: O = serde_json::from_value(fields).expect("an operation");
    engine.call(actor, &op).expect(O::NAME)
}

pub(crate) fn create(engine: &Engine, title: &str) -> String {
    run::<issue::Create>(engine, "alice", json!({"title": title, "issue_type": "task"})).issue.id.to_string()
}

impl ClosedStore {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        StoreDir::create(&dir.path().join(".pensa")).expect("a store");
        Self { dir }
    }

    pub(crate) fn store(&self) -> StoreDir {
        StoreDir::at(&self.dir.path().join(".pensa")).expect("a store")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(".pensa").join(name)
    }

    pub(crate) fn open(&self) -> Engine {
        Engine::open(self.store()).expect("opens")
    }

    /// A store with every kind of change.
    pub(crate) fn with_every_change() -> Self {
        let on_disk = Self::new();
        live(&on_disk.open());
        on_disk
    }

    pub(crate) fn delete_database(&self) {
        for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
            let _ = fs::remove_file(self.path(name));
        }
    }
}

pub(crate) fn live(engine: &Engine) {
    let bug = run::<issue::Create>(engine, "alice", json!({"title": "bug", "issue_type": "bug"})).issue.id;
    let fix = run::<issue::Create>(
        engine,
        "alice",
        json!({"title": "fix \u{202E}", "issue_type": "task", "fixes": bug, "description": "many\nlines", "spec": "s"}),
    )
    .issue
    .id;
    let child = create(engine, "child");
    let doomed = create(engine, "doomed");
    run::<dep::Add>(engine, "alice", json!({"issue_id": child, "depends_on_id": fix}));
    run::<dep::Add>(engine, "alice", json!({"issue_id": doomed, "depends_on_id": child}));
    run::<dep::Add>(engine, "alice", json!({"issue_id": doomed, "depends_on_id": bug}));
    run::<dep::Remove>(engine, "alice", json!({"issue_id": doomed, "depends_on_id": bug}));
    run::<comment::Add>(engine, "bob", json!({"id": child, "text": "a\tb"}));
    run::<comment::Add>(engine, "bob", json!({"id": doomed, "text": "gone soon"}));
    run::<issue::Delete>(engine, "bob", json!({"id": doomed, "force": true}));
    run::<issue::Update>(engine, "bob", json!({"id": child, "claim": true, "ttl": "1h"}));
    run::<issue::Heartbeat>(engine, "bob", json!({"id": child}));
    run::<issue::Update>(engine, "bob", json!({"id": child, "title": "renamed child", "priority": "p0"}));
    run::<issue::Close>(engine, "bob", json!({"id": fix, "reason": "done"}));
    run::<issue::Reopen>(engine, "bob", json!({"id": fix, "reason": "not quite"}));
}
