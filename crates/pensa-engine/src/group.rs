//! Group commit: one thread that writes for many callers and answers them after a shared commit.

use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

use pensa_core::{Code, Error, Result};

use crate::context::Context;
use crate::db::Tx;
use crate::engine::Engine;

/// Most operations that share one commit; bounds how long the first of them waits.
const MAX_GROUP: usize = 128;
/// Most callers in the queue; the next one is told that the store is busy.
const MAX_QUEUE: usize = 1024;

pub(crate) type Work = Box<dyn FnOnce(&Context<'_>, &Tx<'_>) -> Result<String> + Send>;
type Reply = Box<dyn FnOnce(Result<String>) + Send>;

struct Job {
    actor: String,
    work: Work,
    reply: Reply,
}

/// The writing thread. Dropping it finishes what is queued.
pub struct GroupWriter {
    queue: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for GroupWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GroupWriter")
    }
}

impl GroupWriter {
    pub fn start(engine: Engine) -> Result<Self> {
        let (queue, jobs) = mpsc::sync_channel(MAX_QUEUE);
        let thread = thread::Builder::new()
            .name("pensa-writer".into())
            .spawn(move || write_all(&engine, &jobs))
            .map_err(Error::internal)?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Queues `work`; `reply` is called once it is durable, or has failed.
    pub fn submit(
        &self,
        actor: &str,
        work: impl FnOnce(&Context<'_>, &Tx<'_>) -> Result<String> + Send + 'static,
        reply: impl FnOnce(Result<String>) + Send + 'static,
    ) {
        let job = Job { actor: actor.to_owned(), work: Box::new(work), reply: Box::new(reply) };
        let refused = match &self.queue {
            Some(queue) => match queue.try_send(job) {
                Ok(()) => return,
                Err(mpsc::TrySendError::Full(job) | mpsc::TrySendError::Disconnected(job)) => job,
            },
            None => job,
        };
        (refused.reply)(Err(Error::new(Code::Busy, "too many writes are waiting").hint("try again in a moment")));
    }
}

impl Drop for GroupWriter {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn write_all(engine: &Engine, jobs: &Receiver<Job>) {
    while let Ok(first) = jobs.recv() {
        let mut done: Vec<(Reply, Result<String>)> = Vec::new();
        let mut upcoming = Some(first);
        let committed = engine.write_group(|run| {
            let Some(job) = upcoming.take().or_else(|| jobs.try_recv().ok()) else {
                return false;
            };
            let Job { actor, work, reply } = job;
            let result = panic::catch_unwind(AssertUnwindSafe(|| run(&actor, work)))
                .unwrap_or_else(|_| Err(Error::internal("the operation failed unexpectedly")));
            done.push((reply, result));
            done.len() < MAX_GROUP
        });
        if let Some(job) = upcoming.take() {
            // The transaction could not even begin.
            let error = committed.as_ref().err().cloned().unwrap_or_else(|| Error::internal("not run"));
            (job.reply)(Err(error));
        }
        for (reply, result) in done {
            match &committed {
                Ok(()) => reply(result),
                Err(error) => reply(Err(error.clone())),
            }
        }
    }
}
