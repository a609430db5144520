//! Reads the kernel's list of mounts.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) point: PathBuf,
    pub(crate) kind: String,
    pub(crate) source: PathBuf,
    /// The file system's own options, still escaped
    pub(crate) options: Vec<u8>,
}

/// The mount that contains a directory; `None` if the kernel offers no list.
pub(crate) fn of(dir: &Path) -> Option<Mount> {
    let dir = dir.canonicalize().ok()?;
    let list = fs::read("/proc/self/mountinfo").ok()?;
    // A later mount hides an earlier one at the same point.
    let mounts = list.split(|byte| *byte == b'\n').filter_map(parse);
    mounts.filter(|mount| dir.starts_with(&mount.point)).max_by_key(|mount| mount.point.as_os_str().len())
}

/// Parses a line: six fields, any number of optional ones, a dash, and three about the file system.
fn parse(line: &[u8]) -> Option<Mount> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let dash = fields.iter().skip(6).position(|field| field == b"-")? + 6;
    Some(Mount {
        point: path(&unescape(fields.get(4)?)),
        kind: String::from_utf8(fields.get(dash + 1)?.to_vec()).ok()?,
        source: path(&unescape(fields.get(dash + 2)?)),
        options: fields.get(dash + 3)?.to_vec(),
    })
}

pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

/// Decodes the kernel's octal escapes, such as `\040`.
pub(crate) fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, after @ ..] = rest {
        let code = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if *first == b'\\' => {
                bytes.push(byte);
                rest = &after[3..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_list_is_read_with_any_number_of_optional_fields() {
        let line = br"36 35 98:0 / /mnt\040two rw,noatime master:1 shared:2 - zfs tank/a\040b rw,xattr";
        let mount = parse(line).expect("a mount");
        assert_eq!(mount.point, Path::new("/mnt two"));
        assert_eq!((mount.kind.as_str(), mount.source.as_path()), ("zfs", Path::new("tank/a b")));
        assert_eq!(mount.options, b"rw,xattr");
        assert!(parse(b"36 35 98:0 / /mnt rw - zfs tank rw").is_some());
        for cut in ["", "36 35", "36 35 98:0 / /mnt rw shared:1", "36 35 98:0 / /mnt rw - zfs"] {
            assert_eq!(parse(cut.as_bytes()), None, "{cut}");
        }
    }

    #[test]
    fn the_deepest_mount_is_the_one_a_directory_is_on() {
        let root = of(Path::new("/proc/self")).expect("this machine has the list");
        assert_eq!((root.point.as_path(), root.kind.as_str()), (Path::new("/proc"), "proc"));
    }
}
