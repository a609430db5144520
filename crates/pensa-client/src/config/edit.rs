//! Changes one value in a TOML file and keeps comments, order and whitespace.

use pensa_core::{Error, Result};
use toml_edit::{Document, DocumentMut, Item, Table, TableLike, Value as TomlValue};

use super::keys::SettingValue;

/// Sets the value at a path and returns the new text.
pub(super) fn with(doc: Document<String>, path: &[&str], value: &SettingValue) -> Result<String> {
    // In a file of comments only, they stay in front of the new value instead of after it.
    let heading = if doc.is_empty() { doc.raw().trim_end_matches('\n').to_owned() } else { String::new() };
    let mut doc = if doc.is_empty() { DocumentMut::new() } else { doc.into_mut() };
    set(&mut doc, path, value)?;
    Ok(if heading.is_empty() { doc.to_string() } else { format!("{heading}\n{doc}") })
}

fn set(doc: &mut DocumentMut, path: &[&str], value: &SettingValue) -> Result<()> {
    let Some((name, tables)) = path.split_last() else { return Ok(()) };
    let mut table: &mut dyn TableLike = doc.as_table_mut();
    for at in tables {
        let inner = table.entry(at).or_insert_with(|| Item::Table(Table::new()));
        table = inner.as_table_like_mut().ok_or_else(|| Error::invalid(format!("{at} is no table")))?;
    }
    let mut new: TomlValue = match value {
        SettingValue::Flag(flag) => (*flag).into(),
        SettingValue::Number(number) => (*number).into(),
        SettingValue::Text(text) => text.as_str().into(),
    };
    match table.get_mut(name) {
        Some(Item::Value(old)) => {
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        Some(item) if !item.is_none() => return Err(Error::invalid(format!("{name} is a table"))),
        _ => drop(table.insert(name, Item::Value(new))),
    }
    Ok(())
}

/// Removes the value at a path and returns the new text; other lines stay as they are.
pub(super) fn without(doc: &Document<String>, path: &[&str]) -> String {
    let text = doc.raw();
    if let Some((start, end)) = lines(doc, path) {
        let rest = format!("{}{}", &text[..start], &text[end..]);
        // In an inline table, the line also contains other values.
        if rest.parse::<DocumentMut>().is_ok_and(|rest| same_but_one(doc, &rest, path)) {
            return rest;
        }
    }
    let mut doc = doc.clone().into_mut();
    if let Some((name, tables)) = path.split_last() {
        let mut table: Option<&mut dyn TableLike> = Some(doc.as_table_mut());
        for at in tables {
            table = table.and_then(|table| table.get_mut(at)).and_then(Item::as_table_like_mut);
        }
        table.map(|table| table.remove(name));
    }
    doc.to_string()
}

/// The byte range of the lines of a key and its value.
fn lines(doc: &Document<String>, path: &[&str]) -> Option<(usize, usize)> {
    let (name, tables) = path.split_last()?;
    let mut table: &dyn TableLike = doc.as_table();
    for at in tables {
        table = table.get(at)?.as_table_like()?;
    }
    let (key, item) = table.get_key_value(name)?;
    let (key, value) = (key.span()?, item.span()?);
    let text = doc.raw();
    let start = text[..key.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[value.end..].find('\n').map_or(text.len(), |at| value.end + at + 1);
    Some((start, end))
}

/// Whether `new` is `old` without the value at `path`.
fn same_but_one(old: &Document<String>, new: &DocumentMut, path: &[&str]) -> bool {
    let all = |table: &dyn TableLike| {
        let mut all = Vec::new();
        super::visit_leaves(table, &mut Vec::new(), &mut |path, item| {
            all.push((path.iter().map(|at| (*at).to_owned()).collect::<Vec<_>>(), bare(item)));
        });
        all
    };
    let mut expected = all(old.as_table());
    expected.retain(|(at, _)| at != path);
    expected == all(new.as_table())
}

/// The value without surrounding whitespace and comments.
fn bare(item: &Item) -> String {
    item.as_value().map_or_else(|| item.to_string(), |value| value.clone().decorated("", "").to_string())
}
