//! Reads CSV files as rows of named cells. A name may occur several times.

use std::path::Path;

use pensa_core::session::Object;
use pensa_core::{Error, Result, Timestamp};
use serde_json::{Value, json};

use super::{ItemPlace, TrackerFile, fields, read_text};

/// A row, from which a reader takes the cells that it understands.
#[derive(Debug)]
pub(super) struct TableRow {
    pub(super) place: ItemPlace,
    cells: Vec<(String, String)>,
}

/// The rows of a file that has these columns; rows that cannot be read are reported.
pub(super) fn read(path: &Path, file: &mut TrackerFile, needed: &[&str]) -> Result<Vec<TableRow>> {
    let text = read_text(path)?;
    let name = path.file_name().unwrap_or_default().display().to_string();
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|e| Error::invalid(format!("{name} is not CSV: {e}")))?.clone();
    let headers: Vec<String> = headers.iter().map(|header| header.trim().to_owned()).collect();
    if let Some(missing) = needed.iter().find(|name| !headers.iter().any(|header| header.eq_ignore_ascii_case(name))) {
        let error = Error::invalid(format!("{name} has no column {missing:?}"));
        return Err(error.hint("export the issues as CSV with all fields; nothing was imported"));
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        match record {
            Ok(record) => {
                let line = record.position().and_then(|at| usize::try_from(at.line()).ok());
                let cells = headers.iter().zip(record.iter()).filter(|(_, cell)| !cell.trim().is_empty());
                let cells = cells.map(|(header, cell)| (header.clone(), cell.to_owned())).collect();
                rows.push(TableRow { place: ItemPlace { file: None, line }, cells });
            }
            Err(e) => {
                let line = e.position().and_then(|at| usize::try_from(at.line()).ok());
                file.skip(ItemPlace { file: None, line }, None, "is not a row of CSV");
            }
        }
    }
    Ok(rows)
}

impl TableRow {
    /// Takes the first cell with one of these names.
    pub(super) fn take(&mut self, names: &[&str]) -> Option<String> {
        let is_named = |header: &str| names.iter().any(|name| header.eq_ignore_ascii_case(name));
        let at = self.cells.iter().position(|(header, _)| is_named(header))?;
        Some(self.cells.remove(at).1)
    }

    /// Takes all cells with one of these names.
    pub(super) fn take_all(&mut self, names: &[&str]) -> Vec<String> {
        std::iter::from_fn(|| self.take(names)).collect()
    }

    /// Takes a time, if it can be read; what cannot stays.
    pub(super) fn take_time(&mut self, names: &[&str]) -> Option<Timestamp> {
        let is_named = |header: &str| names.iter().any(|name| header.eq_ignore_ascii_case(name));
        let at = self.cells.iter().position(|(header, cell)| is_named(header) && fields::moment(cell).is_some())?;
        fields::moment(&self.cells.remove(at).1)
    }

    /// The cells that were not taken.
    pub(super) fn rest(self) -> Object {
        let mut rest = Object::new();
        for (header, cell) in self.cells {
            match rest.get_mut(&header) {
                None => drop(rest.insert(header, json!(cell))),
                Some(Value::Array(list)) => list.push(json!(cell)),
                Some(first) => *first = json!([first.take(), cell]),
            }
        }
        rest
    }
}
