//! The pages of a team server: sessions, and what each role may do with every form.

use std::time::Duration;

use pensa_testkit::{Http, Reply, within};
use serde_json::json;

use crate::fixture::{ProjectToken, ROLES, ServeProcess, Team, create};
use crate::on_both_databases;

on_both_databases!(sessions_end_with_their_token_and_by_logging_out,);

/// How long a session may outlive its token.
const MAX_DELAY: Duration = Duration::from_secs(3);

/// A browser of somebody who logged in.
struct Visitor {
    http: Http,
    cookie: String,
    csrf: String,
}

fn log_in(server: &ServeProcess, secret: &str, name: &str) -> Reply {
    let mut http = server.anonymous();
    http.ask("POST", "/login").header("Origin", &server.process.url).form(&[("token", secret), ("name", name)]).reply()
}

#[track_caller]
fn visitor(server: &ServeProcess, token: &ProjectToken, name: &str) -> Visitor {
    let reply = log_in(server, &token.secret, name);
    assert_eq!(reply.status, 303, "{reply:?}");
    let cookie = reply.header("set-cookie").expect("a cookie");
    assert!(!cookie.contains(&token.secret) && cookie.contains("HttpOnly; SameSite=Strict"), "{cookie}");
    let cookie = cookie.split(';').next().expect("a value").to_owned();
    let mut http = server.anonymous().with("Cookie", &cookie).with("Origin", &server.process.url);
    let board = http.get(&format!("/p/{}/ui/board", token.project));
    assert_eq!(board.status, 200, "{board:?}");
    let csrf = attribute(board.body.split("name=\"csrf\"").nth(1).expect("a hidden field"), "value");
    Visitor { http, cookie, csrf }
}

/// The value of the first such attribute in the text.
fn attribute(text: &str, name: &str) -> String {
    let rest = text.split(&format!("{name}=\"")).nth(1).expect("an attribute");
    rest.split('"').next().expect("a value").to_owned()
}

fn sessions_end_with_their_token_and_by_logging_out(team: Team) {
    team.project("web");
    let (one, other) = (team.token("web", "agent"), team.token("web", "agent"));
    let server = team.serve();
    assert_eq!(log_in(&server, "pensa_wrong", "ana").status, 401);
    let foreign = server.anonymous().ask("POST", "/login").header("Origin", "http://evil.test").form(&[]).reply();
    assert_eq!(foreign.status, 403, "nobody is logged in by another site");
    let mut ana = visitor(&server, &one, "ana");
    let ben = visitor(&server, &other, "");
    let forged = ana.http.ask("POST", "/p/web/ui/do/issue.create");
    let forged = forged.form(&[("title", "x"), ("issue_type", "task"), ("csrf", &ben.csrf)]).reply();
    assert_eq!(forged.status, 403, "the field is that of another session");
    let made = ana.http.ask("POST", "/p/web/ui/do/issue.create");
    made.form(&[("title", "x"), ("issue_type", "task"), ("csrf", &ana.csrf)]).reply();
    let log = server.client(&one).get("/log").ok();
    assert_eq!(log["events"][0]["actor"], "ana", "{log}");
    assert_eq!(ana.http.get("/p/web/issues").status, 401, "the cookie is for pages only");
    assert_eq!(ana.http.get("/p/other/ui/board").status, 404);
    // A session goes on after a restart, at another server, and until its token is revoked.
    drop(server);
    let server = team.serve();
    let (first, second) = (ana.cookie, ben.cookie);
    let status =
        |cookie: &str| server.anonymous().ask("GET", "/p/web/ui/board").header("Cookie", cookie).reply().status;
    assert_eq!((status(&first), status(&second)), (200, 200));
    let stream = server.anonymous().ask("GET", "/p/web/ui/events?after=0").header("Cookie", &first).events();
    while stream.next().name != "presence" {}
    team.direct(&["token", "revoke", &one.id]).ok();
    within(MAX_DELAY, "the end of a session with its token", || (status(&first) == 401).then_some(()));
    assert!(stream.ends_within(MAX_DELAY), "and of its stream");
    let leave = |csrf: &str| {
        let mut http = server.anonymous();
        let ask = http.ask("POST", "/ui/logout").header("Cookie", &second).header("Origin", &server.process.url);
        ask.form(&[("csrf", csrf)]).reply().status
    };
    assert_eq!((leave("wrong"), status(&second)), (403, 200));
    assert_eq!((leave(&ben.csrf), status(&second)), (303, 401));
}

/// A form of a page: where it posts to, and its fields with the values that they have.
#[derive(Debug, Clone, PartialEq)]
struct PageForm {
    action: String,
    fields: Vec<(String, String)>,
}

/// The forms of a page that change something.
fn forms(page: &str) -> Vec<PageForm> {
    let parts = page.split("<form ").skip(1).filter_map(|part| {
        let (form, _) = part.split_once("</form>")?;
        let (head, body) = form.split_once('>')?;
        head.contains("method=\"post\"").then(|| PageForm { action: attribute(head, "action"), fields: fields(body) })
    });
    parts.filter(|form| !form.action.ends_with("/logout")).collect()
}

fn fields(form: &str) -> Vec<(String, String)> {
    let tags = form.split('<').skip(1).filter(|tag| tag.contains("name=\""));
    let value = |tag: &str, name: &str| match tag.contains(&format!("{name}=\"")) {
        true => attribute(tag, name),
        false => String::new(),
    };
    tags.map(|tag| (value(tag, "name"), value(tag, "value"))).collect()
}

/// Fills the fields that a person would fill.
fn filled(form: &PageForm, csrf: &str, id: &str, other: &str) -> Vec<(String, String)> {
    let value = |name: &str, value: &str| match name {
        "csrf" => csrf.to_owned(),
        "title" | "text" | "acceptance" | "description" | "reason" => format!("{value} typed"),
        "issue_type" => "task".to_owned(),
        "priority" => "p1".to_owned(),
        "depends_on_id" | "to" if value.is_empty() => other.to_owned(),
        "kind" if value.is_empty() => "relates".to_owned(),
        "name" if value.is_empty() => "mine".to_owned(),
        "step" => String::new(),
        _ => value.to_owned(),
    };
    let mut fields: Vec<_> = form.fields.iter().map(|(name, given)| (name.clone(), value(name, given))).collect();
    if form.action.ends_with("/move") {
        fields.push(("move".into(), format!("{id} in_progress")));
    }
    if form.action.ends_with("/bulk") {
        fields.push(("id".into(), id.to_owned()));
    }
    fields
}

#[test]
fn every_form_of_every_page_is_refused_to_those_who_are_not_shown_it() {
    let team = Team::on_sqlite();
    team.project("web");
    let server = team.serve();
    let tokens = ROLES.map(|role| team.token("web", role));
    let mut api = server.client(&tokens[3]);
    let prepared = |api: &mut Http| {
        let (id, other) = (create(api, "one"), create(api, "other"));
        let waits = create(api, "waits");
        api.post("/deps", &json!({"issue_id": id, "depends_on_id": waits})).ok();
        api.post(&format!("/issues/{id}/links"), &json!({"to": waits})).ok();
        api.ask("PATCH", &format!("/issues/{id}")).body(&json!({"acceptance": ["met"]})).reply().ok();
        (id, other)
    };
    api.post("/views", &json!({"name": "kept", "query": "p0"})).ok();
    let (seen, _) = prepared(&mut api);
    let closed = create(&mut api, "closed");
    api.post(&format!("/issues/{closed}/close"), &json!({})).ok();
    api.post("/learnings", &json!({"text": "kept"})).ok();
    // Forms of the log and the settings, which would end the walk, have tests of their own.
    let issues = [format!("issues/{seen}"), format!("issues/{closed}")];
    let others = ["board", "board?q=p1", "list", "graph", "agents", "memory", "releases"];
    let pages: Vec<&str> = issues.iter().map(String::as_str).chain(others).collect();
    let forms_of = |visitor: &mut Visitor| -> Vec<PageForm> {
        pages.iter().flat_map(|page| forms(&visitor.http.get(&format!("/p/web/ui/{page}")).body)).collect()
    };
    let shown: Vec<Vec<PageForm>> =
        tokens.iter().map(|token| forms_of(&mut visitor(&server, token, "walker"))).collect();
    assert!(shown[0].is_empty(), "a viewer is shown no forms: {:?}", shown[0]);
    assert!(shown[1].len() > 15 && shown[2].len() > shown[1].len(), "{} and {}", shown[1].len(), shown[2].len());
    let actions = |role: usize| shown[role].iter().map(|form| form.action.as_str()).collect::<Vec<_>>();
    for form in &shown[3] {
        for (role, token) in tokens.iter().enumerate() {
            let mut visitor = visitor(&server, token, "walker");
            let end = server.client(&tokens[3]).get("/log?limit=1").ok()["end"].clone();
            let (id, other) = (seen.clone(), closed.clone());
            let fields = filled(form, &visitor.csrf, &id, &other);
            let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let reply = visitor.http.ask("POST", &form.action).form(&fields).reply();
            let is_shown = actions(role).contains(&form.action.as_str());
            let (role, action) = (ROLES[role], &form.action);
            match is_shown {
                // What was already done by an earlier role is refused for another reason.
                true => assert_ne!(reply.status, 403, "{role} {action}: {}", reply.body),
                false => {
                    assert_eq!(reply.status, 403, "{role} {action}: {}", reply.body);
                    assert_eq!(server.client(&tokens[3]).get("/log?limit=1").ok()["end"], end, "{role} {action}");
                }
            }
            assert!(reply.status < 500, "{role} {action}: {}", reply.body);
        }
    }
}
