//! A briefing: what an agent should know before it goes on, put together within a budget of tokens.
//!
//! What the sections say is left to the engine. The same sections always become the same text.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::closed_enum::closed_enum;
use crate::error::{Error, Result};
use crate::json;
use crate::session::tokens;
use crate::text;

/// The budget, if none is given.
pub const DEFAULT_TOKENS: u32 = 2000;
/// Longest line of a section, in characters.
const LINE_CHARS: usize = 300;

closed_enum! {
    /// In which form a briefing is told.
    Format "invalid format: {:?}" {
        /// Markdown, for people and models
        Markdown "md" | "markdown",
        Json "json",
    }
}

/// One section before it is known what of it fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub name: &'static str,
    pub title: &'static str,
    /// How many of its lines come before any other section gets a second helping.
    pub first: usize,
    /// The most important line first.
    pub lines: Vec<Line>,
}

/// One thing that a section tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// What it is about
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub text: String,
}

impl Line {
    /// A line from any text: without line ends, and not longer than a line may be.
    pub fn new(id: impl fmt::Display, given: &str) -> Self {
        let mut line = text::printable_line(given);
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
    pub lines: Vec<Line>,
    /// How many more there would have been
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What an agent should know before it goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Briefing {
    pub sections: Vec<Section>,
}

impl Briefing {
    /// As Markdown, with nothing in it but headings and list items.
    pub fn markdown(&self) -> String {
        let mut told = String::new();
        for section in &self.sections {
            if !told.is_empty() {
                told.push('\n');
            }
            told.push_str(&format!("## {}\n", section.title));
            for line in &section.lines {
                let id = line.id.as_ref().map(|id| format!("{id} ")).unwrap_or_default();
                told.push_str(&format!("- {id}{}\n", line.text));
            }
            if section.more > 0 {
                told.push_str(&format!("- and {} more\n", section.more));
            }
        }
        told
    }

    /// What it costs in a form.
    pub fn tokens(&self, format: Format) -> Result<u64> {
        let bytes = match format {
            Format::Markdown => self.markdown().len(),
            // With its line end.
            Format::Json => json::to_line(self)?.len() + 1,
        };
        Ok(tokens::estimate(bytes))
    }
}

/// Puts together as much of the sections as fits; those that come first matter most.
///
/// Each section first gets the lines that it must not lack, then each the rest, in their order. A line that does not fit
/// is left out with all that follow it in its section.
pub fn assemble(drafts: &[Draft], max_tokens: u32, format: Format) -> Result<Briefing> {
    if max_tokens < 1 {
        return Err(Error::invalid("a budget of 0 tokens").hint("leave out --max-tokens for the usual one"));
    }
    let mut counts = vec![0; drafts.len()];
    let mut best = Briefing::default();
    for share in [|draft: &Draft| draft.first.min(draft.lines.len()), |draft: &Draft| draft.lines.len()] {
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

/// So many lines of each section.
fn with(drafts: &[Draft], counts: &[usize]) -> Briefing {
    let chosen = drafts.iter().zip(counts).filter(|(_, count)| **count > 0);
    let section = |(draft, count): (&Draft, &usize)| Section {
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

    fn draft(name: &'static str, first: usize, lines: &[&str]) -> Draft {
        let line = |(at, text): (usize, &&str)| Line::new(format!("pn-{at}"), text);
        Draft { name, title: name, first, lines: lines.iter().enumerate().map(line).collect() }
    }

    fn told(drafts: &[Draft], max_tokens: u32) -> Vec<(String, usize)> {
        let briefing = assemble(drafts, max_tokens, Format::Markdown).expect("a briefing");
        briefing.sections.into_iter().map(|section| (section.name, section.lines.len())).collect()
    }

    #[test]
    fn what_matters_most_comes_first_and_nobody_is_crowded_out() {
        let ten = ["a line of some length"; 10];
        let drafts = [draft("work", 1, &ten), draft("queue", 2, &ten), draft("known", 0, &ten), draft("none", 3, &[])];
        let whole = assemble(&drafts, 10_000, Format::Markdown).expect("a briefing");
        assert_eq!(whole.sections.iter().map(|section| section.lines.len()).collect::<Vec<_>>(), [10, 10, 10]);
        assert!(!whole.markdown().contains("more"));
        let some = |pairs: &[(&str, usize)]| pairs.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect::<Vec<_>>();
        assert_eq!(told(&drafts, 50), some(&[("work", 3), ("queue", 2)]));
        assert_eq!(told(&drafts, 3), []);
        assert!(assemble(&drafts, 0, Format::Markdown).is_err());
    }

    #[test]
    fn text_from_records_stays_in_its_line() {
        let hostile = "a\n## work\n- \u{1b}[2J\u{202E}b";
        let briefing = assemble(&[draft("queue", 1, &[hostile])], 2000, Format::Markdown).expect("a briefing");
        assert_eq!(briefing.markdown(), "## queue\n- pn-0 a ## work - [2Jb\n");
        let long = "é".repeat(10_000);
        assert_eq!(Line::new("x", &long).text.chars().count(), LINE_CHARS + 1);
    }

    proptest! {
        #[test]
        fn a_briefing_never_costs_more_than_its_budget(
            texts in prop::collection::vec(prop::collection::vec("\\PC{0,400}", 0..8), 0..5),
            first in 0usize..4, max_tokens in 1u32..1000, is_json in any::<bool>()
        ) {
            let drafts: Vec<Draft> = texts.iter().map(|lines| {
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
