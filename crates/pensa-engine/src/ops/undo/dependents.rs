//! Finds the dependents of an event: later changes of the same rows that are in effect.
//!
//! An undo and what it undid cancel each other, so neither depends on earlier events.

use std::collections::HashMap;

use pensa_core::Result;
use pensa_core::event::EventType;

use super::selection::Operation;
use super::{original, refused};
use crate::db::Tx;
use crate::entity::{self, ChangeScope, PastChange};
use crate::tables::operations::{self, LoggedEvent};

/// An event, reduced to what decides about dependents.
#[derive(Debug)]
pub(super) struct LoggedChange {
    id: i64,
    summary: String,
    scopes: Vec<ChangeScope>,
    undoes: Vec<i64>,
    /// Whether a lease expired
    is_expiry: bool,
}

impl LoggedChange {
    pub(super) fn of(tx: &Tx<'_>, event: &LoggedEvent) -> Result<Self> {
        // Renewals never prevent an undo.
        let is = |event_type: EventType| event.event_type == event_type.as_str();
        let scopes = if is(EventType::LeaseRenewed) { Vec::new() } else { changed_scopes(tx, event)? };
        let is_expiry = is(EventType::LeaseExpired);
        Ok(Self { id: event.id, summary: event.summary(), scopes, undoes: event.undoes(), is_expiry })
    }
}

/// What an event changed.
pub(super) fn changed_scopes(tx: &Tx<'_>, event: &LoggedEvent) -> Result<Vec<ChangeScope>> {
    Ok(entity::changes_of(tx, event.id)?.iter().flat_map(PastChange::scopes).collect())
}

/// Loads the log of each subject from the first relevant event on.
#[derive(Debug)]
pub(super) struct Dependents<'t> {
    tx: &'t Tx<'t>,
    from: i64,
    /// By kind and id
    subjects: HashMap<String, Vec<LoggedChange>>,
}

impl<'t> Dependents<'t> {
    pub(super) fn since(tx: &'t Tx<'t>, from: i64) -> Self {
        Self { tx, from, subjects: HashMap::new() }
    }

    fn changes(&mut self, event: &LoggedEvent) -> Result<&mut Vec<LoggedChange>> {
        let subject = format!("{} {}", event.subject_kind, event.subject_id);
        if !self.subjects.contains_key(&subject) {
            let events = match event.is_about_issue() {
                true => operations::of_issue(self.tx, &event.subject_id, self.from)?,
                false => operations::of_subject(self.tx, &event.subject_kind, &event.subject_id, self.from)?,
            };
            let changes = events.iter().map(|event| LoggedChange::of(self.tx, event)).collect::<Result<Vec<_>>>()?;
            self.subjects.insert(subject.clone(), changes);
        }
        Ok(self.subjects.entry(subject).or_default())
    }

    /// A summary of the event that undid this one, unless that was undone too.
    fn undone_by(&mut self, event: &LoggedEvent) -> Result<Option<String>> {
        let changes = self.changes(event)?;
        let by = undone(after(changes, event.id)).get(&event.id).copied();
        Ok(changes.iter().find(|change| Some(change.id) == by).map(|change| change.summary.clone()))
    }

    /// Whether an operation is undone; one undone event is enough. A claim whose lease has expired counts as undone.
    pub(super) fn is_undone(&mut self, operation: &Operation) -> Result<bool> {
        let Some(event) = operation.events.first() else { return Ok(true) };
        if self.undone_by(event)?.is_some() {
            return Ok(true);
        }
        let is_claim = original(self.tx, event)?.event_type == EventType::Claimed.as_str();
        Ok(is_claim
            && operation.events.len() == 1
            && in_effect_after(self.changes(event)?, event.id).any(|change| change.is_expiry))
    }

    /// Refuses an event that is not in effect or has dependents.
    pub(super) fn refuse_dependents(&mut self, event: &LoggedEvent) -> Result<()> {
        if let Some(by) = self.undone_by(event)? {
            let error = refused(event, &format!("{by} has done so already"));
            return Err(error.hint("pn redo --event brings it back"));
        }
        let scopes = changed_scopes(self.tx, event)?;
        let changes = self.changes(event)?;
        let touches =
            |change: &&LoggedChange| change.scopes.iter().any(|scope| scopes.iter().any(|own| own.overlaps(scope)));
        match in_effect_after(changes, event.id).find(touches) {
            None => Ok(()),
            Some(change) => {
                let error = refused(event, &format!("{} depends on it", change.summary));
                Err(error.hint("take the later change back first, or select both"))
            }
        }
    }

    /// Records that an event was undone.
    pub(super) fn record_undone(&mut self, event: &LoggedEvent, by: LoggedChange) -> Result<()> {
        let changes = self.changes(event)?;
        let at = changes.iter().position(|change| change.id == event.id);
        match at {
            // All later events have no effect, so they need not be remembered.
            Some(at) if in_effect_after(changes, event.id).next().is_none() => changes.truncate(at),
            _ => changes.push(by),
        }
        Ok(())
    }
}

/// The changes after an event.
fn after(changes: &[LoggedChange], id: i64) -> &[LoggedChange] {
    &changes[changes.partition_point(|change| change.id <= id)..]
}

/// The changes after an event that are in effect, except undos of events that came after it too.
fn in_effect_after(changes: &[LoggedChange], id: i64) -> impl Iterator<Item = &LoggedChange> {
    let after = after(changes, id);
    let undone = undone(after);
    let has_no_effect =
        move |change: &LoggedChange| !change.undoes.is_empty() && change.undoes.iter().all(|other| *other > id);
    after.iter().filter(move |change| !undone.contains_key(&change.id) && !has_no_effect(change))
}

/// Each event that is not in effect, with the event that undid it. An undo that was undone has no effect either.
fn undone(changes: &[LoggedChange]) -> HashMap<i64, i64> {
    let mut undone = HashMap::new();
    for change in changes.iter().rev() {
        if !undone.contains_key(&change.id) {
            change.undoes.iter().for_each(|id| {
                undone.entry(*id).or_insert(change.id);
            });
        }
    }
    undone
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log of one issue: number, changed field and undone events of each event.
    fn log(events: &[(i64, &str, &[i64])]) -> Vec<LoggedChange> {
        let change = |(id, field, undoes): &(i64, &str, &[i64])| LoggedChange {
            id: *id,
            summary: id.to_string(),
            scopes: vec![ChangeScope::Row("row".to_owned(), Some((*field).to_owned()))],
            undoes: undoes.to_vec(),
            is_expiry: false,
        };
        events.iter().map(change).collect()
    }

    fn dependents(changes: &[LoggedChange], id: i64) -> Vec<i64> {
        in_effect_after(changes, id).map(|change| change.id).collect()
    }

    #[test]
    fn an_undo_and_what_it_undid_depend_on_no_earlier_event() {
        let changes = log(&[(1, "a", &[]), (2, "a", &[]), (3, "a", &[2])]);
        assert!(dependents(&changes, 1).is_empty());
        assert_eq!(undone(&changes).get(&2), Some(&3));
    }

    #[test]
    fn a_redone_change_is_a_dependent_again() {
        let changes = log(&[(1, "a", &[]), (2, "a", &[]), (3, "a", &[2]), (4, "a", &[3])]);
        assert_eq!(dependents(&changes, 1), [2]);
        assert_eq!(undone(&changes), HashMap::from([(3, 4)]));
        let changes = log(&[(1, "a", &[]), (2, "a", &[]), (3, "a", &[2]), (4, "a", &[3]), (5, "a", &[4])]);
        assert!(dependents(&changes, 1).is_empty());
    }

    #[test]
    fn an_undo_of_an_earlier_event_is_a_dependent_of_a_later_undo() {
        // 3 undid 2, then 4 undid 1: redoing 2 would apply it to a state without 1.
        let changes = log(&[(1, "a", &[]), (2, "a", &[]), (3, "a", &[2]), (4, "a", &[1])]);
        assert_eq!(dependents(&changes, 3), [4]);
    }
}
