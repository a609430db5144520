//! The two things to read: what I am doing, and what comes next.

use pensa_core::Result;
use pensa_core::issue::{Issue, Status};
use pensa_core::ops::issue;
use pensa_core::ops::work::Current;
use rmcp::model::Resource;

use super::Calls;
use super::page::{Page, Source, issue_line};
use super::tools;

const NOW: &str = "pensa://now";
const NEXT: &str = "pensa://next";
pub(super) const MEDIA_TYPE: &str = "text/plain";
/// Most issues in either.
const LIMIT: u32 = 20;

pub(super) fn list() -> Vec<Resource> {
    let resource = |uri, name, about| Resource::new(uri, name).with_description(about).with_mime_type(MEDIA_TYPE);
    vec![
        resource(NOW, "now", "What I am doing, and the issues I hold"),
        resource(NEXT, "next", "The queue: issues that are ready"),
    ]
}

/// The text of a resource; nothing if there is none of that name.
pub(super) async fn read<C: Calls>(calls: &C, uri: &str) -> Option<Result<String>> {
    match uri {
        NOW => Some(now(calls).await),
        NEXT => Some(next(calls).await),
        _ => None,
    }
}

async fn now<C: Calls>(calls: &C) -> Result<String> {
    let mine = Some(calls.actor().await?);
    let doing = calls.call(Current { actor: calls.actor().await?, issue: None }).await?;
    let op = issue::List { status: Some(Status::InProgress), assignee: mine, limit: Some(LIMIT), ..Default::default() };
    let held = told("I hold", "I hold no issue", &calls.call(op).await?)?;
    Ok(match doing {
        Some(work) => format!("I am doing\n{}{held}", tools::told_work(&work)?.text),
        None => held,
    })
}

async fn next<C: Calls>(calls: &C) -> Result<String> {
    let op = issue::Ready { limit: Some(LIMIT), ..Default::default() };
    told("ready", "nothing is ready", &calls.call(op).await?)
}

fn told(head: &str, none: &str, issues: &[Issue]) -> Result<String> {
    let mut page = Page::new(None)?;
    page.say(if issues.is_empty() { none } else { head });
    let lines: Vec<String> = issues.iter().map(issue_line).collect();
    let shown = page.lines(&Source::new("issues"), &lines);
    if shown < lines.len() {
        page.say(&format!("[{} left out]", lines.len() - shown));
    }
    Ok(page.finish())
}
