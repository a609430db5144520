//! Memory: learnings, found again as a person types; those to look at again; those that contradict each other.

use pensa_core::learning::contradiction::Contradiction;
use pensa_core::learning::upkeep::ReviewItem;
use pensa_core::learning::{Learning, LearningDetail};

use super::{TuiView, ViewContext};
use crate::keys::UserCommand;
use crate::rows::{ListRow, Motion, RowList, RowSubject, piece};
use crate::store::{Answer, MemoryScope, PAGE, StoreChange, StoreQuery};
use crate::text::{padded, since, wrapped};
use crate::theme::Tone;

#[derive(Debug, Default)]
pub(crate) struct MemoryView {
    text: String,
    scope: MemoryScope,
    limit: u32,
    found: Vec<LearningDetail>,
    review: Vec<ReviewItem>,
    pairs: Vec<Contradiction>,
    rows: RowList,
}

impl MemoryView {
    fn row(learning: &Learning, cx: &ViewContext) -> ListRow {
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

    /// A learning, and why it should be looked at again.
    fn review_row(item: &ReviewItem, cx: &ViewContext) -> ListRow {
        let mut row = Self::row(&item.learning, cx);
        let reasons: Vec<String> = item.reasons.iter().map(|reason| reason.as_str().replace('_', " ")).collect();
        row.lines.push(vec![piece(format!("  {}", reasons.join(", ")), Tone::High)]);
        if !item.gone_files.is_empty() {
            row.lines.push(vec![piece(format!("  {}", item.gone_files.join(" ")), Tone::Faint)]);
        }
        row
    }

    /// Two learnings that contradict each other, the newer one first.
    fn pair_rows(pair: &Contradiction, cx: &ViewContext) -> [ListRow; 2] {
        [("newer", &pair.newer, &pair.older), ("older", &pair.older, &pair.newer)].map(|(name, one, other)| {
            let mut row = Self::row(one, cx);
            row.key = format!("{} {}", one.id, other.id);
            if let Some(line) = row.lines.first_mut() {
                line.insert(0, piece(padded(name, 6), Tone::High));
            }
            row
        })
    }

    fn rows(&self, cx: &ViewContext) -> Vec<ListRow> {
        match self.scope {
            MemoryScope::All => self.found.iter().map(|found| Self::row(&found.learning, cx)).collect(),
            MemoryScope::Review => self.review.iter().map(|item| Self::review_row(item, cx)).collect(),
            MemoryScope::Conflicts => self.pairs.iter().flat_map(|pair| Self::pair_rows(pair, cx)).collect(),
        }
    }
}

impl TuiView for MemoryView {
    fn query(&self) -> StoreQuery {
        StoreQuery::Memory { text: self.text.clone(), scope: self.scope, limit: self.limit.max(PAGE) }
    }

    fn take(&mut self, answer: Answer, cx: &ViewContext) {
        match answer {
            Answer::Memory(found) => self.found = found,
            Answer::Review(items) => self.review = items,
            Answer::Contradictions(pairs) => self.pairs = pairs,
            _ => return,
        }
        self.resize(cx);
    }

    fn resize(&mut self, cx: &ViewContext) {
        let mut rows = self.rows(cx);
        if rows.is_empty() {
            rows.push(ListRow::note(match self.scope {
                MemoryScope::All if self.text.is_empty() => "nothing was remembered yet",
                MemoryScope::All => "nothing like that",
                MemoryScope::Review => "nothing to look at again",
                MemoryScope::Conflicts => "nothing contradicts anything",
            }));
        }
        self.rows.set(rows, cx.at);
    }

    fn summary(&self) -> String {
        match self.scope {
            MemoryScope::All if self.rows.len() == 1 => "1 learning; / recalls, f reviews".to_owned(),
            MemoryScope::All => format!("{} learnings; / recalls, f reviews", self.rows.len()),
            MemoryScope::Review => format!("{} to review; v still holds, F forgets", self.review.len()),
            MemoryScope::Conflicts => format!("{} contradictions; K keeps the selected one", self.pairs.len()),
        }
    }

    fn command(&mut self, command: UserCommand, cx: &ViewContext) -> Option<bool> {
        if command != UserCommand::Scope {
            return None;
        }
        self.scope = match self.scope {
            MemoryScope::All => MemoryScope::Review,
            MemoryScope::Review => MemoryScope::Conflicts,
            MemoryScope::Conflicts => MemoryScope::All,
        };
        self.resize(cx);
        Some(true)
    }

    fn kept(&self) -> Option<StoreChange> {
        if self.scope != MemoryScope::Conflicts {
            return None;
        }
        let (by, old) = self.rows.selected()?.key.split_once(' ')?;
        Some(StoreChange::Supersede { old: old.parse().ok()?, by: by.parse().ok()? })
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
