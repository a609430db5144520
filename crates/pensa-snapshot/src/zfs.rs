//! Snapshots of ZFS: `DATASET@pensa-ID`, seen below `.zfs/snapshot` in the tree.
//!
//! The file system proves its blocks itself, so `verify` only looks whether it is that snapshot. Other datasets inside
//! the tree are not in it, and a restore leaves them alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use pensa_core::{Code, Error, Result};

use crate::place::{Place, Proof, Restored, Taken};
use crate::{error, mirror, mounts, run};

/// The dataset that is mounted at a tree, or why there can be no snapshot of it.
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

pub(crate) fn is_offered(root: &Path) -> bool {
    dataset(root).is_ok()
}

fn zfs() -> Command {
    let mut command = Command::new("zfs");
    command.env("LC_ALL", "C");
    command
}

fn name(dataset: &str, place: &Place<'_>) -> String {
    format!("{dataset}@pensa-{}", place.id)
}

fn content(place: &Place<'_>) -> PathBuf {
    place.root.join(".zfs/snapshot").join(format!("pensa-{}", place.id))
}

pub(crate) fn create(place: &Place<'_>) -> Result<Taken> {
    let name = name(&dataset(place.root)?, place);
    let told = run::run(zfs().args(["snapshot", &name]), None)?;
    if told.stderr.contains("dataset already exists") {
        return Err(Error::new(Code::Conflict, format!("there is a snapshot of this name already: {name}")));
    }
    if !told.success {
        return Err(run::complaint("zfs", &told));
    }
    let described = mirror::describe(&content(place)).and_then(|metadata| Ok((metadata, guid(&name)?)));
    let (mut metadata, guid) = described.inspect_err(|_| drop(destroy(&name)))?;
    metadata.extend(guid.map(|guid| ("guid".to_owned(), guid.into())));
    Ok(Taken { reference: Some(name), path: Some(content(place)), metadata })
}

/// What tells a snapshot from all others; none if it is not there.
fn guid(name: &str) -> Result<Option<String>> {
    let told = run::run(zfs().args(["get", "-H", "-p", "-o", "value", "guid", name]), None)?;
    if told.success {
        return Ok(Some(String::from_utf8_lossy(&told.stdout).trim().to_owned()));
    }
    if told.stderr.contains("dataset does not exist") { Ok(None) } else { Err(run::complaint("zfs", &told)) }
}

pub(crate) fn verify(place: &Place<'_>, taken: &Taken) -> Result<Proof> {
    let mut proof = Proof::default();
    let name = name(&dataset(place.root)?, place);
    match guid(&name)? {
        None => proof.problem(format!("{name} is not there")),
        Some(guid) if guid == taken.text("guid")? => proof.files = taken.number("files")?,
        Some(_) => proof.problem(format!("{name} is another snapshot")),
    }
    Ok(proof.done())
}

pub(crate) fn restore(place: &Place<'_>, taken: &Taken) -> Result<Restored> {
    let proof = verify(place, taken)?;
    match proof.problems.first() {
        None => mirror::restore(place, &content(place)),
        Some(problem) => Err(error::corrupt(problem.clone())),
    }
}

pub(crate) fn delete(place: &Place<'_>) -> Result<()> {
    let name = name(&dataset(place.root)?, place);
    if guid(&name)?.is_none() {
        return Ok(());
    }
    destroy(&name)
}

fn destroy(name: &str) -> Result<()> {
    run::must(zfs().args(["destroy", name]), None).map(drop)
}
