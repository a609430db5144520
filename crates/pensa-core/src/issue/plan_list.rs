//! A plan as a nested Markdown list: each item is an issue, and what is below it are its parts.
//!
//! ```text
//! - release the search [p1]
//!   Text below an item is its description.
//!   - [ ] works offline
//!   - build the index
//!   - write the form [test p0] (after: build the index)
//! ```
//!
//! A backslash before a bracket, parenthesis, comma or semicolon makes it plain text. Creating the issues is left to the
//! caller.

use std::collections::HashMap;

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::document::checkbox;
use super::{Criterion, IssueType, Priority};
use crate::error::{Code, Error, Result};
use crate::id::{self, IssueRef};
use crate::ops::batch::{Batch, MAX_OPERATIONS};
use crate::ops::dep;
use crate::ops::issue::{Accept, Create};
use crate::{text, words};

/// An issue of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanItem {
    /// Its line in the text, from 1.
    pub line: usize,
    /// The index of the item that it is a part of.
    pub parent: Option<usize>,
    pub title: String,
    pub issue_type: Option<IssueType>,
    pub priority: Option<Priority>,
    pub description: Option<String>,
    pub acceptance: Vec<Criterion>,
    /// What must be closed first.
    pub after: Vec<Awaited>,
}

/// What an item waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Awaited {
    /// The index of an item of the same plan.
    Item(usize),
    /// An issue that exists.
    Issue(IssueRef),
}

/// The operations that create a plan, and the line that each of them comes from.
#[derive(Debug)]
pub struct PlanBatch {
    pub batch: Batch,
    pub lines: Vec<usize>,
}

/// Whether a text begins as a list does.
pub fn is_plan_list(page: &str) -> bool {
    page.lines().map(str::trim_start).find(|line| !line.is_empty()).is_some_and(|line| marker(line).is_some())
}

/// Parses a plan. Errors name the line.
pub fn parse(page: &str) -> Result<Vec<PlanItem>> {
    let mut reader = PlanReader::default();
    for (number, line) in (1..).zip(page.strip_prefix('\u{feff}').unwrap_or(page).lines()) {
        reader.line(number, line).map_err(|e| e.within(format!("line {number}")))?;
    }
    if reader.items.is_empty() {
        return Err(Error::invalid("the plan is empty").hint("each item of a list is an issue: - title"));
    }
    let mut items = reader.items;
    resolve(&mut items, &reader.awaited)?;
    refuse_cycles(&items)?;
    Ok(items)
}

#[derive(Default)]
struct PlanReader {
    items: Vec<PlanItem>,
    /// For each item what its `after` groups say.
    awaited: Vec<Vec<String>>,
    /// The items around the current line, from the outermost: index, column of the marker, column of the text.
    open: Vec<(usize, usize, usize)>,
    /// Blank lines since the last text.
    blanks: usize,
}

impl PlanReader {
    fn line(&mut self, number: usize, line: &str) -> Result<()> {
        let body = line.trim_start();
        if body.is_empty() {
            self.blanks += 1;
            return Ok(());
        }
        let blanks = std::mem::take(&mut self.blanks);
        let column = width(&line[..line.len() - body.len()]);
        self.open.retain(|(_, marker, _)| *marker < column);
        let Some(marked) = marker(body) else {
            return self.describe(line, blanks);
        };
        if let Some((done, text)) = checkbox(marked.trim()) {
            return self.demand(done, text);
        }
        let Suffixed { title, issue_type, priority, awaited } = suffixes(marked.trim())?;
        let title = text::title("the title", &title)?.to_owned();
        let parent = self.open.last().map(|(index, ..)| *index);
        let text_column = column + body.len() - marked.trim_start().len();
        self.open.push((self.items.len(), column, text_column));
        self.awaited.push(awaited);
        let (description, acceptance, after) = (None, Vec::new(), Vec::new());
        self.items.push(PlanItem { line: number, parent, title, issue_type, priority, description, acceptance, after });
        if self.items.len() > MAX_OPERATIONS {
            return Err(Error::new(Code::TooLarge, format!("the plan has more than {MAX_OPERATIONS} issues")));
        }
        Ok(())
    }

    /// Adds a line to the description of the item that it is below.
    fn describe(&mut self, line: &str, blanks: usize) -> Result<()> {
        let Some((index, _, column)) = self.open.last() else {
            return Err(Error::invalid("neither an item of the list nor below one")
                .hint("- begins an issue; indented text below it is its description"));
        };
        let line = unescape_line(unindent(line, *column).trim_end());
        text::block("the description", &line)?;
        match &mut self.items[*index].description {
            Some(description) => {
                description.push_str(&"\n".repeat(blanks + 1));
                description.push_str(&line);
            }
            none => *none = Some(line),
        }
        Ok(())
    }

    /// Adds an acceptance criterion to the item that it is below.
    fn demand(&mut self, done: bool, given: &str) -> Result<()> {
        let Some((index, ..)) = self.open.last() else {
            return Err(Error::invalid("a box is a criterion, and belongs below an issue")
                .hint("without the box the item is an issue"));
        };
        let text = text::line("the criterion", &unescape(given))?.to_owned();
        let criteria = &mut self.items[*index].acceptance;
        if criteria.iter().any(|known| known.text == text) {
            return Err(Error::invalid("the criterion is there twice"));
        }
        criteria.push(Criterion { text, done });
        Ok(())
    }
}

/// The width of blanks; tabs end at multiples of 4.
fn width(blanks: &str) -> usize {
    blanks.chars().fold(0, |column, c| if c == '\t' { column / 4 * 4 + 4 } else { column + 1 })
}

/// Removes blanks up to a column.
fn unindent(line: &str, column: usize) -> &str {
    let is_beyond = |(at, c): &(usize, char)| !matches!(c, ' ' | '\t') || width(&line[..at + 1]) > column;
    line.char_indices().find(is_beyond).map_or("", |(at, _)| &line[at..])
}

/// What follows the marker of a list item: `- `, `* `, `+ `, `1. ` or `1) `.
fn marker(line: &str) -> Option<&str> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => line.strip_prefix(['-', '*', '+'])?,
        1..=9 => line[digits..].strip_prefix(['.', ')'])?,
        _ => return None,
    };
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some(rest)
}

/// An item without what stands behind its title.
struct Suffixed {
    title: String,
    issue_type: Option<IssueType>,
    priority: Option<Priority>,
    awaited: Vec<String>,
}

/// Splits `title [type priority] (after: other title)`.
fn suffixes(item: &str) -> Result<Suffixed> {
    let mut item = item.trim();
    let (mut issue_type, mut priority, mut awaited) = (None, None, Vec::new());
    loop {
        if let Some((before, group)) = last_group(item, '(', ')')
            && let Some(titles) = after_keyword(group)
        {
            awaited.insert(0, titles.trim().to_owned());
            item = before.trim_end();
        } else if let Some((before, group)) = last_group(item, '[', ']')
            && is_meant_as_kind(group)
        {
            for word in group.split_whitespace() {
                match kind(word).ok_or_else(|| not_a_kind(word))? {
                    Bracketed::Type(found) => refuse_second("type", issue_type.replace(found).is_some())?,
                    Bracketed::Priority(found) => refuse_second("priority", priority.replace(found).is_some())?,
                }
            }
            item = before.trim_end();
        } else {
            return Ok(Suffixed { title: unescape(item), issue_type, priority, awaited });
        }
    }
}

fn refuse_second(what: &str, is_second: bool) -> Result<()> {
    if is_second { Err(Error::invalid(format!("a second {what}")).hint("one is enough")) } else { Ok(()) }
}

/// A word in brackets behind a title.
enum Bracketed {
    Type(IssueType),
    Priority(Priority),
}

fn kind(word: &str) -> Option<Bracketed> {
    let word = text::fold(word);
    let priority = is_priority(&word).then(|| word.parse().ok()).flatten().map(Bracketed::Priority);
    priority.or_else(|| word.parse().ok().map(Bracketed::Type))
}

/// A number alone is no priority: titles end with `[1]`, too.
fn is_priority(word: &str) -> bool {
    let digits = word.strip_prefix(['p', 'P']).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a group says what kind of issue it is; other groups are part of the title.
fn is_meant_as_kind(group: &str) -> bool {
    group.split_whitespace().any(|word| kind(word).is_some() || is_priority(word))
}

fn not_a_kind(word: &str) -> Error {
    let kinds =
        IssueType::ALL.into_iter().map(IssueType::as_str).chain(Priority::ALL.into_iter().map(Priority::as_str));
    let nearest = words::meant(word, kinds).map(|nearest| format!("did you mean {nearest}? "));
    Error::invalid(format!("neither a type nor a priority: {word:?}"))
        .hint(format!("{}\\[ makes a bracket part of the title", nearest.unwrap_or_default()))
}

fn after_keyword(group: &str) -> Option<&str> {
    let (word, titles) = group.split_once(':')?;
    word.trim().eq_ignore_ascii_case("after").then_some(titles)
}

/// Splits off the group in brackets at the end of an item: what is before it, and what is in it.
fn last_group(item: &str, open: char, close: char) -> Option<(&str, &str)> {
    let mut depth = 0;
    let plain = plain_chars(item);
    if plain.last() != Some(&(item.len().checked_sub(1)?, close)) {
        return None;
    }
    for (at, c) in plain.into_iter().rev() {
        depth += i32::from(c == close) - i32::from(c == open);
        if depth == 0 {
            return Some((&item[..at], &item[at + 1..item.len() - 1]));
        }
    }
    None
}

/// The characters that no backslash makes plain text, with their places.
fn plain_chars(item: &str) -> Vec<(usize, char)> {
    let mut chars = item.char_indices();
    let mut plain = Vec::new();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && chars.as_str().starts_with(|next: char| next.is_ascii_punctuation()) {
            chars.next();
        } else {
            plain.push((at, c));
        }
    }
    plain
}

/// Removes backslashes before punctuation.
fn unescape(item: &str) -> String {
    let mut chars = item.chars().peekable();
    let mut text = String::with_capacity(item.len());
    while let Some(c) = chars.next() {
        let next = chars.next_if(|next| c == '\\' && next.is_ascii_punctuation());
        text.push(next.unwrap_or(c));
    }
    text
}

/// Removes the backslash that keeps a line of a description from being an item.
fn unescape_line(line: &str) -> String {
    let body = line.trim_start();
    match body.strip_prefix('\\').filter(|rest| rest.starts_with('\\') || marker(rest).is_some()) {
        Some(rest) => format!("{}{rest}", &line[..line.len() - body.len()]),
        None => line.to_owned(),
    }
}

/// Finds out what items wait for: titles of the plan, or ids of issues.
fn resolve(items: &mut [PlanItem], awaited: &[Vec<String>]) -> Result<()> {
    let mut titles: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        titles.entry(text::fold(&item.title)).or_default().push(index);
    }
    let find = |given: &str| -> Result<Option<Awaited>> {
        match titles.get(&text::fold(given)).map(Vec::as_slice) {
            Some([one]) => Ok(Some(Awaited::Item(*one))),
            Some(_) => Err(Error::invalid(format!("several items are called {given:?}")).hint("change their titles")),
            None => Ok(None),
        }
    };
    let mut found = Vec::new();
    for (index, groups) in awaited.iter().enumerate() {
        let mut after = Vec::new();
        let within = |e: Error| e.within(format!("line {}", items[index].line));
        for group in groups {
            if let Some(whole) = find(unescape(group).trim()).map_err(within)? {
                after.push(whole);
                continue;
            }
            for part in parts(group) {
                let known = find(&part).map_err(within)?;
                after.push(known.map_or_else(|| issue(&part, items), Ok).map_err(within)?);
            }
        }
        let mut once: Vec<Awaited> = Vec::new();
        after.into_iter().for_each(|one| {
            if !once.contains(&one) {
                once.push(one)
            }
        });
        found.push(once);
    }
    items.iter_mut().zip(found).for_each(|(item, after)| item.after = after);
    Ok(())
}

/// The parts of a group between its commas and semicolons.
fn parts(group: &str) -> Vec<String> {
    let ends = plain_chars(group).into_iter().filter(|(_, c)| matches!(c, ',' | ';')).map(|(at, _)| at);
    let mut start = 0;
    let mut parts = Vec::new();
    for end in ends.chain([group.len()]) {
        parts.push(unescape(group[start..end].trim()));
        start = end + 1;
    }
    parts
}

/// An issue that exists, by its id; whether there is one is for the store to say.
fn issue(given: &str, items: &[PlanItem]) -> Result<Awaited> {
    let nearest = text::nearest(given, items.iter().map(|item| item.title.as_str()));
    if !given.is_empty() && id::is_possible(given) && (id::looks_like_id(given) || nearest.is_none()) {
        return Ok(Awaited::Issue(given.parse()?));
    }
    let hint = nearest.map(|nearest| format!("did you mean {nearest:?}?"));
    Err(Error::invalid(format!("no item is called {given:?}")).hint(
        hint.unwrap_or_else(|| "after: names an item of the plan by its title, or an issue by its id".to_owned()),
    ))
}

/// Refuses items that wait for each other. An item also waits for its parts.
fn refuse_cycles(items: &[PlanItem]) -> Result<()> {
    let mut waits: DiGraph<(), ()> = DiGraph::with_capacity(items.len(), items.len());
    for _ in items {
        waits.add_node(());
    }
    for (index, item) in items.iter().enumerate() {
        let own = NodeIndex::new(index);
        if let Some(parent) = item.parent {
            waits.add_edge(NodeIndex::new(parent), own, ());
        }
        for awaited in &item.after {
            if let Awaited::Item(other) = awaited {
                waits.add_edge(own, NodeIndex::new(*other), ());
            }
        }
    }
    let is_cycle = |group: &Vec<NodeIndex>| group.len() > 1 || waits.contains_edge(group[0], group[0]);
    let Some(mut cycle) =
        kosaraju_scc(&waits).into_iter().filter(is_cycle).min_by_key(|group| group.iter().min().copied())
    else {
        return Ok(());
    };
    cycle.sort_unstable();
    let shown: Vec<String> = cycle.iter().take(5).map(|node| format!("{:?}", items[node.index()].title)).collect();
    let line = items[cycle[0].index()].line;
    let message = format!("line {line}: cycle detected: these would wait for each other: {}", shown.join(", "));
    Err(Error::new(Code::CycleDetected, message).hint("an item waits for what after: names, and for its parts"))
}

/// Prints items as a plan. Titles must differ where something waits for them.
pub fn print(items: &[PlanItem]) -> String {
    let mut page = String::new();
    let mut depths: Vec<usize> = Vec::new();
    for item in items {
        let depth = item.parent.map_or(0, |parent| depths[parent] + 1);
        depths.push(depth);
        let indent = "  ".repeat(depth);
        page.push_str(&format!("{indent}- {}{}\n", shown_title(&item.title), shown_suffixes(item, items)));
        for line in item.description.iter().flat_map(|description| description.lines()) {
            let body = line.trim_start();
            let escape = if marker(body).is_some() || body.starts_with('\\') { "\\" } else { "" };
            let blanks = &line[..line.len() - body.len()];
            page.push_str(format!("{indent}  {blanks}{escape}{body}").trim_end());
            page.push('\n');
        }
        for Criterion { text, done } in &item.acceptance {
            let box_of = if *done { 'x' } else { ' ' };
            page.push_str(&format!("{indent}  - [{box_of}] {}\n", escape(text, &['\\'])));
        }
    }
    page
}

/// A title, with backslashes only if it would be read as something else.
fn shown_title(title: &str) -> String {
    let plain = escape(title, &['\\']);
    let is_read_so = checkbox(&plain).is_none()
        && suffixes(&plain).is_ok_and(|read| {
            read.title == title && read.awaited.is_empty() && read.issue_type.is_none() && read.priority.is_none()
        });
    if is_read_so { plain } else { escape(title, &['\\', '[', ']', '(', ')']) }
}

fn shown_suffixes(item: &PlanItem, items: &[PlanItem]) -> String {
    let mut shown = String::new();
    let issue_type = item.issue_type.map(IssueType::as_str);
    let words: Vec<&str> = issue_type.into_iter().chain(item.priority.map(Priority::as_str)).collect();
    if !words.is_empty() {
        shown.push_str(&format!(" [{}]", words.join(" ")));
    }
    for awaited in &item.after {
        let name = match awaited {
            Awaited::Item(index) => items[*index].title.as_str(),
            Awaited::Issue(reference) => reference.as_str(),
        };
        shown.push_str(&format!(" (after: {})", escape(name, &['\\', '[', ']', '(', ')', ',', ';'])));
    }
    shown
}

fn escape(text: &str, special: &[char]) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if special.contains(&c) {
            shown.push('\\');
        }
        shown.push(c);
    }
    shown
}

/// The operations that create the issues of a plan. `defaults` has what the items leave out; lists are joined.
pub fn batch(items: &[PlanItem], defaults: &Create) -> Result<PlanBatch> {
    let mut plan = PlanBatch { batch: Batch::default(), lines: Vec::new() };
    let reference = |index: usize| format!("@i{index}").parse::<IssueRef>();
    for (index, item) in items.iter().enumerate() {
        let criteria: Vec<String> = item.acceptance.iter().map(|criterion| criterion.text.clone()).collect();
        let create = Create {
            title: item.title.clone(),
            issue_type: item.issue_type.unwrap_or(defaults.issue_type),
            priority: item.priority.unwrap_or(defaults.priority),
            description: item.description.clone(),
            parent: item.parent.map(reference).transpose()?.or_else(|| defaults.parent.clone()),
            acceptance: [criteria, defaults.acceptance.clone()].concat(),
            ..defaults.clone()
        };
        plan.batch.push_as(&format!("i{index}"), &create)?;
        plan.lines.push(item.line);
    }
    for (index, item) in items.iter().enumerate() {
        for awaited in &item.after {
            let depends_on_id = match awaited {
                Awaited::Item(other) => reference(*other)?,
                Awaited::Issue(known) => known.clone(),
            };
            plan.batch.push(&dep::Add { issue_id: reference(index)?, depends_on_id })?;
            plan.lines.push(item.line);
        }
        for (_, number) in item.acceptance.iter().zip(1..).filter(|(criterion, _)| criterion.done) {
            plan.batch.push(&Accept { id: reference(index)?, number, undo: false })?;
            plan.lines.push(item.line);
        }
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PLAN: &str = "\
- release the search [p1]
  Readers ask for it.

    code
  - [ ] works offline
  - [x] has a name
  - build the index
  - write the form [test p0] (after: Build the index; pn-a1b2)
* announce it (after: release the search) (after: pn-77)
";

    #[test]
    fn indentation_makes_parts_and_brackets_say_the_rest() {
        let items = parse(PLAN).expect("a plan");
        let titles: Vec<(&str, Option<usize>, usize)> =
            items.iter().map(|item| (item.title.as_str(), item.parent, item.line)).collect();
        let expected = [
            ("release the search", None, 1),
            ("build the index", Some(0), 7),
            ("write the form", Some(0), 8),
            ("announce it", None, 9),
        ];
        assert_eq!(titles, expected);
        assert_eq!(items[0].description.as_deref(), Some("Readers ask for it.\n\n  code"));
        let criterion = |text: &str, done| Criterion { text: text.into(), done };
        assert_eq!(items[0].acceptance, [criterion("works offline", false), criterion("has a name", true)]);
        assert_eq!((items[0].priority, items[0].issue_type), (Some(Priority::P1), None));
        assert_eq!((items[2].priority, items[2].issue_type), (Some(Priority::P0), Some(IssueType::Test)));
        let known = |id: &str| Awaited::Issue(id.parse().expect("an id"));
        assert_eq!(items[2].after, [Awaited::Item(1), known("pn-a1b2")]);
        assert_eq!(items[3].after, [Awaited::Item(0), known("pn-77")]);
    }

    #[test]
    fn a_plan_becomes_operations_of_one_batch() {
        let items = parse(PLAN).expect("a plan");
        let defaults = Create { labels: vec!["search".into()], ..Create::of("", IssueType::Chore) };
        let PlanBatch { batch, lines } = batch(&items, &defaults).expect("operations");
        let ops: Vec<_> = batch.operations.into_iter().flatten().collect();
        let names: Vec<&str> = ops.iter().filter_map(|op| op["op"].as_str()).collect();
        let expected = [&["issue.create"; 4][..], &["issue.accept"], &["dep.add"; 4]].concat();
        assert_eq!((names, lines), (expected, vec![1, 7, 8, 9, 1, 8, 8, 9, 9]));
        assert_eq!((&ops[0]["issue_type"], &ops[2]["issue_type"]), (&"chore".into(), &"test".into()));
        assert_eq!((&ops[1]["parent"], &ops[1]["labels"][0]), (&"@i0".into(), &"search".into()));
        assert_eq!((&ops[4]["id"], &ops[4]["number"]), (&"@i0".into(), &2.into()));
        assert_eq!((&ops[5]["issue_id"], &ops[5]["depends_on_id"]), (&"@i2".into(), &"@i1".into()));
    }

    #[test]
    fn brackets_that_say_nothing_else_are_part_of_the_title() {
        for (line, title) in [
            ("- support arrays [int]", "support arrays [int]"),
            ("- see (later)", "see (later)"),
            ("- step [1]", "step [1]"),
            ("- is it a \\[bug\\]", "is it a [bug]"),
            ("- wait \\(after: noon\\)", "wait (after: noon)"),
            ("1. first", "first"),
            ("2) second [BUG]", "second"),
            ("-\ttab", "tab"),
            ("+ --- : \"quoted\"", "--- : \"quoted\""),
            ("- C:\\new", "C:\\new"),
        ] {
            assert_eq!(parse(line).expect(line)[0].title, title);
        }
        let nested = parse("- a (b)\n- c (after: a (b))").expect("a plan");
        assert_eq!(nested[1].after, [Awaited::Item(0)]);
        let commas = parse("- a\n- b\n- a, b\n- x (after: a, b)\n- y (after: b, a)").expect("a plan");
        assert_eq!((commas[3].after.len(), commas[4].after.len()), (1, 2));
    }

    #[test]
    fn tabs_and_any_indentation_nest() {
        let items = parse("- a\n\t- b\n\t\t- c\n   - d\n- e\n").expect("a plan");
        let parents: Vec<Option<usize>> = items.iter().map(|item| item.parent).collect();
        assert_eq!(parents, [None, Some(0), Some(1), Some(0), None]);
    }

    #[test]
    fn errors_name_the_line() {
        for (page, wanted) in [
            ("", "the plan is empty"),
            ("# Plan\n- a", "line 1: neither an item of the list"),
            ("- a\n\ntext", "line 3: neither an item of the list"),
            ("- [ ] a", "line 1: a box is a criterion"),
            ("- a\n  - [ ] b\n  - [x] b", "line 3: the criterion is there twice"),
            ("- a\n- ", "line 2: the title is empty"),
            ("- a\n- (after: a)", "line 2: the title is empty"),
            ("- a\n- b\u{1b}[2J", "line 2: the title contains the control character"),
            ("- a [bug p9]", "line 1: neither a type nor a priority: \"p9\""),
            ("- a [bug urgent]", "line 1: neither a type nor a priority: \"urgent\""),
            ("- a [bug task]", "line 1: a second type"),
            ("- a [p1] [p2]", "line 1: a second priority"),
            ("- a\n- a\n- b (after: a)", "line 3: several items are called \"a\""),
            ("- write it\n- b (after: wriet it)", "line 2: no item is called \"wriet it\""),
            ("- a\n- b (after: )", "line 2: no item is called \"\""),
            ("- a (after: a)", "line 1: cycle detected"),
            ("- a (after: c)\n- b (after: a)\n- c (after: b)", "line 1: cycle detected"),
            ("- x\n- a\n  - b (after: a)", "line 2: cycle detected"),
        ] {
            let error = parse(page).expect_err(page);
            assert!(error.message.starts_with(wanted), "{page:?}: {error}");
        }
        let hint = parse("- write it\n- b (after: wriet it)").expect_err("a typo").hint;
        assert_eq!(hint.as_deref(), Some("did you mean \"write it\"?"));
    }

    #[test]
    fn a_deep_plan_does_not_exhaust_the_stack() {
        let chain: String = (0..9_000).map(|n| format!("- item {n} (after: item {})\n", n + 1)).collect();
        let items = parse(&format!("{chain}- item 9000\n")).expect("a plan");
        assert_eq!(items.len(), 9_001);
        let nested: String = (0..2_000).map(|n| format!("{}- item {n}\n", " ".repeat(n))).collect();
        assert_eq!(parse(&nested).expect("a plan").last().and_then(|item| item.parent), Some(1_998));
    }

    /// Texts of one line that a plan could take for something else.
    fn hostile() -> impl Strategy<Value = String> {
        "(\\[bug\\]|\\[p1\\]|\\[ \\] |\\[x\\]|\\(after: a\\)|\\(|\\)|\\[|\\]|\\\\|,|;|- |---|1\\. |: |\"|#|a|b|é| ){1,8}"
            .prop_map(|text| text.trim().to_owned())
            .prop_filter("not empty", |text| !text.is_empty())
    }

    prop_compose! {
        fn any_item()(
            title in hostile(),
            depth in 0..4_usize,
            issue_type in prop::option::of(prop::sample::select(IssueType::ALL.to_vec())),
            priority in prop::option::of(prop::sample::select(Priority::ALL.to_vec())),
            lines in prop::collection::vec(("[ ]{0,3}", hostile(), 0..3_usize), 0..3),
            criteria in prop::collection::btree_map(hostile(), any::<bool>(), 0..3),
            after in prop::collection::btree_set(0..8_usize, 0..3),
            known in any::<bool>(),
        ) -> (PlanItem, usize, Vec<usize>, bool) {
            let lines: Vec<String> =
                lines.into_iter().map(|(blanks, text, more)| format!("{blanks}{text}{}", "\n".repeat(more + 1))).collect();
            let description = Some(lines.concat().trim_end().to_owned()).filter(|text| !text.is_empty());
            let acceptance = criteria.into_iter().map(|(text, done)| Criterion { text, done }).collect();
            let item = PlanItem {
                line: 0, parent: None, title, issue_type, priority, description, acceptance, after: Vec::new(),
            };
            (item, depth, after.into_iter().collect(), known)
        }
    }

    /// A plan without cycles: items wait for items that end before they begin.
    fn any_plan() -> impl Strategy<Value = Vec<PlanItem>> {
        prop::collection::vec(any_item(), 1..9).prop_map(|given| {
            let mut items: Vec<PlanItem> = Vec::new();
            let mut depths: Vec<usize> = Vec::new();
            for (number, (mut item, depth, after, known)) in given.into_iter().enumerate() {
                item.title = format!("{} {number}", item.title);
                let depth = depths.last().map_or(0, |last| depth.min(last + 1));
                item.parent = depths.iter().rposition(|other| *other < depth);
                let mut around = item.parent;
                let mut ancestors = Vec::new();
                while let Some(index) = around {
                    ancestors.push(index);
                    around = items[index].parent;
                }
                let before = after.into_iter().filter(|other| *other < number && !ancestors.contains(other));
                item.after = before.map(Awaited::Item).collect();
                if known {
                    item.after.push(Awaited::Issue("pn-a1b2c3d4".parse().expect("an id")));
                }
                depths.push(depth);
                items.push(item);
            }
            items
        })
    }

    proptest! {
        #[test]
        fn a_printed_plan_is_read_as_the_same(items in any_plan()) {
            let page = print(&items);
            let mut read = parse(&page).unwrap_or_else(|e| panic!("{e}\n{page}"));
            read.iter_mut().for_each(|item| item.line = 0);
            prop_assert_eq!(read, items, "{}", page);
        }

        #[test]
        fn any_text_is_a_plan_or_an_error(page in "(- |  |\t|\\[ \\] |\\[bug\\]|\\(after: |\\)|\\\\|\n|a|b|é|,){0,20}") {
            let _ = parse(&page);
        }
    }
}
