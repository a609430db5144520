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
    let mut is_open: HashMap<&str, bool> = HashMap::new();
    for line in lines(issues) {
        let IssueStatusLine { id, status } = serde_json::from_slice(line.text).ok()?;
        if is_open.insert(id, status != Status::Closed).is_some() {
            return None;
        }
    }
    let (mut blockers, mut last) = (BlockerCounts::new(), ("", ""));
    for line in lines(deps) {
        let DepLine { issue_id, depends_on_id } = serde_json::from_slice(line.text).ok()?;
        // The order excludes duplicates.
        if (issue_id, depends_on_id) <= last || !is_open.contains_key(issue_id) {
            return None;
        }
        last = (issue_id, depends_on_id);
        if *is_open.get(depends_on_id)? {
            match blockers.get_mut(issue_id) {
                Some(count) => *count += 1,
                None => drop(blockers.insert(issue_id.to_owned(), 1)),
            }
        }
    }
    Some(blockers)
}
