//! Agents are read from valid and damaged files.

use std::fs;
use std::path::Path;

use pensa_core::{Code, Timestamp};
use pensa_interop::daycare::{DaycareAgent, Lifecycle, OpenedBy, ParsedAgent, agents};
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

const ID: &str = "tz4a98xxat96iws9zmbrgj3a";

fn put(dir: &Path, name: &str, content: impl AsRef<[u8]>) {
    fs::create_dir_all(dir).expect("a directory");
    fs::write(dir.join(name), content).expect("a file");
}

fn found(dir: &Path) -> Vec<ParsedAgent> {
    agents(dir).expect("readable").collect()
}

fn one(dir: &Path) -> DaycareAgent {
    match found(dir).as_slice() {
        [ParsedAgent::Agent(agent)] => (**agent).clone(),
        other => panic!("one agent expected: {other:?}"),
    }
}

/// The agent that has this history.
fn with_history(history: impl AsRef<[u8]>) -> DaycareAgent {
    let dir = TempDir::new().expect("a directory");
    put(&dir.path().join(ID), "descriptor.json", r#"{"type":"cron","id":"c1"}"#);
    put(&dir.path().join(ID), "history.jsonl", history);
    one(dir.path())
}

/// The agent that has this state.
fn with_state(state: impl AsRef<[u8]>) -> DaycareAgent {
    let dir = TempDir::new().expect("a directory");
    put(&dir.path().join(ID), "descriptor.json", r#"{"type":"cron","id":"c1"}"#);
    put(&dir.path().join(ID), "state.json", state);
    one(dir.path())
}

fn reason(dir: &Path, wanted: &str) -> String {
    let skipped = found(dir).into_iter().find_map(|found| match found {
        ParsedAgent::Skipped { id, reason } if id == wanted => Some(reason),
        _ => None,
    });
    skipped.unwrap_or_else(|| panic!("{wanted} is not skipped"))
}

fn at(millis: i64) -> Option<Timestamp> {
    Some(Timestamp::from_millis(millis).expect("a time"))
}

/// For each session how it was opened and the types of its entries.
fn outline(agent: &DaycareAgent) -> Vec<(OpenedBy, Vec<&str>)> {
    let mut sessions = Vec::new();
    for session in &agent.sessions {
        sessions.push((session.opened_by, session.entries.iter().map(|entry| entry.kind.as_str()).collect()));
    }
    sessions
}

#[test]
fn an_agent_is_read_with_all_its_fields() {
    let dir = TempDir::new().expect("a directory");
    let agent = dir.path().join(ID);
    let descriptor = json!({"type": "subagent", "id": "s1", "parentAgentId": "p1", "name": "helper", "extra": [1]});
    let permissions =
        json!({"workingDir": "/w", "writeDirs": [], "readDirs": ["/r"], "network": true, "events": false});
    let size = json!({"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "total": 10});
    let tokens = json!({"provider": "p", "model": "m", "size": size});
    let state = json!({
        "context": {"messages": [{"role": "user"}]}, "inferenceSessionId": "inf1", "permissions": permissions,
        "tokens": tokens, "stats": {"p": {"m": size}}, "createdAt": 1000, "updatedAt": 2000, "state": "sleeping",
    });
    put(&agent, "descriptor.json", descriptor.to_string());
    put(&agent, "state.json", state.to_string());
    put(&agent, "history.jsonl", "{\"type\":\"start\",\"at\":1000}\n");
    let agent = one(dir.path());
    assert_eq!((&*agent.id, &*agent.kind), (ID, "subagent"));
    assert_eq!((agent.name.as_deref(), agent.parent_id.as_deref()), (Some("helper"), Some("p1")));
    assert_eq!(Value::Object(agent.descriptor), descriptor);
    assert_eq!(Value::Object(agent.permissions), permissions);
    assert_eq!(agent.tokens.map(Value::Object), Some(tokens));
    assert_eq!(Value::Object(agent.stats), json!({"p": {"m": size}}));
    assert_eq!((agent.lifecycle, agent.created_at, agent.updated_at), (Lifecycle::Sleeping, at(1000), at(2000)));
    assert_eq!(agent.inference_session_id.as_deref(), Some("inf1"));
    assert_eq!((agent.sessions.len(), agent.lines_skipped), (1, 0));
    assert_eq!(agent.notes, ["state.json: no place for context"], "it is rebuilt from the history");
}

#[test]
fn descriptors_of_every_type_known_or_not_are_kept_whole() {
    let dir = TempDir::new().expect("a directory");
    let all = [
        json!({"type": "user", "connector": "telegram", "userId": "1", "channelId": "2"}),
        json!({"type": "cron", "id": "c", "name": "nightly"}),
        json!({"type": "system", "tag": "heartbeat"}),
        json!({"type": "app", "id": "a", "parentAgentId": "p", "name": "n", "systemPrompt": "s", "appId": "x"}),
        json!({"type": "permanent", "id": "p", "name": "n", "description": "d", "systemPrompt": "s", "username": "u"}),
        json!({"type": "swarm", "id": "s"}),
        json!({"type": "memory-search", "id": "m", "parentAgentId": "p", "name": "n"}),
        json!({"type": "of tomorrow", "nested": {"deep": [null, 1.5, "é"]}}),
    ];
    for (number, descriptor) in all.iter().enumerate() {
        put(&dir.path().join(format!("a{number}")), "descriptor.json", descriptor.to_string());
    }
    let found = found(dir.path());
    assert_eq!(found.len(), all.len());
    for (found, descriptor) in found.into_iter().zip(all) {
        let ParsedAgent::Agent(agent) = found else { panic!("{found:?}") };
        assert_eq!(agent.kind, descriptor["type"]);
        assert_eq!(Value::Object(agent.descriptor), descriptor);
    }
}

#[test]
fn the_directory_of_the_agents_or_its_parent_can_be_given() {
    let data = TempDir::new().expect("a directory");
    put(&data.path().join("agents").join(ID), "descriptor.json", r#"{"type":"cron","id":"c"}"#);
    put(data.path(), "SYSTEM.md", "x");
    assert_eq!(one(data.path()).id, ID);
    assert_eq!(one(&data.path().join("agents")).id, ID);
    let called_so = TempDir::new().expect("a directory");
    put(&called_so.path().join("agents"), "descriptor.json", r#"{"type":"cron","id":"c"}"#);
    assert_eq!(one(called_so.path()).id, "agents");
}

#[test]
fn other_files_and_directories_are_ignored() {
    let dir = TempDir::new().expect("a directory");
    for (place, name) in
        [("", "SYSTEM.md"), ("", "x.tmp-12-1700000000000"), (ID, "INFERENCE.md"), (ID, "compaction_2026.md")]
    {
        put(&dir.path().join(place), name, "x");
    }
    put(&dir.path().join(".git"), "descriptor.json", r#"{"type":"cron"}"#);
    put(&dir.path().join("abc.tmp-1-2"), "descriptor.json", r#"{"type":"cron"}"#);
    put(&dir.path().join(ID), "state.json.tmp-12-1700000000000", "x");
    put(&dir.path().join(ID), "descriptor.json", r#"{"type":"cron"}"#);
    assert_eq!(one(dir.path()).id, ID);
}

#[test]
fn agents_come_in_the_order_of_their_ids_and_are_counted_before_they_are_read() {
    let dir = TempDir::new().expect("a directory");
    for id in ["b", "c", "a", "B", "a1"] {
        put(&dir.path().join(id), "descriptor.json", r#"{"type":"cron"}"#);
    }
    let all = agents(dir.path()).expect("readable");
    assert_eq!(all.len(), 5);
    let ids: Vec<String> =
        all.map(|found| if let ParsedAgent::Agent(agent) = found { agent.id } else { String::new() }).collect();
    assert_eq!(ids, ["B", "a", "a1", "b", "c"]);
}

#[test]
fn a_missing_directory_is_an_error() {
    let dir = TempDir::new().expect("a directory");
    let error = agents(&dir.path().join("nowhere")).expect_err("not there");
    assert_eq!(error.code, Code::NotFound);
    assert!(error.message.contains("nowhere"), "{error}");
    put(dir.path(), "file", "");
    assert_eq!(agents(&dir.path().join("file")).expect_err("a file").code, Code::InvalidInput);
    let empty = TempDir::new().expect("a directory");
    assert_eq!(found(empty.path()), []);
}

#[test]
fn an_agent_whose_descriptor_can_not_be_read_is_skipped_and_the_others_are_not() {
    let dir = TempDir::new().expect("a directory");
    put(&dir.path().join("none"), "state.json", "{}");
    let table = [
        ("torn", "{\"type\":", "not JSON"),
        ("empty", "", "not JSON"),
        ("list", "[]", "not an object"),
        ("null", "null", "not an object"),
        ("untyped", "{}", "no type"),
        ("number", "{\"type\":1}", "no type"),
    ];
    for (id, content, _) in table {
        put(&dir.path().join(id), "descriptor.json", content);
    }
    fs::create_dir_all(dir.path().join("odd/descriptor.json")).expect("a directory");
    put(&dir.path().join("nest"), "descriptor.json", "[".repeat(100_000));
    put(&dir.path().join("good"), "descriptor.json", "\u{feff}{\"type\":\"cron\"}\r\n");
    assert!(reason(dir.path(), "none").contains("missing"));
    assert!(reason(dir.path(), "odd").contains("not a file"));
    assert!(reason(dir.path(), "nest").contains("not JSON"));
    for (id, _, expected) in table {
        let reason = reason(dir.path(), id);
        assert!(reason.contains("descriptor.json") && reason.contains(expected), "{id}: {reason}");
    }
    let good =
        found(dir.path()).into_iter().filter(|found| matches!(found, ParsedAgent::Agent(agent) if agent.id == "good"));
    assert_eq!((good.count(), found(dir.path()).len()), (1, 10));
}

#[test]
fn a_directory_whose_name_is_no_id_is_skipped() {
    let dir = TempDir::new().expect("a directory");
    for name in ["with blank", "umläut", "$(x)", &"x".repeat(201)] {
        put(&dir.path().join(name), "descriptor.json", r#"{"type":"cron"}"#);
        assert!(reason(dir.path(), name).contains("id"));
    }
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let outside = TempDir::new().expect("a directory");
    put(outside.path(), "descriptor.json", r#"{"type":"cron"}"#);
    put(outside.path(), "history.jsonl", "{\"type\":\"note\"}\n");
    let dir = TempDir::new().expect("a directory");
    symlink(outside.path(), dir.path().join("whole")).expect("a link");
    for (id, file) in [("a1", "descriptor.json"), ("a2", "state.json"), ("a3", "history.jsonl")] {
        put(&dir.path().join(id), "descriptor.json", r#"{"type":"cron"}"#);
        let _ = fs::remove_file(dir.path().join(id).join(file));
        symlink(outside.path().join("descriptor.json"), dir.path().join(id).join(file)).expect("a link");
        assert!(reason(dir.path(), id).contains(&format!("{file} is a symbolic link")));
    }
    assert!(reason(dir.path(), "whole").contains("directory of its own"));
    let data = TempDir::new().expect("a directory");
    symlink(dir.path(), data.path().join("agents")).expect("a link");
    assert!(reason(data.path(), "agents").contains("directory of its own"));
}

#[test]
fn without_a_state_there_are_defaults() {
    let dir = TempDir::new().expect("a directory");
    put(&dir.path().join(ID), "descriptor.json", r#"{"type":"cron"}"#);
    let agent = one(dir.path());
    assert_eq!((agent.lifecycle, agent.tokens), (Lifecycle::Active, None));
    assert!(agent.permissions.is_empty() && agent.stats.is_empty() && agent.notes.is_empty());
    assert_eq!(agent.inference_session_id, None);
}

#[test]
fn an_agent_with_a_corrupt_state_is_reported_and_not_imported() {
    for broken in ["", "{\"permissions\":", "[1]", "\"x\""] {
        let dir = TempDir::new().expect("a directory");
        put(&dir.path().join(ID), "descriptor.json", r#"{"type":"cron","id":"c1"}"#);
        put(&dir.path().join(ID), "state.json", broken);
        put(&dir.path().join(ID), "history.jsonl", "{\"type\":\"start\",\"at\":1000}\n");
        assert!(reason(dir.path(), ID).starts_with("state.json is not "), "{broken}");
        fs::remove_file(dir.path().join(ID).join("state.json")).expect("removed");
        assert_eq!(one(dir.path()).sessions.len(), 1, "without a state it comes in with defaults");
    }
}

#[test]
fn fields_of_a_state_that_are_of_another_type_are_named() {
    let odd = with_state(
        r#"{"permissions":7,"tokens":[],"stats":"x","createdAt":true,"updatedAt":1e300,"state":9,"inferenceSessionId":4}"#,
    );
    assert_eq!((odd.inference_session_id, odd.lifecycle), (None, Lifecycle::Sleeping));
    assert_eq!(odd.notes.len(), 5, "{:?}", odd.notes);
    assert_eq!(odd.notes[4], "state.json: no place for createdAt, updatedAt, inferenceSessionId");
    let more = with_state(r#"{"context":{"messages":[1]},"later":{"a":1},"createdAt":1000,"nothing":null}"#);
    assert_eq!(more.notes, ["state.json: no place for context, later"]);
}

#[test]
fn without_times_in_its_state_an_agent_is_as_old_as_its_history_and_files() {
    let dir = TempDir::new().expect("a directory");
    let agent = dir.path().join(ID);
    put(&agent, "descriptor.json", r#"{"type":"subagent","id":"s","parentAgentId":"p","name":"n"}"#);
    put(&agent, "state.json", "{}");
    let written = |name: &str, millis: u64| {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(millis);
        fs::File::options().write(true).open(agent.join(name)).and_then(|file| file.set_modified(time)).expect("set");
    };
    written("descriptor.json", 5_000);
    written("state.json", 9_000);
    let bare = one(dir.path());
    assert_eq!((bare.created_at, bare.updated_at), (at(5_000), at(9_000)));
    assert_eq!(bare.sessions[0].at, at(5_000), "a session without entries is as old as its agent");
    put(&agent, "history.jsonl", "{\"type\":\"note\",\"at\":3000}\n{\"type\":\"reset\"}\n");
    written("history.jsonl", 8_000);
    let told = one(dir.path());
    assert_eq!((told.created_at, told.updated_at), (at(3_000), at(9_000)));
    assert_eq!(told.sessions.iter().map(|session| session.at).collect::<Vec<_>>(), [at(3_000), at(3_000)]);
    put(&agent, "state.json", r#"{"createdAt":1000,"updatedAt":2000}"#);
    let known = one(dir.path());
    assert_eq!((known.created_at, known.updated_at), (at(1_000), at(2_000)));
}

#[test]
fn the_lifecycle_is_understood_in_the_old_and_the_new_form() {
    let table = [
        (r#"{"state":"active"}"#, Lifecycle::Active),
        (r#"{"state":"sleeping"}"#, Lifecycle::Sleeping),
        (r#"{"state":"dead"}"#, Lifecycle::Dead),
        (r#"{"state":"dead","sleeping":true}"#, Lifecycle::Dead),
        (r#"{"state":"active","sleeping":true}"#, Lifecycle::Active),
        (r#"{"sleeping":true}"#, Lifecycle::Sleeping),
        (r#"{"sleeping":false}"#, Lifecycle::Active),
        (r#"{"sleeping":"yes"}"#, Lifecycle::Active),
        (r#"{"state":"resting","sleeping":true}"#, Lifecycle::Sleeping),
        (r#"{"state":"resting"}"#, Lifecycle::Sleeping),
        (r#"{"lifecycle":"active"}"#, Lifecycle::Active),
        (r#"{"lifecycle":"sleeping"}"#, Lifecycle::Sleeping),
        (r#"{"lifecycle":"dead"}"#, Lifecycle::Dead),
        (r#"{"lifecycle":"dead","state":"active","sleeping":true}"#, Lifecycle::Dead),
        (r#"{"lifecycle":null,"state":"dead"}"#, Lifecycle::Dead),
        (r#"{"tokens":null}"#, Lifecycle::Active),
    ];
    for (state, expected) in table {
        assert_eq!(with_state(state).lifecycle, expected, "{state}");
    }
    assert_eq!(with_state(r#"{"state":"resting"}"#).notes.len(), 1);
}

#[test]
fn markers_open_sessions_and_the_last_one_is_active() {
    let agent = with_history(concat!(
        "{\"type\":\"start\",\"at\":100}\n",
        "{\"type\":\"user_message\",\"at\":101,\"text\":\"hi\",\"files\":[]}\n",
        "{\"type\":\"reset\",\"at\":200,\"message\":\"new topic\"}\n",
        "{\"type\":\"note\",\"at\":201,\"text\":\"n\"}\n",
        "{\"type\":\"reset\",\"at\":300}\n",
        "{\"type\":\"start\",\"at\":400,\"message\":\"not of a reset\"}\n",
        "{\"type\":\"note\",\"at\":401,\"text\":\"n\"}\n",
    ));
    let expected = [
        (OpenedBy::Start, vec!["user_message"]),
        (OpenedBy::Reset, vec!["note"]),
        (OpenedBy::Reset, vec![]),
        (OpenedBy::Start, vec!["note"]),
    ];
    assert_eq!(outline(&agent), expected);
    let times: Vec<_> = agent.sessions.iter().map(|session| session.at).collect();
    assert_eq!(times, [at(100), at(200), at(300), at(400)]);
    let messages: Vec<_> = agent.sessions.iter().map(|session| session.reset_message.as_deref()).collect();
    assert_eq!(messages, [None, Some("new topic"), None, None]);
    assert_eq!(Value::Object(agent.sessions[0].entries[0].data.clone()), json!({"text": "hi", "files": []}));
    assert_eq!(agent.sessions[0].entries[0].at, at(101));
}

#[test]
fn records_before_any_marker_open_a_session() {
    let agent = with_history("{\"type\":\"note\",\"at\":7}\n{\"type\":\"reset\",\"at\":9,\"message\":\"m\"}\n");
    assert_eq!(outline(&agent), [(OpenedBy::Start, vec!["note"]), (OpenedBy::Reset, vec![])]);
    assert_eq!(agent.sessions[0].at, at(7));
}

#[test]
fn without_any_record_there_is_one_empty_session() {
    for history in ["", "\n", "{torn", "\u{feff}"] {
        let agent = with_history(history);
        assert_eq!(outline(&agent), [(OpenedBy::Start, vec![])]);
        assert_eq!(agent.sessions[0].at, agent.created_at);
    }
}

#[test]
fn a_compaction_is_recognised_by_its_text_and_the_next_message() {
    let reset = "{\"type\":\"reset\",\"at\":5,\"message\":\"Session context compacted.\"}\n";
    let summary = "{\"type\":\"user_message\",\"at\":5,\"text\":\"the summary\",\"files\":[]}\n";
    let agent = with_history([reset, summary].concat());
    assert_eq!(outline(&agent), [(OpenedBy::Compaction, vec!["user_message"])]);
    assert_eq!(agent.sessions[0].reset_message.as_deref(), Some("Session context compacted."));
    assert_eq!(agent.sessions[0].entries[0].data["text"], "the summary");
    for other in [
        [reset, &summary.replace("\"at\":5", "\"at\":6")].concat(),
        [reset, "{\"type\":\"note\",\"at\":5}\n", summary].concat(),
        [&reset.replace("compacted", "reset"), summary].concat(),
        [&reset.replace("\"at\":5,", ""), &*summary.replace("\"at\":5,", "")].concat(),
        reset.to_owned(),
    ] {
        assert_eq!(outline(&with_history(&other))[0].0, OpenedBy::Reset, "{other}");
    }
}

#[test]
fn entries_keep_the_order_of_lines_whatever_their_times() {
    let agent = with_history(
        "{\"type\":\"a\",\"at\":9}\n{\"type\":\"b\",\"at\":1}\n{\"type\":\"c\",\"at\":1}\n{\"type\":\"d\"}\n",
    );
    assert_eq!(outline(&agent), [(OpenedBy::Start, vec!["a", "b", "c", "d"])]);
}

#[test]
fn blank_torn_and_corrupt_lines_are_skipped_and_counted() {
    let lines: &[&[u8]] = &[
        b"{\"type\":\"start\",\"at\":1}\r\n",
        b"\r\n",
        b"\n",
        b"   \t\n",
        b"{\"type\":\"note\",\"at\":2}  \r\n",
        b"{\"type\":\"no\xff\xfete\",\"at\":2}\n",
        b"{\"type\":\"user_mess{\"type\":\"note\",\"at\":2}\n",
        b"[1,2]\n",
        b"null\n",
        b"{\"at\":3}\n",
        b"{\"type\":3,\"at\":3}\n",
        b"{\"type\":\"\",\"at\":3}\n",
        b"{\"type\":\"a\"}{\"type\":\"b\"}\n",
        b"{\"type\":\"note\",\"at\":4}\n",
        b"{\"type\":\"note\",\"at",
    ];
    let agent = with_history(lines.concat());
    assert_eq!(outline(&agent), [(OpenedBy::Start, vec!["note", "note"])]);
    assert_eq!(agent.lines_skipped, 12);
}

#[test]
fn a_last_line_without_its_end_and_a_first_line_with_a_mark_are_kept() {
    let agent = with_history("\u{feff}{\"type\":\"a\",\"at\":1}\r\n{\"type\":\"b\",\"at\":2}");
    assert_eq!((outline(&agent), agent.lines_skipped), (vec![(OpenedBy::Start, vec!["a", "b"])], 0));
}

#[test]
fn a_record_without_a_proper_time_is_kept() {
    for (given, kept) in [
        ("true", json!(true)),
        ("\"soon\"", json!("soon")),
        ("1e17", json!(1e17)),
        ("[]", json!([])),
        ("null", json!(null)),
    ] {
        let agent = with_history(format!("{{\"type\":\"note\",\"at\":{given},\"text\":\"x\"}}\n"));
        let entry = &agent.sessions[0].entries[0];
        assert_eq!((entry.at, Value::Object(entry.data.clone())), (None, json!({"at": kept, "text": "x"})));
    }
    for given in ["1700000000000", "1700000000000.7", "\"1700000000000\"", "\"2023-11-14T22:13:20Z\"", "1.7e12"] {
        let agent = with_history(format!("{{\"at\":{given},\"type\":\"note\"}}\n"));
        assert_eq!(
            (agent.sessions[0].entries[0].at, agent.sessions[0].entries[0].data.len()),
            (at(1_700_000_000_000), 0),
            "{given}"
        );
    }
}

/// Every record of the reference, in every form it had.
fn records() -> Vec<Value> {
    let call = json!({"type": "toolCall", "id": "c1", "name": "read", "arguments": {"p": 1}, "thoughtSignature": "s"});
    let message = json!({"role": "toolResult", "toolCallId": "c1", "toolName": "read", "content": [], "isError": false, "timestamp": 1});
    let file = json!({"id": "f", "name": "n", "mimeType": "text/plain", "size": 1, "path": "/p"});
    let tokens = json!({"provider": "p", "model": "m", "size": {"input": 1}});
    vec![
        json!({"type": "user_message", "text": "hi", "files": [file]}),
        json!({"type": "user_message", "text": "hi", "files": [], "timezone": "UTC", "enrichments": [1], "firstMessagePrepended": true, "firstMessagePrompt": "p"}),
        json!({"type": "assistant_message", "text": "a", "files": [], "toolCalls": [call], "tokens": tokens}),
        json!({"type": "assistant_message", "text": "a", "files": [], "tokens": null}),
        json!({"type": "assistant_message", "content": [{"type": "text", "text": "a"}, call], "tokens": tokens, "draftReference": "d"}),
        json!({"type": "tool_result", "toolCallId": "c1", "output": {"toolMessage": message, "files": [file]}}),
        json!({"type": "tool_result", "toolCallId": "c1", "output": {"toolMessage": message}}),
        json!({"type": "tool_result", "toolCallId": "c1", "output": {"toolMessage": message, "typedResult": {"x": 1}}}),
        json!({"type": "rlm_start", "toolCallId": "c1", "code": "x", "preamble": "p", "description": "d"}),
        json!({"type": "rlm_tool_call", "toolCallId": "c1", "snapshot": "AAECAw==", "printOutput": [], "toolCallCount": 0, "toolName": "t", "toolArgs": {}}),
        json!({"type": "rlm_tool_call", "toolCallId": "c1", "snapshotId": "s1", "printOutput": ["o"], "toolCallCount": 1, "toolName": "t", "toolArgs": null}),
        json!({"type": "rlm_tool_result", "toolCallId": "c1", "toolName": "t", "toolResult": "r", "toolIsError": false, "deferredPayload": {}}),
        json!({"type": "rlm_complete", "toolCallId": "c1", "output": "o", "printOutput": [], "toolCallCount": 1, "isError": true, "error": "e"}),
        json!({"type": "assistant_rewrite", "assistantAt": 5, "text": "t", "reason": "r"}),
        json!({"type": "note", "text": "é \u{1F600} \u{0}"}),
        json!({"type": "from_the_future", "anything": {"at": 1, "type": "inner"}}),
    ]
}

#[test]
fn every_record_of_every_age_is_kept_unchanged() {
    let mut history = String::new();
    for (number, record) in records().iter().enumerate() {
        let mut record = record.clone();
        record["at"] = json!(1000 + number);
        history += &format!("{record}\n");
    }
    let agent = with_history(&history);
    assert_eq!((agent.sessions.len(), agent.lines_skipped), (1, 0));
    let entries = &agent.sessions[0].entries;
    assert_eq!(entries.len(), records().len());
    for (number, (entry, mut record)) in entries.iter().zip(records()).enumerate() {
        let kind = record.as_object_mut().and_then(|record| record.shift_remove("type")).expect("a type");
        assert_eq!((json!(entry.kind), Value::Object(entry.data.clone())), (kind, record.clone()));
        assert_eq!(serde_json::to_string(&entry.data).expect("JSON"), record.to_string(), "in the same order too");
        assert_eq!(entry.at, at(1000 + i64::try_from(number).expect("small")));
    }
}

#[test]
fn repeated_results_stay_where_they_are() {
    let result = "{\"type\":\"tool_result\",\"at\":2,\"toolCallId\":\"c1\",\"output\":{}}\n";
    let agent = with_history([result, result, "{\"type\":\"reset\",\"at\":3}\n", result].concat());
    assert_eq!(outline(&agent), [(OpenedBy::Start, vec!["tool_result"; 2]), (OpenedBy::Reset, vec!["tool_result"])]);
}

#[test]
fn text_that_was_cut_inside_a_character_is_kept() {
    let agent = with_history("{\"type\":\"note\",\"at\":1,\"text\":\"cut \\ud83d\"}\n");
    assert_eq!((agent.lines_skipped, &agent.sessions[0].entries[0].data["text"]), (0, &json!("cut \u{fffd}")));
}

#[test]
fn a_line_that_is_nested_too_deep_is_skipped_and_a_long_one_is_not() {
    let deep = format!("{{\"type\":\"note\",\"x\":{}{}}}\n", "[".repeat(100_000), "]".repeat(100_000));
    let long = format!("{{\"type\":\"note\",\"text\":\"{}\"}}\n", "x".repeat(10 << 20));
    let agent = with_history([deep, long].concat());
    assert_eq!((outline(&agent), agent.lines_skipped), (vec![(OpenedBy::Start, vec!["note"])], 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes_as_files_are_read_or_skipped(
        descriptor in prop_oneof![Just(b"{\"type\":\"x\"}".to_vec()), prop::collection::vec(any::<u8>(), 0..60)],
        state in prop::collection::vec(any::<u8>(), 0..60),
        history in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let dir = TempDir::new().expect("a directory");
        for (name, content) in [("descriptor.json", &descriptor), ("state.json", &state), ("history.jsonl", &history)] {
            put(&dir.path().join(ID), name, content);
        }
        let all = found(dir.path());
        prop_assert_eq!(all.len(), 1);
        if let ParsedAgent::Agent(agent) = &all[0] {
            prop_assert!(!agent.sessions.is_empty());
            let lines = history.split_inclusive(|byte| *byte == b'\n').count();
            let kept: usize = agent.sessions.iter().map(|session| session.entries.len()).sum();
            prop_assert!(agent.lines_skipped + kept <= lines);
        }
    }

    /// Good lines among bad ones: each is kept, in order, and each bad one is counted.
    #[test]
    fn every_valid_line_is_kept_among_invalid_ones(
        lines in prop::collection::vec(prop_oneof![
            (0..5u8).prop_map(|kind| (kind, Vec::new())),
            prop::collection::vec(any::<u8>().prop_filter("one line", |byte| *byte != b'\n'), 0..20).prop_map(|junk| (9, junk)),
        ], 0..40),
        crlf in any::<bool>(),
    ) {
        let (mut history, mut expected, mut bad) = (Vec::new(), vec![0], 0);
        for (number, (kind, junk)) in lines.iter().enumerate() {
            let line = match kind {
                0 => json!({"type": "start", "at": number}),
                1 => json!({"at": number, "type": "reset", "message": "m"}),
                2..=4 => json!({"type": "note", "at": number, "n": number}),
                _ => Value::Null,
            };
            if *kind == 9 {
                history.push(b'#');
                history.extend_from_slice(junk);
                bad += 1;
            } else {
                history.extend_from_slice(line.to_string().as_bytes());
                match kind {
                    0 | 1 => expected.push(0),
                    _ => *expected.last_mut().expect("never empty") += 1,
                }
            }
            history.extend_from_slice(if crlf { b"\r\n" } else { b"\n" });
        }
        // What comes before any marker is a session only if there is something, or nothing else.
        if expected[0] == 0 && expected.len() > 1 {
            expected.remove(0);
        }
        let agent = with_history(&history);
        let counts: Vec<usize> = agent.sessions.iter().map(|session| session.entries.len()).collect();
        prop_assert_eq!((counts, agent.lines_skipped), (expected, bad));
        let numbers: Vec<u64> = agent.sessions.iter().flat_map(|s| &s.entries).filter_map(|e| e.data["n"].as_u64()).collect();
        prop_assert!(numbers.is_sorted());
    }
}
