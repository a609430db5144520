//! `pn loop`, `pn signal` and `pn lock`: what they need of this machine, and waiting; then the operation.

use std::fs::File;
use std::io::Read;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use pensa_core::loops::files::{ARTIFACTS, CONVERSATION, IterationFile, PROMPT, STDERR, STDOUT, VALIDATION};
use pensa_core::ops::loops::{Create, Iterate};
use pensa_core::ops::signal::{Show, Shown};
use pensa_core::{Code, Error, Op, Result, Span};
use pensa_host as host;
use serde_json::Value;

use super::{pass_on, stdin, worktree};
use crate::cli::{
    Lock, LockAcquire, Loop, LoopApprove, LoopCreate, LoopIterate, Options, Signal, SignalSend, SignalWait,
};
use crate::connect;
use crate::output::Output;

/// How long after a look at a lock or a signal the next follows, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(250));
/// Largest file of children.
const CHILDREN_BYTES: usize = 16 << 20;
/// Most of those who are missing that an error names.
const NAMED: usize = 20;

pub(super) fn run(options: &Options, output: Output, command: Loop) -> Result<()> {
    match command {
        Loop::Create(args) => create(options, output, args),
        Loop::List(op) => pass_on(options, output, &op),
        Loop::Show(op) => pass_on(options, output, &op),
        Loop::Tree(op) => pass_on(options, output, &op),
        Loop::Claim(mut op) => {
            (op.host, op.pid) = runner(op.pid);
            pass_on(options, output, &op)
        }
        Loop::Start(mut op) => {
            (op.host, op.pid) = runner(op.pid);
            pass_on(options, output, &op)
        }
        Loop::Resume(mut op) => {
            (op.host, op.pid) = runner(op.pid);
            pass_on(options, output, &op)
        }
        Loop::Pause(op) => pass_on(options, output, &op),
        Loop::Rebase(op) => pass_on(options, output, &op),
        Loop::Iterate(args) => iterate(options, output, args),
        Loop::Submit(op) => pass_on(options, output, &op),
        Loop::Approve(args) => approve(options, output, args),
        Loop::Reject(op) => pass_on(options, output, &op),
        Loop::Complete(op) => pass_on(options, output, &op),
        Loop::Fail(op) => pass_on(options, output, &op),
        Loop::Invalidate(op) => pass_on(options, output, &op),
        Loop::Archive(op) => pass_on(options, output, &op),
        Loop::Worktree(command) => worktree::run(options, output, command),
    }
}

/// The machine, and the process that runs a loop: whoever calls `pn`, which itself is soon gone.
fn runner(given: Option<i64>) -> (Option<String>, Option<i64>) {
    (Some(host::name()), given.or_else(|| Some(i64::from(parent_id()))))
}

fn create(options: &Options, output: Output, args: LoopCreate) -> Result<()> {
    let LoopCreate { mut op, mut context } = args;
    stdin::fill(&mut context)?;
    op.context = context.map(|text| any_json("context", &text)).transpose()?;
    pass_on(options, output, &op)
}

fn any_json(what: &str, text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|e| Error::invalid(format!("{what} is not JSON: {e}")))
}

fn iterate(options: &Options, output: Output, args: LoopIterate) -> Result<()> {
    let LoopIterate { mut op, prompt, conversation, validation_log, stdout, stderr, artifacts } = args;
    // Logs are kept byte by byte; a text on standard input loses its last line break.
    let raw = |file: PathBuf| if file.as_os_str() == "-" { PathBuf::from("/dev/stdin") } else { file };
    let written = [(STDOUT, stdout.map(raw)), (STDERR, stderr.map(raw))];
    let named =
        [(PROMPT, prompt), (CONVERSATION, conversation), (VALIDATION, validation_log)].into_iter().chain(written);
    let mut left = Iterate::MAX_BODY / 2;
    let mut add = |path: String, file: &Path| {
        let bytes = read(file, left)?;
        left -= bytes.len();
        op.files.push(IterationFile::new(path, bytes));
        Ok(())
    };
    for (name, file) in named {
        file.map_or(Ok(()), |file| add(name.to_owned(), &file))?;
    }
    for file in artifacts {
        let name = file.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| Error::invalid(format!("{} has no name that is text", file.display())))?;
        add(format!("{ARTIFACTS}/{name}"), &file)?;
    }
    let done = connect::client(options)?.call(&op)?;
    output.answer(&done)?;
    if let Some(why) = &done.no_directory {
        output.note(&format!("note: {why}"));
    }
    Ok(())
}

/// What a file holds, or standard input.
fn read(file: &Path, most: usize) -> Result<Vec<u8>> {
    if file.as_os_str() == "-" {
        return stdin::read_within(most).map(String::into_bytes);
    }
    let failed = |e: &std::io::Error| {
        let code = if e.kind() == std::io::ErrorKind::NotFound { Code::NotFound } else { Code::InvalidInput };
        Error::new(code, format!("cannot read {}: {e}", file.display()))
    };
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(|e| failed(&e))?;
    opened.take(most as u64 + 1).read_to_end(&mut bytes).map_err(|e| failed(&e))?;
    if bytes.len() > most {
        let message = format!("{} and what is given with it have too many bytes", file.display());
        return Err(Error::new(Code::TooLarge, message).hint("write it into the directory of the iteration yourself"));
    }
    Ok(bytes)
}

fn approve(options: &Options, output: Output, args: LoopApprove) -> Result<()> {
    let LoopApprove { mut op, children } = args;
    if let Some(file) = children {
        let bytes = read(&file, CHILDREN_BYTES)?;
        let text = String::from_utf8(bytes).map_err(|_| Error::invalid(format!("{} is not UTF-8", file.display())))?;
        op.children = parse_children(&text)?;
    }
    pass_on(options, output, &op)
}

/// Children, one a line or in a list.
fn parse_children(text: &str) -> Result<Vec<Create>> {
    let mut values = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        match value.map_err(|e| Error::invalid(format!("the children are not JSON: {e}")))? {
            Value::Array(some) => values.extend(some),
            one => values.push(one),
        }
    }
    let child = |(at, value): (usize, Value)| {
        serde_json::from_value(value).map_err(|e| Error::invalid(format!("child {}: {e}", at + 1)))
    };
    values.into_iter().enumerate().map(child).collect()
}

pub(super) fn signal(options: &Options, output: Output, command: Signal) -> Result<()> {
    match command {
        Signal::Send(SignalSend { mut op, mut payload }) => {
            stdin::fill(&mut payload)?;
            op.payload = payload.map(|text| any_json("payload", &text)).transpose()?;
            pass_on(options, output, &op)
        }
        Signal::List(op) => pass_on(options, output, &op),
        Signal::Show(op) => pass_on(options, output, &op),
        Signal::Ack(op) => pass_on(options, output, &op),
        Signal::Prune(op) => pass_on(options, output, &op),
        Signal::Wait(args) => wait(options, output, &args),
    }
}

/// Looks again and again, in pauses that grow.
struct Watch {
    end: Instant,
    pause: Duration,
}

impl Watch {
    fn new(most: Span) -> Self {
        let most = Duration::from_millis(u64::try_from(most.as_millis()).unwrap_or_default());
        Self { end: Instant::now() + most, pause: PAUSES.0 }
    }

    /// Waits a little; says whether there is time for another look.
    fn again(&mut self) -> bool {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        thread::sleep(self.pause.min(left));
        self.pause = (self.pause * 3 / 2).min(PAUSES.1);
        true
    }
}

fn wait(options: &Options, output: Output, args: &SignalWait) -> Result<()> {
    let client = connect::client(options)?;
    let mut watch = Watch::new(args.timeout);
    loop {
        let shown = client.call(&Show { id: args.id.clone() })?;
        if shown.signal.acknowledged_at.is_some() {
            return output.answer(&shown);
        }
        if !watch.again() {
            return Err(too_late(&shown, args.timeout));
        }
    }
}

fn too_late(shown: &Shown, waited: Span) -> Error {
    let Shown { signal, missing } = shown;
    let some = missing.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = if missing.len() > NAMED { format!(" and {} more", missing.len() - NAMED) } else { String::new() };
    let (count, of) = (missing.len(), signal.recipient_count);
    let message = format!("after {waited} {count} of {of} have not acknowledged {}: {some}{more}", signal.id);
    Error::new(Code::Timeout, message).hint("look whether they still run; pn signal wait can be done again")
}

pub(super) fn lock(options: &Options, output: Output, command: Lock) -> Result<()> {
    match command {
        Lock::Acquire(args) => acquire(options, output, &args),
        Lock::Release(op) => pass_on(options, output, &op),
        Lock::Status(op) => pass_on(options, output, &op),
        Lock::List(op) => pass_on(options, output, &op),
    }
}

fn acquire(options: &Options, output: Output, args: &LockAcquire) -> Result<()> {
    let client = connect::client(options)?;
    let mut watch = args.wait.map(Watch::new);
    loop {
        match (client.call(&args.op), &mut watch) {
            (Err(held), Some(watch)) if held.code == Code::AlreadyClaimed => {
                if !watch.again() {
                    let waited = args.wait.map(|waited| waited.to_string()).unwrap_or_default();
                    return Err(Error::new(Code::Timeout, format!("after {waited} {}", held.message))
                        .hint("wait longer, or look whether the holder still runs"));
                }
            }
            (done, _) => return output.answer(&done?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_stand_in_a_list_or_in_lines() {
        let child = r#"{"type":"code","prompt_path":"p","validation_command":"true"}"#;
        for text in [format!("{child}\n{child}\n"), format!("[{child},{child}]"), format!("[{child}]\n{child}")] {
            assert_eq!(parse_children(&text).expect("two").len(), 2, "{text}");
        }
        assert!(parse_children("").expect("none").is_empty());
        for bad in ["{", "7", "[[]]", r#"{"type":"code"}"#, r#"[{"type":"x"}]"#, &"[".repeat(100_000)] {
            assert!(parse_children(bad).is_err(), "{}", bad.len());
        }
    }
}
