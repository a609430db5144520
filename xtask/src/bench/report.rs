//! Formats results as tables for the terminal and `docs/benchmarks.md`.

use std::fmt;

use super::samples::median;

#[derive(Clone, Copy)]
pub(super) enum BenchTarget {
    AtMost(f64),
    AtLeast(f64),
}

impl BenchTarget {
    fn is_met(self, ratio: f64) -> bool {
        match self {
            BenchTarget::AtMost(most) => ratio <= most,
            BenchTarget::AtLeast(least) => ratio >= least,
        }
    }
}

impl fmt::Display for BenchTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchTarget::AtMost(most) => write!(f, "≤ {most}×"),
            BenchTarget::AtLeast(least) => write!(f, "≥ {least}×"),
        }
    }
}

/// One comparison.
pub(super) struct ReportRow {
    name: String,
    ours: String,
    reference: String,
    ratio: Option<f64>,
    /// The target and whether it is met, if there is one.
    target: Option<(String, bool)>,
    /// What is measured, in one sentence without a full stop.
    about: String,
}

const TITLES: [&str; 6] = ["measured", "ours", "reference", "ratio", "target", ""];

impl ReportRow {
    pub(super) fn new(
        name: String,
        ours: String,
        reference: String,
        ratio: f64,
        target: impl Into<Option<BenchTarget>>,
        about: impl Into<String>,
    ) -> Self {
        let target = target.into().map(|target| (target.to_string(), target.is_met(ratio)));
        Self { name, ours, reference, ratio: Some(ratio), target, about: about.into() }.shown()
    }

    /// A result without a comparison.
    pub(super) fn measured(name: String, ours: String, about: impl Into<String>) -> Self {
        Self::limited(name, ours, 0.0, None, about)
    }

    /// A result with an upper limit, and their unit.
    pub(super) fn limited(
        name: String,
        ours: String,
        value: f64,
        most: Option<(f64, &str)>,
        about: impl Into<String>,
    ) -> Self {
        let sign = |most: f64| if most == 0.0 { "" } else { "≤ " };
        let target = most.map(|(most, unit)| (format!("{}{most}{unit}", sign(most)), value <= most));
        Self { name, ours, reference: String::new(), ratio: None, target, about: about.into() }.shown()
    }

    fn shown(self) -> Self {
        println!("{}", self.cells()[..5].join("  ").trim_end());
        self
    }

    fn cells(&self) -> [String; 6] {
        let (target, verdict) = match &self.target {
            Some((target, true)) => (target.as_str(), "met"),
            Some((target, false)) => (target.as_str(), "**not met**"),
            None => ("", ""),
        };
        [
            self.name.clone(),
            self.ours.clone(),
            self.reference.clone(),
            self.ratio.map(|ratio| format!("{ratio:.2}×")).unwrap_or_default(),
            target.to_owned(),
            verdict.to_owned(),
        ]
    }
}

/// A comparison of rates by their medians, with an optional target.
pub(super) fn rates(
    name: String,
    ours: &[f64],
    reference: &[f64],
    target: impl Into<Option<BenchTarget>>,
    about: &str,
) -> ReportRow {
    let (ours, reference) = (median(ours), median(reference));
    let ratio = ours / reference;
    let [ours, reference] = [ours, reference].map(|rate| format!("{rate:.0} /s"));
    ReportRow::new(name, ours, reference, ratio, target, about)
}

/// A Markdown table with aligned columns, without empty columns.
pub(super) fn table(rows: &[ReportRow]) -> String {
    let cells: Vec<[String; 6]> = rows.iter().map(ReportRow::cells).collect();
    let used: Vec<usize> = (0..TITLES.len()).filter(|at| cells.iter().any(|line| !line[*at].is_empty())).collect();
    let width = |at: usize| cells.iter().map(|line| line[at].chars().count()).max().unwrap_or(0).max(TITLES[at].len());
    let line = |cell: &dyn Fn(usize) -> String| {
        let cells: Vec<String> = used.iter().map(|at| format!("{:<1$}", cell(*at), width(*at))).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut text = line(&|at| TITLES[at].to_owned());
    text += &line(&|at| "-".repeat(width(at).max(3)));
    text.extend(cells.iter().map(|row| line(&|at| row[at].clone())));
    text
}

const INTRODUCTION: &str = "# Benchmarks

Each part is one run of the command that it names, which wrote it.

## How it feels

What agents and people wait for while many work at once. Times count from the moment something was due, so that a stall
shows in all that waits behind it. The load shares the machine with what it measures.
";
const COMPARISONS: &str = "
## Against the least there is to do

Times are medians of whole processes, start to end, with the 10th and 90th percentile in brackets; rates are medians of
rounds. Both sides of a row take turns, so that what else the machine does disturbs both alike: compare the ratios, not
the times, with those of another machine. The issues have 2 dependencies each on average; half of them are closed.
";
/// The hand-written part, which stays unchanged.
const BY_HAND: &str = "## Build and size";

/// The section of a group.
pub(super) fn part(group: &str, rows: &[ReportRow], command: &str, machine: &str) -> String {
    let about: String =
        topics(rows).iter().map(|(names, about)| format!("- {}: {about}.\n", names.join("; "))).collect();
    format!("\n### {group}\n\n`{command}` on: {machine}.\n\n{}\n{about}", table(rows))
}

/// The document with the sections of these groups replaced.
pub(super) fn document(old: &str, parts: &[(&str, String)], feel: &[&str], compared: &[&str]) -> String {
    let old_part = |heading: &str| {
        let part = &old[old.find(&format!("\n{heading}\n"))?..];
        let end = part[1..].find("\n##").map_or(part.len(), |end| end + 1);
        Some(part[..end].to_owned())
    };
    let of_group = |group: &&str| {
        let new = parts.iter().find(|(of, _)| of == group).map(|(_, part)| part.clone());
        new.or_else(|| old_part(&format!("### {group}")))
    };
    let feel = feel.iter().filter_map(of_group);
    let compared = compared.iter().filter_map(of_group);
    let texts = [INTRODUCTION, COMPARISONS].map(str::to_owned);
    let [introduction, comparisons] = texts.map(std::iter::once);
    introduction.chain(feel).chain(comparisons).chain(compared).chain(old_part(BY_HAND)).collect()
}

/// The descriptions, each with the rows that share it.
fn topics(rows: &[ReportRow]) -> Vec<(Vec<&str>, &str)> {
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
        let part = |group: &str, text: &str| format!("\n### {group}\n\n{text}\n");
        let all = |feel: [&str; 2], compared: &str| {
            let feel = format!("{}{}", part("one", feel[0]), part("two", feel[1]));
            format!("{INTRODUCTION}{feel}{COMPARISONS}{}\n{BY_HAND}\n\nsmall\n", part("three", compared))
        };
        let new = [("two", part("two", "new"))];
        assert_eq!(document(&all(["1", "2"], "3"), &new, &["one", "two"], &["three"]), all(["1", "new"], "3"));
        assert_eq!(document("", &new, &["one", "two"], &[]), format!("{INTRODUCTION}{}{COMPARISONS}", new[0].1));
    }

    #[test]
    fn columns_without_content_are_left_out() {
        let rows = [
            ReportRow::measured("a".into(), "1 ms".into(), ""),
            ReportRow::limited("b".into(), "2".into(), 2.0, Some((0.0, "")), ""),
        ];
        let table = table(&rows);
        assert!(table.starts_with("| measured | ours | target |"), "{table}");
        assert!(table.ends_with("| b        | 2    | 0      | **not met** |\n"), "{table}");
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([7, 999, 1_000, 100_000, 1_234_567].map(grouped).join(" "), "7 999 1,000 100,000 1,234,567");
    }
}
