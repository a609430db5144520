//! Installs the official Python SDK of the Model Context Protocol from PyPI.

use std::path::PathBuf;

use crate::pypi::Package;

/// The tested version.
const SDK: Package = Package { name: "mcp", version: "2.3.0", with_dependencies: true };

/// The directory of its modules. Installs the SDK if necessary.
pub fn sdk() -> PathBuf {
    let Package { name, version, .. } = SDK;
    install().unwrap_or_else(|e| panic!("these tests need {name} {version} (pip install {name}=={version}): {e}"))
}

/// Installs the SDK below the target directory, unless it exists. Returns the directory of its modules.
pub fn install() -> Result<PathBuf, String> {
    SDK.install()
}
