//! Prints answers to standard output, and errors and notes to standard error, in the requested format.

use std::io::{self, IsTerminal, Write};

use pensa_core::{Error, Result, json, text};
use serde::Serialize;

use crate::render::{Render, Screen, terminal};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputFormat {
    Human,
    Json,
    Ids,
}

/// The output format of this run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    format: OutputFormat,
}

impl Output {
    pub(crate) fn new(json: bool, ids: bool) -> Self {
        let format = match (json, ids) {
            (true, _) => OutputFormat::Json,
            (false, true) => OutputFormat::Ids,
            (false, false) => OutputFormat::Human,
        };
        Self { format }
    }

    pub(crate) fn is_human(self) -> bool {
        self.format == OutputFormat::Human
    }

    pub(crate) fn is_json(self) -> bool {
        self.format == OutputFormat::Json
    }

    /// Prints the answer of an operation.
    pub(crate) fn answer<T: Serialize + Render>(self, answer: &T) -> Result<()> {
        match self.format {
            OutputFormat::Json => self.line(&json::to_line(answer)?),
            OutputFormat::Ids => {
                let mut text = answer.ids().join("\n");
                if !text.is_empty() {
                    text.push('\n');
                }
                write(&mut io::stdout().lock(), text::printable_block(&text).as_bytes())
            }
            OutputFormat::Human => {
                let mut screen = Screen::new(colours(&io::stdout()));
                answer.render(&mut screen);
                show(screen.as_bytes())
            }
        }
    }

    /// Prints text for people, through the pager if it is long. The text must be safe for a terminal.
    pub(crate) fn text(self, text: &str) -> Result<()> {
        show(text.as_bytes())
    }

    /// Prints one line as it is.
    pub(crate) fn line(self, line: &str) -> Result<()> {
        write(&mut io::stdout().lock(), format!("{line}\n").as_bytes())
    }

    /// Prints data as it is.
    pub(crate) fn raw(self, data: &[u8]) -> Result<()> {
        write(&mut io::stdout().lock(), data)
    }

    /// Prints data as it is. Returns false if the reader has closed the pipe.
    pub(crate) fn try_raw(self, data: &[u8]) -> Result<bool> {
        try_write(&mut io::stdout().lock(), data)
    }

    /// Whether output for people may have colours.
    pub(crate) fn has_colours(self) -> bool {
        colours(&io::stdout())
    }

    /// Whether standard output is a terminal that can redraw lines.
    pub(crate) fn can_draw(self) -> bool {
        io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    /// Prints a note for people; `--json` and `-q` print nothing.
    pub(crate) fn note(self, note: &str) {
        if self.format == OutputFormat::Human {
            let _ = writeln!(io::stderr(), "{}", text::printable_block(note));
        }
    }

    /// Prints a warning in every format; with `--json` as a separate line of JSON.
    pub(crate) fn warning(self, warning: &str) {
        let line = match self.format {
            OutputFormat::Json => json::to_line(&serde_json::json!({"warning": warning})).unwrap_or_default(),
            OutputFormat::Human | OutputFormat::Ids => format!("warning: {}", text::printable_block(warning)),
        };
        let _ = writeln!(io::stderr(), "{line}");
    }

    pub(crate) fn error(self, error: &Error) {
        let shown = match self.format {
            OutputFormat::Json => json::to_line(error).unwrap_or_else(|_| error.message.clone()),
            OutputFormat::Human | OutputFormat::Ids => {
                let mut shown = format!("error: {}", text::printable_block(&error.message));
                if let Some(hint) = &error.hint {
                    shown.push_str(&format!("\nhint: {}", text::printable_block(hint)));
                }
                shown
            }
        };
        let _ = writeln!(io::stderr(), "{shown}");
    }
}

/// Prints text, through the pager if the terminal is too small for it.
fn show(text: &[u8]) -> Result<()> {
    if terminal().is_some_and(|terminal| terminal.page(text)) {
        return Ok(());
    }
    write(&mut io::stdout().lock(), text)
}

/// Like [`try_write`]; a closed pipe is not an error.
fn write(to: &mut impl Write, bytes: &[u8]) -> Result<()> {
    try_write(to, bytes).map(drop)
}

/// Returns false if the reader has closed the pipe.
fn try_write(to: &mut impl Write, bytes: &[u8]) -> Result<bool> {
    match to.write_all(bytes).and_then(|()| to.flush()) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(Error::internal(format!("cannot write the answer: {e}"))),
    }
}

fn colours(to: &impl IsTerminal) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    to.is_terminal() && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
