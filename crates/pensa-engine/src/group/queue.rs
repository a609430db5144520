//! What waits for the thread that writes. It is woken when there is enough to begin with, not by each that comes.
//!
//! How much is enough is left to whoever takes.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Most that wait; the next one is given back.
const MOST: usize = 1024;

#[derive(Debug)]
pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    enough: Condvar,
}

#[derive(Debug)]
struct State<T> {
    waiting: VecDeque<T>,
    /// How many the thread that takes sleeps for; more than there can be while it does not.
    wanted: usize,
    closed: bool,
}

impl<T> Queue<T> {
    pub(super) fn new() -> Self {
        let state = State { waiting: VecDeque::new(), wanted: usize::MAX, closed: false };
        Self { state: Mutex::new(state), enough: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts one at the end; gives it back if too many wait, or nobody takes any more.
    pub(super) fn put(&self, one: T) -> Result<(), T> {
        let mut state = self.lock();
        if state.closed || state.waiting.len() >= MOST {
            return Err(one);
        }
        state.waiting.push_back(one);
        let enough = state.waiting.len() >= state.wanted;
        drop(state);
        if enough {
            self.enough.notify_one();
        }
        Ok(())
    }

    /// Nothing more comes.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.enough.notify_one();
    }

    pub(super) fn len(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Takes the first, once so many wait, or any at all after a moment. Nothing if nothing more comes.
    pub(super) fn take_once(&self, wanted: usize, until: Instant) -> Option<T> {
        let (mut state, mut wanted) = (self.lock(), wanted.max(1));
        while state.waiting.len() < wanted && !state.closed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() && wanted > 1 {
                wanted = 1;
                continue;
            }
            state.wanted = wanted;
            state = if wanted > 1 {
                self.enough.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
            } else {
                self.enough.wait(state).unwrap_or_else(PoisonError::into_inner)
            };
        }
        state.wanted = usize::MAX;
        state.waiting.pop_front()
    }

    /// Takes the next if one waits.
    pub(super) fn take(&self) -> Option<T> {
        self.lock().waiting.pop_front()
    }
}

/// Whoever takes holds this. When it is gone, however that came, nobody waits for it any more.
#[derive(Debug)]
pub(super) struct Taker<'q, T>(pub(super) &'q Queue<T>);

impl<T> Drop for Taker<'_, T> {
    fn drop(&mut self) {
        self.0.close();
        let left = std::mem::take(&mut self.0.lock().waiting);
        // Outside the lock: to let go of one may call others.
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn so_many_are_waited_for_and_then_any() {
        let queue = Queue::new();
        (0..2).for_each(|n| queue.put(n).expect("room"));
        thread::scope(|scope| {
            let taken = scope.spawn(|| queue.take_once(3, Instant::now() + LONG));
            while queue.lock().wanted != 3 {
                assert!(!taken.is_finished(), "two are not enough");
                thread::yield_now();
            }
            assert_eq!(queue.len(), 2);
            queue.put(2).expect("room");
            assert_eq!(taken.join().expect("a thread"), Some(0));
        });
        assert_eq!((queue.take(), queue.take(), queue.take()), (Some(1), Some(2), None));
        queue.put(7).expect("room");
        assert_eq!(queue.take_once(2, Instant::now() + Duration::from_millis(1)), Some(7), "the other never came");
        thread::scope(|scope| {
            // Nobody is there in time, and then somebody.
            let taken = scope.spawn(|| queue.take_once(2, Instant::now()));
            queue.put(8).expect("room");
            assert_eq!(taken.join().expect("a thread"), Some(8));
        });
    }

    #[test]
    fn what_waits_when_it_is_closed_is_taken_and_nothing_after() {
        let queue = Queue::new();
        queue.put(1).expect("room");
        thread::scope(|scope| {
            let taken = scope.spawn(|| [0; 2].map(|_| queue.take_once(5, Instant::now() + LONG)));
            queue.close();
            assert_eq!(taken.join().expect("a thread"), [Some(1), None]);
        });
        assert_eq!(queue.put(2), Err(2));
    }

    #[test]
    fn the_one_too_many_is_given_back() {
        let queue = Queue::new();
        (0..MOST).for_each(|n| queue.put(n).expect("room"));
        assert_eq!(queue.put(MOST), Err(MOST));
        assert_eq!(queue.take(), Some(0));
        queue.put(MOST).expect("room again");
    }
}
