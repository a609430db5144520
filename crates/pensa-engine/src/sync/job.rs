//! Work on one file that another thread may do meanwhile, if it is worth a thread.

use std::panic;
use std::thread::{Scope, ScopedJoinHandle};

use pensa_core::Result;

/// Files from this size on are worth a thread.
const LARGE: usize = 1 << 20;

#[derive(Debug)]
pub(super) enum Job<'s, T> {
    Done(Result<T>),
    Running(ScopedJoinHandle<'s, Result<T>>),
}

impl<'s, T: Send + 's> Job<'s, T> {
    /// Work on a file of this size.
    pub(super) fn start<'e>(
        scope: &'s Scope<'s, 'e>,
        size: usize,
        work: impl FnOnce() -> Result<T> + Send + 's,
    ) -> Self {
        if size < LARGE { Job::Done(work()) } else { Job::Running(scope.spawn(work)) }
    }

    /// What came of it.
    pub(super) fn end(self) -> Result<T> {
        match self {
            Job::Done(done) => done,
            Job::Running(running) => running.join().unwrap_or_else(|panic| panic::resume_unwind(panic)),
        }
    }
}
