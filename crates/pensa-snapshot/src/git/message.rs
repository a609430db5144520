//! Encodes what git trees cannot store into the commit message of a snapshot: its id, its parent and the modes.
//!
//! Git stores one mode bit of files and none of directories. The message has the most common mode of each class, then a
//! line for each path with another mode.

use std::collections::{BTreeMap, HashMap};

use pensa_core::Result;

use crate::error;
use crate::path::RelPath;
use crate::tree::FileKind;

/// The classes that each have a most common mode, in the order in which these are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ModeClass {
    Plain,
    Program,
    Dir,
}

impl ModeClass {
    const ALL: [ModeClass; 3] = [ModeClass::Plain, ModeClass::Program, ModeClass::Dir];

    /// The class and mode of a file or directory. Like git, this only considers the owner's execute bit.
    fn of(kind: FileKind) -> Option<(Self, u32)> {
        match kind {
            FileKind::File { mode, .. } if mode & 0o100 == 0 => Some((Self::Plain, mode)),
            FileKind::File { mode, .. } => Some((Self::Program, mode)),
            FileKind::Dir { mode } => Some((Self::Dir, mode)),
            _ => None,
        }
    }

    fn usual_mode(self) -> u32 {
        match self {
            Self::Plain => 0o644,
            Self::Program | Self::Dir => 0o755,
        }
    }
}

/// The modes of all files and directories in a snapshot.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Modes {
    common: [u32; 3],
    others: BTreeMap<RelPath, u32>,
}

impl Modes {
    pub(super) fn of<'s>(things: impl Iterator<Item = (&'s RelPath, &'s FileKind)> + Clone) -> Self {
        let classed = things.filter_map(|(at, kind)| Some((at, ModeClass::of(*kind)?)));
        let mut counts: HashMap<(ModeClass, u32), usize> = HashMap::new();
        classed.clone().for_each(|(_, class)| *counts.entry(class).or_default() += 1);
        let common = ModeClass::ALL.map(|class| {
            let modes = counts.iter().filter(|((other, _), _)| *other == class);
            modes.max_by_key(|((_, mode), count)| (**count, *mode)).map_or(class.usual_mode(), |((_, mode), _)| *mode)
        });
        let others = classed.filter(|(_, (class, mode))| common[*class as usize] != *mode);
        Self { common, others: others.map(|(at, (_, mode))| (at.clone(), mode)).collect() }
    }

    pub(super) fn get(&self, at: &RelPath, class: ModeClass) -> u32 {
        self.others.get(at).copied().unwrap_or(self.common[class as usize])
    }

    pub(super) fn message(&self, id: &str, parent: Option<&str>) -> String {
        let [plain, program, dir] = self.common;
        let mut text = format!("pensa snapshot {id}\n\n");
        if let Some(parent) = parent {
            text.push_str(&format!("parent {parent}\n"));
        }
        text.push_str(&format!("modes {plain:o} {program:o} {dir:o}\n"));
        for (at, mode) in &self.others {
            text.push_str(&format!("{mode:o} {at}\n"));
        }
        text
    }

    /// Parses the output of `message` from a commit object.
    pub(super) fn of_commit(commit: &[u8]) -> Result<Self> {
        let wrong = || error::corrupt("the commit of the snapshot has no list of modes");
        let text = std::str::from_utf8(commit).map_err(|_| wrong())?;
        let mut lines = text.split('\n').skip_while(|line| !line.starts_with("modes ")).filter(|line| !line.is_empty());
        let octal = |text: &str| u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o7777).ok_or_else(wrong);
        let mut words = lines.next().ok_or_else(wrong)?.split(' ').skip(1);
        let mut modes = Self::default();
        for common in &mut modes.common {
            *common = octal(words.next().ok_or_else(wrong)?)?;
        }
        for line in lines {
            let (mode, path) = line.split_once(' ').ok_or_else(wrong)?;
            modes.others.insert(RelPath::parse(path)?, octal(mode)?);
        }
        Ok(modes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_survive_a_round_trip_and_only_unusual_ones_take_space() {
        let rel = |text: &str| RelPath::checked(text.as_bytes().to_vec()).expect("a path");
        let file = |mode| FileKind::File { mode, size: 1 };
        let things = [
            (rel("a"), file(0o644)),
            (rel("b"), file(0o644)),
            (rel("odd\nname"), file(0o600)),
            (rel("run"), file(0o711)),
            (rel("d"), FileKind::Dir { mode: 0o750 }),
            (rel("link"), FileKind::Link),
        ];
        let modes = Modes::of(things.iter().map(|(at, kind)| (at, kind)));
        let text = modes.message("snap-1", Some("abc"));
        assert_eq!(text, "pensa snapshot snap-1\n\nparent abc\nmodes 644 711 750\n600 odd%0Aname\n");
        let read = Modes::of_commit(format!("tree 1\n\n{text}").as_bytes()).expect("read back");
        assert_eq!(read, modes);
        assert_eq!(read.get(&rel("odd\nname"), ModeClass::Plain), 0o600);
        assert_eq!(read.get(&rel("never/seen"), ModeClass::Dir), 0o750);
    }

    #[test]
    fn malformed_messages_are_refused() {
        for text in [
            "",
            "modes 644",
            "modes 644 755 9",
            "modes 644 755 77777",
            "modes 644 755 755\n600 ../x",
            "modes 644 755 755\nx",
        ] {
            let refused = Modes::of_commit(text.as_bytes()).expect_err(text);
            assert_eq!(refused.code, pensa_core::Code::Corrupt, "{text}");
        }
    }
}
