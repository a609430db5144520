//! Memory: learnings, found again as a person types.

use pensa_core::learning::LearningDetail;

use super::{TuiView, ViewContext};
use crate::rows::{ListRow, Motion, RowList, RowSubject, piece};
use crate::store::{Answer, PAGE, StoreQuery};
use crate::text::{padded, since, wrapped};
use crate::theme::Tone;

#[derive(Debug, Default)]
pub(crate) struct MemoryView {
    text: String,
    limit: u32,
    found: Vec<LearningDetail>,
    rows: RowList,
}

impl MemoryView {
    fn row(found: &LearningDetail, cx: &ViewContext) -> ListRow {
        let learning = &found.learning;
        let room = usize::from(cx.size.0).saturating_sub(6);
        let mut texts = wrapped(&learning.text, room).into_iter();
        let head = vec![
            piece(padded(learning.id.as_str(), 12), Tone::Id),
            piece(padded(learning.kind.as_str(), 9), Tone::Accent),
            piece(padded(learning.impact.as_str(), 7), Tone::Faint),
            piece(padded(&since(learning.fresh_at(), cx.now), 5), Tone::Faint),
            piece(learning.tags.join(" "), Tone::Good),
        ];
        let mut row = ListRow::new(learning.id.as_str(), RowSubject::Learning(learning.id.clone()), head);
        row.lines.extend(texts.by_ref().take(3).map(|line| vec![piece(format!("  {line}"), Tone::Plain)]));
        if texts.next().is_some() {
            row.lines.push(vec![piece("  …", Tone::Faint)]);
        }
        row
    }
}

impl TuiView for MemoryView {
    fn query(&self) -> StoreQuery {
        StoreQuery::Memory { text: self.text.clone(), limit: self.limit.max(PAGE) }
    }

    fn take(&mut self, answer: Answer, cx: &ViewContext) {
        if let Answer::Memory(found) = answer {
            self.found = found;
            self.resize(cx);
        }
    }

    fn resize(&mut self, cx: &ViewContext) {
        let mut rows: Vec<ListRow> = self.found.iter().map(|found| Self::row(found, cx)).collect();
        if rows.is_empty() {
            rows.push(ListRow::note(if self.text.is_empty() {
                "nothing was remembered yet"
            } else {
                "nothing like that"
            }));
        }
        self.rows.set(rows, cx.at);
    }

    fn summary(&self) -> String {
        match self.rows.len() {
            1 => "1 learning; / recalls".to_owned(),
            count => format!("{count} learnings; / recalls"),
        }
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

    fn set_filter(&mut self, text: &str) -> bool {
        text.clone_into(&mut self.text);
        true
    }
}
