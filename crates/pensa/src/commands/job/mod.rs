//! `pn job`: runs, queues and cancels commands on this machine, and reports on jobs.

mod args;
mod exec;
mod queue;
mod reconcile;
mod render;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use args::{JobCancelArgs, JobFinishArgs, JobShowArgs, JobStartArgs};
use pensa_client::Client;
use pensa_core::id::JobRef;
use pensa_core::job::{ByteSize, CapturedOutput, Job as JobRecord, Lane, LaneLimits};
use pensa_core::ops::job::{Cancel, JobSpec, Show, Start};
use pensa_core::{Code, Error, Result, Span};
use pensa_host as host;
use pensa_host::supervised::{self, Supervised, SupervisedKind};
use pensa_redact::{RedactingStream, Redactor};
use rustix::process::Signal;

use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;

pub(crate) use args::JobCommand;
pub(crate) use reconcile::reconcile;

/// How long to wait for the supervisor to record the end of a cancelled job.
const REPORT_TIMEOUT: Duration = Duration::from_secs(3);

pub(super) fn run(options: &GlobalOptions, output: Output, command: JobCommand) -> Result<()> {
    match command {
        JobCommand::Exec(args) => exec::run(options, output, *args),
        JobCommand::Start(args) => start(options, output, *args),
        JobCommand::Finish(args) => after_reconcile(options, |client| finish(options, client, output, args)),
        JobCommand::List(op) => after_reconcile(options, |client| output.answer(&client.call(&op)?)),
        JobCommand::Show(args) => after_reconcile(options, |client| show(client, output, &args)),
        JobCommand::Cancel(args) => after_reconcile(options, |client| cancel(client, output, &args)),
        JobCommand::Stats(op) => after_reconcile(options, |client| output.answer(&client.call(&op)?)),
    }
}

/// Fails the jobs of this machine whose processes are gone, then runs `work`.
fn after_reconcile(options: &GlobalOptions, work: impl FnOnce(&Client) -> Result<()>) -> Result<()> {
    let client = connect::client_for_agents(options)?;
    reconcile(&client)?;
    work(&client)
}

/// The limits of a lane, with the given time limit if there is one.
fn limits(options: &GlobalOptions, lane: &Lane, timeout: Option<Span>) -> Result<LaneLimits> {
    let limits = connect::config(options)?.limits(lane)?;
    let limits = LaneLimits { timeout: timeout.unwrap_or(limits.timeout), ..limits };
    limits.check()?;
    Ok(limits)
}

/// Adds command and directory to the description of a job.
fn fill_from_environment(about: &mut JobSpec, command: &[std::ffi::OsString]) -> Result<()> {
    about.command = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    // A path that is not UTF-8 or too long is left out.
    about.cwd = connect::cwd()?.to_str().filter(|dir| dir.chars().count() <= 500).map(str::to_owned);
    Ok(())
}

/// Starts or queues a job. A run named only by `PN_RUN` may belong to another store; then the job gets no run.
fn start_job(client: &Client, mut start: Start) -> Result<JobRecord> {
    let given = start.about.run.is_some();
    if !given {
        let named = connect::env_var("PN_RUN").and_then(|name| name.into_string().ok());
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

fn start(options: &GlobalOptions, output: Output, args: JobStartArgs) -> Result<()> {
    let JobStartArgs { mut about, timeout, pid, command } = args;
    let limits = limits(options, &about.lane, timeout)?;
    fill_from_environment(&mut about, &command)?;
    after_reconcile(options, |client| {
        let process = pid.and_then(|pid| u32::try_from(pid).ok()).map(host::process);
        let (slots, timeout, host) = (limits.slots, limits.timeout, Some(host::name()));
        queue::require_free_slot(client, &about.lane, slots)?;
        let start = Start { about, slots, timeout, wait: None, host, process, supervisor: None };
        output.answer(&start_job(client, start)?)
    })
}

fn finish(options: &GlobalOptions, client: &Client, output: Output, args: JobFinishArgs) -> Result<()> {
    let JobFinishArgs { mut op, output: file, max_output } = args;
    if let Some(file) = file {
        let collected = read(&file, max_output, connect::redactor(options)?)?;
        let (text, truncated) = collected.text();
        op.output_bytes = op.output_bytes.or(Some(collected.total()));
        (op.output, op.truncated) = (Some(text), truncated);
    }
    output.answer(&client.call(&op)?)
}

/// Reads a file up to a limit. Redacts before truncating: a secret at the cut would survive in part.
fn read(file: &Path, limit: ByteSize, redactor: Option<Redactor>) -> Result<CapturedOutput> {
    let unreadable = |e: io::Error| Error::invalid(format!("cannot read {}: {e}", file.display()));
    let mut from: Box<dyn Read> =
        if file == Path::new("-") { Box::new(io::stdin()) } else { Box::new(File::open(file).map_err(unreadable)?) };
    let (mut collected, mut buffer) = (CapturedOutput::new(limit), vec![0; 64 << 10]);
    let mut stream = redactor.map(RedactingStream::new);
    loop {
        match from.read(&mut buffer) {
            Ok(0) => {
                collected.push(&stream.map(|mut stream| stream.finish()).unwrap_or_default());
                return Ok(collected);
            }
            Ok(count) => match &mut stream {
                Some(stream) => collected.push(&stream.push(&buffer[..count])),
                None => collected.push(&buffer[..count]),
            },
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(unreadable(e)),
        }
    }
}

fn show(client: &Client, output: Output, args: &JobShowArgs) -> Result<()> {
    let job = client.call(&args.op)?;
    if args.output && !output.is_json() {
        return output.raw(job.output.unwrap_or_default().as_bytes());
    }
    output.answer(&job)
}

fn cancel(client: &Client, output: Output, args: &JobCancelArgs) -> Result<()> {
    let cancelled = client.call(&Cancel { id: args.id.clone() })?;
    let is_here = cancelled.host.as_deref() == Some(&host::name());
    if cancelled.status.is_over() || !is_here {
        return output.answer(&cancelled);
    }
    if let Some(supervised_job) = supervised::find(SupervisedKind::Job, cancelled.id.as_str()) {
        end_command(&supervised_job, Duration::from_millis(args.grace.as_millis().unsigned_abs()));
    }
    output.answer(&wait_until_over(client, &cancelled)?)
}

/// Ends a command that this user supervises on this machine, with all its child processes.
fn end_command(supervised_job: &Supervised, grace: Duration) {
    supervised_job.signal_all(Signal::TERM);
    let deadline = Instant::now() + grace;
    while supervised_job.is_running() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    if supervised_job.is_running() {
        supervised_job.signal_all(Signal::KILL);
    }
}

/// Waits until the supervisor has recorded the end of a job, and returns the job.
fn wait_until_over(client: &Client, job: &JobRecord) -> Result<JobRecord> {
    let supervisor = job.supervisor.as_ref().filter(|process| host::is_alive(process));
    let deadline = Instant::now() + supervisor.map_or(Duration::ZERO, |_| REPORT_TIMEOUT);
    loop {
        let shown = client.call(&Show { id: JobRef::from(&job.id) })?;
        if shown.status.is_over() || Instant::now() >= deadline {
            return Ok(shown);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
