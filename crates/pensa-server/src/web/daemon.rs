//! Decides who may see the pages of a daemon: the user who runs it, on this machine; and browsers that opened the address of
//! `pn web`, or logged in with the daemon's token.

use axum::body::Body;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderValue, Method, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use pensa_core::{Code, Error};
use pensa_engine::Caller;
use tokio::sync::watch;
use uuid::Uuid;

use super::{PageReader, answer, cookie, html, login_page, pairs, same_origin};
use crate::guard::{Guard, same_secret};
use crate::peer::Peer;
use crate::percent_decode;
use crate::request::read_body;
use crate::request_context::RequestContext;

/// The parameter of the address that `pn web` opens.
const KEY: &str = "key";
/// Most bytes of the form that logs in.
const MAX_LOGIN: usize = 4096;

/// The pages of one daemon.
#[derive(Debug)]
pub(crate) struct DaemonPages {
    /// A random secret of this start: first in an address, then in a cookie.
    key: String,
    /// Browsers do not tell ports apart where cookies are concerned.
    cookie: String,
    project: String,
    actor: String,
    stop: watch::Receiver<bool>,
}

impl DaemonPages {
    pub(crate) fn new(port: u16, project: String, actor: String, stop: watch::Receiver<bool>) -> Self {
        let key = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        Self { key, cookie: format!("pensa-{port}"), project, actor, stop }
    }

    /// The path that lets a browser in.
    pub(crate) fn entry_path(&self) -> String {
        format!("/?{KEY}={}", self.key)
    }

    /// Answers a request whose host and origin were checked.
    pub(crate) async fn answer(
        &self,
        guard: &Guard,
        context: RequestContext,
        request: Request<Body>,
        peer: &Peer,
    ) -> Response {
        let path = request.uri().path();
        if let Some(name) = path.strip_prefix(pensa_web::assets::PATH) {
            return html::asset(name, html::accepts_gzip(request.headers()));
        }
        let is_form = request.method() == Method::POST;
        if is_form && let Err(refusal) = same_origin::check(request.headers()) {
            return refusal.into_response();
        }
        match path {
            "/login" if is_form => return self.log_in(guard, request).await,
            "/login" => return login_page(StatusCode::OK, None, false),
            "/" => {
                if let Some(given) = self.given_key(&request) {
                    return match same_secret(given.as_bytes(), self.key.as_bytes()) {
                        true => self.let_in(),
                        false => login_page(StatusCode::UNAUTHORIZED, Some(&expired()), false),
                    };
                }
            }
            _ => {}
        }
        let has_cookie = cookie(request.headers(), &self.cookie)
            .is_some_and(|value| same_secret(value.as_bytes(), self.key.as_bytes()));
        if !has_cookie && guard.check_token(request.headers(), peer).is_err() {
            let error = Error::new(Code::Unauthorized, "these pages are for the user who runs the daemon")
                .hint("pn web opens them; or log in with the token in the store's file local/token");
            return login_page(StatusCode::UNAUTHORIZED, Some(&error), false);
        }
        let context = RequestContext { caller: Caller::local(&self.actor), ..context };
        let reader = PageReader {
            context,
            control: None,
            root: String::new(),
            project: self.project.clone(),
            csrf: None,
            has_session: false,
            is_ended: None,
        };
        answer(reader, request, self.stop.clone()).await
    }

    fn given_key(&self, request: &Request<Body>) -> Option<String> {
        let mut given = percent_decode::query(request.uri().query()?).flatten();
        given.find(|(name, _)| name == KEY).map(|(_, value)| value)
    }

    async fn log_in(&self, guard: &Guard, request: Request<Body>) -> Response {
        let body = read_body(request.into_body(), MAX_LOGIN).await.unwrap_or_default();
        let fields = str::from_utf8(&body).ok().and_then(|text| pairs(text).ok()).unwrap_or_default();
        let token = fields.iter().find(|(name, _)| name == "token").map_or("", |(_, value)| value.trim());
        if guard.is_token(token.as_bytes()) {
            return self.let_in();
        }
        let error = Error::new(Code::Unauthorized, "the token is not valid")
            .hint("the token is in the store's file local/token");
        login_page(StatusCode::UNAUTHORIZED, Some(&error), false)
    }

    /// Exchanges the secret for a cookie, and removes it from the address.
    fn let_in(&self) -> Response {
        let mut response = html::redirect("/ui/board");
        let cookie = format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie, self.key);
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            response.headers_mut().insert(SET_COOKIE, cookie);
        }
        response
    }
}

fn expired() -> Error {
    Error::new(Code::Unauthorized, "this address is of an earlier start").hint("run pn web again")
}

/// Whether a daemon answers a path with a page.
pub(crate) fn is_page(path: &str) -> bool {
    path == "/login" || super::is_page(path)
}
