//! Reads whole JSONL files and merges three versions of one.

use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;
use std::iter;
use std::path::Path;
use std::rc::Rc;

use crate::error::{Error, Result};
use crate::sync::collection::{Collection, LineHeader, RecordIdentity, SyncObject};
use crate::sync::conflict::Conflict;
use crate::sync::merge::Merged;

const BOM: &[u8] = b"\xef\xbb\xbf";
const MARKERS: [&[u8]; 4] = [b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||"];

/// A line that is not blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLine<'b> {
    /// The line number, from 1.
    pub number: usize,
    pub text: &'b [u8],
}

/// Iterates over the lines that are not blank, without byte order mark, carriage returns or surrounding blanks.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = FileLine<'_>> {
    let mut rest = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let next = move || {
        let start = rest;
        // `skip_until` uses memchr, which is faster than `split`.
        let length = rest.skip_until(b'\n').ok().filter(|length| *length > 0)?;
        Some(start[..length].trim_ascii())
    };
    iter::from_fn(next)
        .enumerate()
        .map(|(at, text)| FileLine { number: at + 1, text })
        .filter(|line| !line.text.is_empty())
}

/// Adds the file and line number to an error.
pub fn bad_line(file: &Path, line: usize, why: Error) -> Error {
    let error = Error::new(why.code, format!("{} line {line}: {}", file.display(), why.message));
    error.hint(why.hint.unwrap_or_else(|| "mend the file; nothing was imported".into()))
}

impl Collection {
    /// Parses a line into a record. An error names the file and the line.
    pub fn read_line(&self, file: &Path, line: FileLine<'_>) -> Result<SyncObject> {
        refuse_marker(line).and_then(|()| self.read(line.text)).map_err(|why| bad_line(file, line.number, why))
    }
}

pub(super) fn refuse_marker(line: FileLine<'_>) -> Result<()> {
    if MARKERS.iter().any(|marker| line.text.starts_with(marker)) { Err(marker()) } else { Ok(()) }
}

fn marker() -> Error {
    Error::invalid("it is git's mark of a conflict")
        .hint("pn conflicts repair merges both sides; pn hooks install lets pn merge next time")
}

/// The number of the first line that is one of git's conflict markers.
pub fn first_marker(bytes: &[u8]) -> Option<usize> {
    lines(bytes).find(|line| refuse_marker(*line).is_err()).map(|line| line.number)
}

/// The versions of a file that contains git's conflict markers.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sides {
    pub ours: Vec<u8>,
    pub theirs: Vec<u8>,
    /// The merge base, if the markers include it (`merge.conflictStyle` diff3).
    pub base: Option<Vec<u8>>,
}

/// The part of a file with conflict markers that a line belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MarkedPart {
    Common,
    Ours,
    Base,
    Theirs,
}

/// Splits a file with conflict markers into its versions; `None` if it has no markers.
pub fn sides(file: &Path, bytes: &[u8]) -> Result<Option<Sides>> {
    use MarkedPart::{Base, Common, Ours, Theirs};
    let (mut sides, mut base, mut part, mut last) = (Sides::default(), Vec::new(), Common, None);
    for line in lines(bytes) {
        let next = match (MARKERS.iter().position(|marker| line.text.starts_with(marker)), part) {
            (None, _) => None,
            (Some(0), Common) => Some(Ours),
            (Some(1), Ours | Base) => Some(Theirs),
            (Some(2), Theirs) => Some(Common),
            (Some(3), Ours) => Some(Base),
            _ => return Err(misplaced(file, line.number)),
        };
        if let Some(next) = next {
            (part, last) = (next, Some(line.number));
            if part == Base {
                sides.base = Some(Vec::new());
            }
            continue;
        }
        let add = |to: &mut Vec<u8>| to.extend([line.text, b"\n"].concat());
        match part {
            Common => [&mut sides.ours, &mut sides.theirs, &mut base].into_iter().for_each(add),
            Ours => add(&mut sides.ours),
            Base => add(&mut base),
            Theirs => add(&mut sides.theirs),
        }
    }
    match last {
        None => Ok(None),
        Some(line) if part != Common => Err(misplaced(file, line)),
        Some(_) => {
            sides.base = sides.base.map(|_| base);
            Ok(Some(sides))
        }
    }
}

fn misplaced(file: &Path, line: usize) -> Error {
    let why = Error::invalid("this mark of a conflict has no counterpart");
    bad_line(file, line, why.hint("complete the marks by hand, or take the file from one side with git checkout"))
}

/// The result of merging three files.
#[derive(Debug, Default)]
pub struct MergedFile {
    pub bytes: Vec<u8>,
    pub conflicts: Vec<Conflict>,
}

/// One version of a record.
#[derive(Clone)]
enum Version {
    /// An unchanged line. Most lines are the same on both sides and are never converted to JSON objects.
    Line(Rc<LineHeader>),
    /// Merged from two lines.
    Merged(SyncObject),
}

impl Version {
    fn record(&self, collection: &Collection) -> Result<SyncObject> {
        match self {
            Version::Line(header) => collection.read(&header.line),
            Version::Merged(record) => Ok(record.clone()),
        }
    }
}

/// Two records that got the same key by chance stay separate.
type Versions = BTreeMap<Rc<RecordIdentity>, Version>;

/// Merges two versions of a file with a common ancestor. A line that is missing on one side stays: only a tombstone
/// deletes a record.
pub fn merge_files(collection: &Collection, file: &Path, [base, ours, theirs]: [&[u8]; 3]) -> Result<MergedFile> {
    let mut reader = Reader { collection, file, parsed: HashMap::new(), conflicts: Vec::new() };
    let base = reader.versions(base)?;
    let mut all = reader.versions(ours)?;
    for (name, theirs) in reader.versions(theirs)? {
        let version = match all.get(&name) {
            None => theirs,
            Some(ours) => reader.merge_versions(&name, base.get(&name), ours, theirs)?,
        };
        all.insert(name, version);
    }
    let mut sorted: Vec<(Rc<RecordIdentity>, Version)> = all.into_iter().collect();
    // The same order as [`Collection::sort_key`]: collections with a time of creation are ordered by it.
    sorted.sort_by(|(a, _), (b, _)| (a.birth, &a.key).cmp(&(b.birth, &b.key)));
    let mut merged = MergedFile { bytes: Vec::new(), conflicts: reader.conflicts };
    for (_, version) in sorted {
        match version {
            Version::Line(header) => merged.bytes.extend_from_slice(&header.line),
            Version::Merged(record) => merged.bytes.extend(collection.write(record)?),
        }
        merged.bytes.push(b'\n');
    }
    Ok(merged)
}

/// Reads files of one collection and parses each distinct line only once.
struct Reader<'m> {
    collection: &'m Collection,
    file: &'m Path,
    parsed: HashMap<&'m [u8], Rc<LineHeader>>,
    conflicts: Vec<Conflict>,
}

impl<'m> Reader<'m> {
    /// The records of one file. Duplicates within the file are merged.
    fn versions(&mut self, bytes: &'m [u8]) -> Result<Versions> {
        let mut versions = Versions::new();
        for line in lines(bytes) {
            let header = self.header(line)?;
            let name = Rc::clone(&header.name);
            let version = match versions.get(&name) {
                None => Version::Line(header),
                Some(other) => self.merge_versions(&name, None, other, Version::Line(header))?,
            };
            versions.insert(name, version);
        }
        Ok(versions)
    }

    fn header(&mut self, line: FileLine<'m>) -> Result<Rc<LineHeader>> {
        if let Some(parsed) = self.parsed.get(line.text) {
            return Ok(Rc::clone(parsed));
        }
        let header = refuse_marker(line).and_then(|()| self.collection.parse_line(line.text));
        let header = Rc::new(header.map_err(|why| bad_line(self.file, line.number, why))?);
        self.parsed.insert(line.text, Rc::clone(&header));
        Ok(header)
    }

    /// Merges two versions of a record.
    fn merge_versions(
        &mut self,
        name: &RecordIdentity,
        base: Option<&Version>,
        ours: &Version,
        theirs: Version,
    ) -> Result<Version> {
        match self.collection.unchanged_side(base, ours, &theirs) {
            Some(Side::Theirs) => return Ok(theirs),
            Some(Side::Ours) => return Ok(ours.clone()),
            None => {}
        }
        let base = base.map(|base| base.record(self.collection)).transpose()?;
        let (ours, theirs) = (ours.record(self.collection)?, theirs.record(self.collection)?);
        let Merged { record, clashes } = self.collection.merge(base.as_ref(), &ours, &theirs, |_, _| None);
        for clash in clashes {
            self.conflicts.push(Conflict::new(self.collection.name, &name.key, clash)?);
        }
        Ok(Version::Merged(record))
    }
}

/// The side whose version a merge results in.
enum Side {
    Ours,
    Theirs,
}

impl Collection {
    /// The side that [`merge`](Self::merge) would return unchanged, if that is certain from comparing lines: both sides
    /// are equal, or only one changed and is not older. `None` if the fields must be merged.
    fn unchanged_side(&self, base: Option<&Version>, ours: &Version, theirs: &Version) -> Option<Side> {
        let (Version::Line(ours), Version::Line(theirs)) = (ours, theirs) else { return None };
        if ours.line == theirs.line {
            return Some(Side::Ours);
        }
        let Some(Version::Line(base)) = base else { return None };
        if base.line == theirs.line && ours.changed_at >= theirs.changed_at {
            return Some(Side::Ours);
        }
        // A field-wise merge would keep our order of unknown fields, and the later of some times from either side.
        let is_plain = ours.is_plain && theirs.is_plain && self.latest.is_empty();
        let only_theirs = is_plain && base.line == ours.line && theirs.changed_at >= ours.changed_at;
        only_theirs.then_some(Side::Theirs)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::json;
    use crate::sync::COLLECTIONS;

    /// Merges every line field by field: the reference for [`merge_files`].
    fn merged_field_by_field(collection: &Collection, [base, ours, theirs]: [&[u8]; 3]) -> Result<MergedFile> {
        type Records = BTreeMap<(String, String), SyncObject>;
        fn put(collection: &Collection, all: &mut Records, base: &Records, new: SyncObject, to: &mut Vec<Conflict>) {
            let name = (collection.key(&new), collection.birth(&new).to_owned());
            let version = match all.get(&name) {
                None => new,
                Some(ours) => {
                    let both = collection.merge(base.get(&name), ours, &new, |_, _| None);
                    let conflict = |clash| Conflict::new(collection.name, &name.0, clash).expect("a conflict");
                    to.extend(both.clashes.into_iter().map(conflict));
                    both.record
                }
            };
            all.insert(name, version);
        }
        let mut merged = MergedFile::default();
        let mut files = Vec::new();
        for bytes in [base, ours, theirs] {
            let mut records = Records::new();
            for line in lines(bytes) {
                let record = collection.read_line(Path::new("f"), line)?;
                put(collection, &mut records, &Records::new(), record, &mut merged.conflicts);
            }
            files.push(records);
        }
        let [base, mut all, theirs] = files.try_into().expect("three files");
        for record in theirs.into_values() {
            put(collection, &mut all, &base, record, &mut merged.conflicts);
        }
        let mut sorted: Vec<SyncObject> = all.into_values().collect();
        sorted.sort_by_cached_key(|record| collection.sort_key(record));
        for record in sorted {
            merged.bytes.extend(collection.write(record)?);
            merged.bytes.push(b'\n');
        }
        Ok(merged)
    }

    fn outcome(merged: Result<MergedFile>) -> (String, Vec<Conflict>) {
        match merged {
            Ok(merged) => (String::from_utf8(merged.bytes).expect("UTF-8"), merged.conflicts),
            Err(e) => (format!("{:?} {} {:?}", e.code, e.message, e.hint), Vec::new()),
        }
    }

    fn one_of<T: Clone + std::fmt::Debug + 'static>(values: &[T]) -> impl Strategy<Value = T> + Clone + use<T> {
        prop::sample::select(values.to_vec())
    }

    /// A record of any collection, in our formatting or another. There are few distinct ones, so that they collide.
    fn line(collection: &'static Collection) -> impl Strategy<Value = String> {
        let moment = one_of(&["2026-01-01T00:00:00.000Z", "2026-01-01T00:00:02.000Z", "2026-01-01T01:00:01+01:00"]);
        let moments = (moment.clone(), moment.clone(), prop::option::of(moment));
        let number = Just(json!(1_767_225_601_000_i64));
        let extras = [
            r#"{}"#,
            r#"{}"#,
            r#"{"x":1}"#,
            r#"{"y":1,"x":1}"#,
            r#"{"x":{"a":1,"b":2}}"#,
            r#"{"x":{"b":2,"a":1}}"#,
            r#"{"x":null,"y":[1.0]}"#,
            r#"{"schema_version":1}"#,
        ];
        let words = (one_of(&["a", "b", ""]), one_of(&["open", "closed", "in_progress"]), one_of(&["p1", "P1", "p2"]));
        let shape = (0..12u8, prop::option::of(number), 0..40u8);
        (0..3u8, moments, words, one_of(&extras), shape).prop_map(
            move |(id, (born, changed, other), (word, status, priority), extra, (shape, number, corruption))| {
                let id = format!("pn-{id}");
                let born = if shape == 0 { "2025-01-01T00:00:00.000Z" } else { born };
                let mut record = match collection.name {
                    "issues" => {
                        json!({"id": id, "title": format!("t{word}"), "description": word, "issue_type": "task",
                        "status": status, "priority": priority, "assignee": word, "created_at": born,
                        "updated_at": changed, "lease_expires_at": other, "closed_at": other})
                    }
                    "deps" => json!({"issue_id": id, "depends_on_id": "pn-9"}),
                    "comments" => {
                        json!({"id": id, "issue_id": "pn-9", "actor": word, "text": status, "created_at": born})
                    }
                    "releases" => {
                        json!({"id": id, "name": format!("n{word}"), "version": "1.0", "kind": "bug", "issues": [id],
                        "notes": status, "actor": word, "shipped_at": born})
                    }
                    "learnings" => {
                        json!({"id": id, "kind": "gotcha", "text": format!("t{word}"), "tags": [status],
                        "impact": "high", "revision": 1, "actor": word, "created_at": born, "updated_at": changed,
                        "verified_at": other})
                    }
                    "views" => json!({"name": id, "query": format!("{status} {priority}"), "updated_at": changed}),
                    "skills" => json!({"name": id, "skills": [status, priority], "updated_at": changed}),
                    _ => json!({"collection": "deps", "id": format!("{id} pn-9"), "deleted_at": changed, "actor": word,
                        "restored_at": other, "comments": [status]}),
                };
                let fields = record.as_object_mut().expect("an object");
                fields.extend(serde_json::from_str::<SyncObject>(extra).expect("an object"));
                if let Some(number) = number.filter(|_| shape == 1 && fields.contains_key("updated_at")) {
                    fields.insert("updated_at".into(), number);
                }
                written(record, shape, corruption)
            },
        )
    }

    fn written(record: Value, shape: u8, corruption: u8) -> String {
        match (corruption, shape) {
            (0, 0..4) => "<<<<<<< ours".to_owned(),
            (0, _) => json::to_line(&record).expect("a line")[..20].to_owned(),
            (_, 2) => format!(" {record} \r"),
            (_, 3) => record.to_string().replace(':', ": "),
            (_, 4) => format!("\n{record}"),
            _ => record.to_string(),
        }
    }

    /// Three files. Most lines of both sides come from the base; some have our own formatting.
    fn files() -> impl Strategy<Value = (&'static Collection, [String; 3])> {
        one_of(&COLLECTIONS).prop_flat_map(|collection| {
            let line = move || {
                (line(collection), any::<bool>()).prop_map(move |(line, is_normalised)| {
                    let normalised =
                        collection.read(line.trim().as_bytes()).and_then(|record| collection.write(record));
                    normalised
                        .ok()
                        .filter(|_| is_normalised)
                        .map_or(line, |bytes| String::from_utf8(bytes).expect("UTF-8"))
                })
            };
            let side = move || prop::collection::vec((line(), 0..3u8), 0..5);
            (prop::collection::vec(line(), 0..5), side(), side()).prop_map(move |(base, ours, theirs)| {
                let side = |changes: Vec<(String, u8)>| {
                    let mut all = base.clone();
                    for (at, (line, how)) in changes.into_iter().enumerate() {
                        match all.get_mut(at) {
                            Some(slot) if how == 0 => *slot = line,
                            None if how < 2 => all.push(line),
                            _ => {}
                        }
                    }
                    all.join("\n")
                };
                let sides = [side(ours), side(theirs)];
                let [ours, theirs] = sides;
                (collection, [base.join("\n"), ours, theirs])
            })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn merge_by_lines_equals_merge_by_fields((collection, files) in files()) {
            let files = files.each_ref().map(String::as_bytes);
            let quick = outcome(merge_files(collection, Path::new("f"), files));
            prop_assert_eq!(quick, outcome(merged_field_by_field(collection, files)));
        }
    }

    #[test]
    fn conflict_markers_are_split_into_sides() {
        let read = |text: &str| sides(Path::new("f"), text.as_bytes());
        let some = |ours: &str, theirs: &str, base: Option<&str>| {
            let base = base.map(|base| base.as_bytes().to_vec());
            Some(Sides { ours: ours.into(), theirs: theirs.into(), base })
        };
        assert_eq!(read("a\nb\n").expect("no marks"), None);
        let plain = "a\r\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> main\nd\n";
        assert_eq!(read(plain).expect("marks"), some("a\nb\nd\n", "a\nc\nd\n", None));
        let with_base =
            "<<<<<<< HEAD\nb\n||||||| 123\nx\n=======\n>>>>>>> main\na\n<<<<<<< HEAD\n=======\nc\n>>>>>>> m\n";
        assert_eq!(read(with_base).expect("marks"), some("b\na\n", "a\nc\n", Some("x\na\n")));
        for bad in ["<<<<<<< a\nb\n", "=======\n", "<<<<<<< a\n>>>>>>> b\n", "<<<<<<< a\n<<<<<<< a\n", ">>>>>>> b\n"] {
            assert_eq!(read(bad).expect_err(bad).code, crate::error::Code::InvalidInput);
        }
    }

    #[test]
    fn lines_are_numbered_with_any_line_ending() {
        let read = |bytes| lines(bytes).map(|line| (line.number, line.text)).collect::<Vec<_>>();
        assert_eq!(read(b"\xef\xbb\xbfa\r\n\n \n b"), [(1, &b"a"[..]), (4, b"b")]);
        assert_eq!(read(b"a\n"), [(1, &b"a"[..])]);
        assert_eq!(read(b"\n"), []);
    }
}
