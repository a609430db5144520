//! Operations on learnings.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::id::{IssueRef, LearningId, LearningRef, SessionRef};
use crate::learning::recall::Hit;
use crate::learning::{Impact, Kind, Learning, LearningDetail};
use crate::op::op;
use crate::session::Object;
use crate::time::Span;

/// Remember a finding with its source; near-duplicates are merged
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Remember {
    /// What was found out; - reads it from standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub text: String,
    /// What kind of knowledge it is [default: pattern]
    #[arg(short, long)]
    pub kind: Option<Kind>,
    /// A word to find it by; may be given again
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
    /// The piece of work it came from
    #[arg(long, value_name = "ID")]
    pub work: Option<IssueRef>,
    /// The session it came from
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionRef>,
    /// How much it matters [default: medium]
    #[arg(long)]
    pub impact: Option<Impact>,
    /// For how long it holds, such as 90d
    #[arg(long, value_name = "DURATION")]
    pub expires: Option<Span>,
    /// The learning in whose place it is
    #[arg(long, value_name = "LEARNING")]
    pub supersedes: Option<LearningRef>,
    /// Keep secrets as they are
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_redact: bool,
}

op!(Remember => Remembered, "learning.remember", post("/learnings").creates(), Write);

/// A learning that was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remembered {
    #[serde(flatten)]
    pub learning: Learning,
    /// True if it was there already and was told again; else absent
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merged: bool,
    /// How many secrets were replaced
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redactions: i64,
}

fn is_zero(count: &i64) -> bool {
    *count == 0
}

/// Keep learnings that another tool wrote down, by piece of work: all of them, or none
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportLearnings {
    /// Each with lists of patterns, approaches, decisions and gotchas in `learnings`
    pub records: Vec<Object>,
    /// Keep secrets as they are
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_redact: bool,
}

op!(ImportLearnings => Vec<Remembered>, "learning.take", post("/learnings/take").creates(), Write);

/// Find what was found out, best first: by words, tags and files, and by how fresh and weighty it is
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Recall {
    /// Words to look for
    #[arg(value_name = "QUERY", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none", alias = "query")]
    pub q: Option<String>,
    /// Those with this word first; may be given again
    #[arg(long = "tag", value_name = "WORD")]
    #[serde(skip_serializing_if = "Vec::is_empty", alias = "tag")]
    pub tags: Vec<String>,
    /// Those about this file first; may be given again
    #[arg(long = "file", value_name = "PATH")]
    #[serde(skip_serializing_if = "Vec::is_empty", alias = "file")]
    pub files: Vec<String>,
    /// At most so many tokens, at four bytes each
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// At most this many [default: 10]
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none", alias = "n")]
    pub limit: Option<u32>,
}

op!(Recall => Vec<Hit>, "learning.recall", get("/learnings/recall"), Read);

/// List learnings that hold, newest first
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
    /// Only those of this issue or piece of work
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

/// Say that a learning still holds, which makes it fresh
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Verify {
    /// Which learning: its id, or the beginning of it
    #[arg(value_name = "LEARNING")]
    pub id: LearningRef,
    /// For how long it holds from now on
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

/// A learning that is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Forgotten {
    /// Always `deleted`
    pub status: String,
    pub id: LearningId,
}
