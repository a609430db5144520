//! Reads and writes the manifest of a copy: one line of JSON for each file, symlink and directory. The hash of the
//! manifest is recorded with the snapshot.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use pensa_core::{Code, Error, Result};
use serde::{Deserialize, Serialize};

use crate::error;
use crate::path::{RelPath, escape, unescape};

/// The version of the format.
const VERSION: u32 = 1;

/// Limit on the length of a line: a path and a target, both escaped.
const MAX_LINE: u64 = 512 * 1024;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum ManifestLine {
    Snapshot {
        version: u32,
        id: String,
        /// The hash of the parent snapshot's manifest
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<String>,
    },
    Dir {
        path: String,
        mode: u32,
    },
    File {
        path: String,
        mode: u32,
        size: u64,
        hash: String,
        /// Whether the content is in a lower layer of an overlay mount
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        lower: bool,
    },
    Link {
        path: String,
        target: String,
    },
}

/// A file, symlink or directory in a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ManifestEntry {
    Dir { mode: u32 },
    File { mode: u32, size: u64, hash: String, lower: bool },
    Link { target: Vec<u8> },
}

/// Writes a manifest.
#[derive(Debug)]
pub(crate) struct ManifestWriter<'p> {
    path: &'p Path,
    out: BufWriter<File>,
    hasher: blake3::Hasher,
}

impl<'p> ManifestWriter<'p> {
    pub(crate) fn new(path: &'p Path, id: &str, parent: Option<&str>) -> Result<Self> {
        let file = File::create_new(path).map_err(|e| error::io("write", path.display(), e))?;
        let mut writer = Self { path, out: BufWriter::new(file), hasher: blake3::Hasher::new() };
        writer.line(&ManifestLine::Snapshot {
            version: VERSION,
            id: id.to_owned(),
            parent: parent.map(str::to_owned),
        })?;
        Ok(writer)
    }

    pub(crate) fn add(&mut self, at: &RelPath, entry: ManifestEntry) -> Result<()> {
        let path = at.to_string();
        self.line(&match entry {
            ManifestEntry::Dir { mode } => ManifestLine::Dir { path, mode },
            ManifestEntry::File { mode, size, hash, lower } => ManifestLine::File { path, mode, size, hash, lower },
            ManifestEntry::Link { target } => ManifestLine::Link { path, target: escape(&target) },
        })
    }

    fn line(&mut self, line: &ManifestLine) -> Result<()> {
        let mut bytes = serde_json::to_vec(line).map_err(Error::internal)?;
        bytes.push(b'\n');
        self.hasher.update(&bytes);
        self.out.write_all(&bytes).map_err(|e| error::io("write", self.path.display(), e))
    }

    /// Syncs the manifest to disk and returns its hash.
    pub(crate) fn finish(mut self) -> Result<String> {
        let flushed = self.out.flush().and_then(|()| self.out.get_ref().sync_all());
        flushed.map_err(|e| error::io("write", self.path.display(), e))?;
        Ok(self.hasher.finalize().to_hex().to_string())
    }
}

/// Reads the manifest of a snapshot and checks its hash against `digest`.
pub(crate) fn read(path: &Path, id: &str, digest: &str) -> Result<Vec<(RelPath, ManifestEntry)>> {
    let failed = |e| error::io("read", path.display(), e);
    let open = || match File::open(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            Err(error::corrupt(format!("the manifest of the snapshot is missing: {}", path.display())))
        }
        opened => opened.map_err(failed),
    };
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(open()?).map_err(failed)?;
    if hasher.finalize().to_hex().as_str() != digest {
        return Err(error::corrupt(format!("{} is not the manifest that was written", path.display())));
    }
    let mut lines = BufReader::new(open()?);
    let mut entries = Vec::new();
    for number in 1.. {
        let mut bytes = Vec::new();
        (&mut lines).take(MAX_LINE).read_until(b'\n', &mut bytes).map_err(failed)?;
        if bytes.is_empty() {
            break;
        }
        let wrong = |e: Error| e.within(format!("{}, line {number}", path.display()));
        match serde_json::from_slice(&bytes).map_err(|e| wrong(error::corrupt(e.to_string())))? {
            ManifestLine::Snapshot { version: VERSION, id: written, .. } if number == 1 && written == id => {}
            ManifestLine::Snapshot { version, .. } if number == 1 && version != VERSION => {
                return Err(wrong(Error::new(
                    Code::Unsupported,
                    format!("manifests of version {version} are not known"),
                )));
            }
            line => entries.push(entry(line).map_err(wrong)?),
        }
    }
    Ok(entries)
}

fn entry(line: ManifestLine) -> Result<(RelPath, ManifestEntry)> {
    let plain = |mode: u32| {
        if mode <= 0o7777 { Ok(mode) } else { Err(error::corrupt(format!("no file has the mode {mode:o}"))) }
    };
    Ok(match line {
        ManifestLine::Snapshot { .. } => return Err(error::corrupt("the manifest is of another snapshot")),
        ManifestLine::Dir { path, mode } => (RelPath::parse(&path)?, ManifestEntry::Dir { mode: plain(mode)? }),
        ManifestLine::File { path, mode, size, hash, lower } => {
            (RelPath::parse(&path)?, ManifestEntry::File { mode: plain(mode)?, size, hash, lower })
        }
        ManifestLine::Link { path, target } => {
            let target = unescape(&target)?;
            if target.is_empty() || target.contains(&0) {
                return Err(error::corrupt(format!("{path} has a target that no symlink can have")));
            }
            (RelPath::parse(&path)?, ManifestEntry::Link { target })
        }
    })
}
