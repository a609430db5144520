//! Decides whether and when a call is retried; [`Remote`](crate::Remote) sends and waits.

use std::io::ErrorKind;
use std::time::Duration;

use pensa_core::{Code, Error};
use ureq::Timeout;

/// Delays before the second, third and fourth attempt; there is no fifth.
const RETRY_DELAYS: [Duration; 3] =
    [Duration::from_millis(200), Duration::from_millis(600), Duration::from_millis(1500)];
/// Maximum of `Retry-After` that is honoured.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(2);

/// A complete HTTP response.
#[derive(Debug)]
pub(crate) struct ServerResponse {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) text: String,
}

/// The result of one attempt, as far as retrying is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttemptResult {
    /// No connection was made: the request was not sent.
    NotConnected,
    /// The request may have arrived, but no complete response came back.
    Lost,
    /// The server asks for a retry, perhaps after some time.
    RetryAfter(Option<Duration>),
    /// A retry would have the same result.
    Final,
}

/// The delay before the next attempt; `attempt` counts from 1. `None` if there is none.
pub(crate) fn next_delay(attempt: usize, outcome: AttemptResult) -> Option<Duration> {
    let wait = *RETRY_DELAYS.get(attempt.checked_sub(1)?)?;
    match outcome {
        // At the first attempt, the server is probably not running, and waiting would not help. Later it was running a
        // moment ago and may be restarting.
        AttemptResult::NotConnected => (attempt > 1).then_some(wait),
        AttemptResult::Lost => Some(wait),
        AttemptResult::RetryAfter(requested) => Some(requested.unwrap_or_default().min(MAX_RETRY_AFTER).max(wait)),
        AttemptResult::Final => None,
    }
}

impl AttemptResult {
    pub(crate) fn of(result: &Result<ServerResponse, ureq::Error>) -> Self {
        match result {
            Ok(response) => Self::of_response(response),
            Err(ureq::Error::Timeout(Timeout::Connect)) => Self::NotConnected,
            // A name that does not resolve in time is treated like one that does not exist.
            Err(ureq::Error::Timeout(Timeout::Resolve)) => Self::Final,
            Err(ureq::Error::Timeout(_)) => Self::Lost,
            Err(ureq::Error::Io(e)) => Self::of_io_error(e.kind()),
            Err(_) => Self::Final,
        }
    }

    fn of_response(response: &ServerResponse) -> Self {
        let is_temporary = || {
            let code = serde_json::from_str::<Error>(&response.text).map(|error| error.code);
            matches!(code, Ok(Code::Unreachable | Code::Busy))
        };
        let is_pensa = serde_json::from_str::<Error>(&response.text).is_ok();
        match response.status {
            429 => Self::RetryAfter(response.retry_after),
            503 if is_temporary() => Self::RetryAfter(response.retry_after),
            // A proxy in front of an unreachable server.
            502..=504 if !is_pensa => Self::Lost,
            _ => Self::Final,
        }
    }

    /// Whether the attempt may have made its change nevertheless.
    pub(crate) fn may_have_applied(self, result: &Result<ServerResponse, ureq::Error>) -> bool {
        let error = result.as_ref().ok().and_then(|response| serde_json::from_str::<Error>(&response.text).ok());
        match self {
            Self::NotConnected => false,
            Self::Lost => true,
            Self::RetryAfter(_) | Self::Final => {
                error.is_some_and(|error| matches!(error.code, Code::Unreachable | Code::Timeout))
            }
        }
    }

    /// Errors not listed here, such as an unknown host or a bad certificate, are permanent.
    fn of_io_error(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::ConnectionRefused | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
                Self::NotConnected
            }
            ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::NotConnected
            | ErrorKind::BrokenPipe
            | ErrorKind::UnexpectedEof
            | ErrorKind::TimedOut => Self::Lost,
            _ => Self::Final,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn retry_delays_for_every_outcome() {
        let ms = |ms| Some(Duration::from_millis(ms));
        let later = |ms| AttemptResult::RetryAfter(Some(Duration::from_millis(ms)));
        let table = [
            (AttemptResult::NotConnected, [None, ms(600), ms(1500), None, None]),
            (AttemptResult::Lost, [ms(200), ms(600), ms(1500), None, None]),
            (AttemptResult::RetryAfter(None), [ms(200), ms(600), ms(1500), None, None]),
            (later(0), [ms(200), ms(600), ms(1500), None, None]),
            (later(1000), [ms(1000), ms(1000), ms(1500), None, None]),
            (later(3_600_000), [ms(2000), ms(2000), ms(2000), None, None]),
            (AttemptResult::Final, [None; 5]),
        ];
        for (outcome, waits) in table {
            for (at, wait) in waits.into_iter().enumerate() {
                assert_eq!(next_delay(at + 1, outcome), wait, "try {} {outcome:?}", at + 1);
            }
        }
        assert_eq!(next_delay(0, AttemptResult::Lost), None);
    }

    #[test]
    fn outcome_of_an_attempt_follows_from_response_or_error() {
        let response = |status, text: &str| Ok(ServerResponse { status, retry_after: None, text: text.to_owned() });
        let io = |kind: ErrorKind| Err(ureq::Error::Io(io::Error::from(kind)));
        let table = [
            (response(200, "{}"), AttemptResult::Final),
            (response(400, r#"{"error":"x","code":"busy"}"#), AttemptResult::Final),
            (response(404, ""), AttemptResult::Final),
            (response(429, "slow down"), AttemptResult::RetryAfter(None)),
            (response(500, ""), AttemptResult::Final),
            (response(503, r#"{"error":"x","code":"busy"}"#), AttemptResult::RetryAfter(None)),
            (response(503, r#"{"error":"x","code":"unreachable"}"#), AttemptResult::RetryAfter(None)),
            (response(503, r#"{"error":"x","code":"internal"}"#), AttemptResult::Final),
            (response(503, "<html>"), AttemptResult::Lost),
            (response(502, ""), AttemptResult::Lost),
            (response(504, r#"{"error":"x","code":"timeout"}"#), AttemptResult::Final),
            (io(ErrorKind::ConnectionRefused), AttemptResult::NotConnected),
            (io(ErrorKind::ConnectionReset), AttemptResult::Lost),
            (io(ErrorKind::UnexpectedEof), AttemptResult::Lost),
            (io(ErrorKind::InvalidData), AttemptResult::Final),
            (io(ErrorKind::Other), AttemptResult::Final),
            (Err(ureq::Error::HostNotFound), AttemptResult::Final),
            (Err(ureq::Error::Timeout(Timeout::Resolve)), AttemptResult::Final),
            (Err(ureq::Error::Timeout(Timeout::Connect)), AttemptResult::NotConnected),
            (Err(ureq::Error::Timeout(Timeout::Global)), AttemptResult::Lost),
        ];
        for (result, outcome) in table {
            assert_eq!(AttemptResult::of(&result), outcome, "{result:?}");
        }
    }
}
