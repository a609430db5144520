//! Runs, harnesses, runtimes and repositories: fields, lifecycle, and rebuilding from the journal.

use std::fs;

use pensa_core::Code;
use pensa_core::ops::store::{Doctor, Severity};
use pensa_core::ops::{agent, issue, kv, repo, run};
use pensa_core::run::{Run, RunStatus};
use pensa_engine::Engine;
use serde_json::{Value, json};

use crate::conformance;
use crate::world::World;

fn seen(root: &str) -> Value {
    json!({"vcs": "git", "host": "box", "root_path": root, "remote_url": "git@example.test:Org/Repo.git"})
}

fn start(world: &World, fields: Value) -> Run {
    let mut whole = json!({"seen": seen("/work/repo")});
    whole.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
    world.json::<run::Start>("alice", whole).expect("started")
}

fn refused(world: &World, fields: Value) -> (Code, String) {
    let error = world.json::<run::Start>("alice", fields).expect_err("refused");
    (error.code, error.message)
}

conformance! {
    fn every_field_of_a_run_round_trips(world: World) {
        let issue = world.task("what it works on");
        let talker = world.json::<agent::Create>("alice", json!({"type": "user"})).expect("an agent");
        let session = talker.active_session_id.expect("a session");
        world.advance(1);
        let made = start(&world, json!({"harness": "claude-code@2.1", "runtime": "devcontainer:.devcontainer/a b.json",
            "issue": issue.id, "session": session, "prompt": "do\nit", "branch": "b", "delivery": "pr", "instances": 3,
            "labels": {"team": "a=b", "empty": ""}, "no_browser": true, "browser_profile": "p", "chatgpt_username": "c",
            "codex_workspace": "w", "workspace_path": "/tmp/x", "group": "g", "command": ["sh", "-c", "é"],
            "host": "box", "supervisor": {"pid": 7, "born": "boot 1"}, "log_dir": "/var/log/runs/", "created": true}));
        world.advance(1);
        let update = json!({"id": made.id, "started": true, "agent": {"pid": 8, "born": "boot 2"},
            "multiplexer_kind": "tmux", "mux_session": "s", "mux_window": 2, "pane_left": "%1", "pane_right": "%2"});
        world.json::<run::Update>("alice", update).expect("updated");
        world.advance(1);
        let end = json!({"id": made.id, "status": "failed", "exit_code": 3, "signal": 9, "reason": "so\nit goes"});
        let ended = world.json::<run::Finish>("bob", end).expect("finished");
        let shown = world.engine.new_handle().expect("another handle").call("a", &run::Show { id: made.id.as_str().parse().expect("a reference") });
        assert_eq!(shown.expect("shown"), ended);
        assert_eq!(json!(ended), json!({"id": made.id, "status": "failed", "repo_id": made.repo_id,
            "harness_id": made.harness_id, "harness": "claude-code@2.1", "runtime_id": made.runtime_id,
            "runtime": "devcontainer:.devcontainer/a b.json", "issue_id": issue.id, "session_id": session, "group": "g",
            "actor": "alice", "command": ["sh", "-c", "é"], "prompt": "do\nit", "branch": "b", "delivery": "pr",
            "instances": 3, "labels": {"empty": "", "team": "a=b"}, "browser_automation": false, "browser_profile": "p",
            "chatgpt_username": "c", "codex_workspace": "w", "host": "box", "agent": {"pid": 8, "born": "boot 2"},
            "supervisor": {"pid": 7, "born": "boot 1"}, "multiplexer_kind": "tmux", "mux_session": "s", "mux_window": 2,
            "pane_left": "%1", "pane_right": "%2", "log_path": format!("/var/log/runs/{}.log", made.id),
            "workspace_path": "/tmp/x", "exit_code": 3, "signal": 9, "reason": "so\nit goes",
            "started_at": "2026-02-27T14:30:01.000Z", "ended_at": "2026-02-27T14:30:03.000Z",
            "updated_at": "2026-02-27T14:30:03.000Z"}));
        let logged = world.json::<run::Events>("a", json!({"id": made.id})).expect("events");
        let logged: Vec<(&str, &str)> = logged.iter().map(|line| (line.event_type.as_str(), line.actor.as_str())).collect();
        assert_eq!(logged, [("created", "alice"), ("started", "alice"), ("finished", "bob")]);
        let after = world.json::<run::Events>("a", json!({"id": made.id, "n": 1})).expect("events")[0].id;
        assert_eq!(world.json::<run::Events>("a", json!({"id": made.id, "after": after})).expect("events").len(), 2);
    }

    fn a_run_ends_once(world: World) {
        let run = start(&world, json!({}));
        assert_eq!((run.status, run.harness.to_string(), run.runtime.to_string()),
            (RunStatus::Running, "custom@latest".into(), "local".into()));
        let finish = |status: &str| world.json::<run::Finish>("a", json!({"id": run.id, "status": status}));
        assert_eq!(finish("running").expect_err("no end").code, Code::InvalidInput);
        let ended = finish("succeeded").expect("an end");
        world.advance(5);
        assert_eq!(finish("succeeded").expect("the same end"), ended);
        assert_eq!(finish("failed").expect_err("another end").code, Code::InvalidStatusTransition);
        let late = json!({"id": run.id, "agent": {"pid": 1}});
        assert_eq!(world.json::<run::Update>("a", late).expect_err("too late").code, Code::InvalidStatusTransition);
        assert_eq!(world.json::<run::Events>("a", json!({"id": run.id})).expect("events").len(), 2);
    }

    fn a_run_is_not_ended_on_behalf_of_its_former_supervisor(world: World) {
        let run = start(&world, json!({"created": true, "supervisor": {"pid": 1}}));
        world.json::<run::Update>("a", json!({"id": run.id, "started": true, "supervisor": {"pid": 2}})).expect("taken");
        let finish = |pid: i64| {
            let fields = json!({"id": run.id, "status": "failed", "if_supervisor": {"pid": pid}});
            world.json::<run::Finish>("a", fields)
        };
        assert_eq!(finish(1).expect_err("taken over").code, Code::Conflict);
        assert_eq!(world.json::<run::Show>("a", json!({"id": run.id})).expect("shown").status, RunStatus::Running);
        assert_eq!(finish(2).expect("an end").status, RunStatus::Failed);
    }

    fn runs_are_filtered_and_listed_newest_first(world: World) {
        let issue = world.task("one");
        let mut ids = Vec::new();
        for (at, group) in ["a", "a", "b"].into_iter().enumerate() {
            world.advance(1);
            let mut fields = json!({"group": group, "seen": seen(&format!("/r{}", at % 2)), "host": format!("h{at}")});
            if at == 2 {
                fields["issue"] = json!(issue.id);
            }
            ids.push(start(&world, fields).id);
        }
        world.json::<run::Finish>("a", json!({"id": ids[0], "status": "cancelled"})).expect("an end");
        let listed = |fields: Value| -> Vec<usize> {
            let runs = world.json::<run::List>("a", fields).expect("a list");
            runs.iter().map(|run| ids.iter().position(|id| *id == run.id).expect("one of them")).collect()
        };
        assert_eq!(listed(json!({})), [2, 1, 0]);
        assert_eq!(listed(json!({"n": 1})), [2]);
        assert_eq!(listed(json!({"status": "running"})), [2, 1]);
        assert_eq!(listed(json!({"group": "a"})), [1, 0]);
        assert_eq!(listed(json!({"repo": "/r0"})), [2, 0]);
        assert_eq!(listed(json!({"issue": issue.id})), [2]);
        assert_eq!(listed(json!({"host": "h1", "status": "running"})), [1]);
        assert_eq!(listed(json!({"group": "none"})), [0usize; 0]);
        let names: Vec<String> = world.json::<run::Harnesses>("a", json!({})).expect("a list").into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["custom"]);
        assert_eq!(json!(world.json::<run::Runtimes>("a", json!({})).expect("a list"))[0]["type"], "local");
    }

    fn an_invalid_run_is_refused_and_leaves_nothing(world: World) {
        assert_eq!(refused(&world, json!({})).0, Code::NoRepo);
        assert_eq!(refused(&world, json!({"seen": {"vcs": "git"}})).0, Code::InvalidInput);
        assert_eq!(refused(&world, json!({"repo": "repo-nope"})).0, Code::NotFound);
        let with = |field: &str, value: Value| refused(&world, json!({"seen": seen("/r"), field: value}));
        assert_eq!(with("issue", json!("pn-none")).0, Code::NotFound);
        assert_eq!(with("session", json!("se-none")).0, Code::NotFound);
        assert_eq!(with("instances", json!(0)).0, Code::InvalidInput);
        assert_eq!(with("supervisor", json!({"pid": 0})).0, Code::InvalidInput);
        assert_eq!(with("prompt", json!("x".repeat(100 << 20))).0, Code::TooLarge);
        assert_eq!(with("command", json!(["x".repeat(2 << 20)])).0, Code::TooLarge);
        assert_eq!(with("branch", json!("a\nb")).0, Code::InvalidInput);
        assert!(world.json::<repo::List>("a", json!({})).expect("a list").is_empty(), "nothing is half made");
        assert!(world.json::<run::Harnesses>("a", json!({})).expect("a list").is_empty());
        let secret = format!("ghp_{}", "0123456789abcdefghijABCDEFGHIJ012345");
        let made = start(&world, json!({"prompt": format!("use {secret}"), "command": ["a\u{0}b", secret]}));
        assert!(made.task.prompt.starts_with("use [REDACTED:") && made.command[1].starts_with("[REDACTED:"), "{made:?}");
        assert_eq!(made.command[0], "ab");
    }

    fn one_directory_is_one_repository_and_two_clones_are_two(world: World) {
        let add = |fields: Value| world.json::<repo::Add>("a", fields).expect("added");
        let one = add(seen("/a"));
        assert_eq!(one.remote_url.as_deref(), Some("https://example.test/Org/Repo"));
        assert_eq!(add(json!({"vcs": "git", "host": "box", "root_path": "/a"})), one, "what is not told is kept");
        let moved = add(json!({"vcs": "git", "host": "box", "root_path": "/a", "default_branch": "main"}));
        assert_eq!((&moved.id, moved.default_branch.as_deref()), (&one.id, Some("main")));
        world.advance(1);
        let two = add(seen("/b"));
        let elsewhere = add(json!({"vcs": "git", "host": "other", "root_path": "/a"}));
        assert!(two.id != one.id && elsewhere.id != one.id);
        let show = |id: &str| world.json::<repo::Show>("a", json!({"id": id}));
        assert_eq!(show("/b").expect("by its root"), two);
        assert_eq!(show(two.id.as_str()).expect("by its id"), two);
        assert_eq!(show("/a").expect_err("two machines have one").code, Code::AmbiguousId);
        assert_eq!(show("/none").expect_err("unknown").code, Code::NotFound);
        let listed = world.json::<repo::List>("a", json!({"remote": "https://example.test/Org/Repo.git"})).expect("a list");
        assert_eq!(listed.iter().map(|repo| &repo.id).collect::<Vec<_>>(), [&one.id, &two.id]);
        start(&world, json!({"seen": seen("/b")}));
        let remove = |id: &str| world.json::<repo::Remove>("a", json!({"id": id}));
        let error = remove("/b").expect_err("a run took place there");
        assert!(error.code == Code::Conflict && error.message.contains("1 run took place in it"), "{error}");
        remove(one.id.as_str()).expect("removed");
        assert_eq!(show(one.id.as_str()).expect_err("gone").code, Code::NotFound);
    }

    fn kv_values_are_set_compared_and_deleted(world: World) {
        let set = |fields: Value| {
            let mut whole = json!({"scope": "user", "key": "k", "value": "v"});
            whole.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
            world.json::<kv::Set>("a", whole)
        };
        let get = |scope: &str, key: &str| world.json::<kv::Get>("a", json!({"scope": scope, "key": key}));
        assert_eq!(get("user", "k").expect_err("none").code, Code::NotFound);
        assert_eq!(set(json!({"if_value": "x"})).expect_err("none").code, Code::Conflict);
        let first = set(json!({"if_absent": true})).expect("set");
        assert_eq!(get("user", "k").expect("a value"), first);
        assert_eq!(set(json!({"if_absent": true})).expect_err("there").code, Code::Conflict);
        world.advance(1);
        assert_eq!(set(json!({})).expect("the same"), first, "the same value is no change");
        assert_eq!(set(json!({"if_value": "x", "value": "w"})).expect_err("another").code, Code::Conflict);
        assert_eq!(set(json!({"if_value": "v", "value": "w\n\u{202e}"})).expect("set").value, "w\n\u{202e}");
        set(json!({"scope": "project", "key": "k/2"})).expect("set");
        let listed = |fields: Value| -> Vec<String> {
            let pairs = world.json::<kv::List>("a", fields).expect("a list");
            pairs.into_iter().map(|pair| format!("{} {}", pair.scope, pair.key)).collect()
        };
        assert_eq!(listed(json!({})), ["project k/2", "user k"]);
        assert_eq!(listed(json!({"scope": "user"})), ["user k"]);
        assert_eq!(listed(json!({"prefix": "k/"})), ["project k/2"]);
        assert_eq!(set(json!({"value": "x".repeat((1 << 20) + 1)})).expect_err("large").code, Code::TooLarge);
        assert_eq!(set(json!({"scope": "No"})).expect_err("no scope").code, Code::InvalidInput);
        let secret = json!({"value": format!("token ghp_{}", "0123456789abcdefghijABCDEFGHIJ012345")});
        assert_eq!(set(secret).expect("without the secret").value, "token [REDACTED:github-pat]");
        let delete = |fields: Value| world.json::<kv::Delete>("a", fields);
        assert_eq!(delete(json!({"scope": "user", "key": "k", "if_value": "x"})).expect_err("another").code, Code::Conflict);
        delete(json!({"scope": "user", "key": "k"})).expect("deleted");
        assert_eq!(delete(json!({"scope": "user", "key": "k"})).expect_err("gone").code, Code::NotFound);
    }

    fn runs_outlive_their_deleted_issue(world: World) {
        let issue = world.task("short-lived");
        let run = start(&world, json!({"issue": issue.id}));
        world.json::<issue::Delete>("a", json!({"id": issue.id, "force": true})).expect("deleted");
        let shown = world.json::<run::Show>("a", json!({"id": run.id})).expect("shown");
        assert_eq!(shown.issue_id.as_ref(), Some(&issue.id));
    }
}

#[test]
fn workspaces_exist_only_on_servers() {
    let alone = World::sqlite();
    let error = alone.json::<repo::CreateWorkspace>("a", json!({"name": "w"})).expect_err("a store of its own");
    assert_eq!(error.code, Code::Unsupported);
    assert_eq!(alone.json::<repo::ListWorkspaces>("a", json!({})).expect_err("none").code, Code::Unsupported);
    let (code, message) = refused(&alone, json!({"seen": seen("/r"), "workspace": "w"}));
    assert!(code == Code::Unsupported && message.contains("on a server"), "{message}");
    let server = World::postgres();
    let made = server.json::<repo::CreateWorkspace>("a", json!({"name": "w", "external_id": "x"})).expect("made");
    assert_eq!(
        server.json::<repo::CreateWorkspace>("a", json!({"name": "w"})).expect_err("twice").code,
        Code::Conflict
    );
    assert_eq!(server.json::<repo::ListWorkspaces>("a", json!({})).expect("a list"), std::slice::from_ref(&made));
    assert_eq!(start(&server, json!({"workspace": "w"})).workspace_id, Some(made.id.clone()));
    assert_eq!(start(&server, json!({"workspace": made.id})).workspace_id, Some(made.id));
    assert_eq!(refused(&server, json!({"seen": seen("/r"), "workspace": "no such"})).0, Code::NotFound);
}

/// All runs of a store with what they refer to.
fn full_state(engine: &Engine) -> Value {
    fn all<O: pensa_engine::Execute>(engine: &Engine) -> Value {
        json!(engine.call("a", &serde_json::from_value::<O>(json!({})).expect("an operation")).expect(O::NAME))
    }
    json!([
        all::<run::List>(engine),
        all::<repo::List>(engine),
        all::<run::Harnesses>(engine),
        all::<run::Runtimes>(engine),
        all::<kv::List>(engine)
    ])
}

#[test]
fn runs_and_their_repositories_are_rebuilt_from_the_journal() {
    let world = World::sqlite();
    let first = start(&world, json!({"harness": "h@1", "labels": {"a": "b"}, "supervisor": {"pid": 3, "born": "x"}}));
    start(&world, json!({"harness": "h@2", "runtime": "devcontainer:x"}));
    world.json::<run::Finish>("a", json!({"id": first.id, "status": "failed", "signal": 9})).expect("an end");
    let gone = world.json::<repo::Add>("a", seen("/gone")).expect("added");
    world.json::<repo::Remove>("a", json!({"id": gone.id})).expect("removed");
    for (key, value) in [("a", "1"), ("b", "2"), ("a", "3")] {
        world.json::<kv::Set>("a", json!({"scope": "user", "key": key, "value": value})).expect("set");
    }
    world.json::<kv::Delete>("a", json!({"scope": "user", "key": "b"})).expect("deleted");
    let before = full_state(&world.engine);
    let store = world.store();
    for ending in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{ending}", store.database().display()));
    }
    let engine = Engine::open(store).expect("rebuilt");
    assert_eq!(full_state(&engine), before);
    let deep = serde_json::from_value::<Doctor>(json!({"deep": true})).expect("an operation");
    let report = engine.call("a", &deep).expect("a report");
    let worse: Vec<_> = report.findings.iter().filter(|finding| finding.severity == Severity::Error).collect();
    assert!(worse.is_empty(), "{worse:?}");
    let raw = rusqlite::Connection::open(world.store().database()).expect("opens");
    raw.execute("UPDATE runs SET status = 'succeeded'", []).expect("changed");
    raw.execute("UPDATE kv SET v = 'other'", []).expect("changed");
    let report = engine.call("a", &deep).expect("a report");
    let logged: String = report.findings.iter().map(|finding| finding.message.as_str()).collect();
    assert!(logged.contains("runs ") && logged.contains("kv user a"), "{logged}");
}
