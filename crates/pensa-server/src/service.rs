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
use crate::guard::Guard;
use crate::listen::Serve;
use crate::peer::Peer;
use crate::request_context::RequestContext;
use crate::response::Refusal;
use crate::served_store::ServedStore;

/// The HTTP service of a daemon with its one store.
#[derive(Debug, Clone)]
pub(crate) struct DaemonService {
    guard: Arc<Guard>,
    store: Arc<ServedStore>,
    router: TowerToHyperService<Router>,
}

impl DaemonService {
    pub(crate) fn new(guard: Guard, store: ServedStore, router: Router) -> Self {
        Self { guard: Arc::new(guard), store: Arc::new(store), router: TowerToHyperService::new(router) }
    }
}

impl Serve for DaemonService {
    async fn answer(&self, mut request: Request<Body>, peer: &Peer) -> Result<Response, Infallible> {
        let mut response = match self.guard.admit(&request, peer) {
            Ok(()) => {
                // The actor is set by the route, from the request's headers.
                let (store, caller) = (Some(Arc::clone(&self.store)), Caller::local(""));
                request.extensions_mut().insert(RequestContext { store, caller, server: None, token_hash: None });
                catch_panic(self.router.call(request)).await?
            }
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
