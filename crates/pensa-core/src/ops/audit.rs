//! The operation that lists who did what with which token.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with_macros::skip_serializing_none;

use crate::id::TokenId;
use crate::op::{Scope, op};
use crate::project::ProjectName;
use crate::time::{Since, Timestamp};

/// List who did what with which token in your project, or as an operator on the server, newest first
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Audit {
    /// Only entries of this project
    #[arg(long, value_name = "PROJECT")]
    pub project: Option<ProjectName>,
    /// Only entries of this token
    #[arg(long, value_name = "ID")]
    pub token: Option<TokenId>,
    /// Only entries since then: a duration such as 7d, or a time
    #[arg(long, value_name = "WHEN")]
    pub since: Option<Since>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<u32>,
}

op!(Audit => Vec<AuditLine>, "audit.list", get("/audit"), Admin, {
    const SCOPE: Scope = Scope::Server;
});

/// One entry of the audit log.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditLine {
    pub at: Timestamp,
    /// The project; none for the server itself
    pub project: Option<ProjectName>,
    /// The token; none if the caller had direct access to the store or database
    pub token: Option<TokenId>,
    pub actor: String,
    pub event_type: String,
    /// What was changed: `issue`, `project`, `token`
    pub subject_kind: String,
    pub subject_id: String,
    /// The event's number in the log of its store
    pub event: i64,
    /// What changed, each field as `{"old":…,"new":…}`
    pub detail: Map<String, Value>,
}
