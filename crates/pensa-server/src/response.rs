//! Builds HTTP responses: every response is JSON, errors included. The error code determines the status.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use pensa_core::{Code, Error, json};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A JSON response.
pub(crate) fn ok(status: StatusCode, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, JSON);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// An error with its HTTP status.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) error: Error,
    /// `Retry-After` in seconds.
    pub(crate) retry_after: Option<u64>,
}

/// The error code of a response, for logs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RefusalCode(pub(crate) Code);

impl Refusal {
    pub(crate) fn new(status: StatusCode, error: Error) -> Self {
        Self { status, error, retry_after: None }
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Error::new(Code::Forbidden, message).into()
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let status = StatusCode::from_u16(error.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::new(status, error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let text = json::to_line(&self.error).unwrap_or_else(|_| r#"{"error":"internal","code":"internal"}"#.into());
        let mut response = ok(self.status, text);
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.extensions_mut().insert(RefusalCode(self.error.code));
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// The response for an unknown path.
pub(crate) fn unknown_path(path: &str) -> Refusal {
    Error::not_found("path", path).hint("GET /openapi.json lists every path").into()
}

/// The response for a method that the path does not support. The router adds the `Allow` header.
pub(crate) fn wrong_method(method: &str, path: &str) -> Refusal {
    let error = Error::new(Code::Unsupported, format!("{path} does not answer to {method}"))
        .hint("GET /openapi.json lists every path and its methods");
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, error)
}
