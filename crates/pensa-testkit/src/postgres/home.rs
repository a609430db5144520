//! The directory a cluster lives in, and the guard that clears it when we are gone, however we went.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::programs::clean;
use crate::PATIENCE;

/// Waits for the end of its input, which comes when we close it or die. Then it shuts the postmaster down, gives all
/// processes that work in the directory ten seconds to follow it, kills the others, frees the shared memory that a
/// killed postmaster left, and removes the directory.
///
/// `initdb` and its like get no signal in their ten seconds: they come to an end, and would leave shared memory behind
/// that nothing in the directory tells of.
///
/// A parent-death signal would be shorter, but the kernel sends it when the thread that started the server ends, and
/// every test has a thread of its own.
const GUARD: &str = r#"
cat >/dev/null
for try in $(seq 300); do
    inside=$(find /proc/[0-9]*/cwd -maxdepth 0 -lname "$1*" | cut -d/ -f3)
    [ -n "$inside" ] || break
    kill -s CONT $inside
    read -r postmaster <"$1/data/postmaster.pid"
    for process in $inside; do
        [ "$process" != "$postmaster" ] || kill -s QUIT "$process"
        [ "$try" -le 200 ] || kill -s KILL "$process"
    done
    sleep 0.05
done 2>/dev/null
segment=$(sed -n '7s/.* //p' "$1/data/postmaster.pid" 2>/dev/null)
[ -z "$segment" ] || ipcrm --shmem-id "$segment" 2>/dev/null
rm -rf -- "$1"
"#;

/// A guarded directory.
#[derive(Debug)]
pub(super) struct Home {
    dir: PathBuf,
    guard: Child,
}

impl Home {
    /// A fresh directory in `parent`.
    pub(super) fn new(parent: &Path) -> Self {
        // The kernel names a process's directory without symbolic links, and so must we.
        let parent = fs::canonicalize(parent).expect("a place for temporary directories");
        let dir = tempfile::Builder::new().prefix("pensa-postgres-").tempdir_in(parent);
        let dir = dir.expect("a temporary directory");
        // The server runs as another user when we are root, and must get through.
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).expect("a directory that others may enter");
        let mut guard = clean("sh".into());
        guard.args(["-c", GUARD, "sh"]).arg(dir.path()).current_dir("/");
        guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // What ends a whole test, a terminal's Ctrl-C or a test runner's time limit, must not end its guard.
        let guard = guard.process_group(0).spawn().expect("these tests need a shell");
        Self { dir: dir.keep(), guard }
    }

    /// Another one next to it.
    pub(super) fn beside(&self) -> Self {
        Self::new(self.dir.parent().expect("a place for temporary directories"))
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// Where the server writes its log, to be appended to.
    pub(super) fn log(&self) -> File {
        File::options().create(true).append(true).open(self.log_path()).expect("a log file")
    }

    pub(super) fn logged(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    fn log_path(&self) -> PathBuf {
        self.dir.join("log")
    }

    /// The processes that work in the data directory: a postmaster and its children, or what is left of them.
    pub(super) fn inhabitants(&self) -> Vec<Pid> {
        let data = self.data();
        let processes = fs::read_dir("/proc").expect("a list of processes").flatten();
        let lives_here = |dir: &Path| fs::read_link(dir.join("cwd")).is_ok_and(|cwd| cwd == data);
        let pid = |dir: &Path| Pid::from_raw(dir.file_name()?.to_str()?.parse().ok()?);
        processes.map(|entry| entry.path()).filter(|dir| lives_here(dir)).filter_map(|dir| pid(&dir)).collect()
    }

    /// Ends what lives here and removes the directory.
    pub(super) fn clear(&mut self) {
        drop(self.guard.stdin.take());
        let deadline = Instant::now() + PATIENCE;
        while matches!(self.guard.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        // Only if somebody has killed the guard is anything left to do.
        let _ = self.guard.kill();
        let _ = self.guard.wait();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.clear();
    }
}
