//! Runs the operations of one store: reads on a few connections of their own, everything else through one writing
//! thread.
//!
//! A read that is known to be quick runs on the thread that serves its connection, because waking another thread
//! costs more than the query. How long each operation takes is measured all the time; those that take long go to
//! threads that may block, so that one large listing does not hold up every connection.

use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use pensa_core::{Access, Code, Error, Method, Result};
use pensa_engine::{Caller, Context, Engine, Entry, GroupWriter, Once, Tx};
use serde_json::Value;
use tokio::sync::{Semaphore, oneshot};
use tokio::task;
use tokio::time::timeout;

use crate::gather::{FORBEARANCE, GLANCE, Gathered, IMPATIENCE, Work};
use crate::reader::Reader;

/// Connections, and threads, for reads that take long.
pub(crate) const SLOW_READERS: usize = 2;
/// Reads that take less on average run where they are.
const QUICK: Duration = Duration::from_millis(1);
/// Longest wait for an operation. Longer than the engine waits for another process's transaction.
const PATIENCE: Duration = Duration::from_secs(60);

/// Threads that serve connections.
pub(crate) fn workers() -> usize {
    thread::available_parallelism().map_or(2, usize::from).clamp(2, 4)
}

/// An operation of the catalog, with what is known of how long it takes.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) entry: &'static Entry,
    average_nanos: AtomicU64,
}

impl Operation {
    pub(crate) fn new(entry: &'static Entry) -> Self {
        // Taken for slow until measured.
        Self { entry, average_nanos: AtomicU64::new(nanos(QUICK)) }
    }

    fn is_quick(&self) -> bool {
        self.average_nanos.load(Ordering::Relaxed) < nanos(QUICK)
    }

    /// A moving average, in which no single time counts for much: a thread that the system puts aside for a while
    /// does not make its operation slow. Updates that collide may be lost, which an average survives.
    fn took(&self, time: Duration) {
        let average = self.average_nanos.load(Ordering::Relaxed);
        self.average_nanos.store(average - average / 8 + nanos(time.min(4 * QUICK)) / 8, Ordering::Relaxed);
    }

    fn read(&self, engine: &Engine, caller: &Caller, input: &Value) -> Result<String> {
        let start = Instant::now();
        let run = || engine.run(Access::Read, caller, |cx, tx| (self.entry.run)(cx, tx, input));
        // Unwinding rolls the transaction back; the connection stays good.
        let answer = panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err(unexpected()));
        self.took(start.elapsed());
        answer
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// What a client learns of a bug; the rest is on standard error.
pub(crate) fn unexpected() -> Error {
    Error::internal("the operation failed unexpectedly").hint("the daemon's standard error says where")
}

/// The ways to one store.
pub(crate) struct Dispatch {
    reads: Reads,
    writer: GroupWriter,
}

/// How questions are answered.
enum Reads {
    /// By a store of this machine.
    Near(Near),
    /// By a database elsewhere.
    Far(Arc<Gathered>),
}

/// Connections to a store of this machine.
struct Near {
    quick: Vec<Mutex<Reader>>,
    slow: Arc<Mutex<Vec<Engine>>>,
    slow_free: Arc<Semaphore>,
}

impl fmt::Debug for Dispatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dispatch")
    }
}

impl Dispatch {
    pub(crate) fn start(engine: Engine) -> Result<Self> {
        let reads = if engine.is_local() {
            Reads::Near(Near::open(&engine)?)
        } else {
            Reads::Far(Gathered::new(engine.another()?))
        };
        Ok(Self { reads, writer: GroupWriter::start(engine)? })
    }

    /// Whether changes by other processes are only seen by looking.
    pub(crate) fn is_near(&self) -> bool {
        matches!(self.reads, Reads::Near(_))
    }

    /// The answer to this question, if it was asked before, nothing has changed since, and telling that costs nothing.
    pub(crate) fn known(&self, question: &str) -> Option<Bytes> {
        match &self.reads {
            // What goes wrong here goes wrong again, and is told, when the operation runs.
            Reads::Near(near) => near.free_reader()?.known(question).ok().flatten(),
            Reads::Far(_) => None,
        }
    }

    /// Runs an operation and gives its answer as JSON text. An answer to a question is remembered.
    pub(crate) async fn run(
        &self,
        operation: &Arc<Operation>,
        caller: Caller,
        input: Value,
        question: Option<&str>,
        once: Option<Once>,
    ) -> Result<Bytes> {
        if let Some(alone) = operation.entry.alone {
            let (reply, answer) = oneshot::channel();
            self.writer.submit_alone(caller, once, alone, input, move |result| drop(reply.send(result)));
            return written(answer).await.map(Bytes::from);
        }
        if operation.entry.access != Access::Read && operation.entry.route.method != Method::Get {
            let (reply, answer) = oneshot::channel();
            // A client that has left needs no answer.
            self.writer.submit_entry(caller, once, operation.entry, input, move |result| drop(reply.send(result)));
            return written(answer).await.map(Bytes::from);
        }
        match &self.reads {
            Reads::Near(near) => near.run(operation, caller, input, question).await,
            Reads::Far(far) => far_answer(far, caller, question, Work::Operation(operation.entry, input)).await,
        }
    }

    /// Asks what is no operation of the catalog.
    pub(crate) async fn ask_for<T: Send + 'static>(
        &self,
        work: impl Fn(&Context<'_>, &Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        // What is asked for its text is asked for nothing else: the answer comes beside it.
        let answer = Arc::new(Mutex::new(None));
        let beside = Arc::clone(&answer);
        let ask = move |cx: &Context<'_>, tx: &Tx<'_>| {
            *lock(&beside) = Some(work(cx, tx)?);
            Ok(String::new())
        };
        self.ask(ask).await?;
        lock(&answer).take().ok_or_else(unexpected)
    }

    /// Asks what is no operation of the catalog, for an answer as text.
    pub(crate) async fn ask(
        &self,
        work: impl Fn(&Context<'_>, &Tx<'_>) -> Result<String> + Send + 'static,
    ) -> Result<Bytes> {
        let caller = Caller::local("server");
        match &self.reads {
            Reads::Near(near) => {
                let ask = move |engine: &Engine| engine.run(Access::Read, &caller, |cx, tx| work(cx, tx));
                near.elsewhere(ask).await.map(Bytes::from)
            }
            Reads::Far(far) => far_answer(far, caller, None, Work::Other(Box::new(work))).await,
        }
    }
}

/// The answer to a change.
async fn written(answer: oneshot::Receiver<Result<String>>) -> Result<String> {
    in_time(answer).await.map_err(|e| match e.code {
        Code::Timeout => e.hint("it may still be done: look before trying again"),
        _ => e,
    })
}

/// Asks a database elsewhere, and for help if it takes a while.
async fn far_answer(far: &Arc<Gathered>, caller: Caller, question: Option<&str>, work: Work) -> Result<Bytes> {
    let mut answer = far.ask(caller, question, work)?;
    if let Ok(answer) = timeout(IMPATIENCE, &mut answer).await {
        return answer.map_err(|_| unexpected())?;
    }
    far.nudge();
    let mut wait = FORBEARANCE;
    let told = async {
        loop {
            match timeout(wait, &mut answer).await {
                Ok(answer) => return answer.map_err(|_| unexpected())?,
                // A long answer may come yet, but not from a database that is gone.
                Err(_) => {
                    far.refuse_late();
                    match far.away() {
                        Some(error) => return Err(error),
                        None => wait = GLANCE,
                    }
                }
            }
        }
    };
    timeout(PATIENCE, told).await.unwrap_or_else(|_| Err(too_long()))
}

/// Waits for an answer, but not for ever.
async fn in_time<T>(answer: oneshot::Receiver<Result<T>>) -> Result<T> {
    match timeout(PATIENCE, answer).await {
        Ok(answer) => answer.map_err(|_| unexpected())?,
        Err(_) => Err(too_long()),
    }
}

impl Near {
    fn open(engine: &Engine) -> Result<Self> {
        let quick = (0..workers()).map(|_| engine.another().map(Reader::new).map(Mutex::new)).collect::<Result<_>>()?;
        let slow = (0..SLOW_READERS).map(|_| engine.another()).collect::<Result<_>>()?;
        Ok(Self { quick, slow: Arc::new(Mutex::new(slow)), slow_free: Arc::new(Semaphore::new(SLOW_READERS)) })
    }

    async fn run(
        &self,
        operation: &Arc<Operation>,
        caller: Caller,
        input: Value,
        question: Option<&str>,
    ) -> Result<Bytes> {
        if operation.is_quick()
            && let Some(mut reader) = self.free_reader()
        {
            let known = question.map(|question| reader.known(question)).transpose()?.flatten();
            if let Some(answer) = known {
                return Ok(answer);
            }
            // What has to write first may have to wait for other processes: not here.
            if !reader.is_overdue()? {
                let answer = Bytes::from(operation.read(&reader.engine, &caller, &input)?);
                if let Some(question) = question {
                    reader.keep(question, &answer);
                }
                return Ok(answer);
            }
        }
        let operation = Arc::clone(operation);
        self.elsewhere(move |engine| operation.read(engine, &caller, &input)).await.map(Bytes::from)
    }

    fn free_reader(&self) -> Option<MutexGuard<'_, Reader>> {
        self.quick.iter().find_map(|reader| match reader.try_lock() {
            Ok(reader) => Some(reader),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        })
    }

    /// Asks on a thread that may block.
    async fn elsewhere(&self, ask: impl FnOnce(&Engine) -> Result<String> + Send + 'static) -> Result<String> {
        let busy = |_| Error::new(Code::Busy, "too many long reads are waiting").hint("try again in a moment");
        let free = timeout(PATIENCE, Arc::clone(&self.slow_free).acquire_owned()).await.map_err(busy)?;
        let permit = free.map_err(Error::internal)?;
        let engines = Arc::clone(&self.slow);
        let reading = task::spawn_blocking(move || {
            let mut engine = lock(&engines).pop().ok_or_else(unexpected)?;
            if engine.is_orphaned()
                && let Ok(reopened) = engine.another()
            {
                engine = reopened;
            }
            // Unwinding leaves the connection good.
            let answer = panic::catch_unwind(AssertUnwindSafe(|| ask(&engine))).unwrap_or_else(|_| Err(unexpected()));
            lock(&engines).push(engine);
            drop(permit);
            answer
        });
        match timeout(PATIENCE, reading).await {
            Ok(answer) => answer.map_err(|_| unexpected())?,
            Err(_) => Err(too_long()),
        }
    }
}

fn too_long() -> Error {
    Error::new(Code::Timeout, format!("the operation took longer than {} s", PATIENCE.as_secs()))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pensa_core::{Route, Scope};
    use pensa_engine::StoreDir;
    use schemars::Schema;
    use serde_json::json;

    const fn panicking(access: Access) -> Entry {
        Entry {
            name: "test.panic",
            route: Route::post("/panic"),
            access,
            scope: Scope::Store,
            tells_secret: false,
            verbatim: &[],
            max_body: 0,
            alone: None,
            foresee: None,
            run: |_, _, _| panic!("on purpose"),
            input_schema: |_| Schema::default(),
            output_schema: |_| Schema::default(),
        }
    }

    static READ: Entry = panicking(Access::Read);
    static WRITE: Entry = panicking(Access::Write);

    #[tokio::test]
    async fn operations_that_panic_are_answered_and_do_no_harm() {
        let dir = tempfile::tempdir().expect("a directory");
        let (store, _) = StoreDir::create(&dir.path().join(StoreDir::NAME)).expect("a store");
        let dispatch = Dispatch::start(Engine::open(store).expect("an engine")).expect("threads");
        let run = async |operation: &Arc<Operation>, input| {
            dispatch.run(operation, Caller::local("test"), input, None, None).await
        };
        let (read, write) = (Arc::new(Operation::new(&READ)), Arc::new(Operation::new(&WRITE)));
        for round in 0..4 {
            for operation in [&read, &write] {
                let error = run(operation, json!({})).await.expect_err("it panics");
                assert_eq!(error.code, Code::Internal);
            }
            // Both ways of reading: on a thread that may block, and here.
            (0..round * 100).for_each(|_| read.took(Duration::ZERO));
        }
        let create = Arc::new(Operation::new(pensa_engine::entry("issue.create").expect("in the catalog")));
        run(&create, json!({"title": "t", "issue_type": "task"})).await.expect("writes go on");
        let list = Arc::new(Operation::new(pensa_engine::entry("issue.list").expect("in the catalog")));
        for _ in 0..10 {
            assert!(run(&list, json!({})).await.expect("reads go on").starts_with(b"[{"));
        }
    }

    #[test]
    fn an_operation_is_quick_once_it_was_and_slow_once_it_often_was() {
        let operation = Operation::new(&READ);
        assert!(!operation.is_quick(), "nothing is known yet");
        operation.took(Duration::from_micros(10));
        assert!(operation.is_quick());
        (0..50).for_each(|_| operation.took(Duration::from_micros(10)));
        operation.took(Duration::from_secs(9));
        assert!(operation.is_quick(), "one hiccup");
        (0..9).for_each(|_| operation.took(Duration::from_millis(20)));
        assert!(!operation.is_quick());
    }
}
