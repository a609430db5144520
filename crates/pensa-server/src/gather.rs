//! Reads over a network: questions that arrive while others are being answered share the next transaction.
//!
//! A question to a database elsewhere costs a journey for its answer and more for its transaction, and connections
//! are few. So one thread takes all that has gathered, begins one transaction for it, and answers what was answered
//! before at once: the transaction's first journey tells whether the store has changed since, and the log which issues
//! that touched. Others help when many questions wait, or when one takes long. No answer is older than its question.

use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use pensa_core::{Code, Error, Result};
use pensa_engine::{Ahead, Caller, Context, Engine, Entry, Reading, Tx};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task;

use crate::dispatch::unexpected;
use crate::known::{Known, Room};

/// Transactions of one store at a time.
const AT_ONCE: usize = 4;
/// Questions that share a transaction.
const TOGETHER: usize = 64;
/// Waiting questions that are worth another transaction beside those at work.
const CROWD: usize = 32;
/// How long a question waits before it asks for help.
pub(crate) const IMPATIENCE: Duration = Duration::from_millis(5);
/// How long a question waits for its turn, for locks, or for a database that is known to be away: whoever asks is to be
/// told within five seconds.
pub(crate) const FORBEARANCE: Duration = Duration::from_millis(4200);
/// How often it is looked for that while a question goes on waiting.
pub(crate) const GLANCE: Duration = Duration::from_millis(200);
/// Time that it takes to answer.
const MARGIN: Duration = Duration::from_millis(100);
/// Most questions of one store that wait.
const MAX_WAITING: usize = 4096;
type Ask = dyn Fn(&Context<'_>, &Tx<'_>) -> Result<String> + Send;

/// What is asked.
pub(crate) enum Work {
    /// An operation of the catalog, with its input.
    Operation(&'static Entry, Value),
    Other(Box<Ask>),
}

impl Work {
    fn run(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<String> {
        match self {
            Work::Operation(entry, input) => (entry.run)(cx, tx, input),
            Work::Other(work) => work(cx, tx),
        }
    }
}

/// A question and who waits for its answer.
struct Asked {
    caller: Caller,
    work: Work,
    /// The words of the question, if its answer may be given to others.
    words: Option<String>,
    reply: oneshot::Sender<Result<Bytes>>,
    /// How long it may wait.
    until: Instant,
}

impl Asked {
    /// Whether it has waited for so long that there is no time left to answer it.
    fn is_late(&self) -> bool {
        Instant::now() + MARGIN > self.until
    }
}

/// The questions to one store.
pub(crate) struct Gathered {
    engine: Mutex<Engine>,
    queue: Mutex<Queue>,
    known: Arc<Mutex<Known>>,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Asked>,
    at_work: usize,
}

impl fmt::Debug for Gathered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gathered")
    }
}

impl Gathered {
    pub(crate) fn new(engine: Engine) -> Arc<Self> {
        Arc::new(Self { engine: Mutex::new(engine), queue: Mutex::default(), known: Room::of_process().known() })
    }

    /// Asks; the answer comes as soon as somebody has the time. `words` are the same for the same question.
    pub(crate) fn ask(
        self: &Arc<Self>,
        caller: Caller,
        words: Option<&str>,
        work: Work,
    ) -> Result<oneshot::Receiver<Result<Bytes>>> {
        let (reply, answer) = oneshot::channel();
        let mut queue = lock(&self.queue);
        if queue.waiting.len() >= MAX_WAITING {
            return Err(Error::new(Code::Busy, "too many questions are waiting").hint("try again in a moment"));
        }
        let until = Instant::now() + FORBEARANCE;
        queue.waiting.push(Asked { caller, work, words: words.map(str::to_owned), reply, until });
        if queue.at_work == 0 || queue.waiting.len() > queue.at_work * CROWD {
            self.help(&mut queue);
        }
        Ok(answer)
    }

    /// Somebody has waited for a while: perhaps one question holds up the others.
    pub(crate) fn nudge(self: &Arc<Self>) {
        let mut queue = lock(&self.queue);
        if !queue.waiting.is_empty() {
            self.help(&mut queue);
        }
    }

    /// Refuses those that have waited for their turn for too long.
    pub(crate) fn refuse_late(&self) {
        let late = lock(&self.queue).waiting.extract_if(.., |asked| asked.is_late()).collect();
        refuse(late, &busy());
    }

    /// Why nobody may get an answer now, if that is known.
    pub(crate) fn away(&self) -> Option<Error> {
        lock(&self.engine).away()
    }

    fn help(self: &Arc<Self>, queue: &mut Queue) {
        if queue.at_work < AT_ONCE {
            queue.at_work += 1;
            let this = Arc::clone(self);
            task::spawn_blocking(move || this.work());
        }
    }

    fn work(&self) {
        let engine = lock(&self.engine).another();
        while let Some(group) = self.next() {
            match &engine {
                Ok(engine) => self.answer_all(engine, group),
                Err(error) => refuse(group, error),
            }
        }
    }

    /// What has gathered; nothing ends this worker's turn.
    fn next(&self) -> Option<Vec<Asked>> {
        let mut queue = lock(&self.queue);
        if queue.waiting.is_empty() {
            queue.at_work -= 1;
            return None;
        }
        let together = queue.waiting.len().min(TOGETHER);
        Some(queue.waiting.drain(..together).collect())
    }

    fn answer_all(&self, engine: &Engine, mut group: Vec<Asked>) {
        let mut looks_ahead = true;
        loop {
            refuse(group.extract_if(.., |asked| asked.is_late()).collect(), &busy());
            let Some(until) = group.iter().map(|asked| asked.until).min() else { return };
            engine.wait_until(Some(until));
            let ahead = if looks_ahead { self.ahead(&group) } else { Ahead::default() };
            let reading = match self.begin(engine, &ahead) {
                Ok(reading) => reading,
                Err(error) if !ahead.is_little() && !matches!(error.code, Code::Busy | Code::Unreachable) => {
                    // What was read ahead may be why: each is asked for by itself then.
                    looks_ahead = false;
                    continue;
                }
                Err(error) => {
                    refuse(group, &error);
                    // Whoever waited meanwhile has waited for the same database, and long enough.
                    let others = std::mem::take(&mut lock(&self.queue).waiting);
                    return refuse(others, &error);
                }
            };
            self.answer_known(&reading, &mut group);
            let foresee = || reading.foresee(&ahead);
            // Unwinding leaves the transaction as it was: it only reads.
            if !matches!(panic::catch_unwind(AssertUnwindSafe(foresee)), Ok(Ok(()))) {
                looks_ahead = false;
                continue;
            }
            let mut left = group.into_iter();
            for asked in left.by_ref() {
                if asked.is_late() {
                    let _ = asked.reply.send(Err(busy()));
                    continue;
                }
                let answer = reading.wait_until(asked.until).and_then(|()| self.answer(&reading, &asked));
                if answer.is_err() && reading.is_worth_another_try() {
                    engine.wait_until(None);
                    let again = self.begin(engine, &Ahead::default()).and_then(|reading| self.answer(&reading, &asked));
                    let _ = asked.reply.send(again);
                    break;
                }
                // A client that has left needs no answer.
                let _ = asked.reply.send(answer);
                if reading.is_over() {
                    break;
                }
            }
            group = left.collect();
        }
    }

    /// What will be asked for a group, unless the answers that are known turn out to be right.
    fn ahead(&self, group: &[Asked]) -> Ahead {
        let (known, mut ahead) = (lock(&self.known), Ahead::default());
        for asked in group {
            let is_known = asked.words.as_ref().is_some_and(|words| known.has(words));
            if let Work::Operation(entry, input) = &asked.work
                && let Some(foresee) = entry.foresee.filter(|_| !is_known)
            {
                foresee(input, &mut ahead);
            }
        }
        ahead
    }

    /// Answers what was answered before in the same state of the store; leaves the rest.
    fn answer_known(&self, reading: &Reading<'_>, group: &mut Vec<Asked>) {
        let known = lock(&self.known);
        if !known.is_of(reading.mark) {
            return;
        }
        for asked in group.extract_if(.., |asked| asked.words.as_ref().is_some_and(|words| known.has(words))) {
            if let Some(answer) = asked.words.as_ref().and_then(|words| known.answer(words)) {
                let _ = asked.reply.send(Ok(answer));
            }
        }
    }

    /// Begins to read, and forgets the answers that are no longer right.
    fn begin<'e>(&self, engine: &'e Engine, ahead: &Ahead) -> Result<Reading<'e>> {
        let (before, moves) = {
            let known = lock(&self.known);
            (known.mark(), known.moves())
        };
        let reading = engine.reading(before, ahead)?;
        if before.is_some_and(|(mark, _)| mark == reading.mark) {
            return Ok(reading);
        }
        let touched = match before {
            Some((mark, _)) => reading.touched_since(mark)?,
            None => None,
        };
        let mut known = lock(&self.known);
        // What another worker made of it meanwhile is as good: answers are only given at the mark that they are of.
        if known.moves() == moves {
            known.move_to((reading.mark, reading.right_until), touched.as_deref());
        }
        Ok(reading)
    }

    fn answer(&self, reading: &Reading<'_>, asked: &Asked) -> Result<Bytes> {
        let run = || reading.run(&asked.caller, |cx, tx| asked.work.run(cx, tx));
        // Unwinding leaves the transaction as it was: it only reads.
        let answer = panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err(unexpected()))?;
        let answer = Bytes::from(answer);
        if let Some(words) = &asked.words {
            let is_too_much = lock(&self.known).keep(reading.mark, words, &answer, reading.tells_of());
            if is_too_much {
                Room::of_process().make_room();
            }
        }
        Ok(answer)
    }
}

fn busy() -> Error {
    Error::new(Code::Busy, "the database took too long to have a turn for this").hint("try again in a moment")
}

fn refuse(group: Vec<Asked>, error: &Error) {
    for asked in group {
        let _ = asked.reply.send(Err(error.clone()));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pensa_core::id::IssueId;
    use pensa_core::ops::issue::{Create, Update};
    use pensa_engine::{StoreDir, entry};
    use serde_json::json;

    fn shown(gathered: &Gathered, engine: &Engine, id: &IssueId) -> String {
        let (reply, mut answer) = oneshot::channel();
        let show = entry("issue.show").expect("in the catalog");
        let work = Work::Operation(show, json!({"id": id}));
        let caller = Caller::local("test");
        gathered.answer_all(
            engine,
            vec![Asked { caller, work, words: Some(id.to_string()), reply, until: Instant::now() + FORBEARANCE }],
        );
        let answer = answer.try_recv().expect("an answer").expect("an issue");
        String::from_utf8(answer.to_vec()).expect("text")
    }

    #[test]
    fn a_change_has_only_those_answers_forgotten_that_tell_of_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let (store, _) = StoreDir::create(&dir.path().join(StoreDir::NAME)).expect("a store");
        let engine = Engine::open(store).expect("an engine");
        let gathered = Gathered::new(engine.another().expect("another"));
        let writer = engine.another().expect("another");
        let create = |title: &str, deps: &[&IssueId]| {
            let create = json!({"title": title, "issue_type": "task", "deps": deps});
            let create: Create = serde_json::from_value(create).expect("an operation");
            writer.call("test", &create).expect("made").issue.id
        };
        let parent = create("what the child waits for", &[]);
        let child = create("a child of its parent", &[&parent]);
        let bystander = create("nothing to do with them", &[]);
        let all = [&parent, &child, &bystander];
        let known = || {
            gathered.begin(&engine, &Ahead::default()).expect("a reading");
            let known = lock(&gathered.known);
            all.map(|id| known.has(id.as_str()))
        };
        let ask_all = || all.map(|id| shown(&gathered, &engine, id));
        let change = |id: &IssueId, change: Value| {
            let mut update = change;
            update["id"] = json!(id);
            let update: Update = serde_json::from_value(update).expect("an operation");
            writer.call("test", &update).expect("changed");
        };
        ask_all();
        assert_eq!(known(), [true, true, true]);
        change(&parent, json!({"title": "another title of the parent"}));
        assert_eq!(known(), [false, false, true], "the child tells of its parent");
        assert!(ask_all().iter().filter(|answer| answer.contains("another title")).count() == 2);
        change(&bystander, json!({"priority": "p0"}));
        assert_eq!(known(), [true, true, false]);
        ask_all();
        // What is taken back may be anything.
        writer.call("test", &pensa_core::ops::undo::Undo::default()).expect("taken back");
        assert_eq!(known(), [false, false, false]);
        // The beginning of an id may come to mean another issue.
        let words = bystander.as_str().trim_start_matches("pn-").to_owned();
        let (reply, _answer) = oneshot::channel();
        let work = Work::Operation(entry("issue.show").expect("in the catalog"), json!({"id": words}));
        gathered.answer_all(
            &engine,
            vec![Asked {
                caller: Caller::local("test"),
                work,
                words: Some(words.clone()),
                reply,
                until: Instant::now() + FORBEARANCE,
            }],
        );
        assert!(lock(&gathered.known).has(&words));
        change(&parent, json!({"priority": "p0"}));
        known();
        assert!(!lock(&gathered.known).has(&words));
    }
}
