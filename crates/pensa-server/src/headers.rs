//! The headers of Pensa's own: who asks, which version, which store.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use pensa_core::issue::Origin;
use pensa_core::{Code, Error, Result, VERSION, text};

use crate::percent;

const ACTOR: HeaderName = HeaderName::from_static("pensa-actor");
const SESSION: HeaderName = HeaderName::from_static("pensa-session");
const RUN: HeaderName = HeaderName::from_static("pensa-run");
const HOST: HeaderName = HeaderName::from_static("pensa-host");
const VERSION_NAME: HeaderName = HeaderName::from_static("pensa-version");
const REDACT: HeaderName = HeaderName::from_static("pensa-redact");
const STORE: HeaderName = HeaderName::from_static("pensa-store");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const VERSION_VALUE: HeaderValue = HeaderValue::from_static(VERSION);
pub(crate) const NOBODY_SAID: &str = "unknown";

/// The name under which a request runs; percent-encoded, so that any name can travel.
pub(crate) fn actor(headers: &HeaderMap) -> Result<String> {
    Ok(given_actor(headers)?.unwrap_or_else(|| NOBODY_SAID.to_owned()))
}

/// The session, run and host that a request says it comes from.
pub(crate) fn origin(headers: &HeaderMap) -> Result<Origin> {
    Ok(Origin {
        session: line(headers, &SESSION, "Pensa-Session")?,
        run: line(headers, &RUN, "Pensa-Run")?,
        host: line(headers, &HOST, "Pensa-Host")?,
    })
}

/// A percent-encoded line of text.
fn line(headers: &HeaderMap, name: &HeaderName, told: &str) -> Result<Option<String>> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let bad = || Error::invalid(format!("{told} is not percent-encoded UTF-8"));
    let value = percent::decode(value.as_bytes()).ok_or_else(bad)?;
    text::line(told, &value).map(|value| Some(value.to_owned()))
}

/// The same, if the request says it.
pub(crate) fn given_actor(headers: &HeaderMap) -> Result<Option<String>> {
    line(headers, &ACTOR, "Pensa-Actor")
}

/// Whether a request asks for its texts to be kept with the secrets in them.
pub(crate) fn no_redact(headers: &HeaderMap) -> Result<bool> {
    match headers.get(&REDACT).map(HeaderValue::as_bytes) {
        None | Some(b"on") => Ok(false),
        Some(b"off") => Ok(true),
        Some(_) => Err(Error::invalid("Pensa-Redact is on or off")),
    }
}

/// Which store is served, as the answers tell it and requests may ask for it.
#[derive(Debug)]
pub(crate) struct Identity {
    store: HeaderValue,
}

impl Identity {
    pub(crate) fn new(store_id: &str) -> Result<Self> {
        let store = HeaderValue::from_str(store_id)
            .map_err(|_| Error::invalid("the store_id in config.toml is not plain text"))?;
        Ok(Self { store })
    }

    /// Refuses a client that means another store, or whose version does not go with this one.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<()> {
        if let Some(wanted) = headers.get(&STORE).filter(|wanted| *wanted != self.store) {
            let wanted = String::from_utf8_lossy(wanted.as_bytes());
            let served = String::from_utf8_lossy(self.store.as_bytes());
            return Err(Error::new(Code::WrongStore, format!("this server serves store {served}, not {wanted}"))
                .hint("check PN_DAEMON or --remote-server"));
        }
        check_version(headers)
    }

    /// Tells on an answer which version and store gave it.
    pub(crate) fn stamp(&self, headers: &mut HeaderMap) {
        stamp_version(headers);
        headers.insert(STORE, self.store.clone());
    }
}

/// Refuses a client whose version does not go with this one.
pub(crate) fn check_version(headers: &HeaderMap) -> Result<()> {
    match headers.get(&VERSION_NAME) {
        Some(version) if !goes_with(version.as_bytes()) => {
            let theirs = String::from_utf8_lossy(version.as_bytes());
            Err(Error::new(Code::Conflict, format!("the client is version {theirs}, this server is {VERSION}"))
                .hint("update the older of the two and restart the daemon"))
        }
        _ => Ok(()),
    }
}

/// Tells on an answer which version gave it.
pub(crate) fn stamp_version(headers: &mut HeaderMap) {
    headers.insert(VERSION_NAME, VERSION_VALUE);
}

/// The key under which a change is to be made once, however often the request arrives.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>> {
    let Some(value) = headers.get(&IDEMPOTENCY_KEY) else { return Ok(None) };
    let bad = |_| Error::invalid("the Idempotency-Key is not plain text");
    value.to_str().map(|key| Some(key.to_owned())).map_err(bad)
}

/// Same major version; before 1.0, where every minor version may break, same minor version too.
fn goes_with(theirs: &[u8]) -> bool {
    let line = |version: &str| {
        let mut numbers = version.split('.').map(str::parse::<u64>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(0)), Some(Ok(minor))) => Some((0, minor)),
            (Some(Ok(major)), Some(Ok(_))) if major > 0 => Some((major, 0)),
            _ => None,
        }
    };
    theirs == VERSION.as_bytes()
        || str::from_utf8(theirs).ok().and_then(line).is_some_and(|theirs| line(VERSION) == Some(theirs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_versions_of_the_same_line_go_together() {
        let mut parts = VERSION.split('.').map(|part| part.parse::<u64>().expect("a number"));
        let (major, minor) = (parts.next().expect("major"), parts.next().expect("minor"));
        assert!(goes_with(VERSION.as_bytes()));
        assert!(goes_with(format!("{major}.{minor}.999").as_bytes()));
        assert_eq!(goes_with(format!("{major}.{}.0", minor + 1).as_bytes()), major > 0);
        for other in [&format!("{}.{minor}.0", major + 1), "", "x", "0", "1.x", "-1.0"] {
            assert!(!goes_with(other.as_bytes()), "{other}");
        }
    }
}
