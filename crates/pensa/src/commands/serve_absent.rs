//! Replaces `serve` and `mcp` in a build without the feature `server`.

use pensa_core::{Code, Error, Result};

use super::daemon::DaemonArgs;
use super::server::ServeArgs;
use super::web::WebArgs;
use crate::cli::GlobalOptions;
use crate::output::Output;

pub(super) fn daemon(_: &GlobalOptions, _: Output, _: DaemonArgs) -> Result<()> {
    Err(not_built("pn daemon"))
}

pub(super) fn team(_: Output, _: &ServeArgs) -> Result<()> {
    Err(not_built("pn serve"))
}

pub(super) fn web(_: &GlobalOptions, _: Output, _: &WebArgs) -> Result<()> {
    Err(not_built("pn web"))
}

pub(super) fn mcp(_: &GlobalOptions) -> Result<()> {
    Err(not_built("pn mcp"))
}

fn not_built(command: &str) -> Error {
    Error::new(Code::Unsupported, format!("this pn was built without {command}"))
        .hint("build it with --features server")
}
