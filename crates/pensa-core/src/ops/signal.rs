//! Operations on signals.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

use crate::id::{LoopRef, SignalId, SignalRef};
use crate::op::op;
use crate::session::Object;
use crate::signal::{Receipt, Signal, SignalType, Target};
use crate::time::Span;

/// Send a signal to a loop, an agent or a run, or to all loops that a selector matches now
///
/// descendants:LOOP, children:LOOP, type:TYPE and status:STATUS are selectors. Finished or archived loops only match a
/// status that names them.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// Its type
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    #[serde(alias = "type")]
    pub signal_type: SignalType,
    /// The recipient
    #[arg(long, value_name = "ID|SELECTOR")]
    pub to: Target,
    /// The loop that sends it
    #[arg(long, value_name = "LOOP")]
    #[serde(alias = "source_loop")]
    pub from: Option<LoopRef>,
    /// Why
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub reason: Option<String>,
    /// More data for the recipients: any JSON
    #[arg(skip)]
    pub payload: Option<Value>,
}

op!(Send => SentSignal, "signal.send", post("/signals").creates(), Write);

/// A sent signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Sent")]
pub struct SentSignal {
    #[serde(flatten)]
    pub signal: Signal,
    /// Who must acknowledge it
    pub recipients: Vec<String>,
}

/// Import signals of another tool with their ids: all of them, or none; existing signals stay as they are
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportSignals {
    /// Each a signal with at least its id and type; the rest has defaults
    pub records: Vec<Object>,
}

op!(ImportSignals => Vec<Signal>, "signal.take", post("/signals/take").creates(), Write);

/// Delete signals that all recipients acknowledged long ago, with their receipts
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Prune {
    /// The minimum time since then, such as 30d [default: 7d]
    #[arg(long, value_name = "DURATION")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older_than: Option<Span>,
}

op!(Prune => Pruned, "signal.prune", post("/signals/prune"), Maintain);

/// Deleted signals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pruned {
    pub ids: Vec<SignalId>,
}

/// List signals, newest first
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Only those to this loop, agent or run
    #[arg(long = "for", value_name = "RECIPIENT")]
    #[serde(skip_serializing_if = "Option::is_none", rename = "for")]
    pub recipient: Option<String>,
    /// Only those that the recipient has not acknowledged; without --for, those that any recipient has not
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unacked: bool,
    /// Only those of this type
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    #[serde(skip_serializing_if = "Option::is_none", alias = "type")]
    pub signal_type: Option<SignalType>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none", alias = "n")]
    pub limit: Option<u32>,
}

op!(List => Vec<Signal>, "signal.list", get("/signals"), Read);

/// Show a signal, and who has not acknowledged it
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// Which signal: its id, or the beginning of it
    #[arg(value_name = "SIGNAL")]
    pub id: SignalRef,
}

op!(Show => SignalDetail, "signal.show", get("/signals/{id}"), Read);

/// A signal, and who has not acknowledged it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Shown")]
pub struct SignalDetail {
    #[serde(flatten)]
    pub signal: Signal,
    pub missing: Vec<String>,
}

/// Acknowledge a signal as one of its recipients
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Ack {
    /// Which signal: its id, or the beginning of it
    #[arg(value_name = "SIGNAL")]
    pub id: SignalRef,
    /// The recipient: a loop, agent or run
    #[arg(long = "as", value_name = "RECIPIENT")]
    #[serde(rename = "as")]
    pub recipient: String,
}

op!(Ack => Acked, "signal.ack", post("/signals/{id}/ack"), Write);

/// The receipt of a recipient.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Acked {
    #[serde(flatten)]
    pub receipt: Receipt,
    /// How many recipients have not acknowledged it
    pub missing_count: i64,
}
