//! Decides whether a form was sent by one of our own pages.

use axum::http::header::{CONTENT_TYPE, HOST, HeaderName, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use pensa_core::{Code, Error};

use crate::response::Refusal;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Refuses forms of other sites, and bodies that are no forms. Browsers say where a form comes from: in `Sec-Fetch-Site`,
/// or over plain HTTP between machines in `Origin`.
pub(crate) fn check(headers: &HeaderMap) -> Result<(), Refusal> {
    let foreign = || Refusal::forbidden("forms are accepted from our own pages only");
    let is_own = match headers.get(SEC_FETCH_SITE).map(HeaderValue::as_bytes) {
        Some(site) => site == b"same-origin",
        None => names_our_host(headers),
    };
    if !is_own || headers.get(ORIGIN).is_some_and(|origin| origin == "null") {
        return Err(foreign());
    }
    let given = headers.get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let kind = given.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if kind.eq_ignore_ascii_case(b"application/x-www-form-urlencoded") {
        return Ok(());
    }
    let error = Error::new(Code::Unsupported, "pages take forms only").hint("programs use the API: GET /openapi.json");
    Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error))
}

fn names_our_host(headers: &HeaderMap) -> bool {
    let mut origins = headers.get_all(ORIGIN).iter();
    let (Some(origin), None, Some(host)) = (origins.next(), origins.next(), headers.get(HOST)) else { return false };
    let origin = origin.as_bytes();
    let named = origin.strip_prefix(b"http://").or_else(|| origin.strip_prefix(b"https://"));
    named.is_some_and(|named| named.eq_ignore_ascii_case(host.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn only_forms_of_our_own_pages_pass() {
        let form = ("content-type", "application/x-www-form-urlencoded; charset=utf-8");
        let host = ("host", "box:7533");
        assert!(check(&headers(&[form, host, ("sec-fetch-site", "same-origin")])).is_ok());
        assert!(check(&headers(&[form, host, ("origin", "http://box:7533")])).is_ok());
        assert!(check(&headers(&[form, host, ("origin", "https://BOX:7533")])).is_ok());
        for bad in [
            &[form, host][..],
            &[form, host, ("sec-fetch-site", "same-site")],
            &[form, host, ("sec-fetch-site", "none")],
            &[form, host, ("sec-fetch-site", "cross-site"), ("origin", "http://box:7533")],
            &[form, host, ("sec-fetch-site", "same-origin"), ("origin", "null")],
            &[form, host, ("origin", "http://evil.example")],
            &[form, host, ("origin", "http://box:7533"), ("origin", "http://evil.example")],
            &[form, ("origin", "http://box:7533")],
            &[host, ("sec-fetch-site", "same-origin"), ("content-type", "text/plain")],
            &[host, ("sec-fetch-site", "same-origin"), ("content-type", "application/json")],
            &[host, ("sec-fetch-site", "same-origin")],
        ] {
            assert!(check(&headers(bad)).is_err(), "{bad:?}");
        }
    }
}
