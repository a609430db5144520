//! `pn lock`: acquires, releases and shows named locks.

use clap::{Args, Subcommand};
use pensa_core::lock::Lock;
use pensa_core::ops::lock;
use pensa_core::{Code, Error, Result, Span};

use super::poll::PollBackoff;
use super::run_op;
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{ListItem, Render, Screen, field};

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum LockCommand {
    Acquire(LockAcquireArgs),
    Release(lock::Release),
    Status(lock::Status),
    List(lock::List),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  pn lock acquire merge --ttl 60s --wait 30s\n  pn lock acquire merge --token TOKEN"
)]
pub(crate) struct LockAcquireArgs {
    #[command(flatten)]
    pub(crate) op: lock::Acquire,
    /// How long to wait while another holds it: 30s, 15m, 12h, 1d
    #[arg(long, value_name = "TIME")]
    pub(crate) wait: Option<Span>,
}

pub(super) fn run(options: &GlobalOptions, output: Output, command: LockCommand) -> Result<()> {
    match command {
        LockCommand::Acquire(args) => acquire(options, output, &args),
        LockCommand::Release(op) => run_op(options, output, &op),
        LockCommand::Status(op) => run_op(options, output, &op),
        LockCommand::List(op) => run_op(options, output, &op),
    }
}

fn acquire(options: &GlobalOptions, output: Output, args: &LockAcquireArgs) -> Result<()> {
    let client = connect::client(options)?;
    let mut backoff = args.wait.map(PollBackoff::new);
    loop {
        match (client.call(&args.op), &mut backoff) {
            (Err(held), Some(backoff)) if held.code == Code::AlreadyClaimed => {
                if !backoff.sleep() {
                    let waited = args.wait.map(|waited| waited.to_string()).unwrap_or_default();
                    return Err(Error::new(Code::Timeout, format!("after {waited} {}", held.message))
                        .hint("wait longer, or check whether the holder still runs"));
                }
            }
            (done, _) => return output.answer(&done?),
        }
    }
}

impl Render for Lock {
    fn render(&self, screen: &mut Screen) {
        screen.text(&self.name).plain(&format!(" {} ", self.fencing));
        match (&self.holder, self.expires_at) {
            (Some(holder), Some(end)) => screen.plain("held by ").text(holder).plain(&format!(" until {end}")).end(),
            _ => screen.plain("free").end(),
        }
        field(screen, "token", self.token.clone());
    }

    /// The fencing number, which scripts pass to what the lock protects.
    fn ids(&self) -> Vec<String> {
        vec![self.fencing.to_string()]
    }
}

impl ListItem for Lock {
    const NOUN: [&str; 2] = ["lock", "locks"];

    fn render_item(&self, screen: &mut Screen) {
        self.render(screen);
    }

    fn item_ids(&self) -> Vec<String> {
        vec![self.name.to_string()]
    }
}
