//! Runs clients that send requests at fixed times, whether or not the server keeps up.
//!
//! Latency is measured from the time when a request was due, so that a stalling server shows.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

use super::load::{KeptAliveConnection, THREADS};
use super::report::ReportRow;
use super::samples::Samples;
use super::worker::Worker;
use crate::Result;

/// Time for all clients to connect before the first request.
const LEAD: Duration = Duration::from_millis(500);
/// A run that falls behind by more than this is aborted.
const GRACE: Duration = Duration::from_secs(30);

/// The times at which clients send requests.
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

    /// Clients start one after another, to spread the requests.
    pub(super) fn due(&self, client: usize, round: usize) -> Instant {
        self.start + self.every.mul_f64(round as f64 + client as f64 / self.clients as f64)
    }

    fn end(&self) -> Instant {
        self.due(self.clients, self.rounds) + GRACE
    }

    /// Runs all clients on `threads` threads and sums up the results.
    pub(super) fn run<C: Send>(
        self,
        clients: &mut [C],
        threads: usize,
        work: impl Fn(&Timetable, usize, &mut [C]) -> Result<TimetableResult> + Sync,
    ) -> Result<TimetableResult> {
        let (table, share) = (Self { start: Instant::now() + LEAD, ..self }, clients.len().div_ceil(threads));
        let parts: std::result::Result<Vec<TimetableResult>, String> = thread::scope(|scope| {
            let (table, work) = (&table, &work);
            let start = |(at, own)| {
                scope.spawn(move || work(table, at * share, own).map_err(|e: Box<dyn std::error::Error>| e.to_string()))
            };
            let workers: Vec<_> = clients.chunks_mut(share).enumerate().map(start).collect();
            workers.into_iter().map(|worker| worker.join().map_err(|_| "a thread of the load panicked")?).collect()
        });
        let mut all = TimetableResult { took: table.start.elapsed(), ..TimetableResult::default() };
        for part in parts? {
            all.times.extend(part.times);
            all.errors.extend(part.errors);
        }
        let missing = (self.clients * self.rounds).saturating_sub(all.times.len());
        all.errors.extend((0..missing).map(|_| "not done in time".to_owned()));
        Ok(all)
    }
}

/// The result of a timetable.
#[derive(Default)]
pub(super) struct TimetableResult {
    pub(super) times: Vec<Duration>,
    pub(super) errors: Vec<String>,
    pub(super) took: Duration,
}

impl TimetableResult {
    /// Counts an operation that was due at this time.
    pub(super) fn add(&mut self, due: Instant, done: Result) {
        self.times.push(due.elapsed());
        self.errors.extend(done.err().map(|e| e.to_string()));
    }

    pub(super) fn show_errors(&self) {
        self.errors.iter().take(3).for_each(|error| println!("error: {}", error.trim()));
    }

    /// Rows for agents' work.
    pub(super) fn rows(&self, workers: &[&Worker], slowest: Option<f64>, about: &str) -> Vec<ReportRow> {
        self.show_errors();
        let times = Samples::new(self.times.clone());
        let ms = |name: &str, percent: usize, most: Option<f64>| {
            let value = times.percentile(percent);
            ReportRow::limited(name.into(), format!("{value:.1} ms"), value, most.map(|most| (most, " ms")), about)
        };
        let claims: Vec<&String> = workers.iter().flat_map(|worker| &worker.claims).collect();
        let twice = claims.len() - claims.iter().collect::<HashSet<_>>().len();
        let lost: usize = workers.iter().map(|worker| worker.lost).sum();
        let rate = self.times.len() as f64 / self.took.as_secs_f64();
        let none = Some((0.0, ""));
        vec![
            ReportRow::measured("operations".into(), format!("{rate:.0} /s"), about),
            ms("p50", 50, None),
            ms("p99", 99, slowest),
            ms("longest", 100, None),
            ReportRow::limited("errors".into(), self.errors.len().to_string(), self.errors.len() as f64, none, about),
            ReportRow::limited(
                "issues claimed twice".into(),
                format!("{twice} of {} ({lost} lost races)", claims.len()),
                twice as f64,
                none,
                about,
            ),
        ]
    }
}

/// Produces the requests of a client over HTTP.
pub(super) trait TimetableClient: Send {
    fn request(&mut self) -> Vec<u8>;
    /// Handles the answer to the last request; fails if it is an error.
    fn answered(&mut self, status: u16, body: &[u8]) -> Result;
}

/// A client with its connection and its position in the timetable.
struct TimedCaller<'a, C> {
    client: &'a mut C,
    connection: KeptAliveConnection,
    /// Its index, and the number of answers.
    number: usize,
    round: usize,
    waits: bool,
}

/// Runs clients, each on a kept-alive connection.
pub(super) fn ask<C: TimetableClient>(
    address: SocketAddr,
    table: Timetable,
    clients: &mut [C],
) -> Result<TimetableResult> {
    table.run(clients, THREADS, |table, first, own| Asking::open(address, table, first, own)?.run())
}

struct Asking<'a, C> {
    address: SocketAddr,
    table: &'a Timetable,
    epoll: std::os::fd::OwnedFd,
    callers: Vec<TimedCaller<'a, C>>,
    outcome: TimetableResult,
}

impl<'a, C: TimetableClient> Asking<'a, C> {
    fn open(address: SocketAddr, table: &'a Timetable, first: usize, clients: &'a mut [C]) -> Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut callers = Vec::with_capacity(clients.len());
        for (at, client) in clients.iter_mut().enumerate() {
            let connection = watched(address, &epoll, at)?;
            callers.push(TimedCaller { client, connection, number: first + at, round: 0, waits: false });
        }
        Ok(Self { address, table, epoll, callers, outcome: TimetableResult::default() })
    }

    fn run(mut self) -> Result<TimetableResult> {
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

    /// Sends what is due. Returns when the next request is due, or `None` at the end.
    fn ask_due(&mut self) -> Option<Instant> {
        let mut next = None;
        for caller in self.callers.iter_mut().filter(|caller| caller.round < self.table.rounds) {
            let due = self.table.due(caller.number, caller.round);
            if !caller.waits && due <= Instant::now() {
                caller.waits = true;
                // If this fails, reading the answer fails too.
                let _ = caller.connection.send(&caller.client.request());
            }
            let look = if caller.waits { self.table.end() } else { due };
            next = Some(next.map_or(look, |next: Instant| next.min(look)));
        }
        next
    }

    /// Reads what has arrived for a client.
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

/// Opens a connection and registers it with epoll under the index of its client.
fn watched(address: SocketAddr, epoll: &std::os::fd::OwnedFd, caller: usize) -> Result<KeptAliveConnection> {
    let connection = KeptAliveConnection::open(address)?;
    epoll::add(epoll, connection.stream(), epoll::EventData::new_u64(caller as u64), epoll::EventFlags::IN)?;
    Ok(connection)
}
