//! Captures the beginning and the end of a command's output, up to a size limit.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// A number of bytes, written as a whole number with an optional `k` or `m`: `64k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(usize);

impl ByteSize {
    /// Maximum output of a job that can be stored.
    pub const MAX: ByteSize = ByteSize(512 << 10);

    pub fn bytes(self) -> usize {
        self.0
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes > 0 && bytes % (1 << 20) == 0 => write!(f, "{}m", bytes >> 20),
            bytes if bytes > 0 && bytes % (1 << 10) == 0 => write!(f, "{}k", bytes >> 10),
            bytes => write!(f, "{bytes}"),
        }
    }
}

impl FromStr for ByteSize {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let (digits, unit) = match text.strip_suffix(['k', 'K']) {
            Some(digits) => (digits, 1 << 10),
            None => text.strip_suffix(['m', 'M']).map_or((text, 1), |digits| (digits, 1 << 20)),
        };
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let bytes = digits.parse::<usize>().ok().filter(|_| is_number).and_then(|count| count.checked_mul(unit));
        match bytes {
            Some(bytes) if bytes <= Self::MAX.0 => Ok(Self(bytes)),
            Some(_) => Err(Error::invalid(format!("too many bytes: {text:?}")).hint(format!("at most {}", Self::MAX))),
            None => {
                let shown: String = text.chars().take(40).collect();
                Err(Error::invalid(format!("not a number of bytes: {shown:?}")).hint("such as 4096, 64k or 0"))
            }
        }
    }
}

/// Collects output in bounded memory.
#[derive(Debug)]
pub struct CapturedOutput {
    limit: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl CapturedOutput {
    pub fn new(limit: ByteSize) -> Self {
        Self { limit: limit.0, head: Vec::new(), tail: VecDeque::new(), total: 0 }
    }

    /// Adds the next bytes of output.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let first = (self.limit.div_ceil(2) - self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..first]);
        let tail_limit = self.limit / 2;
        let rest = &bytes[first..];
        let rest = &rest[rest.len().saturating_sub(tail_limit)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(tail_limit);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    /// The total number of bytes, stored or not.
    pub fn total(&self) -> i64 {
        i64::try_from(self.total).unwrap_or(i64::MAX)
    }

    /// The stored text, and whether anything was left out. Invalid UTF-8 becomes U+FFFD.
    pub fn text(&self) -> (String, bool) {
        let (a, b) = self.tail.as_slices();
        let kept = (self.head.len() + self.tail.len()) as u64;
        if kept == self.total {
            return (String::from_utf8_lossy(&[&self.head, a, b].concat()).into_owned(), false);
        }
        if kept == 0 {
            return (String::new(), true);
        }
        let tail = [a, b].concat();
        let head = String::from_utf8_lossy(trim_partial_end(&self.head)).into_owned();
        let tail = String::from_utf8_lossy(trim_partial_start(&tail)).into_owned();
        (format!("{head}\n[{} bytes left out]\n{tail}", self.total - kept), true)
    }
}

/// Removes an incomplete UTF-8 character from the end.
fn trim_partial_end(bytes: &[u8]) -> &[u8] {
    let last = bytes.len().saturating_sub(3);
    for at in (last..bytes.len()).rev() {
        let length = match bytes[at] {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            0x80..=0xBF => continue,
            _ => return bytes,
        };
        return if at + length > bytes.len() { &bytes[..at] } else { bytes };
    }
    bytes
}

/// Removes an incomplete UTF-8 character from the start.
fn trim_partial_start(bytes: &[u8]) -> &[u8] {
    let parts = bytes.iter().take(3).take_while(|byte| (0x80..=0xBF).contains(*byte)).count();
    &bytes[parts..]
}

/// Maximum size of stored output as JSON, so that its record stays below the limit for records.
const JSON_BYTES: usize = 960 << 10;

/// Cuts a text so that it fits into a record as JSON, and returns whether it was cut.
pub fn fit(text: &str) -> (&str, bool) {
    // A character takes at most two `\u` escapes in JSON.
    let cost = |c: char| if c.is_ascii() && !c.is_control() && c != '"' && c != '\\' { 1 } else { 12 };
    if text.len().saturating_mul(12) <= JSON_BYTES {
        return (text, false);
    }
    let mut spent = 0usize;
    for (at, c) in text.char_indices() {
        spent += if c == '\n' || c == '\t' { 2 } else { cost(c) };
        if spent > JSON_BYTES {
            return (&text[..at], true);
        }
    }
    (text, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_round_trip_as_text() {
        for (given, bytes, written) in [
            ("64k", 65_536, "64k"),
            ("64K", 65_536, "64k"),
            ("0", 0, "0"),
            ("10", 10, "10"),
            (" 512k ", 524_288, "512k"),
        ] {
            let size: ByteSize = given.parse().expect(given);
            assert_eq!((size.bytes(), size.to_string().as_str()), (bytes, written));
        }
        for bad in
            ["", "k", "-1", "+1", "1.5k", "64kb", "1 k", "513k", "1m", "99999999999999999999", "9999999999999m", "٣"]
        {
            assert!(bad.parse::<ByteSize>().is_err(), "{bad:?}");
        }
    }

    fn collected(limit: usize, parts: &[&[u8]]) -> (String, bool, i64) {
        let mut kept = CapturedOutput::new(ByteSize(limit));
        parts.iter().for_each(|part| kept.push(part));
        let (text, truncated) = kept.text();
        (text, truncated, kept.total())
    }

    #[test]
    fn beginning_and_end_are_kept() {
        for (limit, parts, text, truncated) in [
            (10, &[&b"abc"[..], b"def"][..], "abcdef", false),
            (6, &[b"abc", b"def"], "abcdef", false),
            (6, &[b"abcdefgh"], "abc\n[2 bytes left out]\nfgh", true),
            (5, &[b"a", b"bcd", b"e", b"f", b"gh"], "abc\n[3 bytes left out]\ngh", true),
            (0, &[b"abc"], "", true),
            (0, &[], "", false),
            (1, &[b"ab"], "a\n[1 bytes left out]\n", true),
        ] {
            let (got, cut, total) = collected(limit, parts);
            assert_eq!((got.as_str(), cut), (text, truncated), "{limit}");
            assert_eq!(total, parts.iter().map(|part| part.len() as i64).sum::<i64>());
        }
    }

    #[test]
    fn captured_text_does_not_depend_on_the_chunks() {
        let bytes: Vec<u8> = (0..1000u32).map(|n| (n % 251) as u8).collect();
        let whole = collected(64, &[&bytes]);
        for step in [1, 3, 63, 64, 65, 999] {
            let parts: Vec<&[u8]> = bytes.chunks(step).collect();
            assert_eq!(collected(64, &parts), whole, "{step}");
        }
    }

    #[test]
    fn invalid_utf8_is_replaced_and_characters_are_not_cut() {
        assert_eq!(collected(10, &[b"a\xffb\0"]).0, "a\u{fffd}b\0");
        let text = "äöüäöüäöü";
        for limit in 2..text.len() {
            let (kept, truncated, _) = collected(limit, &[text.as_bytes()]);
            assert!(truncated && !kept.contains('\u{fffd}'), "{limit}: {kept:?}");
        }
        let (kept, ..) = collected(10, &["🦀🦀🦀🦀🦀".as_bytes()]);
        assert!(kept.starts_with('🦀') && kept.ends_with('🦀') && !kept.contains('\u{fffd}'), "{kept:?}");
    }

    #[test]
    fn text_that_grows_in_json_is_cut_to_fit_its_record() {
        let plain = "x".repeat(ByteSize::MAX.0);
        assert_eq!(fit(&plain), (plain.as_str(), false));
        for hostile in ["\u{1}", "\u{fffd}", "\"", "🦀", "\u{202e}"] {
            let long = hostile.repeat(ByteSize::MAX.0 / hostile.len());
            let (kept, _) = fit(&long);
            assert!(serde_json::json!(kept).to_string().len() <= 1 << 20, "{hostile:?}");
            assert!(crate::json::to_line(kept).expect("JSON").len() <= 1 << 20, "{hostile:?}");
        }
    }
}
