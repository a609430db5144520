//! Operations that keep learnings clean.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::id::LearningRef;
use crate::learning::contradiction::Contradiction;
use crate::learning::upkeep::{LearningStats, ReviewItem};
use crate::learning::{FileMove, Learning};
use crate::op::op;
use crate::time::Span;

/// Note that a learning was of use
///
/// It counts once a day for each actor.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Useful {
    /// Which learning: its id, or the beginning of it
    #[arg(value_name = "LEARNING")]
    pub id: LearningRef,
}

op!(Useful => Learning, "learning.useful", post("/learnings/{id}/useful"), Write);

/// List learnings that contradict each other, newest first
///
/// Two learnings about the same thing contradict each other if one negates what the other says, or if a value differs. Keep
/// the right one with pn learning supersede, or both with pn learning agree.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Conflicts {
    /// Only those of this learning
    #[arg(value_name = "LEARNING")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<LearningRef>,
    /// At most this many [default: 50]
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none", alias = "n")]
    pub limit: Option<u32>,
}

op!(Conflicts => Vec<Contradiction>, "learning.conflicts", get("/learnings/conflicts"), Read);

/// Note that two learnings do not contradict each other
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Agree {
    /// Which learning
    #[arg(value_name = "LEARNING")]
    pub id: LearningRef,
    /// The one that it agrees with
    #[arg(value_name = "OTHER")]
    pub other: LearningRef,
}

op!(Agree => Learning, "learning.agree", post("/learnings/{id}/agree"), Write);

/// Replace a learning by another one, which is recalled instead
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Supersede {
    /// The learning that no longer holds
    #[arg(value_name = "LEARNING")]
    pub id: LearningRef,
    /// The learning that holds
    #[arg(long, value_name = "LEARNING")]
    pub by: LearningRef,
}

op!(Supersede => Learning, "learning.supersede", post("/learnings/{id}/supersede"), Write);

/// Merge a learning into another one that says the same; it notes where both came from
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Merge {
    /// The learning that goes
    #[arg(value_name = "LEARNING")]
    pub id: LearningRef,
    /// The learning that stays
    #[arg(long, value_name = "LEARNING")]
    pub into: LearningRef,
}

op!(Merge => Learning, "learning.merge", post("/learnings/{id}/merge"), Maintain);

/// List learnings to look at again: their files are gone, others contradict them, nobody used or verified them for long
///
/// What still holds: pn learning verify. What does not: pn learning forget.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Review {
    /// After how long without use [default: 180d]
    #[arg(long, value_name = "DURATION")]
    pub unused_for: Option<Span>,
    /// Files that are gone; the caller looks, since a store knows no work tree
    #[arg(skip)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// At most this many [default: 50]
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(alias = "n")]
    pub limit: Option<u32>,
}

op!(Review => Vec<ReviewItem>, "learning.review", post("/learnings/review"), Read);

/// List the files that valid learnings are about
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Files {}

op!(Files => Vec<String>, "learning.files", get("/learnings/files"), Read);

/// List valid learnings about files, newest first
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct About {
    /// Paths; a name alone stands for every file of that name
    pub files: Vec<String>,
    /// Only those of this kind
    pub kind: Option<crate::learning::Kind>,
}

op!(About => Vec<Learning>, "learning.about", post("/learnings/about"), Read);

/// Have learnings follow files that were renamed
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveFiles {
    /// Applied in this order
    pub moves: Vec<FileMove>,
}

op!(MoveFiles => Vec<Learning>, "learning.move_files", post("/learnings/files/move"), Write);

/// Count learnings by kind, use and state
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Stats {}

op!(Stats => LearningStats, "learning.stats", get("/learnings/stats"), Read);
