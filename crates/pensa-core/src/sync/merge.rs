//! Two versions of one record become one.
//!
//! The outcome depends only on the versions and their base, never on which side is "ours", so that every clone that
//! merges the same versions gets the same bytes.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::sync::collection::{Collection, SyncObject as Record};

/// A record made of two versions, and what could not be kept of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    pub record: Record,
    pub clashes: Vec<Clash>,
}

/// Both sides changed the same thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    pub field: String,
    /// The newer value; null if it is absent
    pub kept: Value,
    pub other: Value,
    /// Every field that goes with the other value
    pub whole: Record,
    /// The version that the other value is from; empty if versions have no time
    pub version: String,
}

impl Collection {
    /// Merges two versions of a record that have a common ancestor, or none that is known.
    ///
    /// `left_at` tells when our side, which had a value of a field before, moved on from it. If that was after the
    /// other side wrote it, theirs is not a change but old news.
    pub fn merge(
        &self,
        base: Option<&Record>,
        ours: &Record,
        theirs: &Record,
        mut left_at: impl FnMut(&str, &Value) -> Option<String>,
    ) -> Merged {
        let mut merged = Merged { record: ours.clone(), clashes: Vec::new() };
        for unit in self.units_of([Some(ours), Some(theirs), base]) {
            let [mine, yours] = [ours, theirs].map(|record| part(record, &unit));
            let was = base.map(|base| part(base, &unit));
            if mine == yours || was.as_ref() == Some(&yours) {
                continue;
            }
            if self.latest.contains(&unit[0].as_str()) {
                let time = |part: &Record| part.get(&unit[0]).and_then(Value::as_str).unwrap_or_default().to_owned();
                put(&mut merged.record, &unit, if time(&yours) > time(&mine) { &yours } else { &mine });
                continue;
            }
            let left = self.left(&unit, base, [&mine, &yours], &mut left_at);
            if left.as_ref().is_some_and(|left| left.is_telling || left.at.as_str() >= self.version(theirs)) {
                continue;
            }
            // What we changed and changed back since is no longer untouched.
            if was.as_ref() == Some(&mine) && left.is_none() {
                put(&mut merged.record, &unit, &yours);
                continue;
            }
            let theirs_win = self.goes_before((theirs, &yours), (ours, &mine));
            if self.members.contains(&unit[0].as_str()) {
                let sides = if theirs_win { [theirs, ours] } else { [ours, theirs] };
                let base = base.and_then(|base| base.get(&unit[0]));
                let (joined, lost) = join_members(base, sides.map(|side| side.get(&unit[0])));
                if let Some(other) = lost {
                    let (kept, version) = (joined.clone(), self.version(sides[1]).to_owned());
                    let whole = Record::from_iter([(unit[0].clone(), other.clone())]);
                    merged.clashes.push(Clash { field: unit[0].clone(), kept, other, whole, version });
                }
                put(&mut merged.record, &unit, &Record::from_iter([(unit[0].clone(), joined)]));
                continue;
            }
            let (kept, other) = if theirs_win { (&yours, &mine) } else { (&mine, &yours) };
            put(&mut merged.record, &unit, kept);
            if !self.quiet {
                let lost = if theirs_win { ours } else { theirs };
                merged.clashes.push(clash(&unit, kept, other, self.version(lost)));
            }
        }
        if let Some(version) = self.version {
            let newer = if self.version(theirs) > self.version(ours) { theirs } else { ours };
            if let Some(time) = newer.get(version) {
                merged.record.insert(version.into(), time.clone());
            }
        }
        merged
    }

    /// The fields of a record in groups that change together.
    fn units_of(&self, records: [Option<&Record>; 3]) -> Vec<Vec<String>> {
        let fields: BTreeSet<&String> = records.into_iter().flatten().flat_map(|record| record.keys()).collect();
        let grouped = |field: &str| self.units.iter().any(|unit| unit.contains(&field));
        let alone = fields.into_iter().filter(|field| !self.is_identity(field) && !grouped(field));
        let together = self.units.iter().map(|unit| unit.iter().map(|field| (*field).to_owned()).collect());
        together.chain(alone.map(|field| vec![field.clone()])).collect()
    }

    /// When our side left the value that the other side has; only what happened since the base counts.
    fn left(
        &self,
        unit: &[String],
        base: Option<&Record>,
        [mine, yours]: [&Record; 2],
        left_at: &mut impl FnMut(&str, &Value) -> Option<String>,
    ) -> Option<Left> {
        let is_telling = |field: &&String| self.distinctive.contains(&field.as_str()) && yours.contains_key(*field);
        let differs = |field: &&String| mine.get(*field) != yours.get(*field);
        let telling = unit.iter().filter(differs).find(is_telling);
        let field = telling.or_else(|| unit.iter().find(differs))?;
        let at = left_at(field, yours.get(field).unwrap_or(&Value::Null))?;
        let since = base.map(|base| self.version(base)).unwrap_or_default();
        (at.as_str() > since).then_some(Left { at, is_telling: telling.is_some() })
    }

    /// Whether the first side's value is kept: it is of the newer version, or else sorts last.
    fn goes_before(&self, (a, of_a): (&Record, &Record), (b, of_b): (&Record, &Record)) -> bool {
        self.version(a).cmp(self.version(b)).then_with(|| text(of_a).cmp(&text(of_b))).is_gt()
    }
}

/// That our side moved on from a value.
struct Left {
    at: String,
    /// Whether the value is so distinctive that finding it again means an old value, not a second edit.
    is_telling: bool,
}

/// Merges two lists or objects member by member; of two changes of one member, the first side's is kept. Also returns the
/// merged value with the other side's changes, if any was lost.
fn join_members(base: Option<&Value>, [first, second]: [Option<&Value>; 2]) -> (Value, Option<Value>) {
    let [was, a, b] = [base, first, second].map(members);
    let get = |side: &[(String, Value)], name: &str| side.iter().find(|(own, _)| own == name).map(|(_, v)| v.clone());
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in was.iter().chain(&a).chain(&b) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let (mut kept, mut other, mut is_lost) = (Vec::new(), Vec::new(), false);
    for name in names {
        let [old, one, two] = [&was, &a, &b].map(|side| get(side, name));
        let value = if one == old { &two } else { &one };
        let is_clash = one != old && two != old && one != two && base.is_some();
        is_lost |= is_clash && two.is_some();
        let others = if is_clash && two.is_some() { &two } else { value };
        kept.extend(value.clone().map(|value| (name.clone(), value)));
        other.extend(others.clone().map(|value| (name.clone(), value)));
    }
    let is_object = [first, second, base].into_iter().flatten().any(Value::is_object);
    let whole = |members: Vec<(String, Value)>| match is_object {
        true => Value::Object(members.into_iter().collect()),
        false => members.into_iter().map(|(_, value)| value).collect(),
    };
    (whole(kept), is_lost.then(|| whole(other)))
}

/// The members of an object, or of a list: those with a text are named by it, others by themselves.
fn members(value: Option<&Value>) -> Vec<(String, Value)> {
    match value {
        Some(Value::Object(fields)) => fields.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        Some(Value::Array(items)) => {
            let name = |item: &Value| item.get("text").and_then(Value::as_str).map_or(item.to_string(), str::to_owned);
            items.iter().map(|item| (name(item), item.clone())).collect()
        }
        _ => Vec::new(),
    }
}

/// A value as a text that sorts.
fn text(part: &Record) -> String {
    Value::Object(part.clone()).to_string()
}

fn part(record: &Record, unit: &[String]) -> Record {
    unit.iter().filter_map(|field| Some((field.clone(), record.get(field)?.clone()))).collect()
}

fn put(record: &mut Record, unit: &[String], values: &Record) {
    for field in unit {
        match values.get(field) {
            Some(value) => drop(record.insert(field.clone(), value.clone())),
            None => drop(record.remove(field)),
        }
    }
}

/// Named after the first field in which the two differ.
fn clash(unit: &[String], kept: &Record, other: &Record, version: &str) -> Clash {
    let differs = |field: &&String| kept.get(*field) != other.get(*field);
    let field = unit.iter().find(differs).or(unit.first()).cloned().unwrap_or_default();
    let of = |side: &Record| side.get(&field).cloned().unwrap_or(Value::Null);
    // What is absent on the other side must be taken away with the rest.
    let whole = unit.iter().map(|field| (field.clone(), other.get(field).cloned().unwrap_or(Value::Null))).collect();
    Clash { kept: of(kept), other: of(other), field, whole, version: version.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::sync::{ISSUES, TOMBSTONES, merge_files};

    fn record(value: Value) -> Record {
        let mut whole = json!({"id": "pn-1", "title": "t", "issue_type": "task", "status": "open", "priority": "p2",
            "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z"});
        if let (Value::Object(whole), Value::Object(value)) = (&mut whole, value) {
            whole.extend(value);
        }
        let Value::Object(whole) = whole else { unreachable!("an object") };
        whole
    }

    fn at(second: u32) -> String {
        format!("2026-01-01T00:00:{second:02}.000Z")
    }

    fn merge(base: Option<&Record>, ours: &Record, theirs: &Record) -> Merged {
        ISSUES.merge(base, ours, theirs, |_, _| None)
    }

    #[test]
    fn changes_of_different_fields_are_both_kept() {
        let base = record(json!({}));
        let ours = record(json!({"title": "ours", "updated_at": at(1)}));
        let theirs = record(json!({"priority": "p0", "updated_at": at(2)}));
        let merged = merge(Some(&base), &ours, &theirs);
        assert_eq!(merged.record, record(json!({"title": "ours", "priority": "p0", "updated_at": at(2)})));
        assert_eq!(merged.clashes, []);
    }

    #[test]
    fn the_newer_of_two_changes_wins_and_the_other_is_a_conflict() {
        let base = record(json!({}));
        let older = record(json!({"title": "older", "updated_at": at(1)}));
        let newer = record(json!({"title": "newer", "updated_at": at(2)}));
        for (ours, theirs) in [(&older, &newer), (&newer, &older)] {
            let merged = merge(Some(&base), ours, theirs);
            assert_eq!(merged.record, newer);
            let [clash] = &merged.clashes[..] else { panic!("{merged:?}") };
            assert_eq!((&clash.field[..], &clash.kept, &clash.other), ("title", &json!("newer"), &json!("older")));
        }
    }

    #[test]
    fn what_goes_with_a_status_goes_with_it() {
        let base = record(json!({}));
        let closed = record(json!({"status": "closed", "closed_at": at(1), "close_reason": "r", "updated_at": at(1)}));
        let claimed = record(json!({"status": "in_progress", "assignee": "bob", "updated_at": at(2)}));
        let merged = merge(Some(&base), &closed, &claimed);
        assert_eq!(merged.record, claimed);
        let [clash] = &merged.clashes[..] else { panic!("{merged:?}") };
        let whole = json!({"status": "closed", "closed_at": at(1), "close_reason": "r"});
        assert_eq!(Value::Object(clash.whole.clone()), whole);
    }

    #[test]
    fn what_we_had_and_left_behind_is_no_change_of_theirs() {
        let ours = record(json!({"title": "later", "updated_at": at(1)}));
        let theirs = record(json!({"title": "earlier", "priority": "p0", "updated_at": at(2)}));
        let merged = ISSUES.merge(Some(&record(json!({}))), &ours, &theirs, |field, value| {
            (field == "title" && value == "earlier").then(|| at(1))
        });
        assert_eq!(merged.record, record(json!({"title": "later", "priority": "p0", "updated_at": at(2)})));
        assert_eq!(merged.clashes, []);
    }

    #[test]
    fn what_we_changed_and_changed_back_is_not_changed_again_by_an_older_version() {
        let base = record(json!({}));
        let ours = record(json!({"updated_at": at(3)}));
        let theirs = record(json!({"priority": "p0", "updated_at": at(1)}));
        let merge = |left: u32| ISSUES.merge(Some(&base), &ours, &theirs, |_, _| Some(at(left)));
        assert_eq!((merge(2).record, merge(2).clashes.len()), (ours.clone(), 0), "left after they wrote it");
        assert_eq!(merge(0).record.get("priority"), Some(&json!("p0")), "left before there was the base");
        // They wrote it after we left it, or wrote something else then: the order is unknown, so the newer value wins and a
        // conflict is recorded.
        let theirs = record(json!({"priority": "p0", "updated_at": at(4)}));
        let merged = ISSUES.merge(Some(&base), &ours, &theirs, |_, _| Some(at(2)));
        assert_eq!((merged.record.get("priority"), merged.clashes.len()), (Some(&json!("p0")), 1));
    }

    #[test]
    fn what_was_so_before_the_base_is_a_change_of_theirs_all_the_same() {
        let base = record(json!({"title": "second", "updated_at": at(2)}));
        let ours = record(json!({"title": "third", "updated_at": at(3)}));
        let theirs = record(json!({"title": "first", "updated_at": at(4)}));
        let merged = ISSUES.merge(Some(&base), &ours, &theirs, |_, value| (value == "first").then(|| at(2)));
        assert_eq!((merged.record.get("title"), merged.clashes.len()), (Some(&json!("first")), 1));
    }

    #[test]
    fn of_two_times_at_which_something_was_made_again_the_later_holds() {
        let grave = |value: Value| match value {
            Value::Object(record) => record,
            _ => unreachable!("an object"),
        };
        let one =
            grave(json!({"collection": "deps", "id": "a b", "deleted_at": at(1), "actor": "a", "restored_at": at(5)}));
        let other = grave(json!({"collection": "deps", "id": "a b", "deleted_at": at(3), "actor": "b"}));
        for (ours, theirs) in [(&one, &other), (&other, &one)] {
            let merged = TOMBSTONES.merge(None, ours, theirs, |_, _| None).record;
            assert_eq!(
                (merged.get("deleted_at"), merged.get("restored_at")),
                (Some(&json!(at(3))), Some(&json!(at(5))))
            );
        }
    }

    #[test]
    fn unknown_fields_are_merged_like_the_others() {
        let base = record(json!({"x": 1, "y": [1]}));
        let ours = record(json!({"x": 2, "y": [1], "updated_at": at(1)}));
        let theirs = record(json!({"y": [2], "z": {}, "updated_at": at(2)}));
        let merged = merge(Some(&base), &ours, &theirs);
        assert_eq!(merged.record.get("z"), Some(&json!({})));
        assert_eq!(merged.record.get("y"), Some(&json!([2])));
        let [clash] = &merged.clashes[..] else { panic!("{merged:?}") };
        assert_eq!((&clash.field[..], &clash.kept, &clash.other), ("x", &json!(null), &json!(2)));
    }

    #[test]
    fn members_of_lists_and_objects_merge_one_by_one() {
        let criterion = |text: &str, done: bool| json!({"text": text, "done": done});
        let fields = |labels: &[&str], ticked: [bool; 2], severity: &str, second: u32| {
            record(json!({"labels": labels, "fields": {"severity": severity, "team": "core"},
                "acceptance": [criterion("one", ticked[0]), criterion("two", ticked[1])], "updated_at": at(second)}))
        };
        let base = fields(&["a", "b"], [false, false], "low", 0);
        let ours = fields(&["b", "c"], [true, false], "high", 1);
        let theirs = fields(&["a", "b", "d"], [false, true], "middle", 2);
        for (one, other) in [(&ours, &theirs), (&theirs, &ours)] {
            let merged = merge(Some(&base), one, other);
            let labels: BTreeSet<&str> =
                merged.record["labels"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            assert_eq!(labels, BTreeSet::from(["b", "c", "d"]));
            assert_eq!(merged.record["acceptance"], json!([criterion("one", true), criterion("two", true)]));
            assert_eq!(merged.record["fields"], json!({"severity": "middle", "team": "core"}));
            let [clash] = &merged.clashes[..] else { panic!("{merged:?}") };
            assert_eq!(clash.field, "fields");
            assert_eq!(clash.whole["fields"], json!({"severity": "high", "team": "core"}));
        }
    }

    /// A version of one record, or of none.
    fn versions() -> impl Strategy<Value = Record> {
        let word = |words: &'static [&'static str]| prop::sample::select(words);
        (word(&["a", "b", "c"]), word(&["p0", "p1"]), word(&["open", "closed"]), 0u32..4, prop::option::of(0u8..3))
            .prop_map(|(title, priority, status, second, x)| {
                let mut made =
                    record(json!({"title": title, "priority": priority, "status": status, "updated_at": at(second)}));
                if status == "closed" {
                    made.insert("closed_at".into(), json!(at(second)));
                }
                if let Some(x) = x {
                    made.insert("x".into(), json!(x));
                }
                made
            })
    }

    proptest! {
        #[test]
        fn a_merge_does_not_depend_on_whose_side_is_ours(
            base in prop::option::of(versions()), one in versions(), other in versions()
        ) {
            let (a, b) = (merge(base.as_ref(), &one, &other), merge(base.as_ref(), &other, &one));
            prop_assert_eq!(&a.record, &b.record);
            prop_assert_eq!(a.clashes.len(), b.clashes.len());
            // Merging the outcome with either side again changes nothing.
            prop_assert_eq!(&merge(Some(&one), &a.record, &one).record, &a.record);
        }

        #[test]
        fn every_value_of_a_merge_is_kept_or_a_conflict(
            base in versions(), one in versions(), other in versions()
        ) {
            let merged = merge(Some(&base), &one, &other);
            for side in [&one, &other] {
                for field in ["title", "priority", "x"] {
                    let (value, was) = (side.get(field), base.get(field));
                    let is_clash = |clash: &Clash| clash.field == field && clash.whole.get(field).filter(|v| !v.is_null()) == value;
                    prop_assert!(
                        value == was || merged.record.get(field) == value || merged.clashes.iter().any(is_clash),
                        "{} of {:?} is gone: {:?}", field, side, merged
                    );
                }
            }
        }

        #[test]
        fn merged_files_are_the_same_bytes_from_both_sides(
            base in versions(), one in versions(), other in versions()
        ) {
            let file = |record: &Record| [ISSUES.write(record.clone()).expect("a line"), b"\n".to_vec()].concat();
            let [base, one, other] = [file(&base), file(&one), file(&other)];
            let path = std::path::Path::new("issues.jsonl");
            let a = merge_files(&ISSUES, path, [&base, &one, &other]).expect("merged").bytes;
            let b = merge_files(&ISSUES, path, [&base, &other, &one]).expect("merged").bytes;
            prop_assert_eq!(a, b);
        }
    }
}
