//! The operation that briefs an agent.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::briefing::{Briefing, Format};
use crate::op::op;

/// Show what an agent needs to continue: work, claims, the queue, learnings and releases
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Brief {
    /// At most this many tokens, at four bytes each [default: 2000]
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u32>,
    /// The format to which the limit applies [default: md]
    #[arg(long, value_name = "FORM")]
    pub format: Option<Format>,
    /// The actor to brief [default: everybody]
    #[arg(skip)]
    pub who: Option<String>,
}

op!(Brief => Briefing, "context", get("/context"), Read);
