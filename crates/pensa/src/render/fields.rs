//! Prints named values and shortened texts.

use pensa_core::json;
use serde::Serialize;

use super::Screen;

/// The most characters of a text in one line of a list.
const MAX_LINE_CHARS: usize = 160;

/// Shortens a text to one line.
pub(crate) fn shorten(text: &str) -> String {
    // Unprintable characters are removed, so take more than is shown.
    let start: String = text.chars().take(4 * MAX_LINE_CHARS).collect();
    let line = pensa_core::text::printable_line(&start);
    let mut shown: String = line.chars().take(MAX_LINE_CHARS).collect();
    if shown.len() < line.len() || start.len() < text.len() {
        shown.push('…');
    }
    shown
}

pub(crate) fn shorten_json<T: Serialize + ?Sized>(value: &T) -> String {
    shorten(&json::to_line(value).unwrap_or_default())
}

/// Prints a named value, if there is one.
pub(crate) fn field(screen: &mut Screen, name: &str, value: Option<String>) {
    if let Some(value) = value {
        screen.faint(&format!("{name:<12}")).text(&value).end();
    }
}

/// Says how many secrets were redacted: the user may want to revoke them.
pub(crate) fn print_redactions(screen: &mut Screen, count: i64) {
    match count {
        0 => {}
        1 => screen.plain("1 secret was left out").end(),
        many => screen.plain(&format!("{many} secrets were left out")).end(),
    }
}
