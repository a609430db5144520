//! A throw-away PostgreSQL: a cluster of a test's own, its standbys, and databases on one that tests share.
//!
//! Never touches a cluster of the machine. What Pensa keeps in a database is left to the tests.

mod home;
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
use home::Home;

pub use programs::{bindir, installed};
pub use shared::{Database, SHARED_CLUSTER, Shared, shared};

/// The only user of a cluster.
const SUPERUSER: &str = "postgres";

/// What every cluster is told. No Unix sockets, because their paths may not be long; dynamic shared memory as files,
/// because those go with the directory.
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
    /// The kernel outlives every process that a test kills.
    ToKernel,
}

impl Flush {
    /// Where the data lies: in memory, if there is room for many databases, because one is made there in a fraction of
    /// the time.
    fn place(self) -> PathBuf {
        const ROOM: u64 = 4 << 30;
        let memory = PathBuf::from("/dev/shm");
        let has_room = || statvfs(&memory).is_ok_and(|space| space.f_bavail * space.f_frsize >= ROOM);
        if self == Self::ToKernel && has_room() { memory } else { env::temp_dir() }
    }
}

/// A PostgreSQL server and its data, gone when dropped or when this process ends.
#[derive(Debug)]
pub struct Cluster {
    home: Home,
    /// The postmaster, unless it was stopped or killed.
    server: Option<Child>,
    port: u16,
}

impl Cluster {
    /// A running, empty cluster that does not wait for the disk.
    pub fn start() -> Self {
        Self::make(Flush::ToKernel)
    }

    /// The same with PostgreSQL's own care for the disk, for measurements and for the truth about failures.
    pub fn durable() -> Self {
        Self::make(Flush::ToDisk)
    }

    fn make(flush: Flush) -> Self {
        let home = Home::new(&flush.place());
        let data = home.data();
        programs::make_private_dir(&data);
        let data = data.to_str().expect("a temporary directory with a plain name");
        let user = format!("--username={SUPERUSER}");
        let fixed = ["--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"];
        programs::run_as_server("initdb", home.dir(), &[&fixed[..], &[&user, "--pgdata", data]].concat());
        let mut settings = SETTINGS.to_owned();
        if flush == Flush::ToKernel {
            settings += "shared_buffers = 64MB\nfsync = off\nfull_page_writes = off\nmax_wal_size = 256MB\n";
        }
        append(&home, "postgresql.conf", &settings);
        Self::on_free_port(home)
    }

    /// Starts on a port that nobody has. Somebody may take it between our look and the server's.
    fn on_free_port(home: Home) -> Self {
        let mut cluster = Self { home, server: None, port: 0 };
        for _ in 0..20 {
            cluster.port = free_port();
            if cluster.launch() {
                return cluster;
            }
            let logged = cluster.home.logged();
            assert!(logged.contains("Address already in use"), "PostgreSQL does not start:\n{logged}");
        }
        panic!("PostgreSQL finds no free port:\n{}", cluster.home.logged());
    }

    /// Starts the server; whether it got ready, or ended at once.
    fn launch(&mut self) -> bool {
        let mut command = programs::program("postgres");
        command.arg("-D").arg(self.home.data()).arg("-p").arg(self.port.to_string());
        command.current_dir(self.home.dir()).stdout(Stdio::null()).stderr(self.home.log());
        programs::run_as(programs::server_user(), &mut command);
        // A process group of its own, so that a Ctrl-C leaves the server running for the tests that are being ended.
        let mut server = command.process_group(0).spawn().expect("a server that starts");
        let pid = server.id();
        let ready = eventually("a PostgreSQL that is ready", || {
            let ended = server.try_wait().expect("a child of ours").is_some();
            if ended { Some(false) } else { self.is_ready(pid).then_some(true) }
        });
        self.server = ready.then_some(server);
        ready
    }

    /// Whether the postmaster's own file says so; `pg_ctl` looks at the same lines.
    fn is_ready(&self, pid: u32) -> bool {
        let told = fs::read_to_string(self.home.data().join("postmaster.pid")).unwrap_or_default();
        let lines: Vec<&str> = told.lines().map(str::trim).collect();
        lines.first() == Some(&pid.to_string().as_str()) && matches!(lines.get(7), Some(&("ready" | "standby")))
    }

    /// Where the cluster is, without a database.
    pub fn address(&self) -> String {
        format!("postgres://{SUPERUSER}@127.0.0.1:{}", self.port)
    }

    /// How a client reaches a database of this cluster; `postgres` is always there.
    pub fn url(&self, database: &str) -> String {
        format!("{}/{database}", self.address())
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The postmaster's process.
    pub fn pid(&self) -> u32 {
        self.server.as_ref().expect("a cluster that runs").id()
    }

    /// What `sql` answers: columns separated by `|`, rows by line ends. Several statements are one transaction.
    #[track_caller]
    pub fn psql(&self, database: &str, sql: &str) -> String {
        programs::psql(&self.url(database), sql)
    }

    /// Ends every process of the server at once, as a power failure would.
    pub fn kill(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        // The postmaster first: it would take the end of its children for a crash and start others.
        let _ = kill_process(Pid::from_child(&server), Signal::KILL);
        reap(&mut server);
        eventually("the end of a killed PostgreSQL", || {
            let left = self.home.inhabitants();
            send(&left, Signal::KILL);
            left.is_empty().then_some(())
        });
    }

    /// Shuts the server down: open transactions are undone, committed ones are on the disk.
    pub fn stop(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        self.resume();
        let _ = kill_process(Pid::from_child(&server), Signal::INT);
        reap(&mut server);
    }

    /// Lets nothing of the server run on: connections stay open, and nobody answers.
    pub fn pause(&self) {
        let mut stopped = vec![self.postmaster()];
        send(&stopped, Signal::STOP);
        // Whoever was started before the postmaster stopped is found the next time.
        loop {
            let mut others = self.home.inhabitants();
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
        send(&self.home.inhabitants(), Signal::CONT);
    }

    fn postmaster(&self) -> Pid {
        Pid::from_child(self.server.as_ref().expect("a cluster that runs"))
    }

    /// Starts a stopped or killed server on the same port and data; one that runs is stopped before.
    pub fn restart(&mut self) {
        self.stop();
        // A killed postmaster's pid file stays: PostgreSQL sees that its process is gone, and frees its shared memory.
        assert!(self.launch(), "PostgreSQL does not start again:\n{}", self.home.logged());
    }

    /// A standby that streams from this cluster under `name`.
    pub fn standby(&self, name: &str) -> Self {
        let home = self.home.beside();
        programs::make_private_dir(&home.data());
        let source = format!("{}/?application_name={name}", self.address());
        let data = home.data();
        let data = data.to_str().expect("a temporary directory with a plain name");
        let fixed = ["--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync"];
        let args = [&fixed[..], &["--dbname", &source, "--pgdata", data]].concat();
        programs::run_as_server("pg_basebackup", home.dir(), &args);
        // Once promoted, a copy must not wait for the standbys of its primary.
        append(&home, "postgresql.auto.conf", "synchronous_standby_names = ''\n");
        let standby = Self::on_free_port(home);
        self.await_replication(&format!("application_name = '{name}' AND state = 'streaming'"));
        standby
    }

    /// From now on a commit waits until one of these standbys (`s1` or `s1, s2`) has it on its disk.
    pub fn make_synchronous(&self, names: &str) {
        self.psql("postgres", &format!("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 ({names})'"));
        self.psql("postgres", "SELECT pg_reload_conf()");
        self.await_replication("sync_state IN ('quorum', 'sync')");
    }

    fn await_replication(&self, condition: &str) {
        let sql = format!("SELECT count(*) FROM pg_stat_replication WHERE {condition}");
        eventually("a standby that follows", || (self.psql("postgres", &sql) != "0").then_some(()));
    }

    /// Makes a standby a primary, and waits until it takes writes.
    pub fn promote(&self) {
        let promoted = self.psql("postgres", "SELECT pg_promote(true, 30)");
        assert_eq!(promoted, "t", "the standby was not promoted:\n{}", self.home.logged());
        eventually("a primary", || (self.psql("postgres", "SELECT pg_is_in_recovery()") == "f").then_some(()));
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.home.clear();
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

/// Adds to a configuration file, where the last word counts.
fn append(home: &Home, file: &str, settings: &str) {
    let mut file = File::options().append(true).open(home.data().join(file)).expect("a configuration file");
    file.write_all(settings.as_bytes()).expect("a configuration that can be changed");
}

/// A free port below those that the kernel gives to anybody who asks, so that it is still free at a restart.
fn free_port() -> u16 {
    let first = 20_000 + (shared::random() % 10_000) as u16;
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (first..32_000).find(is_free).expect("a free port")
}
