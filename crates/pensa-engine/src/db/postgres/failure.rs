//! What went wrong between us and PostgreSQL, and what that means for the caller.

use std::error::Error as _;

use pensa_core::{Code, Error};
use tokio_postgres::error::{DbError, Severity};

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

/// Whether a warning says that the server gave up waiting for a standby. It has no code of its own and is in the
/// server's language; only the routine that it comes from tells.
pub(super) fn is_of_standby(notice: &DbError) -> bool {
    notice.routine() == Some("SyncRepWaitForLSN") || notice.code().code() == ADMIN_SHUTDOWN
}

const ADMIN_SHUTDOWN: &str = "57P01";

/// A statement failed.
impl From<tokio_postgres::Error> for Failure {
    fn from(e: tokio_postgres::Error) -> Self {
        match e.as_db_error() {
            Some(refused) => Self::from(refused),
            None if e.is_closed() => unreachable("the connection was lost"),
            // A value that does not fit its placeholder.
            None => Self::other(Error::internal(text(&e))),
        }
    }
}

/// No connection could be made.
pub(super) fn connecting(e: &tokio_postgres::Error) -> Failure {
    e.as_db_error().map_or_else(|| unreachable(&text(e)), Failure::from)
}

fn text(e: &tokio_postgres::Error) -> String {
    e.source().map_or_else(|| e.to_string(), |source| format!("{e}: {source}"))
}

/// The way to the server failed.
fn unreachable(why: &str) -> Failure {
    let hint = if why.contains("certificate") { TRUST_HINT } else { UP_HINT };
    let error = Error::new(Code::Unreachable, format!("cannot reach the database: {why}")).hint(hint);
    Failure { error, kind: Kind::Lost }
}

impl From<&DbError> for Failure {
    fn from(refused: &DbError) -> Self {
        let told = |code, text: &str| Error::new(code, format!("{text}: {}", refused.message()));
        let class = refused.code().code().get(..2).unwrap_or_default();
        let (error, kind) = match refused.code().code() {
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
            // The connection is over, whatever the reason.
            _ if matches!(refused.parsed_severity(), Some(Severity::Fatal | Severity::Panic)) => {
                (told(Code::Unreachable, "the database closed the connection").hint(UP_HINT), Kind::Lost)
            }
            code => (Error::internal(format!("database: {} ({code})", refused.message())), Kind::Other),
        };
        Self { error, kind }
    }
}
