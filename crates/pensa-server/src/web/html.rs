//! Builds the responses of pages: security headers, compression, redirects and assets.

use std::io::Write;
use std::sync::OnceLock;

use axum::body::{Body, Bytes};
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, LOCATION,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::BodyExt;
use pensa_core::Error;
use pensa_web::{Markup, assets};

use crate::response::Refusal;

/// Nothing from elsewhere, nothing inline, no frames.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
/// Smaller bodies are sent as they are.
const MIN_COMPRESSED: usize = 1024;
/// Assets are the same as long as the program: each is compressed once.
const MAX_ASSETS: usize = 16;

/// A page.
pub(crate) fn page(status: StatusCode, markup: &Markup) -> Response {
    let mut response = (status, markup.0.clone()).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    protect(headers);
    response
}

fn protect(headers: &mut HeaderMap) {
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Without a referrer, browsers would also hide the origin of forms.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(OPENER_POLICY, HeaderValue::from_static("same-origin"));
}

/// Sends the browser to another address of this server.
pub(crate) fn redirect(to: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    headers.insert(LOCATION, HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static("/")));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    protect(headers);
    response
}

/// A style sheet or script.
pub(crate) fn asset(name: &str, is_gzip: bool) -> Response {
    static PACKED: [OnceLock<Bytes>; MAX_ASSETS] = [const { OnceLock::new() }; MAX_ASSETS];
    let Some((at, asset)) = assets::find(name) else {
        return Refusal::from(Error::not_found("asset", name)).into_response();
    };
    let packed = PACKED.get(at).filter(|_| is_gzip);
    let packed = packed.map(|packed| packed.get_or_init(|| gzip(asset.text.as_bytes(), Compression::best()).into()));
    let mut response = match packed {
        Some(packed) => packed.clone().into_response(),
        None => asset.text.into_response(),
    };
    let headers = response.headers_mut();
    if packed.is_some() {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(asset.media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    protect(headers);
    response
}

/// Whether the client reads gzip.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let given = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    given.split(',').any(|coding| coding.trim().split(';').next() == Some("gzip"))
}

/// The same response with its body compressed, if that is worth it.
pub(crate) async fn compressed(response: Response) -> Response {
    let (mut head, body) = response.into_parts();
    if head.headers.contains_key(CONTENT_ENCODING) {
        return Response::from_parts(head, body);
    }
    let whole = match body.collect().await {
        Ok(whole) => whole.to_bytes(),
        Err(never) => return Refusal::from(Error::internal(never)).into_response(),
    };
    if whole.len() < MIN_COMPRESSED {
        return Response::from_parts(head, Body::from(whole));
    }
    head.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    head.headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    Response::from_parts(head, Body::from(gzip(&whole, Compression::fast())))
}

fn gzip(text: &[u8], level: Compression) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 4), level);
    // Writing into memory does not fail.
    let _ = encoder.write_all(text);
    encoder.finish().unwrap_or_default()
}
