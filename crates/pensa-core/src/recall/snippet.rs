//! The piece of a text that shows why it matches.

use std::collections::HashSet;

use super::rerank::Nearness;
use super::words::{Token, Word};

/// Characters of a snippet, without its marks.
const CHARS: usize = 240;
/// Around a word that matches.
const MARK: &str = "**";

/// The piece of a text around its best passage, on one line, with the words that match between marks.
///
/// Marks that the text itself has are removed, so that it cannot pretend to match.
pub fn snippet(text: &str, tokens: &[Token], words: &HashSet<Word>, near: Nearness) -> String {
    let (from, to) = around(text, near);
    let mut shown = String::new();
    let mut end = from;
    if from > 0 {
        shown.push('…');
    }
    let mut open_until: Option<usize> = None;
    for token in tokens.iter().filter(|token| words.contains(&token.word)) {
        let (start, stop) = (token.from as usize, token.to as usize);
        if start < from || stop > to {
            continue;
        }
        // A name and its parts overlap: mark the widest.
        if open_until.is_some_and(|until| start < until && stop <= until) {
            continue;
        }
        if let Some(until) = open_until.filter(|until| start < *until) {
            shown.truncate(shown.len() - MARK.len());
            plain(&text[until..stop], &mut shown);
        } else {
            plain(&text[end..start], &mut shown);
            shown.push_str(MARK);
            plain(&text[start..stop], &mut shown);
        }
        shown.push_str(MARK);
        end = stop;
        open_until = Some(stop);
    }
    plain(&text[end..to], &mut shown);
    if to < text.len() {
        shown.push('…');
    }
    shown.trim().to_owned()
}

/// The bounds of the piece, at the ends of words.
fn around(text: &str, near: Nearness) -> (usize, usize) {
    let (from, to) = (near.from as usize, (near.to as usize).min(text.len()));
    let room = CHARS.saturating_sub(to.saturating_sub(from));
    let before = from.saturating_sub(room / 3);
    let mut start = text.floor_char_boundary(before);
    if start > 0 {
        start = text[start..from].find(char::is_whitespace).map_or(start, |at| start + at + 1).min(from);
        start = text.ceil_char_boundary(start);
    }
    let mut end = text.floor_char_boundary((start + CHARS).min(text.len()));
    if end < text.len() {
        end = text[start..end].rfind(char::is_whitespace).map_or(end, |at| start + at).max(start);
    }
    (start, end)
}

/// Adds a piece of the text with single spaces and without marks.
fn plain(piece: &str, to: &mut String) {
    let mut rest = piece.chars().peekable();
    while let Some(c) = rest.next() {
        if c == '*' && (rest.peek() == Some(&'*') || to.ends_with("**")) {
            while rest.next_if_eq(&'*').is_some() {}
        } else if c.is_whitespace() {
            if !to.ends_with(' ') {
                to.push(' ');
            }
        } else {
            to.push(c);
        }
    }
}
