//! Conversations in the database of opencode.

use std::path::{Path, PathBuf};

use pensa_interop::transcript::{self, TranscriptCursor, TranscriptTool};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::{Disk, all_entries, found, read_from, said, usage};

fn opencode_database(disk: &Disk) -> PathBuf {
    let path = disk.path("opencode.db");
    let database = Connection::open(&path).expect("opens");
    database.pragma_update(None, "journal_mode", "wal").expect("set");
    let tables = "CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT NOT NULL, parent_id TEXT, slug TEXT, directory TEXT NOT NULL,
            title TEXT NOT NULL, version TEXT NOT NULL, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL);
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER NOT NULL,
            time_updated INTEGER NOT NULL, data TEXT NOT NULL);
        CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL,
            time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
        INSERT INTO session VALUES ('ses_1', 'p', NULL, 's', '/home/ana/project', 'A parser', '1.2.0', 1000, 9000),
            ('ses_2', 'p', 'ses_1', 's', '/home/ana/project', 'Explore', '1.2.0', 2000, 9000);";
    database.execute_batch(tables).expect("made");
    path
}

fn opencode_message(path: &Path, (session, id, at): (&str, &str, i64), data: &Value, parts: &[Value]) {
    let database = Connection::open(path).expect("opens");
    let sql = "INSERT OR REPLACE INTO message VALUES (?1, ?2, ?3, ?3, ?4)";
    database.execute(sql, rusqlite::params![id, session, at, data.to_string()]).expect("inserted");
    for (number, part) in parts.iter().enumerate() {
        let sql = "INSERT OR REPLACE INTO part VALUES (?1, ?2, ?3, ?4, ?4, ?5)";
        let values = rusqlite::params![format!("prt_{id}_{number}"), id, session, at, part.to_string()];
        database.execute(sql, values).expect("inserted");
    }
}

#[test]
fn opencode_replies_are_taken_when_they_are_complete() {
    let disk = Disk::new();
    let path = opencode_database(&disk);
    let user = json!({"role": "user", "time": {"created": 1000}});
    opencode_message(
        &path,
        ("ses_1", "msg_1", 1000),
        &user,
        &[
            json!({"type": "text", "text": "write a parser"}),
            json!({"type": "text", "text": "reminder", "synthetic": true}),
            json!({"type": "file", "filename": "a.rs", "mime": "text/plain", "url": "file:///a.rs"}),
        ],
    );
    let reply = |completed: Value| {
        json!({"role": "assistant", "time": {"created": 2000, "completed": completed}, "modelID": "claude-sonnet-4-5",
            "providerID": "anthropic", "path": {"cwd": "/home/ana/project", "root": "/"}, "cost": 0.25,
            "tokens": {"input": 10, "output": 20, "reasoning": 3, "cache": {"read": 100, "write": 50}}})
    };
    let parts = [
        json!({"type": "step-start"}),
        json!({"type": "reasoning", "text": "a secret thought"}),
        json!({"type": "text", "text": "I write."}),
        json!({"type": "tool", "callID": "c1", "tool": "write", "state": {"status": "completed", "input": {"path": "a"},
            "output": "written", "time": {"start": 2100, "end": 2200}}}),
        json!({"type": "tool", "callID": "c2", "tool": "bash", "state": {"status": "error", "input": {}, "error": "failed"}}),
    ];
    opencode_message(&path, ("ses_1", "msg_2", 2000), &reply(json!(null)), &parts);
    let list = found(TranscriptTool::Opencode, disk.dir.path());
    assert_eq!(list.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["ses_1", "ses_2"]);
    let first = read_from(&list[0], TranscriptCursor::default()).remove(0);
    assert_eq!(said(&first.threads[0].entries), ["user_message: write a parser\n[file a.rs]"]);
    opencode_message(&path, ("ses_1", "msg_2", 2000), &reply(json!(3000)), &parts);
    let compaction = json!({"role": "user", "time": {"created": 4000}});
    opencode_message(&path, ("ses_1", "msg_3", 4000), &compaction, &[json!({"type": "compaction", "auto": true})]);
    let mut summary = reply(json!(5000));
    (summary["summary"], summary["cost"]) = (json!(true), json!(0));
    opencode_message(&path, ("ses_1", "msg_4", 4500), &summary, &[json!({"type": "text", "text": "so far: a parser"})]);
    opencode_message(&path, ("ses_2", "msg_5", 2500), &user, &[json!({"type": "text", "text": "look"})]);
    let rest = read_from(&list[0], first.to).remove(0);
    let thread = &rest.threads[0];
    assert_eq!(
        said(&thread.entries),
        [
            "assistant_message: I write.\"write\"({\"path\":\"a\"}) \"bash\"({})",
            "tool_result: written",
            "tool_result!: failed"
        ]
    );
    assert_eq!(thread.sessions[0].summary.as_deref(), Some("so far: a parser"));
    assert_eq!((thread.title.as_deref(), &thread.facts["cwd"]), (Some("A parser"), &json!("/home/ana/project")));
    let entries = all_entries(std::slice::from_ref(&rest));
    assert_eq!(usage(&entries), [("claude-sonnet-4-5".to_owned(), [20, 46, 200, 100, 366])]);
    assert_eq!(entries[0].data["message"]["usage"]["cost"], 0.25);
    assert!(entries.last().expect("one").data["message"]["usage"].get("cost").is_none(), "a subscription is not free");
    assert!(!format!("{rest:?}").contains("secret thought"));
    let sub = read_from(&list[1], TranscriptCursor::default()).remove(0);
    assert_eq!((sub.threads[0].parent.as_deref(), sub.threads[0].is_subagent), (Some("ses_1"), true));
    assert!(read_from(&list[0], rest.to.clone()).iter().all(|part| part.threads.is_empty() && part.to == rest.to));
    let bad = disk.write("bad.db", "not a database");
    assert!(transcript::find(TranscriptTool::Opencode, &bad).is_err());
}
