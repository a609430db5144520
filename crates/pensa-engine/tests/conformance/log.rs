//! The log: every change leaves one event, with old and new values.

use pensa_core::ops::{comment, dep, issue};
use serde_json::{Value, json};

use crate::conformance;
use crate::world::World;

fn detail(world: &World, issue: &pensa_core::issue::Issue) -> Value {
    let newest = world.ok(&issue::History { id: (&issue.id).into(), limit: Some(1) });
    json!(newest.first().expect("an event").detail)
}

conformance! {
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

    fn event_numbers_are_never_given_out_twice(world: World) {
        let first = world.task("a");
        let before = world.ok(&issue::History { id: (&first.id).into(), limit: None })[0].id;
        world.json::<issue::Delete>("alice", json!({"id": first.id})).expect("deleted");
        let second = world.task("b");
        let after = world.ok(&issue::History { id: (&second.id).into(), limit: None })[0].id;
        assert!(after > before + 1, "the deletion has a number of its own: {before} {after}");
    }
}
