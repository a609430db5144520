//! The operation that releases a loop whose runner is gone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::id::LoopRef;
use crate::loops::Loop;
use crate::op::op;

/// Release a running or rebasing loop whose runner is gone
///
/// The loop can be claimed again, or fails if its worktree is gone too. A loop whose status has changed since is left
/// alone.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recover {
    /// Which loop: its id, or the beginning of it
    pub id: LoopRef,
    /// Whether its worktree is gone
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub work_is_gone: bool,
    /// Only if it runs on this machine
    pub if_host: Option<String>,
    /// Only if this process runs it
    pub if_pid: Option<i64>,
}

op!(Recover => Loop, "loop.recover", post("/loops/{id}/recover"), Write);
