//! `prjct.db` is read in any version and never written.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use pensa_core::issue::IssueType;
use pensa_core::ops::import::{ImportIssue, ImportItem, ImportLearning};
use pensa_core::work::{StepStatus, WorkStatus};
use pensa_interop::prjct::{PrjctProject, read};
use rusqlite::Connection;
use tempfile::TempDir;

fn database(dir: &Path, sql: &str) -> Connection {
    let connection = Connection::open(dir.join("prjct.db")).expect("opens");
    connection.execute_batch(sql).expect("done");
    connection
}

fn project(sql: &str) -> (TempDir, PrjctProject) {
    let dir = tempfile::tempdir().expect("a directory");
    drop(database(dir.path(), sql));
    let project = read(dir.path()).expect("readable");
    (dir, project)
}

fn issue<'p>(project: &'p PrjctProject, id: &str) -> &'p ImportIssue {
    let found = project.records.iter().find_map(|found| match &found.record {
        ImportItem::Issue(issue) if issue.id.as_str() == id => Some(&**issue),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("{id}: {project:?}"))
}

fn learnings(project: &PrjctProject) -> Vec<&ImportLearning> {
    let all = project.records.iter();
    all.filter_map(|found| if let ImportItem::Learning(learning) = &found.record { Some(learning) } else { None })
        .collect()
}

fn documents(project: &PrjctProject) -> BTreeMap<&str, &str> {
    let all = project.records.iter();
    all.filter_map(|found| {
        if let ImportItem::Document(one) = &found.record { Some((one.key.as_str(), one.text.as_str())) } else { None }
    })
    .collect()
}

/// The names and contents of all files of a directory.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path());
    entries.map(|path| (path.display().to_string(), fs::read(&path).expect("a file"))).collect()
}

const TASKS: &str = "CREATE TABLE tasks (id TEXT PRIMARY KEY, description TEXT, type TEXT, status TEXT, parent_description TEXT,
        branch TEXT, started_at TEXT, completed_at TEXT, linked_spec_id TEXT, tokens_in INTEGER);
    CREATE TABLE subtasks (id TEXT, task_id TEXT, description TEXT, status TEXT, sort_order INTEGER);
    INSERT INTO tasks VALUES ('t1', 'step', 'bug', 'active', 'the whole', 'fix/x', '2025-01-01T00:00:00Z', NULL, 'sp1', 7),
        ('t2', 'old', 'feature', 'shipped', NULL, NULL, '2024-01-01T00:00:00Z', '2024-01-02T00:00:00Z', NULL, 0);
    INSERT INTO subtasks VALUES ('b', 't1', 'second', 'pending', 2), ('a', 't1', 'first', 'completed', 1), ('x', 'gone', 'orphan', 'pending', 1);";

#[test]
fn tasks_and_their_steps_are_read_in_order() {
    let (_dir, project) = project(TASKS);
    let now = issue(&project, "t1");
    assert_eq!(
        (now.title.as_str(), now.description.as_deref(), now.issue_type),
        ("the whole", Some("step"), IssueType::Bug)
    );
    let work = now.work.as_ref().expect("work");
    let steps: Vec<(&str, StepStatus)> = work.steps.iter().map(|step| (step.title.as_str(), step.status)).collect();
    assert_eq!(
        (work.status, steps),
        (WorkStatus::Active, vec![("first", StepStatus::Done), ("second", StepStatus::Pending)])
    );
    assert_eq!((now.spec.as_deref(), &now.origin.fields["tokensIn"]), (Some("sp1"), &serde_json::json!(7)));
    let old = issue(&project, "t2");
    assert!(old.closed && old.closed_at.is_some_and(|at| at.to_string() == "2024-01-02T00:00:00.000Z"));
    assert!(documents(&project)["prjct.db/subtasks"].contains("orphan"), "a step of no task is kept");
    assert!(
        project.left_out.iter().any(|problem| problem.reason.contains("no tables kv_store")),
        "{:?}",
        project.left_out
    );
}

#[test]
fn memories_become_learnings_and_deleted_ones_are_counted() {
    let (_dir, project) = project(
        "CREATE TABLE memories (id TEXT, title TEXT, content TEXT, tags TEXT, deleted_at TEXT);
         INSERT INTO memories VALUES ('m1', 'Locks', 'take them in order', '{\"area\":\"db\"}', NULL), ('m2', 'gone', 'x', NULL, '2025-01-01');
         CREATE TABLE memory_entries (id TEXT, type TEXT, title TEXT, content TEXT, file TEXT, created_at INTEGER, deleted_at INTEGER);
         INSERT INTO memory_entries VALUES ('e2', 'gotcha', NULL, 'new', 'src/a.rs', 1700000000000, NULL), ('e1', 'decision', NULL, 'old', NULL, 1600000000000, NULL);
         CREATE TABLE memory_entry_tags (entry_id TEXT, key TEXT, value TEXT);
         INSERT INTO memory_entry_tags VALUES ('e2', 'area', 'io');
         CREATE TABLE memory_links (from_entry_id TEXT, to_entry_id TEXT, relation TEXT);
         INSERT INTO memory_links VALUES ('e2', 'e1', 'supersedes');",
    );
    let told: Vec<(&str, &[String])> =
        learnings(&project).iter().map(|one| (one.text.as_str(), &one.tags[..])).collect();
    assert_eq!(
        told,
        [
            ("old", &[][..]),
            ("new", &["area:io".to_owned()][..]),
            ("Locks\n\ntake them in order", &["area:db".to_owned()][..])
        ]
    );
    let new = learnings(&project)[1];
    assert_eq!((new.supersedes.as_deref(), &new.files[..]), (Some("e1"), &["src/a.rs".to_owned()][..]));
    assert_eq!(new.at.map(|at| at.to_string()).as_deref(), Some("2023-11-14T22:13:20.000Z"));
    assert_eq!(project.skipped, 1);
    assert!(
        project.left_out.iter().any(|problem| problem.reason == "1 of 2 rows were deleted there"),
        "{:?}",
        project.left_out
    );
}

#[test]
fn documents_of_kv_store_are_read_where_the_tables_are_empty() {
    let kv = "CREATE TABLE kv_store (key TEXT, data TEXT, updated_at TEXT);
        INSERT INTO kv_store VALUES ('state', '{\"currentTask\":{\"id\":\"k1\",\"description\":\"from kv\"}}', '2025-01-01T00:00:00Z'),
            ('roadmap', '{\"a\":1}', 'x');";
    let (_dir, alone) = project(kv);
    assert_eq!(issue(&alone, "k1").title, "from kv");
    assert_eq!(documents(&alone)["prjct.db/kv_store/roadmap"], "{\n  \"a\": 1\n}\n");
    let (_dir, both) = project(&format!("{TASKS}{kv}"));
    assert!(documents(&both)["prjct.db/kv_store/state"].contains("from kv"), "kept, but not read twice");
    assert!(
        both.records
            .iter()
            .all(|found| !matches!(&found.record, ImportItem::Issue(issue) if issue.id.as_str() == "k1"))
    );
}

#[test]
fn sessions_runs_and_tokens_become_the_sessions_of_an_agent() {
    let (_dir, project) = project(
        "CREATE TABLE agent_sessions (id TEXT, goal TEXT, started_at TEXT);
         INSERT INTO agent_sessions VALUES ('s1', 'mend it', '2025-01-02T00:00:00Z');
         CREATE TABLE user_prompts (id TEXT, session_id TEXT, content TEXT, created_at TEXT);
         INSERT INTO user_prompts VALUES ('p1', 's1', 'please', '2025-01-02T00:01:00Z'), ('p2', 'gone', 'lost?', '2025-01-02T00:01:00Z');
         CREATE TABLE agent_runs (id TEXT, model_id TEXT, turns INTEGER, started_at INTEGER);
         INSERT INTO agent_runs VALUES ('r1', 'opus', 3, 1700000000000);
         CREATE TABLE token_usage (id TEXT, agent_run_id TEXT, input_tokens INTEGER, output_tokens INTEGER, model_id TEXT, measured_at INTEGER);
         INSERT INTO token_usage VALUES ('u1', 'r1', 10, 5, 'opus', 1700000001000);",
    );
    let agent = project.agent.as_ref().expect("an agent");
    let outline: Vec<Vec<&str>> = agent
        .sessions
        .iter()
        .map(|session| session.entries.iter().map(|entry| entry.kind.as_str()).collect())
        .collect();
    assert_eq!(outline, [vec!["agent_run", "token_usage"], vec!["agent_session", "user_message"]]);
    assert_eq!(agent.sessions[0].entries[1].data["tokens"]["size"]["total"], 15);
    assert_eq!(agent.sessions[1].entries[1].data["text"], "please");
    assert!(documents(&project)["prjct.db/user_prompts"].contains("lost?"));
}

#[test]
fn the_source_is_never_written_and_its_log_is_read_too() {
    let dir = tempfile::tempdir().expect("a directory");
    let connection = database(dir.path(), "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;");
    connection.execute_batch(TASKS).expect("done");
    assert!(fs::metadata(dir.path().join("prjct.db-wal")).expect("a log").len() > 0);
    let before = files(dir.path());
    let project = read(dir.path()).expect("readable");
    assert_eq!(issue(&project, "t1").title, "the whole", "what is only in the log counts");
    assert!(files(dir.path()) == before, "nothing was written, nothing was added");
    drop(connection);
}

#[cfg(unix)]
#[test]
fn a_hostile_database_does_no_harm_and_is_reported() {
    let dir = tempfile::tempdir().expect("a directory");
    drop(database(
        dir.path(),
        "CREATE TABLE real_rows (id TEXT); INSERT INTO real_rows VALUES ('r');
         CREATE VIEW tasks AS SELECT 'v' AS id, 'from a view' AS description, 'active' AS status;
         CREATE TABLE ideas (id TEXT, text TEXT, bomb AS (zeroblob(900000000))); INSERT INTO ideas VALUES ('i', 'x');
         CREATE TABLE \"odd \"\" name\" (a); INSERT INTO \"odd \"\" name\" VALUES (x'00ff');",
    ));
    let project = read(dir.path()).expect("readable");
    assert!(project.records.iter().all(|found| !matches!(found.record, ImportItem::Issue(_))), "views are not tables");
    assert!(
        project.not_understood.iter().any(|problem| problem.file == "prjct.db/ideas"),
        "{:?}",
        project.not_understood
    );
    assert!(documents(&project)["prjct.db/odd \" name"].contains("00ff"));
    for (name, content) in [("torn", &b"SQLite format 3\0torn"[..]), ("text", b"hello"), ("empty", b"")] {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("prjct.db"), content).expect("written");
        let project = read(dir.path()).expect("readable");
        assert!(project.records.is_empty(), "{name}");
        assert!(name == "empty" || project.not_understood.len() == 1, "{name}: {:?}", project.not_understood);
    }
    let linked = tempfile::tempdir().expect("a directory");
    std::os::unix::fs::symlink(dir.path().join("prjct.db"), linked.path().join("prjct.db")).expect("a link");
    fs::write(linked.path().join("project.json"), "{}").expect("written");
    let project = read(linked.path()).expect("readable");
    assert!(
        project.not_understood.iter().any(|problem| problem.reason.contains("symbolic link")),
        "{:?}",
        project.not_understood
    );
}
