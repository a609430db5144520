//! Operations on work: what somebody is doing, and in which steps.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::id::IssueRef;
use crate::op::op;
use crate::time::Span;
use crate::work::{Step, Work, WorkKind, WorkStatus};

/// Begin to work on an issue, or on something new; what you did before is paused
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// An issue, or the title of a new one
    #[arg(value_name = "ISSUE|TITLE")]
    pub what: String,
    /// What it is for its users [default: what the issue's type says]
    #[arg(short, long, value_name = "KIND")]
    pub kind: Option<WorkKind>,
    /// The branch on which it is done
    #[arg(short, long, value_name = "NAME")]
    pub branch: Option<String>,
    /// A step of it; may be given again
    #[arg(short, long = "step", value_name = "TEXT")]
    #[serde(default, skip_serializing_if = "Vec::is_empty", alias = "step")]
    pub steps: Vec<String>,
    /// Let the claim end by itself unless renewed: 30s, 15m, 12h, 1d
    #[arg(long, value_name = "TIME")]
    pub ttl: Option<Span>,
}

op!(Start => Work, "work.start", post("/work/start"), Write);

/// Show what somebody is doing, or the work on an issue, whoever does it; null if there is none
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Current {
    /// Who, if no issue is named
    #[arg(skip)]
    pub actor: String,
    /// Work on this issue
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueRef>,
}

op!(Current => Option<Work>, "work.current", get("/work/current"), Read);

/// Pause work; the issue stays claimed
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Pause {
    /// Work on this issue [default: what you are doing]
    #[arg(long, value_name = "ID")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueRef>,
}

op!(Pause => Work, "work.pause", post("/work/pause"), Write);

/// Go on with work that was paused
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Resume {
    /// Which issue [default: the one that you have paused]
    #[arg(value_name = "ISSUE")]
    pub issue: Option<IssueRef>,
    /// Take it over from the actor who has claimed it
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub take: bool,
    /// Take it over even from a live lease or another session
    #[arg(short, long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Let the claim end by itself unless renewed: 30s, 15m, 12h, 1d
    #[arg(long, value_name = "TIME")]
    pub ttl: Option<Span>,
}

op!(Resume => Work, "work.resume", post("/work/resume"), Write);

/// Finish work and close its issue
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Done {
    /// Work on this issue [default: what you are doing]
    #[arg(long, value_name = "ID")]
    pub issue: Option<IssueRef>,
    /// How it was done
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub reason: Option<String>,
    /// Even if another holds the claim
    #[arg(short, long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

op!(Done => Work, "work.done", post("/work/done"), Write);

/// Add steps
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct AddSteps {
    /// What is to be done, a step each
    #[arg(value_name = "TEXT", required = true)]
    pub steps: Vec<String>,
    /// Work on this issue [default: what you are doing]
    #[arg(long, value_name = "ID")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueRef>,
}

op!(AddSteps => Work, "work.step.add", post("/work/steps"), Write);

/// Tick a step
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct FinishStep {
    /// Its number, counted from 1 [default: the first that is not done]
    #[arg(value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none", alias = "n")]
    pub number: Option<u32>,
    /// Work on this issue [default: what you are doing]
    #[arg(long, value_name = "ID")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueRef>,
}

op!(FinishStep => Work, "work.step.done", post("/work/steps/done"), Write);

/// List the steps of work
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Steps {
    /// Whose work, if no issue is named
    #[arg(skip)]
    pub actor: String,
    /// Work on this issue [default: what you are doing]
    #[arg(long, value_name = "ID")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueRef>,
}

op!(Steps => Vec<Step>, "work.step.list", get("/work/steps"), Read);

/// List work, what was touched last first
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Only what stands there
    #[arg(short, long)]
    pub status: Option<WorkStatus>,
    /// Only that of this actor
    #[arg(id = "of", long, value_name = "NAME")]
    pub actor: Option<String>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(alias = "n")]
    pub limit: Option<u32>,
}

op!(List => Vec<Work>, "work.list", get("/work"), Read);
