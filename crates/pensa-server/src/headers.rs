//! Reads and writes Pensa's own HTTP headers: actor, origin, version, store, redaction and idempotency key.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use pensa_core::issue::Origin;
use pensa_core::{Code, Error, Result, VERSION, text};

use crate::percent_decode;

const ACTOR: HeaderName = HeaderName::from_static("pensa-actor");
const SESSION: HeaderName = HeaderName::from_static("pensa-session");
const RUN: HeaderName = HeaderName::from_static("pensa-run");
const HOST: HeaderName = HeaderName::from_static("pensa-host");
const VERSION_NAME: HeaderName = HeaderName::from_static("pensa-version");
const REDACT: HeaderName = HeaderName::from_static("pensa-redact");
const STORE: HeaderName = HeaderName::from_static("pensa-store");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const VERSION_VALUE: HeaderValue = HeaderValue::from_static(VERSION);
pub(crate) const UNKNOWN_ACTOR: &str = "unknown";

/// The actor of a request, or `unknown`.
pub(crate) fn actor(headers: &HeaderMap) -> Result<String> {
    Ok(named_actor(headers)?.unwrap_or_else(|| UNKNOWN_ACTOR.to_owned()))
}

/// The session, run and host of the caller.
pub(crate) fn origin(headers: &HeaderMap) -> Result<Origin> {
    Ok(Origin {
        session: decoded(headers, &SESSION, "Pensa-Session")?,
        run: decoded(headers, &RUN, "Pensa-Run")?,
        host: decoded(headers, &HOST, "Pensa-Host")?,
    })
}

/// Decodes a percent-encoded header with one line of text; `None` if it is absent.
fn decoded(headers: &HeaderMap, name: &HeaderName, label: &str) -> Result<Option<String>> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let bad = || Error::invalid(format!("{label} is not percent-encoded UTF-8"));
    let value = percent_decode::decode(value.as_bytes()).ok_or_else(bad)?;
    text::line(label, &value).map(|value| Some(value.to_owned()))
}

/// The actor of a request; `None` if the header is absent.
pub(crate) fn named_actor(headers: &HeaderMap) -> Result<Option<String>> {
    decoded(headers, &ACTOR, "Pensa-Actor")
}

/// Whether the request turns redaction of secrets off.
pub(crate) fn no_redact(headers: &HeaderMap) -> Result<bool> {
    match headers.get(&REDACT).map(HeaderValue::as_bytes) {
        None | Some(b"on") => Ok(false),
        Some(b"off") => Ok(true),
        Some(_) => Err(Error::invalid("Pensa-Redact is on or off")),
    }
}

/// The id of the served store, sent with every response and compared with requests.
#[derive(Debug)]
pub(crate) struct StoreIdentity {
    store: HeaderValue,
}

impl StoreIdentity {
    pub(crate) fn new(store_id: &str) -> Result<Self> {
        let store = HeaderValue::from_str(store_id)
            .map_err(|_| Error::invalid("the store_id in config.toml is not plain text"))?;
        Ok(Self { store })
    }

    /// Refuses a request for another store or from an incompatible version.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<()> {
        if let Some(requested) = headers.get(&STORE).filter(|requested| *requested != self.store) {
            let requested = String::from_utf8_lossy(requested.as_bytes());
            let served = String::from_utf8_lossy(self.store.as_bytes());
            return Err(Error::new(Code::WrongStore, format!("this server serves store {served}, not {requested}"))
                .hint("check PN_DAEMON or --remote-server"));
        }
        check_version(headers)
    }

    /// Adds version and store to a response.
    pub(crate) fn stamp(&self, headers: &mut HeaderMap) {
        stamp_version(headers);
        headers.insert(STORE, self.store.clone());
    }
}

/// Refuses a request from an incompatible version.
pub(crate) fn check_version(headers: &HeaderMap) -> Result<()> {
    match headers.get(&VERSION_NAME) {
        Some(version) if !is_compatible(version.as_bytes()) => {
            let client_version = String::from_utf8_lossy(version.as_bytes());
            Err(Error::new(Code::Conflict, format!("the client is version {client_version}, this server is {VERSION}"))
                .hint("update the older of the two and restart the daemon"))
        }
        _ => Ok(()),
    }
}

/// Adds the version to a response.
pub(crate) fn stamp_version(headers: &mut HeaderMap) {
    headers.insert(VERSION_NAME, VERSION_VALUE);
}

/// The idempotency key of a request; `None` if it is absent.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>> {
    let Some(value) = headers.get(&IDEMPOTENCY_KEY) else { return Ok(None) };
    let bad = |_| Error::invalid("the Idempotency-Key is not plain text");
    value.to_str().map(|key| Some(key.to_owned())).map_err(bad)
}

/// Same major version; before 1.0 also the same minor version, because any minor version may break compatibility.
fn is_compatible(client_version: &[u8]) -> bool {
    let release_line = |version: &str| {
        let mut numbers = version.split('.').map(str::parse::<u64>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(0)), Some(Ok(minor))) => Some((0, minor)),
            (Some(Ok(major)), Some(Ok(_))) if major > 0 => Some((major, 0)),
            _ => None,
        }
    };
    client_version == VERSION.as_bytes()
        || str::from_utf8(client_version)
            .ok()
            .and_then(release_line)
            .is_some_and(|client_version| release_line(VERSION) == Some(client_version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_versions_of_one_release_line_are_compatible() {
        let mut parts = VERSION.split('.').map(|part| part.parse::<u64>().expect("a number"));
        let (major, minor) = (parts.next().expect("major"), parts.next().expect("minor"));
        assert!(is_compatible(VERSION.as_bytes()));
        assert!(is_compatible(format!("{major}.{minor}.999").as_bytes()));
        assert_eq!(is_compatible(format!("{major}.{}.0", minor + 1).as_bytes()), major > 0);
        for other in [&format!("{}.{minor}.0", major + 1), "", "x", "0", "1.x", "-1.0"] {
            assert!(!is_compatible(other.as_bytes()), "{other}");
        }
    }
}
