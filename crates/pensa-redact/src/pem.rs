//! How far a private key reaches, from its header to its end line or to where the text was cut off.
//!
//! Finding headers is left to the rules. A header alone is not a key: code and prose mention them.

use std::ops::Range;
use std::sync::OnceLock;

use regex_automata::Input;
use regex_automata::meta::Regex;

use crate::rules::compile;

/// How far into a block a key is looked for, so that many headers cost no more than a little each.
const INSIDE: usize = 1024;
/// Shortest first stretch of base64 that is taken for a key, and shortest that ends with the text.
const FIRST: usize = 24;
const CUT_OFF: usize = 8;
/// Shortest stretch further on in a block that has an end; lines of keys have 64 characters or more.
const LINE: usize = 40;
/// Longest number of a line.
const LINE_NUMBER: usize = 6;

/// The end lines of keys in one text, found one after the other, so that many headers cost no more than one pass.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    next: Option<Range<usize>>,
    none_left: bool,
}

impl Ends {
    /// The whole key whose header is at `header`, if a key follows it. Headers have to come in order.
    pub(crate) fn block(&mut self, sight: &[u8], header: Range<usize>) -> Option<Range<usize>> {
        let end = self.after(sight, header.end);
        let limit = end.as_ref().map_or(sight.len(), |end| end.start).min(header.end + INSIDE);
        let body = &sight[header.end..limit];
        let is_key = begins_with_key(body, limit == sight.len()) || (end.is_some() && has_line(body));
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
