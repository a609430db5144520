//! Does again what the journal says was done: one item at a time, over the tables.
//!
//! Where the lines come from is the journal's job; which of them are missing is for the callers to say.

use pensa_core::dep::Dep;
use pensa_core::id::IssueId;
use pensa_core::issue::Issue;
use pensa_core::session::Entry;
use pensa_core::sync::{Conflict, ConflictId};
use pensa_core::{Code, Error, Result, Span, Timestamp};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::db::{Db, Param, Tx, params};
use crate::entity::{self, Change};
use crate::journal::{self, Line};
use crate::store::StoreDir;
use crate::tables::issues::IssueRow;
use crate::tables::{
    agents, conflicts, deps, entries, issues, operations, peers, purge, records, seen_files, sessions,
};

/// Begins as the store's only writer, on a database that has all that its journal has.
pub(crate) fn begin_write(db: &Db) -> Result<Tx<'_>> {
    let tx = db.begin_write()?;
    catch_up(&tx)?;
    Ok(tx)
}

/// Brings a database that is behind its journal (its log was lost, or an old file was put back) up to date, as a part
/// of the transaction that noticed.
fn catch_up(tx: &Tx<'_>) -> Result<()> {
    let Some((before, store)) = tx.is_behind()? else { return Ok(()) };
    store.refuse_foreign_journal()?;
    let mut last = before;
    tx.expect_many_rows()?;
    let replay = Replay::new(tx)?;
    let work = || {
        journal::read(store, before, |line| {
            let Line::Entry(entry) = line else { return Err(too_old(store)) };
            if entry.before != last {
                return Err(too_old(store));
            }
            for (kind, value) in entry.items {
                if kind == "restored" || kind == "gap" {
                    return Err(too_old(store));
                }
                replay.apply(&kind, value)?;
            }
            last = entry.last;
            Ok(())
        })
    };
    let done = tx.repeat(before, work);
    done?;
    tx.repeat(last, || replay.settle())
}

/// The error of a database that the journal alone cannot bring up to date.
fn too_old(store: &StoreDir) -> Error {
    Error::new(Code::Corrupt, format!("{} is older than its journal goes back", store.database().display()))
        .hint("it is rebuilt from a backup when the store is next opened")
}

/// Kinds of items that rows had before they were changes of entities.
const EARLIER: [&str; 19] = [
    "agent",
    "agreement",
    "comment",
    "harness",
    "kv",
    "learning",
    "peer",
    "peer_base",
    "project",
    "release",
    "repo",
    "run",
    "runtime",
    "session",
    "skills",
    "snapshot",
    "token",
    "tombstone",
    "work",
];

/// Applies items of the journal to the tables.
#[derive(Debug)]
pub(crate) struct Replay<'t, 'c> {
    tx: &'t Tx<'c>,
    /// The columns that an event has here; one that a newer Pensa wrote may have more.
    event_columns: Vec<String>,
}

impl<'t, 'c> Replay<'t, 'c> {
    pub(crate) fn new(tx: &'t Tx<'c>) -> Result<Self> {
        tx.begin_replay();
        let event_columns = tx.query("SELECT name FROM pragma_table_info('events')", params![], |row| row.text(0))?;
        Ok(Self { tx, event_columns })
    }

    /// Does one item again; one of a kind that is not known here is left out.
    pub(crate) fn apply(&self, kind: &str, value: Value) -> Result<()> {
        let tx = self.tx;
        match kind {
            "event" => self.event(&value),
            "change" => read::<Change>(value)?.replay(tx),
            "changes_forgotten" => entity::forget_changes(tx, read(value)?),
            "issue" => put_issue(tx, read(value)?),
            "issue_deleted" => match issues::get(tx, &read::<IssueId>(value)?)? {
                Some(issue) => issues::delete(tx, &issue),
                None => Ok(()),
            },
            "dep" => put_dep(tx, &read(value)?),
            "dep_removed" => remove_dep(tx, &read(value)?),
            "issue_renamed" => {
                let (old, new): (IssueId, IssueId) = read(value)?;
                // A file that was read before the journal has it under its new id already.
                if issues::get(tx, &new)?.is_some() { Ok(()) } else { issues::rename(tx, &old, &new) }
            }
            "issue_recalled" => operations::recall(tx, &read(value)?),
            "issues_purged" => purge::purge(tx, &read::<Vec<IssueId>>(value)?),
            "conflict" => {
                let (conflict, at): (Conflict, Timestamp) = read(value)?;
                conflicts::note(tx, &conflict, at).map(drop)
            }
            "conflict_settled" => {
                let (id, at): (ConflictId, Timestamp) = read(value)?;
                conflicts::settle(tx, &id, at)
            }
            "conflict_reopened" => conflicts::reopen(tx, &read(value)?),
            "seen_files_cleared" => seen_files::clear(tx),
            "seen_files" => {
                let (blobs, at): (Vec<String>, Timestamp) = read(value)?;
                seen_files::note(tx, &blobs, at)
            }
            "agent_deleted" => agents::delete_sessions(tx, &read(value)?),
            "session_deleted" => sessions::delete_entries(tx, &read(value)?),
            "entry" => put_entry(tx, &read(value)?),
            "peers_cleared" => peers::clear(tx),
            "peer_bases_forgotten" => peers::forget_bases(tx, &read::<String>(value)?),
            "record" => records::restore(tx, &read(value)?),
            "record_deleted" => {
                let (collection, id, rev): (String, String, i64) = read(value)?;
                records::forget(tx, &collection, &id, rev)
            }
            "record_index" => records::put_index(tx, &read(value)?),
            kind if EARLIER.contains(&kind) => Err(Error::new(
                Code::Unsupported,
                "the journal was written by a version of Pensa before the first release",
            )
            .hint("open the store with that version and run pn export; then make a new one from its files")),
            _ => Ok(()),
        }
    }

    fn event(&self, value: &Value) -> Result<()> {
        let known = |name: &&String| self.event_columns.contains(name);
        let fields = value.as_object().ok_or_else(|| unreadable("an event"))?;
        let names: Vec<&String> = fields.keys().filter(known).collect();
        let values = names.iter().map(|name| match &fields[name.as_str()] {
            Value::Null => Ok(Param::Null),
            Value::Number(number) => number.as_i64().map(Param::Int).ok_or_else(|| unreadable("a number")),
            Value::String(text) => Ok(Param::from(text)),
            _ => Err(unreadable("an event")),
        });
        let list = names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
        let places = (1..=names.len()).map(|at| format!("?{at}")).collect::<Vec<_>>().join(", ");
        let sql = format!("INSERT INTO events ({list}) VALUES ({places}) ON CONFLICT (id) DO NOTHING");
        self.tx.send(&sql, &values.collect::<Result<Vec<_>>>()?)
    }

    /// Puts in order what depends on more than one item.
    pub(crate) fn settle(&self) -> Result<()> {
        for sql in [
            "DELETE FROM deps WHERE issue_id NOT IN (SELECT id FROM issues)
                OR depends_on_id NOT IN (SELECT id FROM issues)",
            "DELETE FROM comments WHERE issue_id NOT IN (SELECT id FROM issues)",
            "UPDATE issues SET fixes = NULL WHERE fixes NOT IN (SELECT id FROM issues)",
            "UPDATE events SET issue_id = NULL WHERE issue_id NOT IN (SELECT id FROM issues)",
            "DELETE FROM sessions WHERE agent_id NOT IN (SELECT id FROM agents)",
            "DELETE FROM session_history WHERE session_id NOT IN (SELECT id FROM sessions)",
            "UPDATE agents SET parent_id = NULL WHERE parent_id NOT IN (SELECT id FROM agents)",
            "UPDATE agents SET active_session_id =
                (SELECT s.id FROM sessions s WHERE s.agent_id = agents.id ORDER BY s.number DESC LIMIT 1)
             WHERE active_session_id NOT IN (SELECT id FROM sessions)",
            "DELETE FROM runs WHERE repo_id NOT IN (SELECT id FROM repos)
                OR harness_id NOT IN (SELECT id FROM harnesses) OR runtime_id NOT IN (SELECT id FROM runtimes)",
            "UPDATE runs SET workspace_id = NULL WHERE workspace_id NOT IN (SELECT id FROM workspaces)",
            "DELETE FROM fs_snapshots WHERE repo_id NOT IN (SELECT id FROM repos)",
            "UPDATE fs_snapshots SET parent_id = NULL WHERE parent_id NOT IN (SELECT id FROM fs_snapshots)",
        ] {
            self.tx.execute(sql, params![])?;
        }
        deps::recount(self.tx).map(drop)
    }
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T> {
    serde_json::from_value(value).map_err(unreadable)
}

fn unreadable(why: impl std::fmt::Display) -> Error {
    Error::new(Code::Corrupt, format!("the journal holds something unreadable: {why}"))
}

fn put_issue(tx: &Tx<'_>, row: IssueRow<Issue>) -> Result<()> {
    let mut issue = row.issue;
    issue.lease = row.lease_ms.map(Span::from_millis);
    match issues::get(tx, &issue.id)? {
        Some(known) => issues::replace(tx, &known, &issue),
        None => issues::insert(tx, &issue),
    }
}

fn put_dep(tx: &Tx<'_>, dep: &Dep) -> Result<()> {
    match issues::get(tx, &dep.depends_on_id)? {
        Some(parent) if !deps::insert(tx, dep, &parent)? => deps::set_extra(tx, dep),
        Some(_) => Ok(()),
        // What its issue was is lost; so is this.
        None => Ok(()),
    }
}

fn remove_dep(tx: &Tx<'_>, dep: &Dep) -> Result<()> {
    match issues::get(tx, &dep.depends_on_id)? {
        Some(parent) => deps::remove(tx, &dep.issue_id, &parent).map(drop),
        None => Ok(()),
    }
}

fn put_entry(tx: &Tx<'_>, entry: &Entry) -> Result<()> {
    tx.send("DELETE FROM session_history WHERE id = ?1", params![entry.id])?;
    entries::insert(tx, entry)
}
