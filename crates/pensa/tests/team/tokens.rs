//! Tests that only requests with one valid token are accepted.

use std::time::Duration;

use pensa_testkit::{Http, Reply, eventually, within};
use serde_json::json;

use crate::fixture::{ProjectToken, ServeProcess, Team, create};

/// How long a revoked token may still work.
const MAX_DELAY: Duration = Duration::from_secs(5);

#[track_caller]
fn unauthorized(reply: &Reply) {
    let error = reply.refused(401, "unauthorized");
    assert!(error["hint"].is_string(), "{error}");
    assert_eq!(reply.header("www-authenticate"), Some("Bearer"), "{reply:?}");
}

fn is_accepted(server: &ServeProcess, token: &ProjectToken) -> bool {
    let reply = server.client(token).get("/issues?limit=1");
    if reply.status != 200 {
        unauthorized(&reply);
    }
    reply.status == 200
}

#[test]
fn requests_without_a_valid_token_are_refused_even_from_this_machine() {
    let team = Team::on_postgres();
    team.project("web");
    let token = team.token("web", "admin");
    let server = team.serve();
    let url = server.project_url("web");
    for path in ["/issues", "/events", "/openapi.json", "/nothing"] {
        unauthorized(&Http::to(&url).get(path));
        unauthorized(&server.anonymous().get(path));
    }
    for shown in ["Bearer", "Bearer ", "Bearer wrong", "Basic d2ViOnNlY3JldA==", "bearer pensa_", &token.secret] {
        unauthorized(&Http::to(&url).with("Authorization", shown).get("/issues"));
    }
    unauthorized(&Http::to(&url).token(&token.secret).token(&token.secret).get("/issues"));
    unauthorized(&Http::to(&url).token("wrong").token(&token.secret).get("/issues"));
    unauthorized(&Http::to(&url).token(&token.id).get("/issues"));
    unauthorized(&Http::to(&url).token(&"x".repeat(5000)).get("/issues"));
    unauthorized(&Http::to(&url).token(&token.secret[..token.secret.len() - 1]).get("/issues"));
    unauthorized(&Http::to(&url).token(&token.secret.to_uppercase()).get("/issues"));
    unauthorized(&Http::to(&format!("{url}?token={}", token.secret)).get(""));
    let hash = team.database().psql("SELECT hash FROM pensa.tokens");
    unauthorized(&Http::to(&url).token(&hash).get("/issues"));
    unauthorized(&Http::to(&url).post("/issues", &json!({"title": "x", "issue_type": "task"})));
    assert_eq!(Http::to(&url).with("authorization", &format!("bearer {}", token.secret)).get("/issues").status, 200);
    assert_eq!(server.client(&token).get("/issues").ok(), json!([]));
    for open in ["/healthz", "/readyz"] {
        assert_eq!(server.anonymous().get(open).status, 200, "{open}");
    }
}

#[test]
fn expired_token_is_refused() {
    let team = Team::on_postgres();
    team.project("web");
    let server = team.serve();
    let lasting = team.token("web", "agent");
    let made = team.direct(&["token", "create", "--project", "web", "--role", "agent", "--expires", "2s"]).ok_json();
    assert!(made["expires_at"].is_string(), "{made}");
    let brief = ProjectToken::of(&made);
    eventually("the end of a token", || (!is_accepted(&server, &brief)).then_some(()));
    assert!(is_accepted(&server, &lasting));
    let listed = |all: bool| {
        let args = ["token", "list", "--project", "web", "--all"];
        team.direct(&args[..if all { 5 } else { 4 }]).ok_json().as_array().map_or(0, Vec::len)
    };
    assert_eq!((listed(false), listed(true)), (1, 2));
}

#[test]
fn revoked_token_is_refused_by_every_server_within_seconds() {
    let team = Team::on_postgres();
    team.project("web");
    let (admin, here, there) = (team.token("web", "admin"), team.token("web", "agent"), team.token("web", "agent"));
    let servers = [team.serve(), team.serve()];
    for server in &servers {
        assert!(is_accepted(server, &here) && is_accepted(server, &there));
    }
    let revoked = servers[0].root(&admin).post(&format!("/tokens/{}/revoke", here.id), &json!({})).ok();
    assert!(revoked["revoked_at"].is_string(), "{revoked}");
    assert!(!is_accepted(&servers[0], &here), "at once where it was revoked");
    within(MAX_DELAY, "a server that has heard", || (!is_accepted(&servers[1], &here)).then_some(()));
    assert!(is_accepted(&servers[1], &there), "the other one is as good as before");
    team.direct(&["token", "revoke", &there.id]).ok();
    within(MAX_DELAY, "servers that have looked", || {
        servers.iter().all(|server| !is_accepted(server, &there)).then_some(())
    });
    assert!(is_accepted(&servers[1], &admin));
}

#[test]
fn stream_ends_when_its_token_is_revoked() {
    let team = Team::on_postgres();
    team.project("web");
    let (admin, agent) = (team.token("web", "admin"), team.token("web", "agent"));
    let servers = [team.serve(), team.serve()];
    let streams: Vec<_> = servers.iter().map(|server| server.client(&agent).ask("GET", "/events").events()).collect();
    let others = servers[1].client(&admin).ask("GET", "/events").events();
    create(&mut servers[0].client(&admin), "seen");
    for stream in &streams {
        assert_eq!(stream.next().id, 1);
    }
    servers[0].root(&admin).post(&format!("/tokens/{}/revoke", agent.id), &json!({})).ok();
    for stream in &streams {
        assert!(stream.ends_within(MAX_DELAY), "within seconds");
    }
    create(&mut servers[0].client(&admin), "not seen");
    assert_eq!((others.next().id, others.next().id), (1, 2), "the streams of others go on");
}

#[test]
fn archived_project_is_not_found_until_restored() {
    let team = Team::on_postgres();
    team.project("web");
    team.project("ops");
    let (agent, operator) = (team.token("web", "agent"), team.operator());
    let servers = [team.serve(), team.serve()];
    create(&mut servers[0].client(&agent), "kept");
    let status = |server: &ServeProcess| server.client(&agent).get("/issues").status;
    assert_eq!((status(&servers[0]), status(&servers[1])), (200, 200));
    let stream = servers[1].client(&agent).ask("GET", "/events").events();
    servers[0].root(&operator).post("/projects/web/archive", &json!({})).ok();
    within(MAX_DELAY, "servers that have heard", || servers.iter().all(|server| status(server) == 404).then_some(()));
    let archived = servers[1].client(&agent).get("/issues").refused(404, "not_found");
    let missing = Http::to(&servers[1].project_url("zzz")).token(&agent.secret).get("/issues").json();
    assert_eq!(archived.to_string().replace("web", "zzz"), missing.to_string());
    assert!(stream.ends_within(MAX_DELAY), "and so do its streams");
    team.direct(&["project", "archive", "web", "--undo"]).ok();
    within(MAX_DELAY, "servers that have looked", || servers.iter().all(|server| status(server) == 200).then_some(()));
    assert_eq!(servers[0].client(&agent).get("/issues").ok()[0]["title"], "kept");
}
