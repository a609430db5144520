//! An isolated environment for a test: home, project, environment variables, and optionally a daemon.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

use crate::daemon::Daemon;
use crate::run::Run;

/// How `pn` reaches the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// `pn` opens the store's files.
    Embedded,
    /// `pn` runs outside the project and uses a daemon, as in a container.
    Daemon,
}

/// A temporary environment that shares only the PATH with the real one.
#[derive(Debug)]
pub struct Sandbox {
    root: TempDir,
    pn: PathBuf,
    mode: Mode,
    daemon: Mutex<Option<Daemon>>,
}

impl Sandbox {
    /// An environment with an empty project and no store; `pn` is the program under test.
    pub fn bare(pn: impl Into<PathBuf>) -> Self {
        let root = tempfile::Builder::new().prefix("pensa-test-").tempdir().expect("a temporary directory");
        for dir in ["home", "xdg", "project", "elsewhere"] {
            fs::create_dir(root.path().join(dir)).expect("a directory of the sandbox");
        }
        fs::write(root.path().join("gitconfig"), "").expect("an empty git configuration");
        Self { root, pn: pn.into(), mode: Mode::Embedded, daemon: Mutex::default() }
    }

    /// An environment whose project has a store.
    pub fn with_store(pn: impl Into<PathBuf>) -> Self {
        let sandbox = Self::bare(pn);
        sandbox.pn(["init"]).ok();
        sandbox
    }

    /// An environment whose store `pn` accesses by `mode`.
    pub fn in_mode(pn: impl Into<PathBuf>, mode: Mode) -> Self {
        let mut sandbox = Self::with_store(pn);
        if mode == Mode::Daemon {
            sandbox.mode = mode;
            sandbox.offline(|_| {});
        }
        sandbox
    }

    /// The directory of the project.
    pub fn project(&self) -> PathBuf {
        self.path("project")
    }

    /// The project's store.
    pub fn store(&self) -> PathBuf {
        self.project().join(".pensa")
    }

    /// The directory of the store's journal, backups and writer lock.
    pub fn durable(&self) -> PathBuf {
        self.durable_of(&self.project())
    }

    /// Like [`Self::durable`] for another project: in its git directory, or else in the user's state directory.
    pub fn durable_of(&self, project: &Path) -> PathBuf {
        let config = fs::read_to_string(project.join(".pensa/config.toml")).expect("a store with settings");
        let id =
            config.split("store_id = \"").nth(1).and_then(|rest| rest.split('"').next()).expect("a store with an id");
        if project.join(".git").is_dir() {
            return project.join(".git/pensa").join(id);
        }
        let all = self.path("xdg/state/pensa/stores").join(id);
        let mut below = fs::read_dir(&all).expect("a store that was opened").flatten();
        below.next().expect("one directory for each path").path()
    }

    /// A path in the environment.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.path().join(name)
    }

    /// A run of `pn` with the mode of the sandbox.
    pub fn pn<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Run {
        let run = self.embedded(args);
        match self.own_daemon().as_ref() {
            Some(daemon) => run.dir(self.path("elsewhere")).env("PN_DAEMON", &daemon.url),
            None => run,
        }
    }

    /// A run of `pn` on the store's files in any mode.
    pub fn embedded<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Run {
        Run::new(self.command(&self.pn), args)
    }

    /// Starts another daemon on the project's store.
    pub fn daemon(&self) -> Daemon {
        let mut command = self.command(&self.pn);
        command.args(["daemon", "--port", "0", "--json", "--project-dir"]).arg(self.project());
        Daemon::start(command.current_dir(self.path("home")))
    }

    fn own_daemon(&self) -> MutexGuard<'_, Option<Daemon>> {
        self.daemon.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` on the store's files while no daemon has them open.
    pub fn offline(&self, work: impl FnOnce(&Path)) {
        let mut daemon = self.own_daemon();
        drop(daemon.take());
        work(&self.store());
        if self.mode == Mode::Daemon {
            *daemon = Some(self.daemon());
        }
    }

    /// Makes the project a git repository with one commit.
    pub fn git_init(&self) {
        self.git(["init", "--quiet", "--initial-branch=main"]);
        self.git(["commit", "--quiet", "--allow-empty", "--message=start"]);
    }

    /// Runs git in the project. Returns its output.
    pub fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        let mut git = self.command("git");
        git.args(["-c", "user.name=Git User", "-c", "user.email=git@example.test"]);
        self.tool(git.args(args))
    }

    /// Runs a program that must succeed. Returns its output.
    pub fn tool(&self, command: &mut Command) -> String {
        let name = command.get_program().to_string_lossy().into_owned();
        let output = command.output().unwrap_or_else(|e| panic!("these tests need the program {name}: {e}"));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?} failed: {stderr}");
        String::from_utf8(output.stdout).expect("a program that prints UTF-8")
    }

    /// A command in the project with only the environment variables of the sandbox.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.project());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        for (name, at) in [
            ("HOME", "home"),
            ("XDG_CONFIG_HOME", "xdg/config"),
            ("XDG_STATE_HOME", "xdg/state"),
            ("XDG_DATA_HOME", "xdg/data"),
            ("XDG_CACHE_HOME", "xdg/cache"),
            ("GIT_CONFIG_GLOBAL", "gitconfig"),
            ("GIT_CONFIG_SYSTEM", "gitconfig"),
            ("GIT_CEILING_DIRECTORIES", ""),
            ("PN_SYSTEM_CONFIG", "etc/config.toml"),
        ] {
            command.env(name, self.path(at));
        }
        let fixed =
            [("LC_ALL", "C.UTF-8"), ("TZ", "UTC"), ("TERM", "dumb"), ("COLUMNS", "100"), ("USER", "login-name")];
        command.envs(fixed).env("PN_ACTOR", "tester");
        command
    }
}
