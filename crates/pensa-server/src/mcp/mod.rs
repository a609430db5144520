//! Serves a few tools over the Model Context Protocol, on standard input and output or over HTTP.
//!
//! Each tool calls operations of the catalog and formats their output as short text.

mod frame;
mod handler;
pub(crate) mod http;
mod page;
mod prompt;
mod resources;
mod stdio;
mod tools;

use pensa_core::Result;
use pensa_engine::Execute;

pub use stdio::serve_stdio;

/// Calls operations on a store for one caller.
pub trait StoreCalls: Send + Sync + 'static {
    /// Runs one operation.
    fn call<O>(&self, op: O) -> impl Future<Output = Result<O::Output>> + Send
    where
        O: Execute,
        O::Output: Send;

    /// The actor of changes.
    fn actor(&self) -> impl Future<Output = Result<String>> + Send;

    /// The files that the caller works on. Only a server beside the work tree knows them.
    fn files_at_hand(&self) -> impl Future<Output = Vec<String>> + Send {
        async { Vec::new() }
    }
}
