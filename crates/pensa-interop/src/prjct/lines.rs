//! Reads JSONL files: learnings, events, and others that are stored as documents.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use pensa_core::id::IssueId;
use pensa_core::json;
use pensa_core::learning::{Impact, Kind as LearningKind, MAX_WORDS, WorkValue};
use pensa_core::ops::import::{ImportEvent, ImportItem, ImportLearning};
use serde_json::{Value, json};

use super::fields::{self, JsonFields};
use super::tasks::origin;
use super::{ProjectReader, RecordKind};
use crate::files::{object, open, without_bom};

/// Limit on the length of a line.
const MAX_LINE: u64 = 1 << 20;

/// The names of the lists of learnings, with their singular forms.
const LISTS: [(&str, LearningKind); 8] = [
    ("patterns", LearningKind::Pattern),
    ("approaches", LearningKind::Approach),
    ("decisions", LearningKind::Decision),
    ("gotchas", LearningKind::Gotcha),
    ("pattern", LearningKind::Pattern),
    ("approach", LearningKind::Approach),
    ("decision", LearningKind::Decision),
    ("gotcha", LearningKind::Gotcha),
];

impl ProjectReader {
    /// Calls `each` with number, text and object of every valid line. Reports the others.
    fn each_line(&mut self, file: &str, path: &Path, mut each: impl FnMut(&mut Self, usize, &str, JsonFields)) {
        let mut from = match open(path) {
            Ok(Some(opened)) => BufReader::with_capacity(1 << 16, opened),
            Ok(None) => return,
            Err(reason) => return self.add_problem(file, None, reason),
        };
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            match from.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) => return self.add_problem(file, Some(number), format!("can not be read: {error}")),
            }
            if line.len() as u64 == MAX_LINE && !line.ends_with(b"\n") {
                self.add_problem(file, Some(number), format!("has more than {MAX_LINE} bytes"));
                if let Err(error) = from.skip_until(b'\n') {
                    return self.add_problem(file, Some(number), format!("can not be read: {error}"));
                }
                continue;
            }
            let bytes = if number == 1 { without_bom(&line) } else { &line };
            let bytes = bytes.trim_ascii();
            if bytes.is_empty() {
                continue;
            }
            match (str::from_utf8(bytes), object(bytes)) {
                (Ok(text), Ok(Value::Object(object))) => each(self, number, text, object),
                (Ok(_), Ok(_)) => self.add_problem(file, Some(number), "is not an object"),
                (_, Err(error)) => self.add_problem(file, Some(number), format!("is not JSON ({error})")),
                (Err(_), _) => self.add_problem(file, Some(number), "is not UTF-8"),
            }
        }
    }

    /// Stores lines unchanged.
    pub(super) fn lines(&mut self, file: &str, path: &Path) {
        let mut lines = String::new();
        self.each_line(file, path, |_, _, text, _| {
            lines.push_str(text);
            lines.push('\n');
        });
        self.add_document(file, lines);
    }

    pub(super) fn learnings(&mut self, file: &str, path: &Path) {
        let mut others = String::new();
        self.each_line(file, path, |this, number, text, object| {
            if !this.learning(file, number, object) {
                others.push_str(text);
                others.push('\n');
            }
        });
        self.add_document(file, others);
    }

    /// Adds the learnings of a record. Returns false if it has none, without a report.
    fn learning(&mut self, file: &str, number: usize, object: JsonFields) -> bool {
        let Some((raw, fields)) = self.record(file, Some(number), "", Value::Object(object)) else { return true };
        let found = learnings(file, &raw, fields);
        let is_any = !found.is_empty();
        for learning in found {
            self.add_record(RecordKind::Learnings, file, Some(number), ImportItem::Learning(learning));
        }
        is_any
    }

    /// Reads learnings from rows of a table.
    pub(super) fn learning_rows(&mut self, file: &str, rows: Vec<JsonFields>) {
        let mut others = String::new();
        for (at, row) in rows.into_iter().enumerate() {
            let line = json::to_line(&row).unwrap_or_default();
            if !self.learning(file, at + 1, row) {
                others.extend([line.as_str(), "\n"]);
            }
        }
        self.add_document(file, others);
    }

    /// Reads events. Events of imported tasks go to the log, the others are stored unchanged.
    pub(super) fn events(&mut self, file: &str, path: &Path) {
        let mut others = String::new();
        let mut seen: HashMap<u64, u32> = HashMap::new();
        self.each_line(file, path, |this, number, text, object| {
            if !this.event(file, number, object, &mut seen) {
                others.push_str(text);
                others.push('\n');
            }
        });
        self.add_document(file, others);
    }

    /// Reads events from rows of a table.
    pub(super) fn event_rows(&mut self, file: &str, rows: Vec<JsonFields>) {
        let (mut others, mut seen) = (String::new(), HashMap::new());
        for (at, row) in rows.into_iter().enumerate() {
            let line = json::to_line(&row).unwrap_or_default();
            if !self.event(file, at + 1, row, &mut seen) {
                others.extend([line.as_str(), "\n"]);
            }
        }
        self.add_document(file, others);
    }

    /// Adds an event of an imported task. Returns false if it is none, without a report.
    fn event(&mut self, file: &str, number: usize, object: JsonFields, seen: &mut HashMap<u64, u32>) -> bool {
        let Some((data, _)) = self.record(file, Some(number), "", Value::Object(object)) else { return true };
        let Some(issue_id) = task_of(&data).filter(|id| self.issues.contains(id)) else { return false };
        let times = seen.entry(fields::hash(&data)).or_default();
        let event = ImportEvent { issue_id, again: *times, data };
        *times += 1;
        self.add_record(RecordKind::Events, file, Some(number), ImportItem::Event(event));
        true
    }
}

/// The id of the task that an event refers to, at any known place.
fn task_of(event: &JsonFields) -> Option<IssueId> {
    let nested = event.get("data").and_then(Value::as_object);
    let objects = [Some(event), nested].into_iter().flatten();
    let id = |object: &JsonFields| {
        let named = ["taskId", "task_id"].into_iter().find_map(|name| fields::id_text(object.get(name)?));
        named.or_else(|| fields::id_text(object.get("task")?.get("id")?))
    };
    objects.filter_map(id).find_map(|id| id.parse().ok())
}

/// The learnings of a line, one for each text.
fn learnings(file: &str, raw: &JsonFields, mut rest: JsonFields) -> Vec<ImportLearning> {
    let texts = kinds_and_texts(&mut rest);
    let (tags, files) = (tags(&mut rest), paths(&mut rest));
    let (value, impact) = worth(&mut rest);
    let task = ["taskId", "task_id"].into_iter().find_map(|name| {
        let id = fields::id_text(rest.get(name)?)?;
        rest.shift_remove(name);
        Some(id)
    });
    let [name, supersedes] = ["id", "supersedes"].map(|name| rest.get(name).and_then(fields::id_text));
    let linear_id = fields::line(&mut rest, &["linearId", "linear_id"]);
    let at = fields::time(&mut rest, &["timestamp", "ts"]);
    let origin = origin(file, raw, rest);
    let each = |(kind, text)| ImportLearning {
        kind,
        text,
        tags: tags.clone(),
        files: files.clone(),
        impact: impact.unwrap_or_default(),
        value: value.clone(),
        linear_id: linear_id.clone(),
        task: task.clone(),
        at,
        name: name.clone(),
        supersedes: supersedes.clone(),
        origin: origin.clone(),
    };
    texts.into_iter().map(each).collect()
}

/// Takes the texts with their kinds: from lists in `learnings`, from lists in the record itself, or without a kind.
fn kinds_and_texts(rest: &mut JsonFields) -> Vec<(LearningKind, String)> {
    let mut learnings = Vec::new();
    let mut lists = |from: &mut JsonFields| {
        for (name, kind) in LISTS {
            learnings.extend(fields::texts(from, &[name]).into_iter().map(|text| (kind, text)));
        }
    };
    match rest.shift_remove("learnings") {
        Some(Value::Object(mut by_kind)) => {
            lists(&mut by_kind);
            by_kind.retain(|_, value| !value.is_null() && *value != json!([]));
            if !by_kind.is_empty() {
                rest.insert("learnings".to_owned(), Value::Object(by_kind));
            }
        }
        Some(other) => drop(rest.insert("learnings".to_owned(), other)),
        None => {}
    }
    lists(rest);
    let plain = fields::texts(rest, &["learnings", "learning", "insight", "content"]);
    learnings.extend(plain.into_iter().map(|text| (LearningKind::Pattern, text)));
    learnings
}

/// Takes tags, which must be single words. If any is changed, the original list stays.
fn tags(rest: &mut JsonFields) -> Vec<String> {
    words(rest, &["tags"], |tag| tag.split_whitespace().collect::<Vec<_>>().join("-"))
}

fn paths(rest: &mut JsonFields) -> Vec<String> {
    words(rest, &["filesChanged", "files_changed", "files"], |path| path.trim().to_owned())
}

fn words(rest: &mut JsonFields, names: &[&str], form: impl Fn(&str) -> String) -> Vec<String> {
    let name = names.iter().find(|name| rest.contains_key(**name));
    let before = name.and_then(|name| rest.get(*name)).cloned();
    let given = fields::texts(rest, names);
    let mut words: Vec<String> = given.iter().map(|word| fields::first_line(&form(word))).collect();
    words.truncate(MAX_WORDS);
    if let (true, Some(name), Some(before)) = (words != given, name, before) {
        rest.insert((*name).to_owned(), before);
    }
    words
}

/// Takes the value of the work. Unknown fields of it stay.
fn worth(rest: &mut JsonFields) -> (Option<WorkValue>, Option<Impact>) {
    let Some(Value::Object(mut value)) = rest.get("value").cloned() else { return (None, None) };
    let worth = WorkValue {
        kind: fields::line(&mut value, &["type"]),
        description: fields::text(&mut value, &["description"]),
    };
    let impact = value.get("impact").and_then(Value::as_str).and_then(|word| word.parse().ok());
    if impact.is_some() {
        value.shift_remove("impact");
    }
    value.retain(|_, value| !value.is_null());
    if value.is_empty() {
        rest.shift_remove("value");
    } else {
        rest.insert("value".to_owned(), Value::Object(value));
    }
    ((worth != WorkValue::default()).then_some(worth), impact)
}
