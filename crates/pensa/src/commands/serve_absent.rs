//! Takes the place of `serve` and `mcp` in a build without the feature `server`.

use pensa_core::{Code, Error, Result};

use crate::cli::{Daemon, Options, Serve};
use crate::output::Output;

pub(super) fn daemon(_: &Options, _: Output, _: Daemon) -> Result<()> {
    Err(not_built("pn daemon"))
}

pub(super) fn team(_: Output, _: &Serve) -> Result<()> {
    Err(not_built("pn serve"))
}

pub(super) fn mcp(_: &Options) -> Result<()> {
    Err(not_built("pn mcp"))
}

fn not_built(command: &str) -> Error {
    Error::new(Code::Unsupported, format!("this pn was built without {command}"))
        .hint("build it with --features server")
}
