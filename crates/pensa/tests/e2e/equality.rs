//! Commands give the same answers embedded and through the daemon, except for ids and times.

use std::collections::HashMap;

use pensa_testkit::{Mode, Sandbox};

use crate::steps::{create, text};

/// The output of a script of commands, with ids and times replaced by their order of appearance.
#[derive(Default)]
struct Transcript {
    lines: Vec<String>,
    known: HashMap<String, usize>,
}

impl Transcript {
    fn record(&mut self, pn: &Sandbox, actor: &str, args: &[&str], stdin: &str) {
        for form in [&["--json"][..], &[], &["-q"]] {
            // A command that changes something runs only once.
            let read = matches!(args.first(), Some(&("list" | "ready" | "blocked" | "show" | "search" | "count")))
                || matches!(
                    args,
                    ["status" | "history" | "events" | "where", ..] | ["dep", "tree" | "list" | "cycles", ..]
                )
                || matches!(args, ["work"] | ["work", "list", ..] | ["work", "step", "list", ..] | ["skill", "list"])
                || matches!(args, ["next" | "shipped" | "changelog", ..])
                || matches!(args, ["job", "list" | "show" | "stats", ..])
                || matches!(args, ["recall" | "context", ..] | ["learning", "list" | "show", ..])
                || matches!(args, ["loop" | "signal", "list" | "show" | "tree", ..] | ["lock", "status" | "list", ..])
                || matches!(
                    args,
                    ["agent" | "session", "list" | "show" | "history" | "context" | "export" | "search", ..]
                );
            if form == ["--json"] || read {
                let answer = pn.pn([form, args].concat()).actor(actor).stdin(stdin).answer();
                let transcript = format!("{:?} {} | {}", answer.code, answer.stdout, answer.stderr);
                self.lines.push(format!("{args:?}: {transcript}"));
            }
        }
    }

    fn normal(mut self, pn: &Sandbox) -> Vec<String> {
        let home = pn.path("").to_string_lossy().trim_end_matches('/').to_owned();
        let lines = std::mem::take(&mut self.lines);
        lines
            .iter()
            .map(|line| self.normal_line(&line.replace(&home, "HOME").replace("descendants:", "descendants ")))
            .collect()
    }

    fn normal_line(&mut self, line: &str) -> String {
        let mut normal = String::new();
        for word in line.split_inclusive(|c: char| !(c.is_ascii_alphanumeric() || "-:.".contains(c))) {
            let kept = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            let prefixes = ["pn-", "ag-", "se-", "rel-", "ln-", "lp-", "sg-", "job-"];
            let hex = prefixes.into_iter().find_map(|prefix| kept.strip_prefix(prefix));
            let is_id = hex.is_some_and(|hex| hex.len() == 8 && u32::from_str_radix(hex, 16).is_ok());
            let is_time = kept.len() == 24 && kept.ends_with('Z') && kept.starts_with("20");
            if is_id {
                let next = self.known.len();
                let number = *self.known.entry(kept.to_owned()).or_insert(next);
                normal.push_str(&format!("<id {number}>{}", &word[kept.len()..]));
            } else if is_time {
                normal.push_str(&format!("<time>{}", &word[kept.len()..]));
            } else if normal.ends_with("\"duration_ms\"") && kept.starts_with(':') {
                normal.push_str(&format!(":<duration>{}", &word[kept.len()..]));
            } else if normal.ends_with(" in ") && kept.strip_suffix('s').is_some_and(|n| n.parse::<u64>().is_ok()) {
                normal.push_str(&format!("<duration>{}", &word[kept.len()..]));
            } else {
                normal.push_str(word);
            }
        }
        normal
    }
}

/// Every command, every filter, every kind of failure.
fn script(pn: &Sandbox) -> Vec<String> {
    let mut transcript = Transcript::default();
    let bug = create(pn, &["login crash on empty password", "-t", "bug", "-p", "p0"]);
    let fix = create(pn, &["reject empty passwords", "-t", "task", "-p", "p1", "--fixes", &bug, "--spec", "auth"]);
    let docs = create(pn, &["document it", "-t", "chore", "--dep", &fix, "-a", "Zoë & co", "--description", "α\n\tβ"]);
    let commands: Vec<(&str, Vec<&str>, &str)> = vec![
        ("ana", vec!["create", "login crashes on empty password", "-t", "bug"], ""),
        ("ana", vec!["create", "from a pipe", "-t", "test", "--description", "-"], "piped\ntext"),
        ("ana", vec!["create", "", "-t", "task"], ""),
        ("ana", vec!["create", "x", "-t", "nonsense"], ""),
        ("ana", vec!["create", "x", "-t", "task", "--dep", "pn-zzz"], ""),
        ("ana", vec!["create", "x", "-t", "task", "--fixes", &docs], ""),
        ("ana", vec!["update", &fix, "--claim", "--ttl", "1h"], ""),
        ("ben", vec!["update", &fix, "--claim"], ""),
        ("ben", vec!["heartbeat", &fix], ""),
        ("ana", vec!["heartbeat", &fix], ""),
        ("ana", vec!["update", &fix, "--title", "reject them", "--description", ""], ""),
        ("ana", vec!["update", &fix], ""),
        ("Zoë & co", vec!["comment", "add", &fix, "the form sends null\nnot an empty text"], ""),
        ("ana", vec!["comment", "add", &fix, "-"], "said\n"),
        ("ana", vec!["comment", "add", &fix, " "], ""),
        ("ana", vec!["comment", "list", &fix], ""),
        ("ana", vec!["dep", "add", &docs, &bug], ""),
        ("ana", vec!["dep", "add", &bug, &docs], ""),
        ("ana", vec!["dep", "remove", &fix, &docs], ""),
        ("ana", vec!["dep", "list", &docs], ""),
        ("ana", vec!["dep", "tree", &bug], ""),
        ("ana", vec!["dep", "tree", &docs, "--direction", "up"], ""),
        ("ana", vec!["dep", "cycles"], ""),
        ("ana", vec!["ready"], ""),
        ("ana", vec!["ready", "-n", "1", "-p", "p2", "-t", "test"], ""),
        ("ana", vec!["ready", "-a", ""], ""),
        ("ana", vec!["blocked"], ""),
        ("ana", vec!["list"], ""),
        ("ana", vec!["list", "-a", "Zoë & co", "--status", "open", "--sort", "title", "-n", "5"], ""),
        ("ana", vec!["list", "-t", "bug", "-p", "p0", "--sort", "status"], ""),
        ("ana", vec!["search", "EMPTY"], ""),
        ("ana", vec!["search", "Β"], ""),
        ("ana", vec!["search", "100% a&b=c+d/e?f#g"], ""),
        ("ana", vec!["search", ""], ""),
        ("ana", vec!["count"], ""),
        ("ana", vec!["count", "--by-status", "--by-assignee", "--by-priority", "--by-issue-type"], ""),
        ("ana", vec!["delete", &bug], ""),
        ("ana", vec!["close", &fix, "--reason", "validated\non both sides"], ""),
        ("ana", vec!["close", &fix], ""),
        ("ana", vec!["release", &fix], ""),
        ("ana", vec!["reopen", &bug, "--reason", "again"], ""),
        ("ana", vec!["update", &bug, "--status", "closed"], ""),
        ("ana", vec!["show", &fix], ""),
        ("ana", vec!["show", &bug, "--short"], ""),
        ("ana", vec!["show", "nothing here"], ""),
        ("ana", vec!["show", "a/b?c=d#e"], ""),
        ("ana", vec!["show", "ready"], ""),
        ("ana", vec!["close", "count"], ""),
        ("ana", vec!["delete", "search"], ""),
        ("ana", vec!["update", "blocked", "-p", "p1"], ""),
        ("ana", vec!["history", &fix], ""),
        ("ana", vec!["history", &bug], ""),
        ("ana", vec!["events", "--after", "0", "-n", "9"], ""),
        ("ana", vec!["events", "--subject", &fix, "--type", "issue.c*,commented", "--by", "ana"], ""),
        ("ana", vec!["events", "--subject", "nothing here"], ""),
        ("ana", vec!["events", "--type", "nonsense"], ""),
        ("ana", vec!["events", "--after", "100000"], ""),
        ("ana", vec!["status"], ""),
        ("ana", vec!["doctor"], ""),
        ("ana", vec!["export"], ""),
        ("ana", vec!["import"], ""),
        ("ana", vec!["where"], ""),
        (
            "ana",
            vec!["batch"],
            "{\"op\":\"issue.create\",\"title\":\"b\",\"issue_type\":\"task\",\"as\":\"b\"}\n{\"op\":\"issue.close\",\"id\":\"@b\"}\n",
        ),
        ("ana", vec!["batch"], "{\"op\":\"issue.close\",\"id\":\"@b\"}\n"),
        ("bad\u{1b}actor", vec!["create", "x", "-t", "task"], ""),
        ("ana", vec!["delete", &bug, "--force"], ""),
        ("ana", vec!["undo", "--dry-run"], ""),
        ("ben", vec!["undo"], ""),
        ("ana", vec!["history", &bug], ""),
        ("ana", vec!["undo"], ""),
        ("ana", vec!["undo", "--event", "1"], ""),
        ("ana", vec!["undo", "--event", "0"], ""),
        ("ana", vec!["undo", "--by", "Zoë & co", "--since", "1h"], ""),
        ("ana", vec!["undo", "--by", "nobody"], ""),
        ("ana", vec!["undo", "--since", "yesterday"], ""),
        ("ana", vec!["doctor", "--fix"], ""),
        (
            "ana",
            vec!["remember", "Zoë & co: null is not empty", "--tag", "auth", "--issue", &docs, "--kind", "gotcha"],
            "",
        ),
        ("ben", vec!["remember", "zoë & co: null is not empty!", "--tag", "form", "--file", "src/a b.rs"], ""),
        ("ben", vec!["remember", "zoë & co: null is not empty!", "--tag", "form", "--kind", "gotcha"], ""),
        ("ana", vec!["remember", "-"], "{\"taskId\":\"t\",\"learnings\":{\"decisions\":[\"α and β\"]}}\n"),
        ("ana", vec!["remember", "-", "--tag", "x"], "{\"learnings\":{}}"),
        ("ana", vec!["remember", " "], ""),
        ("ana", vec!["remember", "x", "--impact", "huge"], ""),
        ("ana", vec!["remember", "x", "--work", "pn-none"], ""),
        ("ana", vec!["recall", "NULL \"zoË*", "--tag", "auth", "--file", "a b.rs"], ""),
        ("ana", vec!["recall", "β", "--max-tokens", "100", "-n", "1"], ""),
        ("ana", vec!["recall", "nothing like it"], ""),
        ("ana", vec!["recall", "x", "--max-tokens", "1"], ""),
        ("ana", vec!["recall"], ""),
        ("ana", vec!["learning", "list"], ""),
        ("ana", vec!["learning", "list", "--kind", "gotcha", "--tag", "form", "--issue", &docs, "--all"], ""),
        ("ana", vec!["learning", "show", "ln-none"], ""),
        ("ana", vec!["learning", "show", "recall"], ""),
        ("ana", vec!["learning", "verify", "a/b?c"], ""),
        ("ana", vec!["learning", "forget", "recall"], ""),
        ("ana", vec!["context"], ""),
        ("Zoë & co", vec!["context", "--max-tokens", "70"], ""),
        ("ana", vec!["context", "--max-tokens", "7"], ""),
        ("ana", vec![], ""),
    ];
    for (actor, args, stdin) in commands {
        transcript.record(pn, actor, &args, stdin);
    }
    transcript.normal(pn)
}

/// Every command on work, releases and skills.
fn work_script(pn: &Sandbox) -> Vec<String> {
    let mut transcript = Transcript::default();
    let known = crate::steps::task(pn, "known");
    let commands: Vec<(&str, Vec<&str>, &str)> = vec![
        ("ana", vec!["work"], ""),
        (
            "ana",
            vec!["work", "start", "Zoë & co", "--kind", "bug", "--branch", "a/b", "--step", "é", "--step", "2"],
            "",
        ),
        ("ana", vec!["work", "start", "x", "--kind", "miracle"], ""),
        ("ana", vec!["work", "start", " "], ""),
        ("ana", vec!["work", "start", "new", "--step", ""], ""),
        ("ana", vec!["work", "start", "pn-0badf00d"], ""),
        ("ana", vec!["work", "start", &known, "--ttl", "1h"], ""),
        ("ben", vec!["work", "start", &known], ""),
        ("ana", vec!["work"], ""),
        ("ana", vec!["work", "step", "add", "one", "two"], ""),
        ("ben", vec!["work", "step", "done", "2", "--issue", &known], ""),
        ("ana", vec!["work", "step", "done", "9"], ""),
        ("ana", vec!["work", "step", "list"], ""),
        ("ben", vec!["work", "step", "list"], ""),
        ("ana", vec!["work", "list"], ""),
        ("ana", vec!["work", "list", "--status", "paused", "--of", "ana", "-n", "1"], ""),
        ("ana", vec!["work", "pause"], ""),
        ("ana", vec!["work", "pause"], ""),
        ("ana", vec!["work", "resume"], ""),
        ("ben", vec!["work", "resume", &known], ""),
        ("ben", vec!["work", "resume", &known, "--take"], ""),
        ("ben", vec!["work", "done", "--reason", "-"], "so\nit is"),
        ("ben", vec!["work", "done"], ""),
        ("ana", vec!["work", "resume", &known], ""),
        ("ana", vec!["capture", "-"], "an idea\nand more\n"),
        ("ana", vec!["next", "-n", "3"], ""),
        ("ana", vec!["ship", "it", "--version", "1.0", "--issue", &known, "--notes", "<b>"], ""),
        ("ana", vec!["ship", "it", "--version", ".."], ""),
        ("ana", vec!["shipped"], ""),
        ("ana", vec!["shipped", "-n", "0"], ""),
        ("ana", vec!["changelog"], ""),
        ("ana", vec!["changelog", "--since", "1.0"], ""),
        ("ana", vec!["changelog", "--since", "2"], ""),
        ("ana", vec!["skill", "set", "Ä b/c.md", "s", "t"], ""),
        ("ana", vec!["skill", "import", "-"], "{\"mappings\":{\"a.md\":[\"x\"]}}"),
        ("ana", vec!["skill", "import", "-"], "{"),
        ("ana", vec!["skill", "list"], ""),
        ("ana", vec!["skill", "remove", "Ä b/c.md"], ""),
        ("ana", vec!["skill", "remove", "Ä b/c.md"], ""),
        ("ana", vec!["undo"], ""),
        ("ana", vec!["export"], ""),
        ("ana", vec!["doctor"], ""),
    ];
    for (actor, args, stdin) in commands {
        transcript.record(pn, actor, &args, stdin);
    }
    transcript.normal(pn)
}

#[test]
fn work_commands_answer_the_same_embedded_and_through_the_daemon() {
    compare(work_script);
}

/// Every command on loops, signals and locks.
fn loop_script(pn: &Sandbox) -> Vec<String> {
    let mut transcript = Transcript::default();
    let make = ["loop", "create", "--prompt-path", "p é.md", "--validation-command", "true && :", "-t"];
    let create = |more: &[&str]| text(&pn.pn([&make[..], more].concat()).ok_json()["id"]);
    let plan = create(&["plan", "--context", r#"{"a":[0.1,"é"]}"#]);
    let other = create(&["spec", "--worktree", "/w x"]);
    let children = "{\"type\":\"code\",\"prompt_path\":\"c\",\"validation_command\":\"true\"}\n";
    let (to, status) = (format!("descendants:{plan}"), "status:pending");
    let signal = text(&pn.pn(["signal", "send", "-t", "info", "--to", &plan]).ok_json()["id"]);
    let commands: Vec<(&str, Vec<&str>, &str)> = vec![
        ("ana", [&make[..], &["wish"]].concat(), ""),
        ("ana", [&make[..], &["code", "--parent", "lp-none"]].concat(), ""),
        ("ana", [&make[..], &["code", "--context", "-"]].concat(), "{"),
        ("ana", [&make[..], &["code", "--parent", &plan, "--context", "-"]].concat(), "[1]"),
        ("ana", vec!["loop", "claim", "-t", "phase"], ""),
        ("ana", vec!["loop", "claim"], ""),
        ("ben", vec!["loop", "start", &plan], ""),
        ("ana", vec!["loop", "iterate", &plan, "--prompt", "-", "--progress", "Zoë & co"], "do\nit"),
        ("ana", vec!["loop", "iterate", &plan, "--stdout", "-"], "out"),
        ("ana", vec!["loop", "iterate", &other], ""),
        ("ana", vec!["loop", "pause", &plan, "--reason", "a/b?c"], ""),
        ("ana", vec!["loop", "pause", &plan], ""),
        ("ben", vec!["loop", "resume", &plan], ""),
        ("ben", vec!["loop", "rebase", &plan], ""),
        ("ben", vec!["loop", "resume", &plan], ""),
        ("ben", vec!["loop", "submit", &plan, "--output", "a", "--output", "b"], ""),
        ("ana", vec!["loop", "complete", &plan], ""),
        ("ana", vec!["loop", "reject", &plan], ""),
        ("ana", vec!["loop", "submit", &plan], ""),
        ("ana", vec!["loop", "approve", &plan, "--children", "-"], "{"),
        ("ana", vec!["loop", "approve", &plan, "--children", "-"], children),
        ("ana", vec!["loop", "list"], ""),
        ("ana", vec!["loop", "list", "--runnable", "-n", "1"], ""),
        ("ana", vec!["loop", "show", &plan], ""),
        ("ana", vec!["loop", "show", "claim"], ""),
        ("ana", vec!["loop", "tree", &plan], ""),
        ("ana", vec!["loop", "archive", &other], ""),
        ("ana", vec!["loop", "fail", &other, "--reason", "no"], ""),
        ("ana", vec!["loop", "archive", &other], ""),
        ("ana", vec!["context"], ""),
        ("ben", vec!["context"], ""),
        ("ana", vec!["signal", "send", "-t", "rebase", "--to", &to, "--payload", "[1]", "--from", &plan], ""),
        ("ana", vec!["signal", "send", "-t", "stop", "--to", status], ""),
        ("ana", vec!["signal", "send", "-t", "stop", "--to", "nobody"], ""),
        ("ana", vec!["signal", "send", "-t", "stop", "--to", "type:x"], ""),
        ("ana", vec!["signal", "list", "--unacked"], ""),
        ("ana", vec!["signal", "list", "--for", &plan], ""),
        ("ana", vec!["signal", "show", &signal], ""),
        ("ana", vec!["signal", "wait", &signal, "--timeout", "1s"], ""),
        ("ana", vec!["signal", "ack", &signal, "--as", &other], ""),
        ("ana", vec!["signal", "ack", &signal, "--as", &plan], ""),
        ("ana", vec!["signal", "wait", &signal, "--all-acked", "--timeout", "1s"], ""),
        ("ana", vec!["signal", "show", "take"], ""),
        ("ana", vec!["signal", "prune", "--older-than", "1d"], ""),
        ("ana", vec!["loop", "invalidate", &plan, "--reason", "void"], ""),
        ("ana", vec!["loop", "list", "--all"], ""),
        ("ana", vec!["lock", "status", "a b/c?é"], ""),
        ("ana", vec!["lock", "acquire", "a b/c?é", "--token", "t", "--ttl", "1h"], ""),
        ("ben", vec!["lock", "acquire", "a b/c?é", "--token", "u"], ""),
        ("ben", vec!["lock", "acquire", "a b/c?é", "--token", "u", "--wait", "1s"], ""),
        ("ben", vec!["lock", "release", "a b/c?é"], ""),
        ("ana", vec!["lock", "list"], ""),
        ("ben", vec!["lock", "release", "a b/c?é", "--force"], ""),
        ("ana", vec!["lock", "list"], ""),
        ("ana", vec!["lock", "list", "--all", "-n", "1"], ""),
        ("ana", vec!["lock", "acquire", "", "--token", "t"], ""),
        ("ana", vec!["lock", "status", "a b/c?é"], ""),
        ("ana", vec!["undo"], ""),
        ("ana", vec!["doctor"], ""),
    ];
    for (actor, args, stdin) in commands {
        transcript.record(pn, actor, &args, stdin);
    }
    transcript.normal(pn)
}

#[test]
fn loop_commands_answer_the_same_embedded_and_through_the_daemon() {
    compare(loop_script);
}

/// Every command on agents and sessions.
fn agent_script(pn: &Sandbox) -> Vec<String> {
    let mut transcript = Transcript::default();
    let create = |args: &[&str]| text(&pn.pn([&["agent", "create", "--type"], args].concat()).ok_json()["id"]);
    let issue = crate::steps::task(pn, "the work");
    let boss = create(&["permanent", "--name", "boss", "--descriptor", r#"{"a":[0.1,"é"]}"#]);
    create(&["subagent", "--name", "twin", "--parent", &boss]);
    create(&["subagent", "--name", "twin", "--parent", "boss", "--issue", &issue, "--run", "run-1"]);
    let first = text(&pn.pn(["agent", "show", "boss"]).ok_json()["active_session_id"]);
    let deep = format!("{{\"type\":\"note\",\"data\":{}1{}}}", "{\"a\":".repeat(200), "}".repeat(200));
    let lines = "{\"type\":\"assistant_message\",\"text\":\"Zoë\",\"at\":1700000000000,\"toolCalls\":[{\"id\":\"c\",\"name\":\"run\",\"arguments\":{}}]}\n\n\
        {\"type\":\"tool_result\",\"at\":\"2026-01-01T00:00:00Z\",\"data\":{\"toolCallId\":\"c\",\"output\":\"ok\"}}\n";
    let commands: Vec<(Vec<&str>, &str)> = vec![
        (vec!["agent", "create", "--type", "cron", "--descriptor", "-"], "{\"from\":\"a pipe\"}"),
        (vec!["agent", "create", "--type", "wizard"], ""),
        (vec!["agent", "create", "--type", "user", "--descriptor", "[]"], ""),
        (vec!["agent", "create", "--type", "user", "--permissions", "{"], ""),
        (vec!["agent", "create", "--type", "user", "--parent", "nobody"], ""),
        (vec!["agent", "create", "--type", "user", "--issue", "pn-nope"], ""),
        (vec!["agent", "list"], ""),
        (vec!["agent", "list", "--type", "subagent", "--lifecycle", "active", "-n", "1"], ""),
        (vec!["agent", "list", "--type", "Not a type"], ""),
        (vec!["agent", "show", "boss"], ""),
        (vec!["agent", "show", "twin"], ""),
        (vec!["agent", "show", "a b"], ""),
        (vec!["agent", "show", "search"], ""),
        (vec!["agent", "show", "100%/é?x=1#y"], ""),
        (vec!["agent", "update", "boss", "--tokens", r#"{"total":1}"#, "--stats", r#"{"cost":0.1}"#], ""),
        (vec!["agent", "update", "boss", "--tokens", "null"], ""),
        (vec!["agent", "update", "boss"], ""),
        (vec!["agent", "sleep", "boss"], ""),
        (vec!["session", "append", "boss", "--type", "user_message", "--data", r#"{"text":"hi \"there\""}"#], ""),
        (vec!["session", "append", "boss", "--type", "note", "--data", "-"], "{\"text\":\"piped\"}\n"),
        (vec!["session", "append", "boss", "--type", "note"], ""),
        (vec!["session", "append", "boss", "-"], lines),
        (vec!["session", "append", "boss", "-"], "\n{\"type\":\"note\"}\n{\"type\":\"note\""),
        (vec!["session", "append", "boss", "-"], "{\"data\":{}}\n"),
        (vec!["session", "append", "boss", "-"], &deep),
        (vec!["session", "append", "boss", "-"], ""),
        (vec!["session", "append", "boss"], ""),
        (vec!["session", "append", "boss", "--type", "Bad Type"], ""),
        (vec!["session", "append", "boss", "--type", "note", "--data", "7"], ""),
        (vec!["session", "append", "nobody", "--type", "note"], ""),
        (vec!["session", "history", "boss"], ""),
        (vec!["session", "history", &first, "--after", "1", "-n", "2"], ""),
        (vec!["session", "history", "nobody"], ""),
        (vec!["session", "context", "boss"], ""),
        (vec!["session", "context", "boss", "--max-tokens", "1"], ""),
        (vec!["session", "search", "THERE"], ""),
        (vec!["session", "search", "zoë", "--agent", "boss", "-n", "1"], ""),
        (vec!["session", "search", ""], ""),
        (vec!["session", "compact", "boss", "--summary", "-", "--inference-session", "i2"], "in short\n"),
        (vec!["session", "compact", "boss", "--summary", " "], ""),
        (vec!["session", "reset", "boss", "--message", "anew", "--issue", &issue], ""),
        (vec!["session", "context", "boss"], ""),
        (vec!["session", "history", "boss", "--all"], ""),
        (vec!["session", "list"], ""),
        (vec!["session", "list", "--agent", "boss", "-n", "2"], ""),
        (vec!["session", "show", &first], ""),
        (vec!["session", "show", "search"], ""),
        (vec!["session", "export", &first], ""),
        (vec!["session", "export", &first, "--format", "markdown"], ""),
        (vec!["session", "export", "se-nope"], ""),
        (vec!["undo"], ""),
        (vec!["agent", "wake", "boss"], ""),
        (vec!["agent", "kill", "boss"], ""),
        (vec!["agent", "wake", "boss"], ""),
        (vec!["session", "append", "boss", "--type", "note"], ""),
        (vec!["session", "reset", "boss"], ""),
        (vec!["agent", "delete", "boss"], ""),
        (vec!["agent", "delete", "boss", "--force"], ""),
        (vec!["agent", "list"], ""),
        (vec!["session", "list"], ""),
        (vec!["doctor"], ""),
    ];
    for (args, stdin) in commands {
        transcript.record(pn, "ana", &args, stdin);
    }
    transcript.normal(pn)
}

/// Every command on jobs, without durations and processes.
fn job_script(pn: &Sandbox) -> Vec<String> {
    let mut transcript = Transcript::default();
    let started = pn.pn(["job", "start", "--lane", "heavy", "--tool", "Zoë & co", "--loop", "lp-1"]).ok_json();
    let id = text(&started["id"]);
    let commands: Vec<(Vec<&str>, &str)> = vec![
        (vec!["job", "exec", "--lane", "net", "--", "sh", "-c", "cat; exit 3"], "é\n"),
        (vec!["job", "exec", "--lane", "net", "--", "no-such-program"], ""),
        (vec!["job", "exec", "--lane", "none", "--", "true"], ""),
        (vec!["job", "exec", "--lane", "A b", "--", "true"], ""),
        (vec!["job", "exec", "--lane", "net", "--run", "run-none", "--", "true"], ""),
        (vec!["job", "exec", "--lane", "heavy", "--no-wait", "--", "true"], ""),
        (vec!["job", "exec", "--lane", "net", "--timeout", "8d", "--", "true"], ""),
        (vec!["job", "exec", "--lane", "net", "--max-output", "9m", "--", "true"], ""),
        (vec!["job", "start", "--lane", "heavy", "--tool", "x"], ""),
        (vec!["job", "start", "--lane", "net"], ""),
        (vec!["job", "list", "--status", "pending"], ""),
        (vec!["job", "list", "--status", "odd"], ""),
        (vec!["job", "list", "--issue", "pn-none"], ""),
        (vec!["job", "list", "--lane", "heavy", "--tool", "Zoë & co", "--loop", "lp-1", "-n", "0"], ""),
        (vec!["job", "stats", "--tool", "none", "--since", "1h"], ""),
        (vec!["job", "show", "stats"], ""),
        (vec!["job", "show", "a/b?c=d#e"], ""),
        (vec!["job", "cancel", "job-none"], ""),
        (vec!["job", "finish", &id], ""),
        (vec!["job", "finish", &id, "--status", "running"], ""),
        (vec!["job", "finish", "settle", "--exit-code", "0"], ""),
        (vec!["undo"], ""),
        (vec!["doctor"], ""),
    ];
    for (args, stdin) in commands {
        transcript.record(pn, "ana", &args, stdin);
    }
    transcript.normal(pn)
}

#[test]
fn job_commands_answer_the_same_embedded_and_through_the_daemon() {
    compare(job_script);
}

#[test]
fn every_command_answers_the_same_embedded_and_through_the_daemon() {
    compare(script);
}

#[test]
fn agent_commands_answer_the_same_embedded_and_through_the_daemon() {
    compare(agent_script);
}

fn compare(script: fn(&Sandbox) -> Vec<String>) {
    let embedded = script(&Sandbox::in_mode(crate::PN, Mode::Embedded));
    let served = script(&Sandbox::in_mode(crate::PN, Mode::Daemon));
    assert_eq!(embedded.len(), served.len());
    let differing: Vec<String> = embedded
        .iter()
        .zip(&served)
        .filter(|(one, other)| one != other)
        .map(|(one, other)| format!("embedded: {one}\ndaemon:   {other}"))
        .collect();
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}
