//! Finds and runs PostgreSQL's programs.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use crate::PATIENCE;

/// The directory of PostgreSQL's programs, `postgres` and `pgbench` among them.
pub fn bindir() -> PathBuf {
    static BINDIR: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = BINDIR.get_or_init(installed).clone();
    found.expect("these tests need PostgreSQL (Debian: apt-get install postgresql)")
}

/// The directory of PostgreSQL's programs, if a server is installed.
///
/// Does not search the PATH: Debian keeps the server off it, and its `psql` there looks for system clusters.
pub fn installed() -> Option<PathBuf> {
    let has_server = |dir: &PathBuf| dir.join("postgres").is_file();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let number = |dir: &Path| dir.file_name()?.to_str()?.parse::<u32>().ok();
    let mut found: Vec<(u32, PathBuf)> =
        versions.filter_map(|entry| Some((number(&entry.path())?, entry.path().join("bin")))).collect();
    found.retain(|(_, dir)| has_server(dir));
    found.into_iter().max().map(|(_, dir)| dir).or_else(|| bindir_of_pg_config().filter(has_server))
}

fn bindir_of_pg_config() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").stdin(Stdio::null()).output().ok()?;
    Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
}

/// A command for one of PostgreSQL's programs, without our environment: `PGDATA` or `PGPORT` would change its target.
pub(super) fn program(name: &str) -> Command {
    clean(bindir().join(name))
}

/// Like [`program`], with a time limit.
fn bounded_program(name: &str) -> Command {
    let mut command = clean("timeout".into());
    command.args(["--kill-after=5", &PATIENCE.as_secs().to_string()]).arg(bindir().join(name));
    command
}

pub(super) fn clean(program: PathBuf) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs([("LC_ALL", "C.UTF-8"), ("TZ", "UTC")]);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).stdin(Stdio::null());
    command
}

/// Runs a tool in `dir` as the server's user; panics if it fails.
pub(super) fn run_as_server(name: &str, dir: &Path, args: &[&str]) {
    let mut command = bounded_program(name);
    command.args(args).current_dir(dir);
    run_as(server_user(), &mut command);
    let output = command.output().unwrap_or_else(|e| panic!("these tests need {name}: {e}"));
    assert!(output.status.success(), "{name} failed: {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
}

/// The ids of a user and its group.
pub(super) type User = (u32, u32);

/// The user for the server if we are root, whom PostgreSQL refuses; else `None`.
pub(super) fn server_user() -> Option<User> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").expect("a list of users");
    let named = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut numbers = line.split(':').skip(2).map_while(|number| number.parse().ok());
        Some((numbers.next()?, numbers.next()?))
    };
    Some(named("postgres").or_else(|| named("nobody")).expect("a user other than root"))
}

pub(super) fn run_as(user: Option<User>, command: &mut Command) {
    if let Some((user, group)) = user {
        command.uid(user).gid(group);
    }
}

/// Creates a directory that only the server's user can access, as PostgreSQL requires for data.
pub(super) fn make_private_dir(dir: &Path) {
    fs::create_dir(dir).expect("a directory for PostgreSQL's data");
    fs::set_permissions(dir, Permissions::from_mode(0o700)).expect("a private directory");
    if let Some((user, group)) = server_user() {
        chown(dir, Some(user), Some(group)).expect("a directory of the server's own");
    }
}

/// Runs `sql`. Returns columns separated by `|`, rows by newlines. Several statements are one transaction.
#[track_caller]
pub(super) fn psql(url: &str, sql: &str) -> String {
    let output = run_psql(url, sql);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "psql failed: {}: {stderr}\n{sql}", output.status);
    let text = String::from_utf8(output.stdout).expect("psql prints UTF-8");
    text.trim_end_matches('\n').to_owned()
}

/// Runs `sql`, which must fail. Returns psql's error output.
#[track_caller]
pub(super) fn psql_fails(url: &str, sql: &str) -> String {
    let output = run_psql(url, sql);
    assert!(!output.status.success(), "psql succeeded, which it should not have: {sql}");
    String::from_utf8(output.stderr).expect("psql prints UTF-8")
}

pub(super) fn run_psql(url: &str, sql: &str) -> Output {
    let mut psql = bounded_program("psql");
    psql.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql]);
    psql.output().expect("these tests need psql")
}
