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
        engine.expect_many_writes()?;
        let (queue, jobs) = mpsc::sync_channel(MAX_QUEUE);
        let thread = thread::Builder::new()
            .name("pensa-writer".into())
            .spawn(move || write_all(engine, &jobs))
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

fn write_all(mut engine: Engine, jobs: &Receiver<Job>) {
    while let Ok(first) = jobs.recv() {
        if engine.is_orphaned()
            && let Ok(reopened) = engine.another()
        {
            // Without the larger cache it is only slower.
            let _ = reopened.expect_many_writes();
            engine = reopened;
        }
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::db::params;
    use crate::execute::entry;
    use crate::store::StoreDir;
    use pensa_core::ops::issue::List;

    /// A full disk can end the whole transaction in the middle of a group.
    #[test]
    fn nothing_of_a_group_is_stored_once_its_transaction_is_lost() {
        let dir = tempfile::tempdir().expect("a directory");
        let (store, _) = StoreDir::create(&dir.path().join(StoreDir::NAME)).expect("a store");
        let engine = Engine::open(store).expect("an engine");
        let create = |cx: &Context<'_>, tx: &Tx<'_>| {
            let input = serde_json::json!({"title": "t", "issue_type": "task"});
            (entry("issue.create").expect("in the catalog").run)(cx, tx, input)
        };
        let mut jobs: Vec<Work> = vec![
            Box::new(create),
            Box::new(|_, tx| tx.execute("ROLLBACK", params![]).map(|_| String::new())),
            Box::new(create),
        ];
        jobs.reverse();
        let mut ran = 0;
        let committed = engine.write_group(|run| {
            let Some(work) = jobs.pop() else { return false };
            ran += 1;
            let _ = run("alice", work);
            true
        });
        assert!(committed.is_err());
        assert_eq!(ran, 2, "the third never ran");
        assert!(engine.call("alice", &List::default()).expect("a list").is_empty());
        let (send, receive) = mpsc::channel();
        let writer = GroupWriter::start(engine).expect("starts");
        writer.submit("alice", create, move |result| send.send(result).expect("awaited"));
        receive.recv().expect("an answer").expect("the next group is fine");
    }
}
