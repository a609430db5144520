//! Serves a few tools over the Model Context Protocol, on standard input and output or over HTTP.
//!
//! Each tool calls operations of the catalog and tells their answers in a few lines. Who may call is left to the
//! transports, what an operation does to the engine.

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

/// The store behind a server, as one caller has it.
pub trait Calls: Send + Sync + 'static {
    /// Runs one operation.
    fn call<O>(&self, op: O) -> impl Future<Output = Result<O::Output>> + Send
    where
        O: Execute,
        O::Output: Send;

    /// The name under which changes are made.
    fn actor(&self) -> impl Future<Output = Result<String>> + Send;
}
