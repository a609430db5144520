//! Does again what the journal says was done to records.

use pensa_core::Result;
use serde_json::Value;

use super::read;
use crate::db::Tx;
use crate::tables::records;

/// Does one item again.
pub(super) fn apply(tx: &Tx<'_>, kind: &str, value: Value) -> Result<()> {
    match kind {
        "record" => records::restore(tx, &read(value)?),
        "record_deleted" => {
            let (collection, id, rev): (String, String, i64) = read(value)?;
            records::forget(tx, &collection, &id, rev)
        }
        "record_index" => records::put_index(tx, &read(value)?),
        _ => Ok(()),
    }
}
