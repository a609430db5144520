//! The manifest of a copy: one line of JSON for each thing in it, with its hash. Its own hash proves it.
//!
//! The contents themselves are left to `copy`.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use pensa_core::{Code, Error, Result};
use serde::{Deserialize, Serialize};

use crate::error;
use crate::path::{Rel, escape, unescape};

/// The version of the lines.
const VERSION: u32 = 1;

/// Longest line: a path and a target, all of it escaped.
const MAX_LINE: u64 = 512 * 1024;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    Snapshot {
        version: u32,
        id: String,
        /// The hash of the manifest of the snapshot before it
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

/// A thing in a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Thing {
    Dir { mode: u32 },
    File { mode: u32, size: u64, hash: String, lower: bool },
    Link { target: Vec<u8> },
}

/// A manifest that is being written.
#[derive(Debug)]
pub(crate) struct Writer<'p> {
    path: &'p Path,
    out: BufWriter<File>,
    hasher: blake3::Hasher,
}

impl<'p> Writer<'p> {
    pub(crate) fn new(path: &'p Path, id: &str, parent: Option<&str>) -> Result<Self> {
        let file = File::create_new(path).map_err(|e| error::io("write", path.display(), e))?;
        let mut writer = Self { path, out: BufWriter::new(file), hasher: blake3::Hasher::new() };
        writer.line(&Line::Snapshot { version: VERSION, id: id.to_owned(), parent: parent.map(str::to_owned) })?;
        Ok(writer)
    }

    pub(crate) fn add(&mut self, at: &Rel, thing: Thing) -> Result<()> {
        let path = at.to_string();
        self.line(&match thing {
            Thing::Dir { mode } => Line::Dir { path, mode },
            Thing::File { mode, size, hash, lower } => Line::File { path, mode, size, hash, lower },
            Thing::Link { target } => Line::Link { path, target: escape(&target) },
        })
    }

    fn line(&mut self, line: &Line) -> Result<()> {
        let mut bytes = serde_json::to_vec(line).map_err(Error::internal)?;
        bytes.push(b'\n');
        self.hasher.update(&bytes);
        self.out.write_all(&bytes).map_err(|e| error::io("write", self.path.display(), e))
    }

    /// Ends it, and gives its hash.
    pub(crate) fn finish(mut self) -> Result<String> {
        let flushed = self.out.flush().and_then(|()| self.out.get_ref().sync_all());
        flushed.map_err(|e| error::io("write", self.path.display(), e))?;
        Ok(self.hasher.finalize().to_hex().to_string())
    }
}

/// Reads the manifest of a snapshot, after its hash was found to be the one that was told.
pub(crate) fn read(path: &Path, id: &str, digest: &str) -> Result<Vec<(Rel, Thing)>> {
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
    let mut things = Vec::new();
    for number in 1.. {
        let mut bytes = Vec::new();
        (&mut lines).take(MAX_LINE).read_until(b'\n', &mut bytes).map_err(failed)?;
        if bytes.is_empty() {
            break;
        }
        let wrong = |e: Error| e.within(format!("{}, line {number}", path.display()));
        match serde_json::from_slice(&bytes).map_err(|e| wrong(error::corrupt(e.to_string())))? {
            Line::Snapshot { version: VERSION, id: written, .. } if number == 1 && written == id => {}
            Line::Snapshot { version, .. } if number == 1 && version != VERSION => {
                return Err(wrong(Error::new(
                    Code::Unsupported,
                    format!("manifests of version {version} are not known"),
                )));
            }
            line => things.push(thing(line).map_err(wrong)?),
        }
    }
    Ok(things)
}

fn thing(line: Line) -> Result<(Rel, Thing)> {
    let plain = |mode: u32| {
        if mode <= 0o7777 { Ok(mode) } else { Err(error::corrupt(format!("no file has the mode {mode:o}"))) }
    };
    Ok(match line {
        Line::Snapshot { .. } => return Err(error::corrupt("the manifest is of another snapshot")),
        Line::Dir { path, mode } => (Rel::parse(&path)?, Thing::Dir { mode: plain(mode)? }),
        Line::File { path, mode, size, hash, lower } => {
            (Rel::parse(&path)?, Thing::File { mode: plain(mode)?, size, hash, lower })
        }
        Line::Link { path, target } => {
            let target = unescape(&target)?;
            if target.is_empty() || target.contains(&0) {
                return Err(error::corrupt(format!("{path} has a target that no symlink can have")));
            }
            (Rel::parse(&path)?, Thing::Link { target })
        }
    })
}
