//! Reads files of other tools: regular files only, up to a size limit.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use pensa_core::Timestamp;
use serde_json::{Map, Value};

/// Size limit of a descriptor or state. A state contains a copy of the context.
const MAX_BYTES: u64 = 256 << 20;

pub(crate) enum JsonFile {
    Object(Map<String, Value>),
    Missing,
    /// With the reason.
    Corrupt(String),
}

/// Opens a regular file; `None` if it does not exist. Refuses links, which could lead anywhere, and pipes, which could
/// block.
pub(crate) fn open(path: &Path) -> Result<Option<File>, String> {
    let name = path.file_name().unwrap_or_default().display();
    let failed = |error: io::Error| format!("can not read {name}: {error}");
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
        Ok(meta) if meta.is_symlink() => Err(format!("{name} is a symbolic link")),
        Ok(meta) if !meta.is_file() => Err(format!("{name} is not a file")),
        Ok(_) => File::open(path).map(Some).map_err(failed),
    }
}

/// Reads a file that contains one JSON object.
pub(crate) fn read(path: &Path) -> Result<JsonFile, String> {
    let Some(file) = open(path)? else {
        return Ok(JsonFile::Missing);
    };
    let mut bytes = Vec::new();
    let read = file.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    let name = path.file_name().unwrap_or_default().display();
    if read.map_err(|error| format!("can not read {name}: {error}"))? as u64 > MAX_BYTES {
        return Ok(JsonFile::Corrupt(format!("has more than {MAX_BYTES} bytes")));
    }
    Ok(match object(without_bom(&bytes)) {
        Ok(Value::Object(object)) => JsonFile::Object(object),
        Ok(_) => JsonFile::Corrupt("is not an object".to_owned()),
        Err(error) => JsonFile::Corrupt(format!("is not JSON ({error})")),
    })
}

/// Removes the byte order mark that some editors write.
pub(crate) fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Parses JSON as JavaScript writes it. Text cut inside a character contains a lone surrogate, which other parsers
/// refuse; it becomes U+FFFD.
pub(crate) fn object(bytes: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(bytes).or_else(|error| {
        let Some(fixed) = replace_lone_surrogates(bytes) else {
            return Err(error);
        };
        serde_json::from_slice(&fixed)
    })
}

/// Replaces escapes of lone surrogates by `\ufffd`; `None` if there are none.
fn replace_lone_surrogates(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut fixed = None;
    let mut at = 0;
    while at < bytes.len() {
        at += match (bytes[at], surrogate(&bytes[at..])) {
            (b'\\', Some(high)) if high < 0xdc00 && surrogate(&bytes[at + 6..]).is_some_and(|low| low >= 0xdc00) => 12,
            (b'\\', Some(_)) => {
                fixed.get_or_insert_with(|| bytes.to_vec())[at + 2..at + 6].copy_from_slice(b"fffd");
                6
            }
            (b'\\', None) => 2,
            _ => 1,
        };
    }
    fixed
}

/// The surrogate whose escape `bytes` starts with.
fn surrogate(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
    let code = u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
    (0xd800..0xe000).contains(&code).then_some(code)
}

/// The modification time of a file.
pub(crate) fn written_at(meta: &fs::Metadata) -> Option<Timestamp> {
    let since = meta.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Timestamp::from_millis(i64::try_from(since.as_millis()).ok()?).ok()
}

/// Parses a time in milliseconds or as text.
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
    fn lone_surrogates_are_replaced_and_pairs_are_kept() {
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
