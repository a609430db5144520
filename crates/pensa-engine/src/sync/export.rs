//! From the database into the files.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::thread;

use pensa_core::ops::store::Transfer;
use pensa_core::sync::{COLLECTIONS, Collection, EVENTS_FILE, ISSUES, Record, Tombstone, lines};
use pensa_core::{Code, Error, Result, sync};
use pensa_git as git;

use super::agreed::{self, Known, Made, NewCopy, Taken, Waiting};
use super::files::{self, Content, Contents, Draft, Stamp};
use super::import::{self, Report};
use super::job::Job;
use super::place::Place;
use super::shared::{self, Part, TABLES, Table};
use super::splice::{Before, Lines, Moment};
use crate::context::Context;
use crate::db::{Tx, params};
use crate::entity;
use crate::meter;
use crate::store::StoreDir;
use crate::tables::{issues, tombstones};

/// The lines of every file, as the database has them now, and how many there are.
type Rendered = [Part; COLLECTIONS.len()];

pub(super) fn render(tx: &Tx<'_>) -> Result<Rendered> {
    let mut parts = Rendered::default();
    for (at, part) in parts.iter_mut().enumerate() {
        *part = render_file(tx, at)?;
    }
    Ok(parts)
}

fn render_file(tx: &Tx<'_>, at: usize) -> Result<Part> {
    let mut part = Part::default();
    match TABLES.get(at) {
        Some(table) => table.render(tx, &mut part)?,
        None => entity::for_each::<Tombstone>(tx, "ORDER BY collection, record_id", params![], |tombstone| {
            if tombstone.is_in_git() { shared::add_line(&mut part, tombstone) } else { Ok(()) }
        })?,
    }
    Ok(part)
}

/// The lines of a file, and whether they are those that were exported before.
fn render_after(tx: &Tx<'_>, at: usize, before: Option<&Before<'_>>) -> Result<(Part, bool)> {
    let lines = match (before, TABLES.get(at)) {
        (Some(before), Some(table)) => before.lines(tx, *table)?,
        _ => None,
    };
    let Some(Lines { bytes, is_same }) = lines else { return Ok((render_file(tx, at)?, false)) };
    let count = import::count(sync::lines(&bytes).count());
    // Whoever changes what is exported without a word in the log is found by every test that exports.
    debug_assert!(render_file(tx, at)?.0 == bytes, "the log does not tell of a change in {}", COLLECTIONS[at].name);
    meter().advance(usize::try_from(count).unwrap_or_default());
    Ok(((bytes, count), is_same))
}

/// Writes the files of a place. Whatever was in them must have been taken in and committed before: from here on only
/// the database has what was not kept of it.
pub(crate) fn export(cx: &Context<'_>, tx: &Tx<'_>, place: &Place) -> Result<Transfer> {
    let store = cx.store.dir()?;
    let known = match agreed::last(store, tx, place)? {
        Some(known) if known.stands_in(place)? => known,
        _ => return Err(changed_meanwhile(place)),
    };
    let waiting = still_waiting(tx, &known)?;
    let is_any_waiting = waiting.iter().any(|lines| !lines.is_empty());
    let before = if is_any_waiting { None } else { Before::find(tx, &known)? };
    // Rows are sorted on the way, in memory if they fit.
    tx.expect_many_rows()?;
    meter().begin(usize::try_from(import::stored(tx)?.iter().sum::<i64>()).unwrap_or_default());
    let rendered: [OnceLock<Part>; COLLECTIONS.len()] = Default::default();
    let copy = NewCopy::begin(store, tx, place)?;
    let desk = Desk { place, drafts: store.local_dir("")?, waiting: &waiting };
    // A file is written while the next is read from the database. None gets its name before all are there.
    let written = thread::scope(|scope| {
        let mut jobs = Vec::new();
        for (at, part) in rendered.iter().enumerate() {
            let (fresh, is_same) = render_after(tx, at, before.as_ref())?;
            let (bytes, _) = filled(part, fresh);
            if is_same {
                let stamp = Stamp::at(&desk.path(at));
                jobs.push((Job::Done(Ok(Written::Same(stamp))), Job::Done(Ok(Made::same()))));
                continue;
            }
            let (desk, copy) = (&desk, &copy);
            let draft = Job::start(scope, bytes.len(), move || desk.write(at, bytes));
            let added = Job::start(scope, bytes.len(), move || copy.add(COLLECTIONS[at], desk.needed(at, bytes)));
            jobs.push((draft, added));
        }
        meter().end();
        jobs.into_iter().map(|(draft, added)| Ok((draft.end()?, added.end()?))).collect::<Result<Vec<_>>>()
    })?;
    let rendered = rendered.map(|part| part.into_inner().unwrap_or_default());
    let counts = rendered.each_ref().map(|(_, count)| *count);
    let (mut contents, mut all_made, mut is_any_new) = (Contents::default(), Vec::new(), false);
    for ((slot, (bytes, _)), (written, made)) in contents.iter_mut().zip(rendered).zip(written) {
        all_made.push(made);
        *slot = written.stamp().map(|stamp| Content { bytes, stamp });
        if let Written::Draft(draft) = written {
            draft.publish()?;
            is_any_new = true;
        }
    }
    if is_any_new {
        files::sync_names(&place.dir)?;
    }
    let exported = if is_any_waiting { None } else { Moment::now(tx)? };
    let taken = Taken { exported: exported.as_ref(), ..Taken::from_files(&contents, &waiting) };
    copy.agree(cx, tx, place, &all_made, taken)?;
    Ok(Report::default().transfer(counts))
}

fn filled(slot: &OnceLock<Part>, part: Part) -> &Part {
    slot.get_or_init(|| part)
}

/// Where files are written.
struct Desk<'e> {
    place: &'e Place,
    drafts: PathBuf,
    waiting: &'e Waiting,
}

/// What an export made of a file.
enum Written {
    /// There is none, and none is needed.
    Nothing,
    /// It is what it was.
    Same(Option<Stamp>),
    Draft(Draft),
}

impl Written {
    /// The file that there is in the end, if there is one.
    fn stamp(&self) -> Option<Option<Stamp>> {
        match self {
            Written::Nothing => None,
            Written::Same(stamp) => Some(*stamp),
            Written::Draft(draft) => Some(Some(draft.stamp)),
        }
    }
}

impl Desk<'_> {
    /// The lines of a file, unless it is one that is not there and may be missing: most stores never delete anything.
    fn needed<'b>(&self, at: usize, bytes: &'b [u8]) -> Option<&'b [u8]> {
        let is_empty = bytes.is_empty() && self.waiting[at].is_empty();
        let is_none = COLLECTIONS[at].is_optional() && is_empty && !self.path(at).exists();
        (!is_none).then_some(bytes)
    }

    fn path(&self, at: usize) -> PathBuf {
        files::path_of(&self.place.dir, COLLECTIONS[at])
    }

    fn write(&self, at: usize, bytes: &[u8]) -> Result<Written> {
        if self.needed(at, bytes).is_none() {
            return Ok(Written::Nothing);
        }
        let (path, waiting) = (self.path(at), &self.waiting[at]);
        let with_them = if waiting.is_empty() { None } else { Some(joined(COLLECTIONS[at], bytes, waiting)?) };
        let bytes = with_them.as_deref().unwrap_or(bytes);
        match files::read_if_long(&path, bytes.len())? {
            Some(same) if same.bytes == bytes => Ok(Written::Same(same.stamp)),
            _ => Draft::write(&self.drafts, &path, bytes).map(Written::Draft),
        }
    }
}

fn changed_meanwhile(place: &Place) -> Error {
    Error::new(Code::Busy, format!("the files in {} changed while they were exported", place.dir.display()))
        .hint("try again")
}

/// Has git take the files of a place into the next commit.
pub(crate) fn stage(place: &Place, with_events: bool) -> Result<()> {
    let events = with_events.then(|| place.dir.join(EVENTS_FILE));
    let all = files::paths(&place.dir).into_iter().chain(events);
    git::stage(&place.project, &all.filter(|path| path.exists()).collect::<Vec<_>>())
}

/// The lines that wait for an issue which has not arrived, nor was deleted.
fn still_waiting(tx: &Tx<'_>, known: &Known) -> Result<Waiting> {
    let mut waiting = known.waiting()?;
    for (bytes, table) in waiting.iter_mut().zip(TABLES) {
        let mut kept = Vec::new();
        for line in lines(bytes) {
            let record = table.collection().read(line.text)?;
            let is_here = table.get(tx, &table.collection().key(&record))?.is_some();
            if !is_here && awaits(tx, table, &record)? {
                kept.extend([line.text, b"\n"].concat());
            }
        }
        *bytes = kept;
    }
    Ok(waiting)
}

fn awaits(tx: &Tx<'_>, table: &dyn Table, record: &Record) -> Result<bool> {
    for id in table.rests_on(record) {
        if issues::get(tx, &id.parse()?)?.is_none() && tombstones::get(tx, ISSUES.name, &id)?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Lines of two sources in the order of the file.
fn joined(collection: &Collection, one: &[u8], other: &[u8]) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    for line in lines(one).chain(lines(other)) {
        all.push((collection.place(&collection.read(line.text)?), line.text));
    }
    all.sort();
    Ok(all.into_iter().flat_map(|(_, text)| [text, b"\n"].concat()).collect())
}

/// The files that differ from what an export would write.
pub(crate) fn check(store: &StoreDir, tx: &Tx<'_>, place: &Place) -> Result<Transfer> {
    let (rendered, on_disk) = (render(tx)?, place.contents()?);
    let known = agreed::last(store, tx, place)?;
    let waiting = known.map_or_else(|| Ok(Waiting::default()), |known| still_waiting(tx, &known))?;
    let mut drifted = Vec::new();
    for ((((bytes, _), was), collection), waiting) in rendered.iter().zip(&on_disk).zip(COLLECTIONS).zip(&waiting) {
        let with_them = if waiting.is_empty() { None } else { Some(joined(collection, bytes, waiting)?) };
        let bytes = with_them.as_ref().unwrap_or(bytes);
        let missing_is_fine = collection.is_optional() && bytes.is_empty();
        let same = was.as_ref().map_or(missing_is_fine, |was| was.bytes == *bytes);
        if !same {
            drifted.push(collection.file_name());
        }
    }
    Ok(Transfer { drifted, ..Report::default().transfer(rendered.map(|(_, count)| count)) })
}
