//! The stores of a server: one for each project, and one that lists the projects and tokens.
//!
//! They lie in one PostgreSQL database or in the directories below one. Who may use them is left to the server.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use pensa_core::ops::audit::{Audit, AuditLine};
use pensa_core::ops::project;
use pensa_core::project::{Project, ProjectName, Token};
use pensa_core::{Access, Code, Error, Result};
use uuid::Uuid;

use crate::context::{Caller, Part};
use crate::db::Postgres;
use crate::engine::Engine;
use crate::error;
use crate::ops::project::SECRET_PREFIX;
use crate::store::StoreDir;
use crate::tables::projects;

/// Where the stores of a server are.
#[derive(Debug, Clone)]
pub enum Projects {
    Database(Postgres),
    Directory(PathBuf),
}

/// What a secret opens: its token, and the project as it is now; an operator's opens none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub token: Token,
    pub project: Option<Project>,
}

impl Grant {
    /// On whose behalf a request with this token comes.
    pub fn caller(&self) -> Caller {
        Caller {
            token: Some(self.token.id.to_string()),
            may: self.token.role.may(),
            project: self.token.project.clone(),
            ..Caller::local("")
        }
    }
}

/// The id of the control store of a database. No project can have it.
const CONTROL: Uuid = Uuid::nil();
/// What the control store is called where people see it.
const CONTROL_NAME: &str = "control";

impl Projects {
    /// In a PostgreSQL database, whose schema is made or brought up to date.
    pub fn in_database(address: &str, connections: usize) -> Result<Self> {
        Postgres::open(address, connections).map(Self::Database)
    }

    /// In a directory that holds projects already: a mistyped one is not made.
    pub fn in_directory(dir: &Path) -> Result<Self> {
        if !dir.join(CONTROL_NAME).is_dir() {
            return Err(Error::new(Code::NoStore, format!("no projects in {}", dir.display()))
                .hint("pn project create and pn serve make the directory"));
        }
        Self::make_directory(dir)
    }

    /// In a directory, which is made if it is not there.
    pub fn make_directory(dir: &Path) -> Result<Self> {
        let dir = std::path::absolute(dir).map_err(|e| error::io("find", dir, &e))?;
        for path in [dir.clone(), dir.join("projects")] {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
            made.map_err(|e| error::io("create", &path, &e))?;
        }
        Ok(Self::Directory(dir))
    }

    /// The place as people know it.
    pub fn place(&self) -> String {
        match self {
            Self::Database(database) => database.place(),
            Self::Directory(dir) => dir.display().to_string(),
        }
    }

    /// The store that lists the projects and tokens.
    pub fn control(&self) -> Result<Engine> {
        let engine = match self {
            Self::Database(database) => Engine::in_database(database, CONTROL_NAME, CONTROL),
            Self::Directory(dir) => Engine::open(StoreDir::create(&dir.join(CONTROL_NAME))?.0.complete_in_itself())?,
        };
        Ok(engine.being(Part::Control))
    }

    /// The store of a project.
    pub fn store(&self, project: &Project) -> Result<Engine> {
        let engine = match self {
            Self::Database(database) => {
                let id: Uuid = project.store_id.parse().map_err(|_| Error::internal("a store_id that is none"))?;
                Engine::in_database(database, project.name.as_str(), id)
            }
            Self::Directory(dir) => {
                let root = dir.join("projects").join(project.name.as_str());
                Engine::open(StoreDir::create_with_id(&root, &project.store_id)?)?
            }
        };
        Ok(engine.being(Part::Project))
    }

    /// Whether these bytes have the form of a token's secret.
    pub fn could_be_secret(bytes: &[u8]) -> bool {
        let digits = bytes.strip_prefix(SECRET_PREFIX.as_bytes());
        digits.is_some_and(|digits| digits.len() == 64 && digits.iter().all(u8::is_ascii_hexdigit))
    }

    /// What the secret with this SHA-256 opens, looked up in the control store; whether it still does is for the caller to see.
    pub fn grant(control: &Engine, hash: &[u8; 32]) -> Result<Option<Grant>> {
        let hash = hex::encode(hash);
        control.run(Access::Read, &Caller::system(), |_, tx| {
            let Some(token) = projects::token_by_hash(tx, &hash)? else { return Ok(None) };
            let project = token.project.as_ref().map(|name| projects::find(tx, name)).transpose()?;
            Ok(Some(Grant { token, project }))
        })
    }

    /// Who did what with which token, in one project or in all, newest first. An admin's token is confined to its own
    /// project; an operator's opens none, so it learns who did what, but not the texts.
    pub fn audit(&self, caller: &Caller, wanted: &Audit) -> Result<Vec<AuditLine>> {
        let control = self.control()?;
        let is_operator = caller.token.is_some() && caller.project.is_none();
        let own = wanted.project.clone().or_else(|| caller.project.clone());
        let wanted = &Audit { project: own, ..wanted.clone() };
        let mut projects = control.call(&caller.actor, &project::List { all: true })?;
        if let Some(name) = &wanted.project {
            let is_own = caller.project.as_ref().is_none_or(|own| own == name);
            projects.retain(|project| is_own && project.name == *name);
            if projects.is_empty() {
                return Err(projects::unknown(name));
            }
        }
        // The limit counts what is left after looking whom a line concerns.
        let mut lines = part(&control, caller, &Audit { limit: None, ..wanted.clone() })?;
        lines.iter_mut().for_each(|line| line.project = concerned(line));
        lines.retain(|line| wanted.project.is_none() || line.project == wanted.project);
        for project in projects {
            let mut of_project = part(&self.store(&project)?, caller, wanted)?;
            if is_operator {
                of_project.iter_mut().for_each(|line| line.detail.clear());
            }
            lines.extend(of_project.into_iter().map(|line| AuditLine { project: Some(project.name.clone()), ..line }));
        }
        // The numbers of one store are in order even where its clock was not.
        lines.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| b.event.cmp(&a.event)));
        if let Some(limit) = wanted.limit {
            lines.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        }
        Ok(lines)
    }
}

fn part(engine: &Engine, caller: &Caller, wanted: &Audit) -> Result<Vec<AuditLine>> {
    engine.run(Access::Read, caller, |cx, tx| {
        cx.require(Access::Admin, "audit.list")?;
        crate::tables::events::audit(cx, tx, wanted)
    })
}

/// The project that a line of the control store's log is about.
fn concerned(line: &AuditLine) -> Option<ProjectName> {
    line.detail.get("project")?.get("new")?.as_str()?.parse().ok()
}
