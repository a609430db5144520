//! The common ancestor of a file and the database: what files and database last agreed on or, after another branch
//! was checked out, what the two branches have in common.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use pensa_core::Result;
use pensa_core::sync::{COLLECTIONS, Collection, Record, lines};
use serde::Deserialize;

use super::agreed::Known;
use super::files::{Content, Contents, bytes_of};
use super::place::Place;
use crate::db::Tx;
use crate::git;
use crate::tables::agreements;

/// Where the versions before a merge come from.
#[derive(Debug, Default)]
pub(super) struct Base {
    /// What was agreed on, unless another line of history was checked out since.
    agreed: Option<Contents>,
    /// The place, and the commit that the agreement and what is checked out both come from.
    common: Option<(PathBuf, String)>,
    committed: OnceCell<Contents>,
}

impl Base {
    pub(super) fn find(tx: &Tx<'_>, place: &Place, agreed: Option<(Known, Contents)>) -> Result<Self> {
        let (agreed, known) = match agreed {
            Some((known, contents)) => (Some(contents), known.agreement.head),
            // A new worktree: the database knows what any other has.
            None => (None, agreements::all(tx)?.into_iter().find_map(|agreement| agreement.head)),
        };
        let Some(known) = known else { return Ok(Self { agreed, ..Self::default() }) };
        let common = git::head(&place.project).and_then(|head| git::merge_base(&place.project, &known, &head));
        let agreed = agreed.filter(|_| common.as_ref().is_none_or(|common| *common == known));
        let common = common.map(|common| (place.dir.clone(), common));
        Ok(Self { agreed, common, ..Self::default() })
    }

    /// The versions of these records.
    pub(super) fn versions<'b>(&'b self, collection: &'static Collection, wanted: HashSet<String>) -> Versions<'b> {
        let agreed = self.agreed.as_ref().map(|contents| records(contents, collection, &wanted));
        Versions { base: self, collection, agreed: agreed.unwrap_or_default(), wanted, committed: OnceCell::new() }
    }

    /// The files of the common commit, looked up when they are first needed.
    fn committed(&self) -> &Contents {
        self.committed.get_or_init(|| match &self.common {
            Some((dir, commit)) => committed(dir, commit),
            None => Contents::default(),
        })
    }
}

/// The versions of some records before the merge.
#[derive(Debug)]
pub(super) struct Versions<'b> {
    base: &'b Base,
    collection: &'static Collection,
    wanted: HashSet<String>,
    agreed: HashMap<String, Record>,
    committed: OnceCell<HashMap<String, Record>>,
}

impl Versions<'_> {
    /// The version that another comes from. One that is no newer than what was agreed on comes from before it: then it
    /// is the commit's, which may be an older one.
    pub(super) fn before(&self, key: &str, theirs: &Record) -> Option<&Record> {
        let is_outrun = |agreed: &&Record| self.collection.version(theirs) <= self.collection.version(agreed);
        let of_commit = || {
            let load = || records(self.base.committed(), self.collection, &self.wanted);
            self.committed.get_or_init(load).get(key)
        };
        match self.agreed.get(key) {
            Some(agreed) if !is_outrun(&agreed) || agreed == theirs => Some(agreed),
            _ => of_commit(),
        }
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

/// The files in a commit.
fn committed(dir: &Path, commit: &str) -> Contents {
    let mut contents = Contents::default();
    for (slot, collection) in contents.iter_mut().zip(COLLECTIONS) {
        *slot = git::show(dir, commit, &collection.file_name()).map(Content::from);
    }
    contents
}

/// What names the record of a line, without reading the rest of it.
pub(super) fn key(collection: &Collection, line: &[u8]) -> Option<String> {
    serde_json::from_slice::<Name<'_>>(line).ok().map(|name| name.key(collection))
}

/// Just enough of a line to know which record it is.
#[derive(Deserialize)]
struct Name<'l> {
    #[serde(borrow, default)]
    id: std::borrow::Cow<'l, str>,
    #[serde(borrow, default)]
    collection: std::borrow::Cow<'l, str>,
    #[serde(borrow, default)]
    issue_id: std::borrow::Cow<'l, str>,
    #[serde(borrow, default)]
    depends_on_id: std::borrow::Cow<'l, str>,
}

impl Name<'_> {
    fn key(&self, collection: &Collection) -> String {
        let mut record = Record::new();
        for (field, text) in [
            ("id", &self.id),
            ("collection", &self.collection),
            ("issue_id", &self.issue_id),
            ("depends_on_id", &self.depends_on_id),
        ] {
            record.insert(field.into(), text.as_ref().into());
        }
        collection.key(&record)
    }
}
