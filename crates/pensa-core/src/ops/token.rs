//! Operations on the tokens of a server.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::error::{Error, Result};
use crate::id::TokenId;
use crate::op::{Scope, op};
use crate::project::{NewToken, ProjectName, Role, Token};
use crate::time::Span;

/// Create a token for a project, or for operating the server; its secret is shown only once
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Create {
    /// Its project
    #[arg(long, value_name = "PROJECT", required_unless_present = "operator")]
    pub project: Option<ProjectName>,
    /// Its role in the project
    #[arg(long, value_enum, required_unless_present = "operator")]
    pub role: Option<Role>,
    /// Allow it to manage the projects, tokens and audit of the server, but to open no project
    #[arg(long, conflicts_with_all = ["project", "role"])]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub operator: bool,
    /// How long it is valid, such as 90d [default: until it is revoked]
    #[arg(long, value_name = "DURATION")]
    pub expires: Option<Span>,
}

impl Create {
    /// The requested role and its project; an operator has none.
    pub fn grants(&self) -> Result<(Role, Option<&ProjectName>)> {
        match (self.operator, &self.project, self.role) {
            (true, None, None) => Ok((Role::Operator, None)),
            (true, ..) => Err(Error::invalid("an operator's token opens no project and has no other role")
                .hint("give either operator, or project and role")),
            (false, _, Some(Role::Operator)) => Err(Error::invalid("the role operator is held in no project")
                .hint("--operator makes such a token, without a project and a role")),
            (false, Some(project), Some(role)) => Ok((role, Some(project))),
            (false, ..) => Err(Error::invalid("a token needs a project and a role")
                .hint("give both; or operator, for a token that manages the server")),
        }
    }
}

op!(Create => NewToken, "token.create", post("/tokens").creates(), Admin, {
    const SCOPE: Scope = Scope::Server;
    const RETURNS_SECRET: bool = true;
});

/// List the tokens of your project, or of the server as an operator, without their secrets
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Only those of this project
    #[arg(long, value_name = "PROJECT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectName>,
    /// Expired and revoked ones too
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
}

op!(List => Vec<Token>, "token.list", get("/tokens"), Admin, {
    const SCOPE: Scope = Scope::Server;
});

/// Revoke a token; every server refuses it within seconds
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Revoke {
    /// Its id; pn token list shows it
    #[arg(value_name = "ID")]
    pub id: TokenId,
}

op!(Revoke => Token, "token.revoke", post("/tokens/{id}/revoke"), Admin, {
    const SCOPE: Scope = Scope::Server;
});
