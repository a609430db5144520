//! Who runs an operation, when, and where new ids come from: everything an operation may not fetch for itself.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use pensa_core::id::IssueId;
use pensa_core::issue::{Origin, Requester};
use pensa_core::ops::store::Report;
use pensa_core::project::ProjectName;
use pensa_core::{Access, Code, Error, Result, Timestamp, text};
use pensa_redact::{Allow, Redactor};
use uuid::Uuid;

pub use pensa_core::caller::{Caller, SYSTEM};

use crate::clock::Clock;
use crate::store::{Home, StoreDir};

/// Gives out the random bits of new ids.
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

/// What a store is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Nothing: a store of its own.
    Alone,
    /// A server: it holds one of its projects.
    Project,
    /// A server: it holds the list of its projects and tokens.
    Control,
}

/// The error of a caller whose token lets it do less than `access`.
pub fn too_little(access: Access, what: &str) -> Error {
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

/// How many secrets were taken out of an operation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redactions {
    pub(crate) total: usize,
    /// The same for each item of its list of objects, if it has one.
    pub(crate) items: Vec<usize>,
}

/// What a surface adds to the check-up of a store in a directory: given that directory and whether to put things right.
pub type CheckUp = fn(&Path, bool, &mut Report);

/// The circumstances of one operation.
#[derive(Debug)]
pub struct Context<'a> {
    pub actor: String,
    pub now: Timestamp,
    /// Whether `now` has to be confirmed before anything runs out by it.
    pub(crate) is_by_system_clock: bool,
    pub store: &'a Home,
    pub(crate) token: Option<String>,
    pub(crate) origin: Origin,
    may: Access,
    confined_to: Option<ProjectName>,
    part: Part,
    ids: &'a dyn Ids,
    pub(crate) no_redact: bool,
    /// What looks like a secret here and is none.
    pub(crate) allow: Option<Arc<Allow>>,
    /// What else doctor looks at.
    pub(crate) check_up: Option<CheckUp>,
    /// What was taken out of the operation.
    pub(crate) redactions: RefCell<Redactions>,
    /// What earlier lines of a batch called the issues they made.
    names: RefCell<HashMap<String, IssueId>>,
}

impl<'a> Context<'a> {
    pub fn new(caller: &Caller, clock: &dyn Clock, ids: &'a dyn Ids, store: &'a Home, part: Part) -> Result<Self> {
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
            is_by_system_clock: clock.is_the_systems(),
            store,
            token,
            origin,
            may,
            confined_to,
            part,
            ids,
            no_redact: caller.no_redact,
            allow: None,
            check_up: None,
            redactions: RefCell::default(),
            names: RefCell::default(),
        })
    }

    /// The caller as somebody who asks for a change of an issue's state.
    pub(crate) fn requester(&self, force: bool) -> Requester<'_> {
        Requester { actor: &self.actor, origin: &self.origin, force }
    }

    pub fn uuid(&self) -> Uuid {
        self.ids.next()
    }

    /// Refuses a caller who may not do as much as `access`.
    pub(crate) fn require(&self, access: Access, what: &str) -> Result<()> {
        if access <= self.may {
            return Ok(());
        }
        Err(too_little(access, what))
    }

    /// Whether this caller may manage a project of the server. To other callers it looks as if it did not exist.
    pub(crate) fn manages(&self, project: Option<&ProjectName>) -> bool {
        self.confined_to.is_none() || self.confined_to.as_ref() == project
    }

    /// Refuses what only a server's control store can do.
    pub(crate) fn require_control(&self) -> Result<()> {
        if self.part == Part::Control { Ok(()) } else { Err(no_server()) }
    }

    /// Refuses what only the stores of a server can do.
    pub(crate) fn require_server(&self) -> Result<()> {
        if self.part == Part::Alone { Err(no_server()) } else { Ok(()) }
    }

    /// Refuses workspaces where there are none.
    pub(crate) fn require_workspaces(&self) -> Result<()> {
        if self.part == Part::Project {
            return Ok(());
        }
        Err(Error::new(Code::Unsupported, "workspaces are a matter of servers, and this is a store of its own")
            .hint("leave out --workspace, or name a server with --remote-server"))
    }

    /// The directory of a store of its own, for files that lie beside it. Servers keep none for those who have tokens.
    pub(crate) fn own_files(&self) -> Option<&StoreDir> {
        if self.part == Part::Alone { self.store.dir().ok() } else { None }
    }

    /// The place of the store as its users may know it. Where a server keeps things is not for all who have a token.
    pub(crate) fn place(&self) -> String {
        match self.part {
            Part::Alone => self.store.place(),
            Part::Project | Part::Control => format!("project {}", self.store.name()),
        }
    }

    /// A file of the store as its users may know it.
    pub(crate) fn place_of(&self, file: &Path) -> String {
        match self.part {
            Part::Alone => file.display().to_string(),
            Part::Project | Part::Control => file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        }
    }

    /// What the store belongs to, as its users may know it.
    pub(crate) fn project(&self) -> String {
        match self.part {
            Part::Alone => self.store.project(),
            Part::Project | Part::Control => self.store.name(),
        }
    }

    /// The same circumstances, but as what happens by itself.
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
            part: self.part,
            ids: self.ids,
            no_redact: self.no_redact,
            allow: self.allow.clone(),
            check_up: self.check_up,
            redactions: RefCell::default(),
            names: RefCell::default(),
        }
    }

    /// The same circumstances for what somebody else did elsewhere and this caller only brings: the log names the token,
    /// but nobody here can take it back as a doing of theirs.
    pub(crate) fn as_carrier(&self) -> Self {
        Self { token: self.token.clone(), ..self.as_system() }
    }

    /// How many secrets were taken out of the operation.
    pub(crate) fn redacted(&self) -> i64 {
        i64::try_from(self.redactions.borrow().total).unwrap_or(i64::MAX)
    }

    /// How many of them were in one item of its list.
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
