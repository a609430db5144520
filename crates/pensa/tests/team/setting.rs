//! A team's surroundings: a place for its projects, servers in front of it, and tokens.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use pensa_testkit::postgres::{Database, shared};
use pensa_testkit::{Daemon, Http, Run, Sandbox};
use serde_json::{Value, json};

/// Every role, the least first.
pub(crate) const ROLES: [&str; 4] = ["viewer", "agent", "maintainer", "admin"];

/// A machine from which a team's projects are managed and served.
pub(crate) struct Team {
    pub(crate) machine: Sandbox,
    /// The flag that says where the projects are, and its value.
    place: [String; 2],
    servers: AtomicUsize,
    database: Option<Database>,
}

/// A token and its secret.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) id: String,
    pub(crate) secret: String,
    pub(crate) project: String,
}

/// A running `pn serve`.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) process: Daemon,
    log: PathBuf,
}

impl Team {
    /// A team with a database of its own on the cluster that tests share.
    pub(crate) fn on_postgres() -> Self {
        let database = shared().database();
        Self { database: Some(database), ..Self::at("--database", "") }.located()
    }

    /// A team with SQLite stores in a directory.
    pub(crate) fn on_sqlite() -> Self {
        let mut team = Self::at("--data-dir", "");
        team.place[1] = team.machine.path("data").to_str().expect("a plain name").to_owned();
        team
    }

    /// A team whose projects are at this place.
    pub(crate) fn at(flag: &str, value: &str) -> Self {
        let place = [flag.to_owned(), value.to_owned()];
        Self { machine: Sandbox::bare(crate::PN), place, servers: AtomicUsize::new(0), database: None }
    }

    fn located(mut self) -> Self {
        self.place[1] = self.database().url.clone();
        self
    }

    pub(crate) fn database(&self) -> &Database {
        self.database.as_ref().expect("a team on PostgreSQL")
    }

    /// A command on the place itself.
    pub(crate) fn direct(&self, args: &[&str]) -> Run {
        let place = self.place.each_ref().map(String::as_str);
        self.machine.pn([args, &place].concat()).dir(self.machine.path("elsewhere"))
    }

    /// Makes a project.
    #[track_caller]
    pub(crate) fn project(&self, name: &str) -> Value {
        self.direct(&["project", "create", name]).ok_json()
    }

    /// Makes a token.
    #[track_caller]
    pub(crate) fn token(&self, project: &str, role: &str) -> Token {
        Token::of(&self.direct(&["token", "create", "--project", project, "--role", role]).ok_json())
    }

    /// Makes an operator's token.
    #[track_caller]
    pub(crate) fn operator(&self) -> Token {
        Token::of(&self.direct(&["token", "create", "--operator"]).ok_json())
    }

    /// Where the projects are, if that is a directory.
    pub(crate) fn directory(&self) -> Option<&Path> {
        (self.place[0] == "--data-dir").then(|| Path::new(&self.place[1]))
    }

    /// Starts a server without a limit on how often callers may ask.
    pub(crate) fn serve(&self) -> Server {
        self.serve_with(&["--rate", "0"])
    }

    pub(crate) fn serve_with(&self, args: &[&str]) -> Server {
        let number = self.servers.fetch_add(1, Ordering::Relaxed);
        let log = self.machine.path(format!("server-{number}.log"));
        let listen: &[&str] = if args.contains(&"--listen") { &[] } else { &["--listen", "127.0.0.1:0"] };
        let run = self.direct(&[&["serve"], listen, args].concat());
        Server { process: run.json().errors_to(&log).serve(), log }
    }

    /// A run of `pn` through a server.
    pub(crate) fn through<S: AsRef<OsStr>>(
        &self,
        server: &Server,
        token: &Token,
        args: impl IntoIterator<Item = S>,
    ) -> Run {
        let run = self.machine.pn(args).dir(self.machine.path("elsewhere"));
        run.env("PN_DAEMON", server.project_url(&token.project)).env("PN_TOKEN", &token.secret)
    }
}

impl Token {
    #[track_caller]
    pub(crate) fn of(made: &Value) -> Self {
        let field = |name: &str| text(&made[name]);
        // An operator's opens none.
        let project = made["project"].as_str().unwrap_or_default().to_owned();
        Self { id: field("id"), secret: field("token"), project }
    }
}

impl Server {
    pub(crate) fn project_url(&self, project: &str) -> String {
        format!("{}/p/{project}", self.process.url)
    }

    /// A client of the token's project.
    pub(crate) fn client(&self, token: &Token) -> Http {
        Http::to(&self.project_url(&token.project)).token(&token.secret)
    }

    /// A client of the server itself.
    pub(crate) fn root(&self, token: &Token) -> Http {
        Http::to(&self.process.url).token(&token.secret)
    }

    /// A client that shows nothing.
    pub(crate) fn stranger(&self) -> Http {
        Http::to(&self.process.url)
    }

    /// Everything it has said on standard error so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("a log")
    }
}

/// A task of this title, as a request has it.
pub(crate) fn task(title: &str) -> Value {
    json!({"title": title, "issue_type": "task"})
}

/// Creates a task; gives back its id.
#[track_caller]
pub(crate) fn create(http: &mut Http, title: &str) -> String {
    text(&http.post("/issues", &task(title)).ok()["id"])
}

/// Creates tasks with these titles in one go; gives back their ids.
#[track_caller]
pub(crate) fn create_all(http: &mut Http, titles: impl Iterator<Item = String>) -> Vec<String> {
    let line = |title: String| json!({"op": "issue.create", "title": title, "issue_type": "task"});
    let made = http.post("/batch", &json!({"operations": titles.map(line).collect::<Vec<_>>()})).ok();
    elements(&made).iter().map(|issue| text(&issue["id"])).collect()
}

#[track_caller]
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a text: {value}")).to_owned()
}

#[track_caller]
pub(crate) fn elements(value: &Value) -> Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("an array: {value}")).clone()
}

/// The titles of a listing, in its order.
#[track_caller]
pub(crate) fn titles(listed: &Value) -> Vec<String> {
    elements(listed).iter().map(|issue| text(&issue["title"])).collect()
}
