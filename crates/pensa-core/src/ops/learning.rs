//! Operations on learnings.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::error::Result;
use crate::id::{IssueRef, LearningId, LearningRef, SessionRef};
use crate::learning::{Impact, Kind, Learning, LearningDetail};
use crate::op::op;
use crate::recall::{Recalled, TextKind};
use crate::session::Object;
use crate::time::{Since, Span};

/// Remember a finding with its source; near-duplicates are merged
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Remember {
    /// The finding; - reads it from standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub text: String,
    /// Its kind [default: pattern]
    #[arg(short, long)]
    pub kind: Option<Kind>,
    /// A tag; may be given again
    #[arg(long = "tag", value_name = "WORD")]
    #[serde(default, skip_serializing_if = "Vec::is_empty", alias = "tag")]
    pub tags: Vec<String>,
    /// A file it is about; may be given again
    #[arg(long = "file", value_name = "PATH")]
    #[serde(default, skip_serializing_if = "Vec::is_empty", alias = "file")]
    pub files: Vec<String>,
    /// The issue it came from
    #[arg(long, value_name = "ID")]
    pub issue: Option<IssueRef>,
    /// The work it came from, by its issue
    #[arg(long, value_name = "ID")]
    pub work: Option<IssueRef>,
    /// The session it came from
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionRef>,
    /// How much it matters [default: medium]
    #[arg(long)]
    pub impact: Option<Impact>,
    /// How long it is valid, such as 90d
    #[arg(long, value_name = "DURATION")]
    pub expires: Option<Span>,
    /// The learning that it replaces
    #[arg(long, value_name = "LEARNING")]
    pub supersedes: Option<LearningRef>,
    /// Do not redact secrets
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_redact: bool,
}

op!(Remember => Remembered, "learning.remember", post("/learnings").creates(), Write);

/// A stored learning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remembered {
    #[serde(flatten)]
    pub learning: Learning,
    /// True if it was merged into an existing learning; else absent
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merged: bool,
    /// How many secrets were replaced
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redactions: i64,
}

fn is_zero(count: &i64) -> bool {
    *count == 0
}

/// Import learnings of another tool, by work: all of them, or none
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportLearnings {
    /// Each with lists of patterns, approaches, decisions and gotchas in `learnings`
    pub records: Vec<Object>,
    /// Do not redact secrets
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_redact: bool,
}

op!(ImportLearnings => Vec<Remembered>, "learning.take", post("/learnings/take").creates(), Write);

/// Search everything that was written, best match first
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Recall {
    /// Words to search for
    #[arg(value_name = "QUERY", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none", alias = "query")]
    pub q: Option<String>,
    /// What to search: learnings, issues, comments, sessions, releases and commits, with commas
    /// [default: learnings,issues,comments]
    #[arg(long = "in", value_name = "KINDS")]
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Only what was written since then, such as 7d or 2026-02-01
    #[arg(long, value_name = "WHEN")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Since>,
    /// Only what this actor or agent wrote
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Only what has this tag or label; may be given again, then it must have all
    #[arg(long = "tag", value_name = "WORD")]
    #[serde(skip_serializing_if = "Vec::is_empty", alias = "tag")]
    pub tags: Vec<String>,
    /// Only what is about this file; may be given again, then one of them is enough
    #[arg(long = "file", value_name = "PATH")]
    #[serde(skip_serializing_if = "Vec::is_empty", alias = "file")]
    pub files: Vec<String>,
    /// At most this many tokens, at four bytes each
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// At most this many [default: 10]
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none", alias = "n")]
    pub limit: Option<u32>,
    /// Show what made each score
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub explain: bool,
}

op!(Recall => Vec<Recalled>, "learning.recall", get("/learnings/recall"), Read);

impl Recall {
    /// A search of learnings only.
    pub fn learnings() -> Self {
        Self { within: Some(TextKind::Learning.to_string()), ..Self::default() }
    }

    /// What is searched.
    pub fn kinds(&self) -> Result<Vec<TextKind>> {
        let Some(within) = &self.within else {
            return Ok(vec![TextKind::Learning, TextKind::Issue, TextKind::Comment]);
        };
        let mut kinds = within.split(',').map(|kind| kind.trim().parse()).collect::<Result<Vec<TextKind>>>()?;
        kinds.sort_unstable();
        kinds.dedup();
        Ok(kinds)
    }
}

/// List valid learnings, newest first
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Only those of this kind
    #[arg(short, long)]
    pub kind: Option<Kind>,
    /// Only those with this tag
    #[arg(long, value_name = "WORD")]
    pub tag: Option<String>,
    /// Only those of this issue or of the work on it
    #[arg(long, value_name = "ID")]
    pub issue: Option<IssueRef>,
    /// Also those that have expired or were superseded
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(alias = "n")]
    pub limit: Option<u32>,
}

op!(List => Vec<LearningDetail>, "learning.list", get("/learnings"), Read);

/// Show a learning
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// Which learning: its id, or the beginning of it
    #[arg(value_name = "LEARNING")]
    pub id: LearningRef,
}

op!(Show => LearningDetail, "learning.show", get("/learnings/{id}"), Read);

/// Confirm that a learning is still valid, which makes it fresh
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Verify {
    /// Which learning: its id, or the beginning of it
    #[arg(value_name = "LEARNING")]
    pub id: LearningRef,
    /// How long it is valid from now on
    #[arg(long, value_name = "DURATION")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Span>,
}

op!(Verify => Learning, "learning.verify", post("/learnings/{id}/verify"), Write);

/// Delete a learning, in every clone
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Forget {
    /// Which learning: its id, or the beginning of it
    #[arg(value_name = "LEARNING")]
    pub id: LearningRef,
}

op!(Forget => Forgotten, "learning.forget", delete("/learnings/{id}"), Maintain);

/// A deleted learning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Forgotten {
    /// Always `deleted`
    pub status: String,
    pub id: LearningId,
}
