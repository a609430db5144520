//! Whether git's index has a store's database, which is asked whenever a store is opened.
//!
//! While the index is the file that it was, one look at its metadata is enough. A new one is searched for the name of
//! the database; git is started only if it is found, or if the bytes of the index cannot tell.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use aho_corasick::AhoCorasick;
use pensa_git::{Surrounding, open_committed};

use super::StoreDir;

/// What the names of the database and its log begin with.
const DATABASE: &str = "db.sqlite";
/// Extensions of an index that says less than all: part of it is in another file, or directories stand for their files.
const PARTIAL: [&str; 2] = ["link\0", "sdir\0"];
/// The version of an index whose names are cut short where they begin like the one before.
const COMPRESSED: u8 = 4;
/// Longest note of what the index looked like.
const MAX_NOTE: u64 = 1000;

/// A file of the store's database that git tracks, by its name in the store's directory. `noted` is a file of this
/// machine that remembers which index had none.
pub(crate) fn database(root: &Path, noted: &Path) -> Option<String> {
    let index = Surrounding::of(root)?.git_dir.join("index");
    let stamp = stamp(&index)?;
    if read_note(noted).as_ref() == Some(&stamp) {
        return None;
    }
    let tracked = search(root, &fs::read(&index).unwrap_or_default());
    if tracked.is_none() {
        // Without it the next command looks again.
        let _ = StoreDir::open_private(noted).and_then(|mut file| {
            file.set_len(0)?;
            file.write_all(stamp.as_bytes())
        });
    }
    tracked
}

/// What tells an index from every other. Git replaces the file whenever it changes.
fn stamp(index: &Path) -> Option<String> {
    let meta = fs::metadata(index).ok()?;
    let times = [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()];
    Some(format!("{} {} {} {times:?}", meta.dev(), meta.ino(), meta.len()))
}

fn read_note(noted: &Path) -> Option<String> {
    let mut note = String::new();
    let (file, _) = open_committed(noted).ok()??;
    file.take(MAX_NOTE).read_to_string(&mut note).ok()?;
    Some(note)
}

fn search(root: &Path, index: &[u8]) -> Option<String> {
    let version = index.get(7).copied().unwrap_or(COMPRESSED);
    let has = |names: &[&str]| {
        let finder = AhoCorasick::builder().ascii_case_insensitive(true).build(names);
        finder.map_or(true, |finder| finder.is_match(index))
    };
    let is_named = has(&[DATABASE]);
    if !is_named && version < COMPRESSED && !has(&PARTIAL) {
        return None;
    }
    let pattern = format!(":(icase){DATABASE}*");
    match pensa_git::run(pensa_git::git(root).args(["ls-files", "-z", "--", &pattern])) {
        Ok(told) if told.success => {
            let first = told.stdout.split(|byte| *byte == 0).find(|name| !name.is_empty())?;
            Some(String::from_utf8_lossy(first).into_owned())
        }
        // Git cannot say otherwise.
        _ => is_named.then(|| DATABASE.to_owned()),
    }
}
