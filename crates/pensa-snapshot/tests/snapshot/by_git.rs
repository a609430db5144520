//! Snapshots as commits: what they have, and what they leave untouched.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use pensa_core::Code;
use pensa_snapshot::Provider::Git;

use crate::kit::{self, Ground, apart, odd};

/// What must not change: HEAD, the index, all settings and all other refs, byte for byte.
fn repository_state(ground: &Ground) -> Vec<Vec<u8>> {
    let file = |name: &str| fs::read(ground.path(".git").join(name)).unwrap_or_default();
    let refs = ground
        .git(["for-each-ref"])
        .lines()
        .filter(|line| !line.contains("refs/pensa/"))
        .collect::<Vec<_>>()
        .join("\n");
    vec![file("HEAD"), file("index"), file("config"), file("logs/HEAD"), refs.into_bytes()]
}

apart!(tracked_and_untracked_files_are_taken_and_come_back, Plain, {
    let ground = Ground::with_git();
    ground.write("tracked", "one");
    ground.write("run.sh", "#!/bin/sh\n");
    ground.mode("run.sh", 0o755);
    ground.commit_all();
    ground.write("untracked/deep/file", "two");
    ground.link("../elsewhere", "untracked/link");
    ground.write("secret", "three");
    ground.mode("secret", 0o600);
    ground.mode("untracked", 0o750);
    let before = ground.listing();
    let taken = ground.take(Git, "snap-1");
    assert_eq!(taken.reference.as_deref(), Some("refs/pensa/snapshots/snap-1"));
    assert_eq!(taken.metadata["files"], 5);
    assert_eq!(taken.metadata["head"], ground.git(["rev-parse", "HEAD"]));
    assert_eq!(ground.git(["rev-parse", "refs/pensa/snapshots/snap-1^{tree}"]), taken.metadata["tree"]);
    let proof = ground.verify(Git, "snap-1", &taken);
    assert!(proof.ok && proof.files == 5, "{proof:?}");

    ground.write("tracked", "changed");
    fs::remove_dir_all(ground.path("untracked")).expect("removed");
    fs::remove_file(ground.path("secret")).expect("removed");
    ground.mode("run.sh", 0o644);
    ground.write("new/er", "four");
    let restored = ground.restore(Git, "snap-1", &taken);
    assert_eq!(ground.listing(), before);
    assert_eq!((restored.removed, restored.kept), (1, 1), "new/er went, .git stayed");
    assert_eq!(ground.restore(Git, "snap-1", &taken).written, 0, "nothing is left to do");
    assert_eq!(ground.leftovers(), [""; 0]);
});

apart!(head_index_settings_and_other_refs_are_untouched, Plain, {
    let ground = Ground::with_git();
    ground.write("a", "one");
    ground.write("b", "one");
    ground.commit_all();
    ground.write("a", "two");
    ground.git(["add", "a"]);
    ground.write("a", "three");
    ground.write("new", "x");
    ground.git(["add", "-N", "new"]);
    fs::remove_file(ground.path("b")).expect("removed");
    let status = ground.git(["status", "--porcelain=v2"]);
    let before = repository_state(&ground);
    let taken = ground.take(Git, "snap-1");
    assert_eq!(repository_state(&ground), before);
    assert_eq!(ground.git(["status", "--porcelain=v2"]), status);
    let before = repository_state(&ground);
    ground.write("a", "four");
    ground.write("b", "back");
    ground.restore(Git, "snap-1", &taken);
    assert_eq!(repository_state(&ground), before);
    assert_eq!(ground.git(["status", "--porcelain=v2"]), status);
    ground.delete(Git, "snap-1");
    assert_eq!(ground.git(["for-each-ref", "refs/pensa"]), "");
});

apart!(contents_come_back_byte_for_byte_whatever_attributes_and_settings_say, Plain, {
    let ground = Ground::with_git();
    let attributes =
        "*.txt text eol=crlf\n*.auto text=auto\n*.id ident\n*.f filter=up\n*.u working-tree-encoding=UTF-16\n";
    ground.write(".gitattributes", attributes);
    ground.git(["config", "core.autocrlf", "true"]);
    ground.git(["config", "core.safecrlf", "true"]);
    ground.git(["config", "filter.up.clean", "tr a-z A-Z"]);
    ground.git(["config", "filter.up.smudge", "tr A-Z a-z"]);
    ground.git(["config", "filter.up.required", "true"]);
    ground.write(".git/info/attributes", "*.bin text\n");
    let mixed = "one\r\ntwo\nthree\r\n";
    for name in ["a.txt", "sub/b.txt", "c.auto", "d.bin", "plain"] {
        ground.write(name, mixed);
    }
    ground.write("e.id", "$Id$ and $Id: something $\n");
    ground.write("f.f", "MiXed\n");
    ground.write("g.u", b"\xff\xfea\0\n\0");
    ground.write("h.u", "no UTF-16 at all");
    let before = ground.listing();
    let taken = ground.take(Git, "snap-1");
    for name in ["a.txt", "sub/b.txt", "c.auto", "d.bin", "plain", "e.id", "f.f", "g.u", "h.u"] {
        ground.write(name, "changed\n");
    }
    ground.restore(Git, "snap-1", &taken);
    assert_eq!(ground.listing(), before);
});

apart!(a_file_that_git_stored_with_other_ends_of_lines_comes_back_as_it_was, Plain, {
    let ground = Ground::with_git();
    ground.write(".gitattributes", "*.txt text eol=crlf\n");
    ground.write("a.txt", "one\r\ntwo\r\n");
    ground.commit_all();
    let taken = ground.take(Git, "snap-1");
    fs::remove_file(ground.path("a.txt")).expect("removed");
    ground.restore(Git, "snap-1", &taken);
    assert_eq!(ground.read("a.txt"), b"one\r\ntwo\r\n");
});

apart!(odd_names_are_names_like_any_other, Plain, {
    let ground = Ground::with_git();
    let names: [&[u8]; 12] = [
        b"line\nbreak",
        b"\"quoted\"",
        b"not \xff utf-8 \xc3",
        b"--help",
        b"-",
        b"a b\t",
        b":(exclude)x",
        b"*",
        b"back\\slash",
        b"100%",
        b".gitmodules",
        b"~",
    ];
    for name in names {
        ground.write(odd(name), name);
        ground.write(odd(&[b"dir-", name, b"/", name].concat()), name);
    }
    let before = ground.listing();
    let taken = ground.take(Git, "snap-1");
    assert_eq!(taken.metadata["files"], 24);
    for name in names {
        fs::remove_file(ground.path(odd(name))).expect("removed");
        ground.write(odd(&[name, b".new"].concat()), "x");
    }
    ground.restore(Git, "snap-1", &taken);
    assert_eq!(ground.listing(), before);
});

apart!(a_repository_without_commits_and_one_without_files_have_snapshots, Plain, {
    let ground = Ground::with_git();
    let empty = ground.take(Git, "snap-empty");
    assert_eq!(empty.metadata["files"], 0);
    assert_eq!(empty.metadata.get("head"), None);
    ground.write("deep/er/a", "x");
    let taken = ground.take(Git, "snap-1");
    ground.restore(Git, "snap-empty", &empty);
    assert!(ground.listing().is_empty());
    assert!(ground.verify(Git, "snap-empty", &empty).ok);
    ground.restore(Git, "snap-1", &taken);
    assert_eq!(ground.read("deep/er/a"), b"x");
});

apart!(a_linked_work_tree_and_a_subdirectory_stand_for_the_whole_work_tree, Plain, {
    let mut ground = Ground::with_git();
    ground.write("a", "one");
    ground.write("sub/b", "one");
    ground.commit_all();
    let linked = ground.dir.path().canonicalize().expect("a path").join("linked");
    ground.git(
        ["worktree", "add", "-q", "-b", "other"].map(String::from).into_iter().chain([linked.display().to_string()]),
    );
    let main = ground.listing();
    ground.root = linked.join("sub");
    let taken = ground.take(Git, "snap-1");
    assert_eq!(taken.metadata["files"], 2);
    fs::write(linked.join("a"), "two").expect("written");
    fs::write(linked.join("new"), "two").expect("written");
    ground.restore(Git, "snap-1", &taken);
    let is_content = |name: &[u8]| name != b".git";
    let mut there = kit::listing(&linked);
    there.retain(|name, _| is_content(name));
    assert_eq!(there, main);
    ground.delete(Git, "snap-1");
});

apart!(a_repository_with_long_ids_has_snapshots, Plain, {
    let ground = Ground::new();
    ground.git(["init", "-q", "--object-format=sha256"]);
    ground.write("a", "one");
    ground.commit_all();
    let taken = ground.take(Git, "snap-1");
    assert_eq!(taken.metadata["commit"].as_str().map(str::len), Some(64));
    ground.write("a", "two");
    ground.restore(Git, "snap-1", &taken);
    assert_eq!(ground.read("a"), b"one");
    assert!(ground.verify(Git, "snap-1", &taken).ok);
});

apart!(submodules_are_recorded_and_repositories_inside_are_left_out_and_alone, Plain, {
    let ground = Ground::with_git();
    let other = Ground::with_git();
    other.write("inside", "one");
    other.commit_all();
    let url = other.root.display().to_string();
    ground.git(["-c", "protocol.file.allow=always", "submodule", "add", "-q", &url, "module"]);
    ground.commit_all();
    ground.write("nested/file", "x");
    kit::git(&ground.path("nested"), ["init", "-q"]);
    ground.write("not-one/file", "x");
    fs::create_dir(ground.path("not-one/.git")).expect("a directory");
    let taken = ground.take(Git, "snap-1");
    assert_eq!(taken.metadata["submodules"], 1);
    assert_eq!(taken.metadata["left_out"], serde_json::json!(["nested is a repository of its own"]));
    let tree = ground.git(["ls-tree", "-r", "--name-only", "refs/pensa/snapshots/snap-1"]);
    assert_eq!(tree, ".gitmodules\nmodule\nnot-one/file");
    ground.write("module/inside", "two");
    ground.write("nested/file", "two");
    ground.write("not-one/file", "two");
    ground.restore(Git, "snap-1", &taken);
    assert_eq!(ground.read("module/inside"), b"two", "left alone");
    assert_eq!(ground.read("nested/file"), b"two", "left alone");
    assert_eq!(ground.read("not-one/file"), b"x");
    assert!(ground.verify(Git, "snap-1", &taken).ok);
});

apart!(a_file_in_conflict_is_taken_as_it_lies_there, Plain, {
    let ground = Ground::with_git();
    ground.write("a", "base\n");
    ground.commit_all();
    ground.git(["checkout", "-q", "-b", "other"]);
    ground.write("a", "theirs\n");
    ground.commit_all();
    ground.git(["checkout", "-q", "main"]);
    ground.write("a", "ours\n");
    ground.commit_all();
    let merge = ["-C", ".", "-c", "user.name=x", "-c", "user.email=x", "merge", "other"];
    std::process::Command::new("git").args(merge).current_dir(&ground.root).output().expect("git");
    let before = (ground.listing(), repository_state(&ground));
    let taken = ground.take(Git, "snap-1");
    ground.write("a", "resolved\n");
    ground.restore(Git, "snap-1", &taken);
    assert_eq!((ground.listing(), repository_state(&ground)), before);
    assert!(ground.git(["status"]).contains("both modified"));
});

apart!(nothing_of_the_repository_is_run, Plain, {
    let ground = Ground::with_git();
    ground.write("a", "one");
    ground.commit_all();
    let mark = ground.dir.path().join("mark");
    let script = format!("#!/bin/sh\necho \"$0\" >> '{}'\n", mark.display());
    for hook in ["reference-transaction", "post-index-change", "pre-commit", "post-checkout", "watcher"] {
        let name = format!(".git/hooks/{hook}");
        ground.write(&name, &script);
        ground.mode(&name, 0o755);
    }
    ground.git(["config", "core.fsmonitor", ".git/hooks/watcher"]);
    ground.git(["config", "commit.gpgSign", "true"]);
    ground.git(["config", "gpg.program", ".git/hooks/watcher"]);
    let taken = ground.take(Git, "snap-1");
    ground.write("a", "two");
    ground.restore(Git, "snap-1", &taken);
    ground.delete(Git, "snap-1");
    assert!(!mark.exists(), "{}", fs::read_to_string(&mark).unwrap_or_default());
    ground.git(["status"]);
    assert!(mark.exists(), "the watcher would have left a mark");
});

apart!(an_unreadable_file_is_named_and_nothing_is_made, Nobody, {
    let ground = Ground::with_git();
    ground.write("fine", "x");
    ground.write("closed", "x");
    ground.mode("closed", 0o000);
    for provider in [Git, pensa_snapshot::Provider::Copy] {
        let refused = ground.create(provider, "snap-1").expect_err("unreadable");
        assert_eq!(refused.code, Code::Forbidden, "{refused}");
        assert!(refused.message.contains("closed"), "{refused}");
        assert_eq!(ground.leftovers(), [""; 0]);
    }
    assert_eq!(ground.git(["for-each-ref"]), "");
    // A restore replaces such a file and writes into directories that are closed to writers.
    ground.mode("closed", 0o640);
    ground.write("dir/a", "one");
    ground.mode("dir", 0o555);
    let before = ground.listing();
    let taken = ground.take(Git, "snap-1");
    ground.mode("closed", 0o000);
    ground.mode("dir", 0o755);
    ground.write("dir/a", "two");
    ground.write("dir/b", "two");
    ground.mode("dir", 0o555);
    ground.restore(Git, "snap-1", &taken);
    assert_eq!(ground.listing(), before);
    ground.mode("dir", 0o755);
});

apart!(a_proof_finds_what_is_missing_or_changed, Plain, {
    let ground = Ground::with_git();
    ground.write("dir/a", "one");
    ground.write("b", "two");
    let taken = ground.take(Git, "snap-1");
    let object = |name: &str| {
        let id = ground.git(["rev-parse", &format!("refs/pensa/snapshots/snap-1:{name}")]);
        ground.path(format!(".git/objects/{}/{}", &id[..2], &id[2..]))
    };
    let (a, b, dir) = (object("dir/a"), object("b"), object("dir"));
    let problem = |expected: &str| {
        let proof = ground.verify(Git, "snap-1", &taken);
        assert!(!proof.ok && proof.problems.iter().any(|problem| problem.contains(expected)), "{expected}: {proof:?}");
    };
    let put = |path: &std::path::Path, bytes: &[u8]| {
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).expect("a mode");
        fs::write(path, bytes).expect("written");
    };
    let whole = fs::read(&a).expect("an object");
    // Another object in its place can be read, but is not what its name says.
    put(&a, &fs::read(&b).expect("an object"));
    problem("dir/a");
    ground.write("dir/a", "changed");
    let refused = ground.try_restore(Git, "snap-1", &taken).expect_err("damaged");
    assert_eq!(refused.code, Code::Corrupt);
    assert_eq!(ground.read("dir/a"), b"changed", "no wrong content is written");
    let mut found = 0;
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        put(&a, &flipped);
        if ground.verify(Git, "snap-1", &taken).ok {
            // Not every bit of a compressed file matters for what is in it.
            assert_eq!(ground.git(["cat-file", "blob", "refs/pensa/snapshots/snap-1:dir/a"]), "one", "at {at}");
        } else {
            found += 1;
        }
    }
    assert!(found * 4 > whole.len() * 3, "{found} of {}", whole.len());
    fs::remove_file(&a).expect("removed");
    problem("missing");
    overwrite(&a, &whole);
    assert!(ground.verify(Git, "snap-1", &taken).ok);
    let tree = fs::read(&dir).expect("an object");
    fs::remove_file(&dir).expect("removed");
    problem("the tree");
    overwrite(&dir, &tree);
    ground.commit_all();
    ground.git(["update-ref", "refs/pensa/snapshots/snap-1", "HEAD"]);
    problem("no ref");
});

fn overwrite(path: &std::path::Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("written");
}

apart!(a_snapshot_can_be_deleted_any_number_of_times_and_its_name_is_given_once, Plain, {
    let ground = Ground::with_git();
    ground.write("a", "one");
    ground.take(Git, "snap-1");
    let refused = ground.create(Git, "snap-1").expect_err("there is one");
    assert_eq!(refused.code, Code::Conflict, "{refused}");
    ground.delete(Git, "snap-1");
    assert_eq!(ground.git(["for-each-ref"]), "");
    ground.delete(Git, "snap-1");
    ground.take(Git, "snap-1");
    for id in ["", "../x", "a/b", "a.lock", "-x"] {
        assert_eq!(ground.create(Git, id).expect_err(id).code, Code::InvalidInput);
    }
    let outside = Ground::new();
    assert_eq!(outside.create(Git, "snap-1").expect_err("no repository").code, Code::NoRepo);
    outside.delete(Git, "snap-1");
});

apart!(the_snapshot_before_it_is_part_of_what_is_proved, Plain, {
    let ground = Ground::with_git();
    ground.write("a", "one");
    let first = ground.take(Git, "snap-1");
    let second = pensa_snapshot::create(Git, &ground.place("snap-2"), Some(&first), None).expect("taken");
    assert_eq!(second.metadata["parent"], first.metadata["commit"]);
    let message = ground.git(["log", "-1", "--format=%B", "refs/pensa/snapshots/snap-2"]);
    assert!(message.contains(&format!("parent {}", first.metadata["commit"].as_str().expect("an id"))), "{message}");
    ground.delete(Git, "snap-1");
    ground.git(["gc", "-q", "--prune=now"]);
    assert!(ground.verify(Git, "snap-2", &second).ok, "it does not need the one before");
    assert!(!ground.verify(Git, "snap-1", &first).ok);
});
