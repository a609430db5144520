//! Reads agents that are kept as files: `<dir>/<id>/{descriptor.json,state.json,history.jsonl}`.
//!
//! What is read is given as the files say it, one agent at a time; storing it, redacting it and telling sessions apart
//! from those that were imported before are left to the caller.

mod history;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::vec;

use pensa_core::{Code, Error, Result, Timestamp, id};
use serde_json::{Map, Value};

use crate::files::{Content, read, time, written_at};
use history::Sessions;

/// An agent as its files describe it, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    Agent(Box<Agent>),
    Skipped { id: String, reason: String },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    /// The name of its directory.
    pub id: String,
    /// As the descriptor says, known or not.
    pub kind: String,
    pub name: Option<String>,
    pub parent_id: Option<String>,
    /// The whole descriptor, type included.
    pub descriptor: Map<String, Value>,
    pub permissions: Map<String, Value>,
    pub tokens: Option<Map<String, Value>>,
    pub stats: Map<String, Value>,
    pub lifecycle: Lifecycle,
    /// As its state says, else as early as its history and its files.
    pub created_at: Option<Timestamp>,
    /// As its state says, else as late as its files.
    pub updated_at: Option<Timestamp>,
    /// Belongs to the last session.
    pub inference_session_id: Option<String>,
    /// In the order of the file and never empty; the last one is active.
    pub sessions: Vec<Session>,
    /// Lines of the history that were blank, torn or corrupt.
    pub lines_skipped: usize,
    /// What was wrong with the files and had to be left out.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lifecycle {
    #[default]
    Active,
    Sleeping,
    Dead,
}

/// One stretch of a history, from one marker to the next.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    pub opened_by: OpenedBy,
    /// When its marker says, else the first of its entries that has a time, else as late as what stands before it: the
    /// session before, or the agent.
    pub at: Option<Timestamp>,
    /// As the marker says it. After a compaction that is the fixed text `Session context compacted.`; the summary is
    /// the first entry, where the file has it.
    pub reset_message: Option<String>,
    pub entries: Vec<Entry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenedBy {
    Start,
    Reset,
    /// A reset with the text of a compaction, and behind it a user's message of the same time.
    Compaction,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Known or not.
    pub kind: String,
    pub at: Option<Timestamp>,
    /// The record without its type and time. A time that is none stays here.
    pub data: Map<String, Value>,
}

/// The agents of a directory, in the order of their ids. Each is read when it is asked for.
#[derive(Debug)]
pub struct Agents {
    left: vec::IntoIter<Place>,
}

#[derive(Debug)]
struct Place {
    path: PathBuf,
    name: String,
    /// Why no agent can be here, if that is plain to see.
    refused: Option<&'static str>,
}

impl Agents {
    /// The ids of those that are still to be read.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.left.as_slice().iter().filter(|place| place.refused.is_none()).map(|place| place.name.as_str())
    }
}

impl Iterator for Agents {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        let Place { path, name, refused } = self.left.next()?;
        let found = refused.map_or_else(|| agent(&path, &name), |reason| Err(reason.to_owned()));
        Some(match found {
            Ok(agent) => Found::Agent(Box::new(agent)),
            Err(reason) => Found::Skipped { id: name, reason },
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl ExactSizeIterator for Agents {}

/// The agents in `dir`, which is the directory of the agents or the one above it.
pub fn agents(dir: &Path) -> Result<Agents> {
    let below = dir.join("agents");
    let is_dir = fs::symlink_metadata(&below).is_ok_and(|found| found.is_dir());
    // An agent may be called agents.
    let from = if is_dir && !below.join("descriptor.json").exists() { &below } else { dir };
    let mut found = Vec::new();
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
        found.push(Place { path: entry.path(), name, refused });
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Agents { left: found.into_iter() })
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => Error::not_found("directory", path.display()),
        io::ErrorKind::NotADirectory => Error::invalid(format!("not a directory: {}", path.display()))
            .hint("give the directory in which each agent has one of its own"),
        _ => Error::new(Code::Internal, format!("can not read {}: {error}", path.display())),
    }
}

/// Reads one agent. What fails here skips it: an agent without its history must not be taken for the whole.
fn agent(dir: &Path, id: &str) -> Result<Agent, String> {
    let descriptor = match read(&dir.join("descriptor.json"))? {
        Content::Object(descriptor) => descriptor,
        Content::Missing => return Err("descriptor.json is missing".to_owned()),
        Content::Corrupt(reason) => return Err(format!("descriptor.json {reason}")),
    };
    let Some(kind) = text(&descriptor, "type") else {
        return Err("descriptor.json has no type".to_owned());
    };
    let mut notes = Vec::new();
    let mut state = match read(&dir.join("state.json"))? {
        Content::Object(state) => state,
        Content::Missing => Map::new(),
        // Nobody can say whether it lives, so it is not imported as if it did.
        Content::Corrupt(reason) => return Err(format!("state.json {reason}; mend it, or remove it for defaults")),
    };
    let Sessions { mut sessions, lines_skipped } = history::read(&dir.join("history.jsonl"), &mut notes)?;
    let files = file_times(dir);
    let first = sessions.iter().find_map(|session| session.at);
    let earliest = files.iter().copied().chain(first).min();
    let updated_at = take_time(&mut state, "updatedAt");
    let created_at = take_time(&mut state, "createdAt").or(earliest.into_iter().chain(updated_at).min());
    let updated_at = updated_at.or(files.into_iter().chain(created_at).max());
    date(&mut sessions, created_at);
    Ok(Agent {
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

/// When the files of an agent were written.
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

/// Gives sessions without a time that of what stands before them.
fn date(sessions: &mut [Session], created_at: Option<Timestamp>) {
    let mut before = created_at;
    for session in sessions {
        let first = session.entries.iter().find_map(|entry| entry.at);
        session.at = session.at.or(first).or(before);
        let last = session.entries.iter().rev().find_map(|entry| entry.at);
        before = last.or(session.at);
    }
}

/// Names what else the state has. The context is rebuilt from the history.
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

/// The newest files have `lifecycle`, those before `state`, the oldest only whether the agent sleeps. An agent whose word
/// is not known sleeps.
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
