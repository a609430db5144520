//! Replaces secrets of known formats in text and JSON by `[REDACTED:<kind>]`.
//!
//! ```
//! let (clean, count) = pensa_redact::text("export DB_PASSWORD=hunter2");
//! assert_eq!((&*clean, count), ("export DB_PASSWORD=[REDACTED:password]", 1));
//! ```
//!
//! Start with [`Redactor`], which also handles JSON and secrets that span several texts; [`RedactingStream`] handles
//! output while it is written. The module `scan` finds the secrets. The formats are data: see `rules/README.md`.

mod encoded;
mod named;
mod normalize;
mod pem;
mod rules;
mod scan;
mod stream;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use regex_automata::meta::Regex;
use serde_json::{Map, Value};

use pem::OpenKey;
use scan::{ScanResult, SecretMatch};
pub use stream::RedactingStream;

/// Limit on repeated scans of a text after something was redacted in it.
const MAX_PASSES: usize = 8;
/// Shortest member name that can be a secret itself.
const MIN_NAME: usize = 16;

/// The number of redacted secrets by kind.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct SecretCounts(BTreeMap<&'static str, usize>);

impl SecretCounts {
    pub fn total(&self) -> usize {
        self.0.values().sum()
    }

    /// The kinds, sorted by name, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.0.iter().map(|(kind, count)| (*kind, *count))
    }
}

/// A project's exceptions: regular expressions for what looks like a secret and is none. Compiled on first use.
#[derive(Debug, Default)]
pub struct Allowlist {
    patterns: Vec<String>,
    regex: OnceLock<Result<Regex, String>>,
}

impl Allowlist {
    /// A pattern that matches any part of a supposed secret keeps it.
    pub fn new(patterns: Vec<String>) -> Self {
        Self { patterns, regex: OnceLock::new() }
    }

    /// Checks the patterns. The error describes the first invalid one.
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

    /// Whether a supposed secret is allowed. If a pattern is invalid, nothing is.
    fn matches(&self, text: &str) -> bool {
        self.regex().as_ref().is_ok_and(|regex| regex.is_match(text))
    }
}

/// Redacts the secrets in texts that belong together, in order, and counts them.
#[derive(Debug, Default)]
pub struct Redactor {
    allow: Option<Arc<Allowlist>>,
    kinds: SecretCounts,
    open_key: OpenKey,
}

/// Whether a text may contain a secret, in one quick pass. False is certain.
pub fn may_hold(text: &[u8]) -> bool {
    scan::may_hold(text)
}

/// Whether any text in `value` may contain a secret.
pub fn may_be_in(value: &Value) -> bool {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::String(text) if scan::may_hold(text.as_bytes()) => return true,
            Value::Array(items) => pending.extend(items),
            Value::Object(members) => {
                if members.keys().any(|name| scan::may_hold(name.as_bytes())) {
                    return true;
                }
                pending.extend(members.values());
            }
            _ => {}
        }
    }
    false
}

/// Redacts a text. Returns it with the number of secrets.
pub fn text(text: &str) -> (Cow<'_, str>, usize) {
    let mut redactor = Redactor::default();
    let clean = redactor.text(text);
    (clean, redactor.count())
}

/// Redacts every text in `value`, including member names. Returns the number of secrets.
pub fn value(value: &mut Value) -> usize {
    let mut redactor = Redactor::default();
    redactor.value(value);
    redactor.count()
}

impl Redactor {
    pub fn new(allow: Option<Arc<Allowlist>>) -> Self {
        Self { allow, ..Self::default() }
    }

    /// A new redactor for other texts, with the same exceptions.
    #[must_use]
    pub fn another(&self) -> Self {
        Self::new(self.allow.clone())
    }

    /// How many secrets have been redacted so far.
    pub fn count(&self) -> usize {
        self.kinds.total()
    }

    pub fn kinds(&self) -> &SecretCounts {
        &self.kinds
    }

    /// Redacts a text.
    pub fn text<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        self.named("", text)
    }

    /// Redacts the value of a field called `name`. The name, such as `password`, can identify a secret.
    pub fn named<'t>(&mut self, name: &str, text: &'t str) -> Cow<'t, str> {
        let length = self.open_key.continuation_len(text);
        if length == 0 {
            return self.clean(name, text);
        }
        *self.kinds.0.entry("private-key").or_default() += 1;
        let newline = if text[..length].ends_with('\n') { "\n" } else { "" };
        let rest = self.clean(name, &text[length..]);
        Cow::Owned(format!("{}private-key]{newline}{rest}", normalize::MARKER_START))
    }

    /// Redacts every text in `value`, in order, including member names.
    pub fn value(&mut self, value: &mut Value) {
        // Not recursive, because the author of a value decides how deep it is.
        let mut pending = vec![(Cow::Borrowed(""), value)];
        while let Some((name, value)) = pending.pop() {
            match value {
                Value::String(text) => {
                    if let Cow::Owned(clean) = self.named(&name, text) {
                        *text = clean;
                    }
                }
                Value::Array(items) => {
                    let names: Vec<_> =
                        (0..items.len()).map(|at| flag_before(items, at).unwrap_or(name.clone())).collect();
                    pending.extend(names.into_iter().zip(items).rev());
                }
                Value::Object(members) => {
                    self.clean_names(members);
                    let value_name = name_of_value(members);
                    let each = members.iter_mut().map(|(name, member)| match &value_name {
                        Some(own) if name == "value" => (Cow::Owned(own.clone()), member),
                        _ => (Cow::Borrowed(name.as_str()), member),
                    });
                    let each: Vec<_> = each.collect();
                    pending.extend(each.into_iter().rev());
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
    }

    /// Redacts the members of an object.
    pub fn map(&mut self, members: &mut Map<String, Value>) {
        let mut whole = Value::Object(std::mem::take(members));
        self.value(&mut whole);
        if let Value::Object(clean) = whole {
            *members = clean;
        }
    }

    /// Appends the first `until` bytes to `out`, redacted. Returns where it stopped, which can be elsewhere in order
    /// not to cut a secret.
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

    /// A position near `until` that is not inside a secret.
    fn cut(&self, text: &str, until: usize) -> usize {
        let until = text.floor_char_boundary(until);
        let across = |secret: &SecretMatch| secret.start < until && until < secret.end;
        match self.find("", text).matches.into_iter().find(across) {
            Some(secret) if secret.start > 0 => secret.start,
            Some(secret) => secret.end,
            None => until,
        }
    }

    fn find(&self, name: &str, text: &str) -> ScanResult {
        let mut found = scan::find(name, text);
        if let Some(allow) = self.allow.as_deref() {
            found.matches.retain(|secret| !allow.matches(&text[secret.start..secret.end]));
        }
        found
    }

    /// Redacts member names. Names that become equal are numbered, so that no member is lost; the order is preserved.
    fn clean_names(&mut self, members: &mut Map<String, Value>) {
        let is_secret = |name: &String| name.len() >= MIN_NAME && !self.find("", name).matches.is_empty();
        if !members.keys().any(is_secret) {
            return;
        }
        let mut used: BTreeSet<String> = members.keys().cloned().collect();
        for (name, member) in std::mem::take(members) {
            let mut new = self.clean("", &name).into_owned();
            if new != name {
                let base = new.clone();
                for count in 2.. {
                    if used.insert(new.clone()) {
                        break;
                    }
                    new = format!("{base} {count}");
                }
            }
            members.insert(new, member);
        }
    }

    /// Redacts until nothing more is found: redacting one secret can reveal another.
    fn clean<'t>(&mut self, name: &str, text: &'t str) -> Cow<'t, str> {
        let mut clean = Cow::Borrowed(text);
        for _ in 0..MAX_PASSES {
            let ScanResult { matches, open_key } = self.find(name, &clean);
            if open_key {
                self.open_key.open(
                    matches.last().is_some_and(|secret| secret.kind == "private-key" && secret.end == clean.len()),
                );
            }
            if matches.is_empty() {
                break;
            }
            for secret in &matches {
                *self.kinds.0.entry(secret.kind).or_default() += 1;
            }
            clean = Cow::Owned(without(&clean, &matches));
        }
        clean
    }
}

/// The flag before an argument: `["--password", "…"]`.
fn flag_before<'v>(items: &[Value], at: usize) -> Option<Cow<'v, str>> {
    let before = items.get(at.checked_sub(1)?)?.as_str()?;
    let flag = before.strip_prefix("--").or_else(|| before.strip_prefix('-'))?;
    let is_flag = flag.len() < 60 && flag.starts_with(|c: char| c.is_ascii_alphabetic()) && !flag.contains(' ');
    is_flag.then(|| Cow::Owned(before.to_owned()))
}

/// The name that belongs to the member `value`: `{"name": "DB_PASSWORD", "value": "…"}`.
fn name_of_value(members: &Map<String, Value>) -> Option<String> {
    members.get("value").filter(|value| value.is_string())?;
    let name = members.get("name").or_else(|| members.get("key"))?.as_str()?;
    (name.len() < 200).then(|| name.to_owned())
}

fn without(text: &str, matches: &[SecretMatch]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for secret in matches {
        out.push_str(&text[end..secret.start]);
        out.push_str(normalize::MARKER_START);
        out.push_str(secret.kind);
        out.push(']');
        end = secret.end;
    }
    out.push_str(&text[end..]);
    out
}
