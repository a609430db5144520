//! Learnings: merging, recall order on every database, exchange between clones, and rebuilding from the journal.

use std::fs;

use pensa_core::briefing::{Briefing, Format};
use pensa_core::event::LogEntry;
use pensa_core::learning::LearningDetail;
use pensa_core::ops::briefing::Brief;
use pensa_core::ops::conflict::{self, Side};
use pensa_core::ops::learning::{Forget, ImportLearnings, List, Recall, Remember, Remembered, Show, Verify};
use pensa_core::ops::store::{self, Doctor, Severity};
use pensa_core::ops::{agent, issue};
use pensa_core::{Access, Code};
use pensa_engine::{Caller, Engine, log_after};
use serde_json::{Value, json};

use crate::conformance;
use crate::world::World;

fn remember(world: &World, text: &str, fields: Value) -> Remembered {
    world.advance(1);
    let mut whole = json!({ "text": text });
    whole.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
    world.json::<Remember>("alice", whole).expect("remembered")
}

fn recall(world: &World, fields: Value) -> Vec<String> {
    let hits = world.json::<Recall>("a", fields).expect("an answer");
    hits.into_iter().filter_map(|hit| hit.learning).map(|learning| learning.text).collect()
}

fn words(world: &World, words: &str) -> Vec<String> {
    recall(world, json!({ "q": words }))
}

fn list(engine: &Engine) -> Vec<LearningDetail> {
    engine.call("a", &List { all: true, ..List::default() }).expect("a list")
}

fn log(world: &World) -> Vec<LogEntry> {
    world.engine.run(Access::Read, &Caller::local("a"), |_, tx| log_after(tx, 0, 1000)).expect("a log")
}

fn copy_files(from: &World, to: &World) {
    from.ok(&store::Export::default());
    for name in ["issues.jsonl", "learnings.jsonl", "tombstones.jsonl"] {
        if let Ok(bytes) = fs::read(from.store().root().join(name)) {
            fs::write(to.store().root().join(name), bytes).expect("written");
        }
    }
    to.ok(&store::Import::default());
}

fn brief(world: &World, who: &str, max_tokens: u32, format: Format) -> Briefing {
    world.ok(&Brief { max_tokens: Some(max_tokens), format: Some(format), who: Some(who.into()) })
}

conformance! {
    fn every_field_of_a_learning_round_trips(world: World) {
        let (issue, work) = (world.task("about"), world.task("done"));
        let talker = world.json::<agent::Create>("alice", json!({"type": "user"})).expect("an agent");
        let session = talker.active_session_id.expect("a session");
        let before = remember(&world, "an older way", json!({})).learning;
        let made = remember(&world, "é\n\ttwo lines", json!({"kind": "decision", "tags": ["b", "a", "b"], "files": ["./x y.rs"],
            "issue": issue.id, "work": work.id, "session": session, "impact": "high", "expires": "90d",
            "supersedes": before.id})).learning;
        let shown = world.ok(&Show { id: (&made.id).into() });
        assert_eq!(json!(shown), json!({"id": made.id, "kind": "decision", "text": "é\n\ttwo lines", "tags": ["a", "b"],
            "files": ["./x y.rs"], "issue_id": issue.id, "work": work.id, "session_id": session, "impact": "high",
            "expires_at": "2026-05-28T14:30:02.000Z", "supersedes": before.id, "revision": 1, "actor": "alice",
            "created_at": "2026-02-27T14:30:02.000Z", "updated_at": "2026-02-27T14:30:02.000Z"}));
        assert_eq!(world.ok(&Show { id: (&before.id).into() }).superseded_by, Some(made.id.clone()));
        world.advance(1);
        let verified = world.ok(&Verify { id: made.id.as_str()[3..].parse().expect("a beginning"), expires: None });
        assert_eq!(verified.verified_at, Some(verified.updated_at));
        assert_eq!(verified.expires_at, made.expires_at);
        let log = log(&world);
        let remembered: Vec<(&str, Option<&Value>)> = log.iter().filter(|line| line.subject_id == made.id.as_str())
            .map(|line| (line.event_type.as_str(), line.detail.get("verified_at"))).collect();
        assert_eq!(remembered, [("created", None), ("updated", Some(&json!({"old": null, "new": verified.verified_at})))]);
    }

    fn near_duplicates_are_merged_and_different_learnings_are_not(world: World) {
        let first = remember(&world, "Must handle the null parent case", json!({"kind": "gotcha", "tags": ["a"]}));
        let again = remember(&world, "must handle null parent cases!", json!({"kind": "gotcha", "tags": ["b"], "files": ["f"]}));
        assert_eq!((again.merged, &again.learning.id, again.learning.revision), (true, &first.learning.id, 2));
        assert_eq!((again.learning.text.as_str(), again.learning.tags.len()), ("Must handle the null parent case", 2));
        let longer = remember(&world, "Must always handle the null parent case", json!({"kind": "gotcha"}));
        assert_eq!((longer.learning.revision, longer.learning.text.as_str()), (3, "Must always handle the null parent case"));
        let log = log(&world);
        assert_eq!(log.last().expect("a line").detail["text"]["old"], "Must handle the null parent case");
        for (text, fields) in [
            ("Must handle the null parent case", json!({"kind": "pattern"})),
            ("Must not handle the null parent case", json!({"kind": "gotcha"})),
            ("Must handle the null child case", json!({"kind": "gotcha"})),
            ("Must always handle the null parent case", json!({"kind": "gotcha", "supersedes": first.learning.id})),
        ] {
            assert!(!remember(&world, text, fields).merged, "{text}");
        }
        assert_eq!(list(&world.engine).len(), 5);
        let refused = json!({"text": "newer", "supersedes": first.learning.id});
        assert_eq!(world.refused::<Remember>("a", refused), Code::Conflict, "something is in its place already");
        let brief = remember(&world, "the build is red today", json!({"expires": "1h"}));
        world.advance(3601);
        assert_ne!(remember(&world, "the build is red today", json!({})).learning.id, brief.learning.id, "it had expired");
    }

    fn recall_ranks_the_best_first_and_omits_expired_learnings(world: World) {
        remember(&world, "Use NestedContextResolver for discovery", json!({"tags": ["agents"], "files": ["core/resolver.ts"]}));
        remember(&world, "Resolvers cache their parents", json!({"impact": "high"}));
        remember(&world, "Migrations are only appended", json!({"kind": "decision", "tags": ["db"]}));
        assert_eq!(words(&world, "context resolver"), ["Use NestedContextResolver for discovery", "Resolvers cache their parents"]);
        assert_eq!(words(&world, "MIGRATION"), ["Migrations are only appended"]);
        assert_eq!(words(&world, "agents"), ["Use NestedContextResolver for discovery"], "tags are words too");
        assert_eq!(words(&world, "nothing of the kind"), [""; 0]);
        assert_eq!(recall(&world, json!({"tags": ["DB"]})), ["Migrations are only appended"]);
        assert_eq!(recall(&world, json!({"files": ["./resolver.ts"]})), ["Use NestedContextResolver for discovery"]);
        assert_eq!(recall(&world, json!({"q": "resolvers", "n": 1})).len(), 1);
        let old = world.json::<Recall>("a", json!({"q": "cache"})).expect("an answer").remove(0).into_learning().expect("a learning").learning;
        let new = remember(&world, "Resolvers cache nothing", json!({"supersedes": old.id})).learning;
        assert_eq!(words(&world, "cache"), ["Resolvers cache nothing"]);
        world.ok(&Forget { id: (&new.id).into() });
        assert_eq!(words(&world, "cache"), ["Resolvers cache their parents"], "nothing is in its place any more");
        remember(&world, "cache of the hour", json!({"expires": "1h"}));
        assert_eq!(words(&world, "hour").len(), 1);
        world.advance(3600);
        assert_eq!(words(&world, "hour"), [""; 0]);
        assert_eq!(world.ok(&List::default()).len(), 3);
        assert_eq!(list(&world.engine).len(), 4);
        assert_eq!(world.ok(&List { tag: Some("db".into()), ..List::default() }).len(), 1);
    }

    fn a_verified_learning_counts_as_fresh(world: World) {
        let old = remember(&world, "builds need the old linker", json!({})).learning;
        world.advance(200 * 86_400);
        remember(&world, "builds need a clean directory", json!({}));
        assert_eq!(words(&world, "builds")[0], "builds need a clean directory");
        world.advance(1);
        world.ok(&Verify { id: (&old.id).into(), expires: None });
        assert_eq!(words(&world, "builds")[0], "builds need the old linker");
    }

    fn many_expired_matches_do_not_hide_valid_ones(world: World) {
        let line = |at: u32| json!({"id": format!("ln-{at:08x}"), "kind": "pattern", "text": format!("word number {at}"), "impact": "high",
            "actor": "a", "created_at": "2026-02-27T14:00:00.000Z", "updated_at": "2026-02-27T14:00:00.000Z",
            "expires_at": "2026-02-27T15:00:00.000Z"});
        let lines: String = (0..450).map(|at| format!("{}\n", line(at))).collect();
        fs::write(world.store().root().join("learnings.jsonl"), lines).expect("written");
        assert_eq!(world.ok(&store::Import::default()).others["learnings"], 450);
        assert_eq!(recall(&world, json!({"q": "word", "n": 1000})).len(), 200, "as many as are ranked");
        remember(&world, "the last word", json!({"impact": "low"}));
        world.advance(3600);
        assert_eq!(words(&world, "word"), ["the last word"]);
        assert_eq!(words(&world, "word number"), ["the last word"]);
    }

    fn a_query_is_never_parsed_as_query_language(world: World) {
        remember(&world, "quote \" star * near", json!({}));
        let long = "x ".repeat(100_000);
        for hostile in ["\"", "*", "NEAR(", "-", "a OR b", "'; DROP TABLE learnings; --", "\u{0}", "\u{1b}[0m", "col:x",
            "^", "a AND", "NEAR(a b, 5)", "{", "\\", "%_", "\u{202E}", &long] {
            world.json::<Recall>("a", json!({"q": hostile})).expect(hostile);
        }
        assert_eq!(words(&world, "NEAR(star* OR \"quote"), ["quote \" star * near"]);
        for bad in [json!({}), json!({"q": "  "}), json!({"q": "x".repeat(2 << 20)}), json!({"q": "x", "max_tokens": 0}),
            json!({"q": "x", "max_tokens": u32::MAX}), json!({"tags": ["two words"]})] {
            let code = world.refused::<Recall>("a", bad);
            assert!(matches!(code, Code::InvalidInput | Code::TooLarge), "{code:?}");
        }
        for bad in [json!({"text": ""}), json!({"text": "\u{1b}"}), json!({"text": "x".repeat(1 << 20)})] {
            let code = world.refused::<Remember>("a", bad);
            assert!(matches!(code, Code::InvalidInput | Code::TooLarge), "{code:?}");
        }
        assert_eq!(world.refused::<Remember>("a", json!({"text": "x", "issue": "pn-none"})), Code::NotFound);
        assert_eq!(world.refused::<Show>("a", json!({"id": "ln-none"})), Code::NotFound);
    }

    fn secrets_in_learnings_are_redacted_unless_disabled(world: World) {
        let secret = "ghp_016C7e3bJ4a9ZkQw2XvT5mNnRrSsUuYyAa1B";
        let remembered = remember(&world, &format!("the token was {secret}"), json!({}));
        assert!(remembered.redactions == 1 && !remembered.learning.text.contains(secret), "{remembered:?}");
        let remembered = remember(&world, &format!("we keep {secret} here"), json!({"no_redact": true}));
        assert!(remembered.redactions == 0 && remembered.learning.text.contains(secret), "{remembered:?}");
    }

    fn learnings_of_other_tools_are_imported_completely_and_once(world: World) {
        let issue = world.task("the task");
        let record = |task: &str| json!({"taskId": task, "linearId": "PRJ-123", "timestamp": "2024-01-15T10:40:00.000Z",
            "learnings": {"patterns": ["Use a resolver"], "approaches": [], "decisions": ["Extended the class"], "gotchas": ["Null parents"]},
            "value": {"type": "feature", "impact": "high", "description": "why"}, "filesChanged": ["core/x.ts"], "tags": ["b", "a"]});
        let take = |records: Value| world.json::<ImportLearnings>("alice", json!({ "records": records }));
        let kept = take(json!([record(issue.id.as_str())])).expect("kept");
        let kinds: Vec<&str> = kept.iter().map(|kept| kept.learning.kind.as_str()).collect();
        assert_eq!(kinds, ["pattern", "decision", "gotcha"]);
        assert_eq!(json!(kept[0]), json!({"id": kept[0].learning.id, "kind": "pattern", "text": "Use a resolver", "tags": ["a", "b"],
            "files": ["core/x.ts"], "work": issue.id, "impact": "high", "revision": 1,
            "value": {"type": "feature", "description": "why"}, "linear_id": "PRJ-123", "actor": "alice",
            "created_at": "2024-01-15T10:40:00.000Z", "updated_at": "2024-01-15T10:40:00.000Z"}));
        let again = take(json!([record(issue.id.as_str())])).expect("kept");
        assert!(again.iter().all(|kept| kept.merged && kept.learning.revision == 1), "{again:?}");
        let other = take(json!([{"task_id": "0a1b-uuid", "learnings": {"gotchas": ["Another thing"]}}])).expect("kept");
        assert_eq!(other[0].learning.extra.get("task_id"), Some(&json!("0a1b-uuid")));
        let bad = take(json!([record("x"), {"learnings": {"gotchas": ["fine", ""]}}])).expect_err("an empty text");
        assert!(bad.message.starts_with("record 2"), "{bad}");
        assert_eq!(list(&world.engine).len(), 4, "all or none");
    }

    fn learnings_sync_with_unknown_fields_and_their_deletion(one: World) {
        let kept = remember(&one, "kept for long", json!({"tags": ["t"]})).learning;
        let gone = remember(&one, "gone before long", json!({})).learning;
        let other = one.clone_of(0x1000);
        copy_files(&one, &other);
        assert_eq!(list(&other.engine), list(&one.engine));
        assert_eq!(words(&other, "long").len(), 2);
        let file = one.store().root().join("learnings.jsonl");
        let text = fs::read_to_string(&file).expect("a file").replace("\"kind\"", "\"mood\":\"good\",\"kind\"");
        fs::write(&file, text).expect("written");
        one.ok(&store::Import::default());
        one.advance(1);
        one.ok(&Forget { id: (&gone.id).into() });
        remember(&one, "kept for long", json!({"tags": ["u"]}));
        copy_files(&one, &other);
        let there = list(&other.engine);
        assert_eq!(there, list(&one.engine));
        assert_eq!((there.len(), there[0].learning.extra.get("mood")), (1, Some(&json!("good"))));
        assert_eq!(there[0].learning.tags, ["t", "u"]);
        assert_eq!(words(&other, "long"), ["kept for long"]);
        let line: Value = serde_json::from_str(&fs::read_to_string(other.store().root().join("tombstones.jsonl")).expect("a file")).expect("a line");
        assert_eq!((&line["collection"], &line["id"]), (&json!("learnings"), &json!(gone.id)));
        assert_eq!(one.ok(&store::Export { check: true, ..store::Export::default() }).status, "ok");
        let third = other.imported_from_files();
        assert_eq!(list(&third), there);
        assert_eq!(third.call("a", &Recall { q: Some("long".into()), ..Recall::default() }).expect("hits").len(), 1);
        assert_eq!(kept.id, there[0].learning.id);
    }

    fn an_edit_of_a_deleted_learning_is_a_conflict_and_can_be_restored(one: World) {
        let remembered = remember(&one, "retry the upload twice", json!({})).learning;
        let other = one.clone_of(0x1000);
        copy_files(&one, &other);
        remember(&other, "retry the upload twice", json!({"tags": ["net"]}));
        one.advance(1);
        one.ok(&Forget { id: (&remembered.id).into() });
        copy_files(&one, &other);
        assert_eq!(list(&other.engine), []);
        let conflicts = other.ok(&conflict::List::default());
        assert_eq!((conflicts.len(), conflicts[0].field.as_str()), (1, "deleted"));
        other.advance(1);
        other.ok(&conflict::Resolve { id: conflicts[0].id.to_string(), take: Side::Other });
        assert_eq!(list(&other.engine)[0].learning.tags, ["net"]);
        copy_files(&other, &one);
        assert_eq!(list(&one.engine), list(&other.engine), "what came back is newer than its deletion");
        assert_eq!(words(&one, "upload").len(), 1);
    }

    fn a_store_with_only_learnings_is_not_considered_empty(one: World) {
        let other = one.clone_of(0x1000);
        remember(&one, "only here", json!({}));
        remember(&other, "only there", json!({}));
        copy_files(&one, &other);
        assert_eq!(list(&other.engine).len(), 2);
    }

    fn a_briefing_has_my_work_the_queue_and_related_learnings(world: World) {
        let empty = brief(&world, "alice", 2000, Format::Markdown);
        assert_eq!(empty.markdown(), "");
        let (mine, lease) = (world.task("resolver for parents"), world.task("leased"));
        world.task("next\u{202E} one");
        world.json::<issue::Update>("alice", json!({"id": mine.id, "claim": true})).expect("claimed");
        world.json::<issue::Update>("bob", json!({"id": lease.id, "claim": true, "ttl": "30m"})).expect("claimed");
        let known = remember(&world, "parents may be null", json!({"kind": "gotcha"})).learning;
        let linked = remember(&world, "seen on the way", json!({"issue": mine.id})).learning;
        remember(&world, "something else entirely", json!({}));
        let remembered = brief(&world, "alice", 2000, Format::Markdown);
        let sections: Vec<(&str, usize)> = remembered.sections.iter().map(|section| (section.name.as_str(), section.lines.len())).collect();
        assert_eq!(sections, [("claims", 1), ("expiring", 1), ("queue", 1), ("learnings", 2)]);
        let ids: Vec<&str> = remembered.sections[3].lines.iter().filter_map(|line| line.id.as_deref()).collect();
        assert_eq!(ids, [known.id.as_str(), linked.id.as_str()]);
        assert!(remembered.markdown().contains("held by bob: leased\n") && !remembered.markdown().contains('\u{202E}'));
        assert_eq!(brief(&world, "nobody", 2000, Format::Markdown).sections.last().expect("some").lines.len(), 3);
        for budget in [50, 60, 80, 120, 300] {
            for format in [Format::Markdown, Format::Json] {
                let small = brief(&world, "alice", budget, format);
                assert!(small.tokens(format).expect("a number") <= u64::from(budget));
                assert_eq!(brief(&world, "alice", budget, format), small);
            }
        }
        assert_eq!(world.refused::<Brief>("a", json!({"max_tokens": 3})), Code::InvalidInput);
        assert_eq!(world.refused::<Brief>("a", json!({"who": "\u{1b}"})), Code::InvalidInput);
    }
}

#[test]
fn recall_gives_the_same_order_whatever_the_database() {
    let worlds = [World::sqlite(), World::postgres()];
    let said = worlds.each_ref().map(|world| {
        let parts = ["cache", "parser", "lease", "Ünïcode", "socket"];
        for at in 0..60_usize {
            let text = format!("{} of the {} is {at}", parts[at % 5], parts[(at / 5) % 5]);
            let impact = ["high", "medium", "low"][at % 3];
            remember(
                world,
                &text,
                json!({"impact": impact, "tags": [parts[at % 4]], "files": [format!("src/{}.rs", at % 7)]}),
            );
            world.advance(86_400 * i64::try_from(at % 11).expect("small"));
        }
        let questions = [
            json!({"q": "cache parser"}),
            json!({"q": "ÜNÏCODE", "n": 50}),
            json!({"q": "lease", "tags": ["parser"]}),
            json!({"q": "socket", "files": ["3.rs"], "explain": true}),
            json!({"q": "of the cache 17", "max_tokens": 300}),
        ];
        questions.map(|question| json!(world.json::<Recall>("a", question).expect("hits")))
    });
    assert!(said[0].iter().all(|hits| hits.as_array().is_some_and(|hits| hits.len() > 1)), "{:?}", said[0]);
    assert_eq!(said[0], said[1]);
}

#[test]
fn learnings_are_rebuilt_and_a_changed_row_is_detected() {
    let world = World::sqlite();
    let first = remember(&world, "the first of all", json!({"tags": ["t"], "expires": "90d"})).learning;
    let second = remember(&world, "the second of all", json!({"supersedes": first.id})).learning;
    remember(&world, "the second of all", json!({"files": ["f"]}));
    let gone = remember(&world, "gone again", json!({})).learning;
    world.ok(&Forget { id: (&gone.id).into() });
    let before = list(&world.engine);
    let store = world.store();
    for ending in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{ending}", store.database().display()));
    }
    let engine = Engine::open(store).expect("rebuilt");
    assert_eq!(list(&engine), before);
    let recall = Recall { q: Some("all".into()), ..Recall::default() };
    let found = engine.call("a", &recall).expect("hits");
    assert_eq!(found.iter().map(|hit| hit.id.to_string()).collect::<Vec<_>>(), [second.id.to_string()]);
    let deep = Doctor { fix: false, deep: true };
    let worse = |engine: &Engine| {
        let findings = engine.call("a", &deep).expect("a report").findings;
        findings
            .into_iter()
            .filter(|finding| finding.severity == Severity::Error)
            .map(|finding| finding.message)
            .collect::<String>()
    };
    assert_eq!(worse(&engine), "");
    let raw = rusqlite::Connection::open(world.store().database()).expect("opens");
    raw.execute("UPDATE learnings SET text = 'other' WHERE id = ?1", [first.id.as_str()]).expect("changed");
    raw.execute("DELETE FROM learning_keys WHERE learning_id = ?1", [second.id.as_str()]).expect("deleted");
    let remembered = worse(&engine);
    assert!(remembered.contains("learnings ln-") && remembered.contains("learning_keys "), "{remembered}");
    raw.execute("UPDATE learnings SET kind = 'rumour'", []).expect_err("no kind");
    raw.execute("UPDATE learnings SET tags = '{'", []).expect_err("no JSON");
}
