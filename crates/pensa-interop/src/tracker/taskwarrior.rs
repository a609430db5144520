//! Reads the tasks of Taskwarrior, as `task export` prints them.

use std::path::Path;

use pensa_core::Result;
use pensa_core::id::IssueId;
use pensa_core::issue::Status;
use pensa_core::ops::tracker::{Tracker, TrackerComment, TrackerIssue, TrackerItem};
use pensa_core::session::Object;
use pensa_core::time::Date;
use serde_json::Value;

use super::{ItemPlace, TrackerFile, clean, fields, list, words};

/// Fields that Taskwarrior computes.
const DERIVED: [&str; 2] = ["id", "urgency"];

/// Reads the output of `task export`.
pub fn read(path: &Path) -> Result<TrackerFile> {
    let mut file = TrackerFile::new(Tracker::Taskwarrior);
    for (place, element) in list::read(path, &["tasks"])? {
        match element {
            Ok(object) => read_task(&mut file, place, object),
            Err(reason) => file.skip(place, None, reason),
        }
    }
    Ok(file.finish())
}

/// An id from the first 48 bits of a task's uuid.
fn id(uuid: &str) -> Option<IssueId> {
    let digits: String = uuid.chars().filter(char::is_ascii_hexdigit).take(12).collect::<String>().to_ascii_lowercase();
    (digits.len() == 12).then(|| clean::id(&format!("tw-{digits}"))).flatten()
}

fn read_task(file: &mut TrackerFile, place: ItemPlace, mut object: Object) {
    let uuid = object.shift_remove("uuid").and_then(|uuid| uuid.as_str().map(str::to_owned)).unwrap_or_default();
    let Some(id) = id(&uuid) else { return file.skip(place, None, "has no uuid") };
    let text = |object: &mut Object, name: &str| {
        let text = fields::text(object, name);
        object.shift_remove(name);
        text
    };
    let title = text(&mut object, "description").as_deref().and_then(clean::line);
    let Some(title) = title else { return file.skip(place, Some(id.as_str()), "has no description") };
    let status = text(&mut object, "status").unwrap_or_else(|| "pending".to_owned());
    if status == "recurring" {
        return file.skip(place, Some(id.as_str()), "is the template of tasks that recur");
    }
    let mut time = |name: &str| {
        let at = fields::text(&object, name).as_deref().and_then(fields::moment);
        if at.is_some() {
            object.shift_remove(name);
        }
        at
    };
    let mut issue = TrackerIssue::new(id, uuid, title);
    issue.created_at = time("entry");
    issue.updated_at = time("modified");
    issue.due = time("due").map(Date::of);
    issue.defer = time("wait").or_else(|| time("scheduled")).map(Date::of);
    let (end, is_started) = (time("end"), object.contains_key("start"));
    issue.status = match status.as_str() {
        "completed" | "deleted" => Status::Closed,
        _ if is_started => Status::InProgress,
        _ => Status::Open,
    };
    if issue.status == Status::Closed {
        issue.closed_at = end;
        issue.close_reason = (status == "deleted").then(|| "deleted in taskwarrior".to_owned());
    }
    file.mapping.note("status", &status, issue.status);
    if let Some(word) = text(&mut object, "priority") {
        issue.priority = words::priority(&word).unwrap_or_default();
        file.mapping.note("priority", word, issue.priority);
    }
    issue.labels = clean::labels(fields::texts(&object, "tags"));
    if let Some(project) = text(&mut object, "project").as_deref().and_then(clean::label) {
        file.mapping.note("project", &project, format!("label project:{project}"));
        issue.labels.push(format!("project:{project}"));
        issue.labels.sort();
    }
    read_relations(&mut object, &mut issue);
    let comment = |given: &Object| {
        let text = fields::text(given, "description").as_deref().and_then(clean::block)?;
        let at = fields::text(given, "entry").as_deref().and_then(fields::moment);
        Some(TrackerComment { key: String::new(), author: None, text, at, raw: Object::new() })
    };
    issue.comments = fields::objects(&object, "annotations").filter_map(comment).collect();
    for name in ["tags", "annotations"] {
        object.shift_remove(name);
    }
    for name in DERIVED {
        if object.shift_remove(name).is_some() {
            file.drop_field(name);
        }
    }
    issue.raw = object;
    file.push(place, TrackerItem::Issue(Box::new(issue)));
}

/// Older versions write the tasks that one depends on as a text with commas.
fn read_relations(object: &mut Object, issue: &mut TrackerIssue) {
    let given = object.shift_remove("depends").unwrap_or_default();
    let uuids: Vec<&str> = match &given {
        Value::String(list) => list.split(',').collect(),
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    issue.deps = uuids.into_iter().filter_map(id).filter(|dep| *dep != issue.id).collect();
    issue.deps.sort();
    issue.deps.dedup();
}
