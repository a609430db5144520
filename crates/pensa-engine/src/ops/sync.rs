//! Operations of the sync protocol between two stores.

use pensa_core::Result;
use pensa_core::ops::sync::{ApplyRecords, ApplyReport, Changes, ChangesPage, Peer, Peers, Pending, PendingPage};

use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::sync;

impl Execute for Changes {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<ChangesPage> {
        sync::changes(cx, tx, self)
    }
}

impl Execute for ApplyRecords {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<ApplyReport> {
        sync::apply_records(cx, tx, self)
    }
}

impl Execute for Pending {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<PendingPage> {
        sync::pending(tx, self)
    }
}

impl Execute for Peers {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Peer>> {
        sync::peers(tx, self)
    }
}
