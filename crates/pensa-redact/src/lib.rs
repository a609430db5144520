//! Finds known secret formats in text and JSON and puts `[REDACTED:<kind>]` in their place.
//!
//! When this is done, and whether somebody may ask for it not to be, is left to the callers. What counts as a secret is
//! data: `rules/README.md` says where it comes from.

mod pem;
mod rules;
mod scan;
mod sight;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use scan::Hit;

/// Most often that a text is looked through again because something was taken out of it.
const PASSES: usize = 8;

/// How many secrets of each kind were taken out.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Kinds(BTreeMap<&'static str, usize>);

impl Kinds {
    pub fn total(&self) -> usize {
        self.0.values().sum()
    }

    /// Each kind that was found and how often, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.0.iter().map(|(kind, count)| (*kind, *count))
    }
}

/// The text without the secrets in it, and how many there were.
pub fn text(text: &str) -> (Cow<'_, str>, usize) {
    let mut kinds = Kinds::default();
    let clean = text_counted(text, &mut kinds);
    (clean, kinds.total())
}

/// The text without the secrets in it, which are added to `kinds`.
pub fn text_counted<'t>(text: &'t str, kinds: &mut Kinds) -> Cow<'t, str> {
    clean("", text, kinds)
}

/// Takes the secrets out of every text in `value`, names of members included, and says how many there were.
pub fn value(value: &mut Value) -> usize {
    let mut kinds = Kinds::default();
    value_counted(value, &mut kinds);
    kinds.total()
}

/// The same, adding to `kinds`.
pub fn value_counted(value: &mut Value, kinds: &mut Kinds) {
    // A list of what is left to do and no recursion: the depth of a value is up to whoever made it.
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        match value {
            Value::String(text) => replace("", text, kinds),
            Value::Array(items) => left.extend(items),
            Value::Object(members) => {
                clean_names(members, kinds);
                for (name, member) in members {
                    match member {
                        Value::String(text) => replace(name, text, kinds),
                        other => left.push(other),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// The same for the members of an object, as entries have them.
pub fn map_counted(members: &mut Map<String, Value>, kinds: &mut Kinds) {
    let mut whole = Value::Object(std::mem::take(members));
    value_counted(&mut whole, kinds);
    if let Value::Object(clean) = whole {
        *members = clean;
    }
}

fn replace(name: &str, text: &mut String, kinds: &mut Kinds) {
    if let Cow::Owned(clean) = clean(name, text, kinds) {
        *text = clean;
    }
}

/// Names with secrets are rare; only then is the object made anew, in the same order and with nothing lost.
fn clean_names(members: &mut Map<String, Value>, kinds: &mut Kinds) {
    if !members.keys().any(|name| !scan::find("", name).is_empty()) {
        return;
    }
    let mut taken: BTreeSet<String> = members.keys().cloned().collect();
    for (name, member) in std::mem::take(members) {
        let mut new = clean("", &name, kinds).into_owned();
        if new != name {
            let base = new.clone();
            for count in 2.. {
                if taken.insert(new.clone()) {
                    break;
                }
                new = format!("{base} {count}");
            }
        }
        members.insert(new, member);
    }
}

/// Takes out secrets until none is left: what was taken out can uncover another beside it.
fn clean<'t>(name: &str, text: &'t str, kinds: &mut Kinds) -> Cow<'t, str> {
    let mut clean = Cow::Borrowed(text);
    for _ in 0..PASSES {
        let hits = scan::find(name, &clean);
        if hits.is_empty() {
            break;
        }
        for hit in &hits {
            *kinds.0.entry(hit.kind).or_default() += 1;
        }
        clean = Cow::Owned(without(&clean, &hits));
    }
    clean
}

fn without(text: &str, hits: &[Hit]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut kept = 0;
    for hit in hits {
        out.push_str(&text[kept..hit.start]);
        out.push_str(sight::MARK);
        out.push_str(hit.kind);
        out.push(']');
        kept = hit.end;
    }
    out.push_str(&text[kept..]);
    out
}
