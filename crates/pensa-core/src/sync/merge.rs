//! Two versions of one record become one.
//!
//! The outcome depends only on the versions and their base, never on which side is "ours", so that every clone that
//! merges the same versions gets the same bytes.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::sync::collection::{Collection, Record};

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
}

impl Collection {
    /// Merges two versions of a record that have a common ancestor, or none that is known.
    ///
    /// `was_known` tells whether our side had a value of a field before and has moved on: then the other side's is not
    /// a change but old news.
    pub fn merge(
        &self,
        base: Option<&Record>,
        ours: &Record,
        theirs: &Record,
        mut was_known: impl FnMut(&str, &Value) -> bool,
    ) -> Merged {
        let mut merged = Merged { record: ours.clone(), clashes: Vec::new() };
        for unit in self.units_of([Some(ours), Some(theirs), base]) {
            let [mine, yours] = [ours, theirs].map(|record| part(record, &unit));
            let was = base.map(|base| part(base, &unit));
            if mine == yours || was.as_ref() == Some(&yours) {
                continue;
            }
            if was.as_ref() == Some(&mine) {
                put(&mut merged.record, &unit, &yours);
            } else if !self.is_old_news(&unit, &yours, &mut was_known) {
                let theirs_win = self.goes_before((theirs, &yours), (ours, &mine));
                let (kept, other) = if theirs_win { (&yours, &mine) } else { (&mine, &yours) };
                put(&mut merged.record, &unit, kept);
                if !self.quiet {
                    merged.clashes.push(clash(&unit, kept, other));
                }
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

    fn is_old_news(&self, unit: &[String], value: &Record, was_known: &mut impl FnMut(&str, &Value) -> bool) -> bool {
        let told = unit.iter().filter(|field| self.telling.contains(&field.as_str()));
        told.filter_map(|field| Some((field, value.get(field)?))).any(|(field, value)| was_known(field, value))
    }

    /// Whether the first side's value is kept: it is of the newer version, or else sorts last.
    fn goes_before(&self, (a, of_a): (&Record, &Record), (b, of_b): (&Record, &Record)) -> bool {
        let text = |part: &Record| Value::Object(part.clone()).to_string();
        self.version(a).cmp(self.version(b)).then_with(|| text(of_a).cmp(&text(of_b))).is_gt()
    }
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
fn clash(unit: &[String], kept: &Record, other: &Record) -> Clash {
    let differs = |field: &&String| kept.get(*field) != other.get(*field);
    let field = unit.iter().find(differs).or(unit.first()).cloned().unwrap_or_default();
    let of = |side: &Record| side.get(&field).cloned().unwrap_or(Value::Null);
    // What is absent on the other side must be taken away with the rest.
    let whole = unit.iter().map(|field| (field.clone(), other.get(field).cloned().unwrap_or(Value::Null))).collect();
    Clash { kept: of(kept), other: of(other), field, whole }
}
