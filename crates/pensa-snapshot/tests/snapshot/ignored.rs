//! What git ignores stays as it is, whichever rules say so.

use std::fs;

use pensa_core::Code;
use pensa_snapshot::Provider::{self, Copy, Git};

use crate::kit::{Ground, apart};

const BOTH: [Provider; 2] = [Git, Copy];

apart!(ignored_files_and_the_store_are_neither_taken_nor_touched, Plain, {
    for provider in BOTH {
        let ground = Ground::with_git();
        ground.write(".gitignore", "*.log\nbuild/\n");
        ground.write(".git/info/exclude", "private\n");
        ground.write("kept.log", "tracked though ignored");
        ground.git(["add", "-f", "kept.log"]);
        ground.write("src/a", "one");
        for name in ["src/x.log", "build/out/o", "private", ".pensa/db", "sub/.pensa/db", "only/a.log"] {
            ground.write(name, "before");
        }
        let taken = ground.take(provider, "snap-1");
        assert_eq!(taken.metadata["files"], 3, "{provider}: .gitignore, kept.log, src/a");
        for name in ["src/x.log", "build/out/o", "private", ".pensa/db", "sub/.pensa/db", "only/a.log", "build/new"] {
            ground.write(name, "after");
        }
        ground.write("kept.log", "changed");
        ground.write("src/new", "goes");
        fs::remove_file(ground.path("src/a")).expect("removed");
        let restored = ground.restore(provider, "snap-1", &taken);
        assert_eq!(restored.removed, 1, "{provider}");
        for name in ["src/x.log", "build/out/o", "private", ".pensa/db", "sub/.pensa/db", "only/a.log", "build/new"] {
            assert_eq!(ground.read(name), b"after", "{provider} {name}");
        }
        assert_eq!(ground.read("kept.log"), b"tracked though ignored", "{provider}");
        assert!(ground.has("src/a") && !ground.has("src/new"), "{provider}");
    }
});

apart!(what_is_ignored_now_or_was_ignored_then_stays, Plain, {
    for provider in BOTH {
        let ground = Ground::with_git();
        ground.write(".gitignore", "*.then\n");
        ground.write("a.then", "never taken");
        let taken = ground.take(provider, "snap-1");
        ground.write(".gitignore", "*.now\n");
        ground.write("b.now", "no snapshot has it");
        ground.write("c", "goes");
        let safety = ground.take(provider, "snap-2");
        assert_eq!(safety.metadata["files"], 3, "{provider}: .gitignore, a.then, c");
        ground.restore(provider, "snap-1", &taken);
        assert_eq!(ground.read(".gitignore"), b"*.then\n");
        assert!(ground.has("a.then") && ground.has("b.now") && !ground.has("c"), "{provider}");
    }
});

apart!(a_safety_snapshot_covers_what_the_restore_overwrites_though_it_is_ignored, Plain, {
    for provider in BOTH {
        let ground = Ground::with_git();
        ground.write("dir/notes.log", "then");
        let taken = ground.take(provider, "snap-1");
        ground.write(".gitignore", "*.log\ndir/\n");
        ground.write("dir/notes.log", "now");
        ground.write("dir/other.log", "nobody overwrites it");
        let plain = ground.take(provider, "snap-2");
        assert_eq!(plain.metadata["files"], 1, "{provider}");
        let safety = pensa_snapshot::create(provider, &ground.place("snap-3"), None, Some(&taken)).expect("taken");
        assert_eq!(safety.metadata["files"], 2, "{provider}");
        ground.restore(provider, "snap-1", &taken);
        assert_eq!(ground.read("dir/notes.log"), b"then", "{provider}");
        assert!(ground.has("dir/other.log"), "{provider}");
        ground.restore(provider, "snap-3", &safety);
        assert_eq!(ground.read("dir/notes.log"), b"now", "{provider}");
    }
});

apart!(an_ignored_thing_in_the_way_refuses_the_restore_before_anything_is_changed, Plain, {
    for provider in BOTH {
        let ground = Ground::with_git();
        ground.write(".gitignore", "*.log\n");
        ground.write("thing", "a file");
        ground.write("folder/file", "x");
        let taken = ground.take(provider, "snap-1");
        let conflict = |ground: &Ground| {
            ground.write("fresh", "x");
            let before = ground.listing();
            let refused = ground.try_restore(provider, "snap-1", &taken).expect_err("in the way");
            assert_eq!(refused.code, Code::Conflict, "{provider}: {refused}");
            assert_eq!(ground.listing(), before, "{provider}");
        };
        fs::remove_file(ground.path("thing")).expect("removed");
        ground.write("thing/precious.log", "nobody else has it");
        conflict(&ground);
        fs::remove_dir_all(ground.path("thing")).expect("removed");
        fs::remove_dir_all(ground.path("folder")).expect("removed");
        ground.write(".gitignore", "*.log\nfolder\n");
        ground.write("folder", "an ignored file");
        conflict(&ground);
        fs::remove_file(ground.path("folder")).expect("removed");
        ground.restore(provider, "snap-1", &taken);
        assert_eq!((ground.read("thing"), ground.has("fresh")), (b"a file".to_vec(), false));
    }
});

apart!(a_tree_that_the_repository_around_it_ignores_is_taken_whole, Plain, {
    let mut ground = Ground::with_git();
    ground.write(".gitignore", "work/\n*.log\n");
    ground.write("work/sub/a.log", "one");
    ground.write("part/a.log", "one");
    ground.write("part/b", "one");
    let top = ground.root.clone();
    ground.root = top.join("work/sub");
    assert_eq!(ground.take(Copy, "snap-1").metadata["files"], 1);
    ground.root = top.join("part");
    assert_eq!(ground.take(Copy, "snap-2").metadata["files"], 1, "a part of a work tree has its rules");
});
