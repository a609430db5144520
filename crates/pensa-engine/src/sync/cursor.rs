//! A place in a store's log, as another store remembers it.
//!
//! Numbers alone do not tell whether the log is still the same one: after a restore others may have been given out. So a
//! place also says what stands there.

use std::fmt;

use pensa_core::Result;
use pensa_core::similar::hash64;
use pensa_core::sync::EXCHANGED;

use crate::db::{Tx, params};
use crate::tables::events;

/// A line of the log, or its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) event: i64,
    mark: u64,
}

impl Place {
    /// The last line.
    pub(super) fn end(tx: &Tx<'_>) -> Result<Self> {
        Self::at(tx, events::last(tx)?)
    }

    pub(super) fn at(tx: &Tx<'_>, event: i64) -> Result<Self> {
        Ok(Self { event, mark: mark(tx, event)?.unwrap_or_default() })
    }

    /// Whether the log has just this line.
    fn holds(self, tx: &Tx<'_>) -> Result<bool> {
        Ok(self.event == 0 || mark(tx, self.event)? == Some(self.mark))
    }
}

/// What tells a line from another that has its number in another log. Its issue may get another id later.
fn mark(tx: &Tx<'_>, event: i64) -> Result<Option<u64>> {
    tx.query_one("SELECT event_type, actor, created_at, detail FROM events WHERE id = ?1", params![event], |row| {
        let parts = [row.text(0)?, row.text(1)?, row.text(2)?, row.text(3)?];
        Ok(hash64(parts.join(" ").as_bytes()))
    })
}

/// How far somebody has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cursor {
    /// Every change up to here.
    Log(Place),
    /// Every record up to this key of this collection; the log goes on where it was at the beginning.
    All { place: Place, collection: usize, key: String },
}

impl Cursor {
    /// The beginning of everything, as of now.
    pub(super) fn beginning(place: Place) -> Self {
        Cursor::All { place, collection: 0, key: String::new() }
    }

    /// Reads a cursor; none if it is not one of this log.
    pub(super) fn of(tx: &Tx<'_>, text: &str) -> Result<Option<Self>> {
        let Some(cursor) = Self::parse(text) else { return Ok(None) };
        let place = match &cursor {
            Cursor::Log(place) | Cursor::All { place, .. } => *place,
        };
        Ok(place.holds(tx)?.then_some(cursor))
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, '.');
        let place = Place {
            event: parts.next()?.parse().ok().filter(|event| *event >= 0)?,
            mark: u64::from_str_radix(parts.next()?, 16).ok()?,
        };
        let Some(collection) = parts.next() else { return Some(Cursor::Log(place)) };
        let collection = EXCHANGED.iter().position(|known| known.name == collection)?;
        Some(Cursor::All { place, collection, key: parts.next()?.to_owned() })
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cursor::Log(place) => write!(f, "{}.{:016x}", place.event, place.mark),
            Cursor::All { place, collection, key } => {
                let name = EXCHANGED.get(*collection).map_or("", |collection| collection.name);
                write!(f, "{}.{:016x}.{name}.{key}", place.event, place.mark)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back_as_they_were_and_nothing_else_is_one() {
        let place = Place { event: 12, mark: 0xA0B };
        let all = |collection, key: &str| Cursor::All { place, collection, key: key.to_owned() };
        for cursor in [Cursor::Log(place), Cursor::beginning(place), all(1, "pn-1.x pn-2"), all(5, "deps a b")] {
            assert_eq!(Cursor::parse(&cursor.to_string()), Some(cursor));
        }
        for other in
            ["", "start", "12", "-1.0", "x.0", "12.zz", "12.0.nothing.x", "12.0.issues", "9999999999999999999.0"]
        {
            assert_eq!(Cursor::parse(other), None, "{other}");
        }
    }
}
