//! Makes one route of every operation in the catalog, of the stream of events and of the tools for models.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{Method as HttpMethod, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{self, MethodFilter};
use pensa_core::{Code, Error, Method, Result, Scope, json};
use pensa_engine::{Entry, Once, catalog, too_little};
use tokio::sync::watch;

use crate::answer::{self, Refusal};
use crate::dispatch::unexpected;
use crate::fields::Fields;
use crate::mcp::http::{Callers, Endpoint};
use crate::openapi::{self, openapi};
use crate::scene::{AnsweredBy, Scene};
use crate::served::Served;
use crate::{headers, mcp, request, stream};

/// One operation at its place.
#[derive(Debug)]
struct Place {
    entry: &'static Entry,
    fields: Fields,
    method: Method,
    success: StatusCode,
}

impl Place {
    fn of(entry: &'static Entry) -> Result<Self> {
        Ok(Self {
            entry,
            fields: Fields::of_schema(&entry.root_schema()),
            method: entry.route.method,
            success: StatusCode::from_u16(entry.route.success).map_err(Error::internal)?,
        })
    }

    /// The answer, with a note of what gave it.
    async fn answer(&self, request: Request) -> Response {
        let mut response = self.try_answer(request).await.unwrap_or_else(IntoResponse::into_response);
        response.extensions_mut().insert(AnsweredBy(self.entry.name));
        response
    }

    async fn try_answer(&self, mut request: Request) -> Result<Response, Refusal> {
        let mut scene: Scene = request.extensions_mut().remove().ok_or_else(unexpected)?;
        let entry = self.entry;
        if entry.access > scene.caller.may {
            return Err(too_little(entry.access, entry.name).into());
        }
        scene.caller.actor = headers::actor(request.headers())?;
        scene.caller.origin = headers::origin(request.headers())?;
        scene.caller.no_redact = headers::no_redact(request.headers())?;
        let key = headers::idempotency_key(request.headers())?;
        if let Some(desk) = scene.desk.clone().filter(|_| entry.scope == Scope::Server) {
            let input = request::input(request, self.method, &self.fields, entry.max_body).await?;
            let once = self.once(&scene, key, &input)?;
            let text = desk.run(entry, scene.caller, input, once).await?;
            return Ok(answer::ok(self.success, text));
        }
        let store = scene.store.clone().ok_or_else(no_project)?;
        let input = request::input(request, self.method, &self.fields, entry.max_body).await?;
        let once = self.once(&scene, key, &input)?;
        let text = store.dispatch.run(entry, scene.caller, input, once).await?;
        if self.method != Method::Get {
            store.tell();
        }
        Ok(answer::ok(self.success, text))
    }

    fn once(&self, scene: &Scene, key: Option<String>, input: &serde_json::Value) -> Result<Option<Once>> {
        let Some(key) = key.filter(|_| self.method != Method::Get) else { return Ok(None) };
        let entry = self.entry;
        let input = input.to_string();
        let parts = [entry.name, &scene.caller.actor, &input].map(str::as_bytes);
        Once::new(scene.caller.token.as_deref(), &key, &parts, entry.tells_secret).map(Some)
    }
}

pub(crate) fn no_project() -> Error {
    Error::new(Code::NotFound, "this address names no project").hint("projects are at /p/NAME")
}

/// Every operation of the catalog at its path, the stream of events, the document that lists them, and the tools for
/// models.
pub(crate) fn of_catalog(stop: watch::Receiver<bool>, callers: &Callers<'_>) -> Result<Router> {
    let mut router = Router::new();
    for entry in catalog() {
        let place = Arc::new(Place::of(entry)?);
        let handler = move |request: Request| {
            let place = Arc::clone(&place);
            async move { place.answer(request).await }
        };
        router = router.route(entry.route.path, routing::on(filter(entry.route.method), handler));
    }
    let tools = Endpoint::new(callers);
    let tools = move |request: Request| {
        let tools = tools.clone();
        async move { tools.answer(request).await }
    };
    let document = json::to_line(&openapi())?;
    let document = move || std::future::ready(answer::ok(StatusCode::OK, document.clone()));
    Ok(router
        .route(openapi::PATH, routing::get(document))
        .route(mcp::http::PATH, routing::post(tools))
        .route(stream::PATH, routing::get(move |request: Request| events(request, stop.clone())))
        .fallback(async |uri: Uri| answer::unknown_path(uri.path()))
        .method_not_allowed_fallback(async |method: HttpMethod, uri: Uri| {
            answer::wrong_method(method.as_str(), uri.path())
        }))
}

async fn events(mut request: Request, stop: watch::Receiver<bool>) -> Response {
    let stream = async {
        let scene: Scene = request.extensions_mut().remove().ok_or_else(unexpected)?;
        let store: Arc<Served> = scene.store.clone().ok_or_else(no_project)?;
        stream::answer(scene, store, request.uri(), request.headers(), stop).await
    };
    let mut response = stream.await.unwrap_or_else(|error| Refusal::from(error).into_response());
    response.extensions_mut().insert(AnsweredBy("events"));
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
