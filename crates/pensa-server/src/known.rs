//! Answers that were given and are still right, within room that all stores of the process share.
//!
//! When they are no longer right is told by whoever reads.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use axum::body::Bytes;
use pensa_core::Timestamp;
use pensa_core::id::IssueId;
use pensa_engine::Mark;

/// Most bytes of answers that are kept: some tens of thousands of issues.
const ROOM: usize = 64 << 20;
/// Largest answer worth keeping.
const MAX_ANSWER: usize = 64 << 10;
/// What it costs to keep an answer besides its bytes.
const OVERHEAD: usize = 128;

/// The room for answers, and the stores that have some.
#[derive(Debug)]
pub(crate) struct Room {
    most: usize,
    used: AtomicUsize,
    stores: Mutex<Vec<Weak<Mutex<Known>>>>,
}

impl Room {
    pub(crate) fn of_process() -> &'static Arc<Self> {
        static ALL: LazyLock<Arc<Room>> = LazyLock::new(|| Room::new(ROOM));
        &ALL
    }

    fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, used: AtomicUsize::new(0), stores: Mutex::default() })
    }

    /// The answers of one more store.
    pub(crate) fn known(self: &Arc<Self>) -> Arc<Mutex<Known>> {
        let known = Known { room: Arc::clone(self), mark: None, moves: 0, answers: HashMap::new(), size: 0 };
        let known = Arc::new(Mutex::new(known));
        let mut stores = lock(&self.stores);
        stores.retain(|store| store.strong_count() > 0);
        stores.push(Arc::downgrade(&known));
        known
    }

    fn is_full(&self) -> bool {
        self.used.load(Ordering::Relaxed) > self.most
    }

    /// Has the store with the most forget all of its answers, until there is room again. Nobody who calls this may be
    /// at the answers of a store.
    pub(crate) fn make_room(&self) {
        while self.is_full() {
            let stores: Vec<_> = lock(&self.stores).iter().filter_map(Weak::upgrade).collect();
            let Some(largest) = stores.iter().max_by_key(|known| lock(known).size) else { return };
            lock(largest).forget();
        }
    }
}

/// Answers of one store, and until when they are right.
#[derive(Debug)]
pub(crate) struct Known {
    room: Arc<Room>,
    mark: Option<(Mark, Option<Timestamp>)>,
    /// How often the mark has moved.
    moves: u64,
    answers: HashMap<String, Kept>,
    size: usize,
}

/// An answer, and the issues that it tells of if it tells of nothing else.
#[derive(Debug)]
struct Kept {
    answer: Bytes,
    tells_of: Option<Vec<IssueId>>,
}

impl Known {
    pub(crate) fn mark(&self) -> Option<(Mark, Option<Timestamp>)> {
        self.mark
    }

    pub(crate) fn moves(&self) -> u64 {
        self.moves
    }

    /// Whether what is known is of this moment. Another worker may have seen a later one.
    pub(crate) fn is_of(&self, mark: Mark) -> bool {
        self.mark.is_some_and(|(known, _)| known == mark)
    }

    pub(crate) fn has(&self, words: &str) -> bool {
        self.answers.contains_key(words)
    }

    pub(crate) fn answer(&self, words: &str) -> Option<Bytes> {
        self.answers.get(words).map(|kept| kept.answer.clone())
    }

    /// Forgets what is no longer right at another mark, since which these issues were touched, or nobody knows what.
    pub(crate) fn move_to(&mut self, mark: (Mark, Option<Timestamp>), touched: Option<&[IssueId]>) {
        self.mark = Some(mark);
        self.moves += 1;
        let Some(touched) = touched else { return self.forget() };
        let stays = |kept: &Kept| {
            kept.tells_of.as_ref().is_some_and(|all| all.iter().all(|id| touched.binary_search(id).is_err()))
        };
        let gone: usize =
            self.answers.extract_if(|_, kept| !stays(kept)).map(|(words, kept)| size(&words, &kept.answer)).sum();
        self.resize(self.size - gone);
    }

    /// Keeps an answer that is of this moment; whether that is more than there is room for.
    pub(crate) fn keep(&mut self, of: Mark, words: &str, answer: &Bytes, tells_of: Option<Vec<IssueId>>) -> bool {
        if answer.len() > MAX_ANSWER || !self.is_of(of) {
            return false;
        }
        let old = self.answers.insert(words.to_owned(), Kept { answer: answer.clone(), tells_of });
        let gone = old.map_or(0, |old| size(words, &old.answer));
        self.resize(self.size + size(words, answer) - gone);
        self.room.is_full()
    }

    fn forget(&mut self) {
        self.answers = HashMap::new();
        self.resize(0);
    }

    fn resize(&mut self, size: usize) {
        self.room.used.fetch_add(size, Ordering::Relaxed);
        self.room.used.fetch_sub(self.size, Ordering::Relaxed);
        self.size = size;
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        self.forget();
    }
}

fn size(words: &str, answer: &Bytes) -> usize {
    words.len() + answer.len() + OVERHEAD
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pensa_engine::{Ahead, Engine, StoreDir};

    fn mark() -> Mark {
        let dir = tempfile::tempdir().expect("a directory");
        let (store, _) = StoreDir::create(&dir.path().join(StoreDir::NAME)).expect("a store");
        let engine = Engine::open(store).expect("an engine");
        let reading = engine.reading(None, &Ahead::default()).expect("a reading");
        reading.mark
    }

    fn ids<const N: usize>(all: [&str; N]) -> Vec<IssueId> {
        all.iter().map(|id| id.parse().expect("an id")).collect()
    }

    #[test]
    fn the_store_with_the_most_answers_makes_room_for_the_others() {
        let (room, mark) = (Room::new(10_000), mark());
        let [large, small] = [room.known(), room.known()];
        let keep = |known: &Mutex<Known>, number: usize| {
            let full = lock(known).keep(mark, &format!("question {number}"), &Bytes::from(vec![b'x'; 700]), None);
            if full {
                room.make_room();
            }
        };
        for known in [&large, &small] {
            lock(known).move_to((mark, None), None);
        }
        keep(&small, 0);
        (0..9).for_each(|number| keep(&large, number));
        // The same question again takes no more room.
        (0..9).for_each(|number| keep(&large, number));
        assert_eq!((lock(&large).answers.len(), lock(&small).answers.len()), (9, 1));
        keep(&small, 1);
        keep(&small, 2);
        assert_eq!((lock(&large).answers.len(), lock(&small).answers.len()), (0, 3));
        assert_eq!(room.used.load(Ordering::Relaxed), lock(&small).size);
        drop((large, small));
        assert_eq!(room.used.load(Ordering::Relaxed), 0);
        assert_eq!(room.known().lock().expect("answers").size, 0);
        assert_eq!(lock(&room.stores).len(), 1, "stores that are closed are forgotten");
    }

    #[test]
    fn what_tells_of_touched_issues_or_of_more_is_forgotten() {
        let (room, mark) = (Room::new(10_000), mark());
        let known = room.known();
        let mut known = lock(&known);
        known.move_to((mark, None), None);
        let answer = Bytes::from_static(b"{}");
        known.keep(mark, "one", &answer, Some(ids(["pn-1"])));
        known.keep(mark, "both", &answer, Some(ids(["pn-1", "pn-2"])));
        known.keep(mark, "list", &answer, None);
        known.move_to((mark, None), Some(&ids(["pn-2", "pn-3"])));
        assert_eq!(["one", "both", "list"].map(|words| known.has(words)), [true, false, false]);
        assert_eq!(known.size, size("one", &answer));
        known.move_to((mark, None), None);
        assert!(!known.has("one"));
        assert_eq!(room.used.load(Ordering::Relaxed), 0);
    }
}
