//! Reads the issues of GitHub and GitLab, as `gh issue list --json …`, `glab issue list --output json` and their APIs give
//! them.

use std::path::Path;

use pensa_core::Result;
use pensa_core::issue::{IssueType, Status};
use pensa_core::ops::tracker::{Tracker, TrackerComment, TrackerIssue, TrackerItem};
use pensa_core::session::Object;
use pensa_core::time::Date;
use serde_json::Value;

use super::{ItemPlace, TrackerFile, clean, fields, list, words};

/// What a tracker calls its fields: the names that a field may have, the usual one first.
struct ForgeFields {
    from: Tracker,
    /// The prefix of ids if the address does not say which repository it is.
    prefix: &'static str,
    number: &'static [&'static str],
    body: &'static [&'static str],
    url: &'static [&'static str],
    user: &'static str,
    created: &'static [&'static str],
    updated: &'static [&'static str],
    closed: &'static [&'static str],
}

const GITHUB: ForgeFields = ForgeFields {
    from: Tracker::Github,
    prefix: "gh",
    number: &["number"],
    body: &["body"],
    url: &["url", "html_url"],
    user: "login",
    created: &["createdAt", "created_at"],
    updated: &["updatedAt", "updated_at"],
    closed: &["closedAt", "closed_at"],
};

const GITLAB: ForgeFields = ForgeFields {
    from: Tracker::Gitlab,
    prefix: "gl",
    number: &["iid"],
    body: &["description"],
    url: &["web_url"],
    user: "username",
    created: &["created_at"],
    updated: &["updated_at"],
    closed: &["closed_at"],
};

/// Reads the output of `gh issue list --json …`.
pub fn read(path: &Path) -> Result<TrackerFile> {
    forge(path, &GITHUB)
}

/// Reads the output of `glab issue list --output json`, or of the API of GitLab.
pub fn read_gitlab(path: &Path) -> Result<TrackerFile> {
    forge(path, &GITLAB)
}

fn forge(path: &Path, names: &ForgeFields) -> Result<TrackerFile> {
    let mut file = TrackerFile::new(names.from);
    for (place, element) in list::read(path, &["issues", "items", "nodes"])? {
        match element {
            Ok(object) => read_issue(&mut file, place, object, names),
            Err(reason) => file.skip(place, None, reason),
        }
    }
    Ok(file.finish())
}

fn take(object: &mut Object, names: &[&str]) -> Option<Value> {
    names.iter().find_map(|name| object.shift_remove(*name)).filter(|value| !fields::is_empty(value))
}

fn take_text(object: &mut Object, names: &[&str]) -> Option<String> {
    match take(object, names)? {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn take_time(object: &mut Object, names: &[&str]) -> Option<pensa_core::Timestamp> {
    take_text(object, names).as_deref().and_then(fields::moment)
}

fn read_issue(file: &mut TrackerFile, place: ItemPlace, mut object: Object, names: &ForgeFields) {
    let number = take_text(&mut object, names.number);
    let Some(number) = number.filter(|number| number.bytes().all(|byte| byte.is_ascii_digit())) else {
        let field = names.number[0];
        return file.skip(place, None, format!("has no {field}; let --json include it"));
    };
    if object.contains_key("pull_request") || object.get("isPullRequest") == Some(&Value::Bool(true)) {
        return file.skip(place, Some(&number), "is a pull request");
    }
    let url = take_text(&mut object, names.url);
    let repository = url.as_deref().and_then(repository);
    let key = repository.map_or_else(|| format!("#{number}"), |repository| format!("{repository}#{number}"));
    let name = repository.and_then(|path| path.rsplit('/').next()).unwrap_or(names.prefix);
    let Some(id) = clean::id(&format!("{name}-{number}")) else {
        return file.skip(place, Some(&number), "its repository has a name that can not be part of an id");
    };
    let title = take_text(&mut object, &["title"]).as_deref().and_then(clean::line);
    let Some(title) = title else { return file.skip(place, Some(id.as_str()), "has no title") };
    let mut issue = TrackerIssue::new(id, key, title);
    issue.description = take_text(&mut object, names.body).as_deref().and_then(clean::block);
    issue.refs = url.as_deref().and_then(clean::reference).into_iter().collect();
    issue.created_at = take_time(&mut object, names.created);
    issue.updated_at = take_time(&mut object, names.updated);
    read_state(file, &mut object, &mut issue, names);
    read_labels(file, &mut object, &mut issue);
    read_people(&mut object, &mut issue, names);
    read_dates(&mut object, &mut issue);
    read_comments(&mut object, &mut issue, names);
    object.retain(|_, value| !fields::is_empty(value));
    issue.raw = object;
    file.push(place, TrackerItem::Issue(Box::new(issue)));
}

/// The path of the repository in the address of an issue: `owner/name`.
fn repository(url: &str) -> Option<&str> {
    let path = url.split_once("://")?.1.split_once('/')?.1;
    let path = path.split_once("/-/").or_else(|| path.split_once("/issues/")).map(|(path, _)| path)?;
    path.contains('/').then_some(path)
}

fn read_state(file: &mut TrackerFile, object: &mut Object, issue: &mut TrackerIssue, names: &ForgeFields) {
    let state = take_text(object, &["state"]).unwrap_or_default().to_lowercase();
    let closed_at = take_time(object, names.closed);
    let reason = take_text(object, &["stateReason", "state_reason"]);
    if state == "closed" {
        issue.status = Status::Closed;
        issue.closed_at = closed_at;
        let reason = reason.map(|reason| reason.to_lowercase().replace('_', " "));
        issue.close_reason = reason.filter(|reason| reason != "completed");
    }
    file.mapping.note("state", state, issue.status);
}

fn read_labels(file: &mut TrackerFile, object: &mut Object, issue: &mut TrackerIssue) {
    let list = take(object, &["labels"]);
    let name = |label: &Value| Some(label.as_str().or_else(|| label.get("name")?.as_str())?.to_owned());
    let given: Vec<String> = list.iter().filter_map(Value::as_array).flatten().filter_map(name).collect();
    issue.labels = clean::labels(given.iter().map(String::as_str));
    let kind = ["issueType", "issue_type", "type"].iter().find_map(|name| {
        let value = object.get(*name)?;
        value.as_str().or_else(|| value.get("name")?.as_str()).map(str::to_owned)
    });
    let of_labels = given.iter().find_map(|label| Some((label.clone(), words::issue_type(label)?)));
    let of_kind = kind.and_then(|kind| words::issue_type(&kind).map(|ours| (kind, ours)));
    if let Some((word, ours)) = of_kind.filter(|(_, ours)| *ours != IssueType::Task).or(of_labels) {
        issue.issue_type = ours;
        file.mapping.note("type", word, ours);
    }
    if let Some((word, ours)) = given.iter().find_map(|label| Some((label, words::priority(label)?))) {
        issue.priority = ours;
        file.mapping.note("priority", word, ours);
    }
}

fn read_people(object: &mut Object, issue: &mut TrackerIssue, names: &ForgeFields) {
    let name = |person: &Value| Some(person.get(names.user)?.as_str()?.to_owned());
    let assignees: Vec<String> =
        object.get("assignees").and_then(Value::as_array).into_iter().flatten().filter_map(name).collect();
    let single = object.get("assignee").and_then(name);
    issue.assignee = assignees.first().cloned().or(single).as_deref().and_then(clean::short_line);
    if issue.assignee.is_some() && assignees.len() < 2 {
        object.shift_remove("assignees");
        object.shift_remove("assignee");
    }
}

fn read_dates(object: &mut Object, issue: &mut TrackerIssue) {
    let milestone = object.get("milestone").and_then(Value::as_object);
    let of_milestone = milestone
        .and_then(|milestone| ["dueOn", "due_on", "due_date"].iter().find_map(|name| fields::date(milestone, name)));
    let title = milestone.and_then(|milestone| fields::text(milestone, "title")).and_then(|title| clean::label(&title));
    issue.labels.extend(title.map(|title| format!("milestone:{title}")));
    issue.labels.sort();
    issue.due = take_time(object, &["due_date", "dueDate"]).map(Date::of).or(of_milestone);
    let stats = object.get("time_stats").and_then(Value::as_object);
    let seconds = stats.and_then(|stats| stats.get("time_estimate")?.as_f64());
    issue.estimate = seconds.and_then(fields::span);
}

/// Comments, if the file has them; some answers have only their number.
fn read_comments(object: &mut Object, issue: &mut TrackerIssue, names: &ForgeFields) {
    for field in ["comments", "notes"] {
        let Some(Value::Array(list)) = object.get(field) else { continue };
        issue.comments.extend(list.iter().filter_map(|given| comment(given.as_object()?, names)));
        object.shift_remove(field);
    }
}

fn comment(given: &Object, names: &ForgeFields) -> Option<TrackerComment> {
    // GitLab notes every change of an issue in this way.
    if given.get("system") == Some(&Value::Bool(true)) {
        return None;
    }
    let text = fields::text(given, "body").as_deref().and_then(clean::block)?;
    let author = ["author", "user"].iter().find_map(|field| given.get(*field)?.get(names.user)?.as_str());
    let key = ["id", "url"].iter().find_map(|field| fields::text(given, field)).unwrap_or_default();
    let at = names.created.iter().find_map(|field| fields::time(given, field));
    let author = author.and_then(clean::short_line);
    Some(TrackerComment { key, author, text, at, raw: Object::new() })
}
