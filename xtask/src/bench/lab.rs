//! The bench's own place: the built programs, and stores that go away with it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use super::data;
use crate::{Result, repo};

pub(super) struct Lab {
    dir: PathBuf,
    pn: PathBuf,
    bare: PathBuf,
    bare_stream: PathBuf,
    bare_transfer: PathBuf,
    bare_append: PathBuf,
    embedded_session: PathBuf,
    records: PathBuf,
}

/// A project with a store of known size.
pub(super) struct Project {
    pub(super) dir: PathBuf,
    pub(super) size: usize,
}

impl Project {
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
    /// Builds the programs. The stores go beside them: a system's own place for such things is often in memory,
    /// where a durable write costs nothing.
    pub(super) fn build() -> Result<Self> {
        println!("building pn and the bare programs");
        let built = executables()?;
        let program = |name: &str| built.get(name).cloned().ok_or_else(|| format!("cargo built no {name}"));
        let pn = program("pn")?;
        let target = pn.ancestors().nth(2).ok_or("pn was built in no directory")?;
        let dir = target.join(format!("bench-{}", std::process::id()));
        fs::create_dir_all(&dir)?;
        Ok(Self {
            dir,
            pn,
            bare: program("bare")?,
            bare_stream: program("bare_stream")?,
            bare_transfer: program("bare_transfer")?,
            bare_append: program("bare_append")?,
            embedded_session: program("embedded_session")?,
            records: program("records")?,
        })
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// A program in an environment that has nothing of the user's.
    fn program(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", &self.dir).env("PN_ACTOR", "bench").stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    pub(super) fn pn(&self, project: &Project, args: &[&str]) -> Command {
        let mut command = self.program(&self.pn);
        command.args(args).current_dir(&project.dir);
        command
    }

    /// Commands of a shell in a project.
    pub(super) fn shell(&self, project: &Project, script: &str) -> Command {
        let mut command = self.program("sh");
        command.args(["-c", script]).current_dir(&project.dir);
        command
    }

    pub(super) fn bare(&self, answer: &Path) -> Command {
        let mut command = self.program(&self.bare);
        command.arg(answer);
        command
    }

    pub(super) fn bare_stream(&self, line: &Path) -> Command {
        let mut command = self.program(&self.bare_stream);
        command.arg(line);
        command
    }

    pub(super) fn bare_transfer(&self, args: &[&std::ffi::OsStr]) -> Command {
        let mut command = self.program(&self.bare_transfer);
        command.args(args);
        command
    }

    pub(super) fn embedded_session(&self, args: &[&std::ffi::OsStr]) -> Command {
        let mut command = self.program(&self.embedded_session);
        command.args(args);
        command
    }

    pub(super) fn records(&self, args: &[&std::ffi::OsStr]) -> Command {
        let mut command = self.program(&self.records);
        command.args(args);
        command
    }

    pub(super) fn bare_append(&self, args: &[&std::ffi::OsStr]) -> Command {
        let mut command = self.program(&self.bare_append);
        command.args(args);
        command
    }

    /// Python that finds packages in this directory.
    pub(super) fn python(&self, packages: &Path, script: &str) -> Command {
        let mut command = self.program("python3");
        command.env("PYTHONPATH", packages).args(["-c", script]);
        command
    }

    /// A program that does nothing.
    pub(super) fn bare_true(&self) -> Command {
        self.program("true")
    }

    pub(super) fn sqlite3(&self, project: &Project, options: &[&str], sql: &str) -> Command {
        let mut command = self.program("sqlite3");
        command.arg("-batch").args(options).arg(project.database()).arg(sql);
        command
    }

    /// A new git repository with a store of `size` made-up issues.
    pub(super) fn filled_store(&self, size: usize) -> Result<Project> {
        let start = Instant::now();
        let project = self.repository(&format!("store-{size}"), size)?;
        fs::create_dir(project.dir.join(".pensa"))?;
        data::write(&project.dir.join(".pensa"), size, 3)?;
        output(&mut self.pn(&project, &["init"]))?;
        println!("made a store of {size} issues in {:.1} s", start.elapsed().as_secs_f64());
        Ok(project)
    }

    /// A new git repository with an empty store.
    pub(super) fn empty_store(&self, name: &str) -> Result<Project> {
        let project = self.repository(name, 0)?;
        output(&mut self.pn(&project, &["init"]))?;
        Ok(project)
    }

    pub(super) fn repository(&self, name: &str, size: usize) -> Result<Project> {
        let project = Project { dir: self.dir.join(name), size };
        fs::create_dir(&project.dir)?;
        output(self.program("git").args(["init", "--quiet"]).current_dir(&project.dir))?;
        Ok(project)
    }

    /// Another store with the same content.
    pub(super) fn copy(&self, of: &Project, name: &str) -> Result<Project> {
        let copy = Project { dir: self.dir.join(format!("{name}-{}", of.size)), size: of.size };
        let mut cp = self.program("cp");
        output(cp.arg("-a").arg(&of.dir).arg(&copy.dir))?;
        Ok(copy)
    }

    /// Removes a store that is no longer needed.
    pub(super) fn discard(&self, project: &Project) -> Result {
        Ok(fs::remove_dir_all(&project.dir)?)
    }
}

/// Builds all programs for release and tells where each is. In one go: built by themselves, each package would have
/// the features that it alone asks of its dependencies, and the same crates be built again and again.
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

/// What a command prints; an error if it fails.
pub(super) fn output(command: &mut Command) -> Result<String> {
    let done = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if !done.status.success() {
        let told = String::from_utf8_lossy(&done.stderr);
        return Err(format!("{command:?} failed ({}): {}", done.status, told.trim()).into());
    }
    Ok(String::from_utf8(done.stdout)?)
}
