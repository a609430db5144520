//! `pn repo`: detects the repository of a directory, and manages known repositories.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pensa_core::Result;
use pensa_core::ops::repo::{self, Add, Removed, Show};
use pensa_core::repo::{Repo, RepoLocation, Workspace};
use pensa_host as host;

use super::agent::run_agent_op;
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{ListItem, Render, Screen, field, when};

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum RepoCommand {
    Detect(RepoDetectArgs),
    Add(RepoAddArgs),
    List(repo::List),
    Show(Show),
    Remove(repo::Remove),
}

/// Show which repository a directory belongs to
#[derive(Debug, Args)]
pub(crate) struct RepoDetectArgs {
    /// A directory of the repository [default: the current one]
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

/// Add a repository: the one that contains a directory, or one known by its address only
#[derive(Debug, Args)]
pub(crate) struct RepoAddArgs {
    /// A directory of the repository [default: the current one]
    #[arg(value_name = "DIR", conflicts_with = "remote")]
    pub(crate) dir: Option<PathBuf>,
    /// The address of a repository that is not on this machine
    #[arg(long, value_name = "URL")]
    pub(crate) remote: Option<String>,
    /// Its version control system
    #[arg(long, value_name = "VCS", default_value = "git", requires = "remote")]
    pub(crate) vcs: pensa_core::repo::Vcs,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum WorkspaceCommand {
    Create(repo::CreateWorkspace),
    List(repo::ListWorkspaces),
}

pub(super) fn run(options: &GlobalOptions, output: Output, command: RepoCommand) -> Result<()> {
    match command {
        RepoCommand::Detect(at) => output.answer(&around(at.dir)?.checked()?),
        RepoCommand::Add(args) => run_agent_op(options, output, &Add { seen: seen(args)? }),
        RepoCommand::List(op) => run_agent_op(options, output, &op),
        RepoCommand::Show(op) => run_agent_op(options, output, &Show { id: op.id }),
        RepoCommand::Remove(op) => run_agent_op(options, output, &op),
    }
}

fn around(dir: Option<PathBuf>) -> Result<RepoLocation> {
    let cwd = connect::cwd()?;
    host::detect(&dir.map_or_else(|| cwd.clone(), |dir| cwd.join(dir)))
}

fn seen(args: RepoAddArgs) -> Result<RepoLocation> {
    match args.remote {
        Some(url) => {
            Ok(RepoLocation { vcs: args.vcs, host: None, root_path: None, remote_url: Some(url), default_branch: None })
        }
        None => around(args.dir),
    }
}

fn repo_line(repo: &Repo, screen: &mut Screen) {
    screen.id(&repo.id).plain(&format!(" {:<6} ", repo.vcs));
    screen.text(repo.root_path.as_deref().or(repo.remote_url.as_deref()).unwrap_or_default());
    if let Some(url) = repo.remote_url.as_ref().filter(|_| repo.root_path.is_some()) {
        screen.plain(" ").faint(url);
    }
    screen.end();
}

impl Render for Repo {
    fn render(&self, screen: &mut Screen) {
        repo_line(self, screen);
        field(screen, "host", self.host.clone());
        field(screen, "branch", self.default_branch.clone());
        field(screen, "known since", Some(when(self.created_at)));
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl ListItem for Repo {
    const NOUN: [&str; 2] = ["repository", "repositories"];

    fn render_item(&self, screen: &mut Screen) {
        repo_line(self, screen);
    }

    fn item_ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for RepoLocation {
    fn render(&self, screen: &mut Screen) {
        screen.plain(&format!("{} ", self.vcs)).text(self.root_path.as_deref().unwrap_or_default()).end();
        field(screen, "remote", self.remote_url.clone());
        field(screen, "branch", self.default_branch.clone());
    }

    fn ids(&self) -> Vec<String> {
        self.root_path.iter().cloned().collect()
    }
}

impl Render for Removed {
    fn render(&self, screen: &mut Screen) {
        screen.plain("removed ").id(&self.id).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

fn workspace_line(workspace: &Workspace, screen: &mut Screen) {
    screen.id(&workspace.id).plain(" ").text(&workspace.name).end();
}

impl Render for Workspace {
    fn render(&self, screen: &mut Screen) {
        workspace_line(self, screen);
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl ListItem for Workspace {
    const NOUN: [&str; 2] = ["workspace", "workspaces"];

    fn render_item(&self, screen: &mut Screen) {
        workspace_line(self, screen);
    }

    fn item_ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}
