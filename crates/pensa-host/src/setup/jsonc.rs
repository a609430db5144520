//! Adds parts to JSON files, with or without comments, and takes them out again.
//!
//! The text is edited in place, so that everything else keeps its formatting. Every addition is checked to be what
//! [`remove`] takes back byte for byte; a text for which that fails is refused.

use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions};
use pensa_core::{Error, Result};
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

use super::PartState;
use super::block::line_end;

/// What our commands begin with.
pub(super) const OUR_COMMAND: &str = "pn hook ";
/// The members in which an agent's hook has its command.
const COMMAND_KEYS: [&str; 2] = ["command", "bash"];

/// Something of ours in a JSON file. `path` are the names of the objects around it, from the root.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum JsonPart {
    Member {
        path: Vec<String>,
        name: String,
        value: Value,
    },
    /// An item of the list at `path` that runs one of our commands.
    Item {
        path: Vec<String>,
        value: Value,
    },
}

/// How something is put into an object or list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    OwnLine,
    Inline,
}

const LAYOUTS: [Layout; 2] = [Layout::OwnLine, Layout::Inline];

/// An object or list, as positions in the text.
#[derive(Debug)]
struct Container {
    /// Of the opening and behind the closing bracket
    start: usize,
    end: usize,
    /// Start and end of each member or item
    children: Vec<(usize, usize)>,
}

impl Container {
    fn of(node: &Node<'_>) -> Option<Self> {
        let children = match node {
            Node::Object(object) => object.properties.iter().map(|one| (one.range.start, one.range.end)).collect(),
            Node::Array(array) => array.elements.iter().map(|one| (one.start(), one.end())).collect(),
            _ => return None,
        };
        Some(Self { start: node.start(), end: node.end(), children })
    }
}

fn parse(text: &str) -> Result<Node<'_>> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &options);
    let node = parsed.map_err(|e| Error::invalid(format!("is not JSON: {e}")).hint("mend the file by hand"))?;
    match node.value {
        Some(node @ Node::Object(_)) => Ok(node),
        Some(_) => Err(Error::invalid("is not a JSON object").hint("mend the file by hand")),
        None => Err(Error::invalid("is empty, which is not JSON").hint("delete it, or write {} into it")),
    }
}

/// The value of a member; an error if the name occurs twice, because agents differ in which one they take.
fn member<'n, 't>(object: &'n Object<'t>, name: &str) -> Result<Option<(usize, &'n Node<'t>)>> {
    let mut found = object.properties.iter().enumerate().filter(|(_, one)| one.name.as_str() == name);
    match (found.next(), found.next()) {
        (Some((at, one)), None) => Ok(Some((at, &one.value))),
        (None, _) => Ok(None),
        _ => Err(Error::invalid(format!("has {name:?} twice")).hint("delete one of them")),
    }
}

/// The nodes along a path, as far as they exist, from the root; each with its index in the one before.
fn walk<'n, 't>(root: &'n Node<'t>, path: &[String]) -> Result<Vec<(usize, &'n Node<'t>)>> {
    let mut found = vec![(0, root)];
    for (depth, name) in path.iter().enumerate() {
        let Some((_, Node::Object(object))) = found.last() else {
            return Err(
                Error::invalid(format!("has no object at {:?}", path[..depth].join("."))).hint("mend it by hand")
            );
        };
        match member(object, name)? {
            Some(next) => found.push(next),
            None => break,
        }
    }
    Ok(found)
}

fn plain(node: &Node<'_>) -> Value {
    node.clone().into()
}

/// The hooks in an item of a list that run our commands: the item itself, or those in its list `hooks`.
fn our_hooks(item: &Value) -> Vec<&Value> {
    let is_ours = |hook: &&Value| {
        COMMAND_KEYS.iter().any(|key| hook[*key].as_str().is_some_and(|command| command.starts_with(OUR_COMMAND)))
    };
    let below = item["hooks"].as_array().map(Vec::as_slice).unwrap_or_default();
    std::iter::once(item).chain(below).filter(is_ours).collect()
}

/// The state of a part.
fn state_of(text: &str, part: &JsonPart) -> Result<PartState> {
    let root = parse(text)?;
    match part {
        JsonPart::Member { path, name, value } => {
            let found = walk(&root, &[path.clone(), vec![name.clone()]].concat())?;
            Ok(match found.get(path.len() + 1) {
                None => PartState::Missing,
                Some((_, node)) if plain(node) == *value => PartState::Current,
                Some(_) => PartState::Edited,
            })
        }
        JsonPart::Item { path, value } => {
            let found = walk(&root, path)?;
            let Some((_, list)) = found.get(path.len()) else { return Ok(PartState::Missing) };
            let Value::Array(items) = plain(list) else {
                return Err(Error::invalid(format!("has no list at {:?}", path.join("."))).hint("mend it by hand"));
            };
            let there: Vec<&Value> = items.iter().flat_map(our_hooks).collect();
            let wanted = our_hooks(value);
            Ok(match there.as_slice() {
                [] => PartState::Missing,
                [one] if wanted == [*one] => PartState::Current,
                _ => PartState::Edited,
            })
        }
    }
}

/// The state of all parts together: the one that needs the most attention.
pub(super) fn state(text: Option<&str>, parts: &[JsonPart]) -> Result<PartState> {
    let Some(text) = text.map(without_mark) else { return Ok(PartState::Missing) };
    let states = parts.iter().map(|part| state_of(text, part)).collect::<Result<Vec<_>>>()?;
    Ok(states.into_iter().max().unwrap_or(PartState::Current))
}

/// The text without the byte order mark.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The text with all parts. An edited part is replaced only with `force`. `new` is the text of a new file without them.
pub(super) fn add(given: Option<&str>, new: &str, parts: &[JsonPart], force: bool) -> Result<String> {
    let text = given.map_or(new, without_mark);
    let mut refused = None;
    for layout in LAYOUTS {
        match add_all(text, parts, layout, force) {
            Ok((with, is_plain)) => {
                let with = format!(
                    "{}{with}",
                    if given.is_some_and(|given| given.starts_with('\u{feff}')) { "\u{feff}" } else { "" }
                );
                // If some parts were there already, nobody knows which of them setup added.
                if !is_plain || remove(&with, new, parts).is_ok_and(|rest| rest.as_deref() == given) {
                    return Ok(with);
                }
            }
            Err(e) => refused = Some(e),
        }
    }
    Err(refused.unwrap_or_else(|| {
        Error::invalid("cannot be changed so that it can be changed back")
            .hint("add the parts by hand; --print shows them")
    }))
}

/// Adds what is missing. Also returns whether all of it was.
fn add_all(text: &str, parts: &[JsonPart], layout: Layout, force: bool) -> Result<(String, bool)> {
    let (before, mut text, mut is_plain) = (text, text.to_owned(), true);
    for part in parts {
        match state_of(&text, part)? {
            PartState::Missing => {}
            PartState::Edited if force => {
                text = remove_part(&text, part)?.0;
                is_plain = false;
            }
            _ => {
                is_plain = false;
                continue;
            }
        }
        // Where the first part is tells whether the file was there before.
        let is_first = is_plain && text == before;
        let order = if is_first && layout == Layout::Inline { [Layout::Inline, Layout::OwnLine] } else { LAYOUTS };
        let mut fitting = None;
        for layout in order {
            let with = add_part(&text, part, layout)?;
            if parse(&with).is_ok() && remove_part(&with, part).is_ok_and(|(rest, _)| rest == text) {
                fitting = Some(with);
                break;
            }
        }
        text = fitting.ok_or_else(|| {
            Error::invalid("cannot be changed so that it can be changed back")
                .hint("add the parts by hand; --print shows them")
        })?;
    }
    Ok((text, is_plain))
}

fn add_part(text: &str, part: &JsonPart, layout: Layout) -> Result<String> {
    let root = parse(text)?;
    let (path, value, last) = match part {
        JsonPart::Member { path, name, value } => (path, value.clone(), Some(name)),
        JsonPart::Item { path, value } => (path, value.clone(), None),
    };
    let found = walk(&root, path)?;
    let missing = &path[found.len() - 1..];
    let Some(container) = found.last().and_then(|(_, node)| Container::of(node)) else {
        return Err(
            Error::invalid(format!("has neither an object nor a list at {:?}", path.join("."))).hint("mend it by hand")
        );
    };
    // The objects on the way that do not exist are added with it.
    let mut value = value;
    let mut names: Vec<&String> = missing.iter().chain(last).collect();
    let name = if names.is_empty() { None } else { Some(names.remove(0)) };
    if last.is_none() && !missing.is_empty() {
        value = Value::Array(vec![value]);
    }
    for inner in names.into_iter().rev() {
        value = Value::Object([(inner.clone(), value)].into_iter().collect());
    }
    insert(text, &container, name.map(String::as_str), &value, layout)
}

/// Puts a member or item at the end of an object or list.
fn insert(text: &str, at: &Container, name: Option<&str>, value: &Value, layout: Layout) -> Result<String> {
    let end = line_end(text);
    let base = indent_at(text, at.start);
    let is_own_line = |start: usize| text[..start].trim_end_matches([' ', '\t']).ends_with('\n');
    let own = at.children.first().filter(|(start, _)| is_own_line(*start)).map(|(start, _)| indent_at(text, *start));
    let indent = own.unwrap_or_else(|| format!("{base}{}", unit(text)));
    let is_line = !at.children.is_empty() && !text[at.start..at.end].contains('\n');
    let shown = |indent: &str| -> Result<String> {
        let value = if is_line { on_one_line(value) } else { pretty(value, &unit(text), indent, end)? };
        Ok(name.map_or_else(|| value.clone(), |name| format!("{}: {value}", Value::from(name))))
    };
    let Some((_, last)) = at.children.last().copied() else {
        let (before, after) = text.split_at(at.start + 1);
        let is_bare = after.starts_with(['}', ']']);
        return Ok(match layout {
            Layout::OwnLine if is_bare => format!("{before}{end}{indent}{}{end}{base}{after}", shown(&indent)?),
            Layout::OwnLine => format!("{before}{end}{indent}{}{after}", shown(&indent)?),
            // The space tells what was there from an object that is added with its member.
            Layout::Inline => format!("{before} {}{after}", shown(&base)?),
        });
    };
    let next = skip_trivia(text, last);
    let has_comma = text[next..].starts_with(',');
    let from = if has_comma { next + 1 } else { last };
    let (to, gap) = match layout {
        Layout::OwnLine if !is_line => (skip_comments_on_line(text, from), format!("{end}{indent}")),
        _ => (from, " ".to_owned()),
    };
    let (comma_before, comma_after) = if has_comma { ("", ",") } else { (",", "") };
    let (before, between, after) = (&text[..from], &text[from..to], &text[to..]);
    Ok(format!("{before}{comma_before}{between}{gap}{}{comma_after}{after}", shown(&indent)?))
}

/// The text without our parts, or `None` if that is what a new file had before them.
pub(super) fn remove(given: &str, new: &str, parts: &[JsonPart]) -> Result<Option<String>> {
    let mut text = without_mark(given).to_owned();
    let mut is_ours = false;
    for part in parts.iter().rev() {
        let (rest, is_own_line) = remove_part(&text, part)?;
        if rest != text {
            is_ours = is_own_line;
        }
        text = rest;
    }
    parse(&text)?;
    if is_ours && text == new && !given.starts_with('\u{feff}') {
        return Ok(None);
    }
    Ok(Some(if given.starts_with('\u{feff}') { format!("\u{feff}{text}") } else { text }))
}

/// The text without a part, and whether what was taken out had lines of its own.
fn remove_part(text: &str, part: &JsonPart) -> Result<(String, bool)> {
    match part {
        JsonPart::Member { path, name, .. } => {
            let path = [path.clone(), vec![name.clone()]].concat();
            let root = parse(text)?;
            let found = walk(&root, &path)?;
            if found.len() <= path.len() { Ok((text.to_owned(), false)) } else { cut(text, &found) }
        }
        JsonPart::Item { path, .. } => {
            let (mut text, mut is_own_line) = (text.to_owned(), false);
            while let Some((rest, own)) = remove_item(&text, path)? {
                (text, is_own_line) = (rest, own);
            }
            Ok((text, is_own_line))
        }
    }
}

/// Takes out one of our hooks from a list: with the item around it if that has nothing else.
fn remove_item(text: &str, path: &[String]) -> Result<Option<(String, bool)>> {
    let root = parse(text)?;
    let mut found = walk(&root, path)?;
    let Some((_, Node::Array(list))) = found.get(path.len()) else { return Ok(None) };
    for (at, item) in list.elements.iter().enumerate() {
        let value = plain(item);
        if our_hooks(&value).is_empty() {
            continue;
        }
        found.push((at, item));
        let below = value["hooks"].as_array().map(Vec::as_slice).unwrap_or_default();
        let ours = below.iter().position(|hook| our_hooks(hook).len() == 1);
        if let (Some(ours), true, Node::Object(group)) = (ours, below.len() > 1, item)
            && let Some((inner, hooks @ Node::Array(handlers))) = member(group, "hooks")?
            && let Some(handler) = handlers.elements.get(ours)
        {
            found.extend([(inner, hooks), (ours, handler)]);
        }
        return cut(text, &found).map(Some);
    }
    Ok(None)
}

/// Takes out the last node of a path, and what is left empty around it if it had lines of its own there. Also returns
/// whether the outermost thing had them.
fn cut(text: &str, path: &[(usize, &Node<'_>)]) -> Result<(String, bool)> {
    let mut depth = path.len() - 1;
    loop {
        let around = depth.checked_sub(1).and_then(|above| Container::of(path[above].1));
        let Some(around) = around else { return Err(Error::internal("a member without an object")) };
        let (rest, own_line, is_emptied) = take_out(text, &around, path[depth].0);
        // The root stays, and so does what a person wrote as an empty object.
        if !is_emptied || depth == 1 {
            return Ok((rest, own_line));
        }
        depth -= 1;
    }
}

/// The text without a child of an object or list; whether it had lines of its own; and whether it was all there was.
fn take_out(text: &str, from: &Container, index: usize) -> (String, bool, bool) {
    let (start, end) = from.children[index];
    let blank = text[..start].trim_end_matches([' ', '\t']);
    let own_line = blank.ends_with('\n');
    let line = blank.strip_suffix('\n').map_or(blank, |line| line.strip_suffix('\r').unwrap_or(line));
    // What follows on the same line must not become part of a comment on the line before.
    let is_last_on_line = text[end..].trim_start_matches([' ', '\t']).starts_with(['\r', '\n']);
    let has_comment = line.rsplit('\n').next().is_some_and(|line| line.contains("//"));
    let gap = if own_line && has_comment && !is_last_on_line { blank.len() } else { line.len() };
    let next = skip_trivia(text, end);
    let comma = text[next..].starts_with(',').then_some(next);
    if from.children.len() == 1 && comma.is_none() {
        let after = &text[end..from.end - 1];
        let is_all = own_line && gap == from.start + 1 && after.trim().is_empty() && after.contains('\n');
        let is_bare = start == from.start + 1 && after.is_empty();
        if is_all || is_bare {
            return (format!("{}{}", &text[..from.start + 1], &text[from.end - 1..]), own_line, true);
        }
        return (format!("{}{}", &text[..gap], &text[end..]), own_line, false);
    }
    if let Some(comma) = comma {
        return (format!("{}{}{}", &text[..gap], &text[end..comma], &text[comma + 1..]), own_line, false);
    }
    let comma = skip_trivia(text, from.children[index - 1].1);
    (format!("{}{}{}", &text[..comma], &text[comma + 1..gap], &text[end..]), own_line, false)
}

/// The next position that is neither white space nor in a comment.
fn skip_trivia(text: &str, mut at: usize) -> usize {
    loop {
        let rest = &text[at..];
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        if trimmed.starts_with("//") {
            at += trimmed.find('\n').unwrap_or(trimmed.len());
        } else if let Some(comment) = trimmed.strip_prefix("/*") {
            at += comment.find("*/").map_or(trimmed.len(), |end| end + 4);
        } else {
            return at;
        }
    }
}

/// The end of the comments that follow on the same line.
fn skip_comments_on_line(text: &str, from: usize) -> usize {
    let mut end = from;
    loop {
        let rest = text[end..].trim_start_matches([' ', '\t']);
        let start = text.len() - rest.len();
        if rest.starts_with("//") {
            let line = rest.find('\n').unwrap_or(rest.len());
            return start + rest[..line].trim_end_matches('\r').len();
        }
        match rest.strip_prefix("/*").and_then(|comment| comment.find("*/")) {
            Some(close) if !rest[..close].contains('\n') => end = start + close + 4,
            _ => return end,
        }
    }
}

/// The white space at the beginning of the line around a position.
fn indent_at(text: &str, at: usize) -> String {
    let line = &text[text[..at].rfind('\n').map_or(0, |end| end + 1)..];
    line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
}

/// One step of indentation: that of the first indented line.
fn unit(text: &str) -> String {
    let first = text.lines().skip(1).find(|line| line.starts_with([' ', '\t']) && !line.trim().is_empty());
    let indent: String = first.unwrap_or("  ").chars().take_while(|c| matches!(c, ' ' | '\t')).collect();
    if indent.len() > 8 { "  ".to_owned() } else { indent }
}

fn pretty(value: &Value, unit: &str, indent: &str, end: &str) -> Result<String> {
    let mut shown = Vec::new();
    let formatter = PrettyFormatter::with_indent(unit.as_bytes());
    value.serialize(&mut Serializer::with_formatter(&mut shown, formatter)).map_err(Error::internal)?;
    let shown = String::from_utf8(shown).map_err(Error::internal)?;
    Ok(shown.replace('\n', &format!("{end}{indent}")))
}

fn on_one_line(value: &Value) -> String {
    match value {
        Value::Object(object) => {
            let members =
                object.iter().map(|(name, value)| format!("{}: {}", Value::from(name.as_str()), on_one_line(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(on_one_line).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
