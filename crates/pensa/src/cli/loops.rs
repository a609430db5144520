//! The flags of commands on loops, signals and locks.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pensa_core::Span;
use pensa_core::id::{LoopRef, SignalRef};
use pensa_core::ops::{lock, loops, signal};

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Loop {
    Create(LoopCreate),
    List(loops::List),
    Show(loops::Show),
    Tree(loops::Tree),
    Claim(loops::Claim),
    Start(loops::Start),
    Pause(loops::Pause),
    Resume(loops::Resume),
    Rebase(loops::Rebase),
    Iterate(LoopIterate),
    Submit(loops::Submit),
    Approve(LoopApprove),
    Reject(loops::Reject),
    Complete(loops::Complete),
    Fail(loops::Fail),
    Invalidate(loops::Invalidate),
    Archive(loops::Archive),
    #[command(subcommand)]
    Worktree(LoopWorktree),
}

/// Make or remove the git worktree that a loop works in
#[derive(Debug, Subcommand)]
pub(crate) enum LoopWorktree {
    Add(WorktreeAdd),
    Remove(WorktreeRemove),
}

/// Make the git worktree of a loop, local/worktrees/LOOP of the store, with a branch of its own
#[derive(Debug, Args)]
pub(crate) struct WorktreeAdd {
    /// Which loop: its id, or the beginning of it
    #[arg(value_name = "LOOP")]
    pub(crate) id: LoopRef,
    /// The branch that it works on, made if it is not there [default: loop/LOOP]
    #[arg(long, value_name = "BRANCH")]
    pub(crate) branch: Option<String>,
    /// What a new branch begins with [default: HEAD]
    #[arg(long, value_name = "COMMIT")]
    pub(crate) from: Option<String>,
}

/// Remove the git worktree of a loop; its branch stays
#[derive(Debug, Args)]
pub(crate) struct WorktreeRemove {
    /// Which loop: its id, or the beginning of it
    #[arg(value_name = "LOOP")]
    pub(crate) id: LoopRef,
    /// Also if it has changes that are not committed
    #[arg(long)]
    pub(crate) force: bool,
}

/// Create a loop; it can be claimed once its parent is complete
///
///   pn loop create --type plan --prompt-path prompts/plan.md --validation-command "make check-plan"
///   pn loop create -t code --parent lp-1a2b --prompt-path p.md --validation-command "cargo test" --context '{"n":1}'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct LoopCreate {
    #[command(flatten)]
    pub(crate) op: loops::Create,
    /// Whatever its prompts need, as JSON; - reads it from standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) context: Option<String>,
}

/// Begin the next iteration of a loop that runs: count it, and make its directory
///
/// The answer tells the directory, local/loops/ID/iterations/NNN of the store, which `current` beside it points to.
/// Files that are given are copied there; others can be written there later.
///
///   pn loop iterate lp-1a2b --prompt - --progress "parser done" < prompt.md
///   pn loop iterate lp-1a2b --conversation talk.jsonl --validation-log out.log --artifact plan.md
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct LoopIterate {
    #[command(flatten)]
    pub(crate) op: loops::Iterate,
    /// Its prompt, kept as prompt.md; - reads it from standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) prompt: Option<PathBuf>,
    /// What was said, kept as conversation.jsonl
    #[arg(long, value_name = "FILE")]
    pub(crate) conversation: Option<PathBuf>,
    /// What the validation command printed, kept as validation.log
    #[arg(long, value_name = "FILE")]
    pub(crate) validation_log: Option<PathBuf>,
    /// What the loop wrote, appended to local/loops/ID/stdout.log
    #[arg(long, value_name = "FILE")]
    pub(crate) stdout: Option<PathBuf>,
    /// What the loop complained about, appended to local/loops/ID/stderr.log
    #[arg(long, value_name = "FILE")]
    pub(crate) stderr: Option<PathBuf>,
    /// A file that came of it, kept in artifacts/; may be given again
    #[arg(long = "artifact", value_name = "FILE")]
    pub(crate) artifacts: Vec<PathBuf>,
}

/// Approve what a loop has made, and create the loops that follow from it: all of that, or nothing
///
/// Each child is a JSON object, one a line or in a list:
///
///   {"type":"spec","prompt_path":"prompts/spec.md","validation_command":"make check","context":{"part":1}}
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct LoopApprove {
    #[command(flatten)]
    pub(crate) op: loops::Approve,
    /// Loops to create below it, as JSON; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) children: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Signal {
    Send(SignalSend),
    List(signal::List),
    Show(signal::Show),
    Ack(signal::Ack),
    Wait(SignalWait),
    Prune(signal::Prune),
}

/// Send a signal to a loop, an agent or a run, or to all loops that a selector means just now
///
/// descendants:LOOP, children:LOOP, type:TYPE and status:STATUS are selectors. Loops that are over or archived are only
/// meant by a status that names them.
///
///   pn signal send --type rebase --to children:lp-1a2b --reason "main has moved"
///   pn signal send --type stop --to type:code --payload '{"after":"this iteration"}'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct SignalSend {
    #[command(flatten)]
    pub(crate) op: signal::Send,
    /// Whatever else they need, as JSON; - reads it from standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) payload: Option<String>,
}

/// Wait until all recipients have acknowledged a signal
///
///   pn signal wait sg-1a2b --all-acked --timeout 60s
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct SignalWait {
    /// Which signal: its id, or the beginning of it
    #[arg(value_name = "SIGNAL")]
    pub(crate) id: SignalRef,
    /// Wait for every recipient, which is what it does anyway
    #[arg(long)]
    pub(crate) all_acked: bool,
    /// How long at most: 30s, 15m, 12h, 1d
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) timeout: Span,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Lock {
    Acquire(LockAcquire),
    Release(lock::Release),
    Status(lock::Status),
    List(lock::List),
}

/// Acquire a lock, or renew it with the token that acquiring it has told
///
///   pn lock acquire merge --ttl 60s --wait 30s
///   pn lock acquire merge --token TOKEN
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct LockAcquire {
    #[command(flatten)]
    pub(crate) op: lock::Acquire,
    /// How long to wait for it if another holds it: 30s, 15m, 12h, 1d
    #[arg(long, value_name = "TIME")]
    pub(crate) wait: Option<Span>,
}
