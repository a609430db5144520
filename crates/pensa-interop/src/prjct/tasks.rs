//! What is being done, waits in the queue, or is only an idea: `state.json`, `queue.json` and `ideas.json`.

use std::collections::HashMap;

use pensa_core::id::IssueId;
use pensa_core::issue::{IssueType, Priority};
use pensa_core::ops::import::{GivenIssue, GivenWork, Origin};
use pensa_core::work::{MAX_STEPS, Step, StepStatus, WorkKind, WorkStatus};
use pensa_core::{Span, Timestamp};
use serde_json::{Value, json};

use super::fields::{self, Fields};
use super::{Kind, Reading};

/// All issues of a project. Where an id stands more than once, the first is it, and the others are kept with it.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    pub(super) issues: Vec<(Kind, GivenIssue)>,
    by_id: HashMap<IssueId, usize>,
}

impl Shelf {
    fn put(&mut self, kind: Kind, raw: Fields, issue: GivenIssue) {
        if let Some(at) = self.by_id.get(&issue.id) {
            let first = &mut self.issues[*at].1.origin;
            if first.hash != issue.origin.hash {
                first.also.push(Fields::from_iter([
                    ("file".to_owned(), json!(issue.origin.file)),
                    ("record".to_owned(), Value::Object(raw)),
                ]));
            }
            return;
        }
        self.by_id.insert(issue.id.clone(), self.issues.len());
        self.issues.push((kind, issue));
    }

    pub(super) fn has(&self, id: &IssueId) -> bool {
        self.by_id.contains_key(id)
    }
}

impl Reading {
    /// Either the one task of the documented form, or what the tool wrote: what is done now, what was paused, what was done.
    pub(super) fn state(&mut self, file: &str, mut document: Fields) {
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

    /// A row of the table of tasks, which says itself where it stands.
    pub(super) fn task_row(&mut self, file: &str, what: &str, row: Fields) {
        let is_over = ["completedAt", "shippedAt"].iter().any(|name| row.contains_key(*name));
        let status = if is_over { WorkStatus::Done } else { WorkStatus::Paused };
        self.task(file, what, Value::Object(row), status);
    }

    fn task(&mut self, file: &str, what: &str, task: Value, status: WorkStatus) {
        let Some((raw, mut fields)) = self.record(file, None, what, task) else { return };
        // Only one thing is done at a time: what else the tool calls active is paused here.
        let is_listed = what.ends_with("activeTasks") || what.ends_with("pausedTasks");
        let status = match said_status(&mut fields) {
            Some(WorkStatus::Active) if is_listed => WorkStatus::Paused,
            said => said.unwrap_or(status),
        };
        let kind = fields::kind(&mut fields, &["type", "classification", "kind"]).unwrap_or(WorkKind::Feature);
        let (title, description) = texts(&mut fields, &["title", "parentDescription", "description", "name"]);
        let branch = fields::line(&mut fields, &["branch", "branchName"]);
        let steps = steps(&fields);
        let started_at = fields::time(&mut fields, &["startedAt", "createdAt"]);
        let created_at = fields::time(&mut fields, &["createdAt"]).or(started_at);
        // A time that says nothing of where it stands now stays with the rest.
        let is_done = status == WorkStatus::Done;
        let done_at = if is_done { fields::time(&mut fields, &["completedAt", "shippedAt"]) } else { None };
        let updated_at = fields::time(&mut fields, &["updatedAt", "pausedAt"]).or(done_at);
        let close_reason = if status == WorkStatus::Done { fields::text(&mut fields, &["outcome"]) } else { None };
        let issue = GivenIssue {
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
            work: Some(GivenWork { kind, status, branch, steps, started_at }),
            origin: origin(file, &raw, fields),
        };
        self.shelf.put(Kind::Tasks, raw, issue);
    }

    pub(super) fn queue(&mut self, file: &str, document: Value, written_at: Option<Timestamp>) {
        let Some((tasks, written_at)) = self.listed(file, document, &["tasks", "queue"], written_at) else { return };
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
            let issue = GivenIssue {
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
        keep_order(&mut queued, written_at);
        for (raw, issue) in queued {
            self.shelf.put(Kind::Queue, raw, issue);
        }
    }

    pub(super) fn ideas(&mut self, file: &str, document: Value, written_at: Option<Timestamp>) {
        let Some((ideas, written_at)) = self.listed(file, document, &["ideas"], written_at) else { return };
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
            let issue = GivenIssue {
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
            self.shelf.put(Kind::Ideas, raw, issue);
        }
    }
}

pub(super) fn origin(file: &str, raw: &Fields, mut rest: Fields) -> Origin {
    rest.retain(|_, value| !value.is_null());
    Origin { file: file.to_owned(), hash: format!("{:016x}", fields::hash(raw)), fields: rest, also: Vec::new() }
}

/// Title and description. A second text under another of the names is the description, if the first leaves room for it.
fn texts(fields: &mut Fields, names: &[&str]) -> (String, Option<String>) {
    let Some(first) = fields::text(fields, names) else { return ("untitled".to_owned(), None) };
    let (title, more) = fields::headline(&first);
    let description = match more {
        None => fields::text(fields, &["description"]).filter(|second| second.trim() != title),
        more => more,
    };
    (title, description)
}

/// The id that a record has, or one that follows from what it says, so that it is the same when it is read again.
fn issue_id(fields: &mut Fields, names: &[&str], rest: &[&str]) -> IssueId {
    fields::id(fields, names).unwrap_or_else(|| IssueId::from_hash(fields::hash(rest)))
}

/// Where a task stands, if it says so in a word that is known.
fn said_status(fields: &mut Fields) -> Option<WorkStatus> {
    let status = match fields.get("status")?.as_str()? {
        "active" | "in_progress" => WorkStatus::Active,
        "paused" => WorkStatus::Paused,
        "done" | "completed" | "shipped" => WorkStatus::Done,
        _ => return None,
    };
    fields.shift_remove("status");
    Some(status)
}

fn is_over(fields: &Fields) -> bool {
    matches!(fields.get("status").and_then(Value::as_str), Some("done" | "completed"))
}

/// The steps of a task, without what a step has no place for: the whole of them stays with the task.
fn steps(fields: &Fields) -> Vec<Step> {
    let (list, all_done) = match (fields.get("subtasks"), fields.get("subtaskSummaries")) {
        (Some(Value::Array(list)), _) => (list, false),
        (_, Some(Value::Array(list))) => (list, true),
        _ => return Vec::new(),
    };
    let step = |(at, given): (usize, &Value)| {
        let title = match given {
            Value::Object(object) => fields::text(&mut object.clone(), &["title", "description", "name"]),
            Value::String(text) => fields::text(&mut Fields::from_iter([("t".to_owned(), json!(text))]), &["t"]),
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

/// The queue is in the order of its sections and lines. Here issues of one priority come in the order in which they were
/// made, so one that seems older than the one before it gets the next millisecond, and keeps its own time with it.
fn keep_order(queued: &mut [(Fields, GivenIssue)], written_at: Option<Timestamp>) {
    let section = |raw: &Fields| match raw.get("section").and_then(Value::as_str) {
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
