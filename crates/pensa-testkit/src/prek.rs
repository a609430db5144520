//! Installs prek, which runs the git hooks configured in a project, from PyPI.

use std::path::PathBuf;

use crate::pypi::Package;

/// The tested version.
const PREK: Package = Package { name: "prek", version: "0.5.10", with_dependencies: false };

/// The path of the program. Installs it if necessary.
pub fn program() -> PathBuf {
    let Package { name, version, .. } = PREK;
    install().unwrap_or_else(|e| panic!("these tests need prek {version} (pip install {name}=={version}): {e}"))
}

/// Installs the program below the target directory, unless it exists. Returns its path.
pub fn install() -> Result<PathBuf, String> {
    Ok(PREK.install()?.join("bin/prek"))
}
