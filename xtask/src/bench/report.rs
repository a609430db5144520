//! The results as a table, for the terminal and for `docs/benchmarks.md`.

use std::fmt::{self, Write};

use super::samples::median;

#[derive(Clone, Copy)]
pub(super) enum Target {
    AtMost(f64),
    AtLeast(f64),
}

impl Target {
    fn is_met(self, ratio: f64) -> bool {
        match self {
            Target::AtMost(most) => ratio <= most,
            Target::AtLeast(least) => ratio >= least,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::AtMost(most) => write!(f, "≤ {most}×"),
            Target::AtLeast(least) => write!(f, "≥ {least}×"),
        }
    }
}

/// One comparison.
pub(super) struct Row {
    name: String,
    ours: String,
    reference: String,
    ratio: Option<f64>,
    /// Nothing, if this is only told.
    target: Option<Target>,
    /// What is compared, in one sentence without its full stop.
    about: String,
}

const TITLES: [&str; 6] = ["measured", "ours", "reference", "ratio", "target", ""];

impl Row {
    pub(super) fn new(
        name: String,
        ours: String,
        reference: String,
        ratio: f64,
        target: impl Into<Option<Target>>,
        about: impl Into<String>,
    ) -> Self {
        Self { name, ours, reference, ratio: Some(ratio), target: target.into(), about: about.into() }.shown()
    }

    /// A number that is compared with nothing.
    pub(super) fn told(name: String, ours: String, about: impl Into<String>) -> Self {
        Self { name, ours, reference: String::new(), ratio: None, target: None, about: about.into() }.shown()
    }

    fn shown(self) -> Self {
        println!("{}", self.cells()[..5].join("  ").trim_end());
        self
    }

    fn cells(&self) -> [String; 6] {
        let verdict = |(target, ratio): (Target, f64)| if target.is_met(ratio) { "met" } else { "**not met**" };
        [
            self.name.clone(),
            self.ours.clone(),
            self.reference.clone(),
            self.ratio.map(|ratio| format!("{ratio:.2}×")).unwrap_or_default(),
            self.target.map(|target| target.to_string()).unwrap_or_default(),
            self.target.zip(self.ratio).map(verdict).unwrap_or_default().to_owned(),
        ]
    }
}

/// A comparison of rates, by their medians; without a target it is only told.
pub(super) fn rates(
    name: String,
    ours: &[f64],
    reference: &[f64],
    target: impl Into<Option<Target>>,
    about: &str,
) -> Row {
    let (ours, reference) = (median(ours), median(reference));
    let (ratio, about) = (Some(ours / reference), about.to_owned());
    let [ours, reference] = [ours, reference].map(|rate| format!("{rate:.0} /s"));
    Row { name, ours, reference, ratio, target: target.into(), about }.shown()
}

/// A Markdown table whose columns also line up on a terminal.
pub(super) fn table(rows: &[Row]) -> String {
    let mut lines = vec![TITLES.map(str::to_owned)];
    lines.extend(rows.iter().map(Row::cells));
    let widths: Vec<usize> =
        (0..TITLES.len()).map(|at| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0)).collect();
    let rule = widths.iter().map(|width| "-".repeat((*width).max(3))).collect::<Vec<_>>().join(" | ");
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        let cells: Vec<String> = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
        if number == 0 {
            let _ = writeln!(text, "| {rule} |");
        }
    }
    text
}

const INTRODUCTION: &str = "# Benchmarks

Each part is one run of the command that it names, which wrote it.

Times are medians of whole processes, start to end, with the 10th and 90th percentile in brackets; rates are medians of
rounds. Both sides of a row take turns, so that what else the machine does disturbs both alike: compare the ratios, not
the times, with those of another machine. The issues have 2 dependencies each on average; half of them are closed.
";
/// What a part of the document begins with, before its name.
const PART: &str = "\n## ";

/// The part of the document about a group.
pub(super) fn part(group: &str, rows: &[Row], command: &str, machine: &str) -> String {
    let about: String =
        topics(rows).iter().map(|(names, about)| format!("- {}: {about}.\n", names.join("; "))).collect();
    format!("{PART}{group}\n\n`{command}` on: {machine}.\n\n{}\n{about}", table(rows))
}

/// A document with these parts in place of those of the same groups, in the order of `groups`.
pub(super) fn document(old: &str, parts: &[(&str, String)], groups: &[&str]) -> String {
    let old_part = |group: &str| {
        let heading = format!("{PART}{group}\n");
        let part = &old[old.find(&heading)?..];
        let end = part[heading.len()..].find(PART).map_or(part.len(), |end| heading.len() + end);
        Some(part[..end].to_owned())
    };
    let new_part = |group: &str| parts.iter().find(|(of, _)| *of == group).map(|(_, part)| part.clone());
    let all = groups.iter().filter_map(|group| new_part(group).or_else(|| old_part(group)));
    std::iter::once(INTRODUCTION.to_owned()).chain(all).collect()
}

/// What is compared, with the rows that compare just that.
fn topics(rows: &[Row]) -> Vec<(Vec<&str>, &str)> {
    let mut topics: Vec<(Vec<&str>, &str)> = Vec::new();
    for row in rows {
        match topics.iter_mut().find(|(_, about)| *about == row.about) {
            Some((names, _)) => names.push(&row.name),
            None => topics.push((vec![&row.name], &row.about)),
        }
    }
    topics
}

/// `100,000`
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_document_is_replaced_and_the_others_stay() {
        let part = |group: &str, text: &str| format!("{PART}{group}\n\n{text}\n");
        let groups = ["one", "two", "three"];
        let first = document("", &[("three", part("three", "3")), ("one", part("one", "1"))], &groups);
        assert_eq!(first, format!("{INTRODUCTION}{}{}", part("one", "1"), part("three", "3")));
        let second = document(&first, &[("two", part("two", "2")), ("one", part("one", "new"))], &groups);
        assert_eq!(second, format!("{INTRODUCTION}{}{}{}", part("one", "new"), part("two", "2"), part("three", "3")));
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([7, 999, 1_000, 100_000, 1_234_567].map(grouped).join(" "), "7 999 1,000 100,000 1,234,567");
    }
}
