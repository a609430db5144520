//! Runs a script of commands and records every answer. Each step is a line of its file:
//!
//! ```text
//! bug = issue.create: create "login crash" -t bug      the operation, and the command that calls it
//! job.take: {"id":"$job","slots":1}                    an operation without a command of its own, over HTTP
//! pn: config list                                      a command with an answer of its own
//! not_found: show pn-none                              a command that fails, with this code
//! sh: cat .pensa/issues.jsonl                          a shell command, whose lines are sorted
//! here = serve: --data-dir data                        a server that runs until the end of the script
//! ```
//!
//! `$bug` is the id in the answer named `bug`, `$bug.title` another field of it. Text after ` << ` is standard input.

use std::collections::HashMap;

use pensa_core::Code;
use pensa_testkit::{Daemon, Http, Sandbox};
use serde_json::{Value, json};

use super::described;
use super::mask::Mask;

/// A step of a script.
pub(super) struct Step<'s> {
    line: &'s str,
    name: Option<&'s str>,
    pub(super) label: &'s str,
    command: &'s str,
    stdin: &'s str,
}

pub(super) fn steps(script: &str) -> impl Iterator<Item = Step<'_>> {
    script.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(|line| {
        let (head, rest) = line.split_once(": ").unwrap_or_else(|| panic!("no step: {line}"));
        let (name, label) = head.split_once(" = ").map_or((None, head), |(name, label)| (Some(name), label));
        let (command, stdin) = rest.split_once(" << ").unwrap_or((rest, ""));
        Step { line, name, label, command, stdin }
    })
}

/// A running script.
pub(crate) struct ScriptRun<'p> {
    pn: &'p Sandbox,
    mask: Mask,
    answers: HashMap<String, Value>,
    servers: Vec<Daemon>,
    text: String,
}

impl<'p> ScriptRun<'p> {
    pub(crate) fn new(pn: &'p Sandbox) -> Self {
        Self { pn, mask: Mask::new(pn), answers: HashMap::new(), servers: Vec::new(), text: String::new() }
    }

    /// Runs all steps; returns their answers, and the first event of each type.
    pub(crate) fn run(mut self, script: &str) -> String {
        for step in steps(script) {
            self.text.push_str(&format!("> {}\n", step.line));
            let answers = self.answer(&step);
            for answer in &answers {
                described::check(step.label, answer);
                let shown = self.mask.json(answer);
                self.text.push_str(&format!("{shown}\n"));
            }
            self.text.push('\n');
            if let Some(name) = step.name {
                self.answers.insert(name.to_owned(), answers.into_iter().next().expect("an answer"));
            }
        }
        self.events();
        self.text
    }

    fn answer(&mut self, step: &Step<'_>) -> Vec<Value> {
        let (command, stdin) = (self.filled(step.command), self.filled(step.stdin).replace("\\n", "\n"));
        if command.starts_with('{') {
            return vec![self.over_http(step.label, serde_json::from_str(&command).expect("fields"))];
        }
        if step.label == "sh" {
            let printed = self.pn.tool(self.pn.command("bash").args(["-c", &command]));
            let mut lines: Vec<String> = printed.lines().map(|line| self.mask.text(line)).collect();
            lines.sort();
            lines.iter().for_each(|line| self.text.push_str(&format!("{line}\n")));
            return Vec::new();
        }
        let words = shlex::split(&command).unwrap_or_else(|| panic!("no words: {command}"));
        if step.label == "serve" {
            let flags = ["serve", "--listen=127.0.0.1:0", "--log=off"].map(str::to_owned);
            let server = self.pn.pn([&flags, &words[..]].concat()).json().serve();
            let answer = json!({"url": server.url});
            self.mask.hide(&server.url, "<server>");
            self.servers.push(server);
            return vec![answer];
        }
        let run = self.pn.pn(words).stdin(stdin);
        if Code::ALL.iter().all(|code| code.as_str() != step.label) {
            return run.ok_json_lines();
        }
        let answer = run.json().answer();
        let error = answer.error();
        assert_eq!((&error["code"], answer.stdout.as_str()), (&step.label.into(), ""), "{command}: {error}");
        self.text.push_str(&format!("exit {}\n", answer.code.expect("an exit code")));
        vec![error]
    }

    /// Replaces the references to answers in a text.
    fn filled(&self, text: &str) -> String {
        let mut parts = text.split('$');
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find(|c: char| !(c.is_ascii_alphanumeric() || "._".contains(c))).unwrap_or(part.len());
            let (name, field) = part[..end].split_once('.').unwrap_or((&part[..end], "id"));
            let answer = self.answers.get(name).unwrap_or_else(|| panic!("no answer is called {name}: {text}"));
            let value = answer.pointer(&format!("/{}", field.replace('.', "/"))).expect("a field");
            filled.push_str(&plain(value));
            filled.push_str(&part[end..]);
        }
        filled
    }

    fn over_http(&self, name: &str, mut fields: Value) -> Value {
        let entry = pensa_engine::entry(name).unwrap_or_else(|| panic!("no operation {name}"));
        let fields = fields.as_object_mut().expect("an object");
        let mut path = entry.route.path.to_owned();
        for name in entry.route.path_fields() {
            let value = fields.shift_remove(name).expect("a field of the path");
            path = path.replace(&format!("{{{name}}}"), value.as_str().expect("a text"));
        }
        let daemon = self.pn.daemon();
        let mut http = Http::to(&daemon.url).with("Pensa-Actor", "tester");
        let method = entry.route.method;
        if method.fields_in_query() {
            let pairs: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", plain(value))).collect();
            return http.ask(method.as_str(), &format!("{path}?{}", pairs.join("&"))).reply().ok();
        }
        http.ask(method.as_str(), &path).body(&Value::Object(fields.clone())).reply().ok()
    }

    fn events(&mut self) {
        self.text.push_str("> the first event of each type, as pn events --json prints it\n");
        let mut seen = Vec::new();
        for event in self.pn.pn(["events", "--after", "0", "-n", "10000"]).ok_json_lines() {
            let kind = (event["subject_kind"].clone(), event["event_type"].clone());
            if !seen.contains(&kind) {
                let line = self.mask.line(&event);
                self.text.push_str(&format!("{line}\n"));
                seen.push(kind);
            }
        }
    }
}

/// A value as text for a command line or query.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
