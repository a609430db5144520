//! Tests random histories of three stores and a server, with interrupted syncs: in the end all have the same records,
//! and no acknowledged change is lost.
//!
//! `PENSA_HISTORIES` sets the number of histories per test, `PENSA_TEST_SEED` the first seed.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pensa_core::sync::COLLECTIONS;
use pensa_testkit::{Answer, Sandbox};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::fixture::{ProjectToken, ServeProcess, Team, elements, text};
use crate::model::{Model, What};
use crate::proxy::Proxy;

const STORES: usize = 3;
/// Histories per test in CI.
const HISTORIES_IN_CI: u64 = 2;
const STEPS: std::ops::Range<usize> = 20..36;

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) >> 33).expect("31 bits") % end.max(1)
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() { None } else { Some(&from[self.below(from.len())]) }
    }
}

/// A history in progress.
struct SyncHistory<'t> {
    team: &'t Team,
    server: Option<ServeProcess>,
    token: ProjectToken,
    proxy: Proxy,
    stores: Vec<Sandbox>,
    model: Model,
    /// The learnings by id: their text, and whether they were forgotten.
    learnings: BTreeMap<String, (String, bool)>,
    refs: Vec<(String, String)>,
    /// Labels and acceptance criteria, with their issues; none is ever removed.
    planned: Vec<(String, String)>,
    workers: usize,
    agents: Vec<String>,
    /// Messages recorded in sessions of agents, and the agents that were deleted at some time.
    said: Vec<(String, String)>,
    deleted_agents: BTreeSet<String>,
    random: Random,
    sync_count: usize,
    log: Vec<String>,
}

impl<'t> SyncHistory<'t> {
    fn new(team: &'t Team, seed: u64) -> Self {
        let project = format!("p{seed}");
        team.project(&project);
        let token = team.token(&project, "maintainer");
        let server = team.serve();
        let proxy = Proxy::to(server.process.port());
        let stores: Vec<Sandbox> = (0..STORES).map(|_| Sandbox::with_store(crate::PN)).collect();
        let url = format!("http://{}/p/{project}", proxy.address);
        for store in &stores {
            store.pn(["remote", "add", "home", &url, "--token-stdin"]).stdin(token.secret.clone()).ok();
            store.pn(["config", "set", "sync.sessions", "true", "--user"]).ok();
            store.pn(["config", "set", "fields.size", "free"]).ok();
        }
        let (model, log) = (Model::default(), Vec::new());
        let learnings = BTreeMap::new();
        let random = Random(seed);
        Self {
            team,
            server: Some(server),
            token,
            proxy,
            stores,
            model,
            learnings,
            refs: Vec::new(),
            planned: Vec::new(),
            workers: 0,
            agents: Vec::new(),
            said: Vec::new(),
            deleted_agents: BTreeSet::new(),
            random,
            sync_count: 0,
            log,
        }
    }

    fn step(&mut self) {
        let at = self.random.below(STORES);
        match self.random.below(42) {
            0..4 => self.create(at),
            4..9 => self.set(at),
            9 | 10 => self.comment(at),
            11 | 12 => self.link(at),
            13 => self.delete(at),
            14 => self.remember(at),
            15 => self.forget(at),
            26..29 => self.value(at),
            29..31 => self.work(at),
            31..33 => self.agent(at),
            33..37 => self.say(at),
            37..42 => self.plan(at),
            16..19 => drop(self.sync(at)),
            19..23 => self.cut_sync(at),
            23 | 24 => self.killed_sync(at),
            _ => self.restart(),
        }
    }

    fn note(&mut self, at: usize, what: String) {
        self.log.push(format!("{at}: {what}"));
    }

    fn try_pn(&self, at: usize, args: &[&str]) -> Option<Value> {
        let answer = self.stores[at].pn([&["--json"], args].concat()).answer();
        (answer.code == Some(0)).then(|| serde_json::from_str(&answer.stdout).expect("JSON"))
    }

    fn create(&mut self, at: usize) {
        let title = format!("made-{}", self.model.changes.len());
        let issue = text(&self.try_pn(at, &["create", &title, "-t", "task"]).expect("made")["id"]);
        self.note(at, format!("create {issue} {title}"));
        self.model.acknowledged(at, What::Created { issue: issue.clone() });
        self.model.acknowledged(at, What::Set { issue, field: "title", value: title });
    }

    /// An issue of the store. After an interrupted sync the store may have fewer than the model assumes.
    fn some_issue(&mut self, at: usize) -> Option<(String, Value)> {
        let issues = self.model.issues(at);
        let issue = self.random.pick(&issues).cloned()?;
        self.try_pn(at, &["show", &issue]).map(|shown| (issue, shown))
    }

    fn set(&mut self, at: usize) {
        let Some((issue, shown)) = self.some_issue(at) else { return };
        let (field, value) = match self.random.below(5) {
            0 => ("priority", ["p0", "p1", "p2", "p3"][self.random.below(4)].to_owned()),
            1 => ("description", format!("text-{}", self.model.changes.len())),
            2 => ("title", format!("title-{}", self.model.changes.len())),
            _ => ("status", ["open", "closed"][self.random.below(2)].to_owned()),
        };
        if shown[field] == value.as_str() {
            return;
        }
        self.note(at, format!("set {issue} {field} {value}"));
        self.try_pn(at, &["update", &issue, &format!("--{field}"), &value]).expect("updated");
        self.model.acknowledged(at, What::Set { issue, field, value });
    }

    fn comment(&mut self, at: usize) {
        let Some((issue, _)) = self.some_issue(at) else { return };
        let comment = text(&self.try_pn(at, &["comment", "add", &issue, "a word"]).expect("said")["id"]);
        self.note(at, format!("comment {comment} on {issue}"));
        self.model.acknowledged(at, What::Commented { issue, comment });
    }

    /// Adds or removes a dependency, always from a younger issue to an older one, so that there are no cycles.
    fn link(&mut self, at: usize) {
        let (Some((a, _)), Some((b, _))) = (self.some_issue(at), self.some_issue(at)) else { return };
        if a == b {
            return;
        }
        let pair = if self.model.age(&a) > self.model.age(&b) { (a, b) } else { (b, a) };
        let (command, what) = match self.model.has_link(at, &pair) {
            Some(true) => ("remove", What::Unlinked { pair: pair.clone() }),
            Some(false) => ("add", What::Linked { pair: pair.clone() }),
            // Another store may have removed it; a store that never had it must not add it again.
            None if self.model.was_linked(&pair) => return,
            None => ("add", What::Linked { pair: pair.clone() }),
        };
        self.note(at, format!("dep {command} {} {}", pair.0, pair.1));
        if self.try_pn(at, &["dep", command, &pair.0, &pair.1]).is_some() {
            self.model.acknowledged(at, what);
        }
    }

    fn delete(&mut self, at: usize) {
        let Some((issue, _)) = self.some_issue(at) else { return };
        self.note(at, format!("delete {issue}"));
        self.try_pn(at, &["delete", &issue, "--force"]).expect("deleted");
        self.model.acknowledged(at, What::Deleted { issue });
    }

    fn remember(&mut self, at: usize) {
        let words = format!("learned-{}", self.log.len());
        let made = self.try_pn(at, &["remember", &words]).expect("kept");
        self.note(at, format!("remember {words}"));
        self.learnings.insert(text(&made["id"]), (words, false));
    }

    fn forget(&mut self, at: usize) {
        let all: Vec<String> = self.learnings.keys().cloned().collect();
        let Some(id) = self.random.pick(&all).cloned() else { return };
        if self.try_pn(at, &["learning", "forget", &id]).is_some() {
            self.note(at, format!("forget {id}"));
            self.learnings.get_mut(&id).expect("known").1 = true;
        }
    }

    /// Changes a value, a skill or a reference. There are few names, so that stores change the same ones.
    fn value(&mut self, at: usize) {
        let (name, value) = (["a", "b", "c"][self.random.below(3)], format!("value-{}", self.log.len()));
        let scope = ["user", "project", "runtime"][self.random.below(3)];
        let issue = self.some_issue(at).map(|(issue, _)| issue).unwrap_or_default();
        let learnings = format!("linear:PRJ-{}", self.log.len());
        let args: &[&str] = match self.random.below(7) {
            0 | 1 => &["kv", "set", name, &value, "--scope", scope],
            2 => &["kv", "delete", name, "--scope", scope],
            3 | 4 => &["skill", "set", name, &value],
            5 => &["skill", "remove", name],
            _ => &["ref", "add", &issue, &learnings],
        };
        let is_done = self.try_pn(at, args).is_some();
        self.note(at, format!("{args:?}: {is_done}"));
        if is_done && args[0] == "ref" {
            self.refs.push((issue, learnings));
        }
    }

    /// Changes planning fields. Any issue may become a part of any other, so that syncs bring cycles together.
    fn plan(&mut self, at: usize) {
        let Some((issue, _)) = self.some_issue(at) else { return };
        let other = self.some_issue(at).map(|(issue, _)| issue).unwrap_or_default();
        let new = format!("plan-{}", self.log.len());
        let (day, size) = (format!("2026-12-0{}", 1 + self.random.below(9)), format!("size={new}"));
        let query = format!("label:{new}");
        let args: &[&str] = match self.random.below(10) {
            0 | 1 => &["update", &issue, "--add-label", &new],
            2 => &["update", &issue, "--accept", &new],
            3 => &["update", &issue, "--due", &day, "--field", &size],
            4 => &["update", &issue, "--defer", ["", &day][self.random.below(2)]],
            5 => &["update", &issue, "--estimate", ["1h", "2h", ""][self.random.below(3)]],
            6 => &["link", "add", &issue, &other],
            7 => &["view", "save", ["a", "b"][self.random.below(2)], &query],
            8 => &["view", "remove", ["a", "b"][self.random.below(2)]],
            _ => &["update", &issue, "--parent", &other],
        };
        let is_done = self.try_pn(at, args).is_some();
        self.note(at, format!("{args:?}: {is_done}"));
        if is_done && ["--add-label", "--accept"].contains(&args[2]) {
            self.planned.push((issue, new));
        }
    }

    /// Starts work, or continues work that the store knows.
    fn work(&mut self, at: usize) {
        let some: Vec<String> = (0..self.workers).map(|number| format!("worker-{number}")).collect();
        let (actor, args): (_, &[&str]) = match self.random.pick(&some) {
            Some(actor) if self.random.below(2) == 0 => (
                actor.clone(),
                [&["work", "step", "done"][..], &["work", "pause"], &["work", "done"]][self.random.below(3)],
            ),
            _ => {
                self.workers += 1;
                (format!("worker-{}", some.len()), &["work", "start", "a piece", "--step", "one", "--step", "two"])
            }
        };
        let answer = self.stores[at].pn([&["--json"], args].concat()).env("PN_ACTOR", &actor).answer();
        self.note(at, format!("{args:?} by {actor}: {:?}", answer.code));
    }

    fn agent(&mut self, at: usize) {
        let (some, words) = (self.agents.clone(), format!("{{\"number\":{}}}", self.log.len()));
        let is_new = self.random.below(3) == 0;
        let Some(id) = self.random.pick(&some).filter(|_| !is_new) else {
            let made = self.try_pn(at, &["agent", "create", "-t", "user"]).expect("made");
            self.note(at, format!("agent {}", made["id"]));
            return self.agents.push(text(&made["id"]));
        };
        let args: &[&str] = match self.random.below(8) {
            0 => &["agent", "delete", id, "--force"],
            1 => &["agent", "sleep", id],
            2 => &["agent", "wake", id],
            3 => &["session", "reset", id],
            4 => &["session", "compact", id, "--summary", &words],
            _ => &["agent", "update", id, "--descriptor", &words],
        };
        let is_done = self.try_pn(at, args).is_some();
        self.note(at, format!("{args:?}: {is_done}"));
        if is_done && args[1] == "delete" {
            self.deleted_agents.insert(id.clone());
        }
    }

    fn say(&mut self, at: usize) {
        let some = self.agents.clone();
        let Some(id) = self.random.pick(&some) else { return self.agent(at) };
        let words = format!("said-{}", self.log.len());
        let data = format!("{{\"text\":\"{words}\"}}");
        let is_done = self.try_pn(at, &["session", "append", id, "--type", "note", "--data", &data]).is_some();
        self.note(at, format!("{id} {words}: {is_done}"));
        if is_done {
            self.said.push((id.clone(), words));
        }
    }

    /// Records in the model that store and server have synced.
    fn record_sync(&mut self, at: usize) {
        let [before, now] = [self.sync_count, self.sync_count + 1].map(|number| number.to_string());
        self.sync_count += 1;
        self.model.committed(at, now.clone(), &[before]);
        self.model.imported(at, &now);
    }

    fn try_sync(&mut self, at: usize) -> Answer {
        let answer = self.stores[at].pn(["sync", "--json"]).answer();
        self.record_sync(at);
        answer
    }

    fn sync(&mut self, at: usize) -> Value {
        let answer = self.try_sync(at);
        self.note(at, format!("sync {}", answer.stdout.trim()));
        assert_eq!(answer.code, Some(0), "{answer:?}\n{}", self.log.join("\n"));
        serde_json::from_str(&answer.stdout).expect("JSON")
    }

    /// Syncs with a connection that is cut while there is something to send.
    fn cut_sync(&mut self, at: usize) {
        self.create(at);
        self.set(at);
        let bytes = [1500, 3000, 6000][self.random.below(3)];
        let bytes = i64::try_from(self.random.below(bytes)).expect("small");
        let is_once = self.random.below(3) == 0;
        self.proxy.cut_after(bytes, is_once);
        let answer = self.try_sync(at);
        self.proxy.remove_limit();
        self.note(
            at,
            format!("sync cut after {bytes} bytes, once: {is_once}: {:?} {}", answer.code, answer.stderr.trim()),
        );
    }

    /// Kills a sync, or its server.
    fn killed_sync(&mut self, at: usize) {
        self.create(at);
        let wait = Duration::from_millis(u64::try_from(self.random.below(60)).expect("small"));
        let mut child = self.stores[at].pn(["sync"]).spawn();
        thread::sleep(wait);
        if self.random.below(2) == 0 {
            let _ = child.kill();
            self.note(at, format!("sync killed after {wait:?}"));
            let _ = child.wait();
        } else {
            self.restart();
            let ended = child.wait();
            self.note(at, format!("sync whose server was killed after {wait:?}: {ended:?}"));
        }
        self.record_sync(at);
    }

    fn restart(&mut self) {
        if let Some(server) = self.server.take() {
            server.process.stop(Signal::KILL);
        }
        let server = self.team.serve();
        self.proxy.redirect_to(server.process.port());
        self.server = Some(server);
        self.log.push("the server was killed and started again".into());
    }

    /// Syncs all stores until none has anything new.
    fn sync_until_quiet(&mut self) {
        for _ in 0..6 {
            let mut any = false;
            for at in 0..STORES {
                let done = self.sync(at);
                any |= done["pulled"] != 0 || done["pushed"] != 0;
                assert_eq!(done["held"], 0, "{done}\n{}", self.log.join("\n"));
            }
            if !any {
                return;
            }
        }
        panic!("it never ends\n{}", self.log.join("\n"));
    }

    fn exported(&self, at: usize) -> Vec<String> {
        self.stores[at].pn(["export"]).ok();
        let read = |name: String| fs::read_to_string(self.stores[at].store().join(name)).unwrap_or_default();
        COLLECTIONS.iter().map(|collection| read(collection.file_name())).collect()
    }

    fn check(&self) {
        let files: Vec<Vec<String>> = (0..STORES).map(|at| self.exported(at)).collect();
        for at in 1..STORES {
            assert_eq!(files[0], files[at], "stores 0 and {at} differ\n{}", self.log.join("\n"));
        }
        let server = self.server.as_ref().expect("a server");
        let mut conflicts = elements(&self.team.through(server, &self.token, ["conflicts"]).ok_json());
        for at in 0..STORES {
            conflicts.extend(elements(&self.try_pn(at, &["conflicts"]).expect("conflicts")));
            let report = self.try_pn(at, &["doctor", "--deep"]).expect("a report");
            let bad = elements(&report["findings"]).into_iter().filter(|finding| finding["severity"] == "error");
            assert_eq!(bad.count(), 0, "{report}\n{}", self.log.join("\n"));
            let waiting = self.try_pn(at, &["sync", "status", "home"]).expect("a status");
            assert_eq!(waiting["events"], Value::Array(Vec::new()), "{waiting}\n{}", self.log.join("\n"));
        }
        let lines = |file: &str| file.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let server_collections: Vec<Value> =
            (0..STORES).map(|at| server_collections(|args| self.try_pn(at, args).expect("a list"))).collect();
        for at in 1..STORES {
            assert_eq!(
                server_collections[0],
                server_collections[at],
                "stores 0 and {at} differ\n{}",
                self.log.join("\n")
            );
        }
        let there = self::server_collections(|args| self.team.through(server, &self.token, args).ok_json());
        assert_eq!(server_collections[0], there, "the server differs\n{}", self.log.join("\n"));
        let all = there.to_string();
        for (agent, words) in self.said.iter().filter(|(agent, _)| !self.deleted_agents.contains(agent)) {
            assert!(all.contains(&format!("\"{words}\"")), "{agent} {words}\n{}", self.log.join("\n"));
        }
        self.check_issues(lines(&files[0][0]), &conflicts);
        self.check_rest(&files[0]);
        let of_server = self.team.through(server, &self.token, ["list", "--sort", "created_at"]).ok_json();
        let there: BTreeSet<String> = elements(&of_server).iter().map(Value::to_string).collect();
        let here: Vec<Value> = lines(&files[0][0]);
        let here: BTreeSet<String> = here.iter().map(Value::to_string).collect();
        assert_eq!(here, there, "the server differs\n{}", self.log.join("\n"));
    }

    fn check_issues(&self, there: Vec<Value>, conflicts: &[Value]) {
        let made: BTreeSet<&String> = self
            .model
            .changes
            .iter()
            .filter_map(|what| match what {
                What::Created { issue } => Some(issue),
                _ => None,
            })
            .collect();
        for issue in made {
            let record = there.iter().find(|record| record["id"] == issue.as_str());
            assert_eq!(record.is_some(), self.model.is_alive(issue), "{issue}\n{}", self.log.join("\n"));
            let Some(record) = record else { continue };
            for field in ["title", "description", "priority", "status"] {
                let standing = self.model.standing(issue, field);
                let is_in_conflict = |value: &str| {
                    conflicts.iter().any(|conflict| {
                        conflict["record_id"] == issue.as_str()
                            && (conflict["field"] == field && conflict["other"] == value
                                || conflict["other"][field] == value)
                    })
                };
                for (value, is_return) in &standing {
                    assert!(
                        record[field] == *value || is_in_conflict(value) || *is_return,
                        "{issue}: {field} {value} is gone: {record}, {conflicts:?}\n{}",
                        self.log.join("\n")
                    );
                }
                let is_one = standing.is_empty() || standing.iter().any(|(value, _)| record[field] == *value);
                assert!(is_one, "{issue}: {field} is none of {standing:?}: {record}\n{}", self.log.join("\n"));
            }
        }
    }

    fn check_rest(&self, files: &[String]) {
        let mut last = BTreeMap::new();
        for what in &self.model.changes {
            match what {
                What::Commented { issue, comment } if !self.model.was_deleted(issue) => {
                    assert!(files[2].contains(comment.as_str()), "comment {comment}\n{}", self.log.join("\n"));
                }
                What::Linked { pair } => drop(last.insert(pair, true)),
                What::Unlinked { pair } => drop(last.insert(pair, false)),
                _ => {}
            }
        }
        for ((child, parent), linked) in last {
            if self.model.was_deleted(child) || self.model.was_deleted(parent) {
                continue;
            }
            let line = format!("{{\"issue_id\":\"{child}\",\"depends_on_id\":\"{parent}\"}}");
            assert_eq!(files[1].contains(&line), linked, "{line}\n{}", self.log.join("\n"));
        }
        for (words, is_forgotten) in self.learnings.values() {
            let is_there = files[4].contains(&format!("\"{words}\""));
            assert_eq!(is_there, !is_forgotten, "{words}\n{}", self.log.join("\n"));
        }
        for (issue, word) in self.planned.iter().filter(|(issue, _)| !self.model.was_deleted(issue)) {
            let line = files[0].lines().find(|line| line.contains(&format!("{{\"id\":\"{issue}\"")));
            let is_there = line.is_some_and(|line| line.contains(&format!("\"{word}\"")));
            assert!(is_there, "{word} of {issue}: {line:?}\n{}", self.log.join("\n"));
        }
        for (_, learnings) in self.refs.iter().filter(|(issue, _)| !self.model.was_deleted(issue)) {
            assert!(
                files.iter().any(|file| file.contains(&format!("\"{learnings}\""))),
                "{learnings}\n{}",
                self.log.join("\n")
            );
        }
    }
}

/// The records that only servers carry, without fields that belong to one store.
fn server_collections(list: impl Fn(&[&str]) -> Value) -> Value {
    let mut agents = elements(&list(&["agent", "list"]));
    for agent in &mut agents {
        let agent = agent.as_object_mut().expect("an object");
        agent.retain(|field, _| !["permissions", "tokens", "active_session_id"].contains(&field.as_str()));
    }
    let mut values = elements(&list(&["kv", "list"]));
    values.retain(|pair| pair["scope"] != "runtime");
    let mut work = elements(&list(&["work", "list"]));
    work.sort_by_key(|piece| text(&piece["issue_id"]));
    let mut sessions = elements(&list(&["session", "list", "--all"]));
    sessions.retain(|session| session["entries"] != 0 || session["opened_by"] != "start");
    sessions.sort_by_key(|session| text(&session["id"]));
    for session in &mut sessions {
        let mut entries = elements(&list(&["session", "history", &text(&session["id"])]));
        entries.iter_mut().for_each(|entry| drop(entry.as_object_mut().expect("an object").remove("id")));
        session["said"] = entries.into();
    }
    json!({"agents": agents, "values": values, "work": work, "sessions": sessions})
}

/// The first seed. Soak runs explore new histories; CI always runs the same ones.
fn first_seed(test: u64, explores: bool) -> u64 {
    let given = env::var("PENSA_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let begin = if explores { u64::try_from(now.as_millis()).unwrap_or_default() } else { 0 };
    given.unwrap_or(begin + test * 1_000_003)
}

fn run_histories(team: &Team, test: u64, in_ci: u64) {
    let wanted: Option<u64> = env::var("PENSA_HISTORIES").ok().and_then(|count| count.parse().ok());
    let first = first_seed(test, wanted.is_some());
    for seed in (0..wanted.unwrap_or(in_ci)).map(|at| first.wrapping_add(at)) {
        println!("PENSA_TEST_SEED={seed} PENSA_HISTORIES=1");
        let mut history = SyncHistory::new(team, seed);
        for _ in 0..STEPS.start + history.random.below(STEPS.len()) {
            history.step();
        }
        history.sync_until_quiet();
        history.check();
    }
}

// Split into several tests, which run in parallel.

#[test]
fn random_histories_converge_without_loss_1() {
    run_histories(&Team::on_sqlite(), 1, HISTORIES_IN_CI);
}

#[test]
fn random_histories_converge_without_loss_2() {
    run_histories(&Team::on_sqlite(), 2, HISTORIES_IN_CI);
}

#[test]
fn random_histories_converge_without_loss_on_postgres() {
    run_histories(&Team::on_postgres(), 3, 1);
}
