//! Provides teams for tests: projects in a database or directory, servers in front of it, and tokens.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use pensa_testkit::postgres::{Database, shared};
use pensa_testkit::{Daemon, Http, Run, Sandbox};
use serde_json::{Value, json};

/// All roles, from least to most powerful.
pub(crate) const ROLES: [&str; 4] = ["viewer", "agent", "maintainer", "admin"];

/// A machine that manages and serves a team's projects.
pub(crate) struct Team {
    pub(crate) machine: Sandbox,
    /// The flag for the location of the projects, and its value.
    location: [String; 2],
    servers: AtomicUsize,
    database: Option<Database>,
}

/// A token with its secret.
#[derive(Debug, Clone)]
pub(crate) struct ProjectToken {
    pub(crate) id: String,
    pub(crate) secret: String,
    pub(crate) project: String,
}

/// A running `pn serve`.
#[derive(Debug)]
pub(crate) struct ServeProcess {
    pub(crate) process: Daemon,
    log: PathBuf,
}

impl Team {
    /// A team with its own database on the shared PostgreSQL cluster.
    pub(crate) fn on_postgres() -> Self {
        let database = shared().database();
        Self { database: Some(database), ..Self::at("--database", "") }.with_database_url()
    }

    /// A team with SQLite stores in a directory.
    pub(crate) fn on_sqlite() -> Self {
        let mut team = Self::at("--data-dir", "");
        team.location[1] = team.machine.path("data").to_str().expect("a plain name").to_owned();
        team
    }

    /// A team whose projects are at this location.
    pub(crate) fn at(flag: &str, value: &str) -> Self {
        let location = [flag.to_owned(), value.to_owned()];
        Self { machine: Sandbox::bare(crate::PN), location, servers: AtomicUsize::new(0), database: None }
    }

    fn with_database_url(mut self) -> Self {
        self.location[1] = self.database().url.clone();
        self
    }

    pub(crate) fn database(&self) -> &Database {
        self.database.as_ref().expect("a team on PostgreSQL")
    }

    /// Runs `pn` directly on the location.
    pub(crate) fn direct(&self, args: &[&str]) -> Run {
        let location = self.location.each_ref().map(String::as_str);
        self.machine.pn([args, &location].concat()).dir(self.machine.path("elsewhere"))
    }

    /// Creates a project.
    #[track_caller]
    pub(crate) fn project(&self, name: &str) -> Value {
        self.direct(&["project", "create", name]).ok_json()
    }

    /// Creates a token.
    #[track_caller]
    pub(crate) fn token(&self, project: &str, role: &str) -> ProjectToken {
        ProjectToken::of(&self.direct(&["token", "create", "--project", project, "--role", role]).ok_json())
    }

    /// Creates an operator's token.
    #[track_caller]
    pub(crate) fn operator(&self) -> ProjectToken {
        ProjectToken::of(&self.direct(&["token", "create", "--operator"]).ok_json())
    }

    /// The data directory; `None` for a team on PostgreSQL.
    pub(crate) fn directory(&self) -> Option<&Path> {
        (self.location[0] == "--data-dir").then(|| Path::new(&self.location[1]))
    }

    /// Starts a server without rate limit.
    pub(crate) fn serve(&self) -> ServeProcess {
        self.serve_with(&["--rate", "0"])
    }

    pub(crate) fn serve_with(&self, args: &[&str]) -> ServeProcess {
        let number = self.servers.fetch_add(1, Ordering::Relaxed);
        let log = self.machine.path(format!("server-{number}.log"));
        let listen: &[&str] = if args.contains(&"--listen") { &[] } else { &["--listen", "127.0.0.1:0"] };
        let run = self.direct(&[&["serve"], listen, args].concat());
        ServeProcess { process: run.json().errors_to(&log).serve(), log }
    }

    /// Runs `pn` through a server.
    pub(crate) fn through<S: AsRef<OsStr>>(
        &self,
        server: &ServeProcess,
        token: &ProjectToken,
        args: impl IntoIterator<Item = S>,
    ) -> Run {
        let run = self.machine.pn(args).dir(self.machine.path("elsewhere"));
        run.env("PN_DAEMON", server.project_url(&token.project)).env("PN_TOKEN", &token.secret)
    }
}

impl ProjectToken {
    #[track_caller]
    pub(crate) fn of(created: &Value) -> Self {
        let field = |name: &str| text(&created[name]);
        // An operator's token has no project.
        let project = created["project"].as_str().unwrap_or_default().to_owned();
        Self { id: field("id"), secret: field("token"), project }
    }
}

impl ServeProcess {
    pub(crate) fn project_url(&self, project: &str) -> String {
        format!("{}/p/{project}", self.process.url)
    }

    /// A client of the token's project.
    pub(crate) fn client(&self, token: &ProjectToken) -> Http {
        Http::to(&self.project_url(&token.project)).token(&token.secret)
    }

    /// A client of the server's root.
    pub(crate) fn root(&self, token: &ProjectToken) -> Http {
        Http::to(&self.process.url).token(&token.secret)
    }

    /// A client without a token.
    pub(crate) fn anonymous(&self) -> Http {
        Http::to(&self.process.url)
    }

    /// Everything written to standard error so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("a log")
    }
}

/// The body of a request that creates a task.
pub(crate) fn task(title: &str) -> Value {
    json!({"title": title, "issue_type": "task"})
}

/// Creates a task. Returns its id.
#[track_caller]
pub(crate) fn create(http: &mut Http, title: &str) -> String {
    text(&http.post("/issues", &task(title)).ok()["id"])
}

/// Creates tasks in one batch. Returns their ids.
#[track_caller]
pub(crate) fn create_all(http: &mut Http, titles: impl Iterator<Item = String>) -> Vec<String> {
    let line = |title: String| json!({"op": "issue.create", "title": title, "issue_type": "task"});
    let created = http.post("/batch", &json!({"operations": titles.map(line).collect::<Vec<_>>()})).ok();
    elements(&created).iter().map(|issue| text(&issue["id"])).collect()
}

#[track_caller]
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a text: {value}")).to_owned()
}

#[track_caller]
pub(crate) fn elements(value: &Value) -> Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("an array: {value}")).clone()
}

/// The titles of listed issues, in order.
#[track_caller]
pub(crate) fn titles(listed: &Value) -> Vec<String> {
    elements(listed).iter().map(|issue| text(&issue["title"])).collect()
}
