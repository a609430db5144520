//! The ten key scenarios of the seed.

use std::fs;
use std::thread;

use pensa_testkit::Sandbox;

use crate::steps::{bug, create, elements, ids, show, task, text};

crate::in_both_modes! {
    an_issue_is_created_updated_closed_and_reopened,
    a_claim_is_exclusive_until_released,
    a_blocked_issue_is_ready_once_its_blocker_is_closed,
    a_dependency_that_would_close_a_cycle_is_refused,
    closing_a_task_closes_the_bug_it_fixes,
    ready_never_lists_bugs,
    everything_survives_export_loss_of_the_database_and_import,
    doctor_fix_releases_every_claim_without_a_lease,
    of_two_rapid_claims_exactly_one_succeeds,
    every_command_answers_in_its_documented_shape,
}

fn an_issue_is_created_updated_closed_and_reopened(pn: &Sandbox) {
    let id = create(pn, &["login crash", "-t", "task", "-p", "p1", "--spec", "auth", "--description", "on empty"]);
    let shown = show(pn, &id);
    assert_eq!(
        (&shown["title"], &shown["status"], &shown["priority"]),
        (&"login crash".into(), &"open".into(), &"p1".into())
    );
    assert_eq!((&shown["spec"], &shown["description"]), (&"auth".into(), &"on empty".into()));

    let updated = pn.pn(["update", &id, "--title", "login hang", "--priority", "p0", "-a", "ana"]).ok_json();
    assert_eq!(
        (&updated["title"], &updated["priority"], &updated["assignee"]),
        (&"login hang".into(), &"p0".into(), &"ana".into())
    );

    let closed = pn.pn(["close", &id, "--reason", "done"]).ok_json();
    assert_eq!((&closed["status"], &closed["close_reason"]), (&"closed".into(), &"done".into()));
    assert!(closed["closed_at"].is_string(), "{closed}");
    pn.pn(["close", &id]).fails("invalid_status_transition");

    let reopened = pn.pn(["reopen", &id, "--reason", "came back"]).ok_json();
    assert_eq!(reopened["status"], "open");
    assert!(reopened.get("closed_at").is_none() && reopened.get("close_reason").is_none(), "{reopened}");
    assert_eq!(pn.pn(["close", &id]).ok_json()["status"], "closed");
    assert_eq!(pn.pn(["close", &id, "--force"]).ok_json()["status"], "closed");
}

fn a_claim_is_exclusive_until_released(pn: &Sandbox) {
    let id = task(pn, "build the form");
    let claimed = pn.pn(["update", &id, "--claim"]).actor("ana").ok_json();
    assert_eq!((&claimed["status"], &claimed["assignee"]), (&"in_progress".into(), &"ana".into()));
    let error = pn.pn(["update", &id, "--claim"]).actor("ben").fails("already_claimed");
    assert!(text(&error["error"]).contains("ana"), "the holder is named: {error}");
    let released = pn.pn(["release", &id]).actor("ana").ok_json();
    assert_eq!(released["status"], "open");
    assert!(released.get("assignee").is_none(), "{released}");
    assert_eq!(pn.pn(["update", &id, "--claim"]).actor("ben").ok_json()["assignee"], "ben");
}

fn a_blocked_issue_is_ready_once_its_blocker_is_closed(pn: &Sandbox) {
    let (child, parent) = (task(pn, "build"), task(pn, "design"));
    pn.pn(["dep", "add", &child, &parent]).ok_json();
    assert_eq!(ids(pn, &["ready"]), [parent.as_str()]);
    assert_eq!(ids(pn, &["blocked"]), [child.as_str()]);
    pn.pn(["close", &parent]).ok_json();
    assert_eq!(ids(pn, &["ready"]), [child]);
    assert!(ids(pn, &["blocked"]).is_empty());
}

fn a_dependency_that_would_close_a_cycle_is_refused(pn: &Sandbox) {
    let (a, b, c) = (task(pn, "alpha"), task(pn, "beta"), task(pn, "gamma"));
    pn.pn(["dep", "add", &a, &b]).ok_json();
    pn.pn(["dep", "add", &b, &c]).ok_json();
    pn.pn(["dep", "add", &c, &a]).fails("cycle_detected");
    pn.pn(["dep", "add", &b, &a]).fails("cycle_detected");
    pn.pn(["dep", "add", &a, &a]).fails("cycle_detected");
    assert_eq!(pn.pn(["dep", "cycles"]).ok_json(), serde_json::json!([]));
}

fn closing_a_task_closes_the_bug_it_fixes(pn: &Sandbox) {
    let bug = bug(pn, "login crash");
    let task = create(pn, &["reject empty passwords", "-t", "task", "--fixes", &bug]);
    assert_eq!(show(pn, &task)["fixes"], bug.as_str());
    pn.pn(["close", &task]).ok_json();
    let closed = show(pn, &bug);
    assert_eq!((&closed["status"], &closed["close_reason"]), (&"closed".into(), &format!("fixed by {task}").into()));
}

fn ready_never_lists_bugs(pn: &Sandbox) {
    bug(pn, "login crash");
    assert_eq!(pn.pn(["ready"]).ok_json(), serde_json::json!([]));
    let work: Vec<String> = ["task", "test", "chore"].iter().map(|kind| create(pn, &[kind, "-t", kind])).collect();
    assert_eq!(ids(pn, &["ready"]), work);
    assert!(ids(pn, &["ready", "-t", "bug"]).is_empty());
}

fn everything_survives_export_loss_of_the_database_and_import(pn: &Sandbox) {
    let bug = bug(pn, "login crash");
    let fix = create(pn, &["fix it", "-t", "task", "--fixes", &bug, "--description", "line\nline", "--spec", "auth"]);
    let later = create(pn, &["then ship", "-t", "chore", "--dep", &fix, "-a", "ana"]);
    pn.pn(["comment", "add", &fix, "it is the form"]).ok_json();
    let views = || [vec!["list"], vec!["show", &bug], vec!["show", &fix], vec!["show", &later], vec!["ready"]];
    let before = views().map(|view| pn.pn(view).ok_json());

    let exported = pn.pn(["export"]).ok_json();
    assert_eq!(exported, serde_json::json!({"status": "ok", "issues": 3, "deps": 1, "comments": 1}));
    pn.offline(|store| {
        for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
            let _ = fs::remove_file(store.join(name));
        }
        assert!(!store.join("db.sqlite").exists());
    });
    assert_eq!(pn.pn(["import"]).ok_json(), exported);
    assert_eq!(views().map(|view| pn.pn(view).ok_json()), before);
}

fn doctor_fix_releases_every_claim_without_a_lease(pn: &Sandbox) {
    let held: Vec<String> = ["alpha", "beta"].iter().map(|title| task(pn, title)).collect();
    pn.pn(["update", &held[0], "--claim"]).actor("ana").ok_json();
    pn.pn(["update", &held[1], "--status", "in_progress"]).ok_json();
    let alive = task(pn, "gamma");
    pn.pn(["update", &alive, "--claim", "--ttl", "1h"]).actor("ben").ok_json();
    let report = pn.pn(["doctor", "--fix"]).ok_json();
    assert_eq!(elements(&report["fixes_applied"]).len(), 2, "{report}");
    for id in held {
        let issue = show(pn, &id);
        assert_eq!(issue["status"], "open");
        assert!(issue.get("assignee").is_none(), "{issue}");
    }
    assert_eq!(show(pn, &alive)["assignee"], "ben", "a lease that is alive looks after itself");
}

fn of_two_rapid_claims_exactly_one_succeeds(pn: &Sandbox) {
    for round in 0..10 {
        let id = task(pn, &format!("round {round}"));
        let claim = |actor: &str| pn.pn(["update", &id, "--claim"]).actor(actor).json();
        let runs = [claim("ana"), claim("ben")].map(|run| thread::spawn(move || run.answer()));
        let [ana, ben] = runs.map(|run| run.join().expect("a claim that ends"));
        let (winner, loser) = if ana.code == Some(0) { ("ana", ben) } else { ("ben", ana) };
        assert_eq!(loser.code, Some(1), "{loser:?}");
        assert_eq!(loser.error()["code"], "already_claimed");
        assert_eq!(show(pn, &id)["assignee"], winner);
    }
}

/// Only the outermost shape; the module `shapes` looks closer.
fn every_command_answers_in_its_documented_shape(pn: &Sandbox) {
    let id = task(pn, "one");
    let other = task(pn, "two");
    let objects: [&[&str]; 19] = [
        &["create", "three", "-t", "test"],
        &["update", &id, "--priority", "p3"],
        &["close", &id],
        &["reopen", &id],
        &["update", &id, "--claim"],
        &["release", &id],
        &["show", &id],
        &["show", &id, "--short"],
        &["count"],
        &["count", "--by-status"],
        &["status"],
        &["dep", "add", &id, &other],
        &["dep", "remove", &id, &other],
        &["comment", "add", &id, "seen"],
        &["doctor"],
        &["export"],
        &["import"],
        &["where"],
        &["delete", &other],
    ];
    for args in objects {
        assert!(pn.pn(args).ok_json().is_object(), "{args:?}");
    }
    let arrays: [&[&str]; 9] = [
        &["list"],
        &["ready"],
        &["blocked"],
        &["search", "nowhere"],
        &["history", &id],
        &["dep", "list", &id],
        &["dep", "tree", &id],
        &["dep", "cycles"],
        &["comment", "list", &id],
    ];
    for args in arrays {
        assert!(pn.pn(args).ok_json().is_array(), "{args:?}");
    }
}
