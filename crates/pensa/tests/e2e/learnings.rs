//! Learnings: deduplicated, recalled within a budget, and part of the briefing.

use std::fs;

use pensa_testkit::Sandbox;
use serde_json::{Value, json};

use crate::steps::{elements, keys, task, text};

crate::in_both_modes! {
    a_learning_has_the_fields_of_the_schema_and_omits_the_absent_ones,
    records_of_other_tools_come_from_a_pipe,
    recall_shows_origins_within_its_budget,
    superseded_or_forgotten_learnings_are_not_recalled,
    bad_input_has_specific_error_codes,
    context_keeps_to_its_budget_in_either_form,
    learnings_are_exported_and_a_fresh_store_has_them,
}

/// A line as another tool writes it.
const RECORD: &str = r#"{"taskId":"uuid","linearId":"PRJ-123","timestamp":"2024-01-15T10:40:00.000Z","learnings":{"patterns":["Use NestedContextResolver for hierarchical discovery"],"approaches":["Mirror existing method structure when extending"],"decisions":["Extended class rather than wrapper for consistency"],"gotchas":["Must handle null parent case"]},"value":{"type":"feature","impact":"high","description":"Hierarchical AGENTS.md support for monorepos"},"filesChanged":["core/resolver.ts","core/types.ts"],"tags":["agents","hierarchy","monorepo"]}"#;

fn texts(hits: &Value) -> Vec<String> {
    elements(hits).iter().map(|hit| text(&hit["text"])).collect()
}

fn a_learning_has_the_fields_of_the_schema_and_omits_the_absent_ones(pn: &Sandbox) {
    let plain = pn.pn(["remember", "flush before close"]).actor("ana").ok_json();
    assert_eq!(keys(&plain), ["id", "kind", "text", "impact", "revision", "actor", "created_at", "updated_at"]);
    assert!(text(&plain["id"]).starts_with("ln-"));
    assert_eq!(
        (&plain["kind"], &plain["impact"], &plain["actor"]),
        (&json!("pattern"), &json!("medium"), &json!("ana"))
    );
    let issue = task(pn, "the work");
    let flags = ["--kind", "gotcha", "--tag", "io", "--file", "src/io.rs", "--issue", &issue, "--work", &issue];
    let more = ["--impact", "high", "--expires", "90d"];
    let full = pn.pn([&["remember", "close may fail"], &flags[..], &more].concat()).ok_json();
    let fields =
        ["id", "kind", "text", "tags", "files", "issue_id", "work", "impact", "expires_at", "revision", "actor"];
    assert_eq!(keys(&full)[..fields.len()], fields);
    let again = pn.pn(["remember", "Flush before close!", "--tag", "io"]).ok_json();
    assert_eq!((&again["id"], &again["merged"], &again["revision"]), (&plain["id"], &json!(true), &json!(2)));
    let shown = pn.pn(["learning", "show", &text(&plain["id"])[..9]]).ok_json();
    assert_eq!((&shown["tags"], shown.get("merged")), (&json!(["io"]), None));
    assert_eq!(elements(&pn.pn(["learning", "list", "--tag", "io"]).ok_json()).len(), 2);
    assert_eq!(elements(&pn.pn(["learning", "list", "--issue", &issue]).ok_json()).len(), 1);
}

fn records_of_other_tools_come_from_a_pipe(pn: &Sandbox) {
    let kept = pn.pn(["remember", "-"]).stdin(format!("{RECORD}\n{RECORD}\n")).ok_json();
    let kept = elements(&kept);
    assert_eq!(kept.len(), 8);
    assert!(kept[4..].iter().all(|again| again["merged"] == true && again["revision"] == 1), "{kept:?}");
    assert_eq!((&kept[3]["kind"], &kept[3]["linear_id"]), (&json!("gotcha"), &json!("PRJ-123")));
    assert_eq!((&kept[3]["task_id"], &kept[3]["created_at"]), (&json!("uuid"), &json!("2024-01-15T10:40:00.000Z")));
    assert_eq!(
        kept[3]["value"],
        json!({"type": "feature", "description": "Hierarchical AGENTS.md support for monorepos"})
    );
    let plain = pn.pn(["remember", "-"]).stdin("two\nlines\n").ok_json();
    assert_eq!(plain["text"], "two\nlines");
    let pretty = serde_json::to_string_pretty(&serde_json::from_str::<Value>(RECORD).expect("JSON")).expect("JSON");
    assert_eq!(elements(&pn.pn(["remember", "-"]).stdin(pretty).ok_json()).len(), 4);
    for bad in ["{", "{\"learnings\":{\"gotchas\":[\"fine\",\"\"]}}", "{\"a\":1}", "{\"learnings\":{}}[]"] {
        pn.pn(["remember", "-"]).stdin(bad).fails("invalid_input");
    }
    pn.pn(["remember", "-", "--tag", "x"]).stdin(RECORD).fails("invalid_input");
    assert_eq!(elements(&pn.pn(["learning", "list", "--all"]).ok_json()).len(), 5);
}

fn recall_shows_origins_within_its_budget(pn: &Sandbox) {
    let issue = task(pn, "the work");
    pn.pn(["remember", "the resolver walks up", "--issue", &issue]).actor("ana").ok_json();
    pn.pn(["remember", &format!("the parser walks down {}", "and down ".repeat(500))]).ok_json();
    let hits = pn.pn(["recall", "walking resolver"]).ok_json();
    assert_eq!(texts(&hits)[0], "the resolver walks up");
    assert_eq!((&hits[0]["issue_id"], &hits[0]["actor"]), (&json!(issue), &json!("ana")));
    let shown = pn.pn(["recall", "resolver"]).ok();
    assert!(shown.contains("from ana at ") && shown.contains(&issue), "{shown}");
    for budget in ["50", "100", "200", "2000"] {
        let result = pn.pn(["recall", "walks", "--max-tokens", budget, "--json"]).ok();
        assert!(result.trim_end().len() <= 4 * budget.parse::<usize>().expect("a number"), "{budget}: {result}");
    }
    let cut = pn.pn(["recall", "parser", "--max-tokens", "200"]).ok_json();
    assert_eq!(cut[0]["cut"], true);
    for hostile in ["\"", "*", "NEAR(", "-", "--", "'; DROP TABLE learnings", "a AND", "%"] {
        assert_eq!(pn.pn(["recall", "--json", "--", hostile]).answer().code, Some(0), "{hostile}");
    }
}

fn superseded_or_forgotten_learnings_are_not_recalled(pn: &Sandbox) {
    let old = text(&pn.pn(["remember", "deploy by hand"]).ok_json()["id"]);
    let new = text(&pn.pn(["remember", "deploy by script", "--supersedes", &old]).ok_json()["id"]);
    assert_eq!(pn.pn(["recall", "deploy", "-q"]).ok(), format!("{new}\n"));
    assert_eq!(pn.pn(["learning", "show", &old]).ok_json()["superseded_by"], json!(new));
    pn.pn(["learning", "verify", &old]).fails("conflict");
    assert!(pn.pn(["learning", "verify", &new]).ok_json()["verified_at"].is_string());
    assert_eq!(pn.pn(["learning", "forget", &new]).ok_json(), json!({"status": "deleted", "id": new}));
    assert_eq!(pn.pn(["recall", "deploy", "-q"]).ok(), format!("{old}\n"));
    pn.pn(["undo"]).ok();
    assert_eq!(pn.pn(["recall", "deploy", "-q"]).ok(), format!("{new}\n"), "what was forgotten is back");
}

fn bad_input_has_specific_error_codes(pn: &Sandbox) {
    pn.pn(["remember", ""]).fails("invalid_input");
    pn.pn(["remember", "a\u{1b}[31m"]).fails("invalid_input");
    pn.pn(["remember", "-"]).stdin("x".repeat(1 << 20)).fails("too_large");
    pn.pn(["remember", "x", "--issue", "pn-none"]).fails("not_found");
    pn.pn(["remember", "x", "--supersedes", "ln-none"]).fails("not_found");
    pn.pn(["remember", "x", "--tag", "two words"]).fails("invalid_input");
    pn.pn(["recall"]).fails("invalid_input");
    pn.pn(["recall", "x", "--max-tokens", "0"]).fails("invalid_input");
    pn.pn(["context", "--max-tokens", "1"]).fails("invalid_input");
    assert_eq!(pn.pn(["remember", "x", "--kind", "rumour"]).answer().code, Some(2));
    assert_eq!(pn.pn(["learning", "list"]).ok_json(), json!([]));
}

fn context_keeps_to_its_budget_in_either_form(pn: &Sandbox) {
    assert_eq!(pn.pn(["context"]).ok(), "");
    let mine = task(pn, "teach the resolver about parents");
    pn.pn(["update", &mine, "--claim", "--ttl", "30m"]).actor("ana").ok_json();
    for at in 0..30 {
        task(pn, &format!("task number {at} of a long queue"));
    }
    pn.pn(["remember", "parents may be null", "--kind", "gotcha"]).ok_json();
    let result = pn.pn(["context"]).actor("ana").ok();
    for heading in ["## Claimed by me", "## Claims that end soon", "## Next in the queue", "## Known about it"] {
        assert!(result.contains(heading), "{result}");
    }
    assert!(result.contains("gotcha: parents may be null") && !result.contains("- and "), "{result}");
    assert_eq!(pn.pn(["context"]).actor("ana").ok(), result, "the same state is told the same");
    for budget in [50, 100, 300, 2000] {
        for form in [&["--format", "md"][..], &["--format", "json"], &["--json"]] {
            let most = budget.to_string();
            let args = [&["context", "--max-tokens", &most], form].concat();
            let result = pn.pn(args).actor("ana").ok();
            assert!(!result.is_empty() && result.len() <= 4 * budget, "{budget} {form:?}: {result}");
        }
    }
    let form: Value = serde_json::from_str(&pn.pn(["context", "--format", "json"]).actor("ana").ok()).expect("JSON");
    assert_eq!(form["sections"][0]["lines"][0]["id"], json!(mine));
}

fn learnings_are_exported_and_a_fresh_store_has_them(pn: &Sandbox) {
    pn.pn(["export"]).ok_json();
    let file = pn.store().join("learnings.jsonl");
    assert!(!file.exists(), "there are none");
    let one = pn.pn(["remember", "flush before close", "--tag", "io"]).ok_json();
    let result = pn.pn(["export"]).ok_json();
    assert_eq!(result["learnings"], 1);
    let line: Value = serde_json::from_str(&fs::read_to_string(&file).expect("a file")).expect("a line");
    assert_eq!(line, one);
    assert_eq!(pn.pn(["export", "--check"]).ok_json()["status"], "ok");
    pn.pn(["learning", "forget", &text(&one["id"])]).ok_json();
    pn.pn(["export"]).ok_json();
    assert_eq!(fs::read_to_string(&file).expect("a file"), "");
    assert!(fs::read_to_string(pn.store().join("tombstones.jsonl")).expect("a file").contains("learnings"));
}
