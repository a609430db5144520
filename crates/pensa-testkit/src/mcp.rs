//! The official Python SDK of the Model Context Protocol, from PyPI. What is asked with it is left to the tests.

use std::path::PathBuf;

use crate::pypi::Package;

/// Which SDK the tests are about.
const SDK: Package = Package { name: "mcp", version: "2.3.0", with_needs: true };

/// The directory of its modules, fetched first if it is not there.
pub fn sdk() -> PathBuf {
    let Package { name, version, .. } = SDK;
    install().unwrap_or_else(|e| panic!("these tests need {name} {version} (pip install {name}=={version}): {e}"))
}

/// Fetches the modules unless they are there, and says where they are. They go into the directory of the build.
pub fn install() -> Result<PathBuf, String> {
    SDK.install()
}
