//! Operations over HTTP: the reverse of what the server does with its catalog.

use std::io::ErrorKind;
use std::time::Duration;

use pensa_core::{Code, Error, Method, Op, Result, Route, VERSION, id};
use serde_json::{Map, Value};
use ureq::Agent;
use ureq::http::{Request, Response};

/// Longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest wait for a whole answer; an export or import may take a while.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);
/// Largest answer that is read.
const MAX_ANSWER: u64 = 1 << 30;

/// A server that speaks Pensa's REST API.
#[derive(Debug)]
pub struct Remote {
    url: String,
    token: Option<String>,
    store_id: Option<String>,
    agent: Agent,
}

impl Remote {
    /// `store_id` is the store the caller believes to talk to, if it knows: another one refuses to answer.
    pub fn new(url: &str, token: Option<String>, store_id: Option<String>) -> Result<Self> {
        let url = url.trim().trim_end_matches('/').to_owned();
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        if rest.is_none_or(|rest| rest.is_empty() || rest.contains(['?', '#', '@', ' '])) {
            return Err(
                Error::invalid(format!("not the address of a server: {url:?}")).hint("such as http://localhost:7533")
            );
        }
        let agent = Agent::config_builder()
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_global(Some(ANSWER_TIMEOUT))
            .http_status_as_error(false)
            // A redirect could carry the token somewhere else.
            .max_redirects(0)
            .proxy(None)
            .build()
            .new_agent();
        Ok(Self { url, token, store_id, agent })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn call<O: Op>(&self, actor: &str, op: &O) -> Result<O::Output> {
        let Value::Object(fields) = serde_json::to_value(op).map_err(Error::internal)? else {
            return Err(Error::internal(format!("{} is not an object", O::NAME)));
        };
        let (path, rest) = fill_path(O::ROUTE, fields)?;
        let (query, body) = if O::ROUTE.method.fields_in_query() {
            (query_string(&rest), String::new())
        } else {
            (String::new(), Value::Object(rest).to_string())
        };
        let mut request = Request::builder()
            .method(O::ROUTE.method.as_str())
            .uri(format!("{}{path}{query}", self.url))
            .header("Pensa-Version", VERSION)
            .header("Pensa-Actor", percent_encode(actor));
        if let Some(id) = &self.store_id {
            request = request.header("Pensa-Store", id);
        }
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let answer = if O::ROUTE.method == Method::Get || body.is_empty() {
            request.body(()).map_err(unsendable).and_then(|request| self.sent(self.agent.run(request)))
        } else {
            let request = request.header("Content-Type", "application/json").body(body).map_err(unsendable);
            request.and_then(|request| self.sent(self.agent.run(request)))
        }?;
        self.read::<O>(answer)
    }

    fn sent(&self, sent: Result<Response<ureq::Body>, ureq::Error>) -> Result<Response<ureq::Body>> {
        sent.map_err(|e| self.unreachable(e))
    }

    fn read<O: Op>(&self, mut answer: Response<ureq::Body>) -> Result<O::Output> {
        let status = answer.status();
        let text =
            answer.body_mut().with_config().limit(MAX_ANSWER).read_to_string().map_err(|e| self.unreachable(e))?;
        let not_pensa = || {
            Error::new(Code::Unreachable, format!("{} does not answer like Pensa (HTTP {})", self.url, status.as_u16()))
                .hint("check the address")
        };
        if status.is_success() {
            return serde_json::from_str(&text).map_err(|_| not_pensa());
        }
        Err(serde_json::from_str::<Error>(&text).unwrap_or_else(|_| not_pensa()))
    }

    fn unreachable(&self, why: ureq::Error) -> Error {
        let why = match why {
            ureq::Error::Io(e) if e.kind() == ErrorKind::ConnectionRefused => "nothing listens there".to_owned(),
            ureq::Error::Timeout(_) => "it did not answer in time".to_owned(),
            other => other.to_string(),
        };
        Error::new(Code::Unreachable, format!("cannot reach {}: {why}", self.url))
            .hint("start it with pn daemon, or unset PN_DAEMON to work on the store itself")
    }
}

/// What HTTP has no room for, such as a query of a hundred kilobytes.
fn unsendable(why: ureq::http::Error) -> Error {
    Error::new(Code::TooLarge, format!("the request cannot be sent: {why}"))
}

/// Puts the fields a path names into it; gives back the others.
fn fill_path(route: Route, mut fields: Map<String, Value>) -> Result<(String, Map<String, Value>)> {
    let mut path = route.path.to_owned();
    for name in route.path_fields() {
        let value = fields.shift_remove(name);
        let text = value.as_ref().and_then(Value::as_str).unwrap_or_default();
        id::check(text)?;
        path = path.replace(&format!("{{{name}}}"), &segment(text));
    }
    Ok((path, fields))
}

/// A value as a segment of a path. A plain word could be one of the API's own (`/issues/ready`): its first letter is
/// written as a code, which only a value can be.
fn segment(text: &str) -> String {
    match text.bytes().next() {
        Some(first) if text.bytes().all(|byte| byte.is_ascii_lowercase()) => format!("%{first:02X}{}", &text[1..]),
        _ => percent_encode(text),
    }
}

fn query_string(fields: &Map<String, Value>) -> String {
    let mut pairs = Vec::new();
    for (name, value) in fields {
        let values = match value {
            Value::Array(many) => many.as_slice(),
            one => std::slice::from_ref(one),
        };
        for value in values {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            pairs.push(format!("{name}={}", percent_encode(&text)));
        }
    }
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use pensa_core::ops::{dep, issue};

    fn fields(op: &impl Op) -> Map<String, Value> {
        match serde_json::to_value(op).expect("serialises") {
            Value::Object(fields) => fields,
            other => panic!("not an object: {other}"),
        }
    }

    #[test]
    fn fields_go_into_the_path_then_the_query() {
        let op = dep::Tree { id: "pn-1/../é".parse().expect("a ref"), direction: dep::Direction::Up };
        let (path, rest) = fill_path(dep::Tree::ROUTE, fields(&op)).expect("an id");
        assert_eq!(path, "/issues/pn-1%2F..%2F%C3%A9/deps/tree");
        assert_eq!(query_string(&rest), "?direction=up");
    }

    #[test]
    fn lists_and_numbers_have_a_query_form() {
        assert_eq!(segment("ready"), "%72eady");
        let op = issue::List { limit: Some(5), assignee: Some("Zoë & co".into()), ..Default::default() };
        assert_eq!(query_string(&fields(&op)), "?assignee=Zo%C3%AB%20%26%20co&limit=5");
    }

    #[test]
    fn what_is_no_server_address_is_refused() {
        for bad in ["", "localhost:7533", "ftp://x", "http://", "http://a@b", "http://a?b"] {
            assert!(Remote::new(bad, None, None).is_err(), "{bad:?}");
        }
        assert_eq!(Remote::new("http://x:1/", None, None).expect("fine").url(), "http://x:1");
    }
}
