//! What happens to every request of a team's server: who asks, for which project, how often, and what is told of it.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use pensa_core::{Code, Error, Result};
use pensa_engine::{Caller, Grant};

use super::admission::unauthorized;
use super::desk::Desk;
use crate::answer::{self, Refusal, Refused};
use crate::guard::{bearer, check_content_type};
use crate::headers;
use crate::listen::Serve;
use crate::logs::{self, Log};
use crate::metrics::{self, Gauge, Held, Metrics};
use crate::peer::Peer;
use crate::scene::{AnsweredBy, Scene};
use crate::service::survive;

/// Where projects are.
const PROJECTS: &str = "/p/";

#[derive(Clone)]
pub(crate) struct TeamService {
    desk: Arc<Desk>,
    router: TowerToHyperService<Router>,
    metrics: Metrics,
    log: Log,
}

impl fmt::Debug for TeamService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TeamService")
    }
}

/// What is known of a request when its answer is told of.
#[derive(Default)]
struct About {
    grant: Option<Arc<Grant>>,
}

impl Serve for TeamService {
    fn connected(&self) -> Option<Held> {
        Some(self.metrics.connection())
    }

    async fn answer(&self, request: Request<Incoming>, _: &Peer) -> Result<Response, Infallible> {
        let start = Instant::now();
        let _held = self.metrics.in_flight();
        let id = logs::request_id(request.headers());
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let actor = headers::actor(request.headers()).ok();
        let mut about = About::default();
        let mut response = survive(async { Ok::<_, Infallible>(self.respond(request, &mut about).await) }).await?;
        if let Ok(id) = HeaderValue::from_str(&id) {
            response.headers_mut().insert("x-request-id", id);
        }
        headers::stamp_version(response.headers_mut());
        let took = start.elapsed();
        let by = response.extensions().get::<AnsweredBy>().map_or("other", |by| by.0);
        self.metrics.observe(by, known_method(&method), response.status().as_u16(), took);
        if is_probe(&path) && response.status() == StatusCode::OK {
            return Ok(response);
        }
        let grant = about.grant.as_deref();
        self.log.request(logs::Request {
            id: &id,
            method: method.as_str(),
            path: &path,
            status: response.status().as_u16(),
            took,
            project: grant.map(|grant| grant.project.name.as_str()),
            token: grant.map(|grant| grant.token.id.as_str()),
            actor: actor.as_deref().filter(|_| grant.is_some()),
            code: response.extensions().get::<Refused>().map(|refused| refused.0.as_str()),
        });
        Ok(response)
    }
}

impl TeamService {
    pub(super) fn new(desk: Arc<Desk>, router: Router, metrics: Metrics, log: Log) -> Self {
        Self { desk, router: TowerToHyperService::new(router), metrics, log }
    }

    async fn respond(&self, request: Request<Incoming>, about: &mut About) -> Response {
        let looks = matches!(*request.method(), Method::GET | Method::HEAD);
        match request.uri().path() {
            "/healthz" if looks => health("ok"),
            "/readyz" if looks => match self.desk.is_ready().await {
                Ok(()) => health("ready"),
                Err(error) => Refusal::from(error).into_response(),
            },
            "/metrics" if looks => self.told_metrics(),
            _ => self.admitted(request, about).await.unwrap_or_else(IntoResponse::into_response),
        }
    }

    async fn admitted(&self, mut request: Request<Incoming>, about: &mut About) -> Result<Response, Refusal> {
        let shown = shown(request.headers());
        let admitted = match shown {
            Some(secret) => self.desk.admit(secret).await,
            None => Err(unauthorized("a token is required")),
        };
        let (pass, grant) = admitted.inspect_err(|error| {
            if error.code == Code::Unauthorized {
                self.metrics.unauthorized();
            }
        })?;
        about.grant = Some(Arc::clone(&grant));
        self.desk.pace(&grant).map_err(|wait| {
            self.metrics.rate_limited();
            too_fast(wait)
        })?;
        check_content_type(&request)?;
        headers::check_version(request.headers())?;
        let mut store = None;
        if let Some((project, rest)) = project_of(request.uri()) {
            if grant.project.name.as_str() != project || grant.project.archived_at.is_some() {
                return Err(Error::not_found("project", project).into());
            }
            *request.uri_mut() = rest?;
            store = Some(self.desk.store(&grant.project).await?);
        }
        let caller = Caller {
            actor: String::new(),
            token: Some(grant.token.id.to_string()),
            may: grant.token.role.may(),
            no_redact: false,
        };
        let scene = Scene { store, caller, desk: Some(Arc::clone(&self.desk)), pass: Some(pass) };
        request.extensions_mut().insert(scene);
        match self.router.call(request.map(Body::new)).await {
            Ok(response) => Ok(response),
            Err(never) => match never {},
        }
    }

    fn told_metrics(&self) -> Response {
        let mut gauges = vec![gauge("pensa_open_stores", "Stores that are open.", self.desk.open_stores())];
        if let Some(pool) = self.desk.pool() {
            gauges.push(gauge("pensa_db_connections_max", "Most connections to the database.", pool.size));
            gauges.push(gauge("pensa_db_connections_open", "Connections to the database.", pool.open));
            gauges.push(gauge("pensa_db_connections_idle", "Connections that nobody uses.", pool.idle));
        }
        let mut response = Response::new(Body::from(self.metrics.render(&gauges)));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(metrics::MEDIA_TYPE));
        response
    }
}

/// Whether an address is asked every few seconds by machines that look after the server.
fn is_probe(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz" | "/metrics")
}

fn gauge(name: &'static str, help: &'static str, value: usize) -> Gauge {
    Gauge { name, help, value: value as f64 }
}

fn health(status: &str) -> Response {
    answer::ok(StatusCode::OK, format!("{{\"status\":\"{status}\"}}"))
}

/// The secret in the request's one `Authorization` header.
fn shown(headers: &HeaderMap) -> Option<&[u8]> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    match (given.next(), given.next()) {
        (Some(value), None) => bearer(value.as_bytes()),
        _ => None,
    }
}

/// The project that an address names, and the rest of the address.
fn project_of(uri: &Uri) -> Option<(&str, Result<Uri>)> {
    let rest = uri.path().strip_prefix(PROJECTS)?;
    let (project, path) = rest.split_once('/').unwrap_or((rest, ""));
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let target: Result<PathAndQuery, _> = format!("/{path}{query}").parse();
    Some((project, target.map(Uri::from).map_err(|_| Error::invalid("not an address"))))
}

fn too_fast(wait: Duration) -> Refusal {
    let error =
        Error::new(Code::Busy, "too many requests with this token").hint("wait a little, or ask for fewer things");
    let mut refusal = Refusal::new(StatusCode::TOO_MANY_REQUESTS, error);
    refusal.retry_after = Some(wait.as_secs().max(1));
    refusal
}

/// Methods are told by a fixed list of names, so that strange ones cannot fill the memory.
fn known_method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}
