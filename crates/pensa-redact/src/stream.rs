//! Redaction of output while it is written: a secret that arrives in pieces is put together before it is looked at.
//!
//! Where the output comes from and where it goes is left to the caller.

use crate::Redactor;

/// Most of a line that is held back until it ends.
const LONGEST_LINE: usize = 16 << 10;
/// What stays held back of a line that does not end: longer than any secret without blanks.
const HELD: usize = 4 << 10;

/// Takes the secrets out of a stream of bytes. The last line is held back until it ends, or until `finish`.
#[derive(Debug, Default)]
pub struct Stream {
    redactor: Redactor,
    held: Vec<u8>,
}

impl Stream {
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor, held: Vec::new() }
    }

    /// What can be written after these bytes have arrived.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let mut out = Vec::with_capacity(bytes.len());
        if let Some(end) = self.held.iter().rposition(|byte| *byte == b'\n') {
            let lines: Vec<u8> = self.held.drain(..=end).collect();
            self.redactor.bytes(&lines, lines.len(), &mut out);
        }
        while self.held.len() > LONGEST_LINE {
            let taken = self.redactor.bytes(&self.held, self.held.len() - HELD, &mut out);
            self.held.drain(..taken.max(1));
        }
        out
    }

    /// Whether something is held back.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// What is left when nothing more arrives.
    pub fn finish(&mut self) -> Vec<u8> {
        let (held, mut out) = (std::mem::take(&mut self.held), Vec::new());
        self.redactor.bytes(&held, held.len(), &mut out);
        out
    }
}
