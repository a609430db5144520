//! Renders settings: what is served, and on a server its tokens, audit and projects, as far as the role allows.

use maud::{Markup, html};
use pensa_core::Access;
use pensa_core::event::describe;
use pensa_core::ops::audit::AuditLine;
use pensa_core::ops::store::{StoreInfo, StoreSummary};
use pensa_core::project::{Project, Role, Token};

use crate::layout::{Frame, time};

/// What the page shows. What the caller may not read is absent.
#[derive(Debug, Clone, Default)]
pub struct SettingsContent {
    pub info: Option<StoreInfo>,
    pub summary: Option<StoreSummary>,
    /// Of the server; none on a daemon
    pub tokens: Option<Vec<Token>>,
    pub audit: Option<Vec<AuditLine>>,
    pub projects: Option<Vec<Project>>,
}

/// The body of the page.
pub fn page(frame: &Frame, content: &SettingsContent) -> Markup {
    html! {
        div.bar { h1 { "Settings" } }
        (served(frame, content))
        @if let Some(projects) = &content.projects { (self::projects(frame, projects)) }
        @if let Some(tokens) = &content.tokens { (self::tokens(frame, tokens)) }
        @if let Some(audit) = &content.audit { (self::audit(audit)) }
    }
}

fn served(frame: &Frame, content: &SettingsContent) -> Markup {
    html! {
        section {
            h2 { "Project" }
            dl.facts {
                @if !frame.project.is_empty() { dt { "Name" } dd { (frame.project) } }
                @if let Some(info) = &content.info {
                    dt { "Store" } dd { code { (info.store_id) } }
                    @if !info.project_dir.is_empty() { dt { "Directory" } dd { code { (info.project_dir) } } }
                    dt { "Version" } dd { "pn " (info.version) }
                }
                @if let Some(summary) = &content.summary {
                    dt { "Issues" } dd {
                        (summary.total.open) " open, " (summary.total.in_progress) " in progress, " (summary.total.closed) " closed"
                    }
                }
                @if let Some(actor) = &frame.actor { dt { "You" } dd { bdi { (actor) } ", who may " (may(frame.may)) } }
            }
            p.hint { "Settings are files: " code { "pn config list" } " shows where each comes from." }
        }
    }
}

/// What an access allows, in words.
fn may(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "create and change",
        Access::Maintain => "also delete and undo for others",
        Access::Admin => "also manage tokens",
        Access::Operate => "do everything",
    }
}

fn projects(frame: &Frame, projects: &[Project]) -> Markup {
    html! {
        section {
            h2 { "Projects " span.count { (projects.len()) } }
            div.scrolls tabindex="0" role="region" aria-label="Projects" {
                table {
                    thead { tr { th scope="col" { "name" } th scope="col" { "store" } th scope="col" { "made" } th scope="col" { "state" } th scope="col" {} } }
                    tbody {
                        @for project in projects {
                            @let is_archived = project.archived_at.is_some();
                            tr {
                                td {
                                    @if is_archived { (project.name) }
                                    @else { a href=(format!("/p/{}/ui/board", project.name)) { (project.name) } }
                                }
                                td { code { (project.store_id) } }
                                td { (time(project.created_at)) }
                                td { (if is_archived { "archived" } else { "served" }) }
                                td.actions { @if frame.may(Access::Operate) { (archive(frame, project, is_archived)) } }
                            }
                        }
                    }
                }
            }
            @if frame.may(Access::Operate) {
                details.form {
                    summary { "Make a project" }
                    (frame.form("project.create", "stacked", html! {
                        label { "Name" input name="name" required pattern="[a-z0-9][a-z0-9._\\-]*" maxlength="64"; }
                        button { "Make it" }
                    }))
                }
            }
        }
    }
}

fn archive(frame: &Frame, project: &Project, is_archived: bool) -> Markup {
    let word = if is_archived { "Serve again" } else { "Archive" };
    frame.form(
        "project.archive",
        "inline",
        html! {
            input type="hidden" name="name" value=(project.name);
            @if is_archived { input type="hidden" name="undo" value="true"; }
            button aria-label=(format!("{word} {}", project.name)) { (word) }
        },
    )
}

fn tokens(frame: &Frame, tokens: &[Token]) -> Markup {
    html! {
        section {
            h2 { "Tokens " span.count { (tokens.len()) } }
            div.scrolls tabindex="0" role="region" aria-label="Tokens" {
                table {
                    thead { tr {
                        th scope="col" { "token" } th scope="col" { "project" } th scope="col" { "role" } th scope="col" { "made" }
                        th scope="col" { "by" } th scope="col" { "expires" } th scope="col" {}
                    } }
                    tbody {
                        @for token in tokens {
                            tr {
                                td { span.id { (token.id) } }
                                td { @if let Some(project) = &token.project { (project) } }
                                td { (token.role) }
                                td { (time(token.created_at)) }
                                td { bdi { (token.created_by) } }
                                td { @match token.expires_at { Some(end) => (time(end)), None => "never" } }
                                td.actions { @if frame.may(Access::Admin) { (revoke(frame, token)) } }
                            }
                        }
                    }
                }
            }
            @if frame.may(Access::Admin) { (make_token(frame)) }
        }
    }
}

fn revoke(frame: &Frame, token: &Token) -> Markup {
    html! {
        @if token.revoked_at.is_some() { span.state data-state="failed" { "revoked" } }
        @else {
            (frame.form("token.revoke", "inline", html! {
                input type="hidden" name="id" value=(token.id);
                button aria-label=(format!("Revoke {}", token.id)) { "Revoke" }
            }))
        }
    }
}

fn make_token(frame: &Frame) -> Markup {
    let roles = Role::ALL.into_iter().filter(|role| *role != Role::Operator);
    let expires = html! { label { "Valid for" input name="expires" placeholder="90d"; } };
    html! {
        details.form {
            summary { "Make a token" }
            (frame.form("token.create", "stacked", html! {
                label { "Project" input name="project" value=(frame.project) required; }
                label { "Role" select name="role" { @for role in roles { option value=(role) { (role) } } } }
                (expires)
                button { "Make it" }
            }))
        }
        @if frame.may(Access::Operate) {
            details.form {
                summary { "Make a token for operating the server" }
                (frame.form("token.create", "stacked", html! {
                    input type="hidden" name="operator" value="true";
                    (expires)
                    button { "Make it" }
                }))
            }
        }
    }
}

fn audit(audit: &[AuditLine]) -> Markup {
    html! {
        section {
            h2 { "Audit " span.count { (audit.len()) } }
            div.scrolls tabindex="0" role="region" aria-label="Audit" {
                table.log {
                    thead { tr {
                        th scope="col" { "when" } th scope="col" { "project" } th scope="col" { "token" } th scope="col" { "actor" }
                        th scope="col" { "what" } th scope="col" { "about" } th scope="col" { "change" }
                    } }
                    tbody {
                        @for line in audit {
                            tr {
                                td { (time(line.at)) }
                                td { @if let Some(project) = &line.project { (project) } }
                                td { @if let Some(token) = &line.token { span.id { (token) } } }
                                td { bdi { (line.actor) } }
                                td { (line.event_type) }
                                td { (line.subject_kind) " " span.id { (line.subject_id) } }
                                td.wide { bdi { (describe(&line.detail)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{assert_harmless, frame};

    const AT: &str = "2026-02-27T14:00:00.000Z";

    fn content(text: &str) -> SettingsContent {
        let line = json!({"at": AT, "project": "web", "token": "tk-1", "actor": text, "event_type": "closed",
            "subject_kind": "issue", "subject_id": "pn-1", "event": 3, "detail": {"title": {"old": null, "new": text}}});
        let project = |name: &str, archived: bool| {
            let mut project = json!({"name": name, "store_id": "s", "created_at": AT});
            if archived {
                project["archived_at"] = json!(AT);
            }
            serde_json::from_value(project).expect("a project")
        };
        SettingsContent {
            info: Some(StoreInfo { project_dir: text.into(), version: "0.1.0".into(), store_id: "st-1".into() }),
            summary: Some(StoreSummary::default()),
            tokens: Some(vec![
                serde_json::from_value(json!({"id": "tk-1", "project": "web", "role": "agent",
                "created_at": AT, "created_by": text}))
                .expect("a token"),
            ]),
            audit: Some(vec![serde_json::from_value(line).expect("a line")]),
            projects: Some(vec![project("web", false), project("old", true)]),
        }
    }

    #[test]
    fn an_operator_manages_projects_and_tokens() {
        let html = page(&frame(), &content("x")).into_string();
        for part in
            ["token.revoke", "project.create", "project.archive", "/p/web/ui/board", "name=\"operator\"", "Audit"]
        {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("/p/old/"), "archived projects are not served");
    }

    #[test]
    fn an_admin_manages_tokens_but_no_projects() {
        let admin = Frame { may: Access::Admin, ..frame() };
        let html = page(&admin, &content("x")).into_string();
        assert!(html.contains("token.revoke") && !html.contains("project.") && !html.contains("name=\"operator\""));
    }

    #[test]
    fn others_see_what_is_served() {
        let agent = Frame { may: Access::Write, ..frame() };
        let html =
            page(&agent, &SettingsContent { info: content("x").info, ..SettingsContent::default() }).into_string();
        assert!(html.contains("st-1") && !html.contains("<form") && !html.contains("Tokens"), "{html}");
    }

    #[test]
    fn hostile_text_stays_text() {
        assert_harmless(|text| page(&frame(), &content(text)));
    }
}
