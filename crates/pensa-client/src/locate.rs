//! Which store a command means.
//!
//! Reads directories but no environment: the caller hands in what it was told.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use pensa_core::{Code, Error, Result, STORE_DIR};
use pensa_git::{common_git_dir, open_committed, without_dots};

/// How much of a file of settings is looked at.
const MAX_CONFIG: u64 = 1 << 20;

/// Which stores can hold a noun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Issues, work, learnings: a project's, or an error.
    Project,
    /// Agents, sessions, runs, repos, kv: a project's, else the user's own.
    ProjectElseUser,
}

/// What a search for a store starts from.
#[derive(Debug, Clone)]
pub struct Start {
    /// `--store` or `PN_STORE`: a project's directory or the store's own.
    pub explicit: Option<PathBuf>,
    pub cwd: PathBuf,
    /// The user's own store.
    pub user: Option<PathBuf>,
}

/// The directory of the store that a command on `scope` means; it may not exist yet if it is the user's.
pub fn store_root(start: &Start, scope: Scope) -> Result<PathBuf> {
    if let Some(dir) = &start.explicit {
        return explicit(&start.cwd.join(dir));
    }
    for dir in start.cwd.ancestors() {
        let store = shared_by_worktrees(dir);
        if fs::symlink_metadata(&store).is_ok() {
            return Ok(store);
        }
    }
    match (&start.user, scope) {
        (Some(user), Scope::ProjectElseUser) => Ok(user.clone()),
        _ => Err(Error::new(Code::NoStore, format!("no store in {} or above it", start.cwd.display()))
            .hint("pn init makes one for this project; PN_DAEMON uses a server's")),
    }
}

fn explicit(dir: &Path) -> Result<PathBuf> {
    let dir = without_dots(dir);
    let inside = shared_by_worktrees(&dir);
    if fs::symlink_metadata(&inside).is_ok() {
        return Ok(inside);
    }
    if dir.file_name().is_some_and(|name| name == STORE_DIR) && fs::symlink_metadata(&dir).is_ok() {
        return Ok(dir.parent().map_or_else(|| dir.clone(), shared_by_worktrees));
    }
    if dir.join("db.sqlite").exists() || names_a_store(&dir.join("config.toml")) {
        return Ok(dir);
    }
    Err(Error::new(Code::NoStore, format!("no store in {}", dir.display())).hint("pn init makes one"))
}

fn names_a_store(config: &Path) -> bool {
    let mut text = String::new();
    let Ok(Some((file, _))) = open_committed(config) else { return false };
    let read = file.take(MAX_CONFIG).read_to_string(&mut text);
    read.is_ok() && text.lines().any(|line| line.trim_start().starts_with("store_id"))
}

/// The store of the project in `dir`: that of the main worktree, if it has one.
fn shared_by_worktrees(dir: &Path) -> PathBuf {
    main_worktree(dir)
        .map(|main| main.join(STORE_DIR))
        .filter(|store| fs::symlink_metadata(store).is_ok())
        .unwrap_or_else(|| dir.join(STORE_DIR))
}

/// Where the store of the project in `dir` is or belongs: its own if it has one, else at the root of the repo around
/// it (of the main worktree), else in `dir` itself.
pub fn new_store_root(dir: &Path) -> PathBuf {
    let dir = without_dots(dir);
    let own = shared_by_worktrees(&dir);
    if fs::symlink_metadata(&own).is_ok() {
        return own;
    }
    let root = dir.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(&dir);
    main_worktree(root).unwrap_or_else(|| root.to_owned()).join(STORE_DIR)
}

/// The root of the linked worktree around `dir`, if its store is that of the main one.
pub fn linked_worktree(dir: &Path) -> Option<PathBuf> {
    let dir = without_dots(dir);
    let root = dir.ancestors().find(|dir| dir.join(".git").exists())?;
    let shared = main_worktree(root)?.join(STORE_DIR);
    fs::symlink_metadata(shared).is_ok().then(|| root.to_owned())
}

/// The main worktree of the repo whose linked worktree `dir` is.
fn main_worktree(dir: &Path) -> Option<PathBuf> {
    let common = common_git_dir(dir)?;
    // A bare repo has no work tree of its own.
    (common.file_name()? == ".git").then(|| common.parent().map(Path::to_owned))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(cwd: &Path) -> Start {
        Start { explicit: None, cwd: cwd.to_owned(), user: Some("/home/u/.local/state/pensa".into()) }
    }

    fn project(dir: &Path) -> PathBuf {
        fs::create_dir_all(dir.join(".pensa")).expect("made");
        dir.join(".pensa")
    }

    /// What git lays out for a linked worktree.
    fn linked_worktree(main: &Path, linked: &Path) {
        let git_dir = main.join(".git/worktrees/w");
        fs::create_dir_all(&git_dir).expect("made");
        fs::create_dir_all(linked).expect("made");
        fs::write(git_dir.join("commondir"), "../..\n").expect("written");
        fs::write(linked.join(".git"), format!("gitdir: {}\n", git_dir.display())).expect("written");
    }

    #[test]
    fn the_nearest_store_above_is_meant() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = project(dir.path());
        let deep = dir.path().join("a/b/c");
        fs::create_dir_all(&deep).expect("made");
        assert_eq!(store_root(&start(&deep), Scope::Project).expect("found"), store);
        let nearer = project(&dir.path().join("a"));
        assert_eq!(store_root(&start(&deep), Scope::Project).expect("found"), nearer);
    }

    #[test]
    fn without_a_project_some_nouns_live_with_the_user_and_others_nowhere() {
        let dir = tempfile::tempdir().expect("a directory");
        let error = store_root(&start(dir.path()), Scope::Project).expect_err("nothing there");
        assert_eq!(error.code, Code::NoStore);
        assert!(error.hint.is_some_and(|hint| hint.contains("pn init")));
        let user = store_root(&start(dir.path()), Scope::ProjectElseUser).expect("the user's");
        assert_eq!(user, Path::new("/home/u/.local/state/pensa"));
    }

    #[test]
    fn an_explicit_store_is_the_project_or_the_directory_inside_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = project(&dir.path().join("p"));
        for given in ["p", "p/", "p/.pensa", "./p/x/.."] {
            let at = Start { explicit: Some(given.into()), ..start(dir.path()) };
            assert_eq!(store_root(&at, Scope::Project).expect(given), store, "{given}");
        }
        let at = Start { explicit: Some("elsewhere".into()), ..start(dir.path()) };
        assert_eq!(store_root(&at, Scope::ProjectElseUser).expect_err("nothing").code, Code::NoStore);
    }

    #[test]
    fn linked_worktrees_share_the_main_ones_store() {
        let dir = tempfile::tempdir().expect("a directory");
        let (main, linked) = (dir.path().join("main"), dir.path().join("linked"));
        linked_worktree(&main, &linked);
        assert_eq!(new_store_root(&linked), main.join(".pensa"));
        let own = project(&linked);
        assert_eq!(store_root(&start(&linked), Scope::Project).expect("its own"), own);
        let shared = project(&main);
        fs::remove_dir(&own).expect("removed");
        assert_eq!(store_root(&start(&linked), Scope::Project).expect("shared"), shared);
        project(&linked);
        assert_eq!(store_root(&start(&linked), Scope::Project).expect("shared"), shared);
        let at = Start { explicit: Some(linked.clone()), ..start(dir.path()) };
        assert_eq!(store_root(&at, Scope::Project).expect("shared"), shared);
    }

    #[test]
    fn a_store_inside_a_repository_is_found_before_a_new_one_is_thought_of() {
        let dir = tempfile::tempdir().expect("a directory");
        let inner = dir.path().join("inner");
        fs::create_dir_all(dir.path().join(".git")).expect("made");
        fs::create_dir_all(&inner).expect("made");
        assert_eq!(new_store_root(&inner), dir.path().join(".pensa"));
        let own = project(&inner);
        assert_eq!(new_store_root(&inner), own);
    }

    #[test]
    fn a_submodule_is_a_project_of_its_own() {
        let dir = tempfile::tempdir().expect("a directory");
        let module = dir.path().join("outer/module");
        fs::create_dir_all(dir.path().join("outer/.git/modules/module")).expect("made");
        fs::create_dir_all(&module).expect("made");
        fs::write(module.join(".git"), "gitdir: ../.git/modules/module\n").expect("written");
        assert_eq!(new_store_root(&module), module.join(".pensa"));
    }
}
