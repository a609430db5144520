//! Reads a project of prjct: `prjct.db` and the JSON files below `~/.prjct-cli/projects/<id>`, both in their documented
//! form and in the form that the tool wrote.
//!
//! Nothing is dropped silently: fields without an equivalent stay with their record, documents without one are imported
//! whole, and what cannot be read is reported. The files are never changed.

mod fields;
mod lines;
mod releases;
mod tables;
mod tasks;
mod walk;

use std::fs;
use std::io::Read;
use std::path::Path;

use pensa_core::ops::import::{ImportDocument, ImportItem, ImportSkills};
use pensa_core::session::object;
use pensa_core::{Error, Result, Timestamp, json, skill};
use serde::Serialize;
use serde_json::Value;

use crate::daycare::DaycareAgent;
use crate::files;
use fields::JsonFields;
use tasks::IssueSet;
use walk::{HINT, Role};

/// Size limit of a document.
const MAX_BYTES: u64 = 64 << 20;
/// Longer documents are stored in parts of this size.
const PART_BYTES: usize = 512 << 10;
/// Limit on the problems reported for one file; the others are counted.
const MAX_REPORTED: usize = 100;

/// The kind of a record, as reports count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
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

/// A record, and where it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedRecord {
    pub kind: RecordKind,
    pub file: String,
    pub line: Option<usize>,
    pub record: ImportItem,
}

impl ParsedRecord {
    /// Whether some of its fields have no equivalent in Pensa.
    pub fn has_extra_fields(&self) -> bool {
        match &self.record {
            ImportItem::Issue(issue) => issue.origin.holds_more(),
            ImportItem::Release(release) => release.origin.holds_more(),
            ImportItem::Learning(learning) => learning.origin.holds_more(),
            ImportItem::Comment(comment) => comment.origin.holds_more(),
            ImportItem::Event(_) | ImportItem::Skills(_) | ImportItem::Document(_) => false,
        }
    }
}

/// Something that was not read, and why.
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

/// The content of a project.
#[derive(Debug)]
pub struct PrjctProject {
    /// The scope in which its documents are stored.
    pub scope: String,
    /// The records. A record that refers to another comes after it.
    pub records: Vec<ParsedRecord>,
    /// What could not be read.
    pub not_understood: Vec<Problem>,
    /// What is not imported on purpose.
    pub left_out: Vec<Problem>,
    /// How many records were skipped, including those not reported one by one.
    pub skipped: usize,
    /// The agent that gets the sessions of the database.
    pub agent: Option<Box<DaycareAgent>>,
}

/// An entry of a list, with its description for reports.
type ListEntry = (String, Value);

/// Reads a project.
#[derive(Debug)]
struct ProjectReader {
    scope: String,
    issues: IssueSet,
    records: Vec<ParsedRecord>,
    problems: Vec<Problem>,
    left_out: Vec<Problem>,
    /// The number of problems in the current file.
    reported: usize,
    skipped: usize,
    agent: Option<Box<DaycareAgent>>,
}

/// Reads the directory of a project.
pub fn read(dir: &Path) -> Result<PrjctProject> {
    let listing = walk::listing(dir)?;
    let mut files: Vec<(Role, String, &Path)> =
        listing.files.iter().map(|(name, path)| (walk::role(name), name.clone(), path.as_path())).collect();
    files.sort();
    if !files.iter().any(|(role, ..)| *role <= Role::Lines) {
        return Err(Error::invalid(format!("{} has none of the files of prjct", dir.display())).hint(HINT));
    }
    let mut reading = ProjectReader {
        scope: scope(&name_of(dir)),
        issues: IssueSet::default(),
        records: Vec::new(),
        problems: listing.problems,
        left_out: Vec::new(),
        reported: 0,
        skipped: 0,
        agent: None,
    };
    for (role, name, path) in files {
        reading.reported = 0;
        reading.file(role, &name, path);
        if reading.reported > MAX_REPORTED {
            let more = reading.reported - MAX_REPORTED;
            reading.problems.push(Problem::of(&name, format!("and {more} more lines or entries of it")));
        }
    }
    Ok(reading.finish())
}

fn name_of(dir: &Path) -> String {
    let whole = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    whole.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The kv scope for a project id.
fn scope(id: &str) -> String {
    let plain = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c) { c } else { '-' };
    let id: String = id.to_ascii_lowercase().chars().map(plain).take(100).collect();
    if id.is_empty() { "prjct".to_owned() } else { format!("prjct:{id}") }
}

impl ProjectReader {
    fn finish(self) -> PrjctProject {
        let Self { scope, issues, mut records, problems, left_out, skipped, agent, .. } = self;
        let issues = issues.issues.into_iter().map(|(kind, issue)| ParsedRecord {
            kind,
            file: issue.origin.file.clone(),
            line: None,
            record: ImportItem::Issue(Box::new(issue)),
        });
        records.splice(0..0, issues);
        PrjctProject { scope, records, not_understood: problems, left_out, skipped, agent }
    }

    fn add_problem(&mut self, file: &str, line: Option<usize>, reason: impl Into<String>) {
        self.reported += 1;
        self.skipped += 1;
        if self.reported <= MAX_REPORTED {
            self.problems.push(Problem { file: file.to_owned(), line, reason: reason.into() });
        }
    }

    fn add_record(&mut self, kind: RecordKind, file: &str, line: Option<usize>, record: ImportItem) {
        self.records.push(ParsedRecord { kind, file: file.to_owned(), line, record });
    }

    fn file(&mut self, role: Role, name: &str, path: &Path) {
        match role {
            Role::Learnings => self.learnings(name, path),
            Role::Events => self.events(name, path),
            Role::Lines => self.lines(name, path),
            Role::Database => self.database(name, path),
            Role::DatabaseLog => {}
            Role::LeftOut(reason) => self.left_out.push(Problem::of(name, reason)),
            Role::Unknown => self.add_problem(name, None, "is none of the files that are known"),
            _ => self.json_file(role, name, path),
        }
    }

    fn json_file(&mut self, role: Role, name: &str, path: &Path) {
        let (text, value, written_at) = match content(path) {
            Ok(content) => content,
            Err(reason) => return self.add_problem(name, None, reason),
        };
        match (role, value) {
            (Role::State, Value::Object(document)) => self.state(name, document),
            (Role::State, _) => self.add_problem(name, None, "is not an object"),
            (Role::Queue, value) => self.queue(name, value, written_at),
            (Role::Ideas, value) => self.ideas(name, value, written_at),
            (Role::Shipped, value) => self.shipped(name, value, written_at),
            (Role::Skills, value) => self.skills(name, &text, &value),
            (Role::Pending, value) => {
                let events = if value.is_array() { Some(&value) } else { value.get("events") };
                match events {
                    Some(Value::Array(_)) => self.add_document(name, text),
                    _ => self.add_problem(name, None, "has no list of events"),
                }
            }
            (Role::Project, value) => {
                let id = ["projectId", "id"].into_iter().find_map(|field| value.get(field)?.as_str());
                self.scope = id.filter(|id| !id.trim().is_empty()).map_or_else(|| self.scope.clone(), scope);
                self.add_document(name, text);
            }
            _ => self.add_document(name, text),
        }
    }

    /// Checks a record of a file. Returns it twice: to keep, and to take fields from. `None` after reporting a problem.
    fn record(
        &mut self,
        file: &str,
        line: Option<usize>,
        what: &str,
        value: Value,
    ) -> Option<(JsonFields, JsonFields)> {
        let Value::Object(fields) = value else {
            self.add_problem(file, line, format!("{what} is not an object"));
            return None;
        };
        let what = if what.is_empty() { "the object" } else { what };
        // Half of the limit, because the original record is stored along with the fields taken from it.
        if let Err(error) = object::check(what, &fields, object::OBJECT_BYTES / 2) {
            self.add_problem(file, line, error.message);
            return None;
        }
        Some((fields.clone(), fields))
    }

    /// The entries of a list, which is the document or a field of it, and when the document was written. Other fields
    /// are stored as a document.
    fn list_entries(
        &mut self,
        file: &str,
        document: Value,
        names: &[&str],
        written_at: Option<Timestamp>,
    ) -> Option<(Vec<ListEntry>, Option<Timestamp>)> {
        let named = |list: Vec<Value>| {
            list.into_iter().enumerate().map(|(at, entry)| (format!("entry {}", at + 1), entry)).collect()
        };
        let mut document = match document {
            Value::Array(list) => return Some((named(list), written_at)),
            Value::Object(document) => document,
            _ => {
                self.add_problem(file, None, "is neither a list nor an object");
                return None;
            }
        };
        let updated = ["lastUpdated", "updatedAt"].into_iter().find_map(|name| files::time(document.get(name)?));
        let mut all = Vec::new();
        for name in names {
            match document.get_mut(*name).map(Value::take) {
                None | Some(Value::Null) => {}
                Some(Value::Array(list)) => all.extend(list),
                Some(_) => self.add_problem(file, None, format!("{name} is not a list")),
            }
            document.shift_remove(*name);
        }
        self.leftover(file, document);
        Some((named(all), updated.or(written_at)))
    }

    /// Stores the other fields of a document, except the time at which it was written.
    fn leftover(&mut self, file: &str, mut document: JsonFields) {
        document.retain(|name, value| !["lastUpdated", "updatedAt"].contains(&name.as_str()) && !value.is_null());
        if !document.is_empty() {
            match json::to_document(&document) {
                Ok(text) => self.add_document(file, text),
                Err(error) => self.add_problem(file, None, error.message),
            }
        }
    }

    fn skills(&mut self, file: &str, text: &str, value: &Value) {
        match skill::parse(text) {
            Ok(mappings) => {
                for (name, skills) in mappings {
                    self.add_record(RecordKind::Skills, file, None, ImportItem::Skills(ImportSkills { name, skills }));
                }
                // The documented form can have further fields.
                let has_more = |(name, value): (&String, &Value)| {
                    !["mappings", "updatedAt"].contains(&name.as_str()) && !value.is_null()
                };
                if value.as_object().is_some_and(|document| document.iter().any(has_more)) {
                    self.add_document(file, text.to_owned());
                }
            }
            Err(error) => self.add_problem(file, None, error.message),
        }
    }

    /// Adds a document. A long one is split, at line ends if possible.
    fn add_document(&mut self, file: &str, text: String) {
        let mut rest = text.as_str();
        let mut number = 1;
        while !rest.is_empty() {
            let (part, after) = rest.split_at(part_len(rest));
            let key = if number == 1 { file.to_owned() } else { format!("{file}#{number}") };
            let document = ImportDocument { scope: self.scope.clone(), key, text: part.to_owned() };
            self.add_record(RecordKind::Documents, file, None, ImportItem::Document(document));
            rest = after;
            number += 1;
        }
    }
}

/// The length of the first part of a text.
fn part_len(text: &str) -> usize {
    if text.len() <= PART_BYTES {
        return text.len();
    }
    let end = text.floor_char_boundary(PART_BYTES);
    match text[..end].rfind('\n') {
        Some(at) => at + 1,
        None => end,
    }
}

/// Reads a JSON file: its text, its value, and when it was written.
fn content(path: &Path) -> std::result::Result<(String, Value, Option<Timestamp>), String> {
    let Some(mut file) = files::open(path)? else { return Err("is gone".to_owned()) };
    let meta = file.metadata().ok();
    let mut bytes = Vec::new();
    (&mut file).take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| format!("can not be read: {error}"))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("has more than {MAX_BYTES} bytes"));
    }
    let bytes = files::without_bom(&bytes);
    let value = files::object(bytes).map_err(|error| format!("is not JSON ({error})"))?;
    let text = str::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())?.to_owned();
    Ok((text, value, meta.as_ref().and_then(files::written_at)))
}
