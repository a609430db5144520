//! Tests request logs, which must not contain secrets, and metrics.

use std::collections::HashMap;

use pensa_testkit::eventually;
use serde_json::{Value, json};

use crate::fixture::{ServeProcess, Team, create, text};

/// Waits for the log line of request `id`. Returns all request lines.
fn lines_with(server: &ServeProcess, id: &str) -> Vec<Value> {
    eventually("a line about the request", || {
        let lines = requests(server);
        lines.iter().any(|line| line["request_id"] == id).then_some(lines)
    })
}

/// All request lines; every line must be JSON.
fn requests(server: &ServeProcess) -> Vec<Value> {
    let log = server.log();
    // The last line may be incomplete.
    let whole = log.rfind('\n').map_or("", |end| &log[..end]);
    let parse = |line: &str| serde_json::from_str::<Value>(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    whole.lines().map(parse).filter(|line| line["message"] == "request").collect()
}

#[test]
fn every_request_has_a_line_and_no_line_has_a_secret() {
    let team = Team::on_postgres();
    team.project("web");
    let (token, admin) = (team.token("web", "agent"), team.token("web", "admin"));
    let server = team.serve();
    let mut http = server.client(&token);
    let made = http.ask("POST", "/issues").header("X-Request-Id", "r-1").header("Pensa-Actor", "ana");
    let made = made.body(&json!({"title": "logged", "issue_type": "task"})).reply();
    assert_eq!(made.header("x-request-id"), Some("r-1"));
    let own = http.get("/issues");
    let id = own.header("x-request-id").expect("an id of the server's own").to_owned();
    assert!(!id.is_empty());
    http.ask("GET", "/issues/pn-00000000").header("X-Request-Id", "r-2").reply();
    server.anonymous().with("Authorization", "Bearer pensa_guessed-secret").get("/p/web/issues");
    server.anonymous().with("Authorization", "Basic Z3Vlc3NlZA==").get(&format!("/p/web/issues?q={}", token.secret));
    let new = server.root(&admin).post("/tokens", &json!({"project": "web", "role": "viewer"})).ok();
    server.client(&token).ask("GET", "/status").header("X-Request-Id", "last").reply();
    let lines = lines_with(&server, "last");
    assert_eq!(lines.len(), 7, "{lines:?}");
    let line = |id: &str| lines.iter().find(|line| line["request_id"] == id).expect("a line").clone();
    let first = line("r-1");
    assert_eq!(
        (&first["method"], &first["path"], &first["status"]),
        (&"POST".into(), &"/p/web/issues".into(), &201.into())
    );
    assert_eq!((&first["project"], &first["token"], &first["actor"]), (&"web".into(), &json!(token.id), &"ana".into()));
    assert!(first["took_ms"].is_number() && first["at"].is_string() && first["level"] == "info", "{first}");
    assert_eq!(line(&id)["status"], 200);
    assert_eq!((&line("r-2")["status"], &line("r-2")["code"]), (&404.into(), &"not_found".into()));
    let log = server.log();
    for secret in
        [&token.secret, &admin.secret, &text(&new["token"]), "guessed-secret", "Z3Vlc3NlZA", "Bearer", "Basic"]
    {
        assert!(!log.contains(secret), "{secret} is in the log");
    }
}

#[test]
fn hostile_client_cannot_forge_or_colour_a_log_line() {
    let team = Team::on_postgres();
    team.project("web");
    let token = team.token("web", "agent");
    let server = team.serve();
    let long = "x".repeat(500);
    for id in ["a b", "\"}{\"", "<script>", "\u{1b}[31m", "", &long, "pensa\u{202e}"] {
        // Requests refused by the HTTP parser are not logged.
        let Ok(reply) = server.client(&token).ask("GET", "/status").header("X-Request-Id", id).try_reply() else {
            continue;
        };
        assert_ne!(reply.header("x-request-id"), Some(id), "{id:?}");
        if reply.status == 200 {
            assert!(reply.header("x-request-id").is_some_and(|own| !own.is_empty()), "{reply:?}");
        }
    }
    let actors = ["%0A%7B%22level%22%3A%22error%22%7D", "%1B%5B31mred", "%E2%80%AEdlrow", "a%00b", "%FF", "%"];
    for actor in actors {
        server.client(&token).ask("GET", "/status").header("Pensa-Actor", actor).reply();
    }
    for path in ["/%1B%5B31m", "/%0A%7B%7D", "/<script>", "/\"quoted\""] {
        let _ = server.client(&token).ask("GET", path).try_reply();
    }
    server.client(&token).ask("GET", "/status").header("X-Request-Id", "last").reply();
    lines_with(&server, "last");
    let log = server.log();
    let unsafe_to_print = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!log.contains(unsafe_to_print), "{log:?}");
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).expect("every line is JSON");
        assert!(line["level"] == "info", "{line}");
    }
}

#[test]
fn log_level_can_be_chosen() {
    let team = Team::on_sqlite();
    team.project("web");
    let token = team.token("web", "agent");
    for level in ["off", "error"] {
        let server = team.serve_with(&["--rate", "0", "--log", level]);
        server.client(&token).get("/issues").ok();
        server.client(&token).get("/nothing").refused(404, "not_found");
        assert_eq!(server.log(), "", "{level}");
    }
}

/// Parses a metrics page.
fn samples(page: &str) -> HashMap<String, f64> {
    let lines = page.strip_suffix("# EOF\n").expect("a whole page").lines();
    for comment in lines.clone().filter(|line| line.starts_with('#')) {
        assert!(comment.starts_with("# HELP ") || comment.starts_with("# TYPE "), "{comment}");
    }
    let sample = |line: &str| {
        let (name, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("a sample: {line}"));
        (name.to_owned(), value.parse().unwrap_or_else(|e| panic!("{e}: {line}")))
    };
    lines.filter(|line| !line.starts_with('#')).map(sample).collect()
}

#[test]
fn metrics_count_requests() {
    let team = Team::on_postgres();
    team.project("web");
    let token = team.token("web", "agent");
    let server = team.serve();
    let mut http = server.client(&token);
    (0..3).for_each(|at| drop(create(&mut http, &format!("issue {at}"))));
    http.post("/issues", &json!({"title": ""})).refused(400, "invalid_input");
    (0..2).for_each(|_| drop(http.get("/issues").ok()));
    server.anonymous().get("/p/web/issues").refused(401, "unauthorized");
    let page = server.anonymous().get("/metrics");
    assert_eq!(page.status, 200);
    assert!(
        page.header("content-type").is_some_and(|kind| kind.starts_with("application/openmetrics-text; version=1.0.0")),
        "{page:?}"
    );
    let samples = samples(&page.body);
    let count = |operation: &str, method: &str, status: u16| {
        let labels = format!("{{operation=\"{operation}\",method=\"{method}\",status=\"{status}\"}}");
        samples.get(&format!("pensa_http_requests_total{labels}")).copied()
    };
    assert_eq!(count("issue.create", "POST", 201), Some(3.0));
    assert_eq!(count("issue.create", "POST", 400), Some(1.0));
    assert_eq!(count("issue.list", "GET", 200), Some(2.0));
    assert_eq!(samples["pensa_http_unauthorized_total"], 1.0);
    let timed = |part: &str| samples[&format!("pensa_http_request_duration_seconds_{part}")];
    assert_eq!(timed("count{operation=\"issue.create\"}"), 4.0);
    assert_eq!(timed("bucket{le=\"+Inf\",operation=\"issue.create\"}"), 4.0);
    assert!(samples["pensa_db_connections_open"] <= samples["pensa_db_connections_max"]);
    assert_eq!(samples["pensa_log_lines_dropped_total"], 0.0);
    assert!(samples["pensa_db_connections_open"] >= 1.0 && samples["pensa_open_stores"] == 1.0);
    for leak in [token.secret.as_str(), &token.id, "web"] {
        assert!(!page.body.contains(leak), "{leak} is nobody's business");
    }
}
