//! `pn kv`, whose values are printed as they are.

use pensa_core::Result;

use super::agent::pass_on;
use super::stdin;
use crate::cli::{Kv, Options};
use crate::output::Output;

pub(super) fn run(options: &Options, output: Output, command: Kv) -> Result<()> {
    match command {
        Kv::Get(op) => pass_on(options, output, &op),
        Kv::Set(mut op) => {
            stdin::replace(&mut op.value)?;
            pass_on(options, output, &op)
        }
        Kv::List(op) => pass_on(options, output, &op),
        Kv::Delete(op) => pass_on(options, output, &op),
    }
}
