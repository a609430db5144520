//! Checks whether git tracks a store's database. This runs at every open, so it must be cheap.
//!
//! While the index file is unchanged, its metadata is enough. A changed index is searched for the database's name; git
//! runs only if the name occurs, or if the index format hides names.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use aho_corasick::AhoCorasick;
use pensa_git::{WorkTree, open_committed};

use super::StoreDir;

/// Prefix of the names of the database and its write-ahead log.
const DATABASE: &str = "db.sqlite";
/// Index extensions that hide names: a split index, and a sparse index whose directories stand for their files.
const PARTIAL: [&str; 2] = ["link\0", "sdir\0"];
/// From this index version on, names are prefix-compressed.
const COMPRESSED: u8 = 4;
/// Size limit for the cache file.
const MAX_CACHE: u64 = 1000;

/// The name of a tracked database file in the store's directory; `None` if git tracks none. The file `cache` remembers
/// the index that was last found to be free of them.
pub(crate) fn tracked_database(root: &Path, cache: &Path) -> Option<String> {
    let index = WorkTree::of(root)?.git_dir.join("index");
    let stamp = stamp(&index)?;
    if read_cache(cache).as_ref() == Some(&stamp) {
        return None;
    }
    let tracked = search(root, &fs::read(&index).unwrap_or_default());
    if tracked.is_none() {
        // Best effort: without the cache, the next command searches again.
        let _ = StoreDir::open_private(cache).and_then(|mut file| {
            file.set_len(0)?;
            file.write_all(stamp.as_bytes())
        });
    }
    tracked
}

/// Identifies a version of the index. Git replaces the file whenever it changes.
fn stamp(index: &Path) -> Option<String> {
    let meta = fs::metadata(index).ok()?;
    let times = [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()];
    Some(format!("{} {} {} {times:?}", meta.dev(), meta.ino(), meta.len()))
}

fn read_cache(cache: &Path) -> Option<String> {
    let mut note = String::new();
    let (file, _) = open_committed(cache).ok()??;
    file.take(MAX_CACHE).read_to_string(&mut note).ok()?;
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
        Ok(output) if output.success => {
            let first = output.stdout.split(|byte| *byte == 0).find(|name| !name.is_empty())?;
            Some(String::from_utf8_lossy(first).into_owned())
        }
        // Without git, assume that the name means the file.
        _ => is_named.then(|| DATABASE.to_owned()),
    }
}
