//! Renders releases and the changelog.

use maud::{Markup, html};
use pensa_core::release::Release;
use pensa_core::work::WorkKind;

use crate::layout::{Frame, time};
use crate::links;
use crate::markdown::markdown;

/// What the page shows.
#[derive(Debug, Clone)]
pub struct ReleasesContent {
    /// Newest first
    pub releases: Vec<Release>,
    /// The changelog as Markdown
    pub changelog: String,
}

/// The body of the page.
pub fn page(frame: &Frame, content: &ReleasesContent) -> Markup {
    html! {
        div.bar { h1 { "Releases" } }
        @if frame.may_write() { (ship(frame)) }
        @if content.releases.is_empty() {
            p.empty { "Nothing was shipped yet. " code { "pn ship NAME --version VERSION" } " records it." }
        }
        @for release in &content.releases { (one(frame, release)) }
        section.changelog { (markdown(&content.changelog)) }
    }
}

fn one(frame: &Frame, release: &Release) -> Markup {
    html! {
        article.release {
            header {
                h2 { (release.version) " " bdi { (release.name) } }
                p.hint { (release.kind) ", by " bdi { (release.actor) } " " (time(release.shipped_at)) " " span.id { (release.id) } }
            }
            @if let Some(notes) = &release.notes { (markdown(notes)) }
            @if !release.issues.is_empty() {
                p { "Issues:" @for issue in &release.issues { " " (links::issue(frame, issue)) } }
            }
        }
    }
}

fn ship(frame: &Frame) -> Markup {
    html! {
        details.form {
            summary { "Record a release" }
            (frame.form("release.ship", "stacked", html! {
                label { "What was shipped" input name="name" required; }
                label { "Version" input name="version" required; }
                label { "Kind" select name="kind" { @for kind in WorkKind::ALL { option value=(kind) { (kind) } } } }
                label { "Issue" input name="issues"; }
                label { "Notes" textarea name="notes" rows="4" {} }
                button { "Ship" }
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{assert_harmless, frame, viewer};

    fn content(text: &str) -> ReleasesContent {
        let release = json!({"id": "rel-1", "name": text, "version": "1.2", "kind": "feature", "issues": ["pn-1"],
            "notes": text, "actor": text, "shipped_at": "2026-02-27T14:00:00.000Z"});
        ReleasesContent {
            releases: vec![serde_json::from_value(release).expect("a release")],
            changelog: format!("# Changelog\n\n## 1.2\n\n- {text}\n"),
        }
    }

    #[test]
    fn releases_have_their_issues_and_the_changelog_follows() {
        let html = page(&frame(), &content("Log in")).into_string();
        assert!(html.contains("href=\"/ui/issues/pn-1\"") && html.contains("<h3>Changelog</h3>"), "{html}");
        assert!(
            html.contains("/ui/do/release.ship") && !page(&viewer(), &content("x")).into_string().contains("<form")
        );
    }

    #[test]
    fn hostile_text_stays_text() {
        assert_harmless(|text| page(&frame(), &content(text)));
    }
}
