//! Random histories of three stores and a server: whatever they do and however their syncs are disturbed, in the end all
//! have the same and nothing acknowledged is gone.
//!
//! `PENSA_HISTORIES` says how many a test tries, `PENSA_TEST_SEED` with which one to begin.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pensa_core::sync::COLLECTIONS;
use pensa_testkit::{Answer, Sandbox};
use rustix::process::Signal;
use serde_json::Value;

use crate::model::{Model, What};
use crate::proxy::Proxy;
use crate::setting::{Server, Team, Token, elements, text};

const STORES: usize = 3;
/// Histories of each test in CI.
const IN_CI: u64 = 2;
const STEPS: std::ops::Range<usize> = 20..36;

struct Dice(u64);

impl Dice {
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

/// One history as it goes on.
struct History<'t> {
    team: &'t Team,
    server: Option<Server>,
    token: Token,
    proxy: Proxy,
    stores: Vec<Sandbox>,
    model: Model,
    /// What was found out, and whether it was forgotten since.
    known: BTreeMap<String, (String, bool)>,
    dice: Dice,
    meetings: usize,
    told: Vec<String>,
}

impl<'t> History<'t> {
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
        }
        let (model, told) = (Model::default(), Vec::new());
        let known = BTreeMap::new();
        let dice = Dice(seed);
        Self { team, server: Some(server), token, proxy, stores, model, known, dice, meetings: 0, told }
    }

    fn step(&mut self) {
        let at = self.dice.below(STORES);
        match self.dice.below(26) {
            0..4 => self.create(at),
            4..9 => self.set(at),
            9 | 10 => self.comment(at),
            11 | 12 => self.link(at),
            13 => self.delete(at),
            14 => self.remember(at),
            15 => self.forget(at),
            16..19 => drop(self.sync(at)),
            19..23 => self.cut_sync(at),
            23 | 24 => self.killed_sync(at),
            _ => self.restart(),
        }
    }

    fn note(&mut self, at: usize, what: String) {
        self.told.push(format!("{at}: {what}"));
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

    /// An issue that the store has. One whose sync was cut off may have less than it is thought to.
    fn some_issue(&mut self, at: usize) -> Option<(String, Value)> {
        let issues = self.model.issues(at);
        let issue = self.dice.pick(&issues).cloned()?;
        self.try_pn(at, &["show", &issue]).map(|shown| (issue, shown))
    }

    fn set(&mut self, at: usize) {
        let Some((issue, shown)) = self.some_issue(at) else { return };
        let (field, value) = match self.dice.below(5) {
            0 => ("priority", ["p0", "p1", "p2", "p3"][self.dice.below(4)].to_owned()),
            1 => ("description", format!("text-{}", self.model.changes.len())),
            2 => ("title", format!("title-{}", self.model.changes.len())),
            _ => ("status", ["open", "closed"][self.dice.below(2)].to_owned()),
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

    /// Links go from younger issues to older ones, so that no cycle closes.
    fn link(&mut self, at: usize) {
        let (Some((a, _)), Some((b, _))) = (self.some_issue(at), self.some_issue(at)) else { return };
        if a == b {
            return;
        }
        let pair = if self.model.age(&a) > self.model.age(&b) { (a, b) } else { (b, a) };
        let (command, what) = match self.model.has_link(at, &pair) {
            Some(true) => ("remove", What::Unlinked { pair: pair.clone() }),
            Some(false) => ("add", What::Linked { pair: pair.clone() }),
            // What another store may have removed meanwhile is not made anew by one that never knew it.
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
        let words = format!("learned-{}", self.told.len());
        let made = self.try_pn(at, &["remember", &words]).expect("kept");
        self.note(at, format!("remember {words}"));
        self.known.insert(text(&made["id"]), (words, false));
    }

    fn forget(&mut self, at: usize) {
        let all: Vec<String> = self.known.keys().cloned().collect();
        let Some(id) = self.dice.pick(&all).cloned() else { return };
        if self.try_pn(at, &["learning", "forget", &id]).is_some() {
            self.note(at, format!("forget {id}"));
            self.known.get_mut(&id).expect("known").1 = true;
        }
    }

    /// The store and the server know the same, as far as anybody can tell.
    fn met(&mut self, at: usize) {
        let [before, now] = [self.meetings, self.meetings + 1].map(|number| number.to_string());
        self.meetings += 1;
        self.model.committed(at, now.clone(), &[before]);
        self.model.imported(at, &now);
    }

    fn try_sync(&mut self, at: usize) -> Answer {
        let answer = self.stores[at].pn(["sync", "--json"]).answer();
        self.met(at);
        answer
    }

    fn sync(&mut self, at: usize) -> Value {
        let answer = self.try_sync(at);
        self.note(at, format!("sync {}", answer.stdout.trim()));
        assert_eq!(answer.code, Some(0), "{answer:?}\n{}", self.told.join("\n"));
        serde_json::from_str(&answer.stdout).expect("JSON")
    }

    /// A sync with something to send, whose connection ends somewhere.
    fn cut_sync(&mut self, at: usize) {
        self.create(at);
        self.set(at);
        let bytes = [1500, 3000, 6000][self.dice.below(3)];
        let bytes = i64::try_from(self.dice.below(bytes)).expect("small");
        let is_once = self.dice.below(3) == 0;
        self.proxy.cut_after(bytes, is_once);
        let answer = self.try_sync(at);
        self.proxy.let_pass();
        self.note(
            at,
            format!("sync cut after {bytes} bytes, once: {is_once}: {:?} {}", answer.code, answer.stderr.trim()),
        );
    }

    /// A sync that is killed, or whose server is.
    fn killed_sync(&mut self, at: usize) {
        self.create(at);
        let wait = Duration::from_millis(u64::try_from(self.dice.below(60)).expect("small"));
        let mut child = self.stores[at].pn(["sync"]).spawn();
        thread::sleep(wait);
        if self.dice.below(2) == 0 {
            let _ = child.kill();
            self.note(at, format!("sync killed after {wait:?}"));
            let _ = child.wait();
        } else {
            self.restart();
            let ended = child.wait();
            self.note(at, format!("sync whose server was killed after {wait:?}: {ended:?}"));
        }
        self.met(at);
    }

    fn restart(&mut self) {
        if let Some(server) = self.server.take() {
            server.process.stop(Signal::KILL);
        }
        let server = self.team.serve();
        self.proxy.lead_to(server.process.port());
        self.server = Some(server);
        self.told.push("the server was killed and started again".into());
    }

    /// Everybody syncs until nobody has anything new.
    fn gather(&mut self) {
        for _ in 0..6 {
            let mut any = false;
            for at in 0..STORES {
                let done = self.sync(at);
                any |= done["pulled"] != 0 || done["pushed"] != 0;
                assert_eq!(done["held"], 0, "{done}\n{}", self.told.join("\n"));
            }
            if !any {
                return;
            }
        }
        panic!("it never ends\n{}", self.told.join("\n"));
    }

    fn exported(&self, at: usize) -> Vec<String> {
        self.stores[at].pn(["export"]).ok();
        let read = |name: String| fs::read_to_string(self.stores[at].store().join(name)).unwrap_or_default();
        COLLECTIONS.iter().map(|collection| read(collection.file_name())).collect()
    }

    fn check(&self) {
        let files: Vec<Vec<String>> = (0..STORES).map(|at| self.exported(at)).collect();
        for at in 1..STORES {
            assert_eq!(files[0], files[at], "stores 0 and {at} differ\n{}", self.told.join("\n"));
        }
        let server = self.server.as_ref().expect("a server");
        let mut conflicts = elements(&self.team.through(server, &self.token, ["conflicts"]).ok_json());
        for at in 0..STORES {
            conflicts.extend(elements(&self.try_pn(at, &["conflicts"]).expect("conflicts")));
            let report = self.try_pn(at, &["doctor", "--deep"]).expect("a report");
            let bad = elements(&report["findings"]).into_iter().filter(|finding| finding["severity"] == "error");
            assert_eq!(bad.count(), 0, "{report}\n{}", self.told.join("\n"));
            let waiting = self.try_pn(at, &["sync", "status", "home"]).expect("a status");
            assert_eq!(waiting["events"], Value::Array(Vec::new()), "{waiting}\n{}", self.told.join("\n"));
        }
        let lines = |file: &str| file.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        self.check_issues(lines(&files[0][0]), &conflicts);
        self.check_rest(&files[0]);
        let of_server = self.team.through(server, &self.token, ["list", "--sort", "created_at"]).ok_json();
        let there: BTreeSet<String> = elements(&of_server).iter().map(Value::to_string).collect();
        let here: Vec<Value> = lines(&files[0][0]);
        let here: BTreeSet<String> = here.iter().map(Value::to_string).collect();
        assert_eq!(here, there, "the server differs\n{}", self.told.join("\n"));
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
            assert_eq!(record.is_some(), self.model.is_alive(issue), "{issue}\n{}", self.told.join("\n"));
            let Some(record) = record else { continue };
            for field in ["title", "description", "priority", "status"] {
                let standing = self.model.standing(issue, field);
                let is_told = |value: &str| {
                    conflicts.iter().any(|conflict| {
                        conflict["record_id"] == issue.as_str()
                            && (conflict["field"] == field && conflict["other"] == value
                                || conflict["other"][field] == value)
                    })
                };
                for (value, is_return) in &standing {
                    assert!(
                        record[field] == *value || is_told(value) || *is_return,
                        "{issue}: {field} {value} is gone: {record}, {conflicts:?}\n{}",
                        self.told.join("\n")
                    );
                }
                let is_one = standing.is_empty() || standing.iter().any(|(value, _)| record[field] == *value);
                assert!(is_one, "{issue}: {field} is none of {standing:?}: {record}\n{}", self.told.join("\n"));
            }
        }
    }

    fn check_rest(&self, files: &[String]) {
        let mut last = BTreeMap::new();
        for what in &self.model.changes {
            match what {
                What::Commented { issue, comment } if !self.model.was_deleted(issue) => {
                    assert!(files[2].contains(comment.as_str()), "comment {comment}\n{}", self.told.join("\n"));
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
            assert_eq!(files[1].contains(&line), linked, "{line}\n{}", self.told.join("\n"));
        }
        for (words, is_forgotten) in self.known.values() {
            let is_there = files[4].contains(&format!("\"{words}\""));
            assert_eq!(is_there, !is_forgotten, "{words}\n{}", self.told.join("\n"));
        }
    }
}

/// The number that a test run begins with. A soak explores; what decides about a change tries the same histories.
fn first_seed(test: u64, explores: bool) -> u64 {
    let given = env::var("PENSA_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let begin = if explores { u64::try_from(now.as_millis()).unwrap_or_default() } else { 0 };
    given.unwrap_or(begin + test * 1_000_003)
}

fn try_many(team: &Team, test: u64, in_ci: u64) {
    let wanted: Option<u64> = env::var("PENSA_HISTORIES").ok().and_then(|count| count.parse().ok());
    let first = first_seed(test, wanted.is_some());
    for seed in (0..wanted.unwrap_or(in_ci)).map(|at| first.wrapping_add(at)) {
        println!("PENSA_TEST_SEED={seed} PENSA_HISTORIES=1");
        let mut history = History::new(team, seed);
        for _ in 0..STEPS.start + history.dice.below(STEPS.len()) {
            history.step();
        }
        history.gather();
        history.check();
    }
}

// Several tests, because tests run side by side.

#[test]
fn whatever_three_stores_and_a_server_do_all_have_the_same_in_the_end_and_nothing_is_gone_1() {
    try_many(&Team::on_sqlite(), 1, IN_CI);
}

#[test]
fn whatever_three_stores_and_a_server_do_all_have_the_same_in_the_end_and_nothing_is_gone_2() {
    try_many(&Team::on_sqlite(), 2, IN_CI);
}

#[test]
fn whatever_three_stores_and_a_server_on_postgres_do_all_have_the_same_in_the_end() {
    try_many(&Team::on_postgres(), 3, 1);
}
