//! What the journal and the backups are for: whatever happens to the database file, nothing acknowledged is lost.
//! SQLite only.

use std::fs;
use std::path::PathBuf;
use std::thread;

use pensa_core::ops::{comment, dep, issue};
use pensa_engine::{Engine, Execute, StoreDir};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A store between its uses: nobody has it open.
struct Site {
    dir: TempDir,
}

/// Everything that a store knows, with its history.
pub(crate) fn everything(engine: &Engine) -> Value {
    let issues = engine.call("a", &issue::List::default()).expect("a list");
    let whole = issues.iter().map(|issue| {
        let shown = engine.call("a", &issue::Show { id: (&issue.id).into() }).expect("shown");
        let history = engine.call("a", &issue::History { id: (&issue.id).into(), limit: None }).expect("a history");
        json!({"shown": shown, "history": history})
    });
    let whole: Vec<Value> = whole.collect();
    let ready = engine.call("a", &issue::Ready::default()).expect("a list");
    json!({"issues": whole, "ready": ready})
}

fn run<O: Execute>(engine: &Engine, actor: &str, fields: Value) -> O::Output {
    let op: O = serde_json::from_value(fields).expect("an operation");
    engine.call(actor, &op).expect(O::NAME)
}

fn create(engine: &Engine, title: &str) -> String {
    run::<issue::Create>(engine, "alice", json!({"title": title, "issue_type": "task"})).issue.id.to_string()
}

impl Site {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        StoreDir::create(&dir.path().join(".pensa")).expect("a store");
        Self { dir }
    }

    fn store(&self) -> StoreDir {
        StoreDir::at(&self.dir.path().join(".pensa")).expect("a store")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(".pensa").join(name)
    }

    fn open(&self) -> Engine {
        Engine::open(self.store()).expect("opens")
    }

    /// A store in which every kind of change has happened.
    fn lived_in() -> Self {
        let site = Self::new();
        live(&site.open());
        site
    }

    fn delete_database(&self) {
        for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
            let _ = fs::remove_file(self.path(name));
        }
    }
}

fn live(engine: &Engine) {
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

#[test]
fn a_deleted_database_is_rebuilt_with_its_whole_history() {
    let site = Site::lived_in();
    let before = everything(&site.open());
    site.delete_database();
    let engine = site.open();
    assert_eq!(everything(&engine), before);
    let notices = engine.notices();
    assert!(notices.len() == 1 && notices[0].contains("rebuilt"), "{notices:?}");
    assert_eq!(site.open().notices(), Vec::<String>::new(), "told once");
}

#[test]
fn a_lease_is_rebuilt_with_the_length_of_its_renewal() {
    let site = Site::lived_in();
    site.delete_database();
    let engine = site.open();
    let held = engine.call("bob", &issue::List::default()).expect("a list").into_iter();
    let held = held.filter(|issue| issue.lease_expires_at.is_some()).collect::<Vec<_>>();
    let renewed = run::<issue::Heartbeat>(&engine, "bob", json!({"id": held[0].id}));
    assert!(renewed.lease_expires_at > held[0].lease_expires_at, "{renewed:?}");
}

#[test]
fn a_deleted_log_costs_nothing() {
    let site = Site::lived_in();
    let before = everything(&site.open());
    fs::remove_file(site.path("db.sqlite-wal")).expect("deleted");
    assert_eq!(everything(&site.open()), before);
}

/// A copy of a file that is put back later, as a careless restore of a whole disk does.
#[test]
fn an_old_database_file_put_back_is_brought_up_to_date() {
    let site = Site::new();
    create(&site.open(), "first");
    let old: Vec<_> = ["db.sqlite", "db.sqlite-wal"].map(|name| (name, fs::read(site.path(name)).expect("a file"))).into();
    live(&site.open());
    let before = everything(&site.open());
    site.delete_database();
    for (name, bytes) in old {
        fs::write(site.path(name), bytes).expect("put back");
    }
    let engine = site.open();
    assert_eq!(everything(&engine), before);
    assert!(engine.notices()[0].contains("journal"));
    create(&engine, "and it goes on");
    drop(engine);
    let before = everything(&site.open());
    site.delete_database();
    assert_eq!(everything(&site.open()), before);
}

#[test]
fn a_database_truncated_at_any_length_is_rebuilt() {
    let site = Site::lived_in();
    // All of it in one file.
    let raw = rusqlite::Connection::open(site.path("db.sqlite")).expect("opens");
    raw.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("folded");
    drop(raw);
    let before = everything(&site.open());
    let whole = fs::read(site.path("db.sqlite")).expect("a file");
    let lengths = [0, 1, 15, 16, 99, 100, 511, 512, 4095, 4096, 4097].into_iter();
    for length in lengths.chain((0..whole.len()).step_by(whole.len() / 23)) {
        site.delete_database();
        fs::write(site.path("db.sqlite"), &whole[..length]).expect("truncated");
        assert_eq!(everything(&site.open()), before, "{length}");
    }
}

#[test]
fn two_that_find_the_damage_at_once_rebuild_it_once() {
    let site = Site::lived_in();
    let before = everything(&site.open());
    site.delete_database();
    let store = site.store();
    let threads: Vec<_> = (0..6)
        .map(|n| {
            let store = store.clone();
            thread::spawn(move || {
                let engine = Engine::open(store).expect("opens");
                create(&engine, &format!("by {n}"));
                engine.notices().len()
            })
        })
        .collect();
    let told: usize = threads.into_iter().map(|thread| thread.join().expect("no panic")).sum();
    assert_eq!(told, 1, "rebuilt once");
    let listed = site.open().call("a", &issue::List::default()).expect("a list").len();
    assert_eq!(listed, before["issues"].as_array().expect("a list").len() + 6);
}

#[test]
fn a_torn_or_lost_journal_goes_on_from_a_backup() {
    for keep in [0, 1, 100] {
        let site = Site::lived_in();
        let segment = fs::read_dir(site.path("local/journal")).expect("listed").next().expect("one").expect("read").path();
        let bytes = fs::read(&segment).expect("a file");
        fs::write(&segment, &bytes[..bytes.len() * keep / 101]).expect("torn");
        create(&site.open(), "after the tear");
        create(&site.open(), "and another");
        let before = everything(&site.open());
        site.delete_database();
        assert_eq!(everything(&site.open()), before, "{keep}");
    }
}
