//! Pages of a team server: logs people in with a token, and keeps their sessions in the control store.
//!
//! A session's secret is in a cookie; the store has its hash, the hash of the token and the name of the person. So a
//! session survives a restart, works at every server of a database, and ends with its token.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{HeaderName, SET_COOKIE};
use axum::http::{HeaderValue, Method, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use pensa_core::ops::kv;
use pensa_core::project::Role;
use pensa_core::{Code, Error, Op, Result, Span, Timestamp, json, text};
use pensa_engine::{Caller, Clock, Grant, SystemClock, entry};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use uuid::Uuid;

use super::service::rate_limited;
use super::state::ServerState;
use crate::dispatch::unexpected;
use crate::request::read_body;
use crate::request_context::{RequestContext, TokenHash};
use crate::served_store::ServedStore;
use crate::web::{self, PageReader, SessionState, cookie, html, login_page, pairs, same_origin};

/// How long a session lasts.
const SESSION_TTL: Duration = Duration::from_secs(7 * 86_400);
/// Where sessions are in the control store.
const SCOPE: &str = "web-session";
const COOKIE: &str = "pensa-session";
/// Most bytes of the forms that log in and out.
const MAX_FORM: usize = 4096;
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The pages of a team server.
#[derive(Debug, Clone)]
pub(super) struct TeamPages {
    server: Arc<ServerState>,
    /// Whether browsers reach the server encrypted.
    is_encrypted: bool,
    stop: watch::Receiver<bool>,
}

/// A session as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct KeptSession {
    /// The SHA-256 of the token.
    token: String,
    actor: String,
    ends_at: Timestamp,
}

/// A session of a request.
struct OpenSession {
    /// Its name in the control store: the hash of its secret.
    key: String,
    csrf: String,
    actor: String,
    token_hash: TokenHash,
    grant: Arc<Grant>,
}

/// Checks the session of an open stream.
#[derive(Debug)]
struct KeptSessionState {
    server: Arc<ServerState>,
    key: String,
}

impl SessionState for KeptSessionState {
    fn goes_on(&self) -> BoxFuture<'_, bool> {
        // A short outage of the database does not end open streams.
        async { !matches!(find(&self.server, &self.key).await, Ok(None)) }.boxed()
    }
}

impl TeamPages {
    pub(super) fn new(server: Arc<ServerState>, is_encrypted: bool, stop: watch::Receiver<bool>) -> Self {
        Self { server, is_encrypted, stop }
    }

    /// Answers a request for a page; `project` and `path` are the two parts of its address. Also returns whose token it
    /// was.
    pub(super) async fn answer(&self, project: Option<&str>, request: Request<Body>) -> (Response, Option<Arc<Grant>>) {
        let path = request.uri().path().to_owned();
        if let Some(name) = path.strip_prefix(pensa_web::assets::PATH).filter(|_| project.is_none()) {
            return (html::asset(name, html::accepts_gzip(request.headers())), None);
        }
        let is_form = request.method() == Method::POST;
        if is_form && let Err(refusal) = same_origin::check(request.headers()) {
            return (refusal.into_response(), None);
        }
        match (project, path.as_str()) {
            (None, "/login") if is_form => return (self.log_in(request).await, None),
            (None, "/login") => return (login_page(StatusCode::OK, None, true), None),
            _ => {}
        }
        let secret = cookie(request.headers(), self.cookie_name()).map(str::to_owned);
        let session = match self.session(secret).await {
            Ok(Some(session)) => session,
            Ok(None) => return (not_logged_in(&request), None),
            Err(error) => return (login_page(StatusCode::SERVICE_UNAVAILABLE, Some(&error), true), None),
        };
        let grant = Some(Arc::clone(&session.grant));
        if let Err(wait) = self.server.check_rate(&session.grant) {
            return (rate_limited(wait).into_response(), grant);
        }
        if (project, path.as_str(), is_form) == (None, "/ui/logout", true) {
            return (self.log_out(&session, request).await, grant);
        }
        let answered = self.page(project, session, request).await;
        (answered.unwrap_or_else(|error| crate::response::Refusal::from(error).into_response()), grant)
    }

    async fn page(&self, project: Option<&str>, session: OpenSession, request: Request<Body>) -> Result<Response> {
        let granted = session.grant.project.clone().filter(|granted| granted.archived_at.is_none());
        let Some(project) = project else {
            let own = granted.map(|own| format!("/p/{}/ui/board", own.name));
            return match own {
                Some(own) => Ok(html::redirect(&own)),
                None if session.grant.token.role == Role::Operator => {
                    let reader = self.reader(session, None, String::new());
                    Ok(web::answer(reader, request, self.stop.clone()).await)
                }
                None => Err(Error::not_found("page", request.uri().path())),
            };
        };
        let granted = granted.filter(|granted| granted.name.as_str() == project);
        let granted = granted.ok_or_else(|| Error::not_found("project", project))?;
        let store: Arc<ServedStore> = self.server.store(&granted).await?;
        let reader = self.reader(session, Some(store), project.to_owned());
        Ok(web::answer(reader, request, self.stop.clone()).await)
    }

    /// Who reads; operators have no store.
    fn reader(&self, session: OpenSession, store: Option<Arc<ServedStore>>, project: String) -> PageReader {
        let caller = Caller { actor: session.actor, ..session.grant.caller() };
        let (server, token_hash) = (Some(Arc::clone(&self.server)), Some(session.token_hash));
        let state = KeptSessionState { server: Arc::clone(&self.server), key: session.key };
        PageReader {
            context: RequestContext { store, caller, server, token_hash },
            control: Some(self.server.control()),
            root: if project.is_empty() { String::new() } else { format!("/p/{project}") },
            project,
            csrf: Some(session.csrf),
            has_session: true,
            is_ended: Some(Arc::new(state)),
        }
    }

    /// The session of a request, if its cookie is one and its token is still valid.
    async fn session(&self, secret: Option<String>) -> Result<Option<OpenSession>> {
        let Some(secret) = secret else { return Ok(None) };
        let key = hashed("session", &secret);
        let Some(kept) = find(&self.server, &key).await? else { return Ok(None) };
        let mut token_hash = TokenHash::default();
        hex::decode_to_slice(&kept.token, &mut token_hash).map_err(Error::internal)?;
        let Some(grant) = self.server.grant(&token_hash).await? else { return Ok(None) };
        let csrf = hashed("csrf", &secret);
        Ok(Some(OpenSession { key, csrf, actor: kept.actor, token_hash, grant }))
    }

    /// Exchanges a token for a session.
    async fn log_in(&self, request: Request<Body>) -> Response {
        let fields = form(request).await;
        let field = |name: &str| fields.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.trim());
        match self.open_session(field("token"), field("name")).await {
            Ok((secret, to)) => self.with_cookie(&to, &secret, SESSION_TTL),
            Err(error) => {
                let status = crate::response::Refusal::from(error.clone()).status;
                let error = match error.code {
                    Code::Unauthorized => {
                        Error { hint: Some("an administrator makes one: pn token create".into()), ..error }
                    }
                    _ => error,
                };
                login_page(status, Some(&error), true)
            }
        }
    }

    async fn open_session(&self, token: &str, name: &str) -> Result<(String, String)> {
        let (token_hash, grant) = self.server.admit(token.as_bytes()).await?;
        let actor = if name.is_empty() { grant.token.id.as_str() } else { text::line("name", name)? };
        let secret = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let now = SystemClock.now()?;
        let millis = i64::try_from(SESSION_TTL.as_millis()).unwrap_or(i64::MAX);
        let kept = KeptSession {
            token: hex::encode(token_hash),
            actor: actor.to_owned(),
            ends_at: now.plus(Span::from_millis(millis)),
        };
        self.forget_ended(now).await?;
        let (key, value) = (hashed("session", &secret), json::to_line(&kept)?);
        let set = kv::Set { key, value, scope: SCOPE.to_owned(), if_value: None, if_absent: true };
        in_control(&self.server, &set).await?;
        let to = grant.project.as_ref().map_or("/".to_owned(), |project| format!("/p/{}/ui/board", project.name));
        Ok((secret, to))
    }

    /// Removes sessions that have ended, so that they do not pile up.
    async fn forget_ended(&self, now: Timestamp) -> Result<()> {
        let list = kv::List { scope: Some(SCOPE.to_owned()), ..kv::List::default() };
        for pair in in_control(&self.server, &list).await? {
            let is_ended = serde_json::from_str::<KeptSession>(&pair.value).is_ok_and(|kept| kept.ends_at <= now);
            if is_ended {
                // Another server may do the same.
                let _ = in_control(&self.server, &removal(pair.key)).await;
            }
        }
        Ok(())
    }

    async fn log_out(&self, session: &OpenSession, request: Request<Body>) -> Response {
        let fields = form(request).await;
        if !fields.iter().any(|(name, value)| name == "csrf" && *value == session.csrf) {
            return crate::response::Refusal::forbidden("the form is not of this session").into_response();
        }
        match in_control(&self.server, &removal(session.key.clone())).await {
            Ok(_) => self.with_cookie("/login", "", Duration::ZERO),
            Err(error) => crate::response::Refusal::from(error).into_response(),
        }
    }

    /// With the prefix, browsers refuse the cookie from other hosts and unencrypted connections.
    fn cookie_name(&self) -> &'static str {
        if self.is_encrypted { "__Host-pensa-session" } else { COOKIE }
    }

    fn with_cookie(&self, to: &str, secret: &str, lasts: Duration) -> Response {
        let secure = if self.is_encrypted { "; Secure" } else { "" };
        let (name, age) = (self.cookie_name(), lasts.as_secs());
        let cookie = format!("{name}={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}{secure}");
        let mut response = html::redirect(to);
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            response.headers_mut().insert(SET_COOKIE, cookie);
        }
        response
    }
}

/// Asks a person to log in. A browser that follows a link of another site does not send the cookie at first.
fn not_logged_in(request: &Request<Body>) -> Response {
    let is_from_elsewhere = request.headers().get(SEC_FETCH_SITE).is_some_and(|site| site == "cross-site");
    if is_from_elsewhere && request.method() == Method::GET {
        return html::page(StatusCode::OK, &pensa_web::layout::ask_again());
    }
    let error = Error::new(Code::Unauthorized, "you are not logged in, or no longer");
    login_page(StatusCode::UNAUTHORIZED, Some(&error), true)
}

async fn form(request: Request<Body>) -> web::Pairs {
    let body = read_body(request.into_body(), MAX_FORM).await.unwrap_or_default();
    str::from_utf8(&body).ok().and_then(|text| pairs(text).ok()).unwrap_or_default()
}

fn removal(key: String) -> kv::Delete {
    kv::Delete { key, scope: SCOPE.to_owned(), if_value: None }
}

/// A value derived from the secret of a session, from which the secret does not follow.
fn hashed(purpose: &str, secret: &str) -> String {
    hex::encode(Sha256::digest(format!("{purpose} {secret}")))
}

/// A session that has not ended.
async fn find(server: &Arc<ServerState>, key: &str) -> Result<Option<KeptSession>> {
    let get = kv::Get { key: key.to_owned(), scope: SCOPE.to_owned() };
    let kept = match in_control(server, &get).await {
        Ok(pair) => serde_json::from_str::<KeptSession>(&pair.value).map_err(Error::internal)?,
        Err(error) if error.code == Code::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let now = SystemClock.now()?;
    Ok(Some(kept).filter(|kept| now < kept.ends_at))
}

/// Runs an operation on the control store, for the server itself.
async fn in_control<O: Op>(server: &Arc<ServerState>, op: &O) -> Result<O::Output> {
    let input = serde_json::to_value(op).map_err(Error::internal)?;
    // Hashes look like secrets, and are none.
    let caller = Caller { no_redact: true, ..Caller::local("pn serve") };
    let answer = server.run_in_control(entry(O::NAME).ok_or_else(unexpected)?, caller, input).await?;
    serde_json::from_slice(&answer).map_err(Error::internal)
}
