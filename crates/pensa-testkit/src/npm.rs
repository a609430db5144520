//! Installs the packages that a `package.json` names from npm, below cargo's target directory.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::pypi::tools_dir;

/// Installs the packages unless they exist. Returns the directory `node_modules`.
pub(crate) fn install(manifest: &Path) -> Result<PathBuf, String> {
    let text = fs::read_to_string(manifest).map_err(|e| format!("{}: {e}", manifest.display()))?;
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let tools = tools_dir()?;
    let home = tools.join(format!("npm-{:016x}", hasher.finish()));
    let modules = home.join("node_modules");
    if home.is_dir() {
        return Ok(modules);
    }
    fs::create_dir_all(&tools).map_err(|e| format!("{}: {e}", tools.display()))?;
    // Tests run in parallel; one of them installs the packages.
    let lock = File::create(tools.join("npm.lock")).map_err(|e| e.to_string())?;
    lock.lock().map_err(|e| e.to_string())?;
    if home.is_dir() {
        return Ok(modules);
    }
    let draft = tools.join("npm.tmp");
    let _ = fs::remove_dir_all(&draft);
    fs::create_dir_all(&draft).map_err(|e| format!("{}: {e}", draft.display()))?;
    fs::write(draft.join("package.json"), text).map_err(|e| e.to_string())?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--loglevel=error"]);
    npm.args([
        "--fetch-timeout=60000",
        "--fetch-retries=2",
        "--fetch-retry-mintimeout=1000",
        "--fetch-retry-maxtimeout=5000",
    ]);
    let output = npm.current_dir(&draft).stdin(Stdio::null()).output().map_err(|e| format!("npm: {e}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    fs::rename(&draft, &home).map_err(|e| e.to_string())?;
    Ok(modules)
}
