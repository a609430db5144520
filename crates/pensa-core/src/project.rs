//! The projects of a team server, and the tokens with which people and agents use them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::closed_enum::closed_enum;
use crate::entity;
use crate::error::{Error, Result};
use crate::id::TokenId;
use crate::op::Access;
use crate::text_form::checked_text;
use crate::time::Timestamp;

/// The name of a project on a server. It is part of URLs, so it is short and plain.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, with = "String")]
pub struct ProjectName(String);

impl ProjectName {
    const MAX: usize = 64;
}

checked_text!(ProjectName);

impl TryFrom<String> for ProjectName {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let starts_well = text.bytes().next().is_some_and(plain);
        if starts_well && text.len() <= Self::MAX && text.bytes().all(|byte| plain(byte) || b"-_.".contains(&byte)) {
            return Ok(Self(text));
        }
        Err(Error::invalid(format!("not the name of a project: {text:?}"))
            .hint("up to 64 of a-z, 0-9, -, _ and ., the first a letter or a digit"))
    }
}

/// A project of a server: a name for a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Project {
    pub name: ProjectName,
    pub store_id: String,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Timestamp>,
}

entity!(Project: "project" in "projects", keys 1 { name, store = store_id, created_at, archived_at });

closed_enum! {
    /// What a token allows in one project, each role including the one before it; or, as `operator`, on the server itself.
    Role "no such role: {:?}" hint "viewer, agent, maintainer, admin or operator" {
        /// Reads
        Viewer "viewer",
        /// Also creates, claims, closes, comments
        Agent "agent",
        /// Also deletes, undoes operations of others, imports authoritatively, collects garbage
        Maintainer "maintainer",
        /// Also manages the tokens of the project and reads its audit
        Admin "admin",
        /// Manages the server's projects, tokens and audit; has no project, and opens none
        #[value(skip)]
        Operator "operator",
    }
}

impl Role {
    /// The highest access of this role.
    pub fn may(self) -> Access {
        match self {
            Role::Viewer => Access::Read,
            Role::Agent => Access::Write,
            Role::Maintainer => Access::Maintain,
            Role::Admin => Access::Admin,
            Role::Operator => Access::Operate,
        }
    }
}

/// A token, without its secret.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Token {
    pub id: TokenId,
    /// Its project; none for an operator's
    pub project: Option<ProjectName>,
    pub role: Role,
    pub created_at: Timestamp,
    pub created_by: String,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

impl Token {
    /// Whether the token is neither revoked nor expired.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}

/// A new token. Only this answer contains its secret.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewToken {
    pub id: TokenId,
    /// The secret
    pub token: String,
    /// Its project; none for an operator's
    pub project: Option<ProjectName>,
    pub role: Role,
    pub expires_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_may_do_more_than_the_previous_one() {
        for pair in Role::ALL.windows(2) {
            assert!(pair[0].may() < pair[1].may(), "{pair:?}");
        }
        for role in Role::ALL {
            assert_eq!(role.as_str().parse::<Role>().expect("a role"), role);
        }
    }

    #[test]
    fn project_names_are_checked() {
        for good in ["web", "a", "0", "web-2.api_x", &"a".repeat(64)] {
            assert_eq!(good.parse::<ProjectName>().expect(good).as_str(), good);
        }
        for bad in ["", "Web", "-web", ".web", "..", "a/b", "a b", "ä", "a\0", &"a".repeat(65)] {
            assert!(bad.parse::<ProjectName>().is_err(), "{bad:?}");
        }
    }
}
