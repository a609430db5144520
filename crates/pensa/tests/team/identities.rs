//! Sends every operation with a valid body as every identity: a forbidden operation has no effect, and an allowed one
//! has none outside the caller's project and role.

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

use crate::access::{
    EntityIds, FOREIGN_PROJECT, OWN_PROJECT, OperationRequest, SECRET, TwoProjects, access_of, prepare,
};
use crate::fixture::{ProjectToken, ROLES, Team, create, elements, text};

/// A caller.
struct TestIdentity {
    name: &'static str,
    secret: Option<String>,
}

const OPERATOR: &str = "an operator";
const FOREIGN_ADMIN: &str = "an admin of another project";

/// Every role of the own project, an admin of the other project, an operator, and callers without a valid token.
fn all_identities(projects: &TwoProjects) -> Vec<TestIdentity> {
    let of = |name, secret: &str| TestIdentity { name, secret: Some(secret.to_owned()) };
    let made =
        |args: &[&str]| ProjectToken::of(&projects.team.direct(&[&["token", "create"], args].concat()).ok_json());
    let revoked = made(&["--project", OWN_PROJECT, "--role", "admin"]);
    projects.team.direct(&["token", "revoke", &revoked.id]).ok();
    let expired = made(&["--project", OWN_PROJECT, "--role", "admin", "--expires", "1s"]);
    let mut all: Vec<TestIdentity> =
        ROLES.iter().zip(&projects.own).map(|(role, token)| of(role, &token.secret)).collect();
    all.push(of(FOREIGN_ADMIN, &projects.foreign.secret));
    all.push(of(OPERATOR, &made(&["--operator"]).secret));
    all.push(TestIdentity { name: "nobody", secret: None });
    all.push(of("a revoked token", &revoked.secret));
    all.push(of("an expired token", &expired.secret));
    all.push(of("an unknown token", &format!("pensa_{}", "0123456789abcdef".repeat(4))));
    thread::sleep(Duration::from_millis(1200));
    all
}

/// The expected result of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Unauthorized,
    Forbidden,
    /// As if the entity did not exist.
    NotFound,
    /// The response shows only entities of the caller's project.
    OwnOnly,
    Done,
}

impl TestIdentity {
    fn client(&self, url: &str) -> Http {
        let http = Http::to(url).with("Pensa-Actor", "somebody");
        match &self.secret {
            Some(secret) => http.token(secret),
            None => http,
        }
    }

    /// The expected result of an operation on entities of the own project, at the project's URL or the server's root.
    fn expected(&self, entry: &Entry, at_project: bool) -> Expected {
        let of_server = entry.scope == Scope::Server;
        match self.name {
            role if ROLES.contains(&role) => match (access_of(role) >= entry.access, at_project || of_server) {
                (false, _) => Expected::Forbidden,
                (true, false) => Expected::NotFound,
                (true, true) => Expected::Done,
            },
            OPERATOR | FOREIGN_ADMIN if at_project => Expected::NotFound,
            OPERATOR if of_server => Expected::Done,
            OPERATOR => Expected::NotFound,
            FOREIGN_ADMIN if access_of("admin") < entry.access => Expected::Forbidden,
            FOREIGN_ADMIN if entry.name.ends_with(".list") && of_server => Expected::OwnOnly,
            FOREIGN_ADMIN => Expected::NotFound,
            _ => Expected::Unauthorized,
        }
    }
}

/// A fingerprint of each table of each store, which changes with every row: its rows (SQLite), or their number and the
/// last transaction (PostgreSQL).
type DatabaseState = BTreeMap<(String, String), Vec<String>>;

fn state(team: &Team) -> DatabaseState {
    let mut state = DatabaseState::new();
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

const NO_CHANGES: [(String, String); 0] = [];

/// The stores and tables that have changed.
fn changed(before: &DatabaseState, after: &DatabaseState) -> Vec<(String, String)> {
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

/// A value that matches a schema.
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

/// A request with existing ids and all required fields, so that it reaches the operation.
fn valid_request(entry: &Entry, entities: &EntityIds, document: &Value) -> OperationRequest {
    let mut asked = OperationRequest::of(entry, entities);
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

/// Creates entities of the own project in a state in which the operation succeeds.
fn entities_for(projects: &TwoProjects, admin: &mut Http, entry: &Entry) -> EntityIds {
    let mut entities = prepare(admin, entry);
    entities.token = text(&admin.post("/tokens", &json!({"project": OWN_PROJECT, "role": "viewer"})).ok()["id"]);
    if entry.name == "project.archive" {
        entities.project = format!("old-{}", entities.issue);
        projects.team.project(&entities.project);
    }
    entities
}

/// Whether the operation ran: it succeeded, or failed with an error that only the operation itself can return.
fn is_reached(entry: &Entry, reply: &Reply) -> bool {
    let code = || reply.json()["code"].as_str().unwrap_or_default().to_owned();
    match (entry.name, reply.status) {
        (_, 200..300) => true,
        // File operations are not available through a server.
        (
            "store.export" | "store.import" | "store.backup" | "store.backups" | "store.restore" | "record.compact",
            _,
        ) => ["unsupported", "not_found", "forbidden", "no_store"].contains(&&*code()),
        // A store without files has no conflicts.
        ("conflict.resolve", 404) => true,
        _ => false,
    }
}

/// Tests some operations; the catalog is split, because all of them take minutes on a busy machine.
fn no_identity_has_an_effect_outside_its_project_and_role(team: Team, operations: &[Entry]) {
    let projects = &TwoProjects::on(team);
    let all_identities = all_identities(projects);
    let mut admin = projects.server.client(&projects.own[3]).with("Pensa-Actor", "somebody");
    let document = admin.get("/openapi.json").ok();
    let (own, root) = (projects.server.project_url(OWN_PROJECT), projects.server.process.url.clone());
    let at_first = state(&projects.team);
    let mut unreached = Vec::new();
    for entry in operations {
        let entities = entities_for(projects, &mut admin, entry);
        let request = valid_request(entry, &entities, &document);
        let before = state(&projects.team);
        let mut allowed = Vec::new();
        for identity in &all_identities {
            for (url, at_project) in [(&own, true), (&root, false)] {
                let context = format!("{} at {url}: {entry:?}", identity.name);
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
                        let is_ours = |line: &&Value| line["project"] == OWN_PROJECT || line["name"] == OWN_PROJECT;
                        assert_eq!(shown.iter().find(is_ours), None, "{context}");
                    }
                    Expected::Done => unreachable!("that comes later"),
                }
                assert!(!reply.body.contains(SECRET) || identity.name == FOREIGN_ADMIN, "{context}: {reply:?}");
            }
        }
        let mut before_allowed = state(&projects.team);
        assert_eq!(changed(&before, &before_allowed), NO_CHANGES, "{entry:?} had an effect");
        for (identity, url) in allowed {
            let context = format!("{} at {url}: {entry:?}", identity.name);
            let is_first_of_ours = url == &own && access_of(identity.name) == entry.access;
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
                unreached.push(format!("{context} {:?}: {} {:.300}", request.fields, reply.status, reply.body));
            }
            // The operator's audit names changed entities, and a skill mapping is known by its name.
            let is_audit = entry.name == "audit.list" && identity.name == OPERATOR;
            assert!(is_audit || !reply.body.contains(SECRET), "{context}: {reply:?}");
            let after = state(&projects.team);
            let before = std::mem::replace(&mut before_allowed, after);
            // A project operation may change its own project; a server operation also the lists of projects and tokens.
            // A new project's store is created by the first request to it.
            let is_elsewhere = |(store, table): &(String, String)| match entry.scope {
                Scope::Store => store != OWN_PROJECT,
                Scope::Server => store != "control" && before.contains_key(&(store.clone(), table.clone())),
            };
            let mut changed = changed(&before, &before_allowed);
            changed.retain(is_elsewhere);
            assert_eq!(changed, NO_CHANGES, "{context} had an effect elsewhere");
        }
    }
    assert!(unreached.is_empty(), "no body reaches these; OperationRequest::of makes them:\n{}", unreached.join("\n"));
    let mut changed = changed(&at_first, &state(&projects.team));
    changed.retain(|(store, _)| store == FOREIGN_PROJECT);
    assert_eq!(changed, NO_CHANGES, "nothing has changed there");
}

fn catalog_halves() -> (&'static [Entry], &'static [Entry]) {
    catalog().split_at(catalog().len() / 2)
}

#[test]
fn no_identity_has_an_effect_outside_its_project_and_role_on_postgres() {
    no_identity_has_an_effect_outside_its_project_and_role(Team::on_postgres(), catalog_halves().0);
}

#[test]
fn no_identity_has_an_effect_outside_its_project_and_role_on_postgres_second_half() {
    no_identity_has_an_effect_outside_its_project_and_role(Team::on_postgres(), catalog_halves().1);
}

#[test]
fn no_identity_has_an_effect_outside_its_project_and_role_on_sqlite() {
    no_identity_has_an_effect_outside_its_project_and_role(Team::on_sqlite(), catalog());
}
