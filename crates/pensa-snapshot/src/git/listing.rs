//! Lists the files of a git tree, recursively.
//!
//! A tree can refer to one directory many times and so contain more files than any disk, so the number of files that
//! the snapshot recorded is the limit.

use pensa_core::Result;

use super::objects::{CheckedObjects, hex};
use super::repo::GITLINK;
use crate::error;
use crate::path::RelPath;

pub(super) const PLAIN: u32 = 0o100_644;
pub(super) const PROGRAM: u32 = 0o100_755;
pub(super) const LINK: u32 = 0o120_000;
const SUBMODULE: u32 = 0o160_000;
const DIR: u32 = 0o040_000;

/// A file, a symlink or a submodule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TreeFile {
    pub(super) at: RelPath,
    pub(super) mode: u32,
    pub(super) id: String,
}

impl TreeFile {
    pub(super) fn is_submodule(&self) -> bool {
        debug_assert_eq!(GITLINK, format!("{SUBMODULE:o}"));
        self.mode == SUBMODULE
    }
}

/// Lists a tree. Anything that `create` could not have stored is an error.
pub(super) fn read(objects: &mut CheckedObjects, tree: &str, limit: u64) -> Result<Vec<TreeFile>> {
    let mut leaves = Vec::new();
    let mut dirs = vec![(Vec::new(), tree.to_owned())];
    while let Some((dir, id)) = dirs.pop() {
        let bytes = objects.read_all(&id, "tree")?;
        if bytes.is_empty() && !dir.is_empty() {
            return Err(error::corrupt(format!("the tree {id} is empty")));
        }
        for entry in parse(&bytes, id.len() / 2) {
            let (mode, name, id) = entry.ok_or_else(|| error::corrupt(format!("the tree {id} is malformed")))?;
            let at = RelPath::checked(RelPath::inside(&dir, name).bytes().to_vec())?;
            if name.contains(&b'/') {
                return Err(error::corrupt(format!("the tree {id} has a name with a slash")));
            }
            match mode {
                DIR => dirs.push((at.bytes().to_vec(), id)),
                PLAIN | PROGRAM | LINK | SUBMODULE => leaves.push(TreeFile { at, mode, id }),
                _ => return Err(error::corrupt(format!("{at} has the mode {mode:o}"))),
            }
            if leaves.len() as u64 > limit {
                return Err(error::corrupt(format!("the tree {tree} has more files than the snapshot had")));
            }
        }
    }
    Ok(leaves)
}

/// Parses git's format of a tree: mode, name and id of each entry. The last item is `None` if the bytes are malformed.
fn parse(mut rest: &[u8], id_bytes: usize) -> impl Iterator<Item = Option<(u32, &[u8], String)>> {
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let entry = (|| {
            let space = rest.iter().take(8).position(|byte| *byte == b' ')?;
            let mode = u32::from_str_radix(std::str::from_utf8(&rest[..space]).ok()?, 8).ok()?;
            let after = &rest[space + 1..];
            let end = after.iter().position(|byte| *byte == 0)?;
            let id = after.get(end + 1..end + 1 + id_bytes)?;
            rest = &after[end + 1 + id_bytes..];
            Some((mode, &after[..end], hex(id)))
        })();
        if entry.is_none() {
            rest = &[];
        }
        Some(entry)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_cut_at_any_byte_never_gives_a_wrong_entry() {
        let whole = [b"100644 a b\0".as_slice(), &[7; 20], b"40000 dir\0", &[8; 20]].concat();
        let entries: Vec<_> = parse(&whole, 20).collect();
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0], Some((PLAIN, b"a b".as_slice(), "07".repeat(20))));
        assert_eq!(entries[1], Some((DIR, b"dir".as_slice(), "08".repeat(20))));
        for end in 0..whole.len() {
            let cut: Vec<_> = parse(&whole[..end], 20).collect();
            let valid = cut.iter().flatten().count();
            assert!(cut.iter().zip(&entries).take(valid).all(|(one, other)| one == other), "cut at {end}");
            let at_a_boundary = end == 0 || end == 31;
            assert_eq!(cut.contains(&None), !at_a_boundary, "cut at {end}");
        }
    }
}
