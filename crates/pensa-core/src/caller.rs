//! Who asks for an operation, and what that caller may do.

use crate::issue::Origin;
use crate::op::Access;
use crate::project::ProjectName;

/// The actor of what happens by itself: leases that run out, a fresh clone that imports.
pub const SYSTEM: &str = "pensa";

/// On whose behalf an operation runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub actor: String,
    /// The id of the token that a server was shown.
    pub token: Option<String>,
    /// The most that this caller may do.
    pub may: Access,
    /// The session, run and host that it says it comes from.
    pub origin: Origin,
    /// The project to which a token confines what its holder may do with the server itself.
    pub project: Option<ProjectName>,
    /// Whether this caller asks for its texts to be kept with the secrets in them.
    pub no_redact: bool,
}

impl Caller {
    /// Somebody who has the store itself in hand, and so may do anything with it.
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

    /// What happens by itself.
    pub fn system() -> Self {
        Self::local(SYSTEM)
    }
}
