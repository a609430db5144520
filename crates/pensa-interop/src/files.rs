//! Reading the files of other tools: only plain ones, and never more than could be one.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use pensa_core::Timestamp;
use serde_json::{Map, Value};

/// Largest descriptor or state that is read. A state holds a copy of the context.
const LARGEST: u64 = 256 << 20;

pub(crate) enum Content {
    Object(Map<String, Value>),
    Missing,
    /// With why.
    Corrupt(String),
}

/// Opens a file, if it is there. A link could lead anywhere, a pipe would never end.
pub(crate) fn open(path: &Path) -> Result<Option<File>, String> {
    let name = path.file_name().unwrap_or_default().display();
    let failed = |error: io::Error| format!("can not read {name}: {error}");
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
        Ok(found) if found.is_symlink() => Err(format!("{name} is a symbolic link")),
        Ok(found) if !found.is_file() => Err(format!("{name} is not a file")),
        Ok(_) => File::open(path).map(Some).map_err(failed),
    }
}

/// A file that holds one object.
pub(crate) fn read(path: &Path) -> Result<Content, String> {
    let Some(file) = open(path)? else {
        return Ok(Content::Missing);
    };
    let mut bytes = Vec::new();
    let read = file.take(LARGEST + 1).read_to_end(&mut bytes);
    let name = path.file_name().unwrap_or_default().display();
    if read.map_err(|error| format!("can not read {name}: {error}"))? as u64 > LARGEST {
        return Ok(Content::Corrupt(format!("has more than {LARGEST} bytes")));
    }
    Ok(match object(without_mark(&bytes)) {
        Ok(Value::Object(object)) => Content::Object(object),
        Ok(_) => Content::Corrupt("is not an object".to_owned()),
        Err(error) => Content::Corrupt(format!("is not JSON ({error})")),
    })
}

/// Without the byte order mark that some editors put first.
pub(crate) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// JSON as JavaScript writes it: text that was cut in the middle of a character has half of it left, which is no text
/// anywhere else. The half becomes U+FFFD; everything else is as in the file.
pub(crate) fn object(bytes: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(bytes).or_else(|error| {
        let Some(mended) = without_halves(bytes) else {
            return Err(error);
        };
        serde_json::from_slice(&mended)
    })
}

/// The same length, with `\ufffd` for each `\ud8xx` to `\udfxx` that has no other half; nothing if all have.
fn without_halves(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut mended = None;
    let mut at = 0;
    while at < bytes.len() {
        at += match (bytes[at], surrogate(&bytes[at..])) {
            (b'\\', Some(high)) if high < 0xdc00 && surrogate(&bytes[at + 6..]).is_some_and(|low| low >= 0xdc00) => 12,
            (b'\\', Some(_)) => {
                mended.get_or_insert_with(|| bytes.to_vec())[at + 2..at + 6].copy_from_slice(b"fffd");
                6
            }
            (b'\\', None) => 2,
            _ => 1,
        };
    }
    mended
}

/// The half of a character whose escape `bytes` begins with.
fn surrogate(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
    let code = u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
    (0xd800..0xe000).contains(&code).then_some(code)
}

/// When a file was last written.
pub(crate) fn written_at(meta: &fs::Metadata) -> Option<Timestamp> {
    let since = meta.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Timestamp::from_millis(i64::try_from(since.as_millis()).ok()?).ok()
}

/// A time as the files have it, in milliseconds, or as text.
pub(crate) fn time(value: &Value) -> Option<Timestamp> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => {
            let fraction = || number.as_f64().filter(|millis| millis.abs() < 1e15).map(|millis| millis as i64);
            Timestamp::from_millis(number.as_i64().or_else(fraction)?).ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_character_is_replaced_and_a_whole_one_is_kept() {
        let table = [
            (r#""a\ud83d""#, "a\u{fffd}"),
            (r#""\ude00b""#, "\u{fffd}b"),
            (r#""\ud83d\ude00 \ud83d""#, "\u{1F600} \u{fffd}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1F600}"),
            (r#""\\ud83d \ud83d""#, "\\ud83d \u{fffd}"),
        ];
        for (given, expected) in table {
            assert_eq!(object(given.as_bytes()).expect(given), expected, "{given}");
        }
        for bad in [r#""\ud83d"#, r#""\ud8"#, "\\", r"\ud83d", "", "{"] {
            assert!(object(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
