//! Merges path, query and body of a request into the one JSON object that an operation takes as input.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, RawPathParams, Request};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body as _;
use pensa_core::{Code, Error, Method, Result};
use serde_json::{Map, Value};
use tokio::time::timeout;

use crate::fields::{self, Fields};
use crate::percent_decode;

/// Time limit for receiving a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the rest of an oversized body is still read, so that its sender gets to read the response.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Reads the input of an operation with these fields; the body may have at most `limit` bytes.
pub(crate) async fn read_input(request: Request, method: Method, fields: &Fields, limit: usize) -> Result<Value> {
    let (mut parts, body) = request.into_parts();
    let mut input = Map::new();
    let path = RawPathParams::from_request_parts(&mut parts, &())
        .await
        .map_err(|_| Error::invalid("the path is not percent-encoded UTF-8"))?;
    for (name, text) in &path {
        fields.add_text(&mut input, name, text.to_owned())?;
    }
    for pair in parts.uri.query().into_iter().flat_map(percent_decode::query) {
        let (name, text) = pair.ok_or_else(|| Error::invalid("the query is not percent-encoded UTF-8"))?;
        fields.add_text(&mut input, &name, text)?;
    }
    if body.is_end_stream() {
        return Ok(Value::Object(input));
    }
    if method == Method::Get {
        return Err(Error::invalid("a GET request has no body").hint("put the fields into the query"));
    }
    for (name, value) in object(&read_body(body, limit).await?)? {
        fields::add(&mut input, &name, value)?;
    }
    Ok(Value::Object(input))
}

fn object(body: &[u8]) -> Result<Map<String, Value>> {
    if body.is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Error::invalid("the body must be a JSON object")),
        Err(e) => Err(Error::invalid(format!("the body is not JSON: {e}"))),
    }
}

/// Reads a whole body; an error if it is too large or too slow.
pub(crate) async fn read_body(mut body: Body, limit: usize) -> Result<Bytes> {
    let late = || Error::new(Code::Timeout, format!("the body did not arrive within {} s", BODY_TIMEOUT.as_secs()));
    // Refuse by Content-Length alone, before the body arrives.
    if body.size_hint().lower() <= limit as u64 {
        match timeout(BODY_TIMEOUT, Limited::new(&mut body, limit).collect()).await.map_err(|_| late())? {
            Ok(whole) => return Ok(whole.to_bytes()),
            Err(e) if e.is::<LengthLimitError>() => {}
            Err(e) => return Err(Error::invalid(format!("the body broke off: {e}"))),
        }
    }
    drain(body, limit);
    Err(too_large(limit))
}

fn too_large(limit: usize) -> Error {
    Error::new(Code::TooLarge, format!("the body is larger than {} MiB", limit >> 20))
        .hint("send several smaller requests")
}

/// Reads and discards a bounded part of the body in the background. If the connection were closed while the client is
/// still writing, the client would see a broken pipe instead of the response.
fn drain(mut body: Body, limit: usize) {
    tokio::spawn(timeout(DRAIN_TIMEOUT, async move {
        let mut left = 2 * limit;
        while let Some(Ok(frame)) = body.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, |data| data.len()));
            if left == 0 {
                break;
            }
        }
    }));
}
