//! `pn work`, `pn capture`, `pn next`, `pn ship` and `pn skill`: what they need of this machine, then the operation.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use pensa_core::ops::issue::{Create, Ready};
use pensa_core::ops::release::Ship;
use pensa_core::ops::skill::{Import, List};
use pensa_core::ops::work::{Current, Steps};
use pensa_core::{Code, Error, Result, json, skill};

use super::{context, create, pass_on, stdin};
use crate::cli::{Capture, Next, Options, Skill, Work, WorkArgs, WorkStep};
use crate::connect;
use crate::output::Output;

/// Largest file of skills, in bytes.
const FILE_BYTES: usize = 16 << 20;

pub(super) fn run(options: &Options, output: Output, args: WorkArgs) -> Result<()> {
    let Some(command) = args.command else {
        let client = connect::client(options)?;
        return output.answer(&client.call(&Current { actor: client.actor(), issue: None })?);
    };
    let done = change(options, output, command);
    if done.is_ok() {
        context::refresh(options, output);
    }
    done
}

fn change(options: &Options, output: Output, command: Work) -> Result<()> {
    match command {
        Work::Start(op) => pass_on(options, output, &op),
        Work::Pause(op) => pass_on(options, output, &op),
        Work::Resume(op) => pass_on(options, output, &op),
        Work::Done(mut op) => {
            stdin::fill(&mut op.reason)?;
            pass_on(options, output, &op)
        }
        Work::Step(WorkStep::Add(op)) => pass_on(options, output, &op),
        Work::Step(WorkStep::Done(op)) => pass_on(options, output, &op),
        Work::Step(WorkStep::List(op)) => {
            let client = connect::client(options)?;
            output.answer(&client.call(&Steps { actor: client.actor(), ..op })?)
        }
        Work::List(op) => pass_on(options, output, &op),
    }
}

pub(super) fn capture(options: &Options, output: Output, mut args: Capture) -> Result<()> {
    stdin::replace(&mut args.text)?;
    create(options, output, &Create::captured(&args.text))
}

pub(super) fn next(options: &Options, output: Output, args: &Next) -> Result<()> {
    pass_on(options, output, &Ready { limit: args.limit, ..Ready::default() })
}

pub(super) fn ship(options: &Options, output: Output, mut op: Ship) -> Result<()> {
    stdin::fill(&mut op.notes)?;
    let shipped = connect::client(options)?.call(&op)?;
    output.answer(&shipped)?;
    for id in &shipped.open {
        output.note(&format!("note: {id} is not closed"));
    }
    Ok(())
}

pub(super) fn skill(options: &Options, output: Output, command: Skill) -> Result<()> {
    match command {
        Skill::Set(op) => pass_on(options, output, &op),
        Skill::List(op) => pass_on(options, output, &op),
        Skill::Remove(op) => pass_on(options, output, &op),
        Skill::Export(args) => export(options, output, &args.file),
        Skill::Import(args) => pass_on(options, output, &Import { mappings: skill::parse(&document(&args.file)?)? }),
    }
}

/// Writes the skills as a document.
fn export(options: &Options, output: Output, file: &Path) -> Result<()> {
    let document = json::to_document(&connect::client(options)?.call(&List {})?)?;
    if file.as_os_str() == "-" {
        return output.line(document.trim_end());
    }
    context::put(file, &document, 0o666)?;
    output.answer(&context::Written { files: vec![file.to_owned()] })
}

/// What a file has, or standard input.
fn document(file: &Path) -> Result<String> {
    if file.as_os_str() == "-" {
        return stdin::read_within(FILE_BYTES);
    }
    let failed = |e: &std::io::Error| {
        let code = if e.kind() == std::io::ErrorKind::NotFound { Code::NotFound } else { Code::InvalidInput };
        Error::new(code, format!("cannot read {}: {e}", file.display()))
    };
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(|e| failed(&e))?;
    opened.take(FILE_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|e| failed(&e))?;
    if bytes.len() > FILE_BYTES {
        return Err(Error::new(Code::TooLarge, format!("{} has more than {FILE_BYTES} bytes", file.display())));
    }
    String::from_utf8(bytes).map_err(|_| Error::invalid(format!("{} is not UTF-8", file.display())))
}
