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
use hyper::body::Incoming;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;

use crate::answer::Refusal;
use crate::dispatch;
use crate::guard::Guard;
use crate::peer::Peer;

/// Answers requests.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    guard: Arc<Guard>,
    router: TowerToHyperService<Router>,
}

impl Service {
    pub(crate) fn new(guard: Guard, router: Router) -> Self {
        Self { guard: Arc::new(guard), router: TowerToHyperService::new(router) }
    }

    pub(crate) async fn answer(&self, request: Request<Incoming>, peer: &Peer) -> Result<Response, Infallible> {
        let mut response = match self.guard.admit(&request, peer) {
            Ok(()) => survive(self.router.call(request.map(Body::new))).await?,
            Err(refusal) => refusal.into_response(),
        };
        self.guard.identity.stamp(response.headers_mut());
        Ok(response)
    }
}

/// One bad request must not take its connection down with it.
async fn survive<E>(answering: impl Future<Output = Result<Response, E>>) -> Result<Response, E> {
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
