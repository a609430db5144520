//! A model of the expected state: a few sets, without files or merges.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// An acknowledged change, by its position in time.
pub(crate) type Change = usize;

/// The effect of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    Created {
        issue: String,
    },
    /// A value that the field had before: a merge cannot tell it from no change.
    Set {
        issue: String,
        field: &'static str,
        value: String,
    },
    Deleted {
        issue: String,
    },
    Commented {
        issue: String,
        comment: String,
    },
    Linked {
        pair: (String, String),
    },
    Unlinked {
        pair: (String, String),
    },
}

/// All acknowledged changes, and which stores and commits have them.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) changes: Vec<What>,
    /// Changes that a later one replaced, made by a store that had them.
    superseded: BTreeSet<Change>,
    /// The changes in each store.
    stores: HashMap<usize, BTreeSet<Change>>,
    /// The changes in each commit.
    commits: HashMap<String, BTreeSet<Change>>,
}

impl Model {
    /// Records a successful command of a store.
    pub(crate) fn acknowledged(&mut self, store: usize, what: What) {
        let known = self.stores.entry(store).or_default();
        if let What::Set { issue, field, .. } = &what {
            let same = |change: &&Change| matches!(&self.changes[**change], What::Set { issue: i, field: f, .. } if i == issue && f == field);
            self.superseded.extend(known.iter().filter(same));
        }
        // A deletion replaces all changes of the issue that the store has, even if another edit restores the issue.
        if let What::Deleted { issue } = &what {
            let of_it = |change: &&Change| matches!(&self.changes[**change], What::Set { issue: i, .. } if i == issue);
            self.superseded.extend(known.iter().filter(of_it));
        }
        known.insert(self.changes.len());
        self.changes.push(what);
    }

    /// Records an export into a commit with these parents.
    pub(crate) fn committed(&mut self, store: usize, commit: String, parents: &[String]) {
        let mut carried = self.stores.get(&store).cloned().unwrap_or_default();
        for parent in parents {
            carried.extend(self.commits.get(parent).cloned().unwrap_or_default());
        }
        self.commits.insert(commit, carried);
    }

    /// Records a commit made from others without an export.
    pub(crate) fn combined(&mut self, commit: &str, of: &[&str]) {
        let carried = of.iter().flat_map(|of| self.commits.get(*of).cloned().unwrap_or_default()).collect();
        self.commits.insert(commit.to_owned(), carried);
    }

    /// Records an import of a commit's files.
    pub(crate) fn imported(&mut self, store: usize, commit: &str) {
        let carried = self.commits.get(commit).cloned().unwrap_or_default();
        self.stores.entry(store).or_default().extend(carried);
    }

    fn known(&self, store: usize) -> impl DoubleEndedIterator<Item = &What> {
        self.stores.get(&store).into_iter().flatten().map(|change| &self.changes[*change])
    }

    /// The undeleted issues of a store, oldest first: ids are random, and the same seed must lead to the same history.
    pub(crate) fn issues(&self, store: usize) -> Vec<String> {
        let mut there = BTreeMap::new();
        for what in self.known(store) {
            match what {
                What::Created { issue } | What::Set { issue, .. } => drop(there.insert(self.age(issue), true)),
                What::Deleted { issue } => drop(there.insert(self.age(issue), false)),
                _ => {}
            }
        }
        let alive = there.into_iter().filter_map(|(age, there)| there.then_some(age));
        alive.filter_map(|age| self.changes.get(age).and_then(created)).collect()
    }

    /// The change that made an issue.
    pub(crate) fn age(&self, wanted: &str) -> Change {
        let made = |what: &What| created(what).is_some_and(|issue| issue == wanted);
        self.changes.iter().position(made).unwrap_or(Change::MAX)
    }

    /// Whether a store has a dependency, and whether it was ever removed there.
    pub(crate) fn has_link(&self, store: usize, wanted: &(String, String)) -> Option<bool> {
        self.known(store).rev().find_map(|what| match what {
            What::Linked { pair } if pair == wanted => Some(true),
            What::Unlinked { pair } if pair == wanted => Some(false),
            _ => None,
        })
    }

    /// Whether any store ever added this dependency.
    pub(crate) fn was_linked(&self, wanted: &(String, String)) -> bool {
        self.changes.iter().any(|what| matches!(what, What::Linked { pair } if pair == wanted))
    }

    /// The unreplaced values of a field, and whether each is a return to an earlier value.
    pub(crate) fn standing(&self, wanted: &str, of: &str) -> Vec<(&str, bool)> {
        let sets = self.changes.iter().enumerate().filter_map(|(at, what)| match what {
            What::Set { issue, field, value } if issue == wanted && *field == of => Some((at, value.as_str())),
            _ => None,
        });
        let mut before: BTreeSet<&str> = ["open", "p2"].into();
        let with_returns: Vec<_> = sets.map(|(at, value)| (at, value, !before.insert(value))).collect();
        let standing = with_returns.into_iter().filter(|(at, ..)| !self.superseded.contains(at));
        standing.map(|(_, value, is_return)| (value, is_return)).collect()
    }

    /// Whether an issue exists in the end: it was never deleted, or changed after its last deletion.
    pub(crate) fn is_alive(&self, wanted: &str) -> bool {
        self.changes
            .iter()
            .rev()
            .find_map(|what| match what {
                What::Created { issue } | What::Set { issue, .. } if issue == wanted => Some(true),
                What::Deleted { issue } if issue == wanted => Some(false),
                _ => None,
            })
            .unwrap_or(false)
    }

    pub(crate) fn was_deleted(&self, wanted: &str) -> bool {
        self.changes.iter().any(|what| matches!(what, What::Deleted { issue } if issue == wanted))
    }
}

fn created(what: &What) -> Option<String> {
    match what {
        What::Created { issue } => Some(issue.clone()),
        _ => None,
    }
}
