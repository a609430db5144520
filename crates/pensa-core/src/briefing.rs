//! Assembles a briefing for an agent within a token budget.
//!
//! The engine writes the sections. The same sections always give the same text.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::closed_enum::closed_enum;
use crate::error::{Error, Result};
use crate::fence;
use crate::json;
use crate::session::tokens;

/// Default token budget.
pub const DEFAULT_TOKENS: u32 = 2000;
/// Maximum length of a line, in characters.
const LINE_CHARS: usize = 300;

closed_enum! {
    /// The output format of a briefing.
    Format "invalid format: {:?}" {
        /// Markdown, for people and models
        Markdown "md" | "markdown",
        Json "json",
    }
}

/// A section with all its lines, before the budget is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionDraft {
    pub name: &'static str,
    pub title: &'static str,
    /// How many lines are included before any section gets its remaining lines.
    pub first: usize,
    /// The most important line first.
    pub lines: Vec<BriefingLine>,
}

/// One line of a section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Line")]
pub struct BriefingLine {
    /// Its subject
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub text: String,
}

impl BriefingLine {
    /// A line from any text: line ends are replaced and long texts are cut.
    pub fn new(id: impl fmt::Display, given: &str) -> Self {
        let mut line = fence::defused_line(given);
        if let Some((end, _)) = line.char_indices().nth(LINE_CHARS) {
            line.truncate(end);
            line.push('…');
        }
        Self { id: Some(id.to_string()), text: line }
    }
}

/// One section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Section {
    pub name: String,
    pub title: String,
    pub lines: Vec<BriefingLine>,
    /// How many lines were left out
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What an agent needs to know to continue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Briefing {
    pub sections: Vec<Section>,
}

impl Briefing {
    /// The briefing as Markdown headings and list items.
    pub fn markdown(&self) -> String {
        let mut page = String::new();
        for section in &self.sections {
            if !page.is_empty() {
                page.push('\n');
            }
            page.push_str(&format!("## {}\n", section.title));
            for line in &section.lines {
                let id = line.id.as_ref().map(|id| format!("{id} ")).unwrap_or_default();
                page.push_str(&format!("- {id}{}\n", line.text));
            }
            if section.more > 0 {
                page.push_str(&format!("- and {} more\n", section.more));
            }
        }
        page
    }

    /// The estimated number of tokens in a format.
    pub fn tokens(&self, format: Format) -> Result<u64> {
        let bytes = match format {
            Format::Markdown => self.markdown().len(),
            // Includes the line end.
            Format::Json => json::to_line(self)?.len() + 1,
        };
        Ok(tokens::estimate(bytes))
    }
}

/// Selects as many lines of the sections as fit, in the order of the sections.
///
/// In a first round each section gets its `first` lines, in a second round the rest. A line that does not fit is left out
/// together with all following lines of its section.
pub fn assemble(drafts: &[SectionDraft], max_tokens: u32, format: Format) -> Result<Briefing> {
    if max_tokens < 1 {
        return Err(Error::invalid("a budget of 0 tokens").hint("leave out --max-tokens for the usual one"));
    }
    let mut counts = vec![0; drafts.len()];
    let mut best = Briefing::default();
    for share in [|draft: &SectionDraft| draft.first.min(draft.lines.len()), |draft: &SectionDraft| draft.lines.len()] {
        for (at, draft) in drafts.iter().enumerate() {
            while counts[at] < share(draft) {
                counts[at] += 1;
                let next = with(drafts, &counts);
                if next.tokens(format)? > u64::from(max_tokens) {
                    counts[at] -= 1;
                    break;
                }
                best = next;
            }
        }
    }
    Ok(best)
}

/// A briefing with the first `counts[i]` lines of each section.
fn with(drafts: &[SectionDraft], counts: &[usize]) -> Briefing {
    let chosen = drafts.iter().zip(counts).filter(|(_, count)| **count > 0);
    let section = |(draft, count): (&SectionDraft, &usize)| Section {
        name: draft.name.to_owned(),
        title: draft.title.to_owned(),
        lines: draft.lines[..*count].to_vec(),
        more: draft.lines.len() - count,
    };
    Briefing { sections: chosen.map(section).collect() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn draft(name: &'static str, first: usize, lines: &[&str]) -> SectionDraft {
        let line = |(at, text): (usize, &&str)| BriefingLine::new(format!("pn-{at}"), text);
        SectionDraft { name, title: name, first, lines: lines.iter().enumerate().map(line).collect() }
    }

    fn line_counts(drafts: &[SectionDraft], max_tokens: u32) -> Vec<(String, usize)> {
        let briefing = assemble(drafts, max_tokens, Format::Markdown).expect("a briefing");
        briefing.sections.into_iter().map(|section| (section.name, section.lines.len())).collect()
    }

    #[test]
    fn sections_get_their_first_lines_before_the_rest() {
        let ten = ["a line of some length"; 10];
        let drafts = [draft("work", 1, &ten), draft("queue", 2, &ten), draft("known", 0, &ten), draft("none", 3, &[])];
        let whole = assemble(&drafts, 10_000, Format::Markdown).expect("a briefing");
        assert_eq!(whole.sections.iter().map(|section| section.lines.len()).collect::<Vec<_>>(), [10, 10, 10]);
        assert!(!whole.markdown().contains("more"));
        let some = |pairs: &[(&str, usize)]| pairs.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect::<Vec<_>>();
        assert_eq!(line_counts(&drafts, 50), some(&[("work", 3), ("queue", 2)]));
        assert_eq!(line_counts(&drafts, 3), []);
        assert!(assemble(&drafts, 0, Format::Markdown).is_err());
    }

    #[test]
    fn text_from_data_stays_on_its_line() {
        let hostile = "a\n## work\n- \u{1b}[2J\u{202E}b";
        let briefing = assemble(&[draft("queue", 1, &[hostile])], 2000, Format::Markdown).expect("a briefing");
        assert_eq!(briefing.markdown(), "## queue\n- pn-0 a ## work - [2Jb\n");
        let long = "é".repeat(10_000);
        assert_eq!(BriefingLine::new("x", &long).text.chars().count(), LINE_CHARS + 1);
    }

    proptest! {
        #[test]
        fn briefing_never_exceeds_its_budget(
            texts in prop::collection::vec(prop::collection::vec("\\PC{0,400}", 0..8), 0..5),
            first in 0usize..4, max_tokens in 1u32..1000, is_json in any::<bool>()
        ) {
            let drafts: Vec<SectionDraft> = texts.iter().map(|lines| {
                draft("s", first, &lines.iter().map(String::as_str).collect::<Vec<_>>())
            }).collect();
            let format = if is_json { Format::Json } else { Format::Markdown };
            let briefing = assemble(&drafts, max_tokens, format).expect("a briefing");
            let is_empty = briefing.sections.is_empty();
            prop_assert!(is_empty || briefing.tokens(format).expect("a number") <= u64::from(max_tokens));
            prop_assert_eq!(assemble(&drafts, max_tokens, format).expect("the same"), briefing);
        }
    }
}
