//! Runs the operations of one store: reads on pooled handles, everything else through one writer thread.

use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use pensa_core::{Access, Code, Error, Method, Result};
use pensa_engine::{Caller, Context, Engine, Entry, GroupWriter, IdempotentRequest, Tx};
use serde_json::Value;
use tokio::sync::{Semaphore, oneshot};
use tokio::task;
use tokio::time::timeout;

/// Concurrent reads of one store.
pub(crate) const READERS: usize = 4;
/// Time limit for an operation. Longer than the engine waits for another process's transaction.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a read of a remote database waits for a handle and for locks, so that the caller gets an answer within
/// five seconds.
const READ_WAIT: Duration = Duration::from_millis(4200);

/// The error for a bug: details go to standard error, not to the client.
pub(crate) fn unexpected() -> Error {
    Error::internal("the operation failed unexpectedly").hint("the daemon's standard error says where")
}

/// Read handles and writer of one store.
pub(crate) struct Dispatch {
    readers: Arc<Mutex<Vec<Engine>>>,
    /// One permit for each idle handle.
    free: Arc<Semaphore>,
    is_local: bool,
    writer: GroupWriter,
}

impl fmt::Debug for Dispatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dispatch")
    }
}

impl Dispatch {
    pub(crate) fn start(engine: Engine) -> Result<Self> {
        let readers = (0..READERS).map(|_| engine.new_handle()).collect::<Result<_>>()?;
        let (readers, free) = (Arc::new(Mutex::new(readers)), Arc::new(Semaphore::new(READERS)));
        Ok(Self { readers, free, is_local: engine.is_local(), writer: GroupWriter::start(engine)? })
    }

    /// Whether other processes may change the store without a notification.
    pub(crate) fn is_local(&self) -> bool {
        self.is_local
    }

    /// Runs an operation and returns its output as JSON text.
    pub(crate) async fn run(
        &self,
        entry: &'static Entry,
        caller: Caller,
        input: Value,
        once: Option<IdempotentRequest>,
    ) -> Result<Bytes> {
        if entry.alone.is_none() && (entry.access == Access::Read || entry.route.method == Method::Get) {
            return self.read(caller, move |cx, tx| (entry.run)(cx, tx, &input)).await.map(Bytes::from);
        }
        let (reply, answer) = oneshot::channel();
        // The receiver is gone if the client has disconnected.
        let reply = move |result| drop(reply.send(result));
        match entry.alone {
            Some(alone) => self.writer.submit_alone(caller, once, alone, input, reply),
            None => self.writer.submit_entry(caller, once, entry, input, reply),
        }
        let written: Result<String> = match timeout(OPERATION_TIMEOUT, answer).await {
            Ok(answer) => answer.map_err(|_| unexpected())?,
            Err(_) => Err(timed_out().hint("it may still be done: look before trying again")),
        };
        written.map(Bytes::from)
    }

    /// Runs a read that is not an operation of the catalog.
    pub(crate) async fn query<T: Send + 'static>(
        &self,
        query: impl Fn(&Context<'_>, &Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.read(Caller::local("server"), query).await
    }

    /// Runs a read on a blocking thread.
    async fn read<T: Send + 'static>(
        &self,
        caller: Caller,
        query: impl Fn(&Context<'_>, &Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let wait = if self.is_local { OPERATION_TIMEOUT } else { READ_WAIT };
        let until = Instant::now() + wait;
        let busy = |_| Error::new(Code::Busy, "too many reads are waiting").hint("try again in a moment");
        let free = timeout(wait, Arc::clone(&self.free).acquire_owned()).await.map_err(busy)?;
        let permit = free.map_err(Error::internal)?;
        let readers = Arc::clone(&self.readers);
        let reading = task::spawn_blocking(move || {
            let mut engine = lock(&readers).pop().ok_or_else(unexpected)?;
            if engine.is_orphaned()
                && let Ok(reopened) = engine.new_handle()
            {
                engine = reopened;
            }
            engine.wait_until(Some(until));
            let read = || engine.run(Access::Read, &caller, &query);
            // Unwinding rolls back the transaction, so the handle can be reused.
            let answer = panic::catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(unexpected()));
            lock(&readers).push(engine);
            drop(permit);
            answer
        });
        match timeout(OPERATION_TIMEOUT, reading).await {
            Ok(answer) => answer.map_err(|_| unexpected())?,
            Err(_) => Err(timed_out()),
        }
    }
}

fn timed_out() -> Error {
    Error::new(Code::Timeout, format!("the operation took longer than {} s", OPERATION_TIMEOUT.as_secs()))
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
            returns_secret: false,
            verbatim: &[],
            max_body: 0,
            alone: None,
            run: |_, _, _| panic!("on purpose"),
            input_schema: |_| Schema::default(),
            output_schema: |_| Schema::default(),
        }
    }

    static READ: Entry = panicking(Access::Read);
    static WRITE: Entry = panicking(Access::Write);

    #[tokio::test]
    async fn panicking_operation_returns_an_error_and_later_ones_succeed() {
        let dir = tempfile::tempdir().expect("a directory");
        let (store, _) = StoreDir::create(&dir.path().join(StoreDir::NAME)).expect("a store");
        let dispatch = Dispatch::start(Engine::open(store).expect("an engine")).expect("threads");
        let run = async |entry: &'static Entry, input| dispatch.run(entry, Caller::local("test"), input, None).await;
        for _ in 0..2 * READERS {
            for entry in [&READ, &WRITE] {
                let error = run(entry, json!({})).await.expect_err("it panics");
                assert_eq!(error.code, Code::Internal);
            }
        }
        let entry = |name| pensa_engine::entry(name).expect("in the catalog");
        run(entry("issue.create"), json!({"title": "t", "issue_type": "task"})).await.expect("writes go on");
        for _ in 0..10 {
            assert!(run(entry("issue.list"), json!({})).await.expect("reads go on").starts_with(b"[{"));
        }
    }
}
