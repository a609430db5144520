//! Batches: all operations happen, or none.

use pensa_core::ops::batch::Batch;
use pensa_core::ops::{issue, learning};
use pensa_core::{Access, Code};
use pensa_engine::catalog;
use serde_json::json;

use crate::conformance;
use crate::world::World;

conformance! {
    fn later_lines_refer_to_results_of_earlier_ones(world: World) {
        let results = world.json::<Batch>("alice", json!({"operations": [
            {"op": "issue.create", "title": "login", "issue_type": "task", "as": "login"},
            {"op": "issue.create", "title": "@login", "issue_type": "task", "deps": ["@login"], "as": "form"},
            {"op": "comment.add", "id": "@form", "text": "@login"},
            {"op": "issue.update", "id": "@login", "claim": true},
            {"op": "issue.show", "id": "@form"},
        ]})).expect("all of them");
        assert_eq!(results.len(), 5);
        assert_eq!(results[4]["title"], "@login", "only references are replaced");
        assert_eq!(results[4]["deps"][0]["id"], results[0]["id"]);
        assert_eq!(results[3]["assignee"], "alice");
    }

    fn one_failure_rolls_back_the_batch_and_names_the_line(world: World) {
        let bad = [
            json!({"op": "issue.show", "id": "pn-nope"}),
            json!({"op": "issue.create", "title": ""}),
            json!({"op": "issue.create", "title": "x", "issue_type": "task", "wrong": 1}),
            json!({"op": "no.such"}),
            json!({"op": "batch", "operations": []}),
            json!({"op": "store.export"}),
            json!({"title": "no op"}),
            json!({"op": 5}),
            json!({"op": "dep.add", "issue_id": "@a", "depends_on_id": "@b"}),
            json!({"op": "issue.list", "as": "many"}),
        ];
        for line in bad {
            let error = world.json::<Batch>("alice", json!({"operations": [
                {"op": "issue.create", "title": "a", "issue_type": "task", "as": "a"}, line
            ]})).expect_err("the second line is bad");
            assert!(error.message.starts_with("line 2: "), "{error}");
            assert!(world.ok(&issue::List::default()).is_empty(), "{line}");
        }
    }

    fn every_change_of_a_store_is_allowed_in_a_batch(world: World) {
        let results = world.json::<Batch>("alice", json!({"operations": [
            {"op": "issue.create", "title": "login", "issue_type": "task", "as": "login"},
            {"op": "learning.remember", "text": "cookies expire", "issue": "@login"},
            {"op": "agent.create", "type": "user", "name": "bot"},
            {"op": "session.append", "id": "bot", "entries": [{"type": "note", "text": "hm"}]},
            {"op": "kv.set", "scope": "user", "key": "k", "value": "v"},
            {"op": "record.put", "collection": "c", "id": "r", "data": {"n": 1}},
            {"op": "work.start", "what": "@login", "steps": ["look"]},
            {"op": "signal.send", "type": "info", "to": "type:code"},
            {"op": "loop.create", "type": "plan", "prompt_path": "p", "validation_command": "true"},
            {"op": "release.ship", "name": "n", "version": "1", "issues": ["@login"]},
            {"op": "skill.set", "name": "n", "skills": ["s"]},
            {"op": "lock.acquire", "name": "l", "ttl": "1m"},
        ]})).expect("all of them");
        assert_eq!(results.len(), 12);
        let known = world.ok(&learning::List::default());
        assert_eq!((known.len(), known[0].learning.text.as_str()), (1, "cookies expire"));
        let error = world.json::<Batch>("alice", json!({"operations": [
            {"op": "learning.remember", "text": "kept only with the rest"}, {"op": "issue.close", "id": "pn-nope"},
        ]})).expect_err("the second line is bad");
        assert!(error.message.starts_with("line 2: "), "{error}");
        assert_eq!(world.ok(&learning::List::default()).len(), 1, "all of them or none");
    }

    fn operations_outside_of_transactions_are_refused_in_a_batch(world: World) {
        let outside = |name: &str| {
            let nouns = ["store.", "snapshot.", "project.", "token.", "sync.", "audit."];
            let files = [
                "agent.import", "job.import", "skill.import", "learning.take", "loop.take", "signal.take", "import.records",
            ];
            let processes = ["job.settle", "loop.recover"];
            let itself = ["batch", "undo", "record.compact"];
            nouns.iter().any(|noun| name.starts_with(noun))
                || [&files[..], &processes, &itself].concat().contains(&name)
        };
        for entry in catalog().iter().filter(|entry| entry.access != Access::Read) {
            let error = world.json::<Batch>("alice", json!({"operations": [{"op": entry.name, "no_such_field": 1}]}));
            let error = error.expect_err("a field that is none");
            let is_refused = error.message.contains("no operation");
            assert_eq!(is_refused, outside(entry.name), "{}: {error}", entry.name);
        }
    }

    fn a_batch_has_a_limit(world: World) {
        let many: Vec<_> = (0..10_001).map(|_| json!({"op": "issue.list"})).collect();
        assert_eq!(world.refused::<Batch>("alice", json!({"operations": many})), Code::TooLarge);
        assert!(world.json::<Batch>("alice", json!({"operations": []})).expect("nothing to do").is_empty());
    }
}
