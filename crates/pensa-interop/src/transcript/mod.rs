//! Reads the transcripts that agent software writes, part by part.
//!
//! [`find`] lists them, [`Transcript::open`] reads one from where it was left. A part has a limited size, so that a long
//! transcript needs little memory. Entries have the shapes that `pensa_core::session` understands; thinking is left out.
//! The caller redacts the content.

mod claude_code;
mod codex;
mod copilot;
mod gemini;
mod lines;
mod opencode;
mod part;
mod source;

use std::fmt;
use std::path::PathBuf;

use pensa_core::{Error, Result, Timestamp};
use serde_json::{Map, Value};

pub use part::{MalformedLine, ThreadPart, ThreadSession, TranscriptEntry, TranscriptPart};
pub use source::find;

/// The software whose transcripts are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TranscriptTool {
    ClaudeCode,
    Codex,
    Gemini,
    Opencode,
    Copilot,
}

impl TranscriptTool {
    pub const ALL: [Self; 5] = [Self::ClaudeCode, Self::Codex, Self::Gemini, Self::Opencode, Self::Copilot];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Copilot => "copilot",
        }
    }
}

impl fmt::Display for TranscriptTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A transcript that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    pub tool: TranscriptTool,
    /// The file or database.
    pub path: PathBuf,
    /// What the software calls the conversation: unique among its transcripts, and the same after the file has moved.
    pub id: String,
    /// What a file beside it says: what the conversation is called, and where it takes place.
    pub title: Option<String>,
    pub cwd: Option<String>,
    /// Further facts of files beside it.
    pub facts: Map<String, Value>,
    /// Size and time of the last change, to tell whether there is anything new.
    pub size: u64,
    pub changed_at: Option<Timestamp>,
}

impl Transcript {
    /// The name of the transcript among those of all tools.
    pub fn key(&self) -> String {
        format!("{}:{}", self.tool, self.id)
    }

    /// Reads on from a position.
    pub fn open(&self, from: TranscriptCursor) -> Result<TranscriptReader> {
        let source: Box<dyn PartSource> = match self.tool {
            TranscriptTool::Opencode => Box::new(opencode::OpencodeConversation::open(self, from)?),
            TranscriptTool::Gemini if self.path.extension().is_some_and(|end| end == "json") => {
                Box::new(gemini::GeminiFile::open(self, from)?)
            }
            TranscriptTool::ClaudeCode => Box::new(lines::open(self, from, claude_code::ClaudeCodeParser::new)?),
            TranscriptTool::Codex => Box::new(lines::open(self, from, codex::CodexParser::new)?),
            TranscriptTool::Gemini => Box::new(lines::open(self, from, gemini::GeminiParser::new)?),
            TranscriptTool::Copilot => Box::new(lines::open(self, from, copilot::CopilotParser::new)?),
        };
        Ok(TranscriptReader { source, is_over: false })
    }
}

/// How far a transcript was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TranscriptCursor {
    /// In bytes of the text, uncompressed; 0 for databases.
    pub bytes: u64,
    /// In lines or messages.
    pub lines: u64,
    /// A hash of what comes before.
    pub tail: String,
    /// What the parser needs to go on.
    pub state: Map<String, Value>,
}

/// The size of a part in bytes of its source, unless one line is larger.
pub const PART_BYTES: u64 = 1 << 20;

/// Reads a transcript part by part.
pub struct TranscriptReader {
    source: Box<dyn PartSource>,
    is_over: bool,
}

impl fmt::Debug for TranscriptReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TranscriptReader").field("is_over", &self.is_over).finish_non_exhaustive()
    }
}

impl Iterator for TranscriptReader {
    type Item = Result<TranscriptPart>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let part = self.source.next_part();
        self.is_over = part.as_ref().map_or(true, |part| part.is_end);
        Some(part)
    }
}

/// Where the parts of a transcript come from.
trait PartSource {
    fn next_part(&mut self) -> Result<TranscriptPart>;
}

/// The error for a transcript whose beginning is not what was read before.
fn rewritten(transcript: &Transcript) -> Error {
    let message = format!("{} was written anew: what was read before is not in it", transcript.path.display());
    Error::invalid(message).hint("what was imported stays; the rest of the file is left out")
}
