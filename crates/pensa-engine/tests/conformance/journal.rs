//! Journal and backups: whatever happens to the database file, no acknowledged change is lost. SQLite only.

use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use pensa_core::Code;
use pensa_core::issue::Origin;
use pensa_core::ops::store::{Doctor, Severity};
use pensa_core::ops::{backup, batch, comment, conflict, dep, issue, kv, project, store, token};
use pensa_engine::{Caller, Context, Engine, GroupWriter, Projects, Tx, entry};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::closed_store::{ClosedStore, create, full_state, live, run, try_full_state};

#[test]
fn a_deleted_database_is_rebuilt_with_its_whole_history() {
    let on_disk = ClosedStore::with_every_change();
    let before = full_state(&on_disk.open());
    on_disk.delete_database();
    let engine = on_disk.open();
    assert_eq!(full_state(&engine), before);
    let notices = engine.notices();
    assert!(notices.len() == 1 && notices[0].contains("rebuilt"), "{notices:?}");
    assert_eq!(on_disk.open().notices(), Vec::<String>::new(), "told once");
}

#[test]
fn a_lease_is_rebuilt_with_the_length_of_its_renewal() {
    let on_disk = ClosedStore::with_every_change();
    on_disk.delete_database();
    let engine = on_disk.open();
    let held = engine.call("bob", &issue::List::default()).expect("a list").into_iter();
    let held = held.filter(|issue| issue.lease_expires_at.is_some()).collect::<Vec<_>>();
    let renewed = run::<issue::Heartbeat>(&engine, "bob", json!({"id": held[0].id}));
    assert!(renewed.lease_expires_at > held[0].lease_expires_at, "{renewed:?}");
}

#[test]
fn a_deleted_write_ahead_log_loses_nothing() {
    let on_disk = ClosedStore::with_every_change();
    let before = full_state(&on_disk.open());
    fs::remove_file(on_disk.path("db.sqlite-wal")).expect("deleted");
    assert_eq!(full_state(&on_disk.open()), before);
}

/// The situation after restoring an old disk image.
#[test]
fn a_restored_old_database_file_is_brought_up_to_date() {
    let on_disk = ClosedStore::new();
    create(&on_disk.open(), "first");
    let old: Vec<_> =
        ["db.sqlite", "db.sqlite-wal"].map(|name| (name, fs::read(on_disk.path(name)).expect("a file"))).into();
    live(&on_disk.open());
    let before = full_state(&on_disk.open());
    on_disk.delete_database();
    for (name, bytes) in old {
        fs::write(on_disk.path(name), bytes).expect("put back");
    }
    let engine = on_disk.open();
    assert_eq!(full_state(&engine), before);
    assert!(engine.notices()[0].contains("journal"));
    create(&engine, "and it goes on");
    drop(engine);
    let before = full_state(&on_disk.open());
    on_disk.delete_database();
    assert_eq!(full_state(&on_disk.open()), before);
}

/// The losing value exists only in the conflict once the files have the winning one.
#[test]
fn conflicts_are_not_lost_with_the_write_ahead_log() {
    let on_disk = ClosedStore::new();
    let engine = on_disk.open();
    let id = create(&engine, "a title");
    run::<store::Export>(&engine, "alice", json!({}));
    run::<issue::Update>(&engine, "alice", json!({"id": id, "title": "ours, and newer"}));
    let file = on_disk.path("issues.jsonl");
    let theirs = fs::read_to_string(&file).expect("a file").replace("a title", "theirs");
    fs::write(&file, theirs).expect("edited");
    let old: Vec<_> =
        ["db.sqlite", "db.sqlite-wal"].map(|name| (name, fs::read(on_disk.path(name)).expect("a file"))).into();
    assert_eq!(run::<store::Import>(&engine, "alice", json!({})).conflicts, 1);
    run::<store::Export>(&engine, "alice", json!({}));
    assert!(!fs::read_to_string(&file).expect("a file").contains("theirs"));
    drop(engine);
    on_disk.delete_database();
    for (name, bytes) in old {
        fs::write(on_disk.path(name), bytes).expect("put back");
    }
    let engine = on_disk.open();
    let reported = run::<conflict::List>(&engine, "alice", json!({}));
    assert_eq!((reported.len(), &reported[0].other), (1, &json!("theirs")));
    run::<conflict::Resolve>(&engine, "alice", json!({"id": reported[0].id, "take": "kept"}));
    let found = run::<Doctor>(&engine, "alice", json!({"deep": true})).findings;
    assert!(found.iter().all(|finding| finding.check != "damage"), "{found:?}");
    on_disk.delete_database();
    assert_eq!(run::<conflict::List>(&on_disk.open(), "alice", json!({})).len(), 0);
}

#[test]
fn a_database_truncated_at_any_length_is_rebuilt() {
    let on_disk = ClosedStore::with_every_change();
    // Fold the write-ahead log into the database file.
    let raw = rusqlite::Connection::open(on_disk.path("db.sqlite")).expect("opens");
    raw.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("folded");
    drop(raw);
    let before = full_state(&on_disk.open());
    let whole = fs::read(on_disk.path("db.sqlite")).expect("a file");
    let lengths = [0, 1, 15, 16, 99, 100, 511, 512, 4095, 4096, 4097].into_iter();
    for length in lengths.chain((0..whole.len()).step_by(whole.len() / 23)) {
        on_disk.delete_database();
        fs::write(on_disk.path("db.sqlite"), &whole[..length]).expect("truncated");
        assert_eq!(full_state(&on_disk.open()), before, "{length}");
    }
}

#[test]
fn two_processes_that_find_damage_at_once_rebuild_once() {
    let on_disk = ClosedStore::with_every_change();
    let before = full_state(&on_disk.open());
    on_disk.delete_database();
    let store = on_disk.store();
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
    let reported: usize = threads.into_iter().map(|thread| thread.join().expect("no panic")).sum();
    assert_eq!(reported, 1, "rebuilt once");
    let listed = on_disk.open().call("a", &issue::List::default()).expect("a list").len();
    assert_eq!(listed, before["issues"].as_array().expect("a list").len() + 6);
}

#[test]
fn a_torn_or_lost_journal_continues_from_a_backup() {
    for keep in [0, 1, 100] {
        let on_disk = ClosedStore::with_every_change();
        let segment =
            fs::read_dir(on_disk.path("local/journal")).expect("listed").next().expect("one").expect("read").path();
        let bytes = fs::read(&segment).expect("a file");
        fs::write(&segment, &bytes[..bytes.len() * keep / 101]).expect("torn");
        create(&on_disk.open(), "after the tear");
        create(&on_disk.open(), "and another");
        let before = full_state(&on_disk.open());
        on_disk.delete_database();
        assert_eq!(full_state(&on_disk.open()), before, "{keep}");
    }
}

pub(crate) fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).expect("copied");
        }
    }
}

/// Distance between flipped bytes. PENSA_TEST_EVERY_BYTE flips all, starting at the given one.
fn stride(usual: usize) -> (usize, usize) {
    if let Ok(first) = std::env::var("PENSA_TEST_EVERY_BYTE") {
        return (first.parse().unwrap_or(0), 1);
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_micros();
    let seed = std::env::var("PENSA_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(now);
    println!("PENSA_TEST_SEED={seed}");
    (usize::try_from(seed % usual as u128).expect("small"), usual)
}

/// Offset of the schema version in the header of a SQLite file.
const USER_VERSION: std::ops::Range<usize> = 60..64;

/// Flips bits of a store's file, one at a time; the damage must be detected and nothing lost.
fn flip(file: &str, length: usize, usual_stride: usize, fold: bool) {
    let pristine = ClosedStore::with_every_change();
    let before = full_state(&pristine.open());
    if fold {
        let raw = rusqlite::Connection::open(pristine.path("db.sqlite")).expect("opens");
        raw.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("folded");
    }
    let good = fs::read(pristine.path(file)).expect("a file");
    let (start, step) = stride(usual_stride);
    let (mut silent, mut mended, mut refused) = (0, 0, 0);
    for at in (start..good.len().min(length)).step_by(step) {
        let dir = tempfile::tempdir().expect("a directory");
        let on_disk = ClosedStore { dir };
        copy_tree(&pristine.path(""), &on_disk.path(""));
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        fs::write(on_disk.path(file), &bad).expect("flipped");
        let engine = match Engine::open(on_disk.store()) {
            // A higher schema version may belong to a newer Pensa, so the file must not be touched.
            Err(e) if e.code == Code::NewerSchema && file == "db.sqlite" && USER_VERSION.contains(&at) => {
                assert_eq!(fs::read(on_disk.path(file)).expect("a file"), bad, "{at}");
                refused += 1;
                continue;
            }
            opened => opened.unwrap_or_else(|e| panic!("{file} {at}: {e:?}")),
        };
        let found = try_full_state(&engine);
        if found.as_ref() == Ok(&before) {
            silent += 1;
            continue;
        }
        let report =
            engine.call("a", &Doctor { fix: false, deep: true }).unwrap_or_else(|e| panic!("{file} {at}: {e:?}"));
        let is_mended = try_full_state(&on_disk.open()).as_ref() == Ok(&before);
        let reported = report.findings.iter().any(|finding| finding.severity == Severity::Error);
        assert!(reported || is_mended, "{file} {at}: {report:?} {found:?}");
        engine.call("a", &Doctor { fix: true, deep: true }).unwrap_or_else(|e| panic!("{file} {at}: {e:?}"));
        let after = full_state(&on_disk.open());
        assert_same_issues(&after, &before, &format!("{file} {at}"));
        mended += 1;
    }
    println!("{file}: {silent} without consequence or mended on the way, {mended} by the doctor, {refused} refused");
}

/// Equal except for the history, which contains the repair.
#[track_caller]
fn assert_same_issues(after: &Value, before: &Value, what: &str) {
    let shown = |all: &Value| -> Vec<Value> {
        all["issues"].as_array().expect("a list").iter().map(|issue| issue["shown"].clone()).collect()
    };
    let unclaimed = |mut issues: Vec<Value>| {
        // --fix releases stale claims; those with a lease stay.
        issues.iter_mut().for_each(|issue| drop(issue.as_object_mut().map(|issue| issue.remove("updated_at"))));
        issues
    };
    assert_eq!(unclaimed(shown(after)), unclaimed(shown(before)), "{what}");
}

#[test]
fn a_flipped_bit_in_the_first_pages_is_detected_and_loses_nothing() {
    flip("db.sqlite", 5 * 4096, 61, true);
}

#[test]
fn a_flipped_bit_in_any_page_is_detected_and_loses_nothing() {
    flip("db.sqlite", usize::MAX, 401, true);
}

#[test]
fn a_flipped_bit_in_the_write_ahead_log_is_detected_and_loses_nothing() {
    flip("db.sqlite-wal", usize::MAX, 3001, false);
}

#[test]
fn a_schema_that_was_tampered_with_is_found_by_a_deep_check_and_rebuilt() {
    let on_disk = ClosedStore::with_every_change();
    let before = full_state(&on_disk.open());
    let raw = rusqlite::Connection::open(on_disk.path("db.sqlite")).expect("opens");
    raw.execute_batch("DROP INDEX issues_lease; CREATE INDEX of_their_own ON issues(spec)").expect("changed");
    drop(raw);
    let engine = on_disk.open();
    let report = engine.call("a", &Doctor { fix: false, deep: true }).expect("a report");
    let reported: Vec<&str> = report.findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(reported, ["the definition of issues_lease is not what it should be"]);
    engine.call("a", &Doctor { fix: true, deep: true }).expect("a report");
    assert!(engine.notices()[0].contains("rebuilt"));
    let report = on_disk.open().call("a", &Doctor { fix: false, deep: true }).expect("a report");
    assert!(report.findings.is_empty(), "{report:?}");
    assert_eq!(full_state(&on_disk.open()), before);
}

#[test]
fn silent_damage_to_text_is_found_by_a_deep_check_and_repaired() {
    let on_disk = ClosedStore::with_every_change();
    let before = full_state(&on_disk.open());
    let raw = rusqlite::Connection::open(on_disk.path("db.sqlite")).expect("opens");
    raw.execute_batch(
        "UPDATE issues SET title = 'something else' WHERE title = 'bug';
         UPDATE comments SET text = 'never said';
         UPDATE events SET detail = '{}' WHERE id = 2;
         UPDATE tombstones SET actor = 'nobody';
         DELETE FROM title_keys",
    )
    .expect("damaged");
    drop(raw);
    let engine = on_disk.open();
    let report = engine.call("a", &Doctor { fix: false, deep: false }).expect("a report");
    assert!(report.findings.iter().all(|finding| finding.check != "damage"), "{report:?}");
    let report = engine.call("a", &Doctor { fix: false, deep: true }).expect("a report");
    let damage: Vec<&str> = report
        .findings
        .iter()
        .filter(|finding| finding.check == "damage")
        .map(|finding| finding.message.split(' ').next().unwrap_or_default())
        .collect();
    for table in ["issues", "comments", "events", "tombstones", "title_keys"] {
        assert!(damage.contains(&table), "{table}: {report:?}");
    }
    let fixed = engine.call("a", &Doctor { fix: true, deep: true }).expect("a report");
    assert_eq!(fixed.fixes_applied.len(), damage.len(), "{fixed:?}");
    assert_same_issues(&full_state(&engine), &before, "mended");
    let report = engine.call("a", &Doctor { fix: false, deep: true }).expect("a report");
    assert!(report.findings.iter().all(|finding| finding.severity != Severity::Error), "{report:?}");
}

#[test]
fn a_transaction_too_large_for_the_journal_is_preserved_by_a_backup() {
    let on_disk = ClosedStore::new();
    let engine = on_disk.open();
    create(&engine, "before");
    let text = "x".repeat(60_000);
    let one = |n| json!({"op": "issue.create", "title": format!("{n}"), "issue_type": "task", "description": text});
    run::<batch::Batch>(&engine, "alice", json!({"operations": (0..300).map(one).collect::<Vec<_>>()}));
    assert_eq!(engine.call("a", &backup::Backups {}).expect("a list").len(), 1);
    create(&engine, "after");
    let before = full_state(&engine);
    drop(engine);
    on_disk.delete_database();
    assert_eq!(full_state(&on_disk.open()), before);
}

#[test]
fn an_issue_with_a_changed_id_is_rebuilt_from_its_file_and_the_journal() {
    let on_disk = ClosedStore::new();
    let engine = on_disk.open();
    let id = create(&engine, "mine");
    run::<comment::Add>(&engine, "alice", json!({"id": id, "text": "on mine"}));
    run::<store::Export>(&engine, "alice", json!({}));
    let elder = json!({"id": id, "title": "elder", "issue_type": "task", "status": "open", "priority": "p2",
        "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z"});
    fs::write(on_disk.path("issues.jsonl"), format!("{elder}\n")).expect("written");
    run::<store::Import>(&engine, "alice", json!({}));
    run::<store::Export>(&engine, "alice", json!({}));
    let titles = |engine: &Engine| {
        let all = engine.call("a", &issue::List::default()).expect("a list");
        let mut all: Vec<_> = all.into_iter().map(|issue| (issue.title, issue.id.to_string())).collect();
        all.sort();
        all
    };
    let before = titles(&engine);
    assert_eq!(before.len(), 2);
    drop(engine);
    on_disk.delete_database();
    fs::remove_dir_all(on_disk.path("local/backups")).expect("gone too");
    let engine = on_disk.open();
    assert_eq!(titles(&engine), before);
    let moved = run::<issue::Show>(&engine, "a", json!({"id": before[1].1}));
    assert_eq!((moved.issue.title.as_str(), moved.comments.len()), ("mine", 1));
}

/// The worst case: no backup, and the start of the journal is missing.
#[test]
fn without_backups_the_store_is_rebuilt_from_the_export_and_the_rest_of_the_journal() {
    let on_disk = ClosedStore::new();
    let engine = on_disk.open();
    let (one, two) = (create(&engine, "one"), create(&engine, "two"));
    engine.call("alice", &store::Export::default()).expect("exported");
    run::<issue::Close>(&engine, "alice", json!({"id": one}));
    run::<dep::Add>(&engine, "alice", json!({"issue_id": two, "depends_on_id": one}));
    let three = create(&engine, "three");
    drop(engine);
    let dir = on_disk.path("local/journal");
    let first = dir.join("000000000000001.jsonl");
    let lines = fs::read_to_string(&first).expect("a journal");
    let rest: String = lines.split_inclusive('\n').skip(2).collect();
    fs::remove_file(first).expect("removed");
    fs::write(dir.join("000000000000003.jsonl"), rest).expect("written");
    on_disk.delete_database();
    let engine = on_disk.open();
    let listed = engine.call("a", &issue::List::default()).expect("a list");
    let mut ids: Vec<String> = listed.iter().map(|issue| issue.id.to_string()).collect();
    ids.sort();
    let mut all = vec![one.clone(), two, three];
    all.sort();
    assert_eq!(ids, all);
    let closed = listed.iter().find(|issue| issue.id.to_string() == one).expect("there");
    assert_eq!(closed.status.as_str(), "closed");
    let report = engine.call("a", &Doctor { fix: false, deep: true }).expect("a report");
    assert!(report.findings.iter().all(|finding| finding.severity != Severity::Error), "{report:?}");
}

#[test]
fn projects_and_tokens_of_a_server_are_rebuilt() {
    let dir = tempfile::tempdir().expect("a directory");
    let projects = Projects::make_directory(dir.path()).expect("a place");
    let control = projects.control().expect("opens");
    for name in ["web", "old"] {
        run::<project::Create>(&control, "admin", json!({"name": name}));
    }
    run::<project::Archive>(&control, "admin", json!({"name": "old"}));
    let made = run::<token::Create>(&control, "admin", json!({"project": "web", "role": "agent"}));
    let revoked = run::<token::Create>(&control, "admin", json!({"project": "web", "role": "viewer"}));
    run::<token::Revoke>(&control, "admin", json!({"id": revoked.id}));
    let all = |control: &Engine| {
        let projects = run::<project::List>(control, "admin", json!({"all": true}));
        json!([projects, run::<token::List>(control, "admin", json!({"all": true}))])
    };
    let before = all(&control);
    let hash: [u8; 32] = Sha256::digest(made.token.as_bytes()).into();
    drop(control);
    for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
        let _ = fs::remove_file(dir.path().join("control").join(name));
    }
    let control = projects.control().expect("opens");
    assert_eq!(all(&control), before);
    assert!(Projects::grant(&control, &hash).expect("looked up").is_some());
}

#[test]
fn a_group_commit_journals_only_what_succeeded() {
    let on_disk = ClosedStore::with_every_change();
    let writer = GroupWriter::start(on_disk.open()).expect("starts");
    let answers: Vec<_> = (0..60)
        .map(|n| {
            let (send, receive) = mpsc::channel();
            let good = json!({"op": "issue.create", "title": format!("{n}"), "issue_type": "task"});
            let bad = json!({"op": "issue.close", "id": "pn-nowhere"});
            let operations = if n % 3 == 0 { vec![good.clone(), bad] } else { vec![good] };
            // The changes of a failed batch are rolled back.
            let run = entry("batch").expect("in the catalog").run;
            let work = move |cx: &Context<'_>, tx: &Tx<'_>| run(cx, tx, &json!({"operations": operations}));
            writer
                .submit(Caller::local("alice"), None, work, move |answer| send.send(answer.is_ok()).expect("awaited"));
            receive
        })
        .collect();
    let made = answers.iter().filter(|answer| answer.recv().expect("an answer")).count();
    assert_eq!(made, 40);
    drop(writer);
    let before = full_state(&on_disk.open());
    on_disk.delete_database();
    assert_eq!(full_state(&on_disk.open()), before);
}

#[test]
fn a_retry_after_the_database_was_rebuilt_gets_the_same_answer() {
    let on_disk = ClosedStore::new();
    let ana = Caller::local("ana");
    let create = |title: &str, description: String| -> issue::Create {
        let fields = json!({"title": title, "issue_type": "task", "description": description});
        serde_json::from_value(fields).expect("an operation")
    };
    let (small, large) = (create("small", "d".into()), create("large", "d".repeat(70_000)));
    let keep: kv::Set =
        serde_json::from_value(json!({"scope": "user", "key": "k", "value": "v"})).expect("an operation");
    let engine = on_disk.open();
    let made = engine.call_once(&ana, "one", &small).expect("made");
    engine.call_once(&ana, "two", &large).expect("made");
    engine.call("bob", &keep).expect("set");
    let same = engine.call_once(&ana, "three", &keep).expect("nothing to do");
    run::<kv::Set>(&engine, "bob", json!({"scope": "user", "key": "k", "value": "other"}));
    drop(engine);
    for round in 0..2 {
        on_disk.delete_database();
        let engine = on_disk.open();
        assert_eq!(engine.call_once(&ana, "one", &small).expect("answered"), made, "{round}");
        assert_eq!(engine.call_once(&ana, "three", &keep).expect("answered"), same, "{round}");
        let lost = engine.call_once(&ana, "two", &large).expect_err("its answer was too long to be kept");
        assert_eq!(lost.code, Code::Conflict, "{lost}");
        let other = engine.call_once(&ana, "one", &large).expect_err("another request");
        assert_eq!(other.code, Code::Conflict, "{other}");
        assert_eq!(engine.call("ana", &issue::List::default()).expect("a list").len(), 2, "{round}");
        let get = json!({"scope": "user", "key": "k"});
        assert_eq!(run::<kv::Get>(&engine, "ana", get).value, "other", "{round}");
    }
}

#[test]
fn a_journal_line_has_actor_session_and_time_of_each_operation() {
    let on_disk = ClosedStore::new();
    let engine = on_disk.open();
    let caller = Caller { origin: Origin { session: Some("s1".into()), ..Origin::default() }, ..Caller::local("ana") };
    let op: issue::Create = serde_json::from_value(json!({"title": "t", "issue_type": "task"})).expect("an operation");
    let made = engine.call_once(&caller, "key", &op).expect("made");
    engine.call("ana", &issue::List::default()).expect("a list");
    drop(engine);
    let segment = fs::read_to_string(on_disk.path("local/journal/000000000000001.jsonl")).expect("a journal");
    let lines: Vec<Value> = segment.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 1, "{segment}");
    let items = lines[0]["items"].as_array().expect("items");
    let kinds: Vec<&str> = items.iter().filter_map(|item| item[0].as_str()).collect();
    assert_eq!(kinds[kinds.len() - 2..], ["answer", "op"], "{segment}");
    let (answer, op) = (&items[items.len() - 2][1], &items[items.len() - 1][1]);
    assert_eq!(*op, json!({"actor": "ana", "session": "s1", "at": made.issue.created_at}));
    assert_eq!(serde_json::from_str::<Value>(answer["answer"].as_str().expect("text")).expect("JSON"), json!(made));
}
