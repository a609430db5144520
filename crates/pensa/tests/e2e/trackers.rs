//! Issues of other trackers: imported once, updated by what changed there, and written back as they were.

use std::fs;
use std::path::{Path, PathBuf};

use pensa_testkit::Sandbox;
use serde_json::{Map, Value, json};

use crate::steps::{elements, history, ids, show, text};

crate::in_both_modes! {
    beads_go_and_come_back_equal_with_every_field,
    a_repeated_import_changes_only_what_changed_there,
    a_dry_run_reports_the_same_and_changes_nothing,
    problems_of_a_file_of_beads_have_their_lines,
    deleted_issues_are_kept_for_the_export_and_not_listed,
    an_issue_that_is_worked_on_keeps_its_holder,
    issues_of_github_are_imported_and_updated,
    subtasks_of_taskmaster_become_children,
}

const EVERY_FIELD: &str = include_str!("../../../pensa-interop/tests/fixtures/beads_every_field.json");

fn put(pn: &Sandbox, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = pn.path(name);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    fs::write(&path, content).expect("a file");
    path
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

#[track_caller]
fn import(pn: &Sandbox, from: &str, path: &Path) -> Value {
    pn.pn(["import-from", from, path.to_str().expect("UTF-8")]).ok_json()
}

fn issue(id: &str, more: Value) -> Value {
    let mut line = json!({"id": id, "title": format!("about {id}"), "status": "open", "priority": 2,
        "issue_type": "task", "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-02T00:00:00Z"});
    if let (Value::Object(line), Value::Object(more)) = (&mut line, more) {
        line.extend(more);
    }
    line
}

fn dep(from: &str, to: &str, kind: &str) -> Value {
    json!({"issue_id": from, "depends_on_id": to, "type": kind, "created_at": "2026-01-01T00:00:00Z", "created_by": "ann"})
}

/// The counts of a report: created, updated, unchanged.
fn counts(report: &Value) -> [u64; 3] {
    ["created", "updated", "unchanged"].map(|name| report[name].as_u64().unwrap_or_else(|| panic!("{report}")))
}

/// The lines of the skipped items of a report.
fn skipped_lines(report: &Value) -> Vec<u64> {
    elements(&report["skipped"]).iter().map(|skipped| skipped["line"].as_u64().expect("a line")).collect()
}

/// A file with every field in many variants, deleted issues and memories.
fn every_field() -> Vec<Value> {
    let full: Map<String, Value> = serde_json::from_str(EVERY_FIELD).expect("JSON");
    let statuses = ["open", "in_progress", "blocked", "deferred", "closed", "pinned", "hooked", "awaiting_review"];
    let types = ["bug", "feature", "task", "epic", "chore", "decision", "molecule"];
    let kinds = ["blocks", "related", "discovered-from", "waits-for", "replies-to", "supersedes"];
    let parents = ["parent-child", "parent_child", "child-of"];
    let mut records = Vec::new();
    for number in 0..60_usize {
        let id = format!("bd-{number:03}");
        let mut line = full.clone();
        line.insert("id".to_owned(), json!(id));
        line.insert("title".to_owned(), json!(format!("number {number}")));
        line.insert("status".to_owned(), json!(statuses[number % statuses.len()]));
        line.insert("issue_type".to_owned(), json!(types[number % types.len()]));
        line.insert("priority".to_owned(), json!(number % 5));
        line.insert("external_ref".to_owned(), json!(format!("gh-{number}")));
        if number % statuses.len() == 4 {
            line.insert("closed_at".to_owned(), json!("2026-01-02T00:00:00.123456Z"));
            line.insert("close_reason".to_owned(), json!("done"));
        }
        let earlier = |step: usize| number.checked_sub(step).map(|to| format!("bd-{to:03}"));
        let kind = |step: usize| kinds[(number + step) % kinds.len()];
        let mut deps: Vec<Value> =
            [1, 3, 7].into_iter().filter_map(|step| Some(dep(&id, &earlier(step)?, kind(step)))).collect();
        if number % 2 == 0 {
            deps.push(dep(&id, "bd-root", parents[number % parents.len()]));
        }
        line.insert("dependencies".to_owned(), json!(deps));
        let said = |at: u32| json!({"id": number * 10 + at as usize, "issue_id": id, "author": "ann", "text": format!("said {number} {at}"), "created_at": format!("2026-01-01T12:00:0{at}Z")});
        line.insert("comments".to_owned(), json!([said(1), said(2)]));
        // Not all have all.
        if number % 3 == 1 {
            for name in ["priority", "acceptance_criteria", "labels", "comments", "due_at", "external_ref"] {
                line.shift_remove(name);
            }
        }
        records.push(Value::Object(line));
    }
    records.push(issue("bd-root", json!({"issue_type": "epic"})));
    records.push(issue(
        "bd-x1",
        json!({"status": "tombstone", "deleted_at": "2026-01-03T00:00:00Z", "deleted_by": "ann"}),
    ));
    records.push(json!({"_type": "memory", "key": "build", "value": "run the build twice"}));
    records.push(json!({"_type": "memory", "key": "build-2", "value": "run the build twice"}));
    records
}

/// A record with moments in one form and its fields sorted.
fn plain(value: &Value) -> Value {
    match value {
        Value::String(text) => match text.parse::<pensa_core::Timestamp>() {
            Ok(at) if text.contains('T') => json!(at.to_string()),
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> =
                fields.iter().map(|(name, value)| (name.clone(), plain(value))).collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(fields.into_iter().collect())
        }
        _ => value.clone(),
    }
}

fn beads_go_and_come_back_equal_with_every_field(pn: &Sandbox) {
    let records = every_field();
    let report = import(pn, "beads", &put(pn, "issues.jsonl", lines(&records)));
    assert_eq!((counts(&report), &report["tombstones"], &report["skipped"]), ([63, 0, 0], &json!(1), &json!([])));
    assert_eq!(report["mapping"]["status"]["awaiting_review"], "open");
    assert_eq!(report["mapping"]["priority"]["4"], "p3");
    let exported = pn.pn(["export", "--format", "beads"]).ok();
    let written: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(written.len(), records.len());
    for (given, back) in records.iter().zip(&written) {
        let (mut given, back) = (plain(given), plain(back));
        // Absent means 0.
        given.as_object_mut().expect("an object").entry("priority").or_insert(json!(0));
        for (name, value) in back.as_object().expect("an object") {
            let same = given.get(name) == Some(value) || (name == "priority" && given["_type"] == "memory");
            assert!(same, "{name} of {}: {value} was {:?}", given["id"], given.get(name));
        }
        let lost: Vec<&String> =
            given.as_object().expect("an object").keys().filter(|name| back.get(*name).is_none()).collect();
        assert!(lost.is_empty() || lost == ["priority"], "{lost:?} of {}", given["id"]);
    }
    let other = crate::sandbox();
    let report = import(&other, "beads", &put(&other, "issues.jsonl", &exported));
    assert_eq!((counts(&report), &report["skipped"]), ([63, 0, 0], &json!([])));
    assert_eq!(other.pn(["export", "--format", "beads"]).ok(), exported);
    assert_eq!(without_marks(&other), without_marks(pn));
    let again = import(pn, "beads", &put(pn, "again.jsonl", &exported));
    assert_eq!(counts(&again), [0, 0, 63], "what was written says what is here: {again}");
    pn.pn(["doctor", "--deep"]).ok();
}

/// All issues with what belongs to them, without what an import notes for the next one.
fn without_marks(pn: &Sandbox) -> Vec<Value> {
    let mut issues = elements(&pn.pn(["list"]).ok_json());
    issues.sort_by_key(|issue| text(&issue["id"]));
    let shown = issues.iter().map(|issue| {
        let mut shown = show(pn, &text(&issue["id"]));
        let fields = shown.as_object_mut().expect("an object");
        fields["beads"]["seen"] = Value::Null;
        for list in ["deps", "blocks", "fixed_by", "children"] {
            let Some(Value::Array(items)) = fields.get_mut(list) else { continue };
            items.iter_mut().for_each(|item| *item = item["id"].take());
        }
        if let Some(Value::Array(refs)) = fields.get_mut("refs") {
            refs.iter_mut().for_each(|one| *one = one["target"].take());
        }
        shown
    });
    shown.collect()
}

fn a_repeated_import_changes_only_what_changed_there(pn: &Sandbox) {
    let first = [
        issue("bd-1", json!({"labels": ["a"], "dependencies": [dep("bd-1", "bd-2", "blocks")]})),
        issue(
            "bd-2",
            json!({"comments": [{"id": 1, "issue_id": "bd-2", "author": "ann", "text": "first", "created_at": "2026-01-01T00:00:00Z"}]}),
        ),
        issue("bd-3", json!({})),
    ];
    let file = put(pn, "issues.jsonl", lines(&first));
    assert_eq!(counts(&import(pn, "beads", &file)), [3, 0, 0]);
    let before = history(pn, "bd-1").len();
    assert_eq!(counts(&import(pn, "beads", &file)), [0, 0, 3]);
    assert_eq!(history(pn, "bd-1").len(), before, "nothing happened");
    // Here one field changes, there another.
    pn.pn(["update", "bd-1", "--title", "named here", "-p", "0"]).ok_json();
    pn.pn(["delete", "bd-3"]).ok_json();
    let second = [
        issue(
            "bd-1",
            json!({"labels": ["a", "b"], "description": "new there", "status": "closed", "close_reason": "done", "dependencies": [dep("bd-1", "bd-4", "blocks")]}),
        ),
        issue(
            "bd-2",
            json!({"comments": [{"id": 1, "issue_id": "bd-2", "author": "ann", "text": "edited", "created_at": "2026-01-01T00:00:00Z"}]}),
        ),
        issue("bd-3", json!({"title": "still there"})),
        issue("bd-4", json!({})),
    ];
    let report = import(pn, "beads", &put(pn, "issues.jsonl", lines(&second)));
    assert_eq!((counts(&report), skipped_lines(&report)), ([1, 2, 0], vec![3]), "{report}");
    assert!(text(&report["skipped"][0]["reason"]).contains("deleted here"), "{report}");
    let shown = show(pn, "bd-1");
    let fields =
        ["title", "priority", "labels", "description", "status", "close_reason"].map(|name| shown[name].clone());
    assert_eq!(json!(fields), json!(["named here", "p0", ["a", "b"], "new there", "closed", "done"]));
    assert_eq!(elements(&shown["deps"]).iter().map(|dep| text(&dep["id"])).collect::<Vec<_>>(), ["bd-4"]);
    let comments: Vec<String> = elements(&show(pn, "bd-2")["comments"]).iter().map(|one| text(&one["text"])).collect();
    assert_eq!(comments, ["edited"]);
    pn.pn(["doctor", "--deep"]).ok();
}

fn a_dry_run_reports_the_same_and_changes_nothing(pn: &Sandbox) {
    let records = [issue("bd-1", json!({"dependencies": [dep("bd-1", "bd-2", "blocks")]})), issue("bd-2", json!({}))];
    let file = put(pn, "issues.jsonl", lines(&records));
    let path = file.to_str().expect("UTF-8");
    let mut report = pn.pn(["import-from", "beads", path, "--dry-run"]).ok_json();
    assert_eq!((pn.pn(["list"]).ok_json(), &report["dry_run"]), (json!([]), &json!(true)));
    report.as_object_mut().expect("an object").shift_remove("dry_run");
    assert_eq!(import(pn, "beads", &file), report);
    assert_eq!(ids(pn, &["ready"]), ["bd-2"]);
}

fn problems_of_a_file_of_beads_have_their_lines(pn: &Sandbox) {
    let records = [
        issue("bd-1", json!({})),
        issue("bd-2", json!({"dependencies": [dep("bd-2", "bd-404", "blocks"), dep("bd-2", "bd-1", "blocks")]})),
        issue("bd-1", json!({"title": "the last counts", "dependencies": [dep("bd-1", "bd-3", "blocks")]})),
        issue("bd-3", json!({"dependencies": [dep("bd-3", "bd-2", "blocks")]})),
        issue("bd-4", json!({"dependencies": [dep("bd-4", "bd-5", "parent-child"), dep("bd-4", "bd-5", "blocks")]})),
        issue("bd-5", json!({})),
        json!({"id": "bd-6"}),
    ];
    let broken = format!("{}{{\"id\": \n", lines(&records));
    let report = import(pn, "beads", &put(pn, "issues.jsonl", broken));
    assert_eq!(counts(&report), [5, 0, 0], "{report}");
    assert_eq!(skipped_lines(&report), [1, 2, 4, 5, 7, 8], "{report}");
    let reasons: Vec<String> = elements(&report["skipped"]).iter().map(|one| text(&one["reason"])).collect();
    for (reason, part) in reasons.iter().zip(["line 3", "bd-404", "cycle", "cycle", "title", "JSON"]) {
        assert!(reason.contains(part), "{reason}");
    }
    assert_eq!(show(pn, "bd-1")["title"], "the last counts");
    assert_eq!(show(pn, "bd-4")["parent"], "bd-5");
    assert_eq!(pn.pn(["dep", "cycles"]).ok_json(), json!([]));
    let again = import(pn, "beads", &pn.path("issues.jsonl"));
    assert_eq!((counts(&again), &again["skipped"]), ([0, 0, 5], &report["skipped"]), "the same once more");
    let marked = format!("{}<<<<<<< ours\n", lines(&records));
    let path = put(pn, "marked.jsonl", marked);
    let error = pn.pn(["import-from", "beads", path.to_str().expect("UTF-8")]).fails("invalid_input");
    assert!(text(&error["error"]).contains("line 8"), "{error}");
    pn.pn(["doctor", "--deep"]).ok();
}

fn deleted_issues_are_kept_for_the_export_and_not_listed(pn: &Sandbox) {
    let gone =
        issue("bd-2", json!({"status": "tombstone", "deleted_at": "2026-01-03T00:00:00Z", "original_type": "bug"}));
    let file = put(pn, "issues.jsonl", lines(&[issue("bd-1", json!({})), gone.clone()]));
    let report = import(pn, "beads", &file);
    assert_eq!((counts(&report), &report["tombstones"]), ([1, 0, 0], &json!(1)));
    assert_eq!(ids(pn, &["list"]), ["bd-1"]);
    let export = |pn: &Sandbox| -> Vec<Value> {
        let text = pn.pn(["export", "--format", "beads"]).ok();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    assert_eq!(export(pn)[1], gone);
    // What is deleted there after it was imported is closed here, and deleted in the export.
    let also = issue("bd-1", json!({"status": "tombstone"}));
    import(pn, "beads", &put(pn, "issues.jsonl", lines(&[also.clone(), gone])));
    assert_eq!(show(pn, "bd-1")["status"], "closed");
    assert_eq!(export(pn)[0], also);
    let target = pn.path("out.jsonl");
    pn.pn(["export", "--format", "beads", "-o", target.to_str().expect("UTF-8")]).ok();
    assert_eq!(fs::read_to_string(target).expect("written").lines().count(), 2);
    pn.pn(["export", "--format", "beads", "--check"]).misused();
    pn.pn(["export", "-o", "x"]).misused();
}

fn an_issue_that_is_worked_on_keeps_its_holder(pn: &Sandbox) {
    import(pn, "beads", &put(pn, "issues.jsonl", lines(&[issue("bd-1", json!({}))])));
    pn.pn(["update", "bd-1", "--claim", "--ttl", "1h"]).actor("ana").env("PN_SESSION", "hers").ok_json();
    let closed = put(pn, "issues.jsonl", lines(&[issue("bd-1", json!({"status": "closed", "title": "new there"}))]));
    let report = pn.pn(["import-from", "beads", closed.to_str().expect("UTF-8")]).actor("bob").ok_json();
    assert_eq!((counts(&report), skipped_lines(&report)), ([0, 1, 0], vec![1]), "{report}");
    let shown = show(pn, "bd-1");
    assert_eq!(
        (&shown["status"], &shown["assignee"], &shown["title"]),
        (&json!("in_progress"), &json!("ana"), &json!("new there"))
    );
    pn.pn(["release", "bd-1"]).actor("ana").env("PN_SESSION", "hers").ok_json();
    assert_eq!(counts(&import(pn, "beads", &closed)), [0, 1, 0], "the next import tries again");
    assert_eq!(show(pn, "bd-1")["status"], "closed");
}

fn issues_of_github_are_imported_and_updated(pn: &Sandbox) {
    let mut first = json!({"number": 12, "title": "Login fails", "body": "On Safari", "state": "OPEN", "stateReason": "",
        "url": "https://github.com/acme/shop/issues/12", "labels": [{"id": "x", "name": "bug"}, {"name": "p1"}],
        "assignees": [{"login": "ann"}], "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-02T00:00:00Z",
        "closedAt": null, "milestone": {"title": "v2", "dueOn": "2026-03-01T00:00:00Z"}, "isPinned": true,
        "comments": [{"id": "IC_1", "author": {"login": "bob"}, "body": "me too", "createdAt": "2026-01-01T01:00:00Z"}]});
    let file = put(pn, "issues.json", json!([first]).to_string());
    assert_eq!(counts(&import(pn, "github", &file)), [1, 0, 0]);
    let shown = show(pn, "shop-12");
    let fields = ["issue_type", "status", "priority", "assignee", "due"].map(|name| shown[name].clone());
    assert_eq!(json!(fields), json!(["bug", "open", "p1", "ann", "2026-03-01"]));
    assert_eq!(shown["refs"][0]["target"], "https://github.com/acme/shop/issues/12");
    assert_eq!((&shown["comments"][0]["actor"], &shown["github"]["raw"]["isPinned"]), (&json!("bob"), &json!(true)));
    first["state"] = json!("CLOSED");
    first["stateReason"] = json!("NOT_PLANNED");
    let file = put(pn, "issues.json", json!([first]).to_string());
    let piped = pn.pn(["import-from", "github", "-"]).stdin(json!([first]).to_string());
    assert_eq!(counts(&piped.ok_json()), [0, 1, 0]);
    let shown = show(pn, "shop-12");
    assert_eq!((&shown["status"], &shown["close_reason"]), (&json!("closed"), &json!("not planned")));
    assert_eq!(counts(&import(pn, "github", &file)), [0, 0, 1]);
}

fn subtasks_of_taskmaster_become_children(pn: &Sandbox) {
    let tasks = json!({"master": {"tasks": [
        {"id": 1, "title": "Set up", "status": "done", "priority": "high", "dependencies": []},
        {"id": 2, "title": "Build", "description": "all of it", "details": "carefully", "testStrategy": "run it",
            "status": "pending", "dependencies": [1], "subtasks": [
                {"id": 1, "title": "First", "status": "done", "dependencies": []},
                {"id": 2, "title": "Second", "status": "pending", "dependencies": [1]}]}]},
        "later": {"tasks": [{"id": 1, "title": "Other", "status": "deferred"}]}});
    put(pn, "p/.taskmaster/tasks/tasks.json", tasks.to_string());
    assert_eq!(counts(&import(pn, "taskmaster", &pn.path("p"))), [5, 0, 0]);
    assert_eq!(ids(pn, &["children", "tm-2"]), ["tm-2.1", "tm-2.2"]);
    let mut ready = ids(pn, &["ready"]);
    ready.sort();
    assert_eq!(ready, ["tm-2.2", "tm-later-1"]);
    assert_eq!(show(pn, "tm-2")["description"], "all of it\n\n## Details\n\ncarefully\n\n## Test strategy\n\nrun it");
}

/// A size at which a quadratic step would be felt.
#[test]
fn ten_thousand_issues_are_imported_in_one_transaction() {
    let pn = crate::sandbox();
    let records: Vec<Value> = (0..10_000_u32)
        .map(|number| {
            let id = format!("bd-{number}");
            let before: Vec<Value> =
                number.checked_sub(7).into_iter().map(|to| dep(&id, &format!("bd-{to}"), "blocks")).collect();
            issue(
                &id,
                json!({"labels": ["a", "b"], "dependencies": before, "notes": "kept", "description": "d".repeat(200)}),
            )
        })
        .collect();
    let file = put(&pn, "issues.jsonl", lines(&records));
    assert_eq!(counts(&import(&pn, "beads", &file)), [10_000, 0, 0]);
    assert_eq!(counts(&import(&pn, "beads", &file)), [0, 0, 10_000]);
    assert_eq!(pn.pn(["export", "--format", "beads"]).ok().lines().count(), 10_000);
}
