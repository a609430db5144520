//! Export of events, for projects that enable it.

use serde_json::{Value, json};

use crate::clones::{Clone, Machine};

fn commit(clone: &Clone<'_>) {
    clone.git(&["commit", "--quiet", "--allow-empty", "--message=x"]);
}

fn lines(clone: &Clone<'_>) -> Vec<Value> {
    clone.read("events.jsonl").lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn exported_events_converge_between_clones() {
    let machine = Machine::new(2);
    let (clone, mate) = (machine.clone(0), machine.clone(1));
    let id = clone.pn(&["create", "a task", "-t", "task", "-q"]).trim().to_owned();
    commit(&clone);
    assert!(!clone.dir.join(".pensa/events.jsonl").exists(), "not unless it is wanted");
    clone.pn(&["config", "set", "export.events", "true"]);
    assert!(clone.try_pn(&["export", "--check"]).expect_err("drifted").contains("events.jsonl"));
    commit(&clone);
    assert_eq!(clone.json(&["export", "--check"])["events"], 1);
    clone.git(&["add", ".pensa/config.toml"]);
    commit(&clone);
    clone.git(&["push", "--quiet", "origin", "main"]);
    mate.git(&["pull", "--quiet", "--no-rebase"]);
    for (at, who) in [&clone, &mate].into_iter().enumerate() {
        who.pn(&["comment", "add", &id, &format!("comment {at}")]);
        who.pn(&["create", &format!("task {at}"), "-t", "task"]);
        commit(who);
    }
    clone.git(&["push", "--quiet", "origin", "main"]);
    mate.git(&["pull", "--quiet", "--no-rebase"]);
    mate.git(&["push", "--quiet", "origin", "main"]);
    clone.git(&["pull", "--quiet", "--no-rebase"]);
    commit(&clone);
    assert_eq!(clone.read("events.jsonl"), mate.read("events.jsonl"));
    let result: Vec<(Value, Value)> =
        lines(&clone).into_iter().map(|line| (line["event_type"].clone(), line["actor"].clone())).collect();
    let expected = [
        ("created", "clone-0"),
        ("commented", "clone-0"),
        ("created", "clone-0"),
        ("commented", "clone-1"),
        ("created", "clone-1"),
    ];
    assert_eq!(
        result,
        expected.map(|(event, actor)| (json!(event), json!(actor))),
        "each event once, and none of git's own"
    );
    assert_eq!(clone.git(&["status", "--porcelain"]), "");
    assert_eq!(clone.json(&["export", "--events=false", "--check"]).get("events"), None);
}

#[test]
fn events_of_a_deleted_issue_leave_the_file_and_return_with_it() {
    let machine = Machine::new(2);
    let (clone, mate) = (machine.clone(0), machine.clone(1));
    clone.pn(&["config", "set", "export.events", "true"]);
    let id = clone.pn(&["create", "a heron", "-t", "task", "-q"]).trim().to_owned();
    clone.pn(&["create", "kept", "-t", "task"]);
    clone.pn(&["comment", "add", &id, "an otter"]);
    clone.git(&["add", ".pensa/config.toml"]);
    commit(&clone);
    clone.git(&["push", "--quiet", "origin", "main"]);
    mate.git(&["pull", "--quiet", "--no-rebase"]);
    mate.pn(&["comment", "add", &id, "an ibex"]);
    commit(&mate);
    mate.git(&["push", "--quiet", "origin", "main"]);
    clone.git(&["pull", "--quiet", "--no-rebase"]);
    let before = lines(&clone);
    clone.pn(&["delete", &id, "--force"]);
    commit(&clone);
    let result = lines(&clone);
    let of_it: Vec<&Value> = result.iter().filter(|line| line["subject_id"] == id.as_str()).collect();
    assert_eq!(of_it.len(), 1, "{of_it:?}");
    assert_eq!(of_it[0]["detail"], json!({"issue": {"old": {"id": id, "title": "a heron"}, "new": null}}));
    let text = clone.read("events.jsonl");
    assert!(!text.contains("otter") && !text.contains("ibex") && text.contains("kept"), "{text}");
    // Other clones import the deletion, and leave the events out too.
    clone.git(&["push", "--quiet", "origin", "main"]);
    mate.git(&["pull", "--quiet", "--no-rebase"]);
    commit(&mate);
    assert!(!mate.read("events.jsonl").contains("otter"), "{}", mate.read("events.jsonl"));
    clone.pn(&["undo"]);
    commit(&clone);
    let own = |line: &&Value| line["actor"] == "clone-0";
    let after = lines(&clone);
    assert!(before.iter().filter(own).all(|line| after.contains(line)), "{after:?}");
    // A purged issue leaves only ids.
    clone.pn(&["delete", &id, "--force"]);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    clone.pn(&["gc", "--older-than", "1s"]);
    commit(&clone);
    let purged = json!({"issue": {"old": {"id": id}, "new": null}, "purged": true});
    let left = lines(&clone);
    let of_it: Vec<&Value> = left.iter().filter(|line| line["subject_id"] == id.as_str()).collect();
    assert!(!of_it.is_empty() && of_it.iter().all(|line| line["detail"] == purged), "{of_it:?}");
    clone.pn(&["export", "--check"]);
}
