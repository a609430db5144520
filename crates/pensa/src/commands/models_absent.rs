//! Replaces `models` in a build without the feature `semantic`.

use std::path::Path;
use std::sync::Arc;

use pensa_core::{Code, Error, Result};
use pensa_engine::QueryEmbedder;

use crate::cli::GlobalOptions;
use crate::output::Output;

pub(super) fn add(_: &GlobalOptions, _: Output, _: &Path) -> Result<()> {
    not_built()
}

pub(super) fn list(_: &GlobalOptions, _: Output) -> Result<()> {
    not_built()
}

pub(super) fn remove(_: &GlobalOptions, _: Output, _: &str) -> Result<()> {
    not_built()
}

pub(super) fn update(_: &GlobalOptions, _: Output) -> Result<()> {
    not_built()
}

pub(crate) fn queries(_: Output) -> Option<Arc<dyn QueryEmbedder>> {
    None
}

fn not_built() -> Result<()> {
    Err(Error::new(Code::Unsupported, "this pn was built without finding by meaning")
        .hint("build it with --features semantic; recall by words needs no model"))
}
