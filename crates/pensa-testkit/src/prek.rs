//! prek from PyPI, which runs hooks that a project has in its configuration. What those hooks are is left to the tests.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Which prek the tests are about.
const VERSION: &str = "0.5.10";

/// The program, fetched first if it is not there.
pub fn program() -> PathBuf {
    install().unwrap_or_else(|e| panic!("these tests need prek {VERSION} (pip install prek=={VERSION}): {e}"))
}

/// Fetches the program unless it is there, and says where it is. It goes into the directory of the build.
pub fn install() -> Result<PathBuf, String> {
    let tools = tools_dir()?;
    let home = tools.join(format!("prek-{VERSION}"));
    let program = home.join("bin/prek");
    if program.is_file() {
        return Ok(program);
    }
    fs::create_dir_all(&tools).map_err(|e| format!("{}: {e}", tools.display()))?;
    // One of many tests does it for all.
    let lock = File::create(tools.join("prek.lock")).map_err(|e| e.to_string())?;
    lock.lock().map_err(|e| e.to_string())?;
    if program.is_file() {
        return Ok(program);
    }
    let draft = tools.join("prek.tmp");
    let _ = fs::remove_dir_all(&draft);
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-deps", "--target"]);
    let output = pip.arg(&draft).arg(format!("prek=={VERSION}")).stdin(Stdio::null()).output();
    let output = output.map_err(|e| format!("python3: {e}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let _ = fs::remove_dir_all(&home);
    fs::rename(&draft, &home).map_err(|e| e.to_string())?;
    Ok(program)
}

/// A directory beside what cargo builds; cargo marks its own.
fn tools_dir() -> Result<PathBuf, String> {
    let here = std::env::current_exe().map_err(|e| e.to_string())?;
    let target = here.ancestors().find(|dir| dir.join("CACHEDIR.TAG").is_file());
    Ok(target.unwrap_or(&std::env::temp_dir()).join("tools"))
}
