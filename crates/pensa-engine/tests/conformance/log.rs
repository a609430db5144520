//! The log: every change is an event with old and new values.

use pensa_core::Code;
use pensa_core::event::LogEntry;
use pensa_core::event::filter::EventFacts;
use pensa_core::ops::event::{List, LogPage};
use pensa_core::ops::{agent, comment, dep, issue, kv, undo, work};
use serde_json::{Value, json};

use crate::conformance;
use crate::world::World;

fn detail(world: &World, issue: &pensa_core::issue::Issue) -> Value {
    let newest = world.ok(&issue::History { id: (&issue.id).into(), limit: Some(1) });
    json!(newest.first().expect("an event").detail)
}

/// A page of the log, requested as JSON.
fn log_page(world: &World, wanted: Value) -> LogPage {
    world.json::<List>("bob", wanted).expect("a part of the log")
}

fn numbers(page: &LogPage) -> Vec<i64> {
    page.events.iter().map(|event| event.id).collect()
}

/// The last event of an issue that is not undone.
fn last_in_effect(world: &World, issue: &pensa_core::issue::Issue) -> i64 {
    let history = world.ok(&issue::History { id: (&issue.id).into(), limit: None });
    let undone: Vec<i64> = history
        .iter()
        .filter_map(|event| event.detail.get("undoes")?.as_array())
        .flatten()
        .filter_map(Value::as_i64)
        .collect();
    let is_left = |event: &&pensa_core::event::Event| event.event_type != "undone" && !undone.contains(&event.id);
    history.iter().find(is_left).expect("an event").id
}

/// A store with many kinds of events.
fn with_many_events(world: &World) -> [pensa_core::issue::Issue; 2] {
    let (first, second) = (world.task("a"), world.task("b"));
    world.json::<issue::Update>("bob", json!({"id": first.id, "claim": true})).expect("claimed");
    world.json::<comment::Add>("bob", json!({"id": first.id, "text": "hm"})).expect("said");
    world.json::<agent::Create>("bob", json!({"type": "user"})).expect("made");
    world.json::<kv::Set>("ann", json!({"scope": "user", "key": "k", "value": "v"})).expect("kept");
    world.json::<work::Start>("ann", json!({"what": second.id})).expect("begun");
    world.json::<issue::Close>("ann", json!({"id": second.id})).expect("closed");
    world.json::<issue::Delete>("alice", json!({"id": second.id, "force": true})).expect("deleted");
    [first, second]
}

conformance! {
    fn log_pages_contain_the_matching_events(world: World) {
        let [first, second] = with_many_events(&world);
        let all = log_page(&world, json!({"after": 0}));
        assert_eq!(all.last, all.end);
        assert!((all.events.len() as i64) < all.end, "the history of what was deleted is not shown");
        let subjects = [json!(null), json!("issue"), json!("work"), json!(first.id), json!(second.id), json!("user k")];
        let types = [json!([]), json!(["closed"]), json!(["issue.*", "kv.created"]), json!(["task.*,commented"])];
        for (subject, types) in subjects.iter().flat_map(|subject| types.iter().map(move |types| (subject, types))) {
            for by in [json!(null), json!("ann"), json!("bob")] {
                let wanted = json!({"after": 0, "subject": subject, "type": types, "by": by});
                let op: List = serde_json::from_value(wanted.clone()).expect("an operation");
                let caller = pensa_engine::Caller::local("a");
                let read = |_: &pensa_engine::Context<'_>, tx: &pensa_engine::Tx<'_>| pensa_engine::log_filter(tx, &op);
                let filter = world.engine.run(pensa_core::Access::Read, &caller, read).expect("a filter");
                let is_wanted = |event: &&LogEntry| filter.matches(&EventFacts::from(*event));
                let expected: Vec<i64> = all.events.iter().filter(is_wanted).map(|event| event.id).collect();
                let page = log_page(&world, wanted.clone());
                assert_eq!((numbers(&page), page.last), (expected, all.end), "{wanted}");
            }
        }
        assert_eq!(numbers(&log_page(&world, json!({"after": 0, "subject": second.id}))), [all.end], "its deletion");
    }

    fn a_log_page_says_where_it_ends(world: World) {
        with_many_events(&world);
        let end = log_page(&world, json!({"limit": 0})).end;
        let (mut after, mut seen) = (0, Vec::new());
        while after < end {
            let page = log_page(&world, json!({"after": after, "limit": 2}));
            seen.extend(numbers(&page));
            assert!(page.last > after && page.end == end, "{page:?}");
            after = page.last;
        }
        assert_eq!(seen, numbers(&log_page(&world, json!({"after": 0}))));
        assert_eq!(numbers(&log_page(&world, json!({"limit": 2}))), seen[seen.len() - 2..], "the last, oldest first");
        assert_eq!(log_page(&world, json!({"after": 1, "limit": 1, "by": "nobody"})).last, end, "there is nothing else");
        assert_eq!(log_page(&world, json!({"after": end + 7})).last, end + 7);
        let large = "x".repeat(300 << 10);
        for _ in 0..8 {
            world.create(json!({"title": "large", "description": large}));
        }
        let page = log_page(&world, json!({"after": end}));
        assert!((1..8).contains(&page.events.len()) && page.last < page.end, "a page ends by size too");
    }

    fn a_subject_is_a_kind_an_id_or_an_id_prefix(world: World) {
        let [first, second] = with_many_events(&world);
        let of = |subject: &str| numbers(&log_page(&world, json!({"subject": subject})));
        assert_eq!(of(first.id.as_str()), of(&first.id.as_str()[3..]), "as everywhere without what all have");
        assert_eq!(world.refused::<List>("bob", json!({"subject": "pn-"})), Code::AmbiguousId);
        assert_eq!(world.refused::<List>("bob", json!({"subject": "pn-zzz"})), Code::NotFound);
        assert_eq!(world.refused::<List>("bob", json!({"subject": ""})), Code::InvalidInput);
        for bad in ["a\0b", &"x".repeat(1 << 20)] {
            assert_eq!(world.refused::<List>("bob", json!({"subject": bad})), Code::InvalidInput);
        }
        assert_eq!(world.refused::<List>("bob", json!({"after": -1})), Code::InvalidInput);
        assert_eq!(world.refused::<List>("bob", json!({"type": ["crated"]})), Code::InvalidInput);
        world.ok(&pensa_core::ops::store::Export::default());
        let fresh = world.imported_from_files();
        let known = fresh.call("a", &List { subject: Some(first.id.to_string()), ..List::default() });
        assert!(known.expect("it is there").events.is_empty(), "what came from files has no line of its own");
        let gone = fresh.call("a", &List { subject: Some(second.id.to_string()), ..List::default() });
        assert_eq!(gone.expect_err("it is not").code, Code::NotFound);
    }

    fn of_a_deleted_issue_only_the_deletion_is_shown_until_it_is_undone(world: World) {
        let words = ["zebrafish", "heron", "walrus", "otter", "ibex"];
        let (task, other) = (world.task(words[0]), world.task("a dependent"));
        world.link(&other, &task);
        let update = json!({"id": task.id, "description": words[1], "title": "the last title"});
        world.json::<issue::Update>("bob", update).expect("updated");
        world.json::<comment::Add>("bob", json!({"id": task.id, "text": words[2]})).expect("said");
        world.json::<work::Start>("ann", json!({"what": task.id, "steps": [words[3]]})).expect("begun");
        world.json::<issue::Close>("ann", json!({"id": task.id, "reason": words[4]})).expect("closed");
        world.json::<undo::Undo>("ann", json!({})).expect("taken back");
        let before = log_page(&world, json!({"after": 0}));
        let history = world.events(&task);
        world.json::<issue::Delete>("alice", json!({"id": task.id, "force": true})).expect("deleted");

        let shown = log_page(&world, json!({"after": 0}));
        let of_it = log_page(&world, json!({"after": 0, "subject": task.id}));
        assert_eq!(numbers(&of_it), [of_it.end], "its deletion");
        let expected = json!({"issue": {"old": {"id": task.id, "title": "the last title"}, "new": null}});
        assert_eq!(json!(of_it.events[0].detail), expected);
        for page in [&shown, &of_it, &log_page(&world, json!({"limit": 100})), &log_page(&world, json!({"after": 0, "subject": "work"}))] {
            let text = json!(page).to_string();
            assert_eq!(words.iter().find(|word| text.contains(**word)), None, "{text}");
        }

        world.json::<undo::Undo>("alice", json!({})).expect("brought back");
        assert_eq!(world.events(&task)[..history.len()], history, "with all of its history");
        let again = log_page(&world, json!({"after": 0}));
        assert!(before.events.iter().all(|event| again.events.contains(event)), "{again:?}");
        // Undoing the creation removes the issue, too.
        let task = world.task("a capybara");
        world.json::<issue::Update>("alice", json!({"id": task.id, "description": "a tapir"})).expect("updated");
        for _ in 0..2 {
            world.json::<undo::Undo>("alice", json!({"event": last_in_effect(&world, &task)})).expect("taken back");
        }
        let of_it = log_page(&world, json!({"after": 0, "subject": task.id}));
        assert_eq!(of_it.events.iter().map(|event| event.event_type.as_str()).collect::<Vec<_>>(), ["undone"]);
        assert!(!json!(log_page(&world, json!({"after": 0}))).to_string().contains("tapir"));
    }

    fn every_change_is_logged_with_what_it_changed(world: World) {
        let (task, other) = (world.task("a"), world.task("b"));
        assert_eq!(detail(&world, &task)["title"], json!({"old": null, "new": "a"}));
        let id = json!({"id": task.id});

        world.json::<issue::Update>("bob", json!({"id": task.id, "title": "c", "description": "d"})).expect("updated");
        assert_eq!(
            detail(&world, &task),
            json!({"title": {"old": "a", "new": "c"}, "description": {"old": null, "new": "d"}})
        );
        world.json::<issue::Update>("bob", json!({"id": task.id, "claim": true})).expect("claimed");
        assert_eq!(
            detail(&world, &task),
            json!({"status": {"old": "open", "new": "in_progress"}, "assignee": {"old": null, "new": "bob"}})
        );
        world.json::<issue::Release>("bob", id.clone()).expect("released");
        assert_eq!(detail(&world, &task)["assignee"], json!({"old": "bob", "new": null}));
        world.json::<issue::Close>("bob", json!({"id": task.id, "reason": "r"})).expect("closed");
        assert_eq!(detail(&world, &task)["close_reason"], json!({"old": null, "new": "r"}));
        world.json::<issue::Reopen>("bob", json!({"id": task.id, "reason": "why"})).expect("open");
        assert_eq!(detail(&world, &task)["reason"], json!("why"));
        world.json::<comment::Add>("bob", json!({"id": task.id, "text": "hm"})).expect("said");
        assert_eq!(detail(&world, &task)["comment"]["new"]["text"], json!("hm"));
        let pair = json!({"issue_id": task.id, "depends_on_id": other.id});
        world.json::<dep::Add>("bob", pair.clone()).expect("added");
        assert_eq!(detail(&world, &task)["depends_on_id"], json!({"old": null, "new": other.id}));
        world.json::<dep::Remove>("bob", pair).expect("removed");
        assert_eq!(detail(&world, &task)["depends_on_id"], json!({"old": other.id, "new": null}));
        assert_eq!(
            world.events(&task),
            ["created", "updated", "claimed", "released", "closed", "reopened", "commented", "dep_added", "dep_removed"]
        );
    }

    fn history_is_newest_first_and_numbered_in_order(world: World) {
        let task = world.task("a");
        for n in 0..5 {
            world.json::<issue::Update>("bob", json!({"id": task.id, "title": format!("t{n}")})).expect("updated");
        }
        let events = world.ok(&issue::History { id: (&task.id).into(), limit: None });
        let numbers: Vec<i64> = events.iter().map(|event| event.id).collect();
        assert!(numbers.is_sorted_by(|a, b| a > b), "{numbers:?}");
        assert_eq!(events.last().map(|event| event.actor.as_str()), Some("alice"));
    }

    fn event_numbers_are_never_reused(world: World) {
        let first = world.task("a");
        let before = world.ok(&issue::History { id: (&first.id).into(), limit: None })[0].id;
        world.json::<issue::Delete>("alice", json!({"id": first.id})).expect("deleted");
        let second = world.task("b");
        let after = world.ok(&issue::History { id: (&second.id).into(), limit: None })[0].id;
        assert!(after > before + 1, "the deletion has a number of its own: {before} {after}");
    }
}
