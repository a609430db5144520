//! Replaces values that differ between runs; never removes them, so that a missing field shows.

use std::collections::HashMap;

use pensa_testkit::Sandbox;
use serde_json::Value;

/// Fields whose values depend on machine or time, including durations that were not given.
const VARYING: [&str; 9] = ["backups", "born", "bytes", "database", "free", "journal", "logs", "pid", "score"];

/// Replaces the same id by the same name everywhere.
pub(super) struct Mask {
    /// Paths and host names, and their replacements.
    fixed: Vec<(String, &'static str)>,
    known: HashMap<String, String>,
    /// How many ids of each kind were seen.
    count: HashMap<String, usize>,
}

impl Mask {
    pub(super) fn new(pn: &Sandbox) -> Self {
        let root = pn.path("").to_string_lossy().trim_end_matches('/').to_owned();
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let version = concat!("\"", env!("CARGO_PKG_VERSION"), "\"").to_owned();
        let named = [(format!("\"{host}\""), "\"<host>\""), (format!(" on {host}\""), " on <host>\"")];
        let fixed = [(root, "<root>"), (version, "\"<version>\"")].into_iter().chain(named).collect();
        Self { fixed, known: HashMap::new(), count: HashMap::new() }
    }

    /// Replaces a text wherever it appears from now on.
    pub(super) fn hide(&mut self, text: &str, name: &'static str) {
        self.fixed.push((text.to_owned(), name));
    }

    /// A document, spread over lines.
    pub(super) fn json(&mut self, value: &Value) -> String {
        let mut value = value.clone();
        fields("", &mut value);
        let shown = serde_json::to_string_pretty(&value).expect("JSON");
        self.text(&shown)
    }

    /// A document in one line.
    pub(super) fn line(&mut self, value: &Value) -> String {
        let mut value = value.clone();
        fields("", &mut value);
        self.text(&value.to_string())
    }

    pub(super) fn text(&mut self, text: &str) -> String {
        let text = self.fixed.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        let (mut rest, mut masked) = (text.as_str(), String::new());
        while let Some(first) = rest.chars().next() {
            if is_time(rest) {
                masked.push_str("<time>");
                rest = &rest[24..];
                continue;
            }
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-_".contains(c))).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end.max(first.len_utf8()));
            masked.push_str(&self.word(word));
            rest = after;
        }
        masked
    }

    fn word(&mut self, word: &str) -> String {
        if let Some(known) = self.known.get(word) {
            return known.clone();
        }
        let is_hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit());
        let kind = match word.rsplit_once('-') {
            _ if word.len() == 10 && word.starts_with("20") && word.split('-').count() == 3 => return "<date>".into(),
            _ if word.starts_with("pensa_") => "secret",
            _ if word.len() == 36 && word.matches('-').count() == 4 && is_hex(&word.replace('-', "")) => "uuid",
            _ if word.len() >= 16 && is_hex(word) => "hash",
            Some((stamp, number)) if stamp.len() == 16 && stamp.ends_with('Z') => return format!("<stamp>-{number}"),
            Some((prefix, hex)) if hex.len() >= 8 && is_hex(hex) && hex != "00000000" => prefix,
            _ => return word.to_owned(),
        };
        let count = self.count.entry(kind.to_owned()).or_default();
        *count += 1;
        let name = format!("<{kind}-{count}>");
        self.known.insert(word.to_owned(), name.clone());
        name
    }
}

/// Replaces values by the names of their fields. An event has the values before and after as `old` and `new` of a field.
fn fields(name: &str, value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| fields(name, item)),
        Value::Object(object) => {
            for (key, value) in object {
                fields(if ["old", "new"].contains(&key.as_str()) { name } else { key }, value);
            }
        }
        Value::Number(_) | Value::String(_) if varies(name) => *value = format!("<{name}>").into(),
        _ => {}
    }
}

fn varies(name: &str) -> bool {
    VARYING.contains(&name) || name.ends_with("_ms") && name != "timeout_ms"
}

/// Whether a text begins with a time such as `2026-02-27T14:30:00.000Z`.
fn is_time(text: &str) -> bool {
    let form = b"0000-00-00T00:00:00.000Z";
    let fits = |(is, should): (&u8, &u8)| if *should == b'0' { is.is_ascii_digit() } else { is == should };
    text.len() >= form.len() && text.as_bytes().iter().zip(form).all(fits)
}
