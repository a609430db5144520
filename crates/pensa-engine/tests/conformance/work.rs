//! Work, releases and skills: one active work per actor, work follows its issue, and rebuilding from the journal.

use std::fs;

use pensa_core::event::LogEntry;
use pensa_core::id::IssueId;
use pensa_core::issue::{Issue, Status};
use pensa_core::ops::conflict::{self, Side};
use pensa_core::ops::store::{Doctor, Export, Import, Severity};
use pensa_core::ops::{issue, release, skill, undo, work};
use pensa_core::work::{Work, WorkStatus};
use pensa_core::{Access, Code};
use pensa_engine::{Caller, Engine, Execute, log_after};
use serde_json::{Value, json};

use crate::conformance;
use crate::world::World;

fn start(world: &World, actor: &str, what: &str) -> Work {
    world.json::<work::Start>(actor, json!({ "what": what })).expect("started")
}

fn current(world: &World, actor: &str) -> Option<IssueId> {
    let current = world.json::<work::Current>("reader", json!({ "actor": actor })).expect("an answer");
    current.map(|work| work.issue_id)
}

fn list(world: &World, fields: Value) -> Vec<Work> {
    world.json::<work::List>("reader", fields).expect("a list")
}

/// The status of the work on an issue.
fn work_status(world: &World, id: &IssueId) -> WorkStatus {
    list(world, json!({})).into_iter().find(|work| work.issue_id == *id).expect("work on it").status
}

fn shown(world: &World, id: &IssueId) -> Issue {
    world.ok(&issue::Show { id: id.into() }).issue
}

fn log(world: &World) -> Vec<LogEntry> {
    world.engine.run(Access::Read, &Caller::local("a"), |_, tx| log_after(tx, 0, 1000)).expect("the log")
}

/// The events about work, releases and skills, oldest first: type, subject and actor.
fn logged(world: &World) -> Vec<(String, String, String)> {
    let of_work = |line: &LogEntry| ["work", "release", "skills"].contains(&line.subject_kind.as_str());
    log(world).into_iter().filter(of_work).map(|line| (line.event_type, line.subject_id, line.actor)).collect()
}

conformance! {
    fn work_has_its_fields_and_its_events(world: World) {
        let fields = json!({"what": "make it faster", "kind": "improvement", "branch": "fast", "steps": ["measure", "mend"]});
        let made = world.json::<work::Start>("ana", fields).expect("started");
        let id = made.issue_id.clone();
        let at = "2026-02-27T14:30:00.000Z";
        assert_eq!(json!(made), json!({"issue_id": id, "title": "make it faster", "kind": "improvement",
            "status": "active", "branch": "fast", "steps": [{"title": "measure", "status": "pending"},
            {"title": "mend", "status": "pending"}], "current_step": 1, "actor": "ana", "created_at": at, "updated_at": at}));
        let issue = shown(&world, &id);
        assert_eq!((issue.status, issue.assignee.as_deref(), issue.issue_type.as_str()), (Status::InProgress, Some("ana"), "task"));
        world.advance(1);
        world.json::<work::FinishStep>("ben", json!({"issue": id})).expect("anybody may tick a step");
        let ticked = world.json::<work::FinishStep>("ana", json!({"number": 1})).expect("again");
        assert_eq!((ticked.current_step, ticked.actor.as_str()), (Some(2), "ana"));
        world.json::<work::AddSteps>("ana", json!({"steps": ["measure again"]})).expect("added");
        let steps = world.json::<work::Steps>("x", json!({"actor": "ana"})).expect("steps");
        assert_eq!(steps.iter().map(|step| step.title.as_str()).collect::<Vec<_>>(), ["measure", "mend", "measure again"]);
        world.json::<work::Pause>("ana", json!({})).expect("paused");
        assert_eq!(current(&world, "ana"), None);
        assert_eq!(shown(&world, &id).assignee.as_deref(), Some("ana"), "the claim stays");
        world.json::<work::Pause>("ana", json!({"issue": id})).expect("once more changes nothing");
        world.json::<work::Resume>("ana", json!({})).expect("resumed");
        world.advance(1);
        let done = world.json::<work::Done>("ana", json!({"reason": "twice as fast"})).expect("done");
        assert_eq!(done.done_at.map(|at| at.to_string()).as_deref(), Some("2026-02-27T14:30:02.000Z"));
        let issue = shown(&world, &id);
        assert_eq!((issue.status, issue.close_reason.as_deref()), (Status::Closed, Some("twice as fast")));
        let events = logged(&world);
        let events: Vec<(&str, &str)> = events.iter().map(|(event, _, by)| (event.as_str(), by.as_str())).collect();
        assert_eq!(events, [("task.created", "ana"), ("task.started", "ana"), ("subtask.completed", "ben"),
            ("updated", "ana"), ("task.paused", "ana"), ("task.resumed", "ana"), ("task.completed", "ana")]);
        let log = log(&world);
        let ticked = log.iter().find(|line| line.event_type == "subtask.completed").expect("it");
        assert_eq!(json!(ticked.detail), json!({"number": 1, "step": {"old": {"title": "measure", "status": "pending"},
            "new": {"title": "measure", "status": "done"}}}));
        assert_eq!(world.refused::<work::Done>("ana", json!({"issue": id})), Code::InvalidStatusTransition);
        assert_eq!(world.refused::<work::AddSteps>("ana", json!({"issue": id, "steps": ["more"]})), Code::InvalidStatusTransition);
    }

    fn an_actor_has_one_active_work(world: World) {
        let one = start(&world, "ana", "first").issue_id;
        let theirs = start(&world, "ben", "another's").issue_id;
        world.advance(1);
        let two = start(&world, "ana", "second").issue_id;
        assert_eq!((current(&world, "ana"), current(&world, "ben")), (Some(two.clone()), Some(theirs.clone())));
        assert_eq!(work_status(&world, &one), WorkStatus::Paused);
        assert_eq!(shown(&world, &one).assignee.as_deref(), Some("ana"));
        world.advance(1);
        let held = world.json::<work::Start>("ana", json!({"what": one})).expect_err("a name is no proof of holding it");
        assert!(held.code == Code::AlreadyClaimed && held.hint.is_some_and(|hint| hint.contains("pn work resume")));
        world.json::<work::Resume>("ana", json!({"issue": one})).expect("resumed");
        assert_eq!((current(&world, "ana"), work_status(&world, &two)), (Some(one.clone()), WorkStatus::Paused));
        world.json::<work::AddSteps>("ana", json!({"steps": ["a step"]})).expect("added");
        world.json::<work::Resume>("ana", json!({"issue": two})).expect("resumed");
        assert_eq!(current(&world, "ana"), Some(two.clone()));
        let active: Vec<IssueId> = list(&world, json!({"status": "active"})).into_iter().map(|work| work.issue_id).collect();
        assert!(active.len() == 2 && active.contains(&two) && active.contains(&theirs), "{active:?}");
        let events: Vec<String> = logged(&world).into_iter().filter(|(_, id, _)| *id == one.as_str()).map(|(event, ..)| event).collect();
        assert_eq!(events, ["task.created", "task.started", "task.paused", "task.resumed", "updated", "task.paused"]);
    }

    fn only_the_same_session_continues_its_claim(world: World) {
        let one = world.in_session::<work::Start>(("ana", "s1"), json!({"what": "first"})).expect("started").issue_id;
        world.in_session::<work::Start>(("ana", "s1"), json!({"what": "second"})).expect("started");
        assert_eq!(work_status(&world, &one), WorkStatus::Paused);
        for (session, goes_on) in [("s2", false), ("s1", true)] {
            let started = world.in_session::<work::Start>(("ana", session), json!({"what": one, "steps": ["a step"]}));
            assert_eq!(started.as_ref().map_err(|error| error.code).err(), (!goes_on).then_some(Code::AlreadyClaimed));
        }
        assert_eq!((current(&world, "ana"), work_status(&world, &one)), (Some(one.clone()), WorkStatus::Active));
        let resumed = world.in_session::<work::Resume>(("ana", "s2"), json!({"issue": one})).expect_err("another session's");
        assert_eq!(resumed.code, Code::AlreadyClaimed);
        world.in_session::<work::Resume>(("ana", "s2"), json!({"issue": one, "force": true})).expect("forced");
    }

    fn taking_over_work_must_be_explicit(world: World) {
        let id = start(&world, "ana", "handed over").issue_id;
        let busy = world.json::<work::Start>("ben", json!({"what": id})).expect_err("ana does it");
        assert!(busy.code == Code::AlreadyClaimed && !busy.hint.as_deref().unwrap_or_default().contains("--take"), "{busy:?}");
        world.json::<work::Pause>("ana", json!({})).expect("paused");
        for error in [
            world.json::<work::Start>("ben", json!({"what": id})).expect_err("it is claimed"),
            world.json::<work::Resume>("ben", json!({"issue": id})).expect_err("it is claimed"),
            world.json::<work::Pause>("ben", json!({"issue": id})).expect_err("it is another's"),
            world.json::<work::Done>("ben", json!({"issue": id})).expect_err("it is another's"),
        ] {
            assert_eq!(error.code, Code::AlreadyClaimed);
            assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("--take")), "{error:?}");
        }
        let before = start(&world, "ben", "before").issue_id;
        let taken = world.json::<work::Resume>("ben", json!({"issue": id, "take": true, "ttl": "1h"})).expect("taken");
        assert_eq!((taken.actor.as_str(), taken.status), ("ben", WorkStatus::Active));
        assert_eq!(work_status(&world, &before), WorkStatus::Paused);
        let issue = shown(&world, &id);
        assert_eq!(issue.assignee.as_deref(), Some("ben"));
        assert_eq!(world.events(&issue), ["created", "claimed", "released", "claimed"]);
        world.advance(2 * 3600);
        assert_eq!(current(&world, "ben"), None, "a claim that ended is nobody's work");
        let free = world.json::<work::Resume>("ana", json!({"issue": id})).expect("nobody holds it");
        assert_eq!(free.actor, "ana");
        let back = world.json::<work::Resume>("ben", json!({"issue": id, "take": true})).expect("also one who lost it");
        assert_eq!((back.actor.as_str(), current(&world, "ana")), ("ben", None));
        world.json::<work::Done>("ben", json!({"issue": id})).expect("done");
        assert_eq!(world.refused::<work::Resume>("ana", json!({"issue": id, "take": true})), Code::InvalidStatusTransition);
    }

    fn work_follows_every_change_of_its_issue(world: World) {
        let closed = start(&world, "a", "closed").issue_id;
        world.ok(&serde_json::from_value::<issue::Close>(json!({"id": closed})).expect("an operation"));
        let released = start(&world, "b", "released").issue_id;
        world.json::<issue::Release>("b", json!({"id": released})).expect("released");
        let reassigned = start(&world, "c", "reassigned").issue_id;
        world.json::<issue::Update>("x", json!({"id": reassigned, "assignee": "ann"})).expect("given away");
        let deleted = start(&world, "d", "deleted").issue_id;
        let expired = world.json::<work::Start>("e", json!({"what": "expired", "ttl": "1m"})).expect("started").issue_id;
        world.json::<issue::Delete>("x", json!({"id": deleted, "force": true})).expect("deleted");
        world.advance(120);
        for actor in ["a", "b", "c", "d", "e"] {
            assert_eq!(current(&world, actor), None, "{actor}");
            assert_eq!(world.refused::<work::Pause>(actor, json!({})), Code::NotFound, "{actor}");
        }
        assert_eq!(work_status(&world, &closed), WorkStatus::Done);
        for id in [&released, &reassigned, &expired] {
            assert_eq!(work_status(&world, id), WorkStatus::Paused);
        }
        assert!(list(&world, json!({})).iter().all(|work| work.issue_id != deleted));
        let status = |status: &str| -> usize { list(&world, json!({"status": status})).len() };
        assert_eq!((status("active"), status("paused"), status("done")), (0, 3, 1));
        assert_eq!(list(&world, json!({"status": "paused", "n": 1})).len(), 1);
        assert_eq!(list(&world, json!({"actor": "b"})).len(), 1);
        // Starting other work stores the effective status of the previous work.
        for actor in ["a", "b", "d"] {
            start(&world, actor, &format!("the next of {actor}"));
        }
        let events = logged(&world);
        let of = |id: &IssueId| events.iter().rfind(|(_, of, _)| of == id.as_str()).map(|(event, ..)| event.as_str());
        assert_eq!((of(&closed), of(&released), of(&deleted)), (Some("task.completed"), Some("task.paused"), Some("task.paused")));
        world.json::<issue::Reopen>("a", json!({"id": closed})).expect("reopened");
        assert_eq!(work_status(&world, &closed), WorkStatus::Done, "it was noted as done");
        assert_eq!(start(&world, "a", closed.as_str()).status, WorkStatus::Active);
        assert_eq!(events.iter().filter(|(event, ..)| event == "task.completed").count(), 1);
    }

    fn closing_and_deleting_an_issue_with_work_can_be_undone(world: World) {
        let id = start(&world, "ana", "closed by mistake").issue_id;
        world.json::<issue::Close>("ana", json!({"id": id})).expect("closed");
        assert_eq!(work_status(&world, &id), WorkStatus::Done);
        world.json::<undo::Undo>("ana", json!({})).expect("taken back");
        assert_eq!(current(&world, "ana"), Some(id.clone()));
        world.json::<work::AddSteps>("ana", json!({"steps": ["one"]})).expect("added");
        world.json::<issue::Delete>("ana", json!({"id": id, "force": true})).expect("deleted");
        assert_eq!(current(&world, "ana"), None);
        world.json::<undo::Undo>("ana", json!({})).expect("taken back");
        assert_eq!(list(&world, json!({}))[0].steps.len(), 1, "with its steps");
        world.json::<work::Pause>("ana", json!({})).expect("paused");
        assert_eq!(current(&world, "ana"), None);
        world.json::<undo::Undo>("ana", json!({})).expect("taken back");
        assert_eq!(current(&world, "ana"), Some(id), "also what was done to the work itself");
    }

    fn a_new_issue_has_no_data_of_a_deleted_one_with_its_id(world: World) {
        let made = world.json::<work::Start>("ana", json!({"what": "first", "steps": ["old"]})).expect("started");
        world.json::<issue::Delete>("ana", json!({"id": made.issue_id, "force": true})).expect("deleted");
        let again = start(&world, "ben", "second");
        assert_eq!((&again.issue_id, again.actor.as_str(), again.steps.len()), (&made.issue_id, "ben", 0), "ids come back here");
        assert_eq!((current(&world, "ana"), current(&world, "ben")), (None, Some(made.issue_id)));
    }

    fn invalid_work_is_refused_and_leaves_nothing(world: World) {
        let known = world.task("known");
        let refused = |fields: Value| world.json::<work::Start>("ana", fields).expect_err("refused").code;
        assert_eq!(refused(json!({"what": " "})), Code::InvalidInput);
        assert_eq!(refused(json!({"what": "a\u{1b}[2J"})), Code::InvalidInput);
        assert_eq!(refused(json!({"what": "x".repeat(1 << 20)})), Code::TooLarge);
        assert_eq!(refused(json!({"what": "pn-0badf00d"})), Code::NotFound, "an id that is written out is meant");
        assert_eq!(refused(json!({"what": "new", "branch": "a\nb"})), Code::InvalidInput);
        assert_eq!(refused(json!({"what": "new", "steps": [""]})), Code::InvalidInput);
        assert_eq!(refused(json!({"what": "new", "steps": vec!["s"; 201]})), Code::TooLarge);
        assert_eq!(refused(json!({"what": known.id, "steps": vec!["s"; 201]})), Code::TooLarge);
        assert!(serde_json::from_value::<work::Start>(json!({"what": "x", "kind": "miracle"})).is_err());
        assert_eq!(world.ok(&issue::List::default()).len(), 1, "nothing is half made");
        assert_eq!(world.status(&known), Status::Open);
        assert!(list(&world, json!({})).is_empty() && logged(&world).is_empty());
        assert_eq!(world.refused::<work::Pause>("ana", json!({"issue": known.id})), Code::NotFound);
        assert_eq!(world.refused::<work::Resume>("ana", json!({})), Code::NotFound);
        assert_eq!(world.refused::<work::FinishStep>("ana", json!({})), Code::NotFound);
        assert_eq!(world.refused::<work::Current>("ana", json!({"actor": ""})), Code::InvalidInput);
        let one = start(&world, "ana", "one two").issue_id;
        start(&world, "ana", "three");
        world.json::<work::Pause>("ana", json!({})).expect("paused");
        let error = world.json::<work::Done>("ana", json!({})).expect_err("nothing is active");
        assert!(error.hint.as_deref().is_some_and(|hint| hint.contains(one.as_str()) && hint.contains("one two")), "{error:?}");
        assert_eq!(world.refused::<work::Resume>("ana", json!({})), Code::AmbiguousId);
        world.json::<issue::Close>("ana", json!({"id": known.id})).expect("closed");
        assert_eq!(refused(json!({"what": known.id})), Code::InvalidStatusTransition);
    }

    fn kinds_of_work_match_issue_types(world: World) {
        let bug = world.create(json!({"title": "it crashes", "issue_type": "bug"}));
        assert_eq!(start(&world, "ana", bug.id.as_str()).kind.as_str(), "bug");
        assert_eq!(start(&world, "ana", "something").kind.as_str(), "feature");
        let made = world.json::<work::Start>("ana", json!({"what": "it crashes again", "kind": "bug"})).expect("started");
        assert_eq!(shown(&world, &made.issue_id).issue_type.as_str(), "bug");
    }

    fn releases_are_newest_first_and_become_a_changelog(world: World) {
        let (done, open) = (world.create(json!({"title": "*done*"})), world.task("open"));
        world.json::<issue::Close>("a", json!({"id": done.id})).expect("closed");
        let ship = |fields: Value| world.json::<release::Ship>("ana", fields);
        world.advance(1);
        let first = ship(json!({"name": "first", "version": "1.0.0", "kind": "bug", "issues": [done.id, open.id, done.id],
            "notes": "mind\nthe gap"})).expect("shipped");
        assert_eq!(json!(first), json!({"id": first.release.id, "name": "first", "version": "1.0.0", "kind": "bug",
            "issues": [done.id, open.id], "notes": "mind\nthe gap", "actor": "ana",
            "shipped_at": "2026-02-27T14:30:01.000Z", "open": [open.id]}));
        assert_eq!(world.status(&open), Status::Open, "shipping closes nothing");
        world.advance(1);
        let second = ship(json!({"name": "second", "version": "1.1.0"})).expect("shipped");
        world.advance(1);
        let late = world.task("late");
        world.json::<issue::Close>("a", json!({"id": late.id})).expect("closed");
        let listed = |fields: Value| -> Vec<String> {
            let all = world.json::<release::List>("a", fields).expect("a list");
            all.into_iter().map(|release| release.id.to_string()).collect()
        };
        assert_eq!(listed(json!({})), [second.release.id.as_str(), first.release.id.as_str()]);
        assert_eq!(listed(json!({"n": 1})), [second.release.id.as_str()]);
        let changelog = |fields: Value| world.json::<release::Changelog>("a", fields).map(|text| text.markdown);
        let since = format!("# Changelog\n\n## Unreleased\n\n- late ({})\n\n## 1.1.0 (2026-02-27)\n\n### Features\n\n- second\n", late.id);
        assert_eq!(changelog(json!({"since": "1.0.0"})).expect("a text"), since);
        let before = format!("\n## 1.0.0 (2026-02-27)\n\n### Fixes\n\n- first\n  - \\*done\\* ({})\n  - open ({})\n\n  mind\n  the gap\n", done.id, open.id);
        assert_eq!(changelog(json!({})).expect("a text"), since + &before);
        assert_eq!(changelog(json!({"since": "9.9"})).expect_err("unknown").code, Code::NotFound);
        assert_eq!(changelog(json!({"since": "1 2"})).expect_err("no version").code, Code::InvalidInput);
        for (bad, code) in [
            (json!({"name": "", "version": "1"}), Code::InvalidInput),
            (json!({"name": "x", "version": ""}), Code::InvalidInput),
            (json!({"name": "x", "version": "1", "issues": ["pn-none"]}), Code::NotFound),
            (json!({"name": "x", "version": "1", "notes": "x".repeat((1 << 20) + 1)}), Code::TooLarge),
        ] {
            assert_eq!(ship(bad).expect_err("refused").code, code);
        }
        assert_eq!(logged(&world).iter().map(|(event, ..)| event.as_str()).collect::<Vec<_>>(), ["feature.shipped"; 2]);
    }

    fn a_release_that_names_issues_leaves_the_others_unreleased(world: World) {
        let [named, other, open] = ["named", "other", "open"].map(|title| world.task(title));
        for issue in [&named, &other] {
            world.json::<issue::Close>("a", json!({"id": issue.id})).expect("closed");
        }
        world.advance(1);
        let ship = |fields: Value| world.json::<release::Ship>("ana", fields).expect("shipped");
        let changelog = |fields: Value| world.json::<release::Changelog>("a", fields).expect("a text").markdown;
        ship(json!({"name": "first", "version": "1.0.0", "issues": [named.id]}));
        let unreleased = format!("# Changelog\n\n## Unreleased\n\n- other ({})\n", other.id);
        let text = changelog(json!({}));
        assert!(text.starts_with(&format!("{unreleased}\n## 1.0.0")), "{text}");
        assert_eq!(changelog(json!({"since": "1.0.0"})), unreleased, "it was not part of it");
        world.json::<issue::Close>("a", json!({"id": open.id})).expect("closed");
        world.advance(1);
        ship(json!({"name": "all the rest", "version": "2.0.0"}));
        assert!(!changelog(json!({})).contains("Unreleased"), "one that names none ships what was closed before");
    }

    fn releases_sync_through_files(one: World) {
        let other = one.clone_of(0x5000);
        let transfer = |from: &World, to: &World| {
            for name in ["issues.jsonl", "deps.jsonl", "comments.jsonl", "releases.jsonl"] {
                let (from, to) = (from.store().root().join(name), to.store().root().join(name));
                if from.exists() {
                    fs::copy(from, to).expect("copied");
                }
            }
        };
        let export = |world: &World| world.ok(&Export::default());
        let import = |world: &World| world.ok(&Import::default());
        one.task("so that there is something");
        export(&one);
        let file = one.store().root().join("releases.jsonl");
        assert!(!file.exists(), "nothing was shipped");
        let shipped = one.json::<release::Ship>("ana", json!({"name": "one", "version": "1"})).expect("shipped").release;
        assert_eq!(export(&one).others["releases"], 1);
        let line = fs::read_to_string(&file).expect("a file");
        assert_eq!(serde_json::from_str::<Value>(&line).expect("a line"), json!(shipped));
        fs::write(&file, line.replace("\"kind\"", "\"later\":[1],\"kind\"")).expect("written");
        import(&one);
        transfer(&one, &other);
        import(&other);
        let all = |world: &World| world.json::<release::List>("a", json!({})).expect("a list");
        assert_eq!((all(&other), all(&other)[0].extra["later"].clone()), (all(&one), json!([1])), "unknown fields are kept");
        one.advance(1);
        other.json::<release::Ship>("ben", json!({"name": "two", "version": "2"})).expect("shipped");
        export(&other);
        transfer(&other, &one);
        import(&one);
        assert_eq!(all(&one), all(&other));
        assert_eq!(all(&one).len(), 2);
        export(&one);
        assert_eq!(fs::read(&file).expect("a file"), fs::read(other.store().root().join("releases.jsonl")).expect("a file"));
        let fresh = one.imported_from_files();
        let loaded = fresh.call("a", &release::List::default()).expect("a list");
        assert_eq!(loaded, all(&other), "a fresh clone has them too");
        fs::write(&file, "{\"id\":\"rel-1\",\"name\":\"x\",\"version\":\"1\",\"kind\":\"miracle\"}\n").expect("written");
        let error = fresh.call("a", &Import::default()).expect_err("no kind");
        assert!(error.message.contains("releases.jsonl line 1"), "{error}");
    }

    fn skills_sync_through_files_with_removal_and_undo(one: World) {
        let set = |world: &World, name: &str, skills: &[&str]| {
            world.advance(1);
            world.json::<skill::Set>("a", json!({"name": name, "skills": skills})).expect("set");
        };
        let copy_files = |from: &World, to: &World| {
            from.ok(&Export::default());
            for name in ["skills.jsonl", "tombstones.jsonl"] {
                if let Ok(bytes) = fs::read(from.store().root().join(name)) {
                    fs::write(to.store().root().join(name), bytes).expect("written");
                }
            }
            to.ok(&Import::default())
        };
        let all = |world: &World| json!(world.json::<skill::List>("a", json!({})).expect("a list"));
        set(&one, "web ä.md", &["design"]);
        set(&one, "backend.md", &["sql"]);
        let other = one.clone_of(0x1000);
        assert_eq!(json!(copy_files(&one, &other))["skills"], 2);
        assert_eq!(all(&other), all(&one));
        let file = one.store().root().join("skills.jsonl");
        let lines = fs::read_to_string(&file).expect("a file");
        assert!(lines.starts_with("{\"name\":\"backend.md\",\"skills\":[\"sql\"],\"updated_at\":\""), "{lines}");
        fs::write(&file, lines.replace("[\"sql\"]", "[\"sql\"],\"later\":1")).expect("written");
        one.ok(&Import::default());
        // Both change different names, then the same one.
        one.advance(1);
        one.json::<skill::Remove>("a", json!({"name": "web ä.md"})).expect("removed");
        copy_files(&one, &other);
        assert_eq!(all(&other), all(&one));
        assert_eq!(all(&other)["mappings"], json!({"backend.md": ["sql"]}));
        one.advance(1);
        one.json::<undo::Undo>("a", json!({})).expect("undone");
        copy_files(&one, &other);
        assert_eq!(all(&other)["mappings"], json!({"backend.md": ["sql"], "web ä.md": ["design"]}));
        assert_eq!(all(&other), all(&one));
        set(&other, "new.md", &["x"]);
        copy_files(&other, &one);
        other.advance(1);
        other.json::<undo::Undo>("a", json!({})).expect("undone");
        set(&other, "backend.md", &["rust"]);
        copy_files(&other, &one);
        assert_eq!(all(&one)["mappings"], json!({"backend.md": ["rust"], "web ä.md": ["design"]}));
        let lines = fs::read_to_string(&file).expect("a file");
        assert!(lines.contains("\"later\":1"), "{lines}");
        set(&one, "backend.md", &["go"]);
        set(&other, "backend.md", &["zig"]);
        copy_files(&one, &other);
        assert_eq!(all(&other)["mappings"]["backend.md"], json!(["zig"]), "the newer is kept");
        let conflicts = other.ok(&conflict::List::default());
        assert_eq!((conflicts.len(), &conflicts[0].other), (1, &json!(["go"])));
        other.advance(1);
        other.ok(&conflict::Resolve { id: conflicts[0].id.to_string(), take: Side::Other });
        copy_files(&other, &one);
        assert_eq!(all(&one), all(&other));
        assert_eq!(all(&one)["mappings"]["backend.md"], json!(["go"]));
        assert_eq!(one.ok(&Export { check: true, ..Export::default() }).status, "ok");
        let third = other.imported_from_files();
        assert_eq!(full_state(&third), full_state(&other.engine));
    }

    fn skills_are_set_imported_and_removed(world: World) {
        let set = |name: &str, skills: &[&str]| world.json::<skill::Set>("a", json!({"name": name, "skills": skills}));
        let all = || json!(world.json::<skill::List>("a", json!({})).expect("a list"));
        assert_eq!(all(), json!({"mappings": {}, "updatedAt": null}));
        set("frontend.md", &["frontend-design", "other", "other"]).expect("set");
        world.advance(1);
        let mappings = json!({"frontend.md": ["frontend-design", "other"], "backend.md": ["sql"]});
        let imported = world.json::<skill::Import>("a", json!({"mappings": mappings})).expect("imported");
        let known = json!({"mappings": mappings, "updatedAt": "2026-02-27T14:30:01.000Z"});
        assert_eq!((json!(imported), all()), (known.clone(), known));
        world.advance(1);
        world.json::<skill::Remove>("a", json!({"name": "frontend.md"})).expect("removed");
        assert_eq!(all(), json!({"mappings": {"backend.md": ["sql"]}, "updatedAt": "2026-02-27T14:30:02.000Z"}));
        assert_eq!(world.refused::<skill::Remove>("a", json!({"name": "frontend.md"})), Code::NotFound);
        assert_eq!(set("x", &[]).expect_err("none").code, Code::InvalidInput);
        assert_eq!(set("", &["s"]).expect_err("no name").code, Code::InvalidInput);
        assert_eq!(set("x", &["s\u{1b}"]).expect_err("a control character").code, Code::InvalidInput);
        let events = logged(&world);
        assert_eq!(events.iter().map(|(event, ..)| event.as_str()).collect::<Vec<_>>(), ["created", "created", "deleted"]);
    }
}

#[test]
fn two_actors_on_the_same_work_end_like_one() {
    let exported = |[first, second]: [&str; 2]| {
        let world = World::sqlite();
        let fields = json!({"what": "shared", "steps": ["one", "two"]});
        let id = world.json::<work::Start>(first, fields).expect("started").issue_id;
        world.json::<work::FinishStep>(first, json!({})).expect("ticked");
        world.json::<work::Pause>(first, json!({})).expect("paused");
        world.json::<work::Resume>(second, json!({"issue": id, "take": true})).expect("resumed");
        world.json::<work::FinishStep>(second, json!({})).expect("ticked");
        world.json::<work::Pause>(second, json!({})).expect("paused");
        world.json::<work::Resume>(first, json!({"issue": id, "take": true})).expect("resumed");
        world.json::<work::Done>(first, json!({"reason": "both"})).expect("done");
        world.json::<release::Ship>(second, json!({"name": "it", "version": "1", "issues": [id]})).expect("shipped");
        world.ok(&Export::default());
        let read = |name: &str| fs::read_to_string(world.store().root().join(name)).expect("a file");
        (read("issues.jsonl") + &read("releases.jsonl"), list(&world, json!({})))
    };
    let (alone, together) = (exported(["ana", "ana"]), exported(["ana", "ben"]));
    assert!(together.0.contains("\"ben\""), "{}", together.0);
    assert_eq!((together.0.replace("ben", "ana"), together.1), alone);
}

/// All work, releases and skills of a store.
fn full_state(engine: &Engine) -> Value {
    fn all<O: Execute>(engine: &Engine) -> Value {
        json!(engine.call("a", &serde_json::from_value::<O>(json!({})).expect("an operation")).expect(O::NAME))
    }
    json!([all::<work::List>(engine), all::<release::List>(engine), all::<skill::List>(engine)])
}

#[test]
fn work_releases_and_skills_are_rebuilt_from_the_journal() {
    let world = World::sqlite();
    let fields = json!({"what": "first", "steps": ["one", "two"], "branch": "b", "ttl": "1h"});
    let first = world.json::<work::Start>("ana", fields).expect("started").issue_id;
    world.json::<work::FinishStep>("ana", json!({})).expect("ticked");
    start(&world, "ana", "second");
    world.json::<work::Done>("ana", json!({})).expect("done");
    world.json::<release::Ship>("ana", json!({"name": "n", "version": "1", "issues": [first]})).expect("shipped");
    for name in ["a.md", "b.md"] {
        world.json::<skill::Set>("ana", json!({"name": name, "skills": ["s"]})).expect("set");
    }
    world.json::<skill::Remove>("ana", json!({"name": "a.md"})).expect("removed");
    let before = full_state(&world.engine);
    let store = world.store();
    for ending in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{ending}", store.database().display()));
    }
    let engine = Engine::open(store).expect("rebuilt");
    // The rebuilt store uses the machine's clock, so the lease has expired; nothing else changed.
    assert_eq!(full_state(&engine), before);
    let deep = serde_json::from_value::<Doctor>(json!({"deep": true})).expect("an operation");
    let report = engine.call("a", &deep).expect("a report");
    let worse: Vec<_> = report.findings.iter().filter(|finding| finding.severity == Severity::Error).collect();
    assert!(worse.is_empty(), "{worse:?}");
    let raw = rusqlite::Connection::open(world.store().database()).expect("opens");
    for sql in ["UPDATE work SET actor = 'eve'", "UPDATE releases SET name = 'x'", "UPDATE skills SET skills = '[]'"] {
        raw.execute(sql, []).expect("changed");
    }
    let report = engine.call("a", &deep).expect("a report");
    let logged: String = report.findings.iter().map(|finding| finding.message.as_str()).collect();
    assert!(
        logged.contains("work pn-") && logged.contains("releases rel-") && logged.contains("skills b.md"),
        "{logged}"
    );
}
