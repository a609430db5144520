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
    progress: NotRequired[Progress | None]
    """How much of what is below it is done"""
    linked_by: NotRequired[list[LinkedIssue]]
    """Links of other issues to it"""


class Comment(TypedDict):
    """What an actor observed about an issue."""

    id: str
    """The id of a comment; the same form as an issue's."""
    issue_id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    actor: str
    text: str
    created_at: str


class Progress(TypedDict):
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
    progress: NotRequired[Progress | None]
    """How much of what is below it is done"""
    linked_by: NotRequired[list[LinkedIssue]]
    """Links of other issues to it"""
    parent_issue: NotRequired[Issue | None]
    """The issue that it is a part of"""
    learnings: NotRequired[list[Learning]]
    """What was learned about it before"""
    files: NotRequired[list[str]]
    """The files that those learnings name"""


class Learning(TypedDict):
    """What somebody found out."""

    id: str
    """The id of a learning, such as `ln-a1b2c3d4`."""
    kind: Literal["pattern", "approach", "decision", "gotcha"]
    """What kind of knowledge it is."""
    text: str
    tags: NotRequired[list[str]]
    files: NotRequired[list[str]]
    """The files it is about"""
    issue_id: NotRequired[str | None]
    """The issue it came from"""
    work: NotRequired[str | None]
    """The piece of work it came from, by its issue"""
    session_id: NotRequired[str | None]
    """The session it came from"""
    impact: NotRequired[Literal["high", "medium", "low"]]
    """How much it matters."""
    expires_at: NotRequired[str | None]
    """From when on it no longer holds"""
    supersedes: NotRequired[str | None]
    """The learning in whose place this one is"""
    revision: NotRequired[int]
    """How often it was told: 1 and one more each time that somebody found out the same"""
    value: NotRequired[Worth | None]
    """What the work was worth that it came from"""
    linear_id: NotRequired[str | None]
    """The issue of another tracker"""
    actor: str
    created_at: str
    updated_at: str
    verified_at: NotRequired[str | None]
    """When somebody last said that it still holds"""


class Worth(TypedDict):
    """What a piece of work was worth, as its author put it."""

    type: NotRequired[str | None]
    """`feature`, `bugfix`, `performance`, `dx`, `refactor`, `infrastructure`, or another"""
    description: NotRequired[str | None]


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


class Trace(TypedDict):
    """The whole life of one issue."""

    issue: Issue
    entries: list[Moment]
    """What happened, oldest first"""
    left_out: int
    """How many earlier entries there are that were not wanted"""
    totals: Totals
    notes: list[str]
    """What could not be told"""


class Moment(TypedDict):
    """One thing that happened."""

    at: str
    kind: Literal["issue", "comment", "work", "run", "session", "loop", "signal", "job", "snapshot", "commit", "learning", "release"]
    """What an entry is about."""
    event: str
    """What happened to it: `created`, `claimed`, `started` and so on"""
    id: NotRequired[str | None]
    """The id of what it is about, if that is not the issue"""
    actor: NotRequired[str | None]
    text: NotRequired[str]
    """In a few words"""
    duration_ms: NotRequired[int | None]
    """How long it took, in milliseconds, if this is its end"""
    failed: NotRequired[bool]
    """Whether it went wrong"""


class Totals(TypedDict):
    """What the life of an issue amounts to."""

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
    cost_usd: NotRequired[float | None]
    """In dollars, if any entry tells"""
    commits: int
    learnings: int
    releases: int


class Count(TypedDict):
    """Things of one kind: how many, how many went wrong, and how long they took together."""

    count: int
    failed: int
    duration_ms: int
    """In milliseconds"""


class SessionCost(TypedDict):
    """What a session cost."""

    id: str
    """The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form."""
    agent_id: str
    """The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form."""
    entries: int
    tokens: Tokens
    cost_usd: NotRequired[float | None]
    """In dollars, if its entries tell"""


class Tokens(TypedDict):
    """Tokens of one inference, or of many."""

    input: int
    output: int
    cache_read: int
    """Read from the provider's cache"""
    cache_write: int
    """Written to the provider's cache"""
    total: int


class Insights(TypedDict):
    """What matters in the graph of issues that are not closed, and why."""

    issues: int
    """Issues that are not closed"""
    waits: int
    """Edges between them, from one that waits to what it waits for"""
    stuck: int
    """Issues in or behind a cycle, which can never be ready; `pn dep cycles` shows it"""
    approximate: bool
    """Whether the scores of bottlenecks are an estimate"""
    sources: NotRequired[int | None]
    """From how many issues chains were followed for that; absent if from all"""
    bottlenecks: list[Ranked]
    """On the most of the shortest chains between others, by betweenness"""
    keystones: list[Ranked]
    """With the most resting on them, by PageRank"""
    critical_path: Chain
    """The longest chain, and the issues that nearly are on one as long"""
    articulation_points: list[Ranked]
    """Without which their part of the graph falls apart, by how many neighbours they have"""
    articulation_count: int
    """How many there are of these"""
    stale_claims: list[StaleClaim]
    """Claims that nothing happened to for long, the longest first"""
    blocked_cascades: list[Cascade]
    """What can begin now and holds up the most"""
    priority_conflicts: list[PriorityConflict]
    """Issues less urgent than one that waits for them"""
    priority_conflict_count: int
    """How many there are of these"""


class Ranked(TypedDict):
    """An issue with a score and what that comes from."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    status: Literal["open", "in_progress", "closed"]
    """Where an issue stands."""
    priority: Literal["p0", "p1", "p2", "p3"]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""
    score: float
    waits_for: int
    """How many it waits for, directly"""
    blocks: int
    """How many wait for it, directly"""
    behind: int
    """How many wait for it, directly or by way of others"""
    frees: int
    """How many become ready once it, and then what that frees, is closed"""


class Chain(TypedDict):
    """The longest chain of issues that wait for each other."""

    unit: Literal["issues", "seconds"]
    """What length and slack count: issues, or seconds of estimates if all issues of the longest chain have one"""
    length: int
    issues: list[ChainStep]
    """What has to be done first in front"""
    slack: list[ChainStep]
    """Other issues, by how much longer their chains could be"""


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
    """How much longer its chains could be without making the longest one longer"""
    length: int
    """Its own part of the length"""


class StaleClaim(TypedDict):
    """A claim that nothing happened to for long."""

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
    """How many wait for it, directly or by way of others"""


class Cascade(TypedDict):
    """An issue that waits for nothing, and what it holds up."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    status: Literal["open", "in_progress", "closed"]
    """Where an issue stands."""
    priority: Literal["p0", "p1", "p2", "p3"]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""
    assignee: NotRequired[str | None]
    blocks: int
    """How many wait for it, directly"""
    behind: int
    """How many wait for it, directly or by way of others"""
    frees: int
    """How many become ready once it, and then what that frees, is closed"""
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
    """How many wait for it, directly or by way of others"""


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
    """A way to do all that is not closed, in parallel."""

    issues: int
    """Issues that are not closed"""
    agents: NotRequired[int | None]
    """For how many agents, if that was said"""
    stuck: int
    """Issues in or behind a cycle, which stand at the end of their track"""
    start: list[StartIssue]
    """What to start now: ready, by how many become ready through it"""
    tracks: list[Track]
    """Every issue is in one of these. For a number of agents, one for each; else tracks do not wait for each
    other
    """
    longest_chain: Chain
    """What cannot be done in parallel"""
    forecast: NotRequired[Forecast | None]
    """When all of it may be closed; absent if too little was closed so far"""


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
    """How many become ready once it, and then what that frees, is closed"""
    depth: int
    """Issues in the longest chain that waits for it"""


class Track(TypedDict):
    """Issues to be done one after the other, or without waiting for those of other tracks."""

    track: int
    """From 1"""
    issues: list[TrackIssue]
    """In an order that can be worked in"""
    depth: int
    """Issues in the longest chain of those in it"""


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
    """What it waits for"""


class Forecast(TypedDict):
    """When all issues may be closed if as much is closed each day as before, and nothing new comes."""

    date: str
    """As likely before as after"""
    earliest: str
    """One of ten is earlier"""
    latest: str
    """One of ten is later"""
    left: int
    """Issues that are not closed"""
    closed: int
    """Issues closed within the days that were looked back on"""
    days: int
    """How many days were looked back on"""
    per_day: float
    """Issues closed on one day, on average"""
    deviation: float
    """How much days differ: the standard deviation of that"""


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
    """Issues that are not closed that it waits for, directly"""
    begin_with: list[Held]
    """Where to begin: what it waits for, by way of others too, that itself waits for nothing"""
    rank: NotRequired[Ranking | None]
    """Its numbers; absent if it is closed"""


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
    """Where an issue stands among those that are not closed. Ranks count from 1."""

    issues: int
    """How many issues are not closed"""
    ready: int
    """How many are ready"""
    by_priority: NotRequired[int | None]
    """Its place in `pn ready`, by priority and then age; absent unless it is ready"""
    by_impact: NotRequired[int | None]
    """Its place in `pn ready --sort impact`"""
    ahead: NotRequired[IssueBrief | None]
    """The one before it in `pn ready`"""
    blocks: int
    """How many wait for it, directly"""
    behind: int
    """How many wait for it, directly or by way of others"""
    frees: int
    """How many become ready once it, and then what that frees, is closed"""
    depth: int
    """Issues in the longest chain that waits for it"""
    page_rank: float
    page_rank_place: int
    betweenness: float
    betweenness_place: int
    approximate: bool
    """Whether betweenness is an estimate"""
    slack: NotRequired[int | None]
    """How much longer its chains could be without making the longest one longer; absent if that is not known"""
    unit: Literal["issues", "seconds"]
    """What slack counts"""
    more_urgent: NotRequired[IssueBrief | None]
    """The most urgent issue that waits for it, if it is more urgent"""


class Impact(TypedDict):
    """What closing an issue would bring."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    status: Literal["open", "in_progress", "closed"]
    """Where an issue stands."""
    priority: Literal["p0", "p1", "p2", "p3"]
    """How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low."""
    frees: int
    """How many become ready once it, and then what that frees, is closed"""
    behind: int
    """How many wait for it, directly or by way of others"""
    waves: list[Wave]
    """What waits for nothing once it is closed, then once that is closed too, and so on"""
    still_blocked: list[StillBlocked]
    """What waits for it or for what it frees, and for others too"""


class Wave(TypedDict):
    """Issues that wait for nothing at the same time."""

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
    """What it waits for beside those"""


class Diff(TypedDict):
    """What changed between two times."""

    since: str
    until: str
    created: list[ChangedIssue]
    closed: list[ChangedIssue]
    reopened: list[ChangedIssue]
    deleted: list[ChangedIssue]
    changed: list[ChangedIssue]
    """What has other fields than before"""


class ChangedIssue(TypedDict):
    """An issue that is not as it was."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: NotRequired[str | None]
    """Its title now, or when it was deleted"""
    actor: str
    """Who did that last"""
    at: str
    """When that was"""
    fields: NotRequired[dict[str, Any]]
    """Fields that differ, each as `{"old":…,"new":…}`"""
    waits_for: NotRequired[list[str]]
    """What it waits for now and did not before"""
    no_longer_waits_for: NotRequired[list[str]]
    """What it no longer waits for"""
    comments: NotRequired[int]
    """How many comments it got"""


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
    """Numbers to draw: one entry for each day in UTC, the first one first."""

    since: str
    until: str
    days: list[Day]
    closed: list[Cycle]
    """Issues closed in this time, in the order of their closing"""
    median_ms: NotRequired[int | None]
    """What half of them took at most, in milliseconds"""
    p85_ms: NotRequired[int | None]
    """What 85 of 100 took at most"""


class Day(TypedDict):
    """What there was at the end of a day, and what happened on it."""

    day: str
    """Such as `2026-02-27`"""
    open: int
    in_progress: int
    closed: int
    created: int
    """How many were created on it"""
    done: int
    """How many were closed on it"""


class Cycle(TypedDict):
    """How long an issue took."""

    id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    started_at: str
    """When it was first claimed; when it was created, if it never was"""
    closed_at: str
    took_ms: int
    """In milliseconds"""


class Page(TypedDict):
    """A part of the log."""

    events: list[LogEntry]
    last: int
    """How far the log was looked through: go on after this number"""
    end: int
    """Where the log ends now"""


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
    """The health of a project at a glance."""

    open: int
    in_progress: int
    closed: int
    by_type: dict[str, Tally]
    """Every type is present"""


class Tally(TypedDict):
    """How many issues stand where."""

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
    """How many lines of each kind went through."""

    status: str
    """`ok`, or `drifted` if the files were only checked and are not what an export would write"""
    issues: int
    deps: int
    comments: int
    events: NotRequired[int | None]
    """How many lines of history the files have, if they are to have any"""
    conflicts: NotRequired[int]
    """How many conflicts were noted; pn conflicts lists them"""
    notes: NotRequired[list[str]]
    """What was out of the ordinary"""
    drifted: NotRequired[list[str]]
    """The files that are not what an export would write"""


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
    """What a check-up found and did."""

    findings: list[Finding]
    fixes_applied: list[str]


class Finding(TypedDict):
    """One thing worth knowing."""

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
    """What is younger than this stays"""
    removed: Removed
    more: NotRequired[bool]
    """Whether there is more, for another call"""
    warnings: list[str]
    """What takes up much space, or leaves little"""


class Removed(TypedDict):
    """How much was removed, or would be."""

    loops: int
    loop_directories: int
    """Directories of loops that were removed before"""
    signals: int
    receipts: int
    job_outputs: int
    deleted_issues: NotRequired[int]
    """Deleted before, and removed for good now"""
    deleted_agents: NotRequired[int]
    """With their sessions"""
    snapshots: int
    """Only those of the machine that asks"""
    journal_segments: int
    bytes: int
    """Of records and segments"""


class Taken(TypedDict):
    """How many bytes the parts of a store have, and how many are left on its disk. Absent where a database keeps
    it.
    """

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
    """What a store was restored to."""

    status: str
    """Always `restored`"""
    event: int
    """The number of the event that says so"""
    issues: int
    backup: str
    """The backup of what was there before"""


class Place(TypedDict):
    """Where a store is."""

    path: str


class StoreInfo(TypedDict):
    """Which store answers, and what runs it."""

    project_dir: str
    version: str
    store_id: str


class Undone(TypedDict):
    """What was taken back."""

    event: NotRequired[int | None]
    """The number of the undo itself, by which pn redo can name it; none if nothing was changed"""
    undone: list[TakenBack]
    """Newest first"""
    passed_over: NotRequired[list[Undoable]]
    """Later operations that cannot be undone, newest first"""


class TakenBack(TypedDict):
    """One event that was taken back."""

    event: int
    """Its number"""
    op: int
    """The number of the first event of the operation it was a part of"""
    subject_kind: str
    """What it was about: `issue`, `learning`, `kv` and so on"""
    subject_id: str
    issue_id: NotRequired[str | None]
    """The same, if it was an issue"""
    event_type: str
    actor: str
    created_at: str


class Undoable(TypedDict):
    """An operation, and whether it can be undone."""

    event: int
    """The number of its first event, or of the redo that brought it back: the one to name"""
    events: list[TakenBack]
    """What it did, oldest first"""
    refused: NotRequired[str | None]
    """Why it cannot be undone; none if it can"""
    instead: NotRequired[str | None]
    """What would reverse it instead, if anything does"""


class Redone(TypedDict):
    """What was brought back."""

    event: NotRequired[int | None]
    """The number of the redo itself; none if nothing was changed"""
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
    """The project it opens; none for an operator's"""
    role: Literal["viewer", "agent", "maintainer", "admin", "operator"]
    """How much a token lets its holder do in one project, each role all that the one before it does; or, as
    `operator`,
    with the server itself.
    """
    expires_at: NotRequired[str | None]


class Token(TypedDict):
    """A token, without its secret."""

    id: str
    """The id of a token, which is not its secret."""
    project: NotRequired[str | None]
    """The project it opens; none for an operator's"""
    role: Literal["viewer", "agent", "maintainer", "admin", "operator"]
    """How much a token lets its holder do in one project, each role all that the one before it does; or, as
    `operator`,
    with the server itself.
    """
    created_at: str
    created_by: str
    expires_at: NotRequired[str | None]
    revoked_at: NotRequired[str | None]


class AuditLine(TypedDict):
    """One thing that was done."""

    at: str
    project: NotRequired[str | None]
    """The project it was done in; none for what was done to the server itself"""
    token: NotRequired[str | None]
    """The token it was done with; none if it was done with the store or the database itself"""
    actor: str
    event_type: str
    subject_kind: str
    """What it was done to: `issue`, `project`, `token`"""
    subject_id: str
    event: int
    """The event's number in the log of its store"""
    detail: dict[str, Any]
    """What changed, each field as `{"old":…,"new":…}`"""


class Agent(TypedDict):
    """A persistent identity, with what it is and what it may do."""

    id: str
    """The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form."""
    type: str
    """The type of an agent, possibly unknown to this version: an imported agent keeps its type."""
    name: NotRequired[str | None]
    parent_id: NotRequired[str | None]
    """The agent it works for"""
    descriptor: NotRequired[dict[str, Any]]
    """What it is, in the words of whoever made it"""
    active_session_id: NotRequired[str | None]
    """The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form."""
    permissions: NotRequired[dict[str, Any]]
    """What it may do, in the words of whoever made it"""
    tokens: NotRequired[dict[str, Any] | None]
    """What its last inference cost"""
    stats: NotRequired[dict[str, Any]]
    """What all its inferences cost, by provider and model"""
    lifecycle: Literal["active", "sleeping", "dead"]
    """The lifecycle state of an agent."""
    created_at: str
    updated_at: str


class Deleted2(TypedDict):
    """An agent that is gone, and what went with it."""

    status: str
    """Always `deleted`"""
    id: str
    """The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form."""
    sessions: int
    entries: int


class ImportedSession(TypedDict):
    """A session that took place elsewhere."""

    opened_by: Literal["start", "reset", "compaction"]
    """Why a session was opened."""
    inference_session_id: NotRequired[str | None]
    reset_message: NotRequired[str | None]
    created_at: NotRequired[str | None]
    entries: NotRequired[list[NewEntry]]


class NewEntry(TypedDict):
    """An entry that is to be appended: `{"type","at"?,"data"}`, or the fields of its data beside `type` and
    `at`.
    """

    type: str
    """What kind of entry it is, such as user_message"""
    at: NotRequired[str | None]
    """When it happened [default: now]"""
    data: NotRequired[dict[str, Any]]


class Imported(TypedDict):
    """What became of an agent from elsewhere."""

    id: str
    """The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form."""
    imported: bool
    """Whether it was not here before"""
    parent_missing: NotRequired[bool]
    """Whether its parent is not here"""
    sessions: int
    entries: int
    redactions: int
    """How many secrets were replaced"""


class Summary2(TypedDict):
    """A session with what its entries add up to."""

    id: str
    """The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form."""
    agent_id: str
    """The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form."""
    opened_by: Literal["start", "reset", "compaction"]
    """Why a session was opened."""
    inference_session_id: NotRequired[str | None]
    """What the inference provider calls this conversation"""
    reset_message: NotRequired[str | None]
    """What the reset said, or the summary that the compaction made"""
    issue_id: NotRequired[str | None]
    """The issue it is about"""
    run_id: NotRequired[str | None]
    """The run it belongs to"""
    created_at: str
    ended_at: NotRequired[str | None]
    """When the next session took its place; absent while it is active"""
    archived_at: NotRequired[str | None]
    """Since when listings leave it out"""
    entries: int
    """How many entries it has"""
    duration_ms: int
    """From its beginning to its end, or to its last entry while it is active"""
    tokens: dict[str, Tokens]
    """By model, as the entries tell it; `unknown` where they name none"""
    cost_usd: NotRequired[float | None]
    """What the tokens cost in dollars, if the settings have prices for all models"""


class Found(TypedDict):
    """An entry that was looked for."""

    id: int
    """The number of the entry"""
    session_id: str
    """The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form."""
    agent_id: str
    """The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form."""
    type: str
    """What kind of entry it is, such as `user_message`. Types that this version does not know are kept."""
    at: str
    excerpt: str
    """What stands around the text that was looked for"""


class Session(TypedDict):
    """One stretch of an agent's conversation."""

    id: str
    """The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form."""
    agent_id: str
    """The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form."""
    opened_by: Literal["start", "reset", "compaction"]
    """Why a session was opened."""
    inference_session_id: NotRequired[str | None]
    """What the inference provider calls this conversation"""
    reset_message: NotRequired[str | None]
    """What the reset said, or the summary that the compaction made"""
    issue_id: NotRequired[str | None]
    """The issue it is about"""
    run_id: NotRequired[str | None]
    """The run it belongs to"""
    created_at: str
    ended_at: NotRequired[str | None]
    """When the next session took its place; absent while it is active"""
    archived_at: NotRequired[str | None]
    """Since when listings leave it out"""


class DeletedSessions(TypedDict):
    """Sessions that are gone."""

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
    """What kind of entry it is, such as `user_message`. Types that this version does not know are kept."""
    at: str
    """When it happened, which need not be when it was written"""
    v: int
    """The version of the payload"""
    data: dict[str, Any]


class Message(TypedDict):
    """One message of a context."""

    role: Literal["system", "user", "assistant", "tool"]
    """Who speaks in a message."""
    content: str
    tool_calls: NotRequired[list[ToolCall]]
    """What the assistant asks of tools; the results follow at once, in this order"""
    tool_call_id: NotRequired[str | None]
    """The call that a tool's message answers"""
    is_error: NotRequired[bool]
    """True when a tool failed, or when its result is not known; else absent"""
    entry: NotRequired[int | None]
    """The entry it comes from; absent for what opens the session and for results that were never recorded"""


class ToolCall(TypedDict):
    """What an assistant asks of a tool."""

    id: str
    name: str
    arguments: Any
    """Mostly an object; as it was given, if it is none"""


class Repo(TypedDict):
    """A repository that runs take place in."""

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
    """A repository that is no longer known."""

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
    """What another system calls it"""
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
    """A process of one machine, told from another that got the same number later."""

    pid: int
    born: NotRequired[str | None]
    """When it began, in the words of its machine"""


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
    """The issue that it works on"""
    session_id: NotRequired[str | None]
    """The session that it holds"""
    group: NotRequired[str | None]
    """What runs that were launched together have in common"""
    actor: str
    command: NotRequired[list[str]]
    """The program and its arguments"""
    prompt: NotRequired[str]
    """What the agent was asked to do"""
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
    """The machine that it runs on"""
    agent: NotRequired[Process | None]
    """The command's process"""
    supervisor: NotRequired[Process | None]
    """The process that looks after it"""
    multiplexer_kind: NotRequired[Literal["tmux", "zellij", "screen", None]]
    """A terminal multiplexer."""
    mux_session: NotRequired[str | None]
    mux_window: NotRequired[int | None]
    pane_left: NotRequired[str | None]
    pane_right: NotRequired[str | None]
    log_path: NotRequired[str | None]
    workspace_path: NotRequired[str | None]
    """The directory that it has to itself"""
    exit_code: NotRequired[int | None]
    """What the command returned"""
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
    """What it can do, in words of your own"""


class Runtime(TypedDict):
    """The surroundings that runs take place in."""

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
    """What keeps the content of a snapshot."""
    repo_id: str
    """The id of a repository, such as `repo-a1b2c3d4`."""
    run_id: NotRequired[str | None]
    """The run that it was taken for"""
    host: str
    """The machine that has the tree and the content"""
    root: str
    """The tree"""
    ref: NotRequired[str | None]
    """What the provider calls it: a ref, a subvolume, a snapshot of a dataset"""
    path: NotRequired[str | None]
    """Where its content can be looked at"""
    parent_id: NotRequired[str | None]
    """The snapshot before it"""
    label: NotRequired[str | None]
    actor: str
    metadata: NotRequired[dict[str, Any]]
    """`files`, `bytes`, what was `left_out`, and what the provider needs to prove it"""
    created_at: str
    restored_at: NotRequired[str | None]
    """When the tree was last made equal to it"""


class Deleted3(TypedDict):
    """A snapshot that is gone."""

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
    """The directory that it runs in"""
    loop_id: NotRequired[str | None]
    """The loop that it is a part of"""
    run_id: NotRequired[str | None]
    """The id of a run, such as `run-a1b2c3d4`."""
    session_id: NotRequired[str | None]
    """The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form."""
    issue_id: NotRequired[str | None]
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    actor: str
    host: NotRequired[str | None]
    """The machine that it runs on"""
    pid: NotRequired[int | None]
    """The number of the command's process"""
    born: NotRequired[str | None]
    """When that process began, in the words of its machine"""
    supervisor: NotRequired[Process | None]
    """The process that looks after it"""
    exit_code: NotRequired[int | None]
    """What the command returned"""
    signal: NotRequired[int | None]
    """The signal that ended the command"""
    reason: NotRequired[str | None]
    """Why, in words"""
    output_bytes: int
    """Bytes that it wrote, kept or not"""
    truncated: bool
    """Whether some of what it wrote was not kept"""
    was_timeout: bool
    was_cancelled: bool
    """Whether somebody asked for its end"""
    timeout_ms: int
    """How long it may take, in milliseconds"""
    number: int
    """Where it stands in the queue of its lane: those with smaller numbers come before"""
    queued_at: str
    waits_until: NotRequired[str | None]
    """How long it waits for a slot"""
    started_at: str
    """When its command began; before that, when it was queued"""
    ended_at: NotRequired[str | None]
    duration_ms: NotRequired[int | None]
    updated_at: str
    output: NotRequired[str | None]
    """What it wrote, as far as it was kept; only where one job is shown"""


class JobStats(TypedDict):
    """The jobs of one tool in one lane."""

    tool_name: str
    lane: str
    """The name of a lane."""
    count: int
    unfinished: int
    """Those that wait or run"""
    failures: int
    """Those that ended by themselves, and badly"""
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
    """A value that is gone."""

    status: str
    """Always `deleted`"""
    scope: str
    key: str


class Record(TypedDict):
    """A document and where it is kept."""

    collection: str
    id: str
    rev: int
    """Changes with every change of the record, and never comes back: not even for another record of the same id"""
    updated_at: str
    data: dict[str, Any]


class Page2(TypedDict):
    """Some of the records that were asked for. An answer ends after 10,000 records or 8 MiB."""

    records: list[Record]
    next: NotRequired[str | None]
    """Where to go on, if there are more"""


class Counted2(TypedDict):
    """How many records there are."""

    collection: str
    count: int


class Deleted5(TypedDict):
    """Records that are gone."""

    status: str
    """Always `deleted`"""
    collection: str
    ids: list[str]


class Collection(TypedDict):
    """What is known of a collection."""

    collection: str
    records: int
    updated_at: NotRequired[str | None]
    """When the last of them was changed"""
    indexes: NotRequired[list[str]]
    """The fields that have an index"""
    redact: NotRequired[bool]
    """True if secrets are taken out of its documents; else absent"""


class Indexed(TypedDict):
    """A collection and its indexes."""

    collection: str
    records: int
    updated_at: NotRequired[str | None]
    """When the last of them was changed"""
    indexes: NotRequired[list[str]]
    """The fields that have an index"""
    redact: NotRequired[bool]
    """True if secrets are taken out of its documents; else absent"""
    rebuilt: NotRequired[bool]
    """True if what was indexed has been made anew; else absent"""


class ChangeCase1(TypedDict):
    """ChangeCase1"""

    put: Put


class ChangeCase2(TypedDict):
    """Deletes the record if it is there; with `if_rev` it has to be"""

    delete: Removal


Change = ChangeCase1 | ChangeCase2


class Put(TypedDict):
    """Keep a document in a collection, in place of the one with the same id"""

    collection: str
    """The collection, such as jobs; it is made with its first record"""
    data: dict[str, Any]
    """The document"""
    id: NotRequired[str | None]
    """Its id [default: the one in the document, or a new one]"""
    if_rev: NotRequired[int | None]
    """Only if the record has this revision; 0 means that there is none yet"""
    if_present: NotRequired[bool]
    """Only if the record is there"""
    updated_at: NotRequired[str | None]
    """When it was changed [default: now]"""


class Removal(TypedDict):
    """A record that is to be gone."""

    collection: str
    id: str
    if_rev: NotRequired[int | None]


class Applied(TypedDict):
    """What came of one change."""

    id: str
    rev: NotRequired[int | None]
    """Absent if the record is gone"""


class Compacted(TypedDict):
    """How large the files are."""

    collections: int
    bytes_before: int
    bytes: int


class Work(TypedDict):
    """What somebody is doing about an issue."""

    issue_id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    title: str
    """That of the issue"""
    kind: Literal["feature", "bug", "improvement", "refactor", "chore"]
    """What a change is for its users."""
    status: Literal["active", "paused", "done"]
    """The status of work."""
    branch: NotRequired[str | None]
    steps: list[Step]
    current_step: NotRequired[int | None]
    """The first step that is not done, counted from 1"""
    actor: str
    """Who does it now, or did it last"""
    created_at: str
    updated_at: str
    done_at: NotRequired[str | None]
    was_assigned_to: NotRequired[str | None]
    """Who was to do it before somebody else claimed it with this very command"""


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
    """What a change is for its users."""
    issues: NotRequired[list[str]]
    """What was done in it"""
    notes: NotRequired[str | None]
    actor: str
    shipped_at: str
    open: NotRequired[list[str]]
    """Issues of it that are not closed"""


class Release(TypedDict):
    """Something that was shipped."""

    id: str
    """The id of a release, such as `rel-a1b2c3d4`."""
    name: str
    version: str
    """What is shipped together has the same"""
    kind: Literal["feature", "bug", "improvement", "refactor", "chore"]
    """What a change is for its users."""
    issues: NotRequired[list[str]]
    """What was done in it"""
    notes: NotRequired[str | None]
    actor: str
    shipped_at: str


class ChangelogText(TypedDict):
    """A text about releases and issues."""

    markdown: str


class Skills(TypedDict):
    """Every name and its skills."""

    mappings: dict[str, list[str]]
    updatedAt: NotRequired[str | None]
    """When any of it was last changed; null if nothing ever was"""


class Remembered(TypedDict):
    """A learning that was kept."""

    id: str
    """The id of a learning, such as `ln-a1b2c3d4`."""
    kind: Literal["pattern", "approach", "decision", "gotcha"]
    """What kind of knowledge it is."""
    text: str
    tags: NotRequired[list[str]]
    files: NotRequired[list[str]]
    """The files it is about"""
    issue_id: NotRequired[str | None]
    """The issue it came from"""
    work: NotRequired[str | None]
    """The piece of work it came from, by its issue"""
    session_id: NotRequired[str | None]
    """The session it came from"""
    impact: NotRequired[Literal["high", "medium", "low"]]
    """How much it matters."""
    expires_at: NotRequired[str | None]
    """From when on it no longer holds"""
    supersedes: NotRequired[str | None]
    """The learning in whose place this one is"""
    revision: NotRequired[int]
    """How often it was told: 1 and one more each time that somebody found out the same"""
    value: NotRequired[Worth | None]
    """What the work was worth that it came from"""
    linear_id: NotRequired[str | None]
    """The issue of another tracker"""
    actor: str
    created_at: str
    updated_at: str
    verified_at: NotRequired[str | None]
    """When somebody last said that it still holds"""
    merged: NotRequired[bool]
    """True if it was there already and was told again; else absent"""
    redactions: NotRequired[int]
    """How many secrets were replaced"""


class Hit(TypedDict):
    """A learning that was recalled."""

    id: str
    """The id of a learning, such as `ln-a1b2c3d4`."""
    kind: Literal["pattern", "approach", "decision", "gotcha"]
    """What kind of knowledge it is."""
    text: str
    tags: NotRequired[list[str]]
    files: NotRequired[list[str]]
    """The files it is about"""
    issue_id: NotRequired[str | None]
    """The issue it came from"""
    work: NotRequired[str | None]
    """The piece of work it came from, by its issue"""
    session_id: NotRequired[str | None]
    """The session it came from"""
    impact: NotRequired[Literal["high", "medium", "low"]]
    """How much it matters."""
    expires_at: NotRequired[str | None]
    """From when on it no longer holds"""
    supersedes: NotRequired[str | None]
    """The learning in whose place this one is"""
    revision: NotRequired[int]
    """How often it was told: 1 and one more each time that somebody found out the same"""
    value: NotRequired[Worth | None]
    """What the work was worth that it came from"""
    linear_id: NotRequired[str | None]
    """The issue of another tracker"""
    actor: str
    created_at: str
    updated_at: str
    verified_at: NotRequired[str | None]
    """When somebody last said that it still holds"""
    score: int
    """How well it fits; only for comparison with others of the same answer"""
    cut: NotRequired[bool]
    """True if the text was cut to fit the budget; else absent"""


class Shown(TypedDict):
    """A learning with values computed from others."""

    id: str
    """The id of a learning, such as `ln-a1b2c3d4`."""
    kind: Literal["pattern", "approach", "decision", "gotcha"]
    """What kind of knowledge it is."""
    text: str
    tags: NotRequired[list[str]]
    files: NotRequired[list[str]]
    """The files it is about"""
    issue_id: NotRequired[str | None]
    """The issue it came from"""
    work: NotRequired[str | None]
    """The piece of work it came from, by its issue"""
    session_id: NotRequired[str | None]
    """The session it came from"""
    impact: NotRequired[Literal["high", "medium", "low"]]
    """How much it matters."""
    expires_at: NotRequired[str | None]
    """From when on it no longer holds"""
    supersedes: NotRequired[str | None]
    """The learning in whose place this one is"""
    revision: NotRequired[int]
    """How often it was told: 1 and one more each time that somebody found out the same"""
    value: NotRequired[Worth | None]
    """What the work was worth that it came from"""
    linear_id: NotRequired[str | None]
    """The issue of another tracker"""
    actor: str
    created_at: str
    updated_at: str
    verified_at: NotRequired[str | None]
    """When somebody last said that it still holds"""
    superseded_by: NotRequired[str | None]
    """The learning that is in its place"""


class Forgotten(TypedDict):
    """A learning that is gone."""

    status: str
    """Always `deleted`"""
    id: str
    """The id of a learning, such as `ln-a1b2c3d4`."""


class Loop(TypedDict):
    """Work in iterations."""

    id: str
    """The id of a loop, such as `lp-a1b2c3d4`."""
    loop_type: Literal["plan", "spec", "phase", "code"]
    """What a loop makes."""
    parent_id: NotRequired[str | None]
    """The loop that must be complete before this one can run"""
    issue_id: NotRequired[str | None]
    """The issue that it works on"""
    input_artifact: NotRequired[str | None]
    """What it begins with"""
    output_artifacts: NotRequired[list[str]]
    """What came of it"""
    prompt_path: str
    validation_command: str
    """Says with its exit code whether an iteration was good"""
    max_iterations: int
    worktree: str
    iteration: int
    """How many iterations were begun"""
    status: Literal["running", "paused", "complete", "failed", "pending", "rebasing", "awaiting_approval", "invalidated"]
    """The status of a loop."""
    progress: NotRequired[str]
    """How far it is, in words"""
    context: NotRequired[Any]
    """Whatever its prompts need, typed by whoever made it"""
    reason: NotRequired[str | None]
    """Why it is where it stands, if somebody said so"""
    holder: NotRequired[str | None]
    """Who runs it, or ran it last"""
    host: NotRequired[str | None]
    """The machine that it runs on"""
    pid: NotRequired[int | None]
    """The process that runs it"""
    runnable: NotRequired[int | None]
    """Its place among those that can be claimed; absent if it can not be"""
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
    """What became of the files of a loop."""

    outcomes: list[Literal["imported", "updated", "here", "changed", "clash", "deleted", "refused"]]
    """`imported`, `here` or `clash`, for each part"""
    no_directory: NotRequired[str | None]
    """Why none of them was kept"""


class Branch(TypedDict):
    """A loop in a tree: below the one before it that has a smaller depth."""

    depth: int
    id: str
    """The id of a loop, such as `lp-a1b2c3d4`."""
    loop_type: Literal["plan", "spec", "phase", "code"]
    """What a loop makes."""
    parent_id: NotRequired[str | None]
    """The loop that must be complete before this one can run"""
    issue_id: NotRequired[str | None]
    """The issue that it works on"""
    input_artifact: NotRequired[str | None]
    """What it begins with"""
    output_artifacts: NotRequired[list[str]]
    """What came of it"""
    prompt_path: str
    validation_command: str
    """Says with its exit code whether an iteration was good"""
    max_iterations: int
    worktree: str
    iteration: int
    """How many iterations were begun"""
    status: Literal["running", "paused", "complete", "failed", "pending", "rebasing", "awaiting_approval", "invalidated"]
    """The status of a loop."""
    progress: NotRequired[str]
    """How far it is, in words"""
    context: NotRequired[Any]
    """Whatever its prompts need, typed by whoever made it"""
    reason: NotRequired[str | None]
    """Why it is where it stands, if somebody said so"""
    holder: NotRequired[str | None]
    """Who runs it, or ran it last"""
    host: NotRequired[str | None]
    """The machine that it runs on"""
    pid: NotRequired[int | None]
    """The process that runs it"""
    runnable: NotRequired[int | None]
    """Its place among those that can be claimed; absent if it can not be"""
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
    """What a loop makes."""
    parent_id: NotRequired[str | None]
    """The loop that must be complete before this one can run"""
    issue_id: NotRequired[str | None]
    """The issue that it works on"""
    input_artifact: NotRequired[str | None]
    """What it begins with"""
    output_artifacts: NotRequired[list[str]]
    """What came of it"""
    prompt_path: str
    validation_command: str
    """Says with its exit code whether an iteration was good"""
    max_iterations: int
    worktree: str
    iteration: int
    """How many iterations were begun"""
    status: Literal["running", "paused", "complete", "failed", "pending", "rebasing", "awaiting_approval", "invalidated"]
    """The status of a loop."""
    progress: NotRequired[str]
    """How far it is, in words"""
    context: NotRequired[Any]
    """Whatever its prompts need, typed by whoever made it"""
    reason: NotRequired[str | None]
    """Why it is where it stands, if somebody said so"""
    holder: NotRequired[str | None]
    """Who runs it, or ran it last"""
    host: NotRequired[str | None]
    """The machine that it runs on"""
    pid: NotRequired[int | None]
    """The process that runs it"""
    runnable: NotRequired[int | None]
    """Its place among those that can be claimed; absent if it can not be"""
    created_at: str
    updated_at: str
    archived_at: NotRequired[str | None]
    directory: NotRequired[str | None]
    """The directory of the iteration, where the store has files"""
    no_directory: NotRequired[str | None]
    """Why there is none, and what was not kept"""


class Create(TypedDict):
    """Create a loop; it can be claimed once its parent is complete"""

    loop_type: Literal["plan", "spec", "phase", "code"]
    """What it makes"""
    prompt_path: str
    """The file with its prompt"""
    validation_command: str
    """What says with its exit code whether an iteration was good"""
    parent: NotRequired[str | None]
    """The loop that must be complete before"""
    issue: NotRequired[str | None]
    """The issue that it works on"""
    max_iterations: NotRequired[int | None]
    """Most iterations [default: 100]"""
    worktree: NotRequired[str | None]
    """Where its work is done [default: worktrees/ID]"""
    input_artifact: NotRequired[str | None]
    """What it begins with"""
    context: NotRequired[Any]
    """Whatever its prompts need: any JSON"""


class Approved(TypedDict):
    """A loop that is complete, and those that follow from it."""

    id: str
    """The id of a loop, such as `lp-a1b2c3d4`."""
    loop_type: Literal["plan", "spec", "phase", "code"]
    """What a loop makes."""
    parent_id: NotRequired[str | None]
    """The loop that must be complete before this one can run"""
    issue_id: NotRequired[str | None]
    """The issue that it works on"""
    input_artifact: NotRequired[str | None]
    """What it begins with"""
    output_artifacts: NotRequired[list[str]]
    """What came of it"""
    prompt_path: str
    validation_command: str
    """Says with its exit code whether an iteration was good"""
    max_iterations: int
    worktree: str
    iteration: int
    """How many iterations were begun"""
    status: Literal["running", "paused", "complete", "failed", "pending", "rebasing", "awaiting_approval", "invalidated"]
    """The status of a loop."""
    progress: NotRequired[str]
    """How far it is, in words"""
    context: NotRequired[Any]
    """Whatever its prompts need, typed by whoever made it"""
    reason: NotRequired[str | None]
    """Why it is where it stands, if somebody said so"""
    holder: NotRequired[str | None]
    """Who runs it, or ran it last"""
    host: NotRequired[str | None]
    """The machine that it runs on"""
    pid: NotRequired[int | None]
    """The process that runs it"""
    runnable: NotRequired[int | None]
    """Its place among those that can be claimed; absent if it can not be"""
    created_at: str
    updated_at: str
    archived_at: NotRequired[str | None]
    children: list[Loop]


class Invalidated(TypedDict):
    """A loop that no longer holds."""

    id: str
    """The id of a loop, such as `lp-a1b2c3d4`."""
    loop_type: Literal["plan", "spec", "phase", "code"]
    """What a loop makes."""
    parent_id: NotRequired[str | None]
    """The loop that must be complete before this one can run"""
    issue_id: NotRequired[str | None]
    """The issue that it works on"""
    input_artifact: NotRequired[str | None]
    """What it begins with"""
    output_artifacts: NotRequired[list[str]]
    """What came of it"""
    prompt_path: str
    validation_command: str
    """Says with its exit code whether an iteration was good"""
    max_iterations: int
    worktree: str
    iteration: int
    """How many iterations were begun"""
    status: Literal["running", "paused", "complete", "failed", "pending", "rebasing", "awaiting_approval", "invalidated"]
    """The status of a loop."""
    progress: NotRequired[str]
    """How far it is, in words"""
    context: NotRequired[Any]
    """Whatever its prompts need, typed by whoever made it"""
    reason: NotRequired[str | None]
    """Why it is where it stands, if somebody said so"""
    holder: NotRequired[str | None]
    """Who runs it, or ran it last"""
    host: NotRequired[str | None]
    """The machine that it runs on"""
    pid: NotRequired[int | None]
    """The process that runs it"""
    runnable: NotRequired[int | None]
    """Its place among those that can be claimed; absent if it can not be"""
    created_at: str
    updated_at: str
    archived_at: NotRequired[str | None]
    invalidated: list[str]
    """All that were invalidated with it, itself included"""
    signal: NotRequired[Signal | None]
    """What was sent to those that were under way, if any were"""


class Signal(TypedDict):
    """A signal, and how far it was heard."""

    id: str
    """The id of a signal, such as `sg-a1b2c3d4`."""
    signal_type: Literal["stop", "pause", "resume", "rebase", "error", "info", "invalidate"]
    """What a signal asks for."""
    source_loop: NotRequired[str | None]
    """The loop that it comes from"""
    target_loop: NotRequired[str | None]
    """The id of a loop, such as `lp-a1b2c3d4`."""
    target_agent: NotRequired[str | None]
    """The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form."""
    target_run: NotRequired[str | None]
    """The id of a run, such as `run-a1b2c3d4`."""
    target_selector: NotRequired[str | None]
    """What said to whom it was sent: `descendants:ID`, `children:ID`, `type:T` or `status:S`"""
    reason: NotRequired[str]
    payload: NotRequired[Any]
    actor: str
    """Who sent it"""
    recipient_count: int
    acknowledged_count: int
    created_at: str
    acknowledged_at: NotRequired[str | None]
    """When the last of them acknowledged it"""


class Sent(TypedDict):
    """A signal that was sent."""

    id: str
    """The id of a signal, such as `sg-a1b2c3d4`."""
    signal_type: Literal["stop", "pause", "resume", "rebase", "error", "info", "invalidate"]
    """What a signal asks for."""
    source_loop: NotRequired[str | None]
    """The loop that it comes from"""
    target_loop: NotRequired[str | None]
    """The id of a loop, such as `lp-a1b2c3d4`."""
    target_agent: NotRequired[str | None]
    """The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form."""
    target_run: NotRequired[str | None]
    """The id of a run, such as `run-a1b2c3d4`."""
    target_selector: NotRequired[str | None]
    """What said to whom it was sent: `descendants:ID`, `children:ID`, `type:T` or `status:S`"""
    reason: NotRequired[str]
    payload: NotRequired[Any]
    actor: str
    """Who sent it"""
    recipient_count: int
    acknowledged_count: int
    created_at: str
    acknowledged_at: NotRequired[str | None]
    """When the last of them acknowledged it"""
    recipients: list[str]
    """Who is to acknowledge it"""


class Shown2(TypedDict):
    """A signal, and who has not acknowledged it."""

    id: str
    """The id of a signal, such as `sg-a1b2c3d4`."""
    signal_type: Literal["stop", "pause", "resume", "rebase", "error", "info", "invalidate"]
    """What a signal asks for."""
    source_loop: NotRequired[str | None]
    """The loop that it comes from"""
    target_loop: NotRequired[str | None]
    """The id of a loop, such as `lp-a1b2c3d4`."""
    target_agent: NotRequired[str | None]
    """The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form."""
    target_run: NotRequired[str | None]
    """The id of a run, such as `run-a1b2c3d4`."""
    target_selector: NotRequired[str | None]
    """What said to whom it was sent: `descendants:ID`, `children:ID`, `type:T` or `status:S`"""
    reason: NotRequired[str]
    payload: NotRequired[Any]
    actor: str
    """Who sent it"""
    recipient_count: int
    acknowledged_count: int
    created_at: str
    acknowledged_at: NotRequired[str | None]
    """When the last of them acknowledged it"""
    missing: list[str]


class Acked(TypedDict):
    """What a recipient now has of a signal."""

    signal_id: str
    """The id of a signal, such as `sg-a1b2c3d4`."""
    signal_type: Literal["stop", "pause", "resume", "rebase", "error", "info", "invalidate"]
    """What a signal asks for."""
    recipient: str
    recipient_kind: Literal["loop", "agent", "run"]
    """What can be sent a signal."""
    created_at: str
    acknowledged_at: NotRequired[str | None]
    acknowledged_by: NotRequired[str | None]
    """Who said so"""
    missing_count: int
    """How many have not acknowledged it"""


class Pruned(TypedDict):
    """Signals that are gone."""

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
    """What an agent should know before it goes on."""

    sections: list[Section]


class Section(TypedDict):
    """One section."""

    name: str
    title: str
    lines: list[Line]
    more: NotRequired[int]
    """How many more there would have been"""


class Line(TypedDict):
    """One thing that a section tells."""

    id: NotRequired[str | None]
    """What it is about"""
    text: str


class Changed(TypedDict):
    """A page of changed records."""

    store_id: str
    """The store that answers"""
    entries: list[Sent2]
    cursor: str
    """Where the next page begins"""
    more: bool
    """Whether there is more to be had at once"""
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


class Progress2(TypedDict):
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
    """Something to do, being done, or done."""

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
    """Whether it is over; work that is done closes its issue by itself"""
    close_reason: NotRequired[str | None]
    created_at: NotRequired[str | None]
    updated_at: NotRequired[str | None]
    closed_at: NotRequired[str | None]
    spec: NotRequired[str | None]
    """The spec that it implements"""
    work: NotRequired[GivenWork | None]
    """What was done about it"""
    origin: Origin


class GivenCase2(TypedDict):
    """Something that was shipped."""

    kind: Literal["release"]
    id: str
    """The id of a release, such as `rel-a1b2c3d4`."""
    name: str
    version: str
    release_kind: Literal["feature", "bug", "improvement", "refactor", "chore"]
    """What it is for its users"""
    issues: NotRequired[list[str]]
    """What was done in it, as far as it is here"""
    notes: NotRequired[str | None]
    shipped_at: NotRequired[str | None]
    origin: Origin


class GivenCase3(TypedDict):
    """One text that somebody found out."""

    kind: Literal["learning"]
    learning_kind: Literal["pattern", "approach", "decision", "gotcha"]
    """What kind of knowledge it is."""
    text: str
    tags: NotRequired[list[str]]
    files: NotRequired[list[str]]
    impact: NotRequired[Literal["high", "medium", "low"]]
    """How much it matters."""
    value: NotRequired[Worth | None]
    linear_id: NotRequired[str | None]
    task: NotRequired[str | None]
    """The task it came from, by the id that the other tool gave it"""
    at: NotRequired[str | None]
    name: NotRequired[str | None]
    """What the other tool calls it"""
    supersedes: NotRequired[str | None]
    """What the other tool calls the learning in whose place this one is; it comes before, in the same request"""
    origin: Origin


class GivenCase4(TypedDict):
    """What somebody said about an issue."""

    kind: Literal["comment"]
    issue_id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    author: NotRequired[str | None]
    text: str
    at: NotRequired[str | None]
    origin: Origin


class GivenCase5(TypedDict):
    """Something that happened to work on an issue."""

    kind: Literal["event"]
    issue_id: str
    """The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form."""
    again: NotRequired[int]
    """How many of the same came before it"""
    data: dict[str, Any]
    """As the other tool wrote it"""


class GivenCase6(TypedDict):
    """The skills that an agent's file calls for."""

    kind: Literal["skills"]
    name: str
    skills: list[str]


class GivenCase7(TypedDict):
    """A document that is kept as it is, in kv."""

    kind: Literal["document"]
    scope: str
    key: str
    text: str


Given = GivenCase1 | GivenCase2 | GivenCase3 | GivenCase4 | GivenCase5 | GivenCase6 | GivenCase7


class GivenWork(TypedDict):
    """Work on an issue."""

    kind: Literal["feature", "bug", "improvement", "refactor", "chore"]
    """What a change is for its users."""
    status: Literal["active", "paused", "done"]
    """The status of work."""
    branch: NotRequired[str | None]
    steps: NotRequired[list[Step]]
    started_at: NotRequired[str | None]


class Origin(TypedDict):
    """Where a record comes from, and what of it has no place."""

    file: str
    """The file, by its path in the directory of the tool"""
    hash: str
    """Tells whether the record has changed since it was taken in"""
    fields: NotRequired[dict[str, Any]]
    """Fields that have no place"""
    also: NotRequired[list[dict[str, Any]]]
    """Other records with the same id"""


class Told(TypedDict):
    """What became of a record."""

    outcome: Literal["imported", "updated", "here", "changed", "clash", "deleted", "refused"]
    """What became of a record."""
    id: NotRequired[str | None]
    """The id under which it is here"""
    reason: NotRequired[str | None]
    """What there is to say about it"""
    redactions: NotRequired[int]
    """How many secrets were replaced"""


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
    sort: NotRequired[Literal["priority", "created_at", "updated_at", "status", "title", "impact"] | None]
    """In which order"""
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
    """Let the claim end by itself unless renewed: 30s, 15m, 12h, 1d"""
    unclaim: NotRequired[bool]
    """Give it back: open, without assignee"""
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
    """Close it whatever its status, its children and criteria, and whoever holds it"""


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

    priority: NotRequired[Literal["p0", "p1", "p2", "p3", None]]
    """Only those with this priority"""
    assignee: NotRequired[str | None]
    """Only those of this assignee; an empty name means unassigned"""
    issue_type: NotRequired[Literal["bug", "task", "test", "chore"] | None]
    """Only those of this type"""
    spec: NotRequired[str | None]
    """Only those of this spec"""
    sort: NotRequired[Literal["priority", "created_at", "updated_at", "status", "title", "impact"] | None]
    """In which order [default: priority]"""
    limit: NotRequired[int | None]
    """At most this many"""


class IssueBlockedInput(TypedDict):
    """What issue.blocked is asked."""

    status: NotRequired[Literal["open", "in_progress", "closed", None]]
    """Only those with this status"""
    priority: NotRequired[Literal["p0", "p1", "p2", "p3", None]]
    """Only those with this priority"""
    assignee: NotRequired[str | None]
    """Only those of this assignee; an empty name means unassigned"""
    issue_type: NotRequired[Literal["bug", "task", "test", "chore"] | None]
    """Only those of this type"""
    limit: NotRequired[int | None]
    """At most this many"""


class IssueSearchInput(TypedDict):
    """What issue.search is asked."""

    q: str
    """The text, taken literally"""
    status: NotRequired[Literal["open", "in_progress", "closed", None]]
    """Only those with this status"""
    priority: NotRequired[Literal["p0", "p1", "p2", "p3", None]]
    """Only those with this priority"""
    assignee: NotRequired[str | None]
    """Only those of this assignee; an empty name means unassigned"""
    issue_type: NotRequired[Literal["bug", "task", "test", "chore"] | None]
    """Only those of this type"""
    limit: NotRequired[int | None]
    """At most this many"""


class IssueCountInput(TypedDict):
    """What issue.count is asked."""

    by_status: NotRequired[bool]
    """By status"""
    by_priority: NotRequired[bool]
    """By priority"""
    by_issue_type: NotRequired[bool]
    """By type"""
    by_assignee: NotRequired[bool]
    """By assignee"""


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
    """Let the claim end by itself unless renewed: 30s, 15m, 12h, 1d"""


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


class IssueTraceInput(TypedDict):
    """What issue.trace is asked."""

    id: str
    """The issue"""
    limit: NotRequired[int | None]
    """At most this many entries, the last ones; totals count all [default: 500]"""


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
    """From when on: how long ago, or a time"""
    until: NotRequired[str | None]
    """Until when: how long ago, or a time [default: now]"""


class TriageGraphInput(TypedDict):
    """What triage.graph is asked."""

    q: NotRequired[str | None]
    """Only issues whose title or description contains this text"""
    limit: NotRequired[int | None]
    """At most this many, those that hold up the most [default: 60]"""


class TriageChartInput(TypedDict):
    """What triage.chart is asked."""

    since: NotRequired[str | None]
    """From when on: how long ago, or a time [default: 30d]"""
    until: NotRequired[str | None]
    """Until when: how long ago, or a time [default: now]"""


class EventListInput(TypedDict):
    """What event.list is asked."""

    after: NotRequired[int | None]
    """Only what comes after the event with this number; 0 is everything [default: the last 50 events]"""
    subject: NotRequired[str | None]
    """Only what is about this: an id or the beginning of one, or a kind such as issue, agent or run"""
    type: NotRequired[list[str]]
    """Only events of this type, such as closed, issue.created or task.*; may be given again"""
    by: NotRequired[str | None]
    """Only what this actor did"""
    limit: NotRequired[int | None]
    """At most this many: the first after --after, else the last"""


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
    """What to say; - reads it from standard input"""


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
    """Write nothing; tell whether the files are what an export would write, and fail if they are not"""
    events: NotRequired[bool | None]
    """Write the history of issues too, into events.jsonl [default: the setting export.events]"""
    no_stage: NotRequired[bool]
    """Leave git's index alone: the files are written, and not staged"""
    worktree: NotRequired[str | None]
    """The worktree whose files are meant, if it is not the main one"""


class StoreImportInput(TypedDict):
    """What store.import is asked."""

    authoritative: NotRequired[bool]
    """Make the store what the files are, without whatever else it has; a backup is made before"""
    worktree: NotRequired[str | None]
    """The worktree whose files are meant, if it is not the main one"""


class ConflictListInput(TypedDict):
    """What conflict.list is asked."""

    limit: NotRequired[int | None]
    """At most this many, oldest first"""


class ConflictResolveInput(TypedDict):
    """What conflict.resolve is asked."""

    id: str
    """The conflict, or the beginning of its id"""
    take: Literal["kept", "other"]
    """Which of the two values is right"""


class StoreDoctorInput(TypedDict):
    """What store.doctor is asked."""

    fix: NotRequired[bool]
    """Release every claim without a lease and repair what can be repaired"""
    deep: NotRequired[bool]
    """Also rebuild the state from backup and journal, and compare every record of the database with it"""


class StoreGcInput(TypedDict):
    """What store.gc is asked."""

    older_than: NotRequired[str | None]
    """How old it must be: 12h, 7d [default: the setting gc.older-than, else 7d]"""
    dry_run: NotRequired[bool]
    """Remove nothing; tell what would be removed"""


class StoreSpaceInput(TypedDict):
    """What store.space is asked."""


class StoreBackupInput(TypedDict):
    """What store.backup is asked."""

    file: NotRequired[str | None]
    """The file to make; only where the store is"""
    force: NotRequired[bool]
    """Replace the file if it is there"""


class StoreBackupsInput(TypedDict):
    """What store.backups is asked."""


class StoreRestoreInput(TypedDict):
    """What store.restore is asked."""

    file: str
    """The backup: a file, or the name of one from pn backup --list"""
    force: NotRequired[bool]
    """Also take a backup of another store"""


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
    """The last operation of anybody, not only of this actor and session"""
    by: NotRequired[str | None]
    """All that this actor did"""
    since: NotRequired[str | None]
    """All that was done since then: a duration such as 30m, or a time"""
    event: NotRequired[int | None]
    """The operation that wrote this event; pn undo --list and pn history show the numbers"""
    force: NotRequired[bool]
    """Even if another holds the claim on an issue whose state it changes"""
    dry_run: NotRequired[bool]
    """Only show what would be taken back"""


class UndoListInput(TypedDict):
    """What undo.list is asked."""

    actor: NotRequired[str | None]
    """Whose operations, in the caller's session [default: the caller's]"""
    any: NotRequired[bool]
    """The operations of everybody, not only of this actor and session"""
    limit: NotRequired[int | None]
    """How many operations to show; 20 unless said otherwise"""


class RedoInput(TypedDict):
    """What redo is asked."""

    any: NotRequired[bool]
    """The last undo of anybody, not only of this actor and session"""
    event: NotRequired[int | None]
    """The undo that wrote this event"""
    force: NotRequired[bool]
    """Even if another holds the claim on an issue whose state it changes"""
    dry_run: NotRequired[bool]
    """Only show what would be brought back"""


class ProjectCreateInput(TypedDict):
    """What project.create is asked."""

    name: str
    """Its name: part of its address, so a-z, 0-9, -, _ and ."""


class ProjectListInput(TypedDict):
    """What project.list is asked."""

    all: NotRequired[bool]
    """Also those that are archived"""


class ProjectArchiveInput(TypedDict):
    """What project.archive is asked."""

    name: str
    """Which project"""
    undo: NotRequired[bool]
    """Serve it again"""


class TokenCreateInput(TypedDict):
    """What token.create is asked."""

    project: NotRequired[str | None]
    """The project it opens"""
    role: NotRequired[Literal["viewer", "agent", "maintainer", "admin", "operator"] | None]
    """How much its holder may do in the project"""
    operator: NotRequired[bool]
    """Open no project, but manage the projects, tokens and audit of the server"""
    expires: NotRequired[str | None]
    """How long it is good for, such as 90d [default: until it is revoked]"""


class TokenListInput(TypedDict):
    """What token.list is asked."""

    project: NotRequired[str | None]
    """Only those of this project"""
    all: NotRequired[bool]
    """Also those that have expired or were revoked"""


class TokenRevokeInput(TypedDict):
    """What token.revoke is asked."""

    id: str
    """Its id, as pn token list shows it"""


class AuditListInput(TypedDict):
    """What audit.list is asked."""

    project: NotRequired[str | None]
    """Only what concerns this project"""
    token: NotRequired[str | None]
    """Only what was done with this token"""
    since: NotRequired[str | None]
    """Only what happened since then: a duration such as 7d, or a time"""
    limit: NotRequired[int | None]
    """At most this many"""


class AgentCreateInput(TypedDict):
    """What agent.create is asked."""

    type: Literal["user", "cron", "system", "subagent", "app", "permanent"]
    """What kind of agent it is"""
    name: NotRequired[str | None]
    """What to call it"""
    parent: NotRequired[str | None]
    """The agent it works for"""
    descriptor: NotRequired[dict[str, Any] | None]
    """What it is, in words of your own"""
    permissions: NotRequired[dict[str, Any] | None]
    """What it may do, in words of your own"""
    inference_session_id: NotRequired[str | None]
    """What the inference provider calls the conversation"""
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
    """A new name; an empty one takes it away"""
    descriptor: NotRequired[dict[str, Any] | None]
    """Another descriptor, in place of the one it has"""
    permissions: NotRequired[dict[str, Any] | None]
    """Other permissions, in place of those it has"""
    tokens: NotRequired[dict[str, Any] | None]
    """What its last inference cost; null takes it away"""
    stats: NotRequired[dict[str, Any] | None]
    """What all its inferences cost, in place of what it has"""


class AgentDeleteInput(TypedDict):
    """What agent.delete is asked."""

    id: str
    """Which agent: its id, the beginning of it, or its name"""
    force: NotRequired[bool]
    """Really delete all of it"""
    purge: NotRequired[bool]
    """For good: it cannot be undone"""


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
    """The id that it has and keeps"""
    type: str
    """Known to this version or not"""
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
    """In their order; the last one is active"""
    no_redact: NotRequired[bool]
    """Keep secrets as they are"""


class SessionListInput(TypedDict):
    """What session.list is asked."""

    agent: NotRequired[str | None]
    """Only those of this agent"""
    limit: NotRequired[int | None]
    """At most this many"""
    all: NotRequired[bool]
    """Also those that are archived"""


class SessionSearchInput(TypedDict):
    """What session.search is asked."""

    q: str
    """The text, taken literally"""
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
    """How long ago they ended, such as 30d"""
    agent: NotRequired[str | None]
    """Only those of this agent"""


class SessionResetInput(TypedDict):
    """What session.reset is asked."""

    id: str
    """Which agent: its id, the beginning of it, or its name"""
    message: NotRequired[str | None]
    """What the next session begins with; - reads it from standard input"""
    inference_session_id: NotRequired[str | None]
    """What the inference provider calls the conversation"""
    issue_id: NotRequired[str | None]
    """The issue that the session is about"""
    run_id: NotRequired[str | None]
    """The run that the session belongs to"""


class SessionCompactInput(TypedDict):
    """What session.compact is asked."""

    id: str
    """Which agent: its id, the beginning of it, or its name"""
    summary: str
    """What the next session begins with; - reads it from standard input"""
    inference_session_id: NotRequired[str | None]
    """What the inference provider calls the conversation"""
    issue_id: NotRequired[str | None]
    """The issue that the session is about"""
    run_id: NotRequired[str | None]
    """The run that the session belongs to"""


class SessionAppendInput(TypedDict):
    """What session.append is asked."""

    id: str
    """Which agent: its id, the beginning of it, or its name"""
    entries: list[NewEntry]
    """In their order"""
    no_redact: NotRequired[bool]
    """Keep secrets as they are"""


class SessionHistoryInput(TypedDict):
    """What session.history is asked."""

    id: str
    """Which session or agent"""
    all: NotRequired[bool]
    """Of all sessions of the agent"""
    after: NotRequired[int | None]
    """Only those after this number"""
    skip: NotRequired[int | None]
    """Leave out this many of the oldest, of one session"""
    limit: NotRequired[int | None]
    """At most this many"""


class SessionContextInput(TypedDict):
    """What session.context is asked."""

    id: str
    """Which agent: its id, the beginning of it, or its name"""
    max_tokens: NotRequired[int | None]
    """Keep what the session began with, and of the rest the newest whole turns that fit; a token is about four
    bytes
    """


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
    """Only those that come from this address"""
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
    """What to call it"""
    external_id: NotRequired[str | None]
    """What another system calls it"""


class WorkspaceListInput(TypedDict):
    """What workspace.list is asked."""


class RunStartInput(TypedDict):
    """What run.start is asked."""

    repo: NotRequired[str | None]
    """Which repository it takes place in: its id, the beginning of it, or its root [default: the one around the
    current directory]
    """
    harness: NotRequired[str | None]
    """The agent software and its version, such as claude-code@2.1"""
    runtime: NotRequired[str | None]
    """Where it runs: local, nosandbox, devcontainer, devcontainer:PATH"""
    workspace: NotRequired[str | None]
    """The workspace of the server that it belongs to"""
    issue: NotRequired[str | None]
    """The issue that it works on"""
    session: NotRequired[str | None]
    """The session that it holds"""
    prompt: NotRequired[str | None]
    """What the agent is asked to do; - reads it from standard input"""
    branch: NotRequired[str | None]
    """The branch it works on"""
    delivery: NotRequired[Literal["branch", "patch", "pr"] | None]
    """How the work is handed over"""
    workspace_path: NotRequired[str | None]
    """The directory that it has to itself"""
    no_browser: NotRequired[bool]
    """It may not use a browser"""
    browser_profile: NotRequired[str | None]
    """The profile of its browser"""
    chatgpt_username: NotRequired[str | None]
    """The account that it uses at ChatGPT"""
    codex_workspace: NotRequired[str | None]
    """The workspace that it uses at Codex"""
    labels: NotRequired[dict[str, str]]
    """Names and values of your own"""
    seen: NotRequired[Seen | None]
    """The repository as it was found, to be remembered if it is not known"""
    command: NotRequired[list[str]]
    """The program and its arguments"""
    instances: NotRequired[int | None]
    """How many runs are launched together"""
    group: NotRequired[str | None]
    """What runs that are launched together have in common"""
    created: NotRequired[bool]
    """Its command does not run yet"""
    claim: NotRequired[str | None]
    """Claim the issue for as long as the run renews the lease this often"""
    host: NotRequired[str | None]
    """The machine that it runs on"""
    agent: NotRequired[Process | None]
    """The command's process"""
    supervisor: NotRequired[Process | None]
    """The process that looks after it"""
    log_path: NotRequired[str | None]
    """The file that its output goes to"""
    log_dir: NotRequired[str | None]
    """The directory in which its output goes to a file that is called as the run is"""


class RunListInput(TypedDict):
    """What run.list is asked."""

    status: NotRequired[Literal["running", "failed", "succeeded", "cancelled", "created"] | None]
    """Only those that stand there"""
    issue: NotRequired[str | None]
    """Only those that work on this issue"""
    repo: NotRequired[str | None]
    """Only those in this repository"""
    group: NotRequired[str | None]
    """Only those that were launched together as this group"""
    host: NotRequired[str | None]
    """Only those on this machine"""
    limit: NotRequired[int | None]
    """At most this many"""


class RunUpdateInput(TypedDict):
    """What run.update is asked."""

    id: str
    """Which run: its id, or the beginning of it"""
    started: NotRequired[bool]
    """Its command runs"""
    agent: NotRequired[Process | None]
    """The command's process"""
    supervisor: NotRequired[Process | None]
    """The process that looks after it"""
    session: NotRequired[str | None]
    """The session that it holds"""
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
    """What the command returned"""
    signal: NotRequired[int | None]
    """The signal that ended the command"""
    reason: NotRequired[str | None]
    """Why, in words"""
    agent: NotRequired[Process | None]
    """The command's process, if nobody has told it before"""
    if_supervisor: NotRequired[Process | None]
    """Only if this process is still the one that looks after it"""


class RunEventsInput(TypedDict):
    """What run.events is asked."""

    id: str
    """Which run: its id, or the beginning of it"""
    after: NotRequired[int | None]
    """Only what came after the event with this number"""
    limit: NotRequired[int | None]
    """At most this many"""


class RunEventInput(TypedDict):
    """What run.event is asked."""

    id: str
    """Which run: its id, or the beginning of it"""
    type: str
    """What happened, in a word of your own such as tool_call"""
    data: NotRequired[Any]
    """Whatever belongs to it: any JSON"""


class HarnessListInput(TypedDict):
    """What harness.list is asked."""


class HarnessSetInput(TypedDict):
    """What harness.set is asked."""

    harness: str
    """The agent software and its version, such as claude-code@2.1"""
    metadata: NotRequired[dict[str, Any] | None]
    """An object in words of your own, in place of the one before; none takes it away"""


class RuntimeListInput(TypedDict):
    """What runtime.list is asked."""


class RuntimeSetInput(TypedDict):
    """What runtime.set is asked."""

    id: str
    """Which runtime: its id, or the beginning of it"""
    metadata: NotRequired[dict[str, Any] | None]
    """An object in words of your own, in place of the one before; none takes it away"""


class SnapshotCreateInput(TypedDict):
    """What snapshot.create is asked."""

    id: NotRequired[str | None]
    """What it is called, if it has a name already"""
    kind: NotRequired[Literal["manual", "safety"]]
    """Why it was taken"""
    provider: Literal["git", "copy", "btrfs", "zfs", "overlay"]
    """What keeps the content of a snapshot."""
    repo: NotRequired[str | None]
    """Which repository the tree belongs to: its id, the beginning of it, or its root"""
    seen: NotRequired[Seen | None]
    """The repository as it was found, to be remembered if it is not known"""
    run: NotRequired[str | None]
    """The run that it was taken for"""
    host: str
    """The machine that has the tree and the content"""
    root: str
    """The tree"""
    ref: NotRequired[str | None]
    """What the provider calls it"""
    path: NotRequired[str | None]
    """Where its content can be looked at"""
    parent: NotRequired[str | None]
    """The snapshot before it"""
    label: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any]]
    """What is known of the content, and what proves it"""


class SnapshotListInput(TypedDict):
    """What snapshot.list is asked."""

    run: NotRequired[str | None]
    """Only those that were taken for this run"""
    repo: NotRequired[str | None]
    """Only those of this repository"""
    provider: NotRequired[Literal["git", "copy", "btrfs", "zfs", "overlay"] | None]
    """Only those that are kept in this way"""
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
    """The snapshot of what was there before"""


class JobStartInput(TypedDict):
    """What job.start is asked."""

    lane: str
    """The lane whose slot it takes: no-net, net, heavy, or one that is set"""
    tool: NotRequired[str | None]
    """The tool that it is a command of [default: the name of the program]"""
    loop: NotRequired[str | None]
    """The loop that it is a part of"""
    run: NotRequired[str | None]
    """The run that it is a part of [default: PN_RUN, as pn run exec sets it]"""
    session: NotRequired[str | None]
    """The session that asked for it [default: that of the run]"""
    issue: NotRequired[str | None]
    """The issue that it is about [default: that of the run]"""
    command: NotRequired[list[str]]
    """The program and its arguments"""
    cwd: NotRequired[str | None]
    """The directory that it runs in"""
    slots: int
    """How many commands of the lane may run at once on its machine"""
    timeout: str
    """How long it may take"""
    wait: NotRequired[str | None]
    """How long it waits in the queue if there is no slot; without that it is refused"""
    host: NotRequired[str | None]
    """The machine that it runs on"""
    process: NotRequired[Process | None]
    """The command's process"""
    supervisor: NotRequired[Process | None]
    """The process that looks after it"""


class JobListInput(TypedDict):
    """What job.list is asked."""

    status: NotRequired[Literal["running", "succeeded", "failed", "pending", "timeout", "cancelled"] | None]
    """Only those that stand there"""
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
    """How many commands of the lane may run at once on its machine"""


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
    """succeeded, failed, timeout or cancelled [default: what the exit code says]"""
    exit_code: NotRequired[int | None]
    """What the command returned"""
    signal: NotRequired[int | None]
    """The signal that ended the command"""
    reason: NotRequired[str | None]
    """Why, in words"""
    output: NotRequired[str | None]
    """What it wrote, as far as that is to be kept"""
    output_bytes: NotRequired[int | None]
    """Bytes that it wrote, kept or not"""
    truncated: NotRequired[bool]
    """Some of what it wrote was not kept"""
    process: NotRequired[Process | None]
    """The command's process, if nobody has told it before"""


class JobCancelInput(TypedDict):
    """What job.cancel is asked."""

    id: str
    """Which job: its id, or the beginning of it"""


class JobSettleInput(TypedDict):
    """What job.settle is asked."""

    host: str
    """The machine that was looked at"""
    lost: NotRequired[list[str]]
    """The jobs of it that nobody looks after any more"""
    overdue: NotRequired[list[str]]
    """Those of it that took longer than they may, and whose processes nobody knows"""


class JobImportInput(TypedDict):
    """What job.import is asked."""

    records: list[dict[str, Any]]


class JobStatsInput(TypedDict):
    """What job.stats is asked."""

    since: NotRequired[str | None]
    """Only those that began since then: a duration such as 24h, or a time"""
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
    """What to keep; - reads it from standard input"""
    scope: str
    """user, project, repo, runtime, or another"""
    if_value: NotRequired[str | None]
    """Only if this is the value before"""
    if_absent: NotRequired[bool]
    """Only if there is none before"""


class KvListInput(TypedDict):
    """What kv.list is asked."""

    scope: NotRequired[str | None]
    """Only those of this scope"""
    prefix: NotRequired[str | None]
    """Only those whose names begin with this"""
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
    """The collection, such as jobs; it is made with its first record"""
    data: dict[str, Any]
    """The document"""
    id: NotRequired[str | None]
    """Its id [default: the one in the document, or a new one]"""
    if_rev: NotRequired[int | None]
    """Only if the record has this revision; 0 means that there is none yet"""
    if_present: NotRequired[bool]
    """Only if the record is there"""
    updated_at: NotRequired[str | None]
    """When it was changed [default: now]"""


class RecordQueryInput(TypedDict):
    """What record.query is asked."""

    collection: str
    """The collection"""
    where: NotRequired[list[str]]
    """Only those that pass this test; may be given again"""
    order: NotRequired[str | None]
    """Sort by this field, or by FIELD desc [default: id]"""
    limit: NotRequired[int | None]
    """At most this many"""
    after: NotRequired[str | None]
    """Go on from where an answer said that there is more"""


class RecordDeleteInput(TypedDict):
    """What record.delete is asked."""

    collection: str
    """The collection"""
    id: NotRequired[str | None]
    """The record"""
    where: NotRequired[list[str]]
    """All that pass this test; may be given again"""
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
    """Only those that pass this test; may be given again"""


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
    """Make what is indexed anew from the records"""
    redact: NotRequired[bool]
    """Take secrets out of documents that are put into it from now on"""
    check: NotRequired[bool]
    """Compare what is indexed with the records, and make it anew if they differ"""


class RecordCompactInput(TypedDict):
    """What record.compact is asked."""


class WorkStartInput(TypedDict):
    """What work.start is asked."""

    what: str
    """An issue, or the title of a new one"""
    kind: NotRequired[Literal["feature", "bug", "improvement", "refactor", "chore", None]]
    """What it is for its users [default: what the issue's type says]"""
    branch: NotRequired[str | None]
    """The branch on which it is done"""
    steps: NotRequired[list[str]]
    """A step of it; may be given again"""
    ttl: NotRequired[str | None]
    """Let the claim end by itself unless renewed: 30s, 15m, 12h, 1d"""


class WorkCurrentInput(TypedDict):
    """What work.current is asked."""

    actor: str
    """Who, if no issue is named"""
    issue: NotRequired[str | None]
    """Work on this issue"""


class WorkPauseInput(TypedDict):
    """What work.pause is asked."""

    issue: NotRequired[str | None]
    """Work on this issue [default: what you are doing]"""


class WorkResumeInput(TypedDict):
    """What work.resume is asked."""

    issue: NotRequired[str | None]
    """Which issue [default: the one that you have paused]"""
    take: NotRequired[bool]
    """Take it over from the actor who has claimed it"""
    force: NotRequired[bool]
    """Take it over even from a live lease or another session"""
    ttl: NotRequired[str | None]
    """Let the claim end by itself unless renewed: 30s, 15m, 12h, 1d"""


class WorkDoneInput(TypedDict):
    """What work.done is asked."""

    issue: NotRequired[str | None]
    """Work on this issue [default: what you are doing]"""
    reason: NotRequired[str | None]
    """How it was done"""
    force: NotRequired[bool]
    """Even if another holds the claim"""


class WorkStepAddInput(TypedDict):
    """What work.step.add is asked."""

    steps: list[str]
    """What is to be done, a step each"""
    issue: NotRequired[str | None]
    """Work on this issue [default: what you are doing]"""


class WorkStepListInput(TypedDict):
    """What work.step.list is asked."""

    actor: str
    """Whose work, if no issue is named"""
    issue: NotRequired[str | None]
    """Work on this issue [default: what you are doing]"""


class WorkStepDoneInput(TypedDict):
    """What work.step.done is asked."""

    number: NotRequired[int | None]
    """Its number, counted from 1 [default: the first that is not done]"""
    issue: NotRequired[str | None]
    """Work on this issue [default: what you are doing]"""


class WorkListInput(TypedDict):
    """What work.list is asked."""

    status: NotRequired[Literal["active", "paused", "done", None]]
    """Only what stands there"""
    actor: NotRequired[str | None]
    """Only that of this actor"""
    limit: NotRequired[int | None]
    """At most this many"""


class ReleaseShipInput(TypedDict):
    """What release.ship is asked."""

    name: str
    """What, in one line"""
    version: str
    """In which version; what is shipped together has the same"""
    kind: NotRequired[Literal["feature", "bug", "improvement", "refactor", "chore"]]
    """What it is for its users"""
    issues: NotRequired[list[str]]
    """An issue that was done in it; may be given again"""
    notes: NotRequired[str | None]
    """What its users should know; - reads it from standard input"""


class ReleaseListInput(TypedDict):
    """What release.list is asked."""

    limit: NotRequired[int | None]
    """At most this many"""


class ReleaseChangelogInput(TypedDict):
    """What release.changelog is asked."""

    since: NotRequired[str | None]
    """Only what came after this version"""


class SkillSetInput(TypedDict):
    """What skill.set is asked."""

    name: str
    """The file, such as frontend.md"""
    skills: list[str]
    """What it calls for"""


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
    """What was found out; - reads it from standard input"""
    kind: NotRequired[Literal["pattern", "approach", "decision", "gotcha"] | None]
    """What kind of knowledge it is [default: pattern]"""
    tags: NotRequired[list[str]]
    """A word to find it by; may be given again"""
    files: NotRequired[list[str]]
    """A file it is about; may be given again"""
    issue: NotRequired[str | None]
    """The issue it came from"""
    work: NotRequired[str | None]
    """The piece of work it came from"""
    session: NotRequired[str | None]
    """The session it came from"""
    impact: NotRequired[Literal["high", "medium", "low", None]]
    """How much it matters [default: medium]"""
    expires: NotRequired[str | None]
    """For how long it holds, such as 90d"""
    supersedes: NotRequired[str | None]
    """The learning in whose place it is"""
    no_redact: NotRequired[bool]
    """Keep secrets as they are"""


class LearningListInput(TypedDict):
    """What learning.list is asked."""

    kind: NotRequired[Literal["pattern", "approach", "decision", "gotcha"] | None]
    """Only those of this kind"""
    tag: NotRequired[str | None]
    """Only those with this tag"""
    issue: NotRequired[str | None]
    """Only those of this issue or piece of work"""
    all: NotRequired[bool]
    """Also those that have expired or were superseded"""
    limit: NotRequired[int | None]
    """At most this many"""


class LearningTakeInput(TypedDict):
    """What learning.take is asked."""

    records: list[dict[str, Any]]
    """Each with lists of patterns, approaches, decisions and gotchas in `learnings`"""
    no_redact: NotRequired[bool]
    """Keep secrets as they are"""


class LearningRecallInput(TypedDict):
    """What learning.recall is asked."""

    q: NotRequired[str | None]
    """Words to look for"""
    tags: NotRequired[list[str]]
    """Those with this word first; may be given again"""
    files: NotRequired[list[str]]
    """Those about this file first; may be given again"""
    max_tokens: NotRequired[int | None]
    """At most so many tokens, at four bytes each"""
    limit: NotRequired[int | None]
    """At most this many [default: 10]"""


class LearningShowInput(TypedDict):
    """What learning.show is asked."""

    id: str
    """Which learning: its id, or the beginning of it"""


class LearningForgetInput(TypedDict):
    """What learning.forget is asked."""

    id: str
    """Which learning: its id, or the beginning of it"""


class LearningVerifyInput(TypedDict):
    """What learning.verify is asked."""

    id: str
    """Which learning: its id, or the beginning of it"""
    expires: NotRequired[str | None]
    """For how long it holds from now on"""


class LoopCreateInput(TypedDict):
    """What loop.create is asked."""

    loop_type: Literal["plan", "spec", "phase", "code"]
    """What it makes"""
    prompt_path: str
    """The file with its prompt"""
    validation_command: str
    """What says with its exit code whether an iteration was good"""
    parent: NotRequired[str | None]
    """The loop that must be complete before"""
    issue: NotRequired[str | None]
    """The issue that it works on"""
    max_iterations: NotRequired[int | None]
    """Most iterations [default: 100]"""
    worktree: NotRequired[str | None]
    """Where its work is done [default: worktrees/ID]"""
    input_artifact: NotRequired[str | None]
    """What it begins with"""
    context: NotRequired[Any]
    """Whatever its prompts need: any JSON"""


class LoopListInput(TypedDict):
    """What loop.list is asked."""

    loop_type: NotRequired[Literal["plan", "spec", "phase", "code", None]]
    """Only those of this type"""
    status: NotRequired[Literal["running", "paused", "complete", "failed", "pending", "rebasing", "awaiting_approval", "invalidated"] | None]
    """Only those that stand there"""
    parent: NotRequired[str | None]
    """Only those just below this one"""
    issue: NotRequired[str | None]
    """Only those that work on this issue"""
    holder: NotRequired[str | None]
    """Only those that this actor runs, or ran last"""
    runnable: NotRequired[bool]
    """Only those that can be claimed, in the order in which they will be"""
    all: NotRequired[bool]
    """Also those that are archived"""
    limit: NotRequired[int | None]
    """At most this many"""


class LoopTakeInput(TypedDict):
    """What loop.take is asked."""

    records: list[dict[str, Any]]
    """Each a loop; what it lacks but its id, type and status is made up"""


class LoopTakeFilesInput(TypedDict):
    """What loop.take_files is asked."""

    id: str
    """The loop, whose record need not be here"""
    archived: NotRequired[bool]
    """Whether they lie in the archive"""
    parts: list[FilePart]
    current: NotRequired[str | None]
    """The number of the iteration that `current` leads to"""


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
    """The machine that it runs on"""
    pid: NotRequired[int | None]
    """The process that runs it [default: the one that called pn]"""


class LoopStartInput(TypedDict):
    """What loop.start is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    reason: NotRequired[str | None]
    """Why"""
    progress: NotRequired[str | None]
    """How far it is, in words"""
    host: NotRequired[str | None]
    """The machine that it runs on"""
    pid: NotRequired[int | None]
    """The process that runs it [default: the one that called pn]"""


class LoopPauseInput(TypedDict):
    """What loop.pause is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    reason: NotRequired[str | None]
    """Why"""
    progress: NotRequired[str | None]
    """How far it is, in words"""


class LoopResumeInput(TypedDict):
    """What loop.resume is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    reason: NotRequired[str | None]
    """Why"""
    progress: NotRequired[str | None]
    """How far it is, in words"""
    host: NotRequired[str | None]
    """The machine that it runs on"""
    pid: NotRequired[int | None]
    """The process that runs it [default: the one that called pn]"""


class LoopRebaseInput(TypedDict):
    """What loop.rebase is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    reason: NotRequired[str | None]
    """Why"""
    progress: NotRequired[str | None]
    """How far it is, in words"""


class LoopIterateInput(TypedDict):
    """What loop.iterate is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    progress: NotRequired[str | None]
    """How far it is, in words"""
    files: NotRequired[list[IterationFile]]
    """What the iteration leaves behind"""


class LoopSubmitInput(TypedDict):
    """What loop.submit is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    reason: NotRequired[str | None]
    """Why"""
    progress: NotRequired[str | None]
    """How far it is, in words"""
    outputs: NotRequired[list[str]]
    """A file that came of it; may be given again"""


class LoopApproveInput(TypedDict):
    """What loop.approve is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    reason: NotRequired[str | None]
    """Why"""
    children: NotRequired[list[Create]]
    """Loops to create below it"""


class LoopRejectInput(TypedDict):
    """What loop.reject is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    reason: NotRequired[str | None]
    """Why"""
    progress: NotRequired[str | None]
    """How far it is, in words"""


class LoopCompleteInput(TypedDict):
    """What loop.complete is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    reason: NotRequired[str | None]
    """Why"""
    progress: NotRequired[str | None]
    """How far it is, in words"""
    outputs: NotRequired[list[str]]
    """A file that came of it; may be given again"""


class LoopFailInput(TypedDict):
    """What loop.fail is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    reason: NotRequired[str | None]
    """Why"""
    progress: NotRequired[str | None]
    """How far it is, in words"""


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
    """How far it is, in words"""


class LoopRecoverInput(TypedDict):
    """What loop.recover is asked."""

    id: str
    """Which loop: its id, or the beginning of it"""
    work_is_gone: NotRequired[bool]
    """Whether the place of its work is gone"""
    if_host: NotRequired[str | None]
    """Only if it runs on this machine"""
    if_pid: NotRequired[int | None]
    """Only if this process runs it"""


class SignalTakeInput(TypedDict):
    """What signal.take is asked."""

    records: list[dict[str, Any]]
    """Each a signal; what it lacks but its id and type is made up"""


class SignalShowInput(TypedDict):
    """What signal.show is asked."""

    id: str
    """Which signal: its id, or the beginning of it"""


class SignalPruneInput(TypedDict):
    """What signal.prune is asked."""

    older_than: NotRequired[str | None]
    """How long ago, such as 30d [default: 7d]"""


class LockAcquireInput(TypedDict):
    """What lock.acquire is asked."""

    name: str
    """What the lock is called"""
    ttl: NotRequired[str | None]
    """For how long, unless it is renewed: 30s, 15m, 12h, 1d [default: 60s]"""
    token: NotRequired[str | None]
    """The secret of the holder [default: a new one]"""


class LockListInput(TypedDict):
    """What lock.list is asked."""

    all: NotRequired[bool]
    """Also those that are free"""
    limit: NotRequired[int | None]
    """At most this many [default: 1000]"""


class LockReleaseInput(TypedDict):
    """What lock.release is asked."""

    name: str
    """What the lock is called"""
    token: NotRequired[str | None]
    """Only if it is still held with this token"""
    force: NotRequired[bool]
    """Also if another holds it"""


class LockStatusInput(TypedDict):
    """What lock.status is asked."""

    name: str
    """What the lock is called"""


class ContextInput(TypedDict):
    """What context is asked."""

    max_tokens: NotRequired[int | None]
    """At most so many tokens, at four bytes each [default: 2000]"""
    format: NotRequired[Literal["json", "md"] | None]
    """In which form it must fit [default: md]"""
    who: NotRequired[str | None]
    """For whom it is, if not for everybody"""


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
    peer: NotRequired[Progress2 | None]
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
"""A stretch of time in which somebody held the issue."""


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
