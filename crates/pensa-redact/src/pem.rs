//! How far a private key reaches, from its header to its end line or to where the text was cut off.
//!
//! Finding headers is left to the rules. A header alone is not a key: code and prose mention them.

use std::ops::Range;
use std::sync::OnceLock;

use regex_automata::Input;
use regex_automata::meta::Regex;

use crate::rules::compile;
use crate::sight;

/// How far into a block a key is looked for, so that many headers cost no more than a little each.
const INSIDE: usize = 1024;
/// Shortest first stretch of base64 that is taken for a key, and shortest that ends with the text.
const FIRST: usize = 24;
const CUT_OFF: usize = 8;
/// Shortest stretch further on in a block that has an end; lines of keys have 64 characters or more.
const LINE: usize = 40;
/// Shortest line of a key whose lines before it were seen.
const SHORT_LINE: usize = 4;
/// Texts in a row that are no part of a key, after which it is taken for over.
const OTHERS: usize = 32;
/// Longest number of a line.
const LINE_NUMBER: usize = 6;

/// The end lines of keys in one text, found one after the other, so that many headers cost no more than one pass.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    next: Option<Range<usize>>,
    none_left: bool,
    /// Whether the last header opened a key whose end is not in the text.
    pub(crate) is_open: bool,
}

impl Ends {
    /// The whole key whose header is at `header`, if a key follows it. Headers have to come in order.
    pub(crate) fn block(&mut self, sight: &[u8], header: Range<usize>) -> Option<Range<usize>> {
        let end = self.after(sight, header.end);
        let limit = end.as_ref().map_or(sight.len(), |end| end.start).min(header.end + INSIDE);
        let body = &sight[header.end..limit];
        let is_key = begins_with_key(body, limit == sight.len()) || (end.is_some() && has_line(body));
        self.is_open = end.is_none() && (is_key || body.iter().all(|byte| !is_base64(byte)));
        is_key.then(|| header.start..end.map_or(sight.len(), |end| end.end))
    }

    fn after(&mut self, sight: &[u8], at: usize) -> Option<Range<usize>> {
        if self.next.as_ref().is_none_or(|next| next.start < at) && !self.none_left {
            self.next = end_line()?.find(Input::new(sight).range(at..)).map(|found| found.range());
            self.none_left = self.next.is_none();
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

/// Whether a key follows at once: what lies between is blank, quotes, line numbers or lines such as `Version: 2`.
fn begins_with_key(mut body: &[u8], is_all: bool) -> bool {
    loop {
        let decoration = |byte: &&u8| byte.is_ascii_whitespace() || b"\"'`,|>#*:.+-".contains(byte) || !byte.is_ascii();
        body = &body[body.iter().take_while(decoration).count()..];
        let run = body.iter().take_while(|byte| is_base64(byte)).count();
        if run >= FIRST || (is_all && run >= CUT_OFF && run == body.len()) {
            return true;
        }
        let is_number = run <= LINE_NUMBER && body[..run].iter().all(u8::is_ascii_digit);
        let name = body.iter().take_while(|byte| byte.is_ascii_alphabetic() || **byte == b'-').count();
        body = match body.get(name) {
            _ if run > 0 && is_number => &body[run..],
            Some(b':') if name > 0 => &body[line(body)..],
            _ => return false,
        };
    }
}

/// A key that began in an earlier text: the items of a list, the entries of a session or the lines of a log.
#[derive(Debug, Default)]
pub(crate) struct Continued {
    is_open: bool,
    /// Whether a line of it was seen: what follows may be short.
    has_line: bool,
    /// Texts since that are not part of it.
    others: usize,
}

impl Continued {
    pub(crate) fn open(&mut self, has_line: bool) {
        *self = Self { is_open: true, has_line, others: 0 };
    }

    /// How much of `text`, from its beginning, belongs to the key.
    pub(crate) fn take(&mut self, text: &str) -> usize {
        let mut taken = 0;
        for line in text.split_inclusive('\n').take_while(|_| self.is_open) {
            let bytes = sight::of(line);
            if let Some(end) = end_line().and_then(|regex| regex.find(&bytes[..])) {
                *self = Self::default();
                return taken + end.end();
            }
            if !self.is_line_of_key(&bytes) {
                self.others += 1;
                self.is_open = self.others < OTHERS;
                break;
            }
            (self.has_line, self.others) = (true, 0);
            taken += line.len();
        }
        taken
    }

    fn is_line_of_key(&self, line: &[u8]) -> bool {
        let is_edge = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`,|>#*:+-".contains(byte);
        let line = line.trim_ascii();
        let start = line.iter().take_while(|byte| is_edge(byte) && **byte != b'+').count();
        let end = line.iter().rev().take_while(|byte| is_edge(byte) && **byte != b'+').count();
        let Some(line) = line.get(start..line.len() - end) else { return false };
        let is_whole = line.iter().all(is_base64);
        is_whole && (has_line(line) || self.has_line && line.len() >= SHORT_LINE)
    }
}

/// The length of a line; an escaped line end is seen as two blanks.
fn line(body: &[u8]) -> usize {
    let ends = |at: &usize| body[*at] == b'\n' || body[*at..].starts_with(b"  ");
    (0..body.len()).find(ends).unwrap_or(body.len())
}

/// Whether there is a stretch that looks like a line of a key.
fn has_line(body: &[u8]) -> bool {
    let kinds = [u8::is_ascii_uppercase, u8::is_ascii_lowercase, u8::is_ascii_digit];
    let is_line = |run: &[u8]| run.len() >= LINE && kinds.iter().all(|is| run.iter().any(is));
    body.split(|byte| !is_base64(byte)).any(is_line)
}
