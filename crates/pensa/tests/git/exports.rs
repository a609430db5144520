//! An incremental export equals a full export.

use std::fs;

use crate::clones::{Clone, Machine};

/// Exports, and checks the files against the whole database.
fn export(clone: &Clone<'_>, after: &[&str]) {
    clone.pn(&["export"]);
    let check = clone.try_pn(&["export", "--check"]);
    assert!(check.is_ok(), "after pn {}: {check:?}", after.join(" "));
}

fn made(clone: &Clone<'_>, title: &str) -> String {
    clone.pn(&["create", title, "-t", "task", "-q"]).trim().to_owned()
}

#[test]
fn an_incremental_export_after_any_change_equals_a_full_one() {
    let machine = Machine::new(1);
    let clone = machine.clone(0);
    let ids: Vec<String> = (0..12).map(|at| made(&clone, &format!("number {at}"))).collect();
    clone.pn(&["dep", "add", &ids[3], &ids[2]]);
    clone.pn(&["comment", "add", &ids[4], &format!("see {}", ids[3])]);
    export(&clone, &["create"]);
    let comment = clone.json(&["comment", "list", &ids[4]])[0]["id"].as_str().expect("an id").to_owned();
    let bug = clone.pn(&["create", "a bug", "-t", "bug", "-q"]).trim().to_owned();
    let steps: &[&[&str]] = &[
        &["update", &ids[0], "--title", "the first"],
        &["update", &ids[11], "--description", "the last\nwith \"quotes\" and ümlauts"],
        &["create", "in the end", "-t", "task"],
        &["dep", "add", &ids[5], &ids[2]],
        &["dep", "add", &ids[2], &ids[1]],
        &["dep", "remove", &ids[3], &ids[2]],
        &["comment", "add", &ids[4], "another"],
        &["comment", "add", &ids[0], &format!("not about {}", ids[1])],
        &["update", &ids[6], "--claim"],
        &["release", &ids[6]],
        &["close", &ids[7], "--reason", "done"],
        &["reopen", &ids[7]],
        &["create", "a mend", "-t", "task", "--fixes", &bug],
        &["close", &ids[8]],
        &["delete", &ids[4], "--force"],
        &["undo"],
        &["delete", &bug, "--force"],
        &["work", "start", &ids[9], "--step", "one"],
        &["work", "done"],
        &["remember", "exports are quick", "--issue", &ids[9]],
        &["ship", "first", "--version", "1.0.0", "--issue", &ids[9]],
        &["kv", "set", "--scope", "notes", "some", "thing"],
        &["record", "put", "notes", "{\"of\":1}"],
        &["loop", "create", "--type", "code", "--prompt-path", "p", "--validation-command", "true", "--issue", &ids[9]],
        &["loop", "claim"],
        &["signal", "send", "--type", "info", "--to", "type:code"],
        &["lock", "acquire", "merge", "--ttl", "60s"],
        &["job", "exec", "--lane", "no-net", "--issue", &ids[9], "--", "true"],
    ];
    let mut failed = Vec::new();
    for step in steps {
        match clone.try_pn(step) {
            Ok(_) => export(&clone, step),
            Err(e) => failed.push(format!("{}: {e}", step.join(" "))),
        }
    }
    assert_eq!(failed, Vec::<String>::new());
    assert!(clone.read("comments.jsonl").contains(&comment), "its issue came back, and it with it");
}

#[test]
fn an_incremental_export_after_many_or_no_changes_equals_a_full_one() {
    let machine = Machine::new(1);
    let clone = machine.clone(0);
    made(&clone, "before");
    export(&clone, &["create"]);
    let many: String = (0..400)
        .map(|at| format!("{{\"op\":\"issue.create\",\"title\":\"of many {at}\",\"issue_type\":\"task\"}}\n"))
        .collect();
    fs::write(clone.dir.join("many.jsonl"), many).expect("written");
    clone.pn(&["batch", "many.jsonl"]);
    export(&clone, &["batch"]);
    export(&clone, &["nothing"]);
    let first = clone.json(&["list"])[0]["id"].as_str().expect("an id").to_owned();
    clone.pn(&["update", &first, "--priority", "p0"]);
    export(&clone, &["update"]);
}

#[test]
fn a_damaged_copy_is_not_exported() {
    let machine = Machine::new(1);
    let clone = machine.clone(0);
    let ids = ["kept as it is", "changed"].map(|title| made(&clone, title));
    export(&clone, &["create"]);
    let agreed = clone.dir.join(".pensa/local/merge-bases");
    let copies = fs::read_dir(agreed).expect("a directory").map(|copy| copy.expect("one").path().join("issues.jsonl"));
    let mut damaged = 0;
    for copy in copies.filter(|copy| copy.exists()) {
        let text = fs::read_to_string(&copy).expect("text");
        fs::write(&copy, text.replace("kept as it is", "kept as it iz")).expect("written");
        damaged += 1;
    }
    assert!(damaged > 0);
    clone.pn(&["update", &ids[1], "--priority", "p0"]);
    export(&clone, &["update"]);
    assert!(clone.read("issues.jsonl").contains("kept as it is"));
}
