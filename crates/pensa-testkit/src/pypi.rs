//! Installs packages from PyPI below cargo's target directory.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A package and its version.
#[derive(Debug, Clone, Copy)]
pub struct Package {
    pub name: &'static str,
    pub version: &'static str,
    /// Whether its dependencies are installed too.
    pub with_dependencies: bool,
}

impl Package {
    /// Installs the package unless it exists. Returns its directory.
    pub fn install(&self) -> Result<PathBuf, String> {
        let Self { name, version, .. } = self;
        let tools = tools_dir()?;
        let home = tools.join(format!("{name}-{version}"));
        if home.is_dir() {
            return Ok(home);
        }
        fs::create_dir_all(&tools).map_err(|e| format!("{}: {e}", tools.display()))?;
        // Tests run in parallel; one of them installs the package.
        let lock = File::create(tools.join(format!("{name}.lock"))).map_err(|e| e.to_string())?;
        lock.lock().map_err(|e| e.to_string())?;
        if home.is_dir() {
            return Ok(home);
        }
        let draft = tools.join(format!("{name}.tmp"));
        let _ = fs::remove_dir_all(&draft);
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--target"]).arg(&draft);
        if !self.with_dependencies {
            pip.arg("--no-deps");
        }
        let output = pip.arg(format!("{name}=={version}")).stdin(Stdio::null()).output();
        let output = output.map_err(|e| format!("python3: {e}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        fs::rename(&draft, &home).map_err(|e| e.to_string())?;
        Ok(home)
    }
}

/// The directory `tools` in cargo's target directory, which is found by its tag file.
pub(crate) fn tools_dir() -> Result<PathBuf, String> {
    let here = std::env::current_exe().map_err(|e| e.to_string())?;
    let target = here.ancestors().find(|dir| dir.join("CACHEDIR.TAG").is_file());
    Ok(target.unwrap_or(&std::env::temp_dir()).join("tools"))
}
