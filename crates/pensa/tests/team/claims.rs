//! Tests that each claim has exactly one winner when many clients of two servers compete.

use std::collections::HashMap;
use std::thread;

use pensa_testkit::Http;
use serde_json::json;

use crate::fixture::{Team, create_all, elements, text};

const ISSUES: usize = 2000;
const CLIENTS: usize = 32;
/// Issues that all clients claim; each other issue is claimed by two clients, one per server.
const CONTESTED_BY_ALL: usize = 48;
const GROUPS: usize = CLIENTS / 2;

/// The issues that a client claims, in order: first the contested ones, in the same order for all. Of the two clients
/// that share the rest, one starts at the other end, so that each wins some.
fn claim_order(client: usize) -> Vec<usize> {
    let mut of_two: Vec<usize> = (CONTESTED_BY_ALL..ISSUES).filter(|issue| issue % GROUPS == client / 2).collect();
    if client % 2 == 1 {
        of_two.reverse();
    }
    (0..CONTESTED_BY_ALL).chain(of_two).collect()
}

/// Tries to claim all issues. Returns the ids that were won.
fn claim_all(http: &mut Http, name: &str, claim_order: impl Iterator<Item = String>) -> Vec<String> {
    let mut won = Vec::new();
    for id in claim_order {
        let claim = http.ask("PATCH", &format!("/issues/{id}")).header("Pensa-Actor", name);
        let claim = claim.body(&json!({"claim": true})).reply();
        match claim.status {
            200 => won.push(id),
            _ => drop(claim.refused(409, "already_claimed")),
        }
    }
    won
}

#[test]
fn each_of_two_thousand_claims_has_one_winner_among_clients_of_two_servers() {
    let team = Team::on_postgres();
    team.project("web");
    let token = team.token("web", "agent");
    let servers =
        [team.serve_with(&["--rate", "0", "--log", "error"]), team.serve_with(&["--rate", "0", "--log", "error"])];
    let created = create_all(&mut servers[0].client(&token), (0..ISSUES).map(|at| format!("wanted {at}")));
    let won: Vec<(String, Vec<String>)> = thread::scope(|scope| {
        let created = &created;
        let clients: Vec<_> = (0..CLIENTS)
            .map(|at| {
                let mut http = servers[at % 2].client(&token);
                scope.spawn(move || {
                    let claim_order = claim_order(at).into_iter().map(|issue| created[issue].clone());
                    let name = format!("client-{at}");
                    let won = claim_all(&mut http, &name, claim_order);
                    (name, won)
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().expect("a client that meets no failure")).collect()
    });
    let mut holders: HashMap<&str, &str> = HashMap::new();
    for (name, ids) in &won {
        for id in ids {
            assert_eq!(holders.insert(id, name), None, "{id} was given to two");
        }
    }
    assert_eq!(holders.len(), ISSUES, "every claim was won");
    assert!(created.iter().all(|id| holders.contains_key(id.as_str())));
    assert_eq!(servers[0].client(&token).get("/issues/ready").ok(), json!([]), "nothing is left");
    let listed = servers[1].client(&token).get("/issues").ok();
    assert_eq!(elements(&listed).len(), ISSUES);
    for issue in elements(&listed) {
        assert_eq!(issue["status"], "in_progress");
        assert_eq!(issue["assignee"], holders[text(&issue["id"]).as_str()], "{issue}");
    }
    let claims = "SELECT count(*), count(DISTINCT subject_id) FROM pensa.events WHERE event_type = 'claimed'";
    assert_eq!(team.database().psql(claims), format!("{ISSUES}|{ISSUES}"));
    for half in 0..2 {
        let of_half: usize = won.iter().skip(half).step_by(2).map(|(_, ids)| ids.len()).sum();
        assert!(of_half > 0, "both servers gave some");
    }
}
