//! The stores of a server: one for each project, and a control store that lists projects and tokens.
//!
//! They are in one PostgreSQL database, or in one directory. The server decides who may use them.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use pensa_core::ops::audit::{Audit, AuditLine};
use pensa_core::ops::project;
use pensa_core::project::{Project, ProjectName, Token};
use pensa_core::{Access, Code, Error, Result};
use uuid::Uuid;

use crate::context::{Caller, StoreRole};
use crate::db::Postgres;
use crate::engine::Engine;
use crate::error;
use crate::ops::project::SECRET_PREFIX;
use crate::store::StoreDir;
use crate::tables::projects;

/// The location of a server's stores.
#[derive(Debug, Clone)]
pub enum Projects {
    Database(Postgres),
    Directory(PathBuf),
}

/// What a token's secret grants: the token, and its project. An operator's token has no project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub token: Token,
    pub project: Option<Project>,
}

impl Grant {
    /// The caller of a request with this token.
    pub fn caller(&self) -> Caller {
        Caller {
            token: Some(self.token.id.to_string()),
            may: self.token.role.may(),
            project: self.token.project.clone(),
            ..Caller::local("")
        }
    }
}

/// The id of the control store in a database. No project can have it.
const CONTROL: Uuid = Uuid::nil();
/// The name of the control store in messages.
const CONTROL_NAME: &str = "control";

impl Projects {
    /// Opens the stores in a PostgreSQL database, and migrates its schema.
    pub fn in_database(address: &str, connections: usize) -> Result<Self> {
        Postgres::open(address, connections).map(Self::Database)
    }

    /// Opens the stores in an existing directory. A mistyped path is an error, not a new directory.
    pub fn in_directory(dir: &Path) -> Result<Self> {
        if !dir.join(CONTROL_NAME).is_dir() {
            return Err(Error::new(Code::NoStore, format!("no projects in {}", dir.display()))
                .hint("pn project create and pn serve make the directory"));
        }
        Self::make_directory(dir)
    }

    /// Opens the stores in a directory, created if needed.
    pub fn make_directory(dir: &Path) -> Result<Self> {
        let dir = std::path::absolute(dir).map_err(|e| error::io("find", dir, &e))?;
        for path in [dir.clone(), dir.join("projects")] {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
            made.map_err(|e| error::io("create", &path, &e))?;
        }
        Ok(Self::Directory(dir))
    }

    /// The location for messages, without secrets.
    pub fn display_name(&self) -> String {
        match self {
            Self::Database(database) => database.display_name(),
            Self::Directory(dir) => dir.display().to_string(),
        }
    }

    /// Opens the control store, which lists projects and tokens.
    pub fn control(&self) -> Result<Engine> {
        let engine = match self {
            Self::Database(database) => Engine::in_database(database, CONTROL_NAME, CONTROL),
            Self::Directory(dir) => Engine::open(StoreDir::create(&dir.join(CONTROL_NAME))?.0.with_local_durable())?,
        };
        Ok(engine.with_role(StoreRole::Control))
    }

    /// Opens the store of a project.
    pub fn store(&self, project: &Project) -> Result<Engine> {
        let engine = match self {
            Self::Database(database) => {
                let id: Uuid = project.store_id.parse().map_err(|_| Error::internal("not a store_id"))?;
                Engine::in_database(database, project.name.as_str(), id)
            }
            Self::Directory(dir) => {
                let root = dir.join("projects").join(project.name.as_str());
                Engine::open(StoreDir::create_with_id(&root, &project.store_id)?)?
            }
        };
        Ok(engine.with_role(StoreRole::Project))
    }

    /// Whether `bytes` have the form of a token's secret.
    pub fn could_be_secret(bytes: &[u8]) -> bool {
        let digits = bytes.strip_prefix(SECRET_PREFIX.as_bytes());
        digits.is_some_and(|digits| digits.len() == 64 && digits.iter().all(u8::is_ascii_hexdigit))
    }

    /// Looks up the token with this SHA-256 in the control store. The caller must check whether it is still valid.
    pub fn grant(control: &Engine, hash: &[u8; 32]) -> Result<Option<Grant>> {
        let hash = hex::encode(hash);
        control.run(Access::Read, &Caller::system(), |_, tx| {
            let Some(token) = projects::token_by_hash(tx, &hash)? else { return Ok(None) };
            let project = token.project.as_ref().map(|name| projects::find(tx, name)).transpose()?;
            Ok(Some(Grant { token, project }))
        })
    }

    /// The audit log, newest first: who did what with which token, in one project or in all. An admin's token sees its
    /// own project only. An operator's token sees all projects, but not the texts.
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
        // The limit applies after filtering by project.
        let mut lines = audit_lines(&control, caller, &Audit { limit: None, ..wanted.clone() })?;
        lines.iter_mut().for_each(|line| line.project = concerned_project(line));
        lines.retain(|line| wanted.project.is_none() || line.project == wanted.project);
        for project in projects {
            let mut of_project = audit_lines(&self.store(&project)?, caller, wanted)?;
            if is_operator {
                of_project.iter_mut().for_each(|line| line.detail.clear());
            }
            lines.extend(of_project.into_iter().map(|line| AuditLine { project: Some(project.name.clone()), ..line }));
        }
        // Within one store, event numbers are in order even where its clock was not.
        lines.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| b.event.cmp(&a.event)));
        if let Some(limit) = wanted.limit {
            lines.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        }
        Ok(lines)
    }
}

fn audit_lines(engine: &Engine, caller: &Caller, wanted: &Audit) -> Result<Vec<AuditLine>> {
    engine.run(Access::Read, caller, |cx, tx| {
        cx.require(Access::Admin, "audit.list")?;
        crate::tables::events::audit(cx, tx, wanted)
    })
}

/// The project that a line of the control store's log concerns.
fn concerned_project(line: &AuditLine) -> Option<ProjectName> {
    line.detail.get("project")?.get("new")?.as_str()?.parse().ok()
}
