//! Projects of prjct are read from files in both forms, valid or damaged.

use std::fs;
use std::path::Path;

use pensa_core::Code;
use pensa_core::issue::{IssueType, Priority};
use pensa_core::ops::import::{ImportIssue, ImportItem, ImportLearning, ImportRelease};
use pensa_core::work::{StepStatus, WorkKind, WorkStatus};
use pensa_interop::prjct::{ParsedRecord, PrjctProject, RecordKind, read};
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

fn put(dir: &Path, name: &str, content: impl AsRef<[u8]>) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    fs::write(path, content).expect("a file");
}

fn project(files: &[(&str, &Value)]) -> (TempDir, PrjctProject) {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, value) in files {
        put(dir.path(), name, value.to_string());
    }
    let project = read(dir.path()).expect("readable");
    (dir, project)
}

fn issues(project: &PrjctProject) -> Vec<&ImportIssue> {
    let issue = |found: &'_ ParsedRecord| matches!(found.record, ImportItem::Issue(_));
    let all = project.records.iter().filter(|found| issue(found));
    all.map(|found| if let ImportItem::Issue(issue) = &found.record { &**issue } else { unreachable!("an issue") })
        .collect()
}

fn issue<'p>(project: &'p PrjctProject, id: &str) -> &'p ImportIssue {
    issues(project).into_iter().find(|issue| issue.id.as_str() == id).unwrap_or_else(|| panic!("{id}"))
}

fn releases(project: &PrjctProject) -> Vec<&ImportRelease> {
    let release = |found: &'_ ParsedRecord| matches!(found.record, ImportItem::Release(_));
    let all = project.records.iter().filter(|found| release(found));
    all.map(|found| if let ImportItem::Release(release) = &found.record { release } else { unreachable!("one") })
        .collect()
}

fn learnings(project: &PrjctProject) -> Vec<&ImportLearning> {
    project
        .records
        .iter()
        .filter_map(|found| if let ImportItem::Learning(learning) = &found.record { Some(learning) } else { None })
        .collect()
}

/// Documents that are kept whole: their names and texts.
fn documents(project: &PrjctProject) -> Vec<(&str, &str)> {
    project
        .records
        .iter()
        .filter_map(|found| match &found.record {
            ImportItem::Document(document) => Some((document.key.as_str(), document.text.as_str())),
            _ => None,
        })
        .collect()
}

fn count(project: &PrjctProject, kind: RecordKind) -> usize {
    project.records.iter().filter(|found| found.kind == kind).count()
}

#[test]
fn the_documented_form_of_a_task_is_read() {
    let task = json!({"id": "5c1e0d0e-1111-4222-8333-444455556666", "title": "mend login", "type": "bug", "status": "paused",
        "branch": "fix/login", "subtasks": [{"id": "s-1", "title": "find it", "status": "done"},
        {"id": "s-2", "title": "mend it", "status": "pending"}], "currentSubtask": 1,
        "createdAt": "2024-01-15T10:30:00.000Z", "updatedAt": "2024-01-15T11:30:00.000Z"});
    let (_dir, project) = project(&[("storage/state.json", &json!({ "task": task }))]);
    let [found] = issues(&project)[..] else { panic!("one issue: {project:?}") };
    assert_eq!((found.id.as_str(), found.title.as_str()), ("5c1e0d0e-1111-4222-8333-444455556666", "mend login"));
    assert_eq!((found.issue_type, found.closed), (IssueType::Bug, false));
    let work = found.work.as_ref().expect("work");
    assert_eq!(
        (work.kind, work.status, work.branch.as_deref()),
        (WorkKind::Bug, WorkStatus::Paused, Some("fix/login"))
    );
    let steps: Vec<(&str, StepStatus)> = work.steps.iter().map(|step| (step.title.as_str(), step.status)).collect();
    assert_eq!(steps, [("find it", StepStatus::Done), ("mend it", StepStatus::Pending)]);
    assert_eq!(found.created_at.map(|at| at.to_string()).as_deref(), Some("2024-01-15T10:30:00.000Z"));
    assert_eq!(found.updated_at.map(|at| at.to_string()).as_deref(), Some("2024-01-15T11:30:00.000Z"));
    let rest = json!({"subtasks": task["subtasks"], "currentSubtask": 1});
    assert_eq!(json!(found.origin.fields), rest, "what has no place stays, ids of steps too");
    assert!(project.not_understood.is_empty() && project.left_out.is_empty());
    let (_dir, none) = self::project(&[("storage/state.json", &json!({"task": null}))]);
    assert!(none.records.is_empty() && none.not_understood.is_empty());
}

#[test]
fn the_written_form_of_tasks_is_read() {
    let state = json!({
        "currentTask": {"id": "task_1", "description": "step two of it", "parentDescription": "the whole of it",
            "startedAt": "2025-01-01T00:00:00Z", "sessionId": "sess_1", "linearId": "PRJ-1",
            "subtasks": [{"id": "subtask-0", "description": "first", "domain": "backend", "status": "completed", "dependsOn": []},
                {"description": "second", "status": "in_progress"}], "currentSubtaskIndex": 1},
        "previousTask": {"id": "task_2", "description": "set aside", "status": "paused",
            "startedAt": "2025-01-01T00:00:00Z", "pausedAt": "2025-01-02T00:00:00Z", "pauseReason": "lunch"},
        "activeTasks": [{"id": "task_4", "description": "also begun", "status": "active"}],
        "pausedTasks": [{"id": "task_2", "description": "set aside", "status": "paused",
            "startedAt": "2025-01-01T00:00:00Z", "pausedAt": "2025-01-02T00:00:00Z", "pauseReason": "lunch"}],
        "taskHistory": [{"taskId": "task_3", "title": "an old one", "classification": "chore",
            "startedAt": "2024-12-01T00:00:00Z", "completedAt": "2024-12-02T00:00:00Z", "subtaskCount": 1,
            "subtaskSummaries": [{"title": "all of it", "description": "d", "whatWasDone": ["x"]}],
            "outcome": "it works", "branchName": "old"}],
        "lastUpdated": "2025-01-03T00:00:00Z", "mood": "good"});
    let (_dir, project) = project(&[("storage/state.json", &state)]);
    assert_eq!(issues(&project).len(), 4, "the same task twice is one");
    assert_eq!(issue(&project, "task_4").work.as_ref().map(|work| work.status), Some(WorkStatus::Paused));
    let current = issue(&project, "task_1");
    assert_eq!((current.title.as_str(), current.description.as_deref()), ("the whole of it", Some("step two of it")));
    let work = current.work.as_ref().expect("work");
    assert_eq!((work.status, work.steps.len(), work.steps[0].status), (WorkStatus::Active, 2, StepStatus::Done));
    assert_eq!(current.origin.fields["linearId"], "PRJ-1");
    let paused = issue(&project, "task_2");
    assert_eq!(paused.work.as_ref().map(|work| work.status), Some(WorkStatus::Paused));
    assert_eq!((&paused.origin.fields["pauseReason"], paused.origin.also.len()), (&json!("lunch"), 0));
    let done = issue(&project, "task_3");
    let work = done.work.as_ref().expect("work");
    assert_eq!((done.closed, done.close_reason.as_deref(), work.status), (true, Some("it works"), WorkStatus::Done));
    assert_eq!((work.branch.as_deref(), work.steps[0].title.as_str()), (Some("old"), "all of it"));
    assert_eq!((done.issue_type, work.kind), (IssueType::Chore, WorkKind::Chore));
    assert_eq!(documents(&project), [("storage/state.json", "{\n  \"mood\": \"good\"\n}\n")]);
}

#[test]
fn the_queue_keeps_its_order_sections_and_priorities_in_either_form() {
    let at = "2025-01-05T00:00:00.000Z";
    let queue = json!({"tasks": [
        {"id": "q1", "title": "later", "priority": 3, "type": "bug", "createdAt": at},
        {"id": "q2", "description": "older but second", "priority": "high", "section": "backlog", "createdAt": "2025-01-04T00:00:00.000Z"},
        {"id": "q3", "description": "now", "priority": "high", "section": "active", "createdAt": at},
        {"id": "q4", "description": "first of all", "priority": "critical", "section": "backlog", "completed": false},
        {"id": "q5", "description": "over", "priority": "low", "completed": true, "completedAt": "2025-01-06T00:00:00.000Z"},
        {"id": "q6", "title": "no word for it", "priority": "soon"}], "updatedAt": at});
    let (_dir, project) = project(&[("storage/queue.json", &queue)]);
    assert_eq!(count(&project, RecordKind::Queue), 6);
    let priority = |id: &str| issue(&project, id).priority;
    let told = ["q1", "q2", "q3", "q4", "q5", "q6"].map(priority);
    assert_eq!(told, [Priority::P3, Priority::P1, Priority::P1, Priority::P0, Priority::P3, Priority::P2]);
    let (active, backlog) = (issue(&project, "q3"), issue(&project, "q2"));
    assert!(active.created_at < backlog.created_at, "what is active comes first");
    assert_eq!(backlog.origin.fields["createdAt"], "2025-01-04T00:00:00.000Z", "its own time is kept");
    assert_eq!(backlog.origin.fields["section"], "backlog");
    assert!(issue(&project, "q5").closed && issue(&project, "q5").closed_at.is_some() && !issue(&project, "q4").closed);
    assert_eq!(
        (&issue(&project, "q6").origin.fields["priority"], issue(&project, "q1").issue_type),
        (&json!("soon"), IssueType::Bug)
    );
    assert_eq!(issue(&project, "q1").origin.fields.get("type"), None, "a bug in the queue stays a bug");
    assert!(issues(&project).iter().all(|issue| issue.work.is_none() && issue.created_at.is_some()));
}

#[test]
fn ideas_become_issues_and_finished_ones_are_closed() {
    let ideas = json!({"ideas": [
        {"id": "idea_1", "text": "a thought\nand more of it", "details": "why", "priority": "low", "status": "pending", "tags": ["ui"]},
        {"id": "idea_2", "text": "made", "status": "converted", "convertedTo": "task_9"},
        "only words"]});
    let (_dir, project) = project(&[("storage/ideas.json", &ideas)]);
    let first = issue(&project, "idea_1");
    assert_eq!(
        (first.title.as_str(), first.description.as_deref()),
        ("a thought", Some("a thought\nand more of it\n\nwhy"))
    );
    assert_eq!((first.closed, &first.origin.fields["tags"]), (false, &json!(["ui"])));
    let second = issue(&project, "idea_2");
    assert_eq!((second.closed, second.close_reason.as_deref()), (true, Some("converted to task_9")));
    assert_eq!((issues(&project).len(), issues(&project)[2].title.as_str()), (3, "only words"));
}

#[test]
fn releases_are_read_in_either_form() {
    let one = json!({"features": [{"id": "f-1", "name": "login", "version": "1.0.0", "type": "feature", "shippedAt": "2024-01-15T10:30:00.000Z"}]});
    let other = json!({"shipped": [{"id": "ship_1", "name": "faster", "version": null, "type": "fix", "description": "twice",
        "changes": [{"description": "c"}], "shippedAt": "2025-01-15T10:30:00Z", "taskId": "task_1"},
        {"name": "nameless id", "version": "2 beta"}], "lastUpdated": "2025-01-15T10:30:00Z"});
    let (_dir, old) = project(&[("storage/shipped.json", &one)]);
    let [login] = releases(&old)[..] else { panic!("one: {old:?}") };
    assert_eq!((login.id.as_str(), login.version.as_str(), login.kind), ("f-1", "1.0.0", WorkKind::Feature));
    assert!(!login.origin.holds_more());
    let (dir, new) = project(&[("storage/shipped.json", &other)]);
    let [faster, nameless] = releases(&new)[..] else { panic!("two: {new:?}") };
    assert_eq!(
        (faster.version.as_str(), faster.kind, faster.notes.as_deref()),
        ("unversioned", WorkKind::Bug, Some("twice"))
    );
    assert_eq!(faster.issues.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["task_1"]);
    assert_eq!(faster.origin.fields["changes"], json!([{"description": "c"}]));
    assert_eq!((nameless.version.as_str(), &nameless.origin.fields["version"]), ("unversioned", &json!("2 beta")));
    let again = read(dir.path()).expect("readable");
    assert_eq!(releases(&again)[1].id, nameless.id, "an id that had to be made is the same again");
}

#[test]
fn every_text_of_every_line_becomes_a_learning() {
    let line = |task: &str, gotcha: &str| {
        json!({"taskId": task, "linearId": "PRJ-123", "timestamp": "2024-01-15T10:40:00.000Z",
            "learnings": {"patterns": ["p"], "approaches": [], "decisions": ["d"], "gotchas": [gotcha]},
            "value": {"type": "feature", "impact": "high", "description": "why"},
            "filesChanged": ["core/x.ts"], "tags": ["agents"]})
        .to_string()
    };
    let loose = json!({"ts": 1_700_000_000_000_i64, "learnings": ["loose", 7], "value": {"impact": "enormous"}, "tags": ["two words"]});
    let odd = json!({"nothing": "of the kind"});
    let lines = format!("{}\n{}\n\n{loose}\n{odd}\n{{\"taskId\":\"t", line("t1", "g1"), line("t1", "g2"));
    let dir = tempfile::tempdir().expect("a directory");
    put(dir.path(), "memory/learnings.jsonl", lines);
    let project = read(dir.path()).expect("readable");
    let told: Vec<&str> = learnings(&project).iter().map(|learning| learning.text.as_str()).collect();
    assert_eq!(told, ["p", "d", "g1", "p", "d", "g2", "loose"], "a second line of a task does not replace the first");
    let first = learnings(&project)[0];
    assert_eq!((first.task.as_deref(), first.linear_id.as_deref()), (Some("t1"), Some("PRJ-123")));
    assert_eq!((&first.tags[..], &first.files[..]), (&["agents".to_owned()][..], &["core/x.ts".to_owned()][..]));
    let last = learnings(&project)[6];
    assert_eq!(last.tags, ["two-words"]);
    let rest = json!({"learnings": ["loose", 7], "value": {"impact": "enormous"}, "tags": ["two words"]});
    assert_eq!(json!(last.origin.fields), rest);
    assert_eq!(documents(&project), [("memory/learnings.jsonl", format!("{odd}\n").as_str())]);
    let [torn] = &project.not_understood[..] else { panic!("one: {project:?}") };
    assert_eq!((torn.file.as_str(), torn.line), ("memory/learnings.jsonl", Some(6)));
}

#[test]
fn steps_without_ids_stay_with_their_task() {
    let task =
        |id: &str, step: &str| json!({"id": id, "description": id, "subtasks": [{"description": step}, "plain", 7]});
    let state = json!({"currentTask": task("a", "of a"), "pausedTasks": [task("b", "of b")]});
    let (_dir, project) = project(&[("storage/state.json", &state)]);
    let steps = |id: &str| {
        let work = issue(&project, id).work.clone().expect("work");
        work.steps.into_iter().map(|step| step.title).collect::<Vec<_>>()
    };
    assert_eq!(
        (steps("a"), steps("b")),
        (
            vec!["of a".into(), "plain".into(), "step 3".into()],
            vec!["of b".into(), "plain".into(), "step 3".to_owned()]
        )
    );
}

#[test]
fn events_find_their_task_flat_or_nested_and_the_others_are_kept() {
    let lines = [
        json!({"type": "task.created", "timestamp": "2024-01-15T10:30:00.000Z", "data": {"taskId": "t1", "title": "x"}}),
        json!({"type": "task.started", "timestamp": "2024-01-15T10:30:00.000Z", "projectId": "p", "taskId": "t1"}),
        json!({"ts": "2024-01-15T10:30:00.000Z", "action": "sync", "files": 3}),
        json!({"type": "task.created", "data": {"taskId": "gone"}}),
        json!({"type": "ping", "taskId": "t1"}),
        json!({"type": "ping", "taskId": "t1"}),
    ];
    let dir = tempfile::tempdir().expect("a directory");
    put(dir.path(), "storage/state.json", json!({"task": {"id": "t1", "title": "x"}}).to_string());
    put(dir.path(), "memory/events.jsonl", lines.iter().map(|line| format!("{line}\r\n")).collect::<String>());
    put(dir.path(), "memory/context.jsonl", "{\"action\":\"a\"}\n[1]\n{\"action\":\"b\"}\n");
    let project = read(dir.path()).expect("readable");
    let events: Vec<(String, u32)> = project
        .records
        .iter()
        .filter_map(|found| match &found.record {
            ImportItem::Event(event) => Some((event.data["type"].as_str().expect("a type").to_owned(), event.again)),
            _ => None,
        })
        .collect();
    let told: Vec<(&str, u32)> = events.iter().map(|(kind, again)| (kind.as_str(), *again)).collect();
    assert_eq!(told, [("task.created", 0), ("task.started", 0), ("ping", 0), ("ping", 1)]);
    let kept = format!("{}\n{}\n", lines[2], lines[3]);
    assert_eq!(
        documents(&project),
        [("memory/events.jsonl", kept.as_str()), ("memory/context.jsonl", "{\"action\":\"a\"}\n{\"action\":\"b\"}\n")]
    );
    assert_eq!((project.not_understood.len(), project.not_understood[0].line), (1, Some(2)));
}

#[test]
fn skills_and_pending_events_are_read_in_both_forms_and_the_rest_is_kept_whole() {
    let one = json!({"mappings": {"a.md": ["x"]}, "updatedAt": "2024-01-15T10:30:00.000Z"});
    let other = json!({"projectId": "p", "syncedAt": "s", "skills": [{"name": "x", "linkedAgents": ["a.md"]}], "agentSkillMap": {}});
    for (skills, whole) in [(&one, 0), (&other, 1)] {
        let (_dir, project) = project(&[("config/skills.json", skills)]);
        assert_eq!(
            (count(&project, RecordKind::Skills), count(&project, RecordKind::Documents)),
            (1, whole),
            "{skills}"
        );
    }
    let documents = [
        "storage/roadmap.json",
        "storage/metrics.json",
        "storage/velocity.json",
        "storage/analysis.json",
        "storage/session.json",
        "storage/issues.json",
        "project.json",
        "sync/last-sync.json",
    ];
    for pending in
        [json!({"events": [{"id": "e", "synced": false}], "lastSync": null}), json!([{"type": "t", "path": []}])]
    {
        let some = json!({"projectId": "My Project", "x": 1});
        let mut files: Vec<(&str, &Value)> = documents.iter().map(|name| (*name, &some)).collect();
        files.push(("sync/pending.json", &pending));
        let (_dir, project) = project(&files);
        assert_eq!(count(&project, RecordKind::Documents), 9);
        assert!(project.not_understood.is_empty(), "{project:?}");
        assert_eq!(project.scope, "prjct:my-project");
        let scopes = project
            .records
            .iter()
            .all(|found| matches!(&found.record, ImportItem::Document(one) if one.scope == project.scope));
        assert!(scopes, "{project:?}");
    }
    let (_dir, none) = project(&[("sync/pending.json", &json!({"events": 7}))]);
    assert_eq!(none.not_understood.len(), 1);
}

#[test]
fn an_id_in_several_files_becomes_one_issue_with_all_records() {
    let state = json!({"currentTask": {"id": "t1", "description": "it"}});
    let queue = json!({"tasks": [{"id": "t1", "description": "it, as it was planned", "priority": "high"}]});
    let (_dir, project) = project(&[("storage/state.json", &state), ("storage/queue.json", &queue)]);
    let [one] = issues(&project)[..] else { panic!("one: {project:?}") };
    assert_eq!(one.work.as_ref().map(|work| work.status), Some(WorkStatus::Active));
    assert_eq!(json!(one.origin.also), json!([{"file": "storage/queue.json", "record": queue["tasks"][0]}]));
}

#[test]
fn caches_and_unknown_files_are_reported() {
    let dir = tempfile::tempdir().expect("a directory");
    put(dir.path(), "storage/state.json", "{\"task\":null}");
    put(dir.path(), "prjct.db", "SQLite format 3\0");
    put(dir.path(), "index/checksums.json", "{}");
    put(dir.path(), "storage/backup/state.json", "{\"task\":{\"id\":\"old\"}}");
    put(dir.path(), "context/now.md", "# NOW");
    put(dir.path(), "notes.txt", "hello");
    put(dir.path(), "storage/own.json", "[1]");
    let project = read(dir.path()).expect("readable");
    let left_out: Vec<&str> = project.left_out.iter().map(|problem| problem.file.as_str()).collect();
    assert_eq!(left_out, ["index/checksums.json", "storage/backup/state.json", "context/now.md"]);
    let not_understood: Vec<&str> = project.not_understood.iter().map(|problem| problem.file.as_str()).collect();
    assert_eq!(not_understood, ["prjct.db", "notes.txt"], "a database that is torn is named");
    assert_eq!(documents(&project), [("storage/own.json", "[1]")]);
    let copy = read(&dir.path().join("storage/backup")).expect("readable");
    assert_eq!(issues(&copy)[0].id.as_str(), "old", "a copy can be read by itself");
    assert!(dir.path().join("storage/state.json").exists(), "nothing is deleted");
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let dir = tempfile::tempdir().expect("a directory");
    let outside = tempfile::tempdir().expect("a directory");
    put(outside.path(), "state.json", "{\"task\":{\"id\":\"secret\",\"title\":\"t\"}}");
    put(dir.path(), "project.json", "{}");
    std::os::unix::fs::symlink(outside.path(), dir.path().join("storage")).expect("a link");
    std::os::unix::fs::symlink(outside.path().join("state.json"), dir.path().join("state.json")).expect("a link");
    let project = read(dir.path()).expect("readable");
    assert!(issues(&project).is_empty());
    let mut named: Vec<&str> = project.not_understood.iter().map(|problem| problem.file.as_str()).collect();
    named.sort_unstable();
    assert_eq!(named, ["state.json", "storage"]);
}

#[test]
fn damaged_or_hostile_files_are_reported_and_the_rest_is_read() {
    let deep = format!("{{\"task\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let nested = format!("{{\"task\":{{\"id\":\"x\",\"a\":{}1{}}}}}", "[".repeat(110), "]".repeat(110));
    let huge = format!("{{\"task\":{{\"id\":\"x\",\"title\":\"{}\"}}}}", "x".repeat(2 << 20));
    let table = ["", "{", "[]", "7", "null", "{\"task\":7}", "{\"currentTask\":[7]}", "\u{0}", &deep, &nested, &huge];
    for broken in table {
        let dir = tempfile::tempdir().expect("a directory");
        put(dir.path(), "storage/state.json", broken);
        put(dir.path(), "storage/queue.json", "{\"tasks\":[{\"id\":\"good\",\"title\":\"t\"},null]}");
        let project = read(dir.path()).expect("readable");
        let shown = &broken[..broken.len().min(40)];
        assert_eq!(issues(&project).len(), 1, "{shown}");
        let named: Vec<&str> = project.not_understood.iter().map(|problem| problem.file.as_str()).collect();
        assert_eq!(named, ["storage/state.json", "storage/queue.json"], "{shown}");
    }
    let dir = tempfile::tempdir().expect("a directory");
    put(
        dir.path(),
        "memory/events.jsonl",
        [&b"{\"a\":1}\n"[..], &vec![b'x'; 2 << 20], b"\n\xff\n{\"b\":1}\n{"].concat(),
    );
    let project = read(dir.path()).expect("readable");
    assert_eq!(documents(&project), [("memory/events.jsonl", "{\"a\":1}\n{\"b\":1}\n")]);
    assert_eq!(
        project.not_understood.iter().map(|problem| problem.line).collect::<Vec<_>>(),
        [Some(2), Some(3), Some(5)]
    );
    put(dir.path(), "memory/events.jsonl", "x\n".repeat(1000));
    assert_eq!(read(dir.path()).expect("readable").not_understood.len(), 101, "and so many more");
}

#[test]
fn invalid_texts_are_cleaned_and_the_originals_kept() {
    let long = "x".repeat(600);
    let queue = json!([{"id": "a b", "title": "\u{1b}[2Jred\u{7}"}, {"title": long}, {"id": 42, "title": ""}]);
    let (_dir, project) = project(&[("storage/queue.json", &queue)]);
    let [red, whole, empty] = issues(&project)[..] else { panic!("three: {project:?}") };
    assert_eq!(
        (red.title.as_str(), &red.origin.fields["title"]),
        ("\u{fffd}[2Jred\u{fffd}", &json!("\u{1b}[2Jred\u{7}"))
    );
    assert_eq!((&red.origin.fields["id"], red.id.as_str().starts_with("pn-")), (&json!("a b"), true));
    assert_eq!((whole.title.as_str(), whole.description.as_deref()), (long.as_str(), None));
    assert_eq!((empty.id.as_str(), empty.title.as_str()), ("42", "untitled"));
}

#[test]
fn long_documents_are_split_without_loss() {
    let line = format!("{{\"é\":\"{}\"}}\n", "é".repeat(1000));
    let lines = line.repeat(1000);
    let one = format!("[\"{}\"]", "é".repeat(700_000));
    let dir = tempfile::tempdir().expect("a directory");
    put(dir.path(), "memory/context.jsonl", &lines);
    put(dir.path(), "storage/analysis.json", &one);
    let project = read(dir.path()).expect("readable");
    for (name, whole) in [("memory/context.jsonl", &lines), ("storage/analysis.json", &one)] {
        let parts: Vec<(&str, &str)> =
            documents(&project).into_iter().filter(|(key, _)| key.starts_with(name)).collect();
        assert!(parts.len() > 2 && parts.iter().all(|(_, text)| text.len() <= 512 << 10));
        assert_eq!((parts[0].0, parts[1].0), (name, format!("{name}#2").as_str()));
        assert_eq!(parts.iter().map(|(_, text)| *text).collect::<String>(), *whole);
    }
}

#[test]
fn a_directory_without_project_files_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    put(dir.path(), "readme.md", "x");
    assert_eq!(read(dir.path()).expect_err("nothing of prjct").code, Code::InvalidInput);
    assert_eq!(read(&dir.path().join("nowhere")).expect_err("nothing").code, Code::NotFound);
    assert!(read(&dir.path().join("readme.md")).expect_err("a file").hint.is_some());
}

/// JSON of any shape under the names that are asked for.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|b| json!(b)),
        any::<i64>().prop_map(|n| json!(n)),
        ".{0,20}".prop_map(|t| json!(t))
    ];
    let name = prop::sample::select(vec![
        "id",
        "title",
        "description",
        "subtasks",
        "status",
        "priority",
        "createdAt",
        "tasks",
        "task",
        "currentTask",
        "taskHistory",
        "learnings",
        "patterns",
        "value",
        "tags",
        "data",
        "taskId",
        "ideas",
        "shipped",
    ]);
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::vec((name.clone(), inner), 0..6).prop_map(|fields| Value::Object(
                fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            )),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_json_is_read_and_reading_is_repeatable(value in anything()) {
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["storage/state.json", "storage/queue.json", "storage/ideas.json", "storage/shipped.json",
            "memory/learnings.jsonl", "memory/events.jsonl", "config/skills.json", "sync/pending.json"] {
            put(dir.path(), name, format!("{value}\n"));
        }
        let (one, two) = (read(dir.path()).expect("readable"), read(dir.path()).expect("readable"));
        prop_assert_eq!(&one.records, &two.records);
        prop_assert_eq!(one.not_understood, two.not_understood);
    }
}
