//! Installs the programs that tests need, on Debian.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use pensa_testkit::{browser, clients, mcp, models, networkx, postgres, prek};

use crate::Result;

/// PostgreSQL's server, which Debian keeps off the PATH.
const SERVER: &str = "postgres";
const POSTGRESQL: &str = "postgresql";
/// Configuration that stops Debian's PostgreSQL package from creating and starting a system cluster.
const NO_CLUSTER: &str = "/etc/postgresql-common/createcluster.d/pensa-tests.conf";

/// Programs with their Debian packages.
const NEEDED: [(&str, &str); 16] = [
    ("git", "git"),
    ("pip3", "python3-pip"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("sqlite3", "sqlite3"),
    ("strace", "strace"),
    ("faketime", "faketime"),
    ("tmux", "tmux"),
    ("screen", "screen"),
    ("curl", "curl"),
    ("unshare", "util-linux"),
    ("runuser", "util-linux"),
    ("openssl", "openssl"),
    ("chromium", "chromium"),
    ("psql", "postgresql-client"),
    (SERVER, POSTGRESQL),
];

/// Whether a program is installed, also in directories that only root has on the PATH.
fn is_installed(program: &str) -> bool {
    if program == SERVER {
        return postgres::installed().is_some();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let sbin = ["/usr/sbin", "/sbin"].map(Path::new);
    std::env::split_paths(&path).chain(sbin.map(Path::to_owned)).any(|dir| dir.join(program).is_file())
}

/// Installs missing programs, or returns an error that says how.
pub(crate) fn install_missing() -> Result {
    install_packages(&NEEDED)?;
    prek::install().map_err(|e| format!("cannot fetch prek: {e}"))?;
    networkx::install().map_err(|e| format!("cannot fetch networkx: {e}"))?;
    mcp::install().map(drop).map_err(|e| format!("cannot fetch the SDK of MCP: {e}"))?;
    browser::install().map_err(|e| format!("cannot fetch what drives a browser: {e}"))?;
    models::install().map_err(|e| format!("cannot fetch a sentence-embedding model: {e}"))?;
    clients::install().map_err(|e| format!("cannot fetch what the tests of the clients use: {e}").into())
}

/// Installs the packages of missing programs.
pub(crate) fn install_packages(needed: &[(&'static str, &'static str)]) -> Result {
    let missing: Vec<(&str, &str)> = needed.iter().copied().filter(|(program, _)| !is_installed(program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    packages.dedup();
    let programs: Vec<&str> = missing.iter().map(|(program, _)| *program).collect();
    let advice = format!("install {} (Debian: apt-get install {})", programs.join(", "), packages.join(" "));
    if !is_installed("apt-get") || !is_root() {
        return Err(format!("the tests need programs that are not here: {advice}").into());
    }
    println!("installing {}", packages.join(", "));
    let done =
        if packages.contains(&POSTGRESQL) { without_cluster(|| install(&packages))? } else { install(&packages) };
    if done { Ok(()) } else { Err(format!("apt-get failed: {advice}").into()) }
}

/// Installs packages. Fetches the package lists only if that fails, because they can be missing or outdated.
fn install(packages: &[&str]) -> bool {
    let install = [&["install", "--yes", "--no-install-recommends"], packages].concat();
    apt(&install) || (apt(&["update"]) && apt(&install))
}

/// Runs `work` while the file [`NO_CLUSTER`] exists.
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
