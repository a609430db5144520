//! `pn job`: commands in the slots of lanes, also when they are killed.

use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::thread;

use pensa_testkit::{Disk, Mode, Sandbox, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::crash::{CALLS, assert_sound, sweep};
use crate::steps::{elements, keys, task, text};

crate::in_both_modes! {
    a_job_records_how_its_command_ended,
    a_lane_of_three_runs_at_most_three_of_twelve_commands,
    a_holder_that_is_killed_frees_its_slot,
    a_command_over_its_time_limit_is_ended_with_its_children,
    a_job_is_cancelled_while_it_waits_and_while_it_runs,
    jobs_without_a_supervisor_take_slots_too,
}

fn jobs(pn: &Sandbox, args: &[&str]) -> Vec<Value> {
    elements(&pn.pn([&["job", "list"], args].concat()).ok_json())
}

fn show(pn: &Sandbox, id: &str) -> Value {
    pn.pn(["job", "show", id]).ok_json()
}

/// Starts `pn job exec` with these arguments.
fn spawn(pn: &Sandbox, args: &[&str]) -> Child {
    pn.pn([&["job", "exec"], args].concat()).spawn()
}

/// Waits for a job of this tool.
fn job_of_tool(pn: &Sandbox, tool: &str, status: &str) -> Value {
    eventually("a job that stands there", || jobs(pn, &["--tool", tool, "--status", status]).pop())
}

/// Like the above, waiting until the process of its command is recorded.
fn running(pn: &Sandbox, tool: &str) -> Value {
    eventually("a job with its process", || {
        jobs(pn, &["--tool", tool, "--status", "running"]).pop().filter(|job| job["pid"].is_i64())
    })
}

fn process_is_there(pid: i64) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("sent");
}

fn a_job_records_how_its_command_ended(pn: &Sandbox) {
    pn.git_init();
    let issue = task(pn, "what it is about");
    let script = "cat; echo err >&2; echo $PN_JOB; exit 3";
    let flags = ["--lane", "net", "--tool", "shell", "--timeout", "30s", "--loop", "lp-1", "--issue", &issue];
    let exec = pn.pn([&["job", "exec"], &flags[..], &["--", "sh", "-c", script]].concat());
    let answer = exec.actor("ann").stdin("typed\n").dir(pn.project()).answer();
    let job = jobs(pn, &[]).remove(0);
    let id = text(&job["id"]);
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(3), "err\n"));
    assert_eq!(answer.stdout, format!("typed\n{id}\n"), "the command has our input and knows its job");
    assert_eq!(
        keys(&job),
        [
            "id",
            "status",
            "tool_name",
            "lane",
            "command",
            "cwd",
            "loop_id",
            "issue_id",
            "actor",
            "host",
            "pid",
            "born",
            "supervisor",
            "exit_code",
            "output_bytes",
            "truncated",
            "was_timeout",
            "was_cancelled",
            "timeout_ms",
            "number",
            "queued_at",
            "started_at",
            "ended_at",
            "duration_ms",
            "updated_at"
        ]
    );
    assert_eq!((&job["status"], &job["exit_code"], &job["tool_name"]), (&json!("failed"), &json!(3), &json!("shell")));
    assert_eq!((&job["timeout_ms"], &job["truncated"], &job["actor"]), (&json!(30_000), &json!(false), &json!("ann")));
    assert_eq!(job["command"], format!("sh -c '{script}'"));
    assert_eq!(job["output_bytes"], 6 + 4 + 13);
    let shown = show(pn, &id);
    let output = text(&shown["output"]);
    assert!(output.len() == 23 && output.contains("err\n") && output.contains(&id), "{output:?}");
    assert_eq!(pn.pn(["job", "show", &id, "--output"]).ok(), output);
    assert!(pn.pn(["job", "show", &id]).ok().contains("23 bytes"));
    let path = format!("{}:{}", crate::PN.trim_end_matches("/pn"), std::env::var("PATH").expect("a PATH"));
    let nested = ["run", "exec", "--issue", &issue, "--", "pn", "job", "exec", "--lane", "heavy", "--", "true"];
    assert_eq!(pn.pn(nested).dir(pn.project()).env("PATH", path).answer().code, Some(0));
    let inner = jobs(pn, &["--lane", "heavy"]).remove(0);
    let run = elements(&pn.pn(["run", "list"]).ok_json()).remove(0);
    assert_eq!((&inner["run_id"], &inner["issue_id"]), (&run["id"], &json!(issue)), "{inner}");
    assert_eq!(jobs(pn, &["--run", &text(&run["id"])]).len(), 1);
    assert_eq!(jobs(pn, &["--loop", "lp-1", "--issue", &issue, "-n", "5"]).len(), 1);
    assert_eq!(pn.pn(["job", "exec", "--lane", "net", "--", "no-such-program"]).answer().code, Some(127));
    let lost = jobs(pn, &["-n", "1"]).remove(0);
    assert!(lost["status"] == "failed" && text(&lost["reason"]).contains("no-such-program"), "{lost}");
    let stats = elements(&pn.pn(["job", "stats", "--since", "1h"]).ok_json());
    let result: Vec<(&str, &str)> = stats
        .iter()
        .map(|it| (it["tool_name"].as_str().expect("a tool"), it["lane"].as_str().expect("a lane")))
        .collect();
    assert_eq!(result, [("no-such-program", "net"), ("shell", "net"), ("true", "heavy")]);
    assert_eq!((&stats[1]["count"], &stats[1]["failures"]), (&json!(1), &json!(1)));
    let hint = text(&pn.pn(["job", "exec", "--lane", "gpu", "--", "true"]).fails("not_found")["hint"]);
    assert!(hint.contains("heavy, net, no-net"), "{hint}");
    pn.pn(["undo"]).fails("conflict");
}

fn a_lane_of_three_runs_at_most_three_of_twelve_commands(pn: &Sandbox) {
    pn.pn(["config", "set", "lanes.three.slots", "3"]).ok();
    let log = pn.path("log");
    // Lines short enough to be written atomically.
    let script = format!("echo + >>{0}; sleep 0.2; echo - >>{0}", log.display());
    thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| pn.pn(["job", "exec", "--lane", "three", "--", "sh", "-c", &script]).ok());
        }
    });
    let lines = fs::read_to_string(&log).expect("a log");
    let (mut now, mut most) = (0, 0);
    for line in lines.lines() {
        now += if line == "+" { 1 } else { -1 };
        most = most.max(now);
    }
    assert!(lines.lines().count() == 24 && now == 0 && (1..=3).contains(&most), "{most} at once: {lines}");
    assert_eq!(jobs(pn, &["--lane", "three", "--status", "succeeded"]).len(), 12);
}

fn a_holder_that_is_killed_frees_its_slot(pn: &Sandbox) {
    let mut holder = spawn(pn, &["--lane", "heavy", "--tool", "held", "--", "sleep", "60"]);
    let job = running(pn, "held");
    pn.pn(["job", "exec", "--lane", "heavy", "--no-wait", "--", "true"]).fails("busy");
    let mut next = spawn(pn, &["--lane", "heavy", "--tool", "next", "--", "true"]);
    job_of_tool(pn, "next", "pending");
    send(&holder, Signal::KILL);
    pensa_testkit::reap(&mut holder);
    assert!(pensa_testkit::reap(&mut next).success(), "it got the slot");
    let lost = show(pn, &text(&job["id"]));
    assert!(lost["status"] == "failed" && text(&lost["reason"]).contains("gone"), "{lost}");
    let pid = job["pid"].as_i64().expect("a number");
    assert!(!process_is_there(pid), "its command was not left behind");
    let mut waiting = spawn(pn, &["--lane", "heavy", "--tool", "first", "--", "sleep", "60"]);
    running(pn, "first");
    let mut second = spawn(pn, &["--lane", "heavy", "--tool", "second", "--", "true"]);
    let queued = job_of_tool(pn, "second", "pending");
    send(&second, Signal::KILL);
    pensa_testkit::reap(&mut second);
    assert_eq!(show(pn, &text(&queued["id"]))["status"], "failed", "who waited is gone");
    send(&waiting, Signal::TERM);
    pensa_testkit::reap(&mut waiting);
    assert!(jobs(pn, &["--status", "running"]).is_empty() && jobs(pn, &["--status", "pending"]).is_empty());
}

fn a_command_over_its_time_limit_is_ended_with_its_children(pn: &Sandbox) {
    let script = "sleep 60 & echo $!; sleep 60";
    let answer = pn.pn(["job", "exec", "--lane", "net", "--timeout", "1s", "--", "sh", "-c", script]).answer();
    let job = jobs(pn, &[]).remove(0);
    assert_eq!(answer.code, Some(124), "{answer:?}");
    assert!(answer.stderr.contains("it took longer than 1s"), "{answer:?}");
    assert_eq!(job["reason"], "it took longer than 1s");
    assert_eq!(
        (&job["status"], &job["was_timeout"], &job["was_cancelled"], &job["signal"]),
        (&json!("timeout"), &json!(true), &json!(false), &json!(15)),
        "{job}"
    );
    let left: i64 = answer.stdout.trim().parse().expect("a number");
    assert!(!process_is_there(left) && !process_is_there(job["pid"].as_i64().expect("a number")));
    pn.pn(["config", "set", "lanes.short.timeout", "1s"]).ok();
    let deaf = "trap '' TERM; while :; do sleep 0.1; done";
    assert_eq!(pn.pn(["job", "exec", "--lane", "short", "--", "sh", "-c", deaf]).answer().code, Some(124));
    let job = jobs(pn, &["--lane", "short"]).remove(0);
    assert_eq!((&job["status"], &job["signal"], &job["timeout_ms"]), (&json!("timeout"), &json!(9), &json!(1000)));
}

fn a_job_is_cancelled_while_it_waits_and_while_it_runs(pn: &Sandbox) {
    let heavy =
        |tool: &str| spawn(pn, &["--lane", "heavy", "--tool", tool, "--", "sh", "-c", "echo so far; exec sleep 60"]);
    let mut holder = heavy("held");
    let held = running(pn, "held");
    let mut waiting = heavy("waits");
    let id = text(&job_of_tool(pn, "waits", "pending")["id"]);
    let result = pn.pn(["job", "cancel", &id]).ok_json();
    assert_eq!((&result["status"], &result["was_cancelled"]), (&json!("cancelled"), &json!(true)));
    assert_eq!(pensa_testkit::reap(&mut waiting).signal(), Some(15));
    for (signal, number) in [(Signal::INT, 2), (Signal::TERM, 15)] {
        let mut waiting = heavy("signalled");
        let id = text(&job_of_tool(pn, "signalled", "pending")["id"]);
        send(&waiting, signal);
        assert_eq!(pensa_testkit::reap(&mut waiting).signal(), Some(number));
        let job = show(pn, &id);
        assert_eq!(
            (&job["status"], &job["was_cancelled"], &job["signal"]),
            (&json!("cancelled"), &json!(true), &json!(number))
        );
        assert!(job["duration_ms"].is_null(), "{job}");
    }
    let id = text(&held["id"]);
    let result = pn.pn(["job", "cancel", &id]).ok_json();
    assert_eq!((&result["status"], &result["signal"]), (&json!("cancelled"), &json!(15)), "{result}");
    assert_eq!(pensa_testkit::reap(&mut holder).signal(), Some(15));
    assert_eq!(
        (show(pn, &id)["output"].clone(), show(pn, &id)["was_timeout"].clone()),
        (json!("so far\n"), json!(false))
    );
    pn.pn(["job", "cancel", &id]).ok();
    for (signal, number) in [(Signal::INT, 2), (Signal::TERM, 15), (Signal::HUP, 1)] {
        let mut child = heavy("runs");
        let job = running(pn, "runs");
        send(&child, signal);
        assert_eq!(pensa_testkit::reap(&mut child).signal(), Some(number));
        let job = show(pn, &text(&job["id"]));
        assert_eq!((&job["status"], &job["signal"]), (&json!("cancelled"), &json!(number)), "{job}");
        assert!(!process_is_there(job["pid"].as_i64().expect("a number")));
    }
    let trap = "trap 'exit 7' TERM; touch ready; while :; do sleep 0.01; done";
    let mut child = pn.pn(["job", "exec", "--lane", "net", "--", "sh", "-c", trap]).dir(pn.project()).spawn();
    eventually("the command", || pn.project().join("ready").exists().then_some(()));
    send(&child, Signal::TERM);
    assert_eq!(pensa_testkit::reap(&mut child).code(), Some(7), "its end is ours");
    assert_eq!(jobs(pn, &["-n", "1"])[0]["status"], "cancelled");
}

fn jobs_without_a_supervisor_take_slots_too(pn: &Sandbox) {
    let mut sleeper = Command::new("sleep").arg("60").spawn().expect("it runs");
    let start = |args: &[&str]| pn.pn([&["job", "start", "--lane", "heavy"], args].concat());
    let held = start(&["--tool", "mine", "--pid", &sleeper.id().to_string(), "--", "make", "a b"]).ok_json();
    assert_eq!((&held["status"], &held["command"]), (&json!("running"), &json!("make 'a b'")));
    let error = start(&["--tool", "other"]).fails("busy");
    assert!(text(&error["error"]).contains(&text(&held["id"])), "{error}");
    pn.pn(["job", "exec", "--lane", "heavy", "--wait", "1s", "--", "true"]).fails("busy");
    let asked = pn.pn(["job", "cancel", &text(&held["id"])]).ok_json();
    assert_eq!((&asked["status"], &asked["was_cancelled"]), (&json!("running"), &json!(true)), "it is not ours to end");
    let finish = |args: &[&str]| pn.pn([&["job", "finish"], args].concat());
    let ended = finish(&[&text(&held["id"]), "--exit-code", "0", "--output", "-"]).stdin("a\u{ff}\n").ok_json();
    assert_eq!((&ended["status"], &ended["output_bytes"]), (&json!("cancelled"), &json!(4)));
    assert_eq!(show(pn, &text(&held["id"]))["output"], "a\u{ff}\n");
    let next = text(&start(&["--tool", "mine", "--pid", &sleeper.id().to_string()]).ok_json()["id"]);
    sleeper.kill().expect("killed");
    sleeper.wait().expect("reaped");
    assert_eq!(show(pn, &next)["status"], "failed", "its process is gone");
    let last = text(&start(&["--tool", "mine"]).ok_json()["id"]);
    assert_eq!(show(pn, &last)["status"], "running", "nobody knows its process");
    finish(&[&last]).misused();
    finish(&[&last, "--exit-code", "4"]).ok();
    finish(&[&last, "--status", "succeeded"]).fails("invalid_status_transition");
    start(&[]).fails("invalid_input");
}

#[test]
fn output_passes_through_unchanged_and_is_stored_in_part() {
    let pn = crate::sandbox();
    let script = "head -c 3000000 /dev/urandom | tee copy; printf 'a\\0\\377' >&2";
    let exec = |limit: &str, script: &str| {
        let mut command = pn.command(crate::PN);
        command.args(["job", "exec", "--lane", "net", "--max-output", limit, "--", "sh", "-c", script]);
        command.output().expect("it runs")
    };
    let output = exec("4k", script);
    assert!(output.status.success());
    assert_eq!(output.stdout, fs::read(pn.project().join("copy")).expect("a copy"));
    assert_eq!(output.stderr, b"a\0\xff");
    let job = show(&pn, &text(&jobs(&pn, &[]).remove(0)["id"]));
    assert_eq!((&job["output_bytes"], &job["truncated"]), (&json!(3_000_003), &json!(true)));
    let kept = text(&job["output"]);
    assert!(kept.contains("[2995907 bytes left out]") && kept.len() < 20_000, "{}", kept.len());
    exec("0", "echo a");
    let job = show(&pn, &text(&jobs(&pn, &[]).remove(0)["id"]));
    assert_eq!((&job["output_bytes"], &job["truncated"], &job["output"]), (&json!(2), &json!(true), &Value::Null));
    let secret = format!("ghp_{}", "0123456789abcdefghijABCDEFGHIJ012345");
    assert!(exec("64k", &format!("echo {secret}")).stdout.starts_with(b"ghp_"), "what passes is not touched");
    let job = show(&pn, &text(&jobs(&pn, &[]).remove(0)["id"]));
    assert!(text(&job["output"]).starts_with("[REDACTED:") && text(&job["command"]).contains("[REDACTED:"), "{job}");
    for bad in ["1m", "-1", "x"] {
        let answer = exec(bad, "true");
        assert_eq!(answer.status.code(), Some(2), "{bad}");
    }
}

#[test]
fn a_great_deal_of_output_takes_little_memory() {
    const BYTES: u64 = 300_000_000;
    let pn = crate::sandbox();
    let mut command = pn.command(crate::PN);
    command.args(["job", "exec", "--lane", "heavy", "--", "head", "-c", &BYTES.to_string(), "/dev/zero"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it runs");
    let (mut pipe, status) = (child.stdout.take().expect("a pipe"), format!("/proc/{}/status", child.id()));
    let (mut buffer, mut got, mut highest) = (vec![0; 1 << 20], 0, 0u64);
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
    assert_eq!((got, jobs(&pn, &[]).remove(0)["output_bytes"].as_u64()), (BYTES, Some(BYTES)));
    assert!((1..=96 * 1024).contains(&highest), "{highest} kB");
}

#[test]
fn a_command_that_would_wait_for_itself_is_refused() {
    let pn = crate::sandbox();
    let inner = format!("{} job exec --lane heavy --json -- true", crate::PN);
    let answer = pn.pn(["job", "exec", "--lane", "heavy", "--", "sh", "-c", &inner]).answer();
    assert!(answer.code == Some(1) && answer.stderr.contains("conflict"), "{answer:?}");
    let answer = pn.pn(["job", "exec", "--lane", "heavy", "--", "sh", "-c", &inner.replace("heavy", "net")]).answer();
    assert_eq!(answer.code, Some(0), "{answer:?}");
}

#[test]
fn a_job_whose_process_is_invisible_is_not_failed() {
    let pn = crate::sandbox();
    let mut child = spawn(&pn, &["--lane", "heavy", "--tool", "held", "--", "sleep", "60"]);
    let id = text(&running(&pn, "held")["id"]);
    let inside =
        |args: &[&str]| pn.pn(args).json().under("unshare", ["--pid", "--fork", "--mount-proc", "--"]).answer();
    let shown: Value = serde_json::from_str(&inside(&["job", "show", &id]).stdout).expect("a job");
    assert_eq!(shown["status"], "running", "a sandbox has processes of its own");
    let result: Value = serde_json::from_str(&inside(&["job", "cancel", &id]).stdout).expect("a job");
    assert_eq!(result["was_cancelled"], true);
    assert_eq!(pensa_testkit::reap(&mut child).signal(), Some(15), "whoever looks after it has noticed");
    assert_eq!(show(&pn, &id)["status"], "cancelled");
}

#[test]
fn a_starting_daemon_fails_jobs_whose_processes_are_gone() {
    let pn = crate::sandbox();
    let mut child = spawn(&pn, &["--lane", "heavy", "--tool", "held", "--", "sleep", "60"]);
    let job = running(&pn, "held");
    send(&child, Signal::KILL);
    pensa_testkit::reap(&mut child);
    let daemon = pn.daemon();
    let result = pensa_testkit::Http::to(&daemon.url).get(&format!("/jobs/{}", text(&job["id"])));
    assert_eq!(result.json()["status"], "failed", "nobody else has looked");
    assert!(!process_is_there(job["pid"].as_i64().expect("a number")));
}

#[test]
fn exec_killed_at_any_system_call_leaves_a_failed_job_and_a_free_slot() {
    let pn = crate::sandbox();
    let exec = |point: &str| {
        let script = "printf 123; printf 456";
        pn.pn(["job", "exec", "--lane", "heavy", "--loop", point, "--", "sh", "-c", script])
    };
    let check = |point: &str, done: bool| {
        assert_sound(&pn);
        let mut made = jobs(&pn, &["--loop", point]);
        assert!(made.len() == 1 || (made.is_empty() && !done), "{point}: {made:?}");
        if let Some(job) = made.pop() {
            assert!(job["status"] == "succeeded" || (job["status"] == "failed" && !done), "{point}: {job}");
            assert_eq!(job["status"] == "succeeded", job["exit_code"] == 0, "{point}: {job}");
            let output = show(&pn, &text(&job["id"]))["output"].clone();
            assert_eq!(job["status"] == "succeeded", output == "123456", "{point}: {output}");
        }
    };
    let seldom: usize = CALLS.iter().filter(|call| **call != "openat").map(|call| sweep(call, 1, exec, check)).sum();
    let more: usize = ["clone3", "pipe2", "waitid", "execve"].map(|call| sweep(call, 1, exec, check)).iter().sum();
    let often: usize = ["openat", "read", "close"].map(|call| sweep(call, 11, exec, check)).iter().sum();
    assert!(seldom > 10 && more > 3 && often > 5, "{seldom} {more} {often} kills");
}

#[test]
fn a_full_disk_refuses_the_command_or_only_loses_its_record() {
    let pn = Sandbox::bare(crate::PN);
    let store = pn.project().join(".pensa");
    fs::create_dir(&store).expect("a directory");
    let disk = Disk::small(&pn, &store, "3m");
    pn.pn(["init"]).on(&disk).ok();
    let fill = disk.file("filler");
    let script = format!("head -c 5000000 /dev/zero >{}; touch ran; echo out; exit 3", store.join("filler").display());
    let answer = pn.pn(["job", "exec", "--lane", "net", "--", "sh", "-c", &script]).on(&disk).answer();
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(3), "out\n"), "{answer:?}");
    assert!(answer.stderr.contains("was not recorded"), "{answer:?}");
    assert!(pn.project().join("ran").exists());
    let refused = pn.pn(["job", "exec", "--lane", "net", "--", "touch", "not-run"]).on(&disk).json().answer();
    assert!(refused.code == Some(1) && !pn.project().join("not-run").exists(), "{refused:?}");
    fs::remove_file(&fill).expect("removed");
    let job = elements(&pn.pn(["job", "list"]).on(&disk).ok_json()).remove(0);
    assert!(job["status"] == "failed" && text(&job["reason"]).contains("gone"), "{job}");
    assert_eq!(pn.pn(["job", "exec", "--lane", "net", "--", "true"]).on(&disk).answer().code, Some(0));
}

#[test]
fn lanes_can_be_set_in_every_layer() {
    let pn = Sandbox::in_mode(crate::PN, Mode::Embedded);
    let slots = || pn.pn(["config", "get", "lanes.net.slots"]).ok().trim().to_owned();
    assert_eq!(slots(), "5");
    pn.pn(["config", "set", "lanes.net.slots", "8"]).ok();
    assert_eq!(slots(), "8");
    let file = fs::read_to_string(pn.store().join("config.toml")).expect("a file");
    assert!(file.contains("[lanes.net]\nslots = 8\n"), "{file}");
    pn.pn(["config", "set", "lanes.net.slots", "2", "--user"]).ok();
    assert_eq!(slots(), "2", "a repository does not widen what the user allows");
    pn.pn(["config", "set", "lanes.net.slots", "9", "--local"]).ok();
    assert_eq!(slots(), "9");
    let result = pn.pn(["config", "get", "lanes.net.slots", "--show-origin"]).env("PN_LANES_NET_SLOTS", "3").ok_json();
    assert_eq!((&result["value"], &result["layer"]), (&json!(3), &json!("environment")));
    for (key, value) in [("lanes.net.slots", "0"), ("lanes.net.slots", "x"), ("lanes.net.timeout", "60")] {
        pn.pn(["config", "set", key, value]).fails("invalid_input");
    }
    let refused = pn.pn(["config", "set", "lanes.net.slot", "1"]).answer();
    assert!(refused.code == Some(1) && refused.stderr.contains("lanes.NAME.slots"), "{refused:?}");
    let listed = pn.pn(["config", "list", "--all"]).ok();
    assert!(listed.contains("lanes.heavy.timeout = 10m") && listed.contains("lanes.net.slots = 9"), "{listed}");
    fs::write(pn.store().join("config.toml"), format!("{file}\n[lanes.odd]\nslots = \"many\"\n")).expect("written");
    pn.pn(["job", "exec", "--lane", "odd", "--", "true"]).fails("invalid_input");
    assert_eq!(pn.pn(["job", "exec", "--lane", "net", "--", "true"]).answer().code, Some(0), "no harm to others");
}
