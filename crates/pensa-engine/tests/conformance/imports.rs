//! Imports of another tool's records: imported once, unchanged when known, reported when refused.

use std::fs;

use pensa_core::event::LogEntry;
use pensa_core::ops::import::{ImportOutcome, ImportedRecord, Records};
use pensa_core::ops::{issue, kv, learning, release, skill, undo, work};
use pensa_core::work::WorkStatus;
use pensa_core::{Access, Code};
use pensa_engine::{Caller, Engine, log_after};
use serde_json::{Value, json};

use crate::conformance;
use crate::world::World;

fn take(world: &World, records: &[Value]) -> Vec<ImportedRecord> {
    world.json::<Records>("ana", json!({"from": "prjct", "records": records})).expect("an answer")
}

fn outcomes(results: &[ImportedRecord]) -> Vec<ImportOutcome> {
    results.iter().map(|results| results.outcome).collect()
}

fn origin(hash: &str) -> Value {
    json!({"file": "storage/state.json", "hash": hash, "fields": {"sessionId": "sess_1"}})
}

fn task(id: &str, status: &str) -> Value {
    json!({"kind": "issue", "id": id, "title": format!("do {id}"), "issue_type": "task", "priority": "p1",
        "created_at": "2024-01-15T10:30:00.000Z", "updated_at": "2024-01-16T10:30:00.000Z",
        "closed_at": "2024-01-16T10:30:00.000Z", "close_reason": "it works", "origin": origin(id),
        "work": {"kind": "bug", "status": status, "branch": "b", "started_at": "2024-01-15T11:30:00.000Z",
            "steps": [{"title": "one", "status": "done"}, {"title": "two", "status": "pending"}]}})
}

/// One record of every kind.
fn all() -> Vec<Value> {
    vec![
        task("t-now", "active"),
        task("t-later", "paused"),
        task("t-done", "done"),
        json!({"kind": "issue", "id": "q-1", "title": "wait", "issue_type": "task", "priority": "p0", "origin": origin("q")}),
        json!({"kind": "release", "id": "ship_1", "name": "faster", "version": "1.0.0", "release_kind": "bug",
            "issues": ["t-done", "nowhere"], "shipped_at": "2024-01-17T10:30:00.000Z", "origin": origin("r")}),
        json!({"kind": "learning", "learning_kind": "gotcha", "text": "must handle null parents", "tags": ["a"],
            "files": ["x.ts"], "impact": "high", "task": "t-done", "at": "2024-01-16T10:30:00.000Z", "origin": origin("l")}),
        json!({"kind": "event", "issue_id": "t-done", "data": {"type": "task.created", "data": {"taskId": "t-done"}}}),
        json!({"kind": "event", "issue_id": "t-done", "again": 1, "data": {"type": "task.created", "data": {"taskId": "t-done"}}}),
        json!({"kind": "skills", "name": "a.md", "skills": ["x", "y"]}),
        json!({"kind": "document", "scope": "prjct:p", "key": "storage/roadmap.json", "text": "{}"}),
    ]
}

fn log(engine: &Engine) -> Vec<LogEntry> {
    engine.run(Access::Read, &Caller::local("a"), |_, tx| log_after(tx, 0, 1000)).expect("the log")
}

/// All data that imports can change.
fn full_state(engine: &Engine) -> Value {
    json!([
        engine.call("a", &issue::List::default()).expect("issues"),
        engine.call("a", &work::List::default()).expect("work"),
        engine.call("a", &release::List::default()).expect("releases"),
        engine.call("a", &learning::List::default()).expect("learnings"),
        engine.call("a", &skill::List::default()).expect("skills"),
        engine.call("a", &kv::List::default()).expect("documents"),
        log(engine),
    ])
}

conformance! {
    fn records_of_every_kind_are_imported_once(world: World) {
        let results = take(&world, &all());
        assert_eq!(outcomes(&results), [ImportOutcome::Imported; 10]);
        let shown = world.json::<issue::Show>("a", json!({"id": "t-done"})).expect("there").issue;
        assert_eq!(json!(shown), json!({"id": "t-done", "title": "do t-done", "issue_type": "task", "status": "closed",
            "priority": "p1", "created_at": "2024-01-15T10:30:00.000Z", "updated_at": "2024-01-16T10:30:00.000Z",
            "closed_at": "2024-01-16T10:30:00.000Z", "close_reason": "it works", "prjct": origin("t-done")}));
        let done = world.json::<work::List>("a", json!({"status": "done"})).expect("a list").remove(0);
        assert_eq!(json!(done), json!({"issue_id": "t-done", "title": "do t-done", "kind": "bug", "status": "done",
            "branch": "b", "steps": [{"title": "one", "status": "done"}, {"title": "two", "status": "pending"}],
            "current_step": 2, "actor": "ana", "created_at": "2024-01-15T10:30:00.000Z",
            "updated_at": "2024-01-16T10:30:00.000Z", "done_at": "2024-01-16T10:30:00.000Z"}));
        let current = world.json::<work::Current>("a", json!({"actor": "ana"})).expect("an answer").expect("work");
        assert_eq!(current.issue_id.as_str(), "t-now");
        let paused = world.json::<work::List>("a", json!({"status": "paused"})).expect("a list");
        assert_eq!((paused.len(), paused[0].issue_id.as_str()), (1, "t-later"));
        let shipped = world.json::<release::List>("a", json!({})).expect("a list").remove(0);
        assert_eq!((shipped.id.as_str(), json!(shipped.issues)), ("ship_1", json!(["t-done"])), "only what is here");
        let learned = world.json::<learning::List>("a", json!({})).expect("a list").remove(0).learning;
        assert_eq!((learned.work.as_ref().map(|id| id.as_str()), learned.created_at.to_string().as_str()), (Some("t-done"), "2024-01-16T10:30:00.000Z"));
        let from_there: Vec<LogEntry> = log(&world.engine).into_iter().filter(|line| line.event_type == "imported").collect();
        assert_eq!((from_there.len(), &from_there[0].detail["prjct"]), (2, &json!({"type": "task.created", "data": {"taskId": "t-done"}})));

        let before = full_state(&world.engine);
        world.advance(1);
        assert_eq!(outcomes(&take(&world, &all())), [ImportOutcome::Here; 10]);
        assert_eq!(full_state(&world.engine), before, "a repetition changes nothing");
        let mut more = all();
        more.push(task("t-more", "active"));
        let results = take(&world, &more);
        assert_eq!(outcomes(&results), [&[ImportOutcome::Here; 10][..], &[ImportOutcome::Imported]].concat());
        assert!(results[10].reason.as_ref().is_some_and(|reason| reason.contains("paused") && reason.contains("t-now")), "{results:?}");
        let current = world.json::<work::Current>("a", json!({"actor": "ana"})).expect("an answer");
        assert_eq!(current.map(|work| work.issue_id.to_string()).as_deref(), Some("t-now"), "one thing at a time");
    }

    fn known_deleted_or_conflicting_records_are_reported_and_unchanged(world: World) {
        take(&world, &all());
        world.json::<issue::Create>("a", json!({"title": "mine", "issue_type": "task"})).expect("made");
        let mine = world.json::<issue::List>("a", json!({})).expect("a list").into_iter().find(|issue| issue.title == "mine");
        let mine = mine.expect("there").id;
        world.json::<issue::Delete>("a", json!({"id": "t-later", "force": true})).expect("deleted");
        let learned = world.json::<learning::List>("a", json!({})).expect("a list").remove(0).learning.id;
        world.json::<learning::Forget>("a", json!({"id": learned})).expect("forgotten");
        let before = full_state(&world.engine);
        let mut changed = task("t-done", "done");
        changed["origin"] = origin("another");
        let results = take(&world, &[
            changed,
            task(mine.as_str(), "paused"),
            task("t-later", "paused"),
            all()[5].clone(),
            json!({"kind": "skills", "name": "a.md", "skills": ["z"]}),
            json!({"kind": "event", "issue_id": "t-later", "data": {}}),
        ]);
        use ImportOutcome::{Changed, Clash, Deleted, Refused};
        assert_eq!(outcomes(&results), [Changed, Clash, Deleted, Deleted, Clash, Refused]);
        assert!(results.iter().all(|results| results.reason.is_some()));
        assert_eq!(full_state(&world.engine), before);
        let other = json!({"kind": "document", "scope": "prjct:p", "key": "storage/roadmap.json", "text": "{\"a\":1}"});
        assert_eq!(outcomes(&take(&world, &[other])), [ImportOutcome::Updated], "a document is as it was last");
    }

    fn duplicate_learnings_are_merged_with_both_sources(world: World) {
        let learned = |task: &str, text: &str| json!({"kind": "learning", "learning_kind": "gotcha", "text": text,
            "task": task, "at": "2024-01-16T10:30:00.000Z", "origin": {"file": "f", "hash": task, "fields": {"mood": task}}});
        let records = [learned("t-1", "must handle null parents"), learned("t-2", "must handle null parents"),
            learned("t-2", "the build needs a clean tree")];
        assert_eq!(outcomes(&take(&world, &records)), [ImportOutcome::Imported; 3]);
        let all = world.json::<learning::List>("a", json!({})).expect("a list");
        assert_eq!(all.len(), 2);
        let both = all.iter().find(|shown| shown.learning.revision == 2).expect("told twice");
        let extra = json!(both.learning.extra);
        assert_eq!((&extra["prjct"]["fields"]["mood"], &extra["prjct"]["told"][0]["fields"]["mood"]), (&json!("t-1"), &json!("t-2")));
        let before = full_state(&world.engine);
        world.advance(60);
        assert_eq!(outcomes(&take(&world, &records)), [ImportOutcome::Here; 3]);
        assert_eq!(full_state(&world.engine), before);
    }

    fn one_refused_record_does_not_stop_the_others(world: World) {
        let bad = [
            ("title", json!(" ")),
            ("title", json!("x".repeat((1 << 20) + 1))),
            ("title", json!("\u{1b}[2J")),
            ("work", json!({"kind": "bug", "status": "done", "steps": vec![json!({"title": "s", "status": "done"}); 201]})),
            ("origin", json!({"file": "f", "hash": "h", "fields": {"x": "y".repeat(2 << 20)}})),
        ];
        let mut records: Vec<Value> = bad.iter().map(|(field, value)| {
            let mut record = task("bad", "done");
            record[field] = value.clone();
            record
        }).collect();
        records.push(json!({"kind": "release", "id": "r", "name": "n", "version": "1 2", "release_kind": "bug", "origin": origin("r")}));
        records.push(json!({"kind": "document", "scope": "../x", "key": "k", "text": ""}));
        records.push(json!({"kind": "document", "scope": "s", "key": "k", "text": "\0"}));
        records.push(json!({"kind": "learning", "learning_kind": "gotcha", "text": "x".repeat(70_000), "origin": origin("l")}));
        let refused = records.len();
        records.push(task("good", "done"));
        let results = take(&world, &records);
        assert!(results[..refused].iter().all(|results| results.outcome == ImportOutcome::Refused && results.reason.is_some()), "{results:?}");
        assert_eq!(results[refused].outcome, ImportOutcome::Imported);
        assert_eq!(world.json::<issue::List>("a", json!({})).expect("a list").len(), 1);
        assert!(world.json::<release::List>("a", json!({})).expect("a list").is_empty());
        let many = json!({"from": "prjct", "records": vec![json!({"kind": "skills", "name": "n", "skills": ["s"]}); 10_001]});
        assert_eq!(world.refused::<Records>("a", many), Code::TooLarge);
    }

    fn secrets_in_imported_records_are_redacted_unless_disabled(world: World) {
        let secret = ["ghp", "_aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5zA7"].concat();
        let mut record = task("t", "paused");
        record["title"] = json!(format!("use {secret}"));
        record["origin"]["fields"] = json!({"deep": [{"token": secret}]});
        let document = |key: &str| json!({"kind": "document", "scope": "prjct:p", "key": key, "text": format!("{{\"a\":\"{secret}\"}}")});
        let results = take(&world, &[record.clone(), document("one")]);
        assert_eq!(results.iter().map(|results| results.redactions).collect::<Vec<_>>(), [2, 1]);
        assert!(!full_state(&world.engine).to_string().contains(&secret));
        assert_eq!(outcomes(&take(&world, &[record, document("one")])), [ImportOutcome::Here; 2]);
        let kept = json!({"from": "prjct", "records": [document("two")], "no_redact": true});
        assert_eq!(world.json::<Records>("a", kept).expect("kept")[0].redactions, 0);
        assert!(full_state(&world.engine).to_string().contains(&secret));
    }

    fn imports_are_not_undone(world: World) {
        take(&world, &all());
        let error = world.json::<undo::Undo>("ana", json!({})).expect_err("not only issues");
        assert_eq!(error.code, Code::Conflict);
        assert_eq!(world.json::<issue::List>("a", json!({})).expect("a list").len(), 4);
    }
}

#[test]
fn imported_records_are_rebuilt_from_the_journal() {
    let world = World::sqlite();
    take(&world, &all());
    let before = full_state(&world.engine);
    let store = world.store();
    for ending in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{ending}", store.database().display()));
    }
    let engine = Engine::open(store).expect("rebuilt");
    assert_eq!(full_state(&engine), before);
    let again = serde_json::from_value::<Records>(json!({"from": "prjct", "records": all()})).expect("an operation");
    assert_eq!(outcomes(&engine.call("ana", &again).expect("an answer")), [ImportOutcome::Here; 10]);
    let list = serde_json::from_value::<work::List>(json!({"status": "active"})).expect("an operation");
    assert_eq!(engine.call("a", &list).expect("a list")[0].status, WorkStatus::Active);
}
