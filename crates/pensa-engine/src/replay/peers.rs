//! Does again what the journal says was done to the books on other stores.

use pensa_core::Result;
use serde_json::Value;

use super::read;
use crate::db::Tx;
use crate::tables::peers::{self, Base};

/// Does one item again, if it is about these.
pub(super) fn apply(tx: &Tx<'_>, kind: &str, value: Value) -> Result<()> {
    match kind {
        "peer" => peers::put(tx, &read(value)?),
        "peers_cleared" => peers::clear(tx),
        "peer_bases_forgotten" => peers::forget_bases(tx, &read::<String>(value)?),
        "peer_base" => {
            let (peer, collection, id, base): (String, String, String, Base) = read(value)?;
            peers::put_base(tx, &peer, &collection, &id, &base)
        }
        "peer_base_forgotten" => {
            let (peer, collection, id): (String, String, String) = read(value)?;
            peers::forget_base(tx, &peer, &collection, &id)
        }
        _ => Ok(()),
    }
}
