//! `pn agent`: creates, shows and changes agents.

use clap::{Args, Subcommand};
use pensa_core::Result;
use pensa_core::agent::Agent;
use pensa_core::ops::agent::{self, Deleted};
use pensa_core::session::{Object, object};
use pensa_engine::Execute;

use super::stdin;
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::progress::with_progress;
use crate::render::{ListItem, Render, Screen, field, shorten_json, when};

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum AgentCommand {
    Create(Box<AgentCreateArgs>),
    List(agent::List),
    Show(agent::Show),
    Update(Box<AgentUpdateArgs>),
    Sleep(agent::Sleep),
    Wake(agent::Wake),
    Kill(agent::Kill),
    Delete(agent::Delete),
}

#[derive(Debug, Args)]
pub(crate) struct AgentCreateArgs {
    #[command(flatten)]
    pub(crate) op: agent::Create,
    /// Describe it with a JSON object of your own; - reads it from standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) descriptor: Option<String>,
    /// Its permissions, a JSON object of your own
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) permissions: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AgentUpdateArgs {
    #[command(flatten)]
    pub(crate) op: agent::Update,
    /// A new descriptor, replacing the old one; - reads it from standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) descriptor: Option<String>,
    /// New permissions, replacing the old ones
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) permissions: Option<String>,
    /// The tokens of its last inference; null removes them
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) tokens: Option<String>,
    /// The totals of all its inferences, replacing the old ones
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) stats: Option<String>,
}

pub(super) fn run(options: &GlobalOptions, output: Output, command: AgentCommand) -> Result<()> {
    match command {
        AgentCommand::Create(args) => create(options, output, *args),
        AgentCommand::List(op) => run_agent_op(options, output, &op),
        AgentCommand::Show(op) => run_agent_op(options, output, &op),
        AgentCommand::Update(args) => update(options, output, *args),
        AgentCommand::Sleep(op) => run_agent_op(options, output, &op),
        AgentCommand::Wake(op) => run_agent_op(options, output, &op),
        AgentCommand::Kill(op) => run_agent_op(options, output, &op),
        AgentCommand::Delete(op) => run_agent_op(options, output, &op),
    }
}

fn create(options: &GlobalOptions, output: Output, args: AgentCreateArgs) -> Result<()> {
    let AgentCreateArgs { mut op, mut descriptor, permissions } = args;
    stdin::fill(&mut descriptor)?;
    op.descriptor = parsed("descriptor", descriptor.as_deref())?;
    op.permissions = parsed("permissions", permissions.as_deref())?;
    run_agent_op(options, output, &op)
}

fn update(options: &GlobalOptions, output: Output, args: AgentUpdateArgs) -> Result<()> {
    let AgentUpdateArgs { mut op, mut descriptor, permissions, tokens, stats } = args;
    stdin::fill(&mut descriptor)?;
    op.descriptor = parsed("descriptor", descriptor.as_deref())?;
    op.permissions = parsed("permissions", permissions.as_deref())?;
    op.tokens = tokens.map(|text| object::parse_optional("tokens", &text)).transpose()?;
    op.stats = parsed("stats", stats.as_deref())?;
    run_agent_op(options, output, &op)
}

fn parsed(what: &str, given: Option<&str>) -> Result<Option<Object>> {
    given.map(|text| object::parse(what, text)).transpose()
}

/// Calls an operation on agents, sessions or runs where they are stored, and prints its answer.
pub(super) fn run_agent_op<O: Execute>(options: &GlobalOptions, output: Output, op: &O) -> Result<()>
where
    O::Output: Render,
{
    output.answer(&with_progress(output, || connect::client_for_agents(options)?.call(op))?)
}

fn agent_line(agent: &Agent, screen: &mut Screen) {
    screen.id(&agent.id).plain(&format!(" {:<9} {:<8}", agent.agent_type, agent.lifecycle));
    if let Some(name) = &agent.name {
        screen.plain(" ").text(name);
    }
    if let Some(parent) = &agent.parent_id {
        screen.plain(" ").faint(&format!("for {parent}"));
    }
    screen.end();
}

impl Render for Agent {
    fn render(&self, screen: &mut Screen) {
        agent_line(self, screen);
        let object = |object: &Object| (!object.is_empty()).then(|| shorten_json(object));
        field(screen, "session", self.active_session_id.as_ref().map(ToString::to_string));
        field(screen, "descriptor", object(&self.descriptor));
        field(screen, "permissions", object(&self.permissions));
        field(screen, "tokens", self.tokens.as_ref().map(shorten_json));
        field(screen, "stats", object(&self.stats));
        field(screen, "created", Some(when(self.created_at)));
        field(screen, "updated", Some(when(self.updated_at)));
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl ListItem for Agent {
    const NOUN: [&str; 2] = ["agent", "agents"];

    fn render_item(&self, screen: &mut Screen) {
        agent_line(self, screen);
    }

    fn item_ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for Deleted {
    fn render(&self, screen: &mut Screen) {
        screen.plain("deleted ").id(&self.id);
        screen.plain(&format!(", sessions: {}, entries: {}", self.sessions, self.entries)).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}
