//! Sets agents up for `pn`: instructions, skill, hooks and MCP server of each, in a repository or for all projects.
//!
//! [`AGENTS`] is the table of agents. Each format has a module with three pure functions: `state`, `add` and `remove`.
//! This module finds the files, applies those functions to them, and reports.

mod agents;
mod aider;
mod block;
mod content;
mod event;
mod jsonc;
mod owned;
mod plugin;
mod toml_server;

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use pensa_core::{Code, Error, Result, error};
use pensa_git::files;
use serde::Serialize;

pub use agents::{AGENTS, AgentSoftware, AnswerFormat};
use agents::{SERVER_NAME, SetupPart};
use block::CommentSyntax;
pub use content::Profile;
pub use event::{HookInput, HookMoment, HookReply, SessionSource, session_hash};
use jsonc::JsonPart;
pub use plugin::plugin_files;

/// Files of settings and instructions are never larger than this.
const MAX_BYTES: u64 = 8 << 20;
/// How long another `pn setup` in the same place is waited for, and how often it is asked.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const LOCK_POLL: Duration = Duration::from_millis(20);

/// How a part is, the one that needs the most attention last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PartState {
    Current,
    Missing,
    /// Of another version, and nobody changed it
    Old,
    /// Somebody changed it
    Edited,
}

/// What was done to a file, or would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    Create,
    Change,
    Delete,
}

/// A file of an agent.
#[derive(Debug, Clone, Serialize)]
pub struct FileReport {
    pub path: String,
    pub agents: Vec<&'static str>,
    /// How it was before; absent if it could not be read
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<PartState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<FileAction>,
    /// Why it was left as it is
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
}

/// What a set-up found and did.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SetupReport {
    pub files: Vec<FileReport>,
    /// What the user should know or do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl SetupReport {
    /// Whether no file was refused.
    pub fn is_done(&self) -> bool {
        self.files.iter().all(|file| file.error.is_none())
    }

    /// Whether everything is there and of this version.
    pub fn is_current(&self) -> bool {
        self.is_done() && self.files.iter().all(|file| file.state == Some(PartState::Current))
    }
}

/// Where agents are set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupScope {
    /// In a repository; nothing outside it is written
    Project,
    /// In the home directory, for all projects
    Home,
}

/// What is done with the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileTask {
    Check,
    Add,
    Remove,
}

/// Everything that belongs into one file.
#[derive(Debug)]
enum SetupContent {
    Section,
    Import,
    Owned(&'static str),
    Json {
        new: &'static str,
        parts: Vec<JsonPart>,
    },
    TomlServer,
    AiderRead,
    /// A section with a text of its own
    Text(String),
}

/// A file with what belongs into it and for whom.
#[derive(Debug)]
struct PlannedFile {
    /// As the user knows it
    path: String,
    /// Where links lead
    real: PathBuf,
    agents: Vec<&'static str>,
    content: SetupContent,
}

/// Sets agents up in one place.
#[derive(Debug, Clone)]
pub struct Setup {
    root: PathBuf,
    scope: SetupScope,
    pub profile: Option<Profile>,
    /// Replace, or remove, what was edited too
    pub force: bool,
    /// Report only
    pub dry_run: bool,
}

impl Setup {
    /// A set-up in a repository, or in a home directory.
    pub fn new(root: &Path, scope: SetupScope) -> Result<Self> {
        let root = fs::canonicalize(root).map_err(|e| error::io("find", root, &e))?;
        Ok(Self { root, scope, profile: None, force: false, dry_run: false })
    }

    /// How an agent was noticed: here, or on this machine.
    pub fn detect(
        &self,
        agent: &AgentSoftware,
        home: Option<&Path>,
        is_program: &dyn Fn(&str) -> bool,
    ) -> Option<String> {
        let here = agent.used.iter().find(|path| self.root.join(path).exists());
        if let Some(path) = here.filter(|_| self.scope == SetupScope::Project) {
            return Some(format!("{path} is here"));
        }
        if let Some(program) = agent.programs.iter().find(|program| is_program(program)) {
            return Some(format!("{program} is installed"));
        }
        let at_home = agent.installed.iter().find(|path| home.is_some_and(|home| home.join(path).exists()));
        at_home.map(|path| format!("~/{path} is there"))
    }

    /// Whether an agent has something of ours in files that no other agent shares.
    pub fn is_set_up(&self, agent: &AgentSoftware) -> bool {
        let is_own = |path: &str| {
            !AGENTS.iter().any(|other| other.name != agent.name && self.rows(other).any(|row| row.0 == path))
        };
        let mut own = self.rows(agent).filter(|(path, _)| is_own(path));
        own.any(|(path, part)| {
            let content = SetupContent::of(&[*part]);
            let text = self.resolve(path).and_then(|real| read(&real)).unwrap_or_default();
            let state = content.state(text.as_deref(), None);
            state.is_ok_and(|state| text.is_some() && state != PartState::Missing)
        })
    }

    /// Compares the files of agents with what they should be.
    pub fn check(&self, agents: &[&'static AgentSoftware]) -> Result<SetupReport> {
        self.run(agents, FileTask::Check)
    }

    /// Adds what is missing, and renews what is old. A second time it changes nothing.
    pub fn add(&self, agents: &[&'static AgentSoftware]) -> Result<SetupReport> {
        self.run(agents, FileTask::Add)
    }

    /// Takes out what `add` put in, and deletes files and directories that have nothing else. What other agents need stays.
    pub fn remove(&self, agents: &[&'static AgentSoftware]) -> Result<SetupReport> {
        self.run(agents, FileTask::Remove)
    }

    /// The files of agents as they would be if there were none yet.
    pub fn print(&self, agents: &[&'static AgentSoftware]) -> Result<Vec<(String, String)>> {
        let (planned, _) = self.plan(agents);
        let profile = self.profile.unwrap_or(Profile::Standard);
        let shown = planned.into_iter().filter(|file| !file.content.is_left_out(profile));
        shown.map(|file| Ok((file.path, file.content.add(None, profile, false)?))).collect()
    }

    /// Adds a section with a text to each file, or renews it, by the same rules as [`Setup::add`].
    pub fn add_sections(&self, sections: Vec<(String, String)>) -> Result<SetupReport> {
        let _lock = if self.dry_run { None } else { Some(lock(&self.root)?) };
        let mut report = SetupReport::default();
        for (path, text) in sections {
            let (state, done) = match self.resolve(&path) {
                Ok(real) => {
                    let content = SetupContent::Text(text);
                    self.apply(
                        &PlannedFile { path: path.clone(), real, agents: Vec::new(), content },
                        FileTask::Add,
                        None,
                    )
                }
                Err(error) => (None, Err(error)),
            };
            let (action, error) = done.map_or_else(|error| (None, Some(error)), |action| (action, None));
            report.files.push(FileReport { path, agents: Vec::new(), state, action, error });
        }
        Ok(report)
    }

    fn rows(&self, agent: &AgentSoftware) -> impl Iterator<Item = &'static (&'static str, SetupPart)> + use<> {
        match self.scope {
            SetupScope::Project => agent.project.iter(),
            SetupScope::Home => agent.home.iter(),
        }
    }

    fn run(&self, agents: &[&'static AgentSoftware], task: FileTask) -> Result<SetupReport> {
        let _lock = if task == FileTask::Check || self.dry_run { None } else { Some(lock(&self.root)?) };
        let (planned, refused) = self.plan(agents);
        // Nothing was ever written through a link that is refused, so there is nothing to take out.
        let refused = if task == FileTask::Remove { Vec::new() } else { refused };
        let mut report = SetupReport { files: refused, notes: Vec::new() };
        let kept = if task == FileTask::Remove { self.needed_by_others(agents) } else { BTreeSet::new() };
        let profile = self.profile.or_else(|| detect_profile(&planned));
        for file in planned {
            if kept.contains(file.path.as_str())
                || task != FileTask::Remove && file.content.is_left_out(profile.unwrap_or(Profile::Standard))
            {
                continue;
            }
            let (state, done) = self.apply(&file, task, profile);
            let (action, error) = match done {
                Ok(action) => (action, None),
                Err(error) => (None, Some(error)),
            };
            let is_absent = state == Some(PartState::Missing) && action.is_none() && error.is_none();
            if task != FileTask::Remove || !is_absent {
                report.files.push(FileReport { path: file.path, agents: file.agents, state, action, error });
            }
        }
        let is_new = |name: &str| {
            report.files.iter().any(|file| file.action == Some(FileAction::Create) && file.path.ends_with(name))
        };
        if task == FileTask::Add && is_new(".codex/hooks.json") {
            report
                .notes
                .push("Codex runs hooks only after you have trusted them: /hooks in Codex shows them".to_owned());
        }
        for agent in agents.iter().filter(|agent| self.rows(agent).next().is_none()) {
            report.notes.push(format!("{} has no files for all projects", agent.title));
        }
        Ok(report)
    }

    /// The files of agents, those that several share once. Also returns those that must not be touched.
    fn plan(&self, agents: &[&'static AgentSoftware]) -> (Vec<PlannedFile>, Vec<FileReport>) {
        let mut rows: Vec<(&'static str, Vec<SetupPart>, Vec<&'static str>)> = Vec::new();
        for agent in agents {
            for (path, part) in self.rows(agent) {
                match rows.iter_mut().find(|(other, ..)| other == path) {
                    Some((_, parts, names)) => {
                        parts.push(*part);
                        names.push(agent.name);
                    }
                    None => rows.push((path, vec![*part], vec![agent.name])),
                }
            }
        }
        let (mut planned, mut refused): (Vec<PlannedFile>, Vec<FileReport>) = (Vec::new(), Vec::new());
        for (path, parts, mut agents) in rows {
            agents.dedup();
            let content = SetupContent::of(&parts);
            match self.resolve(path) {
                // A link from CLAUDE.md to AGENTS.md needs no line that includes it.
                Ok(real) if planned.iter().any(|file| file.real == real) => {}
                Ok(real) => planned.push(PlannedFile { path: path.to_owned(), real, agents, content }),
                Err(error) => {
                    refused.push(FileReport {
                        path: path.to_owned(),
                        agents,
                        state: None,
                        action: None,
                        error: Some(error),
                    });
                }
            }
        }
        (planned, refused)
    }

    /// The paths that agents which are set up and not among these have too.
    fn needed_by_others(&self, agents: &[&'static AgentSoftware]) -> BTreeSet<&'static str> {
        let others = AGENTS.iter().filter(|other| !agents.iter().any(|agent| agent.name == other.name));
        others.filter(|other| self.is_set_up(other)).flat_map(|other| self.rows(other)).map(|(path, _)| *path).collect()
    }

    /// Follows the links of a path. None may lead out of a repository, or into git's directory.
    fn resolve(&self, path: &str) -> Result<PathBuf> {
        let mut at = self.root.clone();
        for name in path.split('/') {
            at.push(name);
            let Ok(meta) = fs::symlink_metadata(&at) else { continue };
            if !meta.is_symlink() {
                continue;
            }
            at = fs::canonicalize(&at).map_err(|_| {
                Error::invalid("is a symbolic link to nothing").hint("delete it, or make what it points to")
            })?;
            let is_inside = at.starts_with(&self.root) && !at.starts_with(self.root.join(".git"));
            if self.scope == SetupScope::Project && !is_inside {
                let message = format!("is a symbolic link that leads out of the repository: {}", at.display());
                return Err(Error::new(Code::Forbidden, message).hint("make it a file of the repository"));
            }
        }
        Ok(at)
    }

    /// Checks, changes or clears one file. Returns how it was.
    fn apply(
        &self,
        file: &PlannedFile,
        task: FileTask,
        profile: Option<Profile>,
    ) -> (Option<PartState>, Result<Option<FileAction>>) {
        let text = match read(&file.real) {
            Ok(text) => text,
            Err(e) => return (None, Err(e)),
        };
        let state = match file.content.state(text.as_deref(), profile) {
            Ok(state) => state,
            // What is not ours has nothing to take out.
            Err(_) if task == FileTask::Remove && !mentions_us(text.as_deref()) => {
                return (Some(PartState::Missing), Ok(None));
            }
            Err(e) => return (None, Err(e)),
        };
        let wanted = match task {
            FileTask::Check => return (Some(state), Ok(None)),
            FileTask::Add => {
                file.content.add(text.as_deref(), profile.unwrap_or(Profile::Standard), self.force).map(Some)
            }
            FileTask::Remove => text.as_deref().map_or(Ok(None), |text| file.content.remove(text, self.force)),
        };
        (Some(state), wanted.and_then(|wanted| self.write(&file.real, text.as_deref(), wanted.as_deref())))
    }

    fn write(&self, path: &Path, old: Option<&str>, new: Option<&str>) -> Result<Option<FileAction>> {
        let action = match (old, new) {
            (old, new) if old == new => return Ok(None),
            (None, _) => FileAction::Create,
            (_, Some(_)) => FileAction::Change,
            (_, None) => FileAction::Delete,
        };
        if self.dry_run {
            return Ok(Some(action));
        }
        let dir = path.parent().unwrap_or(&self.root);
        if action == FileAction::Create {
            fs::create_dir_all(dir).map_err(|e| error::io("create", dir, &e))?;
        }
        files::delete_drafts(dir);
        let written = files::write_if_changed(path, old, new);
        if action == FileAction::Delete || written.is_err() {
            self.delete_empty_dirs(dir);
        }
        written.map(|_| Some(action))
    }

    /// Deletes a directory, and those around it, as long as they are empty.
    fn delete_empty_dirs(&self, dir: &Path) {
        let inside = dir.ancestors().take_while(|dir| *dir != self.root && dir.starts_with(&self.root));
        // Deleting a directory that is not empty fails.
        let _ = inside.map(fs::remove_dir).take_while(std::result::Result::is_ok).count();
    }
}

impl SetupContent {
    /// What all parts of a file are together.
    fn of(parts: &[SetupPart]) -> Self {
        let (mut new, mut json) = ("{}\n", Vec::new());
        for part in parts {
            match part {
                SetupPart::Section => return Self::Section,
                SetupPart::Import => return Self::Import,
                SetupPart::Owned(template) => return Self::Owned(template),
                SetupPart::TomlServer => return Self::TomlServer,
                SetupPart::AiderRead => return Self::AiderRead,
                SetupPart::Hooks(format) => {
                    new = format.new_file();
                    json.extend(format.parts());
                }
                SetupPart::Server(format) => {
                    new = if json.is_empty() { format.new_file() } else { new };
                    if !json.contains(&format.part()) {
                        json.push(format.part());
                    }
                }
            }
        }
        Self::Json { new, parts: json }
    }

    /// Whether a profile goes without it.
    fn is_left_out(&self, profile: Profile) -> bool {
        profile == Profile::Minimal && matches!(self, Self::Owned(template) if *template == content::SKILL)
    }

    fn state(&self, text: Option<&str>, profile: Option<Profile>) -> Result<PartState> {
        let syntax = CommentSyntax::Markdown;
        match self {
            Self::Section => {
                let Some(text) = text else { return Ok(PartState::Missing) };
                block::state(syntax, text, &profile.unwrap_or(Profile::Standard).section())
            }
            Self::Import => {
                let Some(text) = text else { return Ok(PartState::Missing) };
                if block::rest(syntax, text)?.lines().any(|line| line.trim() == content::IMPORT) {
                    return Ok(PartState::Current);
                }
                block::state(syntax, text, content::IMPORT)
            }
            Self::Text(body) => text.map_or(Ok(PartState::Missing), |text| block::state(syntax, text, body)),
            Self::Owned(template) => owned::state(text, template),
            Self::Json { parts, .. } => jsonc::state(text, parts),
            Self::TomlServer => toml_server::state(text),
            Self::AiderRead => aider::state(text),
        }
    }

    /// The file with our part; unchanged if that was edited, unless `force` says otherwise.
    fn add(&self, text: Option<&str>, profile: Profile, force: bool) -> Result<String> {
        let unchanged = match self.state(text, Some(profile))? {
            PartState::Current => true,
            PartState::Edited => !force && !matches!(self, Self::Json { .. }),
            PartState::Missing | PartState::Old => false,
        };
        if let Some(text) = text.filter(|_| unchanged) {
            return Ok(text.to_owned());
        }
        match self {
            Self::Section => block::add(CommentSyntax::Markdown, text, &profile.section()),
            Self::Import => block::add(CommentSyntax::Markdown, text, content::IMPORT),
            Self::Text(body) => block::add(CommentSyntax::Markdown, text, body),
            Self::Owned(template) => owned::add(text, template, force),
            Self::Json { new, parts } => jsonc::add(text, new, parts, force),
            Self::TomlServer => toml_server::add(text, force),
            Self::AiderRead => aider::add(text, force),
        }
    }

    /// The file without our part; `None` if that is all it has.
    fn remove(&self, text: &str, force: bool) -> Result<Option<String>> {
        match self {
            Self::Section | Self::Import => {
                block::remove(CommentSyntax::Markdown, text, &content::section_lines(), force)
            }
            Self::Text(body) => {
                let ours: Vec<&str> = body.lines().collect();
                block::remove(CommentSyntax::Markdown, text, &ours, force)
            }
            Self::Owned(template) => owned::remove(text, template, force),
            Self::Json { new, parts } => jsonc::remove(text, new, parts),
            Self::TomlServer => toml_server::remove(text, force),
            Self::AiderRead => aider::remove(text, force),
        }
    }
}

/// The profile of the sections that are there.
fn detect_profile(planned: &[PlannedFile]) -> Option<Profile> {
    let sections = planned.iter().filter(|file| matches!(file.content, SetupContent::Section));
    let mut bodies = sections.filter_map(|file| block::body(CommentSyntax::Markdown, &read(&file.real).ok()??));
    bodies.find_map(|body| Profile::ALL.into_iter().find(|profile| profile.section() == body))
}

/// Whether a text has a section of ours, edited or not.
pub fn has_section(text: &str) -> bool {
    block::body(CommentSyntax::Markdown, text).is_some()
}

/// Whether a file that cannot be understood may have something of ours.
fn mentions_us(text: Option<&str>) -> bool {
    let marks = [jsonc::OUR_COMMAND, "pensa:begin", "pensa:file", &format!("\"{SERVER_NAME}\"")].map(str::to_owned);
    text.is_some_and(|text| marks.iter().any(|mark| text.contains(mark)))
}

fn read(path: &Path) -> Result<Option<String>> {
    let Some((bytes, _)) = pensa_git::read_committed(path, MAX_BYTES)? else { return Ok(None) };
    String::from_utf8(bytes).map(Some).map_err(|_| Error::invalid("is not UTF-8").hint("save it as UTF-8"))
}

/// Keeps other set-ups out of a directory while the answer lives.
fn lock(dir: &Path) -> Result<File> {
    let file = File::open(dir).map_err(|e| error::io("open", dir, &e))?;
    let end = Instant::now() + LOCK_TIMEOUT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < end => thread::sleep(LOCK_POLL),
            Err(TryLockError::WouldBlock) => {
                let message = format!("another pn setup is at work in {}", dir.display());
                return Err(Error::new(Code::Busy, message).hint("try again in a moment"));
            }
            Err(TryLockError::Error(e)) => return Err(error::io("lock", dir, &e)),
        }
    }
}

#[cfg(test)]
mod tests;
