//! Snapshots as copies: what they have, what proves them, and what a full disk leaves of them.

use std::fs::{self, File};
use std::process::Command;

use pensa_core::Code;
use pensa_snapshot::Provider::Copy;

use crate::kit::{Ground, apart, odd};

apart!(everything_comes_back_with_modes_symlinks_and_empty_directories, Plain, {
    let ground = Ground::new();
    ground.write("a", "one");
    ground.write("dir/deep/b", "two");
    ground.write(odd(b"odd\n\xff%/%41"), "three");
    ground.mode("a", 0o4751);
    ground.mode("dir/deep", 0o700);
    fs::create_dir(ground.path("empty")).expect("a directory");
    ground.link("/nowhere/at all", "dangling");
    ground.link(odd(b"\xff\n"), "odd-target");
    fs::hard_link(ground.path("a"), ground.path("twin")).expect("a hard link");
    let before = ground.listing();
    let taken = ground.take(Copy, "snap-1");
    assert_eq!(taken.metadata["files"], 6);
    assert_eq!(taken.path.as_deref(), Some(ground.data.join("snap-1").as_path()));
    let proof = ground.verify(Copy, "snap-1", &taken);
    assert!(proof.ok && proof.files == 6, "{proof:?}");

    fs::remove_dir_all(ground.path("dir")).expect("removed");
    fs::remove_dir(ground.path("empty")).expect("removed");
    fs::remove_file(ground.path("dangling")).expect("removed");
    ground.write("dangling/now/a/directory", "x");
    ground.write("dir", "now a file");
    fs::create_dir_all(ground.path("new/empty")).expect("directories");
    ground.restore(Copy, "snap-1", &taken);
    assert_eq!(ground.listing(), before);
    let again = ground.restore(Copy, "snap-1", &taken);
    assert_eq!((again.written, again.removed, again.kept), (0, 0, 0));
});

apart!(pipes_and_repositories_own_directories_are_left_out_and_alone, Plain, {
    let ground = Ground::new();
    assert!(Command::new("mkfifo").arg(ground.path("pipe")).status().expect("mkfifo").success());
    ground.write("a", "one");
    ground.write("sub/.git/config", "x");
    ground.write(".pensa/db", "x");
    let taken = ground.take(Copy, "snap-1");
    assert_eq!(taken.metadata["left_out"], serde_json::json!(["pipe is a pipe, a socket or a device"]));
    ground.write("sub/.git/config", "y");
    ground.write(".pensa/db", "y");
    let restored = ground.restore(Copy, "snap-1", &taken);
    assert_eq!((restored.written, restored.removed, restored.kept), (0, 0, 3));
    assert!(ground.has("pipe"));
    assert_eq!((ground.read("sub/.git/config"), ground.read(".pensa/db")), (b"y".to_vec(), b"y".to_vec()));
});

apart!(snapshots_that_are_kept_inside_the_tree_are_no_part_of_it, Plain, {
    let mut ground = Ground::new();
    ground.data = ground.path("kept/here");
    ground.write("a", "one");
    let first = ground.take(Copy, "snap-1");
    let second = ground.take(Copy, "snap-2");
    assert_eq!(second.metadata["files"], 1);
    fs::remove_file(ground.path("a")).expect("removed");
    ground.restore(Copy, "snap-1", &first);
    assert_eq!(ground.read("a"), b"one");
    assert!(ground.verify(Copy, "snap-2", &second).ok);
});

apart!(a_proof_finds_every_flipped_byte_and_missing_file, Plain, {
    let ground = Ground::new();
    ground.write("dir/a", "content");
    ground.write("b", "");
    let taken = ground.take(Copy, "snap-1");
    let copy = ground.data.join("snap-1");
    for name in ["tree/dir/a", "manifest.jsonl"] {
        let path = copy.join(name);
        let whole = fs::read(&path).expect("there");
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            fs::write(&path, &flipped).expect("written");
            assert!(!ground.verify(Copy, "snap-1", &taken).ok, "{name} at {at}");
            ground.write("dir/a", "changed");
            let refused = ground.try_restore(Copy, "snap-1", &taken).expect_err("damaged");
            assert_eq!(refused.code, Code::Corrupt, "{name} at {at}: {refused}");
            assert_eq!(ground.read("dir/a"), b"changed", "no wrong content is written");
        }
        fs::remove_file(&path).expect("removed");
        assert!(!ground.verify(Copy, "snap-1", &taken).ok, "{name} is missing");
        fs::write(&path, whole).expect("written");
    }
    fs::write(copy.join("tree/strange"), "x").expect("written");
    let proof = ground.verify(Copy, "snap-1", &taken);
    assert_eq!(proof.problems, ["strange is in the copy, but not in its manifest"]);
    fs::remove_file(copy.join("tree/strange")).expect("removed");
    assert!(ground.verify(Copy, "snap-1", &taken).ok);
    fs::remove_dir_all(&copy).expect("removed");
    assert!(!ground.verify(Copy, "snap-1", &taken).ok);
});

apart!(a_copy_can_be_deleted_any_number_of_times_and_its_name_is_given_once, Plain, {
    let ground = Ground::new();
    ground.write("closed/a", "one");
    ground.mode("closed", 0o555);
    let first = ground.take(Copy, "snap-1");
    assert_eq!(ground.create(Copy, "snap-1").expect_err("there is one").code, Code::Conflict);
    let second = pensa_snapshot::create(Copy, &ground.place("snap-2"), Some(&first), None).expect("taken");
    assert_eq!(second.metadata["parent"], first.metadata["digest"]);
    // What a killed call leaves goes too, and nothing of another snapshot.
    fs::create_dir_all(ground.data.join(".scratch.snap-1.1.1/tree")).expect("a directory");
    ground.delete(Copy, "snap-1");
    ground.delete(Copy, "snap-1");
    assert_eq!(ground.leftovers(), ["snap-2"]);
    assert!(ground.verify(Copy, "snap-2", &second).ok);
});

apart!(a_file_with_a_hole_takes_no_room, Plain, {
    let ground = Ground::new();
    let file = File::create(ground.path("holes")).expect("a file");
    file.set_len(64 * 1024 * 1024).expect("a length");
    let taken = ground.take(Copy, "snap-1");
    assert_eq!(taken.metadata["bytes"], 64 * 1024 * 1024);
    let copy = fs::metadata(ground.data.join("snap-1/tree/holes")).expect("a copy");
    assert_eq!(copy.len(), 64 * 1024 * 1024);
    assert!(std::os::unix::fs::MetadataExt::blocks(&copy) < 1024);
    assert!(ground.verify(Copy, "snap-1", &taken).ok);
});

apart!(a_full_disk_is_reported_and_leaves_nothing_half_made, Mounts, {
    let mut ground = Ground::with_git();
    let disk = ground.dir.path().canonicalize().expect("a path").join("disk");
    fs::create_dir(&disk).expect("a directory");
    let mount = ["-t", "tmpfs", "-o", "size=256k", "tmpfs"];
    let mounted = Command::new("mount").args(mount).arg(&disk).status().expect("mount");
    assert!(mounted.success(), "these tests need the right to mount");
    ground.data = disk.join("data");
    let noise: Vec<u8> = (0..200_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    ground.write("small", "x");
    ground.write("large", [noise.clone(), noise].concat());
    let refused = ground.create(Copy, "snap-1").expect_err("no room");
    assert_eq!(refused.code, Code::DiskFull, "{refused}");
    assert_eq!(ground.leftovers(), [""; 0]);
    // The tree itself can be on a full disk when it is restored.
    let roomy = ground.dir.path().join("data");
    ground.data = roomy;
    ground.root = disk.join("root");
    fs::create_dir(&ground.root).expect("a root");
    ground.write("a", vec![b'a'; 100_000]);
    let taken = ground.take(Copy, "snap-1");
    ground.write("a", "short");
    fs::write(disk.join("filler"), vec![b'x'; 180_000]).expect("written");
    let refused = ground.try_restore(Copy, "snap-1", &taken).expect_err("no room");
    assert_eq!(refused.code, Code::DiskFull, "{refused}");
    assert_eq!((ground.read("a"), ground.listing().len()), (b"short".to_vec(), 1), "no draft is left");
    fs::remove_file(disk.join("filler")).expect("removed");
    ground.restore(Copy, "snap-1", &taken);
    assert_eq!(ground.read("a").len(), 100_000);
});
