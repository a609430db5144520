//! Where the time comes from.

use std::fmt::Debug;
use std::time::{SystemTime, UNIX_EPOCH};

use pensa_core::{Error, Result, Timestamp};

/// Tells the time.
pub trait Clock: Debug + Send + Sync {
    fn now(&self) -> Result<Timestamp>;

    /// Whether it is the machine's, which may be wrong, and not one that the caller has set.
    fn is_the_systems(&self) -> bool {
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

    fn is_the_systems(&self) -> bool {
        true
    }
}
