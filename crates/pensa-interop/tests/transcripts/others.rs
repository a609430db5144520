//! Transcripts of Gemini CLI and Copilot CLI.

use std::fs;

use pensa_interop::transcript::{TranscriptCursor, TranscriptTool};
use serde_json::{Value, json};

use crate::{Disk, ID, all_entries, found, read, read_from, said, usage};

fn gemini(id: &str, second: u32, kind: &str, fields: Value) -> Value {
    let mut line = json!({"id": id, "type": kind, "timestamp": format!("2026-02-01T10:00:{second:02}.000Z")});
    line.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
    line
}

fn gemini_lines() -> Vec<Value> {
    let call = json!({"id": "c1", "name": "read_file", "args": {"path": "a"}, "status": "executing"});
    let done = json!({"id": "c1", "name": "read_file", "args": {"path": "a"}, "status": "success",
        "result": [{"functionResponse": {"id": "c1", "name": "read_file", "response": {"output": "text of a"}}}]});
    let tokens = json!({"input": 1000, "output": 20, "cached": 600, "thoughts": 30, "tool": 5, "total": 1055});
    vec![
        gemini("m1", 1, "user", json!({"content": [{"text": "read a"}]})),
        gemini(
            "m2",
            2,
            "gemini",
            json!({"content": "I read.", "model": "gemini-3-pro-preview", "toolCalls": [call],
            "thoughts": [{"subject": "s", "description": "a secret thought"}], "tokens": null}),
        ),
        gemini(
            "m2",
            2,
            "gemini",
            json!({"content": "I read.", "model": "gemini-3-pro-preview", "toolCalls": [done],
            "tokens": tokens}),
        ),
        gemini("m3", 3, "user", json!({"content": "no, b"})),
        json!({"$rewindTo": "m3"}),
        gemini(
            "m4",
            4,
            "gemini",
            json!({"content": "b it is", "model": "gemini-3-flash",
            "tokens": {"input": 100, "output": 7, "cached": 0, "total": 107}}),
        ),
        gemini("m5", 5, "info", json!({"content": "Request cancelled."})),
    ]
}

#[test]
fn gemini_messages_that_are_written_again_and_rewound_count_once() {
    let disk = Disk::new();
    let head = json!({"sessionId": ID, "projectHash": "h", "startTime": "2026-02-01T10:00:00.000Z",
        "lastUpdated": "2026-02-01T10:00:00.000Z", "kind": "main"});
    let name = "tmp/project-1/chats/session-2026-02-01T10-00-5c1e0d0e.jsonl";
    let path =
        disk.lines(name, &[vec![head.clone()], gemini_lines(), vec![json!({"$set": {"summary": "Reading"}})]].concat());
    disk.write("tmp/project-1/.project_root", "/home/ana/project\n");
    disk.write("tmp/project-1/logs.json", "[]");
    let expected = [
        "user_message: read a",
        "assistant_message: I read.\"read_file\"({\"path\":\"a\"})",
        "usage: ",
        "tool_result: text of a",
        "user_message: no, b",
        "note: rewound to before message m3",
        "assistant_message: b it is",
        "note: Request cancelled.",
    ];
    let numbers = [
        ("gemini-3-flash".to_owned(), [100, 7, 0, 0, 107]),
        ("gemini-3-pro-preview".to_owned(), [405, 50, 600, 0, 1055]),
    ];
    let part = read(TranscriptTool::Gemini, &disk.path("tmp"));
    let thread = &part.threads[0];
    assert_eq!(said(&thread.entries), expected);
    assert_eq!(usage(&thread.entries), numbers);
    assert_eq!((thread.title.as_deref(), &thread.facts["cwd"]), (Some("Reading"), &json!("/home/ana/project")));
    assert!(!format!("{part:?}").contains("secret thought"));
    fs::remove_file(path).expect("removed");

    // Before: one object, written anew for each message.
    let mut whole = head;
    let messages: Vec<Value> = gemini_lines().into_iter().filter(|line| line.get("$rewindTo").is_none()).collect();
    let old = "tmp/h/chats/session-2026-01-01T10-00-5c1e0d0e.json";
    whole["messages"] = json!(messages[1..2]);
    let path = disk.write(old, &whole.to_string());
    let one = found(TranscriptTool::Gemini, &path).remove(0);
    let mut parts = read_from(&one, TranscriptCursor::default());
    whole["messages"] = json!(messages[2..]);
    fs::write(&path, whole.to_string()).expect("written");
    parts.extend(read_from(&one, parts[0].to.clone()));
    assert_eq!(usage(&all_entries(&parts)), numbers);
    let again = read_from(&one, parts[1].to.clone());
    assert!(all_entries(&again).is_empty() && again[0].to == parts[1].to, "{again:?}");
    fs::write(&path, "{\"messages\": 5}").expect("written");
    assert!(one.open(TranscriptCursor::default()).is_err());
}

#[test]
fn copilot_usage_of_replies_goes_before_that_of_whole_runs() {
    let disk = Disk::new();
    let event = |second: u32, kind: &str, data: Value| {
        json!({"type": kind, "data": data, "id": format!("e{second}"), "parentId": null,
            "timestamp": format!("2026-02-01T10:00:{second:02}.000Z")})
    };
    let usage_of = |input: i64, read: i64| json!({"inputTokens": input, "outputTokens": 30, "cacheReadTokens": read, "cacheWriteTokens": 0});
    let name = format!("session-state/{ID}/events.jsonl");
    disk.lines(&name, &[
        event(0, "session.start", json!({"sessionId": ID, "version": 1, "producer": "copilot-agent", "copilotVersion": "1.0.5",
            "selectedModel": "claude-sonnet-4.5", "context": {"cwd": "/home/ana/project", "branch": "main", "repository": "a/b"}})),
        event(1, "user.message", json!({"content": "add a test", "transformedContent": "<reminder>add a test", "attachments": []})),
        event(2, "assistant.turn_start", json!({"turnId": "0"})),
        event(3, "assistant.message", json!({"messageId": "m", "content": "I add it.", "outputTokens": 12,
            "toolRequests": [{"toolCallId": "t1", "name": "bash", "arguments": {"command": "ls"}, "type": "function"}]})),
        event(4, "tool.execution_start", json!({"toolCallId": "t1", "toolName": "bash", "arguments": {"command": "ls"}})),
        event(5, "tool.execution_complete", json!({"toolCallId": "t1", "success": false, "error": {"message": "no such file", "code": "failure"}})),
        event(6, "session.compaction_complete", json!({"success": true, "summaryContent": "so far: a test"})),
        event(7, "session.shutdown", json!({"shutdownType": "routine", "modelMetrics": {
            "claude-sonnet-4.5": {"requests": {"count": 2, "cost": 1}, "usage": usage_of(1000, 700)}}})),
        event(8, "session.resume", json!({"eventCount": 7})),
        event(9, "assistant.usage", json!({"model": "gpt-5", "inputTokens": 50, "outputTokens": 5, "cacheReadTokens": 0})),
        event(10, "session.shutdown", json!({"modelMetrics": {"gpt-5": {"usage": usage_of(50, 0)}}})),
    ]);
    disk.write(
        &format!("session-state/{ID}/workspace.yaml"),
        "id: x\ncwd: /home/ana/project\nsummary: Add a test\nbranch: main\n",
    );
    let part = read(TranscriptTool::Copilot, &disk.path("session-state"));
    let thread = &part.threads[0];
    assert_eq!(
        said(&thread.entries),
        [
            "user_message: add a test",
            "assistant_message: I add it.\"bash\"({\"command\":\"ls\"})",
            "tool_result!: no such file"
        ]
    );
    assert_eq!(thread.sessions[0].summary.as_deref(), Some("so far: a test"));
    let numbers = usage(&all_entries(std::slice::from_ref(&part)));
    assert_eq!(
        numbers,
        [("claude-sonnet-4.5".to_owned(), [300, 30, 700, 0, 1030]), ("gpt-5".to_owned(), [50, 5, 0, 0, 55])]
    );
    assert_eq!((thread.id.as_str(), thread.title.as_deref()), (ID, Some("Add a test")));
    assert_eq!(thread.facts["branch"], "main");
}
