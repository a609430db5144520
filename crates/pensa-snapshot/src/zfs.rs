//! Snapshots on ZFS: `DATASET@pensa-ID`, visible below `.zfs/snapshot` in the tree.
//!
//! The file system checks its blocks itself, so `verify` only checks that the snapshot is the recorded one. Other
//! datasets inside the tree are not part of a snapshot, and a restore leaves them alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use pensa_core::{Code, Error, Result};

use crate::snapshot::{RestoreCounts, SnapshotData, SnapshotDirs, VerifyReport};
use crate::{error, mirror, mounts, run};

/// The dataset mounted at a tree, or why ZFS snapshots are impossible.
fn dataset(root: &Path) -> Result<String> {
    let shown = root.display();
    let mount = mounts::of(root).filter(|mount| mount.kind == "zfs");
    let mount = mount.ok_or_else(|| error::unsupported(format!("{shown} is not on a ZFS file system")))?;
    if root.canonicalize().ok().as_deref() != Some(mount.point.as_path()) {
        return Err(error::unsupported(format!("{shown} is not where a ZFS dataset is mounted")));
    }
    if !run::is_program("zfs") {
        return Err(error::unsupported("the program zfs is not on this machine's PATH"));
    }
    Ok(mount.source.display().to_string())
}

pub(crate) fn is_supported(root: &Path) -> bool {
    dataset(root).is_ok()
}

fn zfs() -> Command {
    let mut command = Command::new("zfs");
    command.env("LC_ALL", "C");
    command
}

fn name(dataset: &str, dirs: &SnapshotDirs<'_>) -> String {
    format!("{dataset}@pensa-{}", dirs.id)
}

fn content(dirs: &SnapshotDirs<'_>) -> PathBuf {
    dirs.root.join(".zfs/snapshot").join(format!("pensa-{}", dirs.id))
}

pub(crate) fn create(dirs: &SnapshotDirs<'_>) -> Result<SnapshotData> {
    let name = name(&dataset(dirs.root)?, dirs);
    let output = run::run(zfs().args(["snapshot", &name]), None)?;
    if output.stderr.contains("dataset already exists") {
        return Err(Error::new(Code::Conflict, format!("there is a snapshot of this name already: {name}")));
    }
    if !output.success {
        return Err(run::command_error("zfs", &output));
    }
    let described = mirror::describe(&content(dirs)).and_then(|metadata| Ok((metadata, guid(&name)?)));
    let (mut metadata, guid) = described.inspect_err(|_| drop(destroy(&name)))?;
    metadata.extend(guid.map(|guid| ("guid".to_owned(), guid.into())));
    Ok(SnapshotData { reference: Some(name), path: Some(content(dirs)), metadata })
}

/// The GUID of a snapshot; `None` if it does not exist.
fn guid(name: &str) -> Result<Option<String>> {
    let output = run::run(zfs().args(["get", "-H", "-p", "-o", "value", "guid", name]), None)?;
    if output.success {
        return Ok(Some(String::from_utf8_lossy(&output.stdout).trim().to_owned()));
    }
    if output.stderr.contains("dataset does not exist") { Ok(None) } else { Err(run::command_error("zfs", &output)) }
}

pub(crate) fn verify(dirs: &SnapshotDirs<'_>, snapshot: &SnapshotData) -> Result<VerifyReport> {
    let mut proof = VerifyReport::default();
    let name = name(&dataset(dirs.root)?, dirs);
    match guid(&name)? {
        None => proof.problem(format!("{name} is not there")),
        Some(guid) if guid == snapshot.text("guid")? => proof.files = snapshot.number("files")?,
        Some(_) => proof.problem(format!("{name} is another snapshot")),
    }
    Ok(proof.done())
}

pub(crate) fn restore(dirs: &SnapshotDirs<'_>, snapshot: &SnapshotData) -> Result<RestoreCounts> {
    let proof = verify(dirs, snapshot)?;
    match proof.problems.first() {
        None => mirror::restore(dirs, &content(dirs)),
        Some(problem) => Err(error::corrupt(problem.clone())),
    }
}

pub(crate) fn delete(dirs: &SnapshotDirs<'_>) -> Result<()> {
    let name = name(&dataset(dirs.root)?, dirs);
    if guid(&name)?.is_none() {
        return Ok(());
    }
    destroy(&name)
}

fn destroy(name: &str) -> Result<()> {
    run::must(zfs().args(["destroy", name]), None).map(drop)
}
