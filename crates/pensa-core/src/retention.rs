//! Selects old data that `pn gc` may remove.
//!
//! The engine removes it; the content of a snapshot is removed by the machine that has it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::id::{RunId, SnapshotId};
use crate::snapshot::{Snapshot, SnapshotKind};
use crate::time::{Span, Timestamp};

/// Default minimum age.
pub const DEFAULT_AGE: Span = Span::from_millis(7 * 86_400_000);

/// Returns the nodes of a tree that can be removed, children before parents: those without a descendant that stays.
///
/// `below` maps each candidate to all its children. Nodes in a cycle stay.
pub fn collectable(below: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let mut going = Vec::new();
    let mut gone: HashSet<&str> = HashSet::new();
    let mut left: BTreeSet<&String> = below.keys().collect();
    loop {
        let is_free = |id: &&String| below[*id].iter().all(|child| gone.contains(child.as_str()));
        let free: Vec<&String> = left.iter().copied().filter(is_free).collect();
        if free.is_empty() {
            return going;
        }
        for id in free {
            left.remove(id);
            gone.insert(id);
            going.push(id.clone());
        }
    }
}

/// Returns the snapshots from before `until` that can be removed: those taken automatically before a restore or for a
/// finished run. Manual snapshots and the latest snapshot of each tree stay.
pub fn old_snapshots(all: &[Snapshot], is_over: impl Fn(&RunId) -> bool, until: Timestamp) -> Vec<SnapshotId> {
    let mut newest: BTreeMap<(&str, &str), (Timestamp, &SnapshotId)> = BTreeMap::new();
    for snapshot in all {
        let of_tree = newest.entry((&snapshot.host, &snapshot.root)).or_insert((snapshot.created_at, &snapshot.id));
        *of_tree = (*of_tree).max((snapshot.created_at, &snapshot.id));
    }
    let is_last = |snapshot: &Snapshot| newest.values().any(|(_, id)| **id == snapshot.id);
    let is_old = |snapshot: &Snapshot| {
        snapshot.created_at < until && snapshot.restored_at.is_none_or(|restored| restored < until)
    };
    let is_by_itself = |snapshot: &Snapshot| match &snapshot.run_id {
        Some(run) => is_over(run),
        None => snapshot.kind == SnapshotKind::Safety,
    };
    let going = all.iter().filter(|it| is_old(it) && is_by_itself(it) && !is_last(it));
    going.map(|snapshot| snapshot.id.clone()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn below(pairs: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
        let owned = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
        pairs.iter().map(|(id, children)| ((*id).to_owned(), owned(children))).collect()
    }

    #[test]
    fn parents_of_kept_nodes_are_kept() {
        let tree = below(&[("a", &["b", "c"]), ("b", &["d"]), ("c", &[]), ("d", &[])]);
        assert_eq!(collectable(&tree), ["c", "d", "b", "a"]);
        let kept = below(&[("a", &["b"]), ("b", &["young"]), ("c", &[])]);
        assert_eq!(collectable(&kept), ["c"]);
        let circle = below(&[("a", &["b"]), ("b", &["a"]), ("own", &["own"]), ("z", &[])]);
        assert_eq!(collectable(&circle), ["z"]);
        assert!(collectable(&BTreeMap::new()).is_empty());
    }

    #[test]
    fn only_old_automatic_snapshots_are_removed_but_not_the_latest() {
        let taken = |id: &str, kind: &str, day: u8, more: serde_json::Value| -> Snapshot {
            let mut whole = json!({"id": id, "kind": kind, "provider": "git", "repo_id": "repo-1", "host": "box",
                "root": "/r", "actor": "a", "metadata": {}, "created_at": format!("2026-01-{day:02}T00:00:00.000Z")});
            whole.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            serde_json::from_value(whole).expect("a snapshot")
        };
        let all = [
            taken("snap-manual", "manual", 1, json!({})),
            taken("snap-safety", "safety", 2, json!({})),
            taken("snap-over", "manual", 3, json!({"run_id": "run-over"})),
            taken("snap-going", "manual", 4, json!({"run_id": "run-going"})),
            taken("snap-restored", "safety", 5, json!({"restored_at": "2026-01-20T00:00:00.000Z"})),
            taken("snap-only", "safety", 6, json!({"root": "/other"})),
            taken("snap-young", "safety", 20, json!({})),
            taken("snap-last", "safety", 21, json!({})),
        ];
        let until: Timestamp = "2026-01-10T00:00:00.000Z".parse().expect("a time");
        let ids = |until| -> Vec<String> {
            let going = old_snapshots(&all, |run| run.as_str() == "run-over", until);
            going.iter().map(ToString::to_string).collect()
        };
        assert_eq!(ids(until), ["snap-safety", "snap-over"]);
        let far: Timestamp = "2027-01-01T00:00:00.000Z".parse().expect("a time");
        assert_eq!(ids(far), ["snap-safety", "snap-over", "snap-restored", "snap-young"]);
    }
}
