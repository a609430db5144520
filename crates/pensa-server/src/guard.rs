//! Checks every request to a daemon before anything else: `Host`, `Origin`, token or same user, and content type.

use std::net::SocketAddr;

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use hyper::body::Body;
use pensa_core::{Code, Error, Result};
use subtle::ConstantTimeEq;

use crate::headers::StoreIdentity;
use crate::peer::Peer;
use crate::response::Refusal;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const LOCAL_NAMES: [&str; 4] = ["localhost", "127.0.0.1", "[::1]", "host.docker.internal"];

/// The rules that a request must satisfy.
#[derive(Debug)]
pub(crate) struct Guard {
    hosts: Vec<String>,
    token: String,
    pub(crate) identity: StoreIdentity,
}

impl Guard {
    pub(crate) fn new(listen: SocketAddr, extra: &[String], token: String, store_id: String) -> Result<Self> {
        Ok(Self { hosts: hosts(listen, extra), token, identity: StoreIdentity::new(&store_id)? })
    }

    /// The accepted `Host` values.
    pub(crate) fn hosts(&self) -> &[String] {
        &self.hosts
    }

    pub(crate) fn admit<B: Body>(&self, request: &Request<B>, peer: &Peer) -> Result<(), Refusal> {
        let headers = request.headers();
        self.check_source(request)?;
        self.check_token(headers, peer)?;
        check_content_type(request)?;
        Ok(self.identity.check(headers)?)
    }

    /// Checks host and origin, which pages and API have in common.
    pub(crate) fn check_source<B>(&self, request: &Request<B>) -> Result<(), Refusal> {
        self.check_host(request)?;
        self.check_origin(request.headers())
    }

    /// Whether this is the daemon's token.
    pub(crate) fn is_token(&self, given: &[u8]) -> bool {
        same_secret(given, self.token.as_bytes())
    }

    /// Prevents DNS rebinding: a web page can make its own name resolve to this machine, but the browser then sends
    /// that name.
    fn check_host<B>(&self, request: &Request<B>) -> Result<(), Refusal> {
        let mut given = request.headers().get_all(HOST).iter();
        let (first, second) = (given.next(), given.next());
        let target =
            request.uri().authority().is_none_or(|authority| self.is_allowed_host(authority.as_str().as_bytes()));
        match first {
            Some(host) if second.is_none() && target && self.is_allowed_host(host.as_bytes()) => Ok(()),
            _ => Err(forbidden("host", first).error.hint("a name is allowed by the daemon's --allow-host").into()),
        }
    }

    /// Browsers send the origin of the page that makes a request; only our own hosts are accepted.
    fn check_origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let foreign = headers
            .get_all(ORIGIN)
            .iter()
            .find(|origin| !origin.as_bytes().strip_prefix(b"http://").is_some_and(|host| self.is_allowed_host(host)));
        if foreign.is_some() {
            return Err(forbidden("origin", foreign));
        }
        match headers.get(SEC_FETCH_SITE) {
            Some(site) if site.as_bytes().eq_ignore_ascii_case(b"cross-site") => {
                Err(Refusal::forbidden("requests from other sites are refused"))
            }
            _ => Ok(()),
        }
    }

    fn is_allowed_host(&self, host: &[u8]) -> bool {
        self.hosts.iter().any(|allowed| allowed.as_bytes().eq_ignore_ascii_case(host))
    }

    pub(crate) fn check_token(&self, headers: &HeaderMap, peer: &Peer) -> Result<(), Refusal> {
        let token_header = headers.get(AUTHORIZATION).map(|value| bearer(value.as_bytes()));
        let wrong = match token_header {
            Some(Some(token)) if same_secret(token, self.token.as_bytes()) => return Ok(()),
            _ if peer.is_same_user() => return Ok(()),
            None => "a token is required",
            Some(_) => "the token is wrong",
        };
        Err(Error::new(Code::Unauthorized, wrong)
            .hint("send \"Authorization: Bearer TOKEN\"; the token is in the store's file local/token")
            .into())
    }
}

fn forbidden(what: &str, value: Option<&HeaderValue>) -> Refusal {
    let text = value.map(|value| String::from_utf8_lossy(value.as_bytes()));
    Refusal::forbidden(format!("{what} not allowed: {}", text.as_deref().unwrap_or("none given")))
}

/// Requires JSON: a form on another site cannot send it without a CORS preflight.
pub(crate) fn check_content_type<B: Body>(request: &Request<B>) -> Result<(), Refusal> {
    if matches!(*request.method(), Method::GET | Method::HEAD) || request.body().is_end_stream() {
        return Ok(());
    }
    let given = request.headers().get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let kind = given.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if kind.eq_ignore_ascii_case(b"application/json") {
        return Ok(());
    }
    let error = Error::new(Code::Unsupported, "the body of a request must be JSON")
        .hint("send \"Content-Type: application/json\"");
    Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error))
}

/// The token of an `Authorization` header; `None` if its scheme is not Bearer.
pub(crate) fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

/// Compares in constant time, so that timing does not reveal how much of a guess is right.
pub(crate) fn same_secret(given: &[u8], secret: &[u8]) -> bool {
    !secret.is_empty() && given.ct_eq(secret).into()
}

/// All accepted `Host` values for a server with this address.
fn hosts(listen: SocketAddr, extra: &[String]) -> Vec<String> {
    let port = listen.port();
    let mut names: Vec<String> = LOCAL_NAMES.map(str::to_owned).into();
    if !listen.ip().is_unspecified() {
        names.push(match listen {
            SocketAddr::V4(v4) => v4.ip().to_string(),
            SocketAddr::V6(v6) => format!("[{}]", v6.ip()),
        });
    }
    let mut hosts: Vec<String> = names.iter().map(|name| format!("{name}:{port}")).collect();
    if port == 80 {
        hosts.append(&mut names);
    }
    for name in extra.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
        hosts.push(name.to_owned());
        if !has_port(name) {
            hosts.push(format!("{name}:{port}"));
        }
    }
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

fn has_port(name: &str) -> bool {
    name.rsplit_once(':').is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit()))
        && (!name.starts_with('[') || name.contains("]:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(listen: &str, extra: &[&str]) -> Vec<String> {
        let extra: Vec<String> = extra.iter().map(|name| (*name).to_owned()).collect();
        hosts(listen.parse().expect("an address"), &extra)
    }

    #[test]
    fn hosts_include_the_port_unless_it_is_80() {
        let plain = at("127.0.0.1:7533", &[]);
        assert!(plain.contains(&"localhost:7533".to_owned()) && !plain.contains(&"localhost".to_owned()), "{plain:?}");
        assert!(at("127.0.0.1:80", &[]).contains(&"localhost".to_owned()));
    }

    #[test]
    fn a_specific_address_and_extra_names_are_hosts() {
        let hosts = at("192.0.2.7:7533", &["box.lan", "proxy.lan:8443", "[fd00::1]", ""]);
        for name in ["192.0.2.7:7533", "box.lan", "box.lan:7533", "proxy.lan:8443", "[fd00::1]", "[fd00::1]:7533"] {
            assert!(hosts.contains(&name.to_owned()), "{name} in {hosts:?}");
        }
        assert!(!hosts.contains(&"proxy.lan:7533".to_owned()) && !hosts.contains(&String::new()));
        assert!(!at("0.0.0.0:7533", &[]).contains(&"0.0.0.0:7533".to_owned()));
        assert!(at("[fd00::2]:7533", &[]).contains(&"[fd00::2]:7533".to_owned()));
    }

    #[test]
    fn secret_must_match_completely() {
        assert!(same_secret(b"abc", b"abc"));
        for bad in [&b""[..], b"ab", b"abd", b"abcd"] {
            assert!(!same_secret(bad, b"abc"), "{bad:?}");
        }
        assert!(!same_secret(b"", b""), "an empty secret protects nothing");
    }
}
