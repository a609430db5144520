//! What a filter or a query selects from `issues i`, as an SQL condition.

use pensa_core::id::{IssueId, IssueRef};
use pensa_core::issue::query::{Comparison, DayField, IssueQuery, IssueState, Predicate, QueryOptions, TimeField};
use pensa_core::ops::issue::Filter;
use pensa_core::ops::refs::Ref;
use pensa_core::ops::view::{View, checked_name};
use pensa_core::time::Date;
use pensa_core::{Error, Result, Span, json, text};

use crate::context::Context;
use crate::db::{Param, Tx, params};
use crate::entity;
use crate::tables::issues::{self, READY};

/// A conjunction of conditions with their values.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    conditions: Vec<String>,
    values: Vec<Param<'static>>,
}

/// How queries are read here.
pub(crate) fn options<'a>(cx: &'a Context<'_>, is_lenient: bool) -> QueryOptions<'a> {
    QueryOptions { now: cx.now, actor: &cx.actor, rules: &cx.rules, is_lenient }
}

/// Reads a query that may begin with the name of a view.
pub(crate) fn parse(cx: &Context<'_>, tx: &Tx<'_>, query: &str, is_lenient: bool) -> Result<IssueQuery> {
    let Some(rest) = query.trim_start().strip_prefix('@') else {
        return IssueQuery::parse(query, &options(cx, is_lenient));
    };
    let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let view = view(tx, name)?;
    let mut query = IssueQuery::parse(&view.query, &options(cx, false))?;
    query.terms.extend(IssueQuery::parse(rest, &options(cx, is_lenient))?.terms);
    Ok(query)
}

/// The view with this name.
pub(crate) fn view(tx: &Tx<'_>, name: &str) -> Result<View> {
    let name = checked_name(name)?;
    if let Some(view) = entity::get(tx, params![&name])? {
        return Ok(view);
    }
    let known = views(tx)?;
    let near = text::nearest(&name, known.iter().map(|view| view.name.as_str()));
    let hint = near.map_or("pn view list shows the views".to_owned(), |near| format!("did you mean @{near}?"));
    Err(Error::not_found("view", format!("@{name}")).hint(hint))
}

pub(crate) fn views(tx: &Tx<'_>) -> Result<Vec<View>> {
    entity::query(tx, "ORDER BY name", params![])
}

/// The issue that is known in Linear under a key.
pub(crate) fn of_linear(tx: &Tx<'_>, key: &str) -> Result<Option<IssueId>> {
    let (target, mut found) = (linear_target(key), None);
    entity::for_each_in_order::<Ref>(tx, None, &[], |reference| {
        if reference.target == target {
            found.get_or_insert_with(|| reference.of.issue_id.clone());
        }
        Ok(())
    })?;
    Ok(found)
}

/// The reference to an issue in Linear.
pub(crate) fn linear_target(key: &str) -> String {
    format!("linear:{}", key.trim())
}

impl Selection {
    /// Everything that meets a condition on `issues i`.
    pub(crate) fn new(condition: &str) -> Self {
        Self { conditions: vec![condition.to_owned()], values: Vec::new() }
    }

    /// The condition and its values.
    pub(crate) fn into_sql(self) -> (String, Vec<Param<'static>>) {
        (self.conditions.join(" AND "), self.values)
    }

    /// Keeps what also passes a filter.
    pub(crate) fn filtered(mut self, cx: &Context<'_>, tx: &Tx<'_>, filter: &Filter) -> Result<Self> {
        let mut equal = |column: &str, value: Option<Param<'static>>| {
            if let Some(value) = value {
                self.values.push(value);
                self.conditions.push(format!("i.{column} = ?{}", self.values.len()));
            }
        };
        equal("status", filter.status.map(Param::from));
        equal("priority", filter.priority.map(Param::from));
        equal("issue_type", filter.issue_type.map(Param::from));
        equal("spec", filter.spec.clone().map(Param::from));
        equal("assignee", filter.assignee.clone().filter(|name| !name.is_empty()).map(Param::from));
        if filter.assignee.as_deref() == Some("") {
            self.conditions.push("i.assignee IS NULL".into());
        }
        let mut query = match &filter.q {
            Some(query) => parse(cx, tx, query, false)?,
            None => IssueQuery::default(),
        };
        filter.labels.iter().for_each(|label| query.and(Predicate::Label(Some(label.clone()))));
        if let Some(parent) = &filter.parent {
            query.and(Predicate::Parent(Some(parent.clone())));
        }
        if filter.overdue {
            query.and(Predicate::Is(IssueState::Overdue));
        }
        self.matching(cx, tx, &query)
    }

    /// Keeps what also matches a query.
    pub(crate) fn matching(mut self, cx: &Context<'_>, tx: &Tx<'_>, query: &IssueQuery) -> Result<Self> {
        for term in &query.terms {
            let any = term.any.iter().map(|predicate| self.predicate(cx, tx, predicate)).collect::<Result<Vec<_>>>()?;
            let any = any.join(" OR ");
            self.conditions.push(if term.is_negated { format!("({any}) IS NOT TRUE") } else { format!("({any})") });
        }
        Ok(self)
    }

    /// Keeps what has a text in its title or description.
    pub(crate) fn containing(mut self, text: &str) -> Self {
        let text = self.value(text::fold(text));
        self.conditions.push(format!("instr(i.search_text, {text}) > 0"));
        self
    }

    /// Adds a value and returns its placeholder.
    fn value(&mut self, value: impl Into<Param<'static>>) -> String {
        self.values.push(value.into());
        format!("?{}", self.values.len())
    }

    fn predicate(&mut self, cx: &Context<'_>, tx: &Tx<'_>, predicate: &Predicate) -> Result<String> {
        Ok(match predicate {
            Predicate::Text(text) => self.text(text)?,
            Predicate::Id(id) => {
                let id = issues::find(cx, tx, id)?.id;
                format!("i.id = {}", self.value(id.to_string()))
            }
            Predicate::Status(status) => format!("i.status = {}", self.value(*status)),
            Predicate::Type(issue_type) => format!("i.issue_type = {}", self.value(*issue_type)),
            Predicate::Priority(comparison, priority) => self.compare("priority", *comparison, *priority),
            Predicate::Assignee(name) => self.equal_or_absent("assignee", name.as_ref()),
            Predicate::Spec(stem) => self.equal_or_absent("spec", stem.as_ref()),
            Predicate::Label(None) => "i.labels IS NULL".into(),
            Predicate::Label(Some(label)) => self.member("labels", "[", &json::to_line(label)?),
            Predicate::Field(name, None) => {
                let name = self.member("fields", "{", &format!("{}:", json::to_line(name)?));
                format!("({name}) IS NOT TRUE")
            }
            Predicate::Field(name, Some(value)) => {
                let member = format!("{}:{}", json::to_line(name)?, json::to_line(value)?);
                self.member("fields", "{", &member)
            }
            Predicate::Parent(parent) => self.below(cx, tx, parent.as_ref())?,
            Predicate::Ref(target) => self.referring(tx, target.as_deref())?,
            Predicate::Day(field, comparison, day) => {
                let column = match field {
                    DayField::Due => "due",
                    DayField::Defer => "defer",
                };
                match day {
                    Some(day) => self.compare(column, *comparison, day.to_string()),
                    None => format!("i.{column} IS NULL"),
                }
            }
            Predicate::Time(field, comparison, at) => {
                let column = match field {
                    TimeField::Created => "created_at",
                    TimeField::Updated => "updated_at",
                    TimeField::Closed => "closed_at",
                };
                if *comparison == Comparison::Equal {
                    // On that day.
                    let (start, end) = (self.value(*at), self.value(at.plus(Span::from_millis(24 * 60 * 60 * 1000))));
                    return Ok(format!("(i.{column} >= {start} AND i.{column} < {end})"));
                }
                self.compare(column, *comparison, *at)
            }
            Predicate::Estimate(_, None) => "i.estimate_ms IS NULL".into(),
            Predicate::Estimate(comparison, Some(span)) => self.compare("estimate_ms", *comparison, span.as_millis()),
            Predicate::Is(state) => self.state(*state, Date::of(cx.now)),
        })
    }

    fn compare(&mut self, column: &str, comparison: Comparison, value: impl Into<Param<'static>>) -> String {
        format!("i.{column} {} {}", comparison.as_str(), self.value(value))
    }

    fn equal_or_absent(&mut self, column: &str, value: Option<&String>) -> String {
        match value {
            Some(value) => self.compare(column, Comparison::Equal, value.clone()),
            None => format!("i.{column} IS NULL"),
        }
    }

    /// Whether a JSON list or object has a member that begins with this text. Within strings quotes are escaped, so the
    /// text is found at the beginning of a member only.
    fn member(&mut self, column: &str, open: &str, text: &str) -> String {
        let (first, later) = (self.value(format!("{open}{text}")), self.value(format!(",{text}")));
        format!("(instr(i.{column}, {first}) > 0 OR instr(i.{column}, {later}) > 0)")
    }

    /// Whether a folded text is in the title, the description, a label or a comment.
    fn text(&mut self, text: &str) -> Result<String> {
        let in_json = json::to_line(text)?;
        let (text, label) = (self.value(text.to_owned()), self.value(in_json.trim_matches('"').to_owned()));
        Ok(format!(
            "instr(i.search_text, {text}) > 0 OR instr(lower(i.labels), {label}) > 0
             OR EXISTS (SELECT 1 FROM comments c WHERE c.issue_id = i.id AND instr(c.search_text, {text}) > 0)"
        ))
    }

    fn below(&mut self, cx: &Context<'_>, tx: &Tx<'_>, parent: Option<&IssueRef>) -> Result<String> {
        let Some(parent) = parent else { return Ok("i.parent IS NULL".into()) };
        let parent = issues::find(cx, tx, parent)?.id;
        let below = issues::descendants(&self.value(parent.to_string()));
        Ok(format!("i.id IN ({below} SELECT id FROM below)"))
    }

    /// The issues with a reference to a target, or to a key in any tracker.
    fn referring(&mut self, tx: &Tx<'_>, target: Option<&str>) -> Result<String> {
        let is_meant = |known: &str| match target {
            None => true,
            Some(target) => {
                known == target || known.strip_suffix(target).is_some_and(|rest| rest.ends_with([':', '/']))
            }
        };
        let mut ids = Vec::new();
        entity::for_each_in_order::<Ref>(tx, None, &[], |reference| {
            if is_meant(&reference.target) {
                ids.push(self.value(reference.of.issue_id.to_string()));
            }
            Ok(())
        })?;
        Ok(match (ids.is_empty(), target.is_some()) {
            (true, is_wanted) => if is_wanted { "1 = 0" } else { "1 = 1" }.into(),
            (false, true) => format!("i.id IN ({})", ids.join(", ")),
            (false, false) => format!("i.id NOT IN ({})", ids.join(", ")),
        })
    }

    fn state(&mut self, state: IssueState, today: Date) -> String {
        let today = match state {
            IssueState::Overdue | IssueState::Deferred | IssueState::Ready => self.value(today.to_string()),
            IssueState::Blocked | IssueState::Epic => String::new(),
        };
        match state {
            IssueState::Ready => format!("{READY} AND (i.defer IS NULL OR i.defer <= {today})"),
            IssueState::Blocked => "i.status <> 'closed' AND i.blockers > 0".into(),
            IssueState::Overdue => format!("i.status <> 'closed' AND i.due < {today}"),
            IssueState::Deferred => format!("i.status <> 'closed' AND i.defer > {today}"),
            IssueState::Epic => "EXISTS (SELECT 1 FROM issues c WHERE c.parent = i.id)".into(),
        }
    }
}
