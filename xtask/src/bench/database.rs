//! A PostgreSQL that keeps what it commits, with the projects of a team in it, and `pgbench` run against it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pensa_testkit::postgres::{Cluster, bindir};

use super::data::{self, Dice};
use super::lab::{Lab, Project, output};
use super::machine;
use super::server::Server;
use crate::Result;

/// Every cluster has this one.
const DATABASE: &str = "postgres";
const HOST: &str = "127.0.0.1";
/// Issues that one batch makes.
const BATCH: usize = 1_000;
/// The number in the id of the first issue: all have the same length, which is that of no id that Pensa gives.
pub(super) const FIRST: usize = 1_000_000;
/// Threads of `pgbench`.
const THREADS: &str = "2";

/// The id of the issue with this number in a store that [`Database::fill`] filled.
pub(super) fn id(number: usize) -> String {
    format!("pn-{}", FIRST + number)
}

/// Refuses to measure commits that cost nothing: the cluster lies where the system keeps temporary files.
pub(super) fn check_place() -> Result {
    let dir = env::temp_dir();
    if machine::file_system(&dir) == "tmpfs" {
        let dir = dir.display();
        return Err(format!("{dir} is in memory, where a commit costs nothing: set TMPDIR to a place on a disk").into());
    }
    Ok(())
}

/// A project of the team, and a secret that opens it.
pub(super) struct Opened {
    pub(super) name: String,
    pub(super) token: String,
    pub(super) store_id: String,
}

pub(super) struct Database<'a> {
    lab: &'a Lab,
    cluster: Cluster,
    place: Project,
}

impl<'a> Database<'a> {
    pub(super) fn start(lab: &'a Lab) -> Result<Self> {
        let place = Project { dir: lab.dir().join("team"), size: 0 };
        fs::create_dir(&place.dir)?;
        Ok(Self { lab, cluster: Cluster::durable(), place })
    }

    pub(super) fn pid(&self) -> u32 {
        self.cluster.pid()
    }

    /// `pn` with this database as the place of its projects.
    fn pn(&self, args: &[&str]) -> Command {
        let mut command = self.lab.pn(&self.place, args);
        command.env("PN_DATABASE", self.cluster.url(DATABASE));
        command
    }

    /// A new project with a token for agents.
    pub(super) fn project(&self, name: &str) -> Result<Opened> {
        output(&mut self.pn(&["project", "create", name]))?;
        let token = output(&mut self.pn(&["token", "create", "-q", "--project", name, "--role", "agent"]))?;
        let sql = format!("SELECT store FROM pensa.projects WHERE name = '{name}'");
        Ok(Opened { name: name.to_owned(), token: token.trim().to_owned(), store_id: self.psql(&sql) })
    }

    /// A server as people start it, but without a limit on how often a token asks. What it logs goes nowhere.
    pub(super) fn serve(&self) -> Result<Server> {
        let mut command = self.pn(&["serve", "--listen", "127.0.0.1:0", "--rate", "0", "--json"]);
        Server::start(command.stderr(Stdio::null()))
    }

    /// Makes issues through a server, and gives them ids that `pgbench`, which knows only numbers, can tell.
    pub(super) fn fill(&self, project: &Opened, size: usize) -> Result {
        let (start, mut dice) = (Instant::now(), Dice::new(23));
        let server = self.serve()?;
        for _ in 0..size / BATCH {
            fs::write(self.place.dir.join("batch.jsonl"), data::batch(BATCH, &mut dice))?;
            let mut batch = self.lab.pn(&self.place, &["batch", "batch.jsonl", "--json"]);
            batch.env("PN_DAEMON", format!("http://{}/p/{}", server.address, project.name));
            output(batch.env("PN_TOKEN", &project.token))?;
            self.settle();
        }
        server.stop()?;
        self.psql(&renaming(&project.store_id));
        self.psql("VACUUM (FULL)");
        self.settle();
        println!("made a project of {size} issues in {:.1} s", start.elapsed().as_secs_f64());
        Ok(())
    }

    /// Does at once what autovacuum and the checkpointer would do at a moment of their own choice. Without numbers on
    /// its tables PostgreSQL may look through a whole store for one issue.
    pub(super) fn settle(&self) {
        self.psql("ANALYZE");
        self.psql("CHECKPOINT");
    }

    pub(super) fn psql(&self, sql: &str) -> String {
        self.cluster.psql(DATABASE, sql)
    }

    /// A script for `pgbench`.
    pub(super) fn script(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.place.dir.join(format!("{name}.sql"));
        fs::write(&path, text)?;
        Ok(path)
    }

    /// Transactions per second that `pgbench` gets through.
    pub(super) fn pgbench(&self, run: &Pgbench<'_>, lasting: Duration) -> Result<f64> {
        let mut command = Command::new(bindir().join("pgbench"));
        command.env_clear().env("LC_ALL", "C").env("PGOPTIONS", run.session()).stdin(Stdio::null());
        command.args(["-h", HOST, "-p", &self.cluster.port().to_string(), "-U", DATABASE, "-n", "-M", "prepared"]);
        command.args(["-c", &run.clients.to_string(), "-j", THREADS, "-T", &lasting.as_secs().max(1).to_string()]);
        for (name, value) in run.variables {
            command.args(["-D", &format!("{name}={value}")]);
        }
        let told = output(command.arg("-f").arg(run.script).arg(DATABASE))?;
        let rate = told.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
        rate.ok_or_else(|| format!("pgbench said {told}").into())
    }
}

/// What `pgbench` is to do. It acts in the role of Pensa's servers, so that row-level security costs it the same.
pub(super) struct Pgbench<'a> {
    pub(super) script: &'a Path,
    pub(super) clients: usize,
    /// The store that all clients see; without it, the script says so itself.
    pub(super) store_id: Option<&'a str>,
    pub(super) variables: &'a [(&'a str, usize)],
}

impl Pgbench<'_> {
    fn session(&self) -> String {
        let store = self.store_id.map(|id| format!(" -c pensa.store_id={id}")).unwrap_or_default();
        format!("-c role=pensa_tenant -c search_path=pensa -c jit=off{store}")
    }
}

/// Numbers the issues of a store, wherever their ids stand.
fn renaming(store_id: &str) -> String {
    let columns = [
        ("issues", "id"),
        ("deps", "issue_id"),
        ("deps", "depends_on_id"),
        ("comments", "issue_id"),
        ("events", "issue_id"),
        ("events", "subject_id"),
        ("title_keys", "issue_id"),
    ];
    let updates = columns.map(|(table, column)| {
        format!(
            "UPDATE pensa.{table} t SET {column} = r.new FROM renamed r
             WHERE t.store_id = '{store_id}' AND t.{column} = r.old;\n"
        )
    });
    format!(
        "SET CONSTRAINTS ALL DEFERRED;
         CREATE TEMP TABLE renamed ON COMMIT DROP AS
             SELECT id AS old, 'pn-' || ({FIRST} + row_number() OVER (ORDER BY id) - 1) AS new
             FROM pensa.issues WHERE store_id = '{store_id}';
         {}",
        updates.concat()
    )
}
