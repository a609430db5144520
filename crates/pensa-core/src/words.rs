//! Suggests a word of a fixed list for one that is not in it: a misspelled one, or one of other trackers.

use crate::text;

/// The words with ours. Only a word that is possible where the other was used is ever suggested.
const OTHERS: [(&str, &[&str]); 10] = [
    ("open", &["todo", "new", "backlog", "pending", "reopened"]),
    ("in_progress", &["doing", "wip", "started", "active", "claimed", "progress"]),
    ("closed", &["done", "finished", "complete", "completed", "resolved", "fixed"]),
    ("p0", &["critical", "urgent", "highest", "blocker", "now"]),
    ("p1", &["high", "major"]),
    ("p2", &["medium", "normal"]),
    ("p3", &["low", "lowest", "minor", "trivial", "4", "p4"]),
    ("task", &["feature", "story", "epic", "enhancement", "improvement", "spike"]),
    ("bug", &["defect", "problem", "incident", "error"]),
    ("chore", &["docs", "documentation", "refactor", "maintenance", "ci"]),
];

/// The word of a list that a wrong one stands for: what other trackers call so, or the nearest.
pub fn meant<'w>(given: &str, words: impl Iterator<Item = &'w str> + Clone) -> Option<&'w str> {
    let folded = text::fold(given);
    let ours = OTHERS.iter().filter(|(_, others)| others.contains(&folded.as_str())).map(|(ours, _)| *ours);
    ours.filter_map(|ours| words.clone().find(|word| *word == ours)).next().or_else(|| text::nearest(given, words))
}

/// The hint about a word that is not in a list.
pub fn hint(given: &str, words: &[&str]) -> String {
    let meant = meant(given, words.iter().copied()).map(|meant| format!("did you mean {meant}? "));
    format!("{}one of {}", meant.unwrap_or_default(), words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_other_trackers_and_typos_lead_to_ours() {
        let statuses = ["open", "in_progress", "closed"];
        for (given, ours) in
            [("done", Some("closed")), ("WIP", Some("in_progress")), ("opne", Some("open")), ("high", None)]
        {
            assert_eq!(meant(given, statuses.into_iter()), ours, "{given}");
        }
        assert_eq!(meant("high", ["p0", "p1"].into_iter()), Some("p1"));
        assert_eq!(meant("epic", ["bug", "task"].into_iter()), Some("task"));
    }
}
