//! Formats tool output within a token budget, and marks text that came from records as data.

use pensa_core::issue::Issue;
use pensa_core::session::tokens;
use pensa_core::{Error, Result, fence};

/// Default token budget.
const DEFAULT_TOKENS: u32 = 2_000;
/// Minimum token budget: room for an error and one issue.
const MIN_TOKENS: u32 = 100;
const MAX_TOKENS: u32 = 10_000;
const BYTES_PER_TOKEN: usize = 4;
/// Reserved for notes about what was left out.
const RESERVE: usize = 120;
/// Text that grows up to its budget.
#[derive(Debug)]
pub(super) struct TextPage {
    text: String,
    limit: usize,
}

impl TextPage {
    pub(super) fn new(max_tokens: Option<u32>) -> Result<Self> {
        let tokens = max_tokens.unwrap_or(DEFAULT_TOKENS);
        if !(MIN_TOKENS..=MAX_TOKENS).contains(&tokens) {
            return Err(Error::invalid(format!("max_tokens is {tokens}"))
                .hint(format!("from {MIN_TOKENS} to {MAX_TOKENS}; without it {DEFAULT_TOKENS}")));
        }
        Ok(Self { text: String::new(), limit: tokens as usize * BYTES_PER_TOKEN })
    }

    /// Bytes left for data.
    pub(super) fn remaining(&self) -> usize {
        self.limit.saturating_sub(self.text.len() + RESERVE)
    }

    /// Adds a line of Pensa's own text; dropped if the budget is used up.
    pub(super) fn note(&mut self, line: &str) {
        if self.text.len() + line.len() < self.limit {
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    /// Adds lines from records, as many as fit. Returns how many.
    pub(super) fn lines(&mut self, source: &DataOrigin, lines: &[String]) -> usize {
        let Some(mut remaining) = self.remaining().checked_sub(source.overhead()) else { return 0 };
        let fits = |line: &&String| match remaining.checked_sub(line.len() + 1) {
            Some(left) => {
                remaining = left;
                true
            }
            None => false,
        };
        let fitting: Vec<&str> = lines.iter().take_while(fits).map(String::as_str).collect();
        if !fitting.is_empty() {
            self.text.push_str(&source.around(&fitting.join("\n")));
        }
        fitting.len()
    }

    /// Adds a text from a record, cut to `remaining` bytes. Returns whether it fitted completely.
    pub(super) fn block(&mut self, source: &DataOrigin, body: &str, remaining: usize) -> bool {
        let Some(remaining) = remaining.min(self.remaining()).checked_sub(source.overhead()) else { return false };
        let shown = &body[..body.floor_char_boundary(remaining)];
        self.text.push_str(&source.around(shown));
        if shown.len() < body.len() {
            self.note(&format!("[cut: {} of {} bytes]", shown.len(), body.len()));
        }
        shown.len() == body.len()
    }

    pub(super) fn finish(self) -> String {
        debug_assert!(tokens::estimate(self.text.len()) <= u64::from(MAX_TOKENS), "a page keeps its budget");
        self.text
    }
}

/// The `<data>` tag that says where data came from.
#[derive(Debug)]
pub(super) struct DataOrigin {
    opening: String,
}

impl DataOrigin {
    pub(super) fn new(from: &str) -> Self {
        Self { opening: fence::opening(from, &[]) }
    }

    pub(super) fn by(from: &str, actor: &str, at: impl std::fmt::Display) -> Self {
        Self { opening: fence::opening(from, &[("by", actor), ("at", &at.to_string())]) }
    }

    /// Bytes of both tags.
    pub(super) fn overhead(&self) -> usize {
        self.opening.len() + fence::CLOSING.len() + 1
    }

    fn around(&self, body: &str) -> String {
        let end = if body.ends_with('\n') { "" } else { "\n" };
        format!("{}{body}{end}{}", self.opening, fence::CLOSING)
    }
}

/// See [`fence::defused`].
pub(super) fn data(text: &str) -> String {
    fence::defused(text)
}

/// Like [`data`], for one line.
pub(super) fn data_line(line: &str) -> String {
    fence::defused_line(line)
}

/// An issue on one line, its id first.
pub(super) fn issue_line(issue: &Issue) -> String {
    let Issue { id, priority, issue_type, status, .. } = issue;
    let holder = issue.assignee.as_deref().map(|name| format!(" @{name}")).unwrap_or_default();
    let until = issue.lease_expires_at.map(|end| format!(" until {end}")).unwrap_or_default();
    data_line(&format!("{id} {priority} {issue_type} {status}{holder}{until} {}", issue.title))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_never_exceeds_its_budget() {
        for tokens in [MIN_TOKENS, 150, 2_000, MAX_TOKENS] {
            let mut page = TextPage::new(Some(tokens)).expect("a fine budget");
            let source = DataOrigin::by("pn-1", &"a".repeat(300), "2026-01-01T00:00:00.000Z");
            let lines: Vec<String> = (0..5_000).map(|n| format!("line {n} é")).collect();
            let shown = page.lines(&source, &lines);
            assert!(shown < lines.len());
            assert!(!page.block(&source, &"é".repeat(100_000), usize::MAX));
            page.note(&"more ".repeat(10));
            page.note(&"x".repeat(100_000));
            let text = page.finish();
            assert!(text.len() <= tokens as usize * BYTES_PER_TOKEN, "{} of {tokens}", text.len());
        }
    }

    #[test]
    fn budget_out_of_range_is_refused() {
        for bad in [0, 1, MIN_TOKENS - 1, MAX_TOKENS + 1, u32::MAX] {
            let error = TextPage::new(Some(bad)).expect_err("not a budget");
            assert!(error.hint.is_some_and(|hint| hint.contains("10000")), "{bad}");
        }
    }
}
