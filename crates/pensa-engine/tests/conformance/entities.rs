//! What holds for every noun that is declared as an entity: its changes are undone, brought back and rebuilt alike.

use pensa_core::ops::learning::{self, Forget, Remember, Verify};
use pensa_core::ops::undo::{Redo, Undo, Undone};
use pensa_core::ops::{kv, release, repo, skill, store, work};
use pensa_core::{Code, Result};
use pensa_engine::{Engine, Execute};
use serde_json::{Value, json};

use crate::conformance;
use crate::site::{Site, run};
use crate::world::World;

/// All that the store holds of these nouns, without the times of the last change.
fn state(engine: &Engine) -> Value {
    fn get<O: Execute>(engine: &Engine, fields: Value) -> Value {
        json!(run::<O>(engine, "reader", fields))
    }
    let mut all = json!([
        get::<kv::List>(engine, json!({})),
        get::<learning::List>(engine, json!({"all": true})),
        get::<release::List>(engine, json!({})),
        get::<skill::List>(engine, json!({})),
        get::<repo::List>(engine, json!({})),
        get::<work::List>(engine, json!({})),
    ]);
    // What is undone and travels is newer than what others have.
    for at in [0, 1, 5] {
        for one in all[at].as_array_mut().expect("a list") {
            one.as_object_mut().expect("an object").remove("updated_at");
        }
    }
    all[3].as_object_mut().expect("an object").remove("updatedAt");
    all
}

fn undo(engine: &Engine, fields: Value) -> Result<Undone> {
    engine.call("alice", &serde_json::from_value::<Undo>(fields).expect("an undo"))
}

/// One operation on each of the nouns, with what it needs before.
fn steps() -> Vec<fn(&Engine)> {
    vec![
        |engine| drop(run::<kv::Set>(engine, "alice", json!({"scope": "project", "key": "a b", "value": "1"}))),
        |engine| drop(run::<kv::Set>(engine, "alice", json!({"scope": "project", "key": "a b", "value": "2"}))),
        |engine| drop(run::<kv::Delete>(engine, "alice", json!({"scope": "project", "key": "a b"}))),
        |engine| drop(run::<Remember>(engine, "alice", json!({"text": "tests need a cluster", "tags": ["ci"]}))),
        |engine| drop(run::<Verify>(engine, "bob", json!({"id": first_learning(engine)}))),
        |engine| drop(run::<Forget>(engine, "alice", json!({"id": first_learning(engine)}))),
        |engine| drop(run::<release::Ship>(engine, "alice", json!({"name": "login", "version": "1.0"}))),
        |engine| drop(run::<skill::Set>(engine, "alice", json!({"name": "reviewer", "skills": ["rust"]}))),
        |engine| drop(run::<skill::Set>(engine, "alice", json!({"name": "reviewer", "skills": ["rust", "sql"]}))),
        |engine| drop(run::<repo::Add>(engine, "alice", json!({"vcs": "git", "host": "box", "root_path": "/srv/app"}))),
    ]
}

fn first_learning(engine: &Engine) -> String {
    run::<learning::List>(engine, "a", json!({"all": true}))[0].learning.id.to_string()
}

fn last_op(engine: &Engine) -> i64 {
    let log =
        engine.run(pensa_core::Access::Read, &pensa_engine::Caller::local("a"), |_, tx| pensa_engine::log_end(tx));
    log.expect("a log")
}

conformance! {
    fn each_change_is_undone_and_brought_back(world: World) {
        let engine = &world.engine;
        for (at, step) in steps().into_iter().enumerate() {
            world.pass(1);
            let before = state(engine);
            step(engine);
            let after = state(engine);
            assert_ne!(before, after, "step {at}");
            for _ in 0..2 {
                world.pass(1);
                let undone = undo(engine, json!({"any": true})).expect("undone");
                assert_eq!(undone.undone.len(), 1, "step {at}");
                assert_eq!(state(engine), before, "step {at}");
                world.pass(1);
                let redone = engine.call("alice", &Redo::default()).expect("redone");
                assert_eq!(redone.redone, undone.undone, "step {at}");
                assert_eq!(state(engine), after, "step {at}");
            }
            let findings = world.ok(&store::Doctor { fix: false, deep: true }).findings;
            assert!(findings.iter().all(|finding| finding.check == "drift"), "step {at}: {findings:?}");
        }
    }

    fn all_of_it_is_undone_at_once(world: World) {
        let engine = &world.engine;
        let before = state(engine);
        for step in steps() {
            world.pass(1);
            step(engine);
        }
        undo(engine, json!({"since": "1h"})).expect("undone");
        assert_eq!(state(engine), before);
    }

    fn undo_is_refused_while_a_later_change_of_the_same_stands(world: World) {
        let engine = &world.engine;
        let set = |value: &str| run::<kv::Set>(engine, "alice", json!({"scope": "user", "key": "k", "value": value}));
        set("1");
        let first = last_op(engine);
        set("2");
        let error = undo(engine, json!({"event": first})).expect_err("2 stands on it");
        assert_eq!(error.code, Code::Conflict);
        assert_eq!(run::<kv::Get>(engine, "a", json!({"scope": "user", "key": "k"})).value, "2");
        undo(engine, json!({})).expect("2 is undone");
        undo(engine, json!({"event": first})).expect("1 is undone");
        let list = run::<kv::List>(engine, "a", json!({}));
        assert!(list.is_empty(), "{list:?}");
    }

    fn what_was_too_large_to_be_kept_is_not_undone(world: World) {
        let engine = &world.engine;
        let set = |value: &str| run::<kv::Set>(engine, "alice", json!({"scope": "user", "key": "k", "value": value}));
        set(&"x".repeat(200_000));
        set("small");
        let error = undo(engine, json!({"event": last_op(engine)})).expect_err("nobody has the old value");
        assert!(error.code == Code::Conflict && error.message.contains("too large"), "{error}");
        assert_eq!(run::<kv::Get>(engine, "a", json!({"scope": "user", "key": "k"})).value, "small");
    }

    fn what_others_refer_to_is_not_undone(world: World) {
        let repo = json!({"vcs": "git", "host": "box", "root_path": "/srv/app"});
        let added = run::<repo::Add>(&world.engine, "alice", repo.clone());
        let first = last_op(&world.engine);
        let start = json!({"seen": repo});
        world.json::<pensa_core::ops::run::Start>("alice", start).expect("a run");
        let error = undo(&world.engine, json!({"event": first})).expect_err("a run took place there");
        assert!(error.code == Code::Conflict && error.message.contains(added.id.as_str()), "{error}");
    }

    fn removal_is_not_undone_once_another_is_in_its_place(world: World) {
        let repo = json!({"vcs": "git", "host": "box", "root_path": "/srv/app"});
        let first = run::<repo::Add>(&world.engine, "alice", repo.clone());
        run::<repo::Remove>(&world.engine, "alice", json!({"id": first.id}));
        let removal = last_op(&world.engine);
        run::<repo::Add>(&world.engine, "alice", repo);
        let error = undo(&world.engine, json!({"event": removal})).expect_err("the root is taken");
        assert_eq!(error.code, Code::Conflict, "{error}");
    }

    fn what_is_more_than_its_row_is_not_undone(world: World) {
        world.json::<pensa_core::ops::agent::Create>("alice", json!({"type": "user"})).expect("an agent");
        let error = undo(&world.engine, json!({})).expect_err("an agent has sessions");
        assert_eq!(error.code, Code::Conflict, "{error}");
    }
}

#[test]
fn undo_does_not_reach_behind_an_authoritative_import() {
    let site = Site::new();
    let engine = site.open();
    run::<Remember>(&engine, "alice", json!({"text": "old"}));
    let first = last_op(&engine);
    run::<store::Export>(&engine, "alice", json!({"no_stage": true}));
    run::<store::Import>(&engine, "alice", json!({"authoritative": true}));
    let before = state(&engine);
    undo(&engine, json!({"event": first})).expect_err("what is there came from the files");
    assert_eq!(state(&engine), before);
}

#[test]
fn changes_are_rebuilt_with_the_database() {
    let site = Site::new();
    let engine = site.open();
    let before = state(&engine);
    steps().into_iter().for_each(|step| step(&engine));
    let after = state(&engine);
    drop(engine);
    site.delete_database();
    let engine = site.open();
    assert_eq!(state(&engine), after);
    undo(&engine, json!({"since": "1h"})).expect("undone");
    assert_eq!(state(&engine), before);
}
