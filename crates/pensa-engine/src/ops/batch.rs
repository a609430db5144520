//! Executes many operations in one transaction.

use pensa_core::id::IssueId;
use pensa_core::ops::batch::{Batch, MAX_OPERATIONS};
use pensa_core::{Access, Code, Error, Result, Scope};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::db::Tx;
use crate::execute::{Entry, Execute, entry};

impl Execute for Batch {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Value>> {
        if self.operations.len() > MAX_OPERATIONS {
            return Err(Error::new(
                Code::TooLarge,
                format!("the batch has {} operations; the limit is {MAX_OPERATIONS}", self.operations.len()),
            ));
        }
        let lines = self.operations.iter().enumerate();
        let each = lines.filter_map(|(at, fields)| Some((at + 1, fields.clone()?)));
        each.map(|(line, fields)| one(cx, tx, fields).map_err(|e| e.within(format!("line {line}")))).collect()
    }
}

/// Operations that import files, finish what processes left behind, or undo whole operations, which a batch is itself.
const NOT_ALLOWED: [&str; 11] = [
    "agent.import",
    "batch",
    "import.records",
    "job.import",
    "job.settle",
    "learning.take",
    "loop.recover",
    "loop.take",
    "signal.take",
    "skill.import",
    "undo",
];

/// Entities managed outside of transactions.
const NOT_ALLOWED_NOUNS: [&str; 3] = ["snapshot.", "store.", "sync."];

/// Whether a batch may contain an operation: every change of the store's own state, and reading issues.
fn is_allowed(entry: &Entry) -> bool {
    if entry.access == Access::Read {
        return ["issue.", "dep.", "comment."].iter().any(|noun| entry.name.starts_with(noun));
    }
    entry.scope == Scope::Store
        && entry.alone.is_none()
        && !NOT_ALLOWED.contains(&entry.name)
        && !NOT_ALLOWED_NOUNS.iter().any(|noun| entry.name.starts_with(noun))
}

fn one(cx: &Context<'_>, tx: &Tx<'_>, mut fields: Map<String, Value>) -> Result<Value> {
    let op = text_field(&mut fields, "op")?.ok_or_else(|| {
        Error::invalid("\"op\" is missing").hint(r#"such as {"op":"issue.create","title":"…","issue_type":"task"}"#)
    })?;
    let name = text_field(&mut fields, "as")?;
    let entry = entry(&op).filter(|entry| is_allowed(entry)).ok_or_else(|| {
        Error::invalid(format!("no operation {op:?} in a batch"))
            .hint("operations are called issue.create, dep.add, learning.remember and so on")
    })?;
    let result = (entry.run)(cx, tx, &Value::Object(fields))?;
    let result: Value = serde_json::from_str(&result).map_err(Error::internal)?;
    if let Some(name) = name {
        let made = result["id"].as_str().filter(|_| op.starts_with("issue."));
        let id = made.ok_or_else(|| Error::invalid(format!("{op} makes no issue to name {name:?}")))?;
        cx.name(name, id.parse::<IssueId>()?);
    }
    Ok(result)
}

fn text_field(fields: &mut Map<String, Value>, key: &str) -> Result<Option<String>> {
    match fields.shift_remove(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Error::invalid(format!("{key:?} must be a text"))),
    }
}
