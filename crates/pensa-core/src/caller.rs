//! The caller of an operation, and what that caller may do.

use crate::issue::Origin;
use crate::op::Access;
use crate::project::ProjectName;

/// The actor of automatic changes, such as expired leases or the import in a fresh clone.
pub const SYSTEM: &str = "pensa";

/// On whose behalf an operation runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub actor: String,
    /// The id of the token in the request to a server.
    pub token: Option<String>,
    /// The highest access that this caller has.
    pub may: Access,
    /// The session, run and host that the caller claims to come from.
    pub origin: Origin,
    /// The project to which the caller's token limits operations on the server itself.
    pub project: Option<ProjectName>,
    /// Whether the caller asked to store texts without redacting secrets.
    pub no_redact: bool,
}

impl Caller {
    /// A caller with direct access to the store's files, who may do anything.
    pub fn local(actor: &str) -> Self {
        Self {
            actor: actor.to_owned(),
            token: None,
            may: Access::Operate,
            origin: Origin::default(),
            project: None,
            no_redact: false,
        }
    }

    /// The caller of automatic changes.
    pub fn system() -> Self {
        Self::local(SYSTEM)
    }
}
