//! Operations on signals. Recipients are resolved when a signal is sent.

use pensa_core::id::LoopId;
use pensa_core::loops::{Loop, LoopStatus};
use pensa_core::ops::signal::{Ack, Acked, ImportSignals, List, Prune, Pruned, Send, SentSignal, Show, SignalDetail};
use pensa_core::record::{Filter, Order};
use pensa_core::session::object;
use pensa_core::signal::{self as rules, PAYLOAD_BYTES, RecipientKind, Signal, Target};
use pensa_core::{Code, Error, Result, Span, text};
use serde_json::Map;

use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::tables::records::{Collection, Query};
use crate::tables::signals::Recipient;
use crate::tables::{agents, ids, loops, runs, signals};

/// Default age after which acknowledged signals are pruned.
const DEFAULT_PRUNE_AGE: Span = Span::from_millis(7 * 86_400_000);
/// Most signals per import.
const MAX_IMPORTED: usize = 10_000;

/// The loop, agent or run that a text refers to.
fn find_recipient(tx: &Tx<'_>, reference: &str) -> Result<Recipient> {
    let mut all: Vec<Recipient> =
        loops::candidates(tx, reference)?.into_iter().map(|id| (RecipientKind::Loop, id)).collect();
    all.extend(runs::candidates(tx, reference)?.into_iter().map(|id| (RecipientKind::Run, id)));
    all.extend(
        agents::candidates(tx, reference)?.into_iter().map(|agent| (RecipientKind::Agent, agent.id.to_string())),
    );
    if let Some(exact) = all.iter().find(|(_, id)| id == reference) {
        return Ok(exact.clone());
    }
    if all.len() > 1 {
        return Err(ids::ambiguous(reference, all.iter().map(|(_, id)| id.as_str())));
    }
    all.pop().ok_or_else(|| {
        Error::not_found("loop, agent or run", reference)
            .hint("pn loop list, pn agent list and pn run list show the ids")
    })
}

/// The loops that a selector matches now.
fn matching_loops(tx: &Tx<'_>, collection: &Collection, target: &Target) -> Result<Vec<Loop>> {
    let with = |field: &str, value: &str| {
        let filters = vec![Filter::eq(field, value), Filter::is_null("archived_at")];
        loops::select(tx, collection, &Query { filters, order: Order::by("created_at"), ..Query::default() })
    };
    let not_over = |some: Vec<Loop>| some.into_iter().filter(|one| !one.status.is_over()).collect();
    match target {
        Target::One(_) => Ok(Vec::new()),
        Target::Descendants(id) => {
            Ok(not_over(loops::descendants(tx, collection, &loops::find(tx, collection, id)?.id)?))
        }
        Target::Children(id) => Ok(not_over(loops::children(tx, collection, &loops::find(tx, collection, id)?.id)?)),
        Target::Type(loop_type) => with("loop_type", loop_type.as_str()).map(not_over),
        Target::Status(status) => with("status", LoopStatus::as_str(*status)),
    }
}

impl Execute for Send {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<SentSignal> {
        let collection = loops::open(tx)?;
        let reason = text::optional_block("reason", self.reason.as_ref())?.unwrap_or_default();
        if let Some(payload) = &self.payload {
            let wrapped = Map::from_iter([("payload".to_owned(), payload.clone())]);
            object::check("the payload of a signal", &wrapped, PAYLOAD_BYTES)?;
        }
        let source_loop =
            self.from.as_ref().map(|from| loops::find(tx, &collection, from)).transpose()?.map(|from| from.id);
        let recipients: Vec<Recipient> = match &self.to {
            Target::One(reference) => vec![find_recipient(tx, reference)?],
            selector => {
                let mut all = matching_loops(tx, &collection, selector)?;
                // A loop that tells others to stop does not mean itself.
                all.retain(|one| Some(&one.id) != source_loop.as_ref());
                all.into_iter().map(|one| (RecipientKind::Loop, one.id.to_string())).collect()
            }
        };
        let mut signal = Signal {
            id: signals::new_id(cx, tx)?,
            signal_type: self.signal_type,
            source_loop,
            target_loop: None,
            target_agent: None,
            target_run: None,
            target_selector: None,
            reason,
            payload: self.payload.clone(),
            actor: cx.actor.clone(),
            recipient_count: 0,
            acknowledged_count: 0,
            created_at: cx.now,
            acknowledged_at: None,
        };
        match (&self.to, recipients.first()) {
            (Target::One(_), Some((RecipientKind::Loop, id))) => signal.target_loop = Some(id.parse()?),
            (Target::One(_), Some((RecipientKind::Agent, id))) => signal.target_agent = Some(id.parse()?),
            (Target::One(_), Some((RecipientKind::Run, id))) => signal.target_run = Some(id.parse()?),
            (Target::Descendants(id), _) => {
                signal.target_selector = Some(full_selector(tx, &collection, "descendants", id)?)
            }
            (Target::Children(id), _) => signal.target_selector = Some(full_selector(tx, &collection, "children", id)?),
            (selector, _) => signal.target_selector = Some(selector.to_string()),
        }
        let signal = signals::send(cx, tx, signal, &recipients)?;
        Ok(SentSignal { signal, recipients: recipients.into_iter().map(|(_, id)| id).collect() })
    }
}

/// A selector with the full id of its loop, because a prefix may become ambiguous.
fn full_selector(tx: &Tx<'_>, collection: &Collection, word: &str, id: &pensa_core::id::LoopRef) -> Result<String> {
    let id: LoopId = loops::find(tx, collection, id)?.id;
    Ok(format!("{word}:{id}"))
}

impl Execute for ImportSignals {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Signal>> {
        if self.records.len() > MAX_IMPORTED {
            let message = format!("{} signals at once are too many: at most {MAX_IMPORTED}", self.records.len());
            return Err(Error::new(Code::TooLarge, message));
        }
        let mut all = Vec::new();
        for record in &self.records {
            let taken = rules::import_record(record, cx.now)?;
            if !signals::exists(tx, &taken.id)? {
                all.push(signals::import(cx, tx, taken)?);
            }
        }
        Ok(all)
    }
}

impl Execute for List {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Signal>> {
        let limit = self.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
        if let Some(recipient) = &self.recipient {
            let (_, id) = find_recipient(tx, recipient)?;
            let sent = signals::sent_to(tx, &[id], self.unacked)?.into_iter().map(|(_, signal)| signal);
            let matching = sent.filter(|signal| self.signal_type.is_none_or(|of| signal.signal_type == of));
            return Ok(matching.take(limit.unwrap_or(usize::MAX)).collect());
        }
        let mut filters = Vec::new();
        filters.extend(self.signal_type.map(|of| Filter::eq("signal_type", of.as_str())));
        filters.extend(self.unacked.then(|| Filter::is_null("acknowledged_at")));
        signals::list(tx, filters, limit)
    }
}

impl Execute for Show {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<SignalDetail> {
        let signal = signals::find(tx, &self.id)?;
        let missing = signals::unacknowledged_by(tx, &signal)?;
        Ok(SignalDetail { signal, missing })
    }
}

impl Execute for Prune {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Pruned> {
        let ids = signals::prune(cx, tx, cx.now.minus(self.older_than.unwrap_or(DEFAULT_PRUNE_AGE)))?;
        Ok(Pruned { ids })
    }
}

impl Execute for Ack {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Acked> {
        let signal = signals::find(tx, &self.id)?;
        let (_, recipient) = find_recipient(tx, &self.recipient)?;
        let (receipt, signal) = signals::acknowledge(cx, tx, &signal, &recipient)?;
        Ok(Acked { receipt, missing_count: signal.recipient_count - signal.acknowledged_count })
    }
}
