//! Replaces the PostgreSQL driver in builds without it. No database can be opened, so no value of these types exists
//! and no method ever runs.

use std::convert::Infallible;
use std::time::Instant;

use pensa_core::{Code, Error, Result};
use uuid::Uuid;

use super::value::{self, Param};
use super::{CommitError, NewEvent, PoolState};

fn unsupported() -> Error {
    Error::new(Code::Unsupported, "this pn was built without PostgreSQL").hint("build it with the feature postgres")
}

#[derive(Debug, Clone)]
pub struct Postgres(Infallible);

#[derive(Debug, Clone)]
pub struct Wakeups(Infallible);

impl Postgres {
    pub fn open(_: &str, _: usize) -> Result<Self> {
        Err(unsupported())
    }

    pub(crate) fn schema_version(_: &str) -> Result<i64> {
        Err(unsupported())
    }

    pub fn display_name(&self) -> String {
        match self.0 {}
    }

    pub fn pool_state(&self) -> PoolState {
        match self.0 {}
    }

    pub fn wakeups(&self) -> &Wakeups {
        match self.0 {}
    }

    pub(crate) fn store(&self, _: Uuid) -> Database {
        match self.0 {}
    }
}

impl Wakeups {
    pub fn listen(&self, _: impl Fn(Option<Uuid>) + Send + Sync + 'static) {
        match self.0 {}
    }
}

#[derive(Debug)]
pub(crate) struct Database(Infallible);

#[derive(Debug)]
pub(crate) struct Transaction<'c>(&'c Infallible);

#[derive(Debug)]
pub(crate) struct Row(Infallible);

impl Row {
    pub(crate) fn try_get<T>(&self, _: usize) -> Result<T> {
        match self.0 {}
    }
}

impl Database {
    pub(crate) fn wait_until(&self, _: Option<Instant>) {
        match self.0 {}
    }

    pub(crate) fn begin_read(&self) -> Result<Transaction<'_>> {
        match self.0 {}
    }

    pub(crate) fn begin_write(&self) -> Result<Transaction<'_>> {
        match self.0 {}
    }
}

/// Declares methods that can never be called.
macro_rules! never {
    ($(fn $name:ident $(<$T:ident>)? (&self $(, $arg:ty)*) $(-> $out:ty)?;)*) => {$(
        pub(crate) fn $name $(<$T>)? (&self $(, _: $arg)*) $(-> $out)? {
            match *self.0 {}
        }
    )*};
}

impl Transaction<'_> {
    never! {
        fn is_locked_out(&self) -> bool;
        fn is_alive(&self) -> bool;
        fn is_retryable(&self) -> bool;
        fn execute(&self, &str, &[Param<'_>]) -> Result<usize>;
        fn send(&self, &str, &[Param<'_>]) -> Result<()>;
        fn add_rows(&self, &str, usize, &[Param<'_>]) -> Result<()>;
        fn for_each(&self, &str, &[Param<'_>], &mut dyn FnMut(&value::Row<'_>) -> Result<()>) -> Result<()>;
        fn next_event(&self) -> i64;
        fn append_event(&self, &NewEvent<'_>, Option<i64>) -> Result<i64>;
        fn expect_many_rows(&self) -> Result<()>;
        fn integrity_problems(&self) -> Result<Vec<String>>;
        fn savepoint<T>(&self, impl FnOnce() -> Result<T>) -> Result<T>;
        fn force_commit(&self);
    }

    pub(crate) fn commit(self) -> Result<(), CommitError> {
        match *self.0 {}
    }
}
