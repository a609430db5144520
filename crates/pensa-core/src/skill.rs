//! Skills: the skills that each agent file uses, and the import of two formats of other tools.
//!
//! Pensa stores only the names of skills.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::entity;
use crate::error::{Code, Error, Result};
use crate::issue::Extra;
use crate::sync::SyncEntity;
use crate::text;
use crate::time::Timestamp;

/// Maximum number of skills per name.
pub const MAX_SKILLS: usize = 200;
/// Maximum number of names.
pub const MAX_NAMES: usize = 1000;

/// Names of agent files and their skills.
pub type Mappings = BTreeMap<String, Vec<String>>;

/// Every name and its skills.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skills {
    pub mappings: Mappings,
    /// When anything was last changed; null if nothing was
    #[serde(rename = "updatedAt")]
    pub updated_at: Option<Timestamp>,
}

/// A name and its skills.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    pub name: String,
    pub skills: Vec<String>,
    pub updated_at: Timestamp,
    /// Fields unknown to this version, kept so that a newer version does not lose them
    #[serde(flatten)]
    pub extra: Extra,
}

entity!(Mapping: "skills" in "skills", keys 1 { name, skills: List, updated_at, extra: Extra });

impl SyncEntity for Mapping {
    fn normalise(self) -> Result<Self> {
        let name = checked_name(&self.name)?;
        if name != self.name {
            return Err(Error::invalid("a name neither begins nor ends with blanks"));
        }
        Ok(Self { skills: checked_skills(&name, &self.skills)?, ..self })
    }

    fn extra(&self) -> &Extra {
        &self.extra
    }
}

/// Checks a name and returns it in its stored form.
pub fn checked_name(name: &str) -> Result<String> {
    text::line("name", name).map(str::to_owned)
}

/// Checks skills and returns them without duplicates, in their order.
pub fn checked_skills(name: &str, skills: &[String]) -> Result<Vec<String>> {
    let mut kept: Vec<String> = Vec::new();
    for skill in skills {
        let skill = text::line("skill", skill)?;
        if !kept.iter().any(|other| other == skill) {
            kept.push(skill.to_owned());
        }
        if kept.len() > MAX_SKILLS {
            return Err(Error::new(Code::TooLarge, format!("{name} has more than {MAX_SKILLS} skills")));
        }
    }
    if kept.is_empty() {
        return Err(Error::invalid(format!("no skills were given for {name}")).hint("pn skill remove takes out a name"));
    }
    Ok(kept)
}

/// The file of another tool. Each of the two formats uses some of the fields.
#[derive(Debug, Deserialize)]
struct Document {
    mappings: Option<Mappings>,
    #[serde(default)]
    skills: Vec<Linked>,
    #[serde(rename = "agentSkillMap")]
    agent_skill_map: Option<BTreeMap<String, OneOrMany>>,
}

/// A single skill may be written without a list.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrMany> for Vec<String> {
    fn from(given: OneOrMany) -> Self {
        match given {
            OneOrMany::One(skill) => vec![skill],
            OneOrMany::Many(skills) => skills,
        }
    }
}

#[derive(Debug, Deserialize)]
struct Linked {
    name: String,
    #[serde(default, rename = "linkedAgents")]
    linked_agents: Vec<String>,
}

/// Parses either format: `mappings`, or `skills` with `linkedAgents` and `agentSkillMap`.
pub fn parse(document: &str) -> Result<Mappings> {
    let wrong = |why: &dyn std::fmt::Display| {
        Error::invalid(format!("not a list of skills: {why}"))
            .hint("an object with \"mappings\", or with \"skills\" and \"agentSkillMap\"")
    };
    let document: Document = serde_json::from_str(document).map_err(|e| wrong(&e))?;
    let Document { mappings, skills, agent_skill_map } = document;
    if mappings.is_none() && agent_skill_map.is_none() && skills.is_empty() {
        return Err(wrong(&"it has neither mappings nor skills"));
    }
    let mut all = Mappings::new();
    let linked = skills.into_iter().flat_map(|Linked { name, linked_agents }| {
        linked_agents.into_iter().map(move |agent| (agent, vec![name.clone()]))
    });
    let of_agents = agent_skill_map.into_iter().flatten().map(|(name, skills)| (name, skills.into()));
    let maps = mappings.into_iter().flatten().chain(of_agents);
    for (name, skills) in maps.chain(linked) {
        all.entry(name).or_default().extend(skills);
    }
    // A name that calls for nothing says nothing.
    all.retain(|_, skills| !skills.is_empty());
    checked(&all)
}

/// Names and skills as they are kept.
pub fn checked(mappings: &Mappings) -> Result<Mappings> {
    if mappings.len() > MAX_NAMES {
        return Err(Error::new(Code::TooLarge, format!("more than {MAX_NAMES} names have skills")));
    }
    mappings.iter().map(|(name, skills)| Ok((checked_name(name)?, checked_skills(name, skills)?))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_forms_are_read() {
        let expected = json!({"backend.md": ["sql", "rust"], "frontend.md": ["design"]});
        let one = json!({"mappings": {"frontend.md": ["design"], "backend.md": ["sql", "rust"]}, "updatedAt": "x"});
        let other = json!({"skills": [{"name": "sql", "linkedAgents": ["backend.md"]}, {"name": "alone"},
            {"name": "rust", "linkedAgents": ["backend.md"], "path": "p"}],
            "agentSkillMap": {"frontend.md": ["design", "design"], "backend.md": ["sql"], "idle.md": []}});
        let plain = json!({"skills": [{"name": "rust", "linkedAgents": ["backend.md"]}],
            "agentSkillMap": {"frontend.md": "design", "backend.md": "sql"}});
        for document in [one, other, plain] {
            assert_eq!(json!(parse(&document.to_string()).expect("skills")), expected);
        }
        assert!(parse(r#"{"mappings":{}}"#).expect("none").is_empty());
    }

    #[test]
    fn invalid_documents_are_refused() {
        let many = json!({"mappings": {"a": (0..=MAX_SKILLS).map(|n| n.to_string()).collect::<Vec<_>>()}}).to_string();
        let names: Mappings = (0..=MAX_NAMES).map(|n| (n.to_string(), vec!["s".into()])).collect();
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        let bad = [
            "",
            "[]",
            "{}",
            "7",
            r#"{"mappings":{"a":"b"}}"#,
            r#"{"mappings":{"a":["b\u001b"]}}"#,
            r#"{"mappings":{" ":["b"]}}"#,
            r#"{"mappings":{"a":[""]}}"#,
            r#"{"skills":[{"linkedAgents":["a"]}]}"#,
            &deep,
            &many,
            &json!({ "mappings": names }).to_string(),
        ];
        for bad in bad {
            assert!(parse(bad).is_err(), "{}", &bad[..bad.len().min(60)]);
        }
    }
}
