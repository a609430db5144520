//! Records which processes this user supervises on this machine, in a private file for each job and run.
//!
//! Jobs and runs in the store name processes too, but a record may come from anyone. Only a process that has a file
//! here is signalled, and only if its start time matches and it started with the id of its job or run in its
//! environment. The files are in the user's state directory rather than the store, so that commands see them whichever
//! store they use and whether or not they go through a daemon. They are not synced to disk: a power cut ends the
//! processes as well.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use pensa_core::dirs::{self, Platform};
use pensa_core::run::Process;
use pensa_core::{Error, Result, json};
use rustix::fs::OFlags;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::process::{self, is_alive, is_gone};

/// Size limit of a file.
const MAX_BYTES: u64 = 16 << 10;
/// Limit on the files that are read.
const MAX_FILES: usize = 10_000;

/// What a supervised process belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SupervisedKind {
    Job,
    Run,
}

impl SupervisedKind {
    /// The environment variable that holds the id.
    pub fn variable(self) -> &'static str {
        match self {
            SupervisedKind::Job => "PN_JOB",
            SupervisedKind::Run => "PN_RUN",
        }
    }

    fn name(self) -> &'static str {
        match self {
            SupervisedKind::Job => "job",
            SupervisedKind::Run => "run",
        }
    }
}

/// A job or run that a process of this user supervises or has supervised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Supervised {
    kind: SupervisedKind,
    id: String,
    /// The machine, because home directories can be shared
    host: String,
    supervisor: Process,
    /// The command; `None` until it has started
    #[serde(default, skip_serializing_if = "Option::is_none")]
    process: Option<Process>,
}

impl Supervised {
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The command's process, if it is running and certainly the recorded one.
    fn command(&self) -> Option<&Process> {
        let recorded = self.process.as_ref().filter(|process| process.pid > 1 && process.born.is_some());
        recorded.filter(|it| is_alive(it) && process::has_variable(it.pid, self.kind.variable(), &self.id))
    }

    /// A variable from the supervisor's initial environment, or from the command's if the supervisor has exited.
    pub fn variable(&self, name: &str) -> Option<OsString> {
        let supervisor = Some(&self.supervisor).filter(|process| process.born.is_some() && is_alive(process));
        process::variable(supervisor.or_else(|| self.command())?.pid, name)
    }

    pub fn is_running(&self) -> bool {
        self.command().is_some()
    }

    /// Sends a signal to the command only. Returns whether it was sent.
    pub fn signal(&self, signal: Signal) -> bool {
        self.command().is_some_and(|command| process::signal(command.pid, signal))
    }

    /// Sends a signal to the command and all processes it started. Returns whether any of them was running.
    pub fn signal_all(&self, signal: Signal) -> bool {
        let (variable, id) = (self.kind.variable(), self.id.as_str());
        let own_group = self.process.as_ref().map(|process| process.pid).filter(|group| *group > 1);
        // The group leader may exit first; its id is not reused while the group has members.
        let has_group = own_group.is_some_and(|group| match process::members(group).find(|pid| *pid == group) {
            Some(_) => self.command().is_some(),
            None => process::members(group).any(|pid| process::has_variable(pid, variable, id)),
        });
        let mut any = has_group && own_group.is_some_and(|group| process::signal_group(group, signal));
        // The supervisor may have been killed before it recorded the command, and shells create further groups.
        for pid in process::started_after(&self.supervisor, variable, id) {
            any |= process::signal(pid, signal);
        }
        any
    }
}

/// The file of a job or run that this process supervises. Dropping it deletes the file.
#[derive(Debug)]
pub struct SupervisionNote {
    path: PathBuf,
    record: Supervised,
}

impl SupervisionNote {
    /// Records that this process is about to start the command of a job or run.
    pub fn create(kind: SupervisedKind, id: &str) -> Result<Self> {
        let dir = dir().ok_or_else(|| Error::invalid("there is no place for files").hint("set HOME"))?;
        let created = DirBuilder::new().recursive(true).mode(0o700).create(&dir);
        created.map_err(|e| Error::internal(format!("cannot create {}: {e}", dir.display())))?;
        let supervisor = super::process(std::process::id());
        let record = Supervised { kind, id: id.to_owned(), host: super::name(), supervisor, process: None };
        let file = Self { path: dir.join(file_name(kind, id)), record };
        file.write()?;
        Ok(file)
    }

    /// Records the process of the command.
    pub fn set_process(&mut self, process: &Process) -> Result<()> {
        self.record.process = Some(process.clone());
        self.write()
    }

    fn write(&self) -> Result<()> {
        let failed = |e: &dyn std::fmt::Display| Error::internal(format!("cannot write {}: {e}", self.path.display()));
        let document = json::to_document(&self.record).map_err(|e| failed(&e))?;
        let mut draft = NamedTempFile::new_in(self.path.parent().unwrap_or(Path::new("."))).map_err(|e| failed(&e))?;
        draft.write_all(document.as_bytes()).map_err(|e| failed(&e))?;
        draft.persist(&self.path).map_err(|e| failed(&e.error)).map(drop)
    }
}

impl Drop for SupervisionNote {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn dir() -> Option<PathBuf> {
    let user = dirs::user_store_root(Platform::HERE, |name| std::env::var_os(name))?;
    Some(user.join("local").join("supervised"))
}

fn file_name(kind: SupervisedKind, id: &str) -> String {
    format!("{}.{id}.json", kind.name())
}

fn read(path: &Path) -> Option<Supervised> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    let record: Supervised = serde_json::from_slice(&bytes).ok()?;
    let has_matching_name = path.file_name().is_some_and(|name| name == file_name(record.kind, &record.id).as_str());
    (has_matching_name && record.host == super::name()).then_some(record)
}

/// The recorded processes of a job or run, if this user supervises it on this machine.
pub fn find(kind: SupervisedKind, id: &str) -> Option<Supervised> {
    read(&dir()?.join(file_name(kind, id)))
}

/// The jobs or runs whose supervisors have exited, with the paths of their files.
fn orphans(kind: SupervisedKind) -> io::Result<Vec<(PathBuf, Supervised)>> {
    let Some(dir) = dir() else { return Ok(Vec::new()) };
    let entries = match fs::read_dir(dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries.take(MAX_FILES).filter_map(|entry| Some(entry.ok()?.path()));
    let records = paths.filter_map(|path| read(&path).map(|record| (path, record)));
    Ok(records.filter(|(_, record)| record.kind == kind && is_gone(&record.supervisor)).collect())
}

/// Calls `is_finished` for each job or run whose supervisor has exited, and deletes its file if it returns true.
pub fn for_each_orphan(kind: SupervisedKind, mut is_finished: impl FnMut(&Supervised) -> bool) {
    for (path, record) in orphans(kind).unwrap_or_default() {
        if is_finished(&record) {
            let _ = fs::remove_file(path);
        }
    }
}
