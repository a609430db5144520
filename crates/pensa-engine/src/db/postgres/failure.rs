//! Classifies PostgreSQL errors by what the caller can do about them.

use std::error::Error as _;

use pensa_core::{Code, Error};
use tokio_postgres::error::{DbError, Severity};

/// An error, and whether to retry.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: Error,
    pub(super) kind: FailureKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureKind {
    /// The connection is unusable; a new one may work.
    Lost,
    /// The server does not answer, so another attempt would hang too.
    Silent,
    /// Another transaction held a lock for longer than the timeout.
    Locked,
    /// A conflict with a concurrent transaction; a retry may succeed.
    Again,
    Other,
}

impl Failure {
    pub(super) fn other(error: Error) -> Self {
        Self { error, kind: FailureKind::Other }
    }

    pub(super) fn is_lost(&self) -> bool {
        matches!(self.kind, FailureKind::Lost | FailureKind::Silent)
    }

    /// Adds a hint for errors about the role pensa_tenant.
    pub(super) fn with_role_hint(mut self) -> Self {
        if self.kind == FailureKind::Other && self.error.code != Code::Busy {
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
    Failure { error, kind: FailureKind::Silent }
}

pub(super) fn role_bypasses_rls() -> Error {
    Error::new(Code::Forbidden, "the role pensa_tenant may bypass row-level security")
        .hint("take SUPERUSER and BYPASSRLS away from it: projects are kept apart by row-level security")
}

const UP_HINT: &str = "is PostgreSQL running, and is the address right?";
const TRUST_HINT: &str = "name the file of its certificate authority in the address: sslrootcert=/path/to/ca.pem";

/// Whether a warning says that the server gave up waiting for a standby. The warning has no code of its own and a
/// localised text; only the name of the server routine identifies it.
pub(super) fn is_standby_warning(notice: &DbError) -> bool {
    notice.routine() == Some("SyncRepWaitForLSN") || notice.code().code() == ADMIN_SHUTDOWN
}

const ADMIN_SHUTDOWN: &str = "57P01";

/// The failure of a statement.
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

/// The failure of a connection attempt.
pub(super) fn connecting(e: &tokio_postgres::Error) -> Failure {
    e.as_db_error().map_or_else(|| unreachable(&text(e)), Failure::from)
}

fn text(e: &tokio_postgres::Error) -> String {
    e.source().map_or_else(|| e.to_string(), |source| format!("{e}: {source}"))
}

/// The failure to reach the server.
fn unreachable(why: &str) -> Failure {
    let hint = if why.contains("certificate") { TRUST_HINT } else { UP_HINT };
    let error = Error::new(Code::Unreachable, format!("cannot reach the database: {why}")).hint(hint);
    Failure { error, kind: FailureKind::Lost }
}

impl From<&DbError> for Failure {
    fn from(refused: &DbError) -> Self {
        let error = |code, text: &str| Error::new(code, format!("{text}: {}", refused.message()));
        let class = refused.code().code().get(..2).unwrap_or_default();
        let (error, kind) = match refused.code().code() {
            // lock_not_available
            "55P03" => (error(Code::Busy, "the database is busy").hint("try again in a moment"), FailureKind::Locked),
            // query_canceled
            "57014" => {
                (Error::new(Code::Timeout, "the database took too long").hint("ask for less"), FailureKind::Other)
            }
            // too_many_connections
            "53300" => (
                error(Code::Busy, "the database has no connection left").hint("try again in a moment"),
                FailureKind::Lost,
            ),
            // serialization_failure, deadlock_detected
            "40001" | "40P01" => {
                (error(Code::Busy, "the database is busy").hint("try again in a moment"), FailureKind::Again)
            }
            // read_only_sql_transaction
            "25006" => (error(Code::Unreachable, "the database takes no writes").hint(UP_HINT), FailureKind::Lost),
            // admin_shutdown, crash_shutdown, cannot_connect_now
            ADMIN_SHUTDOWN | "57P02" | "57P03" => {
                (error(Code::Unreachable, "the database is going down or coming up").hint(UP_HINT), FailureKind::Lost)
            }
            // disk_full
            "53100" => (
                Error::new(Code::DiskFull, "no space left on the disk of the database")
                    .hint("free some space and try again; nothing was changed"),
                FailureKind::Other,
            ),
            // insufficient_privilege
            "42501" => (error(Code::Forbidden, "the database refuses"), FailureKind::Other),
            // data_corrupted, index_corrupted
            "XX001" | "XX002" => (error(Code::Corrupt, "the database is damaged"), FailureKind::Other),
            _ if class == "08" => {
                (error(Code::Unreachable, "cannot reach the database").hint(UP_HINT), FailureKind::Lost)
            }
            _ if class == "28" || class == "3D" => (
                error(Code::Unreachable, "the database refused the login").hint("check the address"),
                FailureKind::Lost,
            ),
            // The server closed the connection, whatever the reason.
            _ if matches!(refused.parsed_severity(), Some(Severity::Fatal | Severity::Panic)) => {
                (error(Code::Unreachable, "the database closed the connection").hint(UP_HINT), FailureKind::Lost)
            }
            code => (Error::internal(format!("database: {} ({code})", refused.message())), FailureKind::Other),
        };
        Self { error, kind }
    }
}
