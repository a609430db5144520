//! Turns the rule files into a table in the program, so that no command spends its start on reading them.
//!
//! What the rules are is left to `rules/`; how they are applied, to `src/`.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};
use serde::Deserialize;

/// What upstream wants behind a secret: it is written for source files, where a secret ends at a quote.
const FILE_END: &str = r#"(?:[\x60'"\s;]|\\[nr]|$)"#;
/// What may stand behind a secret in prose and in output as well.
const TEXT_END: &str = r#"(?:[\x60'"\s;,)\]}>|&<*\\#\x00\x80-\xff]|[.:!?](?:[\s'"\x60)]|$)|$)"#;
/// What upstream lets stand between a name and the sign behind it.
const FILE_NAME_END: &str = r#"[\s'"]{0,3}(?:=|>|"#;
/// The same, and the bracket of an index.
const TEXT_NAME_END: &str = r#"[\s'"\]]{0,4}(?:=|>|"#;
/// How a rule begins that knows its secret only by the name before it. It takes in the rest of the name, which is of no
/// use here and costs much to compile.
const NAME_START: &str = r"[\w.-]{0,50}?";
/// A match that can be longer than this is looked for in all that follows its keyword.
const LONGEST: usize = 2048;

/// Longest word that is looked for before a pattern is compiled.
const LONGEST_WORD: usize = 24;

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
    /// Whether this takes the place of the rules that have its id.
    #[serde(default)]
    instead: bool,
    /// Whether a match opens a block that ends at its `END` line.
    #[serde(default)]
    block: bool,
    /// How far from a keyword a match may reach, if the pattern does not say.
    reach: Option<usize>,
    /// A character without which there is no match, so that the pattern is not even compiled.
    needs: Option<char>,
    /// Whether only what stands before it says that this is a secret; upstream's patterns show it.
    by_name: Option<bool>,
    /// Whether the program looks at what follows the keyword, without a pattern.
    #[serde(default)]
    named: bool,
    /// Whether it is also tried at long words with a dot behind them.
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
        writeln!(out, "    {},", rule.written().map_err(|e| format!("{}: {e}", rule.id))?)?;
    }
    writeln!(out, "];")?;
    writeln!(out, "pub(crate) static ALLOWED: Allow = {};", allowed.written())?;
    writeln!(out, "static KEYWORDS: [&str; {}] = {:?};", by_keyword.len(), by_keyword.keys())?;
    out.push_str(&starts(by_keyword.keys())?);
    let users: Vec<_> = by_keyword.values().map(|users| format!("&{users:?}")).collect();
    writeln!(out, "static USERS: [&[usize]; {}] = [{}];", users.len(), users.join(", "))?;
    Ok(out)
}

/// Tables that find a keyword by its first bytes: a small number for each byte that is among the first three of one,
/// whatever its case; for each two of these numbers one more than the first keyword that begins so; and for each two
/// the third ones that may follow, as bits. After a keyword of two bytes anything may, also the end, which is 0.
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
    /// The rule as an expression of the program.
    fn written(&self) -> Result<String, Box<dyn Error>> {
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
        let reach = self.reach.or(parsed.properties().maximum_len().filter(|longest| *longest <= LONGEST));
        let needs = self.needs.map(u8::try_from).transpose()?;
        let word = word(&parsed);
        let mut allow = Allow::default();
        for more in &self.allowlists {
            allow.regexes.extend_from_slice(&more.regexes);
            allow.stopwords.extend_from_slice(&more.stopwords);
        }
        Ok(format!(
            "Rule {{ kind: {:?}, pattern: {pattern:?}, entropy: {:?}, group: {}, reach: {reach:?}, by_name: {by_name}, \
             block: {}, needs: {needs:?}, named: {}, long_word: {}, word: {word}, allow: {}, regex: OnceLock::new() }}",
            self.id,
            self.entropy,
            self.secret_group,
            self.block,
            self.named,
            self.long_word,
            allow.written()
        ))
    }
}

/// The length of the word without which there is no match: of the secret, if that is the only group and has no blanks.
fn word(pattern: &Hir) -> usize {
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
        [secret] if is_word(secret) => secret.properties().minimum_len().unwrap_or_default().min(LONGEST_WORD),
        _ => 0,
    }
}

/// Whether a pattern matches nothing but letters, digits and signs that are part of words of secrets.
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
    fn written(&self) -> String {
        format!("Allow {{ patterns: &{:?}, words: &{:?}, regex: OnceLock::new() }}", self.regexes, self.stopwords)
    }
}
