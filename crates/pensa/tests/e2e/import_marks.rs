//! Every importer gets a file in which every field has a unique value, and must account for each: the value is stored, or
//! the report names the field.

use std::fs;
use std::path::Path;

use pensa_testkit::Sandbox;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::{Value, json};

/// Unique values, and where each must be found.
#[derive(Default)]
struct Marks {
    /// The path of the field, and the texts of which one must be found.
    all: Vec<(String, Vec<String>)>,
}

impl Marks {
    fn text(&mut self, field: &str) -> Value {
        // One word each, so that no two are near-duplicates.
        let name: String =
            field.rsplit('.').next().unwrap_or_default().chars().filter(char::is_ascii_alphanumeric).collect();
        let mark = format!("mark{}{name}", self.all.len());
        self.all.push((field.to_owned(), vec![mark.clone()]));
        json!(mark)
    }

    /// A number that could also be a time in milliseconds.
    fn number(&mut self, field: &str) -> Value {
        let number = 1_700_000_000_000_i64 + 1_009 * i64::try_from(self.all.len()).expect("few");
        let time = pensa_core::Timestamp::from_millis(number).expect("a time").to_string();
        self.all.push((field.to_owned(), vec![number.to_string(), time]));
        json!(number)
    }

    /// A time as text.
    fn time(&mut self, field: &str) -> Value {
        let number = self.number(field);
        json!(pensa_core::Timestamp::from_millis(number.as_i64().expect("one")).expect("a time").to_string())
    }

    /// Marks each value of an object that is one of the words TEXT, NUMBER and TIME.
    fn fill(&mut self, mut value: Value) -> Value {
        self.fill_in("", &mut value);
        value
    }

    fn fill_in(&mut self, field: &str, value: &mut Value) {
        match value {
            Value::String(word) if word == "TEXT" => *value = self.text(field),
            Value::String(word) if word == "NUMBER" => *value = self.number(field),
            Value::String(word) if word == "TIME" => *value = self.time(field),
            Value::Array(items) => items.iter_mut().for_each(|item| self.fill_in(field, item)),
            Value::Object(fields) => {
                fields.iter_mut().for_each(|(name, value)| self.fill_in(&format!("{field}.{name}"), value))
            }
            _ => {}
        }
    }

    /// Checks that every mark is in the database or in the files of loops, or that the report names its field.
    #[track_caller]
    fn check(&self, pn: &Sandbox, report: &Value) {
        let stored = stored(pn);
        let printed = ["notes", "left_out", "not_understood", "skipped", "dropped_fields"]
            .map(|part| report[part].to_string())
            .concat();
        let is_there = |texts: &[String]| texts.iter().any(|text| stored.contains(text.as_str()));
        // A short word may occur there for another reason.
        let is_named = |field: &str| field.split('.').any(|part| part.len() > 4 && printed.contains(part));
        let lost = self.all.iter().filter(|(field, texts)| !is_there(texts) && !is_named(field));
        let lost: Vec<&str> = lost.map(|(field, _)| field.as_str()).collect();
        assert!(lost.is_empty(), "lost without a word: {lost:?}\n{printed}");
        assert!(self.all.len() > 3, "there is something to look for");
    }
}

/// The content of all tables of the store, and of the files of its loops.
fn stored(pn: &Sandbox) -> String {
    let connection = Connection::open(pn.store().join("db.sqlite")).expect("opens");
    let mut names = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").expect("tables");
    let names: Vec<String> =
        names.query_map([], |row| row.get(0)).expect("tables").map(|name| name.expect("a name")).collect();
    let mut all = String::new();
    for name in names {
        let mut statement = connection.prepare(&format!("SELECT * FROM \"{name}\"")).expect("a table");
        let columns = statement.column_count();
        let mut rows = statement.query([]).expect("rows");
        while let Some(row) = rows.next().expect("a row") {
            for at in 0..columns {
                match row.get_ref(at).expect("a value") {
                    ValueRef::Integer(number) => all.push_str(&format!("{number} ")),
                    ValueRef::Text(text) => all.push_str(&format!("{} ", String::from_utf8_lossy(text))),
                    _ => {}
                }
            }
        }
    }
    files(&pn.store().join("local"), &mut all);
    all
}

fn files(dir: &Path, all: &mut String) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, all);
        } else if path.starts_with(dir) && path.to_string_lossy().contains("/lp-") {
            all.push_str(&fs::read_to_string(&path).unwrap_or_default());
        }
    }
}

fn put(dir: &Path, name: &str, content: impl AsRef<[u8]>) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    fs::write(path, content).expect("a file");
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

#[track_caller]
fn import(pn: &Sandbox, from: &str, dir: &Path) -> Value {
    pn.pn(["import-from", from, dir.to_str().expect("UTF-8")]).ok_json()
}

#[test]
fn daycare_accounts_for_every_field() {
    let (pn, mut marks) = (crate::sandbox(), Marks::default());
    let dir = pn.path("agents/a1");
    let size = json!({"input": "NUMBER", "output": "NUMBER", "cacheRead": "NUMBER", "cacheWrite": "NUMBER", "total": "NUMBER"});
    let descriptor = json!({"type": "app", "id": "TEXT", "parentAgentId": "TEXT", "name": "TEXT", "systemPrompt": "TEXT",
        "appId": "TEXT", "connector": "TEXT", "userId": "TEXT", "channelId": "TEXT", "tag": "TEXT", "description": "TEXT",
        "username": "TEXT", "workspaceDir": "TEXT", "later": {"deep": ["TEXT"]}});
    let state = json!({"context": {"messages": [{"role": "TEXT"}]}, "inferenceSessionId": "TEXT",
        "permissions": {"workspaceDir": "TEXT", "workingDir": "TEXT", "writeDirs": ["TEXT"], "readDirs": ["TEXT"], "more": "TEXT"},
        "tokens": {"provider": "TEXT", "model": "TEXT", "size": size}, "stats": {"p": {"m": size}}, "createdAt": "NUMBER",
        "updatedAt": "NUMBER", "lifecycle": "sleeping", "laterField": {"a": "TEXT"}});
    put(&dir, "descriptor.json", marks.fill(descriptor).to_string());
    put(&dir, "state.json", marks.fill(state).to_string());
    let file = json!({"id": "TEXT", "name": "TEXT", "mimeType": "TEXT", "size": "NUMBER", "path": "TEXT"});
    let records = [
        json!({"type": "start", "at": "NUMBER", "startReason": "TEXT"}),
        json!({"type": "user_message", "at": "NUMBER", "text": "TEXT", "files": [file], "timezone": "TEXT", "enrichments": ["TEXT"]}),
        json!({"type": "assistant_message", "at": "NUMBER", "content": [{"type": "text", "text": "TEXT"}], "tokens": {"model": "TEXT", "size": size}, "draftReference": "TEXT"}),
        json!({"type": "tool_result", "at": "NUMBER", "toolCallId": "TEXT", "output": {"toolMessage": {"role": "toolResult", "content": ["TEXT"]}, "typedResult": "TEXT"}}),
        json!({"type": "reset", "at": "NUMBER", "message": "TEXT", "resetReason": "TEXT"}),
        json!({"type": "of_tomorrow", "at": "NUMBER", "x": {"y": ["TEXT", "NUMBER"]}}),
    ];
    put(&dir, "history.jsonl", lines(&records.map(|record| marks.fill(record))));
    let report = import(&pn, "daycare", &pn.path("agents"));
    assert_eq!(report["agents_imported"], 1, "{report}");
    marks.check(&pn, &report);
}

#[test]
fn loopr_and_taskstore_account_for_every_field() {
    for from in ["loopr", "taskstore"] {
        let (pn, mut marks) = (crate::sandbox(), Marks::default());
        let dir = pn.path("l");
        let a_loop = json!({"id": "lp-1", "loop_type": "code", "parent_id": "TEXT", "input_artifact": "TEXT",
            "output_artifacts": ["TEXT"], "prompt_path": "TEXT", "validation_command": "TEXT", "max_iterations": 77_001,
            "worktree": "TEXT", "iteration": 77_002, "status": "paused", "progress": "TEXT", "context": {"a": ["TEXT"]},
            "created_at": "NUMBER", "updated_at": "NUMBER", "of_tomorrow": "TEXT"});
        let signal = json!({"id": "sg-1", "signal_type": "stop", "source_loop": "TEXT", "target_loop": "TEXT",
            "target_selector": "TEXT", "reason": "TEXT", "payload": {"p": "TEXT"}, "created_at": "NUMBER",
            "acknowledged_at": "NUMBER", "of_tomorrow": "TEXT"});
        let job = json!({"id": "job-1", "loop_id": "TEXT", "tool_name": "TEXT", "lane": "no-net", "command": "TEXT", "cwd": "TEXT",
            "status": "Success", "exit_code": 42, "output_bytes": "NUMBER", "was_timeout": false, "was_cancelled": false,
            "started_at": "NUMBER", "ended_at": "NUMBER", "duration_ms": "NUMBER", "of_tomorrow": "TEXT"});
        let event = json!({"id": "TEXT", "event_type": "TEXT", "loop_id": "TEXT", "tool_job_id": "TEXT", "payload": {"a": "TEXT"},
            "created_at": "NUMBER", "of_tomorrow": "TEXT"});
        for (name, record) in [("loops", a_loop), ("signals", signal), ("tool_jobs", job), ("events", event)] {
            put(&dir, &format!(".taskstore/{name}.jsonl"), lines(&[marks.fill(record)]));
        }
        if from == "loopr" {
            for name in [
                "loops/lp-1/iterations/001/prompt.md",
                "loops/lp-1/iterations/001/artifacts/deep/x.md",
                "loops/lp-1/stdout.log",
                "loops/lp-1/stderr.log",
                "archive/lp-0/iterations/001/conversation.jsonl",
            ] {
                put(&dir, name, marks.text(name).to_string());
            }
        }
        let report = import(&pn, from, &dir);
        assert_eq!(report["records"], 4, "{report}");
        marks.check(&pn, &report);
    }
}

/// A task in the form of prjct, with a unique id.
fn task(marks: &mut Marks, id: &str) -> Value {
    let step = json!({"id": "TEXT", "description": "TEXT", "domain": "TEXT", "agent": "TEXT", "status": "pending", "dependsOn": ["TEXT"],
        "output": "TEXT", "summary": {"title": "TEXT", "whatWasDone": ["TEXT"]}});
    let mut task =
        marks.fill(json!({"description": "TEXT", "parentDescription": "TEXT", "type": "feature", "branch": "TEXT",
        "linearId": "TEXT", "linearUuid": "TEXT", "sessionId": "TEXT", "startedAt": "TIME", "completedAt": "TIME",
        "pausedAt": "TIME", "pauseReason": "TEXT", "prUrl": "TEXT", "estimatedPoints": "NUMBER", "subtasks": [step],
        "currentSubtaskIndex": "NUMBER", "linkedSpecId": "TEXT", "outcome": "TEXT", "feedback": {"deep": ["TEXT"]}}));
    task["id"] = json!(id);
    task
}

#[test]
fn prjct_accounts_for_every_field_of_its_files() {
    let (pn, mut marks) = (crate::sandbox(), Marks::default());
    let dir = pn.path("p");
    let state = json!({"currentTask": task(&mut marks, "t1"), "activeTasks": [task(&mut marks, "t2")],
        "pausedTasks": [task(&mut marks, "t3")], "previousTask": task(&mut marks, "t4"), "taskHistory": [task(&mut marks, "t5")],
        "mood": marks.text("mood")});
    put(&dir, "storage/state.json", state.to_string());
    let queue = json!({"tasks": [{"id": "q1", "title": "TEXT", "description": "TEXT", "type": "bug", "priority": "TEXT", "section": "TEXT",
        "createdAt": "TIME", "completedAt": "TIME", "featureId": "TEXT", "agent": "TEXT", "groupName": "TEXT"}], "more": "TEXT"});
    let ideas = json!({"ideas": [{"id": "i1", "text": "TEXT", "details": "TEXT", "priority": "low", "status": "TEXT", "tags": ["TEXT"],
        "addedAt": "TIME", "convertedTo": "TEXT", "painPoints": ["TEXT"]}], "more": "TEXT"});
    let shipped = json!({"shipped": [{"id": "s1", "name": "TEXT", "version": "1.0.0", "type": "fix", "description": "TEXT", "shippedAt": "TIME",
        "changes": [{"description": "TEXT"}], "agent": "TEXT", "taskIds": ["TEXT"], "commit": {"hash": "TEXT"}}], "more": "TEXT"});
    let learned = json!({"taskId": "TEXT", "linearId": "TEXT", "timestamp": "TIME", "learnings": {"patterns": ["TEXT"], "approaches": ["TEXT"],
        "decisions": ["TEXT"], "gotchas": ["TEXT"], "others": ["TEXT"]}, "value": {"type": "TEXT", "impact": "high", "description": "TEXT", "x": "TEXT"},
        "filesChanged": ["TEXT"], "tags": ["TEXT"], "more": "TEXT"});
    let events = [
        json!({"type": "TEXT", "timestamp": "TIME", "data": {"taskId": "t1", "title": "TEXT"}}),
        json!({"ts": "TIME", "action": "TEXT", "projectId": "TEXT"}),
    ];
    let skills = json!({"projectId": "TEXT", "skills": [{"name": "TEXT", "linkedAgents": ["TEXT"], "path": "TEXT"}],
        "agentSkillMap": {"a.md": "TEXT", "b.md": ["TEXT"]}});
    let documents = ["storage/roadmap.json", "storage/metrics.json", "sync/last-sync.json", "project.json"];
    for (name, value) in [
        ("storage/queue.json", queue),
        ("storage/ideas.json", ideas),
        ("storage/shipped.json", shipped),
        ("memory/learnings.jsonl", learned),
        ("config/skills.json", skills),
        ("sync/pending.json", json!([{"type": "TEXT", "data": {"a": "TEXT"}}])),
    ] {
        put(&dir, name, format!("{}\n", marks.fill(value)));
    }
    put(&dir, "memory/events.jsonl", lines(&events.map(|event| marks.fill(event))));
    put(&dir, "memory/context.jsonl", lines(&[marks.fill(json!({"action": "TEXT", "author": {"name": "TEXT"}}))]));
    for name in documents {
        put(&dir, name, marks.fill(json!({"a": {"b": ["TEXT", "NUMBER"]}})).to_string());
    }
    let report = import(&pn, "prjct", &dir);
    assert_eq!((&report["skipped"], &report["not_understood"]), (&json!([]), &json!([])), "{report}");
    marks.check(&pn, &report);
}

#[test]
fn prjct_accounts_for_every_column_of_its_database() {
    let (pn, mut marks) = (crate::sandbox(), Marks::default());
    let dir = pn.path("p");
    fs::create_dir_all(&dir).expect("made");
    let connection = Connection::open(dir.join("prjct.db")).expect("opens");
    // Each column gets a mark unless a value follows its name.
    for (table, columns) in [
        ("_migrations", "version=37 name=x applied_at=x"),
        (
            "tasks",
            "id=t1 description type=bug status=active parent_description branch linear_id linear_uuid session_id feature_id \
            started_at:t completed_at:t paused_at:t pause_reason pr_url expected_value data tokens_in:n tokens_out:n linked_spec_id later",
        ),
        (
            "subtasks",
            "id task_id=t1 description status=pending domain agent sort_order:n depends_on started_at:t output summary",
        ),
        (
            "queue_tasks",
            "id=q1 description body type=bug priority section created_at:t completed=0 feature_id feature_name later",
        ),
        ("queue_task_comments", "id task_id=q1 author content created_at:t updated_at:t later"),
        ("ideas", "id=i1 text status priority=low tags added_at:t converted_to details data"),
        ("shipped_features", "id=s1 name shipped_at:t version=1.0.0 description type=fix duration data"),
        ("events", "id:n type task_id=t1 data timestamp:t later"),
        ("memory", "key domain value confidence:n updated_at:t"),
        (
            "memories",
            "id title content tags topic_key content_hash revision_count:n confidence created_at:t updated_at:t session_id provenance",
        ),
        (
            "memory_entries",
            "id=me1 type title content file subject provenance confidence:n topic_key revision_count:n created_at:n updated_at:n",
        ),
        ("memory_entry_tags", "entry_id=me1 key value"),
        ("memory_links", "from_entry_id=me1 to_entry_id relation"),
        ("specs", "id=sp1 title status content tags created_at:t shipped_pr:n"),
        ("spec_acceptance_criterion", "id spec_id=sp1 text met:n"),
        ("spec_risk", "id spec_id risk mitigation"),
        (
            "agent_sessions",
            "id=as1 project_id directory task_id goal started_at:t ended_at:t summary files_touched created_at:t",
        ),
        ("user_prompts", "id project_id session_id=as1 content created_at:t"),
        ("agent_runs", "id=ar1 runtime model_id cli_version role turns:n started_at:n ended_at:n"),
        (
            "token_usage",
            "id agent_run_id=ar1 event_key source input_tokens:n output_tokens:n cache_read_tokens:n cache_write_tokens:n model_id measured_at:n",
        ),
        ("agent_artifact", "agent_run_id=ar1 path op count:n"),
        ("sync_pending", "id:n project_id payload enqueued_at:t"),
        ("workflow_rules", "id:n command action"),
        ("of_tomorrow", "id anything"),
        ("kv_store", "key=roadmap data updated_at=x"),
    ] {
        let mut names = Vec::new();
        let mut values: Vec<Value> = Vec::new();
        for column in columns.split_whitespace() {
            let (name, value) = match (column.split_once('='), column.split_once(':')) {
                (Some((name, value)), _) => (name, json!(value)),
                (_, Some((name, "n"))) => (name, marks.number(name)),
                (_, Some((name, _))) => (name, marks.time(name)),
                _ => (column, marks.text(column)),
            };
            names.push(name);
            values.push(value);
        }
        connection.execute_batch(&format!("CREATE TABLE {table} ({})", names.join(", "))).expect("a table");
        let places: Vec<String> = (1..=names.len()).map(|at| format!("?{at}")).collect();
        let texts: Vec<Box<dyn rusqlite::ToSql>> = values
            .into_iter()
            .map(|value| match value {
                Value::Number(number) => Box::new(number.as_i64()) as Box<dyn rusqlite::ToSql>,
                value => Box::new(value.as_str().map(str::to_owned)) as Box<dyn rusqlite::ToSql>,
            })
            .collect();
        let texts: Vec<&dyn rusqlite::ToSql> = texts.iter().map(AsRef::as_ref).collect();
        connection.execute(&format!("INSERT INTO {table} VALUES ({})", places.join(", ")), &texts[..]).expect("a row");
    }
    drop(connection);
    let report = import(&pn, "prjct", &dir);
    assert_eq!((&report["skipped"], &report["not_understood"]), (&json!([]), &json!([])), "{report}");
    assert_eq!((&report["imported"]["tasks"], &report["imported"]["comments"]), (&json!(1), &json!(1)), "{report}");
    marks.check(&pn, &report);
}

#[test]
fn an_import_of_files_accounts_for_every_field() {
    let (pn, mut marks) = (crate::sandbox(), Marks::default());
    let issue = |id: &str, more: Value| {
        let mut issue = json!({"id": id, "issue_type": "task", "status": "in_progress", "priority": "p2"});
        issue.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        issue
    };
    let more = json!({"title": "TEXT", "description": "TEXT", "spec": "TEXT", "assignee": "TEXT", "created_at": "TIME", "updated_at": "TIME", "later": {"a": "TEXT"}});
    let closed = json!({"title": "TEXT", "status": "closed", "created_at": "TIME", "updated_at": "TIME", "closed_at": "TIME", "close_reason": "TEXT"});
    let issues = [issue("pn-a1", marks.fill(more)), issue("pn-a2", marks.fill(closed))];
    for (name, records) in [
        ("issues", issues.to_vec()),
        ("deps", vec![json!({"issue_id": "pn-a1", "depends_on_id": "pn-a2", "later": "TEXT"})]),
        (
            "comments",
            vec![
                json!({"id": "cm-1", "issue_id": "pn-a1", "actor": "TEXT", "text": "TEXT", "created_at": "TIME", "later": "TEXT"}),
            ],
        ),
        (
            "releases",
            vec![
                json!({"id": "rl-1", "name": "TEXT", "version": "1.0", "kind": "bug", "issues": ["pn-a2"], "notes": "TEXT", "actor": "TEXT", "shipped_at": "TIME", "later": "TEXT"}),
            ],
        ),
        (
            "learnings",
            vec![
                json!({"id": "ln-1", "kind": "gotcha", "text": "TEXT", "tags": ["TEXT"], "files": ["TEXT"], "linear_id": "TEXT", "actor": "TEXT", "created_at": "TIME", "updated_at": "TIME", "verified_at": "TIME", "later": "TEXT"}),
            ],
        ),
    ] {
        let records: Vec<Value> = records.into_iter().map(|record| marks.fill(record)).collect();
        put(&pn.store(), &format!("{name}.jsonl"), lines(&records));
    }
    let report = pn.pn(["import"]).ok_json();
    assert_eq!((&report["issues"], &report["learnings"]), (&json!(2), &json!(1)), "{report}");
    marks.check(&pn, &report);
}

#[test]
fn beads_accounts_for_every_field() {
    let (pn, mut marks) = (crate::sandbox(), Marks::default());
    let record = r#"{"id": "bd-1", "title": "TEXT", "description": "TEXT", "design": "TEXT", "acceptance_criteria": "TEXT",
        "notes": "TEXT", "spec_id": "TEXT", "status": "TEXT", "issue_type": "TEXT", "assignee": "TEXT", "owner": "TEXT",
        "created_at": "TIME", "created_by": "TEXT", "updated_at": "TIME", "started_at": "TIME", "closed_at": "TIME",
        "close_reason": "TEXT", "closed_by_session": "TEXT", "due_at": "TIME", "defer_until": "TIME", "external_ref": "TEXT",
        "source_system": "TEXT", "metadata": {"a": ["TEXT", {"b": "NUMBER"}]}, "lease_expires_at": "TIME", "labels": ["TEXT"],
        "comments": [{"id": "TEXT", "issue_id": "bd-1", "author": "TEXT", "text": "TEXT", "created_at": "TIME", "more": "TEXT"}],
        "dependencies": [{"issue_id": "bd-1", "depends_on_id": "bd-2", "type": "TEXT", "created_by": "TEXT", "metadata": "TEXT", "thread_id": "TEXT"}],
        "sender": "TEXT", "bonded_from": ["TEXT"], "waiters": ["TEXT"], "payload": "TEXT", "agent_context": {"x": "TEXT"},
        "dependency_count": "NUMBER", "comment_count": "NUMBER", "of_tomorrow": {"deep": ["TEXT"]}}"#;
    let other = json!({"id": "bd-2", "title": "t", "status": "tombstone", "delete_reason": "TEXT"});
    let memory = json!({"_type": "memory", "key": "TEXT", "value": "TEXT", "of_tomorrow": "TEXT"});
    let records = [serde_json::from_str(record).expect("JSON"), other, memory].map(|record| marks.fill(record));
    put(&pn.path("b"), "issues.jsonl", lines(&records));
    let report = import(&pn, "beads", &pn.path("b"));
    assert_eq!(report["created"], 2, "{report}");
    marks.check(&pn, &report);
}
