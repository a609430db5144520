//! Builds the routes: one for every operation in the catalog, the event stream and the MCP endpoint.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{Method as HttpMethod, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{self, MethodFilter};
use pensa_core::{Code, Error, Method, Result, Scope, json};
use pensa_engine::{Entry, IdempotentRequest, catalog, insufficient_rights};
use tokio::sync::watch;

use crate::dispatch::unexpected;
use crate::fields::Fields;
use crate::mcp::http::{AllowedCallers, McpEndpoint};
use crate::openapi::{self, openapi};
use crate::request_context::{OperationLabel, RequestContext};
use crate::response::{self, Refusal};
use crate::served_store::ServedStore;
use crate::{headers, mcp, request, stream};

/// The route of one operation.
#[derive(Debug)]
struct OperationRoute {
    entry: &'static Entry,
    fields: Fields,
    method: Method,
    success: StatusCode,
}

impl OperationRoute {
    fn of(entry: &'static Entry) -> Result<Self> {
        Ok(Self {
            entry,
            fields: Fields::of_schema(&entry.root_schema()),
            method: entry.route.method,
            success: StatusCode::from_u16(entry.route.success).map_err(Error::internal)?,
        })
    }

    /// Answers a request and labels the response with the operation's name.
    async fn answer(&self, request: Request) -> Response {
        let mut response = self.try_answer(request).await.unwrap_or_else(IntoResponse::into_response);
        response.extensions_mut().insert(OperationLabel(self.entry.name));
        response
    }

    async fn try_answer(&self, mut request: Request) -> Result<Response, Refusal> {
        let mut context: RequestContext = request.extensions_mut().remove().ok_or_else(unexpected)?;
        let entry = self.entry;
        if entry.access > context.caller.may {
            return Err(insufficient_rights(entry.access, entry.name).into());
        }
        context.caller.actor = headers::actor(request.headers())?;
        context.caller.origin = headers::origin(request.headers())?;
        context.caller.no_redact = headers::no_redact(request.headers())?;
        let key = headers::idempotency_key(request.headers())?;
        if let Some(server) = context.server.clone().filter(|_| entry.scope == Scope::Server) {
            let input = request::read_input(request, self.method, &self.fields, entry.max_body).await?;
            let once = self.once(&context, key, &input)?;
            let text = server.run(entry, context.caller, input, once).await?;
            return Ok(response::ok(self.success, text));
        }
        let store = context.store.clone().ok_or_else(no_project)?;
        let input = request::read_input(request, self.method, &self.fields, entry.max_body).await?;
        let once = self.once(&context, key, &input)?;
        let text = store.dispatch.run(entry, context.caller, input, once).await?;
        if self.method != Method::Get {
            store.notify();
        }
        Ok(response::ok(self.success, text))
    }

    fn once(
        &self,
        context: &RequestContext,
        key: Option<String>,
        input: &serde_json::Value,
    ) -> Result<Option<IdempotentRequest>> {
        let Some(key) = key.filter(|_| self.method != Method::Get) else { return Ok(None) };
        let entry = self.entry;
        let input = input.to_string();
        let parts = [entry.name, &context.caller.actor, &input].map(str::as_bytes);
        IdempotentRequest::new(context.caller.token.as_deref(), &key, &parts, entry.returns_secret).map(Some)
    }
}

pub(crate) fn no_project() -> Error {
    Error::new(Code::NotFound, "this address names no project").hint("projects are at /p/NAME")
}

/// Builds the router: every operation of the catalog, the event stream, the OpenAPI document and the MCP endpoint.
pub(crate) fn build(stop: watch::Receiver<bool>, callers: &AllowedCallers<'_>) -> Result<Router> {
    let mut router = Router::new();
    for entry in catalog() {
        let route = Arc::new(OperationRoute::of(entry)?);
        let handler = move |request: Request| {
            let route = Arc::clone(&route);
            async move { route.answer(request).await }
        };
        router = router.route(entry.route.path, routing::on(filter(entry.route.method), handler));
    }
    let tools = McpEndpoint::new(callers);
    let tools = move |request: Request| {
        let tools = tools.clone();
        async move { tools.answer(request).await }
    };
    let document = json::to_line(&openapi())?;
    let document = move || std::future::ready(response::ok(StatusCode::OK, document.clone()));
    Ok(router
        .route(openapi::PATH, routing::get(document))
        .route(mcp::http::PATH, routing::post(tools))
        .route(stream::PATH, routing::get(move |request: Request| events(request, stop.clone())))
        .fallback(async |uri: Uri| response::unknown_path(uri.path()))
        .method_not_allowed_fallback(async |method: HttpMethod, uri: Uri| {
            response::wrong_method(method.as_str(), uri.path())
        }))
}

async fn events(mut request: Request, stop: watch::Receiver<bool>) -> Response {
    let stream = async {
        let context: RequestContext = request.extensions_mut().remove().ok_or_else(unexpected)?;
        let store: Arc<ServedStore> = context.store.clone().ok_or_else(no_project)?;
        stream::answer(context, store, request.uri(), request.headers(), stop).await
    };
    let mut response = stream.await.unwrap_or_else(|error| Refusal::from(error).into_response());
    response.extensions_mut().insert(OperationLabel("events"));
    response
}

fn filter(method: Method) -> MethodFilter {
    match method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Patch => MethodFilter::PATCH,
        Method::Delete => MethodFilter::DELETE,
    }
}
