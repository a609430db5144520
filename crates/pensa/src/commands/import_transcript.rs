//! `pn import-from claude-code` and other agent software: imports conversations, each from where the last import ended.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::Args;
use pensa_client::Client;
use pensa_client::locate::{self, SearchStart, StoreScope};
use pensa_core::agent::AgentType;
use pensa_core::id::{AgentId, IssueId};
use pensa_core::ops::agent::ImportedSession;
use pensa_core::ops::record::Get;
use pensa_core::ops::transcript::{
    ImportTranscript, ReadPosition, TRANSCRIPTS, TranscriptAgent, TranscriptImport, TranscriptMark, record_id,
};
use pensa_core::session::{NewEntry, OpenedBy};
use pensa_core::similar::hash64;
use pensa_core::time::{Since, Timestamp};
use pensa_core::{Code, Error, Result};
use pensa_engine::progress;
use pensa_interop::transcript::{
    self, ThreadPart, Transcript, TranscriptCursor, TranscriptEntry, TranscriptPart, TranscriptTool,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::sync::is_transient;
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::progress::with_progress;
use crate::render::{Render, Screen, counted, print_redactions};

#[derive(Debug, Args)]
pub(crate) struct ImportTranscriptArgs {
    /// A transcript, or a directory of them [default: where the software keeps those of this project]
    #[arg(value_name = "PATH", conflicts_with = "all")]
    pub(crate) path: Option<PathBuf>,
    /// Those of all projects
    #[arg(long)]
    pub(crate) all: bool,
    /// Only transcripts that were written since: how long ago, or a time
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<Since>,
    /// Go on with what is written from now on, until interrupted
    #[arg(short, long)]
    pub(crate) follow: bool,
}

/// How often transcripts are looked at with --follow.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How often a part is sent again because somebody else has imported it.
const ATTEMPTS: usize = 8;
/// Most lines and files that are listed for people; `--json` has all.
const MAX_SHOWN: usize = 20;

/// The result of an import.
#[derive(Debug, Default, Serialize)]
pub(crate) struct TranscriptReport {
    /// How many transcripts had something new
    transcripts: usize,
    unchanged: usize,
    /// How many are of other projects
    #[serde(skip_serializing_if = "is_zero")]
    elsewhere: usize,
    agents: usize,
    sessions: i64,
    entries: i64,
    /// Messages of forked and resumed conversations, which were counted already
    repeated: i64,
    /// The issues that the conversations are about
    issues: BTreeSet<IssueId>,
    redactions: i64,
    /// Lines that could not be read
    malformed: Vec<BadTranscriptLine>,
    /// How many records of unknown types were left out
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    ignored: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<SkippedTranscript>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[derive(Debug, Serialize)]
struct BadTranscriptLine {
    file: String,
    line: u64,
    reason: String,
}

#[derive(Debug, Serialize)]
struct SkippedTranscript {
    file: String,
    reason: String,
}

pub(super) fn run(
    options: &GlobalOptions,
    output: Output,
    tool: TranscriptTool,
    args: &ImportTranscriptArgs,
) -> Result<()> {
    let client = connect::client_for_agents(options)?;
    let root = args.path.clone().map_or_else(|| default_root(tool), Ok)?;
    let project = connect::project_store(options).filter(|_| args.path.is_none() && !args.all);
    let project = project.map(|store| store.root().to_owned());
    let since = args.since.map(|since| Ok::<_, Error>(since.as_of(now()?))).transpose()?;
    let mut seen = HashMap::new();
    let mut import = |is_first: bool| -> Result<TranscriptReport> {
        let mut found = transcript::find(tool, &root).map_err(|e| match e.code {
            Code::NotFound if args.path.is_none() => e.hint(format!("give the place where {tool} keeps transcripts")),
            _ => e,
        })?;
        found.retain(|one| since.is_none_or(|since| one.changed_at.is_none_or(|at| at >= since)));
        // What has not changed since the last look needs no look.
        let stamp = |one: &Transcript| (one.size, one.changed_at);
        found.retain(|one| is_first || seen.get(&one.key()) != Some(&stamp(one)));
        let report = import_found(&client, &found, project.as_deref())?;
        seen.extend(found.iter().map(|one| (one.key(), stamp(one))));
        Ok(report)
    };
    let report = with_progress(output, || import(true))?;
    output.answer(&report)?;
    if !args.follow {
        return Ok(());
    }
    let mut has_failed = false;
    loop {
        thread::sleep(POLL_INTERVAL);
        let report = match import(false) {
            Ok(report) => report,
            // A directory that is gone may come back.
            Err(e) if is_transient(&e) || e.code == Code::NotFound => {
                if !std::mem::replace(&mut has_failed, true) {
                    output.warning(&format!("{}; trying again", e.message));
                }
                continue;
            }
            Err(e) => return Err(e),
        };
        has_failed = false;
        if report.entries > 0 || !report.skipped.is_empty() {
            output.answer(&report)?;
        }
    }
}

/// Imports what is new in a transcript, and in those of its subagents.
pub(crate) fn import_transcript(client: &Client, tool: TranscriptTool, path: &Path) -> Result<TranscriptReport> {
    import_found(client, &transcript::find(tool, path)?, None)
}

fn now() -> Result<Timestamp> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).map_err(Error::internal)?)
}

/// Where the software keeps its transcripts.
fn default_root(tool: TranscriptTool) -> Result<PathBuf> {
    let var = |name: &str| connect::env_var(name).map(PathBuf::from);
    let home =
        || var("HOME").ok_or_else(|| Error::invalid("there is no home directory").hint("set HOME, or give PATH"));
    let of = |variable: &str, default: &str| var(variable).map_or_else(|| Ok(home()?.join(default)), Ok);
    Ok(match tool {
        TranscriptTool::ClaudeCode => of("CLAUDE_CONFIG_DIR", ".claude")?.join("projects"),
        TranscriptTool::Codex => of("CODEX_HOME", ".codex")?,
        TranscriptTool::Gemini => var("GEMINI_CLI_HOME").map_or_else(home, Ok)?.join(".gemini/tmp"),
        TranscriptTool::Opencode => of("XDG_DATA_HOME", ".local/share")?.join("opencode/opencode.db"),
        TranscriptTool::Copilot => of("COPILOT_HOME", ".copilot")?.join("session-state"),
    })
}

/// The transcript of a session whose software does not tell its hooks where it is: Copilot never, Codex sometimes.
pub(crate) fn untold_transcript(tool: TranscriptTool, session: &str) -> Option<PathBuf> {
    let is_name = !session.is_empty() && !session.starts_with('.') && !session.contains('/');
    let root = default_root(tool).ok().filter(|_| is_name)?;
    match tool {
        TranscriptTool::Copilot => Some(root.join(session).join("events.jsonl")).filter(|path| path.is_file()),
        TranscriptTool::Codex => {
            let found = transcript::find(tool, &root.join("sessions")).ok()?;
            // The last rollout of the thread is the one that grows.
            found.into_iter().rev().find(|one| one.id.split('_').next() == Some(session)).map(|one| one.path)
        }
        _ => None,
    }
}

/// Imports transcripts; with a project only those that took place in it.
fn import_found(client: &Client, found: &[Transcript], project: Option<&Path>) -> Result<TranscriptReport> {
    let mut report = TranscriptReport::default();
    progress().begin(found.len());
    for one in found {
        progress().advance(1);
        match import_one(client, one, project, &mut report) {
            Ok(()) => {}
            Err(error)
                if matches!(error.code, Code::InvalidInput | Code::TooLarge | Code::NotFound | Code::Corrupt) =>
            {
                report.skipped.push(SkippedTranscript { file: shown(one), reason: error.message });
            }
            Err(error) => return Err(error),
        }
    }
    progress().end();
    Ok(report)
}

fn shown(transcript: &Transcript) -> String {
    transcript.path.display().to_string()
}

fn import_one(
    client: &Client,
    transcript: &Transcript,
    project: Option<&Path>,
    report: &mut TranscriptReport,
) -> Result<()> {
    let before = cursor(client, &transcript.key())?;
    if let Some(project) = project.filter(|_| before == TranscriptCursor::default())
        && !takes_place_in(transcript, project)?
    {
        report.elsewhere += 1;
        return Ok(());
    }
    let (mut from, mut attempts, mut is_new) = (before, ATTEMPTS, false);
    'again: loop {
        let mut parts = transcript.open(from.clone())?.peekable();
        while let Some(part) = parts.next() {
            let part = part?;
            // The last part may have nothing.
            let follows = matches!(parts.peek(), Some(Ok(next)) if !(next.is_end && next.threads.is_empty()));
            let to = part.to.clone();
            let reported = report.take_notes(transcript, &part);
            if to != from {
                match client.call(&import_op(transcript, &from, part, !follows)?) {
                    Ok(done) => is_new |= report.add(done),
                    Err(e) if e.code == Code::Conflict && attempts > 0 => {
                        report.malformed.truncate(reported);
                        attempts -= 1;
                        from = cursor(client, &transcript.key())?;
                        continue 'again;
                    }
                    Err(e) => return Err(e),
                }
            }
            from = to;
        }
        break;
    }
    report.transcripts += usize::from(is_new);
    report.unchanged += usize::from(!is_new);
    Ok(())
}

/// How far a transcript was imported.
fn cursor(client: &Client, key: &str) -> Result<TranscriptCursor> {
    let record = match client.call(&Get { collection: TRANSCRIPTS.to_owned(), id: record_id(key) }) {
        Err(e) if e.code == Code::NotFound => return Ok(TranscriptCursor::default()),
        record => record?,
    };
    let mark: TranscriptMark = serde_json::from_value(Value::Object(record.data))
        .map_err(|e| Error::new(Code::Corrupt, format!("record {} in {TRANSCRIPTS}: {e}", record.id)))?;
    let ReadPosition { bytes, lines, tail } = mark.position;
    Ok(TranscriptCursor { bytes, lines, tail, state: mark.state })
}

/// Whether a conversation took place in the project of a store, or in one of its worktrees.
fn takes_place_in(transcript: &Transcript, store: &Path) -> Result<bool> {
    let cwd = match &transcript.cwd {
        Some(cwd) => Some(cwd.clone()),
        None => {
            let first = transcript.open(TranscriptCursor::default())?.next().transpose()?;
            let cwd = first.into_iter().flat_map(|part| part.threads);
            cwd.into_iter().find_map(|thread| thread.facts.get("cwd")?.as_str().map(str::to_owned))
        }
    };
    let Some(cwd) = cwd.map(PathBuf::from) else { return Ok(false) };
    // The directory may be gone.
    if store.parent().is_some_and(|project| cwd.starts_with(project)) {
        return Ok(true);
    }
    let start = SearchStart { explicit: None, cwd: cwd.canonicalize().unwrap_or(cwd), user: None };
    Ok(locate::store_root(&start, StoreScope::Project).is_ok_and(|root| root == store))
}

/// Converts a part to an operation.
fn import_op(
    transcript: &Transcript,
    from: &TranscriptCursor,
    part: TranscriptPart,
    is_end: bool,
) -> Result<ImportTranscript> {
    let position = |cursor: &TranscriptCursor| ReadPosition {
        bytes: cursor.bytes,
        lines: cursor.lines,
        tail: cursor.tail.clone(),
    };
    let agents = part.threads.into_iter().map(|thread| agent_op(transcript.tool, thread));
    Ok(ImportTranscript {
        key: transcript.key(),
        file: Some(shown(transcript)),
        from: position(from),
        to: position(&part.to),
        state: part.to.state,
        agents: agents.collect::<Result<_>>()?,
        is_end,
        no_redact: false,
    })
}

/// The id of the agent of a conversation: the same at each import.
pub(super) fn agent_id(tool: TranscriptTool, thread: &str) -> AgentId {
    AgentId::from_hash(hash64(format!("{tool}:{thread}").as_bytes()))
}

fn agent_op(tool: TranscriptTool, thread: ThreadPart) -> Result<TranscriptAgent> {
    let ThreadPart { id, parent, is_subagent, title, mut facts, entries: said, sessions, first_at, last_at } = thread;
    facts.insert("tool".into(), json!(tool.as_str()));
    facts.extend(title.as_ref().map(|title| ("title".to_owned(), json!(title))));
    let entries = |entries: Vec<TranscriptEntry>| entries.into_iter().map(entry_op).collect::<Result<Vec<_>>>();
    let said = entries(said)?;
    let sessions = sessions.into_iter().map(|session| {
        Ok(ImportedSession {
            opened_by: OpenedBy::Compaction,
            inference_session_id: None,
            reset_message: session.summary,
            created_at: session.at,
            entries: entries(session.entries)?,
        })
    });
    Ok(TranscriptAgent {
        id: agent_id(tool, &id),
        agent_type: if is_subagent { AgentType::Subagent } else { AgentType::User },
        name: title,
        parent_id: parent.map(|parent| agent_id(tool, &parent)),
        descriptor: facts,
        inference_session_id: Some(id),
        sessions: sessions.collect::<Result<_>>()?,
        entries: said,
        first_at,
        last_at,
    })
}

fn entry_op(entry: TranscriptEntry) -> Result<NewEntry> {
    Ok(NewEntry { entry_type: entry.kind.parse()?, at: entry.at, data: entry.data })
}

impl TranscriptReport {
    /// Adds what a part could not say. Returns how many malformed lines there were before.
    fn take_notes(&mut self, transcript: &Transcript, part: &TranscriptPart) -> usize {
        let before = self.malformed.len();
        self.malformed.extend(part.malformed.iter().map(|bad| BadTranscriptLine {
            file: shown(transcript),
            line: bad.line,
            reason: bad.reason.clone(),
        }));
        for (kind, count) in &part.ignored {
            *self.ignored.entry(kind.clone()).or_default() += count;
        }
        before
    }

    /// Adds what became of a part. Returns whether it had something new.
    fn add(&mut self, done: TranscriptImport) -> bool {
        self.agents += done.agents.len();
        self.sessions += done.sessions;
        self.entries += done.entries;
        self.repeated += done.repeated;
        self.issues.extend(done.issues);
        self.redactions += done.redactions;
        for agent in done.deleted {
            let reason = format!("agent {agent} was deleted here");
            self.skipped.push(SkippedTranscript { file: agent.to_string(), reason });
        }
        done.entries > 0 || done.sessions > 0
    }
}

impl Render for TranscriptReport {
    fn render(&self, screen: &mut Screen) {
        let Self { transcripts, agents, sessions, entries, .. } = self;
        let counts = [
            counted(*transcripts, "transcript", "transcripts"),
            counted(*agents, "new agent", "new agents"),
            counted(*sessions, "session", "sessions"),
            counted(*entries, "entry", "entries"),
        ];
        screen.plain(&counts.join(", ")).end();
        for (count, what) in
            [(self.unchanged, "have nothing new"), (self.elsewhere, "are of other projects; --all takes them too")]
        {
            if count > 0 {
                screen.plain(&format!("{count} {what}")).end();
            }
        }
        if self.repeated > 0 {
            screen.plain(&format!("{} messages are counted in another session", self.repeated)).end();
        }
        if !self.issues.is_empty() {
            let issues: Vec<String> = self.issues.iter().map(ToString::to_string).collect();
            screen.plain("about ").text(&issues.join(", ")).end();
        }
        print_redactions(screen, self.redactions);
        for bad in self.malformed.iter().take(MAX_SHOWN) {
            screen.text(&bad.file).plain(&format!(" line {}: ", bad.line)).text(&bad.reason).end();
        }
        for skipped in self.skipped.iter().take(MAX_SHOWN) {
            screen.plain("skipped ").text(&skipped.file).plain(": ").text(&skipped.reason).end();
        }
        let hidden = self.malformed.len().saturating_sub(MAX_SHOWN) + self.skipped.len().saturating_sub(MAX_SHOWN);
        if hidden > 0 {
            screen.plain(&format!("and {hidden} more, which --json has")).end();
        }
        for (kind, count) in &self.ignored {
            screen.plain(&format!("left out {count} of the unknown type ")).text(kind).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.issues.iter().map(ToString::to_string).collect()
    }
}
