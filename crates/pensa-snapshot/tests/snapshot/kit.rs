//! What the tests stand on: a tree, a directory for snapshots, and processes without anybody's settings.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use pensa_core::{Error, Result};
use pensa_snapshot::{Provider, RestoreCounts, SnapshotData, SnapshotDirs, VerifyReport};
use tempfile::TempDir;

/// Says that a process is the one that a test was started in anew.
const INSIDE: &str = "PENSA_TEST_INSIDE";

/// Where a test runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    /// A process with plain surroundings
    Plain,
    /// One whose mounts nobody else sees
    Mounts,
    /// One that may not read everything
    Nobody,
}

/// A test that runs in a process of its own, which knows no settings of the user.
macro_rules! apart {
    ($(#[$meta:meta])* $name:ident, $place:ident, $body:block) => {
        $(#[$meta])*
        #[test]
        fn $name() {
            let (_, name) = concat!(module_path!(), "::", stringify!($name)).split_once("::").expect("a module");
            if $crate::kit::is_inside(name, $crate::kit::Where::$place) $body
        }
    };
}
pub(crate) use apart;

/// Whether this is the process for the test. If not, it is run in one, and must succeed.
pub(crate) fn is_inside(name: &str, place: Where) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let exe = std::env::current_exe().expect("this program");
    let home = TempDir::new().expect("a directory");
    let is_root = fs::metadata(home.path()).is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0);
    let mut command = match place {
        Where::Mounts => Command::new("unshare"),
        Where::Nobody if is_root => Command::new("setpriv"),
        _ => Command::new(&exe),
    };
    match place {
        Where::Mounts if is_root => drop(command.args(["--mount", "--"]).arg(&exe)),
        Where::Mounts => drop(command.args(["--map-root-user", "--mount", "--"]).arg(&exe)),
        Where::Nobody if is_root => {
            fs::set_permissions(home.path(), Permissions::from_mode(0o777)).expect("a mode");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(&exe);
        }
        _ => {}
    }
    command.args(["--exact", name, "--include-ignored", "--nocapture"]);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(b"GIT_")) {
        command.env_remove(name);
    }
    command.env(INSIDE, "1").env("HOME", home.path()).env("TMPDIR", home.path()).env("GIT_CONFIG_NOSYSTEM", "1");
    command.env("XDG_CONFIG_HOME", home.path()).env("GIT_CONFIG_GLOBAL", home.path().join("gitconfig"));
    let ended = command.output().unwrap_or_else(|e| panic!("these tests need the program {command:?}: {e}"));
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success() && out.contains("1 passed"), "{name} failed:\n{out}\n{err}");
    false
}

/// A tree to take snapshots of.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) dir: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) data: PathBuf,
}

impl Ground {
    pub(crate) fn new() -> Self {
        let dir = TempDir::new().expect("a directory");
        let base = dir.path().canonicalize().expect("a path");
        let (root, data) = (base.join("root"), base.join("data"));
        fs::create_dir(&root).expect("a root");
        Self { dir, root, data }
    }

    /// The same with a repository.
    pub(crate) fn with_git() -> Self {
        let ground = Self::new();
        ground.git(["init", "-q", "-b", "main"]);
        ground
    }

    pub(crate) fn place<'p>(&'p self, id: &'p str) -> SnapshotDirs<'p> {
        SnapshotDirs { root: &self.root, data: &self.data, id }
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn write(&self, name: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(&path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }

    pub(crate) fn read(&self, name: impl AsRef<Path>) -> Vec<u8> {
        fs::read(self.path(&name)).unwrap_or_else(|e| panic!("{}: {e}", name.as_ref().display()))
    }

    pub(crate) fn mode(&self, name: impl AsRef<Path>, mode: u32) {
        fs::set_permissions(self.path(name), Permissions::from_mode(mode)).expect("a mode");
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, name: impl AsRef<Path>) {
        symlink(target, self.path(name)).expect("a symlink");
    }

    pub(crate) fn has(&self, name: impl AsRef<Path>) -> bool {
        self.path(name).symlink_metadata().is_ok()
    }

    pub(crate) fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        git(&self.root, args)
    }

    pub(crate) fn commit_all(&self) {
        self.git(["add", "-A"]);
        self.git(["-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "-m", "all", "--allow-empty"]);
    }

    pub(crate) fn create(&self, provider: Provider, id: &str) -> Result<SnapshotData> {
        pensa_snapshot::create(provider, &self.place(id), None, None)
    }

    pub(crate) fn take(&self, provider: Provider, id: &str) -> SnapshotData {
        self.create(provider, id).unwrap_or_else(|e| panic!("{}: {e}", e.code))
    }

    pub(crate) fn verify(&self, provider: Provider, id: &str, taken: &SnapshotData) -> VerifyReport {
        pensa_snapshot::verify(provider, &self.place(id), taken).expect("a proof")
    }

    pub(crate) fn restore(&self, provider: Provider, id: &str, taken: &SnapshotData) -> RestoreCounts {
        self.try_restore(provider, id, taken).unwrap_or_else(|e| panic!("{}: {e}", e.code))
    }

    pub(crate) fn try_restore(
        &self,
        provider: Provider,
        id: &str,
        taken: &SnapshotData,
    ) -> Result<RestoreCounts, Error> {
        pensa_snapshot::restore(provider, &self.place(id), taken)
    }

    pub(crate) fn delete(&self, provider: Provider, id: &str) {
        pensa_snapshot::delete(provider, &self.place(id)).expect("deleted");
    }

    /// What is left of work in the directory of snapshots.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.data).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().display().to_string()).collect()
    }

    pub(crate) fn listing(&self) -> Listing {
        listing(&self.root)
    }
}

pub(crate) fn git<S: AsRef<OsStr>>(dir: &Path, args: impl IntoIterator<Item = S>) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(args);
    let ended = command.output().expect("git");
    assert!(ended.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8_lossy(&ended.stdout).trim_end().to_owned()
}

/// Everything in a tree but a repository's own directory: path, type, mode, and content or target.
pub(crate) type Listing = BTreeMap<Vec<u8>, (char, u32, Vec<u8>)>;

pub(crate) fn listing(root: &Path) -> Listing {
    let mut all = Listing::new();
    let mut dirs = vec![root.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).expect("a directory").flatten() {
            let path = entry.path();
            let meta = path.symlink_metadata().expect("there");
            let mode = meta.permissions().mode() & 0o7777;
            let name = path.strip_prefix(root).expect("inside").as_os_str().as_bytes().to_vec();
            if name == b".git" {
                continue;
            }
            let seen = if meta.is_symlink() {
                ('l', 0, fs::read_link(&path).expect("a target").as_os_str().as_bytes().to_vec())
            } else if meta.is_dir() {
                dirs.push(path);
                ('d', mode, Vec::new())
            } else if meta.is_file() {
                ('f', mode, fs::read(&path).expect("readable"))
            } else {
                ('s', mode, Vec::new())
            };
            all.insert(name, seen);
        }
    }
    all
}

/// A name of bytes.
pub(crate) fn odd(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
