//! The commands on a server's projects and tokens. To run a server is left to `serve`.

use pensa_core::ops::audit::Audit;
use pensa_core::ops::project;
use pensa_core::{Error, Op, Result};
use pensa_engine::{Caller, Execute, Projects};

use crate::cli::{Location, Options};
use crate::connect;
use crate::output::Output;
use crate::render::Render;

/// Connections to a database for one command.
const FEW: usize = 2;

/// What becomes of a directory that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Make,
    Refuse,
}

/// The database or directory that a command names, if it names one.
pub(super) fn place(location: &Location, connections: usize, missing: Missing) -> Result<Option<Projects>> {
    let database = location.database.as_deref().filter(|url| !url.trim().is_empty());
    let dir = location.data_dir.as_deref().filter(|dir| !dir.as_os_str().is_empty());
    match (database, dir) {
        (Some(_), Some(_)) => Err(Error::invalid("both a database and a data directory are named")
            .hint("give --database or --data-dir; PN_DATABASE and PN_DATA_DIR count too")),
        (Some(url), None) => Projects::in_database(url, connections).map(Some),
        (None, Some(dir)) => {
            let dir = connect::cwd()?.join(dir);
            match missing {
                Missing::Make => Projects::make_directory(&dir).map(Some),
                Missing::Refuse => Projects::in_directory(&dir).map(Some),
            }
        }
        (None, None) => Ok(None),
    }
}

/// Runs an operation on a server's projects and tokens: on what it keeps them in, or through it.
pub(super) fn run<O: Execute>(options: &Options, output: Output, location: &Location, op: &O) -> Result<()>
where
    O::Output: Render,
{
    let missing = if O::NAME == project::Create::NAME { Missing::Make } else { Missing::Refuse };
    let answer = match place(location, FEW, missing)? {
        Some(projects) => projects.control()?.call(&connect::actor_source(options)?(), op)?,
        None => through(options, op)?,
    };
    output.answer(&answer)
}

pub(super) fn audit(options: &Options, output: Output, location: &Location, op: &Audit) -> Result<()> {
    let answer = match place(location, FEW, Missing::Refuse)? {
        Some(projects) => projects.audit(&Caller::local("auditor"), op)?,
        None => through(options, op)?,
    };
    output.answer(&answer)
}

fn through<O: Execute>(options: &Options, op: &O) -> Result<O::Output> {
    if connect::server(options)?.is_none() {
        return Err(Error::invalid("which server is not said")
            .hint("give --database or --data-dir, or --remote-server and the token of an operator or an admin"));
    }
    connect::client(options)?.call(op)
}
