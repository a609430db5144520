"""The JSON of the API: what operations are asked, and what they answer.

Generated from the OpenAPI document by generate.py. Do not edit.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class Error(TypedDict):
    """What went wrong, and what to do about it. Its JSON is the same on every interface."""

    error: str
    code: Code
    hint: NotRequired[str | None]


class Created(TypedDict):
    """A new issue, and the open ones it may repeat."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    description: NotRequired[str | None]
    issue_type: Literal["bug", "task", "test", "chore"]
    """What kind of issue it is; never changes."""
    status: Literal["open", "in_progress", "closed"]
    """Where an issue stands."""
    priority: Literal["p0", "p1", "p2", "p3"]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""
    spec: NotRequired[str | None]
    """The stem of the spec this implements: `auth` for `specs/auth.md`"""
    fixes: NotRequired[str | None]
    """The bug that is closed together with this"""
    parent: NotRequired[str | None]
    """The issue that this is a part of"""
    labels: NotRequired[list[str]]
    due: NotRequired[str | None]
    """The day by which it should be closed"""
    defer: NotRequired[str | None]
    """The day before which nobody should start"""
    estimate: NotRequired[str | None]
    """How much work it is"""
    acceptance: NotRequired[list[Criterion]]
    """What the result must meet"""
    links: NotRequired[list[Link]]
    """Links to other issues"""
    fields: NotRequired[dict[str, str]]
    """Custom fields, as the project's settings declare them"""
    assignee: NotRequired[str | None]
    lease_expires_at: NotRequired[str | None]
    """When the claim ends by itself; absent for a claim that does not"""
    claim_session: NotRequired[str | None]
    """The session, or the run, that claimed it; only it may renew, release or close without force"""
    claim_host: NotRequired[str | None]
    """The machine from which it was claimed"""
    created_at: str
    updated_at: str
    closed_at: NotRequired[str | None]
    close_reason: NotRequired[str | None]
    similar: list[Similar]


class Criterion(TypedDict):
    """A condition that the result must meet."""

    text: str
    done: NotRequired[bool]


class Link(TypedDict):
    """A link to another issue."""

    kind: Literal["relates", "duplicates", "supersedes", "discovered-from"]
    """How one issue relates to another."""
    to: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""


class Similar(TypedDict):
    """An open issue whose title is nearly that of a new one."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str


class Updated(TypedDict):
    """A changed issue."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    description: NotRequired[str | None]
    issue_type: Literal["bug", "task", "test", "chore"]
    """What kind of issue it is; never changes."""
    status: Literal["open", "in_progress", "closed"]
    """Where an issue stands."""
    priority: Literal["p0", "p1", "p2", "p3"]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""
    spec: NotRequired[str | None]
    """The stem of the spec this implements: `auth` for `specs/auth.md`"""
    fixes: NotRequired[str | None]
    """The bug that is closed together with this"""
    parent: NotRequired[str | None]
    """The issue that this is a part of"""
    labels: NotRequired[list[str]]
    due: NotRequired[str | None]
    """The day by which it should be closed"""
    defer: NotRequired[str | None]
    """The day before which nobody should start"""
    estimate: NotRequired[str | None]
    """How much work it is"""
    acceptance: NotRequired[list[Criterion]]
    """What the result must meet"""
    links: NotRequired[list[Link]]
    """Links to other issues"""
    fields: NotRequired[dict[str, str]]
    """Custom fields, as the project's settings declare them"""
    assignee: NotRequired[str | None]
    lease_expires_at: NotRequired[str | None]
    """When the claim ends by itself; absent for a claim that does not"""
    claim_session: NotRequired[str | None]
    """The session, or the run, that claimed it; only it may renew, release or close without force"""
    claim_host: NotRequired[str | None]
    """The machine from which it was claimed"""
    created_at: str
    updated_at: str
    closed_at: NotRequired[str | None]
    close_reason: NotRequired[str | None]
    was_assigned_to: NotRequired[str | None]
    """Who was to do it before it was claimed by somebody else"""
    conflicts: NotRequired[list[str]]
    """Fields that somebody else had changed since their editor read them; pn conflicts shows both values"""


class Issue(TypedDict):
    """A planned unit of work or a problem report."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    description: NotRequired[str | None]
    issue_type: Literal["bug", "task", "test", "chore"]
    """What kind of issue it is; never changes."""
    status: Literal["open", "in_progress", "closed"]
    """Where an issue stands."""
    priority: Literal["p0", "p1", "p2", "p3"]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""
    spec: NotRequired[str | None]
    """The stem of the spec this implements: `auth` for `specs/auth.md`"""
    fixes: NotRequired[str | None]
    """The bug that is closed together with this"""
    parent: NotRequired[str | None]
    """The issue that this is a part of"""
    labels: NotRequired[list[str]]
    due: NotRequired[str | None]
    """The day by which it should be closed"""
    defer: NotRequired[str | None]
    """The day before which nobody should start"""
    estimate: NotRequired[str | None]
    """How much work it is"""
    acceptance: NotRequired[list[Criterion]]
    """What the result must meet"""
    links: NotRequired[list[Link]]
    """Links to other issues"""
    fields: NotRequired[dict[str, str]]
    """Custom fields, as the project's settings declare them"""
    assignee: NotRequired[str | None]
    lease_expires_at: NotRequired[str | None]
    """When the claim ends by itself; absent for a claim that does not"""
    claim_session: NotRequired[str | None]
    """The session, or the run, that claimed it; only it may renew, release or close without force"""
    claim_host: NotRequired[str | None]
    """The machine from which it was claimed"""
    created_at: str
    updated_at: str
    closed_at: NotRequired[str | None]
    close_reason: NotRequired[str | None]


class Deleted(TypedDict):
    """What was deleted."""

    status: str
    """Always `deleted`"""
    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""


class IssueDetail(TypedDict):
    """An issue with what it depends on and what was said about it."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    description: NotRequired[str | None]
    issue_type: Literal["bug", "task", "test", "chore"]
    """What kind of issue it is; never changes."""
    status: Literal["open", "in_progress", "closed"]
    """Where an issue stands."""
    priority: Literal["p0", "p1", "p2", "p3"]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""
    spec: NotRequired[str | None]
    """The stem of the spec this implements: `auth` for `specs/auth.md`"""
    fixes: NotRequired[str | None]
    """The bug that is closed together with this"""
    parent: NotRequired[str | None]
    """The issue that this is a part of"""
    labels: NotRequired[list[str]]
    due: NotRequired[str | None]
    """The day by which it should be closed"""
    defer: NotRequired[str | None]
    """The day before which nobody should start"""
    estimate: NotRequired[str | None]
    """How much work it is"""
    acceptance: NotRequired[list[Criterion]]
    """What the result must meet"""
    links: NotRequired[list[Link]]
    """Links to other issues"""
    fields: NotRequired[dict[str, str]]
    """Custom fields, as the project's settings declare them"""
    assignee: NotRequired[str | None]
    lease_expires_at: NotRequired[str | None]
    """When the claim ends by itself; absent for a claim that does not"""
    claim_session: NotRequired[str | None]
    """The session, or the run, that claimed it; only it may renew, release or close without force"""
    claim_host: NotRequired[str | None]
    """The machine from which it was claimed"""
    created_at: str
    updated_at: str
    closed_at: NotRequired[str | None]
    close_reason: NotRequired[str | None]
    deps: list[Issue]
    comments: list[Comment]
    blocks: NotRequired[list[Issue]]
    """The issues that wait for it"""
    fixed_by: NotRequired[list[Issue]]
    """The tasks whose closing closes this bug"""
    children: NotRequired[list[Issue]]
    """The issues that are parts of it"""
    progress: NotRequired[IssueProgress | None]
    """How much of what is below it is done"""
    linked_by: NotRequired[list[LinkedIssue]]
    """Links of other issues to it"""
    spent: NotRequired[Spent | None]
    """What the sessions about it and those of its runs used and cost"""


class Comment(TypedDict):
    """What an actor observed about an issue."""

    id: str
    """The id of a comment; the same form as an issue's."""
    issue_id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    actor: str
    text: str
    created_at: str


class IssueProgress(TypedDict):
    """The issues without children below an issue."""

    closed: int
    total: int


class LinkedIssue(TypedDict):
    """The other end of a link."""

    kind: Literal["relates", "duplicates", "supersedes", "discovered-from"]
    """How one issue relates to another."""
    incoming: NotRequired[bool]
    """Whether the other issue has the link"""
    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: NotRequired[str | None]
    """Absent if there is no such issue"""
    status: NotRequired[Literal["open", "in_progress", "closed", None]]
    """Where an issue stands."""


class Spent(TypedDict):
    """What inferences used and cost."""

    input: int
    output: int
    cache_read: int
    """Read from the provider's cache"""
    cache_write: int
    """Written to the provider's cache"""
    cost_usd: NotRequired[float | None]
    """In dollars, if all models have a price"""
    models: NotRequired[dict[str, ModelUsage]]
    """By model, as the entries tell it; `unknown` where they name none"""


class ModelUsage(TypedDict):
    """The usage of one model."""

    input: int
    output: int
    cache_read: int
    """Read from the provider's cache"""
    cache_write: int
    """Written to the provider's cache"""
    total: int
    reported_usd: NotRequired[float | None]
    """What it cost in dollars, as far as its entries say"""
    unreported: NotRequired[Tokens | None]
    """The tokens of entries that do not say what they cost, if others do"""


class Tokens(TypedDict):
    """Tokens of one inference, or of many."""

    input: int
    output: int
    cache_read: int
    """Read from the provider's cache"""
    cache_write: int
    """Written to the provider's cache"""
    total: int


class CountedCase1(TypedDict):
    """Those that are not closed"""

    count: int


class CountedCase2(TypedDict):
    """All, by the groups asked for"""

    total: int
    groups: list[Group]


Counted = CountedCase1 | CountedCase2


class Group(TypedDict):
    """One group; it has the keys that were asked for."""

    status: NotRequired[Literal["open", "in_progress", "closed", None]]
    """Where an issue stands."""
    priority: NotRequired[Literal["p0", "p1", "p2", "p3", None]]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""
    issue_type: NotRequired[Literal["bug", "task", "test", "chore"] | None]
    assignee: NotRequired[str | None]
    """Empty for those without one"""
    count: int


class Event(TypedDict):
    """One line of an issue's history."""

    id: int
    """The store's sequence number"""
    issue_id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    event_type: str
    actor: str
    detail: dict[str, Any]
    """What changed, each field as `{"old":…,"new":…}`"""
    created_at: str


class Assignment(TypedDict):
    """A claimed issue with what is known about it."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    description: NotRequired[str | None]
    issue_type: Literal["bug", "task", "test", "chore"]
    """What kind of issue it is; never changes."""
    status: Literal["open", "in_progress", "closed"]
    """Where an issue stands."""
    priority: Literal["p0", "p1", "p2", "p3"]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""
    spec: NotRequired[str | None]
    """The stem of the spec this implements: `auth` for `specs/auth.md`"""
    fixes: NotRequired[str | None]
    """The bug that is closed together with this"""
    parent: NotRequired[str | None]
    """The issue that this is a part of"""
    labels: NotRequired[list[str]]
    due: NotRequired[str | None]
    """The day by which it should be closed"""
    defer: NotRequired[str | None]
    """The day before which nobody should start"""
    estimate: NotRequired[str | None]
    """How much work it is"""
    acceptance: NotRequired[list[Criterion]]
    """What the result must meet"""
    links: NotRequired[list[Link]]
    """Links to other issues"""
    fields: NotRequired[dict[str, str]]
    """Custom fields, as the project's settings declare them"""
    assignee: NotRequired[str | None]
    lease_expires_at: NotRequired[str | None]
    """When the claim ends by itself; absent for a claim that does not"""
    claim_session: NotRequired[str | None]
    """The session, or the run, that claimed it; only it may renew, release or close without force"""
    claim_host: NotRequired[str | None]
    """The machine from which it was claimed"""
    created_at: str
    updated_at: str
    closed_at: NotRequired[str | None]
    close_reason: NotRequired[str | None]
    deps: list[Issue]
    comments: list[Comment]
    blocks: NotRequired[list[Issue]]
    """The issues that wait for it"""
    fixed_by: NotRequired[list[Issue]]
    """The tasks whose closing closes this bug"""
    children: NotRequired[list[Issue]]
    """The issues that are parts of it"""
    progress: NotRequired[IssueProgress | None]
    """How much of what is below it is done"""
    linked_by: NotRequired[list[LinkedIssue]]
    """Links of other issues to it"""
    spent: NotRequired[Spent | None]
    """What the sessions about it and those of its runs used and cost"""
    parent_issue: NotRequired[Issue | None]
    """The issue that it is a part of"""
    learnings: NotRequired[list[Learning]]
    """What was learned about it before"""
    files: NotRequired[list[str]]
    """The files that those learnings name"""


class Learning(TypedDict):
    """A finding with its source."""

    id: str
    """The id of a learning, such as `ln-a1b2c3d4`."""
    kind: Literal["pattern", "approach", "decision", "gotcha"]
    """The kind of a learning."""
    text: str
    tags: NotRequired[list[str]]
    files: NotRequired[list[str]]
    """The files it is about"""
    issue_id: NotRequired[str | None]
    """The issue it came from"""
    work: NotRequired[str | None]
    """The work it came from, by its issue"""
    session_id: NotRequired[str | None]
    """The session it came from"""
    impact: NotRequired[Literal["high", "medium", "low"]]
    """How much it matters."""
    expires_at: NotRequired[str | None]
    """When it expires"""
    supersedes: NotRequired[str | None]
    """The learning that it replaces"""
    revision: NotRequired[int]
    """How often it was remembered: 1, and one more for each merged duplicate"""
    value: NotRequired[Worth | None]
    """The value of the work it came from"""
    linear_id: NotRequired[str | None]
    """The issue of another tracker"""
    actor: str
    created_at: str
    updated_at: str
    verified_at: NotRequired[str | None]
    """When it was last confirmed as valid"""
    sources: NotRequired[list[MergedSource]]
    """Where the duplicates that were merged into it came from"""
    derived_from: NotRequired[list[str]]
    """The learnings that its text cites"""
    useful: NotRequired[list[LearningUse]]
    """Whom it helped, and when; at most once a day for each"""
    former_files: NotRequired[list[str]]
    """Former names of its files"""
    agrees_with: NotRequired[list[str]]
    """Learnings that seem to contradict it, and do not"""


class Worth(TypedDict):
    """The value of work, as its author rated it."""

    type: NotRequired[str | None]
    """`feature`, `bugfix`, `performance`, `dx`, `refactor`, `infrastructure`, or another"""
    description: NotRequired[str | None]


class MergedSource(TypedDict):
    """Where a duplicate that was merged into a learning came from."""

    at: str
    """When it was remembered"""
    actor: str
    issue_id: NotRequired[str | None]
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    work: NotRequired[str | None]
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    session_id: NotRequired[str | None]
    """The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form."""
    learning: NotRequired[str | None]
    """The learning that it was, if it had been stored"""


class LearningUse(TypedDict):
    """That a learning was of use."""

    at: str
    actor: str


class LabelCount(TypedDict):
    """A label in use."""

    label: str
    count: int
    """How many issues have it"""
    open: int
    """How many of them are not closed"""


class LabelRenamed(TypedDict):
    """A renamed label."""

    status: str
    """Always `renamed`"""
    old: str
    new: str
    changed: int
    """How many issues changed"""


class LinkChange(TypedDict):
    """What happened to the links of two issues."""

    status: str
    """`added` or `removed`"""
    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    to: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    kinds: list[Literal["relates", "duplicates", "supersedes", "discovered-from"]]


class View(TypedDict):
    """A query with a name. Listings take `@NAME` in place of it."""

    name: str
    query: str
    updated_at: str


class Trace(TypedDict):
    """The whole history of one issue."""

    issue: Issue
    entries: list[Moment]
    """What happened, oldest first"""
    left_out: int
    """How many earlier entries are left out by the limit"""
    totals: Totals
    notes: list[str]
    """What is missing from the trace, and why"""


class Moment(TypedDict):
    """One thing that happened."""

    at: str
    kind: Literal["issue", "comment", "work", "run", "session", "loop", "signal", "job", "snapshot", "commit", "learning", "release"]
    """What an entry is about."""
    event: str
    """What happened to it: `created`, `claimed`, `started` and so on"""
    id: NotRequired[str | None]
    """The id of its subject, if that is not the issue"""
    actor: NotRequired[str | None]
    text: NotRequired[str]
    """A short description"""
    duration_ms: NotRequired[int | None]
    """Its duration in milliseconds, if this is its end"""
    failed: NotRequired[bool]
    """Whether it failed"""


class Totals(TypedDict):
    """Totals of the history of an issue."""

    age_ms: int
    """From its creation until it was closed, or until now, in milliseconds"""
    claims: list[Claim]
    """Who held it, and for how long"""
    claimed_ms: int
    """How long it was held altogether, in milliseconds"""
    steps: int
    steps_done: int
    comments: int
    runs: Count
    jobs: Count
    loops: Count
    signals: int
    snapshots: int
    sessions: list[SessionCost]
    tokens: Tokens
    models: NotRequired[dict[str, ModelUsage]]
    """The tokens by model"""
    cost_usd: NotRequired[float | None]
    """In dollars, if all models have a price, or the entries record it"""
    commits: int
    learnings: int
    releases: int


class Count(TypedDict):
    """Entries of one kind: how many, how many failed, and how long they took together."""

    count: int
    failed: int
    duration_ms: int
    """In milliseconds"""


class SessionCost(TypedDict):
    """The cost of a session."""

    id: str
    """The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form."""
    agent_id: str
    """The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form."""
    entries: int
    tokens: Tokens
    cost_usd: NotRequired[float | None]
    """In dollars, if its entries record it, or all its models have a price"""


class CostReport(TypedDict):
    """What was spent, in groups."""

    by: Literal["issue", "agent", "run", "session", "model", "day"]
    """What costs are grouped by."""
    rows: list[CostRow]
    total: Spent
    unpriced: list[str]
    """Models without a price"""
    prices_of: str
    """The day of the list prices"""


class CostRow(TypedDict):
    """What a group spent."""

    key: NotRequired[str | None]
    """The id, model or day; absent for what belongs to none"""
    title: NotRequired[str | None]
    """What it is called, if it has a name"""
    input: int
    output: int
    cache_read: int
    """Read from the provider's cache"""
    cache_write: int
    """Written to the provider's cache"""
    cost_usd: NotRequired[float | None]
    """In dollars, if all models have a price"""
    models: NotRequired[dict[str, ModelUsage]]
    """By model, as the entries tell it; `unknown` where they name none"""


class Insights(TypedDict):
    """What matters in the graph of issues that are not closed, with figures."""

    issues: int
    """Issues that are not closed"""
    waits: int
    """Edges between them, from a waiting issue to the one it waits for"""
    stuck: int
    """Issues in or behind a cycle, which can never be ready; `pn dep cycles` shows it"""
    approximate: bool
    """Whether the scores of bottlenecks are an estimate"""
    sources: NotRequired[int | None]
    """The number of issues from which chains were followed for that; absent if all"""
    bottlenecks: list[Ranked]
    """Issues on the most of the shortest chains between others, by betweenness"""
    keystones: list[Ranked]
    """Issues on which the most depends, by PageRank"""
    critical_path: Chain
    """The longest chain, and the issues that are nearly on it"""
    articulation_points: list[Ranked]
    """Issues whose removal splits their part of the graph, by their number of neighbours"""
    articulation_count: int
    """How many there are of these"""
    stale_claims: list[StaleClaim]
    """Claims without a change for long, the longest first"""
    blocked_cascades: list[Cascade]
    """Ready issues that hold up the most"""
    priority_conflicts: list[PriorityConflict]
    """Issues less urgent than one that waits for them"""
    priority_conflict_count: int
    """How many there are of these"""


class Ranked(TypedDict):
    """An issue with its score and the figures behind it."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    status: Literal["open", "in_progress", "closed"]
    """Where an issue stands."""
    priority: Literal["p0", "p1", "p2", "p3"]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""
    score: float
    waits_for: int
    """How many issues it waits for, directly"""
    blocks: int
    """How many issues wait for it, directly"""
    behind: int
    """How many issues wait for it, directly or indirectly"""
    frees: int
    """How many issues become ready once it and then each issue it unblocks is closed"""


class Chain(TypedDict):
    """The longest chain of issues that wait for each other."""

    unit: Literal["issues", "seconds"]
    """The unit of length and slack: issues, or seconds of estimates if all issues of the longest chain have one"""
    length: int
    issues: list[ChainStep]
    """Its issues, the first to be done first"""
    slack: list[ChainStep]
    """Other issues, by slack"""


class ChainStep(TypedDict):
    """An issue and the chains through it."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    status: Literal["open", "in_progress", "closed"]
    """Where an issue stands."""
    priority: Literal["p0", "p1", "p2", "p3"]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""
    slack: int
    """Slack: how much longer its chains could be without exceeding the longest one"""
    length: int
    """Its own share of the length"""


class StaleClaim(TypedDict):
    """A claim without a change for long."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    status: Literal["open", "in_progress", "closed"]
    """Where an issue stands."""
    priority: Literal["p0", "p1", "p2", "p3"]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""
    assignee: NotRequired[str | None]
    updated_at: str
    """When it last changed"""
    idle_hours: int
    """Whole hours since then"""
    behind: int
    """How many issues wait for it, directly or indirectly"""


class Cascade(TypedDict):
    """A ready issue, and what it holds up."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    status: Literal["open", "in_progress", "closed"]
    """Where an issue stands."""
    priority: Literal["p0", "p1", "p2", "p3"]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""
    assignee: NotRequired[str | None]
    blocks: int
    """How many issues wait for it, directly"""
    behind: int
    """How many issues wait for it, directly or indirectly"""
    frees: int
    """How many issues become ready once it and then each issue it unblocks is closed"""
    depth: int
    """Issues in the longest chain that waits for it"""


class PriorityConflict(TypedDict):
    """An issue that is less urgent than one that waits for it."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    status: Literal["open", "in_progress", "closed"]
    """Where an issue stands."""
    priority: Literal["p0", "p1", "p2", "p3"]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""
    should_be: Literal["p0", "p1", "p2", "p3"]
    """The priority of the most urgent issue that waits for it"""
    because_of: IssueBrief
    """That issue"""
    behind: int
    """How many issues wait for it, directly or indirectly"""


class IssueBrief(TypedDict):
    """An issue as answers name it."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    status: Literal["open", "in_progress", "closed"]
    """Where an issue stands."""
    priority: Literal["p0", "p1", "p2", "p3"]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""


class Plan(TypedDict):
    """A plan to work on all issues that are not closed, in parallel."""

    issues: int
    """Issues that are not closed"""
    agents: NotRequired[int | None]
    """The number of agents, if given"""
    stuck: int
    """Issues in or behind a cycle, which are last in their track"""
    start: list[StartIssue]
    """The ready issues to start now, by how many others they make ready"""
    tracks: list[Track]
    """Each issue is in one track. Each agent has one track; without agents, tracks do not wait for each other"""
    longest_chain: Chain
    """The longest chain, which cannot be done in parallel"""
    forecast: NotRequired[Forecast | None]
    """When all issues may be closed; absent if too few were closed so far"""


class StartIssue(TypedDict):
    """An issue to start now."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    status: Literal["open", "in_progress", "closed"]
    """Where an issue stands."""
    priority: Literal["p0", "p1", "p2", "p3"]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""
    track: int
    """The number of its track"""
    frees: int
    """How many issues become ready once it and then each issue it unblocks is closed"""
    depth: int
    """Issues in the longest chain that waits for it"""


class Track(TypedDict):
    """Issues to do one after the other, or independently of other tracks."""

    track: int
    """From 1"""
    issues: list[TrackIssue]
    """In an order that respects dependencies"""
    depth: int
    """The length of its longest chain, in issues"""


class TrackIssue(TypedDict):
    """An issue in a track."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    status: Literal["open", "in_progress", "closed"]
    """Where an issue stands."""
    priority: Literal["p0", "p1", "p2", "p3"]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""
    after: NotRequired[list[str]]
    """The issues it waits for"""


class Forecast(TypedDict):
    """When all issues may be closed, at the observed daily rate and without new issues."""

    date: str
    """The median: an earlier and a later date are equally likely"""
    earliest: str
    """The 10th percentile: one outcome in ten is earlier"""
    latest: str
    """The 90th percentile: one outcome in ten is later"""
    left: int
    """Issues that are not closed"""
    closed: int
    """Issues closed within the observed days"""
    days: int
    """The number of observed days"""
    per_day: float
    """Average number of issues closed per day"""
    deviation: float
    """The standard deviation of that number"""


class Why(TypedDict):
    """Why an issue is ready or not, and why it is ranked as it is."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    status: Literal["open", "in_progress", "closed"]
    """Where an issue stands."""
    priority: Literal["p0", "p1", "p2", "p3"]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""
    assignee: NotRequired[str | None]
    state: Literal["closed", "ready", "blocked", "in_progress", "deferred", "report"]
    """Whether an issue can be worked on."""
    defer: NotRequired[str | None]
    """Until when it is deferred"""
    waits_for: list[Held]
    """The issues it waits for directly that are not closed"""
    begin_with: list[Held]
    """Where to start: the issues it waits for, directly or indirectly, that wait for nothing"""
    rank: NotRequired[Ranking | None]
    """Its figures; absent if it is closed"""


class Held(TypedDict):
    """An issue that another waits for."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    status: Literal["open", "in_progress", "closed"]
    """Where an issue stands."""
    priority: Literal["p0", "p1", "p2", "p3"]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""
    assignee: NotRequired[str | None]


class Ranking(TypedDict):
    """The ranks of an issue among those that are not closed, from 1."""

    issues: int
    """How many issues are not closed"""
    ready: int
    """How many are ready"""
    by_priority: NotRequired[int | None]
    """Its position in `pn ready`, by priority and then age; absent unless it is ready"""
    by_impact: NotRequired[int | None]
    """Its position in `pn ready --sort impact`"""
    ahead: NotRequired[IssueBrief | None]
    """The issue before it in `pn ready`"""
    blocks: int
    """How many issues wait for it, directly"""
    behind: int
    """How many issues wait for it, directly or indirectly"""
    frees: int
    """How many issues become ready once it and then each issue it unblocks is closed"""
    depth: int
    """Issues in the longest chain that waits for it"""
    page_rank: float
    page_rank_place: int
    betweenness: float
    betweenness_place: int
    approximate: bool
    """Whether betweenness is an estimate"""
    slack: NotRequired[int | None]
    """Slack: how much longer its chains could be without exceeding the longest one; absent if unknown"""
    unit: Literal["issues", "seconds"]
    """The unit of slack"""
    more_urgent: NotRequired[IssueBrief | None]
    """The most urgent issue that waits for it, if it is more urgent"""


class Impact(TypedDict):
    """The effect of closing an issue."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    status: Literal["open", "in_progress", "closed"]
    """Where an issue stands."""
    priority: Literal["p0", "p1", "p2", "p3"]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""
    frees: int
    """How many issues become ready once it and then each issue it unblocks is closed"""
    behind: int
    """How many issues wait for it, directly or indirectly"""
    waves: list[Wave]
    """The issues that wait for nothing once it is closed, then once those are closed, and so on"""
    still_blocked: list[StillBlocked]
    """The issues that wait for it or for an issue it unblocks, and for others too"""


class Wave(TypedDict):
    """Issues that become ready at the same time."""

    wave: int
    """From 1"""
    issues: list[IssueBrief]


class StillBlocked(TypedDict):
    """An issue that waits for others too."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    status: Literal["open", "in_progress", "closed"]
    """Where an issue stands."""
    priority: Literal["p0", "p1", "p2", "p3"]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""
    waits_for: list[IssueBrief]
    """What else it waits for"""


class Diff(TypedDict):
    """What changed between two times."""

    since: str
    until: str
    created: list[ChangedIssue]
    closed: list[ChangedIssue]
    reopened: list[ChangedIssue]
    deleted: list[ChangedIssue]
    changed: list[ChangedIssue]
    """Issues whose fields differ"""


class ChangedIssue(TypedDict):
    """A changed issue."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: NotRequired[str | None]
    """Its title now, or at its deletion"""
    actor: str
    """The actor of the last change"""
    at: str
    """The time of the last change"""
    fields: NotRequired[dict[str, Any]]
    """Fields that differ, each as `{"old":…,"new":…}`"""
    waits_for: NotRequired[list[str]]
    """Dependencies that were added"""
    no_longer_waits_for: NotRequired[list[str]]
    """Dependencies that were removed"""
    comments: NotRequired[int]
    """The number of new comments"""


class Network(TypedDict):
    """Issues and what waits for what, to be drawn."""

    issues: list[IssueBrief]
    """In the order in which work is taken"""
    waits: list[Wait]
    """Pairs of an issue that waits and what it waits for"""
    left_out: int
    """How many issues are left out, because there are too many"""


class Wait(TypedDict):
    """An issue that waits for another."""

    issue_id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    depends_on_id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""


class Chart(TypedDict):
    """Figures to draw: one entry for each day in UTC, oldest first."""

    since: str
    until: str
    days: list[Day]
    closed: list[Cycle]
    """Issues closed in this period, in order of closing"""
    median_ms: NotRequired[int | None]
    """The median of their durations, in milliseconds"""
    p85_ms: NotRequired[int | None]
    """The 85th percentile of their durations, in milliseconds"""


class Day(TypedDict):
    """The state at the end of a day, and its events."""

    day: str
    """Such as `2026-02-27`"""
    open: int
    in_progress: int
    closed: int
    created: int
    """Issues created on this day"""
    done: int
    """Issues closed on this day"""


class Cycle(TypedDict):
    """The duration of an issue."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    started_at: str
    """When it was first claimed, or created if it never was claimed"""
    closed_at: str
    took_ms: int
    """In milliseconds"""


class Page(TypedDict):
    """A part of the log."""

    events: list[LogEntry]
    last: int
    """The last number that was searched: continue after it"""
    end: int
    """The number at the end of the log"""


class LogEntry(TypedDict):
    """One line of a store's log, whatever it is about."""

    id: int
    """The store's sequence number"""
    subject_kind: str
    """What changed: `issue`, `agent`, `run` and so on"""
    subject_id: str
    issue_id: NotRequired[str | None]
    """The issue it concerns, if any"""
    event_type: str
    actor: str
    detail: dict[str, Any]
    """What changed, each field as `{"old":…,"new":…}`"""
    created_at: str


class Summary(TypedDict):
    """How many issues there are, by status and type."""

    open: int
    in_progress: int
    closed: int
    by_type: dict[str, Tally]
    """Every type is present"""


class Tally(TypedDict):
    """How many issues have each status."""

    open: int
    in_progress: int
    closed: int


class DepChange(TypedDict):
    """A dependency that was added or removed."""

    status: str
    """`added` or `removed`"""
    issue_id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    depends_on_id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""


class TreeNode(TypedDict):
    """One line of a dependency tree, in pre-order."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    status: Literal["open", "in_progress", "closed"]
    """Where an issue stands."""
    priority: Literal["p0", "p1", "p2", "p3"]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""
    issue_type: Literal["bug", "task", "test", "chore"]
    """What kind of issue it is; never changes."""
    depth: int
    parent: NotRequired[str | None]
    """The node above; absent for the root"""
    part: NotRequired[bool]
    """True when it is a part of the node above, or that a part of it; otherwise one depends on the other"""
    repeated: NotRequired[bool]
    """True when the node stood in the tree already and is not expanded again"""


class Ref(TypedDict):
    """What an issue is called elsewhere."""

    id: str
    issue_id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    actor: str
    created_at: str
    target: str
    """An address (`https://…`), or the name of a tracker and a key in it (`linear:PRJ-123`)"""
    title: NotRequired[str | None]


class Transfer(TypedDict):
    """How many lines of each kind were exported or imported."""

    status: str
    """`ok`, or `drifted` if a check found that an export would change the files"""
    issues: int
    deps: int
    comments: int
    events: NotRequired[int | None]
    """How many events were exported or imported, if the files contain events"""
    conflicts: NotRequired[int]
    """How many conflicts were recorded; pn conflicts lists them"""
    notes: NotRequired[list[str]]
    """Anything unusual"""
    drifted: NotRequired[list[str]]
    """The files that an export would change"""


class Conflict(TypedDict):
    """A value that lost in a merge, and the value that won."""

    id: str
    """The id of a conflict between two clones."""
    collection: str
    record_id: str
    field: str
    """The field that both sides changed; `deleted` if one of them deleted the record"""
    kept: Any
    """The value in the store; null if absent"""
    other: Any
    """The value that lost"""


class Report(TypedDict):
    """The findings of a check, and the repairs."""

    findings: list[Finding]
    fixes_applied: list[str]


class Finding(TypedDict):
    """One finding of a check."""

    check: str
    severity: Literal["info", "warning", "error"]
    """How bad a finding is."""
    message: str
    issue_id: NotRequired[str | None]
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    fixable: bool


class Collected(TypedDict):
    """What was removed."""

    dry_run: bool
    until: str
    """Newer data stays"""
    removed: Removed
    more: NotRequired[bool]
    """Whether another call would remove more"""
    warnings: list[str]
    """Parts that are large, and a disk that is almost full"""


class Removed(TypedDict):
    """How much was removed, or would be removed."""

    loops: int
    loop_directories: int
    """Directories of loops that were removed earlier"""
    signals: int
    receipts: int
    job_outputs: int
    deleted_issues: NotRequired[int]
    """Deleted earlier, and now removed permanently"""
    deleted_agents: NotRequired[int]
    """With their sessions"""
    snapshots: int
    """Only those of the calling machine"""
    journal_segments: int
    bytes: int
    """The size of records and segments"""


class Taken(TypedDict):
    """The size of each part of a store and the free space on its disk, in bytes. Parts in PostgreSQL are absent."""

    database: NotRequired[int | None]
    journal: NotRequired[int | None]
    logs: NotRequired[int | None]
    backups: NotRequired[int | None]
    free: NotRequired[int | None]


class BackedUp(TypedDict):
    """A backup."""

    path: str
    """Where it is"""
    bytes: int
    event: int
    """The number of the last event in it"""


class Restored(TypedDict):
    """The result of restoring a store."""

    status: str
    """Always `restored`"""
    event: int
    """The number of the event that records the restore"""
    issues: int
    backup: str
    """The backup of the previous contents"""


class Place(TypedDict):
    """Where a store is."""

    path: str


class StoreInfo(TypedDict):
    """A served store and the version that serves it."""

    project_dir: str
    version: str
    store_id: str


class Undone(TypedDict):
    """The result of an undo."""

    event: NotRequired[int | None]
    """The number of the undo itself, for pn redo; none if nothing changed"""
    undone: list[TakenBack]
    """Newest first"""
    passed_over: NotRequired[list[Undoable]]
    """Later operations that cannot be undone, newest first"""


class TakenBack(TypedDict):
    """One event that was undone or redone."""

    event: int
    """Its number"""
    op: int
    """The number of the first event of its operation"""
    subject_kind: str
    """What it changed: `issue`, `learning`, `kv` and so on"""
    subject_id: str
    issue_id: NotRequired[str | None]
    """The same, if it is an issue"""
    event_type: str
    actor: str
    created_at: str


class Undoable(TypedDict):
    """An operation, and whether it can be undone."""

    event: int
    """The number of its first event, or of the redo that restored it: pass it to pn undo --event"""
    events: list[TakenBack]
    """Its events, oldest first"""
    refused: NotRequired[str | None]
    """Why it cannot be undone; none if it can"""
    instead: NotRequired[str | None]
    """The command that would reverse it instead, if there is one"""


class Redone(TypedDict):
    """The result of a redo."""

    event: NotRequired[int | None]
    """The number of the redo itself; none if nothing changed"""
    redone: list[TakenBack]
    """The events that are in effect again, oldest first"""


class Project(TypedDict):
    """A project of a server: a name for a store."""

    name: str
    """The name of a project on a server. It is part of URLs, so it is short and plain."""
    store_id: str
    created_at: str
    archived_at: NotRequired[str | None]


class NewToken(TypedDict):
    """A new token. Only this answer contains its secret."""

    id: str
    """The id of a token, which is not its secret."""
    token: str
    """The secret"""
    project: NotRequired[str | None]
    """Its project; none for an operator's"""
    role: Literal["viewer", "agent", "maintainer", "admin", "operator"]
    """What a token allows in one project, each role including the one before it; or, as `operator`, on the
    server itself.
    """
    expires_at: NotRequired[str | None]


class Token(TypedDict):
    """A token, without its secret."""

    id: str
    """The id of a token, which is not its secret."""
    project: NotRequired[str | None]
    """Its project; none for an operator's"""
    role: Literal["viewer", "agent", "maintainer", "admin", "operator"]
    """What a token allows in one project, each role including the one before it; or, as `operator`, on the
    server itself.
    """
    created_at: str
    created_by: str
    expires_at: NotRequired[str | None]
    revoked_at: NotRequired[str | None]


class AuditLine(TypedDict):
    """One entry of the audit log."""

    at: str
    project: NotRequired[str | None]
    """The project; none for the server itself"""
    token: NotRequired[str | None]
    """The token; none if the caller had direct access to the store or database"""
    actor: str
    event_type: str
    subject_kind: str
    """What was changed: `issue`, `project`, `token`"""
    subject_id: str
    event: int
    """The event's number in the log of its store"""
    detail: dict[str, Any]
    """What changed, each field as `{"old":…,"new":…}`"""


class Agent(TypedDict):
    """A persistent identity, with a description and permissions."""

    id: str
    """The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form."""
    type: str
    """The type of an agent, possibly unknown to this version: an imported agent keeps its type."""
    name: NotRequired[str | None]
    parent_id: NotRequired[str | None]
    """The agent it works for"""
    descriptor: NotRequired[dict[str, Any]]
    """A description of it: a JSON object of its creator"""
    active_session_id: NotRequired[str | None]
    """The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form."""
    permissions: NotRequired[dict[str, Any]]
    """Its permissions: a JSON object of its creator"""
    tokens: NotRequired[dict[str, Any] | None]
    """The tokens of its last inference"""
    stats: NotRequired[dict[str, Any]]
    """The totals of all its inferences, by provider and model"""
    lifecycle: Literal["active", "sleeping", "dead"]
    """The lifecycle state of an agent."""
    created_at: str
    updated_at: str


class Deleted2(TypedDict):
    """A deleted agent, and how much was deleted with it."""

    status: str
    """Always `deleted`"""
    id: str
    """The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form."""
    sessions: int
    entries: int


class ImportedSession(TypedDict):
    """A session of an imported agent."""

    opened_by: Literal["start", "reset", "compaction"]
    """Why a session was opened."""
    inference_session_id: NotRequired[str | None]
    reset_message: NotRequired[str | None]
    created_at: NotRequired[str | None]
    entries: NotRequired[list[NewEntry]]


class NewEntry(TypedDict):
    """An entry to append: `{"type","at"?,"data"}`, or with the fields of its data next to `type` and `at`."""

    type: str
    """Its type, such as user_message"""
    at: NotRequired[str | None]
    """When it happened [default: now]"""
    data: NotRequired[dict[str, Any]]


class Imported(TypedDict):
    """The result of importing an agent."""

    id: str
    """The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form."""
    imported: bool
    """Whether it is new"""
    parent_missing: NotRequired[bool]
    """Whether its parent does not exist"""
    sessions: int
    entries: int
    redactions: int
    """How many secrets were replaced"""


class Summary2(TypedDict):
    """A session with totals of its entries."""

    id: str
    """The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form."""
    agent_id: str
    """The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form."""
    opened_by: Literal["start", "reset", "compaction"]
    """Why a session was opened."""
    inference_session_id: NotRequired[str | None]
    """The inference provider's id of this conversation"""
    reset_message: NotRequired[str | None]
    """The message of the reset, or the summary of the compaction"""
    issue_id: NotRequired[str | None]
    """The issue it is about"""
    run_id: NotRequired[str | None]
    """The run it belongs to"""
    created_at: str
    ended_at: NotRequired[str | None]
    """When the next session replaced it; absent while it is active"""
    archived_at: NotRequired[str | None]
    """When it was archived"""
    entries: int
    """How many entries it has"""
    duration_ms: int
    """From its start to its end, or to its last entry while it is active"""
    tokens: dict[str, ModelUsage]
    """By the model in the entries; `unknown` where they name none"""
    cost_usd: NotRequired[float | None]
    """The cost of the tokens in dollars, if all models have a price"""


class Found(TypedDict):
    """A matching entry."""

    id: int
    """The number of the entry"""
    session_id: str
    """The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form."""
    agent_id: str
    """The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form."""
    type: str
    """The type of an entry, such as `user_message`. Types unknown to this version are kept."""
    at: str
    excerpt: str
    """The text around the match"""


class Session(TypedDict):
    """One stretch of an agent's conversation."""

    id: str
    """The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form."""
    agent_id: str
    """The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form."""
    opened_by: Literal["start", "reset", "compaction"]
    """Why a session was opened."""
    inference_session_id: NotRequired[str | None]
    """The inference provider's id of this conversation"""
    reset_message: NotRequired[str | None]
    """The message of the reset, or the summary of the compaction"""
    issue_id: NotRequired[str | None]
    """The issue it is about"""
    run_id: NotRequired[str | None]
    """The run it belongs to"""
    created_at: str
    ended_at: NotRequired[str | None]
    """When the next session replaced it; absent while it is active"""
    archived_at: NotRequired[str | None]
    """When it was archived"""


class DeletedSessions(TypedDict):
    """Deleted sessions."""

    ids: list[str]
    entries: int
    """How many entries they had"""


class Appended(TypedDict):
    """Where entries were appended."""

    session_id: str
    """The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form."""
    first: int
    """The number of the first of them"""
    last: int
    """The number of the last of them"""
    count: int
    redactions: int
    """How many secrets were replaced"""


class Entry(TypedDict):
    """One item of a session's history."""

    id: int
    """Its number, larger than that of every entry before it"""
    session_id: str
    """The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form."""
    type: str
    """The type of an entry, such as `user_message`. Types unknown to this version are kept."""
    at: str
    """When it happened, possibly before it was written"""
    v: int
    """The version of the payload"""
    data: dict[str, Any]


class Message(TypedDict):
    """One message of a context."""

    role: Literal["system", "user", "assistant", "tool"]
    """The author of a message."""
    content: str
    tool_calls: NotRequired[list[ToolCall]]
    """The tool calls of the assistant; the results follow at once, in this order"""
    tool_call_id: NotRequired[str | None]
    """The call to which a tool's message is the result"""
    is_error: NotRequired[bool]
    """True when a tool failed, or when its result is unknown; else absent"""
    entry: NotRequired[int | None]
    """Its entry; absent for the opening message and for results that were never recorded"""


class ToolCall(TypedDict):
    """A tool call of an assistant."""

    id: str
    name: str
    arguments: Any
    """Usually an object; anything else as it was sent"""


class Repo(TypedDict):
    """A repository of runs."""

    id: str
    """The id of a repository, such as `repo-a1b2c3d4`."""
    vcs: Literal["git", "hg", "jj", "bzr", "fossil", "pijul"]
    """The version control system of a repository."""
    host: NotRequired[str | None]
    """The machine that has the directory"""
    root_path: NotRequired[str | None]
    remote_url: NotRequired[str | None]
    default_branch: NotRequired[str | None]
    created_at: str


class Removed2(TypedDict):
    """A removed repository."""

    status: str
    """Always `removed`"""
    id: str
    """The id of a repository, such as `repo-a1b2c3d4`."""


class Workspace(TypedDict):
    """A named group of runs on a server."""

    id: str
    """The id of a workspace of a server."""
    name: str
    external_id: NotRequired[str | None]
    """Its id in another system"""
    created_at: str


class Seen(TypedDict):
    """Where a repository is: its directory on a machine, its remote, or both."""

    vcs: Literal["git", "hg", "jj", "bzr", "fossil", "pijul"]
    """The version control system of a repository."""
    host: NotRequired[str | None]
    """The machine that has the directory"""
    root_path: NotRequired[str | None]
    remote_url: NotRequired[str | None]
    default_branch: NotRequired[str | None]


class Process(TypedDict):
    """A process of one machine, distinguishable from a later one with the same number."""

    pid: int
    born: NotRequired[str | None]
    """Its start time, as its machine states it"""


class Run(TypedDict):
    """One concrete execution."""

    id: str
    """The id of a run, such as `run-a1b2c3d4`."""
    status: Literal["running", "failed", "succeeded", "cancelled", "created"]
    """The status of a run."""
    repo_id: str
    """The id of a repository, such as `repo-a1b2c3d4`."""
    workspace_id: NotRequired[str | None]
    """The id of a workspace of a server."""
    harness_id: str
    """The id of a harness in one version."""
    harness: str
    """The agent software: `claude-code@2.1`"""
    runtime_id: str
    """The id of a runtime."""
    runtime: str
    """Where it runs: `local`, `nosandbox`, `devcontainer:PATH`"""
    issue_id: NotRequired[str | None]
    """The issue it works on"""
    session_id: NotRequired[str | None]
    """Its session"""
    group: NotRequired[str | None]
    """The group that runs launched together share"""
    actor: str
    command: NotRequired[list[str]]
    """The program and its arguments"""
    prompt: NotRequired[str]
    """The prompt of the agent"""
    branch: NotRequired[str | None]
    delivery: NotRequired[Literal["branch", "patch", "pr"] | None]
    instances: int
    """How many runs were launched together"""
    labels: NotRequired[dict[str, str]]
    browser_automation: bool
    """Whether it may use a browser"""
    browser_profile: NotRequired[str | None]
    chatgpt_username: NotRequired[str | None]
    codex_workspace: NotRequired[str | None]
    host: NotRequired[str | None]
    """Its machine"""
    agent: NotRequired[Process | None]
    """The command's process"""
    supervisor: NotRequired[Process | None]
    """The process that supervises it"""
    multiplexer_kind: NotRequired[Literal["tmux", "zellij", "screen", None]]
    """A terminal multiplexer."""
    mux_session: NotRequired[str | None]
    mux_window: NotRequired[int | None]
    pane_left: NotRequired[str | None]
    pane_right: NotRequired[str | None]
    log_path: NotRequired[str | None]
    workspace_path: NotRequired[str | None]
    """Its private working directory"""
    exit_code: NotRequired[int | None]
    """The exit code of the command"""
    signal: NotRequired[int | None]
    """The signal that ended the command"""
    reason: NotRequired[str | None]
    """Why, in words"""
    started_at: str
    ended_at: NotRequired[str | None]
    updated_at: str


class Harness(TypedDict):
    """Agent software in one version."""

    id: str
    """The id of a harness in one version."""
    name: str
    version: str
    metadata: NotRequired[dict[str, Any] | None]
    """A description of it: a JSON object of your own"""


class Runtime(TypedDict):
    """A runtime environment of runs."""

    id: str
    """The id of a runtime."""
    type: str
    """`local`, `nosandbox`, `devcontainer`, or another"""
    devcontainer_path: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]


class Snapshot(TypedDict):
    """The record of a snapshot. Its content is on the machine that took it."""

    id: str
    """The id of a snapshot, such as `snap-a1b2c3d4`."""
    kind: Literal["manual", "safety"]
    """Why a snapshot was taken."""
    provider: Literal["git", "copy", "btrfs", "zfs", "overlay"]
    """How the content of a snapshot is stored."""
    repo_id: str
    """The id of a repository, such as `repo-a1b2c3d4`."""
    run_id: NotRequired[str | None]
    """The run it was taken for"""
    host: str
    """The machine that has the tree and the content"""
    root: str
    """The tree"""
    ref: NotRequired[str | None]
    """Its name at the provider: a ref, a subvolume, a snapshot of a dataset"""
    path: NotRequired[str | None]
    """The path of its content"""
    parent_id: NotRequired[str | None]
    """Its parent snapshot"""
    label: NotRequired[str | None]
    actor: str
    metadata: NotRequired[dict[str, Any]]
    """`files`, `bytes`, what was `left_out`, and what the provider needs to verify it"""
    created_at: str
    restored_at: NotRequired[str | None]
    """When the tree was last restored to it"""


class Deleted3(TypedDict):
    """A deleted snapshot."""

    status: str
    """Always `deleted`"""
    id: str
    """The id of a snapshot, such as `snap-a1b2c3d4`."""


class Job(TypedDict):
    """One command of a tool."""

    id: str
    """The id of a job, such as `job-a1b2c3d4`."""
    status: Literal["running", "succeeded", "failed", "pending", "timeout", "cancelled"]
    """The status of a job."""
    tool_name: str
    lane: str
    """The name of a lane."""
    command: str
    """The program and its arguments, as a shell would read them"""
    cwd: NotRequired[str | None]
    """Its working directory"""
    loop_id: NotRequired[str | None]
    """Its loop"""
    run_id: NotRequired[str | None]
    """The id of a run, such as `run-a1b2c3d4`."""
    session_id: NotRequired[str | None]
    """The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form."""
    issue_id: NotRequired[str | None]
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    actor: str
    host: NotRequired[str | None]
    """Its machine"""
    pid: NotRequired[int | None]
    """The number of the command's process"""
    born: NotRequired[str | None]
    """The start time of that process, as its machine states it"""
    supervisor: NotRequired[Process | None]
    """The process that supervises it"""
    exit_code: NotRequired[int | None]
    """The exit code of the command"""
    signal: NotRequired[int | None]
    """The signal that ended the command"""
    reason: NotRequired[str | None]
    """Why, in words"""
    output_bytes: int
    """The size of its whole output in bytes, stored or not"""
    truncated: bool
    """Whether only a part of its output is stored"""
    was_timeout: bool
    was_cancelled: bool
    """Whether its end was requested"""
    timeout_ms: int
    """Its time limit, in milliseconds"""
    number: int
    """Its position in the queue of its lane: smaller numbers come first"""
    queued_at: str
    waits_until: NotRequired[str | None]
    """How long it waits for a slot"""
    started_at: str
    """When its command began; before that, when it was queued"""
    ended_at: NotRequired[str | None]
    duration_ms: NotRequired[int | None]
    updated_at: str
    output: NotRequired[str | None]
    """Its stored output; only when one job is shown"""


class JobStats(TypedDict):
    """The jobs of one tool in one lane."""

    tool_name: str
    lane: str
    """The name of a lane."""
    count: int
    unfinished: int
    """Those that are queued or running"""
    failures: int
    """Those that ended by themselves, with an error"""
    timeouts: int
    cancelled: int
    output_bytes: int
    p50_ms: NotRequired[int | None]
    p95_ms: NotRequired[int | None]
    max_ms: NotRequired[int | None]


class Pair(TypedDict):
    """A value with its scope and key."""

    scope: str
    """`user`, `project`, `repo`, `runtime`, or another"""
    key: str
    value: str
    updated_at: str


class Deleted4(TypedDict):
    """A deleted value."""

    status: str
    """Always `deleted`"""
    scope: str
    key: str


class Record(TypedDict):
    """A document with its collection and id."""

    collection: str
    id: str
    rev: int
    """Changes with every change of the record and is never reused, not even for another record with the same id"""
    updated_at: str
    data: dict[str, Any]


class Page2(TypedDict):
    """A page of matching records. A page ends after 10,000 records or 8 MiB."""

    records: list[Record]
    next: NotRequired[str | None]
    """Where the next page starts, if there is one"""


class Counted2(TypedDict):
    """The number of matching records."""

    collection: str
    count: int


class Deleted5(TypedDict):
    """Deleted records."""

    status: str
    """Always `deleted`"""
    collection: str
    ids: list[str]


class Collection(TypedDict):
    """A collection."""

    collection: str
    records: int
    updated_at: NotRequired[str | None]
    """When a record last changed"""
    indexes: NotRequired[list[str]]
    """The indexed fields"""
    redact: NotRequired[bool]
    """True if secrets in its documents are redacted; else absent"""


class Indexed(TypedDict):
    """A collection and its indexes."""

    collection: str
    records: int
    updated_at: NotRequired[str | None]
    """When a record last changed"""
    indexes: NotRequired[list[str]]
    """The indexed fields"""
    redact: NotRequired[bool]
    """True if secrets in its documents are redacted; else absent"""
    rebuilt: NotRequired[bool]
    """True if the indexes were rebuilt; else absent"""


class ChangeCase1(TypedDict):
    """ChangeCase1"""

    put: Put


class ChangeCase2(TypedDict):
    """Deletes the record if it exists; with `if_rev` it must exist"""

    delete: Removal


Change = ChangeCase1 | ChangeCase2


class Put(TypedDict):
    """Store a document in a collection, replacing the one with the same id"""

    collection: str
    """The collection, such as jobs; the first record creates it"""
    data: dict[str, Any]
    """The document"""
    id: NotRequired[str | None]
    """Its id [default: the one in the document, or a new one]"""
    if_rev: NotRequired[int | None]
    """Only if the record has this revision; 0 means that it does not exist"""
    if_present: NotRequired[bool]
    """Only if the record exists"""
    updated_at: NotRequired[str | None]
    """The time of the change [default: now]"""


class Removal(TypedDict):
    """A record to delete."""

    collection: str
    id: str
    if_rev: NotRequired[int | None]


class Applied(TypedDict):
    """The result of one change."""

    id: str
    rev: NotRequired[int | None]
    """Absent if the record was deleted"""


class Compacted(TypedDict):
    """The size of the files, before and after."""

    collections: int
    bytes_before: int
    bytes: int


class Work(TypedDict):
    """Work on an issue."""

    issue_id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    """The title of the issue"""
    kind: Literal["feature", "bug", "improvement", "refactor", "chore"]
    """What a change means for users."""
    status: Literal["active", "paused", "done"]
    """The status of work."""
    branch: NotRequired[str | None]
    steps: list[Step]
    current_step: NotRequired[int | None]
    """The first step that is not done, counted from 1"""
    actor: str
    """Who is doing it, or did it last"""
    created_at: str
    updated_at: str
    done_at: NotRequired[str | None]
    was_assigned_to: NotRequired[str | None]
    """The former assignee, if this command claimed it from somebody else"""


class Step(TypedDict):
    """A step of work."""

    title: str
    status: Literal["pending", "done"]
    """The status of a step."""


class Shipped(TypedDict):
    """A new release."""

    id: str
    """The id of a release, such as `rel-a1b2c3d4`."""
    name: str
    version: str
    """What is shipped together has the same"""
    kind: Literal["feature", "bug", "improvement", "refactor", "chore"]
    """What a change means for users."""
    issues: NotRequired[list[str]]
    """What was done in it"""
    notes: NotRequired[str | None]
    actor: str
    shipped_at: str
    open: NotRequired[list[str]]
    """Its issues that are not closed"""


class Release(TypedDict):
    """Something that was shipped."""

    id: str
    """The id of a release, such as `rel-a1b2c3d4`."""
    name: str
    version: str
    """What is shipped together has the same"""
    kind: Literal["feature", "bug", "improvement", "refactor", "chore"]
    """What a change means for users."""
    issues: NotRequired[list[str]]
    """What was done in it"""
    notes: NotRequired[str | None]
    actor: str
    shipped_at: str


class ChangelogText(TypedDict):
    """A changelog."""

    markdown: str


class Skills(TypedDict):
    """Every name and its skills."""

    mappings: dict[str, list[str]]
    updatedAt: NotRequired[str | None]
    """When anything was last changed; null if nothing was"""


class Remembered(TypedDict):
    """A stored learning."""

    id: str
    """The id of a learning, such as `ln-a1b2c3d4`."""
    kind: Literal["pattern", "approach", "decision", "gotcha"]
    """The kind of a learning."""
    text: str
    tags: NotRequired[list[str]]
    files: NotRequired[list[str]]
    """The files it is about"""
    issue_id: NotRequired[str | None]
    """The issue it came from"""
    work: NotRequired[str | None]
    """The work it came from, by its issue"""
    session_id: NotRequired[str | None]
    """The session it came from"""
    impact: NotRequired[Literal["high", "medium", "low"]]
    """How much it matters."""
    expires_at: NotRequired[str | None]
    """When it expires"""
    supersedes: NotRequired[str | None]
    """The learning that it replaces"""
    revision: NotRequired[int]
    """How often it was remembered: 1, and one more for each merged duplicate"""
    value: NotRequired[Worth | None]
    """The value of the work it came from"""
    linear_id: NotRequired[str | None]
    """The issue of another tracker"""
    actor: str
    created_at: str
    updated_at: str
    verified_at: NotRequired[str | None]
    """When it was last confirmed as valid"""
    sources: NotRequired[list[MergedSource]]
    """Where the duplicates that were merged into it came from"""
    derived_from: NotRequired[list[str]]
    """The learnings that its text cites"""
    useful: NotRequired[list[LearningUse]]
    """Whom it helped, and when; at most once a day for each"""
    former_files: NotRequired[list[str]]
    """Former names of its files"""
    agrees_with: NotRequired[list[str]]
    """Learnings that seem to contradict it, and do not"""
    merged: NotRequired[bool]
    """True if it was merged into an existing learning; else absent"""
    recalled: NotRequired[bool]
    """True if the text was recalled from this learning, which is unchanged; else absent"""
    redactions: NotRequired[int]
    """How many secrets were replaced"""


class Recalled(TypedDict):
    """A text that was recalled."""

    kind: Literal["learning", "issue", "comment", "session", "release", "commit"]
    """What a text belongs to."""
    id: HitId
    """Its id; of a session's entry, its number"""
    at: str
    actor: str
    snippet: str
    """What of it matches, with the words between **"""
    score: int
    """Its score; comparable only within the same answer"""
    session_id: NotRequired[str | None]
    """The session that it is from"""
    issue_id: NotRequired[str | None]
    """The issue that it is about"""
    learning_kind: NotRequired[Literal["pattern", "approach", "decision", "gotcha"]]
    """Which kind of learning"""
    text: NotRequired[str]
    tags: NotRequired[list[str]]
    files: NotRequired[list[str]]
    work: NotRequired[str | None]
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    impact: NotRequired[Literal["high", "medium", "low"]]
    """How much it matters."""
    expires_at: NotRequired[str | None]
    supersedes: NotRequired[str | None]
    """The id of a learning, such as `ln-a1b2c3d4`."""
    revision: NotRequired[int]
    value: NotRequired[Worth | None]
    linear_id: NotRequired[str | None]
    created_at: NotRequired[str]
    updated_at: NotRequired[str]
    verified_at: NotRequired[str | None]
    sources: NotRequired[list[MergedSource]]
    """Where the duplicates that were merged into it came from"""
    derived_from: NotRequired[list[str]]
    """The learnings that its text cites"""
    useful: NotRequired[list[LearningUse]]
    """Whom it helped, and when; at most once a day for each"""
    former_files: NotRequired[list[str]]
    """Former names of its files"""
    agrees_with: NotRequired[list[str]]
    """Learnings that seem to contradict it, and do not"""
    context: NotRequired[list[Neighbour]]
    """Entries before and after that are needed to understand it"""
    cut: NotRequired[bool]
    """True if the text was cut to fit the budget; else absent"""
    explain: NotRequired[Explanation | None]
    """What made its score"""


class Neighbour(TypedDict):
    """An entry before or after a result."""

    id: int
    at: str
    snippet: str


class Explanation(TypedDict):
    """What made a score: the parts add up to it."""

    terms: list[ExplainedTerm]
    """What each word of the query contributed"""
    fields: list[str]
    """The fields with a match: title, tags, files, links, body"""
    recency: float
    """The factor for age and impact"""
    nearness: float
    """What nearness of the words contributed"""
    vector: float
    """What meaning contributed; 0 without a model"""
    links: float
    """What entries beside it, and other texts of its issue, contributed"""


class ExplainedTerm(TypedDict):
    """What a word of the query contributed."""

    term: str
    score: float


class Shown(TypedDict):
    """A learning with values computed from others."""

    id: str
    """The id of a learning, such as `ln-a1b2c3d4`."""
    kind: Literal["pattern", "approach", "decision", "gotcha"]
    """The kind of a learning."""
    text: str
    tags: NotRequired[list[str]]
    files: NotRequired[list[str]]
    """The files it is about"""
    issue_id: NotRequired[str | None]
    """The issue it came from"""
    work: NotRequired[str | None]
    """The work it came from, by its issue"""
    session_id: NotRequired[str | None]
    """The session it came from"""
    impact: NotRequired[Literal["high", "medium", "low"]]
    """How much it matters."""
    expires_at: NotRequired[str | None]
    """When it expires"""
    supersedes: NotRequired[str | None]
    """The learning that it replaces"""
    revision: NotRequired[int]
    """How often it was remembered: 1, and one more for each merged duplicate"""
    value: NotRequired[Worth | None]
    """The value of the work it came from"""
    linear_id: NotRequired[str | None]
    """The issue of another tracker"""
    actor: str
    created_at: str
    updated_at: str
    verified_at: NotRequired[str | None]
    """When it was last confirmed as valid"""
    sources: NotRequired[list[MergedSource]]
    """Where the duplicates that were merged into it came from"""
    derived_from: NotRequired[list[str]]
    """The learnings that its text cites"""
    useful: NotRequired[list[LearningUse]]
    """Whom it helped, and when; at most once a day for each"""
    former_files: NotRequired[list[str]]
    """Former names of its files"""
    agrees_with: NotRequired[list[str]]
    """Learnings that seem to contradict it, and do not"""
    superseded_by: NotRequired[str | None]
    """The learning that replaced it"""


class Forgotten(TypedDict):
    """A deleted learning."""

    status: str
    """Always `deleted`"""
    id: str
    """The id of a learning, such as `ln-a1b2c3d4`."""
    descendants: NotRequired[list[str]]
    """The learnings that were deleted with it"""


class Contradiction(TypedDict):
    """Two valid learnings that cannot both be right."""

    kind: Literal["opposite", "value"]
    """How two learnings contradict each other."""
    newer: Learning
    older: Learning


class ReviewItem(TypedDict):
    """A learning that should be looked at again."""

    id: str
    """The id of a learning, such as `ln-a1b2c3d4`."""
    kind: Literal["pattern", "approach", "decision", "gotcha"]
    """The kind of a learning."""
    text: str
    tags: NotRequired[list[str]]
    files: NotRequired[list[str]]
    """The files it is about"""
    issue_id: NotRequired[str | None]
    """The issue it came from"""
    work: NotRequired[str | None]
    """The work it came from, by its issue"""
    session_id: NotRequired[str | None]
    """The session it came from"""
    impact: NotRequired[Literal["high", "medium", "low"]]
    """How much it matters."""
    expires_at: NotRequired[str | None]
    """When it expires"""
    supersedes: NotRequired[str | None]
    """The learning that it replaces"""
    revision: NotRequired[int]
    """How often it was remembered: 1, and one more for each merged duplicate"""
    value: NotRequired[Worth | None]
    """The value of the work it came from"""
    linear_id: NotRequired[str | None]
    """The issue of another tracker"""
    actor: str
    created_at: str
    updated_at: str
    verified_at: NotRequired[str | None]
    """When it was last confirmed as valid"""
    sources: NotRequired[list[MergedSource]]
    """Where the duplicates that were merged into it came from"""
    derived_from: NotRequired[list[str]]
    """The learnings that its text cites"""
    useful: NotRequired[list[LearningUse]]
    """Whom it helped, and when; at most once a day for each"""
    former_files: NotRequired[list[str]]
    """Former names of its files"""
    agrees_with: NotRequired[list[str]]
    """Learnings that seem to contradict it, and do not"""
    reasons: list[Literal["files_gone", "contradicted", "duplicate", "unused", "unverified"]]
    gone_files: NotRequired[list[str]]
    """Those of its files that are gone"""
    duplicate_of: NotRequired[str | None]
    """An older learning that says the same"""


class LearningStats(TypedDict):
    """How many learnings there are, of what kind, and how good they are."""

    total: int
    """All that are stored"""
    valid: int
    """Those that are recalled: neither expired nor superseded"""
    expired: int
    superseded: int
    kinds: dict[str, int]
    """Valid ones by kind"""
    impacts: dict[str, int]
    """Valid ones by impact"""
    verified: int
    """Valid ones that somebody verified"""
    useful: int
    """Valid ones that were of use"""
    merged: int
    """Valid ones with duplicates merged into them"""
    derived: int
    """Valid ones that cite others"""
    about_files: int
    """Valid ones about files"""
    contradictions: int
    """Pairs that contradict each other"""
    to_review: int
    """Those that a review proposes, without a look at files"""
    most_useful: list[UsefulLearning]
    """The most useful ones, with the number of their uses"""


class UsefulLearning(TypedDict):
    """A learning, and how often it was of use."""

    id: str
    """The id of a learning, such as `ln-a1b2c3d4`."""
    uses: int
    text: str


class Proposal(TypedDict):
    """A learning that somebody may accept."""

    id: str
    """Its number in the list, or this id, accepts it"""
    kind: Literal["pattern", "approach", "decision", "gotcha"]
    """The kind of a learning."""
    text: str
    found: Literal["stated", "fixed_command", "changed_together", "close_reason", "answered"]
    """How a learning was found."""
    tags: NotRequired[list[str]]
    files: NotRequired[list[str]]
    issue_id: NotRequired[str | None]
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    session_id: NotRequired[str | None]
    """The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form."""
    entry: NotRequired[int | None]
    """The entry of the session that it is from"""


class DistillPrompt(TypedDict):
    """A prompt for a model."""

    prompt: str


class Remember(TypedDict):
    """Remember a finding with its source; near-duplicates are merged"""

    text: str
    """The finding; - reads it from standard input"""
    kind: NotRequired[Literal["pattern", "approach", "decision", "gotcha"] | None]
    """Its kind [default: pattern]"""
    tags: NotRequired[list[str]]
    """A tag; may be given again"""
    files: NotRequired[list[str]]
    """A file it is about; may be given again"""
    issue: NotRequired[str | None]
    """The issue it came from"""
    work: NotRequired[str | None]
    """The work it came from, by its issue"""
    session: NotRequired[str | None]
    """The session it came from"""
    impact: NotRequired[Literal["high", "medium", "low", None]]
    """How much it matters [default: medium]"""
    expires: NotRequired[str | None]
    """How long it is valid, such as 90d"""
    supersedes: NotRequired[str | None]
    """The learning that it replaces"""
    no_redact: NotRequired[bool]
    """Do not redact secrets"""


class Loop(TypedDict):
    """Work in iterations."""

    id: str
    """The id of a loop, such as `lp-a1b2c3d4`."""
    loop_type: Literal["plan", "spec", "phase", "code"]
    """The type of a loop, by what it produces."""
    parent_id: NotRequired[str | None]
    """The loop that must be complete before this one can run"""
    issue_id: NotRequired[str | None]
    """Its issue"""
    input_artifact: NotRequired[str | None]
    """The artifact it starts from"""
    output_artifacts: NotRequired[list[str]]
    """The files it produced"""
    prompt_path: str
    validation_command: str
    """The command whose exit code says whether an iteration is valid"""
    max_iterations: int
    worktree: str
    iteration: int
    """How many iterations were started"""
    status: Literal["running", "paused", "complete", "failed", "pending", "rebasing", "awaiting_approval", "invalidated"]
    """The status of a loop."""
    progress: NotRequired[str]
    """Its progress, in words"""
    context: NotRequired[Any]
    """Values for its prompts: any JSON"""
    reason: NotRequired[str | None]
    """Why it has its status, if given"""
    holder: NotRequired[str | None]
    """The actor that runs it, or ran it last"""
    host: NotRequired[str | None]
    """The machine that runs it"""
    pid: NotRequired[int | None]
    """The process that runs it"""
    runnable: NotRequired[int | None]
    """Its position among the loops that can be claimed; absent if it cannot be claimed"""
    created_at: str
    updated_at: str
    archived_at: NotRequired[str | None]


class FilePart(TypedDict):
    """A part of a file in the directory of a loop."""

    path: str
    """In the directory of the loop, such as `stdout.log` or `iterations/001/artifacts/plan.md`"""
    offset: NotRequired[int]
    """Where in the file it begins"""
    text: NotRequired[str | None]
    """What it holds"""
    hex: NotRequired[str | None]
    """What it holds, two hexadecimal digits a byte, if that is no text"""


class TakenFiles(TypedDict):
    """The result of importing files of a loop."""

    outcomes: list[Literal["imported", "updated", "here", "changed", "clash", "deleted", "refused"]]
    """`imported`, `here` or `clash`, for each part"""
    no_directory: NotRequired[str | None]
    """Why none of them was stored"""


class Branch(TypedDict):
    """A loop in a tree: below the one before it that has a smaller depth."""

    depth: int
    id: str
    """The id of a loop, such as `lp-a1b2c3d4`."""
    loop_type: Literal["plan", "spec", "phase", "code"]
    """The type of a loop, by what it produces."""
    parent_id: NotRequired[str | None]
    """The loop that must be complete before this one can run"""
    issue_id: NotRequired[str | None]
    """Its issue"""
    input_artifact: NotRequired[str | None]
    """The artifact it starts from"""
    output_artifacts: NotRequired[list[str]]
    """The files it produced"""
    prompt_path: str
    validation_command: str
    """The command whose exit code says whether an iteration is valid"""
    max_iterations: int
    worktree: str
    iteration: int
    """How many iterations were started"""
    status: Literal["running", "paused", "complete", "failed", "pending", "rebasing", "awaiting_approval", "invalidated"]
    """The status of a loop."""
    progress: NotRequired[str]
    """Its progress, in words"""
    context: NotRequired[Any]
    """Values for its prompts: any JSON"""
    reason: NotRequired[str | None]
    """Why it has its status, if given"""
    holder: NotRequired[str | None]
    """The actor that runs it, or ran it last"""
    host: NotRequired[str | None]
    """The machine that runs it"""
    pid: NotRequired[int | None]
    """The process that runs it"""
    runnable: NotRequired[int | None]
    """Its position among the loops that can be claimed; absent if it cannot be claimed"""
    created_at: str
    updated_at: str
    archived_at: NotRequired[str | None]


class IterationFile(TypedDict):
    """A file of an iteration."""

    path: str
    """`prompt.md`, `conversation.jsonl`, `validation.log`, or `artifacts/NAME`; `stdout.log` and `stderr.log`
    are
    appended to those of the loop
    """
    text: NotRequired[str | None]
    """What it holds"""
    hex: NotRequired[str | None]
    """What it holds, two hexadecimal digits a byte, if that is no text"""


class Iterated(TypedDict):
    """A loop whose next iteration has begun."""

    id: str
    """The id of a loop, such as `lp-a1b2c3d4`."""
    loop_type: Literal["plan", "spec", "phase", "code"]
    """The type of a loop, by what it produces."""
    parent_id: NotRequired[str | None]
    """The loop that must be complete before this one can run"""
    issue_id: NotRequired[str | None]
    """Its issue"""
    input_artifact: NotRequired[str | None]
    """The artifact it starts from"""
    output_artifacts: NotRequired[list[str]]
    """The files it produced"""
    prompt_path: str
    validation_command: str
    """The command whose exit code says whether an iteration is valid"""
    max_iterations: int
    worktree: str
    iteration: int
    """How many iterations were started"""
    status: Literal["running", "paused", "complete", "failed", "pending", "rebasing", "awaiting_approval", "invalidated"]
    """The status of a loop."""
    progress: NotRequired[str]
    """Its progress, in words"""
    context: NotRequired[Any]
    """Values for its prompts: any JSON"""
    reason: NotRequired[str | None]
    """Why it has its status, if given"""
    holder: NotRequired[str | None]
    """The actor that runs it, or ran it last"""
    host: NotRequired[str | None]
    """The machine that runs it"""
    pid: NotRequired[int | None]
    """The process that runs it"""
    runnable: NotRequired[int | None]
    """Its position among the loops that can be claimed; absent if it cannot be claimed"""
    created_at: str
    updated_at: str
    archived_at: NotRequired[str | None]
    directory: NotRequired[str | None]
    """The directory of the iteration, where the store has files"""
    no_directory: NotRequired[str | None]
    """Why there is none, and which files were not stored"""


class Create(TypedDict):
    """Create a loop; it can be claimed once its parent is complete"""

    loop_type: Literal["plan", "spec", "phase", "code"]
    """Its type"""
    prompt_path: str
    """The file with its prompt"""
    validation_command: str
    """The command whose exit code says whether an iteration is valid"""
    parent: NotRequired[str | None]
    """The loop that must be complete first"""
    issue: NotRequired[str | None]
    """Its issue"""
    max_iterations: NotRequired[int | None]
    """The most iterations [default: 100]"""
    worktree: NotRequired[str | None]
    """Its worktree [default: worktrees/ID]"""
    input_artifact: NotRequired[str | None]
    """The artifact it starts from"""
    context: NotRequired[Any]
    """Values for its prompts: any JSON"""


class Approved(TypedDict):
    """A complete loop and its new children."""

    id: str
    """The id of a loop, such as `lp-a1b2c3d4`."""
    loop_type: Literal["plan", "spec", "phase", "code"]
    """The type of a loop, by what it produces."""
    parent_id: NotRequired[str | None]
    """The loop that must be complete before this one can run"""
    issue_id: NotRequired[str | None]
    """Its issue"""
    input_artifact: NotRequired[str | None]
    """The artifact it starts from"""
    output_artifacts: NotRequired[list[str]]
    """The files it produced"""
    prompt_path: str
    validation_command: str
    """The command whose exit code says whether an iteration is valid"""
    max_iterations: int
    worktree: str
    iteration: int
    """How many iterations were started"""
    status: Literal["running", "paused", "complete", "failed", "pending", "rebasing", "awaiting_approval", "invalidated"]
    """The status of a loop."""
    progress: NotRequired[str]
    """Its progress, in words"""
    context: NotRequired[Any]
    """Values for its prompts: any JSON"""
    reason: NotRequired[str | None]
    """Why it has its status, if given"""
    holder: NotRequired[str | None]
    """The actor that runs it, or ran it last"""
    host: NotRequired[str | None]
    """The machine that runs it"""
    pid: NotRequired[int | None]
    """The process that runs it"""
    runnable: NotRequired[int | None]
    """Its position among the loops that can be claimed; absent if it cannot be claimed"""
    created_at: str
    updated_at: str
    archived_at: NotRequired[str | None]
    children: list[Loop]


class Invalidated(TypedDict):
    """An invalidated loop."""

    id: str
    """The id of a loop, such as `lp-a1b2c3d4`."""
    loop_type: Literal["plan", "spec", "phase", "code"]
    """The type of a loop, by what it produces."""
    parent_id: NotRequired[str | None]
    """The loop that must be complete before this one can run"""
    issue_id: NotRequired[str | None]
    """Its issue"""
    input_artifact: NotRequired[str | None]
    """The artifact it starts from"""
    output_artifacts: NotRequired[list[str]]
    """The files it produced"""
    prompt_path: str
    validation_command: str
    """The command whose exit code says whether an iteration is valid"""
    max_iterations: int
    worktree: str
    iteration: int
    """How many iterations were started"""
    status: Literal["running", "paused", "complete", "failed", "pending", "rebasing", "awaiting_approval", "invalidated"]
    """The status of a loop."""
    progress: NotRequired[str]
    """Its progress, in words"""
    context: NotRequired[Any]
    """Values for its prompts: any JSON"""
    reason: NotRequired[str | None]
    """Why it has its status, if given"""
    holder: NotRequired[str | None]
    """The actor that runs it, or ran it last"""
    host: NotRequired[str | None]
    """The machine that runs it"""
    pid: NotRequired[int | None]
    """The process that runs it"""
    runnable: NotRequired[int | None]
    """Its position among the loops that can be claimed; absent if it cannot be claimed"""
    created_at: str
    updated_at: str
    archived_at: NotRequired[str | None]
    invalidated: list[str]
    """All invalidated loops, including this one"""
    signal: NotRequired[Signal | None]
    """The signal that was sent to running loops, if any"""


class Signal(TypedDict):
    """A signal, and how many recipients have acknowledged it."""

    id: str
    """The id of a signal, such as `sg-a1b2c3d4`."""
    signal_type: Literal["stop", "pause", "resume", "rebase", "error", "info", "invalidate"]
    """The type of a signal."""
    source_loop: NotRequired[str | None]
    """The loop that sent it"""
    target_loop: NotRequired[str | None]
    """The id of a loop, such as `lp-a1b2c3d4`."""
    target_agent: NotRequired[str | None]
    """The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form."""
    target_run: NotRequired[str | None]
    """The id of a run, such as `run-a1b2c3d4`."""
    target_selector: NotRequired[str | None]
    """The selector of its recipients: `descendants:ID`, `children:ID`, `type:T` or `status:S`"""
    reason: NotRequired[str]
    payload: NotRequired[Any]
    actor: str
    """The actor that sent it"""
    recipient_count: int
    acknowledged_count: int
    created_at: str
    acknowledged_at: NotRequired[str | None]
    """When the last of them acknowledged it"""


class Sent(TypedDict):
    """A sent signal."""

    id: str
    """The id of a signal, such as `sg-a1b2c3d4`."""
    signal_type: Literal["stop", "pause", "resume", "rebase", "error", "info", "invalidate"]
    """The type of a signal."""
    source_loop: NotRequired[str | None]
    """The loop that sent it"""
    target_loop: NotRequired[str | None]
    """The id of a loop, such as `lp-a1b2c3d4`."""
    target_agent: NotRequired[str | None]
    """The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form."""
    target_run: NotRequired[str | None]
    """The id of a run, such as `run-a1b2c3d4`."""
    target_selector: NotRequired[str | None]
    """The selector of its recipients: `descendants:ID`, `children:ID`, `type:T` or `status:S`"""
    reason: NotRequired[str]
    payload: NotRequired[Any]
    actor: str
    """The actor that sent it"""
    recipient_count: int
    acknowledged_count: int
    created_at: str
    acknowledged_at: NotRequired[str | None]
    """When the last of them acknowledged it"""
    recipients: list[str]
    """Who must acknowledge it"""


class Shown2(TypedDict):
    """A signal, and who has not acknowledged it."""

    id: str
    """The id of a signal, such as `sg-a1b2c3d4`."""
    signal_type: Literal["stop", "pause", "resume", "rebase", "error", "info", "invalidate"]
    """The type of a signal."""
    source_loop: NotRequired[str | None]
    """The loop that sent it"""
    target_loop: NotRequired[str | None]
    """The id of a loop, such as `lp-a1b2c3d4`."""
    target_agent: NotRequired[str | None]
    """The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form."""
    target_run: NotRequired[str | None]
    """The id of a run, such as `run-a1b2c3d4`."""
    target_selector: NotRequired[str | None]
    """The selector of its recipients: `descendants:ID`, `children:ID`, `type:T` or `status:S`"""
    reason: NotRequired[str]
    payload: NotRequired[Any]
    actor: str
    """The actor that sent it"""
    recipient_count: int
    acknowledged_count: int
    created_at: str
    acknowledged_at: NotRequired[str | None]
    """When the last of them acknowledged it"""
    missing: list[str]


class Acked(TypedDict):
    """The receipt of a recipient."""

    signal_id: str
    """The id of a signal, such as `sg-a1b2c3d4`."""
    signal_type: Literal["stop", "pause", "resume", "rebase", "error", "info", "invalidate"]
    """The type of a signal."""
    recipient: str
    recipient_kind: Literal["loop", "agent", "run"]
    """The kinds of recipients."""
    created_at: str
    acknowledged_at: NotRequired[str | None]
    acknowledged_by: NotRequired[str | None]
    """The actor that acknowledged it"""
    missing_count: int
    """How many recipients have not acknowledged it"""


class Pruned(TypedDict):
    """Deleted signals."""

    ids: list[str]


class Lock(TypedDict):
    """The state of a lock, as shown to clients."""

    name: str
    held: bool
    fencing: int
    """Grows by one with each acquisition, and never goes back"""
    holder: NotRequired[str | None]
    acquired_at: NotRequired[str | None]
    expires_at: NotRequired[str | None]
    token: NotRequired[str | None]
    """The secret that renews and releases the lock; only in the answer to acquire"""


class Briefing(TypedDict):
    """What an agent needs to know to continue."""

    sections: list[Section]


class Section(TypedDict):
    """One section."""

    name: str
    title: str
    lines: list[Line]
    more: NotRequired[int]
    """How many lines were left out"""


class Line(TypedDict):
    """One line of a section."""

    id: NotRequired[str | None]
    """Its subject"""
    text: str


class Changed(TypedDict):
    """A page of changed records."""

    store_id: str
    """The store that answers"""
    entries: list[Sent2]
    cursor: str
    """Where the next page begins"""
    more: bool
    """Whether another page is available now"""
    looked_at: int
    """How many entries of the log were read"""
    restarted: NotRequired[bool]
    """Whether the log does not contain the requested position, so that this page starts at the beginning"""


class Sent2(TypedDict):
    """A record that is synced from one store to another."""

    collection: str
    """The collection it is in: issues, deps, comments, …"""
    id: str
    """Its key in the collection"""
    line: str
    """The record as a line of its collection's file"""
    base: NotRequired[str | None]
    """The merge base: the line that both stores last had in common, if any"""


class Progress(TypedDict):
    """The sync state between two stores."""

    store_id: NotRequired[str]
    """The other store"""
    name: NotRequired[str | None]
    """The local name of its server"""
    url: NotRequired[str | None]
    """The URL of its server"""
    turn: NotRequired[int]
    """The number of the sync state on which this is based; refused if it has changed"""
    pulled: NotRequired[str | None]
    """The position in the other log up to which everything is here after this request"""
    pushed: NotRequired[str | None]
    """The position in this log up to which the other store has everything"""
    held: NotRequired[list[Named]]
    """Records that the other store did not apply and that stay pending"""
    gone: NotRequired[list[Named]]
    """Records that the other store no longer has"""
    afresh: NotRequired[bool]
    """Whether the sync state starts over, because nothing known of the other store is valid"""
    done: NotRequired[bool]
    """Whether both stores now have everything of each other"""


class Named(TypedDict):
    """Identifies a record."""

    collection: str
    id: str


class Taken2(TypedDict):
    """The outcome of applying records."""

    outcomes: list[Outcome]
    """One for each entry, in order"""
    changed: int
    """How many records changed"""
    conflicts: int
    notes: NotRequired[list[str]]
    renamed: NotRequired[bool]
    """Whether two records had the same id and one was given a new one"""
    before: str
    """The end of the log before the request"""
    after: str
    """The end of the log after the request"""
    turn: int
    """The number of the sync state"""
    pulled: NotRequired[str | None]
    """The position in the other log up to which everything is here"""


class Outcome(TypedDict):
    """Outcome"""

    fate: Literal["taken", "gone", "waits", "refused", "unknown"]
    """The outcome for one record."""
    line: NotRequired[str | None]
    """The local version, if it differs from the line sent"""
    fetch_after: NotRequired[int | None]
    """For a session: how many entries both have, if the other store has more"""
    send_after: NotRequired[int | None]
    """For a session: how many entries the other store has, if fewer"""


class Queue(TypedDict):
    """A page of pending records."""

    entries: list[Sent2]
    gone: NotRequired[list[Named]]
    """Records that the other store may have and this one no longer has"""
    pushed: NotRequired[str | None]
    """The position in this log up to which the other store has everything after these"""
    next: NotRequired[str | None]
    """Where the next page begins, if there is one"""
    looked_at: int
    """How many entries of the log were read"""


class Peer(TypedDict):
    """Another store, and what it does not have yet."""

    store_id: str
    name: NotRequired[str | None]
    url: NotRequired[str | None]
    turn: int
    pulled: NotRequired[str | None]
    pushed: NotRequired[str | None]
    events: list[Waiting]
    """Local events that are waiting to be sent"""
    more: NotRequired[bool]
    """Whether there are more pending events than listed"""
    held: NotRequired[int]
    """Records that will be sent again or were not applied"""
    lastSync: NotRequired[str | None]
    """When both stores last had everything of each other"""


class Waiting(TypedDict):
    """A local event that another store does not have yet."""

    id: str
    """Its number in this store's log"""
    type: str
    """What happened, such as `issue.created`"""
    timestamp: str
    data: Any
    """Who changed what, and how"""
    synced: bool
    """Always false: synced events are not listed"""


class GivenCase1(TypedDict):
    """A task of another tool: to do, in progress or done."""

    kind: Literal["issue"]
    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    description: NotRequired[str | None]
    issue_type: Literal["bug", "task", "test", "chore"]
    """What kind of issue it is; never changes."""
    priority: Literal["p0", "p1", "p2", "p3"]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""
    closed: NotRequired[bool]
    """Whether it is closed; finished work closes its issue by itself"""
    close_reason: NotRequired[str | None]
    created_at: NotRequired[str | None]
    updated_at: NotRequired[str | None]
    closed_at: NotRequired[str | None]
    spec: NotRequired[str | None]
    """The spec that it implements"""
    work: NotRequired[GivenWork | None]
    """The work on it"""
    origin: Origin


class GivenCase2(TypedDict):
    """A release."""

    kind: Literal["release"]
    id: str
    """The id of a release, such as `rel-a1b2c3d4`."""
    name: str
    version: str
    release_kind: Literal["feature", "bug", "improvement", "refactor", "chore"]
    """What it means for users"""
    issues: NotRequired[list[str]]
    """Its issues, as far as they exist here"""
    notes: NotRequired[str | None]
    shipped_at: NotRequired[str | None]
    origin: Origin


class GivenCase3(TypedDict):
    """A learning."""

    kind: Literal["learning"]
    learning_kind: Literal["pattern", "approach", "decision", "gotcha"]
    """The kind of a learning."""
    text: str
    tags: NotRequired[list[str]]
    files: NotRequired[list[str]]
    impact: NotRequired[Literal["high", "medium", "low"]]
    """How much it matters."""
    value: NotRequired[Worth | None]
    linear_id: NotRequired[str | None]
    task: NotRequired[str | None]
    """The task it came from, by its id in the other tool"""
    at: NotRequired[str | None]
    name: NotRequired[str | None]
    """Its name in the other tool"""
    supersedes: NotRequired[str | None]
    """The learning that it replaces, by its name in the other tool; that comes earlier in the same request"""
    origin: Origin


class GivenCase4(TypedDict):
    """A comment on an issue."""

    kind: Literal["comment"]
    issue_id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    author: NotRequired[str | None]
    text: str
    at: NotRequired[str | None]
    origin: Origin


class GivenCase5(TypedDict):
    """An event of the work on an issue."""

    kind: Literal["event"]
    issue_id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    again: NotRequired[int]
    """How many equal events came before it"""
    data: dict[str, Any]
    """As the other tool wrote it"""


class GivenCase6(TypedDict):
    """The skills that an agent file requires."""

    kind: Literal["skills"]
    name: str
    skills: list[str]


class GivenCase7(TypedDict):
    """A document that is stored unchanged, in kv."""

    kind: Literal["document"]
    scope: str
    key: str
    text: str


Given = GivenCase1 | GivenCase2 | GivenCase3 | GivenCase4 | GivenCase5 | GivenCase6 | GivenCase7


class GivenWork(TypedDict):
    """Work on an issue."""

    kind: Literal["feature", "bug", "improvement", "refactor", "chore"]
    """What a change means for users."""
    status: Literal["active", "paused", "done"]
    """The status of work."""
    branch: NotRequired[str | None]
    steps: NotRequired[list[Step]]
    started_at: NotRequired[str | None]


class Origin(TypedDict):
    """Where a record comes from, and its fields without a place here."""

    file: str
    """The path of its file in the directory of the tool"""
    hash: str
    """A hash that shows whether the record has changed since its import"""
    fields: NotRequired[dict[str, Any]]
    """Fields without a place here"""
    also: NotRequired[list[dict[str, Any]]]
    """Other records with the same id"""


class Told(TypedDict):
    """The outcome for a record."""

    outcome: Literal["imported", "updated", "here", "changed", "clash", "deleted", "refused"]
    """The outcome for a record."""
    id: NotRequired[str | None]
    """Its id in this store"""
    reason: NotRequired[str | None]
    """Why, if it was not imported unchanged"""
    redactions: NotRequired[int]
    """How many secrets were replaced"""


class ReadPosition(TypedDict):
    """How far a transcript was read."""

    bytes: int
    """In bytes of the text, uncompressed"""
    lines: int
    """In lines or messages"""
    tail: NotRequired[str]
    """A hash of what comes before, to notice that it was written anew"""


class TranscriptAgent(TypedDict):
    """What one agent said in a part of a transcript."""

    id: str
    """The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form."""
    type: Literal["user", "cron", "system", "subagent", "app", "permanent"]
    """The types of agents that can be created."""
    name: NotRequired[str | None]
    """What the conversation is called"""
    parent_id: NotRequired[str | None]
    """The agent it worked for"""
    descriptor: NotRequired[dict[str, Any]]
    """What the software says about itself and where it runs, such as its branch; added to what is known"""
    inference_session_id: NotRequired[str | None]
    """What the software calls the conversation"""
    entries: NotRequired[list[NewEntry]]
    """What goes on in the session that is active"""
    sessions: NotRequired[list[ImportedSession]]
    """The sessions that follow"""
    first_at: NotRequired[str | None]
    """When the first and the last of it was said"""
    last_at: NotRequired[str | None]


class TranscriptImport(TypedDict):
    """What became of a part of a transcript."""

    agents: list[str]
    """The agents that were not here before"""
    sessions: int
    """How many sessions were opened"""
    entries: int
    repeated: int
    """How many messages had been counted in another session already"""
    issues: list[str]
    """The issues that its sessions are about"""
    redactions: int
    """How many secrets were replaced"""
    deleted: NotRequired[list[str]]
    """Agents that were deleted here, and so did not come back"""


class TrackerItemCase1(TypedDict):
    """An issue of another tracker in our words."""

    kind: Literal["issue"]
    id: str
    """Its id here, the same at every import"""
    key: str
    """What identifies it there"""
    title: str
    description: NotRequired[str | None]
    issue_type: Literal["bug", "task", "test", "chore"]
    """What kind of issue it is; never changes."""
    status: Literal["open", "in_progress", "closed"]
    """Where an issue stands."""
    priority: Literal["p0", "p1", "p2", "p3"]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""
    spec: NotRequired[str | None]
    assignee: NotRequired[str | None]
    labels: NotRequired[list[str]]
    due: NotRequired[str | None]
    defer: NotRequired[str | None]
    estimate: NotRequired[str | None]
    acceptance: NotRequired[list[Criterion]]
    parent: NotRequired[str | None]
    """The issue that it is a part of"""
    deps: NotRequired[list[str]]
    """The issues that must be closed first"""
    links: NotRequired[list[Link]]
    refs: NotRequired[list[str]]
    """Where else it is known"""
    comments: NotRequired[list[TrackerComment]]
    created_at: NotRequired[str | None]
    updated_at: NotRequired[str | None]
    closed_at: NotRequired[str | None]
    close_reason: NotRequired[str | None]
    raw: NotRequired[dict[str, Any]]
    """Fields that have no place here, or that the tracker writes in another way"""


class TrackerItemCase2(TypedDict):
    """A text to remember, which becomes a learning"""

    kind: Literal["memory"]
    key: str
    text: str
    raw: NotRequired[dict[str, Any]]
    """Fields that have no place here"""


class TrackerItemCase3(TypedDict):
    """An issue that was deleted there"""

    kind: Literal["tombstone"]
    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    line: str
    """As the tracker wrote it"""


TrackerItem = TrackerItemCase1 | TrackerItemCase2 | TrackerItemCase3


class TrackerComment(TypedDict):
    """What somebody said there about an issue."""

    key: NotRequired[str]
    """What identifies it there; empty if nothing does"""
    author: NotRequired[str | None]
    text: str
    at: NotRequired[str | None]
    raw: NotRequired[dict[str, Any]]
    """Fields that have no place here, or that the tracker writes in another way"""


class ImportedItem(TypedDict):
    """What an import did with an item."""

    outcome: Literal["created", "updated", "unchanged", "skipped"]
    """What an import did with an item."""
    id: str
    """Its id here"""
    problems: NotRequired[list[str]]
    """What of it could not be imported, and why"""
    missing: NotRequired[list[str]]
    """The issues that it refers to and that are not here"""
    redactions: NotRequired[int]
    """How many secrets were replaced"""


class WholeIssue(TypedDict):
    """An issue with all that belongs to it."""

    issue: Issue
    deps: list[str]
    """The issues that must be closed first"""
    comments: list[Comment]
    refs: list[str]
    """Where else it is known"""


class IssueCreateInput(TypedDict):
    """What issue.create is asked."""

    title: str
    """What it is about, in one line"""
    issue_type: Literal["bug", "task", "test", "chore"]
    """What kind of issue it is"""
    priority: NotRequired[Literal["p0", "p1", "p2", "p3"]]
    """How urgent it is"""
    assignee: NotRequired[str | None]
    """Who should do it"""
    spec: NotRequired[str | None]
    """Stem of the spec it implements: auth for specs/auth.md"""
    fixes: NotRequired[str | None]
    """The bug to close together with it"""
    description: NotRequired[str | None]
    """Details; - reads them from standard input"""
    deps: NotRequired[list[str]]
    """An issue that must be closed first; may be given again"""
    parent: NotRequired[str | None]
    """The issue that it is a part of"""
    labels: NotRequired[list[str]]
    """A label; may be given again"""
    due: NotRequired[str | None]
    """By when it should be closed: tomorrow, +3d, fri, 2026-12-01"""
    defer: NotRequired[str | None]
    """Not ready before this date"""
    estimate: NotRequired[str | None]
    """How much work it is: 30m, 4h, 2d"""
    acceptance: NotRequired[list[str]]
    """What the result must meet; may be given again"""
    fields: NotRequired[dict[str, str]]
    """A custom field of the project, as name=value; may be given again"""
    refs: NotRequired[list[str]]
    """Where else it is known: https://… or linear:PRJ-123; may be given again"""


class IssueListInput(TypedDict):
    """What issue.list is asked."""

    q: NotRequired[str | None]
    """Only those that match this query: 'status:open label:auth -assignee:ben p<=1 due<+7d text', or a view:
    @NAME
    """
    status: NotRequired[Literal["open", "in_progress", "closed", None]]
    """Only those with this status"""
    priority: NotRequired[Literal["p0", "p1", "p2", "p3", None]]
    """Only those with this priority"""
    assignee: NotRequired[str | None]
    """Only those of this assignee; an empty name means unassigned"""
    issue_type: NotRequired[Literal["bug", "task", "test", "chore"] | None]
    """Only those of this type"""
    spec: NotRequired[str | None]
    """Only those of this spec"""
    labels: NotRequired[list[str]]
    """Only those with this label; may be given again"""
    parent: NotRequired[str | None]
    """Only those that are parts of this issue, or parts of its parts"""
    overdue: NotRequired[bool]
    """Only those that are due before today and not closed"""
    sort: NotRequired[Literal["priority", "created_at", "updated_at", "status", "title", "due", "estimate", "impact"] | str | None]
    """In which order; also field.NAME, by a custom field"""
    limit: NotRequired[int | None]
    """At most this many"""


class IssueUpdateInput(TypedDict):
    """What issue.update is asked."""

    id: str
    """Which issue"""
    title: NotRequired[str | None]
    """A new title"""
    status: NotRequired[Literal["open", "in_progress", "closed", None]]
    """A new status; closed closes it, open reopens a closed one"""
    priority: NotRequired[Literal["p0", "p1", "p2", "p3", None]]
    """A new priority"""
    assignee: NotRequired[str | None]
    """A new assignee; an empty name clears it"""
    description: NotRequired[str | None]
    """A new description; - reads it from standard input, an empty one clears it"""
    spec: NotRequired[str | None]
    """Another spec; an empty one clears it"""
    fixes: NotRequired[str | None]
    """Another bug to close together with it; an empty one clears it"""
    parent: NotRequired[str | None]
    """The issue that it is a part of; an empty one clears it"""
    add_labels: NotRequired[list[str]]
    """A label to add; may be given again"""
    remove_labels: NotRequired[list[str]]
    """A label to remove; may be given again"""
    due: NotRequired[str | None]
    """By when it should be closed: tomorrow, +3d, fri, 2026-12-01; an empty date clears it"""
    defer: NotRequired[str | None]
    """Not ready before this date; an empty one clears it"""
    estimate: NotRequired[str | None]
    """How much work it is: 30m, 4h, 2d; an empty time clears it"""
    acceptance: NotRequired[list[str]]
    """What the result must meet as well; may be given again"""
    remove_acceptance: NotRequired[list[str]]
    """A criterion to take away, as its number or its text; may be given again"""
    fields: NotRequired[dict[str, str]]
    """A custom field of the project, as name=value; name= clears it; may be given again"""
    refs: NotRequired[list[str]]
    """Where else it is known: https://… or linear:PRJ-123; may be given again"""
    claim: NotRequired[bool]
    """Claim it: fails unless it is open"""
    ttl: NotRequired[str | None]
    """Let the claim expire unless renewed: 30s, 15m, 12h, 1d"""
    unclaim: NotRequired[bool]
    """Give it back: open, without assignee"""
    if_updated_at: NotRequired[str | None]
    """Only if it was last changed at this time, which pn show --json has as updated_at; fails with conflict
    otherwise
    """
    was: NotRequired[dict[str, str]]
    """The values that fields had when their editor read them; an empty text for none. A field that somebody else
    has
    changed since gets the new value, and the value in between is kept as a conflict
    """
    force: NotRequired[bool]
    """Change status or assignee even if another holds the claim"""


class IssueDeleteInput(TypedDict):
    """What issue.delete is asked."""

    id: str
    """Which issue"""
    force: NotRequired[bool]
    """Even if others depend on it, fix it, have commented or hold it"""


class IssueShowInput(TypedDict):
    """What issue.show is asked."""

    id: str
    """Which issue"""


class IssueCloseInput(TypedDict):
    """What issue.close is asked."""

    id: str
    """Which issue"""
    reason: NotRequired[str | None]
    """Why, or how it was done"""
    duplicate_of: NotRequired[str | None]
    """The issue that says the same; links to it"""
    force: NotRequired[bool]
    """Close it whatever its status, its children and its criteria, even if another holds it"""


class IssueAcceptInput(TypedDict):
    """What issue.accept is asked."""

    id: str
    """Which issue"""
    number: int
    """The number of the criterion, from 1; pn show lists them"""
    undo: NotRequired[bool]
    """It does not meet it after all"""


class IssueReopenInput(TypedDict):
    """What issue.reopen is asked."""

    id: str
    """Which issue"""
    reason: NotRequired[str | None]
    """Why"""


class IssueReleaseInput(TypedDict):
    """What issue.release is asked."""

    id: str
    """Which issue"""
    force: NotRequired[bool]
    """Even if another holds it"""


class IssueHeartbeatInput(TypedDict):
    """What issue.heartbeat is asked."""

    id: str
    """Which issue"""
    ttl: NotRequired[str | None]
    """From now on, this long; as long as before unless given"""
    force: NotRequired[bool]
    """Even if another holds it"""


class IssueReadyInput(TypedDict):
    """What issue.ready is asked."""

    q: NotRequired[str | None]
    """Only those that match this query: 'status:open label:auth -assignee:ben p<=1 due<+7d text', or a view:
    @NAME
    """
    priority: NotRequired[Literal["p0", "p1", "p2", "p3", None]]
    """Only those with this priority"""
    assignee: NotRequired[str | None]
    """Only those of this assignee; an empty name means unassigned"""
    issue_type: NotRequired[Literal["bug", "task", "test", "chore"] | None]
    """Only those of this type"""
    spec: NotRequired[str | None]
    """Only those of this spec"""
    labels: NotRequired[list[str]]
    """Only those with this label; may be given again"""
    parent: NotRequired[str | None]
    """Only those that are parts of this issue, or parts of its parts"""
    sort: NotRequired[Literal["priority", "created_at", "updated_at", "status", "title", "due", "estimate", "impact"] | str | None]
    """In which order; also field.NAME, by a custom field [default: priority]"""
    limit: NotRequired[int | None]
    """At most this many"""


class IssueBlockedInput(TypedDict):
    """What issue.blocked is asked."""

    q: NotRequired[str | None]
    """Only those that match this query: 'status:open label:auth -assignee:ben p<=1 due<+7d text', or a view:
    @NAME
    """
    status: NotRequired[Literal["open", "in_progress", "closed", None]]
    """Only those with this status"""
    priority: NotRequired[Literal["p0", "p1", "p2", "p3", None]]
    """Only those with this priority"""
    assignee: NotRequired[str | None]
    """Only those of this assignee; an empty name means unassigned"""
    issue_type: NotRequired[Literal["bug", "task", "test", "chore"] | None]
    """Only those of this type"""
    labels: NotRequired[list[str]]
    """Only those with this label; may be given again"""
    parent: NotRequired[str | None]
    """Only those that are parts of this issue, or parts of its parts"""
    limit: NotRequired[int | None]
    """At most this many"""


class IssueSearchInput(TypedDict):
    """What issue.search is asked."""

    q: str
    """A text, taken literally; or a query: label:auth p<=1 words "exact phrase"; or a view: @NAME"""
    status: NotRequired[Literal["open", "in_progress", "closed", None]]
    """Only those with this status"""
    priority: NotRequired[Literal["p0", "p1", "p2", "p3", None]]
    """Only those with this priority"""
    assignee: NotRequired[str | None]
    """Only those of this assignee; an empty name means unassigned"""
    issue_type: NotRequired[Literal["bug", "task", "test", "chore"] | None]
    """Only those of this type"""
    labels: NotRequired[list[str]]
    """Only those with this label; may be given again"""
    parent: NotRequired[str | None]
    """Only those that are parts of this issue, or parts of its parts"""
    limit: NotRequired[int | None]
    """At most this many"""


class IssueCountInput(TypedDict):
    """What issue.count is asked."""

    q: NotRequired[str | None]
    """Only those that match this query: 'status:open label:auth -assignee:ben p<=1 due<+7d text', or a view:
    @NAME
    """
    by_status: NotRequired[bool]
    """By status"""
    by_priority: NotRequired[bool]
    """By priority"""
    by_issue_type: NotRequired[bool]
    """By type"""
    by_assignee: NotRequired[bool]
    """By assignee"""
    labels: NotRequired[list[str]]
    """Only those with this label; may be given again"""
    parent: NotRequired[str | None]
    """Only those that are parts of this issue, or parts of its parts"""


class IssueChildrenInput(TypedDict):
    """What issue.children is asked."""

    id: str
    """Which issue"""


class IssueHistoryInput(TypedDict):
    """What issue.history is asked."""

    id: str
    """Which issue"""
    limit: NotRequired[int | None]
    """At most this many"""


class IssueClaimNextInput(TypedDict):
    """What issue.claim_next is asked."""

    q: NotRequired[str | None]
    """Only issues that match this query"""
    ttl: NotRequired[str | None]
    """Let the claim expire unless renewed: 30s, 15m, 12h, 1d"""


class LabelListInput(TypedDict):
    """What label.list is asked."""


class LabelRenameInput(TypedDict):
    """What label.rename is asked."""

    old: str
    """The label"""
    new: str
    """What it is called from now on; an existing label takes its issues over"""


class LinkAddInput(TypedDict):
    """What link.add is asked."""

    id: str
    """Which issue"""
    to: str
    """The other issue"""
    kind: NotRequired[Literal["relates", "duplicates", "supersedes", "discovered-from"]]
    """How the first relates to the other"""


class LinkListInput(TypedDict):
    """What link.list is asked."""

    id: str
    """Which issue"""


class LinkRemoveInput(TypedDict):
    """What link.remove is asked."""

    id: str
    """Which issue"""
    to: str
    """The other issue"""
    kind: NotRequired[Literal["relates", "duplicates", "supersedes", "discovered-from"] | None]
    """Only links of this kind"""


class ViewSaveInput(TypedDict):
    """What view.save is asked."""

    name: str
    """What to call it; pn ls @NAME uses it"""
    query: str
    """The query: 'status:open label:auth due<+7d'"""


class ViewListInput(TypedDict):
    """What view.list is asked."""


class ViewRemoveInput(TypedDict):
    """What view.remove is asked."""

    name: str
    """Its name"""


class IssueTraceInput(TypedDict):
    """What issue.trace is asked."""

    id: str
    """The issue"""
    limit: NotRequired[int | None]
    """At most this many of the last entries; totals count all [default: 500]"""


class CostInput(TypedDict):
    """What cost is asked."""

    by: NotRequired[Literal["issue", "agent", "run", "session", "model", "day", None]]
    """What to group by [default: model]"""
    since: NotRequired[str | None]
    """From when on: how long ago, or a time"""
    issue: NotRequired[str | None]
    """Only sessions about this issue, and those of its runs"""


class TriageInsightsInput(TypedDict):
    """What triage.insights is asked."""

    limit: NotRequired[int | None]
    """At most this many of each kind [default: 10]"""
    stale: NotRequired[str | None]
    """Call a claim stale after this long without a change [default: 3d]"""


class TriagePlanInput(TypedDict):
    """What triage.plan is asked."""

    agents: NotRequired[int | None]
    """Make this many tracks, one for each agent"""
    limit: NotRequired[int | None]
    """At most this many to start now [default: 10, or one for each agent]"""


class TriageWhyInput(TypedDict):
    """What triage.why is asked."""

    id: str
    """Which issue"""


class TriageImpactInput(TypedDict):
    """What triage.impact is asked."""

    id: str
    """Which issue"""


class TriageDiffInput(TypedDict):
    """What triage.diff is asked."""

    since: str
    """The start: how long ago, or a time"""
    until: NotRequired[str | None]
    """The end: how long ago, or a time [default: now]"""


class TriageGraphInput(TypedDict):
    """What triage.graph is asked."""

    q: NotRequired[str | None]
    """Only issues that match this query: 'label:auth -assignee:ben p<=1 due<+7d text', or a view: @NAME"""
    limit: NotRequired[int | None]
    """At most this many of those that hold up the most [default: 60]"""


class TriageChartInput(TypedDict):
    """What triage.chart is asked."""

    since: NotRequired[str | None]
    """The start: how long ago, or a time [default: 30d]"""
    until: NotRequired[str | None]
    """The end: how long ago, or a time [default: now]"""


class EventListInput(TypedDict):
    """What event.list is asked."""

    after: NotRequired[int | None]
    """Only events after this number; 0 lists all [default: the last 50 events]"""
    subject: NotRequired[str | None]
    """Only events about this: an id or the beginning of one, or a kind such as issue, agent or run"""
    type: NotRequired[list[str]]
    """Only events of this type, such as closed, issue.created or task.*; may be given again"""
    by: NotRequired[str | None]
    """Only events of this actor"""
    limit: NotRequired[int | None]
    """At most this many: the first ones with --after, else the last ones"""


class StoreStatusInput(TypedDict):
    """What store.status is asked."""


class DepAddInput(TypedDict):
    """What dep.add is asked."""

    issue_id: str
    """The issue that waits"""
    depends_on_id: str
    """The issue that must be closed first"""


class DepRemoveInput(TypedDict):
    """What dep.remove is asked."""

    issue_id: str
    """The issue that waits"""
    depends_on_id: str
    """The issue it waits for"""


class DepListInput(TypedDict):
    """What dep.list is asked."""

    id: str
    """Which issue"""


class DepTreeInput(TypedDict):
    """What dep.tree is asked."""

    id: str
    """Which issue"""
    direction: NotRequired[Literal["up", "down"]]
    """Down to what it blocks, or up to what blocks it"""


class DepCyclesInput(TypedDict):
    """What dep.cycles is asked."""


class CommentAddInput(TypedDict):
    """What comment.add is asked."""

    id: str
    """Which issue"""
    text: str
    """The comment; - reads it from standard input"""


class CommentListInput(TypedDict):
    """What comment.list is asked."""

    id: str
    """Which issue"""


class RefAddInput(TypedDict):
    """What ref.add is asked."""

    id: str
    """Which issue"""
    target: str
    """An address, or the name of a tracker and a key in it: linear:PRJ-123"""
    title: NotRequired[str | None]
    """What it is called there"""


class RefListInput(TypedDict):
    """What ref.list is asked."""

    id: str
    """Which issue"""


class RefRemoveInput(TypedDict):
    """What ref.remove is asked."""

    id: str
    """Which reference; pn ref list shows the ids"""


class StoreExportInput(TypedDict):
    """What store.export is asked."""

    check: NotRequired[bool]
    """Write nothing; fail if an export would change the files"""
    events: NotRequired[bool | None]
    """Export the history of issues too, to events.jsonl [default: the setting export.events]"""
    no_stage: NotRequired[bool]
    """Do not stage the files in git"""
    worktree: NotRequired[str | None]
    """The worktree with the files, if it is not the main one"""


class StoreImportInput(TypedDict):
    """What store.import is asked."""

    authoritative: NotRequired[bool]
    """Replace the contents of the store with the files, after a backup"""
    worktree: NotRequired[str | None]
    """The worktree with the files, if it is not the main one"""


class ConflictListInput(TypedDict):
    """What conflict.list is asked."""

    limit: NotRequired[int | None]
    """At most this many, oldest first"""


class ConflictResolveInput(TypedDict):
    """What conflict.resolve is asked."""

    id: str
    """The conflict, or the beginning of its id"""
    take: Literal["kept", "other"]
    """Which value to use"""


class StoreDoctorInput(TypedDict):
    """What store.doctor is asked."""

    fix: NotRequired[bool]
    """Release every claim without a lease, and repair what can be repaired"""
    deep: NotRequired[bool]
    """Also rebuild the state from backup and journal, and compare it with every record of the database"""


class StoreGcInput(TypedDict):
    """What store.gc is asked."""

    older_than: NotRequired[str | None]
    """The minimum age: 12h, 7d [default: the setting gc.older-than, else 7d]"""
    dry_run: NotRequired[bool]
    """Only show what would be removed"""


class StoreSpaceInput(TypedDict):
    """What store.space is asked."""


class StoreBackupInput(TypedDict):
    """What store.backup is asked."""

    file: NotRequired[str | None]
    """The file to create; only on the machine of the store"""
    force: NotRequired[bool]
    """Replace an existing file"""


class StoreBackupsInput(TypedDict):
    """What store.backups is asked."""


class StoreRestoreInput(TypedDict):
    """What store.restore is asked."""

    file: str
    """The backup: a file, or a name from pn backup --list"""
    force: NotRequired[bool]
    """Also restore a backup of another store"""


class StoreWhereInput(TypedDict):
    """What store.where is asked."""


class StoreInfoInput(TypedDict):
    """What store.info is asked."""


class BatchInput(TypedDict):
    """What batch is asked."""

    operations: list[dict[str, Any] | None]


class UndoInput(TypedDict):
    """What undo is asked."""

    any: NotRequired[bool]
    """The last operation of anyone, not only of this actor and session"""
    by: NotRequired[str | None]
    """All operations of this actor"""
    since: NotRequired[str | None]
    """All operations since then: a duration such as 30m, or a time"""
    event: NotRequired[int | None]
    """The operation that wrote this event; pn undo --list and pn history show the numbers"""
    force: NotRequired[bool]
    """Even if another holds the claim on an issue whose state it changes"""
    dry_run: NotRequired[bool]
    """Only show what would be undone"""


class UndoListInput(TypedDict):
    """What undo.list is asked."""

    actor: NotRequired[str | None]
    """Only operations of this actor, in the caller's session [default: the caller]"""
    any: NotRequired[bool]
    """The operations of everyone, not only of this actor and session"""
    limit: NotRequired[int | None]
    """How many operations to list [default: 20]"""


class RedoInput(TypedDict):
    """What redo is asked."""

    any: NotRequired[bool]
    """The last undo of anyone, not only of this actor and session"""
    event: NotRequired[int | None]
    """The undo that wrote this event"""
    force: NotRequired[bool]
    """Even if another holds the claim on an issue whose state it changes"""
    dry_run: NotRequired[bool]
    """Only show what would be redone"""


class ProjectCreateInput(TypedDict):
    """What project.create is asked."""

    name: str
    """Its name, which is part of its URL: a-z, 0-9 and the characters . - _"""


class ProjectListInput(TypedDict):
    """What project.list is asked."""

    all: NotRequired[bool]
    """Archived ones too"""


class ProjectArchiveInput(TypedDict):
    """What project.archive is asked."""

    name: str
    """Which project"""
    undo: NotRequired[bool]
    """Serve it again"""


class TokenCreateInput(TypedDict):
    """What token.create is asked."""

    project: NotRequired[str | None]
    """Its project"""
    role: NotRequired[Literal["viewer", "agent", "maintainer", "admin", "operator"] | None]
    """Its role in the project"""
    operator: NotRequired[bool]
    """Allow it to manage the projects, tokens and audit of the server, but to open no project"""
    expires: NotRequired[str | None]
    """How long it is valid, such as 90d [default: until it is revoked]"""


class TokenListInput(TypedDict):
    """What token.list is asked."""

    project: NotRequired[str | None]
    """Only those of this project"""
    all: NotRequired[bool]
    """Expired and revoked ones too"""


class TokenRevokeInput(TypedDict):
    """What token.revoke is asked."""

    id: str
    """Its id; pn token list shows it"""


class AuditListInput(TypedDict):
    """What audit.list is asked."""

    project: NotRequired[str | None]
    """Only entries of this project"""
    token: NotRequired[str | None]
    """Only entries of this token"""
    since: NotRequired[str | None]
    """Only entries since then: a duration such as 7d, or a time"""
    limit: NotRequired[int | None]
    """At most this many"""


class AgentCreateInput(TypedDict):
    """What agent.create is asked."""

    type: Literal["user", "cron", "system", "subagent", "app", "permanent"]
    """Its type"""
    name: NotRequired[str | None]
    """Its name"""
    parent: NotRequired[str | None]
    """The agent it works for"""
    descriptor: NotRequired[dict[str, Any] | None]
    """A description of it: a JSON object of your own"""
    permissions: NotRequired[dict[str, Any] | None]
    """Its permissions: a JSON object of your own"""
    inference_session_id: NotRequired[str | None]
    """The inference provider's id of the conversation"""
    issue_id: NotRequired[str | None]
    """The issue that the session is about"""
    run_id: NotRequired[str | None]
    """The run that the session belongs to"""


class AgentListInput(TypedDict):
    """What agent.list is asked."""

    type: NotRequired[str | None]
    """Only those of this type"""
    lifecycle: NotRequired[Literal["active", "sleeping", "dead"] | None]
    """Only those that are active, sleeping or dead"""
    limit: NotRequired[int | None]
    """At most this many"""


class AgentShowInput(TypedDict):
    """What agent.show is asked."""

    id: str
    """Which agent: its id, the beginning of it, or its name"""


class AgentUpdateInput(TypedDict):
    """What agent.update is asked."""

    id: str
    """Which agent: its id, the beginning of it, or its name"""
    name: NotRequired[str | None]
    """A new name; an empty one removes it"""
    descriptor: NotRequired[dict[str, Any] | None]
    """A new descriptor, replacing the old one"""
    permissions: NotRequired[dict[str, Any] | None]
    """New permissions, replacing the old ones"""
    tokens: NotRequired[dict[str, Any] | None]
    """The tokens of its last inference; null removes them"""
    stats: NotRequired[dict[str, Any] | None]
    """The totals of all its inferences, replacing the old ones"""


class AgentDeleteInput(TypedDict):
    """What agent.delete is asked."""

    id: str
    """Which agent: its id, the beginning of it, or its name"""
    force: NotRequired[bool]
    """Confirm the deletion"""
    purge: NotRequired[bool]
    """Delete permanently: it cannot be undone"""


class AgentSleepInput(TypedDict):
    """What agent.sleep is asked."""

    id: str
    """Which agent: its id, the beginning of it, or its name"""


class AgentWakeInput(TypedDict):
    """What agent.wake is asked."""

    id: str
    """Which agent: its id, the beginning of it, or its name"""


class AgentKillInput(TypedDict):
    """What agent.kill is asked."""

    id: str
    """Which agent: its id, the beginning of it, or its name"""


class AgentImportInput(TypedDict):
    """What agent.import is asked."""

    id: str
    """Its id, which it keeps"""
    type: str
    """Its type, which this version may not know"""
    name: NotRequired[str | None]
    parent_id: NotRequired[str | None]
    """The agent it worked for"""
    descriptor: NotRequired[dict[str, Any]]
    permissions: NotRequired[dict[str, Any]]
    tokens: NotRequired[dict[str, Any] | None]
    stats: NotRequired[dict[str, Any]]
    lifecycle: Literal["active", "sleeping", "dead"]
    """The lifecycle state of an agent."""
    created_at: NotRequired[str | None]
    updated_at: NotRequired[str | None]
    sessions: list[ImportedSession]
    """In order; the last one is active"""
    no_redact: NotRequired[bool]
    """Do not redact secrets"""


class SessionListInput(TypedDict):
    """What session.list is asked."""

    agent: NotRequired[str | None]
    """Only those of this agent"""
    limit: NotRequired[int | None]
    """At most this many"""
    all: NotRequired[bool]
    """Archived ones too"""


class SessionSearchInput(TypedDict):
    """What session.search is asked."""

    q: str
    """The text to search for, literally"""
    agent: NotRequired[str | None]
    """Only those of this agent"""
    limit: NotRequired[int | None]
    """At most this many [default: 50]"""


class SessionShowInput(TypedDict):
    """What session.show is asked."""

    id: str
    """Which session: its id, or the beginning of it"""


class SessionDeleteInput(TypedDict):
    """What session.delete is asked."""

    id: str
    """Which session: its id, or the beginning of it"""


class SessionArchiveInput(TypedDict):
    """What session.archive is asked."""

    id: str
    """Which session: its id, or the beginning of it"""


class SessionPruneInput(TypedDict):
    """What session.prune is asked."""

    older_than: str
    """The minimum time since their end, such as 30d"""
    agent: NotRequired[str | None]
    """Only those of this agent"""


class SessionResetInput(TypedDict):
    """What session.reset is asked."""

    id: str
    """Which agent: its id, the beginning of it, or its name"""
    message: NotRequired[str | None]
    """The message that opens the next session; - reads it from standard input"""
    inference_session_id: NotRequired[str | None]
    """The inference provider's id of the conversation"""
    issue_id: NotRequired[str | None]
    """The issue that the session is about"""
    run_id: NotRequired[str | None]
    """The run that the session belongs to"""


class SessionCompactInput(TypedDict):
    """What session.compact is asked."""

    id: str
    """Which agent: its id, the beginning of it, or its name"""
    summary: str
    """The summary that opens the next session; - reads it from standard input"""
    inference_session_id: NotRequired[str | None]
    """The inference provider's id of the conversation"""
    issue_id: NotRequired[str | None]
    """The issue that the session is about"""
    run_id: NotRequired[str | None]
    """The run that the session belongs to"""


class SessionAppendInput(TypedDict):
    """What session.append is asked."""

    id: str
    """Which agent: its id, the beginning of it, or its name"""
    entries: list[NewEntry]
    """The entries, in order"""
    no_redact: NotRequired[bool]
    """Do not redact secrets"""


class SessionHistoryInput(TypedDict):
    """What session.history is asked."""

    id: str
    """Which session or agent"""
    all: NotRequired[bool]
    """The entries of all sessions of the agent"""
    after: NotRequired[int | None]
    """Only entries after this number"""
    skip: NotRequired[int | None]
    """Skip this many of the oldest entries of a session"""
    limit: NotRequired[int | None]
    """At most this many"""


class SessionContextInput(TypedDict):
    """What session.context is asked."""

    id: str
    """Which agent: its id, the beginning of it, or its name"""
    max_tokens: NotRequired[int | None]
    """Keep the opening message, and of the rest the newest whole turns that fit; a token is about four bytes"""


class RepoAddInput(TypedDict):
    """What repo.add is asked."""

    vcs: Literal["git", "hg", "jj", "bzr", "fossil", "pijul"]
    """The version control system of a repository."""
    host: NotRequired[str | None]
    """The machine that has the directory"""
    root_path: NotRequired[str | None]
    remote_url: NotRequired[str | None]
    default_branch: NotRequired[str | None]


class RepoListInput(TypedDict):
    """What repo.list is asked."""

    remote: NotRequired[str | None]
    """Only those with this remote URL"""
    limit: NotRequired[int | None]
    """At most this many"""


class RepoShowInput(TypedDict):
    """What repo.show is asked."""

    id: str
    """Which repository: its id, the beginning of it, or its root"""


class RepoRemoveInput(TypedDict):
    """What repo.remove is asked."""

    id: str
    """Which repository: its id, the beginning of it, or its root"""


class WorkspaceCreateInput(TypedDict):
    """What workspace.create is asked."""

    name: str
    """Its name"""
    external_id: NotRequired[str | None]
    """Its id in another system"""


class WorkspaceListInput(TypedDict):
    """What workspace.list is asked."""


class RunStartInput(TypedDict):
    """What run.start is asked."""

    repo: NotRequired[str | None]
    """Its repository: the id, the beginning of it, or the root [default: the one that contains the current
    directory]
    """
    harness: NotRequired[str | None]
    """The agent software and its version, such as claude-code@2.1"""
    runtime: NotRequired[str | None]
    """Where it runs: local, nosandbox, devcontainer, devcontainer:PATH"""
    workspace: NotRequired[str | None]
    """Its workspace on the server"""
    issue: NotRequired[str | None]
    """The issue it works on"""
    session: NotRequired[str | None]
    """Its session"""
    prompt: NotRequired[str | None]
    """The prompt of the agent; - reads it from standard input"""
    branch: NotRequired[str | None]
    """The branch it works on"""
    delivery: NotRequired[Literal["branch", "patch", "pr"] | None]
    """How the work is delivered"""
    workspace_path: NotRequired[str | None]
    """Its private working directory"""
    no_browser: NotRequired[bool]
    """Do not let it use a browser"""
    browser_profile: NotRequired[str | None]
    """The profile of its browser"""
    chatgpt_username: NotRequired[str | None]
    """Its ChatGPT account"""
    codex_workspace: NotRequired[str | None]
    """Its Codex workspace"""
    labels: NotRequired[dict[str, str]]
    """Labels: names and values of your own"""
    seen: NotRequired[Seen | None]
    """The repository as detected; added if it is not known"""
    command: NotRequired[list[str]]
    """The program and its arguments"""
    instances: NotRequired[int | None]
    """How many runs are launched together"""
    group: NotRequired[str | None]
    """The group that runs launched together share"""
    created: NotRequired[bool]
    """Its command is not running yet"""
    claim: NotRequired[str | None]
    """Claim the issue, with a lease of this length that the run renews"""
    host: NotRequired[str | None]
    """Its machine"""
    agent: NotRequired[Process | None]
    """The command's process"""
    supervisor: NotRequired[Process | None]
    """The process that supervises it"""
    log_path: NotRequired[str | None]
    """The file for its output"""
    log_dir: NotRequired[str | None]
    """The directory for its output, in a file named after the run"""


class RunListInput(TypedDict):
    """What run.list is asked."""

    status: NotRequired[Literal["running", "failed", "succeeded", "cancelled", "created"] | None]
    """Only those with this status"""
    issue: NotRequired[str | None]
    """Only those for this issue"""
    repo: NotRequired[str | None]
    """Only those in this repository"""
    group: NotRequired[str | None]
    """Only those of this group"""
    host: NotRequired[str | None]
    """Only those on this machine"""
    limit: NotRequired[int | None]
    """At most this many"""


class RunUpdateInput(TypedDict):
    """What run.update is asked."""

    id: str
    """Which run: its id, or the beginning of it"""
    started: NotRequired[bool]
    """Its command is running"""
    agent: NotRequired[Process | None]
    """The command's process"""
    supervisor: NotRequired[Process | None]
    """The process that supervises it"""
    session: NotRequired[str | None]
    """Its session"""
    multiplexer_kind: NotRequired[Literal["tmux", "zellij", "screen", None]]
    """A terminal multiplexer."""
    mux_session: NotRequired[str | None]
    mux_window: NotRequired[int | None]
    pane_left: NotRequired[str | None]
    pane_right: NotRequired[str | None]


class RunShowInput(TypedDict):
    """What run.show is asked."""

    id: str
    """Which run: its id, or the beginning of it"""


class RunFinishInput(TypedDict):
    """What run.finish is asked."""

    id: str
    """Which run: its id, or the beginning of it"""
    status: Literal["running", "failed", "succeeded", "cancelled", "created"]
    """succeeded, failed or cancelled"""
    exit_code: NotRequired[int | None]
    """The exit code of the command"""
    signal: NotRequired[int | None]
    """The signal that ended the command"""
    reason: NotRequired[str | None]
    """Why, in words"""
    agent: NotRequired[Process | None]
    """The command's process, if not yet recorded"""
    if_supervisor: NotRequired[Process | None]
    """Only if this process still supervises it"""


class RunEventsInput(TypedDict):
    """What run.events is asked."""

    id: str
    """Which run: its id, or the beginning of it"""
    after: NotRequired[int | None]
    """Only events after this number"""
    limit: NotRequired[int | None]
    """At most this many"""


class RunEventInput(TypedDict):
    """What run.event is asked."""

    id: str
    """Which run: its id, or the beginning of it"""
    type: str
    """Its type, a word of your own such as tool_call"""
    data: NotRequired[Any]
    """Its data: any JSON"""


class HarnessListInput(TypedDict):
    """What harness.list is asked."""


class HarnessSetInput(TypedDict):
    """What harness.set is asked."""

    harness: str
    """The agent software and its version, such as claude-code@2.1"""
    metadata: NotRequired[dict[str, Any] | None]
    """A JSON object of your own, replacing the old one; absent removes it"""


class RuntimeListInput(TypedDict):
    """What runtime.list is asked."""


class RuntimeSetInput(TypedDict):
    """What runtime.set is asked."""

    id: str
    """Which runtime: its id, or the beginning of it"""
    metadata: NotRequired[dict[str, Any] | None]
    """A JSON object of your own, replacing the old one; absent removes it"""


class SnapshotCreateInput(TypedDict):
    """What snapshot.create is asked."""

    id: NotRequired[str | None]
    """Its id, if it has one already"""
    kind: NotRequired[Literal["manual", "safety"]]
    """Why it was taken"""
    provider: Literal["git", "copy", "btrfs", "zfs", "overlay"]
    """How the content of a snapshot is stored."""
    repo: NotRequired[str | None]
    """Which repository the tree belongs to: its id, the beginning of it, or its root"""
    seen: NotRequired[Seen | None]
    """The repository as detected; added if it is not known"""
    run: NotRequired[str | None]
    """The run it was taken for"""
    host: str
    """The machine that has the tree and the content"""
    root: str
    """The tree"""
    ref: NotRequired[str | None]
    """Its name at the provider"""
    path: NotRequired[str | None]
    """The path of its content"""
    parent: NotRequired[str | None]
    """Its parent snapshot"""
    label: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any]]
    """Facts about the content, such as its hash"""


class SnapshotListInput(TypedDict):
    """What snapshot.list is asked."""

    run: NotRequired[str | None]
    """Only those of this run"""
    repo: NotRequired[str | None]
    """Only those of this repository"""
    provider: NotRequired[Literal["git", "copy", "btrfs", "zfs", "overlay"] | None]
    """Only those of this provider"""
    host: NotRequired[str | None]
    """Only those on this machine"""
    root: NotRequired[str | None]
    """Only those of the tree at this path"""
    limit: NotRequired[int | None]
    """At most this many"""


class SnapshotShowInput(TypedDict):
    """What snapshot.show is asked."""

    id: str
    """Which snapshot: its id, or the beginning of it"""


class SnapshotDeleteInput(TypedDict):
    """What snapshot.delete is asked."""

    id: str
    """Which snapshot: its id, or the beginning of it"""


class SnapshotRestoreInput(TypedDict):
    """What snapshot.restore is asked."""

    id: str
    """Which snapshot: its id, or the beginning of it"""
    safety: str
    """The snapshot of the previous state"""


class JobStartInput(TypedDict):
    """What job.start is asked."""

    lane: str
    """Its lane: no-net, net, heavy, or one from the settings"""
    tool: NotRequired[str | None]
    """Its tool [default: the name of the program]"""
    loop: NotRequired[str | None]
    """Its loop"""
    run: NotRequired[str | None]
    """Its run [default: PN_RUN, as pn run exec sets it]"""
    session: NotRequired[str | None]
    """The session that requested it [default: that of the run]"""
    issue: NotRequired[str | None]
    """Its issue [default: that of the run]"""
    command: NotRequired[list[str]]
    """The program and its arguments"""
    cwd: NotRequired[str | None]
    """Its working directory"""
    slots: int
    """How many slots the lane has on its machine"""
    timeout: str
    """Its time limit"""
    wait: NotRequired[str | None]
    """How long to wait in the queue for a slot; without it, the job is refused if no slot is free"""
    host: NotRequired[str | None]
    """Its machine"""
    process: NotRequired[Process | None]
    """The command's process"""
    supervisor: NotRequired[Process | None]
    """The process that supervises it"""


class JobListInput(TypedDict):
    """What job.list is asked."""

    status: NotRequired[Literal["running", "succeeded", "failed", "pending", "timeout", "cancelled"] | None]
    """Only those with this status"""
    lane: NotRequired[str | None]
    """Only those of this lane"""
    tool: NotRequired[str | None]
    """Only those of this tool"""
    loop: NotRequired[str | None]
    """Only those of this loop"""
    run: NotRequired[str | None]
    """Only those of this run"""
    session: NotRequired[str | None]
    """Only those of this session"""
    issue: NotRequired[str | None]
    """Only those about this issue"""
    host: NotRequired[str | None]
    """Only those on this machine"""
    limit: NotRequired[int | None]
    """At most this many"""


class JobTakeInput(TypedDict):
    """What job.take is asked."""

    id: str
    """Which job: its id, or the beginning of it"""
    slots: int
    """How many slots the lane has on its machine"""


class JobUpdateInput(TypedDict):
    """What job.update is asked."""

    id: str
    """Which job: its id, or the beginning of it"""
    process: Process
    """The command's process"""


class JobShowInput(TypedDict):
    """What job.show is asked."""

    id: str
    """Which job: its id, or the beginning of it"""


class JobFinishInput(TypedDict):
    """What job.finish is asked."""

    id: str
    """Which job: its id, or the beginning of it"""
    status: NotRequired[Literal["running", "succeeded", "failed", "pending", "timeout", "cancelled"] | None]
    """succeeded, failed, timeout or cancelled [default: from the exit code]"""
    exit_code: NotRequired[int | None]
    """The exit code of the command"""
    signal: NotRequired[int | None]
    """The signal that ended the command"""
    reason: NotRequired[str | None]
    """Why, in words"""
    output: NotRequired[str | None]
    """Its output, as far as it is to be stored"""
    output_bytes: NotRequired[int | None]
    """The size of its whole output in bytes, stored or not"""
    truncated: NotRequired[bool]
    """Whether only a part of its output is stored"""
    process: NotRequired[Process | None]
    """The command's process, if not yet recorded"""


class JobCancelInput(TypedDict):
    """What job.cancel is asked."""

    id: str
    """Which job: its id, or the beginning of it"""


class JobSettleInput(TypedDict):
    """What job.settle is asked."""

    host: str
    """The machine that was checked"""
    lost: NotRequired[list[str]]
    """Its jobs without a supervisor"""
    overdue: NotRequired[list[str]]
    """Its jobs that exceeded their time limit and have no known process"""


class JobImportInput(TypedDict):
    """What job.import is asked."""

    records: list[dict[str, Any]]


class JobStatsInput(TypedDict):
    """What job.stats is asked."""

    since: NotRequired[str | None]
    """Only those that started since then: a duration such as 24h, or a time"""
    lane: NotRequired[str | None]
    """Only those of this lane"""
    tool: NotRequired[str | None]
    """Only those of this tool"""


class KvGetInput(TypedDict):
    """What kv.get is asked."""

    key: str
    """Its name"""
    scope: str
    """user, project, repo, runtime, or another"""


class KvSetInput(TypedDict):
    """What kv.set is asked."""

    key: str
    """Its name"""
    value: str
    """The value; - reads it from standard input"""
    scope: str
    """user, project, repo, runtime, or another"""
    if_value: NotRequired[str | None]
    """Only if this is the old value"""
    if_absent: NotRequired[bool]
    """Only if there is no old value"""


class KvListInput(TypedDict):
    """What kv.list is asked."""

    scope: NotRequired[str | None]
    """Only those of this scope"""
    prefix: NotRequired[str | None]
    """Only those whose names start with this"""
    limit: NotRequired[int | None]
    """At most this many"""


class KvDeleteInput(TypedDict):
    """What kv.delete is asked."""

    key: str
    """Its name"""
    scope: str
    """user, project, repo, runtime, or another"""
    if_value: NotRequired[str | None]
    """Only if this is the value"""


class RecordPutInput(TypedDict):
    """What record.put is asked."""

    collection: str
    """The collection, such as jobs; the first record creates it"""
    data: dict[str, Any]
    """The document"""
    id: NotRequired[str | None]
    """Its id [default: the one in the document, or a new one]"""
    if_rev: NotRequired[int | None]
    """Only if the record has this revision; 0 means that it does not exist"""
    if_present: NotRequired[bool]
    """Only if the record exists"""
    updated_at: NotRequired[str | None]
    """The time of the change [default: now]"""


class RecordQueryInput(TypedDict):
    """What record.query is asked."""

    collection: str
    """The collection"""
    where: NotRequired[list[str]]
    """Only records that pass this test; may be given again"""
    order: NotRequired[str | None]
    """Sort by this field, or by FIELD desc [default: id]"""
    limit: NotRequired[int | None]
    """At most this many"""
    after: NotRequired[str | None]
    """Continue at the cursor of an earlier answer"""


class RecordDeleteInput(TypedDict):
    """What record.delete is asked."""

    collection: str
    """The collection"""
    id: NotRequired[str | None]
    """The record"""
    where: NotRequired[list[str]]
    """All records that pass this test; may be given again"""
    if_rev: NotRequired[int | None]
    """Only if the record has this revision"""


class RecordGetInput(TypedDict):
    """What record.get is asked."""

    collection: str
    """Its collection"""
    id: str
    """Its id"""


class RecordCountInput(TypedDict):
    """What record.count is asked."""

    collection: str
    """The collection"""
    where: NotRequired[list[str]]
    """Only records that pass this test; may be given again"""


class RecordCollectionsInput(TypedDict):
    """What record.collections is asked."""


class RecordApplyInput(TypedDict):
    """What record.apply is asked."""

    changes: list[Change]


class RecordIndexInput(TypedDict):
    """What record.index is asked."""

    collection: str
    """The collection"""
    fields: NotRequired[list[str]]
    """The fields"""
    rebuild: NotRequired[bool]
    """Rebuild the indexes from the records"""
    redact: NotRequired[bool]
    """Redact secrets in documents that are stored from now on"""
    check: NotRequired[bool]
    """Compare the indexes with the records, and rebuild them if they differ"""


class RecordCompactInput(TypedDict):
    """What record.compact is asked."""


class WorkStartInput(TypedDict):
    """What work.start is asked."""

    what: str
    """An issue, or the title of a new one"""
    kind: NotRequired[Literal["feature", "bug", "improvement", "refactor", "chore", None]]
    """What it means for users [default: from the issue's type]"""
    branch: NotRequired[str | None]
    """Its branch"""
    steps: NotRequired[list[str]]
    """A step; may be given again"""
    ttl: NotRequired[str | None]
    """Let the claim expire unless renewed: 30s, 15m, 12h, 1d"""


class WorkCurrentInput(TypedDict):
    """What work.current is asked."""

    actor: str
    """The actor, if no issue is given"""
    issue: NotRequired[str | None]
    """The issue"""


class WorkPauseInput(TypedDict):
    """What work.pause is asked."""

    issue: NotRequired[str | None]
    """Its issue [default: your current work]"""


class WorkResumeInput(TypedDict):
    """What work.resume is asked."""

    issue: NotRequired[str | None]
    """Which issue [default: the one you have paused]"""
    take: NotRequired[bool]
    """Take it over from the actor who claimed it"""
    force: NotRequired[bool]
    """Take it over even from a live lease or another session"""
    ttl: NotRequired[str | None]
    """Let the claim expire unless renewed: 30s, 15m, 12h, 1d"""


class WorkDoneInput(TypedDict):
    """What work.done is asked."""

    issue: NotRequired[str | None]
    """Its issue [default: your current work]"""
    reason: NotRequired[str | None]
    """The close reason of the issue"""
    force: NotRequired[bool]
    """Even if another holds the claim"""


class WorkStepAddInput(TypedDict):
    """What work.step.add is asked."""

    steps: list[str]
    """The steps"""
    issue: NotRequired[str | None]
    """Its issue [default: your current work]"""


class WorkStepListInput(TypedDict):
    """What work.step.list is asked."""

    actor: str
    """The actor, if no issue is given"""
    issue: NotRequired[str | None]
    """Its issue [default: your current work]"""


class WorkStepDoneInput(TypedDict):
    """What work.step.done is asked."""

    number: NotRequired[int | None]
    """Its number, from 1 [default: the first that is not done]"""
    issue: NotRequired[str | None]
    """Its issue [default: your current work]"""


class WorkListInput(TypedDict):
    """What work.list is asked."""

    status: NotRequired[Literal["active", "paused", "done", None]]
    """Only work with this status"""
    actor: NotRequired[str | None]
    """Only work of this actor"""
    limit: NotRequired[int | None]
    """At most this many"""


class ReleaseShipInput(TypedDict):
    """What release.ship is asked."""

    name: str
    """What was shipped, in one line"""
    version: str
    """The version; features shipped together share one"""
    kind: NotRequired[Literal["feature", "bug", "improvement", "refactor", "chore"]]
    """What it means for users"""
    issues: NotRequired[list[str]]
    """An issue that it contains; may be given again"""
    notes: NotRequired[str | None]
    """Notes for users; - reads them from standard input"""


class ReleaseListInput(TypedDict):
    """What release.list is asked."""

    limit: NotRequired[int | None]
    """At most this many"""


class ReleaseChangelogInput(TypedDict):
    """What release.changelog is asked."""

    since: NotRequired[str | None]
    """Only changes after this version"""


class SkillSetInput(TypedDict):
    """What skill.set is asked."""

    name: str
    """The file, such as frontend.md"""
    skills: list[str]
    """The skills that it requires"""


class SkillListInput(TypedDict):
    """What skill.list is asked."""


class SkillRemoveInput(TypedDict):
    """What skill.remove is asked."""

    name: str
    """The file"""


class SkillImportInput(TypedDict):
    """What skill.import is asked."""

    mappings: dict[str, list[str]]


class LearningRememberInput(TypedDict):
    """What learning.remember is asked."""

    text: str
    """The finding; - reads it from standard input"""
    kind: NotRequired[Literal["pattern", "approach", "decision", "gotcha"] | None]
    """Its kind [default: pattern]"""
    tags: NotRequired[list[str]]
    """A tag; may be given again"""
    files: NotRequired[list[str]]
    """A file it is about; may be given again"""
    issue: NotRequired[str | None]
    """The issue it came from"""
    work: NotRequired[str | None]
    """The work it came from, by its issue"""
    session: NotRequired[str | None]
    """The session it came from"""
    impact: NotRequired[Literal["high", "medium", "low", None]]
    """How much it matters [default: medium]"""
    expires: NotRequired[str | None]
    """How long it is valid, such as 90d"""
    supersedes: NotRequired[str | None]
    """The learning that it replaces"""
    no_redact: NotRequired[bool]
    """Do not redact secrets"""


class LearningListInput(TypedDict):
    """What learning.list is asked."""

    kind: NotRequired[Literal["pattern", "approach", "decision", "gotcha"] | None]
    """Only those of this kind"""
    tag: NotRequired[str | None]
    """Only those with this tag"""
    issue: NotRequired[str | None]
    """Only those of this issue or of the work on it"""
    all: NotRequired[bool]
    """Also those that have expired or were superseded"""
    limit: NotRequired[int | None]
    """At most this many"""


class LearningTakeInput(TypedDict):
    """What learning.take is asked."""

    records: list[dict[str, Any]]
    """Each with lists of patterns, approaches, decisions and gotchas in `learnings`"""
    no_redact: NotRequired[bool]
    """Do not redact secrets"""


class LearningShowInput(TypedDict):
    """What learning.show is asked."""

    id: str
    """Which learning: its id, or the beginning of it"""


class LearningForgetInput(TypedDict):
    """What learning.forget is asked."""

    id: str
    """Which learning: its id, or the beginning of it"""
    with_descendants: NotRequired[bool]
    """Also those that were merged with it, supersede it or cite it, and so on"""


class LearningVerifyInput(TypedDict):
    """What learning.verify is asked."""

    id: str
    """Which learning: its id, or the beginning of it"""
    expires: NotRequired[str | None]
    """How long it is valid from now on"""


class LearningUsefulInput(TypedDict):
    """What learning.useful is asked."""

    id: str
    """Which learning: its id, or the beginning of it"""


class LearningConflictsInput(TypedDict):
    """What learning.conflicts is asked."""

    id: NotRequired[str | None]
    """Only those of this learning"""
    limit: NotRequired[int | None]
    """At most this many [default: 50]"""


class LearningAgreeInput(TypedDict):
    """What learning.agree is asked."""

    id: str
    """Which learning"""
    other: str
    """The one that it agrees with"""


class LearningSupersedeInput(TypedDict):
    """What learning.supersede is asked."""

    id: str
    """The learning that no longer holds"""
    by: str
    """The learning that holds"""


class LearningMergeInput(TypedDict):
    """What learning.merge is asked."""

    id: str
    """The learning that goes"""
    into: str
    """The learning that stays"""


class LearningReviewInput(TypedDict):
    """What learning.review is asked."""

    unused_for: NotRequired[str | None]
    """After how long without use [default: 180d]"""
    gone: NotRequired[list[str]]
    """Files that are gone; the caller looks, since a store knows no work tree"""
    limit: NotRequired[int | None]
    """At most this many [default: 50]"""


class LearningFilesInput(TypedDict):
    """What learning.files is asked."""


class LearningAboutInput(TypedDict):
    """What learning.about is asked."""

    files: NotRequired[list[str]]
    """Paths; a name alone stands for every file of that name"""
    kind: NotRequired[Literal["pattern", "approach", "decision", "gotcha"] | None]
    """Only those of this kind"""


class LearningMoveFilesInput(TypedDict):
    """What learning.move_files is asked."""

    moves: list[FileMove]
    """Applied in this order"""


class LearningStatsInput(TypedDict):
    """What learning.stats is asked."""


class DistillProposeInput(TypedDict):
    """What distill.propose is asked."""

    session: NotRequired[str | None]
    """Only this session"""
    issue: NotRequired[str | None]
    """Only this issue, its comments, and the sessions about it"""
    since: NotRequired[str | None]
    """What happened since then: a duration such as 7d, or a time [default: 7d]"""
    commits: NotRequired[list[list[str]]]
    """The files of each commit; the caller reads them, since a store knows no repository"""


class DistillPromptInput(TypedDict):
    """What distill.prompt is asked."""

    session: NotRequired[str | None]
    """Only this session"""
    issue: NotRequired[str | None]
    """Only this issue, its comments, and the sessions about it"""
    since: NotRequired[str | None]
    """What happened since then: a duration such as 7d, or a time [default: 7d]"""
    max_tokens: NotRequired[int | None]
    """At most this many tokens, at four bytes each [default: 8000]"""


class LearningRememberAllInput(TypedDict):
    """What learning.remember_all is asked."""

    learnings: list[Remember]


class LoopCreateInput(TypedDict):
    """What loop.create is asked."""

    loop_type: Literal["plan", "spec", "phase", "code"]
    """Its type"""
    prompt_path: str
    """The file with its prompt"""
    validation_command: str
    """The command whose exit code says whether an iteration is valid"""
    parent: NotRequired[str | None]
    """The loop that must be complete first"""
    issue: NotRequired[str | None]
    """Its issue"""
    max_iterations: NotRequired[int | None]
    """The most iterations [default: 100]"""
    worktree: NotRequired[str | None]
    """Its worktree [default: worktrees/ID]"""
    input_artifact: NotRequired[str | None]
    """The artifact it starts from"""
    context: NotRequired[Any]
    """Values for its prompts: any JSON"""


class LoopListInput(TypedDict):
    """What loop.list is asked."""

    loop_type: NotRequired[Literal["plan", "spec", "phase", "code", None]]
    """Only those of this type"""
    status: NotRequired[Literal["running", "paused", "complete", "failed", "pending", "rebasing", "awaiting_approval", "invalidated"] | None]
    """Only those with this status"""
    parent: NotRequired[str | None]
    """Only children of this loop"""
    issue: NotRequired[str | None]
    """Only those for this issue"""
    holder: NotRequired[str | None]
    """Only those that this actor runs or ran last"""
    runnable: NotRequired[bool]
    """Only those that can be claimed, in the order of claiming"""
    all: NotRequired[bool]
    """Archived ones too"""
    limit: NotRequired[int | None]
    """At most this many"""


class LoopTakeInput(TypedDict):
    """What loop.take is asked."""

    records: list[dict[str, Any]]
    """Each a loop with at least its id, type and status; the rest has defaults"""


class LoopTakeFilesInput(TypedDict):
    """What loop.take_files is asked."""

    id: str
    """The loop; its record need not exist"""
    archived: NotRequired[bool]
    """Whether they are in the archive"""
    parts: list[FilePart]
    current: NotRequired[str | None]
    """The iteration to which `current` points"""


class LoopShowInput(TypedDict):
    """What loop.show is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""


class LoopTreeInput(TypedDict):
    """What loop.tree is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""


class LoopClaimInput(TypedDict):
    """What loop.claim is asked."""

    loop_type: NotRequired[Literal["plan", "spec", "phase", "code", None]]
    """Only one of this type"""
    host: NotRequired[str | None]
    """The machine that runs it"""
    pid: NotRequired[int | None]
    """The process that runs it [default: the one that called pn]"""


class LoopStartInput(TypedDict):
    """What loop.start is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    reason: NotRequired[str | None]
    """Why"""
    progress: NotRequired[str | None]
    """Its progress, in words"""
    host: NotRequired[str | None]
    """The machine that runs it"""
    pid: NotRequired[int | None]
    """The process that runs it [default: the one that called pn]"""


class LoopPauseInput(TypedDict):
    """What loop.pause is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    reason: NotRequired[str | None]
    """Why"""
    progress: NotRequired[str | None]
    """Its progress, in words"""


class LoopResumeInput(TypedDict):
    """What loop.resume is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    reason: NotRequired[str | None]
    """Why"""
    progress: NotRequired[str | None]
    """Its progress, in words"""
    host: NotRequired[str | None]
    """The machine that runs it"""
    pid: NotRequired[int | None]
    """The process that runs it [default: the one that called pn]"""


class LoopRebaseInput(TypedDict):
    """What loop.rebase is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    reason: NotRequired[str | None]
    """Why"""
    progress: NotRequired[str | None]
    """Its progress, in words"""


class LoopIterateInput(TypedDict):
    """What loop.iterate is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    progress: NotRequired[str | None]
    """Its progress, in words"""
    files: NotRequired[list[IterationFile]]
    """The files of the iteration"""


class LoopSubmitInput(TypedDict):
    """What loop.submit is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    reason: NotRequired[str | None]
    """Why"""
    progress: NotRequired[str | None]
    """Its progress, in words"""
    outputs: NotRequired[list[str]]
    """A file it produced; may be given again"""


class LoopApproveInput(TypedDict):
    """What loop.approve is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    reason: NotRequired[str | None]
    """Why"""
    children: NotRequired[list[Create]]
    """The child loops to create"""


class LoopRejectInput(TypedDict):
    """What loop.reject is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    reason: NotRequired[str | None]
    """Why"""
    progress: NotRequired[str | None]
    """Its progress, in words"""


class LoopCompleteInput(TypedDict):
    """What loop.complete is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    reason: NotRequired[str | None]
    """Why"""
    progress: NotRequired[str | None]
    """Its progress, in words"""
    outputs: NotRequired[list[str]]
    """A file it produced; may be given again"""


class LoopFailInput(TypedDict):
    """What loop.fail is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    reason: NotRequired[str | None]
    """Why"""
    progress: NotRequired[str | None]
    """Its progress, in words"""


class LoopInvalidateInput(TypedDict):
    """What loop.invalidate is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    reason: NotRequired[str | None]
    """Why"""


class LoopArchiveInput(TypedDict):
    """What loop.archive is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    reason: NotRequired[str | None]
    """Why"""
    progress: NotRequired[str | None]
    """Its progress, in words"""


class LoopRecoverInput(TypedDict):
    """What loop.recover is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    work_is_gone: NotRequired[bool]
    """Whether its worktree is gone"""
    if_host: NotRequired[str | None]
    """Only if it runs on this machine"""
    if_pid: NotRequired[int | None]
    """Only if this process runs it"""


class SignalTakeInput(TypedDict):
    """What signal.take is asked."""

    records: list[dict[str, Any]]
    """Each a signal with at least its id and type; the rest has defaults"""


class SignalShowInput(TypedDict):
    """What signal.show is asked."""

    id: str
    """Which signal: its id, or the beginning of it"""


class SignalPruneInput(TypedDict):
    """What signal.prune is asked."""

    older_than: NotRequired[str | None]
    """The minimum time since then, such as 30d [default: 7d]"""


class LockAcquireInput(TypedDict):
    """What lock.acquire is asked."""

    name: str
    """The name of the lock"""
    ttl: NotRequired[str | None]
    """How long it lasts unless renewed: 30s, 15m, 12h, 1d [default: 60s]"""
    token: NotRequired[str | None]
    """The secret of the holder [default: a new one]"""


class LockListInput(TypedDict):
    """What lock.list is asked."""

    all: NotRequired[bool]
    """Free locks too"""
    limit: NotRequired[int | None]
    """At most this many [default: 1000]"""


class LockReleaseInput(TypedDict):
    """What lock.release is asked."""

    name: str
    """The name of the lock"""
    token: NotRequired[str | None]
    """Only if it is still held with this token"""
    force: NotRequired[bool]
    """Even if another holds it"""


class LockStatusInput(TypedDict):
    """What lock.status is asked."""

    name: str
    """The name of the lock"""


class ContextInput(TypedDict):
    """What context is asked."""

    max_tokens: NotRequired[int | None]
    """At most this many tokens, at four bytes each [default: 2000]"""
    format: NotRequired[Literal["json", "md"] | None]
    """The format to which the limit applies [default: md]"""
    who: NotRequired[str | None]
    """The actor to brief [default: everybody]"""


class SyncChangesInput(TypedDict):
    """What sync.changes is asked."""

    after: NotRequired[str | None]
    """The cursor of the previous page; without it, everything"""
    limit: NotRequired[int | None]
    """About this many"""
    sessions: NotRequired[bool]
    """Sessions, which are synced separately"""


class SyncTakeInput(TypedDict):
    """What sync.take is asked."""

    entries: NotRequired[list[Sent2]]
    peer: NotRequired[Progress | None]
    """The store that they come from, if this one keeps the sync state of the two"""


class SyncPendingInput(TypedDict):
    """What sync.pending is asked."""

    peer: str
    """The id of the other store"""
    after: NotRequired[str | None]
    """The cursor of the previous page"""
    limit: NotRequired[int | None]
    """About this many"""


class SyncPeersInput(TypedDict):
    """What sync.peers is asked."""

    peer: NotRequired[str | None]
    """Only the store with this id, even if it is unknown"""
    limit: NotRequired[int | None]
    """At most this many pending events for each"""


class TrackerExportInput(TypedDict):
    """What tracker.export is asked."""

    after: NotRequired[str | None]
    """Only those after this one"""
    limit: NotRequired[int | None]
    """At most this many [default: 1000]"""


Code = Literal["not_found", "already_claimed", "cycle_detected", "invalid_status_transition", "invalid_input", "ambiguous_id", "conflict", "lease_lost", "no_store", "no_repo", "wrong_store", "unreachable", "unauthorized", "forbidden", "unsupported", "too_large", "busy", "timeout", "corrupt", "newer_schema", "disk_full", "unknown_outcome", "internal"]


Claim = TypedDict(
    "Claim",
    {
        "actor": str,
        "from": str,
        "until": NotRequired[str | None],
        "ended_by": NotRequired[str | None],
        "duration_ms": int,
    },
)
"""A period in which somebody held the issue."""


HitId = int | str


FileMove = TypedDict(
    "FileMove",
    {
        "from": str,
        "to": str,
    },
)
"""A file that has another name now."""


LearningRecallInput = TypedDict(
    "LearningRecallInput",
    {
        "q": NotRequired[str | None],
        "in": NotRequired[str | None],
        "since": NotRequired[str | None],
        "by": NotRequired[str | None],
        "tags": NotRequired[list[str]],
        "files": NotRequired[list[str]],
        "max_tokens": NotRequired[int | None],
        "limit": NotRequired[int | None],
        "explain": NotRequired[bool],
    },
)
"""What learning.recall is asked."""


SignalSendInput = TypedDict(
    "SignalSendInput",
    {
        "signal_type": Literal["stop", "pause", "resume", "rebase", "error", "info", "invalidate"],
        "to": str,
        "from": NotRequired[str | None],
        "reason": NotRequired[str | None],
        "payload": NotRequired[Any],
    },
)
"""What signal.send is asked."""


SignalListInput = TypedDict(
    "SignalListInput",
    {
        "for": NotRequired[str | None],
        "unacked": NotRequired[bool],
        "signal_type": NotRequired[Literal["stop", "pause", "resume", "rebase", "error", "info", "invalidate", None]],
        "limit": NotRequired[int | None],
    },
)
"""What signal.list is asked."""


SignalAckInput = TypedDict(
    "SignalAckInput",
    {
        "id": str,
        "as": str,
    },
)
"""What signal.ack is asked."""


ImportRecordsInput = TypedDict(
    "ImportRecordsInput",
    {
        "from": Literal["prjct"],
        "records": list[Given],
        "no_redact": NotRequired[bool],
    },
)
"""What import.records is asked."""


TranscriptImportInput = TypedDict(
    "TranscriptImportInput",
    {
        "key": str,
        "file": NotRequired[str | None],
        "from": ReadPosition,
        "to": ReadPosition,
        "state": NotRequired[dict[str, Any]],
        "agents": list[TranscriptAgent],
        "is_end": NotRequired[bool],
        "no_redact": NotRequired[bool],
    },
)
"""What transcript.import is asked."""


TrackerImportInput = TypedDict(
    "TrackerImportInput",
    {
        "from": Literal["backlog", "beads", "github", "gitlab", "jira", "linear", "taskmaster", "taskwarrior"],
        "items": list[TrackerItem],
        "dry_run": NotRequired[bool],
        "no_redact": NotRequired[bool],
    },
)
"""What tracker.import is asked."""
