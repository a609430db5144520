//! `pn import-from taskstore`: reads the files of another tool's records and hands them to the store.

use std::collections::HashMap;

use pensa_client::Client;
use pensa_core::ops::job;
use pensa_core::ops::record::{Apply, Change, Index, Put, Query};
use pensa_core::ops::{loops, signal};
use pensa_core::record::check_data;
use pensa_core::record::line::Line;
use pensa_core::session::Object;
use pensa_core::{Result, Timestamp};
use pensa_interop::taskstore;
use serde::Serialize;

use crate::cli::{FromTaskstore, Options};
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
    /// Whether it can be one.
    check: fn(&Object, Timestamp) -> Result<()>,
    /// Takes them in; says how many.
    take: fn(&Client, Vec<Object>) -> Result<usize>,
}

const OWNED: [Owned; 3] = [
    Owned {
        collection: pensa_core::loops::COLLECTION,
        check: |record, now| pensa_core::loops::taken(record, now).map(drop),
        take: |client, records| Ok(client.call(&loops::Take { records })?.len()),
    },
    Owned {
        collection: pensa_core::signal::COLLECTION,
        check: |record, now| pensa_core::signal::taken(record, now).map(drop),
        take: |client, records| Ok(client.call(&signal::Take { records })?.len()),
    },
    Owned {
        collection: pensa_core::job::COLLECTION,
        check: |record, now| pensa_core::job::taken(record, "", now).map(drop),
        take: |client, records| Ok(client.call(&job::Import { records })?.len()),
    },
];

impl Owned {
    /// What is to be taken in, and the lines that can not be.
    fn sort(
        &self,
        lines: Vec<(u64, Line)>,
        known: &HashMap<String, Timestamp>,
        report: &mut Report,
    ) -> Result<(Vec<Object>, Vec<(u64, String)>)> {
        let (mut new, mut odd) = (Vec::new(), Vec::new());
        for (number, Line { id, data, .. }) in lines {
            let Some(data) = data else { continue };
            if known.contains_key(&id) {
                report.records_skipped += 1;
                continue;
            }
            match (self.check)(&data, Timestamp::from_millis(0)?) {
                Ok(()) => new.push(data),
                Err(e) => odd.push((number, e.message)),
            }
        }
        report.lines_skipped += odd.len();
        Ok((new, odd))
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
}

pub(super) fn run(options: &Options, output: Output, args: &FromTaskstore) -> Result<()> {
    let mut notes = Vec::new();
    let report = watched(output, || import(&connect::client_for_agents(options)?, args, &mut notes))?;
    output.answer(&report)?;
    notes.iter().take(TOLD).for_each(|note| output.note(&format!("note: {note}")));
    if notes.len() > TOLD {
        output.note(&format!("note: {} more lines could not be read", notes.len() - TOLD));
    }
    Ok(())
}

fn import(client: &Client, args: &FromTaskstore, notes: &mut Vec<String>) -> Result<Report> {
    let mut report = Report::default();
    for (collection, file) in taskstore::collections(&args.dir)? {
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
            let (new, odd) = owned.sort(listing.records, &known, &mut report)?;
            notes.extend(odd.iter().map(|(line, why)| tell(*line, why)));
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
    Ok(report)
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
        let Self { collections, records, records_skipped, lines_skipped } = self;
        screen.plain(&format!("{records} records of {collections} collections")).end();
        if *records_skipped > 0 {
            screen.plain(&format!("{records_skipped} are here already")).end();
        }
        if *lines_skipped > 0 {
            screen.plain(&format!("{lines_skipped} lines could not be read")).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        Vec::new()
    }
}
