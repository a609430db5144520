//! How it looks that what was old is gone.

use pensa_core::ops::gc::Collected;

use super::{Render, Screen};

impl Render for Collected {
    fn render(&self, screen: &mut Screen) {
        let verb = if self.dry_run { "would remove" } else { "removed" };
        let counts: Vec<String> = self
            .removed
            .counts()
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        let told = if counts.is_empty() { "nothing".to_owned() } else { counts.join(", ") };
        screen.plain(&format!("{verb} {told} from before {}", self.until)).end();
        for warning in &self.warnings {
            screen.plain("warning: ").text(warning).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        Vec::new()
    }
}
