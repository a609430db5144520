//! Operations on work: what an actor is doing, and in which steps.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::id::IssueRef;
use crate::op::op;
use crate::time::Span;
use crate::work::{Step, Work, WorkKind, WorkStatus};

/// Start work on an issue, or on a new one; your current work is paused
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// An issue, or the title of a new one
    #[arg(value_name = "ISSUE|TITLE")]
    pub what: String,
    /// What it means for users [default: from the issue's type]
    #[arg(short, long, value_name = "KIND")]
    pub kind: Option<WorkKind>,
    /// Its branch
    #[arg(short, long, value_name = "NAME")]
    pub branch: Option<String>,
    /// A step; may be given again
    #[arg(short, long = "step", value_name = "TEXT")]
    #[serde(default, skip_serializing_if = "Vec::is_empty", alias = "step")]
    pub steps: Vec<String>,
    /// Let the claim expire unless renewed: 30s, 15m, 12h, 1d
    #[arg(long, value_name = "TIME")]
    pub ttl: Option<Span>,
}

op!(Start => Work, "work.start", post("/work/start"), Write);

/// Show the current work of an actor, or the work on an issue; null if there is none
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Current {
    /// The actor, if no issue is given
    #[arg(skip)]
    pub actor: String,
    /// The issue
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueRef>,
}

op!(Current => Option<Work>, "work.current", get("/work/current"), Read);

/// Pause work; the issue stays claimed
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Pause {
    /// Its issue [default: your current work]
    #[arg(long, value_name = "ID")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueRef>,
}

op!(Pause => Work, "work.pause", post("/work/pause"), Write);

/// Resume paused work
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Resume {
    /// Which issue [default: the one you have paused]
    #[arg(value_name = "ISSUE")]
    pub issue: Option<IssueRef>,
    /// Take it over from the actor who claimed it
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub take: bool,
    /// Take it over even from a live lease or another session
    #[arg(short, long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Let the claim expire unless renewed: 30s, 15m, 12h, 1d
    #[arg(long, value_name = "TIME")]
    pub ttl: Option<Span>,
}

op!(Resume => Work, "work.resume", post("/work/resume"), Write);

/// Finish work and close its issue
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Done {
    /// Its issue [default: your current work]
    #[arg(long, value_name = "ID")]
    pub issue: Option<IssueRef>,
    /// The close reason of the issue
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub reason: Option<String>,
    /// Even if another holds the claim
    #[arg(short, long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

op!(Done => Work, "work.done", post("/work/done"), Write);

/// Add steps to work
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct AddSteps {
    /// The steps
    #[arg(value_name = "TEXT", required = true)]
    pub steps: Vec<String>,
    /// Its issue [default: your current work]
    #[arg(long, value_name = "ID")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueRef>,
}

op!(AddSteps => Work, "work.step.add", post("/work/steps"), Write);

/// Mark a step as done
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct FinishStep {
    /// Its number, from 1 [default: the first that is not done]
    #[arg(value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none", alias = "n")]
    pub number: Option<u32>,
    /// Its issue [default: your current work]
    #[arg(long, value_name = "ID")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueRef>,
}

op!(FinishStep => Work, "work.step.done", post("/work/steps/done"), Write);

/// List the steps of work
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Steps {
    /// The actor, if no issue is given
    #[arg(skip)]
    pub actor: String,
    /// Its issue [default: your current work]
    #[arg(long, value_name = "ID")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueRef>,
}

op!(Steps => Vec<Step>, "work.step.list", get("/work/steps"), Read);

/// List work, most recently changed first
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Only work with this status
    #[arg(short, long)]
    pub status: Option<WorkStatus>,
    /// Only work of this actor
    #[arg(id = "of", long, value_name = "NAME")]
    pub actor: Option<String>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(alias = "n")]
    pub limit: Option<u32>,
}

op!(List => Vec<Work>, "work.list", get("/work"), Read);
