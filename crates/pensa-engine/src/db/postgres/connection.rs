//! One connection to PostgreSQL: sends statements, several before the first answer where nobody waits for one, and
//! gives up on a server that has gone silent.
//!
//! What belongs into a transaction is left to the driver.

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::mem;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_core::Stream;
use pensa_core::{Error, Result};
use tokio::runtime::Runtime;
use tokio::task::yield_now;
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use tokio_postgres::error::{DbError, SqlState};
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Row, RowStream, Statement};

use super::address::Address;
use super::failure::{self, Failure};
use super::queue::{Added, Merged, Queued, Value};
use crate::db::Param;

/// Longest wait for the answer to a statement. The server gives up earlier and says so; this is for one that can't.
pub(super) const ANSWER: Duration = Duration::from_secs(35);
/// How long a server may say nothing before it is doubted.
const DOUBT: Duration = Duration::from_millis(2500);
/// How long it then has to greet.
const GREETING: Duration = Duration::from_secs(1);
/// Most statements kept prepared; then all are forgotten.
const MAX_PREPARED: usize = 256;
/// Most statements that add rows of several tables whose texts are kept; then all are forgotten.
const MAX_MERGED: usize = 64;
/// After how many uses a statement is planned anew for the first time.
const OLD_AT: u64 = 32;
/// Most statements sent ahead of their answers.
const MAX_QUEUED: usize = 64;
/// Rows taken from the socket at a time.
const ROWS_AT_ONCE: usize = 256;

/// What a session is told once. Nothing that decides which store is seen may live longer than a transaction.
///
/// Every question is about one store and has an index that begins with it. A planner that has not yet seen a table
/// grow would read all of it instead, the rows of all stores, and keep that plan; so it is told not to, and that to look
/// something up costs no more than to read on: indexes that are in use are in memory.
const SESSION: &str = "SET search_path = pensa; SET statement_timeout = '30s'; SET lock_timeout = '3500ms'; \
     SET idle_in_transaction_session_timeout = '60s'; SET jit = off; SET client_min_messages = warning; \
     SET default_transaction_isolation = 'read committed'; SET enable_seqscan = off; SET enable_bitmapscan = off; \
     SET enable_hashjoin = off; SET enable_mergejoin = off; SET random_page_cost = 1; SET plan_cache_mode = force_generic_plan; \
     SET ROLE pensa_tenant";

pub(super) struct Connection {
    // Dropped before the runtime that drives it.
    client: Client,
    runtime: Runtime,
    address: Address,
    prepared: HashMap<String, Prepared>,
    merged: Vec<Merged>,
    queued: Vec<Queued>,
    /// How often something was sent.
    sendings: u64,
    /// The server's word that a commit was not carried to its standby.
    unsure: Arc<Mutex<Option<String>>>,
    broken: bool,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connection")
    }
}

/// A statement that the server has planned. A plan is made for the sizes of its day, so it is made anew as the
/// tables grow with its use.
struct Prepared {
    statement: Statement,
    uses: u64,
    old_at: u64,
}

/// A place in the queue of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    sendings: u64,
    queued: usize,
}

/// The rows of an answer, fetched as they are needed.
pub(super) struct Rows(Pin<Box<RowStream>>);

impl Connection {
    /// A connection that any statement may use, as the user of the address.
    pub(super) fn open_unbound(address: &Address, deadline: Instant) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| Failure::other(Error::internal(e)))?;
        let unsure = Arc::new(Mutex::new(None));
        let client = runtime.block_on(async {
            let connecting = timeout(left(deadline), address.connect());
            let (client, mut connection) = connecting.await.map_err(|_| failure::silent())??;
            let unsure = Arc::clone(&unsure);
            tokio::spawn(async move {
                while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
                    if let AsyncMessage::Notice(notice) = message
                        && is_of_standby(&notice)
                    {
                        *unsure.lock().unwrap_or_else(PoisonError::into_inner) = Some(notice.message().to_owned());
                    }
                }
            });
            Ok::<_, Failure>(client)
        })?;
        let address = address.clone();
        Ok(Self {
            client,
            runtime,
            address,
            prepared: HashMap::new(),
            merged: Vec::new(),
            queued: Vec::new(),
            sendings: 0,
            unsure,
            broken: false,
        })
    }

    /// A connection that sees one store at a time: it acts in a role that row-level security binds.
    pub(super) fn open(address: &Address, deadline: Instant) -> Result<Self, Failure> {
        let mut connection = Self::open_unbound(address, deadline)?;
        connection.batch(SESSION, deadline).map_err(|failure| failure.within_role())?;
        let bound = "SELECT NOT (rolsuper OR rolbypassrls) FROM pg_roles WHERE rolname = current_user";
        let (rows, _) = connection.query(bound, &[], deadline)?;
        match rows.first().map(|row| row.try_get::<_, bool>(0)) {
            Some(Ok(true)) => Ok(connection),
            _ => Err(Failure::other(failure::unbound_role())),
        }
    }

    /// Whether no more can be done with it.
    pub(super) fn is_broken(&self) -> bool {
        self.broken || self.client.is_closed()
    }

    /// Statements without parameters, all in one message.
    pub(super) fn batch(&mut self, sql: &str, deadline: Instant) -> Result<(), Failure> {
        let outcome = wait(&self.runtime, &self.address, deadline, self.client.batch_execute(sql));
        self.outcome(outcome)
    }

    fn prepare(&mut self, sql: &str, deadline: Instant) -> Result<Statement, Failure> {
        let mut uses = 1;
        if let Some(known) = self.prepared.get_mut(sql) {
            known.uses += 1;
            if known.uses < known.old_at {
                return Ok(known.statement.clone());
            }
            uses = known.uses;
        } else if self.prepared.len() >= MAX_PREPARED {
            self.prepared.clear();
        }
        let text = placeholders(sql);
        let outcome = wait(&self.runtime, &self.address, deadline, self.client.prepare(&text));
        let statement = self.outcome(outcome)?;
        let old_at = uses.saturating_mul(4).max(OLD_AT);
        self.prepared.insert(sql.to_owned(), Prepared { statement: statement.clone(), uses, old_at });
        Ok(statement)
    }

    /// Sends a statement with the next one that is waited for; if it fails, that one fails.
    pub(super) fn queue(&mut self, sql: &str, params: &[Param<'_>], deadline: Instant) -> Result<(), Failure> {
        let statement = self.prepare(sql, deadline)?;
        self.queued.push(Queued::Statement(statement, params.iter().map(Param::to_static).map(Value::One).collect()));
        if self.queued.len() >= MAX_QUEUED { self.flush(deadline) } else { Ok(()) }
    }

    /// Queues a statement that changes something else than the rows which were queued right before it, and takes them
    /// along: a statement for each table would cost as much again to begin and to answer.
    pub(super) fn queue_with_rows(
        &mut self,
        sql: &str,
        params: &[Param<'_>],
        deadline: Instant,
    ) -> Result<(), Failure> {
        let others = self.queued.iter().rposition(|queued| !matches!(queued, Queued::Rows(_))).map_or(0, |at| at + 1);
        let rows: Vec<Added> = self.queued.split_off(others).into_iter().filter_map(Queued::into_added).collect();
        if rows.is_empty() {
            return self.queue(sql, params, deadline);
        }
        let text = match self.merged.iter().find(|merged| merged.is_of(sql, &rows)) {
            Some(merged) => Arc::clone(&merged.text),
            None => self.merge(sql, params.len(), &rows, deadline)?,
        };
        let statement = self.prepare(&text, deadline)?;
        let own = params.iter().map(Param::to_static).map(Value::One);
        let values = own.chain(rows.into_iter().flat_map(Added::into_values)).collect();
        self.queued.push(Queued::Statement(statement, values));
        Ok(())
    }

    /// The text of a statement that adds these rows as well.
    fn merge(&mut self, sql: &str, width: usize, rows: &[Added], deadline: Instant) -> Result<Arc<str>, Failure> {
        let (mut with, mut before) = (Vec::new(), width);
        for (at, added) in rows.iter().enumerate() {
            let one = self.prepare(&added.of_one(), deadline)?;
            with.push(format!("rows_{at} AS ({})", added.text(&one, before)));
            before += added.width();
        }
        let text: Arc<str> = format!("WITH {} {sql}", with.join(", ")).into();
        if self.merged.len() >= MAX_MERGED {
            self.merged.clear();
        }
        self.merged.push(Merged::new(sql, rows, Arc::clone(&text)));
        Ok(text)
    }

    /// Adds rows to a table with the next statement that is waited for, and with all others for the same columns of
    /// which nothing but rows was queued since.
    pub(super) fn queue_rows(
        &mut self,
        insert: &str,
        width: usize,
        values: &[Param<'_>],
        deadline: Instant,
    ) -> Result<(), Failure> {
        let only_rows = self.queued.iter_mut().rev().map_while(Queued::as_added);
        match { only_rows }.find(|added| added.insert == insert) {
            Some(added) => added.take_in(values),
            None => {
                let mut added = Added::new(insert, width);
                added.take_in(values);
                self.queued.push(Queued::Rows(added));
            }
        }
        let many = self.queued.iter().any(|queued| matches!(queued, Queued::Rows(added) if added.is_full()));
        if many || self.queued.len() >= MAX_QUEUED { self.flush(deadline) } else { Ok(()) }
    }

    /// Whether nothing but new rows waits to be sent.
    pub(super) fn has_only_rows_queued(&self) -> bool {
        self.queued.iter().all(|queued| matches!(queued, Queued::Rows(_)))
    }

    /// How often what was queued has been sent.
    pub(super) fn sendings(&self) -> u64 {
        self.sendings
    }

    /// Waits for the answers to all that was queued.
    pub(super) fn flush(&mut self, deadline: Instant) -> Result<(), Failure> {
        if self.queued.is_empty() {
            return Ok(());
        }
        let queued = self.take_queue(deadline)?;
        let answering = after(&self.client, &queued, std::future::ready(Ok(())));
        let outcome = wait(&self.runtime, &self.address, deadline, answering);
        self.outcome(outcome)
    }

    /// Runs a statement; tells how many rows it changed.
    pub(super) fn execute(&mut self, sql: &str, params: &[Param<'_>], deadline: Instant) -> Result<u64, Failure> {
        let statement = self.prepare(sql, deadline)?;
        let queued = self.take_queue(deadline)?;
        let answering = after(&self.client, &queued, self.client.execute_raw(&statement, borrowed(params)));
        let outcome = wait(&self.runtime, &self.address, deadline, answering);
        self.outcome(outcome)
    }

    /// The first rows of an answer, and where the others come from.
    pub(super) fn query(
        &mut self,
        sql: &str,
        params: &[Param<'_>],
        deadline: Instant,
    ) -> Result<(Vec<Row>, Option<Rows>), Failure> {
        let queued = self.take_queue(deadline)?;
        self.query_after(&queued, sql, params, deadline)
    }

    /// All rows of a few answers, to questions that travel together.
    pub(super) fn query_all(
        &mut self,
        questions: &[(&str, &[Param<'_>])],
        deadline: Instant,
    ) -> Result<Vec<Vec<Row>>, Failure> {
        let queued = self.take_queue(deadline)?;
        let statements = questions.iter().map(|(sql, _)| self.prepare(sql, deadline)).collect::<Result<Vec<_>, _>>()?;
        let client = &self.client;
        let asking = statements.iter().zip(questions).map(|(statement, (_, params))| {
            Box::pin(async move {
                let mut rows = Rows(Box::pin(client.query_raw(statement, borrowed(params)).await?));
                let (mut all, mut more) = rows.some().await?;
                while more {
                    let (next, go_on) = rows.some().await?;
                    all.extend(next);
                    more = go_on;
                }
                Ok(all)
            })
        });
        let answering = after(client, &queued, together(asking.collect()));
        let outcome = wait(&self.runtime, &self.address, deadline, answering);
        self.outcome(outcome)
    }

    /// The same without sending what is queued: the answer does not tell of it.
    pub(super) fn query_beside(
        &mut self,
        sql: &str,
        params: &[Param<'_>],
        deadline: Instant,
    ) -> Result<(Vec<Row>, Option<Rows>), Failure> {
        self.query_after(&[], sql, params, deadline)
    }

    fn query_after(
        &mut self,
        queued: &[(Statement, Vec<Value>)],
        sql: &str,
        params: &[Param<'_>],
        deadline: Instant,
    ) -> Result<(Vec<Row>, Option<Rows>), Failure> {
        let statement = self.prepare(sql, deadline)?;
        let first = async {
            let mut rows = Rows(Box::pin(self.client.query_raw(&statement, borrowed(params)).await?));
            let (first, more) = rows.some().await?;
            Ok((first, more.then_some(rows)))
        };
        let outcome = wait(&self.runtime, &self.address, deadline, after(&self.client, queued, first));
        self.outcome(outcome)
    }

    /// More rows, and whether there may be still more.
    pub(super) fn more(&mut self, rows: &mut Rows, deadline: Instant) -> Result<(Vec<Row>, bool), Failure> {
        let outcome = wait(&self.runtime, &self.address, deadline, rows.some());
        self.outcome(outcome)
    }

    /// Sends a last statement and does not wait for its answer: whoever uses the connection next finds out.
    pub(super) fn leave(&mut self, sql: &str) {
        if self.is_broken() {
            return;
        }
        let Ok(statement) = self.prepare(sql, Instant::now() + ANSWER) else {
            self.broken = true;
            return;
        };
        let Ok(queued) = self.take_queue(Instant::now() + ANSWER) else { return };
        let client = &self.client;
        self.runtime.block_on(async {
            let mut sending = pin!(after(client, &queued, client.execute_raw(&statement, borrowed(&[]))));
            poll_fn(|cx| Poll::Ready(sending.as_mut().poll(cx).is_ready())).await;
            // The task that holds the socket takes its turn.
            yield_now().await;
        });
    }

    /// What the server said about a commit that it could not carry to its standby.
    pub(super) fn take_unsure(&mut self) -> Option<String> {
        self.unsure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn take_queue(&mut self, deadline: Instant) -> Result<Vec<(Statement, Vec<Value>)>, Failure> {
        self.sendings += 1;
        let queue = mem::take(&mut self.queued);
        let ready = |queued| match queued {
            Queued::Statement(statement, values) => Ok((statement, values)),
            Queued::Rows(added) => {
                let one = self.prepare(&added.of_one(), deadline)?;
                let statement = if added.rows() == 1 { one } else { self.prepare(&added.text(&one, 0), deadline)? };
                Ok((statement, added.into_values()))
            }
        };
        queue.into_iter().map(ready).collect()
    }

    /// A place in the queue to go back to.
    pub(super) fn place(&self) -> Place {
        Place { sendings: self.sendings, queued: self.queued.len() }
    }

    /// Forgets everything that was queued since; false if some of it was sent already.
    pub(super) fn forget_since(&mut self, place: Place) -> bool {
        let unsent = place.sendings == self.sendings;
        self.queued.truncate(if unsent { place.queued } else { 0 });
        unsent
    }

    pub(super) fn forget_queue(&mut self) {
        self.queued.clear();
    }

    fn outcome<T>(&mut self, outcome: Result<Result<T, tokio_postgres::Error>, Elapsed>) -> Result<T, Failure> {
        let failure = match outcome {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(e)) => Failure::from(e),
            Err(_) => failure::silent(),
        };
        self.broken |= failure.is_lost() || self.client.is_closed();
        Err(failure)
    }
}

impl Rows {
    /// The next rows, a bounded number of them, and whether there may be more.
    async fn some(&mut self) -> Result<(Vec<Row>, bool), tokio_postgres::Error> {
        let mut rows = Vec::new();
        while rows.len() < ROWS_AT_ONCE {
            match poll_fn(|cx| self.0.as_mut().poll_next(cx)).await {
                Some(row) => rows.push(row?),
                None => return Ok((rows, false)),
            }
        }
        Ok((rows, true))
    }
}

/// Whether a notice says that the wait for a standby was given up. It is a mere warning, in the server's language and
/// without a code of its own; only the place it comes from tells.
fn is_of_standby(notice: &DbError) -> bool {
    notice.routine() == Some("SyncRepWaitForLSN") || *notice.code() == SqlState::ADMIN_SHUTDOWN
}

/// Sends every queued statement and then `last`, in this order and without waiting in between; ready when all are
/// answered, with the first thing that went wrong.
async fn after<T>(
    client: &Client,
    queued: &[(Statement, Vec<Value>)],
    last: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, tokio_postgres::Error> {
    if queued.is_empty() {
        return last.await;
    }
    let mut sent: Vec<_> =
        queued.iter().map(|(statement, values)| Some(Box::pin(client.execute_raw(statement, values)))).collect();
    let (mut last, mut answer, mut failed) = (pin!(last), None, None);
    poll_fn(|cx| {
        for slot in &mut sent {
            if let Some(sending) = slot
                && let Poll::Ready(outcome) = sending.as_mut().poll(cx)
            {
                *slot = None;
                failed = failed.take().or(outcome.err());
            }
        }
        if answer.is_none()
            && let Poll::Ready(outcome) = last.as_mut().poll(cx)
        {
            answer = Some(outcome);
        }
        let all = answer.is_some() && sent.iter().all(Option::is_none);
        if all { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    match (failed, answer) {
        (Some(e), _) => Err(e),
        (None, Some(answer)) => answer,
        (None, None) => unreachable!("ready only with an answer"),
    }
}

/// Waits for all of these, which begin in their order.
async fn together<T, F>(mut waiting: Vec<Pin<Box<F>>>) -> Result<Vec<T>, tokio_postgres::Error>
where
    F: Future<Output = Result<T, tokio_postgres::Error>>,
{
    let mut done: Vec<Option<T>> = waiting.iter().map(|_| None).collect();
    poll_fn(|cx| {
        for (slot, future) in done.iter_mut().zip(&mut waiting).filter(|(slot, _)| slot.is_none()) {
            if let Poll::Ready(outcome) = future.as_mut().poll(cx) {
                *slot = Some(match outcome {
                    Ok(value) => value,
                    Err(e) => return Poll::Ready(Err(e)),
                });
            }
        }
        if done.iter().all(Option::is_some) { Poll::Ready(Ok(())) } else { Poll::Pending }
    })
    .await?;
    Ok(done.into_iter().flatten().collect())
}

/// Drives the connection until the future is ready or it is too late. A server that says nothing for a while may be
/// busy with a long answer, or gone: whether it still greets others tells.
fn wait<T>(
    runtime: &Runtime,
    address: &Address,
    deadline: Instant,
    answering: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<Result<T, tokio_postgres::Error>, Elapsed> {
    runtime.block_on(async {
        let mut answering = pin!(answering);
        loop {
            match timeout(left(deadline).min(DOUBT), &mut answering).await {
                Ok(answer) => return Ok(answer),
                Err(late) if !greets(address, left(deadline)).await => return Err(late),
                Err(_) => {}
            }
        }
    })
}

async fn greets(address: &Address, left: Duration) -> bool {
    !left.is_zero() && matches!(timeout(left.min(GREETING), address.connect()).await, Ok(Ok(_)))
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

fn borrowed<'a>(params: &'a [Param<'_>]) -> impl ExactSizeIterator<Item = &'a (dyn ToSql + Sync)> {
    params.iter().map(|param| param as &(dyn ToSql + Sync))
}

/// `?1` in the one SQL text of all drivers is `$1` here.
fn placeholders(sql: &str) -> String {
    let mut text = String::with_capacity(sql.len());
    let mut rest = sql.chars().peekable();
    while let Some(letter) = rest.next() {
        let is_placeholder = letter == '?' && rest.peek().is_some_and(char::is_ascii_digit);
        text.push(if is_placeholder { '$' } else { letter });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_rewritten_and_nothing_else() {
        assert_eq!(placeholders("a = ?1 AND b IN (?2, ?10)"), "a = $1 AND b IN ($2, $10)");
        assert_eq!(placeholders("why? '?'"), "why? '?'");
    }
}
