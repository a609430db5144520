//! The repository: where it is, which files it has, and cargo run inside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Result;

/// The directory of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Cargo at the root of the workspace, with nothing to read.
///
/// Cargo tells a program that it runs about its package. A cargo below that must not hear of it: some build scripts
/// look at those names, and everything above them would be built again for each way of starting cargo.
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

/// Every file below `dir` with this ending, in order; nothing if there is no such directory.
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
