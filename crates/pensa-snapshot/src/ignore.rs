//! Which paths of a tree git ignores.
//!
//! Git itself is asked, for its rules are many; outside a work tree nothing is ignored.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use pensa_core::Result;

use crate::path::Rel;
use crate::run;

/// Paths that git ignores; for a directory, all in it.
#[derive(Debug, Default)]
pub(crate) struct Ignored(HashSet<Vec<u8>>);

impl Ignored {
    /// What git ignores below a directory, whether that is the root of a work tree or not.
    pub(crate) fn below(root: &Path) -> Result<Self> {
        match run::top_of(root)? {
            Some(top) => Self::in_work_tree(&top, root),
            None => Ok(Self::default()),
        }
    }

    /// The same, where the root of the work tree is known.
    pub(crate) fn in_work_tree(top: &Path, root: &Path) -> Result<Self> {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let prefix = root.strip_prefix(top).unwrap_or(Path::new("")).as_os_str().as_bytes().to_vec();
        // A tree that is ignored as a whole is no part of the repository around it.
        if !prefix.is_empty() && run::run(run::git(top).args(["check-ignore", "-q", "--"]).arg(&root), None)?.success {
            return Ok(Self::default());
        }
        let mut git = run::git(top);
        git.args(["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"]);
        if !prefix.is_empty() {
            git.env("GIT_LITERAL_PATHSPECS", "1").arg("--").arg(OsStr::from_bytes(&prefix));
        }
        let told = run::must(&mut git, None)?;
        Ok(Self(told.split(|byte| *byte == 0).filter_map(|path| inside(path, &prefix)).map(<[u8]>::to_vec).collect()))
    }

    pub(crate) fn has(&self, at: &Rel) -> bool {
        self.0.contains(at.bytes())
    }

    /// The same for something that may lie in an ignored directory.
    pub(crate) fn covers(&self, at: &Rel) -> bool {
        self.has(at) || at.ancestors().any(|above| self.has(&above))
    }
}

/// A path of the work tree as seen from a directory in it; none for the directory itself and what is above.
fn inside<'p>(path: &'p [u8], prefix: &[u8]) -> Option<&'p [u8]> {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let path = if prefix.is_empty() { path } else { path.strip_prefix(prefix)?.strip_prefix(b"/")? };
    (!path.is_empty()).then_some(path)
}
