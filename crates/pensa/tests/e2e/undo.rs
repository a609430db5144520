//! `pn undo` and `pn redo`: output, JSON, and refusals.

use pensa_testkit::Sandbox;
use serde_json::json;

use crate::steps::{bug, create, elements, event_types, everything, history, ids, keys, show, task, text};

crate::in_both_modes! {
    undo_reverts_the_last_operation_and_redo_restores_it,
    undo_returns_the_undone_events,
    undoing_a_close_reopens_the_bug_that_it_closed,
    undoing_a_deletion_restores_all_dependents,
    a_refused_undo_names_the_later_change_and_changes_nothing,
    a_selection_is_undone_as_a_whole,
    a_dry_run_changes_nothing,
    doctor_finds_nothing_after_an_undo,
    what_can_be_undone_is_listed_with_what_cannot,
    two_sessions_of_one_name_undo_only_their_own,
}

fn what_can_be_undone_is_listed_with_what_cannot(pn: &Sandbox) {
    assert_eq!(pn.pn(["undo", "--list"]).ok().trim(), "there is nothing to undo");
    let id = task(pn, "one");
    pn.pn(["lock", "acquire", "build", "--ttl", "1m"]).ok_json();
    pn.pn(["kv", "set", "--scope", "project", "k", "v"]).ok();
    pn.pn(["undo"]).ok();
    let list = pn.pn(["undo", "--list"]).ok_json();
    let result: Vec<String> = elements(&list).iter().map(|one| text(&one["events"][0]["event_type"])).collect();
    assert_eq!(result, ["lock.acquired", "created"]);
    assert_eq!(list[0]["instead"], "pn lock release build");
    assert_eq!(pn.pn(["undo", "--list", "--limit", "1"]).ok().lines().count(), 1);
    assert_eq!(pn.pn(["-q", "undo", "--list"]).ok().trim(), list[1]["event"].to_string());
    pn.pn(["undo", "--limit", "1"]).misused();
    pn.pn(["undo", "--list", "--by", "ana"]).misused();
    let printed = pn.pn(["undo"]).ok();
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), 2, "{printed}");
    assert!(lines[0].starts_with("passed over build lock.acquired by tester "), "{printed}");
    assert!(lines[0].ends_with("; pn lock release build reverses it"), "{printed}");
    assert!(lines[1].starts_with(&format!("took back {id} created by tester ")), "{printed}");
}

fn two_sessions_of_one_name_undo_only_their_own(pn: &Sandbox) {
    let create =
        |session: &str| text(&pn.pn(["create", session, "-t", "task"]).env("PN_SESSION", session).ok_json()["id"]);
    let (first, second) = (create("s-1"), create("s-2"));
    pn.pn(["undo"]).fails("not_found");
    pn.pn(["undo"]).env("PN_SESSION", "s-1").ok_json();
    pn.pn(["show", &first]).fails("not_found");
    let error = pn.pn(["undo"]).env("PN_SESSION", "s-1").fails("not_found");
    assert!(text(&error["hint"]).contains("another session"), "{error}");
    show(pn, &second);
}

fn undo_reverts_the_last_operation_and_redo_restores_it(pn: &Sandbox) {
    let id = task(pn, "one");
    pn.pn(["update", &id, "--title", "two", "-p", "p0"]).actor("ana").ok_json();
    let renamed = show(pn, &id);
    pn.pn(["undo", "--any"]).ok_json();
    let back = show(pn, &id);
    assert_eq!((&back["title"], &back["priority"]), (&json!("one"), &json!("p2")));
    assert!(text(&back["updated_at"]) > text(&renamed["updated_at"]), "undoing is a change: {back}");
    pn.pn(["redo"]).ok_json();
    assert_eq!(show(pn, &id)["title"], "two");
    assert_eq!(event_types(pn, &id), ["created", "updated", "undone", "redone"]);
    let created = history(pn, &id)[3]["id"].to_string();
    pn.pn(["undo", "--event", &created]).fails("conflict");
    pn.pn(["undo", "--by", "ana"]).ok_json();
    pn.pn(["undo", "--event", &created]).ok_json();
    pn.pn(["show", &id]).fails("not_found");
    pn.pn(["redo"]).ok_json();
    assert_eq!(show(pn, &id)["title"], "one");
}

fn undo_returns_the_undone_events(pn: &Sandbox) {
    pn.pn(["undo"]).fails("not_found");
    let id = task(pn, "one");
    pn.pn(["close", &id]).actor("ana").ok_json();
    let closed = history(pn, &id)[0].clone();
    let result = pn.pn(["undo", "--any"]).ok_json();
    assert_eq!(keys(&result), ["event", "undone"]);
    let undo = &history(pn, &id)[0];
    assert_eq!(
        (&undo["event_type"], &undo["id"], &undo["actor"]),
        (&json!("undone"), &result["event"], &json!("tester"))
    );
    assert_eq!(undo["detail"]["undoes"], json!([closed["id"]]));
    assert_eq!(undo["detail"]["status"], json!({"old": "closed", "new": "open"}));
    let expected = json!([{
        "event": closed["id"], "op": closed["id"], "subject_kind": "issue", "subject_id": id, "issue_id": id, "event_type": "closed", "actor": "ana",
        "created_at": closed["created_at"],
    }]);
    assert_eq!(result["undone"], expected);
    let printed = pn.pn(["redo"]).ok();
    assert_eq!(printed.lines().count(), 1);
    assert!(printed.starts_with(&format!("brought back {id} closed by ana ")), "{printed}");
    assert_eq!(pn.pn(["-q", "undo", "--any"]).ok().trim(), id);
    assert_eq!(keys(&pn.pn(["redo"]).ok_json()), ["event", "redone"]);
}

fn undoing_a_close_reopens_the_bug_that_it_closed(pn: &Sandbox) {
    let bug = bug(pn, "a bug");
    let fix = create(pn, &["its fix", "-t", "task", "--fixes", &bug]);
    let after = create(pn, &["then", "-t", "task", "--dep", &fix]);
    pn.pn(["close", &fix]).ok_json();
    assert_eq!(ids(pn, &["ready"]), [after.as_str()]);
    let result = pn.pn(["undo"]).ok_json();
    assert_eq!(elements(&result["undone"]).len(), 2);
    assert_eq!((&show(pn, &bug)["status"], &show(pn, &fix)["status"]), (&json!("open"), &json!("open")));
    assert_eq!(ids(pn, &["ready"]), [fix.as_str()]);
}

fn undoing_a_deletion_restores_all_dependents(pn: &Sandbox) {
    let bug = bug(pn, "a bug");
    let parent = task(pn, "parent");
    let fix = create(pn, &["its fix", "-t", "task", "--fixes", &bug]);
    pn.pn(["dep", "add", &bug, &parent]).ok_json();
    pn.pn(["dep", "add", &fix, &bug]).ok_json();
    pn.pn(["comment", "add", &bug, "seen"]).actor("ana").ok_json();
    let (before, result) = (show(pn, &bug), history(pn, &bug));
    pn.pn(["delete", &bug, "--force"]).ok_json();
    pn.pn(["history", &bug]).fails("not_found");
    pn.pn(["undo"]).ok_json();
    let mut back = show(pn, &bug);
    back["updated_at"] = before["updated_at"].clone();
    for issues in ["blocks", "fixed_by"] {
        back[issues][0]["updated_at"] = before[issues][0]["updated_at"].clone();
    }
    assert_eq!(back, before);
    assert_eq!(history(pn, &bug)[2..], result, "with its history");
    assert_eq!(show(pn, &fix)["fixes"], bug.as_str());
    assert_eq!(show(pn, &fix)["deps"][0]["id"], bug.as_str());
    pn.pn(["close", &fix]).ok_json();
    assert_eq!(show(pn, &bug)["status"], "closed", "the link is a real one");
}

fn a_refused_undo_names_the_later_change_and_changes_nothing(pn: &Sandbox) {
    let id = task(pn, "one");
    pn.pn(["update", &id, "--title", "two"]).actor("ana").ok_json();
    pn.pn(["update", &id, "--title", "three"]).actor("ben").ok_json();
    let result = history(pn, &id);
    let before = everything(pn);
    let error = pn.pn(["undo", "--by", "ana"]).fails("conflict");
    let later = format!("event {} (updated {id} by ben)", result[0]["id"]);
    assert!(text(&error["error"]).contains(&later), "{error}");
    assert!(error["hint"].is_string(), "{error}");
    pn.pn(["undo", "--event", &result[2]["id"].to_string()]).fails("conflict");
    pn.pn(["undo", "--event", "123456"]).fails("not_found");
    pn.pn(["undo", "--since", "yesterday"]).misused();
    pn.pn(["undo", "--event", "1", "--by", "ana"]).misused();
    assert_eq!(everything(pn), before);
}

fn a_selection_is_undone_as_a_whole(pn: &Sandbox) {
    let id = task(pn, "kept");
    let made: Vec<String> =
        (0..3).map(|n| text(&pn.pn(["create", &format!("n{n}"), "-t", "task"]).actor("bot").ok_json()["id"])).collect();
    pn.pn(["update", &id, "-p", "p0"]).actor("bot").ok_json();
    pn.pn(["comment", "add", &made[0], "mine"]).actor("ana").ok_json();
    let before = everything(pn);
    pn.pn(["undo", "--by", "bot"]).fails("conflict");
    assert_eq!(everything(pn), before, "all or nothing");
    pn.pn(["undo", "--by", "ana", "--since", "1h"]).ok_json();
    let result = pn.pn(["undo", "--by", "bot", "--since", "1h"]).ok_json();
    let kinds: Vec<String> = elements(&result["undone"]).iter().map(|one| text(&one["event_type"])).collect();
    assert_eq!(kinds, ["updated", "created", "created", "created"], "newest first");
    assert_eq!(ids(pn, &["list"]), [id.as_str()]);
    assert_eq!(show(pn, &id)["priority"], "p2");
    pn.pn(["undo", "--by", "bot"]).fails("not_found");
}

fn a_dry_run_changes_nothing(pn: &Sandbox) {
    let id = task(pn, "one");
    pn.pn(["close", &id]).ok_json();
    let before = everything(pn);
    let tried = pn.pn(["undo", "--since", "1h", "--dry-run"]).ok_json();
    assert_eq!(keys(&tried), ["undone"]);
    assert_eq!(elements(&tried["undone"]).len(), 2);
    assert!(pn.pn(["undo", "--dry-run"]).ok().starts_with(&format!("would take back {id} closed by tester ")));
    assert_eq!(everything(pn), before);
    let next = task(pn, "two");
    assert_eq!(pn.pn(["undo"]).ok_json()["undone"][0]["issue_id"], next.as_str(), "the log has no trace of it");
}

fn doctor_finds_nothing_after_an_undo(pn: &Sandbox) {
    let (a, b) = (task(pn, "a"), task(pn, "b"));
    pn.pn(["dep", "add", &b, &a]).ok_json();
    pn.pn(["close", &a]).ok_json();
    pn.pn(["dep", "remove", &b, &a]).ok_json();
    for selection in [&["undo"][..], &["undo", "--since", "1h"], &["redo"]] {
        pn.pn(selection).ok_json();
        assert_eq!(pn.pn(["doctor"]).ok_json()["findings"], json!([]), "{selection:?}");
    }
}
