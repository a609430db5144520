//! The signal: a message to loops, agents or runs that each recipient acknowledges.
//!
//! The engine resolves a selector to its current recipients.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

use crate::closed_enum::closed_enum;
use crate::error::{Error, Result};
use crate::id::{AgentId, LoopId, LoopRef, RunId, SignalId};
use crate::loops::{LoopStatus, LoopType};
use crate::session::object::{self, Object};
use crate::text_form::serde_as_text;
use crate::time::Timestamp;

/// The record collection of signals.
pub const COLLECTION: &str = "signals";
/// The record collection of receipts: one per signal and recipient.
pub const RECEIPTS: &str = "signal_receipts";
/// Maximum size of a payload, in bytes of JSON.
pub const PAYLOAD_BYTES: usize = 256 << 10;

closed_enum! {
    /// The type of a signal.
    SignalType "invalid type of a signal: {:?}" {
        Stop "stop",
        Pause "pause",
        Resume "resume",
        Rebase "rebase",
        Error "error",
        Info "info",
        Invalidate "invalidate",
    }
}

closed_enum! {
    /// The kinds of recipients.
    RecipientKind "invalid kind of a recipient: {:?}" {
        Loop "loop",
        Agent "agent",
        Run "run",
    }
}

/// A signal, and how many recipients have acknowledged it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Signal {
    pub id: SignalId,
    pub signal_type: SignalType,
    /// The loop that sent it
    pub source_loop: Option<LoopId>,
    pub target_loop: Option<LoopId>,
    pub target_agent: Option<AgentId>,
    pub target_run: Option<RunId>,
    /// The selector of its recipients: `descendants:ID`, `children:ID`, `type:T` or `status:S`
    pub target_selector: Option<String>,
    #[serde(default)]
    pub reason: String,
    pub payload: Option<Value>,
    /// The actor that sent it
    pub actor: String,
    pub recipient_count: i64,
    pub acknowledged_count: i64,
    pub created_at: Timestamp,
    /// When the last of them acknowledged it
    pub acknowledged_at: Option<Timestamp>,
}

/// The receipt of one recipient.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    pub signal_id: SignalId,
    pub signal_type: SignalType,
    pub recipient: String,
    pub recipient_kind: RecipientKind,
    pub created_at: Timestamp,
    pub acknowledged_at: Option<Timestamp>,
    /// The actor that acknowledged it
    pub acknowledged_by: Option<String>,
}

impl Receipt {
    /// The id of the receipt's record.
    pub fn record_id(signal: &SignalId, recipient: &str) -> String {
        format!("{signal}/{recipient}")
    }
}

/// The target of a signal.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(inline, with = "String")]
pub enum Target {
    /// A loop, an agent or a run, by id.
    One(String),
    /// All descendants of a loop.
    Descendants(LoopRef),
    /// All children of a loop.
    Children(LoopRef),
    /// All loops of a type.
    Type(LoopType),
    /// All loops with a status.
    Status(LoopStatus),
}

impl FromStr for Target {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let loop_of = |id: &str| {
            crate::id::check(id)?;
            id.parse()
        };
        match text.split_once(':') {
            Some(("descendants", id)) => Ok(Target::Descendants(loop_of(id)?)),
            Some(("children", id)) => Ok(Target::Children(loop_of(id)?)),
            Some(("type", word)) => Ok(Target::Type(word.parse()?)),
            Some(("status", word)) => Ok(Target::Status(word.parse()?)),
            _ if crate::id::check(text).is_ok() => Ok(Target::One(text.to_owned())),
            _ => {
                let shown: String = text.chars().take(40).collect();
                Err(Error::invalid(format!("a signal cannot go to {shown:?}")).hint(
                    "the id of a loop, an agent or a run, or descendants:ID, children:ID, type:TYPE, status:STATUS",
                ))
            }
        }
    }
}

serde_as_text!(Target);

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::One(id) => f.write_str(id),
            Target::Descendants(id) => write!(f, "descendants:{id}"),
            Target::Children(id) => write!(f, "children:{id}"),
            Target::Type(kind) => write!(f, "type:{kind}"),
            Target::Status(status) => write!(f, "status:{status}"),
        }
    }
}

/// Converts a record of another tool to a signal. Missing fields get defaults; invalid ones are refused.
pub fn import_record(record: &Object, now: Timestamp) -> Result<Signal> {
    let mut whole = Object::new();
    let defaults = [("actor", Value::from("unknown")), ("created_at", Value::from(now.to_string()))];
    whole.extend(defaults.map(|(name, value)| (name.to_owned(), value)));
    whole
        .extend(record.iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.clone(), value.clone())));
    whole.insert("recipient_count".into(), Value::from(0));
    whole.insert("acknowledged_count".into(), Value::from(0));
    let shown = record.get("id").and_then(Value::as_str).unwrap_or("a signal").to_owned();
    let refused = |e: &dyn fmt::Display| Error::invalid(format!("{shown} is no signal: {e}"));
    let imported: Signal = serde_json::from_value(Value::Object(whole)).map_err(|e| refused(&e))?;
    crate::text::fits_block("reason", &imported.reason).map_err(|e| refused(&e.message))?;
    let payload = imported.payload.iter().map(|payload| ("payload".to_owned(), payload.clone()));
    object::check("the payload of a signal", &payload.collect(), PAYLOAD_BYTES).map_err(|e| refused(&e.message))?;
    Ok(imported)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_round_trip_as_text() {
        for text in
            ["lp-1", "ag-1", "bd:42.1", "descendants:lp-1", "children:lp-1", "type:code", "status:awaiting_approval"]
        {
            let target: Target = text.parse().expect(text);
            assert_eq!(target.to_string(), text);
            let json = serde_json::to_value(&target).expect("JSON");
            assert_eq!(
                (json.as_str(), serde_json::from_value::<Target>(json.clone()).expect("again")),
                (Some(text), target)
            );
        }
        assert_eq!("type:plan".parse::<Target>().expect("a type"), Target::Type(LoopType::Plan));
        assert!(matches!("bd:42".parse::<Target>().expect("an id"), Target::One(id) if id == "bd:42"));
    }

    #[test]
    fn invalid_targets_are_refused() {
        let long = "x".repeat(300);
        for bad in
            ["", " ", "a b", "descendants:", "children: ", "type:", "type:loop", "status:done", "a\nb", "\u{1b}", &long]
        {
            assert!(bad.parse::<Target>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn enum_words_round_trip() {
        for kind in SignalType::ALL {
            assert_eq!(kind.as_str().parse::<SignalType>().expect("known"), kind);
        }
        assert!("kill".parse::<SignalType>().is_err());
    }
}
