//! Makes HTTP answers: every one of them, errors too, is JSON.
//!
//! Which status an error has is left to its code; only what HTTP itself refuses has a status of its own here.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use pensa_core::{Code, Error, json};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// JSON text as an answer.
pub(crate) fn ok(status: StatusCode, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, JSON);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// An error on its way to a client, with the status it will have.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) error: Error,
    /// After how many seconds to try again.
    pub(crate) retry_after: Option<u64>,
}

/// Why a request was refused, for logs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refused(pub(crate) Code);

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
        response.extensions_mut().insert(Refused(self.error.code));
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// The answer to a path that is not in the catalog.
pub(crate) fn unknown_path(path: &str) -> Refusal {
    Error::not_found("path", path).hint("GET /openapi.json lists every path").into()
}

/// The answer to a method that its path does not know. The router adds which ones it knows.
pub(crate) fn wrong_method(method: &str, path: &str) -> Refusal {
    let error = Error::new(Code::Unsupported, format!("{path} does not answer to {method}"))
        .hint("GET /openapi.json lists every path and its methods");
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, error)
}
