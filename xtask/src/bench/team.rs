//! The team's server on PostgreSQL under many connections, against `pgbench` on the same cluster.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::Plan;
use super::cpu::{Used, Watched};
use super::data::{self, Dice};
use super::database::{self, Database, FIRST, Opened, Pgbench};
use super::lab::Lab;
use super::load::{self, CONNECTIONS, Connection, Requests};
use super::report::{Row, Target, grouped, rates};
use super::samples::median;
use super::server::Server;
use crate::Result;

/// Issues of the project that is read.
const SIZE: usize = 10_000;
/// Those of them that are asked for again and again.
const FAVOURITES: usize = 1_000;
/// How often somebody changes the project while it is read.
const CHANGE: Duration = Duration::from_millis(250);
/// Projects that are written to, and connections that do: as many as saturate the server, and half of them.
const PROJECTS: usize = 16;
const WRITERS: [usize; 2] = [128, 64];
/// Connections of `pgbench` that write. Which of them is the most that it can do differs from machine to machine.
const INSERTERS: [usize; 2] = [PROJECTS, 2 * PROJECTS];
/// Creations of each connection before it repeats itself; more than it gets through in a round.
const DIFFERENT: usize = 500;
/// Connections of `pgbench`: as many as the server has to the database unless told otherwise.
const CLIENTS: usize = 16;

/// An id of [`database::id`], for `pgbench`.
const BY_NUMBER: &str = "'pn-' || :n";
const COLUMNS: &str = "i.id, i.title, i.description, i.issue_type, i.status, i.priority, i.spec, i.fixes, i.assignee, \
     i.lease_expires_at, i.lease_ms, i.created_at, i.updated_at, i.closed_at, i.close_reason";

pub(super) fn rows(lab: &Lab, plan: &Plan) -> Result<Vec<Row>> {
    let database = Database::start(lab)?;
    let read = database.project("read")?;
    database.fill(&read, SIZE)?;
    let written = (0..PROJECTS).map(|n| database.project(&format!("written-{n}"))).collect::<Result<Vec<_>>>()?;
    let server = database.serve()?;
    let mut rows = Reads { database: &database, server: &server, project: &read }.rows(plan)?;
    rows.extend(creates(&database, &server, &written, plan)?);
    let (now, peak) = server.memory()?;
    rows.push(Row::told(
        "server: memory".into(),
        format!("{peak:.1} MB (now {now:.1})"),
        "The most memory that `pn serve` ever had resident (and what it has now), after the loads above",
    ));
    server.stop()?;
    Ok(rows)
}

/// One side of a comparison: what it did in each round, and what that cost.
#[derive(Default)]
struct Side {
    rates: Vec<f64>,
    used: Used,
}

impl Side {
    /// The first round is for the caches.
    fn round(&mut self, number: usize, watched: &Watched, work: impl FnOnce() -> Result<f64>) -> Result {
        if number == 0 {
            return work().map(drop);
        }
        self.rates.push(watched.during(&mut self.used, work)?);
        Ok(())
    }
}

fn compare(name: String, (ours, reference): (&Side, &Side), target: Option<Target>, about: &str) -> Row {
    let row = rates(name, &ours.rates, &reference.rates, target, about);
    println!("    ours: {}; reference: {}", ours.used, reference.used);
    row
}

fn request(address: SocketAddr, project: &Opened, what: &str, body: &Value) -> Vec<u8> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let (method, path) = what.split_once(' ').unwrap_or(("GET", what));
    let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
    format!(
        "{method} /p/{}{path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nPensa-Actor: bench\r\n\
         {kind}Content-Length: {}\r\n\r\n{body}",
        project.name,
        project.token,
        body.len()
    )
    .into_bytes()
}

/// What somebody does to a project that others read.
enum Change {
    /// After which no answer that tells of the issue may be given again.
    Priority,
    /// After which no answer at all may be given again, because it could have been anything.
    Undo,
}

/// The reads of one project.
struct Reads<'a> {
    database: &'a Database<'a>,
    server: &'a Server,
    project: &'a Opened,
}

impl Reads<'_> {
    fn rows(&self, plan: &Plan) -> Result<Vec<Row>> {
        self.check_same_issue()?;
        let pick = format!(r"\set n random({FIRST}, {FIRST} + :size - 1)");
        let [one, three] = [select_issue(BY_NUMBER), select_all(BY_NUMBER)];
        let one = self.database.script("select", &format!("{pick}\n{one}"))?;
        let three = format!("{pick}\n\\startpipeline\n{three}\\endpipeline\n");
        let three = self.database.script("select-all", &three)?;
        let watched = Watched { server: self.server.pid(), postmaster: self.database.pid() };
        let (favourites, in_turn) = (self.favourites(), self.in_turn());
        let mut sides: [Side; 6] = Default::default();
        for round in 0..=plan.rounds {
            let [again, amid_changes, of_favourites, anew, of_all, whole] = &mut sides;
            of_favourites.round(round, &watched, || self.pgbench(&one, FAVOURITES, plan))?;
            self.ask_once(&favourites[0])?;
            again.round(round, &watched, || load::rate(self.server.address, plan.round, &favourites))?;
            in_turn.iter().try_for_each(|own| self.ask_once(own))?;
            amid_changes.round(round, &watched, || self.rate_while_changing(&in_turn, &[Change::Priority], plan))?;
            of_all.round(round, &watched, || self.pgbench(&one, SIZE, plan))?;
            let sweeping = [Change::Priority, Change::Undo];
            anew.round(round, &watched, || self.rate_while_changing(&in_turn, &sweeping, plan))?;
            whole.round(round, &watched, || self.pgbench(&three, SIZE, plan))?;
        }
        Ok(told(&sides))
    }

    fn get(&self, number: usize) -> Vec<u8> {
        request(self.server.address, self.project, &format!("GET /issues/{}", database::id(number)), &Value::Null)
    }

    /// The same few issues for every connection, each beginning with another.
    fn favourites(&self) -> Requests {
        let of = |connection| (0..FAVOURITES).map(|n| self.get((n + connection * 31) % FAVOURITES)).collect();
        (0..CONNECTIONS).map(of).collect()
    }

    /// Has every one of these answered since the last change.
    fn ask_once(&self, requests: &[Vec<u8>]) -> Result {
        let mut connection = Connection::open(self.server.address)?;
        for request in requests {
            connection.ask(request)?;
        }
        Ok(())
    }

    /// Every issue on one connection only.
    fn in_turn(&self) -> Requests {
        let of = |connection| (connection..SIZE).step_by(CONNECTIONS).map(|n| self.get(n)).collect();
        (0..CONNECTIONS).map(of).collect()
    }

    fn pgbench(&self, script: &Path, size: usize, plan: &Plan) -> Result<f64> {
        let store_id = Some(self.project.store_id.as_str());
        let variables = [("size", size)];
        self.database.pgbench(&Pgbench { script, clients: CLIENTS, store_id, variables: &variables }, plan.round)
    }

    /// The rate while somebody changes the project now and then.
    fn rate_while_changing(&self, requests: &Requests, changes: &[Change], plan: &Plan) -> Result<f64> {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let changing = scope.spawn(|| self.change_until(&done, changes).map_err(|e| e.to_string()));
            let rate = load::rate(self.server.address, plan.round, requests);
            done.store(true, Ordering::Relaxed);
            changing.join().map_err(|_| "the thread that changes the project panicked")??;
            rate
        })
    }

    fn change_until(&self, done: &AtomicBool, changes: &[Change]) -> Result {
        let mut connection = Connection::open(self.server.address)?;
        for priority in ["p1", "p3"].iter().cycle() {
            if done.load(Ordering::Relaxed) {
                break;
            }
            for change in changes {
                let (what, body) = match change {
                    Change::Priority => (format!("PATCH /issues/{}", database::id(0)), json!({"priority": priority})),
                    Change::Undo => ("POST /undo".to_owned(), json!({})),
                };
                connection.ask(&request(self.server.address, self.project, &what, &body))?;
            }
            thread::sleep(CHANGE);
        }
        Ok(())
    }

    /// Both must do the same work, or the rates mean nothing.
    fn check_same_issue(&self) -> Result {
        let answer: Value = serde_json::from_slice(Connection::open(self.server.address)?.ask(&self.get(SIZE - 1))?)?;
        let id = format!("'{}'", database::id(SIZE - 1));
        let told = self.database.psql(&format!("{}; {}", acting_on(&self.project.store_id), select_issue(&id)));
        let (ours, theirs) = (answer["title"].as_str().unwrap_or_default(), told.split('|').nth(1).unwrap_or_default());
        if ours.is_empty() || ours != theirs {
            return Err(format!("pn and PostgreSQL do not agree: {ours:?} and {theirs:?}").into());
        }
        Ok(())
    }
}

/// What a session of `pgbench` begins with, for psql.
fn acting_on(store_id: &str) -> String {
    format!("SET ROLE pensa_tenant; SET search_path = pensa; SET pensa.store_id = '{store_id}'")
}

fn select_issue(id: &str) -> String {
    format!("SELECT {COLUMNS} FROM issues i WHERE i.id = {id};\n")
}

/// An issue, what it depends on, and its comments.
fn select_all(id: &str) -> String {
    let issue = select_issue(id);
    format!(
        "{issue}SELECT {COLUMNS} FROM issues i JOIN deps d ON d.depends_on_id = i.id WHERE d.issue_id = {id}
            ORDER BY i.priority, i.created_at, i.id;
         SELECT id, issue_id, actor, text, created_at FROM comments WHERE issue_id = {id} ORDER BY created_at, id;\n"
    )
}

fn told([again, amid_changes, of_favourites, anew, of_all, whole]: &[Side; 6]) -> Vec<Row> {
    let size = grouped(SIZE);
    let target = Some(Target::AtLeast(0.6));
    vec![
        compare(
            format!("server: reads at {size}, asked before"),
            (again, of_favourites),
            target,
            &format!(
                "`GET /p/PROJECT/issues/ID` of `pn serve` over 32 kept-alive connections, for {} issues again and \
                 again while nothing changes, against `pgbench -M prepared` with 16 connections selecting one row of \
                 `issues` by the same ids in the role that row-level security binds; the server logs every request",
                grouped(FAVOURITES)
            ),
        ),
        compare(
            format!("server: reads at {size}, all in turn, amid changes"),
            (amid_changes, of_all),
            target,
            &format!(
                "The same for all {size} issues in turn, which were asked for before, while somebody changes one of \
                 them every 250 ms, after which whatever tells of it is read anew"
            ),
        ),
        compare(
            format!("server: reads at {size}, never asked"),
            (anew, whole),
            target,
            &format!(
                "The same for all {size} issues in turn, while somebody changes one of them and takes that back every \
                 250 ms, so that no answer is given twice: each is the issue, the issues it depends on and its \
                 comments, against `pgbench` selecting the same as one pipeline"
            ),
        ),
        compare(
            format!("server: reads at {size}, never asked, against one row"),
            (anew, of_all),
            target,
            "The same against `pgbench` selecting the issue's row only",
        ),
    ]
}

fn creates(database: &Database<'_>, server: &Server, projects: &[Opened], plan: &Plan) -> Result<Vec<Row>> {
    let script = insert_script(database, projects)?;
    let watched = Watched { server: server.pid(), postmaster: database.pid() };
    let mut dice = Dice::new(29);
    let (mut ours, mut references): ([Side; WRITERS.len()], [Side; INSERTERS.len()]) = Default::default();
    for round in 0..=plan.rounds {
        for (side, clients) in references.iter_mut().zip(INSERTERS) {
            let run = Pgbench { script: &script, clients, store_id: None, variables: &[("told", 0)] };
            side.round(round, &watched, || database.pgbench(&run, plan.round))?;
        }
        for (side, connections) in ours.iter_mut().zip(WRITERS) {
            let requests = load::requests(connections, DIFFERENT, |connection| {
                post(server.address, &projects[connection % PROJECTS], &mut dice)
            });
            side.round(round, &watched, || load::rate(server.address, plan.round, &requests))?;
        }
        database.settle();
    }
    // Its ids are longer than those that Pensa gives.
    let reached = database.psql("SELECT count(DISTINCT store_id) FROM pensa.issues WHERE length(id) > 13");
    if reached != PROJECTS.to_string() {
        return Err(format!("pgbench wrote to {reached} projects, not to {PROJECTS}").into());
    }
    let [few, many] = &references;
    let reference = if median(&few.rates) >= median(&many.rates) { few } else { many };
    let rows = ours.iter().zip(WRITERS).map(|(side, connections)| {
        compare(
            format!("server: creates over {PROJECTS} projects, {connections} agents"),
            (side, reference),
            Some(Target::AtLeast(0.5)),
            &format!(
                "`POST /p/PROJECT/issues` of `pn serve` over {connections} kept-alive connections, {} for each of \
                 {PROJECTS} projects (an issue, its event, its keys for near-duplicates and the look for some), \
                 against `pgbench -M prepared` with {} or with {} connections, whichever does more, spread over the \
                 same projects, inserting one row into `issues` in the role that row-level security binds, which each \
                 connection is told its project for once; every commit on either side waits for the disk",
                connections / PROJECTS,
                INSERTERS[0],
                INSERTERS[1],
            ),
        )
    });
    Ok(rows.collect())
}

fn post(address: SocketAddr, project: &Opened, dice: &mut Dice) -> Vec<u8> {
    let body = json!({"title": dice.title(), "description": dice.description(), "issue_type": "task"});
    request(address, project, "POST /issues", &body)
}

/// A variable of `pgbench` is its client's own and lives as long, so each names its store only once.
fn insert_script(database: &Database<'_>, projects: &[Opened]) -> Result<PathBuf> {
    let stores: Vec<String> =
        projects.iter().enumerate().map(|(n, project)| format!("({n}, '{}')", project.store_id)).collect();
    database.psql(&format!(
        "CREATE TABLE public.bench_stores (client BIGINT PRIMARY KEY, store_id TEXT NOT NULL);
         GRANT SELECT ON public.bench_stores TO pensa_tenant;
         INSERT INTO public.bench_stores VALUES {}",
        stores.join(", ")
    ));
    let mut dice = Dice::new(31);
    let (title, description) = (dice.title(), dice.description());
    let (folded, at) = (format!("{title} {description}").to_lowercase(), data::time(0));
    let script = format!(
        r"\if :told = 0
SELECT set_config('pensa.store_id', (SELECT store_id FROM public.bench_stores WHERE client = :client_id % {PROJECTS}), false);
\set told 1
\endif
\set n random(100000000000000, 999999999999999)
INSERT INTO issues (id, title, description, issue_type, status, priority, created_at, updated_at, search_text)
VALUES ('pn-' || :n, '{title}', '{description}', 'task', 'open', 'p2', '{at}', '{at}', '{folded}');
"
    );
    database.script("insert", &script)
}
