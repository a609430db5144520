//! Folds what a request says, in its path, query and body, into the one JSON object that an operation reads.
//!
//! Where the operation then runs is left to the dispatch.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, RawPathParams, Request};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body as _;
use pensa_core::{Code, Error, Method, Result};
use serde_json::{Map, Value};
use tokio::time::timeout;

use crate::fields::{self, Fields};
use crate::percent;

/// Longest time for a body to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);
/// How long the rest of a body that is too large is still taken in, so that its sender comes to read the answer.
const DRAIN_TIME: Duration = Duration::from_secs(5);

/// The input of an operation with these fields, from a body of at most `limit` bytes.
pub(crate) async fn input(request: Request, method: Method, fields: &Fields, limit: usize) -> Result<Value> {
    let (mut parts, body) = request.into_parts();
    let mut input = Map::new();
    let path = RawPathParams::from_request_parts(&mut parts, &())
        .await
        .map_err(|_| Error::invalid("the path is not percent-encoded UTF-8"))?;
    for (name, text) in &path {
        fields.add_text(&mut input, name, text.to_owned())?;
    }
    for pair in parts.uri.query().into_iter().flat_map(percent::query) {
        let (name, text) = pair.ok_or_else(|| Error::invalid("the query is not percent-encoded UTF-8"))?;
        fields.add_text(&mut input, &name, text)?;
    }
    if body.is_end_stream() {
        return Ok(Value::Object(input));
    }
    if method == Method::Get {
        return Err(Error::invalid("a GET request has no body").hint("put the fields into the query"));
    }
    for (name, value) in object(&read(body, limit).await?)? {
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

/// The whole body, unless it is too large or too slow.
pub(crate) async fn read(mut body: Body, limit: usize) -> Result<Bytes> {
    let late = || Error::new(Code::Timeout, format!("the body did not arrive within {} s", BODY_TIME.as_secs()));
    // Whoever announces too much need not send it first.
    if body.size_hint().lower() <= limit as u64 {
        match timeout(BODY_TIME, Limited::new(&mut body, limit).collect()).await.map_err(|_| late())? {
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

/// Takes in and forgets a bounded part of what a client still sends. A connection closed while its client is
/// writing shows the client a broken pipe instead of our answer.
fn drain(mut body: Body, limit: usize) {
    tokio::spawn(timeout(DRAIN_TIME, async move {
        let mut left = 2 * limit;
        while let Some(Ok(frame)) = body.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, |data| data.len()));
            if left == 0 {
                break;
            }
        }
    }));
}
