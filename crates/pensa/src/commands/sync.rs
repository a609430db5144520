//! `pn sync`: exchanges changes between this store and a named server, once or continuously. `pensa_client::Exchange` has
//! the exchange itself.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use std::{process, thread};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use clap::{Args, Subcommand};
use pensa_client::config::{SYNC_REMOTE, SYNC_SESSIONS, SettingValue};
use pensa_client::{Client, RecordSyncTime, Remote, RemoteName, StoreSync, SyncSummary};
use pensa_core::ops::sync::{Peer, Peers, UnsentEvent};
use pensa_core::{Code, Error, Result, Timestamp};
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::profile;
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen, counted};

/// Exchange changes with a server, in both directions
///
/// Between syncs the store works on its own. Changes to the same record are merged as pn import merges them: the newer
/// value is kept, and pn conflicts shows the other. A sync may be interrupted at any point; the next one continues.
///
///   pn remote add home https://pensa.example.com/p/web
///   pn sync home
///   pn sync --watch
///
/// With --remote-server, that server exchanges changes with the named one:
///
///   pn --remote-server here sync there
#[derive(Debug, Args)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = true)]
pub(crate) struct SyncArgs {
    #[command(subcommand)]
    pub(crate) command: Option<SyncCommand>,
    /// Which server, by its name in pn remote list [default: the setting sync.remote, else the only one]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<RemoteName>,
    /// Continue until interrupted: sync soon after anything changes on either side
    #[arg(long)]
    pub(crate) watch: bool,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum SyncCommand {
    Status(SyncStatusArgs),
}

/// Show which events wait to be sent, and when the last sync was
///
/// Contacts no server. Without a name, lists all named servers:
///
///   pn sync status
///   pn sync status home --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct SyncStatusArgs {
    /// Which server, by its name in pn remote list
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<RemoteName>,
    /// At most this many waiting events
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) limit: Option<u32>,
}

/// How often a store of this machine is checked for changes.
const POLL_INTERVAL: Duration = Duration::from_millis(300);

/// How long to wait for further changes before sending.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// The longest time without a sync: an event stream may be silent because its connection is dead.
const IDLE_INTERVAL: Duration = Duration::from_secs(60);

/// Waiting times after failures.
const RETRY: ExponentialBuilder = ExponentialBuilder::new()
    .with_min_delay(Duration::from_secs(1))
    .with_max_delay(Duration::from_secs(30))
    .without_max_times();
/// How long a running sync may take after a signal to end; it may be interrupted at any point.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(3);

pub(super) fn run(options: &GlobalOptions, output: Output, args: SyncArgs) -> Result<()> {
    match args.command {
        Some(SyncCommand::Status(args)) => status(options, output, &args),
        None if args.watch => watch(options, output, args.name),
        None => {
            let name = choose_remote(options, args.name)?;
            let pair = SyncPair::new(options, &name)?;
            let done = pair.sync(RecordSyncTime::Always)?;
            output.answer(&done)?;
            print_notes(output, &done);
            profile::renew(options, output, &pair.here);
            Ok(())
        }
    }
}

/// This store and the server it syncs with.
struct SyncPair {
    here: Client,
    there: Client,
    name: RemoteName,
    url: String,
    sessions: bool,
}

impl SyncPair {
    fn new(options: &GlobalOptions, name: &RemoteName) -> Result<Self> {
        let remote = connect::sync_remote(options, name)?;
        let url = remote.url().to_owned();
        let there = Client::http(remote, connect::actor_source(options)?);
        Ok(Self { here: connect::client(options)?, there, name: name.clone(), url, sessions: sessions(options)? })
    }

    fn sync(&self, note: RecordSyncTime) -> Result<SyncSummary> {
        let Self { here, there, name, url, sessions } = self;
        StoreSync { local: here, remote: there, name: name.to_string(), url: url.clone(), sessions: *sessions }
            .run(note)
    }
}

/// Whether to send sessions of agents too. A repository cannot set this: sessions contain private conversations.
fn sessions(options: &GlobalOptions) -> Result<bool> {
    let Some(setting) = connect::config(options)?.get(&SYNC_SESSIONS)? else { return Ok(false) };
    let is_on = matches!(setting.value, SettingValue::Flag(true));
    if is_on && connect::is_from_repository(options, &setting) {
        return Err(Error::new(Code::Forbidden, format!("{} has the sessions of your agents sent", setting.origin))
            .hint("a repository does not decide that: take it out, or pn config set sync.sessions true --local"));
    }
    Ok(is_on)
}

/// The server to sync with. A repository cannot set it: it could name a server that the user has for something else.
fn choose_remote(options: &GlobalOptions, given: Option<RemoteName>) -> Result<RemoteName> {
    if let Some(name) = given {
        return Ok(name);
    }
    if let Some(setting) = connect::config(options)?.get(&SYNC_REMOTE)? {
        if connect::is_from_repository(options, &setting) {
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

fn print_notes(output: Output, done: &SyncSummary) {
    for note in &done.notes {
        output.note(&format!("note: {note}"));
    }
    if done.conflicts > 0 {
        output.note("note: of values that both changed the newer were kept; pn conflicts shows the others");
    }
}

/// What waits to be sent to one server.
#[derive(Debug, Serialize)]
struct RemoteStatus {
    name: String,
    url: String,
    events: Vec<UnsentEvent>,
    more: bool,
    held: i64,
    #[serde(rename = "lastSync")]
    last_sync: Option<Timestamp>,
}

fn status(options: &GlobalOptions, output: Output, args: &SyncStatusArgs) -> Result<()> {
    let (here, remotes) = (connect::client(options)?, connect::remotes()?);
    let known = here.call(&Peers { peer: None, limit: args.limit })?;
    let queue = |name: &RemoteName, url: String| {
        let is_it = |peer: &&Peer| peer.name.as_deref() == Some(&name.to_string()) && peer.url.as_ref() == Some(&url);
        let last = known.iter().filter(is_it).max_by_key(|peer| peer.last_sync).cloned();
        let peer = match last {
            Some(peer) => Some(peer),
            // Never synced, so every event waits: a peer without a record has no cursor.
            None => here.call(&Peers { peer: Some(format!("not met: {name}")), limit: args.limit })?.pop(),
        };
        let peer = peer.ok_or_else(|| Error::internal("the store returned no sync state"))?;
        let Peer { events, more, held, last_sync, .. } = peer;
        Ok(RemoteStatus { name: name.to_string(), url, events, more, held, last_sync })
    };
    if let Some(name) = &args.name {
        return output.answer(&queue(name, remotes.get(name)?.url)?);
    }
    let all = remotes.list()?.into_iter().map(|(name, entry)| queue(&name, entry.url));
    output.answer(&all.collect::<Result<Vec<_>>>()?)
}

/// Wakes up the sync loop.
enum WakeEvent {
    Changed,
    Stop,
}

fn watch(options: &GlobalOptions, output: Output, given: Option<RemoteName>) -> Result<()> {
    let name = choose_remote(options, given)?;
    let pair = SyncPair::new(options, &name)?;
    let (wake, woken) = mpsc::channel();
    stop_on_signals(wake.clone())?;
    follow(connect::sync_remote(options, &name)?, wake.clone());
    if let Some(server) = connect::server(options)? {
        follow(connect::remote(options, &server)?, wake);
    }
    let mut sync_loop = SyncLoop { pair, output, woken, waits: RETRY.build(), has_failed: false };
    // An error of the first sync (address, token) is returned; later ones are retried.
    let mut last_seen = sync_loop.pair.here.version_stamp()?;
    let done = sync_loop.pair.sync(RecordSyncTime::IfChanged)?;
    sync_loop.report(options, &done)?;
    let mut again = done.is_any();
    loop {
        if !again && sync_loop.idle(last_seen)? {
            return Ok(());
        }
        // Taken before the sync, so that a concurrent change starts another sync.
        last_seen = sync_loop.pair.here.version_stamp()?;
        match sync_loop.attempt(options)? {
            Some(done) => again = done.is_any(),
            None => return Ok(()),
        }
    }
}

struct SyncLoop {
    pair: SyncPair,
    output: Output,
    woken: Receiver<WakeEvent>,
    waits: ExponentialBackoff,
    has_failed: bool,
}

impl SyncLoop {
    /// Waits until something changes. Returns true if the loop must end.
    fn idle(&self, last_seen: Option<pensa_engine::VersionStamp>) -> Result<bool> {
        let since = Instant::now();
        loop {
            let timeout = if last_seen.is_some() { POLL_INTERVAL } else { IDLE_INTERVAL };
            match self.woken.recv_timeout(timeout) {
                Ok(WakeEvent::Stop) | Err(RecvTimeoutError::Disconnected) => return Ok(true),
                Ok(WakeEvent::Changed) => return Ok(self.debounce()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.pair.here.is_orphaned() || self.pair.here.version_stamp()? != last_seen {
                return Ok(self.debounce());
            }
            if since.elapsed() >= IDLE_INTERVAL {
                return Ok(false);
            }
        }
    }

    /// Waits for a burst of changes to end. Returns true if the loop must end.
    fn debounce(&self) -> bool {
        thread::sleep(DEBOUNCE);
        self.woken.try_iter().any(|wake| matches!(wake, WakeEvent::Stop))
    }

    /// Syncs; after a transient failure waits before returning. `None` if the loop must end.
    fn attempt(&mut self, options: &GlobalOptions) -> Result<Option<SyncSummary>> {
        if self.pair.here.is_orphaned() {
            self.pair = SyncPair::new(options, &self.pair.name)?;
        }
        match self.pair.sync(RecordSyncTime::IfChanged) {
            Ok(done) => {
                if std::mem::take(&mut self.has_failed) {
                    self.output.note(&format!("note: {} is back", self.pair.name));
                }
                self.waits = RETRY.build();
                self.report(options, &done)?;
                Ok(Some(done))
            }
            Err(e) if !is_transient(&e) => Err(e),
            Err(e) => {
                if !std::mem::replace(&mut self.has_failed, true) {
                    self.output.warning(&format!("{}; trying again", e.message));
                }
                let until = Instant::now() + self.waits.next().unwrap_or_default();
                while let Some(left) = until.checked_duration_since(Instant::now()) {
                    if matches!(self.woken.recv_timeout(left), Ok(WakeEvent::Stop)) {
                        return Ok(None);
                    }
                }
                // Pretends a change, so that the next sync follows at once.
                Ok(Some(SyncSummary { pulled: 1, ..SyncSummary::default() }))
            }
        }
    }

    fn report(&self, options: &GlobalOptions, done: &SyncSummary) -> Result<()> {
        if done.is_any() {
            self.output.answer(done)?;
            print_notes(self.output, done);
            profile::renew(options, self.output, &self.pair.here);
        }
        Ok(())
    }
}

/// Whether a retry may succeed.
pub(super) fn is_transient(error: &Error) -> bool {
    matches!(error.code, Code::Unreachable | Code::Busy | Code::Timeout | Code::Internal | Code::DiskFull)
}

/// Sends a wake event for every change on a server, until the receiver is gone.
fn follow(remote: Remote, wake: Sender<WakeEvent>) {
    thread::spawn(move || {
        let mut waits = RETRY.build();
        loop {
            let mut is_heard = true;
            let _ = remote.follow(|| {
                waits = RETRY.build();
                is_heard = wake.send(WakeEvent::Changed).is_ok();
                is_heard
            });
            if !is_heard {
                return;
            }
            waits.by_ref().take(1).for_each(thread::sleep);
        }
    });
}

fn stop_on_signals(wake: Sender<WakeEvent>) -> Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Error::internal)?;
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            let _ = wake.send(WakeEvent::Stop);
            thread::sleep(SHUTDOWN_GRACE);
            process::exit(0);
        }
    });
    Ok(())
}

impl Render for SyncSummary {
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

impl Render for RemoteStatus {
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

impl Render for Vec<RemoteStatus> {
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
