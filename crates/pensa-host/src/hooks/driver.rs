//! Configures the merge driver in git, and determines how git should call `pn`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pensa_core::{Error, Result};
use pensa_git::{Repo, files};

use super::{attributes, script};

const NAME_KEY: &str = "merge.pensa.name";
const DRIVER_KEY: &str = "merge.pensa.driver";
const NAME: &str = "Pensa's issues, merged field by field";

/// How a shell calls this program: by name if `PATH` leads to it, else by its path.
pub(super) fn program() -> Result<String> {
    let here = std::env::current_exe().and_then(fs::canonicalize);
    let by_name = on_path().and_then(|path| fs::canonicalize(path).ok());
    match (here, by_name) {
        (Ok(here), by_name) if by_name.as_ref() != Some(&here) => {
            let path = here.to_str().ok_or_else(|| {
                Error::invalid(format!("the path of this program is not UTF-8: {}", here.display()))
                    .hint("put pn into a directory on your PATH")
            })?;
            Ok(script::quote(path))
        }
        _ => Ok("pn".to_owned()),
    }
}

/// What a shell finds as `pn`.
fn on_path() -> Option<PathBuf> {
    let output = Command::new("sh").args(["-c", "command -v pn"]).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let path = String::from_utf8(output.ok()?.stdout).ok()?;
    Some(PathBuf::from(path.trim_end_matches('\n'))).filter(|path| path.is_absolute())
}

fn driver(program: &str) -> String {
    // Git expands `%O` and similar, so percent signs in the path are doubled.
    format!("{} merge-driver %O %A %B %P", program.replace('%', "%%"))
}

/// Whether the driver is configured, with any path to `pn`.
pub(super) fn is_configured(repo: &Repo) -> Result<bool> {
    Ok(repo.setting(DRIVER_KEY)?.is_some_and(|driver| driver.ends_with(" merge-driver %O %A %B %P")))
}

/// Configures the driver in the repository. Returns whether anything changed.
pub(super) fn configure(repo: &Repo, program: &str) -> Result<bool> {
    let mut changed = false;
    for (key, value) in [(NAME_KEY, NAME), (DRIVER_KEY, &driver(program))] {
        if repo.setting(key)?.as_deref() != Some(value) {
            repo.must(["config", "--local", "--replace-all", key, value])?;
            changed = true;
        }
    }
    Ok(changed)
}

/// Removes the driver from the repository's configuration. Returns whether it was configured.
pub(super) fn unconfigure(repo: &Repo) -> Result<bool> {
    let is_configured =
        pensa_git::run(repo.git().args(["config", "--local", "--get-regexp", r"^merge\.pensa\."]))?.success;
    if is_configured {
        repo.must(["config", "--local", "--remove-section", "merge.pensa"])?;
    }
    Ok(is_configured)
}

/// Whether a git configuration file has the driver as git writes it. Avoids starting git; linked work trees have no
/// such file.
fn is_in_file(config: &Path) -> bool {
    let Ok(Some(text)) = files::read(config) else { return false };
    let text = String::from_utf8_lossy(&text);
    let mut section = text.lines().skip_while(|line| *line != r#"[merge "pensa"]"#).skip(1);
    section.by_ref().take_while(|line| !line.starts_with('[')).any(|line| line.starts_with("\tdriver = "))
}

/// Configures the driver in the work tree `top` if its `.gitattributes` names it and git does not know it. Clones whose
/// hooks came with prek's configuration rely on this.
pub fn configure_if_named(top: &Path) -> Result<()> {
    let rules = files::read(&top.join(".gitattributes"))?.unwrap_or_default();
    if !attributes::name_driver(&String::from_utf8_lossy(&rules)) {
        return Ok(());
    }
    if is_in_file(&top.join(".git/config")) {
        return Ok(());
    }
    if pensa_git::run(pensa_git::git(top).args(["config", "--get", DRIVER_KEY]))?.line().is_some() {
        return Ok(());
    }
    match Repo::around(top) {
        Some(repo) => configure(&repo, &program()?).map(drop),
        None => Ok(()),
    }
}
