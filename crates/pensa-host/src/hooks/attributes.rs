//! Adds and removes the line in `.gitattributes` that assigns the JSONL files to the merge driver, with LF line endings
//! on every platform.

const ATTRIBUTE: &str = "merge=pensa";

/// The current and the former line for a store; `is_at_root` if the store is at the root of the work tree.
fn lines(is_at_root: bool) -> [&'static str; 2] {
    if is_at_root {
        [".pensa/*.jsonl text eol=lf merge=pensa", ".pensa/*.jsonl merge=pensa"]
    } else {
        ["**/.pensa/*.jsonl text eol=lf merge=pensa", "**/.pensa/*.jsonl merge=pensa"]
    }
}

/// Whether any rule names the driver.
pub(super) fn name_driver(text: &str) -> bool {
    text.lines()
        .any(|line| !line.trim_start().starts_with('#') && line.split_whitespace().any(|word| word == ATTRIBUTE))
}

/// The text with the line at its end, where no later rule overrides it.
pub(super) fn with(text: Option<&str>, is_at_root: bool) -> String {
    let ([line, _], rest) = (lines(is_at_root), without(text.unwrap_or_default(), is_at_root));
    let end = if rest.contains("\r\n") { "\r\n" } else { "\n" };
    match rest.as_str() {
        "" => format!("{line}\n"),
        // Keep a missing newline at the end missing.
        text if !text.ends_with('\n') => format!("{text}{end}{line}"),
        text => format!("{text}{line}{end}"),
    }
}

/// The text without the line.
pub(super) fn without(text: &str, is_at_root: bool) -> String {
    let is_ours = |line: &str| lines(is_at_root).contains(&line.trim_end_matches(['\r', '\n']));
    let rest: Vec<&str> = text.split_inclusive('\n').filter(|line| !is_ours(line)).collect();
    let lost_the_last =
        text.split_inclusive('\n').next_back().is_some_and(|last| is_ours(last) && !last.ends_with('\n'));
    let rest = rest.concat();
    if lost_the_last {
        return rest.strip_suffix("\r\n").or_else(|| rest.strip_suffix('\n')).unwrap_or(&rest).to_owned();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removing_the_line_restores_the_text() {
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
    fn the_line_moves_behind_later_rules() {
        let with_it = with(Some(".pensa/*.jsonl merge=pensa\n*.jsonl merge=union\n"), true);
        assert_eq!(with_it, "*.jsonl merge=union\n.pensa/*.jsonl text eol=lf merge=pensa\n");
    }
}
