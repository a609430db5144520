//! Tests that batched and cached reads of issues return the same as single, uncached reads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use pensa_testkit::Http;
use serde_json::json;

use crate::fixture::{Team, create_all};

const ISSUES: usize = 40;
const CLIENTS: usize = 16;
const ROUNDS: usize = 25;

/// Requested id, status and body.
type IssueResponse = (String, u16, String);

fn ask(http: &mut Http, id: &str) -> IssueResponse {
    let reply = http.ask("GET", &format!("/issues/{id}")).reply();
    (id.to_owned(), reply.status, reply.body)
}

/// Creates issues with dependencies of several priorities, and comments on some of them.
fn graph(http: &mut Http) -> Vec<String> {
    let created = create_all(http, (0..ISSUES).map(|at| format!("an issue among others, number {at}")));
    for (at, id) in created.iter().enumerate().skip(1) {
        let priority = json!({"priority": format!("p{}", (at * 7) % 4)});
        assert_eq!(http.ask("PATCH", &format!("/issues/{id}")).body(&priority).reply().status, 200);
        for parent in (1..at).filter(|parent| (at + parent) % 5 == 0) {
            let dep = json!({"issue_id": id, "depends_on_id": created[parent]});
            assert_eq!(http.ask("POST", "/deps").body(&dep).reply().status, 201);
        }
        for said in 0..at % 4 {
            let comment = json!({"text": format!("said {said} about {at}")});
            assert_eq!(http.ask("POST", &format!("/issues/{id}/comments")).body(&comment).reply().status, 201);
        }
    }
    created
}

#[test]
fn concurrent_reads_of_issues_return_the_same_as_single_reads() {
    assert_same_as_single_reads(|_, _| {});
}

#[test]
fn unreadable_row_fails_only_requests_for_it() {
    assert_same_as_single_reads(|team, created| {
        // An invalid timestamp, which Pensa itself never writes.
        let sql = format!("UPDATE pensa.comments SET created_at = 'long ago' WHERE issue_id = '{}'", created[7]);
        team.database().psql(&sql);
    });
}

fn assert_same_as_single_reads(damage: impl Fn(&Team, &[String])) {
    let team = Team::on_postgres();
    team.project("web");
    let token = team.token("web", "agent");
    let server = team.serve_with(&["--rate", "0", "--log", "error"]);
    let mut http = server.client(&token);
    let created = graph(&mut http);
    damage(&team, &created);
    // The first issue changes all the time, which invalidates cached responses; the other issues do not depend on
    // it.
    let (changing, others) = created.split_first().expect("issues");
    let prefixes = others.iter().map(|id| id.trim_start_matches("pn-").to_owned());
    let strange = ["pn-", "pn-00000000x", "%20", "p", "@name"].map(str::to_owned);
    let requested: Vec<String> = others.iter().cloned().chain(prefixes).chain(strange).collect();
    let single_reads: Vec<IssueResponse> = requested.iter().map(|id| ask(&mut http, id)).collect();
    assert!(single_reads.iter().any(|(_, status, body)| *status == 200 && body.contains("said 2")), "{single_reads:?}");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut http = server.client(&token);
            for priority in ["p0", "p1"].iter().cycle().take_while(|_| !done.load(Ordering::Relaxed)) {
                let change = json!({"priority": priority});
                assert_eq!(http.ask("PATCH", &format!("/issues/{changing}")).body(&change).reply().status, 200);
                assert_eq!(http.ask("POST", "/undo").body(&json!({})).reply().status, 200);
            }
        });
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (mut http, single_reads) = (server.client(&token), &single_reads);
                scope.spawn(move || {
                    for at in (0..ROUNDS * CLIENTS).map(|at| (at * 17 + client * 5) % single_reads.len()) {
                        assert_eq!(ask(&mut http, &single_reads[at].0), single_reads[at]);
                    }
                })
            })
            .collect();
        let failed = clients.into_iter().filter_map(|client| client.join().err()).next();
        done.store(true, Ordering::Relaxed);
        if let Some(panic) = failed {
            std::panic::resume_unwind(panic);
        }
    });
}

#[test]
fn cached_issue_responses_reflect_every_change() {
    let team = Team::on_postgres();
    team.project("web");
    let token = team.token("web", "maintainer");
    let server = team.serve_with(&["--rate", "0", "--log", "error"]);
    let other = team.serve_with(&["--rate", "0", "--log", "error"]);
    let (mut http, mut elsewhere) = (server.client(&token), other.client(&token));
    let created = create_all(&mut http, (0..4).map(|at| format!("an issue that is told of, number {at}")));
    let [child, parent, bystander, gone] = &created[..] else { panic!("four issues") };
    for depends_on in [parent, gone] {
        let dep = json!({"issue_id": child, "depends_on_id": depends_on});
        assert_eq!(http.ask("POST", "/deps").body(&dep).reply().status, 201);
    }
    let issue = |id: &str| format!("/issues/{id}");
    let steps = [
        ("PATCH", issue(child), json!({"title": "another title of the child"})),
        ("PATCH", issue(parent), json!({"priority": "p0"})),
        ("PATCH", issue(bystander), json!({"description": "nobody else tells of this"})),
        ("POST", issue(child) + "/comments", json!({"text": "said about the child"})),
        ("POST", "/agents".into(), json!({"type": "user", "name": "somebody"})),
        ("PATCH", issue(parent), json!({"claim": true, "ttl": "1h"})),
        ("POST", issue(parent) + "/close", json!({"reason": "done"})),
        ("POST", issue(parent) + "/reopen", json!({})),
        ("DELETE", format!("/deps?issue_id={child}&depends_on_id={parent}"), json!(null)),
        ("POST", "/undo".into(), json!({})),
        ("DELETE", issue(gone) + "?force=true", json!(null)),
        ("POST", "/issues".into(), json!({"title": "a new one", "issue_type": "task", "deps": [parent]})),
    ];
    for (at, (method, path, body)) in steps.into_iter().enumerate() {
        for id in [child, parent, bystander] {
            ask(&mut http, id);
        }
        // Through either server.
        let by = if at % 2 == 0 { &mut elsewhere } else { &mut http };
        let asked = by.ask(method, &path);
        let reply = if body.is_null() { asked.reply() } else { asked.body(&body).reply() };
        assert!((200..300).contains(&reply.status), "{method} {path}: {} {}", reply.status, reply.body);
        // A new server has nothing cached.
        let fresh = team.serve_with(&["--rate", "0", "--log", "error"]);
        let mut fresh = fresh.client(&token);
        for id in [child, parent, bystander] {
            assert_eq!(ask(&mut http, id), ask(&mut fresh, id), "{id} after {method} {path}");
        }
    }
}
