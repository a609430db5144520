//! Undo and redo: what they restore, what is refused, and what is logged.

use pensa_core::issue::{Issue, Origin, Status};
use pensa_core::ops::undo::{List, Redo, Redone, Undo, Undone};
use pensa_core::ops::{agent, batch, comment, dep, issue, lock, store};
use pensa_core::{Code, Error, Result};
use pensa_engine::Caller;
use serde_json::{Value, json};

use crate::conformance;
use crate::world::World;

fn undo(world: &World, fields: Value) -> Result<Undone> {
    world.json::<Undo>("alice", fields)
}

/// Undoes the last operation of anybody by force.
fn undo_last(world: &World) -> Undone {
    undo(world, json!({"any": true, "force": true})).expect("undone")
}

/// Redoes the last undo.
fn redo_last(world: &World) -> Redone {
    world.json::<Redo>("alice", json!({"force": true})).expect("redone")
}

/// The number of an issue's last event.
fn last_event(world: &World, issue: &Issue) -> i64 {
    world.ok(&issue::History { id: (&issue.id).into(), limit: Some(1) })[0].id
}

/// All data of the store, except the log and the times of the last change.
fn state(world: &World) -> Vec<Value> {
    world
        .ok(&issue::List::default())
        .iter()
        .map(|issue| {
            let mut whole = json!(world.ok(&issue::Show { id: (&issue.id).into() }));
            whole.as_object_mut().expect("an object").remove("updated_at");
            for list in ["deps", "blocks", "fixed_by"] {
                for other in whole.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                    other.as_object_mut().expect("an object").remove("updated_at");
                }
            }
            whole
        })
        .chain([json!(world.ready()), json!(world.blocked())])
        .collect()
}

fn is_healthy(world: &World) {
    let findings = world.ok(&store::Doctor { fix: false, deep: false }).findings;
    let bad: Vec<_> = findings.iter().filter(|finding| !["claim", "drift"].contains(&finding.check.as_str())).collect();
    assert!(bad.is_empty(), "{bad:?}");
}

/// Undoes and redoes: the state before, then the state after.
fn undo_and_redo(world: &World, before: &[Value]) {
    let after = state(world);
    world.advance(1);
    undo_last(world);
    assert_eq!(state(world), before);
    is_healthy(world);
    redo_last(world);
    assert_eq!(state(world), after);
    is_healthy(world);
    undo_last(world);
    assert_eq!(state(world), before);
}

fn conflict(outcome: Result<Undone>) -> Error {
    let error = outcome.expect_err("refused");
    assert_eq!(error.code, Code::Conflict, "{error}");
    error
}

conformance! {
    fn every_single_operation_can_be_undone_and_redone(world: World) {
        let bug = world.create(json!({"title": "bug", "issue_type": "bug"}));
        let (one, two) = (world.task("one"), world.task("two"));
        world.link(&two, &one);
        let fix = world.create(json!({"title": "fix", "fixes": bug.id, "deps": [two.id], "description": "why"}));
        world.json::<comment::Add>("bob", json!({"id": fix.id, "text": "seen"})).expect("said");
        world.json::<issue::Update>("bob", json!({"id": two.id, "claim": true, "ttl": "1h"})).expect("claimed");
        let shut = world.task("shut");
        world.json::<issue::Close>("bob", json!({"id": shut.id, "reason": "done"})).expect("closed");
        let steps = [
            ("issue.create", json!({"title": "new", "issue_type": "task", "fixes": bug.id, "deps": [one.id, two.id]})),
            ("issue.update", json!({"id": one.id, "title": "uno", "description": "d", "priority": "p0", "assignee": "ana"})),
            ("issue.update", json!({"id": one.id, "claim": true, "ttl": "30m"})),
            ("issue.release", json!({"id": two.id})),
            ("issue.close", json!({"id": fix.id, "reason": "and its bug"})),
            ("issue.close", json!({"id": one.id, "reason": "others wait for it"})),
            ("issue.reopen", json!({"id": shut.id, "reason": "no"})),
            ("comment.add", json!({"id": fix.id, "text": "more"})),
            ("dep.add", json!({"issue_id": fix.id, "depends_on_id": one.id})),
            ("dep.remove", json!({"issue_id": two.id, "depends_on_id": one.id})),
            ("issue.delete", json!({"id": two.id, "force": true})),
            ("issue.delete", json!({"id": bug.id, "force": true})),
            ("issue.delete", json!({"id": fix.id, "force": true})),
            ("issue.delete", json!({"id": shut.id})),
        ];
        for (op, mut fields) in steps {
            fields["op"] = json!(op);
            let before = state(&world);
            world.json::<batch::Batch>("bob", json!({"operations": [fields]})).expect(op);
            assert_ne!(state(&world), before, "{op}");
            undo_and_redo(&world, &before);
        }
    }

    fn an_undo_event_has_its_changes_and_the_undone_events(world: World) {
        let task = world.task("one");
        world.json::<issue::Update>("bob", json!({"id": task.id, "title": "two"})).expect("updated");
        let event = last_event(&world, &task);
        world.advance(5);
        let answer = undo(&world, json!({"event": event})).expect("undone");
        let newest = &world.ok(&issue::History { id: (&task.id).into(), limit: Some(1) })[0];
        assert_eq!((newest.event_type.as_str(), newest.actor.as_str(), Some(newest.id)), ("undone", "alice", answer.event));
        assert_eq!(json!(newest.detail), json!({"title": {"old": "two", "new": "one"}, "undoes": [event]}));
        let taken = &answer.undone[0];
        assert_eq!((taken.event, taken.op, taken.event_type.as_str(), taken.actor.as_str()), (event, event, "updated", "bob"));
        assert_eq!(world.show(&task).updated_at, newest.created_at);
    }

    fn the_events_of_one_operation_are_undone_together(world: World) {
        let bug = world.create(json!({"title": "bug", "issue_type": "bug"}));
        let fix = world.create(json!({"title": "fix", "fixes": bug.id}));
        world.json::<issue::Close>("bob", json!({"id": fix.id})).expect("closed");
        let answer = undo(&world, json!({"event": last_event(&world, &bug)})).expect("undone");
        assert_eq!(answer.undone.len(), 2);
        assert_eq!((world.status(&bug), world.status(&fix)), (Status::Open, Status::Open));
        let lines = json!([
            {"op": "issue.create", "title": "a", "issue_type": "task", "as": "a"},
            {"op": "issue.create", "title": "b", "issue_type": "task", "deps": ["@a"]},
            {"op": "comment.add", "id": "@a", "text": "hm"},
        ]);
        world.json::<batch::Batch>("bob", json!({"operations": lines})).expect("made");
        assert_eq!(undo_last(&world).undone.len(), 4);
        assert_eq!(world.ready(), ["fix"]);
    }

    fn operations_at_the_same_time_are_undone_separately(world: World) {
        let (one, two) = (world.task("one"), world.task("two"));
        undo_last(&world);
        assert_eq!(world.show(&one).title, "one");
        assert_eq!(world.refused::<issue::Show>("alice", json!({"id": two.id})), Code::NotFound);
    }

    fn undo_is_refused_by_a_later_change_of_the_same_field(world: World) {
        let task = world.task("one");
        let rename = |title: &str| world.json::<issue::Update>("bob", json!({"id": task.id, "title": title})).expect("updated");
        rename("two");
        let event = last_event(&world, &task);
        rename("three");
        let later = last_event(&world, &task);
        let error = conflict(undo(&world, json!({"event": event})));
        assert!(error.message.contains(&format!("event {later} (updated {} by bob) depends on it", task.id)), "{error}");
        // Other fields, comments and undone changes do not prevent the undo.
        world.json::<issue::Update>("bob", json!({"id": task.id, "priority": "p0"})).expect("updated");
        world.json::<comment::Add>("bob", json!({"id": task.id, "text": "hm"})).expect("said");
        undo(&world, json!({"event": later})).expect("undone");
        undo(&world, json!({"event": event})).expect("undone");
        let left = world.show(&task);
        assert_eq!((left.title.as_str(), left.priority.as_str()), ("one", "p0"));
        let error = conflict(undo(&world, json!({"event": event})));
        assert!(error.message.contains("has done so already"), "{error}");
    }

    fn creation_of_an_issue_with_dependents_is_not_undone(world: World) {
        let refused = |task: &Issue, by: &str| {
            let first = world.ok(&issue::History { id: (&task.id).into(), limit: None }).last().expect("an event").id;
            let error = conflict(undo(&world, json!({"event": first})));
            assert!(error.message.contains(by) && error.message.contains("depends on it"), "{error}");
            assert_eq!(world.show(task).title, task.title, "nothing happened");
        };
        let said = world.task("said");
        world.json::<comment::Add>("bob", json!({"id": said.id, "text": "hm"})).expect("said");
        refused(&said, "commented");
        let parent = world.task("parent");
        let child = world.create(json!({"title": "child", "deps": [parent.id]}));
        refused(&parent, &format!("dep_added {}", child.id));
        let bug = world.create(json!({"title": "bug", "issue_type": "bug"}));
        let fix = world.create(json!({"title": "fix", "fixes": bug.id}));
        refused(&bug, &format!("created {}", fix.id));
        let edited = world.task("edited");
        world.json::<issue::Update>("bob", json!({"id": edited.id, "priority": "p0"})).expect("updated");
        refused(&edited, "updated");
    }

    fn a_claim_taken_over_by_another_is_not_restored(world: World) {
        let task = world.task("one");
        world.json::<issue::Update>("bob", json!({"id": task.id, "claim": true})).expect("claimed");
        let claim = last_event(&world, &task);
        world.json::<issue::Release>("bob", json!({"id": task.id})).expect("released");
        let release = last_event(&world, &task);
        world.json::<issue::Update>("eve", json!({"id": task.id, "claim": true})).expect("claimed");
        for event in [claim, release] {
            conflict(undo(&world, json!({"event": event})));
        }
        assert_eq!(world.show(&task).assignee.as_deref(), Some("eve"));
    }

    fn a_deletion_is_undone_completely_or_not_at_all(world: World) {
        let parent = world.task("parent");
        let task = world.create(json!({"title": "task", "deps": [parent.id]}));
        world.json::<comment::Add>("bob", json!({"id": task.id, "text": "hm"})).expect("said");
        let history = world.events(&task);
        world.json::<issue::Delete>("bob", json!({"id": task.id, "force": true})).expect("deleted");
        world.json::<issue::Delete>("eve", json!({"id": parent.id})).expect("deleted");
        let log = undo(&world, json!({"by": "bob", "dry_run": true}));
        let error = conflict(log);
        assert!(error.message.contains(&format!("(deleted {} by eve) took {} away", parent.id, parent.id)), "{error}");
        undo(&world, json!({"by": "eve"})).expect("undone");
        let answer = undo(&world, json!({"by": "bob"})).expect("undone");
        assert_eq!(answer.undone.len(), 2, "the deletion and the comment");
        assert_eq!(world.show(&task).title, "task");
        assert_eq!(world.blocked(), ["task"]);
        assert_eq!(world.events(&task)[..history.len()], history, "its history is back too");
        is_healthy(&world);
    }

    fn a_removed_dependency_that_would_close_a_cycle_is_not_restored(world: World) {
        let (a, b) = (world.task("a"), world.task("b"));
        world.link(&a, &b);
        world.json::<dep::Remove>("bob", json!({"issue_id": a.id, "depends_on_id": b.id})).expect("removed");
        let removed = last_event(&world, &a);
        world.link(&b, &a);
        assert_eq!(undo(&world, json!({"event": removed})).expect_err("a cycle").code, Code::CycleDetected);
        assert!(world.ok(&dep::Cycles {}).is_empty());
    }

    fn a_selection_is_undone_newest_first_and_all_or_nothing(world: World) {
        let task = world.task("one");
        world.advance(10);
        let rename = |actor: &str, title: &str| {
            world.json::<issue::Update>(actor, json!({"id": task.id, "title": title})).expect("updated")
        };
        rename("bob", "two");
        let since = world.show(&task).updated_at;
        world.json::<issue::Create>("bob", json!({"title": "bob's", "issue_type": "task"})).expect("created");
        world.advance(10);
        rename("eve", "three");
        world.json::<issue::Create>("bob", json!({"title": "bob's too", "issue_type": "task"})).expect("created");
        let before = state(&world);
        conflict(undo(&world, json!({"by": "bob"})));
        assert_eq!(state(&world), before, "the later ones are back too");
        let answer = undo(&world, json!({"since": since, "dry_run": true})).expect("tried");
        assert_eq!((answer.event, answer.undone.len()), (None, 4));
        assert_eq!(state(&world), before, "only tried");
        let answer = undo(&world, json!({"since": since})).expect("undone");
        let events: Vec<i64> = answer.undone.iter().map(|one| one.event).collect();
        assert!(events.is_sorted_by(|a, b| a > b), "{events:?}");
        assert_eq!(world.ready(), ["one"]);
        // The only later change in effect is an undo of a selected operation.
        assert_eq!(undo(&world, json!({"since": since})).expect_err("nothing left").code, Code::NotFound);
        redo_last(&world);
        assert_eq!(state(&world), before);
    }

    fn actor_and_time_both_limit_a_selection(world: World) {
        world.json::<issue::Create>("bob", json!({"title": "old", "issue_type": "task"})).expect("created");
        world.advance(60);
        world.json::<issue::Create>("eve", json!({"title": "hers", "issue_type": "task"})).expect("created");
        world.json::<issue::Create>("bob", json!({"title": "new", "issue_type": "task"})).expect("created");
        undo(&world, json!({"by": "bob", "since": "30s"})).expect("undone");
        let mut left = world.ready();
        left.sort();
        assert_eq!(left, ["hers", "old"]);
        assert_eq!(undo(&world, json!({"by": "nobody"})).expect_err("did nothing").code, Code::NotFound);
        assert_eq!(undo(&world, json!({"by": "bob", "event": 1})).expect_err("one of them").code, Code::InvalidInput);
        assert_eq!(undo(&world, json!({"event": 999})).expect_err("unknown").code, Code::NotFound);
    }

    fn a_selected_undo_of_an_earlier_event_is_reversed(world: World) {
        let task = world.task("one");
        world.json::<issue::Update>("bob", json!({"id": task.id, "title": "two"})).expect("updated");
        world.advance(60);
        undo_last(&world);
        world.task("other");
        let answer = undo(&world, json!({"since": "30s"})).expect("undone");
        assert_eq!(answer.undone.iter().map(|one| one.event_type.as_str()).collect::<Vec<_>>(), ["created", "undone"]);
        assert_eq!(world.show(&task).title, "two");
    }

    fn a_selected_pair_of_undo_and_undone_is_left_alone(world: World) {
        let task = world.task("one");
        let rename = |actor: &str, title: &str| {
            world.json::<issue::Update>(actor, json!({"id": task.id, "title": title})).expect("updated")
        };
        rename("bob", "two");
        world.json::<Undo>("bob", json!({})).expect("undone");
        rename("eve", "three");
        world.json::<issue::Create>("bob", json!({"title": "bob's", "issue_type": "task"})).expect("created");
        assert_eq!(undo(&world, json!({"by": "bob"})).expect("undone").undone.len(), 1);
        assert_eq!(world.ready(), ["three"]);
    }

    fn a_selected_undo_is_reversed_if_a_change_between_needs_it(world: World) {
        let parent = world.task("parent");
        let created = last_event(&world, &parent);
        let child = world.create(json!({"title": "child", "deps": [parent.id]}));
        world.advance(60);
        world.json::<issue::Delete>("bob", json!({"id": child.id})).expect("deleted");
        undo(&world, json!({"event": created})).expect("nothing depends on it any more");
        assert_eq!(undo(&world, json!({"by": "bob"})).expect_err("its parent is gone").code, Code::Conflict);
        undo(&world, json!({"since": "30s"})).expect("both");
        assert_eq!((world.ready(), world.blocked()), (vec!["parent".into()], vec!["child".into()]));
        redo_last(&world);
        undo(&world, json!({"since": "1h"})).expect("all, with the parent back in between");
        assert!(world.ok(&issue::List::default()).is_empty());
        is_healthy(&world);
    }

    fn automatic_events_are_not_the_last_operation(world: World) {
        let task = world.task("one");
        world.json::<issue::Update>("bob", json!({"id": task.id, "claim": true, "ttl": "10s"})).expect("claimed");
        let other = world.task("other");
        world.advance(60);
        assert_eq!(world.status(&task), Status::Open);
        let lapse = last_event(&world, &task);
        let error = conflict(undo(&world, json!({"event": lapse})));
        assert!(error.message.contains("the lease ended at"), "{error}");
        undo_last(&world);
        assert_eq!(world.refused::<issue::Show>("alice", json!({"id": other.id})), Code::NotFound);
        undo(&world, json!({"since": "1h"})).expect("all of it, the end of the lease too");
        assert!(world.ok(&issue::List::default()).is_empty());
    }

    fn a_restored_lease_is_renewed_with_its_length(world: World) {
        let task = world.task("one");
        world.json::<issue::Update>("bob", json!({"id": task.id, "claim": true, "ttl": "1h"})).expect("claimed");
        world.advance(60);
        world.json::<issue::Update>("bob", json!({"id": task.id, "title": "uno"})).expect("updated");
        world.json::<issue::Close>("bob", json!({"id": task.id})).expect("closed");
        world.advance(60);
        undo_last(&world);
        let renewed = world.json::<issue::Heartbeat>("bob", json!({"id": task.id})).expect("alive");
        let span = renewed.lease_expires_at.expect("a lease").since(renewed.updated_at);
        assert_eq!(span.map(|span| span.to_string()).as_deref(), Some("1h"));
    }

    fn undo_reverses_my_last_operation_and_then_the_previous_one(world: World) {
        let title = |world: &World, task: &Issue| world.show(task).title;
        let task = world.task("one");
        let other = world.json::<issue::Create>("bob", json!({"title": "bob's", "issue_type": "task"})).expect("created");
        world.json::<issue::Update>("alice", json!({"id": task.id, "title": "two"})).expect("updated");
        world.json::<issue::Update>("alice", json!({"id": task.id, "title": "three"})).expect("updated");
        world.json::<issue::Update>("bob", json!({"id": other.issue.id, "title": "bob's own"})).expect("updated");
        for wanted in ["two", "one"] {
            undo(&world, json!({})).expect("undone");
            assert_eq!(title(&world, &task), wanted);
        }
        for wanted in ["two", "three"] {
            let redone = world.json::<Redo>("alice", json!({})).expect("redone");
            assert_eq!((redone.redone.len(), redone.redone[0].event_type.as_str()), (1, "updated"));
            assert_eq!(title(&world, &task), wanted);
        }
        assert_eq!(world.refused::<Redo>("alice", json!({})), Code::NotFound);
        // A redone operation is the first to be undone.
        for wanted in ["two", "one"] {
            undo(&world, json!({})).expect("undone");
            assert_eq!(title(&world, &task), wanted);
        }
        undo(&world, json!({})).expect("the task itself");
        assert_eq!(undo(&world, json!({})).expect_err("nothing is left").code, Code::NotFound);
        assert_eq!(title(&world, &other.issue), "bob's own", "what others did is theirs");
        assert_eq!(world.refused::<Redo>("bob", json!({})), Code::NotFound, "so are their undos");
        undo(&world, json!({"any": true})).expect("bob's last");
        assert_eq!(title(&world, &other.issue), "bob's");
        world.json::<Redo>("bob", json!({"any": true})).expect("brought back");
        assert_eq!(title(&world, &other.issue), "bob's own");
        is_healthy(&world);
    }

    fn only_redo_reverses_an_undo(world: World) {
        let task = world.task("one");
        let created = last_event(&world, &task);
        assert_eq!(world.refused::<Redo>("alice", json!({"event": created})), Code::InvalidInput);
        let event = undo(&world, json!({})).expect("undone").event.expect("a number");
        let error = conflict(undo(&world, json!({"event": event})));
        assert_eq!(error.hint.as_deref(), Some(format!("pn redo --event {event} brings back what it took").as_str()));
        let tried = world.json::<Redo>("alice", json!({"event": event, "dry_run": true})).expect("tried");
        assert_eq!((tried.event, tried.redone[0].event), (None, created));
        assert!(world.ready().is_empty());
        world.json::<Redo>("alice", json!({"event": event})).expect("redone");
        assert_eq!(world.events(&task).last().map(String::as_str), Some("redone"));
        assert_eq!(world.refused::<Redo>("alice", json!({"event": event})), Code::Conflict);
    }

    fn undo_is_limited_to_the_session_of_its_caller(world: World) {
        let call = |session: Option<&str>, run: &dyn Fn(&Caller) -> Result<()>| {
            let origin = Origin { session: session.map(str::to_owned), ..Origin::default() };
            run(&Caller { origin, ..Caller::local("ana") })
        };
        let create = |session, title: &str| {
            let fields = json!({"title": title, "issue_type": "task"});
            let op: issue::Create = serde_json::from_value(fields).expect("an operation");
            call(session, &|caller| world.engine.call_as(caller, &op).map(drop)).expect("created");
        };
        let undo = |session| call(session, &|caller| world.engine.call_as(caller, &Undo::default()).map(drop));
        create(Some("s-1"), "first");
        create(None, "at a prompt");
        create(Some("s-2"), "second");
        undo(Some("s-1")).expect("undone");
        let mut left = world.ready();
        left.sort();
        assert_eq!(left, ["at a prompt", "second"]);
        let error = undo(Some("s-1")).expect_err("the others have their own");
        assert_eq!(error.code, Code::NotFound);
        assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("another session")), "{error:?}");
        undo(None).expect("undone");
        assert_eq!(world.ready(), ["second"]);
    }

    fn operations_that_cannot_be_undone_are_skipped_and_reported(world: World) {
        let task = world.task("a mistake");
        let agent = world.json::<agent::Create>("alice", json!({"type": "user"})).expect("an agent");
        let lock = world.json::<lock::Acquire>("alice", json!({"name": "build", "ttl": "1m"})).expect("a lock");
        let list = world.json::<List>("alice", json!({})).expect("a list");
        let answer: Vec<_> = list.iter().map(|one| (one.events[0].subject_kind.as_str(), one.refused.is_some())).collect();
        assert_eq!(answer, [("lock", true), ("agent", true), ("issue", false)]);
        let undone = undo(&world, json!({})).expect("undone");
        assert_eq!(undone.undone[0].issue_id, Some(task.id));
        let instead: Vec<_> = undone.passed_over.iter().filter_map(|one| one.instead.clone()).collect();
        assert_eq!(instead, [format!("pn lock release {}", lock.name), format!("pn agent delete {}", agent.id)]);
        assert_eq!(world.json::<List>("alice", json!({})).expect("a list").len(), 2);
        let error = conflict(undo(&world, json!({})));
        assert_eq!(error.hint.as_deref(), Some("pn lock release build reverses it"));
        assert!(world.json::<List>("bob", json!({})).expect("a list").is_empty());
        assert_eq!(world.json::<List>("bob", json!({"any": true, "limit": 1})).expect("a list").len(), 1);
    }

    fn a_redone_operation_is_listed_once(world: World) {
        world.task("one");
        world.task("two");
        undo(&world, json!({})).expect("undone");
        world.json::<Redo>("alice", json!({})).expect("redone");
        let list = world.json::<List>("alice", json!({})).expect("a list");
        let answer: Vec<_> = list.iter().map(|one| (one.event, one.events[0].event)).collect();
        assert_eq!(answer, [(4, 2), (1, 1)]);
    }

    fn lease_renewals_and_expiries_are_not_undoable_operations(world: World) {
        let task = world.task("one");
        world.json::<issue::Update>("bob", json!({"id": task.id, "claim": true, "ttl": "1h"})).expect("claimed");
        world.advance(60);
        world.json::<issue::Heartbeat>("bob", json!({"id": task.id})).expect("alive");
        world.json::<Undo>("bob", json!({})).expect("the claim, although its lease was renewed");
        assert_eq!(world.status(&task), Status::Open);
        world.json::<Redo>("bob", json!({})).expect("redone");
        assert_eq!(world.show(&task).assignee.as_deref(), Some("bob"));
        world.advance(7200);
        assert_eq!(world.status(&task), Status::Open, "the lease has run out");
        assert_eq!(world.refused::<Undo>("bob", json!({})), Code::NotFound, "and the claim with it");
    }

    fn an_empty_store_has_nothing_to_undo(world: World) {
        assert_eq!(undo(&world, json!({})).expect_err("nothing").code, Code::NotFound);
    }
}
