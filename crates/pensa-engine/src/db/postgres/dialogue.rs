//! What is said over one connection to PostgreSQL, message by message: statements that travel together, their answers in
//! order, and doubt about a server that has gone silent.
//!
//! Which statements travel together is left to the connection.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fallible_iterator::FallibleIterator;
use pensa_core::Error;
use postgres_protocol::message::backend::{Message, NoticeResponseBody};
use postgres_protocol::message::frontend::{self, BindError};
use tokio_postgres::types::{ToSql, Type};

use super::address::Address;
use super::failure::{self, Failure, Said};
use super::queue::Value;
use super::row::{Columns, Row};
use super::wire::{Wire, is_late};
use crate::db::Param;

/// How long a server may say nothing before it is doubted.
const DOUBT: Duration = Duration::from_millis(2500);
/// How long it then has to greet.
const GREETING: Duration = Duration::from_secs(1);
/// Rows taken from the socket at a time.
pub(super) const ROWS_AT_ONCE: usize = 256;

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
pub(super) type Ready = (Arc<Statement>, Vec<Value>);

/// A statement with what it asks for now.
pub(super) type Asked<'a> = (&'a Arc<Statement>, &'a [Param<'a>]);

#[derive(Debug)]
pub(super) struct Dialogue {
    wire: Wire,
    address: Address,
    /// Statements that are not needed any more, once nobody has them queued.
    retired: Vec<Arc<Statement>>,
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

impl Dialogue {
    pub(super) fn open(address: &Address, deadline: Instant) -> Result<Self, Failure> {
        Ok(Self {
            wire: address.connect(deadline)?,
            address: address.clone(),
            retired: Vec::new(),
            named: 0,
            coming: None,
            overtaken: HashMap::new(),
            owed: 0,
            unsure: None,
            broken: false,
        })
    }

    /// Whether no more can be said.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Says no more.
    pub(super) fn give_up(&mut self) {
        self.broken = true;
    }

    /// What the server said about a commit that it could not carry to its standby.
    pub(super) fn take_unsure(&mut self) -> Option<String> {
        self.unsure.take()
    }

    /// Forgets what nobody took.
    pub(super) fn forget_overtaken(&mut self) {
        self.overtaken.clear();
    }

    /// Statements that will not be used again, but by those who have them.
    pub(super) fn retire(&mut self, statements: impl IntoIterator<Item = Arc<Statement>>) {
        self.retired.extend(statements);
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

    /// Has the server plan a statement.
    pub(super) fn plan(&mut self, sql: &str, deadline: Instant) -> Result<Arc<Statement>, Failure> {
        self.breaking(|own| own.have_planned(sql, deadline)).map(Arc::new)
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

    /// Has statements done of which only that matters.
    pub(super) fn run(&mut self, queued: &[Ready], deadline: Instant) -> Result<(), Failure> {
        self.breaking(|own| {
            own.depart(queued, &[], deadline)?;
            own.pass_over(queued.len(), deadline)?;
            own.until_ready(deadline)
        })
    }

    /// The same and one more, of which is told how many rows it changed.
    pub(super) fn execute(&mut self, queued: &[Ready], last: Asked<'_>, deadline: Instant) -> Result<u64, Failure> {
        self.breaking(|own| {
            own.depart(queued, &[last], deadline)?;
            own.pass_over(queued.len(), deadline)?;
            let answer = own.answer(&last.0.columns, usize::MAX, deadline)?;
            own.until_ready(deadline)?;
            Ok(answer.count.unwrap_or_default())
        })
    }

    /// The same with some of which is told all that they ask for.
    pub(super) fn ask_all(
        &mut self,
        queued: &[Ready],
        asked: &[Asked<'_>],
        deadline: Instant,
    ) -> Result<Vec<Vec<Row>>, Failure> {
        self.breaking(|own| {
            own.depart(queued, asked, deadline)?;
            own.pass_over(queued.len(), deadline)?;
            let all = |(statement, _): &Asked<'_>| own.answer(&statement.columns, usize::MAX, deadline);
            let answers = asked.iter().map(all).collect::<Result<Vec<_>, _>>()?;
            own.until_ready(deadline)?;
            Ok(answers.into_iter().map(|answer| answer.rows).collect())
        })
    }

    /// The same with one of which the first rows are told, and where the others come from.
    pub(super) fn ask(
        &mut self,
        queued: &[Ready],
        last: Asked<'_>,
        deadline: Instant,
    ) -> Result<(Vec<Row>, Option<Rows>), Failure> {
        self.breaking(|own| {
            own.depart(queued, &[last], deadline)?;
            own.pass_over(queued.len(), deadline)?;
            own.named += 1;
            own.some(Rows { number: own.named, columns: Arc::clone(&last.0.columns) }, deadline)
        })
    }

    /// Sends statements and waits for nothing: whoever says something next finds out.
    pub(super) fn leave(&mut self, queued: &[Ready], last: Asked<'_>, deadline: Instant) {
        let left = self.breaking(|own| own.depart(queued, &[last], deadline));
        self.owed += usize::from(left.is_ok());
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
    fn depart(&mut self, queued: &[Ready], last: &[Asked<'_>], deadline: Instant) -> Result<(), Failure> {
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
impl Drop for Dialogue {
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
