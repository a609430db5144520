//! How many open issues each one waits for, counted in the files before any of it is a row: counting in the database
//! means to write every issue twice.

use std::collections::HashMap;

use pensa_core::issue::Status;
use pensa_core::sync::lines;
use serde::Deserialize;

/// Blockers by issue. What is not in it waits for nothing.
pub(super) type Blockers = HashMap<String, i64>;

#[derive(Deserialize)]
struct Standing<'l> {
    #[serde(borrow)]
    id: &'l str,
    status: Status,
}

#[derive(Deserialize)]
struct Ends<'l> {
    #[serde(borrow)]
    issue_id: &'l str,
    #[serde(borrow)]
    depends_on_id: &'l str,
}

/// Counts, if the files are as an export writes them: every issue and every dependency once, and nothing deleted.
pub(super) fn blockers(issues: &[u8], deps: &[u8]) -> Option<Blockers> {
    let mut is_open: HashMap<&str, bool> = HashMap::new();
    for line in lines(issues) {
        let Standing { id, status } = serde_json::from_slice(line.text).ok()?;
        if is_open.insert(id, status != Status::Closed).is_some() {
            return None;
        }
    }
    let (mut blockers, mut last) = (Blockers::new(), ("", ""));
    for line in lines(deps) {
        let Ends { issue_id, depends_on_id } = serde_json::from_slice(line.text).ok()?;
        // In order, so that none stands there twice.
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
