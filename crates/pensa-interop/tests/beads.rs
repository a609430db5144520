//! Files of beads: what their fields mean here, what is reported, and that every field can be written back.

use std::fs;
use std::path::PathBuf;

use pensa_core::issue::{LinkKind, Priority, Status};
use pensa_core::ops::tracker::{TrackerIssue, TrackerItem};
use pensa_interop::tracker::{TrackerFile, beads};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

fn written(text: &str) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("issues.jsonl");
    fs::write(&path, text).expect("written");
    (dir, path)
}

fn read(lines: &[Value]) -> TrackerFile {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let (_dir, path) = written(&text);
    beads::read(&path).expect("read")
}

#[track_caller]
fn one(line: Value) -> TrackerIssue {
    match read(&[line]).items.remove(0).item {
        TrackerItem::Issue(issue) => *issue,
        other => panic!("an issue: {other:?}"),
    }
}

fn minimal(id: &str) -> Value {
    json!({"id": id, "title": "t", "status": "open", "priority": 2, "issue_type": "task",
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-02T00:00:00Z"})
}

fn with(id: &str, more: Value) -> Value {
    let mut line = minimal(id);
    if let (Value::Object(line), Value::Object(more)) = (&mut line, more) {
        line.extend(more);
    }
    line
}

/// Every field of bd and br, with values as they occur.
fn full() -> Value {
    serde_json::from_str(include_str!("fixtures/beads_every_field.json")).expect("JSON")
}

#[test]
fn every_field_is_ours_or_kept_and_is_written_back() {
    let line = full();
    let issue = one(line.clone());
    assert_eq!((issue.status, issue.priority), (Status::Open, Priority::P3));
    assert_eq!(issue.description.as_deref(), Some("why\nand how"));
    assert_eq!(issue.acceptance.iter().map(|one| one.done).collect::<Vec<_>>(), [false, true]);
    assert_eq!(issue.labels, ["a", "z"]);
    assert_eq!(issue.refs, ["gh:9"]);
    assert_eq!(issue.estimate.map(|span| span.to_string()).as_deref(), Some("90m"));
    assert_eq!(issue.due.map(|due| due.to_string()).as_deref(), Some("2026-03-01"));
    assert_eq!(issue.parent.as_ref().map(|id| id.as_str()), Some("bd-c"));
    assert_eq!(issue.deps.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["bd-b"]);
    let links: Vec<(LinkKind, &str)> = issue.links.iter().map(|link| (link.kind, link.to.as_str())).collect();
    assert_eq!(links, [(LinkKind::Relates, "bd-d"), (LinkKind::DiscoveredFrom, "bd-e")]);
    assert_eq!(
        issue.comments.iter().map(|one| one.key.as_str()).collect::<Vec<_>>(),
        ["7", "\"0b5e8d2e-9f5c-7000-8000-000000000001\""]
    );
    assert_eq!(same_moments(Value::Object(beads::line(&issue))), same_moments(line));
}

/// A line with moments in one form, and lists that have no order sorted.
fn same_moments(value: Value) -> Value {
    match value {
        Value::String(text) => match text.parse::<jiff::Timestamp>() {
            Ok(at) => json!(at.to_string()),
            Err(_) => json!(text),
        },
        Value::Array(items) => items.into_iter().map(same_moments).collect(),
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> =
                fields.into_iter().map(|(name, value)| (name, same_moments(value))).collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(fields.into_iter().collect())
        }
        other => other,
    }
}

#[test]
fn what_changed_here_is_written_as_it_is_now_and_the_rest_as_it_was() {
    let mut issue = one(full());
    (issue.status, issue.priority) = (Status::Closed, Priority::P0);
    issue.closed_at = issue.updated_at;
    issue.labels.push("new".to_owned());
    issue.due = Some("2026-04-01".parse().expect("a day"));
    issue.parent = None;
    issue.deps.push("bd-f".parse().expect("an id"));
    let line = Value::Object(beads::line(&issue));
    assert_eq!(
        (&line["status"], &line["priority"], &line["issue_type"]),
        (&json!("closed"), &json!(0), &json!("epic"))
    );
    assert_eq!(line["labels"], json!(["a", "z", "new"]));
    assert_eq!(line["due_at"], "2026-04-01T00:00:00.000Z");
    assert_eq!((&line["design"], &line["acceptance_criteria"]), (&json!("d"), &full()["acceptance_criteria"]));
    let deps: Vec<(&str, &str)> = line["dependencies"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|dep| (dep["depends_on_id"].as_str().unwrap_or_default(), dep["type"].as_str().unwrap_or_default()))
        .collect();
    let expected = [("bd-b", "blocks"), ("bd-d", "replies-to"), ("bd-e", "discovered-from"), ("bd-f", "blocks")];
    assert_eq!(deps, expected);
    assert_eq!(line["dependencies"][0]["thread_id"], "t1");
}

#[test]
fn a_reopened_issue_loses_when_and_why_it_was_closed() {
    let mut issue = one(with(
        "bd-1",
        json!({"status": "closed", "closed_at": "2026-01-02T00:00:00.5001Z", "close_reason": "x\r\n"}),
    ));
    assert_eq!(Value::Object(beads::line(&issue))["closed_at"], "2026-01-02T00:00:00.5001Z");
    (issue.status, issue.closed_at, issue.close_reason) = (Status::Open, None, None);
    let line = beads::line(&issue);
    assert!(!line.contains_key("closed_at") && !line.contains_key("close_reason"), "{line:?}");
}

#[test]
fn words_of_real_files_have_a_meaning() {
    for (word, status) in [
        ("open", Status::Open),
        ("in_progress", Status::InProgress),
        ("hooked", Status::InProgress),
        ("blocked", Status::Open),
        ("deferred", Status::Open),
        ("pinned", Status::Open),
        ("closed", Status::Closed),
        ("needs_triage", Status::Open),
    ] {
        assert_eq!(one(with("bd-1", json!({"status": word}))).status, status, "{word}");
    }
    for kind in ["parent-child", "parent_child", "parent", "child-of"] {
        let deps = json!([{"issue_id": "bd-1", "depends_on_id": "bd-2", "type": kind}]);
        assert!(one(with("bd-1", json!({"dependencies": deps}))).parent.is_some(), "{kind}");
    }
    for kind in ["blocks", "blocked-by", "blocks-on", "conditional-blocks", "waits-for", ""] {
        let deps = json!([{"issue_id": "bd-1", "depends_on_id": "bd-2", "type": kind}]);
        assert_eq!(one(with("bd-1", json!({"dependencies": deps}))).deps.len(), 1, "{kind}");
    }
    let mut absent = minimal("bd-1");
    absent.as_object_mut().expect("an object").shift_remove("priority");
    assert_eq!(one(absent).priority, Priority::P0, "absent means 0");
    assert_eq!(one(with("bd-1", json!({"parent": "bd-2"}))).parent.as_ref().map(|id| id.as_str()), Some("bd-2"));
    assert_eq!(one(with("bd-1", json!({"status": "closed"}))).closed_at, None);
}

#[test]
fn the_last_of_the_same_id_counts_and_each_problem_has_its_line() {
    let text = [
        minimal("bd-1").to_string(),
        "{\"id\":\"bd-2\",\"title\":".to_owned(),
        String::new(),
        with("bd-1", json!({"title": "later"})).to_string(),
        "[1]".to_owned(),
        json!({"title": "no id"}).to_string(),
        with("bd 3", json!({})).to_string(),
        with("bd-4", json!({"title": " "})).to_string(),
        json!({"_type": "wisp", "id": "bd-5"}).to_string(),
        json!({"_type": "memory", "key": "k", "value": "remember"}).to_string(),
        json!({"_type": "memory", "key": "empty"}).to_string(),
        with("bd-6", json!({"status": "tombstone", "deleted_by": "ann"})).to_string(),
        with("bd-7", json!({"dependency_count": 2, "comment_count": 1})).to_string(),
    ];
    let (_dir, path) = written(&format!("\u{feff}{}\n", text.join("\n")));
    let file = beads::read(&path).expect("read");
    let lines: Vec<Option<usize>> = file.skipped.iter().map(|skipped| skipped.place.line).collect();
    assert_eq!(lines, [1, 2, 5, 6, 7, 8, 9, 11].map(Some), "{:?}", file.skipped);
    assert!(file.skipped[0].reason.contains("line 4"), "{:?}", file.skipped[0]);
    let kinds: Vec<&str> = file
        .items
        .iter()
        .map(|found| match &found.item {
            TrackerItem::Issue(issue) => issue.title.as_str(),
            TrackerItem::Memory(memory) => memory.text.as_str(),
            TrackerItem::Tombstone(_) => "tombstone",
        })
        .collect();
    assert_eq!(kinds, ["later", "remember", "tombstone", "t"]);
    assert_eq!(file.dropped_fields.keys().collect::<Vec<_>>(), ["comment_count", "dependency_count"]);
}

#[test]
fn a_conflict_mark_refuses_the_whole_file_with_its_line() {
    for mark in ["<<<<<<< HEAD", "=======", ">>>>>>> theirs", "||||||| base"] {
        let (_dir, path) = written(&format!("{}\n{mark}\n{}\n", minimal("bd-1"), minimal("bd-2")));
        let error = beads::read(&path).expect_err(mark);
        assert!(error.message.contains("line 2"), "{error}");
    }
}

#[test]
fn directories_and_long_lines_are_read() {
    let dir = tempfile::tempdir().expect("a directory");
    assert!(beads::read(dir.path()).is_err(), "no file");
    fs::create_dir(dir.path().join(".beads")).expect("made");
    let long = "x".repeat(84 << 10);
    let line = with("bd-1", json!({"description": long, "notes": long}));
    fs::write(dir.path().join(".beads/issues.jsonl"), format!("{line}\n")).expect("written");
    for path in [dir.path().to_owned(), dir.path().join(".beads")] {
        assert_eq!(beads::read(&path).expect("read").items.len(), 1);
    }
}

#[test]
fn the_database_of_br_is_read_like_its_lines() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::create_dir(dir.path().join(".beads")).expect("made");
    let path = dir.path().join(".beads/beads.db");
    let connection = rusqlite::Connection::open(&path).expect("opens");
    let sql = "CREATE TABLE issues (id TEXT PRIMARY KEY, title TEXT, description TEXT DEFAULT '', design TEXT DEFAULT '',
            status TEXT, priority INTEGER, issue_type TEXT, estimated_minutes INTEGER, created_at TEXT, updated_at TEXT,
            pinned INTEGER DEFAULT 0, ephemeral INTEGER DEFAULT 0, agent_context TEXT, deleted_at TEXT);
        CREATE TABLE labels (issue_id TEXT, label TEXT);
        CREATE TABLE dependencies (issue_id TEXT, depends_on_id TEXT, type TEXT, created_at TEXT, created_by TEXT);
        CREATE TABLE comments (id INTEGER PRIMARY KEY, issue_id TEXT, author TEXT, text TEXT, created_at TEXT);
        CREATE TABLE dirty_issues (issue_id TEXT);
        INSERT INTO issues (id, title, design, status, priority, issue_type, estimated_minutes, created_at, updated_at, pinned, agent_context)
            VALUES ('br-1', 'first', 'd', 'in_progress', 4, 'epic', 60, '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', 1, '{\"a\":1}');
        INSERT INTO issues (id, title, status, priority, issue_type, created_at, updated_at, deleted_at)
            VALUES ('br-2', 'gone', 'tombstone', 2, 'task', '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', '2026-01-03T00:00:00Z');
        INSERT INTO labels VALUES ('br-1', 'b'), ('br-1', 'a');
        INSERT INTO dependencies VALUES ('br-1', 'br-3', 'blocks', '2026-01-01T00:00:00Z', 'ann');
        INSERT INTO comments VALUES (4, 'br-1', 'ann', 'said', '2026-01-01T00:00:00Z');";
    connection.execute_batch(sql).expect("made");
    for path in [&path, dir.path()] {
        let file = beads::read(path).expect("read");
        let TrackerItem::Issue(issue) = &file.items[0].item else { panic!("an issue") };
        assert_eq!(
            (issue.status, issue.priority, issue.labels.join(" ")),
            (Status::InProgress, Priority::P3, "a b".into())
        );
        assert_eq!((issue.deps.len(), issue.comments[0].key.as_str()), (1, "4"));
        let line = Value::Object(beads::line(issue));
        let fields = ["design", "priority", "issue_type", "pinned", "agent_context"].map(|name| line[name].clone());
        assert_eq!(json!(fields), json!(["d", 4, "epic", true, {"a": 1}]));
        assert!(line.get("ephemeral").is_none() && line.get("description").is_none(), "{line}");
        let TrackerItem::Tombstone(gone) = &file.items[1].item else { panic!("a tombstone") };
        assert!(gone.line.contains("2026-01-03"), "{}", gone.line);
    }
    fs::write(&path, b"SQLite format 3\0 and nothing else").expect("written");
    assert!(beads::read(&path).is_err(), "not a database");
}

#[test]
fn memories_and_tombstones_come_back_as_they_were() {
    let lines = [
        json!({"_type": "memory", "key": "a", "value": "plain"}),
        json!({"_type": "memory", "key": "b", "value": " odd\r\n", "more": 1}),
        json!({"_type": "memory", "key": "c", "value": {"not": "text"}}),
        with("bd-1", json!({"status": "tombstone", "deleted_at": "2026-01-01T00:00:00Z", "delete_reason": "dup"})),
    ];
    for (found, line) in read(&lines).items.iter().zip(&lines) {
        let back = match &found.item {
            TrackerItem::Memory(memory) => beads::memory_line(memory),
            TrackerItem::Tombstone(tombstone) => beads::tombstone_line(&tombstone.line).expect("an object"),
            TrackerItem::Issue(_) => panic!("no issue"),
        };
        assert_eq!(Value::Object(back), *line);
    }
}

/// Some value for any field, of a type that may be wrong there.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z,: \\n\u{1b}é-]{0,12}".prop_map(Value::from),
        Just(json!("2026-05-01T01:02:03.123456+02:00")),
        Just(json!("closed")),
        Just(json!("bd-9")),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("id|text|type|depends_on_id|created_at|x", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    /// Whatever the fields have, what is read and written means the same when it is read again, and is written the same.
    #[test]
    fn a_line_that_was_written_is_read_as_before(
        fields in proptest::collection::btree_map(
            "title|description|design|acceptance_criteria|spec_id|status|priority|issue_type|assignee|estimated_minutes|\
             created_at|updated_at|closed_at|close_reason|due_at|defer_until|external_ref|labels|parent|metadata|other",
            value(), 0..14,
        ),
    ) {
        let mut line: Map<String, Value> = fields.into_iter().collect();
        line.insert("id".to_owned(), json!("bd-1"));
        line.entry("title").or_insert_with(|| json!("t"));
        for found in read(&[Value::Object(line)]).items {
            if let TrackerItem::Issue(issue) = found.item {
                let written = beads::line(&issue);
                let again = one(Value::Object(written.clone()));
                prop_assert_eq!(beads::line(&again), written);
                let plain = |issue: &TrackerIssue| TrackerIssue { raw: Map::new(), ..issue.clone() };
                prop_assert_eq!(plain(&again), plain(&issue));
            }
        }
    }
}
