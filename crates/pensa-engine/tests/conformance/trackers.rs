//! Imports of other trackers' issues: one transaction, updated part by part, never a cycle.

use pensa_core::event::LogEntry;
use pensa_core::id::IssueId;
use pensa_core::issue::{Issue, Status};
use pensa_core::ops::tracker::{ExportIssues, ImportIssues, ImportedItem, ItemOutcome, WholeIssue};
use pensa_core::ops::{dep, issue, kv, learning, store};
use pensa_core::{Access, Code};
use pensa_engine::{Caller, log_after};
use serde_json::{Value, json};

use crate::conformance;
use crate::world::World;

fn import(world: &World, items: &[Value]) -> Vec<ImportedItem> {
    world.json::<ImportIssues>("ana", json!({"from": "beads", "items": items})).expect("an answer")
}

fn outcomes(results: &[ImportedItem]) -> Vec<ItemOutcome> {
    results.iter().map(|result| result.outcome).collect()
}

fn given(id: &str, more: Value) -> Value {
    let mut item = json!({"kind": "issue", "id": id, "key": id, "title": format!("do {id}"), "issue_type": "task",
        "status": "open", "priority": "p2", "created_at": "2024-01-15T10:30:00Z", "updated_at": "2024-01-16T10:30:00Z"});
    if let (Value::Object(item), Value::Object(more)) = (&mut item, more) {
        item.extend(more);
    }
    item
}

fn shown(world: &World, id: &str) -> Issue {
    world.json::<issue::Show>("ana", json!({"id": id})).expect("shown").issue
}

fn whole(world: &World) -> Vec<WholeIssue> {
    world.ok(&ExportIssues::default())
}

fn is_healthy(world: &World) {
    let findings = world.ok(&store::Doctor { fix: false, deep: true }).findings;
    assert!(findings.iter().all(|finding| finding.check == "drift"), "{findings:?}");
}

fn log_length(world: &World) -> usize {
    let log: Vec<LogEntry> =
        world.engine.run(Access::Read, &Caller::local("ana"), |_, tx| log_after(tx, 0, 10_000)).expect("a log");
    log.len()
}

use ItemOutcome::{Created, Skipped, Unchanged, Updated};

conformance! {
    fn issues_of_a_tracker_come_once_with_all_that_belongs_to_them(world: World) {
        let items = [
            given("bd-1", json!({"parent": "bd-2", "deps": ["bd-3"], "links": [{"kind": "relates", "to": "bd-3"}],
                "labels": ["b", "a"], "due": "2024-03-01", "estimate": "90m", "acceptance": [{"text": "works", "done": true}],
                "refs": ["gh:9"], "comments": [{"key": "1", "author": "bob", "text": "said", "at": "2024-01-15T11:00:00Z"}],
                "raw": {"design": "d"}})),
            given("bd-2", json!({})),
            given("bd-3", json!({"status": "closed", "closed_at": "2024-01-16T10:30:00Z", "close_reason": "done"})),
            json!({"kind": "memory", "key": "k", "text": "remember this"}),
            json!({"kind": "tombstone", "id": "bd-4", "line": "{}"}),
        ];
        assert_eq!(outcomes(&import(&world, &items)), [Created; 5]);
        let all = whole(&world);
        assert_eq!(all.iter().map(|one| one.issue.id.as_str()).collect::<Vec<_>>(), ["bd-1", "bd-2", "bd-3"]);
        let first = &all[0];
        assert_eq!((first.deps.len(), first.refs.join(" "), first.comments[0].actor.as_str()), (1, "gh:9".into(), "bob"));
        assert_eq!((first.issue.labels.join(" "), first.issue.links.len()), ("a b".into(), 1));
        assert_eq!(first.issue.extra["beads"]["raw"], json!({"design": "d"}));
        assert_eq!(all[2].issue.close_reason.as_deref(), Some("done"));
        let events = log_length(&world);
        assert_eq!(outcomes(&import(&world, &items)), [Unchanged; 5]);
        assert_eq!((whole(&world), log_length(&world)), (all, events), "nothing happens");
        assert_eq!(world.ok(&learning::List::default()).len(), 1);
        let pages: Vec<IssueId> = [None, Some("bd-1")]
            .into_iter()
            .flat_map(|after| world.json::<ExportIssues>("a", json!({"after": after, "limit": 1})).expect("a page"))
            .map(|one| one.issue.id)
            .collect();
        assert_eq!(pages.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["bd-1", "bd-2"]);
        is_healthy(&world);
    }

    fn a_changed_part_comes_and_what_changed_here_stays(world: World) {
        import(&world, &[given("bd-1", json!({"labels": ["a"]})), given("bd-2", json!({})), given("bd-3", json!({}))]);
        world.json::<issue::Update>("ana", json!({"id": "bd-1", "title": "named here"})).expect("updated");
        world.json::<issue::Delete>("ana", json!({"id": "bd-3"})).expect("deleted");
        let results = import(&world, &[
            given("bd-1", json!({"labels": ["a"], "description": "new", "deps": ["bd-2"]})),
            given("bd-2", json!({})),
            given("bd-3", json!({"title": "again"})),
        ]);
        assert_eq!(outcomes(&results), [Updated, Unchanged, Skipped]);
        let first = shown(&world, "bd-1");
        assert_eq!((first.title.as_str(), first.description.as_deref()), ("named here", Some("new")));
        assert_eq!(whole(&world)[0].deps.len(), 1);
        let results = import(&world, &[given("bd-1", json!({"labels": ["b"], "title": "named there"}))]);
        assert_eq!(outcomes(&results), [Updated]);
        let first = shown(&world, "bd-1");
        assert_eq!((first.title.as_str(), first.description.as_deref(), first.labels.join(" ")), ("named there", None, "b".into()));
        assert!(whole(&world)[0].deps.is_empty(), "the tracker has removed it");
        is_healthy(&world);
    }

    fn nothing_closes_a_cycle_or_leads_nowhere(world: World) {
        let results = import(&world, &[
            given("bd-1", json!({"deps": ["bd-2", "bd-9"]})),
            given("bd-2", json!({"deps": ["bd-3"]})),
            given("bd-3", json!({"deps": ["bd-1"], "parent": "bd-8"})),
            given("bd-4", json!({"parent": "bd-5", "deps": ["bd-5"]})),
            given("bd-5", json!({"deps": ["bd-5"]})),
        ]);
        assert_eq!(outcomes(&results), [Created; 5]);
        assert_eq!(results[0].missing.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["bd-9"]);
        assert_eq!(results.iter().map(|result| result.problems.len()).collect::<Vec<_>>(), [1, 0, 2, 1, 1]);
        assert_eq!(world.ok(&dep::Cycles {}), Vec::<Vec<IssueId>>::new());
        assert_eq!(shown(&world, "bd-4").parent.map(|id| id.to_string()).as_deref(), Some("bd-5"));
        // A dependency that was made here and one that turned round there.
        world.json::<dep::Add>("ana", json!({"issue_id": "bd-5", "depends_on_id": "bd-1"})).expect("added");
        let results = import(&world, &[given("bd-1", json!({"deps": ["bd-5"]})), given("bd-2", json!({"deps": ["bd-1"]}))]);
        assert_eq!((outcomes(&results), results[0].problems.len()), (vec![Updated, Updated], 1));
        assert_eq!(world.ok(&dep::Cycles {}), Vec::<Vec<IssueId>>::new());
        is_healthy(&world);
    }

    fn ids_of_others_are_not_taken_and_invalid_issues_are_skipped(world: World) {
        let here = world.task("made here");
        import(&world, &[given("bd-1", json!({}))]);
        let results = import(&world, &[
            given(here.id.as_str(), json!({})),
            given("bd-1", json!({"key": "other"})),
            given("bd-2", json!({"title": " "})),
            given("bd-3", json!({"labels": ["x".repeat(501)]})),
            given("bd-4", json!({})),
            given("bd-4", json!({"title": "twice"})),
        ]);
        assert_eq!(outcomes(&results), [Skipped, Skipped, Skipped, Skipped, Created, Skipped]);
        assert!(results.iter().all(|result| (result.outcome == Created) == result.problems.is_empty()), "{results:?}");
        assert_eq!(shown(&world, here.id.as_str()), here);
    }

    fn a_dry_run_tells_the_same_and_leaves_nothing(world: World) {
        let items = [given("bd-1", json!({"deps": ["bd-2"]})), given("bd-2", json!({}))];
        let dry = world.json::<ImportIssues>("ana", json!({"from": "beads", "items": items, "dry_run": true}));
        let events = log_length(&world);
        assert!(whole(&world).is_empty());
        assert_eq!(import(&world, &items), dry.expect("an answer"));
        assert!(log_length(&world) > events);
        is_healthy(&world);
    }

    fn an_issue_deleted_there_is_closed_here_and_its_line_kept(world: World) {
        import(&world, &[given("bd-1", json!({}))]);
        let gone = json!({"kind": "tombstone", "id": "bd-1", "line": "{\"id\":\"bd-1\"}"});
        assert_eq!(outcomes(&import(&world, std::slice::from_ref(&gone))), [Created]);
        assert_eq!(shown(&world, "bd-1").status, Status::Closed);
        assert_eq!(outcomes(&import(&world, std::slice::from_ref(&gone))), [Unchanged]);
        let pair = world.json::<kv::Get>("a", json!({"scope": "project", "key": "beads/deleted/bd-1"})).expect("kept");
        assert_eq!(pair.value, "{\"id\":\"bd-1\"}");
        let many: Vec<Value> = (0..20_001).map(|number| json!({"kind": "memory", "key": number.to_string(), "text": "t"})).collect();
        assert_eq!(world.refused::<ImportIssues>("a", json!({"from": "beads", "items": many})), Code::TooLarge);
        is_healthy(&world);
    }
}
