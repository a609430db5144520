//! Reads the issues of Jira from its CSV export, which has a column for each label, comment and link.

use std::collections::HashMap;
use std::path::Path;

use pensa_core::Result;
use pensa_core::issue::{Link, LinkKind, Status};
use pensa_core::ops::tracker::{Tracker, TrackerComment, TrackerIssue, TrackerItem};
use pensa_core::session::Object;
use pensa_core::time::Date;

use super::table::{self, TableRow};
use super::{TrackerFile, clean, fields, words};

/// Reads a file.
pub fn read(path: &Path) -> Result<TrackerFile> {
    let mut file = TrackerFile::new(Tracker::Jira);
    let mut rows = table::read(path, &mut file, &["Issue key", "Summary"])?;
    // A parent is named by the number of its row in Jira's database.
    let mut keys: HashMap<String, String> = HashMap::new();
    let mut heads = Vec::new();
    for row in &mut rows {
        let (key, number) = (row.take(&["Issue key"]), row.take(&["Issue id"]));
        keys.extend(key.clone().zip(number.clone()).map(|(key, number)| (number, key)));
        heads.push((key, number));
    }
    for (row, (key, number)) in rows.into_iter().zip(heads) {
        read_row(&mut file, row, key, number, &keys);
    }
    Ok(file.finish())
}

fn read_row(
    file: &mut TrackerFile,
    mut row: TableRow,
    key: Option<String>,
    number: Option<String>,
    keys: &HashMap<String, String>,
) {
    let place = row.place.clone();
    let Some(key) = key else { return file.skip(place, None, "has no issue key") };
    let Some(id) = clean::id(&key) else { return file.skip(place, Some(&key), "has no usable key") };
    let Some(title) = row.take(&["Summary"]).as_deref().and_then(clean::line) else {
        return file.skip(place, Some(&key), "has no summary");
    };
    let mut issue = TrackerIssue::new(id, key.clone(), title);
    issue.description = row.take(&["Description"]).as_deref().and_then(clean::block);
    issue.assignee = row.take(&["Assignee"]).as_deref().and_then(clean::short_line);
    issue.refs = clean::reference(&format!("jira:{key}")).into_iter().collect();
    issue.created_at = row.take_time(&["Created"]);
    issue.updated_at = row.take_time(&["Updated"]);
    issue.due = row.take_time(&["Due date"]).map(Date::of);
    let seconds = row.take(&["Original estimate"]).and_then(|seconds| seconds.trim().parse().ok());
    issue.estimate = seconds.and_then(fields::span);
    if let Some(word) = row.take(&["Issue Type"]) {
        issue.issue_type = words::issue_type(&word).unwrap_or(issue.issue_type);
        file.mapping.note("type", word, issue.issue_type);
    }
    if let Some(word) = row.take(&["Priority"]) {
        issue.priority = words::priority(&word).unwrap_or_default();
        file.mapping.note("priority", word, issue.priority);
    }
    read_status(file, &mut row, &mut issue);
    let labels = row.take_all(&["Labels"]);
    issue.labels = clean::labels(labels.iter().flat_map(|cell| cell.split_whitespace()));
    let parents =
        [row.take(&["Parent key"]), row.take(&["Custom field (Epic Link)"]), row.take(&["Parent", "Parent id"])];
    let parent = parents.into_iter().flatten().find_map(|parent| clean::id(keys.get(parent.trim()).unwrap_or(&parent)));
    issue.parent = parent.filter(|parent| *parent != issue.id);
    row.take_all(&["Parent", "Parent id", "Parent summary"]);
    read_links(&mut row, &mut issue);
    issue.comments = row.take_all(&["Comment"]).iter().filter_map(|cell| comment(cell)).collect();
    issue.raw = row.rest();
    issue.raw.extend(number.map(|number| ("Issue id".to_owned(), number.into())));
    file.push(place, TrackerItem::Issue(Box::new(issue)));
}

fn read_status(file: &mut TrackerFile, row: &mut TableRow, issue: &mut TrackerIssue) {
    let (word, category) = (row.take(&["Status"]).unwrap_or_default(), row.take(&["Status Category"]));
    let resolution = row.take(&["Resolution"]).filter(|word| !word.eq_ignore_ascii_case("unresolved"));
    let resolved = row.take_time(&["Resolved"]);
    issue.status = words::status(category.as_deref().unwrap_or(&word));
    if issue.status == Status::Closed {
        issue.closed_at = resolved;
        let is_plain = |word: &str| word.eq_ignore_ascii_case("fixed") || words::close_reason(word).is_none();
        issue.close_reason = resolution.filter(|word| !is_plain(word)).map(|word| word.to_lowercase());
    }
    file.mapping.note("status", word, issue.status);
}

fn read_links(row: &mut TableRow, issue: &mut TrackerIssue) {
    let mut named = |column: &str| -> Vec<_> {
        let cells = row.take_all(&[column]);
        cells.iter().filter_map(|cell| clean::id(cell)).filter(|id| *id != issue.id).collect()
    };
    let deps: Vec<_> = named("Inward issue link (Blocks)");
    // The other issue says that it is blocked.
    named("Outward issue link (Blocks)");
    let mut links = Vec::new();
    for column in ["Inward issue link (Relates)", "Outward issue link (Relates)"] {
        links.extend(named(column).into_iter().map(|to| Link { kind: LinkKind::Relates, to }));
    }
    links.extend(named("Outward issue link (Duplicate)").into_iter().map(|to| Link { kind: LinkKind::Duplicates, to }));
    issue.deps = deps;
    issue.deps.sort();
    issue.deps.dedup();
    issue.links = links;
    issue.links.sort();
    issue.links.dedup();
}

/// A comment: `27/Feb/26 2:30 PM;author;text`.
fn comment(cell: &str) -> Option<TrackerComment> {
    let mut parts = cell.splitn(3, ';');
    let (at, author, text) = (parts.next()?, parts.next(), parts.next());
    let (at, author, text) = match (fields::moment(at), author, text) {
        (Some(at), Some(author), Some(text)) => (Some(at), clean::short_line(author), text),
        _ => (None, None, cell),
    };
    Some(TrackerComment { key: String::new(), author, text: clean::block(text)?, at, raw: Object::new() })
}
