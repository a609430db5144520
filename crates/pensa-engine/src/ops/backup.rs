//! Operations on whole copies of a store.

use std::path::{Path, PathBuf};

use pensa_core::event::{self, EventType};
use pensa_core::ops::backup::{BackedUp, Backup, Backups, Restore, Restored};
use pensa_core::{Code, Error, Result};
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::db::{Db, Tx, backup, params, snapshot};
use crate::execute::{AloneCalls, Execute, ExecuteAlone};
use crate::journal::Journal;
use crate::store::{Home, StoreDir};
use crate::sync;
use crate::tables::{agreements, events, seen_files};

/// The directory of a store that has its database there.
pub(super) fn own_dir<'a>(cx: &Context<'a>) -> Result<&'a StoreDir> {
    match cx.store {
        Home::Dir(dir) => Ok(dir),
        Home::Database { project, .. } => {
            Err(Error::new(Code::Unsupported, format!("project {project} is kept in PostgreSQL, with its own backups"))
                .hint("use pg_dump on the database; docs/server.md tells how"))
        }
    }
}

fn told(cx: &Context<'_>, backup: &backup::Backup) -> BackedUp {
    BackedUp { path: cx.place_of(&backup.path), bytes: backup.bytes, event: backup.event }
}

impl Execute for Backup {
    fn execute(&self, cx: &Context<'_>, _: &Tx<'_>) -> Result<BackedUp> {
        let store = own_dir(cx)?;
        let made = match &self.file {
            Some(file) => backup::make_at(store, Path::new(file), self.force)?,
            None => backup::make(store)?,
        };
        Ok(told(cx, &made))
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
        Ok(backup::list(own_dir(cx)?)?.iter().map(|backup| told(cx, backup)).collect())
    }
}

impl Execute for Restore {
    const ALONE: Option<AloneCalls<Self>> = Some(AloneCalls::new());

    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Restored> {
        let store = own_dir(cx)?;
        let file = find(store, &self.file)?;
        check(store, &file, self.force)?;
        // It stays where the journal can name it, and is brought to the present schema there.
        let (name, kept) = backup::keep_source(store, &file)?;
        drop(Db::loose(store, Some(&kept), cx.now)?);
        backup::keep_sum(&kept, &kept)?;
        let before = backup::automatic(store)?;
        let last = events::last(tx)?.max(Journal::new(store).last(-1)?);
        let seen = seen_files::all(tx)?;
        let mut places: Vec<String> = agreements::all(tx)?.into_iter().map(|agreement| agreement.place).collect();
        tx.replace_all(&kept, last)?;
        tx.journal("restored", &json!({"from": name}))?;
        // The files have what was just given up; it must not come back from them.
        seen_files::note(tx, &seen, cx.now)?;
        places.extend(agreements::all(tx)?.into_iter().map(|agreement| agreement.place));
        places.push(String::new());
        places.sort();
        places.dedup();
        sync::pass_over(cx, tx, &places)?;
        log(cx, tx, &file)?;
        let issues = tx.query_one("SELECT COUNT(*) FROM issues", params![], |row| row.int(0))?;
        Ok(Restored {
            status: "restored".into(),
            event: events::last(tx)?,
            issues: issues.unwrap_or_default(),
            backup: cx.place_of(&before.path),
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

/// A backup of the store by its name, or else any file.
fn find(store: &StoreDir, wanted: &str) -> Result<PathBuf> {
    let own = backup::dir(store).join(wanted);
    if is_plain(wanted) && own.is_file() {
        return Ok(own);
    }
    let path = PathBuf::from(wanted);
    if path.is_file() {
        return Ok(path);
    }
    Err(Error::not_found("backup", wanted).hint("pn backup --list shows those that are there"))
}

/// Refuses a file that is not a sound backup of this store.
fn check(store: &StoreDir, file: &Path, force: bool) -> Result<()> {
    // The file's fault, not the store's.
    let bad = |message: String| Error::invalid(message).hint("take another; nothing was changed");
    let contents = snapshot::inspect(file, true).map_err(|e| match e.code {
        Code::Corrupt => bad(e.message),
        _ => e,
    })?;
    if !backup::is_sound(file) {
        return Err(bad(format!("{} is not as it was made", file.display())));
    }
    if contents.mark != 0 && contents.mark != backup::mark(store) && !force {
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
