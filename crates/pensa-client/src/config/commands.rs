//! Commands that the user has named to run on issues: `run.command.NAME`.

use std::collections::{BTreeMap, BTreeSet};

use pensa_core::Result;

use super::keys::RUN_COMMAND;
use super::{Config, Setting};

const PREFIX: &str = "run.command.";

pub(super) fn is_command(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    name.strip_prefix(PREFIX).is_some_and(|name| !name.is_empty() && name.chars().all(is_plain))
}

impl Config {
    /// The commands by name. What came with the repository does not count, because it would run.
    pub fn run_commands(&self, came_with_repository: &dyn Fn(&Setting) -> bool) -> Result<BTreeMap<String, String>> {
        let keys: BTreeSet<String> = self.leaves().map(|leaf| leaf.key()).filter(|key| is_command(key)).collect();
        let mut commands = BTreeMap::new();
        for key in keys {
            let own = self.in_files(&RUN_COMMAND, &key)?.into_iter().find(|setting| !came_with_repository(setting));
            if let (Some(own), Some(name)) = (own, key.strip_prefix(PREFIX)) {
                commands.insert(name.to_owned(), own.value.to_string());
            }
        }
        Ok(commands)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ConfigOverrides, ConfigPaths, Layer};
    use super::*;

    #[test]
    fn a_command_from_the_repository_never_counts() {
        let dir = tempfile::tempdir().expect("a directory");
        let (project, user) = (dir.path().join("project.toml"), dir.path().join("user.toml"));
        std::fs::write(&project, "[run.command]\nfix = \"evil\"\nother = \"evil too\"\n").expect("written");
        std::fs::write(&user, "[run.command]\nfix = \"my-agent --fast\"\n").expect("written");
        let files = ConfigPaths { project: Some(project), user: Some(user), ..ConfigPaths::default() };
        let config = Config::read(ConfigOverrides::default(), &files).expect("settings");
        let commands = config.run_commands(&|setting| setting.layer == Layer::Project).expect("commands");
        assert_eq!(commands, [("fix".to_owned(), "my-agent --fast".to_owned())].into());
        assert_eq!(config.unknown().len(), 0);
    }
}
