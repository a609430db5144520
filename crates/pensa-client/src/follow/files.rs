//! Follows the log of a store on this machine: it looks whether anybody has committed, which costs next to nothing.

use std::thread;
use std::time::Duration;

use pensa_core::event::LogEntry;
use pensa_core::ops::event::{List, Page};
use pensa_core::{Code, Error, Result, Timestamp};
use pensa_engine::{Engine, Mark};

/// How often a store's files are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// A store on this machine.
pub(super) struct Files {
    engine: Engine,
    /// How the store looked when all of its log was read; none if there may be more.
    mark: Option<Mark>,
    right_until: Option<Timestamp>,
    /// The last event that was seen, by number and time.
    known: Option<(i64, Timestamp)>,
}

impl Files {
    pub(super) fn of(engine: Engine) -> Self {
        Self { engine, mark: None, right_until: None, known: None }
    }

    /// What is new; after a moment, if nothing is.
    pub(super) fn look(&mut self, wanted: &List, after: i64) -> Result<(Vec<LogEntry>, i64)> {
        if self.engine.is_orphaned() {
            self.engine = self.engine.another()?;
            self.mark = None;
            self.recognise()?;
        }
        let mark = self.engine.mark()?;
        let is_overdue = self.right_until.map_or(Ok(false), |end| self.engine.now().map(|now| now >= end))?;
        if self.mark == Some(mark) && !is_overdue {
            thread::sleep(LOOK);
            return Ok((Vec::new(), after));
        }
        let Page { events, last, end } = self.engine.call("reader", wanted)?;
        if end < after {
            return Err(replaced());
        }
        if let Some(event) = events.last() {
            self.known = Some((event.id, event.created_at));
        }
        // What was committed since the mark was taken is seen at the next look.
        self.mark = (last >= end && !is_overdue).then_some(mark);
        self.right_until = self.engine.right_until()?;
        Ok((events, last))
    }

    /// Whether the log of a database that took the place of another goes on where that ended.
    fn recognise(&self) -> Result<()> {
        let Some((id, at)) = self.known else { return Ok(()) };
        let there = List { after: Some(id - 1), limit: Some(1), ..List::default() };
        let page = self.engine.call("reader", &there)?;
        match page.events.first() {
            Some(event) if event.id == id && event.created_at != at => Err(replaced()),
            _ => Ok(()),
        }
    }
}

fn replaced() -> Error {
    Error::new(Code::Conflict, "the log is not the one that was followed: the database was replaced")
        .hint("look at everything again, then follow from the end")
}
