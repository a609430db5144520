//! `pn demo`: runs a short scenario with three agents, using this program in a temporary repository.

use std::path::Path;
use std::process::{Command, Stdio};

use clap::Args;
use pensa_core::{Error, Result};

use crate::output::Output;

/// Play a short demo with three agents in a temporary repository
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Keep the repository afterwards
    #[arg(long)]
    pub(crate) keep: bool,
}

pub(super) fn run(args: &DemoArgs, output: Output) -> Result<()> {
    let dir = tempfile::Builder::new().prefix("pensa-demo-").tempdir().map_err(failed)?;
    let demo = Demo { dir: dir.path(), output };
    demo.play()?;
    if args.keep {
        output.line(&format!("\nThe repository stays in {}", dir.keep().display()))?;
    }
    output.line("\nIn your own repository:\n  cargo install --path crates/pensa\n  pn init\n  pn create \"my first task\" -t task\n  pn ready")
}

struct Demo<'a> {
    dir: &'a Path,
    output: Output,
}

impl Demo<'_> {
    fn play(&self) -> Result<()> {
        self.heading("A fresh repository gets a store")?;
        self.git(&["init", "--quiet"])?;
        self.pn("ana", &["init"])?;

        self.heading("Ana plans: three tasks, the second waits for the first, the third for the second")?;
        let schema = self.create("ana", &["create", "design the login schema", "-t", "task", "-p", "p1"])?;
        let form =
            self.create("ana", &["create", "build the login form", "-t", "task", "-p", "p1", "--dep", &schema])?;
        let docs = self.create("ana", &["create", "document logging in", "-t", "chore", "--dep", &form])?;
        self.pn("ana", &["ready"])?;
        self.pn("ana", &["blocked"])?;
        self.pn("ana", &["dep", "tree", &schema])?;

        self.heading("Ben claims the only ready one; Cleo comes too late and sees who has it")?;
        self.pn("ben", &["update", &schema, "--claim", "--ttl", "30m"])?;
        self.pn_refused("cleo", &["update", &schema, "--claim"])?;

        self.heading("Cleo reports a bug and plans its fix instead")?;
        let bug = self.create("cleo", &["create", "login crash on empty password", "-t", "bug", "-p", "p0"])?;
        let fix =
            self.create("cleo", &["create", "reject empty passwords", "-t", "task", "-p", "p0", "--fixes", &bug])?;
        self.pn("cleo", &["update", &fix, "--claim"])?;
        self.pn("cleo", &["comment", "add", &fix, "the form sends null, not an empty text"])?;

        self.heading("Both finish: closing the fix closes the bug, closing the schema frees the form")?;
        self.pn("cleo", &["close", &fix, "--reason", "validated on both sides"])?;
        self.pn("ben", &["close", &schema, "--reason", "users and sessions tables"])?;
        self.pn("ben", &["ready"])?;
        self.pn("cleo", &["show", &bug])?;

        self.heading("What happened to the schema, newest first; and how the project stands")?;
        self.pn("ana", &["history", &schema])?;
        self.pn("ana", &["dep", "tree", &docs, "--direction", "up"])?;
        self.pn("ana", &["status"])?;

        self.heading("The issues travel with the repository")?;
        self.pn("ana", &["export"])?;
        self.git(&["status", "--short"])
    }

    fn heading(&self, title: &str) -> Result<()> {
        self.output.line(&format!("\n# {title}"))
    }

    /// Creates an issue and reads its id from the output.
    fn create(&self, actor: &str, args: &[&str]) -> Result<String> {
        let shown = self.pn(actor, args)?;
        let id = shown.split_whitespace().find(|word| word.starts_with("pn-"));
        id.map(str::to_owned).ok_or_else(|| Error::internal("the demo's create printed no id"))
    }

    fn pn(&self, actor: &str, args: &[&str]) -> Result<String> {
        let (ok, shown) = self.run_pn(actor, args)?;
        if ok { Ok(shown) } else { Err(Error::internal("a command of the demo failed")) }
    }

    fn pn_refused(&self, actor: &str, args: &[&str]) -> Result<()> {
        let (ok, _) = self.run_pn(actor, args)?;
        if ok { Err(Error::internal("a command of the demo should have been refused")) } else { Ok(()) }
    }

    fn run_pn(&self, actor: &str, args: &[&str]) -> Result<(bool, String)> {
        let typed = shlex::try_join(args.iter().copied()).map_err(Error::internal)?;
        self.output.line(&format!("{actor}$ pn {typed}"))?;
        let program = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(program);
        for name in ["PN_STORE", "PN_DAEMON", "PN_TOKEN", "PN_SESSION", "PN_RUN"] {
            command.env_remove(name);
        }
        let answer = command
            .args(args)
            .current_dir(self.dir)
            .env("PN_ACTOR", actor)
            .stdin(Stdio::null())
            .output()
            .map_err(failed)?;
        let shown = String::from_utf8_lossy(&answer.stdout).into_owned();
        let errors = String::from_utf8_lossy(&answer.stderr).into_owned();
        for line in shown.lines().chain(errors.lines()) {
            self.output.line(&format!("  {line}"))?;
        }
        Ok((answer.status.success(), shown))
    }

    fn git(&self, args: &[&str]) -> Result<()> {
        self.output.line(&format!("$ git {}", args.join(" ")))?;
        let answer = Command::new("git")
            .args(args)
            .current_dir(self.dir)
            .stdin(Stdio::null())
            .output()
            .map_err(|e| Error::internal(format!("cannot run git: {e}")))?;
        for line in String::from_utf8_lossy(&answer.stdout).lines() {
            self.output.line(&format!("  {line}"))?;
        }
        if answer.status.success() { Ok(()) } else { Err(Error::internal("git failed in the demo")) }
    }
}

fn failed(e: std::io::Error) -> Error {
    Error::internal(format!("cannot play the demo: {e}"))
}
