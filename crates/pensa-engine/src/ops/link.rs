//! Operations on links between issues.

use pensa_core::event::EventType;
use pensa_core::id::IssueId;
use pensa_core::issue::{Issue, Link, LinkedIssue};
use pensa_core::ops::link::{Add, LinkChange, List, Remove};
use pensa_core::{Error, Result};
use serde_json::Map;

use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::tables::issues;

/// Links an issue to another and logs it; nothing happens if it is linked already.
pub(super) fn link(cx: &Context<'_>, tx: &Tx<'_>, issue: &Issue, link: Link) -> Result<Issue> {
    let mut linked = issue.clone();
    linked.link(link)?;
    issues::save(cx, tx, issue, linked, EventType::Updated, Map::new())
}

/// The links of other issues to an issue.
pub(super) fn incoming(tx: &Tx<'_>, id: &IssueId) -> Result<Vec<LinkedIssue>> {
    let mut links = Vec::new();
    for other in issues::linking_to(tx, id)? {
        for link in other.links.iter().filter(|link| link.to == *id) {
            let (title, status) = (Some(other.title.clone()), Some(other.status));
            links.push(LinkedIssue { kind: link.kind, incoming: true, id: other.id.clone(), title, status });
        }
    }
    Ok(links)
}

impl Execute for Add {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<LinkChange> {
        let issue = issues::find(cx, tx, &self.id)?;
        let to = issues::find(cx, tx, &self.to)?.id;
        link(cx, tx, &issue, Link { kind: self.kind, to: to.clone() })?;
        Ok(LinkChange { status: "added".into(), id: issue.id, to, kinds: vec![self.kind] })
    }
}

impl Execute for List {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<LinkedIssue>> {
        let issue = issues::find(cx, tx, &self.id)?;
        let mut links = Vec::new();
        for Link { kind, to } in issue.links {
            let other = issues::get(tx, &to)?;
            let (title, status) = other.map(|other| (other.title, other.status)).unzip();
            links.push(LinkedIssue { kind, incoming: false, id: to, title, status });
        }
        links.extend(incoming(tx, &issue.id)?);
        Ok(links)
    }
}

impl Execute for Remove {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<LinkChange> {
        let (one, other) = (issues::find(cx, tx, &self.id)?, issues::find(cx, tx, &self.to)?);
        let mut kinds = Vec::new();
        for (issue, to) in [(&one, &other.id), (&other, &one.id)] {
            let is_meant = |link: &Link| link.to == *to && self.kind.is_none_or(|kind| kind == link.kind);
            let mut unlinked = issue.clone();
            unlinked.links.retain(|link| !is_meant(link));
            kinds.extend(issue.links.iter().filter(|link| is_meant(link)).map(|link| link.kind));
            issues::save(cx, tx, issue, unlinked, EventType::Updated, Map::new())?;
        }
        if kinds.is_empty() {
            let error = Error::not_found("link", format!("between {} and {}", one.id, other.id));
            return Err(error.hint("pn link list shows the links of an issue"));
        }
        Ok(LinkChange { status: "removed".into(), id: one.id, to: other.id, kinds })
    }
}
