//! Takes in what another store has: the same merge as that of files, with a base for each record.

use pensa_core::ops::sync::{Changed, Changes, Fate, MAX_ENTRIES, Outcome, Sent, Take, Taken};
use pensa_core::sync::{AGENTS, COMMENTS, Collection, DEPS, ISSUES, Record, TOMBSTONES, Tombstone};
use pensa_core::{Access, Code, Error, Result};
use serde_json::Value;

use super::base::Base;
use super::books::{Books, Came};
use super::cursor::{Cursor, Place};
use super::feed::{self, Found};
use super::import::Report;
use super::shared::{self, Table};
use super::take::{self, Incoming, Taking};
use crate::context::Context;
use crate::db::Tx;
use crate::tables::{issues, tombstones};

/// A page of what changed.
pub(crate) fn changes(cx: &Context<'_>, tx: &Tx<'_>, op: &Changes) -> Result<Changed> {
    let limit = op.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(feed::USUAL).clamp(1, feed::USUAL);
    let page = feed::page(tx, op.after.as_deref(), limit)?;
    let sent = |Found { collection, id, line }: Found| {
        line.map(|line| Sent { collection: collection.to_owned(), id, line, base: None })
    };
    Ok(Changed {
        store_id: cx.store.id()?,
        entries: page.found.into_iter().filter_map(sent).collect(),
        cursor: page.cursor.to_string(),
        more: page.more,
        looked_at: page.looked_at,
        restarted: page.restarted,
    })
}

/// A record that was handed over.
struct Item {
    collection: Option<&'static Collection>,
    record: Record,
    base: Option<Record>,
    /// The line as this version writes it.
    line: String,
    fate: Fate,
}

/// Takes in records, and notes in the books what that means.
pub(crate) fn take(cx: &Context<'_>, tx: &Tx<'_>, op: &Take) -> Result<Taken> {
    if op.entries.len() > MAX_ENTRIES {
        let told = format!("{} records at once; the limit is {MAX_ENTRIES}", op.entries.len());
        return Err(Error::new(Code::TooLarge, told).hint("send them in parts"));
    }
    let before = Place::end(tx)?;
    // Whoever keeps the books here brings what others did there.
    let carrier = op.peer.as_ref().map(|_| cx.as_carrier());
    let cx = carrier.as_ref().unwrap_or(cx);
    let books = op.peer.as_ref().map(|progress| Books::open(tx, progress)).transpose()?;
    let mut items = Vec::with_capacity(op.entries.len());
    for entry in &op.entries {
        let read = |e: Error| e.within(format_args!("{} {}", entry.collection, entry.id));
        items.push(Item::read(tx, entry, books.as_ref()).map_err(read)?);
    }
    let (mut report, no_files) = (Report::default(), Base::default());
    merge(&mut Desk { cx, tx, items: &mut items, may_hold: books.is_none() }, &no_files, &mut report)?;
    let changed = Place::end(tx)?.event - before.event;
    let outcomes = outcomes(tx, &op.entries, &mut items, books.as_ref())?;
    let mut taken = Taken {
        outcomes,
        changed,
        conflicts: report.conflicts,
        notes: report.notes,
        renamed: report.renamed,
        before: Cursor::Log(before).to_string(),
        after: String::new(),
        turn: 0,
        pulled: None,
    };
    if let (Some(books), Some(progress)) = (books, &op.peer) {
        progress.held.iter().try_for_each(|named| books.hold(tx, named))?;
        progress.gone.iter().try_for_each(|named| books.forget(tx, named))?;
        let is_grave = |item: &Item| item.collection.is_some_and(|it| it.name == TOMBSTONES.name);
        let is_plain = !taken.renamed && !items.iter().any(is_grave);
        let waits = items.iter().any(|item| item.fate == Fate::Waits);
        let row = books.close(cx, tx, progress, Came { before, waits, is_plain })?;
        (taken.turn, taken.pulled) = (row.turn, row.pulled);
    }
    taken.after = Cursor::Log(Place::end(tx)?).to_string();
    Ok(taken)
}

impl Item {
    fn read(tx: &Tx<'_>, entry: &Sent, books: Option<&Books>) -> Result<Self> {
        let collection = Collection::named(&entry.collection);
        let Some(known) = collection else {
            return Ok(Self {
                collection,
                record: Record::new(),
                base: None,
                line: String::new(),
                fate: Fate::Unknown,
            });
        };
        let record = known.read(entry.line.as_bytes())?;
        if known.key(&record) != entry.id {
            return Err(Error::invalid(format!("its line is that of {}", known.key(&record))));
        }
        if !known.carries(&entry.id) {
            return Err(Error::invalid("it is one of a machine, which does not travel"));
        }
        let base = match (&entry.base, books) {
            (Some(base), _) => Some(base.clone()),
            (None, Some(books)) => books.base(tx, known.name, &entry.id)?,
            (None, None) => None,
        };
        let base = base.map(|line| known.read(line.as_bytes())).transpose()?;
        let base = base.filter(|base| known.birth(base) == known.birth(&record) && known.key(base) == entry.id);
        let line = String::from_utf8(known.write(record.clone())?).map_err(Error::internal)?;
        Ok(Self { collection, record, base, line, fate: Fate::Waits })
    }

    fn is_in(&self, collection: &Collection) -> bool {
        self.collection.is_some_and(|own| own.name == collection.name)
    }
}

/// What is taken in, by whom.
struct Desk<'d, 'c> {
    cx: &'d Context<'c>,
    tx: &'d Tx<'c>,
    items: &'d mut [Item],
    /// Whether what the caller may not do is told as such instead of refusing all of it.
    may_hold: bool,
}

/// Merges all of it, in the order of an import.
fn merge(desk: &mut Desk<'_, '_>, no_files: &Base, report: &mut Report) -> Result<()> {
    let (cx, tx) = (desk.cx, desk.tx);
    let buried = take::bury(cx, tx, desk.tombstones()?)?;
    let mut taking = Taking::exact(cx, tx, no_files, report);
    for table in shared::all() {
        let mut left: Vec<usize> =
            (0..desk.items.len()).filter(|at| desk.items[*at].is_in(table.collection())).collect();
        // The older of two with one id keeps it, and has to be there first.
        left.sort_by_key(|at| table.collection().birth(&desk.items[*at].record).to_owned());
        loop {
            let waiting = desk.records(table, &mut taking, &left)?;
            if waiting.is_empty() || waiting.len() == left.len() {
                break;
            }
            left = waiting;
        }
        if table.collection().name == DEPS.name {
            let taken = desk.items.iter().filter(|item| item.is_in(&DEPS) && item.fate == Fate::Taken);
            let keys: Vec<(usize, String)> = taken.map(|item| (0, DEPS.key(&item.record))).collect();
            taking.tell_cycles(&keys)?;
        }
        for tombstone in buried.iter().filter(|tombstone| tombstone.collection == table.collection().name) {
            taking.remove_dead(table, tombstone)?;
        }
    }
    Ok(())
}

impl Desk<'_, '_> {
    /// The tombstones that the caller may bring. To delete needs the same rights as without a second store.
    fn tombstones(&mut self) -> Result<Vec<Tombstone>> {
        let mut brought = Vec::new();
        for at in 0..self.items.len() {
            if !self.items[at].is_in(&TOMBSTONES) {
                continue;
            }
            let theirs = take::tombstone(self.items[at].record.clone())?;
            let known = tombstones::get(self.tx, &theirs.collection, &theirs.id)?;
            let is_news = match &known {
                None => true,
                Some(known) => take::both(known, theirs.clone())? != *known,
            };
            let needs = shared::of(&theirs.collection).map_or(Access::Maintain, |table| table.collection().removal);
            let is_fine = !is_news || self.may(needs, "taking in a deletion")?;
            self.items[at].fate = if is_fine { Fate::Taken } else { Fate::Refused };
            if is_fine {
                brought.push(theirs);
            }
        }
        Ok(brought)
    }

    fn may(&self, needs: Access, what: &str) -> Result<bool> {
        match self.cx.require(needs, what) {
            Ok(()) => Ok(true),
            Err(e) if self.may_hold && e.code == Code::Forbidden => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Takes in records of one table; gives back those that wait for others.
    fn records(
        &mut self,
        table: &'static dyn Table,
        taking: &mut Taking<'_, '_>,
        some: &[usize],
    ) -> Result<Vec<usize>> {
        let mut waiting = Vec::new();
        for at in some.iter().copied() {
            let mut record = self.items[at].record.clone();
            taking.follow(table, &mut record)?;
            if self.awaits(table, taking, &mut record)? {
                waiting.push(at);
            } else if !self.may_change(table, &record)? {
                self.items[at].fate = Fate::Refused;
            } else {
                taking.one(table, self.items[at].base.as_ref(), Incoming { line: at, record })?;
                self.items[at].fate = Fate::Taken;
            }
        }
        Ok(waiting)
    }

    /// Whether a record rests on an issue that has not arrived. One that was deleted will not.
    fn awaits(&self, table: &'static dyn Table, taking: &Taking<'_, '_>, record: &mut Record) -> Result<bool> {
        let bug = record.get("fixes").and_then(Value::as_str).filter(|_| table.collection().name == ISSUES.name);
        if let Some(bug) = bug.map(str::to_owned)
            && issues::get(self.tx, &bug.parse()?)?.is_none()
        {
            if tombstones::get(self.tx, ISSUES.name, &bug)?.is_none() {
                return Ok(true);
            }
            record.remove("fixes");
        }
        let parent = record.get("parent_id").and_then(Value::as_str).filter(|_| table.collection().name == AGENTS.name);
        if let Some(parent) = parent.map(str::to_owned)
            && table.get(self.tx, &parent)?.is_none()
        {
            if tombstones::get(self.tx, AGENTS.name, &parent)?.is_none() {
                return Ok(true);
            }
            record.shift_remove("parent_id");
        }
        match taking.missing(table, record)? {
            Some(missing) => Ok(tombstones::get(self.tx, ISSUES.name, &missing)?.is_none()),
            None => Ok(false),
        }
    }

    /// What nobody can edit is not edited in this way either.
    fn may_change(&self, table: &'static dyn Table, record: &Record) -> Result<bool> {
        let collection = table.collection();
        if collection.version_field().is_some() {
            return Ok(true);
        }
        let ours = table.get(self.tx, &collection.key(record))?;
        let is_edit = ours.is_some_and(|ours| ours != *record && collection.birth(&ours) == collection.birth(record));
        let what = if collection.name == COMMENTS.name { "changing a comment" } else { "changing what is settled" };
        Ok(!is_edit || self.may(Access::Maintain, what)?)
    }
}

/// What became of each, noted in the books.
fn outcomes(tx: &Tx<'_>, entries: &[Sent], items: &mut [Item], books: Option<&Books>) -> Result<Vec<Outcome>> {
    let mut outcomes = Vec::with_capacity(items.len());
    for (item, entry) in items.iter_mut().zip(entries) {
        let (Some(collection), Fate::Taken) = (item.collection, item.fate) else {
            // What the other has taken and gave back, but cannot be taken here yet, is sent again.
            if let (Some(books), Fate::Waits, true) = (books, item.fate, entry.base.is_some()) {
                books.hold(tx, &entry.named())?;
            }
            outcomes.push(Outcome { fate: item.fate, line: None });
            continue;
        };
        let here = feed::line(tx, collection.name, &entry.id)?;
        if let Some(books) = books {
            books.agree(tx, collection.name, &entry.id, &item.line, here.as_deref())?;
        }
        if here.is_none() {
            item.fate = Fate::Gone;
        }
        outcomes.push(Outcome { fate: item.fate, line: here.filter(|here| *here != item.line) });
    }
    Ok(outcomes)
}
