//! Validates, compares and prints text.

use crate::error::{Code, Error, Result};

/// Maximum length of an actor, assignee or spec, in characters.
pub const LINE_CHARS: usize = 500;
/// Maximum length of a new title, in characters. An imported title may be longer.
pub const TITLE_CHARS: usize = 1000;
/// Maximum length of a description, comment or reason, in bytes.
pub const TEXT_BYTES: usize = 1 << 20;

/// Checks a one-line text (actor, spec) and returns it without surrounding blanks.
pub fn line<'a>(what: &str, text: &'a str) -> Result<&'a str> {
    let text = one_line(what, text)?;
    fits_line(what, text)?;
    Ok(text)
}

/// Like [`line()`], for a new title.
pub fn title<'a>(what: &str, text: &'a str) -> Result<&'a str> {
    let text = one_line(what, text)?;
    fits(what, text, TITLE_CHARS)?;
    Ok(text)
}

/// Like [`line()`], for an imported title, which may be as long as any text.
pub fn existing_title<'a>(what: &str, text: &'a str) -> Result<&'a str> {
    fits_block(what, text)?;
    one_line(what, text)
}

/// The warning about an imported title that is longer than a new one could be.
pub fn long_title(title: &str) -> Option<String> {
    let length = if title.len() > TITLE_CHARS { title.chars().count() } else { 0 };
    (length > TITLE_CHARS)
        .then(|| format!("has a title of {length} characters, which was kept; new titles have at most {TITLE_CHARS}"))
}

fn one_line<'a>(what: &str, text: &'a str) -> Result<&'a str> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Error::invalid(format!("{what} is empty")));
    }
    refuse_controls(what, text, &[])?;
    Ok(text)
}

/// Checks the length of a one-line text.
pub fn fits_line(what: &str, text: &str) -> Result<()> {
    fits(what, text, LINE_CHARS)
}

fn fits(what: &str, text: &str, limit: usize) -> Result<()> {
    let length = text.chars().count();
    if length <= limit {
        return Ok(());
    }
    Err(Error::new(Code::TooLarge, format!("{what} has {length} characters; the limit is {limit}"))
        .hint("put the details into the description"))
}

/// Checks the length of a multi-line text.
pub fn fits_block(what: &str, text: &str) -> Result<()> {
    if text.len() <= TEXT_BYTES {
        return Ok(());
    }
    Err(Error::new(Code::TooLarge, format!("{what} has {} bytes; the limit is {TEXT_BYTES}", text.len())))
}

/// Checks a multi-line text (description, comment) and returns it with LF line ends.
pub fn block(what: &str, text: &str) -> Result<String> {
    fits_block(what, text)?;
    let text = text.replace("\r\n", "\n");
    refuse_controls(what, &text, &['\n', '\t'])?;
    Ok(text)
}

/// Checks an optional one-line text; an empty one counts as absent.
pub fn optional_line(what: &str, given: Option<&String>) -> Result<Option<String>> {
    match given.map(|given| given.trim()) {
        None | Some("") => Ok(None),
        Some(given) => line(what, given).map(|line| Some(line.to_owned())),
    }
}

/// Checks an optional multi-line text; an empty one counts as absent.
pub fn optional_block(what: &str, given: Option<&String>) -> Result<Option<String>> {
    match given {
        Some(given) if !given.is_empty() => block(what, given).map(Some),
        _ => Ok(None),
    }
}

fn refuse_controls(what: &str, text: &str, allowed: &[char]) -> Result<()> {
    match text.chars().find(|c| c.is_control() && !allowed.contains(c)) {
        None => Ok(()),
        Some('\n') => Err(Error::invalid(format!("{what} has more than one line"))
            .hint("keep the first line; a description can have the others")),
        Some(c) => Err(Error::invalid(format!("{what} contains the control character U+{:04X}", c as u32))
            .hint("remove it; output of other programs can be had without colours by setting NO_COLOR=1")),
    }
}

/// Whether a character could control a terminal, or reorder or hide the text around it.
pub fn is_unsafe_to_print(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061C}' | '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

/// Makes a text safe for one line on a terminal: line ends become spaces, unsafe characters are removed.
pub fn printable_line(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\t') { ' ' } else { c }).filter(|c| !is_unsafe_to_print(*c)).collect()
}

/// Makes a text safe for a terminal: unsafe characters are removed, line ends and tabs stay.
pub fn printable_block(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !is_unsafe_to_print(*c)).collect()
}

/// Folds the case of a text for comparison, for all of Unicode.
///
/// Lowercase, uppercase, lowercase, character by character, equals full case folding (ß and ẞ become ss, all sigmas are
/// equal) without a table. It also maps the dotless ı to i, which suits a search.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().flat_map(char::to_lowercase).flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// The word most like a misspelled one, if any is near enough to be meant.
pub fn nearest<'w>(given: &str, words: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let given = fold(given);
    let near = words.map(|word| (strsim::damerau_levenshtein(&given, &fold(word)), word)).min()?;
    // Of a short word one letter may differ: any other short word is two away.
    let most = match given.chars().count() {
        length @ 0..=3 => length.saturating_sub(1).min(1),
        length => 2.max(length / 3),
    };
    (near.0 <= most).then_some(near.1)
}

/// Escapes a text as one line of Markdown that shows it literally.
pub fn markdown(data: &str) -> String {
    let line = printable_line(data);
    let line = line.trim();
    let mut shown = String::with_capacity(line.len());
    // At the start of a line, also after digits, these would start lists, headings or rules.
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    for (at, c) in line.char_indices() {
        let begins = at == digits && matches!(c, '.' | ')') && digits > 0 || at == 0 && matches!(c, '-' | '+' | '=');
        if begins || matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '!' | '&' | '~' | '$') {
            shown.push('\\');
        }
        shown.push(c);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_makes_every_case_of_a_word_equal() {
        for (a, b) in [
            ("LOGIN", "login"),
            ("Ärger", "ÄRGER"),
            ("STRASSE", "straße"),
            ("ẞ", "ss"),
            ("ΟΔΟΣ", "οδος"),
            ("K", "k"),
            ("ДОМ", "дом"),
        ] {
            assert_eq!(fold(a), fold(b), "{a} {b}");
        }
        assert_ne!(fold("a_b"), fold("axb"));
    }

    #[test]
    fn lines_are_trimmed_and_bounded() {
        assert_eq!(line("title", "  x ").expect("fine"), "x");
        for bad in ["", "   ", "a\nb", "a\u{1b}[31mb", "a\u{9b}b", "nul\0", &"x".repeat(LINE_CHARS + 1)] {
            assert!(line("title", bad).is_err(), "{bad:?}");
        }
        let error = line("actor", &"é".repeat(501)).expect_err("too long");
        assert!(error.message.contains("500"), "the limit is named: {error}");
    }

    #[test]
    fn a_typed_title_is_bounded_and_an_existing_one_is_kept_with_a_warning() {
        let (fits, long) = ("é".repeat(TITLE_CHARS), "é".repeat(TITLE_CHARS + 1));
        assert_eq!((title("title", &fits).expect("fine"), long_title(&fits)), (fits.as_str(), None));
        let error = title("title", &long).expect_err("too long");
        assert!(error.message.contains("1000"), "the limit is named: {error}");
        assert_eq!(existing_title("title", &long).expect("kept"), long);
        assert!(long_title(&long).is_some_and(|warning| warning.contains("1001")));
        for bad in ["", " ", "a\nb", "\u{1b}[2J"] {
            assert!(title("title", bad).is_err() && existing_title("title", bad).is_err(), "{bad:?}");
        }
        assert_eq!(existing_title("title", &"x".repeat(TEXT_BYTES + 1)).expect_err("huge").code, Code::TooLarge);
    }

    #[test]
    fn blocks_keep_lines_and_refuse_escapes() {
        assert_eq!(block("text", "a\r\n\tb\n").expect("fine"), "a\n\tb\n");
        for bad in ["a\rb", "\u{1b}]52;c;x\u{7}", "\u{7f}"] {
            assert!(block("text", bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn nothing_unsafe_survives_printing() {
        let hostile = "a\u{1b}[2Jb\u{9b}31m\u{202E}evil\u{2066}\u{200B}\u{7}\rc\u{E0041}";
        for shown in [printable_line(hostile), printable_block(hostile)] {
            assert!(!shown.chars().any(is_unsafe_to_print), "{shown:?}");
            assert!(shown.contains("evil"));
        }
        assert_eq!(printable_line("a\nb"), "a b");
        assert_eq!(printable_block("a\nb\tc"), "a\nb\tc");
    }

    #[test]
    fn markdown_shows_text_from_data_as_it_is() {
        for (data, shown) in [
            ("a *b* _c_ [d](e) `f`", "a \\*b\\* \\_c\\_ \\[d\\](e) \\`f\\`"),
            ("<script>&amp;</script>", "\\<script\\>\\&amp;\\</script\\>"),
            ("## heading", "\\#\\# heading"),
            ("- item", "\\- item"),
            ("12. item", "12\\. item"),
            ("3) item", "3\\) item"),
            ("a-b 1.5", "a-b 1.5"),
            ("a\u{1b}[2J\u{202e}b\nc", "a\\[2Jb c"),
        ] {
            assert_eq!(markdown(data), shown, "{data:?}");
        }
    }
}
