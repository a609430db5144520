//! The context of an operation: who runs it, when, and where new ids come from. Operations take these from here only,
//! never from the environment.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use pensa_core::id::IssueId;
use pensa_core::issue::{IssueRules, Origin, Requester};
use pensa_core::ops::store::Report;
use pensa_core::project::ProjectName;
use pensa_core::{Access, Code, Error, Result, Timestamp, text};
use pensa_redact::{Allowlist, Redactor};
use uuid::Uuid;

pub use pensa_core::caller::{Caller, SYSTEM};

use crate::clock::Clock;
use crate::db::Operation;
use crate::store::{StoreDir, StoreLocation};

/// A source of random ids, which tests replace.
pub trait Ids: Debug + Send + Sync {
    fn next(&self) -> Uuid;
}

#[derive(Debug, Clone, Copy)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn next(&self) -> Uuid {
        Uuid::now_v7()
    }
}

/// The role of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreRole {
    /// A store of its own, not part of a server.
    Standalone,
    /// A project of a server.
    Project,
    /// A server's control store, which lists its projects and tokens.
    Control,
}

/// The error for a caller whose token grants less than `access`.
pub fn insufficient_rights(access: Access, what: &str) -> Error {
    Error::new(Code::Forbidden, format!("{what} needs more rights than this token has")).hint(match access {
        Access::Operate => {
            "an operator's token manages the server: pn token create --operator, on its database or directory"
        }
        _ => "ask for a token with a higher role: viewer, agent, maintainer, admin",
    })
}

fn no_server() -> Error {
    Error::new(Code::Unsupported, "this is one store, not a server with projects and tokens")
        .hint("pn serve runs one; name its database or directory with --database or --data-dir")
}

/// How many secrets were redacted in an operation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redactions {
    pub(crate) total: usize,
    /// The same for each item of the operation's list of objects, if it has one.
    pub(crate) items: Vec<usize>,
}

/// Checks that a program adds to `doctor`. It gets the store's directory and whether to repair.
pub type CheckUp = fn(&Path, bool, &mut Report);

/// Has a query embedded, if this machine has a model.
pub trait QueryEmbedder: Debug + Send + Sync {
    /// The model's id and the query's vector.
    fn embed_query(&self, query: &str) -> Option<(String, Vec<f32>)>;
}

/// The context of one operation.
#[derive(Debug)]
pub struct Context<'a> {
    pub actor: String,
    pub now: Timestamp,
    /// Whether `now` comes from the system clock and must be checked before anything expires.
    pub(crate) is_by_system_clock: bool,
    pub store: &'a StoreLocation,
    pub(crate) token: Option<String>,
    pub(crate) origin: Origin,
    may: Access,
    confined_to: Option<ProjectName>,
    role: StoreRole,
    ids: &'a dyn Ids,
    pub(crate) no_redact: bool,
    /// Texts that look like secrets but are allowed.
    pub(crate) allow: Option<Arc<Allowlist>>,
    /// What the project's settings say about issues.
    pub(crate) rules: Arc<IssueRules>,
    /// Further checks of `doctor`.
    pub(crate) check_up: Option<CheckUp>,
    /// The model that embeds queries.
    pub(crate) embedder: Option<Arc<dyn QueryEmbedder>>,
    /// The secrets redacted so far.
    pub(crate) redactions: RefCell<Redactions>,
    /// Names that earlier lines of a batch gave to the issues they created.
    names: RefCell<HashMap<String, IssueId>>,
}

impl<'a> Context<'a> {
    pub fn new(
        caller: &Caller,
        clock: &dyn Clock,
        ids: &'a dyn Ids,
        store: &'a StoreLocation,
        role: StoreRole,
    ) -> Result<Self> {
        let clean = |text: &str| match caller.no_redact {
            true => text.to_owned(),
            false => pensa_redact::text(text).0.into_owned(),
        };
        let line = |name: &str, given: &Option<String>| -> Result<Option<String>> {
            Ok(text::optional_line(name, given.as_ref())?.as_deref().map(clean))
        };
        let actor = clean(text::line("actor", &caller.actor)?);
        let (token, may, confined_to) = (caller.token.clone(), caller.may, caller.project.clone());
        let Origin { session, run, host } = &caller.origin;
        let origin = Origin { session: line("session", session)?, run: line("run", run)?, host: line("host", host)? };
        Ok(Self {
            actor,
            now: clock.now()?,
            is_by_system_clock: clock.is_system_clock(),
            store,
            token,
            origin,
            may,
            confined_to,
            role,
            ids,
            no_redact: caller.no_redact,
            allow: None,
            rules: Arc::default(),
            check_up: None,
            embedder: None,
            redactions: RefCell::default(),
            names: RefCell::default(),
        })
    }

    /// The caller as the requester of an issue's state change.
    pub(crate) fn requester(&self, force: bool) -> Requester<'_> {
        Requester { actor: &self.actor, origin: &self.origin, force }
    }

    /// The actor, session and time for the journal.
    pub(crate) fn operation(&self) -> Operation<'_> {
        Operation { actor: &self.actor, session: self.origin.claim_session(), at: self.now }
    }

    pub fn uuid(&self) -> Uuid {
        self.ids.next()
    }

    /// Refuses a caller who has fewer rights than `access`.
    pub(crate) fn require(&self, access: Access, what: &str) -> Result<()> {
        if access <= self.may {
            return Ok(());
        }
        Err(insufficient_rights(access, what))
    }

    /// Whether the caller may manage a project of the server. For other callers, the project must look as if it did not
    /// exist.
    pub(crate) fn manages(&self, project: Option<&ProjectName>) -> bool {
        self.confined_to.is_none() || self.confined_to.as_ref() == project
    }

    /// Refuses operations that need a server's control store.
    pub(crate) fn require_control(&self) -> Result<()> {
        if self.role == StoreRole::Control { Ok(()) } else { Err(no_server()) }
    }

    /// Refuses operations that need a store of a server.
    pub(crate) fn require_server(&self) -> Result<()> {
        if self.role == StoreRole::Standalone { Err(no_server()) } else { Ok(()) }
    }

    /// Refuses workspaces outside a server.
    pub(crate) fn require_workspaces(&self) -> Result<()> {
        if self.role == StoreRole::Project {
            return Ok(());
        }
        Err(Error::new(Code::Unsupported, "workspaces exist only on a server, and this is a standalone store")
            .hint("leave out --workspace, or name a server with --remote-server"))
    }

    /// The directory of a standalone store, for files beside the database. `None` on servers, which keep no files for
    /// token holders.
    pub(crate) fn own_files(&self) -> Option<&StoreDir> {
        if self.role == StoreRole::Standalone { self.store.dir().ok() } else { None }
    }

    /// The store's location as the caller may see it. A server's paths are not for everybody who has a token.
    pub(crate) fn visible_location(&self) -> String {
        match self.role {
            StoreRole::Standalone => self.store.display_name(),
            StoreRole::Project | StoreRole::Control => format!("project {}", self.store.project_name()),
        }
    }

    /// A file of the store as the caller may see it.
    pub(crate) fn visible_path(&self, file: &Path) -> String {
        match self.role {
            StoreRole::Standalone => file.display().to_string(),
            StoreRole::Project | StoreRole::Control => {
                file.file_name().unwrap_or_default().to_string_lossy().into_owned()
            }
        }
    }

    /// The store's project as the caller may see it.
    pub(crate) fn visible_project(&self) -> String {
        match self.role {
            StoreRole::Standalone => self.store.project(),
            StoreRole::Project | StoreRole::Control => self.store.project_name(),
        }
    }

    /// The same context for automatic changes, such as expiring leases.
    pub(crate) fn as_system(&self) -> Self {
        Self {
            actor: SYSTEM.to_owned(),
            now: self.now,
            is_by_system_clock: self.is_by_system_clock,
            store: self.store,
            token: None,
            origin: Origin::default(),
            may: self.may,
            confined_to: self.confined_to.clone(),
            role: self.role,
            ids: self.ids,
            no_redact: self.no_redact,
            allow: self.allow.clone(),
            rules: self.rules.clone(),
            check_up: self.check_up,
            embedder: self.embedder.clone(),
            redactions: RefCell::default(),
            names: RefCell::default(),
        }
    }

    /// The same context for changes that somebody else made in another store and this caller only brings. The log names
    /// the caller's token, but the system as the actor, so the caller cannot undo the changes as their own.
    pub(crate) fn as_proxy(&self) -> Self {
        Self { token: self.token.clone(), ..self.as_system() }
    }

    /// The number of secrets redacted in the operation.
    pub(crate) fn redacted(&self) -> i64 {
        i64::try_from(self.redactions.borrow().total).unwrap_or(i64::MAX)
    }

    /// The number of secrets redacted in one item of the operation's list.
    pub(crate) fn redacted_in(&self, item: usize) -> i64 {
        i64::try_from(self.redactions.borrow().items.get(item).copied().unwrap_or_default()).unwrap_or(i64::MAX)
    }

    pub(crate) fn redactor(&self) -> Redactor {
        Redactor::new(self.allow.clone())
    }

    pub(crate) fn name(&self, name: String, id: IssueId) {
        self.names.borrow_mut().insert(name, id);
    }

    pub(crate) fn named(&self, name: &str) -> Option<IssueId> {
        self.names.borrow().get(name).cloned()
    }
}
