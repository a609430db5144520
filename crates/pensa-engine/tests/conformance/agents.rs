//! Agents: their fields, how they are found, and their lifecycle.

use pensa_core::Code;
use pensa_core::agent::{Agent, Lifecycle};
use pensa_core::ops::gc::Gc;
use pensa_core::ops::undo::{Redo, Undo};
use pensa_core::ops::{agent, issue, session};
use pensa_engine::{Engine, log_after};
use serde_json::{Value, json};

use crate::conformance;
use crate::world::World;

pub(crate) fn create(world: &World, fields: Value) -> Agent {
    let mut whole = json!({"type": "user"});
    whole.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
    world.json::<agent::Create>("alice", whole).expect("created")
}

pub(crate) fn show(engine: &Engine, id: &str) -> Agent {
    engine.call("a", &agent::Show { id: id.parse().expect("a reference") }).expect("shown")
}

/// The store's log as (subject kind, event type), oldest first.
fn log(world: &World) -> Vec<(String, String)> {
    let read = |_: &pensa_engine::Context<'_>, tx: &pensa_engine::Tx<'_>| log_after(tx, 0, 1000);
    let caller = pensa_engine::Caller::local("a");
    let lines = world.engine.run(pensa_core::Access::Read, &caller, read).expect("the log");
    lines.into_iter().map(|line| (line.subject_kind, line.event_type)).collect()
}

fn listed(world: &World, fields: Value) -> Vec<String> {
    let agents = world.json::<agent::List>("a", fields).expect("a list");
    agents.into_iter().map(|agent| agent.name.unwrap_or_default()).collect()
}

conformance! {
    fn every_field_of_an_agent_and_its_session_round_trips(world: World) {
        let issue = world.task("what it is about");
        let parent = create(&world, json!({"type": "system", "name": "boss"}));
        world.advance(1);
        let descriptor = json!({"type": "subagent", "deep": {"list": [1, -2.5, 0.1, 1e-7, true, null, "é\u{202e}\u{0}\n\"\\"]}});
        let made = create(&world, json!({"type": "subagent", "name": " worker ", "parent": "boss",
            "descriptor": descriptor, "permissions": {"network": false}, "inference_session_id": "inf-1",
            "issue_id": issue.id, "run_id": "run-1"}));
        world.advance(1);
        let updated = world.json::<agent::Update>("alice", json!({"id": made.id, "tokens": {"size": {"total": 7}},
            "stats": {"anthropic": {"opus": {"cost": 0.30000000000000004}}}})).expect("updated");
        let shown = show(&world.engine.new_handle().expect("another handle"), made.id.as_str());
        assert_eq!(shown, updated);
        let actual = json!(shown);
        let session = made.active_session_id.as_ref().expect("a session");
        let expected = json!({"id": made.id, "type": "subagent", "name": "worker", "parent_id": parent.id,
            "descriptor": descriptor, "active_session_id": session, "permissions": {"network": false},
            "tokens": {"size": {"total": 7}}, "stats": {"anthropic": {"opus": {"cost": 0.30000000000000004}}},
            "lifecycle": "active", "created_at": "2026-02-27T14:30:01.000Z", "updated_at": "2026-02-27T14:30:02.000Z"});
        assert_eq!(actual, expected);
        let opened = world.json::<session::Show>("a", json!({"id": session})).expect("shown");
        assert_eq!(json!(opened), json!({"id": session, "agent_id": made.id, "opened_by": "start",
            "inference_session_id": "inf-1", "issue_id": issue.id, "run_id": "run-1",
            "created_at": "2026-02-27T14:30:01.000Z", "entries": 0, "duration_ms": 0, "tokens": {}}));
        let cleared = world.json::<agent::Update>("alice", json!({"id": made.id, "tokens": null, "name": ""}));
        let cleared = cleared.expect("updated");
        assert_eq!((cleared.tokens, cleared.name), (None, None));
    }

    fn agents_are_found_by_id_prefix_or_name(world: World) {
        let (one, two) = (create(&world, json!({"name": "one"})), create(&world, json!({"name": "twin"})));
        let three = create(&world, json!({"name": "twin"}));
        let shown = |wanted: &str| world.json::<agent::Show>("a", json!({"id": wanted})).map(|agent| agent.id);
        let digits = |agent: &Agent| agent.id.as_str().trim_start_matches("ag-").to_owned();
        for wanted in [one.id.as_str(), &digits(&one), "one", &format!("ag-{}", digits(&one))] {
            assert_eq!(shown(wanted).expect(wanted), one.id);
        }
        for (wanted, code) in [
            ("twin", Code::AmbiguousId),
            ("ag-0", Code::AmbiguousId),
            ("0000", Code::AmbiguousId),
            ("nobody", Code::NotFound),
            ("One", Code::NotFound),
            ("é", Code::NotFound),
            ("%", Code::NotFound),
            ("", Code::InvalidInput),
            ("a b", Code::InvalidInput),
        ] {
            let error = shown(wanted).expect_err(wanted);
            assert_eq!(error.code, code, "{wanted}: {error}");
        }
        let error = shown("twin").expect_err("two of them");
        assert!(error.message.contains(two.id.as_str()) && error.message.contains(three.id.as_str()), "{error}");
        assert_eq!(world.refused::<session::Show>("a", json!({"id": "se-"})), Code::AmbiguousId);
        assert_eq!(world.refused::<session::Show>("a", json!({"id": one.id})), Code::NotFound);
    }

    fn listings_are_filtered_and_oldest_first(world: World) {
        for (name, kind) in [("a", "user"), ("b", "cron"), ("c", "user")] {
            create(&world, json!({"name": name, "type": kind}));
            world.advance(1);
        }
        world.json::<agent::Sleep>("a", json!({"id": "c"})).expect("slept");
        assert_eq!(listed(&world, json!({})), ["a", "b", "c"]);
        assert_eq!(listed(&world, json!({"type": "user"})), ["a", "c"]);
        assert_eq!(listed(&world, json!({"lifecycle": "active"})), ["a", "b"]);
        assert_eq!(listed(&world, json!({"type": "user", "lifecycle": "sleeping"})), ["c"]);
        assert_eq!(listed(&world, json!({"limit": 1})), ["a"]);
        assert!(listed(&world, json!({"type": "swarm"})).is_empty());
    }

    fn lifecycle_changes_are_logged_and_death_is_final(world: World) {
        let agent = create(&world, json!({"name": "x"}));
        let id = json!({"id": agent.id});
        let step = |lifecycle: Lifecycle, agent: pensa_core::Result<Agent>| {
            assert_eq!(agent.expect("a step").lifecycle, lifecycle);
        };
        step(Lifecycle::Sleeping, world.json::<agent::Sleep>("a", id.clone()));
        step(Lifecycle::Sleeping, world.json::<agent::Sleep>("a", id.clone()));
        step(Lifecycle::Active, world.json::<agent::Wake>("a", id.clone()));
        step(Lifecycle::Dead, world.json::<agent::Kill>("a", id.clone()));
        step(Lifecycle::Dead, world.json::<agent::Kill>("a", id.clone()));
        assert_eq!(world.refused::<agent::Wake>("a", id.clone()), Code::InvalidStatusTransition);
        assert_eq!(world.refused::<agent::Sleep>("a", id.clone()), Code::InvalidStatusTransition);
        for refused in [
            world.refused::<session::Append>("a", json!({"id": agent.id, "entries": [{"type": "note"}]})),
            world.refused::<session::Reset>("a", id.clone()),
            world.refused::<session::Compact>("a", json!({"id": agent.id, "summary": "s"})),
        ] {
            assert_eq!(refused, Code::InvalidStatusTransition);
        }
        world.json::<session::Context>("a", id).expect("the dead can be read");
        let types: Vec<String> = log(&world).into_iter().map(|(kind, event)| format!("{kind} {event}")).collect();
        assert_eq!(types, ["agent created", "session opened", "agent slept", "agent woken", "agent killed"]);
    }

    fn deleting_an_agent_deletes_its_data_and_nothing_else(world: World) {
        let (gone, kept) = (create(&world, json!({"name": "gone"})), create(&world, json!({"name": "kept"})));
        let child = create(&world, json!({"name": "child", "parent": "gone"}));
        for agent in [&gone, &kept, &gone] {
            let append = json!({"id": agent.id, "entries": [{"type": "note", "text": "said"}]});
            world.json::<session::Append>("a", append).expect("appended");
        }
        world.json::<session::Reset>("a", json!({"id": gone.id})).expect("reset");
        let error = world.json::<agent::Delete>("a", json!({"id": "gone"})).expect_err("not without force");
        assert_eq!(error.code, Code::Conflict);
        assert!(error.message.contains("2 sessions with 2 entries"), "{error}");
        let deleted = world.json::<agent::Delete>("a", json!({"id": "gone", "force": true})).expect("deleted");
        assert_eq!(json!(deleted), json!({"status": "deleted", "id": gone.id, "sessions": 2, "entries": 2}));
        assert_eq!(world.refused::<agent::Show>("a", json!({"id": "gone"})), Code::NotFound);
        let session = gone.active_session_id.expect("a session");
        assert_eq!(world.refused::<session::Show>("a", json!({"id": session})), Code::NotFound);
        assert_eq!(show(&world.engine, child.id.as_str()).parent_id, None);
        let left = world.json::<session::Search>("a", json!({"q": "SAID"})).expect("found");
        assert_eq!(left.iter().map(|found| &found.agent_id).collect::<Vec<_>>(), [&kept.id]);
    }

    fn a_deleted_agent_is_restored_with_its_sessions_until_it_is_purged(world: World) {
        let agent = create(&world, json!({"name": "ana"}));
        let child = create(&world, json!({"name": "child", "parent": "ana"}));
        let append = json!({"id": agent.id, "entries": [{"type": "note", "text": "said"}]});
        world.json::<session::Append>("a", append).expect("appended");
        world.json::<session::Reset>("a", json!({"id": agent.id})).expect("reset");
        let before = show(&world.engine, "ana");
        let said = || world.json::<session::Search>("a", json!({"q": "said"})).expect("found").len();
        let delete = |more: Value| {
            let mut fields = json!({"id": "ana", "force": true});
            fields.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            world.json::<agent::Delete>("mia", fields).expect("deleted")
        };
        let is_gone = || {
            assert_eq!(world.refused::<agent::Show>("a", json!({"id": "ana"})), Code::NotFound);
            assert_eq!(listed(&world, json!({})), ["child"]);
            assert_eq!(world.json::<session::List>("a", json!({})).expect("a list").len(), 1, "that of the child");
            assert_eq!(said(), 0);
        };
        delete(json!({}));
        is_gone();
        world.json::<Undo>("mia", json!({})).expect("undone");
        let after = show(&world.engine, "ana");
        assert_eq!((&after.active_session_id, &after.name), (&before.active_session_id, &before.name));
        assert_eq!(world.json::<session::List>("a", json!({"agent": "ana"})).expect("a list").len(), 2);
        assert_eq!((said(), show(&world.engine, "child").parent_id), (1, Some(agent.id.clone())));
        world.json::<Redo>("mia", json!({})).expect("redone");
        is_gone();
        let another = create(&world, json!({"name": "ana"}));
        world.json::<agent::Delete>("a", json!({"id": another.id, "force": true, "purge": true})).expect("for good");
        let error = world.json::<Undo>("a", json!({})).expect_err("for good");
        assert!(error.message.contains("cannot take back"), "{error}");
        world.advance(8 * 86_400);
        let collect = |dry_run: bool| world.json::<Gc>("a", json!({"dry_run": dry_run})).expect("collected").removed;
        assert_eq!((collect(true).deleted_agents, collect(false).deleted_agents), (1, 1));
        assert_eq!(collect(false).deleted_agents, 0, "once");
        world.json::<Undo>("mia", json!({})).expect_err("it is gone for good");
        assert_eq!(show(&world.engine, "child").id, child.id);
    }

    fn descriptions_of_an_agent_are_undone_despite_changed_statistics(world: World) {
        let agent = create(&world, json!({"name": "ana"}));
        world.json::<agent::Update>("mia", json!({"id": agent.id, "name": "bob"})).expect("updated");
        world.json::<agent::Sleep>("mia", json!({"id": agent.id})).expect("asleep");
        world.json::<agent::Update>("x", json!({"id": agent.id, "stats": {"calls": 3}})).expect("counted");
        let state = || {
            let Agent { name, lifecycle, stats, .. } = show(&world.engine, agent.id.as_str());
            (name.unwrap_or_default(), lifecycle, stats.len())
        };
        world.json::<Undo>("mia", json!({})).expect("awake");
        assert_eq!(state(), ("bob".into(), Lifecycle::Active, 1));
        world.json::<Undo>("mia", json!({})).expect("the name");
        assert_eq!(state(), ("ana".into(), Lifecycle::Active, 1));
    }

    fn an_invalid_agent_is_refused_and_nothing_is_written(world: World) {
        let deep = (0..200).fold(json!({}), |inner, _| json!({"a": inner}));
        for bad in [
            json!({"type": "user", "parent": "nobody"}),
            json!({"type": "user", "name": "a\nb"}),
            json!({"type": "user", "descriptor": deep}),
            json!({"type": "user", "descriptor": {"a": "x".repeat(1 << 20)}}),
            json!({"type": "user", "issue_id": "pn-nope"}),
        ] {
            world.refused::<agent::Create>("a", bad);
        }
        let wrong = |fields: Value| serde_json::from_value::<agent::Create>(fields).is_err();
        assert!(wrong(json!({"type": "swarm"})) && wrong(json!({"type": "user", "descriptor": []})));
        assert!(wrong(json!({"type": "user", "colour": "red"})) && wrong(json!({})));
        assert!(listed(&world, json!({})).is_empty() && log(&world).is_empty());
        let agent = create(&world, json!({"name": "x"}));
        assert_eq!(world.refused::<agent::Update>("a", json!({"id": agent.id})), Code::InvalidInput);
        assert_eq!(world.refused::<agent::Update>("a", json!({"id": agent.id, "stats": deep})), Code::InvalidInput);
        assert_eq!(show(&world.engine, "x"), agent);
    }

    fn undo_skips_appends_and_reports_what_cannot_be_undone(world: World) {
        let agent = create(&world, json!({}));
        let error = world.json::<Undo>("alice", json!({})).expect_err("it has sessions");
        assert_eq!(error.code, Code::Conflict);
        assert!(error.message.contains("cannot take back"), "{error}");
        let task = world.task("a mistake");
        let append = || {
            let entries = json!({"id": agent.id, "entries": [{"type": "note"}]});
            world.json::<session::Append>("alice", entries).expect("appended");
        };
        append();
        let undone = world.json::<Undo>("alice", json!({})).expect("the task");
        assert_eq!(undone.undone[0].issue_id, Some(task.id));
        assert!(world.ok(&issue::List::default()).is_empty());
        world.advance(60);
        world.task("another");
        append();
        world.json::<Undo>("alice", json!({"since": "30s"})).expect("the other task");
        assert!(world.ok(&issue::List::default()).is_empty());
    }
}
