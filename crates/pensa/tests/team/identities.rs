//! Every operation, asked by everybody with a body that reaches it: what nobody may has no effect, and what somebody may
//! has none outside their project and role.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use pensa_core::Scope;
use pensa_engine::{Entry, catalog};
use pensa_testkit::{Http, Reply};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

use crate::access::{Asked, OURS, SECRET, THEIRS, Things, Two, may, prepared};
use crate::setting::{ROLES, Team, Token, create, elements, text};

/// Somebody who asks.
struct Identity {
    name: &'static str,
    secret: Option<String>,
}

const OPERATOR: &str = "an operator";
const ADMIN_OF_THEIRS: &str = "an admin of another project";

/// Everybody: each role of our project, an admin of the other, an operator, and those who are nobody.
fn everybody(two: &Two) -> Vec<Identity> {
    let of = |name, secret: &str| Identity { name, secret: Some(secret.to_owned()) };
    let made = |args: &[&str]| Token::of(&two.team.direct(&[&["token", "create"], args].concat()).ok_json());
    let revoked = made(&["--project", OURS, "--role", "admin"]);
    two.team.direct(&["token", "revoke", &revoked.id]).ok();
    let expired = made(&["--project", OURS, "--role", "admin", "--expires", "1s"]);
    let mut all: Vec<Identity> = ROLES.iter().zip(&two.ours).map(|(role, token)| of(role, &token.secret)).collect();
    all.push(of(ADMIN_OF_THEIRS, &two.theirs.secret));
    all.push(of(OPERATOR, &made(&["--operator"]).secret));
    all.push(Identity { name: "nobody", secret: None });
    all.push(of("a revoked token", &revoked.secret));
    all.push(of("an expired token", &expired.secret));
    all.push(of("an unknown token", &format!("pensa_{}", "0123456789abcdef".repeat(4))));
    thread::sleep(Duration::from_millis(1200));
    all
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Unauthorized,
    Forbidden,
    /// As if there were nothing.
    NotFound,
    /// What they see of the server is their own.
    OwnOnly,
    Done,
}

impl Identity {
    fn client(&self, url: &str) -> Http {
        let http = Http::to(url).with("Pensa-Actor", "somebody");
        match &self.secret {
            Some(secret) => http.token(secret),
            None => http,
        }
    }

    /// What becomes of an operation on things of our project, at its address or at that of the server.
    fn expected(&self, entry: &Entry, at_project: bool) -> Expected {
        let of_server = entry.scope == Scope::Server;
        match self.name {
            role if ROLES.contains(&role) => match (may(role) >= entry.access, at_project || of_server) {
                (false, _) => Expected::Forbidden,
                (true, false) => Expected::NotFound,
                (true, true) => Expected::Done,
            },
            OPERATOR | ADMIN_OF_THEIRS if at_project => Expected::NotFound,
            OPERATOR if of_server => Expected::Done,
            OPERATOR => Expected::NotFound,
            ADMIN_OF_THEIRS if may("admin") < entry.access => Expected::Forbidden,
            ADMIN_OF_THEIRS if entry.name.ends_with(".list") && of_server => Expected::OwnOnly,
            ADMIN_OF_THEIRS => Expected::NotFound,
            _ => Expected::Unauthorized,
        }
    }
}

/// What changes with any row of any store, by store and table: the rows, or their number and the last transaction that
/// wrote one.
type State = BTreeMap<(String, String), Vec<String>>;

fn state(team: &Team) -> State {
    let mut state = State::new();
    match team.directory() {
        Some(dir) => {
            let projects = fs::read_dir(dir.join("projects")).expect("projects");
            let projects = projects.map(|project| project.expect("a project").path());
            for store in projects.chain([dir.join("control")]) {
                let name = store.file_name().expect("a name").to_string_lossy().into_owned();
                for (table, rows) in tables(&store.join("db.sqlite")) {
                    state.insert((name.clone(), table), rows);
                }
            }
        }
        None => {
            let tables = "SELECT table_name FROM information_schema.columns
                WHERE table_schema = 'pensa' AND column_name = 'store_id'";
            let database = team.database();
            let all = database.psql(tables);
            let each: Vec<String> = all
                .lines()
                .map(|table| {
                    format!(
                        "SELECT '{table}', COALESCE((SELECT name FROM pensa.projects p WHERE p.store = t.store_id::text), 'control'),
                         count(*) || ' ' || max(t.xmin::text::bigint) FROM pensa.{table} t GROUP BY t.store_id"
                    )
                })
                .collect();
            for line in database.psql(&each.join(" UNION ALL ")).lines() {
                let parts: Vec<&str> = line.split('|').collect();
                state.insert((parts[1].to_owned(), parts[0].to_owned()), vec![parts[2].to_owned()]);
            }
        }
    }
    state
}

const NOTHING: [(String, String); 0] = [];

/// The stores and tables in which something has changed.
fn changed(before: &State, after: &State) -> Vec<(String, String)> {
    let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    keys.into_iter().filter(|key| before.get(key) != after.get(key)).cloned().collect()
}

fn tables(file: &Path) -> Vec<(String, Vec<String>)> {
    let database = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("a database");
    let texts = |sql: &str| -> Vec<String> {
        let mut asked = database.prepare(sql).expect("a statement");
        let width = asked.column_count();
        let row = |row: &rusqlite::Row<'_>| {
            let value = |at| row.get_ref(at).map(|value| format!("{value:?}"));
            (0..width).map(value).collect::<Result<Vec<_>, _>>().map(|values| values.join(" "))
        };
        let rows = asked.query_map([], row).expect("rows");
        rows.collect::<Result<_, _>>().expect("rows")
    };
    let mut asked = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").expect("a statement");
    let names = asked.query_map([], |row| row.get::<_, String>(0)).expect("names");
    let names: Vec<String> = names.collect::<Result<_, _>>().expect("names");
    names.into_iter().map(|name| (name.clone(), texts(&format!("SELECT * FROM {name} ORDER BY 1")))).collect()
}

/// A value that a schema allows.
fn example(schema: &Value, document: &Value) -> Value {
    if let Some(to) = schema["$ref"].as_str() {
        return example(document.pointer(&to[1..]).expect("a schema"), document);
    }
    if let Some(first) = ["enum", "anyOf", "oneOf"].iter().find_map(|key| schema[*key].get(0).map(|one| (*key, one))) {
        return if first.0 == "enum" { first.1.clone() } else { example(first.1, document) };
    }
    match schema["type"].as_str().or_else(|| schema["type"][0].as_str()) {
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => schema.get("const").cloned().unwrap_or_else(|| json!("made")),
    }
}

/// A request that reaches the operation: with ids of what there is, and with all that its schema requires.
fn asked(entry: &Entry, things: &Things, document: &Value) -> Asked {
    let mut asked = Asked::of(entry, things);
    let operation = &document["paths"][entry.route.path][entry.route.method.as_str().to_lowercase()];
    let body = &operation["requestBody"]["content"]["application/json"]["schema"];
    for name in body["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let given = || example(&body["properties"][name], document);
        asked.fields.entry(name).or_insert_with(given);
    }
    for query in
        elements_of(&operation["parameters"]).filter(|query| query["in"] == "query" && query["required"] == true)
    {
        let name = query["name"].as_str().expect("a name");
        asked.fields.entry(name).or_insert_with(|| example(&query["schema"], document));
    }
    asked
}

fn elements_of(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Things of our project in the state in which the operation can be done, and another time if it was done.
fn things_for(two: &Two, admin: &mut Http, entry: &Entry) -> Things {
    let mut things = prepared(admin, entry);
    things.token = text(&admin.post("/tokens", &json!({"project": OURS, "role": "viewer"})).ok()["id"]);
    if entry.name == "project.archive" {
        things.project = format!("old-{}", things.issue);
        two.team.project(&things.project);
    }
    things
}

/// Whether an operation was reached: it was done, or refused for what only it knows.
fn is_reached(entry: &Entry, reply: &Reply) -> bool {
    let code = || reply.json()["code"].as_str().unwrap_or_default().to_owned();
    match (entry.name, reply.status) {
        (_, 200..300) => true,
        // Files are for those who have the directory in hand.
        (
            "store.export" | "store.import" | "store.backup" | "store.backups" | "store.restore" | "record.compact",
            _,
        ) => ["unsupported", "not_found", "forbidden", "no_store"].contains(&&*code()),
        // There are none in a store without files.
        ("conflict.resolve", 404) => true,
        _ => false,
    }
}

/// The operations of one half of the catalog: on a busy machine all of them take minutes.
fn nobody_has_an_effect_outside_their_project_and_role(team: Team, operations: &[Entry]) {
    let two = &Two::on(team);
    let everybody = everybody(two);
    let mut admin = two.server.client(&two.ours[3]).with("Pensa-Actor", "somebody");
    let document = admin.get("/openapi.json").ok();
    let (ours, root) = (two.server.project_url(OURS), two.server.process.url.clone());
    let at_first = state(&two.team);
    let mut unreached = Vec::new();
    for entry in operations {
        let things = things_for(two, &mut admin, entry);
        let request = asked(entry, &things, &document);
        let before = state(&two.team);
        let mut allowed = Vec::new();
        for identity in &everybody {
            for (url, at_project) in [(&ours, true), (&root, false)] {
                let told = format!("{} at {url}: {entry:?}", identity.name);
                let expected = identity.expected(entry, at_project);
                if expected == Expected::Done {
                    allowed.push((identity, url));
                    continue;
                }
                let reply = request.send(&mut identity.client(url), entry);
                match expected {
                    Expected::Unauthorized => drop(reply.refused(401, "unauthorized")),
                    Expected::Forbidden => drop(reply.refused(403, "forbidden")),
                    Expected::NotFound => drop(reply.refused(404, "not_found")),
                    Expected::OwnOnly => {
                        let shown = elements(&reply.ok());
                        let is_ours = |line: &&Value| line["project"] == OURS || line["name"] == OURS;
                        assert_eq!(shown.iter().find(is_ours), None, "{told}");
                    }
                    Expected::Done => unreachable!("that comes later"),
                }
                assert!(!reply.body.contains(SECRET) || identity.name == ADMIN_OF_THEIRS, "{told}: {reply:?}");
            }
        }
        let mut before_allowed = state(&two.team);
        assert_eq!(changed(&before, &before_allowed), NOTHING, "{entry:?} had an effect");
        for (identity, url) in allowed {
            let told = format!("{} at {url}: {entry:?}", identity.name);
            let is_first_of_ours = url == &ours && may(identity.name) == entry.access;
            if !is_first_of_ours && identity.name != OPERATOR {
                continue;
            }
            if ["undo", "redo"].contains(&entry.name) {
                create(&mut identity.client(url), "a mistake of one's own");
            }
            if entry.name == "redo" {
                identity.client(url).post("/undo", &json!({})).ok();
            }
            let reply = request.send(&mut identity.client(url), entry);
            if !is_reached(entry, &reply) {
                unreached.push(format!("{told} {:?}: {} {:.300}", request.fields, reply.status, reply.body));
            }
            // An operator's audit names what was done something to, a set of skills by its name.
            let is_audit = entry.name == "audit.list" && identity.name == OPERATOR;
            assert!(is_audit || !reply.body.contains(SECRET), "{told}: {reply:?}");
            let after = state(&two.team);
            let before = std::mem::replace(&mut before_allowed, after);
            // It may change its own project, and what is about the server the list of projects and tokens. The store of a
            // new project is made when somebody first looks for what is in it.
            let is_elsewhere = |(store, table): &(String, String)| match entry.scope {
                Scope::Store => store != OURS,
                Scope::Server => store != "control" && before.contains_key(&(store.clone(), table.clone())),
            };
            let mut changed = changed(&before, &before_allowed);
            changed.retain(is_elsewhere);
            assert_eq!(changed, NOTHING, "{told} had an effect elsewhere");
        }
    }
    assert!(unreached.is_empty(), "no body reaches these; Asked::of makes them:\n{}", unreached.join("\n"));
    let mut changed = changed(&at_first, &state(&two.team));
    changed.retain(|(store, _)| store == THEIRS);
    assert_eq!(changed, NOTHING, "nothing has changed there");
}

fn halves() -> (&'static [Entry], &'static [Entry]) {
    catalog().split_at(catalog().len() / 2)
}

#[test]
fn nobody_has_an_effect_outside_their_project_and_role_on_postgres() {
    nobody_has_an_effect_outside_their_project_and_role(Team::on_postgres(), halves().0);
}

#[test]
fn nobody_has_an_effect_outside_their_project_and_role_on_postgres_either() {
    nobody_has_an_effect_outside_their_project_and_role(Team::on_postgres(), halves().1);
}

#[test]
fn nobody_has_an_effect_outside_their_project_and_role_in_a_directory() {
    nobody_has_an_effect_outside_their_project_and_role(Team::on_sqlite(), catalog());
}
