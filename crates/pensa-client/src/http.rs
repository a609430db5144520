//! Calls operations over HTTP.

use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use pensa_core::caller::Caller;
use pensa_core::issue::Origin;
use pensa_core::ops::event;
use pensa_core::{Access, Code, Error, Op, Result, Route, VERSION, id};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};
use ureq::http::request::Builder;
use ureq::http::{HeaderMap, Request, header};
use ureq::{Agent, BodyReader};
use uuid::Uuid;

use crate::retry::{AttemptResult, ServerResponse, next_delay};
use crate::tls;
use crate::token::Token;

/// Time limit for name resolution, and again for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit for a whole response; an export or import may take a while.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(120);
/// Time limit for a call with all its attempts.
const CALL_TIMEOUT: Duration = Duration::from_secs(180);
/// Lines of the event stream are read in parts of at most this length.
const MAX_LINE: u64 = 1 << 16;
/// Time limit for silence of an event stream; a server sends keepalives more often.
const STREAM_READ_TIMEOUT: Duration = Duration::from_secs(45);
/// Everything except the unreserved characters of RFC 3986, section 2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Maximum size of a response.
const MAX_RESPONSE: u64 = 1 << 30;

/// A server that speaks Pensa's REST API.
#[derive(Debug, Clone)]
pub struct Remote {
    url: String,
    token: Option<Token>,
    store_id: Option<String>,
    agent: Agent,
}

/// Options of a connection to a server.
#[derive(Debug, Clone, Default)]
pub struct RemoteOptions {
    pub url: String,
    pub token: Option<Token>,
    /// The expected store id; a server with another store refuses the request.
    pub store_id: Option<String>,
    /// A PEM file with the certificate authorities to trust instead of the usual ones; used for `https` only.
    pub ca_file: Option<PathBuf>,
}

/// A request that can be sent repeatedly.
struct PreparedRequest {
    head: Request<()>,
    body: Option<String>,
}

impl Remote {
    pub fn new(options: RemoteOptions) -> Result<Self> {
        let RemoteOptions { url, token, store_id, ca_file } = options;
        let url = server_address(&url)?;
        let mut config = Agent::config_builder()
            .timeout_resolve(Some(CONNECT_TIMEOUT))
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .http_status_as_error(false)
            // Following a redirect could send the token to another server.
            .max_redirects(0)
            .proxy(None);
        if url.starts_with("https:") {
            config = config.tls_config(tls::config(ca_file.as_deref())?);
        }
        Ok(Self { url, token, store_id, agent: config.build().new_agent() })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Runs one operation. Attempts that may have been lost are repeated a few times. Every change has an idempotency
    /// key, the caller's or a new one, so that the server applies it only once.
    pub fn call<O: Op>(&self, caller: &Caller, op: &O, key: Option<String>) -> Result<O::Output> {
        let fields = serde_json::to_value(op).map_err(Error::internal)?;
        let (response, may_have_applied) =
            self.send_with_retries((O::NAME, O::ROUTE, O::ACCESS), fields, caller, key)?;
        serde_json::from_str(&response.text)
            .map_err(|_| unknown_outcome(may_have_applied, self.unexpected_response(response.status)))
    }

    /// Sends a request until an attempt is final. Not generic, so that it is compiled only once. Also returns whether
    /// an earlier attempt may have made the change.
    fn send_with_retries(
        &self,
        (name, route, access): (&str, Route, Access),
        fields: Value,
        caller: &Caller,
        key: Option<String>,
    ) -> Result<(ServerResponse, bool)> {
        let Value::Object(fields) = fields else {
            return Err(Error::internal(format!("{name} is not an object")));
        };
        let request = self.request(route, access, fields, caller, key)?;
        let deadline = Instant::now() + CALL_TIMEOUT;
        let (mut attempt, mut may_have_applied) = (1, false);
        loop {
            let result = self.send(&request, deadline);
            let attempt_result = AttemptResult::of(&result);
            may_have_applied |= access != Access::Read && attempt_result.may_have_applied(&result);
            let wait = next_delay(attempt, attempt_result).filter(|wait| Instant::now() + *wait < deadline);
            let Some(wait) = wait else {
                let response = self.check_success(result).map_err(|error| unknown_outcome(may_have_applied, error))?;
                return Ok((response, may_have_applied));
            };
            thread::sleep(wait);
            attempt += 1;
        }
    }

    /// Calls `on_change` at the start and after every event, until it returns false, the connection ends or the stream
    /// is silent for too long.
    pub fn follow(&self, mut on_change: impl FnMut() -> bool) -> Result<()> {
        let mut lines = BufReader::new(self.stream(&event::List::default())?);
        let mut line = Vec::new();
        let mut continues = on_change();
        while continues {
            line.clear();
            match lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) if line.starts_with(b"id:") => continues = on_change(),
                Ok(_) => {}
            }
        }
        Ok(())
    }

    fn request(
        &self,
        route: Route,
        access: Access,
        fields: Map<String, Value>,
        caller: &Caller,
        key: Option<String>,
    ) -> Result<PreparedRequest> {
        let (path, rest) = fill_path(route, fields)?;
        let (query, body) = if route.method.fields_in_query() {
            (query_string(&rest), None)
        } else {
            (String::new(), Some(Value::Object(rest).to_string()))
        };
        let mut head = self.head(route.method.as_str(), &format!("{path}{query}"), &caller.actor);
        if access != Access::Read {
            head = head.header("Idempotency-Key", key.unwrap_or_else(|| Uuid::new_v4().to_string()));
            if caller.no_redact {
                head = head.header("Pensa-Redact", "off");
            }
            let Origin { session, run, host } = &caller.origin;
            for (name, value) in [("Pensa-Session", session), ("Pensa-Run", run), ("Pensa-Host", host)] {
                if let Some(value) = value {
                    head = head.header(name, percent_encode(value));
                }
            }
        }
        if body.is_some() {
            head = head.header(header::CONTENT_TYPE, "application/json");
        }
        Ok(PreparedRequest { head: head.body(()).map_err(invalid_request)?, body })
    }

    /// Builds a request with the common headers.
    fn head(&self, method: &str, target: &str, actor: &str) -> Builder {
        let mut head = Request::builder()
            .method(method)
            .uri(format!("{}{target}", self.url))
            .header("Pensa-Version", VERSION)
            .header("Pensa-Actor", percent_encode(actor));
        if let Some(id) = &self.store_id {
            head = head.header("Pensa-Store", id);
        }
        if let Some(token) = &self.token {
            head = head.header(header::AUTHORIZATION, format!("Bearer {}", token.reveal()));
        }
        head
    }

    /// Opens the event stream.
    pub(crate) fn stream(&self, query: &event::List) -> Result<BodyReader<'static>> {
        let Value::Object(fields) = serde_json::to_value(query).map_err(Error::internal)? else {
            return Err(Error::internal("the query is not a JSON object"));
        };
        let head = self.head("GET", &format!("/events{}", query_string(&fields)), "reader").body(());
        let head = self.agent.configure_request(head.map_err(invalid_request)?);
        let head =
            head.timeout_recv_response(Some(RESPONSE_TIMEOUT)).timeout_per_read(Some(STREAM_READ_TIMEOUT)).build();
        let mut response = self.agent.run(head).map_err(|e| self.unreachable(&e))?;
        if response.status().as_u16() == 200 {
            return Ok(response.into_body().into_reader());
        }
        let text = response.body_mut().with_config().limit(MAX_RESPONSE).read_to_string().unwrap_or_default();
        Err(serde_json::from_str::<Error>(&text).unwrap_or_else(|_| self.unexpected_stream()))
    }

    /// The error for a stream that does not come from Pensa.
    pub(crate) fn unexpected_stream(&self) -> Error {
        Error::new(Code::Unsupported, format!("{} does not stream events like Pensa", self.url))
            .hint("check the address, and that the server is no older than pn")
    }

    /// Makes one attempt: sends the request and reads the whole response.
    fn send(&self, request: &PreparedRequest, deadline: Instant) -> Result<ServerResponse, ureq::Error> {
        let left = deadline.saturating_duration_since(Instant::now()).min(RESPONSE_TIMEOUT);
        let head = self.agent.configure_request(request.head.clone()).timeout_global(Some(left)).build();
        let mut response = match &request.body {
            Some(body) => self.agent.run(head.map(|()| body.as_str())),
            None => self.agent.run(head),
        }?;
        let text = response.body_mut().with_config().limit(MAX_RESPONSE).read_to_string()?;
        Ok(ServerResponse { status: response.status().as_u16(), retry_after: retry_after(response.headers()), text })
    }

    /// Returns a successful response, or the error that it contains.
    fn check_success(&self, result: Result<ServerResponse, ureq::Error>) -> Result<ServerResponse> {
        let response = result.map_err(|e| self.unreachable(&e))?;
        if (200..300).contains(&response.status) {
            return Ok(response);
        }
        Err(serde_json::from_str(&response.text).unwrap_or_else(|_| self.unexpected_response(response.status)))
    }

    fn unexpected_response(&self, status: u16) -> Error {
        Error::new(Code::Unreachable, format!("{} does not answer like Pensa (HTTP {status})", self.url))
            .hint("check the address")
    }

    fn unreachable(&self, error: &ureq::Error) -> Error {
        if let Some(rustls::Error::InvalidCertificate(error)) = tls::rustls_error(error) {
            let message = format!("cannot trust {}: {}", self.url, tls::certificate_problem(error));
            return Error::new(Code::Unreachable, message)
                .hint("a private authority is named by SSL_CERT_FILE, or by pn remote add --ca-cert");
        }
        let error = match error {
            ureq::Error::Io(e) if e.kind() == ErrorKind::ConnectionRefused => "nothing listens there".to_owned(),
            ureq::Error::Io(e) => e.to_string(),
            ureq::Error::Timeout(_) => "it did not answer in time".to_owned(),
            other => other.to_string(),
        };
        let hint = if self.url.starts_with("https:") || self.url.contains("/p/") {
            "is the server up? ask its operator"
        } else {
            "start it with pn daemon; --remote-server '' works on the store itself"
        };
        Error::new(Code::Unreachable, format!("cannot reach {}: {error}", self.url)).hint(hint)
    }
}

/// Replaces an error by "not known whether the change was made" if an attempt may have made it. Errors other than
/// unreachable, busy and timeout come from a server that knows that it did not make the change.
fn unknown_outcome(may_have_applied: bool, error: Error) -> Error {
    if !may_have_applied
        || !matches!(error.code, Code::Unreachable | Code::Busy | Code::Timeout)
        || error.message.contains("not known")
    {
        return error;
    }
    Error::new(Code::Unreachable, format!("it is not known whether the change was made: {}", error.message))
        .hint("look before trying again")
}

/// Checks and normalises a server address.
pub(crate) fn server_address(url: &str) -> Result<String> {
    let url = url.trim().trim_end_matches('/');
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    if url.contains('@') {
        // Not quoted in the error: the text before the @ may be a secret.
        return Err(Error::invalid("the address of a server must not hold a name or password")
            .hint("hand the token over in PN_TOKEN, or keep it with pn remote add"));
    }
    if rest.is_none_or(|rest| rest.is_empty() || rest.contains(['?', '#', ' '])) {
        return Err(
            Error::invalid(format!("not the address of a server: {url:?}")).hint("such as http://localhost:7533")
        );
    }
    Ok(url.to_owned())
}

/// The `Retry-After` header in seconds; the date form is ignored.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The error for a request that HTTP cannot express, such as a query of a hundred kilobytes.
fn invalid_request(error: ureq::http::Error) -> Error {
    Error::new(Code::TooLarge, format!("the request cannot be sent: {error}"))
}

/// Fills the fields of the path. Returns the path and the remaining fields.
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

/// Encodes a path segment. A value that is a plain word could be mistaken for a route of the API (`/issues/ready`), so
/// its first letter is percent-encoded.
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
    utf8_percent_encode(text, RESERVED).to_string()
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

    fn at(url: &str) -> Result<Remote> {
        Remote::new(RemoteOptions { url: url.to_owned(), ..RemoteOptions::default() })
    }

    #[test]
    fn invalid_server_address_is_refused() {
        for bad in ["", "localhost:7533", "ftp://x", "http://", "http://a@b", "http://a?b"] {
            assert!(at(bad).is_err(), "{bad:?}");
        }
        assert_eq!(at("http://x:1/").expect("fine").url(), "http://x:1");
        assert_eq!(at("https://x/p/web/").expect("fine").url(), "https://x/p/web");
    }

    #[test]
    fn a_password_in_an_address_is_refused_and_not_repeated() {
        let error = at("https://ana:s3cret@host/p/web").expect_err("credentials");
        assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
    }

    #[test]
    fn hint_for_an_unreachable_server_depends_on_its_kind() {
        let hint = |url| at(url).expect("fine").unreachable(&ureq::Error::ConnectionFailed).hint.expect("a hint");
        assert!(hint("http://localhost:7533").contains("pn daemon"));
        assert!(hint("https://host").contains("ask its operator"));
        assert!(hint("http://host/p/web").contains("ask its operator"));
    }

    #[test]
    fn certificates_do_not_matter_without_tls() {
        let options = |url: &str| RemoteOptions {
            url: url.to_owned(),
            ca_file: Some("/nonexistent/ca.pem".into()),
            ..RemoteOptions::default()
        };
        assert!(Remote::new(options("http://x")).is_ok());
        assert_eq!(Remote::new(options("https://x")).expect_err("not there").code, Code::InvalidInput);
    }
}
