//! Applies journal items to the tables.
//!
//! The journal supplies the lines; callers decide what missing lines mean.

use pensa_core::id::IssueId;
use pensa_core::session::Entry;
use pensa_core::{Code, Error, Result};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::db::{Db, Param, Tx, params};
use crate::entity::{self, Change};
use crate::journal::{self, JournalLine};
use crate::store::StoreDir;
use crate::tables::{agents, answers, deps, entries, issues, purge, recall, records};

/// Begins a write transaction on a database that has everything its journal has.
pub(crate) fn begin_write(db: &Db) -> Result<Tx<'_>> {
    let tx = db.begin_write()?;
    catch_up(&tx)?;
    Ok(tx)
}

/// Applies missing journal lines in the current transaction. A database is behind its journal if its write-ahead log
/// was lost or an old file was restored.
fn catch_up(tx: &Tx<'_>) -> Result<()> {
    let Some((before, store)) = tx.behind_journal()? else { return Ok(()) };
    store.refuse_foreign_journal()?;
    let mut last = before;
    tx.expect_many_rows()?;
    let replay = Replay::new(tx)?;
    let work = || {
        journal::read(store, before, |line| {
            let JournalLine::Entry(entry) = line else { return Err(too_old(store)) };
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
    let done = tx.without_journaling(before, work);
    done?;
    tx.without_journaling(last, || replay.rebuild_derived())
}

/// The error for a database that the journal alone cannot bring up to date.
fn too_old(store: &StoreDir) -> Error {
    Error::new(Code::Corrupt, format!("{} is older than its journal goes back", store.database().display()))
        .hint("it is rebuilt from a backup when the store is next opened")
}

/// Applies items of the journal to the tables.
#[derive(Debug)]
pub(crate) struct Replay<'t, 'c> {
    tx: &'t Tx<'c>,
    /// The columns of the events table. An event from a newer version of Pensa may have more.
    event_columns: Vec<String>,
}

impl<'t, 'c> Replay<'t, 'c> {
    pub(crate) fn new(tx: &'t Tx<'c>) -> Result<Self> {
        tx.begin_replay();
        let event_columns = tx.query("SELECT name FROM pragma_table_info('events')", params![], |row| row.text(0))?;
        Ok(Self { tx, event_columns })
    }

    /// Applies one item. Items of unknown kinds are skipped.
    pub(crate) fn apply(&self, kind: &str, value: Value) -> Result<()> {
        let tx = self.tx;
        match kind {
            "event" => self.event(&value),
            "change" => read::<Change>(value)?.replay(tx),
            "answer" => read::<answers::StoredAnswer<'_>>(value)?.replay(tx),
            "changes_forgotten" => entity::forget_changes(tx, read(value)?),
            "issue_renamed" => {
                let (old, new): (IssueId, IssueId) = read(value)?;
                // JSONL files read before the journal may already have the new id.
                if issues::get(tx, &new)?.is_some() { Ok(()) } else { issues::rename(tx, &old, &new) }
            }
            "issues_purged" => purge::purge(tx, &read::<Vec<IssueId>>(value)?),
            "agent_purged" => agents::purge(tx, &read(value)?),
            "entry" => put_entry(tx, &read(value)?),
            "record" => records::restore_unless_newer(tx, &read(value)?),
            "record_deleted" => {
                let (collection, id, rev): (String, String, i64) = read(value)?;
                records::delete_unless_newer(tx, &collection, &id, rev)
            }
            "record_index" => records::put_index(tx, &read(value)?),
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

    /// Repairs what depends on more than one item: removes dangling references, and recomputes derived data.
    pub(crate) fn rebuild_derived(&self) -> Result<()> {
        let lost = "session_id NOT IN (SELECT id FROM sessions WHERE agent_id IN (SELECT id FROM agents))";
        recall::touch_entries(self.tx, lost, params![])?;
        for sql in [
            "INSERT INTO recall_dirty (kind, id) SELECT 'comment', id FROM comments
             WHERE issue_id NOT IN (SELECT id FROM issues) ON CONFLICT DO NOTHING",
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
        answers::delete_expired(self.tx)?;
        deps::recount(self.tx).map(drop)
    }
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T> {
    serde_json::from_value(value).map_err(unreadable)
}

fn unreadable(why: impl std::fmt::Display) -> Error {
    Error::new(Code::Corrupt, format!("the journal holds something unreadable: {why}"))
}

fn put_entry(tx: &Tx<'_>, entry: &Entry) -> Result<()> {
    tx.send("DELETE FROM session_history WHERE id = ?1", params![entry.id])?;
    entries::insert(tx, std::slice::from_ref(entry))
}
