//! Dependencies: what is ready, what is blocked, and no cycles.

use std::collections::{BTreeMap, BTreeSet};

use pensa_core::Code;
use pensa_core::ops::{dep, issue};
use proptest::prelude::*;
use serde_json::json;

use crate::conformance;
use crate::world::{World, titles};

conformance! {
    fn a_blocked_issue_is_ready_when_its_last_blocker_closes(world: World) {
        let (a, b) = (world.task("a"), world.task("b"));
        world.create(json!({"title": "c", "deps": [a.id, b.id]}));
        assert_eq!(world.ready(), ["a", "b"]);
        assert_eq!(world.blocked(), ["c"]);
        world.json::<issue::Close>("alice", json!({"id": a.id})).expect("closed");
        assert_eq!(world.blocked(), ["c"]);
        world.json::<issue::Close>("alice", json!({"id": b.id})).expect("closed");
        assert_eq!((world.ready(), world.blocked()), (vec!["c".into()], vec![]));
        world.json::<issue::Reopen>("alice", json!({"id": b.id})).expect("open again");
        assert_eq!(world.blocked(), ["c"]);
    }

    fn ready_is_sorted_by_priority_then_age_and_excludes_bugs(world: World) {
        world.create(json!({"title": "old p2"}));
        world.advance(1);
        world.create(json!({"title": "new p2"}));
        world.create(json!({"title": "p0", "priority": "p0", "issue_type": "chore"}));
        world.create(json!({"title": "bug", "priority": "p0", "issue_type": "bug"}));
        world.create(json!({"title": "test", "priority": "p1", "issue_type": "test", "spec": "auth"}));
        assert_eq!(world.ready(), ["p0", "test", "old p2", "new p2"]);
        let some = world.ok(&issue::Ready { limit: Some(2), ..Default::default() });
        assert_eq!(titles(&some), ["p0", "test"]);
        let auth = world.ok(&issue::Ready { spec: Some("auth".into()), ..Default::default() });
        assert_eq!(titles(&auth), ["test"]);
    }

    fn a_cycle_is_refused_at_any_length(world: World) {
        let chain: Vec<_> = (0..6).map(|n| world.task(&format!("t{n}"))).collect();
        for pair in chain.windows(2) {
            world.link(&pair[1], &pair[0]);
        }
        for (child, parent) in [(0, 5), (0, 1), (2, 4), (3, 3)] {
            let fields = json!({"issue_id": chain[child].id, "depends_on_id": chain[parent].id});
            assert_eq!(world.refused::<dep::Add>("alice", fields), Code::CycleDetected);
        }
        world.link(&chain[5], &chain[0]);
        assert!(world.ok(&dep::Cycles {}).is_empty());
    }

    fn a_cycle_is_refused_in_a_chain_too_long_to_walk_row_by_row(world: World) {
        let lines: Vec<_> = (0..1500).map(|n| {
            let deps = if n == 0 { json!([]) } else { json!([format!("@{}", n - 1)]) };
            json!({"op": "issue.create", "title": "t", "issue_type": "task", "deps": deps, "as": n.to_string()})
        }).collect();
        let made = world.json::<pensa_core::ops::batch::Batch>("alice", json!({"operations": lines})).expect("made");
        let add = |child: usize, parent: usize| {
            world.json::<dep::Add>("alice", json!({"issue_id": made[child]["id"], "depends_on_id": made[parent]["id"]}))
        };
        for (child, parent) in [(0, 1499), (700, 800), (1, 1498)] {
            assert_eq!(add(child, parent).expect_err("a cycle").code, Code::CycleDetected);
        }
        for (child, parent) in [(1499, 0), (760, 740), (1498, 1)] {
            add(child, parent).expect("no cycle");
        }
    }

    fn adding_a_dependency_twice_changes_nothing(world: World) {
        let (a, b) = (world.task("a"), world.task("b"));
        world.link(&b, &a);
        world.link(&b, &a);
        assert_eq!(world.events(&b), ["created", "dep_added"]);
        world.json::<issue::Close>("alice", json!({"id": a.id})).expect("closed");
        assert_eq!(world.ready(), ["b"]);
        let fields = json!({"issue_id": b.id, "depends_on_id": a.id});
        world.json::<dep::Remove>("alice", fields.clone()).expect("removed");
        assert_eq!(world.refused::<dep::Remove>("alice", fields), Code::NotFound);
    }

    fn a_tree_is_flat_in_pre_order_and_expands_a_node_once(world: World) {
        let root = world.task("root");
        let left = world.create(json!({"title": "left", "deps": [root.id], "priority": "p1"}));
        let right = world.create(json!({"title": "right", "deps": [root.id]}));
        let foot = world.create(json!({"title": "foot", "deps": [left.id, right.id]}));
        world.create(json!({"title": "toe", "deps": [foot.id]}));
        let down = world.ok(&dep::Tree { id: (&root.id).into(), direction: dep::Direction::Down });
        let drawn: Vec<_> = down.iter().map(|n| (n.title.as_str(), n.depth, n.repeated)).collect();
        assert_eq!(
            drawn,
            [("root", 0, false), ("left", 1, false), ("foot", 2, false), ("toe", 3, false), ("right", 1, false), ("foot", 2, true)]
        );
        assert_eq!(down[0].parent, None);
        assert_eq!(down[5].parent, Some(right.id.clone()));
        let up = world.ok(&dep::Tree { id: (&foot.id).into(), direction: dep::Direction::Up });
        assert_eq!(up.iter().map(|n| n.title.as_str()).collect::<Vec<_>>(), ["foot", "left", "root", "right", "root"]);
    }
}

/// A model of the graph as sets, to compare with the engine's derived counts.
#[derive(Default)]
struct Model {
    open: BTreeMap<String, bool>,
    deps: BTreeSet<(String, String)>,
}

impl Model {
    fn waits(&self, id: &str) -> bool {
        self.deps.iter().any(|(child, parent)| child == id && self.open[parent])
    }

    fn ready(&self) -> BTreeSet<String> {
        self.open.iter().filter(|(id, open)| **open && !self.waits(id)).map(|(id, _)| id.clone()).collect()
    }

    fn blocked(&self) -> BTreeSet<String> {
        self.open.iter().filter(|(id, open)| **open && self.waits(id)).map(|(id, _)| id.clone()).collect()
    }
}

fn ids(issues: &[pensa_core::issue::Issue]) -> BTreeSet<String> {
    issues.iter().map(|issue| issue.id.to_string()).collect()
}

/// One random step: an action and two issues.
fn apply_step(world: &World, model: &mut Model, (what, a, b): (u8, usize, usize)) {
    let known: Vec<String> = model.open.keys().cloned().collect();
    let pick = |n: usize| known.get(n % known.len().max(1)).cloned();
    let (Some(first), Some(second)) = (pick(a), pick(b)) else {
        let id = world.task("t").id.to_string();
        model.open.insert(id, true);
        return;
    };
    let pair = json!({"issue_id": first, "depends_on_id": second});
    match what % 7 {
        0 | 1 => {
            let made = world.create(json!({"title": "t", "deps": [first]})).id.to_string();
            model.deps.insert((made.clone(), first));
            model.open.insert(made, true);
        }
        2 => {
            if world.json::<dep::Add>("alice", pair).is_ok() {
                model.deps.insert((first, second));
            }
        }
        3 => {
            let was = model.deps.remove(&(first, second));
            assert_eq!(world.json::<dep::Remove>("alice", pair).is_ok(), was);
        }
        4 => {
            let closed = world.json::<issue::Close>("alice", json!({"id": first})).is_ok();
            assert_eq!(model.open.insert(first, false), Some(closed));
        }
        5 => {
            let reopened = world.json::<issue::Reopen>("alice", json!({"id": first})).is_ok();
            assert_eq!(model.open.insert(first, true), Some(!reopened));
        }
        _ => {
            world.json::<issue::Delete>("alice", json!({"id": first, "force": true})).expect("deleted");
            model.open.remove(&first);
            model.deps.retain(|(child, parent)| *child != first && *parent != first);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// After any steps, the derived counts agree with the graph itself.
    #[test]
    fn ready_and_blocked_equal_a_simple_model(steps in proptest::collection::vec((any::<u8>(), 0usize..20, 0usize..20), 1..60)) {
        let world = World::sqlite();
        let mut model = Model::default();
        for step in steps {
            apply_step(&world, &mut model, step);
            prop_assert_eq!(ids(&world.ok(&issue::Ready::default())), model.ready());
            prop_assert_eq!(ids(&world.ok(&issue::Blocked::default())), model.blocked());
        }
        let cycles = world.ok(&dep::Cycles {});
        prop_assert!(cycles.is_empty());
        let report = world.ok(&pensa_core::ops::store::Doctor { fix: false, deep: false });
        prop_assert!(report.findings.is_empty(), "{:?}", report.findings);
    }
}
