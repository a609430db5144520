//! One connection to PostgreSQL: sends statements, several before the first answer where nobody waits for one, and
//! gives up on a server that has gone silent.
//!
//! What belongs into a transaction is left to the driver.

use std::collections::{HashMap, VecDeque};
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fallible_iterator::FallibleIterator;
use pensa_core::{Error, Result};
use postgres_protocol::message::backend::{Message, NoticeResponseBody};
use postgres_protocol::message::frontend::{self, BindError};
use tokio_postgres::types::{ToSql, Type};

use super::address::Address;
use super::failure::{self, Failure, Said};
use super::queue::{Added, Merged, Queued, Value};
use super::row::{Columns, Row};
use super::wire::{Wire, is_late};
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

#[derive(Debug)]
pub(super) struct Connection {
    wire: Wire,
    address: Address,
    prepared: HashMap<String, Prepared>,
    /// Statements that are not needed any more, once nobody has them queued.
    retired: Vec<Arc<Statement>>,
    merged: Vec<Merged>,
    queued: Vec<Queued>,
    /// How often something was sent.
    sendings: u64,
    /// How often something was prepared or asked; names what was.
    named: u64,
    /// The answer that still comes in, and those that others had to overtake.
    coming: Option<Rows>,
    overtaken: HashMap<u64, VecDeque<Row>>,
    /// How often the server has yet to say that it is ready, about statements whose outcome nobody waits for.
    owed: usize,
    /// The server's word that a commit was not carried to its standby.
    unsure: Option<String>,
    broken: bool,
}

/// A statement that the server knows by a name.
#[derive(Debug)]
pub(super) struct Statement {
    name: String,
    params: Vec<Type>,
    columns: Columns,
}

impl Statement {
    /// The types of its placeholders.
    pub(super) fn params(&self) -> &[Type] {
        &self.params
    }
}

/// A statement that the server has planned. A plan is made for the sizes of its day, so it is made anew as the
/// tables grow with its use.
#[derive(Debug)]
struct Prepared {
    statement: Arc<Statement>,
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
#[derive(Debug, Clone)]
pub(super) struct Rows {
    number: u64,
    columns: Columns,
}

/// What came of a statement.
struct Answer {
    rows: Vec<Row>,
    /// How many rows it changed or told; nothing while there may be more to tell.
    count: Option<u64>,
}

/// A statement on its way, with its values.
type Ready = (Arc<Statement>, Vec<Value>);

impl Connection {
    /// A connection that any statement may use, as the user of the address.
    pub(super) fn open_unbound(address: &Address, deadline: Instant) -> Result<Self, Failure> {
        Ok(Self {
            wire: address.connect(deadline)?,
            address: address.clone(),
            prepared: HashMap::new(),
            retired: Vec::new(),
            merged: Vec::new(),
            queued: Vec::new(),
            sendings: 0,
            named: 0,
            coming: None,
            overtaken: HashMap::new(),
            owed: 0,
            unsure: None,
            broken: false,
        })
    }

    /// A connection that sees one store at a time: it acts in a role that row-level security binds.
    pub(super) fn open(address: &Address, deadline: Instant) -> Result<Self, Failure> {
        let mut connection = Self::open_unbound(address, deadline)?;
        connection.batch(SESSION, deadline).map_err(|failure| failure.within_role())?;
        let bound = "SELECT NOT (rolsuper OR rolbypassrls) FROM pg_roles WHERE rolname = current_user";
        let (rows, _) = connection.query(bound, &[], deadline)?;
        match rows.first().map(|row| row.get::<bool>(0)) {
            Some(Ok(true)) => Ok(connection),
            _ => Err(Failure::other(failure::unbound_role())),
        }
    }

    /// Whether no more can be done with it.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Statements without parameters, all in one message.
    pub(super) fn batch(&mut self, sql: &str, deadline: Instant) -> Result<(), Failure> {
        self.breaking(|own| {
            own.make_way(deadline)?;
            frontend::query(sql, &mut own.wire.out)?;
            own.send(deadline)?;
            own.until_ready(deadline)
        })
    }

    fn prepare(&mut self, sql: &str, deadline: Instant) -> Result<Arc<Statement>, Failure> {
        let mut uses = 1;
        if let Some(known) = self.prepared.get_mut(sql) {
            known.uses += 1;
            if known.uses < known.old_at {
                return Ok(Arc::clone(&known.statement));
            }
            uses = known.uses;
        } else if self.prepared.len() >= MAX_PREPARED {
            self.retired.extend(self.prepared.drain().map(|(_, old)| old.statement));
        }
        let statement = Arc::new(self.breaking(|own| own.have_planned(&placeholders(sql), deadline))?);
        let old_at = uses.saturating_mul(4).max(OLD_AT);
        let new = Prepared { statement: Arc::clone(&statement), uses, old_at };
        self.retired.extend(self.prepared.insert(sql.to_owned(), new).map(|old| old.statement));
        Ok(statement)
    }

    fn have_planned(&mut self, sql: &str, deadline: Instant) -> Result<Statement, Failure> {
        self.make_way(deadline)?;
        self.named += 1;
        let mut statement =
            Statement { name: format!("s{}", self.named), params: Vec::new(), columns: Columns::default() };
        frontend::parse(&statement.name, sql, [], &mut self.wire.out)?;
        frontend::describe(b'S', &statement.name, &mut self.wire.out)?;
        frontend::sync(&mut self.wire.out);
        self.send(deadline)?;
        loop {
            match self.receive(deadline)? {
                Message::ParameterDescription(body) => {
                    statement.params = body.parameters().map(|oid| Ok(of_oid(oid))).collect()?;
                }
                Message::RowDescription(body) => {
                    let types: Vec<Type> = body.fields().map(|field| Ok(of_oid(field.type_oid()))).collect()?;
                    statement.columns = types.into();
                }
                Message::ErrorResponse(said) => return Err(self.refused(&Said::from(&said), deadline)),
                Message::ReadyForQuery(_) => return Ok(statement),
                _ => {}
            }
        }
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
            before += added.placeholders();
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
        self.breaking(|own| {
            own.depart(&queued, &[], deadline)?;
            own.pass_over(queued.len(), deadline)?;
            own.until_ready(deadline)
        })
    }

    /// Runs a statement; tells how many rows it changed.
    pub(super) fn execute(&mut self, sql: &str, params: &[Param<'_>], deadline: Instant) -> Result<u64, Failure> {
        let statement = self.prepare(sql, deadline)?;
        let queued = self.take_queue(deadline)?;
        self.breaking(|own| {
            own.depart(&queued, &[(&statement, params)], deadline)?;
            own.pass_over(queued.len(), deadline)?;
            let answer = own.answer(&statement.columns, usize::MAX, deadline)?;
            own.until_ready(deadline)?;
            Ok(answer.count.unwrap_or_default())
        })
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
        let asked: Vec<_> =
            statements.iter().zip(questions).map(|(statement, (_, params))| (statement, *params)).collect();
        self.breaking(|own| {
            own.depart(&queued, &asked, deadline)?;
            own.pass_over(queued.len(), deadline)?;
            let all = |statement: &Arc<Statement>| own.answer(&statement.columns, usize::MAX, deadline);
            let answers = statements.iter().map(all).collect::<Result<Vec<_>, _>>()?;
            own.until_ready(deadline)?;
            Ok(answers.into_iter().map(|answer| answer.rows).collect())
        })
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
        queued: &[Ready],
        sql: &str,
        params: &[Param<'_>],
        deadline: Instant,
    ) -> Result<(Vec<Row>, Option<Rows>), Failure> {
        let statement = self.prepare(sql, deadline)?;
        self.breaking(|own| {
            own.depart(queued, &[(&statement, params)], deadline)?;
            own.pass_over(queued.len(), deadline)?;
            own.named += 1;
            own.some(Rows { number: own.named, columns: Arc::clone(&statement.columns) }, deadline)
        })
    }

    /// More rows, and where still more come from.
    pub(super) fn more(&mut self, rows: Rows, deadline: Instant) -> Result<(Vec<Row>, Option<Rows>), Failure> {
        if let Some(mut kept) = self.overtaken.remove(&rows.number) {
            let next = kept.drain(..ROWS_AT_ONCE.min(kept.len())).collect();
            if kept.is_empty() {
                return Ok((next, None));
            }
            self.overtaken.insert(rows.number, kept);
            return Ok((next, Some(rows)));
        }
        if self.coming.as_ref().is_none_or(|coming| coming.number != rows.number) {
            return Err(Failure::other(Error::internal("the rest of an answer was lost with its transaction")));
        }
        self.breaking(|own| own.some(rows, deadline))
    }

    /// The next rows of the answer that comes in, a bounded number of them.
    fn some(&mut self, rows: Rows, deadline: Instant) -> Result<(Vec<Row>, Option<Rows>), Failure> {
        self.coming = None;
        let answer = self.answer(&rows.columns, ROWS_AT_ONCE, deadline)?;
        if answer.count.is_some() {
            self.until_ready(deadline)?;
            return Ok((answer.rows, None));
        }
        self.coming = Some(rows.clone());
        Ok((answer.rows, Some(rows)))
    }

    /// Sends a last statement and does not wait for its answer: whoever uses the connection next finds out.
    pub(super) fn leave(&mut self, sql: &str) {
        let deadline = Instant::now() + ANSWER;
        if self.is_broken() {
            return;
        }
        let Ok(statement) = self.prepare(sql, deadline) else {
            self.broken = true;
            return;
        };
        let Ok(queued) = self.take_queue(deadline) else { return };
        let left = self.breaking(|own| own.depart(&queued, &[(&statement, &[])], deadline));
        self.owed += usize::from(left.is_ok());
    }

    /// What the server said about a commit that it could not carry to its standby.
    pub(super) fn take_unsure(&mut self) -> Option<String> {
        self.unsure.take()
    }

    fn take_queue(&mut self, deadline: Instant) -> Result<Vec<Ready>, Failure> {
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

    /// Forgets what was not sent, and what nobody took.
    pub(super) fn forget_rest(&mut self) {
        self.queued.clear();
        self.overtaken.clear();
    }

    /// Does something after whose failure the connection may be of no more use.
    fn breaking<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Failure>) -> Result<T, Failure> {
        if self.broken {
            return Err(failure::gone());
        }
        let outcome = work(self);
        self.broken |= outcome.as_ref().is_err_and(Failure::is_lost);
        outcome
    }

    /// Sends statements, all in one message of which the server answers the last word only: the first that fails is
    /// the last that is done.
    fn depart(
        &mut self,
        queued: &[Ready],
        last: &[(&Arc<Statement>, &[Param<'_>])],
        deadline: Instant,
    ) -> Result<(), Failure> {
        self.make_way(deadline)?;
        let put = |own: &mut Self| {
            for (statement, values) in queued {
                own.put(statement, values)?;
            }
            for (statement, params) in last {
                own.put(statement, params)?;
            }
            own.close_retired()
        };
        if let Err(failure) = put(self) {
            self.wire.out.clear();
            return Err(failure);
        }
        frontend::sync(&mut self.wire.out);
        self.send(deadline)
    }

    fn put(&mut self, statement: &Statement, values: &[impl ToSql]) -> Result<(), Failure> {
        const BINARY: [i16; 1] = [1];
        if values.len() != statement.params.len() {
            let (given, wanted) = (values.len(), statement.params.len());
            return Err(Failure::other(Error::internal(format!("{given} values for {wanted} placeholders"))));
        }
        let out = &mut self.wire.out;
        let typed = values.iter().zip(&statement.params);
        let bound = frontend::bind(
            "",
            &statement.name,
            BINARY,
            typed,
            |(value, of), out| value.to_sql(of, out).map(null),
            BINARY,
            out,
        );
        bound.map_err(|e| match e {
            BindError::Conversion(e) => Failure::other(Error::internal(e)),
            BindError::Serialization(e) => Failure::other(Error::internal(e)),
        })?;
        Ok(frontend::execute("", 0, out)?)
    }

    fn close_retired(&mut self) -> Result<(), Failure> {
        for old in self.retired.extract_if(.., |old| Arc::strong_count(old) == 1) {
            frontend::close(b'S', &old.name, &mut self.wire.out)?;
        }
        Ok(())
    }

    /// Takes in what still comes of an answer before something else is asked.
    fn make_way(&mut self, deadline: Instant) -> Result<(), Failure> {
        let Some(rows) = self.coming.take() else { return Ok(()) };
        let answer = self.answer(&rows.columns, usize::MAX, deadline)?;
        self.until_ready(deadline)?;
        self.overtaken.insert(rows.number, answer.rows.into());
        Ok(())
    }

    /// Sends what was put, and takes the answers that nobody waited for.
    fn send(&mut self, deadline: Instant) -> Result<(), Failure> {
        while let Err(e) = self.wire.send(left(deadline).min(DOUBT)) {
            self.bear(e, deadline)?;
        }
        while self.owed > 0 {
            if let Message::ReadyForQuery(_) = self.receive(deadline)? {
                self.owed -= 1;
            }
        }
        Ok(())
    }

    fn receive(&mut self, deadline: Instant) -> Result<Message, Failure> {
        loop {
            match self.wire.receive(left(deadline).min(DOUBT)) {
                Ok(Message::NoticeResponse(notice)) => self.note(&notice),
                Ok(message) => return Ok(message),
                Err(e) => self.bear(e, deadline)?,
            }
        }
    }

    /// A server that says nothing for a while may be busy with a long answer, or gone: whether it still greets others
    /// tells.
    fn bear(&self, error: std::io::Error, deadline: Instant) -> Result<(), Failure> {
        if !is_late(&error) {
            return Err(error.into());
        }
        let left = left(deadline);
        if left.is_zero() || self.address.connect(Instant::now() + left.min(GREETING)).is_err() {
            return Err(failure::silent());
        }
        Ok(())
    }

    /// What comes of one statement, up to so many rows.
    fn answer(&mut self, columns: &Columns, most: usize, deadline: Instant) -> Result<Answer, Failure> {
        let mut rows = Vec::new();
        while rows.len() < most {
            match self.receive(deadline)? {
                Message::DataRow(body) => rows.push(Row::new(columns, body)?),
                Message::CommandComplete(body) => {
                    let count = body.tag()?.rsplit(' ').next().and_then(|count| count.parse().ok());
                    return Ok(Answer { rows, count: Some(count.unwrap_or_default()) });
                }
                Message::EmptyQueryResponse => return Ok(Answer { rows, count: Some(0) }),
                Message::ErrorResponse(said) => return Err(self.refused(&Said::from(&said), deadline)),
                _ => {}
            }
        }
        Ok(Answer { rows, count: None })
    }

    /// The answers to statements of which only it matters that they were done.
    fn pass_over(&mut self, count: usize, deadline: Instant) -> Result<(), Failure> {
        let none = Columns::default();
        (0..count).try_for_each(|_| self.answer(&none, usize::MAX, deadline).map(drop))
    }

    fn until_ready(&mut self, deadline: Instant) -> Result<(), Failure> {
        loop {
            match self.receive(deadline)? {
                Message::ReadyForQuery(_) => return Ok(()),
                Message::ErrorResponse(said) => return Err(self.refused(&Said::from(&said), deadline)),
                _ => {}
            }
        }
    }

    /// What a refusal means. The server says no more until the end of what it was sent.
    fn refused(&mut self, said: &Said, deadline: Instant) -> Failure {
        let mut failure = Failure::from(said);
        let ready = loop {
            match self.receive(deadline) {
                Ok(Message::ReadyForQuery(_)) => break true,
                Ok(_) => {}
                Err(_) => break false,
            }
        };
        if !ready {
            self.broken = true;
            failure = failure.with_connection_lost();
        }
        failure
    }

    fn note(&mut self, notice: &NoticeResponseBody) {
        let said = Said::from(notice);
        if said.is_of_standby() {
            self.unsure = Some(said.message);
        }
    }
}

/// Takes leave, so that the server need not wonder.
impl Drop for Connection {
    fn drop(&mut self) {
        if !self.broken {
            frontend::terminate(&mut self.wire.out);
            let _ = self.wire.send(Duration::ZERO);
        }
    }
}

/// A type that only this database has is left to the server.
fn of_oid(oid: u32) -> Type {
    Type::from_oid(oid).unwrap_or(Type::UNKNOWN)
}

fn null(is: tokio_postgres::types::IsNull) -> postgres_protocol::IsNull {
    match is {
        tokio_postgres::types::IsNull::Yes => postgres_protocol::IsNull::Yes,
        tokio_postgres::types::IsNull::No => postgres_protocol::IsNull::No,
    }
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
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

    fn numbers(rows: &[Row]) -> Vec<i64> {
        rows.iter().map(|row| row.int(0).expect("a number")).collect()
    }

    #[test]
    fn what_is_asked_amid_a_long_answer_leaves_it_whole() {
        let database = pensa_testkit::postgres::shared().database();
        let address = Address::parse(&database.url).expect("an address");
        let soon = || Instant::now() + ANSWER;
        let mut connection = Connection::open_unbound(&address, soon()).expect("a connection");
        let upto = "SELECT n FROM generate_series(1, CAST(?1 AS BIGINT)) AS n";
        for overtaken_after in [0, 1, 2] {
            let (first, mut rest) = connection.query(upto, &[1_000.into()], soon()).expect("an answer");
            let mut all = numbers(&first);
            for round in 0.. {
                let Some(rows) = rest.take() else { break };
                if round == overtaken_after {
                    let (own, more) = connection.query(upto, &[300.into()], soon()).expect("another answer");
                    assert_eq!(numbers(&own).len(), ROWS_AT_ONCE);
                    // A part of it is never asked for.
                    assert!(more.is_some());
                    assert_eq!(connection.execute("SELECT 1", &[], soon()).expect("a third"), 1);
                }
                let (next, others) = connection.more(rows, soon()).expect("more");
                all.extend(numbers(&next));
                rest = others;
            }
            assert_eq!(all, (1..=1_000).collect::<Vec<_>>());
        }
        connection.leave("ROLLBACK");
        connection.forget_rest();
        assert!(connection.overtaken.is_empty() && connection.coming.is_none());
        // What failed is told to whoever waits for it, and to nobody after that.
        connection.queue("SELECT 1 / CAST(?1 AS BIGINT)", &[0.into()], soon()).expect("queued");
        let failure = connection.execute("SELECT 1", &[], soon()).expect_err("a division by zero");
        assert!(failure.error.message.contains("22012"), "{:?}", failure.error);
        assert_eq!(connection.execute("SELECT 1", &[], soon()).expect("the next one is fine"), 1);
        // Statements that nobody needs any more are forgotten, and may come back.
        for round in 0..2 {
            for at in 0..MAX_PREPARED + 10 {
                assert_eq!(connection.execute(&format!("SELECT {at}"), &[], soon()).expect("done"), 1, "{round}");
            }
        }
        let (rows, _) = connection.query("SELECT COUNT(*) FROM pg_prepared_statements", &[], soon()).expect("told");
        let kept = numbers(&rows)[0];
        assert!(kept <= MAX_PREPARED as i64 + 2, "the server keeps {kept}");
    }

    #[test]
    fn placeholders_are_rewritten_and_nothing_else() {
        assert_eq!(placeholders("a = ?1 AND b IN (?2, ?10)"), "a = $1 AND b IN ($2, $10)");
        assert_eq!(placeholders("why? '?'"), "why? '?'");
    }
}
