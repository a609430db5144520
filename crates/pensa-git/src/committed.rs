//! Reads files that came with a repository: regular files only, up to a size limit, without following links.
//!
//! A link could point to another project's files or to an endless device.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use pensa_core::{Code, Error, Result, error};
use rustix::fs::OFlags;
use rustix::io::Errno;

/// Default of `import.max-file`, the size limit for committed files.
pub const DEFAULT_MAX_FILE: u64 = 1 << 30;

/// Opens a committed file; `None` if it does not exist.
pub fn open_committed(path: &Path) -> Result<Option<(File, Metadata)>> {
    // Without NONBLOCK, opening a FIFO would block until a writer opens it.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(None),
        Err(e) if e.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => return Err(not_own(path, "a symbolic link")),
        Err(e) if e.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => return Err(not_own(path, "a socket")),
        Err(e) => return Err(error::io("read", path, &e)),
    };
    let meta = file.metadata().map_err(|e| error::io("read", path, &e))?;
    if meta.is_file() { Ok(Some((file, meta))) } else { Err(not_own(path, "not a regular file")) }
}

/// Reads a committed file of at most `limit` bytes; `None` if it does not exist.
pub fn read_committed(path: &Path, limit: u64) -> Result<Option<(Vec<u8>, Metadata)>> {
    let Some((file, meta)) = open_committed(path)? else { return Ok(None) };
    if meta.len() > limit {
        return Err(too_large(path, limit));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or_default());
    // The file may have grown since `metadata`.
    let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| error::io("read", path, &e))?;
    if read as u64 > limit { Err(too_large(path, limit)) } else { Ok(Some((bytes, meta))) }
}

fn not_own(path: &Path, what: &str) -> Error {
    Error::invalid(format!("{} is {what}", path.display())).hint("a store's files must be its own")
}

fn too_large(path: &Path, limit: u64) -> Error {
    Error::new(
        Code::TooLarge,
        format!("{} is larger than {limit} bytes, the limit for committed files", path.display()),
    )
    .hint("pn config set --user import.max-file raises the limit, in MiB")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_regular_files_within_the_limit_are_read() {
        let dir = tempfile::tempdir().expect("a directory");
        let at = |name: &str| dir.path().join(name);
        assert!(read_committed(&at("missing"), 9).expect("no error").is_none());
        fs::write(at("file"), "123456789").expect("written");
        assert_eq!(read_committed(&at("file"), 9).expect("read").expect("there").0, b"123456789");
        assert_eq!(read_committed(&at("file"), 8).expect_err("too large").code, Code::TooLarge);
        symlink(at("file"), at("link")).expect("a link");
        symlink("/dev/zero", at("zero")).expect("a link");
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RUSR).expect("a pipe");
        fs::create_dir(at("dir")).expect("a directory");
        let _socket = UnixListener::bind(at("socket")).expect("a socket");
        for name in ["link", "zero", "pipe", "dir", "socket"] {
            let error = read_committed(&at(name), 9).expect_err(name);
            assert_eq!(error.code, Code::InvalidInput, "{name}: {error}");
        }
    }
}
