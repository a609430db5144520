//! Operations on the tokens of a server.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::TokenId;
use crate::op::{Access, Op, Route, Scope};
use crate::project::{NewToken, ProjectName, Role, Token};
use crate::time::Span;

/// Make a token for a project; its secret is shown this once
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// The project it opens
    #[arg(long, value_name = "PROJECT")]
    pub project: ProjectName,
    /// How much its holder may do
    #[arg(long, value_enum)]
    pub role: Role,
    /// How long it is good for, such as 90d [default: until it is revoked]
    #[arg(long, value_name = "DURATION")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Span>,
}

impl Op for Create {
    type Output = NewToken;
    const NAME: &'static str = "token.create";
    const ROUTE: Route = Route::post("/tokens").creates();
    const ACCESS: Access = Access::Admin;
    const SCOPE: Scope = Scope::Server;
    const TELLS_SECRET: bool = true;
}

/// List the tokens of a server, without their secrets
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Only those of this project
    #[arg(long, value_name = "PROJECT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectName>,
    /// Also those that have expired or were revoked
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
}

impl Op for List {
    type Output = Vec<Token>;
    const NAME: &'static str = "token.list";
    const ROUTE: Route = Route::get("/tokens");
    const ACCESS: Access = Access::Admin;
    const SCOPE: Scope = Scope::Server;
}

/// Make a token good for nothing, on every server within seconds
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Revoke {
    /// Its id, as pn token list shows it
    #[arg(value_name = "ID")]
    pub id: TokenId,
}

impl Op for Revoke {
    type Output = Token;
    const NAME: &'static str = "token.revoke";
    const ROUTE: Route = Route::post("/tokens/{id}/revoke");
    const ACCESS: Access = Access::Admin;
    const SCOPE: Scope = Scope::Server;
}
