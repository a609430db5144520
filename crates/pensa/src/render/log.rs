//! How lines of the log look.

use pensa_core::event::{LogEntry, describe};

use super::Screen;

/// One event in one line.
pub(crate) fn line(event: &LogEntry, screen: &mut Screen) {
    screen.faint(&format!("{:>4} {}", event.id, event.created_at)).plain(" ").text(&event.event_type).plain(" ");
    screen.text(&event.subject_kind).plain(" ").id(&event.subject_id).plain(" by ").text(&event.actor);
    let changes = describe(&event.detail);
    if !changes.is_empty() {
        screen.plain(": ").text(&changes);
    }
    screen.end();
}
