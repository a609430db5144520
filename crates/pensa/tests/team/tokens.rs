//! Who is let in: only whoever shows one token that is good now, from wherever it comes.

use std::time::Duration;

use pensa_testkit::{Http, Reply, eventually, within};
use serde_json::json;

use crate::setting::{Server, Team, Token, create};

/// How long a revoked token may still work.
const SOON: Duration = Duration::from_secs(5);

#[track_caller]
fn unauthorized(reply: &Reply) {
    let error = reply.refused(401, "unauthorized");
    assert!(error["hint"].is_string(), "{error}");
    assert_eq!(reply.header("www-authenticate"), Some("Bearer"), "{reply:?}");
}

fn is_let_in(server: &Server, token: &Token) -> bool {
    let reply = server.client(token).get("/issues?limit=1");
    if reply.status != 200 {
        unauthorized(&reply);
    }
    reply.status == 200
}

#[test]
fn without_a_good_token_nobody_is_let_in_from_this_machine_either() {
    let team = Team::on_postgres();
    team.project("web");
    let token = team.token("web", "admin");
    let server = team.serve();
    let url = server.project_url("web");
    for path in ["/issues", "/events", "/openapi.json", "/nothing"] {
        unauthorized(&Http::to(&url).get(path));
        unauthorized(&server.stranger().get(path));
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
        assert_eq!(server.stranger().get(open).status, 200, "{open}");
    }
}

#[test]
fn a_token_opens_nothing_once_it_has_expired() {
    let team = Team::on_postgres();
    team.project("web");
    let server = team.serve();
    let lasting = team.token("web", "agent");
    let made = team.direct(&["token", "create", "--project", "web", "--role", "agent", "--expires", "2s"]).ok_json();
    assert!(made["expires_at"].is_string(), "{made}");
    let brief = Token::of(&made);
    eventually("the end of a token", || (!is_let_in(&server, &brief)).then_some(()));
    assert!(is_let_in(&server, &lasting));
    let listed = |all: bool| {
        let args = ["token", "list", "--project", "web", "--all"];
        team.direct(&args[..if all { 5 } else { 4 }]).ok_json().as_array().map_or(0, Vec::len)
    };
    assert_eq!((listed(false), listed(true)), (1, 2));
}

#[test]
fn a_token_that_is_revoked_is_refused_by_every_server_within_seconds() {
    let team = Team::on_postgres();
    team.project("web");
    let (admin, here, there) = (team.token("web", "admin"), team.token("web", "agent"), team.token("web", "agent"));
    let servers = [team.serve(), team.serve()];
    for server in &servers {
        assert!(is_let_in(server, &here) && is_let_in(server, &there));
    }
    let revoked = servers[0].root(&admin).post(&format!("/tokens/{}/revoke", here.id), &json!({})).ok();
    assert!(revoked["revoked_at"].is_string(), "{revoked}");
    assert!(!is_let_in(&servers[0], &here), "at once where it was revoked");
    within(SOON, "a server that has heard", || (!is_let_in(&servers[1], &here)).then_some(()));
    assert!(is_let_in(&servers[1], &there), "the other one is as good as before");
    team.direct(&["token", "revoke", &there.id]).ok();
    within(SOON, "servers that have looked", || servers.iter().all(|server| !is_let_in(server, &there)).then_some(()));
    assert!(is_let_in(&servers[1], &admin));
}

#[test]
fn a_stream_ends_with_its_token() {
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
        assert!(stream.ends_within(SOON), "within seconds");
    }
    create(&mut servers[0].client(&admin), "not seen");
    assert_eq!((others.next().id, others.next().id), (1, 2), "the streams of others go on");
}

#[test]
fn an_archived_project_is_like_none_until_it_is_back() {
    let team = Team::on_postgres();
    team.project("web");
    team.project("ops");
    let (agent, operator) = (team.token("web", "agent"), team.operator());
    let servers = [team.serve(), team.serve()];
    create(&mut servers[0].client(&agent), "kept");
    let status = |server: &Server| server.client(&agent).get("/issues").status;
    assert_eq!((status(&servers[0]), status(&servers[1])), (200, 200));
    let stream = servers[1].client(&agent).ask("GET", "/events").events();
    servers[0].root(&operator).post("/projects/web/archive", &json!({})).ok();
    within(SOON, "servers that have heard", || servers.iter().all(|server| status(server) == 404).then_some(()));
    let archived = servers[1].client(&agent).get("/issues").refused(404, "not_found");
    let missing = Http::to(&servers[1].project_url("zzz")).token(&agent.secret).get("/issues").json();
    assert_eq!(archived.to_string().replace("web", "zzz"), missing.to_string());
    assert!(stream.ends_within(SOON), "and so do its streams");
    team.direct(&["project", "archive", "web", "--undo"]).ok();
    within(SOON, "servers that have looked", || servers.iter().all(|server| status(server) == 200).then_some(()));
    assert_eq!(servers[0].client(&agent).get("/issues").ok()[0]["title"], "kept");
}
