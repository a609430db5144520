//! `pn agent`: reads the JSON of its flags, then passes the operation on.

use pensa_core::Result;
use pensa_core::session::Object;
use pensa_core::session::object;
use pensa_engine::Execute;

use super::stdin;
use crate::cli::{Agent, AgentCreate, AgentUpdate, Options};
use crate::connect;
use crate::output::Output;
use crate::progress::watched;
use crate::render::Render;

pub(super) fn run(options: &Options, output: Output, command: Agent) -> Result<()> {
    match command {
        Agent::Create(args) => create(options, output, *args),
        Agent::List(op) => pass_on(options, output, &op),
        Agent::Show(op) => pass_on(options, output, &op),
        Agent::Update(args) => update(options, output, *args),
        Agent::Sleep(op) => pass_on(options, output, &op),
        Agent::Wake(op) => pass_on(options, output, &op),
        Agent::Kill(op) => pass_on(options, output, &op),
        Agent::Delete(op) => pass_on(options, output, &op),
    }
}

fn create(options: &Options, output: Output, args: AgentCreate) -> Result<()> {
    let AgentCreate { mut op, mut descriptor, permissions } = args;
    stdin::fill(&mut descriptor)?;
    op.descriptor = parsed("descriptor", descriptor.as_deref())?;
    op.permissions = parsed("permissions", permissions.as_deref())?;
    pass_on(options, output, &op)
}

fn update(options: &Options, output: Output, args: AgentUpdate) -> Result<()> {
    let AgentUpdate { mut op, mut descriptor, permissions, tokens, stats } = args;
    stdin::fill(&mut descriptor)?;
    op.descriptor = parsed("descriptor", descriptor.as_deref())?;
    op.permissions = parsed("permissions", permissions.as_deref())?;
    op.tokens = tokens.map(|text| object::parse_optional("tokens", &text)).transpose()?;
    op.stats = parsed("stats", stats.as_deref())?;
    pass_on(options, output, &op)
}

fn parsed(what: &str, given: Option<&str>) -> Result<Option<Object>> {
    given.map(|text| object::parse(what, text)).transpose()
}

/// Runs an operation on agents or their sessions, wherever they live.
pub(super) fn pass_on<O: Execute>(options: &Options, output: Output, op: &O) -> Result<()>
where
    O::Output: Render,
{
    output.answer(&watched(output, || connect::client_for_agents(options)?.call(op))?)
}
