//! What only this machine knows about learnings: which of their files are in the work tree, and how git renamed them.
//!
//! Learnings follow a rename where it is certain and cheap to see: in the commit that contains it, whose hook exports the
//! store, so that the rename and the new path travel together. Everything else only reads: a review looks for files that
//! are gone in the history, and lookups by file try former names, since another branch may still have them.

use std::path::Path;

use pensa_core::Result;
use pensa_core::learning::upkeep::ReviewItem;
use pensa_core::learning::{FileMove, plain_path};
use pensa_core::ops::upkeep::{Files, MoveFiles, Review};
use pensa_git::{Repo, renames};

use crate::Client;

/// Most files that are looked up in the history of one repository: each is a walk through it.
const MAX_LOOKUPS: usize = 50;

/// A review, with a look at the work tree around `dir`. Outside a repository no file counts as gone.
pub fn review(client: &Client, dir: &Path, review: &Review) -> Result<Vec<ReviewItem>> {
    let gone = match Repo::around(dir) {
        Some(repo) => gone_files(client, dir, &repo)?,
        None => Vec::new(),
    };
    client.call(&Review { gone, ..review.clone() })
}

/// The files of learnings that are not there.
fn gone_files(client: &Client, dir: &Path, repo: &Repo) -> Result<Vec<String>> {
    let mut files = client.call(&Files {})?;
    files.retain(|file| is_path(file) && !is_there(repo, dir, file));
    Ok(files)
}

/// Whether a text names one file, rather than many or a page.
fn is_path(file: &str) -> bool {
    !file.contains(['*', '?', '{', '<']) && !file.contains("://") && !plain_path(file).is_empty()
}

/// Whether a file is in the work tree. A name without a directory may be anywhere in it.
fn is_there(repo: &Repo, dir: &Path, file: &str) -> bool {
    let file = plain_path(file);
    let file = file
        .split_once(':')
        .map_or(file, |(path, line)| if line.chars().all(|c| c.is_ascii_digit() || c == ':') { path } else { file });
    if repo.top.join(file).exists() || dir.join(file).exists() {
        return true;
    }
    let mut listed = repo.git();
    listed.args(["ls-files", "-z", "--", &format!(":(literal){file}"), &format!(":(glob)**/{file}")]);
    pensa_git::run(&mut listed).is_ok_and(|output| !output.stdout.is_empty())
}

/// The renames that history has of files of learnings that are gone.
pub fn renames_of_gone_files(client: &Client, dir: &Path) -> Result<Vec<FileMove>> {
    let Some(repo) = Repo::around(dir) else { return Ok(Vec::new()) };
    let gone = gone_files(client, dir, &repo)?;
    let moved = |from: String| renames::present_name(&repo, &from).map(|to| FileMove { from, to });
    Ok(gone.into_iter().take(MAX_LOOKUPS).filter_map(moved).collect())
}

/// Has learnings follow the renames of the commit in progress. Returns how many did.
pub fn follow_staged_renames(client: &Client, dir: &Path) -> Result<usize> {
    if client.call(&Files {})?.is_empty() {
        return Ok(0);
    }
    let moves = renames::staged_renames(dir);
    if moves.is_empty() { Ok(0) } else { Ok(client.call(&MoveFiles { moves })?.len()) }
}

/// Files with their former names, as far as learnings may know them by those.
pub fn with_former_names(client: &Client, dir: &Path, files: &[String]) -> Result<Vec<String>> {
    let mut all = files.to_vec();
    let known: Vec<String> = client.call(&Files {})?;
    // Starting git is slow, so ask it only if there is something to find.
    let Some(repo) = (!known.is_empty()).then(|| Repo::around(dir)).flatten() else { return Ok(all) };
    if known.iter().all(|file| !is_path(file) || repo.top.join(plain_path(file)).exists()) {
        return Ok(all);
    }
    let uncommitted = renames::uncommitted_renames(&repo.top);
    for file in files.iter().take(MAX_LOOKUPS) {
        let below = below_top(&repo, dir, file);
        all.extend(uncommitted.iter().filter(|one| one.to == below).map(|one| one.from.clone()));
        let before = uncommitted.iter().find(|one| one.to == below).map_or(below.as_str(), |one| one.from.as_str());
        all.extend(renames::former_names(&repo, before));
    }
    // Only names that a learning has can find one.
    let is_known = |name: &String| known.iter().any(|file| plain_path(file) == name.as_str());
    let former = all.split_off(files.len());
    all.extend(former.into_iter().filter(is_known));
    Ok(all)
}

/// The paths of files below the root of the repository around `dir`; as they are, outside one.
pub fn below_top_all(dir: &Path, files: &[String]) -> Vec<String> {
    match Repo::around(dir) {
        Some(repo) => files.iter().map(|file| below_top(&repo, dir, file)).collect(),
        None => files.to_vec(),
    }
}

/// The path of a file below the root of the repository.
fn below_top(repo: &Repo, dir: &Path, file: &str) -> String {
    let path = dir.join(plain_path(file));
    let top = repo.top.canonicalize().unwrap_or_else(|_| repo.top.clone());
    let path = path.canonicalize().unwrap_or(path);
    let below = path.strip_prefix(&top).ok().filter(|_| path.exists()).and_then(Path::to_str);
    below.unwrap_or_else(|| plain_path(file)).to_owned()
}
