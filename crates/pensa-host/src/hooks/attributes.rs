//! The line in `.gitattributes` that gives the JSONL files to the merge driver, with the same ends of lines everywhere.
//!
//! Knows text only; which file it is and what git makes of it is left to others.

const ATTRIBUTE: &str = "merge=pensa";

/// The lines for a store, as they are now and as they were: `is_at_root` if it belongs to the root of the work tree.
fn lines(is_at_root: bool) -> [&'static str; 2] {
    if is_at_root {
        [".pensa/*.jsonl text eol=lf merge=pensa", ".pensa/*.jsonl merge=pensa"]
    } else {
        ["**/.pensa/*.jsonl text eol=lf merge=pensa", "**/.pensa/*.jsonl merge=pensa"]
    }
}

/// Whether any line names the driver.
pub(super) fn name_driver(text: &str) -> bool {
    text.lines()
        .any(|line| !line.trim_start().starts_with('#') && line.split_whitespace().any(|word| word == ATTRIBUTE))
}

/// The text with the line at its end, where no other rule comes after it.
pub(super) fn with(text: Option<&str>, is_at_root: bool) -> String {
    let ([line, _], rest) = (lines(is_at_root), without(text.unwrap_or_default(), is_at_root));
    let end = if rest.contains("\r\n") { "\r\n" } else { "\n" };
    match rest.as_str() {
        "" => format!("{line}\n"),
        // A last line without an end stays one.
        text if !text.ends_with('\n') => format!("{text}{end}{line}"),
        text => format!("{text}{line}{end}"),
    }
}

/// The text without the line.
pub(super) fn without(text: &str, is_at_root: bool) -> String {
    let is_ours = |kept: &str| lines(is_at_root).contains(&kept.trim_end_matches(['\r', '\n']));
    let kept: Vec<&str> = text.split_inclusive('\n').filter(|line| !is_ours(line)).collect();
    let lost_the_last =
        text.split_inclusive('\n').next_back().is_some_and(|last| is_ours(last) && !last.ends_with('\n'));
    let kept = kept.concat();
    if lost_the_last {
        return kept.strip_suffix("\r\n").or_else(|| kept.strip_suffix('\n')).unwrap_or(&kept).to_owned();
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_comes_and_goes_without_a_trace() {
        for text in ["*.png binary\n", "*.png binary", "a text\r\nb text\r\n", "a text\r\nb text", "# only words\n\n"] {
            for is_at_root in [true, false] {
                let with_it = with(Some(text), is_at_root);
                assert!(name_driver(&with_it) && !name_driver(text), "{with_it:?}");
                assert_eq!(without(&with_it, is_at_root), text);
                assert_eq!(with(Some(&with_it), is_at_root), with_it);
            }
        }
        assert_eq!(with(None, true), ".pensa/*.jsonl text eol=lf merge=pensa\n");
        assert_eq!(without(&with(None, true), true), "");
    }

    #[test]
    fn a_rule_that_came_later_is_overtaken() {
        let with_it = with(Some(".pensa/*.jsonl merge=pensa\n*.jsonl merge=union\n"), true);
        assert_eq!(with_it, "*.jsonl merge=union\n.pensa/*.jsonl text eol=lf merge=pensa\n");
    }
}
