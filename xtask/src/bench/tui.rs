//! `pn tui` as a person feels it: the first screen, a key, and what it costs while nothing or much happens.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::{Child, Command};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use pensa_testkit::Pty;
use serde_json::{Value, json};

use super::BenchPlan;
use super::cpu;
use super::lab::{BenchProject, Lab};
use super::load::{self, KeptAliveConnection};
use super::machine;
use super::report::{ReportRow, grouped};
use super::samples::Samples;
use super::server::BenchServer;
use crate::Result;

const SIZES: [usize; 2] = [10_000, 100_000];
/// How often the interface is started, and how many keys are pressed.
const STARTS: usize = 21;
const KEYS: usize = 61;
/// How long it is watched while nothing, or much, happens.
const WATCHED: Duration = Duration::from_secs(10);
/// How long everything may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// Without output for so long, everything has been drawn.
const QUIET: Duration = Duration::from_millis(150);
/// Events in one request, and the pause between requests: 100 events in a second.
const AT_ONCE: usize = 25;
const PAUSE: Duration = Duration::from_millis(250);

pub(super) fn rows(lab: &Lab, plan: &BenchPlan) -> Result<Vec<ReportRow>> {
    let seen = lab.dir().join(".local/state/pensa");
    fs::create_dir_all(&seen)?;
    fs::write(seen.join("tui-guide"), "")?;
    let mut rows = Vec::new();
    for size in SIZES.into_iter().filter(|size| plan.sizes.contains(size)) {
        let store = lab.filled_store(size)?;
        rows.extend(at_size(lab, &store)?);
        lab.discard(&store)?;
    }
    Ok(rows)
}

fn at_size(lab: &Lab, store: &BenchProject) -> Result<Vec<ReportRow>> {
    let (most, is_large) = if store.size > SIZES[0] { (300.0, true) } else { (100.0, false) };
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        starts.push(TuiProcess::start(lab, store)?.1);
    }
    let (mut tui, _) = TuiProcess::start(lab, store)?;
    tui.settle()?;
    let mut keys = Vec::new();
    for at in 0..KEYS {
        keys.push(tui.press(if at % 2 == 0 { b"j" } else { b"k" })?);
        tui.settle()?;
    }
    let idle = tui.share_of_core(|| {
        thread::sleep(WATCHED);
        Ok(())
    })?;
    let busy = tui.share_of_core(|| write_events(lab, store))?;
    let memory = tui.memory()?;
    let (starts, keys) = (Samples::new(starts), Samples::new(keys));
    let at = |what: &str| format!("{what} at {}", grouped(store.size));
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let idle_about = "How much of a core `pn tui` uses while nothing happens";
    let busy_about = "The same while a daemon writes 100 events in a second to its store";
    Ok(vec![
        ReportRow::limited(
            at("first screen"),
            starts.describe(),
            starts.median(),
            Some((most, " ms")),
            "From the start of `pn tui` as a process in a window of 80×24 until an issue is drawn",
        ),
        ReportRow::limited(
            at("a key"),
            keys.describe(),
            keys.median(),
            Some((16.0, " ms")),
            "From a key that moves the cursor until the frame that shows it begins",
        ),
        ReportRow::limited(at("idle"), percent(idle), idle * 100.0, Some((1.0, " %")), idle_about),
        ReportRow::limited(
            at("100 events a second"),
            percent(busy),
            busy * 100.0,
            (!is_large).then_some((20.0, " %")),
            busy_about,
        ),
        ReportRow::limited(
            at("memory"),
            format!("{memory:.1} MB"),
            memory,
            is_large.then_some((150.0, " MB")),
            "The most memory that `pn tui` had resident during all this",
        ),
    ])
}

/// Comments on an issue, 25 at once, four times a second.
fn write_events(lab: &Lab, store: &BenchProject) -> Result {
    let daemon = BenchServer::daemon(lab, store)?;
    let mut writer = KeptAliveConnection::open(daemon.address)?;
    let issue = json!({"title": "talked about", "issue_type": "task"});
    let made: Value = serde_json::from_slice(writer.ask(&load::post(daemon.address, "/issues", &issue))?)?;
    let said = json!({"op": "comment.add", "id": made["id"], "text": "as long as what agents say to each other"});
    let batch = load::post(daemon.address, "/batch", &json!({"operations": vec![&said; AT_ONCE]}));
    let (start, mut due) = (Instant::now(), Instant::now());
    while start.elapsed() < WATCHED {
        writer.ask(&batch)?;
        due += PAUSE;
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    daemon.stop()
}

/// A running `pn tui`, and what it draws.
struct TuiProcess {
    child: Child,
    keys: File,
    drawn: Receiver<(Instant, Vec<u8>)>,
}

impl TuiProcess {
    /// Starts it. Returns how long it took until an issue was drawn.
    fn start(lab: &Lab, store: &BenchProject) -> Result<(Self, Duration)> {
        let pty = Pty::open(24, 80)?;
        let tui = lab.pn(store, &["tui"]);
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(tui.get_program()).args(tui.get_args()).current_dir(&store.dir);
        command.env_clear().envs(tui.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let start = Instant::now();
        let child = pty.spawn(command.env("TERM", "xterm-256color"))?;
        let mut screen = pty.keys.try_clone()?;
        let (sender, drawn) = mpsc::channel();
        thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(count @ 1..) = screen.read(&mut buffer) {
                if sender.send((Instant::now(), buffer[..count].to_vec())).is_err() {
                    return;
                }
            }
        });
        let running = Self { child, keys: pty.keys, drawn };
        let mut shown = Vec::new();
        loop {
            let (at, part) = running.next()?;
            shown.extend(part);
            if shown.windows(3).any(|id| id == b"pn-") {
                return Ok((running, at - start));
            }
        }
    }

    fn next(&self) -> Result<(Instant, Vec<u8>)> {
        self.drawn.recv_timeout(PATIENCE).map_err(|_| "pn tui draws nothing".into())
    }

    /// Waits until nothing more is drawn.
    fn settle(&self) -> Result {
        while self.drawn.recv_timeout(QUIET).is_ok() {}
        Ok(())
    }

    /// Returns how long the answer to a key takes.
    fn press(&mut self, key: &[u8]) -> Result<Duration> {
        let pressed = Instant::now();
        self.keys.write_all(key)?;
        Ok(self.next()?.0 - pressed)
    }

    /// The share of one core that it uses meanwhile.
    fn share_of_core(&self, meanwhile: impl FnOnce() -> Result) -> Result<f64> {
        let (before, start) = (cpu::of_process(self.child.id())?, Instant::now());
        meanwhile()?;
        Ok((cpu::of_process(self.child.id())? - before) / start.elapsed().as_secs_f64())
    }

    /// The most memory that it had resident, in MB.
    fn memory(&self) -> Result<f64> {
        machine::megabytes(self.child.id(), "VmHWM")
    }
}

impl Drop for TuiProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
