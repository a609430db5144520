//! Random trees, random changes: a restore gives the identical tree, whatever lay between.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use pensa_snapshot::Provider;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::kit::{Ground, Listing, apart, listing};

/// Something that is made at a path, over whatever is there.
#[derive(Debug, Clone)]
enum Change {
    File(PathBuf, Vec<u8>, u32),
    Link(PathBuf, PathBuf),
    Dir(PathBuf, u32),
    Remove(PathBuf),
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    let usual =
        prop::sample::select(vec!["a", "b", "c", "d.txt", "e.log", "out"]).prop_map(|name| name.as_bytes().to_vec());
    let odd = prop::sample::select(vec![
        b"-x".to_vec(),
        b"new\nline".to_vec(),
        b"\xff\xfe".to_vec(),
        b"a\"b".to_vec(),
        b" ".to_vec(),
        b"a-".to_vec(),
        b"a0".to_vec(),
        b"..a".to_vec(),
        "\u{fc}%41".as_bytes().to_vec(),
        b".gitattributes".to_vec(),
    ]);
    prop_oneof![4 => usual, 1 => odd]
}

fn path() -> impl Strategy<Value = PathBuf> {
    prop::collection::vec(name(), 1..4).prop_map(|names| PathBuf::from(OsStr::from_bytes(&names.join(&b'/'))))
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::sample::select(vec![
            b"".to_vec(),
            b"one\r\ntwo\n".to_vec(),
            b"* text eol=crlf\n".to_vec(),
            b"\0".repeat(3)
        ]),
        prop::collection::vec(any::<u8>(), 0..60),
        (any::<u8>(), 100_000..300_000_usize).prop_map(|(byte, size)| vec![byte; size]),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    let mode = prop::sample::select(vec![0o644, 0o755, 0o600, 0o444, 0o711, 0o640]);
    let target = prop_oneof![
        path(),
        prop::sample::select(vec!["/etc", "..", "../../outside", "nowhere", "/no/such", "."]).prop_map(PathBuf::from),
    ];
    prop_oneof![
        6 => (path(), content(), mode).prop_map(|(path, content, mode)| Change::File(path, content, mode)),
        2 => (path(), target).prop_map(|(path, target)| Change::Link(path, target)),
        2 => (path(), prop::sample::select(vec![0o755, 0o700, 0o775])).prop_map(|(path, mode)| Change::Dir(path, mode)),
        3 => path().prop_map(Change::Remove),
    ]
}

/// Clears a path, and what stands in the way of its directories.
fn clear(root: &Path, path: &Path) -> PathBuf {
    let mut at = root.to_owned();
    for part in path.parent().into_iter().flat_map(Path::iter) {
        at.push(part);
        if at.symlink_metadata().is_ok_and(|meta| !meta.is_dir()) {
            fs::remove_file(&at).expect("removed");
        }
    }
    fs::create_dir_all(&at).expect("directories");
    let at = root.join(path);
    match at.symlink_metadata() {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(&at).expect("removed"),
        Ok(_) => fs::remove_file(&at).expect("removed"),
        Err(_) => {}
    }
    at
}

fn apply(ground: &Ground, changes: &[Change]) {
    for change in changes {
        match change {
            Change::File(path, content, mode) => {
                let at = clear(&ground.root, path);
                fs::write(at, content).expect("written");
                ground.mode(path, *mode);
            }
            Change::Link(path, target) => {
                clear(&ground.root, path);
                ground.link(target, path);
            }
            Change::Dir(path, mode) => {
                let at = clear(&ground.root, path);
                fs::create_dir(at).expect("a directory");
                ground.mode(path, *mode);
            }
            Change::Remove(path) => drop(clear(&ground.root, path)),
        }
    }
}

/// A listing without directories that have no file below, which git does not know.
fn without_empty_dirs(mut all: Listing) -> Listing {
    let files: Vec<Vec<u8>> = all.iter().filter(|(_, (kind, ..))| *kind != 'd').map(|(name, _)| name.clone()).collect();
    all.retain(|name, (kind, ..)| {
        *kind != 'd' || files.iter().any(|file| file.starts_with(&[name, b"/".as_slice()].concat()))
    });
    all
}

fn comes_back(provider: Provider, cases: u32) {
    let changes = || prop::collection::vec(change(), 0..14);
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let result = runner.run(&(changes(), changes(), any::<bool>()), |(first, second, is_tracked)| {
        let ground = Ground::with_git();
        let outside = ground.dir.path().join("outside");
        fs::create_dir(&outside).expect("a directory");
        fs::write(outside.join("a"), "outside").expect("written");
        let untouched = listing(&outside);
        apply(&ground, &first);
        if is_tracked {
            ground.git(["add", "-A"]);
        }
        let seen = |ground: &Ground| match provider {
            Provider::Git => without_empty_dirs(ground.listing()),
            _ => ground.listing(),
        };
        let before = seen(&ground);
        let taken = ground.take(provider, "snap-1");
        apply(&ground, &second);
        let (between, safety) = (seen(&ground), ground.take(provider, "snap-2"));
        ground.restore(provider, "snap-1", &taken);
        prop_assert_eq!(seen(&ground), before);
        ground.restore(provider, "snap-2", &safety);
        prop_assert_eq!(seen(&ground), between);
        prop_assert_eq!(listing(&outside), untouched);
        prop_assert!(ground.verify(provider, "snap-1", &taken).ok);
        prop_assert!(ground.verify(provider, "snap-2", &safety).ok);
        Ok(())
    });
    result.unwrap_or_else(|e| panic!("{e}"));
}

apart!(whatever_was_changed_a_restore_by_git_gives_the_identical_tree, Plain, { comes_back(Provider::Git, 32) });

apart!(whatever_was_changed_a_restore_of_a_copy_gives_the_identical_tree, Plain, { comes_back(Provider::Copy, 48) });
