//! The common ancestor of a file and the database.
//!
//! The database is what it has taken in and written, whatever branch that was on, and its own changes. So a file that
//! git brought comes from the nearest contents in its history that the store has seen; one that was edited in place
//! comes from what was agreed on.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;

use pensa_core::Result;
use pensa_core::sync::{COLLECTIONS, Collection, Record, lines, merge_files};
use pensa_git as git;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::agreed::{Known, has_just};
use super::files::{Content, Contents, bytes_of};
use super::place::Place;
use crate::db::Tx;
use crate::tables::seen_files;

/// Commits of a file's history that are looked at first; most often the first few tell.
const NEAR: usize = 64;
/// Most commits of a file's history that are looked at.
const FAR: usize = 20_000;
/// Most lines of history that are brought together for a base.
const MAX_ENDS: usize = 16;

/// What the files of a place come from.
#[derive(Debug, Default)]
pub(super) struct Base {
    contents: Contents,
    /// Whether what differs from it was edited in place, instead of brought by git.
    pub(super) is_edited: bool,
}

impl Base {
    /// The commit that is checked out, if the files may come from it and not from what was agreed on.
    pub(super) fn moved<'h>(
        place: &Place,
        head: Option<&'h str>,
        known: Option<&(Known, Contents)>,
    ) -> Option<&'h str> {
        let head = head?;
        let Some((known, agreed)) = known else { return Some(head) };
        if known.agreement.head.as_deref() == Some(head) {
            return None;
        }
        // A commit of what was agreed on is nothing else.
        (!has_just(place, head, agreed)).then_some(head)
    }

    /// The base of the files that are wanted.
    pub(super) fn find(
        tx: &Tx<'_>,
        place: &Place,
        moved: Option<&str>,
        known: Option<(Known, Contents)>,
        wanted: [bool; COLLECTIONS.len()],
    ) -> Result<Self> {
        // A merge that somebody has yet to commit comes from where its two sides part.
        let merging = if moved.is_none() { place.objects.commit("MERGE_HEAD") } else { None };
        let merging = merging.and_then(|other| git::merge_base(&place.dir, "HEAD", &other));
        if moved.is_none() && merging.is_none() {
            // Nothing was checked out since, so somebody edited the files.
            return Ok(Self { contents: known.map(|(_, contents)| contents).unwrap_or_default(), is_edited: true });
        }
        let mut contents = Contents::default();
        for (at, collection) in COLLECTIONS.into_iter().enumerate().filter(|(at, _)| wanted[*at]) {
            let history = History { tx, place, file: collection.file_name(), collection };
            let bytes = match (moved, &merging) {
                (Some(head), _) => history.base(head)?,
                (None, Some(common)) => history.blob(common).and_then(|blob| place.objects.content(&blob)),
                (None, None) => None,
            };
            contents[at] = bytes.map(Content::from);
        }
        Ok(Self { contents, is_edited: false })
    }

    /// The versions of these records.
    pub(super) fn versions(&self, collection: &Collection, wanted: &HashSet<String>) -> HashMap<String, Record> {
        records(&self.contents, collection, wanted)
    }
}

/// The history of one file.
struct History<'t, 'c> {
    tx: &'t Tx<'c>,
    place: &'t Place,
    file: String,
    collection: &'static Collection,
}

/// A commit and what the file was in it.
type End = (String, String);

impl History<'_, '_> {
    fn blob(&self, commit: &str) -> Option<String> {
        self.place.objects.blobs([(commit, self.file.as_str())]).pop().flatten()
    }

    /// What the file of a commit comes from: the nearest contents that the store has seen, put together if they are
    /// on more than one line of history.
    fn base(&self, head: &str) -> Result<Option<Vec<u8>>> {
        let (near, is_whole) = self.ends(head, NEAR)?;
        let ends = if is_whole { near } else { self.ends(head, FAR)?.0 };
        let mut ends = ends.into_iter();
        let Some((first, blob)) = ends.next() else { return Ok(None) };
        let mut base = self.place.objects.content(&blob);
        for (commit, blob) in ends.take(MAX_ENDS) {
            base = base.and_then(|base| self.joined(base, &first, &commit, &blob));
        }
        Ok(base)
    }

    /// Two contents as git would have merged them.
    fn joined(&self, one: Vec<u8>, first: &str, commit: &str, blob: &str) -> Option<Vec<u8>> {
        let Place { dir, objects, .. } = self.place;
        let other = objects.content(blob)?;
        let common = git::merge_base(dir, first, commit).and_then(|commit| self.blob(&commit));
        let common = common.and_then(|blob| objects.content(&blob)).unwrap_or_default();
        let path = dir.join(&self.file);
        merge_files(self.collection, &path, [&common, &one, &other]).ok().map(|merged| merged.bytes)
    }

    /// The nearest commits with contents that the store has seen, and whether every line of history led to one or to
    /// its beginning.
    fn ends(&self, head: &str, limit: usize) -> Result<(Vec<End>, bool)> {
        let changes = git::changes(&self.place.dir, head, &self.file, limit);
        let is_whole = changes.len() < limit;
        let commits: Vec<&str> = changes.iter().map(|changed| changed.commit.as_str()).collect();
        let blobs = self.place.objects.blobs(commits.iter().map(|commit| (*commit, self.file.as_str())));
        let by_commit: HashMap<&str, (&git::Changed, Option<String>)> =
            changes.iter().zip(blobs).map(|(changed, blob)| (changed.commit.as_str(), (changed, blob))).collect();
        let mut ends = Vec::new();
        let mut reached = HashSet::new();
        let mut is_open = false;
        let mut next: Vec<&str> = commits.first().copied().into_iter().collect();
        while let Some(commit) = next.pop() {
            if !reached.insert(commit) {
                continue;
            }
            match by_commit.get(commit) {
                None => is_open = true,
                Some((_, Some(blob))) if seen_files::has(self.tx, blob)? => {
                    ends.push((commit.to_owned(), blob.clone()));
                }
                Some((changed, _)) => next.extend(changed.before.iter().map(String::as_str)),
            }
        }
        Ok((ends, is_whole || !is_open))
    }
}

/// Those of these records that are in a file.
fn records(contents: &Contents, collection: &Collection, wanted: &HashSet<String>) -> HashMap<String, Record> {
    let at = COLLECTIONS.iter().position(|other| other.name == collection.name);
    let bytes = at.map(|at| bytes_of(&contents[at])).unwrap_or_default();
    if wanted.is_empty() {
        return HashMap::new();
    }
    let is_wanted = |text: &[u8]| key(collection, text).is_some_and(|key| wanted.contains(&key));
    // What cannot be read cannot be a base.
    let versions = lines(bytes).filter(|line| is_wanted(line.text)).filter_map(|line| collection.read(line.text).ok());
    versions.map(|record| (collection.key(&record), record)).collect()
}

/// What names the record of a line, without reading the rest of it.
pub(super) fn key(collection: &Collection, line: &[u8]) -> Option<String> {
    let fields: Vec<&str> = collection.key_fields().collect();
    Some(texts(line, &fields)?.join(" "))
}

/// Whether a line rests on one of these issues.
pub(super) fn rests_on(line: &[u8], issues: &HashSet<String>) -> bool {
    let ends = texts(line, &["issue_id", "depends_on_id"]);
    ends.is_some_and(|ends| ends.iter().any(|end| issues.contains(end.as_ref())))
}

/// These fields of a line, each a text; empty if it is not there. The rest is passed over.
fn texts<'l>(line: &'l [u8], wanted: &[&str]) -> Option<Vec<Cow<'l, str>>> {
    Fields(wanted).deserialize(&mut serde_json::Deserializer::from_slice(line)).ok()
}

struct Fields<'w>(&'w [&'w str]);

impl<'l> DeserializeSeed<'l> for Fields<'_> {
    type Value = Vec<Cow<'l, str>>;

    fn deserialize<D: Deserializer<'l>>(self, from: D) -> std::result::Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'l> Visitor<'l> for Fields<'_> {
    type Value = Vec<Cow<'l, str>>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a record")
    }

    fn visit_map<A: MapAccess<'l>>(self, mut record: A) -> std::result::Result<Self::Value, A::Error> {
        let mut found = vec![Cow::default(); self.0.len()];
        while let Some(Text(name)) = record.next_key()? {
            match self.0.iter().position(|wanted| *wanted == name) {
                Some(at) => found[at] = record.next_value::<Text<'l>>()?.0,
                None => drop(record.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }
}

/// A text that is not copied if it need not be.
#[derive(Deserialize)]
struct Text<'l>(#[serde(borrow)] Cow<'l, str>);
