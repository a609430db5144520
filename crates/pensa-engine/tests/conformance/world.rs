//! A store whose clock and ids the test controls.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use pensa_core::issue::{Issue, IssueRules, IssueType, Origin, Status};
use pensa_core::ops::{dep, issue, store};
use pensa_core::{Code, Result, Timestamp};
use pensa_engine::{Caller, Clock, Engine, Execute, Ids, Postgres, StoreDir};
use pensa_testkit::postgres::{Database, shared};
use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;

/// 2026-02-27T14:30:00.000Z
const START: i64 = 1_772_202_600_000;

#[derive(Debug)]
pub(crate) struct ManualClock(AtomicI64);

impl Clock for ManualClock {
    fn now(&self) -> Result<Timestamp> {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// Counts up, returning every number twice, so that the engine must retry a used id.
#[derive(Debug)]
struct RepeatingIds(AtomicU32);

impl Ids for RepeatingIds {
    fn next(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.0.fetch_add(1, Ordering::SeqCst) / 2 + 0xA0))
    }
}

/// Counts up; an id is never reused, not even after a deletion.
#[derive(Debug)]
struct NewIds(AtomicU32);

impl Ids for NewIds {
    fn next(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.0.fetch_add(1, Ordering::SeqCst) + 0xA0))
    }
}

pub(crate) struct World {
    pub(crate) engine: Engine,
    clock: Arc<ManualClock>,
    /// Keeps the files until the test ends.
    dir: TempDir,
    /// Keeps the database until the test ends.
    database: Option<(Database, Postgres)>,
}

impl World {
    pub(crate) fn sqlite() -> Self {
        Self::sqlite_with(Arc::new(RepeatingIds(AtomicU32::new(0))))
    }

    /// Like [`World::sqlite`], but the ids of deleted records are never reused.
    pub(crate) fn with_new_ids() -> Self {
        Self::sqlite_with(Arc::new(NewIds(AtomicU32::new(0))))
    }

    fn sqlite_with(ids: Arc<dyn Ids>) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let (store, _) = StoreDir::create(&dir.path().join(".pensa")).expect("a store");
        let clock = Arc::new(ManualClock(AtomicI64::new(START)));
        let engine = Engine::open_with(store, clock.clone(), ids).expect("opens");
        Self { engine, clock, dir, database: None }
    }

    pub(crate) fn postgres() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let (files, _) = StoreDir::create(&dir.path().join(".pensa")).expect("a store");
        let clock = Arc::new(ManualClock(AtomicI64::new(START)));
        let ids = Arc::new(RepeatingIds(AtomicU32::new(0)));
        let database = shared().database();
        let postgres = Postgres::open(&database.url, 8).expect("opens");
        let engine = Engine::in_database_with(&postgres, "test", Uuid::now_v7(), clock.clone(), ids).with_files(files);
        Self { engine, clock, dir, database: Some((database, postgres)) }
    }

    /// An engine on an empty store that has imported the same files.
    pub(crate) fn imported_from_files(&self) -> Engine {
        let Some((_, postgres)) = &self.database else {
            for file in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
                let _ = fs::remove_file(self.store().root().join(file));
            }
            let _ = fs::remove_dir_all(self.store().root().join("local"));
            return self.engine.new_handle().expect("a fresh clone imports by itself");
        };
        let ids = Arc::new(RepeatingIds(AtomicU32::new(0x1000)));
        let fresh = Engine::in_database_with(postgres, "fresh", Uuid::now_v7(), self.clock.clone(), ids);
        let fresh = fresh.with_files(self.store());
        fresh.call("a", &store::Import::default()).expect("imports");
        fresh
    }

    /// Another clone: a store with the same clock and ids that count up from `first`.
    pub(crate) fn clone_of(&self, first: u32) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let (store, _) = StoreDir::create(&dir.path().join(".pensa")).expect("a store");
        let (clock, ids) = (self.clock.clone(), Arc::new(RepeatingIds(AtomicU32::new(2 * first))));
        let Some((_, postgres)) = &self.database else {
            let engine = Engine::open_with(store, clock.clone(), ids).expect("opens");
            return Self { engine, clock, dir, database: None };
        };
        let engine = Engine::in_database_with(postgres, "clone", Uuid::now_v7(), clock.clone(), ids).with_files(store);
        Self { engine, clock, dir, database: None }
    }

    /// The same store with a project's settings about issues.
    pub(crate) fn with_rules(self, rules: IssueRules) -> Self {
        Self { engine: self.engine.with_issue_rules(Arc::new(rules)), ..self }
    }

    pub(crate) fn store(&self) -> StoreDir {
        StoreDir::at(&self.dir.path().join(".pensa")).expect("a store")
    }

    /// Every row of every table, as text.
    pub(crate) fn dump(&self) -> String {
        if let Some((database, _)) = &self.database {
            let all = "SELECT query_to_xml('SELECT * FROM pensa.' || tablename, true, false, '') FROM pg_tables
                 WHERE schemaname = 'pensa'";
            return database.psql(all);
        }
        let connection = rusqlite::Connection::open(self.store().database()).expect("opens");
        let text = |sql: &str| -> Vec<String> {
            let mut select = connection.prepare(sql).expect("a table");
            let columns = select.column_count();
            let read = |row: &rusqlite::Row<'_>| {
                let values = (0..columns).map(|at| row.get::<_, rusqlite::types::Value>(at));
                Ok(values.map(|value| format!("{:?} ", value.expect("a value"))).collect())
            };
            select.query_map([], read).expect("rows").map(|row| row.expect("a row")).collect()
        };
        let tables = text("SELECT name FROM sqlite_schema WHERE type = 'table'");
        let names = tables.iter().filter_map(|name| name.split('"').nth(1));
        names.flat_map(|name| text(&format!("SELECT * FROM {name}"))).collect::<Vec<_>>().join("\n")
    }

    /// Advances the clock.
    pub(crate) fn advance(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds * 1000, Ordering::SeqCst);
    }

    pub(crate) fn call<O: Execute>(&self, op: &O) -> Result<O::Output> {
        self.engine.call("alice", op)
    }

    pub(crate) fn ok<O: Execute>(&self, op: &O) -> O::Output {
        self.call(op).expect(O::NAME)
    }

    /// Runs an operation given as JSON, as `actor`.
    pub(crate) fn json<O: Execute>(&self, actor: &str, fields: Value) -> Result<O::Output> {
        let op: O = serde_json::from_value(fields).expect("an operation");
        self.engine.call(actor, &op)
    }

    /// Runs an operation given as JSON, as `actor` in a session.
    pub(crate) fn in_session<O: Execute>(&self, (actor, session): (&str, &str), fields: Value) -> Result<O::Output> {
        let op: O = serde_json::from_value(fields).expect("an operation");
        let origin = Origin { session: Some(session.to_owned()), run: None, host: Some("box".to_owned()) };
        self.engine.call_as(&Caller { origin, ..Caller::local(actor) }, &op)
    }

    pub(crate) fn refused<O: Execute>(&self, actor: &str, fields: Value) -> Code {
        match self.json::<O>(actor, fields.clone()) {
            Ok(_) => panic!("{} was not refused: {fields}", O::NAME),
            Err(error) => error.code,
        }
    }

    pub(crate) fn create(&self, fields: Value) -> Issue {
        let mut whole = json!({"title": "a task", "issue_type": IssueType::Task});
        for (key, value) in fields.as_object().expect("an object") {
            whole[key] = value.clone();
        }
        self.json::<issue::Create>("alice", whole).expect("created").issue
    }

    pub(crate) fn task(&self, title: &str) -> Issue {
        self.create(json!({ "title": title }))
    }

    pub(crate) fn link(&self, child: &Issue, parent: &Issue) {
        self.ok(&dep::Add { issue_id: (&child.id).into(), depends_on_id: (&parent.id).into() });
    }

    pub(crate) fn show(&self, issue: &Issue) -> Issue {
        self.ok(&issue::Show { id: (&issue.id).into() }).issue
    }

    pub(crate) fn status(&self, issue: &Issue) -> Status {
        self.show(issue).status
    }

    /// The types of an issue's events, oldest first.
    pub(crate) fn events(&self, issue: &Issue) -> Vec<String> {
        let mut events = self.ok(&issue::History { id: (&issue.id).into(), limit: None });
        events.reverse();
        events.into_iter().map(|event| event.event_type).collect()
    }

    pub(crate) fn ready(&self) -> Vec<String> {
        titles(&self.ok(&issue::Ready::default()))
    }

    pub(crate) fn blocked(&self) -> Vec<String> {
        titles(&self.ok(&issue::Blocked::default()))
    }
}

pub(crate) fn titles(issues: &[Issue]) -> Vec<String> {
    issues.iter().map(|issue| issue.title.clone()).collect()
}
