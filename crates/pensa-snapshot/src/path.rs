//! Validates paths inside a tree, and encodes them as text.

use std::fmt;

use pensa_core::{Error, Result};

use crate::error;

/// Limit on paths read from a manifest or git tree.
const MAX_BYTES: usize = 64 * 1024;

/// The directory of a store, which also records the snapshots, so it is never part of one.
const STORE: &[u8] = b".pensa";

/// A path relative to the root of a tree, as bytes, without `.`, `..` or empty names.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RelPath(Vec<u8>);

impl RelPath {
    /// Validates a path from an untrusted source.
    pub(crate) fn checked(bytes: Vec<u8>) -> Result<Self> {
        let refused = |why: &str| {
            let shown = escape(&bytes[..bytes.len().min(200)]);
            Err(error::corrupt(format!("the snapshot has a path that {why}: {shown}")))
        };
        if bytes.len() > MAX_BYTES {
            return refused("is too long");
        }
        for name in bytes.split(|byte| *byte == b'/') {
            match name {
                b"" | b"." | b".." => return refused("leads out of the tree"),
                name if name.contains(&0) => return refused("no file can have"),
                name if is_forbidden(name) || name == STORE => return refused("is never restored"),
                _ => {}
            }
        }
        Ok(Self(bytes))
    }

    /// Joins a directory, empty for the root, and a name read from the file system.
    pub(crate) fn inside(dir: &[u8], name: &[u8]) -> Self {
        if dir.is_empty() { Self(name.to_vec()) } else { Self([dir, b"/", name].concat()) }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The parent directory, empty for the root, and the file name.
    pub(crate) fn split(&self) -> (&[u8], &[u8]) {
        match self.0.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (&self.0[..at], &self.0[at + 1..]),
            None => (&[], &self.0),
        }
    }

    pub(crate) fn name(&self) -> &[u8] {
        self.split().1
    }

    /// The parent directories, the nearest first, without the root.
    pub(crate) fn ancestors(&self) -> impl Iterator<Item = RelPath> {
        let slashes = self.0.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/');
        slashes.map(|(at, _)| Self(self.0[..at].to_vec()))
    }

    /// The prefix of all paths below this one.
    pub(crate) fn with_slash(&self) -> Vec<u8> {
        [&self.0, b"/".as_slice()].concat()
    }

    /// Parses the output of `Display`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        Self::checked(unescape(text)?)
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape(&self.0))
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Whether a name is never included or written. Git runs commands from `.git`, and some file systems and programs treat
/// these names as `.git`.
pub(crate) fn is_forbidden(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b".git") || name.eq_ignore_ascii_case(b"git~1")
}

/// Whether a name is `.git` or `.pensa`, which are excluded without a remark.
pub(crate) fn is_own(name: &[u8]) -> bool {
    name == b".git" || name == STORE
}

/// Encodes bytes as text: `%`, control characters and invalid UTF-8 become `%XX`.
pub(crate) fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let hex = |text: &mut String, byte: u8| text.push_str(&format!("%{byte:02X}"));
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '%' || c.is_control() {
                let mut utf8 = [0; 4];
                c.encode_utf8(&mut utf8).bytes().for_each(|byte| hex(&mut text, byte));
            } else {
                text.push(c);
            }
        }
        chunk.invalid().iter().for_each(|byte| hex(&mut text, *byte));
    }
    text
}

/// Decodes the output of `escape`. Refuses any other encoding, so that each path has only one.
pub(crate) fn unescape(text: &str) -> Result<Vec<u8>> {
    let wrong =
        || error::corrupt(format!("the snapshot has a path that is not spelled well: {}", escape(text.as_bytes())));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = rest.get(..2).and_then(|two| std::str::from_utf8(two).ok()).ok_or_else(wrong)?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| wrong())?);
        rest = &rest[2..];
    }
    if escape(&bytes) == text { Ok(bytes) } else { Err(wrong()) }
}

/// Refuses ids that could lead to another file or ref.
pub(crate) fn check_id(id: &str) -> Result<()> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let starts_well = id.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    if starts_well && id.len() <= 64 && id.bytes().all(plain) {
        return Ok(());
    }
    Err(Error::invalid("an id of a snapshot has small letters, digits and dashes, and begins with a letter"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_outside_the_tree_or_into_a_repository_are_refused() {
        for path in [
            "",
            "/",
            "/etc/passwd",
            "..",
            "../x",
            "a/../b",
            "a//b",
            "a/",
            "./a",
            "a/.",
            ".git",
            ".GIT/hooks/x",
            "a/.gIt",
            "GIT~1/config",
            ".pensa/db",
            "a\0b",
        ] {
            let refused = RelPath::checked(path.into()).expect_err(path);
            assert_eq!(refused.code, pensa_core::Code::Corrupt, "{path}");
        }
        for path in ["a", "-a/b", "a b/\n", "..a/b..", ".gitignore", "a/.github"] {
            assert_eq!(RelPath::checked(path.into()).expect(path).bytes(), path.as_bytes());
        }
        assert!(RelPath::checked(vec![b'a'; MAX_BYTES + 1]).is_err());
    }

    #[test]
    fn a_path_has_one_encoding() {
        for text in ["%41", "a%0", "%zz", "%", "a\nb", "%0a"] {
            assert!(unescape(text).is_err(), "{text}");
        }
        assert_eq!(escape(b"100%\n\xff\xc3\xa9"), "100%25%0A%FF\u{e9}");
    }

    #[test]
    fn only_plain_ids_name_a_snapshot() {
        for id in ["", "..", "a/b", "-a", "snap-1A", "a.lock", "a b"] {
            assert!(check_id(id).is_err(), "{id}");
        }
        assert_eq!(check_id("snap-1a2b3c4d"), Ok(()));
    }

    proptest! {
        #[test]
        fn escaping_and_unescaping_restores_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(unescape(&escape(&bytes)).expect("well spelled"), bytes);
        }

        #[test]
        fn only_canonical_escapes_are_accepted(text in "[%0-9A-F\\PC]{0,12}") {
            if let Ok(bytes) = unescape(&text) {
                prop_assert_eq!(escape(&bytes), text);
            }
        }
    }
}
