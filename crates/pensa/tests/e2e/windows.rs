//! `pn run exec --mux`: runs in windows of real terminal multiplexers.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use pensa_testkit::{Mode, Run, Sandbox, eventually};
use serde_json::{Value, json};

use crate::steps::text;

/// A machine whose project is a repository, with multiplexers of its own; they end with it.
struct Desk {
    pn: Sandbox,
}

impl Desk {
    fn new(mode: Mode) -> Self {
        let pn = Sandbox::in_mode(crate::PN, mode);
        pn.git_init();
        fs::create_dir(pn.path("mux")).expect("a directory");
        fs::set_permissions(pn.path("mux"), fs::Permissions::from_mode(0o700)).expect("private");
        Self { pn }
    }

    fn surroundings(&self) -> [(&'static str, PathBuf); 2] {
        [("TMUX_TMPDIR", self.pn.path("mux")), ("SCREENDIR", self.pn.path("mux"))]
    }

    /// `pn` in the project, where the mode has it.
    fn here(&self, args: &[&str]) -> Run {
        let run = self.pn.pn(args).dir(self.pn.project());
        self.surroundings().into_iter().fold(run, |run, (name, value)| run.env(name, value))
    }

    /// `pn run exec --mux MUX FLAGS -- sh -c SCRIPT`.
    fn exec(&self, mux: &str, flags: &[&str], script: &str) -> Run {
        self.here(&[&["run", "exec", "--mux", mux], flags, &["--", "sh", "-c", script]].concat())
    }

    fn tool(&self, program: &str, args: &[&str]) -> Command {
        let mut command = self.pn.command(program);
        command.args(args).envs(self.surroundings());
        command
    }

    fn tmux(&self, args: &[&str]) -> String {
        self.pn.tool(&mut self.tool("tmux", args))
    }

    fn show(&self, id: &str) -> Value {
        self.pn.pn(["run", "show", id]).ok_json()
    }

    #[track_caller]
    fn over(&self, id: &str) -> Value {
        let over = |run: Value| (run["status"] != "created" && run["status"] != "running").then_some(run);
        eventually("the end of a run", || over(self.show(id)))
    }

    /// The command touches `name` when it is there.
    #[track_caller]
    fn until(&self, name: &str) {
        eventually(name, || self.pn.project().join(name).exists().then_some(()));
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = self.tool("tmux", &["kill-server"]).output();
        let there = self.tool("screen", &["-ls"]).output().map(|output| output.stdout).unwrap_or_default();
        for line in String::from_utf8_lossy(&there).lines().filter(|line| line.starts_with('\t')) {
            let name = line.split_whitespace().next().unwrap_or_default();
            let _ = self.tool("screen", &["-S", name, "-X", "quit"]).output();
        }
    }
}

/// The same with tmux and with screen, on the store's files and through a daemon.
fn each(test: impl Fn(&Desk, &str)) {
    for (mode, mux) in [(Mode::Embedded, "tmux"), (Mode::Daemon, "tmux"), (Mode::Embedded, "screen")] {
        test(&Desk::new(mode), mux);
    }
}

#[test]
fn a_run_in_a_window_is_a_run_like_any_other() {
    each(|desk, mux| {
        let run = desk.exec(mux, &["--prompt", "do it"], "echo said; while [ ! -e go ]; do sleep 0.01; done; exit 3");
        let run = run.ok_json();
        let id = text(&run["id"]);
        assert_eq!(
            (&run["status"], &run["multiplexer_kind"], &run["prompt"]),
            (&json!("running"), &json!(mux), &json!("do it"))
        );
        assert!(text(&run["mux_session"]).ends_with("pensa-project"), "{run}");
        assert!(run["mux_window"].is_i64() && run["supervisor"].is_object(), "{run}");
        if mux == "tmux" {
            let listed =
                desk.tmux(&["list-panes", "-a", "-F", "#{session_name} #{window_index} #{window_name} #{pane_id}"]);
            let expected = format!("pensa-project {} {id} {}\n", run["mux_window"], text(&run["pane_left"]));
            assert_eq!(listed, expected);
        }
        fs::write(desk.pn.project().join("go"), "").expect("written");
        let ended = desk.over(&id);
        assert_eq!((&ended["status"], &ended["exit_code"]), (&json!("failed"), &json!(3)), "{ended}");
        assert_eq!(desk.pn.pn(["run", "logs", &id]).ok().trim_end(), "said");
        let left: Vec<_> = fs::read_dir(PathBuf::from(text(&run["log_path"])).parent().expect("a directory"))
            .expect("read")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
            .collect();
        assert_eq!(left, [format!("{id}.log")], "nothing that was handed over is left");
    });
}
