//! `pn loop`: manages loops; adds files to iterations, and records which process on this machine runs a loop.

use std::fs::File;
use std::io::Read;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use pensa_core::loops::files::{ARTIFACTS, CONVERSATION, IterationFile, PROMPT, STDERR, STDOUT, VALIDATION};
use pensa_core::loops::{Branch, Loop};
use pensa_core::ops::loops::{self, Approved, Create, Invalidated, Iterate, Iterated};
use pensa_core::{Code, Error, Op, Result};
use pensa_host as host;
use serde_json::Value;

use super::worktree::LoopWorktreeCommand;
use super::{run_op, stdin, worktree};
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{ListItem, Render, Screen, field, when};

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum LoopCommand {
    Create(LoopCreateArgs),
    List(loops::List),
    Show(loops::Show),
    Tree(loops::Tree),
    Claim(loops::Claim),
    Start(loops::Start),
    Pause(loops::Pause),
    Resume(loops::Resume),
    Rebase(loops::Rebase),
    Iterate(LoopIterateArgs),
    Submit(loops::Submit),
    Approve(LoopApproveArgs),
    Reject(loops::Reject),
    Complete(loops::Complete),
    Fail(loops::Fail),
    Invalidate(loops::Invalidate),
    Archive(loops::Archive),
    #[command(subcommand)]
    Worktree(LoopWorktreeCommand),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  pn loop create --type plan --prompt-path prompts/plan.md --validation-command \"make check-plan\"
  pn loop create -t code --parent lp-1a2b --prompt-path p.md --validation-command \"cargo test\"")]
pub(crate) struct LoopCreateArgs {
    #[command(flatten)]
    pub(crate) op: Create,
    /// Values for its prompts, as JSON; - reads it from standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) context: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  pn loop iterate lp-1a2b --prompt - --progress \"parser done\" < prompt.md
  pn loop iterate lp-1a2b --conversation talk.jsonl --validation-log out.log --artifact plan.md")]
pub(crate) struct LoopIterateArgs {
    #[command(flatten)]
    pub(crate) op: Iterate,
    /// Its prompt, stored as prompt.md; - reads it from standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) prompt: Option<PathBuf>,
    /// The conversation, stored as conversation.jsonl
    #[arg(long, value_name = "FILE")]
    pub(crate) conversation: Option<PathBuf>,
    /// The output of the validation command, stored as validation.log
    #[arg(long, value_name = "FILE")]
    pub(crate) validation_log: Option<PathBuf>,
    /// Standard output of the loop, appended to local/loops/ID/stdout.log
    #[arg(long, value_name = "FILE")]
    pub(crate) stdout: Option<PathBuf>,
    /// Standard error of the loop, appended to local/loops/ID/stderr.log
    #[arg(long, value_name = "FILE")]
    pub(crate) stderr: Option<PathBuf>,
    /// A file that it produced, stored in artifacts/; may be repeated
    #[arg(long = "artifact", value_name = "FILE")]
    pub(crate) artifacts: Vec<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Each child is a JSON object, one a line or in a list:
  {\"type\":\"spec\",\"prompt_path\":\"spec.md\",\"validation_command\":\"make check\"}")]
pub(crate) struct LoopApproveArgs {
    #[command(flatten)]
    pub(crate) op: loops::Approve,
    /// The child loops to create, as JSON; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) children: Option<PathBuf>,
}

/// The most bytes of a file with child loops.
const CHILDREN_BYTES: usize = 16 << 20;

pub(super) fn run(options: &GlobalOptions, output: Output, command: LoopCommand) -> Result<()> {
    match command {
        LoopCommand::Create(args) => create(options, output, args),
        LoopCommand::List(op) => run_op(options, output, &op),
        LoopCommand::Show(op) => run_op(options, output, &op),
        LoopCommand::Tree(op) => run_op(options, output, &op),
        LoopCommand::Claim(mut op) => {
            (op.host, op.pid) = runner(op.pid);
            run_op(options, output, &op)
        }
        LoopCommand::Start(mut op) => {
            (op.host, op.pid) = runner(op.pid);
            run_op(options, output, &op)
        }
        LoopCommand::Resume(mut op) => {
            (op.host, op.pid) = runner(op.pid);
            run_op(options, output, &op)
        }
        LoopCommand::Pause(op) => run_op(options, output, &op),
        LoopCommand::Rebase(op) => run_op(options, output, &op),
        LoopCommand::Iterate(args) => iterate(options, output, args),
        LoopCommand::Submit(op) => run_op(options, output, &op),
        LoopCommand::Approve(args) => approve(options, output, args),
        LoopCommand::Reject(op) => run_op(options, output, &op),
        LoopCommand::Complete(op) => run_op(options, output, &op),
        LoopCommand::Fail(op) => run_op(options, output, &op),
        LoopCommand::Invalidate(op) => run_op(options, output, &op),
        LoopCommand::Archive(op) => run_op(options, output, &op),
        LoopCommand::Worktree(command) => worktree::run(options, output, command),
    }
}

/// Host and process of a loop's runner: by default the parent process, because `pn` itself exits soon.
fn runner(given: Option<i64>) -> (Option<String>, Option<i64>) {
    (Some(host::name()), given.or_else(|| Some(i64::from(parent_id()))))
}

fn create(options: &GlobalOptions, output: Output, args: LoopCreateArgs) -> Result<()> {
    let LoopCreateArgs { mut op, mut context } = args;
    stdin::fill(&mut context)?;
    op.context = context.map(|text| any_json("context", &text)).transpose()?;
    run_op(options, output, &op)
}

/// Parses JSON of any type; `what` names it in the error.
pub(super) fn any_json(what: &str, text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|e| Error::invalid(format!("{what} is not JSON: {e}")))
}

fn iterate(options: &GlobalOptions, output: Output, args: LoopIterateArgs) -> Result<()> {
    let LoopIterateArgs { mut op, prompt, conversation, validation_log, stdout, stderr, artifacts } = args;
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

/// Reads a file, or standard input for `-`.
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

fn approve(options: &GlobalOptions, output: Output, args: LoopApproveArgs) -> Result<()> {
    let LoopApproveArgs { mut op, children } = args;
    if let Some(file) = children {
        let bytes = read(&file, CHILDREN_BYTES)?;
        let text = String::from_utf8(bytes).map_err(|_| Error::invalid(format!("{} is not UTF-8", file.display())))?;
        op.children = parse_children(&text)?;
    }
    run_op(options, output, &op)
}

/// Parses child loops: JSON objects one after another, or in lists.
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

fn loop_line(one: &Loop, screen: &mut Screen) {
    screen.id(&one.id).plain(&format!(" {:<17} {:<5} ", one.status, one.loop_type)).text(&one.prompt_path);
    screen.plain(&format!(" {}/{}", one.iteration, one.max_iterations));
    if let Some(holder) = &one.holder {
        screen.plain(" ").faint(&format!("@{holder}"));
    }
    screen.end();
}

impl Render for Loop {
    fn render(&self, screen: &mut Screen) {
        loop_line(self, screen);
        field(screen, "progress", Some(self.progress.clone()).filter(|progress| !progress.is_empty()));
        field(screen, "reason", self.reason.clone());
        field(screen, "parent", self.parent_id.as_ref().map(ToString::to_string));
        field(screen, "issue", self.issue_id.as_ref().map(ToString::to_string));
        field(screen, "validation", Some(self.validation_command.clone()));
        field(screen, "worktree", Some(self.worktree.clone()));
        field(screen, "archived", self.archived_at.map(when));
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl ListItem for Loop {
    const NOUN: [&str; 2] = ["loop", "loops"];

    fn render_item(&self, screen: &mut Screen) {
        loop_line(self, screen);
    }

    fn item_ids(&self) -> Vec<String> {
        Render::ids(self)
    }
}

impl Render for Option<Loop> {
    fn render(&self, screen: &mut Screen) {
        match self {
            Some(one) => one.render(screen),
            None => screen.plain("no loop can be run; pn loop list lists them").end(),
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().flat_map(Render::ids).collect()
    }
}

/// The most levels of indentation.
const MAX_INDENT: usize = 20;

impl Render for Vec<Branch> {
    fn render(&self, screen: &mut Screen) {
        for Branch { depth, node } in self {
            screen.plain(&"  ".repeat(*depth.min(&MAX_INDENT)));
            loop_line(node, screen);
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().flat_map(|branch| branch.node.ids()).collect()
    }
}

impl Render for Iterated {
    fn render(&self, screen: &mut Screen) {
        loop_line(&self.subject, screen);
        field(screen, "directory", self.directory.clone());
    }

    fn ids(&self) -> Vec<String> {
        self.subject.ids()
    }
}

impl Render for Approved {
    fn render(&self, screen: &mut Screen) {
        loop_line(&self.subject, screen);
        for child in &self.children {
            screen.plain("  ");
            loop_line(child, screen);
        }
    }

    fn ids(&self) -> Vec<String> {
        self.children.ids()
    }
}

impl Render for Invalidated {
    fn render(&self, screen: &mut Screen) {
        loop_line(&self.subject, screen);
        let ids: Vec<&str> = self.invalidated.iter().map(|id| id.as_str()).collect();
        field(screen, "invalidated", Some(ids.join(" ")).filter(|ids| !ids.is_empty()));
        field(screen, "signal", self.signal.as_ref().map(|signal| signal.id.to_string()));
    }

    fn ids(&self) -> Vec<String> {
        self.invalidated.iter().map(ToString::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_may_be_a_list_or_lines() {
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
