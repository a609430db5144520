//! Bad input: a clear error, and nothing changes.

use pensa_testkit::Sandbox;
use serde_json::json;

use crate::steps::{create, everything, task, text};

crate::in_both_modes! {
    unknown_ids_are_refused,
    text_that_cannot_be_stored_is_refused,
    too_large_input_is_refused_and_the_limit_is_named,
    broken_json_in_a_batch_is_refused,
}

fn unknown_ids_are_refused(pn: &Sandbox) {
    let (known, other) = (task(pn, "one"), task(pn, "two"));
    pn.pn(["dep", "add", &known, &other]).ok_json();
    let before = everything(pn);
    let strange = [
        ("pn-00000000x", "not_found"),
        ("--upload-pack=x", "not_found"),
        ("../x", "not_found"),
        ("..", "not_found"),
        (".", "not_found"),
        ("/etc/passwd", "not_found"),
        ("%2e%2e%2f", "not_found"),
        ("pn-1?force=true", "not_found"),
        ("x' OR '1'='1", "invalid_input"),
        ("@name", "not_found"),
        ("ready", "not_found"),
        ("count", "not_found"),
        ("a\u{202e}b", "not_found"),
        ("", "invalid_input"),
        ("a b", "invalid_input"),
        ("a\nb", "invalid_input"),
        ("\u{1b}[31m", "invalid_input"),
        ("pn-", "ambiguous_id"),
    ];
    for (id, code) in strange {
        let commands: [&[&str]; 12] = [
            &["show", "--", id],
            &["history", "--", id],
            &["trace", "--", id],
            &["close", "--", id],
            &["release", "--", id],
            &["delete", "--force", "--", id],
            &["update", "--claim", "--", id],
            &["heartbeat", "--", id],
            &["dep", "add", "--", &known, id],
            &["dep", "remove", "--", &known, id],
            &["dep", "tree", "--", id],
            &["comment", "add", "--", id, "text"],
        ];
        for args in commands {
            pn.pn(args).fails(code);
        }
    }
    assert_eq!(everything(pn), before);
}

fn text_that_cannot_be_stored_is_refused(pn: &Sandbox) {
    let id = create(pn, &["one", "-t", "task", "--description", "why"]);
    let before = everything(pn);
    for bad in ["a\u{1b}[31mb", "a\u{9b}b", "a\rb", "\u{7}", "a\u{7f}", "a\u{8}b"] {
        let commands: [&[&str]; 9] = [
            &["create", bad, "-t", "task"],
            &["create", "x", "-t", "task", "--description", bad],
            &["create", "x", "-t", "task", "-a", bad],
            &["create", "x", "-t", "task", "--spec", bad],
            &["update", &id, "--title", bad],
            &["update", &id, "-a", bad],
            &["comment", "add", &id, bad],
            &["close", &id, "--reason", bad],
            &["--actor", bad, "close", &id],
        ];
        for args in commands {
            pn.pn(args).fails("invalid_input");
        }
    }
    for title in ["", "   ", "two\nlines", "tab\there"] {
        pn.pn(["create", title, "-t", "task"]).fails("invalid_input");
        pn.pn(["update", &id, "--title", title]).fails("invalid_input");
    }
    for text in ["", " \n "] {
        pn.pn(["comment", "add", &id, text]).fails("invalid_input");
    }
    pn.pn(["update", &id, "--description", "-"]).stdin("nul\0").fails("invalid_input");
    pn.pn(["update", &id]).fails("invalid_input");
    pn.pn(["search", ""]).fails("invalid_input");
    assert_eq!(everything(pn), before);
}

fn too_large_input_is_refused_and_the_limit_is_named(pn: &Sandbox) {
    let id = task(pn, &"é".repeat(1000));
    let before = everything(pn);
    let error = pn.pn(["create", &"é".repeat(1001), "-t", "task"]).fails("too_large");
    assert!(text(&error["error"]).contains("1000"), "{error}");
    for op in [
        json!({"op": "issue.create", "title": "x".repeat(1 << 20), "issue_type": "task"}),
        json!({"op": "issue.update", "id": id, "title": "x".repeat(1 << 20)}),
        json!({"op": "issue.update", "id": id, "description": "x".repeat((1 << 20) + 1)}),
        json!({"op": "comment.add", "id": id, "text": "x".repeat((1 << 20) + 1)}),
    ] {
        let error = pn.pn(["batch"]).stdin(op.to_string()).fails("too_large");
        let result = text(&error["error"]);
        assert!(result.contains("1000") || result.contains("1048576"), "the limit is named: {error}");
    }
    pn.pn(["--actor", &"a".repeat(501), "close", &id]).fails("too_large");
    pn.pn(["show", &"a".repeat(100_000)]).fails("invalid_input");
    pn.pn(["comment", "add", &id, "-"]).stdin("x".repeat((1 << 20) + 2)).fails("too_large");
    assert_eq!(everything(pn), before);
}

fn broken_json_in_a_batch_is_refused(pn: &Sandbox) {
    task(pn, "one");
    let before = everything(pn);
    let nul = json!({"op": "issue.create", "title": "a\0b", "issue_type": "task"}).to_string();
    let nul_id = json!({"op": "issue.show", "id": "a\0b"}).to_string();
    let nested = format!("{{\"op\":\"issue.create\",\"title\":{}1{}}}", "[".repeat(50_000), "]".repeat(50_000));
    let shallow = format!("{{\"op\":\"issue.create\",\"title\":{}1{}}}", "[".repeat(100), "]".repeat(100));
    for line in [
        nul.as_str(),
        nul_id.as_str(),
        nested.as_str(),
        shallow.as_str(),
        r#"{"op":"issue.create","title":"x","issue_type":"task","priority":9}"#,
        r#"{"op":"issue.create","title":{"$gt":""},"issue_type":"task"}"#,
        r#"{"op":"issue.list","limit":-1}"#,
        r#"{"op":"issue.list","limit":1e99}"#,
        r#"{"op":"issue.update","id":"x","ttl":"1h"}"#,
        r#"{"op":"issue.create","title":"\ud800","issue_type":"task"}"#,
        "{'op':'issue.list'}",
    ] {
        pn.pn(["batch"]).stdin(line).fails("invalid_input");
    }
    pn.pn(["batch"]).stdin(b"{\"op\":\"issue.create\",\"title\":\"\xff\"}".to_vec()).fails("invalid_input");
    assert_eq!(everything(pn), before);
}
