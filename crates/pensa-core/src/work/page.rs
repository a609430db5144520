//! Formats the Markdown pages `now.md` (current work) and `next.md` (the queue). The engine writes the files.

use std::fmt::Write;

use super::{StepStatus, Work};
use crate::issue::Issue;
use crate::text::markdown;

/// Text between these markers belongs to the user and is preserved.
const KEEP_START: &str = "<!-- keep -->";
const KEEP_END: &str = "<!-- /keep -->";

/// The page with the current work, and the number of paused and recently finished pieces of work.
pub fn now(doing: Option<&Work>, paused: usize, done: usize) -> String {
    let mut page = "# NOW\n\n".to_owned();
    match doing {
        None => page.push_str("No active work.\n"),
        Some(work) => {
            let _ = writeln!(page, "**{}** ({})\n", markdown(&work.title), work.issue_id);
            let _ = writeln!(page, "Started: {}", work.created_at);
            if let Some(branch) = &work.branch {
                let _ = writeln!(page, "Branch: {}", markdown(branch));
            }
            steps(&mut page, work);
        }
    }
    if paused > 0 || done > 0 {
        let _ = writeln!(page, "\nPaused: {paused}, done: {done}");
    }
    page
}

fn steps(page: &mut String, work: &Work) {
    if work.steps.is_empty() {
        return;
    }
    page.push_str("\n| # | step | status |\n| --- | --- | --- |\n");
    for (at, step) in work.steps.iter().enumerate() {
        let status = match step.status {
            StepStatus::Done => "done",
            StepStatus::Pending if work.current_step == Some(at + 1) => "current",
            StepStatus::Pending => "pending",
        };
        let _ = writeln!(page, "| {} | {} | {status} |", at + 1, markdown(&step.title));
    }
}

/// The page with the queue, most urgent first.
pub fn next(queue: &[Issue]) -> String {
    let mut page = "# NEXT\n\n".to_owned();
    if queue.is_empty() {
        page.push_str("Nothing is ready.\n");
    }
    for (at, issue) in queue.iter().enumerate() {
        let _ = writeln!(page, "{}. [{}] {} ({})", at + 1, issue.priority, markdown(&issue.title), issue.id);
    }
    page
}

/// Appends the preserved parts of the previous page. A part without an end marker extends to the end of the page.
pub fn with_kept_parts(mut page: String, before: &str) -> String {
    let mut rest = before;
    while let Some(start) = rest.find(KEEP_START) {
        let from = &rest[start..];
        let end = from.find(KEEP_END).map_or(from.len(), |end| end + KEEP_END.len());
        let part = from[..end].trim_end();
        let closing = if part.ends_with(KEEP_END) { "" } else { "\n<!-- /keep -->" };
        let _ = write!(page, "\n{part}{closing}\n");
        rest = &from[end..];
    }
    page
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn work(steps: &[(&str, &str)]) -> Work {
        let steps: Vec<_> = steps.iter().map(|(title, status)| json!({"title": title, "status": status})).collect();
        serde_json::from_value(json!({"issue_id": "pn-1", "title": "log *in*", "kind": "feature", "status": "active",
            "branch": "f/login", "steps": steps, "current_step": 2, "actor": "ana",
            "created_at": "2026-01-01T10:00:00.000Z", "updated_at": "2026-01-01T10:00:00.000Z"}))
        .expect("work")
    }

    #[test]
    fn now_page_shows_work_and_steps() {
        let page = now(Some(&work(&[("a | b", "done"), ("c", "pending"), ("d", "pending")])), 2, 1);
        let expected = "# NOW\n\n**log \\*in\\*** (pn-1)\n\nStarted: 2026-01-01T10:00:00.000Z\nBranch: f/login\n\n\
            | # | step | status |\n| --- | --- | --- |\n| 1 | a \\| b | done |\n| 2 | c | current |\n\
            | 3 | d | pending |\n\nPaused: 2, done: 1\n";
        assert_eq!(page, expected);
        assert_eq!(now(None, 0, 0), "# NOW\n\nNo active work.\n");
        assert_eq!(next(&[]), "# NEXT\n\nNothing is ready.\n");
    }

    #[test]
    fn text_between_markers_is_preserved_once() {
        let first = with_kept_parts(
            "# NOW\n".to_owned(),
            "x\n<!-- keep -->\nmine\n<!-- /keep -->\ny <!-- keep -->too<!-- /keep -->",
        );
        assert_eq!(first, "# NOW\n\n<!-- keep -->\nmine\n<!-- /keep -->\n\n<!-- keep -->too<!-- /keep -->\n");
        assert_eq!(with_kept_parts("# NOW\n".to_owned(), &first), first, "again changes nothing");
        let open = with_kept_parts("# NOW\n".to_owned(), "<!-- keep -->\nno end\n");
        assert_eq!(open, "# NOW\n\n<!-- keep -->\nno end\n<!-- /keep -->\n");
        assert_eq!(with_kept_parts("# NOW\n".to_owned(), &open), open);
        assert_eq!(with_kept_parts("# NOW\n".to_owned(), "<!-- /keep --> stray"), "# NOW\n");
    }
}
