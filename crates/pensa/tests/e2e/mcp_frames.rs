//! `pn mcp` with arbitrary standard input.

use pensa_testkit::Sandbox;
use serde_json::{Value, json};

use crate::steps::{event_types, ids, task, text};

/// Sends lines and the end of input. Returns the frames in their order.
#[track_caller]
fn frames(pn: &Sandbox, lines: &[String]) -> Vec<Value> {
    let answer = pn.pn(["mcp"]).stdin(lines.join("\n") + "\n").answer();
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "it ends with its input");
    let parse = |line: &str| -> Value { serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line:.300}")) };
    let frames: Vec<Value> = answer.stdout.lines().map(parse).collect();
    assert!(frames.iter().all(|frame| frame["jsonrpc"] == "2.0"), "nothing but frames: {frames:?}");
    frames
}

fn request(id: u32, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

fn call(id: u32, name: &str, arguments: &Value) -> String {
    request(id, "tools/call", &json!({"name": name, "arguments": arguments}))
}

fn handshake() -> [String; 2] {
    let client = json!({"name": "hostile", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    [request(0, "initialize", &hello), json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()]
}

#[track_caller]
fn of(frames: &[Value], id: u32) -> &Value {
    frames.iter().find(|frame| frame["id"] == id).unwrap_or_else(|| panic!("an answer to {id}: {frames:?}"))
}

/// Lines between a handshake and a call that must still be answered.
#[track_caller]
fn survives(pn: &Sandbox, lines: &[String]) -> Vec<Value> {
    let last = 1_000_000;
    let all = [&handshake()[..], lines, &[call(last, "find", &json!({}))]].concat();
    let frames = frames(pn, &all);
    assert_eq!(of(&frames, last)["result"]["isError"], false, "it is still there: {frames:?}");
    frames
}

crate::in_both_modes! {
    what_is_no_message_is_answered_and_does_no_harm,
    wrong_fields_and_huge_texts_are_errors_of_the_tool,
}

fn what_is_no_message_is_answered_and_does_no_harm(pn: &Sandbox) {
    let deep = format!("{}1{}", "[".repeat(50_000), "]".repeat(50_000));
    let bad = ["{", "nonsense", "\u{1b}]52;c;x\u{7}", "{\"jsonrpc\":\"2.0\"", &deep, "\"\\ud800\"", "[1,", "\u{0}"];
    let reply = survives(pn, &bad.map(str::to_owned));
    let parse_errors = reply.iter().filter(|frame| frame["error"]["code"] == -32700).count();
    assert_eq!(parse_errors, bad.len(), "{reply:?}");

    let odd =
        ["[]", "5", "null", "{}", "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", "{\"id\":[],\"method\":1}"];
    let reply = survives(pn, &odd.map(str::to_owned));
    assert_eq!(reply.iter().filter(|frame| frame["error"]["code"] == -32600).count(), odd.len(), "{reply:?}");

    let silent = [
        String::new(),
        "   ".to_owned(),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}}).to_string(),
        json!({"jsonrpc": "2.0", "method": "notifications/whatever", "params": {"a": [1]}}).to_string(),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}).to_string(),
    ];
    assert_eq!(survives(pn, &silent).len(), 2, "what asks nothing is not answered");
}

fn wrong_fields_and_huge_texts_are_errors_of_the_tool(pn: &Sandbox) {
    let huge = "x".repeat((1 << 20) + 1);
    let id = task(pn, "the only one");
    let calls = [
        ("create", json!({"title": huge}), "too_large"),
        ("create", json!({"title": "t", "description": huge}), "too_large"),
        ("create", json!({"title": ""}), "invalid_input"),
        ("create", json!({"title": "t", "type": "epic"}), "invalid_input"),
        ("create", json!({"title": "a\u{1b}[2Jb"}), "invalid_input"),
        ("create", json!({"title": ["t"]}), "invalid_input"),
        ("create", json!({"title": "t", "deps": "pn-1"}), "invalid_input"),
        ("create", json!({"title": "t", "deps": ["pn-00000000"]}), "not_found"),
        ("show", json!({}), "invalid_input"),
        ("show", json!({"id": ""}), "invalid_input"),
        ("show", json!({"id": huge}), "invalid_input"),
        ("show", json!({"id": "pn-00000000", "verbose": true}), "invalid_input"),
        ("find", json!({"limit": 0}), "invalid_input"),
        ("find", json!({"limit": 1_000_000}), "invalid_input"),
        ("find", json!({"limit": 1e30}), "invalid_input"),
        ("find", json!({"max_tokens": 0}), "invalid_input"),
        ("find", json!({"view": "ready", "status": "closed"}), "invalid_input"),
        ("find", json!({"view": "blocked", "query": "lable:x"}), "invalid_input"),
        ("update", json!({"id": "pn-1", "state": "delete"}), "invalid_input"),
        ("update", json!({"id": "pn-1", "state": "close", "title": "t"}), "invalid_input"),
        ("update", json!({"id": "pn-1", "reason": "r"}), "invalid_input"),
        ("update", json!({"id": "pn-1", "ttl": "soon"}), "invalid_input"),
        ("dep", json!({"id": "pn-1", "remove": true}), "invalid_input"),
        ("comment", json!({"id": id, "text": huge}), "too_large"),
        ("comment", json!({"id": id, "text": ""}), "invalid_input"),
        ("session_append", json!({"agent": "nobody", "entries": []}), "invalid_input"),
        ("session_append", json!({"agent": "nobody", "entries": [{"no": "type"}]}), "invalid_input"),
        ("session_append", json!({"agent": "nobody", "entries": [{"type": "note"}]}), "not_found"),
    ];
    let lines: Vec<String> = (1..).zip(&calls).map(|(id, (name, args, _))| call(id, name, args)).collect();
    let reply = survives(pn, &lines);
    for (id, (name, args, code)) in (1..).zip(&calls) {
        let result = &of(&reply, id)["result"];
        let shown: String = format!("{name} {args}").chars().take(100).collect();
        assert_eq!(result["isError"], true, "{shown}: {result}");
        assert_eq!(result["structuredContent"]["code"], *code, "{shown}: {result}");
        assert!(text(&result["content"][0]["text"]).len() < 3_000, "{shown}");
    }
    assert_eq!(
        (ids(pn, &["list"]), event_types(pn, &id)),
        (vec![id.clone()], vec!["created".to_owned()]),
        "nothing was done"
    );
}

#[test]
fn methods_and_names_that_are_unknown_are_errors_of_the_protocol() {
    let pn = crate::sandbox();
    let long = "m".repeat(100_000);
    let asked = [
        ("no/such", json!({}), -32601),
        (&long, json!({}), -32601),
        ("tools/call", json!({"name": "no-such", "arguments": {}}), -32602),
        ("tools/call", json!({"name": 5}), -32602),
        ("tools/call", json!({"name": "find", "arguments": [1]}), -32602),
        ("resources/read", json!({"uri": "pensa://else"}), -32002),
        ("resources/read", json!({"uri": "file:///etc/passwd"}), -32002),
        ("prompts/get", json!({"name": "else"}), -32602),
        ("logging/setLevel", json!({"level": "debug"}), -32601),
    ];
    let lines: Vec<String> = (1..).zip(&asked).map(|(id, (method, params, _))| request(id, method, params)).collect();
    let reply = survives(&pn, &lines);
    for (id, (method, params, code)) in (1..).zip(&asked) {
        let error = &of(&reply, id)["error"];
        assert_eq!(error["code"], *code, "{method:.50} {params}: {error}");
        assert!(text(&error["message"]).len() < 500, "{method:.50}");
    }
}

#[test]
fn a_message_that_is_too_large_is_refused_and_the_next_is_answered() {
    let pn = crate::sandbox();
    let large = call(1, "comment", &json!({"id": "pn-1", "text": "x".repeat(17 << 20)}));
    let reply = survives(&pn, &[large]);
    let refused = reply.iter().find(|frame| frame["error"]["code"] == -32600).expect("a refusal");
    assert!(text(&refused["error"]["message"]).contains("16 MiB"), "{refused}");
}

#[test]
fn what_comes_before_the_handshake_is_refused_and_the_end_of_input_is_the_end() {
    let pn = crate::sandbox();
    let early = [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
        json!({"jsonrpc": "2.0", "id": 5, "result": {}}).to_string(),
        "junk".to_owned(),
        call(6, "create", &json!({"title": "too early"})),
    ];
    let reply = frames(&pn, &[&early[..], &handshake()[..], &[call(7, "find", &json!({}))]].concat());
    assert!(of(&reply, 6)["error"]["code"].is_number(), "{reply:?}");
    assert_eq!(of(&reply, 7)["result"]["content"][0]["text"], "no issues (ready)\n", "{reply:?}");
    for nothing in ["", "\n", "{\"jsonrpc\":", "\n\n  \n"] {
        let answer = pn.pn(["mcp"]).stdin(nothing).answer();
        assert_eq!((answer.code, answer.stdout.as_str(), answer.stderr.as_str()), (Some(0), "", ""), "{nothing:?}");
    }
}

#[test]
fn what_was_asked_before_the_end_of_input_is_done_and_answered() {
    let pn = crate::sandbox();
    let calls: Vec<String> = (1..=100).map(|n| call(n, "create", &json!({"title": format!("number {n}")}))).collect();
    let reply = frames(&pn, &[&handshake()[..], &calls].concat());
    assert_eq!(reply.len(), 101);
    assert!((1..=100).all(|n| of(&reply, n)["result"]["isError"] == false), "{reply:?}");
    assert_eq!(pn.pn(["count"]).ok_json()["count"], 100);
}
