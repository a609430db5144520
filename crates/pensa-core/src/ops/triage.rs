//! Operations that show which of the issues that are not closed matter, and why.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::id::IssueRef;
use crate::op::op;
use crate::time::{Since, Span};
use crate::triage::chart::Chart as Days;
use crate::triage::diff::Diff as Changes;
use crate::triage::{Impact as Closing, Insights as Found, Network, Plan as Tracks, Why as Reasons};

/// Default number of entries in each list.
const DEFAULT: u32 = 10;
/// A claim without a change for this long is stale: three days.
const STALE: Span = Span::from_millis(3 * 86_400_000);

/// Show which issues hold up the most, with figures
///
/// Bottlenecks are on many of the shortest chains between others (betweenness); much depends on keystones (PageRank,
/// damping 0.85). Edges run from a waiting issue to the one it waits for; closed issues do not count.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Insights {
    /// At most this many of each kind [default: 10]
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(alias = "n")]
    pub limit: Option<u32>,
    /// Call a claim stale after this long without a change [default: 3d]
    #[arg(long, value_name = "TIME")]
    pub stale: Option<Span>,
}

op!(Insights => Found, "triage.insights", get("/insights"), Read);

impl Insights {
    pub fn most(&self) -> usize {
        self.limit.unwrap_or(DEFAULT) as usize
    }

    pub fn stale(&self) -> Span {
        self.stale.unwrap_or(STALE)
    }
}

/// Split the issues that are not closed into tracks to work on in parallel
///
/// Every issue is in one track. Without --agents, tracks do not wait for each other; with it, each agent has one. The
/// forecast says when all may be closed at the daily rate of the last 90 days.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Plan {
    /// Make this many tracks, one for each agent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[schemars(range(min = 1, max = 1000))]
    pub agents: Option<u32>,
    /// At most this many to start now [default: 10, or one for each agent]
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(alias = "n")]
    pub limit: Option<u32>,
}

op!(Plan => Tracks, "triage.plan", get("/plan"), Read);

impl Plan {
    pub fn most(&self) -> usize {
        self.limit.or(self.agents).unwrap_or(DEFAULT) as usize
    }
}

/// Explain why an issue is ready or blocked, and why it is ranked as it is
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Why {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
}

op!(Why => Reasons, "triage.why", get("/issues/{id}/why"), Read);

/// Show which issues become ready when an issue is closed, and then those after it
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Impact {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
}

op!(Impact => Closing, "triage.impact", get("/issues/{id}/impact"), Read);

/// Show which issues changed between two times, from the log
///
/// Shows only the net difference of each issue: a change that was reverted is left out.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Diff {
    /// The start: how long ago, or a time
    #[arg(long, value_name = "TIME")]
    pub since: Since,
    /// The end: how long ago, or a time [default: now]
    #[arg(long, value_name = "TIME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Since>,
}

op!(Diff => Changes, "triage.diff", get("/diff"), Read);

/// Show the issues that are not closed, and their dependencies
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Graph {
    /// Only issues that match this query: 'label:auth -assignee:ben p<=1 due<+7d text', or a view: @NAME
    #[arg(value_name = "QUERY")]
    #[serde(alias = "query")]
    pub q: Option<String>,
    /// At most this many of those that hold up the most [default: 60]
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(alias = "n")]
    pub limit: Option<u32>,
}

op!(Graph => Network, "triage.graph", get("/graph"), Read);

/// Default number of issues in a drawing.
const DRAWN: u32 = 60;

impl Graph {
    pub fn most(&self) -> usize {
        self.limit.unwrap_or(DRAWN) as usize
    }
}

/// Count open and closed issues day by day, and how long each took
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Chart {
    /// The start: how long ago, or a time [default: 30d]
    #[arg(long, value_name = "TIME")]
    pub since: Option<Since>,
    /// The end: how long ago, or a time [default: now]
    #[arg(long, value_name = "TIME")]
    pub until: Option<Since>,
}

op!(Chart => Days, "triage.chart", get("/chart"), Read);

/// The default start of a chart.
pub const CHARTED: Since = Since::Ago(Span::from_millis(30 * 86_400_000));
