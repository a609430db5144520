//! Reads the folders of Backlog.md: one markdown file with front matter for each task. Drafts get the label `draft`.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use pensa_core::id::IssueId;
use pensa_core::issue::{Criterion, Status};
use pensa_core::ops::tracker::{Tracker, TrackerIssue, TrackerItem};
use pensa_core::session::Object;
use pensa_core::{Code, Error, Result};
use serde_json::Value;

use super::{ItemPlace, TrackerFile, clean, fields, read_text, refuse_conflict_marks, words};

/// The folders with tasks.
const FOLDERS: [&str; 3] = ["tasks", "completed", "drafts"];
/// The folders whose files are not imported.
const ARCHIVE: [&str; 2] = ["archive/tasks", "archive/drafts"];
/// Limit on the files of a folder.
const MAX_FILES: usize = 100_000;

/// Reads the folder `backlog`, or the directory that has it.
pub fn read(path: &Path) -> Result<TrackerFile> {
    let dir = ["backlog", ".backlog"].iter().map(|name| path.join(name)).find(|dir| has_tasks(dir));
    let dir = dir.unwrap_or_else(|| path.to_owned());
    if !has_tasks(&dir) {
        let error = Error::not_found("folder of tasks", dir.join("tasks").display());
        return Err(error.hint("name the folder backlog, which has tasks"));
    }
    let mut file = TrackerFile::new(Tracker::Backlog);
    let statuses = statuses(&dir);
    for folder in FOLDERS {
        for (name, path) in markdown_files(&dir.join(folder))? {
            let place = ItemPlace { file: Some(format!("{folder}/{name}")), line: None };
            match read_text(&path).and_then(|text| refuse_conflict_marks(&path, &text).map(|()| text)) {
                Ok(text) => read_task(&mut file, place, folder, &text, &statuses),
                Err(e) => file.skip(place, None, e.message),
            }
        }
    }
    for folder in ARCHIVE {
        for (name, _) in markdown_files(&dir.join(folder))? {
            let place = ItemPlace { file: Some(format!("{folder}/{name}")), line: None };
            file.skip(place, None, "is in the archive");
        }
    }
    same_case(&mut file);
    Ok(file.finish())
}

fn has_tasks(dir: &Path) -> bool {
    dir.join("tasks").is_dir() || dir.join("drafts").is_dir()
}

/// The markdown files of a folder that may not be there, sorted by name.
fn markdown_files(dir: &Path) -> Result<Vec<(String, PathBuf)>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::invalid(format!("can not read {}: {e}", dir.display()))),
    };
    let mut found: Vec<(String, PathBuf)> = entries
        .filter_map(|entry| entry.ok())
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
        .filter(|(name, _)| name.ends_with(".md") && !name.eq_ignore_ascii_case("readme.md"))
        .take(MAX_FILES + 1)
        .collect();
    if found.len() > MAX_FILES {
        return Err(Error::new(Code::TooLarge, format!("{} has more than {MAX_FILES} files", dir.display())));
    }
    found.sort();
    Ok(found)
}

/// The statuses of the project in their order, the last of which means done.
fn statuses(dir: &Path) -> Vec<String> {
    let names = ["config.yml", "config.yaml"];
    let text = names.iter().find_map(|name| read_text(&dir.join(name)).ok()).unwrap_or_default();
    let config: Object = serde_saphyr::from_str(&text).unwrap_or_default();
    fields::texts(&config, "statuses").into_iter().map(|status| status.trim().to_lowercase()).collect()
}

fn status(word: &str, statuses: &[String]) -> Status {
    let place = statuses.iter().position(|status| *status == word.trim().to_lowercase());
    match place {
        Some(0) => Status::Open,
        Some(last) if last + 1 == statuses.len() => Status::Closed,
        Some(_) if words::status(word) == Status::Open => Status::InProgress,
        _ => words::status(word),
    }
}

fn read_task(file: &mut TrackerFile, place: ItemPlace, folder: &str, text: &str, statuses: &[String]) {
    let Some((front, body)) = front_matter(text) else { return file.skip(place, None, "has no front matter") };
    let mut front: Object = match serde_saphyr::from_str(&front) {
        Ok(front) => front,
        Err(e) => return file.skip(place, None, format!("its front matter is not YAML: {}", clean_error(&e))),
    };
    let take = |front: &mut Object, name: &str| {
        let text = fields::text(front, name);
        front.shift_remove(name);
        text
    };
    let Some(key) = take(&mut front, "id") else { return file.skip(place, None, "has no id") };
    let Some(id) = clean::id(&key) else { return file.skip(place, Some(&key), "has no usable id") };
    let title = take(&mut front, "title").as_deref().and_then(clean::line);
    let Some(title) = title else { return file.skip(place, Some(&key), "has no title") };
    let mut issue = TrackerIssue::new(id, key.to_lowercase(), title);
    let word = take(&mut front, "status").unwrap_or_else(|| "To Do".to_owned());
    issue.status = if folder == "completed" { Status::Closed } else { status(&word, statuses) };
    file.mapping.note("status", &word, issue.status);
    if let Some(word) = take(&mut front, "priority") {
        issue.priority = words::priority(&word).unwrap_or_default();
        file.mapping.note("priority", word, issue.priority);
    }
    read_lists(&mut front, &mut issue, folder);
    let time = |front: &mut Object, names: [&str; 2]| {
        names
            .iter()
            .find_map(|name| front.shift_remove(*name))
            .as_ref()
            .and_then(Value::as_str)
            .and_then(fields::moment)
    };
    issue.created_at = time(&mut front, ["created_date", "createdDate"]);
    issue.updated_at = time(&mut front, ["updated_date", "updatedDate"]);
    issue.parent =
        take(&mut front, "parent_task_id").as_deref().and_then(clean::id).filter(|parent| *parent != issue.id);
    read_body(&mut issue, body);
    // The other end of `parent_task_id`.
    front.shift_remove("subtasks");
    front.retain(|_, value| !fields::is_empty(value));
    issue.raw = front;
    file.push(place, TrackerItem::Issue(Box::new(issue)));
}

/// The first line of an error of the parser, which may quote the file.
fn clean_error(error: &serde_saphyr::Error) -> String {
    let text = error.to_string();
    clean::line(text.lines().next().unwrap_or_default()).unwrap_or_default().chars().take(200).collect()
}

/// The front matter of a file, and what comes after it.
fn front_matter(text: &str) -> Option<(String, String)> {
    let text = text.replace("\r\n", "\n");
    let rest = text.strip_prefix("---\n")?;
    let (front, body) = rest.split_once("\n---\n").or_else(|| Some((rest.strip_suffix("\n---")?, "")))?;
    Some((front.to_owned(), body.to_owned()))
}

/// A field with one text, or a list of them.
fn texts(front: &mut Object, name: &str) -> Vec<String> {
    match front.shift_remove(name) {
        Some(Value::String(text)) => text.split(',').map(|part| part.trim().to_owned()).collect(),
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(|item| {
                item.as_str().map(str::to_owned).or_else(|| item.as_i64().map(|number| number.to_string()))
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn read_lists(front: &mut Object, issue: &mut TrackerIssue, folder: &str) {
    let assignees = texts(front, "assignee");
    let first = assignees.first().map(|name| name.trim_start_matches('@'));
    issue.assignee = first.and_then(clean::short_line);
    if assignees.len() > 1 {
        front.insert("assignee".to_owned(), assignees.into());
    }
    let mut labels = texts(front, "labels");
    labels.extend((folder == "drafts").then(|| "draft".to_owned()));
    labels.extend(fields::text(front, "milestone").map(|milestone| format!("milestone:{milestone}")));
    front.shift_remove("milestone");
    issue.labels = clean::labels(labels.iter().map(String::as_str));
    issue.deps = texts(front, "dependencies").iter().filter_map(|dep| clean::id(dep)).collect();
    issue.deps.retain(|dep| *dep != issue.id);
    issue.deps.sort();
    issue.deps.dedup();
    let references = texts(front, "references");
    issue.refs = references.iter().filter(|one| one.contains("://")).filter_map(|one| clean::reference(one)).collect();
    let others: Vec<String> = references.into_iter().filter(|one| !one.contains("://")).collect();
    if !others.is_empty() {
        front.insert("references".to_owned(), others.into());
    }
}

/// The sections of the body: the description, the acceptance criteria, and others, which go below the description.
fn read_body(issue: &mut TrackerIssue, body: String) {
    let mut parts: Vec<String> = Vec::new();
    for (heading, text) in sections(&body) {
        match heading.to_lowercase().as_str() {
            "" | "description" => parts.push(text),
            "acceptance criteria" => match criteria(&text) {
                Some(criteria) => issue.acceptance = criteria,
                None => parts.push(format!("## {heading}\n\n{text}")),
            },
            _ => parts.push(format!("## {heading}\n\n{text}")),
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    issue.description = clean::block(&parts.join("\n\n"));
}

/// The sections below headings of the second level, without the marks that Backlog.md sets around them.
fn sections(body: &str) -> Vec<(String, String)> {
    let mut sections = vec![(String::new(), String::new())];
    let mut in_code = false;
    for line in body.lines() {
        in_code ^= line.trim_start().starts_with("```");
        let is_mark =
            line.starts_with("<!--") && line.ends_with("-->") && (line.contains(":BEGIN") || line.contains(":END"));
        match line.strip_prefix("## ") {
            Some(heading) if !in_code => sections.push((heading.trim().to_owned(), String::new())),
            _ if is_mark => {}
            _ => {
                if let Some((_, text)) = sections.last_mut() {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
    }
    let trimmed = sections.into_iter().map(|(heading, text)| (heading, text.trim().to_owned()));
    trimmed.filter(|(heading, text)| !heading.is_empty() || !text.is_empty()).collect()
}

/// The items of a list of criteria, `- [x] #1 text`; `None` if the section has something else.
fn criteria(text: &str) -> Option<Vec<Criterion>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let mut criteria = clean::criteria(text)?;
    for one in &mut criteria {
        let number = one.text.strip_prefix('#').and_then(|rest| rest.split_once(' '));
        if let Some((_, text)) = number.filter(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit())) {
            one.text = text.trim().to_owned();
        }
    }
    Some(criteria)
}

/// References may have ids in another case than the tasks.
fn same_case(file: &mut TrackerFile) {
    let ids: HashMap<String, IssueId> =
        file.issue_ids().into_iter().filter_map(|id| Some((id.to_lowercase(), id.parse().ok()?))).collect();
    let fix = |id: &mut IssueId| {
        if let Some(known) = ids.get(&id.as_str().to_lowercase()) {
            *id = known.clone();
        }
    };
    for found in &mut file.items {
        if let TrackerItem::Issue(issue) = &mut found.item {
            issue.parent.iter_mut().for_each(fix);
            issue.deps.iter_mut().for_each(fix);
        }
    }
}
