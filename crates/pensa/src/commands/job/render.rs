//! Prints jobs and job statistics.

use pensa_core::job::{Job, JobStats};
use pensa_core::text;

use crate::render::{ListItem, Render, Screen, field, shorten, when};

fn line(job: &Job, screen: &mut Screen) {
    screen.id(&job.id).plain(&format!(" {:<9} ", job.status)).faint(&when(job.started_at));
    screen.plain(" ").text(job.lane.as_str()).plain(" ").text(&job.tool_name);
    if let Some(took) = job.duration_ms {
        screen.plain(" ").faint(&duration(took));
    }
    screen.plain(" ").text(&shorten(&job.command)).end();
}

/// `850ms`, `2.5s`, `12m05s`
fn duration(millis: i64) -> String {
    match millis {
        ..1000 => format!("{millis}ms"),
        1000..60_000 => format!("{}.{}s", millis / 1000, millis % 1000 / 100),
        _ => format!("{}m{:02}s", millis / 60_000, millis % 60_000 / 1000),
    }
}

impl Render for Job {
    fn render(&self, screen: &mut Screen) {
        line(self, screen);
        field(screen, "directory", self.cwd.clone());
        field(screen, "loop", self.loop_id.clone());
        field(screen, "run", self.run_id.as_ref().map(ToString::to_string));
        field(screen, "session", self.session_id.as_ref().map(ToString::to_string));
        field(screen, "issue", self.issue_id.as_ref().map(ToString::to_string));
        field(screen, "actor", Some(self.actor.clone()));
        field(screen, "host", self.host.clone());
        field(screen, "process", self.pid.map(|pid| pid.to_string()));
        field(screen, "timeout", Some(duration(self.timeout_ms)));
        field(screen, "exit code", self.end.exit_code.map(|code| code.to_string()));
        field(screen, "signal", self.end.signal.map(|signal| signal.to_string()));
        field(screen, "reason", self.end.reason.clone());
        field(screen, "ended", self.ended_at.map(when));
        let cut = if self.truncated { ", not all of them kept" } else { "" };
        field(screen, "output", self.status.is_over().then(|| format!("{} bytes{cut}", self.output_bytes)));
        if let Some(output) = &self.output {
            for line in text::printable_block(output).trim_end_matches('\n').split('\n') {
                screen.plain("  ").plain(line).end();
            }
        }
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl ListItem for Job {
    const NOUN: [&str; 2] = ["job", "jobs"];

    fn render_item(&self, screen: &mut Screen) {
        line(self, screen);
    }

    fn item_ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl ListItem for JobStats {
    const NOUN: [&str; 2] = ["tool", "tools"];

    fn render_item(&self, screen: &mut Screen) {
        let JobStats { tool_name, lane, tally } = self;
        screen.text(tool_name).plain(" ").faint(lane.as_str()).plain(&format!(" {}", tally.count));
        for (count, what) in [
            (tally.unfinished, "not over"),
            (tally.failures, "failed"),
            (tally.timeouts, "timed out"),
            (tally.cancelled, "cancelled"),
        ] {
            if count > 0 {
                screen.plain(&format!(", {count} {what}"));
            }
        }
        let took = [("p50", tally.took.p50_ms), ("p95", tally.took.p95_ms), ("max", tally.took.max_ms)];
        for (name, took) in took {
            if let Some(took) = took {
                screen.plain(" ").faint(&format!("{name} {}", duration(took)));
            }
        }
        screen.plain(&format!(" {} bytes", tally.output_bytes)).end();
    }

    fn item_ids(&self) -> Vec<String> {
        vec![self.tool_name.clone()]
    }
}
