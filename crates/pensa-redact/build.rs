//! Compiles the rule files in `rules/` into static tables, so that no command reads them at startup.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};
use serde::Deserialize;

/// What gitleaks expects after a secret. It is written for source files, where secrets end at a quote.
const FILE_END: &str = r#"(?:[\x60'"\s;]|\\[nr]|$)"#;
/// What may follow a secret in prose and output too.
const TEXT_END: &str = r#"(?:[\x60'"\s;,)\]}>|&<*\\#\x00\x80-\xff]|[.:!?](?:[\s'"\x60)]|$)|$)"#;
/// What gitleaks allows between a name and the sign after it.
const FILE_NAME_END: &str = r#"[\s'"]{0,3}(?:=|>|"#;
/// The same, plus the closing bracket of an index.
const TEXT_NAME_END: &str = r#"[\s'"\]]{0,4}(?:=|>|"#;
/// The start of patterns that identify a secret only by its name. It matches the rest of the name, which is not needed
/// here and slow to compile.
const NAME_START: &str = r"[\w.-]{0,50}?";
/// If a match can be longer than this, the whole text after the keyword is searched.
const MAX_REACH: usize = 2048;

/// Limit on the word length that is checked before a pattern is compiled.
const MAX_WORD: usize = 24;

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    leave_out: Vec<String>,
    #[serde(default)]
    allowlist: Allow,
    rules: Vec<Rule>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Allow {
    regexes: Vec<String>,
    stopwords: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: String,
    regex: String,
    keywords: Vec<String>,
    #[serde(default)]
    entropy: f64,
    #[serde(default)]
    secret_group: usize,
    #[serde(default)]
    allowlists: Vec<Allow>,
    /// Whether this replaces the rules with the same id.
    #[serde(default)]
    instead: bool,
    /// Whether a match is the header of a block that ends with an `END` line.
    #[serde(default)]
    block: bool,
    /// The length of the longest match, if it does not follow from the pattern.
    reach: Option<usize>,
    /// A character that every match contains. Without it, the pattern is not compiled.
    needs: Option<char>,
    /// Whether only the name before it identifies the secret. By default, derived from the pattern's start.
    by_name: Option<bool>,
    /// Whether the module `named` decides instead of a pattern.
    #[serde(default)]
    named: bool,
    /// Whether the rule also applies to long words followed by a dot.
    #[serde(default)]
    long_word: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=rules");
    let upstream: File = toml_edit::de::from_str(&fs::read_to_string("rules/gitleaks.toml")?)?;
    let own: File = toml_edit::de::from_str(&fs::read_to_string("rules/pensa.toml")?)?;
    let mut gone = own.leave_out;
    gone.extend(own.rules.iter().filter(|rule| rule.instead).map(|rule| rule.id.clone()));
    let kept = upstream.rules.into_iter().filter(|rule| !gone.contains(&rule.id));
    let rules: Vec<Rule> = kept.chain(own.rules).collect();
    let table = table(&rules, &upstream.allowlist)?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("rules.rs"), table)?;
    Ok(())
}

fn table(rules: &[Rule], allowed: &Allow) -> Result<String, Box<dyn Error>> {
    let mut out = String::new();
    let mut by_keyword: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    writeln!(out, "pub(crate) static RULES: [Rule; {}] = [", rules.len())?;
    for (at, rule) in rules.iter().enumerate() {
        for keyword in &rule.keywords {
            by_keyword.entry(keyword.to_lowercase()).or_default().push(at);
        }
        writeln!(out, "    {},", rule.to_code().map_err(|e| format!("{}: {e}", rule.id))?)?;
    }
    writeln!(out, "];")?;
    writeln!(out, "pub(crate) static HARMLESS: Exceptions = {};", allowed.to_code())?;
    writeln!(out, "static KEYWORDS: [&str; {}] = {:?};", by_keyword.len(), by_keyword.keys())?;
    out.push_str(&starts(by_keyword.keys())?);
    let users: Vec<_> = by_keyword.values().map(|users| format!("&{users:?}")).collect();
    writeln!(out, "static USERS: [&[usize]; {}] = [{}];", users.len(), users.join(", "))?;
    Ok(out)
}

/// Generates tables that find a keyword by its first bytes, ignoring case. `CLASSES` maps each byte that is among the
/// first three of a keyword to a small number. `STARTS` maps two such numbers to one more than the index of the first
/// keyword that starts with them; `THIRDS` maps them to the possible third ones, as bits. After a keyword of two bytes
/// anything may follow, also the end of the text, which is 0.
fn starts<'k>(keywords: impl Iterator<Item = &'k String> + Clone) -> Result<String, Box<dyn Error>> {
    let mut classes = [0u8; 256];
    let mut known = 0;
    for byte in keywords.clone().flat_map(|keyword| keyword.bytes().take(3)) {
        if classes[usize::from(byte)] == 0 {
            known += 1;
            classes[usize::from(byte)] = known;
            classes[usize::from(byte.to_ascii_uppercase())] = known;
        }
    }
    let width = usize::from(known) + 1;
    if width > 64 {
        return Err("keywords begin with more different bytes than there are bits".into());
    }
    let (mut starts, mut thirds) = (vec![vec![0; width]; width], vec![vec![0u64; width]; width]);
    for (at, keyword) in keywords.enumerate() {
        let class = |at: usize| keyword.as_bytes().get(at).map(|byte| usize::from(classes[usize::from(*byte)]));
        let (Some(first), Some(second)) = (class(0), class(1)) else {
            return Err(format!("the keyword {keyword:?} is too short").into());
        };
        if starts[first][second] == 0 {
            starts[first][second] = at + 1;
        }
        thirds[first][second] |= class(2).map_or(u64::MAX, |third| 1 << third);
    }
    Ok(format!(
        "static CLASSES: [u8; 256] = {classes:?};\nstatic STARTS: [[u16; {width}]; {width}] = {starts:?};\n\
         static THIRDS: [[u64; {width}]; {width}] = {thirds:?};\n"
    ))
}

impl Rule {
    /// The rule as a Rust expression.
    fn to_code(&self) -> Result<String, Box<dyn Error>> {
        if self.keywords.is_empty()
            || self.keywords.iter().any(|keyword| keyword.len() < 2)
            || self.id.contains(|c: char| !c.is_ascii_alphanumeric() && c != '-')
        {
            return Err("a rule needs keywords of two or more characters, and an id of letters, digits and -".into());
        }
        let upstream_name = self.regex.trim_start_matches("(?i)").starts_with(NAME_START);
        let by_name = self.by_name.unwrap_or(upstream_name);
        let pattern =
            self.regex.replace(NAME_START, "").replace(FILE_END, TEXT_END).replace(FILE_NAME_END, TEXT_NAME_END);
        let parsed = ParserBuilder::new().unicode(false).utf8(false).build().parse(&pattern)?;
        let reach = self.reach.or(parsed.properties().maximum_len().filter(|longest| *longest <= MAX_REACH));
        let needs = self.needs.map(u8::try_from).transpose()?;
        let word = min_word(&parsed);
        let mut allow = Allow::default();
        for more in &self.allowlists {
            allow.regexes.extend_from_slice(&more.regexes);
            allow.stopwords.extend_from_slice(&more.stopwords);
        }
        Ok(format!(
            "Rule {{ kind: {:?}, pattern: {pattern:?}, entropy: {:?}, group: {}, reach: {reach:?}, by_name: {by_name}, \
             block: {}, needs: {needs:?}, named: {}, long_word: {}, word: {word}, exceptions: {}, regex: OnceLock::new() }}",
            self.id,
            self.entropy,
            self.secret_group,
            self.block,
            self.named,
            self.long_word,
            allow.to_code()
        ))
    }
}

/// The length of a word that every match contains: that of the secret, if it is the only group and has no blanks.
fn min_word(pattern: &Hir) -> usize {
    let (mut groups, mut left) = (Vec::new(), vec![pattern]);
    while let Some(part) = left.pop() {
        match part.kind() {
            HirKind::Capture(capture) => groups.push(&*capture.sub),
            HirKind::Repetition(repetition) => left.push(&repetition.sub),
            HirKind::Concat(parts) | HirKind::Alternation(parts) => left.extend(parts),
            _ => {}
        }
    }
    match groups.as_slice() {
        [secret] if is_word(secret) => secret.properties().minimum_len().unwrap_or_default().min(MAX_WORD),
        _ => 0,
    }
}

/// Whether a pattern only matches characters that can be part of a secret's word.
fn is_word(pattern: &Hir) -> bool {
    let is_in_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.~+/=%".contains(&byte);
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => true,
        HirKind::Literal(literal) => literal.0.iter().copied().all(is_in_word),
        HirKind::Class(Class::Bytes(class)) => class.iter().all(|range| (range.start()..=range.end()).all(is_in_word)),
        HirKind::Class(Class::Unicode(_)) => false,
        HirKind::Repetition(repetition) => is_word(&repetition.sub),
        HirKind::Capture(capture) => is_word(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().all(is_word),
    }
}

impl Allow {
    fn to_code(&self) -> String {
        format!("Exceptions {{ patterns: &{:?}, words: &{:?}, regex: OnceLock::new() }}", self.regexes, self.stopwords)
    }
}
