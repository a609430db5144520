//! Snapshots of a tree on an overlay mount: a copy of the files in the upper layer, and hashes of all files.
//!
//! The lower layers of an overlay do not change while it is mounted. So only files in the upper layer are copied; for
//! the others the manifest has the hash, and their content is read from the lower layers when needed. If a layer has
//! changed, `verify` reports it and a restore refuses. Nothing is mounted, so only read access to the layers is needed.
//! Where they cannot be seen, as in most containers, this provider is unsupported.

use std::fs::File;
use std::path::{Path, PathBuf};

use pensa_core::Result;

use crate::copy::LowerLayers;
use crate::path::RelPath;
use crate::snapshot::{RestoreCounts, SnapshotData, SnapshotDirs, VerifyReport};
use crate::tree::{FileKind, Tree};
use crate::{copy, error, mounts};

pub(crate) fn create(
    dirs: &SnapshotDirs<'_>,
    parent: Option<&SnapshotData>,
    restoring: Option<&SnapshotData>,
) -> Result<SnapshotData> {
    let layers = Layers::of(dirs.root)?;
    let mut snapshot = copy::create_with_layers(dirs, parent, restoring, Some(&layers))?;
    snapshot.reference = Some(layers.upper.display().to_string());
    Ok(snapshot)
}

pub(crate) fn verify(dirs: &SnapshotDirs<'_>, snapshot: &SnapshotData) -> Result<VerifyReport> {
    copy::verify_with_layers(dirs, snapshot, Some(&Layers::of(dirs.root)?))
}

pub(crate) fn restore(dirs: &SnapshotDirs<'_>, snapshot: &SnapshotData) -> Result<RestoreCounts> {
    copy::restore_with_layers(dirs, snapshot, Some(&Layers::of(dirs.root)?))
}

/// The layers of the mount that contains a tree, each opened at the tree's path in it.
#[derive(Debug)]
struct Layers {
    upper: PathBuf,
    above: Option<Tree>,
    /// The uppermost first, without those that lack the directory
    lower: Vec<Tree>,
}

impl Layers {
    fn of(root: &Path) -> Result<Self> {
        let root = root.canonicalize().map_err(|e| error::io("open", root.display(), e))?;
        let mount = mounts::of(&root).filter(|mount| mount.kind == "overlay");
        let mount =
            mount.ok_or_else(|| error::unsupported(format!("{} is not on an overlay mount", root.display())))?;
        let named = parse_layers(&mount.options);
        let upper = named.upper.ok_or_else(|| {
            error::unsupported(format!("the overlay mount at {} has no upper layer", mount.point.display()))
        })?;
        for layer in named.lower.iter().chain([&upper]) {
            if !layer.is_absolute() || !layer.is_dir() {
                return Err(error::unsupported(format!(
                    "the layer {} of the overlay mount at {} cannot be seen from here",
                    layer.display(),
                    mount.point.display()
                )));
            }
        }
        let inside = root.strip_prefix(&mount.point).unwrap_or(Path::new(""));
        let at = |layer: &Path| {
            if layer.join(inside).is_dir() { Tree::open(&layer.join(inside)).map(Some) } else { Ok(None) }
        };
        let lower = named.lower.iter().filter_map(|layer| at(layer).transpose()).collect::<Result<Vec<_>>>()?;
        Ok(Self { above: at(&upper)?, upper, lower })
    }
}

impl LowerLayers for Layers {
    fn unchanged(&self, at: &RelPath) -> Result<Option<File>> {
        let is_above = self.above.as_ref().map(|above| above.kind(at)).transpose()?.flatten().is_some();
        if is_above { Ok(None) } else { self.below(at) }
    }

    fn below(&self, at: &RelPath) -> Result<Option<File>> {
        for layer in &self.lower {
            match layer.kind(at)? {
                Some(FileKind::File { .. }) => return layer.read_if_there(at),
                Some(_) => return Ok(None),
                None => {}
            }
        }
        Ok(None)
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct MountLayers {
    upper: Option<PathBuf>,
    lower: Vec<PathBuf>,
}

/// Parses the layers from mount options.
fn parse_layers(options: &[u8]) -> MountLayers {
    let mut layers = MountLayers::default();
    for option in options.split(|byte| *byte == b',') {
        let Some(at) = option.iter().position(|byte| *byte == b'=') else { continue };
        let value = mounts::unescape(&option[at + 1..]);
        match &option[..at] {
            b"upperdir" => layers.upper = Some(mounts::path(&plain(&value))),
            b"lowerdir" => layers.lower.extend(split_layers(&value)),
            b"lowerdir+" => layers.lower.push(mounts::path(&value)),
            _ => {}
        }
    }
    layers
}

/// Splits at colons that are not escaped by a backslash.
fn split_layers(value: &[u8]) -> Vec<PathBuf> {
    let mut layers = vec![Vec::new()];
    let mut bytes = value.iter();
    while let Some(byte) = bytes.next() {
        let layer = layers.last_mut();
        match (byte, layer) {
            (b':', _) => layers.push(Vec::new()),
            (b'\\', Some(layer)) => layer.extend(bytes.next()),
            (byte, Some(layer)) => layer.push(*byte),
            (_, None) => {}
        }
    }
    layers.iter().map(|layer| mounts::path(layer)).collect()
}

/// Removes the backslash escapes of a single path.
fn plain(value: &[u8]) -> Vec<u8> {
    let mut bytes = value.iter();
    let mut plain = Vec::new();
    while let Some(byte) = bytes.next() {
        plain.extend(if *byte == b'\\' { bytes.next() } else { Some(byte) });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_read_from_the_options_of_a_mount() {
        let named = parse_layers(br"rw,lowerdir=/a:/b\134:c\040d,upperdir=/up\054x,workdir=/w,xino=off");
        assert_eq!(named.upper.as_deref(), Some(Path::new("/up,x")));
        assert_eq!(named.lower, [Path::new("/a"), Path::new("/b:c d")]);
        let newer = parse_layers(b"rw,lowerdir+=/a:b,lowerdir+=/c,upperdir=/u");
        assert_eq!(newer.lower, [Path::new("/a:b"), Path::new("/c")]);
        assert_eq!(parse_layers(b"rw"), MountLayers::default());
    }
}
