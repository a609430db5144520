//! Operations on backups of a store.

use std::path::{Path, PathBuf};

use pensa_core::event::{self, EventType};
use pensa_core::ops::backup::{BackedUp, Backup, Backups, Restore, Restored};
use pensa_core::{Code, Error, Result};
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::db::{Db, Tx, backup, params, snapshot};
use crate::execute::{AloneCalls, Execute, ExecuteAlone};
use crate::journal::Journal;
use crate::store::{StoreDir, StoreLocation};
use crate::sync;
use crate::tables::events;
use crate::tables::peers::{self, PeerKind};

/// The directory of a store whose database is a file there.
pub(super) fn own_dir<'a>(cx: &Context<'a>) -> Result<&'a StoreDir> {
    match cx.store {
        StoreLocation::Dir(dir) => Ok(dir),
        StoreLocation::Database { project, .. } => {
            Err(Error::new(Code::Unsupported, format!("project {project} is kept in PostgreSQL, with its own backups"))
                .hint("use pg_dump on the database; docs/operate-postgresql.md tells how"))
        }
    }
}

fn backup_answer(cx: &Context<'_>, backup: &backup::Backup) -> BackedUp {
    BackedUp { path: cx.visible_path(&backup.path), bytes: backup.bytes, event: backup.event }
}

impl Execute for Backup {
    fn execute(&self, cx: &Context<'_>, _: &Tx<'_>) -> Result<BackedUp> {
        let store = own_dir(cx)?;
        let made = match &self.file {
            Some(file) => backup::make_at(store, Path::new(file), self.force)?,
            None => backup::make(store)?,
        };
        Ok(backup_answer(cx, &made))
    }

    fn allow_remotely(&self) -> Result<()> {
        match &self.file {
            Some(_) => {
                Err(Error::new(Code::Forbidden, "a backup through a server goes where the server keeps its own")
                    .hint("leave the file away"))
            }
            None => Ok(()),
        }
    }
}

impl Execute for Backups {
    fn execute(&self, cx: &Context<'_>, _: &Tx<'_>) -> Result<Vec<BackedUp>> {
        Ok(backup::list(own_dir(cx)?)?.iter().map(|backup| backup_answer(cx, backup)).collect())
    }
}

impl Execute for Restore {
    const ALONE: Option<AloneCalls<Self>> = Some(AloneCalls::new());

    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Restored> {
        let store = own_dir(cx)?;
        let file = find(store, &self.file)?;
        check(store, &file, self.force)?;
        // The journal refers to the backup by name, so it is copied into the store and migrated there.
        let (name, kept_file) = backup::keep_source(store, &file)?;
        drop(Db::scratch(store, Some(&kept_file), cx.now)?);
        backup::write_checksum(&kept_file, &kept_file)?;
        let before = backup::ensure_current(store)?;
        let last = events::last(tx)?.max(Journal::new(store).last(-1)?);
        let seen = peers::all_seen(tx)?;
        let work_trees = || Ok(peers::all(tx, PeerKind::Git)?.into_iter().map(|work_tree| work_tree.peer));
        let mut work_tree_peers: Vec<String> = work_trees()?.collect();
        tx.replace_all(&kept_file, last)?;
        tx.journal("restored", &json!({"from": name}))?;
        // The JSONL files still contain what the restore discarded, and must not bring it back.
        seen.iter().try_for_each(|(collection, id)| peers::note_seen(tx, collection, id, cx.now))?;
        work_tree_peers.extend(work_trees()?);
        work_tree_peers.push(String::new());
        work_tree_peers.sort();
        work_tree_peers.dedup();
        sync::mark_as_imported(cx, tx, &work_tree_peers)?;
        log(cx, tx, &file)?;
        let issues = tx.query_one("SELECT COUNT(*) FROM issues", params![], |row| row.int(0))?;
        Ok(Restored {
            status: "restored".into(),
            event: events::last(tx)?,
            issues: issues.unwrap_or_default(),
            backup: cx.visible_path(&before.path),
        })
    }

    fn allow_remotely(&self) -> Result<()> {
        if is_plain(&self.file) {
            return Ok(());
        }
        Err(Error::new(Code::Forbidden, "through a server a store is restored from the server's own backups only")
            .hint("give the name of one from pn backup --list"))
    }
}

impl ExecuteAlone for Restore {}

fn is_plain(name: &str) -> bool {
    !name.contains(['/', '\\', '\0']) && name.ends_with(".sqlite")
}

/// Finds a backup by its name in the store, or any file by its path.
fn find(store: &StoreDir, reference: &str) -> Result<PathBuf> {
    let own = backup::dir(store).join(reference);
    if is_plain(reference) && own.is_file() {
        return Ok(own);
    }
    let path = PathBuf::from(reference);
    if path.is_file() {
        return Ok(path);
    }
    Err(Error::not_found("backup", reference).hint("pn backup --list shows those that are there"))
}

/// Refuses a file that is not a valid backup of this store.
fn check(store: &StoreDir, file: &Path, force: bool) -> Result<()> {
    // The file is invalid, not the store.
    let bad = |message: String| Error::invalid(message).hint("take another; nothing was changed");
    let contents = snapshot::inspect(file, true).map_err(|e| match e.code {
        Code::Corrupt => bad(e.message),
        _ => e,
    })?;
    if !backup::is_sound(file)? {
        return Err(bad(format!("{} is not as it was made", file.display())));
    }
    if contents.mark != 0 && contents.mark != backup::store_mark(store) && !force {
        return Err(Error::new(Code::WrongStore, format!("{} is a backup of another store", file.display()))
            .hint("--force takes it nevertheless"));
    }
    Ok(())
}

fn log(cx: &Context<'_>, tx: &Tx<'_>, file: &Path) -> Result<()> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let mut detail = Map::new();
    detail.insert("file".into(), event::change(Value::Null, name));
    events::append(cx, tx, ("store", &cx.store.id()?), None, EventType::Restored, detail).map(drop)
}
