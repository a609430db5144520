//! Turns failures of the file system into the product's errors.

use std::fmt::Display;
use std::io;

use pensa_core::{Code, Error};

/// A step of the file system that failed.
pub(crate) fn io(what: &str, thing: impl Display, error: impl Into<io::Error>) -> Error {
    let error = error.into();
    let code = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Code::DiskFull,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Code::Forbidden,
        _ => Code::Internal,
    };
    let text = error.to_string().to_lowercase();
    let reason = text.split(" (os error").next().unwrap_or_default();
    let told = Error::new(code, format!("cannot {what} {thing}: {reason}"));
    match code {
        Code::DiskFull => told.hint("free some space and try again"),
        Code::Forbidden => told.hint("check who owns it and whether it is read-only"),
        _ => told,
    }
}

/// A snapshot that is not what it was when it was taken.
pub(crate) fn corrupt(message: impl Into<String>) -> Error {
    Error::new(Code::Corrupt, message).hint("pn snapshot verify tells all that is wrong with it")
}

/// A provider that this tree or this machine does not offer.
pub(crate) fn unsupported(message: impl Into<String>) -> Error {
    Error::new(Code::Unsupported, message).hint("the providers git and copy need no special file system")
}

/// A provider that was left out of this build; the feature that brings it has its name.
#[cfg(not(all(feature = "btrfs", feature = "overlay", feature = "zfs")))]
pub(crate) fn not_built(provider: pensa_core::snapshot::Provider) -> Error {
    Error::new(Code::Unsupported, format!("this pn was built without the provider {provider}"))
        .hint(format!("build it with --features {provider}; the providers git and copy are always there"))
}
