//! Transcripts of Codex: usage, forks, subagents, compression.

use std::fs;
use std::path::Path;

use pensa_interop::transcript::{TranscriptCursor, TranscriptTool};
use serde_json::{Value, json};

use crate::{Disk, all_entries, found, read, read_from, said, text, usage};

fn codex(kind: &str, second: u32, payload: Value) -> Value {
    json!({"timestamp": format!("2026-02-01T10:00:{second:02}.000Z"), "type": kind, "payload": payload})
}

fn token_count(second: u32, total: [i64; 4], last: [i64; 4]) -> Value {
    let usage = |[input, cached, output, reasoning]: [i64; 4]| {
        json!({"input_tokens": input, "cached_input_tokens": cached, "output_tokens": output,
            "reasoning_output_tokens": reasoning, "total_tokens": input + output})
    };
    let info =
        json!({"total_token_usage": usage(total), "last_token_usage": usage(last), "model_context_window": 272_000});
    codex("event_msg", second, json!({"type": "token_count", "info": info, "rate_limits": {}}))
}

const THREAD: &str = "019a0000-0000-7000-8000-00000000000a";
const FORK: &str = "019a0000-0000-7000-8000-00000000000b";

fn codex_lines() -> Vec<Value> {
    vec![
        codex(
            "session_meta",
            0,
            json!({"id": THREAD, "cwd": "/home/ana/project", "originator": "codex_cli_rs",
            "cli_version": "0.98.0", "source": "cli", "history_mode": "legacy",
            "git": {"commit_hash": "abc1234", "branch": "main", "repository_url": "git@example.org:a/b.git"}}),
        ),
        codex(
            "response_item",
            1,
            json!({"type": "message", "role": "user",
            "content": [{"type": "input_text", "text": "<environment_context>\n<cwd>/x</cwd>"}]}),
        ),
        codex("turn_context", 1, json!({"cwd": "/home/ana/project", "model": "gpt-5.1-codex", "effort": "high"})),
        codex("event_msg", 1, json!({"type": "user_message", "message": "make it fast"})),
        codex(
            "response_item",
            1,
            json!({"type": "message", "role": "user",
            "content": [{"type": "input_text", "text": "make it fast"}, {"type": "input_image", "image_url": "data:"}]}),
        ),
        codex("event_msg", 2, json!({"type": "token_count", "info": null})),
        codex("response_item", 2, json!({"type": "reasoning", "summary": [], "encrypted_content": "gAAA"})),
        codex(
            "response_item",
            3,
            json!({"type": "function_call", "name": "shell", "call_id": "call_1",
            "arguments": "{\"command\":[\"ls\"]}"}),
        ),
        codex(
            "response_item",
            4,
            json!({"type": "function_call_output", "call_id": "call_1",
            "output": "{\"output\":\"a.rs\\n\",\"metadata\":{\"exit_code\":1,\"duration_seconds\":0.1}}"}),
        ),
        token_count(4, [1000, 400, 50, 20], [1000, 400, 50, 20]),
        token_count(5, [1000, 400, 50, 20], [1000, 400, 50, 20]),
        codex(
            "response_item",
            5,
            json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "call_2",
            "input": "*** Begin Patch", "status": "completed"}),
        ),
        codex(
            "response_item",
            6,
            json!({"type": "custom_tool_call_output", "call_id": "call_2",
            "output": [{"type": "input_text", "text": "Success"}]}),
        ),
        codex(
            "response_item",
            6,
            json!({"type": "local_shell_call", "call_id": "call_3", "status": "completed",
            "action": {"type": "exec", "command": ["pwd"]}}),
        ),
        codex(
            "response_item",
            6,
            json!({"type": "web_search_call", "status": "completed",
            "action": {"type": "search", "query": "rust"}}),
        ),
        codex(
            "response_item",
            7,
            json!({"type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": "It is fast."}]}),
        ),
        codex("event_msg", 7, json!({"type": "agent_message", "message": "It is fast."})),
        token_count(7, [3000, 1400, 80, 20], [2000, 1000, 30, 0]),
        codex("compacted", 8, json!({"message": "so far: it is fast", "replacement_history": []})),
        // Totals restart.
        token_count(9, [500, 0, 10, 0], [500, 0, 10, 0]),
        codex("world_state", 9, json!({})),
        codex("event_msg", 9, json!({"type": "thread_name_updated", "thread_name": "Speed"})),
    ]
}

#[test]
fn codex_usage_is_what_each_inference_used() {
    let disk = Disk::new();
    let name = |thread: &str| format!("sessions/2026/02/01/rollout-2026-02-01T10-00-00-{thread}.jsonl");
    disk.lines(&name(THREAD), &codex_lines());
    disk.write(
        "session_index.jsonl",
        &text(&[
            json!({"id": THREAD, "thread_name": "old", "updated_at": "2026-02-01T00:00:00Z"}),
            json!({"id": THREAD, "thread_name": "Make it fast", "updated_at": "2026-02-02T00:00:00Z"}),
        ]),
    );
    disk.write("history.jsonl", "{\"text\":\"not a transcript\"}\n");
    let part = read(TranscriptTool::Codex, &disk.path(""));
    let thread = &part.threads[0];
    assert_eq!((thread.id.as_str(), thread.title.as_deref()), (THREAD, Some("Make it fast")));
    assert_eq!(
        said(&thread.entries),
        [
            "note: <environment_context>\n<cwd>/x</cwd>",
            "user_message: make it fast\n[input_image]",
            "assistant_message: \"shell\"({\"command\":[\"ls\"]})",
            "tool_result!: a.rs\n",
            "usage: ",
            "assistant_message: \"apply_patch\"({\"input\":\"*** Begin Patch\"})",
            "tool_result: Success",
            "assistant_message: \"local_shell\"({\"type\":\"exec\",\"command\":[\"pwd\"]})",
            "assistant_message: \"web_search\"({\"type\":\"search\",\"query\":\"rust\"})",
            "assistant_message: It is fast.",
            "usage: ",
        ]
    );
    assert_eq!(thread.sessions[0].summary.as_deref(), Some("so far: it is fast"));
    // Input without what was cached: 600 + 1000 + 500; the same event twice counts once.
    let numbers = usage(&all_entries(std::slice::from_ref(&part)));
    assert_eq!(numbers, [("gpt-5.1-codex".to_owned(), [2100, 90, 1400, 0, 3590])]);
    let facts = ["cwd", "version", "branch", "commit", "originator"].map(|name| thread.facts[name].clone());
    assert_eq!(json!(facts), json!(["/home/ana/project", "0.98.0", "main", "abc1234", "codex_cli_rs"]));
}

#[test]
fn codex_forks_name_the_events_that_they_copy_and_subagents_their_parent() {
    let disk = Disk::new();
    let meta = json!({"id": FORK, "forked_from_id": THREAD, "parent_thread_id": THREAD, "cwd": "/p",
        "source": {"subagent": {"thread_spawn": {"parent_thread_id": THREAD, "depth": 1}}}});
    // The copied events have the time of the fork.
    let mut lines = vec![codex("session_meta", 30, meta), codex_lines()[0].clone()];
    lines.push(token_count(30, [1000, 400, 50, 20], [1000, 400, 50, 20]));
    lines.push(token_count(31, [1700, 400, 60, 20], [700, 0, 10, 0]));
    let one = disk.lines(&format!("rollout-2026-02-01T10-00-00-{THREAD}.jsonl"), &codex_lines());
    let two = disk.lines(&format!("rollout-2026-02-02T10-00-00-{FORK}.jsonl"), &lines);
    let ids = |path: &Path, name: &str| -> Vec<String> {
        let entries = all_entries(&[read(TranscriptTool::Codex, path)]);
        let ids = entries.iter().filter_map(|entry| entry.data.get("message")?[name].as_str().map(str::to_owned));
        ids.collect()
    };
    let (originals, copies) = (ids(&one, "id"), ids(&two, "copy_of"));
    assert_eq!((originals.len(), copies.len()), (3, 2));
    assert_eq!(copies[0], originals[0]);
    assert!(!originals.contains(&copies[1]), "its own event is no copy");
    let part = read(TranscriptTool::Codex, &two);
    let thread = &part.threads[0];
    assert_eq!((thread.id.as_str(), thread.parent.as_deref(), thread.is_subagent), (FORK, Some(THREAD), true));
    assert_eq!(thread.facts["cwd"], "/p", "not that of the thread it was forked from");
}

#[test]
fn codex_rollouts_of_one_thread_are_one_conversation() {
    let disk = Disk::new();
    let lines = codex_lines();
    disk.lines(&format!("sessions/rollout-2026-02-01T10-00-00-{THREAD}.jsonl"), &lines[..9]);
    // It repeats what the first one has, and goes on.
    disk.lines(&format!("sessions/rollout-2026-02-02T10-00-00-{THREAD}_{FORK}.jsonl"), &lines);
    let name = json!({"id": THREAD, "thread_name": "Make it fast", "updated_at": "2026-02-02T00:00:00Z"});
    disk.write("session_index.jsonl", &text(&[name]));
    let list = found(TranscriptTool::Codex, &disk.path(""));
    let parts: Vec<_> = list.iter().flat_map(|one| read_from(one, TranscriptCursor::default())).collect();
    assert_ne!(list[0].key(), list[1].key(), "each is read on from where it was left");
    for part in &parts {
        assert_eq!((part.threads[0].id.as_str(), part.threads[0].title.as_deref()), (THREAD, Some("Make it fast")));
    }
    let ids = |at: usize| -> Vec<String> {
        let entries = all_entries(&parts[at..=at]);
        entries.iter().filter_map(|entry| Some(entry.data.get("message")?["id"].as_str()?.to_owned())).collect()
    };
    assert!(ids(1).starts_with(&ids(0)) && ids(1).len() > ids(0).len(), "{:?} {:?}", ids(0), ids(1));
}

/// The fixture as `zstd` has compressed it: one frame of a raw block.
fn raw_zstd(data: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0xa0];
    frame.extend(u32::try_from(data.len()).expect("short").to_le_bytes());
    let mut blocks = data.chunks(1 << 16).peekable();
    while let Some(block) = blocks.next() {
        let head = u32::try_from(block.len()).expect("short") << 3 | u32::from(blocks.peek().is_none());
        frame.extend(&head.to_le_bytes()[..3]);
        frame.extend(block);
    }
    frame
}

#[test]
fn a_compressed_transcript_goes_on_where_the_plain_one_ended() {
    let disk = Disk::new();
    let lines = codex_lines();
    let stem = format!("rollout-2026-02-01T10-00-00-{THREAD}.jsonl");
    let plain = disk.lines(&format!("sessions/{stem}"), &lines[..9]);
    let first = found(TranscriptTool::Codex, &plain).remove(0);
    let mut parts = read_from(&first, TranscriptCursor::default());
    fs::remove_file(&plain).expect("removed");
    let path = disk.path(&format!("archived_sessions/{stem}.zst"));
    fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    fs::write(&path, raw_zstd(text(&lines).as_bytes())).expect("written");
    let moved = found(TranscriptTool::Codex, &disk.path("")).remove(0);
    assert_eq!(moved.key(), first.key());
    parts.extend(read_from(&moved, parts[0].to.clone()));
    assert_eq!(usage(&all_entries(&parts)), [("gpt-5.1-codex".to_owned(), [2100, 90, 1400, 0, 3590])]);
    assert_eq!(parts[1].to.lines, 22);
    fs::write(&path, b"not zstd").expect("written");
    assert!(moved.open(TranscriptCursor::default()).is_err());
}
