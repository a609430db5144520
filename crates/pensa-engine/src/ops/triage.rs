//! Operations that say what matters among the issues that are not closed, and why.

use std::cmp::Reverse;
use std::collections::HashSet;

use pensa_core::id::IssueId;
use pensa_core::issue::Issue;
use pensa_core::ops::triage::{CHARTED, Chart, Diff, Graph, Impact, Insights, Plan, Why};
use pensa_core::time::Since;
use pensa_core::triage::{self, Triage, chart, diff};
use pensa_core::{Error, Result, Timestamp};

use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::progress::progress;
use crate::tables::issue_query::{self, Selection};
use crate::tables::{issues, triage as rows};

fn read(cx: &Context<'_>, tx: &Tx<'_>) -> Result<Triage> {
    Ok(Triage::new(rows::input(tx, cx.now, false)?))
}

impl Execute for Insights {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<triage::Insights> {
        let triage = read(cx, tx)?;
        progress().begin(triage.steps());
        let insights = triage.insights(self.most(), self.stale(), |_| progress().advance(1));
        progress().end();
        Ok(insights)
    }
}

impl Execute for Plan {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<triage::Plan> {
        if self.agents.is_some_and(|agents| !(1..=1000).contains(&agents)) {
            return Err(Error::invalid("agents is out of range").hint("from 1 to 1000"));
        }
        Ok(Triage::new(rows::input(tx, cx.now, true)?).plan(self.agents, self.most()))
    }
}

impl Execute for Why {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<triage::Why> {
        let issue = issues::find(cx, tx, &self.id)?;
        Ok(triage::Why::of(&read(cx, tx)?, &issue))
    }
}

impl Execute for Impact {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<triage::Impact> {
        let issue = issues::find(cx, tx, &self.id)?;
        Ok(triage::Impact::of(&read(cx, tx)?, &issue))
    }
}

impl Execute for Diff {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<diff::Diff> {
        let (since, until) = between(cx, self.since, self.until)?;
        // What happened at this very moment is wanted too, unless a time was given.
        let end = if self.until.is_some() { until } else { until.plus(pensa_core::Span::from_millis(1)) };
        let mut changes = diff::DiffBuilder::default();
        rows::log_between(tx, since, end, |entry| changes.add(entry))?;
        let titles = rows::titles(tx, changes.untitled())?;
        Ok(changes.finish(since, until, &titles))
    }
}

/// Sorts issues by how many become ready through each; those with as many stay in their order.
pub(super) fn by_impact(cx: &Context<'_>, tx: &Tx<'_>, issues: &mut [Issue]) -> Result<()> {
    let freed = read(cx, tx)?.freed();
    issues.sort_by_key(|issue| Reverse(freed.get(&issue.id).copied()));
    Ok(())
}

/// The times that are meant; until now if none is given.
fn between(cx: &Context<'_>, since: Since, until: Option<Since>) -> Result<(Timestamp, Timestamp)> {
    let (since, until) = (since.as_of(cx.now), until.map_or(cx.now, |until| until.as_of(cx.now)));
    if until < since {
        let error = Error::invalid(format!("until is before since: {until} before {since}"));
        return Err(error.hint("--since 7d --until 1d is the week before yesterday"));
    }
    Ok((since, until))
}

impl Execute for Graph {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<triage::Network> {
        let meant = match &self.q {
            Some(q) => Some(matching(cx, tx, q)?),
            None => None,
        };
        Ok(read(cx, tx)?.network(|id| meant.as_ref().is_none_or(|meant| meant.contains(id)), self.most()))
    }
}

/// The issues that match a query.
fn matching(cx: &Context<'_>, tx: &Tx<'_>, query: &str) -> Result<HashSet<IssueId>> {
    let query = issue_query::parse(cx, tx, query, false)?;
    let (condition, values) = Selection::new("i.status <> 'closed'").matching(cx, tx, &query)?.into_sql();
    let ids = tx.query(&format!("SELECT i.id FROM issues i WHERE {condition}"), &values, |row| row.parse(0))?;
    Ok(ids.into_iter().collect())
}

impl Execute for Chart {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<chart::Chart> {
        let (since, until) = between(cx, self.since.unwrap_or(CHARTED), self.until)?;
        if since < chart::earliest(until) {
            return Err(Error::invalid("a chart has ten years at most").hint("give a later --since"));
        }
        Ok(chart::chart(&rows::lives(tx)?, since, until))
    }
}
