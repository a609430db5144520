//! Fits texts from data into columns of a terminal: harmless, and measured as terminals measure.

use pensa_core::text::printable_line;
use pensa_core::{Span, Timestamp};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How many columns a text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// A text from data as one harmless line of at most `room` columns; `…` stands for what is cut off.
pub(crate) fn clip(text: &str, room: usize) -> String {
    let line = printable_line(text);
    if columns(&line) <= room {
        return line;
    }
    let mut taken = 0;
    let mut clipped = String::new();
    for c in line.chars() {
        taken += c.width().unwrap_or_default();
        if taken >= room {
            break;
        }
        clipped.push(c);
    }
    if room > 0 {
        clipped.push('…');
    }
    clipped
}

/// Like [`clip`], with blanks up to `room` columns.
pub(crate) fn padded(text: &str, room: usize) -> String {
    let mut line = clip(text, room);
    line.extend(std::iter::repeat_n(' ', room.saturating_sub(columns(&line))));
    line
}

/// A harmless text in lines of at most `room` columns, broken at blanks where there are any.
pub(crate) fn wrapped(text: &str, room: usize) -> Vec<String> {
    let room = room.max(1);
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in printable_line(paragraph).split(' ') {
            if !line.is_empty() && columns(&line) + 1 + columns(word) > room {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            for c in word.chars() {
                if columns(&line) + c.width().unwrap_or_default() > room {
                    lines.push(std::mem::take(&mut line));
                }
                line.push(c);
            }
        }
        lines.push(line);
    }
    lines
}

/// How long ago something was, or how long it takes, in at most five columns: `12s`, `5m`, `3h`, `2d`.
pub(crate) fn age(millis: i64) -> String {
    const UNITS: [(i64, &str); 4] = [(365 * 86_400, "y"), (86_400, "d"), (3_600, "h"), (60, "m")];
    let seconds = millis.max(0) / 1_000;
    match UNITS.into_iter().find(|(length, _)| seconds >= *length) {
        Some((length, unit)) => format!("{}{unit}", seconds / length),
        None => format!("{seconds}s"),
    }
}

/// How long ago a time was.
pub(crate) fn since(at: Timestamp, now: Timestamp) -> String {
    age(now.since(at).map_or(0, Span::as_millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_columns_and_made_harmless() {
        assert_eq!(clip("日本語です", 6), "日本…");
        assert_eq!(clip("short", 6), "short");
        assert_eq!(clip("a\u{1b}[31mb\u{202e}c\nd", 20), "a[31mbc d");
        assert_eq!(columns(&padded("日本", 7)), 7);
        assert_eq!(clip("abc", 0), "");
    }

    #[test]
    fn long_texts_are_broken_at_blanks() {
        assert_eq!(wrapped("one two three\n\nfour", 8), ["one two", "three", "", "four"]);
        assert_eq!(wrapped("abcdefgh", 3), ["abc", "def", "gh"]);
    }

    #[test]
    fn ages_are_short() {
        assert_eq!([12_000, 300_000, 7_200_000, 172_800_000].map(age), ["12s", "5m", "2h", "2d"]);
    }
}
