//! Imports of agents and projects of other tools, and redaction of secrets in them.

use std::fs;
use std::path::Path;

use pensa_testkit::Sandbox;
use serde_json::{Value, json};

use crate::steps::{elements, text};

crate::in_both_modes! {
    agents_of_daycare_are_imported_once_and_completely,
    secrets_do_not_reach_the_disk,
    a_prjct_project_is_imported_once_and_completely,
    a_prjct_project_in_the_documented_form_is_imported,
    a_file_that_reappears_brings_only_what_is_new,
    unreadable_parts_are_named_and_the_rest_is_imported,
}

/// Split, so that secret scanners ignore this file.
fn secret() -> String {
    ["ghp", "_aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5zA7"].concat()
}

fn write(dir: &Path, agent: &str, files: &[(&str, String)]) {
    let dir = dir.join(agent);
    fs::create_dir_all(&dir).expect("a directory");
    for (name, text) in files {
        fs::write(dir.join(name), text).expect("a file");
    }
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

fn history() -> String {
    let good = lines(&[
        json!({"type": "start", "at": 1_700_000_000_000_i64}),
        json!({"type": "user_message", "at": 1_700_000_000_001_i64, "text": format!("my key is {}", secret()), "files": []}),
        json!({"type": "assistant_message", "at": 1_700_000_000_002_i64, "text": "keep it", "files": [], "toolCalls": [], "tokens": null}),
        json!({"type": "reset", "at": 1_700_000_000_003_i64, "message": "begin anew"}),
        json!({"type": "somethingNew", "at": 1_700_000_000_004_i64, "what": {"ever": [1, 2.5]}}),
        json!({"type": "user_message", "at": 1_700_000_000_000_i64, "text": "earlier by its clock", "files": []}),
    ]);
    format!("{good}\r\n{{\"type\":\"note\",\"at\":17")
}

fn agents_of_daycare_are_imported_once_and_completely(pn: &Sandbox) {
    let dir = pn.path("agents");
    // The child comes before its parent.
    let child = json!({"type": "subagent", "id": "a-child", "parentAgentId": "b-parent", "name": "helper"});
    let state = json!({"permissions": {"workingDir": "/w", "network": true}, "tokens": {"provider": "p"},
        "stats": {"p": {"m": 1}}, "createdAt": 1_700_000_000_000_i64, "updatedAt": 1_700_000_009_000_i64,
        "sleeping": true, "inferenceSessionId": "inference"});
    write(
        &dir,
        "a-child",
        &[("descriptor.json", child.to_string()), ("state.json", state.to_string()), ("history.jsonl", history())],
    );
    let parent = json!({"type": "swarm-of-tomorrow", "id": "b-parent", "extra": {"kept": true}});
    write(&dir, "b-parent", &[("descriptor.json", parent.to_string())]);
    write(&dir, "c-broken", &[("descriptor.json", "{".into())]);
    let dir = dir.to_str().expect("UTF-8");

    let report = pn.pn(["import-from", "daycare", dir]).ok_json();
    let skipped = elements(&report["agents_skipped"]);
    assert_eq!((skipped.len(), &skipped[0]["id"]), (1, &json!("c-broken")), "{report}");
    let counts = json!({"agents_imported": 2, "agents_skipped": skipped, "sessions": 3, "entries": 4,
        "lines_skipped": 2, "redactions": 1, "notes": ["a-child: history.jsonl: could not read line 8"]});
    assert_eq!(report, counts);

    let agent = pn.pn(["agent", "show", "a-child"]).ok_json();
    let of_state = ["permissions", "tokens", "stats"].map(|field| agent[field].clone());
    assert_eq!(of_state, ["permissions", "tokens", "stats"].map(|field| state[field].clone()));
    assert_eq!((&agent["parent_id"], &agent["lifecycle"]), (&json!("b-parent"), &json!("sleeping")));
    assert_eq!((&agent["created_at"], &agent["name"]), (&json!("2023-11-14T22:13:20.000Z"), &json!("helper")));
    let sessions = elements(&pn.pn(["session", "list", "--agent", "a-child"]).ok_json());
    assert_eq!((sessions.len(), &agent["active_session_id"]), (2, &sessions[1]["id"]));
    assert_eq!(
        (&sessions[1]["reset_message"], &sessions[1]["inference_session_id"]),
        (&json!("begin anew"), &json!("inference"))
    );
    assert_eq!(sessions[0]["ended_at"], sessions[1]["created_at"]);
    let entries = elements(&pn.pn(["session", "history", "a-child"]).ok_json());
    assert_eq!(
        (&entries[0]["type"], &entries[0]["data"]),
        (&json!("somethingNew"), &json!({"what": {"ever": [1, 2.5]}}))
    );
    assert_eq!(
        entries[1]["data"]["text"], "earlier by its clock",
        "lines are in their order, whatever their times say"
    );
    let context = pn.pn(["session", "context", "a-child"]).ok_json();
    assert_eq!(
        (&context[0]["content"], &context[1]["content"]),
        (&json!("begin anew"), &json!("earlier by its clock"))
    );
    let whole = pn.pn(["agent", "show", "b-parent"]).ok_json();
    assert_eq!((&whole["type"], &whole["descriptor"]), (&json!("swarm-of-tomorrow"), &parent));

    let again = pn.pn(["import-from", "daycare", dir]).ok_json();
    assert_eq!((&again["agents_imported"], &again["entries"], &again["redactions"]), (&json!(0), &json!(0), &json!(0)));
    assert_eq!(elements(&again["agents_skipped"]).len(), 3);
    assert_eq!(pn.pn(["agent", "show", "a-child"]).ok_json(), agent);
    pn.pn(["import-from", "daycare", "nowhere"]).fails("not_found");
    assert!(!pn.pn(["doctor", "--deep"]).ok().contains("damage"));
}

/// Whether any file of the store contains a text.
fn is_on_disk(dir: &Path, wanted: &str) -> bool {
    fs::read_dir(dir).expect("a directory").flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return is_on_disk(&path, wanted);
        }
        let bytes = fs::read(&path).unwrap_or_default();
        bytes.windows(wanted.len()).any(|part| part == wanted.as_bytes())
    })
}

fn secrets_do_not_reach_the_disk(pn: &Sandbox) {
    let id = text(&pn.pn(["agent", "create", "--type", "user"]).ok_json()["id"]);
    let store = pn.path("project/.pensa");
    let data = json!({"text": format!("use {} for it", secret()), "toolCalls": [{"id": "c", "arguments": {"token": secret()}}]});
    let data = data.to_string();
    let result = pn.pn(["session", "append", &id, "--type", "user_message", "--data", &data]).ok_json();
    assert_eq!(result["redactions"], 2);
    let entries = elements(&pn.pn(["session", "history", &id]).ok_json());
    assert!(text(&entries[0]["data"]["text"]).starts_with("use [REDACTED:github-pat] for"), "{entries:?}");
    assert!(!is_on_disk(&store, &secret()));
    let printed = pn.pn(["session", "append", &id, "--type", "note", "--data", &data]).ok();
    assert!(printed.ends_with("\n2 secrets were left out\n"), "{printed}");
    assert!(!is_on_disk(&store, &secret()));
    let kept = pn.pn(["session", "append", &id, "--type", "note", "--data", &data, "--no-redact"]).ok_json();
    assert_eq!(kept["redactions"], 0);
    assert!(is_on_disk(&store, &secret()), "it was asked for");
}

fn put(dir: &Path, name: &str, content: impl AsRef<[u8]>) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    fs::write(path, content).expect("a file");
}

#[track_caller]
fn import(pn: &Sandbox, dir: &Path) -> Value {
    pn.pn(["import-from", "prjct", dir.to_str().expect("UTF-8")]).ok_json()
}

/// A project with data in every file, in the form that prjct writes.
fn written(dir: &Path) {
    let state = json!({
        "currentTask": {"id": "task_now", "description": "add login", "type": "feature", "branch": "feat/login",
            "startedAt": "2025-01-10T00:00:00.000Z", "sessionId": "sess_1", "currentSubtaskIndex": 1,
            "subtasks": [{"id": "subtask-1", "description": "form", "status": "completed"}, {"description": "api", "status": "pending"}]},
        "pausedTasks": [{"id": "task_later", "description": "tidy up", "status": "paused", "startedAt": "2025-01-09T00:00:00.000Z",
            "pausedAt": "2025-01-09T10:00:00.000Z", "pauseReason": "urgent"}],
        "taskHistory": [{"taskId": "task_done", "title": "mend logout", "classification": "bug", "startedAt": "2025-01-01T00:00:00.000Z",
            "completedAt": "2025-01-02T00:00:00.000Z", "outcome": "mended", "branchName": "fix/logout", "subtaskSummaries": []}],
        "lastUpdated": "2025-01-10T00:00:00.000Z"});
    put(dir, "storage/state.json", state.to_string());
    let at = "2025-01-11T00:00:00.000Z";
    let queue = json!({"tasks": [
        {"id": "q_2", "description": "second", "priority": "high", "type": "bug", "section": "active", "completed": false, "createdAt": at},
        {"id": "q_3", "description": "third", "priority": "high", "type": "feature", "section": "active", "completed": false, "createdAt": "2025-01-05T00:00:00.000Z"},
        {"id": "q_1", "description": "first", "priority": "critical", "type": "chore", "section": "backlog", "completed": false, "createdAt": at},
        {"id": "q_4", "description": "long done", "priority": "low", "completed": true, "completedAt": at, "createdAt": at}]});
    put(dir, "storage/queue.json", queue.to_string());
    put(dir, "storage/ideas.json", json!({"ideas": [{"id": "idea_1", "text": "dark mode", "priority": "low", "status": "pending", "tags": ["ui"], "addedAt": at}]}).to_string());
    put(dir, "storage/shipped.json", json!({"shipped": [{"id": "ship_1", "name": "logout", "version": "1.2.0", "type": "fix", "shippedAt": at, "agent": "be"}]}).to_string());
    let learned = |gotcha: &str| {
        json!({"taskId": "task_done", "timestamp": at, "learnings": {"patterns": ["sessions end in one place"], "gotchas": [gotcha]},
        "value": {"type": "bugfix", "impact": "high", "description": "why"}, "filesChanged": ["core/session.ts"], "tags": ["auth"]})
    };
    put(
        dir,
        "memory/learnings.jsonl",
        lines(&[learned("cookies outlive the session"), learned("tests need a clean jar")]),
    );
    put(
        dir,
        "memory/events.jsonl",
        lines(&[
            json!({"type": "task.created", "timestamp": at, "projectId": "p-1", "taskId": "task_done"}),
            json!({"type": "task.completed", "timestamp": at, "data": {"taskId": "task_done"}}),
            json!({"ts": at, "action": "sync"}),
        ]),
    );
    put(
        dir,
        "memory/context.jsonl",
        lines(&[json!({"timestamp": at, "action": "a", "data": {}, "author": {"name": "n"}})]),
    );
    put(dir, "config/skills.json", json!({"projectId": "p-1", "skills": [{"name": "design", "linkedAgents": ["frontend.md"]}], "agentSkillMap": {"backend.md": ["sql"]}}).to_string());
    put(dir, "sync/pending.json", json!([{"type": "task", "path": [], "data": {}}]).to_string());
    for name in [
        "storage/roadmap.json",
        "storage/metrics.json",
        "storage/velocity.json",
        "storage/analysis.json",
        "storage/session.json",
        "storage/issues.json",
    ] {
        put(dir, name, "{\"a\":1}");
    }
    put(dir, "project.json", json!({"projectId": "p-1", "authors": []}).to_string());
}

fn a_prjct_project_is_imported_once_and_completely(pn: &Sandbox) {
    let dir = pn.path("p");
    written(&dir);
    let report = import(pn, &dir);
    let counts = json!({"tasks": 3, "queue": 4, "ideas": 1, "releases": 1, "learnings": 4, "events": 2, "skills": 2, "documents": 11});
    assert_eq!((&report["imported"], &report["kept_as_extra"]), (&counts, &json!(8)), "{report}");
    assert_eq!((&report["skipped"], &report["not_understood"]), (&json!([]), &json!([])), "{report}");
    let now = pn.pn(["work"]).ok_json();
    assert_eq!(
        (&now["issue_id"], &now["status"], &now["branch"], &now["current_step"]),
        (&json!("task_now"), &json!("active"), &json!("feat/login"), &json!(2))
    );
    let done = pn.pn(["show", "task_done"]).ok_json();
    assert_eq!(
        (&done["status"], &done["issue_type"], &done["close_reason"], &done["closed_at"]),
        (&json!("closed"), &json!("bug"), &json!("mended"), &json!("2025-01-02T00:00:00.000Z"))
    );
    assert_eq!(pn.pn(["show", "task_later"]).ok_json()["prjct"]["fields"]["pauseReason"], "urgent");
    let queue: Vec<String> = elements(&pn.pn(["next"]).ok_json()).iter().map(|issue| text(&issue["id"])).collect();
    assert_eq!(queue, ["q_1", "q_3", "idea_1"], "in the order of the queue; a bug stays a bug, which is none of it");
    assert_eq!(pn.pn(["show", "q_2"]).ok_json()["issue_type"], "bug");
    let shipped = pn.pn(["shipped"]).ok_json();
    assert_eq!(
        (&shipped[0]["id"], &shipped[0]["version"], &shipped[0]["prjct"]["fields"]["agent"]),
        (&json!("ship_1"), &json!("1.2.0"), &json!("be"))
    );
    let learned = elements(&pn.pn(["learning", "list"]).ok_json());
    assert_eq!((learned.len(), &learned[0]["work"]), (3, &json!("task_done")), "the same text is one learning");
    let skills = pn.pn(["skill", "list"]).ok_json();
    assert_eq!(skills["mappings"], json!({"backend.md": ["sql"], "frontend.md": ["design"]}));
    let kept = pn.pn(["kv", "get", "memory/events.jsonl", "--scope", "prjct:p-1"]).ok_json();
    assert_eq!(text(&kept["value"]), "{\"ts\":\"2025-01-11T00:00:00.000Z\",\"action\":\"sync\"}\n");

    let before = crate::steps::everything(pn);
    let again = import(pn, &dir);
    assert_eq!(again["here_already"], counts, "{again}");
    assert!(again["imported"].as_object().expect("counts").values().all(|count| *count == 0), "{again}");
    assert_eq!((&again["skipped"], &again["kept_as_extra"]), (&json!([]), &json!(0)));
    assert_eq!(crate::steps::everything(pn), before, "a repetition changes nothing");
    assert!(
        dir.join("storage/state.json").exists() && dir.join("memory/learnings.jsonl").exists(),
        "no file is deleted"
    );
    let printed = pn.pn(["import-from", "prjct", dir.to_str().expect("UTF-8")]).ok();
    assert!(printed.contains("0 tasks") && printed.contains("28 were here already"), "{printed}");
    pn.pn(["import-from", "prjct", "nowhere"]).fails("not_found");
    pn.pn(["export"]).ok_json();
    assert!(!pn.pn(["doctor", "--deep"]).ok().contains("damage"));
}

fn a_prjct_project_in_the_documented_form_is_imported(pn: &Sandbox) {
    let dir = pn.path("p");
    let id = "5c1e0d0e-1111-4222-8333-444455556666";
    let (at, later) = ("2024-01-15T10:30:00.000Z", "2024-01-15T10:40:00.000Z");
    put(&dir, "storage/state.json", json!({"task": {"id": id, "title": "add login", "type": "refactor", "status": "active", "branch": null,
        "subtasks": [{"id": "s", "title": "one", "status": "done"}], "currentSubtask": 0, "createdAt": at, "updatedAt": later}}).to_string());
    put(&dir, "storage/queue.json", json!({"tasks": [{"id": "q", "title": "next", "type": "feature", "priority": 1, "createdAt": at}], "updatedAt": at}).to_string());
    put(&dir, "storage/shipped.json", json!({"features": [{"id": "f", "name": "n", "version": "1.0.0", "type": "feature", "shippedAt": at}], "updatedAt": at}).to_string());
    put(
        &dir,
        "memory/events.jsonl",
        lines(&[
            json!({"type": "task.created", "timestamp": at, "data": {"taskId": id, "title": "add login"}}),
            json!({"type": "feature.shipped", "timestamp": at, "data": {"featureId": "f", "name": "n", "version": "1.0.0"}}),
        ]),
    );
    put(
        &dir,
        "config/skills.json",
        json!({"mappings": {"frontend.md": ["frontend-design"]}, "updatedAt": at}).to_string(),
    );
    put(&dir, "sync/pending.json", json!({"events": [{"id": "e", "type": "task.created", "timestamp": at, "data": {}, "synced": false}], "lastSync": at}).to_string());
    let report = import(pn, &dir);
    let counts = json!({"tasks": 1, "queue": 1, "ideas": 0, "releases": 1, "learnings": 0, "events": 1, "skills": 1, "documents": 2});
    assert_eq!(
        (&report["imported"], &report["not_understood"], &report["left_out"]),
        (&counts, &json!([]), &json!([])),
        "{report}"
    );
    let now = pn.pn(["work"]).ok_json();
    assert_eq!((&now["issue_id"], &now["kind"], &now["created_at"]), (&json!(id), &json!("refactor"), &json!(at)));
    assert_eq!(pn.pn(["show", "q"]).ok_json()["priority"], "p1");
}

fn a_file_that_reappears_brings_only_what_is_new(pn: &Sandbox) {
    let dir = pn.path("p");
    let entry = |id: &str| json!({"id": id, "title": format!("title of {id}"), "priority": 2, "createdAt": "2024-01-15T10:30:00.000Z"});
    let queue = |ids: &[&str]| json!({"tasks": ids.iter().map(|id| entry(id)).collect::<Vec<_>>()}).to_string();
    put(&dir, "storage/queue.json", queue(&["a", "b"]));
    assert_eq!(import(pn, &dir)["imported"]["queue"], 2);
    fs::remove_file(dir.join("storage/queue.json")).expect("removed");
    put(&dir, "project.json", "{}");
    import(pn, &dir);
    pn.pn(["close", "a"]).ok_json();
    let mine = text(&pn.pn(["create", "mine", "-t", "task"]).ok_json()["id"]);
    put(&dir, "storage/queue.json", queue(&["a", "b", "c", &mine]));
    let report = import(pn, &dir);
    assert_eq!((&report["imported"]["queue"], &report["here_already"]["queue"]), (&json!(1), &json!(2)), "{report}");
    let skipped = elements(&report["skipped"]);
    assert_eq!(
        (skipped.len(), &skipped[0]["id"], &skipped[0]["file"]),
        (1, &json!(mine), &json!("storage/queue.json")),
        "{report}"
    );
    assert_eq!(pn.pn(["show", "a"]).ok_json()["status"], "closed", "what was done here stays");
    assert_eq!(pn.pn(["show", &mine]).ok_json()["title"], "mine");
    pn.pn(["delete", "b", "--force"]).ok_json();
    let report = import(pn, &dir);
    assert_eq!(
        (&report["imported"]["queue"], elements(&report["skipped"]).len()),
        (&json!(0), 2),
        "what was deleted stays so: {report}"
    );
}

fn unreadable_parts_are_named_and_the_rest_is_imported(pn: &Sandbox) {
    let dir = pn.path("p");
    put(&dir, "storage/state.json", "{\"currentTask\":{");
    put(
        &dir,
        "storage/queue.json",
        json!({"tasks": [7, {"id": "good", "title": format!("use {}", secret())}]}).to_string(),
    );
    put(&dir, "memory/learnings.jsonl", "{\"learnings\":{\"gotchas\":[\"kept\"]}}\n{\"learnings\":{\"got");
    put(&dir, "storage/extra.bin", [0, 1, 2]);
    std::os::unix::fs::symlink("/etc", dir.join("index")).expect("a link");
    let report = import(pn, &dir);
    let mut named: Vec<(String, Value)> =
        elements(&report["not_understood"]).iter().map(|one| (text(&one["file"]), one["line"].clone())).collect();
    named.sort_by(|a, b| a.0.cmp(&b.0));
    let expected = [
        ("index", json!(null)),
        ("memory/learnings.jsonl", json!(2)),
        ("storage/extra.bin", json!(null)),
        ("storage/queue.json", json!(null)),
        ("storage/state.json", json!(null)),
    ];
    assert_eq!(named, expected.map(|(name, line)| (name.to_owned(), line)), "{report}");
    assert_eq!(
        (&report["imported"]["queue"], &report["imported"]["learnings"], &report["redactions"]),
        (&json!(1), &json!(1), &json!(1))
    );
    assert!(!is_on_disk(&pn.path("project/.pensa"), &secret()));
}
