//! Provides two MCP resources: the current work, and the queue of ready issues.

use pensa_core::Result;
use pensa_core::issue::{Issue, Status};
use pensa_core::ops::issue;
use pensa_core::ops::work::Current;
use rmcp::model::Resource;

use super::StoreCalls;
use super::page::{DataOrigin, TextPage, issue_line};
use super::tools;

const NOW: &str = "pensa://now";
const NEXT: &str = "pensa://next";
pub(super) const MEDIA_TYPE: &str = "text/plain";
/// Maximum issues in each resource.
const LIMIT: u32 = 20;

pub(super) fn list() -> Vec<Resource> {
    let resource = |uri, name, about| Resource::new(uri, name).with_description(about).with_mime_type(MEDIA_TYPE);
    vec![
        resource(NOW, "now", "What I am doing, and the issues I hold"),
        resource(NEXT, "next", "The queue: issues that are ready"),
    ]
}

/// The text of a resource; `None` if the URI is unknown.
pub(super) async fn read<C: StoreCalls>(calls: &C, uri: &str) -> Option<Result<String>> {
    match uri {
        NOW => Some(now(calls).await),
        NEXT => Some(next(calls).await),
        _ => None,
    }
}

async fn now<C: StoreCalls>(calls: &C) -> Result<String> {
    let mine = Some(calls.actor().await?);
    let doing = calls.call(Current { actor: calls.actor().await?, issue: None }).await?;
    let op = issue::List { status: Some(Status::InProgress), assignee: mine, limit: Some(LIMIT), ..Default::default() };
    let held = issue_list("I hold", "I hold no issue", &calls.call(op).await?)?;
    Ok(match doing {
        Some(work) => format!("I am doing\n{}{held}", tools::work_output(&work)?.text),
        None => held,
    })
}

async fn next<C: StoreCalls>(calls: &C) -> Result<String> {
    let op = issue::Ready { limit: Some(LIMIT), ..Default::default() };
    issue_list("ready", "nothing is ready", &calls.call(op).await?)
}

fn issue_list(head: &str, none: &str, issues: &[Issue]) -> Result<String> {
    let mut page = TextPage::new(None)?;
    page.note(if issues.is_empty() { none } else { head });
    let lines: Vec<String> = issues.iter().map(issue_line).collect();
    let shown = page.lines(&DataOrigin::new("issues"), &lines);
    if shown < lines.len() {
        page.note(&format!("[{} left out]", lines.len() - shown));
    }
    Ok(page.finish())
}
