//! What this user supervises on this machine: a private file for each job and run, below the user's state directory.
//!
//! Records name processes too, but anybody may have written a record. Only a process that is noted here is signalled, and
//! only while it is the one that was noted: its birth matches, and it began with the id of its job or run in its
//! environment. The directory is the user's and not the store's, so that commands on a store's files, through its daemon
//! and on other stores see the same notes. Nothing is synced to disk: the processes are gone after a power cut, too.

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

/// Most bytes of a note: some numbers and names.
const MAX_BYTES: u64 = 16 << 10;
/// Most notes that are looked at.
const MAX_NOTES: usize = 10_000;

/// What a process is supervised for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Job,
    Run,
}

impl Kind {
    /// The variable that its command has in the environment.
    pub fn variable(self) -> &'static str {
        match self {
            Kind::Job => "PN_JOB",
            Kind::Run => "PN_RUN",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Job => "job",
            Kind::Run => "run",
        }
    }
}

/// A job or run that a process of this user supervises, or has supervised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Supervised {
    kind: Kind,
    id: String,
    /// Homes can be shared between machines
    host: String,
    supervisor: Process,
    /// The command; none until it was started
    #[serde(default, skip_serializing_if = "Option::is_none")]
    process: Option<Process>,
}

impl Supervised {
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The command, if it is there and is certainly the one that was noted.
    fn command(&self) -> Option<&Process> {
        let noted = self.process.as_ref().filter(|noted| noted.pid > 1 && noted.born.is_some());
        noted.filter(|noted| is_alive(noted) && process::carries(noted.pid, self.kind.variable(), &self.id))
    }

    /// A variable of the environment in which the supervisor began, else the command.
    pub fn variable(&self, name: &str) -> Option<OsString> {
        let supervisor = Some(&self.supervisor).filter(|noted| noted.born.is_some() && is_alive(noted));
        process::variable(supervisor.or_else(|| self.command())?.pid, name)
    }

    pub fn is_running(&self) -> bool {
        self.command().is_some()
    }

    /// Sends a signal to the command alone. Says whether it was there.
    pub fn signal(&self, signal: Signal) -> bool {
        self.command().is_some_and(|command| process::signal(command.pid, signal))
    }

    /// Sends a signal to the command and all that it started. Says whether anybody was there.
    pub fn signal_all(&self, signal: Signal) -> bool {
        let (variable, id) = (self.kind.variable(), self.id.as_str());
        let own_group = self.process.as_ref().map(|noted| noted.pid).filter(|group| *group > 1);
        // Who leads a group may end before others, and its number is nobody else's as long as there are any.
        let has_group = own_group.is_some_and(|group| match process::members(group).find(|pid| *pid == group) {
            Some(_) => self.command().is_some(),
            None => process::members(group).any(|pid| process::carries(pid, variable, id)),
        });
        let mut any = has_group && own_group.is_some_and(|group| process::signal_group(group, signal));
        // The supervisor may have been killed before it noted the command, and a shell makes groups of its own.
        for pid in process::started_after(&self.supervisor, variable, id) {
            any |= process::signal(pid, signal);
        }
        any
    }
}

/// The note of a job or run that this process supervises; it goes with the value.
#[derive(Debug)]
pub struct Note {
    path: PathBuf,
    about: Supervised,
}

impl Note {
    /// Notes that the command of a job or run is about to be started by this process.
    pub fn leave(kind: Kind, id: &str) -> Result<Self> {
        let dir = dir().ok_or_else(|| Error::invalid("there is no place for files").hint("set HOME"))?;
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&dir);
        made.map_err(|e| Error::internal(format!("cannot create {}: {e}", dir.display())))?;
        let supervisor = super::process(std::process::id());
        let about = Supervised { kind, id: id.to_owned(), host: super::name(), supervisor, process: None };
        let note = Self { path: dir.join(file_name(kind, id)), about };
        note.write()?;
        Ok(note)
    }

    /// Notes the process of the command.
    pub fn started(&mut self, process: &Process) -> Result<()> {
        self.about.process = Some(process.clone());
        self.write()
    }

    fn write(&self) -> Result<()> {
        let failed = |e: &dyn std::fmt::Display| Error::internal(format!("cannot write {}: {e}", self.path.display()));
        let document = json::to_document(&self.about).map_err(|e| failed(&e))?;
        let mut draft = NamedTempFile::new_in(self.path.parent().unwrap_or(Path::new("."))).map_err(|e| failed(&e))?;
        draft.write_all(document.as_bytes()).map_err(|e| failed(&e))?;
        draft.persist(&self.path).map_err(|e| failed(&e.error)).map(drop)
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn dir() -> Option<PathBuf> {
    let user = dirs::user_store_root(Platform::HERE, |name| std::env::var_os(name))?;
    Some(user.join("local").join("supervised"))
}

fn file_name(kind: Kind, id: &str) -> String {
    format!("{}.{id}.json", kind.name())
}

fn read(path: &Path) -> Option<Supervised> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    let about: Supervised = serde_json::from_slice(&bytes).ok()?;
    let is_named_so = path.file_name().is_some_and(|name| name == file_name(about.kind, &about.id).as_str());
    (is_named_so && about.host == super::name()).then_some(about)
}

/// What is noted about a job or run.
pub fn find(kind: Kind, id: &str) -> Option<Supervised> {
    read(&dir()?.join(file_name(kind, id)))
}

/// The jobs or runs whose supervisors are gone, with a way to forget each.
fn left_behind(kind: Kind) -> io::Result<Vec<(PathBuf, Supervised)>> {
    let Some(dir) = dir() else { return Ok(Vec::new()) };
    let entries = match fs::read_dir(dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries.take(MAX_NOTES).filter_map(|entry| Some(entry.ok()?.path()));
    let notes = paths.filter_map(|path| read(&path).map(|about| (path, about)));
    Ok(notes.filter(|(_, about)| about.kind == kind && is_gone(&about.supervisor)).collect())
}

/// Does something with each job or run whose supervisor is gone, and forgets those of which nothing is left then.
pub fn each_left_behind(kind: Kind, mut is_ended: impl FnMut(&Supervised) -> bool) {
    for (path, about) in left_behind(kind).unwrap_or_default() {
        if is_ended(&about) {
            let _ = fs::remove_file(path);
        }
    }
}
