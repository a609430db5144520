//! Plain export and import, and the drift check of doctor.

use std::fs;

use pensa_core::ops::{comment, issue, store};
use pensa_core::{Code, issue::Status};
use pensa_engine::Engine;
use serde_json::json;

use crate::conformance;
use crate::world::World;

fn listing(engine: &Engine) -> serde_json::Value {
    let issues = engine.call("a", &issue::List::default()).expect("a list");
    let details: Vec<_> =
        issues.iter().map(|issue| engine.call("a", &issue::Show { id: (&issue.id).into() }).expect("shown")).collect();
    json!(details)
}

fn rich(world: &World) {
    let bug = world.create(json!({"title": "bug \u{202E} \u{7}".trim_end_matches('\u{7}'), "issue_type": "bug"}));
    let fix = world.create(json!({"title": "fix", "fixes": bug.id, "description": "many\nlines", "spec": "s"}));
    let child = world.create(json!({"title": "child", "deps": [fix.id, bug.id]}));
    world.advance(1);
    world.json::<comment::Add>("bob", json!({"id": child.id, "text": "a\tb"})).expect("said");
    world.json::<issue::Update>("bob", json!({"id": fix.id, "claim": true})).expect("claimed");
    world.json::<issue::Close>("bob", json!({"id": bug.id, "reason": "r"})).expect("closed");
}

conformance! {
    fn export_and_import_round_trip(world: World) {
        rich(&world);
        let before = listing(&world.engine);
        assert_eq!(
            json!(world.ok(&store::Export::default())),
            json!({"status": "ok", "issues": 3, "deps": 2, "comments": 1})
        );
        let again = world.imported_from_files();
        assert_eq!(listing(&again), before);
        assert_eq!(again.call("a", &issue::Ready::default()).expect("a list").len(), 0);
    }

    fn an_imported_lease_is_renewed_with_its_length(world: World) {
        let task = world.task("a");
        world.json::<issue::Update>("bob", json!({"id": task.id, "claim": true, "ttl": "1h"})).expect("claimed");
        world.ok(&store::Export::default());
        let again = world.imported_from_files();
        world.advance(1800);
        let op: issue::Heartbeat = serde_json::from_value(json!({"id": task.id})).expect("an operation");
        let renewed = again.call("bob", &op).expect("still bob's");
        assert_eq!(renewed.lease_expires_at, Some("2026-02-27T16:00:00Z".parse().expect("a time")));
    }

    fn half_a_cycle_from_each_branch_is_imported_and_reported(world: World) {
        let (a, b) = (world.task("a"), world.task("b"));
        world.link(&a, &b);
        world.ok(&store::Export::default());
        let path = world.store().root().join("deps.jsonl");
        let other = json!({"issue_id": b.id, "depends_on_id": a.id});
        fs::write(&path, format!("{}{other}\n", fs::read_to_string(&path).expect("a file"))).expect("written");
        world.ok(&store::Import::default());
        let report = world.ok(&store::Doctor { fix: false, deep: false });
        assert!(report.findings.iter().any(|finding| finding.check == "cycle"), "{:?}", report.findings);
        world.link(&a, &b);
    }

    fn exports_are_sorted_and_the_same_every_time(world: World) {
        rich(&world);
        world.ok(&store::Export::default());
        let read = || ["issues", "deps", "comments"].map(|name| {
            fs::read_to_string(world.store().root().join(format!("{name}.jsonl"))).expect("a file")
        });
        let first = read();
        world.ok(&store::Export::default());
        assert_eq!(read(), first);
        let [issues, deps, _] = &first;
        let created: Vec<String> = issues.lines().map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
            format!("{}{}", line["created_at"], line["id"])
        }).collect();
        assert!(created.is_sorted());
        assert!(deps.lines().collect::<Vec<_>>().is_sorted());
        assert!(!issues.contains("null") && issues.ends_with("}\n"), "{issues}");
    }

    fn import_keeps_newer_and_unexported_changes(world: World) {
        let task = world.task("old title");
        world.ok(&store::Export::default());
        world.advance(10);
        world.json::<issue::Update>("alice", json!({"id": task.id, "title": "newer title"})).expect("updated");
        let local = world.task("never exported");
        world.ok(&store::Import::default());
        assert_eq!(world.show(&task).title, "newer title");
        assert_eq!(world.show(&local).title, "never exported");
    }

    fn an_invalid_line_refuses_the_whole_import_and_is_named(world: World) {
        world.task("here");
        world.ok(&store::Export::default());
        let path = world.store().root().join("issues.jsonl");
        let good = fs::read_to_string(&path).expect("a file");
        let newer = good.replace("here", "changed").replace("2026-", "2027-");
        let before = listing(&world.engine);
        for bad in ["<<<<<<< HEAD", "{\"id\":\"pn-1\"", "[]", "{\"id\":5}"] {
            fs::write(&path, format!("{newer}{bad}\n")).expect("written");
            let error = world.call(&store::Import::default()).expect_err(bad);
            assert_eq!(error.code, Code::InvalidInput);
            assert!(error.message.contains("issues.jsonl line 2"), "{error}");
            assert_eq!(listing(&world.engine), before);
        }
    }

    /// Files of an interrupted export are from two different times.
    fn a_line_waits_for_its_missing_issue(world: World) {
        let (a, b) = (world.task("a"), world.task("b"));
        world.link(&a, &b);
        world.ok(&store::Export::default());
        let path = world.store().root().join("issues.jsonl");
        let whole = fs::read_to_string(&path).expect("a file");
        let first = whole.lines().next().expect("a line");
        fs::write(&path, format!("{first}\n")).expect("written");
        let half = world.imported_from_files();
        assert_eq!(half.call("a", &issue::List::default()).expect("a list").len(), 1);
        fs::write(&path, &whole).expect("written");
        half.call("a", &store::Import::default()).expect("imported");
        assert_eq!(listing(&half), listing(&world.engine));
    }

    fn the_doctor_reports_claims_and_drift_and_releases_on_request(world: World) {
        let (held, leased) = (world.task("held"), world.task("leased"));
        world.json::<issue::Update>("bob", json!({"id": held.id, "claim": true})).expect("claimed");
        world.json::<issue::Update>("bob", json!({"id": leased.id, "claim": true, "ttl": "30d"})).expect("claimed");
        world.ok(&store::Export::default());
        world.advance(25 * 3600);
        world.json::<issue::Update>("bob", json!({"id": leased.id, "title": "changed"})).expect("updated");
        let report = world.ok(&store::Doctor { fix: false, deep: false });
        let checks: Vec<_> = report.findings.iter().map(|finding| finding.check.as_str()).collect();
        assert_eq!(checks, ["stale_claim", "drift"]);
        assert!(report.fixes_applied.is_empty());
        let report = world.ok(&store::Doctor { fix: true, deep: false });
        assert_eq!(report.fixes_applied, [format!("released {}", held.id)]);
        assert_eq!(world.status(&held), Status::Open);
        assert_eq!(world.status(&leased), Status::InProgress, "a live lease stays");
        assert_eq!(world.events(&held).last().map(String::as_str), Some("released"));
    }
}
