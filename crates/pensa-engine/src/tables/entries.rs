//! Appends, reads and searches rows of `session_history`, the entries of sessions in order of their numbers.
//!
//! An append only notes for recall which entries are new, so it costs little more than its rows.

use std::sync::LazyLock;

use std::borrow::Cow;

use pensa_core::id::{AgentId, SessionId};
use pensa_core::ops::session::EntryMatch;
use pensa_core::session::entry::PAYLOAD_VERSION;
use pensa_core::session::search::Needle;
use pensa_core::session::{Entry, EntryType, NewEntry, Object};
use pensa_core::{Code, Error, Result, Timestamp, json};
use serde::Serialize;

use crate::db::{Param, Row, Tx, params};
use crate::entity;
use crate::tables::recall;

const COLUMNS: &str = "h.id, h.session_id, h.type, h.at, h.v, h.data";

/// Most rows per insert statement; a power of two.
const ROWS_PER_INSERT: usize = 32;
/// Bytes buffered before an insert statement is sent.
const BYTES_PER_INSERT: usize = 1 << 20;

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
struct EntryHead {
    id: i64,
    session_id: SessionId,
    #[serde(rename = "type")]
    entry_type: EntryType,
    at: Timestamp,
    v: u32,
}

/// Appends an entry to `to` as JSON.
///
/// The stored data is copied as it is: parsing and writing it again would be most of the cost of a long history.
pub(crate) fn write_json(row: &Row<'_>, to: &mut Vec<u8>) -> Result<()> {
    let data = row.str(5)?;
    if !(data.starts_with('{') && json::is_line(data)) {
        return json::write_line(to, &read(row)?);
    }
    let (session_id, entry_type) = (row.parse(1)?, row.parse(2)?);
    json::write_line(to, &EntryHead { id: row.int(0)?, session_id, entry_type, at: row.parse(3)?, v: version(row)? })?;
    to.pop();
    to.extend_from_slice(b",\"data\":");
    to.extend_from_slice(data.as_bytes());
    to.push(b'}');
    Ok(())
}

/// The number of the next entry. No other writer can take it: a store has one writer at a time.
pub(crate) fn next_number(tx: &Tx<'_>) -> Result<i64> {
    let sql = "SELECT id FROM session_history ORDER BY id DESC LIMIT 1";
    Ok(tx.query_one(sql, params![], |row| row.int(0))?.unwrap_or_default() + 1)
}

/// A row in the journal.
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

impl<'a> EntryRow<'a> {
    fn of(entry: &'a Entry) -> Self {
        let Entry { id, session_id, entry_type, at, v, data } = entry;
        Self { id: *id, session_id, entry_type, at: *at, v: *v, data }
    }
}

/// Appends from this size on prepare the database for many rows.
const BULK_ENTRIES: usize = 1000;

/// A new entry with its serialised data.
#[derive(Debug)]
pub(crate) struct StoredEntry<'a> {
    pub(crate) entry: Cow<'a, NewEntry>,
    pub(crate) line: String,
}

/// Appends entries, numbered from `first`.
pub(crate) fn append(
    tx: &Tx<'_>,
    session: &SessionId,
    entries: &mut [StoredEntry<'_>],
    first: i64,
    now: Timestamp,
) -> Result<()> {
    if entries.len() >= BULK_ENTRIES {
        tx.expect_many_rows()?;
    }
    let mut rows = RowBuffer::new(tx);
    for (StoredEntry { entry, line }, id) in entries.iter_mut().zip(first..) {
        let (entry, line) = (&**entry, std::mem::take(line));
        let (entry_type, data, v) = (&entry.entry_type, &entry.data, PAYLOAD_VERSION);
        rows.add(&EntryRow { id, session_id: session, entry_type, at: entry.at.unwrap_or(now), v, data }, line)?;
    }
    rows.flush()?;
    recall::entries_added(tx, first, first + i64::try_from(entries.len()).map_err(Error::internal)? - 1)
}

/// Inserts entries that already have numbers.
pub(crate) fn insert(tx: &Tx<'_>, entries: &[Entry]) -> Result<()> {
    let mut rows = RowBuffer::new(tx);
    for entry in entries {
        rows.add(&EntryRow::of(entry), json::to_line(&entry.data)?)?;
    }
    rows.flush()?;
    let numbers = || entries.iter().map(|entry| entry.id);
    numbers().min().zip(numbers().max()).map_or(Ok(()), |(first, last)| recall::entries_added(tx, first, last))
}

/// Moves all entries of one session to another, keeping their order.
pub(crate) fn move_all(tx: &Tx<'_>, from: &SessionId, to: &SessionId) -> Result<()> {
    let sql = "UPDATE session_history SET session_id = ?2 WHERE session_id = ?1";
    tx.send(sql, params![from.as_str(), to.as_str()])?;
    recall::touch_entries(tx, "session_id = ?1", params![to.as_str()])?;
    for_each(tx, to, |entry| tx.journal("entry", &EntryRow::of(entry)))
}

/// Up to `count` entries of a session, starting at position `first` (from 1).
pub(crate) fn range(tx: &Tx<'_>, session: &SessionId, first: i64, count: i64) -> Result<Vec<Entry>> {
    let (mut budget, mut found) = (EntryBudget { entries: count, bytes: usize::MAX }, Vec::new());
    page(tx, session, (id_at(tx, session, first - 1)?, i64::MAX), &mut budget, |row| {
        found.push(read(row)?);
        Ok(())
    })?;
    Ok(found)
}

/// The id of the entry at a position of its session: 0 before the first, the last id if there are fewer.
pub(crate) fn id_at(tx: &Tx<'_>, session: &SessionId, number: i64) -> Result<i64> {
    let sql =
        "SELECT MAX(id) FROM (SELECT id FROM session_history WHERE session_id = ?1 ORDER BY id LIMIT ?2) AS first";
    Ok(tx
        .query_one(sql, params![session.as_str(), number.max(0)], |row| row.int_or_null(0))?
        .flatten()
        .unwrap_or_default())
}

/// The entries before and after one in its session.
pub(crate) fn around(tx: &Tx<'_>, session: &SessionId, id: i64) -> Result<Vec<Entry>> {
    let one = |condition: &str| {
        let sql =
            format!("SELECT {COLUMNS} FROM session_history h WHERE h.session_id = ?1 AND h.id {condition} LIMIT 1");
        tx.query_one(&sql, params![session.as_str(), id], read)
    };
    let (before, after) = (one("< ?2 ORDER BY h.id DESC")?, one("> ?2 ORDER BY h.id")?);
    Ok(before.into_iter().chain(after).collect())
}

/// The session's first entry id after `after`.
pub(crate) fn next(tx: &Tx<'_>, session: &SessionId, after: i64) -> Result<Option<i64>> {
    let sql = "SELECT id FROM session_history WHERE session_id = ?1 AND id > ?2 ORDER BY id LIMIT 1";
    tx.query_one(sql, params![session.as_str(), after], |row| row.int(0))
}

/// The time of a session's last entry.
pub(crate) fn last_at(tx: &Tx<'_>, session: &SessionId) -> Result<Option<Timestamp>> {
    let sql = "SELECT at FROM session_history WHERE session_id = ?1 ORDER BY id DESC LIMIT 1";
    tx.query_one(sql, params![session.as_str()], |row| row.parse(0))
}

/// Buffers rows for multi-row inserts.
struct RowBuffer<'t, 'c, 'e> {
    tx: &'t Tx<'c>,
    values: Vec<Param<'e>>,
    bytes: usize,
}

/// Columns of a row.
const WIDTH: usize = 6;

impl<'t, 'c, 'e> RowBuffer<'t, 'c, 'e> {
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
        if self.values.len() == ROWS_PER_INSERT * WIDTH || self.bytes > BYTES_PER_INSERT {
            return self.flush();
        }
        Ok(())
    }

    /// Inserts the buffered rows. Row counts are powers of two, so that all statements stay prepared.
    fn flush(&mut self) -> Result<()> {
        let (mut at, mut size) = (0, ROWS_PER_INSERT);
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

/// The statement that inserts this many rows, a power of two.
fn insert_sql(rows: usize) -> &'static str {
    static STATEMENTS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let sizes = std::iter::successors(Some(1), |size| Some(2 * size)).take_while(|size| *size <= ROWS_PER_INSERT);
        sizes.map(write_insert_sql).collect()
    });
    &STATEMENTS[rows.ilog2() as usize]
}

fn write_insert_sql(rows: usize) -> String {
    let row = |at: usize| {
        let placeholders: Vec<String> = (1..=WIDTH).map(|column| format!("?{}", at * WIDTH + column)).collect();
        format!("({})", placeholders.join(", "))
    };
    let rows: Vec<String> = (0..rows).map(row).collect();
    format!("INSERT INTO session_history (id, session_id, type, at, v, data) VALUES {}", rows.join(", "))
}

/// Calls `each` with the entries of a session in order.
pub(crate) fn for_each(tx: &Tx<'_>, session: &SessionId, mut each: impl FnMut(&Entry) -> Result<()>) -> Result<()> {
    let sql = format!("SELECT {COLUMNS} FROM session_history h WHERE h.session_id = ?1 ORDER BY h.id");
    tx.for_each(&sql, params![session.as_str()], |row| each(&read(row)?))
}

/// Rows read per query when the answer may stop early.
const ROWS_PER_QUERY: i64 = 256;

/// How many entries and bytes an answer may still contain.
#[derive(Debug)]
pub(crate) struct EntryBudget {
    pub(crate) entries: i64,
    pub(crate) bytes: usize,
}

/// Calls `each` with the rows of a session between two ids, in order, while the budget lasts.
pub(crate) fn page(
    tx: &Tx<'_>,
    session: &SessionId,
    (after, before): (i64, i64),
    budget: &mut EntryBudget,
    mut each: impl FnMut(&Row<'_>) -> Result<()>,
) -> Result<()> {
    let sql = format!(
        "SELECT {COLUMNS} FROM session_history h WHERE h.session_id = ?1 AND h.id > ?2 AND h.id < ?3
         ORDER BY h.id LIMIT ?4"
    );
    let mut after = after;
    loop {
        let limit = ROWS_PER_QUERY.min(budget.entries);
        let mut rows = 0;
        tx.for_each(&sql, params![session.as_str(), after, before, limit], |row| {
            rows += 1;
            if budget.entries == 0 || budget.bytes == 0 {
                return Ok(());
            }
            budget.entries -= 1;
            budget.bytes = budget.bytes.saturating_sub(row.str(5)?.len());
            after = row.int(0)?;
            each(row)
        })?;
        if rows < limit || budget.entries == 0 || budget.bytes == 0 {
            return Ok(());
        }
    }
}

/// The number of an agent's entries.
pub(crate) fn count(tx: &Tx<'_>, agent: &AgentId) -> Result<i64> {
    let sql = "SELECT COUNT(*) FROM session_history h WHERE h.session_id IN
         (SELECT s.id FROM sessions s WHERE s.agent_id = ?1)";
    Ok(tx.query_one(sql, params![agent.as_str()], |row| row.int(0))?.unwrap_or_default())
}

/// The number of a session's entries.
pub(crate) fn count_of_session(tx: &Tx<'_>, session: &SessionId) -> Result<i64> {
    let sql = "SELECT COUNT(*) FROM session_history h WHERE h.session_id = ?1";
    Ok(tx.query_one(sql, params![session.as_str()], |row| row.int(0))?.unwrap_or_default())
}

/// The number of a session's entries, and the time of the latest.
pub(crate) fn extent(tx: &Tx<'_>, session: &SessionId) -> Result<(i64, Option<Timestamp>)> {
    let sql = "SELECT COUNT(*), MAX(h.at) FROM session_history h WHERE h.session_id = ?1";
    let found = tx.query_one(sql, params![session.as_str()], |row| Ok((row.int(0)?, row.parse_or_null(1)?)))?;
    Ok(found.unwrap_or_default())
}

/// Entries read per query for their costs.
const COST_ENTRIES_PER_QUERY: i64 = 64;

/// Calls `each` with the data of entries that may contain costs, in order; returns how many there were.
pub(crate) fn for_each_cost(
    tx: &Tx<'_>,
    session: &SessionId,
    max_entries: usize,
    mut each: impl FnMut(&Object),
) -> Result<usize> {
    for_each_cost_at(tx, session, max_entries, |_, data| each(data))
}

/// Like [`for_each_cost`], with the time of each entry.
pub(crate) fn for_each_cost_at(
    tx: &Tx<'_>,
    session: &SessionId,
    max_entries: usize,
    mut each: impl FnMut(Timestamp, &Object),
) -> Result<usize> {
    let sql = "SELECT h.id, h.data, h.at FROM session_history h WHERE h.session_id = ?1 AND h.id > ?2
         AND (instr(h.data, '\"usage\"') > 0 OR instr(h.data, '\"tokens\"') > 0 OR instr(h.data, 'cost') > 0)
         ORDER BY h.id LIMIT ?3";
    let (mut after, mut all) = (0, 0);
    loop {
        let limit = COST_ENTRIES_PER_QUERY.min(i64::try_from(max_entries - all).unwrap_or(COST_ENTRIES_PER_QUERY));
        let mut rows = 0;
        tx.for_each(sql, params![session.as_str(), after, limit], |row| {
            (after, rows) = (row.int(0)?, rows + 1);
            each(row.parse(2)?, &row.json(1)?);
            Ok(())
        })?;
        all += usize::try_from(rows).unwrap_or_default();
        if rows < COST_ENTRIES_PER_QUERY || all >= max_entries {
            return Ok(all);
        }
    }
}

/// Calls `each` with the session, time and data of all entries since a time that may contain costs, in order.
pub(crate) fn for_each_cost_since(
    tx: &Tx<'_>,
    since: Option<Timestamp>,
    mut each: impl FnMut(&SessionId, Timestamp, &Object),
) -> Result<()> {
    let shown = entity::visible_rows("sessions");
    let sql = format!(
        "SELECT h.id, h.session_id, h.at, h.data FROM session_history h JOIN {shown} ON sessions.id = h.session_id
         WHERE h.id > ?1 AND h.at >= ?2
         AND (instr(h.data, '\"usage\"') > 0 OR instr(h.data, '\"tokens\"') > 0 OR instr(h.data, 'cost') > 0)
         ORDER BY h.id LIMIT ?3"
    );
    let (mut after, since) = (0, since.map_or_else(String::new, |since| since.to_string()));
    loop {
        let mut rows = 0;
        tx.for_each(&sql, params![after, since.as_str(), ROWS_PER_QUERY], |row| {
            (after, rows) = (row.int(0)?, rows + 1);
            each(&row.parse(1)?, row.parse(2)?, &row.json(3)?);
            Ok(())
        })?;
        if rows < ROWS_PER_QUERY {
            return Ok(());
        }
    }
}

/// The newest entries whose text contains the needle.
///
/// The database filters out rows that cannot match, in chunks, so that a frequent word costs little. It only folds
/// ASCII case, so rows with other characters are all read and checked here.
pub(crate) fn search(tx: &Tx<'_>, needle: &Needle, agent: Option<&AgentId>, limit: usize) -> Result<Vec<EntryMatch>> {
    let of_agent = if agent.is_some() { "AND sessions.agent_id = ?3" } else { "AND ?3 = ''" };
    let shown = entity::visible_rows("sessions");
    let sql = format!(
        "SELECT {COLUMNS}, sessions.agent_id FROM session_history h JOIN {shown} ON sessions.id = h.session_id
         WHERE h.id < ?1 AND (instr(lower(h.data), ?2) > 0 OR octet_length(h.data) <> length(h.data)) {of_agent}
         ORDER BY h.id DESC LIMIT ?4"
    );
    let (mut found, mut before) = (Vec::new(), i64::MAX);
    let agent = agent.map_or("", AgentId::as_str);
    loop {
        let mut rows = 0;
        tx.for_each(&sql, params![before, needle.ascii_part(), agent, ROWS_PER_QUERY], |row| {
            rows += 1;
            before = row.int(0)?;
            if found.len() < limit
                && let Some(excerpt) = needle.find(&row.json(5)?)
            {
                let (session_id, entry_type) = (row.parse(1)?, row.parse(2)?);
                found.push(EntryMatch {
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
        if rows < ROWS_PER_QUERY || found.len() == limit {
            return Ok(found);
        }
    }
}
