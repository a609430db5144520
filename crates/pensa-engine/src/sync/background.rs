//! A task on one file that runs in another thread if the file is large.

use std::panic;
use std::thread::{Scope, ScopedJoinHandle};

use pensa_core::Result;

/// Files of at least this size get a thread.
const LARGE: usize = 1 << 20;

#[derive(Debug)]
pub(super) enum BackgroundTask<'s, T> {
    Done(Result<T>),
    Running(ScopedJoinHandle<'s, Result<T>>),
}

impl<'s, T: Send + 's> BackgroundTask<'s, T> {
    /// Starts a task on a file of this size.
    pub(super) fn start<'e>(
        scope: &'s Scope<'s, 'e>,
        size: usize,
        work: impl FnOnce() -> Result<T> + Send + 's,
    ) -> Self {
        if size < LARGE { BackgroundTask::Done(work()) } else { BackgroundTask::Running(scope.spawn(work)) }
    }

    /// Waits for the result.
    pub(super) fn end(self) -> Result<T> {
        match self {
            BackgroundTask::Done(done) => done,
            BackgroundTask::Running(running) => running.join().unwrap_or_else(|panic| panic::resume_unwind(panic)),
        }
    }
}
