//! The operation that adds up what inferences cost.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::closed_enum::closed_enum;
use crate::id::IssueRef;
use crate::op::op;
use crate::session::Spent;
use crate::time::Since;

closed_enum! {
    /// What costs are grouped by.
    CostGroup "costs are not grouped by {:?}" {
        Issue "issue",
        Agent "agent",
        Run "run",
        Session "session",
        Model "model",
        Day "day",
    }
}

/// Add up the tokens of all sessions, and what they cost
///
/// Each message counts once. Prices are list prices, or those of the settings.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Cost {
    /// What to group by [default: model]
    #[arg(long, value_name = "WHAT")]
    pub by: Option<CostGroup>,
    /// From when on: how long ago, or a time
    #[arg(long, value_name = "TIME")]
    pub since: Option<Since>,
    /// Only sessions about this issue, and those of its runs
    #[arg(long, value_name = "ISSUE")]
    pub issue: Option<IssueRef>,
}

op!(Cost => CostReport, "cost", get("/cost"), Read);

/// What was spent, in groups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostReport {
    pub by: CostGroup,
    pub rows: Vec<CostRow>,
    pub total: Spent,
    /// Models without a price
    pub unpriced: Vec<String>,
    /// The day of the list prices
    pub prices_of: String,
}

/// What a group spent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostRow {
    /// The id, model or day; absent for what belongs to none
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What it is called, if it has a name
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(flatten)]
    pub spent: Spent,
}
