//! Recall over all texts: what is found and in which order, filters, and the index, which equals what the texts say.

use std::fs;

use pensa_core::agent::Agent;
use pensa_core::ops::learning::{Recall, Remember};
use pensa_core::ops::session::{Append, Delete, Reset};
use pensa_core::ops::undo::{Redo, Undo};
use pensa_core::ops::{agent, comment, issue, release, store};
use pensa_core::recall::Recalled;
use pensa_core::{Access, Code};
use pensa_engine::{Caller, Engine, flush_recall, wrong_in_recall};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::conformance;
use crate::histories::{Step, apply_step, steps};
use crate::world::World;

fn recall(world: &World, fields: Value) -> Vec<Recalled> {
    world.json::<Recall>("a", fields).expect("an answer")
}

fn ids(world: &World, fields: Value) -> Vec<String> {
    recall(world, fields).iter().map(|hit| hit.id.to_string()).collect()
}

fn remember(world: &World, actor: &str, text: &str) -> String {
    world.json::<Remember>(actor, json!({ "text": text })).expect("remembered").learning.id.to_string()
}

fn talker(world: &World, name: &str) -> Agent {
    world.json::<agent::Create>("a", json!({"type": "user", "name": name})).expect("an agent")
}

fn say(world: &World, agent: &Agent, texts: &[&str]) -> i64 {
    let entries: Vec<Value> = texts.iter().map(|text| json!({"type": "user_message", "text": text})).collect();
    world.json::<Append>("a", json!({"id": agent.id, "entries": entries})).expect("appended").first
}

fn flush(engine: &Engine) {
    // A read would roll it back.
    engine.run(Access::Write, &Caller::local("a"), |_, tx| flush_recall(tx)).expect("written");
}

fn wrong(engine: &Engine) -> Vec<(pensa_core::recall::TextKind, String)> {
    engine.run(Access::Read, &Caller::local("a"), |_, tx| wrong_in_recall(tx)).expect("compared")
}

conformance! {
    fn every_kind_of_text_is_found(world: World) {
        let made = world.json::<issue::Create>("a", json!({"title": "The gasket leaks", "issue_type": "bug",
            "description": "since the last flange was fitted", "labels": ["plumbing"]})).expect("an issue").issue;
        world.json::<comment::Add>("ben", json!({"id": made.id, "text": "a new flange helps the gasket"})).expect("a comment");
        let learned = remember(&world, "ben", "gaskets need a flange");
        let agent = talker(&world, "vera");
        let first = say(&world, &agent, &["the weather is fine", "tighten the flange", "thanks"]);
        world.json::<release::Ship>("a", json!({"name": "Flange support", "version": "1.2.0"})).expect("a release");
        let kinds = |fields: Value| {
            let mut kinds: Vec<&str> = recall(&world, fields).iter().map(|hit| hit.kind.as_str()).collect();
            kinds.sort_unstable();
            kinds
        };
        assert_eq!(kinds(json!({"q": "flange"})), ["comment", "issue", "learning"]);
        assert_eq!(kinds(json!({"q": "flange", "in": "sessions,releases"})), ["release", "session"]);
        assert_eq!(ids(&world, json!({"q": "flange", "in": "learnings"})), [learned]);
        let said = recall(&world, json!({"q": "tightening a flange", "in": "sessions", "explain": true})).remove(0);
        assert_eq!(json!(said.id), json!(first + 1), "the number of the entry");
        assert_eq!((said.session_id, said.actor.as_str()), (agent.active_session_id, "vera"));
        assert_eq!(said.snippet, "**tighten** the **flange**");
        let around: Vec<&str> = said.context.iter().map(|entry| entry.snippet.as_str()).collect();
        assert_eq!(around, ["the weather is fine", "thanks"]);
        let why = said.explain.expect("an explanation");
        assert_eq!(why.terms.iter().map(|term| term.term.as_str()).collect::<Vec<_>>(), ["tightening", "flange"]);
        assert_eq!((why.fields, why.vector), (vec!["body".to_owned()], 0.0));
        assert_eq!(world.refused::<Recall>("a", json!({"q": "x", "in": "rumours"})), Code::InvalidInput);
        assert_eq!(world.refused::<Recall>("a", json!({"q": "x", "in": "commits"})), Code::Unsupported);
    }

    fn filters_apply_before_the_ranking(world: World) {
        for at in 0..120 {
            remember(&world, "ana", &format!("valve number {at} of the valve list, valve"));
        }
        world.json::<Remember>("ben", json!({"text": "about a valve and much else that nobody asked for",
            "tags": ["Pipes"], "files": ["./src/deep/valve.rs"]})).expect("remembered");
        let one = |fields: Value| recall(&world, fields).into_iter().map(|hit| hit.actor).collect::<Vec<_>>();
        assert_eq!(one(json!({"q": "valve", "by": "ben"})), ["ben"]);
        assert_eq!(one(json!({"q": "valve", "tags": ["pipes"]})), ["ben"]);
        for file in ["valve.rs", "deep/valve.rs", "src/deep/valve.rs", "crates/x/src/deep/valve.rs"] {
            assert_eq!(one(json!({"q": "valve", "files": [file]})), ["ben"], "{file}");
            assert_eq!(one(json!({"files": ["other.rs", file]})), ["ben"], "{file}");
        }
        assert!(one(json!({"q": "valve", "files": ["alve.rs"]})).is_empty());
        world.advance(86_400);
        remember(&world, "eve", "a valve of today");
        assert_eq!(one(json!({"q": "valve", "since": "1h"})), ["eve"]);
        assert_eq!(one(json!({"since": "1h"})), ["eve"]);
    }

    fn languages_names_and_scripts_are_searched_as_they_are_written(world: World) {
        for (text, questions) in [
            ("The migrations were running twice", &["migration run"][..]),
            ("Die Datenbanken wurden nicht richtig geschlossen und die Häuser auch", &["Datenbank schließen", "Haus"]),
            ("Les connexions aux serveurs sont fermées par le pare-feu", &["connexion serveur"]),
            ("Los usuarios no pueden cambiar las contraseñas", &["usuario contraseña"]),
            ("Пользователи не могут изменить свои пароли", &["пользователь пароль"]),
            ("Call readManifestFile before open_snapshot_dir", &["manifest", "readManifestFile", "snapshot dir"]),
            ("数据库连接失败", &["数据库", "连接"]),
            ("see crates/engine/src/lease.rs for that", &["lease.rs", "crates/engine/src/lease.rs"]),
        ] {
            let id = remember(&world, "a", text);
            for question in questions {
                assert_eq!(ids(&world, json!({"q": question})).first(), Some(&id), "{question}");
            }
        }
    }

    fn one_source_cannot_crowd_out_others(world: World) {
        let spam = ["alpha", "bravo", "carol", "delta", "echos", "fargo", "golfs", "hotel", "india", "julia", "kilos", "limas"];
        for word in spam {
            remember(&world, "mallory", &format!("rotate keys rotate keys rotate keys {word}"));
        }
        for word in ["monthly", "weekly", "seldom", "after every incident", "with the new tool", "by two people", "at night"] {
            let who = word.split(' ').next_back().expect("a word");
            remember(&world, who, &format!("the team decided to rotate its keys {word}, see the handbook for the reasons"));
        }
        let hits = recall(&world, json!({"q": "rotate keys", "n": 9}));
        let hostile = hits.iter().filter(|hit| hit.actor == "mallory").count();
        assert_eq!((hits.len(), hostile), (9, 3));
        let only = recall(&world, json!({"q": "rotate keys", "by": "mallory", "n": 9}));
        assert_eq!(only.len(), 9, "if nobody else matches, it may have all");
    }

    fn a_text_cannot_pretend_to_match_nor_leave_its_marks(world: World) {
        remember(&world, "a", "one **fake** match ****and*** a\n# heading of a hinge");
        assert_eq!(recall(&world, json!({"q": "hinges"}))[0].snippet, "one fake match and a # heading of a **hinge**");
    }

    fn answer_fits_the_budget_and_is_not_empty(world: World) {
        let long = "é hinge\n".repeat(5_000);
        for at in 0..9 {
            remember(&world, &format!("actor {at}"), &format!("{at} {long}"));
        }
        for budget in [200, 500, 5_000, 100_000] {
            let hits = recall(&world, json!({"q": "hinge", "max_tokens": budget}));
            let bytes = serde_json::to_vec(&hits).expect("JSON").len();
            assert!(!hits.is_empty() && bytes <= budget * 4, "{budget}: {bytes}");
        }
    }

    fn entries_follow_their_sessions(world: World) {
        let agent = talker(&world, "vera");
        say(&world, &agent, &["the pump is loud"]);
        flush(&world.engine);
        let before = agent.active_session_id.clone().expect("a session");
        world.json::<Reset>("a", json!({"id": agent.id})).expect("the next session");
        assert_eq!(ids(&world, json!({"q": "pumps", "in": "sessions"})).len(), 1);
        world.ok(&Delete { id: (&before).into() });
        assert_eq!(ids(&world, json!({"q": "pumps", "in": "sessions"})), [""; 0]);
        flush(&world.engine);
        assert_eq!(wrong(&world.engine), []);
    }

    fn many_texts_become_segments_of_the_index(world: World) {
        let agent = talker(&world, "vera");
        for round in 0..5 {
            let texts: Vec<String> = (0..1_100).map(|at| format!("step {at} of round {round} uses bolt{}", at % 50)).collect();
            say(&world, &agent, &texts.iter().map(String::as_str).collect::<Vec<_>>());
        }
        assert_eq!(wrong(&world.engine), []);
        assert_eq!(recall(&world, json!({"q": "bolt7", "in": "sessions", "n": 200})).len(), 110);
        world.ok(&Delete { id: (&world.json::<Reset>("a", json!({"id": agent.id})).map(|_| agent.active_session_id.clone())
            .expect("the next").expect("a session")).into() });
        assert_eq!(recall(&world, json!({"q": "bolt7", "in": "sessions", "n": 200})).len(), 0);
        flush(&world.engine);
        assert_eq!(wrong(&world.engine), []);
    }
}

#[test]
fn doctor_finds_a_damaged_index_and_builds_it_again() {
    let world = World::sqlite();
    let known = remember(&world, "a", "the fuse is blown");
    flush(&world.engine);
    let raw = rusqlite::Connection::open(world.store().database()).expect("opens");
    raw.execute("DELETE FROM recall_parts WHERE part < 256", []).expect("deleted");
    let deep = |fix| world.ok(&store::Doctor { fix, deep: true });
    let of_recall = |report: store::Report| report.findings.into_iter().filter(|one| one.check == "recall").count();
    assert_eq!(of_recall(deep(false)), 1);
    assert_eq!(of_recall(deep(true)), 1);
    assert_eq!(of_recall(deep(false)), 0);
    assert_eq!(ids(&world, json!({"q": "fuse"})), [known]);
}

#[test]
fn a_store_of_the_first_schema_is_indexed_when_it_is_opened() {
    let world = World::sqlite();
    let known = remember(&world, "a", "the fuse is blown");
    let raw = rusqlite::Connection::open(world.store().database()).expect("opens");
    // What the migration leaves behind.
    raw.execute_batch(
        "DELETE FROM recall_parts; DELETE FROM recall_dirty; DELETE FROM learning_keys;
        INSERT INTO recall_dirty (kind, id) VALUES ('*', '')",
    )
    .expect("as after the migration");
    assert_eq!(ids(&world, json!({"q": "fuse"})), std::slice::from_ref(&known), "before the index is there");
    flush(&world.engine);
    assert_eq!(wrong(&world.engine), []);
    assert_eq!(ids(&world, json!({"q": "fuse"})), [known]);
    assert!(world.json::<Remember>("a", json!({"text": "The fuse is blown"})).expect("remembered").merged);
}

/// What a search finds, without what depends on the moment.
fn answers(engine: &Engine) -> Vec<Value> {
    let ask = |q: &str| {
        let recall: Recall =
            serde_json::from_value(json!({"q": q, "in": "learnings,issues,comments,sessions,releases", "n": 50}))
                .expect("a question");
        json!(engine.call("a", &recall).expect("hits"))
    };
    ["number of 3", "renamed 5", "because said", "learned 1 2 3", "spoken word"].map(ask).to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Whatever happens to texts, also by undo, files of git, backups and a lost database: the index is what writing it
    /// anew from all texts makes.
    #[test]
    fn index_equals_one_that_is_built_anew(steps in steps(30), flushes in any::<u32>()) {
        let mut world = World::sqlite();
        let agent = talker(&world, "vera");
        for (at, step @ (what, a, b, _)) in steps.into_iter().enumerate() {
            another(&mut world, &agent, step);
            if flushes >> (at % 32) & 1 == 1 {
                flush(&world.engine);
                prop_assert_eq!(wrong(&world.engine), [], "after {:?}", (what, a, b));
            }
        }
        let before = answers(&world.engine);
        flush(&world.engine);
        prop_assert_eq!(wrong(&world.engine), []);
        prop_assert_eq!(&answers(&world.engine), &before);
        let raw = rusqlite::Connection::open(world.store().database()).expect("opens");
        raw.execute("INSERT INTO recall_dirty (kind, id) VALUES ('*', '') ON CONFLICT DO NOTHING", []).expect("noted");
        flush(&world.engine);
        prop_assert_eq!(wrong(&world.engine), []);
        prop_assert_eq!(answers(&world.engine), before);
    }
}

/// A step of the histories, or one that only recall minds.
fn another(world: &mut World, agent: &Agent, step: Step) {
    let (what, a, b, _) = step;
    world.advance(1);
    match what % 24 {
        16 => drop(remember(world, "ana", &format!("learned {a} about {b}"))),
        17 => drop(say(world, agent, &[&format!("spoken {a}"), &format!("word {b}")])),
        18 => drop(world.json::<Undo>("mia", json!({"force": true}))),
        19 => drop(world.json::<Redo>("mia", json!({"force": true}))),
        20 => {
            world.ok(&store::Export::default());
            let edited = world.store().root().join("issues.jsonl");
            let lines = fs::read_to_string(&edited).unwrap_or_default();
            fs::write(edited, lines.replace("number", "figure")).expect("written");
            world.ok(&store::Import::default());
        }
        21 => drop(world.json::<store::Import>("a", json!({"authoritative": true}))),
        22 => lose_database(world),
        23 => drop(world.json::<Reset>("a", json!({"id": agent.id}))),
        _ => drop(apply_step(world, step, false)),
    }
}

fn lose_database(world: &mut World) {
    let store = world.store();
    for ending in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{ending}", store.database().display()));
    }
    world.engine = world.engine.new_handle().expect("rebuilt");
}
