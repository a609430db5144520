//! A comment: what an actor observed about an issue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::entity;
use crate::error::Result;
use crate::id::{CommentId, IssueId};
use crate::issue::Extra;
use crate::sync::{RecordIdentity, SyncEntity};
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
    /// Fields unknown to this version, kept so that a newer version does not lose them
    #[serde(flatten)]
    pub extra: Extra,
}

entity!(Comment: "comment" in "comments", keys 1, owner issue_id, computed [search_text] { id, issue_id, actor, text, created_at, extra: Extra });

impl SyncEntity for Comment {
    fn normalise(self) -> Result<Self> {
        text::fits_block("comment", &self.text)?;
        Ok(self)
    }

    fn extra(&self) -> &Extra {
        &self.extra
    }

    fn version(&self) -> Option<(RecordIdentity, Option<Timestamp>)> {
        Some((RecordIdentity { key: self.id.to_string(), birth: Some(self.created_at) }, None))
    }
}
