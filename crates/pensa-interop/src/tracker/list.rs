//! Reads files that have a list of JSON objects: as an array, or one object in a line.

use std::path::Path;

use pensa_core::session::Object;
use pensa_core::{Error, Result};
use serde_json::Value;

use super::{ItemPlace, read_text, refuse_conflict_marks};
use crate::files;

/// An element with its place, or why it is none.
pub(super) type ListElement = (ItemPlace, Result<Object, String>);

/// The elements of a file; `members` are the fields in which an object may have the list.
pub(super) fn read(path: &Path, members: &[&str]) -> Result<Vec<ListElement>> {
    let text = read_text(path)?;
    refuse_conflict_marks(path, &text)?;
    match files::object(text.as_bytes()) {
        Ok(Value::Array(items)) => Ok(elements(items)),
        Ok(Value::Object(mut object)) => match members.iter().find_map(|name| object.shift_remove(*name)) {
            Some(Value::Array(items)) => Ok(elements(items)),
            _ => Ok(vec![(ItemPlace::line(1), Ok(object))]),
        },
        Ok(_) => Err(not_a_list(path, "is neither a list nor an object")),
        Err(e) => lines(&text).ok_or_else(|| not_a_list(path, &format!("is not JSON: {e}"))),
    }
}

fn not_a_list(path: &Path, why: &str) -> Error {
    Error::invalid(format!("{} {why}", path.file_name().unwrap_or_default().display())).hint("nothing was imported")
}

fn elements(items: Vec<Value>) -> Vec<ListElement> {
    items.into_iter().enumerate().map(|(at, item)| (ItemPlace::line(at + 1), object(item))).collect()
}

fn object(value: Value) -> Result<Object, String> {
    match value {
        Value::Object(object) => Ok(object),
        _ => Err("is not an object".to_owned()),
    }
}

/// One object in a line; `None` if not even the first is one. Old versions of Taskwarrior end lines with commas.
fn lines(text: &str) -> Option<Vec<ListElement>> {
    let parse = |line: &str| match files::object(line.trim().trim_end_matches(',').as_bytes()) {
        Ok(value) => object(value),
        Err(e) => Err(format!("is not JSON: {e}")),
    };
    let is_content = |line: &str| !matches!(line.trim(), "" | "[" | "]");
    let lines = text.lines().enumerate().filter(|(_, line)| is_content(line));
    let elements: Vec<ListElement> = lines.map(|(at, line)| (ItemPlace::line(at + 1), parse(line))).collect();
    elements.first().is_some_and(|(_, first)| first.is_ok()).then_some(elements)
}
