//! The sessions that an issue had, and what their inferences cost.

use std::collections::HashSet;

use pensa_core::Result;
use pensa_core::event::shorten;
use pensa_core::id::RunId;
use pensa_core::session::Session;
use pensa_core::session::usage::Sum;
use pensa_core::trace::{Kind, Moment, TEXT_CHARS};

use super::{Gathering, MOST};
use crate::tables::{entries, sessions};

/// Most entries, of all sessions together, that are asked what they cost.
const MOST_ENTRIES: usize = 100_000;

/// Sessions about the issue, those of its runs, and those that its runs held.
fn sessions_of(found: &Gathering<'_, '_>) -> Result<Vec<Session>> {
    let runs: Vec<&str> = found.runs.iter().map(RunId::as_str).collect();
    let mut all = sessions::about(found.tx, &found.issue.id, &runs, MOST)?;
    for id in &found.sessions {
        all.extend(id.parse().ok().map(|id| sessions::get(found.tx, &id)).transpose()?.flatten());
    }
    let mut seen = HashSet::new();
    all.retain(|session| seen.insert(session.id.clone()));
    all.sort_by_key(|session| session.created_at);
    Ok(all)
}

pub(super) fn of_sessions(found: &mut Gathering<'_, '_>) -> Result<()> {
    let all = sessions_of(found)?;
    found.is_full("sessions", all.len());
    let mut left = MOST_ENTRIES;
    for session in all {
        let count = entries::count_of_session(found.tx, &session.id)?;
        let mut sum = Sum::default();
        left -= entries::for_each_cost(found.tx, &session.id, left, |data| sum.add(data))?;
        let usage = sum.total();
        let mut words = format!("agent {}, {count} entries", session.agent_id);
        if usage.tokens.total > 0 {
            words.push_str(&format!(", {} tokens", usage.tokens.total));
        }
        if let Some(said) = session.reset_message.as_deref().and_then(|said| said.lines().next()) {
            words.push_str(&format!(": {}", shorten(said, TEXT_CHARS)));
        }
        let opened = Moment::new(session.created_at, Kind::Session, "opened").of(&session.id);
        found.entries.push(opened.saying(&words));
        found.entries.extend(
            session
                .ended_at
                .map(|at| Moment::new(at, Kind::Session, "ended").of(&session.id).since(session.created_at)),
        );
        found.totals.add_session(session.id, session.agent_id, count, usage);
    }
    if left == 0 {
        found.notes.push(format!("only {MOST_ENTRIES} entries of sessions were asked what they cost"));
    }
    Ok(())
}
