//! Adds up what inferences cost, from the entries of sessions.

use std::collections::{BTreeMap, HashMap};

use pensa_core::id::{AgentId, IssueId, RunId, SessionId};
use pensa_core::ops::cost::{Cost, CostGroup, CostReport, CostRow};
use pensa_core::session::prices::PRICES_DATE;
use pensa_core::session::usage::{ByModel, UsageLedger};
use pensa_core::session::{Object, Prices, Session, Spent};
use pensa_core::{Result, Timestamp};

use super::trace::agents::sessions_about;
use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::tables::{agents, entries, issues, runs, sessions};

/// Most entries that are read for what one issue has cost.
const MAX_ISSUE_ENTRIES: usize = 100_000;
/// Most runs of an issue.
const MAX_ISSUE_RUNS: u32 = 10_000;

type Ledger = UsageLedger<Option<String>>;

impl Execute for Cost {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<CostReport> {
        let by = self.by.unwrap_or(CostGroup::Model);
        let since = self.since.map(|since| since.as_of(cx.now));
        let mut ledger = Ledger::default();
        match &self.issue {
            Some(issue) => {
                let issue = issues::find(cx, tx, issue)?;
                let sessions = sessions_of(tx, &issue.id)?;
                let groups = SessionGroups::of(tx, by, &sessions)?;
                for session in &sessions {
                    entries::for_each_cost_at(tx, &session.id, usize::MAX, |at, data| {
                        if since.is_none_or(|since| at >= since) {
                            groups.add(&mut ledger, &session.id, at, data);
                        }
                    })?;
                }
            }
            None => {
                let groups = SessionGroups::of(tx, by, &sessions::list(tx, None, None)?)?;
                entries::for_each_cost_since(tx, since, |session, at, data| {
                    groups.add(&mut ledger, session, at, data);
                })?;
            }
        }
        report(tx, by, ledger)
    }
}

fn report(tx: &Tx<'_>, by: CostGroup, ledger: Ledger) -> Result<CostReport> {
    let prices = Prices::default();
    let (mut rows, mut all) = (Vec::new(), BTreeMap::new());
    for (key, models) in ledger.finish() {
        for (model, usage) in &models {
            all.entry(model.clone()).or_insert_with(Vec::new).push(*usage);
        }
        let title = key.as_deref().map(|key| title(tx, by, key)).transpose()?.flatten();
        rows.push(CostRow { key, title, spent: Spent::new(models, &prices) });
    }
    if by != CostGroup::Day {
        let weight = |row: &CostRow| (row.spent.cost_usd.unwrap_or_default(), row.spent.input + row.spent.output);
        rows.sort_by(|a, b| weight(b).partial_cmp(&weight(a)).unwrap_or(std::cmp::Ordering::Equal));
    }
    let total = all.into_iter().map(|(model, usages)| (model, usages.into_iter().sum())).collect();
    let total = Spent::new(total, &prices);
    let unpriced = total.unpriced(&prices).map(str::to_owned).collect();
    Ok(CostReport { by, rows, total, unpriced, prices_of: PRICES_DATE.to_owned() })
}

/// What a group is called.
fn title(tx: &Tx<'_>, by: CostGroup, key: &str) -> Result<Option<String>> {
    Ok(match by {
        CostGroup::Issue => issues::get(tx, &key.parse()?)?.map(|issue| issue.title),
        CostGroup::Agent => agents::get(tx, &key.parse()?)?.and_then(|agent| agent.name),
        CostGroup::Run | CostGroup::Session | CostGroup::Model | CostGroup::Day => None,
    })
}

/// The group of each session.
struct SessionGroups {
    by: CostGroup,
    of: HashMap<SessionId, Option<String>>,
}

impl SessionGroups {
    fn of(tx: &Tx<'_>, by: CostGroup, all: &[Session]) -> Result<Self> {
        let (mut by_session, mut issue_of): (HashMap<SessionId, RunId>, HashMap<RunId, IssueId>) = Default::default();
        if matches!(by, CostGroup::Run | CostGroup::Issue) {
            for run in runs::list(tx, Vec::new(), None)? {
                issue_of.extend(run.issue_id.map(|issue| (run.id.clone(), issue)));
                by_session.extend(run.session_id.map(|session| (session, run.id)));
            }
        }
        let run = |session: &Session| session.run_id.clone().or_else(|| by_session.get(&session.id).cloned());
        let group = |session: &Session| match by {
            CostGroup::Issue => {
                let issue = session.issue_id.clone().or_else(|| issue_of.get(&run(session)?).cloned());
                issue.map(|issue| issue.to_string())
            }
            CostGroup::Agent => Some(AgentId::to_string(&session.agent_id)),
            CostGroup::Run => run(session).map(|run| run.to_string()),
            CostGroup::Session => Some(session.id.to_string()),
            CostGroup::Model | CostGroup::Day => None,
        };
        Ok(Self { by, of: all.iter().map(|session| (session.id.clone(), group(session))).collect() })
    }

    fn add(&self, ledger: &mut Ledger, session: &SessionId, at: Timestamp, data: &Object) {
        let group = |model: &str| match self.by {
            CostGroup::Model => Some(model.to_owned()),
            CostGroup::Day => Some(at.to_string().chars().take(DAY_CHARS).collect()),
            _ => self.of.get(session).cloned().flatten(),
        };
        ledger.add(group, data);
    }
}

/// The characters of a day: `2026-02-27`.
const DAY_CHARS: usize = 10;

/// The sessions about an issue, and those of its runs.
fn sessions_of(tx: &Tx<'_>, issue: &IssueId) -> Result<Vec<Session>> {
    let runs = runs::list(tx, vec![("issue_id", issue.to_string())], Some(MAX_ISSUE_RUNS))?;
    let ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    let named: Vec<String> = runs.iter().filter_map(|run| run.session_id.as_ref()).map(ToString::to_string).collect();
    sessions_about(tx, issue, &ids, &named)
}

/// What the sessions about an issue have cost, if there are any.
pub(super) fn spent_on(tx: &Tx<'_>, issue: &IssueId) -> Result<Option<Spent>> {
    let (mut models, mut remaining) = (ByModel::default(), MAX_ISSUE_ENTRIES);
    for session in sessions_of(tx, issue)? {
        remaining -= entries::for_each_cost(tx, &session.id, remaining, |data| models.add(data))?;
    }
    Ok(Some(Spent::new(models.finish(), &Prices::default())).filter(|spent| !spent.is_nothing()))
}
