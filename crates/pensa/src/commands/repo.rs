//! `pn repo`: finds the repository around a directory, and passes the rest on.

use std::path::PathBuf;

use pensa_core::Result;
use pensa_core::ops::repo::{Add, Show};
use pensa_core::repo::Seen;
use pensa_host as host;

use super::agent::pass_on;
use crate::cli::{Options, Repo, RepoAdd};
use crate::output::Output;

use crate::connect;

pub(super) fn run(options: &Options, output: Output, command: Repo) -> Result<()> {
    match command {
        Repo::Detect(at) => output.answer(&around(at.dir)?.checked()?),
        Repo::Add(args) => pass_on(options, output, &Add { seen: seen(args)? }),
        Repo::List(op) => pass_on(options, output, &op),
        Repo::Show(op) => pass_on(options, output, &Show { id: op.id }),
        Repo::Remove(op) => pass_on(options, output, &op),
    }
}

fn around(dir: Option<PathBuf>) -> Result<Seen> {
    let cwd = connect::cwd()?;
    host::detect(&dir.map_or_else(|| cwd.clone(), |dir| cwd.join(dir)))
}

fn seen(args: RepoAdd) -> Result<Seen> {
    match args.remote {
        Some(url) => {
            Ok(Seen { vcs: args.vcs, host: None, root_path: None, remote_url: Some(url), default_branch: None })
        }
        None => around(args.dir),
    }
}
