//! The source of the current time, which tests replace.

use std::fmt::Debug;
use std::time::{SystemTime, UNIX_EPOCH};

use pensa_core::{Error, Result, Timestamp};

/// A source of the current time.
pub trait Clock: Debug + Send + Sync {
    fn now(&self) -> Result<Timestamp>;

    /// Whether this is the machine's clock, which may be wrong, and not a time set by the caller.
    fn is_system_clock(&self) -> bool {
        false
    }
}

#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Result<Timestamp> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_err(Error::internal)?;
        Timestamp::from_millis(i64::try_from(since.as_millis()).map_err(Error::internal)?)
    }

    fn is_system_clock(&self) -> bool {
        true
    }
}
