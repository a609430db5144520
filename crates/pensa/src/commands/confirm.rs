//! Asks a yes/no question on the terminal.

use std::io::{self, BufRead, IsTerminal, Read, Write};

/// Longer than any answer.
const MAX_ANSWER_BYTES: u64 = 1024;

/// Whether standard input and error are terminals.
pub(super) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for a line; an empty one at the end of input.
pub(super) fn ask_line(question: &str) -> String {
    let _ = write!(io::stderr(), "{question} ");
    let mut line = String::new();
    let _ = io::stdin().lock().take(MAX_ANSWER_BYTES).read_line(&mut line);
    line.trim().to_owned()
}

/// Asks once. An empty line, `y` and `yes` mean yes; end of input and anything else mean no.
pub(super) fn ask_yes(question: &str) -> bool {
    let _ = write!(io::stderr(), "{question} [Y/n] ");
    let mut line = String::new();
    let read = io::stdin().lock().take(MAX_ANSWER_BYTES).read_line(&mut line);
    let answered = read.is_ok_and(|count| count > 0);
    answered && ["", "y", "yes"].contains(&line.trim().to_lowercase().as_str())
}
