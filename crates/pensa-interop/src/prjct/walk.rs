//! Lists the files of a project with their roles. Links are not followed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pensa_core::{Code, Error, Result};

use super::Problem;

/// Limit on the depth of directories.
const MAX_DEPTH: usize = 4;
/// Limit on the number of files.
const MAX_FILES: usize = 10_000;

/// The role of a file. Files are read in this order, so that references come after what they refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    Project,
    Database,
    /// Read together with the database.
    DatabaseLog,
    State,
    Queue,
    Ideas,
    Shipped,
    Skills,
    Learnings,
    Events,
    Pending,
    /// Any other JSON file.
    Document,
    /// Any other JSONL file.
    Lines,
    /// Not user data, with the reason.
    LeftOut(&'static str),
    Unknown,
}

#[derive(Debug, Default)]
pub(super) struct FileListing {
    /// By path, separated by `/`.
    pub(super) files: BTreeMap<String, PathBuf>,
    pub(super) problems: Vec<Problem>,
}

/// The role of the file at a path. Knows the names in a project directory and in a copy of its `storage`.
pub(super) fn role(path: &str) -> Role {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    let top = path.split('/').next().unwrap_or_default();
    match (dir, name) {
        ("" | "storage", "state.json") => Role::State,
        ("" | "storage", "queue.json") => Role::Queue,
        ("" | "storage", "ideas.json") => Role::Ideas,
        ("" | "storage", "shipped.json") => Role::Shipped,
        ("" | "memory", "learnings.jsonl") => Role::Learnings,
        ("" | "memory", "events.jsonl") => Role::Events,
        ("" | "config", "skills.json") => Role::Skills,
        ("" | "sync", "pending.json") => Role::Pending,
        ("", "project.json") => Role::Project,
        ("", "prjct.db") => Role::Database,
        ("", "prjct.db-wal" | "prjct.db-shm" | "prjct.db-journal") => Role::DatabaseLog,
        _ if name.starts_with("prjct.db") => Role::LeftOut("a copy of the database"),
        _ if top == "index" => Role::LeftOut("a cache, which can be made again"),
        _ if path.starts_with("storage/backup/") => {
            Role::LeftOut("a copy; to import it, give the directory storage/backup instead")
        }
        _ if ["context", "agents"].contains(&top) && name.ends_with(".md") => {
            Role::LeftOut("made from the other files")
        }
        _ if name.ends_with(".json") => Role::Document,
        _ if name.ends_with(".jsonl") => Role::Lines,
        _ => Role::Unknown,
    }
}

/// Every file of a directory.
pub(super) fn listing(dir: &Path) -> Result<FileListing> {
    let mut listing = FileListing::default();
    let mut left = vec![(dir.to_owned(), String::new(), 0)];
    while let Some((at, below, depth)) = left.pop() {
        let entries = match fs::read_dir(&at) {
            Ok(entries) => entries,
            Err(error) if depth == 0 => return Err(unreadable(dir, &error)),
            Err(error) => {
                listing.problems.push(Problem::of(&below, format!("can not be read: {error}")));
                continue;
            }
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let path = match name.to_str() {
                Some(name) if below.is_empty() => name.to_owned(),
                Some(name) => format!("{below}/{name}"),
                None => {
                    let shown = format!("{below}/{}", name.to_string_lossy());
                    listing.problems.push(Problem::of(&shown, "has a name that is not UTF-8"));
                    continue;
                }
            };
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() => {
                    listing.problems.push(Problem::of(&path, "is a symbolic link, which is not followed"));
                }
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => left.push((entry.path(), path, depth + 1)),
                Ok(kind) if kind.is_dir() => listing.problems.push(Problem::of(&path, "is too deep to be looked into")),
                Ok(kind) if kind.is_file() => drop(listing.files.insert(path, entry.path())),
                _ => listing.problems.push(Problem::of(&path, "is not a file")),
            }
            if listing.files.len() + listing.problems.len() > MAX_FILES {
                let message = format!("{} has more than {MAX_FILES} files", dir.display());
                return Err(Error::new(Code::TooLarge, message).hint(HINT));
            }
        }
    }
    Ok(listing)
}

pub(super) const HINT: &str = "give the directory of one project, such as ~/.prjct-cli/projects/ID";

fn unreadable(dir: &Path, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => Error::not_found("directory", dir.display()),
        io::ErrorKind::NotADirectory => Error::invalid(format!("not a directory: {}", dir.display())).hint(HINT),
        _ => Error::new(Code::Internal, format!("can not read {}: {error}", dir.display())),
    }
}
