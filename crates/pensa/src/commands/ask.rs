//! A question to whoever sits at the terminal. Secrets are asked for where they are needed.

use std::io::{self, BufRead, IsTerminal, Read, Write};

/// More than any answer has.
const MAX_ANSWER: u64 = 1024;

/// Whether there is somebody to ask.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks once. No answer but the end of the line is a yes; the end of the input, or anything else, is a no.
pub(super) fn yes(question: &str) -> bool {
    let _ = write!(io::stderr(), "{question} [Y/n] ");
    let mut line = String::new();
    let read = io::stdin().lock().take(MAX_ANSWER).read_line(&mut line);
    let answered = read.is_ok_and(|count| count > 0);
    answered && ["", "y", "yes"].contains(&line.trim().to_lowercase().as_str())
}
