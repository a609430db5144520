//! Repositories with hooks, for the tests of hooks and merge driver.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pensa_testkit::{Answer, Sandbox};

/// A repository without hooks, with a store whose files are committed.
pub(crate) fn repository() -> Sandbox {
    let pn = Sandbox::bare(crate::PN);
    name_user(&pn);
    pn.git_init();
    pn.pn(["init", "--no-hooks"]).ok();
    pn.pn(["export"]).ok();
    commit_all(&pn, "store");
    pn
}

/// Like [`repository`], with hooks installed and committed.
pub(crate) fn with_hooks() -> Sandbox {
    let pn = repository();
    pn.pn(["hooks", "install"]).ok();
    commit_all(&pn, "hooks");
    pn
}

fn name_user(pn: &Sandbox) {
    fs::write(pn.path("gitconfig"), "[user]\n\tname = Git User\n\temail = git@example.test\n").expect("written");
}

pub(crate) fn commit_all(pn: &Sandbox, message: &str) {
    pn.git(["add", "--all"]);
    pn.git(["commit", "--quiet", "--allow-empty", "--message", message]);
}

/// Runs git, which must succeed; returns its output and errors.
#[track_caller]
pub(crate) fn git_in(pn: &Sandbox, dir: &Path, args: &[&str]) -> String {
    let answer = try_git(pn, dir, args);
    assert_eq!(answer.code, Some(0), "git {args:?}: {answer:?}");
    answer.stdout + &answer.stderr
}

pub(crate) fn try_git(pn: &Sandbox, dir: &Path, args: &[&str]) -> Answer {
    answer(pn.command("git").args(args).current_dir(dir))
}

pub(crate) fn answer(command: &mut Command) -> Answer {
    let output = command.stdin(Stdio::null()).output().expect("a program of the tests");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Answer { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Clones the project; the clone has its own store, and optionally hooks.
pub(crate) fn clone(pn: &Sandbox, name: &str, hooks: bool) -> PathBuf {
    let dir = pn.path(name);
    git_in(pn, &pn.project(), &["clone", "--quiet", ".", dir.to_str().expect("a path")]);
    if hooks {
        pn.pn(["hooks", "install"]).dir(&dir).ok();
    }
    pn.pn(["list"]).dir(&dir).ok();
    dir
}

/// The titles of the issues in a store.
#[track_caller]
pub(crate) fn titles(pn: &Sandbox, dir: &Path) -> Vec<String> {
    let listed = pn.pn(["list"]).dir(dir).ok_json();
    let mut titles: Vec<String> =
        crate::steps::elements(&listed).iter().map(|issue| crate::steps::text(&issue["title"])).collect();
    titles.sort();
    titles
}

/// Writes an executable script.
pub(crate) fn write_program(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().expect("a directory")).expect("made");
    fs::write(path, text).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
}

/// Mode and bytes of a file, or the target of a link.
pub(crate) type FileState = (u32, Vec<u8>);

/// Everything in git's directory and the work tree that an installation may touch.
pub(crate) fn snapshot(pn: &Sandbox) -> BTreeMap<PathBuf, FileState> {
    let mut all = BTreeMap::new();
    let project = pn.project();
    for dir in [".git/hooks", ".githooks"] {
        for entry in fs::read_dir(project.join(dir)).into_iter().flatten() {
            look(&entry.expect("a file").path(), &mut all);
        }
    }
    for file in [".git/config", ".gitattributes", ".pre-commit-config.yaml", ".git/info/exclude", ".gitignore"] {
        look(&project.join(file), &mut all);
    }
    look(&pn.path("gitconfig"), &mut all);
    all
}

fn look(path: &Path, all: &mut BTreeMap<PathBuf, FileState>) {
    let Ok(meta) = fs::symlink_metadata(path) else { return };
    let bytes = match fs::read_link(path) {
        Ok(target) => target.into_os_string().into_encoded_bytes(),
        Err(_) => fs::read(path).expect("a file"),
    };
    all.insert(path.to_owned(), (meta.permissions().mode(), bytes));
}

/// The path of a hook.
pub(crate) fn hook(pn: &Sandbox, name: impl AsRef<OsStr>) -> PathBuf {
    pn.project().join(".git/hooks").join(name.as_ref())
}
