//! A PostgreSQL connection: its prepared statements, its warnings, and timeouts for a server that may hang.
//!
//! A pooled connection has a runtime of its own, so that the thread that waits for an answer also reads it.
//! Transactions are in the driver.

use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use deadpool::managed::{Manager, Metrics, RecycleError, RecycleResult};
use futures_util::future::{join, join_all};
use futures_util::{FutureExt, TryStreamExt};
use pensa_core::Error;
use tokio::runtime::{self, Runtime};
use tokio::task;
use tokio::time::timeout;
use tokio_postgres::{AsyncMessage, Client, Notification, Row, RowStream, Statement};

use super::address::Address;
use super::failure::{self, Failure};
use super::values::{self, Value};
use crate::db::Param;

/// Timeout for the answer to a statement. The server's own timeout is shorter; this one is for a server that hangs.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(35);
/// How long a statement waits for a lock; less if the request has waited before.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_millis(3500);
/// After this silence, a new connection attempt checks whether the server still accepts connections.
const SILENCE: Duration = Duration::from_millis(2500);
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);
/// Limit for prepared statements; when it is reached, all are dropped.
pub(super) const MAX_PREPARED: usize = 256;

/// Settings of a session. Whatever selects the visible store must not outlive a transaction.
///
/// Every query concerns one store and has an index that starts with the store. A planner without statistics on a grown
/// table would scan all stores' rows instead, and keep that plan. So sequential scans are disabled, and random reads
/// cost as much as sequential ones, because indexes in use are in memory.
const SETTINGS: &str = "SET search_path = pensa; SET statement_timeout = '30s'; SET lock_timeout = '3500ms'; \
     SET idle_in_transaction_session_timeout = '60s'; SET jit = off; SET client_min_messages = warning; \
     SET default_transaction_isolation = 'read committed'; SET enable_seqscan = off; SET enable_bitmapscan = off; \
     SET enable_hashjoin = off; SET enable_mergejoin = off; SET random_page_cost = 1; \
     SET plan_cache_mode = force_generic_plan; SET ROLE pensa_tenant";

/// The shared runtime: for waiting on the pool, and for the connections that listen and notify.
fn runtime() -> Result<&'static Runtime, Failure> {
    static RUNTIME: LazyLock<io::Result<Runtime>> = LazyLock::new(|| {
        runtime::Builder::new_multi_thread().worker_threads(1).thread_name("pensa-postgres").enable_all().build()
    });
    RUNTIME.as_ref().map_err(|e| Failure::other(Error::internal(e)))
}

/// Runs a future on the calling thread, because the engine is synchronous.
pub(super) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    runtime()?.block_on(work)
}

/// Runs `work` in the background. Without a runtime, it is dropped.
pub(super) fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = runtime() {
        runtime.spawn(work);
    }
}

/// A statement with its values, sent together with the next awaited statement.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) statement: Statement,
    pub(super) values: Vec<Value>,
}

pub(super) struct PgConnection {
    client: Client,
    address: Address,
    statements: HashMap<String, Statement>,
    /// The server's warning that it gave up waiting for a standby.
    unreplicated: Arc<Mutex<Option<String>>>,
    /// Whether an answer timed out, so that the connection is unusable.
    broken: bool,
}

impl std::fmt::Debug for PgConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PgConnection({})", self.address)
    }
}

impl PgConnection {
    /// Connects as the user of the address, without row-level security.
    pub(super) async fn connect(address: &Address) -> Result<Self, Failure> {
        Self::connect_with(address, |_| {}).await
    }

    /// As [`connect`](Self::connect), passing each notification to `hear`.
    pub(super) async fn connect_with(
        address: &Address,
        hear: impl Fn(Notification) + Send + 'static,
    ) -> Result<Self, Failure> {
        let (client, mut connection) = address.connect().await?;
        let unreplicated = Arc::new(Mutex::new(None));
        let warned = Arc::clone(&unreplicated);
        tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
                match message {
                    AsyncMessage::Notice(notice) if failure::is_standby_warning(&notice) => {
                        *warned.lock().unwrap_or_else(PoisonError::into_inner) = Some(notice.message().to_owned());
                    }
                    AsyncMessage::Notification(news) => hear(news),
                    _ => {}
                }
            }
        });
        Ok(Self { client, address: address.clone(), statements: HashMap::new(), unreplicated, broken: false })
    }

    /// Connects in a role that is bound by row-level security, so that it sees one store at a time.
    async fn connect_as_tenant(address: &Address) -> Result<Self, Failure> {
        let mut session = Self::connect(address).await?;
        session.batch(SETTINGS).await.map_err(Failure::with_role_hint)?;
        let bound = "SELECT NOT (rolsuper OR rolbypassrls) FROM pg_roles WHERE rolname = current_user";
        match session.query(bound, &[]).await?.first().map(|row| row.try_get(0)) {
            Some(Ok(true)) => Ok(session),
            _ => Err(Failure::other(failure::role_bypasses_rls())),
        }
    }

    pub(super) fn is_broken(&self) -> bool {
        self.broken || self.client.is_closed()
    }

    /// The warning about a commit that did not reach the standby, if any.
    pub(super) fn take_unreplicated(&self) -> Option<String> {
        self.unreplicated.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Runs statements without parameters.
    pub(super) async fn batch(&mut self, sql: &str) -> Result<(), Failure> {
        let answer = answered(&self.address, self.client.batch_execute(sql), Instant::now() + ANSWER_TIMEOUT).await;
        self.noting_loss(answer)
    }

    pub(super) async fn prepare(&mut self, sql: &str) -> Result<Statement, Failure> {
        if let Some(known) = self.statements.get(sql) {
            return Ok(known.clone());
        }
        if self.statements.len() >= MAX_PREPARED {
            self.statements.clear();
        }
        let text = values::placeholders(sql);
        let prepared = answered(&self.address, self.client.prepare(&text), Instant::now() + ANSWER_TIMEOUT).await;
        let statement = self.noting_loss(prepared)?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Prepares a statement to be sent later.
    pub(super) async fn pending(&mut self, sql: &str, params: &[Param<'_>]) -> Result<Pending, Failure> {
        Ok(Pending { statement: self.prepare(sql).await?, values: values::owned(params) })
    }

    /// Whether a statement is already prepared.
    pub(super) fn is_prepared(&self, sql: &str) -> bool {
        self.statements.contains_key(sql)
    }

    /// Returns all rows of a query.
    pub(super) async fn query(&mut self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>, Failure> {
        self.query_after(&[], sql, params, Instant::now() + ANSWER_TIMEOUT).await
    }

    /// As [`query`](Self::query), sent together with preceding statements.
    pub(super) async fn query_after(
        &mut self,
        statements: &[Pending],
        sql: &str,
        params: &[Param<'_>],
        deadline: Instant,
    ) -> Result<Vec<Row>, Failure> {
        let query = self.prepare(sql).await?;
        let rows = self.stream(statements, &query, params, deadline).await?;
        self.wait(rows.try_collect(), deadline).await
    }

    /// Sends statements in one batch and waits for all answers. Returns the number of rows changed by the last one.
    pub(super) async fn run(&mut self, statements: &[Pending], deadline: Instant) -> Result<u64, Failure> {
        let work = async {
            let counts = join_all(statements.iter().map(|one| self.client.execute_raw(&one.statement, &one.values)));
            counts.await.into_iter().try_fold(0, |_, count| count)
        };
        let answer = answered(&self.address, work, deadline).await;
        self.noting_loss(answer)
    }

    /// As [`run`](Self::run), followed by a query whose rows are streamed.
    pub(super) async fn stream(
        &mut self,
        statements: &[Pending],
        query: &Statement,
        params: &[Param<'_>],
        deadline: Instant,
    ) -> Result<RowStream, Failure> {
        let work = async {
            let counts = join_all(statements.iter().map(|one| self.client.execute_raw(&one.statement, &one.values)));
            let (counts, rows) = join(counts, self.client.query_raw(query, params)).await;
            counts.into_iter().collect::<Result<Vec<_>, _>>()?;
            rows
        };
        let answer = answered(&self.address, work, deadline).await;
        self.noting_loss(answer)
    }

    /// Waits for other work on this connection, with the same timeouts.
    pub(super) async fn wait<T>(
        &mut self,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
        deadline: Instant,
    ) -> Result<T, Failure> {
        let answer = answered(&self.address, work, deadline).await;
        self.noting_loss(answer)
    }

    fn noting_loss<T>(&mut self, answer: Result<T, Failure>) -> Result<T, Failure> {
        self.broken |= answer.as_ref().is_err_and(Failure::is_lost);
        answer
    }
}

/// Waits for an answer. If the server is silent for a while, it may be busy or gone: a new connection attempt shows
/// which.
async fn answered<T>(
    address: &Address,
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    deadline: Instant,
) -> Result<T, Failure> {
    let mut work = pin!(work);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if let Ok(answer) = timeout(left.min(SILENCE), &mut work).await {
            return answer.map_err(Failure::from);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || !matches!(timeout(left.min(PROBE_TIMEOUT), address.connect()).await, Ok(Ok(_))) {
            return Err(failure::silent());
        }
    }
}

/// A connection with the runtime that drives it while a thread waits for an answer.
#[derive(Debug)]
pub(super) struct PooledConnection {
    session: PgConnection,
    /// `None` while it is being dropped.
    runtime: Option<Runtime>,
}

impl PooledConnection {
    fn connect(address: &Address) -> Result<Self, Failure> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| Failure::other(Error::internal(e)))?;
        let session = runtime.block_on(PgConnection::connect_as_tenant(address))?;
        Ok(Self { session, runtime: Some(runtime) })
    }

    /// Runs work on the connection, on the calling thread.
    pub(super) fn run<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        match &self.runtime {
            Some(runtime) => runtime.block_on(work(&mut self.session)),
            None => Err(failure::silent()),
        }
    }

    pub(super) fn is_broken(&self) -> bool {
        self.session.is_broken()
    }

    /// Sends a rollback without waiting. The next user of the connection reads the answer.
    pub(super) fn roll_back(&mut self) {
        let sent = self.run(async |session| {
            let _ = session.client.batch_execute("ROLLBACK").now_or_never();
            // Lets the runtime write it.
            task::yield_now().await;
            Ok(())
        });
        debug_assert!(sent.is_ok(), "nothing is waited for");
    }
}

/// Drops the runtime in the background: dropping it inside another runtime panics, and the pool may do that.
impl Drop for PooledConnection {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Creates the connections of a pool.
#[derive(Debug)]
pub(super) struct PgConnectionManager(pub(super) Address);

impl Manager for PgConnectionManager {
    type Type = PooledConnection;
    type Error = Failure;

    async fn create(&self) -> Result<PooledConnection, Failure> {
        let address = self.0.clone();
        let connecting = task::spawn_blocking(move || PooledConnection::connect(&address));
        connecting.await.map_err(|e| Failure::other(Error::internal(e)))?
    }

    async fn recycle(&self, session: &mut PooledConnection, _: &Metrics) -> RecycleResult<Failure> {
        if session.is_broken() { Err(RecycleError::message("the connection was lost")) } else { Ok(()) }
    }
}
