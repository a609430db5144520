//! The ways JSON is written for people's eyes and files: a line, or a document of many; both harmless on a terminal.
//!
//! Plain serde_json leaves C1 controls and bidi characters raw; here they are `\u` escapes of the same value.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter};

use crate::error::{Error, Result};
use crate::text::is_unsafe_to_print;

#[derive(Debug, Default, Clone, Copy)]
struct Harmless;

impl Formatter for Harmless {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, to: &mut W, fragment: &str) -> io::Result<()> {
        write_harmless(to, fragment)
    }
}

fn write_harmless<W: ?Sized + io::Write>(to: &mut W, fragment: &str) -> io::Result<()> {
    if fragment.is_ascii() && !fragment.contains('\x7f') {
        return to.write_all(fragment.as_bytes());
    }
    let mut plain = 0;
    for (at, c) in fragment.char_indices().filter(|(_, c)| is_unsafe_to_print(*c)) {
        to.write_all(&fragment.as_bytes()[plain..at])?;
        let mut units = [0u16; 2];
        for unit in c.encode_utf16(&mut units) {
            write!(to, "\\u{unit:04x}")?;
        }
        plain = at + c.len_utf8();
    }
    to.write_all(&fragment.as_bytes()[plain..])
}

/// The same over many lines, two blanks deeper at each level.
struct Spread(PrettyFormatter<'static>);

macro_rules! spread {
    ($($name:ident($($arg:ident: $type:ty),*))*) => {$(
        fn $name<W: ?Sized + io::Write>(&mut self, to: &mut W $(, $arg: $type)*) -> io::Result<()> {
            self.0.$name(to $(, $arg)*)
        }
    )*};
}

impl Formatter for Spread {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, to: &mut W, fragment: &str) -> io::Result<()> {
        write_harmless(to, fragment)
    }

    spread! {
        begin_array() end_array() begin_array_value(first: bool) end_array_value()
        begin_object() end_object() begin_object_key(first: bool) begin_object_value() end_object_value()
    }
}

/// `value` as a document of its own: two blanks for each level, fields in the order of their declaration, LF at the end
/// of every line, the last one too. Every file of JSON that is not one of lines is written so.
pub fn to_document<T: Serialize + ?Sized>(value: &T) -> Result<String> {
    let mut bytes = Vec::with_capacity(256);
    let spread = Spread(PrettyFormatter::with_indent(b"  "));
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, spread)).map_err(Error::internal)?;
    bytes.push(b'\n');
    String::from_utf8(bytes).map_err(Error::internal)
}

/// Appends `value` to `to` as one line of JSON, without the line end.
pub fn write_line<T: Serialize + ?Sized>(to: &mut Vec<u8>, value: &T) -> Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(to, Harmless)).map_err(Error::internal)
}

/// Writes a list as JSON, an item at a time, so that no list needs to be in memory as a whole.
#[derive(Debug)]
pub struct ListWriter<'a> {
    to: &'a mut Vec<u8>,
    empty: bool,
}

impl<'a> ListWriter<'a> {
    pub fn new(to: &'a mut Vec<u8>) -> Self {
        to.push(b'[');
        Self { to, empty: true }
    }

    pub fn item<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<()> {
        self.item_by(|to| write_line(to, item))
    }

    /// Adds the item that `write` appends.
    pub fn item_by(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        if !std::mem::take(&mut self.empty) {
            self.to.push(b',');
        }
        write(self.to)
    }

    pub fn end(self) {
        self.to.push(b']');
    }
}

/// Whether JSON stands here as it is written here: on one line, and harmless on a terminal.
pub fn is_line(text: &str) -> bool {
    let plain = |byte: u8| (b' '..=b'~').contains(&byte);
    text.bytes().all(plain) || !text.contains(is_unsafe_to_print)
}

/// `value` as one line of JSON, without the line end.
pub fn to_line<T: Serialize + ?Sized>(value: &T) -> Result<String> {
    let mut bytes = Vec::with_capacity(256);
    write_line(&mut bytes, value)?;
    String::from_utf8(bytes).map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_here_is_a_line_and_what_has_to_be_escaped_is_none() {
        for text in ["plain", "é 語 😀", "\u{9b}31m", "\u{202E}", "\u{7f}", "\n\t\0"] {
            assert!(is_line(&to_line(text).expect("serialises")), "{text:?}");
        }
        for raw in ["{\n}", "{\t}", "\"\u{202E}\"", "\"\u{7f}\"", "\"é\u{9b}\""] {
            assert!(!is_line(raw), "{raw:?}");
        }
    }

    #[test]
    fn a_document_has_the_form_that_is_promised() {
        let value = serde_json::json!({"z": [], "a": {}, "n": null, "list": [1, {"k": "\u{202E}\r\n"}]});
        let text = to_document(&value).expect("a document");
        let lines = ["{", "  \"z\": [],", "  \"a\": {},", "  \"n\": null,", "  \"list\": [", "    1,", "    {"];
        let rest = ["      \"k\": \"\\u202e\\r\\n\"", "    }", "  ]", "}", ""];
        assert_eq!(text, [&lines[..], &rest].concat().join("\n"));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), value);
    }

    #[test]
    fn unsafe_characters_are_escaped_and_come_back_unchanged() {
        let hostile = "é\u{9b}31m \u{202E} \u{7f} \u{E0041} \u{1b}[0m \" \\ \n ok";
        let line = to_line(hostile).expect("serialises");
        assert!(!line.chars().any(is_unsafe_to_print), "{line}");
        let back: String = serde_json::from_str(&line).expect("valid JSON");
        assert_eq!(back, hostile);
    }
}
