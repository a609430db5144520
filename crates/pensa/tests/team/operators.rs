//! Tests what admins may do in their own project, and what operators may do on the server.

use serde_json::{Value, json};

use crate::fixture::{ProjectToken, ServeProcess, Team, create, elements, text};

/// Two projects, each with an admin, and an operator of the server.
struct TwoAdmins {
    team: Team,
    server: ServeProcess,
    web: ProjectToken,
    api: ProjectToken,
    operator: ProjectToken,
}

impl TwoAdmins {
    fn on(team: Team) -> Self {
        let [web, api] = ["web", "api"].map(|name| {
            team.project(name);
            team.token(name, "admin")
        });
        let operator = team.operator();
        let server = team.serve();
        create(&mut server.client(&api), "a secret of api");
        Self { team, server, web, api, operator }
    }

    /// All projects, tokens and audit entries of the server.
    fn all(&self) -> Vec<Value> {
        let all: [&[&str]; 3] = [&["project", "list", "--all"], &["token", "list", "--all"], &["audit"]];
        all.into_iter().map(|args| self.team.direct(args).ok_json()).collect()
    }
}

fn admin_manages_tokens_and_reads_the_audit_of_its_own_project_only(team: Team) {
    let roles = TwoAdmins::on(team);
    // At the server's root and at the project's URL.
    for mut admin in [roles.server.root(&roles.web), roles.server.client(&roles.web)] {
        let before = roles.all();
        for refused in [
            admin.post("/projects", &json!({"name": "new"})),
            admin.post("/projects/web/archive", &json!({})),
            admin.post("/projects/api/archive", &json!({})),
            admin.post("/tokens", &json!({"operator": true})),
        ] {
            refused.refused(403, "forbidden");
        }
        // Foreign entities look like missing ones.
        for (theirs, none) in [
            (
                admin.post("/tokens", &json!({"project": "api", "role": "viewer"})),
                admin.post("/tokens", &json!({"project": "zzz", "role": "viewer"})),
            ),
            (admin.get("/tokens?project=api"), admin.get("/tokens?project=zzz")),
            (admin.get("/audit?project=api"), admin.get("/audit?project=zzz")),
        ] {
            theirs.refused(404, "not_found");
            assert_eq!(theirs.body.replace("api", "zzz"), none.body);
        }
        for token in [&roles.api, &roles.operator] {
            admin.post(&format!("/tokens/{}/revoke", token.id), &json!({})).refused(404, "not_found");
        }
        for wrong in [
            json!({"project": "web", "role": "operator"}),
            json!({"role": "operator"}),
            json!({"project": "web", "role": "admin", "operator": true}),
            json!({"project": "web"}),
            json!({}),
        ] {
            admin.post("/tokens", &wrong).refused(400, "invalid_input");
        }
        assert_eq!(roles.all(), before, "nothing was done");

        let projects = admin.get("/projects?all=true").ok();
        assert_eq!(elements(&projects).iter().map(|project| text(&project["name"])).collect::<Vec<_>>(), ["web"]);
        let made = ProjectToken::of(&admin.post("/tokens", &json!({"project": "web", "role": "admin"})).ok());
        roles.server.client(&made).get("/issues").ok();
        let listed = elements(&admin.get("/tokens?all=true").ok());
        assert!(listed.iter().all(|token| token["project"] == "web"), "{listed:?}");
        assert!(listed.iter().any(|token| token["id"] == made.id.as_str()), "{listed:?}");
        admin.post(&format!("/tokens/{}/revoke", made.id), &json!({})).ok();
        let audit = admin.get("/audit").ok();
        assert!(elements(&audit).iter().all(|line| line["project"] == "web"), "{audit}");
        assert!(elements(&audit).iter().any(|line| line["subject_id"] == made.id.as_str()), "{audit}");
        assert_eq!(audit, admin.get("/audit?project=web").ok());
    }
}

fn operator_manages_the_server_but_cannot_read_projects(team: Team) {
    let roles = TwoAdmins::on(team);
    let (server, operator) = (&roles.server, &roles.operator);
    for project in ["web", "api", "zzz"] {
        let mut http = pensa_testkit::Http::to(&server.project_url(project)).token(&operator.secret);
        for path in ["/issues", "/events?after=0", "/log?after=0", "/tokens", "/audit", "/openapi.json", "/nothing"] {
            let reply = http.get(path);
            reply.refused(404, "not_found");
            assert!(!reply.body.contains("secret"), "{reply:?}");
        }
        http.post("/issues", &json!({"title": "x", "issue_type": "task"})).refused(404, "not_found");
        http.post("/mcp", &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).refused(404, "not_found");
    }
    let mut root = server.root(operator);
    root.get("/issues").refused(404, "not_found");
    root.post("/projects", &json!({"name": "new"})).ok();
    let made = root.post("/tokens", &json!({"project": "new", "role": "agent"})).ok();
    create(&mut server.client(&ProjectToken::of(&made)), "made");
    let another = root.post("/tokens", &json!({"operator": true, "expires": "1h"})).ok();
    assert_eq!(another["role"], "operator");
    assert!(another.get("project").is_none(), "{another}");
    assert_eq!(elements(&root.get("/projects").ok()).len(), 3);
    let listed = elements(&root.get("/tokens").ok());
    assert!(listed.iter().any(|token| token["id"] == another["id"] && token.get("project").is_none()), "{listed:?}");
    let audit = root.get("/audit").ok();
    assert!(elements(&audit).iter().any(|line| line["project"] == "api" && line["subject_kind"] == "issue"), "{audit}");
    assert!(!audit.to_string().contains("a secret of api"), "who did what, but not the texts: {audit}");
    root.post(&format!("/tokens/{}/revoke", text(&another["id"])), &json!({})).ok();
    root.post(&format!("/tokens/{}/revoke", roles.web.id), &json!({})).ok();
    server.client(&roles.web).get("/issues").refused(401, "unauthorized");
    root.post("/projects/api/archive", &json!({})).ok();
    server.client(&roles.api).get("/issues").refused(404, "not_found");
}

fn operator_tokens_are_created_on_the_database_or_by_operators_only(team: Team) {
    let roles = TwoAdmins::on(team);
    let through = |token: &ProjectToken, args: &[&str]| {
        let run = roles.team.machine.pn(args).dir(roles.team.machine.path("elsewhere"));
        run.env("PN_DAEMON", &roles.server.process.url).env("PN_TOKEN", &token.secret)
    };
    let make = ["token", "create", "--operator"];
    through(&roles.web, &make).fails("forbidden");
    let made = through(&roles.operator, &make).ok_json();
    assert_eq!(through(&ProjectToken::of(&made), &["project", "list"]).ok_json().as_array().map(Vec::len), Some(2));
    let shown = through(&roles.operator, &["token", "list"]).ok();
    assert!(shown.contains(" operator made by "), "{shown}");
    for wrong in [
        &["token", "create", "--operator", "--project", "web"][..],
        &["token", "create", "--operator", "--role", "admin"],
        &["token", "create", "--project", "web"],
        &["token", "create", "--role", "admin"],
        &["token", "create", "--project", "web", "--role", "operator"],
    ] {
        roles.team.direct(wrong).misused();
    }
}

crate::on_both_databases! {
    admin_manages_tokens_and_reads_the_audit_of_its_own_project_only,
    operator_manages_the_server_but_cannot_read_projects,
    operator_tokens_are_created_on_the_database_or_by_operators_only,
}
