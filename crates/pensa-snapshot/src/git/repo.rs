//! A repository, and a private git directory through which its objects are written and read.
//!
//! The private directory has its own index and none of the repository's settings and attributes. So no filter changes
//! contents, no hook runs, and neither HEAD nor the repository's index can be changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use pensa_core::{Code, Error, Result};

use super::objects::CheckedObjects;
use crate::path::RelPath;
use crate::snapshot::{ScratchDir, SnapshotDirs};
use crate::{error, run};

/// Settings of the repository that affect how objects are stored, but not their contents.
const PASSED_ON: &str = "^(core\\.(sharedrepository|compression|loosecompression|bigfilethreshold|fsync|fsyncmethod)\
                         |extensions\\.objectformat)$";

/// Overrides any `.gitattributes`, so that contents are stored unchanged.
const ATTRIBUTES: &str = "* -text !eol !crlf -ident -filter -working-tree-encoding\n";

/// The mode of a submodule in an index or a tree.
pub(super) const GITLINK: &str = "160000";

#[derive(Debug)]
pub(super) struct GitRepo {
    /// The root of the work tree
    pub(super) top: PathBuf,
    objects: PathBuf,
    settings: Vec<(String, String)>,
}

impl GitRepo {
    pub(super) fn around(root: &Path) -> Result<Self> {
        let top = run::work_tree_root(root)?.ok_or_else(|| {
            Error::new(Code::NoRepo, format!("{} is not in a work tree of git", root.display()))
                .hint("use the provider copy, or git init")
        })?;
        let objects = || {
            let mut git = run::git(&top);
            run::must(git.args(["rev-parse", "--path-format=absolute", "--git-path", "objects"]), None)
        };
        // Fails if none of these settings exist.
        let output = || run::run(run::git(&top).args(["config", "-z", "--get-regexp", PASSED_ON]), None);
        let (objects, output) = run::join(objects, output);
        let text = String::from_utf8_lossy(&output?.stdout).into_owned();
        let pair = |entry: &str| entry.split_once('\n').map(|(name, value)| (name.to_owned(), value.to_owned()));
        let (objects, settings) = (run::path_line(objects?), text.split('\0').filter_map(pair).collect());
        Ok(Self { top, objects, settings })
    }

    /// The commit that is checked out; `None` before the first commit.
    pub(super) fn head(&self) -> Result<Option<String>> {
        self.resolve("HEAD^{commit}")
    }

    /// The id of a revision; `None` if it does not exist.
    pub(super) fn resolve(&self, name: &str) -> Result<Option<String>> {
        let output = run::run(self.git().args(["rev-parse", "--quiet", "--verify", "--end-of-options", name]), None)?;
        let id = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok((output.success && is_id(&id)).then_some(id))
    }

    /// The submodules in the index, with their commits.
    pub(super) fn gitlinks(&self) -> Result<BTreeMap<RelPath, String>> {
        let staged = run::must(self.git().args(["ls-files", "-z", "--stage"]), None)?;
        let mut links = BTreeMap::new();
        for entry in staged.split(|byte| *byte == 0).filter(|entry| entry.starts_with(GITLINK.as_bytes())) {
            let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else { continue };
            let id = String::from_utf8_lossy(&entry[..tab]).split(' ').nth(1).unwrap_or_default().to_owned();
            links.insert(RelPath::checked(entry[tab + 1..].to_vec())?, id);
        }
        Ok(links)
    }

    /// Creates a ref; fails if it exists.
    pub(super) fn create_ref(&self, name: &str, commit: &str) -> Result<()> {
        let nothing = "0".repeat(commit.len());
        let output = run::run(self.update_ref().args(["--end-of-options", name, commit, &nothing]), None)?;
        match output {
            output if output.success => Ok(()),
            output if output.stderr.contains("already exists") => {
                Err(Error::new(Code::Conflict, format!("there is a snapshot of this name already: {name}")))
            }
            output => Err(run::command_error("git", &output)),
        }
    }

    /// Deletes a ref, even a symbolic one. It is no error if it does not exist.
    pub(super) fn delete_ref(&self, name: &str) -> Result<()> {
        run::must(self.update_ref().args(["-d", "--end-of-options", name]), None).map(drop)
    }

    fn update_ref(&self) -> Command {
        let mut git = self.git();
        git.args(["-c", "core.logAllRefUpdates=false", "update-ref", "--no-deref"]);
        git
    }

    fn git(&self) -> Command {
        run::git(&self.top)
    }

    /// Creates a private git directory. Dropping the value removes it.
    pub(super) fn private_dir(&self, dirs: &SnapshotDirs<'_>) -> Result<PrivateGitDir<'_>> {
        let scratch = ScratchDir::new(dirs)?;
        let dir = scratch.path();
        let write = |name: &str, text: &str| {
            let path = dir.join(name);
            fs::write(&path, text).map_err(|e| error::io("write", path.display(), e))
        };
        for name in ["refs", "info"] {
            fs::create_dir(dir.join(name)).map_err(|e| error::io("make", dir.join(name).display(), e))?;
        }
        write("HEAD", "ref: refs/heads/none\n")?;
        write("info/attributes", ATTRIBUTES)?;
        write("config", &self.config())?;
        Ok(PrivateGitDir { repo: self, scratch })
    }

    fn config(&self) -> String {
        let format = self.settings.iter().find(|(name, _)| name == "extensions.objectformat");
        let format = format.map_or(String::new(), |(_, name)| format!("[extensions]\n\tobjectFormat = {name}\n"));
        format!(
            "[core]\n\trepositoryFormatVersion = {}\n\tbare = false\n\tfileMode = true\n\tsymlinks = true\n\
             \tignoreCase = false\n\tautocrlf = false\n\teol = lf\n\tsafecrlf = false\n\tprotectNTFS = false\n\
             \tprotectHFS = false\n\tfsmonitor = false\n\tsplitIndex = false\n\thooksPath = /dev/null\n\
             \tattributesFile = /dev/null\n{format}",
            u8::from(!format.is_empty()),
        )
    }
}

/// Whether a text is an object id, SHA-1 or SHA-256.
pub(super) fn is_id(text: &str) -> bool {
    [40, 64].contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A git directory with its own index that shares the objects of a repository.
#[derive(Debug)]
pub(super) struct PrivateGitDir<'r> {
    repo: &'r GitRepo,
    scratch: ScratchDir,
}

impl PrivateGitDir<'_> {
    fn git(&self) -> Command {
        let mut git = run::bare_git();
        let dir = self.scratch.path();
        git.current_dir(&self.repo.top).env("GIT_DIR", dir).env("GIT_WORK_TREE", &self.repo.top);
        git.env("GIT_INDEX_FILE", dir.join("index")).env("GIT_OBJECT_DIRECTORY", &self.repo.objects);
        git.env("GIT_ATTR_NOSYSTEM", "1");
        for (name, value) in self.repo.settings.iter().filter(|(name, _)| name.starts_with("core.")) {
            git.arg("-c").arg(format!("{name}={value}"));
        }
        git
    }

    /// Stores the files and symlinks at these paths. Sorted paths are fastest.
    pub(super) fn add<'p>(&self, paths: impl Iterator<Item = &'p RelPath>) -> Result<()> {
        let mut list = Vec::new();
        paths.for_each(|path| list.extend([path.bytes(), b"\0"].concat()));
        run::must(self.git().args(["update-index", "-z", "--add", "--remove", "--stdin"]), Some(list)).map(drop)
    }

    /// Adds submodules to the index.
    pub(super) fn add_submodules<'p>(&self, links: impl Iterator<Item = (&'p RelPath, &'p str)>) -> Result<()> {
        let mut list = Vec::new();
        links.for_each(|(path, id)| {
            list.extend([GITLINK.as_bytes(), b" ", id.as_bytes(), b"\t", path.bytes(), b"\0"].concat());
        });
        if list.is_empty() {
            return Ok(());
        }
        run::must(self.git().args(["update-index", "-z", "--add", "--index-info"]), Some(list)).map(drop)
    }

    /// Writes the index as a tree and returns its id.
    pub(super) fn write_tree(&self) -> Result<String> {
        run::must_line(self.git().arg("write-tree"), None)
    }

    pub(super) fn commit(&self, tree: &str, parent: Option<&str>, message: String) -> Result<String> {
        let mut git = self.git();
        git.args(["-c", "i18n.commitEncoding=UTF-8", "commit-tree", "--no-gpg-sign", tree]);
        git.args(parent.iter().flat_map(|id| ["-p", id]));
        for (name, value) in [("NAME", "pensa"), ("EMAIL", "pensa")] {
            git.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
        }
        run::must_line(&mut git, Some(message.into_bytes()))
    }

    /// Opens the objects for reading.
    pub(super) fn objects(&self) -> Result<CheckedObjects> {
        CheckedObjects::open(self.git())
    }

    /// The sizes of those of these objects that exist.
    pub(super) fn sizes(&self, ids: impl Iterator<Item = impl AsRef<str>>) -> Result<BTreeMap<String, u64>> {
        let mut list = String::new();
        ids.for_each(|id| list.extend([id.as_ref(), "\n"]));
        let mut git = self.git();
        git.args(["cat-file", "--buffer", "--batch-check=%(objectname) %(objectsize)"]);
        let output = run::must(&mut git, Some(list.into_bytes()))?;
        let text = String::from_utf8_lossy(&output).into_owned();
        let pair = |line: &str| {
            let (id, size) = line.split_once(' ')?;
            Some((id.to_owned(), size.parse().ok()?))
        };
        Ok(text.lines().filter_map(pair).collect())
    }
}
