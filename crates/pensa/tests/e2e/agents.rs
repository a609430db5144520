//! Agents and sessions: every command's answer for people and for machines.

use std::thread;

use pensa_testkit::{Mode, Sandbox};
use serde_json::{Value, json};

use crate::steps::{elements, keys, task, text};

crate::in_both_modes! {
    a_whole_conversation_is_recorded,
    entries_from_standard_input_are_added_all_or_none,
    sessions_show_their_cost_by_the_configured_prices,
    old_sessions_are_archived_deleted_and_pruned,
    an_entry_of_ten_megabytes_is_accepted_and_a_hundred_exceed_the_limit,
    thirty_two_processes_on_eight_agents_lose_nothing_and_keep_their_order,
}

/// Creates an agent. Returns its id and that of its session.
#[track_caller]
fn agent(pn: &Sandbox, name: &str) -> (String, String) {
    let made = pn.pn(["agent", "create", "--type", "user", "--name", name]).ok_json();
    (text(&made["id"]), text(&made["active_session_id"]))
}

#[track_caller]
fn history(pn: &Sandbox, args: &[&str]) -> Vec<Value> {
    elements(&pn.pn([&["session", "history"], args].concat()).ok_json())
}

/// The output for people, without times.
#[track_caller]
fn text_output(pn: &Sandbox, args: &[&str]) -> String {
    let printed = pn.pn(args).ok();
    let words = printed.split_inclusive([' ', '\n']).map(|word| {
        let kept = word.trim_end_matches([' ', '\n']);
        let is_time = kept.len() == 24 && kept.ends_with('Z');
        if is_time { format!("TIME{}", &word[kept.len()..]) } else { word.to_owned() }
    });
    words.collect()
}

fn a_whole_conversation_is_recorded(pn: &Sandbox) {
    let issue = task(pn, "the work");
    let create = ["agent", "create", "--type", "permanent", "--name", "ann", "--descriptor", r#"{"role":"builder"}"#];
    let made = pn.pn([&create[..], &["--permissions", r#"{"net":true}"#, "--issue", &issue]].concat()).ok_json();
    let always = ["id", "type", "name", "descriptor", "active_session_id", "permissions", "stats", "lifecycle"];
    assert_eq!(keys(&made), [&always[..], &["created_at", "updated_at"]].concat());
    let (id, first) = (text(&made["id"]), text(&made["active_session_id"]));
    assert!(id.starts_with("ag-") && first.starts_with("se-"), "{made}");
    assert_eq!(pn.pn(["agent", "show", "ann"]).ok_json(), made);
    assert_eq!(text_output(pn, &["agent", "list"]), format!("{id} permanent active   ann\n"));
    assert_eq!(
        text_output(pn, &["agent", "show", &id[..6]]),
        format!(
            "{id} permanent active   ann\nsession     {first}\ndescriptor  {{\"role\":\"builder\"}}\n\
             permissions {{\"net\":true}}\ncreated     TIME\nupdated     TIME\n"
        )
    );

    let append = ["session", "append", "ann", "--type", "user_message", "--data", r#"{"text":"hello"}"#];
    let appended = pn.pn(append).ok_json();
    assert_eq!(appended, json!({"session_id": first, "first": 1, "last": 1, "count": 1, "redactions": 0}));
    let call = r#"{"text":"I look","toolCalls":[{"id":"c","name":"read","arguments":{"path":"a"}}]}"#;
    let printed = text_output(pn, &["session", "append", "ann", "-t", "assistant_message", "-d", call]);
    assert_eq!(printed, format!("appended entry 2 to {first}\n"));
    assert_eq!(
        text_output(pn, &["session", "history", "ann"]),
        format!("     1 TIME user_message {{\"text\":\"hello\"}}\n     2 TIME assistant_message {call}\n")
    );
    assert_eq!(pn.pn(["-q", "session", "history", "ann"]).ok(), "1\n2\n");
    let context = pn.pn(["session", "context", "ann"]).ok_json();
    let roles: Vec<&Value> = context.as_array().expect("messages").iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "tool"]);
    assert_eq!(keys(&context[2]), ["role", "content", "tool_call_id", "is_error"]);
    let shown = text_output(pn, &["session", "context", "ann"]);
    assert!(
        shown.starts_with("user\n  hello\nassistant\n  I look\n  -> read c {\"path\":\"a\"}\ntool c error\n  no "),
        "{shown}"
    );

    let next = pn.pn(["session", "compact", "ann", "--summary", "-"]).stdin("they said hello\n").ok_json();
    assert_eq!((&next["opened_by"], &next["reset_message"]), (&json!("compaction"), &json!("they said hello")));
    assert_eq!(next["issue_id"], json!(issue), "still about the same");
    assert_eq!(pn.pn(["session", "context", "ann"]).ok(), "system\n  they said hello\n");
    let second = text(&next["id"]);
    let reset = pn.pn(["session", "reset", "ann", "--message", "anew", "--inference-session", "i3"]).ok();
    let third = pn.pn(["-q", "session", "list", "--agent", "ann"]).ok().lines().last().unwrap_or_default().to_owned();
    assert!(reset.starts_with(&format!("{third} of {id} opened by reset\n")), "{reset}");
    assert!(reset.contains("\ninference   i3\n  anew\n"), "{reset}");
    assert_eq!(
        text_output(pn, &["session", "list"]),
        format!(
            "{first} {id} start      TIME 2 entries\n{second} {id} compaction TIME 0 entries they said hello\n\
             {third} {id} reset      TIME 0 entries active anew\n"
        )
    );
    let shown = pn.pn(["session", "show", &first]).ok_json();
    assert_eq!(
        keys(&shown),
        ["id", "agent_id", "opened_by", "issue_id", "created_at", "ended_at", "entries", "duration_ms", "tokens"]
    );
    assert_eq!((&shown["entries"], &shown["tokens"]), (&json!(2), &json!({})));
    assert_eq!(history(pn, &["ann"]), Vec::<Value>::new());
    assert_eq!(history(pn, &["ann", "--all"]).len(), 2);
    assert_eq!(history(pn, &[&first, "--after", "1", "-n", "5"])[0]["id"], 2);

    let exported = pn.pn(["session", "export", &first]).ok();
    let lines: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines, history(pn, &[&first]));
    let transcript = pn.pn(["session", "export", &first, "--format", "markdown"]).ok();
    assert!(transcript.starts_with(&format!("# Session {first}\n\n- agent: {id} (permanent, ann)\n")), "{transcript}");
    let again = pn.pn(["session", "append", "ann", "-"]).stdin(exported).ok_json();
    assert_eq!((&again["first"], &again["count"]), (&json!(3), &json!(2)), "what was exported can be appended");
    let found = pn.pn(["session", "search", "HELLO", "-n", "1"]).ok_json();
    assert_eq!(keys(&found[0]), ["id", "session_id", "agent_id", "type", "at", "excerpt"]);
    assert_eq!((&found[0]["id"], &found[0]["session_id"]), (&json!(3), &json!(third)));
    assert_eq!(
        text_output(pn, &["session", "search", "i LOOK", "-n", "1"]),
        format!("     4 TIME {id} {third} assistant_message I look\n")
    );

    let updated = pn.pn(["agent", "update", "ann", "--tokens", r#"{"a":1}"#, "--stats", r#"{"b":2}"#]).ok_json();
    assert_eq!((&updated["tokens"], &updated["stats"]), (&json!({"a": 1}), &json!({"b": 2})));
    assert!(pn.pn(["agent", "update", "ann", "--tokens", "null"]).ok_json().get("tokens").is_none());
    assert_eq!(pn.pn(["agent", "sleep", "ann"]).ok_json()["lifecycle"], "sleeping");
    assert_eq!(pn.pn(["agent", "wake", "ann"]).ok_json()["lifecycle"], "active");
    assert_eq!(pn.pn(["agent", "kill", "ann"]).ok_json()["lifecycle"], "dead");
    pn.pn(["agent", "wake", "ann"]).fails("invalid_status_transition");
    pn.pn(["session", "append", "ann", "--type", "note"]).fails("invalid_status_transition");
    pn.pn(["agent", "delete", "ann"]).fails("conflict");
    let deleted = pn.pn(["agent", "delete", "ann", "--force"]).ok_json();
    assert_eq!(deleted, json!({"status": "deleted", "id": id, "sessions": 3, "entries": 4}));
    assert_eq!(pn.pn(["session", "list"]).ok(), "");
}

fn sessions_show_their_cost_by_the_configured_prices(pn: &Sandbox) {
    let (id, session) = agent(pn, "ann");
    let tokens =
        json!({"tokens": {"model": "Claude-3.5", "size": {"input": 1_000_000, "output": 200_000, "total": 1_200_000}}});
    pn.pn(["session", "append", "ann", "-t", "assistant_message", "-d", &tokens.to_string()]).ok_json();
    let shown = pn.pn(["session", "show", &session]).ok_json();
    let spent = json!({"input": 1_000_000, "output": 200_000, "cache_read": 0, "cache_write": 0, "total": 1_200_000});
    assert_eq!((&shown["tokens"], shown.get("cost_usd")), (&json!({"Claude-3.5": spent}), None));
    pn.pn(["config", "set", "prices.claude-3-5.input", "3"]).ok();
    assert_eq!(pn.pn(["session", "show", &session]).ok_json().get("cost_usd"), None, "half a price is none");
    pn.pn(["config", "set", "prices.claude-3-5.output", "7.5"]).ok();
    assert_eq!(pn.pn(["session", "show", &session]).ok_json()["cost_usd"], json!(4.5));
    assert_eq!(pn.pn(["session", "list"]).ok_json()[0]["cost_usd"], json!(4.5));
    let printed = text_output(pn, &["session", "list"]);
    assert_eq!(printed, format!("{session} {id} start      TIME 1 entry, 1200000 tokens, $4.5000 active\n"));
    let printed = pn.pn(["session", "show", &session]).ok();
    assert!(printed.contains("Claude-3.5: input 1000000, output 200000"), "{printed}");
    pn.pn(["config", "set", "prices.claude-3-5.output", "cheap"]).fails("invalid_input");
}

fn old_sessions_are_archived_deleted_and_pruned(pn: &Sandbox) {
    let (_, first) = agent(pn, "ann");
    let reset = || text(&pn.pn(["session", "reset", "ann"]).ok_json()["id"]);
    let (second, third) = (reset(), reset());
    pn.pn(["session", "archive", &third]).fails("conflict");
    assert!(pn.pn(["session", "archive", &first]).ok_json()["archived_at"].is_string());
    let listed = |args: &[&str]| pn.pn([&["-q", "session", "list"], args].concat()).ok();
    assert_eq!(listed(&[]), format!("{second}\n{third}\n"));
    assert_eq!(listed(&["--all"]), format!("{first}\n{second}\n{third}\n"));
    assert_eq!(pn.pn(["session", "prune", "--older-than", "30d"]).ok_json(), json!({"ids": [], "entries": 0}));
    assert_eq!(pn.pn(["session", "delete", &first]).ok_json()["ids"], json!([first]));
    pn.pn(["session", "show", &first]).fails("not_found");
    thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(pn.pn(["session", "prune", "--older-than", "1s"]).ok_json()["ids"], json!([second]));
    assert_eq!(listed(&["--all"]), format!("{third}\n"));
    assert!(!pn.pn(["doctor", "--deep"]).ok().contains("damage"), "the journal says the same");
}

fn entries_from_standard_input_are_added_all_or_none(pn: &Sandbox) {
    agent(pn, "ann");
    let append = |lines: &str| pn.pn(["session", "append", "ann", "-"]).stdin(lines);
    let good =
        "{\"type\":\"note\",\"text\":\"a\"}\n\n{\"type\":\"note\",\"at\":1700000000000,\"data\":{\"text\":\"b\"}}\n";
    assert_eq!(append(good).ok_json()["count"], 2);
    for (bad, code, part) in [
        ("{\"type\":\"note\"}\n\n{\"type\":\"note\"", "invalid_input", "line 3: entry is not JSON"),
        ("{\"type\":\"note\"}\n[1]\n", "invalid_input", "line 2: entry is a list"),
        ("{\"type\":\"note\"}\n{\"type\":\"reset\"}\n", "invalid_input", "line 2: reset is not a type of entry"),
        ("{\"type\":\"note\"}\n{\"type\":\"A B\"}\n", "invalid_input", "line 2: not a type of entry"),
        ("{\"type\":\"note\"}\n{\"type\":\"note\",\"at\":\"soon\"}\n", "invalid_input", "line 2: at is not a time"),
        ("\n \n", "invalid_input", "there is nothing to append"),
    ] {
        let error = append(bad).fails(code);
        assert!(text(&error["error"]).starts_with(part), "{error}");
    }
    pn.pn(["session", "append", "nobody", "-"]).stdin(good).fails("not_found");
    for misuse in [
        &["session", "append", "ann"][..],
        &["session", "append", "ann", "x"],
        &["session", "append", "ann", "-", "--type", "note"],
    ] {
        pn.pn(misuse).misused();
    }
    assert_eq!(history(pn, &["ann"]).len(), 2, "nothing of what was refused is there");
}

fn an_entry_of_ten_megabytes_is_accepted_and_a_hundred_exceed_the_limit(pn: &Sandbox) {
    let (_, session) = agent(pn, "ann");
    let line = |bytes: usize| format!("{{\"type\":\"tool_result\",\"output\":\"{}\"}}\n", "x".repeat(bytes));
    let append = |bytes: usize| pn.pn(["session", "append", "ann", "-"]).stdin(line(bytes));
    assert_eq!(append(10_000_000).ok_json()["count"], 1);
    for bytes in [16 << 20, 100_000_000] {
        let error = append(bytes).fails("too_large");
        assert!(text(&error["error"]).contains("16777216") && text(&error["error"]).starts_with("line 1: "), "{error}");
    }
    let piped = pn.pn(["session", "append", "ann", "--type", "note", "--data", "-"]);
    let error = piped.stdin(format!("{{\"a\":\"{}\"}}", "x".repeat(100_000_000))).fails("too_large");
    assert!(text(&error["error"]).contains("limit"), "{error}");
    let entries = history(pn, &["ann"]);
    assert_eq!(entries.len(), 1);
    assert_eq!(text(&entries[0]["data"]["output"]).len(), 10_000_000);
    assert_eq!(
        pn.pn(["session", "export", &session]).ok().len(),
        10_000_000 + entries[0].to_string().len() - 9_999_999
    );
    assert!(pn.pn(["session", "history", "ann"]).ok().len() < 1000, "people see its beginning");
}

fn thirty_two_processes_on_eight_agents_lose_nothing_and_keep_their_order(pn: &Sandbox) {
    const WRITERS: usize = 32;
    const APPENDS: usize = 4;
    let names: Vec<String> = (0..8).map(|n| format!("agent-{n}")).collect();
    names.iter().for_each(|name| drop(agent(pn, name)));
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let name = &names[writer % names.len()];
            scope.spawn(move || {
                for n in 0..APPENDS {
                    let entry = |part: usize| json!({"type": "note", "writer": writer, "n": 2 * n + part}).to_string();
                    let lines = format!("{}\n{}\n", entry(0), entry(1));
                    pn.pn(["session", "append", name, "-"]).stdin(lines).ok_json();
                }
            });
        }
    });
    let mut numbers = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let entries = history(pn, &[name]);
        numbers.extend(entries.iter().filter_map(|entry| entry["id"].as_u64()));
        for writer in (at..WRITERS).step_by(names.len()) {
            let own = entries.iter().filter(|entry| entry["data"]["writer"] == writer);
            let order: Vec<&Value> = own.map(|entry| &entry["data"]["n"]).collect();
            assert_eq!(order, (0..2 * APPENDS).collect::<Vec<_>>(), "writer {writer}");
        }
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=(2 * WRITERS * APPENDS) as u64).collect::<Vec<_>>());
}

#[test]
fn without_a_project_agents_are_in_the_users_store() {
    let pn = Sandbox::bare(crate::PN);
    agent(&pn, "mine");
    assert!(pn.path("xdg/state/pensa/db.sqlite").exists());
    assert_eq!(elements(&pn.pn(["agent", "list"]).dir(pn.path("elsewhere")).ok_json()).len(), 1);
    pn.pn(["list"]).fails("no_store");
    pn.pn(["init"]).ok();
    assert_eq!(pn.pn(["agent", "list"]).ok_json(), json!([]), "a project has its own");
    assert_eq!(elements(&pn.pn(["agent", "list"]).dir(pn.path("elsewhere")).ok_json()).len(), 1);
    pn.pn(["agent", "list"]).env("PN_STORE", pn.path("elsewhere")).fails("no_store");
    let project = pn.project();
    assert_eq!(pn.pn(["agent", "list"]).env("PN_STORE", project).dir(pn.path("elsewhere")).ok_json(), json!([]));
}

#[test]
fn agents_are_not_exported_and_not_undone() {
    let pn = Sandbox::in_mode(crate::PN, Mode::Embedded);
    agent(&pn, "ann");
    pn.pn(["session", "append", "ann", "--type", "note", "--data", r#"{"text":"between us"}"#]).ok();
    pn.pn(["export"]).ok();
    for file in std::fs::read_dir(pn.store()).expect("a store").flatten() {
        if file.path().extension().is_some_and(|ending| ending == "jsonl") {
            let exported = std::fs::read_to_string(file.path()).expect("text");
            assert!(!exported.contains("between us") && !exported.contains("ann"), "{exported}");
        }
    }
    let error = pn.pn(["undo"]).fails("conflict");
    assert!(text(&error["error"]).contains("cannot take back"), "{error}");
}
