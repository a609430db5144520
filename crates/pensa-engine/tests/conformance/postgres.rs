//! What concerns databases with many stores: isolation, lost connections, schema versions.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use pensa_core::ops::{agent, issue, project, session, token};
use pensa_core::{Access, Code, Error, Result};
use pensa_engine::{
    Caller, Context, Engine, GroupWriter, IdempotentRequest, Postgres, Projects, SCHEMA_VERSION, Tx, catalog, entry,
    migrate_database, schema_of_database,
};
use pensa_testkit::eventually;
use pensa_testkit::postgres::{Cluster, Database, shared};
use serde_json::{Value, json};
use uuid::Uuid;

fn open(database: &Database) -> Postgres {
    Postgres::open(&database.url, 4).expect("opens")
}

fn engine(postgres: &Postgres) -> Engine {
    Engine::in_database(postgres, "test", Uuid::now_v7())
}

fn create(cx: &Context<'_>, tx: &Tx<'_>, title: &str) -> Result<String> {
    (entry("issue.create").expect("in the catalog").run)(cx, tx, &json!({"title": title, "issue_type": "task"}))
}

fn titles(engine: &Engine) -> Vec<String> {
    let issues = engine.call("a", &issue::List::default()).expect("a list");
    issues.into_iter().map(|issue| issue.title).collect()
}

/// Ends all of Pensa's sessions in a database, as a restart or failover does.
fn terminate_sessions(database: &Database) {
    database.psql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'pensa'",
    );
}

#[test]
fn no_operation_reaches_another_store() {
    let database = shared().database();
    let postgres = open(&database);
    let (ours, theirs) = (engine(&postgres), engine(&postgres));
    let secret = "their-secret-title";
    let input = json!({"title": secret, "description": secret, "issue_type": "bug", "spec": secret});
    let made = theirs.call::<issue::Create>("them", &serde_json::from_value(input).expect("an operation"));
    let id = made.expect("created").issue.id;
    let before = theirs.call("them", &issue::Show { id: (&id).into() }).expect("shown");
    let input = json!({"type": "user", "name": secret, "descriptor": {"is": secret}});
    let made = theirs.call::<agent::Create>("them", &serde_json::from_value(input).expect("an operation"));
    let agent = made.expect("created");
    let input = json!({"id": agent.id, "entries": [{"type": "note", "text": secret}]});
    theirs.call::<session::Append>("them", &serde_json::from_value(input).expect("an operation")).expect("appended");
    let caller = Caller::local("us");
    for entry in catalog() {
        // Every field that can refer to an issue refers to one of the other store.
        let mut inputs = vec![json!({})];
        for field in ["id", "issue_id", "depends_on_id", "name"] {
            inputs.push(json!({ field: id }));
        }
        inputs.push(json!({"id": id, "force": true}));
        inputs.push(json!({"id": id, "title": "taken over", "claim": true}));
        inputs.push(json!({"id": id, "text": "was here"}));
        inputs.push(json!({"issue_id": id, "depends_on_id": id}));
        inputs.push(json!({"title": "ours", "issue_type": "task", "deps": [id]}));
        inputs.push(json!({"title": "ours", "issue_type": "task", "fixes": id}));
        inputs.push(json!({"q": secret}));
        for of_agent in [json!(agent.id), json!(agent.active_session_id), json!(secret)] {
            inputs.push(json!({"id": of_agent}));
            inputs.push(json!({"id": of_agent, "all": true}));
            inputs.push(json!({"id": of_agent, "force": true}));
            inputs.push(json!({"id": of_agent, "summary": "taken over"}));
            inputs.push(json!({"id": of_agent, "name": "taken over"}));
            inputs.push(json!({"id": of_agent, "entries": [{"type": "note", "text": "was here"}]}));
            inputs.push(json!({"agent": of_agent}));
            inputs.push(json!({"q": secret, "agent": of_agent}));
            inputs.push(json!({"type": "user", "parent": of_agent}));
        }
        for input in inputs {
            let answer = ours.run(Access::Write, &caller, |cx, tx| (entry.run)(cx, tx, &input));
            let text = answer.unwrap_or_else(|e| e.hint.unwrap_or_default());
            assert!(!text.contains(secret), "{} {input}: {text}", entry.name);
        }
    }
    let after = theirs.call("them", &issue::Show { id: (&id).into() }).expect("still there");
    assert_eq!(json!(after), json!(before));
    let history = json!({"id": agent.id, "all": true});
    let entries = theirs.call::<session::History>("them", &serde_json::from_value(history).expect("an operation"));
    assert_eq!(entries.expect("still there").len(), 1);
    let shown = theirs.call("them", &agent::Show { id: (&agent.id).into() }).expect("still there");
    assert_eq!(shown, agent);
    assert_eq!(titles(&theirs), [secret]);
}

#[test]
fn the_same_id_in_two_stores_is_two_issues() {
    let database = shared().database();
    let postgres = open(&database);
    let (one, two) = (engine(&postgres), engine(&postgres));
    let id = one.call(
        "a",
        &serde_json::from_value::<issue::Create>(json!({"title": "one", "issue_type": "task"})).expect("an operation"),
    );
    let id = id.expect("created").issue.id;
    let store = two.location().id().expect("an id");
    database.psql(&format!(
        "BEGIN; SELECT set_config('pensa.store_id', '{store}', true);
         INSERT INTO pensa.issues (id, title, issue_type, created_at, updated_at, search_text)
         VALUES ('{id}', 'two', 'task', 'now', 'now', 'two'); COMMIT"
    ));
    assert_eq!((titles(&one), database.psql("SELECT COUNT(*) FROM pensa.issues")), (vec!["one".into()], "2".into()));
    one.call::<issue::Delete>("a", &serde_json::from_value(json!({"id": id})).expect("an operation")).expect("deleted");
    assert_eq!(database.psql("SELECT title FROM pensa.issues"), "two");
}

#[test]
fn concurrently_starting_servers_create_one_schema() {
    let database = shared().database();
    let url = &database.url;
    let steps = schema_of_database(url).expect("a look").pending.len();
    thread::scope(|scope| {
        let opening: Vec<_> = (0..6).map(|_| scope.spawn(move || Postgres::open(url, 2).map(drop))).collect();
        for opened in opening {
            opened.join().expect("no panic").expect("opens");
        }
    });
    assert_eq!(database.psql("SELECT COUNT(*) FROM pensa._migrations"), steps.to_string());
}

#[test]
fn a_missing_migration_is_reported_first_and_then_applied() {
    let database = shared().database();
    let fresh = schema_of_database(&database.url).expect("a look");
    assert_eq!((fresh.version, fresh.pending.first()), (0, Some(&"0001_initial")));
    let schemas = "SELECT COUNT(*) FROM pg_namespace WHERE nspname = 'pensa'";
    assert_eq!(database.psql(schemas), "0", "a look makes nothing");
    migrate_database(&database.url).expect("migrated");
    let current = schema_of_database(&database.url).expect("a look");
    assert_eq!((current.version, current.pending.len()), (SCHEMA_VERSION, 0));
    database.psql("INSERT INTO pensa._migrations VALUES ('9999_breaks', 'x', 'now', 999)");
    assert_eq!(schema_of_database(&database.url).expect_err("too new").code, Code::NewerSchema);
}

#[test]
fn a_newer_schema_is_used_if_compatible_and_else_refused_unchanged() {
    let database = shared().database();
    let store = engine(&open(&database));
    store.run(Access::Write, &Caller::local("a"), |cx, tx| create(cx, tx, "before")).expect("created");
    let newer = |name: &str, oldest: i64| {
        database.psql(&format!("INSERT INTO pensa._migrations VALUES ('{name}', 'x', 'now', {oldest})"));
    };
    newer("9998_adds", SCHEMA_VERSION);
    assert_eq!(titles(&engine(&open(&database))), [""; 0], "another store of the same database");
    assert_eq!(titles(&store), ["before"], "and servers that run go on");
    newer("9999_breaks", SCHEMA_VERSION + 2);
    let listed = database.psql("SELECT COUNT(*) FROM pensa._migrations");
    let refused = Postgres::open(&database.url, 1).expect_err("too new");
    assert_eq!(refused.code, Code::NewerSchema, "{refused}");
    assert_eq!(database.psql("SELECT COUNT(*) FROM pensa._migrations"), listed);
}

#[test]
fn a_database_from_before_the_first_release_is_refused_untouched() {
    let database = shared().database();
    drop(open(&database));
    database.psql(
        "UPDATE pensa._migrations SET name = '0000_migrations' WHERE name = '0001_initial'; DROP TABLE pensa.changes",
    );
    for refused in [Postgres::open(&database.url, 1).map(drop), schema_of_database(&database.url).map(drop)] {
        let error = refused.expect_err("too old");
        assert_eq!(error.code, Code::Unsupported, "{error}");
    }
    assert_eq!(database.psql("SELECT COUNT(*) FROM pg_class WHERE relname = 'changes'"), "0");
}

#[test]
fn row_level_policies_look_up_the_store_once_per_statement() {
    let database = shared().database();
    drop(open(&database));
    let asks_once = "qual LIKE '%( SELECT pensa.this_store()%' AND with_check LIKE '%( SELECT pensa.this_store()%'";
    let policies =
        format!("SELECT count(*) > 30 AND bool_and({asks_once}) FROM pg_policies WHERE schemaname = 'pensa'");
    assert_eq!(database.psql(&policies), "t");
}

#[test]
fn lost_connections_are_replaced_transparently() {
    let database = shared().database();
    let store = engine(&open(&database));
    for round in 0..3 {
        let title = format!("t{round}");
        store.run(Access::Write, &Caller::local("a"), |cx, tx| create(cx, tx, &title)).expect("created");
        terminate_sessions(&database);
        assert_eq!(titles(&store).len(), round + 1);
        terminate_sessions(&database);
    }
}

#[test]
fn a_write_interrupted_before_its_commit_happens_once() {
    let database = shared().database();
    let store = engine(&open(&database));
    let tries = AtomicUsize::new(0);
    let work = |cx: &Context<'_>, tx: &Tx<'_>| {
        let first = tries.fetch_add(1, Ordering::SeqCst) == 0;
        create(cx, tx, "one")?;
        if first {
            terminate_sessions(&database);
        }
        create(cx, tx, "two")
    };
    store.run(Access::Write, &Caller::local("a"), work).expect("the second try succeeds");
    assert_eq!(tries.load(Ordering::SeqCst), 2);
    let mut found = titles(&store);
    found.sort();
    assert_eq!(found, ["one", "two"]);
}

#[test]
fn an_interrupted_group_commit_is_repeated_as_a_whole() {
    let database = shared().database();
    let store = engine(&open(&database));
    let writer = GroupWriter::start(store.new_handle().expect("a handle")).expect("starts");
    let (send, answers) = mpsc::channel();
    let url = database.url.clone();
    for n in 0..20 {
        let (send, tries, url) = (send.clone(), AtomicUsize::new(0), url.clone());
        let work = move |cx: &Context<'_>, tx: &Tx<'_>| {
            if n == 10 && tries.fetch_add(1, Ordering::SeqCst) == 0 {
                terminate_through(&url);
            }
            create(cx, tx, &format!("t{n}"))
        };
        writer.submit(Caller::local("a"), None, work, move |answer| send.send(answer).expect("awaited"));
    }
    drop(send);
    let answers: Vec<Result<String>> = answers.iter().collect();
    assert_eq!(answers.len(), 20);
    answers.into_iter().for_each(|answer| drop(answer.expect("created")));
    let mut found = titles(&store);
    found.sort();
    found.dedup();
    assert_eq!((titles(&store).len(), found.len()), (20, 20), "each once");
}

/// Ends the sessions of a database from a thread that only has its address.
fn terminate_through(url: &str) {
    let name = url.rsplit('/').next().expect("a name");
    let base = url.strip_suffix(name).expect("an address");
    let sql = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}' AND application_name = 'pensa'"
    );
    let status =
        Command::new("psql").args(["-X", "-q", "-o", "/dev/null", "-c", &sql, &format!("{base}postgres")]).status();
    assert!(status.expect("psql runs").success());
}

#[test]
fn a_commit_without_its_standby_has_an_unknown_outcome_and_its_retry_happens_once() {
    let cluster = Cluster::start();
    cluster.psql("postgres", "CREATE DATABASE team");
    let postgres = Postgres::open(&cluster.url("team"), 4).expect("opens");
    let store = engine(&postgres);
    let writer = GroupWriter::start(store.new_handle().expect("a handle")).expect("starts");
    let submit = || {
        let once = IdempotentRequest::new(None, "key-1", &[b"create"], false).expect("a key");
        let (send, receive) = mpsc::channel();
        let work = |cx: &Context<'_>, tx: &Tx<'_>| create(cx, tx, "once");
        writer.submit(Caller::local("a"), Some(once), work, move |answer| send.send(answer).expect("awaited"));
        receive
    };
    store.run(Access::Write, &Caller::local("a"), |cx, tx| create(cx, tx, "before")).expect("created");
    cluster.psql("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    cluster.psql("postgres", "SELECT pg_reload_conf()");
    let setting = "SHOW synchronous_standby_names";
    eventually("the setting", || (cluster.psql("postgres", setting) == "nobody").then_some(()));
    let answer = submit();
    let waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    eventually("a commit that waits", || (cluster.psql("postgres", waiting) != "0").then_some(()));
    cluster.psql("postgres", "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    let unknown: Error = answer.recv().expect("an answer").expect_err("committed here only");
    assert_eq!(unknown.code, Code::Unreachable, "{unknown}");
    assert!(unknown.message.contains("not known"), "{unknown}");
    cluster.psql("postgres", "ALTER SYSTEM RESET synchronous_standby_names");
    cluster.psql("postgres", "SELECT pg_reload_conf()");
    let first = submit().recv().expect("an answer").expect("what was answered to nobody");
    let second = submit().recv().expect("an answer").expect("and again");
    assert_eq!(first, second);
    assert_eq!(titles(&store), ["before", "once"]);
}

#[test]
fn a_full_pool_and_a_locked_store_are_reported_as_busy() {
    let database = shared().database();
    let postgres = Postgres::open(&database.url, 1).expect("opens");
    let (store, other) = (engine(&postgres), engine(&postgres));
    let (begun, wait) = mpsc::channel();
    let (finish, finished) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let finished = std::sync::Mutex::new(finished);
            let hold = |cx: &Context<'_>, tx: &Tx<'_>| {
                let answer = create(cx, tx, "held");
                begun.send(()).expect("awaited");
                finished.lock().expect("one thread").recv().expect("told to finish");
                answer
            };
            store.run(Access::Write, &Caller::local("a"), hold).expect("created");
        });
        wait.recv().expect("begun");
        let start = Instant::now();
        let error = other.call("a", &issue::List::default()).expect_err("no connection is left");
        assert_eq!(error.code, Code::Busy, "{error}");
        assert!(start.elapsed() < Duration::from_secs(6), "the wait has a bound");
        finish.send(()).expect("awaited");
    });
    assert_eq!(titles(&other), [""; 0]);
}

#[test]
fn a_database_user_without_the_role_gets_a_clear_error() {
    let cluster = Cluster::start();
    let admin = |sql: &str| cluster.psql("postgres", sql);
    let url = |user: &str, database: &str| format!("postgres://{user}@127.0.0.1:{}/{database}", cluster.port());
    admin("CREATE ROLE plain LOGIN");
    admin("CREATE DATABASE one OWNER plain");
    let refused = Postgres::open(&url("plain", "one"), 1).expect_err("may not make the role");
    assert_eq!(refused.code, Code::Forbidden, "{refused}");
    assert!(refused.hint.as_deref().is_some_and(|hint| hint.contains("GRANT pensa_tenant")), "{refused:?}");
    assert_eq!(cluster.psql("one", "SELECT to_regnamespace('pensa') IS NULL"), "t", "nothing was left half done");

    admin("CREATE ROLE pensa_tenant NOLOGIN");
    admin("GRANT pensa_tenant TO plain");
    let store = engine(&Postgres::open(&url("plain", "one"), 1).expect("the role is there"));
    store.run(Access::Write, &Caller::local("a"), |cx, tx| create(cx, tx, "t")).expect("created");

    admin("CREATE ROLE maker LOGIN CREATEROLE");
    admin("CREATE DATABASE two OWNER maker");
    let store = engine(&Postgres::open(&url("maker", "two"), 1).expect("may make and take the role"));
    assert_eq!(titles(&store), [""; 0]);

    admin("ALTER ROLE pensa_tenant BYPASSRLS");
    let store = engine(&Postgres::open(&url("plain", "one"), 1).expect("the schema is fine"));
    let refused = store.call("a", &issue::List::default()).expect_err("nothing keeps stores apart");
    assert_eq!(refused.code, Code::Forbidden, "{refused}");
}

#[test]
fn projects_and_tokens_are_in_a_store_that_no_project_can_read() {
    let database = shared().database();
    let projects = Projects::in_database(&database.url, 2).expect("opens");
    let control = projects.control().expect("opens");
    let name = |name: &str| name.parse().expect("a name");
    let web = control.call("root", &project::Create { name: name("web") }).expect("made");
    let token: token::Create =
        serde_json::from_value(json!({"project": "web", "role": "agent"})).expect("an operation");
    let token = control.call("root", &token).expect("made");
    let kept = database.psql("SELECT hash FROM pensa.tokens");
    assert_eq!(kept.len(), 64);
    assert!(!kept.contains(&token.token));
    let full_state: String = database.psql("SELECT string_agg(detail, ' ') FROM pensa.events");
    assert!(!full_state.contains(&token.token) && full_state.contains("agent"), "{full_state}");
    let store = projects.store(&web).expect("opens");
    for refused in [
        store.call("root", &project::List { all: true }).map(|all| json!(all)),
        store.call("root", &token::List { project: None, all: true }).map(|all| json!(all)),
    ] {
        assert_eq!(refused.expect_err("a project is no server").code, Code::Unsupported);
    }
    let visible = format!(
        "SET ROLE pensa_tenant; SELECT set_config('pensa.store_id', '{}', false);
         SELECT (SELECT COUNT(*) FROM pensa.projects) + (SELECT COUNT(*) FROM pensa.tokens)",
        web.store_id
    );
    assert!(database.psql(&visible).ends_with('0'));
}

#[test]
fn an_unreachable_database_is_reported_in_time() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    let start = Instant::now();
    // This listener accepts connections and never answers.
    let error = Postgres::open(&format!("postgres://u@127.0.0.1:{port}/d"), 1).expect_err("it is silent");
    assert_eq!(error.code, Code::Unreachable, "{error}");
    drop(free);
    let error = Postgres::open(&format!("postgres://u@127.0.0.1:{port}/d"), 1).expect_err("nothing listens");
    assert_eq!(error.code, Code::Unreachable, "{error}");
    assert!(start.elapsed() < Duration::from_secs(10));
    assert!(matches!(json!(error), Value::Object(_)));
}

#[test]
fn a_change_through_one_server_is_notified_to_another() {
    let database = shared().database();
    let (here, there) = (open(&database), open(&database));
    let (send, heard) = mpsc::channel();
    there.wakeups().listen(move |store| {
        let _ = send.send(store);
    });
    // Only a listening server notifies others.
    here.wakeups().listen(|_| {});
    assert_eq!(heard.recv_timeout(Duration::from_secs(20)), Ok(None), "told that it listens from now on");
    let store = engine(&here);
    let id: Uuid = store.location().id().expect("an id").parse().expect("a UUID");
    store.run(Access::Write, &Caller::local("a"), |cx, tx| create(cx, tx, "news")).expect("created");
    assert_eq!(heard.recv_timeout(Duration::from_secs(20)), Ok(Some(id)));
}

/// A cluster that accepts `app` with a password over TLS only, and its CA certificate.
fn tls_cluster() -> (Cluster, tempfile::TempDir) {
    let cluster = Cluster::start();
    let dir = tempfile::tempdir().expect("a directory");
    let openssl = |args: &str| {
        let run = Command::new("openssl").args(args.split_whitespace()).current_dir(dir.path()).output();
        let run = run.expect("openssl runs");
        assert!(run.status.success(), "openssl {args}: {}", String::from_utf8_lossy(&run.stderr));
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(&format!("req -x509 {key} -days 2 -subj /CN=ca -keyout ca.key -out ca.pem"));
    let names = "-addext subjectAltName=DNS:localhost,IP:127.0.0.1";
    openssl(&format!("req -new {key} -subj /CN=localhost {names} -keyout server.key -out server.csr"));
    openssl(
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -copy_extensions copy -out server.crt",
    );
    let data = PathBuf::from(cluster.psql("postgres", "SHOW data_directory"));
    for file in ["server.key", "server.crt"] {
        fs::copy(dir.path().join(file), data.join(file)).expect("copied");
        let owner = fs::metadata(&data).expect("the directory of the cluster");
        std::os::unix::fs::chown(data.join(file), Some(owner.uid()), Some(owner.gid())).expect("given away");
        fs::set_permissions(data.join(file), Permissions::from_mode(0o600)).expect("closed");
    }
    let who = "hostssl all app 127.0.0.1/32 scram-sha-256\nhostssl all old 127.0.0.1/32 md5\n\
               hostssl all plain 127.0.0.1/32 password\nhost all postgres 127.0.0.1/32 trust\n";
    fs::write(data.join("pg_hba.conf"), who).expect("written");
    for sql in [
        "CREATE ROLE app SUPERUSER LOGIN PASSWORD 'hunter2'",
        "CREATE ROLE plain SUPERUSER LOGIN PASSWORD 'hunter2'",
        "SET password_encryption = md5; CREATE ROLE old SUPERUSER LOGIN PASSWORD 'hunter2'",
        "ALTER SYSTEM SET ssl = on",
        "SELECT pg_reload_conf()",
    ] {
        cluster.psql("postgres", sql);
    }
    eventually("TLS is on", || (cluster.psql("postgres", "SHOW ssl") == "on").then_some(()));
    (cluster, dir)
}

#[test]
fn a_database_is_reached_over_tls_with_a_password_or_not_at_all() {
    let (cluster, dir) = tls_cluster();
    let port = cluster.port();
    let ca = dir.path().join("ca.pem");
    let open = |who: &str, options: &str| {
        let address = format!("postgres://{who}@localhost:{port}/postgres?hostaddr=127.0.0.1{options}");
        Postgres::open(&address, 2).map(drop).map_err(|error| error.to_string())
    };
    let trusted = format!("&sslmode=verify-full&sslrootcert={}", ca.display());
    for who in ["app:hunter2", "old:hunter2", "plain:hunter2"] {
        eventually("the new rules count", || open(who, &trusted).ok());
    }
    // Only channel binding is accepted; a password in plain text is not.
    assert_eq!(open("app:hunter2", &format!("{trusted}&channel_binding=require")), Ok(()));
    for who in ["old:hunter2", "plain:hunter2"] {
        let refused = open(who, &format!("{trusted}&channel_binding=require")).expect_err("no proof");
        assert!(refused.contains("did not use channel binding"), "{refused}");
    }
    for (who, options, why) in [
        ("app:hunter3", trusted.as_str(), "password authentication failed"),
        ("app", &trusted, "password missing"),
        ("app:hunter2", "&sslmode=require", "certificate"),
        ("app:hunter2", "&sslmode=disable", "no pg_hba.conf entry"),
    ] {
        let refused = open(who, options).expect_err(why);
        assert!(refused.contains(why) && !refused.contains("hunter"), "{who} {options}: {refused}");
    }
    let postgres =
        Postgres::open(&format!("postgres://app:hunter2@localhost:{port}/postgres?hostaddr=127.0.0.1{trusted}"), 2);
    let engine = engine(&postgres.expect("opens"));
    // More than one TLS record, and more than one read from the socket.
    let long = "a long word ".repeat(50_000);
    let input = json!({"title": "over TLS", "description": long, "issue_type": "task"});
    let made = engine.call::<issue::Create>("a", &serde_json::from_value(input).expect("an operation"));
    let id = made.expect("created").issue.id;
    let shown = engine.call("a", &issue::Show { id: (&id).into() }).expect("shown");
    assert_eq!(shown.issue.description, Some(long));
    // Over TLS, silence times out in the same way, and ends when the database answers again.
    cluster.pause();
    let silent = engine.call("a", &issue::Show { id: (&id).into() }).expect_err("nobody answers");
    assert_eq!(silent.code, Code::Unreachable, "{silent}");
    cluster.resume();
    eventually("it answers again", || engine.call("a", &issue::Show { id: (&id).into() }).ok());
}

#[test]
fn a_silent_host_does_not_block_the_next_host() {
    let database = shared().database();
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (_, rest) = database.url.split_once("127.0.0.1:").expect("an address of this machine");
    let (head, _) = database.url.split_once("127.0.0.1:").expect("an address of this machine");
    let address = format!("{head}{},127.0.0.1:{rest}", silent.local_addr().expect("an address"));
    let postgres = Postgres::open(&format!("{address}?connect_timeout=1"), 2).expect("the second host");
    assert!(titles(&engine(&postgres)).is_empty());
}
