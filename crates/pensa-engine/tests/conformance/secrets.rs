//! A secret in any text of any entity is in no file of the store.

use std::fs;
use std::path::Path;

use pensa_core::Access;
use pensa_core::ops::{record, store};
use pensa_engine::{Caller, entry};
use serde_json::{Value, json};

use crate::world::World;

fn secret() -> String {
    ["gh", "p_", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3gH5"].concat()
}

/// Runs an operation as a server does.
fn run(world: &World, actor: &str, op: &str, input: &Value) -> Value {
    let entry = entry(op).expect("in the catalog");
    let answer = world.engine.run(entry.access, &Caller::local(actor), |cx, tx| (entry.run)(cx, tx, input));
    let answer = answer.unwrap_or_else(|error| panic!("{op}: {error:?}"));
    serde_json::from_str(&answer).expect("JSON")
}

/// The files below a directory that contain a text.
fn with_text(dir: &Path, text: &[u8], found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            with_text(&entry, text, found);
        } else if fs::read(&entry).is_ok_and(|bytes| bytes.windows(text.len()).any(|window| window == text)) {
            found.push(entry.display().to_string());
        }
    }
}

#[test]
fn a_secret_in_any_text_is_in_no_file_of_the_store() {
    let world = World::sqlite();
    let (secret, actor) = (secret(), format!("ada {}", secret()));
    let text = format!("see {secret} for it");
    let go = |op: &str, input: Value| run(&world, &actor, op, &input);
    let issue = go("issue.create", json!({"title": text, "issue_type": "task", "description": text, "assignee": text}));
    let id = &issue["id"];
    go("issue.update", json!({"id": id, "title": text, "description": format!("{text}\n{text}")}));
    go("comment.add", json!({"id": id, "text": text}));
    go("issue.close", json!({"id": id, "reason": text}));
    go("issue.reopen", json!({"id": id, "reason": text}));
    go("batch", json!({"operations": [{"op": "issue.create", "title": text, "issue_type": "bug"}]}));
    go("work.start", json!({"what": text, "steps": [text], "branch": format!("b-{secret}")}));
    go("work.step.add", json!({"steps": [text]}));
    go("work.done", json!({"reason": text}));
    go("release.ship", json!({"name": text, "version": "1.0.0", "notes": text}));
    go("learning.remember", json!({"text": text, "tags": ["x"]}));
    go("kv.set", json!({"scope": "project", "key": "a", "value": text}));
    go("kv.set", json!({"scope": "project", "key": "db_password", "value": "x9Kq3!vT"}));
    go(
        "agent.create",
        json!({"type": "user", "name": text, "descriptor": {"about": text}, "permissions": {"why": text}}),
    );
    let agent = go("agent.create", json!({"type": "user", "name": "ben"}));
    go("session.append", json!({"id": agent["id"], "entries": [{"type": "note", "data": {"text": text}}]}));
    go("session.reset", json!({"id": agent["id"], "message": text}));
    go("session.compact", json!({"id": agent["id"], "summary": text}));
    let made = json!({"loop_type": "plan", "prompt_path": text, "validation_command": text, "context": {"why": text}});
    let made = go("loop.create", made);
    go("signal.send", json!({"signal_type": "rebase", "to": made["id"], "reason": text, "payload": {"why": text}}));
    let seen =
        json!({"vcs": "git", "root_path": "/r", "remote_url": format!("https://ada:{secret}@example.com/r.git")});
    let run = go("run.start", json!({"seen": seen, "prompt": text, "labels": {"why": text}, "command": ["x", text]}));
    go("run.finish", json!({"id": run["id"], "status": "failed", "reason": text}));
    let job = json!({"lane": "net", "slots": 1, "timeout": "1m", "command": ["x", text], "cwd": format!("/{secret}")});
    let job = go("job.start", job);
    go("job.finish", json!({"id": job["id"], "exit_code": 0, "output": text, "reason": text}));
    go("lock.acquire", json!({"name": "merge", "token": secret}));
    world.ok(&store::Export::default());
    let mut found = Vec::new();
    with_text(world.store().root(), secret.as_bytes(), &mut found);
    with_text(world.store().root(), b"x9Kq3!vT", &mut found);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_document_is_redacted_if_its_collection_asks_for_it() {
    let world = World::sqlite();
    let put = |id: &str| json!({"collection": "notes", "id": id, "data": {"text": secret()}});
    let kept = world.json::<record::Put>("a", put("1")).expect("put");
    assert_eq!(kept.data["text"], secret());
    let index = json!({"collection": "notes", "redact": true});
    let indexed = world.json::<record::Index>("a", index).expect("declared");
    assert!(indexed.collection.redact && indexed.collection.indexes.is_empty(), "{indexed:?}");
    assert_eq!(world.json::<record::Put>("a", put("2")).expect("put").data["text"], "[REDACTED:github-pat]");
    let apply = json!({"changes": [{"put": put("3")}]});
    if let Ok(op) = serde_json::from_value::<record::Apply>(apply) {
        world.ok(&op);
        let three = world.json::<record::Get>("a", json!({"collection": "notes", "id": "3"})).expect("there");
        assert_eq!(three.data["text"], "[REDACTED:github-pat]");
    }
}

#[test]
fn a_caller_can_disable_redaction() {
    let world = World::sqlite();
    let caller = Caller { no_redact: true, ..Caller::local("a") };
    let input = json!({"title": secret(), "issue_type": "task"});
    let create = entry("issue.create").expect("in the catalog");
    let made = world.engine.run(Access::Write, &caller, |cx, tx| (create.run)(cx, tx, &input)).expect("made");
    assert!(made.contains(&secret()), "{made}");
}
