//! What happens to every request of every connection: guard, router, and the server's name on the answer.

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

use crate::answer::Refusal;
use crate::dispatch;
use crate::guard::Guard;
use crate::listen::Serve;
use crate::peer::Peer;
use crate::scene::Scene;
use crate::served::Served;

/// Answers requests to the one store of a daemon.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    guard: Arc<Guard>,
    store: Arc<Served>,
    router: TowerToHyperService<Router>,
}

impl Service {
    pub(crate) fn new(guard: Guard, store: Served, router: Router) -> Self {
        Self { guard: Arc::new(guard), store: Arc::new(store), router: TowerToHyperService::new(router) }
    }
}

impl Serve for Service {
    async fn answer(&self, mut request: Request<Body>, peer: &Peer) -> Result<Response, Infallible> {
        let mut response = match self.guard.admit(&request, peer) {
            Ok(()) => {
                // Whoever is let in has the store in hand; its name is read where it is needed.
                let (store, caller) = (Some(Arc::clone(&self.store)), Caller::local(""));
                request.extensions_mut().insert(Scene { store, caller, desk: None, pass: None });
                survive(self.router.call(request)).await?
            }
            Err(refusal) => refusal.into_response(),
        };
        self.guard.identity.stamp(response.headers_mut());
        Ok(response)
    }
}

/// One bad request must not take its connection down with it.
pub(crate) async fn survive<E>(answering: impl Future<Output = Result<Response, E>>) -> Result<Response, E> {
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
    async fn a_request_that_panics_is_answered() {
        let answer = survive(async { panic!("on purpose") }).await;
        let answer: Result<Response, Infallible> = answer;
        assert_eq!(answer.expect("an answer").status(), StatusCode::INTERNAL_SERVER_ERROR);
    }
}
