//! Row-level security alone keeps projects apart: what a server's own role can see and do with SQL of its choice.

use crate::setting::{Team, create, text};
use pensa_testkit::postgres::Database;
use serde_json::json;

/// Two stores with a row in every table that a project has.
struct Two {
    team: Team,
    ours: String,
    theirs: String,
}

/// `sql` in the servers' role, in a transaction about one store that is undone.
fn about(store: &str, sql: &str) -> String {
    format!("BEGIN; SET LOCAL ROLE pensa_tenant; SET LOCAL pensa.store_id = '{store}'; {sql}; ROLLBACK")
}

impl Two {
    fn new() -> Self {
        let team = Team::on_postgres();
        let stores = ["web", "api"].map(|name| text(&team.project(name)["store_id"]));
        let server = team.serve();
        for project in ["web", "api"] {
            let token = team.token(project, "admin");
            let mut http = server.client(&token);
            let (one, two) = (create(&mut http, "one"), create(&mut http, "two"));
            http.post("/deps", &json!({"issue_id": one, "depends_on_id": two})).ok();
            http.post(&format!("/issues/{one}/comments"), &json!({"text": "said"})).ok();
            let agent = text(&http.post("/agents", &json!({"type": "user"})).ok()["id"]);
            http.post(&format!("/agents/{agent}/entries"), &json!({"entries": [{"type": "note"}]})).ok();
            let seen = json!({"vcs": "git", "root_path": "/r"});
            http.post("/workspaces", &json!({"name": "w"})).ok();
            http.post("/runs", &json!({"seen": seen, "workspace": "w"})).ok();
            http.post("/jobs", &json!({"lane": "net", "tool": "t", "slots": 1, "timeout": "1m"})).ok();
            http.post("/snapshots", &json!({"seen": seen, "provider": "copy", "host": "box", "root": "/r"})).ok();
            http.post("/work/start", &json!({"what": one})).ok();
            http.post("/releases", &json!({"name": "n", "version": "1"})).ok();
            http.post("/skills", &json!({"name": "n", "skills": ["s"]})).ok();
            http.post("/kv", &json!({"scope": "user", "key": "k", "value": "v"})).ok();
            http.post("/learnings", &json!({"text": "found out"})).ok();
            let line = http.get("/sync/changes").ok()["entries"][0].clone();
            http.post("/sync/take", &json!({"entries": [line], "peer": {"store_id": "elsewhere", "turn": 0}})).ok();
            http.post("/records/c/indexes", &json!({"fields": ["f"]})).ok();
            http.post("/records/c", &json!({"id": "r", "data": {"f": 1}})).ok();
            let key = http.ask("POST", "/issues").header("Idempotency-Key", "k");
            let three = text(&key.body(&json!({"title": "three", "issue_type": "task"})).reply().ok()["id"]);
            http.ask("DELETE", &format!("/issues/{three}?force=true")).reply().ok();
        }
        // What only stores with files have.
        for id in &stores {
            team.database().psql(&format!(
                "INSERT INTO pensa.conflicts (store_id, id, collection, record_id, field, kept, other, whole, found_at)
                 VALUES ('{id}', 'cf-1', 'issues', 'pn-1', 'title', '1', '2', '{{}}', '2026-01-01T00:00:00.000Z');
                 INSERT INTO pensa.agreements (store_id, place, copy, event, agreed_at)
                 VALUES ('{id}', '', 'copy', 1, '2026-01-01T00:00:00.000Z');
                 INSERT INTO pensa.seen_files (store_id, blob, seen_at)
                 VALUES ('{id}', 'blob', '2026-01-01T00:00:00.000Z')"
            ));
        }
        let [ours, theirs] = stores;
        Self { team, ours, theirs }
    }

    fn database(&self) -> &Database {
        self.team.database()
    }

    /// What `sql` answers in the servers' role, in a transaction about our store that is undone.
    fn as_ours(&self, sql: &str) -> String {
        let told = self.database().psql(&about(&self.ours, sql));
        told.lines().last().unwrap_or_default().to_owned()
    }

    /// What the server says when it refuses `sql` in the servers' role and a transaction about `store`.
    fn refused(&self, store: &str, sql: &str) -> String {
        self.database().psql_fails(&about(store, sql))
    }

    /// A store other than theirs that has rows in the table: ours, or the one that lists the projects.
    fn owner(&self, table: &str) -> String {
        let owners = format!("SELECT store_id FROM pensa.{table} WHERE store_id <> '{}'", self.theirs);
        let owner = self.database().psql(&format!("{owners} ORDER BY store_id = '{}' DESC LIMIT 1", self.ours));
        assert!(!owner.is_empty(), "{table}: the test has something to copy");
        owner
    }

    /// Every table but the list of migrations, which is nobody's.
    fn tables(&self) -> Vec<String> {
        let sql = "SELECT relname FROM pg_class WHERE relnamespace = 'pensa'::regnamespace
             AND relkind IN ('r', 'p', 'm', 'v', 'f') AND relname <> '_migrations' ORDER BY 1";
        let tables: Vec<String> = self.database().psql(sql).lines().map(str::to_owned).collect();
        assert!(tables.len() >= 9, "{tables:?}");
        tables
    }

    fn columns(&self, table: &str) -> Vec<String> {
        let sql = format!(
            "SELECT column_name FROM information_schema.columns
             WHERE table_schema = 'pensa' AND table_name = '{table}' ORDER BY ordinal_position"
        );
        self.database().psql(&sql).lines().map(str::to_owned).collect()
    }

    fn everything(&self, table: &str) -> String {
        self.database().psql(&format!("SELECT row_to_json(t) FROM pensa.{table} t ORDER BY 1::text"))
    }
}

#[test]
fn every_table_is_under_row_level_security_whoever_owns_it() {
    let two = Two::new();
    for table in two.tables() {
        assert!(two.columns(&table).contains(&"store_id".to_owned()), "{table} does not say whose its rows are");
        let secured = "SELECT relrowsecurity, relforcerowsecurity, relkind FROM pg_class";
        let secured = two.database().psql(&format!("{secured} WHERE oid = 'pensa.{table}'::regclass"));
        assert_eq!(secured, "t|t|r", "{table}");
        let policies = format!(
            "SELECT count(*), bool_and(permissive = 'PERMISSIVE' AND cmd = 'ALL'), bool_and(with_check IS NOT NULL)
             FROM pg_policies WHERE schemaname = 'pensa' AND tablename = '{table}'"
        );
        assert_eq!(two.database().psql(&policies), "1|t|t", "{table}: more policies would let more through");
    }
    let role = "SELECT rolsuper, rolbypassrls, rolcanlogin, rolcreaterole, rolcreatedb FROM pg_roles
         WHERE rolname = 'pensa_tenant'";
    assert_eq!(two.database().psql(role), "f|f|f|f|f");
    let owned = "SELECT count(*) FROM pg_class WHERE relowner = 'pensa_tenant'::regrole";
    assert_eq!(two.database().psql(owned), "0", "an owner could take the security away");
    let definers = "SELECT count(*) FROM pg_proc WHERE pronamespace = 'pensa'::regnamespace AND prosecdef";
    assert_eq!(two.database().psql(definers), "0", "a function must not lend its owner's eyes");
}

#[test]
fn the_rows_of_another_store_are_not_there() {
    let two = Two::new();
    for table in two.tables() {
        let all = |id: &str| format!("SELECT count(*) FROM pensa.{table} WHERE store_id = '{id}'");
        let theirs: u32 = two.database().psql(&all(&two.theirs)).parse().expect("a count");
        let of_projects = !["projects", "tokens"].contains(&table.as_str());
        assert!(theirs > 0 || !of_projects, "{table}: the test has something to look for");
        assert_eq!(two.as_ours(&all(&two.theirs)), "0", "{table}");
        let others = format!("SELECT count(*) FROM pensa.{table} WHERE store_id <> '{}'", two.ours);
        assert_eq!(two.as_ours(&others), "0", "{table}");
        assert_eq!(two.as_ours(&all(&two.ours)), two.database().psql(&all(&two.ours)), "{table}: ours are");
        let nobody = format!("BEGIN; SET LOCAL ROLE pensa_tenant; SELECT count(*) FROM pensa.{table}; ROLLBACK");
        assert_eq!(two.database().psql(&nobody), "0", "{table}: without a store there is nothing");
        let emptied = about("", &format!("SELECT count(*) FROM pensa.{table}"));
        assert_eq!(two.database().psql(&emptied), "0", "{table}");
    }
}

#[test]
fn the_rows_of_another_store_cannot_be_made_changed_or_deleted() {
    let two = Two::new();
    for table in two.tables() {
        let before = two.everything(&table);
        let columns = two.columns(&table);
        let owner = two.owner(&table);
        let values = columns.iter().map(|name| match name.as_str() {
            "store_id" => format!("'{}'::uuid", two.theirs),
            name => name.to_owned(),
        });
        let copy = format!(
            "INSERT INTO pensa.{table} ({}) SELECT {} FROM pensa.{table} LIMIT 1",
            columns.join(", "),
            values.collect::<Vec<_>>().join(", ")
        );
        for change in [copy, format!("UPDATE pensa.{table} SET store_id = '{}'", two.theirs)] {
            let error = two.refused(&owner, &change);
            assert!(error.contains("row-level security"), "{table}: {error}");
        }
        let count =
            |change: &str| two.as_ours(&format!("WITH done AS ({change} RETURNING 1) SELECT count(*) FROM done"));
        let theirs = format!("WHERE store_id = '{}'", two.theirs);
        assert_eq!(count(&format!("UPDATE pensa.{table} SET store_id = store_id {theirs}")), "0", "{table}");
        assert_eq!(count(&format!("DELETE FROM pensa.{table} {theirs}")), "0", "{table}");
        let error = two.refused(&owner, &format!("TRUNCATE pensa.{table}"));
        assert!(error.contains("permission denied"), "{table}: {error}");
        for change in ["DISABLE ROW LEVEL SECURITY", "NO FORCE ROW LEVEL SECURITY"] {
            let error = two.refused(&owner, &format!("ALTER TABLE pensa.{table} {change}"));
            assert!(error.contains("must be owner"), "{table}: {error}");
        }
        assert_eq!(two.everything(&table), before, "{table}");
    }
}
