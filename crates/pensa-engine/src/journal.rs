//! The journal: each committed transaction as one JSON line, in files outside the database.
//!
//! A line has the events and changes of its operations in order. After those of each operation come the idempotency key
//! with its answer, and who ran the operation when. Only the process that holds the writer lock writes to the journal.
//! `replay` applies lines to the tables.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crc32fast::Hasher;
use pensa_core::{Error, Result};
use serde::Deserialize;
use serde_json::Value;

use crate::error;
use crate::store::StoreDir;

const DIR: &str = "journal";
/// When a segment reaches this size, the next one is started.
const SEGMENT_BYTES: u64 = 4 << 20;
/// Limit for a transaction's items. A larger transaction is covered by a backup instead of a line, which costs less
/// unless the store is large.
pub(crate) const MAX_ITEMS: usize = 32 << 20;
/// Longest line that can be read.
const MAX_LINE: u64 = 64 << 20;
/// Items larger than this could make the line too long to be read.
pub(crate) const MAX_WRITTEN: usize = 63 << 20;
/// The start of each line.
const OPENING: &[u8] = b"{\"v\":1,\"items\":[";
/// The start of lines in an unreleased format.
const UNRELEASED: &[u8] = b"{\"items\":[";
/// Items larger than this are written without copying them into one buffer with the rest of the line.
const WRITTEN_WHOLE: usize = 64 << 10;
/// Upper bound for the length of a line's end, which has the number of the last event.
const TRAILER: u64 = 160;
/// Block size for searching backwards for the last complete line.
const STEP: u64 = 64 << 10;
/// The start of an item that says: everything before was replaced by the content of a file.
const BOUNDARY: &[u8] = b"[\"restored\",{\"from\":";

/// The journal of a store. It caches its end, so that a long-running process does not search for it each time.
#[derive(Debug)]
pub(crate) struct Journal {
    store: StoreDir,
    end: RefCell<Option<JournalEnd>>,
}

/// The last segment, opened for appending.
#[derive(Debug)]
struct JournalEnd {
    file: File,
    /// Bytes of complete lines.
    whole: u64,
    /// File size; larger than `whole` if the last line is torn.
    bytes: u64,
    last: i64,
    /// Whether disk space is reserved for the next line.
    reserved: bool,
}

/// One committed transaction.
#[derive(Debug, Deserialize)]
pub(crate) struct JournalEntry {
    pub(crate) items: Vec<(String, Value)>,
    /// The last event before it.
    pub(crate) before: i64,
    /// Its last event.
    pub(crate) last: i64,
}

/// A line of the journal.
#[derive(Debug)]
pub(crate) enum JournalLine {
    Entry(JournalEntry),
    Unreadable,
}

/// A line after which the database is the content of a file, because the store was restored from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Boundary {
    /// The last event before it.
    pub(crate) before: i64,
    /// Its last event.
    pub(crate) last: i64,
    /// The name of that file in the backup directory.
    pub(crate) from: String,
}

impl Journal {
    pub(crate) fn new(store: &StoreDir) -> Self {
        Self { store: store.clone(), end: RefCell::new(None) }
    }

    /// The number of the last event in the journal; 0 if it is empty. `expected` is the last event in the database: if
    /// the cached end has the same number and the file is unchanged, no search is needed.
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

    /// Appends a transaction; `items` is JSON, separated by commas. Returns whether a segment was finished.
    ///
    /// The line is not synced to disk, because the database was. The journal must survive a killed process and a lost
    /// database, but not also a power failure.
    pub(crate) fn append(&self, before: i64, last: i64, items: &[u8]) -> Result<bool> {
        self.append_with_crc(before, last, items, begin_crc(items))
    }

    /// As [`append`](Self::append), with the checksum of the line's start up to the end of its items.
    pub(crate) fn append_with_crc(&self, before: i64, last: i64, items: &[u8], begun: Hasher) -> Result<bool> {
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

    /// Reserves disk space for a line with this many bytes of items, after event `before`, so that it can be appended
    /// even if the disk fills up.
    pub(crate) fn reserve(&self, before: i64, items: usize) -> Result<()> {
        self.last(before)?;
        let mut slot = self.end.borrow_mut();
        let mut end = match slot.take() {
            Some(end) => end,
            None => self.begin_segment(before)?,
        };
        let reserved = (|| {
            if end.bytes > end.whole {
                // Cutting off a torn line later would release the space.
                end.file.set_len(end.whole)?;
                end.bytes = end.whole;
            }
            allocate(&end.file, end.whole, OPENING.len() as u64 + items as u64 + TRAILER)
        })();
        end.reserved = reserved.is_ok();
        *slot = Some(end);
        reserved.map_err(|e| self.failed(&e))
    }

    /// Releases reserved space for a line that will not be written.
    pub(crate) fn release(&self) {
        if let Some(end) = self.end.borrow_mut().as_mut().filter(|end| end.reserved) {
            let _ = end.file.set_len(end.whole);
            (end.bytes, end.reserved) = (end.whole, false);
        }
    }

    fn begin_segment(&self, before: i64) -> Result<JournalEnd> {
        let dir = self.store.durable_dir(DIR)?;
        let path = dir.join(segment_name(before + 1));
        let begun = (|| {
            let file = open_segment(&path, true)?;
            File::open(&dir)?.sync_all()?;
            let bytes = file.metadata()?.len();
            Ok(JournalEnd { file, whole: bytes, bytes, last: before, reserved: false })
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

/// Reserves disk space beyond the end of a file, where the file system supports it.
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

/// Starts a line's checksum with its items.
pub(crate) fn begin_crc(items: &[u8]) -> Hasher {
    let mut crc = Hasher::new();
    crc.update(OPENING);
    crc.update(items);
    crc
}

/// The part of a line after its items.
fn rest(before: i64, last: i64, mut begun: Hasher) -> Vec<u8> {
    let numbers = format!("],\"before\":{before},\"last\":{last}");
    begun.update(numbers.as_bytes());
    format!("{numbers}{}\n", closing(begun.finalize())).into_bytes()
}

/// The end of a line, with its checksum.
fn closing(crc: u32) -> String {
    format!(",\"crc\":\"{crc:08x}\"}}")
}

/// All segments with the number of their first event, in order.
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

fn find_end(store: &StoreDir) -> Result<Option<JournalEnd>> {
    let Some((first, path)) = segments(store)?.pop() else { return Ok(None) };
    let found = (|| {
        // On a read-only store, open it for reading only.
        let mut file = open_segment(&path, false).or_else(|_| File::open(&path))?;
        let bytes = file.metadata()?.len();
        let mut opening = Vec::new();
        Read::by_ref(&mut file).take(UNRELEASED.len() as u64).read_to_end(&mut opening)?;
        if opening == UNRELEASED {
            return Ok(None);
        }
        let mut whole = bytes;
        while whole > 0 {
            if let Some(last) = trailer(&mut file, whole)? {
                return Ok(Some(JournalEnd { file, whole, bytes, last, reserved: false }));
            }
            whole = line_before(&mut file, whole)?;
        }
        Ok(Some(JournalEnd { file, whole, bytes, last: first - 1, reserved: false }))
    })();
    let end = found.map_err(|e: io::Error| error::io("read", &path, &e))?;
    end.map(Some).ok_or_else(|| unreleased(&path))
}

fn unreleased(segment: &Path) -> Error {
    error::unreleased(segment.display())
}

/// The event number at the end of the line that ends at `end`; `None` if the line is torn.
fn trailer(file: &mut File, end: u64) -> io::Result<Option<i64>> {
    let start = end.saturating_sub(TRAILER);
    let mut bytes = vec![0; usize::try_from(end - start).unwrap_or_default()];
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let last = || text.strip_suffix("\"}\n")?.rsplit_once(",\"last\":")?.1.split_once(",\"crc\":\"");
    Ok(last().filter(|(_, sum)| sum.len() == 8).and_then(|(last, _)| last.parse().ok()))
}

/// The end of the line before the one that ends at `end`; 0 if there is none.
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

/// Passes to `each` the lines that have events after `after`, or changes without events.
pub(crate) fn read(store: &StoreDir, after: i64, mut each: impl FnMut(JournalLine) -> Result<()>) -> Result<()> {
    let mut unreadable = 0;
    read_raw(store, after, |bytes| {
        let Some(sound) = whole(bytes) else { return Ok(()) };
        match sound.then(|| serde_json::from_slice::<JournalEntry>(bytes).ok()).flatten() {
            // Unreadable lines before this one are not needed either.
            Some(entry) if entry.last <= after && entry.before < after => unreadable = 0,
            Some(entry) => {
                (0..std::mem::take(&mut unreadable)).try_for_each(|_| each(JournalLine::Unreadable))?;
                each(JournalLine::Entry(entry))?;
            }
            None => unreadable += 1,
        }
        Ok(())
    })?;
    (0..unreadable).try_for_each(|_| each(JournalLine::Unreadable))
}

/// The last line at which the store was restored from a file.
pub(crate) fn last_boundary(store: &StoreDir) -> Result<Option<Boundary>> {
    let mut found = None;
    read_raw(store, 0, |bytes| {
        let has_one = || bytes.windows(BOUNDARY.len()).any(|window| window == BOUNDARY);
        if whole(bytes) == Some(true)
            && has_one()
            && let Ok(JournalEntry { items, before, last }) = serde_json::from_slice::<JournalEntry>(bytes)
        {
            let from = items.iter().rev().find(|(kind, _)| kind == "restored").and_then(|(_, to)| to["from"].as_str());
            found = from.map(|from| Boundary { before, last, from: from.to_owned() }).or(found.take());
        }
        Ok(())
    })?;
    Ok(found)
}

/// Whether a line's checksum is right; `None` for a torn last line.
fn whole(line: &[u8]) -> Option<bool> {
    let body = line.strip_suffix(b"\n")?;
    let split = body.len().checked_sub(closing(0).len());
    let sound = split.is_some_and(|at| {
        let (covered, rest) = body.split_at(at);
        rest == closing(crc32fast::hash(covered)).as_bytes()
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
            if line.starts_with(UNRELEASED) {
                return Err(unreleased(path));
            }
            each(&line)?;
            line.clear();
        }
    }
    Ok(())
}

/// Finds an event by number; `None` if the journal does not have it.
pub(crate) fn event(store: &StoreDir, number: i64) -> Result<Option<Value>> {
    let mut found = None;
    read(store, number - 1, |line| {
        if let JournalLine::Entry(entry) = line
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

/// Whether the journal is not empty.
pub(crate) fn has_entries(store: &StoreDir) -> bool {
    let has_bytes = |(_, path): &(i64, PathBuf)| fs::metadata(path).is_ok_and(|meta| meta.len() > 0);
    segments(store).is_ok_and(|segments| segments.iter().any(has_bytes))
}

/// Size of the segments that start after event `event`.
pub(crate) fn bytes_after(store: &StoreDir, event: i64) -> Result<u64> {
    let late = segments(store)?.into_iter().filter(|(first, _)| *first > event);
    Ok(late.filter_map(|(_, path)| fs::metadata(path).ok()).map(|meta| meta.len()).sum())
}

/// The segments without events after `event`, in order; never the last segment.
pub(crate) fn segments_before(store: &StoreDir, event: i64) -> Result<Vec<PathBuf>> {
    let segments = segments(store)?;
    let behind = segments.windows(2).filter(|pair| pair[1].0 <= event + 1);
    Ok(behind.map(|pair| pair[0].1.clone()).collect())
}

/// Deletes the segments without events after `event`.
pub(crate) fn delete_segments_before(store: &StoreDir, event: i64) -> Result<()> {
    for path in segments_before(store, event)? {
        fs::remove_file(&path).map_err(|e| error::io("delete", &path, &e))?;
    }
    Ok(())
}

/// The result of a check of the journal.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Health {
    pub(crate) last: i64,
    /// Number of damaged lines.
    pub(crate) unreadable: usize,
    /// Unexplained gaps between two lines, as first and last missing event.
    pub(crate) gaps: Vec<(i64, i64)>,
    pub(crate) torn: bool,
}

/// Checks the journal after event `after`.
pub(crate) fn health(store: &StoreDir, after: i64) -> Result<Health> {
    let mut health = Health::default();
    let mut known = None;
    let mut unreadable = 0;
    read_raw(store, after, |bytes| {
        let Some(sound) = whole(bytes) else { return Ok(()) };
        let Some(entry) = sound.then(|| serde_json::from_slice::<JournalEntry>(bytes).ok()).flatten() else {
            unreadable += 1;
            return Ok(());
        };
        if entry.last <= after {
            // Damage before this event does not matter, because a backup covers it.
            unreadable = 0;
            known = Some(entry.last);
            return Ok(());
        }
        let is_explained = entry.items.first().is_some_and(|(kind, _)| kind == "gap" || kind == "restored");
        if let Some(known) = known
            && entry.before != known.max(after)
            && !is_explained
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
                JournalLine::Entry(entry) => found.push((entry.before, entry.last)),
                JournalLine::Unreadable => found.push((-1, -1)),
            }
            Ok(())
        })
        .expect("read");
        found
    }

    #[test]
    fn lines_are_read_in_order_and_every_handle_finds_the_end() {
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
    fn space_is_reserved_after_complete_lines_and_released() {
        let (store, _dir) = store();
        let journal = Journal::new(&store);
        journal.append(0, 1, b"[\"x\",{}]").expect("appended");
        let path = segments(&store).expect("listed").remove(0).1;
        let whole = fs::metadata(&path).expect("a file").len();
        OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(b"{\"v\":1,\"items\":[torn"))
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
    fn torn_line_is_removed_by_the_next_append() {
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
    fn changed_byte_is_detected_and_damages_one_line_only() {
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
    fn journal_in_an_unreleased_format_is_refused_and_not_changed() {
        let (store, _dir) = store();
        let path = store.durable_dir(DIR).expect("a directory").join(segment_name(1));
        let old = "{\"items\":[[\"x\",{}]],\"before\":0,\"last\":1,\"sum\":\"0123456789abcdef\"}\n";
        fs::write(&path, old).expect("written");
        let journal = Journal::new(&store);
        let refused = [
            journal.last(0).map(drop),
            journal.append(1, 2, b"[\"x\",{}]").map(drop),
            journal.reserve(1, 8),
            read(&store, 0, |_| Ok(())),
            last_boundary(&store).map(drop),
            health(&store, 0).map(drop),
        ];
        for outcome in refused {
            assert_eq!(outcome.expect_err("too old").code, pensa_core::Code::Unsupported);
        }
        assert_eq!(fs::read_to_string(&path).expect("a file"), old);
    }

    #[test]
    fn new_segments_start_when_one_is_full_and_old_ones_are_deleted_after_a_backup() {
        let (store, _dir) = store();
        let journal = Journal::new(&store);
        let items = format!("[\"x\",\"{}\"]", "t".repeat(1 << 20));
        for n in 0..20 {
            journal.append(n, n + 1, items.as_bytes()).expect("appended");
        }
        let count = || segments(&store).expect("listed").len();
        assert!((4..=6).contains(&count()), "{}", count());
        delete_segments_before(&store, 10).expect("forgotten");
        assert!(count() < 5 && numbers(&store, 10).len() == 10, "{}", count());
        assert!(bytes_after(&store, 0).expect("counted") > 10 << 20);
    }
}
