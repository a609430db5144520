//! A comment: what an actor observed about an issue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::entity;
use crate::error::Result;
use crate::id::{CommentId, IssueId};
use crate::issue::Extra;
use crate::sync::{Name, Noun};
use crate::text;
use crate::time::Timestamp;

/// What an actor observed about an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Comment {
    pub id: CommentId,
    pub issue_id: IssueId,
    pub actor: String,
    pub text: String,
    pub created_at: Timestamp,
    /// Fields that this version does not know, kept for those who do
    #[serde(flatten)]
    pub extra: Extra,
}

entity!(Comment: "comment" in "comments", keys 1, owner issue_id { id, issue_id, actor, text, created_at, extra: Extra });

impl Noun for Comment {
    fn adopt(self) -> Result<Self> {
        text::fits_block("comment", &self.text)?;
        Ok(self)
    }

    fn extra(&self) -> &Extra {
        &self.extra
    }

    fn version(&self) -> Option<(Name, Option<Timestamp>)> {
        Some((Name { key: self.id.to_string(), birth: Some(self.created_at) }, None))
    }
}
