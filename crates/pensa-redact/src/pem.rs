//! Finds the end of a private key: its `END` line, or where the text was cut off.
//!
//! A header alone is not a key, because code and prose mention headers.

use std::ops::Range;
use std::sync::OnceLock;

use regex_automata::Input;
use regex_automata::meta::Regex;

use crate::normalize;
use crate::rules::compile;

/// How many bytes after a header are searched for a key, so that many headers stay cheap.
const MAX_HEADER_GAP: usize = 1024;
/// Shortest run of base64 after a header that counts as a key, and shortest if the text ends with it.
const MIN_FIRST_RUN: usize = 24;
const MIN_LAST_RUN: usize = 8;
/// Shortest run of base64 anywhere in a block with an `END` line. Lines of keys have 64 characters or more.
const MIN_LINE: usize = 40;
/// Shortest line after other lines of the same key.
const MIN_KNOWN_LINE: usize = 4;
/// A key is over after this many consecutive texts that are not part of it.
const MAX_OTHER_TEXTS: usize = 32;
/// Longest line number.
const MAX_LINE_NUMBER: usize = 6;

/// Finds the `END` lines of a text in order, so that any number of headers takes only one pass.
#[derive(Debug, Default)]
pub(crate) struct KeyEnds {
    next: Option<Range<usize>>,
    is_exhausted: bool,
    /// Whether the last header starts a key that does not end in this text.
    pub(crate) is_open: bool,
}

impl KeyEnds {
    /// The range of the key with this header; `None` if no key follows. Headers must be passed in order.
    pub(crate) fn block(&mut self, normal: &[u8], header: Range<usize>) -> Option<Range<usize>> {
        let end = self.after(normal, header.end);
        let limit = end.as_ref().map_or(normal.len(), |end| end.start).min(header.end + MAX_HEADER_GAP);
        let body = &normal[header.end..limit];
        let is_key = begins_with_key(body, limit == normal.len()) || (end.is_some() && has_line(body));
        self.is_open = end.is_none() && (is_key || body.iter().all(|byte| !is_base64(byte)));
        is_key.then(|| header.start..end.map_or(normal.len(), |end| end.end))
    }

    fn after(&mut self, normal: &[u8], at: usize) -> Option<Range<usize>> {
        if self.next.as_ref().is_none_or(|next| next.start < at) && !self.is_exhausted {
            self.next = end_line()?.find(Input::new(normal).range(at..)).map(|found| found.range());
            self.is_exhausted = self.next.is_none();
        }
        self.next.clone()
    }
}

fn end_line() -> Option<&'static Regex> {
    static END: OnceLock<Option<Regex>> = OnceLock::new();
    END.get_or_init(|| compile(&["(?i)-{4,5} ?END[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)? ?-{4,5}"])).as_ref()
}

fn is_base64(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(byte)
}

/// Whether a key follows directly, after blanks, quotes, line numbers or lines such as `Version: 2`.
fn begins_with_key(mut body: &[u8], is_all: bool) -> bool {
    loop {
        let decoration = |byte: &&u8| byte.is_ascii_whitespace() || b"\"'`,|>#*:.+-".contains(byte) || !byte.is_ascii();
        body = &body[body.iter().take_while(decoration).count()..];
        let run = body.iter().take_while(|byte| is_base64(byte)).count();
        if run >= MIN_FIRST_RUN || (is_all && run >= MIN_LAST_RUN && run == body.len()) {
            return true;
        }
        let is_number = run <= MAX_LINE_NUMBER && body[..run].iter().all(u8::is_ascii_digit);
        let name = body.iter().take_while(|byte| byte.is_ascii_alphabetic() || **byte == b'-').count();
        body = match body.get(name) {
            _ if run > 0 && is_number => &body[run..],
            Some(b':') if name > 0 => &body[line_len(body)..],
            _ => return false,
        };
    }
}

/// Tracks a key that started in an earlier text: items of a list, entries of a session, lines of a log.
#[derive(Debug, Default)]
pub(crate) struct OpenKey {
    is_open: bool,
    /// Whether a line of it has been found, so that later lines may be short.
    has_line: bool,
    /// Consecutive texts that were not part of it.
    other_texts: usize,
}

impl OpenKey {
    pub(crate) fn open(&mut self, has_line: bool) {
        *self = Self { is_open: true, has_line, other_texts: 0 };
    }

    /// How many bytes at the start of `text` belong to the key.
    pub(crate) fn continuation_len(&mut self, text: &str) -> usize {
        let mut length = 0;
        for line in text.split_inclusive('\n').take_while(|_| self.is_open) {
            let bytes = normalize::normalized(line);
            if let Some(end) = end_line().and_then(|regex| regex.find(&bytes[..])) {
                *self = Self::default();
                return length + end.end();
            }
            if !self.is_line_of_key(&bytes) {
                self.other_texts += 1;
                self.is_open = self.other_texts < MAX_OTHER_TEXTS;
                break;
            }
            (self.has_line, self.other_texts) = (true, 0);
            length += line.len();
        }
        length
    }

    fn is_line_of_key(&self, line: &[u8]) -> bool {
        let is_edge = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`,|>#*:+-".contains(byte);
        let line = line.trim_ascii();
        let start = line.iter().take_while(|byte| is_edge(byte) && **byte != b'+').count();
        let end = line.iter().rev().take_while(|byte| is_edge(byte) && **byte != b'+').count();
        let Some(line) = line.get(start..line.len() - end) else { return false };
        let is_whole = line.iter().all(is_base64);
        is_whole && (has_line(line) || self.has_line && line.len() >= MIN_KNOWN_LINE)
    }
}

/// The length of a line. Normalising replaces an escaped newline by two blanks.
fn line_len(body: &[u8]) -> usize {
    let ends = |at: &usize| body[*at] == b'\n' || body[*at..].starts_with(b"  ");
    (0..body.len()).find(ends).unwrap_or(body.len())
}

/// Whether some run of base64 looks like a line of a key.
fn has_line(body: &[u8]) -> bool {
    let kinds = [u8::is_ascii_uppercase, u8::is_ascii_lowercase, u8::is_ascii_digit];
    let is_line = |run: &[u8]| run.len() >= MIN_LINE && kinds.iter().all(|is| run.iter().any(is));
    body.split(|byte| !is_base64(byte)).any(is_line)
}
