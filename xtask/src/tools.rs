//! The programs that the tests drive, and how to get them on Debian.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use pensa_testkit::{mcp, postgres, prek};

use crate::Result;

/// PostgreSQL's server, which Debian keeps off every PATH.
const SERVER: &str = "postgres";
const POSTGRESQL: &str = "postgresql";
/// Read by Debian's PostgreSQL when it is installed. Without it the package makes and starts a cluster of the machine's
/// own, which nobody asked for.
const NO_CLUSTER: &str = "/etc/postgresql-common/createcluster.d/pensa-tests.conf";

/// A program and the Debian package it comes in.
const NEEDED: [(&str, &str); 13] = [
    ("git", "git"),
    ("pip3", "python3-pip"),
    ("sqlite3", "sqlite3"),
    ("strace", "strace"),
    ("faketime", "faketime"),
    ("tmux", "tmux"),
    ("screen", "screen"),
    ("curl", "curl"),
    ("unshare", "util-linux"),
    ("runuser", "util-linux"),
    ("openssl", "openssl"),
    ("psql", "postgresql-client"),
    (SERVER, POSTGRESQL),
];

/// Whether a program can be started by its name. Some lie where only root's PATH looks.
fn is_there(program: &str) -> bool {
    if program == SERVER {
        return postgres::installed().is_some();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let sbin = ["/usr/sbin", "/sbin"].map(Path::new);
    std::env::split_paths(&path).chain(sbin.map(Path::to_owned)).any(|dir| dir.join(program).is_file())
}

/// Installs what is missing, packages first if that is possible, and otherwise says what to do.
pub(crate) fn install_missing() -> Result {
    install_packages()?;
    prek::install().map_err(|e| format!("cannot fetch prek: {e}"))?;
    mcp::install().map(drop).map_err(|e| format!("cannot fetch the SDK of MCP: {e}").into())
}

fn install_packages() -> Result {
    let missing: Vec<(&str, &str)> = NEEDED.into_iter().filter(|(program, _)| !is_there(program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    packages.dedup();
    let programs: Vec<&str> = missing.iter().map(|(program, _)| *program).collect();
    let advice = format!("install {} (Debian: apt-get install {})", programs.join(", "), packages.join(" "));
    if !is_there("apt-get") || !is_root() {
        return Err(format!("the tests need programs that are not here: {advice}").into());
    }
    println!("installing {}", packages.join(", "));
    let done =
        if packages.contains(&POSTGRESQL) { without_cluster(|| install(&packages))? } else { install(&packages) };
    if done { Ok(()) } else { Err(format!("apt-get failed: {advice}").into()) }
}

/// A fresh machine has no package lists; an old one has stale ones, so fetch them only when they are needed.
fn install(packages: &[&str]) -> bool {
    let install = [&["install", "--yes", "--no-install-recommends"], packages].concat();
    apt(&install) || (apt(&["update"]) && apt(&install))
}

/// Does the work while [`NO_CLUSTER`] is there.
fn without_cluster(work: impl FnOnce() -> bool) -> Result<bool> {
    let file = Path::new(NO_CLUSTER);
    fs::create_dir_all(file.parent().unwrap_or(file)).map_err(|e| format!("{NO_CLUSTER}: {e}"))?;
    fs::write(file, "create_main_cluster = false\n").map_err(|e| format!("{NO_CLUSTER}: {e}"))?;
    let done = work();
    fs::remove_file(file).map_err(|e| format!("{NO_CLUSTER}: {e}"))?;
    Ok(done)
}

fn apt(args: &[&str]) -> bool {
    let mut command = Command::new("apt-get");
    command.arg("-qq").args(args).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").stdin(Stdio::null()).output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
