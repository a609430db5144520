//! Writes JSON as one line or as an indented document, safe to print on a terminal.
//!
//! serde_json writes C1 control and bidirectional characters unescaped. Here they become `\u` escapes.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter};

use crate::error::{Error, Result};
use crate::text::is_unsafe_to_print;

#[derive(Debug, Default, Clone, Copy)]
struct SafeFormatter;

impl Formatter for SafeFormatter {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, to: &mut W, fragment: &str) -> io::Result<()> {
        write_escaped(to, fragment)
    }
}

fn write_escaped<W: ?Sized + io::Write>(to: &mut W, fragment: &str) -> io::Result<()> {
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

/// The same with one value per line and two spaces of indentation.
struct IndentedFormatter(PrettyFormatter<'static>);

macro_rules! delegate {
    ($($name:ident($($arg:ident: $type:ty),*))*) => {$(
        fn $name<W: ?Sized + io::Write>(&mut self, to: &mut W $(, $arg: $type)*) -> io::Result<()> {
            self.0.$name(to $(, $arg)*)
        }
    )*};
}

impl Formatter for IndentedFormatter {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, to: &mut W, fragment: &str) -> io::Result<()> {
        write_escaped(to, fragment)
    }

    delegate! {
        begin_array() end_array() begin_array_value(first: bool) end_array_value()
        begin_object() end_object() begin_object_key(first: bool) begin_object_value() end_object_value()
    }
}

/// Formats `value` as a document: indented by two spaces, fields in order of declaration, LF after every line. All JSON
/// files other than JSONL use this format.
pub fn to_document<T: Serialize + ?Sized>(value: &T) -> Result<String> {
    let mut bytes = Vec::with_capacity(256);
    let formatter = IndentedFormatter(PrettyFormatter::with_indent(b"  "));
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, formatter)).map_err(Error::internal)?;
    bytes.push(b'\n');
    String::from_utf8(bytes).map_err(Error::internal)
}

/// Appends `value` to `to` as one line of JSON, without the line end.
pub fn write_line<T: Serialize + ?Sized>(to: &mut Vec<u8>, value: &T) -> Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(to, SafeFormatter)).map_err(Error::internal)
}

/// Writes a JSON list one item at a time, so that it need not be in memory as a whole.
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

    /// Adds an item that `write` appends to the buffer.
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

/// Whether a JSON text is on one line and safe on a terminal, as [`to_line`] writes it.
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
    fn is_line_accepts_own_output_and_refuses_unescaped_text() {
        for text in ["plain", "é 語 😀", "\u{9b}31m", "\u{202E}", "\u{7f}", "\n\t\0"] {
            assert!(is_line(&to_line(text).expect("serialises")), "{text:?}");
        }
        for raw in ["{\n}", "{\t}", "\"\u{202E}\"", "\"\u{7f}\"", "\"é\u{9b}\""] {
            assert!(!is_line(raw), "{raw:?}");
        }
    }

    #[test]
    fn document_has_the_documented_format() {
        let value = serde_json::json!({"z": [], "a": {}, "n": null, "list": [1, {"k": "\u{202E}\r\n"}]});
        let text = to_document(&value).expect("a document");
        let lines = ["{", "  \"z\": [],", "  \"a\": {},", "  \"n\": null,", "  \"list\": [", "    1,", "    {"];
        let rest = ["      \"k\": \"\\u202e\\r\\n\"", "    }", "  ]", "}", ""];
        assert_eq!(text, [&lines[..], &rest].concat().join("\n"));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), value);
    }

    #[test]
    fn unsafe_characters_are_escaped_and_round_trip() {
        let hostile = "é\u{9b}31m \u{202E} \u{7f} \u{E0041} \u{1b}[0m \" \\ \n ok";
        let line = to_line(hostile).expect("serialises");
        assert!(!line.chars().any(is_unsafe_to_print), "{line}");
        let back: String = serde_json::from_str(&line).expect("valid JSON");
        assert_eq!(back, hostile);
    }
}
