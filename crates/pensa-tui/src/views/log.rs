//! The log: what happened, newest first, as it happens.

use pensa_core::event::{LogEntry, describe};

use super::{TuiView, ViewContext};
use crate::rows::{ListRow, Motion, RowList, RowSubject, piece};
use crate::store::{Answer, PAGE, StoreQuery};
use crate::text::{padded, since};
use crate::theme::Tone;

#[derive(Debug, Default)]
pub(crate) struct LogView {
    limit: u32,
    rows: RowList,
}

fn tone(event_type: &str) -> Tone {
    match event_type {
        "created" => Tone::Open,
        "claimed" => Tone::InProgress,
        "closed" | "feature.shipped" => Tone::Good,
        "deleted" | "killed" | "lease_expired" | "conflict_found" => Tone::Bad,
        _ => Tone::Plain,
    }
}

fn row(event: &LogEntry, cx: &ViewContext) -> ListRow {
    let subject = RowSubject::Event(event.id, event.issue_id.clone());
    let mut line = vec![piece(format!("{:>6} ", event.id), Tone::Faint)];
    if cx.size.0 >= 60 {
        // Not how long ago: every row would change all the time.
        line.push(piece(format!("{} ", &event.created_at.to_string()[..19]), Tone::Faint));
    } else {
        line.push(piece(padded(&since(event.created_at, cx.now), 5), Tone::Faint));
    }
    line.push(piece(format!("{} ", padded(&event.event_type, 12)), tone(&event.event_type)));
    line.push(piece(format!("{} ", event.subject_id), Tone::Id));
    line.push(piece(format!("by {} ", event.actor), Tone::Accent));
    line.push(piece(describe(&event.detail), Tone::Plain));
    ListRow::new(event.id.to_string(), subject, line)
}

impl TuiView for LogView {
    fn query(&self) -> StoreQuery {
        StoreQuery::Log { limit: self.limit.max(PAGE) }
    }

    fn take(&mut self, answer: Answer, cx: &ViewContext) {
        if let Answer::Log(events) = answer {
            self.rows.set(events.iter().rev().map(|event| row(event, cx)).collect(), cx.at);
        }
    }

    fn summary(&self) -> String {
        format!("{} events; enter opens what one is about, u takes it back", self.rows.len())
    }

    fn list(&self) -> Option<&RowList> {
        Some(&self.rows)
    }

    fn list_mut(&mut self) -> Option<&mut RowList> {
        Some(&mut self.rows)
    }

    fn step(&mut self, motion: Motion) -> bool {
        self.rows.step(motion);
        self.limit = self.limit.max(PAGE);
        super::more(&self.rows, &mut self.limit, motion)
    }
}
