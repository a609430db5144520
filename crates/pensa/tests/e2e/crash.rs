//! `kill -9` at any moment loses nothing acknowledged and leaves no partial operation.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fs;
use std::process::Child;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pensa_testkit::{Disk, Run, Sandbox};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::steps::{create, elements, event_types, ids, task, text};

/// Random numbers from a seed that a failure prints; PENSA_TEST_SEED repeats a run.
struct Dice(u64);

impl Dice {
    fn new() -> Self {
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64);
        let seed = std::env::var("PENSA_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(now);
        println!("PENSA_TEST_SEED={seed}");
        Self(seed | 1)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Kills a process after `delay`, if it still runs. Returns what it had acknowledged.
fn kill_after(mut child: Child, delay: Duration) -> Vec<Value> {
    thread::sleep(delay);
    let _ = child.kill();
    let output = child.wait_with_output().expect("a process that ended");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // A line without its end was not acknowledged.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// The store opens and is healthy.
#[track_caller]
pub(crate) fn assert_sound(pn: &Sandbox) {
    let report = pn.pn(["doctor"]).ok_json();
    assert!(elements(&report["findings"]).iter().all(|finding| finding["severity"] != "error"), "{report}");
}

/// The issues of a store that opens and is healthy.
#[track_caller]
fn sound_issues(pn: &Sandbox) -> Vec<Value> {
    assert_sound(pn);
    elements(&pn.pn(["list"]).ok_json())
}

#[track_caller]
fn assert_no_partial_issue(pn: &Sandbox, issues: &[Value]) {
    for issue in issues {
        assert_eq!(event_types(pn, &text(&issue["id"])), ["created"], "{issue}");
    }
}

fn titled<'a>(issues: &'a [Value], title: &str) -> Vec<&'a Value> {
    issues.iter().filter(|issue| issue["title"] == title).collect()
}

#[test]
fn a_writer_killed_at_a_random_moment_leaves_whole_operations_only() {
    const BATCH: usize = 30;
    let pn = crate::sandbox();
    let mut dice = Dice::new();
    let free = task(&pn, "to claim");
    for round in 0..60 {
        let title = format!("round {round}");
        let delay = Duration::from_micros(dice.below(25_000));
        match round % 3 {
            0 => {
                let run = pn.pn(["create", &title, "-t", "task"]).json();
                let result = kill_after(run.spawn(), delay);
                let there = titled(&sound_issues(&pn), &title).len();
                assert!(there == 1 || result.is_empty(), "{title}: {result:?}");
            }
            1 => {
                let line = json!({"op": "issue.create", "title": title, "issue_type": "task"}).to_string() + "\n";
                let result = kill_after(pn.pn(["batch"]).stdin(line.repeat(BATCH)).json().spawn(), delay * 2);
                let there = titled(&sound_issues(&pn), &title).len();
                assert!(there == BATCH || (there == 0 && result.is_empty()), "{title}: {there} of {BATCH}, {result:?}");
            }
            _ => {
                let result = kill_after(pn.pn(["update", &free, "--claim"]).actor("ana").json().spawn(), delay);
                let issues = sound_issues(&pn);
                let issue = titled(&issues, "to claim")[0];
                assert!(issue["assignee"] == "ana" || result.is_empty(), "{issue}: {result:?}");
                let last = event_types(&pn, &free).pop();
                assert_eq!(issue["status"] == "in_progress", last.is_some_and(|kind| kind == "claimed"), "{issue}");
                pn.pn(["release", &free]).ok_json();
            }
        }
    }
    let issues = sound_issues(&pn);
    let created: Vec<Value> = issues.into_iter().filter(|issue| issue["title"] != "to claim").collect();
    assert_no_partial_issue(&pn, &created[..created.len().min(150)]);
}

#[test]
fn a_daemon_killed_at_a_random_moment_keeps_what_it_acknowledged() {
    let pn = crate::sandbox();
    let mut dice = Dice::new();
    let mut acknowledged: HashSet<String> = HashSet::new();
    for round in 0.. {
        // On a busy machine the first rounds may end before anything is acknowledged.
        if round >= 5 && (!acknowledged.is_empty() || round >= 50) {
            break;
        }
        let daemon = pn.daemon();
        let delay = Duration::from_millis(20 + dice.below(200));
        let result: Vec<String> = thread::scope(|scope| {
            let agents: Vec<_> = (0..8).map(|_| scope.spawn(|| create_until_refused(&pn, &daemon.url))).collect();
            thread::sleep(delay);
            daemon.signal(Signal::KILL);
            agents.into_iter().flat_map(|agent| agent.join().expect("an agent")).collect()
        });
        acknowledged.extend(result);
        let issues = sound_issues(&pn);
        let there: HashSet<String> = issues.iter().map(|issue| text(&issue["id"])).collect();
        assert!(acknowledged.is_subset(&there), "{:?}", acknowledged.difference(&there));
    }
    assert!(!acknowledged.is_empty());
}

fn create_until_refused(pn: &Sandbox, url: &str) -> Vec<String> {
    let mut acknowledged = Vec::new();
    loop {
        let run = pn.pn(["create", "one", "-t", "task"]).env("PN_DAEMON", url).dir(pn.path("elsewhere"));
        let answer = run.json().answer();
        if answer.code != Some(0) {
            assert_eq!(answer.error()["code"], "unreachable");
            return acknowledged;
        }
        let made: Value = serde_json::from_str(&answer.stdout).expect("an issue");
        acknowledged.push(text(&made["id"]));
    }
}

/// The system calls that change files or write an answer.
pub(crate) const CALLS: [&str; 12] = [
    "pwrite64",
    "write",
    "fsync",
    "fdatasync",
    "rename",
    "renameat2",
    "ftruncate",
    "unlink",
    "linkat",
    "mkdir",
    "flock",
    "openat",
];

/// Runs what `run` makes, killed at its first system call of this kind, then `stride` calls later, and so on until
/// it completes. Returns how often it was killed.
pub(crate) fn sweep(call: &str, stride: usize, run: impl FnMut(&str) -> Run, check: impl FnMut(&str, bool)) -> usize {
    sweep_with_flags(&["-f"], call, stride, run, check)
}

/// Like [`sweep`], with other flags of strace: without `-f`, child processes are not traced.
pub(crate) fn sweep_with_flags(
    flags: &[&str],
    call: &str,
    stride: usize,
    mut run: impl FnMut(&str) -> Run,
    mut check: impl FnMut(&str, bool),
) -> usize {
    let mut kills = 0;
    loop {
        let nth = 1 + kills * stride;
        assert!(nth < 10_000, "{call} never ends");
        let point = format!("{call} {nth}");
        let (trace, inject) = (format!("trace={call}"), format!("inject={call}:signal=SIGKILL:when={nth}"));
        let strace = [flags, &["-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject]].concat();
        let answer = run(&point).under("strace", strace).answer();
        check(&point, answer.code == Some(0));
        if answer.code == Some(0) {
            return kills;
        }
        assert_eq!(answer.code, None, "these tests need strace and the right to use it: {point}: {answer:?}");
        kills += 1;
    }
}

/// Like [`sweep`], for every kind of system call and every single call.
fn sweep_all(mut run: impl FnMut(&str) -> Run, mut check: impl FnMut(&str, bool)) {
    let kills: usize = CALLS.iter().map(|call| sweep(call, 1, &mut run, &mut check)).sum();
    assert!(kills > 10, "only {kills} kills: strace does not inject");
}

#[test]
fn create_killed_at_any_system_call_happened_or_did_not() {
    let pn = crate::sandbox();
    let parent = task(&pn, "parent");
    let run = |title: &str| pn.pn(["create", title, "-t", "task", "--dep", &parent]).json();
    sweep_all(run, |title, done| {
        let issues = sound_issues(&pn);
        let there = titled(&issues, title);
        assert!(there.len() == 1 || (there.is_empty() && !done), "{title}: {there:?}");
        for issue in there {
            let id = text(&issue["id"]);
            assert_eq!(event_types(&pn, &id), ["created", "dep_added"], "{title}");
            assert_eq!(ids(&pn, &["dep", "list", &id]), [parent.as_str()], "{title}");
        }
    });
}

#[test]
fn create_killed_on_a_nearly_full_disk_happened_or_did_not() {
    let pn = Sandbox::bare(crate::PN);
    let disk = Disk::small(&pn, &pn.project(), "6m");
    pn.pn(["init"]).on(&disk).ok();
    let all = || elements(&pn.pn(["list"]).on(&disk).ok_json());
    let (run, known) = (|title: &str| pn.pn(["create", title, "-t", "task"]).on(&disk).json(), RefCell::new(0));
    let mut check = |title: &str, done: bool| {
        let issues = all();
        let there = titled(&issues, title).len();
        assert!(there == 1 || (there == 0 && !done), "{title}: {there}");
        *known.borrow_mut() += there;
        assert_eq!(issues.len(), *known.borrow(), "{title}: what was there before is there");
    };
    let calls = ["fallocate", "ftruncate", "fdatasync", "pwrite64", "write"];
    let kills = calls.map(|call| sweep(call, 1, run, &mut check));
    assert!(kills[0] > 0, "room for the journal is taken: {kills:?}");
    for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
        let _ = fs::remove_file(disk.file(&format!(".pensa/{name}")));
    }
    assert_eq!(all().len(), *known.borrow(), "nothing is in the database only");
}

#[test]
fn an_append_killed_at_any_system_call_happened_or_did_not() {
    let pn = crate::sandbox();
    pn.pn(["agent", "create", "--type", "user", "--name", "ann"]).ok();
    let run = |point: &str| {
        let lines: String =
            (0..3).map(|at| format!("{{\"type\":\"note\",\"text\":\"{point}\",\"at\":{at}}}\n")).collect();
        pn.pn(["session", "append", "ann", "-"]).stdin(lines)
    };
    let known = RefCell::new(0);
    sweep_all(run, |point, done| {
        assert_sound(&pn);
        let history = elements(&pn.pn(["session", "history", "ann"]).ok_json());
        let there = history.iter().filter(|entry| entry["data"]["text"] == point).count();
        assert!(there == 3 || (there == 0 && !done), "{point}: {there}");
        *known.borrow_mut() += there;
        assert_eq!(history.len(), *known.borrow(), "{point}: what was there before is there");
    });
}

#[test]
fn many_records_killed_at_any_system_call_are_all_there_or_none() {
    let pn = crate::sandbox();
    pn.pn(["record", "index", "items", "point"]).ok();
    // More than one chunk of the journal.
    let (count, text) = (150, "x".repeat(600));
    let run = |point: &str| {
        let id = |n: i32| format!("{}-{n}", point.replace(' ', "-"));
        let put = |n| json!({"collection": "items", "id": id(n), "if_rev": 0, "data": {"point": point, "text": text}});
        let lines: String = (0..count).map(|n| format!("{}\n", json!({"put": put(n)}))).collect();
        pn.pn(["record", "apply"]).stdin(lines)
    };
    let having = |point: &str| {
        let found = pn.pn(["record", "count", "items", "--where", &format!("point={point}")]).ok_json();
        found["count"].as_i64().expect("a number")
    };
    let all = RefCell::new(0);
    let mut check = |point: &str, done: bool| {
        assert_sound(&pn);
        let there = having(point);
        assert!(there == i64::from(count) || (there == 0 && !done), "{point}: {there}");
        *all.borrow_mut() += there;
        let lines = fs::read_to_string(pn.store().join("local/taskstore/items.jsonl")).unwrap_or_default();
        let result: HashSet<String> = lines.lines().filter(|line| line.ends_with('}')).map(str::to_owned).collect();
        assert_eq!(result.len() as i64, *all.borrow(), "{point}: the file has what the database has");
    };
    let calls = [("write", 1), ("fsync", 1), ("fdatasync", 1), ("ftruncate", 1), ("flock", 2), ("pwrite64", 9)];
    let kills: usize = calls.iter().map(|(call, stride)| sweep(call, *stride, run, &mut check)).sum();
    assert!(kills > 10, "only {kills} kills: strace does not inject");
    fs::remove_file(pn.store().join("db.sqlite")).expect("deleted");
    assert_eq!(pn.pn(["record", "count", "items"]).ok_json()["count"], *all.borrow(), "and so has the journal");
}

#[test]
fn an_import_of_files_killed_on_the_way_is_completed_by_the_next() {
    let pn = crate::sandbox();
    let run = |point: &str| {
        let dir = pn.path(format!("agents at {point}"));
        for agent in ["one", "two", "three"] {
            let dir = dir.join(format!("{agent}-{}", point.replace(' ', "-")));
            fs::create_dir_all(&dir).expect("a directory");
            fs::write(dir.join("descriptor.json"), "{\"type\":\"user\"}").expect("a file");
            fs::write(dir.join("history.jsonl"), "{\"type\":\"note\",\"at\":1,\"text\":\"said\"}\n").expect("a file");
        }
        pn.pn(["import-from", "daycare", dir.to_str().expect("UTF-8")])
    };
    let check = |point: &str, _: bool| {
        assert_sound(&pn);
        run(point).ok();
        for agent in ["one", "two", "three"] {
            let agent = format!("{agent}-{}", point.replace(' ', "-"));
            assert_eq!(elements(&pn.pn(["session", "history", &agent, "--all"]).ok_json()).len(), 1, "{point}");
        }
    };
    let kills: usize = ["pwrite64", "write", "fsync", "fdatasync"].iter().map(|call| sweep(call, 5, run, check)).sum();
    assert!(kills > 3, "only {kills} kills: strace does not inject");
}

#[test]
fn undo_killed_at_any_system_call_happened_or_did_not() {
    let pn = crate::sandbox();
    let parent = task(&pn, "parent");
    let (child, gone) = (task(&pn, "child"), RefCell::new(String::new()));
    let run = |title: &str| {
        let id = create(&pn, &[title, "-t", "task", "--dep", &parent]);
        pn.pn(["comment", "add", &id, "said"]).ok_json();
        pn.pn(["dep", "add", &child, &id]).ok_json();
        pn.pn(["delete", &id, "--force"]).ok_json();
        gone.replace(id);
        pn.pn(["undo"])
    };
    sweep_all(run, |point, done| {
        assert_sound(&pn);
        let id = gone.borrow();
        let waits = ids(&pn, &["dep", "list", &child]);
        if !ids(&pn, &["list"]).contains(&id) {
            assert!(!done && !waits.contains(&id), "{point}");
            return;
        }
        assert!(waits.contains(&id), "{point}");
        assert_eq!(ids(&pn, &["dep", "list", &id]), [parent.as_str()], "{point}");
        assert_eq!(elements(&pn.pn(["comment", "list", &id]).ok_json()).len(), 1, "{point}");
        assert_eq!(event_types(&pn, &id), ["created", "dep_added", "commented", "deleted", "undone"], "{point}");
        pn.pn(["delete", &id, "--force"]).ok_json();
    });
}

#[test]
fn init_killed_at_any_system_call_can_be_repeated() {
    let pn = Sandbox::bare(crate::PN);
    sweep_all(
        |_| pn.pn(["init"]),
        |point, _| {
            let first = pn.pn(["init"]).ok_json();
            assert_eq!(pn.pn(["init"]).ok_json()["store_id"], first["store_id"], "{point}");
            assert!(sound_issues(&pn).is_empty(), "{point}");
            fs::remove_dir_all(pn.store()).expect("removed");
        },
    );
}

#[test]
fn a_fresh_clone_killed_at_any_system_call_of_its_first_command_imports_the_next_time() {
    let pn = crate::sandbox();
    let id = task(&pn, "one");
    pn.pn(["export"]).ok();
    let run = |_: &str| {
        for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
            let _ = fs::remove_file(pn.store().join(name));
        }
        pn.pn(["list"])
    };
    sweep_all(run, |point, _| {
        assert_eq!(ids(&pn, &["list"]), [id.as_str()], "{point}");
    });
}

#[test]
fn a_batch_that_checkpoints_killed_on_the_way_happened_or_did_not() {
    const BATCH: usize = 30;
    let pn = crate::sandbox();
    let large =
        json!({"op": "issue.create", "title": "large", "issue_type": "task", "description": "x".repeat(60_000)});
    let lines = format!("{large}\n").repeat(BATCH);
    let run = |_: &str| {
        fs::remove_dir_all(pn.durable()).expect("removed");
        fs::remove_dir_all(pn.store()).expect("removed");
        pn.pn(["init"]).ok();
        pn.pn(["batch"]).stdin(lines.clone()).json()
    };
    let check = |point: &str, done: bool| {
        assert_sound(&pn);
        let there = pn.pn(["count"]).ok_json()["count"].clone();
        assert!(there == BATCH || (there == 0 && !done), "{point}: {there} of {BATCH}");
    };
    let kills = sweep("pwrite64", 501, run, check) + sweep("fsync", 1, run, check);
    assert!(kills > 10, "only {kills} kills");
}

#[test]
fn export_killed_at_any_system_call_leaves_whole_files() {
    let pn = crate::sandbox();
    let parent = task(&pn, "parent");
    let run = |title: &str| {
        pn.pn(["create", title, "-t", "task", "--dep", &parent]).ok_json();
        pn.pn(["export"])
    };
    sweep_all(run, |point, _| {
        for name in ["issues.jsonl", "deps.jsonl", "comments.jsonl"] {
            let text = fs::read_to_string(pn.store().join(name)).unwrap_or_default();
            assert!(text.is_empty() || text.ends_with('\n'), "{point}: {name}");
            assert!(text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{point}: {name}");
        }
        assert_sound(&pn);
    });
    let left: Vec<String> = fs::read_dir(pn.store())
        .expect("a store")
        .map(|entry| entry.expect("a file").file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains("tmp"))
        .collect();
    assert!(left.len() < 100, "drafts of killed exports: {left:?}");
}

/// Copies all files of a store.
fn copy_store(pn: &Sandbox, to: &str) {
    let _ = fs::remove_dir_all(pn.path(to));
    pn.tool(pn.command("cp").arg("-r").arg(pn.store()).arg(pn.path(to)));
}

/// A killed restore leaves the old or the new state, also if the database is lost afterwards.
#[test]
fn restore_killed_at_any_system_call_leaves_the_old_or_the_new_state() {
    let pn = crate::sandbox();
    let one = task(&pn, "one");
    let file = pn.path("backup.sqlite").display().to_string();
    pn.pn(["backup", &file]).ok_json();
    let two = task(&pn, "two");
    copy_store(&pn, "pristine");
    let run = |_: &str| {
        fs::remove_dir_all(pn.store()).expect("removed");
        pn.tool(pn.command("cp").arg("-r").arg(pn.path("pristine")).arg(pn.store()));
        pn.pn(["restore", &file]).json()
    };
    let (old, new) = (vec![one.clone(), two], vec![one]);
    let check = |point: &str, done: bool| {
        let there: Vec<String> = sound_issues(&pn).iter().map(|issue| text(&issue["id"])).collect();
        assert!(there == new || (there == old && !done), "{point}: {there:?}");
        for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
            let _ = fs::remove_file(pn.store().join(name));
        }
        let rebuilt: Vec<String> = sound_issues(&pn).iter().map(|issue| text(&issue["id"])).collect();
        assert_eq!(rebuilt, there, "{point}");
    };
    let often = ["pwrite64", "openat", "flock"].map(|call| sweep(call, 7, run, check));
    let seldom = ["write", "fsync", "fdatasync", "rename", "ftruncate", "unlink", "mkdir"];
    let kills = often.into_iter().sum::<usize>() + seldom.map(|call| sweep(call, 1, run, check)).iter().sum::<usize>();
    assert!(kills > 20, "only {kills} kills");
}

#[test]
fn a_backup_killed_at_any_system_call_leaves_whole_backups_only() {
    let pn = crate::sandbox();
    task(&pn, "one");
    let run = |_: &str| pn.pn(["backup"]).json();
    let check = |point: &str, _: bool| {
        for backup in elements(&pn.pn(["backup", "--list"]).ok_json()) {
            let path = text(&backup["path"]);
            pn.tool(pn.command("sqlite3").arg(&path).arg("SELECT COUNT(*) FROM issues"));
        }
        assert_sound(&pn);
        task(&pn, point);
    };
    let calls = ["write", "fsync", "fdatasync", "rename", "ftruncate", "unlink"];
    let kills: usize =
        calls.map(|call| sweep(call, 1, run, check)).iter().sum::<usize>() + sweep("pwrite64", 11, run, check);
    assert!(kills > 5, "only {kills} kills");
}

/// Acknowledged writes survive a kill of the process and then the loss of the database.
#[test]
fn acknowledged_writes_survive_a_kill_and_the_loss_of_the_database() {
    let pn = crate::sandbox();
    let mut dice = Dice::new();
    let mut acknowledged: HashSet<String> = HashSet::new();
    for round in 0..12 {
        let line = |n| json!({"op": "issue.create", "title": format!("{round} {n}"), "issue_type": "task"}).to_string();
        let lines = (0..5).map(line).collect::<Vec<_>>().join("\n");
        for run in 0..3 {
            let child = pn.pn(["batch"]).stdin(lines.clone()).json().spawn();
            let delay = Duration::from_micros(if run == 2 { dice.below(40_000) } else { 1_000_000 });
            let result = if run == 2 { kill_after(child, delay) } else { finished(child) };
            acknowledged.extend(
                result
                    .iter()
                    .flat_map(|made| match made {
                        Value::Array(all) => all.clone(),
                        one => vec![one.clone()],
                    })
                    .map(|made| text(&made["id"])),
            );
        }
        for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
            let _ = fs::remove_file(pn.store().join(name));
        }
        let there: HashSet<String> = sound_issues(&pn).iter().map(|issue| text(&issue["id"])).collect();
        assert!(acknowledged.is_subset(&there), "{:?}", acknowledged.difference(&there));
    }
    assert!(acknowledged.len() >= 100, "{}", acknowledged.len());
}

fn finished(child: Child) -> Vec<Value> {
    let output = child.wait_with_output().expect("a process that ended");
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Sweeps the calls of a command that opens a store in need of repair, some of them with strides.
fn sweep_open(run: impl FnMut(&str) -> Run + Copy, check: impl FnMut(&str, bool) + Copy) {
    let often = ["pwrite64", "openat"].map(|call| sweep(call, 7, run, check));
    let seldom = ["write", "fsync", "fdatasync", "rename", "ftruncate", "unlink", "mkdir", "flock"];
    let kills = often.iter().sum::<usize>() + seldom.map(|call| sweep(call, 1, run, check)).iter().sum::<usize>();
    assert!(kills > 15, "only {kills} kills");
}

#[test]
fn a_rebuild_killed_at_any_system_call_is_done_by_the_next_command() {
    let pn = crate::sandbox();
    let id = task(&pn, "one");
    let run = |_: &str| {
        for name in ["db.sqlite-wal", "db.sqlite-shm"] {
            fs::write(pn.store().join(name), "stale").expect("written");
        }
        fs::write(pn.store().join("db.sqlite"), "this is no database\n".repeat(1000)).expect("written");
        pn.pn(["list"])
    };
    sweep_open(run, |point, _| {
        assert_eq!(ids(&pn, &["list"]), [id.as_str()], "{point}");
        assert_eq!(event_types(&pn, &id), ["created"], "{point}");
    });
    assert_sound(&pn);
}
