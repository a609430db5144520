//! One session with PostgreSQL: its prepared statements, its warnings, and bounded waits for a server that may hang.
//!
//! A pooled session has a runtime of its own, so that the thread that waits for an answer is the one that reads it.
//! What belongs into a transaction is left to the driver.

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

/// Longest wait for the answer to a statement. The server gives up earlier and says so; this is for one that can't.
pub(super) const ANSWER: Duration = Duration::from_secs(35);
/// Longest that a statement waits for a lock; less if the request has waited before.
pub(super) const LOCK: Duration = Duration::from_millis(3500);
/// How long a server may say nothing before we ask whether it still accepts connections, and how long that may take.
const SILENCE: Duration = Duration::from_millis(2500);
const PROBE: Duration = Duration::from_secs(1);
/// Most statements kept prepared; then all are forgotten.
pub(super) const MAX_PREPARED: usize = 256;

/// Settings of a session. Nothing that decides which store is seen may live longer than a transaction.
///
/// Every query is about one store and has an index that begins with it. A planner that has not yet seen a table grow
/// would read all of it instead, the rows of all stores, and keep that plan. So it is told not to, and that an index
/// look-up costs no more than a sequential read: indexes in use are in memory.
const SETTINGS: &str = "SET search_path = pensa; SET statement_timeout = '30s'; SET lock_timeout = '3500ms'; \
     SET idle_in_transaction_session_timeout = '60s'; SET jit = off; SET client_min_messages = warning; \
     SET default_transaction_isolation = 'read committed'; SET enable_seqscan = off; SET enable_bitmapscan = off; \
     SET enable_hashjoin = off; SET enable_mergejoin = off; SET random_page_cost = 1; \
     SET plan_cache_mode = force_generic_plan; SET ROLE pensa_tenant";

/// Drives what no session does: waits for the pool, and the connections that listen and notify.
fn runtime() -> Result<&'static Runtime, Failure> {
    static RUNTIME: LazyLock<io::Result<Runtime>> = LazyLock::new(|| {
        runtime::Builder::new_multi_thread().worker_threads(1).thread_name("pensa-postgres").enable_all().build()
    });
    RUNTIME.as_ref().map_err(|e| Failure::other(Error::internal(e)))
}

/// Waits on the calling thread, because the engine is synchronous.
pub(super) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    runtime()?.block_on(work)
}

/// Has `work` go on by itself; without a runtime it is dropped.
pub(super) fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = runtime() {
        runtime.spawn(work);
    }
}

/// A statement with its values, to be sent with the next one whose answer somebody needs.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) statement: Statement,
    pub(super) values: Vec<Value>,
}

pub(super) struct Session {
    client: Client,
    address: Address,
    statements: HashMap<String, Statement>,
    /// The server's word that it gave up waiting for a standby.
    unreplicated: Arc<Mutex<Option<String>>>,
    /// Whether an answer was given up, so that nothing more can be asked.
    broken: bool,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Session({})", self.address)
    }
}

impl Session {
    /// A session as the user of the address, in which any statement may run.
    pub(super) async fn connect(address: &Address) -> Result<Self, Failure> {
        Self::connect_with(address, |_| {}).await
    }

    /// The same, handing every notification to `hear`.
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
                    AsyncMessage::Notice(notice) if failure::is_of_standby(&notice) => {
                        *warned.lock().unwrap_or_else(PoisonError::into_inner) = Some(notice.message().to_owned());
                    }
                    AsyncMessage::Notification(news) => hear(news),
                    _ => {}
                }
            }
        });
        Ok(Self { client, address: address.clone(), statements: HashMap::new(), unreplicated, broken: false })
    }

    /// A session that sees one store at a time: it acts in a role that row-level security binds.
    async fn connect_bound(address: &Address) -> Result<Self, Failure> {
        let mut session = Self::connect(address).await?;
        session.batch(SETTINGS).await.map_err(Failure::within_role)?;
        let bound = "SELECT NOT (rolsuper OR rolbypassrls) FROM pg_roles WHERE rolname = current_user";
        match session.query(bound, &[]).await?.first().map(|row| row.try_get(0)) {
            Some(Ok(true)) => Ok(session),
            _ => Err(Failure::other(failure::unbound_role())),
        }
    }

    pub(super) fn is_broken(&self) -> bool {
        self.broken || self.client.is_closed()
    }

    /// What the server said about a commit that it could not carry to its standby.
    pub(super) fn take_unreplicated(&self) -> Option<String> {
        self.unreplicated.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Statements without parameters.
    pub(super) async fn batch(&mut self, sql: &str) -> Result<(), Failure> {
        let answer = answered(&self.address, self.client.batch_execute(sql), Instant::now() + ANSWER).await;
        self.noting(answer)
    }

    pub(super) async fn prepare(&mut self, sql: &str) -> Result<Statement, Failure> {
        if let Some(known) = self.statements.get(sql) {
            return Ok(known.clone());
        }
        if self.statements.len() >= MAX_PREPARED {
            self.statements.clear();
        }
        let text = values::placeholders(sql);
        let prepared = answered(&self.address, self.client.prepare(&text), Instant::now() + ANSWER).await;
        let statement = self.noting(prepared)?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// A statement that is ready to be sent.
    pub(super) async fn pending(&mut self, sql: &str, params: &[Param<'_>]) -> Result<Pending, Failure> {
        Ok(Pending { statement: self.prepare(sql).await?, values: values::owned(params) })
    }

    /// Whether a statement need not be prepared before it runs.
    pub(super) fn is_prepared(&self, sql: &str) -> bool {
        self.statements.contains_key(sql)
    }

    /// All rows of an answer.
    pub(super) async fn query(&mut self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>, Failure> {
        self.query_after(&[], sql, params, Instant::now() + ANSWER).await
    }

    /// The same, sent together with statements that come before it.
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

    /// Sends statements in one go and waits for all their answers; tells how many rows the last one changed.
    pub(super) async fn run(&mut self, statements: &[Pending], deadline: Instant) -> Result<u64, Failure> {
        let work = async {
            let counts = join_all(statements.iter().map(|one| self.client.execute_raw(&one.statement, &one.values)));
            counts.await.into_iter().try_fold(0, |_, count| count)
        };
        let answer = answered(&self.address, work, deadline).await;
        self.noting(answer)
    }

    /// The same with a query in the end, of which the rows come as they are read.
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
        self.noting(answer)
    }

    /// Waits for something of this session's, as for an answer.
    pub(super) async fn wait<T>(
        &mut self,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
        deadline: Instant,
    ) -> Result<T, Failure> {
        let answer = answered(&self.address, work, deadline).await;
        self.noting(answer)
    }

    fn noting<T>(&mut self, answer: Result<T, Failure>) -> Result<T, Failure> {
        self.broken |= answer.as_ref().is_err_and(Failure::is_lost);
        answer
    }
}

/// Waits for an answer. A server that says nothing for a while may be busy or gone: whether it accepts another
/// connection tells.
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
        if left.is_zero() || !matches!(timeout(left.min(PROBE), address.connect()).await, Ok(Ok(_))) {
            return Err(failure::silent());
        }
    }
}

/// A session with the runtime that drives its connection while somebody waits for an answer.
#[derive(Debug)]
pub(super) struct PooledSession {
    session: Session,
    /// None while it is dropped.
    runtime: Option<Runtime>,
}

impl PooledSession {
    fn connect(address: &Address) -> Result<Self, Failure> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| Failure::other(Error::internal(e)))?;
        let session = runtime.block_on(Session::connect_bound(address))?;
        Ok(Self { session, runtime: Some(runtime) })
    }

    /// Runs work on the session, on the calling thread.
    pub(super) fn run<T>(&mut self, work: impl AsyncFnOnce(&mut Session) -> Result<T, Failure>) -> Result<T, Failure> {
        match &self.runtime {
            Some(runtime) => runtime.block_on(work(&mut self.session)),
            None => Err(failure::silent()),
        }
    }

    pub(super) fn is_broken(&self) -> bool {
        self.session.is_broken()
    }

    /// Ends a transaction. The next user of the session reads the answer.
    pub(super) fn roll_back(&mut self) {
        let sent = self.run(async |session| {
            let _ = session.client.batch_execute("ROLLBACK").now_or_never();
            // Lets the connection write it.
            task::yield_now().await;
            Ok(())
        });
        debug_assert!(sent.is_ok(), "nothing is waited for");
    }
}

/// A runtime must not be dropped where another one runs, and the pool may drop a session there.
impl Drop for PooledSession {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Makes the sessions of a pool.
#[derive(Debug)]
pub(super) struct Sessions(pub(super) Address);

impl Manager for Sessions {
    type Type = PooledSession;
    type Error = Failure;

    async fn create(&self) -> Result<PooledSession, Failure> {
        let address = self.0.clone();
        let connecting = task::spawn_blocking(move || PooledSession::connect(&address));
        connecting.await.map_err(|e| Failure::other(Error::internal(e)))?
    }

    async fn recycle(&self, session: &mut PooledSession, _: &Metrics) -> RecycleResult<Failure> {
        if session.is_broken() { Err(RecycleError::message("the connection was lost")) } else { Ok(()) }
    }
}
