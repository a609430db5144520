//! Many agents at once on one store.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::thread;

use pensa_testkit::{Answer, Sandbox, reap};
use serde_json::{Value, json};

use crate::steps::{elements, event_types, ids, task, text};

const AGENTS: usize = 64;
const ROUNDS: usize = 50;
/// Every nth agent uses the daemon.
const SERVED: usize = 10;

/// The answers that one agent got.
#[derive(Default)]
struct Log {
    created: Vec<String>,
    won: Vec<String>,
}

/// Runs `pn` under the agent's name, embedded or through the daemon.
struct Agent<'a> {
    pn: &'a Sandbox,
    url: Option<&'a str>,
    name: String,
}

impl Agent<'_> {
    fn run(&self, args: &[&str]) -> Answer {
        let run = self.pn.pn(args).actor(&self.name).json();
        match self.url {
            Some(url) => run.env("PN_DAEMON", url).dir(self.pn.path("elsewhere")).answer(),
            None => run.answer(),
        }
    }

    /// Creates issues and tries to claim those that all other agents try to claim.
    fn work(&self, wanted: &[String]) -> Log {
        let mut log = Log::default();
        for (round, id) in wanted.iter().enumerate() {
            log.created.push(self.create(round));
            let claim = self.run(&["update", id, "--claim"]);
            if claim.code == Some(0) {
                log.won.push(id.clone());
            } else {
                assert_eq!(claim.error()["code"], "already_claimed", "{}: {claim:?}", self.name);
            }
        }
        log
    }

    fn create(&self, round: usize) -> String {
        let made = self.run(&["create", &format!("{} in round {round}", self.name), "-t", "chore"]);
        assert_eq!(made.code, Some(0), "{}: {made:?}", self.name);
        text(&serde_json::from_str::<Value>(&made.stdout).expect("an issue")["id"])
    }
}

#[test]
fn sixty_four_agents_lose_nothing_and_never_share_a_claim() {
    let pn = crate::sandbox();
    let daemon = pn.daemon();
    let line = |round: usize| json!({"op": "issue.create", "title": format!("wanted {round}"), "issue_type": "task"});
    let lines: String = (0..ROUNDS).map(|round| format!("{}\n", line(round))).collect();
    let wanted: Vec<String> =
        pn.pn(["batch"]).stdin(lines).ok_json_lines().iter().map(|made| text(&made["id"])).collect();

    let logs: Vec<Log> = thread::scope(|scope| {
        let agents: Vec<_> = (0..AGENTS)
            .map(|agent| {
                let url = (agent % SERVED == 0).then_some(daemon.url.as_str());
                let (pn, wanted) = (&pn, &wanted);
                scope.spawn(move || Agent { pn, url, name: format!("agent-{agent}") }.work(wanted))
            })
            .collect();
        agents.into_iter().map(|agent| agent.join().expect("an agent that meets no failure")).collect()
    });

    let listed = elements(&pn.pn(["list"]).ok_json());
    let holders: HashMap<String, Value> =
        listed.iter().map(|issue| (text(&issue["id"]), issue["assignee"].clone())).collect();
    let created: HashSet<&String> = logs.iter().flat_map(|log| &log.created).collect();
    assert_eq!(created.len(), AGENTS * ROUNDS, "no id was given twice");
    assert!(created.iter().all(|id| holders.contains_key(*id)), "every acknowledged issue is there");
    assert_eq!(holders.len(), AGENTS * ROUNDS + ROUNDS, "and no other");
    let mut winners: HashMap<&String, usize> = HashMap::new();
    for (agent, log) in logs.iter().enumerate() {
        for id in &log.won {
            assert_eq!(winners.insert(id, agent), None, "{id} was claimed twice");
            assert_eq!(holders[id], format!("agent-{agent}"));
        }
    }
    assert_eq!(winners.len(), ROUNDS, "every wanted issue was claimed");
    for id in &wanted {
        assert_eq!(event_types(&pn, id), ["created", "claimed"]);
    }
    let report = pn.pn(["doctor"]).ok_json();
    assert!(elements(&report["findings"]).iter().all(|finding| finding["severity"] != "error"), "{report}");
}

#[test]
fn sixty_four_processes_that_take_the_next_issue_get_different_ones() {
    let pn = crate::sandbox();
    let daemon = pn.daemon();
    let line = |n: usize| json!({"op": "issue.create", "title": format!("wanted {n}"), "issue_type": "task", "labels": ["wanted"]});
    pn.pn(["batch"]).stdin((0..AGENTS).map(|n| format!("{}\n", line(n))).collect::<String>()).ok_json_lines();
    task(&pn, "not asked for");
    let taken: HashSet<String> = thread::scope(|scope| {
        let agents: Vec<_> = (0..AGENTS)
            .map(|agent| {
                let url = (agent % SERVED == 0).then_some(daemon.url.as_str());
                let agent = Agent { pn: &pn, url, name: format!("agent-{agent}") };
                scope.spawn(move || {
                    let next = agent.run(&["next", "--claim", "label:wanted"]);
                    assert_eq!(next.code, Some(0), "{}: {next:?}", agent.name);
                    let issue: Value = serde_json::from_str(&next.stdout).expect("an issue");
                    assert_eq!(issue["assignee"], agent.name.as_str());
                    text(&issue["id"])
                })
            })
            .collect();
        agents.into_iter().map(|agent| agent.join().expect("an agent that meets no failure")).collect()
    });
    assert_eq!(taken.len(), AGENTS);
    let none = pn.pn(["next", "--claim", "label:wanted"]).json().answer();
    assert_eq!((none.code, &none.error()["code"]), (Some(1), &json!("not_found")));
}

#[test]
fn many_first_commands_at_once_create_one_store() {
    let pn = Sandbox::bare(crate::PN);
    let inits: Vec<Value> = thread::scope(|scope| {
        let runs: Vec<_> = (0..16).map(|_| scope.spawn(|| pn.pn(["init"]).ok_json())).collect();
        runs.into_iter().map(|run| run.join().expect("an init")).collect()
    });
    let ids: HashSet<String> = inits.iter().map(|init| text(&init["store_id"])).collect();
    assert_eq!(ids.len(), 1, "{inits:?}");
}

#[test]
fn readers_read_and_writers_queue_while_one_writes() {
    let pn = crate::sandbox();
    let id = task(&pn, "one");
    let ticket = File::open(pn.durable().join("writer.lock")).expect("the writers' lock");
    ticket.lock().expect("locked");
    assert_eq!(ids(&pn, &["list"]), [id.as_str()]);
    let mut writer = pn.pn(["create", "two", "-t", "task"]).spawn();
    assert_eq!(ids(&pn, &["list"]), [id]);
    assert!(writer.try_wait().expect("a child").is_none(), "the writer waits");
    drop(ticket);
    assert!(reap(&mut writer).success(), "and gets its turn");
    assert_eq!(ids(&pn, &["list"]).len(), 2);
}
