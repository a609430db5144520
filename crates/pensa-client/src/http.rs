//! Operations over HTTP: the reverse of what the server does with its catalog.

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

use crate::retry::{Answer, Outcome, again};
use crate::tls;
use crate::token::Token;

/// Longest wait for a host's address, and then for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest wait for a whole answer; an export or import may take a while.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);
/// Longest a call may take with all its tries.
const CALL_TIMEOUT: Duration = Duration::from_secs(180);
/// Longest line of a stream of events that is kept.
const MAX_LINE: u64 = 1 << 16;
/// Longest silence of a stream; a server says more often that it is still there.
const SILENCE: Duration = Duration::from_secs(45);
/// What may stand for itself nowhere in a URL (RFC 3986, 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Largest answer that is read.
const MAX_ANSWER: u64 = 1 << 30;

/// A server that speaks Pensa's REST API.
#[derive(Debug, Clone)]
pub struct Remote {
    url: String,
    token: Option<Token>,
    store_id: Option<String>,
    agent: Agent,
}

/// Which server to talk to, and as whom.
#[derive(Debug, Clone, Default)]
pub struct RemoteOptions {
    pub url: String,
    pub token: Option<Token>,
    /// The store the caller believes to talk to, if it knows: another one refuses to answer.
    pub store_id: Option<String>,
    /// A PEM file of the authorities to trust instead of the usual ones; read for `https` only.
    pub ca_file: Option<PathBuf>,
}

/// A request that can be sent again.
struct Sendable {
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
            // A redirect could carry the token somewhere else.
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

    /// Runs one operation. What may be lost on the way is sent again, a few times; a change has a key by which the
    /// server knows that it is the same one: the caller's, who may try again later, or one of its own.
    pub fn call<O: Op>(&self, caller: &Caller, op: &O, key: Option<String>) -> Result<O::Output> {
        let fields = serde_json::to_value(op).map_err(Error::internal)?;
        let (answer, in_doubt) = self.exchange((O::NAME, O::ROUTE, O::ACCESS), fields, caller, key)?;
        serde_json::from_str(&answer.text).map_err(|_| doubted(in_doubt, self.no_pensa_answer(answer.status)))
    }

    /// The same without types, so that it is compiled once and not for every operation: the answer, and whether an
    /// earlier try may have made the change.
    fn exchange(
        &self,
        (name, route, access): (&str, Route, Access),
        fields: Value,
        caller: &Caller,
        key: Option<String>,
    ) -> Result<(Answer, bool)> {
        let Value::Object(fields) = fields else {
            return Err(Error::internal(format!("{name} is not an object")));
        };
        let request = self.request(route, access, fields, caller, key)?;
        let deadline = Instant::now() + CALL_TIMEOUT;
        let (mut attempt, mut in_doubt) = (1, false);
        loop {
            let tried = self.send(&request, deadline);
            let outcome = Outcome::of(&tried);
            in_doubt |= access != Access::Read && outcome.leaves_doubt(&tried);
            let wait = again(attempt, outcome).filter(|wait| Instant::now() + *wait < deadline);
            let Some(wait) = wait else {
                let answer = self.understand(tried).map_err(|error| doubted(in_doubt, error))?;
                return Ok((answer, in_doubt));
            };
            thread::sleep(wait);
            attempt += 1;
        }
    }

    /// Follows what happens in the store: `each` is told whenever there is something, also at the beginning, and says
    /// whether to go on. Ends with the connection, or when that is silent for too long.
    pub fn follow(&self, mut each: impl FnMut() -> bool) -> Result<()> {
        let mut lines = BufReader::new(self.stream(&event::List::default())?);
        let mut line = Vec::new();
        let mut goes_on = each();
        while goes_on {
            line.clear();
            match lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) if line.starts_with(b"id:") => goes_on = each(),
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
    ) -> Result<Sendable> {
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
        Ok(Sendable { head: head.body(()).map_err(unsendable)?, body })
    }

    /// A request with what every request says.
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

    /// Opens the stream of events, and gives what it says.
    pub(crate) fn stream(&self, wanted: &event::List) -> Result<BodyReader<'static>> {
        let Value::Object(fields) = serde_json::to_value(wanted).map_err(Error::internal)? else {
            return Err(Error::internal("what is wanted is not an object"));
        };
        let head = self.head("GET", &format!("/events{}", query_string(&fields)), "reader").body(());
        let head = self.agent.configure_request(head.map_err(unsendable)?);
        let head = head.timeout_recv_response(Some(ANSWER_TIMEOUT)).timeout_per_read(Some(SILENCE)).build();
        let mut answer = self.agent.run(head).map_err(|e| self.unreachable(&e))?;
        if answer.status().as_u16() == 200 {
            return Ok(answer.into_body().into_reader());
        }
        let text = answer.body_mut().with_config().limit(MAX_ANSWER).read_to_string().unwrap_or_default();
        Err(serde_json::from_str::<Error>(&text).unwrap_or_else(|_| self.not_pensa()))
    }

    /// What is said of a server that says what no Pensa says.
    pub(crate) fn not_pensa(&self) -> Error {
        Error::new(Code::Unsupported, format!("{} does not stream events like Pensa", self.url))
            .hint("check the address, and that the server is no older than pn")
    }

    /// One try: the request out, the whole answer in.
    fn send(&self, request: &Sendable, deadline: Instant) -> Result<Answer, ureq::Error> {
        let left = deadline.saturating_duration_since(Instant::now()).min(ANSWER_TIMEOUT);
        let head = self.agent.configure_request(request.head.clone()).timeout_global(Some(left)).build();
        let mut answer = match &request.body {
            Some(body) => self.agent.run(head.map(|()| body.as_str())),
            None => self.agent.run(head),
        }?;
        let text = answer.body_mut().with_config().limit(MAX_ANSWER).read_to_string()?;
        Ok(Answer { status: answer.status().as_u16(), retry_after: retry_after(answer.headers()), text })
    }

    /// The answer of a server that did what it was asked for.
    fn understand(&self, tried: Result<Answer, ureq::Error>) -> Result<Answer> {
        let answer = tried.map_err(|e| self.unreachable(&e))?;
        if (200..300).contains(&answer.status) {
            return Ok(answer);
        }
        Err(serde_json::from_str(&answer.text).unwrap_or_else(|_| self.no_pensa_answer(answer.status)))
    }

    fn no_pensa_answer(&self, status: u16) -> Error {
        Error::new(Code::Unreachable, format!("{} does not answer like Pensa (HTTP {status})", self.url))
            .hint("check the address")
    }

    fn unreachable(&self, why: &ureq::Error) -> Error {
        if let Some(rustls::Error::InvalidCertificate(why)) = tls::objection(why) {
            let message = format!("cannot trust {}: {}", self.url, tls::distrust(why));
            return Error::new(Code::Unreachable, message)
                .hint("a private authority is named by SSL_CERT_FILE, or by pn remote add --ca-cert");
        }
        let why = match why {
            ureq::Error::Io(e) if e.kind() == ErrorKind::ConnectionRefused => "nothing listens there".to_owned(),
            ureq::Error::Io(e) => e.to_string(),
            ureq::Error::Timeout(_) => "it did not answer in time".to_owned(),
            other => other.to_string(),
        };
        let hint = if self.url.starts_with("https:") || self.url.contains("/p/") {
            "is the server up? ask whoever runs it"
        } else {
            "start it with pn daemon; --remote-server '' works on the store itself"
        };
        Error::new(Code::Unreachable, format!("cannot reach {}: {why}", self.url)).hint(hint)
    }
}

/// What is said of a change that some try may have made. A refusal for another reason than want of reach comes from a
/// server that knows that it was not made.
fn doubted(in_doubt: bool, error: Error) -> Error {
    if !in_doubt
        || !matches!(error.code, Code::Unreachable | Code::Busy | Code::Timeout)
        || error.message.contains("not known")
    {
        return error;
    }
    Error::new(Code::Unreachable, format!("it is not known whether the change was made: {}", error.message))
        .hint("look before trying again")
}

/// An address as it is used, if it is one that a server can have.
pub(crate) fn server_address(url: &str) -> Result<String> {
    let url = url.trim().trim_end_matches('/');
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    if url.contains('@') {
        // Not repeated: what stands before the @ may be a secret.
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

/// How long the server asks to wait, in seconds; the other form, a date, is not worth a calendar.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
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
    fn what_is_no_server_address_is_refused() {
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
    fn who_can_help_with_a_server_depends_on_whose_it_is() {
        let hint = |url| at(url).expect("fine").unreachable(&ureq::Error::ConnectionFailed).hint.expect("a hint");
        assert!(hint("http://localhost:7533").contains("pn daemon"));
        assert!(hint("https://host").contains("whoever runs it"));
        assert!(hint("http://host/p/web").contains("whoever runs it"));
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
