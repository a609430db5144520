//! The protocol over HTTP: every request stands for itself, there are no sessions.
//!
//! Who is let in was decided before; what each operation may do is looked at here, as for its own route.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use http_body_util::Full;
use pensa_core::{Error, Result, text};
use pensa_engine::{Caller, Execute, too_little};
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::Calls;
use super::frame::{self, Frame};
use super::handler::{Handler, Host};
use crate::answer::Refusal;
use crate::dispatch::{Operation, unexpected};
use crate::scene::{AnsweredBy, Scene};
use crate::served::Served;
use crate::{answer, headers, request, router};

/// Where it is served.
pub(crate) const PATH: &str = "/mcp";

/// Operations by their names.
pub(crate) type Operations = HashMap<&'static str, Arc<Operation>>;

/// By which names, and from which pages, clients may call.
#[derive(Debug)]
pub(crate) enum Callers<'a> {
    /// By these names, with or without a port, and from pages of theirs.
    At(&'a [String]),
    /// By any name, because each shows a token, and from no page.
    WithToken,
}

/// Answers the requests of clients that speak the protocol.
#[derive(Clone)]
pub(crate) struct Endpoint {
    service: StreamableHttpService<Handler<Stores>, NeverSessionManager>,
}

impl Endpoint {
    pub(crate) fn new(operations: Operations, callers: &Callers<'_>) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(frame::MAX_BYTES)
            .enforce_origin_validation();
        // The guard has looked at both already; this holds if it is ever forgotten.
        let config = match callers {
            Callers::At(hosts) => {
                let pages = hosts.iter().map(|host| format!("http://{host}"));
                config.with_allowed_hosts(hosts.iter().cloned()).with_allowed_origins(pages)
            }
            Callers::WithToken => config.disable_allowed_hosts(),
        };
        let handler = Handler { host: Stores { operations: Arc::new(operations) } };
        Self { service: StreamableHttpService::new(move || Ok(handler.clone()), Arc::default(), config) }
    }

    pub(crate) async fn answer(&self, request: Request) -> Response {
        let mut response = self.try_answer(request).await.unwrap_or_else(IntoResponse::into_response);
        response.extensions_mut().insert(AnsweredBy("mcp"));
        response
    }

    async fn try_answer(&self, request: Request) -> Result<Response, Refusal> {
        let (parts, body) = request.into_parts();
        let scene: &Scene = parts.extensions.get().ok_or_else(unexpected)?;
        scene.store.as_ref().ok_or_else(router::no_project)?;
        let bytes = request::read(body, frame::MAX_BYTES).await?;
        if let Frame::Refused(refused) = frame::read(&bytes) {
            let text = pensa_core::json::to_line(&refused)?;
            return Ok(answer::ok(axum::http::StatusCode::BAD_REQUEST, text));
        }
        let response = self.service.handle(Request::from_parts(parts, Full::new(bytes))).await;
        let mut response = response.map(Body::new);
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        Ok(response)
    }
}

/// Finds the store in the circumstances of a request.
#[derive(Debug, Clone)]
struct Stores {
    operations: Arc<Operations>,
}

impl Host for Stores {
    type Calls = OneStore;

    fn calls(&self, context: &RequestContext<RoleServer>) -> Result<OneStore> {
        let parts: &Parts = context.extensions.get().ok_or_else(unexpected)?;
        let scene: &Scene = parts.extensions.get().ok_or_else(unexpected)?;
        let store = scene.store.clone().ok_or_else(router::no_project)?;
        let mut caller = scene.caller.clone();
        caller.origin = headers::origin(&parts.headers)?;
        caller.no_redact = headers::no_redact(&parts.headers)?;
        caller.actor = match headers::given_actor(&parts.headers)? {
            Some(actor) => actor,
            // Requests without a session may name their client, each for itself.
            None => {
                let client = context.meta.client_info().map(|client| client.name);
                let name = client.and_then(|name| text::line("actor", &name).ok().map(str::to_owned));
                name.unwrap_or_else(|| headers::NOBODY_SAID.to_owned())
            }
        };
        Ok(OneStore { operations: Arc::clone(&self.operations), store, caller })
    }
}

/// A store as one caller has it.
#[derive(Debug)]
struct OneStore {
    operations: Arc<Operations>,
    store: Arc<Served>,
    caller: Caller,
}

impl Calls for OneStore {
    async fn call<O>(&self, op: O) -> Result<O::Output>
    where
        O: Execute,
        O::Output: Send,
    {
        let operation = self.operations.get(O::NAME).ok_or_else(unexpected)?;
        if O::ACCESS > self.caller.may {
            return Err(too_little(O::ACCESS, O::NAME));
        }
        let input = serde_json::to_value(&op).map_err(Error::internal)?;
        let answer = self.store.dispatch.run(operation, self.caller.clone(), input, None, None).await?;
        serde_json::from_slice(&answer).map_err(Error::internal)
    }

    async fn actor(&self) -> Result<String> {
        Ok(self.caller.actor.clone())
    }
}
