//! Operations by which two stores come to have the same.

use pensa_core::Result;
use pensa_core::ops::sync::{Changed, Changes, Peer, Peers, Pending, Queue, Take, Taken};

use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::sync;

impl Execute for Changes {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Changed> {
        sync::changes(cx, tx, self)
    }
}

impl Execute for Take {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Taken> {
        sync::take(cx, tx, self)
    }
}

impl Execute for Pending {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Queue> {
        sync::pending(tx, self)
    }
}

impl Execute for Peers {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Peer>> {
        sync::peers(tx, self)
    }
}
