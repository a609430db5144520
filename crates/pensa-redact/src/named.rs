//! Recognises values that only their name identifies as secrets: `DB_PASSWORD=…`, `"password": "…"`, `--token …`.
//!
//! Not written as a pattern: words such as key and token are frequent, so most commands would have to compile it.

use std::ops::Range;

use crate::normalize::HIDDEN;
use crate::rules::{entropy, is_harmless};

/// Limits on a name, the blanks after it, and its value.
const MAX_NAME: usize = 60;
const MAX_BLANKS: usize = 24;
const MAX_VALUE: usize = 512;
/// Shortest password, and shortest token or key.
const MIN_PASSWORD: usize = 6;
const MIN_TOKEN: usize = 16;
/// Least entropy of a token, in bits per byte; words have less.
const MIN_TOKEN_BITS: f64 = 3.2;

/// Suffixes of secret names, such as in `SECRET_KEY_PROD`.
const NAME_SUFFIXES: &[&str] =
    &["prod", "production", "dev", "test", "staging", "live", "value", "old", "new", "primary", "secondary", "b64"];
/// Parts of names whose keys and tokens are no secrets, such as `public_key`.
const PUBLIC_NAME_PARTS: &[&str] = &[
    "public",
    "pub",
    "cache",
    "primary",
    "foreign",
    "sort",
    "partition",
    "row",
    "index",
    "idempotency",
    "page",
    "next",
    "continuation",
    "cancellation",
    "cursor",
    "group",
    "object",
    "registry",
    "publishable",
    "host",
    "map",
    "sync",
    "dedup",
    "etag",
    "lookup",
    "unique",
    "composite",
    "hash",
    "cert",
    "known",
    "lock",
];
/// Words in placeholder values.
const PLACEHOLDERS: &[&str] = &[
    "example",
    "changeme",
    "change_me",
    "change-me",
    "placeholder",
    "your",
    "dummy",
    "sample",
    "redacted",
    "invalid",
    "insert",
    "replace",
    "todo",
    "fixme",
    "xxx",
    "...",
    "***",
    "process.env",
    "environ",
    "getenv",
    "secrets.",
    "undefined",
    "none",
    "null",
    "false",
    "true",
    "default",
    "string",
    "password",
    "passwd",
    "secret",
    "token",
    "123456",
    "abcdef",
    "foobar",
    "lorem",
    "mypass",
    "qwerty",
    "deadbeef",
    "0000000",
    "1111111",
    "111-111",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Between quotes.
    Quoted,
    /// `NAME=value`, in capitals and without blanks, as in shells and env files.
    Env,
    /// Any other.
    Bare,
}

/// The range of the value whose name contains the keyword at `word`, if it is a secret.
pub(crate) fn secret(normal: &[u8], word: Range<usize>, is_password: bool) -> Option<Range<usize>> {
    let name = name(normal, &word)?;
    let (start, shape) = value_start(normal, &name)?;
    let blanks = |range: &Range<usize>| normal[range.clone()].iter().rev().take_while(|byte| **byte == b' ').count();
    let mut value = start..end(normal, start, shape);
    value.end -= blanks(&value);
    let bytes = &normal[value.clone()];
    let is_secret = if is_password { looks_like_password(bytes, shape) } else { looks_like_token(bytes, shape) };
    (is_secret && !is_reference_or_placeholder(bytes, shape)).then_some(value)
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)
}

/// The whole name around a keyword, if it names a secret; `token_count` and `public_key` do not.
fn name(normal: &[u8], word: &Range<usize>) -> Option<Range<usize>> {
    let left = normal[..word.start].iter().rev().take(MAX_NAME + 1).take_while(|byte| is_name(**byte)).count();
    let right = normal[word.end..]
        .iter()
        .take(MAX_NAME)
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte));
    let right = right.count();
    if left > MAX_NAME || right >= MAX_NAME {
        return None;
    }
    let (before, after) = (&normal[word.start - left..word.start], &normal[word.end..word.end + right]);
    let lower = |bytes: &[u8]| String::from_utf8_lossy(bytes).to_ascii_lowercase();
    let (before, after) = (lower(before), lower(after));
    let is_ending = |part: &str| {
        part.is_empty() || part == "key" || part.bytes().all(|b| b.is_ascii_digit()) || NAME_SUFFIXES.contains(&part)
    };
    let ends_well = after == "s" || after.split(['_', '-']).all(is_ending);
    let is_public = before.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| PUBLIC_NAME_PARTS.contains(&part));
    (ends_well && !is_public).then_some(word.start - left..word.end + right)
}

/// Where the value of a name starts: after a sign such as `=`, a flag's blank or an opening tag.
fn value_start(normal: &[u8], name: &Range<usize>) -> Option<(usize, Shape)> {
    let text = &normal[name.clone()];
    let skip = |at: usize, of: &[u8], most: usize| {
        at + normal[at..].iter().take(most).take_while(|byte| of.contains(byte)).count()
    };
    // Quotes and brackets of the name. Normalising replaces the backslash of an escaped quote by a blank.
    let sign = skip(name.end, b"\"'`]) \t", MAX_BLANKS);
    let signs = skip(sign, b"=:>", 3);
    let is_flag = text.starts_with(b"--") && normal.get(name.end) == Some(&b' ');
    let is_tag = name.start > 0 && normal[name.start - 1] == b'<' && &normal[sign..signs] == b">";
    let begins = match &normal[sign..signs] {
        b"=" | b":" | b":=" | b"=>" | b"===" => signs,
        b">" if is_tag => signs,
        b"" if is_flag => sign,
        _ => return None,
    };
    let value = skip(begins, b" \t", MAX_BLANKS);
    // A string prefix, as in b"…" and r'…'.
    let prefixed = match normal.get(value..value + 2) {
        Some([b'b' | b'r' | b'f' | b'u' | b'@', b'"' | b'\'']) => value + 1,
        _ => value,
    };
    if matches!(normal.get(prefixed), Some(b'"' | b'\'' | b'`')) {
        return Some((prefixed + 1, Shape::Quoted));
    }
    let is_capital = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    let is_env = &normal[sign..signs] == b"=" && sign == name.end && value == signs && text.iter().all(is_capital);
    Some((value, if is_env { Shape::Env } else { Shape::Bare }))
}

fn end(normal: &[u8], start: usize, shape: Shape) -> usize {
    let rest = &normal[start..(start + MAX_VALUE).min(normal.len())];
    let quote = normal[start.saturating_sub(1)];
    let ends = |byte: &u8| match shape {
        Shape::Quoted => *byte == quote || b"\r\n".contains(byte),
        Shape::Env => byte.is_ascii_whitespace() || b"\"'`;".contains(byte),
        Shape::Bare => byte.is_ascii_whitespace() || b"\"'`;,&<>|)]}".contains(byte),
    };
    start + rest.iter().position(ends).unwrap_or(rest.len())
}

struct CharacterCounts {
    digits: usize,
    lower: usize,
    upper: usize,
    other: usize,
}

fn count_characters(value: &[u8]) -> CharacterCounts {
    let count = |is: fn(&u8) -> bool| value.iter().filter(|byte| is(byte)).count();
    let (digits, lower, upper) =
        (count(u8::is_ascii_digit), count(u8::is_ascii_lowercase), count(u8::is_ascii_uppercase));
    CharacterCounts { digits, lower, upper, other: value.len() - digits - lower - upper }
}

fn looks_like_password(value: &[u8], shape: Shape) -> bool {
    let found = count_characters(value);
    let mixed = found.digits > 0 && found.lower + found.upper > 0;
    let marked = value.iter().any(|byte| b"!#%^&*@~?+$".contains(byte));
    match shape {
        Shape::Quoted | Shape::Env => {
            value.len() >= MIN_PASSWORD && (mixed || (marked && value.len() >= 8)) && entropy(value) > 2.2
        }
        Shape::Bare => {
            let varied = found.upper > 0 && found.lower > 0 || marked || found.digits > 2;
            value.len() >= 8 && mixed && varied && entropy(value) > 2.6 && (marked || !looks_like_words(value, 1))
        }
    }
}

fn looks_like_token(value: &[u8], shape: Shape) -> bool {
    let found = count_characters(value);
    let shortest = if shape == Shape::Env { MIN_TOKEN / 2 } else { MIN_TOKEN };
    let in_words =
        looks_like_words(value, if shape == Shape::Bare { 2 } else { 1 }) && !(shape == Shape::Env && found.digits > 2);
    let plain = found.other == value.iter().filter(|byte| b"_-+/=.~".contains(byte)).count();
    value.len() >= shortest
        && found.digits > 1
        && found.lower + found.upper > 0
        && plain
        && !in_words
        && entropy(value) > MIN_TOKEN_BITS.min(f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX)).log2() * 0.8)
}

/// Whether a value consists of words and numbers, like identifiers, versions and file names. A word may change between
/// letters and digits at most `most` times.
fn looks_like_words(value: &[u8], most: usize) -> bool {
    let parts = value.split(|byte| !byte.is_ascii_alphanumeric());
    parts.filter(|part| !part.is_empty()).all(|part| {
        let digits = part.iter().filter(|byte| byte.is_ascii_digit()).count();
        // Allows camelCase and few runs of digits.
        let turns = part.windows(2).filter(|two| two[0].is_ascii_digit() != two[1].is_ascii_digit()).count();
        let humps = part.windows(2).filter(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase()).count();
        let is_number = digits == part.len() && digits <= 8;
        is_number || (turns <= most && digits <= 5 && humps * 3 <= part.len())
    })
}

/// Whether a value is a variable, call, path, URL or placeholder.
fn is_reference_or_placeholder(value: &[u8], shape: Shape) -> bool {
    let lower = value.to_ascii_lowercase();
    let has = |word: &str| lower.windows(word.len()).any(|part| part == word.as_bytes());
    // A short quoted password may start with any character except those of variables and paths.
    let any_start = shape == Shape::Quoted && value.len() < 40;
    let is_reference_start =
        |byte: &u8| if any_start { b"$%{/".contains(byte) } else { b"$%<{(/.~@&*[".contains(byte) };
    value.contains(&HIDDEN)
        || value.iter().any(|byte| byte.is_ascii_whitespace() || byte.is_ascii_control() || !byte.is_ascii())
        || value.first().is_some_and(is_reference_start)
        || has("${")
        || has("$(")
        || has("{{")
        || has("://")
        || has("::")
        || has("->")
        || has("{}")
        || has("%s")
        || shape != Shape::Quoted && value.iter().any(|byte| b"([{".contains(byte))
        || PLACEHOLDERS.iter().any(|word| has(word))
        || is_harmless(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'t>(text: &'t str, word: &str) -> Option<&'t str> {
        let at = text.to_lowercase().find(word).expect("in it");
        let is_password = word.starts_with("pass") || word == "pwd";
        secret(text.as_bytes(), at..at + word.len(), is_password).map(|range| &text[range])
    }

    #[test]
    fn names_identify_secret_values() {
        for (text, word, value) in [
            ("DB_PASSWORD=hunter2", "password", "hunter2"),
            (r#"{"password": "x9Kq3!vT"}"#, "password", "x9Kq3!vT"),
            ("password: s3cr-Tx9!q\n", "password", "s3cr-Tx9!q"),
            ("Server=db;Password=Zx81!kkq;", "password", "Zx81!kkq"),
            ("mysql --password Zx81!kkq -u me", "password", "Zx81!kkq"),
            ("<password>Zx81kkq!</password>", "password", "Zx81kkq!"),
            ("export SESSION_TOKEN=9fK2mQ7xL1pV", "token", "9fK2mQ7xL1pV"),
            (r#"apiKey: "9fK2mQ7xL1pV8sT3""#, "apikey", "9fK2mQ7xL1pV8sT3"),
            ("client_secret = '9fK2mQ7xL1pV8sT3'", "secret", "9fK2mQ7xL1pV8sT3"),
            ("SECRET_KEY_PROD=9fK2mQ7xL1pV8sT3", "secret", "9fK2mQ7xL1pV8sT3"),
        ] {
            assert_eq!(found(text, word), Some(value), "{text}");
        }
    }

    #[test]
    fn code_and_prose_are_left_alone() {
        for (text, word) in [
            ("let password = read_password2();", "password"),
            ("password: Option<[u8; 32]>", "password"),
            ("PASSWORD=$(pass show db1)", "password"),
            (r#""password": "Enter your password!""#, "password"),
            (r#"password = "changeme1""#, "password"),
            ("token = tokenizer2.next_token()", "token"),
            (r#""token": "access_token_v2_name""#, "token"),
            ("token_count = 9fK2mQ7xL1pV8sT3", "token"),
            ("public_key = '9fK2mQ7xL1pV8sT3'", "_key"),
            ("if token == \"9fK2mQ7xL1pV8sT3\"", "token"),
            ("the token of 2024-01-02T03:04:05Z", "token"),
        ] {
            assert_eq!(found(text, word), None, "{text}");
        }
    }
}
