//! Where answers and errors go: data to standard output, the rest to standard error, in the form asked for.

use std::io::{self, IsTerminal, Write};

use pensa_core::{Error, Result, json, text};
use serde::Serialize;

use crate::render::{Render, Screen};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Human,
    Json,
    Ids,
}

/// How this run of the program speaks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    form: Form,
}

impl Output {
    pub(crate) fn new(json: bool, ids: bool) -> Self {
        let form = match (json, ids) {
            (true, _) => Form::Json,
            (false, true) => Form::Ids,
            (false, false) => Form::Human,
        };
        Self { form }
    }

    pub(crate) fn is_for_people(self) -> bool {
        self.form == Form::Human
    }

    pub(crate) fn is_json(self) -> bool {
        self.form == Form::Json
    }

    /// Shows an answer.
    pub(crate) fn answer<T: Serialize + Render>(self, answer: &T) -> Result<()> {
        match self.form {
            Form::Json => self.line(&json::to_line(answer)?),
            Form::Ids => {
                let mut text = answer.ids().join("\n");
                if !text.is_empty() {
                    text.push('\n');
                }
                write(&mut io::stdout().lock(), text::printable_block(&text).as_bytes())
            }
            Form::Human => {
                let mut screen = Screen::new(colours(&io::stdout()));
                answer.render(&mut screen);
                write(&mut io::stdout().lock(), screen.as_bytes())
            }
        }
    }

    /// One line of data that is ready to print.
    pub(crate) fn line(self, line: &str) -> Result<()> {
        write(&mut io::stdout().lock(), format!("{line}\n").as_bytes())
    }

    /// Data that is ready to print, as it is.
    pub(crate) fn raw(self, data: &[u8]) -> Result<()> {
        write(&mut io::stdout().lock(), data)
    }

    /// Data that is ready to print, as it is; false if nobody reads any more.
    pub(crate) fn try_raw(self, data: &[u8]) -> Result<bool> {
        try_write(&mut io::stdout().lock(), data)
    }

    /// Whether what is printed for a person may be coloured.
    pub(crate) fn has_colours(self) -> bool {
        colours(&io::stdout())
    }

    /// Whether standard output is a terminal on which lines can be drawn again.
    pub(crate) fn can_draw(self) -> bool {
        io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    /// A remark for a person; machines and scripts are not told.
    pub(crate) fn note(self, note: &str) {
        if self.form == Form::Human {
            let _ = writeln!(io::stderr(), "{}", text::printable_block(note));
        }
    }

    /// Something that everybody should know, also a machine: there it is a line of JSON of its own.
    pub(crate) fn warning(self, warning: &str) {
        let told = match self.form {
            Form::Json => json::to_line(&serde_json::json!({"warning": warning})).unwrap_or_default(),
            Form::Human | Form::Ids => format!("warning: {}", text::printable_block(warning)),
        };
        let _ = writeln!(io::stderr(), "{told}");
    }

    pub(crate) fn error(self, error: &Error) {
        let told = match self.form {
            Form::Json => json::to_line(error).unwrap_or_else(|_| error.message.clone()),
            Form::Human | Form::Ids => {
                let mut told = format!("error: {}", text::printable_block(&error.message));
                if let Some(hint) = &error.hint {
                    told.push_str(&format!("\nhint: {}", text::printable_block(hint)));
                }
                told
            }
        };
        let _ = writeln!(io::stderr(), "{told}");
    }
}

/// A reader that has seen enough is no error.
fn write(to: &mut impl Write, bytes: &[u8]) -> Result<()> {
    try_write(to, bytes).map(drop)
}

/// False if there is nobody to read it.
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
