//! Badges and charts for READMEs: `/badge/ready.svg` and `/chart/burndown.svg`.

use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Method, Request};
use axum::response::{IntoResponse, Response};
use pensa_core::ops::issue::{Count, Counted};
use pensa_core::ops::triage::Chart;
use pensa_core::{Error, Op, Result};
use pensa_engine::{Caller, entry};
use pensa_web::svg::badge;
use pensa_web::svg::chart::{ChartKind, Series};

use crate::dispatch::unexpected;
use crate::served_store::ServedStore;

/// A picture of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Embed {
    /// How many issues are ready.
    Ready,
    Chart(ChartKind),
}

impl Embed {
    /// What is at a path below a project.
    pub(crate) fn at(path: &str) -> Option<Self> {
        if path == "/badge/ready.svg" {
            return Some(Self::Ready);
        }
        let word = path.strip_prefix("/chart/")?.strip_suffix(".svg")?;
        ChartKind::ALL.into_iter().find(|kind| kind.word() == word).map(Self::Chart)
    }

    /// What a request asks for.
    pub(crate) fn of<B>(request: &Request<B>) -> Option<Self> {
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        Self::at(request.uri().path()).filter(|_| is_read)
    }

    pub(crate) async fn answer(self, store: &ServedStore) -> Result<Response> {
        self.draw(store).await.map(picture)
    }

    pub(crate) async fn draw(self, store: &ServedStore) -> Result<String> {
        match self {
            Self::Ready => {
                let ready = ask(store, &Count { q: Some("is:ready".to_owned()), ..Count::default() }).await?;
                let Counted::Plain { count, .. } = ready else { return Err(unexpected()) };
                Ok(badge::badge("ready", &count.to_string(), count > 0))
            }
            Self::Chart(kind) => Series::of(kind, &ask(store, &Chart::default()).await?).as_svg(),
        }
    }
}

async fn ask<O: Op>(store: &ServedStore, op: &O) -> Result<O::Output> {
    let input = serde_json::to_value(op).map_err(Error::internal)?;
    let entry = entry(O::NAME).ok_or_else(unexpected)?;
    let answer = store.dispatch.run(entry, Caller::local("badge"), input, None).await?;
    serde_json::from_slice(&answer).map_err(Error::internal)
}

/// A drawing that is kept for a minute, and can do nothing.
pub(crate) fn picture(svg: String) -> Response {
    let mut response = svg.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("image/svg+xml"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=60"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_have_paths_of_their_own() {
        assert_eq!(Embed::at("/badge/ready.svg"), Some(Embed::Ready));
        assert_eq!(Embed::at("/chart/cycle-time.svg"), Some(Embed::Chart(ChartKind::CycleTime)));
        for other in ["/chart", "/chart/", "/chart/x.svg", "/badge/blocked.svg", "/chart/burndown"] {
            assert_eq!(Embed::at(other), None, "{other}");
        }
    }
}
