//! The journal: every committed transaction as one line of JSON, in files outside the database.
//!
//! Written by whoever holds the writer's ticket. What a line does to the tables is left to `replay`.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use pensa_core::similar::{hash64, hash64_on};
use pensa_core::{Error, Result};
use serde::Deserialize;
use serde_json::Value;

use crate::error;
use crate::store::StoreDir;

const DIR: &str = "journal";
/// A segment that has grown to this is finished, and another begun.
const SEGMENT_BYTES: u64 = 4 << 20;
/// A transaction with more than this is kept by a backup instead of a line, which costs less, unless the store is large.
pub(crate) const MAX_ITEMS: usize = 32 << 20;
/// Longest line that is read.
const MAX_LINE: u64 = 64 << 20;
/// A line with more than this may be too long to be read, whatever else stands in it.
pub(crate) const MAX_WRITTEN: usize = 63 << 20;
/// How a line begins.
const OPENING: &[u8] = b"{\"items\":[";
/// Items that are longer than this are written as they are, rather than copied into one piece with the rest of a line.
const WRITTEN_WHOLE: usize = 64 << 10;
/// The end of a line, which says how far the log has come, fits into this.
const TRAILER: u64 = 160;
/// How much is read at once on the way back to the last whole line.
const STEP: u64 = 64 << 10;
/// How an item begins that puts a whole other state in place of all before it.
const BOUNDARY: &[u8] = b"[\"restored\",{\"from\":";

/// The journal of a store. Remembers its end, so that a process that stays does not look for it each time.
#[derive(Debug)]
pub(crate) struct Journal {
    store: StoreDir,
    end: RefCell<Option<End>>,
}

/// The end of the journal.
#[derive(Debug)]
struct End {
    file: File,
    /// Bytes of whole lines.
    whole: u64,
    /// Bytes in the file: more, if the last line is torn.
    bytes: u64,
    last: i64,
    /// Whether there is room on the disk for a line to come.
    reserved: bool,
}

/// What one transaction did, in order.
#[derive(Debug, Deserialize)]
pub(crate) struct Entry {
    pub(crate) items: Vec<(String, Value)>,
    /// The last event before it.
    pub(crate) before: i64,
    /// Its last event.
    pub(crate) last: i64,
}

/// A line of the journal, or that there is one which cannot be read.
#[derive(Debug)]
pub(crate) enum Line {
    Entry(Entry),
    Unreadable,
}

/// A place where everything was replaced by the contents of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Boundary {
    /// The last event before it.
    pub(crate) before: i64,
    /// Its last event.
    pub(crate) last: i64,
    /// The file's name among the backups.
    pub(crate) from: String,
}

impl Journal {
    pub(crate) fn new(store: &StoreDir) -> Self {
        Self { store: store.clone(), end: RefCell::new(None) }
    }

    /// The number of the last event in the journal; 0 if there is none. `expected` is the number that the database
    /// has: if that is how the journal ended when it was last looked at, nobody has written since.
    pub(crate) fn last(&self, expected: i64) -> Result<i64> {
        if let Some(end) = &*self.end.borrow()
            && end.last == expected
            && end.file.metadata().is_ok_and(|meta| meta.len() == end.bytes && meta.nlink() > 0)
        {
            return Ok(end.last);
        }
        let found = find_end(&self.store)?;
        let last = found.as_ref().map_or(0, |end| end.last);
        *self.end.borrow_mut() = found;
        Ok(last)
    }

    /// Appends what a transaction did; `items` are JSON, with commas between them. Says whether a segment was finished.
    ///
    /// Not synced: the database was. This must outlive a killed process and a lost database, not a power cut besides.
    pub(crate) fn append(&self, before: i64, last: i64, items: &[u8]) -> Result<bool> {
        self.append_summed(before, last, items, begin_sum(items))
    }

    /// The same of items whose part of the line's sum is known.
    pub(crate) fn append_summed(&self, before: i64, last: i64, items: &[u8], begun: u64) -> Result<bool> {
        self.last(before)?;
        let mut slot = self.end.borrow_mut();
        let is_full = slot.as_ref().is_some_and(|end| end.whole >= SEGMENT_BYTES && !end.reserved);
        if is_full && let Some(full) = slot.take() {
            full.file.sync_data().map_err(|e| self.failed(&e))?;
        }
        let mut end = match slot.take() {
            Some(end) => end,
            None => self.begin_segment(before)?,
        };
        let rest = rest(before, last, begun);
        let written = (|| {
            if end.bytes > end.whole {
                end.file.set_len(end.whole)?;
            }
            if items.len() < WRITTEN_WHOLE {
                return end.file.write_all(&[OPENING, items, &rest].concat());
            }
            [OPENING, items, &rest].into_iter().try_for_each(|part| end.file.write_all(part))
        })();
        if let Err(e) = written {
            let _ = end.file.set_len(end.whole);
            return Err(self.failed(&e));
        }
        end.whole += (OPENING.len() + items.len() + rest.len()) as u64;
        (end.bytes, end.last, end.reserved) = (end.whole, last, false);
        *slot = Some(end);
        Ok(is_full)
    }

    /// Takes room on the disk for a line with so many bytes of items, after event `before`: it can be appended whatever
    /// becomes of the rest of the disk.
    pub(crate) fn reserve(&self, before: i64, items: usize) -> Result<()> {
        self.last(before)?;
        let mut slot = self.end.borrow_mut();
        let mut end = match slot.take() {
            Some(end) => end,
            None => self.begin_segment(before)?,
        };
        let reserved = (|| {
            if end.bytes > end.whole {
                // To cut off a torn line later would give the room back.
                end.file.set_len(end.whole)?;
                end.bytes = end.whole;
            }
            allocate(&end.file, end.whole, OPENING.len() as u64 + items as u64 + TRAILER)
        })();
        end.reserved = reserved.is_ok();
        *slot = Some(end);
        reserved.map_err(|e| self.failed(&e))
    }

    /// Gives back the room for a line that is not to come.
    pub(crate) fn release(&self) {
        if let Some(end) = self.end.borrow_mut().as_mut().filter(|end| end.reserved) {
            let _ = end.file.set_len(end.whole);
            (end.bytes, end.reserved) = (end.whole, false);
        }
    }

    fn begin_segment(&self, before: i64) -> Result<End> {
        let dir = self.store.durable_dir(DIR)?;
        let path = dir.join(segment_name(before + 1));
        let begun = (|| {
            let file = open_segment(&path, true)?;
            File::open(&dir)?.sync_all()?;
            let bytes = file.metadata()?.len();
            Ok(End { file, whole: bytes, bytes, last: before, reserved: false })
        })();
        begun.map_err(|e| error::io("write", &path, &e))
    }

    fn failed(&self, e: &io::Error) -> Error {
        error::io("write", &dir(&self.store), e)
    }
}

pub(crate) fn dir(store: &StoreDir) -> PathBuf {
    store.durable().join(DIR)
}

/// Takes room for bytes that are yet to be written, where that is possible.
#[cfg(target_os = "linux")]
fn allocate(file: &File, start: u64, bytes: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    match fallocate(file, FallocateFlags::KEEP_SIZE, start, bytes) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        done => Ok(done?),
    }
}

#[cfg(not(target_os = "linux"))]
fn allocate(_: &File, _: u64, _: u64) -> io::Result<()> {
    Ok(())
}

fn segment_name(first: i64) -> String {
    format!("{first:015}.jsonl")
}

fn open_segment(path: &Path, create: bool) -> io::Result<File> {
    let nofollow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    OpenOptions::new().read(true).append(true).create(create).mode(0o600).custom_flags(nofollow).open(path)
}

/// The sum of a line as far as its items go.
pub(crate) fn begin_sum(items: &[u8]) -> u64 {
    hash64_on(hash64(OPENING), items)
}

/// What follows the items of a line.
fn rest(before: i64, last: i64, begun: u64) -> Vec<u8> {
    let numbers = format!("],\"before\":{before},\"last\":{last}");
    let sum = hash64_on(begun, numbers.as_bytes());
    format!("{numbers},\"sum\":\"{sum:016x}\"}}\n").into_bytes()
}

/// The segments by the number of their first event, in order.
pub(crate) fn segments(store: &StoreDir) -> Result<Vec<(i64, PathBuf)>> {
    let dir = dir(store);
    let listed = match fs::read_dir(&dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed.map_err(|e| error::io("read", &dir, &e))?,
    };
    let mut found = Vec::new();
    for entry in listed {
        let path = entry.map_err(|e| error::io("read", &dir, &e))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".jsonl"));
        if let Some(first) = name.and_then(|digits| digits.parse().ok()) {
            found.push((first, path));
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn find_end(store: &StoreDir) -> Result<Option<End>> {
    let Some((first, path)) = segments(store)?.pop() else { return Ok(None) };
    let found = (|| {
        // A store that can only be read has an end too.
        let mut file = open_segment(&path, false).or_else(|_| File::open(&path))?;
        let bytes = file.metadata()?.len();
        let mut whole = bytes;
        while whole > 0 {
            if let Some(last) = trailer(&mut file, whole)? {
                return Ok(End { file, whole, bytes, last, reserved: false });
            }
            whole = line_before(&mut file, whole)?;
        }
        Ok(End { file, whole, bytes, last: first - 1, reserved: false })
    })();
    found.map(Some).map_err(|e: io::Error| error::io("read", &path, &e))
}

/// The number at the end of the line that ends at `end`, if it is whole.
fn trailer(file: &mut File, end: u64) -> io::Result<Option<i64>> {
    let start = end.saturating_sub(TRAILER);
    let mut bytes = vec![0; usize::try_from(end - start).unwrap_or_default()];
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let last = || text.strip_suffix("\"}\n")?.rsplit_once(",\"last\":")?.1.split_once(",\"sum\":\"");
    Ok(last().filter(|(_, sum)| sum.len() == 16).and_then(|(last, _)| last.parse().ok()))
}

/// Where the line before the one that ends at `end` ends; 0 if there is none.
fn line_before(file: &mut File, end: u64) -> io::Result<u64> {
    let mut until = end.saturating_sub(1);
    while until > 0 {
        let start = until.saturating_sub(STEP);
        let mut bytes = vec![0; usize::try_from(until - start).unwrap_or_default()];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut bytes)?;
        if let Some(at) = bytes.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        until = start;
    }
    Ok(0)
}

/// Hands the lines that hold events after `after`, or changes without any, to `each`.
pub(crate) fn read(store: &StoreDir, after: i64, mut each: impl FnMut(Line) -> Result<()>) -> Result<()> {
    let mut unreadable = 0;
    read_raw(store, after, |bytes| {
        let Some(sound) = whole(bytes) else { return Ok(()) };
        match sound.then(|| serde_json::from_slice::<Entry>(bytes).ok()).flatten() {
            // What stands before it is not wanted either, whether it can be read or not.
            Some(entry) if entry.last <= after && entry.before < after => unreadable = 0,
            Some(entry) => {
                (0..std::mem::take(&mut unreadable)).try_for_each(|_| each(Line::Unreadable))?;
                each(Line::Entry(entry))?;
            }
            None => unreadable += 1,
        }
        Ok(())
    })?;
    (0..unreadable).try_for_each(|_| each(Line::Unreadable))
}

/// The last place where everything was replaced.
pub(crate) fn last_boundary(store: &StoreDir) -> Result<Option<Boundary>> {
    let mut found = None;
    read_raw(store, 0, |bytes| {
        let has_one = || bytes.windows(BOUNDARY.len()).any(|window| window == BOUNDARY);
        if whole(bytes) == Some(true)
            && has_one()
            && let Ok(Entry { items, before, last }) = serde_json::from_slice::<Entry>(bytes)
        {
            let from = items.iter().rev().find(|(kind, _)| kind == "restored").and_then(|(_, to)| to["from"].as_str());
            found = from.map(|from| Boundary { before, last, from: from.to_owned() }).or(found.take());
        }
        Ok(())
    })?;
    Ok(found)
}

/// Whether a line is as it was written; nothing for the torn one at the very end.
fn whole(line: &[u8]) -> Option<bool> {
    let body = line.strip_suffix(b"\n")?;
    let split = body.len().checked_sub(b",\"sum\":\"0123456789abcdef\"}".len());
    let sound = split.is_some_and(|at| {
        let (covered, rest) = body.split_at(at);
        rest == format!(",\"sum\":\"{:016x}\"}}", hash64(covered)).as_bytes()
    });
    Some(sound)
}

fn read_raw(store: &StoreDir, after: i64, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let segments = segments(store)?;
    for (at, (_, path)) in segments.iter().enumerate() {
        if segments.get(at + 1).is_some_and(|(next, _)| *next <= after) {
            continue;
        }
        let failed = |e: io::Error| error::io("read", path, &e);
        let mut lines = BufReader::new(File::open(path).map_err(failed)?);
        let mut line = Vec::new();
        while lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).map_err(failed)? > 0 {
            each(&line)?;
            line.clear();
        }
    }
    Ok(())
}

/// An event by its number, if the journal has it.
pub(crate) fn event(store: &StoreDir, number: i64) -> Result<Option<Value>> {
    let mut found = None;
    read(store, number - 1, |line| {
        if let Line::Entry(entry) = line
            && found.is_none()
            && entry.last >= number
        {
            let is_it = |(kind, event): &(String, Value)| kind == "event" && event["id"].as_i64() == Some(number);
            found = entry.items.into_iter().find(is_it).map(|(_, event)| event);
        }
        Ok(())
    })?;
    Ok(found)
}

/// Whether there is a journal with anything in it.
pub(crate) fn any(store: &StoreDir) -> bool {
    let has_bytes = |(_, path): &(i64, PathBuf)| fs::metadata(path).is_ok_and(|meta| meta.len() > 0);
    segments(store).is_ok_and(|segments| segments.iter().any(has_bytes))
}

/// How many bytes of the journal come after event `event`, counted in whole segments.
pub(crate) fn bytes_after(store: &StoreDir, event: i64) -> Result<u64> {
    let late = segments(store)?.into_iter().filter(|(first, _)| *first > event);
    Ok(late.filter_map(|(_, path)| fs::metadata(path).ok()).map(|meta| meta.len()).sum())
}

/// The segments that hold nothing after event `event`, in order; never the last.
pub(crate) fn segments_until(store: &StoreDir, event: i64) -> Result<Vec<PathBuf>> {
    let segments = segments(store)?;
    let behind = segments.windows(2).filter(|pair| pair[1].0 <= event + 1);
    Ok(behind.map(|pair| pair[0].1.clone()).collect())
}

/// Deletes the segments that hold nothing after event `event`.
pub(crate) fn forget_until(store: &StoreDir, event: i64) -> Result<()> {
    for path in segments_until(store, event)? {
        fs::remove_file(&path).map_err(|e| error::io("delete", &path, &e))?;
    }
    Ok(())
}

/// What a look at the whole journal finds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Health {
    pub(crate) last: i64,
    /// Lines that are not as they were written.
    pub(crate) unreadable: usize,
    /// Events that are missing between two lines, as first and last number, and not known to be missing.
    pub(crate) gaps: Vec<(i64, i64)>,
    pub(crate) torn: bool,
}

/// Looks at the journal after event `after`.
pub(crate) fn health(store: &StoreDir, after: i64) -> Result<Health> {
    let mut health = Health::default();
    let mut known = None;
    let mut unreadable = 0;
    read_raw(store, after, |bytes| {
        let Some(sound) = whole(bytes) else { return Ok(()) };
        let Some(entry) = sound.then(|| serde_json::from_slice::<Entry>(bytes).ok()).flatten() else {
            unreadable += 1;
            return Ok(());
        };
        if entry.last <= after {
            // Whatever is wrong up to here, the backup has it.
            unreadable = 0;
            known = Some(entry.last);
            return Ok(());
        }
        let told = entry.items.first().is_some_and(|(kind, _)| kind == "gap" || kind == "restored");
        if let Some(known) = known
            && entry.before != known.max(after)
            && !told
        {
            health.gaps.push((known + 1, entry.before));
        }
        known = Some(entry.last);
        Ok(())
    })?;
    health.unreadable = unreadable;
    let end = find_end(store)?;
    health.last = end.as_ref().map_or(0, |end| end.last);
    health.torn = end.is_some_and(|end| end.bytes > end.whole);
    Ok(health)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (StoreDir, tempfile::TempDir) {
        let dir = tempfile::tempdir().expect("a directory");
        (StoreDir::create(&dir.path().join(StoreDir::NAME)).expect("a store").0, dir)
    }

    fn numbers(store: &StoreDir, after: i64) -> Vec<(i64, i64)> {
        let mut found = Vec::new();
        read(store, after, |line| {
            match line {
                Line::Entry(entry) => found.push((entry.before, entry.last)),
                Line::Unreadable => found.push((-1, -1)),
            }
            Ok(())
        })
        .expect("read");
        found
    }

    #[test]
    fn lines_come_back_in_order_and_the_end_is_known_to_every_handle() {
        let (store, _dir) = store();
        let journal = Journal::new(&store);
        assert_eq!(journal.last(0).expect("an end"), 0);
        for n in 0..5 {
            journal.append(n, n + 1, format!("[\"x\",{{\"n\":{n}}}]").as_bytes()).expect("appended");
        }
        assert_eq!(Journal::new(&store).last(0).expect("an end"), 5);
        assert_eq!(numbers(&store, 0), [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]);
        assert_eq!(numbers(&store, 3), [(3, 4), (4, 5)]);
    }

    #[test]
    fn room_is_taken_behind_whole_lines_and_given_back() {
        let (store, _dir) = store();
        let journal = Journal::new(&store);
        journal.append(0, 1, b"[\"x\",{}]").expect("appended");
        let path = segments(&store).expect("listed").remove(0).1;
        let whole = fs::metadata(&path).expect("a file").len();
        OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(b"{\"items\":[torn"))
            .expect("torn");
        journal.reserve(1, 1 << 20).expect("reserved");
        assert_eq!(fs::metadata(&path).expect("a file").len(), whole, "a torn line is cut before, not after");
        journal.release();
        assert_eq!(fs::metadata(&path).expect("a file").len(), whole);
        assert!(fs::metadata(&path).expect("a file").blocks() * 512 < 1 << 20, "the room is free again");
        journal.reserve(1, 8).expect("reserved");
        journal.append(1, 2, b"[\"y\",{}]").expect("appended");
        assert_eq!(Journal::new(&store).last(0).expect("an end"), 2);
        assert_eq!(numbers(&store, 0), [(0, 1), (1, 2)]);
    }

    #[test]
    fn a_line_torn_at_any_offset_is_cut_by_the_next() {
        let (store, _dir) = store();
        let journal = Journal::new(&store);
        journal.append(0, 2, b"[\"x\",{}]").expect("appended");
        let path = segments(&store).expect("listed").remove(0).1;
        let first = fs::metadata(&path).expect("a file").len();
        journal.append(2, 3, b"[\"y\",{\"text\":\"some\"}]").expect("appended");
        let both = fs::read(&path).expect("a file");
        for cut in first..both.len() as u64 {
            fs::write(&path, &both[..usize::try_from(cut).expect("small")]).expect("torn");
            let journal = Journal::new(&store);
            assert_eq!(journal.last(3).expect("an end"), 2, "{cut}");
            assert_eq!(numbers(&store, 0), [(0, 2)], "{cut}");
            assert_eq!(health(&store, 0).expect("looked").torn, cut > first);
            journal.append(2, 4, b"[\"z\",{}]").expect("appended");
            assert_eq!(numbers(&store, 0), [(0, 2), (2, 4)], "{cut}");
        }
    }

    #[test]
    fn a_changed_byte_is_noticed_and_spoils_one_line_only() {
        let (store, _dir) = store();
        let journal = Journal::new(&store);
        for n in 0..3 {
            journal.append(n, n + 1, b"[\"x\",{\"text\":\"some\"}]").expect("appended");
        }
        let path = segments(&store).expect("listed").remove(0).1;
        let good = fs::read(&path).expect("a file");
        let line = good.len() / 3;
        for at in line..2 * line - 1 {
            let mut bad = good.clone();
            bad[at] ^= 0x04;
            fs::write(&path, &bad).expect("written");
            assert_eq!(numbers(&store, 0).iter().filter(|pair| **pair != (-1, -1)).count(), 2, "{at}");
        }
    }

    #[test]
    fn segments_are_begun_as_they_fill_and_forgotten_behind_a_backup() {
        let (store, _dir) = store();
        let journal = Journal::new(&store);
        let items = format!("[\"x\",\"{}\"]", "t".repeat(1 << 20));
        for n in 0..20 {
            journal.append(n, n + 1, items.as_bytes()).expect("appended");
        }
        let count = || segments(&store).expect("listed").len();
        assert!((4..=6).contains(&count()), "{}", count());
        forget_until(&store, 10).expect("forgotten");
        assert!(count() < 5 && numbers(&store, 10).len() == 10, "{}", count());
        assert!(bytes_after(&store, 0).expect("counted") > 10 << 20);
    }
}
