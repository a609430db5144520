//! Reads git objects through one `git cat-file` process and checks their hashes, which git does not do.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use pensa_core::{Error, Result};
use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::{error, run};

/// Limit on objects held in memory: trees, commits and targets of symlinks.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

const BUFFER_BYTES: usize = 128 * 1024;

/// The result of reading an object.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ObjectState {
    Missing,
    /// Its content does not match its id
    Changed,
    Intact {
        kind: String,
    },
}

#[derive(Debug)]
pub(super) struct CheckedObjects {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    buffer: Vec<u8>,
}

impl CheckedObjects {
    pub(super) fn open(mut git: Command) -> Result<Self> {
        git.args(["cat-file", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = git.spawn().map_err(|e| run::spawn_error(&git, e))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = pipes.ok_or_else(|| Error::internal("git has no pipes"))?;
        Ok(Self { child, stdin, stdout: BufReader::with_capacity(BUFFER_BYTES, stdout), buffer: vec![0; BUFFER_BYTES] })
    }

    /// Passes the content of an object to `sink`, in pieces. The pieces are only valid if the result is `Intact`.
    pub(super) fn read(&mut self, id: &str, mut sink: impl FnMut(&[u8]) -> Result<()>) -> Result<ObjectState> {
        let ended = |_: io::Error| error::corrupt(format!("git cannot read the object {id}"));
        self.stdin.write_all(format!("{id}\n").as_bytes()).map_err(ended)?;
        self.stdin.flush().map_err(ended)?;
        let mut header = String::new();
        (&mut self.stdout).take(1024).read_line(&mut header).map_err(ended)?;
        let words: Vec<&str> = header.trim_end().split(' ').collect();
        let (kind, size) = match words[..] {
            [_, "missing"] => return Ok(ObjectState::Missing),
            [_, kind, size] => (kind.to_owned(), size.parse::<u64>().ok()),
            _ => (String::new(), None),
        };
        let mut left = size.ok_or_else(|| error::corrupt(format!("git cannot read the object {id}")))?;
        let mut hasher = Hasher::for_id(id, &kind, left);
        let mut outcome = Ok(());
        while left > 0 {
            let wanted = self.buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let count = self.stdout.read(&mut self.buffer[..wanted]).map_err(ended)?;
            if count == 0 {
                return Err(error::corrupt(format!("git cannot read the object {id}")));
            }
            hasher.update(&self.buffer[..count]);
            // Read the rest even after an error, so that the next answer belongs to the next request.
            outcome = outcome.and_then(|()| sink(&self.buffer[..count]));
            left -= count as u64;
        }
        self.stdout.read_exact(&mut [0]).map_err(ended)?;
        outcome?;
        Ok(if hasher.finish() == id { ObjectState::Intact { kind } } else { ObjectState::Changed })
    }

    /// Reads an object of an expected type into memory.
    pub(super) fn read_all(&mut self, id: &str, expected: &str) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let found = self.read(id, |piece| {
            if bytes.len() as u64 + piece.len() as u64 > MAX_BYTES {
                return Err(error::corrupt(format!("the {expected} {id} is too large")));
            }
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        match found {
            ObjectState::Intact { kind } if kind == expected => Ok(bytes),
            other => Err(object_error(id, expected, &other)),
        }
    }
}

impl Drop for CheckedObjects {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The error for an object that is missing, damaged or of another type.
pub(super) fn object_error(id: &str, expected: &str, found: &ObjectState) -> Error {
    error::corrupt(match found {
        ObjectState::Missing => format!("the {expected} {id} is missing"),
        ObjectState::Changed => format!("the {expected} {id} has another content than it should"),
        ObjectState::Intact { kind } => format!("the {expected} {id} is a {kind}"),
    })
}

/// Computes an object id.
#[derive(Debug)]
pub(super) enum Hasher {
    Short(Box<Sha1>),
    Long(Box<Sha256>),
}

impl Hasher {
    /// Chooses SHA-1 or SHA-256 by the length of `id`.
    pub(super) fn for_id(id: &str, kind: &str, size: u64) -> Self {
        let header = format!("{kind} {size}\0");
        if id.len() > 40 {
            Self::Long(Box::new(Sha256::new().chain_update(header)))
        } else {
            Self::Short(Box::new(Sha1::new().chain_update(header)))
        }
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Short(hash) => hash.update(bytes),
            Self::Long(hash) => hash.update(bytes),
        }
    }

    pub(super) fn finish(self) -> String {
        match self {
            Self::Short(hash) => hex(&hash.finalize()),
            Self::Long(hash) => hex(&hash.finalize()),
        }
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a file of this size has the content of an object.
pub(super) fn is_content(file: &mut File, id: &str, size: u64) -> io::Result<bool> {
    let mut hasher = Hasher::for_id(id, "blob", size);
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut read = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(read == size && hasher.finish() == id),
            count => {
                hasher.update(&buffer[..count]);
                read += count as u64;
            }
        }
    }
}
