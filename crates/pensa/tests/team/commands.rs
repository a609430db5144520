//! Compares `pn` on the database, through a server and embedded: all answer alike.

use std::collections::HashMap;

use pensa_testkit::{Mode, Run, Sandbox};
use serde_json::{Value, json};

use crate::fixture::{ProjectToken, ServeProcess, Team, create, elements, text};

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap_or_else(|| panic!("an object: {value}")).keys().map(String::as_str).collect()
}

/// A team that can be managed directly on the database and through a server, as its operator.
struct ManagedTeam {
    team: Team,
    operator: ProjectToken,
    server: ServeProcess,
}

impl ManagedTeam {
    fn on(team: Team) -> Self {
        team.project("ops");
        let operator = team.operator();
        let server = team.serve();
        Self { team, operator, server }
    }

    fn through(&self, args: &[&str]) -> Run {
        let here = self.team.machine.path("elsewhere");
        let run = self.team.machine.pn(args).dir(here).env("PN_DAEMON", &self.server.process.url);
        run.env("PN_TOKEN", &self.operator.secret)
    }

    #[track_caller]
    fn both(&self, args: &[&str]) -> Value {
        let (direct, through) = (self.team.direct(args).ok_json(), self.through(args).ok_json());
        assert_eq!(direct, through, "{args:?}");
        direct
    }
}

fn projects_and_tokens_are_managed_on_the_database_and_through_a_server(team: Team) {
    let managed = ManagedTeam::on(team);
    let (team, server) = (&managed.team, &managed.server);
    let made = [team.direct(&["project", "create", "api"]), managed.through(&["project", "create", "web"])];
    for (project, name) in made.map(Run::ok_json).iter().zip(["api", "web"]) {
        assert_eq!(keys(project), ["name", "store_id", "created_at"]);
        assert_eq!(project["name"], name);
    }
    let listed = managed.both(&["project", "list"]);
    let names: Vec<String> = elements(&listed).iter().map(|project| text(&project["name"])).collect();
    assert_eq!(names, ["api", "ops", "web"]);
    for run in [team.direct(&["project", "create", "web"]), managed.through(&["project", "create", "web"])] {
        run.fails("conflict");
    }
    team.direct(&["project", "create", "Not A Name"]).misused();

    let create = ["token", "create", "--project", "web", "--role", "agent"];
    let direct = team.direct(&create).ok_json();
    let through = managed.through(&[&create[..], &["--expires", "90d"]].concat()).ok_json();
    assert_eq!(keys(&direct), ["id", "token", "project", "role"]);
    assert_eq!(keys(&through), ["id", "token", "project", "role", "expires_at"]);
    for made in [&direct, &through] {
        assert_eq!(server.client(&ProjectToken::of(made)).get("/issues").ok(), json!([]));
    }
    for missing in [
        team.direct(&["token", "create", "--project", "zzz", "--role", "agent"]),
        managed.through(&["token", "list", "--project", "zzz"]),
    ] {
        missing.fails("not_found");
    }
    team.direct(&["token", "create", "--project", "web", "--role", "king"]).misused();
    let listed = managed.both(&["token", "list", "--project", "web"]);
    assert_eq!(elements(&listed).len(), 2);
    assert!(!listed.to_string().contains("pensa_"), "without their secrets: {listed}");
    let id = text(&direct["id"]);
    let revoked = managed.through(&["token", "revoke", &id]).ok_json();
    assert!(revoked["revoked_at"].is_string(), "{revoked}");
    assert_eq!(team.direct(&["token", "revoke", &id]).ok_json(), revoked, "again is no change");
    assert_eq!(elements(&managed.both(&["token", "list", "--project", "web"])).len(), 1);
    assert_eq!(elements(&managed.both(&["token", "list", "--project", "web", "--all"])).len(), 2);
    team.direct(&["token", "revoke", "tok-00000000"]).fails("not_found");
    managed.through(&["token", "revoke", "tok-00000000"]).fails("not_found");

    let archived = managed.through(&["project", "archive", "web"]).ok_json();
    assert!(archived["archived_at"].is_string(), "{archived}");
    assert_eq!(elements(&managed.both(&["project", "list"])).len(), 2);
    assert_eq!(elements(&managed.both(&["project", "list", "--all"])).len(), 3);
    server.client(&ProjectToken::of(&through)).get("/issues").refused(404, "not_found");
    let back = managed.through(&["project", "archive", "web", "--undo"]).ok_json();
    assert_eq!(keys(&back), ["name", "store_id", "created_at"]);
    assert_eq!(server.client(&ProjectToken::of(&through)).get("/issues").ok(), json!([]));
}

fn audit_shows_who_did_what_with_which_token(team: Team) {
    let managed = ManagedTeam::on(team);
    let (team, server) = (&managed.team, &managed.server);
    team.project("web");
    let (ana, ben) = (team.token("web", "agent"), team.token("web", "agent"));
    let id = create(&mut server.client(&ana).with("Pensa-Actor", "ana"), "audited");
    let close = format!("/issues/{id}/close");
    server.client(&ben).with("Pensa-Actor", "ben").post(&close, &json!({})).ok();
    // An operator cannot read projects, so the audit hides their texts from it.
    let without_texts = |audit: Value| {
        let mut lines = elements(&audit);
        let of_projects = lines.iter_mut().filter(|line| line["subject_kind"] == "issue");
        of_projects.for_each(|line| line["detail"] = json!({}));
        lines
    };
    let audit = |args: &[&str]| {
        let args = [&["audit"], args].concat();
        let lines = without_texts(team.direct(&args).ok_json());
        assert_eq!(lines, elements(&managed.through(&args).ok_json()), "{args:?}");
        lines
    };
    let by_ben = audit(&["--token", &ben.id]);
    assert_eq!(by_ben.len(), 1, "{by_ben:?}");
    let line = &by_ben[0];
    assert_eq!(
        (&line["actor"], &line["event_type"], &line["token"]),
        (&"ben".into(), &"closed".into(), &json!(ben.id))
    );
    assert_eq!((&line["project"], &line["subject_id"]), (&"web".into(), &json!(id)));
    let web = audit(&["--project", "web"]);
    let kinds: Vec<String> =
        web.iter().map(|line| format!("{} {}", text(&line["subject_kind"]), text(&line["event_type"]))).collect();
    assert_eq!(kinds, ["issue closed", "issue created", "token created", "token created", "project created"]);
    assert!(web.iter().all(|line| line["project"] == "web"));
    let all = audit(&[]);
    assert!(all.len() > web.len() && web.iter().all(|line| all.contains(line)), "{all:?}");
    assert_eq!(audit(&["--limit", "1"]), all[..1]);
    assert_eq!(audit(&["--since", "1h"]), all);
    assert_eq!(audit(&["--since", "2100-01-01T00:00:00Z"]), Vec::<Value>::new());
    let middle = text(&web[1]["at"]);
    let since = audit(&["--project", "web", "--since", &middle]);
    assert_eq!(since, web.iter().filter(|line| text(&line["at"]) >= middle).cloned().collect::<Vec<_>>());
    managed.through(&["audit", "--project", "zzz"]).fails("not_found");
    let low = team.machine.pn(["audit"]).env("PN_DAEMON", &server.process.url).env("PN_TOKEN", &ana.secret);
    low.dir(team.machine.path("elsewhere")).fails("forbidden");
}

crate::on_both_databases! {
    projects_and_tokens_are_managed_on_the_database_and_through_a_server,
    audit_shows_who_did_what_with_which_token,
}

/// Runs commands and records their output, with ids and times replaced by placeholders.
struct CommandTranscript<F> {
    pn: F,
    known: HashMap<String, usize>,
    lines: Vec<String>,
}

impl<F: Fn(&[&str]) -> Run> CommandTranscript<F> {
    fn new(pn: F) -> Self {
        Self { pn, known: HashMap::new(), lines: Vec::new() }
    }

    /// Runs a command. Returns the id in its output, or an empty text.
    fn run(&mut self, actor: &str, args: &[&str], stdin: &str) -> String {
        let answer = (self.pn)(&[&["--json"], args].concat()).actor(actor).stdin(stdin).answer();
        let said = format!("{args:?}: {:?} {} | {}", answer.code, answer.stdout, answer.stderr);
        let line = self.normal(&said);
        self.lines.push(line);
        serde_json::from_str::<Value>(&answer.stdout)
            .ok()
            .and_then(|made| Some(made["id"].as_str()?.to_owned()))
            .unwrap_or_default()
    }

    fn normal(&mut self, line: &str) -> String {
        let mut normal = String::new();
        for word in line.split_inclusive(|c: char| !(c.is_ascii_alphanumeric() || "-:.".contains(c))) {
            let kept = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            let prefixes = ["pn-", "ag-", "se-", "run-", "repo-", "har-", "rt-", "snap-", "rel-", "ln-", "lp-", "sg-"];
            let hex = prefixes.into_iter().find_map(|prefix| kept.strip_prefix(prefix));
            let is_id = hex.is_some_and(|hex| hex.len() == 8 && u32::from_str_radix(hex, 16).is_ok());
            let is_time = kept.len() == 24 && kept.ends_with('Z') && kept.starts_with("20");
            let rest = &word[kept.len()..];
            if is_id {
                let next = self.known.len();
                let number = *self.known.entry(kept.to_owned()).or_insert(next);
                normal.push_str(&format!("<id {number}>{rest}"));
            } else if is_time {
                normal.push_str(&format!("<time>{rest}"));
            } else if normal.ends_with("\"duration_ms\"") && kept.starts_with(':') {
                normal.push_str(&format!(":<duration>{rest}"));
            } else {
                normal.push_str(word);
            }
        }
        normal
    }

    /// Commands on agents, runs, jobs, records and the rest, with every kind of error.
    fn script_of_runs(mut self) -> Vec<String> {
        let issue = self.run("ana", &["create", "the work", "-t", "task"], "");
        let agent = self.run("ana", &["agent", "create", "-t", "user", "--name", "bot", "--issue", &issue], "");
        let repo = self.run("ana", &["repo", "add", "--remote", "git@example.test:Org/Repo.git"], "");
        let launch = ["run", "start", "--repo", &repo, "--harness", "claude-code@2.1", "--runtime", "nosandbox"];
        let more = ["--issue", &issue, "--prompt", "-", "--label", "a=b", "--delivery", "pr", "--branch", "x"];
        let run = self.run("ana", &[&launch[..], &more].concat(), "do\nit");
        let second = self.run("ben", &["run", "start", "--repo", &repo, "--created"], "");
        let lines = "{\"type\":\"user_message\",\"text\":\"Zoë\",\"at\":1700000000000}\n{\"type\":\"note\"}\n";
        let commands: Vec<(&str, Vec<&str>, &str)> = vec![
            ("ana", vec!["session", "append", &agent, "-"], lines),
            ("ana", vec!["session", "append", &agent, "-"], "{"),
            ("ana", vec!["session", "context", "bot"], ""),
            ("ana", vec!["session", "compact", "bot", "--summary", "in short"], ""),
            ("ana", vec!["session", "context", "bot"], ""),
            ("ana", vec!["session", "history", "bot", "--all"], ""),
            ("ana", vec!["session", "search", "zoË"], ""),
            ("ana", vec!["session", "list"], ""),
            ("ana", vec!["agent", "kill", "bot"], ""),
            ("ana", vec!["agent", "wake", "bot"], ""),
            ("ana", vec!["repo", "list"], ""),
            ("ana", vec!["repo", "show", &repo], ""),
            ("ana", vec!["repo", "remove", &repo], ""),
            ("ana", vec!["run", "show", &run], ""),
            ("ana", vec!["run", "list", "--issue", &issue], ""),
            ("ana", vec!["run", "list", "--status", "created"], ""),
            ("ana", vec!["run", "finish", &run, "--status", "succeeded", "--exit-code", "0"], ""),
            ("ana", vec!["run", "finish", &run, "--status", "failed"], ""),
            ("ben", vec!["run", "cancel", &second, "--reason", "no longer"], ""),
            ("ana", vec!["run", "list", "-n", "1"], ""),
            ("ana", vec!["run", "events", &run], ""),
            ("ana", vec!["run", "logs", &run], ""),
            ("ana", vec!["run", "show", "run-none"], ""),
            ("ana", vec!["run", "start", "--repo", "nowhere"], ""),
            ("ana", vec!["run", "start", "--repo", &repo, "--harness", "a b"], ""),
            ("ana", vec!["job", "exec", "--lane", "net", "--", "echo", "Zoë"], ""),
            ("ana", vec!["job", "exec", "--lane", "nowhere", "--", "true"], ""),
            ("ana", vec!["job", "exec", "--lane", "net", "--run", "run-none", "--", "true"], ""),
            ("ana", vec!["job", "start", "--lane", "net"], ""),
            ("ana", vec!["job", "list", "--status", "running"], ""),
            ("ana", vec!["job", "list", "--run", "run-none"], ""),
            ("ana", vec!["job", "stats", "--lane", "heavy"], ""),
            ("ana", vec!["job", "show", "job-none"], ""),
            ("ana", vec!["job", "cancel", "job-none"], ""),
            ("ana", vec!["job", "finish", "job-none", "--exit-code", "0"], ""),
            ("ana", vec!["snapshot", "list"], ""),
            ("ana", vec!["snapshot", "list", "--run", &run, "--repo", &repo, "-n", "1"], ""),
            ("ana", vec!["snapshot", "list", "--run", "run-none"], ""),
            ("ana", vec!["snapshot", "show", "snap-none"], ""),
            ("ana", vec!["snapshot", "verify", "snap-none"], ""),
            ("ana", vec!["snapshot", "restore", "snap-none"], ""),
            ("ana", vec!["snapshot", "delete", "snap-none"], ""),
            ("ana", vec!["snapshot", "create", "--repo", &repo], ""),
            ("ana", vec!["harness", "list"], ""),
            ("ana", vec!["runtime", "list"], ""),
            ("ana", vec!["kv", "set", "k", "v", "--scope", "project"], ""),
            ("ana", vec!["kv", "set", "k", "w", "--scope", "project", "--if-absent"], ""),
            ("ana", vec!["kv", "set", "k", "w", "--scope", "project", "--if-value", "v"], ""),
            ("ana", vec!["kv", "get", "k", "--scope", "project"], ""),
            ("ana", vec!["kv", "list"], ""),
            ("ana", vec!["kv", "set", "Ä b/c", "1", "--scope", "user"], ""),
            ("ana", vec!["kv", "delete", "Ä b/c", "--scope", "user"], ""),
            ("ana", vec!["kv", "get", "Ä b/c", "--scope", "user"], ""),
            ("ana", vec!["record", "put", "c", "{\"n\":1.0,\"é\":\"Ä & b\"}", "--id", "Ä b/c?d"], ""),
            ("ana", vec!["record", "put", "c", "-", "--id", "x", "--if-rev", "0"], "{\"n\":\"1\"}"),
            (
                "ana",
                vec!["record", "put", "c", "{}", "--id", "x", "--if-rev", "0", "--updated-at", "2026-01-01T00:00:00Z"],
                "",
            ),
            ("ana", vec!["record", "put", "c", "{}", "--id", "none", "--if-present"], ""),
            ("ana", vec!["record", "put", "C", "{}"], ""),
            ("ana", vec!["record", "get", "c", "Ä b/c?d"], ""),
            ("ana", vec!["record", "get", "c", "none"], ""),
            ("ana", vec!["record", "query", "c", "--where", "n=1", "--where", "é~ä & B"], ""),
            ("ana", vec!["record", "index", "c", "n", "é"], ""),
            ("ana", vec!["record", "query", "c", "--where", "n in [\"1\",1]", "--order", "n desc", "-n", "1"], ""),
            ("ana", vec!["record", "query", "c", "--where", "n<{}"], ""),
            ("ana", vec!["record", "count", "c", "--where", "é is null"], ""),
            (
                "ana",
                vec!["record", "apply"],
                "{\"delete\":{\"collection\":\"c\",\"id\":\"x\"}}\n{\"put\":{\"collection\":\"d\",\"id\":\"y\",\"data\":{}}}",
            ),
            ("ana", vec!["record", "apply"], "{\"delete\":{\"collection\":\"c\",\"id\":\"x\",\"if_rev\":1}}"),
            ("ana", vec!["record", "delete", "c", "--where", "n>0"], ""),
            ("ana", vec!["record", "delete", "c", "none"], ""),
            ("ana", vec!["record", "index", "c", "--check"], ""),
            ("ana", vec!["record", "collections"], ""),
            ("ana", vec!["work"], ""),
            ("ana", vec!["work", "start", &issue, "--step", "Zoë & co"], ""),
            ("ben", vec!["work", "start", &issue], ""),
            ("ana", vec!["work", "step", "done"], ""),
            ("ana", vec!["work", "pause"], ""),
            ("ben", vec!["work", "resume", &issue, "--take"], ""),
            ("ben", vec!["work"], ""),
            ("ana", vec!["work", "list"], ""),
            ("ben", vec!["work", "done", "--reason", "so"], ""),
            ("ben", vec!["ship", "it", "--version", "1.0", "--issue", &issue], ""),
            ("ana", vec!["shipped"], ""),
            ("ana", vec!["changelog"], ""),
            ("ana", vec!["changelog", "--since", "7"], ""),
            ("ana", vec!["skill", "set", "Ä b/c.md", "s"], ""),
            ("ana", vec!["skill", "list"], ""),
            ("ana", vec!["skill", "remove", "Ä b/c.md"], ""),
            ("ana", vec!["capture", "an idea"], ""),
            ("ana", vec!["next"], ""),
            ("ana", vec!["remember", "Ä comes before b & c", "--tag", "sort", "--issue", &issue], ""),
            ("ben", vec!["remember", "ä comes before b and c", "--tag", "abc", "--file", "a/b c.rs"], ""),
            ("ben", vec!["remember", "-"], "{\"taskId\":\"t\",\"learnings\":{\"gotchas\":[\"b? c!\"]}}\n"),
            ("ben", vec!["remember", "-", "--tag", "x"], "{\"learnings\":{}}\n"),
            ("ben", vec!["remember", ""], ""),
            ("ben", vec!["remember", "x", "--kind", "rumour"], ""),
            ("ana", vec!["recall", "Ä \"b*", "--tag", "abc", "--file", "b c.rs", "--max-tokens", "500"], ""),
            ("ana", vec!["recall", "NEAR(", "-n", "1"], ""),
            ("ana", vec!["recall"], ""),
            ("ana", vec!["recall", "x", "--max-tokens", "1"], ""),
            ("ana", vec!["learning", "list", "--tag", "abc"], ""),
            ("ana", vec!["learning", "list", "--all", "-n", "1"], ""),
            ("ana", vec!["learning", "show", "ln-none"], ""),
            ("ana", vec!["learning", "forget", "ln-none"], ""),
            ("ana", vec!["learning", "verify", "ln-none"], ""),
            ("ana", vec!["loop", "claim"], ""),
            ("ana", vec!["loop", "list", "--issue", &issue], ""),
            ("ana", vec!["loop", "show", "lp-none"], ""),
            ("ana", vec!["loop", "create", "-t", "wish", "--prompt-path", "p", "--validation-command", "true"], ""),
            ("ana", vec!["loop", "create", "-t", "code", "--prompt-path", "", "--validation-command", "true"], ""),
            ("ana", vec!["signal", "send", "-t", "info", "--to", "type:code", "--reason", "Ä & b"], ""),
            ("ana", vec!["signal", "send", "-t", "info", "--to", "nobody"], ""),
            ("ana", vec!["signal", "ack", "sg-none", "--as", "lp-none"], ""),
            ("ana", vec!["signal", "list", "--unacked"], ""),
            ("ana", vec!["lock", "acquire", "Ä b/c", "--token", "t", "--ttl", "1h"], ""),
            ("ben", vec!["lock", "acquire", "Ä b/c", "--token", "u"], ""),
            ("ben", vec!["lock", "release", "Ä b/c"], ""),
            ("ana", vec!["lock", "release", "Ä b/c"], ""),
            ("ana", vec!["lock", "status", "Ä b/c"], ""),
            ("ana", vec!["context"], ""),
            ("ana", vec!["context", "--max-tokens", "60", "--format", "json"], ""),
            ("ana", vec!["context", "--max-tokens", "1"], ""),
            ("ana", vec!["doctor"], ""),
        ];
        for (actor, args, stdin) in commands {
            self.run(actor, &args, stdin);
        }
        self.lines
    }

    /// Commands on issues, with every kind of error.
    fn script(mut self) -> Vec<String> {
        let bug = self.run("ana", &["create", "login crash on empty password", "-t", "bug", "-p", "p0"], "");
        let fix = self.run(
            "ana",
            &["create", "reject them", "-t", "task", "-p", "p1", "--fixes", &bug, "--spec", "auth"],
            "",
        );
        let docs =
            self.run("ana", &["create", "document it", "-t", "chore", "--dep", &fix, "--description", "-"], "α\n\tβ");
        let batch = concat!(
            r#"{"op":"issue.create","title":"b","issue_type":"task","as":"b"}"#,
            "\n",
            r#"{"op":"issue.close","id":"@b"}"#,
        );
        let commands: Vec<(&str, Vec<&str>, &str)> = vec![
            ("ana", vec!["create", "login crashes on empty password", "-t", "bug"], ""),
            ("ana", vec!["create", "", "-t", "task"], ""),
            ("ana", vec!["create", "x", "-t", "task", "--dep", "pn-zzz"], ""),
            ("ana", vec!["list"], ""),
            ("ana", vec!["list", "-t", "bug", "--sort", "title", "-n", "1"], ""),
            ("ana", vec!["ready"], ""),
            ("ana", vec!["blocked"], ""),
            ("ana", vec!["update", &fix, "--claim", "--ttl", "1h"], ""),
            ("Zoë & co", vec!["update", &fix, "--claim"], ""),
            ("Zoë & co", vec!["heartbeat", &fix], ""),
            ("ana", vec!["heartbeat", &fix], ""),
            ("ana", vec!["update", &docs, "--title", "document them", "-a", "Zoë & co"], ""),
            ("Zoë & co", vec!["comment", "add", &fix, "the form sends null\nnot an empty text"], ""),
            ("ana", vec!["comment", "list", &fix], ""),
            ("ana", vec!["dep", "add", &docs, &bug], ""),
            ("ana", vec!["dep", "add", &bug, &docs], ""),
            ("ana", vec!["dep", "list", &docs], ""),
            ("ana", vec!["dep", "tree", &docs, "--direction", "up"], ""),
            ("ana", vec!["dep", "remove", &docs, &bug], ""),
            ("ana", vec!["dep", "remove", &docs, &bug], ""),
            ("ana", vec!["dep", "cycles"], ""),
            ("ana", vec!["search", "EMPTY"], ""),
            ("ana", vec!["search", "Β"], ""),
            ("ana", vec!["search", "100% a&b=c+d/e?f#g"], ""),
            ("ana", vec!["count"], ""),
            ("ana", vec!["count", "--by-status", "--by-assignee", "--by-priority", "--by-issue-type"], ""),
            ("ana", vec!["close", &fix, "--reason", "validated\non both sides"], ""),
            ("ana", vec!["close", &fix], ""),
            ("ana", vec!["release", &fix], ""),
            ("ana", vec!["ready"], ""),
            ("ana", vec!["reopen", &bug, "--reason", "again"], ""),
            ("ana", vec!["show", &fix], ""),
            ("ana", vec!["show", "nothing here"], ""),
            ("ana", vec!["show", "ready"], ""),
            ("ana", vec!["history", &fix], ""),
            ("ana", vec!["history", &bug, "-n", "2"], ""),
            ("ana", vec!["status"], ""),
            ("ana", vec!["doctor"], ""),
            ("ana", vec!["batch"], batch),
            ("ana", vec!["batch"], "{\"op\":\"issue.close\",\"id\":\"@b\"}\n"),
            ("ana", vec!["delete", &bug], ""),
            ("ana", vec!["delete", &bug, "--force"], ""),
            ("Zoë & co", vec!["undo", "--dry-run"], ""),
            ("Zoë & co", vec!["undo"], ""),
            ("ana", vec!["history", &bug], ""),
            ("ana", vec!["undo"], ""),
            ("ana", vec!["undo", "--event", "1"], ""),
            ("ana", vec!["undo", "--by", "Zoë & co", "--since", "1h"], ""),
            ("ana", vec!["doctor", "--fix"], ""),
            ("ana", vec!["list"], ""),
            ("ana", vec![], ""),
        ];
        for (actor, args, stdin) in commands {
            self.run(actor, &args, stdin);
        }
        self.lines
    }
}

/// Runs `pn` with these arguments on some store.
type Pn<'p> = Box<dyn Fn(&[&str]) -> Run + 'p>;

#[test]
fn every_command_answers_alike_embedded_and_through_a_server() {
    compare(|pn| CommandTranscript::new(pn).script());
}

#[test]
fn run_commands_answer_alike_embedded_through_daemon_and_server() {
    compare(|pn| CommandTranscript::new(pn).script_of_runs());
    let [embedded, served] = [Mode::Embedded, Mode::Daemon].map(|mode| {
        let machine = Sandbox::in_mode(crate::PN, mode);
        CommandTranscript::new(|args: &[&str]| machine.pn(args)).script_of_runs()
    });
    assert_eq!(embedded, served);
}

#[test]
fn snapshot_content_stays_local_and_its_record_is_on_the_server() {
    for team in [Team::on_postgres(), Team::on_sqlite()] {
        let [web, api] = ["web", "api"].map(|name| text(&team.project(name)["store_id"]));
        let [agent, maintainer] = ["agent", "maintainer"].map(|role| team.token("web", role));
        let other = team.token("api", "maintainer");
        let server = team.serve();
        team.machine.git_init();
        let file = team.machine.project().join("file");
        let pn = |token: &ProjectToken, args: &[&str]| {
            team.through(&server, token, [&["snapshot"], args].concat()).dir(team.machine.project())
        };
        std::fs::write(&file, "one").expect("a file");
        let taken = ["git", "copy"].map(|provider| pn(&agent, &["create", "--provider", provider]).ok_json());
        for made in &taken {
            let id = text(&made["id"]);
            std::fs::write(&file, "two").expect("a file");
            pn(&other, &["restore", &id]).fails("not_found");
            pn(&agent, &["delete", &id]).fails("forbidden");
            assert_eq!(pn(&agent, &["verify", &id]).ok_json()["ok"], true, "what may not be deleted is there");
            pn(&agent, &["restore", &id]).ok();
            assert_eq!(std::fs::read_to_string(&file).expect("a file"), "one");
        }
        let content = std::path::PathBuf::from(text(&taken[1]["path"]));
        // Left behind by a killed command; only the store in the note may delete it.
        let note = content.with_file_name(".note.snap-00000001");
        let left = content.with_file_name("snap-00000001");
        std::fs::create_dir(&left).expect("a directory");
        for (store_id, stays) in [(&api, true), (&web, false)] {
            let about = json!({"id": "snap-00000001", "store_id": store_id, "host": taken[1]["host"],
                "provider": "copy", "root": taken[1]["root"]});
            std::fs::write(&note, about.to_string()).expect("a note");
            pn(&agent, &["verify", &text(&taken[0]["id"])]).ok();
            assert_eq!((note.exists(), left.exists()), (stays, stays));
        }
        let all = elements(&pn(&agent, &["list"]).ok_json());
        assert_eq!((all.len(), elements(&pn(&other, &["list"]).ok_json()).len()), (4, 0));
        all.iter().for_each(|one| drop(pn(&maintainer, &["delete", &text(&one["id"])]).ok()));
        assert!(!content.exists() && team.machine.git(["for-each-ref", "refs/pensa"]).is_empty());
    }
}

fn compare(script: impl Fn(Pn<'_>) -> Vec<String>) {
    let embedded = Sandbox::in_mode(crate::PN, Mode::Embedded);
    let expected = script(Box::new(|args| embedded.pn(args)));
    for team in [Team::on_postgres(), Team::on_sqlite()] {
        team.project("web");
        let token = team.token("web", "maintainer");
        let server = team.serve();
        let said = script(Box::new(|args| team.through(&server, &token, args)));
        let differing: Vec<String> = expected
            .iter()
            .zip(&said)
            .filter(|(one, other)| one != other)
            .map(|(one, other)| format!("embedded: {one}\nserver:   {other}"))
            .collect();
        assert_eq!(expected.len(), said.len());
        assert!(differing.is_empty(), "{}", differing.join("\n"));
    }
}
