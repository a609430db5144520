//! Tests that row-level security alone keeps projects apart, whatever SQL runs in the server's role.

use crate::fixture::{Team, create, text};
use pensa_testkit::postgres::Database;
use serde_json::json;

/// Two stores with at least one row in every table of a project.
struct TwoStores {
    team: Team,
    own: String,
    foreign: String,
}

/// `sql` in the server's role and in a store's transaction, which is rolled back.
fn in_tenant_transaction(store: &str, sql: &str) -> String {
    format!("BEGIN; SET LOCAL ROLE pensa_tenant; SET LOCAL pensa.store_id = '{store}'; {sql}; ROLLBACK")
}

impl TwoStores {
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
            http.post("/views", &json!({"name": "n", "query": "p0"})).ok();
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
        // Only stores with files have conflicts; the index of recall begins with many texts, and vectors with a model.
        for id in &stores {
            team.database().psql(&format!(
                "INSERT INTO pensa.recall_parts (store_id, part, segment, data) VALUES ('{id}', 1, 1, '');
                 INSERT INTO pensa.vectors (store_id, model, block, texts, data) VALUES ('{id}', 'm', 1, '', '');
                 INSERT INTO pensa.conflicts (store_id, id, collection, record_id, field, kept, other, whole, found_at)
                 VALUES ('{id}', 'cf-1', 'issues', 'pn-1', 'title', '1', '2', '{{}}', '2026-01-01T00:00:00.000Z')"
            ));
        }
        let [own, foreign] = stores;
        Self { team, own, foreign }
    }

    fn database(&self) -> &Database {
        self.team.database()
    }

    /// Runs `sql` in the server's role for the own store. Returns the last line.
    fn query_as_own(&self, sql: &str) -> String {
        let output = self.database().psql(&in_tenant_transaction(&self.own, sql));
        output.lines().last().unwrap_or_default().to_owned()
    }

    /// Runs `sql`, which must fail, in the server's role for `store`. Returns the error.
    fn refused(&self, store: &str, sql: &str) -> String {
        self.database().psql_fails(&in_tenant_transaction(store, sql))
    }

    /// A store other than the foreign one with rows in the table: the own store, or the control store.
    fn owner(&self, table: &str) -> String {
        let owners = format!("SELECT store_id FROM pensa.{table} WHERE store_id <> '{}'", self.foreign);
        let owner = self.database().psql(&format!("{owners} ORDER BY store_id = '{}' DESC LIMIT 1", self.own));
        assert!(!owner.is_empty(), "{table}: the test has something to copy");
        owner
    }

    /// All tables except the list of migrations, which belongs to no store.
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

    fn all_rows(&self, table: &str) -> String {
        self.database().psql(&format!("SELECT row_to_json(t) FROM pensa.{table} t ORDER BY 1::text"))
    }
}

#[test]
fn every_table_has_forced_row_level_security() {
    let stores = TwoStores::new();
    for table in stores.tables() {
        assert!(stores.columns(&table).contains(&"store_id".to_owned()), "{table} does not say whose its rows are");
        let secured = "SELECT relrowsecurity, relforcerowsecurity, relkind FROM pg_class";
        let secured = stores.database().psql(&format!("{secured} WHERE oid = 'pensa.{table}'::regclass"));
        assert_eq!(secured, "t|t|r", "{table}");
        let policies = format!(
            "SELECT count(*), bool_and(permissive = 'PERMISSIVE' AND cmd = 'ALL'), bool_and(with_check IS NOT NULL)
             FROM pg_policies WHERE schemaname = 'pensa' AND tablename = '{table}'"
        );
        assert_eq!(stores.database().psql(&policies), "1|t|t", "{table}: more policies would let more through");
    }
    let role = "SELECT rolsuper, rolbypassrls, rolcanlogin, rolcreaterole, rolcreatedb FROM pg_roles
         WHERE rolname = 'pensa_tenant'";
    assert_eq!(stores.database().psql(role), "f|f|f|f|f");
    let owned = "SELECT count(*) FROM pg_class WHERE relowner = 'pensa_tenant'::regrole";
    assert_eq!(stores.database().psql(owned), "0", "an owner could take the security away");
    let definers = "SELECT count(*) FROM pg_proc WHERE pronamespace = 'pensa'::regnamespace AND prosecdef";
    assert_eq!(stores.database().psql(definers), "0", "a function must not lend its owner's eyes");
}

#[test]
fn rows_of_another_store_are_invisible() {
    let stores = TwoStores::new();
    for table in stores.tables() {
        let all = |id: &str| format!("SELECT count(*) FROM pensa.{table} WHERE store_id = '{id}'");
        let foreign: u32 = stores.database().psql(&all(&stores.foreign)).parse().expect("a count");
        let of_projects = !["projects", "tokens"].contains(&table.as_str());
        assert!(foreign > 0 || !of_projects, "{table}: the test has something to look for");
        assert_eq!(stores.query_as_own(&all(&stores.foreign)), "0", "{table}");
        let others = format!("SELECT count(*) FROM pensa.{table} WHERE store_id <> '{}'", stores.own);
        assert_eq!(stores.query_as_own(&others), "0", "{table}");
        assert_eq!(
            stores.query_as_own(&all(&stores.own)),
            stores.database().psql(&all(&stores.own)),
            "{table}: own rows are visible"
        );
        let nobody = format!("BEGIN; SET LOCAL ROLE pensa_tenant; SELECT count(*) FROM pensa.{table}; ROLLBACK");
        assert_eq!(stores.database().psql(&nobody), "0", "{table}: without a store there is nothing");
        let emptied = in_tenant_transaction("", &format!("SELECT count(*) FROM pensa.{table}"));
        assert_eq!(stores.database().psql(&emptied), "0", "{table}");
    }
}

#[test]
fn rows_of_another_store_cannot_be_created_changed_or_deleted() {
    let stores = TwoStores::new();
    for table in stores.tables() {
        let before = stores.all_rows(&table);
        let columns = stores.columns(&table);
        let owner = stores.owner(&table);
        let values = columns.iter().map(|name| match name.as_str() {
            "store_id" => format!("'{}'::uuid", stores.foreign),
            name => name.to_owned(),
        });
        let copy = format!(
            "INSERT INTO pensa.{table} ({}) SELECT {} FROM pensa.{table} LIMIT 1",
            columns.join(", "),
            values.collect::<Vec<_>>().join(", ")
        );
        for change in [copy, format!("UPDATE pensa.{table} SET store_id = '{}'", stores.foreign)] {
            let error = stores.refused(&owner, &change);
            assert!(error.contains("row-level security"), "{table}: {error}");
        }
        let count = |change: &str| {
            stores.query_as_own(&format!("WITH done AS ({change} RETURNING 1) SELECT count(*) FROM done"))
        };
        let foreign = format!("WHERE store_id = '{}'", stores.foreign);
        assert_eq!(count(&format!("UPDATE pensa.{table} SET store_id = store_id {foreign}")), "0", "{table}");
        assert_eq!(count(&format!("DELETE FROM pensa.{table} {foreign}")), "0", "{table}");
        let error = stores.refused(&owner, &format!("TRUNCATE pensa.{table}"));
        assert!(error.contains("permission denied"), "{table}: {error}");
        for change in ["DISABLE ROW LEVEL SECURITY", "NO FORCE ROW LEVEL SECURITY"] {
            let error = stores.refused(&owner, &format!("ALTER TABLE pensa.{table} {change}"));
            assert!(error.contains("must be owner"), "{table}: {error}");
        }
        assert_eq!(stores.all_rows(&table), before, "{table}");
    }
}
