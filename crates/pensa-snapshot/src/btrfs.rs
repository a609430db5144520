//! Snapshots of btrfs: a read-only subvolume at `data/ID`.
//!
//! The file system proves its blocks itself, so `verify` only looks whether it is that subvolume and still read-only.
//! Subvolumes inside the tree are not in it, and a restore leaves them alone.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use pensa_core::{Code, Error, Result};

use crate::place::{Place, Proof, Restored, Scratch, Taken};
use crate::{error, mirror, run};

const MAGIC: u64 = 0x9123_683E;

/// The inode of the root of every subvolume.
const ROOT_INODE: u64 = 256;

/// Why a tree can have no snapshot of this kind; nothing if it can.
fn obstacle(root: &Path) -> Option<String> {
    let shown = root.display();
    if !is_on(root) {
        Some(format!("{shown} is not on a btrfs file system"))
    } else if !root.metadata().is_ok_and(|meta| meta.ino() == ROOT_INODE) {
        Some(format!("{shown} is not the root of a btrfs subvolume"))
    } else if !run::is_program("btrfs") {
        Some("the program btrfs is not on this machine's PATH".to_owned())
    } else {
        None
    }
}

fn is_on(root: &Path) -> bool {
    // The kernel's number has 32 bits, whatever the type has.
    rustix::fs::statfs(root).is_ok_and(|found| found.f_type as u64 & 0xFFFF_FFFF == MAGIC)
}

pub(crate) fn is_offered(root: &Path) -> bool {
    obstacle(root).is_none()
}

fn btrfs() -> Command {
    let mut command = Command::new("btrfs");
    command.env("LC_ALL", "C");
    command
}

/// Where the snapshot is, in full: the program must not take it for a flag.
fn content(place: &Place<'_>) -> Result<PathBuf> {
    let data = place.data.canonicalize().map_err(|e| error::io("open", place.data.display(), e))?;
    Ok(data.join(place.id))
}

pub(crate) fn create(place: &Place<'_>) -> Result<Taken> {
    if let Some(obstacle) = obstacle(place.root) {
        return Err(error::unsupported(obstacle));
    }
    let root = place.root.canonicalize().map_err(|e| error::io("open", place.root.display(), e))?;
    let content = content(place)?;
    if content.symlink_metadata().is_ok() {
        return Err(Error::new(Code::Conflict, format!("there is something already: {}", content.display())));
    }
    let told = run::run(btrfs().args(["subvolume", "snapshot", "-r"]).args([&root, &content]), None)?;
    if !told.success && (told.stderr.contains("cross-device") || !is_on(place.data)) {
        let data = place.data.display();
        return Err(error::unsupported(format!("{data} is on another file system than {}", root.display())));
    }
    if !told.success {
        return Err(run::complaint("btrfs", &told));
    }
    let described = mirror::describe(&content).and_then(|metadata| Ok((metadata, uuid(&content)?)));
    let (mut metadata, uuid) = described.inspect_err(|_| drop(remove(&content)))?;
    metadata.extend(uuid.map(|uuid| ("uuid".to_owned(), uuid.into())));
    Ok(Taken { reference: Some(content.display().to_string()), path: Some(content), metadata })
}

/// What tells a subvolume from all others; not everybody may ask.
fn uuid(content: &Path) -> Result<Option<String>> {
    let told = run::run(btrfs().args(["subvolume", "show"]).arg(content), None)?;
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    let line = text.lines().find_map(|line| line.trim().strip_prefix("UUID:"));
    Ok(line.filter(|_| told.success).map(|uuid| uuid.trim().to_owned()))
}

pub(crate) fn verify(place: &Place<'_>, taken: &Taken) -> Result<Proof> {
    let mut proof = Proof::default();
    let content = content(place)?;
    if let Some(obstacle) = obstacle(&content) {
        proof.problem(obstacle);
        return Ok(proof.done());
    }
    let told = run::must_line(btrfs().args(["property", "get", "-ts"]).arg(&content).arg("ro"), None)?;
    if told != "ro=true" {
        proof.problem(format!("{} is not read-only any more", content.display()));
    }
    if taken.text("uuid").ok().map(str::to_owned) != uuid(&content)? {
        proof.problem(format!("{} is another subvolume than the snapshot's", content.display()));
    }
    proof.files = taken.number("files")?;
    Ok(proof.done())
}

pub(crate) fn restore(place: &Place<'_>, taken: &Taken) -> Result<Restored> {
    let proof = verify(place, taken)?;
    match proof.problems.first() {
        None => mirror::restore(place, &content(place)?),
        Some(problem) => Err(error::corrupt(problem.clone())),
    }
}

pub(crate) fn delete(place: &Place<'_>) -> Result<()> {
    Scratch::sweep(place)?;
    if place.content().symlink_metadata().is_err() {
        return Ok(());
    }
    remove(&content(place)?)
}

fn remove(content: &Path) -> Result<()> {
    run::must(btrfs().args(["subvolume", "delete"]).arg(content), None).map(drop)
}
