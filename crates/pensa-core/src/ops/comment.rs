//! Operations on comments.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::comment::Comment;
use crate::id::IssueRef;
use crate::op::{Access, Op, Route};

/// Record an observation about an issue
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
    /// What to say; - reads it from standard input
    #[arg(allow_hyphen_values = true)]
    pub text: String,
}

impl Op for Add {
    type Output = Comment;
    const NAME: &'static str = "comment.add";
    const ROUTE: Route = Route::post("/issues/{id}/comments").creates();
    const ACCESS: Access = Access::Write;
}

/// List what was said about an issue, oldest first
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
}

impl Op for List {
    type Output = Vec<Comment>;
    const NAME: &'static str = "comment.list";
    const ROUTE: Route = Route::get("/issues/{id}/comments");
    const ACCESS: Access = Access::Read;
}
