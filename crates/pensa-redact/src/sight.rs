//! What the rules see of a text: the same length, with what would hide a secret from them made plain.
//!
//! Only for looking: what is written stays as it was. Rules want a blank or a quote beside a secret; in text from tools
//! there is the `n` of an escaped line end, the `m` of a colour or the `D` of `%3D` instead.

use std::borrow::Cow;

/// How the place of a secret begins.
pub(crate) const MARK: &str = "[REDACTED:";
/// Stands for what was redacted before: no rule has it in a secret.
pub(crate) const HIDDEN: u8 = 0;
/// Longest name of a kind that is taken for one.
const LONGEST_KIND: usize = 64;
/// Longest sequence that sets a colour.
const LONGEST_COLOUR: usize = 32;

/// `text` as the rules see it.
pub(crate) fn of(text: &str) -> Cow<'_, [u8]> {
    let bytes = text.as_bytes();
    let is_special = |byte: &u8| matches!(byte, b'\\' | b'%' | b'[' | 0x1b);
    let Some(first) = bytes.iter().position(is_special) else {
        return Cow::Borrowed(bytes);
    };
    let mut sight = bytes.to_vec();
    let mut at = first;
    while at < bytes.len() {
        at += match bytes[at] {
            b'\\' => escape(bytes, at, &mut sight),
            b'%' => percent(bytes, at, &mut sight),
            b'[' => mark(bytes, at, &mut sight),
            0x1b => colour(bytes, at, 1, &mut sight),
            _ => 1,
        };
    }
    Cow::Owned(sight)
}

/// A run of backslashes and what they escape, however often the text was written into another.
fn escape(bytes: &[u8], at: usize, sight: &mut [u8]) -> usize {
    let run = bytes[at..].iter().take_while(|byte| **byte == b'\\').count();
    let rest = &bytes[at + run..];
    sight[at..at + run].fill(b' ');
    let length = match rest.first() {
        Some(b'n' | b'r' | b't') => 1,
        Some(b'u') => 5,
        Some(b'x') => 3,
        Some(b'e') if rest.get(1) == Some(&b'[') => return colour(bytes, at, run + 1, sight),
        Some(b'0') if rest.starts_with(b"033[") => return colour(bytes, at, run + 3, sight),
        _ => return run,
    };
    if length == 1 {
        sight[at + run] = b' ';
        return run + 1;
    }
    match rest.get(1..length).and_then(plain) {
        Some(0x1b) => colour(bytes, at, run + length, sight),
        Some(byte) => {
            sight[at..at + run + length].fill(byte);
            run + length
        }
        None => run,
    }
}

fn percent(bytes: &[u8], at: usize, sight: &mut [u8]) -> usize {
    // Anything else may be a part of a password in an address.
    let ends = |byte: &u8| b"=\"':,&; \n\r\t".contains(byte);
    match bytes.get(at + 1..at + 3).and_then(plain).filter(ends) {
        Some(byte) => {
            sight[at..at + 3].fill(byte);
            3
        }
        None => 1,
    }
}

/// The character that hex digits name, unless it could be a part of a word.
fn plain(digits: &[u8]) -> Option<u8> {
    let digits = str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    let byte = u8::try_from(u32::from_str_radix(digits, 16).ok()?).ok()?;
    (byte.is_ascii() && byte != HIDDEN && !byte.is_ascii_alphanumeric() && byte != b'_').then_some(byte)
}

/// Blanks out what sets a colour, whose escape character is `escape` bytes long.
fn colour(bytes: &[u8], at: usize, escape: usize, sight: &mut [u8]) -> usize {
    let mut length = escape;
    if let Some(rest) = bytes[at + escape..].strip_prefix(b"[") {
        let inside = rest.iter().take(LONGEST_COLOUR).take_while(|byte| b"0123456789;?".contains(byte)).count();
        if rest.get(inside).is_some_and(u8::is_ascii_alphabetic) {
            length += inside + 2;
        }
    }
    sight[at..at + length].fill(b' ');
    length
}

fn mark(bytes: &[u8], at: usize, sight: &mut [u8]) -> usize {
    let Some(rest) = bytes[at..].strip_prefix(MARK.as_bytes()) else {
        return 1;
    };
    let is_kind = |byte: &&u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || **byte == b'-';
    let kind = rest.iter().take(LONGEST_KIND).take_while(is_kind).count();
    if kind == 0 || rest.get(kind) != Some(&b']') {
        return 1;
    }
    let length = MARK.len() + kind + 1;
    sight[at..at + length].fill(HIDDEN);
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> String {
        let sight = of(text);
        assert_eq!(sight.len(), text.len(), "{text:?}");
        String::from_utf8_lossy(&sight).replace('\0', "#")
    }

    #[test]
    fn escapes_and_colours_are_seen_as_what_they_mean() {
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
    fn the_end_of_the_text_may_come_anywhere() {
        for whole in [r"\\u001b[32m", "\u{1b}[31m", "%3D", "[REDACTED:jwt]", r"\033[0m"] {
            for end in 0..=whole.len() {
                assert_eq!(of(&whole[..end]).len(), end);
            }
        }
    }
}
