//! The operation that gives back a loop whose runner is gone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::id::LoopRef;
use crate::loops::Loop;
use crate::op::op;

/// Give back a loop that runs or is rebased and whose runner is gone: it can be claimed again, or has failed if its work is
/// gone too. One that stands elsewhere by now stays as it is
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recover {
    /// Which loop: its id, or the beginning of it
    pub id: LoopRef,
    /// Whether the place of its work is gone
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub work_is_gone: bool,
    /// Only if it runs on this machine
    pub if_host: Option<String>,
    /// Only if this process runs it
    pub if_pid: Option<i64>,
}

op!(Recover => Loop, "loop.recover", post("/loops/{id}/recover"), Write);
