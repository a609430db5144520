//! Group commit: one thread that writes for many callers and answers them after a shared commit.

use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread::{self, JoinHandle};

use pensa_core::{Code, Error, Result};
use serde_json::Value;

use crate::context::{Caller, Context};
use crate::db::Tx;
use crate::engine::Engine;
use crate::execute::{Alone, Entry};
use crate::tables::answers::{self, Once};

/// Most operations that share one commit; bounds how long the first of them waits.
const MAX_GROUP: usize = 128;
/// Most operations that wait for the writer; the next one is refused.
const MAX_WAITING: usize = 1024;

type Shared = Box<dyn Fn(&Context<'_>, &Tx<'_>) -> Result<String> + Send>;
type Single = Box<dyn Fn(&Engine, &Caller, Option<&Once>) -> Result<String> + Send>;

enum Work {
    /// In a transaction with others.
    Shared(Shared),
    /// In transactions of its own.
    Alone(Single),
}

type Reply = Box<dyn FnOnce(Result<String>) + Send>;

/// Something to write for somebody who waits.
pub(crate) struct Job {
    pub(crate) caller: Caller,
    once: Option<Once>,
    work: Work,
    reply: Reply,
}

impl Job {
    /// Does it, unless the same request was answered before.
    pub(crate) fn run(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<String> {
        match &self.work {
            Work::Shared(work) => answers::once(cx, tx, self.once.as_ref(), &mut || work(cx, tx)),
            Work::Alone(_) => Err(Error::internal("an operation that runs alone in a group")),
        }
    }

    fn is_alone(&self) -> bool {
        matches!(self.work, Work::Alone(_))
    }

    /// Does it outside any group.
    fn run_alone(&self, engine: &Engine) -> Result<String> {
        let Work::Alone(work) = &self.work else { return Err(Error::internal("an operation of a group alone")) };
        let run = || work(engine, &self.caller, self.once.as_ref());
        panic::catch_unwind(AssertUnwindSafe(run))
            .unwrap_or_else(|_| Err(Error::internal("the operation failed unexpectedly")))
    }
}

/// The writing thread. Dropping it finishes what is queued.
pub struct GroupWriter {
    /// None while it is being dropped.
    jobs: Option<SyncSender<Job>>,
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

    /// Queues `work`; `reply` is called once it is durable, or has failed. It may run again if the database goes away
    /// before the commit. With `once`, the same request is answered as before and not done again.
    pub fn submit(
        &self,
        caller: Caller,
        once: Option<Once>,
        work: impl Fn(&Context<'_>, &Tx<'_>) -> Result<String> + Send + 'static,
        reply: impl FnOnce(Result<String>) + Send + 'static,
    ) {
        let work = Work::Shared(Box::new(work));
        self.queue(Job { caller, once, work, reply: Box::new(reply) });
    }

    /// The same for an operation of the catalog.
    pub fn submit_entry(
        &self,
        caller: Caller,
        once: Option<Once>,
        entry: &'static Entry,
        input: Value,
        reply: impl FnOnce(Result<String>) + Send + 'static,
    ) {
        self.submit(caller, once, move |cx, tx| (entry.run)(cx, tx, &input), reply);
    }

    /// The same for an operation whose transactions are its own.
    pub fn submit_alone(
        &self,
        caller: Caller,
        once: Option<Once>,
        run: Alone,
        input: Value,
        reply: impl FnOnce(Result<String>) + Send + 'static,
    ) {
        let work: Single = Box::new(move |engine, caller, once| run(engine, caller, once, &input));
        self.queue(Job { caller, once, work: Work::Alone(work), reply: Box::new(reply) });
    }

    fn queue(&self, job: Job) {
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

fn write_all(mut engine: Engine, jobs: &Receiver<Job>) {
    let mut next: Option<Job> = None;
    while let Some(first) = next.take().or_else(|| jobs.recv().ok()) {
        reopen_if_orphaned(&mut engine);
        if first.is_alone() {
            let answer = first.run_alone(&engine);
            (first.reply)(answer);
            engine.keep_journal_short();
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
        let found_damage = |error: &Error| engine.needs_another(error);
        let again = match &written {
            Err(error) => found_damage(error),
            Ok(answers) => {
                // Those are answered; whoever comes next finds the database mended.
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
                // Jobs that queued while the database could not be reached have waited for it long enough.
                let gone = matches!(error.code, Code::Unreachable | Code::Busy);
                let others = jobs.try_iter().take(if gone { MAX_WAITING } else { 0 });
                group.into_iter().chain(others).for_each(|job| (job.reply)(Err(error.clone())));
            }
        }
        engine.keep_journal_short();
    }
}

/// Takes another handle if the file of this one was replaced, or is known to be damaged.
fn reopen_if_orphaned(engine: &mut Engine) {
    if engine.is_orphaned()
        && let Ok(reopened) = engine.another()
    {
        // Without the larger cache it is only slower.
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
    fn nothing_of_a_group_is_stored_once_its_transaction_is_lost() {
        let dir = tempfile::tempdir().expect("a directory");
        let (store, _) = StoreDir::create(&dir.path().join(StoreDir::NAME)).expect("a store");
        let engine = Engine::open(store).expect("an engine");
        let create = |cx: &Context<'_>, tx: &Tx<'_>| {
            let input = serde_json::json!({"title": "t", "issue_type": "task"});
            (entry("issue.create").expect("in the catalog").run)(cx, tx, &input)
        };
        let lose = |_: &Context<'_>, tx: &Tx<'_>| tx.execute("ROLLBACK", params![]).map(|_| String::new());
        let job = |work: Shared| {
            let work = Work::Shared(work);
            Job { caller: Caller::local("alice"), once: None, work, reply: Box::new(drop) }
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
    fn nobody_waits_for_a_writer_that_is_gone() {
        let dir = tempfile::tempdir().expect("a directory");
        let (store, _) = StoreDir::create(&dir.path().join(StoreDir::NAME)).expect("a store");
        let writer = GroupWriter::start(Engine::open(store).expect("an engine")).expect("starts");
        let nothing = |_: &Context<'_>, _: &Tx<'_>| Ok(String::new());
        writer.submit(Caller::local("alice"), None, nothing, |_| panic!("on purpose, as the writer's end"));
        // Whoever came before the end is let go, and whoever comes after it is refused.
        loop {
            let (send, receive) = mpsc::channel();
            writer.submit(Caller::local("bob"), None, nothing, move |result| drop(send.send(result)));
            if let Ok(Err(refused)) = receive.recv() {
                break assert_eq!(refused.code, Code::Busy);
            }
        }
    }
}
