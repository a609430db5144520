//! Adds the sessions of an issue, and the costs of their inferences.

use std::collections::HashSet;

use pensa_core::Result;
use pensa_core::event::shorten;
use pensa_core::id::RunId;
use pensa_core::session::Session;
use pensa_core::session::usage::Sum;
use pensa_core::trace::{Kind, TEXT_CHARS, TraceEntry};

use super::{MAX_ROWS, TraceBuilder};
use crate::tables::{entries, sessions};

/// Most entries of all sessions that are read for costs.
const MAX_COST_ENTRIES: usize = 100_000;

/// The sessions of the issue, sessions opened by its runs, and the sessions in which its runs took place.
fn sessions_of(trace: &TraceBuilder<'_, '_>) -> Result<Vec<Session>> {
    let runs: Vec<&str> = trace.runs.iter().map(RunId::as_str).collect();
    let mut all = sessions::about(trace.tx, &trace.issue.id, &runs, MAX_ROWS)?;
    for id in &trace.sessions {
        all.extend(id.parse().ok().map(|id| sessions::get(trace.tx, &id)).transpose()?.flatten());
    }
    let mut seen = HashSet::new();
    all.retain(|session| seen.insert(session.id.clone()));
    all.sort_by_key(|session| session.created_at);
    Ok(all)
}

pub(super) fn of_sessions(trace: &mut TraceBuilder<'_, '_>) -> Result<()> {
    let all = sessions_of(trace)?;
    trace.note_if_full("sessions", all.len());
    let mut remaining = MAX_COST_ENTRIES;
    for session in all {
        let count = entries::count_of_session(trace.tx, &session.id)?;
        let mut sum = Sum::default();
        remaining -= entries::for_each_cost(trace.tx, &session.id, remaining, |data| sum.add(data))?;
        let usage = sum.total();
        let mut words = format!("agent {}, {count} entries", session.agent_id);
        if usage.tokens.total > 0 {
            words.push_str(&format!(", {} tokens", usage.tokens.total));
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
        trace.totals.add_session(session.id, session.agent_id, count, usage);
    }
    if remaining == 0 {
        trace.notes.push(format!("only {MAX_COST_ENTRIES} entries of sessions were asked what they cost"));
    }
    Ok(())
}
