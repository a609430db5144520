//! `pn setup`: sets agents up in this repository or for all projects. `pensa_host::setup` has the agents and their files.

use std::path::{Path, PathBuf};
use std::{env, fs};

use clap::Args;
use pensa_core::{Code, Error, Result, text};
use pensa_host::setup::{
    AGENTS, AgentSoftware, FileAction, FileReport, PartState, Profile, Setup, SetupReport, SetupScope, plugin_files,
};
use serde::Serialize;

use super::confirm;
use super::context::write_atomically;
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

/// The most agents of a file that are named.
const MAX_NAMED: usize = 4;

/// Set agents up to use pn: instructions, skill, hooks and MCP server
///
/// Without names it looks which agents are used here, and asks; without a terminal it only lists them. Files of yours are
/// added to, and --remove gives them back as they were. Only --global writes outside this repository.
///
///   pn setup claude codex     set up two
///   pn setup --check          say what is missing, old or edited
///   pn setup --remove         take everything out again
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct SetupArgs {
    /// Which agents: claude, codex, antigravity, gemini, cursor, copilot, opencode, pi, goose, amp, zed, cline, windsurf,
    /// kiro, junie, aider, droid, kilocode
    #[arg(value_name = "AGENT")]
    agents: Vec<String>,
    /// For all projects, in your home directory
    #[arg(long)]
    global: bool,
    /// Change nothing; fail if something is missing, old or edited
    #[arg(long, conflicts_with_all = ["remove", "print"])]
    check: bool,
    /// Take out what pn setup put in
    #[arg(long, conflicts_with = "print")]
    remove: bool,
    /// Print the files as they would be if there were none yet
    #[arg(long)]
    print: bool,
    /// Say what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Replace, or remove, what was edited too
    #[arg(long)]
    force: bool,
    /// How much the instructions say: minimal, standard or team [default: as they are, else standard]
    #[arg(long, value_name = "NAME")]
    profile: Option<Profile>,
    /// Write a plugin for Claude Code and other agents into a directory instead
    #[arg(long, value_name = "DIR", conflicts_with_all = ["agents", "global", "check", "remove", "print", "profile"])]
    plugin: Option<PathBuf>,
}

pub(super) fn run(options: &GlobalOptions, output: Output, args: &SetupArgs) -> Result<()> {
    if let Some(dir) = &args.plugin {
        return output.answer(&plugin(dir, args.dry_run)?);
    }
    let named: Vec<&AgentSoftware> = args.agents.iter().map(|name| AgentSoftware::find(name)).collect::<Result<_>>()?;
    let mut setup = place(options, args.global)?;
    (setup.profile, setup.force, setup.dry_run) = (args.profile, args.force, args.dry_run);
    if args.check {
        return check(output, &setup, &named);
    }
    if args.remove {
        let all = if named.is_empty() { AGENTS.iter().collect() } else { named };
        return finish(output, setup.remove(&all)?);
    }
    let chosen = if named.is_empty() { noticed(&setup) } else { named };
    if args.print {
        return output.answer(&PrintedFiles::of(setup.print(&chosen)?));
    }
    if args.agents.is_empty() && !args.dry_run && !is_wanted(options, &setup, &chosen) {
        return output.answer(&NoticedAgents::of(&setup));
    }
    finish(output, setup.add(&chosen)?)
}

/// The repository around the current directory, or the home directory.
fn place(options: &GlobalOptions, global: bool) -> Result<Setup> {
    if global {
        let home = home().ok_or_else(|| Error::invalid("there is no home directory").hint("set HOME"))?;
        return Setup::new(&home, SetupScope::Home);
    }
    let cwd = connect::cwd()?;
    let around = cwd.ancestors().find(|dir| dir.join(".git").exists()).map(Path::to_owned);
    let project = || connect::project_store(options).map(|store| store.project_dir().to_owned());
    let root = match &options.store {
        Some(_) => project(),
        None => around.or_else(project),
    };
    Setup::new(&root.unwrap_or(cwd), SetupScope::Project)
}

fn home() -> Option<PathBuf> {
    connect::env_var("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
}

/// Whether a program is on the PATH.
fn is_program(name: &str) -> bool {
    let paths = connect::env_var("PATH").unwrap_or_default();
    env::split_paths(&paths).any(|dir| dir.is_absolute() && dir.join(name).is_file())
}

fn detect(setup: &Setup, agent: &AgentSoftware) -> Option<String> {
    setup.detect(agent, home().as_deref(), &is_program)
}

fn noticed(setup: &Setup) -> Vec<&'static AgentSoftware> {
    AGENTS.iter().filter(|agent| detect(setup, agent).is_some()).collect()
}

/// Asks whether the agents that were noticed are to be set up. Without a terminal the answer is no.
fn is_wanted(options: &GlobalOptions, setup: &Setup, agents: &[&'static AgentSoftware]) -> bool {
    if agents.is_empty() || options.json || options.quiet || !confirm::is_interactive() {
        return false;
    }
    if setup.check(agents).is_ok_and(|report| report.is_current()) {
        return true;
    }
    let names: Vec<&str> = agents.iter().map(|agent| agent.title).collect();
    confirm::ask_yes(&format!("set up {}?", names.join(", ")))
}

fn check(output: Output, setup: &Setup, named: &[&'static AgentSoftware]) -> Result<()> {
    let agents: Vec<&AgentSoftware> = match named {
        [] => AGENTS.iter().filter(|agent| setup.is_set_up(agent)).collect(),
        named => named.to_vec(),
    };
    if agents.is_empty() {
        return Err(Error::new(Code::NotFound, "no agent is set up here").hint("pn setup lists those that could be"));
    }
    let report = setup.check(&agents)?;
    output.answer(&report)?;
    if report.is_current() {
        return Ok(());
    }
    let wrong = report.files.iter().filter(|file| file.state != Some(PartState::Current) || file.error.is_some());
    let named: Vec<String> = wrong.map(|file| format!("{} ({})", file.path, shown_state(file))).collect();
    Err(Error::new(Code::Conflict, format!("not as pn setup writes it: {}", named.join(", ")))
        .hint("pn setup AGENT adds what is missing and renews what is old; --force replaces what was edited"))
}

/// Prints a report; fails if a file was refused.
pub(super) fn finish(output: Output, report: SetupReport) -> Result<()> {
    output.answer(&report)?;
    report.notes.iter().for_each(|note| output.note(&format!("note: {note}")));
    for file in report.files.iter().filter(|file| file.state == Some(PartState::Edited) && file.action.is_none()) {
        output.note(&format!("note: {} was edited and stays as it is; --force does not spare it", file.path));
    }
    let refused: Vec<&FileReport> = report.files.iter().filter(|file| file.error.is_some()).collect();
    let Some(first) = refused.first().and_then(|file| file.error.clone()) else { return Ok(()) };
    let named: Vec<String> = refused
        .iter()
        .filter_map(|file| Some(format!("{} {}", file.path, text::printable_line(&file.error.as_ref()?.message))))
        .collect();
    Err(Error { message: format!("left as it is: {}", named.join("; ")), ..first })
}

fn shown_state(file: &FileReport) -> &'static str {
    match file.state {
        Some(PartState::Current) => "current",
        Some(PartState::Missing) => "missing",
        Some(PartState::Old) => "old",
        Some(PartState::Edited) => "edited",
        None => "unreadable",
    }
}

/// Writes the plugin. Files of other versions are replaced, others in the directory stay.
fn plugin(dir: &Path, dry_run: bool) -> Result<SetupReport> {
    let mut report = SetupReport::default();
    for (path, wanted) in plugin_files()? {
        let file = dir.join(path);
        let old = pensa_git::files::read_text(&file)?;
        let state = match &old {
            None => PartState::Missing,
            Some(old) if *old == wanted => PartState::Current,
            Some(_) => PartState::Old,
        };
        let action = match state {
            PartState::Current => None,
            PartState::Missing => Some(FileAction::Create),
            PartState::Old | PartState::Edited => Some(FileAction::Change),
        };
        if action.is_some() && !dry_run {
            let parent = file.parent().unwrap_or(dir);
            fs::create_dir_all(parent).map_err(|e| pensa_core::error::io("create", parent, &e))?;
            write_atomically(&file, &wanted, 0o666)?;
        }
        report.files.push(FileReport {
            path: path.to_owned(),
            agents: vec!["claude"],
            state: Some(state),
            action,
            error: None,
        });
    }
    Ok(report)
}

/// Agents that are used here or installed.
#[derive(Debug, Serialize)]
struct NoticedAgents {
    agents: Vec<NoticedAgent>,
}

#[derive(Debug, Serialize)]
struct NoticedAgent {
    name: &'static str,
    /// How it was noticed
    #[serde(skip_serializing_if = "Option::is_none")]
    noticed: Option<String>,
    is_set_up: bool,
}

impl NoticedAgents {
    fn of(setup: &Setup) -> Self {
        let all = AGENTS.iter().map(|agent| NoticedAgent {
            name: agent.name,
            noticed: detect(setup, agent),
            is_set_up: setup.is_set_up(agent),
        });
        Self { agents: all.collect() }
    }
}

impl Render for NoticedAgents {
    fn render(&self, screen: &mut Screen) {
        let (here, others): (Vec<_>, Vec<_>) =
            self.agents.iter().partition(|one| one.noticed.is_some() || one.is_set_up);
        for one in &here {
            let state = if one.is_set_up { "set up" } else { "not set up" };
            let how = one.noticed.as_ref().map(|how| format!("  ({how})")).unwrap_or_default();
            screen.plain(&format!("{:<12} {state:<10}", one.name)).text(&how).end();
        }
        if here.is_empty() {
            screen.plain("no agent is used here").end();
        }
        let names: Vec<&str> = others.iter().map(|one| one.name).collect();
        screen.plain(&format!("others: {}", names.join(", "))).end();
        screen.plain("next: pn setup AGENT …").end();
    }

    fn ids(&self) -> Vec<String> {
        self.agents.iter().filter(|one| one.noticed.is_some()).map(|one| one.name.to_owned()).collect()
    }
}

impl Render for SetupReport {
    fn render(&self, screen: &mut Screen) {
        for file in &self.files {
            let what = match (file.action, &file.error) {
                (_, Some(_)) => "refused",
                (Some(FileAction::Create), _) => "created",
                (Some(FileAction::Change), _) => "changed",
                (Some(FileAction::Delete), _) => "deleted",
                (None, None) => shown_state(file),
            };
            let agents = match file.agents.as_slice() {
                [] => {
                    screen.plain(&format!("{what:<8} {}", file.path)).end();
                    continue;
                }
                few if few.len() <= MAX_NAMED => few.join(", "),
                many => format!("{} agents", many.len()),
            };
            screen.plain(&format!("{what:<8} {:<34} ", file.path)).faint(&agents).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.files.iter().filter(|file| file.action.is_some()).map(|file| file.path.clone()).collect()
    }
}

/// Files as they would be.
#[derive(Debug, Serialize)]
struct PrintedFiles {
    files: Vec<PrintedFile>,
}

#[derive(Debug, Serialize)]
struct PrintedFile {
    path: String,
    text: String,
}

impl PrintedFiles {
    fn of(files: Vec<(String, String)>) -> Self {
        Self { files: files.into_iter().map(|(path, text)| PrintedFile { path, text }).collect() }
    }
}

impl Render for PrintedFiles {
    fn render(&self, screen: &mut Screen) {
        for file in &self.files {
            screen.heading(&format!("==> {} <==", file.path)).end();
            screen.plain(&text::printable_block(&file.text)).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.files.iter().map(|file| file.path.clone()).collect()
    }
}
