//! The agent: a persistent identity that outlives its sessions.
//!
//! [`apply`] is the only function that changes its lifecycle. The engine manages its sessions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::closed_enum::closed_enum;
use crate::entity;
use crate::error::{Code, Error, Result};
use crate::id::{AgentId, SessionId};
use crate::issue::Extra;
use crate::session::object::{self, OBJECT_BYTES, Object};
use crate::sync::SyncEntity;
use crate::text;
use crate::text_form::checked_text;
use crate::time::Timestamp;

closed_enum! {
    /// The types of agents that can be created.
    AgentType "invalid type of agent: {:?}" {
        /// Talks with a person
        User "user",
        /// Works at set times
        Cron "cron",
        /// Part of the system
        System "system",
        /// Helps another agent with one task
        Subagent "subagent",
        /// Belongs to an application
        App "app",
        /// Has a permanent task
        Permanent "permanent",
    }
}

/// The type of an agent, possibly unknown to this version: an imported agent keeps its type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, with = "String")]
pub struct TypeName(String);

impl TypeName {
    const MAX: usize = 64;

    /// The type, or `None` if this version does not know it.
    pub fn known(&self) -> Option<AgentType> {
        AgentType::ALL.into_iter().find(|known| known.as_str() == self.0)
    }
}

impl From<AgentType> for TypeName {
    fn from(known: AgentType) -> Self {
        Self(known.as_str().to_owned())
    }
}

checked_text!(TypeName);

impl TryFrom<String> for TypeName {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        let starts_well = text.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        if starts_well && text.len() <= Self::MAX && text.bytes().all(plain) {
            return Ok(Self(text));
        }
        let shown: String = text.chars().take(Self::MAX).collect();
        Err(Error::invalid(format!("not a type of agent: {shown:?}"))
            .hint("user, cron, system, subagent, app or permanent; others are up to 64 of a-z, 0-9, - and _"))
    }
}

closed_enum! {
    /// The lifecycle state of an agent.
    Lifecycle "invalid lifecycle: {:?}" {
        Active "active",
        Sleeping "sleeping",
        /// Permanently ended
        Dead "dead",
    }
}

/// A persistent identity, with a description and permissions.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Agent {
    pub id: AgentId,
    #[serde(rename = "type")]
    pub agent_type: TypeName,
    pub name: Option<String>,
    /// The agent it works for
    pub parent_id: Option<AgentId>,
    /// A description of it: a JSON object of its creator
    #[serde(default)]
    pub descriptor: Object,
    pub active_session_id: Option<SessionId>,
    /// Its permissions: a JSON object of its creator
    #[serde(default)]
    pub permissions: Object,
    /// The tokens of its last inference
    pub tokens: Option<Object>,
    /// The totals of all its inferences, by provider and model
    #[serde(default)]
    pub stats: Object,
    pub lifecycle: Lifecycle,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// When it was deleted, in milliseconds. Internal to the store
    #[serde(skip)]
    pub deleted_ms: Option<i64>,
    /// Fields unknown to this version, kept so that a newer version does not lose them
    #[serde(flatten)]
    pub extra: Extra,
}

entity!(Agent: "agent" in "agents", keys 1, shown "deleted_ms IS NULL" {
    id, type, name, parent_id, descriptor: Object, active_session_id, permissions: Object, tokens: Json, stats: Object,
    lifecycle, created_at, updated_at, deleted_ms: Hidden, extra: Extra,
}
    fn hidden(&self, _: &str) -> Option<i64> {
        self.deleted_ms
    }

    fn set_hidden(&mut self, _: &str, value: i64) {
        self.deleted_ms = Some(value);
    }
);

impl SyncEntity for Agent {
    fn normalise(self) -> Result<Self> {
        self.check()?;
        Ok(self)
    }

    fn extra(&self) -> &Extra {
        &self.extra
    }
}

impl Agent {
    /// Refuses invalid or oversized fields.
    pub fn check(&self) -> Result<()> {
        if let Some(name) = &self.name {
            text::line("name", name)?;
        }
        if self.parent_id.as_ref() == Some(&self.id) {
            return Err(Error::invalid(format!("agent {} cannot be its own parent", self.id)));
        }
        object::check("descriptor", &self.descriptor, OBJECT_BYTES)?;
        object::check("permissions", &self.permissions, OBJECT_BYTES)?;
        object::check("stats", &self.stats, OBJECT_BYTES)?;
        self.tokens.as_ref().map_or(Ok(()), |tokens| object::check("tokens", tokens, OBJECT_BYTES))
    }

    /// Returns an error if the agent is dead. `what` completes the message, such as `append to`.
    pub fn must_live(&self, what: &str) -> Result<()> {
        if self.lifecycle != Lifecycle::Dead {
            return Ok(());
        }
        Err(Error::new(Code::InvalidStatusTransition, format!("cannot {what} {}: it is dead", self.id))
            .hint("death is final; create another agent with pn agent create"))
    }
}

/// A lifecycle change of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentTransition {
    Sleep,
    Wake,
    Kill,
}

/// Applies a lifecycle change and returns whether anything changed, or an error if it is not allowed.
///
/// Repeating a change succeeds without effect, so that callers can retry.
pub fn apply(agent: &mut Agent, step: AgentTransition) -> Result<bool> {
    let to = match step {
        AgentTransition::Sleep => {
            agent.must_live("put to sleep")?;
            Lifecycle::Sleeping
        }
        AgentTransition::Wake => {
            agent.must_live("wake")?;
            Lifecycle::Active
        }
        AgentTransition::Kill => Lifecycle::Dead,
    };
    Ok(std::mem::replace(&mut agent.lifecycle, to) != to)
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;
    use serde_json::{Value, json};

    use super::*;

    fn agent(with: Value) -> Agent {
        let mut whole = json!({"id": "ag-1", "type": "user", "descriptor": {}, "permissions": {}, "stats": {},
            "lifecycle": "active", "created_at": "2026-02-27T14:30:00.000Z", "updated_at": "2026-02-27T14:30:00.000Z"});
        whole.as_object_mut().expect("an object").extend(with.as_object().expect("an object").clone());
        serde_json::from_value(whole).expect("an agent")
    }

    /// Every lifecycle with every change: the resulting lifecycle and whether it changed, or `None` if refused.
    #[test]
    fn every_lifecycle_with_every_change() {
        use Lifecycle::{Active, Dead, Sleeping};
        let table = [
            (Active, AgentTransition::Sleep, Some((Sleeping, true))),
            (Active, AgentTransition::Wake, Some((Active, false))),
            (Active, AgentTransition::Kill, Some((Dead, true))),
            (Sleeping, AgentTransition::Sleep, Some((Sleeping, false))),
            (Sleeping, AgentTransition::Wake, Some((Active, true))),
            (Sleeping, AgentTransition::Kill, Some((Dead, true))),
            (Dead, AgentTransition::Sleep, None),
            (Dead, AgentTransition::Wake, None),
            (Dead, AgentTransition::Kill, Some((Dead, false))),
        ];
        for (lifecycle, step, expected) in table {
            let mut subject = agent(json!({"lifecycle": lifecycle}));
            let got = apply(&mut subject, step);
            if let Err(error) = &got {
                assert_eq!(error.code, Code::InvalidStatusTransition);
                assert!(error.message.contains("ag-1: it is dead") && error.hint.is_some(), "{error:?}");
                assert_eq!(subject.lifecycle, lifecycle, "a refused step changes nothing");
            }
            assert_eq!(got.ok().map(|changed| (subject.lifecycle, changed)), expected, "{lifecycle}: {step:?}");
        }
    }

    #[test]
    fn only_dead_agents_are_refused() {
        for lifecycle in Lifecycle::ALL {
            let result = agent(json!({"lifecycle": lifecycle})).must_live("append to");
            assert_eq!(result.is_err(), lifecycle == Lifecycle::Dead);
        }
        let error = agent(json!({"lifecycle": "dead"})).must_live("append to").expect_err("dead");
        assert_eq!(error.message, "cannot append to ag-1: it is dead");
    }

    #[test]
    fn enum_words_are_the_same_in_json_and_on_the_command_line() {
        for lifecycle in Lifecycle::ALL {
            assert_eq!(json!(lifecycle), lifecycle.as_str());
            assert_eq!(lifecycle.as_str().parse::<Lifecycle>().expect("known"), lifecycle);
            assert_eq!(lifecycle.to_possible_value().expect("shown").get_name(), lifecycle.as_str());
        }
        assert!("Dead".parse::<Lifecycle>().is_err());
        for known in AgentType::ALL {
            assert_eq!(json!(known), known.as_str());
            assert_eq!(known.to_possible_value().expect("shown").get_name(), known.as_str());
            assert_eq!(TypeName::from(known).known(), Some(known));
            assert_eq!(known.as_str().parse::<TypeName>().expect("a type"), known.into());
        }
    }

    #[test]
    fn unknown_type_is_kept_if_it_is_a_plain_word() {
        for good in ["swarm", "memory-agent", "memory_search", "a", "x2", &"a".repeat(64)] {
            let name: TypeName = good.parse().expect(good);
            assert_eq!((name.as_str(), name.known()), (good, None));
            assert_eq!(agent(json!({"type": good})).agent_type, name);
        }
        for bad in ["", "User", "2x", "-a", "a b", "a/b", "a\n", "ä", "a\0", "\u{1b}[31m", &"a".repeat(65)] {
            let error = bad.parse::<TypeName>().expect_err(bad);
            assert!(error.message.len() < 600 && error.hint.is_some(), "{bad:?}");
        }
    }

    #[test]
    fn agent_json_round_trips_without_absent_fields() {
        let least = agent(json!({}));
        let written = serde_json::to_value(&least).expect("serialises");
        let keys: Vec<&String> = written.as_object().expect("an object").keys().collect();
        let always = ["id", "type", "descriptor", "permissions", "stats", "lifecycle", "created_at", "updated_at"];
        assert_eq!(keys, always);
        let most = agent(json!({"type": "swarm", "name": "n", "parent_id": "ag-0", "descriptor": {"id": "x"},
            "active_session_id": "se-1", "permissions": {"network": true}, "tokens": {"size": {"total": 1}},
            "stats": {"p": {"m": 2}}, "lifecycle": "sleeping"}));
        for given in [least, most] {
            let text = serde_json::to_string(&given).expect("serialises");
            assert_eq!(serde_json::from_str::<Agent>(&text).expect("an agent"), given);
        }
    }

    #[test]
    fn object_fields_refuse_other_values() {
        for field in ["descriptor", "permissions", "stats", "tokens"] {
            let mut given = serde_json::to_value(agent(json!({}))).expect("serialises");
            for bad in [json!([]), json!("x"), json!(1)] {
                given[field] = bad;
                assert!(serde_json::from_value::<Agent>(given.clone()).is_err(), "{given}");
            }
        }
        assert_eq!(agent(json!({"tokens": null})).tokens, None);
    }

    #[test]
    fn oversized_nested_and_invalid_fields_are_refused() {
        assert!(agent(json!({"name": "builder", "tokens": {"a": 1}})).check().is_ok());
        for field in ["descriptor", "permissions", "stats", "tokens"] {
            let error = agent(json!({field: {"a": "x".repeat(OBJECT_BYTES)}})).check().expect_err(field);
            assert_eq!(error.code, Code::TooLarge);
            assert!(error.message.starts_with(field) && error.message.contains("1048576"), "{error}");
            let mut deep = json!({});
            for _ in 0..object::MAX_DEPTH {
                deep = json!({"a": deep});
            }
            assert_eq!(agent(json!({field: deep})).check().expect_err(field).code, Code::InvalidInput);
        }
        for name in ["", "a\nb", "\u{1b}[31m", &"x".repeat(501)] {
            assert!(agent(json!({"name": name})).check().is_err(), "{name:?}");
        }
        assert!(agent(json!({"parent_id": "ag-1"})).check().is_err());
    }
}
