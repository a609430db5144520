//! A PostgreSQL that keeps what it commits, with the projects of a team in it, and `pn serve` in front of it.

use std::env;
use std::fs;
use std::process::{Command, Stdio};

use pensa_testkit::postgres::Cluster;

use super::lab::{BenchProject, Lab, output};
use super::machine;
use super::server::BenchServer;
use crate::Result;

/// Every cluster has this one.
const DATABASE: &str = "postgres";

pub(super) struct BenchDatabase<'a> {
    lab: &'a Lab,
    cluster: Cluster,
    place: BenchProject,
}

impl<'a> BenchDatabase<'a> {
    /// Refuses a place in memory, where a commit costs nothing: the cluster lies where temporary files do.
    pub(super) fn start(lab: &'a Lab) -> Result<Self> {
        let dir = env::temp_dir();
        if machine::file_system(&dir) == "tmpfs" {
            return Err(format!("{} is in memory: set TMPDIR to a place on a disk", dir.display()).into());
        }
        let place = BenchProject { dir: lab.dir().join("team"), size: 0 };
        fs::create_dir(&place.dir)?;
        Ok(Self { lab, cluster: Cluster::durable(), place })
    }

    /// The postmaster's process.
    pub(super) fn pid(&self) -> u32 {
        self.cluster.pid()
    }

    /// `pn` with this database as the place of its projects.
    fn pn(&self, args: &[&str]) -> Command {
        let mut command = self.lab.pn(&self.place, args);
        command.env("PN_DATABASE", self.cluster.url(DATABASE));
        command
    }

    pub(super) fn project(&self, name: &str) -> Result {
        output(&mut self.pn(&["project", "create", name])).map(drop)
    }

    /// A secret that opens a project.
    pub(super) fn token(&self, project: &str, role: &str) -> Result<String> {
        let token = output(&mut self.pn(&["token", "create", "-q", "--project", project, "--role", role]))?;
        Ok(token.trim().to_owned())
    }

    /// A server as people start it. What it logs goes nowhere.
    pub(super) fn serve(&self, flags: &[&str]) -> Result<BenchServer> {
        let mut command = self.pn(&["serve", "--listen", "127.0.0.1:0", "--json"]);
        BenchServer::start(command.args(flags).stderr(Stdio::null()))
    }

    /// `pn batch` of these lines, through a server.
    pub(super) fn batch(&self, server: &BenchServer, project: &str, token: &str, lines: &str) -> Result<Command> {
        fs::write(self.place.dir.join("batch.jsonl"), lines)?;
        let mut batch = self.lab.pn(&self.place, &["batch", "batch.jsonl", "--json"]);
        batch.env("PN_DAEMON", format!("http://{}/p/{project}", server.address)).env("PN_TOKEN", token);
        Ok(batch)
    }

    /// Does at once what autovacuum and the checkpointer would do at a moment of their own choice.
    pub(super) fn settle(&self) {
        self.cluster.psql(DATABASE, "ANALYZE");
        self.cluster.psql(DATABASE, "CHECKPOINT");
    }
}
