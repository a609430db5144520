//! Records written by others: the processes, files and windows that they name are left alone.
//!
//! Tests with process ids run in a process namespace of their own, in which the shell has id 1.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use pensa_testkit::{Answer, Http, Sandbox};
use serde_json::{Value, json};

use crate::steps::text;

/// A sandbox with a repository, and with records that were sent to its daemon.
fn with_records(path: &str, bodies: &[Value]) -> (Sandbox, Vec<String>) {
    let pn = crate::sandbox();
    pn.git_init();
    let daemon = pn.daemon();
    let ids = bodies.iter().map(|body| text(&Http::to(&daemon.url).post(path, body).json()["id"])).collect();
    (pn, ids)
}

/// A job on the machine `victim` with these processes.
fn job(process: Value, supervisor: Value) -> Value {
    let mut job = json!({"lane": "net", "tool": "evil", "slots": 100, "timeout": "1h", "host": "victim"});
    for (name, given) in [("process", process), ("supervisor", supervisor)] {
        if !given.is_null() {
            job[name] = given;
        }
    }
    job
}

/// A run on the machine `victim` with this in its record.
fn run(more: Value) -> Value {
    let seen = json!({"vcs": "git", "host": "victim", "root_path": "/nowhere"});
    let mut run = json!({"seen": seen, "host": "victim"});
    run.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    run
}

/// Runs a script on a machine `victim` with processes of its own; process 2 is a bystander that leads a group, begun with
/// `environment`. It says `alive` at the end if nobody has ended the bystander.
fn in_namespace(pn: &Sandbox, environment: &str, script: &str) -> Answer {
    let script = format!(
        "[ $$ = 1 ] || exit 9\n echo victim >/proc/sys/kernel/hostname\n set -m\n\
         {environment} sleep 600 &\n [ $! = 2 ] || exit 8\n\
         alive() {{ kill -0 2 && grep -qv ') Z ' /proc/2/stat && echo alive; }}\n {script}\n alive"
    );
    let mut command = pn.command("unshare");
    command.args(["--pid", "--uts", "--fork", "--mount-proc", "bash", "-c", &script]).env("PN", crate::PN);
    let output = command.output().expect("these tests need unshare and bash");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Answer { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

const GONE: i64 = 99_999;

#[test]
fn no_job_record_makes_a_machine_signal_a_process() {
    let gone = json!({"pid": GONE});
    let (pn, ids) = with_records(
        "/jobs",
        &[
            job(json!({"pid": 2}), gone.clone()),
            job(json!({"pid": 1}), gone.clone()),
            job(json!({"pid": 2}), json!({"pid": 1})),
            job(json!({"pid": 2}), Value::Null),
            job(Value::Null, gone),
        ],
    );
    for look in ["job list", "job stats", "recover", "job exec --lane net -- true"] {
        let answer = in_namespace(&pn, "", &format!("\"$PN\" {look} >/dev/null"));
        assert_eq!(answer.stdout, "alive\n", "{look}: {answer:?}");
    }
    for id in &ids {
        // It even started with the id in its environment, and is still not ours.
        let script = format!("\"$PN\" job show {id} >/dev/null; \"$PN\" job cancel {id} --grace 1s >/dev/null");
        let answer = in_namespace(&pn, &format!("PN_JOB={id}"), &script);
        assert_eq!(answer.stdout, "alive\n", "{id}: {answer:?}");
    }
    let shown = pn.pn(["job", "show", &ids[4]]).ok_json();
    assert_eq!(shown["status"], "failed", "it is still given up: {shown}");
}

#[test]
fn no_run_record_makes_a_machine_signal_a_process() {
    for pid in [1, 2] {
        let (pn, ids) = with_records("/runs", &[run(json!({"agent": {"pid": pid}, "supervisor": {"pid": GONE}}))]);
        let id = &ids[0];
        let script = format!("\"$PN\" run list >/dev/null; \"$PN\" run cancel {id} --grace 1s --json");
        let answer = in_namespace(&pn, &format!("PN_RUN={id}"), &script);
        assert!(answer.stdout.ends_with("\nalive\n"), "{pid}: {answer:?}");
        assert!(answer.stdout.contains("\"status\":\"cancelled\""), "the record is changed: {answer:?}");
    }
}

/// A script that notes process 2 as the command of a job whose supervisor is gone, with changes by sed.
fn noted(change: &str) -> String {
    format!(
        "boot=$(cat /proc/sys/kernel/random/boot_id); ns=$(readlink /proc/self/ns/pid | tr -dc 0-9)\n\
         ticks=$(sed 's/.*) //' /proc/2/stat | cut -d' ' -f20); dir=$XDG_STATE_HOME/pensa/local/supervised\n\
         mkdir -p $dir; printf '%s' '{{\"kind\":\"job\",\"id\":\"job-1\",\"host\":\"victim\",\
         \"supervisor\":{{\"pid\":{GONE},\"born\":\"BOOT 1 NS\"}},\"process\":{{\"pid\":2,\"born\":\"BOOT TICKS NS\"}}}}' \
         | sed \"s/BOOT/$boot/g; s/TICKS/$ticks/; s/NS/$ns/g; {change}\" >$dir/job.job-1.json\n\
         \"$PN\" job list >/dev/null"
    )
}

#[test]
fn a_noted_process_is_ended_only_if_start_time_and_environment_match() {
    let pn = crate::sandbox();
    let later = "s/ 1 / 99999999999 /";
    for (environment, change) in [
        ("", ""),
        ("PN_JOB=job-2", ""),
        ("PN_JOB=job-1", &format!("{later}; s/$boot $ticks/$boot 1/") as &str),
        ("PN_JOB=job-1", &format!("{later}; s/,.born.:.$boot $ticks $ns.//")),
        ("PN_JOB=job-1", &format!("{later}; s/:2,/:1,/")),
        ("PN_JOB=job-1", &format!("{later}; s/:2,/:-2,/")),
        ("PN_JOB=job-1", "s/$boot/another/g"),
        ("PN_JOB=job-1", "s/victim/other/"),
        ("PN_JOB=job-1", "s/99999,/1,/; s/$boot 1 $ns/$boot $(sed 's:.*) ::' /proc/1/stat | cut -d' ' -f20) $ns/"),
    ] {
        let answer = in_namespace(&pn, environment, &noted(change));
        assert_eq!(answer.stdout, "alive\n", "{environment} {change}: {answer:?}");
    }
    let answer = in_namespace(&pn, "PN_JOB=job-1", &format!("{}; ls $dir", noted("")));
    assert_eq!(answer.stdout, "", "ours is ended, and forgotten: {answer:?}");
}

#[test]
fn a_log_is_opened_only_if_it_is_a_file_among_the_logs_of_the_store() {
    let here = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let of_here = |more: Value| {
        let mut run = run(more);
        run["host"] = json!(here);
        run
    };
    let secret = tempfile::NamedTempFile::new().expect("a file");
    fs::write(secret.path(), "private").expect("written");
    let bodies = vec![of_here(json!({"log_path": secret.path()})); 4];
    let (pn, ids) = with_records("/runs", &bodies);
    let logs = pn.store().join("local/runs");
    fs::create_dir_all(&logs).expect("a directory");
    let refused = |id: &str, code: &str| {
        let answer = pn.pn(["run", "logs", id]).json().under("timeout", ["20"]).answer();
        assert!(answer.stdout.is_empty() && answer.error()["code"] == code, "{answer:?}");
    };
    refused(&ids[0], "forbidden");
    symlink(secret.path(), logs.join(format!("{}.log", ids[1]))).expect("a link");
    refused(&ids[1], "not_found");
    pn.tool(Command::new("mkfifo").arg(logs.join(format!("{}.log", ids[2]))));
    refused(&ids[2], "not_found");
    fs::write(logs.join(format!("{}.log", ids[3])), "its own\n").expect("written");
    assert_eq!(pn.pn(["run", "logs", &ids[3]]).ok(), "its own\n");
    fs::rename(&logs, pn.path("moved")).expect("moved");
    symlink(pn.path("moved"), &logs).expect("a link");
    refused(&ids[3], "not_found");
}

#[test]
fn files_named_by_a_record_are_not_deleted() {
    let dir = tempfile::tempdir().expect("a directory");
    let here = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let mut body = run(json!({"supervisor": {"pid": i64::from(i32::MAX)}, "log_dir": dir.path()}));
    body["host"] = json!(here);
    let (pn, ids) = with_records("/runs", &[body]);
    let files = ["window", "failed", "log"].map(|end| dir.path().join(format!("{}.{end}", ids[0])));
    files.iter().for_each(|file| fs::write(file, "").expect("written"));
    assert_eq!(pn.pn(["run", "show", &ids[0]]).ok_json()["status"], "failed");
    assert!(files.iter().all(|file| file.exists()));
}

#[test]
fn attaching_follows_the_environment_of_its_own_command_and_no_record() {
    let pn = crate::sandbox();
    pn.git_init();
    let mut bystander = pn.command("sleep").arg("60").env("TMUX", "/evil/socket,1,0").spawn().expect("it runs");
    let daemon = pn.daemon();
    let here = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let mut body = run(json!({"agent": {"pid": bystander.id()}, "supervisor": {"pid": bystander.id()}}));
    body["host"] = json!(here);
    let id = text(&Http::to(&daemon.url).post("/runs", &body).json()["id"]);
    let place = json!({"multiplexer_kind": "tmux", "mux_session": "s", "mux_window": 0, "pane_left": "%0"});
    assert_eq!(Http::to(&daemon.url).ask("PATCH", &format!("/runs/{id}")).body(&place).reply().status, 200);
    let error = pn.pn(["run", "attach", &id]).fails("not_found");
    bystander.kill().expect("killed");
    bystander.wait().expect("reaped");
    assert!(text(&error["error"]).contains("window"), "{error}");
}

#[test]
fn notes_of_processes_are_private_and_go_with_their_commands() {
    let pn = crate::sandbox();
    let dir = pn.path("xdg/state/pensa/local/supervised");
    let script = format!("ls {0}; stat -c %a {0}/*; cat {0}/*", dir.display());
    let answer = pn.pn(["job", "exec", "--lane", "net", "--", "sh", "-c", &format!("sleep 0.3; {script}")]).ok();
    let id = text(&pn.pn(["job", "list"]).ok_json()[0]["id"]);
    let mut lines = answer.lines();
    assert_eq!((lines.next(), lines.next()), (Some(format!("job.{id}.json").as_str()), Some("600")));
    let note: Value = serde_json::from_str(&lines.collect::<String>()).expect("a note");
    assert!(note["process"]["born"].is_string() && note["supervisor"]["born"].is_string(), "{note}");
    assert_eq!(fs::read_dir(&dir).expect("a directory").count(), 0);
    assert_eq!(fs::metadata(&dir).expect("a directory").permissions().mode() & 0o777, 0o700);
    pn.pn(["doctor"]).dir(pn.path("elsewhere")).fails("no_store");
}

#[test]
fn a_snapshot_record_of_another_store_deletes_nothing_in_a_repository() {
    let pn = crate::sandbox();
    pn.git_init();
    let held = || pn.git(["for-each-ref", "--format=%(refname)", "refs/pensa/snapshots"]);
    let taken = pn.pn(["snapshot", "create", "--provider", "git"]).ok_json();
    let before = held();
    let other = Sandbox::with_store(crate::PN);
    let mut copied = json!({});
    for name in ["id", "kind", "provider", "host", "root", "ref", "metadata"] {
        copied[name] = taken[name].clone();
    }
    copied["seen"] = json!({"vcs": "git", "host": taken["host"], "root_path": taken["root"]});
    let daemon = other.daemon();
    let (mut newer, mut older) = (copied.clone(), copied);
    (older["kind"], newer["id"]) = (json!("safety"), json!("snap-00000001"));
    for body in [older, newer] {
        let reply = Http::to(&daemon.url).post("/snapshots", &body);
        assert_eq!(reply.status, 201, "{}", reply.json());
    }
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let answer = other.pn(["gc", "--older-than", "1s"]).json().answer();
    assert!(answer.code == Some(0) && answer.stdout.contains("\"snapshots\":0"), "{answer:?}");
    let id = text(&taken["id"]);
    for command in ["delete", "verify"] {
        let error = other.pn(["snapshot", command, &id]).fails("unsupported");
        assert!(text(&error["error"]).contains("only its record"), "{error}");
    }
    assert_eq!(held(), before);
    pn.pn(["snapshot", "delete", &id]).dir(pn.path("elsewhere")).env("PN_STORE", pn.project()).ok();
    assert_eq!(held(), "");
}
