//! Tests operations over HTTP: how path, query and body become one input, and the responses.

use std::thread;

use crate::daemon::Daemon;
use serde_json::json;

#[test]
fn issue_can_be_created_claimed_closed_and_deleted_over_http() {
    let daemon = Daemon::start();
    let id = daemon.create("first");
    let claimed = daemon.json("PATCH", &format!("/issues/{id}"), r#"{"claim":true}"#);
    assert_eq!((claimed.status, &claimed.body["status"]), (200, &json!("in_progress")), "{claimed:?}");
    let comment = daemon.json("POST", &format!("/issues/{id}/comments"), r#"{"text":"half way"}"#);
    assert_eq!(comment.status, 201, "{comment:?}");
    let closed = daemon.send("POST", &format!("/issues/{id}/close"), &[], "");
    assert_eq!((closed.status, &closed.body["status"]), (200, &json!("closed")), "{closed:?}");
    let shown = daemon.get(&format!("/issues/{id}"));
    assert_eq!(shown.body["comments"][0]["text"], "half way", "{shown:?}");
    let deleted = daemon.send("DELETE", &format!("/issues/{id}?force=true"), &[], "");
    assert_eq!(deleted.body, json!({"status": "deleted", "id": id}));
    assert_eq!(daemon.get(&format!("/issues/{id}")).code(), "not_found");
}

#[test]
fn query_values_are_parsed_by_field_type() {
    let daemon = Daemon::start();
    for title in ["one", "two", "three"] {
        daemon.create(title);
    }
    for path in ["/issues?limit=2", "/issues?n=2&type=task", "/issues?issue_type=task&limit=2&status=open"] {
        let listed = daemon.get(path);
        assert_eq!(listed.body.as_array().map(Vec::len), Some(2), "{path} {listed:?}");
    }
    let found = daemon.get("/issues/search?q=t%77o");
    assert_eq!(found.body[0]["title"], "two", "{found:?}");
    for path in ["/issues/count?by_status=1", "/issues/count?by_type=true"] {
        assert_eq!(daemon.get(path).body["total"], 3, "{path}");
    }
    for (path, field) in [
        ("/issues?limit=many", "limit"),
        ("/issues?n=", "limit"),
        ("/issues/count?by_status=yes", "by_status"),
        ("/issues?colour=red", "colour"),
        ("/issues?limit=1&limit=2", "limit"),
        ("/issues?spec=%ff", "query"),
    ] {
        let refused = daemon.get(path);
        assert_eq!((refused.status, refused.code()), (400, "invalid_input"), "{path}");
        assert!(refused.body["error"].as_str().is_some_and(|text| text.contains(field)), "{path} {refused:?}");
    }
}

#[test]
fn repeated_keys_of_a_query_make_a_list() {
    let daemon = Daemon::start();
    let (a, b) = (daemon.create("a"), daemon.create("b"));
    let created = daemon.send("POST", &format!("/issues?title=c&type=task&deps={a}&dep={b}"), &[], "");
    assert_eq!(created.status, 201, "{created:?}");
    let deps = daemon.get(&format!("/issues/{}/deps", created.body["id"].as_str().expect("an id")));
    assert_eq!(deps.body.as_array().map(Vec::len), Some(2), "{deps:?}");
}

#[test]
fn repeated_field_must_have_the_same_value() {
    let daemon = Daemon::start();
    let id = daemon.create("first");
    let same = daemon.json("POST", &format!("/issues/{id}/close"), &format!(r#"{{"id":"{id}"}}"#));
    assert_eq!(same.status, 200, "{same:?}");
    for (method, path, body) in [
        ("POST", format!("/issues/{id}/close"), r#"{"id":"pn-00000000"}"#),
        ("PATCH", format!("/issues/{id}?title=x"), r#"{"title":"y"}"#),
        ("DELETE", format!("/issues/{id}?force=true"), r#"{"force":false}"#),
    ] {
        let refused = daemon.json(method, &path, body);
        assert_eq!((refused.status, refused.code()), (400, "invalid_input"), "{method} {path}");
    }
}

#[test]
fn delete_takes_its_fields_from_query_or_body() {
    let daemon = Daemon::start();
    let (a, b) = (daemon.create("a"), daemon.create("b"));
    let pair = format!(r#"{{"issue_id":"{a}","depends_on_id":"{b}"}}"#);
    for _ in 0..2 {
        assert_eq!(daemon.json("POST", "/deps", &pair).status, 201);
        let removed = daemon.json("DELETE", "/deps", &pair);
        assert_eq!((removed.status, &removed.body["status"]), (200, &json!("removed")), "{removed:?}");
        assert_eq!(daemon.json("POST", "/deps", &pair).status, 201);
        let removed = daemon.send("DELETE", &format!("/deps?issue_id={a}&depends_on_id={b}"), &[], "");
        assert_eq!((removed.status, &removed.body["status"]), (200, &json!("removed")), "{removed:?}");
    }
}

#[test]
fn invalid_bodies_are_refused() {
    let daemon = Daemon::start();
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_field = format!(r#"{{"operations":{deep}}}"#);
    for body in [
        "{",
        "null",
        "[]",
        "7",
        r#""text""#,
        "{}",
        r#"{"title":1,"issue_type":"task"}"#,
        &deep,
        "\u{0}",
        r#"{"title":"t","issue_type":"task","colour":"red"}"#,
        r#"{"title":"t","issue_type":"wish"}"#,
    ] {
        let refused = daemon.json("POST", "/issues", body);
        assert_eq!((refused.status, refused.code()), (400, "invalid_input"), "{}", &body[..body.len().min(60)]);
    }
    assert_eq!(daemon.json("POST", "/batch", &deep_field).code(), "invalid_input");
    assert_eq!(daemon.send("GET", "/issues", &[], r#"{"limit":1}"#).code(), "invalid_input");
    assert_eq!(daemon.get("/status").status, 200, "and the server lives on");
}

#[test]
fn a_path_is_percent_decoded() {
    let daemon = Daemon::start();
    let id = daemon.create("first");
    assert_eq!(daemon.get(&format!("/issues/{}", id.replace('-', "%2d"))).status, 200);
    let refused = daemon.get("/issues/%ff");
    assert_eq!((refused.status, refused.code()), (400, "invalid_input"), "{refused:?}");
}

#[test]
fn actor_comes_from_the_header() {
    let daemon = Daemon::start();
    let id = daemon.create("first");
    let claim = |actor: &[(&str, &str)]| {
        let headers = [&[("Content-Type", "application/json")], actor].concat();
        daemon.send("PATCH", &format!("/issues/{id}"), &headers, r#"{"claim":true}"#)
    };
    assert_eq!(claim(&[("Pensa-Actor", "J%C3%BCrgen%20%E6%9D%8E")]).body["assignee"], "Jürgen 李");
    assert_eq!(claim(&[("Pensa-Actor", "other")]).code(), "already_claimed");
    for bad in ["%", "%ff", "%1b", "%20"] {
        assert_eq!(claim(&[("Pensa-Actor", bad)]).code(), "invalid_input", "{bad}");
    }
    assert_eq!(daemon.send("POST", &format!("/issues/{id}/release"), &[], "").status, 200);
    assert_eq!(claim(&[]).body["assignee"], "unknown");
}

#[test]
fn client_and_server_compare_version_and_store() {
    let daemon = Daemon::start();
    let answer = daemon.get("/daemon");
    assert_eq!(answer.header("pensa-version"), Some(pensa_core::VERSION));
    assert_eq!(answer.header("pensa-store"), Some(daemon.store_id.as_str()));
    let with = |name: &str, value: &str| daemon.send("GET", "/daemon", &[(name, value)], "");
    assert_eq!(with("Pensa-Store", &daemon.store_id).status, 200);
    assert_eq!(with("Pensa-Version", pensa_core::VERSION).status, 200);
    let wrong = with("Pensa-Store", "another");
    assert_eq!((wrong.status, wrong.code()), (421, "wrong_store"));
    assert_eq!(wrong.header("pensa-store"), Some(daemon.store_id.as_str()), "errors have the header too");
    let old = with("Pensa-Version", "999.0.0");
    assert_eq!((old.status, old.code()), (409, "conflict"));
    assert!(old.body["hint"].as_str().is_some_and(|hint| hint.contains("update")), "{old:?}");
}

#[test]
fn unknown_paths_and_wrong_methods_get_json_errors() {
    let daemon = Daemon::start();
    for path in ["/nowhere", "/uix", "/issues/", "/issues/a/b/c", "//issues"] {
        let answer = daemon.get(path);
        assert_eq!((answer.status, answer.code()), (404, "not_found"), "{path}");
    }
    let answer = daemon.json("PUT", "/issues", "{}");
    assert_eq!((answer.status, answer.code()), (405, "unsupported"));
    let allowed = answer.header("allow").expect("an Allow header");
    assert!(allowed.contains("GET") && allowed.contains("POST"), "{allowed}");
    assert_eq!(daemon.send("DELETE", "/openapi.json", &[], "").status, 405);
}

#[test]
fn connection_is_reused_for_many_requests() {
    let daemon = Daemon::start();
    let id = daemon.create("first");
    let mut connection = daemon.connect();
    for _ in 0..50 {
        assert_eq!(connection.send("GET", &format!("/issues/{id}"), &[], "").status, 200);
        assert_eq!(connection.send("GET", "/issues/none", &[], "").status, 404);
    }
}

#[test]
fn only_one_of_many_concurrent_claims_succeeds() {
    let daemon = Daemon::start();
    let id = daemon.create("wanted");
    let claim = |actor: usize| {
        let headers = [("Content-Type", "application/json"), ("Pensa-Actor", &format!("agent-{actor}"))];
        daemon.send("PATCH", &format!("/issues/{id}"), &headers, r#"{"claim":true}"#).status
    };
    let statuses: Vec<u16> = thread::scope(|scope| {
        let claims: Vec<_> = (0..16).map(|actor| scope.spawn(move || claim(actor))).collect();
        claims.into_iter().map(|claim| claim.join().expect("an answer")).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 15, "{statuses:?}");
}
