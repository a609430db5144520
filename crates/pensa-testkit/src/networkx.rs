//! networkx from PyPI, which measures of graphs are compared with. What is measured is left to the tests.

use std::path::PathBuf;

use crate::pypi::Package;

/// It needs no other package for what the tests ask.
const NETWORKX: Package = Package { name: "networkx", version: "3.6.1", with_dependencies: false };

/// The directory of its modules, fetched first if it is not there.
pub fn networkx() -> PathBuf {
    let Package { name, version, .. } = NETWORKX;
    install().unwrap_or_else(|e| panic!("these tests need {name} {version} (pip install {name}=={version}): {e}"))
}

/// Fetches the modules unless they are there, and says where they are. They go into the directory of the build.
pub fn install() -> Result<PathBuf, String> {
    NETWORKX.install()
}
