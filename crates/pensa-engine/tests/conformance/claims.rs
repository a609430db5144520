//! Who may act on a claim: its session, else the holder of its live lease, else everybody.

use pensa_core::issue::{Issue, Status};
use pensa_core::ops::undo::Undo;
use pensa_core::ops::{conflict, issue, run, store, work};
use pensa_core::{Code, Result};
use serde_json::{Value, json};

use crate::conformance;
use crate::world::World;

/// A caller: an actor, and a session if it has one.
type Caller<'a> = (&'a str, Option<&'a str>);

fn call<O: pensa_engine::Execute>(world: &World, (actor, session): Caller<'_>, fields: Value) -> Result<O::Output> {
    match session {
        Some(session) => world.in_session::<O>((actor, session), fields),
        None => world.json::<O>(actor, fields),
    }
}

fn claim(world: &World, caller: Caller<'_>, fields: Value) -> Issue {
    let task = world.task("held");
    let mut all = json!({"id": task.id, "claim": true});
    all.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
    call::<issue::Update>(world, caller, all).expect("claimed").issue
}

/// Every command that ends or changes a claim.
const ENDINGS: [&str; 10] = [
    "heartbeat",
    "close",
    "release",
    "status open",
    "status closed",
    "assignee",
    "unclaim",
    "delete",
    "work done",
    "undo",
];

fn end(world: &World, caller: Caller<'_>, how: &str, id: &Value, force: bool) -> Result<()> {
    let with = |fields: Value| {
        let mut all = json!({"id": id, "force": force});
        all.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
        all
    };
    match how {
        "heartbeat" => call::<issue::Heartbeat>(world, caller, with(json!({"ttl": "1h"}))).map(drop),
        "close" => call::<issue::Close>(world, caller, with(json!({}))).map(drop),
        "release" => call::<issue::Release>(world, caller, with(json!({}))).map(drop),
        "status open" => call::<issue::Update>(world, caller, with(json!({"status": "open"}))).map(drop),
        "status closed" => call::<issue::Update>(world, caller, with(json!({"status": "closed"}))).map(drop),
        "assignee" => call::<issue::Update>(world, caller, with(json!({"assignee": "zoe"}))).map(drop),
        "unclaim" => call::<issue::Update>(world, caller, with(json!({"unclaim": true}))).map(drop),
        "delete" => call::<issue::Delete>(world, caller, with(json!({}))).map(drop),
        "work done" => call::<work::Done>(world, caller, json!({"issue": id, "force": force})).map(drop),
        "undo" => call::<Undo>(world, caller, json!({"any": true, "force": force})).map(drop),
        other => panic!("no such ending: {other}"),
    }
}

/// Whether the newest event of an issue says that a claim was overridden.
fn is_forced(world: &World, id: &Value) -> bool {
    let log = world.engine.run(pensa_core::Access::Read, &pensa_engine::Caller::local("a"), |_, tx| {
        pensa_engine::log_after(tx, 0, 10_000)
    });
    let of_issue = |line: &pensa_core::event::LogEntry| json!(line.subject_id) == *id;
    let log = log.expect("the log");
    let forced = |line: &&pensa_core::event::LogEntry| line.detail.get("forced") == Some(&json!(true));
    log.iter().filter(|line| of_issue(line)).any(|line| forced(&line))
}

conformance! {
    fn a_claim_records_the_session_and_host_of_its_caller(world: World) {
        let held = claim(&world, ("ana", Some("s1")), json!({}));
        assert_eq!((held.claim_session.as_deref(), held.claim_host.as_deref()), (Some("s1"), Some("box")));
        let again = world.in_session::<issue::Update>(("ana", "s1"), json!({"id": held.id, "claim": true})).expect_err("held");
        assert_eq!(again.code, Code::AlreadyClaimed);
        assert!(again.message.contains("on box in session s1"), "{again}");
        let released = world.in_session::<issue::Release>(("ana", "s1"), json!({"id": held.id})).expect("released");
        assert_eq!((released.claim_session, released.claim_host), (None, None));
        let plain = claim(&world, ("ana", None), json!({}));
        assert_eq!((plain.claim_session, plain.claim_host), (None, None));
    }

    fn a_secret_in_the_name_of_a_session_is_redacted(world: World) {
        let secret = format!("gh{}_{}", "p", "0123456789abcdefghijABCDEFGHIJ012345");
        let held = claim(&world, ("ana", Some(&secret)), json!({}));
        assert!(held.claim_session.as_ref().is_some_and(|session| !session.contains("abcdefghij")), "{held:?}");
        world.in_session::<issue::Release>(("ana", &secret), json!({"id": held.id})).expect("the same session");
    }

    fn only_its_session_or_force_ends_a_session_claim(world: World) {
        for how in ENDINGS {
            let held = claim(&world, ("ana", Some("s1")), json!({}));
            let id = json!(held.id);
            if how == "work done" {
                world.in_session::<work::Start>(("ana", "s1"), json!({"what": id})).expect("started");
            }
            for other in [("ana", None), ("ana", Some("s2")), ("ben", None)] {
                let error = end(&world, other, how, &id, false).expect_err("another session's");
                assert_eq!(error.code, Code::AlreadyClaimed, "{how} by {other:?}: {error}");
            }
            assert_eq!(world.status(&held), Status::InProgress, "{how}");
            assert!(!is_forced(&world, &id), "{how}");
            end(&world, ("ana", Some("s1")), how, &id, false).unwrap_or_else(|e| panic!("{how} by its session: {e}"));
            assert!(!is_forced(&world, &id), "{how}");
        }
        for how in ENDINGS {
            let id = json!(claim(&world, ("ana", Some("s1")), json!({})).id);
            if how == "work done" {
                world.in_session::<work::Start>(("ana", "s1"), json!({"what": id})).expect("started");
            }
            end(&world, ("ben", None), how, &id, true).unwrap_or_else(|e| panic!("{how} by force: {e}"));
            assert!(is_forced(&world, &id), "{how}");
        }
    }

    fn only_its_holder_or_force_ends_a_live_lease(world: World) {
        for how in ENDINGS.into_iter().filter(|how| *how != "heartbeat") {
            let held = claim(&world, ("ana", None), json!({"ttl": "1h"}));
            let id = json!(held.id);
            if how == "work done" {
                world.json::<issue::Release>("ana", json!({"id": id})).expect("released");
                world.json::<work::Start>("ana", json!({"what": id, "ttl": "1h"})).expect("started");
            }
            let error = end(&world, ("ben", None), how, &id, false).expect_err("ana's");
            assert_eq!(error.code, Code::AlreadyClaimed, "{how}: {error}");
            end(&world, ("ben", None), how, &id, true).unwrap_or_else(|e| panic!("{how} by force: {e}"));
            assert!(is_forced(&world, &id), "{how}");
        }
        for how in ENDINGS {
            let id = json!(claim(&world, ("ana", None), json!({"ttl": "1h"})).id);
            if how == "work done" {
                world.json::<issue::Release>("ana", json!({"id": id})).expect("released");
                world.json::<work::Start>("ana", json!({"what": id, "ttl": "1h"})).expect("started");
            }
            end(&world, ("ana", Some("any")), how, &id, false).unwrap_or_else(|e| panic!("{how} by its holder: {e}"));
            assert!(!is_forced(&world, &id), "{how}");
        }
    }

    fn only_force_takes_over_work_under_a_live_lease(world: World) {
        let id = world.json::<work::Start>("ana", json!({"what": "long", "ttl": "1h"})).expect("started").issue_id;
        world.json::<work::Pause>("ana", json!({})).expect("paused");
        let take = |force: bool| world.json::<work::Resume>("ben", json!({"issue": id, "take": true, "force": force}));
        assert_eq!(take(false).expect_err("ana's lease").code, Code::AlreadyClaimed);
        assert_eq!(take(true).expect("forced").actor, "ben");
        assert!(is_forced(&world, &json!(id)));
    }

    fn anybody_ends_a_claim_without_lease_and_session(world: World) {
        for how in ["close", "release", "status open", "status closed", "assignee", "unclaim", "delete", "undo"] {
            let id = json!(claim(&world, ("ana", None), json!({})).id);
            end(&world, ("ben", Some("s9")), how, &id, false).unwrap_or_else(|e| panic!("{how}: {e}"));
            assert!(!is_forced(&world, &id), "{how}");
        }
    }

    fn anybody_changes_other_fields_of_a_claimed_issue(world: World) {
        let held = claim(&world, ("ana", Some("s1")), json!({"ttl": "1h"}));
        world.json::<issue::Update>("ben", json!({"id": held.id, "priority": "p0", "title": "more urgent"})).expect("changed");
        assert_eq!(world.show(&held).claim_session.as_deref(), Some("s1"));
        world.json::<Undo>("ben", json!({})).expect("a change of the title is no matter of the claim");
    }

    fn closing_a_task_closes_its_bug_even_if_another_holds_it(world: World) {
        let bug = world.create(json!({"issue_type": "bug"}));
        world.in_session::<issue::Update>(("ana", "s1"), json!({"id": bug.id, "claim": true, "ttl": "1h"})).expect("claimed");
        let fix = world.create(json!({"fixes": bug.id}));
        world.json::<issue::Close>("ben", json!({"id": fix.id})).expect("closed");
        assert_eq!(world.status(&bug), Status::Closed);
    }

    fn doctor_keeps_live_leases_and_releases_stale_claims(world: World) {
        let leased = claim(&world, ("ana", Some("s1")), json!({"ttl": "1h"}));
        let plain = claim(&world, ("ana", Some("s1")), json!({}));
        world.ok(&store::Doctor { fix: true, deep: false });
        assert_eq!((world.status(&leased), world.status(&plain)), (Status::InProgress, Status::Open));
    }

    fn an_edit_of_a_field_changed_meanwhile_keeps_both_values(world: World) {
        let task = world.task("read by ana");
        let edit = |fields: Value| world.json::<issue::Update>("ana", fields);
        world.json::<issue::Update>("ben", json!({"id": task.id, "title": "of ben", "due": "2026-01-02"})).expect("edited");
        let was = json!({"title": "read by ana", "description": "", "due": ""});
        let all = json!({"id": task.id, "title": "of ana", "description": "more", "due": "2026-01-02", "was": was});
        let edited = edit(all).expect("edited");
        assert_eq!((edited.issue.title.as_str(), edited.issue.description.as_deref()), ("of ana", Some("more")));
        let [conflict] = &world.ok(&conflict::List::default())[..] else { panic!("only the title has two values") };
        assert_eq!((&conflict.kept, &conflict.other), (&json!("of ana"), &json!("of ben")));
        assert_eq!(edited.conflicts, std::slice::from_ref(&conflict.id));
        let same = edit(json!({"id": task.id, "title": "again", "was": {"title": "of ana"}})).expect("edited");
        assert!(same.conflicts.is_empty(), "nobody changed it meanwhile");
        let unknown = edit(json!({"id": task.id, "title": "x", "was": {"status": "open"}})).expect_err("refused");
        assert_eq!(unknown.code, Code::InvalidInput);
        world.ok(&conflict::Resolve { id: conflict.id.to_string(), take: conflict::Side::Other });
        assert_eq!(world.ok(&issue::Show { id: (&task.id).into() }).issue.title, "of ben");
    }

    fn claiming_an_issue_assigned_to_another_reports_the_assignee(world: World) {
        let task = world.create(json!({"assignee": "ben"}));
        let updated = world.json::<issue::Update>("ana", json!({"id": task.id, "claim": true})).expect("claimed");
        assert_eq!((updated.issue.assignee.as_deref(), updated.was_assigned_to.as_deref()), (Some("ana"), Some("ben")));
        let own = world.create(json!({"assignee": "ana"}));
        let updated = world.json::<issue::Update>("ana", json!({"id": own.id, "claim": true})).expect("claimed");
        assert_eq!(updated.was_assigned_to, None);
        let other = world.create(json!({"assignee": "ben"}));
        let started = world.json::<work::Start>("ana", json!({"what": other.id})).expect("started");
        assert_eq!(started.was_assigned_to.as_deref(), Some("ben"));
    }

    fn a_run_keeps_its_claim_only_while_it_runs(world: World) {
        let task = world.task("a");
        let start = |fields: Value| {
            let mut all = json!({"issue": task.id, "claim": "1h", "seen": {"vcs": "git", "root_path": "/r"}});
            all.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
            all
        };
        let first = world.json::<run::Start>("ana", start(json!({}))).expect("started");
        assert_eq!(world.show(&task).claim_session, Some(first.id.to_string()));
        let second = world.json::<run::Start>("ana", start(json!({}))).expect_err("claimed");
        assert_eq!(second.code, Code::AlreadyClaimed);
        assert_eq!(world.refused::<issue::Close>("ana", json!({"id": task.id})), Code::AlreadyClaimed);
        world.json::<run::Finish>("ana", json!({"id": first.id, "status": "succeeded"})).expect("finished");
        let held = world.show(&task);
        assert_eq!((held.claim_session, held.status), (None, Status::InProgress));
        world.json::<issue::Release>("ana", json!({"id": task.id})).expect("the holder's name is enough again");
        let group = world.json::<run::Start>("ana", start(json!({"instances": 2, "group": "g"}))).expect("started");
        assert_eq!(world.show(&task).claim_session, None, "of several runs none is the holder");
        world.json::<run::Finish>("ana", json!({"id": group.id, "status": "failed"})).expect("finished");
        world.json::<issue::Release>("ana", json!({"id": task.id})).expect("released");
        world.in_session::<issue::Update>(("ana", "s1"), json!({"id": task.id, "claim": true})).expect("claimed");
        let on = world.in_session::<run::Start>(("ana", "s1"), start(json!({}))).expect("goes on with its session's claim");
        assert_eq!(world.show(&task).claim_session.as_deref(), Some("s1"));
        world.json::<run::Finish>("ana", json!({"id": on.id, "status": "succeeded"})).expect("finished");
        assert_eq!(world.show(&task).claim_session.as_deref(), Some("s1"));
    }

    fn a_rebuilt_claim_has_its_session(world: World) {
        let held = claim(&world, ("ana", Some("s1")), json!({"ttl": "1h"}));
        let shown = world.show(&held);
        assert_eq!((shown.claim_session.as_deref(), shown.claim_host.as_deref()), (Some("s1"), Some("box")));
        let brief = world.json::<pensa_core::ops::briefing::Brief>("ana", json!({"who": "ana"})).expect("a briefing");
        assert!(brief.markdown().contains("session s1"), "{}", brief.markdown());
    }
}
