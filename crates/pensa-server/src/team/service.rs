//! Answers every request to a team server: token, rate limit, project, router, metrics and log.

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
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use pensa_core::project::ProjectName;
use pensa_core::{Code, Error, Result};
use pensa_engine::Grant;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use tracing::Level;
use tracing_appender::non_blocking::ErrorCounter;

use super::badges::PublicBadges;
use super::state::ServerState;
use super::token_cache::unauthorized;
use super::web::TeamPages;
use crate::dispatch::unexpected;
use crate::embed::Embed;
use crate::guard::{bearer, check_content_type};
use crate::headers;
use crate::listen::Serve;
use crate::logs;
use crate::metrics::{self, GaugeGuard, Metrics};
use crate::peer::Peer;
use crate::request_context::{OperationLabel, RequestContext};
use crate::response::{self, Refusal, RefusalCode};
use crate::service::catch_panic;
use crate::web;

/// Path prefix of projects.
const PROJECTS: &str = "/p/";

#[derive(Clone)]
pub(crate) struct TeamService {
    server: Arc<ServerState>,
    router: TowerToHyperService<Router>,
    pages: TeamPages,
    badges: Option<Arc<PublicBadges>>,
    metrics: Metrics,
}

impl fmt::Debug for TeamService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TeamService")
    }
}

/// What the log line of a request needs besides the response.
#[derive(Default)]
struct RequestInfo {
    grant: Option<Arc<Grant>>,
}

impl Serve for TeamService {
    fn connected(&self) -> Option<GaugeGuard> {
        Some(self.metrics.connection())
    }

    async fn answer(&self, request: Request<Body>, _: &Peer) -> Result<Response, Infallible> {
        let start = Instant::now();
        let _held = self.metrics.in_flight();
        let id = logs::request_id(request.headers());
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let actor = headers::actor(request.headers()).ok();
        let mut info = RequestInfo::default();
        let mut response = catch_panic(async { Ok::<_, Infallible>(self.respond(request, &mut info).await) }).await?;
        if let Ok(id) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(logs::REQUEST_ID, id);
        }
        headers::stamp_version(response.headers_mut());
        let took = start.elapsed();
        let by = response.extensions().get::<OperationLabel>().map_or("other", |by| by.0);
        self.metrics.observe(by, known_method(&method), response.status().as_u16(), took);
        if is_probe(&path) && response.status() == StatusCode::OK {
            return Ok(response);
        }
        let grant = info.grant.as_deref();
        let status = response.status().as_u16();
        // `tracing` needs the level as a constant at each call site.
        macro_rules! log {
            ($level:expr) => {
                tracing::event!(
                    $level,
                    request_id = id,
                    method = method.as_str(),
                    path,
                    status,
                    took_ms = took.as_micros() as f64 / 1000.0,
                    project = grant.and_then(|grant| grant.token.project.as_ref()).map(ProjectName::as_str),
                    // The token's id, never its secret.
                    token = grant.map(|grant| grant.token.id.as_str()),
                    actor = actor.as_deref().filter(|_| grant.is_some()),
                    code = response.extensions().get::<RefusalCode>().map(|refused| refused.0.as_str()),
                    "request"
                )
            };
        }
        if status < 500 {
            log!(Level::INFO)
        } else {
            log!(Level::ERROR)
        }
        Ok(response)
    }
}

impl TeamService {
    pub(super) fn new(
        server: Arc<ServerState>,
        router: Router,
        pages: TeamPages,
        badges: Option<Arc<PublicBadges>>,
        dropped: ErrorCounter,
    ) -> Self {
        let metrics = Metrics::new(StateCollector { server: Arc::clone(&server), dropped });
        Self { server, router: TowerToHyperService::new(router), pages, badges, metrics }
    }

    async fn respond(&self, request: Request<Body>, info: &mut RequestInfo) -> Response {
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        match request.uri().path() {
            "/healthz" if is_read => health("ok"),
            "/readyz" if is_read => match self.server.is_ready().await {
                Ok(()) => health("ready"),
                Err(error) => Refusal::from(error).into_response(),
            },
            "/metrics" if is_read => self.metrics_page(),
            path if is_read && public(path).is_some() => match (&self.badges, public(path)) {
                (Some(badges), Some((project, embed))) => badges.answer(project, embed).await,
                _ => response::unknown_path(path).into_response(),
            },
            // Who sends a token is a program: it gets what the API answers.
            path if is_page(path) && !request.headers().contains_key(AUTHORIZATION) => {
                self.respond_page(request, info).await
            }
            _ => self.respond_authorized(request, info).await.unwrap_or_else(IntoResponse::into_response),
        }
    }

    async fn respond_authorized(
        &self,
        mut request: Request<Body>,
        info: &mut RequestInfo,
    ) -> Result<Response, Refusal> {
        let admitted = match bearer_token(request.headers()) {
            Some(secret) => self.server.admit(secret).await,
            None => Err(unauthorized("a token is required")),
        };
        let (token_hash, grant) = admitted.inspect_err(|error| {
            if error.code == Code::Unauthorized {
                self.metrics.unauthorized.inc();
            }
        })?;
        info.grant = Some(Arc::clone(&grant));
        self.server.check_rate(&grant).map_err(|wait| {
            self.metrics.rate_limited.inc();
            rate_limited(wait)
        })?;
        check_content_type(&request)?;
        headers::check_version(request.headers())?;
        let mut store = None;
        if let Some((project, rest)) = project_of(request.uri()) {
            let granted = grant.project.as_ref();
            let granted = granted.filter(|granted| granted.name.as_str() == project && granted.archived_at.is_none());
            let granted = granted.ok_or_else(|| Error::not_found("project", project))?;
            *request.uri_mut() = rest?;
            store = Some(self.server.store(granted).await?);
        }
        let (caller, server) = (grant.caller(), Some(Arc::clone(&self.server)));
        request.extensions_mut().insert(RequestContext { store, caller, server, token_hash: Some(token_hash) });
        match self.router.call(request).await {
            Ok(response) => Ok(response),
            Err(never) => match never {},
        }
    }

    async fn respond_page(&self, mut request: Request<Body>, info: &mut RequestInfo) -> Response {
        let project = project_of(request.uri()).map(|(project, rest)| rest.map(|rest| (project.to_owned(), rest)));
        let project = match project.transpose() {
            Ok(found) => found.map(|(project, rest)| {
                *request.uri_mut() = rest;
                project
            }),
            Err(error) => return Refusal::from(error).into_response(),
        };
        let (response, grant) = self.pages.answer(project.as_deref(), request).await;
        if response.status() == StatusCode::UNAUTHORIZED {
            self.metrics.unauthorized.inc();
        }
        info.grant = grant;
        response
    }

    fn metrics_page(&self) -> Response {
        let Ok(page) = self.metrics.render() else {
            return Refusal::from(unexpected()).into_response();
        };
        ([(CONTENT_TYPE, metrics::MEDIA_TYPE)], page).into_response()
    }
}

/// Metrics that are read from the server's state on demand.
#[derive(Debug)]
struct StateCollector {
    server: Arc<ServerState>,
    dropped: ErrorCounter,
}

impl Collector for StateCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut gauge = |name, help, value: usize| {
            let gauge = ConstGauge::new(value as u64);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
        };
        gauge("pensa_open_stores", "Stores that are open.", self.server.open_stores())?;
        if let Some(pool) = self.server.pool() {
            gauge("pensa_db_connections_max", "Most connections to the database.", pool.size)?;
            gauge("pensa_db_connections_open", "Connections to the database.", pool.open)?;
            gauge("pensa_db_connections_idle", "Connections that nobody uses.", pool.idle)?;
        }
        let dropped = ConstCounter::new(self.dropped.dropped_lines() as u64);
        let help = "Lines of the log dropped because nobody read them fast enough.";
        dropped.encode(encoder.encode_descriptor("pensa_log_lines_dropped", help, None, dropped.metric_type())?)
    }
}

/// Whether the path is that of a page: below `/ui/` of the server or of a project, or the login.
fn is_page(path: &str) -> bool {
    let below =
        |path: &str| path.split_once('/').is_some_and(|(_, rest)| rest.is_empty() || web::is_page(&format!("/{rest}")));
    match path.strip_prefix(PROJECTS) {
        Some(rest) => below(rest),
        None => path == "/login" || web::is_page(path),
    }
}

/// A badge or chart below a project.
fn public(path: &str) -> Option<(&str, Embed)> {
    let (project, rest) = path.strip_prefix(PROJECTS)?.split_once('/')?;
    Some((project, Embed::at(&format!("/{rest}"))?))
}

/// Whether the path is polled by monitoring; successful polls are not logged.
fn is_probe(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz" | "/metrics")
}

fn health(status: &str) -> Response {
    response::ok(StatusCode::OK, format!("{{\"status\":\"{status}\"}}"))
}

/// The token of the only `Authorization` header.
fn bearer_token(headers: &HeaderMap) -> Option<&[u8]> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    match (given.next(), given.next()) {
        (Some(value), None) => bearer(value.as_bytes()),
        _ => None,
    }
}

/// The project in the path, and the rest of the URI.
fn project_of(uri: &Uri) -> Option<(&str, Result<Uri>)> {
    let rest = uri.path().strip_prefix(PROJECTS)?;
    let (project, path) = rest.split_once('/').unwrap_or((rest, ""));
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let target: Result<PathAndQuery, _> = format!("/{path}{query}").parse();
    Some((project, target.map(Uri::from).map_err(|_| Error::invalid("not an address"))))
}

pub(super) fn rate_limited(wait: Duration) -> Refusal {
    let error =
        Error::new(Code::Busy, "too many requests with this token").hint("wait a little, or ask for fewer things");
    let mut refusal = Refusal::new(StatusCode::TOO_MANY_REQUESTS, error);
    refusal.retry_after = Some(wait.as_secs().max(1));
    refusal
}

/// Maps unknown methods to one name: a client must not be able to create unlimited label values.
fn known_method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}
