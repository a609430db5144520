//! Adds the sessions of an issue, and the costs of their inferences.

use std::collections::HashSet;

use pensa_core::Result;
use pensa_core::event::shorten;
use pensa_core::id::{IssueId, RunId};
use pensa_core::session::usage::ByModel;
use pensa_core::session::{Prices, Session, Spent};
use pensa_core::trace::{Kind, TEXT_CHARS, TraceEntry};

use super::{MAX_ROWS, TraceBuilder};
use crate::db::Tx;
use crate::tables::{entries, sessions};

/// Most entries of all sessions that are read for costs.
const MAX_COST_ENTRIES: usize = 100_000;

/// The sessions of the issue, sessions opened by its runs, and the sessions in which its runs took place.
pub(in crate::ops) fn sessions_about(
    tx: &Tx<'_>,
    issue: &IssueId,
    runs: &[&str],
    of_runs: &[String],
) -> Result<Vec<Session>> {
    let mut all = sessions::about(tx, issue, runs, MAX_ROWS)?;
    for id in of_runs {
        all.extend(id.parse().ok().map(|id| sessions::get(tx, &id)).transpose()?.flatten());
    }
    let mut seen = HashSet::new();
    all.retain(|session| seen.insert(session.id.clone()));
    all.sort_by_key(|session| session.created_at);
    Ok(all)
}

pub(super) fn of_sessions(trace: &mut TraceBuilder<'_, '_>) -> Result<()> {
    let runs: Vec<&str> = trace.runs.iter().map(RunId::as_str).collect();
    let all = sessions_about(trace.tx, &trace.issue.id, &runs, &trace.sessions)?;
    trace.note_if_full("sessions", all.len());
    let (mut remaining, mut together, prices) = (MAX_COST_ENTRIES, ByModel::default(), Prices::default());
    for session in all {
        let count = entries::count_of_session(trace.tx, &session.id)?;
        let mut models = ByModel::default();
        remaining -= entries::for_each_cost(trace.tx, &session.id, remaining, |data| {
            models.add(data);
            together.add(data);
        })?;
        let spent = Spent::new(models.finish(), &prices);
        let total: i64 = spent.models.values().map(|usage| usage.tokens.total).sum();
        let mut words = format!("agent {}, {count} entries", session.agent_id);
        if total > 0 {
            words.push_str(&format!(", {} tokens", total));
        }
        if let Some(said) = session.reset_message.as_deref().and_then(|said| said.lines().next()) {
            words.push_str(&format!(": {}", shorten(said, TEXT_CHARS)));
        }
        let opened = TraceEntry::new(session.created_at, Kind::Session, "opened").of(&session.id);
        trace.entries.push(opened.saying(&words));
        trace.entries.extend(
            session
                .ended_at
                .map(|at| TraceEntry::new(at, Kind::Session, "ended").of(&session.id).since(session.created_at)),
        );
        trace.totals.add_session(session.id, session.agent_id, count, spent);
    }
    trace.totals.set_spent(Spent::new(together.finish(), &prices));
    if remaining == 0 {
        trace.notes.push(format!("only {MAX_COST_ENTRIES} entries of sessions were asked what they cost"));
    }
    Ok(())
}
