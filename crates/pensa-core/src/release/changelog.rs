//! Formats releases as a Markdown changelog. Names and titles are escaped, so that they cannot become markup or terminal
//! control sequences.

use std::collections::HashMap;
use std::fmt::Write;

use super::Release;
use crate::id::IssueId;
use crate::text::markdown;
use crate::work::WorkKind;

/// An issue closed since the last release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedIssue {
    pub id: IssueId,
    pub title: String,
}

/// Formats `releases`, which must be newest first, and the issues closed since the last one. `titles` has the titles of
/// the issues of releases, as far as they exist; `is_cut` adds a note that more issues were closed.
pub fn changelog(
    releases: &[Release],
    titles: &HashMap<IssueId, String>,
    unreleased: &[ClosedIssue],
    is_cut: bool,
) -> String {
    let mut written = String::from("# Changelog\n");
    if !unreleased.is_empty() {
        written.push_str("\n## Unreleased\n\n");
        unreleased.iter().for_each(|issue| line(&mut written, "", &issue.title, &issue.id));
        if is_cut {
            written.push_str("- and more\n");
        }
    }
    for version in versions(releases) {
        let Some(newest) = version.first() else { continue };
        let date: String = newest.shipped_at.to_string().chars().take(10).collect();
        // Of the characters allowed in a version, only this one is markup.
        let _ = write!(written, "\n## {} ({date})\n", newest.version.replace('_', "\\_"));
        for kind in WorkKind::ALL {
            let mut of_kind = version.iter().filter(|release| release.kind == kind).peekable();
            if of_kind.peek().is_some() {
                let _ = write!(written, "\n### {}\n\n", heading(kind));
            }
            of_kind.for_each(|release| entry(&mut written, release, titles));
        }
    }
    written
}

/// Groups releases by version, in the order in which the versions first appear.
fn versions(releases: &[Release]) -> Vec<Vec<&Release>> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut versions: Vec<Vec<&Release>> = Vec::new();
    for release in releases {
        let at = *places.entry(&release.version).or_insert(versions.len());
        match versions.get_mut(at) {
            Some(version) => version.push(release),
            None => versions.push(vec![release]),
        }
    }
    versions
}

fn heading(kind: WorkKind) -> &'static str {
    match kind {
        WorkKind::Feature => "Features",
        WorkKind::Bug => "Fixes",
        WorkKind::Improvement => "Improvements",
        WorkKind::Refactor => "Refactoring",
        WorkKind::Chore => "Chores",
    }
}

fn entry(to: &mut String, release: &Release, titles: &HashMap<IssueId, String>) {
    let _ = writeln!(to, "- {}", markdown(&release.name));
    for id in &release.issues {
        match titles.get(id) {
            Some(title) => line(to, "  ", title, id),
            None => {
                let _ = writeln!(to, "  - {}", markdown(id.as_str()));
            }
        }
    }
    let notes = release.notes.as_deref().unwrap_or_default().trim_end();
    if !notes.is_empty() {
        to.push('\n');
    }
    for note in notes.lines() {
        let shown = markdown(note);
        let _ = if shown.is_empty() { writeln!(to) } else { writeln!(to, "  {shown}") };
    }
}

fn line(to: &mut String, indent: &str, title: &str, id: &IssueId) {
    let _ = writeln!(to, "{indent}- {} ({})", markdown(title), markdown(id.as_str()));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn release(id: u8, version: &str, kind: &str, more: Value) -> Release {
        let mut record = json!({"id": format!("rel-{id}"), "name": format!("name {id}"), "version": version,
            "kind": kind, "actor": "a", "shipped_at": format!("2026-01-0{id}T10:00:00.000Z")});
        for (field, value) in more.as_object().expect("an object") {
            record[field] = value.clone();
        }
        serde_json::from_value(record).expect("a release")
    }

    #[test]
    fn changelog_groups_entries_by_version_and_kind() {
        let releases = [
            release(4, "1.1.0", "chore", json!({})),
            release(3, "1.1.0", "bug", json!({"issues": ["pn-1", "pn-2"], "notes": "first\n\n# second\n"})),
            release(2, "1.0.0", "feature", json!({})),
            release(1, "1.1.0", "feature", json!({})),
        ];
        let titles = HashMap::from([("pn-1".parse().expect("an id"), "it crashed".to_owned())]);
        let open = [ClosedIssue { id: "pn-3".parse().expect("an id"), title: "not out yet".into() }];
        let expected = "# Changelog\n\n## Unreleased\n\n- not out yet (pn-3)\n- and more\n\n## 1.1.0 (2026-01-04)\n\n\
            ### Features\n\n- name 1\n\n### Fixes\n\n- name 3\n  - it crashed (pn-1)\n  - pn-2\n\n  first\n\n  \
            \\# second\n\n### Chores\n\n- name 4\n\n## 1.0.0 (2026-01-02)\n\n### Features\n\n- name 2\n";
        assert_eq!(changelog(&releases, &titles, &open, true), expected);
        assert_eq!(changelog(&[], &HashMap::new(), &[], false), "# Changelog\n");
    }
}
