//! Importers: long titles, files of loops, and the offer to import agents.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use pensa_testkit::Sandbox;
use serde_json::{Value, json};

use crate::steps::{elements, show, task, text};

crate::in_both_modes! {
    a_key_in_linear_finds_the_issue_and_what_was_learned,
    a_long_title_in_a_file_is_imported_as_it_is_with_a_warning,
    a_long_title_of_another_tool_is_imported_as_it_is_with_a_warning,
    a_project_of_loopr_is_imported_with_the_files_of_its_loops,
    upgrade_offers_the_agents_of_daycare_and_imports_them_when_asked,
}

fn put(dir: &Path, name: &str, content: impl AsRef<[u8]>) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    fs::write(path, content).expect("a file");
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

fn arg(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn a_long_title_in_a_file_is_imported_as_it_is_with_a_warning(pn: &Sandbox) {
    let (first, second) = ("é".repeat(1204), "x".repeat(2000));
    let at = "2026-02-27T14:30:00.000Z";
    let issue = |id: &str, title: &str| json!({"id": id, "title": title, "issue_type": "task", "status": "open", "priority": "p2", "created_at": at, "updated_at": at});
    let file = pn.store().join("issues.jsonl");
    fs::write(&file, lines(&[issue("pn-a1", &first), issue("pn-a2", "short")])).expect("written");
    let report = pn.pn(["import"]).ok_json();
    let warned = |report: &Value, id: &str, length: &str| {
        elements(&report["notes"]).iter().any(|note| text(note).contains(id) && text(note).contains(length))
    };
    assert!(warned(&report, "pn-a1", "1204"), "{report}");
    assert_eq!(show(pn, "pn-a1")["title"], json!(first));
    task(pn, "made here, so that the next import merges");
    pn.pn(["export"]).ok_json();
    let mut merged = fs::read_to_string(&file).expect("exported");
    merged.push_str(&lines(&[issue("pn-a3", &second)]));
    fs::write(&file, merged).expect("written");
    let report = pn.pn(["import"]).ok_json();
    assert!(warned(&report, "pn-a3", "2000") && !warned(&report, "pn-a1", "1204"), "{report}");
    assert_eq!(show(pn, "pn-a3")["title"], json!(second));
    pn.pn(["update", "pn-a3", "-p", "0"]).ok_json();
    pn.pn(["update", "pn-a3", "--title", &second]).fails("too_large");
    assert!(!pn.pn(["doctor", "--deep"]).ok().contains("damage"));
}

fn a_long_title_of_another_tool_is_imported_as_it_is_with_a_warning(pn: &Sandbox) {
    let (dir, long) = (pn.path("p"), "x".repeat(1500));
    put(&dir, "storage/queue.json", json!({"tasks": [{"id": "q1", "title": long}]}).to_string());
    let report = pn.pn(["import-from", "prjct", arg(&dir)]).ok_json();
    assert_eq!((&report["imported"]["queue"], &report["skipped"]), (&json!(1), &json!([])), "{report}");
    assert!(text(&report["notes"][0]).contains("1500 characters"), "{report}");
    assert_eq!(show(pn, "q1")["title"], json!(long));
}

/// A project of Loopr with data in every directory.
fn loopr(dir: &Path) {
    let one = |id: &str, status: &str| {
        json!({"id": id, "loop_type": "code", "parent_id": null, "input_artifact": "in.md", "output_artifacts": ["out.md"],
            "prompt_path": "p.md", "validation_command": "true", "max_iterations": 7, "worktree": "/w", "iteration": 2,
            "status": status, "progress": "half", "context": {"deep": [1]}, "created_at": 1_700_000_000_000_i64,
            "updated_at": 1_700_000_000_500_i64})
    };
    let mut odd = one("lp-1", "paused");
    odd["later_field"] = json!("kept by nobody");
    put(dir, ".taskstore/loops.jsonl", lines(&[odd, one("lp-0", "invalidated")]));
    let signal = |id: &str, heard: Value| {
        json!({"id": id, "signal_type": "stop", "source_loop": null, "target_loop": "lp-1", "target_selector": null,
            "reason": "r", "payload": {"a": 1}, "created_at": 1_700_000_000_000_i64, "acknowledged_at": heard})
    };
    let signals = [signal("sg-1", json!(1_700_000_000_777_i64)), signal("sg-2", json!(null))];
    put(dir, ".taskstore/signals.jsonl", lines(&signals));
    put(
        dir,
        ".taskstore/events.jsonl",
        lines(&[json!({"id": "e-1", "event_type": "x", "payload": {"b": 2}, "created_at": 1})]),
    );
    put(dir, ".taskstore/taskstore.db", "cache");
    put(dir, "loops/lp-1/iterations/001/prompt.md", "do it");
    put(dir, "loops/lp-1/iterations/002/artifacts/deep/plan.bin", [0, 255, 10]);
    put(dir, "loops/lp-1/iterations/002/empty.log", "");
    put(dir, "loops/lp-1/stdout.log", "x".repeat((2 << 20) + 5));
    put(dir, "loops/lp-1/stderr.log", "err\n");
    symlink("iterations/002", dir.join("loops/lp-1/current")).expect("a link");
    symlink("/etc/passwd", dir.join("loops/lp-1/iterations/001/validation.log")).expect("a link");
    put(dir, "archive/lp-0/iterations/001/conversation.jsonl", "{}\n");
    put(dir, "worktrees/lp-1/src/main.rs", "fn main() {}");
}

fn a_project_of_loopr_is_imported_with_the_files_of_its_loops(pn: &Sandbox) {
    let dir = pn.path("l");
    loopr(&dir);
    let report = pn.pn(["import-from", "loopr", arg(&dir)]).ok_json();
    assert_eq!(
        (&report["collections"], &report["records"], &report["lines_skipped"]),
        (&json!(3), &json!(5), &json!(0)),
        "{report}"
    );
    assert_eq!(report["files"], json!({"imported": 6, "here_already": 0, "skipped": 0}), "{report}");
    let notes: Vec<String> = elements(&report["notes"]).iter().map(text).collect();
    assert!(notes.len() == 1 && notes[0].contains("later_field") && notes[0].contains("line 1"), "{notes:?}");
    let left: Vec<String> = elements(&report["left_out"]).iter().map(|problem| text(&problem["file"])).collect();
    assert_eq!(left, [".taskstore/taskstore.db", "loops/lp-1/iterations/001/validation.log", "worktrees"]);
    let signals = elements(&pn.pn(["signal", "list"]).ok_json());
    let heard: Vec<&Value> =
        signals.iter().filter(|signal| signal["id"] == "sg-1").map(|signal| &signal["acknowledged_at"]).collect();
    assert_eq!(heard, [&json!("2023-11-14T22:13:20.777Z")], "acknowledged_at keeps its value");
    let local = pn.store().join("local");
    for (name, content) in [
        ("loops/lp-1/iterations/001/prompt.md", b"do it".to_vec()),
        ("loops/lp-1/iterations/002/artifacts/deep/plan.bin", vec![0, 255, 10]),
        ("loops/lp-1/iterations/002/empty.log", Vec::new()),
        ("loops/lp-1/current/empty.log", Vec::new()),
        ("loops/lp-1/stdout.log", "x".repeat((2 << 20) + 5).into_bytes()),
        ("loops/lp-1/stderr.log", b"err\n".to_vec()),
        ("archive/lp-0/iterations/001/conversation.jsonl", b"{}\n".to_vec()),
    ] {
        assert!(fs::read(local.join(name)).expect(name) == content, "{name}");
    }
    assert!(!local.join("loops/lp-1/iterations/001/validation.log").exists(), "no link is followed");
    let archived = pn.pn(["loop", "show", "lp-0"]).ok_json();
    assert!(archived["archived_at"].is_string(), "{archived}");
    let kept = pn.pn(["loop", "show", "lp-1"]).ok_json();
    assert_eq!((&kept["context"], &kept["created_at"]), (&json!({"deep": [1]}), &json!("2023-11-14T22:13:20.000Z")));

    put(&dir, "loops/lp-1/stderr.log", "err\nmore\n");
    put(&dir, "loops/lp-1/iterations/001/prompt.md", "do something else");
    let again = pn.pn(["import-from", "loopr", arg(&dir)]).ok_json();
    assert_eq!(
        (&again["records"], &again["files"]),
        (&json!(0), &json!({"imported": 1, "here_already": 4, "skipped": 1})),
        "{again}"
    );
    assert_eq!(fs::read_to_string(local.join("loops/lp-1/stderr.log")).expect("a log"), "err\nmore\n");
    assert_eq!(fs::read_to_string(local.join("loops/lp-1/iterations/001/prompt.md")).expect("a prompt"), "do it");
    pn.pn(["import-from", "loopr", "nowhere"]).fails("not_found");
    assert!(!pn.pn(["doctor", "--deep"]).ok().contains("damage"));
}

fn upgrade_offers_the_agents_of_daycare_and_imports_them_when_asked(pn: &Sandbox) {
    let upgrade = |args: &[&str]| pn.embedded([&["upgrade"], args].concat());
    assert_eq!(upgrade(&[]).ok_json().get("daycare"), None);
    upgrade(&["--import"]).fails("not_found");
    let agents = pn.path("home/.daycare/agents");
    put(&agents, "a1/descriptor.json", r#"{"type":"cron","id":"c"}"#);
    put(&agents, "a2/descriptor.json", r#"{"type":"cron","id":"d"}"#);
    for args in [&["--dry-run"][..], &[]] {
        assert_eq!(upgrade(args).ok_json()["daycare"], json!({"dir": arg(&agents), "agents": 2}));
    }
    let printed = upgrade(&[]).ok();
    assert!(printed.contains("2 agents to import: pn upgrade --import"), "{printed}");
    pn.pn(["agent", "show", "a1"]).fails("not_found");
    let done = upgrade(&["--import"]).ok_json();
    assert_eq!(done["daycare"]["imported"]["agents_imported"], json!(2), "{done}");
    assert_eq!(pn.pn(["agent", "show", "a1"]).ok_json()["id"], "a1");
    assert_eq!(upgrade(&[]).ok_json().get("daycare"), None, "nothing is left to import");
    let other = pn.path("elsewhere/agents");
    put(&other, "b1/descriptor.json", r#"{"type":"cron","id":"e"}"#);
    let named = upgrade(&["--import"]).env("PN_DAYCARE_DIR", arg(&other)).ok_json();
    assert_eq!(
        (&named["daycare"]["dir"], &named["daycare"]["imported"]["agents_imported"]),
        (&json!(arg(&other)), &json!(1))
    );
}

#[test]
fn upgrade_without_a_store_offers_the_agents_of_daycare_and_creates_one() {
    let pn = Sandbox::bare(crate::PN);
    pn.pn(["upgrade"]).fails("no_store");
    put(&pn.path("home/.daycare/agents"), "a1/descriptor.json", r#"{"type":"cron","id":"c"}"#);
    let error = pn.pn(["upgrade"]).fails("no_store");
    assert!(text(&error["hint"]).contains("pn upgrade --import"), "{error}");
    let done = pn.pn(["upgrade", "--import"]).ok_json();
    assert_eq!(done["daycare"]["imported"]["agents_imported"], json!(1), "{done}");
    assert_eq!(pn.pn(["agent", "show", "a1"]).ok_json()["id"], "a1");
}

/// A task of prjct and what was learned from it, both known in Linear under one key.
fn a_key_in_linear_finds_the_issue_and_what_was_learned(pn: &Sandbox) {
    let dir = pn.path("p");
    let task = json!({"id": "t1", "description": "sign in", "linearId": "PRJ-7", "startedAt": "2026-01-01T00:00:00Z"});
    put(&dir, "storage/state.json", json!({"currentTask": task}).to_string());
    let learned = json!({"taskId": "t1", "linearId": "PRJ-7", "timestamp": "2026-01-01T10:00:00Z", "tags": ["auth"],
        "learnings": {"gotchas": ["passkeys need a resident key"]}});
    put(&dir, "memory/learnings.jsonl", lines(&[learned]));
    for _ in 0..2 {
        pn.pn(["import-from", "prjct", arg(&dir)]).ok();
        let found = elements(&pn.pn(["search", "ref:PRJ-7"]).ok_json());
        assert_eq!((found.len(), &found[0]["title"]), (1, &json!("sign in")), "{found:?}");
        let refs = elements(&pn.pn(["ref", "list", found[0]["id"].as_str().expect("an id")]).ok_json());
        assert_eq!((refs.len(), &refs[0]["target"]), (1, &json!("linear:PRJ-7")));
        let known = elements(&pn.pn(["recall", "resident key"]).ok_json());
        assert_eq!(known[0]["issue_id"], found[0]["id"], "{known:?}");
    }
}
