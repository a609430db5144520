//! Records are rebuilt from the journal and from their own files. SQLite only.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use pensa_core::ops::record::{Apply, Collections, Compact, Delete, Get, Index, Put, Query};
use pensa_core::ops::store::{Doctor, Severity};
use pensa_core::ops::{backup, record};
use pensa_core::record::Record;
use pensa_engine::{Engine, Execute, StoreDir};
use serde_json::{Value, json};
use tempfile::TempDir;

struct ClosedStore {
    dir: TempDir,
}

fn run<O: Execute>(engine: &Engine, fields: Value) -> O::Output {
    let op: O = serde_json::from_value(fields).expect("an operation");
    engine.call("alice", &op).expect(O::NAME)
}

impl ClosedStore {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        StoreDir::create(&dir.path().join(".pensa")).expect("a store");
        Self { dir }
    }

    fn open(&self) -> Engine {
        Engine::open(StoreDir::at(&self.dir.path().join(".pensa")).expect("a store")).expect("opens")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(".pensa").join(name)
    }

    fn lose_database(&self) {
        for ending in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(self.path(&format!("db.sqlite{ending}")));
        }
    }

    fn lose_journal(&self) {
        for dir in ["local/journal", "local/backups"] {
            let _ = fs::remove_dir_all(self.path(dir));
        }
    }

    fn lines(&self, collection: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.path(&format!("local/taskstore/{collection}.jsonl"))).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    /// A store with every kind of change to records.
    fn with_every_change() -> Self {
        let on_disk = Self::new();
        let engine = on_disk.open();
        run::<Index>(&engine, json!({"collection": "items", "fields": ["status", "n"]}));
        for n in 0..20 {
            let data = json!({"status": if n % 3 == 0 { "running" } else { "done" }, "n": n, "x": "é\u{9b}\u{0}"});
            run::<Put>(&engine, json!({"collection": "items", "id": format!("lp-{n:02}"), "data": data}));
        }
        run::<Put>(
            &engine,
            json!({"collection": "items", "id": "lp-03", "data": {"status": "failed", "deleted": true}}),
        );
        run::<Delete>(&engine, json!({"collection": "items", "id": "lp-06"}));
        run::<Delete>(&engine, json!({"collection": "items", "where": ["n>=18"]}));
        run::<Put>(
            &engine,
            json!({"collection": "items", "id": "lp-19", "data": {"status": "running", "again": true}}),
        );
        run::<Apply>(
            &engine,
            json!({"changes": [
                {"put": {"collection": "slips", "id": "sg-1", "data": {"id": "sg-1", "updated_at": 5}}},
                {"put": {"collection": "gone", "id": "a", "data": {}}},
            ]}),
        );
        run::<Delete>(&engine, json!({"collection": "gone", "id": "a"}));
        on_disk
    }
}

/// All records of a store.
fn full_state(engine: &Engine) -> (Vec<record::CollectionInfo>, Vec<Vec<Record>>) {
    let collections = run::<Collections>(engine, json!({}));
    let of = |collection: &record::CollectionInfo| {
        run::<Query>(engine, json!({"collection": collection.collection})).records
    };
    let records = collections.iter().map(of).collect();
    (collections, records)
}

fn running(engine: &Engine) -> Vec<String> {
    let page = run::<Query>(engine, json!({"collection": "items", "where": ["status=running"], "order": "n"}));
    page.records.into_iter().map(|record| record.id).collect()
}

fn worse(engine: &Engine) -> Vec<String> {
    let findings = run::<Doctor>(engine, json!({"deep": true})).findings;
    findings.into_iter().filter(|finding| finding.severity == Severity::Error).map(|finding| finding.message).collect()
}

#[test]
fn records_are_rebuilt_with_working_indexes() {
    let on_disk = ClosedStore::with_every_change();
    let (before, found) = {
        let engine = on_disk.open();
        (full_state(&engine), running(&engine))
    };
    assert_eq!(found, ["lp-19", "lp-00", "lp-09", "lp-12", "lp-15"]);
    on_disk.lose_database();
    let engine = on_disk.open();
    assert_eq!((full_state(&engine), running(&engine)), (before.clone(), found.clone()));
    assert_eq!(worse(&engine), Vec::<String>::new());
    assert!(!run::<Index>(&engine, json!({"collection": "items", "check": true})).rebuilt);
    drop(engine);
    let path = on_disk.path("db.sqlite");
    let length = fs::metadata(&path).expect("a database").len();
    for part in [0, length / 3, length - 1] {
        OpenOptions::new().write(true).open(&path).expect("opens").set_len(part).expect("cut");
        let _ = fs::remove_file(on_disk.path("db.sqlite-wal"));
        let engine = on_disk.open();
        assert_eq!((full_state(&engine), running(&engine)), (before.clone(), found.clone()), "cut at {part}");
    }
}

#[test]
fn records_are_restored_from_their_files_without_database_and_journal() {
    let on_disk = ClosedStore::with_every_change();
    let (before, found) = {
        let engine = on_disk.open();
        (full_state(&engine), running(&engine))
    };
    on_disk.lose_database();
    on_disk.lose_journal();
    let engine = on_disk.open();
    assert_eq!((full_state(&engine), running(&engine)), (before, found));
    let last = full_state(&engine).1.iter().flatten().map(|record| record.rev).max().expect("records");
    let next = run::<Put>(&engine, json!({"collection": "items", "id": "lp-06", "data": {}}));
    assert!(next.rev > last, "no revision comes back");
    drop(engine);
    on_disk.lose_database();
    let engine = on_disk.open();
    assert_eq!(run::<Get>(&engine, json!({"collection": "items", "id": "lp-06"})), next, "the journal goes on");
}

#[test]
fn files_have_a_line_for_every_change_and_are_compacted() {
    let on_disk = ClosedStore::with_every_change();
    let items = on_disk.lines("items");
    assert_eq!(items.len(), 20 + 1 + 1 + 2 + 1);
    assert_eq!((&items[0]["id"], &items[0]["status"]), (&json!("lp-00"), &json!("running")));
    let tombs = items.iter().filter(|line| line["deleted"] == json!(true) && line["_pensa"]["deleted"] == json!(true));
    assert_eq!(tombs.count(), 3);
    let indexes: Vec<Value> = on_disk.lines("_indexes");
    assert_eq!(indexes.iter().map(|line| line["field"].clone()).collect::<Vec<_>>(), [json!("status"), json!("n")]);
    for name in ["items.jsonl", "_indexes.jsonl"] {
        let mode = fs::metadata(on_disk.path(&format!("local/taskstore/{name}"))).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let engine = on_disk.open();
    let before = full_state(&engine);
    let compacted = run::<Compact>(&engine, json!({}));
    assert!(compacted.collections == 2 && compacted.bytes < compacted.bytes_before, "{compacted:?}");
    assert_eq!((on_disk.lines("items").len(), on_disk.lines("gone").len()), (18, 0));
    drop(engine);
    on_disk.lose_database();
    on_disk.lose_journal();
    assert_eq!(full_state(&on_disk.open()), before);
}

#[test]
fn missing_or_outdated_record_files_are_rewritten() {
    let on_disk = ClosedStore::with_every_change();
    let before = full_state(&on_disk.open());
    fs::remove_dir_all(on_disk.path("local/taskstore")).expect("gone");
    drop(on_disk.open());
    assert_eq!(on_disk.lines("items").len(), 18);
    // As after a process was killed right after its commit.
    let journal =
        fs::read_dir(on_disk.path("local/journal")).expect("a journal").flatten().next().expect("a segment").path();
    let whole = fs::read(&journal).expect("a journal");
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    fs::write(&journal, lines[..lines.len() - 3].concat()).expect("cut");
    fs::write(on_disk.path("local/taskstore/items.jsonl"), b"{\"id\":\"torn").expect("cut");
    drop(on_disk.open());
    assert_eq!(on_disk.lines("items").len(), 18);
    on_disk.lose_database();
    on_disk.lose_journal();
    assert_eq!(full_state(&on_disk.open()), before);
}

#[test]
fn only_a_torn_or_foreign_line_itself_is_lost() {
    let on_disk = ClosedStore::with_every_change();
    let before = full_state(&on_disk.open());
    let path = on_disk.path("local/taskstore/items.jsonl");
    let mut file = OpenOptions::new().append(true).open(&path).expect("opens");
    file.write_all(b"\x00\xff\n[1]\n{\"id\":\"torn").expect("written");
    let engine = on_disk.open();
    let late = run::<Put>(&engine, json!({"collection": "items", "id": "late", "data": {"n": 99}}));
    drop(engine);
    on_disk.lose_database();
    on_disk.lose_journal();
    let engine = on_disk.open();
    assert_eq!(run::<Get>(&engine, json!({"collection": "items", "id": "late"})), late);
    assert_eq!(full_state(&engine).1[0].len(), before.1[0].len() + 1);
}

#[test]
fn rolled_back_changes_are_in_no_file_and_a_restore_is_in_all() {
    let on_disk = ClosedStore::new();
    let engine = on_disk.open();
    run::<Put>(&engine, json!({"collection": "c", "id": "a", "data": {"n": 1}}));
    let refused: Apply = serde_json::from_value(json!({"changes": [
        {"put": {"collection": "c", "id": "b", "data": {}}},
        {"put": {"collection": "c", "id": "a", "data": {}, "if_rev": 0}},
    ]}))
    .expect("an operation");
    engine.call("alice", &refused).expect_err("it is there");
    assert_eq!(on_disk.lines("c").len(), 1);
    let made = run::<backup::Backup>(&engine, json!({}));
    run::<Put>(&engine, json!({"collection": "c", "id": "a", "data": {"n": 2}}));
    run::<Put>(&engine, json!({"collection": "c", "id": "b", "data": {}}));
    run::<backup::Restore>(&engine, json!({"file": made.path}));
    drop(engine);
    let engine = on_disk.open();
    let ids = |engine: &Engine| {
        run::<Query>(engine, json!({"collection": "c"})).records.into_iter().map(|r| r.data).collect::<Vec<_>>()
    };
    assert_eq!(json!(ids(&engine)), json!([{"n": 1}]));
    assert_eq!(on_disk.lines("c").len(), 1);
    drop(engine);
    on_disk.lose_database();
    on_disk.lose_journal();
    assert_eq!(json!(ids(&on_disk.open())), json!([{"n": 1}]));
}

#[test]
fn a_transaction_too_large_for_the_journal_is_in_the_record_files() {
    // As a line in the journal, and as a backup.
    for (count, bytes, is_line) in [(120, 100_000, true), (40, 900_000, false)] {
        let on_disk = ClosedStore::new();
        let engine = on_disk.open();
        let text = "x".repeat(bytes);
        let put = |n: i32| json!({"put": {"collection": "c", "id": n.to_string(), "data": {"text": text}}});
        run::<Apply>(&engine, json!({"changes": (0..count).map(put).collect::<Vec<_>>()}));
        drop(engine);
        let segments = fs::read_dir(on_disk.path("local/journal")).expect("a journal").flatten();
        let journal: u64 = segments.map(|segment| segment.metadata().expect("a file").len()).sum();
        assert_eq!(journal > 1 << 20, is_line, "{journal} bytes");
        assert_eq!(on_disk.lines("c").len(), usize::try_from(count).expect("a number"));
        on_disk.lose_database();
        assert_eq!(run::<record::Count>(&on_disk.open(), json!({"collection": "c"})).count, i64::from(count));
    }
}
