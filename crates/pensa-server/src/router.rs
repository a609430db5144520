//! Makes one route of every operation in the catalog.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::uri::PathAndQuery;
use axum::http::{Method as HttpMethod, StatusCode, Uri};
use axum::response::Response;
use axum::routing::{self, MethodFilter};
use pensa_core::{Error, Method, Result, json};
use pensa_engine::{Entry, catalog};
use schemars::SchemaGenerator;

use crate::answer::{self, Refusal};
use crate::dispatch::{Dispatch, Operation};
use crate::fields::Fields;
use crate::openapi::{self, openapi};
use crate::{headers, request};

/// One operation at its place.
#[derive(Debug)]
struct Place {
    operation: Arc<Operation>,
    fields: Fields,
    method: Method,
    success: StatusCode,
}

impl Place {
    fn of(entry: &'static Entry) -> Result<Self> {
        let schema = (entry.input_schema)(&mut SchemaGenerator::default());
        Ok(Self {
            operation: Arc::new(Operation::new(entry)),
            fields: Fields::of_schema(schema.as_value()),
            method: entry.route.method,
            success: StatusCode::from_u16(entry.route.success).map_err(Error::internal)?,
        })
    }

    async fn answer(&self, dispatch: &Dispatch, request: Request) -> Result<Response, Refusal> {
        let actor = headers::actor(request.headers())?;
        let question = (self.method == Method::Get).then(|| request.uri().clone());
        let question = question.as_ref().and_then(Uri::path_and_query).map(PathAndQuery::as_str);
        if let Some(answer) = question.and_then(|question| dispatch.known(question)) {
            return Ok(answer::ok(self.success, answer));
        }
        let input = request::input(request, self.method, &self.fields).await?;
        let text = dispatch.run(&self.operation, actor, input, question).await?;
        Ok(answer::ok(self.success, text))
    }
}

/// Every operation of the catalog at its path, and the document that lists them.
pub(crate) fn of_catalog(dispatch: Dispatch) -> Result<Router> {
    of_entries(catalog(), dispatch)
}

fn of_entries(entries: &'static [Entry], dispatch: Dispatch) -> Result<Router> {
    let dispatch = Arc::new(dispatch);
    let mut router = Router::new();
    for entry in entries {
        let (place, dispatch) = (Arc::new(Place::of(entry)?), Arc::clone(&dispatch));
        let handler = move |request: Request| {
            let (place, dispatch) = (Arc::clone(&place), Arc::clone(&dispatch));
            async move { place.answer(&dispatch, request).await }
        };
        router = router.route(entry.route.path, routing::on(filter(entry.route.method), handler));
    }
    let document = json::to_line(&openapi())?;
    let document = move || std::future::ready(answer::ok(StatusCode::OK, document.clone()));
    Ok(router
        .route(openapi::PATH, routing::get(document))
        .fallback(async |uri: Uri| answer::unknown_path(uri.path()))
        .method_not_allowed_fallback(async |method: HttpMethod, uri: Uri| {
            answer::wrong_method(method.as_str(), uri.path())
        }))
}

fn filter(method: Method) -> MethodFilter {
    match method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Patch => MethodFilter::PATCH,
        Method::Delete => MethodFilter::DELETE,
    }
}
