//! Finds files of the repository, and runs cargo in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Result;

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// A cargo command at the root of the workspace, without input.
///
/// Removes the variables that cargo sets about our own package: some build scripts depend on them, and everything above
/// would be rebuilt for each way of starting cargo.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    let is_of_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_of_package) {
            command.env_remove(name);
        }
    }
    command.args(args).current_dir(root()).stdin(Stdio::null());
    command
}

/// All files below `dir` with this extension, sorted; empty if the directory does not exist.
pub(crate) fn files(dir: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut left = vec![dir.to_owned()];
    while let Some(dir) = left.pop() {
        if !dir.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&dir)? {
            let path = entry?.path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|of_file| of_file == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
