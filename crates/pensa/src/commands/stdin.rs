//! `-` in place of a text: read it from standard input.

use std::io::Read;

use pensa_core::{Code, Error, Result, text};

/// Replaces a text that is `-`.
pub(super) fn replace(text: &mut String) -> Result<()> {
    if text == "-" {
        *text = read()?;
    }
    Ok(())
}

/// Replaces a text that is `-`, if there is one.
pub(super) fn fill(text: &mut Option<String>) -> Result<()> {
    text.as_mut().map_or(Ok(()), replace)
}

fn read() -> Result<String> {
    read_within(text::TEXT_BYTES)
}

/// All of standard input, if it is not larger than allowed.
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
