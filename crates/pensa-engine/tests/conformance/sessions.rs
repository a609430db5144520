//! Sessions and their entries: round trip, order and isolation.

use std::sync::Barrier;
use std::thread;

use pensa_core::agent::Agent;
use pensa_core::id::SessionId;
use pensa_core::ops::agent;
use pensa_core::ops::session::{
    Append, Appended, Archive, Compact, Context, Delete, History, List, Prune, Reset, Search, Show,
};
use pensa_core::session::{Entry, Message, OpenedBy};
use pensa_core::{Access, Code, Op, Span, json};
use pensa_engine::{Caller, Engine, entry};
use serde_json::{Value, json};

use crate::agents::{create, show};
use crate::closed_store::ClosedStore;
use crate::conformance;
use crate::world::World;

fn run<O: pensa_engine::Execute>(engine: &Engine, fields: Value) -> pensa_core::Result<O::Output> {
    engine.call("alice", &serde_json::from_value::<O>(fields).expect("an operation"))
}

fn append(engine: &Engine, agent: &Agent, entries: Value) -> Appended {
    run::<Append>(engine, json!({"id": agent.id, "entries": entries})).expect("appended")
}

fn say(engine: &Engine, agent: &Agent, text: &str) -> Appended {
    append(engine, agent, json!([{"type": "user_message", "text": text}]))
}

fn history(engine: &Engine, fields: Value) -> Vec<Entry> {
    run::<History>(engine, fields).expect("a history")
}

/// A history as a server writes it.
fn written(engine: &Engine, agent: &Agent) -> String {
    let entry = entry(History::NAME).expect("in the catalog");
    let input = json!({"id": agent.id});
    engine.run(Access::Read, &Caller::local("alice"), |cx, tx| (entry.run)(cx, tx, &input)).expect("a history")
}

fn texts(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|entry| entry.data["text"].as_str().unwrap_or_default().to_owned()).collect()
}

fn context(engine: &Engine, agent: &Agent) -> Vec<Message> {
    run::<Context>(engine, json!({"id": agent.id})).expect("a context")
}

fn contents(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.content.as_str()).collect()
}

fn found(engine: &Engine, fields: Value) -> Vec<i64> {
    run::<Search>(engine, fields).expect("found").into_iter().map(|found| found.id).collect()
}

conformance! {
    fn every_field_of_an_entry_round_trips(world: World) {
        let agent = create(&world, json!({}));
        let data = json!({"text": "hé\u{202e}\u{0}\"\\\n", "n": 0.1, "big": 18_446_744_073_709_551_615u64,
            "nested": {"z": [], "a": {}}, "null": null});
        let answer = append(&world.engine, &agent, json!([
            {"type": "user_message", "at": "2026-01-02T03:04:05.678Z", "data": data},
            {"type": "rlm_tool_call", "text": "flat", "at": 1_700_000_000_000i64},
            {"type": "note"},
        ]));
        let session = agent.active_session_id.clone().expect("a session");
        assert_eq!(json!(answer), json!({"session_id": session, "first": 1, "last": 3, "count": 3, "redactions": 0}));
        let entries = history(&world.engine.new_handle().expect("another handle"), json!({"id": agent.id}));
        assert_eq!(json!(entries), json!([
            {"id": 1, "session_id": session, "type": "user_message", "at": "2026-01-02T03:04:05.678Z", "v": 1, "data": data},
            {"id": 2, "session_id": session, "type": "rlm_tool_call", "at": "2023-11-14T22:13:20.000Z", "v": 1, "data": {"text": "flat"}},
            {"id": 3, "session_id": session, "type": "note", "at": "2026-02-27T14:30:00.000Z", "v": 1, "data": {}},
        ]));
        assert_eq!(written(&world.engine, &agent), json::to_line(&entries).expect("a line"));
    }

    fn a_reset_opens_a_session_with_empty_context(world: World) {
        let agent = create(&world, json!({}));
        let first = agent.active_session_id.clone().expect("a session");
        say(&world.engine, &agent, "before");
        let next = run::<Reset>(&world.engine, json!({"id": agent.id, "message": "afresh", "inference_session_id": "i2"}));
        let next = next.expect("reset");
        assert_eq!((next.opened_by, next.reset_message.as_deref()), (OpenedBy::Reset, Some("afresh")));
        assert_eq!((next.inference_session_id.as_deref(), next.ended_at), (Some("i2"), None));
        assert_eq!(show(&world.engine, agent.id.as_str()).active_session_id.as_ref(), Some(&next.id));
        say(&world.engine, &agent, "after");
        assert_eq!(contents(&context(&world.engine, &agent)), ["afresh", "after"]);
        assert_eq!(texts(&history(&world.engine, json!({"id": agent.id}))), ["after"]);
        assert_eq!(texts(&history(&world.engine, json!({"id": first}))), ["before"]);
        for whole in [json!({"id": agent.id, "all": true}), json!({"id": first, "all": true})] {
            assert_eq!(texts(&history(&world.engine, whole)), ["before", "after"]);
        }
        let listed = run::<List>(&world.engine, json!({"agent": agent.id})).expect("a list");
        assert_eq!(listed.iter().map(|listed| listed.session.opened_by).collect::<Vec<_>>(), [OpenedBy::Start, OpenedBy::Reset]);
        assert!(listed[0].session.ended_at.is_some() && listed[1].session.ended_at.is_none());
    }

    fn a_compaction_keeps_summary_issue_and_run_after_a_restart(world: World) {
        let issue = world.task("the work");
        let agent = create(&world, json!({"issue_id": issue.id, "run_id": "run-7", "inference_session_id": "i1"}));
        say(&world.engine, &agent, "a long story");
        let next = run::<Compact>(&world.engine, json!({"id": agent.id, "summary": "in short\n\tthis"})).expect("compacted");
        assert_eq!((next.opened_by, next.issue_id.as_ref()), (OpenedBy::Compaction, Some(&issue.id)));
        assert_eq!((next.run_id.map(|id| id.to_string()), next.inference_session_id), (Some("run-7".into()), None));
        say(&world.engine, &agent, "and then");
        let reopened = world.engine.new_handle().expect("reopened");
        assert_eq!(contents(&context(&reopened, &agent)), ["in short\n\tthis", "and then"]);
        let little = run::<Context>(&reopened, json!({"id": agent.id, "max_tokens": 1})).expect("a context");
        assert_eq!(contents(&little), ["in short\n\tthis"]);
        for empty in ["", " \n"] {
            assert_eq!(world.refused::<Compact>("a", json!({"id": agent.id, "summary": empty})), Code::InvalidInput);
        }
        assert_eq!(world.refused::<Reset>("a", json!({"id": agent.id, "message": "\u{1b}"})), Code::InvalidInput);
    }

    fn sessions_opened_at_the_same_time_stay_in_order(world: World) {
        let agent = create(&world, json!({}));
        for n in 0..12 {
            say(&world.engine, &agent, &n.to_string());
            run::<Reset>(&world.engine, json!({"id": agent.id, "message": n.to_string()})).expect("reset");
        }
        let all = texts(&history(&world.engine, json!({"id": agent.id, "all": true})));
        assert_eq!(all, (0..12).map(|n| n.to_string()).collect::<Vec<_>>());
        let listed = run::<List>(&world.engine, json!({"agent": agent.id})).expect("a list");
        let messages: Vec<_> = listed.iter().skip(1).map(|listed| listed.session.reset_message.clone().unwrap_or_default()).collect();
        assert_eq!(messages, all);
        let everyones = run::<List>(&world.engine, json!({})).expect("a list");
        assert_eq!(everyones, listed);
        assert_eq!(run::<List>(&world.engine, json!({"limit": 2})).expect("a list"), listed[..2]);
    }

    fn a_session_summary_has_entries_duration_and_tokens_by_model(world: World) {
        let agent = create(&world, json!({}));
        let first = agent.active_session_id.clone().expect("a session");
        let of = |id: &SessionId| run::<Show>(&world.engine, json!({"id": id})).expect("shown");
        let empty = of(&first);
        assert_eq!((empty.entries, empty.duration_ms, empty.tokens.len(), empty.cost_usd), (0, 0, 0, None));
        let spent = |model: &str, input: i64| json!({"type": "assistant_message", "at": agent.created_at.plus(Span::from_millis(500)),
            "tokens": {"model": model, "size": {"input": input, "output": 1, "total": input + 1}}});
        append(&world.engine, &agent, json!([{"type": "note"}, spent("a", 10), spent("b", 5), spent("a", 1)]));
        let answer = of(&first);
        assert_eq!((answer.entries, answer.duration_ms), (4, 500), "to its last entry while it is active");
        let tokens: Vec<(&str, i64, i64)> = answer.tokens.iter().map(|(model, of)| (model.as_str(), of.tokens.input, of.tokens.total)).collect();
        assert_eq!(tokens, [("a", 11, 13), ("b", 5, 6)]);
        world.advance(90);
        run::<Reset>(&world.engine, json!({"id": agent.id})).expect("reset");
        let listed = run::<List>(&world.engine, json!({})).expect("a list");
        assert_eq!(listed.iter().map(|one| (one.entries, one.duration_ms)).collect::<Vec<_>>(), [(4, 90_000), (0, 0)]);
        assert_eq!(listed[0], of(&first));
    }

    fn only_ended_sessions_are_archived_deleted_and_pruned(world: World) {
        let agent = create(&world, json!({}));
        for n in 0..3 {
            say(&world.engine, &agent, &n.to_string());
            run::<Reset>(&world.engine, json!({"id": agent.id})).expect("reset");
            world.advance(86_400);
        }
        say(&world.engine, &agent, "now");
        let ids = |fields: Value| -> Vec<SessionId> {
            run::<List>(&world.engine, fields).expect("a list").into_iter().map(|one| one.session.id).collect()
        };
        let all = ids(json!({}));
        let active = json!({"id": all[3]});
        assert_eq!(world.refused::<Archive>("a", active.clone()), Code::Conflict);
        assert_eq!(world.refused::<Delete>("a", active), Code::Conflict);
        let archived = run::<Archive>(&world.engine, json!({"id": all[1]})).expect("archived");
        assert_eq!(run::<Archive>(&world.engine, json!({"id": all[1]})).expect("again"), archived);
        assert_eq!((ids(json!({})), ids(json!({"all": true}))), (vec![all[0].clone(), all[2].clone(), all[3].clone()], all.clone()));
        assert_eq!(texts(&history(&world.engine, json!({"id": agent.id, "all": true}))), ["0", "1", "2", "now"]);
        let gone = run::<Prune>(&world.engine, json!({"older_than": "2d"})).expect("pruned");
        assert_eq!((gone.ids, gone.entries), (vec![all[0].clone()], 1));
        let gone = run::<Delete>(&world.engine, json!({"id": all[1]})).expect("deleted");
        assert_eq!((gone.ids, gone.entries), (vec![all[1].clone()], 1));
        assert_eq!(world.refused::<Show>("a", json!({"id": all[0]})), Code::NotFound);
        world.advance(10 * 86_400);
        let gone = run::<Prune>(&world.engine, json!({"older_than": "1s"})).expect("pruned");
        assert_eq!(gone.ids, [all[2].clone()]);
        assert_eq!((ids(json!({"all": true})), texts(&history(&world.engine, json!({"id": agent.id, "all": true})))),
            (vec![all[3].clone()], vec!["now".to_owned()]));
        run::<Reset>(&world.engine, json!({"id": agent.id})).expect("the next session");
    }

    fn a_history_is_read_in_pages(world: World) {
        let (agent, other) = (create(&world, json!({})), create(&world, json!({})));
        let many: Vec<Value> = (0..700).map(|n| json!({"type": "note", "text": n.to_string()})).collect();
        append(&world.engine, &agent, json!(many[..300]));
        append(&world.engine, &other, json!(many[..10]));
        append(&world.engine, &agent, json!(many[300..]));
        let expected: Vec<String> = (0..700).map(|n| n.to_string()).collect();
        assert_eq!(texts(&history(&world.engine, json!({"id": agent.id}))), expected);
        let part = history(&world.engine, json!({"id": agent.id, "after": 299, "limit": 3}));
        assert_eq!(part.iter().map(|entry| entry.id).collect::<Vec<_>>(), [300, 311, 312]);
        assert_eq!(texts(&part), ["299", "300", "301"]);
        assert!(history(&world.engine, json!({"id": agent.id, "limit": 0})).is_empty());
        assert!(history(&world.engine, json!({"id": agent.id, "after": i64::MAX})).is_empty());
        assert_eq!(history(&world.engine, json!({"id": agent.id, "after": -5, "limit": 1})).len(), 1);
        let large: Vec<Value> = (0..5).map(|_| json!({"type": "note", "text": "x".repeat(3 << 20)})).collect();
        append(&world.engine, &agent, json!(large));
        let page = history(&world.engine, json!({"id": agent.id, "after": 710}));
        assert_eq!(page.len(), 3, "as much as an answer should hold, and never nothing");
        assert_eq!(history(&world.engine, json!({"id": agent.id, "after": page[2].id})).len(), 2);
    }

    fn an_invalid_entry_is_named_and_its_append_writes_nothing(world: World) {
        let agent = create(&world, json!({}));
        let good = json!({"type": "note", "data": {}});
        let deep = (0..150).fold(json!({}), |inner, _| json!({"a": inner}));
        let huge = json!({"type": "note", "data": {"a": "x".repeat(16 << 20)}});
        for (bad, code, answer) in [
            (json!({"type": "note", "data": deep}), Code::InvalidInput, "entry 2: entry is nested"),
            (huge, Code::TooLarge, "entry 2: entry has 16777224 bytes; the limit is 16777216"),
        ] {
            let error = run::<Append>(&world.engine, json!({"id": agent.id, "entries": [good, bad]})).expect_err(answer);
            assert_eq!(error.code, code);
            assert!(error.message.starts_with(answer), "{error}");
        }
        assert_eq!(world.refused::<Append>("a", json!({"id": agent.id, "entries": []})), Code::InvalidInput);
        assert_eq!(world.refused::<Append>("a", json!({"id": "nobody", "entries": [good]})), Code::NotFound);
        assert!(history(&world.engine, json!({"id": agent.id})).is_empty());
        assert_eq!(append(&world.engine, &agent, json!([good])).first, 1, "no number was used up");
    }

    fn a_sleeping_agent_still_gets_entries(world: World) {
        let agent = create(&world, json!({"name": "x"}));
        world.json::<agent::Sleep>("a", json!({"id": "x"})).expect("slept");
        say(&world.engine, &agent, "for when it wakes");
        assert_eq!(contents(&context(&world.engine, &agent)), ["for when it wakes"]);
    }

    fn a_search_matches_only_texts_newest_first(world: World) {
        let (one, two) = (create(&world, json!({"name": "one"})), create(&world, json!({"name": "two"})));
        append(&world.engine, &one, json!([
            {"type": "user_message", "text": "The \"Needle\" is\nhere"},
            {"type": "note", "needle": "as a name only", "n": 5},
            {"type": "assistant_message", "content": [{"type": "text", "text": "STRASSE \u{202e} Ärger"}]},
        ]));
        append(&world.engine, &two, json!([{"type": "note", "data": {"a": [{"b": "another nEEDLE"}]}}]));
        for (query, ids) in [
            ("needle", vec![4, 1]),
            ("\"NEEDLE\" is\nhere", vec![1]),
            ("straße", vec![3]),
            ("ÄRGER", vec![3]),
            ("\u{202e}", vec![3]),
            ("\"", vec![1]),
            ("100%_", vec![]),
            ("type", vec![]),
            ("5", vec![]),
        ] {
            assert_eq!(found(&world.engine, json!({"q": query})), ids, "{query:?}");
        }
        assert_eq!(found(&world.engine, json!({"q": "needle", "agent": "one"})), [1]);
        assert_eq!(found(&world.engine, json!({"q": "needle", "limit": 1})), [4]);
        assert_eq!(world.refused::<Search>("a", json!({"q": ""})), Code::InvalidInput);
        let hit = run::<Search>(&world.engine, json!({"q": "another"})).expect("found").remove(0);
        let session = two.active_session_id.clone().expect("a session");
        assert_eq!(json!(hit), json!({"id": 4, "session_id": session, "agent_id": two.id, "type": "note",
            "at": "2026-02-27T14:30:00.000Z", "excerpt": "another nEEDLE"}));
        let many: Vec<Value> = (0..600).map(|n| json!({"type": "note", "text": format!("é{}", n % 2)})).collect();
        append(&world.engine, &one, json!(many));
        assert_eq!(found(&world.engine, json!({"q": "É1", "limit": 1000})).len(), 300);
        assert_eq!(found(&world.engine, json!({"q": "needle"})), [4, 1], "behind many that had to be looked at");
    }

    fn thirty_two_writers_lose_nothing_and_keep_their_order(world: World) {
        const WRITERS: usize = 32;
        const APPENDS: usize = 6;
        let agents: Vec<Agent> = (0..8).map(|_| create(&world, json!({}))).collect();
        let start = Barrier::new(WRITERS);
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (engine, agent, start) = (world.engine.new_handle().expect("a handle"), &agents[writer % 8], &start);
                scope.spawn(move || {
                    start.wait();
                    for n in 0..APPENDS {
                        let entry = |part| json!({"type": "note", "writer": writer, "n": n, "part": part});
                        append(&engine, agent, json!([entry(0), entry(1)]));
                    }
                });
            }
        });
        let mut numbers = Vec::new();
        for (at, agent) in agents.iter().enumerate() {
            let entries = history(&world.engine, json!({"id": agent.id}));
            numbers.extend(entries.iter().map(|entry| entry.id));
            for writer in (0..WRITERS).filter(|writer| writer % 8 == at) {
                let own = entries.iter().filter(|entry| entry.data["writer"] == writer);
                let order: Vec<(Value, Value)> = own.map(|e| (e.data["n"].clone(), e.data["part"].clone())).collect();
                let expected: Vec<(Value, Value)> = (0..APPENDS).flat_map(|n| [(json!(n), json!(0)), (json!(n), json!(1))]).collect();
                assert_eq!(order, expected, "writer {writer}");
            }
        }
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=i64::try_from(2 * WRITERS * APPENDS).expect("few")).collect::<Vec<_>>());
    }
}

#[test]
fn foreign_data_in_the_database_is_shown_as_one_escaped_line() {
    let on_disk = ClosedStore::new();
    let engine = on_disk.open();
    let agent: Agent = engine
        .call("alice", &serde_json::from_value::<agent::Create>(json!({"type": "user"})).expect("an operation"))
        .expect("created");
    say(&engine, &agent, "as it was");
    let database = rusqlite::Connection::open(on_disk.path("db.sqlite")).expect("opens");
    let data = "{\n \"text\": \"\u{202e}\u{9b}31m\"\n}";
    database.execute("UPDATE session_history SET data = ?1", [data]).expect("changed");
    let (entries, line) = (history(&engine, json!({"id": agent.id})), written(&engine, &agent));
    assert_eq!(texts(&entries), ["\u{202e}\u{9b}31m"]);
    assert_eq!(line, json::to_line(&entries).expect("a line"));
    assert!(json::is_line(&line), "{line:?}");
}
