//! Brings two stores together: what each has and the other lacks goes both ways, until neither lacks anything.
//!
//! What to send, how records are merged and the books on it are the stores' business; this only carries. It may be cut
//! off anywhere: the books move only with what they speak of, and whatever is sent again changes nothing.

use std::time::Duration;

use backon::{BlockingRetryable, ExponentialBuilder};
use pensa_core::ops::store::Info;
use pensa_core::ops::sync::{
    Changed, Changes, Fate, Named, Outcome, Peer, Peers, Pending, Progress, Queue, Sent, Take, Taken,
};
use pensa_core::{Code, Error, Result};
use serde::{Deserialize, Serialize};

use crate::Client;

/// Most times that both directions are gone through; two are enough unless somebody else is busy.
const MAX_ROUNDS: usize = 20;
/// When it begins again because another sync of the same stores was faster.
const AGAIN: ExponentialBuilder = ExponentialBuilder::new()
    .with_min_delay(Duration::from_millis(100))
    .with_max_delay(Duration::from_millis(400))
    .with_max_times(4);
/// Lines of the log without news that are worth a note in the books.
const WORTH_NOTING: i64 = 500;
/// Most remarks that are kept.
const MAX_NOTES: usize = 20;

/// Two stores, one of which keeps the books on the other.
#[derive(Debug)]
pub struct Exchange<'a> {
    pub here: &'a Client,
    pub there: &'a Client,
    /// What the other is called, and where it is
    pub name: String,
    pub url: String,
}

/// What was exchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchanged {
    /// Always `ok`
    pub status: String,
    pub remote: String,
    pub store_id: String,
    /// Changes that were made here
    pub pulled: i64,
    /// Records that the other has taken
    pub pushed: i64,
    /// Values that lost against others, here and there
    pub conflicts: i64,
    /// Records that the other did not take, and that go on waiting
    pub held: i64,
    pub notes: Vec<String>,
}

impl Exchanged {
    /// Whether anything was exchanged.
    pub fn is_any(&self) -> bool {
        self.pulled > 0 || self.pushed > 0
    }

    fn note(&mut self, note: String) {
        if self.notes.len() < MAX_NOTES && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// Whether the time of a sync that found nothing is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    Always,
    /// Not if nothing was exchanged: whoever watches would take it for a change.
    IfAny,
}

impl Exchange<'_> {
    /// Exchanges all there is.
    pub fn run(&self, note: Note) -> Result<Exchanged> {
        let is_under_way = |e: &Error| e.code == Code::Busy && e.message.contains("another sync");
        (|| self.try_run(note)).retry(AGAIN).when(is_under_way).call()
    }

    fn try_run(&self, note: Note) -> Result<Exchanged> {
        let store_id = self.there.call(&Info {}).map_err(|e| self.told(e))?.store_id;
        let mut session = Session { exchange: self, peer: self.peer(&store_id)?, done: Exchanged::default() };
        let was_new = session.peer.pulled.is_none();
        for round in 0.. {
            let (pulled, pushed) = (session.pull()?, session.push()?);
            if !pulled && !pushed {
                break;
            }
            if round == MAX_ROUNDS {
                session.done.note("more has changed meanwhile; sync again".into());
                break;
            }
        }
        if note == Note::Always || session.done.is_any() || was_new {
            session.book(Vec::new(), Progress { done: true, ..Progress::default() })?;
        }
        let held = self.peer(&store_id)?.held;
        let done = Exchanged { status: "ok".into(), remote: self.name.clone(), store_id, held, ..session.done };
        Ok(done)
    }

    /// What the books say.
    fn peer(&self, store_id: &str) -> Result<Peer> {
        let wanted = Peers { peer: Some(store_id.to_owned()), limit: Some(0) };
        let unknown = || Error::internal("the books say nothing");
        self.here.call(&wanted)?.pop().ok_or_else(unknown)
    }

    /// An error of the other side, told as such.
    fn told(&self, error: Error) -> Error {
        if error.code == Code::NotFound && error.message.starts_with("path not found") {
            return Error::new(Code::Unsupported, format!("{} does not know how to sync", self.name))
                .hint("its pn is older than this one; update it");
        }
        error.within(&self.name)
    }
}

struct Session<'e, 'a> {
    exchange: &'e Exchange<'a>,
    peer: Peer,
    done: Exchanged,
}

impl Session<'_, '_> {
    /// Takes in what the other has; tells whether anything was new.
    fn pull(&mut self) -> Result<bool> {
        let (mut any, mut waiting, mut after) = (false, Vec::new(), self.peer.pulled.clone());
        loop {
            let page = self.changes(after.clone())?;
            if page.restarted {
                self.done.note(format!("{} is not what it was; all of it is compared anew", self.exchange.name));
                self.book(Vec::new(), Progress { afresh: true, ..Progress::default() })?;
            }
            let Changed { entries, cursor, more, looked_at, .. } = page;
            let is_worth_it = more || looked_at >= WORTH_NOTING || self.peer.pulled.is_none();
            let is_news = !entries.is_empty() || is_worth_it;
            if is_news || !waiting.is_empty() {
                let all: Vec<Sent> = std::mem::take(&mut waiting).into_iter().chain(entries).collect();
                let progress = Progress { pulled: Some(cursor.clone()), ..Progress::default() };
                let taken = self.book(all.clone(), progress)?;
                any |= taken.changed > 0;
                self.done.pulled += taken.changed;
                waiting = self.waiting(all, &taken.outcomes);
                if taken.renamed {
                    // Before more of the other's comes that means the one that has another id here.
                    return Ok(true);
                }
            }
            after = Some(cursor);
            if !more {
                break;
            }
        }
        if !waiting.is_empty() {
            let (count, name) = (waiting.len(), &self.exchange.name);
            self.done.note(format!("{count} records wait for issues that {name} does not have"));
        }
        Ok(any)
    }

    fn changes(&self, after: Option<String>) -> Result<Changed> {
        let page = self.exchange.there.call(&Changes { after, limit: None }).map_err(|e| self.exchange.told(e))?;
        if page.store_id == self.peer.store_id {
            return Ok(page);
        }
        Err(Error::new(Code::Busy, format!("{} became another store during the sync", self.exchange.name))
            .hint("try again"))
    }

    /// Those that could not be taken in yet.
    fn waiting(&mut self, all: Vec<Sent>, outcomes: &[Outcome]) -> Vec<Sent> {
        let mut waiting = Vec::new();
        for (sent, outcome) in all.into_iter().zip(outcomes) {
            match outcome.fate {
                Fate::Waits => waiting.push(sent),
                Fate::Unknown => {
                    let (name, collection) = (&self.exchange.name, &sent.collection);
                    self.done.note(format!("{name} has {collection}, which this version does not know; update pn"));
                }
                Fate::Taken | Fate::Gone | Fate::Refused => {}
            }
        }
        waiting
    }

    /// Sends what the other lacks; tells whether it took anything.
    fn push(&mut self) -> Result<bool> {
        let (mut any, mut after) = (false, None);
        loop {
            let wanted = Pending { peer: self.peer.store_id.clone(), after, limit: None };
            let queue = self.exchange.here.call(&wanted)?;
            any |= self.send(&queue)?;
            match queue.next {
                Some(next) => after = Some(next),
                None => return Ok(any),
            }
        }
    }

    /// Sends a page, and notes what became of it.
    fn send(&mut self, queue: &Queue) -> Result<bool> {
        let Queue { entries, gone, pushed, next, looked_at } = queue;
        if entries.is_empty() {
            // A note in the books is a line in the log too, and the log would never end.
            let is_first = pushed.is_some() && self.peer.pushed.is_none();
            if !gone.is_empty() || next.is_some() || is_first || *looked_at >= WORTH_NOTING {
                let progress = Progress { pushed: pushed.clone(), gone: gone.clone(), ..Progress::default() };
                self.book(Vec::new(), progress)?;
            }
            return Ok(false);
        }
        let op = Take { entries: entries.clone(), peer: None };
        let taken = self.exchange.there.call(&op).map_err(|e| self.exchange.told(e))?;
        if taken.outcomes.len() != entries.len() {
            return Err(Error::new(Code::Unreachable, format!("{} answered something else", self.exchange.name)));
        }
        self.done.conflicts += taken.conflicts;
        taken.notes.iter().for_each(|note| self.done.note(format!("{}: {note}", self.exchange.name)));
        let mut progress = Progress { pushed: pushed.clone(), gone: gone.clone(), ..Progress::default() };
        let mut answers = Vec::new();
        for (sent, outcome) in entries.iter().zip(&taken.outcomes) {
            match outcome.fate {
                Fate::Taken => answers.push(answer(sent, outcome)),
                Fate::Gone => progress.gone.push(sent.named()),
                fate @ (Fate::Waits | Fate::Refused | Fate::Unknown) => {
                    self.tell_held(fate, sent);
                    progress.held.push(sent.named());
                }
            }
        }
        // What the other logged about this batch is known here already, unless it means more than its records.
        let is_plain = !taken.renamed && !entries.iter().any(|sent| sent.collection == "tombstones");
        if is_plain && self.peer.pulled.as_deref() == Some(taken.before.as_str()) {
            progress.pulled = Some(taken.after);
        }
        let acknowledged = i64::try_from(answers.len() + count_gone(&progress.gone, gone)).unwrap_or(i64::MAX);
        self.done.pushed += acknowledged;
        let booked = self.book(answers, progress)?;
        self.done.pulled += booked.changed;
        Ok(acknowledged > 0)
    }

    fn tell_held(&mut self, fate: Fate, sent: &Sent) {
        let name = &self.exchange.name;
        let note = match fate {
            Fate::Refused if sent.collection == "tombstones" => {
                format!("{name} does not let this token delete; deletions wait for a maintainer's")
            }
            Fate::Refused => format!("{name} does not let this token change {} {}", sent.collection, sent.id),
            Fate::Unknown => format!("{name} does not know {}; its pn is older than this one", sent.collection),
            _ => return,
        };
        self.done.note(note);
    }

    /// Has the books say how far the two have come, with records that came along.
    fn book(&mut self, entries: Vec<Sent>, progress: Progress) -> Result<Taken> {
        let peer = Progress {
            store_id: self.peer.store_id.clone(),
            name: Some(self.exchange.name.clone()),
            url: Some(self.exchange.url.clone()),
            turn: self.peer.turn,
            ..progress
        };
        if peer.afresh {
            self.peer.pushed = None;
        }
        let was_pushed = peer.pushed.clone();
        let taken = self.exchange.here.call(&Take { entries, peer: Some(peer) })?;
        self.done.conflicts += taken.conflicts;
        taken.notes.iter().for_each(|note| self.done.note(note.clone()));
        (self.peer.turn, self.peer.pulled) = (taken.turn, taken.pulled.clone());
        self.peer.pushed = was_pushed.or(self.peer.pushed.take());
        Ok(taken)
    }
}

/// What the other has now in place of what it was sent.
fn answer(sent: &Sent, outcome: &Outcome) -> Sent {
    Sent {
        line: outcome.line.clone().unwrap_or_else(|| sent.line.clone()),
        base: Some(sent.line.clone()),
        ..sent.clone()
    }
}

fn count_gone(all: &[Named], before: &[Named]) -> usize {
    all.len() - before.len()
}
