//! Reads and writes the issues of beads (bd, br): JSONL with one issue, or one memory, in a line. [`beads_db`] reads the same
//! from the database of br.
//!
//! Fields without a place here, and those that we would write in another way, stay with the issue as they were. When it is
//! written, a field is as it was there, unless it has changed here since.

use std::io::Read;
use std::path::{Path, PathBuf};

use pensa_core::id::{self, IssueId};
use pensa_core::issue::{Criterion, IssueType, Link, LinkKind, Priority, Status};
use pensa_core::ops::tracker::{Tracker, TrackerComment, TrackerIssue, TrackerItem, TrackerMemory, TrackerTombstone};
use pensa_core::session::Object;
use pensa_core::similar::hash64;
use pensa_core::time::Date;
use pensa_core::{Error, Result};
use serde_json::{Value, json};

use super::{ItemPlace, TrackerFile, WordMapping, beads_db, clean, fields, read_text, refuse_conflict_marks};
use crate::files;

/// Fields that are computed from others.
const DERIVED: [&str; 3] = ["dependency_count", "dependent_count", "comment_count"];
/// The status of a deleted issue.
const TOMBSTONE: &str = "tombstone";
/// The files of a directory that may have the issues, in the order of preference.
const FILES: [&str; 4] = ["issues.jsonl", "beads.jsonl", "beads.db", "issues.db"];

/// Reads a JSONL file or a database, or that of a `.beads` directory or the directory that has one.
pub fn read(path: &Path) -> Result<TrackerFile> {
    let path = file_of(path)?;
    let mut file = TrackerFile::new(Tracker::Beads);
    if is_database(&path) {
        for object in beads_db::read(&path, &mut file)? {
            read_object(&mut file, ItemPlace::default(), object);
        }
        return Ok(file.finish());
    }
    let text = read_text(&path)?;
    refuse_conflict_marks(&path, &text)?;
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        read_line(&mut file, ItemPlace::line(at + 1), line);
    }
    Ok(file.finish())
}

/// Whether a file is the SQLite database of br.
fn is_database(path: &Path) -> bool {
    let mut start = Vec::new();
    let file = files::open(path).ok().flatten();
    file.is_some_and(|file| file.take(16).read_to_end(&mut start).is_ok()) && start.starts_with(b"SQLite format 3\0")
}

fn file_of(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let nested = path.join(".beads");
    let dir = if nested.is_dir() { nested } else { path.to_owned() };
    let found = FILES.iter().map(|name| dir.join(name)).find(|file| file.is_file());
    found.ok_or_else(|| {
        Error::not_found("file", dir.join(FILES[0]).display()).hint("bd export -o .beads/issues.jsonl writes it")
    })
}

fn read_line(file: &mut TrackerFile, place: ItemPlace, line: &str) {
    let object = match files::object(line.as_bytes()) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return file.skip(place, None, "is not an object"),
        Err(e) => return file.skip(place, None, format!("is not JSON: {e}")),
    };
    read_object(file, place, object);
}

fn read_object(file: &mut TrackerFile, place: ItemPlace, object: Object) {
    let named = fields::text(&object, "id");
    match object.get("_type").and_then(Value::as_str) {
        None | Some("issue") => {}
        Some("memory") => return read_memory(file, place, object),
        Some(other) => return file.skip(place, named.as_deref(), format!("is of the unknown type {other:?}")),
    }
    let Some(id) = named.as_deref().filter(|id| id::is_possible(id)).and_then(|id| id.parse::<IssueId>().ok()) else {
        let reason =
            if named.is_some() { "its id has other characters than letters, digits and -_.:" } else { "has no id" };
        return file.skip(place, named.as_deref(), reason);
    };
    if object.get("status").and_then(Value::as_str) == Some(TOMBSTONE) {
        let line = Value::Object(object).to_string();
        return file.push(place, TrackerItem::Tombstone(TrackerTombstone { id, line }));
    }
    match issue(id, &object) {
        Ok(issue) => {
            note_mapping(&mut file.mapping, &object, &issue);
            let dropped: Vec<&str> = DERIVED.into_iter().filter(|name| object.contains_key(*name)).collect();
            dropped.into_iter().for_each(|name| file.drop_field(name));
            file.push(place, TrackerItem::Issue(Box::new(issue)));
        }
        Err(reason) => file.skip(place, named.as_deref(), reason),
    }
}

fn read_memory(file: &mut TrackerFile, place: ItemPlace, mut object: Object) {
    let Some(key) = object.get("key").and_then(Value::as_str).and_then(clean::short_line) else {
        return file.skip(place, None, "is a memory without a key");
    };
    let written = match object.get("value") {
        Some(Value::String(text)) => text.clone(),
        Some(other) if !fields::is_empty(other) => other.to_string(),
        _ => return file.skip(place, Some(&key), "is a memory without a value"),
    };
    let Some(text) = clean::block(&written).map(|text| text.trim().to_owned()) else {
        return file.skip(place, Some(&key), "is a memory without a value");
    };
    object.shift_remove("_type");
    for (name, ours) in [("key", &key), ("value", &text)] {
        if object.get(name).and_then(Value::as_str) == Some(ours) {
            object.shift_remove(name);
        }
    }
    file.push(place, TrackerItem::Memory(TrackerMemory { key, text, raw: object }));
}

/// An issue in our words, or why it cannot be one. What we would write in another way is in its `raw`.
fn issue(id: IssueId, object: &Object) -> Result<TrackerIssue, String> {
    let mut issue = interpret(id, object)?;
    let plain = line(&issue);
    let is_raw = |name: &str, value: &Value| {
        !DERIVED.contains(&name) && !["id", "comments"].contains(&name) && !says_the_same(plain.get(name), value)
    };
    let raw = object.iter().filter(|(name, value)| is_raw(name, value));
    issue.raw = raw.map(|(name, value)| (name.clone(), value.clone())).collect();
    // Without it these would be taken for those of an issue that was reopened here.
    let is_odd = ["closed_at", "close_reason"].iter().any(|name| issue.raw.contains_key(*name));
    if issue.status != Status::Closed && is_odd {
        issue.raw.insert("status".to_owned(), object.get("status").cloned().unwrap_or_else(|| json!("open")));
    }
    Ok(issue)
}

/// Whether a value is what we would write; the same moment in other words is.
fn says_the_same(ours: Option<&Value>, theirs: &Value) -> bool {
    let moment = |value: &Value| value.as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok());
    ours.is_some_and(|ours| ours == theirs || moment(theirs).is_some_and(|at| moment(ours) == Some(at)))
}

/// What the fields of an issue mean here.
fn interpret(id: IssueId, object: &Object) -> Result<TrackerIssue, String> {
    let text = |name: &str| fields::text(object, name);
    let title = text("title").as_deref().and_then(clean::line).ok_or("has no title")?;
    let mut issue = TrackerIssue::new(id.clone(), id.to_string(), title);
    issue.description = text("description").as_deref().and_then(clean::block);
    issue.acceptance = text("acceptance_criteria").as_deref().and_then(clean::criteria).unwrap_or_default();
    issue.spec = text("spec_id").as_deref().and_then(clean::short_line);
    issue.status = status(object.get("status").and_then(Value::as_str).unwrap_or("open"));
    issue.priority = priority(object.get("priority"));
    issue.issue_type = issue_type(object.get("issue_type").and_then(Value::as_str).unwrap_or("task"));
    issue.assignee = text("assignee").as_deref().and_then(clean::short_line);
    issue.estimate =
        object.get("estimated_minutes").and_then(Value::as_f64).and_then(|minutes| fields::span(minutes * 60.0));
    issue.created_at = fields::time(object, "created_at");
    issue.updated_at = fields::time(object, "updated_at");
    issue.due = fields::date(object, "due_at");
    issue.defer = fields::date(object, "defer_until");
    if issue.status == Status::Closed {
        issue.closed_at = fields::time(object, "closed_at");
        issue.close_reason = text("close_reason").as_deref().and_then(clean::block);
    }
    issue.refs = text("external_ref").as_deref().and_then(clean::reference).into_iter().collect();
    issue.labels = clean::labels(fields::texts(object, "labels"));
    issue.comments = fields::objects(object, "comments").filter_map(|given| comment(&id, given)).collect();
    for given in fields::objects(object, "dependencies") {
        let Some((to, meaning)) = dependency(&id, given) else { continue };
        match meaning {
            DependencyMeaning::Parent if issue.parent.as_ref().is_none_or(|parent| *parent == to) => {
                issue.parent = Some(to)
            }
            DependencyMeaning::Parent => add(&mut issue.links, Link { kind: LinkKind::Relates, to }),
            DependencyMeaning::Blocks => add(&mut issue.deps, to),
            DependencyMeaning::Link(kind) => add(&mut issue.links, Link { kind, to }),
        }
    }
    if issue.parent.is_none() {
        let parent = object.get("parent").and_then(Value::as_str).and_then(|parent| parent.parse().ok());
        issue.parent = parent.filter(|parent| *parent != id);
    }
    issue.deps.sort();
    issue.links.sort();
    Ok(issue)
}

fn add<T: PartialEq>(list: &mut Vec<T>, new: T) {
    if !list.contains(&new) {
        list.push(new);
    }
}

/// What a dependency of beads is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DependencyMeaning {
    Blocks,
    Parent,
    Link(LinkKind),
}

impl DependencyMeaning {
    fn of(kind: &str) -> Self {
        match kind.to_ascii_lowercase().replace('_', "-").as_str() {
            "" | "blocks" | "blocked-by" | "blocks-on" | "depends-on" | "conditional-blocks" | "waits-for" => {
                Self::Blocks
            }
            "parent-child" | "parent" | "child-of" => Self::Parent,
            "discovered-from" => Self::Link(LinkKind::DiscoveredFrom),
            "duplicates" | "duplicate-of" => Self::Link(LinkKind::Duplicates),
            "supersedes" => Self::Link(LinkKind::Supersedes),
            _ => Self::Link(LinkKind::Relates),
        }
    }

    /// What beads calls it.
    fn word(self) -> &'static str {
        match self {
            Self::Blocks => "blocks",
            Self::Parent => "parent-child",
            Self::Link(LinkKind::Relates) => "related",
            Self::Link(kind) => kind.as_str(),
        }
    }

    /// What we call it.
    fn ours(self) -> &'static str {
        match self {
            Self::Blocks => "dep",
            Self::Parent => "parent",
            Self::Link(kind) => kind.as_str(),
        }
    }
}

/// The issue that a dependency leads to, and what it means.
fn dependency(of: &IssueId, given: &Object) -> Option<(IssueId, DependencyMeaning)> {
    let to: IssueId = given.get("depends_on_id")?.as_str()?.parse().ok()?;
    let kind = given.get("type").and_then(Value::as_str).unwrap_or_default();
    (to != *of).then(|| (to, DependencyMeaning::of(kind)))
}

fn comment(issue: &IssueId, given: &Object) -> Option<TrackerComment> {
    let text = fields::text(given, "text").as_deref().and_then(clean::block)?;
    let key = match given.get("id") {
        None | Some(Value::Null) => String::new(),
        Some(id) => id.to_string(),
    };
    let author = fields::text(given, "author").as_deref().and_then(clean::short_line);
    let at = fields::time(given, "created_at");
    let mut comment = TrackerComment { key, author, text, at, raw: Object::new() };
    let plain = comment_line(issue, &comment);
    let raw = given.iter().filter(|(name, value)| !says_the_same(plain.get(name.as_str()), value));
    comment.raw = raw.map(|(name, value)| (name.clone(), value.clone())).collect();
    Some(comment)
}

fn status(word: &str) -> Status {
    match word.trim().to_ascii_lowercase().replace([' ', '-'], "_").as_str() {
        "in_progress" | "hooked" | "active" | "doing" | "started" | "review" | "in_review" | "reviewing"
        | "testing" => Status::InProgress,
        "closed" | "done" | "completed" | "resolved" | "cancelled" | "canceled" | "wontfix" => Status::Closed,
        _ => Status::Open,
    }
}

/// Priority 4, backlog, is the lowest here. Writers of these files leave out 0.
fn priority(given: Option<&Value>) -> Priority {
    let number = match given {
        None | Some(Value::Null) => 0,
        Some(Value::String(text)) => text.trim().trim_start_matches(['p', 'P']).parse().unwrap_or(2),
        Some(value) => value.as_i64().unwrap_or(2),
    };
    match number {
        ..=0 => Priority::P0,
        1 => Priority::P1,
        2 => Priority::P2,
        _ => Priority::P3,
    }
}

fn issue_type(word: &str) -> IssueType {
    match word.trim().to_ascii_lowercase().as_str() {
        "bug" => IssueType::Bug,
        "chore" => IssueType::Chore,
        "test" => IssueType::Test,
        _ => IssueType::Task,
    }
}

fn note_mapping(mapping: &mut WordMapping, object: &Object, issue: &TrackerIssue) {
    let mut note = |field: &'static str, name: &str, ours: &str| {
        if let Some(theirs) = fields::text(object, name) {
            mapping.note(field, theirs, ours);
        }
    };
    note("status", "status", issue.status.as_str());
    note("type", "issue_type", issue.issue_type.as_str());
    match object.get("priority") {
        None => mapping.note("priority", "absent", issue.priority),
        Some(_) => note("priority", "priority", issue.priority.as_str()),
    }
    for given in fields::objects(object, "dependencies") {
        let kind = given.get("type").and_then(Value::as_str).unwrap_or_default();
        mapping.note("dependency", kind, DependencyMeaning::of(kind).ours());
    }
}

/// The line of an issue: as we write it, with fields as they were there where they still say the same.
pub fn line(issue: &TrackerIssue) -> Object {
    let mut line = Object::new();
    let mut put = |name: &str, value: Value| {
        if !fields::is_empty(&value) {
            line.insert(name.to_owned(), value);
        }
    };
    put("id", json!(issue.id));
    put("title", json!(issue.title));
    put("description", json!(issue.description));
    put("acceptance_criteria", json!(acceptance(&issue.acceptance)));
    put("spec_id", json!(issue.spec));
    put("status", json!(issue.status));
    put("priority", json!(issue.priority as i64));
    put("issue_type", json!(if issue.issue_type == IssueType::Test { "task" } else { issue.issue_type.as_str() }));
    put("assignee", json!(issue.assignee));
    put("estimated_minutes", json!(issue.estimate.map(|span| span.as_millis() / 60_000)));
    put("created_at", json!(issue.created_at));
    put("updated_at", json!(issue.updated_at));
    put("closed_at", json!(issue.closed_at));
    put("close_reason", json!(issue.close_reason));
    put("due_at", json!(issue.due.map(Date::start)));
    put("defer_until", json!(issue.defer.map(Date::start)));
    put("external_ref", json!(issue.refs.first()));
    put("labels", json!(issue.labels));
    put("dependencies", json!(dependencies(issue)));
    put("comments", json!(issue.comments.iter().map(|one| comment_line(&issue.id, one)).collect::<Vec<_>>()));
    restore(&mut line, issue);
    line
}

/// Gives a line the fields as they were, where they say what the issue says.
fn restore(line: &mut Object, issue: &TrackerIssue) {
    if issue.raw.is_empty() {
        return;
    }
    let mut given = issue.raw.clone();
    for name in ["title", "status", "issue_type", "priority"] {
        if let (None, Some(ours)) = (given.get(name), line.get(name)) {
            given.insert(name.to_owned(), ours.clone());
        }
    }
    let Ok(was) = interpret(issue.id.clone(), &given) else { return };
    for (name, value) in &issue.raw {
        let still_holds = match name.as_str() {
            "title" => was.title == issue.title,
            "description" => was.description == issue.description,
            "acceptance_criteria" => was.acceptance == issue.acceptance,
            "spec_id" => was.spec == issue.spec,
            "status" => was.status == issue.status,
            "priority" => was.priority == issue.priority,
            "issue_type" => was.issue_type == issue.issue_type,
            "assignee" => was.assignee == issue.assignee,
            "estimated_minutes" => was.estimate == issue.estimate,
            "created_at" => was.created_at == issue.created_at,
            "updated_at" => was.updated_at == issue.updated_at,
            "closed_at" | "close_reason" if issue.status != Status::Closed => {
                issue.raw.contains_key("status") && was.status == issue.status
            }
            "closed_at" => was.closed_at == issue.closed_at,
            "close_reason" => was.close_reason == issue.close_reason,
            "due_at" => was.due == issue.due,
            "defer_until" => was.defer == issue.defer,
            "external_ref" => was.refs.iter().all(|one| issue.refs.contains(one)),
            "labels" => was.labels == issue.labels,
            "parent" => value.as_str() == issue.parent.as_ref().map(IssueId::as_str),
            "dependencies" => false,
            _ => true,
        };
        if still_holds {
            line.insert(name.clone(), value.clone());
        }
    }
}

fn acceptance(criteria: &[Criterion]) -> Option<String> {
    let line = |one: &Criterion| format!("- [{}] {}", if one.done { 'x' } else { ' ' }, one.text);
    (!criteria.is_empty()).then(|| criteria.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// The dependencies of an issue: those of the file that are still here, then the others.
fn dependencies(issue: &TrackerIssue) -> Vec<Value> {
    let mut here: Vec<(IssueId, DependencyMeaning)> =
        issue.parent.iter().map(|to| (to.clone(), DependencyMeaning::Parent)).collect();
    here.extend(issue.deps.iter().map(|to| (to.clone(), DependencyMeaning::Blocks)));
    here.extend(issue.links.iter().map(|link| (link.to.clone(), DependencyMeaning::Link(link.kind))));
    let mut written = Vec::new();
    let mut is_written = vec![false; here.len()];
    for given in fields::objects(&issue.raw, "dependencies") {
        let Some((to, meaning)) = dependency(&issue.id, given) else { continue };
        // A second parent is a link here.
        let same = |one: &(IssueId, DependencyMeaning)| {
            one.0 == to
                && (one.1 == meaning
                    || meaning == DependencyMeaning::Parent && one.1 == DependencyMeaning::Link(LinkKind::Relates))
        };
        if let Some(at) = here.iter().position(same) {
            is_written[at] = true;
            written.push(Value::Object(given.clone()));
        }
    }
    // A parent that only its field names needs no dependency.
    let has_list = issue.raw.contains_key("dependencies");
    let named = issue.raw.get("parent").and_then(Value::as_str).filter(|_| !has_list);
    for ((to, meaning), done) in here.into_iter().zip(is_written) {
        let is_named = meaning == DependencyMeaning::Parent && named == Some(to.as_str());
        if !done && !is_named {
            let at = issue.created_at;
            written.push(json!({"issue_id": issue.id, "depends_on_id": to, "type": meaning.word(), "created_at": at}));
        }
    }
    written
}

fn comment_line(issue: &IssueId, comment: &TrackerComment) -> Object {
    let mut line = Object::new();
    let id = match serde_json::from_str(&comment.key) {
        Ok(id) => id,
        Err(_) => json!(comment.key),
    };
    line.insert("id".to_owned(), id);
    line.insert("issue_id".to_owned(), json!(issue));
    line.insert("author".to_owned(), json!(comment.author));
    line.insert("text".to_owned(), json!(comment.text));
    line.insert("created_at".to_owned(), json!(comment.at));
    line.extend(comment.raw.clone());
    line
}

/// The key of a comment that was made here: a number that is the same at every export, as br needs it.
pub fn comment_key(id: &str) -> String {
    (hash64(id.as_bytes()) & ((1 << 53) - 1)).to_string()
}

/// The line of a memory.
pub fn memory_line(memory: &TrackerMemory) -> Object {
    let mut line = Object::from_iter([
        ("_type".to_owned(), json!("memory")),
        ("key".to_owned(), json!(memory.key)),
        ("value".to_owned(), json!(memory.text)),
    ]);
    for (name, value) in &memory.raw {
        let was = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        // A text that was changed here is written as it is now.
        let is_same = name != "value" || clean::block(&was).is_some_and(|was| was.trim() == memory.text);
        if is_same {
            line.insert(name.clone(), value.clone());
        }
    }
    line
}

/// The line of a deleted issue, as it was read.
pub fn tombstone_line(text: &str) -> Option<Object> {
    match files::object(text.as_bytes()) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}
