//! Snapshots on btrfs: a read-only subvolume at `data/ID`.
//!
//! The file system checks its blocks itself, so `verify` only checks that the path is that subvolume and read-only.
//! Subvolumes inside the tree are not part of a snapshot, and a restore leaves them alone.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use pensa_core::{Code, Error, Result};

use crate::snapshot::{RestoreCounts, ScratchDir, SnapshotData, SnapshotDirs, VerifyReport};
use crate::{error, mirror, run};

const MAGIC: u64 = 0x9123_683E;

/// The inode number of every subvolume's root.
const ROOT_INODE: u64 = 256;

/// Why btrfs snapshots of a tree are impossible; `None` if they are possible.
fn why_unsupported(root: &Path) -> Option<String> {
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
    // The kernel's value has 32 bits; the type of `f_type` depends on the platform.
    rustix::fs::statfs(root).is_ok_and(|found| found.f_type as u64 & 0xFFFF_FFFF == MAGIC)
}

pub(crate) fn is_supported(root: &Path) -> bool {
    why_unsupported(root).is_none()
}

fn btrfs() -> Command {
    let mut command = Command::new("btrfs");
    command.env("LC_ALL", "C");
    command
}

/// The path of the snapshot, absolute so that the program cannot parse it as a flag.
fn content(dirs: &SnapshotDirs<'_>) -> Result<PathBuf> {
    let data = dirs.data.canonicalize().map_err(|e| error::io("open", dirs.data.display(), e))?;
    Ok(data.join(dirs.id))
}

pub(crate) fn create(dirs: &SnapshotDirs<'_>) -> Result<SnapshotData> {
    if let Some(why_unsupported) = why_unsupported(dirs.root) {
        return Err(error::unsupported(why_unsupported));
    }
    let root = dirs.root.canonicalize().map_err(|e| error::io("open", dirs.root.display(), e))?;
    let content = content(dirs)?;
    if content.symlink_metadata().is_ok() {
        return Err(Error::new(Code::Conflict, format!("there is something already: {}", content.display())));
    }
    let output = run::run(btrfs().args(["subvolume", "snapshot", "-r"]).args([&root, &content]), None)?;
    if !output.success && (output.stderr.contains("cross-device") || !is_on(dirs.data)) {
        let data = dirs.data.display();
        return Err(error::unsupported(format!("{data} is on another file system than {}", root.display())));
    }
    if !output.success {
        return Err(run::command_error("btrfs", &output));
    }
    let described = mirror::describe(&content).and_then(|metadata| Ok((metadata, uuid(&content)?)));
    let (mut metadata, uuid) = described.inspect_err(|_| drop(remove(&content)))?;
    metadata.extend(uuid.map(|uuid| ("uuid".to_owned(), uuid.into())));
    Ok(SnapshotData { reference: Some(content.display().to_string()), path: Some(content), metadata })
}

/// The UUID of a subvolume; `None` without the permission to query it.
fn uuid(content: &Path) -> Result<Option<String>> {
    let output = run::run(btrfs().args(["subvolume", "show"]).arg(content), None)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.trim().strip_prefix("UUID:"));
    Ok(line.filter(|_| output.success).map(|uuid| uuid.trim().to_owned()))
}

pub(crate) fn verify(dirs: &SnapshotDirs<'_>, snapshot: &SnapshotData) -> Result<VerifyReport> {
    let mut proof = VerifyReport::default();
    let content = content(dirs)?;
    if let Some(why_unsupported) = why_unsupported(&content) {
        proof.problem(why_unsupported);
        return Ok(proof.done());
    }
    let output = run::must_line(btrfs().args(["property", "get", "-ts"]).arg(&content).arg("ro"), None)?;
    if output != "ro=true" {
        proof.problem(format!("{} is not read-only any more", content.display()));
    }
    if snapshot.text("uuid").ok().map(str::to_owned) != uuid(&content)? {
        proof.problem(format!("{} is another subvolume than the snapshot's", content.display()));
    }
    proof.files = snapshot.number("files")?;
    Ok(proof.done())
}

pub(crate) fn restore(dirs: &SnapshotDirs<'_>, snapshot: &SnapshotData) -> Result<RestoreCounts> {
    let proof = verify(dirs, snapshot)?;
    match proof.problems.first() {
        None => mirror::restore(dirs, &content(dirs)?),
        Some(problem) => Err(error::corrupt(problem.clone())),
    }
}

pub(crate) fn delete(dirs: &SnapshotDirs<'_>) -> Result<()> {
    ScratchDir::sweep(dirs)?;
    if dirs.content().symlink_metadata().is_err() {
        return Ok(());
    }
    remove(&content(dirs)?)
}

fn remove(content: &Path) -> Result<()> {
    run::must(btrfs().args(["subvolume", "delete"]).arg(content), None).map(drop)
}
