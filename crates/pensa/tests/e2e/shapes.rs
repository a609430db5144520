//! The fields of every answer under `--json`, and the logged events.

use pensa_testkit::Sandbox;
use serde_json::{Value, json};

use crate::steps::{bug, create, elements, event_types, history, ids, keys, show, task, text};

crate::in_both_modes! {
    an_issue_has_the_fields_of_the_schema_and_omits_the_absent_ones,
    show_adds_deps_as_issue_objects_and_comments,
    create_reports_similar_open_issues_and_never_refuses,
    every_kind_of_change_is_logged_with_old_and_new_values,
    dependencies_answer_with_what_changed,
    comments_answer_with_the_comment,
    delete_needs_force_when_others_depend_on_it,
    deleting_a_bug_clears_the_link_of_its_fix,
    status_counts_every_type,
    count_groups_by_the_flags_given,
    doctor_reports_findings_and_fixes,
    update_to_closed_closes_like_close,
    invalid_transitions_name_the_status,
    claiming_again_is_refused_and_changes_nothing,
    a_refused_claim_applies_no_other_field,
    a_claim_with_other_fields_applies_all,
    unclaim_releases,
    an_empty_name_or_text_clears_the_field,
}

const ID: &str = "pn-";

#[track_caller]
fn assert_id(value: &Value) {
    let id = text(value);
    let digits = id.strip_prefix(ID).expect("pn- before the digits");
    assert!(digits.len() == 8 && digits.bytes().all(|b| b"0123456789abcdef".contains(&b)), "{id}");
}

#[track_caller]
fn assert_time(value: &Value) {
    let time = text(value);
    let form: String = time.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    assert_eq!(form, "9999-99-99T99:99:99.999Z", "{time}");
}

fn an_issue_has_the_fields_of_the_schema_and_omits_the_absent_ones(pn: &Sandbox) {
    let plain = pn.pn(["create", "only a title", "-t", "chore"]).ok_json();
    assert_eq!(
        keys(&plain),
        ["id", "title", "issue_type", "status", "priority", "created_at", "updated_at", "similar"]
    );
    assert_id(&plain["id"]);
    assert_time(&plain["created_at"]);
    assert_eq!(plain["created_at"], plain["updated_at"]);
    assert_eq!((&plain["status"], &plain["priority"]), (&json!("open"), &json!("p2")));

    let bug = bug(pn, "a bug");
    let flags = ["-t", "task", "-p", "p0", "-a", "ana", "--spec", "auth", "--fixes", &bug, "--description", "why"];
    let full = create(pn, &[&["everything"], &flags[..]].concat());
    let closed = pn.pn(["close", &full, "--reason", "done"]).ok_json();
    let fields = [
        "id",
        "title",
        "description",
        "issue_type",
        "status",
        "priority",
        "spec",
        "fixes",
        "assignee",
        "created_at",
        "updated_at",
        "closed_at",
        "close_reason",
    ];
    assert_eq!(keys(&closed), fields);
    assert_time(&closed["closed_at"]);
    assert_eq!(pn.pn(["show", &full, "--short"]).ok_json(), closed);
}

fn show_adds_deps_as_issue_objects_and_comments(pn: &Sandbox) {
    let parent = task(pn, "first");
    let child = create(pn, &["second", "-t", "task", "--dep", &parent]);
    let bare = show(pn, &parent);
    assert_eq!((&bare["deps"], &bare["comments"]), (&json!([]), &json!([])));
    pn.pn(["comment", "add", &child, "seen"]).actor("ana").ok_json();
    let full = show(pn, &child);
    let listed = elements(&pn.pn(["list"]).ok_json());
    assert_eq!(full["deps"], json!([listed[0]]));
    assert_eq!(pn.pn(["dep", "list", &child]).ok_json(), full["deps"]);
    let comments = elements(&full["comments"]);
    assert_eq!(keys(&comments[0]), ["id", "issue_id", "actor", "text", "created_at"]);
}

fn create_reports_similar_open_issues_and_never_refuses(pn: &Sandbox) {
    let first = bug(pn, "login crash on empty password");
    let again = pn.pn(["create", "Login crashes on empty password", "-t", "bug"]).ok_json();
    assert_eq!(again["similar"], json!([{"id": first, "title": "login crash on empty password"}]));
    let note = pn.pn(["create", "login crash on empty password", "-t", "bug"]).answer();
    assert_eq!(note.code, Some(0));
    assert!(note.stderr.contains(&first), "a note on standard error: {note:?}");
    assert!(!note.stdout.contains(&first), "{note:?}");
    pn.pn(["close", &first]).ok_json();
    pn.pn(["close", again["id"].as_str().expect("an id")]).ok_json();
    let other = pn.pn(["create", "write the manual", "-t", "task"]).ok_json();
    assert_eq!(other["similar"], json!([]));
    let last = pn.pn(["create", "login crash on empty password", "-t", "bug"]).ok_json();
    assert!(!elements(&last["similar"]).iter().any(|similar| similar["id"] == first.as_str()), "closed ones: {last}");
}

fn every_kind_of_change_is_logged_with_old_and_new_values(pn: &Sandbox) {
    let (id, parent) = (task(pn, "one"), task(pn, "two"));
    pn.pn(["update", &id, "--title", "uno", "-p", "p0"]).ok_json();
    pn.pn(["update", &id, "--claim"]).actor("ana").ok_json();
    pn.pn(["release", &id]).actor("ana").ok_json();
    pn.pn(["dep", "add", &id, &parent]).ok_json();
    pn.pn(["dep", "remove", &id, &parent]).ok_json();
    let comment = pn.pn(["comment", "add", &id, "seen"]).ok_json();
    pn.pn(["close", &id, "--reason", "done"]).ok_json();
    pn.pn(["reopen", &id, "--reason", "not quite"]).ok_json();
    let events = history(pn, &id);
    assert_eq!(keys(&events[0]), ["id", "issue_id", "event_type", "actor", "detail", "created_at"]);
    let sequence: Vec<i64> = events.iter().map(|event| event["id"].as_i64().expect("a number")).collect();
    assert!(sequence.is_sorted_by(|newer, older| newer > older), "newest first: {sequence:?}");
    let result: Vec<Value> =
        events.iter().rev().map(|event| json!([event["event_type"], event["actor"], event["detail"]])).collect();
    let closed_at = &events[1]["detail"]["closed_at"]["new"];
    let created = &result[0][2];
    assert_eq!((&result[0][0], &created["title"]), (&json!("created"), &json!({"old": null, "new": "one"})));
    let change = |old: Value, new: Value| json!({"old": old, "new": new});
    let host = result[2][2]["claim_host"]["new"].clone();
    assert!(host.is_string(), "{host}");
    assert_eq!(
        result[1..],
        [
            json!(["updated", "tester", {"title": change("one".into(), "uno".into()), "priority": change("p2".into(), "p0".into())}]),
            json!(["claimed", "ana", {"status": change("open".into(), "in_progress".into()), "assignee": change(Value::Null, "ana".into()), "claim_host": change(Value::Null, host.clone())}]),
            json!(["released", "ana", {"status": change("in_progress".into(), "open".into()), "assignee": change("ana".into(), Value::Null), "claim_host": change(host, Value::Null)}]),
            json!(["dep_added", "tester", {"depends_on_id": change(Value::Null, parent.clone().into())}]),
            json!(["dep_removed", "tester", {"depends_on_id": change(parent.into(), Value::Null)}]),
            json!(["commented", "tester", {"comment": change(Value::Null, comment)}]),
            json!(["closed", "tester", {
                "status": change("open".into(), "closed".into()),
                "closed_at": change(Value::Null, closed_at.clone()),
                "close_reason": change(Value::Null, "done".into()),
            }]),
            json!(["reopened", "tester", {
                "status": change("closed".into(), "open".into()),
                "closed_at": change(closed_at.clone(), Value::Null),
                "close_reason": change("done".into(), Value::Null),
                "reason": "not quite",
            }]),
        ]
    );
}

fn dependencies_answer_with_what_changed(pn: &Sandbox) {
    let (a, b) = (task(pn, "one"), task(pn, "two"));
    let added = json!({"status": "added", "issue_id": a, "depends_on_id": b});
    assert_eq!(pn.pn(["dep", "add", &a, &b]).ok_json(), added);
    assert_eq!(pn.pn(["dep", "add", &a, &b]).ok_json(), added, "adding it again succeeds");
    assert_eq!(event_types(pn, &a), ["created", "dep_added"], "and changes nothing");
    let removed = json!({"status": "removed", "issue_id": a, "depends_on_id": b});
    assert_eq!(pn.pn(["dep", "remove", &a, &b]).ok_json(), removed);
    pn.pn(["dep", "remove", &a, &b]).fails("not_found");
    pn.pn(["dep", "add", &a, &a]).fails("cycle_detected");
}

fn comments_answer_with_the_comment(pn: &Sandbox) {
    let id = task(pn, "one");
    assert_eq!(pn.pn(["comment", "list", &id]).ok_json(), json!([]));
    let first = pn.pn(["comment", "add", &id, "seen"]).actor("ana").ok_json();
    assert_eq!(keys(&first), ["id", "issue_id", "actor", "text", "created_at"]);
    assert_id(&first["id"]);
    assert_time(&first["created_at"]);
    assert_eq!((&first["issue_id"], &first["actor"], &first["text"]), (&json!(id), &json!("ana"), &json!("seen")));
    let second = pn.pn(["comment", "add", &id, "-"]).stdin("from a pipe\n").ok_json();
    assert_eq!(second["text"], "from a pipe");
    assert_eq!(pn.pn(["comment", "list", &id]).ok_json(), json!([first, second]), "oldest first");
}

fn delete_needs_force_when_others_depend_on_it(pn: &Sandbox) {
    let free = task(pn, "free");
    assert_eq!(pn.pn(["delete", &free]).ok_json(), json!({"status": "deleted", "id": free}));
    pn.pn(["show", &free]).fails("not_found");
    pn.pn(["history", &free]).fails("not_found");

    let (parent, child) = (task(pn, "parent"), task(pn, "child"));
    pn.pn(["dep", "add", &child, &parent]).ok_json();
    pn.pn(["delete", &parent]).fails("conflict");
    let printed = task(pn, "said");
    pn.pn(["comment", "add", &printed, "keep me"]).ok_json();
    pn.pn(["delete", &printed]).fails("conflict");
    assert_eq!(ids(pn, &["ready"]), [parent.clone(), printed.clone()]);
    for id in [&parent, &printed] {
        assert_eq!(pn.pn(["delete", id, "--force"]).ok_json(), json!({"status": "deleted", "id": id}));
    }
    assert_eq!(ids(pn, &["ready"]), [child.as_str()]);
    assert_eq!(event_types(pn, &child), ["created", "dep_added", "dep_removed"]);
    pn.pn(["delete", &child]).ok_json();
}

fn deleting_a_bug_clears_the_link_of_its_fix(pn: &Sandbox) {
    let bug = bug(pn, "a bug");
    let fix = create(pn, &["its fix", "-t", "task", "--fixes", &bug]);
    pn.pn(["delete", &bug]).fails("conflict");
    assert_eq!(show(pn, &fix)["fixes"], bug.as_str());
    pn.pn(["delete", &bug, "--force"]).ok_json();
    assert!(show(pn, &fix).get("fixes").is_none());
    let newest = &history(pn, &fix)[0];
    assert_eq!((&newest["event_type"], &newest["detail"]["fixes"]["old"]), (&json!("updated"), &json!(bug)));
    assert_eq!(pn.pn(["close", &fix]).ok_json()["status"], "closed");
}

fn status_counts_every_type(pn: &Sandbox) {
    let none = json!({"open": 0, "in_progress": 0, "closed": 0});
    let empty = json!({
        "open": 0, "in_progress": 0, "closed": 0,
        "by_type": {"bug": none, "task": none, "test": none, "chore": none},
    });
    assert_eq!(pn.pn(["status"]).ok_json(), empty);
    bug(pn, "one");
    let ids = [task(pn, "two"), task(pn, "three")];
    pn.pn(["update", &ids[0], "--claim"]).ok_json();
    pn.pn(["close", &ids[1]]).ok_json();
    let expected = json!({
        "open": 1, "in_progress": 1, "closed": 1,
        "by_type": {
            "bug": {"open": 1, "in_progress": 0, "closed": 0},
            "task": {"open": 0, "in_progress": 1, "closed": 1},
            "test": none, "chore": none,
        },
    });
    assert_eq!(pn.pn(["status"]).ok_json(), expected);
}

fn count_groups_by_the_flags_given(pn: &Sandbox) {
    assert_eq!(pn.pn(["count"]).ok_json(), json!({"count": 0}));
    assert_eq!(pn.pn(["count", "--by-status"]).ok_json(), json!({"total": 0, "groups": []}));
    create(pn, &["one", "-t", "bug", "-p", "p1"]);
    create(pn, &["two", "-t", "task", "-p", "p1", "-a", "ana"]);
    let closed = create(pn, &["three", "-t", "task", "-p", "p0"]);
    pn.pn(["close", &closed]).ok_json();
    assert_eq!(pn.pn(["count"]).ok_json(), json!({"count": 2}), "those that are not closed");
    let by = |flags: &[&str]| pn.pn([&["count"], flags].concat()).ok_json();
    let open = json!({"status": "open", "priority": "p1", "count": 2});
    let shut = json!({"status": "closed", "priority": "p0", "count": 1});
    assert_eq!(by(&["--by-status", "--by-priority"]), json!({"total": 3, "groups": [open, shut]}));
    let assignees = json!([{"assignee": "", "count": 2}, {"assignee": "ana", "count": 1}]);
    assert_eq!(by(&["--by-assignee"]), json!({"total": 3, "groups": assignees}));
    let types = json!([{"issue_type": "bug", "count": 1}, {"issue_type": "task", "count": 2}]);
    assert_eq!(by(&["--by-issue-type"]), json!({"total": 3, "groups": types}));
    let all = by(&["--by-status", "--by-priority", "--by-issue-type", "--by-assignee"]);
    assert_eq!(keys(&all["groups"][0]), ["status", "priority", "issue_type", "assignee", "count"]);
    assert_eq!(elements(&all["groups"]).len(), 3);
}

fn doctor_reports_findings_and_fixes(pn: &Sandbox) {
    assert_eq!(pn.pn(["doctor"]).ok_json(), json!({"findings": [], "fixes_applied": []}));
    let id = task(pn, "one");
    pn.pn(["update", &id, "--claim"]).ok_json();
    let report = pn.pn(["doctor"]).ok_json();
    assert_eq!(report["fixes_applied"], json!([]), "only --fix changes anything");
    assert_eq!(show(pn, &id)["status"], "in_progress");
    let findings = elements(&report["findings"]);
    assert!(findings.iter().all(|finding| finding["severity"] != "error"), "{report}");
}

fn update_to_closed_closes_like_close(pn: &Sandbox) {
    let bug = bug(pn, "a bug");
    let fix = create(pn, &["its fix", "-t", "task", "--fixes", &bug]);
    let closed = pn.pn(["update", &fix, "--status", "closed"]).ok_json();
    assert_eq!(closed["status"], "closed");
    assert_time(&closed["closed_at"]);
    assert_eq!(show(pn, &bug)["close_reason"], format!("fixed by {fix}"));
    assert_eq!(event_types(pn, &fix), ["created", "closed"]);
    let open = pn.pn(["update", &fix, "--status", "open"]).ok_json();
    assert_eq!(open["status"], "open");
    assert!(open.get("closed_at").is_none(), "{open}");
    assert_eq!(event_types(pn, &fix), ["created", "closed", "reopened"]);
}

fn invalid_transitions_name_the_status(pn: &Sandbox) {
    let (open, closed) = (task(pn, "open"), task(pn, "closed"));
    pn.pn(["close", &closed]).ok_json();
    let refused: [&[&str]; 7] = [
        &["update", &closed, "--claim"],
        &["release", &closed],
        &["update", &closed, "--unclaim"],
        &["close", &closed],
        &["update", &closed, "--status", "closed"],
        &["reopen", &open],
        &["update", &closed, "--status", "in_progress"],
    ];
    for args in refused {
        pn.pn(args).fails("invalid_status_transition");
    }
    assert_eq!(event_types(pn, &closed), ["created", "closed"]);
    assert_eq!(event_types(pn, &open), ["created"]);
}

fn claiming_again_is_refused_and_changes_nothing(pn: &Sandbox) {
    let id = task(pn, "one");
    let first = pn.pn(["update", &id, "--claim"]).actor("ana").ok_json();
    pn.pn(["update", &id, "--claim"]).actor("ana").fails("already_claimed");
    assert_eq!(pn.pn(["show", "--short", &id]).ok_json(), first);
    assert_eq!(event_types(pn, &id), ["created", "claimed"]);
}

fn a_refused_claim_applies_no_other_field(pn: &Sandbox) {
    let id = task(pn, "one");
    pn.pn(["update", &id, "--claim"]).actor("ana").ok_json();
    let before = show(pn, &id);
    let take = ["update", &id, "--claim", "--title", "mine", "-p", "p0", "--description", "now"];
    pn.pn(take).actor("ben").fails("already_claimed");
    assert_eq!(show(pn, &id), before);
    let free = task(pn, "free");
    pn.pn(["update", &free, "--claim", "--title", ""]).fails("invalid_input");
    assert_eq!(show(pn, &free)["status"], "open", "a field that is refused refuses the claim");
}

fn a_claim_with_other_fields_applies_all(pn: &Sandbox) {
    let id = task(pn, "one");
    let claimed = pn.pn(["update", &id, "--claim", "--title", "mine", "-p", "p0"]).actor("ana").ok_json();
    let expected = json!(["in_progress", "ana", "mine", "p0"]);
    assert_eq!(json!([claimed["status"], claimed["assignee"], claimed["title"], claimed["priority"]]), expected);
    let shown = show(pn, &id);
    assert_eq!(json!([shown["status"], shown["assignee"], shown["title"], shown["priority"]]), expected);
}

fn unclaim_releases(pn: &Sandbox) {
    let id = task(pn, "one");
    pn.pn(["update", &id, "--claim"]).actor("ana").ok_json();
    let released = pn.pn(["update", &id, "--unclaim"]).actor("ana").ok_json();
    assert_eq!(released["status"], "open");
    assert!(released.get("assignee").is_none(), "{released}");
    assert_eq!(event_types(pn, &id), ["created", "claimed", "released"]);
}

fn an_empty_name_or_text_clears_the_field(pn: &Sandbox) {
    let id = create(pn, &["one", "-t", "task", "-a", "ana", "--description", "why"]);
    let cleared = pn.pn(["update", &id, "-a", "", "--description", ""]).ok_json();
    assert!(cleared.get("assignee").is_none() && cleared.get("description").is_none(), "{cleared}");
}
