//! Defines what the routes know about an authorized request: its store and its caller.

use std::sync::Arc;

use pensa_engine::Caller;

use crate::served_store::ServedStore;
use crate::team::ServerState;

/// Passed from the service to the routes as a request extension.
#[derive(Debug, Clone)]
pub(crate) struct RequestContext {
    /// The store; `None` if the path names no project.
    pub(crate) store: Option<Arc<ServedStore>>,
    pub(crate) caller: Caller,
    /// The state of a team server; `None` in a daemon.
    pub(crate) server: Option<Arc<ServerState>>,
    /// The hash of the token, checked again while an event stream is open.
    pub(crate) token_hash: Option<TokenHash>,
}

/// SHA-256 of a token's secret.
pub(crate) type TokenHash = [u8; 32];

/// The operation that produced a response, for logs and metrics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OperationLabel(pub(crate) &'static str);
