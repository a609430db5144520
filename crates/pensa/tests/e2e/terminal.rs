//! No text from data can colour, move or erase a terminal.

use std::fs;
use std::os::unix::ffi::OsStrExt;

use pensa_core::text::is_unsafe_to_print;
use pensa_testkit::{Answer, Sandbox};
use serde_json::json;

use crate::steps::everything;

crate::in_both_modes! {
    no_command_prints_terminal_escapes,
    an_imported_id_with_control_characters_is_refused,
}

/// Colours, a link, the clipboard, a cleared screen, C1 controls, reordering, hidden characters.
const EVIL: &str = "e\u{1b}[31mvil\u{1b}]8;;http://evil.test\u{7}link\u{1b}]52;c;ZXZpbA==\u{1b}\\\u{9b}2J\u{9d}0;t\u{9c}\
    \u{90}q\u{202e}live\u{2066}\u{200b}\u{feff}\u{2028}\u{7f}\u{8}\r\0\u{e0041}end";

#[track_caller]
fn assert_harmless(what: &str, answer: &Answer) {
    for (stream, text) in [("stdout", &answer.stdout), ("stderr", &answer.stderr)] {
        let bad = text.chars().find(|c| is_unsafe_to_print(*c) && !matches!(c, '\n' | '\t'));
        assert_eq!(bad, None, "{what}: {stream}: {text:?}");
    }
}

/// Writes a store's JSONL by hand, every text in it hostile.
fn import_evil(pn: &Sandbox) {
    let at = "2026-01-02T03:04:05Z";
    let issue = |id: &str, status: &str| {
        json!({"id": id, "title": format!("{EVIL} login crash on empty password"), "description": format!("{EVIL}\n{EVIL}"),
            "issue_type": "task", "status": status, "priority": "p1", "spec": EVIL, "assignee": EVIL,
            "created_at": at, "updated_at": at})
    };
    let mut closed = issue("pn-evil3", "closed");
    closed["closed_at"] = json!(at);
    closed["close_reason"] = json!(EVIL);
    let issues = [issue("pn-evil1", "open"), issue("pn-evil2", "in_progress"), closed];
    let lines = |records: &[serde_json::Value]| records.iter().map(|record| format!("{record}\n")).collect::<String>();
    let deps = [
        json!({"issue_id": "pn-evil1", "depends_on_id": "pn-evil2"}),
        json!({"issue_id": "pn-evil2", "depends_on_id": "pn-evil1"}),
    ];
    let comment = json!({"id": "pn-evilc", "issue_id": "pn-evil2", "actor": EVIL, "text": EVIL, "created_at": at});
    let learning = json!({"id": "ln-evil", "kind": "gotcha", "text": format!("{EVIL} evil\n{EVIL}"), "tags": [EVIL],
        "files": [EVIL], "value": {"type": EVIL, "description": EVIL}, "linear_id": EVIL, "actor": EVIL, "created_at": at,
        "updated_at": at});
    for (name, text) in [
        ("issues", lines(&issues)),
        ("deps", lines(&deps)),
        ("comments", lines(&[comment])),
        ("learnings", lines(&[learning])),
    ] {
        fs::write(pn.store().join(format!("{name}.jsonl")), text).expect("written");
    }
    pn.pn(["import"]).ok_json();
    let dir = pn.path("evil-records");
    fs::create_dir_all(&dir).expect("a directory");
    let a_loop = json!({"id": "lp-evil", "loop_type": "code", "status": "running", "progress": EVIL, "reason": EVIL,
        "holder": EVIL, "context": {EVIL: EVIL}});
    let signal = json!({"id": "sg-evil", "signal_type": "info", "target_loop": "lp-evil", "reason": EVIL, "actor": EVIL, "payload": EVIL});
    fs::write(dir.join("loops.jsonl"), lines(&[a_loop])).expect("written");
    fs::write(dir.join("signals.jsonl"), lines(&[signal])).expect("written");
    pn.pn(["import-from", "taskstore", &dir.display().to_string()]).ok_json();
}

fn no_command_prints_terminal_escapes(pn: &Sandbox) {
    import_evil(pn);
    let id = "pn-evil2";
    let commands: Vec<Vec<&str>> = vec![
        vec![],
        vec!["list"],
        vec!["list", "--sort", "title"],
        vec!["ready"],
        vec!["blocked"],
        vec!["search", "vil"],
        vec!["search", EVIL.split('\0').next().unwrap_or_default()],
        vec!["show", id],
        vec!["show", "pn-evil3"],
        vec!["show", id, "--short"],
        vec!["history", id],
        vec!["history", "pn-evil3"],
        vec!["events", "--after", "0"],
        vec!["events", "--subject", id],
        vec!["events", "--subject", "\u{1b}[31mnowhere"],
        vec!["events", "--type", "\u{1b}[31mnothing"],
        vec!["dep", "list", id],
        vec!["dep", "tree", id],
        vec!["dep", "tree", id, "--direction", "up"],
        vec!["dep", "cycles"],
        vec!["comment", "list", id],
        vec!["count", "--by-assignee", "--by-status"],
        vec!["status"],
        vec!["doctor"],
        vec!["recall", "evil"],
        vec!["recall", "\u{1b}[31m\u{202e}"],
        vec!["learning", "list"],
        vec!["learning", "show", "ln-evil"],
        vec!["learning", "show", "\u{202e}nowhere"],
        vec!["loop", "list"],
        vec!["loop", "show", "lp-evil"],
        vec!["loop", "tree", "lp-evil"],
        vec!["loop", "show", "\u{202e}nowhere"],
        vec!["loop", "iterate", "lp-evil"],
        vec!["loop", "start", "lp-evil"],
        vec!["signal", "list"],
        vec!["signal", "show", "sg-evil"],
        vec!["signal", "wait", "sg-evil", "--timeout", "1s"],
        vec!["lock", "acquire", "\u{1b}[31mred"],
        vec!["lock", "status", "\u{202e}nowhere"],
        vec!["context"],
        vec!["create", "login crash on empty password", "-t", "task"],
        vec!["show", "pn-evil"],
        vec!["show", "\u{1b}[31mnowhere"],
        vec!["show", "\u{202e}nowhere"],
        vec!["update", id, "--claim"],
        vec!["heartbeat", id],
        vec!["update", id, "-p", "p0"],
        vec!["delete", id],
        vec!["release", id],
        vec!["update", id, "--claim"],
        vec!["close", id],
        vec!["reopen", "pn-evil3"],
        vec!["export"],
        vec!["import"],
        vec!["doctor", "--fix"],
        vec!["learning", "verify", "ln-evil"],
        vec!["learning", "forget", "ln-evil"],
        vec!["delete", id, "--force"],
        vec!["undo"],
        vec!["undo", "--by", EVIL.split('\0').next().unwrap_or_default()],
        vec!["undo", "--since", "1d", "--dry-run"],
        vec!["history", "pn-evil1"],
        vec!["work", "start", "pn-evil1"],
        vec!["work"],
        vec!["work", "pause"],
        vec!["work", "list"],
        vec!["work", "step", "done"],
        vec!["work", "done", "--issue", "pn-evil1"],
        vec!["ship", "it", "--version", "1", "--issue", "pn-evil3"],
        vec!["changelog"],
    ];
    let agent = evil_agent(pn);
    let session = crate::steps::text(&pn.pn(["agent", "show", &agent]).ok_json()["active_session_id"]);
    let of_agents: Vec<Vec<&str>> = vec![
        vec!["agent", "list"],
        vec!["agent", "show", &agent],
        vec!["agent", "show", EVIL.split('\0').next().unwrap_or_default()],
        vec!["agent", "create", "--type", EVIL.split('\0').next().unwrap_or_default()],
        vec!["session", "list"],
        vec!["session", "show", &session],
        vec!["session", "history", &agent],
        vec!["session", "context", &agent],
        vec!["session", "export", &session],
        vec!["session", "export", &session, "--format", "markdown"],
        vec!["session", "search", "vil"],
        vec!["session", "append", &agent, "--type", EVIL.split('\0').next().unwrap_or_default()],
        vec!["session", "reset", &agent, "--message", "e\u{202e}vil\u{e0041}"],
        vec!["session", "list"],
        vec!["session", "context", &agent],
        vec!["agent", "delete", &agent],
        vec!["agent", "delete", &agent, "--force"],
        vec!["upgrade"],
    ];
    for args in commands.iter().chain(&of_agents) {
        for form in [&[][..], &["--json"], &["-q"]] {
            let all = [form, args].concat();
            assert_harmless(&format!("{all:?}"), &pn.pn(&all).answer());
        }
    }
}

/// An agent with hostile text in every field.
fn evil_agent(pn: &Sandbox) -> String {
    let evil = json!({ EVIL: [EVIL, { EVIL: EVIL }] }).to_string();
    let name = "e\u{202e}vil\u{200b}\u{e0041}";
    let create = ["agent", "create", "--type", "user", "--name", name, "--descriptor", "-"];
    let id = crate::steps::text(&pn.pn(create).stdin(evil.clone()).ok_json()["id"]);
    pn.pn(["agent", "update", &id, "--stats", &evil, "--tokens", &evil]).ok_json();
    let call = json!([{"id": EVIL, "name": EVIL, "arguments": EVIL}]);
    let lines = [
        json!({"type": "user_message", "text": EVIL}),
        json!({"type": "assistant_message", "text": EVIL, "toolCalls": call}),
        json!({"type": "tool_result", "toolCallId": EVIL, "output": EVIL}),
        json!({"type": "note", EVIL: EVIL}),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    pn.pn(["session", "append", &id, "-"]).stdin(lines).ok_json();
    id
}

fn an_imported_id_with_control_characters_is_refused(pn: &Sandbox) {
    crate::steps::task(pn, "one");
    let before = everything(pn);
    let at = "2026-01-02T03:04:05Z";
    for id in [EVIL, "", "a b", "a\nb", &"x".repeat(1000)] {
        let issue = json!({"id": id, "title": "x", "issue_type": "task", "status": "open", "priority": "p1",
            "created_at": at, "updated_at": at});
        fs::write(pn.store().join("issues.jsonl"), format!("{issue}\n")).expect("written");
        let answer = pn.pn(["import"]).json().answer();
        assert_harmless(id, &answer);
        assert_eq!(answer.code, Some(1), "{id:?}: {answer:?}");
        assert_eq!(everything(pn), before, "{id:?}");
    }
}

#[test]
fn snapshots_of_trees_with_hostile_names_print_safely() {
    let pn = crate::sandbox();
    pn.git_init();
    let evil = "e\u{1b}[31mvil\u{202e}\u{9b}2J\u{e0041}";
    let dir = pn.project().join(evil);
    fs::create_dir_all(dir.join(".hg")).expect("made");
    fs::write(dir.join(evil), "x").expect("written");
    pn.tool(pn.command("mkfifo").arg(dir.join(format!("pipe {evil}"))));
    for provider in ["git", "copy"] {
        let at = |args: &[&str]| {
            pn.pn([&["snapshot"], args].concat()).dir(if provider == "git" { pn.project() } else { dir.clone() })
        };
        let label = "e\u{202e}vil\u{e0041}";
        let made = at(&["create", "--provider", provider, "--label", label, "--json"]).answer();
        assert_harmless(provider, &made);
        // A path with control characters is invalid in a record.
        let id = serde_json::from_str::<serde_json::Value>(&made.stdout)
            .map_or_else(|_| "snap-none".to_owned(), |made| crate::steps::text(&made["id"]));
        fs::write(dir.join(evil), "y").expect("written");
        for args in
            [&["list"][..], &["show", &id], &["verify", &id], &["restore", &id], &["show", evil], &["delete", &id]]
        {
            for form in [&[][..], &["--json"], &["-q"]] {
                let all = [args, form].concat();
                assert_harmless(&format!("{provider} {all:?}"), &at(&all).answer());
            }
        }
    }
}

#[test]
fn wrong_command_lines_and_hostile_paths_print_safely() {
    let pn = Sandbox::bare(crate::PN);
    let dir = pn.path(std::ffi::OsStr::from_bytes(b"e\x1b[31mvil\xe2\x80\xae"));
    fs::create_dir(&dir).expect("made");
    let run = |args: &[&str]| pn.pn(args).dir(&dir).answer();
    for args in
        [&["list"][..], &["--json", "list"], &["init"], &["where"], &["--json", "where"], &["-q", "where"], &["doctor"]]
    {
        assert_harmless(&format!("{args:?}"), &run(args));
    }
    let evil = "\u{1b}[31m\u{9b}2J\u{202e}";
    for args in [&["list", "--status", evil][..], &[evil], &["list", evil], &["--json", "list", "--status", evil]] {
        assert_harmless(&format!("{args:?}"), &run(args));
    }
}
