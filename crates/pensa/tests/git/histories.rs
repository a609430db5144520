//! Random histories of three clones: all converge, and nothing acknowledged is lost.
//!
//! `PENSA_HISTORIES` sets how many a test tries, `PENSA_TEST_SEED` the first seed.

use std::collections::BTreeSet;
use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

use pensa_core::sync::COLLECTIONS;
use serde_json::Value;

use crate::clones::{Clone, Machine};
use crate::model::{Model, What};

const CLONES: usize = 3;
/// Histories per test in CI; the tests run in parallel.
const IN_CI: u64 = 25;
const STEPS: std::ops::Range<usize> = 8..24;

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

/// A running history.
struct History {
    machine: Machine,
    model: Model,
    dice: Dice,
    /// The branch each clone is on, and those it has.
    branches: [(String, Vec<String>); CLONES],
    /// The external references of issues.
    refs: Vec<(String, String)>,
    /// Names with skills, and removed names.
    skills: BTreeSet<String>,
    removed: BTreeSet<String>,
    /// Labels and acceptance criteria, with their issues; none is ever removed.
    planned: Vec<(String, String)>,
    log: Vec<String>,
}

impl History {
    fn new(machine: Machine, seed: u64) -> Self {
        let branches = std::array::from_fn(|_| ("main".to_owned(), Vec::new()));
        let (refs, [skills, removed]) = (Vec::new(), [(); 2].map(|()| BTreeSet::new()));
        let (model, dice) = (Model::default(), Dice(seed));
        Self { machine, model, dice, branches, refs, skills, removed, planned: Vec::new(), log: Vec::new() }
    }

    fn step(&mut self) {
        let at = self.dice.below(CLONES);
        match self.dice.below(25) {
            0..3 => self.create(at),
            3..7 => self.set(at),
            7 => self.comment(at),
            8 => self.link(at),
            9 => self.delete(at),
            20 => self.refer(at),
            21 => self.skill(at),
            22..25 => self.plan(at),
            10..13 => self.commit(at),
            13..16 => self.pull(at),
            16 => self.push(at),
            17 => self.branch(at),
            18 => self.switch(at),
            _ => self.merge_branch(at),
        }
    }

    fn note(&mut self, at: usize, what: String) {
        self.log.push(format!("{at}: {what}"));
    }

    fn create(&mut self, at: usize) {
        let title = format!("made-{}", self.model.changes.len());
        let issue = self.machine.clone(at).pn(&["create", &title, "-t", "task", "-q"]).trim().to_owned();
        self.note(at, format!("create {issue} {title}"));
        self.model.acknowledged(at, What::Created { issue: issue.clone() });
        self.model.acknowledged(at, What::Set { issue, field: "title", value: title });
    }

    fn some_issue(&mut self, at: usize) -> Option<String> {
        let issues = self.model.issues(at);
        self.dice.pick(&issues).cloned()
    }

    fn set(&mut self, at: usize) {
        let Some(issue) = self.some_issue(at) else { return };
        let (field, value) = match self.dice.below(5) {
            0 => ("priority", ["p0", "p1", "p2", "p3"][self.dice.below(4)].to_owned()),
            1 => ("description", format!("text-{}", self.model.changes.len())),
            2 => ("title", format!("title-{}", self.model.changes.len())),
            _ => ("status", ["open", "closed"][self.dice.below(2)].to_owned()),
        };
        if self.machine.clone(at).json(&["show", &issue])[field] == value.as_str() {
            return;
        }
        self.note(at, format!("set {issue} {field} {value}"));
        self.machine.clone(at).pn(&["update", &issue, &format!("--{field}"), &value]);
        self.model.acknowledged(at, What::Set { issue, field, value });
    }

    fn comment(&mut self, at: usize) {
        let Some(issue) = self.some_issue(at) else { return };
        let made = self.machine.clone(at).json(&["comment", "add", &issue, "a word"]);
        let comment = made["id"].as_str().expect("an id").to_owned();
        self.note(at, format!("comment {comment} on {issue}"));
        self.model.acknowledged(at, What::Commented { issue, comment });
    }

    /// Links go from younger issues to older ones, so that no cycle closes.
    fn link(&mut self, at: usize) {
        let (Some(a), Some(b)) = (self.some_issue(at), self.some_issue(at)) else { return };
        if a == b {
            return;
        }
        let pair = if self.model.age(&a) > self.model.age(&b) { (a, b) } else { (b, a) };
        let (command, what) = match self.model.has_link(at, &pair) {
            Some(true) => ("remove", What::Unlinked { pair: pair.clone() }),
            Some(false) => ("add", What::Linked { pair: pair.clone() }),
            // A clone without the dependency does not add it again if another clone may have removed it.
            None if self.model.was_linked(&pair) => return,
            None => ("add", What::Linked { pair: pair.clone() }),
        };
        self.note(at, format!("dep {command} {} {}", pair.0, pair.1));
        if self.machine.clone(at).try_pn(&["dep", command, &pair.0, &pair.1]).is_ok() {
            self.model.acknowledged(at, what);
        }
    }

    fn delete(&mut self, at: usize) {
        let Some(issue) = self.some_issue(at) else { return };
        self.note(at, format!("delete {issue}"));
        self.machine.clone(at).pn(&["delete", &issue, "--force"]);
        self.model.acknowledged(at, What::Deleted { issue });
    }

    fn refer(&mut self, at: usize) {
        let Some(issue) = self.some_issue(at) else { return };
        let known = format!("linear:PRJ-{}", self.log.len());
        let made = self.machine.clone(at).json(&["ref", "add", &issue, &known]);
        self.note(at, format!("ref {} {known} of {issue}", made["of"]["id"]));
        self.refs.push((issue, known));
    }

    /// Changes a planning field. Any issue may become a part of any other, so that merges bring cycles together.
    fn plan(&mut self, at: usize) {
        let Some(issue) = self.some_issue(at) else { return };
        let other = self.some_issue(at).unwrap_or_default();
        let new = format!("plan-{}", self.log.len());
        let day = format!("2026-12-0{}", 1 + self.dice.below(9));
        let (size, query) = (format!("size={new}"), format!("label:{new}"));
        let few = ["a", "b"][self.dice.below(2)];
        let change: &[&str] = match self.dice.below(12) {
            0..2 => &["update", &issue, "--add-label", &new],
            2 => &["update", &issue, "--accept", &new],
            3 => &["update", &issue, "--due", &day],
            4 => &["update", &issue, "--defer", ["", &day][self.dice.below(2)]],
            5 => &["update", &issue, "--estimate", ["1h", "2h", ""][self.dice.below(3)]],
            6 => &["link", "add", &issue, &other],
            7 => &["update", &issue, ["--label", "--remove-label"][self.dice.below(2)], few],
            8 => &["update", &issue, "--field", ["size=", &size][self.dice.below(2)]],
            9 => &["view", "save", few, &query],
            10 => &["view", "remove", few],
            _ => &["update", &issue, "--parent", &other],
        };
        let is_done = self.machine.clone(at).try_pn(change).is_ok();
        self.note(at, format!("{change:?}: {is_done}"));
        if is_done && ["--add-label", "--accept"].contains(&change[2]) {
            self.planned.push((issue, new.clone()));
        }
    }

    /// Few names, so that clones change and remove those of each other.
    fn skill(&mut self, at: usize) {
        let name = format!("{}.md", ["a", "b", "c"][self.dice.below(3)]);
        if self.dice.below(3) == 0 {
            let is_removed = self.machine.clone(at).try_pn(&["skill", "remove", &name]).is_ok();
            self.note(at, format!("skill remove {name}: {is_removed}"));
            self.removed.extend(is_removed.then_some(name));
            return;
        }
        let value = format!("skill-{}", self.log.len());
        self.machine.clone(at).pn(&["skill", "set", &name, &value]);
        self.note(at, format!("skill set {name} {value}"));
        self.skills.insert(name);
    }

    fn commit(&mut self, at: usize) {
        let clone = self.machine.clone(at);
        let before = clone.head();
        clone.git(&["commit", "--quiet", "--all", "--allow-empty", "--message=work"]);
        self.model.committed(at, clone.head(), &[before]);
        self.note(at, "commit".into());
    }

    /// Records a commit that came from a merge or rebase.
    fn record_merge(&mut self, at: usize, from: &[&str]) {
        let head = self.machine.clone(at).head();
        if !from.contains(&head.as_str()) {
            self.model.combined(&head, from);
        }
        self.model.imported(at, &head);
    }

    fn pull(&mut self, at: usize) {
        self.commit(at);
        self.pull_and_import(at);
    }

    /// Pulls what the others pushed; there is nothing to commit.
    fn pull_and_import(&mut self, at: usize) {
        let rebase = self.dice.below(3) == 0;
        let clone = self.machine.clone(at);
        let before = clone.head();
        clone.git(&["fetch", "--quiet", "origin"]);
        let upstream = clone.commit("refs/remotes/origin/main");
        let how: &[&str] = if rebase {
            &["rebase", "--quiet", "origin/main"]
        } else {
            &["merge", "--quiet", "--no-edit", "origin/main"]
        };
        let outcome = clone.try_git(how);
        self.note(at, format!("{how:?}"));
        assert!(outcome.is_ok(), "{outcome:?}\n{}", self.log.join("\n"));
        self.record_merge(at, &[&before, &upstream]);
    }

    fn push(&mut self, at: usize) {
        self.pull(at);
        self.give(at);
    }

    fn give(&mut self, at: usize) {
        let clone = self.machine.clone(at);
        let pushed = clone.try_git(&["push", "--quiet", "origin", "HEAD:main"]).is_ok();
        self.note(at, format!("push: {pushed}"));
    }

    fn branch(&mut self, at: usize) {
        let name = format!("branch-{}", self.log.len());
        self.machine.clone(at).git(&["checkout", "--quiet", "-b", &name]);
        self.note(at, format!("branch {name}"));
        let (current, others) = &mut self.branches[at];
        others.push(std::mem::replace(current, name));
    }

    /// Switches to another branch, leaving uncommitted changes in the store.
    fn switch(&mut self, at: usize) {
        let others = self.branches[at].1.clone();
        let Some(name) = self.dice.pick(&others).cloned() else { return };
        let clone = self.machine.clone(at);
        clone.git(&["checkout", "--quiet", &name]);
        self.note(at, format!("switch to {name}"));
        self.model.imported(at, &self.machine.clone(at).head());
        let (current, others) = &mut self.branches[at];
        others.retain(|other| *other != name);
        others.push(std::mem::replace(current, name));
    }

    fn merge_branch(&mut self, at: usize) {
        let others = self.branches[at].1.clone();
        let Some(name) = self.dice.pick(&others).cloned() else { return };
        self.commit(at);
        let clone = self.machine.clone(at);
        let (before, other) = (clone.head(), clone.commit(&format!("refs/heads/{name}")));
        let outcome = clone.try_git(&["merge", "--quiet", "--no-edit", &name]);
        self.note(at, format!("merge {name}"));
        assert!(outcome.is_ok(), "{outcome:?}\n{}", self.log.join("\n"));
        self.record_merge(at, &[&before, &other]);
    }

    /// Exchanges everything between all clones.
    fn converge(&mut self) {
        for at in 0..CLONES {
            self.commit(at);
            let (current, others) = self.branches[at].clone();
            self.branches[at].1.push(current);
            if self.branches[at].1.iter().any(|name| name == "main") && self.branches[at].0 != "main" {
                self.machine.clone(at).git(&["checkout", "--quiet", "main"]);
                self.record_merge(at, &[]);
            }
            for name in others.iter().chain([&self.branches[at].0.clone()]).filter(|name| *name != "main") {
                let clone = self.machine.clone(at);
                let outcome = clone.try_git(&["merge", "--quiet", "--no-edit", name]);
                assert!(outcome.is_ok(), "{outcome:?}\n{}", self.log.join("\n"));
                self.note(at, format!("converge {name}"));
            }
        }
        for at in 0..CLONES {
            if self.branches[at].1.len() > 1 {
                self.commit(at);
            }
            self.pull_and_import(at);
            self.give(at);
        }
        // The last clone to push has everything.
        for at in 0..CLONES - 1 {
            self.pull_and_import(at);
        }
    }

    /// The exports of all clones.
    fn exported(&self) -> Vec<Vec<String>> {
        self.machine.clones().map(|clone| clone.exported()).collect()
    }

    fn check(&mut self) {
        let mut files = self.exported();
        if files.iter().any(|those| *those != files[0]) {
            // A merge can leave a store with more than the files: an issue that another clone deleted was changed later
            // and stays, and so do its comments, whose lines git took out. The next commit has them again.
            (0..CLONES).for_each(|at| self.push(at));
            (0..CLONES - 1).for_each(|at| self.pull_and_import(at));
            files = self.exported();
        }
        let clones: Vec<Clone<'_>> = self.machine.clones().collect();
        for at in 1..CLONES {
            assert_eq!(files[0], files[at], "clones 0 and {at} differ\n{}", self.log.join("\n"));
        }
        let log = |clone: &Clone<'_>| clone.json(&["conflicts"]).as_array().expect("a list").clone();
        let conflicts: Vec<Value> = clones.iter().flat_map(log).collect();
        self.check_issues(&files[0][0], &conflicts);
        self.check_rest(&files[0]);
        let report = clones[0].json(&["doctor"]);
        let bad =
            report["findings"].as_array().expect("a list").iter().filter(|finding| finding["severity"] == "error");
        assert_eq!(bad.count(), 0, "{report}\n{}", self.log.join("\n"));
    }

    fn check_issues(&self, lines: &str, conflicts: &[Value]) {
        let there: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
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
            for field in ["title", "description", "priority", "status"] {
                let standing = self.model.standing(issue, field);
                let kept = |value: &str| record.is_some_and(|record| record[field] == value);
                let log = |value: &str| {
                    conflicts.iter().any(|conflict| {
                        conflict["record_id"] == issue.as_str()
                            && (conflict["field"] == field && conflict["other"] == value
                                || conflict["other"][field] == value)
                    })
                };
                for (value, is_return) in &standing {
                    let gone = record.is_some() && !kept(value) && !log(value) && !is_return;
                    assert!(
                        !gone,
                        "{issue}: {field} {value} is gone: {record:?}, {conflicts:?}\n{}",
                        self.log.join("\n")
                    );
                }
                let is_one = standing.is_empty() || record.is_none() || standing.iter().any(|(value, _)| kept(value));
                assert!(is_one, "{issue}: {field} is none of {standing:?}: {record:?}\n{}", self.log.join("\n"));
            }
        }
    }

    fn check_rest(&self, files: &[String]) {
        let mut last = std::collections::BTreeMap::new();
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
        let has = |name: &str, word: &str| {
            let at = COLLECTIONS.iter().position(|collection| collection.name == name).expect("a collection");
            files[at].contains(&format!("\"{word}\""))
        };
        for (_, known) in self.refs.iter().filter(|(issue, _)| !self.model.was_deleted(issue)) {
            assert!(has("refs", known), "{known}\n{}", self.log.join("\n"));
        }
        for (issue, word) in self.planned.iter().filter(|(issue, _)| !self.model.was_deleted(issue)) {
            let line = files[0].lines().find(|line| line.contains(&format!("{{\"id\":\"{issue}\"")));
            let is_there = line.is_some_and(|line| line.contains(&format!("\"{word}\"")));
            assert!(is_there, "{word} of {issue}: {line:?}\n{}", self.log.join("\n"));
        }
        for name in self.skills.difference(&self.removed) {
            assert!(has("skills", name), "{name}\n{}", self.log.join("\n"));
        }
    }
}

/// The first seed of a test run; each is printed, so that a failure can be repeated. A soak test uses random seeds; CI uses
/// the same every time.
fn first_seed(test: u64, explores: bool) -> u64 {
    let given = env::var("PENSA_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let begin = if explores { u64::try_from(now.as_micros()).unwrap_or_default().wrapping_mul(31) } else { 0 };
    given.unwrap_or(begin + test * 1_000_003)
}

fn try_many(test: u64) {
    let wanted: Option<u64> = env::var("PENSA_HISTORIES").ok().and_then(|count| count.parse().ok());
    let (count, machine) = (wanted.unwrap_or(IN_CI), Machine::new(CLONES));
    let first = first_seed(test, wanted.is_some());
    for seed in (0..count).map(|at| first.wrapping_add(at)) {
        println!("PENSA_TEST_SEED={seed} PENSA_HISTORIES=1");
        let mut history = History::new(machine.copy(), seed);
        for _ in 0..STEPS.start + history.dice.below(STEPS.len()) {
            history.step();
        }
        history.converge();
        history.check();
    }
}

// Several tests, because tests run in parallel.

#[test]
fn whatever_three_clones_do_all_have_the_same_in_the_end_and_nothing_is_gone_1() {
    try_many(1);
}

#[test]
fn whatever_three_clones_do_all_have_the_same_in_the_end_and_nothing_is_gone_2() {
    try_many(2);
}

#[test]
fn whatever_three_clones_do_all_have_the_same_in_the_end_and_nothing_is_gone_3() {
    try_many(3);
}

#[test]
fn whatever_three_clones_do_all_have_the_same_in_the_end_and_nothing_is_gone_4() {
    try_many(4);
}

#[test]
fn whatever_three_clones_do_all_have_the_same_in_the_end_and_nothing_is_gone_5() {
    try_many(5);
}

#[test]
fn whatever_three_clones_do_all_have_the_same_in_the_end_and_nothing_is_gone_6() {
    try_many(6);
}

#[test]
fn whatever_three_clones_do_all_have_the_same_in_the_end_and_nothing_is_gone_7() {
    try_many(7);
}

#[test]
fn whatever_three_clones_do_all_have_the_same_in_the_end_and_nothing_is_gone_8() {
    try_many(8);
}
