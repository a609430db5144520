//! Reads agents that daycare stores as files: `<dir>/<id>/{descriptor.json,state.json,history.jsonl}`.
//!
//! The caller redacts the content and decides what was imported before.

mod history;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::vec;

use pensa_core::{Code, Error, Result, Timestamp, id};
use serde_json::{Map, Value};

use crate::files::{JsonFile, read, time, written_at};
use history::ParsedHistory;

/// An agent, or the reason why it was skipped.
#[derive(Debug, Clone, PartialEq)]
pub enum ParsedAgent {
    Agent(Box<DaycareAgent>),
    Skipped { id: String, reason: String },
}

#[derive(Debug, Clone, PartialEq)]
pub struct DaycareAgent {
    /// The name of its directory.
    pub id: String,
    /// The type in the descriptor, known or not.
    pub kind: String,
    pub name: Option<String>,
    pub parent_id: Option<String>,
    /// The whole descriptor, including the type.
    pub descriptor: Map<String, Value>,
    pub permissions: Map<String, Value>,
    pub tokens: Option<Map<String, Value>>,
    pub stats: Map<String, Value>,
    pub lifecycle: Lifecycle,
    /// From its state, or else the earliest time in its history and of its files.
    pub created_at: Option<Timestamp>,
    /// From its state, or else the latest time of its files.
    pub updated_at: Option<Timestamp>,
    /// The inference session of the last session.
    pub inference_session_id: Option<String>,
    /// In the order of the file, never empty. The last one is active.
    pub sessions: Vec<DaycareSession>,
    /// How many lines of the history were blank, cut off or corrupt.
    pub lines_skipped: usize,
    /// What could not be read or imported.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lifecycle {
    #[default]
    Active,
    Sleeping,
    Dead,
}

/// The part of a history from one marker to the next.
#[derive(Debug, Clone, PartialEq)]
pub struct DaycareSession {
    pub opened_by: OpenedBy,
    /// The time of its marker, or else of its first entry with a time, or else the end of the previous session or the
    /// creation of the agent.
    pub at: Option<Timestamp>,
    /// From the marker. After a compaction it is the fixed text `Session context compacted.`, and the summary is the
    /// first entry.
    pub reset_message: Option<String>,
    pub entries: Vec<HistoryEntry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenedBy {
    Start,
    Reset,
    /// A reset with the text of a compaction, followed by a user message with the same time.
    Compaction,
}

#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEntry {
    /// The type of the record, known or not.
    pub kind: String,
    pub at: Option<Timestamp>,
    /// The record without its type and time. An invalid time stays here.
    pub data: Map<String, Value>,
}

/// Iterates over the agents of a directory, sorted by id. Each is read when the iterator reaches it.
#[derive(Debug)]
pub struct Agents {
    dirs: vec::IntoIter<AgentDir>,
}

#[derive(Debug)]
struct AgentDir {
    path: PathBuf,
    name: String,
    /// Why the directory cannot contain an agent, if it cannot.
    refused: Option<&'static str>,
}

impl Agents {
    /// The ids of the agents that have not been read yet.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.dirs.as_slice().iter().filter(|dir| dir.refused.is_none()).map(|dir| dir.name.as_str())
    }
}

impl Iterator for Agents {
    type Item = ParsedAgent;

    fn next(&mut self) -> Option<ParsedAgent> {
        let AgentDir { path, name, refused } = self.dirs.next()?;
        let agent = refused.map_or_else(|| agent(&path, &name), |reason| Err(reason.to_owned()));
        Some(match agent {
            Ok(agent) => ParsedAgent::Agent(Box::new(agent)),
            Err(reason) => ParsedAgent::Skipped { id: name, reason },
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.dirs.size_hint()
    }
}

impl ExactSizeIterator for Agents {}

/// The agents in `dir` or in its subdirectory `agents`.
pub fn agents(dir: &Path) -> Result<Agents> {
    let below = dir.join("agents");
    let is_dir = fs::symlink_metadata(&below).is_ok_and(|meta| meta.is_dir());
    // An agent may have the id `agents`.
    let from = if is_dir && !below.join("descriptor.json").exists() { &below } else { dir };
    let mut dirs = Vec::new();
    for entry in fs::read_dir(from).map_err(|e| unreadable(from, &e))? {
        let entry = entry.map_err(|e| unreadable(from, &e))?;
        let kind = entry.file_type().map_err(|e| unreadable(&entry.path(), &e))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') || name.contains(".tmp-") || kind.is_file() {
            continue;
        }
        let is_id = id::check(&name).is_ok() && id::is_possible(&name);
        let refused = match (kind.is_dir(), is_id) {
            (false, _) => Some("is not a directory of its own"),
            (true, false) => Some("the name of the directory can not be an id"),
            (true, true) => None,
        };
        dirs.push(AgentDir { path: entry.path(), name, refused });
    }
    dirs.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Agents { dirs: dirs.into_iter() })
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => Error::not_found("directory", path.display()),
        io::ErrorKind::NotADirectory => Error::invalid(format!("not a directory: {}", path.display()))
            .hint("give the directory in which each agent has one of its own"),
        _ => Error::new(Code::Internal, format!("can not read {}: {error}", path.display())),
    }
}

/// Reads an agent. An error skips it: an agent must not be imported without its history.
fn agent(dir: &Path, id: &str) -> Result<DaycareAgent, String> {
    let descriptor = match read(&dir.join("descriptor.json"))? {
        JsonFile::Object(descriptor) => descriptor,
        JsonFile::Missing => return Err("descriptor.json is missing".to_owned()),
        JsonFile::Corrupt(reason) => return Err(format!("descriptor.json {reason}")),
    };
    let Some(kind) = text(&descriptor, "type") else {
        return Err("descriptor.json has no type".to_owned());
    };
    let mut notes = Vec::new();
    let mut state = match read(&dir.join("state.json"))? {
        JsonFile::Object(state) => state,
        JsonFile::Missing => Map::new(),
        // The lifecycle is unknown, so importing it as active would be a guess.
        JsonFile::Corrupt(reason) => return Err(format!("state.json {reason}; mend it, or remove it for defaults")),
    };
    let ParsedHistory { mut sessions, lines_skipped } = history::read(&dir.join("history.jsonl"), &mut notes)?;
    let files = file_times(dir);
    let first = sessions.iter().find_map(|session| session.at);
    let earliest = files.iter().copied().chain(first).min();
    let updated_at = take_time(&mut state, "updatedAt");
    let created_at = take_time(&mut state, "createdAt").or(earliest.into_iter().chain(updated_at).min());
    let updated_at = updated_at.or(files.into_iter().chain(created_at).max());
    fill_times(&mut sessions, created_at);
    Ok(DaycareAgent {
        id: id.to_owned(),
        kind,
        name: text(&descriptor, "name"),
        parent_id: text(&descriptor, "parentAgentId"),
        descriptor,
        permissions: object(&mut state, "permissions", &mut notes).unwrap_or_default(),
        tokens: object(&mut state, "tokens", &mut notes),
        stats: object(&mut state, "stats", &mut notes).unwrap_or_default(),
        lifecycle: lifecycle(&mut state, &mut notes),
        created_at,
        updated_at,
        inference_session_id: text(&state, "inferenceSessionId")
            .inspect(|_| drop(state.shift_remove("inferenceSessionId"))),
        sessions,
        lines_skipped,
        notes: left_out(notes, &state),
    })
}

/// The modification times of an agent's files.
fn file_times(dir: &Path) -> Vec<Timestamp> {
    ["descriptor.json", "state.json", "history.jsonl"]
        .iter()
        .filter_map(|name| written_at(&fs::symlink_metadata(dir.join(name)).ok()?))
        .collect()
}

fn take_time(state: &mut Map<String, Value>, name: &str) -> Option<Timestamp> {
    let at = state.get(name).and_then(time)?;
    state.shift_remove(name);
    Some(at)
}

/// Gives sessions without a time the end of the previous session.
fn fill_times(sessions: &mut [DaycareSession], created_at: Option<Timestamp>) {
    let mut before = created_at;
    for session in sessions {
        let first = session.entries.iter().find_map(|entry| entry.at);
        session.at = session.at.or(first).or(before);
        let last = session.entries.iter().rev().find_map(|entry| entry.at);
        before = last.or(session.at);
    }
}

/// Adds a note on the other fields of the state. The context is rebuilt from the history.
fn left_out(mut notes: Vec<String>, state: &Map<String, Value>) -> Vec<String> {
    let left: Vec<&str> = state.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name.as_str()).collect();
    if !left.is_empty() {
        notes.push(format!("state.json: no place for {}", left.join(", ")));
    }
    notes
}

fn text(from: &Map<String, Value>, name: &str) -> Option<String> {
    from.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn object(state: &mut Map<String, Value>, name: &str, notes: &mut Vec<String>) -> Option<Map<String, Value>> {
    match state.shift_remove(name) {
        Some(Value::Object(object)) => Some(object),
        None | Some(Value::Null) => None,
        Some(_) => {
            notes.push(format!("{name} in state.json is not an object; the default is used"));
            None
        }
    }
}

/// Reads the lifecycle: newer files have `lifecycle`, older ones `state`, the oldest only `sleeping`. An unknown value
/// counts as sleeping.
fn lifecycle(state: &mut Map<String, Value>, notes: &mut Vec<String>) -> Lifecycle {
    let sleeping = state.get("sleeping").and_then(Value::as_bool);
    if sleeping.is_some() {
        state.shift_remove("sleeping");
    }
    for name in ["lifecycle", "state"] {
        let found = match state.get(name) {
            None | Some(Value::Null) => continue,
            Some(found) => match found.as_str() {
                Some("active") => Some(Lifecycle::Active),
                Some("sleeping") => Some(Lifecycle::Sleeping),
                Some("dead") => Some(Lifecycle::Dead),
                _ => None,
            },
        };
        let given = state.shift_remove(name).unwrap_or_default();
        return found.unwrap_or_else(|| {
            notes.push(format!("{name} in state.json is {given}, which is not known; the agent sleeps"));
            Lifecycle::Sleeping
        });
    }
    if sleeping == Some(true) { Lifecycle::Sleeping } else { Lifecycle::Active }
}
