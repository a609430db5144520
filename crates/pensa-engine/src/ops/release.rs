//! Operations on releases.

use std::collections::{HashMap, HashSet};

use pensa_core::id::IssueId;
use pensa_core::issue::{Extra, Issue, Status};
use pensa_core::ops::release::{Changelog, ChangelogText, List, Ship, Shipped};
use pensa_core::release::{self as rules, ClosedIssue, Release};
use pensa_core::{Error, Result, text};

use crate::context::Context;
use crate::db::{Param, Tx};
use crate::entity::StoredEntity;
use crate::execute::Execute;
use crate::tables::{issues, releases};

/// Most issues listed as `Unreleased`.
const MAX_UNRELEASED: usize = 1000;
/// Issues per query.
const ISSUES_PER_QUERY: usize = 100;

impl Execute for Ship {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Shipped> {
        let name = text::line("name", &self.name)?.to_owned();
        rules::check_version(&self.version)?;
        let notes = text::optional_block("notes", self.notes.as_ref())?;
        let mut named: Vec<Issue> = Vec::new();
        for reference in self.issues.iter().take(rules::MAX_ISSUES + 1) {
            let issue = issues::find(cx, tx, reference)?;
            if !named.iter().any(|other| other.id == issue.id) {
                named.push(issue);
            }
        }
        let open = named.iter().filter(|issue| issue.status != Status::Closed).map(|issue| issue.id.clone()).collect();
        let release = Release {
            id: releases::new_id(cx, tx)?,
            name,
            version: self.version.clone(),
            kind: self.kind,
            issues: named.into_iter().map(|issue| issue.id).collect(),
            notes,
            actor: cx.actor.clone(),
            shipped_at: cx.now,
            extra: Extra::new(),
        };
        rules::check_issues(&release.issues)?;
        Release::store(cx, tx, None, &release)?;
        Ok(Shipped { release, open })
    }
}

impl Execute for List {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Release>> {
        releases::list(tx, None, self.limit)
    }
}

impl Execute for Changelog {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<ChangelogText> {
        let after = match &self.since {
            None => None,
            Some(version) => {
                rules::check_version(version)?;
                let unknown = || Error::not_found("version", version).hint("pn shipped shows those that there are");
                Some(releases::shipped_in(tx, version)?.ok_or_else(unknown)?)
            }
        };
        let all = releases::list(tx, None, None)?;
        let released: HashSet<&IssueId> = all.iter().flat_map(|release| &release.issues).collect();
        // A release with issues ships those; one without ships everything closed before it.
        let whole = all.iter().find(|release| release.issues.is_empty()).map(|release| release.shipped_at);
        let since = whole.map_or_else(String::new, |since| since.to_string());
        let most = MAX_UNRELEASED + released.len() + 1;
        let rest = "WHERE i.status = 'closed' AND i.closed_at > ?1 ORDER BY i.closed_at DESC, i.id LIMIT ?2";
        let limit = Param::Int(i64::try_from(most).unwrap_or(i64::MAX));
        let mut closed = issues::query(tx, rest, &[since.into(), limit])?;
        closed.retain(|issue| !released.contains(&issue.id));
        let is_cut = closed.len() > MAX_UNRELEASED;
        closed.truncate(MAX_UNRELEASED);
        let closed: Vec<ClosedIssue> =
            closed.into_iter().map(|issue| ClosedIssue { id: issue.id, title: issue.title }).collect();
        let shipped: Vec<Release> = all.iter().filter(|release| Some(release.shipped_at) > after).cloned().collect();
        let named: HashSet<&IssueId> = shipped.iter().flat_map(|release| &release.issues).collect();
        let markdown = rules::changelog(&shipped, &titles(tx, &named)?, &closed, is_cut);
        Ok(ChangelogText { markdown })
    }
}

/// The titles of the issues that exist.
fn titles(tx: &Tx<'_>, named: &HashSet<&IssueId>) -> Result<HashMap<IssueId, String>> {
    let all: Vec<&IssueId> = named.iter().copied().collect();
    let mut titles = HashMap::new();
    for some in all.chunks(ISSUES_PER_QUERY) {
        let placeholders = (1..=some.len()).map(|at| format!("?{at}")).collect::<Vec<_>>().join(", ");
        let params: Vec<Param<'_>> = some.iter().map(|id| Param::from(*id)).collect();
        let existing = issues::query(tx, &format!("WHERE i.id IN ({placeholders})"), &params)?;
        titles.extend(existing.into_iter().map(|issue| (issue.id, issue.title)));
    }
    Ok(titles)
}
