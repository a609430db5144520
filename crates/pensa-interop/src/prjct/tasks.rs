//! Reads issues: tasks from `state.json`, queued tasks from `queue.json`, ideas from `ideas.json`.

use std::collections::HashMap;

use pensa_core::id::IssueId;
use pensa_core::issue::{IssueType, Priority};
use pensa_core::ops::import::{ImportIssue, ImportOrigin, ImportWork};
use pensa_core::work::{MAX_STEPS, Step, StepStatus, WorkKind, WorkStatus};
use pensa_core::{Span, Timestamp};
use serde_json::{Value, json};

use super::fields::{self, JsonFields};
use super::{ProjectReader, RecordKind};

/// The issues of a project. If an id occurs several times, the first is the issue and the others are stored with it.
#[derive(Debug, Default)]
pub(super) struct IssueSet {
    pub(super) issues: Vec<(RecordKind, ImportIssue)>,
    by_id: HashMap<IssueId, usize>,
}

impl IssueSet {
    fn insert(&mut self, kind: RecordKind, raw: JsonFields, issue: ImportIssue) {
        if let Some(at) = self.by_id.get(&issue.id) {
            let first = &mut self.issues[*at].1.origin;
            if first.hash != issue.origin.hash {
                first.also.push(JsonFields::from_iter([
                    ("file".to_owned(), json!(issue.origin.file)),
                    ("record".to_owned(), Value::Object(raw)),
                ]));
            }
            return;
        }
        self.by_id.insert(issue.id.clone(), self.issues.len());
        self.issues.push((kind, issue));
    }

    pub(super) fn contains(&self, id: &IssueId) -> bool {
        self.by_id.contains_key(id)
    }
}

impl ProjectReader {
    /// Reads the single task of the documented form, or the lists of current, paused and completed tasks that the tool
    /// wrote.
    pub(super) fn state(&mut self, file: &str, mut document: JsonFields) {
        for (name, status) in [
            ("task", WorkStatus::Active),
            ("currentTask", WorkStatus::Active),
            ("activeTasks", WorkStatus::Paused),
            ("pausedTasks", WorkStatus::Paused),
            ("previousTask", WorkStatus::Paused),
            ("taskHistory", WorkStatus::Done),
        ] {
            match document.shift_remove(name) {
                None | Some(Value::Null) => {}
                Some(Value::Array(tasks)) => {
                    for (at, task) in tasks.into_iter().enumerate() {
                        self.task(file, &format!("entry {} of {name}", at + 1), task, status);
                    }
                }
                Some(task) => self.task(file, name, task, status),
            }
        }
        self.leftover(file, document);
    }

    /// Reads a row of the table `tasks`, which has its own status.
    pub(super) fn task_row(&mut self, file: &str, what: &str, row: JsonFields) {
        let is_over = ["completedAt", "shippedAt"].iter().any(|name| row.contains_key(*name));
        let status = if is_over { WorkStatus::Done } else { WorkStatus::Paused };
        self.task(file, what, Value::Object(row), status);
    }

    fn task(&mut self, file: &str, what: &str, task: Value, status: WorkStatus) {
        let Some((raw, mut fields)) = self.record(file, None, what, task) else { return };
        // A store has one active work item per actor, so other active tasks are imported as paused.
        let is_listed = what.ends_with("activeTasks") || what.ends_with("pausedTasks");
        let status = match take_status(&mut fields) {
            Some(WorkStatus::Active) if is_listed => WorkStatus::Paused,
            own => own.unwrap_or(status),
        };
        let kind = fields::kind(&mut fields, &["type", "classification", "kind"]).unwrap_or(WorkKind::Feature);
        let (title, description) = texts(&mut fields, &["title", "parentDescription", "description", "name"]);
        let branch = fields::line(&mut fields, &["branch", "branchName"]);
        let steps = steps(&fields);
        let started_at = fields::time(&mut fields, &["startedAt", "createdAt"]);
        let created_at = fields::time(&mut fields, &["createdAt"]).or(started_at);
        // A completion time of an open task stays with the other fields.
        let is_done = status == WorkStatus::Done;
        let done_at = if is_done { fields::time(&mut fields, &["completedAt", "shippedAt"]) } else { None };
        let updated_at = fields::time(&mut fields, &["updatedAt", "pausedAt"]).or(done_at);
        let close_reason = if status == WorkStatus::Done { fields::text(&mut fields, &["outcome"]) } else { None };
        let issue = ImportIssue {
            id: issue_id(&mut fields, &["id", "taskId"], &["task", &title]),
            title,
            description,
            issue_type: match kind {
                WorkKind::Bug => IssueType::Bug,
                WorkKind::Chore => IssueType::Chore,
                _ => IssueType::Task,
            },
            priority: fields::priority(&mut fields).unwrap_or_default(),
            closed: status == WorkStatus::Done,
            close_reason,
            created_at,
            updated_at,
            closed_at: if status == WorkStatus::Done { done_at.or(updated_at) } else { None },
            spec: fields::line(&mut fields, &["linkedSpecId"]),
            work: Some(ImportWork { kind, status, branch, steps, started_at }),
            origin: origin(file, &raw, fields),
        };
        self.issues.insert(RecordKind::Tasks, raw, issue);
    }

    pub(super) fn queue(&mut self, file: &str, document: Value, written_at: Option<Timestamp>) {
        let Some((tasks, written_at)) = self.list_entries(file, document, &["tasks", "queue"], written_at) else {
            return;
        };
        let mut queued = Vec::new();
        for (what, task) in tasks {
            let Some((raw, mut fields)) = self.record(file, None, &what, task) else { continue };
            let (title, description) = texts(&mut fields, &["title", "description", "name"]);
            let issue_type = match fields.get("type").and_then(Value::as_str) {
                Some("bug") => Some(IssueType::Bug),
                Some("chore") => Some(IssueType::Chore),
                _ => None,
            };
            if issue_type.is_some() {
                fields.shift_remove("type");
            }
            let closed = fields.get("completed") == Some(&json!(true)) || is_over(&fields);
            if fields.get("completed").is_some_and(Value::is_boolean) {
                fields.shift_remove("completed");
            }
            let created_at = fields::time(&mut fields, &["createdAt", "addedAt"]);
            let closed_at = if closed { fields::time(&mut fields, &["completedAt"]) } else { None };
            let issue = ImportIssue {
                id: issue_id(&mut fields, &["id", "taskId"], &["queue", &title]),
                title,
                description,
                issue_type: issue_type.unwrap_or(IssueType::Task),
                priority: fields::priority(&mut fields).unwrap_or_default(),
                closed,
                close_reason: None,
                created_at,
                updated_at: fields::time(&mut fields, &["updatedAt"]).or(closed_at),
                closed_at,
                spec: None,
                work: None,
                origin: origin(file, &raw, fields),
            };
            queued.push((raw, issue));
        }
        preserve_order(&mut queued, written_at);
        for (raw, issue) in queued {
            self.issues.insert(RecordKind::Queue, raw, issue);
        }
    }

    pub(super) fn ideas(&mut self, file: &str, document: Value, written_at: Option<Timestamp>) {
        let Some((ideas, written_at)) = self.list_entries(file, document, &["ideas"], written_at) else { return };
        for (what, idea) in ideas {
            let idea = if idea.is_string() { json!({"text": idea}) } else { idea };
            let Some((raw, mut fields)) = self.record(file, None, &what, idea) else { continue };
            let (title, mut description) = texts(&mut fields, &["text", "title", "description", "name"]);
            if let Some(details) = fields::text(&mut fields, &["details"]) {
                description = Some(description.map_or(details.clone(), |more| format!("{more}\n\n{details}")));
            }
            let status = fields.get("status").and_then(Value::as_str).unwrap_or_default();
            let close_reason = match status {
                "converted" => Some(match fields.get("convertedTo").and_then(Value::as_str) {
                    Some(what) => format!("converted to {}", fields::first_line(what)),
                    None => "converted".to_owned(),
                }),
                "completed" | "archived" => Some(status.to_owned()),
                _ => None,
            };
            let is_over = close_reason.is_some();
            let closed_at = if is_over { fields::time(&mut fields, &["completedAt"]) } else { None };
            let issue = ImportIssue {
                id: issue_id(&mut fields, &["id"], &["idea", &title]),
                title,
                description,
                issue_type: IssueType::Task,
                priority: fields::priority(&mut fields).unwrap_or_default(),
                closed: is_over,
                closed_at,
                close_reason,
                created_at: fields::time(&mut fields, &["addedAt", "createdAt"]).or(written_at),
                updated_at: fields::time(&mut fields, &["updatedAt"]).or(closed_at),
                spec: None,
                work: None,
                origin: origin(file, &raw, fields),
            };
            self.issues.insert(RecordKind::Ideas, raw, issue);
        }
    }
}

pub(super) fn origin(file: &str, raw: &JsonFields, mut rest: JsonFields) -> ImportOrigin {
    rest.retain(|_, value| !value.is_null());
    ImportOrigin { file: file.to_owned(), hash: format!("{:016x}", fields::hash(raw)), fields: rest, also: Vec::new() }
}

/// Takes title and description. If the first text is only a title, the field `description` is the description.
fn texts(fields: &mut JsonFields, names: &[&str]) -> (String, Option<String>) {
    let Some(first) = fields::text(fields, names) else { return ("untitled".to_owned(), None) };
    let (title, more) = fields::headline(&first);
    let description = match more {
        None => fields::text(fields, &["description"]).filter(|second| second.trim() != title),
        more => more,
    };
    (title, description)
}

/// Takes the id, or derives one from the content, so that reading the record again gives the same id.
fn issue_id(fields: &mut JsonFields, names: &[&str], rest: &[&str]) -> IssueId {
    fields::id(fields, names).unwrap_or_else(|| IssueId::from_hash(fields::hash(rest)))
}

/// Takes the status, if it is a known word.
fn take_status(fields: &mut JsonFields) -> Option<WorkStatus> {
    let status = match fields.get("status")?.as_str()? {
        "active" | "in_progress" => WorkStatus::Active,
        "paused" => WorkStatus::Paused,
        "done" | "completed" | "shipped" => WorkStatus::Done,
        _ => return None,
    };
    fields.shift_remove("status");
    Some(status)
}

fn is_over(fields: &JsonFields) -> bool {
    matches!(fields.get("status").and_then(Value::as_str), Some("done" | "completed"))
}

/// The steps of a task. The original list stays with the task, because steps cannot store all of its fields.
fn steps(fields: &JsonFields) -> Vec<Step> {
    let (list, all_done) = match (fields.get("subtasks"), fields.get("subtaskSummaries")) {
        (Some(Value::Array(list)), _) => (list, false),
        (_, Some(Value::Array(list))) => (list, true),
        _ => return Vec::new(),
    };
    let step = |(at, given): (usize, &Value)| {
        let title = match given {
            Value::Object(object) => fields::text(&mut object.clone(), &["title", "description", "name"]),
            Value::String(text) => fields::text(&mut JsonFields::from_iter([("t".to_owned(), json!(text))]), &["t"]),
            _ => None,
        };
        let is_done = all_done
            || given["completed"] == json!(true)
            || matches!(given["status"].as_str(), Some("done" | "completed" | "skipped"));
        Step {
            title: title.map_or_else(|| format!("step {}", at + 1), |title| fields::title(&title)),
            status: if is_done { StepStatus::Done } else { StepStatus::Pending },
        }
    };
    list.iter().enumerate().take(MAX_STEPS).map(step).collect()
}

/// Preserves the order of the queue, which is that of its sections and entries. Pensa sorts issues of one priority by
/// creation time, so an issue older than the previous one gets the next millisecond; its own time stays in its fields.
fn preserve_order(queued: &mut [(JsonFields, ImportIssue)], written_at: Option<Timestamp>) {
    let section = |raw: &JsonFields| match raw.get("section").and_then(Value::as_str) {
        Some("active") => 0,
        Some("previously_active") => 1,
        _ => 2,
    };
    let mut order: Vec<usize> = (0..queued.len()).collect();
    order.sort_by_key(|at| section(&queued[*at].0));
    let mut last: HashMap<Priority, Timestamp> = HashMap::new();
    for at in order {
        let (raw, issue) = &mut queued[at];
        let next = last.get(&issue.priority).map(|last| last.plus(Span::from_millis(1)));
        let own = issue.created_at.or(written_at);
        issue.created_at = own.max(next);
        if let (Some(given), true) = (raw.get("createdAt"), issue.created_at > own) {
            issue.origin.fields.insert("createdAt".to_owned(), given.clone());
        }
        if let Some(at) = issue.created_at {
            last.insert(issue.priority, at);
        }
    }
}
