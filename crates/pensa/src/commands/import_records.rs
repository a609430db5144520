//! `pn import-from taskstore` and `pn import-from loopr`: imports JSONL records, and the files of loops.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use pensa_client::Client;
use pensa_core::loops::files::FilePart;
use pensa_core::ops::import::ImportOutcome;
use pensa_core::ops::record::{Apply, Change, Index, Put, Query};
use pensa_core::ops::{job, loops, signal};
use pensa_core::record::check_data;
use pensa_core::record::line::RecordLine;
use pensa_core::session::Object;
use pensa_core::{Code, Error, Result, Timestamp};
use pensa_interop::loopr::{self, LoopDir};
use pensa_interop::prjct::Problem;
use pensa_interop::taskstore;
use serde::Serialize;
use serde_json::{Value, json};

use super::import_from::show_notes;
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::progress::with_progress;
use crate::render::{Render, Screen};

/// Import a project of Loopr: the records in .taskstore, and the files of its loops in loops and archive
///
/// Iterations, stdout.log and stderr.log go to the directories of the imported loops. What exists already is skipped, so
/// the import can be repeated; a log that has grown since gets the rest.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  pn import-from loopr ~/.loopr/3f9a1c22b07d4e15\n  \
    pn import-from loopr DIR --json      # the full report, with all notes")]
pub(crate) struct ImportFromLooprArgs {
    /// The directory that has .taskstore, loops and archive
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

/// Import records from JSONL files: <DIR>/{loops,signals,tool_jobs,events}.jsonl and any other
///
/// The last line of each id counts. A record that exists already is replaced only by a newer one, so the import can be
/// repeated.
#[derive(Debug, Args)]
pub(crate) struct ImportFromTaskstoreArgs {
    /// The directory of the files, or the one that has a .taskstore
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

/// The most records of one transaction.
const RECORDS_PER_TRANSACTION: usize = 5_000;

/// The most notes that are printed; `--json` has all.
const MAX_SHOWN_NOTES: usize = 20;

/// Indexes that known collections get.
const INDEXES: [(&str, &[&str]); 1] = [("events", &["event_type", "loop_id"])];

/// A collection whose records become entities of Pensa, which have their own import operation.
struct OwnedCollection {
    collection: &'static str,
    /// Converts a record; fails if it is invalid.
    check: fn(&Object, Timestamp) -> Result<Value>,
    /// Imports records; returns how many.
    take: fn(&Client, Vec<Object>) -> Result<usize>,
}

const OWNED_COLLECTIONS: [OwnedCollection; 3] = [
    OwnedCollection {
        collection: pensa_core::loops::COLLECTION,
        check: |record, now| Ok(json!(pensa_core::loops::import_record(record, now)?)),
        take: |client, records| Ok(client.call(&loops::ImportLoops { records })?.len()),
    },
    OwnedCollection {
        collection: pensa_core::signal::COLLECTION,
        check: |record, now| Ok(json!(pensa_core::signal::import_record(record, now)?)),
        take: |client, records| Ok(client.call(&signal::ImportSignals { records })?.len()),
    },
    OwnedCollection {
        collection: pensa_core::job::COLLECTION,
        check: |record, now| Ok(json!(pensa_core::job::import_record(record, "", now)?)),
        take: |client, records| Ok(client.call(&job::Import { records })?.len()),
    },
];

/// The number of a line that cannot be imported, and why.
type BadLine = (u64, String);

/// Fields without an equivalent, each with how many records have it and the first line.
type UnmappedFields = BTreeMap<String, (usize, u64)>;

impl OwnedCollection {
    /// Splits lines into new records, bad lines, and fields that are not stored unchanged.
    fn sort(
        &self,
        lines: Vec<(u64, RecordLine)>,
        existing: &HashMap<String, Timestamp>,
        report: &mut TaskstoreReport,
    ) -> Result<(Vec<Object>, Vec<BadLine>, UnmappedFields)> {
        let (mut new, mut bad, mut unmapped) = (Vec::new(), Vec::new(), UnmappedFields::new());
        for (number, RecordLine { id, data, .. }) in lines {
            let Some(data) = data else { continue };
            if existing.contains_key(&id) {
                report.records_skipped += 1;
                continue;
            }
            match (self.check)(&data, Timestamp::from_millis(0)?) {
                Ok(kept) => {
                    for (name, _) in data.iter().filter(|(name, given)| !is_kept(given, kept.get(name.as_str()))) {
                        unmapped.entry(name.clone()).or_insert((0, number)).0 += 1;
                    }
                    new.push(data);
                }
                Err(e) => bad.push((number, e.message)),
            }
        }
        report.lines_skipped += bad.len();
        Ok((new, bad, unmapped))
    }
}

/// Whether a field keeps its value. Times are numbers in the import and text here.
fn is_kept(given: &Value, kept: Option<&Value>) -> bool {
    let time = |value: &Value| serde_json::from_value::<Timestamp>(value.clone()).ok();
    let is_empty = || [json!(null), json!(""), json!([]), json!({}), json!(false), json!(0)].contains(given);
    match kept {
        Some(kept) => kept == given || time(given).is_some_and(|at| time(kept) == Some(at)) || is_empty(),
        None => is_empty(),
    }
}

/// The result of an import.
#[derive(Debug, Default, Serialize)]
struct TaskstoreReport {
    collections: usize,
    records: usize,
    /// Already present and not older
    records_skipped: usize,
    lines_skipped: usize,
    /// Counts of the files of loops
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<FileCounts>,
    /// What could not be stored unchanged
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// What was not read, and why
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<Problem>,
}

#[derive(Debug, Default, Serialize)]
struct FileCounts {
    imported: usize,
    /// Already present with the same content
    here_already: usize,
    skipped: usize,
}

pub(super) fn run(options: &GlobalOptions, output: Output, args: &ImportFromTaskstoreArgs) -> Result<()> {
    let report = with_progress(output, || import(&connect::client_for_agents(options)?, &args.dir, &HashMap::new()))?;
    answer(output, &report)
}

/// Imports a project of Loopr: its records and the files of its loops.
pub(super) fn run_loopr(options: &GlobalOptions, output: Output, args: &ImportFromLooprArgs) -> Result<()> {
    let report = with_progress(output, || {
        let client = connect::client_for_agents(options)?;
        let project = loopr::read(&args.dir)?;
        let archived = project.loops.iter().filter(|found| found.is_archived);
        let archived = archived.filter_map(|found| Some((found.id.clone(), found.written_at?))).collect();
        let mut report = import(&client, &args.dir, &archived)?;
        report.left_out = project.left_out;
        let mut counts = FileCounts::default();
        for found in &project.loops {
            send_files(&client, found, &mut counts, &mut report.notes)?;
        }
        report.files = Some(counts);
        Ok(report)
    })?;
    answer(output, &report)
}

fn answer(output: Output, report: &TaskstoreReport) -> Result<()> {
    output.answer(report)?;
    show_notes(output, report.notes.get(..MAX_SHOWN_NOTES).unwrap_or(&report.notes));
    if report.notes.len() > MAX_SHOWN_NOTES {
        output.note(&format!("note: and {} more, which --json has", report.notes.len() - MAX_SHOWN_NOTES));
    }
    Ok(())
}

/// The size of one part of a file.
const PART_BYTES: usize = 1 << 20;

/// Target size of a request with many files.
const REQUEST_BYTES: usize = 4 << 20;

/// The most parts of one request.
const REQUEST_PARTS: usize = 500;

/// Sends the files of one loop.
fn send_files(client: &Client, found: &LoopDir, counts: &mut FileCounts, notes: &mut Vec<String>) -> Result<()> {
    let below = if found.is_archived { "archive" } else { "loops" };
    let mut outcomes: BTreeMap<String, Vec<ImportOutcome>> = BTreeMap::new();
    let mut parts: Vec<FilePart> = Vec::new();
    let mut bytes = 0;
    let mut send = |parts: &mut Vec<FilePart>, current: Option<String>| -> Result<Option<String>> {
        let (id, archived) = (found.id.parse()?, found.is_archived);
        let sent: Vec<String> = parts.iter().map(|part| part.path.clone()).collect();
        let taken = client.call(&loops::ImportLoopFiles { id, archived, parts: std::mem::take(parts), current })?;
        for (path, outcome) in sent.into_iter().zip(taken.outcomes) {
            outcomes.entry(path).or_default().push(outcome);
        }
        Ok(taken.no_directory)
    };
    for file in &found.files {
        let shown = format!("{below}/{}/{}", found.id, file.path);
        let read = each_part(&file.path, &file.source, |part, length| {
            if bytes + length > REQUEST_BYTES || parts.len() >= REQUEST_PARTS {
                send(&mut parts, None)?;
                bytes = 0;
            }
            bytes += length;
            parts.push(part);
            Ok(())
        });
        match read {
            Err(e) if e.code == Code::InvalidInput => {
                counts.skipped += 1;
                notes.push(format!("{shown}: {}", e.message));
            }
            read => read?,
        }
    }
    if let Some(why) = send(&mut parts, found.current.clone())? {
        counts.skipped += found.files.len();
        notes.push(format!("{below}/{}: {why}; its files were not kept", found.id));
        return Ok(());
    }
    for (path, outcomes) in outcomes {
        match outcomes {
            outcomes if outcomes.contains(&ImportOutcome::Clash) => {
                counts.skipped += 1;
                notes.push(format!(
                    "{below}/{}/{path}: the file here says something else and was left as it is",
                    found.id
                ));
            }
            outcomes if outcomes.contains(&ImportOutcome::Imported) => counts.imported += 1,
            _ => counts.here_already += 1,
        }
    }
    Ok(())
}

/// Reads a file in parts; an empty file is one part.
fn each_part(path: &str, source: &Path, mut each: impl FnMut(FilePart, usize) -> Result<()>) -> Result<()> {
    FilePart::new(path.to_owned(), 0, Vec::new()).components()?;
    let failed = |e: std::io::Error| Error::invalid(format!("cannot be read: {e}"));
    let mut file = File::open(source).map_err(failed)?;
    let mut offset = 0;
    loop {
        let mut bytes = Vec::new();
        let limit = u64::try_from(PART_BYTES).map_err(Error::internal)?;
        let length = (&mut file).take(limit).read_to_end(&mut bytes).map_err(failed)?;
        if length == 0 && offset > 0 {
            return Ok(());
        }
        each(FilePart::new(path.to_owned(), offset, bytes), length)?;
        if length == 0 {
            return Ok(());
        }
        offset += u64::try_from(length).map_err(Error::internal)?;
    }
}

/// Imports the records of a directory. `archived` has the loops whose directory is archived, and when it was written.
fn import(client: &Client, dir: &Path, archived: &HashMap<String, Timestamp>) -> Result<TaskstoreReport> {
    let mut report = TaskstoreReport::default();
    let mut notes = Vec::new();
    for (collection, file) in taskstore::collections(dir)? {
        let listing = taskstore::list(&file)?;
        report.collections += 1;
        let at_line = |line: u64, why: &str| format!("{collection}.jsonl, line {line}: {why}");
        notes.extend(listing.corrupt.iter().map(|corrupt| at_line(corrupt.line, &corrupt.why)));
        report.lines_skipped += listing.corrupt.len();
        if let Some((_, fields)) = INDEXES.iter().find(|(name, _)| *name == collection) {
            let fields = fields.iter().map(|field| (*field).to_owned()).collect();
            client.call(&Index { collection: collection.clone(), fields, ..Index::default() })?;
        }
        let existing = existing(client, &collection)?;
        if let Some(owned) = OWNED_COLLECTIONS.iter().find(|owned| owned.collection == collection) {
            let (mut new, bad, unmapped) = owned.sort(listing.records, &existing, &mut report)?;
            notes.extend(bad.iter().map(|(line, why)| at_line(*line, why)));
            notes.extend(unmapped.into_iter().map(|(field, (count, line))| match count {
                1 => at_line(line, &format!("{field} is not kept as it is")),
                _ => at_line(line, &format!("{field} is not kept as it is, here and in {} more", count - 1)),
            }));
            if collection == pensa_core::loops::COLLECTION {
                new.iter_mut().for_each(|record| archive(record, archived));
            }
            for some in new.chunks(RECORDS_PER_TRANSACTION) {
                report.records += (owned.take)(client, some.to_vec())?;
            }
            continue;
        }
        let mut changes = Vec::new();
        for (number, line) in listing.records {
            let RecordLine { id, updated_at, data: Some(data), .. } = line else { continue };
            if existing.get(&id).is_some_and(|here| updated_at.is_none_or(|there| *here >= there)) {
                report.records_skipped += 1;
            } else if let Err(e) = check_data(&id, &data) {
                notes.push(at_line(number, &e.message));
                report.lines_skipped += 1;
            } else {
                let collection = collection.clone();
                changes.push(Change::Put(Put {
                    collection,
                    data,
                    id: Some(id),
                    if_rev: None,
                    if_present: false,
                    updated_at,
                }));
            }
        }
        report.records += changes.len();
        while !changes.is_empty() {
            let rest = changes.split_off(changes.len().min(RECORDS_PER_TRANSACTION));
            client.call(&Apply { changes })?;
            changes = rest;
        }
    }
    report.notes = notes;
    Ok(report)
}

/// Marks a loop as archived if its directory is.
fn archive(record: &mut Object, archived: &HashMap<String, Timestamp>) {
    let at = record.get("id").and_then(Value::as_str).and_then(|id| archived.get(id));
    if let (Some(at), None | Some(Value::Null)) = (at, record.get("archived_at")) {
        record.insert("archived_at".to_owned(), json!(at));
    }
}

/// When each existing record was last changed.
fn existing(client: &Client, collection: &str) -> Result<HashMap<String, Timestamp>> {
    let mut existing = HashMap::new();
    let mut op = Query { collection: collection.to_owned(), ..Query::default() };
    loop {
        let page = client.call(&op)?;
        existing.extend(page.records.into_iter().map(|record| (record.id, record.updated_at)));
        op.after = page.next;
        if op.after.is_none() {
            return Ok(existing);
        }
    }
}

impl Render for TaskstoreReport {
    fn render(&self, screen: &mut Screen) {
        let Self { collections, records, records_skipped, lines_skipped, files, left_out, .. } = self;
        screen.plain(&format!("{records} records of {collections} collections")).end();
        if *records_skipped > 0 {
            screen.plain(&format!("{records_skipped} are here already")).end();
        }
        if *lines_skipped > 0 {
            screen.plain(&format!("{lines_skipped} lines could not be read")).end();
        }
        if let Some(FileCounts { imported, here_already, skipped }) = files {
            screen
                .plain(&format!("{imported} files of loops, {here_already} were here already, {skipped} skipped"))
                .end();
        }
        for problem in left_out {
            screen.plain("left out ").text(&problem.file).plain(": ").text(&problem.reason).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        Vec::new()
    }
}
