//! Operations on locks.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::lock::Lock;
use crate::op::op;
use crate::time::Span;

/// Acquire a lock, or renew it with the token returned by acquire
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Acquire {
    /// The name of the lock
    #[arg(value_name = "NAME")]
    pub name: String,
    /// How long it lasts unless renewed: 30s, 15m, 12h, 1d [default: 60s]
    #[arg(long, value_name = "TIME")]
    pub ttl: Option<Span>,
    /// The secret of the holder [default: a new one]
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
}

op!(Acquire => Lock, "lock.acquire", post("/locks"), Write, {
    /// Only its hash is stored.
    const VERBATIM: &'static [&'static str] = &["token"];
});

/// Release a lock
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// The name of the lock
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Only if it is still held with this token
    #[arg(long, value_name = "TOKEN")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Even if another holds it
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

op!(Release => Lock, "lock.release", post("/locks/release"), Write, {
    /// Only its hash is compared.
    const VERBATIM: &'static [&'static str] = &["token"];
});

/// Show who holds a lock, and its fencing number
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// The name of the lock
    #[arg(value_name = "NAME")]
    pub name: String,
}

op!(Status => Lock, "lock.status", get("/locks/status"), Read);

/// List the held locks, sorted by name
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Free locks too
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// At most this many [default: 1000]
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none", alias = "n")]
    pub limit: Option<u32>,
}

op!(List => Vec<Lock>, "lock.list", get("/locks"), Read);
