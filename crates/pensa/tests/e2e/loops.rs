//! Loops, signals and locks.

use std::collections::HashSet;
use std::fs;
use std::thread;
use std::time::Duration;

use pensa_testkit::Sandbox;
use serde_json::{Value, json};

use crate::steps::{elements, keys, task, text};

crate::in_both_modes! {
    a_loop_goes_from_a_plan_to_its_code,
    a_claim_with_nothing_to_run_is_null,
    iterations_store_their_files_and_end_at_the_maximum,
    output_of_a_loop_is_appended_to_its_logs,
    locks_are_listed_by_name,
    invalidation_ends_all_descendants_and_moves_their_directories,
    sixteen_processes_claim_each_of_a_thousand_loops_once,
    a_signal_to_five_hundred_is_awaited_until_the_last_acknowledges,
    a_wait_that_times_out_names_the_missing,
    a_lock_has_one_holder_at_a_time,
    many_processes_hold_a_lock_one_after_another,
    context_shows_unread_signals,
    invalid_requests_fail_with_a_hint,
}

const MAKE: [&str; 6] = ["loop", "create", "--prompt-path", "p.md", "--validation-command", "true"];

fn create(pn: &Sandbox, more: &[&str]) -> String {
    text(&pn.pn([&MAKE[..], more].concat()).ok_json()["id"])
}

/// A complete loop with this many children.
fn approved(pn: &Sandbox, children: usize) -> (String, Vec<String>) {
    let root = create(pn, &["--type", "plan"]);
    pn.pn(["loop", "start", &root]).ok_json();
    pn.pn(["loop", "submit", &root, "--output", "plan.md"]).ok_json();
    let child = "{\"type\":\"code\",\"prompt_path\":\"c.md\",\"validation_command\":\"true\"}\n";
    let result = pn.pn(["loop", "approve", &root, "--children", "-"]).stdin(child.repeat(children)).ok_json();
    assert_eq!((&result["status"], elements(&result["children"]).len()), (&json!("complete"), children));
    (root, elements(&result["children"]).iter().map(|child| text(&child["id"])).collect())
}

fn a_loop_goes_from_a_plan_to_its_code(pn: &Sandbox) {
    let issue = task(pn, "search");
    let flags = ["--type", "plan", "--issue", &issue, "--max-iterations", "3", "--worktree", "w", "--context"];
    let plan = pn.pn([&MAKE[..], &flags, &[r#"{"n":[1,"é"]}"#]].concat()).ok_json();
    let fields = [
        "id",
        "loop_type",
        "issue_id",
        "output_artifacts",
        "prompt_path",
        "validation_command",
        "max_iterations",
        "worktree",
        "iteration",
        "status",
        "progress",
        "context",
        "runnable",
        "created_at",
        "updated_at",
    ];
    assert_eq!(keys(&plan), fields);
    assert_eq!((&plan["context"], &plan["worktree"]), (&json!({"n": [1, "é"]}), &json!("w")));
    let id = text(&plan["id"]);
    let code = create(pn, &["-t", "code", "--parent", &id]);
    assert_eq!(pn.pn(["loop", "show", &code]).ok_json()["worktree"], format!("worktrees/{code}"));
    let claimed = pn.pn(["loop", "claim"]).actor("ana").ok_json();
    assert_eq!(
        (&claimed["id"], &claimed["status"], &claimed["holder"]),
        (&json!(id), &json!("running"), &json!("ana"))
    );
    assert!(claimed["pid"].is_i64() && claimed["host"].is_string(), "{claimed}");
    assert_eq!(pn.pn(["loop", "claim"]).ok_json(), Value::Null);
    pn.pn(["loop", "pause", &id, "--reason", "lunch"]).ok_json();
    assert_eq!(pn.pn(["loop", "resume", &id[..8]]).actor("ben").ok_json()["holder"], "ben");
    pn.pn(["loop", "rebase", &id]).ok_json();
    pn.pn(["loop", "resume", &id]).ok_json();
    pn.pn(["loop", "submit", &id, "--output", "plan.md"]).ok_json();
    assert_eq!(pn.pn(["loop", "reject", &id, "--reason", "too long"]).ok_json()["reason"], "too long");
    pn.pn(["loop", "complete", &id, "--progress", "all of it"]).ok_json();
    assert_eq!(pn.pn(["loop", "claim", "-q"]).ok(), format!("{code}\n"));
    let tree = pn.pn(["loop", "tree", &id]).ok_json();
    assert_eq!((&tree[0]["depth"], &tree[1]["depth"], &tree[1]["id"]), (&json!(0), &json!(1), &json!(code)));
    let seen = pn.pn(["loop", "tree", &id]).ok();
    assert!(seen.contains(&format!("\n  {code} running")), "{seen}");
    let of_issue = pn.pn(["loop", "list", "--issue", &issue]).ok_json();
    assert_eq!((elements(&of_issue).len(), &of_issue[0]["progress"]), (1, &json!("all of it")));
    assert_eq!(elements(&pn.pn(["loop", "list", "-t", "code", "-s", "running"]).ok_json()).len(), 1);
    let kept = pn.pn(["record", "query", "loops", "--where", "status=running"]).ok_json();
    assert_eq!(kept[0]["id"], json!(code));
    pn.pn(["record", "put", "loops", "{}", "--id", &code]).fails("forbidden");
}

fn a_claim_with_nothing_to_run_is_null(pn: &Sandbox) {
    assert_eq!(pn.pn(["loop", "claim"]).ok_json(), Value::Null);
    assert!(pn.pn(["loop", "claim"]).ok().starts_with("no loop"));
    assert_eq!(pn.pn(["loop", "claim", "-q"]).ok(), "");
    create(pn, &["-t", "code"]);
    assert_eq!(pn.pn(["loop", "claim", "--type", "plan"]).ok_json(), Value::Null);
}

fn iterations_store_their_files_and_end_at_the_maximum(pn: &Sandbox) {
    let id = create(pn, &["-t", "code", "--max-iterations", "2"]);
    pn.pn(["loop", "iterate", &id]).fails("invalid_status_transition");
    pn.pn(["loop", "start", &id]).ok_json();
    for (name, content) in [("talk.jsonl", &b"{}\n"[..]), ("out.log", b"\xff\xfe"), ("plan.md", b"plan")] {
        fs::write(pn.path(name), content).expect("written");
    }
    let path = |name: &str| pn.path(name).display().to_string();
    let (talk, log, plan) = (path("talk.jsonl"), path("out.log"), path("plan.md"));
    let flags =
        ["--prompt", "-", "--conversation", &talk, "--validation-log", &log, "--artifact", &plan, "--progress", "half"];
    let result = pn.pn([&["loop", "iterate", &id], &flags[..]].concat()).stdin("do it").ok_json();
    let home = pn.store().join("local/loops").join(&id);
    assert_eq!(result["directory"], home.join("iterations/001").display().to_string());
    assert_eq!((&result["iteration"], &result["progress"]), (&json!(1), &json!("half")));
    let read = |name: &str| fs::read(home.join("current").join(name)).expect(name);
    assert_eq!((read("prompt.md"), read("conversation.jsonl")), (b"do it".to_vec(), b"{}\n".to_vec()));
    assert_eq!((read("validation.log"), read("artifacts/plan.md")), (b"\xff\xfe".to_vec(), b"plan".to_vec()));
    pn.pn(["loop", "iterate", &id]).ok_json();
    assert_eq!(fs::read_link(home.join("current")).expect("a link").to_str(), Some("iterations/002"));
    let refused = pn.pn(["loop", "iterate", &id]).fails("invalid_status_transition");
    assert!(text(&refused["hint"]).contains("pn loop fail"), "{refused}");
    assert!(!home.join("iterations/003").exists());
    pn.pn(["loop", "iterate", &id, "--prompt", "nowhere.md"]).fails("not_found");
    pn.pn(["loop", "complete", &id]).ok_json();
    assert!(pn.pn(["loop", "archive", &id]).ok_json()["archived_at"].is_string());
    assert!(!home.exists() && pn.store().join("local/archive").join(&id).join("iterations/001/prompt.md").is_file());
    assert_eq!(pn.pn(["loop", "list"]).ok_json(), json!([]));
    assert_eq!(elements(&pn.pn(["loop", "list", "--all"]).ok_json()).len(), 1);
}

fn output_of_a_loop_is_appended_to_its_logs(pn: &Sandbox) {
    let id = create(pn, &["-t", "code"]);
    pn.pn(["loop", "start", &id]).ok_json();
    let home = pn.store().join("local/loops").join(&id);
    let errors = pn.path("errors").display().to_string();
    for (out, err) in [("one\n", &b"\xff\n"[..]), ("two\n", b"")] {
        fs::write(&errors, err).expect("written");
        pn.pn(["loop", "iterate", &id, "--stdout", "-", "--stderr", &errors]).stdin(out).ok_json();
    }
    let read = |name: &str| fs::read(home.join(name)).expect(name);
    assert_eq!((read("stdout.log"), read("stderr.log")), (b"one\ntwo\n".to_vec(), b"\xff\n".to_vec()));
    assert!(!home.join("current/stdout.log").exists());
    fs::write(pn.path("other"), "not a log").expect("written");
    fs::remove_file(home.join("stdout.log")).expect("removed");
    std::os::unix::fs::symlink(pn.path("other"), home.join("stdout.log")).expect("a link");
    let answer = pn.pn(["loop", "iterate", &id, "--stdout", "-"]).stdin("three").answer();
    assert_eq!((answer.code, fs::read(pn.path("other")).expect("a file")), (Some(1), b"not a log".to_vec()));
}

fn locks_are_listed_by_name(pn: &Sandbox) {
    assert_eq!(pn.pn(["lock", "list"]).ok_json(), json!([]));
    for name in ["merge", "deploy", "spare"] {
        pn.pn(["lock", "acquire", name, "--ttl", "1h"]).actor("ana").ok_json();
    }
    pn.pn(["lock", "release", "spare"]).actor("ana").ok_json();
    let names = |args: &[&str]| pn.pn([&["lock", "list", "-q"], args].concat()).ok();
    assert_eq!((names(&[]), names(&["--all"])), ("deploy\nmerge\n".into(), "deploy\nmerge\nspare\n".into()));
    assert_eq!(names(&["-n", "1"]), "deploy\n");
    let listed = pn.pn(["lock", "list"]).ok_json();
    assert_eq!(keys(&listed[0]), ["name", "held", "fencing", "holder", "acquired_at", "expires_at"], "no token");
    assert!(pn.pn(["lock", "list"]).ok().contains("deploy 1 held by ana until"));
}

#[test]
fn only_the_worktree_of_a_loop_is_added_and_removed() {
    let pn = crate::sandbox();
    pn.git_init();
    let id = create(&pn, &["-t", "code"]);
    let worktree = |args: &[&str]| pn.pn([&["loop", "worktree"], args].concat());
    worktree(&["remove", &id]).fails("not_found");
    let added = worktree(&["add", &id[..8]]).ok_json();
    let dir = pn.store().join("local/worktrees").join(&id);
    assert_eq!((&added["path"], &added["branch"]), (&json!(dir), &json!(format!("loop/{id}"))));
    assert_eq!(pn.pn(["loop", "show", &id]).dir(&dir).ok_json()["id"], json!(id), "the store is the same there");
    worktree(&["add", &id]).fails("conflict");
    fs::write(dir.join("new"), "").expect("written");
    let refused = worktree(&["remove", &id]).fails("conflict");
    assert!(text(&refused["hint"]).contains("--force") && dir.exists(), "{refused}");
    assert_eq!(worktree(&["remove", &id, "--force"]).ok_json()["status"], "removed");
    assert!(!dir.exists());
    assert!(pn.git(["branch", "--list", "loop/*"]).contains(&id), "what was committed stays");
    worktree(&["add", &id, "--from", "HEAD"]).fails("conflict");
    assert_eq!(worktree(&["add", &id, "--branch", "mine", "--from", "HEAD"]).ok_json()["branch"], "mine");
    worktree(&["remove", &id]).ok();
    let outside = pn.path("outside").display().to_string();
    for named in [outside.as_str(), "../outside", "worktrees/../../outside", "worktrees", "worktrees/a/b", "w"] {
        let id = create(&pn, &["-t", "code", "--worktree", named]);
        worktree(&["add", &id]).fails("unsupported");
        worktree(&["remove", &id, "--force"]).fails("unsupported");
    }
    for bad in ["-b", "a..b", "--upload-pack=x"] {
        worktree(&["add", &id, &format!("--branch={bad}")]).fails("invalid_input");
    }
    worktree(&["add", &id, "--branch", "other", "--from=--detach"]).fails("conflict");
    assert!(!pn.path("outside").exists() && !dir.exists());
}

fn invalidation_ends_all_descendants_and_moves_their_directories(pn: &Sandbox) {
    let (root, children) = approved(pn, 3);
    let running = text(&pn.pn(["loop", "claim"]).ok_json()["id"]);
    pn.pn(["loop", "iterate", &running]).ok_json();
    let result = pn.pn(["loop", "invalidate", &root, "--reason", "wrong plan"]).ok_json();
    assert_eq!((&result["status"], elements(&result["invalidated"]).len()), (&json!("invalidated"), 4));
    let signal = text(&result["signal"]["id"]);
    let unread = pn.pn(["signal", "list", "--for", &running, "--unacked"]).ok_json();
    assert_eq!((&unread[0]["id"], &unread[0]["signal_type"]), (&json!(signal), &json!("invalidate")));
    for child in &children {
        assert_eq!(pn.pn(["loop", "show", child]).ok_json()["status"], "invalidated");
    }
    assert!(pn.store().join("local/archive").join(&running).join("current/artifacts").is_dir());
    assert!(!pn.store().join("local/loops").join(&running).exists());
    assert_eq!(pn.pn(["loop", "claim"]).ok_json(), Value::Null);
    pn.pn(["loop", "iterate", &running]).fails("invalid_status_transition");
}

fn sixteen_processes_claim_each_of_a_thousand_loops_once(pn: &Sandbox) {
    let (_, children) = approved(pn, 1000);
    let worker = |name: usize| {
        let mut got = Vec::new();
        loop {
            let claimed = pn.pn(["loop", "claim"]).actor(&format!("w{name}")).ok_json();
            if claimed.is_null() {
                return got;
            }
            got.push(text(&claimed["id"]));
        }
    };
    let got: Vec<String> = thread::scope(|scope| {
        let workers: Vec<_> = (0..16).map(|name| scope.spawn(move || worker(name))).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker")).collect()
    });
    let distinct: HashSet<&String> = got.iter().collect();
    assert_eq!((got.len(), distinct), (1000, children.iter().collect()));
}

fn a_signal_to_five_hundred_is_awaited_until_the_last_acknowledges(pn: &Sandbox) {
    let (root, children) = approved(pn, 500);
    let to = format!("descendants:{root}");
    let payload = ["--payload", r#"{"onto":"main"}"#, "--reason", "main has moved"];
    let sent = pn.pn([&["signal", "send", "--type", "rebase", "--to", &to], &payload[..]].concat()).ok_json();
    let recipients: HashSet<String> = elements(&sent["recipients"]).iter().map(text).collect();
    assert_eq!(recipients, children.iter().cloned().collect());
    assert_eq!((&sent["payload"], &sent["recipient_count"]), (&json!({"onto": "main"}), &json!(500)));
    let id = text(&sent["id"]);
    let waiting = pn.pn(["signal", "wait", &id, "--all-acked", "--timeout", "10m", "--json"]).spawn();
    let ack = |some: &[String]| {
        for child in some {
            pn.pn(["signal", "ack", &id, "--as", child]).ok_json();
        }
    };
    thread::scope(|scope| children[1..].chunks(125).for_each(|some| drop(scope.spawn(move || ack(some)))));
    let missing = pn.pn(["signal", "show", &id]).ok_json();
    assert_eq!((&missing["missing"], missing.get("acknowledged_at")), (&json!([children[0]]), None));
    ack(&children[..1]);
    let output = waiting.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&result["acknowledged_count"], &result["missing"]), (&json!(500), &json!([])));
    assert!(result["acknowledged_at"].is_string());
}

fn a_wait_that_times_out_names_the_missing(pn: &Sandbox) {
    let (root, children) = approved(pn, 2);
    let to = format!("children:{root}");
    let id = text(&pn.pn(["signal", "send", "-t", "pause", "--to", &to]).ok_json()["id"]);
    pn.pn(["signal", "ack", &id, "--as", &children[0]]).ok_json();
    let late = pn.pn(["signal", "wait", &id, "--all-acked", "--timeout", "1s"]).fails("timeout");
    let result = text(&late["error"]);
    assert!(result.contains(&children[1]) && !result.contains(&children[0]) && result.contains("1 of 2"), "{late}");
    pn.pn(["signal", "ack", &id, "--as", &root]).fails("not_found");
    pn.pn(["signal", "send", "-t", "stop", "--to", "lp-none"]).fails("not_found");
    assert_eq!(pn.pn(["signal", "send", "-t", "stop", "--to", "type:loop"]).answer().code, Some(2));
    let nobody = text(&pn.pn(["signal", "send", "-t", "stop", "--to", "type:spec"]).ok_json()["id"]);
    pn.pn(["signal", "wait", &nobody, "--timeout", "1s"]).ok_json();
}

fn a_lock_has_one_holder_at_a_time(pn: &Sandbox) {
    assert_eq!(pn.pn(["lock", "status", "merge"]).ok_json(), json!({"name": "merge", "held": false, "fencing": 0}));
    let first = pn.pn(["lock", "acquire", "merge", "--ttl", "2s"]).actor("ana").ok_json();
    assert_eq!(keys(&first), ["name", "held", "fencing", "holder", "acquired_at", "expires_at", "token"]);
    let token = text(&first["token"]);
    let refused = pn.pn(["lock", "acquire", "merge"]).actor("ben").fails("already_claimed");
    assert!(text(&refused["error"]).contains("ana holds lock merge"), "{refused}");
    let late = pn.pn(["lock", "acquire", "merge", "--wait", "1s"]).actor("ana").fails("timeout");
    assert!(text(&late["error"]).contains("after 1s"), "{late}");
    let renewed = pn.pn(["lock", "acquire", "merge", "--ttl", "1h", "--token", &token]).actor("ana").ok_json();
    assert_eq!(renewed["fencing"], 1);
    pn.pn(["lock", "release", "merge"]).actor("ben").fails("already_claimed");
    pn.pn(["lock", "release", "merge", "--token", "other"]).actor("ana").fails("already_claimed");
    assert_eq!(pn.pn(["lock", "release", "merge"]).actor("ana").ok_json()["held"], false);
    assert_eq!(pn.pn(["lock", "acquire", "merge", "--ttl", "1s", "-q"]).ok(), "2\n");
    // It expires.
    let third = pn.pn(["lock", "acquire", "merge", "--wait", "30s", "--ttl", "1h"]).actor("ben").ok_json();
    assert_eq!((&third["fencing"], &third["holder"]), (&json!(3), &json!("ben")));
    pn.pn(["lock", "release", "merge", "--force"]).actor("ana").ok_json();
    assert!(pn.pn(["lock", "status", "merge"]).ok().contains("merge 3 free"));
}

fn many_processes_hold_a_lock_one_after_another(pn: &Sandbox) {
    let guarded = pn.path("guarded");
    let worker = || {
        let held = pn.pn(["lock", "acquire", "merge", "--ttl", "10m", "--wait", "5m"]).ok_json();
        fs::create_dir(&guarded).expect("nobody else is here");
        thread::sleep(Duration::from_millis(2));
        fs::remove_dir(&guarded).expect("nobody else was here");
        pn.pn(["lock", "release", "merge", "--token", &text(&held["token"])]).ok_json();
        held["fencing"].as_i64().expect("a number")
    };
    let mut numbers: Vec<i64> = thread::scope(|scope| {
        let workers: Vec<_> = (0..12).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().map(|worker| worker.join().expect("a worker")).collect()
    });
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=12).collect::<Vec<_>>());
}

fn context_shows_unread_signals(pn: &Sandbox) {
    let id = create(pn, &["-t", "code"]);
    pn.pn(["loop", "claim"]).actor("ana").ok_json();
    let signal = ["signal", "send", "-t", "stop", "--to", &id, "--reason", "## main\nis broken"];
    let sent = text(&pn.pn(signal).actor("boss").ok_json()["id"]);
    let result = pn.pn(["context"]).actor("ana").ok();
    assert!(
        result.starts_with(&format!("## Unread signals\n- {sent} stop to {id} from boss: ## main is broken\n")),
        "{result}"
    );
    assert!(!pn.pn(["context"]).actor("ben").ok().contains("Unread"));
    pn.pn(["signal", "ack", &sent, "--as", &id]).actor("ana").ok_json();
    assert!(!pn.pn(["context"]).actor("ana").ok().contains("Unread"));
}

fn invalid_requests_fail_with_a_hint(pn: &Sandbox) {
    let id = create(pn, &["-t", "code"]);
    for bad in [
        vec!["loop", "show", "lp-none"],
        vec!["loop", "complete", &id],
        vec!["loop", "approve", &id],
        vec!["loop", "archive", &id],
        vec!["signal", "show", "sg-none"],
        vec!["lock", "acquire", "merge", "--ttl", "2d"],
    ] {
        let answer = pn.pn([&["--json"], &bad[..]].concat()).answer();
        let error = answer.error();
        assert!(answer.code == Some(1) && error["hint"].is_string(), "{bad:?}: {error}");
    }
    for bad in [&["--max-iterations", "0"][..], &["--context", "{"], &["--worktree", "a\nb"]] {
        pn.pn([&MAKE[..], &["-t", "code"], bad].concat()).fails("invalid_input");
    }
    pn.pn([&MAKE[..], &["-t", "code", "--parent", "lp-none"]].concat()).fails("not_found");
    pn.pn(["undo"]).fails("conflict");
    assert_eq!(elements(&pn.pn(["loop", "list"]).ok_json()).len(), 1);
}

/// Acknowledged writes survive the loss of the database at any moment.
#[test]
fn acknowledged_writes_survive_the_loss_of_the_database() {
    let pn = &crate::sandbox();
    let (root, children) = approved(pn, 60);
    let sent = text(&pn.pn(["signal", "send", "-t", "info", "--to", &format!("children:{root}")]).ok_json()["id"]);
    let files = ["", "-wal", "-shm"].map(|ending| pn.store().join(format!("db.sqlite{ending}")));
    let worker = |name: usize| {
        let mut done = Vec::new();
        for _ in 0..12 {
            let answer = pn.pn(["--json", "loop", "claim"]).actor(&format!("w{name}")).answer();
            let Ok(claimed) = serde_json::from_str::<Value>(&answer.stdout) else { continue };
            if answer.code != Some(0) || claimed.is_null() {
                continue;
            }
            let id = text(&claimed["id"]);
            let acked = pn.pn(["--json", "signal", "ack", &sent, "--as", &id]).answer().code == Some(0);
            let number = pn.pn(["--json", "lock", "acquire", &id]).answer().code == Some(0);
            done.push((id, acked, number));
        }
        done
    };
    let done: Vec<(String, bool, bool)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|name| scope.spawn(move || worker(name))).collect();
        for round in 0..3 {
            thread::sleep(Duration::from_millis(200));
            match round {
                0 => files.iter().for_each(|file| drop(fs::remove_file(file))),
                1 => drop(fs::write(&files[0], vec![0x5a; 20_000])),
                _ => drop(fs::File::options().write(true).open(&files[0]).and_then(|file| file.set_len(5000))),
            }
        }
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker")).collect()
    });
    assert!(done.len() > 20, "{} were claimed", done.len());
    let distinct: HashSet<&String> = done.iter().map(|(id, ..)| id).collect();
    assert_eq!(distinct.len(), done.len(), "each once");
    let missing =
        elements(&pn.pn(["signal", "show", &sent]).ok_json()["missing"]).iter().map(text).collect::<HashSet<_>>();
    for (id, acked, locked) in &done {
        assert_eq!(pn.pn(["loop", "show", id]).ok_json()["status"], "running", "{id}");
        assert!(!acked || !missing.contains(id), "{id}");
        assert!(!locked || pn.pn(["lock", "status", id]).ok_json()["fencing"] == 1, "{id}");
    }
    let left = pn.pn(["loop", "list", "--runnable"]).ok_json();
    assert!(
        elements(&left).iter().all(|one| children.contains(&text(&one["id"])) && !distinct.contains(&text(&one["id"])))
    );
    pn.pn(["doctor"]).ok();
}
