//! Files of one object a line: what was learned, what happened, and others that are kept as they are.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use pensa_core::id::IssueId;
use pensa_core::json;
use pensa_core::learning::{Impact, Kind as LearningKind, MAX_WORDS, Worth};
use pensa_core::ops::import::{Given, GivenEvent, GivenLearning};
use serde_json::{Value, json};

use super::fields::{self, Fields};
use super::tasks::origin;
use super::{Kind, Reading};
use crate::files::{object, open, without_mark};

/// Longest line that is read: what could not be kept under one name anyway.
const LONGEST: u64 = 1 << 20;

/// The names of the lists, and of what else a tool may have called them.
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

impl Reading {
    /// Calls `each` with every line that is whole: its number, its text and its object. The others are told.
    fn each_line(&mut self, file: &str, path: &Path, mut each: impl FnMut(&mut Self, usize, &str, Fields)) {
        let mut from = match open(path) {
            Ok(Some(opened)) => BufReader::with_capacity(1 << 16, opened),
            Ok(None) => return,
            Err(reason) => return self.problem(file, None, reason),
        };
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            match from.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) => return self.problem(file, Some(number), format!("can not be read: {error}")),
            }
            if line.len() as u64 == LONGEST && !line.ends_with(b"\n") {
                self.problem(file, Some(number), format!("has more than {LONGEST} bytes"));
                if let Err(error) = from.skip_until(b'\n') {
                    return self.problem(file, Some(number), format!("can not be read: {error}"));
                }
                continue;
            }
            let bytes = if number == 1 { without_mark(&line) } else { &line };
            let bytes = bytes.trim_ascii();
            if bytes.is_empty() {
                continue;
            }
            match (str::from_utf8(bytes), object(bytes)) {
                (Ok(text), Ok(Value::Object(object))) => each(self, number, text, object),
                (Ok(_), Ok(_)) => self.problem(file, Some(number), "is not an object"),
                (_, Err(error)) => self.problem(file, Some(number), format!("is not JSON ({error})")),
                (Err(_), _) => self.problem(file, Some(number), "is not UTF-8"),
            }
        }
    }

    /// Lines that are kept as they are.
    pub(super) fn lines(&mut self, file: &str, path: &Path) {
        let mut kept = String::new();
        self.each_line(file, path, |_, _, text, _| {
            kept.push_str(text);
            kept.push('\n');
        });
        self.document(file, kept);
    }

    pub(super) fn learnings(&mut self, file: &str, path: &Path) {
        let mut others = String::new();
        self.each_line(file, path, |this, number, text, object| {
            if !this.learning(file, number, object) {
                others.push_str(text);
                others.push('\n');
            }
        });
        self.document(file, others);
    }

    /// The learnings of one record; whether there is any, or that was told.
    fn learning(&mut self, file: &str, number: usize, object: Fields) -> bool {
        let Some((raw, fields)) = self.record(file, Some(number), "", Value::Object(object)) else { return true };
        let found = learnings(file, &raw, fields);
        let is_any = !found.is_empty();
        for learning in found {
            self.found(Kind::Learnings, file, Some(number), Given::Learning(learning));
        }
        is_any
    }

    /// The same for rows of a table.
    pub(super) fn learning_rows(&mut self, file: &str, rows: Vec<Fields>) {
        let mut others = String::new();
        for (at, row) in rows.into_iter().enumerate() {
            let line = json::to_line(&row).unwrap_or_default();
            if !self.learning(file, at + 1, row) {
                others.extend([line.as_str(), "\n"]);
            }
        }
        self.document(file, others);
    }

    /// What happened to a task that is here goes to the log; the rest is kept as it is.
    pub(super) fn events(&mut self, file: &str, path: &Path) {
        let mut others = String::new();
        let mut seen: HashMap<u64, u32> = HashMap::new();
        self.each_line(file, path, |this, number, text, object| {
            if !this.event(file, number, object, &mut seen) {
                others.push_str(text);
                others.push('\n');
            }
        });
        self.document(file, others);
    }

    /// The same for rows of a table.
    pub(super) fn event_rows(&mut self, file: &str, rows: Vec<Fields>) {
        let (mut others, mut seen) = (String::new(), HashMap::new());
        for (at, row) in rows.into_iter().enumerate() {
            let line = json::to_line(&row).unwrap_or_default();
            if !self.event(file, at + 1, row, &mut seen) {
                others.extend([line.as_str(), "\n"]);
            }
        }
        self.document(file, others);
    }

    /// Whether something happened to a task that is here, or that was told.
    fn event(&mut self, file: &str, number: usize, object: Fields, seen: &mut HashMap<u64, u32>) -> bool {
        let Some((data, _)) = self.record(file, Some(number), "", Value::Object(object)) else { return true };
        let Some(issue_id) = task_of(&data).filter(|id| self.shelf.has(id)) else { return false };
        let times = seen.entry(fields::hash(&data)).or_default();
        let event = GivenEvent { issue_id, again: *times, data };
        *times += 1;
        self.found(Kind::Events, file, Some(number), Given::Event(event));
        true
    }
}

/// The task that an event is about, wherever it stands.
fn task_of(event: &Fields) -> Option<IssueId> {
    let nested = event.get("data").and_then(Value::as_object);
    let places = [Some(event), nested].into_iter().flatten();
    let id = |place: &Fields| {
        let named = ["taskId", "task_id"].into_iter().find_map(|name| fields::named(place.get(name)?));
        named.or_else(|| fields::named(place.get("task")?.get("id")?))
    };
    places.filter_map(id).find_map(|id| id.parse().ok())
}

/// The learnings of one line: one for each text.
fn learnings(file: &str, raw: &Fields, mut rest: Fields) -> Vec<GivenLearning> {
    let texts = told(&mut rest);
    let (tags, files) = (tags(&mut rest), paths(&mut rest));
    let (value, impact) = worth(&mut rest);
    let task = ["taskId", "task_id"].into_iter().find_map(|name| {
        let id = fields::named(rest.get(name)?)?;
        rest.shift_remove(name);
        Some(id)
    });
    let [name, supersedes] = ["id", "supersedes"].map(|name| rest.get(name).and_then(fields::named));
    let linear_id = fields::line(&mut rest, &["linearId", "linear_id"]);
    let at = fields::time(&mut rest, &["timestamp", "ts"]);
    let origin = origin(file, raw, rest);
    let each = |(kind, text)| GivenLearning {
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

/// The texts: by kind in `learnings`, or beside the other fields, or one without a kind.
fn told(rest: &mut Fields) -> Vec<(LearningKind, String)> {
    let mut found = Vec::new();
    let mut lists = |from: &mut Fields| {
        for (name, kind) in LISTS {
            found.extend(fields::texts(from, &[name]).into_iter().map(|text| (kind, text)));
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
    found.extend(plain.into_iter().map(|text| (LearningKind::Pattern, text)));
    found
}

/// Tags as they can be here: one word each. If that changes anything, the list stays too.
fn tags(rest: &mut Fields) -> Vec<String> {
    words(rest, &["tags"], |tag| tag.split_whitespace().collect::<Vec<_>>().join("-"))
}

fn paths(rest: &mut Fields) -> Vec<String> {
    words(rest, &["filesChanged", "files_changed", "files"], |path| path.trim().to_owned())
}

fn words(rest: &mut Fields, names: &[&str], form: impl Fn(&str) -> String) -> Vec<String> {
    let name = names.iter().find(|name| rest.contains_key(**name));
    let before = name.and_then(|name| rest.get(*name)).cloned();
    let given = fields::texts(rest, names);
    let mut kept: Vec<String> = given.iter().map(|word| fields::first_line(&form(word))).collect();
    kept.truncate(MAX_WORDS);
    if let (true, Some(name), Some(before)) = (kept != given, name, before) {
        rest.insert((*name).to_owned(), before);
    }
    kept
}

/// What the work was worth. A part of it that is not known stays.
fn worth(rest: &mut Fields) -> (Option<Worth>, Option<Impact>) {
    let Some(Value::Object(mut value)) = rest.get("value").cloned() else { return (None, None) };
    let worth =
        Worth { kind: fields::line(&mut value, &["type"]), description: fields::text(&mut value, &["description"]) };
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
    ((worth != Worth::default()).then_some(worth), impact)
}
