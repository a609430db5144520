//! Clones of one repository on one machine, each with a store of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use pensa_core::sync::COLLECTIONS;
use pensa_testkit::{Daemon, Sandbox};
use serde_json::Value;

/// A sandbox with a shared repository and clones of it.
pub(crate) struct Machine {
    sandbox: Sandbox,
    clones: usize,
}

impl Machine {
    /// A repository with a store that has one issue, and `clones` clones with hooks.
    pub(crate) fn new(clones: usize) -> Self {
        let sandbox = Sandbox::bare(crate::PN);
        fs::write(
            sandbox.path("gitconfig"),
            "[user]\nname = Git User\nemail = git@example.test\n[init]\ndefaultBranch = main\n[gc]\nauto = 0\n\
             [maintenance]\nauto = false\n[receive]\nautogc = false\n[core]\nfsync = none\n\
             [advice]\ndetachedHead = false\n",
        )
        .expect("a configuration");
        let machine = Self { sandbox, clones };
        machine.git_in("project", &["init", "--quiet", "--bare", "../shared.git"]);
        machine.git_in("project", &["clone", "--quiet", "../shared.git", "../clone-0"]);
        let first = machine.clone(0);
        first.pn(&["init"]);
        first.pn(&["config", "set", "fields.size", "free"]);
        first.pn(&["hooks", "install"]);
        first.git(&["add", "--all"]);
        first.git(&["commit", "--quiet", "--message=a store"]);
        first.git(&["push", "--quiet", "origin", "HEAD:main"]);
        for at in 1..clones {
            machine.git_in("project", &["clone", "--quiet", "../shared.git", &format!("../clone-{at}")]);
            machine.clone(at).pn(&["hooks", "install"]);
        }
        for clone in machine.clones() {
            clone.git(&["remote", "set-url", "origin", "../shared.git"]);
        }
        machine
    }

    /// A copy of everything in another sandbox.
    pub(crate) fn copy(&self) -> Self {
        let sandbox = Sandbox::bare(crate::PN);
        let mut copy = sandbox.command("cp");
        copy.arg("-a").arg(self.sandbox.path("gitconfig")).arg(self.sandbox.path("shared.git"));
        for clone in self.clones() {
            copy.arg(clone.dir);
        }
        let to = sandbox.path("");
        sandbox.tool(copy.arg(to));
        Self { sandbox, clones: self.clones }
    }

    pub(crate) fn clone(&self, at: usize) -> Clone<'_> {
        let name = format!("clone-{at}");
        Clone { machine: self, dir: self.sandbox.path(&name), name, server: None }
    }

    pub(crate) fn clones(&self) -> impl Iterator<Item = Clone<'_>> {
        (0..self.clones).map(|at| self.clone(at))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.sandbox.path(name)
    }

    fn git_in(&self, dir: &str, args: &[&str]) {
        self.sandbox.tool(self.sandbox.command("git").args(args).current_dir(self.sandbox.path(dir)));
    }
}

/// One clone, or one of its worktrees.
pub(crate) struct Clone<'m> {
    machine: &'m Machine,
    pub(crate) dir: PathBuf,
    name: String,
    /// The server to use.
    server: Option<String>,
}

impl Clone<'_> {
    fn command(&self, program: &str) -> Command {
        let mut command = self.machine.sandbox.command(program);
        let mut path = PathBuf::from(crate::PN).parent().expect("a directory").as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        command.current_dir(&self.dir).env("PATH", path).env("PN_ACTOR", &self.name);
        if let Some(server) = &self.server {
            command.env("PN_DAEMON", server);
        }
        command
    }

    /// Runs `pn`, which must succeed.
    pub(crate) fn pn(&self, args: &[&str]) -> String {
        self.machine.sandbox.tool(self.command(crate::PN).args(args))
    }

    /// Runs `pn`. Returns its output, or its error.
    pub(crate) fn try_pn(&self, args: &[&str]) -> Result<String, String> {
        done(self.command(crate::PN).args(args))
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let mut all = args.to_vec();
        all.push("--json");
        serde_json::from_str(&self.pn(&all)).expect("JSON")
    }

    /// Runs git, which must succeed.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.machine.sandbox.tool(self.command("git").args(args))
    }

    pub(crate) fn try_git(&self, args: &[&str]) -> Result<String, String> {
        done(self.command("git").args(args))
    }

    /// Runs git, which must succeed. Returns what it and the hooks print.
    pub(crate) fn git_output(&self, args: &[&str]) -> String {
        let output = self.command("git").args(args).output().expect("git runs");
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    pub(crate) fn head(&self) -> String {
        let head = fs::read_to_string(self.dir.join(".git/HEAD")).unwrap_or_default();
        match head.trim_end().strip_prefix("ref: ") {
            Some(branch) => self.commit(branch),
            None => self.git(&["rev-parse", "HEAD"]).trim().to_owned(),
        }
    }

    /// The commit id of a reference. Most are files, and reading them is faster than starting git.
    pub(crate) fn commit(&self, reference: &str) -> String {
        let read = fs::read_to_string(self.dir.join(".git").join(reference));
        let id = read.ok().map(|id| id.trim_end().to_owned()).filter(|id| id.len() == 40);
        id.unwrap_or_else(|| self.git(&["rev-parse", "--verify", reference]).trim().to_owned())
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.dir.join(".pensa").join(name)).unwrap_or_default()
    }

    /// Exports, and returns the files.
    pub(crate) fn exported(&self) -> Vec<String> {
        self.pn(&["export"]);
        COLLECTIONS.iter().map(|collection| self.read(&collection.file_name())).collect()
    }

    /// A daemon for the project in a directory.
    pub(crate) fn daemon(&self, project: &Path) -> Daemon {
        Daemon::start(self.command(crate::PN).args(["daemon", "--port", "0", "--json", "--project-dir"]).arg(project))
    }

    /// A linked worktree of this clone, on a new branch.
    pub(crate) fn worktree(&self, branch: &str) -> Self {
        let dir = self.machine.path(&format!("{}-{branch}", self.name));
        self.git(&["worktree", "add", "--quiet", "-b", branch, dir.to_str().expect("UTF-8")]);
        self.at(&dir)
    }

    /// The same user in another directory.
    pub(crate) fn at(&self, dir: &Path) -> Self {
        Self { machine: self.machine, dir: dir.to_owned(), name: self.name.clone(), server: None }
    }

    /// The same clone, through a daemon.
    pub(crate) fn through(&self, daemon: &Daemon) -> Self {
        Self { server: Some(daemon.url.clone()), ..self.at(&self.dir) }
    }

    /// The work trees for which the store has merge bases.
    pub(crate) fn places(&self) -> Vec<String> {
        let sql = "SELECT peer FROM peers WHERE kind = 'git' ORDER BY peer";
        let database = self.dir.join(".pensa/db.sqlite");
        let result = self.machine.sandbox.tool(self.command("python3").args([
            "-c",
            "import sqlite3,sys; [print(row[0]) for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2])]",
            database.to_str().expect("UTF-8"),
            sql,
        ]));
        result.lines().map(str::to_owned).collect()
    }
}

fn done(command: &mut Command) -> Result<String, String> {
    let output = command.output().expect("it runs");
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if output.status.success() { Ok(stdout) } else { Err(format!("{stdout}{stderr}")) }
}
