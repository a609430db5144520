//! Serves the pages below `/ui/`: who asks, what is asked, and the answer as HTML.
//!
//! A page is made from the answers of operations that run as its reader, by the functions of `pensa-web`; a form runs an
//! operation. Who the reader is was decided before, by `guard.rs` and `web/daemon.rs`, or by `team/web.rs`.

pub(crate) mod daemon;
mod edit;
mod forms;
pub(crate) mod html;
mod pages;
pub(crate) mod presence;
mod records;
mod run_log;
pub(crate) mod same_origin;

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderMap, Method as HttpMethod, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use pensa_core::{Code, Error, Method, Op, Result, Timestamp};
use pensa_engine::{Clock, Entry, SystemClock, entry, insufficient_rights, log_end};
use pensa_web::layout::{self, Frame, Medium, PageNotice};
use serde_json::Value;
use tokio::sync::watch;

use crate::dispatch::unexpected;
use crate::percent_decode;
use crate::request_context::{OperationLabel, RequestContext};
use crate::response::Refusal;
use crate::router::no_project;
use crate::served_store::ServedStore;
use crate::stream;

/// Sent by our script: errors and results are JSON instead of pages.
const SCRIPT: &str = "pensa-script";
/// Path of the event stream for pages.
const EVENTS: &str = "events";

/// Somebody who may see the pages of a project.
#[derive(Debug, Clone)]
pub(crate) struct PageReader {
    pub(crate) context: RequestContext,
    /// The store of projects and tokens of a server
    pub(crate) control: Option<Arc<ServedStore>>,
    /// The path before `/ui/`.
    pub(crate) root: String,
    pub(crate) project: String,
    /// The hidden field that forms must have; `None` if they rely on Origin and Sec-Fetch.
    pub(crate) csrf: Option<String>,
    /// Whether a session can be ended by logging out.
    pub(crate) has_session: bool,
    /// Tells an open stream that the session has ended.
    pub(crate) is_ended: Option<SessionCheck>,
}

/// Looks whether the session of a reader goes on.
pub(crate) type SessionCheck = Arc<dyn SessionState>;

/// The session that an event stream belongs to.
pub(crate) trait SessionState: std::fmt::Debug + Send + Sync {
    fn goes_on(&self) -> futures_util::future::BoxFuture<'_, bool>;
}

/// The names and values of a query string or a form.
pub(crate) type Pairs = Vec<(String, String)>;

/// A request for a page, with what is needed to answer it.
pub(crate) struct PageRequest {
    pub(crate) reader: PageReader,
    pub(crate) store: Arc<ServedStore>,
    /// The path below `/ui/`.
    pub(crate) path: String,
    pub(crate) query: Pairs,
    /// The address of the page.
    pub(crate) here: String,
}

impl PageRequest {
    /// The first value of a parameter; empty if it is absent.
    pub(crate) fn parameter(&self, name: &str) -> &str {
        self.query.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// A number in the query, if it is one.
    pub(crate) fn number(&self, name: &str) -> Option<u32> {
        self.parameter(name).parse().ok()
    }

    /// Runs an operation as the reader.
    pub(crate) async fn ask<O: Op>(&self, op: &O) -> Result<O::Output> {
        let input = serde_json::to_value(op).map_err(Error::internal)?;
        let entry = entry(O::NAME).ok_or_else(unexpected)?;
        serde_json::from_slice(&self.run(entry, input).await?).map_err(Error::internal)
    }

    /// Runs an operation of the catalog as the reader, with the reader's rights. Returns its answer as JSON.
    pub(crate) async fn run(&self, entry: &'static Entry, input: Value) -> Result<axum::body::Bytes> {
        let context = &self.reader.context;
        if entry.access > context.caller.may {
            return Err(insufficient_rights(entry.access, entry.name));
        }
        if let Some(server) = context.server.clone().filter(|_| entry.scope == pensa_core::Scope::Server) {
            return server.run(entry, context.caller.clone(), input, None).await;
        }
        // Operators open no project.
        context.store.as_ref().ok_or_else(no_project)?;
        let answer = self.store.dispatch.run(entry, context.caller.clone(), input, None).await;
        if entry.route.method != Method::Get {
            self.store.notify();
        }
        answer
    }

    /// The frame of a page that shows what is there now.
    pub(crate) async fn frame(&self) -> Result<Frame> {
        // Read first: what happens while the page is made comes again as an event.
        let last_event = self.store.dispatch.query(|_, tx| log_end(tx)).await?;
        Ok(self.frame_at(last_event))
    }

    fn frame_at(&self, last_event: i64) -> Frame {
        let PageReader { context, root, project, csrf, has_session, .. } = &self.reader;
        Frame {
            medium: Medium::Served,
            root: root.clone(),
            here: self.here.clone(),
            project: project.clone(),
            actor: Some(context.caller.actor.clone()),
            may: context.caller.may,
            csrf: csrf.clone(),
            has_session: *has_session,
            last_event,
            now: now(),
            current: None,
            notice: None,
        }
    }

    /// A page that only says what went wrong.
    fn error_page(&self, error: &Error) -> Response {
        let notice = PageNotice { text: error.message.clone(), hint: error.hint.clone(), is_error: true };
        let frame = Frame { notice: Some(notice), ..self.frame_at(0) };
        let status = Refusal::from(error.clone()).status;
        html::page(status, &layout::message_page(&frame, "Error"))
    }
}

fn now() -> Timestamp {
    // Ages are all that depends on it.
    SystemClock.now().or_else(|_| Timestamp::from_millis(0)).unwrap_or_else(|_| unreachable!("zero is a time"))
}

/// Whether a path below the root of a project is a page or a form.
pub(crate) fn is_page(path: &str) -> bool {
    path == "/" || path == "/ui" || path.starts_with("/ui/")
}

/// Answers a request of a reader for a page, or a form.
pub(crate) async fn answer(reader: PageReader, request: Request, stop: watch::Receiver<bool>) -> Response {
    let encoding = html::accepts_gzip(request.headers());
    let (is_script, is_form) = (request.headers().contains_key(SCRIPT), request.method() == HttpMethod::POST);
    let path = request.uri().path().strip_prefix("/ui").unwrap_or_default().trim_matches('/').to_owned();
    if path.is_empty() && !is_form {
        let first = if reader.context.store.is_some() { "board" } else { "settings" };
        return html::redirect(&format!("{}/ui/{first}", reader.root));
    }
    let here = match request.uri().query() {
        Some(query) => format!("{}/ui/{path}?{query}", reader.root),
        None => format!("{}/ui/{path}", reader.root),
    };
    let Some(store) = reader.context.store.clone().or_else(|| reader.control.clone()) else {
        return Refusal::from(no_project()).into_response();
    };
    let query = match pairs(request.uri().query().unwrap_or_default()) {
        Ok(query) => query,
        Err(error) => return Refusal::from(error).into_response(),
    };
    let asked = PageRequest { reader, store, path, query, here };
    if asked.path == EVENTS && !is_form && asked.reader.context.store.is_some() {
        return events(asked, request, stop).await;
    }
    let answered = match *request.method() {
        HttpMethod::GET | HttpMethod::HEAD => pages::answer(&asked).boxed().await,
        HttpMethod::POST => forms::answer(&asked, request, is_script).boxed().await,
        _ => Err(Error::new(Code::Unsupported, "pages answer to GET, and forms to POST")),
    };
    let mut response = answered.unwrap_or_else(|error| match is_script && is_form {
        true => Refusal::from(error).into_response(),
        false => asked.error_page(&error),
    });
    if encoding {
        response = html::compressed(response).await;
    }
    response.extensions_mut().insert(OperationLabel("ui"));
    response
}

/// Parses a query string or the body of a form.
pub(crate) fn pairs(text: &str) -> Result<Pairs> {
    let bad = || Error::invalid("the form is not percent-encoded UTF-8");
    percent_decode::query(text).map(|pair| pair.ok_or_else(bad)).collect()
}

/// The event stream for a page: the events, and who else has one open.
async fn events(asked: PageRequest, request: Request, stop: watch::Receiver<bool>) -> Response {
    let PageRequest { reader, store, .. } = asked;
    let here = store.presence.join(&reader.context.caller.actor);
    let ended = reader.is_ended.clone();
    let mut response = match stream::answer(reader.context, store, request.uri(), request.headers(), stop).await {
        Ok(response) => presence::beside(response, here, ended),
        Err(error) => Refusal::from(error).into_response(),
    };
    response.extensions_mut().insert(OperationLabel("ui.events"));
    response
}

/// The value of a cookie.
pub(crate) fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let all = headers.get_all(axum::http::header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// The page that asks for a token.
pub(crate) fn login_page(status: StatusCode, problem: Option<&Error>, asks_name: bool) -> Response {
    let notice =
        problem.map(|error| PageNotice { text: error.message.clone(), hint: error.hint.clone(), is_error: true });
    html::page(status, &layout::login(notice.as_ref(), asks_name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn a_cookie_is_found_by_its_whole_name() {
        let mut headers = HeaderMap::new();
        headers.append("cookie", HeaderValue::from_static("a=1; xpensa=2;pensa=3"));
        headers.append("cookie", HeaderValue::from_static("other=4"));
        assert_eq!(cookie(&headers, "pensa"), Some("3"));
        assert_eq!(cookie(&headers, "other"), Some("4"));
        assert_eq!(cookie(&headers, "pens"), None);
    }

    #[test]
    fn only_paths_below_ui_are_pages() {
        for page in ["/", "/ui", "/ui/", "/ui/board"] {
            assert!(is_page(page), "{page}");
        }
        for other in ["", "/issues", "/uix", "/ui2/board", "//ui/"] {
            assert!(!is_page(other), "{other}");
        }
    }
}
