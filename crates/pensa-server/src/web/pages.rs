//! Answers requests for pages: asks operations, and has the answers rendered.

use axum::http::StatusCode;
use axum::response::Response;
use pensa_core::id::IssueRef;
use pensa_core::issue::{Sort, Status};
use pensa_core::ops::issue::{Count, Counted, History, List, Show};
use pensa_core::ops::trace::Trace;
use pensa_core::ops::{conflict, view};
use pensa_core::sync::ISSUES;
use pensa_core::{Code, Error, Result};
use pensa_web::Markup;
use pensa_web::board::{self, BoardContent, CARDS, LaneField, StatusColumn};
use pensa_web::issue::{self, IssueContent};
use pensa_web::layout::{self, Frame, Page, PageNotice};
use pensa_web::list::{self, ListContent, ListField};

use super::{PageRequest, html as response, records};
use crate::percent_decode;
use crate::router::no_project;

/// Most cards of a column, and rows of a list.
const MAX_SHOWN: u32 = 10_000;
/// Rows of a list at first.
const ROWS: u32 = 200;
/// Entries of an issue's history and timeline.
const MAX_HISTORY: u32 = 200;

/// The answer to a request for a page.
pub(super) async fn answer(asked: &PageRequest) -> Result<Response> {
    if asked.reader.context.store.is_none() && asked.path != "settings" {
        return Err(no_project());
    }
    let frame = asked.frame().await?;
    let (page, title, body) = match asked.path.as_str() {
        "board" => (Page::Board, "Board".to_owned(), board(asked, &frame).await),
        "board/cards" => return more_cards(asked, &frame).await,
        "list" => (Page::List, "List".to_owned(), list(asked, &frame).await),
        path => match path.split_once('/') {
            Some(("issues", id)) => {
                let content = issue(asked, &decoded(id)?).await?;
                let title = content.detail.issue.title.clone();
                (Page::List, title, Ok(issue::page(&frame, &content)))
            }
            Some(("runs", rest)) if rest.ends_with("/log") => return records::log(asked, rest).await,
            Some((kind, id)) => records::one(asked, &frame, kind, &decoded(id)?).await?,
            None => records::all(asked, &frame, path).await?,
        },
    };
    let frame = Frame { current: Some(page), ..frame };
    Ok(match body {
        Ok(body) => response::page(StatusCode::OK, &layout::page(&frame, &title, body)),
        // What is wrong with a query is said above the page, so that it can be corrected.
        Err(error) if error.code == Code::InvalidInput || error.code == Code::NotFound => {
            let notice = PageNotice { text: error.message, hint: error.hint, is_error: true };
            let frame = Frame { notice: Some(notice), ..frame };
            let status = StatusCode::BAD_REQUEST;
            let query = asked.parameter("q").to_owned();
            response::page(status, &layout::page(&frame, &title, empty(&frame, page, query)))
        }
        Err(error) => return Err(error),
    })
}

/// A part of a path.
pub(super) fn decoded(part: &str) -> Result<String> {
    percent_decode::decode(part.as_bytes()).ok_or_else(|| Error::invalid("the path is not percent-encoded UTF-8"))
}

/// The page without issues, with the query that was wrong.
fn empty(frame: &Frame, page: Page, query: String) -> Markup {
    match page {
        Page::Board => board::page(frame, &BoardContent { query, lanes: None, columns: Vec::new(), views: Vec::new() }),
        Page::List => {
            let fields = ListField::DEFAULT.to_vec();
            list::page(frame, &ListContent { query, sort: String::new(), fields, limit: ROWS, issues: Vec::new() })
        }
        _ => Markup::default(),
    }
}

async fn board(asked: &PageRequest, frame: &Frame) -> Result<Markup> {
    Ok(board::page(frame, &board_content(asked, &Status::ALL).await?))
}

/// What scrolling adds to one column.
async fn more_cards(asked: &PageRequest, frame: &Frame) -> Result<Response> {
    let shown = Status::ALL.into_iter().find(|status| asked.number(status.as_str()).is_some());
    let status = shown.ok_or_else(|| Error::invalid("no column is named"))?;
    let content = board_content(asked, &[status]).await?;
    let from = asked.number("from").unwrap_or_default();
    let here = asked.here.replacen("/board/cards", "/board", 1);
    let frame = Frame { here, ..frame.clone() };
    Ok(response::page(StatusCode::OK, &board::more_cards(&frame, &content, from as usize)))
}

async fn board_content(asked: &PageRequest, statuses: &[Status]) -> Result<BoardContent> {
    let query = asked.parameter("q").trim().to_owned();
    let q = Some(query.clone()).filter(|query| !query.is_empty());
    let counted = asked.ask(&Count { q: q.clone(), by_status: true, ..Count::default() }).await?;
    let groups = match counted {
        Counted::Grouped { groups, .. } => groups,
        Counted::Plain { .. } => Vec::new(),
    };
    let total = |status| groups.iter().find(|group| group.status == Some(status)).map_or(0, |group| group.count);
    let mut columns = Vec::new();
    for status in statuses.iter().copied() {
        let limit = asked.number(status.as_str()).unwrap_or(CARDS).clamp(CARDS, MAX_SHOWN);
        let sort = if status == Status::Closed { Sort::UpdatedAt } else { Sort::Priority };
        let list =
            List { q: q.clone(), status: Some(status), sort: Some(sort.into()), limit: Some(limit), ..List::default() };
        columns.push(StatusColumn { status, total: total(status), issues: asked.ask(&list).await? });
    }
    let views = asked.ask(&view::List {}).await?;
    Ok(BoardContent { query, lanes: LaneField::named(asked.parameter("lanes")), columns, views })
}

async fn list(asked: &PageRequest, frame: &Frame) -> Result<Markup> {
    let given = |name| Some(asked.parameter(name).trim().to_owned()).filter(|value| !value.is_empty());
    let limit = asked.number("n").unwrap_or(ROWS).clamp(1, MAX_SHOWN);
    let sort = given("sort").map(|sort| sort.parse()).transpose()?;
    let issues = asked.ask(&List { q: given("q"), sort, limit: Some(limit), ..List::default() }).await?;
    let shown = asked.query.iter().filter(|(name, _)| name == "show");
    let mut fields: Vec<ListField> = shown.filter_map(|(_, field)| ListField::named(field)).collect();
    if fields.is_empty() {
        fields = ListField::DEFAULT.to_vec();
    }
    let (query, sort) = (given("q").unwrap_or_default(), given("sort").unwrap_or_default());
    Ok(list::page(frame, &ListContent { query, sort, fields, limit, issues }))
}

async fn issue(asked: &PageRequest, id: &str) -> Result<IssueContent> {
    let detail = asked.ask(&Show { id: id.parse()? }).await?;
    let id = || IssueRef::from(&detail.issue.id);
    let history = asked.ask(&History { id: id(), limit: Some(MAX_HISTORY) }).await?;
    let trace = asked.ask(&Trace { id: id(), limit: Some(MAX_HISTORY) }).await?;
    let mut conflicts = asked.ask(&conflict::List::default()).await?;
    conflicts.retain(|known| known.collection == ISSUES.name && known.record_id == detail.issue.id.as_str());
    Ok(IssueContent { detail, history, trace, conflicts })
}
