//! A team on one `pn serve` over PostgreSQL: agents who work, people who look on, and a plan that is brought in.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::BenchPlan;
use super::cpu;
use super::data::{self, Dice};
use super::database::BenchDatabase;
use super::lab::{Lab, output};
use super::load::{self, KeptAliveConnection};
use super::report::{ReportRow, grouped};
use super::samples::Samples;
use super::server::BenchServer;
use super::timetable::{self, Timetable, TimetableClient, TimetableResult};
use super::worker::{CHOICE, Worker, WorkerStep};
use crate::Result;

const PROJECTS: usize = 10;
const AGENTS: usize = 200;
/// How often each agent does something.
const EVERY: Duration = Duration::from_millis(200);
/// Tabs of a browser with the board in them, each of which asks three questions a second.
const TABS: usize = 10;
const TAB_EVERY: Duration = Duration::from_nanos(1_000_000_000 / 3);
const QUESTIONS: [&str; 3] = ["/issues/ready?limit=50", "/context", "/status"];
/// Milliseconds that one operation in a hundred may take longer than, and MB that the server may have.
const SLOWEST: f64 = 100.0;
const MOST_MEMORY: f64 = 96.0;
/// Issues that one batch makes.
const BATCH: usize = 1_000;
/// Polls of one kind, and those of them that follow a change.
const POLLS: usize = 2_000;
const POLLS_AFTER_CHANGE: usize = 100;

pub(super) fn rows(lab: &Lab, plan: &BenchPlan) -> Result<Vec<ReportRow>> {
    let database = BenchDatabase::start(lab)?;
    for project in 0..PROJECTS {
        database.project(&name(project))?;
    }
    let mut rows = Team::gather(&database, plan)?.rows()?;
    let server = database.serve(&["--rate", "0"])?;
    rows.extend(polls(&database, &server)?);
    rows.push(similar_titles(&database, &server, plan.rounds)?);
    server.stop()?;
    Ok(rows)
}

fn name(project: usize) -> String {
    format!("project-{project}")
}

/// Whoever shows a token to a server.
struct TokenUser {
    address: SocketAddr,
    project: String,
    headers: String,
}

impl TokenUser {
    fn new(server: &BenchServer, project: usize, token: &str, actor: &str) -> Self {
        let headers = format!("Authorization: Bearer {token}\r\nPensa-Actor: {actor}\r\n");
        Self { address: server.address, project: name(project), headers }
    }

    fn get(&self, path: &str) -> Vec<u8> {
        load::request(self.address, &self.headers, &format!("GET /p/{}{path}", self.project), &Value::Null)
    }

    /// Changes have a key, as those of `pn` do.
    fn change(&self, key: &str, method: &str, path: &str, body: &Value) -> Vec<u8> {
        let headers = format!("{}Idempotency-Key: {key}\r\n", self.headers);
        load::request(self.address, &headers, &format!("{method} /p/{}{path}", self.project), body)
    }
}

struct TeamAgent {
    caller: TokenUser,
    worker: Worker,
    asked: usize,
}

impl TimetableClient for TeamAgent {
    fn request(&mut self) -> Vec<u8> {
        self.asked += 1;
        let key = format!("{}-{}", self.worker.name, self.asked);
        let change = |method: &str, path: &str, body: Value| self.caller.change(&key, method, path, &body);
        match &self.worker.step {
            WorkerStep::Ready => self.caller.get(&format!("/issues/ready?limit={CHOICE}")),
            WorkerStep::Claim(id) => change("PATCH", &format!("/issues/{id}"), json!({"claim": true})),
            WorkerStep::Comment(id) => {
                change("POST", &format!("/issues/{id}/comments"), json!({"text": "found the cause"}))
            }
            WorkerStep::Close(id) => change("POST", &format!("/issues/{id}/close"), json!({"reason": "done"})),
        }
    }

    fn answered(&mut self, status: u16, body: &[u8]) -> Result {
        self.worker.answered((200..300).contains(&status), &String::from_utf8_lossy(body))
    }
}

/// A tab of a browser that shows the board of a project.
struct Tab {
    caller: TokenUser,
    asked: usize,
}

impl TimetableClient for Tab {
    fn request(&mut self) -> Vec<u8> {
        self.asked += 1;
        self.caller.get(QUESTIONS[self.asked % QUESTIONS.len()])
    }

    fn answered(&mut self, status: u16, body: &[u8]) -> Result {
        if status == 200 { Ok(()) } else { Err(String::from_utf8_lossy(body).into()) }
    }
}

/// Processor time of a server and its database, and cores that they used.
#[derive(Clone, Copy)]
struct Cores {
    server: f64,
    postgres: f64,
    /// Everything on the machine but these two and the load.
    others: f64,
}

impl Cores {
    fn used(database: &BenchDatabase<'_>, server: &BenchServer) -> Result<Self> {
        let (server, postgres) = (cpu::of_process(server.pid())?, cpu::of_family(database.pid())?);
        Ok(Self { server, postgres, others: cpu::of_machine()? - server - postgres - cpu::of_self()? })
    }

    fn since(self, before: Self, seconds: f64) -> Self {
        let part = |after: f64, before: f64| (after - before) / seconds;
        Self {
            server: part(self.server, before.server),
            postgres: part(self.postgres, before.postgres),
            others: part(self.others, before.others),
        }
    }

    fn describe(self) -> String {
        format!("{:.2} cores (and PostgreSQL {:.2})", self.server, self.postgres)
    }
}

struct Team<'a> {
    database: &'a BenchDatabase<'a>,
    server: BenchServer,
    agents: Vec<TeamAgent>,
    tabs: Vec<Tab>,
    lasting: Duration,
}

impl<'a> Team<'a> {
    /// Starts a server with its usual limits, gives everybody a token, and makes more issues than all can close.
    fn gather(database: &'a BenchDatabase<'a>, plan: &BenchPlan) -> Result<Self> {
        let (start, mut dice) = (Instant::now(), Dice::new(23));
        let server = database.serve(&[])?;
        let (mut agents, mut tabs) = (Vec::new(), Vec::new());
        for number in 0..AGENTS {
            let (project, worker) = (number % PROJECTS, Worker::new(number));
            let token = database.token(&name(project), "agent")?;
            agents.push(TeamAgent { caller: TokenUser::new(&server, project, &token, &worker.name), worker, asked: 0 });
        }
        for number in 0..TABS {
            let token = database.token(&name(number % PROJECTS), "viewer")?;
            tabs.push(Tab { caller: TokenUser::new(&server, number % PROJECTS, &token, "looker-on"), asked: number });
        }
        // Both runs, at four operations for each issue, with one issue in seven to spare.
        let rounds = Timetable::new(AGENTS, EVERY, plan.lasting).rounds;
        let each = (2 * AGENTS / PROJECTS * rounds * 8 / 7 / 4).next_multiple_of(BATCH / 2);
        for project in 0..PROJECTS {
            let token = database.token(&name(project), "agent")?;
            for _ in 0..each / (BATCH / 2) {
                let lines = data::creates(BATCH / 2, |_| dice.title());
                output(&mut database.batch(&server, &name(project), &token, &lines)?)?;
            }
        }
        database.settle();
        println!("made {PROJECTS} projects of {each} issues in {:.1} s", start.elapsed().as_secs_f64());
        Ok(Self { database, server, agents, tabs, lasting: plan.lasting })
    }

    fn rows(mut self) -> Result<Vec<ReportRow>> {
        let alone = self.work(false)?;
        let about = format!(
            "{AGENTS} agents in {PROJECTS} projects of one `pn serve` on PostgreSQL, each with a token and a kept-alive \
             connection, who look for work, claim one of ten issues, comment and close in turn, {} operations a second in all; to lose a \
             claim to another is no error",
            grouped((AGENTS as f64 / EVERY.as_secs_f64()) as usize)
        );
        let workers: Vec<&Worker> = self.agents.iter().map(|agent| &agent.worker).collect();
        let mut rows = alone.agents.rows(&workers, Some(SLOWEST), &about);
        let (now, peak) = self.server.memory()?;
        rows.push(ReportRow::limited(
            "memory of the server".into(),
            format!("{peak:.1} MB (now {now:.1})"),
            peak,
            Some((MOST_MEMORY, " MB")),
            "The most memory that `pn serve` had resident, and what it has after the load",
        ));
        let seen = self.work(true)?;
        let about = format!(
            "The same agents while {TABS} tabs of a browser each ask for `ready`, `context` and `status` of a project \
             once a second: what the server uses of the machine without and with them, and who waits how long"
        );
        rows.push(ReportRow::measured("server without a board".into(), alone.cores.describe(), about.clone()));
        rows.push(ReportRow::measured(
            format!("server with a board in {TABS} tabs"),
            seen.cores.describe(),
            about.clone(),
        ));
        for (who, outcome) in [("agents beside the board", seen.agents), ("the board", seen.tabs)] {
            outcome.show_errors();
            let p99 = Samples::new(outcome.times).percentile(99);
            let limit = Some((SLOWEST, " ms"));
            rows.push(ReportRow::limited(format!("p99 of {who}"), format!("{p99:.1} ms"), p99, limit, about.clone()));
        }
        self.server.stop()?;
        Ok(rows)
    }

    /// Has the agents work, with or without people who look on.
    fn work(&mut self, watched: bool) -> Result<Load> {
        let (address, lasting) = (self.server.address, self.lasting);
        let [of_agents, of_tabs] =
            [(AGENTS, EVERY), (TABS, TAB_EVERY)].map(|(clients, every)| Timetable::new(clients, every, lasting));
        let before = Cores::used(self.database, &self.server)?;
        let (agents, tabs) = (&mut self.agents, &mut self.tabs);
        let (agents, tabs) = thread::scope(|scope| -> Result<_> {
            let look = || timetable::ask(address, of_tabs, tabs).map_err(|e| e.to_string());
            let looking = watched.then(|| scope.spawn(look));
            let agents = timetable::ask(address, of_agents, agents)?;
            let tabs = looking.map(|tabs| tabs.join().map_err(|_| "the thread of the tabs panicked")?);
            Ok((agents, tabs.transpose()?.unwrap_or_default()))
        })?;
        let cores = Cores::used(self.database, &self.server)?.since(before, agents.took.as_secs_f64());
        println!("meanwhile, others on this machine used {:.2} cores", cores.others);
        Ok(Load { agents, tabs, cores })
    }
}

/// What came of a load.
struct Load {
    agents: TimetableResult,
    tabs: TimetableResult,
    cores: Cores,
}

/// What it costs to ask again and again.
fn polls(database: &BenchDatabase<'_>, server: &BenchServer) -> Result<Vec<ReportRow>> {
    let caller = TokenUser::new(server, 0, &database.token(&name(0), "agent")?, "agent-0");
    let mut connection = KeptAliveConnection::open(server.address)?;
    let made = caller.change("poll", "POST", "/issues", &json!({"title": "talked about", "issue_type": "task"}));
    let made: Value = serde_json::from_slice(connection.ask(&made)?)?;
    let comments = format!("/issues/{}/comments", made["id"].as_str().unwrap_or_default());
    let mut rows = Vec::new();
    for (what, path) in [("ready", "/issues/ready?limit=10"), ("context", "/context?who=agent-0")] {
        let poll = caller.get(path);
        let timed = |connection: &mut KeptAliveConnection| -> Result<Duration> {
            let start = Instant::now();
            connection.ask(&poll)?;
            Ok(start.elapsed())
        };
        let before = Cores::used(database, server)?;
        let unchanged = (0..POLLS).map(|_| timed(&mut connection)).collect::<Result<Vec<_>>>()?;
        let used = Cores::used(database, server)?.since(before, POLLS as f64 / 1000.0);
        let mut changed = Vec::new();
        for round in 0..POLLS_AFTER_CHANGE {
            let change = caller.change(&format!("poll-{what}-{round}"), "POST", &comments, &json!({"text": "seen"}));
            connection.ask(&change)?;
            changed.push(timed(&mut connection)?);
        }
        let [unchanged, changed] = [unchanged, changed].map(|times| Samples::new(times).median());
        rows.push(ReportRow::measured(
            format!("a poll of `{what}`"),
            format!(
                "{unchanged:.2} ms, CPU {:.2} ms (and PostgreSQL {:.2}); {changed:.2} ms after a change",
                used.server, used.postgres
            ),
            "The same question again and again on one connection, while nothing else happens: the median, the \
             processor time of each, and the median when a comment was added before each",
        ));
    }
    Ok(rows)
}

/// A plan whose issues are called alike, brought in at once.
fn similar_titles(database: &BenchDatabase<'_>, server: &BenchServer, rounds: usize) -> Result<ReportRow> {
    let mut times = Vec::new();
    for round in 0..rounds {
        let project = format!("plan-{round}");
        database.project(&project)?;
        let token = database.token(&project, "agent")?;
        let lines = data::creates(BATCH, |number| format!("fix the login form {number}"));
        let mut batch = database.batch(server, &project, &token, &lines)?;
        let start = Instant::now();
        output(&mut batch)?;
        times.push(start.elapsed());
    }
    Ok(ReportRow::measured(
        format!("`pn batch` of {} similar titles", grouped(BATCH)),
        format!("{:.2} s", Samples::new(times).median() / 1000.0),
        "One `pn batch` that creates \"fix the login form 1\", \"fix the login form 2\" and so on in a new project of a \
         server on PostgreSQL",
    ))
}
