//! Counts the open blockers of each issue from the files, before their rows exist. Counting in the database would write
//! every issue twice.

use std::collections::HashMap;

use pensa_core::issue::Status;
use pensa_core::sync::lines;
use serde::Deserialize;

/// Number of blockers by issue. Issues without blockers are absent.
pub(super) type BlockerCounts = HashMap<String, i64>;

#[derive(Deserialize)]
struct IssueStatusLine<'l> {
    #[serde(borrow)]
    id: &'l str,
    status: Status,
    #[serde(borrow, default)]
    parent: Option<&'l str>,
}

#[derive(Deserialize)]
struct DepLine<'l> {
    #[serde(borrow)]
    issue_id: &'l str,
    #[serde(borrow)]
    depends_on_id: &'l str,
}

/// Counts the blockers. `None` unless the files are as an export writes them: every issue and dependency once, sorted,
/// none dangling.
pub(super) fn count(issues: &[u8], deps: &[u8]) -> Option<BlockerCounts> {
    let (mut is_open, mut blockers): (HashMap<&str, bool>, _) = (HashMap::new(), BlockerCounts::new());
    let mut add = |id: &str| match blockers.get_mut(id) {
        Some(count) => *count += 1,
        None => drop(blockers.insert(id.to_owned(), 1)),
    };
    for line in lines(issues) {
        let IssueStatusLine { id, status, parent } = serde_json::from_slice(line.text).ok()?;
        if is_open.insert(id, status != Status::Closed).is_some() {
            return None;
        }
        parent.filter(|_| status != Status::Closed).into_iter().for_each(&mut add);
    }
    let mut last = ("", "");
    for line in lines(deps) {
        let DepLine { issue_id, depends_on_id } = serde_json::from_slice(line.text).ok()?;
        // The order excludes duplicates.
        if (issue_id, depends_on_id) <= last || !is_open.contains_key(issue_id) {
            return None;
        }
        last = (issue_id, depends_on_id);
        if *is_open.get(depends_on_id)? {
            add(issue_id);
        }
    }
    Some(blockers)
}
