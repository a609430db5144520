//! A comment: what an actor observed about an issue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{CommentId, IssueId};
use crate::time::Timestamp;

/// What an actor observed about an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Comment {
    pub id: CommentId,
    pub issue_id: IssueId,
    pub actor: String,
    pub text: String,
    pub created_at: Timestamp,
}
