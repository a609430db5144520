//! Normalises a text for the rules, without changing its length: decodes escapes and blanks out colours.
//!
//! Rules expect a blank or quote beside a secret. In tool output there is often the `n` of an escaped newline, the `m`
//! of a colour or the `D` of `%3D` instead. The normalised text is only searched; positions in it apply to the
//! original.

use std::borrow::Cow;

/// How the replacement of a secret starts.
pub(crate) const MARKER_START: &str = "[REDACTED:";
/// Replaces earlier redactions; no rule accepts it in a secret.
pub(crate) const HIDDEN: u8 = 0;
/// Longest kind in a replacement.
const MAX_KIND: usize = 64;
/// Longest escape sequence of a colour.
const MAX_COLOUR: usize = 32;

/// The normalised text.
pub(crate) fn normalized(text: &str) -> Cow<'_, [u8]> {
    let bytes = text.as_bytes();
    let is_special = |byte: &u8| matches!(byte, b'\\' | b'%' | b'[' | 0x1b);
    let Some(first) = bytes.iter().position(is_special) else {
        return Cow::Borrowed(bytes);
    };
    let mut normal = bytes.to_vec();
    let mut at = first;
    while at < bytes.len() {
        at += match bytes[at] {
            b'\\' => escape(bytes, at, &mut normal),
            b'%' => percent(bytes, at, &mut normal),
            b'[' => mark(bytes, at, &mut normal),
            0x1b => colour(bytes, at, 1, &mut normal),
            _ => 1,
        };
    }
    Cow::Owned(normal)
}

/// Decodes a run of backslashes and what they escape. Nested escaping gives several backslashes.
fn escape(bytes: &[u8], at: usize, normal: &mut [u8]) -> usize {
    let run = bytes[at..].iter().take_while(|byte| **byte == b'\\').count();
    let rest = &bytes[at + run..];
    normal[at..at + run].fill(b' ');
    let length = match rest.first() {
        Some(b'n' | b'r' | b't') => 1,
        Some(b'u') => 5,
        Some(b'x') => 3,
        Some(b'e') if rest.get(1) == Some(&b'[') => return colour(bytes, at, run + 1, normal),
        Some(b'0') if rest.starts_with(b"033[") => return colour(bytes, at, run + 3, normal),
        _ => return run,
    };
    if length == 1 {
        normal[at + run] = b' ';
        return run + 1;
    }
    match rest.get(1..length).and_then(plain) {
        Some(0x1b) => colour(bytes, at, run + length, normal),
        Some(byte) => {
            normal[at..at + run + length].fill(byte);
            run + length
        }
        None => run,
    }
}

fn percent(bytes: &[u8], at: usize, normal: &mut [u8]) -> usize {
    // Other characters may be part of a password in a URL.
    let ends = |byte: &u8| b"=\"':,&; \n\r\t".contains(byte);
    match bytes.get(at + 1..at + 3).and_then(plain).filter(ends) {
        Some(byte) => {
            normal[at..at + 3].fill(byte);
            3
        }
        None => 1,
    }
}

/// The ASCII character with this hex code, unless it could be part of a word.
fn plain(digits: &[u8]) -> Option<u8> {
    let digits = str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    let byte = u8::try_from(u32::from_str_radix(digits, 16).ok()?).ok()?;
    (byte.is_ascii() && byte != HIDDEN && !byte.is_ascii_alphanumeric() && byte != b'_').then_some(byte)
}

/// Blanks out a colour sequence whose escape character takes `escape` bytes.
fn colour(bytes: &[u8], at: usize, escape: usize, normal: &mut [u8]) -> usize {
    let mut length = escape;
    if let Some(rest) = bytes[at + escape..].strip_prefix(b"[") {
        let inside = rest.iter().take(MAX_COLOUR).take_while(|byte| b"0123456789;?".contains(byte)).count();
        if rest.get(inside).is_some_and(u8::is_ascii_alphabetic) {
            length += inside + 2;
        }
    }
    normal[at..at + length].fill(b' ');
    length
}

fn mark(bytes: &[u8], at: usize, normal: &mut [u8]) -> usize {
    let Some(rest) = bytes[at..].strip_prefix(MARKER_START.as_bytes()) else {
        return 1;
    };
    let is_kind = |byte: &&u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || **byte == b'-';
    let kind = rest.iter().take(MAX_KIND).take_while(is_kind).count();
    if kind == 0 || rest.get(kind) != Some(&b']') {
        return 1;
    }
    let length = MARKER_START.len() + kind + 1;
    normal[at..at + length].fill(HIDDEN);
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> String {
        let normal = normalized(text);
        assert_eq!(normal.len(), text.len(), "{text:?}");
        String::from_utf8_lossy(&normal).replace('\0', "#")
    }

    #[test]
    fn escapes_and_colours_are_normalised() {
        let table = [
            (r"a\nb", "a  b"),
            (r"a\\\nb", "a    b"),
            (r#"{\"a\":\"b\"}"#, r#"{ "a ": "b "}"#),
            ("\u{1b}[1;31mx\u{1b}[0m", "       x    "),
            (r"\u001b[32mx", "          x"),
            (r"\x1b[32mx\033[0m\e[0m", "        x            "),
            ("a%3Db%41", "a===b%41"),
            (r"a\u003db\u0041", "a======b u0041"),
            ("x[REDACTED:jwt]y", "x##############y"),
            ("[REDACTED:A] [REDACTED:] [x] 5% \\", "[REDACTED:A] [REDACTED:] [x] 5%  "),
            ("plain é text", "plain é text"),
        ];
        for (given, expected) in table {
            assert_eq!(seen(given), expected, "{given:?}");
        }
    }

    #[test]
    fn truncated_sequences_keep_their_length() {
        for whole in [r"\\u001b[32m", "\u{1b}[31m", "%3D", "[REDACTED:jwt]", r"\033[0m"] {
            for end in 0..=whole.len() {
                assert_eq!(normalized(&whole[..end]).len(), end);
            }
        }
    }
}
