//! One connection to PostgreSQL: the statements that its server has planned, and those that wait to travel with the next one
//! whose answer somebody needs.
//!
//! What belongs into a transaction is left to the driver, and how it is said to the dialogue.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pensa_core::Result;

use super::address::Address;
use super::dialogue::{Dialogue, Ready, Rows, Statement};
use super::failure::{self, Failure};
use super::queue::{Added, Merged, Queued, Value};
use super::row::Row;
use crate::db::Param;

/// Longest wait for the answer to a statement. The server gives up earlier and says so; this is for one that can't.
pub(super) const ANSWER: Duration = Duration::from_secs(35);
/// Most statements kept prepared; then all are forgotten.
const MAX_PREPARED: usize = 256;
/// Most statements that add rows of several tables whose texts are kept; then all are forgotten.
const MAX_MERGED: usize = 64;
/// After how many uses a statement is planned anew for the first time.
const OLD_AT: u64 = 32;
/// Most statements sent ahead of their answers.
const MAX_QUEUED: usize = 64;

/// Longest that a statement waits for a lock; less if the request has waited before.
pub(super) const LOCK: Duration = Duration::from_millis(3500);

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
    dialogue: Dialogue,
    prepared: HashMap<String, Prepared>,
    merged: Vec<Merged>,
    queued: Vec<Queued>,
    /// How often something was sent.
    sendings: u64,
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

impl Connection {
    /// A connection that any statement may use, as the user of the address.
    pub(super) fn open_unbound(address: &Address, deadline: Instant) -> Result<Self, Failure> {
        let dialogue = Dialogue::open(address, deadline)?;
        let (prepared, merged, queued) = (HashMap::new(), Vec::new(), Vec::new());
        Ok(Self { dialogue, prepared, merged, queued, sendings: 0 })
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
        self.dialogue.is_broken()
    }

    /// Statements without parameters, all in one message.
    pub(super) fn batch(&mut self, sql: &str, deadline: Instant) -> Result<(), Failure> {
        self.dialogue.batch(sql, deadline)
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
            self.dialogue.retire(self.prepared.drain().map(|(_, old)| old.statement));
        }
        let statement = self.dialogue.plan(&placeholders(sql), deadline)?;
        let old_at = uses.saturating_mul(4).max(OLD_AT);
        let new = Prepared { statement: Arc::clone(&statement), uses, old_at };
        self.dialogue.retire(self.prepared.insert(sql.to_owned(), new).map(|old| old.statement));
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
        self.dialogue.run(&queued, deadline)
    }

    /// Runs a statement; tells how many rows it changed.
    pub(super) fn execute(&mut self, sql: &str, params: &[Param<'_>], deadline: Instant) -> Result<u64, Failure> {
        let statement = self.prepare(sql, deadline)?;
        let queued = self.take_queue(deadline)?;
        self.dialogue.execute(&queued, (&statement, params), deadline)
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
        self.dialogue.ask_all(&queued, &asked, deadline)
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
        self.dialogue.ask(queued, (&statement, params), deadline)
    }

    /// More rows, and where still more come from.
    pub(super) fn more(&mut self, rows: Rows, deadline: Instant) -> Result<(Vec<Row>, Option<Rows>), Failure> {
        self.dialogue.more(rows, deadline)
    }

    /// Sends a last statement and does not wait for its answer: whoever uses the connection next finds out.
    pub(super) fn leave(&mut self, sql: &str) {
        let deadline = Instant::now() + ANSWER;
        if self.is_broken() {
            return;
        }
        let Ok(statement) = self.prepare(sql, deadline) else {
            return self.dialogue.give_up();
        };
        let Ok(queued) = self.take_queue(deadline) else { return };
        self.dialogue.leave(&queued, (&statement, &[]), deadline);
    }

    /// What the server said about a commit that it could not carry to its standby.
    pub(super) fn take_unsure(&mut self) -> Option<String> {
        self.dialogue.take_unsure()
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
        self.dialogue.forget_overtaken();
    }
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
    use super::super::dialogue::ROWS_AT_ONCE;
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
