//! A whole file of records: its lines, and the merge of three files into one.

use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;
use std::iter;
use std::path::Path;
use std::rc::Rc;

use crate::error::{Error, Result};
use crate::sync::collection::{Collection, Form, Name, Record};
use crate::sync::conflict::Conflict;
use crate::sync::merge::Merged;

const BOM: &[u8] = b"\xef\xbb\xbf";
const MARKERS: [&[u8]; 4] = [b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||"];

/// A line that is not blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'b> {
    /// Its number in the file, from 1.
    pub number: usize,
    pub text: &'b [u8],
}

/// The lines of a file, whatever editor or system it went through.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let mut rest = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let next = move || {
        let whole = rest;
        // Finds the end of a line many bytes at a time.
        let length = rest.skip_until(b'\n').ok().filter(|length| *length > 0)?;
        Some(whole[..length].trim_ascii())
    };
    iter::from_fn(next).enumerate().map(|(at, text)| Line { number: at + 1, text }).filter(|line| !line.text.is_empty())
}

/// What is wrong with a line, and where it stands.
pub fn bad_line(file: &Path, line: usize, why: Error) -> Error {
    let told = Error::new(why.code, format!("{} line {line}: {}", file.display(), why.message));
    told.hint(why.hint.unwrap_or_else(|| "mend the file; nothing was imported".into()))
}

impl Collection {
    /// The record of a line of a file, or what is wrong with it.
    pub fn read_line(&self, file: &Path, line: Line<'_>) -> Result<Record> {
        refuse_marker(line).and_then(|()| self.read(line.text)).map_err(|why| bad_line(file, line.number, why))
    }
}

pub(super) fn refuse_marker(line: Line<'_>) -> Result<()> {
    if MARKERS.iter().any(|marker| line.text.starts_with(marker)) { Err(marker()) } else { Ok(()) }
}

fn marker() -> Error {
    Error::invalid("it is git's mark of a conflict")
        .hint("pn conflicts repair merges both sides; pn hooks install lets pn merge next time")
}

/// The number of the first line that is a mark of a conflict.
pub fn first_marker(bytes: &[u8]) -> Option<usize> {
    lines(bytes).find(|line| refuse_marker(*line).is_err()).map(|line| line.number)
}

/// What git's marks of conflicts in a file stand between.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sides {
    pub ours: Vec<u8>,
    pub theirs: Vec<u8>,
    /// What both come from, if the marks tell it.
    pub base: Option<Vec<u8>>,
}

/// The part of a file with conflict marks that a line stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MarkedPart {
    Common,
    Ours,
    Base,
    Theirs,
}

/// Takes a file with conflict marks apart; nothing if it has none.
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

/// What a merge of three files made.
#[derive(Debug, Default)]
pub struct MergedFile {
    pub bytes: Vec<u8>,
    pub conflicts: Vec<Conflict>,
}

/// One version of a record.
#[derive(Clone)]
enum Version {
    /// As a line has it. Most lines never change hands, and are not taken apart.
    Line(Rc<Form>),
    /// Made of two lines.
    Made(Record),
}

impl Version {
    fn record(&self, collection: &Collection) -> Result<Record> {
        match self {
            Version::Line(form) => collection.read(&form.line),
            Version::Made(record) => Ok(record.clone()),
        }
    }
}

/// Two records that have the same id by chance are two.
type Versions = BTreeMap<Rc<Name>, Version>;

/// Merges two versions of a file with a common ancestor. A line that one side lacks stays: only a tombstone deletes.
pub fn merge_files(collection: &Collection, file: &Path, [base, ours, theirs]: [&[u8]; 3]) -> Result<MergedFile> {
    let mut reader = Reader { collection, file, known: HashMap::new(), conflicts: Vec::new() };
    let base = reader.versions(base)?;
    let mut all = reader.versions(ours)?;
    for (name, theirs) in reader.versions(theirs)? {
        let version = match all.get(&name) {
            None => theirs,
            Some(ours) => reader.both(&name, base.get(&name), ours, theirs)?,
        };
        all.insert(name, version);
    }
    let mut sorted: Vec<(Rc<Name>, Version)> = all.into_iter().collect();
    // Whatever has a birth is ordered by it.
    sorted.sort_by(|(a, _), (b, _)| (a.birth, &a.key).cmp(&(b.birth, &b.key)));
    let mut merged = MergedFile { bytes: Vec::new(), conflicts: reader.conflicts };
    for (_, version) in sorted {
        match version {
            Version::Line(form) => merged.bytes.extend_from_slice(&form.line),
            Version::Made(record) => merged.bytes.extend(collection.write(record)?),
        }
        merged.bytes.push(b'\n');
    }
    Ok(merged)
}

/// Reads files of one collection, and each line once, however many of them have it.
struct Reader<'m> {
    collection: &'m Collection,
    file: &'m Path,
    known: HashMap<&'m [u8], Rc<Form>>,
    conflicts: Vec<Conflict>,
}

impl<'m> Reader<'m> {
    /// The records of one file; of one that stands there twice, both versions become one.
    fn versions(&mut self, bytes: &'m [u8]) -> Result<Versions> {
        let mut versions = Versions::new();
        for line in lines(bytes) {
            let form = self.form(line)?;
            let name = Rc::clone(&form.name);
            let version = match versions.get(&name) {
                None => Version::Line(form),
                Some(other) => self.both(&name, None, other, Version::Line(form))?,
            };
            versions.insert(name, version);
        }
        Ok(versions)
    }

    fn form(&mut self, line: Line<'m>) -> Result<Rc<Form>> {
        if let Some(known) = self.known.get(line.text) {
            return Ok(Rc::clone(known));
        }
        let form = refuse_marker(line).and_then(|()| self.collection.form(line.text));
        let form = Rc::new(form.map_err(|why| bad_line(self.file, line.number, why))?);
        self.known.insert(line.text, Rc::clone(&form));
        Ok(form)
    }

    /// Two versions of a record as one.
    fn both(&mut self, name: &Name, base: Option<&Version>, ours: &Version, theirs: Version) -> Result<Version> {
        match self.collection.untouched(base, ours, &theirs) {
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
        Ok(Version::Made(record))
    }
}

/// Whose version a merge comes to.
enum Side {
    Ours,
    Theirs,
}

impl Collection {
    /// What [`merge`](Self::merge) would come to, as far as it can be told by comparing lines: both sides are the same,
    /// or only one of them changed anything, and did so later.
    fn untouched(&self, base: Option<&Version>, ours: &Version, theirs: &Version) -> Option<Side> {
        let (Version::Line(ours), Version::Line(theirs)) = (ours, theirs) else { return None };
        if ours.line == theirs.line {
            return Some(Side::Ours);
        }
        let Some(Version::Line(base)) = base else { return None };
        if base.line == theirs.line && ours.changed_at >= theirs.changed_at {
            return Some(Side::Ours);
        }
        // Fields that nobody here knows keep our order; and of some times the later holds whoever changed it.
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

    /// The same merge with every line taken apart: what [`merge_files`] must come to.
    fn merged_field_by_field(collection: &Collection, [base, ours, theirs]: [&[u8]; 3]) -> Result<MergedFile> {
        type Records = BTreeMap<(String, String), Record>;
        fn put(collection: &Collection, all: &mut Records, base: &Records, new: Record, to: &mut Vec<Conflict>) {
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
        let mut sorted: Vec<Record> = all.into_values().collect();
        sorted.sort_by_cached_key(|record| collection.place(record));
        for record in sorted {
            merged.bytes.extend(collection.write(record)?);
            merged.bytes.push(b'\n');
        }
        Ok(merged)
    }

    fn told(merged: Result<MergedFile>) -> (String, Vec<Conflict>) {
        match merged {
            Ok(merged) => (String::from_utf8(merged.bytes).expect("UTF-8"), merged.conflicts),
            Err(e) => (format!("{:?} {} {:?}", e.code, e.message, e.hint), Vec::new()),
        }
    }

    fn one_of<T: Clone + std::fmt::Debug + 'static>(these: &[T]) -> impl Strategy<Value = T> + Clone + use<T> {
        prop::sample::select(these.to_vec())
    }

    /// A record of any collection, as it is written here or by somebody else. There are few, so that they meet.
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
            move |(id, (born, changed, other), (word, status, priority), extra, (shape, number, spoilt))| {
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
                    "skills" => json!({"name": id, "skills": [status, priority], "updated_at": changed}),
                    _ => json!({"collection": "deps", "id": format!("{id} pn-9"), "deleted_at": changed, "actor": word,
                        "restored_at": other, "comments": [status]}),
                };
                let fields = record.as_object_mut().expect("an object");
                fields.extend(serde_json::from_str::<Record>(extra).expect("an object"));
                if let Some(number) = number.filter(|_| shape == 1 && fields.contains_key("updated_at")) {
                    fields.insert("updated_at".into(), number);
                }
                written(record, shape, spoilt)
            },
        )
    }

    fn written(record: Value, shape: u8, spoilt: u8) -> String {
        match (spoilt, shape) {
            (0, 0..4) => "<<<<<<< ours".to_owned(),
            (0, _) => json::to_line(&record).expect("a line")[..20].to_owned(),
            (_, 2) => format!(" {record} \r"),
            (_, 3) => record.to_string().replace(':', ": "),
            (_, 4) => format!("\n{record}"),
            _ => record.to_string(),
        }
    }

    /// Three files. Most lines of the sides are those of the base; some are written as an export writes them.
    fn files() -> impl Strategy<Value = (&'static Collection, [String; 3])> {
        one_of(&COLLECTIONS).prop_flat_map(|collection| {
            let line = move || {
                (line(collection), any::<bool>()).prop_map(move |(line, is_settled)| {
                    let settled = collection.read(line.trim().as_bytes()).and_then(|record| collection.write(record));
                    settled.ok().filter(|_| is_settled).map_or(line, |bytes| String::from_utf8(bytes).expect("UTF-8"))
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
        fn lines_that_are_passed_on_unread_are_what_merging_their_fields_comes_to((collection, files) in files()) {
            let files = files.each_ref().map(String::as_bytes);
            let quick = told(merge_files(collection, Path::new("f"), files));
            prop_assert_eq!(quick, told(merged_field_by_field(collection, files)));
        }
    }

    #[test]
    fn both_sides_of_conflict_marks_are_told_apart() {
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
    fn lines_are_numbered_whatever_ends_them() {
        let read = |bytes| lines(bytes).map(|line| (line.number, line.text)).collect::<Vec<_>>();
        assert_eq!(read(b"\xef\xbb\xbfa\r\n\n \n b"), [(1, &b"a"[..]), (4, b"b")]);
        assert_eq!(read(b"a\n"), [(1, &b"a"[..])]);
        assert_eq!(read(b"\n"), []);
    }
}
