//! Regression tests for answers that were wrong once.

use std::fs;

use pensa_testkit::Sandbox;
use serde_json::json;

use crate::steps::{elements, ids, task, text};

crate::in_both_modes! {
    work_on_an_unknown_id_is_not_found,
    ids_are_found_in_any_case_and_an_exact_match_wins,
    text_with_crlf_line_ends_is_accepted,
    a_two_line_title_and_a_self_dependency_have_clear_errors,
}

fn work_on_an_unknown_id_is_not_found(pn: &Sandbox) {
    let id = task(pn, "one");
    let short = if id.starts_with("pn-0") { "pn-1" } else { "pn-0" };
    for unknown in ["pn-a1b2", "PN-A1B2", short, "pn-a1b2c3d4e5", "run-a1b2c3d4"] {
        let error = pn.pn(["work", "start", unknown]).fails("not_found");
        assert!(text(&error["error"]).contains(unknown), "{error}");
    }
    assert_eq!(ids(pn, &["list"]), [id]);
    for title in ["login", "pn-login", "utf-8"] {
        assert_eq!(pn.pn(["work", "start", title]).ok_json()["title"], title);
    }
}

fn ids_are_found_in_any_case_and_an_exact_match_wins(pn: &Sandbox) {
    let id = task(pn, "one");
    let upper = id.to_ascii_uppercase();
    for named in [upper.as_str(), &upper[..7], &id.replace("pn-", "PN-"), &upper[3..]] {
        assert_eq!(pn.pn(["show", named]).ok_json()["id"], json!(id), "{named}");
    }
    assert_eq!(pn.pn(["work", "start", &upper]).ok_json()["issue_id"], json!(id));
    let release = pn.pn(["ship", "x", "--version", "1", "--issue", &upper]).ok_json();
    assert_eq!(release["issues"], json!([id]));
    let repo = pn.pn(["agent", "create", "--kind", "user", "--name", "a"]).json().answer();
    if repo.code == Some(0) {
        let agent: serde_json::Value = serde_json::from_str(&repo.stdout).expect("JSON");
        let agent = text(&agent["id"]);
        assert_eq!(pn.pn(["agent", "show", &agent.to_ascii_uppercase()]).ok_json()["id"], json!(agent));
    }
    pn.offline(|store| {
        let line = |id: &str| {
            json!({"id": id, "title": id, "issue_type": "task", "status": "open", "priority": "p2",
                "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z"})
        };
        let lines = ["BD-1", "bd-1", "BD-2"].map(|id| format!("{}\n", line(id)));
        fs::write(store.join("issues.jsonl"), lines.concat()).expect("written");
        pn.embedded(["import"]).ok();
    });
    for (named, id) in [("BD-1", "BD-1"), ("bd-1", "bd-1"), ("bd-2", "BD-2")] {
        assert_eq!(pn.pn(["show", named]).ok_json()["id"], json!(id), "{named}");
    }
    let error = pn.pn(["show", "Bd-1"]).fails("ambiguous_id");
    assert!(text(&error["error"]).contains("BD-1, bd-1"), "{error}");
}

fn text_with_crlf_line_ends_is_accepted(pn: &Sandbox) {
    let id = task(pn, "one");
    pn.pn(["update", &id, "--description", "-"]).stdin("first\r\nsecond\r\n").ok();
    assert_eq!(pn.pn(["show", &id]).ok_json()["description"], "first\nsecond");
    pn.pn(["comment", "add", &id, "-"]).stdin("only line\r\n").ok();
    assert_eq!(pn.pn(["show", &id]).ok_json()["comments"][0]["text"], "only line");
    let captured = pn.pn(["capture", "-"]).stdin("an idea\r\nand more\r\n").ok_json();
    assert_eq!((&captured["title"], &captured["description"]), (&json!("an idea"), &json!("an idea\nand more")));
    let learned = pn.pn(["remember", "-"]).stdin("always test\r\n").ok_json();
    assert_eq!(learned["text"], "always test");
}

fn a_two_line_title_and_a_self_dependency_have_clear_errors(pn: &Sandbox) {
    let id = task(pn, "one");
    for args in [&["create", "two\nlines", "-t", "task"][..], &["update", &id, "--title", "two\nlines"]] {
        let error = pn.pn(args).fails("invalid_input");
        assert_eq!(error["error"], "title has more than one line");
        assert!(text(&error["hint"]).contains("description"), "{error}");
    }
    let error = pn.pn(["dep", "add", &id, &id]).fails("cycle_detected");
    assert!(text(&error["error"]).contains(&format!("{id} cannot depend on itself")), "{error}");
}

/// The checks and messages of doctor's findings about files.
fn findings(pn: &Sandbox) -> Vec<(String, String)> {
    let report = pn.pn(["doctor"]).ok_json();
    let all = elements(&report["findings"]);
    all.iter().map(|finding| (text(&finding["check"]), text(&finding["message"]))).collect()
}

#[test]
fn conflict_markers_are_named_and_repair_merges_both_sides() {
    let pn = crate::sandbox();
    let id = task(&pn, "old");
    pn.pn(["export"]).ok();
    let file = pn.store().join("issues.jsonl");
    let base = fs::read_to_string(&file).expect("an export");
    pn.pn(["update", &id, "--title", "ours"]).ok();
    pn.pn(["export"]).ok();
    let ours = fs::read_to_string(&file).expect("an export");
    let theirs = base.replace("\"priority\":\"p2\"", "\"priority\":\"p0\"") + &base.replace(&id, "pn-00000001");
    let marked = format!("<<<<<<< HEAD\n{ours}||||||| base\n{base}=======\n{theirs}>>>>>>> main\n");
    fs::write(&file, &marked).expect("written");
    let found = findings(&pn);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "conflict_marks");
    assert!(found[0].1.starts_with("issues.jsonl has git's conflict marks, the first in line 1"), "{found:?}");
    let error = pn.pn(["import"]).fails("invalid_input");
    assert!(text(&error["hint"]).contains("pn conflicts repair"), "{error}");
    assert_eq!(pn.pn(["conflicts", "repair"]).ok_json(), json!({"files": ["issues.jsonl"], "conflicts": 0}));
    let issue = pn.pn(["show", &id]).ok_json();
    assert_eq!((&issue["title"], &issue["priority"]), (&json!("ours"), &json!("p0")));
    assert_eq!(ids(&pn, &["list"]).len(), 2);
    assert_eq!(pn.pn(["conflicts", "repair"]).ok_json(), json!({"files": [], "conflicts": 0}));
    fs::write(&file, "<<<<<<< HEAD\n").expect("written");
    pn.pn(["conflicts", "repair"]).fails("invalid_input");
    assert_eq!(fs::read_to_string(&file).expect("a file"), "<<<<<<< HEAD\n");
}

#[test]
fn values_dropped_by_a_repair_are_conflicts_also_in_a_fresh_clone() {
    let pn = crate::sandbox();
    let id = task(&pn, "old");
    pn.pn(["export"]).ok();
    let file = pn.store().join("issues.jsonl");
    let base = fs::read_to_string(&file).expect("an export");
    let side = |title: &str| base.replace("\"old\"", &format!("\"{title}\""));
    for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
        let _ = fs::remove_file(pn.store().join(name));
    }
    fs::remove_dir_all(pn.durable()).expect("a clone has none");
    fs::remove_dir_all(pn.store().join("local")).expect("a clone has none");
    let marked = format!("<<<<<<< HEAD\n{}||||||| base\n{base}=======\n{}>>>>>>> main\n", side("ours"), side("theirs"));
    fs::write(&file, marked).expect("written");
    let error = pn.pn(["list"]).fails("invalid_input");
    assert!(text(&error["error"]).contains("issues.jsonl line 1"), "{error}");
    assert_eq!(pn.pn(["conflicts", "repair"]).ok_json(), json!({"files": ["issues.jsonl"], "conflicts": 1}));
    let conflicts = elements(&pn.pn(["conflicts"]).ok_json());
    assert_eq!(conflicts.len(), 1, "{conflicts:?}");
    assert_eq!((&conflicts[0]["record_id"], &conflicts[0]["field"]), (&json!(id), &json!("title")));
}

#[test]
fn repeated_lines_and_older_versions_in_a_file_are_reported() {
    let pn = crate::sandbox();
    let (id, other) = (task(&pn, "one"), task(&pn, "two"));
    pn.pn(["dep", "add", &id, &other]).ok();
    pn.pn(["export"]).ok();
    let (issues, deps) = (pn.store().join("issues.jsonl"), pn.store().join("deps.jsonl"));
    let old = fs::read_to_string(&issues).expect("an export");
    let first = old.lines().next().expect("a line");
    pn.pn(["update", &id, "--title", "newer"]).ok();
    pn.pn(["export"]).ok();
    let new = fs::read_to_string(&issues).expect("an export");
    let dep = fs::read_to_string(&deps).expect("an export");
    let last = new.lines().last().expect("a line");
    fs::write(&issues, format!("{new}{first}\n{last}\n")).expect("written");
    fs::write(&deps, dep.repeat(2)).expect("written");
    let expected = [
        format!("issues.jsonl has {id} twice, the second time in line 3, in an older version than in line 1"),
        format!("issues.jsonl has {other} twice, the second time in line 4"),
        format!("deps.jsonl has {id} {other} twice, the second time in line 2"),
    ];
    let found = findings(&pn);
    let repeated = found.iter().filter(|(check, _)| check == "repeated_line").map(|(_, message)| message);
    assert!(repeated.eq(&expected), "{found:?}");
    let notes = pn.pn(["import"]).ok_json()["notes"].clone();
    assert_eq!(notes, json!(expected));
    assert_eq!(pn.pn(["show", &id]).ok_json()["title"], "newer");

    for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
        let _ = fs::remove_file(pn.store().join(name));
    }
    fs::remove_dir_all(pn.durable()).expect("a clone has none");
    fs::remove_dir_all(pn.store().join("local")).expect("a clone has none");
    fs::write(&issues, format!("{new}{first}\n{last}\n")).expect("written");
    fs::write(&deps, dep.repeat(2)).expect("written");
    let answer = pn.pn(["show", &id]).answer();
    assert!(expected.iter().all(|note| answer.stderr.contains(note)), "{answer:?}");
    assert!(answer.stdout.contains("newer"), "{answer:?}");
}

#[test]
fn an_unknown_setting_is_refused_with_the_nearest() {
    let pn = crate::sandbox();
    let before = fs::read(pn.store().join("config.toml")).expect("a file");
    let error = pn.pn(["config", "set", "remote-srver", "x"]).fails("invalid_input");
    assert_eq!(error["error"], "unknown setting remote-srver");
    assert!(text(&error["hint"]).contains("the nearest is remote-server"), "{error}");
    assert_eq!(fs::read(pn.store().join("config.toml")).expect("a file"), before);
    pn.pn(["config", "set", "lanes.mine.slots", "2"]).ok();
}
