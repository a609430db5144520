//! Clients that each do something at fixed times, whether they are kept up with or not.
//!
//! What they do takes from the moment it was due until it is done, so that a server that stalls shows.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

use super::load::{Connection, THREADS};
use super::report::Row;
use super::samples::Samples;
use super::worker::Worker;
use crate::Result;

/// Time for all to connect before the first has something to do.
const LEAD: Duration = Duration::from_millis(500);
/// How far behind a run may fall before the rest of it is given up.
const GRACE: Duration = Duration::from_secs(30);

/// When each of several clients does something.
#[derive(Clone, Copy)]
pub(super) struct Timetable {
    start: Instant,
    every: Duration,
    clients: usize,
    /// Operations of each client.
    pub(super) rounds: usize,
}

impl Timetable {
    pub(super) fn new(clients: usize, every: Duration, lasting: Duration) -> Self {
        let rounds = (lasting.as_secs_f64() / every.as_secs_f64()).round() as usize;
        Self { start: Instant::now(), every, clients, rounds }
    }

    /// Clients begin one after another, so that not all ask at once.
    pub(super) fn due(&self, client: usize, round: usize) -> Instant {
        self.start + self.every.mul_f64(round as f64 + client as f64 / self.clients as f64)
    }

    fn end(&self) -> Instant {
        self.due(self.clients, self.rounds) + GRACE
    }

    /// Has all clients work at once, `threads` of them, and sums up what came of it.
    pub(super) fn run<C: Send>(
        self,
        clients: &mut [C],
        threads: usize,
        work: impl Fn(&Timetable, usize, &mut [C]) -> Result<Outcome> + Sync,
    ) -> Result<Outcome> {
        let (table, share) = (Self { start: Instant::now() + LEAD, ..self }, clients.len().div_ceil(threads));
        let parts: std::result::Result<Vec<Outcome>, String> = thread::scope(|scope| {
            let (table, work) = (&table, &work);
            let start = |(at, own)| {
                scope.spawn(move || work(table, at * share, own).map_err(|e: Box<dyn std::error::Error>| e.to_string()))
            };
            let workers: Vec<_> = clients.chunks_mut(share).enumerate().map(start).collect();
            workers.into_iter().map(|worker| worker.join().map_err(|_| "a thread of the load panicked")?).collect()
        });
        let mut all = Outcome { took: table.start.elapsed(), ..Outcome::default() };
        for part in parts? {
            all.times.extend(part.times);
            all.errors.extend(part.errors);
        }
        let missing = (self.clients * self.rounds).saturating_sub(all.times.len());
        all.errors.extend((0..missing).map(|_| "not done in time".to_owned()));
        Ok(all)
    }
}

/// What came of a timetable.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) times: Vec<Duration>,
    pub(super) errors: Vec<String>,
    pub(super) took: Duration,
}

impl Outcome {
    /// Counts an operation that was due then.
    pub(super) fn add(&mut self, due: Instant, done: Result) {
        self.times.push(due.elapsed());
        self.errors.extend(done.err().map(|e| e.to_string()));
    }

    pub(super) fn show_errors(&self) {
        self.errors.iter().take(3).for_each(|error| println!("error: {}", error.trim()));
    }

    /// Rows about agents who worked.
    pub(super) fn rows(&self, workers: &[&Worker], slowest: Option<f64>, about: &str) -> Vec<Row> {
        self.show_errors();
        let times = Samples::new(self.times.clone());
        let ms = |name: &str, percent: usize, most: Option<f64>| {
            let value = times.percentile(percent);
            Row::limited(name.into(), format!("{value:.1} ms"), value, most.map(|most| (most, " ms")), about)
        };
        let claims: Vec<&String> = workers.iter().flat_map(|worker| &worker.claims).collect();
        let twice = claims.len() - claims.iter().collect::<HashSet<_>>().len();
        let lost: usize = workers.iter().map(|worker| worker.lost).sum();
        let rate = self.times.len() as f64 / self.took.as_secs_f64();
        let none = Some((0.0, ""));
        vec![
            Row::told("operations".into(), format!("{rate:.0} /s"), about),
            ms("p50", 50, None),
            ms("p99", 99, slowest),
            ms("longest", 100, None),
            Row::limited("errors".into(), self.errors.len().to_string(), self.errors.len() as f64, none, about),
            Row::limited(
                "issues claimed twice".into(),
                format!("{twice} of {} ({lost} lost races)", claims.len()),
                twice as f64,
                none,
                about,
            ),
        ]
    }
}

/// Asks over HTTP.
pub(super) trait Client: Send {
    fn request(&mut self) -> Vec<u8>;
    /// Takes the answer to the last request; an error if that is no good one.
    fn answered(&mut self, status: u16, body: &[u8]) -> Result;
}

/// A client, its connection, and where it is in the timetable.
struct Caller<'a, C> {
    client: &'a mut C,
    connection: Connection,
    /// Its number among all, and how often it was answered.
    number: usize,
    round: usize,
    waits: bool,
}

/// Has all clients ask on a kept-alive connection each.
pub(super) fn ask<C: Client>(address: SocketAddr, table: Timetable, clients: &mut [C]) -> Result<Outcome> {
    table.run(clients, THREADS, |table, first, own| Asking::open(address, table, first, own)?.run())
}

struct Asking<'a, C> {
    address: SocketAddr,
    table: &'a Timetable,
    epoll: std::os::fd::OwnedFd,
    callers: Vec<Caller<'a, C>>,
    outcome: Outcome,
}

impl<'a, C: Client> Asking<'a, C> {
    fn open(address: SocketAddr, table: &'a Timetable, first: usize, clients: &'a mut [C]) -> Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut callers = Vec::with_capacity(clients.len());
        for (at, client) in clients.iter_mut().enumerate() {
            let connection = watched(address, &epoll, at)?;
            callers.push(Caller { client, connection, number: first + at, round: 0, waits: false });
        }
        Ok(Self { address, table, epoll, callers, outcome: Outcome::default() })
    }

    fn run(mut self) -> Result<Outcome> {
        let mut events = Vec::with_capacity(self.callers.len());
        while let Some(next) = self.ask_due()
            && Instant::now() < self.table.end()
        {
            events.clear();
            let wait = Timespec::try_from(next.saturating_duration_since(Instant::now()))?;
            epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&wait))?;
            for event in &events {
                self.take(usize::try_from(event.data.u64())?)?;
            }
        }
        Ok(self.outcome)
    }

    /// Sends what is due; when to look again, or nothing if all is done.
    fn ask_due(&mut self) -> Option<Instant> {
        let mut next = None;
        for caller in self.callers.iter_mut().filter(|caller| caller.round < self.table.rounds) {
            let due = self.table.due(caller.number, caller.round);
            if !caller.waits && due <= Instant::now() {
                caller.waits = true;
                // If that fails, so does reading the answer.
                let _ = caller.connection.send(&caller.client.request());
            }
            let look = if caller.waits { self.table.end() } else { due };
            next = Some(next.map_or(look, |next: Instant| next.min(look)));
        }
        next
    }

    /// Takes what has come for a caller.
    fn take(&mut self, at: usize) -> Result {
        let caller = &mut self.callers[at];
        let done = match caller.connection.take_some() {
            Ok(None) => return Ok(()),
            Ok(Some((status, body))) => caller.client.answered(status, caller.connection.body(body)),
            Err(e) => {
                caller.connection = watched(self.address, &self.epoll, at)?;
                Err(e)
            }
        };
        if caller.waits {
            self.outcome.add(self.table.due(caller.number, caller.round), done);
            caller.round += 1;
            caller.waits = false;
        }
        Ok(())
    }
}

/// A connection whose answers wake this epoll with the number of its caller.
fn watched(address: SocketAddr, epoll: &std::os::fd::OwnedFd, caller: usize) -> Result<Connection> {
    let connection = Connection::open(address)?;
    epoll::add(epoll, connection.stream(), epoll::EventData::new_u64(caller as u64), epoll::EventFlags::IN)?;
    Ok(connection)
}
