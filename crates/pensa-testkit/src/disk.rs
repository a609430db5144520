//! A disk that only some processes see: small, so that it fills up, or read-only.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::run::copy_surroundings;
use crate::sandbox::Sandbox;

/// A mount in a namespace of its own, kept by a process that waits for its end.
#[derive(Debug)]
pub struct Disk {
    keeper: Child,
    at: PathBuf,
}

impl Disk {
    /// A fresh, empty disk of `size` (as in `600k`) over the directory `at`.
    pub fn small(sandbox: &Sandbox, at: &Path, size: &str) -> Self {
        Self::mounted(sandbox, at, &format!(r#"mount -t tmpfs -o size={size} tmpfs "$1""#))
    }

    /// The directory `at` as it is, but read-only.
    pub fn read_only(sandbox: &Sandbox, at: &Path) -> Self {
        Self::mounted(sandbox, at, r#"mount --bind "$1" "$1" && mount -o remount,bind,ro "$1""#)
    }

    fn mounted(sandbox: &Sandbox, at: &Path, mount: &str) -> Self {
        let mut keeper = sandbox
            .command("unshare")
            .args(["--mount", "--", "sh", "-c"])
            .arg(format!("{mount} && echo mounted && exec cat >/dev/null"))
            .args([Path::new("sh"), at])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("these tests need the program unshare: {e}"));
        let mut line = String::new();
        let stdout = keeper.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a keeper that speaks");
        assert_eq!(line, "mounted\n", "these tests need the right to mount in a namespace (unshare --mount)");
        Self { keeper, at: at.to_owned() }
    }

    /// The same command, run where the disk is mounted.
    pub(crate) fn enter(&self, command: &Command) -> Command {
        let mut inside = copy_surroundings(command, "nsenter");
        let dir = command.get_current_dir().unwrap_or(&self.at).to_owned();
        inside.arg(format!("--target={}", self.keeper.id())).args(["--mount", "--", "sh", "-c"]);
        inside.arg(r#"cd "$1" && shift && exec "$@""#).arg("sh").arg(dir);
        inside.arg(command.get_program()).args(command.get_args());
        inside
    }

    /// How this process may see a file of the disk.
    pub fn file(&self, name: &str) -> PathBuf {
        let inside = self.at.strip_prefix("/").unwrap_or(&self.at);
        Path::new("/proc").join(self.keeper.id().to_string()).join("root").join(inside).join(name)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}
