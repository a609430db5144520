//! Operations on links between issues.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{IssueId, IssueRef};
use crate::issue::{LinkKind, LinkedIssue};
use crate::op::op;

/// Link two issues
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
    /// The other issue
    #[arg(value_name = "OTHER")]
    pub to: IssueRef,
    /// How the first relates to the other
    #[arg(short, long, default_value = "relates")]
    #[serde(default = "LinkKind::default_kind")]
    pub kind: LinkKind,
}

/// List the links of an issue, in both directions
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
}

/// Remove the links between two issues
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
    /// The other issue
    #[arg(value_name = "OTHER")]
    pub to: IssueRef,
    /// Only links of this kind
    #[arg(short, long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<LinkKind>,
}

/// What happened to the links of two issues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkChange {
    /// `added` or `removed`
    pub status: String,
    pub id: IssueId,
    pub to: IssueId,
    pub kinds: Vec<LinkKind>,
}

op!(Add => LinkChange, "link.add", post("/issues/{id}/links").creates(), Write);
op!(List => Vec<LinkedIssue>, "link.list", get("/issues/{id}/links"), Read);
op!(Remove => LinkChange, "link.remove", delete("/issues/{id}/links/{to}"), Write);
