//! Secrets in another spelling: base64 of a text that holds one, and values with percent codes in them.
//!
//! Decodes only; whether there is a secret in what comes out is left to the caller.

use std::ops::Range;

/// Shortest base64 that can hold a secret of 15 bytes, and longest that is decoded.
const SHORTEST: usize = 20;
const LONGEST: usize = 1 << 20;
/// Shortest line that another may follow; tools break base64 after 64 or 76 characters.
const FULL_LINE: usize = 60;

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte)
}

/// Long words of letters and digits, in which base64 may be. Looks at every twentieth byte of text that has none.
pub(crate) fn long_words(text: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    let mut at = SHORTEST - 1;
    while at < text.len() {
        if !is_base64(text[at]) {
            from = at + 1;
            at += SHORTEST;
            continue;
        }
        let back = text[from..at].iter().rev().take_while(|byte| is_base64(**byte)).count();
        let start = at - back;
        let end = at + text[at..].iter().take_while(|byte| is_base64(**byte)).count();
        if end - start >= SHORTEST {
            found.push(start..end);
        }
        from = end;
        at = end + SHORTEST;
    }
    found
}

/// Whether there is a long word at all.
pub(crate) fn has_long_word(text: &[u8]) -> bool {
    let mut at = SHORTEST - 1;
    while at < text.len() {
        if is_base64(text[at]) {
            let window = &text[at + 1 - SHORTEST..];
            let back = text[at + 1 - SHORTEST..=at].iter().rev().take_while(|byte| is_base64(**byte)).count();
            let ahead = window[SHORTEST..].iter().take(SHORTEST).take_while(|byte| is_base64(**byte)).count();
            if back + ahead >= SHORTEST {
                return true;
            }
        }
        at += SHORTEST;
    }
    false
}

/// A stretch of base64, over all the lines it is written on, and the text that it stands for.
pub(crate) fn base64_texts(sight: &[u8]) -> Vec<(Range<usize>, String)> {
    let mut words = long_words(sight).into_iter().peekable();
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        let mut whole = word.clone();
        let mut digits = sight[word.clone()].to_vec();
        let mut line = word;
        while line.len() >= FULL_LINE
            && let Some(next) = words.peek().filter(|next| is_line_end(&sight[line.end..next.start]))
        {
            digits.extend_from_slice(&sight[next.clone()]);
            whole.end = next.end;
            line = next.clone();
            words.next();
        }
        // The last line may be short.
        if line.len() >= FULL_LINE {
            let rest = &sight[whole.end..];
            let gap = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count().min(4);
            let tail = rest[gap..].iter().take_while(|byte| is_base64(**byte)).count();
            if tail > 0 && is_line_end(&rest[..gap]) {
                digits.extend_from_slice(&rest[gap..gap + tail]);
                whole.end += gap + tail;
            }
        }
        whole.end += sight[whole.end..].iter().take(2).take_while(|byte| **byte == b'=').count();
        if digits.len() <= LONGEST
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

/// The text that base64 stands for, of either alphabet; none if it is not text.
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
            // Nothing else than text is worth another look; binary data shows within a few bytes.
            if byte < b' ' && !b"\t\n\r".contains(&byte) {
                return None;
            }
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Whether there is a percent code at all.
pub(crate) fn has_percent_code(text: &[u8]) -> bool {
    text.windows(3).any(|three| three[0] == b'%' && hex(&three[1..]).is_some())
}

/// The words of a text that have percent codes in them: where each is, what it says, and where each byte of that stood.
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
    fn base64_is_read_over_lines_and_in_both_alphabets() {
        let one = "aGVsbG8sIHRoaXMgaXMgYSBzZWNyZXQ_";
        assert_eq!(base64_texts(format!("x {one}= y").as_bytes())[0], (2..35, "hello, this is a secret?".to_owned()));
        let line = "aGVsbG8s".repeat(8);
        let lines = format!("{line}\n{line}\r\naGVs\nother text that is not base64 at all");
        let (place, text) = base64_texts(lines.as_bytes()).remove(0);
        assert_eq!((place, text.len()), (0..64 + 1 + 64 + 2 + 4, 99));
        assert!(base64_texts(b"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").is_empty());
    }

    #[test]
    fn long_words_are_found_wherever_they_are() {
        for before in 0..45 {
            for length in [19, 20, 21, 40, 61] {
                let text = format!("{}{} and", "ab ".repeat(20)[..before].to_owned() + " ", "x".repeat(length));
                let start = before + 1;
                let expected = (length >= SHORTEST).then(|| start..start + length);
                assert_eq!(long_words(text.as_bytes()), Vec::from_iter(expected), "{text}");
                assert_eq!(has_long_word(text.as_bytes()), length >= SHORTEST, "{text}");
            }
        }
    }

    #[test]
    fn percent_codes_are_read_and_their_places_known() {
        let (range, plain, places) = percent_words("see a%2Fb%3Dc 5% and").remove(0);
        assert_eq!((range, plain.as_str()), (4..13, "a/b=c"));
        assert_eq!(places, [4, 5, 8, 9, 12, 13]);
    }
}
