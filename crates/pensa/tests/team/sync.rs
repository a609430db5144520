//! Syncing with and between servers of a team: what each role may, and what two servers exchange.

use pensa_testkit::Sandbox;
use serde_json::json;

use crate::setting::{Server, Team, Token, create, elements, text, titles};

fn store(server: &Server, token: &Token) -> Sandbox {
    let store = Sandbox::with_store(crate::PN);
    join(&store, "home", server, token);
    store
}

fn join(machine: &Sandbox, name: &str, server: &Server, token: &Token) {
    let url = server.project_url(&token.project);
    machine.pn(["remote", "add", name, &url, "--token-stdin"]).stdin(token.secret.clone()).ok();
}

fn each_role_may_what_it_may_without_a_store_of_its_own(team: &Team) {
    team.project("web");
    let server = team.serve();
    let admin = team.token("web", "admin");
    let issue = create(&mut server.client(&admin), "shared");
    let viewer = store(&server, &team.token("web", "viewer"));
    viewer.pn(["create", "not for all", "-t", "task"]).ok();
    viewer.pn(["sync"]).fails("forbidden");
    assert_eq!(viewer.pn(["list"]).ok_json().as_array().map(Vec::len), Some(2), "it may look");
    let agent = store(&server, &team.token("web", "agent"));
    agent.pn(["sync"]).ok();
    agent.pn(["create", "an agent's", "-t", "task"]).ok();
    agent.pn(["delete", &issue]).ok();
    let done = agent.pn(["sync"]).ok_json();
    assert_eq!((&done["pushed"], &done["held"]), (&json!(1), &json!(1)), "{done}");
    assert!(text(&done["notes"][0]).contains("maintainer"), "{done}");
    let there = titles(&server.client(&admin).get("/issues").ok());
    assert_eq!(there, ["shared", "an agent's"]);
    let waiting = agent.pn(["sync", "status", "home"]).ok_json();
    assert_eq!(waiting["held"], 1, "it goes on waiting: {waiting}");
    agent.pn(["remote", "remove", "home"]).ok();
    join(&agent, "home", &server, &team.token("web", "maintainer"));
    assert_eq!(agent.pn(["sync"]).ok_json()["held"], 0);
    assert_eq!(titles(&server.client(&admin).get("/issues").ok()), ["an agent's"]);
    let stranger = Sandbox::with_store(crate::PN);
    let url = server.project_url("web");
    stranger.pn(["remote", "add", "home", &url, "--no-token"]).ok();
    stranger.pn(["sync"]).fails("unauthorized");
    stranger.pn(["sync"]).env("PN_TOKEN", &admin.secret).ok();
}

#[test]
fn each_role_may_what_it_may_without_a_store_of_its_own_on_sqlite() {
    each_role_may_what_it_may_without_a_store_of_its_own(&Team::on_sqlite());
}

#[test]
fn each_role_may_what_it_may_without_a_store_of_its_own_on_postgres() {
    each_role_may_what_it_may_without_a_store_of_its_own(&Team::on_postgres());
}

#[test]
fn two_servers_exchange_their_changes_by_the_same_command() {
    let teams = [Team::on_sqlite(), Team::on_postgres()];
    let machine = Sandbox::bare(crate::PN);
    let sides: Vec<(Server, Token)> = teams
        .iter()
        .map(|team| {
            team.project("web");
            (team.serve(), team.token("web", "maintainer"))
        })
        .collect();
    for (name, (server, token)) in ["here", "there"].iter().zip(&sides) {
        join(&machine, name, server, token);
    }
    let made: Vec<String> = sides
        .iter()
        .zip(["one", "two"])
        .map(|((server, token), title)| create(&mut server.client(token), title))
        .collect();
    let done = machine.pn(["--remote-server", "here", "sync", "there"]).ok_json();
    assert_eq!((&done["pulled"], &done["pushed"]), (&json!(1), &json!(1)), "{done}");
    for (server, token) in &sides {
        let mut http = server.client(token);
        let mut both = titles(&http.get("/issues").ok());
        both.sort();
        assert_eq!(both, ["one", "two"]);
        http.post(&format!("/issues/{}/comments", made[1]), &json!({"text": "said"})).ok();
    }
    machine.pn(["--remote-server", "here", "sync", "there"]).ok();
    for (server, token) in &sides {
        let shown = server.client(token).get(&format!("/issues/{}", made[1])).ok();
        assert_eq!(elements(&shown["comments"]).len(), 2);
    }
    let status = machine.pn(["--remote-server", "here", "sync", "status", "there"]).ok_json();
    assert_eq!(status["events"], json!([]), "{status}");
    machine.pn(["--remote-server", "here", "sync", "here"]).fails("invalid_input");
}
