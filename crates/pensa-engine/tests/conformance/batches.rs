//! Many operations as one: all of them, or none.

use pensa_core::Code;
use pensa_core::ops::batch::Batch;
use pensa_core::ops::issue;
use serde_json::json;

use crate::conformance;
use crate::world::World;

conformance! {
    fn later_lines_refer_to_what_earlier_ones_made(world: World) {
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

    fn one_failure_undoes_everything_and_names_the_line(world: World) {
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

    fn a_batch_has_a_limit(world: World) {
        let many: Vec<_> = (0..10_001).map(|_| json!({"op": "issue.list"})).collect();
        assert_eq!(world.refused::<Batch>("alice", json!({"operations": many})), Code::TooLarge);
        assert!(world.json::<Batch>("alice", json!({"operations": []})).expect("nothing to do").is_empty());
    }
}
