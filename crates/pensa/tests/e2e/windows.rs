//! `pn run exec --mux`: runs in windows of real terminal multiplexers.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use pensa_testkit::{Mode, Run, Sandbox, eventually};
use serde_json::{Value, json};

use crate::crash::{CALLS, sweep_with_flags};
use crate::interactive::Terminal;
use crate::steps::{elements, task, text};

/// A sandbox whose project is a repository, with its own multiplexers, which end with it.
struct MuxSandbox {
    pn: Sandbox,
}

impl MuxSandbox {
    fn new(mode: Mode) -> Self {
        let pn = Sandbox::in_mode(crate::PN, mode);
        pn.git_init();
        fs::create_dir(pn.path("mux")).expect("a directory");
        fs::set_permissions(pn.path("mux"), fs::Permissions::from_mode(0o700)).expect("private");
        Self { pn }
    }

    fn environment(&self) -> [(&'static str, PathBuf); 2] {
        [("TMUX_TMPDIR", self.pn.path("mux")), ("SCREENDIR", self.pn.path("mux"))]
    }

    /// `pn` in the project, in the mode of the sandbox.
    fn here(&self, args: &[&str]) -> Run {
        let run = self.pn.pn(args).dir(self.pn.project());
        self.environment().into_iter().fold(run, |run, (name, value)| run.env(name, value))
    }

    /// `pn run exec --mux MUX FLAGS -- sh -c SCRIPT`.
    fn exec(&self, mux: &str, flags: &[&str], script: &str) -> Run {
        self.here(&[&["run", "exec", "--mux", mux], flags, &["--", "sh", "-c", script]].concat())
    }

    fn tool(&self, program: &str, args: &[&str]) -> Command {
        let mut command = self.pn.command(program);
        command.args(args).envs(self.environment());
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

    /// Waits until the command has created the file `name`.
    #[track_caller]
    fn until(&self, name: &str) {
        eventually(name, || self.pn.project().join(name).exists().then_some(()));
    }
}

impl Drop for MuxSandbox {
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
fn each(test: impl Fn(&MuxSandbox, &str)) {
    for (mode, mux) in [(Mode::Embedded, "tmux"), (Mode::Daemon, "tmux"), (Mode::Embedded, "screen")] {
        test(&MuxSandbox::new(mode), mux);
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
            let place = format!("tmux pensa-project:{} {}", run["mux_window"], text(&run["pane_left"]));
            assert!(desk.pn.pn(["run", "show", &id]).ok().contains(&place));
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

/// Arguments that shells, tmux and screen could interpret.
const HOSTILE: [&[u8]; 9] = [
    b"a b",
    b"quote\"'`end",
    b"$(touch evil) ${HOME} %n #{pid} #(touch evil)",
    b"trailing;",
    b";",
    b"\\n\\; back\\slash\\",
    b"two\nlines\ttab",
    b"\xff\xfe not UTF-8",
    b"",
];

#[test]
fn a_window_gets_the_exact_command_in_the_environment_of_its_caller() {
    each(|desk, mux| {
        // A multiplexer server that was started before has another environment.
        let old: &[&str] = if mux == "tmux" { &["new-session", "-d", "-s", "old"] } else { &["-dmS", "pensa-project"] };
        desk.pn.tool(desk.tool(mux, old).envs([("PN_ACTOR", "another"), ("PN_STORE", "/nowhere"), ("MINE", "old")]));
        let dir = desk.pn.project().join(OsStr::from_bytes(b"d '\"$(x);#{y}\xff;"));
        fs::create_dir(&dir).expect("a directory");
        let script = "printf '%s\\0' \"$@\" >args; env -0 >env; pwd >dir; touch done; sleep 60";
        let mut args: Vec<&OsStr> =
            ["run", "exec", "--mux", mux, "--prompt", "-", "--label", "a=$(b);'\""].map(OsStr::new).into();
        args.extend(["--", "sh", "-c", script, "sh"].map(OsStr::new));
        args.extend(HOSTILE.map(OsStr::from_bytes));
        let run = desk.environment().into_iter().fold(desk.pn.pn(&args), |run, (name, value)| run.env(name, value));
        let secret = OsStr::from_bytes(b"pass\nword\xff\"'");
        let run = run.dir(&dir).actor("a'n \"n").env("PN_TOKEN", "not-for-everybody").env("MINE", secret);
        let run = run.stdin("a prompt; $(for) #{nobody}").ok_json();
        eventually("the command", || dir.join("done").exists().then_some(()));
        let read = |name: &str| fs::read(dir.join(name)).expect(name);
        assert_eq!(read("args"), HOSTILE.map(|word| [word, b"\0"].concat()).concat());
        assert_eq!(read("dir"), [fs::canonicalize(&dir).expect("a path").as_os_str().as_bytes(), b"\n"].concat());
        let env = read("env");
        let variable = |name: &str| {
            let found =
                env.split(|byte| *byte == 0).find_map(|pair| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
            found.unwrap_or_else(|| panic!("no {name}"))
        };
        assert_eq!((variable("MINE"), variable("PN_ACTOR")), (secret.as_bytes(), &b"a'n \"n"[..]));
        assert_eq!(variable("PN_TOKEN"), b"not-for-everybody");
        assert_eq!(variable("PN_RUN"), text(&run["id"]).as_bytes());
        assert!(!variable(if mux == "tmux" { "TMUX" } else { "STY" }).is_empty() && variable("TERM") != b"dumb");
        assert_eq!((&run["prompt"], &run["labels"]), (&json!("a prompt; $(for) #{nobody}"), &json!({"a": "$(b);'\""})));
        assert!(!dir.join("evil").exists() && !desk.pn.project().join("evil").exists());
        for process in fs::read_dir("/proc").expect("processes").filter_map(Result::ok) {
            let line =
                String::from_utf8_lossy(&fs::read(process.path().join("cmdline")).unwrap_or_default()).into_owned();
            assert!(!line.contains("not-for-everybody") && !line.contains("#{nobody}"), "{line:?}");
        }
        desk.pn.pn(["run", "cancel", &text(&run["id"]), "--grace", "1s"]).ok();
    });
}

#[test]
fn a_multiplexer_server_inherits_nothing_from_us() {
    let desk = MuxSandbox::new(Mode::Embedded);
    desk.exec("tmux", &[], "sleep 60").env("PN_TOKEN", "not-for-everybody").ok_json();
    let all = desk.tmux(&["show-environment", "-g"]);
    assert!(all.contains("HOME=") && !all.contains("PN_"), "{all}");
}

#[test]
fn a_window_opens_in_the_callers_session() {
    let desk = MuxSandbox::new(Mode::Embedded);
    let inner = "\"$PN\" run exec --mux tmux -q -- sh -c 'touch ready; sleep 60' >id 2>error; sleep 60";
    let mut tmux = desk.tool("tmux", &["new-session", "-d", "-s", "my work", "-n", "first", "--", "sh", "-c", inner]);
    desk.pn.tool(tmux.env("PN", crate::PN));
    desk.until("ready");
    let id =
        eventually("its id", || fs::read_to_string(desk.pn.project().join("id")).ok().filter(|id| id.ends_with('\n')));
    let run = desk.show(id.trim());
    assert_eq!((&run["mux_session"], &run["mux_window"]), (&json!("my work"), &json!(1)), "{run}");
    assert_eq!(desk.tmux(&["list-windows", "-a", "-F", "#{window_name}"]), format!("first\n{}\n", id.trim()));
    assert_eq!(desk.tmux(&["display-message", "-p", "-t", "my work", "#{window_name}"]), "first\n", "nobody is moved");
}

#[test]
fn a_window_is_split_for_a_shell_next_to_the_command() {
    let desk = MuxSandbox::new(Mode::Embedded);
    let run = desk.exec("tmux", &["--split"], "exec sleep 60").ok_json();
    let (left, right) = (text(&run["pane_left"]), text(&run["pane_right"]));
    let format = "#{pane_id} #{pane_left} #{pane_current_path}";
    let listed = desk.tmux(&["list-panes", "-t", &left, "-F", format]);
    let panes: Vec<Vec<&str>> = listed.lines().map(|line| line.splitn(3, ' ').collect()).collect();
    assert_eq!((panes.len(), panes[0][0], panes[1][0]), (2, left.as_str(), right.as_str()), "{listed}");
    assert!(panes[0][1] == "0" && panes[1][1] != "0", "it is on the right: {listed}");
    assert_eq!(panes[1][2], fs::canonicalize(desk.pn.project()).expect("a path").to_str().expect("UTF-8"));
    assert!(desk.pn.pn(["run", "show", &text(&run["id"])]).ok().contains(&format!("{left} {right}")));
    let plain = desk.exec("tmux", &[], "exec sleep 60").ok_json();
    assert!(plain["pane_left"].is_string() && plain["pane_right"].is_null(), "{plain}");
    desk.here(&["run", "exec", "--split", "--", "true"]).misused();
}

#[test]
fn a_window_that_is_closed_or_cancelled_ends_its_run() {
    each(|desk, mux| {
        let id = task(&desk.pn, "worked on");
        let exec = || desk.exec(mux, &["--issue", &id], "touch ready; exec sleep 60").ok_json();
        let run = exec();
        desk.until("ready");
        assert_eq!(desk.pn.pn(["show", &id]).ok_json()["status"], "in_progress");
        match mux {
            "tmux" => drop(desk.tmux(&["kill-window", "-t", &text(&run["pane_left"])])),
            _ => drop(desk.pn.tool(&mut desk.tool("screen", &["-S", &text(&run["mux_session"]), "-X", "kill"]))),
        }
        let ended = desk.over(&text(&run["id"]));
        assert_eq!((&ended["status"], &ended["signal"]), (&json!("failed"), &json!(1)), "{ended}");
        let freed = || (desk.pn.pn(["show", &id]).ok_json()["status"] == "open").then_some(());
        eventually("the claim is given back", freed);
        let run = exec();
        let result = desk.pn.pn(["run", "cancel", &text(&run["id"])]).ok_json();
        assert_eq!(result["status"], "cancelled");
        eventually("the claim is given back", freed);
        let gone = || std::path::Path::new("/proc").join(run["supervisor"]["pid"].to_string()).exists();
        eventually("the window is gone", || (!gone()).then_some(()));
    });
}

#[test]
fn several_windows_share_a_claim_until_the_last_has_ended() {
    let desk = MuxSandbox::new(Mode::Embedded);
    let id = task(&desk.pn, "worked on");
    let script = "[ $PN_INSTANCE = 1 ] && exit 4; while [ ! -e go ]; do sleep 0.01; done";
    let runs = elements(&desk.exec("tmux", &["--instances", "2", "--issue", &id], script).ok_json());
    let own: Vec<&Value> = runs.iter().map(|run| &run["supervisor"]).collect();
    assert!(runs.len() == 2 && own[0] != own[1] && runs[0]["group"] == runs[1]["group"], "{runs:?}");
    assert_eq!(desk.over(&text(&runs[0]["id"]))["exit_code"], 4);
    let shown = || desk.pn.pn(["show", &id]).ok_json()["status"].clone();
    assert_eq!(shown(), "in_progress", "the other still works on it");
    fs::write(desk.pn.project().join("go"), "").expect("written");
    assert_eq!(desk.over(&text(&runs[1]["id"]))["status"], "succeeded");
    eventually("the claim is given back, for one has failed", || (shown() == "open").then_some(()));
    let answer = desk.exec("tmux", &["--wait", "-q", "--issue", &id, "--close"], "exit 0").answer();
    assert_eq!((answer.code, shown()), (Some(0), json!("closed")), "{answer:?}");
    assert_eq!(desk.exec("tmux", &["--wait"], "exit 6").answer().code, Some(6));
    assert_eq!(desk.here(&["run", "exec", "--mux", "tmux", "--wait", "--", "no-such-program"]).answer().code, Some(1));
    let lost = elements(&desk.pn.pn(["run", "list", "-n", "1"]).ok_json()).remove(0);
    assert!(lost["status"] == "failed" && text(&lost["reason"]).contains("no-such-program"), "{lost}");
}

#[test]
fn attach_shows_the_window_or_says_why_it_cannot() {
    each(|desk, mux| {
        let run = desk.exec(mux, &[], "echo shown; read line; echo \"got $line\" >out; read line").ok_json();
        let id = text(&run["id"]);
        desk.here(&["run", "attach", &id]).fails("unsupported");
        let mut command = vec![format!("TERM=xterm PATH={}", std::env::var("PATH").expect("a PATH"))];
        command.extend(desk.environment().map(|(name, value)| format!("{name}={}", value.display())));
        let line = format!("env {} \"$PN\" run attach {id}", command.join(" "));
        let mut terminal = Terminal::run(&desk.pn, "sh", &["-c", &line]);
        terminal.until("shown");
        terminal.types(b"typed\r");
        eventually("what was typed", || {
            (fs::read(desk.pn.project().join("out")).ok()? == b"got typed\n").then_some(())
        });
        desk.pn.pn(["run", "cancel", &id]).ok();
        drop(terminal);
        let error = desk.here(&["run", "attach", &id]).fails("invalid_status_transition");
        assert!(text(&error["error"]).contains("cancelled"), "{error}");
    });
}

#[test]
fn a_missing_multiplexer_fails_before_anything_is_recorded() {
    let desk = MuxSandbox::new(Mode::Embedded);
    let id = task(&desk.pn, "worked on");
    for mux in ["tmux", "screen", "zellij"] {
        let error = desk.exec(mux, &["--issue", &id], "true").env("PATH", "/nowhere").fails("unsupported");
        assert!(text(&error["error"]).contains(mux), "{error}");
    }
    assert!(elements(&desk.pn.pn(["run", "list"]).ok_json()).is_empty());
    assert_eq!(desk.pn.pn(["show", &id]).ok_json()["status"], "open");
    let plain = text(&desk.here(&["run", "start"]).ok_json()["id"]);
    let error = desk.here(&["run", "attach", &plain]).fails("unsupported");
    assert!(text(&error["error"]).contains("no window"), "{error}");
    // A multiplexer that is installed but does not work.
    fs::create_dir(desk.pn.path("bin")).expect("a directory");
    let path = format!("{}:{}", desk.pn.path("bin").display(), std::env::var("PATH").expect("a PATH"));
    fs::write(desk.pn.path("bin/tmux"), "#!/bin/sh\necho no terminals today >&2; exit 1\n").expect("written");
    fs::set_permissions(desk.pn.path("bin/tmux"), fs::Permissions::from_mode(0o755)).expect("executable");
    let error = desk.exec("tmux", &["--issue", &id], "true").env("PATH", path).fails("internal");
    assert!(text(&error["error"]).contains("no terminals today"), "{error}");
    let lost = elements(&desk.pn.pn(["run", "list", "-n", "1"]).ok_json()).remove(0);
    assert!(lost["status"] == "failed" && text(&lost["reason"]).contains("no terminals today"), "{lost}");
    assert_eq!(desk.pn.pn(["show", &id]).ok_json()["status"], "open");
}

#[test]
fn opening_a_window_killed_at_any_system_call_leaves_a_finished_run() {
    let desk = MuxSandbox::new(Mode::Embedded);
    let id = task(&desk.pn, "worked on");
    let exec = |point: &str| {
        let label = format!("point={point}");
        desk.exec("tmux", &["--issue", &id, "--label", &label], "echo said; exit 0")
    };
    let check = |point: &str, done: bool| {
        let made = || {
            let all = elements(&desk.pn.pn(["run", "list"]).ok_json());
            all.into_iter().filter(|run| run["labels"]["point"] == point).collect::<Vec<_>>()
        };
        assert!(made().len() == 1 || (made().is_empty() && !done), "{point}");
        let is_over = |run: &Value| run["status"] != "created" && run["status"] != "running";
        let ended = eventually(point, || Some(made()).filter(|made| made.iter().all(is_over)));
        for run in &ended {
            let is_success = run["status"] == "succeeded";
            assert!(is_success || (run["status"] == "failed" && !done), "{point}: {run}");
            let log = fs::read_to_string(text(&run["log_path"])).unwrap_or_default();
            assert_eq!(log, if is_success { "said\r\n" } else { "" }, "{point}: {run}");
        }
        let logs = fs::read_dir(desk.pn.store().join("local/runs")).into_iter().flatten().filter_map(Result::ok);
        let left: Vec<_> =
            logs.map(|file| file.path()).filter(|file| file.extension() != Some(OsStr::new("log"))).collect();
        assert!(left.is_empty(), "{point}: {left:?}");
        let issue = desk.pn.pn(["show", &id]).ok_json();
        assert!(issue["status"] == "open" || issue["lease_expires_at"].is_string(), "{point}: {issue}");
        desk.pn.pn(["release", &id]).answer();
    };
    let calls = CALLS.iter().filter(|call| !["openat", "linkat"].contains(call));
    let kills: usize = calls.map(|call| sweep_with_flags(&[], call, 1, exec, check)).sum();
    let often: usize = ["openat", "clone3"].map(|call| sweep_with_flags(&[], call, 7, exec, check)).iter().sum();
    assert!(kills > 10 && often > 3, "{kills} and {often} kills");
}
