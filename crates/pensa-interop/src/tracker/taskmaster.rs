//! Reads the tasks of Taskmaster: `tasks.json`, with or without tags. Subtasks become children.

use std::path::Path;

use pensa_core::id::IssueId;
use pensa_core::issue::Status;
use pensa_core::ops::tracker::{Tracker, TrackerIssue, TrackerItem};
use pensa_core::session::Object;
use pensa_core::{Error, Result};
use serde_json::Value;

use super::{ItemPlace, TrackerFile, clean, fields, read_text, refuse_conflict_marks, words};
use crate::files;

/// The tag that tasks have unless another is chosen.
const MASTER: &str = "master";

/// Reads a file, or that of a project.
pub fn read(path: &Path) -> Result<TrackerFile> {
    let names = ["tasks.json", "tasks/tasks.json", ".taskmaster/tasks/tasks.json"];
    let inside = names.iter().map(|name| path.join(name)).find(|file| path.is_dir() && file.is_file());
    let path = inside.unwrap_or_else(|| path.to_owned());
    let text = read_text(&path)?;
    refuse_conflict_marks(&path, &text)?;
    let name = path.file_name().unwrap_or_default().display().to_string();
    let whole = files::object(text.as_bytes()).map_err(|e| Error::invalid(format!("{name} is not JSON: {e}")))?;
    let mut file = TrackerFile::new(Tracker::Taskmaster);
    match &whole {
        Value::Array(tasks) => read_tag(&mut file, MASTER, tasks),
        Value::Object(object) if object.get("tasks").is_some_and(Value::is_array) => {
            read_tag(&mut file, MASTER, list(object, "tasks"));
        }
        Value::Object(tags) => {
            for (tag, content) in tags {
                match content.as_object() {
                    Some(content) if content.get("tasks").is_some_and(Value::is_array) => {
                        read_tag(&mut file, tag, list(content, "tasks"));
                    }
                    _ => file.drop_field(tag),
                }
            }
        }
        _ => {}
    }
    if file.items.is_empty() && file.skipped.is_empty() && !whole.is_array() && !has_tasks(&whole) {
        return Err(Error::invalid(format!("{name} has no tasks")).hint("the file of Taskmaster is tasks.json"));
    }
    Ok(file.finish())
}

fn has_tasks(whole: &Value) -> bool {
    let has = |value: &Value| value.get("tasks").is_some_and(Value::is_array);
    has(whole) || whole.as_object().is_some_and(|tags| tags.values().any(has))
}

fn list<'a>(object: &'a Object, name: &str) -> &'a [Value] {
    object.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn read_tag(file: &mut TrackerFile, tag: &str, tasks: &[Value]) {
    for (at, task) in tasks.iter().enumerate() {
        let place = ItemPlace::line(at + 1);
        match task {
            Value::Object(task) => read_task(file, &place, tag, None, task),
            _ => file.skip(place, None, "is not an object"),
        }
    }
}

/// The id of a task, here and there: `tm-5`, of another tag `tm-TAG-5`.
fn id(tag: &str, key: &str) -> Option<IssueId> {
    match tag {
        MASTER => clean::id(&format!("tm-{key}")),
        _ => clean::id(&format!("tm-{tag}-{key}")),
    }
}

fn read_task(file: &mut TrackerFile, place: &ItemPlace, tag: &str, parent: Option<&str>, task: &Object) {
    let number = fields::text(task, "id").map(|number| number.trim().to_owned());
    let Some(number) = number else { return file.skip(place.clone(), None, "has no id") };
    // Some versions write the ids of subtasks with that of their task.
    let key = match parent {
        Some(parent) if !number.starts_with(&format!("{parent}.")) => format!("{parent}.{number}"),
        _ => number,
    };
    let Some(id) = id(tag, &key) else { return file.skip(place.clone(), Some(&key), "has no usable id") };
    let Some(title) = fields::text(task, "title").as_deref().and_then(clean::line) else {
        return file.skip(place.clone(), Some(id.as_str()), "has no title");
    };
    let mut issue = TrackerIssue::new(id.clone(), format!("{tag}/{key}"), title);
    let section = |heading: &str, name: &str| {
        let text = fields::text(task, name).as_deref().and_then(clean::block)?;
        Some(if heading.is_empty() { text } else { format!("## {heading}\n\n{text}") })
    };
    let sections =
        [section("", "description"), section("Details", "details"), section("Test strategy", "testStrategy")];
    let sections: Vec<String> = sections.into_iter().flatten().collect();
    issue.description = (!sections.is_empty()).then(|| sections.join("\n\n"));
    let word = fields::text(task, "status").unwrap_or_else(|| "pending".to_owned());
    issue.status = words::status(&word);
    if issue.status == Status::Closed {
        issue.close_reason = words::close_reason(&word);
    }
    file.mapping.note("status", &word, issue.status);
    if let Some(word) = fields::text(task, "priority") {
        issue.priority = words::priority(&word).unwrap_or_default();
        file.mapping.note("priority", word, issue.priority);
    }
    issue.assignee = fields::text(task, "assignee").as_deref().and_then(clean::short_line);
    issue.updated_at = fields::time(task, "updatedAt");
    issue.parent = parent.and_then(|parent| self::id(tag, parent));
    if tag != MASTER {
        issue.labels = clean::labels([tag]);
    }
    let deps = list(task, "dependencies").iter().filter_map(|dep| dependency(tag, parent, dep));
    issue.deps = deps.filter(|dep| *dep != id).collect();
    issue.deps.sort();
    issue.deps.dedup();
    issue.raw = rest(task);
    if !matches!(word.as_str(), "pending" | "in-progress" | "done") {
        issue.raw.insert("status".to_owned(), word.into());
    }
    file.push(place.clone(), TrackerItem::Issue(Box::new(issue)));
    for subtask in list(task, "subtasks") {
        match subtask {
            // Subtasks have no subtasks of their own, but a file may say so.
            Value::Object(subtask) if key.matches('.').count() < 20 => read_task(file, place, tag, Some(&key), subtask),
            _ => file.skip(place.clone(), Some(&key), "has a subtask that is not an object"),
        }
    }
}

/// A task that another depends on: a number means a task, among subtasks a sibling; `5.2` means a subtask.
fn dependency(tag: &str, parent: Option<&str>, given: &Value) -> Option<IssueId> {
    match (given, parent) {
        (Value::Number(number), Some(parent)) if number.is_u64() => id(tag, &format!("{parent}.{number}")),
        (Value::Number(number), _) => id(tag, &number.to_string()),
        (Value::String(text), Some(parent)) if text.trim().bytes().all(|byte| byte.is_ascii_digit()) => {
            id(tag, &format!("{parent}.{}", text.trim()))
        }
        (Value::String(text), _) => id(tag, text.trim()),
        _ => None,
    }
}

/// The fields that have no place.
fn rest(task: &Object) -> Object {
    const PLACED: [&str; 12] = [
        "id",
        "title",
        "description",
        "details",
        "testStrategy",
        "status",
        "priority",
        "assignee",
        "updatedAt",
        "dependencies",
        "subtasks",
        "parentTaskId",
    ];
    let rest = task.iter().filter(|(name, value)| !PLACED.contains(&name.as_str()) && !fields::is_empty(value));
    rest.map(|(name, value)| (name.clone(), value.clone())).collect()
}
