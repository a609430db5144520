//! Finds the base for merging a file into the database.
//!
//! The database contains all that it has imported and exported on any branch, and its own changes. So the base of a
//! file that git checked out is the nearest content in its history that the store has seen; the base of a file that was
//! edited in place is the saved merge base.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;

use pensa_core::Result;
use pensa_core::sync::{COLLECTIONS, Collection, SyncObject, lines, merge_files};
use pensa_git as git;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::export_dir::ExportDir;
use super::files::{Content, Contents, bytes_of};
use super::merge_base::{MergeBaseCopy, commit_matches};
use crate::db::Tx;
use crate::tables::peers;

/// Commits of a file's history that are read first; usually they are enough.
const FIRST_COMMITS: usize = 64;
/// Limit for commits of a file's history.
const MAX_COMMITS: usize = 20_000;
/// Limit for branches of history that are merged into a base.
const MAX_BRANCHES: usize = 16;

/// The bases of an import.
#[derive(Debug, Default)]
pub(super) struct ImportBase {
    contents: Contents,
    /// Whether the files were edited in place, instead of checked out by git.
    pub(super) is_edited: bool,
}

impl ImportBase {
    /// The checked-out commit, if the files may come from it rather than from the saved merge base.
    pub(super) fn checked_out_since<'h>(
        export_dir: &ExportDir,
        head: Option<&'h str>,
        last: Option<&(MergeBaseCopy, Contents)>,
    ) -> Option<&'h str> {
        let head = head?;
        let Some((copy, contents)) = last else { return Some(head) };
        if copy.row.pulled.as_deref() == Some(head) {
            return None;
        }
        // A commit with the content of the merge base is no change.
        (!commit_matches(export_dir, head, contents)).then_some(head)
    }

    /// Finds the bases of the wanted files.
    pub(super) fn find(
        tx: &Tx<'_>,
        export_dir: &ExportDir,
        moved: Option<&str>,
        last: Option<(MergeBaseCopy, Contents)>,
        wanted: [bool; COLLECTIONS.len()],
    ) -> Result<Self> {
        // In an uncommitted merge, the base is the merge base of both sides.
        let merging = if moved.is_none() { export_dir.objects.commit("MERGE_HEAD") } else { None };
        let merging = merging.and_then(|other| git::merge_base(&export_dir.path, "HEAD", &other));
        if moved.is_none() && merging.is_none() {
            // Nothing was checked out since, so the files were edited in place.
            return Ok(Self { contents: last.map(|(_, contents)| contents).unwrap_or_default(), is_edited: true });
        }
        let mut contents = Contents::default();
        for (at, collection) in COLLECTIONS.into_iter().enumerate().filter(|(at, _)| wanted[*at]) {
            let history = History { tx, export_dir, file: collection.file_name(), collection };
            let bytes = match (moved, &merging) {
                (Some(head), _) => history.base(head)?,
                (None, Some(common)) => history.blob(common).and_then(|blob| export_dir.objects.content(&blob)),
                (None, None) => None,
            };
            contents[at] = bytes.map(Content::from);
        }
        Ok(Self { contents, is_edited: false })
    }

    /// The base versions of these records.
    pub(super) fn versions(&self, collection: &Collection, wanted: &HashSet<String>) -> HashMap<String, SyncObject> {
        records(&self.contents, collection, wanted)
    }
}

/// The history of one file.
struct History<'t, 'c> {
    tx: &'t Tx<'c>,
    export_dir: &'t ExportDir,
    file: String,
    collection: &'static Collection,
}

/// A commit, and the file's blob in it.
type CommitBlob = (String, String);

impl History<'_, '_> {
    fn blob(&self, commit: &str) -> Option<String> {
        self.export_dir.objects.blobs([(commit, self.file.as_str())]).pop().flatten()
    }

    /// The base of a file in a commit: the nearest contents in its history that the store has seen, merged if they are
    /// on several branches.
    fn base(&self, head: &str) -> Result<Option<Vec<u8>>> {
        let (near, is_whole) = self.nearest_seen(head, FIRST_COMMITS)?;
        let nearest_seen = if is_whole { near } else { self.nearest_seen(head, MAX_COMMITS)?.0 };
        let mut nearest_seen = nearest_seen.into_iter();
        let Some((first, blob)) = nearest_seen.next() else { return Ok(None) };
        let mut base = self.export_dir.objects.content(&blob);
        for (commit, blob) in nearest_seen.take(MAX_BRANCHES) {
            base = base.and_then(|base| self.merged_blobs(base, &first, &commit, &blob));
        }
        Ok(base)
    }

    /// Merges two contents as git would have done.
    fn merged_blobs(&self, one: Vec<u8>, first: &str, commit: &str, blob: &str) -> Option<Vec<u8>> {
        let ExportDir { path, objects, .. } = self.export_dir;
        let other = objects.content(blob)?;
        let common = git::merge_base(path, first, commit).and_then(|commit| self.blob(&commit));
        let common = common.and_then(|blob| objects.content(&blob)).unwrap_or_default();
        let file = path.join(&self.file);
        merge_files(self.collection, &file, [&common, &one, &other]).ok().map(|merged| merged.bytes)
    }

    /// The nearest commits with contents that the store has seen, and whether every branch led to one or to its first
    /// commit.
    fn nearest_seen(&self, head: &str, limit: usize) -> Result<(Vec<CommitBlob>, bool)> {
        let changes = git::changes(&self.export_dir.path, head, &self.file, limit);
        let is_whole = changes.len() < limit;
        let commits: Vec<&str> = changes.iter().map(|changed| changed.commit.as_str()).collect();
        let blobs = self.export_dir.objects.blobs(commits.iter().map(|commit| (*commit, self.file.as_str())));
        let by_commit: HashMap<&str, (&git::FileChange, Option<String>)> =
            changes.iter().zip(blobs).map(|(changed, blob)| (changed.commit.as_str(), (changed, blob))).collect();
        let mut nearest_seen = Vec::new();
        let mut reached = HashSet::new();
        let mut is_open = false;
        let mut next: Vec<&str> = commits.first().copied().into_iter().collect();
        while let Some(commit) = next.pop() {
            if !reached.insert(commit) {
                continue;
            }
            match by_commit.get(commit) {
                None => is_open = true,
                Some((_, Some(blob))) if peers::has_seen(self.tx, blob)? => {
                    nearest_seen.push((commit.to_owned(), blob.clone()));
                }
                Some((changed, _)) => next.extend(changed.before.iter().map(String::as_str)),
            }
        }
        Ok((nearest_seen, is_whole || !is_open))
    }
}

/// The wanted records of a file.
fn records(contents: &Contents, collection: &Collection, wanted: &HashSet<String>) -> HashMap<String, SyncObject> {
    let at = COLLECTIONS.iter().position(|other| other.name == collection.name);
    let bytes = at.map(|at| bytes_of(&contents[at])).unwrap_or_default();
    if wanted.is_empty() {
        return HashMap::new();
    }
    let is_wanted = |text: &[u8]| key(collection, text).is_some_and(|key| wanted.contains(&key));
    // An unreadable line cannot be a base.
    let versions = lines(bytes).filter(|line| is_wanted(line.text)).filter_map(|line| collection.read(line.text).ok());
    versions.map(|record| (collection.key(&record), record)).collect()
}

/// The key of a line's record, without parsing the rest.
pub(super) fn key(collection: &Collection, line: &[u8]) -> Option<String> {
    let fields: Vec<&str> = collection.key_fields().collect();
    Some(texts(line, &fields)?.join(" "))
}

/// Whether a line refers to one of these issues.
pub(super) fn refers_to_any(line: &[u8], issues: &HashSet<String>) -> bool {
    let nearest_seen = texts(line, &["issue_id", "depends_on_id"]);
    nearest_seen.is_some_and(|nearest_seen| nearest_seen.iter().any(|end| issues.contains(end.as_ref())))
}

/// The text fields with these names; empty if absent. Other fields are skipped.
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

/// A text that borrows from the line if possible.
#[derive(Deserialize)]
struct Text<'l>(#[serde(borrow)] Cow<'l, str>);
