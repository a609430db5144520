//! Sessions: the conversations of agents, and what was said in one, step by step.

use pensa_core::id::SessionId;
use pensa_core::session::{Entry, SessionSummary};
use serde_json::Value;

use super::{TuiView, ViewContext};
use crate::rows::{ListRow, Motion, RowList, RowSubject, piece};
use crate::store::{Answer, PAGE, StoreQuery};
use crate::text::{age, padded, since, wrapped};
use crate::theme::Tone;

/// Lines of an entry that are shown.
const LINES: usize = 12;

#[derive(Debug, Default)]
pub(crate) struct SessionsView {
    sessions: Vec<SessionSummary>,
    rows: RowList,
    /// The session that is read, with its entries
    opened: Option<(SessionId, Vec<Entry>, RowList)>,
    limit: u32,
}

impl SessionsView {
    fn row(summary: &SessionSummary, cx: &ViewContext) -> ListRow {
        let session = &summary.session;
        let tokens: i64 = summary.tokens.values().map(|usage| usage.tokens.total).sum();
        let state = if session.ended_at.is_some() { ("ended", Tone::Faint) } else { ("active", Tone::InProgress) };
        let mut line = vec![
            piece(padded(session.id.as_str(), 12), Tone::Id),
            piece(padded(session.agent_id.as_str(), 12), Tone::Accent),
            piece(padded(state.0, 7), state.1),
            piece(padded(&since(session.created_at, cx.now), 5), Tone::Faint),
            piece(format!("{} entries, {}, {tokens} tokens", summary.entries, age(summary.duration_ms)), Tone::Plain),
        ];
        if let Some(cost) = summary.cost_usd {
            line.push(piece(format!(", ${cost:.2}"), Tone::Good));
        }
        if let Some(id) = &session.issue_id {
            line.push(piece(format!("  about {id}"), Tone::Faint));
        }
        ListRow::new(session.id.as_str(), RowSubject::Session(session.id.clone()), line)
    }

    fn entry(entry: &Entry, cx: &ViewContext) -> ListRow {
        let room = usize::from(cx.size.0).saturating_sub(6);
        let head = vec![
            piece(format!("{:>4} ", entry.id), Tone::Faint),
            piece(format!("{} ", entry.entry_type), Tone::Accent),
            piece(since(entry.at, cx.now), Tone::Faint),
        ];
        let mut row = ListRow::new(entry.id.to_string(), RowSubject::Session(entry.session_id.clone()), head);
        let mut said = Vec::new();
        entry.data.values().for_each(|value| texts(value, &mut said));
        let mut lines = wrapped(&said.join("\n"), room).into_iter();
        row.lines.extend(lines.by_ref().take(LINES).map(|line| vec![piece(format!("    {line}"), Tone::Plain)]));
        if lines.next().is_some() {
            row.lines.push(vec![piece("    …", Tone::Faint)]);
        }
        row
    }
}

/// All texts in a value.
fn texts<'a>(value: &'a Value, to: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => to.push(text),
        Value::Array(values) => values.iter().for_each(|value| texts(value, to)),
        Value::Object(fields) => fields.values().for_each(|value| texts(value, to)),
        _ => {}
    }
}

impl TuiView for SessionsView {
    fn query(&self) -> StoreQuery {
        let limit = self.limit.max(PAGE);
        match &self.opened {
            Some((session, ..)) => StoreQuery::Entries { session: session.clone(), limit },
            None => StoreQuery::Sessions { limit },
        }
    }

    fn take(&mut self, answer: Answer, cx: &ViewContext) {
        match (answer, &mut self.opened) {
            (Answer::Sessions(sessions), _) => self.sessions = sessions,
            (Answer::Entries(entries), Some((_, known, _))) => *known = entries,
            _ => return,
        }
        self.resize(cx);
    }

    fn resize(&mut self, cx: &ViewContext) {
        let mut rows: Vec<ListRow> = self.sessions.iter().rev().map(|summary| Self::row(summary, cx)).collect();
        if rows.is_empty() {
            rows.push(ListRow::note("no agent has talked yet"));
        }
        self.rows.set(rows, cx.at);
        if let Some((_, entries, rows)) = &mut self.opened {
            rows.set(entries.iter().map(|entry| Self::entry(entry, cx)).collect(), cx.at);
        }
    }

    fn summary(&self) -> String {
        match &self.opened {
            Some((id, _, rows)) => format!("{id}: {} entries; j and k step through it, q: all sessions", rows.len()),
            None => format!("{} sessions; enter reads one", self.rows.len()),
        }
    }

    fn list(&self) -> Option<&RowList> {
        Some(self.opened.as_ref().map_or(&self.rows, |(_, _, rows)| rows))
    }

    fn list_mut(&mut self) -> Option<&mut RowList> {
        Some(self.opened.as_mut().map_or(&mut self.rows, |(_, _, rows)| rows))
    }

    fn step(&mut self, motion: Motion) -> bool {
        self.limit = self.limit.max(PAGE);
        let mut limit = self.limit;
        let Some(list) = self.list_mut() else { return false };
        list.step(motion);
        let is_more = super::more(list, &mut limit, motion);
        self.limit = limit;
        is_more
    }

    fn back(&mut self) -> bool {
        self.opened.take().is_some()
    }

    fn focus(&mut self, subject: &RowSubject) {
        if let (RowSubject::Session(id), None) = (subject, &self.opened) {
            self.opened = Some((id.clone(), Vec::new(), RowList::default()));
        }
    }
}
