//! `pn run`: supervised commands, also when they or their supervisors are killed.

use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use pensa_testkit::{Http, Mode, Run, Sandbox, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::steps::{elements, task, text};

crate::in_both_modes! {
    a_run_records_how_its_command_ended,
    a_claim_is_released_when_its_command_fails,
    a_run_that_is_cancelled_ends_its_command,
    a_run_has_events_of_its_own,
    harnesses_and_runtimes_are_described,
    thirty_two_processes_start_and_finish_runs_at_once_and_lose_none,
}

/// A machine whose project is a repository with a store.
fn repository() -> Sandbox {
    let pn = crate::sandbox();
    pn.git_init();
    pn
}

/// Starts `pn run exec -- sh -c SCRIPT`.
fn exec(pn: &Sandbox, script: &str) -> Command {
    let mut command = pn.command(crate::PN);
    command.args(["run", "exec", "--", "sh", "-c", script]).env("PN_ACTOR", "ann");
    command
}

/// `pn` in the project, in the mode of the sandbox.
fn here(pn: &Sandbox, args: &[&str]) -> Run {
    pn.pn(args).dir(pn.project())
}

fn runs(pn: &Sandbox, args: &[&str]) -> Vec<Value> {
    elements(&pn.pn([&["run", "list"], args].concat()).ok_json())
}

fn a_run_records_how_its_command_ended(pn: &Sandbox) {
    pn.git_init();
    let script = "echo out; echo err >&2; echo \"$PN_RUN $PN_ACTOR $PN_INSTANCE\"; pn run show \"$PN_RUN\" -q; exit 3";
    let path = format!("{}:{}", crate::PN.trim_end_matches("/pn"), std::env::var("PATH").expect("a PATH"));
    let exec =
        ["run", "exec", "--label", "a=b=c", "--prompt", "do it", "--harness", "shell@1", "--", "sh", "-c", script];
    let answer = here(pn, &exec).actor("ann").env("PATH", path).answer();
    let run = runs(pn, &[]).remove(0);
    let id = text(&run["id"]);
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(3), "err\n"));
    assert_eq!(answer.stdout, format!("out\n{id} ann 1\n{id}\n"), "the command finds its own run");
    assert_eq!(
        (&run["status"], &run["exit_code"], &run["labels"], &run["harness"], &run["prompt"], &run["actor"]),
        (&json!("failed"), &json!(3), &json!({"a": "b=c"}), &json!("shell@1"), &json!("do it"), &json!("ann"))
    );
    let repo = pn.pn(["repo", "show", &text(&run["repo_id"])]).ok_json();
    assert_eq!(repo["root_path"], fs::canonicalize(pn.project()).expect("a path").to_str().expect("UTF-8"));
    let log = pn.pn(["run", "logs", &id]).ok();
    assert!(log.contains("out\n") && log.contains("err\n") && log.ends_with(&format!("{id}\n")), "{log}");
    let types: Vec<String> =
        elements(&pn.pn(["run", "events", &id]).ok_json()).iter().map(|event| text(&event["event_type"])).collect();
    assert_eq!(
        (types.first().map(String::as_str), types.last().map(String::as_str)),
        (Some("started"), Some("finished"))
    );
    assert_eq!(here(pn, &["run", "exec", "--", "no-such-program"]).answer().code, Some(127));
    let lost = runs(pn, &["-n", "1"]).remove(0);
    assert!(lost["status"] == "failed" && text(&lost["reason"]).contains("no-such-program"), "{lost}");
    let outside = pn.path("elsewhere");
    let error = pn.pn(["run", "exec", "--store", pn.project().to_str().expect("UTF-8"), "--", "true"]).dir(outside);
    let error = error.fails("no_repo");
    assert!(text(&error["hint"]).contains(".git") && text(&error["hint"]).contains(".pijul"), "{error}");
}

fn a_claim_is_released_when_its_command_fails(pn: &Sandbox) {
    pn.git_init();
    let id = task(pn, "worked on");
    let exec = |flags: &[&str], script: &str| {
        let args = [&["run", "exec", "--issue", &id], flags, &["--", "sh", "-c", script]].concat();
        here(pn, &args).actor("ann").answer()
    };
    let held = format!("{} show {id} --json", crate::PN);
    let answer = exec(&["--ttl", "1h"], &format!("{held}; exit 1"));
    let during: Value = serde_json::from_str(&answer.stdout).unwrap_or_else(|e| panic!("{e}: {answer:?}"));
    assert_eq!((&during["status"], &during["assignee"]), (&json!("in_progress"), &json!("ann")));
    assert!(during["lease_expires_at"].is_string(), "{during}");
    let shown = || pn.pn(["show", &id]).ok_json();
    assert_eq!((&shown()["status"], shown()["assignee"].is_null()), (&json!("open"), true), "it failed, so it is free");
    assert_eq!(exec(&[], "true").code, Some(0));
    assert_eq!(
        (&shown()["status"], &shown()["assignee"]),
        (&json!("in_progress"), &json!("ann")),
        "closing is the agent's"
    );
    assert_eq!(exec(&["--close"], "true").code, Some(1), "it is claimed, and this is another process of the name");
    pn.pn(["release", &id]).actor("ann").ok();
    assert_eq!(exec(&["--close"], "true").code, Some(0));
    assert_eq!(shown()["status"], "closed");
    let all = runs(pn, &["--issue", &id]);
    assert_eq!(all.len(), 3);
    let other = task(pn, "held by another");
    pn.pn(["update", &other, "--claim"]).actor("ben").ok();
    here(pn, &["run", "exec", "--issue", &other, "--", "touch", "ran"]).actor("ann").fails("already_claimed");
    assert!(!pn.project().join("ran").exists() && runs(pn, &["--issue", &other]).is_empty());
}

fn a_run_that_is_cancelled_ends_its_command(pn: &Sandbox) {
    pn.git_init();
    let mut child = here(pn, &["run", "exec", "--", "sleep", "60"]).spawn();
    let id = eventually("a run with its process", || {
        let run = runs(pn, &["--status", "running"]).pop()?;
        run["agent"].is_object().then(|| text(&run["id"]))
    });
    let result = pn.pn(["run", "cancel", &id, "--reason", "no longer needed"]).ok_json();
    assert_eq!((&result["status"], &result["reason"]), (&json!("cancelled"), &json!("no longer needed")));
    let status = pensa_testkit::reap(&mut child);
    assert_eq!(status.signal(), Some(15), "{status:?}");
    assert_eq!(pn.pn(["run", "show", &id]).ok_json()["status"], "cancelled");
    pn.pn(["run", "cancel", &id]).ok();
    pn.pn(["run", "finish", &id, "--status", "failed"]).fails("invalid_status_transition");
}

fn a_run_has_events_of_its_own(pn: &Sandbox) {
    pn.git_init();
    let id = text(&here(pn, &["run", "start"]).ok_json()["id"]);
    let event = |args: &[&str]| pn.pn([&["run", "event", &id], args].concat());
    let secret = format!("ghp_{}", "0123456789abcdefghijABCDEFGHIJ012345");
    let first = event(&["--type", "tool_call", "--data", r#"{"tool":"edit","n":[1,null]}"#]).actor("ann").ok_json();
    assert_eq!(
        (&first["event_type"], &first["subject_id"], &first["actor"]),
        (&json!("run.event"), &json!(id), &json!("ann"))
    );
    assert_eq!(first["detail"], json!({"type": "tool_call", "data": {"tool": "edit", "n": [1, null]}}));
    event(&["--type", "said", "--data", "-"]).stdin(format!("\"{secret}\"")).ok_json();
    pn.pn(["run", "finish", &id, "--status", "succeeded"]).ok();
    event(&["--type", "after the end"]).ok_json();
    let all = || elements(&pn.pn(["run", "events", &id]).ok_json());
    let own: Vec<Value> = all().into_iter().filter(|event| event["event_type"] == "run.event").collect();
    assert_eq!((own.len(), &own[0], &own[2]["detail"]), (3, &first, &json!({"type": "after the end"})));
    assert!(text(&own[1]["detail"]["data"]).starts_with("[REDACTED:"), "{own:?}");
    event(&["--type", "x", "--data", "{"]).fails("invalid_input");
    event(&["--type", ""]).fails("invalid_input");
    event(&["--type", &"x".repeat(101)]).fails("too_large");
    pn.pn(["run", "event", "run-none", "--type", "x"]).fails("not_found");
    assert_eq!(all().iter().filter(|event| event["event_type"] == "run.event").count(), 3);
}

fn harnesses_and_runtimes_are_described(pn: &Sandbox) {
    pn.git_init();
    let set = pn.pn(["harness", "set", "claude-code@2.1", "--metadata", r#"{"context":200000}"#]).ok_json();
    here(pn, &["run", "start", "--harness", "claude-code@2.1"]).ok();
    assert_eq!(pn.pn(["harness", "list"]).ok_json(), json!([set]), "it is the one that the run has");
    assert_eq!(set["metadata"], json!({"context": 200_000}));
    assert!(pn.pn(["harness", "list"]).ok().contains("claude-code@2.1 {\"context\":200000}"));
    let other = pn.pn(["harness", "set", "claude-code@2.1", "--metadata", "-"]).stdin("{\"vision\":true}").ok_json();
    assert_eq!(other["metadata"], json!({"vision": true}), "the old one is replaced");
    assert!(pn.pn(["harness", "set", "claude-code@2.1", "--metadata", "null"]).ok_json()["metadata"].is_null());
    pn.pn(["harness", "set", "claude-code@2.1", "--metadata", "[1]"]).fails("invalid_input");
    let runtime = text(&pn.pn(["runtime", "list"]).ok_json()[0]["id"]);
    let set = pn.pn(["runtime", "set", &runtime[..7], "--metadata", r#"{"image":"debian"}"#]).ok_json();
    assert_eq!((&set["type"], &set["metadata"]), (&json!("local"), &json!({"image": "debian"})));
    assert_eq!(pn.pn(["runtime", "list"]).ok_json(), json!([set]));
    pn.pn(["runtime", "set", "rt-none", "--metadata", "{}"]).fails("not_found");
}

fn thirty_two_processes_start_and_finish_runs_at_once_and_lose_none(pn: &Sandbox) {
    pn.git_init();
    thread::scope(|scope| {
        for process in 0..32 {
            scope.spawn(move || {
                let harness = format!("h{process}@1");
                let started = here(pn, &["run", "start", "--harness", &harness]).ok_json();
                let status = if process % 2 == 0 { "succeeded" } else { "failed" };
                pn.pn(["run", "finish", &text(&started["id"]), "--status", status]).ok();
            });
        }
    });
    assert_eq!((runs(pn, &["--status", "succeeded"]).len(), runs(pn, &["--status", "failed"]).len()), (16, 16));
    assert_eq!(elements(&pn.pn(["repo", "list"]).ok_json()).len(), 1, "they are all in one repository");
}

#[test]
fn without_a_project_runs_are_in_the_users_store() {
    let pn = Sandbox::bare(crate::PN);
    pn.git_init();
    thread::scope(|scope| {
        // The first one creates the store.
        for _ in 0..32 {
            scope.spawn(|| {
                let started = pn.pn(["run", "start"]).ok_json();
                pn.pn(["run", "exec", "--", "true"]).ok();
                pn.pn(["run", "finish", &text(&started["id"]), "--status", "succeeded"]).ok();
            });
        }
    });
    assert_eq!(runs(&pn, &["--status", "succeeded"]).len(), 64);
    assert!(!pn.store().exists(), "nothing was made in the project");
    pn.pn(["list"]).fails("no_store");
}

#[test]
fn output_passes_through_unchanged_and_into_the_log() {
    let pn = repository();
    let script = "head -c 3000000 /dev/urandom | tee copy; printf 'a\\0\\377' >&2";
    let output = exec(&pn, script).output().expect("it runs");
    assert!(output.status.success());
    assert_eq!(output.stdout, fs::read(pn.project().join("copy")).expect("a copy"));
    assert_eq!(output.stderr, b"a\0\xff");
    let run = runs(&pn, &[]).remove(0);
    let log = fs::metadata(text(&run["log_path"])).expect("a log");
    assert_eq!(log.len(), 3_000_003);
}

#[test]
fn a_gigabyte_of_output_needs_little_memory() {
    const BYTES: u64 = 1_000_000_000;
    /// The most resident memory; an unoptimised program alone needs a good part of it.
    const KILOBYTES: u64 = 96 * 1024;
    let pn = repository();
    let mut child = exec(&pn, &format!("head -c {BYTES} /dev/zero")).stdout(Stdio::piped()).spawn().expect("it runs");
    let (mut pipe, status) = (child.stdout.take().expect("a pipe"), format!("/proc/{}/status", child.id()));
    let (mut buffer, mut got, mut highest) = (vec![0; 1 << 20], 0, 0);
    loop {
        let read = pipe.read(&mut buffer).expect("read");
        if read == 0 {
            break;
        }
        got += read as u64;
        let result = fs::read_to_string(&status).unwrap_or_default();
        let line = result.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
        highest = line.trim().trim_end_matches(" kB").parse().unwrap_or(highest).max(highest);
    }
    assert!(pensa_testkit::reap(&mut child).success());
    assert_eq!(got, BYTES);
    assert!((1..=KILOBYTES).contains(&highest), "{highest} kB");
    let log = text(&runs(&pn, &[]).remove(0)["log_path"]);
    assert_eq!(fs::metadata(log).expect("a log").len(), BYTES);
}

#[test]
fn a_slow_reader_gets_all_output() {
    let pn = repository();
    let mut child =
        exec(&pn, "head -c 100000 /dev/zero >&2; touch done").stderr(Stdio::piped()).spawn().expect("it runs");
    let mut pipe = child.stderr.take().expect("a pipe");
    // The command has ended, and its last output arrives later than the supervisor's idle timeout.
    eventually("the end of the command", || pn.project().join("done").exists().then_some(()));
    thread::sleep(Duration::from_millis(500));
    let mut got = Vec::new();
    pipe.read_to_end(&mut got).expect("read");
    assert!(pensa_testkit::reap(&mut child).success());
    assert_eq!(got.len(), 100_000);
}

#[test]
fn a_command_with_a_closed_output_gets_sigpipe() {
    let pn = repository();
    let mut child = exec(&pn, "exec yes").stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it runs");
    drop(child.stdout.take());
    let status = pensa_testkit::reap(&mut child);
    assert_eq!(status.signal(), Some(13), "as without us: {status:?}");
}

#[test]
fn a_command_that_leaves_a_child_behind_still_ends() {
    let pn = repository();
    let output = exec(&pn, "sleep 60 & echo $!").output().expect("it runs");
    let left: i32 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number");
    kill_process(Pid::from_raw(left).expect("a process"), Signal::KILL).expect("it was there");
    assert!(output.status.success());
}

#[test]
fn signals_reach_the_command_and_its_exit_status_is_ours() {
    let pn = repository();
    for (signal, script, code, by) in [
        (Signal::TERM, "trap 'exit 7' TERM; touch ready; while :; do sleep 0.01; done", Some(7), None),
        (Signal::INT, "trap 'exit 8' INT; touch ready; while :; do sleep 0.01; done", Some(8), None),
        (Signal::USR1, "touch ready; exec sleep 60", None, Some(10)),
        (Signal::HUP, "touch ready; exec sleep 60", None, Some(1)),
    ] {
        let ready = pn.project().join("ready");
        let mut child = exec(&pn, script).stdin(Stdio::null()).spawn().expect("it runs");
        eventually("the command", || ready.exists().then_some(()));
        fs::remove_file(&ready).expect("removed");
        kill_process(Pid::from_child(&child), signal).expect("sent");
        let status = pensa_testkit::reap(&mut child);
        assert_eq!((status.code(), status.signal()), (code, by), "{signal:?}");
        let run = runs(&pn, &["-n", "1"]).remove(0);
        assert_eq!((run["exit_code"].as_i64(), run["signal"].as_i64()), (code.map(i64::from), by.map(i64::from)));
    }
    assert_eq!(exec(&pn, "kill -KILL $$").status().expect("it runs").signal(), Some(9));
}

#[test]
fn a_killed_supervisor_leaves_the_log_and_a_failed_run() {
    let pn = repository();
    let script = "echo $$; echo so far; exec sleep 60";
    let mut child = exec(&pn, script).stdout(Stdio::null()).spawn().expect("it runs");
    let run = eventually("a run with its process", || {
        runs(&pn, &["--status", "running"]).pop().filter(|run| run["agent"].is_object())
    });
    kill_process(Pid::from_child(&child), Signal::KILL).expect("killed");
    pensa_testkit::reap(&mut child);
    let id = text(&run["id"]);
    assert!(pn.pn(["run", "logs", &id]).ok().ends_with("so far\n"));
    let shown = || pn.pn(["run", "show", &id]).ok_json();
    assert_eq!(shown()["status"], "running", "its command is still there");
    let pid = i32::try_from(run["agent"]["pid"].as_i64().expect("a number")).expect("a process");
    kill_process(Pid::from_raw(pid).expect("a process"), Signal::KILL).expect("killed");
    let lost = eventually("the run is given up", || Some(shown()).filter(|run| run["status"] == "failed"));
    assert!(text(&lost["reason"]).contains("gone"), "{lost}");
}

#[test]
fn an_unsupervised_run_lasts_until_its_process_is_gone() {
    let pn = repository();
    let mut sleeper = Command::new("sleep").arg("60").spawn().expect("it runs");
    let start = |pid: &[&str]| text(&pn.pn([&["run", "start"], pid].concat()).ok_json()["id"]);
    let (unknown, known) = (start(&[]), start(&["--pid", &sleeper.id().to_string()]));
    let status = |id: &str| text(&pn.pn(["run", "show", id]).ok_json()["status"]);
    assert_eq!((status(&unknown), status(&known)), ("running".into(), "running".into()));
    sleeper.kill().expect("killed");
    sleeper.wait().expect("reaped");
    assert_eq!((status(&unknown), status(&known)), ("running".into(), "failed".into()));
    pn.pn(["run", "finish", &unknown, "--status", "succeeded", "--exit-code", "0"]).ok();
    pn.pn(["run", "finish", &unknown, "--status", "running"]).fails("invalid_input");
}

/// A run whose supervisor and command were killed.
fn lost(pn: &Sandbox) -> String {
    let mut child = exec(pn, "exec sleep 60").stdout(Stdio::null()).spawn().expect("it runs");
    let run = eventually("a run with its process", || {
        runs(pn, &["--status", "running"]).pop().filter(|run| run["agent"].is_object())
    });
    kill_process(Pid::from_child(&child), Signal::KILL).expect("killed");
    pensa_testkit::reap(&mut child);
    let pid = i32::try_from(run["agent"]["pid"].as_i64().expect("a number")).expect("a process");
    kill_process(Pid::from_raw(pid).expect("a process"), Signal::KILL).expect("killed");
    eventually("the end of the command", || (!process_is_there(pid)).then_some(()));
    text(&run["id"])
}

fn process_is_there(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_starting_daemon_fails_runs_whose_processes_are_gone() {
    let pn = repository();
    let id = lost(&pn);
    let daemon = pn.daemon();
    let result = Http::to(&daemon.url).get(&format!("/runs/{id}"));
    assert_eq!(result.json()["status"], "failed", "nobody else has looked");
    // So does a command that uses a running daemon.
    let other = lost(&pn);
    let shown = pn.pn(["run", "show", &other]).env("PN_DAEMON", &daemon.url).dir(pn.path("elsewhere")).ok_json();
    assert!(shown["status"] == "failed" && text(&shown["reason"]).contains("gone"), "{shown}");
}

#[test]
fn a_run_whose_process_is_invisible_is_not_failed() {
    let pn = repository();
    let mut child = exec(&pn, "exec sleep 60").stdout(Stdio::null()).spawn().expect("it runs");
    let run = eventually("a run with its process", || {
        runs(&pn, &["--status", "running"]).pop().filter(|run| run["agent"].is_object())
    });
    let id = text(&run["id"]);
    let inside =
        |args: &[&str]| pn.pn(args).json().under("unshare", ["--pid", "--fork", "--mount-proc", "--"]).answer();
    let shown: Value = serde_json::from_str(&inside(&["run", "show", &id]).stdout).expect("a run");
    assert_eq!(shown["status"], "running", "a sandbox has processes of its own");
    let result: Value = serde_json::from_str(&inside(&["run", "cancel", &id]).stdout).expect("a run");
    assert_eq!(result["status"], "cancelled");
    assert_eq!(pensa_testkit::reap(&mut child).signal(), Some(15), "whoever looks after it has noticed");
}

#[test]
fn a_log_that_grows_is_followed_to_the_end() {
    let pn = repository();
    let mut child =
        exec(&pn, "for n in 1 2 3 4 5; do echo $n; sleep 0.1; done").stdout(Stdio::null()).spawn().expect("runs");
    let id = eventually("a run", || runs(&pn, &[]).pop().map(|run| text(&run["id"])));
    assert_eq!(pn.pn(["run", "logs", "-f", &id]).ok(), "1\n2\n3\n4\n5\n");
    pensa_testkit::reap(&mut child);
    let started = text(&pn.pn(["run", "start"]).ok_json()["id"]);
    pn.pn(["run", "logs", &started]).fails("not_found");
}

#[test]
fn several_instances_have_a_group_in_common() {
    let pn = repository();
    let script = "echo $PN_INSTANCE; [ $PN_INSTANCE != 2 ]";
    let answer = pn.pn(["run", "exec", "--instances", "3", "--", "sh", "-c", script]).answer();
    let mut printed: Vec<&str> = answer.stdout.lines().collect();
    printed.sort_unstable();
    assert_eq!((answer.code, printed), (Some(1), vec!["1", "2", "3"]));
    let all = runs(&pn, &[]);
    let group = text(&all[0]["group"]);
    assert_eq!(runs(&pn, &["--group", &group]).len(), 3);
    let failed = all.iter().filter(|run| run["status"] == "failed").count();
    assert!(failed == 1 && all.iter().all(|run| run["instances"] == 3), "{all:?}");
}

#[test]
fn workspaces_are_refused_where_there_is_no_server() {
    let pn = repository();
    for args in [&["workspace", "list"][..], &["workspace", "create", "w"], &["run", "start", "--workspace", "w"]] {
        let error = pn.pn(args).fails("unsupported");
        assert!(text(&error["error"]).contains("server"), "{error}");
    }
}

#[test]
fn values_are_read_from_a_pipe_and_printed_unchanged() {
    for mode in [Mode::Embedded, Mode::Daemon] {
        let pn = Sandbox::in_mode(crate::PN, mode);
        let set = pn.pn(["kv", "set", "notes", "-", "--scope", "project"]).stdin("two\nlines\n").ok_json();
        assert_eq!(set["value"], "two\nlines");
        assert_eq!(pn.pn(["kv", "get", "notes", "--scope", "project"]).ok(), "two\nlines\n");
        assert_eq!(pn.pn(["kv", "list", "-q"]).ok(), "notes\n");
        pn.pn(["kv", "set", "notes", "x", "--scope", "project", "--if-absent"]).fails("conflict");
        pn.pn(["kv", "set", "notes", "-1", "--scope", "project", "--if-value", "two\nlines"]).ok();
        assert_eq!(pn.pn(["kv", "get", "notes", "--scope", "project"]).ok(), "-1\n");
        let large = "x".repeat((1 << 20) + 1);
        pn.pn(["kv", "set", "big", "-", "--scope", "user"]).stdin(large).fails("too_large");
        pn.pn(["kv", "delete", "notes", "--scope", "project"]).ok();
        pn.pn(["kv", "get", "notes", "--scope", "project"]).fails("not_found");
    }
}
