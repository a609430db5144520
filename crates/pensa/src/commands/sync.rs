//! `pn sync`: this store and a named server come to have the same. The exchange itself is the client's business.

use std::process;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use pensa_client::config::SYNC_REMOTE;
use pensa_client::{Client, Exchange, Exchanged, Note, Remote, RemoteName};
use pensa_core::ops::sync::{Peer, Peers, Waiting};
use pensa_core::{Code, Error, Result, Timestamp};
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::cli::{Options, Sync, SyncArgs, SyncStatus};
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen, counted};

/// How often a store of this machine is looked at for changes.
const LOOK: Duration = Duration::from_millis(300);
/// How long to wait for what follows a change before it is sent.
const GATHER: Duration = Duration::from_millis(200);
/// How long nothing is done when nothing happens: a stream may be silent because it died.
const QUIET: Duration = Duration::from_secs(60);
/// How long to wait after a failure.
const RETRY: ExponentialBuilder = ExponentialBuilder::new()
    .with_min_delay(Duration::from_secs(1))
    .with_max_delay(Duration::from_secs(30))
    .without_max_times();
/// How long a sync that is under way may take once it is told to end; it may be cut off anywhere.
const GRACE: Duration = Duration::from_secs(3);

pub(super) fn run(options: &Options, output: Output, args: SyncArgs) -> Result<()> {
    match args.command {
        Some(Sync::Status(args)) => status(options, output, &args),
        None if args.watch => watch(options, output, args.name),
        None => {
            let name = chosen(options, args.name)?;
            let done = Pair::new(options, &name)?.sync(Note::Always)?;
            output.answer(&done)?;
            tell(output, &done);
            Ok(())
        }
    }
}

/// The two stores.
struct Pair {
    here: Client,
    there: Client,
    name: RemoteName,
    url: String,
}

impl Pair {
    fn new(options: &Options, name: &RemoteName) -> Result<Self> {
        let remote = connect::sync_remote(options, name)?;
        let url = remote.url().to_owned();
        let there = Client::http(remote, connect::actor_source(options)?);
        Ok(Self { here: connect::client(options)?, there, name: name.clone(), url })
    }

    fn sync(&self, note: Note) -> Result<Exchanged> {
        let Self { here, there, name, url } = self;
        Exchange { here, there, name: name.to_string(), url: url.clone() }.run(note)
    }
}

/// The server that is meant. A repository has no say in that: it could name one that the user keeps for something else.
fn chosen(options: &Options, given: Option<RemoteName>) -> Result<RemoteName> {
    if let Some(name) = given {
        return Ok(name);
    }
    if let Some(setting) = connect::config(options)?.get(&SYNC_REMOTE)? {
        if connect::came_with_the_repository(options, &setting) {
            let message = format!("{} names the server {} to sync with", setting.origin, setting.value);
            return Err(Error::new(Code::Forbidden, message)
                .hint("a repository does not decide that: name the server, or pn config set sync.remote NAME --user"));
        }
        return setting.value.to_string().parse();
    }
    let mut all = connect::remotes()?.list()?;
    match (all.pop(), all.len()) {
        (Some((name, _)), 0) => Ok(name),
        (Some(_), _) => Err(Error::invalid("there are several servers, and none is named")
            .hint("pn sync NAME, or pn config set sync.remote NAME --user; pn remote list shows them")),
        (None, _) => Err(Error::new(Code::NotFound, "there is no server to sync with")
            .hint("pn remote add NAME URL gives one a name")),
    }
}

fn tell(output: Output, done: &Exchanged) {
    for note in &done.notes {
        output.note(&format!("note: {note}"));
    }
    if done.conflicts > 0 {
        output.note("note: of values that both changed the newer were kept; pn conflicts shows the others");
    }
}

/// What waits for one server.
#[derive(Debug, Serialize)]
struct Queue {
    name: String,
    url: String,
    events: Vec<Waiting>,
    more: bool,
    held: i64,
    #[serde(rename = "lastSync")]
    last_sync: Option<Timestamp>,
}

fn status(options: &Options, output: Output, args: &SyncStatus) -> Result<()> {
    let (here, remotes) = (connect::client(options)?, connect::remotes()?);
    let known = here.call(&Peers { peer: None, limit: args.limit })?;
    let queue = |name: &RemoteName, url: String| {
        let is_it = |peer: &&Peer| peer.name.as_deref() == Some(&name.to_string()) && peer.url.as_ref() == Some(&url);
        let last = known.iter().filter(is_it).max_by_key(|peer| peer.last_sync).cloned();
        let peer = match last {
            Some(peer) => Some(peer),
            // Nothing was ever sent there, so everything waits.
            None => here.call(&Peers { peer: Some(format!("not met: {name}")), limit: args.limit })?.pop(),
        };
        let peer = peer.ok_or_else(|| Error::internal("the books say nothing"))?;
        let Peer { events, more, held, last_sync, .. } = peer;
        Ok(Queue { name: name.to_string(), url, events, more, held, last_sync })
    };
    if let Some(name) = &args.name {
        return output.answer(&queue(name, remotes.get(name)?.url)?);
    }
    let all = remotes.list()?.into_iter().map(|(name, entry)| queue(&name, entry.url));
    output.answer(&all.collect::<Result<Vec<_>>>()?)
}

/// What wakes up somebody who watches.
enum Wake {
    Changed,
    Stop,
}

fn watch(options: &Options, output: Output, given: Option<RemoteName>) -> Result<()> {
    let name = chosen(options, given)?;
    let pair = Pair::new(options, &name)?;
    let (wake, woken) = mpsc::channel();
    stop_on_signals(wake.clone())?;
    follow(connect::sync_remote(options, &name)?, wake.clone());
    if let Some(server) = connect::server(options)? {
        follow(connect::remote(options, &server)?, wake);
    }
    let mut watching = Watching { pair, output, woken, waits: RETRY.build(), has_failed: false };
    // The first one tells what is wrong with the address or the token; later failures pass.
    let mut mark = watching.pair.here.mark()?;
    let done = watching.pair.sync(Note::IfAny)?;
    watching.tell(&done)?;
    let mut again = done.is_any();
    loop {
        if !again && watching.idle(mark)? {
            return Ok(());
        }
        // Before, so that what somebody changes meanwhile is not taken for our own doing.
        mark = watching.pair.here.mark()?;
        match watching.attempt(options)? {
            Some(done) => again = done.is_any(),
            None => return Ok(()),
        }
    }
}

struct Watching {
    pair: Pair,
    output: Output,
    woken: Receiver<Wake>,
    waits: ExponentialBackoff,
    has_failed: bool,
}

impl Watching {
    /// Waits until something changes; true if that is the end.
    fn idle(&self, mark: Option<pensa_engine::Mark>) -> Result<bool> {
        let since = Instant::now();
        loop {
            let look = if mark.is_some() { LOOK } else { QUIET };
            match self.woken.recv_timeout(look) {
                Ok(Wake::Stop) | Err(RecvTimeoutError::Disconnected) => return Ok(true),
                Ok(Wake::Changed) => return Ok(self.gather()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.pair.here.is_orphaned() || self.pair.here.mark()? != mark {
                return Ok(self.gather());
            }
            if since.elapsed() >= QUIET {
                return Ok(false);
            }
        }
    }

    /// Lets a burst of changes end; true if that is the end of it all.
    fn gather(&self) -> bool {
        thread::sleep(GATHER);
        self.woken.try_iter().any(|wake| matches!(wake, Wake::Stop))
    }

    /// A sync that may fail, with a pause before the next; none if that is the end.
    fn attempt(&mut self, options: &Options) -> Result<Option<Exchanged>> {
        if self.pair.here.is_orphaned() {
            self.pair = Pair::new(options, &self.pair.name)?;
        }
        match self.pair.sync(Note::IfAny) {
            Ok(done) => {
                if std::mem::take(&mut self.has_failed) {
                    self.output.note(&format!("note: {} is back", self.pair.name));
                }
                self.waits = RETRY.build();
                self.tell(&done)?;
                Ok(Some(done))
            }
            Err(e) if !passes(&e) => Err(e),
            Err(e) => {
                if !std::mem::replace(&mut self.has_failed, true) {
                    self.output.warning(&format!("{}; trying again", e.message));
                }
                let until = Instant::now() + self.waits.next().unwrap_or_default();
                while let Some(left) = until.checked_duration_since(Instant::now()) {
                    if matches!(self.woken.recv_timeout(left), Ok(Wake::Stop)) {
                        return Ok(None);
                    }
                }
                // There may be more to do than before.
                Ok(Some(Exchanged { pulled: 1, ..Exchanged::default() }))
            }
        }
    }

    fn tell(&self, done: &Exchanged) -> Result<()> {
        if done.is_any() {
            self.output.answer(done)?;
            tell(self.output, done);
        }
        Ok(())
    }
}

/// Whether a failure may be over in a while.
fn passes(error: &Error) -> bool {
    matches!(error.code, Code::Unreachable | Code::Busy | Code::Timeout | Code::Internal | Code::DiskFull)
}

/// Tells whenever something happens at a server, for as long as anybody listens.
fn follow(remote: Remote, wake: Sender<Wake>) {
    thread::spawn(move || {
        let mut waits = RETRY.build();
        loop {
            let mut is_heard = true;
            let _ = remote.follow(|| {
                waits = RETRY.build();
                is_heard = wake.send(Wake::Changed).is_ok();
                is_heard
            });
            if !is_heard {
                return;
            }
            waits.by_ref().take(1).for_each(thread::sleep);
        }
    });
}

fn stop_on_signals(wake: Sender<Wake>) -> Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Error::internal)?;
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            let _ = wake.send(Wake::Stop);
            thread::sleep(GRACE);
            process::exit(0);
        }
    });
    Ok(())
}

impl Render for Exchanged {
    fn render(&self, screen: &mut Screen) {
        screen.plain("synced with ").id(&self.remote).plain(": ");
        screen.plain(&format!("{} here, ", counted(self.pulled, "change", "changes")));
        screen.plain(&format!("{} sent", counted(self.pushed, "record", "records")));
        if self.conflicts > 0 {
            screen.plain(&format!(", {}", counted(self.conflicts, "conflict", "conflicts")));
        }
        if self.held > 0 {
            screen.plain(&format!(", {} not taken", self.held));
        }
        screen.end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.remote.clone()]
    }
}

impl Render for Queue {
    fn render(&self, screen: &mut Screen) {
        screen.id(&self.name).plain(" ");
        let count = i64::try_from(self.events.len()).unwrap_or(i64::MAX);
        let more = if self.more { " and more" } else { "" };
        screen.plain(&format!("{}{more} to send", counted(count, "change", "changes")));
        if self.held > 0 {
            screen.plain(&format!(", {} to send again", counted(self.held, "record", "records")));
        }
        match self.last_sync {
            Some(at) => screen.plain(", last synced ").plain(&at.to_string()),
            None => screen.plain(", ").faint("never synced"),
        };
        screen.end();
    }

    fn ids(&self) -> Vec<String> {
        self.events.iter().map(|event| event.id.clone()).collect()
    }
}

impl Render for Vec<Queue> {
    fn render(&self, screen: &mut Screen) {
        for queue in self {
            queue.render(screen);
        }
        if self.is_empty() {
            screen.faint("no remotes").end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|queue| queue.name.clone()).collect()
    }
}
