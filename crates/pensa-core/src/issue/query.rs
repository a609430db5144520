//! The query language of listings: `status:open label:auth -assignee:ben p<=1 due<+7d "exact phrase" word`.
//!
//! Parses a query and names its errors by column. What it selects is the engine's matter.

use std::str::FromStr;

use super::{IssueRules, IssueType, Priority, Status, check_field_name};
use crate::closed_enum::closed_enum;
use crate::error::{Error, Result};
use crate::id::IssueRef;
use crate::text;
use crate::time::{Date, Span, Timestamp};

/// Most terms of one query.
const MAX_TERMS: usize = 100;
/// What stands for an absent value: `assignee:none`.
const NONE: &str = "none";
/// Begins the name of a custom field that is also a key.
const FIELD_PREFIX: &str = "field.";

/// A parsed query: issues match if all terms do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IssueQuery {
    pub terms: Vec<Term>,
}

/// One condition of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    pub is_negated: bool,
    /// Any of these must hold.
    pub any: Vec<Predicate>,
}

/// What a term says about an issue. `None` means that it has no such value.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    /// Folded text in its title, description, comments or labels
    Text(String),
    Id(IssueRef),
    Status(Status),
    Type(IssueType),
    Priority(Comparison, Priority),
    Assignee(Option<String>),
    Label(Option<String>),
    /// Any of its ancestors
    Parent(Option<IssueRef>),
    Spec(Option<String>),
    Ref(Option<String>),
    Day(DayField, Comparison, Option<Date>),
    Time(TimeField, Comparison, Timestamp),
    Estimate(Comparison, Option<Span>),
    Field(String, Option<String>),
    Is(IssueState),
}

/// How a value is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// Longer operators first.
    const ALL: [(&'static str, Self); 6] = [
        ("<=", Self::LessOrEqual),
        (">=", Self::GreaterOrEqual),
        ("<", Self::Less),
        (">", Self::Greater),
        (":", Self::Equal),
        ("=", Self::Equal),
    ];

    /// The operator in SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }

    /// The comparison of points in time that corresponds to one of ages.
    fn reversed(self) -> Self {
        match self {
            Self::Equal => Self::Equal,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DayField {
    Due,
    Defer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeField {
    Created,
    Updated,
    Closed,
}

closed_enum! {
    /// A state that follows from several fields.
    IssueState "invalid state: {:?}" {
        /// Open, and nothing blocks it
        Ready "ready",
        /// Not closed, and something blocks it
        Blocked "blocked",
        /// Not closed, and due before today
        Overdue "overdue",
        /// Not to be started before a later day
        Deferred "deferred",
        /// It has children
        Epic "epic",
    }
}

/// The keys, with their other names.
const KEYS: [(&str, &[&str]); 17] = [
    ("status", &["s"]),
    ("priority", &["p"]),
    ("type", &["issue_type", "t"]),
    ("assignee", &["a"]),
    ("label", &["labels", "l"]),
    ("parent", &[]),
    ("due", &[]),
    ("defer", &[]),
    ("estimate", &[]),
    ("created", &["created_at"]),
    ("updated", &["updated_at"]),
    ("closed", &["closed_at"]),
    ("spec", &[]),
    ("ref", &["refs"]),
    ("id", &[]),
    ("is", &[]),
    ("field", &[]),
];

/// How queries are read.
#[derive(Debug, Clone, Copy)]
pub struct QueryOptions<'a> {
    pub now: Timestamp,
    /// Who `@me` is.
    pub actor: &'a str,
    /// Which declare the custom fields.
    pub rules: &'a IssueRules,
    /// Whether a term with an unknown key is text, as in a search for `crash: 1`.
    pub is_lenient: bool,
}

/// A piece of a query between blanks.
#[derive(Debug)]
struct Token<'a> {
    /// Where it begins, in bytes.
    at: usize,
    is_negated: bool,
    /// Its text, with the quotes and without the sign.
    text: &'a str,
}

impl IssueQuery {
    pub fn parse(query: &str, options: &QueryOptions<'_>) -> Result<Self> {
        let tokens = match tokens(query) {
            Err(_) if options.is_lenient => return Ok(Self { terms: vec![text_term(query.trim(), false)] }),
            tokens => tokens?,
        };
        if tokens.len() > MAX_TERMS {
            return Err(
                Error::invalid(format!("too many terms: {}", tokens.len())).hint(format!("at most {MAX_TERMS}"))
            );
        }
        if let ([only], true) = (&tokens[..], options.is_lenient)
            && only.is_negated
            && split(only.text).is_none()
        {
            // A search for `-t` is not one for everything else.
            return Ok(Self { terms: vec![text_term(query.trim(), false)] });
        }
        let mut terms = Vec::new();
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            if !options.is_lenient {
                refuse_operator(token.text).map_err(|error| at_column(query, token.at, error))?;
            }
            let Some((key, comparison, value)) = split(token.text) else {
                terms.push(text_term(unquoted(token.text), token.is_negated));
                continue;
            };
            match key_named(key, options) {
                Some(key) if !(options.is_lenient && value.is_empty()) => {
                    let at = token.at + token.text.len() - value.len() + usize::from(token.is_negated);
                    let any = items(value).map(|item| predicate(key, comparison, item, options));
                    let any = any.collect::<Result<_>>().map_err(|error| at_column(query, at, error))?;
                    terms.push(Term { is_negated: token.is_negated, any });
                }
                _ if options.is_lenient => {
                    // `crash: 1` is one text.
                    let next = tokens.next_if(|_| value.is_empty());
                    let end = next.map_or(token.at + usize::from(token.is_negated) + token.text.len(), |next| {
                        next.at + usize::from(next.is_negated) + next.text.len()
                    });
                    terms.push(text_term(&query[token.at..end], false));
                }
                _ => {
                    let at = token.at + usize::from(token.is_negated);
                    return Err(at_column(query, at, unknown_key(key, options.rules)));
                }
            }
        }
        Ok(Self { terms })
    }

    /// Reads a query for what it asks, without the settings that a store has.
    pub fn outline(query: &str) -> Self {
        let (now, rules) = (Timestamp::from_millis(0), IssueRules::default());
        let parsed =
            now.and_then(|now| Self::parse(query, &QueryOptions { now, actor: "", rules: &rules, is_lenient: true }));
        parsed.unwrap_or_default()
    }

    /// The text, if the query is nothing but one.
    pub fn plain(&self) -> Option<&str> {
        match self.terms.as_slice() {
            [Term { is_negated: false, any }] => match any.as_slice() {
                [Predicate::Text(text)] => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether it says which status issues must have. One for when issues were closed asks for closed ones.
    pub fn has_status(&self) -> bool {
        let is_status =
            |predicate: &Predicate| matches!(predicate, Predicate::Status(_) | Predicate::Time(TimeField::Closed, ..));
        self.terms.iter().any(|term| term.any.iter().any(is_status))
    }

    /// The labels that it asks for.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().flat_map(|term| &term.any).filter_map(|predicate| match predicate {
            Predicate::Label(label) => label.as_deref(),
            _ => None,
        })
    }

    /// Adds a condition.
    pub fn and(&mut self, predicate: Predicate) {
        self.terms.push(Term { is_negated: false, any: vec![predicate] });
    }
}

/// Whether an argument that begins with a hyphen is a query, `-label:auth`, and not a flag, `-aben` or `-p=p1`.
pub fn is_negated_term(argument: &str) -> bool {
    let Some(term) = argument.strip_prefix('-') else { return false };
    match split(term) {
        None => term.starts_with('"'),
        Some((key, ..)) if key.len() == 1 => !term[1..].starts_with('='),
        Some((key, ..)) => term[key.len()..].starts_with(':') || known_key(key).is_some(),
    }
}

/// Other languages join terms with these words, which would be looked for as texts here.
fn refuse_operator(word: &str) -> Result<()> {
    let hint = match word {
        "AND" | "&&" => "terms that follow each other must all hold",
        "OR" | "||" => "label:a,b finds either",
        "NOT" => "-label:a finds issues without the label",
        _ => return Ok(()),
    };
    Err(Error::invalid(format!("{word} is not an operator")).hint(format!("{hint}; a text goes in quotes")))
}

fn text_term(text: &str, is_negated: bool) -> Term {
    Term { is_negated, any: vec![Predicate::Text(text::fold(text))] }
}

/// Splits at blanks outside quotes.
fn tokens(query: &str) -> Result<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let (mut start, mut quote) = (None, None);
    for (at, c) in query.char_indices() {
        match c {
            '"' => quote = if quote.is_some() { None } else { Some(at) },
            c if c.is_whitespace() && quote.is_none() => {
                tokens.extend(start.take().map(|start| token(query, start, at)));
                continue;
            }
            _ => {}
        }
        start.get_or_insert(at);
    }
    if let Some(at) = quote {
        return Err(at_column(query, at, Error::invalid("a quote is not closed").hint("end it with another \"")));
    }
    tokens.extend(start.map(|start| token(query, start, query.len())));
    Ok(tokens)
}

fn token(query: &str, at: usize, end: usize) -> Token<'_> {
    let text = &query[at..end];
    match text.strip_prefix('-').filter(|rest| !rest.is_empty()) {
        Some(rest) => Token { at, is_negated: true, text: rest },
        None => Token { at, is_negated: false, text },
    }
}

/// The key, the operator and the value of a term that has them.
fn split(term: &str) -> Option<(&str, Comparison, &str)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let end = term.find(|c| !is_word(c)).filter(|end| *end > 0)?;
    let (key, rest) = term.split_at(end);
    let (operator, comparison) = Comparison::ALL.into_iter().find(|(operator, _)| rest.starts_with(operator))?;
    Some((key, comparison, &rest[operator.len()..]))
}

/// The values between commas outside quotes, without their quotes.
fn items(value: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    value
        .split(move |c| {
            is_quoted ^= c == '"';
            c == ',' && !is_quoted
        })
        .map(unquoted)
}

fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text)
}

/// The key with this name, or the custom field. Without declarations every `field.NAME` is one.
fn key_named<'a>(name: &'a str, options: &QueryOptions<'_>) -> Option<&'a str> {
    let field = name.strip_prefix(FIELD_PREFIX);
    let is_custom = match &options.rules.fields {
        Some(declared) => declared.contains_key(field.unwrap_or(name)),
        None => field.is_some(),
    };
    known_key(name).or_else(|| is_custom.then_some(name))
}

/// The key with this name, or with it as another name.
fn known_key(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    let known = KEYS.iter().find(|(key, aliases)| *key == lower || aliases.contains(&lower.as_str()));
    known.map(|(key, _)| *key).filter(|key| *key != "field")
}

fn unknown_key(key: &str, rules: &IssueRules) -> Error {
    if let Some(field) = key.strip_prefix(FIELD_PREFIX) {
        return rules.unknown_field(field);
    }
    let known = KEYS.iter().map(|(key, _)| *key).filter(|key| *key != "field");
    let known = known.chain(rules.fields.iter().flatten().map(|(name, _)| name.as_str()));
    let hint = match text::nearest(key, known.clone()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("one of {}; text goes in quotes", known.collect::<Vec<_>>().join(", ")),
    };
    Error::invalid(format!("unknown key {key:?}")).hint(hint)
}

/// Says where in a query an error is, counted in characters from 1.
fn at_column(query: &str, at: usize, mut error: Error) -> Error {
    let column = query[..at.min(query.len())].chars().count() + 1;
    error.message = format!("{} at column {column} of the query", error.message);
    error
}

fn predicate(key: &str, comparison: Comparison, value: &str, options: &QueryOptions<'_>) -> Result<Predicate> {
    let given = |value: &str| Some(value.to_owned()).filter(|value| value != NONE && !value.is_empty());
    if value.is_empty() && !["assignee", "label", "parent", "spec", "ref"].contains(&key) {
        return Err(Error::invalid(format!("{key} needs a value")).hint(format!("{key}:none finds issues without one")));
    }
    let is_ordered = ["priority", "due", "defer", "estimate", "created", "updated", "closed"].contains(&key);
    if comparison != Comparison::Equal && !is_ordered {
        return Err(Error::invalid(format!("{key} has no order")).hint(format!("{key}:{value}")));
    }
    Ok(match key {
        "status" => Predicate::Status(word(value)?),
        "type" => Predicate::Type(word(value)?),
        "is" => Predicate::Is(word(value)?),
        "priority" => Predicate::Priority(comparison, word(value)?),
        "assignee" if value == "@me" => Predicate::Assignee(Some(options.actor.to_owned())),
        "assignee" => Predicate::Assignee(given(value)),
        "label" => Predicate::Label(given(value)),
        "parent" => Predicate::Parent(given(value).map(|id| id.parse()).transpose()?),
        "id" => Predicate::Id(value.parse()?),
        "spec" => Predicate::Spec(given(value)),
        "ref" => Predicate::Ref(given(value)),
        "due" => Predicate::Day(DayField::Due, comparison, day(value, options.now)?),
        "defer" => Predicate::Day(DayField::Defer, comparison, day(value, options.now)?),
        "estimate" => Predicate::Estimate(comparison, given(value).map(|span| span.parse()).transpose()?),
        "created" => time(TimeField::Created, comparison, value, options.now)?,
        "updated" => time(TimeField::Updated, comparison, value, options.now)?,
        "closed" => time(TimeField::Closed, comparison, value, options.now)?,
        custom => {
            let name = custom.strip_prefix(FIELD_PREFIX).unwrap_or(custom);
            check_field_name(name)?;
            let value = given(value);
            value.iter().try_for_each(|value| options.rules.check_value(name, value))?;
            Predicate::Field(name.to_owned(), value)
        }
    })
}

/// A word of a fixed list, in any case.
fn word<W: FromStr<Err = Error>>(value: &str) -> Result<W> {
    value.to_ascii_lowercase().replace('-', "_").parse()
}

fn day(value: &str, now: Timestamp) -> Result<Option<Date>> {
    if value == NONE { Ok(None) } else { Date::parse_at(value, now).map(Some) }
}

/// `updated>2d` is more than two days ago; `updated>2026-12-01` is after that day began.
fn time(field: TimeField, comparison: Comparison, value: &str, now: Timestamp) -> Result<Predicate> {
    let is_age = !value.starts_with(['+', '-']);
    if let Some(age) = value.parse::<Span>().ok().filter(|_| is_age) {
        return Ok(Predicate::Time(field, comparison.reversed(), now.minus(age)));
    }
    if let Ok(at) = value.parse::<Timestamp>() {
        return Ok(Predicate::Time(field, comparison, at));
    }
    let hint = |error: Error| error.hint("an age such as 2d or 12h, or a date such as yesterday or 2026-12-01");
    let date = Date::parse_at(value, now).map_err(hint)?;
    Ok(Predicate::Time(field, comparison, date.start()))
}

#[cfg(test)]
mod tests {
    use super::super::FieldValues;
    use super::*;

    fn now() -> Timestamp {
        // A Thursday.
        "2026-11-19T12:00:00Z".parse().expect("a time")
    }

    fn parsed(query: &str, is_lenient: bool) -> Result<IssueQuery> {
        let severity = FieldValues::OneOf(vec!["low".into(), "high".into()]);
        let fields = Some([("severity".to_owned(), severity), ("team".to_owned(), FieldValues::Free)].into());
        let rules = IssueRules { fields, ..IssueRules::default() };
        IssueQuery::parse(query, &QueryOptions { now: now(), actor: "ana", rules: &rules, is_lenient })
    }

    fn predicates(query: &str) -> Vec<(bool, Vec<Predicate>)> {
        parsed(query, false).expect(query).terms.into_iter().map(|term| (term.is_negated, term.any)).collect()
    }

    fn one(query: &str) -> Predicate {
        match &mut predicates(query)[..] {
            [(false, any)] if any.len() == 1 => any.remove(0),
            other => panic!("{query}: {other:?}"),
        }
    }

    #[test]
    fn terms_are_split_at_blanks_and_negated_by_a_minus() {
        assert_eq!(
            predicates("status:open  -assignee:ben \"exact  Phrase\" -word label:a,\"b, c\""),
            [
                (false, vec![Predicate::Status(Status::Open)]),
                (true, vec![Predicate::Assignee(Some("ben".into()))]),
                (false, vec![Predicate::Text("exact  phrase".into())]),
                (true, vec![Predicate::Text("word".into())]),
                (false, vec![Predicate::Label(Some("a".into())), Predicate::Label(Some("b, c".into()))]),
            ]
        );
        assert_eq!(predicates(" "), []);
    }

    #[test]
    fn every_key_has_its_predicate() {
        let date = |text: &str| Some(text.parse::<Date>().expect("a date"));
        let time = |text: &str| text.parse::<Timestamp>().expect("a time");
        for (query, expected) in [
            ("p<=1", Predicate::Priority(Comparison::LessOrEqual, Priority::P1)),
            ("priority:p0", Predicate::Priority(Comparison::Equal, Priority::P0)),
            ("status:in-progress", Predicate::Status(Status::InProgress)),
            ("t:bug", Predicate::Type(IssueType::Bug)),
            ("assignee:@me", Predicate::Assignee(Some("ana".into()))),
            ("assignee:none", Predicate::Assignee(None)),
            ("assignee:", Predicate::Assignee(None)),
            ("parent:pn-12", Predicate::Parent(Some("pn-12".parse().expect("an id")))),
            ("due<+7d", Predicate::Day(DayField::Due, Comparison::Less, date("2026-11-26"))),
            ("due:none", Predicate::Day(DayField::Due, Comparison::Equal, None)),
            ("defer>=fri", Predicate::Day(DayField::Defer, Comparison::GreaterOrEqual, date("2026-11-20"))),
            ("updated>2d", Predicate::Time(TimeField::Updated, Comparison::Less, time("2026-11-17T12:00:00Z"))),
            (
                "created<=12h",
                Predicate::Time(TimeField::Created, Comparison::GreaterOrEqual, time("2026-11-19T00:00:00Z")),
            ),
            ("closed>yesterday", Predicate::Time(TimeField::Closed, Comparison::Greater, time("2026-11-18T00:00:00Z"))),
            ("estimate>90m", Predicate::Estimate(Comparison::Greater, "90m".parse().ok())),
            ("severity:high", Predicate::Field("severity".into(), Some("high".into()))),
            ("field.team:none", Predicate::Field("team".into(), None)),
            ("ref:linear:PRJ-1", Predicate::Ref(Some("linear:PRJ-1".into()))),
            ("is:overdue", Predicate::Is(IssueState::Overdue)),
        ] {
            assert_eq!(one(query), expected, "{query}");
        }
    }

    #[test]
    fn errors_name_the_column_and_the_nearest_word() {
        for (query, message, hint) in [
            ("status:open lable:x", "unknown key \"lable\" at column 13 of the query", "did you mean label?"),
            ("ü -stauts:open", "unknown key \"stauts\" at column 4 of the query", "did you mean status?"),
            ("status:opne", "invalid status: \"opne\" at column 8 of the query", "did you mean open?"),
            ("status:done", "invalid status: \"done\" at column 8 of the query", "did you mean closed?"),
            ("a \"b", "a quote is not closed at column 3 of the query", "end it"),
            ("p:9", "at column 3 of the query", "p0"),
            ("due:someday", "not a date: \"someday\" at column 5 of the query", "tomorrow"),
            ("updated>soon", "at column 9 of the query", "an age"),
            ("status<open", "status has no order at column 8 of the query", "status:open"),
            ("due:", "due needs a value at column 5 of the query", "due:none"),
            ("is:reddy", "at column 4", "did you mean ready?"),
            ("a severty:high", "unknown key \"severty\" at column 3 of the query", "did you mean severity?"),
            ("a field.tean:x", "no custom field \"tean\" at column 3 of the query", "did you mean team?"),
            ("severity:low,hihg", "severity cannot be \"hihg\" at column 10 of the query", "did you mean high?"),
            ("label:a OR label:b", "OR is not an operator at column 9 of the query", "label:a,b finds either"),
            ("estimate>soon", "at column 10 of the query", "1h30m"),
        ] {
            let error = parsed(query, false).expect_err(query);
            assert!(error.message.contains(message), "{query}: {}", error.message);
            assert!(error.hint.as_deref().unwrap_or_default().contains(hint), "{query}: {:?}", error.hint);
        }
    }

    #[test]
    fn a_query_for_a_status_or_a_time_of_closing_says_which_status_is_meant() {
        for (query, is_said) in
            [("-status:closed", true), ("closed<7d", true), ("is:epic", false), ("is:blocked", false), ("word", false)]
        {
            assert_eq!(parsed(query, false).expect(query).has_status(), is_said, "{query}");
        }
    }

    #[test]
    fn a_negated_term_differs_from_a_flag() {
        for query in ["-label:auth", "-severity:high p<=1", "-p:1", "-p<1", "-due<+7d", "-\"a b\"", "-field.x:y"] {
            assert!(is_negated_term(query), "{query}");
        }
        for flag in ["-n3", "-p=p1", "-p", "-aben", "--label", "--due<3", "label:x", "-", "-sopen"] {
            assert!(!is_negated_term(flag), "{flag}");
        }
    }

    #[test]
    fn a_search_takes_unknown_keys_and_open_quotes_as_text() {
        for (query, text) in [
            ("crash: 1", "crash: 1"),
            ("https://example.org/a?b=1", "https://example.org/a?b=1"),
            ("say \"hello", "say \"hello"),
            ("status: open", "status: open"),
            ("Vec<u8>", "vec<u8>"),
            ("field.of:x", "field.of:x"),
            ("-t", "-t"),
        ] {
            assert_eq!(parsed(query, true).expect(query).plain(), Some(text), "{query}");
        }
        assert_eq!(parsed("status:open crash", true).expect("a query").terms.len(), 2);
        assert!(parsed("status:opne", true).is_err(), "a known key must have a known value");
        assert_eq!(parsed("two words", true).expect("a query").plain(), None);
    }
}
