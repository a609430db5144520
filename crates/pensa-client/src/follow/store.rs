//! Follows the log of a local store by polling for commits, which is cheap.

use std::thread;
use std::time::Duration;

use pensa_core::event::LogEntry;
use pensa_core::ops::event::{List, LogPage};
use pensa_core::{Code, Error, Result, Timestamp};
use pensa_engine::{Engine, VersionStamp};

/// How often the store is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Follows a local store.
pub(super) struct StoreFollower {
    engine: Engine,
    /// The version stamp when the log was last read to its end; `None` if there may be more events.
    version_stamp: Option<VersionStamp>,
    valid_until: Option<Timestamp>,
    /// Number and time of the last event that was returned.
    last_event: Option<(i64, Timestamp)>,
}

impl StoreFollower {
    pub(super) fn of(engine: Engine) -> Self {
        Self { engine, version_stamp: None, valid_until: None, last_event: None }
    }

    /// Returns new events; if there are none, sleeps for one poll interval.
    pub(super) fn poll(&mut self, query: &List, after: i64) -> Result<(Vec<LogEntry>, i64)> {
        if self.engine.is_orphaned() {
            self.engine = self.engine.new_handle()?;
            self.version_stamp = None;
            self.check_same_log()?;
        }
        let version_stamp = self.engine.version_stamp()?;
        let is_overdue = self.valid_until.map_or(Ok(false), |end| self.engine.now().map(|now| now >= end))?;
        if self.version_stamp == Some(version_stamp) && !is_overdue {
            thread::sleep(POLL_INTERVAL);
            return Ok((Vec::new(), after));
        }
        let LogPage { events, last, end } = self.engine.call("reader", query)?;
        if end < after {
            return Err(log_replaced());
        }
        if let Some(event) = events.last() {
            self.last_event = Some((event.id, event.created_at));
        }
        // A commit after the version stamp was read is found by the next poll.
        self.version_stamp = (last >= end && !is_overdue).then_some(version_stamp);
        self.valid_until = self.engine.valid_until()?;
        Ok((events, last))
    }

    /// After the database was replaced: fails unless its log still contains the last event.
    fn check_same_log(&self) -> Result<()> {
        let Some((id, at)) = self.last_event else { return Ok(()) };
        let first = List { after: Some(id - 1), limit: Some(1), ..List::default() };
        let page = self.engine.call("reader", &first)?;
        match page.events.first() {
            Some(event) if event.id == id && event.created_at != at => Err(log_replaced()),
            _ => Ok(()),
        }
    }
}

fn log_replaced() -> Error {
    Error::new(Code::Conflict, "the log is not the one that was followed: the database was replaced")
        .hint("look at everything again, then follow from the end")
}
