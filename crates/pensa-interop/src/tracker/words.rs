//! What the words of other trackers for types, priorities and statuses mean here.

use pensa_core::issue::{IssueType, Priority, Status};

fn folded(word: &str) -> String {
    word.trim().to_lowercase().replace(['_', '-'], " ")
}

/// The type that a word names, if it names one.
pub(super) fn issue_type(word: &str) -> Option<IssueType> {
    let word = folded(word);
    let word = ["type: ", "type:", "type/", "kind/", "kind:", "type::"]
        .iter()
        .find_map(|prefix| word.strip_prefix(prefix))
        .unwrap_or(&word);
    match word.trim_start_matches(':').trim() {
        "bug" | "defect" | "incident" | "regression" => Some(IssueType::Bug),
        "chore" | "maintenance" | "refactoring" | "refactor" | "dependencies" => Some(IssueType::Chore),
        "test" | "tests" | "testing" => Some(IssueType::Test),
        "task" | "feature" | "enhancement" | "story" | "epic" | "improvement" => Some(IssueType::Task),
        _ => None,
    }
}

/// The priority that a word names, if it names one.
pub(super) fn priority(word: &str) -> Option<Priority> {
    let word = folded(word);
    let word = ["priority: ", "priority::", "priority:", "priority/", "prio: ", "priority "]
        .iter()
        .find_map(|prefix| word.strip_prefix(prefix))
        .unwrap_or(&word);
    match word.trim() {
        "p0" | "urgent" | "critical" | "blocker" | "highest" => Some(Priority::P0),
        "p1" | "high" | "h" | "major" => Some(Priority::P1),
        "p2" | "medium" | "m" | "normal" | "no priority" | "none" => Some(Priority::P2),
        "p3" | "p4" | "low" | "l" | "lowest" | "minor" | "trivial" => Some(Priority::P3),
        _ => None,
    }
}

/// The status that a word names; what is not known is open.
pub(super) fn status(word: &str) -> Status {
    match folded(word).as_str() {
        "in progress" | "doing" | "started" | "active" | "in review" | "review" | "in development" | "testing"
        | "in test" | "qa" | "in qa" | "code review" => Status::InProgress,
        "done" | "closed" | "completed" | "complete" | "resolved" | "canceled" | "cancelled" | "duplicate"
        | "deleted" | "won't do" | "won't fix" | "wontfix" | "released" | "merged" => Status::Closed,
        _ => Status::Open,
    }
}

/// Why an issue with this status is closed, if it was not simply done.
pub(super) fn close_reason(word: &str) -> Option<String> {
    let is_plain = matches!(
        folded(word).as_str(),
        "done" | "closed" | "completed" | "complete" | "resolved" | "released" | "merged"
    );
    (!is_plain).then(|| word.trim().to_lowercase())
}
