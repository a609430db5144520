//! Operations on comments.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::comment::Comment;
use crate::id::IssueRef;
use crate::op::op;

/// Add a comment to an issue
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
    /// The comment; - reads it from standard input
    #[arg(allow_hyphen_values = true)]
    pub text: String,
}

op!(Add => Comment, "comment.add", post("/issues/{id}/comments").creates(), Write);

/// List the comments on an issue, oldest first
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
}

op!(List => Vec<Comment>, "comment.list", get("/issues/{id}/comments"), Read);
