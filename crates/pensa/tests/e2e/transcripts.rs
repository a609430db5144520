//! Import of conversations that agent software wrote: once, grown, forked, about issues, without secrets.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::thread;

use pensa_testkit::Sandbox;
use serde_json::{Value, json};

use crate::steps::{elements, show, task, text};

crate::in_both_modes! {
    a_conversation_is_imported_once_and_continued,
    a_forked_conversation_is_counted_once_over_the_whole_store,
    a_session_is_about_the_issue_that_it_claims_names_or_branches,
    a_conversation_with_secrets_leaves_none_on_disk,
    two_imports_at_once_take_everything_once,
    a_deleted_agent_does_not_come_back,
    a_conversation_is_replayed_step_by_step,
    the_hook_at_the_end_of_a_session_keeps_its_conversation,
}

const ID: &str = "5c1e0d0e-1111-4222-8333-abcdefabcdef";
const OTHER: &str = "6d2f1e1f-1111-4222-8333-abcdefabcdef";

/// The directory in which Claude Code keeps the transcripts of the sandbox.
fn projects(pn: &Sandbox) -> PathBuf {
    pn.path("home/.claude/projects/-project")
}

fn line(pn: &Sandbox, session: &str, kind: &str, second: usize, fields: Value) -> Value {
    let mut line = json!({"type": kind, "uuid": format!("u{second}"), "parentUuid": null, "isSidechain": false,
        "cwd": pn.project(), "sessionId": session, "version": "2.1.0", "gitBranch": "main",
        "timestamp": format!("2026-02-01T10:{:02}:{:02}.000Z", second / 60, second % 60)});
    line.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
    line
}

fn user(pn: &Sandbox, session: &str, second: usize, text: &str) -> Value {
    line(pn, session, "user", second, json!({"message": {"role": "user", "content": text}}))
}

fn reply(pn: &Sandbox, session: &str, second: usize, id: &str, block: Value) -> Value {
    let usage = json!({"input_tokens": 100, "output_tokens": 10, "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 50});
    let message =
        json!({"id": id, "role": "assistant", "model": "claude-sonnet-4-5", "content": [block], "usage": usage});
    line(pn, session, "assistant", second, json!({"requestId": format!("req_{id}"), "message": message}))
}

fn said(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn write(path: &Path, lines: &[Value]) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).expect("opens");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    file.write_all(text.as_bytes()).expect("written");
}

fn transcript(pn: &Sandbox, session: &str) -> PathBuf {
    projects(pn).join(format!("{session}.jsonl"))
}

#[track_caller]
fn import(pn: &Sandbox) -> Value {
    pn.pn(["import-from", "claude-code"]).ok_json()
}

fn counts(report: &Value) -> [i64; 4] {
    ["transcripts", "agents", "sessions", "entries"].map(|name| report[name].as_i64().expect("a number"))
}

fn a_conversation_is_imported_once_and_continued(pn: &Sandbox) {
    let path = transcript(pn, ID);
    write(&path, &[user(pn, ID, 1, "fix the resolver"), reply(pn, ID, 2, "msg_1", said("I look at the parser"))]);
    fs::OpenOptions::new().append(true).open(&path).expect("opens").write_all(b"{broken\n").expect("written");
    let first = import(pn);
    assert_eq!((counts(&first), &first["malformed"][0]["line"]), ([1, 1, 1, 2], &json!(3)), "{first}");
    assert_eq!(counts(&import(pn)), [0, 0, 0, 0]);

    let compaction = [
        line(pn, ID, "system", 3, json!({"subtype": "compact_boundary", "content": "compacted"})),
        line(
            pn,
            ID,
            "user",
            4,
            json!({"isCompactSummary": true, "message": {"role": "user", "content": "so far: nothing"}}),
        ),
        reply(pn, ID, 5, "msg_2", said("I go on")),
        json!({"type": "custom-title", "customTitle": "Resolver", "sessionId": ID}),
    ];
    write(&path, &compaction);
    assert_eq!(counts(&import(pn)), [1, 0, 1, 1]);
    assert_eq!(counts(&import(pn)), [0, 0, 0, 0]);
    // The same file at another place is the same transcript.
    let moved = pn.path("home/moved").join(path.file_name().expect("a name"));
    fs::create_dir_all(moved.parent().expect("a parent")).expect("a directory");
    fs::rename(&path, &moved).expect("moved");
    write(&moved, &[user(pn, ID, 6, "thanks")]);
    let moved = moved.to_str().expect("UTF-8");
    assert_eq!(counts(&pn.pn(["import-from", "claude-code", moved]).ok_json()), [1, 0, 0, 1]);

    let agents = elements(&pn.pn(["agent", "list"]).ok_json());
    let agent = &agents[0];
    assert_eq!((agents.len(), &agent["name"], &agent["type"]), (1, &json!("Resolver"), &json!("user")));
    let facts = ["tool", "version", "branch", "model"].map(|name| agent["descriptor"][name].clone());
    assert_eq!(json!(facts), json!(["claude-code", "2.1.0", "main", "claude-sonnet-4-5"]));
    let sessions = elements(&pn.pn(["session", "list"]).ok_json());
    assert_eq!(sessions.len(), 2);
    assert_eq!((&sessions[0]["created_at"], &sessions[0]["entries"]), (&json!("2026-02-01T10:00:01.000Z"), &json!(2)));
    assert_eq!(
        (&sessions[1]["opened_by"], &sessions[1]["reset_message"]),
        (&json!("compaction"), &json!("so far: nothing"))
    );
    assert_eq!(sessions[0]["ended_at"], sessions[1]["created_at"]);
    assert_eq!(sessions[1]["inference_session_id"], ID);
    let found = elements(&pn.pn(["session", "search", "PARSER"]).ok_json());
    assert_eq!((found.len(), &found[0]["session_id"]), (1, &sessions[0]["id"]));
    let context = pn.pn(["session", "context", &text(&agent["id"])]).ok_json();
    assert_eq!(elements(&context).len(), 3, "{context}");
    assert!(!pn.pn(["doctor", "--deep"]).ok().contains("damage"));
}

fn a_forked_conversation_is_counted_once_over_the_whole_store(pn: &Sandbox) {
    let common = |session: &str| [user(pn, session, 1, "begin"), reply(pn, session, 2, "msg_1", said("begun"))];
    write(&transcript(pn, ID), &common(ID));
    write(&transcript(pn, ID), &[reply(pn, ID, 3, "msg_2", said("here"))]);
    write(&transcript(pn, OTHER), &common(OTHER));
    write(&transcript(pn, OTHER), &[reply(pn, OTHER, 4, "msg_3", said("there"))]);
    let report = import(pn);
    assert_eq!((counts(&report), &report["repeated"]), ([2, 2, 2, 6], &json!(1)));
    let sessions = elements(&pn.pn(["session", "list"]).ok_json());
    let input: Vec<i64> = sessions
        .iter()
        .map(|session| session["tokens"]["claude-sonnet-4-5"]["input"].as_i64().expect("a number"))
        .collect();
    assert_eq!(input.iter().sum::<i64>(), 300, "{sessions:?}");
    assert_eq!(pn.pn(["cost"]).ok_json()["total"]["input"], 300);
    let fork = elements(&pn.pn(["session", "search", "begun"]).ok_json());
    assert_eq!(fork.len(), 2, "both conversations have all that was said");
}

fn a_session_is_about_the_issue_that_it_claims_names_or_branches(pn: &Sandbox) {
    let [named, branched, claimed, listed] = ["named", "branched", "claimed", "listed"].map(|title| task(pn, title));
    let list = json!([{"type": "tool_result", "tool_use_id": "t", "content": format!("{listed} {listed} {listed}")}]);
    write(
        &transcript(pn, ID),
        &[
            user(pn, ID, 1, &format!("work on {named}, not on {listed}")),
            line(pn, ID, "user", 2, json!({"message": {"role": "user", "content": list}})),
            reply(
                pn,
                ID,
                3,
                "msg_1",
                json!({"type": "tool_use", "id": "t", "name": "Bash",
                "input": {"command": format!("pn close {named}")}}),
            ),
        ],
    );
    let mut on_branch = user(pn, OTHER, 1, "go");
    on_branch["gitBranch"] = json!(format!("fix/{branched}-resolver"));
    write(&transcript(pn, OTHER), &[on_branch]);
    // The hooks of an agent set its session.
    let third = "7e3f1e1f-1111-4222-8333-abcdefabcdef";
    pn.pn(["claim", &claimed]).env("PN_SESSION", third).ok();
    let mut lines = [user(pn, third, 1, "go"), user(pn, third, 2, &format!("not on {named}"))];
    lines[0]["timestamp"] = json!("2020-01-01T00:00:00Z");
    lines[1]["timestamp"] = json!("2099-01-01T00:00:00Z");
    write(&transcript(pn, third), &lines);
    let report = import(pn);
    let issue_of = |session: &str| {
        let sessions = elements(&pn.pn(["session", "list"]).ok_json());
        let found = sessions.iter().find(|one| one["inference_session_id"] == session).expect("a session");
        text(&found["issue_id"])
    };
    assert_eq!([ID, OTHER, third].map(issue_of), [named.clone(), branched, claimed], "{report}");
    assert_eq!(elements(&report["issues"]).len(), 3);
    let spent = &show(pn, &named)["spent"];
    let cost = (100.0 * 3.0 + 10.0 * 15.0 + 1000.0 * 0.3 + 50.0 * 3.75) / 1e6;
    assert_eq!((&spent["input"], &spent["cache_read"]), (&json!(100), &json!(1000)));
    assert!((spent["cost_usd"].as_f64().expect("a price") - cost).abs() < 1e-9, "{spent}");
    assert!(show(pn, &listed).get("spent").is_none());
    let totals = pn.pn(["trace", &named]).ok_json()["totals"].clone();
    assert_eq!((&totals["cost_usd"], &totals["tokens"]["input"]), (&spent["cost_usd"], &json!(100)));
}

fn is_on_disk(dir: &Path, wanted: &str) -> bool {
    fs::read_dir(dir).expect("a directory").flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return is_on_disk(&path, wanted);
        }
        fs::read(&path).unwrap_or_default().windows(wanted.len()).any(|part| part == wanted.as_bytes())
    })
}

fn a_conversation_with_secrets_leaves_none_on_disk(pn: &Sandbox) {
    // Split, so that secret scanners ignore this file.
    let secret = ["ghp", "_aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5zA7"].concat();
    let result = json!([{"type": "tool_result", "tool_use_id": "t", "content": format!("TOKEN={secret}")}]);
    write(
        &transcript(pn, ID),
        &[
            user(pn, ID, 1, &format!("use {secret}")),
            line(pn, ID, "user", 2, json!({"message": {"role": "user", "content": result}})),
            line(
                pn,
                ID,
                "assistant",
                3,
                json!({"message": {"id": "m", "content": [{"type": "thinking", "thinking": "unsaid"}]}}),
            ),
            json!({"type": "custom-title", "customTitle": format!("about {secret}"), "sessionId": ID}),
        ],
    );
    let report = import(pn);
    assert!(report["redactions"].as_i64().expect("a number") >= 3, "{report}");
    for dir in [pn.store(), pn.durable()] {
        assert!(!is_on_disk(&dir, &secret) && !is_on_disk(&dir, "unsaid"), "{}", dir.display());
    }
}

fn two_imports_at_once_take_everything_once(pn: &Sandbox) {
    for number in 0..4 {
        let session = format!("{number}c1e0d0e-1111-4222-8333-abcdefabcdef");
        let lines: Vec<Value> = (0..300)
            .map(|second| reply(pn, &session, second, &format!("msg_{number}_{second}"), said(&"word ".repeat(400))))
            .collect();
        write(&transcript(pn, &session), &lines);
    }
    let entries: i64 = thread::scope(|scope| {
        let imports: Vec<_> = (0..4).map(|_| scope.spawn(|| counts(&import(pn))[3])).collect();
        imports.into_iter().map(|import| import.join().expect("imported")).sum()
    });
    assert_eq!(entries, 1200);
    assert_eq!(pn.pn(["cost"]).ok_json()["total"]["output"], 12_000);
    let sessions = elements(&pn.pn(["session", "list"]).ok_json());
    assert_eq!(
        sessions.iter().map(|session| session["entries"].as_i64().expect("a number")).collect::<Vec<_>>(),
        [300; 4]
    );
}

fn the_hook_at_the_end_of_a_session_keeps_its_conversation(pn: &Sandbox) {
    let path = transcript(pn, ID);
    write(&path, &[user(pn, ID, 0, "mend the parser"), reply(pn, ID, 1, "m1", said("it is mended"))]);
    let event = json!({"session_id": ID, "transcript_path": path, "cwd": pn.project(), "reason": "exit"}).to_string();
    for _ in 0..2 {
        let ended = pn.pn(["hook", "SessionEnd", "--agent", "claude"]).stdin(event.clone()).ok();
        assert_eq!(ended, "", "an agent is not disturbed");
        assert_eq!(elements(&pn.pn(["session", "search", "mended"]).ok_json()).len(), 1);
    }
}

fn a_deleted_agent_does_not_come_back(pn: &Sandbox) {
    let path = transcript(pn, ID);
    write(&path, &[user(pn, ID, 1, "forget me")]);
    import(pn);
    let agent = text(&elements(&pn.pn(["agent", "list"]).ok_json())[0]["id"]);
    pn.pn(["agent", "delete", &agent, "--force", "--purge"]).ok();
    write(&path, &[user(pn, ID, 2, "again")]);
    let report = import(pn);
    assert_eq!((counts(&report), elements(&report["skipped"]).len()), ([0, 0, 0, 0], 1));
    assert_eq!(elements(&pn.pn(["agent", "list"]).ok_json()).len(), 0);
}

fn a_conversation_is_replayed_step_by_step(pn: &Sandbox) {
    let output = (0..40).map(|line| format!("line {line}\n")).collect::<String>();
    let result = json!([{"type": "tool_result", "tool_use_id": "t", "is_error": true, "content": output}]);
    let call = json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}});
    write(
        &transcript(pn, ID),
        &[
            user(pn, ID, 1, "look\u{1b}[2J around"),
            reply(pn, ID, 2, "msg_1", call),
            line(pn, ID, "user", 200, json!({"message": {"role": "user", "content": result}})),
            reply(pn, ID, 201, "msg_2", said("It fails.")),
        ],
    );
    import(pn);
    let session = text(&elements(&pn.pn(["session", "list"]).ok_json())[0]["id"]);
    let shown = pn.pn(["session", "replay", &session]).ok();
    let (head, steps) = shown.split_once("\n\n").expect("a head");
    assert!(head.starts_with(&session), "{head}");
    let expected = "2026-02-01\n   1 10:00:01 user\n  look[2J around\n\n   2 10:00:02 call Bash\n  {\"command\":\"ls\"}\n\n\
        after 3m 18s\n   3 10:03:20 result Bash failed\n";
    assert!(steps.starts_with(expected), "{steps}");
    assert!(steps.contains("  line 11\n  [28 more lines]\n") && !steps.contains("line 12"), "{steps}");
    assert!(steps.ends_with("   4 10:03:21 assistant\n  It fails.\n"), "{steps}");
    assert!(pn.pn(["session", "replay", &session, "--full"]).ok().contains("line 39"));
    let steps = pn.pn(["session", "replay", &session]).ok_json()["steps"].clone();
    assert_eq!((elements(&steps).len(), &steps[2]["tool"], &steps[2]["is_error"]), (4, &json!("Bash"), &json!(true)));
}

#[test]
fn only_conversations_of_this_project_are_taken_unless_all_are_wanted() {
    let pn = &Sandbox::with_store(crate::PN);
    write(&transcript(pn, ID), &[user(pn, ID, 1, "here")]);
    let mut there = user(pn, OTHER, 1, "there");
    there["cwd"] = json!(pn.path("elsewhere"));
    write(&transcript(pn, OTHER), &[there]);
    let report = import(pn);
    assert_eq!((counts(&report), &report["elsewhere"]), ([1, 1, 1, 1], &json!(1)));
    let recent = pn.pn(["import-from", "claude-code", "--all", "--since", "2099-01-01T00:00:00Z"]).ok_json();
    assert_eq!(counts(&recent), [0, 0, 0, 0]);
    assert_eq!(counts(&pn.pn(["import-from", "claude-code", "--all"]).ok_json()), [1, 1, 1, 1]);
    pn.pn(["import-from", "codex"]).fails("not_found");
    pn.pn(["import-from", "claude-code", "nowhere"]).fails("not_found");
    pn.pn(["import-from", "claude-code", "p", "--all"]).misused();
}

/// The most memory that a process has used, in bytes, as long as it runs.
#[cfg(target_os = "linux")]
fn peak_memory(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? << 10)
}

#[test]
#[cfg(target_os = "linux")]
fn a_long_conversation_needs_little_memory() {
    let pn = &Sandbox::with_store(crate::PN);
    let lines: Vec<Value> =
        (0..3000).map(|second| reply(pn, ID, second, &format!("msg_{second}"), said(&"word ".repeat(2000)))).collect();
    write(&transcript(pn, ID), &lines);
    let size = fs::metadata(transcript(pn, ID)).expect("a file").len();
    let mut importing = pn.pn(["import-from", "claude-code", "--json"]).spawn();
    let mut peak = 0;
    while importing.try_wait().expect("a process").is_none() {
        peak = peak_memory(importing.id()).map_or(peak, |now| now.max(peak));
        thread::sleep(std::time::Duration::from_millis(5));
    }
    let report = std::io::read_to_string(importing.stdout.take().expect("a pipe")).expect("text");
    assert_eq!(counts(&serde_json::from_str(&report).expect("a report")), [1, 1, 1, 3000]);
    assert!(peak > 0 && peak < 100 << 20 && size > 30 << 20, "{peak} bytes of memory for {size}");
}

#[test]
fn an_import_that_follows_takes_what_is_written_later() {
    let pn = &Sandbox::with_store(crate::PN);
    write(&transcript(pn, ID), &[user(pn, ID, 1, "first")]);
    let mut following = pn.pn(["import-from", "claude-code", "--follow", "--json"]).spawn();
    let mut lines = BufReader::new(following.stdout.take().expect("a pipe")).lines();
    let mut next = || counts(&serde_json::from_str(&lines.next().expect("a line").expect("text")).expect("a report"));
    assert_eq!(next(), [1, 1, 1, 1]);
    write(&transcript(pn, ID), &[user(pn, ID, 2, "second")]);
    assert_eq!(next(), [1, 0, 0, 1]);
    write(&transcript(pn, OTHER), &[user(pn, OTHER, 2, "another")]);
    assert_eq!(next(), [1, 1, 1, 1]);
    // It waits for what comes back.
    let mut warnings = BufReader::new(following.stderr.take().expect("a pipe")).lines();
    let (there, away) = (projects(pn), pn.path("away"));
    fs::rename(&there, &away).expect("moved");
    fs::rename(there.parent().expect("a parent"), pn.path("gone")).expect("moved");
    let warning = warnings.next().expect("a line").expect("text");
    assert!(warning.contains("trying again"), "{warning}");
    fs::create_dir_all(there.parent().expect("a parent")).expect("made");
    fs::rename(&away, &there).expect("moved back");
    write(&transcript(pn, ID), &[user(pn, ID, 3, "third")]);
    assert_eq!(next(), [1, 0, 0, 1]);
    following.kill().expect("killed");
    following.wait().expect("ended");
}
