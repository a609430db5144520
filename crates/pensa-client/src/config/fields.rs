//! Reads what a project says about issues: its custom fields, `fields.NAME`, and `close.require_accepted`.

use std::collections::BTreeSet;

use pensa_core::Result;
use pensa_core::issue::{FieldValues, IssueRules, check_field_name};

use super::keys::{CLOSE_REQUIRE_ACCEPTED, FIELD};
use super::{Config, Setting};

/// The value of a field that may hold any text.
pub(super) const FREE: &str = "free";

/// Whether a key declares a custom field.
pub(super) fn is_field(name: &str) -> bool {
    name.strip_prefix("fields.").is_some_and(|field| check_field_name(field).is_ok())
}

impl Config {
    /// What the settings say about issues.
    pub fn issue_rules(&self) -> Result<IssueRules> {
        let mut rules = IssueRules { require_accepted: self.is_on(&CLOSE_REQUIRE_ACCEPTED)?, fields: Some([].into()) };
        for Setting { key, value, .. } in self.field_settings()? {
            let values = declared(&value.to_string());
            let kind = if values == [FREE] { FieldValues::Free } else { FieldValues::OneOf(values) };
            let name = key.trim_start_matches("fields.").to_owned();
            rules.fields.get_or_insert_default().insert(name, kind);
        }
        Ok(rules)
    }

    /// The declarations of all custom fields.
    pub(super) fn field_settings(&self) -> Result<Vec<Setting>> {
        let names: BTreeSet<String> = self.leaves().map(|leaf| leaf.key()).filter(|key| is_field(key)).collect();
        names.iter().filter_map(|name| self.resolve(&FIELD, name, None).transpose()).collect()
    }
}

/// The values that a field may have: one a line, as a list in a file is read, or with commas, as people type them.
fn declared(text: &str) -> Vec<String> {
    let is_list = text.lines().count() > 1;
    let typed = text.trim().trim_start_matches('[').trim_end_matches(']').split(',');
    let typed = typed.map(|value| value.trim().trim_matches('"').to_owned());
    if is_list { text.lines().map(|value| value.trim().to_owned()).collect() } else { typed.collect() }
}

#[cfg(test)]
mod tests {
    use super::super::{ConfigOverrides, ConfigPaths};
    use super::*;

    #[test]
    fn fields_are_declared_as_free_or_with_their_values() {
        let dir = tempfile::tempdir().expect("a directory");
        let project = dir.path().join("config.toml");
        let text = "close.require_accepted = true\n[fields]\nseverity = [\"low\", \"high\"]\nteam = \"free\"\n\
                    size = \"s, m\"\nshape = '[\"round\",\"flat\"]'\n";
        std::fs::write(&project, text).expect("written");
        let files = ConfigPaths { project: Some(project), ..ConfigPaths::default() };
        let rules = Config::read(ConfigOverrides::default(), &files).and_then(|config| config.issue_rules());
        let rules = rules.expect("rules");
        assert!(rules.require_accepted);
        let fields = rules.fields.expect("fields");
        assert_eq!(fields["severity"], FieldValues::OneOf(vec!["low".into(), "high".into()]));
        assert_eq!(fields["size"], FieldValues::OneOf(vec!["s".into(), "m".into()]), "as pn config set writes it");
        assert_eq!(fields["shape"], FieldValues::OneOf(vec!["round".into(), "flat".into()]));
        assert_eq!((fields.len(), &fields["team"]), (4, &FieldValues::Free));
    }
}
