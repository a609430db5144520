//! The connections to one database: a bounded number, shared by all stores in it.
//!
//! Which store a connection sees is decided anew in each transaction, so any connection serves any store.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pensa_core::{Code, Error, Result};

use super::address::Address;
use super::connection::Connection;
use super::failure::Failure;

/// After a failure to connect, others are told the same for this long instead of trying too.
const BREATH: Duration = Duration::from_millis(500);
/// How many groups of writes go on at once before others wait for one of them to end. More of them would each be
/// smaller: every commit has its price, and while a group waits, others join it. Half of the connections are left to
/// those who read.
const WRITERS: usize = 6;
/// Longest that a group of writes waits for others to end, which may be many or slow.
const PATIENCE: Duration = Duration::from_millis(25);
/// A failure to connect that says nothing about now.
const LONG_AGO: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Pool {
    pub(super) address: Address,
    state: Mutex<State>,
    /// Told whenever a connection comes back or its place becomes free.
    freed: Condvar,
    size: usize,
    /// How many groups of writes go on.
    writers: Mutex<usize>,
    /// Told whenever one of them ends.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Connection>,
    open: usize,
    down: Option<(Instant, Error)>,
}

/// A connection on loan.
#[derive(Debug)]
pub(super) struct Loan {
    connection: Option<Connection>,
    pool: Arc<Pool>,
}

/// A group of writes that goes on.
#[derive(Debug)]
pub(crate) struct Turn(Arc<Pool>);

impl Drop for Turn {
    fn drop(&mut self) {
        *self.0.writers.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.ended.notify_one();
    }
}

/// How a pool is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolState {
    pub size: usize,
    pub open: usize,
    pub idle: usize,
}

impl Pool {
    pub(super) fn new(address: Address, size: usize) -> Self {
        let (state, writers) = (Mutex::default(), Mutex::default());
        Self { address, state, freed: Condvar::new(), size: size.max(1), writers, ended: Condvar::new() }
    }

    pub(super) fn state(&self) -> PoolState {
        let state = self.lock();
        PoolState { size: self.size, open: state.open, idle: state.idle.len() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection, waiting no longer than `deadline` for one.
    pub(super) fn take(self: &Arc<Self>, deadline: Instant) -> Result<Loan, Failure> {
        let mut state = self.lock();
        loop {
            if let Some(connection) = state.idle.pop() {
                return Ok(self.loan(connection));
            }
            if state.open < self.size {
                break;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Failure::other(exhausted(self.size)));
            }
            state = self.freed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        if let Some((at, error)) = &state.down
            && at.elapsed() < BREATH
        {
            return Err(Failure::other(error.clone()));
        }
        state.open += 1;
        drop(state);
        let opened = Connection::open(&self.address, deadline);
        let mut state = self.lock();
        match opened {
            Ok(connection) => {
                state.down = None;
                Ok(self.loan(connection))
            }
            Err(failure) => {
                state.open -= 1;
                state.down = Some((Instant::now(), failure.error.clone()));
                self.freed.notify_one();
                Err(Failure::other(failure.error))
            }
        }
    }

    /// Has a group of writes begin, which may take a moment if others go on.
    pub(super) fn turn(self: &Arc<Self>) -> Turn {
        let writers = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.ended.wait_timeout_while(writers, PATIENCE, |writers| *writers >= self.at_once());
        *waited.unwrap_or_else(PoisonError::into_inner).0 += 1;
        Turn(Arc::clone(self))
    }

    /// How many groups of writes may go on.
    fn at_once(&self) -> usize {
        WRITERS.min(self.size / 2).max(1)
    }

    /// Whether so many groups go on, half of what may, that one which begins early only takes from the others.
    pub(super) fn is_crowded(&self) -> bool {
        *self.writers.lock().unwrap_or_else(PoisonError::into_inner) >= self.at_once().div_ceil(2)
    }

    /// Why the database could not be reached a moment ago, unless it was since.
    pub(super) fn away(&self) -> Option<Error> {
        let state = self.lock();
        state.down.as_ref().filter(|(at, _)| at.elapsed() < LONG_AGO).map(|(_, error)| error.clone())
    }

    fn loan(self: &Arc<Self>, connection: Connection) -> Loan {
        Loan { connection: Some(connection), pool: Arc::clone(self) }
    }

    /// The server hangs: others are spared finding out, for a moment.
    pub(super) fn went_silent(&self, error: &Error) {
        self.lock().down = Some((Instant::now(), error.clone()));
        self.forget_idle();
    }

    /// Closes every connection that nobody uses: one of their kind turned out to be dead.
    pub(super) fn forget_idle(&self) {
        let forgotten = {
            let mut state = self.lock();
            state.open -= state.idle.len();
            std::mem::take(&mut state.idle)
        };
        self.freed.notify_all();
        drop(forgotten);
    }

    fn give_back(&self, connection: Connection) {
        let mut state = self.lock();
        if connection.is_broken() {
            state.open -= 1;
        } else {
            state.idle.push(connection);
        }
        drop(state);
        self.freed.notify_one();
    }
}

fn exhausted(size: usize) -> Error {
    Error::new(Code::Busy, format!("all {size} connections to the database are in use")).hint("try again in a moment")
}

impl Drop for Loan {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.pool.give_back(connection);
        }
    }
}

impl Deref for Loan {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection.as_ref().unwrap_or_else(|| unreachable!("only a drop takes it"))
    }
}

impl DerefMut for Loan {
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection.as_mut().unwrap_or_else(|| unreachable!("only a drop takes it"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_had_however_many_others_go_on_and_given_back() {
        let address = Address::parse("postgres://nobody@localhost/none").expect("an address");
        let sizes = [1, 3, 4, 12, 100].map(|size| Pool::new(address.clone(), size).at_once());
        assert_eq!(sizes, [1, 1, 2, 6, WRITERS]);
        let pool = Arc::new(Pool::new(address, 2 * WRITERS));
        let going_on = || *pool.writers.lock().expect("a number");
        let mut turns: Vec<Turn> = (0..WRITERS + 2).map(|_| pool.turn()).collect();
        assert_eq!(going_on(), WRITERS + 2, "nobody waits for ever");
        assert!(pool.is_crowded());
        turns.truncate(1);
        assert_eq!((going_on(), pool.is_crowded()), (1, false));
        drop(turns);
        assert_eq!(going_on(), 0);
    }
}
