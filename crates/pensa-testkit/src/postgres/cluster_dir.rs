//! The directory of a cluster, and a guard process that cleans it up when this process exits in any way.

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

/// Waits for the end of its input, when we close it or die. Then it shuts the postmaster down, gives the processes in
/// the directory ten seconds to exit, kills the rest, frees the shared memory of a killed postmaster, and removes the
/// directory.
///
/// `initdb` and similar get no signal in these ten seconds: they finish by themselves, and would otherwise leave shared
/// memory that nothing in the directory records.
///
/// A parent-death signal would be simpler, but the kernel sends it when the thread that started the server exits, and
/// every test has its own thread.
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

/// A directory with its guard process.
#[derive(Debug)]
pub(super) struct ClusterDir {
    dir: PathBuf,
    guard: Child,
}

impl ClusterDir {
    /// Creates a directory in `parent`.
    pub(super) fn new(parent: &Path) -> Self {
        // The guard compares with `/proc/PID/cwd`, which has no symlinks.
        let parent = fs::canonicalize(parent).expect("a place for temporary directories");
        let dir = tempfile::Builder::new().prefix("pensa-postgres-").tempdir_in(parent);
        let dir = dir.expect("a temporary directory");
        // If we are root, the server runs as another user, who needs access.
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).expect("a directory that others may enter");
        let mut guard = clean("sh".into());
        guard.args(["-c", GUARD, "sh"]).arg(dir.path()).current_dir("/");
        guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // Ctrl-C or a test runner's timeout ends the process group of the test, and must not end the guard.
        let guard = guard.process_group(0).spawn().expect("these tests need a shell");
        Self { dir: dir.keep(), guard }
    }

    /// Creates another directory next to it.
    pub(super) fn sibling(&self) -> Self {
        Self::new(self.dir.parent().expect("a place for temporary directories"))
    }

    pub(super) fn path(&self) -> &Path {
        &self.dir
    }

    pub(super) fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// Opens the server's log for appending.
    pub(super) fn log(&self) -> File {
        File::options().create(true).append(true).open(self.log_path()).expect("a log file")
    }

    pub(super) fn logged(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    fn log_path(&self) -> PathBuf {
        self.dir.join("log")
    }

    /// The processes in the data directory: a postmaster and its children, or those that are left.
    pub(super) fn processes(&self) -> Vec<Pid> {
        let data = self.data();
        let processes = fs::read_dir("/proc").expect("a list of processes").flatten();
        let is_inside = |dir: &Path| fs::read_link(dir.join("cwd")).is_ok_and(|cwd| cwd == data);
        let pid = |dir: &Path| Pid::from_raw(dir.file_name()?.to_str()?.parse().ok()?);
        processes.map(|entry| entry.path()).filter(|dir| is_inside(dir)).filter_map(|dir| pid(&dir)).collect()
    }

    /// Stops the processes and removes the directory.
    pub(super) fn clear(&mut self) {
        drop(self.guard.stdin.take());
        let deadline = Instant::now() + PATIENCE;
        while matches!(self.guard.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        // The guard has done all of this, unless it was killed.
        let _ = self.guard.kill();
        let _ = self.guard.wait();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

impl Drop for ClusterDir {
    fn drop(&mut self) {
        self.clear();
    }
}
