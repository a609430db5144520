//! Finds the store that a command uses. Reads directories, but no environment: the caller passes that in.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use pensa_core::{Code, Error, Result, STORE_DIR};
use pensa_git::{common_git_dir, open_committed, without_dots};

/// How much of a settings file is read.
const MAX_CONFIG: u64 = 1 << 20;

/// Which stores a command can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreScope {
    /// A project's store is required: issues, work, learnings.
    Project,
    /// A project's store, otherwise the user's own: agents, sessions, runs, repos, kv.
    ProjectElseUser,
}

/// Where the search for a store starts.
#[derive(Debug, Clone)]
pub struct SearchStart {
    /// From `--store` or `PN_STORE`: the directory of a project or of a store.
    pub explicit: Option<PathBuf>,
    pub cwd: PathBuf,
    /// The user's own store.
    pub user: Option<PathBuf>,
}

/// The directory of the store for a command. A user's store may not exist yet.
pub fn store_root(start: &SearchStart, scope: StoreScope) -> Result<PathBuf> {
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
        (Some(user), StoreScope::ProjectElseUser) => Ok(user.clone()),
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

/// The store of the project in `dir`; if the main worktree has a store, that one.
fn shared_by_worktrees(dir: &Path) -> PathBuf {
    main_worktree(dir)
        .map(|main| main.join(STORE_DIR))
        .filter(|store| fs::symlink_metadata(store).is_ok())
        .unwrap_or_else(|| dir.join(STORE_DIR))
}

/// The directory of an existing or new store for `dir`: its own if it exists, otherwise at the root of the (main)
/// worktree around it, otherwise in `dir` itself.
pub fn new_store_root(dir: &Path) -> PathBuf {
    let dir = without_dots(dir);
    let own = shared_by_worktrees(&dir);
    if fs::symlink_metadata(&own).is_ok() {
        return own;
    }
    let root = dir.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(&dir);
    main_worktree(root).unwrap_or_else(|| root.to_owned()).join(STORE_DIR)
}

/// The root of the linked worktree around `dir`, if it shares the store of the main worktree.
pub fn linked_worktree(dir: &Path) -> Option<PathBuf> {
    let dir = without_dots(dir);
    let root = dir.ancestors().find(|dir| dir.join(".git").exists())?;
    let shared = main_worktree(root)?.join(STORE_DIR);
    fs::symlink_metadata(shared).is_ok().then(|| root.to_owned())
}

/// The main worktree, if `dir` is the root of a linked one.
fn main_worktree(dir: &Path) -> Option<PathBuf> {
    let common = common_git_dir(dir)?;
    // A bare repository has no work tree.
    (common.file_name()? == ".git").then(|| common.parent().map(Path::to_owned))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(cwd: &Path) -> SearchStart {
        SearchStart { explicit: None, cwd: cwd.to_owned(), user: Some("/home/u/.local/state/pensa".into()) }
    }

    fn project(dir: &Path) -> PathBuf {
        fs::create_dir_all(dir.join(".pensa")).expect("made");
        dir.join(".pensa")
    }

    /// Creates the files of a linked worktree.
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
        assert_eq!(store_root(&start(&deep), StoreScope::Project).expect("found"), store);
        let nearer = project(&dir.path().join("a"));
        assert_eq!(store_root(&start(&deep), StoreScope::Project).expect("found"), nearer);
    }

    #[test]
    fn without_a_project_only_user_level_commands_find_a_store() {
        let dir = tempfile::tempdir().expect("a directory");
        let error = store_root(&start(dir.path()), StoreScope::Project).expect_err("nothing there");
        assert_eq!(error.code, Code::NoStore);
        assert!(error.hint.is_some_and(|hint| hint.contains("pn init")));
        let user = store_root(&start(dir.path()), StoreScope::ProjectElseUser).expect("the user's");
        assert_eq!(user, Path::new("/home/u/.local/state/pensa"));
    }

    #[test]
    fn an_explicit_store_is_the_project_or_the_directory_inside_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = project(&dir.path().join("p"));
        for given in ["p", "p/", "p/.pensa", "./p/x/.."] {
            let at = SearchStart { explicit: Some(given.into()), ..start(dir.path()) };
            assert_eq!(store_root(&at, StoreScope::Project).expect(given), store, "{given}");
        }
        let at = SearchStart { explicit: Some("elsewhere".into()), ..start(dir.path()) };
        assert_eq!(store_root(&at, StoreScope::ProjectElseUser).expect_err("nothing").code, Code::NoStore);
    }

    #[test]
    fn linked_worktrees_share_the_main_ones_store() {
        let dir = tempfile::tempdir().expect("a directory");
        let (main, linked) = (dir.path().join("main"), dir.path().join("linked"));
        linked_worktree(&main, &linked);
        assert_eq!(new_store_root(&linked), main.join(".pensa"));
        let own = project(&linked);
        assert_eq!(store_root(&start(&linked), StoreScope::Project).expect("its own"), own);
        let shared = project(&main);
        fs::remove_dir(&own).expect("removed");
        assert_eq!(store_root(&start(&linked), StoreScope::Project).expect("shared"), shared);
        project(&linked);
        assert_eq!(store_root(&start(&linked), StoreScope::Project).expect("shared"), shared);
        let at = SearchStart { explicit: Some(linked.clone()), ..start(dir.path()) };
        assert_eq!(store_root(&at, StoreScope::Project).expect("shared"), shared);
    }

    #[test]
    fn existing_store_inside_a_repository_is_used_before_a_new_one() {
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
