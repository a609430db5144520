//! A result of recall, and how results share the answer.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use super::TextKind;
use crate::error::Result;
use crate::id::{IssueId, LearningId, SessionId};
use crate::issue::Extra;
use crate::json;
use crate::learning::recall::Hit;
use crate::learning::{Impact, Kind, Learning, LearningUse, MergedSource, WorkValue};
use crate::session::tokens;
use crate::time::Timestamp;

/// The id of a text: of a session's entry its number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum HitId {
    Number(i64),
    Text(String),
}

impl std::fmt::Display for HitId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// A text that was recalled.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recalled {
    pub kind: TextKind,
    /// Its id; of a session's entry, its number
    pub id: HitId,
    pub at: Timestamp,
    pub actor: String,
    /// What of it matches, with the words between **
    pub snippet: String,
    /// Its score; comparable only within the same answer
    pub score: i64,
    /// The session that it is from
    pub session_id: Option<SessionId>,
    /// The issue that it is about
    pub issue_id: Option<IssueId>,
    /// Of a learning, its other fields
    #[serde(flatten)]
    pub learning: Option<RecalledLearning>,
    /// Entries before and after that are needed to understand it
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<Neighbour>,
    /// True if the text was cut to fit the budget; else absent
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// What made its score
    pub explain: Option<Explanation>,
}

/// The fields that only a learning has.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecalledLearning {
    /// Which kind of learning
    pub learning_kind: Kind,
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    pub work: Option<IssueId>,
    pub impact: Impact,
    pub expires_at: Option<Timestamp>,
    pub supersedes: Option<LearningId>,
    pub revision: i64,
    pub value: Option<WorkValue>,
    pub linear_id: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub verified_at: Option<Timestamp>,
    /// Where the duplicates that were merged into it came from
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<MergedSource>,
    /// The learnings that its text cites
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived_from: Vec<LearningId>,
    /// Whom it helped, and when; at most once a day for each
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub useful: Vec<LearningUse>,
    /// Former names of its files
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former_files: Vec<String>,
    /// Learnings that seem to contradict it, and do not
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agrees_with: Vec<LearningId>,
    /// Fields unknown to this version
    #[serde(flatten)]
    pub extra: Extra,
}

impl RecalledLearning {
    pub fn new(learning: Learning) -> Self {
        let Learning { kind, text, tags, files, work, impact, expires_at, supersedes, revision, value, .. } = learning;
        let Learning { linear_id, created_at, updated_at, verified_at, mut extra, .. } = learning;
        let Learning { sources, derived_from, useful, former_files, agrees_with, .. } = learning;
        let taken = ["at", "snippet", "context", "explain", "learning_kind"];
        extra.retain(|name, _| !taken.contains(&name.as_str()));
        Self {
            learning_kind: kind,
            text,
            tags,
            files,
            work,
            impact,
            expires_at,
            supersedes,
            revision,
            value,
            linear_id,
            created_at,
            updated_at,
            verified_at,
            sources,
            derived_from,
            useful,
            former_files,
            agrees_with,
            extra,
        }
    }
}

impl Recalled {
    /// The learning that was recalled; `None` for other kinds.
    pub fn into_learning(self) -> Option<Hit> {
        let Self { id, actor, score, session_id, issue_id, cut, .. } = self;
        let of = self.learning?;
        let learning = Learning {
            id: id.to_string().parse().ok()?,
            kind: of.learning_kind,
            text: of.text,
            tags: of.tags,
            files: of.files,
            issue_id,
            work: of.work,
            session_id,
            impact: of.impact,
            expires_at: of.expires_at,
            supersedes: of.supersedes,
            revision: of.revision,
            value: of.value,
            linear_id: of.linear_id,
            actor,
            created_at: of.created_at,
            updated_at: of.updated_at,
            verified_at: of.verified_at,
            sources: of.sources,
            derived_from: of.derived_from,
            useful: of.useful,
            former_files: of.former_files,
            agrees_with: of.agrees_with,
            extra: of.extra,
        };
        Some(Hit { learning, score, cut })
    }
}

/// An entry before or after a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Neighbour {
    pub id: i64,
    pub at: Timestamp,
    pub snippet: String,
}

/// What made a score: the parts add up to it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// What each word of the query contributed
    pub terms: Vec<ExplainedTerm>,
    /// The fields with a match: title, tags, files, links, body
    pub fields: Vec<String>,
    /// The factor for age and impact
    pub recency: f64,
    /// What nearness of the words contributed
    pub nearness: f64,
    /// What meaning contributed; 0 without a model
    pub vector: f64,
    /// What entries beside it, and other texts of its issue, contributed
    pub links: f64,
}

/// What a word of the query contributed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedTerm {
    pub term: String,
    pub score: f64,
}

/// Where a text is from, and its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sourced {
    /// A hash of its session or its actor
    pub source: u64,
    pub score: f64,
    /// What each further text of the same source counts, beside the one before
    pub repeated: f64,
}

/// The first `limit` texts of those given, which are in the order of their scores: at most a third of them are from one
/// source while others match, and what a source repeats counts less. Returns their places.
pub fn diverse(texts: &[Sourced], limit: usize) -> Vec<usize> {
    let most = (limit / 3).max(1);
    let mut counts: HashMap<u64, usize> = HashMap::new();
    let (mut chosen, mut rest) = (Vec::new(), (0..texts.len()).collect::<Vec<_>>());
    while chosen.len() < limit && !rest.is_empty() {
        let value = |at: usize| {
            let Sourced { source, score, repeated } = texts[at];
            let count = counts.get(&source).copied().unwrap_or_default();
            (count < most, score * repeated.powi(i32::try_from(count).unwrap_or(i32::MAX)))
        };
        let mut best = 0;
        for at in 1..rest.len() {
            let (one, other) = (value(rest[at]), value(rest[best]));
            if one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)).is_gt() {
                best = at;
            }
        }
        let place = rest.remove(best);
        *counts.entry(texts[place].source).or_default() += 1;
        chosen.push(place);
    }
    chosen
}

/// Returns the results that fit into the budget as JSON. If the best alone is too long, its text is cut, so that the
/// answer is not empty.
pub fn within(hits: Vec<Recalled>, max_tokens: u32) -> Result<Vec<Recalled>> {
    let fits = |bytes: usize| tokens::estimate(bytes) <= u64::from(max_tokens);
    let (mut kept, mut used) = (Vec::new(), 2);
    for mut hit in hits {
        let mut bytes = json::to_line(&hit)?.len() + 1;
        if kept.is_empty() && !fits(used + bytes) {
            shorten(&mut hit, |bytes| fits(used + bytes + 1))?;
            bytes = json::to_line(&hit)?.len() + 1;
        }
        if fits(used + bytes) {
            used += bytes;
            kept.push(hit);
        }
    }
    Ok(kept)
}

/// Cuts a result until it fits or nothing is left to cut.
fn shorten(hit: &mut Recalled, fits: impl Fn(usize) -> bool) -> Result<()> {
    hit.cut = true;
    hit.context.clear();
    let text = |hit: &mut Recalled| hit.learning.as_mut().map(|learning| std::mem::take(&mut learning.text));
    let mut whole = text(hit).unwrap_or_default();
    let mut left = whole.len();
    loop {
        whole.truncate(whole.floor_char_boundary(left));
        if let Some(learning) = &mut hit.learning {
            learning.text.clone_from(&whole);
        }
        if fits(json::to_line(hit)?.len()) {
            return Ok(());
        }
        if left == 0 {
            if hit.snippet.is_empty() {
                return Ok(());
            }
            hit.explain = None;
            hit.snippet.truncate(hit.snippet.floor_char_boundary(hit.snippet.len() / 2));
        }
        left = left * 3 / 4;
    }
}
