//! Reads the SQLite database of br as the objects that its JSONL would have.

use std::collections::HashMap;
use std::path::Path;

use pensa_core::session::Object;
use pensa_core::{Error, Result};
use serde_json::Value;

use super::{ItemPlace, TrackerFile, fields};
use crate::database::CopiedDatabase;

/// Columns that contain JSON as text.
const JSON_COLUMNS: [&str; 4] = ["metadata", "agent_context", "bonded_from", "waiters"];
/// Columns that are booleans in JSONL.
const BOOLEANS: [&str; 3] = ["ephemeral", "pinned", "is_template"];

/// The issues of a database, with labels, dependencies and comments.
pub(super) fn read(path: &Path, file: &mut TrackerFile) -> Result<Vec<Object>> {
    let name = path.file_name().unwrap_or_default().display();
    let database = CopiedDatabase::open(path, &JSON_COLUMNS).map_err(|e| Error::invalid(format!("{name} {e}")))?;
    let tables = database.tables().map_err(|e| Error::invalid(format!("{name} {e}")))?;
    if !tables.iter().any(|table| table == "issues") {
        return Err(Error::invalid(format!("{name} has no issues")).hint("the database of br is .beads/beads.db"));
    }
    let mut rows = |table: &str| {
        if !tables.iter().any(|known| known == table) {
            return Vec::new();
        }
        let (rows, problem) = database.rows(table);
        if let Some(problem) = problem {
            file.skip(ItemPlace::default(), None, format!("table {table} {problem}"));
        }
        rows
    };
    let mut labels = by_issue(rows("labels"));
    let mut dependencies = by_issue(rows("dependencies"));
    let mut comments = by_issue(rows("comments"));
    let mut issues = rows("issues");
    for issue in &mut issues {
        let id = fields::text(issue, "id").unwrap_or_default();
        for name in BOOLEANS {
            if let Some(value) = issue.get_mut(name) {
                *value = if value.as_i64() == Some(1) { Value::Bool(true) } else { Value::Null };
            }
        }
        issue.retain(|_, value| !fields::is_empty(value));
        let words = labels.remove(&id).unwrap_or_default();
        let mut words: Vec<Value> = words.into_iter().filter_map(|mut row| row.shift_remove("label")).collect();
        words.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        put(issue, "labels", words);
        put(issue, "dependencies", objects(dependencies.remove(&id)));
        put(issue, "comments", objects(comments.remove(&id)));
    }
    Ok(issues)
}

fn by_issue(rows: Vec<Object>) -> HashMap<String, Vec<Object>> {
    let mut all: HashMap<String, Vec<Object>> = HashMap::new();
    for mut row in rows {
        let id = fields::text(&row, "issue_id").unwrap_or_default();
        row.retain(|_, value| !fields::is_empty(value));
        all.entry(id).or_default().push(row);
    }
    all
}

fn objects(rows: Option<Vec<Object>>) -> Vec<Value> {
    rows.unwrap_or_default().into_iter().map(Value::Object).collect()
}

fn put(issue: &mut Object, name: &str, values: Vec<Value>) {
    if !values.is_empty() {
        issue.insert(name.to_owned(), values.into());
    }
}
