//! The error type of all crates: a code for programs, a message and a hint for people.
//!
//! Each interface formats it in its own way, such as JSON on stderr or an HTTP response.

use std::path::Path;
use std::{fmt, io};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! codes {
    ($($variant:ident $text:literal $status:literal,)*) => {
        /// The machine-readable reason of an error, with its HTTP status.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum Code {
            $(#[serde(rename = $text)] $variant,)*
        }

        impl Code {
            pub const ALL: &[Code] = &[$(Code::$variant,)*];

            pub fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $text,)* }
            }

            pub fn http_status(self) -> u16 {
                match self { $(Code::$variant => $status,)* }
            }
        }
    };
}

codes! {
    NotFound "not_found" 404,
    AlreadyClaimed "already_claimed" 409,
    CycleDetected "cycle_detected" 409,
    InvalidStatusTransition "invalid_status_transition" 409,
    InvalidInput "invalid_input" 400,
    AmbiguousId "ambiguous_id" 409,
    Conflict "conflict" 409,
    LeaseLost "lease_lost" 409,
    NoStore "no_store" 404,
    NoRepo "no_repo" 400,
    WrongStore "wrong_store" 421,
    Unreachable "unreachable" 503,
    Unauthorized "unauthorized" 401,
    Forbidden "forbidden" 403,
    Unsupported "unsupported" 501,
    TooLarge "too_large" 413,
    Busy "busy" 503,
    Timeout "timeout" 504,
    Corrupt "corrupt" 500,
    NewerSchema "newer_schema" 500,
    DiskFull "disk_full" 507,
    UnknownOutcome "unknown_outcome" 500,
    Internal "internal" 500,
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What went wrong, and what to do about it. Its JSON is the same on every interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    #[serde(rename = "error")]
    pub message: String,
    pub code: Code,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Error {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { message: message.into(), code, hint: None }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds context in front of the message: `context: message`.
    #[must_use]
    pub fn within(mut self, context: impl fmt::Display) -> Self {
        self.message = format!("{context}: {}", self.message);
        self
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidInput, message)
    }

    pub fn not_found(kind: &str, id: impl fmt::Display) -> Self {
        Self::new(Code::NotFound, format!("{kind} not found: {id}"))
    }

    pub fn internal(message: impl fmt::Display) -> Self {
        Self::new(Code::Internal, message.to_string())
    }
}

/// The error of a failed file operation: "cannot read /a/b: no such file or directory".
pub fn io(what: &str, path: &Path, error: &io::Error) -> Error {
    let code = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Code::DiskFull,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Code::Forbidden,
        _ => Code::Internal,
    };
    let message = format!("cannot {what} {}: {}", path.display(), describe(error));
    match code {
        Code::DiskFull => Error::new(code, message).hint("free some space and try again; nothing was changed"),
        Code::Forbidden => Error::new(code, message).hint("check who owns the directory and whether it is read-only"),
        _ => Error::new(code, message),
    }
}

/// The operating system's message without Rust's "(os error 28)".
fn describe(error: &io::Error) -> String {
    let text = error.to_string().to_lowercase();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_one_spelling_and_an_error_status() {
        for code in Code::ALL {
            let spelled = serde_json::to_value(code).expect("serialises");
            assert_eq!(spelled, code.as_str());
            assert!((400..600).contains(&code.http_status()), "{code}");
        }
    }

    #[test]
    fn an_error_without_a_hint_has_no_hint_key() {
        let error = Error::not_found("issue", "pn-1");
        let json = serde_json::to_string(&error).expect("serialises");
        assert_eq!(json, r#"{"error":"issue not found: pn-1","code":"not_found"}"#);
    }
}
