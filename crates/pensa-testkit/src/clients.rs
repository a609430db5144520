//! What the tests of the clients for other languages use, from npm and PyPI.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::npm;
use crate::pypi::Package;

/// The SDKs for which the Python client has adapters.
const PYTHON: [Package; 2] = [
    Package { name: "openai-agents", version: "0.24.0", with_dependencies: true },
    Package { name: "langgraph-checkpoint", version: "4.3.2", with_dependencies: true },
];

/// The directory of the clients in this repository.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients")
}

/// The directory `node_modules` of the TypeScript client. Installs its packages if necessary.
pub fn node_modules() -> PathBuf {
    npm::install(&manifest()).unwrap_or_else(|e| panic!("these tests need the packages in {:?}: {e}", manifest()))
}

/// The `PYTHONPATH` of the Python client and the SDKs for its adapters. Installs them if necessary.
pub fn python_path() -> OsString {
    let sdks = PYTHON.iter().map(|sdk| {
        let Package { name, version, .. } = sdk;
        sdk.install()
            .unwrap_or_else(|e| panic!("these tests need {name} {version} (pip install {name}=={version}): {e}"))
    });
    let client = directory().join("python/src");
    std::env::join_paths(std::iter::once(client).chain(sdks)).expect("paths without a colon")
}

/// Installs what the tests need, unless it exists.
pub fn install() -> Result<(), String> {
    npm::install(&manifest())?;
    PYTHON.iter().try_for_each(|sdk| sdk.install().map(drop))
}

fn manifest() -> PathBuf {
    directory().join("typescript/package.json")
}
