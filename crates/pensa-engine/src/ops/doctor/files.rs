//! Checks a store's files: leftovers and permissions.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pensa_core::Result;
use pensa_core::ops::store::{Report, Severity};

use super::{log_fix, report_problem};
use crate::context::Context;
use crate::db::Tx;
use crate::db::backup;
use crate::store::StoreDir;
use crate::{error, journal};

/// Temporary files older than this belong to no running process.
const LEFTOVER_AGE: Duration = Duration::from_secs(60);
/// Most files of one directory that are checked.
const MAX_FILES: usize = 10_000;

fn files(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.take(MAX_FILES).filter_map(|e| e.ok().map(|e| e.path())).collect();
    paths.sort_unstable();
    paths
}

/// Temporary files of commands that were killed.
pub(super) fn leftover(cx: &Context<'_>, tx: &Tx<'_>, store: &StoreDir, fix: bool, report: &mut Report) -> Result<()> {
    let (root, local) = (store.root(), store.root().join("local"));
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let in_root = files(root).into_iter().filter(|path| name(path).contains(".tmp-"));
    let is_draft = |path: &PathBuf| name(path).contains(".tmp");
    let in_local = files(&local).into_iter().chain(files(&backup::dir(store))).filter(is_draft);
    for path in in_root.chain(in_local).filter(|path| is_old(path)) {
        let shown_path = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let message = format!("{shown_path} was left behind by a command that did not finish");
        report_problem(report, "leftover", Severity::Info, message, None, true);
        if fix {
            fs::remove_file(&path).map_err(|e| error::io("delete", &path, &e))?;
            log_fix(cx, tx, None, &format!("removed {shown_path}"), report)?;
        }
    }
    Ok(())
}

fn is_old(path: &Path) -> bool {
    let changed = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file).and_then(|meta| meta.modified().ok());
    changed.is_some_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > LEFTOVER_AGE))
}

/// Files that other users could read.
pub(super) fn permissions(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    store: &StoreDir,
    fix: bool,
    report: &mut Report,
) -> Result<()> {
    let (root, local) = (store.root(), store.root().join("local"));
    let databases = files(root)
        .into_iter()
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("db.sqlite")));
    let mut below = vec![files(&journal::dir(store)), files(&backup::dir(store)), files(&local.join("set-aside"))];
    if store.durable() != local {
        below.extend([vec![store.durable()], files(&store.durable())]);
    }
    let private = databases.chain([local.clone()]).chain(files(&local)).chain(below.into_iter().flatten());
    for path in private {
        let Ok(meta) = fs::symlink_metadata(&path) else { continue };
        let mode = meta.permissions().mode() & 0o777;
        if meta.is_symlink() || mode & 0o077 == 0 {
            continue;
        }
        let shown_path = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let message = format!("{shown_path} can be used by others on this machine (mode {mode:o})");
        report_problem(report, "permissions", Severity::Warning, message, None, true);
        if fix {
            let owner_only = fs::Permissions::from_mode(mode & 0o700);
            fs::set_permissions(&path, owner_only).map_err(|e| error::io("protect", &path, &e))?;
            log_fix(cx, tx, None, &format!("took {shown_path} away from others"), report)?;
        }
    }
    Ok(())
}
