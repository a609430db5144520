//! Agents that another tool keeps as files, and secrets in what was said.

use std::fs;
use std::path::Path;

use pensa_testkit::Sandbox;
use serde_json::{Value, json};

use crate::steps::{elements, text};

crate::in_both_modes! {
    file_based_agents_are_taken_in_once_and_whole,
    secrets_do_not_reach_the_disk,
}

/// Not in one piece, so that nobody takes this file for a leak.
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

fn file_based_agents_are_taken_in_once_and_whole(pn: &Sandbox) {
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
        "lines_skipped": 2, "redactions": 1});
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

/// Whether a text stands in any file of the store.
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
    let told = pn.pn(["session", "append", &id, "--type", "user_message", "--data", &data]).ok_json();
    assert_eq!(told["redactions"], 2);
    let entries = elements(&pn.pn(["session", "history", &id]).ok_json());
    assert!(text(&entries[0]["data"]["text"]).starts_with("use [REDACTED:github-pat] for"), "{entries:?}");
    assert!(!is_on_disk(&store, &secret()));
    let said = pn.pn(["session", "append", &id, "--type", "note", "--data", &data]).ok();
    assert!(said.ends_with("\n2 secrets were left out\n"), "{said}");
    assert!(!is_on_disk(&store, &secret()));
    let kept = pn.pn(["session", "append", &id, "--type", "note", "--data", &data, "--no-redact"]).ok_json();
    assert_eq!(kept["redactions"], 0);
    assert!(is_on_disk(&store, &secret()), "it was asked for");
}
