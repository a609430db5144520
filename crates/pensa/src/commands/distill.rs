//! `pn distill`: learnings from what happened, found without a model or by an agent that is asked for them.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::Path;

use clap::Args;
use pensa_client::Client;
use pensa_core::id::{AgentId, IssueRef, SessionRef};
use pensa_core::learning::Impact;
use pensa_core::learning::distill::{self, MAX_ANSWER_BYTES, Proposal};
use pensa_core::learning::upkeep::DISTILLED;
use pensa_core::ops::distill::{Distill, Prompt, RememberAll};
use pensa_core::ops::learning::{Remember, Remembered};
use pensa_core::ops::session;
use pensa_core::time::{Since, Timestamp};
use pensa_core::{Error, Result, Span};
use serde::Serialize;

use super::{confirm, context, stdin};
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::progress::with_progress;
use crate::render::{Render, Screen};

/// How far back commits are read for files that change together; a week has too few.
const COMMITS_SINCE: Span = Span::from_millis(180 * 86_400_000);
const MAX_COMMITS: usize = 1_000;
/// How long a learning that nobody chose is kept unless somebody verifies it.
const UNCHOSEN_FOR: Span = Span::from_millis(30 * 86_400_000);

/// Propose learnings from sessions, comments, reasons of closes and commits, and store those that you accept
///
/// On a terminal it asks which to accept. Without a model it finds what was stated, commands that failed and what worked
/// instead, and files that change together. --prompt has an agent find more.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  pn distill --since 2d\n  pn distill --since 2d --accept 1,3\n  \
    pn distill --session se-5d0c21aa --prompt | claude -p | pn distill --session se-5d0c21aa --answer -")]
pub(crate) struct DistillArgs {
    /// Only this session
    #[arg(long, value_name = "SESSION", conflicts_with_all = ["issue", "since"])]
    session: Option<SessionRef>,
    /// Only this issue, its comments, and the sessions about it
    #[arg(long, value_name = "ID", conflicts_with = "since")]
    issue: Option<IssueRef>,
    /// What happened since then: how long ago, or a time [default: 7d]
    #[arg(long, value_name = "WHEN")]
    since: Option<Since>,
    /// Store these: numbers or ids from the list, or all
    #[arg(long, value_name = "WHICH", value_delimiter = ',')]
    accept: Vec<String>,
    /// Print a prompt that asks an agent for learnings instead
    #[arg(long, conflicts_with_all = ["accept", "answer"])]
    prompt: bool,
    /// At most this many tokens in the prompt, at four bytes each [default: 8000]
    #[arg(long, value_name = "N", requires = "prompt")]
    max_tokens: Option<u32>,
    /// Store the learnings in an agent's answer to the prompt, from this file; - reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "accept")]
    answer: Option<String>,
}

/// A numbered list of proposals.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct ProposalList(Vec<Proposal>);

/// The prompt for an agent.
#[derive(Debug, Serialize)]
struct PrintedPrompt {
    prompt: String,
}

pub(super) fn run(options: &GlobalOptions, output: Output, args: DistillArgs) -> Result<()> {
    let client = connect::client(options)?;
    if args.prompt {
        let DistillArgs { session, issue, since, max_tokens, .. } = args;
        let prompt = client.call(&Prompt { session, issue, since, max_tokens })?.prompt;
        return output.answer(&PrintedPrompt { prompt });
    }
    if let Some(file) = &args.answer {
        let stored = store_answer(&client, &args, &read_answer(file)?)?;
        return answered(options, output, &stored);
    }
    let proposals = with_progress(output, || propose(&client, &args))?;
    if !args.accept.is_empty() {
        let chosen = chosen(&proposals, &args.accept)?;
        return answered(options, output, &store(&client, chosen)?);
    }
    output.answer(&ProposalList(proposals.clone()))?;
    if proposals.is_empty() || !output.is_human() || !confirm::is_interactive() {
        return Ok(());
    }
    let which = confirm::ask_line("Store which? Numbers, all, or nothing:");
    let which: Vec<String> = which.split([',', ' ']).filter(|one| !one.is_empty()).map(str::to_owned).collect();
    if which.is_empty() {
        return Ok(());
    }
    answered(options, output, &store(&client, chosen(&proposals, &which)?)?)
}

fn answered(options: &GlobalOptions, output: Output, stored: &Vec<Remembered>) -> Result<()> {
    output.answer(stored)?;
    context::refresh(options, output);
    Ok(())
}

fn propose(client: &Client, args: &DistillArgs) -> Result<Vec<Proposal>> {
    let (session, issue, since) = (args.session.clone(), args.issue.clone(), args.since);
    // The commits are nobody's in particular.
    let commits = if session.is_some() || issue.is_some() { Vec::new() } else { commits(&connect::cwd()?, since)? };
    client.call(&Distill { session, issue, since, commits })
}

fn commits(dir: &Path, since: Option<Since>) -> Result<Vec<Vec<String>>> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let now = Timestamp::from_millis(i64::try_from(now.as_millis()).map_err(Error::internal)?)?;
    let since = since.map_or(now.minus(COMMITS_SINCE), |since| since.as_of(now).min(now.minus(COMMITS_SINCE)));
    Ok(pensa_git::renames::commit_files(dir, since.as_millis().div_euclid(1_000), MAX_COMMITS))
}

/// The proposals with these numbers or ids.
fn chosen(proposals: &[Proposal], which: &[String]) -> Result<Vec<Proposal>> {
    if which == ["all"] {
        return Ok(proposals.to_vec());
    }
    let mut numbers = BTreeSet::new();
    for one in which.iter().map(|one| one.trim()) {
        let by_number = one.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let by_number = by_number.filter(|at| *at < proposals.len() && one.len() < 8);
        let by_id = || proposals.iter().position(|proposal| proposal.id == one);
        let at = by_number.or_else(by_id).ok_or_else(|| {
            Error::invalid(format!("no proposal {one:?} in a list of {}", proposals.len()))
                .hint("pn distill with the same flags lists them; numbers change when others are stored, ids do not")
        })?;
        numbers.insert(at);
    }
    Ok(numbers.into_iter().map(|at| proposals[at].clone()).collect())
}

fn remember(proposal: Proposal) -> Remember {
    let Proposal { kind, text, tags, files, issue_id, session_id, .. } = proposal;
    let (issue, session) = (issue_id.as_ref().map(IssueRef::from), session_id.as_ref().map(SessionRef::from));
    Remember { text, kind: Some(kind), tags, files, issue, session, ..Remember::default() }
}

/// Stores proposals: all of them, or none.
fn store(client: &Client, proposals: Vec<Proposal>) -> Result<Vec<Remembered>> {
    client.call(&RememberAll { learnings: proposals.into_iter().map(remember).collect() })
}

fn read_answer(file: &str) -> Result<String> {
    if file == "-" {
        return stdin::read_within(MAX_ANSWER_BYTES);
    }
    let cannot = |e: std::io::Error| Error::invalid(format!("cannot read {file}: {e}"));
    let mut text = String::new();
    let opened = fs::File::open(file).map_err(cannot)?;
    opened.take(MAX_ANSWER_BYTES as u64 + 1).read_to_string(&mut text).map_err(cannot)?;
    Ok(text)
}

/// Stores what an agent answered, with the session or the issue that it was asked about.
fn store_answer(client: &Client, args: &DistillArgs, answer: &str) -> Result<Vec<Remembered>> {
    let remember = |(proposal, impact): (Proposal, Impact)| Remember {
        impact: Some(impact),
        session: args.session.clone(),
        issue: args.issue.clone(),
        ..remember(proposal)
    };
    let learnings: Vec<Remember> = distill::answer(answer)?.into_iter().map(remember).collect();
    if learnings.is_empty() {
        return Ok(Vec::new());
    }
    client.call(&RememberAll { learnings })
}

/// Stores what the sessions of an agent taught, for a while: nobody chose it.
pub(super) fn at_session_end(client: &Client, agent: &AgentId) -> Result<()> {
    let sessions = client.call(&session::List { agent: Some(agent.into()), ..session::List::default() })?;
    let Some(last) = sessions.last() else { return Ok(()) };
    let found = client.call(&Distill { session: Some((&last.session.id).into()), ..Distill::default() })?;
    let remember = |proposal| Remember {
        tags: vec![DISTILLED.to_owned()],
        impact: Some(Impact::Low),
        expires: Some(UNCHOSEN_FOR),
        ..remember(proposal)
    };
    let learnings: Vec<Remember> = found.into_iter().map(remember).collect();
    if learnings.is_empty() {
        return Ok(());
    }
    client.call(&RememberAll { learnings }).map(drop)
}

impl Render for ProposalList {
    fn render(&self, screen: &mut Screen) {
        for (at, proposal) in self.0.iter().enumerate() {
            screen.plain(&format!("{:>3} {:<8} ", at + 1, proposal.kind)).text(&proposal.text).end();
            let mut line = format!("    {} {}", proposal.id, proposal.found);
            let about = [
                ("issue", proposal.issue_id.as_ref().map(ToString::to_string)),
                ("session", proposal.session_id.as_ref().map(ToString::to_string)),
                ("entry", proposal.entry.map(|entry| entry.to_string())),
            ];
            for (name, id) in about {
                line.push_str(&id.map(|id| format!(", {name} {id}")).unwrap_or_default());
            }
            screen.faint(&line).end();
        }
        screen.footer(self.0.len(), ["proposal", "proposals"]);
    }

    fn ids(&self) -> Vec<String> {
        self.0.iter().map(|proposal| proposal.id.clone()).collect()
    }
}

impl Render for PrintedPrompt {
    fn render(&self, screen: &mut Screen) {
        screen.plain(&self.prompt);
    }

    fn ids(&self) -> Vec<String> {
        Vec::new()
    }
}
