//! Files of GitHub, GitLab, Taskwarrior, Taskmaster, Backlog.md, Linear and Jira, in the forms in which those write them.

use std::fs;
use std::path::Path;

use pensa_core::Result;
use pensa_core::issue::{IssueType, LinkKind, Priority, Status};
use pensa_core::ops::tracker::{TrackerIssue, TrackerItem};
use pensa_interop::tracker::{TrackerFile, backlog, github, jira, linear, taskmaster, taskwarrior};
use serde_json::{Value, json};

#[track_caller]
fn read_as(read: fn(&Path) -> Result<TrackerFile>, content: &str) -> TrackerFile {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("export");
    fs::write(&path, content).expect("written");
    read(&path).expect("read")
}

fn issues(file: &TrackerFile) -> Vec<&TrackerIssue> {
    let issue = |item: &'static str| panic!("{item} is no issue");
    file.items
        .iter()
        .map(|found| match &found.item {
            TrackerItem::Issue(one) => &**one,
            TrackerItem::Memory(_) => issue("a memory"),
            TrackerItem::Tombstone(_) => issue("a tombstone"),
        })
        .collect()
}

fn ids(ids: &[pensa_core::id::IssueId]) -> Vec<&str> {
    ids.iter().map(|id| id.as_str()).collect()
}

fn day(date: Option<pensa_core::time::Date>) -> Option<String> {
    date.map(|date| date.to_string())
}

#[test]
fn github_is_read_from_its_program_and_from_its_api() {
    let gh = json!([
        {"number": 7, "title": "Broken", "body": "text\r\nmore", "state": "CLOSED", "stateReason": "COMPLETED",
         "url": "https://github.com/acme/shop/issues/7", "labels": [{"name": "kind/bug", "color": "red"}, {"name": "priority: high"}],
         "assignees": [{"login": "ann", "name": "Ann"}, {"login": "bob"}], "author": {"login": "eve"},
         "createdAt": "2026-01-01T00:00:00Z", "closedAt": "2026-01-03T00:00:00Z", "milestone": null, "reactionGroups": [],
         "comments": [{"id": "IC_x", "author": {"login": "bob"}, "body": "same", "createdAt": "2026-01-02T00:00:00Z"}]},
        {"number": 8, "title": "A change", "pull_request": {}},
        {"title": "without number"},
        "text"
    ]);
    let file = read_as(github::read, &gh.to_string());
    let issue = issues(&file)[0];
    assert_eq!((issue.id.as_str(), issue.key.as_str()), ("shop-7", "acme/shop#7"));
    assert_eq!((issue.issue_type, issue.priority, issue.status), (IssueType::Bug, Priority::P1, Status::Closed));
    assert_eq!((issue.close_reason.as_deref(), issue.assignee.as_deref()), (None, Some("ann")));
    assert_eq!(issue.description.as_deref(), Some("text\nmore"));
    assert_eq!(issue.comments[0].key, "IC_x");
    let kept: Vec<&str> = issue.raw.keys().map(String::as_str).collect();
    assert_eq!(kept, ["assignees", "author"], "nobody is lost");
    assert_eq!(file.skipped.iter().filter_map(|one| one.place.line).collect::<Vec<_>>(), [2, 3, 4]);
    let api = json!([{"number": 9, "title": "t", "html_url": "https://github.com/acme/shop/issues/9", "state": "open",
        "user": {"login": "eve"}, "comments": 3, "created_at": "2026-01-01T00:00:00Z", "type": {"name": "Bug"}}]);
    let file = read_as(github::read, &api.to_string());
    let issue = issues(&file)[0];
    assert_eq!((issue.id.as_str(), issue.issue_type, issue.comments.len()), ("shop-9", IssueType::Bug, 0));
    assert!(issue.created_at.is_some() && issue.raw["comments"] == 3);
}

#[test]
fn gitlab_is_read_with_due_dates_estimates_and_notes() {
    let api = json!([{"id": 1001, "iid": 3, "project_id": 5, "title": "t", "description": "d", "state": "opened",
        "labels": ["priority::high", "type::bug"], "assignees": [{"username": "ann"}], "author": {"username": "eve"},
        "web_url": "https://gitlab.com/group/sub/shop/-/issues/3", "due_date": "2026-03-01", "weight": 5,
        "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-02T00:00:00.000Z", "closed_at": null,
        "time_stats": {"time_estimate": 7200, "total_time_spent": 60}, "milestone": {"title": "v1", "due_date": "2026-04-01"},
        "notes": [{"id": 1, "body": "changed the title", "system": true}, {"id": 2, "body": "hm", "author": {"username": "bob"}, "created_at": "2026-01-01T00:00:00Z", "system": false}]}]);
    let file = read_as(github::read_gitlab, &api.to_string());
    let issue = issues(&file)[0];
    assert_eq!((issue.id.as_str(), issue.status, issue.priority), ("shop-3", Status::Open, Priority::P1));
    assert_eq!((issue.issue_type, issue.assignee.as_deref()), (IssueType::Bug, Some("ann")));
    assert_eq!(
        (day(issue.due).as_deref(), issue.estimate.map(|span| span.to_string())),
        (Some("2026-03-01"), Some("2h".into()))
    );
    assert_eq!(issue.labels, ["milestone:v1", "priority::high", "type::bug"]);
    assert_eq!(issue.comments.iter().map(|one| one.text.as_str()).collect::<Vec<_>>(), ["hm"]);
    assert_eq!(issue.raw["weight"], 5);
}

#[test]
fn taskwarrior_is_read_with_waits_annotations_and_dependencies() {
    let first = "5f2c0b8e-1111-4222-8333-444455556666";
    let second = "a0b1c2d3-e4f5-4666-8777-888899990000";
    let tasks = json!([
        {"id": 1, "uuid": first, "description": "paint the fence", "status": "waiting", "entry": "20260101T080000Z",
         "modified": "20260102T080000Z", "due": "20260301T000000Z", "wait": "20260201T000000Z", "priority": "H",
         "project": "home.garden", "tags": ["outside", "paint"], "urgency": 9.5, "depends": [second], "estimate": "PT2H",
         "annotations": [{"entry": "20260101T090000Z", "description": "buy paint"}]},
        {"uuid": second, "description": "buy brushes", "status": "pending", "start": "20260103T080000Z", "entry": "20260101T080000Z"},
        {"uuid": "00000000-0000-0000-0000-000000000001", "description": "old", "status": "deleted", "end": "20260103T080000Z"},
        {"uuid": "00000000-0000-0000-0000-0000000000ff", "description": "every week", "status": "recurring"},
        {"description": "no uuid", "status": "pending"}
    ]);
    let file = read_as(taskwarrior::read, &tasks.to_string());
    let all = issues(&file);
    assert_eq!(
        all.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(),
        ["tw-5f2c0b8e1111", "tw-a0b1c2d3e4f5", "tw-000000000000"]
    );
    let paint = all[0];
    assert_eq!(
        (paint.status, paint.priority, day(paint.defer).as_deref()),
        (Status::Open, Priority::P1, Some("2026-02-01"))
    );
    assert_eq!(
        (ids(&paint.deps), paint.labels.join(" ")),
        (vec!["tw-a0b1c2d3e4f5"], "outside paint project:home.garden".into())
    );
    assert_eq!((paint.comments[0].text.as_str(), &paint.raw["estimate"]), ("buy paint", &json!("PT2H")));
    assert_eq!((all[1].status, all[2].status), (Status::InProgress, Status::Closed));
    assert_eq!(all[2].close_reason.as_deref(), Some("deleted in taskwarrior"));
    assert_eq!(file.dropped_fields.keys().collect::<Vec<_>>(), ["id", "urgency"]);
    assert_eq!(file.skipped.len(), 2);
    // Old versions: one task in a line, with commas.
    let lines = format!("{},\n{}\n", tasks[1], json!({"uuid": first, "description": "x", "depends": second}));
    let file = read_as(taskwarrior::read, &lines);
    assert_eq!(ids(&issues(&file)[1].deps), ["tw-a0b1c2d3e4f5"]);
    // UUIDs that begin the same are reported, not merged in silence.
    let same = json!([tasks[2], {"uuid": "00000000-0000-0000-0000-000000000002", "description": "other", "status": "pending"}]);
    assert_eq!(read_as(taskwarrior::read, &same.to_string()).skipped.len(), 1);
}

#[test]
fn taskmaster_is_read_with_and_without_tags() {
    let task = json!({"id": 5, "title": "API", "status": "review", "priority": "high", "dependencies": [1, "2.1"],
        "complexityScore": 7, "subtasks": [
            {"id": 1, "title": "Routes", "status": "cancelled", "dependencies": []},
            {"id": 2, "title": "Tests", "status": "pending", "dependencies": [1, "4"], "details": "all"}, {"title": "?"}]});
    for whole in
        [json!({"tasks": [task], "metadata": {}}), json!({"master": {"tasks": [task], "metadata": {}}}), json!([task])]
    {
        let file = read_as(taskmaster::read, &whole.to_string());
        let all = issues(&file);
        assert_eq!(all.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["tm-5", "tm-5.1", "tm-5.2"], "{whole}");
        assert_eq!(
            (all[0].status, all[0].priority, ids(&all[0].deps)),
            (Status::InProgress, Priority::P1, vec!["tm-1", "tm-2.1"])
        );
        assert_eq!((all[1].status, all[1].close_reason.as_deref()), (Status::Closed, Some("cancelled")));
        assert_eq!(ids(&all[2].deps), ["tm-5.1", "tm-5.4"], "numbers of subtasks mean siblings");
        assert!(all[1..].iter().all(|one| one.parent.as_ref().is_some_and(|id| id.as_str() == "tm-5")));
        assert_eq!((&all[0].raw["complexityScore"], file.skipped.len()), (&json!(7), 1));
    }
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("package.json");
    fs::write(&path, json!({"name": "x"}).to_string()).expect("written");
    assert!(taskmaster::read(&path).is_err(), "a file without tasks is refused");
}

const BACKLOG_TASK: &str = "---
id: task-7.1
title: 'Search: by label'
status: In Review
assignee:
  - '@ann'
reporter: '@bob'
created_date: '2026-01-01 10:30'
updated_date: 2026-01-02
labels: [search, ui]
milestone: v2
dependencies: [TASK-7, task-9]
references:
  - https://example.com/spec
  - src/search.rs
parent_task_id: task-7
priority: high
ordinal: 1000
---

## Description

<!-- SECTION:DESCRIPTION:BEGIN -->
Find by label.

```md
## not a heading
```
<!-- SECTION:DESCRIPTION:END -->

## Acceptance Criteria
<!-- AC:BEGIN -->
- [x] #1 finds them
- [ ] #2 is fast
<!-- AC:END -->

## Implementation Notes

None yet.
";

#[test]
fn folders_of_backlog_are_read_with_drafts_and_without_the_archive() {
    let dir = tempfile::tempdir().expect("a directory");
    let put = |name: &str, text: &str| {
        let path = dir.path().join("backlog").join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    };
    put("config.yml", "project_name: x\nstatuses: [\"To Do\", \"In Review\", \"Shipped\"]\n");
    put("tasks/task-7.1 - Search.md", BACKLOG_TASK);
    put(
        "tasks/task-7 - Whole.md",
        "---\nid: task-7\ntitle: Whole\nstatus: Shipped\nassignee: []\n---\nHeading\n=======\n",
    );
    put("completed/task-8 - Old.md", "---\r\nid: task-8\r\ntitle: Old\r\nstatus: To Do\r\n---\r\n");
    put("drafts/draft-1 - Idea.md", "---\nid: draft-1\ntitle: Idea\nstatus: Draft\nlabels: []\n---\n");
    put("archive/tasks/task-2 - Gone.md", "---\nid: task-2\ntitle: Gone\n---\n");
    put("tasks/task-3 - Bad.md", "---\nid: [\n---\n");
    put("tasks/task-4 - None.md", "# no front matter\n");
    put("tasks/readme.md", "about\n");
    let bomb: String = ('a'..='i').zip('b'..='j').fold("a: &a [x]\n".to_owned(), |text, (one, next)| {
        format!("{text}{next}: &{next} [{}]\n", vec![format!("*{one}"); 9].join(", "))
    });
    put("tasks/task-5 - Bomb.md", &format!("---\nid: task-5\ntitle: Bomb\n{bomb}---\n"));
    for path in [dir.path().to_owned(), dir.path().join("backlog")] {
        let file = backlog::read(&path).expect("read");
        let all = issues(&file);
        assert_eq!(
            all.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(),
            ["task-7", "task-7.1", "task-8", "draft-1"]
        );
        let statuses = [Status::Closed, Status::InProgress, Status::Closed, Status::Open];
        assert_eq!(all.iter().map(|one| one.status).collect::<Vec<_>>(), statuses);
        assert_eq!(all[3].labels, ["draft"]);
        let search = all[1];
        assert_eq!((search.title.as_str(), search.assignee.as_deref()), ("Search: by label", Some("ann")));
        assert_eq!(
            (ids(&search.deps), search.parent.as_ref().map(|id| id.as_str())),
            (vec!["task-7", "task-9"], Some("task-7"))
        );
        assert_eq!(search.labels, ["milestone:v2", "search", "ui"]);
        assert_eq!(search.created_at.map(|at| at.to_string()).as_deref(), Some("2026-01-01T10:30:00.000Z"));
        let criteria: Vec<(&str, bool)> = search.acceptance.iter().map(|one| (one.text.as_str(), one.done)).collect();
        assert_eq!(criteria, [("finds them", true), ("is fast", false)]);
        let text = search.description.as_deref().expect("a description");
        assert!(
            text.starts_with("Find by label.\n\n```md\n## not")
                && text.ends_with("## Implementation Notes\n\nNone yet."),
            "{text}"
        );
        assert_eq!((search.refs.len(), &search.raw["references"]), (1, &json!(["src/search.rs"])));
        assert_eq!((&search.raw["ordinal"], &search.raw["reporter"]), (&json!(1000), &json!("@bob")));
        let skipped: Vec<&str> = file.skipped.iter().filter_map(|one| one.place.file.as_deref()).collect();
        let expected = [
            "archive/tasks/task-2 - Gone.md",
            "tasks/task-3 - Bad.md",
            "tasks/task-4 - None.md",
            "tasks/task-5 - Bomb.md",
        ];
        assert_eq!(skipped, expected);
    }
    assert!(backlog::read(&dir.path().join("nowhere")).is_err());
}

#[test]
fn linear_is_read_from_its_table() {
    let table = "ID,Team,Title,Description,Status,Estimate,Priority,Project,Creator,Assignee,Labels,Created,Updated,Started,Completed,Canceled,Due Date,Parent issue,Blocked by,Duplicate of\n\
        ENG-1,Engineering,\"Crash, sometimes\",\"two\nlines\",In Progress,3,Urgent,Shop,eve,ann@example.com,\"Bug, ui\",Tue Feb 25 2025 10:11:12 GMT+0000 (GMT),2025-02-26T00:00:00.000Z,,,,2025-03-01,ENG-2,\"ENG-3, ENG-4\",\n\
        ENG-5,Engineering,Other,,Duplicate,,No priority,,,,,2025-02-25,,,,2025-02-26,,,,ENG-1\n\
        ,x,No id\n";
    let file = read_as(linear::read, table);
    let all = issues(&file);
    let crash = all[0];
    assert_eq!(
        (crash.id.as_str(), crash.title.as_str(), crash.description.as_deref()),
        ("ENG-1", "Crash, sometimes", Some("two\nlines"))
    );
    assert_eq!((crash.issue_type, crash.status, crash.priority), (IssueType::Bug, Status::InProgress, Priority::P0));
    assert_eq!((ids(&crash.deps), day(crash.due).as_deref()), (vec!["ENG-3", "ENG-4"], Some("2025-03-01")));
    assert_eq!((crash.labels.join(" "), crash.refs.join(" ")), ("Bug project:Shop ui".into(), "linear:ENG-1".into()));
    assert_eq!(crash.created_at.map(|at| at.to_string()).as_deref(), Some("2025-02-25T10:11:12.000Z"));
    assert_eq!(Value::Object(crash.raw.clone()), json!({"Team": "Engineering", "Estimate": "3", "Creator": "eve"}));
    assert_eq!(
        (all[1].status, all[1].close_reason.as_deref(), all[1].links[0].kind),
        (Status::Closed, Some("duplicate"), LinkKind::Duplicates)
    );
    assert_eq!(file.skipped[0].place.line, Some(5), "the line in the file, not the number of the row");
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("x.csv"), "Name,Age\na,1\n").expect("written");
    let error = linear::read(&dir.path().join("x.csv")).expect_err("another table");
    assert!(error.message.contains("ID") && error.hint.is_some(), "{error}");
}

#[test]
fn jira_is_read_from_its_table_with_repeated_columns() {
    let table = "Summary,Issue key,Issue id,Issue Type,Status,Status Category,Priority,Resolution,Assignee,Created,Resolved,Due date,Labels,Labels,Description,Comment,Comment,Parent,Inward issue link (Blocks),Outward issue link (Blocks),Outward issue link (Relates),Original estimate,Custom field (Story Points),Watchers,Watchers\n\
        Epic,SHOP-1,10001,Epic,Selected,To Do,Medium,,,27/Feb/26 2:30 PM,,,,,,,,,,,,,,,\n\
        Fix it,SHOP-2,10002,Bug,Ready for release,Done,Highest,Won't Do,ann,27/Feb/26 2:30 PM,28/Feb/26 9:00 AM,01/Mar/26,ui,web,*bold*,27/Feb/26 3:00 PM;bob;it; is,plain text,10001,SHOP-3,SHOP-4,SHOP-1,7200,5.0,eve,bob\n";
    let file = read_as(jira::read, table);
    let all = issues(&file);
    assert_eq!((all[0].status, all[0].issue_type), (Status::Open, IssueType::Task));
    let bug = all[1];
    assert_eq!(
        (bug.status, bug.priority, bug.close_reason.as_deref()),
        (Status::Closed, Priority::P0, Some("won't do"))
    );
    assert_eq!(bug.closed_at.map(|at| at.to_string()).as_deref(), Some("2026-02-28T09:00:00.000Z"));
    assert_eq!((bug.parent.as_ref().map(|id| id.as_str()), ids(&bug.deps)), (Some("SHOP-1"), vec!["SHOP-3"]));
    assert_eq!((bug.labels.join(" "), day(bug.due).as_deref()), ("ui web".into(), Some("2026-03-01")));
    assert_eq!((bug.estimate.map(|span| span.to_string()).as_deref(), bug.links.len()), (Some("2h"), 1));
    let comments: Vec<(Option<&str>, &str)> =
        bug.comments.iter().map(|one| (one.author.as_deref(), one.text.as_str())).collect();
    assert_eq!(comments, [(Some("bob"), "it; is"), (None, "plain text")]);
    assert_eq!(
        (&bug.raw["Watchers"], &bug.raw["Custom field (Story Points)"]),
        (&json!(["eve", "bob"]), &json!("5.0"))
    );
}
