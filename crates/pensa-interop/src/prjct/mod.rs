//! Reads a project of prjct: `prjct.db` and the JSON files below `~/.prjct-cli/projects/<id>`, in the form that is
//! documented for them and in the one that the tool wrote.
//!
//! Nothing is left out without a word: a field that has no place here stays with its record, a document that has none is
//! given whole, and what can't be read is named. Files are only read, never changed or deleted. Storing is left to the
//! caller.

mod database;
mod fields;
mod lines;
mod releases;
mod tables;
mod tasks;
mod walk;

use std::fs;
use std::io::Read;
use std::path::Path;

use pensa_core::ops::import::{Given, GivenDocument, GivenSkills};
use pensa_core::session::object;
use pensa_core::{Error, Result, Timestamp, json, skill};
use serde::Serialize;
use serde_json::Value;

use crate::daycare::Agent;
use crate::files;
use fields::Fields;
use tasks::Shelf;
use walk::{HINT, Role};

/// Largest document that is read.
const LARGEST: u64 = 64 << 20;
/// So much of a document is kept under one name.
const PART_BYTES: usize = 512 << 10;
/// So many problems are told of one file; the others are counted.
const MAX_TOLD: usize = 100;

/// What kind of thing a record is, as a report counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Tasks,
    Queue,
    Ideas,
    Releases,
    Learnings,
    Events,
    Skills,
    Documents,
    Comments,
}

/// Something that was read, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub kind: Kind,
    pub file: String,
    pub line: Option<usize>,
    pub record: Given,
}

impl Found {
    /// Whether a part of it has no place of its own.
    pub fn holds_more(&self) -> bool {
        match &self.record {
            Given::Issue(issue) => issue.origin.holds_more(),
            Given::Release(release) => release.origin.holds_more(),
            Given::Learning(learning) => learning.origin.holds_more(),
            Given::Comment(comment) => comment.origin.holds_more(),
            Given::Event(_) | Given::Skills(_) | Given::Document(_) => false,
        }
    }
}

/// What was not read, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    pub reason: String,
}

impl Problem {
    pub(crate) fn of(file: &str, reason: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, reason: reason.into() }
    }
}

/// A project.
#[derive(Debug)]
pub struct Project {
    /// The scope in which its documents are kept.
    pub scope: String,
    /// What was read; what names something comes after it.
    pub found: Vec<Found>,
    /// What could not be read.
    pub not_understood: Vec<Problem>,
    /// What there is no need to read, or no way.
    pub left_out: Vec<Problem>,
    /// How many records were skipped, those too that are not named one by one.
    pub skipped: usize,
    /// The agent whose sessions the database has.
    pub agent: Option<Box<Agent>>,
}

/// One of a list, with what to call it.
type Entry = (String, Value);

/// A project that is being read.
#[derive(Debug)]
struct Reading {
    scope: String,
    shelf: Shelf,
    found: Vec<Found>,
    problems: Vec<Problem>,
    left_out: Vec<Problem>,
    /// How many problems the file at hand has.
    told: usize,
    skipped: usize,
    agent: Option<Box<Agent>>,
}

/// Reads the directory of a project.
pub fn read(dir: &Path) -> Result<Project> {
    let listing = walk::listing(dir)?;
    let mut files: Vec<(Role, String, &Path)> =
        listing.files.iter().map(|(name, path)| (walk::role(name), name.clone(), path.as_path())).collect();
    files.sort();
    if !files.iter().any(|(role, ..)| *role <= Role::Lines) {
        return Err(Error::invalid(format!("{} has none of the files of prjct", dir.display())).hint(HINT));
    }
    let mut reading = Reading {
        scope: scope(&name_of(dir)),
        shelf: Shelf::default(),
        found: Vec::new(),
        problems: listing.problems,
        left_out: Vec::new(),
        told: 0,
        skipped: 0,
        agent: None,
    };
    for (role, name, path) in files {
        reading.told = 0;
        reading.file(role, &name, path);
        if reading.told > MAX_TOLD {
            let more = reading.told - MAX_TOLD;
            reading.problems.push(Problem::of(&name, format!("and {more} more lines or entries of it")));
        }
    }
    Ok(reading.end())
}

fn name_of(dir: &Path) -> String {
    let whole = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    whole.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A scope of kv for a project, by its id.
fn scope(id: &str) -> String {
    let plain = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c) { c } else { '-' };
    let id: String = id.to_ascii_lowercase().chars().map(plain).take(100).collect();
    if id.is_empty() { "prjct".to_owned() } else { format!("prjct:{id}") }
}

impl Reading {
    fn end(self) -> Project {
        let Self { scope, shelf, mut found, problems, left_out, skipped, agent, .. } = self;
        let issues = shelf.issues.into_iter().map(|(kind, issue)| Found {
            kind,
            file: issue.origin.file.clone(),
            line: None,
            record: Given::Issue(Box::new(issue)),
        });
        found.splice(0..0, issues);
        Project { scope, found, not_understood: problems, left_out, skipped, agent }
    }

    fn problem(&mut self, file: &str, line: Option<usize>, reason: impl Into<String>) {
        self.told += 1;
        self.skipped += 1;
        if self.told <= MAX_TOLD {
            self.problems.push(Problem { file: file.to_owned(), line, reason: reason.into() });
        }
    }

    fn found(&mut self, kind: Kind, file: &str, line: Option<usize>, record: Given) {
        self.found.push(Found { kind, file: file.to_owned(), line, record });
    }

    fn file(&mut self, role: Role, name: &str, path: &Path) {
        match role {
            Role::Learnings => self.learnings(name, path),
            Role::Events => self.events(name, path),
            Role::Lines => self.lines(name, path),
            Role::Database => self.database(name, path),
            Role::DatabaseLog => {}
            Role::LeftOut(reason) => self.left_out.push(Problem::of(name, reason)),
            Role::Unknown => self.problem(name, None, "is none of the files that are known"),
            _ => self.json_file(role, name, path),
        }
    }

    fn json_file(&mut self, role: Role, name: &str, path: &Path) {
        let (text, value, written_at) = match content(path) {
            Ok(content) => content,
            Err(reason) => return self.problem(name, None, reason),
        };
        match (role, value) {
            (Role::State, Value::Object(document)) => self.state(name, document),
            (Role::State, _) => self.problem(name, None, "is not an object"),
            (Role::Queue, value) => self.queue(name, value, written_at),
            (Role::Ideas, value) => self.ideas(name, value, written_at),
            (Role::Shipped, value) => self.shipped(name, value, written_at),
            (Role::Skills, value) => self.skills(name, &text, &value),
            (Role::Pending, value) => {
                let events = if value.is_array() { Some(&value) } else { value.get("events") };
                match events {
                    Some(Value::Array(_)) => self.document(name, text),
                    _ => self.problem(name, None, "has no list of events"),
                }
            }
            (Role::Project, value) => {
                let id = ["projectId", "id"].into_iter().find_map(|field| value.get(field)?.as_str());
                self.scope = id.filter(|id| !id.trim().is_empty()).map_or_else(|| self.scope.clone(), scope);
                self.document(name, text);
            }
            _ => self.document(name, text),
        }
    }

    /// One of the records of a file, as it is and to be taken apart; if it is none, that is told.
    fn record(&mut self, file: &str, line: Option<usize>, what: &str, value: Value) -> Option<(Fields, Fields)> {
        let Value::Object(fields) = value else {
            self.problem(file, line, format!("{what} is not an object"));
            return None;
        };
        let what = if what.is_empty() { "the object" } else { what };
        // Half of what may be stored: a record is kept with what was made of it.
        if let Err(error) = object::check(what, &fields, object::OBJECT_BYTES / 2) {
            self.problem(file, line, error.message);
            return None;
        }
        Some((fields.clone(), fields))
    }

    /// The entries of a list, which is the whole document or stands in it, each with what to call it, and when the
    /// document was written.
    fn listed(
        &mut self,
        file: &str,
        document: Value,
        names: &[&str],
        written_at: Option<Timestamp>,
    ) -> Option<(Vec<Entry>, Option<Timestamp>)> {
        let named = |list: Vec<Value>| {
            list.into_iter().enumerate().map(|(at, entry)| (format!("entry {}", at + 1), entry)).collect()
        };
        let mut document = match document {
            Value::Array(list) => return Some((named(list), written_at)),
            Value::Object(document) => document,
            _ => {
                self.problem(file, None, "is neither a list nor an object");
                return None;
            }
        };
        let said = ["lastUpdated", "updatedAt"].into_iter().find_map(|name| files::time(document.get(name)?));
        let mut all = Vec::new();
        for name in names {
            match document.get_mut(*name).map(Value::take) {
                None | Some(Value::Null) => {}
                Some(Value::Array(list)) => all.extend(list),
                Some(_) => self.problem(file, None, format!("{name} is not a list")),
            }
            document.shift_remove(*name);
        }
        self.leftover(file, document);
        Some((named(all), said.or(written_at)))
    }

    /// What else stands in a document, but for the time at which it was written.
    fn leftover(&mut self, file: &str, mut document: Fields) {
        document.retain(|name, value| !["lastUpdated", "updatedAt"].contains(&name.as_str()) && !value.is_null());
        if !document.is_empty() {
            match json::to_document(&document) {
                Ok(text) => self.document(file, text),
                Err(error) => self.problem(file, None, error.message),
            }
        }
    }

    fn skills(&mut self, file: &str, text: &str, value: &Value) {
        match skill::parse(text) {
            Ok(mappings) => {
                for (name, skills) in mappings {
                    self.found(Kind::Skills, file, None, Given::Skills(GivenSkills { name, skills }));
                }
                // The other form says more than which skills a name calls for.
                let says_more = |(name, value): (&String, &Value)| {
                    !["mappings", "updatedAt"].contains(&name.as_str()) && !value.is_null()
                };
                if value.as_object().is_some_and(|document| document.iter().any(says_more)) {
                    self.document(file, text.to_owned());
                }
            }
            Err(error) => self.problem(file, None, error.message),
        }
    }

    /// A document that is kept whole; a long one in parts, which end where lines do if they can.
    fn document(&mut self, file: &str, text: String) {
        let mut rest = text.as_str();
        let mut number = 1;
        while !rest.is_empty() {
            let (part, after) = rest.split_at(part_of(rest));
            let key = if number == 1 { file.to_owned() } else { format!("{file}#{number}") };
            let document = GivenDocument { scope: self.scope.clone(), key, text: part.to_owned() };
            self.found(Kind::Documents, file, None, Given::Document(document));
            rest = after;
            number += 1;
        }
    }
}

/// How much of a text goes under one name.
fn part_of(text: &str) -> usize {
    if text.len() <= PART_BYTES {
        return text.len();
    }
    let end = text.floor_char_boundary(PART_BYTES);
    match text[..end].rfind('\n') {
        Some(at) => at + 1,
        None => end,
    }
}

/// A JSON file: its text, what it says, and when it was written.
fn content(path: &Path) -> std::result::Result<(String, Value, Option<Timestamp>), String> {
    let Some(mut file) = files::open(path)? else { return Err("is gone".to_owned()) };
    let meta = file.metadata().ok();
    let mut bytes = Vec::new();
    (&mut file).take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| format!("can not be read: {error}"))?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("has more than {LARGEST} bytes"));
    }
    let bytes = files::without_mark(&bytes);
    let value = files::object(bytes).map_err(|error| format!("is not JSON ({error})"))?;
    let text = str::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())?.to_owned();
    Ok((text, value, meta.as_ref().and_then(files::written_at)))
}
