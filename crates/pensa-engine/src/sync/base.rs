//! The common ancestor of a file and the database: what files and database last agreed on or, after another branch
//! was checked out, what the two branches have in common.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use pensa_core::Result;
use pensa_core::sync::{COLLECTIONS, Collection, Record, lines};
use serde::Deserialize;

use super::agreed::Contents;
use super::place::Place;
use crate::db::Tx;
use crate::git;
use crate::tables::agreements::{self, Agreement};

/// Where the versions before a merge come from.
#[derive(Debug)]
pub(super) enum Base {
    /// What was agreed on: whatever is not newer than that does not come from it.
    Agreed(Contents),
    /// What two branches have in common.
    Commit(Contents),
    None,
}

impl Base {
    pub(super) fn find(tx: &Tx<'_>, place: &Place, agreed: Option<(Agreement, Contents)>) -> Result<Self> {
        let known = match &agreed {
            Some((agreement, _)) => agreement.head.clone(),
            // A new worktree: the database knows what any other has.
            None => agreements::all(tx)?.into_iter().find_map(|agreement| agreement.head),
        };
        if let (Some(known), Some(head)) = (known, git::head(&place.project))
            && let Some(common) = git::merge_base(&place.project, &known, &head)
            && (common != known || agreed.is_none())
        {
            return Ok(Base::Commit(committed(&place.dir, &common)));
        }
        Ok(agreed.map_or(Base::None, |(_, contents)| Base::Agreed(contents)))
    }

    /// The versions of these records.
    pub(super) fn versions(&self, collection: &Collection, wanted: &HashSet<String>) -> HashMap<String, Record> {
        let (Base::Agreed(contents) | Base::Commit(contents)) = self else { return HashMap::new() };
        let at = COLLECTIONS.iter().position(|other| other.name == collection.name);
        let bytes = at.and_then(|at| contents[at].as_deref()).unwrap_or_default();
        if wanted.is_empty() {
            return HashMap::new();
        }
        let is_wanted = |text: &[u8]| {
            serde_json::from_slice::<Name<'_>>(text).is_ok_and(|name| wanted.contains(&name.key(collection)))
        };
        // What cannot be read cannot be a base.
        let versions =
            lines(bytes).filter(|line| is_wanted(line.text)).filter_map(|line| collection.read(line.text).ok());
        versions.map(|record| (collection.key(&record), record)).collect()
    }

    /// Whether a version that is no newer than its base comes from elsewhere.
    pub(super) fn is_outrun(&self, collection: &Collection, base: &Record, theirs: &Record) -> bool {
        matches!(self, Base::Agreed(_)) && base != theirs && collection.version(theirs) <= collection.version(base)
    }
}

/// The files in a commit.
fn committed(dir: &Path, commit: &str) -> Contents {
    let mut contents = Contents::default();
    for (slot, collection) in contents.iter_mut().zip(COLLECTIONS) {
        *slot = git::show(dir, commit, &collection.file_name());
    }
    contents
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
