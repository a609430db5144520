//! How jobs look.

use pensa_core::job::{Job, JobStats};
use pensa_core::text;

use super::agents::{brief, fact};
use super::{Render, Screen};

fn line(job: &Job, screen: &mut Screen) {
    screen.id(&job.id).plain(&format!(" {:<9} ", job.status)).faint(&job.started_at.to_string());
    screen.plain(" ").text(job.lane.as_str()).plain(" ").text(&job.tool_name);
    if let Some(took) = job.duration_ms {
        screen.plain(" ").faint(&duration(took));
    }
    screen.plain(" ").text(&brief(&job.command)).end();
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
        fact(screen, "directory", self.cwd.clone());
        fact(screen, "loop", self.loop_id.clone());
        fact(screen, "run", self.run_id.as_ref().map(ToString::to_string));
        fact(screen, "session", self.session_id.as_ref().map(ToString::to_string));
        fact(screen, "issue", self.issue_id.as_ref().map(ToString::to_string));
        fact(screen, "actor", Some(self.actor.clone()));
        fact(screen, "host", self.host.clone());
        fact(screen, "process", self.pid.map(|pid| pid.to_string()));
        fact(screen, "timeout", Some(duration(self.timeout_ms)));
        fact(screen, "exit code", self.end.exit_code.map(|code| code.to_string()));
        fact(screen, "signal", self.end.signal.map(|signal| signal.to_string()));
        fact(screen, "reason", self.end.reason.clone());
        fact(screen, "ended", self.ended_at.map(|at| at.to_string()));
        let cut = if self.truncated { ", not all of them kept" } else { "" };
        fact(screen, "output", self.status.is_over().then(|| format!("{} bytes{cut}", self.output_bytes)));
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

impl Render for Vec<Job> {
    fn render(&self, screen: &mut Screen) {
        self.iter().for_each(|job| line(job, screen));
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|job| job.id.to_string()).collect()
    }
}

impl Render for Vec<JobStats> {
    fn render(&self, screen: &mut Screen) {
        for JobStats { tool_name, lane, tally } in self {
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
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|stats| stats.tool_name.clone()).collect()
    }
}
