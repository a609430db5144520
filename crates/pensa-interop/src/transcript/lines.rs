//! Reads transcripts that have one JSON object a line, plain or compressed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use pensa_core::similar::hash64;
use pensa_core::{Code, Error, Result};
use serde_json::{Map, Value};

use super::part::{MalformedLine, PartBuilder};
use super::{PART_BYTES, PartSource, Transcript, TranscriptCursor, TranscriptPart, rewritten};
use crate::files;

/// Longer lines are skipped.
const MAX_LINE: u64 = 32 << 20;
/// How much of the end of what was read is compared.
const TAIL_BYTES: usize = 256;

/// Turns the lines of a transcript into entries.
pub(super) trait LineParser {
    /// Takes one line.
    fn line(&mut self, record: Map<String, Value>, part: &mut PartBuilder);

    /// Takes what earlier lines have left open.
    fn flush(&mut self, _part: &mut PartBuilder) {}

    /// What a later parser needs to go on.
    fn state(&self) -> Map<String, Value>;
}

/// A transcript that is being read.
pub(super) struct LineSource<P> {
    reader: BufReader<Box<dyn Read>>,
    parser: P,
    bytes: u64,
    lines: u64,
    /// The end of what was read.
    tail: Vec<u8>,
    /// What the file beside the transcript says, for the first part.
    about: Option<Transcript>,
}

/// Opens a transcript at a position.
pub(super) fn open<P: LineParser>(
    transcript: &Transcript,
    from: TranscriptCursor,
    parser: impl FnOnce(&Transcript, Map<String, Value>) -> P,
) -> Result<LineSource<P>> {
    let (tail, reader) = at_position(transcript, &from)?;
    if from.bytes > 0 && hash(&tail) != from.tail {
        return Err(rewritten(transcript));
    }
    Ok(LineSource {
        reader: BufReader::with_capacity(1 << 16, reader),
        parser: parser(transcript, from.state),
        bytes: from.bytes,
        lines: from.lines,
        tail,
        about: Some(transcript.clone()),
    })
}

/// The bytes before a position, and what follows it.
fn at_position(transcript: &Transcript, from: &TranscriptCursor) -> Result<(Vec<u8>, Box<dyn Read>)> {
    let path = &transcript.path;
    let mut file =
        files::open(path).map_err(Error::invalid)?.ok_or_else(|| Error::not_found("transcript", path.display()))?;
    let failed = |e: io::Error| unreadable(transcript, &e);
    let before = from.bytes.min(TAIL_BYTES as u64);
    let mut tail = Vec::new();
    if path.extension().is_some_and(|end| end == "zst") {
        let mut reader = decompressed(file).map_err(|e| Error::invalid(format!("{}: {e}", path.display())))?;
        io::copy(&mut reader.by_ref().take(from.bytes - before), &mut io::sink()).map_err(failed)?;
        reader.by_ref().take(before).read_to_end(&mut tail).map_err(failed)?;
        return Ok((tail, reader));
    }
    file.seek(SeekFrom::Start(from.bytes - before)).map_err(failed)?;
    (&mut file).take(before).read_to_end(&mut tail).map_err(failed)?;
    Ok((tail, Box::new(file)))
}

fn decompressed(file: File) -> std::result::Result<Box<dyn Read>, String> {
    let decoder = ruzstd::decoding::StreamingDecoder::new(BufReader::new(file));
    Ok(Box::new(decoder.map_err(|e| format!("cannot be decompressed: {e}"))?))
}

fn unreadable(transcript: &Transcript, error: &io::Error) -> Error {
    Error::new(Code::Internal, format!("cannot read {}: {error}", transcript.path.display()))
}

fn hash(tail: &[u8]) -> String {
    format!("{:016x}", hash64(tail))
}

impl<P> LineSource<P> {
    /// Counts a line as read.
    fn advance(&mut self, line: &[u8], length: u64) {
        self.bytes += length;
        self.lines += 1;
        self.tail.extend_from_slice(&line[line.len().saturating_sub(TAIL_BYTES)..]);
        self.tail.drain(..self.tail.len().saturating_sub(TAIL_BYTES));
    }

    /// Skips the rest of a line that is too long. `line` keeps its end.
    fn skip_line(&mut self, line: &mut Vec<u8>) -> io::Result<u64> {
        let mut length = line.len() as u64;
        while !line.ends_with(b"\n") {
            let mut more = Vec::new();
            let read = (&mut self.reader).take(PART_BYTES).read_until(b'\n', &mut more)?;
            if read == 0 {
                break;
            }
            length += read as u64;
            line.drain(..line.len().saturating_sub(TAIL_BYTES));
            line.extend(more);
        }
        Ok(length)
    }
}

impl<P: LineParser> PartSource for LineSource<P> {
    fn next_part(&mut self) -> Result<TranscriptPart> {
        let (mut part, mut malformed, mut line) = (PartBuilder::default(), Vec::new(), Vec::new());
        let end = self.bytes + PART_BYTES;
        let mut is_end = false;
        while self.bytes < end {
            line.clear();
            let read = (&mut self.reader).take(MAX_LINE).read_until(b'\n', &mut line);
            let read = read.map_err(|e| Error::new(Code::Internal, format!("cannot read a transcript: {e}")))? as u64;
            let number = self.lines + 1;
            let mut bad = |reason: String| malformed.push(MalformedLine { line: number, reason });
            let is_whole = line.ends_with(b"\n");
            if read == 0 {
                is_end = true;
                break;
            }
            if read == MAX_LINE && !is_whole {
                bad(format!("has more than {MAX_LINE} bytes"));
                let length = self.skip_line(&mut line).map_err(Error::internal)?;
                self.advance(&line, length);
                continue;
            }
            // The end of a line that was read without it.
            if line == b"\n" && self.tail.last().is_some_and(|last| *last != b'\n') {
                self.advance(&line, read);
                self.lines -= 1;
                continue;
            }
            let text = if number == 1 { files::without_bom(&line) } else { &line };
            match files::object(text) {
                Ok(Value::Object(record)) => self.parser.line(record, &mut part),
                // The line is being written, or its writer was killed.
                Err(_) if !is_whole => {
                    if !text.trim_ascii().is_empty() {
                        bad("ends in the middle".to_owned());
                    }
                    is_end = true;
                    break;
                }
                _ if text.trim_ascii().is_empty() => {}
                Ok(_) => bad("is not an object".to_owned()),
                Err(error) => bad(format!("is not JSON: {error}")),
            }
            self.advance(&line, read);
        }
        self.parser.flush(&mut part);
        if part.first().is_some()
            && let Some(about) = self.about.take()
        {
            about.describe(&mut part);
        }
        let (bytes, lines, tail) = (self.bytes, self.lines, hash(&self.tail));
        Ok(part.finish(TranscriptCursor { bytes, lines, tail, state: self.parser.state() }, malformed, is_end))
    }
}

impl Transcript {
    /// Adds what files beside it say to the first thread.
    pub(super) fn describe(&self, part: &mut PartBuilder) {
        let Some(thread) = part.first() else { return };
        if let Some(title) = &self.title {
            thread.name(title);
        }
        if let Some(cwd) = &self.cwd {
            thread.facts.entry("cwd").or_insert_with(|| cwd.clone().into());
        }
        for (name, value) in &self.facts {
            thread.facts.entry(name).or_insert_with(|| value.clone());
        }
    }
}
