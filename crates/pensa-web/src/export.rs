//! Renders a project as files that need no server: the board, all issues, the graph, charts and the changelog.
//!
//! The same answers give the same bytes: ages count from the last event.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use pensa_core::{Access, Result, Timestamp};

use crate::assets::{self, Asset};
use crate::board::{self, BoardContent};
use crate::charts::{self, ChartsContent};
use crate::graph::{self, GraphContent};
use crate::issue::{self, IssueContent};
use crate::layout::{self, Frame, Medium, Page};
use crate::list::{self, ListContent};
use crate::releases::{self, ReleasesContent};

/// What an export has besides the pages of issues.
#[derive(Debug, Clone)]
pub struct ProjectContent {
    pub project: String,
    /// The number and time of the last event.
    pub last_event: i64,
    pub until: Timestamp,
    pub board: BoardContent,
    pub list: ListContent,
    pub graph: GraphContent,
    pub charts: ChartsContent,
    pub releases: ReleasesContent,
}

/// A file of an export, with its path in the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedPage {
    pub path: String,
    pub text: String,
}

impl ProjectContent {
    fn frame(&self, medium: Medium, root: &str, current: Option<Page>) -> Frame {
        Frame {
            medium,
            root: root.to_owned(),
            here: String::new(),
            project: self.project.clone(),
            actor: None,
            may: Access::Read,
            csrf: None,
            has_session: false,
            last_event: self.last_event,
            now: self.until,
            current,
            notice: None,
        }
    }

    fn body(&self, frame: &Frame, page: Page) -> Result<Option<Markup>> {
        Ok(match page {
            Page::Board => Some(board::page(frame, &self.board)),
            Page::List => Some(list::page(frame, &self.list)),
            Page::Graph => Some(graph::page(frame, &self.graph)),
            Page::Charts => Some(charts::page(frame, &self.charts)?),
            Page::Releases => Some(releases::page(frame, &self.releases)),
            Page::Agents | Page::Sessions | Page::Memory | Page::Insights | Page::Log | Page::Settings => None,
        })
    }

    /// Every file of a directory but those of issues.
    pub fn files(&self) -> Result<Vec<ExportedPage>> {
        let mut files = Vec::new();
        for page in Page::ALL {
            let frame = self.frame(Medium::Files, "", Some(page));
            if let Some(body) = self.body(&frame, page)? {
                let text = layout::page(&frame, page.name(), body).into_string();
                files.push(ExportedPage { path: frame.href(page), text });
            }
        }
        let asset = |asset: &Asset| ExportedPage { path: asset.name.clone(), text: asset.text.to_owned() };
        files.extend(assets::STYLES.iter().chain(assets::static_scripts()).map(asset));
        Ok(files)
    }

    /// The file of an issue.
    pub fn issue_file(&self, content: &IssueContent) -> ExportedPage {
        let issue = &content.detail.issue;
        let frame = self.frame(Medium::Files, "../", None);
        let text = layout::page(&frame, &issue.title, issue::page(&frame, content)).into_string();
        ExportedPage { path: format!("issues/{}.html", layout::file_stem(issue.id.as_str())), text }
    }

    /// One file with everything.
    pub fn single(&self, issues: &[IssueContent]) -> Result<String> {
        let frame = self.frame(Medium::SingleFile, "", None);
        let mut sections = Vec::new();
        for page in Page::ALL {
            if let Some(body) = self.body(&frame, page)? {
                sections.push((page.path().to_owned(), body));
            }
        }
        let of_issue = |content: &IssueContent| {
            let href = frame.issue_href(content.detail.issue.id.as_str());
            (href.trim_start_matches('#').to_owned(), issue::page(&frame, content))
        };
        sections.extend(issues.iter().map(of_issue));
        Ok(whole(&frame, &sections).into_string())
    }
}

/// Sections of which the one that the address names is shown, else the first; all of them where styles can't tell.
fn whole(frame: &Frame, sections: &[(String, Markup)]) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                // Nothing is fetched, whatever a text says.
                meta http-equiv="Content-Security-Policy"
                    content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
                title { (frame.project) }
                style { @for asset in assets::STYLES.iter() { (PreEscaped(asset.text)) } }
            }
            body data-root="" data-last-event=(frame.last_event) {
                (layout::header(frame))
                main #main tabindex="-1" {
                    @for (name, body) in sections { section.sheet id=(name) { (body) } }
                }
                script { @for asset in assets::static_scripts() { (PreEscaped(asset.text)) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pensa_core::issue::Status;
    use serde_json::{Value, json};

    use super::*;
    use crate::board::StatusColumn;
    use crate::list::ListField;
    use crate::testing::assert_harmless;

    const AT: &str = "2026-02-27T14:00:00.000Z";

    fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).expect("an answer of an operation")
    }

    fn issue(text: &str) -> Value {
        json!({"id": "pn-1", "title": text, "description": text, "issue_type": "task", "status": "open",
            "priority": "p1", "created_at": AT, "updated_at": AT})
    }

    fn project(text: &str) -> ProjectContent {
        let brief = json!({"id": "pn-1", "title": text, "status": "open", "priority": "p1"});
        ProjectContent {
            project: "tests".into(),
            last_event: 9,
            until: AT.parse().expect("a time"),
            board: BoardContent {
                query: String::new(),
                lanes: None,
                columns: vec![StatusColumn { status: Status::Open, total: 1, issues: vec![read(issue(text))] }],
                views: Vec::new(),
            },
            list: ListContent {
                query: String::new(),
                sort: String::new(),
                fields: ListField::DEFAULT.to_vec(),
                limit: u32::MAX,
                issues: vec![read(issue(text))],
            },
            graph: GraphContent {
                query: String::new(),
                network: read(json!({"issues": [brief], "waits": [], "left_out": 0})),
                critical: read(json!({"unit": "issues", "length": 1, "issues": [], "slack": []})),
            },
            charts: ChartsContent {
                days: 30,
                chart: read(
                    json!({"since": AT, "until": AT, "days": [{"day": "2026-02-27", "open": 1, "in_progress": 0,
                    "closed": 0, "created": 1, "done": 0}], "closed": []}),
                ),
                cost: None,
            },
            releases: ReleasesContent { releases: Vec::new(), changelog: format!("# Changelog\n\n- {text}\n") },
        }
    }

    fn one(text: &str) -> IssueContent {
        let mut detail = issue(text);
        detail["deps"] = json!([]);
        detail["blocks"] = json!([]);
        detail["comments"] = json!([{"id": "cm-1", "issue_id": "pn-1", "actor": text, "text": text, "created_at": AT}]);
        IssueContent {
            detail: read(detail),
            history: Vec::new(),
            trace: read(
                json!({"issue": issue(text), "entries": [], "left_out": 0, "totals": pensa_core::trace::Totals::default(),
                "notes": []}),
            ),
            conflicts: Vec::new(),
        }
    }

    /// A page without the reference to our script.
    fn without_script(text: &str) -> String {
        let (before, rest) = text.split_once("<script src=\"").expect("one");
        format!("{before}{}", rest.split_once("</script>").expect("its end").1)
    }

    #[test]
    fn a_directory_has_its_pages_and_every_reference_leads_to_one_of_them() {
        let content = project("a title");
        let mut files = content.files().expect("drawn");
        files.push(content.issue_file(&one("a title")));
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        for page in ["index.html", "list.html", "graph.html", "charts.html", "releases.html", "issues/pn-1.html"] {
            assert!(paths.contains(&page), "{page} in {paths:?}");
        }
        for file in files.iter().filter(|file| file.path.ends_with(".html")) {
            for attribute in ["href=\"", "src=\""] {
                for target in file.text.split(attribute).skip(1).filter_map(|rest| rest.split('"').next()) {
                    let from = if file.path.starts_with("issues/") { target.strip_prefix("../") } else { Some(target) };
                    let is_there = target.starts_with('#') || from.is_some_and(|target| paths.contains(&target));
                    assert!(is_there, "{target} of {}", file.path);
                }
            }
            assert!(!file.text.contains("<form") && !file.text.contains("<button class=\"primary"), "{}", file.path);
        }
    }

    #[test]
    fn one_file_has_everything_and_refers_to_nothing_else() {
        let text = project("a title").single(&[one("a title")]).expect("drawn");
        for target in text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let name = target.strip_prefix('#').expect("within the file");
            assert!(text.contains(&format!("id=\"{name}\"")), "{target}");
        }
        assert!(!text.contains("src=") && !text.contains("<link") && !text.contains("<form"));
    }

    #[test]
    fn the_same_answers_give_the_same_bytes() {
        let write = || (project("x").files().expect("drawn"), project("x").single(&[one("x")]).expect("drawn"));
        assert_eq!(write(), write());
    }

    #[test]
    fn hostile_text_stays_text() {
        assert_harmless(|text| {
            let files = project(text).files().expect("drawn").into_iter().chain([project(text).issue_file(&one(text))]);
            PreEscaped(
                files.filter(|file| file.path.ends_with(".html")).map(|file| without_script(&file.text)).collect(),
            )
        });
        let text = project("</script><script>alert(1)</script></style>").single(&[]).expect("drawn");
        assert_eq!((text.matches("<script").count(), text.matches("</style>").count()), (1, 1));
    }
}
