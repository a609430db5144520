//! Parsers of transcripts: each form that a tool has written, every usage number accounted for, and broken files.

mod codex;
mod opencode;
mod others;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use pensa_core::session::usage::ByModel;
use pensa_interop::transcript::{self, Transcript, TranscriptCursor, TranscriptEntry, TranscriptPart, TranscriptTool};
use serde_json::{Value, json};
use tempfile::TempDir;

const ID: &str = "5c1e0d0e-1111-4222-8333-abcdefabcdef";

struct Disk {
    dir: TempDir,
}

impl Disk {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a directory") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(&path, text).expect("written");
        path
    }

    fn lines(&self, name: &str, lines: &[Value]) -> PathBuf {
        self.write(name, &text(lines))
    }
}

fn text(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[track_caller]
fn found(tool: TranscriptTool, path: &Path) -> Vec<Transcript> {
    transcript::find(tool, path).expect("found")
}

#[track_caller]
fn read_from(transcript: &Transcript, from: TranscriptCursor) -> Vec<TranscriptPart> {
    transcript.open(from).expect("opens").map(|part| part.expect("a part")).collect()
}

/// All of a transcript.
#[track_caller]
fn read(tool: TranscriptTool, path: &Path) -> TranscriptPart {
    let found = found(tool, path);
    assert_eq!(found.len(), 1, "{found:?}");
    let mut parts = read_from(&found[0], TranscriptCursor::default());
    assert_eq!(parts.len(), 1);
    parts.remove(0)
}

fn all_entries(parts: &[TranscriptPart]) -> Vec<TranscriptEntry> {
    let threads = parts.iter().flat_map(|part| &part.threads);
    let each = threads.flat_map(|thread| {
        thread.entries.iter().chain(thread.sessions.iter().flat_map(|session| &session.entries)).cloned()
    });
    each.collect()
}

/// The kind of each entry, and its text, call or output.
fn said(entries: &[TranscriptEntry]) -> Vec<String> {
    let word = |entry: &TranscriptEntry| {
        let data = &entry.data;
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let calls = data.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
        let calls: Vec<String> = calls.map(|call| format!("{}({})", call["name"], call["arguments"])).collect();
        let error = if data.contains_key("is_error") { "!" } else { "" };
        let words = [text(data.get("text")), calls.join(" "), text(data.get("output"))].concat();
        format!("{}{error}: {words}", entry.kind)
    };
    entries.iter().map(word).collect()
}

/// Input, output, cache read, cache write and total of each model.
fn usage(entries: &[TranscriptEntry]) -> Vec<(String, [i64; 5])> {
    let mut models = ByModel::default();
    entries.iter().for_each(|entry| models.add(&entry.data));
    let numbers = models.finish().into_iter().map(|(model, usage)| {
        let tokens = usage.tokens;
        (model, [tokens.input, tokens.output, tokens.cache_read, tokens.cache_write, tokens.total])
    });
    numbers.collect()
}

fn claude(kind: &str, second: u32, fields: Value) -> Value {
    let mut line = json!({"type": kind, "uuid": format!("u{second}"), "parentUuid": null, "isSidechain": false,
        "userType": "external", "cwd": "/home/ana/project", "sessionId": ID, "version": "2.1.0", "gitBranch": "fix/pn-1",
        "timestamp": format!("2026-02-01T10:00:{second:02}.000Z")});
    line.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
    line
}

fn reply(second: u32, id: &str, request: &str, block: Value, output: i64) -> Value {
    claude(
        "assistant",
        second,
        json!({"requestId": request, "message": {"id": id, "role": "assistant", "model": "claude-sonnet-4-5",
            "content": [block], "usage": {"input_tokens": 10, "output_tokens": output,
            "cache_read_input_tokens": 100, "cache_creation_input_tokens": 1000,
            "cache_creation": {"ephemeral_5m_input_tokens": 1000, "ephemeral_1h_input_tokens": 0}}}}),
    )
}

fn claude_lines() -> Vec<Value> {
    vec![
        json!({"type": "summary", "summary": "an old summary", "leafUuid": "x"}),
        claude("user", 0, json!({"isMeta": true, "message": {"role": "user", "content": "Caveat: local commands"}})),
        claude("user", 1, json!({"message": {"role": "user", "content": "fix the resolver"}})),
        reply(2, "msg_1", "req_1", json!({"type": "thinking", "thinking": "a secret thought", "signature": "s"}), 1),
        reply(3, "msg_1", "req_1", json!({"type": "text", "text": "I look."}), 1),
        reply(
            4,
            "msg_1",
            "req_1",
            json!({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "git commit -m fix"}}),
            25,
        ),
        claude(
            "user",
            5,
            json!({"toolUseResult": {"stdout": "much more", "stderr": ""}, "sourceToolAssistantUUID": "u4",
            "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1",
                "content": [{"type": "text", "text": "[main 1a2b3c4] fix\n 1 file changed"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]}]}}),
        ),
        claude("progress", 6, json!({"data": {"type": "bash_progress"}})),
        claude("file-history-snapshot", 6, json!({"snapshot": {}})),
        json!({"type": "queue-operation", "operation": "enqueue", "content": "later", "sessionId": ID}),
        reply(7, "msg_2", "req_2", json!({"type": "text", "text": "Done."}), 5),
        claude("system", 8, json!({"subtype": "local_command", "content": "<command-name>/cost</command-name>"})),
        claude("system", 9, json!({"subtype": "turn_duration", "durationMs": 5})),
        claude(
            "system",
            10,
            json!({"subtype": "compact_boundary", "content": "Conversation compacted",
            "compactMetadata": {"trigger": "auto", "preTokens": 150_000}}),
        ),
        claude(
            "user",
            11,
            json!({"isCompactSummary": true, "message": {"role": "user", "content": "so far: the resolver"}}),
        ),
        reply(12, "msg_3", "req_3", json!({"type": "text", "text": "I go on."}), 7),
        json!({"type": "ai-title", "aiTitle": "Fix the  resolver", "sessionId": ID}),
        json!({"type": "custom-title", "customTitle": "Resolver", "sessionId": ID}),
        json!({"type": "ai-title", "aiTitle": "Another title", "sessionId": ID}),
        json!({"type": "pr-link", "prNumber": 7, "prUrl": "https://example.org/pull/7", "sessionId": ID}),
        json!({"type": "tomorrow", "sessionId": ID}),
    ]
}

#[test]
fn claude_code_replies_are_joined_and_each_message_is_counted_once() {
    let disk = Disk::new();
    let path = disk.lines(&format!("projects/-home-ana-project/{ID}.jsonl"), &claude_lines());
    let part = read(TranscriptTool::ClaudeCode, &disk.path("projects"));
    assert_eq!(
        (part.malformed.len(), part.to.lines, part.to.bytes),
        (0, 21, fs::metadata(&path).expect("a file").len())
    );
    assert_eq!(part.threads.len(), 1);
    let thread = &part.threads[0];
    assert_eq!(
        said(&thread.entries),
        [
            "note: Caveat: local commands",
            "user_message: fix the resolver",
            "assistant_message: I look.\"Bash\"({\"command\":\"git commit -m fix\"})",
            "tool_result: [main 1a2b3c4] fix\n 1 file changed\n[image image/png]",
            "assistant_message: Done.",
            "note: <command-name>/cost</command-name>",
        ]
    );
    let session = &thread.sessions[0];
    assert_eq!((thread.sessions.len(), session.summary.as_deref()), (1, Some("so far: the resolver")));
    assert_eq!(session.at, "2026-02-01T10:00:10Z".parse().ok(), "when it was compacted");
    assert_eq!(said(&session.entries), ["assistant_message: I go on."]);
    let numbers = usage(&all_entries(std::slice::from_ref(&part)));
    let expected = [30, 25 + 5 + 7, 300, 3000, 30 + 37 + 300 + 3000];
    assert_eq!(numbers, [("claude-sonnet-4-5".to_owned(), expected)]);
    let facts =
        ["cwd", "branch", "version", "model", "commits", "pull_requests"].map(|name| thread.facts[name].clone());
    assert_eq!(
        json!(facts),
        json!([
            "/home/ana/project",
            "fix/pn-1",
            "2.1.0",
            "claude-sonnet-4-5",
            ["1a2b3c4"],
            ["https://example.org/pull/7"]
        ])
    );
    assert_eq!((thread.id.as_str(), thread.title.as_deref(), thread.is_subagent), (ID, Some("Resolver"), false));
    assert_eq!(part.ignored, [("system".to_owned(), 1), ("tomorrow".to_owned(), 1)].into());
    assert!(!format!("{part:?}").contains("secret thought"));
}

#[test]
fn claude_code_subagents_have_their_parent() {
    let disk = Disk::new();
    let dir = "projects/-p";
    let inline = |second: u32, parent: Value, content: &str, agent: Value| {
        claude(
            "user",
            second,
            json!({"isSidechain": true, "parentUuid": parent, "agentId": agent,
            "message": {"role": "user", "content": content}}),
        )
    };
    disk.lines(
        &format!("{dir}/{ID}.jsonl"),
        &[
            claude("user", 0, json!({"message": {"role": "user", "content": "main"}})),
            inline(1, json!(null), "first of a", json!(null)),
            inline(2, json!(null), "first of b", json!(null)),
            inline(3, json!("u1"), "second of a", json!(null)),
            inline(4, json!("u3"), "of c", json!("a7f3c2d1")),
        ],
    );
    let sub = json!({"isSidechain": true, "agentId": "ab12cd34"});
    let mut line = claude("user", 5, json!({"message": {"role": "user", "content": "look around"}}));
    line.as_object_mut().expect("an object").extend(sub.as_object().expect("an object").clone());
    disk.lines(&format!("{dir}/{ID}/subagents/agent-ab12cd34.jsonl"), &[line.clone()]);
    disk.write(
        &format!("{dir}/{ID}/subagents/agent-ab12cd34.meta.json"),
        r#"{"agentType":"Explore","description":"Find the parser"}"#,
    );
    disk.lines(&format!("{dir}/agent-0011aabb.jsonl"), &[line]);
    let found = found(TranscriptTool::ClaudeCode, &disk.path("projects"));
    let ids: Vec<&str> = found.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, [ID.to_owned(), format!("{ID}/ab12cd34"), "agent-0011aabb".to_owned()], "subagents come last");
    let named = transcript::find(TranscriptTool::ClaudeCode, &disk.path(&format!("{dir}/{ID}.jsonl"))).expect("found");
    assert_eq!(named.len(), 2, "with the subagents beside it");

    let main = read_from(&found[0], TranscriptCursor::default()).remove(0);
    let threads: Vec<(String, usize, Option<&str>)> = main
        .threads
        .iter()
        .map(|thread| (thread.id.replace(ID, "ID"), thread.entries.len(), thread.parent.as_deref()))
        .collect();
    let of = |name: &str, count, parent| (name.to_owned(), count, parent);
    assert_eq!(
        threads,
        [of("ID", 1, None), of("ID/u1", 2, Some(ID)), of("ID/u2", 1, Some(ID)), of("ID/a7f3c2d1", 1, Some(ID))]
    );
    for (one, id) in [(&found[1], format!("{ID}/ab12cd34")), (&found[2], format!("{ID}/0011aabb"))] {
        let part = read_from(one, TranscriptCursor::default()).remove(0);
        let thread = &part.threads[0];
        assert_eq!((&thread.id, thread.parent.as_deref(), thread.is_subagent), (&id, Some(ID), true));
    }
    let part = read_from(&found[1], TranscriptCursor::default()).remove(0);
    assert_eq!(
        (part.threads[0].title.as_deref(), &part.threads[0].facts["agent_type"]),
        (Some("Find the parser"), &json!("Explore"))
    );
}

#[test]
fn broken_lines_are_reported_with_their_numbers_and_a_line_being_written_waits() {
    let disk = Disk::new();
    let good = claude("user", 1, json!({"message": {"role": "user", "content": "hello"}}));
    let lone = good.to_string().replace("hello", "cut \\ud83d");
    let path = disk.write(
        &format!("{ID}.jsonl"),
        &format!("\u{feff}{good}\n{{\"type\":\n\n[1]\n{lone}\r\n\0\0\n{}", &good.to_string()[..40]),
    );
    let found = found(TranscriptTool::ClaudeCode, &path);
    let part = read_from(&found[0], TranscriptCursor::default()).remove(0);
    let lines: Vec<(u64, &str)> = part.malformed.iter().map(|bad| (bad.line, &bad.reason[..11])).collect();
    assert_eq!(lines, [(2, "is not JSON"), (4, "is not an o"), (6, "is not JSON"), (7, "ends in the")]);
    assert_eq!(said(&part.threads[0].entries), ["user_message: hello", "user_message: cut \u{fffd}"]);
    let mut file = fs::OpenOptions::new().append(true).open(&path).expect("opens");
    file.write_all(&good.to_string().as_bytes()[40..]).expect("written");
    let rest = read_from(&found[0], part.to).remove(0);
    assert_eq!((said(&rest.threads[0].entries), rest.malformed.len()), (vec!["user_message: hello".to_owned()], 0));
    // The end of a line may come later.
    file.write_all(format!("\n{good}\nx\n").as_bytes()).expect("written");
    let rest = read_from(&found[0], rest.to).remove(0);
    assert_eq!((rest.threads[0].entries.len(), rest.malformed[0].line, rest.to.lines), (1, 9, 9));
    assert!(read_from(&found[0], rest.to.clone()).iter().all(|part| part.threads.is_empty() && part.to == rest.to));
    fs::write(&path, "{}\n".repeat(1000)).expect("written");
    let error = found[0].open(rest.to).expect_err("another file");
    assert!(error.message.contains("was written anew"), "{error}");
}

#[test]
fn a_transcript_read_in_two_steps_is_the_same_at_every_line() {
    let disk = Disk::new();
    let lines = claude_lines();
    let path = disk.lines(&format!("{ID}.jsonl"), &lines);
    let one = &found(TranscriptTool::ClaudeCode, &path)[0];
    let whole = read_from(one, TranscriptCursor::default());
    let sessions = |parts: &[TranscriptPart]| -> Vec<Option<String>> {
        let threads = parts.iter().flat_map(|part| &part.threads);
        threads.flat_map(|thread| thread.sessions.iter().map(|session| session.summary.clone())).collect()
    };
    for cut in 0..lines.len() {
        fs::write(&path, text(&lines[..cut])).expect("written");
        let mut parts = read_from(one, TranscriptCursor::default());
        fs::write(&path, text(&lines)).expect("written");
        let to = parts.last().expect("a part").to.clone();
        parts.extend(read_from(one, to));
        assert_eq!(usage(&all_entries(&parts)), usage(&all_entries(&whole)), "cut at {cut}");
        assert_eq!(sessions(&parts), sessions(&whole), "cut at {cut}");
        let facts = |parts: &[TranscriptPart], name: &str| {
            let threads: Vec<_> = parts.iter().flat_map(|part| &part.threads).collect();
            (
                threads.iter().rev().find_map(|thread| thread.facts.get(name).cloned()),
                threads.iter().rev().find_map(|thread| thread.title.clone()),
            )
        };
        assert_eq!(facts(&parts, "branch"), facts(&whole, "branch"), "cut at {cut}");
    }
}

#[test]
fn a_long_transcript_comes_in_parts_and_links_are_not_followed() {
    let disk = Disk::new();
    let line = claude("user", 1, json!({"message": {"role": "user", "content": "x".repeat(10_000)}}));
    let path = disk.write(&format!("p/{ID}.jsonl"), &format!("{line}\n").repeat(400));
    #[cfg(unix)]
    std::os::unix::fs::symlink(&path, disk.path("p/0011aabb-link.jsonl")).expect("linked");
    let list = found(TranscriptTool::ClaudeCode, &disk.path("p"));
    assert_eq!(list.len(), 1);
    let parts = read_from(&list[0], TranscriptCursor::default());
    assert!(parts.len() >= 4 && parts.iter().all(|part| part.threads.iter().all(|thread| thread.entries.len() < 120)));
    assert_eq!(all_entries(&parts).len(), 400);
    assert!(transcript::find(TranscriptTool::Codex, &disk.path("nowhere")).is_err());
}
