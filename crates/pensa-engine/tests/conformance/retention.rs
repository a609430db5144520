//! Garbage collection: old data that is not needed is removed, and a dry run reports the same numbers.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use pensa_core::issue::Issue;
use pensa_core::ops::backup::Backup;
use pensa_core::ops::gc::{Collected, Gc, Space};
use pensa_core::ops::store::Doctor;
use pensa_core::ops::undo::Undo;
use pensa_core::ops::{batch, comment, event, issue, job, loops, record, signal, work};
use pensa_core::{Access, Code, Error, Timestamp};
use pensa_engine::{Caller, Engine, log_after};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::conformance;
use crate::world::World;

const DAY: i64 = 86_400;

/// Stores a finished loop, or a signal that is open unless it has an acknowledgement time.
fn put(world: &World, collection: &str, id: &str, data: Value) {
    let is_loop = collection == "loops";
    let mut whole = match is_loop {
        true => json!({"id": id, "loop_type": "code", "status": "complete"}),
        false if data["acknowledged_at"].is_null() => {
            json!({"id": id, "signal_type": "stop", "target_loop": "waited-for"})
        }
        false => json!({"id": id, "signal_type": "stop"}),
    };
    whole.as_object_mut().expect("an object").extend(data.as_object().expect("an object").clone());
    let records = json!({"records": [whole]});
    match is_loop {
        true => drop(world.json::<loops::ImportLoops>("a", records).expect("taken")),
        false => drop(world.json::<signal::ImportSignals>("a", records).expect("taken")),
    }
}

fn job(world: &World, fields: Value) -> String {
    let mut whole = json!({"lane": "net", "command": ["make"], "slots": 9, "timeout": "60s", "host": "box"});
    whole.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
    world.json::<job::Start>("a", whole).expect("a job").id.to_string()
}

fn finish(world: &World, id: &str) {
    world.json::<job::Finish>("a", json!({"id": id, "exit_code": 0, "output": "x".repeat(1000)})).expect("over");
}

fn ids(engine: &Engine, collection: &str) -> Vec<String> {
    let query = json!({"collection": collection});
    let page =
        engine.call("a", &serde_json::from_value::<record::Query>(query).expect("an operation")).expect("records");
    let all = json!(page)["records"].as_array().cloned().unwrap_or_default();
    all.iter().map(|record| record["id"].as_str().expect("an id").to_owned()).collect()
}

fn gc(world: &World, fields: Value) -> Collected {
    world.json::<Gc>("daemon", fields).expect("collected")
}

fn delete(world: &World, issue: &Issue) {
    world.json::<issue::Delete>("ann", json!({"id": issue.id, "force": true})).expect("deleted");
}

/// Words that only a deleted issue, its work and its comments contain.
const WORDS: [&str; 7] = ["zebrafish", "heron", "walrus", "otter", "ibex", "capybara", "tapir"];

/// Deletes an issue whose words are everywhere an issue can leave them, including the events of another issue.
fn deleted(world: &World) -> Issue {
    let (task, other) = (
        world.create(json!({"title": WORDS[0], "description": WORDS[1], "spec": WORDS[6]})),
        world.task("a dependent"),
    );
    let parent = world.task("a parent");
    world.link(&task, &parent);
    world.link(&other, &task);
    world.json::<comment::Add>("bob", json!({"id": task.id, "text": WORDS[2]})).expect("said");
    world.json::<work::Start>("ann", json!({"what": task.id, "steps": [WORDS[3]]})).expect("begun");
    world.json::<issue::Close>("ann", json!({"id": task.id, "reason": WORDS[4]})).expect("closed");
    world.json::<Undo>("ann", json!({})).expect("taken back");
    for _ in 0..2 {
        delete(world, &other);
        world.json::<Undo>("ann", json!({})).expect("brought back");
    }
    delete(world, &task);
    world.json::<Undo>("ann", json!({})).expect("brought back");
    world.json::<issue::Update>("bob", json!({"id": task.id, "title": WORDS[5]})).expect("updated");
    delete(world, &task);
    task
}

fn words_left(world: &World) -> Vec<&'static str> {
    let all = world.dump();
    WORDS.into_iter().filter(|word| all.contains(word)).collect()
}

/// Every row of the store.
fn rows(world: &World) -> Vec<String> {
    let mut rows: Vec<String> = world.dump().lines().map(str::to_owned).collect();
    rows.sort();
    rows
}

/// All data shown about an issue.
fn shown(engine: &Engine, issue: &Issue) -> Vec<Value> {
    let list = event::List { subject: Some(issue.id.to_string()), after: Some(0), ..event::List::default() };
    let page = engine.call("a", &list).expect("events");
    page.events.iter().map(|event| json!([event.id, event.event_type, event.detail])).collect()
}

fn log_page(world: &World) -> Vec<Value> {
    let log = world.engine.run(Access::Read, &Caller::local("a"), |_, tx| log_after(tx, 0, 1000)).expect("the log");
    log.iter().map(|line| json!(line)).collect()
}

fn undo(world: &World, event: i64) -> Error {
    let error = world.json::<Undo>("ann", json!({ "event": event })).expect_err("refused");
    assert_eq!(error.code, Code::Conflict, "{error}");
    error
}

fn is_healthy(world: &World) {
    let report = world.ok(&Doctor { fix: false, deep: true });
    let bad: Vec<_> = report.findings.iter().filter(|it| !["claim", "drift"].contains(&it.check.as_str())).collect();
    assert!(bad.is_empty(), "{bad:?}");
}

/// A time this many days before the world's clock.
fn ago(days: i64) -> Timestamp {
    Timestamp::from_millis(1_772_202_600_000 - days * DAY * 1000).expect("a time")
}

conformance! {
    fn only_old_and_unneeded_data_is_removed(world: World) {
        for (id, data) in [
            ("old", json!({"archived_at": ago(8)})),
            ("young", json!({"archived_at": ago(6)})),
            ("not-archived", json!({"created_at": ago(99)})),
            ("parent", json!({"archived_at": ago(9)})),
            ("child", json!({"archived_at": ago(8), "parent_id": "parent"})),
            ("parent-of-young", json!({"archived_at": ago(9)})),
            ("young-child", json!({"archived_at": ago(1), "parent_id": "parent-of-young"})),
            ("worked-on", json!({"archived_at": ago(9)})),
            ("waited-for", json!({"archived_at": ago(9)})),
        ] {
            put(&world, "loops", id, data);
        }
        let (goes_on, over) = (job(&world, json!({"loop": "worked-on"})), job(&world, json!({})));
        finish(&world, &over);
        for (id, at) in [("sg-old", Some(ago(8))), ("sg-young", Some(ago(1))), ("sg-open", None)] {
            put(&world, "signals", id, json!({ "acknowledged_at": at }));
        }
        let first = gc(&world, json!({})).removed;
        assert_eq!((first.loops, first.signals, first.job_outputs), (3, 1, 0));
        assert_eq!(ids(&world.engine, "loops"),
            ["not-archived", "parent-of-young", "waited-for", "worked-on", "young", "young-child"]);
        assert_eq!(ids(&world.engine, "signals"), ["sg-open", "sg-young"]);
        assert_eq!(ids(&world.engine, "signal_receipts").len(), 1);
        world.advance(6 * DAY);
        let late = job(&world, json!({}));
        finish(&world, &late);
        world.json::<signal::Ack>("a", json!({"id": "sg-open", "as": "waited-for"})).expect("heard");
        world.advance(2 * DAY);
        let second = gc(&world, json!({})).removed;
        assert_eq!((second.job_outputs, second.signals, second.receipts), (1, 1, 0));
        assert_eq!(ids(&world.engine, "tool_job_outputs"), [late]);
        assert_eq!(ids(&world.engine, "loops"), ["not-archived", "worked-on"], "nobody waits for the others any more");
        finish(&world, &goes_on);
        world.advance(8 * DAY);
        let third = gc(&world, json!({})).removed;
        assert_eq!((third.job_outputs, third.signals, third.receipts, third.loops), (2, 1, 1, 1));
        assert_eq!(ids(&world.engine, "tool_jobs").len(), 3, "jobs stay");
    }

    fn a_dry_run_reports_the_same_numbers_and_removes_nothing(world: World) {
        for at in 0..20 {
            put(&world, "signals", &format!("sg-{at}"), json!({"acknowledged_at": ago(at)}));
            put(&world, "loops", &format!("lp-{at}"), json!({"archived_at": ago(at), "parent_id": format!("lp-{}", at + 1)}));
        }
        let log = || world.engine.run(Access::Read, &Caller::local("a"), |_, tx| log_after(tx, 0, 1000)).expect("the log");
        let (before, all) = (log().len(), ids(&world.engine, "loops"));
        let reported = gc(&world, json!({"dry_run": true}));
        assert_eq!((log().len(), ids(&world.engine, "loops")), (before, all), "nothing has happened");
        let done = gc(&world, json!({}));
        assert_eq!((reported.removed, reported.until, reported.dry_run), (done.removed, done.until, true));
        assert_eq!(done.removed.signals, 12);
        assert_eq!(gc(&world, json!({})).removed, gc(&world, json!({"dry_run": true})).removed);
        let reported: Vec<(String, Value)> = log().into_iter().filter(|line| line.event_type == "collected")
            .map(|line| (line.actor, line.detail["count"].clone())).collect();
        assert_eq!(reported, [("daemon".to_owned(), json!({"old": 12, "new": 0}))], "one for each kind of which there was any");
    }

    fn many_are_removed_in_batches(world: World) {
        let old = |at: i64| json!({"id": format!("sg-{at}"), "signal_type": "info", "acknowledged_at": ago(30)});
        let records: Vec<Value> = (0..1201).map(old).collect();
        world.json::<signal::ImportSignals>("a", json!({ "records": records })).expect("taken");
        assert_eq!(gc(&world, json!({"dry_run": true})).removed.signals, 1201);
        let rounds: Vec<(i64, bool)> = (0..4).map(|_| gc(&world, json!({}))).map(|it| (it.removed.signals, it.more)).collect();
        assert_eq!(rounds, [(500, true), (500, true), (201, false), (0, false)]);
    }

    fn only_ids_are_left_of_an_issue_deleted_long_ago(world: World) {
        let task = deleted(&world);
        let event = shown(&world.engine, &task)[0][0].as_i64().expect("a number");
        world.advance(6 * DAY);
        assert_eq!((gc(&world, json!({})).removed.deleted_issues, words_left(&world)), (0, WORDS.to_vec()));
        world.advance(2 * DAY);
        assert_eq!(gc(&world, json!({"dry_run": true})).removed.deleted_issues, 1);
        assert_eq!(words_left(&world), WORDS);
        assert_eq!(gc(&world, json!({})).removed.deleted_issues, 1);
        assert!(words_left(&world).is_empty(), "{:?}", words_left(&world));
        let reported = json!({"issue": {"old": {"id": task.id}, "new": null}, "purged": true});
        assert_eq!(shown(&world.engine, &task), [json!([event, "deleted", reported])], "that it was deleted stays");
        let error = undo(&world, event);
        assert!(error.message.contains("pn gc has removed for good what was deleted"), "{error}");
        assert_eq!(gc(&world, json!({})).removed.deleted_issues, 0, "once");
        let is_of_issues = |line: &Value| line["event_type"] == "collected" && line["detail"]["kind"] != "changes";
        let collected = log_page(&world).into_iter().filter(is_of_issues);
        let reported: Vec<Value> = collected.map(|line| json!([line["detail"]["kind"], line["detail"]["ids"]["old"]])).collect();
        assert_eq!(reported, [json!(["deleted_issues", [task.id]])]);
        is_healthy(&world);
        assert_eq!(world.json::<Undo>("bob", json!({"event": event - 2})).expect_err("it is gone").code, Code::NotFound);
    }

    fn an_undone_deletion_is_not_purged(world: World) {
        let task = world.create(json!({"title": "a task", "description": WORDS[0]}));
        let history = world.events(&task);
        delete(&world, &task);
        world.advance(8 * DAY);
        world.json::<Undo>("ann", json!({})).expect("brought back");
        assert_eq!(gc(&world, json!({})).removed.deleted_issues, 0);
        assert_eq!(world.events(&task)[..history.len()], history);
        delete(&world, &task);
        assert_eq!(gc(&world, json!({})).removed.deleted_issues, 0, "what counts is the last deletion");
        let event = shown(&world.engine, &task)[0][0].clone();
        world.json::<Undo>("ann", json!({ "event": event })).expect("brought back");
        assert_eq!(world.show(&task).description.as_deref(), Some(WORDS[0]));
    }

    fn a_partially_purged_operation_is_not_undone(world: World) {
        let new = |title: &str| json!({"op": "issue.create", "title": title, "issue_type": "task"});
        let made = world.json::<batch::Batch>("ann", json!({"operations": [new("stays"), new("goes")]})).expect("made");
        world.json::<issue::Delete>("ann", json!({"id": made[1]["id"]})).expect("deleted");
        world.advance(8 * DAY);
        gc(&world, json!({}));
        let error = undo(&world, 1);
        assert!(error.message.contains("pn gc has removed a part"), "{error}");
        is_healthy(&world);
    }

    fn many_deleted_issues_are_purged_in_batches(world: World) {
        let new = |at: usize| json!({"op": "issue.create", "title": format!("number {at}"), "issue_type": "task"});
        let made = world.json::<batch::Batch>("ann", json!({"operations": (0..501).map(new).collect::<Vec<_>>()})).expect("made");
        let gone = |made: &Value| json!({"op": "issue.delete", "id": made["id"]});
        let all: Vec<Value> = made.iter().map(gone).collect();
        world.json::<batch::Batch>("ann", json!({"operations": all})).expect("deleted");
        world.advance(8 * DAY);
        assert_eq!(gc(&world, json!({"dry_run": true})).removed.deleted_issues, 501);
        let rounds = [(), ()].map(|()| gc(&world, json!({}))).map(|it| (it.removed.deleted_issues, it.more));
        assert_eq!(rounds, [(500, true), (1, false)]);
        is_healthy(&world);
    }

    fn garbage_collection_needs_permission_to_delete(world: World) {
        let caller = Caller { may: Access::Write, ..Caller::local("agent") };
        let refused = |name: &str| {
            let entry = pensa_engine::entry(name).expect("in the catalog");
            world.engine.run(entry.access, &caller, |cx, tx| (entry.run)(cx, tx, &json!({}))).expect_err("refused").code
        };
        assert_eq!((refused("store.gc"), refused("store.space")), (Code::Forbidden, Code::Forbidden));
    }
}

#[test]
fn collected_data_stays_removed_after_a_rebuild() {
    let world = World::sqlite();
    put(&world, "signals", "sg-old", json!({"acknowledged_at": ago(8)}));
    put(&world, "signals", "sg-young", json!({"acknowledged_at": ago(1)}));
    gc(&world, json!({}));
    let root = world.store().root().to_owned();
    for file in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
        let _ = fs::remove_file(root.join(file));
    }
    assert_eq!(ids(&world.engine.new_handle().expect("rebuilt"), "signals"), ["sg-young"]);
}

#[test]
fn purged_data_does_not_come_back_with_the_journal() {
    let world = World::sqlite();
    world.ok(&Backup::default());
    let task = deleted(&world);
    world.task("another");
    world.advance(8 * DAY);
    gc(&world, json!({}));
    let (before, all) = (shown(&world.engine, &task), rows(&world));
    let root = world.store().root().to_owned();
    for file in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
        let _ = fs::remove_file(root.join(file));
    }
    let again = world.engine.new_handle().expect("rebuilt");
    assert_eq!(shown(&again, &task), before);
    assert_eq!(rows(&world), all);
    is_healthy(&world);
}

#[test]
fn journal_segments_are_removed_only_when_old_and_covered_by_two_backups() {
    let world = World::sqlite();
    let journal = world.store().root().join("local/journal");
    let segments = || -> Vec<String> {
        let all = fs::read_dir(&journal).expect("a directory").map(|it| it.expect("one").file_name());
        let mut all: Vec<String> = all.map(|name| name.to_string_lossy().into_owned()).collect();
        all.sort();
        all
    };
    let old = SystemTime::now() - Duration::from_secs(400 * 86_400);
    let age = || {
        for name in segments() {
            fs::File::options().append(true).open(journal.join(name)).expect("a file").set_modified(old).expect("aged");
        }
    };
    world.task("one");
    let behind = journal.join("000000000000000.jsonl");
    fs::write(&behind, "").expect("a segment that came back");
    fs::set_permissions(&behind, fs::Permissions::from_mode(0o600)).expect("private");
    world.ok(&Backup::default());
    age();
    assert_eq!(gc(&world, json!({})).removed.journal_segments, 0, "one backup may turn out to be unreadable");
    let kept = journal.with_file_name("kept");
    fs::rename(&behind, &kept).expect("out of the way of the backup");
    world.task("two");
    world.ok(&Backup::default());
    fs::rename(&kept, &behind).expect("back");
    fs::File::options().append(true).open(&behind).expect("a file").set_modified(SystemTime::now()).expect("young");
    assert_eq!(gc(&world, json!({})).removed.journal_segments, 0, "it is young");
    age();
    assert_eq!(gc(&world, json!({"dry_run": true})).removed.journal_segments, 1);
    assert!(behind.exists());
    assert_eq!(gc(&world, json!({})).removed.journal_segments, 1);
    assert_eq!((behind.exists(), segments().len()), (false, 1), "the one that is written to stays");
    let report = world.ok(&Doctor { fix: false, deep: true });
    assert!(report.findings.iter().all(|finding| finding.check != "journal"), "{report:?}");
}

#[test]
fn loop_directories_are_removed_after_their_records_without_following_links() {
    let world = World::sqlite();
    let archive = world.store().local_dir("archive").expect("a directory");
    let elsewhere = tempfile::tempdir().expect("a directory");
    for name in ["lp-gone", "lp-here", ".hidden"] {
        fs::create_dir_all(archive.join(name).join("iterations/001")).expect("made");
        fs::write(archive.join(name).join("iterations/001/prompt.md"), "x").expect("written");
    }
    std::os::unix::fs::symlink(elsewhere.path(), archive.join("lp-link")).expect("a link");
    fs::write(elsewhere.path().join("mine"), "x").expect("written");
    put(&world, "loops", "lp-here", json!({"archived_at": ago(1)}));
    // The test clock is not the clock of the file system.
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    assert_eq!(gc(&world, json!({})).removed.loop_directories, 0, "they are young");
    for name in ["lp-gone", "lp-here", ".hidden"] {
        fs::File::open(archive.join(name)).expect("a directory").set_modified(old).expect("aged");
    }
    assert_eq!(gc(&world, json!({"dry_run": true})).removed.loop_directories, 1);
    assert_eq!(gc(&world, json!({})).removed.loop_directories, 1);
    assert!(!archive.join("lp-gone").exists() && archive.join("lp-here").exists() && archive.join(".hidden").exists());
    assert!(elsewhere.path().join("mine").exists());
}

#[test]
fn disk_usage_is_reported_for_stores_in_directories() {
    let world = World::sqlite();
    world.task("something");
    let taken = world.ok(&Space {});
    assert!(taken.database.is_some_and(|bytes| bytes > 0) && taken.journal.is_some_and(|bytes| bytes > 0), "{taken:?}");
    assert!(taken.free.is_some() && taken.logs == Some(0), "{taken:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// A random forest of loops and signals, archived or acknowledged at random times, compared with a model.
    #[test]
    fn nothing_young_or_needed_is_ever_removed(
        loops in proptest::collection::vec((proptest::option::of(0i64..20), proptest::option::of(0usize..12)), 1..12),
        signals in proptest::collection::vec(proptest::option::of(0i64..20), 0..8),
        days in 1i64..20,
    ) {
        let world = World::sqlite();
        let name = |at: usize| format!("lp-{at:02}");
        let mut expected: BTreeMap<String, (bool, Option<String>)> = BTreeMap::new();
        for (at, (archived, parent)) in loops.iter().enumerate() {
            // Parents have smaller numbers, so there are no cycles.
            let parent = parent.filter(|parent| *parent < at).map(name);
            put(&world, "loops", &name(at), json!({"archived_at": archived.map(ago), "parent_id": parent}));
            expected.insert(name(at), (archived.is_some_and(|age| age > days), parent));
        }
        for (at, acknowledged) in signals.iter().enumerate() {
            put(&world, "signals", &format!("sg-{at}"), json!({"acknowledged_at": acknowledged.map(ago)}));
        }
        // A loop stays if it is young or any descendant stays; descendants have larger numbers.
        let mut stays: BTreeMap<String, bool> = BTreeMap::new();
        for (id, (is_old, _)) in expected.iter().rev() {
            let below = expected.iter().any(|(child, (_, parent))| parent.as_ref() == Some(id) && stays[child]);
            stays.insert(id.clone(), !is_old || below);
        }
        gc(&world, json!({"older_than": format!("{days}d")}));
        let left: Vec<String> = stays.into_iter().filter(|(_, stays)| *stays).map(|(id, _)| id).collect();
        prop_assert_eq!(ids(&world.engine, "loops"), left);
        let young = signals.iter().filter(|age| age.is_none_or(|age| age <= days)).count();
        prop_assert_eq!(ids(&world.engine, "signals").len(), young);
    }
}
