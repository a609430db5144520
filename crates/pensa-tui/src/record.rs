//! Keeps what was drawn: the last screen as SVG, or the session as an asciicast (version 2).

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use pensa_core::{Error, Result};
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};
use serde_json::json;

/// Pixels of a character.
const CELL: (usize, usize) = (9, 18);

/// A file that is written while, or after, things are drawn. Clones write to the same file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recorder {
    to: Option<Arc<Mutex<ScreenRecording>>>,
}

#[derive(Debug)]
enum ScreenRecording {
    Svg { path: PathBuf, last: Option<Buffer> },
    Cast { file: File, start: Instant },
}

impl Recorder {
    pub(crate) fn new(path: Option<&Path>, size: (u16, u16)) -> Result<Self> {
        let Some(path) = path else { return Ok(Self::default()) };
        let recording = match path.extension().and_then(|extension| extension.to_str()) {
            Some("svg") => ScreenRecording::Svg { path: path.to_owned(), last: None },
            Some("cast") => {
                let failed = |e: io::Error| pensa_core::error::io("write", path, &e);
                let mut file = File::create(path).map_err(failed)?;
                let header =
                    json!({"version": 2, "width": size.0, "height": size.1, "env": {"TERM": "xterm-256color"}});
                writeln!(file, "{header}").map_err(failed)?;
                ScreenRecording::Cast { file, start: Instant::now() }
            }
            _ => {
                let error = Error::invalid(format!("{} is neither a picture nor a session", path.display()));
                return Err(error.hint("name it .svg for the last screen, or .cast for the session"));
            }
        };
        Ok(Self { to: Some(Arc::new(Mutex::new(recording))) })
    }

    /// Whether frames are wanted.
    pub(crate) fn wants_frames(&self) -> bool {
        self.with(|recording| matches!(recording, ScreenRecording::Svg { .. })).unwrap_or_default()
    }

    pub(crate) fn frame(&self, buffer: &Buffer) {
        self.with(|recording| {
            if let ScreenRecording::Svg { last, .. } = recording {
                *last = Some(buffer.clone());
            }
        });
    }

    /// What was sent to the terminal.
    fn output(&self, bytes: &[u8]) {
        self.with(|recording| {
            if let ScreenRecording::Cast { file, start } = recording {
                let line = json!([start.elapsed().as_secs_f64(), "o", String::from_utf8_lossy(bytes)]);
                // A full disk must not end the session that is recorded.
                drop(writeln!(file, "{line}"));
            }
        });
    }

    /// Writes what is written at the end. Called on every way out, also by a panic.
    pub(crate) fn finish(&self) {
        self.with(|recording| {
            if let ScreenRecording::Svg { path, last: Some(buffer) } = recording
                && let Err(e) = std::fs::write(&path, svg(buffer))
            {
                eprintln!("warning: cannot write {}: {e}", path.display());
            }
        });
    }

    fn with<T>(&self, act: impl FnOnce(&mut ScreenRecording) -> T) -> Option<T> {
        // A panic while it was locked leaves it as it was.
        self.to.as_ref().map(|to| act(&mut to.lock().unwrap_or_else(std::sync::PoisonError::into_inner)))
    }
}

/// Standard output, of which a recorder gets a copy. What is drawn at once arrives at once.
#[derive(Debug)]
pub(crate) struct RecordedOutput {
    recorder: Recorder,
    pending: Vec<u8>,
}

impl RecordedOutput {
    pub(crate) fn new(recorder: Recorder) -> Self {
        Self { recorder, pending: Vec::new() }
    }
}

impl Write for RecordedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let pending = std::mem::take(&mut self.pending);
        if !pending.is_empty() {
            self.recorder.output(&pending);
        }
        let mut stdout = io::stdout().lock();
        stdout.write_all(&pending)?;
        stdout.flush()
    }
}

fn svg(buffer: &Buffer) -> String {
    let area = buffer.area;
    let (width, height) = (usize::from(area.width) * CELL.0, usize::from(area.height) * CELL.1);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#1c1c1c\"/>\n\
         <g font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"15\" xml:space=\"preserve\">\n"
    );
    for y in 0..area.height {
        for x in 0..area.width {
            let Some(cell) = buffer.cell((area.x + x, area.y + y)) else { continue };
            let is_reversed = cell.modifier.contains(Modifier::REVERSED);
            let (mut fore, mut back) = (colour(cell.fg, "#d0d0d0"), colour(cell.bg, "#1c1c1c"));
            if is_reversed {
                std::mem::swap(&mut fore, &mut back);
            }
            let (left, top) = (usize::from(x) * CELL.0, usize::from(y) * CELL.1);
            if back != "#1c1c1c" {
                let _ = writeln!(
                    out,
                    "<rect x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\" fill=\"{back}\"/>",
                    CELL.0, CELL.1
                );
            }
            if cell.symbol().trim().is_empty() {
                continue;
            }
            let bold = if cell.modifier.contains(Modifier::BOLD) { " font-weight=\"bold\"" } else { "" };
            let line = if cell.modifier.contains(Modifier::UNDERLINED) { " text-decoration=\"underline\"" } else { "" };
            let text = cell.symbol().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let _ = writeln!(out, "<text x=\"{left}\" y=\"{}\" fill=\"{fore}\"{bold}{line}>{text}</text>", top + 14);
        }
    }
    out.push_str("</g>\n</svg>\n");
    out
}

fn colour(colour: Color, usual: &'static str) -> &'static str {
    match colour {
        Color::Black => "#1c1c1c",
        Color::Red => "#d75f5f",
        Color::Green => "#87af5f",
        Color::Yellow => "#d7af5f",
        Color::Blue => "#5f87d7",
        Color::Magenta => "#af87d7",
        Color::Cyan => "#5fafaf",
        Color::Gray => "#a8a8a8",
        Color::DarkGray => "#808080",
        Color::LightRed => "#ff8787",
        Color::LightGreen => "#afd787",
        Color::LightYellow => "#ffd787",
        Color::LightBlue => "#87afff",
        Color::LightMagenta => "#d7afff",
        Color::LightCyan => "#87d7d7",
        Color::White => "#f0f0f0",
        _ => usual,
    }
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    #[test]
    fn a_picture_shows_text_literally() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 4, 1));
        buffer.set_string(0, 0, "<a&", Style::new().add_modifier(Modifier::REVERSED));
        let picture = svg(&buffer);
        assert!(picture.contains(">&lt;</text>") && picture.contains(">&amp;</text>"), "{picture}");
        assert!(picture.contains("fill=\"#d0d0d0\""), "the background of reversed text");
    }

    #[test]
    fn a_session_is_written_as_an_asciicast() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a.cast");
        let recorder = Recorder::new(Some(&path), (80, 24)).expect("created");
        recorder.output("é\u{1b}[1m".as_bytes());
        let text = std::fs::read_to_string(&path).expect("written");
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!((&lines[0]["version"], &lines[0]["width"]), (&json!(2), &json!(80)));
        assert_eq!((&lines[1][1], &lines[1][2]), (&json!("o"), &json!("é\u{1b}[1m")));
        assert!(Recorder::new(Some(Path::new("a.txt")), (1, 1)).is_err());
    }
}
