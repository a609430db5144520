//! Group commit: one thread runs the writes of many callers, commits them together, and then replies.

use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread::{self, JoinHandle};

use pensa_core::{Code, Error, Result};
use serde_json::Value;

use crate::context::{Caller, Context};
use crate::db::Tx;
use crate::engine::Engine;
use crate::execute::{Entry, RunAlone};
use crate::tables::answers::{self, IdempotentRequest};

/// Limit for operations in one commit. Bounds how long the first of them waits.
const MAX_GROUP: usize = 128;
/// Limit for queued operations. Further ones are refused.
const MAX_WAITING: usize = 1024;

type Shared = Box<dyn Fn(&Context<'_>, &Tx<'_>) -> Result<String> + Send>;
type Single = Box<dyn Fn(&Engine, &Caller, Option<&IdempotentRequest>) -> Result<String> + Send>;

enum WriteTask {
    /// In a shared transaction.
    Shared(Shared),
    /// In exclusive transactions.
    Alone(Single),
}

type Reply = Box<dyn FnOnce(Result<String>) + Send>;

/// A queued write, with the callback that receives its answer.
pub(crate) struct WriteRequest {
    pub(crate) caller: Caller,
    once: Option<IdempotentRequest>,
    work: WriteTask,
    reply: Reply,
}

impl WriteRequest {
    /// Runs the request, unless the same one was answered before.
    pub(crate) fn run(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<String> {
        match &self.work {
            WriteTask::Shared(work) => answers::execute_once(cx, tx, self.once.as_ref(), &mut || work(cx, tx)),
            WriteTask::Alone(_) => Err(Error::internal("an operation that runs alone in a group")),
        }
    }

    fn is_alone(&self) -> bool {
        matches!(self.work, WriteTask::Alone(_))
    }

    /// Runs an exclusive request.
    fn run_alone(&self, engine: &Engine) -> Result<String> {
        let WriteTask::Alone(work) = &self.work else { return Err(Error::internal("an operation of a group alone")) };
        let run = || work(engine, &self.caller, self.once.as_ref());
        panic::catch_unwind(AssertUnwindSafe(run))
            .unwrap_or_else(|_| Err(Error::internal("the operation failed unexpectedly")))
    }
}

/// The writer thread. Dropping it completes the queued writes.
pub struct GroupWriter {
    /// `None` while it is being dropped.
    jobs: Option<SyncSender<WriteRequest>>,
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
        let (jobs, waiting) = mpsc::sync_channel(MAX_WAITING);
        let thread = thread::Builder::new()
            .name("pensa-writer".into())
            .spawn(move || write_all(engine, &waiting))
            .map_err(Error::internal)?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Queues `work`. `reply` is called when the work is durable or has failed. `work` may run again if the connection
    /// is lost before the commit. With `once`, a repeated request gets its first answer and is not run again.
    pub fn submit(
        &self,
        caller: Caller,
        once: Option<IdempotentRequest>,
        work: impl Fn(&Context<'_>, &Tx<'_>) -> Result<String> + Send + 'static,
        reply: impl FnOnce(Result<String>) + Send + 'static,
    ) {
        let work = WriteTask::Shared(Box::new(work));
        self.queue(WriteRequest { caller, once, work, reply: Box::new(reply) });
    }

    /// As [`submit`](Self::submit), for an operation of the catalog.
    pub fn submit_entry(
        &self,
        caller: Caller,
        once: Option<IdempotentRequest>,
        entry: &'static Entry,
        input: Value,
        reply: impl FnOnce(Result<String>) + Send + 'static,
    ) {
        self.submit(caller, once, move |cx, tx| (entry.run)(cx, tx, &input), reply);
    }

    /// As [`submit`](Self::submit), for an operation that needs exclusive transactions.
    pub fn submit_alone(
        &self,
        caller: Caller,
        once: Option<IdempotentRequest>,
        run: RunAlone,
        input: Value,
        reply: impl FnOnce(Result<String>) + Send + 'static,
    ) {
        let work: Single = Box::new(move |engine, caller, once| run(engine, caller, once, &input));
        self.queue(WriteRequest { caller, once, work: WriteTask::Alone(work), reply: Box::new(reply) });
    }

    fn queue(&self, job: WriteRequest) {
        let Some(jobs) = &self.jobs else { return };
        if let Err(TrySendError::Full(refused) | TrySendError::Disconnected(refused)) = jobs.try_send(job) {
            (refused.reply)(Err(Error::new(Code::Busy, "too many writes are waiting").hint("try again in a moment")));
        }
    }
}

impl Drop for GroupWriter {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn write_all(mut engine: Engine, jobs: &Receiver<WriteRequest>) {
    let mut next: Option<WriteRequest> = None;
    while let Some(first) = next.take().or_else(|| jobs.recv().ok()) {
        reopen_if_orphaned(&mut engine);
        if first.is_alone() {
            let answer = first.run_alone(&engine);
            (first.reply)(answer);
            engine.backup_if_journal_is_long();
            continue;
        }
        let mut group = vec![first];
        let more = |taken| {
            let job = if taken < MAX_GROUP && next.is_none() { jobs.try_recv().ok()? } else { return None };
            if job.is_alone() {
                next = Some(job);
                return None;
            }
            Some(job)
        };
        let mut written = engine.write_group(&mut group, more);
        let found_damage = |error: &Error| engine.requires_new_handle(error);
        let again = match &written {
            Err(error) => found_damage(error),
            Ok(answers) => {
                // These requests are answered. The next group finds the database repaired.
                answers.iter().filter_map(|answer| answer.as_ref().err()).any(found_damage);
                false
            }
        };
        if again {
            reopen_if_orphaned(&mut engine);
            written = engine.write_group(&mut group, |_| None);
        }
        match written {
            Ok(answers) => group.into_iter().zip(answers).for_each(|(job, answer)| (job.reply)(answer)),
            Err(error) => {
                // Requests queued during an outage have waited long enough.
                let gone = matches!(error.code, Code::Unreachable | Code::Busy);
                let others = jobs.try_iter().take(if gone { MAX_WAITING } else { 0 });
                group.into_iter().chain(others).for_each(|job| (job.reply)(Err(error.clone())));
            }
        }
        engine.backup_if_journal_is_long();
    }
}

/// Opens a new handle if the database file was replaced or is known to be damaged.
fn reopen_if_orphaned(engine: &mut Engine) {
    if engine.is_orphaned()
        && let Ok(reopened) = engine.new_handle()
    {
        // The larger cache is optional.
        let _ = reopened.expect_many_writes();
        *engine = reopened;
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
    fn lost_transaction_stores_nothing_of_its_group() {
        let dir = tempfile::tempdir().expect("a directory");
        let (store, _) = StoreDir::create(&dir.path().join(StoreDir::NAME)).expect("a store");
        let engine = Engine::open(store).expect("an engine");
        let create = |cx: &Context<'_>, tx: &Tx<'_>| {
            let input = serde_json::json!({"title": "t", "issue_type": "task"});
            (entry("issue.create").expect("in the catalog").run)(cx, tx, &input)
        };
        let lose = |_: &Context<'_>, tx: &Tx<'_>| tx.execute("ROLLBACK", params![]).map(|_| String::new());
        let job = |work: Shared| {
            let work = WriteTask::Shared(work);
            WriteRequest { caller: Caller::local("alice"), once: None, work, reply: Box::new(drop) }
        };
        let mut waiting = vec![job(Box::new(create)), job(Box::new(lose))];
        let mut group = vec![job(Box::new(create))];
        let committed = engine.write_group(&mut group, |_| waiting.pop());
        assert!(committed.is_err());
        assert_eq!((group.len(), waiting.len()), (2, 1), "the third never ran");
        assert!(engine.call("alice", &List::default()).expect("a list").is_empty());
        let (send, receive) = mpsc::channel();
        let writer = GroupWriter::start(engine).expect("starts");
        writer.submit(Caller::local("alice"), None, create, move |result| send.send(result).expect("awaited"));
        receive.recv().expect("an answer").expect("the next group is fine");
    }

    #[test]
    fn write_to_a_stopped_writer_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let (store, _) = StoreDir::create(&dir.path().join(StoreDir::NAME)).expect("a store");
        let writer = GroupWriter::start(Engine::open(store).expect("an engine")).expect("starts");
        let nothing = |_: &Context<'_>, _: &Tx<'_>| Ok(String::new());
        writer.submit(Caller::local("alice"), None, nothing, |_| panic!("on purpose, as the writer's end"));
        // Earlier requests are dropped, later ones are refused.
        loop {
            let (send, receive) = mpsc::channel();
            writer.submit(Caller::local("bob"), None, nothing, move |result| drop(send.send(result)));
            if let Ok(Err(refused)) = receive.recv() {
                break assert_eq!(refused.code, Code::Busy);
            }
        }
    }
}
