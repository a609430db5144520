//! What keeps memory clean: which learnings to look at again, what belongs to a poisoned one, and how many there are.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::contradiction::contradictions;
use super::{Learning, plain_path};
use crate::closed_enum::closed_enum;
use crate::id::LearningId;
use crate::similar;
use crate::time::{Span, Timestamp};

/// After this time without use a learning is proposed for review.
pub const UNUSED_FOR: Span = Span::from_millis(180 * 86_400_000);
/// How old a learning is before it should have been confirmed by somebody.
const UNVERIFIED_FOR: i64 = 30 * 86_400_000;
/// The tag of learnings that no person or agent wrote down themselves.
pub const DISTILLED: &str = "distilled";
/// Most learnings with the same words that are compared.
const MAX_SAME: usize = 50;
/// The learnings that statistics name.
const NAMED: usize = 5;

closed_enum! {
    /// Why a learning should be looked at again.
    ReviewReason "unknown reason: {:?}" {
        /// Some of its files are gone
        FilesGone "files_gone",
        /// Another learning contradicts it
        Contradicted "contradicted",
        /// Another learning says the same
        Duplicate "duplicate",
        /// Nobody used, changed or verified it for long
        Unused "unused",
        /// It is older than a month, and nobody confirmed it
        Unverified "unverified",
    }
}

/// A learning that should be looked at again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewItem {
    #[serde(flatten)]
    pub learning: Learning,
    pub reasons: Vec<ReviewReason>,
    /// Those of its files that are gone
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone_files: Vec<String>,
    /// An older learning that says the same
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<LearningId>,
}

/// What to look for in a review.
#[derive(Debug, Clone)]
pub struct ReviewScope {
    pub now: Timestamp,
    pub unused_for: Span,
    /// Files that the caller did not find
    pub gone: Vec<String>,
}

/// The valid learnings that should be looked at again, those with the gravest reason first, then the oldest.
pub fn review(valid: &[Learning], scope: &ReviewScope) -> Vec<ReviewItem> {
    let disputed: BTreeSet<LearningId> =
        contradictions(valid).into_iter().flat_map(|pair| [pair.newer.id, pair.older.id]).collect();
    let duplicates = duplicates(valid);
    let gone: BTreeSet<&str> = scope.gone.iter().map(|file| plain_path(file)).collect();
    let item = |learning: &Learning| {
        let gone_files: Vec<String> =
            learning.files.iter().filter(|file| gone.contains(plain_path(file))).cloned().collect();
        let duplicate_of = duplicates.get(&learning.id).cloned();
        let age = |at: Timestamp| scope.now.as_millis() - at.as_millis();
        let touched = learning.last_used().map_or(learning.fresh_at(), |used| used.max(learning.fresh_at()));
        let is_confirmed = learning.verified_at.is_some() || !learning.useful.is_empty() || learning.revision > 1;
        let reasons: Vec<ReviewReason> = [
            (ReviewReason::FilesGone, !gone_files.is_empty()),
            (ReviewReason::Contradicted, disputed.contains(&learning.id)),
            (ReviewReason::Duplicate, duplicate_of.is_some()),
            (ReviewReason::Unused, age(touched) > scope.unused_for.as_millis()),
            (ReviewReason::Unverified, !is_confirmed && age(learning.created_at) > UNVERIFIED_FOR),
        ]
        .into_iter()
        .filter_map(|(reason, holds)| holds.then_some(reason))
        .collect();
        (!reasons.is_empty()).then(|| ReviewItem { learning: learning.clone(), reasons, gone_files, duplicate_of })
    };
    let mut items: Vec<ReviewItem> = valid.iter().filter_map(item).collect();
    items.sort_by(|a, b| {
        let order = |item: &ReviewItem| (item.reasons.first().copied(), item.learning.fresh_at());
        order(a).cmp(&order(b)).then_with(|| a.learning.id.cmp(&b.learning.id))
    });
    items
}

/// Learnings that say the same as an older one, of whatever kind.
fn duplicates(valid: &[Learning]) -> HashMap<LearningId, LearningId> {
    let mut oldest: Vec<&Learning> = valid.iter().collect();
    oldest.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    let mut by_key: HashMap<i64, Vec<&Learning>> = HashMap::new();
    let mut found = HashMap::new();
    for learning in oldest {
        let keys = similar::keys(&learning.text);
        let older = keys.iter().filter_map(|key| by_key.get(key)).flatten();
        if let Some(same) = older.into_iter().find(|older| similar::restates(&older.text, &learning.text)) {
            found.insert(learning.id.clone(), same.id.clone());
            continue;
        }
        for key in keys {
            let same = by_key.entry(key).or_default();
            if same.len() < MAX_SAME {
                same.push(learning);
            }
        }
    }
    found
}

/// The ids of all learnings that stand on one: that were merged with it, supersede it or cite it, and so on.
pub fn descendants(all: &[Learning], root: &LearningId) -> Vec<LearningId> {
    let mut below: HashMap<&LearningId, Vec<&LearningId>> = HashMap::new();
    for learning in all {
        let merged = learning.sources.iter().filter_map(|source| source.learning.as_ref());
        for parent in merged.chain(&learning.supersedes).chain(&learning.derived_from) {
            below.entry(parent).or_default().push(&learning.id);
        }
    }
    let (mut found, mut open) = (BTreeSet::from([root]), vec![root]);
    while let Some(id) = open.pop() {
        open.extend(below.get(id).into_iter().flatten().filter(|child| found.insert(child)));
    }
    found.remove(root);
    found.into_iter().cloned().collect()
}

/// How many learnings there are, of what kind, and how good they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LearningStats")]
pub struct LearningStats {
    /// All that are stored
    pub total: usize,
    /// Those that are recalled: neither expired nor superseded
    pub valid: usize,
    pub expired: usize,
    pub superseded: usize,
    /// Valid ones by kind
    pub kinds: BTreeMap<String, usize>,
    /// Valid ones by impact
    pub impacts: BTreeMap<String, usize>,
    /// Valid ones that somebody verified
    pub verified: usize,
    /// Valid ones that were of use
    pub useful: usize,
    /// Valid ones with duplicates merged into them
    pub merged: usize,
    /// Valid ones that cite others
    pub derived: usize,
    /// Valid ones about files
    pub about_files: usize,
    /// Pairs that contradict each other
    pub contradictions: usize,
    /// Those that a review proposes, without a look at files
    pub to_review: usize,
    /// The most useful ones, with the number of their uses
    pub most_useful: Vec<UsefulLearning>,
}

/// A learning, and how often it was of use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsefulLearning {
    pub id: LearningId,
    pub uses: usize,
    pub text: String,
}

/// Counts learnings; `superseded` are the ids of those that others replaced.
pub fn stats(all: &[Learning], superseded: &BTreeSet<LearningId>, now: Timestamp) -> LearningStats {
    let is_valid = |learning: &&Learning| !learning.has_expired(now) && !superseded.contains(&learning.id);
    let valid: Vec<Learning> = all.iter().filter(is_valid).cloned().collect();
    let count = |holds: fn(&Learning) -> bool| valid.iter().filter(|learning| holds(learning)).count();
    let (mut kinds, mut impacts) = (BTreeMap::new(), BTreeMap::new());
    for learning in &valid {
        *kinds.entry(learning.kind.to_string()).or_default() += 1;
        *impacts.entry(learning.impact.to_string()).or_default() += 1;
    }
    let mut most: Vec<&Learning> = valid.iter().filter(|learning| !learning.useful.is_empty()).collect();
    most.sort_by(|a, b| (b.useful.len(), b.last_used(), &a.id).cmp(&(a.useful.len(), a.last_used(), &b.id)));
    let named = |learning: &&Learning| UsefulLearning {
        id: learning.id.clone(),
        uses: learning.useful.len(),
        text: learning.text.clone(),
    };
    LearningStats {
        total: all.len(),
        valid: valid.len(),
        expired: all.iter().filter(|learning| learning.has_expired(now)).count(),
        superseded: all.iter().filter(|learning| superseded.contains(&learning.id)).count(),
        kinds,
        impacts,
        verified: count(|learning| learning.verified_at.is_some()),
        useful: most.len(),
        merged: count(|learning| learning.revision > 1),
        derived: count(|learning| !learning.derived_from.is_empty()),
        about_files: count(|learning| !learning.files.is_empty()),
        contradictions: contradictions(&valid).len(),
        to_review: review(&valid, &ReviewScope { now, unused_for: UNUSED_FOR, gone: Vec::new() }).len(),
        most_useful: most.iter().take(NAMED).map(named).collect(),
    }
}

/// Those of some learnings that are about one of these files.
pub fn about(learnings: Vec<Learning>, files: &[String]) -> Vec<Learning> {
    let is_about =
        |learning: &Learning| learning.files.iter().any(|known| files.iter().any(|file| is_same_path(known, file)));
    learnings.into_iter().filter(is_about).collect()
}

/// Whether two paths may name the same file: one ends with the other.
fn is_same_path(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(plain_path);
    let ends = |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.ends_with('/'));
    one == other || ends(one, other) || ends(other, one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learning::{FileMove, Kind, MergedSource};

    const DAY: i64 = 86_400_000;

    fn at(day: i64) -> Timestamp {
        Timestamp::from_millis(day * DAY).expect("a time")
    }

    fn learning(id: &str, text: &str, day: i64) -> Learning {
        Learning::new(id.parse().expect("an id"), Kind::Gotcha, text.to_owned(), "ana".to_owned(), at(day))
    }

    fn reasons(all: &[Learning], day: i64, gone: &[&str]) -> Vec<(String, Vec<ReviewReason>)> {
        let gone = gone.iter().map(|file| (*file).to_owned()).collect();
        let items = review(all, &ReviewScope { now: at(day), unused_for: UNUSED_FOR, gone });
        items.into_iter().map(|item| (item.learning.id.to_string(), item.reasons)).collect()
    }

    #[test]
    fn what_is_old_unused_disputed_or_without_its_files_is_proposed() {
        use ReviewReason::{Contradicted, Duplicate, FilesGone, Unused, Unverified};
        let mut used = learning("ln-used", "the walker starts at the drive", 0);
        used.useful = used.used_by("ben", at(190)).expect("used").useful;
        let mut verified = learning("ln-verified", "symlinks are not followed", 0);
        verified.verified_at = Some(at(150));
        let mut lost = learning("ln-lost", "the resolver caches its parents", 199);
        lost.files = vec!["./core/resolver.ts".into(), "core/walk.ts".into()];
        let all = [
            learning("ln-old", "the build needs the old linker", 0),
            learning("ln-young", "the linker is slow on Windows", 199),
            learning("ln-month", "the parser reads a byte ahead", 160),
            used,
            verified,
            lost,
            learning("ln-port1", "the port is 8080", 199),
            learning("ln-port2", "the port is 9090", 199),
            learning("ln-again", "the build needs an old linker", 199),
        ];
        let found = reasons(&all, 200, &["core/resolver.ts"]);
        let expected = [
            ("ln-lost", vec![FilesGone]),
            ("ln-port1", vec![Contradicted]),
            ("ln-port2", vec![Contradicted]),
            ("ln-again", vec![Duplicate]),
            ("ln-old", vec![Unused, Unverified]),
            ("ln-month", vec![Unverified]),
        ];
        assert_eq!(found, expected.map(|(id, reasons)| (id.to_owned(), reasons)));
        assert_eq!(reasons(&all[1..2], 200, &[]), []);
    }

    #[test]
    fn descendants_are_those_that_merged_supersede_or_cite_in_any_number_of_steps() {
        let mut all: Vec<Learning> = (0..7).map(|at| learning(&format!("ln-{at}"), "text", 0)).collect();
        all[1].supersedes = Some(all[0].id.clone());
        all[2].derived_from = vec![all[1].id.clone()];
        let source = MergedSource { learning: Some(all[2].id.clone()), ..all[2].source() };
        all[3].sources = vec![source];
        all[4].derived_from = vec![all[5].id.clone()];
        all[0].derived_from = vec![all[3].id.clone()];
        let ids = |root: usize| descendants(&all, &all[root].id).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(ids(0), ["ln-1", "ln-2", "ln-3"], "cycles end");
        assert_eq!((ids(5), ids(6)), (vec!["ln-4".to_owned()], vec![]));
    }

    #[test]
    fn statistics_count_what_is_valid() {
        let mut all =
            [learning("ln-a", "the port is 1", 0), learning("ln-b", "the port is 2", 0), learning("ln-c", "c", 0)];
        all[2].expires_at = Some(at(1));
        all[0] = all[0].used_by("ana", at(1)).expect("used");
        let found = stats(&all, &BTreeSet::new(), at(2));
        assert_eq!((found.total, found.valid, found.expired, found.contradictions), (3, 2, 1, 1));
        assert_eq!((found.useful, found.most_useful[0].uses), (1, 1));
        let replaced = BTreeSet::from([all[0].id.clone()]);
        let found = stats(&all, &replaced, at(2));
        assert_eq!((found.valid, found.superseded, found.contradictions, found.kinds["gotcha"]), (1, 1, 0, 1));
    }

    #[test]
    fn a_use_counts_once_a_day_for_each_actor() {
        let one = learning("ln-a", "x", 0);
        let used = one.used_by("ana", at(1)).expect("used");
        assert_eq!(used.used_by("ana", at(1)), None);
        let both = used.used_by("ben", at(1)).and_then(|used| used.used_by("ana", at(3))).expect("used");
        assert_eq!((both.useful.len(), both.last_used()), (3, Some(at(3))));
    }

    #[test]
    fn renamed_files_keep_their_learning() {
        let mut one = learning("ln-a", "x", 0);
        one.files = vec!["./a.rs".into(), "b.rs".into()];
        let moved = |from: &str, to: &str| FileMove { from: from.into(), to: to.into() };
        let new = one.with_moved_files(&[moved("a.rs", "src/a.rs"), moved("src/a.rs", "lib/a.rs")]).expect("moved");
        assert_eq!(new.files, ["b.rs", "lib/a.rs"]);
        assert_eq!(new.former_files, ["./a.rs", "src/a.rs"]);
        assert_eq!(one.with_moved_files(&[moved("c.rs", "d.rs")]), None);
        let back = new.with_moved_files(&[moved("lib/a.rs", "src/a.rs")]).expect("moved back");
        assert_eq!(
            (back.files, back.former_files),
            (vec!["b.rs".into(), "src/a.rs".into()], vec!["./a.rs".to_owned(), "lib/a.rs".into()])
        );
    }
}
