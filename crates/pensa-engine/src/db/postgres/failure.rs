//! What went wrong between us and PostgreSQL, and what that means for whoever asked.

use std::io;

use fallible_iterator::FallibleIterator;
use pensa_core::{Code, Error};
use postgres_protocol::message::backend::{ErrorFields, ErrorResponseBody, NoticeResponseBody};

/// A failure, with what may be done about it.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: Error,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The connection is of no more use; the database may be there for a new one.
    Lost,
    /// The same, but the server does not even say so: it hangs, and so would another try.
    Silent,
    /// Somebody else holds what it needs for longer than it may wait.
    Locked,
    /// Two transactions got into each other's way: the same again may well succeed.
    Again,
    /// One of several operations failed after it had changed something: the same again, each with a savepoint.
    Undo,
    Other,
}

impl Failure {
    pub(super) fn other(error: Error) -> Self {
        Self { error, kind: Kind::Other }
    }

    /// The same of a server that then said no more.
    pub(super) fn with_connection_lost(mut self) -> Self {
        if !self.is_lost() {
            self.kind = Kind::Lost;
        }
        self
    }

    pub(super) fn is_lost(&self) -> bool {
        matches!(self.kind, Kind::Lost | Kind::Silent)
    }

    /// Explains a refusal to act in our own role.
    pub(super) fn within_role(mut self) -> Self {
        if self.kind == Kind::Other && self.error.code != Code::Busy {
            self.error = self.error.hint(ROLE_HINT);
        }
        self
    }
}

pub(super) const ROLE_HINT: &str = "the user of the database address must be allowed to make a schema in it and to act \
     as pensa_tenant; its administrator can run: CREATE ROLE pensa_tenant NOLOGIN; GRANT pensa_tenant TO the_user; \
     GRANT CREATE ON DATABASE the_database TO the_user";

pub(super) fn silent() -> Failure {
    let error = Error::new(Code::Unreachable, "the database does not answer").hint(UP_HINT);
    Failure { error, kind: Kind::Silent }
}

/// What is asked of a connection that was lost before.
pub(super) fn gone() -> Failure {
    io::Error::new(io::ErrorKind::NotConnected, "the connection was lost").into()
}

pub(super) fn unbound_role() -> Error {
    Error::new(Code::Forbidden, "the role pensa_tenant may bypass row-level security")
        .hint("take SUPERUSER and BYPASSRLS away from it: projects are kept apart by row-level security")
}

const UP_HINT: &str = "is PostgreSQL running, and is the address right?";
const TRUST_HINT: &str = "name the file of its certificate authority in the address: sslrootcert=/path/to/ca.pem";

/// Everything that is not the server's own word came from the way to it.
impl From<io::Error> for Failure {
    fn from(e: io::Error) -> Self {
        let why = e.to_string();
        let hint = if why.contains("certificate") { TRUST_HINT } else { UP_HINT };
        let error = Error::new(Code::Unreachable, format!("cannot reach the database: {why}")).hint(hint);
        Self { error, kind: Kind::Lost }
    }
}

impl From<&ErrorResponseBody> for Failure {
    fn from(body: &ErrorResponseBody) -> Self {
        Self::from(&Said::from(body))
    }
}

/// What the server says of a failure, or to be noted.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// Five letters and digits that say what happened, in every language.
    code: String,
    pub(super) message: String,
    routine: String,
}

impl From<&ErrorResponseBody> for Said {
    fn from(body: &ErrorResponseBody) -> Self {
        Self::of(body.fields())
    }
}

impl From<&NoticeResponseBody> for Said {
    fn from(body: &NoticeResponseBody) -> Self {
        Self::of(body.fields())
    }
}

impl Said {
    /// Fields that cannot be read are missing.
    fn of(mut fields: ErrorFields<'_>) -> Self {
        let mut said = Self::default();
        while let Ok(Some(field)) = fields.next() {
            let value = || String::from_utf8_lossy(field.value_bytes()).into_owned();
            match field.type_() {
                b'C' => said.code = value(),
                b'M' => said.message = value(),
                b'R' => said.routine = value(),
                _ => {}
            }
        }
        said
    }

    /// Whether it says that the wait for a standby was given up. That is a mere warning, in the server's language and
    /// without a code of its own; only the place it comes from tells.
    pub(super) fn is_of_standby(&self) -> bool {
        self.routine == "SyncRepWaitForLSN" || self.code == ADMIN_SHUTDOWN
    }
}

const ADMIN_SHUTDOWN: &str = "57P01";

impl From<&Said> for Failure {
    fn from(said: &Said) -> Self {
        let told = |code, text: &str| Error::new(code, format!("{text}: {}", said.message));
        let class = said.code.get(..2).unwrap_or_default();
        let (error, kind) = match said.code.as_str() {
            // lock_not_available
            "55P03" => (told(Code::Busy, "the database is busy").hint("try again in a moment"), Kind::Locked),
            // query_canceled
            "57014" => (Error::new(Code::Timeout, "the database took too long").hint("ask for less"), Kind::Other),
            // too_many_connections
            "53300" => {
                (told(Code::Busy, "the database has no connection left").hint("try again in a moment"), Kind::Lost)
            }
            // serialization_failure, deadlock_detected
            "40001" | "40P01" => (told(Code::Busy, "the database is busy").hint("try again in a moment"), Kind::Again),
            // read_only_sql_transaction
            "25006" => (told(Code::Unreachable, "the database takes no writes").hint(UP_HINT), Kind::Lost),
            // admin_shutdown, crash_shutdown, cannot_connect_now
            ADMIN_SHUTDOWN | "57P02" | "57P03" => {
                (told(Code::Unreachable, "the database is going down or coming up").hint(UP_HINT), Kind::Lost)
            }
            // disk_full
            "53100" => (
                Error::new(Code::DiskFull, "no space left on the disk of the database")
                    .hint("free some space and try again; nothing was changed"),
                Kind::Other,
            ),
            // insufficient_privilege
            "42501" => (told(Code::Forbidden, "the database refuses"), Kind::Other),
            // data_corrupted, index_corrupted
            "XX001" | "XX002" => (told(Code::Corrupt, "the database is damaged"), Kind::Other),
            _ if class == "08" => (told(Code::Unreachable, "cannot reach the database").hint(UP_HINT), Kind::Lost),
            _ if class == "28" || class == "3D" => {
                (told(Code::Unreachable, "the database lets nobody in").hint("check the address"), Kind::Lost)
            }
            code => (Error::internal(format!("database: {} ({code})", said.message)), Kind::Other),
        };
        Self { error, kind }
    }
}
