//! The lifecycle of an issue: created, claimed, changed, closed, deleted.

use pensa_core::Code;
use pensa_core::issue::Status;
use pensa_core::ops::{comment, issue};
use serde_json::json;

use crate::conformance;
use crate::world::World;

conformance! {
    fn claim_by_second_agent_is_refused_and_names_the_holder(world: World) {
        let task = world.task("a");
        world.json::<issue::Update>("alice", json!({"id": task.id, "claim": true})).expect("claimed");
        let error = world.json::<issue::Update>("bob", json!({"id": task.id, "claim": true})).expect_err("held");
        assert_eq!(error.code, Code::AlreadyClaimed);
        assert!(error.message.contains("alice"), "{error}");
        world.json::<issue::Release>("alice", json!({"id": task.id})).expect("released");
        let taken = world.json::<issue::Update>("bob", json!({"id": task.id, "claim": true})).expect("free");
        assert_eq!(taken.issue.assignee.as_deref(), Some("bob"));
    }

    fn an_update_on_a_condition_is_refused_once_the_issue_changed(world: World) {
        let task = world.task("a");
        let on = |title: &str| json!({"id": task.id, "title": title, "if_updated_at": task.updated_at});
        world.advance(5);
        world.json::<issue::Update>("alice", on("b")).expect("unchanged");
        let error = world.json::<issue::Update>("bob", on("c")).expect_err("changed by alice");
        assert_eq!(error.code, Code::Conflict);
        assert!(error.hint.is_some_and(|hint| hint.contains(task.id.as_str())), "{}", error.message);
        let only = json!({"id": task.id, "if_updated_at": task.updated_at});
        assert_eq!(world.refused::<issue::Update>("bob", only), Code::Conflict);
        assert_eq!(world.events(&task), ["created", "updated"]);
    }

    fn claiming_again_is_refused_even_under_the_same_name(world: World) {
        let task = world.task("a");
        world.json::<issue::Update>("alice", json!({"id": task.id, "claim": true})).expect("claimed");
        world.advance(5);
        let error = world.json::<issue::Update>("alice", json!({"id": task.id, "claim": true})).expect_err("claimed");
        assert_eq!(error.code, Code::AlreadyClaimed);
        assert!(error.message.contains("held by alice since 2026-02-27T14:30:00.000Z"), "{error}");
        let hint = error.hint.unwrap_or_default();
        let (renews, gives_back) = (format!("pn heartbeat {}", task.id), format!("pn release {}", task.id));
        assert!(hint.contains(&renews) && hint.contains(&gives_back), "{hint}");
        assert_eq!(world.events(&task), ["created", "claimed"]);
        let by_hand = world.task("b");
        world.json::<issue::Update>("alice", json!({"id": by_hand.id, "status": "in_progress"})).expect("started");
        assert_eq!(world.refused::<issue::Update>("alice", json!({"id": by_hand.id, "claim": true})), Code::AlreadyClaimed);
    }

    fn a_claim_with_other_fields_applies_all_or_nothing(world: World) {
        let task = world.task("a");
        world.json::<issue::Update>("bob", json!({"id": task.id, "claim": true})).expect("claimed");
        let before = world.show(&task);
        assert_eq!(
            world.refused::<issue::Update>("alice", json!({"id": task.id, "claim": true, "title": "b"})),
            Code::AlreadyClaimed
        );
        let free = world.task("free");
        assert_eq!(
            world.refused::<issue::Update>("alice", json!({"id": free.id, "claim": true, "title": ""})),
            Code::InvalidInput
        );
        assert_eq!(world.show(&task), before);
        assert_eq!(world.status(&free), Status::Open);
        let both = world.json::<issue::Update>("alice", json!({"id": free.id, "claim": true, "priority": "p0"}));
        assert_eq!(both.expect("both").issue.assignee.as_deref(), Some("alice"));
        assert_eq!(world.events(&free), ["created", "claimed", "updated"]);
    }

    fn unclaim_is_open_without_assignee(world: World) {
        let (one, two) = (world.task("one"), world.task("two"));
        for task in [&one, &two] {
            world.json::<issue::Update>("alice", json!({"id": task.id, "claim": true})).expect("claimed");
        }
        let short = world.json::<issue::Update>("alice", json!({"id": one.id, "unclaim": true})).expect("released");
        let long = world.json::<issue::Update>("alice", json!({"id": two.id, "status": "open", "assignee": ""}));
        let long = long.expect("released");
        assert_eq!((short.issue.status, &short.issue.assignee), (Status::Open, &None));
        assert_eq!((long.issue.status, &long.issue.assignee), (Status::Open, &None));
    }

    fn every_way_of_closing_a_fix_closes_its_bug(world: World) {
        for way in [json!({"close": true}), json!({"status": "closed"})] {
            let bug = world.create(json!({"issue_type": "bug"}));
            let fix = world.create(json!({"fixes": bug.id}));
            if way.get("close").is_some() {
                world.json::<issue::Close>("bob", json!({"id": fix.id})).expect("closed");
            } else {
                world.json::<issue::Update>("bob", json!({"id": fix.id, "status": "closed"})).expect("closed");
            }
            let bug = world.show(&bug);
            assert_eq!(bug.status, Status::Closed);
            assert_eq!(bug.close_reason, Some(format!("fixed by {}", fix.id)));
            assert!(bug.closed_at.is_some());
        }
    }

    fn only_a_bug_can_be_fixed(world: World) {
        let task = world.task("a");
        let fields = json!({"title": "b", "issue_type": "task", "fixes": task.id});
        assert_eq!(world.refused::<issue::Create>("alice", fields), Code::InvalidInput);
    }

    fn reopening_clears_how_it_was_closed(world: World) {
        let task = world.task("a");
        world.json::<issue::Close>("alice", json!({"id": task.id, "reason": "done"})).expect("closed");
        let open = world.json::<issue::Reopen>("alice", json!({"id": task.id, "reason": "not so"})).expect("open");
        assert_eq!((open.status, open.closed_at, open.close_reason), (Status::Open, None, None));
        assert_eq!(world.refused::<issue::Reopen>("alice", json!({"id": task.id})), Code::InvalidStatusTransition);
    }

    fn updated_at_moves_only_when_something_changes(world: World) {
        let task = world.task("a");
        world.advance(60);
        let same = world.json::<issue::Update>("alice", json!({"id": task.id, "title": "a"})).expect("no change");
        assert_eq!(same.issue.updated_at, task.updated_at);
        let other = world.json::<issue::Update>("alice", json!({"id": task.id, "title": "b"})).expect("a change");
        assert!(other.issue.updated_at > task.updated_at);
        assert_eq!(world.refused::<issue::Update>("alice", json!({"id": task.id})), Code::InvalidInput);
    }

    fn deleting_an_issue_with_dependents_needs_force(world: World) {
        let bug = world.create(json!({"title": "bug", "issue_type": "bug"}));
        let fix = world.create(json!({"title": "fix", "fixes": bug.id}));
        let child = world.create(json!({"title": "child", "deps": [fix.id]}));
        world.json::<comment::Add>("alice", json!({"id": child.id, "text": "hm"})).expect("said");
        for needed in [&bug, &fix, &child] {
            assert_eq!(world.refused::<issue::Delete>("alice", json!({"id": needed.id})), Code::Conflict);
        }
        for needed in [&bug, &fix, &child] {
            let gone = world.json::<issue::Delete>("alice", json!({"id": needed.id, "force": true})).expect("gone");
            assert_eq!(gone.status, "deleted");
            assert_eq!(world.refused::<issue::Show>("alice", json!({"id": needed.id})), Code::NotFound);
            if needed.id == bug.id {
                assert_eq!(world.show(&fix).fixes, None);
            }
            if needed.id == fix.id {
                assert_eq!(world.ready(), ["child"]);
            }
        }
    }

    fn an_issue_without_dependents_is_deleted_without_force(world: World) {
        let parent = world.task("parent");
        let child = world.create(json!({"title": "child", "deps": [parent.id]}));
        world.json::<issue::Delete>("alice", json!({"id": child.id})).expect("nobody minds");
        world.json::<issue::Delete>("alice", json!({"id": parent.id})).expect("nor now");
    }

    fn similar_open_titles_are_reported_and_never_refused(world: World) {
        let first = world.task("login crash on empty password");
        let fields = json!({"title": "Login crashes with an empty password", "issue_type": "bug"});
        let second = world.json::<issue::Create>("bob", fields.clone()).expect("made all the same");
        assert_eq!(second.similar.iter().map(|s| &s.id).collect::<Vec<_>>(), [&first.id]);
        world.json::<issue::Close>("bob", json!({"id": first.id})).expect("closed");
        world.json::<issue::Update>("bob", json!({"id": second.issue.id, "title": "another matter"})).expect("renamed");
        let third = world.json::<issue::Create>("bob", fields).expect("made");
        assert_eq!(third.similar, []);
    }

    fn ids_in_use_are_not_assigned_again(world: World) {
        let made: Vec<String> = (0..20).map(|n| world.task(&format!("t{n}")).id.to_string()).collect();
        let mut distinct = made.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), made.len());
    }
}
