//! Attachments of issues: external references.

use std::fs;

use pensa_core::Code;
use pensa_core::issue::Issue;
use pensa_core::ops::refs::{Add, List, Ref, Remove};
use pensa_core::ops::undo::{Redo, Undo};
use pensa_core::ops::{issue, store};
use serde_json::{Value, json};

use crate::closed_store::{ClosedStore, create, run};
use crate::conformance;
use crate::world::World;

fn add(world: &World, issue: &Issue, target: &str) -> Ref {
    world.json::<Add>("alice", json!({"id": issue.id, "target": target})).expect("added")
}

fn targets(world: &World, issue: &Issue) -> Vec<String> {
    let mut targets: Vec<String> = world
        .json::<List>("bob", json!({"id": issue.id}))
        .expect("a list")
        .into_iter()
        .map(|known| known.target)
        .collect();
    targets.sort();
    targets
}

fn is_healthy(world: &World) {
    let findings = world.ok(&store::Doctor { fix: false, deep: true }).findings;
    assert!(findings.iter().all(|finding| finding.check == "drift"), "{findings:?}");
}

conformance! {
    fn references_are_added_listed_and_removed(world: World) {
        let (task, other) = (world.task("one"), world.task("two"));
        let key = world.json::<Add>("alice", json!({"id": task.id, "target": " linear:PRJ-123 ", "title": "There"})).expect("added");
        assert_eq!((key.target.as_str(), key.title.as_deref(), key.of.actor.as_str()), ("linear:PRJ-123", Some("There"), "alice"));
        assert!(key.of.id.as_str().starts_with("rf-"));
        add(&world, &task, "https://example.org/1?a=b");
        let again = world.json::<Add>("bob", json!({"id": task.id, "target": "linear:PRJ-123", "title": "There"}));
        assert_eq!(again.expect("known"), key, "the same once more is not a second one");
        assert_eq!(targets(&world, &task), ["https://example.org/1?a=b", "linear:PRJ-123"]);
        assert!(targets(&world, &other).is_empty());
        let shown = json!(world.ok(&issue::Show { id: (&task.id).into() }));
        assert_eq!(shown["refs"].as_array().map(Vec::len), Some(2), "{shown}");
        assert_eq!(json!(world.ok(&issue::Show { id: (&other.id).into() })).get("refs"), None);
        let prefix = &key.of.id.as_str()[3..];
        assert_eq!(world.json::<Remove>("bob", json!({"id": prefix})).expect("removed"), key);
        assert_eq!(targets(&world, &task), ["https://example.org/1?a=b"]);
        assert_eq!(world.refused::<Remove>("bob", json!({"id": key.of.id})), Code::NotFound);
        for wrong in ["", "PRJ-123", "linear:", ":1", "linear:PRJ 123", "https://a\nb"] {
            assert_eq!(world.refused::<Add>("a", json!({"id": task.id, "target": wrong})), Code::InvalidInput, "{wrong}");
        }
        assert_eq!(world.refused::<Add>("a", json!({"id": "pn-none", "target": "a:b"})), Code::NotFound);
        assert_eq!(world.events(&task), ["created", "updated", "updated", "updated"]);
        is_healthy(&world);
    }

    fn changes_of_references_are_undone_and_redone(world: World) {
        let task = world.task("one");
        let first = add(&world, &task, "linear:PRJ-1");
        add(&world, &task, "linear:PRJ-2");
        let event = world.ok(&issue::History { id: (&task.id).into(), limit: None })[1].id;
        world.json::<Undo>("alice", json!({"event": event})).expect("the second is not in its way");
        assert_eq!(targets(&world, &task), ["linear:PRJ-2"]);
        let newest = &world.ok(&issue::History { id: (&task.id).into(), limit: Some(1) })[0];
        assert_eq!(json!(newest.detail), json!({"ref": {"old": first, "new": null}, "undoes": [event]}));
        world.json::<Redo>("alice", json!({})).expect("redone");
        assert_eq!(targets(&world, &task), ["linear:PRJ-1", "linear:PRJ-2"]);
        world.json::<Remove>("alice", json!({"id": first.of.id})).expect("removed");
        world.json::<Undo>("alice", json!({})).expect("undone");
        assert_eq!(targets(&world, &task), ["linear:PRJ-1", "linear:PRJ-2"]);
        is_healthy(&world);
    }

    fn references_sync_through_files_and_wait_for_their_issue(one: World) {
        let (task, other) = (one.task("one"), one.task("two"));
        let gone = add(&one, &task, "linear:PRJ-1");
        one.advance(1);
        add(&one, &task, "linear:PRJ-2");
        add(&one, &other, "https://example.org");
        let second = one.clone_of(0x1000);
        let copy_files = |names: &[&str], from: &World, to: &World| {
            from.ok(&store::Export::default());
            for name in names {
                if let Ok(bytes) = fs::read(from.store().root().join(name)) {
                    fs::write(to.store().root().join(name), bytes).expect("written");
                }
            }
            to.ok(&store::Import::default())
        };
        let all = ["issues.jsonl", "refs.jsonl", "tombstones.jsonl"];
        second.task("its own");
        let notes = copy_files(&all[1..], &one, &second).notes;
        assert_eq!(notes.len(), 3, "they wait: {notes:?}");
        assert!(second.ok(&store::Export::default()).others.is_empty());
        assert_eq!(copy_files(&all, &one, &second).others["refs"], 3);
        assert_eq!(targets(&second, &task), ["linear:PRJ-1", "linear:PRJ-2"]);
        one.advance(1);
        one.json::<Remove>("alice", json!({"id": gone.of.id})).expect("removed");
        copy_files(&all, &one, &second);
        assert_eq!(targets(&second, &task), ["linear:PRJ-2"]);
        one.advance(1);
        one.json::<Undo>("alice", json!({})).expect("undone");
        one.json::<issue::Delete>("alice", json!({"id": other.id, "force": true})).expect("deleted");
        copy_files(&all, &one, &second);
        assert_eq!(targets(&second, &task), ["linear:PRJ-1", "linear:PRJ-2"]);
        let lines = |world: &World| {
            world.ok(&store::Export::default());
            fs::read_to_string(world.store().root().join("refs.jsonl")).expect("a file")
        };
        assert_eq!(lines(&second), lines(&one));
        assert_eq!(lines(&one).lines().count(), 2, "those of a deleted issue are gone");
        let third = second.imported_from_files();
        assert_eq!(run::<List>(&third, "a", json!({"id": task.id})).len(), 2);
        third.call("a", &store::Import { authoritative: true, ..store::Import::default() }).expect("imported");
        assert_eq!(run::<List>(&third, "a", json!({"id": task.id})).len(), 2);
        is_healthy(&second);
    }

    fn references_are_deleted_and_restored_with_their_issue(world: World) {
        let task = world.task("one");
        add(&world, &task, "linear:PRJ-1");
        add(&world, &task, "linear:PRJ-2");
        let rows = || world.json::<pensa_core::ops::record::Query>("a", json!({"collection": "refs"})).expect("records").records.len();
        assert_eq!(rows(), 2);
        world.json::<issue::Delete>("alice", json!({"id": task.id, "force": true})).expect("deleted");
        assert_eq!(rows(), 0);
        for _ in 0..2 {
            world.json::<Undo>("alice", json!({})).expect("undone");
            assert_eq!(targets(&world, &task), ["linear:PRJ-1", "linear:PRJ-2"]);
            world.json::<Redo>("alice", json!({})).expect("redone");
            assert_eq!(rows(), 0);
        }
        is_healthy(&world);
    }
}

#[test]
fn references_are_rebuilt_from_the_journal() {
    let on_disk = ClosedStore::new();
    let engine = on_disk.open();
    let id = create(&engine, "one");
    let refs = |engine: &pensa_engine::Engine| -> Value { json!(run::<List>(engine, "a", json!({"id": id}))) };
    run::<Add>(&engine, "alice", json!({"id": id, "target": "linear:PRJ-1"}));
    let gone = run::<Add>(&engine, "alice", json!({"id": id, "target": "linear:PRJ-2"}));
    run::<Remove>(&engine, "alice", json!({"id": gone.of.id}));
    let before = refs(&engine);
    drop(engine);
    on_disk.delete_database();
    let engine = on_disk.open();
    assert_eq!(refs(&engine), before);
    run::<Undo>(&engine, "alice", json!({}));
    assert_eq!(refs(&engine).as_array().map(Vec::len), Some(2), "the removal is undone from what was rebuilt");
}
