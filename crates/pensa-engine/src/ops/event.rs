//! Operations on the log of a store.

use pensa_core::ops::event::{List, LogPage};
use pensa_core::{Error, Result};

use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::tables::log;

/// Events listed by default.
const LATEST: u32 = 50;
/// Most events listed.
const MAX: u32 = 1000;

impl Execute for List {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<LogPage> {
        let filter = log::filter(tx, self)?;
        match self.after {
            Some(after) if after < 0 => {
                Err(Error::invalid("not the number of an event").hint("events are numbered from 1; after=0 is all"))
            }
            Some(after) => log::page(tx, &filter, after, self.limit.unwrap_or(MAX).min(MAX)),
            None => log::latest(tx, &filter, self.limit.unwrap_or(LATEST).min(MAX)),
        }
    }
}
