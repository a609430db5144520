//! Jobs: slots and queue order of a lane, fields, how jobs end, and rebuilding from the journal.

use std::fs;

use pensa_core::job::{Job, JobStatus};
use pensa_core::ops::job::{Cancel, FailLostJobs, Finish, Import, List, Show, Start, Stats, TakeSlot, Update};
use pensa_core::ops::store::{Doctor, Severity};
use pensa_core::ops::{agent, record, run};
use pensa_core::{Code, Result};
use pensa_engine::Engine;
use serde_json::{Value, json};

use crate::conformance;
use crate::world::World;

fn with(base: Value, more: Value) -> Value {
    let mut whole = base;
    whole.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    whole
}

fn try_start(world: &World, fields: Value) -> Result<Job> {
    let base = json!({"lane": "net", "command": ["curl", "-s"], "slots": 2, "timeout": "60s", "host": "box",
        "supervisor": {"pid": 7, "born": "boot 1"}});
    world.json::<Start>("alice", with(base, fields))
}

fn start(world: &World, fields: Value) -> Job {
    try_start(world, fields).expect("started")
}

fn take(world: &World, job: &Job) -> JobStatus {
    world.json::<TakeSlot>("alice", json!({"id": job.id, "slots": 2})).expect("a job").status
}

fn finish(world: &World, job: &Job, fields: Value) -> Result<Job> {
    world.json::<Finish>("bob", with(json!({ "id": job.id }), fields))
}

fn show(world: &World, job: &Job) -> Job {
    world.json::<Show>("a", json!({ "id": job.id })).expect("shown")
}

conformance! {
    fn every_field_of_a_job_round_trips(world: World) {
        let issue = world.task("what it is about");
        let talker = world.json::<agent::Create>("alice", json!({"type": "user"})).expect("an agent");
        let seen = json!({"vcs": "git", "root_path": "/r"});
        let of = json!({"seen": seen, "issue": issue.id, "session": talker.active_session_id});
        let run = world.json::<run::Start>("alice", of).expect("a run");
        world.advance(1);
        let made = start(&world, json!({"tool": "fetch", "loop": "lp-1", "run": run.id, "cwd": "/w", "wait": "10m",
            "command": ["/usr/bin/curl", "it's"]}));
        world.advance(1);
        world.json::<Update>("alice", json!({"id": made.id, "process": {"pid": 8, "born": "boot 2"}})).expect("updated");
        world.advance(2);
        let output = "é\u{0}\u{1b}[2J\nend";
        let end = json!({"exit_code": 3, "reason": "so", "output": output, "output_bytes": 99, "truncated": true});
        let ended = finish(&world, &made, end).expect("an end");
        assert_eq!(Job { output: Some(output.into()), ..ended }, show(&world, &made));
        assert_eq!(json!(show(&world, &made)), json!({"id": made.id, "status": "failed", "tool_name": "fetch",
            "lane": "net", "command": r"/usr/bin/curl 'it'\''s'", "cwd": "/w", "loop_id": "lp-1", "run_id": run.id,
            "session_id": talker.active_session_id, "issue_id": issue.id, "actor": "alice", "host": "box", "pid": 8,
            "born": "boot 2", "supervisor": {"pid": 7, "born": "boot 1"}, "exit_code": 3, "reason": "so",
            "output_bytes": 99, "truncated": true, "was_timeout": false, "was_cancelled": false, "timeout_ms": 60000,
            "number": made.number, "queued_at": "2026-02-27T14:30:01.000Z", "started_at": "2026-02-27T14:30:01.000Z",
            "ended_at": "2026-02-27T14:30:04.000Z", "duration_ms": 3000, "updated_at": "2026-02-27T14:30:04.000Z",
            "output": output}));
        assert!(made.id.as_str().len() == 12 && made.id.as_str().starts_with("job-"), "{}", made.id);
        assert_eq!(start(&world, json!({"command": ["/bin/ls"]})).tool_name, "ls");
    }

    fn a_lane_grants_its_slots_in_queue_order(world: World) {
        let (a, b) = (start(&world, json!({})), start(&world, json!({})));
        let error = try_start(&world, json!({})).expect_err("full");
        assert!(error.code == Code::Busy && error.message.contains(a.id.as_str()) && error.message.contains(b.id.as_str()), "{error}");
        assert!(error.message.contains("2 of 2") && error.message.contains("process 7"), "{error}");
        let (c, d, e) = (start(&world, json!({"wait": "1m"})), start(&world, json!({"wait": "1m"})), start(&world, json!({"wait": "1m"})));
        assert_eq!([&c, &d, &e].map(|job| job.status), [JobStatus::Pending; 3]);
        assert_eq!([&c, &d, &e].map(|job| take(&world, job)), [JobStatus::Pending; 3]);
        finish(&world, &a, json!({"exit_code": 0})).expect("an end");
        assert_eq!(try_start(&world, json!({})).expect_err("others came first").code, Code::Busy);
        assert_eq!([&d, &e].map(|job| take(&world, job)), [JobStatus::Pending; 2], "it is not their turn");
        world.advance(1);
        assert_eq!(take(&world, &c), JobStatus::Running);
        assert_eq!(take(&world, &c), JobStatus::Running, "it has its slot");
        let begun = show(&world, &c);
        assert_eq!((begun.started_at.as_millis() - begun.queued_at.as_millis(), begun.duration_ms), (1000, None));
        finish(&world, &b, json!({"signal": 9})).expect("an end");
        world.json::<Cancel>("a", json!({"id": d.id})).expect("cancelled");
        assert_eq!(take(&world, &e), JobStatus::Running, "who was cancelled is in nobody's way");
        assert_eq!(world.refused::<TakeSlot>("a", json!({"id": d.id, "slots": 2})), Code::InvalidStatusTransition);
        start(&world, json!({"lane": "heavy", "slots": 1}));
        start(&world, json!({"host": "another"}));
        let more = world.json::<TakeSlot>("a", json!({"id": e.id, "slots": 0}));
        assert_eq!(more.expect_err("no slots").code, Code::InvalidInput);
    }

    fn an_expired_waiting_job_does_not_block_the_queue(world: World) {
        let (a, _) = (start(&world, json!({})), start(&world, json!({})));
        let late = start(&world, json!({"wait": "5s"}));
        world.advance(6);
        finish(&world, &a, json!({"exit_code": 0})).expect("an end");
        assert_eq!(start(&world, json!({})).status, JobStatus::Running);
        assert_eq!(take(&world, &late), JobStatus::Pending);
    }

    fn a_job_ends_once_and_a_cancelled_one_stays_cancelled(world: World) {
        let a = start(&world, json!({}));
        assert_eq!(finish(&world, &a, json!({})).expect_err("no end").code, Code::InvalidInput);
        assert_eq!(finish(&world, &a, json!({"status": "running"})).expect_err("no end").code, Code::InvalidInput);
        let ended = finish(&world, &a, json!({"status": "timeout", "signal": 15})).expect("an end");
        assert!(ended.was_timeout && ended.status == JobStatus::Timeout);
        world.advance(5);
        assert_eq!(finish(&world, &a, json!({"status": "timeout"})).expect("the same end"), ended);
        assert_eq!(finish(&world, &a, json!({"exit_code": 0})).expect_err("another").code, Code::InvalidStatusTransition);
        let process = json!({"id": a.id, "process": {"pid": 1}});
        assert_eq!(world.refused::<Update>("a", process), Code::InvalidStatusTransition);
        let b = start(&world, json!({}));
        let asked = world.json::<Cancel>("a", json!({"id": b.id})).expect("asked");
        assert_eq!((asked.status, asked.was_cancelled), (JobStatus::Running, true), "its command is still there");
        assert_eq!(try_start(&world, json!({"slots": 1})).expect_err("it has its slot").code, Code::Busy);
        let gone = finish(&world, &b, json!({"exit_code": 0, "output": "kept"})).expect("an end");
        assert_eq!((gone.status, gone.end.exit_code), (JobStatus::Cancelled, Some(0)));
        assert_eq!(show(&world, &b).output.as_deref(), Some("kept"));
        assert_eq!(world.refused::<Cancel>("a", json!({"id": a.id})), Code::InvalidStatusTransition);
    }

    fn jobs_of_dead_processes_are_ended(world: World) {
        let (a, b) = (start(&world, json!({})), start(&world, json!({})));
        let waiting = start(&world, json!({"wait": "10m"}));
        let elsewhere = start(&world, json!({"host": "another"}));
        world.json::<Cancel>("a", json!({"id": b.id})).expect("asked");
        let all = json!({"host": "box", "lost": [a.id, b.id, elsewhere.id], "overdue": [waiting.id]});
        let settled = world.json::<FailLostJobs>("a", all.clone()).expect("settled");
        let ended: Vec<(JobStatus, bool)> = settled.iter().map(|job| (job.status, job.end.reason.is_some())).collect();
        assert_eq!(ended, [(JobStatus::Failed, true), (JobStatus::Cancelled, true), (JobStatus::Timeout, true)]);
        assert_eq!(show(&world, &elsewhere).status, JobStatus::Running, "its machine was not looked at");
        assert!(world.json::<FailLostJobs>("a", all).expect("again").is_empty());
        start(&world, json!({}));
        assert_eq!(world.refused::<FailLostJobs>("a", json!({"host": "box", "lost": ["job-none"]})), Code::NotFound);
    }

    fn jobs_are_filtered_listed_newest_first_and_counted(world: World) {
        let seen = json!({"vcs": "git", "root_path": "/r"});
        let run = world.json::<run::Start>("a", json!({"seen": seen})).expect("a run");
        let mut jobs = Vec::new();
        for (at, (lane, tool)) in [("net", "a"), ("net", "b"), ("heavy", "a")].into_iter().enumerate() {
            world.advance(10);
            let mut fields = json!({"lane": lane, "tool": tool, "host": format!("h{at}")});
            if at == 1 {
                fields = with(fields, json!({"run": run.id, "loop": "lp-1"}));
            }
            jobs.push(start(&world, fields));
        }
        world.advance(2);
        finish(&world, &jobs[0], json!({"exit_code": 1, "output": "12345"})).expect("an end");
        let listed = |fields: Value| -> Vec<usize> {
            let found = world.json::<List>("a", fields).expect("a list");
            found.iter().map(|job| jobs.iter().position(|own| own.id == job.id).expect("one of them")).collect()
        };
        assert_eq!(listed(json!({})), [2, 1, 0]);
        assert_eq!(listed(json!({"n": 1})), [2]);
        assert_eq!(listed(json!({"n": 0})), [0usize; 0]);
        assert_eq!(listed(json!({"status": "running"})), [2, 1]);
        assert_eq!(listed(json!({"lane": "net"})), [1, 0]);
        assert_eq!(listed(json!({"tool": "a", "status": "failed"})), [0]);
        assert_eq!(listed(json!({"loop": "lp-1"})), [1]);
        assert_eq!(listed(json!({"run": run.id})), [1]);
        assert_eq!(listed(json!({"host": "h2"})), [2]);
        assert_eq!(world.refused::<List>("a", json!({"run": "run-none"})), Code::NotFound);
        let stats = |fields: Value| json!(world.json::<Stats>("a", fields).expect("told"));
        let all = stats(json!({}));
        assert_eq!(all.as_array().expect("a list").len(), 3);
        assert_eq!(all[1], json!({"tool_name": "a", "lane": "net", "count": 1, "unfinished": 0, "failures": 1,
            "timeouts": 0, "cancelled": 0, "output_bytes": 5, "p50_ms": 22000, "p95_ms": 22000, "max_ms": 22000}));
        assert_eq!(stats(json!({"since": "15s"})).as_array().expect("a list").len(), 2);
        assert_eq!(stats(json!({"lane": "heavy"}))[0]["unfinished"], 1);
        assert_eq!(stats(json!({"tool": "none"})), json!([]));
        assert_eq!(world.json::<Show>("a", json!({"id": &jobs[1].id.as_str()[4..]})).expect("by its beginning").id, jobs[1].id);
        assert_eq!(world.refused::<Show>("a", json!({"id": "job-none"})), Code::NotFound);
    }

    fn an_invalid_job_is_refused_and_secrets_are_redacted(world: World) {
        for (fields, code) in [
            (json!({"slots": 0}), Code::InvalidInput),
            (json!({"slots": 1001}), Code::InvalidInput),
            (json!({"timeout": "8d"}), Code::InvalidInput),
            (json!({"command": []}), Code::InvalidInput),
            (json!({"command": ["x".repeat(70 << 10)]}), Code::TooLarge),
            (json!({"tool": "a\u{1b}b"}), Code::InvalidInput),
            (json!({"cwd": "a\nb"}), Code::InvalidInput),
            (json!({"run": "run-none"}), Code::NotFound),
            (json!({"session": "se-none"}), Code::NotFound),
            (json!({"issue": "pn-none"}), Code::NotFound),
            (json!({"supervisor": {"pid": 0}}), Code::InvalidInput),
        ] {
            assert_eq!(try_start(&world, fields.clone()).expect_err("refused").code, code, "{fields}");
        }
        assert!(world.json::<List>("a", json!({})).expect("a list").is_empty(), "nothing is half made");
        let secret = format!("ghp_{}", "0123456789abcdefghijABCDEFGHIJ012345");
        let job = start(&world, json!({"command": ["a\u{0}b", secret]}));
        assert!(job.command.contains("[REDACTED:") && !job.command.contains(&secret), "{}", job.command);
        let large = json!({"exit_code": 0, "output": "x".repeat(2 << 20)});
        assert_eq!(finish(&world, &job, large).expect_err("too large").code, Code::TooLarge);
        assert_eq!(finish(&world, &job, json!({"exit_code": 0, "output_bytes": -1})).expect_err("less").code, Code::InvalidInput);
        let odd = format!("token {secret}\n{}", "\u{1}".repeat(500 << 10));
        let ended = finish(&world, &job, json!({"exit_code": 0, "output": odd})).expect("an end");
        let kept = show(&world, &job).output.expect("an output");
        assert!(ended.truncated && kept.contains("[REDACTED:") && !kept.contains(&secret), "{}", &kept[..100]);
        for op in ["put", "delete"] {
            let fields = json!({"collection": "tool_jobs", "id": job.id});
            let code = match op {
                "put" => world.refused::<record::Put>("a", with(fields, json!({"data": {}}))),
                _ => world.refused::<record::Delete>("a", fields),
            };
            assert_eq!(code, Code::Forbidden, "{op}");
        }
        let odd = json!({"changes": [{"delete": {"collection": "tool_jobs", "id": job.id}}]});
        assert_eq!(world.refused::<record::Apply>("a", odd), Code::Forbidden);
    }

    fn jobs_of_another_tool_are_imported_once_or_not_at_all(world: World) {
        let record = |id: &str| json!({"id": id, "tool_name": "sh", "lane": "net", "started_at": 1_772_202_600_000_i64});
        let import = |records: Value| world.json::<Import>("a", json!({ "records": records }));
        assert_eq!(import(json!([record("1"), {"id": "2"}])).expect_err("no job").code, Code::InvalidInput);
        assert!(world.json::<List>("a", json!({})).expect("a list").is_empty());
        assert_eq!(import(json!([record("1"), record("2")])).expect("taken in").len(), 2);
        assert_eq!(import(json!([record("2"), record("3")])).expect("taken in").len(), 1);
        let all = world.json::<List>("a", json!({"lane": "net"})).expect("a list");
        assert!(all.len() == 3 && all.iter().all(|job| job.status == JobStatus::Failed), "{all:?}");
    }
}

/// All jobs of a store with their output.
fn full_state(engine: &Engine) -> Vec<Value> {
    let list: List = serde_json::from_value(json!({})).expect("an operation");
    let jobs = engine.call("a", &list).expect("a list");
    jobs.iter().map(|job| json!(engine.call("a", &Show { id: (&job.id).into() }).expect("shown"))).collect()
}

#[test]
fn jobs_and_their_output_are_rebuilt_from_the_journal() {
    let world = World::sqlite();
    let (a, b) = (start(&world, json!({})), start(&world, json!({})));
    let c = start(&world, json!({"wait": "10m"}));
    finish(&world, &a, json!({"exit_code": 0, "output": "kept"})).expect("an end");
    assert_eq!(take(&world, &c), JobStatus::Running);
    let before = full_state(&world.engine);
    assert_eq!(before.len(), 3);
    let store = world.store();
    for ending in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{ending}", store.database().display()));
    }
    let engine = Engine::open(store).expect("rebuilt");
    assert_eq!(full_state(&engine), before);
    let again = json!({"lane": "net", "command": ["x"], "slots": 2, "timeout": "60s", "host": "box"});
    let again: Start = serde_json::from_value(again).expect("an operation");
    let error = engine.call("a", &again).expect_err("the slots are still taken");
    assert!(error.code == Code::Busy && error.message.contains(b.id.as_str()), "{error}");
    let deep = serde_json::from_value::<Doctor>(json!({"deep": true})).expect("an operation");
    let report = engine.call("a", &deep).expect("a report");
    let worse: Vec<_> = report.findings.iter().filter(|finding| finding.severity == Severity::Error).collect();
    assert!(worse.is_empty(), "{worse:?}");
}
