//! Decodes base64 and percent codes, so that secrets in them are found.

use std::ops::Range;

/// Shortest base64 that is decoded, which can contain 15 bytes, and longest.
const MIN_WORD: usize = 20;
const MAX_DIGITS: usize = 1 << 20;
/// Shortest line of wrapped base64, except the last: tools wrap at 64 or 76 characters.
const FULL_LINE: usize = 60;

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte)
}

/// Finds words long enough to be base64. Reads only every twentieth byte of a text without any.
pub(crate) fn long_words(text: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    let mut at = MIN_WORD - 1;
    while at < text.len() {
        if !is_base64(text[at]) {
            from = at + 1;
            at += MIN_WORD;
            continue;
        }
        let back = text[from..at].iter().rev().take_while(|byte| is_base64(**byte)).count();
        let start = at - back;
        let end = at + text[at..].iter().take_while(|byte| is_base64(**byte)).count();
        if end - start >= MIN_WORD {
            found.push(start..end);
        }
        from = end;
        at = end + MIN_WORD;
    }
    found
}

/// Whether a text contains a word long enough to be base64.
pub(crate) fn has_long_word(text: &[u8]) -> bool {
    let mut at = MIN_WORD - 1;
    while at < text.len() {
        if is_base64(text[at]) {
            let window = &text[at + 1 - MIN_WORD..];
            let back = text[at + 1 - MIN_WORD..=at].iter().rev().take_while(|byte| is_base64(**byte)).count();
            let ahead = window[MIN_WORD..].iter().take(MIN_WORD).take_while(|byte| is_base64(**byte)).count();
            if back + ahead >= MIN_WORD {
                return true;
            }
        }
        at += MIN_WORD;
    }
    false
}

/// Finds base64, possibly wrapped, that decodes to text. Returns the ranges and the decoded texts.
pub(crate) fn base64_texts(normal: &[u8]) -> Vec<(Range<usize>, String)> {
    let mut words = long_words(normal).into_iter().peekable();
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        let mut whole = word.clone();
        let mut digits = normal[word.clone()].to_vec();
        let mut line = word;
        while line.len() >= FULL_LINE
            && let Some(next) = words.peek().filter(|next| is_line_end(&normal[line.end..next.start]))
        {
            digits.extend_from_slice(&normal[next.clone()]);
            whole.end = next.end;
            line = next.clone();
            words.next();
        }
        // The last line can be short.
        if line.len() >= FULL_LINE {
            let rest = &normal[whole.end..];
            let gap = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count().min(4);
            let tail = rest[gap..].iter().take_while(|byte| is_base64(**byte)).count();
            if tail > 0 && is_line_end(&rest[..gap]) {
                digits.extend_from_slice(&rest[gap..gap + tail]);
                whole.end += gap + tail;
            }
        }
        whole.end += normal[whole.end..].iter().take(2).take_while(|byte| **byte == b'=').count();
        if digits.len() <= MAX_DIGITS
            && let Some(text) = decoded(&digits)
        {
            found.push((whole, text));
        }
    }
    found
}

fn is_line_end(gap: &[u8]) -> bool {
    !gap.is_empty() && gap.len() <= 4 && gap.iter().all(u8::is_ascii_whitespace)
}

/// Decodes base64 of either alphabet; `None` if the result is not text.
fn decoded(digits: &[u8]) -> Option<String> {
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 3);
    let (mut bits, mut held) = (0u32, 0);
    for digit in digits {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' | b'-' => 62,
            _ => 63,
        };
        bits = (bits << 6 | u32::from(value)) & 0xff_ffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            let byte = u8::try_from(bits >> held & 0xff).ok()?;
            // Only text can contain a secret. Binary data is recognised within a few bytes.
            if byte < b' ' && !b"\t\n\r".contains(&byte) {
                return None;
            }
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Whether a text contains a percent code.
pub(crate) fn has_percent_code(text: &[u8]) -> bool {
    text.windows(3).any(|three| three[0] == b'%' && hex(&three[1..]).is_some())
}

/// Decodes the words that contain percent codes. Returns the range and text of each, and the position of each decoded
/// byte in the original.
pub(crate) fn percent_words(text: &str) -> Vec<(Range<usize>, String, Vec<usize>)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = bytes[at..].iter().position(|byte| *byte == b'%').map(|next| at + next) {
        let start = bytes[at..next].iter().rposition(u8::is_ascii_whitespace).map_or(at, |blank| at + blank + 1);
        let end = bytes[next..].iter().position(u8::is_ascii_whitespace).map_or(bytes.len(), |blank| next + blank);
        let (mut plain, mut places, mut changed) = (Vec::new(), Vec::new(), false);
        let mut here = start;
        while here < end {
            places.push(here);
            let code = bytes.get(here + 1..here + 3).filter(|_| bytes[here] == b'%').and_then(hex);
            changed |= code.is_some();
            plain.push(code.unwrap_or(bytes[here]));
            here += if code.is_some() { 3 } else { 1 };
        }
        places.push(end);
        if changed && let Ok(plain) = String::from_utf8(plain) {
            found.push((start..end, plain, places));
        }
        at = end;
    }
    found
}

fn hex(digits: &[u8]) -> Option<u8> {
    let digits = str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u8::from_str_radix(digits, 16).ok().filter(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_decoded_over_lines_and_in_both_alphabets() {
        let one = "aGVsbG8sIHRoaXMgaXMgYSBzZWNyZXQ_";
        assert_eq!(base64_texts(format!("x {one}= y").as_bytes())[0], (2..35, "hello, this is a secret?".to_owned()));
        let line = "aGVsbG8s".repeat(8);
        let lines = format!("{line}\n{line}\r\naGVs\nother text that is not base64 at all");
        let (place, text) = base64_texts(lines.as_bytes()).remove(0);
        assert_eq!((place, text.len()), (0..64 + 1 + 64 + 2 + 4, 99));
        assert!(base64_texts(b"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").is_empty());
    }

    #[test]
    fn long_words_are_found_at_any_position() {
        for before in 0..45 {
            for length in [19, 20, 21, 40, 61] {
                let text = format!("{}{} and", "ab ".repeat(20)[..before].to_owned() + " ", "x".repeat(length));
                let start = before + 1;
                let expected = (length >= MIN_WORD).then(|| start..start + length);
                assert_eq!(long_words(text.as_bytes()), Vec::from_iter(expected), "{text}");
                assert_eq!(has_long_word(text.as_bytes()), length >= MIN_WORD, "{text}");
            }
        }
    }

    #[test]
    fn percent_codes_are_decoded_with_their_positions() {
        let (range, plain, places) = percent_words("see a%2Fb%3Dc 5% and").remove(0);
        assert_eq!((range, plain.as_str()), (4..13, "a/b=c"));
        assert_eq!(places, [4, 5, 8, 9, 12, 13]);
    }
}
