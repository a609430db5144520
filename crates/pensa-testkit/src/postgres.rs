//! Runs temporary PostgreSQL clusters with standbys, and creates databases on a shared one.
//!
//! Never touches a cluster of the machine.

mod cluster_dir;
mod programs;
mod shared;

use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use rustix::fs::statvfs;
use rustix::process::{Pid, Signal, kill_process};

use crate::{eventually, reap};
use cluster_dir::ClusterDir;

pub use programs::{bindir, installed};
pub use shared::{Database, SHARED_CLUSTER, Shared, shared};

/// The only user of a cluster.
const SUPERUSER: &str = "postgres";

/// The settings of every cluster. No Unix sockets, because their paths have a length limit; dynamic shared memory as
/// files, because these are deleted with the directory.
const SETTINGS: &str = "
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
dynamic_shared_memory_type = mmap
autovacuum = on
synchronous_commit = on
log_line_prefix = '%m [%p] %a '
";

/// What a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flush {
    ToDisk,
    /// Enough, because tests kill only processes, not the kernel.
    ToKernel,
}

impl Flush {
    /// The parent directory of the data: in memory if there is enough space, because creating databases is faster
    /// there.
    fn parent_dir(self) -> PathBuf {
        const MIN_FREE_BYTES: u64 = 4 << 30;
        let memory = PathBuf::from("/dev/shm");
        let has_room = || statvfs(&memory).is_ok_and(|space| space.f_bavail * space.f_frsize >= MIN_FREE_BYTES);
        if self == Self::ToKernel && has_room() { memory } else { env::temp_dir() }
    }
}

/// A PostgreSQL server and its data, removed when dropped or when this process exits.
#[derive(Debug)]
pub struct Cluster {
    dir: ClusterDir,
    /// The postmaster, unless it was stopped or killed.
    server: Option<Child>,
    port: u16,
}

impl Cluster {
    /// Starts an empty cluster that does not sync to disk.
    pub fn start() -> Self {
        Self::make(Flush::ToKernel)
    }

    /// Starts an empty cluster that syncs to disk, for measurements and crash tests.
    pub fn durable() -> Self {
        Self::make(Flush::ToDisk)
    }

    fn make(flush: Flush) -> Self {
        let dir = ClusterDir::new(&flush.parent_dir());
        let data = dir.data();
        programs::make_private_dir(&data);
        let data = data.to_str().expect("a temporary directory with a plain name");
        let user = format!("--username={SUPERUSER}");
        let fixed = ["--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"];
        programs::run_as_server("initdb", dir.path(), &[&fixed[..], &[&user, "--pgdata", data]].concat());
        let mut settings = SETTINGS.to_owned();
        if flush == Flush::ToKernel {
            settings += "shared_buffers = 64MB\nfsync = off\nfull_page_writes = off\nmax_wal_size = 256MB\n";
        }
        append(&dir, "postgresql.conf", &settings);
        Self::on_free_port(dir)
    }

    /// Starts on a free port. Retries if another process takes the port first.
    fn on_free_port(dir: ClusterDir) -> Self {
        let mut cluster = Self { dir, server: None, port: 0 };
        for _ in 0..20 {
            cluster.port = free_port();
            if cluster.launch() {
                return cluster;
            }
            let logged = cluster.dir.logged();
            assert!(logged.contains("Address already in use"), "PostgreSQL does not start:\n{logged}");
        }
        panic!("PostgreSQL finds no free port:\n{}", cluster.dir.logged());
    }

    /// Starts the server. Returns false if it exits at once.
    fn launch(&mut self) -> bool {
        let mut command = programs::program("postgres");
        command.arg("-D").arg(self.dir.data()).arg("-p").arg(self.port.to_string());
        command.current_dir(self.dir.path()).stdout(Stdio::null()).stderr(self.dir.log());
        programs::run_as(programs::server_user(), &mut command);
        // A separate process group, so that Ctrl-C does not stop the server before the tests.
        let mut server = command.process_group(0).spawn().expect("a server that starts");
        let pid = server.id();
        let ready = eventually("a PostgreSQL that is ready", || {
            let ended = server.try_wait().expect("a child of ours").is_some();
            if ended { Some(false) } else { self.is_ready(pid).then_some(true) }
        });
        self.server = ready.then_some(server);
        ready
    }

    /// Whether the postmaster's pid file says that it is ready, as `pg_ctl` checks.
    fn is_ready(&self, pid: u32) -> bool {
        let pid_file = fs::read_to_string(self.dir.data().join("postmaster.pid")).unwrap_or_default();
        let lines: Vec<&str> = pid_file.lines().map(str::trim).collect();
        lines.first() == Some(&pid.to_string().as_str()) && matches!(lines.get(7), Some(&("ready" | "standby")))
    }

    /// The URL of the cluster, without a database.
    pub fn address(&self) -> String {
        format!("postgres://{SUPERUSER}@127.0.0.1:{}", self.port)
    }

    /// The URL of a database; `postgres` always exists.
    pub fn url(&self, database: &str) -> String {
        format!("{}/{database}", self.address())
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process id of the postmaster.
    pub fn pid(&self) -> u32 {
        self.server.as_ref().expect("a cluster that runs").id()
    }

    /// Runs `sql`. Returns columns separated by `|`, rows by newlines. Several statements are one transaction.
    #[track_caller]
    pub fn psql(&self, database: &str, sql: &str) -> String {
        programs::psql(&self.url(database), sql)
    }

    /// Kills all processes of the server, like a power failure.
    pub fn kill(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        // The postmaster first: it would restart crashed children.
        let _ = kill_process(Pid::from_child(&server), Signal::KILL);
        reap(&mut server);
        eventually("the end of a killed PostgreSQL", || {
            let left = self.dir.processes();
            send(&left, Signal::KILL);
            left.is_empty().then_some(())
        });
    }

    /// Shuts the server down: open transactions are rolled back, committed ones are on disk.
    pub fn stop(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        self.resume();
        let _ = kill_process(Pid::from_child(&server), Signal::INT);
        reap(&mut server);
    }

    /// Stops all processes of the server: connections stay open without answers.
    pub fn pause(&self) {
        let mut stopped = vec![self.postmaster()];
        send(&stopped, Signal::STOP);
        // The postmaster may have started processes before it stopped; the next round finds them.
        loop {
            let mut others = self.dir.processes();
            others.retain(|pid| !stopped.contains(pid));
            if others.is_empty() {
                return;
            }
            send(&others, Signal::STOP);
            stopped.extend(others);
        }
    }

    /// Ends a [`Cluster::pause`].
    pub fn resume(&self) {
        send(&self.dir.processes(), Signal::CONT);
    }

    fn postmaster(&self) -> Pid {
        Pid::from_child(self.server.as_ref().expect("a cluster that runs"))
    }

    /// Restarts the server on the same port and data.
    pub fn restart(&mut self) {
        self.stop();
        // The pid file of a killed postmaster is left for PostgreSQL, which frees its shared memory.
        assert!(self.launch(), "PostgreSQL does not start again:\n{}", self.dir.logged());
    }

    /// Starts a standby that streams from this cluster under `name`.
    pub fn standby(&self, name: &str) -> Self {
        let dir = self.dir.sibling();
        programs::make_private_dir(&dir.data());
        let source = format!("{}/?application_name={name}", self.address());
        let data = dir.data();
        let data = data.to_str().expect("a temporary directory with a plain name");
        let fixed = ["--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync"];
        let args = [&fixed[..], &["--dbname", &source, "--pgdata", data]].concat();
        programs::run_as_server("pg_basebackup", dir.path(), &args);
        // After a promotion, it must not wait for the standbys of its primary.
        append(&dir, "postgresql.auto.conf", "synchronous_standby_names = ''\n");
        let standby = Self::on_free_port(dir);
        self.await_replication(&format!("application_name = '{name}' AND state = 'streaming'"));
        standby
    }

    /// Makes commits wait until one of these standbys (`s1` or `s1, s2`) has them on disk.
    pub fn make_synchronous(&self, names: &str) {
        self.psql("postgres", &format!("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 ({names})'"));
        self.psql("postgres", "SELECT pg_reload_conf()");
        self.await_replication("sync_state IN ('quorum', 'sync')");
    }

    fn await_replication(&self, condition: &str) {
        let sql = format!("SELECT count(*) FROM pg_stat_replication WHERE {condition}");
        eventually("a standby that follows", || (self.psql("postgres", &sql) != "0").then_some(()));
    }

    /// Promotes a standby, and waits until it accepts writes.
    pub fn promote(&self) {
        let promoted = self.psql("postgres", "SELECT pg_promote(true, 30)");
        assert_eq!(promoted, "t", "the standby was not promoted:\n{}", self.dir.logged());
        eventually("a primary", || (self.psql("postgres", "SELECT pg_is_in_recovery()") == "f").then_some(()));
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.dir.clear();
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

fn send(to: &[Pid], signal: Signal) {
    for &pid in to {
        let _ = kill_process(pid, signal);
    }
}

/// Appends to a configuration file; the last value of a setting counts.
fn append(dir: &ClusterDir, file: &str, settings: &str) {
    let mut file = File::options().append(true).open(dir.data().join(file)).expect("a configuration file");
    file.write_all(settings.as_bytes()).expect("a configuration that can be changed");
}

/// A free port below the ephemeral range, so that it is still free at a restart.
fn free_port() -> u16 {
    let first = 20_000 + (shared::random() % 10_000) as u16;
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (first..32_000).find(is_free).expect("a free port")
}
