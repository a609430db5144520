//! The operation that tells an agent where things stand.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::briefing::{Briefing, Format};
use crate::op::op;

/// Tell where things stand within a budget: what I am doing, what is next, and what is known about it
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Brief {
    /// At most so many tokens, at four bytes each [default: 2000]
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u32>,
    /// In which form it must fit [default: md]
    #[arg(long, value_name = "FORM")]
    pub format: Option<Format>,
    /// For whom it is, if not for everybody
    #[arg(skip)]
    pub who: Option<String>,
}

op!(Brief => Briefing, "context", get("/context"), Read);
