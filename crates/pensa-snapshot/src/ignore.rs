//! Lists the paths that git ignores, by running git. Outside a work tree nothing is ignored.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use pensa_core::Result;

use crate::path::RelPath;
use crate::run;

/// Ignored paths. An ignored directory stands for everything below it.
#[derive(Debug, Default)]
pub(crate) struct IgnoredPaths(HashSet<Vec<u8>>);

impl IgnoredPaths {
    /// The ignored paths below a directory.
    pub(crate) fn below(root: &Path) -> Result<Self> {
        match run::work_tree_root(root)? {
            Some(top) => Self::in_work_tree(&top, root),
            None => Ok(Self::default()),
        }
    }

    /// Like [`Self::below`], with a known root of the work tree.
    pub(crate) fn in_work_tree(top: &Path, root: &Path) -> Result<Self> {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let prefix = root.strip_prefix(top).unwrap_or(Path::new("")).as_os_str().as_bytes().to_vec();
        // If the tree itself is ignored, it does not belong to the repository around it.
        if !prefix.is_empty() && run::run(run::git(top).args(["check-ignore", "-q", "--"]).arg(&root), None)?.success {
            return Ok(Self::default());
        }
        let mut git = run::git(top);
        git.args(["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"]);
        if !prefix.is_empty() {
            git.env("GIT_LITERAL_PATHSPECS", "1").arg("--").arg(OsStr::from_bytes(&prefix));
        }
        let output = run::must(&mut git, None)?;
        Ok(Self(output.split(|byte| *byte == 0).filter_map(|path| inside(path, &prefix)).map(<[u8]>::to_vec).collect()))
    }

    pub(crate) fn has(&self, at: &RelPath) -> bool {
        self.0.contains(at.bytes())
    }

    /// Whether a path or one of its parents is ignored.
    pub(crate) fn contains_or_below(&self, at: &RelPath) -> bool {
        self.has(at) || at.ancestors().any(|above| self.has(&above))
    }
}

/// Makes a path of the work tree relative to a directory in it; `None` for the directory itself and paths outside it.
fn inside<'p>(path: &'p [u8], prefix: &[u8]) -> Option<&'p [u8]> {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let path = if prefix.is_empty() { path } else { path.strip_prefix(prefix)?.strip_prefix(b"/")? };
    (!path.is_empty()).then_some(path)
}
