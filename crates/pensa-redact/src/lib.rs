//! Finds known secret formats in text and JSON and puts `[REDACTED:<kind>]` in their place.
//!
//! When this is done, and whether somebody may ask for it not to be, is left to the callers. What counts as a secret is
//! data: `rules/README.md` says where it comes from.

mod encoded;
mod named;
mod pem;
mod rules;
mod scan;
mod sight;
mod stream;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use regex_automata::meta::Regex;
use serde_json::{Map, Value};

use pem::Continued;
use scan::{Found, Hit};
pub use stream::Stream;

/// Most often that a text is looked through again because something was taken out of it.
const PASSES: usize = 8;
/// Shortest name of a member that can be a secret itself.
const SHORTEST_NAME: usize = 16;

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

/// What looks like a secret and is none, as the users of a project say: regular expressions, compiled when something
/// was found.
#[derive(Debug, Default)]
pub struct Allow {
    patterns: Vec<String>,
    regex: OnceLock<Result<Regex, String>>,
}

impl Allow {
    /// One that matches a part of what was found keeps it.
    pub fn new(patterns: Vec<String>) -> Self {
        Self { patterns, regex: OnceLock::new() }
    }

    /// What is wrong with the first pattern that is none.
    pub fn check(&self) -> Result<(), String> {
        self.regex().as_ref().map(drop).map_err(Clone::clone)
    }

    fn regex(&self) -> &Result<Regex, String> {
        self.regex.get_or_init(|| {
            Regex::new_many(&self.patterns).map_err(|error| {
                let why = error.syntax_error().map_or_else(|| error.to_string(), |why| why.to_string());
                let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
                let bad = error.pattern().and_then(|at| self.patterns.get(at.as_usize()));
                bad.map_or_else(|| why.to_owned(), |pattern| format!("{pattern:?}: {why}"))
            })
        })
    }

    /// Whether this may stay. A pattern that is none lets nothing pass.
    fn covers(&self, found: &str) -> bool {
        self.regex().as_ref().is_ok_and(|regex| regex.is_match(found))
    }
}

/// Takes the secrets out of texts that belong together, in their order, and counts them.
#[derive(Debug, Default)]
pub struct Redactor {
    allow: Option<Arc<Allow>>,
    kinds: Kinds,
    key: Continued,
}

/// Whether there may be a secret in a text or in JSON; one quick pass. False is certain.
pub fn may_hold(text: &[u8]) -> bool {
    scan::may_hold(text)
}

/// The same for every text in `value`.
pub fn may_be_in(value: &Value) -> bool {
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        match value {
            Value::String(text) if scan::may_hold(text.as_bytes()) => return true,
            Value::Array(items) => left.extend(items),
            Value::Object(members) => {
                if members.keys().any(|name| scan::may_hold(name.as_bytes())) {
                    return true;
                }
                left.extend(members.values());
            }
            _ => {}
        }
    }
    false
}

/// The text without the secrets in it, and how many there were.
pub fn text(text: &str) -> (Cow<'_, str>, usize) {
    let mut redactor = Redactor::default();
    let clean = redactor.text(text);
    (clean, redactor.count())
}

/// Takes the secrets out of every text in `value`, names of members included, and says how many there were.
pub fn value(value: &mut Value) -> usize {
    let mut redactor = Redactor::default();
    redactor.value(value);
    redactor.count()
}

impl Redactor {
    pub fn new(allow: Option<Arc<Allow>>) -> Self {
        Self { allow, ..Self::default() }
    }

    /// One for other texts, with the same exceptions.
    #[must_use]
    pub fn another(&self) -> Self {
        Self::new(self.allow.clone())
    }

    /// How many were taken out so far.
    pub fn count(&self) -> usize {
        self.kinds.total()
    }

    pub fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// The text without the secrets in it.
    pub fn text<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        self.named("", text)
    }

    /// The same for the value of what is called `name`, which may give it away.
    pub fn named<'t>(&mut self, name: &str, text: &'t str) -> Cow<'t, str> {
        let taken = self.key.take(text);
        if taken == 0 {
            return self.clean(name, text);
        }
        *self.kinds.0.entry("private-key").or_default() += 1;
        let newline = if text[..taken].ends_with('\n') { "\n" } else { "" };
        let rest = self.clean(name, &text[taken..]);
        Cow::Owned(format!("{}private-key]{newline}{rest}", sight::MARK))
    }

    /// Takes the secrets out of every text in `value`, in the order in which they are written, names included.
    pub fn value(&mut self, value: &mut Value) {
        // A list of what is left to do and no recursion: the depth of a value is up to its author.
        let mut left = vec![(Cow::Borrowed(""), value)];
        while let Some((name, value)) = left.pop() {
            match value {
                Value::String(text) => {
                    if let Cow::Owned(clean) = self.named(&name, text) {
                        *text = clean;
                    }
                }
                Value::Array(items) => {
                    let names: Vec<_> =
                        (0..items.len()).map(|at| flag_before(items, at).unwrap_or(name.clone())).collect();
                    left.extend(names.into_iter().zip(items).rev());
                }
                Value::Object(members) => {
                    self.clean_names(members);
                    let called = called(members);
                    let each = members.iter_mut().map(|(name, member)| match &called {
                        Some(called) if name == "value" => (Cow::Owned(called.clone()), member),
                        _ => (Cow::Borrowed(name.as_str()), member),
                    });
                    let each: Vec<_> = each.collect();
                    left.extend(each.into_iter().rev());
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
    }

    /// The same for the members of an object.
    pub fn map(&mut self, members: &mut Map<String, Value>) {
        let mut whole = Value::Object(std::mem::take(members));
        self.value(&mut whole);
        if let Value::Object(clean) = whole {
            *members = clean;
        }
    }

    /// Appends the first `until` bytes to `out`, without the secrets that begin in them; tells where it stopped.
    fn bytes(&mut self, bytes: &[u8], until: usize, out: &mut Vec<u8>) -> usize {
        let mut at = 0;
        for chunk in bytes.utf8_chunks() {
            let text = chunk.valid();
            if at + text.len() > until && until < bytes.len() {
                let cut = self.cut(text, until - at);
                out.extend_from_slice(self.text(&text[..cut]).as_bytes());
                return at + cut;
            }
            out.extend_from_slice(self.text(text).as_bytes());
            out.extend_from_slice(chunk.invalid());
            at += text.len() + chunk.invalid().len();
            if at >= until {
                break;
            }
        }
        at
    }

    /// A place near `until` at which `text` can be cut without cutting a secret.
    fn cut(&self, text: &str, until: usize) -> usize {
        let until = text.floor_char_boundary(until);
        let across = |hit: &Hit| hit.start < until && until < hit.end;
        match self.find("", text).hits.into_iter().find(across) {
            Some(hit) if hit.start > 0 => hit.start,
            Some(hit) => hit.end,
            None => until,
        }
    }

    fn find(&self, name: &str, text: &str) -> Found {
        let mut found = scan::find(name, text);
        if let Some(allow) = self.allow.as_deref() {
            found.hits.retain(|hit| !allow.covers(&text[hit.start..hit.end]));
        }
        found
    }

    /// Names with secrets are rare; only then is the object made anew, in the same order and with nothing lost.
    fn clean_names(&mut self, members: &mut Map<String, Value>) {
        let is_secret = |name: &String| name.len() >= SHORTEST_NAME && !self.find("", name).hits.is_empty();
        if !members.keys().any(is_secret) {
            return;
        }
        let mut taken: BTreeSet<String> = members.keys().cloned().collect();
        for (name, member) in std::mem::take(members) {
            let mut new = self.clean("", &name).into_owned();
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

    /// Takes out secrets until none is left: what was taken out can uncover another.
    fn clean<'t>(&mut self, name: &str, text: &'t str) -> Cow<'t, str> {
        let mut clean = Cow::Borrowed(text);
        for _ in 0..PASSES {
            let Found { hits, open_key } = self.find(name, &clean);
            if open_key {
                self.key.open(hits.last().is_some_and(|hit| hit.kind == "private-key" && hit.end == clean.len()));
            }
            if hits.is_empty() {
                break;
            }
            for hit in &hits {
                *self.kinds.0.entry(hit.kind).or_default() += 1;
            }
            clean = Cow::Owned(without(&clean, &hits));
        }
        clean
    }
}

/// The flag before an item of a command: `["--password", "…"]`.
fn flag_before<'v>(items: &[Value], at: usize) -> Option<Cow<'v, str>> {
    let before = items.get(at.checked_sub(1)?)?.as_str()?;
    let flag = before.strip_prefix("--").or_else(|| before.strip_prefix('-'))?;
    let is_flag = flag.len() < 60 && flag.starts_with(|c: char| c.is_ascii_alphabetic()) && !flag.contains(' ');
    is_flag.then(|| Cow::Owned(before.to_owned()))
}

/// What a member called value is the value of: `{"name": "DB_PASSWORD", "value": "…"}`.
fn called(members: &Map<String, Value>) -> Option<String> {
    members.get("value").filter(|value| value.is_string())?;
    let name = members.get("name").or_else(|| members.get("key"))?.as_str()?;
    (name.len() < 200).then(|| name.to_owned())
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
