//! Answers every request to a daemon: guard, then router, then the headers that identify the store.

use std::convert::Infallible;
use std::future::poll_fn;
use std::panic::{self, AssertUnwindSafe};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::{IntoResponse, Response};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use pensa_engine::Caller;

use crate::dispatch;
use crate::embed::Embed;
use crate::guard::Guard;
use crate::listen::Serve;
use crate::peer::Peer;
use crate::request_context::RequestContext;
use crate::response::Refusal;
use crate::served_store::ServedStore;
use crate::web::daemon::{self, DaemonPages};

/// The HTTP service of a daemon with its one store.
#[derive(Debug, Clone)]
pub(crate) struct DaemonService {
    guard: Arc<Guard>,
    store: Arc<ServedStore>,
    router: TowerToHyperService<Router>,
    pages: Arc<DaemonPages>,
}

impl DaemonService {
    pub(crate) fn new(guard: Guard, store: ServedStore, router: Router, pages: DaemonPages) -> Self {
        let (guard, store, pages) = (Arc::new(guard), Arc::new(store), Arc::new(pages));
        Self { guard, store, router: TowerToHyperService::new(router), pages }
    }

    /// The path that lets a browser in.
    pub(crate) fn entry_path(&self) -> String {
        self.pages.entry_path()
    }

    /// Where a request begins; the route sets the actor, from the request's headers.
    fn context(&self) -> RequestContext {
        let (store, caller) = (Some(Arc::clone(&self.store)), Caller::local(""));
        RequestContext { store, caller, server: None, token_hash: None }
    }

    async fn embed(&self, embed: Embed) -> Response {
        embed.answer(&self.store).await.unwrap_or_else(|error| Refusal::from(error).into_response())
    }

    async fn page(&self, request: Request<Body>, peer: &Peer) -> Response {
        match self.guard.check_source(&request) {
            Ok(()) => self.pages.answer(&self.guard, self.context(), request, peer).await,
            Err(refusal) => refusal.into_response(),
        }
    }
}

impl Serve for DaemonService {
    async fn answer(&self, mut request: Request<Body>, peer: &Peer) -> Result<Response, Infallible> {
        if daemon::is_page(request.uri().path()) {
            return catch_panic(async { Ok(self.page(request, peer).await) }).await;
        }
        let mut response = match self.guard.admit(&request, peer) {
            Ok(()) => match Embed::of(&request) {
                Some(embed) => catch_panic(async { Ok::<_, Infallible>(self.embed(embed).await) }).await?,
                None => {
                    request.extensions_mut().insert(self.context());
                    catch_panic(self.router.call(request)).await?
                }
            },
            Err(refusal) => refusal.into_response(),
        };
        self.guard.identity.stamp(response.headers_mut());
        Ok(response)
    }
}

/// Turns a panic into an error response, so that one bad request does not close its connection.
pub(crate) async fn catch_panic<E>(answering: impl Future<Output = Result<Response, E>>) -> Result<Response, E> {
    let mut answering = pin!(answering);
    poll_fn(|cx| {
        let polled = panic::catch_unwind(AssertUnwindSafe(|| answering.as_mut().poll(cx)));
        polled.unwrap_or_else(|_| Poll::Ready(Ok(Refusal::from(dispatch::unexpected()).into_response())))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::StatusCode;

    #[tokio::test]
    async fn panicking_request_gets_an_error_response() {
        let answer = catch_panic(async { panic!("on purpose") }).await;
        let answer: Result<Response, Infallible> = answer;
        assert_eq!(answer.expect("an answer").status(), StatusCode::INTERNAL_SERVER_ERROR);
    }
}
