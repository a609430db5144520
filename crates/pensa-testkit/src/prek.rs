//! prek from PyPI, which runs hooks that a project has in its configuration. What those hooks are is left to the tests.

use std::path::PathBuf;

use crate::pypi::Package;

/// Which prek the tests are about.
const PREK: Package = Package { name: "prek", version: "0.5.10", with_needs: false };

/// The program, fetched first if it is not there.
pub fn program() -> PathBuf {
    let Package { name, version, .. } = PREK;
    install().unwrap_or_else(|e| panic!("these tests need prek {version} (pip install {name}=={version}): {e}"))
}

/// Fetches the program unless it is there, and says where it is. It goes into the directory of the build.
pub fn install() -> Result<PathBuf, String> {
    Ok(PREK.install()?.join("bin/prek"))
}
