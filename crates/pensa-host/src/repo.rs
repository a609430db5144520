//! Detects the repository around a directory: its version control system, root, remote and default branch.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pensa_core::repo::{GIT_ENVIRONMENT, RepoLocation, Vcs};
use pensa_core::{Code, Error, Result};

/// Files that mark the root of a repository. Git comes first, because some of the others can sit on top of git.
const MARKERS: [(&str, Vcs); 7] = [
    (".git", Vcs::Git),
    (".hg", Vcs::Hg),
    (".jj", Vcs::Jj),
    (".bzr", Vcs::Bzr),
    (".fslckout", Vcs::Fossil),
    ("_FOSSIL_", Vcs::Fossil),
    (".pijul", Vcs::Pijul),
];

/// A work tree and its repository.
#[derive(Debug)]
pub struct DetectedTree {
    pub repo: RepoLocation,
    /// The root of the work tree; differs from the repository's root for linked work trees.
    pub tree: PathBuf,
}

/// Detects the repository around `dir`.
pub fn detect(dir: &Path) -> Result<RepoLocation> {
    Ok(detect_tree(dir)?.repo)
}

/// Detects the work tree around `dir`.
pub fn detect_tree(dir: &Path) -> Result<DetectedTree> {
    let start = fs::canonicalize(dir).map_err(|e| {
        Error::new(Code::NoRepo, format!("cannot look for a repository in {}: {e}", dir.display()))
            .hint("name an existing directory")
    })?;
    let marked = |dir: &Path| MARKERS.iter().find_map(|marker| root(dir, *marker));
    let nearest = start.ancestors().find_map(|above| Some((above, marked(above)?)));
    let (tree, (vcs, root)) = nearest.ok_or_else(|| no_repo_error(&start))?;
    let path = root
        .to_str()
        .ok_or_else(|| Error::invalid(format!("the path of the repository is not UTF-8: {}", root.display())))?;
    let repo = RepoLocation {
        vcs,
        host: Some(super::name()),
        root_path: Some(path.to_owned()),
        remote_url: remote(vcs, &root),
        default_branch: if vcs == Vcs::Git { default_branch(&root) } else { None },
    };
    Ok(DetectedTree { repo, tree: tree.to_owned() })
}

fn no_repo_error(start: &Path) -> Error {
    let mut markers: Vec<&str> = MARKERS.iter().map(|(marker, _)| *marker).collect();
    let last = markers.pop().unwrap_or_default();
    let message = format!("no repository in {} or above it", start.display());
    Error::new(Code::NoRepo, message)
        .hint(format!("looked for {} or {last}; run this in a repository, or name one with --repo", markers.join(", ")))
}

/// The root of the repository that a marker in `dir` belongs to; `None` if the marker is missing or invalid.
fn root(dir: &Path, (marker, vcs): (&str, Vcs)) -> Option<(Vcs, PathBuf)> {
    let path = dir.join(marker);
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

/// The root of the main work tree, given the `.git` file of a linked one. A submodule is its own root.
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
        // Linked work trees of a bare repository.
        _ => Some(common),
    }
}

/// The root of jj's first workspace, which other workspaces name in a file.
fn jj_root(dir: &Path) -> PathBuf {
    let link = dir.join(".jj/repo");
    let named =
        fs::read_to_string(&link).ok().and_then(|text| fs::canonicalize(dir.join(".jj").join(text.trim())).ok());
    let root = named.as_deref().and_then(Path::parent).and_then(Path::parent);
    root.map_or_else(|| dir.to_owned(), Path::to_owned)
}

/// The URL of the repository's default remote.
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
        None => configured_remotes(root)?,
    };
    let origin = remotes.iter().position(|(name, _)| name == "origin");
    remotes.into_iter().nth(origin.unwrap_or(0)).map(|(_, url)| url)
}

/// Parses names and URLs of remotes from a simple git configuration, to avoid starting git. `None` if it has includes,
/// quotes or other syntax that only git should interpret.
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

fn configured_remotes(root: &Path) -> Option<Vec<(String, String)>> {
    let mut git = Command::new("git");
    for name in GIT_ENVIRONMENT {
        git.env_remove(name);
    }
    git.arg("-C").arg(root).args(["config", "--null", "--get-regexp", r"^remote\..*\.url$"]);
    let output = git.stdin(Stdio::null()).stderr(Stdio::null()).output();
    let text = String::from_utf8(output.ok()?.stdout).ok()?;
    let pairs = text.split('\0').filter_map(|line| line.split_once('\n'));
    let named = |name: &str| Some(name.strip_prefix("remote.")?.strip_suffix(".url")?.to_owned());
    Some(pairs.filter_map(|(name, url)| Some((named(name)?, url.to_owned()))).collect())
}

/// The default branch of `origin`, else the branch checked out at the root.
fn default_branch(root: &Path) -> Option<String> {
    let git_dir = if root.join("HEAD").exists() { root.to_owned() } else { root.join(".git") };
    let named = |file: &str, before: &str| {
        let text = fs::read_to_string(git_dir.join(file)).ok()?;
        Some(text.strip_prefix("ref: ")?.trim().strip_prefix(before)?.to_owned())
    };
    named("refs/remotes/origin/HEAD", "refs/remotes/origin/").or_else(|| named("HEAD", "refs/heads/"))
}

/// Reads a value from a file with lines `name = value`.
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

    fn roots(seen: &RepoLocation) -> (Vcs, &str) {
        (seen.vcs, seen.root_path.as_deref().expect("a root"))
    }

    #[test]
    fn every_kind_of_repository_is_detected_from_a_subdirectory() {
        for (marker, vcs) in MARKERS.into_iter().filter(|(_, vcs)| *vcs != Vcs::Git) {
            let dir = tempfile::tempdir().expect("a directory");
            let root = fs::canonicalize(dir.path()).expect("a path");
            fs::create_dir_all(root.join("a/b")).expect("directories");
            if vcs == Vcs::Fossil {
                fs::write(root.join(marker), "").expect("a file");
            } else {
                fs::create_dir(root.join(marker)).expect("a directory");
            }
            let seen = detect(&root.join("a/b")).expect(marker);
            assert_eq!(roots(&seen), (vcs, root.to_str().expect("UTF-8")), "{marker}");
            assert_eq!(seen.host, Some(super::super::name()));
        }
    }

    #[test]
    fn linked_work_trees_share_a_root_and_submodules_have_their_own() {
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
        assert_eq!((linked.repo, linked.tree), (seen, base.join("linked")), "the same repository, another tree");
        assert_eq!(detect(&main.join("inner")).expect("found").root_path.as_deref(), main.join("inner").to_str());
        git(&base, &["clone", "-q", "--bare", "main", "bare.git"]);
        git(&base.join("bare.git"), &["worktree", "add", "-q", "../of-bare", "trunk"]);
        let of_bare = detect(&base.join("of-bare")).expect("found");
        assert_eq!(of_bare.root_path.as_deref(), base.join("bare.git").to_str());
    }

    #[test]
    fn remotes_are_parsed_as_git_does_or_left_to_git() {
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
                assert_eq!(read, configured_remotes(dir.path()).expect("git's answer"), "{text:?}");
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
    fn error_without_repository_names_directory_and_markers() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = fs::canonicalize(dir.path()).expect("a path");
        // Neither an empty directory nor a broken link is a repository.
        fs::create_dir(root.join(".git")).expect("a directory");
        let error = detect(&root).expect_err("none");
        assert_eq!(error.code, Code::NoRepo);
        assert!(error.message.contains(root.to_str().expect("UTF-8")), "{error}");
        let hint = error.hint.expect("a hint");
        assert!(MARKERS.iter().all(|(marker, _)| hint.contains(marker)), "{hint}");
        fs::remove_dir(root.join(".git")).expect("removed");
        fs::write(root.join(".git"), "gitdir: nowhere\n").expect("a file");
        assert!(detect(&root).is_err());
        assert_eq!(detect(&root.join("none")).expect_err("no directory").code, Code::NoRepo);
    }
}
