//! Redacts output while it is written, including secrets that arrive in pieces.

use crate::Redactor;

/// Limit on the part of an unfinished line that is held back.
const MAX_LINE: usize = 16 << 10;
/// How much of a longer line stays held back: more than any secret without blanks.
const MIN_HELD: usize = 4 << 10;

/// Redacts a stream of bytes. An unfinished line is held back until it ends or `finish` is called.
#[derive(Debug, Default)]
pub struct RedactingStream {
    redactor: Redactor,
    held: Vec<u8>,
}

impl RedactingStream {
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor, held: Vec::new() }
    }

    /// Adds bytes. Returns the redacted bytes that can be written now.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let mut out = Vec::with_capacity(bytes.len());
        if let Some(end) = self.held.iter().rposition(|byte| *byte == b'\n') {
            let lines: Vec<u8> = self.held.drain(..=end).collect();
            self.redactor.bytes(&lines, lines.len(), &mut out);
        }
        while self.held.len() > MAX_LINE {
            let written = self.redactor.bytes(&self.held, self.held.len() - MIN_HELD, &mut out);
            self.held.drain(..written.max(1));
        }
        out
    }

    /// Whether nothing is held back.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Returns the rest when the stream has ended.
    pub fn finish(&mut self) -> Vec<u8> {
        let (held, mut out) = (std::mem::take(&mut self.held), Vec::new());
        self.redactor.bytes(&held, held.len(), &mut out);
        out
    }
}
