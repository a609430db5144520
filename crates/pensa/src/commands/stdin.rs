//! Reads a text from standard input where an argument is `-`.

use std::io::Read;

use pensa_core::{Code, Error, Result, text};

/// Replaces `-` with standard input.
pub(super) fn replace(text: &mut String) -> Result<()> {
    if text == "-" {
        *text = read()?;
    }
    Ok(())
}

/// Like [`replace`], for an optional text.
pub(super) fn fill(text: &mut Option<String>) -> Result<()> {
    text.as_mut().map_or(Ok(()), replace)
}

fn read() -> Result<String> {
    read_within(text::TEXT_BYTES)
}

/// Reads standard input, without the last line break; fails if it is larger than `most` bytes.
pub(super) fn read_within(most: usize) -> Result<String> {
    let mut bytes = Vec::new();
    let limit = most as u64 + 2;
    std::io::stdin()
        .lock()
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(|e| Error::internal(format!("cannot read standard input: {e}")))?;
    if bytes.len() as u64 == limit {
        return Err(Error::new(Code::TooLarge, format!("standard input has more than {most} bytes, the limit")));
    }
    let mut text = String::from_utf8(bytes).map_err(|_| Error::invalid("standard input is not UTF-8"))?;
    let line_end = if text.ends_with("\r\n") { 2 } else { usize::from(text.ends_with('\n')) };
    text.truncate(text.len() - line_end);
    Ok(text)
}
