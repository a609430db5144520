//! Serves MCP over HTTP, without sessions. The guard has authorized the request; the role is checked for each
//! operation.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use http_body_util::Full;
use pensa_core::{Error, Result, text};
use pensa_engine::{Caller, Execute, insufficient_rights};
use rmcp::RoleServer;
use rmcp::service::RequestContext as McpContext;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::StoreCalls;
use super::frame::{self, RpcFrame};
use super::handler::{Handler, StoreFinder};
use crate::dispatch::unexpected;
use crate::request_context::{OperationLabel, RequestContext};
use crate::response::Refusal;
use crate::served_store::ServedStore;
use crate::{headers, request, response, router};

/// Path of the endpoint.
pub(crate) const PATH: &str = "/mcp";

/// Which hosts and origins are accepted.
#[derive(Debug)]
pub(crate) enum AllowedCallers<'a> {
    /// These hosts, with or without a port, and pages of theirs.
    At(&'a [String]),
    /// Any host, because every request carries a token, but no web page.
    WithToken,
}

/// Answers MCP requests.
#[derive(Clone)]
pub(crate) struct McpEndpoint {
    service: StreamableHttpService<Handler<RequestStores>, NeverSessionManager>,
}

impl McpEndpoint {
    pub(crate) fn new(callers: &AllowedCallers<'_>) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(frame::MAX_BYTES)
            .enforce_origin_validation();
        // The guard has checked both already; this is a second line of defence.
        let config = match callers {
            AllowedCallers::At(hosts) => {
                let pages = hosts.iter().map(|host| format!("http://{host}"));
                config.with_allowed_hosts(hosts.iter().cloned()).with_allowed_origins(pages)
            }
            AllowedCallers::WithToken => config.disable_allowed_hosts(),
        };
        let handler = Handler { stores: RequestStores };
        Self { service: StreamableHttpService::new(move || Ok(handler.clone()), Arc::default(), config) }
    }

    pub(crate) async fn answer(&self, request: Request) -> Response {
        let mut response = self.try_answer(request).await.unwrap_or_else(IntoResponse::into_response);
        response.extensions_mut().insert(OperationLabel("mcp"));
        response
    }

    async fn try_answer(&self, request: Request) -> Result<Response, Refusal> {
        let (parts, body) = request.into_parts();
        let context: &RequestContext = parts.extensions.get().ok_or_else(unexpected)?;
        context.store.as_ref().ok_or_else(router::no_project)?;
        let bytes = request::read_body(body, frame::MAX_BYTES).await?;
        if let RpcFrame::Refused(refused) = frame::read(&bytes) {
            let text = pensa_core::json::to_line(&refused)?;
            return Ok(response::ok(axum::http::StatusCode::BAD_REQUEST, text));
        }
        let response = self.service.handle(Request::from_parts(parts, Full::new(bytes))).await;
        let mut response = response.map(Body::new);
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        Ok(response)
    }
}

/// Finds the store in the request's context.
#[derive(Debug, Clone)]
struct RequestStores;

impl StoreFinder for RequestStores {
    type StoreCalls = CallerStore;

    fn find(&self, client_context: &McpContext<RoleServer>) -> Result<CallerStore> {
        let parts: &Parts = client_context.extensions.get().ok_or_else(unexpected)?;
        let context: &RequestContext = parts.extensions.get().ok_or_else(unexpected)?;
        let store = context.store.clone().ok_or_else(router::no_project)?;
        let mut caller = context.caller.clone();
        caller.origin = headers::origin(&parts.headers)?;
        caller.no_redact = headers::no_redact(&parts.headers)?;
        caller.actor = match headers::named_actor(&parts.headers)? {
            Some(actor) => actor,
            // A request without a session can name its client.
            None => {
                let client = client_context.meta.client_info().map(|client| client.name);
                let name = client.and_then(|name| text::line("actor", &name).ok().map(str::to_owned));
                name.unwrap_or_else(|| headers::UNKNOWN_ACTOR.to_owned())
            }
        };
        Ok(CallerStore { store, caller })
    }
}

/// A store as seen by one caller.
#[derive(Debug)]
struct CallerStore {
    store: Arc<ServedStore>,
    caller: Caller,
}

impl StoreCalls for CallerStore {
    async fn call<O>(&self, op: O) -> Result<O::Output>
    where
        O: Execute,
        O::Output: Send,
    {
        let entry = pensa_engine::entry(O::NAME).ok_or_else(unexpected)?;
        if O::ACCESS > self.caller.may {
            return Err(insufficient_rights(O::ACCESS, O::NAME));
        }
        let input = serde_json::to_value(&op).map_err(Error::internal)?;
        let answer = self.store.dispatch.run(entry, self.caller.clone(), input, None).await?;
        serde_json::from_slice(&answer).map_err(Error::internal)
    }

    async fn actor(&self) -> Result<String> {
        Ok(self.caller.actor.clone())
    }
}
