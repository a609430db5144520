//! Rows of `session_history`: the entries of sessions, in the order of their numbers.
//!
//! An append must cost little more than the rows themselves, so nothing is derived from an entry.

use std::sync::LazyLock;

use std::borrow::Cow;

use pensa_core::id::{AgentId, SessionId};
use pensa_core::ops::session::Found;
use pensa_core::session::entry::PAYLOAD_VERSION;
use pensa_core::session::search::Needle;
use pensa_core::session::{Entry, EntryType, NewEntry, Object};
use pensa_core::{Code, Error, Result, Timestamp, json};
use serde::Serialize;

use crate::db::{Param, Row, Tx, params};

const COLUMNS: &str = "h.id, h.session_id, h.type, h.at, h.v, h.data";

/// Most rows that one statement adds, a power of two.
const ROWS_AT_ONCE: usize = 32;
/// Data that is held for one statement before it is sent off.
const BYTES_AT_ONCE: usize = 1 << 20;

pub(crate) fn read(row: &Row<'_>) -> Result<Entry> {
    Ok(Entry {
        id: row.int(0)?,
        session_id: row.parse(1)?,
        entry_type: row.parse(2)?,
        at: row.parse(3)?,
        v: version(row)?,
        data: row.json(5)?,
    })
}

fn version(row: &Row<'_>) -> Result<u32> {
    let v = row.int(4)?;
    u32::try_from(v).map_err(|_| Error::new(Code::Corrupt, format!("an entry has the version {v}")))
}

/// An [`Entry`] without its data.
#[derive(Debug, Serialize)]
struct Head {
    id: i64,
    session_id: SessionId,
    #[serde(rename = "type")]
    entry_type: EntryType,
    at: Timestamp,
    v: u32,
}

/// Appends an entry to `to` as JSON.
///
/// Its data is passed on as it is stored, which is as it would be written here: reading and writing it again is most of
/// what a long history would cost.
pub(crate) fn write_json(row: &Row<'_>, to: &mut Vec<u8>) -> Result<()> {
    let data = row.str(5)?;
    if !(data.starts_with('{') && json::is_line(data)) {
        return json::write_line(to, &read(row)?);
    }
    let (session_id, entry_type) = (row.parse(1)?, row.parse(2)?);
    json::write_line(to, &Head { id: row.int(0)?, session_id, entry_type, at: row.parse(3)?, v: version(row)? })?;
    to.pop();
    to.extend_from_slice(b",\"data\":");
    to.extend_from_slice(data.as_bytes());
    to.push(b'}');
    Ok(())
}

/// The number that the next entry gets. The caller is the store's only writer.
pub(crate) fn next_number(tx: &Tx<'_>) -> Result<i64> {
    let sql = "SELECT id FROM session_history ORDER BY id DESC LIMIT 1";
    Ok(tx.query_one(sql, params![], |row| row.int(0))?.unwrap_or_default() + 1)
}

/// A row as the journal has it.
#[derive(Debug, Serialize)]
struct EntryRow<'a> {
    id: i64,
    session_id: &'a SessionId,
    #[serde(rename = "type")]
    entry_type: &'a EntryType,
    at: Timestamp,
    v: u32,
    data: &'a Object,
}

/// Entries from which on an append is worth preparing for.
const MANY: usize = 1000;

/// A new entry as it is stored.
#[derive(Debug)]
pub(crate) struct Stored<'a> {
    pub(crate) entry: Cow<'a, NewEntry>,
    /// Its data.
    pub(crate) line: String,
}

/// Adds entries, numbered from `first` on.
pub(crate) fn append(
    tx: &Tx<'_>,
    session: &SessionId,
    entries: &mut [Stored<'_>],
    first: i64,
    now: Timestamp,
) -> Result<()> {
    if entries.len() >= MANY {
        tx.expect_many_rows()?;
    }
    let mut rows = Rows::new(tx);
    for (Stored { entry, line }, id) in entries.iter_mut().zip(first..) {
        let (entry, line) = (&**entry, std::mem::take(line));
        let (entry_type, data, v) = (&entry.entry_type, &entry.data, PAYLOAD_VERSION);
        rows.add(&EntryRow { id, session_id: session, entry_type, at: entry.at.unwrap_or(now), v, data }, line)?;
    }
    rows.flush()
}

/// Adds one entry that has its number already.
pub(crate) fn insert(tx: &Tx<'_>, entry: &Entry) -> Result<()> {
    let Entry { id, session_id, entry_type, at, v, data } = entry;
    let mut rows = Rows::new(tx);
    rows.add(&EntryRow { id: *id, session_id, entry_type, at: *at, v: *v, data }, json::to_line(data)?)?;
    rows.flush()
}

/// Rows on their way into the table.
struct Rows<'t, 'c, 'e> {
    tx: &'t Tx<'c>,
    values: Vec<Param<'e>>,
    bytes: usize,
}

/// Values of a row.
const WIDTH: usize = 6;

impl<'t, 'c, 'e> Rows<'t, 'c, 'e> {
    fn new(tx: &'t Tx<'c>) -> Self {
        Self { tx, values: Vec::new(), bytes: 0 }
    }

    fn add(&mut self, row: &EntryRow<'e>, line: String) -> Result<()> {
        self.tx.journal("entry", row)?;
        self.bytes += line.len();
        self.values.extend([
            Param::from(row.id),
            row.session_id.as_str().into(),
            row.entry_type.as_str().into(),
            row.at.into(),
            i64::from(row.v).into(),
            line.into(),
        ]);
        if self.values.len() == ROWS_AT_ONCE * WIDTH || self.bytes > BYTES_AT_ONCE {
            return self.flush();
        }
        Ok(())
    }

    /// Sends off what there is, by statements of so few lengths that all of them stay prepared.
    fn flush(&mut self) -> Result<()> {
        let (mut at, mut size) = (0, ROWS_AT_ONCE);
        while at < self.values.len() {
            while size * WIDTH > self.values.len() - at {
                size /= 2;
            }
            self.tx.send(insert_sql(size), &self.values[at..at + size * WIDTH])?;
            at += size * WIDTH;
        }
        self.values.clear();
        self.bytes = 0;
        Ok(())
    }
}

/// The statement that adds so many rows, a power of two.
fn insert_sql(rows: usize) -> &'static str {
    static STATEMENTS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let sizes = std::iter::successors(Some(1), |size| Some(2 * size)).take_while(|size| *size <= ROWS_AT_ONCE);
        sizes.map(write_insert_sql).collect()
    });
    &STATEMENTS[rows.ilog2() as usize]
}

fn write_insert_sql(rows: usize) -> String {
    let row = |at: usize| {
        let places: Vec<String> = (1..=WIDTH).map(|column| format!("?{}", at * WIDTH + column)).collect();
        format!("({})", places.join(", "))
    };
    let rows: Vec<String> = (0..rows).map(row).collect();
    format!("INSERT INTO session_history (id, session_id, type, at, v, data) VALUES {}", rows.join(", "))
}

/// Hands the entries of a session to `each`, in their order.
pub(crate) fn for_each(tx: &Tx<'_>, session: &SessionId, mut each: impl FnMut(&Entry) -> Result<()>) -> Result<()> {
    let sql = format!("SELECT {COLUMNS} FROM session_history h WHERE h.session_id = ?1 ORDER BY h.id");
    tx.for_each(&sql, params![session.as_str()], |row| each(&read(row)?))
}

/// How many rows are asked for at once when an answer may have to stop early.
const CHUNK: i64 = 256;

/// How much of a listing of entries there is room for.
#[derive(Debug)]
pub(crate) struct Room {
    pub(crate) entries: i64,
    pub(crate) bytes: usize,
}

/// Hands rows of a session after a number to `each`, in their order, as long as there is room.
pub(crate) fn page(
    tx: &Tx<'_>,
    session: &SessionId,
    after: i64,
    room: &mut Room,
    mut each: impl FnMut(&Row<'_>) -> Result<()>,
) -> Result<()> {
    let sql =
        format!("SELECT {COLUMNS} FROM session_history h WHERE h.session_id = ?1 AND h.id > ?2 ORDER BY h.id LIMIT ?3");
    let mut after = after;
    loop {
        let asked = CHUNK.min(room.entries);
        let mut got = 0;
        tx.for_each(&sql, params![session.as_str(), after, asked], |row| {
            got += 1;
            if room.entries == 0 || room.bytes == 0 {
                return Ok(());
            }
            room.entries -= 1;
            room.bytes = room.bytes.saturating_sub(row.str(5)?.len());
            after = row.int(0)?;
            each(row)
        })?;
        if got < asked || room.entries == 0 || room.bytes == 0 {
            return Ok(());
        }
    }
}

/// How many entries an agent has.
pub(crate) fn count(tx: &Tx<'_>, agent: &AgentId) -> Result<i64> {
    let sql = "SELECT COUNT(*) FROM session_history h WHERE h.session_id IN
         (SELECT s.id FROM sessions s WHERE s.agent_id = ?1)";
    Ok(tx.query_one(sql, params![agent.as_str()], |row| row.int(0))?.unwrap_or_default())
}

/// How many entries a session has.
pub(crate) fn count_of_session(tx: &Tx<'_>, session: &SessionId) -> Result<i64> {
    let sql = "SELECT COUNT(*) FROM session_history h WHERE h.session_id = ?1";
    Ok(tx.query_one(sql, params![session.as_str()], |row| row.int(0))?.unwrap_or_default())
}

/// How many entries a session has, and when the latest of them is from.
pub(crate) fn extent(tx: &Tx<'_>, session: &SessionId) -> Result<(i64, Option<Timestamp>)> {
    let sql = "SELECT COUNT(*), MAX(h.at) FROM session_history h WHERE h.session_id = ?1";
    let found = tx.query_one(sql, params![session.as_str()], |row| Ok((row.int(0)?, row.parse_or_null(1)?)))?;
    Ok(found.unwrap_or_default())
}

/// Entries that are asked at once what they cost.
const COSTS_AT_ONCE: i64 = 64;

/// Hands the data of entries that may tell what they cost to `each`, in their order; tells how many there were.
pub(crate) fn for_each_cost(
    tx: &Tx<'_>,
    session: &SessionId,
    most: usize,
    mut each: impl FnMut(&Object),
) -> Result<usize> {
    let sql = "SELECT h.id, h.data FROM session_history h WHERE h.session_id = ?1 AND h.id > ?2
         AND (instr(h.data, '\"usage\"') > 0 OR instr(h.data, '\"tokens\"') > 0 OR instr(h.data, 'cost') > 0)
         ORDER BY h.id LIMIT ?3";
    let (mut after, mut all) = (0, 0);
    loop {
        let asked = COSTS_AT_ONCE.min(i64::try_from(most - all).unwrap_or(COSTS_AT_ONCE));
        let mut got = 0;
        tx.for_each(sql, params![session.as_str(), after, asked], |row| {
            (after, got) = (row.int(0)?, got + 1);
            each(&row.json(1)?);
            Ok(())
        })?;
        all += usize::try_from(got).unwrap_or_default();
        if got < COSTS_AT_ONCE || all >= most {
            return Ok(all);
        }
    }
}

/// The newest entries in whose texts something stands.
///
/// The database leaves out what cannot match, and asks in chunks so that a frequent word costs little. Case beyond ASCII
/// is not left to it: rows that are not all ASCII are all looked at.
pub(crate) fn search(tx: &Tx<'_>, needle: &Needle, agent: Option<&AgentId>, limit: usize) -> Result<Vec<Found>> {
    let of_agent = if agent.is_some() { "AND s.agent_id = ?3" } else { "AND ?3 = ''" };
    let sql = format!(
        "SELECT {COLUMNS}, s.agent_id FROM session_history h JOIN sessions s ON s.id = h.session_id
         WHERE h.id < ?1 AND (instr(lower(h.data), ?2) > 0 OR octet_length(h.data) <> length(h.data)) {of_agent}
         ORDER BY h.id DESC LIMIT ?4"
    );
    let (mut found, mut before) = (Vec::new(), i64::MAX);
    let agent = agent.map_or("", AgentId::as_str);
    loop {
        let mut got = 0;
        tx.for_each(&sql, params![before, needle.sure(), agent, CHUNK], |row| {
            got += 1;
            before = row.int(0)?;
            if found.len() < limit
                && let Some(excerpt) = needle.find(&row.json(5)?)
            {
                let (session_id, entry_type) = (row.parse(1)?, row.parse(2)?);
                found.push(Found {
                    id: before,
                    session_id,
                    agent_id: row.parse(6)?,
                    entry_type,
                    at: row.parse(3)?,
                    excerpt,
                });
            }
            Ok(())
        })?;
        if got < CHUNK || found.len() == limit {
            return Ok(found);
        }
    }
}
