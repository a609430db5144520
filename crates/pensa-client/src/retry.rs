//! When a call is tried again. Pure: trying and waiting are left to [`Remote`](crate::Remote).

use std::io::ErrorKind;
use std::time::Duration;

use pensa_core::{Code, Error};
use ureq::Timeout;

/// How long to wait before the second, third and fourth try; there is no fifth.
const WAITS: [Duration; 3] = [Duration::from_millis(200), Duration::from_millis(600), Duration::from_millis(1500)];
/// Longest wait that a server can ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(2);

/// A whole answer, good or bad.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) text: String,
}

/// What became of one try, as far as another one is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// No connection came about: the request was not sent.
    NotThere,
    /// The request may have arrived; its answer did not, or not whole.
    Lost,
    /// The server asks to come back, perhaps not before some time.
    Later(Option<Duration>),
    /// Another try would end the same.
    Final,
}

/// How long to wait before the next try after `attempt`, which counts from 1; nothing if that was the last.
pub(crate) fn again(attempt: usize, outcome: Outcome) -> Option<Duration> {
    let wait = *WAITS.get(attempt.checked_sub(1)?)?;
    match outcome {
        // At first that is a server that is not there, and nobody should wait for it. Later it is one that was there a
        // moment ago and restarts: only a try that got through is followed by another.
        Outcome::NotThere => (attempt > 1).then_some(wait),
        Outcome::Lost => Some(wait),
        Outcome::Later(asked) => Some(asked.unwrap_or_default().min(LONGEST_ASKED).max(wait)),
        Outcome::Final => None,
    }
}

impl Outcome {
    pub(crate) fn of(tried: &Result<Answer, ureq::Error>) -> Self {
        match tried {
            Ok(answer) => Self::of_answer(answer),
            Err(ureq::Error::Timeout(Timeout::Connect)) => Self::NotThere,
            // A name that nobody resolves in time is like one that does not exist.
            Err(ureq::Error::Timeout(Timeout::Resolve)) => Self::Final,
            Err(ureq::Error::Timeout(_)) => Self::Lost,
            Err(ureq::Error::Io(e)) => Self::of_kind(e.kind()),
            Err(_) => Self::Final,
        }
    }

    fn of_answer(answer: &Answer) -> Self {
        let passing = || {
            let code = serde_json::from_str::<Error>(&answer.text).map(|error| error.code);
            matches!(code, Ok(Code::Unreachable | Code::Busy))
        };
        let is_pensa = serde_json::from_str::<Error>(&answer.text).is_ok();
        match answer.status {
            429 => Self::Later(answer.retry_after),
            503 if passing() => Self::Later(answer.retry_after),
            // A proxy that has lost the server behind it.
            502..=504 if !is_pensa => Self::Lost,
            _ => Self::Final,
        }
    }

    /// Whether a try that ended so may have made its change all the same.
    pub(crate) fn leaves_doubt(self, tried: &Result<Answer, ureq::Error>) -> bool {
        let told = tried.as_ref().ok().and_then(|answer| serde_json::from_str::<Error>(&answer.text).ok());
        match self {
            Self::NotThere => false,
            Self::Lost => true,
            Self::Later(_) | Self::Final => {
                told.is_some_and(|error| matches!(error.code, Code::Unreachable | Code::Timeout))
            }
        }
    }

    /// What is not listed here (an unknown host, a bad certificate) does not go away by itself.
    fn of_kind(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::ConnectionRefused | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => Self::NotThere,
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
    fn the_whole_table_of_tries() {
        let ms = |ms| Some(Duration::from_millis(ms));
        let later = |ms| Outcome::Later(Some(Duration::from_millis(ms)));
        let table = [
            (Outcome::NotThere, [None, ms(600), ms(1500), None, None]),
            (Outcome::Lost, [ms(200), ms(600), ms(1500), None, None]),
            (Outcome::Later(None), [ms(200), ms(600), ms(1500), None, None]),
            (later(0), [ms(200), ms(600), ms(1500), None, None]),
            (later(1000), [ms(1000), ms(1000), ms(1500), None, None]),
            (later(3_600_000), [ms(2000), ms(2000), ms(2000), None, None]),
            (Outcome::Final, [None; 5]),
        ];
        for (outcome, waits) in table {
            for (at, wait) in waits.into_iter().enumerate() {
                assert_eq!(again(at + 1, outcome), wait, "try {} {outcome:?}", at + 1);
            }
        }
        assert_eq!(again(0, Outcome::Lost), None);
    }

    #[test]
    fn what_became_of_a_try_is_known_by_its_answer_or_its_error() {
        let answer = |status, text: &str| Ok(Answer { status, retry_after: None, text: text.to_owned() });
        let io = |kind: ErrorKind| Err(ureq::Error::Io(io::Error::from(kind)));
        let table = [
            (answer(200, "{}"), Outcome::Final),
            (answer(400, r#"{"error":"x","code":"busy"}"#), Outcome::Final),
            (answer(404, ""), Outcome::Final),
            (answer(429, "slow down"), Outcome::Later(None)),
            (answer(500, ""), Outcome::Final),
            (answer(503, r#"{"error":"x","code":"busy"}"#), Outcome::Later(None)),
            (answer(503, r#"{"error":"x","code":"unreachable"}"#), Outcome::Later(None)),
            (answer(503, r#"{"error":"x","code":"internal"}"#), Outcome::Final),
            (answer(503, "<html>"), Outcome::Lost),
            (answer(502, ""), Outcome::Lost),
            (answer(504, r#"{"error":"x","code":"timeout"}"#), Outcome::Final),
            (io(ErrorKind::ConnectionRefused), Outcome::NotThere),
            (io(ErrorKind::ConnectionReset), Outcome::Lost),
            (io(ErrorKind::UnexpectedEof), Outcome::Lost),
            (io(ErrorKind::InvalidData), Outcome::Final),
            (io(ErrorKind::Other), Outcome::Final),
            (Err(ureq::Error::HostNotFound), Outcome::Final),
            (Err(ureq::Error::Timeout(Timeout::Resolve)), Outcome::Final),
            (Err(ureq::Error::Timeout(Timeout::Connect)), Outcome::NotThere),
            (Err(ureq::Error::Timeout(Timeout::Global)), Outcome::Lost),
        ];
        for (tried, outcome) in table {
            assert_eq!(Outcome::of(&tried), outcome, "{tried:?}");
        }
    }
}
