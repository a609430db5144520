//! Operations on signals: to whom they go is decided when they are sent.

use pensa_core::id::LoopId;
use pensa_core::loops::{Loop, LoopStatus};
use pensa_core::ops::signal::{Ack, Acked, List, Prune, Pruned, Send, Sent, Show, Shown, Take};
use pensa_core::record::Filter;
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

/// How long ago a signal was heard by all that is no longer kept.
const OLD: Span = Span::from_millis(7 * 86_400_000);
/// Most signals that are taken in at once.
const MAX_TAKEN: usize = 10_000;

/// The loop, agent or run that a text means.
fn one(tx: &Tx<'_>, wanted: &str) -> Result<Recipient> {
    let mut all: Vec<Recipient> =
        loops::candidates(tx, wanted)?.into_iter().map(|id| (RecipientKind::Loop, id)).collect();
    all.extend(runs::candidates(tx, wanted)?.into_iter().map(|id| (RecipientKind::Run, id)));
    all.extend(agents::candidates(tx, wanted)?.into_iter().map(|agent| (RecipientKind::Agent, agent.id.to_string())));
    if let Some(exact) = all.iter().find(|(_, id)| id == wanted) {
        return Ok(exact.clone());
    }
    if all.len() > 1 {
        return Err(ids::ambiguous(wanted, all.iter().map(|(_, id)| id.as_str())));
    }
    all.pop().ok_or_else(|| {
        Error::not_found("loop, agent or run", wanted).hint("pn loop list, pn agent list and pn run list show the ids")
    })
}

/// The loops that a selector means just now.
fn selected(tx: &Tx<'_>, kept: &Collection, target: &Target) -> Result<Vec<Loop>> {
    let with = |field: &str, value: &str| {
        let filters = vec![Filter::eq(field, value), Filter::is_null("archived_at")];
        loops::select(tx, kept, &Query { filters, ..Query::default() })
    };
    let goes_on = |some: Vec<Loop>| some.into_iter().filter(|one| !one.status.is_over()).collect();
    match target {
        Target::One(_) => Ok(Vec::new()),
        Target::Descendants(id) => Ok(goes_on(loops::descendants(tx, kept, &loops::find(tx, kept, id)?.id)?)),
        Target::Children(id) => Ok(goes_on(loops::children(tx, kept, &loops::find(tx, kept, id)?.id)?)),
        Target::Type(loop_type) => with("loop_type", loop_type.as_str()).map(goes_on),
        Target::Status(status) => with("status", LoopStatus::as_str(*status)),
    }
}

impl Execute for Send {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Sent> {
        let kept = loops::open(tx)?;
        let reason = text::optional_block("reason", self.reason.as_ref())?.unwrap_or_default();
        if let Some(payload) = &self.payload {
            let wrapped = Map::from_iter([("payload".to_owned(), payload.clone())]);
            object::check("the payload of a signal", &wrapped, PAYLOAD_BYTES)?;
        }
        let source_loop = self.from.as_ref().map(|from| loops::find(tx, &kept, from)).transpose()?.map(|from| from.id);
        let recipients: Vec<Recipient> = match &self.to {
            Target::One(wanted) => vec![one(tx, wanted)?],
            selector => {
                let mut all = selected(tx, &kept, selector)?;
                // Whoever asks others to stop does not mean itself.
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
            (Target::Descendants(id), _) => signal.target_selector = Some(written(tx, &kept, "descendants", id)?),
            (Target::Children(id), _) => signal.target_selector = Some(written(tx, &kept, "children", id)?),
            (selector, _) => signal.target_selector = Some(selector.to_string()),
        }
        let signal = signals::send(cx, tx, signal, &recipients)?;
        Ok(Sent { signal, recipients: recipients.into_iter().map(|(_, id)| id).collect() })
    }
}

/// A selector with the whole id of its loop, whose beginning may one day mean another.
fn written(tx: &Tx<'_>, kept: &Collection, word: &str, id: &pensa_core::id::LoopRef) -> Result<String> {
    let id: LoopId = loops::find(tx, kept, id)?.id;
    Ok(format!("{word}:{id}"))
}

impl Execute for Take {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Signal>> {
        if self.records.len() > MAX_TAKEN {
            let message = format!("{} signals at once are too many: at most {MAX_TAKEN}", self.records.len());
            return Err(Error::new(Code::TooLarge, message));
        }
        let mut all = Vec::new();
        for record in &self.records {
            let taken = rules::taken(record, cx.now)?;
            if !signals::is_there(tx, &taken.id)? {
                all.push(signals::take(cx, tx, taken)?);
            }
        }
        Ok(all)
    }
}

impl Execute for List {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Signal>> {
        let limit = self.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
        if let Some(recipient) = &self.recipient {
            let (_, id) = one(tx, recipient)?;
            let sent = signals::sent_to(tx, &[id], self.unacked)?.into_iter().map(|(_, signal)| signal);
            let wanted = sent.filter(|signal| self.signal_type.is_none_or(|of| signal.signal_type == of));
            return Ok(wanted.take(limit.unwrap_or(usize::MAX)).collect());
        }
        let mut filters = Vec::new();
        filters.extend(self.signal_type.map(|of| Filter::eq("signal_type", of.as_str())));
        filters.extend(self.unacked.then(|| Filter::is_null("acknowledged_at")));
        signals::list(tx, filters, limit)
    }
}

impl Execute for Show {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Shown> {
        let signal = signals::find(tx, &self.id)?;
        let missing = signals::missing(tx, &signal)?;
        Ok(Shown { signal, missing })
    }
}

impl Execute for Prune {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Pruned> {
        let ids = signals::prune(cx, tx, cx.now.minus(self.older_than.unwrap_or(OLD)))?;
        Ok(Pruned { ids })
    }
}

impl Execute for Ack {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Acked> {
        let signal = signals::find(tx, &self.id)?;
        let (_, recipient) = one(tx, &self.recipient)?;
        let (receipt, signal) = signals::acknowledge(cx, tx, &signal, &recipient)?;
        Ok(Acked { receipt, missing_count: signal.recipient_count - signal.acknowledged_count })
    }
}
