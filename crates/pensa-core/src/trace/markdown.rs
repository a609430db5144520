//! Formats a trace as Markdown for a report or a pull request. Text from data is escaped.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{ActivityTotal, Claim, Totals, Trace, TraceEntry, format_duration};
use crate::text;

/// Formats the whole trace as a document.
pub fn markdown(trace: &Trace) -> String {
    let issue = &trace.issue;
    let shown = |data: &str| text::markdown(data);
    let mut page = format!("# {}: {}\n\n", shown(issue.id.as_str()), shown(&issue.title));
    let _ = writeln!(page, "- Status: {} ({} {})", issue.status, issue.priority, issue.issue_type);
    if let Some(assignee) = &issue.assignee {
        let _ = writeln!(page, "- Assignee: {}", shown(assignee));
    }
    let until = if issue.closed_at.is_some() { "closed after" } else { "open for" };
    let _ = writeln!(page, "- Created: {}, {until} {}", issue.created_at, format_duration(trace.totals.age_ms));
    if let Some(reason) = &issue.close_reason {
        let _ = writeln!(page, "- Reason: {}", shown(reason));
    }
    page.push_str("\n## Timeline\n");
    if trace.left_out > 0 {
        let _ = write!(page, "\n{} earlier entries are left out.\n", trace.left_out);
    }
    let mut day = String::new();
    for entry in &trace.entries {
        let at = entry.at.to_string();
        if at[..10] != day {
            at[..10].clone_into(&mut day);
            let _ = write!(page, "\n### {day}\n\n");
        }
        line(&mut page, entry, &at[11..19]);
    }
    page.push_str("\n## Totals\n\n");
    for (name, value) in totals(&trace.totals) {
        let _ = writeln!(page, "- {name}: {}", shown(&value));
    }
    if !trace.notes.is_empty() {
        page.push('\n');
    }
    for note in &trace.notes {
        let _ = writeln!(page, "Note: {}", shown(note));
    }
    page
}

fn line(page: &mut String, entry: &TraceEntry, time: &str) {
    let event = text::markdown(&entry.event);
    let _ = write!(page, "- {time} {} {event}", entry.kind);
    if let Some(id) = &entry.id {
        let _ = write!(page, " {}", text::markdown(id));
    }
    if let Some(actor) = &entry.actor {
        let _ = write!(page, " by {}", text::markdown(actor));
    }
    if let Some(millis) = entry.duration_ms {
        let _ = write!(page, " after {}", format_duration(millis));
    }
    if entry.failed {
        page.push_str(" (**failed**)");
    }
    if !entry.text.is_empty() {
        let _ = write!(page, ": {}", text::markdown(&entry.text));
    }
    page.push('\n');
}

/// The totals as pairs of name and text, without those that are zero.
pub(super) fn totals(totals: &Totals) -> Vec<(&'static str, String)> {
    let mut list = Vec::new();
    let mut add = |name: &'static str, is_present: bool, text: String| {
        if is_present {
            list.push((name, text));
        }
    };
    add("claimed", !totals.claims.is_empty(), held(&totals.claims, totals.claimed_ms));
    add("steps", totals.steps > 0, format!("{} of {} done", totals.steps_done, totals.steps));
    add("runs", totals.runs.count > 0, counted(&totals.runs));
    add("jobs", totals.jobs.count > 0, counted(&totals.jobs));
    add("loops", totals.loops.count > 0, counted(&totals.loops));
    add("sessions", !totals.sessions.is_empty(), totals.sessions.len().to_string());
    let tokens = &totals.tokens;
    let cached = tokens.cache_read.saturating_add(tokens.cache_write);
    let parts = format!("{} in, {} out, {cached} cached", tokens.input, tokens.output);
    add("tokens", tokens.total > 0, format!("{} ({parts})", tokens.total));
    add("cost", totals.cost_usd.is_some(), format!("{:.4} USD", totals.cost_usd.unwrap_or_default()));
    for (name, count) in [
        ("comments", totals.comments),
        ("signals", totals.signals),
        ("snapshots", totals.snapshots),
        ("commits", totals.commits),
        ("learnings", totals.learnings),
        ("releases", totals.releases),
    ] {
        add(name, count > 0, count.to_string());
    }
    list
}

fn held(claims: &[Claim], all: i64) -> String {
    let mut by: BTreeMap<&str, i64> = BTreeMap::new();
    claims.iter().for_each(|claim| *by.entry(&claim.actor).or_default() += claim.duration_ms);
    let each: Vec<String> =
        by.into_iter().map(|(actor, millis)| format!("{actor} {}", format_duration(millis))).collect();
    let times = if claims.len() == 1 { "once".to_owned() } else { format!("{} times", claims.len()) };
    format!("{times}, {} ({})", format_duration(all), each.join(", "))
}

fn counted(count: &ActivityTotal) -> String {
    let mut text = count.count.to_string();
    if count.failed > 0 {
        let _ = write!(text, ", {} failed", count.failed);
    }
    if count.duration_ms > 0 {
        let _ = write!(text, ", {}", format_duration(count.duration_ms));
    }
    text
}

impl Totals {
    /// The totals as pairs of name and text, without those that are zero.
    pub fn in_words(&self) -> Vec<(&'static str, String)> {
        totals(self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::trace::Kind;

    #[test]
    fn text_from_data_does_not_become_markup() {
        let forged = "a\n\n# Totals\n- <script>x</script> [l](u) \u{1b}[2J| `c` **b**";
        let at = "2026-02-27T14:30:00.000Z";
        let issue = json!({"id": "pn-1", "title": forged, "issue_type": "bug", "status": "closed", "priority": "p0",
            "assignee": forged, "close_reason": forged, "created_at": at, "updated_at": at, "closed_at": at});
        let at = at.parse().expect("a time");
        let totals = Totals {
            claims: vec![Claim { actor: forged.into(), from: at, until: None, ended_by: None, duration_ms: 61_000 }],
            claimed_ms: 61_000,
            ..Totals::default()
        };
        let trace = Trace {
            issue: serde_json::from_value(issue).expect("an issue"),
            entries: vec![TraceEntry::new(at, Kind::Run, forged).of(forged).by(forged).saying(forged).failing(true)],
            left_out: 3,
            totals,
            notes: vec![forged.into()],
        };
        let page = markdown(&trace);
        let headings: Vec<&str> = page.lines().filter(|line| line.starts_with('#')).collect();
        assert_eq!(headings.len(), 4, "{page}");
        assert_eq!(headings[1..], ["## Timeline", "### 2026-02-27", "## Totals"]);
        assert!(!page.contains("<script>") && !page.contains('\u{1b}') && !page.contains("[l]("), "{page}");
        assert!(page.contains("3 earlier entries are left out.") && page.contains("(**failed**)"), "{page}");
        assert!(page.contains("- claimed: once, 1m 1s ("), "{page}");
    }
}
