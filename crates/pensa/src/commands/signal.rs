//! `pn signal`: sends signals, lists them, and waits until all recipients have acknowledged.

use clap::{Args, Subcommand};
use pensa_core::id::SignalRef;
use pensa_core::ops::signal::{self, Acked, Pruned, SentSignal, Show, SignalDetail};
use pensa_core::signal::Signal;
use pensa_core::{Code, Error, Result, Span};

use super::loops::any_json;
use super::poll::PollBackoff;
use super::{run_op, stdin};
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{ListItem, Render, Screen, field};

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum SignalCommand {
    Send(SignalSendArgs),
    List(signal::List),
    Show(Show),
    Ack(signal::Ack),
    Wait(SignalWaitArgs),
    Prune(signal::Prune),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  pn signal send --type rebase --to children:lp-1a2b --reason \"main has moved\"
  pn signal send --type stop --to type:code --payload '{\"after\":\"this iteration\"}'")]
pub(crate) struct SignalSendArgs {
    #[command(flatten)]
    pub(crate) op: signal::Send,
    /// More data for the recipients, as JSON; - reads it from standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) payload: Option<String>,
}

/// Wait until all recipients have acknowledged a signal
///
///   pn signal wait sg-1a2b --all-acked --timeout 60s
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct SignalWaitArgs {
    /// Which signal: its id, or the beginning of it
    #[arg(value_name = "SIGNAL")]
    pub(crate) id: SignalRef,
    /// Wait for every recipient; this is the default
    #[arg(long)]
    pub(crate) all_acked: bool,
    /// How long at most: 30s, 15m, 12h, 1d
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) timeout: Span,
}

/// The most missing recipients that an error names.
const MAX_NAMED: usize = 20;

pub(super) fn run(options: &GlobalOptions, output: Output, command: SignalCommand) -> Result<()> {
    match command {
        SignalCommand::Send(SignalSendArgs { mut op, mut payload }) => {
            stdin::fill(&mut payload)?;
            op.payload = payload.map(|text| any_json("payload", &text)).transpose()?;
            run_op(options, output, &op)
        }
        SignalCommand::List(op) => run_op(options, output, &op),
        SignalCommand::Show(op) => run_op(options, output, &op),
        SignalCommand::Ack(op) => run_op(options, output, &op),
        SignalCommand::Prune(op) => run_op(options, output, &op),
        SignalCommand::Wait(args) => wait(options, output, &args),
    }
}

fn wait(options: &GlobalOptions, output: Output, args: &SignalWaitArgs) -> Result<()> {
    let client = connect::client(options)?;
    let mut backoff = PollBackoff::new(args.timeout);
    loop {
        let shown = client.call(&Show { id: args.id.clone() })?;
        if shown.signal.acknowledged_at.is_some() {
            return output.answer(&shown);
        }
        if !backoff.sleep() {
            return Err(wait_timeout(&shown, args.timeout));
        }
    }
}

fn wait_timeout(shown: &SignalDetail, waited: Span) -> Error {
    let SignalDetail { signal, missing } = shown;
    let some = missing.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more =
        if missing.len() > MAX_NAMED { format!(" and {} more", missing.len() - MAX_NAMED) } else { String::new() };
    let (count, of) = (missing.len(), signal.recipient_count);
    let message = format!("after {waited} {count} of {of} have not acknowledged {}: {some}{more}", signal.id);
    Error::new(Code::Timeout, message).hint("check whether they still run; pn signal wait can be repeated")
}

fn signal_line(signal: &Signal, screen: &mut Screen) {
    let targets = [
        signal.target_selector.clone(),
        signal.target_loop.as_ref().map(ToString::to_string),
        signal.target_agent.as_ref().map(ToString::to_string),
        signal.target_run.as_ref().map(ToString::to_string),
    ];
    let to = targets.into_iter().flatten().next().unwrap_or_default();
    screen.id(&signal.id).plain(&format!(" {:<10} ", signal.signal_type)).text(&to);
    screen.plain(&format!(" {}/{} ", signal.acknowledged_count, signal.recipient_count)).text(&signal.reason);
    screen.plain(" ").faint(&format!("@{}", signal.actor)).end();
}

impl ListItem for Signal {
    const NOUN: [&str; 2] = ["signal", "signals"];

    fn render_item(&self, screen: &mut Screen) {
        signal_line(self, screen);
    }

    fn item_ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for SentSignal {
    fn render(&self, screen: &mut Screen) {
        signal_line(&self.signal, screen);
        field(screen, "to", Some(self.recipients.join(" ")).filter(|to| !to.is_empty()));
    }

    fn ids(&self) -> Vec<String> {
        vec![self.signal.id.to_string()]
    }
}

impl Render for SignalDetail {
    fn render(&self, screen: &mut Screen) {
        signal_line(&self.signal, screen);
        field(screen, "missing", Some(self.missing.join(" ")).filter(|missing| !missing.is_empty()));
    }

    fn ids(&self) -> Vec<String> {
        vec![self.signal.id.to_string()]
    }
}

impl Render for Pruned {
    fn render(&self, screen: &mut Screen) {
        screen.plain(&format!("{} signals deleted", self.ids.len())).end();
    }

    fn ids(&self) -> Vec<String> {
        self.ids.iter().map(ToString::to_string).collect()
    }
}

impl Render for Acked {
    fn render(&self, screen: &mut Screen) {
        screen.id(&self.receipt.signal_id).plain(" ").text(&self.receipt.recipient).plain(" acknowledged");
        if self.missing_count > 0 {
            screen.plain(&format!(", {} missing", self.missing_count));
        }
        screen.end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.receipt.signal_id.to_string()]
    }
}
