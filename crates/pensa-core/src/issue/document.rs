//! An issue as a document: front matter with its fields and criteria, and its description below.
//!
//! The front matter looks like YAML and is a small part of it: `key: value`, lists with commas, and criteria as `- [ ] text`.
//! A value that would be read otherwise is written as a JSON text. What is done with a document is left to the caller.

use std::collections::BTreeMap;

use super::{Criterion, FieldChange, Issue, IssueType, Priority};
use crate::error::{Error, Result};
use crate::id::IssueRef;
use crate::ops::issue::{Accept, Create, Update};
use crate::text;
use crate::time::{Date, Span, Timestamp};

/// The line above and below the front matter.
const FENCE: &str = "---";

/// The fields of an issue that a person edits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssueDocument {
    pub title: Option<String>,
    /// Only for a new issue: the type never changes.
    pub issue_type: Option<IssueType>,
    pub priority: Option<Priority>,
    pub assignee: Option<String>,
    pub labels: Vec<String>,
    pub parent: Option<String>,
    pub due: Option<String>,
    pub defer: Option<String>,
    pub estimate: Option<String>,
    pub spec: Option<String>,
    pub fixes: Option<String>,
    pub fields: BTreeMap<String, String>,
    /// What must be closed first; only for a new issue.
    pub after: Vec<String>,
    /// Where else it is known; only for a new issue.
    pub refs: Vec<String>,
    pub acceptance: Vec<Criterion>,
    pub description: Option<String>,
}

/// The keys of the front matter, in the order in which they are printed.
const KEYS: [&str; 15] = [
    "title",
    "type",
    "priority",
    "assignee",
    "labels",
    "parent",
    "due",
    "defer",
    "estimate",
    "spec",
    "fixes",
    "fields",
    "after",
    "refs",
    "acceptance",
];

/// Keys that only a new issue has; they are printed only if they have a value.
const OF_NEW: [&str; 3] = ["type", "after", "refs"];

impl IssueDocument {
    /// The document of an existing issue.
    pub fn of(issue: &Issue) -> Self {
        Self {
            title: Some(issue.title.clone()),
            priority: Some(issue.priority),
            assignee: issue.assignee.clone(),
            labels: issue.labels.clone(),
            parent: issue.parent.as_ref().map(ToString::to_string),
            due: issue.due.map(|date| date.to_string()),
            defer: issue.defer.map(|date| date.to_string()),
            estimate: issue.estimate.map(|span| span.to_string()),
            spec: issue.spec.clone(),
            fixes: issue.fixes.as_ref().map(ToString::to_string),
            fields: issue.fields.clone(),
            acceptance: issue.acceptance.clone(),
            description: issue.description.clone(),
            ..Self::default()
        }
    }

    /// Prints the document, with `note` as a comment in its front matter.
    pub fn print(&self, note: &str) -> String {
        let mut page = format!("{FENCE}\n");
        for line in note.lines() {
            page.push_str(&format!("# {}\n", text::printable_line(line)));
        }
        for key in KEYS {
            let value = self.value(key);
            if value.is_empty() && OF_NEW.contains(&key) {
                continue;
            }
            page.push_str(format!("{key}: {value}").trim_end());
            page.push('\n');
        }
        for Criterion { text, done } in &self.acceptance {
            page.push_str(&format!("- [{}] {}\n", if *done { 'x' } else { ' ' }, scalar(text)));
        }
        page.push_str(&format!("{FENCE}\n\n"));
        if let Some(description) = &self.description {
            page.push_str(&format!("{description}\n"));
        }
        page
    }

    /// What stands behind a key.
    fn value(&self, key: &str) -> String {
        let one = |value: &Option<String>| value.as_deref().map(scalar).unwrap_or_default();
        let list = |items: &[String]| items.iter().map(|item| list_item(item)).collect::<Vec<_>>().join(", ");
        match key {
            "title" => one(&self.title),
            "type" => self.issue_type.map(|word| word.to_string()).unwrap_or_default(),
            "priority" => self.priority.map(|word| word.to_string()).unwrap_or_default(),
            "assignee" => one(&self.assignee),
            "labels" => list(&self.labels),
            "parent" => one(&self.parent),
            "due" => one(&self.due),
            "defer" => one(&self.defer),
            "estimate" => one(&self.estimate),
            "spec" => one(&self.spec),
            "fixes" => one(&self.fixes),
            "fields" => list(&self.fields.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()),
            "after" => list(&self.after),
            "refs" => list(&self.refs),
            _ => String::new(),
        }
    }

    /// Parses a document. Errors name the line.
    pub fn parse(page: &str) -> Result<Self> {
        let page = page.strip_prefix('\u{feff}').unwrap_or(page);
        let is_crlf = page.contains("\r\n") && page.split_inclusive('\n').all(|line| line.ends_with("\r\n"));
        let page = if is_crlf { page.replace("\r\n", "\n") } else { page.to_owned() };
        let mut document = Self::default();
        let (mut keys, mut rest) = (Vec::new(), page.as_str());
        let mut number = 0;
        loop {
            if rest.is_empty() {
                return Err(Error::invalid(format!("line {}: the front matter has no end", number + 1))
                    .hint("a line of three dashes begins it, and another one ends it"));
            }
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            (rest, number) = (after, number + 1);
            let line = line.trim();
            match (number, line) {
                (1, FENCE) => {}
                (1, _) => {
                    return Err(Error::invalid("line 1: a document begins with its front matter")
                        .hint("a line of three dashes, then title: and other fields, then three dashes again"));
                }
                (_, FENCE) => break,
                _ => document.line(line, &mut keys).map_err(|e| e.within(format!("line {number}")))?,
            }
        }
        let body = rest.strip_prefix('\n').unwrap_or(rest);
        let body = body.strip_suffix('\n').unwrap_or(body);
        document.description = Some(body.to_owned()).filter(|body| !body.is_empty());
        Ok(document)
    }

    /// Reads a line of the front matter; `keys` are those before it.
    fn line<'p>(&mut self, line: &'p str, keys: &mut Vec<&'p str>) -> Result<()> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if let Some(item) = line.strip_prefix('-').filter(|_| keys.last() == Some(&"acceptance")) {
            return self.criterion(item.trim());
        }
        let (key, value) = line.split_once(':').ok_or_else(|| {
            Error::invalid(format!("not a field: {:?}", shorten(line))).hint("key: value, or - [ ] below acceptance:")
        })?;
        let (key, value) = (key.trim(), value.trim());
        if keys.contains(&key) {
            return Err(Error::invalid(format!("{key} is there twice")).hint("remove one of the lines"));
        }
        keys.push(key);
        let one = || -> Result<Option<String>> { Ok(Some(read_scalar(value)?).filter(|value| !value.is_empty())) };
        let date = || match one()? {
            // Which day it means depends on when the document is applied.
            Some(value) => Date::parse_at(&value, Timestamp::from_millis(0)?).map(|_| Some(value)),
            None => Ok(None),
        };
        match key {
            "title" => self.title = one()?,
            "type" => self.issue_type = one()?.map(|word| word.parse()).transpose()?,
            "priority" => self.priority = one()?.map(|word| word.parse()).transpose()?,
            "assignee" => self.assignee = one()?,
            "labels" => self.labels = read_list(value)?,
            "parent" => self.parent = one()?,
            "due" => self.due = date()?,
            "defer" => self.defer = date()?,
            "estimate" => {
                self.estimate = one()?;
                self.estimate.as_ref().map(|value| value.parse::<Span>()).transpose()?;
            }
            "spec" => self.spec = one()?,
            "fixes" => self.fixes = one()?,
            "fields" => {
                for item in read_list(value)? {
                    let FieldChange { name, value } = item.parse()?;
                    if self.fields.insert(name.clone(), value).is_some() {
                        return Err(Error::invalid(format!("the field {name:?} is there twice")));
                    }
                }
            }
            "after" => self.after = read_list(value)?,
            "refs" => self.refs = read_list(value)?,
            "acceptance" if value.is_empty() => {}
            "acceptance" => {
                return Err(Error::invalid("criteria have lines of their own").hint("- [ ] text, below acceptance:"));
            }
            unknown => {
                let nearest = text::nearest(unknown, KEYS.into_iter());
                let hint = nearest.map(|nearest| format!("did you mean {nearest}?"));
                return Err(Error::invalid(format!("no field is called {:?}", shorten(unknown)))
                    .hint(hint.unwrap_or_else(|| format!("the fields are {}", KEYS.join(", ")))));
            }
        }
        Ok(())
    }

    /// Reads what stands behind the dash of a criterion.
    fn criterion(&mut self, item: &str) -> Result<()> {
        let (done, text) = checkbox(item).unwrap_or((false, item));
        let text = read_scalar(text)?;
        if self.acceptance.iter().any(|known| known.text == text) {
            return Err(Error::invalid(format!("the criterion {:?} is there twice", shorten(&text))));
        }
        self.acceptance.push(Criterion { text, done });
        Ok(())
    }

    /// What must be done to an issue so that it is as in this document: one change, then ticks of its criteria.
    pub fn changes(&self, issue: &Issue) -> Result<(Update, Vec<Accept>)> {
        let before = Self::of(issue);
        if self.issue_type.is_some_and(|given| given != issue.issue_type) {
            return Err(Error::invalid("the type of an issue never changes").hint("remove the line type:"));
        }
        if !self.after.is_empty() || !self.refs.is_empty() {
            return Err(Error::invalid("after and refs are for new issues").hint("pn dep add and pn ref add"));
        }
        if self.title.is_none() {
            return Err(Error::invalid("the title is empty").hint("title: what it is about"));
        }
        let changed =
            |old: &Option<String>, new: &Option<String>| (old != new).then(|| new.clone().unwrap_or_default());
        let reference = |old, new| changed(old, new).map(|new| new.parse::<IssueRef>()).transpose();
        let missing_in = |these: &[String], those: &[String]| {
            these.iter().filter(|one| !those.contains(one)).cloned().collect::<Vec<_>>()
        };
        let (add, tick) = self.criteria_changes(issue);
        let is_blank = |text: &Option<String>| text.as_ref().is_none_or(|text| text.trim().is_empty());
        let both_blank = is_blank(&before.description) && is_blank(&self.description);
        let update = Update {
            title: changed(&before.title, &self.title),
            priority: self.priority.filter(|new| *new != issue.priority),
            assignee: changed(&before.assignee, &self.assignee),
            description: changed(&before.description, &self.description).filter(|_| !both_blank),
            spec: changed(&before.spec, &self.spec),
            fixes: reference(&before.fixes, &self.fixes)?,
            parent: reference(&before.parent, &self.parent)?,
            add_labels: missing_in(&self.labels, &before.labels),
            remove_labels: missing_in(&before.labels, &self.labels),
            due: changed(&before.due, &self.due),
            defer: changed(&before.defer, &self.defer),
            estimate: changed(&before.estimate, &self.estimate),
            fields: self.field_changes(&before),
            acceptance: add.acceptance,
            remove_acceptance: add.remove_acceptance,
            ..Update::of(IssueRef::from(&issue.id))
        };
        Ok((update, tick))
    }

    fn field_changes(&self, before: &Self) -> Vec<FieldChange> {
        let removed = before.fields.keys().filter(|name| !self.fields.contains_key(*name));
        let set = self.fields.iter().filter(|(name, value)| before.fields.get(*name) != Some(value));
        let set = set.map(|(name, value)| (name, value.clone()));
        let all = removed.map(|name| (name, String::new())).chain(set);
        all.map(|(name, value)| FieldChange { name: name.clone(), value }).collect()
    }

    /// The criteria to remove and to add, and the ticks that follow. What comes after the first difference is added again,
    /// because new criteria come last.
    fn criteria_changes(&self, issue: &Issue) -> (Update, Vec<Accept>) {
        let wanted = |known: &&(usize, &Criterion)| self.acceptance.iter().any(|new| new.text == known.1.text);
        let old: Vec<(usize, &Criterion)> = (1..).zip(&issue.acceptance).collect();
        let in_both: Vec<_> = old.iter().filter(wanted).collect();
        let same = in_both.iter().zip(&self.acceptance).take_while(|(old, new)| old.1.text == new.text).count();
        let kept = &in_both[..same];
        let mut update = Update::of(IssueRef::from(&issue.id));
        let gone = old.iter().filter(|(number, _)| kept.iter().all(|(kept, _)| kept != number));
        update.remove_acceptance = gone.map(|(number, _)| number.to_string()).collect();
        update.acceptance = self.acceptance[same..].iter().map(|new| new.text.clone()).collect();
        let was_done = |at: usize| kept.get(at).is_some_and(|(_, criterion)| criterion.done);
        let differ = self.acceptance.iter().enumerate().filter(|(at, new)| new.done != was_done(*at));
        let tick = |(at, new): (usize, &Criterion)| accept(IssueRef::from(&issue.id), at, new.done);
        (update, differ.map(tick).collect())
    }

    /// The new issue that this document describes, and the ticks of its criteria. `defaults` has what it leaves out; lists
    /// are joined.
    pub fn create(self, defaults: &Create, name: &IssueRef) -> Result<(Create, Vec<Accept>)> {
        let title = self.title.ok_or_else(|| Error::invalid("the title is missing").hint("title: what it is about"))?;
        let reference = |given: Option<String>, default: &Option<IssueRef>| match given {
            Some(given) => given.parse().map(Some),
            None => Ok(default.clone()),
        };
        let references = self.after.iter().map(|given| given.parse()).collect::<Result<Vec<IssueRef>>>()?;
        let fields = self.fields.into_iter().map(|(name, value)| FieldChange { name, value }).collect();
        let mut acceptance = defaults.acceptance.clone();
        let mut ticks = Vec::new();
        for Criterion { text, done } in self.acceptance {
            let known = acceptance.iter().position(|known| *known == text);
            let at = known.unwrap_or(acceptance.len());
            if known.is_none() {
                acceptance.push(text);
            }
            ticks.extend(done.then(|| accept(name.clone(), at, true)));
        }
        let create = Create {
            title,
            issue_type: self.issue_type.unwrap_or(defaults.issue_type),
            priority: self.priority.unwrap_or(defaults.priority),
            assignee: self.assignee.or_else(|| defaults.assignee.clone()),
            spec: self.spec.or_else(|| defaults.spec.clone()),
            fixes: reference(self.fixes, &defaults.fixes)?,
            description: self.description.or_else(|| defaults.description.clone()),
            deps: [defaults.deps.clone(), references].concat(),
            parent: reference(self.parent, &defaults.parent)?,
            labels: [defaults.labels.clone(), self.labels].concat(),
            due: self.due.or_else(|| defaults.due.clone()),
            defer: self.defer.or_else(|| defaults.defer.clone()),
            estimate: self.estimate.map(|span| span.parse()).transpose()?.or(defaults.estimate),
            acceptance,
            fields: [defaults.fields.clone(), fields].concat(),
            refs: [defaults.refs.clone(), self.refs].concat(),
        };
        Ok((create, ticks))
    }
}

/// Ticks the criterion at a place from 0.
fn accept(id: IssueRef, at: usize, done: bool) -> Accept {
    Accept { id, number: u32::try_from(at + 1).unwrap_or(u32::MAX), undo: !done }
}

/// Splits `[ ] text` and `[x] text`.
pub(super) fn checkbox(item: &str) -> Option<(bool, &str)> {
    let (done, rest) = match item.strip_prefix('[')?.split_at_checked(2)? {
        (" ]", rest) => (false, rest),
        ("x]" | "X]", rest) => (true, rest),
        _ => return None,
    };
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then(|| (done, rest.trim()))
}

/// A text as a value: as it is if it would be read as the same text, else as JSON.
fn scalar(text: &str) -> String {
    let is_plain = !text.is_empty()
        && text == text.trim()
        && !text.starts_with('"')
        && checkbox(text).is_none()
        && !text.contains(text::is_unsafe_to_print);
    if is_plain { text.to_owned() } else { crate::json::to_line(text).unwrap_or_default() }
}

fn list_item(text: &str) -> String {
    let shown = scalar(text);
    if shown == text && text.contains(',') { crate::json::to_line(text).unwrap_or_default() } else { shown }
}

fn read_scalar(value: &str) -> Result<String> {
    if !value.starts_with('"') {
        return Ok(value.to_owned());
    }
    let (text, rest) = read_quoted(value)?;
    if rest.trim().is_empty() { Ok(text) } else { Err(bad_quotes()) }
}

/// Reads the JSON text that a value begins with; also returns what follows it.
fn read_quoted(value: &str) -> Result<(String, &str)> {
    let mut texts = serde_json::Deserializer::from_str(value).into_iter::<String>();
    let text = texts.next().and_then(Result::ok).ok_or_else(bad_quotes)?;
    Ok((text, &value[texts.byte_offset()..]))
}

fn bad_quotes() -> Error {
    Error::invalid("what begins with a quote must end with one").hint("inside, \\\" is a quote and \\\\ a backslash")
}

/// Reads a list with commas.
fn read_list(value: &str) -> Result<Vec<String>> {
    let (mut items, mut rest) = (Vec::new(), value.trim_start());
    while !rest.is_empty() {
        let (item, after) = if rest.starts_with('"') {
            let (item, after) = read_quoted(rest)?;
            let after = after.trim_start();
            (item, if after.is_empty() { after } else { after.strip_prefix(',').ok_or_else(bad_quotes)? })
        } else {
            let (item, after) = rest.split_once(',').unwrap_or((rest, ""));
            (item.trim().to_owned(), after)
        };
        if !item.is_empty() {
            items.push(item);
        }
        rest = after.trim_start();
    }
    Ok(items)
}

fn shorten(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn issue() -> Issue {
        let now = Timestamp::from_millis(1_800_000_000_000).expect("a time");
        let mut issue = Issue::new("pn-a1b2c3d4".parse().expect("an id"), "log in".into(), IssueType::Task, now);
        issue.labels = vec!["auth".into(), "web, mobile".into()];
        issue.estimate = Some("90m".parse().expect("a time"));
        issue.fields = BTreeMap::from([("severity".into(), "high".into()), ("team".into(), "a, b".into())]);
        let criterion = |text: &str, done| Criterion { text: text.into(), done };
        issue.acceptance = vec![criterion("fast", true), criterion("[x] \"safe\"", false), criterion("2", false)];
        issue.description = Some("# Why\n\n---\ntitle: no".into());
        issue
    }

    #[test]
    fn a_document_looks_like_front_matter_and_a_body() {
        let shown = IssueDocument::of(&issue()).print("pn-a1b2c3d4, a task\nsave it");
        let expected = r##"---
# pn-a1b2c3d4, a task
# save it
title: log in
priority: p2
assignee:
labels: auth, "web, mobile"
parent:
due:
defer:
estimate: 90m
spec:
fixes:
fields: severity=high, "team=a, b"
acceptance:
- [x] fast
- [ ] "[x] \"safe\""
- [ ] 2
---

# Why

---
title: no
"##;
        assert_eq!(shown, expected);
        assert_eq!(IssueDocument::parse(&shown).expect("a document"), IssueDocument::of(&issue()));
        let windows = shown.replace('\n', "\r\n");
        assert_eq!(
            IssueDocument::parse(&format!("\u{feff}{windows}")).expect("a document"),
            IssueDocument::of(&issue())
        );
    }

    /// Applies the changes that an edited document asks for.
    fn applied(issue: &Issue, edited: &IssueDocument) -> Issue {
        let (update, ticks) = edited.changes(issue).expect("possible");
        let mut new = issue.clone();
        let rules = super::super::IssueRules::default();
        update.edit(&mut new, &rules, issue.updated_at).expect("applied");
        ticks.iter().for_each(|tick| new.accept(tick.number, !tick.undo).expect("ticked"));
        new
    }

    #[test]
    fn only_differences_are_applied() {
        let before = issue();
        let (update, ticks) = IssueDocument::of(&before).changes(&before).expect("possible");
        assert!(update.is_empty() && ticks.is_empty(), "{update:?}");
        let page = IssueDocument::of(&before).print("");
        let page = page.replace("title: log in", "title: log out: now").replace("assignee:", "assignee: ben");
        let page =
            page.replace("\"web, mobile\"", "api").replace("estimate: 90m", "estimate:").replace("due:", "due: fri");
        let edited = IssueDocument::parse(&page).expect("a document");
        let (update, _) = edited.changes(&before).expect("possible");
        assert_eq!((update.title.as_deref(), update.assignee.as_deref()), (Some("log out: now"), Some("ben")));
        assert_eq!((update.add_labels, update.remove_labels), (vec!["api".into()], vec!["web, mobile".into()]));
        assert_eq!((update.estimate.as_deref(), update.due.as_deref()), (Some(""), Some("fri")));
        assert!(update.description.is_none() && update.acceptance.is_empty() && update.fields.is_empty());
        let gone = IssueDocument::parse("---\ntitle: log in\n---\n\n\n").expect("a document");
        let gone = applied(&Issue { labels: Vec::new(), ..before.clone() }, &gone);
        assert!(gone.description.is_none() && gone.acceptance.is_empty() && gone.fields.is_empty(), "{gone:?}");
        assert_eq!((gone.priority, gone.estimate), (before.priority, None));
    }

    #[test]
    fn what_a_new_issue_alone_can_have_is_refused_in_an_edit() {
        for bad in ["title:\n", "title: x\ntype: bug\n", "title: x\nafter: pn-1\n", "title: x\nrefs: a:b\n"] {
            let edited = IssueDocument::parse(&format!("---\n{bad}---\n")).expect("a document");
            assert!(edited.changes(&issue()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_new_issue_takes_what_the_document_leaves_out_from_the_defaults() {
        let page = "---\ntitle: x\ntype: bug\nlabels: a\nafter: pn-1, pn-2\nacceptance:\n- [x] one\n- two\n---\nwhy\n";
        let document = IssueDocument::parse(page).expect("a document");
        let mut defaults = Create::of("", IssueType::Chore);
        defaults.labels = vec!["b".into()];
        defaults.acceptance = vec!["two".into()];
        defaults.assignee = Some("ben".into());
        let (create, ticks) = document.create(&defaults, &"@i".parse().expect("a name")).expect("an issue");
        assert_eq!((create.issue_type, create.assignee.as_deref()), (IssueType::Bug, Some("ben")));
        assert_eq!((create.labels.join(" "), create.acceptance.join(" ")), ("b a".into(), "two one".into()));
        assert_eq!((create.deps.len(), create.description.as_deref()), (2, Some("why")));
        assert_eq!(ticks.iter().map(|tick| tick.number).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn errors_name_the_line_and_what_was_meant() {
        for (page, wanted) in [
            ("", "line 1: the front matter has no end"),
            ("title: x", "line 1: a document begins"),
            ("---\ntitle: x\n", "line 3: the front matter has no end"),
            ("---\ntitel: x\n---\n", "line 2: no field is called \"titel\""),
            ("---\ntitle: x\n\ntitle: y\n---\n", "line 4: title is there twice"),
            ("---\nsome words\n---\n", "line 2: not a field"),
            ("---\n# note\npriority: p9\n---\n", "line 3: invalid priority"),
            ("---\ndue: someday\n---\n", "line 2: not a date"),
            ("---\nestimate: long\n---\n", "line 2: "),
            ("---\ntitle: \"x\n---\n", "line 2: what begins with a quote"),
            ("---\ntitle: \"x\" y\n---\n", "line 2: what begins with a quote"),
            ("---\nlabels: \"a\" b, c\n---\n", "line 2: what begins with a quote"),
            ("---\nfields: severity\n---\n", "line 2: not a field"),
            ("---\nfields: a=1, a=2\n---\n", "line 2: the field \"a\" is there twice"),
            ("---\nacceptance: fast\n---\n", "line 2: criteria have lines of their own"),
            ("---\nacceptance:\n- [ ] a\n- [x] a\n---\n", "line 4: the criterion \"a\" is there twice"),
            ("---\n- [ ] a\n---\n", "line 2: not a field"),
        ] {
            let error = IssueDocument::parse(page).expect_err(page);
            assert!(error.message.starts_with(wanted), "{page:?}: {error}");
        }
        let hint = IssueDocument::parse("---\ntitel: x\n---\n").expect_err("a typo").hint;
        assert_eq!(hint.as_deref(), Some("did you mean title?"));
    }

    /// Texts that a document could take for something else.
    fn hostile() -> impl Strategy<Value = String> {
        let part = "(---|: |- |\\[x\\] |\\[ \\]|\"|\\\\|,|=|#|\n|\r\n|\t|\u{1b}|\u{202e}|\u{2028}|title|a|é| ){0,8}";
        part.prop_filter("not blank", |text: &String| !text.trim().is_empty())
    }

    prop_compose! {
        fn any_document()(
            title in hostile(),
            issue_type in prop::option::of(prop::sample::select(IssueType::ALL.to_vec())),
            priority in prop::option::of(prop::sample::select(Priority::ALL.to_vec())),
            names in prop::collection::vec(prop::option::of(hostile()), 4),
            lists in prop::collection::vec(prop::collection::vec(hostile(), 0..4), 3),
            fields in prop::collection::btree_map("[a-z][a-z0-9_-]{0,5}", hostile(), 0..4),
            criteria in prop::collection::btree_map(hostile(), any::<bool>(), 0..5),
            description in prop::option::of(hostile()),
        ) -> IssueDocument {
            IssueDocument {
                title: Some(title),
                issue_type,
                priority,
                assignee: names[0].clone(),
                labels: lists[0].clone(),
                parent: names[1].clone(),
                due: Some("+3d".into()),
                estimate: Some("2h".into()),
                spec: names[2].clone(),
                fixes: names[3].clone(),
                fields,
                after: lists[1].clone(),
                refs: lists[2].clone(),
                acceptance: criteria.into_iter().map(|(text, done)| Criterion { text, done }).collect(),
                description,
                ..IssueDocument::default()
            }
        }
    }

    proptest! {
        #[test]
        fn a_printed_document_is_read_as_the_same(document in any_document(), note in hostile()) {
            let page = document.print(&note);
            prop_assert_eq!(IssueDocument::parse(&page).expect("a document"), document, "{}", page);
        }

        #[test]
        fn any_text_is_a_document_or_an_error_with_a_line(page in "(---\n|title: |\"|\\\\|,|=|- \\[ \\] |acceptance:\n|\n|a|é){0,20}") {
            if let Err(error) = IssueDocument::parse(&page) {
                prop_assert!(error.message.starts_with("line "), "{}", error);
            }
        }

        #[test]
        fn applied_changes_give_the_edited_document(
            old in prop::collection::vec(("[1-5]", any::<bool>()), 0..6),
            new in prop::collection::vec(("[1-5]", any::<bool>()), 0..6),
        ) {
            let criteria = |of: Vec<(String, bool)>| {
                let mut criteria: Vec<Criterion> = Vec::new();
                for (text, done) in of {
                    if criteria.iter().all(|known| known.text != text) {
                        criteria.push(Criterion { text, done });
                    }
                }
                criteria
            };
            let before = Issue { acceptance: criteria(old), ..issue() };
            let edited = IssueDocument { acceptance: criteria(new), ..IssueDocument::of(&before) };
            prop_assert_eq!(applied(&before, &edited).acceptance, edited.acceptance);
        }
    }
}
