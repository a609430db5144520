//! Reads the issues of Linear from its CSV export.

use std::path::Path;

use pensa_core::Result;
use pensa_core::issue::{Link, LinkKind, Status};
use pensa_core::ops::tracker::{Tracker, TrackerIssue, TrackerItem};
use pensa_core::time::Date;

use super::table::{self, TableRow};
use super::{TrackerFile, clean, words};

/// Reads a file.
pub fn read(path: &Path) -> Result<TrackerFile> {
    let mut file = TrackerFile::new(Tracker::Linear);
    for row in table::read(path, &mut file, &["ID", "Title"])? {
        read_row(&mut file, row);
    }
    Ok(file.finish())
}

fn read_row(file: &mut TrackerFile, mut row: TableRow) {
    let place = row.place.clone();
    let Some(key) = row.take(&["ID"]) else { return file.skip(place, None, "has no ID") };
    let Some(id) = clean::id(&key) else { return file.skip(place, Some(&key), "has no usable ID") };
    let Some(title) = row.take(&["Title"]).as_deref().and_then(clean::line) else {
        return file.skip(place, Some(&key), "has no title");
    };
    let mut issue = TrackerIssue::new(id, key.clone(), title);
    issue.description = row.take(&["Description"]).as_deref().and_then(clean::block);
    issue.assignee = row.take(&["Assignee"]).as_deref().and_then(clean::short_line);
    issue.refs = clean::reference(&format!("linear:{key}")).into_iter().collect();
    issue.created_at = row.take_time(&["Created"]);
    issue.updated_at = row.take_time(&["Updated"]);
    issue.due = row.take_time(&["Due Date"]).map(Date::of);
    let (done, canceled) = (row.take_time(&["Completed"]), row.take_time(&["Canceled"]));
    let word = row.take(&["Status"]).unwrap_or_default();
    issue.status = if done.or(canceled).is_some() { Status::Closed } else { words::status(&word) };
    if issue.status == Status::Closed {
        issue.closed_at = done.or(canceled);
        issue.close_reason = if done.is_none() { words::close_reason(&word) } else { None };
    }
    file.mapping.note("status", &word, issue.status);
    if let Some(word) = row.take(&["Priority"]) {
        issue.priority = words::priority(&word).unwrap_or_default();
        file.mapping.note("priority", word, issue.priority);
    }
    let labels = row.take(&["Labels"]).unwrap_or_default();
    let kind = labels.split(',').find_map(|label| Some((label.trim(), words::issue_type(label)?)));
    if let Some((word, kind)) = kind {
        issue.issue_type = kind;
        file.mapping.note("type", word, kind);
    }
    let project = row.take(&["Project"]).map(|project| format!("project:{project}"));
    issue.labels = clean::labels(labels.split(',').chain(project.as_deref()));
    issue.parent = row.take(&["Parent issue"]).as_deref().and_then(clean::id).filter(|parent| *parent != issue.id);
    read_relations(&mut row, &mut issue);
    issue.raw = row.rest();
    file.push(place, TrackerItem::Issue(Box::new(issue)));
}

fn read_relations(row: &mut TableRow, issue: &mut TrackerIssue) {
    let mut named = |column: &str| -> Vec<_> {
        let list = row.take(&[column]).unwrap_or_default();
        list.split([',', ';']).filter_map(clean::id).filter(|id| *id != issue.id).collect()
    };
    let (deps, related, original) = (named("Blocked by"), named("Related to"), named("Duplicate of"));
    issue.deps = deps;
    issue.deps.sort();
    issue.deps.dedup();
    issue.links = related.into_iter().map(|to| Link { kind: LinkKind::Relates, to }).collect();
    issue.links.extend(original.into_iter().map(|to| Link { kind: LinkKind::Duplicates, to }));
    issue.links.sort();
    issue.links.dedup();
}
