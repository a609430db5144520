//! What stands on an event: later changes of the same thing that are in effect.
//!
//! An undo and what it took back cancel each other, so neither stands on anything before them.

use std::collections::HashMap;

use pensa_core::Result;
use pensa_core::effect::Thing;
use pensa_core::event::EventType;

use super::selection::Operation;
use super::{original, refused};
use crate::db::Tx;
use crate::entity;
use crate::tables::operations::{self, Line};

/// What matters of a line of the log.
#[derive(Debug)]
pub(super) struct Mark {
    id: i64,
    told: String,
    things: Vec<Thing>,
    undoes: Vec<i64>,
    /// Whether it tells that a lease ran out.
    is_expiry: bool,
}

impl Mark {
    pub(super) fn of(tx: &Tx<'_>, line: &Line) -> Result<Self> {
        // A renewal is in nobody's way.
        let is = |event: EventType| line.event_type == event.as_str();
        let things = if is(EventType::LeaseRenewed) { Vec::new() } else { things(tx, line)? };
        let is_expiry = is(EventType::LeaseExpired);
        Ok(Self { id: line.id, told: line.told(), things, undoes: line.undoes(), is_expiry })
    }
}

/// What a line changed.
fn things(tx: &Tx<'_>, line: &Line) -> Result<Vec<Thing>> {
    let changes = entity::changes_of(tx, line.id)?;
    if line.is_of_issue() {
        let things = line.effect()?.things();
        if changes.is_empty() || things.contains(&Thing::Whole) {
            return Ok(things);
        }
    }
    let mut things = Vec::new();
    for change in changes {
        match change.scope() {
            (row, None) => things.push(Thing::Row(row, None)),
            (row, Some(columns)) => {
                things.extend(columns.into_iter().map(|column| Thing::Row(row.clone(), Some(column))));
            }
        }
    }
    Ok(things)
}

/// The log of everything that is looked at, from the first line that matters.
#[derive(Debug)]
pub(super) struct Standing<'t> {
    tx: &'t Tx<'t>,
    from: i64,
    /// By kind and id.
    subjects: HashMap<String, Vec<Mark>>,
}

impl<'t> Standing<'t> {
    pub(super) fn since(tx: &'t Tx<'t>, from: i64) -> Self {
        Self { tx, from, subjects: HashMap::new() }
    }

    fn marks(&mut self, line: &Line) -> Result<&mut Vec<Mark>> {
        let subject = format!("{} {}", line.subject_kind, line.subject_id);
        if !self.subjects.contains_key(&subject) {
            let lines = match line.is_of_issue() {
                true => operations::of_issue(self.tx, &line.subject_id, self.from)?,
                false => operations::of_subject(self.tx, &line.subject_kind, &line.subject_id, self.from)?,
            };
            let marks = lines.iter().map(|line| Mark::of(self.tx, line)).collect::<Result<Vec<_>>>()?;
            self.subjects.insert(subject.clone(), marks);
        }
        Ok(self.subjects.entry(subject).or_default())
    }

    /// What took back a line, if that is still so.
    fn taken_back_by(&mut self, line: &Line) -> Result<Option<String>> {
        let marks = self.marks(line)?;
        let by = undone(after(marks, line.id)).get(&line.id).copied();
        Ok(marks.iter().find(|mark| Some(mark.id) == by).map(|mark| mark.told.clone()))
    }

    /// Whether an operation was taken back: one of its events is as good as all of them. A claim whose lease ran out is
    /// over too.
    pub(super) fn is_taken_back(&mut self, operation: &Operation) -> Result<bool> {
        let Some(line) = operation.lines.first() else { return Ok(true) };
        if self.taken_back_by(line)?.is_some() {
            return Ok(true);
        }
        let is_claim = original(self.tx, line)?.event_type == EventType::Claimed.as_str();
        Ok(is_claim && operation.lines.len() == 1 && later(self.marks(line)?, line.id).any(|mark| mark.is_expiry))
    }

    /// Refuses a line that is not in effect, or that something stands on.
    pub(super) fn refuse(&mut self, line: &Line) -> Result<()> {
        if let Some(by) = self.taken_back_by(line)? {
            let error = refused(line, &format!("{by} has done so already"));
            return Err(error.hint("pn redo --event brings it back"));
        }
        let things = things(self.tx, line)?;
        let marks = self.marks(line)?;
        let touches = |mark: &&Mark| mark.things.iter().any(|thing| things.iter().any(|own| own.meets(thing)));
        match later(marks, line.id).find(touches) {
            None => Ok(()),
            Some(mark) => {
                let error = refused(line, &format!("{} stands on it", mark.told));
                Err(error.hint("take the later change back first, or select both"))
            }
        }
    }

    /// Notes that a line was taken back.
    pub(super) fn settle(&mut self, line: &Line, by: Mark) -> Result<()> {
        let marks = self.marks(line)?;
        let at = marks.iter().position(|mark| mark.id == line.id);
        match at {
            // All that follows has come to nothing, and is not worth remembering.
            Some(at) if later(marks, line.id).next().is_none() => marks.truncate(at),
            _ => marks.push(by),
        }
        Ok(())
    }
}

/// The lines after one.
fn after(marks: &[Mark], id: i64) -> &[Mark] {
    &marks[marks.partition_point(|mark| mark.id <= id)..]
}

/// The lines after one that are in effect, except undos of what came after it too.
fn later(marks: &[Mark], id: i64) -> impl Iterator<Item = &Mark> {
    let after = after(marks, id);
    let undone = undone(after);
    let came_to_nothing = move |mark: &Mark| !mark.undoes.is_empty() && mark.undoes.iter().all(|other| *other > id);
    after.iter().filter(move |mark| !undone.contains_key(&mark.id) && !came_to_nothing(mark))
}

/// Each line that is not in effect, and what took it back. An undo that was taken back has no effect either.
fn undone(marks: &[Mark]) -> HashMap<i64, i64> {
    let mut undone = HashMap::new();
    for mark in marks.iter().rev() {
        if !undone.contains_key(&mark.id) {
            mark.undoes.iter().for_each(|id| {
                undone.entry(*id).or_insert(mark.id);
            });
        }
    }
    undone
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log of one issue: each line is a number, what it changes, and what it takes back.
    fn log(lines: &[(i64, &str, &[i64])]) -> Vec<Mark> {
        let mark = |(id, field, undoes): &(i64, &str, &[i64])| Mark {
            id: *id,
            told: id.to_string(),
            things: vec![Thing::Field((*field).to_owned())],
            undoes: undoes.to_vec(),
            is_expiry: false,
        };
        lines.iter().map(mark).collect()
    }

    fn standing(marks: &[Mark], id: i64) -> Vec<i64> {
        later(marks, id).map(|mark| mark.id).collect()
    }

    #[test]
    fn an_undo_and_what_it_took_back_stand_on_nothing_before_them() {
        let marks = log(&[(1, "a", &[]), (2, "a", &[]), (3, "a", &[2])]);
        assert!(standing(&marks, 1).is_empty());
        assert_eq!(undone(&marks).get(&2), Some(&3));
    }

    #[test]
    fn what_was_brought_back_stands_again() {
        let marks = log(&[(1, "a", &[]), (2, "a", &[]), (3, "a", &[2]), (4, "a", &[3])]);
        assert_eq!(standing(&marks, 1), [2]);
        assert_eq!(undone(&marks), HashMap::from([(3, 4)]));
        let marks = log(&[(1, "a", &[]), (2, "a", &[]), (3, "a", &[2]), (4, "a", &[3]), (5, "a", &[4])]);
        assert!(standing(&marks, 1).is_empty());
    }

    #[test]
    fn an_undo_of_what_came_before_stands_on_what_came_between() {
        // 2 was taken back by 3, then 1 by 4: bringing 2 back would put it on the wrong ground.
        let marks = log(&[(1, "a", &[]), (2, "a", &[]), (3, "a", &[2]), (4, "a", &[1])]);
        assert_eq!(standing(&marks, 3), [4]);
    }
}
