//! Copies and hashes files, sharing blocks if the file system can.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use pensa_core::Result;
use rustix::fs::{Timespec, Timestamps, UTIME_OMIT};

const BUFFER_BYTES: usize = 128 * 1024;

/// Size and hash of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileContent {
    pub(crate) size: u64,
    /// BLAKE3, in hexadecimal digits
    pub(crate) hash: String,
    /// Whether the blocks are shared with the original
    pub(crate) is_shared: bool,
}

#[derive(Debug)]
pub(crate) struct Copier {
    /// False after the file system has refused to share blocks
    can_share: bool,
    buffer: Vec<u8>,
}

impl Copier {
    pub(crate) fn new() -> Self {
        Self { can_share: true, buffer: vec![0; BUFFER_BYTES] }
    }

    /// Copies a file into an empty one.
    pub(crate) fn copy(&mut self, from: &mut File, to: &mut File) -> io::Result<FileContent> {
        if self.can_share {
            self.can_share = share(from, to);
        }
        if self.can_share {
            // Hash the copy, because the original may change meanwhile.
            to.rewind()?;
            return Ok(FileContent { is_shared: true, ..self.hash(to)? });
        }
        let mut size = 0;
        let mut hasher = blake3::Hasher::new();
        loop {
            let count = from.read(&mut self.buffer)?;
            let piece = &self.buffer[..count];
            if count == 0 {
                break;
            }
            hasher.update(piece);
            size += count as u64;
            // Preserve holes: a sparse file can be larger than the disk.
            if piece.iter().all(|byte| *byte == 0) {
                to.seek(SeekFrom::Current(count.try_into().unwrap_or(0)))?;
            } else {
                to.write_all(piece)?;
            }
        }
        to.set_len(size)?;
        Ok(FileContent { size, hash: hasher.finalize().to_hex().to_string(), is_shared: false })
    }

    /// Hashes a file from the current position to its end.
    pub(crate) fn hash(&mut self, file: &mut File) -> io::Result<FileContent> {
        let mut size = 0;
        let mut hasher = blake3::Hasher::new();
        loop {
            match file.read(&mut self.buffer)? {
                0 => return Ok(FileContent { size, hash: hasher.finalize().to_hex().to_string(), is_shared: false }),
                count => {
                    hasher.update(&self.buffer[..count]);
                    size += count as u64;
                }
            }
        }
    }

    /// Whether two files have the same content.
    #[cfg(any(feature = "btrfs", feature = "zfs"))]
    pub(crate) fn are_same(&mut self, one: &mut File, other: &mut File) -> io::Result<bool> {
        if one.metadata()?.len() != other.metadata()?.len() {
            return Ok(false);
        }
        Ok(self.hash(one)?.hash == self.hash(other)?.hash)
    }
}

#[cfg(target_os = "linux")]
fn share(from: &File, to: &File) -> bool {
    rustix::fs::ioctl_ficlone(to, from).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn share(_: &File, _: &File) -> bool {
    false
}

/// Copies the modification time.
pub(crate) fn copy_time(from: &File, to: &File) -> Result<(), rustix::io::Errno> {
    let stat = rustix::fs::fstat(from)?;
    let changed = Timespec { tv_sec: stat.st_mtime, tv_nsec: stat.st_mtime_nsec.try_into().unwrap_or_default() };
    let unset = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    rustix::fs::futimens(to, &Timestamps { last_access: unset, last_modification: changed })
}
