//! Tests that a change with an idempotency key is made once, and that no secret is stored.

use std::thread;

use pensa_testkit::{Http, Reply, Sandbox};
use serde_json::{Value, json};

use crate::fixture::{Team, create, task, titles};

fn post(http: &mut Http, key: &str, path: &str, body: &Value) -> Reply {
    http.ask("POST", path).header("Idempotency-Key", key).body(body).reply()
}

/// Tests one store; `same` and `again` are clients with the same rights.
fn a_key_makes_a_change_once(same: &mut Http, again: &mut Http) {
    let first = post(same, "one", "/issues", &task("a"));
    assert_eq!(first.status, 201);
    let second = post(again, "one", "/issues", &task("a"));
    assert_eq!((second.status, &second.body), (201, &first.body), "the same answer, letter by letter");
    let reordered = json!({"issue_type": "task", "title": "a"});
    assert!([201, 409].contains(&post(same, "one", "/issues", &reordered).status));
    post(same, "one", "/issues", &task("b")).refused(409, "conflict");
    let id = first.json()["id"].as_str().expect("an id").to_owned();
    post(same, "one", &format!("/issues/{id}/close"), &json!({})).refused(409, "conflict");
    let other_actor = same.ask("POST", "/issues").header("Idempotency-Key", "one").header("Pensa-Actor", "zoe");
    other_actor.body(&task("a")).reply().refused(409, "conflict");
    assert_eq!(titles(&same.get("/issues").ok()), ["a"]);
    assert_eq!(post(same, "two", "/issues", &task("a")).status, 201, "another key is another change");
    let comment = json!({"text": "said"});
    let said = post(same, "said", &format!("/issues/{id}/comments"), &comment).ok();
    assert_eq!(post(again, "said", &format!("/issues/{id}/comments"), &comment).ok(), said);
    let shown = same.get(&format!("/issues/{id}/comments")).ok();
    assert_eq!(shown, json!([said]));
    for bad in ["", "two words", &"x".repeat(256), "caf\u{e9}"] {
        let reply = post(same, bad, "/issues", &task("never"));
        assert_eq!(reply.status, 400, "{bad:?}: {reply:?}");
    }
    post(same, "refused", "/issues", &json!({"title": ""})).refused(400, "invalid_input");
    assert_eq!(post(same, "refused", "/issues", &task("c")).status, 201, "what was refused was not done");
    assert_eq!(same.ask("GET", "/issues").header("Idempotency-Key", "one").reply().status, 200, "reads need none");
}

#[test]
fn a_key_makes_a_change_once_through_every_server() {
    let team = Team::on_postgres();
    team.project("web");
    let token = team.token("web", "agent");
    let servers = [team.serve(), team.serve()];
    a_key_makes_a_change_once(&mut servers[0].client(&token), &mut servers[1].client(&token));
}

#[test]
fn a_key_makes_a_change_once_in_a_directory() {
    let team = Team::on_sqlite();
    team.project("web");
    let token = team.token("web", "agent");
    let server = team.serve();
    a_key_makes_a_change_once(&mut server.client(&token), &mut server.client(&token));
}

#[test]
fn a_key_makes_a_change_once_through_the_daemon() {
    let pn = Sandbox::with_store(crate::PN);
    let daemon = pn.daemon();
    a_key_makes_a_change_once(&mut Http::to(&daemon.url), &mut Http::to(&daemon.url));
}

#[test]
fn concurrent_requests_with_one_key_make_one_change_and_get_the_same_response() {
    let team = Team::on_postgres();
    team.project("web");
    let token = team.token("web", "agent");
    let servers = [team.serve(), team.serve()];
    for round in 0..5 {
        let answers: Vec<Reply> = thread::scope(|scope| {
            let askers: Vec<_> = (0..8)
                .map(|at| {
                    let mut http = servers[at % 2].client(&token);
                    scope.spawn(move || post(&mut http, &format!("k{round}"), "/issues", &task(&format!("t{round}"))))
                })
                .collect();
            askers.into_iter().map(|asker| asker.join().expect("an answer")).collect()
        });
        assert!(answers.iter().all(|reply| reply.status == 201 && reply.body == answers[0].body), "{answers:?}");
    }
    assert_eq!(titles(&servers[0].client(&token).get("/issues?sort=title").ok()), ["t0", "t1", "t2", "t3", "t4"]);
}

#[test]
fn idempotency_keys_are_separate_per_token_and_project() {
    let team = Team::on_postgres();
    team.project("web");
    team.project("api");
    let tokens = [team.token("web", "agent"), team.token("web", "agent"), team.token("api", "agent")];
    let server = team.serve();
    let ids: Vec<Value> = tokens
        .iter()
        .map(|token| post(&mut server.client(token), "same", "/issues", &task("a")).ok()["id"].clone())
        .collect();
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "{ids:?}");
    assert_eq!(titles(&server.client(&tokens[0]).get("/issues").ok()), ["a", "a"]);
}

#[test]
fn token_secret_is_returned_once_and_stored_nowhere() {
    let team = Team::on_postgres();
    team.project("web");
    let admin = team.token("web", "admin");
    let server = team.serve();
    let mut root = server.root(&admin);
    let request = json!({"project": "web", "role": "agent", "expires": "1h"});
    let made = post(&mut root, "token", "/tokens", &request).ok();
    let again = post(&mut root, "token", "/tokens", &request);
    let error = again.refused(409, "conflict");
    assert!(!again.body.contains("pensa_"), "{error}");
    create(&mut server.client(&admin), "something");
    let listed = root.get("/tokens?all=true").ok();
    assert_eq!(listed.as_array().map(Vec::len), Some(2), "made once: {listed}");
    let tables = team.database().psql("SELECT tablename FROM pg_tables WHERE schemaname = 'pensa'");
    let rows: String = tables
        .lines()
        .map(|table| team.database().psql(&format!("SELECT row_to_json(t) FROM pensa.{table} t")))
        .collect();
    let audit = root.get("/audit").body;
    let metrics = server.anonymous().get("/metrics").body;
    let secrets = [crate::fixture::text(&made["token"]), admin.secret];
    for secret in &secrets {
        assert!(secret.starts_with("pensa_") && secret.len() >= 6 + 43, "hard to guess, easy to recognise");
        for place in [&rows, &audit, &metrics, &server.log(), &listed.to_string()] {
            assert!(!place.contains(&secret[6..]), "a secret was kept");
        }
    }
    let hashes = team.database().psql("SELECT count(*) FROM pensa.tokens WHERE hash ~ '^[0-9a-f]{64}$'");
    assert_eq!(hashes, "2");
}
