//! Which provider a tree is offered, why others are not, and snapshots of file systems that have their own.

use std::fs;
use std::path::Path;
use std::process::Command;

use pensa_core::Code;
use pensa_snapshot::Provider::{self, Btrfs, Copy, Git, Overlay, Zfs};

use crate::kit::{Ground, apart};

fn run(program: &str, args: &[&str]) {
    let ended = Command::new(program).args(args).output().unwrap_or_else(|e| panic!("{program} is needed: {e}"));
    assert!(ended.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&ended.stderr));
}

apart!(without_a_name_a_tree_gets_git_in_a_work_tree_and_else_copies, Plain, {
    let ground = Ground::with_git();
    fs::create_dir(ground.path("sub")).expect("a directory");
    assert_eq!(pensa_snapshot::detect(&ground.root), Ok(Git));
    assert_eq!(pensa_snapshot::detect(&ground.path("sub")), Ok(Git));
    assert_eq!(pensa_snapshot::detect(Ground::new().root.as_path()), Ok(Copy));
    assert!(pensa_snapshot::detect(Path::new("/no/such/directory")).is_err());
});

apart!(a_provider_that_is_not_there_is_refused_with_the_reason_and_never_replaced, Mounts, {
    let ground = Ground::new();
    run("mount", &["-t", "tmpfs", "tmpfs", &ground.root.display().to_string()]);
    ground.write("a", "one");
    let reasons: [(Provider, &str); 3] = [
        (Btrfs, "is not on a btrfs file system"),
        (Zfs, "is not on a ZFS file system"),
        (Overlay, "is not on an overlay mount"),
    ];
    for (provider, reason) in reasons {
        let refused = ground.create(provider, "snap-1").expect_err("not there");
        assert_eq!(refused.code, Code::Unsupported, "{refused}");
        assert!(refused.message.contains(reason), "{refused}");
        assert!(refused.hint.is_some());
        assert_eq!(ground.leftovers(), [""; 0]);
    }
});

/// An overlay mount at the root, with two lower layers.
fn overlay(ground: &Ground) {
    let base = ground.root.parent().expect("a parent");
    let layer = |name: &str| base.join(name);
    for name in ["low:er/dir", "lowest/dir", "upper", "work"] {
        fs::create_dir_all(layer(name)).expect("directories");
    }
    fs::write(layer("low:er/both"), "nearer").expect("written");
    for (name, text) in [("both", "farther"), ("dir/kept", "below"), ("gone", "below"), ("changed", "below")] {
        fs::write(layer("lowest").join(name), text).expect("written");
    }
    let escaped = layer("low:er").display().to_string().replace(':', "\\:");
    let lowest = layer("lowest").display().to_string();
    let (upper, work) = (layer("upper").display().to_string(), layer("work").display().to_string());
    let options = format!("lowerdir={escaped}:{lowest},upperdir={upper},workdir={work}");
    run("mount", &["-t", "overlay", "-o", &options, "overlay", &ground.root.display().to_string()]);
}

apart!(on_an_overlay_mount_only_what_is_above_the_lower_layers_is_copied, Mounts, {
    let ground = Ground::new();
    overlay(&ground);
    ground.write("changed", "above");
    ground.write("dir/new", "above");
    fs::remove_file(ground.path("gone")).expect("removed");
    let before = ground.listing();
    let taken = ground.take(Overlay, "snap-1");
    assert_eq!(taken.metadata["files"], 4);
    let copied = crate::kit::listing(&ground.data.join("snap-1/tree"));
    let names: Vec<_> = copied.into_iter().filter(|(_, (kind, ..))| *kind == 'f').map(|(name, _)| name).collect();
    assert_eq!(names, [b"changed".to_vec(), b"dir/new".to_vec()]);
    assert!(ground.verify(Overlay, "snap-1", &taken).ok);

    for name in ["both", "dir/kept", "changed", "gone"] {
        ground.write(name, "later");
    }
    fs::remove_file(ground.path("dir/new")).expect("removed");
    ground.restore(Overlay, "snap-1", &taken);
    assert_eq!(ground.listing(), before);
    // A lower layer that did change is found, and what it had is not made up.
    fs::write(ground.root.with_file_name("low:er").join("both"), "NEARER").expect("written");
    let proof = ground.verify(Overlay, "snap-1", &taken);
    assert_eq!(proof.problems, ["both has another content than it should"]);
    ground.write("both", "later");
    assert_eq!(ground.try_restore(Overlay, "snap-1", &taken).expect_err("changed").code, Code::Corrupt);
    ground.delete(Overlay, "snap-1");
    assert_eq!(ground.leftovers(), [""; 0]);
});

apart!(an_overlay_mount_whose_layers_cannot_be_seen_is_refused_with_the_reason, Mounts, {
    let ground = Ground::new();
    overlay(&ground);
    let upper = ground.root.with_file_name("upper");
    fs::rename(&upper, upper.with_file_name("moved")).expect("moved");
    let refused = ground.create(Overlay, "snap-1").expect_err("not seen");
    assert_eq!(refused.code, Code::Unsupported, "{refused}");
    assert!(refused.message.contains("cannot be seen from here"), "{refused}");
});

apart!(
    #[ignore = "needs btrfs-progs, a loop device and the right to mount"]
    a_btrfs_subvolume_has_snapshots_of_its_own,
    Mounts,
    {
        let mut ground = Ground::new();
        let (image, disk) = (ground.dir.path().join("image"), ground.dir.path().join("disk"));
        fs::File::create(&image).and_then(|file| file.set_len(200 << 20)).expect("an image");
        fs::create_dir(&disk).expect("a directory");
        run("mkfs.btrfs", &["-q", &image.display().to_string()]);
        run("mount", &["-o", "loop", &image.display().to_string(), &disk.display().to_string()]);
        ground.root = disk.join("volume");
        run("btrfs", &["subvolume", "create", &ground.root.display().to_string()]);
        let refused = ground.create(Btrfs, "snap-0").expect_err("another file system");
        assert!(refused.message.contains("is on another file system"), "{refused}");
        ground.data = disk.join("data");
        ground.git(["init", "-q"]);
        ground.write(".gitignore", "*.log\n");
        ground.write("a.log", "before");
        ground.write("dir/a", "one");
        run("btrfs", &["subvolume", "create", &ground.path("inner").display().to_string()]);
        ground.write("inner/file", "before");
        assert_eq!(pensa_snapshot::detect(&ground.root), Ok(Btrfs));
        assert_eq!(ground.create(Copy, "snap-copy").expect("taken").metadata["shared"], 3, "blocks are shared");
        let taken = ground.take(Btrfs, "snap-1");
        assert_eq!(taken.metadata["files"], 2);
        assert!(ground.verify(Btrfs, "snap-1", &taken).ok);
        for name in ["a.log", "dir/a", "new", "inner/file"] {
            ground.write(name, "after");
        }
        ground.restore(Btrfs, "snap-1", &taken);
        assert_eq!((ground.read("dir/a"), ground.has("new")), (b"one".to_vec(), false));
        assert_eq!((ground.read("a.log"), ground.read("inner/file")), (b"after".to_vec(), b"after".to_vec()));
        let inside = ground.path("dir");
        let refused = pensa_snapshot::create(
            Btrfs,
            &pensa_snapshot::SnapshotDirs { root: &inside, ..ground.place("snap-2") },
            None,
            None,
        );
        assert!(refused.expect_err("no subvolume").message.contains("is not the root of a btrfs subvolume"));
        ground.delete(Btrfs, "snap-1");
        ground.delete(Btrfs, "snap-1");
        assert!(!ground.verify(Btrfs, "snap-1", &taken).ok);
    }
);
