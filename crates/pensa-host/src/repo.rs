//! The repository around a directory: which tool keeps its versions, where its root is, where it comes from.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pensa_core::repo::{GIT_SURROUNDINGS, Seen, Vcs};
use pensa_core::{Code, Error, Result};

/// What the root of a repository has, in the order in which they are believed: some tools live on top of git.
const MARKS: [(&str, Vcs); 7] = [
    (".git", Vcs::Git),
    (".hg", Vcs::Hg),
    (".jj", Vcs::Jj),
    (".bzr", Vcs::Bzr),
    (".fslckout", Vcs::Fossil),
    ("_FOSSIL_", Vcs::Fossil),
    (".pijul", Vcs::Pijul),
];

/// A work tree, and the repository that it belongs to.
#[derive(Debug)]
pub struct Tree {
    pub seen: Seen,
    /// Where its files are: a linked work tree is not at the root of its repository
    pub tree: PathBuf,
}

/// The repository around `dir`.
pub fn detect(dir: &Path) -> Result<Seen> {
    Ok(detect_tree(dir)?.seen)
}

/// The work tree around `dir`.
pub fn detect_tree(dir: &Path) -> Result<Tree> {
    let start = fs::canonicalize(dir).map_err(|e| {
        Error::new(Code::NoRepo, format!("cannot look for a repository in {}: {e}", dir.display()))
            .hint("name a directory that is there")
    })?;
    let marked = |dir: &Path| MARKS.iter().find_map(|mark| root(dir, *mark));
    let found = start.ancestors().find_map(|above| Some((above, marked(above)?)));
    let (tree, (vcs, root)) = found.ok_or_else(|| none_in(&start))?;
    let path = root
        .to_str()
        .ok_or_else(|| Error::invalid(format!("the path of the repository is not UTF-8: {}", root.display())))?;
    let seen = Seen {
        vcs,
        host: Some(super::name()),
        root_path: Some(path.to_owned()),
        remote_url: remote(vcs, &root),
        default_branch: if vcs == Vcs::Git { default_branch(&root) } else { None },
    };
    Ok(Tree { seen, tree: tree.to_owned() })
}

fn none_in(start: &Path) -> Error {
    let mut marks: Vec<&str> = MARKS.iter().map(|(mark, _)| *mark).collect();
    let last = marks.pop().unwrap_or_default();
    let message = format!("no repository in {} or above it", start.display());
    Error::new(Code::NoRepo, message)
        .hint(format!("looked for {} or {last}; run this in a repository, or name one with --repo", marks.join(", ")))
}

/// The root of the repository that `mark` in `dir` belongs to.
fn root(dir: &Path, (mark, vcs): (&str, Vcs)) -> Option<(Vcs, PathBuf)> {
    let path = dir.join(mark);
    let meta = fs::metadata(&path).ok()?;
    let root = match vcs {
        Vcs::Git if meta.is_dir() => path.join("HEAD").exists().then(|| dir.to_owned()),
        Vcs::Git => main_work_tree(dir, &path),
        Vcs::Fossil => meta.is_file().then(|| dir.to_owned()),
        Vcs::Jj => Some(jj_root(dir)),
        Vcs::Hg | Vcs::Bzr | Vcs::Pijul => meta.is_dir().then(|| dir.to_owned()),
    };
    root.map(|root| (vcs, root))
}

/// The root of the work tree that a linked one was made from; a submodule is a repository of its own.
fn main_work_tree(dir: &Path, link: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(link).ok()?;
    let git_dir = dir.join(text.strip_prefix("gitdir:")?.trim());
    if !git_dir.join("HEAD").exists() {
        return None;
    }
    let Some(common) = pensa_git::common_git_dir(dir) else { return Some(dir.to_owned()) };
    let common = fs::canonicalize(common).ok()?;
    match common.parent() {
        Some(parent) if common.ends_with(".git") => Some(parent.to_owned()),
        // Work trees of a repository that has none of its own.
        _ => Some(common),
    }
}

/// A second workspace of jj's names the first in a file.
fn jj_root(dir: &Path) -> PathBuf {
    let link = dir.join(".jj/repo");
    let named =
        fs::read_to_string(&link).ok().and_then(|text| fs::canonicalize(dir.join(".jj").join(text.trim())).ok());
    let root = named.as_deref().and_then(Path::parent).and_then(Path::parent);
    root.map_or_else(|| dir.to_owned(), Path::to_owned)
}

/// Where the repository comes from.
fn remote(vcs: Vcs, root: &Path) -> Option<String> {
    match vcs {
        Vcs::Git => git_remote(root),
        Vcs::Hg => setting(&root.join(".hg/hgrc"), "default"),
        Vcs::Bzr => setting(&root.join(".bzr/branch/branch.conf"), "parent_location"),
        Vcs::Pijul => setting(&root.join(".pijul/config"), "default_remote"),
        Vcs::Jj | Vcs::Fossil => None,
    }
}

fn git_remote(root: &Path) -> Option<String> {
    let git_dir = if root.join("HEAD").exists() { root.to_owned() } else { root.join(".git") };
    let remotes = match fs::read_to_string(git_dir.join("config")).ok().and_then(|text| plain_remotes(&text)) {
        Some(remotes) => remotes,
        None => asked_remotes(root)?,
    };
    let origin = remotes.iter().position(|(name, _)| name == "origin");
    remotes.into_iter().nth(origin.unwrap_or(0)).map(|(_, url)| url)
}

/// The remotes in a configuration of git's and their addresses, unless it holds what only git should read: that takes a
/// process of its own.
fn plain_remotes(text: &str) -> Option<Vec<(String, String)>> {
    let (mut remotes, mut section) = (Vec::new(), None);
    for line in text.lines().map(str::trim) {
        if line.ends_with('\\') {
            return None;
        }
        if let Some(header) = line.strip_prefix('[') {
            let header = header.strip_suffix(']')?;
            let (kind, name) = header.split_once(' ').unwrap_or((header, ""));
            let kind = kind.to_ascii_lowercase();
            let name = name.trim().strip_prefix('"').and_then(|name| name.strip_suffix('"'));
            match (kind.as_str(), name) {
                (kind, _) if kind.starts_with("include") || kind.starts_with("remote.") => return None,
                ("remote", Some(name)) if !name.contains(['\\', '"']) => section = Some(name.to_owned()),
                ("remote", _) => return None,
                _ => section = None,
            }
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let (key, value) = (key.trim(), value.trim());
        if key.eq_ignore_ascii_case("worktreeConfig") {
            return None;
        }
        if let Some(name) = section.as_ref().filter(|_| key.eq_ignore_ascii_case("url")) {
            if value.is_empty() || value.contains(['"', '\\', '#', ';']) {
                return None;
            }
            remotes.push((name.clone(), value.to_owned()));
        }
    }
    Some(remotes)
}

fn asked_remotes(root: &Path) -> Option<Vec<(String, String)>> {
    let mut git = Command::new("git");
    for name in GIT_SURROUNDINGS {
        git.env_remove(name);
    }
    git.arg("-C").arg(root).args(["config", "--null", "--get-regexp", r"^remote\..*\.url$"]);
    let asked = git.stdin(Stdio::null()).stderr(Stdio::null()).output();
    let text = String::from_utf8(asked.ok()?.stdout).ok()?;
    let pairs = text.split('\0').filter_map(|line| line.split_once('\n'));
    let named = |name: &str| Some(name.strip_prefix("remote.")?.strip_suffix(".url")?.to_owned());
    Some(pairs.filter_map(|(name, url)| Some((named(name)?, url.to_owned()))).collect())
}

/// The branch that the remote calls its own, else the one that is checked out at the root.
fn default_branch(root: &Path) -> Option<String> {
    let git_dir = if root.join("HEAD").exists() { root.to_owned() } else { root.join(".git") };
    let named = |file: &str, before: &str| {
        let text = fs::read_to_string(git_dir.join(file)).ok()?;
        Some(text.strip_prefix("ref: ")?.trim().strip_prefix(before)?.to_owned())
    };
    named("refs/remotes/origin/HEAD", "refs/remotes/origin/").or_else(|| named("HEAD", "refs/heads/"))
}

/// The value of a name in a file of lines `name = value`.
fn setting(file: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let value = |line: &str| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == name).then(|| value.trim().trim_matches('"').to_owned())
    };
    text.lines().find_map(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(dir: &Path, args: &[&str]) {
        let mut git = Command::new("git");
        git.arg("-C").arg(dir).args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b.test",
            "-c",
            "protocol.file.allow=always",
        ]);
        let output = git.args(args).env("GIT_CONFIG_GLOBAL", "/dev/null").output().expect("git runs");
        assert!(output.status.success(), "{args:?}: {output:?}");
    }

    fn roots(seen: &Seen) -> (Vcs, &str) {
        (seen.vcs, seen.root_path.as_deref().expect("a root"))
    }

    #[test]
    fn every_kind_of_repository_is_found_from_below() {
        for (mark, vcs) in MARKS.into_iter().filter(|(_, vcs)| *vcs != Vcs::Git) {
            let dir = tempfile::tempdir().expect("a directory");
            let root = fs::canonicalize(dir.path()).expect("a path");
            fs::create_dir_all(root.join("a/b")).expect("directories");
            if vcs == Vcs::Fossil {
                fs::write(root.join(mark), "").expect("a file");
            } else {
                fs::create_dir(root.join(mark)).expect("a directory");
            }
            let seen = detect(&root.join("a/b")).expect(mark);
            assert_eq!(roots(&seen), (vcs, root.to_str().expect("UTF-8")), "{mark}");
            assert_eq!(seen.host, Some(super::super::name()));
        }
    }

    #[test]
    fn work_trees_are_their_main_one_and_submodules_their_own() {
        let dir = tempfile::tempdir().expect("a directory");
        let base = fs::canonicalize(dir.path()).expect("a path");
        let (main, other) = (base.join("main"), base.join("other"));
        for repo in [&main, &other] {
            fs::create_dir_all(repo.join("sub")).expect("directories");
            git(repo, &["init", "-q", "-b", "trunk"]);
            git(repo, &["commit", "-q", "--allow-empty", "-m", "first"]);
        }
        git(&main, &["remote", "add", "zzz", "https://example.test/z"]);
        git(&main, &["remote", "add", "origin", "git@example.test:Org/Repo.git"]);
        git(&main, &["worktree", "add", "-q", "../linked", "-b", "side"]);
        git(&main, &["submodule", "--quiet", "add", other.to_str().expect("UTF-8"), "inner"]);
        let seen = detect(&main.join("sub")).expect("found");
        assert_eq!(roots(&seen), (Vcs::Git, main.to_str().expect("UTF-8")));
        assert_eq!(seen.remote_url.as_deref(), Some("git@example.test:Org/Repo.git"));
        assert_eq!(seen.default_branch.as_deref(), Some("trunk"));
        let linked = detect_tree(&base.join("linked")).expect("found");
        assert_eq!((linked.seen, linked.tree), (seen, base.join("linked")), "the same repository, another tree");
        assert_eq!(detect(&main.join("inner")).expect("found").root_path.as_deref(), main.join("inner").to_str());
        git(&base, &["clone", "-q", "--bare", "main", "bare.git"]);
        git(&base.join("bare.git"), &["worktree", "add", "-q", "../of-bare", "trunk"]);
        let of_bare = detect(&base.join("of-bare")).expect("found");
        assert_eq!(of_bare.root_path.as_deref(), base.join("bare.git").to_str());
    }

    #[test]
    fn remotes_are_read_as_git_reads_them_or_left_to_it() {
        let dir = tempfile::tempdir().expect("a directory");
        git(dir.path(), &["init", "-q"]);
        let plain = [
            "",
            "[core]\n\tbare = false\n",
            "[remote \"origin\"]\n\turl = https://a.test/x y\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            "# c\n[Remote \"b.c\"]\nURL=git@a.test:o/r.git\n[branch \"x\"]\nurl = no\n[remote \"origin\"]\n url = two\n",
            "[remote \"a\"]\n\turl = one\n\turl = two\n",
            "[remote]\n",
        ];
        for (at, text) in plain.into_iter().enumerate() {
            fs::write(dir.path().join(".git/config"), text).expect("a file");
            let read = plain_remotes(text);
            let is_left = at == plain.len() - 1;
            assert_eq!(read.is_none(), is_left, "{text:?}");
            if let Some(read) = read {
                assert_eq!(read, asked_remotes(dir.path()).expect("git tells"), "{text:?}");
            }
        }
        for text in [
            "[include]\n\tpath = other\n",
            "[includeIf \"gitdir:~\"]\n\tpath = other\n",
            "[extensions]\n\tworktreeConfig = true\n",
            "[remote \"a\\\"b\"]\n\turl = x\n",
            "[remote \"a\"]\n\turl = \"x\"\n",
            "[remote \"a\"]\n\turl = x # why\n",
            "[remote \"a\"]\n\turl = x\\\ny\n",
            "[remote \"a\"] url = x\n",
            "[remote.a]\n\turl = x\n",
        ] {
            assert_eq!(plain_remotes(text), None, "{text:?}");
        }
    }

    #[test]
    fn where_there_is_none_it_is_told_where_and_for_what_it_looked() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = fs::canonicalize(dir.path()).expect("a path");
        // Neither an empty directory nor a broken link is a repository.
        fs::create_dir(root.join(".git")).expect("a directory");
        let error = detect(&root).expect_err("none");
        assert_eq!(error.code, Code::NoRepo);
        assert!(error.message.contains(root.to_str().expect("UTF-8")), "{error}");
        let hint = error.hint.expect("a hint");
        assert!(MARKS.iter().all(|(mark, _)| hint.contains(mark)), "{hint}");
        fs::remove_dir(root.join(".git")).expect("removed");
        fs::write(root.join(".git"), "gitdir: nowhere\n").expect("a file");
        assert!(detect(&root).is_err());
        assert_eq!(detect(&root.join("none")).expect_err("no directory").code, Code::NoRepo);
    }
}
