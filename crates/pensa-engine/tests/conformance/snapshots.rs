//! Metadata of snapshots: fields, parents, and rebuilding from the journal.

use std::fs;

use pensa_core::ops::store::{Doctor, Severity};
use pensa_core::ops::undo::Undo;
use pensa_core::ops::{repo, run, snapshot};
use pensa_core::snapshot::Snapshot;
use pensa_core::{Access, Code, Result};
use pensa_engine::{Caller, Engine, log_after};
use serde_json::{Value, json};

use crate::conformance;
use crate::world::World;

fn fields(more: Value) -> Value {
    let mut whole = json!({"provider": "copy", "host": "box", "root": "/work/repo",
        "seen": {"vcs": "git", "host": "box", "root_path": "/work/repo"}});
    whole.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    whole
}

fn tried(world: &World, more: Value) -> Result<Snapshot> {
    world.json::<snapshot::Create>("alice", fields(more))
}

#[track_caller]
fn created(world: &World, more: Value) -> Snapshot {
    tried(world, more).expect("created")
}

#[track_caller]
fn refused(world: &World, more: Value) -> Code {
    tried(world, more).expect_err("refused").code
}

fn shown(world: &World, id: &str) -> Result<Snapshot> {
    world.json::<snapshot::Show>("a", json!({"id": id}))
}

/// Types, actors and details of a snapshot's events.
fn logged(world: &World, id: &str) -> Vec<(String, String, Value)> {
    let log = world.engine.run(Access::Read, &Caller::local("a"), |_, tx| log_after(tx, 0, 1000)).expect("the log");
    let of_it = log.into_iter().filter(|line| line.subject_kind == "snapshot" && line.subject_id == id);
    of_it.map(|line| (line.event_type, line.actor, Value::Object(line.detail))).collect()
}

conformance! {
    fn every_field_of_a_snapshot_round_trips(world: World) {
        let run = world.json::<run::Start>("alice", json!({"seen": {"vcs": "git", "root_path": "/r"}})).expect("a run");
        let first = created(&world, json!({}));
        world.advance(1);
        let metadata = json!({"files": 3, "digest": "ab", "left_out": ["x\u{0}y", {"deep": [1.5, null]}]});
        let made = created(&world, json!({"id": "snap-0a1b2c3d", "kind": "safety", "run": run.id, "ref": "refs/pensa/é",
            "path": "/data/x y", "parent": first.id, "label": "  before it  ", "metadata": metadata}));
        world.advance(1);
        let restored = json!({"id": made.id, "safety": first.id});
        let restored = world.json::<snapshot::Restore>("bob", restored).expect("recorded");
        let other = world.engine.new_handle().expect("another handle");
        let shown = other.call("a", &snapshot::Show { id: "snap-0a1b".parse().expect("a reference") }).expect("shown");
        assert_eq!(shown, restored);
        assert_eq!(json!(shown), json!({"id": "snap-0a1b2c3d", "kind": "safety", "provider": "copy",
            "repo_id": first.repo_id, "run_id": run.id, "host": "box", "root": "/work/repo", "ref": "refs/pensa/é",
            "path": "/data/x y", "parent_id": first.id, "label": "before it", "actor": "alice", "metadata": metadata,
            "created_at": "2026-02-27T14:30:01.000Z", "restored_at": "2026-02-27T14:30:02.000Z"}));
        let least = json!(first);
        let names: Vec<&str> = least.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(names, ["id", "kind", "provider", "repo_id", "host", "root", "actor", "metadata", "created_at"]);
        assert!(first.id.as_str().len() == 13 && first.id.as_str().starts_with("snap-"), "{}", first.id);
    }

    fn every_change_of_a_snapshot_is_logged_with_old_and_new_values(world: World) {
        let parent = created(&world, json!({}));
        let child = created(&world, json!({"parent": parent.id, "label": "l"}));
        world.advance(1);
        world.json::<snapshot::Restore>("bob", json!({"id": child.id, "safety": parent.id})).expect("recorded");
        world.json::<snapshot::Delete>("carl", json!({"id": parent.id})).expect("deleted");
        let of_child = logged(&world, child.id.as_str());
        let heads: Vec<(&str, &str)> = of_child.iter().map(|(kind, actor, _)| (kind.as_str(), actor.as_str())).collect();
        assert_eq!(heads, [("created", "alice"), ("restored", "bob"), ("updated", "carl")]);
        assert_eq!(of_child[0].2["label"], json!({"old": null, "new": "l"}));
        assert_eq!(of_child[1].2, json!({"restored_at": {"old": null, "new": "2026-02-27T14:30:01.000Z"},
            "safety_id": {"old": null, "new": parent.id}}));
        assert_eq!(of_child[2].2, json!({"parent_id": {"old": parent.id, "new": null}}));
        let of_parent = logged(&world, parent.id.as_str());
        assert_eq!(of_parent.last().map(|line| &line.2), Some(&json!({"snapshot": {"old": parent, "new": null}})));
        let undo = |fields: Value| world.json::<Undo>("carl", fields);
        let error = undo(json!({})).expect_err("a content does not come back");
        assert!(error.code == Code::Conflict && error.message.contains("snapshot"), "{error}");
    }

    fn deleting_a_snapshot_clears_the_parent_of_its_children(world: World) {
        let first = created(&world, json!({}));
        let second = created(&world, json!({"parent": first.id}));
        let third = created(&world, json!({"parent": second.id}));
        let twin = created(&world, json!({"parent": second.id}));
        let gone = world.json::<snapshot::Delete>("a", json!({"id": second.id})).expect("deleted");
        assert_eq!(json!(gone), json!({"status": "deleted", "id": second.id}));
        assert_eq!(shown(&world, second.id.as_str()).expect_err("gone").code, Code::NotFound);
        for child in [&third, &twin] {
            assert_eq!(shown(&world, child.id.as_str()).expect("there").parent_id, None);
        }
        assert_eq!(shown(&world, first.id.as_str()).expect("there"), first);
        let again = world.json::<snapshot::Delete>("a", json!({"id": second.id}));
        assert_eq!(again.expect_err("gone").code, Code::NotFound);
    }

    fn snapshots_are_filtered_and_listed_newest_first(world: World) {
        let seen = json!({"vcs": "git", "host": "box", "root_path": "/other"});
        let run = world.json::<run::Start>("alice", json!({"seen": seen})).expect("a run");
        let mut ids = Vec::new();
        for more in [json!({}), json!({"provider": "git", "run": run.id}), json!({"root": "/other", "seen": seen}),
            json!({"host": "far"})] {
            world.advance(1);
            ids.push(created(&world, more).id);
        }
        let listed = |fields: Value| -> Vec<usize> {
            let all = world.json::<snapshot::List>("a", fields).expect("a list");
            all.iter().map(|one| ids.iter().position(|id| *id == one.id).expect("one of them")).collect()
        };
        assert_eq!(listed(json!({})), [3, 2, 1, 0]);
        assert_eq!(listed(json!({"n": 2})), [3, 2]);
        assert_eq!(listed(json!({"run": run.id})), [1]);
        assert_eq!(listed(json!({"repo": "/other"})), [2]);
        assert_eq!(listed(json!({"provider": "copy", "host": "box", "root": "/work/repo"})), [0]);
        assert_eq!(listed(json!({"host": "nowhere"})), [0usize; 0]);
        assert_eq!(world.json::<snapshot::List>("a", json!({"run": "run-none"})).expect_err("none").code, Code::NotFound);
    }

    fn an_invalid_snapshot_is_refused_and_leaves_nothing(world: World) {
        assert_eq!(refused(&world, json!({"seen": null})), Code::NoRepo);
        assert_eq!(refused(&world, json!({"repo": "repo-nope"})), Code::NotFound);
        assert_eq!(refused(&world, json!({"run": "run-nope"})), Code::NotFound);
        assert_eq!(refused(&world, json!({"parent": "snap-nope"})), Code::NotFound);
        for (field, value) in [("id", "snap-XYZ"), ("id", "snap-.."), ("id", ".."), ("root", "work/repo"), ("root", "/a\nb"),
            ("root", " "), ("host", ""), ("host", "a\u{1b}b"), ("label", "two\nlines"), ("ref", "\u{0}"), ("path", "/x\n/y")] {
            assert_eq!(refused(&world, json!({field: value})), Code::InvalidInput, "{field} {value:?}");
        }
        assert_eq!(refused(&world, json!({"metadata": {"x": "y".repeat(5 << 20)}})), Code::TooLarge);
        assert!(world.json::<repo::List>("a", json!({})).expect("a list").is_empty(), "nothing is half made");
        let one = created(&world, json!({"id": "snap-00000001"}));
        assert_eq!(refused(&world, json!({"id": "snap-00000001"})), Code::Conflict);
        for more in [json!({"provider": "git"}), json!({"root": "/x"}), json!({"host": "far"})] {
            let mut more = more;
            more["parent"] = json!(one.id);
            assert_eq!(refused(&world, more), Code::InvalidInput);
        }
        let restore = json!({"id": one.id, "safety": "snap-none"});
        assert_eq!(world.json::<snapshot::Restore>("a", restore).expect_err("no safety").code, Code::NotFound);
        assert_eq!(shown(&world, one.id.as_str()).expect("there"), one);
    }

    fn a_repository_with_snapshots_cannot_be_removed(world: World) {
        let one = created(&world, json!({}));
        let remove = || world.json::<repo::Remove>("a", json!({"id": one.repo_id}));
        let error = remove().expect_err("it has one");
        assert!(error.code == Code::Conflict && error.message.ends_with("it has 1 snapshot"), "{error}");
        world.json::<snapshot::Delete>("a", json!({"id": one.id})).expect("deleted");
        remove().expect("removed");
    }
}

#[test]
fn snapshots_are_rebuilt_from_the_journal() {
    let world = World::sqlite();
    let first = created(&world, json!({"metadata": {"digest": "a", "n": 1.5}}));
    let second = created(&world, json!({"parent": first.id, "label": "two"}));
    created(&world, json!({"parent": second.id}));
    world.json::<snapshot::Restore>("a", json!({"id": second.id, "safety": first.id})).expect("recorded");
    world.json::<snapshot::Delete>("a", json!({"id": first.id})).expect("deleted");
    let all = |engine: &Engine| engine.call("a", &snapshot::List::default()).expect("a list");
    let before = all(&world.engine);
    assert_eq!(before.len(), 2);
    let store = world.store();
    for ending in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{ending}", store.database().display()));
    }
    let engine = Engine::open(store).expect("rebuilt");
    assert_eq!(all(&engine), before);
    let deep = serde_json::from_value::<Doctor>(json!({"deep": true})).expect("an operation");
    let report = engine.call("a", &deep).expect("a report");
    let worse: Vec<_> = report.findings.iter().filter(|finding| finding.severity == Severity::Error).collect();
    assert!(worse.is_empty(), "{worse:?}");
    let raw = rusqlite::Connection::open(world.store().database()).expect("opens");
    raw.execute("UPDATE fs_snapshots SET label = 'other'", []).expect("changed");
    let report = engine.call("a", &deep).expect("a report");
    let logged: String = report.findings.iter().map(|finding| finding.message.as_str()).collect();
    assert!(logged.contains("fs_snapshots snap-"), "{logged}");
}

#[test]
fn the_schema_refuses_invalid_json_and_clears_deleted_parents() {
    let world = World::sqlite();
    let first = created(&world, json!({}));
    let second = created(&world, json!({"parent": first.id}));
    let raw = rusqlite::Connection::open(world.store().database()).expect("opens");
    raw.execute("UPDATE fs_snapshots SET metadata = '{'", []).expect_err("no JSON");
    raw.execute("UPDATE fs_snapshots SET kind = 'other'", []).expect_err("no kind");
    raw.execute("UPDATE fs_snapshots SET parent_id = 'snap-none'", []).expect_err("no such parent");
    raw.execute("DELETE FROM fs_snapshots WHERE id = ?1", [first.id.as_str()]).expect("deleted");
    let parent: Option<String> = raw
        .query_row("SELECT parent_id FROM fs_snapshots WHERE id = ?1", [second.id.as_str()], |row| row.get(0))
        .expect("a row");
    assert_eq!(parent, None);
}
