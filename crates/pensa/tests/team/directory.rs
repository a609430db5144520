//! Tests a team server without PostgreSQL: the same projects, tokens and roles on SQLite stores in a directory.

use std::fs;
use std::os::unix::fs::MetadataExt;

use serde_json::json;

use crate::fixture::{ROLES, Team, create, elements, titles};

#[test]
fn two_projects_in_a_directory_have_their_own_issues_tokens_and_audit() {
    let team = Team::on_sqlite();
    let (web, api) = (team.project("web"), team.project("api"));
    assert_ne!(web["store_id"], api["store_id"]);
    assert_eq!(team.direct(&["project", "list", "-q"]).ok(), "api\nweb\n");
    let (in_web, in_api) = (team.token("web", "agent"), team.token("api", "agent"));
    let server = team.serve();
    create(&mut server.client(&in_web), "of web");
    create(&mut server.client(&in_api), "of api");
    assert_eq!(titles(&server.client(&in_web).get("/issues").ok()), ["of web"]);
    assert_eq!(titles(&server.client(&in_api).get("/issues").ok()), ["of api"]);
    let audit = elements(&team.direct(&["audit", "--project", "web"]).ok_json());
    assert!(audit.iter().all(|line| line["project"] == "web"), "{audit:?}");
    let by_token = elements(&team.direct(&["audit", "--token", &in_web.id]).ok_json());
    assert_eq!(by_token.len(), 1, "{by_token:?}");
    assert_eq!(by_token[0]["detail"]["title"]["new"], "of web");
    let moved = team.through(&server, &in_web, ["list"]).ok_json();
    assert_eq!(titles(&moved), ["of web"]);
}

#[test]
fn roles_and_revocations_apply_on_sqlite() {
    let team = Team::on_sqlite();
    team.project("web");
    let tokens = ROLES.map(|role| team.token("web", role));
    let server = team.serve();
    let made = tokens.each_ref().map(|token| {
        let body = json!({"title": "made", "issue_type": "task"});
        server.client(token).post("/issues", &body).status
    });
    assert_eq!(made, [403, 201, 201, 201]);
    server.root(&tokens[3]).post(&format!("/tokens/{}/revoke", tokens[1].id), &json!({})).ok();
    server.client(&tokens[1]).get("/issues").refused(401, "unauthorized");
    assert_eq!(server.client(&tokens[2]).get("/issues").status, 200);
}

#[test]
fn next_server_continues_with_the_data_directory() {
    let team = Team::on_sqlite();
    team.project("web");
    let token = team.token("web", "agent");
    let server = team.serve();
    create(&mut server.client(&token), "kept");
    assert_eq!(server.process.stop(rustix::process::Signal::TERM).code(), Some(0));
    let next = team.serve();
    assert_eq!(titles(&next.client(&token).get("/issues").ok()), ["kept"]);
    let data = team.machine.path("data");
    assert_eq!(fs::metadata(&data).expect("a directory").mode() & 0o777, 0o700, "nobody else may look");
}

#[test]
fn a_server_refuses_to_send_tokens_unencrypted_beyond_this_machine() {
    let team = Team::on_sqlite();
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let error = team.direct(&["serve", "--listen", listen]).fails("forbidden");
        let hint = error["hint"].as_str().expect("a hint");
        assert!(hint.contains("--tls-cert") && hint.contains("--behind-proxy"), "{error}");
    }
    let server = team.serve_with(&["--listen", "0.0.0.0:0", "--behind-proxy"]);
    assert!(server.process.url.starts_with("http://localhost:"), "{}", server.process.url);
    assert_eq!(server.anonymous().get("/healthz").status, 200);
    team.direct(&["serve", "--tls-cert", "cert.pem"]).misused();
}

#[test]
fn a_database_and_a_directory_at_once_are_refused() {
    let team = Team::on_sqlite();
    team.direct(&["serve"]).env("PN_DATABASE", "postgres://u@localhost/d").fails("invalid_input");
    let nothing = team.machine.pn(["project", "list"]).dir(team.machine.path("elsewhere"));
    let error = nothing.fails("invalid_input");
    assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("--database")), "{error}");
}

#[test]
fn reading_does_not_create_the_data_directory() {
    let team = Team::on_sqlite();
    let nowhere = team.machine.path("nowhere");
    let looks: [&[&str]; 4] = [&["project", "list"], &["project", "archive", "web"], &["token", "list"], &["audit"]];
    for args in looks {
        let error = team.machine.pn(args).env("PN_DATA_DIR", &nowhere).fails("no_store");
        assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("pn project create")), "{error}");
        assert!(!nowhere.exists(), "{args:?}");
    }
    team.machine.pn(["project", "create", "web"]).env("PN_DATA_DIR", &nowhere).ok();
    assert_eq!(team.machine.pn(["project", "list", "-q"]).env("PN_DATA_DIR", &nowhere).ok(), "web\n");
}
