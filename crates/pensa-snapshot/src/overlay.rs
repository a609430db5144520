//! Snapshots of a tree on an overlay mount: a copy of what lies above the lower layers, and hashes of all.
//!
//! An overlay mounted over a tree would change with it, and so be no snapshot. What does hold is the other way round:
//! if the tree itself is on an overlay mount, its lower layers do not change while it is mounted. So only files that are
//! in the upper layer are copied; of the others the manifest has the hash, and their content is read from the lower
//! layers when it is needed. If a layer did change, `verify` tells and a restore refuses. Nothing is mounted, so no
//! rights are needed but to read the layers; where they cannot be seen, as in most containers, there is no snapshot.

use std::fs::File;
use std::path::{Path, PathBuf};

use pensa_core::Result;

use crate::copy::LowerLayers;
use crate::path::Rel;
use crate::place::{Place, Proof, Restored, Taken};
use crate::tree::{Kind, Tree};
use crate::{copy, error, mounts};

pub(crate) fn create(place: &Place<'_>, parent: Option<&Taken>, covering: Option<&Taken>) -> Result<Taken> {
    let layers = Layers::of(place.root)?;
    let mut taken = copy::take(place, parent, covering, Some(&layers))?;
    taken.reference = Some(layers.upper.display().to_string());
    Ok(taken)
}

pub(crate) fn verify(place: &Place<'_>, taken: &Taken) -> Result<Proof> {
    copy::prove(place, taken, Some(&Layers::of(place.root)?))
}

pub(crate) fn restore(place: &Place<'_>, taken: &Taken) -> Result<Restored> {
    copy::put_back(place, taken, Some(&Layers::of(place.root)?))
}

/// The layers of the mount that a tree is on, each at the tree's place in it.
#[derive(Debug)]
struct Layers {
    upper: PathBuf,
    above: Option<Tree>,
    /// The uppermost first; those that have no such directory are not in it
    lower: Vec<Tree>,
}

impl Layers {
    fn of(root: &Path) -> Result<Self> {
        let root = root.canonicalize().map_err(|e| error::io("open", root.display(), e))?;
        let mount = mounts::of(&root).filter(|mount| mount.kind == "overlay");
        let mount =
            mount.ok_or_else(|| error::unsupported(format!("{} is not on an overlay mount", root.display())))?;
        let named = named_layers(&mount.options);
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
    fn unchanged(&self, at: &Rel) -> Result<Option<File>> {
        let is_above = self.above.as_ref().map(|above| above.kind(at)).transpose()?.flatten().is_some();
        if is_above { Ok(None) } else { self.below(at) }
    }

    fn below(&self, at: &Rel) -> Result<Option<File>> {
        for layer in &self.lower {
            match layer.kind(at)? {
                Some(Kind::File { .. }) => return layer.read_if_there(at),
                Some(_) => return Ok(None),
                None => {}
            }
        }
        Ok(None)
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Named {
    upper: Option<PathBuf>,
    lower: Vec<PathBuf>,
}

/// The layers that the options of a mount name.
fn named_layers(options: &[u8]) -> Named {
    let mut named = Named::default();
    for option in options.split(|byte| *byte == b',') {
        let Some(at) = option.iter().position(|byte| *byte == b'=') else { continue };
        let value = mounts::unescape(&option[at + 1..]);
        match &option[..at] {
            b"upperdir" => named.upper = Some(mounts::path(&plain(&value))),
            b"lowerdir" => named.lower.extend(split_layers(&value)),
            b"lowerdir+" => named.lower.push(mounts::path(&value)),
            _ => {}
        }
    }
    named
}

/// Splits at colons; one that belongs to a name has a backslash before it.
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

/// A single path without its backslashes.
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
        let named = named_layers(br"rw,lowerdir=/a:/b\134:c\040d,upperdir=/up\054x,workdir=/w,xino=off");
        assert_eq!(named.upper.as_deref(), Some(Path::new("/up,x")));
        assert_eq!(named.lower, [Path::new("/a"), Path::new("/b:c d")]);
        let newer = named_layers(b"rw,lowerdir+=/a:b,lowerdir+=/c,upperdir=/u");
        assert_eq!(newer.lower, [Path::new("/a:b"), Path::new("/c")]);
        assert_eq!(named_layers(b"rw"), Named::default());
    }
}
