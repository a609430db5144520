//! Random histories: each operation can be undone and redone, and so can all of them together.

use pensa_core::Code;
use pensa_core::ops::undo::{Redo, Undo};
use pensa_core::ops::{batch, event, issue, store};
use proptest::prelude::*;
use rusqlite::Connection;
use rusqlite::types::Value as Cell;
use serde_json::{Value, json};

use crate::world::World;

pub(crate) const ACTORS: [&str; 3] = ["ana", "ben", "eve"];

/// Every row of the store with every column, including hidden and derived ones, except the log and the times of the
/// last change.
fn rows(world: &World) -> Vec<(String, Vec<Cell>)> {
    // A read releases expired leases.
    world.ready();
    let connection = Connection::open(world.store().database()).expect("opens");
    let mut all = Vec::new();
    for table in ["issues", "deps", "comments", "title_keys"] {
        let mut statement = connection.prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2")).expect("a table");
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let kept: Vec<usize> = (0..names.len()).filter(|at| names[*at] != "updated_at").collect();
        let read = |row: &rusqlite::Row<'_>| kept.iter().map(|at| row.get(*at)).collect::<Result<Vec<Cell>, _>>();
        let rows = statement.query_map([], read).expect("rows");
        all.extend(rows.map(|row| (table.to_owned(), row.expect("a row"))));
    }
    all
}

fn run(world: &World, actor: &str, lines: Vec<Value>) -> bool {
    world.json::<batch::Batch>(actor, json!({"operations": lines})).is_ok()
}

pub(crate) type Step = (u8, usize, usize, usize);

/// One random step; returns whether the operation was accepted.
pub(crate) fn apply_step(world: &World, (what, a, b, who): Step, leases: bool) -> bool {
    let known: Vec<String> = world.ok(&issue::List::default()).iter().map(|issue| issue.id.to_string()).collect();
    let actor = ACTORS[who % ACTORS.len()];
    let create = |more: Value| {
        let mut line = json!({"op": "issue.create", "title": format!("number {a} of {b}"), "issue_type": "task"});
        more.as_object().expect("an object").iter().for_each(|(key, value)| line[key] = value.clone());
        line
    };
    let pick = |n: usize| known.get(n % known.len().max(1)).cloned();
    let (Some(first), Some(second)) = (pick(a), pick(b)) else {
        return run(world, actor, vec![create(json!({"issue_type": "bug"}))]);
    };
    let ttl = if leases && b % 2 == 0 { json!("30m") } else { json!(null) };
    let on = |op: &str, mut fields: Value| {
        fields["op"] = json!(op);
        fields["id"] = json!(first);
        fields
    };
    let pair = |op: &str| json!({"op": op, "issue_id": first, "depends_on_id": second});
    let few = |prefix: &str, n: usize| format!("{prefix}{}", n % 3);
    let line = match what % 25 {
        0 => create(json!({"issue_type": "bug", "priority": "p1"})),
        1 => create(json!({"fixes": first})),
        2 => create(json!({"deps": [first], "assignee": actor})),
        3 => on("issue.update", json!({"title": format!("renamed {b}")})),
        4 => on("issue.update", json!({"priority": "p0", "description": format!("because {b}")})),
        5 => on("issue.update", json!({"assignee": ACTORS[b % 3]})),
        6 | 7 => on("issue.update", json!({"claim": true, "ttl": ttl})),
        8 => on("issue.release", json!({})),
        9 => on("issue.close", json!({"reason": "done", "force": b % 2 == 0})),
        10 => on("issue.reopen", json!({})),
        11 => on("comment.add", json!({"text": format!("said {b}")})),
        12 => pair("dep.add"),
        13 => pair("dep.remove"),
        14 => on("issue.delete", json!({"force": true})),
        16 => on("issue.update", json!({"add_labels": [few("l", b)], "remove_labels": [few("l", b + 1)]})),
        17 => on("issue.update", json!({"parent": if b % 4 == 0 { "" } else { second.as_str() }})),
        18 => on("issue.update", json!({"due": (["", "+3d"][b % 2]), "defer": (["+1d", "", "2026-02-01"][b % 3])})),
        19 => {
            let fields = json!({few("f", b): (["", "x"][b % 2])});
            on("issue.update", json!({"estimate": (["", "90m", "2d"][b % 3]), "fields": fields}))
        }
        20 => {
            let removed = if b % 4 == 0 { json!(["1"]) } else { json!([]) };
            on("issue.update", json!({"acceptance": [few("c", b)], "remove_acceptance": removed}))
        }
        21 => on("issue.accept", json!({"number": 1, "undo": b % 3 == 0})),
        22 => on("link.add", json!({"to": second, "kind": (["relates", "supersedes"][b % 2])})),
        23 => on("issue.close", json!({"duplicate_of": second, "force": true})),
        24 => json!({"op": "label.rename", "old": few("l", a), "new": few("l", b)}),
        _ => {
            let link = json!({"op": "dep.add", "issue_id": "@x", "depends_on_id": first});
            let remark = json!({"op": "comment.add", "id": first, "text": "see @x"});
            return run(world, actor, vec![create(json!({"as": "x"})), link, remark]);
        }
    };
    run(world, actor, vec![line])
}

/// Undoes by force, as an actor without claims.
fn undo(world: &World, mut fields: Value) -> pensa_core::Result<pensa_core::ops::undo::Undone> {
    fields["force"] = json!(true);
    world.json::<Undo>("mia", fields)
}

/// Redoes in the same way.
fn redo(world: &World, mut fields: Value) -> pensa_core::Result<pensa_core::ops::undo::Redone> {
    fields["force"] = json!(true);
    world.json::<Redo>("mia", fields)
}

/// The number of the last event.
fn last_event(world: &World) -> i64 {
    world.ok(&event::List::default()).end
}

pub(crate) fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec((any::<u8>(), 0usize..12, 0usize..12, 0usize..3), 1..most)
}

fn is_empty(world: &World) {
    assert_eq!(rows(world), []);
    assert!(world.ok(&store::Doctor { fix: false, deep: false }).findings.is_empty());
}

fn is_sound(world: &World) {
    let findings = world.ok(&store::Doctor { fix: false, deep: false }).findings;
    assert!(findings.iter().all(|finding| finding.check == "claim"), "{findings:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// Undoing an operation restores the state before it, and redoing it every column. After time has passed and leases
    /// have expired, undoing all operations at once leaves an empty store, and redoing that restores everything.
    #[test]
    fn each_operation_and_all_together_are_undone_and_redone(steps in steps(40)) {
        let world = World::sqlite();
        for step in steps {
            if step.0 >= 240 {
                world.advance(60 * 20);
                continue;
            }
            let before = rows(&world);
            if !apply_step(&world, step, true) || rows(&world) == before {
                continue;
            }
            let after = rows(&world);
            undo(&world, json!({"event": last_event(&world)})).expect("undone");
            prop_assert_eq!(&rows(&world), &before, "{:?}", step);
            redo(&world, json!({})).expect("redone");
            prop_assert_eq!(&rows(&world), &after, "{:?}", step);
            world.advance(1);
        }
        let all = rows(&world);
        if !all.is_empty() {
            undo(&world, json!({"since": "100d"})).expect("all of it");
            is_empty(&world);
            redo(&world, json!({})).expect("all of it again");
            prop_assert_eq!(rows(&world), all);
            is_sound(&world);
        }
    }

    /// Undoes one operation after the other, newest first, with undos among them.
    #[test]
    fn undoing_every_operation_newest_first_leaves_nothing(steps in steps(40)) {
        let world = World::sqlite();
        for step in steps {
            match step.0 {
                // Undo any earlier event by number: accepted or refused, the store must stay healthy.
                220..=250 => match undo(&world, json!({"event": step.1 * 3 + step.2})) {
                    Ok(_) => is_sound(&world),
                    Err(error) => prop_assert!([Code::Conflict, Code::NotFound, Code::CycleDetected].contains(&error.code), "{}", error),
                },
                251.. => drop(undo(&world, json!({"any": true}))),
                _ => drop(apply_step(&world, step, false)),
            }
        }
        match undo(&world, json!({"since": "100d", "dry_run": true})) {
            Ok(tried) => {
                let mut operations: Vec<_> = tried.undone.iter().map(|one| (one.op, one.event_type == "undone")).collect();
                operations.dedup();
                for (op, is_undo) in operations {
                    let fields = json!({"event": op});
                    let reversed = if is_undo { redo(&world, fields).map(drop) } else { undo(&world, fields).map(drop) };
                    reversed.expect("nothing later is left");
                    is_sound(&world);
                }
            }
            Err(error) => prop_assert_eq!(error.code, Code::NotFound, "{}", error),
        }
        is_empty(&world);
    }
}
