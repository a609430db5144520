//! A position in a store's log, as another store remembers it.
//!
//! An event number alone is not enough: after a restore, the same numbers may belong to other events. So a position
//! includes a checksum of its event.

use std::fmt;

use pensa_core::Result;
use pensa_core::similar::hash64;
use pensa_core::sync::EXCHANGED;

use crate::db::{Tx, params};
use crate::tables::events;

/// A position after an event, or at the beginning of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogPosition {
    pub(super) event: i64,
    checksum: u64,
}

impl LogPosition {
    /// The position after the last event.
    pub(super) fn end(tx: &Tx<'_>) -> Result<Self> {
        Self::at(tx, events::last(tx)?)
    }

    pub(super) fn at(tx: &Tx<'_>, event: i64) -> Result<Self> {
        Ok(Self { event, checksum: checksum(tx, event)?.unwrap_or_default() })
    }

    /// Whether the log has exactly this event.
    fn holds(self, tx: &Tx<'_>) -> Result<bool> {
        Ok(self.event == 0 || checksum(tx, self.event)? == Some(self.checksum))
    }
}

/// Distinguishes an event from others with the same number. The issue id is not included, because it may change later.
fn checksum(tx: &Tx<'_>, event: i64) -> Result<Option<u64>> {
    tx.query_one("SELECT event_type, actor, created_at, detail FROM events WHERE id = ?1", params![event], |row| {
        let parts = [row.text(0)?, row.text(1)?, row.text(2)?, row.text(3)?];
        Ok(hash64(parts.join(" ").as_bytes()))
    })
}

/// How far a log was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cursor {
    /// Everything up to here was read.
    Log(LogPosition),
    /// All records up to this key of this collection were read. After the last collection, the log is read from
    /// `position`.
    All { position: LogPosition, collection: usize, key: String },
}

impl Cursor {
    /// The beginning of a full read, as of now.
    pub(super) fn beginning(position: LogPosition) -> Self {
        Cursor::All { position, collection: 0, key: String::new() }
    }

    /// The position up to which the log was read; `None` during a full read.
    pub(super) fn into_log_position(self) -> Option<LogPosition> {
        match self {
            Cursor::Log(position) if position.event > 0 => Some(position),
            Cursor::Log(_) | Cursor::All { .. } => None,
        }
    }

    /// Parses a cursor; `None` if it does not belong to this log.
    pub(super) fn of(tx: &Tx<'_>, text: &str) -> Result<Option<Self>> {
        let Some(cursor) = Self::parse(text) else { return Ok(None) };
        let position = match &cursor {
            Cursor::Log(position) | Cursor::All { position, .. } => *position,
        };
        Ok(position.holds(tx)?.then_some(cursor))
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, '.');
        let position = LogPosition {
            event: parts.next()?.parse().ok().filter(|event| *event >= 0)?,
            checksum: u64::from_str_radix(parts.next()?, 16).ok()?,
        };
        let Some(collection) = parts.next() else { return Some(Cursor::Log(position)) };
        let collection = EXCHANGED.iter().position(|known| known.name == collection)?;
        Some(Cursor::All { position, collection, key: parts.next()?.to_owned() })
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cursor::Log(position) => write!(f, "{}.{:016x}", position.event, position.checksum),
            Cursor::All { position, collection, key } => {
                let name = EXCHANGED.get(*collection).map_or("", |collection| collection.name);
                write!(f, "{}.{:016x}.{name}.{key}", position.event, position.checksum)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_survive_a_round_trip_and_other_texts_are_refused() {
        let position = LogPosition { event: 12, checksum: 0xA0B };
        let all = |collection, key: &str| Cursor::All { position, collection, key: key.to_owned() };
        for cursor in [Cursor::Log(position), Cursor::beginning(position), all(1, "pn-1.x pn-2"), all(5, "deps a b")] {
            assert_eq!(Cursor::parse(&cursor.to_string()), Some(cursor));
        }
        for other in
            ["", "start", "12", "-1.0", "x.0", "12.zz", "12.0.nothing.x", "12.0.issues", "9999999999999999999.0"]
        {
            assert_eq!(Cursor::parse(other), None, "{other}");
        }
    }
}
