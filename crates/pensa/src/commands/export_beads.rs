//! `pn export --format beads`: writes issues, deleted issues and memories as bd, br and bv read them.

use std::collections::BTreeMap;
use std::path::Path;

use pensa_client::Client;
use pensa_core::comment::Comment;
use pensa_core::issue::{Extra, Issue, Status};
use pensa_core::ops::tracker::{
    ExportIssues, TOMBSTONE_SCOPE, Tracker, TrackerComment, TrackerIssue, TrackerMemory, WholeIssue,
};
use pensa_core::ops::{kv, learning};
use pensa_core::session::Object;
use pensa_core::{Result, json};
use pensa_interop::tracker::beads;
use serde_json::Value;

use super::context;
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::progress::with_progress;

/// Issues of one request.
const PAGE: u32 = 1_000;

pub(super) fn run(options: &GlobalOptions, output: Output, file: Option<&Path>) -> Result<()> {
    let lines = with_progress(output, || lines(&connect::client(options)?))?;
    match file {
        None => output.raw(lines.as_bytes()),
        Some(file) => {
            context::write_atomically(file, &lines, 0o666)?;
            output.answer(&context::WrittenFiles { files: vec![file.to_owned()] })
        }
    }
}

/// All lines, issues and deleted issues by id, then memories by key.
fn lines(client: &Client) -> Result<String> {
    let mut records: BTreeMap<String, Object> = BTreeMap::new();
    let prefix = Tracker::Beads.tombstone_key("");
    let list = kv::List { scope: Some(TOMBSTONE_SCOPE.to_owned()), prefix: Some(prefix.clone()), limit: None };
    for pair in client.call(&list)? {
        let Some(id) = pair.key.strip_prefix(&prefix) else { continue };
        records.extend(beads::tombstone_line(&pair.value).map(|line| (id.to_owned(), line)));
    }
    let mut op = ExportIssues { after: None, limit: Some(PAGE) };
    loop {
        let page = client.call(&op)?;
        let Some(last) = page.last().map(|whole| whole.issue.id.clone()) else { break };
        op.after = Some(last);
        for whole in page {
            let id = whole.issue.id.to_string();
            // An issue that was imported, then deleted there, is closed here. If it is open again, it lives.
            let is_deleted = whole.issue.status == Status::Closed && records.contains_key(&id);
            if !is_deleted {
                records.insert(id, beads::line(&tracker_issue(whole)));
            }
        }
    }
    let mut text = String::new();
    let memories = memories(client)?;
    for record in records.values().chain(memories.values()) {
        text.push_str(&json::to_line(record)?);
        text.push('\n');
    }
    Ok(text)
}

fn memories(client: &Client) -> Result<BTreeMap<String, Object>> {
    let learnings = client.call(&learning::List { all: true, ..learning::List::default() })?;
    let memories = learnings.into_iter().filter_map(|shown| {
        let (key, raw) = mark(&shown.learning.extra)?;
        let line = beads::memory_line(&TrackerMemory { key: key.clone(), text: shown.learning.text, raw });
        Some((key, line))
    });
    Ok(memories.collect())
}

/// What an import from beads noted with a record: its key there, and fields that have no place here.
fn mark(extra: &Extra) -> Option<(String, Object)> {
    let mark = extra.get(Tracker::Beads.as_str())?.as_object()?;
    let raw = mark.get("raw").and_then(Value::as_object).cloned().unwrap_or_default();
    Some((mark.get("key")?.as_str()?.to_owned(), raw))
}

fn tracker_issue(whole: WholeIssue) -> TrackerIssue {
    let WholeIssue { issue, deps, comments, refs } = whole;
    let raw = mark(&issue.extra).map(|(_, raw)| raw).unwrap_or_default();
    let Issue { id, title, description, issue_type, status, priority, spec, assignee, labels, .. } = issue;
    TrackerIssue {
        description,
        issue_type,
        status,
        priority,
        spec,
        assignee,
        labels,
        due: issue.due,
        defer: issue.defer,
        estimate: issue.estimate,
        acceptance: issue.acceptance,
        parent: issue.parent,
        deps,
        links: issue.links,
        refs,
        comments: comments.into_iter().map(tracker_comment).collect(),
        created_at: Some(issue.created_at),
        updated_at: Some(issue.updated_at),
        closed_at: issue.closed_at,
        close_reason: issue.close_reason,
        raw,
        ..TrackerIssue::new(id.clone(), id.to_string(), title)
    }
}

fn tracker_comment(comment: Comment) -> TrackerComment {
    let (mut key, raw) = mark(&comment.extra).unwrap_or_default();
    if key.is_empty() {
        key = beads::comment_key(comment.id.as_str());
    }
    TrackerComment { key, author: Some(comment.actor), text: comment.text, at: Some(comment.created_at), raw }
}
