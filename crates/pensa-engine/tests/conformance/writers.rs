//! Concurrent writers: threads, and the group commit.

use std::sync::{Mutex, mpsc};
use std::thread;

use pensa_core::issue::Created;
use pensa_core::ops::{batch, issue};
use pensa_core::{Code, Error};
use pensa_engine::{Caller, Context, GroupWriter, IdempotentRequest, Tx, entry};
use serde_json::{Value, json};

use crate::conformance;
use crate::world::World;

/// Queues an operation by its name; the receiver gets the answer.
fn submit(writer: &GroupWriter, name: &str, input: Value) -> mpsc::Receiver<pensa_core::Result<String>> {
    let operation = entry(name).expect("an operation");
    let (send, receive) = mpsc::channel();
    writer.submit_entry(Caller::local("alice"), None, operation, input, move |result| {
        send.send(result).expect("awaited");
    });
    receive
}

/// Creates tasks with these titles in one group commit.
fn create_together(world: &World, titles: &[&str]) -> Vec<Created> {
    let writer = GroupWriter::start(world.engine.new_handle().expect("a second handle")).expect("starts");
    let (go, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let wait = move |_: &Context<'_>, _: &Tx<'_>| {
        // The group may be executed again; the gate is open then.
        let _ = gate.lock().expect("never poisoned").recv();
        Ok(String::new())
    };
    writer.submit(Caller::local("alice"), None, wait, drop);
    let create = |title: &&str| submit(&writer, "issue.create", json!({"title": title, "issue_type": "task"}));
    let answers: Vec<_> = titles.iter().map(create).collect();
    drop(go);
    let made = answers.into_iter().map(|answer| answer.recv().expect("an answer").expect("created"));
    made.map(|line| serde_json::from_str(&line).expect("an issue")).collect()
}

fn similar(created: &Created) -> Vec<&str> {
    created.similar.iter().map(|similar| similar.title.as_str()).collect()
}

conformance! {
    fn one_failure_in_a_group_leaves_the_others_alone(world: World) {
        let writer = GroupWriter::start(world.engine.new_handle().expect("a second handle")).expect("starts");
        let answers: Vec<_> = (0..40).map(|n| {
            let title = if n % 4 == 0 { String::new() } else { format!("t{n}") };
            (n, submit(&writer, "issue.create", json!({"title": title, "issue_type": "task"})))
        }).collect();
        for (n, answer) in answers {
            let answer = answer.recv().expect("an answer");
            assert_eq!(answer.is_err(), n % 4 == 0, "{n}");
        }
        assert_eq!(world.ok(&issue::List::default()).len(), 30);
    }

    fn near_duplicates_created_together_are_reported(world: World) {
        world.task("login crash on empty password");
        let made = create_together(&world, &[
            "logout crash on full disk",
            "login crash on empty passwords",
            "!!!",
            "logout crashes on full disk",
            "login page crash on empty password",
            "logout crash on a full disk",
        ]);
        let mut similar_titles: Vec<Vec<&str>> = made.iter().map(similar).collect();
        // All were created at the same time, so they are ordered by id.
        similar_titles.iter_mut().for_each(|titles| titles.sort_unstable());
        let (login, logout) = ("login crash on empty password", "logout crash on full disk");
        assert_eq!(similar_titles, [
            vec![],
            vec![login],
            vec![],
            vec![logout],
            vec![login, "login crash on empty passwords"],
            vec![logout, "logout crashes on full disk"],
        ]);
    }

    fn issues_created_together_get_unused_ids(world: World) {
        // Every id is generated twice, so the second issue is first offered a used one.
        let mut ids = vec![world.task("before").id];
        ids.extend(create_together(&world, &["one", "two", "three two", "four one"]).into_iter().map(|made| made.issue.id));
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 5);
        assert_eq!(world.ok(&issue::List::default()).len(), 5);
    }

    fn a_very_common_title_does_not_hide_a_near_duplicate(world: World) {
        let line = json!({"op": "issue.create", "title": "alpha beta gamma", "issue_type": "task"});
        world.json::<batch::Batch>("alice", json!({"operations": vec![line; 150]})).expect("made");
        world.advance(60);
        world.task("alpha beta delta epsilon");
        for created in create_together(&world, &["alpha beta gamma delta", "delta alpha beta gamma"]) {
            assert!(similar(&created).contains(&"alpha beta delta epsilon"), "{created:?}");
        }
    }

    fn a_panic_in_a_group_fails_one_request_only(world: World) {
        let writer = GroupWriter::start(world.engine.new_handle().expect("a second handle")).expect("starts");
        let (send, receive) = mpsc::channel();
        writer.submit(Caller::local("alice"), None, |_, _| panic!("a bug"), move |result| send.send(result).expect("awaited"));
        let bad: Result<String, Error> = receive.recv().expect("an answer");
        assert_eq!(bad.expect_err("it panicked").code, Code::Internal);
        let good = submit(&writer, "issue.create", json!({"title": "a", "issue_type": "task"}));
        good.recv().expect("an answer").expect("created");
        assert_eq!(world.ready(), ["a"]);
    }

    fn operations_that_share_a_commit_are_undone_one_by_one(world: World) {
        let writer = GroupWriter::start(world.engine.new_handle().expect("a second handle")).expect("starts");
        let create = |title: &str| submit(&writer, "issue.create", json!({"title": title, "issue_type": "task"}));
        let line = |title: &str| json!({"op": "issue.create", "title": title, "issue_type": "task"});
        let answers = vec![
            submit(&writer, "batch", json!({"operations": [line("a"), line("z")]})),
            create("b"),
            submit(&writer, "undo", json!({"since": "1h", "dry_run": true})),
            submit(&writer, "undo", json!({})),
            create("c"),
            // This undo fails after it has undone some events: all of it is rolled back, and the others are not
            // affected.
            submit(&writer, "comment.add", json!({"id": "pn-000000a0", "text": "hm"})),
            submit(&writer, "undo", json!({"event": 1})),
            create("d"),
            submit(&writer, "undo", json!({})),
        ];
        let answers: Vec<_> = answers.into_iter().map(|answer| answer.recv().expect("an answer")).collect();
        let refused: Vec<usize> = (0..answers.len()).filter(|at| answers[*at].is_err()).collect();
        assert_eq!(refused, [6], "{answers:?}");
        let mut left = world.ready();
        left.sort();
        assert_eq!(left, ["a", "c", "z"]);
        let tried: Value = serde_json::from_str(answers[2].as_ref().expect("tried")).expect("JSON");
        assert_eq!(tried["undone"].as_array().map(Vec::len), Some(3), "{tried}");
    }

    fn more_than_a_thousand_operations_are_not_undone_at_once(world: World) {
        let writer = GroupWriter::start(world.engine.new_handle().expect("a second handle")).expect("starts");
        let answers: Vec<_> =
            (0..1001).map(|n| submit(&writer, "issue.create", json!({"title": format!("t{n}"), "issue_type": "task"}))).collect();
        for answer in answers {
            answer.recv().expect("an answer").expect("created");
        }
        let undo = |fields: Value| submit(&writer, "undo", fields).recv().expect("an answer");
        let error = undo(json!({"since": "1h"})).expect_err("too many");
        assert_eq!(error.code, Code::TooLarge);
        assert!(error.message.contains("1000"), "{error}");
        undo(json!({})).expect("one less");
        undo(json!({"event": 1})).expect("and another");
        assert_eq!(undo(json!({"since": "1h"})).expect_err("undos are operations").code, Code::TooLarge);
        assert_eq!(world.ok(&issue::List::default()).len(), 999);
    }

    fn queued_operations_are_written_before_the_writer_ends(world: World) {
        let writer = GroupWriter::start(world.engine.new_handle().expect("a second handle")).expect("starts");
        let answers: Vec<_> =
            (0..200).map(|n| submit(&writer, "issue.create", json!({"title": format!("t{n}"), "issue_type": "task"}))).collect();
        drop(writer);
        for answer in answers {
            answer.recv().expect("an answer").expect("created");
        }
        assert_eq!(world.ok(&issue::List::default()).len(), 200);
    }

    fn a_request_with_a_key_is_executed_once_and_answered_again(world: World) {
        let writer = GroupWriter::start(world.engine.new_handle().expect("a second handle")).expect("starts");
        let run = entry("issue.create").expect("an operation").run;
        let submit = |token: Option<&str>, key: &str, title: &str, secret: bool| {
            let (send, receive) = mpsc::channel();
            let once = IdempotentRequest::new(token, key, &[title.as_bytes()], secret).expect("a key");
            let input = json!({"title": title, "issue_type": "task"});
            let work = move |cx: &Context<'_>, tx: &Tx<'_>| run(cx, tx, &input);
            writer.submit(Caller::local("alice"), Some(once), work, move |result| send.send(result).expect("awaited"));
            receive.recv().expect("an answer")
        };
        let first = submit(None, "k", "a", false).expect("done");
        assert_eq!(submit(None, "k", "a", false).expect("told again"), first);
        assert_eq!(submit(None, "k", "b", false).expect_err("another request").code, Code::Conflict);
        submit(Some("tok-1"), "k", "a", false).expect("the key of somebody else");
        submit(None, "s", "secret", true).expect("told once");
        assert_eq!(submit(None, "s", "secret", true).expect_err("not told again").code, Code::Conflict);
        // A failed request changed nothing, so it may be retried.
        assert!(submit(None, "f", "", false).is_err());
        assert!(submit(None, "f", "", false).is_err());
        let mut found: Vec<_> = world.ready();
        found.sort();
        assert_eq!(found, ["a", "a", "secret"]);
    }

    fn of_many_claims_at_once_exactly_one_succeeds(world: World) {
        let task = world.task("wanted");
        let threads: Vec<_> = (0..16).map(|n| {
            let engine = world.engine.new_handle().expect("another handle");
            let op: issue::Update = serde_json::from_value(json!({"id": task.id, "claim": true})).expect("an operation");
            thread::spawn(move || engine.call(&format!("agent{n}"), &op).map(|updated| updated.issue.assignee))
        }).collect();
        let results: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
        let winners: Vec<_> = results.iter().flatten().collect();
        assert_eq!(winners.len(), 1, "{results:?}");
        assert!(results.iter().filter_map(|r| r.as_ref().err()).all(|e| e.code == Code::AlreadyClaimed));
        assert_eq!(&world.show(&task).assignee, winners[0]);
    }
}
