//! `pn import-from taskstore` and `loopr`: reads the files of another tool's records, and of its loops, and hands them to
//! the store.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use pensa_client::Client;
use pensa_core::loops::files::FilePart;
use pensa_core::ops::import::Outcome;
use pensa_core::ops::job;
use pensa_core::ops::record::{Apply, Change, Index, Put, Query};
use pensa_core::ops::{loops, signal};
use pensa_core::record::check_data;
use pensa_core::record::line::Line;
use pensa_core::session::Object;
use pensa_core::{Code, Error, Result, Timestamp};
use pensa_interop::loopr::{self, LoopDir};
use pensa_interop::prjct::Problem;
use pensa_interop::taskstore;
use serde::Serialize;
use serde_json::{Value, json};

use super::import_from::show_notes;
use crate::cli::{FromLoopr, FromTaskstore, Options};
use crate::connect;
use crate::output::Output;
use crate::progress::watched;
use crate::render::{Render, Screen};

/// Records that go into one transaction.
const AT_ONCE: usize = 5_000;
/// Lines that are told one by one.
const TOLD: usize = 20;

/// The fields by which records of the known collections are looked for.
const INDEXES: [(&str, &[&str]); 1] = [("events", &["event_type", "loop_id"])];

/// A collection whose records are things of ours, with rules of their own.
struct Owned {
    collection: &'static str,
    /// What is kept of one, if it can be one.
    check: fn(&Object, Timestamp) -> Result<Value>,
    /// Takes them in; says how many.
    take: fn(&Client, Vec<Object>) -> Result<usize>,
}

const OWNED: [Owned; 3] = [
    Owned {
        collection: pensa_core::loops::COLLECTION,
        check: |record, now| Ok(json!(pensa_core::loops::taken(record, now)?)),
        take: |client, records| Ok(client.call(&loops::Take { records })?.len()),
    },
    Owned {
        collection: pensa_core::signal::COLLECTION,
        check: |record, now| Ok(json!(pensa_core::signal::taken(record, now)?)),
        take: |client, records| Ok(client.call(&signal::Take { records })?.len()),
    },
    Owned {
        collection: pensa_core::job::COLLECTION,
        check: |record, now| Ok(json!(pensa_core::job::taken(record, "", now)?)),
        take: |client, records| Ok(client.call(&job::Import { records })?.len()),
    },
];

/// A line that cannot be taken in, and why.
type Odd = (u64, String);

/// Fields that have no place, each with the number of records that have it and the first line.
type Lost = BTreeMap<String, (usize, u64)>;

impl Owned {
    /// What is to be taken in, the lines that can not be, and the fields that are not kept as they are.
    fn sort(
        &self,
        lines: Vec<(u64, Line)>,
        known: &HashMap<String, Timestamp>,
        report: &mut Report,
    ) -> Result<(Vec<Object>, Vec<Odd>, Lost)> {
        let (mut new, mut odd, mut lost) = (Vec::new(), Vec::new(), Lost::new());
        for (number, Line { id, data, .. }) in lines {
            let Some(data) = data else { continue };
            if known.contains_key(&id) {
                report.records_skipped += 1;
                continue;
            }
            match (self.check)(&data, Timestamp::from_millis(0)?) {
                Ok(kept) => {
                    for (name, _) in data.iter().filter(|(name, given)| !is_kept(given, kept.get(name.as_str()))) {
                        lost.entry(name.clone()).or_insert((0, number)).0 += 1;
                    }
                    new.push(data);
                }
                Err(e) => odd.push((number, e.message)),
            }
        }
        report.lines_skipped += odd.len();
        Ok((new, odd, lost))
    }
}

/// Whether a field says the same as before. Times are numbers there and text here.
fn is_kept(given: &Value, kept: Option<&Value>) -> bool {
    let time = |value: &Value| serde_json::from_value::<Timestamp>(value.clone()).ok();
    let is_empty = || [json!(null), json!(""), json!([]), json!({}), json!(false), json!(0)].contains(given);
    match kept {
        Some(kept) => kept == given || time(given).is_some_and(|at| time(kept) == Some(at)) || is_empty(),
        None => is_empty(),
    }
}

/// What came of it.
#[derive(Debug, Default, Serialize)]
struct Report {
    collections: usize,
    records: usize,
    /// Here already, and not older
    records_skipped: usize,
    lines_skipped: usize,
    /// What became of the files of loops
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<FileCounts>,
    /// What could not be kept, or not as it was
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// What was not read, and why
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<Problem>,
}

#[derive(Debug, Default, Serialize)]
struct FileCounts {
    imported: usize,
    /// Here already, with the same content
    here_already: usize,
    skipped: usize,
}

pub(super) fn run(options: &Options, output: Output, args: &FromTaskstore) -> Result<()> {
    let report = watched(output, || import(&connect::client_for_agents(options)?, &args.dir, &HashMap::new()))?;
    answer(output, &report)
}

/// Takes in a project of Loopr: its records and the files of its loops.
pub(super) fn run_loopr(options: &Options, output: Output, args: &FromLoopr) -> Result<()> {
    let report = watched(output, || {
        let client = connect::client_for_agents(options)?;
        let project = loopr::read(&args.dir)?;
        let archived = project.loops.iter().filter(|found| found.is_archived);
        let archived = archived.filter_map(|found| Some((found.id.clone(), found.written_at?))).collect();
        let mut report = import(&client, &args.dir, &archived)?;
        report.left_out = project.left_out;
        let mut counts = FileCounts::default();
        for found in &project.loops {
            take_files(&client, found, &mut counts, &mut report.notes)?;
        }
        report.files = Some(counts);
        Ok(report)
    })?;
    answer(output, &report)
}

fn answer(output: Output, report: &Report) -> Result<()> {
    output.answer(report)?;
    show_notes(output, report.notes.get(..TOLD).unwrap_or(&report.notes));
    if report.notes.len() > TOLD {
        output.note(&format!("note: and {} more, which --json has", report.notes.len() - TOLD));
    }
    Ok(())
}

/// So much of a file is sent as one part.
const PART_BYTES: usize = 1 << 20;
/// So much is sent at once, if it is made of many files.
const REQUEST_BYTES: usize = 4 << 20;
/// Most parts of one request.
const REQUEST_PARTS: usize = 500;

/// Hands over the files of one loop.
fn take_files(client: &Client, found: &LoopDir, counts: &mut FileCounts, notes: &mut Vec<String>) -> Result<()> {
    let below = if found.is_archived { "archive" } else { "loops" };
    let mut outcomes: BTreeMap<String, Vec<Outcome>> = BTreeMap::new();
    let mut parts: Vec<FilePart> = Vec::new();
    let mut bytes = 0;
    let mut send = |parts: &mut Vec<FilePart>, current: Option<String>| -> Result<Option<String>> {
        let (id, archived) = (found.id.parse()?, found.is_archived);
        let sent: Vec<String> = parts.iter().map(|part| part.path.clone()).collect();
        let taken = client.call(&loops::TakeFiles { id, archived, parts: std::mem::take(parts), current })?;
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
            outcomes if outcomes.contains(&Outcome::Clash) => {
                counts.skipped += 1;
                notes.push(format!(
                    "{below}/{}/{path}: the file here says something else and was left as it is",
                    found.id
                ));
            }
            outcomes if outcomes.contains(&Outcome::Imported) => counts.imported += 1,
            _ => counts.here_already += 1,
        }
    }
    Ok(())
}

/// Reads a file a part at a time; one without content is one part.
fn each_part(path: &str, source: &Path, mut each: impl FnMut(FilePart, usize) -> Result<()>) -> Result<()> {
    FilePart::new(path.to_owned(), 0, Vec::new()).steps()?;
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

/// Takes in the records of a directory. Loops whose files lie in the archive were archived then.
fn import(client: &Client, dir: &Path, archived: &HashMap<String, Timestamp>) -> Result<Report> {
    let mut report = Report::default();
    let mut notes = Vec::new();
    for (collection, file) in taskstore::collections(dir)? {
        let listing = taskstore::list(&file)?;
        report.collections += 1;
        let tell = |line: u64, why: &str| format!("{collection}.jsonl, line {line}: {why}");
        notes.extend(listing.corrupt.iter().map(|corrupt| tell(corrupt.line, &corrupt.why)));
        report.lines_skipped += listing.corrupt.len();
        if let Some((_, fields)) = INDEXES.iter().find(|(name, _)| *name == collection) {
            let fields = fields.iter().map(|field| (*field).to_owned()).collect();
            client.call(&Index { collection: collection.clone(), fields, ..Index::default() })?;
        }
        let known = known(client, &collection)?;
        if let Some(owned) = OWNED.iter().find(|owned| owned.collection == collection) {
            let (mut new, odd, lost) = owned.sort(listing.records, &known, &mut report)?;
            notes.extend(odd.iter().map(|(line, why)| tell(*line, why)));
            notes.extend(lost.into_iter().map(|(field, (count, line))| match count {
                1 => tell(line, &format!("{field} is not kept as it is")),
                _ => tell(line, &format!("{field} is not kept as it is, here and in {} more", count - 1)),
            }));
            if collection == pensa_core::loops::COLLECTION {
                new.iter_mut().for_each(|record| archive(record, archived));
            }
            for some in new.chunks(AT_ONCE) {
                report.records += (owned.take)(client, some.to_vec())?;
            }
            continue;
        }
        let mut changes = Vec::new();
        for (number, line) in listing.records {
            let Line { id, updated_at, data: Some(data), .. } = line else { continue };
            if known.get(&id).is_some_and(|here| updated_at.is_none_or(|there| *here >= there)) {
                report.records_skipped += 1;
            } else if let Err(e) = check_data(&id, &data) {
                notes.push(tell(number, &e.message));
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
            let rest = changes.split_off(changes.len().min(AT_ONCE));
            client.call(&Apply { changes })?;
            changes = rest;
        }
    }
    report.notes = notes;
    Ok(report)
}

/// A loop is archived where its directory is.
fn archive(record: &mut Object, archived: &HashMap<String, Timestamp>) {
    let at = record.get("id").and_then(Value::as_str).and_then(|id| archived.get(id));
    if let (Some(at), None | Some(Value::Null)) = (at, record.get("archived_at")) {
        record.insert("archived_at".to_owned(), json!(at));
    }
}

/// When each record that is here was last changed.
fn known(client: &Client, collection: &str) -> Result<HashMap<String, Timestamp>> {
    let mut known = HashMap::new();
    let mut op = Query { collection: collection.to_owned(), ..Query::default() };
    loop {
        let page = client.call(&op)?;
        known.extend(page.records.into_iter().map(|record| (record.id, record.updated_at)));
        op.after = page.next;
        if op.after.is_none() {
            return Ok(known);
        }
    }
}

impl Render for Report {
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
