//! Maps failures of the file system to Pensa's error codes.

use std::fmt::Display;
use std::io;

use pensa_core::{Code, Error};

/// A failed file system operation: "cannot WHAT THING: REASON".
pub(crate) fn io(what: &str, thing: impl Display, error: impl Into<io::Error>) -> Error {
    let error = error.into();
    let code = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Code::DiskFull,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Code::Forbidden,
        _ => Code::Internal,
    };
    let text = error.to_string().to_lowercase();
    let reason = text.split(" (os error").next().unwrap_or_default();
    let error = Error::new(code, format!("cannot {what} {thing}: {reason}"));
    match code {
        Code::DiskFull => error.hint("free some space and try again"),
        Code::Forbidden => error.hint("check who owns it and whether it is read-only"),
        _ => error,
    }
}

/// The snapshot has changed since it was taken.
pub(crate) fn corrupt(message: impl Into<String>) -> Error {
    Error::new(Code::Corrupt, message).hint("pn snapshot verify tells all that is wrong with it")
}

/// The tree or the machine does not support the provider.
pub(crate) fn unsupported(message: impl Into<String>) -> Error {
    Error::new(Code::Unsupported, message).hint("the providers git and copy need no special file system")
}

/// The provider is not in this build. The feature has the same name.
#[cfg(not(all(feature = "btrfs", feature = "overlay", feature = "zfs")))]
pub(crate) fn not_built(provider: pensa_core::snapshot::Provider) -> Error {
    Error::new(Code::Unsupported, format!("this pn was built without the provider {provider}"))
        .hint(format!("build it with --features {provider}; the providers git and copy are always there"))
}
