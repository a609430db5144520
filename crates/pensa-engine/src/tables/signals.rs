//! Stores signals and their receipts as records: one receipt per recipient.

use std::borrow::Cow;

use pensa_core::event::{self, EventType};
use pensa_core::id::{SignalId, SignalRef};
use pensa_core::record::{Filter, Order};
use pensa_core::signal::{COLLECTION, RECEIPTS, Receipt, RecipientKind, Signal};
use pensa_core::{Code, Error, Result, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::ids::IdTable;
use super::loops::changes;
use super::records::{Collection, Expect, Query, RecordDraft, RecordUpdate};
use crate::context::Context;
use crate::db::Tx;
use crate::tables::events;

const SIGNALS: IdTable<'static> = IdTable {
    name: "signal",
    table: "(SELECT id FROM records WHERE collection = 'signals') AS s",
    prefix: SignalId::PREFIX,
    hint: "pn signal list shows the ids",
};

/// The indexed fields of signals.
const SIGNAL_FIELDS: [&str; 4] = ["signal_type", "target_loop", "acknowledged_at", "created_at"];
/// The indexed fields of receipts. The `open_` fields exist until the receipt is acknowledged.
const RECEIPT_FIELDS: [&str; 5] = ["signal_id", "recipient", "acknowledged_at", "open_signal", "open_recipient"];
/// Most recipients listed in the event of a signal.
const MAX_EVENT_RECIPIENTS: usize = 1000;
/// Most recipients per query.
const RECIPIENTS_PER_QUERY: usize = 500;

/// Most signals deleted at once.
const MAX_PRUNED: usize = 5000;

/// A recipient of a signal.
pub(crate) type Recipient = (RecipientKind, String);

/// The stored form of a receipt.
#[derive(Debug, Serialize, Deserialize)]
struct ReceiptRecord {
    #[serde(flatten)]
    receipt: Receipt,
    /// The signal, until the receipt is acknowledged
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open_signal: Option<String>,
    /// The recipient, until the receipt is acknowledged
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open_recipient: Option<String>,
}

impl ReceiptRecord {
    fn of(receipt: Receipt) -> Self {
        let is_open = receipt.acknowledged_at.is_none();
        Self {
            open_signal: is_open.then(|| receipt.signal_id.to_string()),
            open_recipient: is_open.then(|| receipt.recipient.clone()),
            receipt,
        }
    }

    fn draft(self, at: Timestamp) -> Result<RecordDraft<'static>> {
        let id = Receipt::record_id(&self.receipt.signal_id, &self.receipt.recipient);
        draft(id, &self, at)
    }
}

fn draft(id: String, value: &impl Serialize, updated_at: Timestamp) -> Result<RecordDraft<'static>> {
    match serde_json::to_value(value).map_err(Error::internal)? {
        Value::Object(data) => Ok(RecordDraft { id, data: Cow::Owned(data), updated_at }),
        _ => Err(Error::internal("what is kept as a record is an object")),
    }
}

fn read<T: DeserializeOwned>(record: pensa_core::record::Record) -> Result<T> {
    serde_json::from_value(Value::Object(record.data)).map_err(|e| {
        let message = format!("{} of {} is unreadable: {e}", record.id, record.collection);
        Error::new(Code::Corrupt, message).hint("run pn doctor --deep")
    })
}

/// Finds a signal by its id or a prefix.
pub(crate) fn find(tx: &Tx<'_>, reference: &SignalRef) -> Result<Signal> {
    let id = SIGNALS.find(tx, reference.as_str())?;
    get(tx, &Collection::open(tx, COLLECTION)?, &id)?.ok_or_else(|| SIGNALS.unknown(&id))
}

fn get(tx: &Tx<'_>, signals: &Collection, id: &str) -> Result<Option<Signal>> {
    signals.get(tx, id)?.map(read).transpose()
}

pub(crate) fn new_id(cx: &Context<'_>, tx: &Tx<'_>) -> Result<SignalId> {
    SIGNALS.new_id(tx, || SignalId::from_uuid(cx.uuid()))
}

pub(crate) fn exists(tx: &Tx<'_>, id: &SignalId) -> Result<bool> {
    Ok(Collection::open(tx, COLLECTION)?.get(tx, id.as_str())?.is_some())
}

/// Imports a signal of another tool with its own times, acknowledged or not.
pub(crate) fn import(cx: &Context<'_>, tx: &Tx<'_>, mut signal: Signal) -> Result<Signal> {
    let to: Vec<Recipient> = signal.target_loop.iter().map(|id| (RecipientKind::Loop, id.to_string())).collect();
    signal.recipient_count = i64::try_from(to.len()).map_err(Error::internal)?;
    signal.acknowledged_count = if signal.acknowledged_at.is_some() { signal.recipient_count } else { 0 };
    store(cx, tx, signal, &to)
}

/// Stores and logs a new signal with a receipt per recipient.
pub(crate) fn send(cx: &Context<'_>, tx: &Tx<'_>, mut signal: Signal, to: &[Recipient]) -> Result<Signal> {
    signal.recipient_count = i64::try_from(to.len()).map_err(Error::internal)?;
    // Without recipients, nobody needs to acknowledge.
    signal.acknowledged_at = to.is_empty().then_some(cx.now);
    store(cx, tx, signal, to)
}

/// Stores and logs a signal. Its receipts get its creation time and acknowledgement.
fn store(cx: &Context<'_>, tx: &Tx<'_>, signal: Signal, to: &[Recipient]) -> Result<Signal> {
    let signals = Collection::open(tx, COLLECTION)?.with_indexes(tx, &SIGNAL_FIELDS)?;
    let receipts = Collection::open(tx, RECEIPTS)?.with_indexes(tx, &RECEIPT_FIELDS)?;
    let put = signals.put(tx, draft(signal.id.to_string(), &signal, cx.now)?, Expect::Absent)?;
    let drafts = to.iter().map(|(kind, id)| {
        let receipt = Receipt {
            signal_id: signal.id.clone(),
            signal_type: signal.signal_type,
            recipient: id.clone(),
            recipient_kind: *kind,
            created_at: signal.created_at,
            acknowledged_at: signal.acknowledged_at,
            acknowledged_by: None,
        };
        Ok((ReceiptRecord::of(receipt).draft(cx.now)?, Expect::Absent))
    });
    receipts.put_many(tx, drafts.collect::<Result<_>>()?, |_, e| e)?;
    let mut detail = changes(put.detail());
    let named: Vec<&str> = to.iter().take(MAX_EVENT_RECIPIENTS).map(|(_, id)| id.as_str()).collect();
    detail.insert("recipients".into(), event::change(json!([]), named));
    log(cx, tx, &signal.id, EventType::SignalSent, detail)?;
    Ok(signal)
}

fn log(cx: &Context<'_>, tx: &Tx<'_>, id: &SignalId, event: EventType, detail: Map<String, Value>) -> Result<()> {
    events::append(cx, tx, ("signal", id.as_str()), None, event, detail).map(drop)
}

/// Acknowledges a signal for a recipient; does nothing if that is done already.
pub(crate) fn acknowledge(cx: &Context<'_>, tx: &Tx<'_>, signal: &Signal, by: &str) -> Result<(Receipt, Signal)> {
    let receipts = Collection::open(tx, RECEIPTS)?.with_indexes(tx, &RECEIPT_FIELDS)?;
    let id = Receipt::record_id(&signal.id, by);
    let none = || {
        Error::not_found("receipt", format!("{by} was not sent {}", signal.id))
            .hint(format!("pn signal show {} lists its recipients", signal.id))
    };
    let old: ReceiptRecord = receipts.get(tx, &id)?.map(read).transpose()?.ok_or_else(none)?;
    if old.receipt.acknowledged_at.is_some() {
        return Ok((old.receipt, signal.clone()));
    }
    let receipt =
        Receipt { acknowledged_at: Some(cx.now), acknowledged_by: Some(cx.actor.clone()), ..old.receipt.clone() };
    receipts.put(tx, ReceiptRecord::of(receipt.clone()).draft(cx.now)?, Expect::Present)?;
    let put = count_acknowledgement(cx, tx, signal)?;
    let mut detail = changes(put.detail());
    detail.insert("recipient".into(), Value::from(by));
    detail.insert("acknowledged_at".into(), event::change(Value::Null, cx.now));
    log(cx, tx, &signal.id, EventType::SignalAcknowledged, detail)?;
    Ok((receipt, read(put.new)?))
}

/// Increments the number of acknowledgements.
fn count_acknowledgement(cx: &Context<'_>, tx: &Tx<'_>, signal: &Signal) -> Result<RecordUpdate> {
    let signals = Collection::open(tx, COLLECTION)?.with_indexes(tx, &SIGNAL_FIELDS)?;
    let acknowledged_count = signal.acknowledged_count + 1;
    let is_last = acknowledged_count >= signal.recipient_count;
    let acknowledged_at = if is_last { Some(cx.now) } else { signal.acknowledged_at };
    let new = Signal { acknowledged_count, acknowledged_at, ..signal.clone() };
    signals.put(tx, draft(signal.id.to_string(), &new, cx.now)?, Expect::Present)
}

/// Deletes signals that were fully acknowledged before a time, with their receipts; some thousands at most.
pub(crate) fn prune(cx: &Context<'_>, tx: &Tx<'_>, before: Timestamp) -> Result<Vec<SignalId>> {
    let (signals, receipts) = (Collection::open(tx, COLLECTION)?, Collection::open(tx, RECEIPTS)?);
    let filters = vec![Filter::lt("acknowledged_at", before.to_string())];
    let gone: Vec<Signal> = select(tx, &signals, filters, Order::by("acknowledged_at"), Some(MAX_PRUNED))?;
    for signal in &gone {
        let filters = vec![Filter::eq("signal_id", signal.id.as_str())];
        receipts.delete_where(tx, &Query { filters, ..Query::default() }, cx.now)?;
        signals.delete(tx, signal.id.as_str(), Expect::Present, cx.now)?;
        let mut detail = Map::new();
        detail.insert("signal_type".into(), event::change(signal.signal_type, Value::Null));
        detail.insert("recipient_count".into(), event::change(signal.recipient_count, Value::Null));
        log(cx, tx, &signal.id, EventType::SignalPruned, detail)?;
    }
    Ok(gone.into_iter().map(|signal| signal.id).collect())
}

/// The recipients that have not acknowledged a signal.
pub(crate) fn unacknowledged_by(tx: &Tx<'_>, signal: &Signal) -> Result<Vec<String>> {
    let receipts = Collection::open(tx, RECEIPTS)?;
    let open = vec![Filter::eq("open_signal", signal.id.as_str())];
    Ok(select::<ReceiptRecord>(tx, &receipts, open, Order::default(), None)?
        .into_iter()
        .map(|record| record.receipt.recipient)
        .collect())
}

/// All records that match, up to the limit, over any number of pages.
fn select<T: DeserializeOwned>(
    tx: &Tx<'_>,
    collection: &Collection,
    filters: Vec<Filter>,
    order: Order,
    limit: Option<usize>,
) -> Result<Vec<T>> {
    let mut query = Query { filters, order, limit, after: None };
    let mut all = Vec::new();
    loop {
        let page = collection.select(tx, &query)?;
        for record in page.records {
            all.push(read(record)?);
        }
        let remaining = limit.map(|limit| limit.saturating_sub(all.len()));
        match page.next {
            Some(next) if remaining != Some(0) => (query.after, query.limit) = (Some(next), remaining),
            _ => return Ok(all),
        }
    }
}

/// Signals that match, newest first.
pub(crate) fn list(tx: &Tx<'_>, filters: Vec<Filter>, limit: Option<usize>) -> Result<Vec<Signal>> {
    select(tx, &Collection::open(tx, COLLECTION)?, filters, Order::by("created_at").descending(), limit)
}

/// The signals sent to any of these recipients with their receipts, newest first; only unacknowledged ones if
/// `only_open`.
pub(crate) fn sent_to(tx: &Tx<'_>, recipients: &[String], only_open: bool) -> Result<Vec<(Receipt, Signal)>> {
    let (signals, receipts) = (Collection::open(tx, COLLECTION)?, Collection::open(tx, RECEIPTS)?);
    let field = if only_open { "open_recipient" } else { "recipient" };
    let mut all = Vec::new();
    for chunk in recipients.chunks(RECIPIENTS_PER_QUERY) {
        let filters = vec![Filter::one_of(field, chunk.iter().map(String::as_str))];
        for ReceiptRecord { receipt, .. } in select::<ReceiptRecord>(tx, &receipts, filters, Order::by(field), None)? {
            if let Some(signal) = get(tx, &signals, receipt.signal_id.as_str())? {
                all.push((receipt, signal));
            }
        }
    }
    all.sort_by(|(a, _), (b, _)| {
        (b.created_at, &b.signal_id, &a.recipient).cmp(&(a.created_at, &a.signal_id, &b.recipient))
    });
    Ok(all)
}
