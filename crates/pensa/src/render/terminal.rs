//! Formats output for a terminal: relative times, lines cut to the width, a pager. Pipes get exact, complete text.

use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use pensa_core::Timestamp;

#[derive(Debug)]
pub(crate) struct StdoutTerminal {
    /// The width in characters.
    width: usize,
    height: usize,
    absolute_times: bool,
    /// The command that shows text longer than the terminal.
    pager: Option<String>,
}

static TERMINAL: OnceLock<Option<StdoutTerminal>> = OnceLock::new();

/// Detects whether standard output is a terminal. Call it once, before any output.
pub(crate) fn detect(absolute_times: bool, pager: impl FnOnce() -> Option<String>) {
    let _ = TERMINAL.set(io::stdout().is_terminal().then(|| {
        let (width, height) = terminal_size::terminal_size_of(io::stdout()).map_or((80, 24), |(w, h)| (w.0, h.0));
        StdoutTerminal {
            width: usize::from(width).max(20),
            height: usize::from(height),
            absolute_times,
            pager: pager(),
        }
    }));
}

/// The terminal of standard output; `None` for a pipe or file.
pub(crate) fn terminal() -> Option<&'static StdoutTerminal> {
    TERMINAL.get()?.as_ref()
}

impl StdoutTerminal {
    /// Shows a text in the pager if it is longer than the terminal. Returns false if the caller must print it.
    pub(crate) fn page(&self, text: &[u8]) -> bool {
        let is_long = text.iter().filter(|byte| **byte == b'\n').count() >= self.height;
        let Some(pager) = self.pager.as_ref().filter(|_| is_long) else { return false };
        let mut command = Command::new("sh");
        command.args(["-c", pager]).stdin(Stdio::piped());
        // Let less keep colours and exit at once for short text, unless the user has set LESS.
        if std::env::var_os("LESS").is_none() {
            command.env("LESS", "FRX");
        }
        let Ok(mut child) = command.spawn() else { return false };
        if let Some(mut input) = child.stdin.take() {
            // Fails if the user quits the pager early.
            let _ = input.write_all(text);
        }
        // Exit codes of the shell for a missing program.
        child.wait().is_ok_and(|status| !matches!(status.code(), Some(126 | 127)))
    }
}

/// A time for a person: `3 h ago` on a terminal, exact elsewhere and with `--absolute`.
pub(crate) fn when(at: Timestamp) -> String {
    match terminal() {
        Some(StdoutTerminal { absolute_times: false, .. }) => relative(at.as_millis() - now()),
        _ => at.to_string(),
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The time left of a claim on a terminal; the exact end elsewhere and with `--absolute`.
pub(crate) fn lease(until: Timestamp) -> String {
    match terminal() {
        Some(StdoutTerminal { absolute_times: false, .. }) => match until.as_millis() - now() {
            left @ 1.. => format!(", {} left", relative(left).trim_start_matches("in ")),
            over => format!(", lease ended {}", relative(over)),
        },
        _ => format!(" until {until}"),
    }
}

/// Formats a distance in milliseconds from now, in the largest unit that gives at least 1.
fn relative(distance: i64) -> String {
    const UNITS: [(i64, &str); 5] =
        [(365 * 86_400, "years"), (30 * 86_400, "months"), (86_400, "d"), (3_600, "h"), (60, "min")];
    let seconds = distance.abs() / 1_000;
    let Some((length, unit)) = UNITS.into_iter().find(|(length, _)| seconds >= *length) else {
        return if distance > 0 { format!("in {seconds} s") } else { "just now".to_owned() };
    };
    let count = seconds / length;
    let unit = if count == 1 { unit.trim_end_matches('s') } else { unit };
    if distance > 0 { format!("in {count} {unit}") } else { format!("{count} {unit} ago") }
}

/// Whether to draw trees with Unicode: always for pipes, on a terminal only with a UTF-8 locale.
pub(crate) fn draws_lines() -> bool {
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
    terminal().is_none() || locale.is_some_and(|locale| locale.to_lowercase().replace('-', "").contains("utf8"))
}

/// Cuts a text to the rest of a line that has `taken` characters already; pipes get all of it.
pub(crate) fn fit_line(text: &str, taken: usize) -> String {
    terminal().map_or_else(|| text.to_owned(), |terminal| fit(text, terminal.width.saturating_sub(taken).max(16)))
}

/// The width of a drawing in characters; 80 if there is no terminal.
pub(crate) fn width() -> usize {
    terminal().map_or(80, |terminal| terminal.width)
}

/// Cuts a text to `width` characters, with `…` at the end.
pub(crate) fn fit(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let more = if draws_lines() { "…" } else { "..." };
    let cut: String = text.chars().take(width.saturating_sub(more.chars().count())).collect();
    format!("{}{more}", cut.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_use_the_largest_unit() {
        let minute = 60_000;
        let shown = [-1, -59_999, -minute, -119 * minute, -1_440 * minute, -45 * 1_440 * minute, -800 * 1_440 * minute];
        let shown = shown.map(relative);
        assert_eq!(shown, ["just now", "just now", "1 min ago", "1 h ago", "1 d ago", "1 month ago", "2 years ago"]);
        assert_eq!([30 * minute, 5_000].map(relative), ["in 30 min", "in 5 s"]);
    }

    #[test]
    fn a_cut_text_ends_with_an_ellipsis() {
        assert_eq!((fit("héllo", 5), fit("héllo world", 7)), ("héllo".to_owned(), "héllo…".to_owned()));
    }
}
