//! Mounts a small or read-only disk that only selected processes see.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::run::copy_environment;
use crate::sandbox::Sandbox;

/// A mount in a separate namespace, which a waiting process keeps alive.
#[derive(Debug)]
pub struct Disk {
    holder: Child,
    at: PathBuf,
}

impl Disk {
    /// An empty disk of `size` (such as `600k`) mounted over the directory `at`.
    pub fn small(sandbox: &Sandbox, at: &Path, size: &str) -> Self {
        Self::mounted(sandbox, at, &format!(r#"mount -t tmpfs -o size={size} tmpfs "$1""#))
    }

    /// The directory `at`, read-only.
    pub fn read_only(sandbox: &Sandbox, at: &Path) -> Self {
        Self::mounted(sandbox, at, r#"mount --bind "$1" "$1" && mount -o remount,bind,ro "$1""#)
    }

    fn mounted(sandbox: &Sandbox, at: &Path, mount: &str) -> Self {
        let mut holder = sandbox
            .command("unshare")
            .args(["--mount", "--", "sh", "-c"])
            .arg(format!("{mount} && echo mounted && exec cat >/dev/null"))
            .args([Path::new("sh"), at])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("these tests need the program unshare: {e}"));
        let mut line = String::new();
        let stdout = holder.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a holder that speaks");
        assert_eq!(line, "mounted\n", "these tests need the right to mount in a namespace (unshare --mount)");
        Self { holder, at: at.to_owned() }
    }

    /// The same command, in the namespace of the disk.
    pub(crate) fn enter(&self, command: &Command) -> Command {
        let mut inside = copy_environment(command, "nsenter");
        let dir = command.get_current_dir().unwrap_or(&self.at).to_owned();
        inside.arg(format!("--target={}", self.holder.id())).args(["--mount", "--", "sh", "-c"]);
        inside.arg(r#"cd "$1" && shift && exec "$@""#).arg("sh").arg(dir);
        inside.arg(command.get_program()).args(command.get_args());
        inside
    }

    /// A path through which this process can access a file on the disk.
    pub fn file(&self, name: &str) -> PathBuf {
        let inside = self.at.strip_prefix("/").unwrap_or(&self.at);
        Path::new("/proc").join(self.holder.id().to_string()).join("root").join(inside).join(name)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}
