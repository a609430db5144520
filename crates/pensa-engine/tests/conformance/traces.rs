//! Traces: everything that belongs to an issue, in chronological order, with its costs.

use pensa_core::ops::{
    agent, comment, dep, issue, job, learning, loops, release, run, session, signal, snapshot, trace, work,
};
use pensa_core::trace::{Kind, Trace, TraceEntry};
use pensa_core::{Access, Code};
use pensa_engine::{Caller, log_after};
use serde_json::{Value, json};

use crate::conformance;
use crate::world::World;

fn traced(world: &World, fields: Value) -> Trace {
    world.json::<trace::Trace>("reader", fields).expect("a trace")
}

/// Kind, event, actor and text of each entry, oldest first.
fn lines(trace: &Trace) -> Vec<String> {
    let shown = |entry: &TraceEntry| {
        let actor = entry.actor.as_deref().unwrap_or("-");
        let failed = if entry.failed { " !" } else { "" };
        format!("{} {} {actor}{failed} | {}", entry.kind, entry.event, entry.text)
    };
    trace.entries.iter().map(shown).collect()
}

/// An issue with every kind of entry.
fn issue_with_everything(world: &World) -> String {
    let made = world.json::<issue::Create>("ana", json!({"title": "log in", "issue_type": "bug", "priority": "p0"}));
    let id = made.expect("created").issue.id.to_string();
    let first = world.task("first").id;
    world.json::<dep::Add>("ana", json!({"issue_id": first, "depends_on_id": id})).expect("linked");
    world.advance(10);
    world.json::<issue::Update>("ana", json!({"id": id, "claim": true, "ttl": "1m"})).expect("claimed");
    world.advance(100);
    world.json::<comment::Add>("zoe", json!({"id": id, "text": "it still\ncrashes"})).expect("said");
    world.advance(10);
    let begin = json!({"what": id, "branch": "fix", "steps": ["find", "mend"]});
    world.json::<work::Start>("ben", begin).expect("started");
    world.advance(10);
    let started =
        json!({"seen": {"vcs": "git", "root_path": "/r"}, "issue": id, "prompt": "mend it", "harness": "h@1"});
    let failing = world.json::<run::Start>("ben", started).expect("a run").id;
    world.advance(10);
    let talker = world.json::<agent::Create>("ben", json!({"type": "user", "run_id": failing})).expect("an agent").id;
    let entries = json!([
        {"type": "user_message", "text": "mend it"},
        {"type": "assistant_message", "text": "on it", "tokens": {"provider": "p", "model": "m",
            "size": {"input": 100, "output": 20, "cacheRead": 5, "cacheWrite": 1, "total": 126}}},
        {"type": "assistant_message", "text": "done", "usage": {"input_tokens": 10, "output_tokens": 4, "cost": 0.25}},
    ]);
    world.json::<session::Append>("ben", json!({"id": talker, "entries": entries})).expect("appended");
    world.advance(10);
    let taken = json!({"provider": "copy", "host": "box", "root": "/r", "seen": {"vcs": "git", "root_path": "/r"},
        "run": failing, "label": "before"});
    world.json::<snapshot::Create>("ben", taken).expect("a snapshot");
    world.advance(10);
    let end = json!({"id": failing, "status": "failed", "exit_code": 3, "reason": "no luck"});
    world.json::<run::Finish>("ben", end).expect("over");
    let record = json!({"id": "lp-1", "loop_type": "code", "status": "failed", "progress": "half", "issue_id": id});
    let other = json!({"id": "lp-2", "loop_type": "plan", "status": "paused", "issue_id": "pn-other"});
    world.json::<loops::ImportLoops>("ben", json!({"records": [record, other]})).expect("taken");
    let stop = json!({"id": "sg-1", "signal_type": "stop", "target_loop": "lp-1", "reason": "enough", "actor": "ana"});
    world.json::<signal::ImportSignals>("ana", json!({"records": [stop]})).expect("taken");
    world.json::<signal::Send>("ana", json!({"signal_type": "info", "to": failing})).expect("sent");
    let begun =
        json!({"lane": "net", "command": ["make"], "slots": 5, "timeout": "60s", "host": "box", "loop": "lp-1"});
    let job = world.json::<job::Start>("ben", begun).expect("a job").id;
    world.advance(30);
    world.json::<job::Finish>("ben", json!({"id": job, "status": "timeout"})).expect("over");
    world.json::<signal::Ack>("ben", json!({"id": "sg-1", "as": "lp-1"})).expect("heard");
    world.advance(1000);
    world.json::<work::FinishStep>("ben", json!({})).expect("ticked");
    world.json::<learning::Remember>("ben", json!({"text": "empty passwords crash", "issue": id})).expect("learned");
    world.advance(10);
    world.json::<work::Done>("ben", json!({"reason": "mended"})).expect("done");
    world.advance(10);
    let shipped = json!({"name": "log in again", "version": "1.0.1", "issues": [id]});
    world.json::<release::Ship>("ana", shipped).expect("shipped");
    id
}

conformance! {
    fn a_trace_has_everything_about_an_issue_in_order(world: World) {
        let id = issue_with_everything(&world);
        let trace = traced(&world, json!({"id": id}));
        assert_eq!(trace.issue.id.as_str(), id);
        assert!(trace.entries.is_sorted_by_key(|entry| entry.at), "{trace:?}");
        let of_records = |line: &String| ["loop ", "job ", "signal "].iter().any(|kind| line.starts_with(kind));
        let (records, others): (Vec<String>, Vec<String>) = lines(&trace).into_iter().partition(of_records);
        for begins in ["loop created ben", "signal stop ana | to lp-1: enough", "signal acknowledged", "signal info ana",
            "job started ben | make: make", "job timeout - !"] {
            assert!(records.iter().any(|line| line.starts_with(begins)), "{begins} in {records:?}");
        }
        assert_eq!(records.len(), 6, "{records:?}");
        assert_eq!(others, [
            "issue created ana | p0 bug: log in",
            "issue claimed ana | until 2026-02-27T14:31:10.000Z",
            // The first read after its end records the expiry of a lease.
            "issue lease_expired pensa ! | was held by ana",
            "comment said zoe | it still\ncrashes",
            "issue claimed ben | ",
            "work task.created ben | on branch fix, steps: find; mend",
            "work task.started ben | ",
            "run started ben | h@1 mend it",
            "session opened - | agent {AGENT}, 3 entries, 140 tokens",
            "snapshot created ben | copy before",
            "run failed ben ! | exit code 3, no luck",
            "work subtask.completed ben | 1. find",
            "learning learned ben | pattern: empty passwords crash",
            "issue closed ben | mended",
            "work task.completed ben | ",
            "release shipped ana | 1.0.1 log in again",
        ].map(|line| line.replace("{AGENT}", trace.totals.sessions[0].agent_id.as_str())));
        assert!(trace.left_out == 0 && trace.notes.is_empty(), "{trace:?}");
    }

    fn totals_have_claim_times_and_costs(world: World) {
        let id = issue_with_everything(&world);
        let totals = traced(&world, json!({"id": id})).totals;
        let held: Vec<(&str, i64, Option<&str>)> = totals.claims.iter()
            .map(|claim| (claim.actor.as_str(), claim.duration_ms / 1000, claim.ended_by.as_deref())).collect();
        assert_eq!(held, [("ana", 60, Some("lease_expired")), ("ben", 1080, Some("closed"))]);
        assert_eq!((totals.claimed_ms, totals.age_ms), (1_140_000, 1_200_000));
        assert_eq!((totals.steps, totals.steps_done, totals.comments, totals.signals), (2, 1, 1, 2));
        let counts = |count: &pensa_core::trace::ActivityTotal| (count.count, count.failed, count.duration_ms);
        assert_eq!((counts(&totals.runs), counts(&totals.jobs)), ((1, 1, 30_000), (1, 1, 30_000)));
        assert_eq!((totals.loops.count, totals.loops.failed), (1, 1));
        assert_eq!((totals.snapshots, totals.commits, totals.learnings, totals.releases), (1, 0, 1, 1));
        let tokens = json!({"input": 110, "output": 24, "cache_read": 5, "cache_write": 1, "total": 140});
        assert_eq!((json!(totals.tokens), totals.cost_usd), (tokens.clone(), Some(0.25)));
        assert_eq!((json!(totals.sessions[0].tokens), totals.sessions[0].entries), (tokens, 3));
    }

    fn a_limited_trace_has_the_last_entries_and_counts_the_rest(world: World) {
        let id = issue_with_everything(&world);
        let (all, some) = (traced(&world, json!({"id": id})), traced(&world, json!({"id": id, "n": 3})));
        assert_eq!((some.entries.len(), some.left_out), (3, all.left_out + i64::try_from(all.entries.len()).expect("few") - 3));
        assert_eq!((&some.entries[..], &some.totals), (&all.entries[all.entries.len() - 3..], &all.totals));
        assert_eq!(traced(&world, json!({"id": id, "limit": 0})).left_out, i64::try_from(all.entries.len()).expect("few"));
        assert_eq!(traced(&world, json!({"id": id, "limit": u32::MAX})).entries.len(), all.entries.len());
    }

    fn a_trace_is_read_only_and_about_one_issue(world: World) {
        let other = world.task("another");
        let id = issue_with_everything(&world);
        world.json::<comment::Add>("zoe", json!({"id": other.id, "text": "of the other"})).expect("said");
        let log = || world.engine.run(Access::Read, &Caller::local("a"), |_, tx| log_after(tx, 0, 1000)).expect("the log").len();
        let before = log();
        let trace = traced(&world, json!({"id": other.id}));
        assert_eq!(lines(&trace), ["issue created alice | p2 task: another", "comment said zoe | of the other"]);
        assert!(!lines(&traced(&world, json!({"id": id}))).iter().any(|line| line.contains("of the other")));
        assert_eq!(log(), before);
        assert_eq!(world.refused::<trace::Trace>("a", json!({"id": "pn-none"})), Code::NotFound);
        assert_eq!(world.refused::<trace::Trace>("a", json!({"id": "a b"})), Code::InvalidInput);
    }

    fn an_imported_issue_without_events_has_start_and_end(world: World) {
        let issue = world.task("carried by git");
        world.json::<issue::Close>("ana", json!({"id": issue.id, "reason": "done"})).expect("closed");
        world.ok(&pensa_core::ops::store::Export::default());
        let fresh = world.imported_from_files();
        let trace = fresh.call("a", &trace::Trace { id: (&issue.id).into(), limit: None }).expect("a trace");
        let events: Vec<(Kind, &str)> = trace.entries.iter().map(|entry| (entry.kind, entry.event.as_str())).collect();
        assert_eq!(events, [(Kind::Issue, "created"), (Kind::Issue, "closed")]);
    }
}
