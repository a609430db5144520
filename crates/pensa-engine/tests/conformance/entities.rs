//! What holds for every declared entity: changes are undone, redone and rebuilt in the same way.

use pensa_core::ops::backup::Backups;
use pensa_core::ops::learning::{self, Forget, Remember, Verify};
use pensa_core::ops::undo::{List, Redo, Undo, Undone};
use pensa_core::ops::{kv, record, release, repo, skill, store, work};
use pensa_core::{Code, Result};
use pensa_engine::{Engine, Execute};
use serde_json::{Value, json};

use crate::closed_store::{ClosedStore, run};
use crate::conformance;
use crate::world::World;

/// All rows of these entities, without the times of the last change.
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
    // An undo gives synced records a newer version.
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

/// One operation per entity, with its preconditions.
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
    fn each_change_is_undone_and_redone(world: World) {
        let engine = &world.engine;
        for (at, step) in steps().into_iter().enumerate() {
            world.advance(1);
            let before = state(engine);
            step(engine);
            let after = state(engine);
            assert_ne!(before, after, "step {at}");
            for _ in 0..2 {
                world.advance(1);
                let undone = undo(engine, json!({"any": true})).expect("undone");
                assert_eq!(undone.undone.len(), 1, "step {at}");
                assert_eq!(state(engine), before, "step {at}");
                world.advance(1);
                let redone = engine.call("alice", &Redo::default()).expect("redone");
                assert_eq!(redone.redone, undone.undone, "step {at}");
                assert_eq!(state(engine), after, "step {at}");
            }
            let findings = world.ok(&store::Doctor { fix: false, deep: true }).findings;
            assert!(findings.iter().all(|finding| finding.check == "drift"), "step {at}: {findings:?}");
        }
    }

    fn all_changes_are_undone_at_once(world: World) {
        let engine = &world.engine;
        let before = state(engine);
        for step in steps() {
            world.advance(1);
            step(engine);
        }
        undo(engine, json!({"since": "1h"})).expect("undone");
        assert_eq!(state(engine), before);
    }

    fn undo_is_refused_while_a_later_change_of_the_same_row_is_in_effect(world: World) {
        let engine = &world.engine;
        let set = |value: &str| run::<kv::Set>(engine, "alice", json!({"scope": "user", "key": "k", "value": value}));
        set("1");
        let first = last_op(engine);
        set("2");
        let error = undo(engine, json!({"event": first})).expect_err("2 depends on it");
        assert_eq!(error.code, Code::Conflict);
        assert_eq!(run::<kv::Get>(engine, "a", json!({"scope": "user", "key": "k"})).value, "2");
        undo(engine, json!({})).expect("2 is undone");
        undo(engine, json!({"event": first})).expect("1 is undone");
        let list = run::<kv::List>(engine, "a", json!({}));
        assert!(list.is_empty(), "{list:?}");
    }

    fn a_change_too_large_to_store_is_not_undone(world: World) {
        let engine = &world.engine;
        let set = |value: &str| run::<kv::Set>(engine, "alice", json!({"scope": "user", "key": "k", "value": value}));
        // Each character takes six bytes in JSON.
        set(&"\u{1}".repeat(400_000));
        set("small");
        let error = undo(engine, json!({"event": last_op(engine)})).expect_err("nobody has the old value");
        assert!(error.code == Code::Conflict && error.message.contains("too large"), "{error}");
        assert_eq!(run::<kv::Get>(engine, "a", json!({"scope": "user", "key": "k"})).value, "small");
    }

    fn user_records_are_undone_one_by_one_and_in_transactions(world: World) {
        let engine = &world.engine;
        let put = |id: &str, n: i64| {
            run::<record::Put>(engine, "alice", json!({"collection": "notes", "id": id, "data": {"n": n, "s": "x y"}}))
        };
        run::<record::Index>(engine, "alice", json!({"collection": "notes", "fields": ["n"]}));
        let values = || {
            let found = run::<record::Query>(engine, "a", json!({"collection": "notes", "order": "n"})).records;
            found.into_iter().map(|record| (record.id, record.data["n"].as_i64().unwrap_or(-1))).collect::<Vec<_>>()
        };
        let named = |all: &[(&str, i64)]| all.iter().map(|(id, n)| ((*id).to_owned(), *n)).collect::<Vec<_>>();
        let first = put("a b", 1);
        let second = put("a b", 2);
        run::<record::Delete>(engine, "alice", json!({"collection": "notes", "id": "a b"}));
        let three = json!({"changes": [
            {"put": {"collection": "notes", "id": "c", "data": {"n": 3}}},
            {"put": {"collection": "notes", "id": "d", "data": {"n": 4}}},
            {"delete": {"collection": "notes", "id": "c"}}]});
        run::<record::Apply>(engine, "alice", three);
        assert_eq!(values(), named(&[("d", 4)]));
        world.advance(1);
        for expected in [vec![], vec![("a b", 2)], vec![("a b", 1)], vec![]] {
            undo(engine, json!({})).expect("undone");
            assert_eq!(values(), named(&expected));
            let of = json!({"collection": "notes", "check": true});
            assert!(!run::<record::Index>(engine, "bob", of).rebuilt, "its indexes have what it has");
        }
        for expected in [vec![("a b", 1)], vec![("a b", 2)], vec![], vec![("d", 4)]] {
            world.json::<Redo>("alice", json!({})).expect("redone");
            assert_eq!(values(), named(&expected));
        }
        undo(engine, json!({})).expect("the transaction");
        undo(engine, json!({})).expect("the deletion");
        let back = run::<record::Get>(engine, "a", json!({"collection": "notes", "id": "a b"}));
        assert!(back.rev > second.rev && second.rev > first.rev, "no revision comes twice");
        assert!(back.updated_at > second.updated_at, "{back:?}");
    }

    fn creation_is_not_undone_while_something_refers_to_it(world: World) {
        let repo = json!({"vcs": "git", "host": "box", "root_path": "/srv/app"});
        let added = run::<repo::Add>(&world.engine, "alice", repo.clone());
        let first = last_op(&world.engine);
        let start = json!({"seen": repo});
        world.json::<pensa_core::ops::run::Start>("alice", start).expect("a run");
        let error = undo(&world.engine, json!({"event": first})).expect_err("a run took place there");
        assert!(error.code == Code::Conflict && error.message.contains(added.id.as_str()), "{error}");
    }

    fn removal_is_not_undone_once_it_was_replaced(world: World) {
        let repo = json!({"vcs": "git", "host": "box", "root_path": "/srv/app"});
        let first = run::<repo::Add>(&world.engine, "alice", repo.clone());
        run::<repo::Remove>(&world.engine, "alice", json!({"id": first.id}));
        let removal = last_op(&world.engine);
        run::<repo::Add>(&world.engine, "alice", repo);
        let error = undo(&world.engine, json!({"event": removal})).expect_err("the root is taken");
        assert_eq!(error.code, Code::Conflict, "{error}");
    }

    fn entities_with_data_outside_of_their_row_are_not_undone(world: World) {
        world.json::<pensa_core::ops::agent::Create>("alice", json!({"type": "user"})).expect("an agent");
        let error = undo(&world.engine, json!({})).expect_err("an agent has sessions");
        assert_eq!(error.code, Code::Conflict, "{error}");
    }
}

#[test]
fn undo_stops_at_an_authoritative_import() {
    let on_disk = ClosedStore::new();
    let engine = on_disk.open();
    run::<Remember>(&engine, "alice", json!({"text": "old"}));
    let first = last_op(&engine);
    run::<store::Export>(&engine, "alice", json!({"no_stage": true}));
    run::<store::Import>(&engine, "alice", json!({"authoritative": true}));
    let before = state(&engine);
    undo(&engine, json!({"event": first})).expect_err("what is there came from the files");
    assert_eq!(state(&engine), before);
    let backups = run::<Backups>(&engine, "alice", json!({}));
    let backup = backups.iter().find(|backup| backup.event == first).expect("a backup of what was there");
    let name = backup.path.rsplit('/').next().expect("a name");
    let listed = run::<List>(&engine, "alice", json!({"actor": "alice"}));
    assert_eq!(listed[0].instead.as_deref(), Some(format!("pn restore {name}").as_str()), "{listed:?}");
}

#[test]
fn changes_are_rebuilt_with_the_database() {
    let on_disk = ClosedStore::new();
    let engine = on_disk.open();
    let before = state(&engine);
    steps().into_iter().for_each(|step| step(&engine));
    let after = state(&engine);
    drop(engine);
    on_disk.delete_database();
    let engine = on_disk.open();
    assert_eq!(state(&engine), after);
    undo(&engine, json!({"since": "1h"})).expect("undone");
    assert_eq!(state(&engine), before);
}
