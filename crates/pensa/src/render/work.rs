//! How work, releases and skills look.

use pensa_core::ops::release::{ChangelogText, Shipped};
use pensa_core::release::Release;
use pensa_core::skill::Skills;
use pensa_core::text;
use pensa_core::work::{Step, StepStatus, Work};

use super::agents::fact;
use super::{Render, Screen};

fn work_line(work: &Work, screen: &mut Screen) {
    screen.id(&work.issue_id).plain(&format!(" {:<6} {:<11} ", work.status, work.kind)).text(&work.title);
    let done = work.steps.iter().filter(|step| step.status == StepStatus::Done).count();
    if !work.steps.is_empty() {
        screen.plain(&format!(" {done}/{}", work.steps.len()));
    }
    screen.plain(" ").faint(&format!("@{}", work.actor)).end();
}

impl Render for Work {
    fn render(&self, screen: &mut Screen) {
        work_line(self, screen);
        fact(screen, "branch", self.branch.clone());
        steps(&self.steps, self.current_step, screen);
    }

    fn ids(&self) -> Vec<String> {
        vec![self.issue_id.to_string()]
    }
}

/// Steps with their numbers; the current one has a mark.
fn steps(steps: &[Step], current: Option<usize>, screen: &mut Screen) {
    for (number, step) in (1..).zip(steps) {
        let mark = match step.status {
            StepStatus::Done => 'x',
            StepStatus::Pending if current == Some(number) => '>',
            StepStatus::Pending => ' ',
        };
        screen.plain(&format!("{number:>4} [{mark}] ")).text(&step.title).end();
    }
}

impl Render for Option<Work> {
    fn render(&self, screen: &mut Screen) {
        match self {
            Some(work) => work.render(screen),
            None => screen.plain("nothing; pn next shows what waits, pn work start begins").end(),
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().flat_map(Render::ids).collect()
    }
}

impl Render for Vec<Work> {
    fn render(&self, screen: &mut Screen) {
        self.iter().for_each(|work| work_line(work, screen));
    }

    fn ids(&self) -> Vec<String> {
        self.iter().flat_map(Render::ids).collect()
    }
}

impl Render for Vec<Step> {
    fn render(&self, screen: &mut Screen) {
        let current = self.iter().position(|step| step.status == StepStatus::Pending).map(|at| at + 1);
        steps(self, current, screen);
    }

    fn ids(&self) -> Vec<String> {
        (1..=self.len()).map(|number| number.to_string()).collect()
    }
}

fn release_line(release: &Release, screen: &mut Screen) {
    screen.id(&release.id).plain(" ").faint(&release.shipped_at.to_string()).plain(" ").text(&release.version);
    screen.plain(&format!(" {:<11} ", release.kind)).text(&release.name).end();
}

impl Render for Shipped {
    fn render(&self, screen: &mut Screen) {
        release_line(&self.release, screen);
    }

    fn ids(&self) -> Vec<String> {
        vec![self.release.id.to_string()]
    }
}

impl Render for Vec<Release> {
    fn render(&self, screen: &mut Screen) {
        self.iter().for_each(|release| release_line(release, screen));
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|release| release.id.to_string()).collect()
    }
}

impl Render for ChangelogText {
    fn render(&self, screen: &mut Screen) {
        screen.plain(&text::printable_block(&self.markdown));
    }

    /// It has none of its own; the text is all there is to print.
    fn ids(&self) -> Vec<String> {
        self.markdown.lines().map(str::to_owned).collect()
    }
}

impl Render for Skills {
    fn render(&self, screen: &mut Screen) {
        for (name, skills) in &self.mappings {
            screen.text(name).plain(": ").text(&skills.join(", ")).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.mappings.keys().cloned().collect()
    }
}
