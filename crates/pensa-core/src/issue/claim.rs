//! Decides whether a requester may change an issue that is claimed.

use super::{Issue, Status};
use crate::error::{Code, Error, Result};
use crate::time::Timestamp;

/// Where a request comes from. It distinguishes agents that share an actor name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The caller's session: `PN_SESSION`
    pub session: Option<String>,
    /// The run that the caller is a part of: `PN_RUN`
    pub run: Option<String>,
    /// The machine it runs on
    pub host: Option<String>,
}

impl Origin {
    /// The session that a claim of this caller records.
    pub fn claim_session(&self) -> Option<&str> {
        self.session.as_deref().or(self.run.as_deref())
    }

    fn includes(&self, session: &str) -> bool {
        [&self.session, &self.run].into_iter().any(|own| own.as_deref() == Some(session))
    }
}

/// The requester of a change.
#[derive(Debug, Clone, Copy)]
pub struct Requester<'a> {
    pub actor: &'a str,
    pub origin: &'a Origin,
    /// Whether to override somebody else's claim.
    pub force: bool,
}

impl Issue {
    /// Whether the issue was claimed by the requesting session. The actor name proves nothing, because agents share it.
    pub fn is_claimed_by_session_of(&self, origin: &Origin) -> bool {
        self.status == Status::InProgress && self.claim_session.as_ref().is_some_and(|session| origin.includes(session))
    }

    /// Whether the claim is protected from `by`: it belongs to another session or, without a session, has a live lease of
    /// another actor.
    fn is_protected_from(&self, by: &Requester<'_>, now: Timestamp) -> bool {
        if self.status != Status::InProgress {
            return false;
        }
        match &self.claim_session {
            Some(session) => !by.origin.includes(session),
            None => self.lease_expires_at.is_some_and(|end| end > now) && self.assignee.as_deref() != Some(by.actor),
        }
    }

    /// Returns an error if the claim is protected from `by`, or otherwise whether `--force` was needed.
    pub fn check_claim(&self, by: &Requester<'_>, now: Timestamp) -> Result<bool> {
        let protected = self.is_protected_from(by, now);
        if protected && !by.force { Err(self.already_claimed(None)) } else { Ok(protected) }
    }

    /// The error for a requester who does not hold the claim.
    pub fn already_claimed(&self, since: Option<Timestamp>) -> Error {
        let id = &self.id;
        let holder = self
            .assignee
            .as_deref()
            .map_or_else(|| "in progress, held by nobody".into(), |name| format!("held by {name}"));
        let facts = [
            since.map(|since| format!(" since {since}")),
            self.claim_host.as_ref().map(|host| format!(" on {host}")),
            self.claim_session.as_ref().map(|session| format!(" in session {session}")),
        ];
        let facts: String = facts.into_iter().flatten().collect();
        Error::new(Code::AlreadyClaimed, format!("issue already claimed: {id} is {holder}{facts}")).hint(format!(
            "its holder renews it with pn heartbeat {id} and gives it back with pn release {id}; pn ready lists others"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issue(fields: serde_json::Value) -> Issue {
        let mut all = serde_json::json!({"id": "pn-1", "title": "t", "issue_type": "task", "status": "in_progress",
            "priority": "p2", "assignee": "ana", "created_at": "2026-02-27T14:30:00Z", "updated_at": "2026-02-27T14:30:00Z"});
        let fields = fields.as_object().expect("an object").clone();
        all.as_object_mut().expect("an object").extend(fields);
        serde_json::from_value(all).expect("an issue")
    }

    fn origin(session: Option<&str>, run: Option<&str>) -> Origin {
        Origin { session: session.map(str::to_owned), run: run.map(str::to_owned), host: None }
    }

    #[test]
    fn claim_is_protected_by_its_session_or_its_live_lease() {
        let now: Timestamp = "2026-02-27T15:00:00Z".parse().expect("a time");
        let (live, ended) = ("2026-02-27T16:00:00Z", "2026-02-27T14:59:00Z");
        let plain = issue(serde_json::json!({}));
        let leased = issue(serde_json::json!({"lease_expires_at": live}));
        let expired = issue(serde_json::json!({"lease_expires_at": ended}));
        let in_session = issue(serde_json::json!({"claim_session": "s1", "lease_expires_at": live}));
        let open = issue(serde_json::json!({"status": "open", "claim_session": "s1"}));
        let none = origin(None, None);
        let table = [
            ("ben", &none, [false, true, false, true, false]),
            ("ana", &none, [false, false, false, true, false]),
            ("ana", &origin(Some("s2"), None), [false, false, false, true, false]),
            ("ana", &origin(Some("s1"), None), [false, false, false, false, false]),
            ("ana", &origin(Some("s2"), Some("s1")), [false, false, false, false, false]),
            ("ben", &origin(None, Some("s1")), [false, true, false, false, false]),
        ];
        for (actor, origin, expected) in table {
            for (subject, expected) in [&plain, &leased, &expired, &in_session, &open].into_iter().zip(expected) {
                let by = Requester { actor, origin, force: false };
                let refused = subject.check_claim(&by, now).is_err_and(|error| error.code == Code::AlreadyClaimed);
                assert_eq!(refused, expected, "{actor} {origin:?} on {subject:?}");
                let forced = subject.check_claim(&Requester { force: true, ..by }, now).expect("forced");
                assert_eq!(forced, expected, "{actor} {origin:?} on {subject:?}");
            }
        }
    }

    #[test]
    fn error_names_holder_host_session_and_next_steps() {
        let subject = issue(serde_json::json!({"claim_session": "s1", "claim_host": "box"}));
        let error = subject.already_claimed("2026-02-27T14:30:00Z".parse().ok());
        assert_eq!(
            error.message,
            "issue already claimed: pn-1 is held by ana since 2026-02-27T14:30:00.000Z on box in session s1"
        );
        let hint = error.hint.expect("a hint");
        assert!(hint.contains("pn heartbeat pn-1") && hint.contains("pn release pn-1"), "{hint}");
    }
}
