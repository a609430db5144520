//! What a request is about once it was let in: the store it means, and on whose behalf it comes.

use std::sync::Arc;

use pensa_engine::Caller;

use crate::served::Served;
use crate::team::Desk;

/// The circumstances of one request, handed from the service to the routes.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    /// The store; none at an address that names no project.
    pub(crate) store: Option<Arc<Served>>,
    pub(crate) caller: Caller,
    /// The server's own affairs, if there is a server around the store.
    pub(crate) desk: Option<Arc<Desk>>,
    /// What the caller showed to be let in, to be looked at again while a stream goes on.
    pub(crate) pass: Option<Pass>,
}

/// The hash of the secret that a caller has shown.
pub(crate) type Pass = [u8; 32];

/// Which operation answered, for logs and counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnsweredBy(pub(crate) &'static str);
