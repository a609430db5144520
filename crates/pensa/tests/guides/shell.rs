//! The shell that a reader of a guide has: a directory and an environment that last from one command to the next.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use pensa_testkit::{Sandbox, clients};
use rustix::process::{Pid, Signal, kill_process_group};

pub(crate) struct Shell {
    machine: Sandbox,
    /// Groups of processes that commands began, in which those in the background go on.
    groups: Vec<Pid>,
}

/// Runs one command where the last one ended, and keeps where it ends. `$1` is the directory of all this.
const AROUND: &str = r#"
at=$1; command=$2
[ -f "$at/environment" ] && . "$at/environment"
cd "$(cat "$at/directory")"
eval "$command"
export -p | grep -v ' SHLVL=' > "$at/environment"
pwd > "$at/directory"
"#;

impl Shell {
    /// A machine with an empty git repository, and a person who uses it.
    pub(crate) fn new() -> Self {
        let machine = Sandbox::bare(env!("CARGO_BIN_EXE_pn"));
        let bin = machine.path("bin");
        fs::create_dir(&bin).expect("a directory");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pn"), bin.join("pn")).expect("a link");
        let git = "[user]\nname = ana\nemail = ana@example.org\n[init]\ndefaultBranch = main\n";
        fs::write(machine.path("gitconfig"), git).expect("written");
        fs::write(machine.path("directory"), machine.project().to_str().expect("UTF-8")).expect("written");
        machine.tool(machine.command("git").args(["init", "--quiet"]));
        Self { machine, groups: Vec::new() }
    }

    /// Writes a file into the current directory.
    pub(crate) fn write(&self, name: &str, content: &str) {
        let directory = fs::read_to_string(self.machine.path("directory")).expect("a directory");
        let path = std::path::Path::new(directory.trim_end()).join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        fs::write(path, content).expect("written");
    }

    /// What a command prints, on both of its streams.
    pub(crate) fn run(&mut self, command: &str) -> String {
        let printed = self.machine.path("printed");
        let file = fs::File::create(&printed).expect("a file");
        let paths = std::env::var("PATH").unwrap_or_default();
        let mut child = self
            .machine
            .command("bash")
            .args(["-c", AROUND, "bash"])
            .arg(self.machine.path(""))
            .arg(command)
            .env("PATH", format!("{}:{paths}", self.machine.path("bin").display()))
            .env("PYTHONPATH", clients::directory().join("python/src"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("USER", "ana")
            .env_remove("PN_ACTOR")
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("a file"))
            .stderr(file)
            .process_group(0)
            .spawn()
            .expect("these tests need bash");
        self.groups.push(Pid::from_child(&child));
        child.wait().expect("ends");
        let printed = String::from_utf8_lossy(&fs::read(printed).expect("a file")).into_owned();
        printed.replace(&self.machine.path("").display().to_string().trim_end_matches('/').to_owned(), "/home/ana")
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        for group in &self.groups {
            let _ = kill_process_group(*group, Signal::KILL);
        }
    }
}
