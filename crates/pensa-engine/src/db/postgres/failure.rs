//! What went wrong between us and PostgreSQL, and what that means for whoever asked.

use pensa_core::{Code, Error};
use tokio_postgres::error::SqlState;

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

pub(super) fn unbound_role() -> Error {
    Error::new(Code::Forbidden, "the role pensa_tenant may bypass row-level security")
        .hint("take SUPERUSER and BYPASSRLS away from it: projects are kept apart by row-level security")
}

const UP_HINT: &str = "is PostgreSQL running, and is the address right?";
const TRUST_HINT: &str = "name the file of its certificate authority in the address: sslrootcert=/path/to/ca.pem";

impl From<tokio_postgres::Error> for Failure {
    fn from(e: tokio_postgres::Error) -> Self {
        let Some(said) = e.as_db_error() else {
            // Everything that is not the server's own word came from the way to it.
            let why = std::error::Error::source(&e).map_or_else(|| e.to_string(), ToString::to_string);
            let hint = if why.contains("certificate") { TRUST_HINT } else { UP_HINT };
            let error = Error::new(Code::Unreachable, format!("cannot reach the database: {why}")).hint(hint);
            return Self { error, kind: Kind::Lost };
        };
        let told = |code, text: &str| Error::new(code, format!("{text}: {}", said.message()));
        let class = said.code().code().get(..2).unwrap_or_default();
        let (error, kind) = match said.code() {
            &SqlState::LOCK_NOT_AVAILABLE => {
                (told(Code::Busy, "the database is busy").hint("try again in a moment"), Kind::Other)
            }
            &SqlState::QUERY_CANCELED => {
                (Error::new(Code::Timeout, "the database took too long").hint("ask for less"), Kind::Other)
            }
            &SqlState::TOO_MANY_CONNECTIONS => {
                (told(Code::Busy, "the database has no connection left").hint("try again in a moment"), Kind::Lost)
            }
            &SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED => {
                (told(Code::Busy, "the database is busy").hint("try again in a moment"), Kind::Again)
            }
            &SqlState::READ_ONLY_SQL_TRANSACTION => {
                (told(Code::Unreachable, "the database takes no writes").hint(UP_HINT), Kind::Lost)
            }
            &SqlState::ADMIN_SHUTDOWN | &SqlState::CRASH_SHUTDOWN | &SqlState::CANNOT_CONNECT_NOW => {
                (told(Code::Unreachable, "the database is going down or coming up").hint(UP_HINT), Kind::Lost)
            }
            &SqlState::DISK_FULL => (
                Error::new(Code::DiskFull, "no space left on the disk of the database")
                    .hint("free some space and try again; nothing was changed"),
                Kind::Other,
            ),
            &SqlState::INSUFFICIENT_PRIVILEGE => (told(Code::Forbidden, "the database refuses"), Kind::Other),
            &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED => {
                (told(Code::Corrupt, "the database is damaged"), Kind::Other)
            }
            _ if class == "08" => (told(Code::Unreachable, "cannot reach the database").hint(UP_HINT), Kind::Lost),
            _ if class == "28" || class == "3D" => {
                (told(Code::Unreachable, "the database lets nobody in").hint("check the address"), Kind::Lost)
            }
            code => (Error::internal(format!("database: {} ({})", said.message(), code.code())), Kind::Other),
        };
        Self { error, kind }
    }
}
