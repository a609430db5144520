//! Random operations on all entities: a database rebuilt from its journal has the same rows in every table. SQLite
//! only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use pensa_core::Result;
use pensa_core::ops::kv;
use pensa_engine::{Caller, entry};
use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::histories::{self, Step};
use crate::world::World;

/// Tables that may differ, with the reason.
const BOOKKEEPING: [(&str, &str); 2] = [
    ("_migrations", "says when this file was made"),
    ("answers", "old ones are forgotten now and then, and long ones are not in the journal"),
];

/// What many texts or a model fill; derived, and tested with recall.
const OF_MANY_TEXTS: [&str; 2] = ["recall_parts", "vectors"];
/// Tables that only a server's store has.
const OF_SERVERS: [&str; 3] = ["projects", "tokens", "workspaces"];

type Tables = BTreeMap<String, Vec<String>>;

/// Every row of every table, with every column.
fn tables(world: &World) -> Tables {
    let connection = Connection::open(world.store().database()).expect("opens");
    let all = |sql: &str| -> Vec<String> {
        let mut select = connection.prepare(sql).expect("a table");
        let names: Vec<String> = select.column_names().map(str::to_owned).collect();
        let read = |row: &rusqlite::Row<'_>| {
            let value = |(at, name): (usize, &String)| {
                format!("{name}={:?} ", row.get::<_, rusqlite::types::Value>(at).expect("a value"))
            };
            Ok(names.iter().enumerate().map(value).collect())
        };
        let mut rows: Vec<String> = select.query_map([], read).expect("rows").map(|row| row.expect("a row")).collect();
        rows.sort();
        rows
    };
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table'";
    let mut select = connection.prepare(names).expect("tables");
    let names = select.query_map([], |row| row.get::<_, String>(0)).expect("rows").map(|name| name.expect("a name"));
    let names = names.filter(|name| BOOKKEEPING.iter().all(|(kept, _)| kept != name));
    names.map(|name| (name.clone(), all(&format!("SELECT * FROM {name}")))).collect()
}

/// Runs an operation by name, as a server does.
pub(crate) fn run(world: &World, actor: &str, name: &str, input: &Value) -> Result<String> {
    let (operation, caller) = (entry(name).expect(name), Caller::local(actor));
    match operation.alone {
        Some(alone) => alone(&world.engine, &caller, None, input),
        None => world.engine.run(operation.access, &caller, |cx, tx| (operation.run)(cx, tx, input)),
    }
}

/// The key of some row; an unused one if there are no rows.
fn pick(world: &World, sql: &str, number: usize) -> String {
    let connection = Connection::open(world.store().database()).expect("opens");
    let mut select = connection.prepare(sql).expect("a query");
    let keys: Vec<String> =
        select.query_map([], |row| row.get(0)).expect("rows").map(|key| key.expect("a key")).collect();
    keys.get(number % keys.len().max(1)).cloned().unwrap_or_else(|| "none".into())
}

/// The number of different steps.
const STEPS: usize = 71;

/// One step by number.
fn apply_step(world: &World, step: Step) -> Result<String> {
    let (what, a, b, who) = step;
    let actor = histories::ACTORS[who % 3];
    let of = |table: &str| pick(world, &format!("SELECT id FROM {table} ORDER BY id"), a);
    let record = |of: &str| pick(world, &format!("SELECT id FROM records WHERE collection = '{of}' ORDER BY id"), a);
    let (issue, agent) = (of("issues"), of("agents"));
    let scope = ["project", "user", "repo:x"][a % 3];
    let seen = json!({"vcs": "git", "host": "box", "root_path": format!("/r{}", a % 3)});
    let (name, input) = match usize::from(what) % STEPS {
        kind @ 0..=15 => {
            histories::apply_step(world, (u8::try_from(kind).unwrap_or(0), a, b, who), true);
            return Ok(String::new());
        }
        16 | 17 => ("kv.set", json!({"scope": scope, "key": format!("k{}", b % 3), "value": format!("v{a}")})),
        18 => ("kv.delete", json!({"scope": scope, "key": format!("k{}", b % 3)})),
        19 | 20 => ("skill.set", json!({"name": format!("n{}", a % 3), "skills": [format!("s{b}"), "rust"]})),
        21 => ("skill.remove", json!({"name": format!("n{}", a % 3)})),
        22 => {
            ("learning.remember", json!({"text": format!("found out {a} about {b}"), "tags": ["ci"], "issue": issue}))
        }
        23 => ("learning.remember", json!({"text": format!("better known {b}"), "supersedes": of("learnings")})),
        24 => ("learning.verify", json!({"id": of("learnings")})),
        25 => ("learning.forget", json!({"id": of("learnings")})),
        26 => ("release.ship", json!({"name": "r", "version": format!("{a}.{b}"), "issues": [issue]})),
        27 => ("work.start", json!({"what": format!("work {a}"), "steps": ["one", "two"]})),
        28 => ("work.step.done", json!({})),
        29 => ("work.pause", json!({})),
        30 => ("work.done", json!({})),
        31 => ("agent.create", json!({"type": "user", "name": format!("boss{a}")})),
        32 => ("agent.create", json!({"type": "subagent", "parent": agent})),
        33 => ("agent.update", json!({"id": agent, "descriptor": {"n": b}, "tokens": {"total": a}})),
        34 => ("agent.delete", json!({"id": agent, "force": true})),
        35 => (["agent.sleep", "agent.wake", "agent.kill"][b % 3], json!({"id": agent})),
        36 | 37 => (
            "session.append",
            json!({"id": agent, "entries": [{"type": "note", "data": {"text": "x"}}, {"type": "user_message", "data": {"text": format!("said {b}")}}]}),
        ),
        38 => ("session.reset", json!({"id": agent, "message": "anew"})),
        39 => (["session.archive", "session.delete"][b % 2], json!({"id": of("sessions")})),
        40 => ("repo.add", seen),
        41 => ("repo.remove", json!({"id": of("repos")})),
        42 => ("run.start", json!({"seen": seen, "harness": "claude-code@2.1", "runtime": "local", "issue": issue})),
        43 => ("run.finish", json!({"id": of("runs"), "status": "failed", "exit_code": 3})),
        44 => ("snapshot.create", json!({"provider": "copy", "host": "box", "root": "/work", "seen": seen})),
        45 => ("snapshot.delete", json!({"id": of("fs_snapshots")})),
        46 | 47 => ("record.put", json!({"collection": "plans", "id": format!("p{}", a % 4), "data": {"n": b}})),
        48 => ("record.delete", json!({"collection": "plans", "id": format!("p{}", a % 4)})),
        49 => ("record.index", json!({"collection": "plans", "fields": ["n"]})),
        50 => ("ref.add", json!({"id": issue, "target": format!("linear:PRJ-{b}")})),
        51 => ("ref.remove", json!({"id": record("refs")})),
        52 => ("lock.acquire", json!({"name": format!("l{}", a % 2), "token": "t", "ttl": "1h"})),
        53 => ("job.start", json!({"lane": "heavy", "tool": "made", "slots": 1, "timeout": "60s", "host": "box"})),
        54 => (["undo", "redo"][b % 2], json!({"force": true})),
        55 => ("store.export", json!({})),
        56 => {
            // Somebody else changed the files.
            let file = world.store().root().join("issues.jsonl");
            let lines = fs::read_to_string(&file).unwrap_or_default();
            let _ = run(world, actor, "issue.update", &json!({"id": issue, "title": format!("ours {b}")}));
            fs::write(file, lines.replace("\"title\":\"", &format!("\"title\":\"theirs {b}, "))).expect("written");
            ("store.import", json!({}))
        }
        57 => ("store.gc", json!({"older_than": "1h"})),
        58 => ("harness.set", json!({"harness": "claude-code@2.1", "metadata": {"n": b}})),
        59 => {
            let line = json!({"scope": "user", "key": format!("far{a}"), "value": format!("{b}"), "updated_at": "2026-01-01T00:00:00.000Z", "later": [b]});
            let sent = json!({"collection": "kv", "id": format!("user far{a}"), "line": line.to_string()});
            let turn = pick(world, "SELECT CAST(turn AS TEXT) FROM peers WHERE peer = 'there'", 0);
            let turn: i64 = turn.parse().unwrap_or(0);
            ("sync.take", json!({"entries": [sent], "peer": {"store_id": "there", "turn": turn}}))
        }
        61 => ("issue.update", json!({"id": issue, "add_labels": [format!("l{b}")], "due": "+3d", "estimate": "2h"})),
        62 => ("issue.update", json!({"id": issue, "parent": pick(world, "SELECT id FROM issues ORDER BY id", b)})),
        63 => ("issue.update", json!({"id": issue, "parent": "", "defer": (["", "+1d"][b % 2])})),
        64 => {
            ("issue.update", json!({"id": issue, "acceptance": [format!("c{b}")], "fields": {"size": format!("{b}")}}))
        }
        65 => ("issue.accept", json!({"id": issue, "number": 1})),
        66 => ("link.add", json!({"id": issue, "to": pick(world, "SELECT id FROM issues ORDER BY id", b)})),
        67 => ("label.rename", json!({"old": format!("l{a}"), "new": format!("l{b}")})),
        68 => (
            ["view.save", "view.remove"][b % 2],
            match b % 2 {
                0 => json!({"name": format!("v{}", a % 3), "query": format!("label:l{b}")}),
                _ => json!({"name": format!("v{}", a % 3)}),
            },
        ),
        60 => {
            let set = kv::Set {
                scope: "user".into(),
                key: "once".into(),
                value: format!("{b}"),
                if_value: None,
                if_absent: false,
            };
            let answer = world.engine.call_once(&Caller::local(actor), &format!("key{a}"), &set);
            return answer.map(|pair| pair.value);
        }
        _ => {
            world.advance(60 * 20);
            return Ok(String::new());
        }
    };
    run(world, actor, name, &input)
}

fn delete_database(world: &World) {
    for file in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
        let _ = fs::remove_file(world.store().root().join(file));
    }
}

/// Deletes the database, then the backups too, and compares what is rebuilt.
#[track_caller]
fn assert_rebuilt(world: &World) {
    // A read releases expired leases.
    world.ready();
    let before = tables(world);
    for lost in ["nothing else", "backups"] {
        delete_database(world);
        let _ = fs::remove_dir_all(world.store().root().join("local").join(lost));
        drop(world.engine.new_handle().expect("rebuilt"));
        for (table, rows) in tables(world) {
            let differ = |one: &[String], other: &[String]| -> Vec<String> {
                one.iter().filter(|row| !other.contains(row)).cloned().collect()
            };
            let (gone, new) = (differ(&before[&table], &rows), differ(&rows, &before[&table]));
            assert!(rows == before[&table], "without {lost}, {table} had {gone:#?}\nand has {new:#?}");
        }
    }
}

/// Every step three times; calls `after` after each.
fn apply_each_step(world: &World, mut after: impl FnMut(usize)) {
    for step in 0..3 * STEPS {
        let kind = u8::try_from(step % STEPS).expect("few");
        let refused = apply_step(world, (kind, step, step / STEPS + step, step)).err();
        let is_no_operation = |text: &str| text.contains("missing field") || text.contains("unknown field");
        assert_eq!(refused.filter(|error| is_no_operation(&error.message)), None, "step {step}");
        world.advance(1);
        after(step);
    }
}

#[test]
fn a_rebuilt_database_has_the_same_rows_in_every_table() {
    let world = World::with_new_ids();
    let mut empty: BTreeSet<String> = tables(&world).into_keys().collect();
    empty.retain(|name| !OF_SERVERS.contains(&name.as_str()) && !OF_MANY_TEXTS.contains(&name.as_str()));
    apply_each_step(&world, |step| {
        let now = tables(&world);
        empty.retain(|table| now[table].is_empty());
        if step % STEPS == 33 {
            assert_rebuilt(&world);
        }
    });
    assert_eq!(empty, BTreeSet::new(), "no step has filled these");
    assert_rebuilt(&world);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// After any steps, rows, derived tables and `changes` are rebuilt exactly.
    #[test]
    fn any_history_is_rebuilt_with_the_same_rows(steps in histories::steps(120)) {
        let world = World::with_new_ids();
        // An import into an empty store is rebuilt from its files, not from the journal.
        world.task("first");
        for step in steps {
            // Refused or not, everything that was written is in the journal.
            let _ = apply_step(&world, step);
            world.advance(1);
        }
        assert_rebuilt(&world);
    }
}
