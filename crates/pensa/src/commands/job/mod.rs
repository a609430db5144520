//! `pn job`: what needs this machine is done here, the rest is passed on.

mod exec;
mod queue;
mod settle;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use pensa_client::Client;
use pensa_core::id::JobRef;
use pensa_core::job::{Collected, Job as Record, Lane, Limits, Size};
use pensa_core::ops::job::{About, Cancel, Show, Start};
use pensa_core::{Code, Error, Result, Span};
use pensa_host as host;
use pensa_host::supervised::{self, Kind, Supervised};
use pensa_redact::{Redactor, Stream};
use rustix::process::Signal;

use crate::cli::{Job, JobCancel, JobFinish, JobShow, JobStart, Options};
use crate::output::Output;

use crate::connect;

pub(crate) use settle::settle;

/// How long a job may take to be told as over once its command is gone.
const TELLING: Duration = Duration::from_secs(3);

pub(super) fn run(options: &Options, output: Output, command: Job) -> Result<()> {
    match command {
        Job::Exec(args) => exec::run(options, output, *args),
        Job::Start(args) => start(options, output, *args),
        Job::Finish(args) => settled(options, |client| finish(options, client, output, args)),
        Job::List(op) => settled(options, |client| output.answer(&client.call(&op)?)),
        Job::Show(args) => settled(options, |client| show(client, output, &args)),
        Job::Cancel(args) => settled(options, |client| cancel(client, output, &args)),
        Job::Stats(op) => settled(options, |client| output.answer(&client.call(&op)?)),
    }
}

/// Does something after the jobs of this machine whose processes are gone have been given up.
fn settled(options: &Options, work: impl FnOnce(&Client) -> Result<()>) -> Result<()> {
    let client = connect::client_for_agents(options)?;
    settle(&client)?;
    work(&client)
}

/// The limits of a lane, with a time limit of one's own.
fn limits(options: &Options, lane: &Lane, timeout: Option<Span>) -> Result<Limits> {
    let limits = connect::config(options)?.limits(lane)?;
    let limits = Limits { timeout: timeout.unwrap_or(limits.timeout), ..limits };
    limits.check()?;
    Ok(limits)
}

/// Says what the surroundings tell about a job.
fn surrounded(about: &mut About, command: &[std::ffi::OsString]) -> Result<()> {
    about.command = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    // A place that cannot be written down is left out.
    about.cwd = connect::cwd()?.to_str().filter(|dir| dir.chars().count() <= 500).map(str::to_owned);
    Ok(())
}

/// Asks for a slot. A run that only the surroundings name may be one of another store.
fn ask(client: &Client, mut start: Start) -> Result<Record> {
    let given = start.about.run.is_some();
    if !given {
        let named = connect::variable("PN_RUN").and_then(|name| name.into_string().ok());
        start.about.run = named.map(|name| name.parse()).transpose()?;
    }
    match client.call(&start) {
        Err(e) if e.code == Code::NotFound && !given && start.about.run.is_some() => {
            start.about.run = None;
            client.call(&start)
        }
        answer => answer,
    }
}

fn start(options: &Options, output: Output, args: JobStart) -> Result<()> {
    let JobStart { mut about, timeout, pid, command } = args;
    let limits = limits(options, &about.lane, timeout)?;
    surrounded(&mut about, &command)?;
    settled(options, |client| {
        let process = pid.and_then(|pid| u32::try_from(pid).ok()).map(host::process);
        let (slots, timeout, host) = (limits.slots, limits.timeout, Some(host::name()));
        queue::must_be_free(client, &about.lane, slots)?;
        let start = Start { about, slots, timeout, wait: None, host, process, supervisor: None };
        output.answer(&ask(client, start)?)
    })
}

fn finish(options: &Options, client: &Client, output: Output, args: JobFinish) -> Result<()> {
    let JobFinish { mut op, output: file, max_output } = args;
    if let Some(file) = file {
        let kept = read(&file, max_output, connect::redactor(options)?)?;
        let (text, truncated) = kept.text();
        op.output_bytes = op.output_bytes.or(Some(kept.total()));
        (op.output, op.truncated) = (Some(text), truncated);
    }
    output.answer(&client.call(&op)?)
}

/// What a file holds, as far as it is kept. Redacted before it is cut: a secret across the cut would survive in part.
fn read(file: &Path, limit: Size, redactor: Option<Redactor>) -> Result<Collected> {
    let unreadable = |e: io::Error| Error::invalid(format!("cannot read {}: {e}", file.display()));
    let mut from: Box<dyn Read> =
        if file == Path::new("-") { Box::new(io::stdin()) } else { Box::new(File::open(file).map_err(unreadable)?) };
    let (mut kept, mut buffer) = (Collected::new(limit), vec![0; 64 << 10]);
    let mut stream = redactor.map(Stream::new);
    loop {
        match from.read(&mut buffer) {
            Ok(0) => {
                kept.push(&stream.map(|mut stream| stream.finish()).unwrap_or_default());
                return Ok(kept);
            }
            Ok(count) => match &mut stream {
                Some(stream) => kept.push(&stream.push(&buffer[..count])),
                None => kept.push(&buffer[..count]),
            },
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(unreadable(e)),
        }
    }
}

fn show(client: &Client, output: Output, args: &JobShow) -> Result<()> {
    let job = client.call(&args.op)?;
    if args.output && !output.is_json() {
        return output.raw(job.output.unwrap_or_default().as_bytes());
    }
    output.answer(&job)
}

fn cancel(client: &Client, output: Output, args: &JobCancel) -> Result<()> {
    let told = client.call(&Cancel { id: args.id.clone() })?;
    let is_here = told.host.as_deref() == Some(&host::name());
    if told.status.is_over() || !is_here {
        return output.answer(&told);
    }
    if let Some(noted) = supervised::find(Kind::Job, told.id.as_str()) {
        end_command(&noted, Duration::from_millis(args.grace.as_millis().unsigned_abs()));
    }
    output.answer(&over(client, &told)?)
}

/// Ends a command that this user supervises on this machine, with all that it started.
fn end_command(noted: &Supervised, grace: Duration) {
    noted.signal_all(Signal::TERM);
    let deadline = Instant::now() + grace;
    while noted.is_running() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    if noted.is_running() {
        noted.signal_all(Signal::KILL);
    }
}

/// A job that is about to be over, once it is; whoever looks after it may take a moment.
fn over(client: &Client, job: &Record) -> Result<Record> {
    let supervisor = job.supervisor.as_ref().filter(|process| host::is_alive(process));
    let deadline = Instant::now() + supervisor.map_or(Duration::ZERO, |_| TELLING);
    loop {
        let shown = client.call(&Show { id: JobRef::from(&job.id) })?;
        if shown.status.is_over() || Instant::now() >= deadline {
            return Ok(shown);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
