//! What a team server shows besides a project's daily pages: badges for everybody, tokens and audit for admins, all
//! projects for operators.

use pensa_testkit::Http;

use crate::fixture::{ServeProcess, Team, create};

/// A browser of somebody who logged in, and the hidden field of their forms.
fn log_in(server: &ServeProcess, secret: &str, page: &str) -> (Http, String) {
    let fields = [("token", secret), ("name", "ana")];
    let reply = server.anonymous().ask("POST", "/login").header("Origin", &server.process.url).form(&fields).reply();
    let cookie = reply.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie").to_owned();
    let mut http = server.anonymous().with("Cookie", &cookie).with("Origin", &server.process.url);
    let body = http.get(page).body;
    let csrf = body.split("name=\"csrf\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    (http, csrf.expect("a hidden field").to_owned())
}

#[test]
fn badges_need_no_token_where_they_are_public_and_are_not_there_elsewhere() {
    let team = Team::on_sqlite();
    team.project("web");
    let token = team.token("web", "agent");
    let (private, public) = (team.serve(), team.serve_with(&["--rate", "0", "--public-badges"]));
    create(&mut private.client(&token), "ready now");
    for path in ["/p/web/badge/ready.svg", "/p/web/chart/burndown.svg"] {
        private.anonymous().get(path).refused(404, "not_found");
        let shown = public.anonymous().get(path);
        assert_eq!((shown.status, shown.header("content-type")), (200, Some("image/svg+xml")), "{path}");
    }
    assert!(public.anonymous().get("/p/web/badge/ready.svg").body.contains("ready: 1"));
    public.anonymous().get("/p/other/badge/ready.svg").refused(404, "not_found");
    public.anonymous().get("/p/web/issues").refused(401, "unauthorized");
    team.direct(&["project", "archive", "web"]).ok();
    let again = team.serve_with(&["--rate", "0", "--public-badges"]);
    again.anonymous().get("/p/web/badge/ready.svg").refused(404, "not_found");
}

#[test]
fn admins_manage_the_tokens_of_their_project_only() {
    let team = Team::on_sqlite();
    team.project("web");
    team.project("other");
    let (admin, agent, foreign) =
        (team.token("web", "admin"), team.token("web", "agent"), team.token("other", "admin"));
    let server = team.serve();
    let (mut http, csrf) = log_in(&server, &admin.secret, "/p/web/ui/settings");
    let settings = http.get("/p/web/ui/settings").body;
    assert!(settings.contains(&agent.id) && settings.contains("Audit"), "{settings}");
    assert!(!settings.contains(&foreign.id) && !settings.contains("project.create"), "{settings}");
    let made = http.ask("POST", "/p/web/ui/do/token.create");
    let made = made.form(&[("project", "web"), ("role", "viewer"), ("expires", "1d"), ("csrf", &csrf)]).reply();
    assert_eq!(made.status, 200, "{}", made.body);
    assert!(made.body.contains("pensa_"), "the secret is shown once: {}", made.body);
    let revoked = http.ask("POST", "/p/web/ui/do/token.revoke").form(&[("id", &agent.id), ("csrf", &csrf)]).reply();
    assert_eq!(revoked.status, 303, "{}", revoked.body);
    server.client(&agent).get("/issues").refused(401, "unauthorized");
    let (mut http, _) = log_in(&server, &foreign.secret, "/p/other/ui/settings");
    assert!(!http.get("/p/other/ui/settings").body.contains(&admin.id));
}

#[test]
fn operators_see_all_projects_and_open_none() {
    let team = Team::on_sqlite();
    team.project("web");
    let (operator, agent) = (team.operator(), team.token("web", "agent"));
    let server = team.serve();
    let (mut http, csrf) = log_in(&server, &operator.secret, "/ui/settings");
    assert_eq!(http.get("/").header("location"), Some("/ui/settings"));
    let settings = http.get("/ui/settings").body;
    assert!(settings.contains(&agent.id) && settings.contains("/ui/do/project.create"), "{settings}");
    assert!(!settings.contains(">Board</a>"), "operators open no project");
    let made = http.ask("POST", "/ui/do/project.create").form(&[("name", "new"), ("csrf", &csrf)]).reply();
    assert_eq!(made.status, 303, "{}", made.body);
    assert!(http.get("/ui/settings").body.contains(">new</a>"));
    for path in ["/ui/board", "/ui/log", "/p/web/ui/board"] {
        assert_eq!(http.get(path).status, 404, "{path}");
    }
    let refused =
        http.ask("POST", "/ui/do/issue.create").form(&[("title", "x"), ("issue_type", "task"), ("csrf", &csrf)]);
    assert_eq!(refused.reply().status, 404);
    let forged = http.ask("POST", "/ui/do/project.archive").form(&[("name", "web"), ("csrf", "wrong")]);
    assert_eq!(forged.reply().status, 403);
}
