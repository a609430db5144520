//! The environment of a benchmark: built programs, and temporary stores.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Instant;

use serde_json::Value;

use super::data;
use crate::{Result, repo};

pub(super) struct Lab {
    dir: PathBuf,
    /// A given binary to measure.
    pn: Option<PathBuf>,
    built: OnceLock<HashMap<String, PathBuf>>,
}

/// A project with a store of known size.
pub(super) struct BenchProject {
    pub(super) dir: PathBuf,
    pub(super) size: usize,
}

impl BenchProject {
    pub(super) fn database(&self) -> PathBuf {
        self.dir.join(".pensa/db.sqlite")
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

impl Lab {
    /// Puts the stores next to the built programs: the temporary directory is often in memory, where syncing is free.
    /// With a given `pn`, the other programs are built when needed.
    pub(super) fn build(pn: Option<PathBuf>) -> Result<Self> {
        let dir = repo::root().join(format!("target/bench-{}", std::process::id()));
        fs::create_dir_all(&dir)?;
        let mut lab = Self { dir, pn, built: OnceLock::new() };
        if lab.pn.is_none() {
            lab.pn = Some(lab.built("pn")?);
        }
        Ok(lab)
    }

    /// A program of the workspace.
    fn built(&self, name: &str) -> Result<PathBuf> {
        if self.built.get().is_none() {
            println!("building pn and the bare programs");
            let _ = self.built.set(executables()?);
        }
        let program = self.built.get().and_then(|built| built.get(name).cloned());
        program.ok_or_else(|| format!("cargo built no {name}").into())
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// A command without the user's environment.
    fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", &self.dir).env("PN_ACTOR", "bench").stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    pub(super) fn pn(&self, project: &BenchProject, args: &[&str]) -> Command {
        let mut command = self.program(self.pn.as_deref().unwrap_or(Path::new("pn")));
        command.args(args).current_dir(&project.dir);
        command
    }

    /// An example of a crate, made for measurements.
    pub(super) fn example(&self, name: &str, args: &[&OsStr]) -> Result<Command> {
        let mut command = self.program(self.built(name)?);
        command.args(args);
        Ok(command)
    }

    /// Python with packages from this directory.
    pub(super) fn python(&self, packages: &Path, script: &str) -> Command {
        let mut command = self.program("python3");
        command.env("PYTHONPATH", packages).args(["-c", script]);
        command
    }

    pub(super) fn sqlite3(&self, project: &BenchProject, options: &[&str], sql: &str) -> Command {
        let mut command = self.program("sqlite3");
        command.arg("-batch").args(options).arg(project.database()).arg(sql);
        command
    }

    /// A new git repository with a store of `size` made-up issues.
    pub(super) fn filled_store(&self, size: usize) -> Result<BenchProject> {
        let start = Instant::now();
        let project = self.repository(&format!("store-{size}"), size)?;
        fs::create_dir(project.dir.join(".pensa"))?;
        data::write(&project.dir.join(".pensa"), size, 3)?;
        output(&mut self.pn(&project, &["init"]))?;
        println!("made a store of {size} issues in {:.1} s", start.elapsed().as_secs_f64());
        Ok(project)
    }

    /// A new git repository with an empty store.
    pub(super) fn empty_store(&self, name: &str) -> Result<BenchProject> {
        let project = self.repository(name, 0)?;
        output(&mut self.pn(&project, &["init"]))?;
        Ok(project)
    }

    pub(super) fn repository(&self, name: &str, size: usize) -> Result<BenchProject> {
        let project = BenchProject { dir: self.dir.join(name), size };
        fs::create_dir(&project.dir)?;
        output(self.program("git").args(["init", "--quiet"]).current_dir(&project.dir))?;
        Ok(project)
    }

    /// Copies a store.
    pub(super) fn copy(&self, of: &BenchProject, name: &str) -> Result<BenchProject> {
        let copy = BenchProject { dir: self.dir.join(format!("{name}-{}", of.size)), size: of.size };
        let mut cp = self.program("cp");
        output(cp.arg("-a").arg(&of.dir).arg(&copy.dir))?;
        Ok(copy)
    }

    /// Removes a store that is no longer needed.
    pub(super) fn discard(&self, project: &BenchProject) -> Result {
        Ok(fs::remove_dir_all(&project.dir)?)
    }
}

/// Builds all programs for release and returns their paths. All at once, because building packages separately would
/// rebuild shared dependencies with different features.
fn executables() -> Result<HashMap<String, PathBuf>> {
    let mut build = repo::cargo(&["build", "--release", "--workspace", "--bins", "--examples"]);
    let built = output(build.args(["--message-format", "json"]).stderr(Stdio::inherit()))?;
    let messages = built.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let programs = messages.filter_map(|message| {
        let name = message["target"]["name"].as_str()?.to_owned();
        Some((name, PathBuf::from(message["executable"].as_str()?)))
    });
    Ok(programs.collect())
}

/// Runs a command and returns its output; an error if it fails.
pub(super) fn output(command: &mut Command) -> Result<String> {
    let done = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if !done.status.success() {
        let report = String::from_utf8_lossy(&done.stderr);
        return Err(format!("{command:?} failed ({}): {}", done.status, report.trim()).into());
    }
    Ok(String::from_utf8(done.stdout)?)
}
