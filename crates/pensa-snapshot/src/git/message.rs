//! The message of a snapshot's commit: its id, the snapshot before it, and the modes that trees of git have no room for.
//!
//! Git knows one bit of a file's mode and none of a directory's. The most common modes are written once; what has
//! another follows, one to a line.

use std::collections::{BTreeMap, HashMap};

use pensa_core::Result;

use crate::error;
use crate::path::Rel;
use crate::tree::Kind;

/// The classes of things that have a mode, in the order in which their most common ones are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Class {
    Plain,
    Program,
    Dir,
}

impl Class {
    const ALL: [Class; 3] = [Class::Plain, Class::Program, Class::Dir];

    /// What a file or directory belongs to, and its mode. Git takes the owner's bit for all.
    fn of(kind: Kind) -> Option<(Self, u32)> {
        match kind {
            Kind::File { mode, .. } if mode & 0o100 == 0 => Some((Self::Plain, mode)),
            Kind::File { mode, .. } => Some((Self::Program, mode)),
            Kind::Dir { mode } => Some((Self::Dir, mode)),
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

/// The modes of everything in a snapshot.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Modes {
    common: [u32; 3],
    others: BTreeMap<Rel, u32>,
}

impl Modes {
    pub(super) fn of<'s>(things: impl Iterator<Item = (&'s Rel, &'s Kind)> + Clone) -> Self {
        let classed = things.filter_map(|(at, kind)| Some((at, Class::of(*kind)?)));
        let mut counts: HashMap<(Class, u32), usize> = HashMap::new();
        classed.clone().for_each(|(_, class)| *counts.entry(class).or_default() += 1);
        let common = Class::ALL.map(|class| {
            let modes = counts.iter().filter(|((other, _), _)| *other == class);
            modes.max_by_key(|((_, mode), count)| (**count, *mode)).map_or(class.usual_mode(), |((_, mode), _)| *mode)
        });
        let others = classed.filter(|(_, (class, mode))| common[*class as usize] != *mode);
        Self { common, others: others.map(|(at, (_, mode))| (at.clone(), mode)).collect() }
    }

    pub(super) fn get(&self, at: &Rel, class: Class) -> u32 {
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

    /// Reads what `message` wrote, from a commit as git stores it.
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
            modes.others.insert(Rel::parse(path)?, octal(mode)?);
        }
        Ok(modes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_come_back_and_only_the_unusual_ones_take_room() {
        let rel = |text: &str| Rel::checked(text.as_bytes().to_vec()).expect("a path");
        let file = |mode| Kind::File { mode, size: 1 };
        let things = [
            (rel("a"), file(0o644)),
            (rel("b"), file(0o644)),
            (rel("odd\nname"), file(0o600)),
            (rel("run"), file(0o711)),
            (rel("d"), Kind::Dir { mode: 0o750 }),
            (rel("link"), Kind::Link),
        ];
        let modes = Modes::of(things.iter().map(|(at, kind)| (at, kind)));
        let text = modes.message("snap-1", Some("abc"));
        assert_eq!(text, "pensa snapshot snap-1\n\nparent abc\nmodes 644 711 750\n600 odd%0Aname\n");
        let read = Modes::of_commit(format!("tree 1\n\n{text}").as_bytes()).expect("read back");
        assert_eq!(read, modes);
        assert_eq!(read.get(&rel("odd\nname"), Class::Plain), 0o600);
        assert_eq!(read.get(&rel("never/seen"), Class::Dir), 0o750);
    }

    #[test]
    fn a_message_that_somebody_else_wrote_is_refused() {
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
