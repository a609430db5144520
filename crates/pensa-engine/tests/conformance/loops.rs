//! Loops, signals and locks: claims, acknowledgements, fencing numbers, and rebuilding from the journal.

use std::collections::HashSet;
use std::fs;
use std::sync::Mutex;
use std::thread;

use pensa_core::Code;
use pensa_core::event::LogEntry;
use pensa_core::lock::Lock;
use pensa_core::loops::{Loop, LoopStatus};
use pensa_core::ops::loops::{
    Approve, Approved, Archive, Claim, Complete, Create, Fail, ImportLoops, Invalidate, Iterate, List, Pause, Rebase,
    Reject, Resume, Show, Start, Submit, Tree,
};
use pensa_core::ops::signal::{self, Ack, Send, SentSignal};
use pensa_core::ops::store::{Doctor, Severity};
use pensa_core::ops::{agent, briefing, lock, record, undo};
use pensa_core::{Access, Timestamp};
use pensa_engine::{Caller, Engine, Execute, log_after};
use serde_json::{Value, json};

use crate::conformance;
use crate::world::World;

fn create(world: &World, fields: Value) -> Loop {
    let mut whole = json!({"loop_type": "code", "prompt_path": "p.md", "validation_command": "true"});
    for (name, value) in fields.as_object().expect("an object") {
        whole[name] = value.clone();
    }
    world.json::<Create>("ana", whole).expect("created")
}

fn step<O: Execute<Output = Loop>>(world: &World, id: &impl serde::Serialize) -> Loop {
    world.json::<O>("ana", json!({ "id": id })).expect(O::NAME)
}

fn claim(world: &World, actor: &str) -> Option<Loop> {
    world.json::<Claim>(actor, json!({})).expect("an answer")
}

fn show(world: &World, id: &impl serde::Serialize) -> Loop {
    world.json::<Show>("ana", json!({ "id": id })).expect("a loop")
}

/// A completed loop with this many children.
fn approved(world: &World, children: usize) -> Approved {
    let root = create(world, json!({"loop_type": "plan"}));
    step::<Start>(world, &root.id);
    step::<Submit>(world, &root.id);
    let child = json!({"loop_type": "code", "prompt_path": "p.md", "validation_command": "true"});
    world.json::<Approve>("boss", json!({"id": root.id, "children": vec![child; children]})).expect("approved")
}

fn send(world: &World, to: &str) -> SentSignal {
    world.json::<Send>("boss", json!({"signal_type": "rebase", "to": to, "reason": "main has moved"})).expect("sent")
}

fn log(world: &World) -> Vec<LogEntry> {
    world.engine.run(Access::Read, &Caller::local("a"), |_, tx| log_after(tx, 0, 10_000)).expect("the log")
}

fn acquire(world: &World, actor: &str, fields: Value) -> Result<Lock, Code> {
    world.json::<lock::Acquire>(actor, fields).map_err(|error| error.code)
}

conformance! {
    fn a_loop_has_its_fields_and_its_events(world: World) {
        let issue = world.task("search");
        let made = create(&world, json!({"issue": issue.id, "max_iterations": 2, "context": {"x": [1, "é"]},
            "input_artifact": "in.md", "worktree": "/w"}));
        let at = "2026-02-27T14:30:00.000Z";
        let runnable = made.runnable.expect("its place");
        assert_eq!(json!(made), json!({"id": made.id, "loop_type": "code", "issue_id": issue.id, "input_artifact": "in.md",
            "output_artifacts": [], "prompt_path": "p.md", "validation_command": "true", "max_iterations": 2,
            "worktree": "/w", "iteration": 0, "status": "pending", "progress": "", "context": {"x": [1, "é"]},
            "runnable": runnable, "created_at": at, "updated_at": at}));
        assert!(made.id.as_str().starts_with("lp-") && made.id.as_str().len() == 11);
        world.advance(1);
        let running = world.json::<Claim>("ana", json!({"host": "box", "pid": 7})).expect("an answer").expect("a loop");
        assert_eq!((&running.holder, &running.host, running.pid), (&Some("ana".into()), &Some("box".into()), Some(7)));
        assert_eq!((running.status, running.runnable), (LoopStatus::Running, None));
        let first = world.json::<Iterate>("ana", json!({"id": made.id, "progress": "half"})).expect("iterated");
        assert_eq!((first.subject.iteration, first.subject.progress.as_str()), (1, "half"));
        step::<Pause>(&world, &made.id);
        step::<Resume>(&world, &made.id);
        step::<Rebase>(&world, &made.id);
        step::<Resume>(&world, &made.id);
        world.json::<Iterate>("ana", json!({"id": made.id})).expect("the last");
        assert_eq!(world.refused::<Iterate>("ana", json!({"id": made.id})), Code::InvalidStatusTransition);
        world.json::<Submit>("ana", json!({"id": made.id, "outputs": ["out.md", "out.md"]})).expect("submitted");
        assert_eq!(world.refused::<Complete>("ana", json!({"id": made.id})), Code::InvalidStatusTransition);
        let back = world.json::<Reject>("ben", json!({"id": made.id, "reason": "no tests"})).expect("rejected");
        assert_eq!((back.status, back.reason.as_deref(), back.holder.as_deref()), (LoopStatus::Running, Some("no tests"), Some("ana")));
        let done = world.json::<Complete>("ana", json!({"id": made.id, "outputs": ["more.md"]})).expect("complete");
        assert_eq!(done.output_artifacts, ["out.md", "more.md"]);
        let archived = step::<Archive>(&world, &made.id);
        assert!(archived.archived_at.is_some());
        assert_eq!(world.json::<List>("a", json!({})).expect("a list"), []);
        assert_eq!(world.json::<List>("a", json!({"all": true})).expect("a list"), [archived]);
        let logged: Vec<LogEntry> = log(&world).into_iter().filter(|line| line.subject_kind == "loop").collect();
        let types: Vec<&str> = logged.iter().map(|line| line.event_type.as_str()).collect();
        let change = "loop.status_change";
        assert_eq!(types, ["loop.created", change, "loop.iterated", change, change, change, change, "loop.iterated",
            change, change, change, "loop.archived"]);
        assert_eq!(logged[1].detail["status"], json!({"old": "pending", "new": "running"}));
        assert_eq!((&logged[1].detail["issue"], &logged[0].detail["issue_id"]["new"]), (&json!(issue.id), &json!(issue.id)));
        assert_eq!(world.refused::<undo::Undo>("ana", json!({"event": logged[1].id})), Code::Conflict);
    }

    fn loops_are_claimed_oldest_first_once_their_parent_is_complete(world: World) {
        assert_eq!(claim(&world, "ana"), None);
        let root = create(&world, json!({"loop_type": "plan"}));
        let child = create(&world, json!({"parent": root.id}));
        let other = create(&world, json!({"loop_type": "spec"}));
        assert_eq!((child.runnable, child.parent_id.as_ref()), (None, Some(&root.id)));
        assert_eq!(world.refused::<Start>("ana", json!({"id": child.id})), Code::InvalidStatusTransition);
        let of_type = world.json::<Claim>("ana", json!({"loop_type": "code"})).expect("an answer");
        assert_eq!(of_type, None, "it waits for its parent");
        assert_eq!(claim(&world, "ana").expect("one").id, root.id);
        assert_eq!(world.refused::<Start>("ben", json!({"id": root.id})), Code::AlreadyClaimed);
        step::<Complete>(&world, &root.id);
        let free = world.json::<List>("a", json!({"runnable": true})).expect("a list");
        assert_eq!(free.iter().map(|one| &one.id).collect::<Vec<_>>(), [&other.id, &child.id]);
        assert_eq!(world.json::<Claim>("ben", json!({"loop_type": "code"})).expect("an answer").expect("one").id, child.id);
        assert_eq!(claim(&world, "ben").expect("one").id, other.id);
        assert_eq!(claim(&world, "ben"), None);
        step::<Fail>(&world, &other.id);
        let under = json!({"loop_type": "code", "prompt_path": "p", "validation_command": "true", "parent": other.id});
        assert_eq!(world.refused::<Create>("ana", under), Code::InvalidStatusTransition);
    }

    fn concurrent_claims_get_each_loop_once(world: World) {
        let made = approved(&world, 120).children;
        let got = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for name in 0..8 {
                let (engine, got) = (world.engine.new_handle().expect("another"), &got);
                scope.spawn(move || {
                    while let Some(one) = engine.call(&format!("a{name}"), &Claim::default()).expect("an answer") {
                        got.lock().expect("whole").push(one.id);
                    }
                });
            }
        });
        let got = got.into_inner().expect("whole");
        let distinct: HashSet<_> = got.iter().cloned().collect();
        assert_eq!((got.len(), distinct), (120, made.into_iter().map(|one| one.id).collect()));
    }

    fn an_approval_creates_all_children_or_none(world: World) {
        let Approved { subject, children } = approved(&world, 3);
        assert_eq!((subject.status, children.len()), (LoopStatus::Complete, 3));
        assert!(children.iter().all(|child| child.runnable.is_some() && child.parent_id.as_ref() == Some(&subject.id)));
        let root = create(&world, json!({}));
        step::<Start>(&world, &root.id);
        step::<Submit>(&world, &root.id);
        let good = json!({"loop_type": "code", "prompt_path": "p", "validation_command": "true"});
        let bad = json!({"loop_type": "code", "prompt_path": "", "validation_command": "true"});
        let stray = json!({"loop_type": "code", "prompt_path": "p", "validation_command": "true", "parent": subject.id});
        for wrong in [bad, stray] {
            let refused = world.refused::<Approve>("boss", json!({"id": root.id, "children": [good, wrong]}));
            assert_eq!(refused, Code::InvalidInput);
        }
        assert_eq!(show(&world, &root.id).status, LoopStatus::AwaitingApproval);
        assert_eq!(world.json::<List>("a", json!({"parent": root.id})).expect("a list"), []);
        let tree = world.json::<Tree>("a", json!({"id": subject.id})).expect("a tree");
        assert_eq!(tree.iter().map(|branch| branch.depth).collect::<Vec<_>>(), [0, 1, 1, 1]);
    }

    fn invalidation_covers_all_descendants_and_signals_running_ones(world: World) {
        let Approved { subject, children } = approved(&world, 3);
        let running = claim(&world, "ana").expect("one");
        let done = claim(&world, "ana").expect("another");
        step::<Complete>(&world, &done.id);
        let deep = create(&world, json!({"parent": done.id}));
        let deeper = create(&world, json!({"parent": deep.id}));
        let other = create(&world, json!({}));
        let logged = world.json::<Invalidate>("boss", json!({"id": subject.id, "reason": "wrong plan"})).expect("done");
        assert_eq!((logged.subject.status, logged.subject.archived_at.is_some()), (LoopStatus::Invalidated, true));
        assert_eq!(logged.invalidated.len(), 6);
        for id in children.iter().map(|child| &child.id).chain([&deep.id, &deeper.id]) {
            let one = show(&world, id);
            assert_eq!((one.status, one.reason.as_deref(), one.runnable), (LoopStatus::Invalidated, Some("wrong plan"), None));
            assert!(one.archived_at.is_some());
        }
        assert_eq!(show(&world, &other.id).status, LoopStatus::Pending);
        let signal = logged.signal.expect("one was under way");
        let shown = world.json::<signal::Show>("a", json!({"id": signal.id})).expect("shown");
        assert_eq!((shown.missing, signal.signal_type.as_str()), (vec![running.id.to_string()], "invalidate"));
        let again = world.json::<Invalidate>("boss", json!({"id": subject.id})).expect("once more");
        assert!(again.invalidated.is_empty() && again.signal.is_none());
        assert_eq!(claim(&world, "ana").map(|one| one.id), Some(other.id));
    }

    fn every_recipient_acknowledges_a_signal_for_itself(world: World) {
        let Approved { subject, children } = approved(&world, 40);
        let sent = send(&world, &format!("descendants:{}", subject.id));
        assert_eq!((sent.recipients.len(), sent.signal.recipient_count), (40, 40));
        assert_eq!(sent.signal.target_selector.as_deref(), Some(format!("descendants:{}", subject.id).as_str()));
        let later = create(&world, json!({"parent": subject.id}));
        assert_eq!(world.refused::<Ack>("ana", json!({"id": sent.signal.id, "as": later.id})), Code::NotFound);
        let unread = |id: &str| {
            world.json::<signal::List>("a", json!({"for": id, "unacked": true})).expect("a list").len()
        };
        for (at, child) in children.iter().enumerate() {
            assert_eq!(unread(child.id.as_str()), 1);
            world.advance(1);
            let acked = world.json::<Ack>("ana", json!({"id": sent.signal.id, "as": child.id})).expect("acknowledged");
            assert_eq!((acked.missing_count, acked.receipt.acknowledged_by.as_deref()), (39 - at as i64, Some("ana")));
            assert_eq!(unread(child.id.as_str()), 0);
            let shown = world.json::<signal::Show>("a", json!({"id": sent.signal.id})).expect("shown");
            assert_eq!((shown.missing.len(), shown.signal.acknowledged_at.is_some()), (39 - at, at == 39));
        }
        let before = log(&world).len();
        let again = world.json::<Ack>("ben", json!({"id": sent.signal.id, "as": children[0].id})).expect("again");
        assert_eq!(again.receipt.acknowledged_by.as_deref(), Some("ana"), "the first word counts");
        assert_eq!(log(&world).len(), before);
        assert_eq!(world.json::<signal::List>("a", json!({"unacked": true})).expect("a list"), []);
        assert_eq!(world.json::<signal::List>("a", json!({"signal_type": "rebase"})).expect("a list").len(), 1);
        let logged: Vec<LogEntry> = log(&world).into_iter().filter(|line| line.subject_kind == "signal").collect();
        assert_eq!((logged.len(), logged[0].event_type.as_str()), (41, "signal.sent"));
        assert_eq!(logged[0].detail["recipients"]["new"].as_array().map(Vec::len), Some(40));
        assert_eq!(logged[1].detail["acknowledged_count"], json!({"old": 0, "new": 1}));
    }

    fn old_fully_acknowledged_signals_are_pruned(world: World) {
        let made = create(&world, json!({}));
        let (heard, open) = (send(&world, made.id.as_str()).signal, send(&world, made.id.as_str()).signal);
        world.json::<Ack>("ana", json!({"id": heard.id, "as": made.id})).expect("acknowledged");
        world.advance(7 * 86_400);
        assert_eq!(world.json::<signal::Prune>("ana", json!({})).expect("pruned").ids, []);
        world.advance(1);
        assert_eq!(world.json::<signal::Prune>("ana", json!({})).expect("pruned").ids, [heard.id]);
        let left = world.json::<signal::List>("a", json!({"for": made.id})).expect("a list");
        assert_eq!(left.iter().map(|signal| &signal.id).collect::<Vec<_>>(), [&open.id]);
        let receipts = world.json::<record::Query>("a", json!({"collection": "signal_receipts"})).expect("found");
        assert_eq!(receipts.records.len(), 1);
    }

    fn selectors_match_loops_in_progress_at_sending_time(world: World) {
        let Approved { subject, children } = approved(&world, 3);
        let running = claim(&world, "ana").expect("one");
        let below = create(&world, json!({"parent": running.id, "loop_type": "phase"}));
        step::<Fail>(&world, &children[2].id);
        let ids = |to: &str| {
            let mut ids = send(&world, to).recipients;
            ids.sort();
            ids
        };
        let sorted = |ids: &[&Loop]| {
            let mut ids: Vec<String> = ids.iter().map(|one| one.id.to_string()).collect();
            ids.sort();
            ids
        };
        let id = &subject.id;
        assert_eq!(ids(&format!("children:{id}")), sorted(&[&children[0], &children[1]]));
        assert_eq!(ids(&format!("descendants:{id}")), sorted(&[&children[0], &children[1], &below]));
        assert_eq!(ids("type:code"), sorted(&[&children[0], &children[1]]));
        assert_eq!(ids("status:running"), sorted(&[&running]));
        assert_eq!(ids("status:failed"), sorted(&[&children[2]]));
        let nobody = send(&world, "type:spec");
        assert!(nobody.recipients.is_empty() && nobody.signal.acknowledged_at.is_some(), "nobody is waited for");
        let agent = world.json::<agent::Create>("ana", json!({"type": "user", "name": "bot"})).expect("an agent");
        let to_agent = send(&world, "bot");
        assert_eq!(to_agent.signal.target_agent, Some(agent.id));
        let from = world.json::<Send>("a", json!({"signal_type": "stop", "to": "status:running", "from": running.id}));
        assert!(from.expect("sent").recipients.is_empty(), "nobody tells itself");
        for nowhere in ["lp-none", "descendants:lp-none", "ag-none"] {
            assert_eq!(world.refused::<Send>("a", json!({"signal_type": "stop", "to": nowhere})), Code::NotFound);
        }
    }

    fn a_briefing_has_unread_signals_to_my_loops_runs_and_agents(world: World) {
        let mine = create(&world, json!({}));
        claim(&world, "ana").expect("mine");
        world.json::<agent::Create>("ana", json!({"type": "user", "name": "ana"})).expect("an agent");
        let first = send(&world, mine.id.as_str());
        world.advance(1);
        let second = send(&world, "ana");
        let unread = |who: &str| {
            let logged = world.json::<briefing::Brief>("x", json!({"who": who})).expect("a briefing");
            let section = logged.sections.into_iter().find(|section| section.name == "signals");
            section.map(|section| section.lines.into_iter().filter_map(|line| line.id).collect::<Vec<_>>())
        };
        assert_eq!(unread("ana"), Some(vec![second.signal.id.to_string(), first.signal.id.to_string()]));
        assert_eq!(unread("ben"), None);
        world.json::<Ack>("ana", json!({"id": first.signal.id, "as": mine.id})).expect("acknowledged");
        assert_eq!(unread("ana"), Some(vec![second.signal.id.to_string()]));
        world.json::<Ack>("ana", json!({"id": second.signal.id, "as": "ana"})).expect("acknowledged");
        assert_eq!(unread("ana"), None);
    }

    fn a_lock_has_one_holder_and_its_fencing_number_only_grows(world: World) {
        let status = || world.json::<lock::Status>("x", json!({"name": "merge"})).expect("its status");
        assert_eq!((status().held, status().fencing), (false, 0));
        let first = acquire(&world, "ana", json!({"name": "merge", "ttl": "60s"})).expect("free");
        assert_eq!((first.fencing, first.held, first.holder.as_deref()), (1, true, Some("ana")));
        let token = first.token.expect("a token");
        for actor in ["ben", "ana"] {
            assert_eq!(acquire(&world, actor, json!({"name": "merge"})), Err(Code::AlreadyClaimed));
        }
        assert_eq!(world.refused::<lock::Release>("ben", json!({"name": "merge"})), Code::AlreadyClaimed);
        world.advance(50);
        let renewed = acquire(&world, "ana", json!({"name": "merge", "token": token})).expect("renewed");
        assert_eq!(renewed.fencing, 1);
        world.advance(59);
        assert!(status().held && status().token.is_none());
        world.advance(1);
        assert!(!status().held);
        let second = acquire(&world, "ben", json!({"name": "merge"})).expect("it ran out");
        assert_eq!(second.fencing, 2);
        assert_eq!(world.refused::<lock::Release>("ana", json!({"name": "merge", "token": token})), Code::AlreadyClaimed);
        world.json::<lock::Release>("ben", json!({"name": "merge"})).expect("released");
        assert_eq!((status().held, status().fencing), (false, 2));
        assert_eq!(acquire(&world, "ana", json!({"name": "merge"})).expect("free").fencing, 3);
        assert_eq!(acquire(&world, "ana", json!({"name": "other"})).expect("free").fencing, 1);
        world.json::<lock::Release>("ben", json!({"name": "merge", "force": true})).expect("taken away");
        let logged: Vec<String> = log(&world).into_iter().filter(|line| line.subject_id == "merge").map(|line| line.event_type).collect();
        assert_eq!(logged, ["lock.acquired", "lock.renewed", "lock.acquired", "lock.released", "lock.acquired", "lock.released"]);
        assert!(!json!(log(&world)).to_string().contains(&token), "the log tells no token");
    }

    fn records_of_entities_can_be_read_but_not_changed_directly(world: World) {
        let made = create(&world, json!({}));
        acquire(&world, "ana", json!({"name": "merge"})).expect("free");
        for owned in ["loops", "signals", "signal_receipts", "locks", "refs"] {
            let put = json!({"collection": owned, "id": "x", "data": {}});
            assert_eq!(world.refused::<record::Put>("a", put.clone()), Code::Forbidden);
            assert_eq!(world.refused::<record::Apply>("a", json!({"changes": [{ "put": put }]})), Code::Forbidden);
            let delete = json!({"collection": owned, "id": made.id});
            assert_eq!(world.refused::<record::Delete>("a", delete.clone()), Code::Forbidden);
            assert_eq!(world.refused::<record::Apply>("a", json!({"changes": [{ "delete": delete }]})), Code::Forbidden);
        }
        let running = json!({"collection": "loops", "where": ["status=pending"]});
        assert_eq!(world.json::<record::Query>("a", running).expect("found").records.len(), 1);
    }

    fn loops_of_other_tools_are_imported_once(world: World) {
        let one = |id: &str, status: &str, parent: Value| json!({"id": id, "loop_type": "code", "status": status,
            "parent_id": parent, "created_at": 1_700_000_000_000_i64, "updated_at": 1_700_000_000_001_i64});
        let records = json!([one("b", "pending", json!("a")), one("a", "complete", json!(null)), one("c", "pending", json!("x"))]);
        let taken = world.json::<ImportLoops>("ana", json!({ "records": records })).expect("taken");
        let at = Timestamp::from_millis(1_700_000_000_001).expect("a time");
        assert_eq!(taken.iter().map(|one| (one.updated_at == at, one.runnable.is_some())).collect::<Vec<_>>(),
            [(true, true), (true, false), (true, false)]);
        assert_eq!(claim(&world, "ana").map(|one| one.id.to_string()).as_deref(), Some("b"));
        assert_eq!(world.json::<ImportLoops>("ana", json!({ "records": records })).expect("again"), []);
        let signals = json!([
            {"id": "s1", "signal_type": "stop", "target_loop": "b", "acknowledged_at": null, "created_at": 1_700_000_000_000_i64},
            {"id": "s2", "signal_type": "info", "target_loop": "a", "acknowledged_at": 1_700_000_000_005_i64}]);
        let heard = Timestamp::from_millis(1_700_000_000_005).expect("a time");
        let taken = world.json::<signal::ImportSignals>("ana", json!({ "records": signals })).expect("taken");
        let times: Vec<_> = taken.iter().map(|signal| (signal.acknowledged_at, signal.acknowledged_count)).collect();
        assert_eq!(times, [(None, 0), (Some(heard), 1)], "acknowledged_at keeps its value");
        let shown = world.json::<signal::Show>("a", json!({"id": "s2"})).expect("shown");
        assert_eq!((shown.signal.acknowledged_at, shown.missing.len()), (Some(heard), 0));
        let open = world.json::<signal::List>("a", json!({"for": "b", "unacked": true})).expect("a list");
        assert_eq!(open.iter().map(|signal| signal.id.as_str()).collect::<Vec<_>>(), ["s1"]);
        assert_eq!(world.json::<signal::List>("a", json!({"unacked": true})).expect("a list").len(), 1);
        assert_eq!(world.json::<signal::ImportSignals>("ana", json!({ "records": signals })).expect("again"), []);
    }
}

/// All loops, signals and locks of a store.
fn full_state(engine: &Engine) -> Value {
    let loops = engine.call("a", &List { all: true, ..List::default() }).expect("loops");
    let free = engine.call("a", &List { runnable: true, ..List::default() }).expect("loops");
    let signals = engine.call("a", &signal::List::default()).expect("signals");
    let shown: Vec<Value> = signals
        .iter()
        .map(|signal| json!(engine.call("a", &signal::Show { id: (&signal.id).into() }).expect("a signal")))
        .collect();
    let lock = engine.call("a", &lock::Status { name: "merge".into() }).expect("a lock");
    json!([loops, free, shown, lock])
}

#[test]
fn loops_signals_and_locks_are_rebuilt_from_the_journal() {
    let world = World::sqlite();
    let Approved { subject, children } = approved(&world, 4);
    claim(&world, "ana").expect("one");
    let sent = send(&world, &format!("children:{}", subject.id));
    world.json::<Ack>("ana", json!({"id": sent.signal.id, "as": children[0].id})).expect("acknowledged");
    for _ in 0..3 {
        acquire(&world, "ana", json!({"name": "merge"})).expect("free");
        world.json::<lock::Release>("ana", json!({"name": "merge"})).expect("released");
    }
    world.json::<Invalidate>("ana", json!({"id": children[3].id})).expect("done");
    let before = full_state(&world.engine);
    let store = world.store();
    for ending in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{ending}", store.database().display()));
    }
    let engine = Engine::open(store).expect("rebuilt");
    assert_eq!(full_state(&engine), before);
    let findings = engine.call("a", &Doctor { fix: false, deep: true }).expect("a report").findings;
    let worse: Vec<_> = findings.iter().filter(|finding| finding.severity == Severity::Error).collect();
    assert!(worse.is_empty(), "{worse:?}");
    let next = engine.call("ana", &Claim::default()).expect("an answer").expect("one");
    assert_eq!(next.id, children[1].id, "what can be claimed is found again");
    let op: lock::Acquire = serde_json::from_value(json!({"name": "merge"})).expect("an operation");
    assert_eq!(engine.call("ben", &op).expect("free").fencing, 4, "numbers go on");
}

#[test]
fn doctor_finds_and_fixes_wrongly_runnable_loops() {
    let world = World::sqlite();
    let root = create(&world, json!({}));
    let child = create(&world, json!({"parent": root.id}));
    let raw = rusqlite::Connection::open(world.store().database()).expect("opens");
    let set = "UPDATE records SET data = json_set(data, '$.runnable', 1) WHERE id = ?1";
    raw.execute(set, [child.id.as_str()]).expect("changed");
    raw.execute("UPDATE records SET data = json_remove(data, '$.runnable') WHERE id = ?1", [root.id.as_str()])
        .expect("changed");
    world.json::<record::Index>("a", json!({"collection": "loops", "rebuild": true})).expect("indexed anew");
    let wrong = |fix: bool| {
        let report = world.ok(&Doctor { fix, deep: false });
        report.findings.into_iter().filter(|finding| finding.check == "runnable").count()
    };
    assert_eq!((wrong(false), wrong(true), wrong(false)), (2, 2, 0));
    assert_eq!(claim(&world, "ana").map(|one| one.id), Some(root.id));
    assert_eq!(claim(&world, "ana"), None);
}

#[test]
fn iterations_have_directories_and_current_is_the_last() {
    let world = World::sqlite();
    let made = create(&world, json!({}));
    step::<Start>(&world, &made.id);
    let local = world.store().root().join("local");
    let home = local.join("loops").join(made.id.as_str());
    let files = json!([{"path": "prompt.md", "text": "do"}, {"path": "artifacts/a.bin", "hex": "00ff"}]);
    let first = world.json::<Iterate>("ana", json!({"id": made.id, "files": files})).expect("iterated");
    assert_eq!(first.directory.as_deref(), home.join("iterations/001").to_str());
    assert_eq!(fs::read(home.join("current/artifacts/a.bin")).expect("a file"), [0, 255]);
    // Left by an attempt that was not committed.
    fs::create_dir_all(home.join("iterations/002/artifacts")).expect("made");
    fs::write(home.join("iterations/002/prompt.md"), "left").expect("written");
    world.json::<Iterate>("ana", json!({"id": made.id})).expect("iterated");
    assert_eq!(fs::read_link(home.join("current")).expect("a link").to_str(), Some("iterations/002"));
    assert!(!home.join("iterations/002/prompt.md").exists() && home.join("iterations/002.old1/prompt.md").exists());
    for bad in ["../x", "artifacts/../../x", "artifacts/.ssh", "other"] {
        let files = json!([{"path": bad, "text": ""}]);
        assert_eq!(world.refused::<Iterate>("ana", json!({"id": made.id, "files": files})), Code::InvalidInput);
    }
    assert_eq!(show(&world, &made.id).iteration, 2);
    step::<Complete>(&world, &made.id);
    step::<Archive>(&world, &made.id);
    let archived = local.join("archive").join(made.id.as_str());
    assert!(!home.exists() && archived.join("current/artifacts").is_dir());
}

#[test]
fn a_symlinked_directory_is_not_followed() {
    let world = World::sqlite();
    let made = create(&world, json!({}));
    step::<Start>(&world, &made.id);
    let elsewhere = tempfile::tempdir().expect("a directory");
    let loops = world.store().local_dir("loops").expect("a directory");
    std::os::unix::fs::symlink(elsewhere.path(), loops.join(made.id.as_str())).expect("a link");
    assert_eq!(world.refused::<Iterate>("ana", json!({"id": made.id})), Code::InvalidInput);
    assert_eq!(show(&world, &made.id).iteration, 0, "what is refused changes nothing");
    step::<Fail>(&world, &made.id);
    assert_eq!(world.refused::<Archive>("ana", json!({"id": made.id})), Code::InvalidInput);
    assert_eq!(fs::read_dir(elsewhere.path()).expect("readable").count(), 0);
}
