//! What the tests of the web pages use: a browser, and packages from npm to drive it.

use std::path::{Path, PathBuf};

use crate::npm;

/// The directory of the tests that run in a browser.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../pensa/tests/web")
}

/// Their `node_modules`. Installs the packages if necessary.
pub fn node_modules() -> PathBuf {
    let manifest = directory().join("package.json");
    npm::install(&manifest).unwrap_or_else(|e| panic!("these tests need the packages in {manifest:?}: {e}"))
}

/// The browser: that of the variable `CHROMIUM`, else Debian's.
pub fn program() -> PathBuf {
    std::env::var_os("CHROMIUM").map_or_else(|| PathBuf::from("/usr/bin/chromium"), PathBuf::from)
}

/// Installs the packages, unless they exist.
pub fn install() -> Result<(), String> {
    npm::install(&directory().join("package.json")).map(drop)
}
