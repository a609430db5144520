// Generated from the OpenAPI document by generate.mjs. Do not edit.

export interface components {
  schemas: {
    /** @description What went wrong, and what to do about it. Its JSON is the same on every interface. */
    Error: {
      error: string;
      code: components["schemas"]["Code"];
      hint?: string | null;
    };
    /**
     * @description The machine-readable reason of an error, with its HTTP status.
     * @enum {string}
     */
    Code: "not_found" | "already_claimed" | "cycle_detected" | "invalid_status_transition" | "invalid_input" | "ambiguous_id" | "conflict" | "lease_lost" | "no_store" | "no_repo" | "wrong_store" | "unreachable" | "unauthorized" | "forbidden" | "unsupported" | "too_large" | "busy" | "timeout" | "corrupt" | "newer_schema" | "disk_full" | "unknown_outcome" | "internal";
    /** @description A new issue, and the open ones it may repeat. */
    Created: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      title: string;
      description?: string | null;
      /** @description What kind of issue it is; never changes. */
      issue_type: "bug" | "task" | "test" | "chore";
      /**
       * @description Where an issue stands.
       * @enum {string}
       */
      status: "open" | "in_progress" | "closed";
      /**
       * @description How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low.
       * @enum {string}
       */
      priority: "p0" | "p1" | "p2" | "p3";
      /** @description The stem of the spec this implements: `auth` for `specs/auth.md` */
      spec?: string | null;
      /** @description The bug that is closed together with this */
      fixes?: string | null;
      /** @description The issue that this is a part of */
      parent?: string | null;
      labels?: string[];
      /**
       * Format: date
       * @description The day by which it should be closed
       */
      due?: string | null;
      /**
       * Format: date
       * @description The day before which nobody should start
       */
      defer?: string | null;
      /** @description How much work it is */
      estimate?: string | null;
      /** @description What the result must meet */
      acceptance?: components["schemas"]["Criterion"][];
      /** @description Links to other issues */
      links?: components["schemas"]["Link"][];
      /** @description Custom fields, as the project's settings declare them */
      fields?: {
        [key: string]: string;
      };
      assignee?: string | null;
      /**
       * Format: date-time
       * @description When the claim ends by itself; absent for a claim that does not
       */
      lease_expires_at?: string | null;
      /** @description The session, or the run, that claimed it; only it may renew, release or close without force */
      claim_session?: string | null;
      /** @description The machine from which it was claimed */
      claim_host?: string | null;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
      /** Format: date-time */
      closed_at?: string | null;
      close_reason?: string | null;
      similar: components["schemas"]["Similar"][];
    };
    /** @description A condition that the result must meet. */
    Criterion: {
      text: string;
      /** @default false */
      done?: boolean;
    };
    /** @description A link to another issue. */
    Link: {
      /** @description How one issue relates to another. */
      kind: "relates" | "duplicates" | "supersedes" | "discovered-from";
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      to: string;
    };
    /** @description An open issue whose title is nearly that of a new one. */
    Similar: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      title: string;
    };
    /** @description A changed issue. */
    Updated: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      title: string;
      description?: string | null;
      /** @description What kind of issue it is; never changes. */
      issue_type: "bug" | "task" | "test" | "chore";
      /**
       * @description Where an issue stands.
       * @enum {string}
       */
      status: "open" | "in_progress" | "closed";
      /**
       * @description How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low.
       * @enum {string}
       */
      priority: "p0" | "p1" | "p2" | "p3";
      /** @description The stem of the spec this implements: `auth` for `specs/auth.md` */
      spec?: string | null;
      /** @description The bug that is closed together with this */
      fixes?: string | null;
      /** @description The issue that this is a part of */
      parent?: string | null;
      labels?: string[];
      /**
       * Format: date
       * @description The day by which it should be closed
       */
      due?: string | null;
      /**
       * Format: date
       * @description The day before which nobody should start
       */
      defer?: string | null;
      /** @description How much work it is */
      estimate?: string | null;
      /** @description What the result must meet */
      acceptance?: components["schemas"]["Criterion"][];
      /** @description Links to other issues */
      links?: components["schemas"]["Link"][];
      /** @description Custom fields, as the project's settings declare them */
      fields?: {
        [key: string]: string;
      };
      assignee?: string | null;
      /**
       * Format: date-time
       * @description When the claim ends by itself; absent for a claim that does not
       */
      lease_expires_at?: string | null;
      /** @description The session, or the run, that claimed it; only it may renew, release or close without force */
      claim_session?: string | null;
      /** @description The machine from which it was claimed */
      claim_host?: string | null;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
      /** Format: date-time */
      closed_at?: string | null;
      close_reason?: string | null;
      /** @description Who was to do it before it was claimed by somebody else */
      was_assigned_to?: string | null;
    };
    /** @description A planned unit of work or a problem report. */
    Issue: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      title: string;
      description?: string | null;
      /** @description What kind of issue it is; never changes. */
      issue_type: "bug" | "task" | "test" | "chore";
      /**
       * @description Where an issue stands.
       * @enum {string}
       */
      status: "open" | "in_progress" | "closed";
      /**
       * @description How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low.
       * @enum {string}
       */
      priority: "p0" | "p1" | "p2" | "p3";
      /** @description The stem of the spec this implements: `auth` for `specs/auth.md` */
      spec?: string | null;
      /** @description The bug that is closed together with this */
      fixes?: string | null;
      /** @description The issue that this is a part of */
      parent?: string | null;
      labels?: string[];
      /**
       * Format: date
       * @description The day by which it should be closed
       */
      due?: string | null;
      /**
       * Format: date
       * @description The day before which nobody should start
       */
      defer?: string | null;
      /** @description How much work it is */
      estimate?: string | null;
      /** @description What the result must meet */
      acceptance?: components["schemas"]["Criterion"][];
      /** @description Links to other issues */
      links?: components["schemas"]["Link"][];
      /** @description Custom fields, as the project's settings declare them */
      fields?: {
        [key: string]: string;
      };
      assignee?: string | null;
      /**
       * Format: date-time
       * @description When the claim ends by itself; absent for a claim that does not
       */
      lease_expires_at?: string | null;
      /** @description The session, or the run, that claimed it; only it may renew, release or close without force */
      claim_session?: string | null;
      /** @description The machine from which it was claimed */
      claim_host?: string | null;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
      /** Format: date-time */
      closed_at?: string | null;
      close_reason?: string | null;
    };
    /** @description What was deleted. */
    Deleted: {
      /** @description Always `deleted` */
      status: string;
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
    };
    /** @description An issue with what it depends on and what was said about it. */
    IssueDetail: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      title: string;
      description?: string | null;
      /** @description What kind of issue it is; never changes. */
      issue_type: "bug" | "task" | "test" | "chore";
      /**
       * @description Where an issue stands.
       * @enum {string}
       */
      status: "open" | "in_progress" | "closed";
      /**
       * @description How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low.
       * @enum {string}
       */
      priority: "p0" | "p1" | "p2" | "p3";
      /** @description The stem of the spec this implements: `auth` for `specs/auth.md` */
      spec?: string | null;
      /** @description The bug that is closed together with this */
      fixes?: string | null;
      /** @description The issue that this is a part of */
      parent?: string | null;
      labels?: string[];
      /**
       * Format: date
       * @description The day by which it should be closed
       */
      due?: string | null;
      /**
       * Format: date
       * @description The day before which nobody should start
       */
      defer?: string | null;
      /** @description How much work it is */
      estimate?: string | null;
      /** @description What the result must meet */
      acceptance?: components["schemas"]["Criterion"][];
      /** @description Links to other issues */
      links?: components["schemas"]["Link"][];
      /** @description Custom fields, as the project's settings declare them */
      fields?: {
        [key: string]: string;
      };
      assignee?: string | null;
      /**
       * Format: date-time
       * @description When the claim ends by itself; absent for a claim that does not
       */
      lease_expires_at?: string | null;
      /** @description The session, or the run, that claimed it; only it may renew, release or close without force */
      claim_session?: string | null;
      /** @description The machine from which it was claimed */
      claim_host?: string | null;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
      /** Format: date-time */
      closed_at?: string | null;
      close_reason?: string | null;
      deps: components["schemas"]["Issue"][];
      comments: components["schemas"]["Comment"][];
      /** @description The issues that wait for it */
      blocks?: components["schemas"]["Issue"][];
      /** @description The tasks whose closing closes this bug */
      fixed_by?: components["schemas"]["Issue"][];
      /** @description The issues that are parts of it */
      children?: components["schemas"]["Issue"][];
      /** @description How much of what is below it is done */
      progress?: components["schemas"]["Progress"] | null;
      /** @description Links of other issues to it */
      linked_by?: components["schemas"]["LinkedIssue"][];
    };
    /** @description What an actor observed about an issue. */
    Comment: {
      /** @description The id of a comment; the same form as an issue's. */
      id: string;
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      issue_id: string;
      actor: string;
      text: string;
      /** Format: date-time */
      created_at: string;
    };
    /** @description The issues without children below an issue. */
    Progress: {
      /** Format: int64 */
      closed: number;
      /** Format: int64 */
      total: number;
    };
    /** @description The other end of a link. */
    LinkedIssue: {
      /** @description How one issue relates to another. */
      kind: "relates" | "duplicates" | "supersedes" | "discovered-from";
      /** @description Whether the other issue has the link */
      incoming?: boolean;
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      /** @description Absent if there is no such issue */
      title?: string | null;
      /**
       * @description Where an issue stands.
       * @enum {string|null}
       */
      status?: "open" | "in_progress" | "closed" | null;
    };
    /** @description How many issues there are. */
    Counted: {
      /** Format: int64 */
      count: number;
    } | {
      /** Format: int64 */
      total: number;
      groups: components["schemas"]["Group"][];
    };
    /** @description One group; it has the keys that were asked for. */
    Group: {
      /**
       * @description Where an issue stands.
       * @enum {string|null}
       */
      status?: "open" | "in_progress" | "closed" | null;
      /**
       * @description How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low.
       * @enum {string|null}
       */
      priority?: "p0" | "p1" | "p2" | "p3" | null;
      issue_type?: ("bug" | "task" | "test" | "chore") | null;
      /** @description Empty for those without one */
      assignee?: string | null;
      /** Format: int64 */
      count: number;
    };
    /** @description One line of an issue's history. */
    Event: {
      /**
       * Format: int64
       * @description The store's sequence number
       */
      id: number;
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      issue_id: string;
      event_type: string;
      actor: string;
      /** @description What changed, each field as `{"old":…,"new":…}` */
      detail: {
        [key: string]: unknown;
      };
      /** Format: date-time */
      created_at: string;
    };
    /** @description A claimed issue with what is known about it. */
    Assignment: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      title: string;
      description?: string | null;
      /** @description What kind of issue it is; never changes. */
      issue_type: "bug" | "task" | "test" | "chore";
      /**
       * @description Where an issue stands.
       * @enum {string}
       */
      status: "open" | "in_progress" | "closed";
      /**
       * @description How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low.
       * @enum {string}
       */
      priority: "p0" | "p1" | "p2" | "p3";
      /** @description The stem of the spec this implements: `auth` for `specs/auth.md` */
      spec?: string | null;
      /** @description The bug that is closed together with this */
      fixes?: string | null;
      /** @description The issue that this is a part of */
      parent?: string | null;
      labels?: string[];
      /**
       * Format: date
       * @description The day by which it should be closed
       */
      due?: string | null;
      /**
       * Format: date
       * @description The day before which nobody should start
       */
      defer?: string | null;
      /** @description How much work it is */
      estimate?: string | null;
      /** @description What the result must meet */
      acceptance?: components["schemas"]["Criterion"][];
      /** @description Links to other issues */
      links?: components["schemas"]["Link"][];
      /** @description Custom fields, as the project's settings declare them */
      fields?: {
        [key: string]: string;
      };
      assignee?: string | null;
      /**
       * Format: date-time
       * @description When the claim ends by itself; absent for a claim that does not
       */
      lease_expires_at?: string | null;
      /** @description The session, or the run, that claimed it; only it may renew, release or close without force */
      claim_session?: string | null;
      /** @description The machine from which it was claimed */
      claim_host?: string | null;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
      /** Format: date-time */
      closed_at?: string | null;
      close_reason?: string | null;
      deps: components["schemas"]["Issue"][];
      comments: components["schemas"]["Comment"][];
      /** @description The issues that wait for it */
      blocks?: components["schemas"]["Issue"][];
      /** @description The tasks whose closing closes this bug */
      fixed_by?: components["schemas"]["Issue"][];
      /** @description The issues that are parts of it */
      children?: components["schemas"]["Issue"][];
      /** @description How much of what is below it is done */
      progress?: components["schemas"]["Progress"] | null;
      /** @description Links of other issues to it */
      linked_by?: components["schemas"]["LinkedIssue"][];
      /** @description The issue that it is a part of */
      parent_issue?: components["schemas"]["Issue"] | null;
      /** @description What was learned about it before */
      learnings?: components["schemas"]["Learning"][];
      /** @description The files that those learnings name */
      files?: string[];
    };
    /** @description What somebody found out. */
    Learning: {
      /** @description The id of a learning, such as `ln-a1b2c3d4`. */
      id: string;
      /** @description What kind of knowledge it is. */
      kind: "pattern" | "approach" | "decision" | "gotcha";
      text: string;
      tags?: string[];
      /** @description The files it is about */
      files?: string[];
      /** @description The issue it came from */
      issue_id?: string | null;
      /** @description The piece of work it came from, by its issue */
      work?: string | null;
      /** @description The session it came from */
      session_id?: string | null;
      /**
       * @description How much it matters.
       * @default medium
       * @enum {string}
       */
      impact?: "high" | "medium" | "low";
      /**
       * Format: date-time
       * @description From when on it no longer holds
       */
      expires_at?: string | null;
      /** @description The learning in whose place this one is */
      supersedes?: string | null;
      /**
       * Format: int64
       * @description How often it was told: 1 and one more each time that somebody found out the same
       * @default 1
       */
      revision?: number;
      /** @description What the work was worth that it came from */
      value?: components["schemas"]["Worth"] | null;
      /** @description The issue of another tracker */
      linear_id?: string | null;
      actor: string;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
      /**
       * Format: date-time
       * @description When somebody last said that it still holds
       */
      verified_at?: string | null;
    };
    /** @description What a piece of work was worth, as its author put it. */
    Worth: {
      /** @description `feature`, `bugfix`, `performance`, `dx`, `refactor`, `infrastructure`, or another */
      type?: string | null;
      description?: string | null;
    };
    /** @description A label in use. */
    LabelCount: {
      label: string;
      /**
       * Format: int64
       * @description How many issues have it
       */
      count: number;
      /**
       * Format: int64
       * @description How many of them are not closed
       */
      open: number;
    };
    /** @description A renamed label. */
    LabelRenamed: {
      /** @description Always `renamed` */
      status: string;
      old: string;
      new: string;
      /**
       * Format: uint
       * @description How many issues changed
       */
      changed: number;
    };
    /** @description What happened to the links of two issues. */
    LinkChange: {
      /** @description `added` or `removed` */
      status: string;
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      to: string;
      kinds: ("relates" | "duplicates" | "supersedes" | "discovered-from")[];
    };
    /** @description The whole life of one issue. */
    Trace: {
      issue: components["schemas"]["Issue"];
      /** @description What happened, oldest first */
      entries: components["schemas"]["Moment"][];
      /**
       * Format: int64
       * @description How many earlier entries there are that were not wanted
       */
      left_out: number;
      totals: components["schemas"]["Totals"];
      /** @description What could not be told */
      notes: string[];
    };
    /** @description One thing that happened. */
    Moment: {
      /** Format: date-time */
      at: string;
      /**
       * @description What an entry is about.
       * @enum {string}
       */
      kind: "issue" | "comment" | "work" | "run" | "session" | "loop" | "signal" | "job" | "snapshot" | "commit" | "learning" | "release";
      /** @description What happened to it: `created`, `claimed`, `started` and so on */
      event: string;
      /** @description The id of what it is about, if that is not the issue */
      id?: string | null;
      actor?: string | null;
      /** @description In a few words */
      text?: string;
      /**
       * Format: int64
       * @description How long it took, in milliseconds, if this is its end
       */
      duration_ms?: number | null;
      /** @description Whether it went wrong */
      failed?: boolean;
    };
    /** @description What the life of an issue amounts to. */
    Totals: {
      /**
       * Format: int64
       * @description From its creation until it was closed, or until now, in milliseconds
       */
      age_ms: number;
      /** @description Who held it, and for how long */
      claims: components["schemas"]["Claim"][];
      /**
       * Format: int64
       * @description How long it was held altogether, in milliseconds
       */
      claimed_ms: number;
      /** Format: int64 */
      steps: number;
      /** Format: int64 */
      steps_done: number;
      /** Format: int64 */
      comments: number;
      runs: components["schemas"]["Count"];
      jobs: components["schemas"]["Count"];
      loops: components["schemas"]["Count"];
      /** Format: int64 */
      signals: number;
      /** Format: int64 */
      snapshots: number;
      sessions: components["schemas"]["SessionCost"][];
      tokens: components["schemas"]["Tokens"];
      /**
       * Format: double
       * @description In dollars, if any entry tells
       */
      cost_usd?: number | null;
      /** Format: int64 */
      commits: number;
      /** Format: int64 */
      learnings: number;
      /** Format: int64 */
      releases: number;
    };
    /** @description A stretch of time in which somebody held the issue. */
    Claim: {
      actor: string;
      /** Format: date-time */
      from: string;
      /**
       * Format: date-time
       * @description When it ended; absent while it lasts
       */
      until?: string | null;
      /** @description What ended it: `released`, `closed`, `lease_expired` and so on */
      ended_by?: string | null;
      /**
       * Format: int64
       * @description In milliseconds
       */
      duration_ms: number;
    };
    /** @description Things of one kind: how many, how many went wrong, and how long they took together. */
    Count: {
      /** Format: int64 */
      count: number;
      /** Format: int64 */
      failed: number;
      /**
       * Format: int64
       * @description In milliseconds
       */
      duration_ms: number;
    };
    /** @description What a session cost. */
    SessionCost: {
      /** @description The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      /** @description The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form. */
      agent_id: string;
      /** Format: int64 */
      entries: number;
      tokens: components["schemas"]["Tokens"];
      /**
       * Format: double
       * @description In dollars, if its entries tell
       */
      cost_usd?: number | null;
    };
    /** @description Tokens of one inference, or of many. */
    Tokens: {
      /** Format: int64 */
      input: number;
      /** Format: int64 */
      output: number;
      /**
       * Format: int64
       * @description Read from the provider's cache
       */
      cache_read: number;
      /**
       * Format: int64
       * @description Written to the provider's cache
       */
      cache_write: number;
      /** Format: int64 */
      total: number;
    };
    /** @description What matters in the graph of issues that are not closed, and why. */
    Insights: {
      /**
       * Format: uint32
       * @description Issues that are not closed
       */
      issues: number;
      /**
       * Format: uint32
       * @description Edges between them, from one that waits to what it waits for
       */
      waits: number;
      /**
       * Format: uint32
       * @description Issues in or behind a cycle, which can never be ready; `pn dep cycles` shows it
       */
      stuck: number;
      /** @description Whether the scores of bottlenecks are an estimate */
      approximate: boolean;
      /**
       * Format: uint32
       * @description From how many issues chains were followed for that; absent if from all
       */
      sources?: number | null;
      /** @description On the most of the shortest chains between others, by betweenness */
      bottlenecks: components["schemas"]["Ranked"][];
      /** @description With the most resting on them, by PageRank */
      keystones: components["schemas"]["Ranked"][];
      /** @description The longest chain, and the issues that nearly are on one as long */
      critical_path: components["schemas"]["Chain"];
      /** @description Without which their part of the graph falls apart, by how many neighbours they have */
      articulation_points: components["schemas"]["Ranked"][];
      /**
       * Format: uint32
       * @description How many there are of these
       */
      articulation_count: number;
      /** @description Claims that nothing happened to for long, the longest first */
      stale_claims: components["schemas"]["StaleClaim"][];
      /** @description What can begin now and holds up the most */
      blocked_cascades: components["schemas"]["Cascade"][];
      /** @description Issues less urgent than one that waits for them */
      priority_conflicts: components["schemas"]["PriorityConflict"][];
      /**
       * Format: uint32
       * @description How many there are of these
       */
      priority_conflict_count: number;
    };
    /** @description An issue with a score and what that comes from. */
    Ranked: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      title: string;
      /**
       * @description Where an issue stands.
       * @enum {string}
       */
      status: "open" | "in_progress" | "closed";
      /**
       * @description How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low.
       * @enum {string}
       */
      priority: "p0" | "p1" | "p2" | "p3";
      /** Format: double */
      score: number;
      /**
       * Format: uint32
       * @description How many it waits for, directly
       */
      waits_for: number;
      /**
       * Format: uint32
       * @description How many wait for it, directly
       */
      blocks: number;
      /**
       * Format: uint32
       * @description How many wait for it, directly or by way of others
       */
      behind: number;
      /**
       * Format: uint32
       * @description How many become ready once it, and then what that frees, is closed
       */
      frees: number;
    };
    /** @description The longest chain of issues that wait for each other. */
    Chain: {
      /** @description What length and slack count: issues, or seconds of estimates if all issues of the longest chain have one */
      unit: "issues" | "seconds";
      /** Format: int64 */
      length: number;
      /** @description What has to be done first in front */
      issues: components["schemas"]["ChainStep"][];
      /** @description Other issues, by how much longer their chains could be */
      slack: components["schemas"]["ChainStep"][];
    };
    /** @description An issue and the chains through it. */
    ChainStep: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      title: string;
      /**
       * @description Where an issue stands.
       * @enum {string}
       */
      status: "open" | "in_progress" | "closed";
      /**
       * @description How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low.
       * @enum {string}
       */
      priority: "p0" | "p1" | "p2" | "p3";
      /**
       * Format: int64
       * @description How much longer its chains could be without making the longest one longer
       */
      slack: number;
      /**
       * Format: int64
       * @description Its own part of the length
       */
      length: number;
    };
    /** @description A claim that nothing happened to for long. */
    StaleClaim: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      title: string;
      /**
       * @description Where an issue stands.
       * @enum {string}
       */
      status: "open" | "in_progress" | "closed";
      /**
       * @description How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low.
       * @enum {string}
       */
      priority: "p0" | "p1" | "p2" | "p3";
      assignee?: string | null;
      /**
       * Format: date-time
       * @description When it last changed
       */
      updated_at: string;
      /**
       * Format: int64
       * @description Whole hours since then
       */
      idle_hours: number;
      /**
       * Format: uint32
       * @description How many wait for it, directly or by way of others
       */
      behind: number;
    };
    /** @description An issue that waits for nothing, and what it holds up. */
    Cascade: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      title: string;
      /**
       * @description Where an issue stands.
       * @enum {string}
       */
      status: "open" | "in_progress" | "closed";
      /**
       * @description How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low.
       * @enum {string}
       */
      priority: "p0" | "p1" | "p2" | "p3";
      assignee?: string | null;
      /**
       * Format: uint32
       * @description How many wait for it, directly
       */
      blocks: number;
      /**
       * Format: uint32
       * @description How many wait for it, directly or by way of others
       */
      behind: number;
      /**
       * Format: uint32
       * @description How many become ready once it, and then what that frees, is closed
       */
      frees: number;
      /**
       * Format: uint32
       * @description Issues in the longest chain that waits for it
       */
      depth: number;
    };
    /** @description An issue that is less urgent than one that waits for it. */
    PriorityConflict: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      title: string;
      /**
       * @description Where an issue stands.
       * @enum {string}
       */
      status: "open" | "in_progress" | "closed";
      /**
       * @description How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low.
       * @enum {string}
       */
      priority: "p0" | "p1" | "p2" | "p3";
      /**
       * @description The priority of the most urgent issue that waits for it
       * @enum {string}
       */
      should_be: "p0" | "p1" | "p2" | "p3";
      /** @description That issue */
      because_of: components["schemas"]["IssueBrief"];
      /**
       * Format: uint32
       * @description How many wait for it, directly or by way of others
       */
      behind: number;
    };
    /** @description An issue as answers name it. */
    IssueBrief: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      title: string;
      /**
       * @description Where an issue stands.
       * @enum {string}
       */
      status: "open" | "in_progress" | "closed";
      /**
       * @description How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low.
       * @enum {string}
       */
      priority: "p0" | "p1" | "p2" | "p3";
    };
    /** @description A way to do all that is not closed, in parallel. */
    Plan: {
      /**
       * Format: uint32
       * @description Issues that are not closed
       */
      issues: number;
      /**
       * Format: uint32
       * @description For how many agents, if that was said
       */
      agents?: number | null;
      /**
       * Format: uint32
       * @description Issues in or behind a cycle, which stand at the end of their track
       */
      stuck: number;
      /** @description What to start now: ready, by how many become ready through it */
      start: components["schemas"]["StartIssue"][];
      /** @description Every issue is in one of these. For a number of agents, one for each; else tracks do not wait for each other */
      tracks: components["schemas"]["Track"][];
      /** @description What cannot be done in parallel */
      longest_chain: components["schemas"]["Chain"];
      /** @description When all of it may be closed; absent if too little was closed so far */
      forecast?: components["schemas"]["Forecast"] | null;
    };
    /** @description An issue to start now. */
    StartIssue: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      title: string;
      /**
       * @description Where an issue stands.
       * @enum {string}
       */
      status: "open" | "in_progress" | "closed";
      /**
       * @description How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low.
       * @enum {string}
       */
      priority: "p0" | "p1" | "p2" | "p3";
      /**
       * Format: uint32
       * @description The number of its track
       */
      track: number;
      /**
       * Format: uint32
       * @description How many become ready once it, and then what that frees, is closed
       */
      frees: number;
      /**
       * Format: uint32
       * @description Issues in the longest chain that waits for it
       */
      depth: number;
    };
    /** @description Issues to be done one after the other, or without waiting for those of other tracks. */
    Track: {
      /**
       * Format: uint32
       * @description From 1
       */
      track: number;
      /** @description In an order that can be worked in */
      issues: components["schemas"]["TrackIssue"][];
      /**
       * Format: uint32
       * @description Issues in the longest chain of those in it
       */
      depth: number;
    };
    /** @description An issue in a track. */
    TrackIssue: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      title: string;
      /**
       * @description Where an issue stands.
       * @enum {string}
       */
      status: "open" | "in_progress" | "closed";
      /**
       * @description How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low.
       * @enum {string}
       */
      priority: "p0" | "p1" | "p2" | "p3";
      /** @description What it waits for */
      after?: string[];
    };
    /** @description When all issues may be closed if as much is closed each day as before, and nothing new comes. */
    Forecast: {
      /**
       * Format: date-time
       * @description As likely before as after
       */
      date: string;
      /**
       * Format: date-time
       * @description One of ten is earlier
       */
      earliest: string;
      /**
       * Format: date-time
       * @description One of ten is later
       */
      latest: string;
      /**
       * Format: uint32
       * @description Issues that are not closed
       */
      left: number;
      /**
       * Format: uint32
       * @description Issues closed within the days that were looked back on
       */
      closed: number;
      /**
       * Format: uint32
       * @description How many days were looked back on
       */
      days: number;
      /**
       * Format: double
       * @description Issues closed on one day, on average
       */
      per_day: number;
      /**
       * Format: double
       * @description How much days differ: the standard deviation of that
       */
      deviation: number;
    };
    /** @description Why an issue is ready or not, and why it is ranked as it is. */
    Why: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      title: string;
      /**
       * @description Where an issue stands.
       * @enum {string}
       */
      status: "open" | "in_progress" | "closed";
      /**
       * @description How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low.
       * @enum {string}
       */
      priority: "p0" | "p1" | "p2" | "p3";
      assignee?: string | null;
      /** @description Whether an issue can be worked on. */
      state: "closed" | "ready" | "blocked" | "in_progress" | "deferred" | "report";
      /**
       * Format: date-time
       * @description Until when it is deferred
       */
      defer?: string | null;
      /** @description Issues that are not closed that it waits for, directly */
      waits_for: components["schemas"]["Held"][];
      /** @description Where to begin: what it waits for, by way of others too, that itself waits for nothing */
      begin_with: components["schemas"]["Held"][];
      /** @description Its numbers; absent if it is closed */
      rank?: components["schemas"]["Ranking"] | null;
    };
    /** @description An issue that another waits for. */
    Held: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      title: string;
      /**
       * @description Where an issue stands.
       * @enum {string}
       */
      status: "open" | "in_progress" | "closed";
      /**
       * @description How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low.
       * @enum {string}
       */
      priority: "p0" | "p1" | "p2" | "p3";
      assignee?: string | null;
    };
    /** @description Where an issue stands among those that are not closed. Ranks count from 1. */
    Ranking: {
      /**
       * Format: uint32
       * @description How many issues are not closed
       */
      issues: number;
      /**
       * Format: uint32
       * @description How many are ready
       */
      ready: number;
      /**
       * Format: uint32
       * @description Its place in `pn ready`, by priority and then age; absent unless it is ready
       */
      by_priority?: number | null;
      /**
       * Format: uint32
       * @description Its place in `pn ready --sort impact`
       */
      by_impact?: number | null;
      /** @description The one before it in `pn ready` */
      ahead?: components["schemas"]["IssueBrief"] | null;
      /**
       * Format: uint32
       * @description How many wait for it, directly
       */
      blocks: number;
      /**
       * Format: uint32
       * @description How many wait for it, directly or by way of others
       */
      behind: number;
      /**
       * Format: uint32
       * @description How many become ready once it, and then what that frees, is closed
       */
      frees: number;
      /**
       * Format: uint32
       * @description Issues in the longest chain that waits for it
       */
      depth: number;
      /** Format: double */
      page_rank: number;
      /** Format: uint32 */
      page_rank_place: number;
      /** Format: double */
      betweenness: number;
      /** Format: uint32 */
      betweenness_place: number;
      /** @description Whether betweenness is an estimate */
      approximate: boolean;
      /**
       * Format: int64
       * @description How much longer its chains could be without making the longest one longer; absent if that is not known
       */
      slack?: number | null;
      /** @description What slack counts */
      unit: "issues" | "seconds";
      /** @description The most urgent issue that waits for it, if it is more urgent */
      more_urgent?: components["schemas"]["IssueBrief"] | null;
    };
    /** @description What closing an issue would bring. */
    Impact: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      title: string;
      /**
       * @description Where an issue stands.
       * @enum {string}
       */
      status: "open" | "in_progress" | "closed";
      /**
       * @description How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low.
       * @enum {string}
       */
      priority: "p0" | "p1" | "p2" | "p3";
      /**
       * Format: uint32
       * @description How many become ready once it, and then what that frees, is closed
       */
      frees: number;
      /**
       * Format: uint32
       * @description How many wait for it, directly or by way of others
       */
      behind: number;
      /** @description What waits for nothing once it is closed, then once that is closed too, and so on */
      waves: components["schemas"]["Wave"][];
      /** @description What waits for it or for what it frees, and for others too */
      still_blocked: components["schemas"]["StillBlocked"][];
    };
    /** @description Issues that wait for nothing at the same time. */
    Wave: {
      /**
       * Format: uint32
       * @description From 1
       */
      wave: number;
      issues: components["schemas"]["IssueBrief"][];
    };
    /** @description An issue that waits for others too. */
    StillBlocked: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      title: string;
      /**
       * @description Where an issue stands.
       * @enum {string}
       */
      status: "open" | "in_progress" | "closed";
      /**
       * @description How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low.
       * @enum {string}
       */
      priority: "p0" | "p1" | "p2" | "p3";
      /** @description What it waits for beside those */
      waits_for: components["schemas"]["IssueBrief"][];
    };
    /** @description What changed between two times. */
    Diff: {
      /** Format: date-time */
      since: string;
      /** Format: date-time */
      until: string;
      created: components["schemas"]["ChangedIssue"][];
      closed: components["schemas"]["ChangedIssue"][];
      reopened: components["schemas"]["ChangedIssue"][];
      deleted: components["schemas"]["ChangedIssue"][];
      /** @description What has other fields than before */
      changed: components["schemas"]["ChangedIssue"][];
    };
    /** @description An issue that is not as it was. */
    ChangedIssue: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      /** @description Its title now, or when it was deleted */
      title?: string | null;
      /** @description Who did that last */
      actor: string;
      /**
       * Format: date-time
       * @description When that was
       */
      at: string;
      /** @description Fields that differ, each as `{"old":…,"new":…}` */
      fields?: {
        [key: string]: unknown;
      };
      /** @description What it waits for now and did not before */
      waits_for?: string[];
      /** @description What it no longer waits for */
      no_longer_waits_for?: string[];
      /**
       * Format: uint32
       * @description How many comments it got
       */
      comments?: number;
    };
    /** @description Issues and what waits for what, to be drawn. */
    Network: {
      /** @description In the order in which work is taken */
      issues: components["schemas"]["IssueBrief"][];
      /** @description Pairs of an issue that waits and what it waits for */
      waits: components["schemas"]["Wait"][];
      /**
       * Format: uint32
       * @description How many issues are left out, because there are too many
       */
      left_out: number;
    };
    /** @description An issue that waits for another. */
    Wait: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      issue_id: string;
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      depends_on_id: string;
    };
    /** @description Numbers to draw: one entry for each day in UTC, the first one first. */
    Chart: {
      /** Format: date-time */
      since: string;
      /** Format: date-time */
      until: string;
      days: components["schemas"]["Day"][];
      /** @description Issues closed in this time, in the order of their closing */
      closed: components["schemas"]["Cycle"][];
      /**
       * Format: int64
       * @description What half of them took at most, in milliseconds
       */
      median_ms?: number | null;
      /**
       * Format: int64
       * @description What 85 of 100 took at most
       */
      p85_ms?: number | null;
    };
    /** @description What there was at the end of a day, and what happened on it. */
    Day: {
      /** @description Such as `2026-02-27` */
      day: string;
      /** Format: uint32 */
      open: number;
      /** Format: uint32 */
      in_progress: number;
      /** Format: uint32 */
      closed: number;
      /**
       * Format: uint32
       * @description How many were created on it
       */
      created: number;
      /**
       * Format: uint32
       * @description How many were closed on it
       */
      done: number;
    };
    /** @description How long an issue took. */
    Cycle: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      /**
       * Format: date-time
       * @description When it was first claimed; when it was created, if it never was
       */
      started_at: string;
      /** Format: date-time */
      closed_at: string;
      /**
       * Format: int64
       * @description In milliseconds
       */
      took_ms: number;
    };
    /** @description A part of the log. */
    Page: {
      events: components["schemas"]["LogEntry"][];
      /**
       * Format: int64
       * @description How far the log was looked through: go on after this number
       */
      last: number;
      /**
       * Format: int64
       * @description Where the log ends now
       */
      end: number;
    };
    /** @description One line of a store's log, whatever it is about. */
    LogEntry: {
      /**
       * Format: int64
       * @description The store's sequence number
       */
      id: number;
      /** @description What changed: `issue`, `agent`, `run` and so on */
      subject_kind: string;
      subject_id: string;
      /** @description The issue it concerns, if any */
      issue_id?: string | null;
      event_type: string;
      actor: string;
      /** @description What changed, each field as `{"old":…,"new":…}` */
      detail: {
        [key: string]: unknown;
      };
      /** Format: date-time */
      created_at: string;
    };
    /** @description The health of a project at a glance. */
    Summary: {
      /** Format: int64 */
      open: number;
      /** Format: int64 */
      in_progress: number;
      /** Format: int64 */
      closed: number;
      /** @description Every type is present */
      by_type: {
        [key: string]: components["schemas"]["Tally"];
      };
    };
    /** @description How many issues stand where. */
    Tally: {
      /** Format: int64 */
      open: number;
      /** Format: int64 */
      in_progress: number;
      /** Format: int64 */
      closed: number;
    };
    /** @description A dependency that was added or removed. */
    DepChange: {
      /** @description `added` or `removed` */
      status: string;
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      issue_id: string;
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      depends_on_id: string;
    };
    /** @description One line of a dependency tree, in pre-order. */
    TreeNode: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      title: string;
      /**
       * @description Where an issue stands.
       * @enum {string}
       */
      status: "open" | "in_progress" | "closed";
      /**
       * @description How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low.
       * @enum {string}
       */
      priority: "p0" | "p1" | "p2" | "p3";
      /** @description What kind of issue it is; never changes. */
      issue_type: "bug" | "task" | "test" | "chore";
      /** Format: uint32 */
      depth: number;
      /** @description The node above; absent for the root */
      parent?: string | null;
      /** @description True when it is a part of the node above, or that a part of it; otherwise one depends on the other */
      part?: boolean;
      /** @description True when the node stood in the tree already and is not expanded again */
      repeated?: boolean;
    };
    /** @description What an issue is called elsewhere. */
    Ref: {
      id: string;
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      issue_id: string;
      actor: string;
      /** Format: date-time */
      created_at: string;
      /** @description An address (`https://…`), or the name of a tracker and a key in it (`linear:PRJ-123`) */
      target: string;
      title?: string | null;
    };
    /** @description How many lines of each kind went through. */
    Transfer: {
      /** @description `ok`, or `drifted` if the files were only checked and are not what an export would write */
      status: string;
      /** Format: int64 */
      issues: number;
      /** Format: int64 */
      deps: number;
      /** Format: int64 */
      comments: number;
      /**
       * Format: int64
       * @description How many lines of history the files have, if they are to have any
       */
      events?: number | null;
      /**
       * Format: int64
       * @description How many conflicts were noted; pn conflicts lists them
       */
      conflicts?: number;
      /** @description What was out of the ordinary */
      notes?: string[];
      /** @description The files that are not what an export would write */
      drifted?: string[];
    };
    /** @description A value that lost in a merge, and the value that won. */
    Conflict: {
      /** @description The id of a conflict between two clones. */
      id: string;
      collection: string;
      record_id: string;
      /** @description The field that both sides changed; `deleted` if one of them deleted the record */
      field: string;
      /** @description The value in the store; null if absent */
      kept: unknown;
      /** @description The value that lost */
      other: unknown;
    };
    /** @description What a check-up found and did. */
    Report: {
      findings: components["schemas"]["Finding"][];
      fixes_applied: string[];
    };
    /** @description One thing worth knowing. */
    Finding: {
      check: string;
      /**
       * @description How bad a finding is.
       * @enum {string}
       */
      severity: "info" | "warning" | "error";
      message: string;
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      issue_id?: string | null;
      fixable: boolean;
    };
    /** @description What was removed. */
    Collected: {
      dry_run: boolean;
      /**
       * Format: date-time
       * @description What is younger than this stays
       */
      until: string;
      removed: components["schemas"]["Removed"];
      /** @description Whether there is more, for another call */
      more?: boolean;
      /** @description What takes up much space, or leaves little */
      warnings: string[];
    };
    /** @description How much was removed, or would be. */
    Removed: {
      /** Format: int64 */
      loops: number;
      /**
       * Format: int64
       * @description Directories of loops that were removed before
       */
      loop_directories: number;
      /** Format: int64 */
      signals: number;
      /** Format: int64 */
      receipts: number;
      /** Format: int64 */
      job_outputs: number;
      /**
       * Format: int64
       * @description Deleted before, and removed for good now
       * @default 0
       */
      deleted_issues?: number;
      /**
       * Format: int64
       * @description With their sessions
       * @default 0
       */
      deleted_agents?: number;
      /**
       * Format: int64
       * @description Only those of the machine that asks
       */
      snapshots: number;
      /** Format: int64 */
      journal_segments: number;
      /**
       * Format: int64
       * @description Of records and segments
       */
      bytes: number;
    };
    /** @description How many bytes the parts of a store have, and how many are left on its disk. Absent where a database keeps it. */
    Taken: {
      /** Format: uint64 */
      database?: number | null;
      /** Format: uint64 */
      journal?: number | null;
      /** Format: uint64 */
      logs?: number | null;
      /** Format: uint64 */
      backups?: number | null;
      /** Format: uint64 */
      free?: number | null;
    };
    /** @description A backup. */
    BackedUp: {
      /** @description Where it is */
      path: string;
      /** Format: uint64 */
      bytes: number;
      /**
       * Format: int64
       * @description The number of the last event in it
       */
      event: number;
    };
    /** @description What a store was restored to. */
    Restored: {
      /** @description Always `restored` */
      status: string;
      /**
       * Format: int64
       * @description The number of the event that says so
       */
      event: number;
      /** Format: int64 */
      issues: number;
      /** @description The backup of what was there before */
      backup: string;
    };
    /** @description Where a store is. */
    Place: {
      path: string;
    };
    /** @description Which store answers, and what runs it. */
    StoreInfo: {
      project_dir: string;
      version: string;
      store_id: string;
    };
    /** @description What was taken back. */
    Undone: {
      /**
       * Format: int64
       * @description The number of the undo itself, by which pn redo can name it; none if nothing was changed
       */
      event?: number | null;
      /** @description Newest first */
      undone: components["schemas"]["TakenBack"][];
      /** @description Later operations that cannot be undone, newest first */
      passed_over?: components["schemas"]["Undoable"][];
    };
    /** @description One event that was taken back. */
    TakenBack: {
      /**
       * Format: int64
       * @description Its number
       */
      event: number;
      /**
       * Format: int64
       * @description The number of the first event of the operation it was a part of
       */
      op: number;
      /** @description What it was about: `issue`, `learning`, `kv` and so on */
      subject_kind: string;
      subject_id: string;
      /** @description The same, if it was an issue */
      issue_id?: string | null;
      event_type: string;
      actor: string;
      /** Format: date-time */
      created_at: string;
    };
    /** @description An operation, and whether it can be undone. */
    Undoable: {
      /**
       * Format: int64
       * @description The number of its first event, or of the redo that brought it back: the one to name
       */
      event: number;
      /** @description What it did, oldest first */
      events: components["schemas"]["TakenBack"][];
      /** @description Why it cannot be undone; none if it can */
      refused?: string | null;
      /** @description What would reverse it instead, if anything does */
      instead?: string | null;
    };
    /** @description What was brought back. */
    Redone: {
      /**
       * Format: int64
       * @description The number of the redo itself; none if nothing was changed
       */
      event?: number | null;
      /** @description The events that are in effect again, oldest first */
      redone: components["schemas"]["TakenBack"][];
    };
    /** @description A project of a server: a name for a store. */
    Project: {
      /** @description The name of a project on a server. It is part of URLs, so it is short and plain. */
      name: string;
      store_id: string;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      archived_at?: string | null;
    };
    /** @description A new token. Only this answer contains its secret. */
    NewToken: {
      /** @description The id of a token, which is not its secret. */
      id: string;
      /** @description The secret */
      token: string;
      /** @description The project it opens; none for an operator's */
      project?: string | null;
      /**
       * @description How much a token lets its holder do in one project, each role all that the one before it does; or, as `operator`,
       *     with the server itself.
       */
      role: "viewer" | "agent" | "maintainer" | "admin" | "operator";
      /** Format: date-time */
      expires_at?: string | null;
    };
    /** @description A token, without its secret. */
    Token: {
      /** @description The id of a token, which is not its secret. */
      id: string;
      /** @description The project it opens; none for an operator's */
      project?: string | null;
      /**
       * @description How much a token lets its holder do in one project, each role all that the one before it does; or, as `operator`,
       *     with the server itself.
       */
      role: "viewer" | "agent" | "maintainer" | "admin" | "operator";
      /** Format: date-time */
      created_at: string;
      created_by: string;
      /** Format: date-time */
      expires_at?: string | null;
      /** Format: date-time */
      revoked_at?: string | null;
    };
    /** @description One thing that was done. */
    AuditLine: {
      /** Format: date-time */
      at: string;
      /** @description The project it was done in; none for what was done to the server itself */
      project?: string | null;
      /** @description The token it was done with; none if it was done with the store or the database itself */
      token?: string | null;
      actor: string;
      event_type: string;
      /** @description What it was done to: `issue`, `project`, `token` */
      subject_kind: string;
      subject_id: string;
      /**
       * Format: int64
       * @description The event's number in the log of its store
       */
      event: number;
      /** @description What changed, each field as `{"old":…,"new":…}` */
      detail: {
        [key: string]: unknown;
      };
    };
    /** @description A persistent identity, with what it is and what it may do. */
    Agent: {
      /** @description The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      /** @description The type of an agent, possibly unknown to this version: an imported agent keeps its type. */
      type: string;
      name?: string | null;
      /** @description The agent it works for */
      parent_id?: string | null;
      /**
       * @description What it is, in the words of whoever made it
       * @default {}
       */
      descriptor?: {
        [key: string]: unknown;
      };
      /** @description The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form. */
      active_session_id?: string | null;
      /**
       * @description What it may do, in the words of whoever made it
       * @default {}
       */
      permissions?: {
        [key: string]: unknown;
      };
      /** @description What its last inference cost */
      tokens?: {
        [key: string]: unknown;
      } | null;
      /**
       * @description What all its inferences cost, by provider and model
       * @default {}
       */
      stats?: {
        [key: string]: unknown;
      };
      /** @description The lifecycle state of an agent. */
      lifecycle: ("active" | "sleeping") | "dead";
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
    };
    /** @description An agent that is gone, and what went with it. */
    Deleted2: {
      /** @description Always `deleted` */
      status: string;
      /** @description The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      /** Format: int64 */
      sessions: number;
      /** Format: int64 */
      entries: number;
    };
    /** @description A session that took place elsewhere. */
    ImportedSession: {
      /** @description Why a session was opened. */
      opened_by: "start" | "reset" | "compaction";
      inference_session_id?: string | null;
      reset_message?: string | null;
      /** Format: date-time */
      created_at?: string | null;
      /** @default [] */
      entries?: components["schemas"]["NewEntry"][];
    };
    /** @description An entry that is to be appended: `{"type","at"?,"data"}`, or the fields of its data beside `type` and `at`. */
    NewEntry: {
      /** @description What kind of entry it is, such as user_message */
      type: string;
      /**
       * Format: date-time
       * @description When it happened [default: now]
       */
      at?: string | null;
      /** @default {} */
      data?: {
        [key: string]: unknown;
      };
    };
    /** @description What became of an agent from elsewhere. */
    Imported: {
      /** @description The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      /** @description Whether it was not here before */
      imported: boolean;
      /** @description Whether its parent is not here */
      parent_missing?: boolean;
      /** Format: int64 */
      sessions: number;
      /** Format: int64 */
      entries: number;
      /**
       * Format: int64
       * @description How many secrets were replaced
       */
      redactions: number;
    };
    /** @description A session with what its entries add up to. */
    Summary2: {
      /** @description The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      /** @description The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form. */
      agent_id: string;
      /** @description Why a session was opened. */
      opened_by: "start" | "reset" | "compaction";
      /** @description What the inference provider calls this conversation */
      inference_session_id?: string | null;
      /** @description What the reset said, or the summary that the compaction made */
      reset_message?: string | null;
      /** @description The issue it is about */
      issue_id?: string | null;
      /** @description The run it belongs to */
      run_id?: string | null;
      /** Format: date-time */
      created_at: string;
      /**
       * Format: date-time
       * @description When the next session took its place; absent while it is active
       */
      ended_at?: string | null;
      /**
       * Format: date-time
       * @description Since when listings leave it out
       */
      archived_at?: string | null;
      /**
       * Format: int64
       * @description How many entries it has
       */
      entries: number;
      /**
       * Format: int64
       * @description From its beginning to its end, or to its last entry while it is active
       */
      duration_ms: number;
      /** @description By model, as the entries tell it; `unknown` where they name none */
      tokens: {
        [key: string]: components["schemas"]["Tokens"];
      };
      /**
       * Format: double
       * @description What the tokens cost in dollars, if the settings have prices for all models
       */
      cost_usd?: number | null;
    };
    /** @description An entry that was looked for. */
    Found: {
      /**
       * Format: int64
       * @description The number of the entry
       */
      id: number;
      /** @description The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form. */
      session_id: string;
      /** @description The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form. */
      agent_id: string;
      /** @description What kind of entry it is, such as `user_message`. Types that this version does not know are kept. */
      type: string;
      /** Format: date-time */
      at: string;
      /** @description What stands around the text that was looked for */
      excerpt: string;
    };
    /** @description One stretch of an agent's conversation. */
    Session: {
      /** @description The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      /** @description The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form. */
      agent_id: string;
      /** @description Why a session was opened. */
      opened_by: "start" | "reset" | "compaction";
      /** @description What the inference provider calls this conversation */
      inference_session_id?: string | null;
      /** @description What the reset said, or the summary that the compaction made */
      reset_message?: string | null;
      /** @description The issue it is about */
      issue_id?: string | null;
      /** @description The run it belongs to */
      run_id?: string | null;
      /** Format: date-time */
      created_at: string;
      /**
       * Format: date-time
       * @description When the next session took its place; absent while it is active
       */
      ended_at?: string | null;
      /**
       * Format: date-time
       * @description Since when listings leave it out
       */
      archived_at?: string | null;
    };
    /** @description Sessions that are gone. */
    DeletedSessions: {
      ids: string[];
      /**
       * Format: int64
       * @description How many entries they had
       */
      entries: number;
    };
    /** @description Where entries were appended. */
    Appended: {
      /** @description The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form. */
      session_id: string;
      /**
       * Format: int64
       * @description The number of the first of them
       */
      first: number;
      /**
       * Format: int64
       * @description The number of the last of them
       */
      last: number;
      /** Format: int64 */
      count: number;
      /**
       * Format: int64
       * @description How many secrets were replaced
       */
      redactions: number;
    };
    /** @description One item of a session's history. */
    Entry: {
      /**
       * Format: int64
       * @description Its number, larger than that of every entry before it
       */
      id: number;
      /** @description The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form. */
      session_id: string;
      /** @description What kind of entry it is, such as `user_message`. Types that this version does not know are kept. */
      type: string;
      /**
       * Format: date-time
       * @description When it happened, which need not be when it was written
       */
      at: string;
      /**
       * Format: uint32
       * @description The version of the payload
       */
      v: number;
      data: {
        [key: string]: unknown;
      };
    };
    /** @description One message of a context. */
    Message: {
      /**
       * @description Who speaks in a message.
       * @enum {string}
       */
      role: "system" | "user" | "assistant" | "tool";
      content: string;
      /** @description What the assistant asks of tools; the results follow at once, in this order */
      tool_calls?: components["schemas"]["ToolCall"][];
      /** @description The call that a tool's message answers */
      tool_call_id?: string | null;
      /** @description True when a tool failed, or when its result is not known; else absent */
      is_error?: boolean;
      /**
       * Format: int64
       * @description The entry it comes from; absent for what opens the session and for results that were never recorded
       */
      entry?: number | null;
    };
    /** @description What an assistant asks of a tool. */
    ToolCall: {
      id: string;
      name: string;
      /** @description Mostly an object; as it was given, if it is none */
      arguments: unknown;
    };
    /** @description A repository that runs take place in. */
    Repo: {
      /** @description The id of a repository, such as `repo-a1b2c3d4`. */
      id: string;
      /**
       * @description The version control system of a repository.
       * @enum {string}
       */
      vcs: "git" | "hg" | "jj" | "bzr" | "fossil" | "pijul";
      /** @description The machine that has the directory */
      host?: string | null;
      root_path?: string | null;
      remote_url?: string | null;
      default_branch?: string | null;
      /** Format: date-time */
      created_at: string;
    };
    /** @description A repository that is no longer known. */
    Removed2: {
      /** @description Always `removed` */
      status: string;
      /** @description The id of a repository, such as `repo-a1b2c3d4`. */
      id: string;
    };
    /** @description A named group of runs on a server. */
    Workspace: {
      /** @description The id of a workspace of a server. */
      id: string;
      name: string;
      /** @description What another system calls it */
      external_id?: string | null;
      /** Format: date-time */
      created_at: string;
    };
    /** @description Where a repository is: its directory on a machine, its remote, or both. */
    Seen: {
      /**
       * @description The version control system of a repository.
       * @enum {string}
       */
      vcs: "git" | "hg" | "jj" | "bzr" | "fossil" | "pijul";
      /** @description The machine that has the directory */
      host?: string | null;
      root_path?: string | null;
      remote_url?: string | null;
      default_branch?: string | null;
    };
    /** @description A process of one machine, told from another that got the same number later. */
    Process: {
      /** Format: int64 */
      pid: number;
      /** @description When it began, in the words of its machine */
      born?: string | null;
    };
    /** @description One concrete execution. */
    Run: {
      /** @description The id of a run, such as `run-a1b2c3d4`. */
      id: string;
      /** @description The status of a run. */
      status: ("running" | "failed" | "succeeded" | "cancelled") | "created";
      /** @description The id of a repository, such as `repo-a1b2c3d4`. */
      repo_id: string;
      /** @description The id of a workspace of a server. */
      workspace_id?: string | null;
      /** @description The id of a harness in one version. */
      harness_id: string;
      /** @description The agent software: `claude-code@2.1` */
      harness: string;
      /** @description The id of a runtime. */
      runtime_id: string;
      /** @description Where it runs: `local`, `nosandbox`, `devcontainer:PATH` */
      runtime: string;
      /** @description The issue that it works on */
      issue_id?: string | null;
      /** @description The session that it holds */
      session_id?: string | null;
      /** @description What runs that were launched together have in common */
      group?: string | null;
      actor: string;
      /** @description The program and its arguments */
      command?: string[];
      /**
       * @description What the agent was asked to do
       * @default
       */
      prompt?: string;
      branch?: string | null;
      delivery?: (("branch" | "patch") | "pr") | null;
      /**
       * Format: int64
       * @description How many runs were launched together
       */
      instances: number;
      /** @default {} */
      labels?: {
        [key: string]: string;
      };
      /** @description Whether it may use a browser */
      browser_automation: boolean;
      browser_profile?: string | null;
      chatgpt_username?: string | null;
      codex_workspace?: string | null;
      /** @description The machine that it runs on */
      host?: string | null;
      /** @description The command's process */
      agent?: components["schemas"]["Process"] | null;
      /** @description The process that looks after it */
      supervisor?: components["schemas"]["Process"] | null;
      /**
       * @description A terminal multiplexer.
       * @enum {string|null}
       */
      multiplexer_kind?: "tmux" | "zellij" | "screen" | null;
      mux_session?: string | null;
      /** Format: int64 */
      mux_window?: number | null;
      pane_left?: string | null;
      pane_right?: string | null;
      log_path?: string | null;
      /** @description The directory that it has to itself */
      workspace_path?: string | null;
      /**
       * Format: int64
       * @description What the command returned
       */
      exit_code?: number | null;
      /**
       * Format: int64
       * @description The signal that ended the command
       */
      signal?: number | null;
      /** @description Why, in words */
      reason?: string | null;
      /** Format: date-time */
      started_at: string;
      /** Format: date-time */
      ended_at?: string | null;
      /** Format: date-time */
      updated_at: string;
    };
    /** @description Agent software in one version. */
    Harness: {
      /** @description The id of a harness in one version. */
      id: string;
      name: string;
      version: string;
      /** @description What it can do, in words of your own */
      metadata?: {
        [key: string]: unknown;
      } | null;
    };
    /** @description The surroundings that runs take place in. */
    Runtime: {
      /** @description The id of a runtime. */
      id: string;
      /** @description `local`, `nosandbox`, `devcontainer`, or another */
      type: string;
      devcontainer_path?: string | null;
      metadata?: {
        [key: string]: unknown;
      } | null;
    };
    /** @description The record of a snapshot. Its content is on the machine that took it. */
    Snapshot: {
      /** @description The id of a snapshot, such as `snap-a1b2c3d4`. */
      id: string;
      /** @description Why a snapshot was taken. */
      kind: "manual" | "safety";
      /** @description What keeps the content of a snapshot. */
      provider: "git" | "copy" | "btrfs" | "zfs" | "overlay";
      /** @description The id of a repository, such as `repo-a1b2c3d4`. */
      repo_id: string;
      /** @description The run that it was taken for */
      run_id?: string | null;
      /** @description The machine that has the tree and the content */
      host: string;
      /** @description The tree */
      root: string;
      /** @description What the provider calls it: a ref, a subvolume, a snapshot of a dataset */
      ref?: string | null;
      /** @description Where its content can be looked at */
      path?: string | null;
      /** @description The snapshot before it */
      parent_id?: string | null;
      label?: string | null;
      actor: string;
      /**
       * @description `files`, `bytes`, what was `left_out`, and what the provider needs to prove it
       * @default {}
       */
      metadata?: {
        [key: string]: unknown;
      };
      /** Format: date-time */
      created_at: string;
      /**
       * Format: date-time
       * @description When the tree was last made equal to it
       */
      restored_at?: string | null;
    };
    /** @description A snapshot that is gone. */
    Deleted3: {
      /** @description Always `deleted` */
      status: string;
      /** @description The id of a snapshot, such as `snap-a1b2c3d4`. */
      id: string;
    };
    /** @description One command of a tool. */
    Job: {
      /** @description The id of a job, such as `job-a1b2c3d4`. */
      id: string;
      /** @description The status of a job. */
      status: ("running" | "succeeded" | "failed") | "pending" | "timeout" | "cancelled";
      tool_name: string;
      /** @description The name of a lane. */
      lane: string;
      /** @description The program and its arguments, as a shell would read them */
      command: string;
      /** @description The directory that it runs in */
      cwd?: string | null;
      /** @description The loop that it is a part of */
      loop_id?: string | null;
      /** @description The id of a run, such as `run-a1b2c3d4`. */
      run_id?: string | null;
      /** @description The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form. */
      session_id?: string | null;
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      issue_id?: string | null;
      actor: string;
      /** @description The machine that it runs on */
      host?: string | null;
      /**
       * Format: int64
       * @description The number of the command's process
       */
      pid?: number | null;
      /** @description When that process began, in the words of its machine */
      born?: string | null;
      /** @description The process that looks after it */
      supervisor?: components["schemas"]["Process"] | null;
      /**
       * Format: int64
       * @description What the command returned
       */
      exit_code?: number | null;
      /**
       * Format: int64
       * @description The signal that ended the command
       */
      signal?: number | null;
      /** @description Why, in words */
      reason?: string | null;
      /**
       * Format: int64
       * @description Bytes that it wrote, kept or not
       */
      output_bytes: number;
      /** @description Whether some of what it wrote was not kept */
      truncated: boolean;
      was_timeout: boolean;
      /** @description Whether somebody asked for its end */
      was_cancelled: boolean;
      /**
       * Format: int64
       * @description How long it may take, in milliseconds
       */
      timeout_ms: number;
      /**
       * Format: int64
       * @description Where it stands in the queue of its lane: those with smaller numbers come before
       */
      number: number;
      /** Format: date-time */
      queued_at: string;
      /**
       * Format: date-time
       * @description How long it waits for a slot
       */
      waits_until?: string | null;
      /**
       * Format: date-time
       * @description When its command began; before that, when it was queued
       */
      started_at: string;
      /** Format: date-time */
      ended_at?: string | null;
      /** Format: int64 */
      duration_ms?: number | null;
      /** Format: date-time */
      updated_at: string;
      /** @description What it wrote, as far as it was kept; only where one job is shown */
      output?: string | null;
    };
    /** @description The jobs of one tool in one lane. */
    JobStats: {
      tool_name: string;
      /** @description The name of a lane. */
      lane: string;
      /** Format: int64 */
      count: number;
      /**
       * Format: int64
       * @description Those that wait or run
       */
      unfinished: number;
      /**
       * Format: int64
       * @description Those that ended by themselves, and badly
       */
      failures: number;
      /** Format: int64 */
      timeouts: number;
      /** Format: int64 */
      cancelled: number;
      /** Format: int64 */
      output_bytes: number;
      /** Format: int64 */
      p50_ms?: number | null;
      /** Format: int64 */
      p95_ms?: number | null;
      /** Format: int64 */
      max_ms?: number | null;
    };
    /** @description A value with its scope and key. */
    Pair: {
      /** @description `user`, `project`, `repo`, `runtime`, or another */
      scope: string;
      key: string;
      value: string;
      /** Format: date-time */
      updated_at: string;
    };
    /** @description A value that is gone. */
    Deleted4: {
      /** @description Always `deleted` */
      status: string;
      scope: string;
      key: string;
    };
    /** @description A document and where it is kept. */
    Record: {
      collection: string;
      id: string;
      /**
       * Format: int64
       * @description Changes with every change of the record, and never comes back: not even for another record of the same id
       */
      rev: number;
      /** Format: date-time */
      updated_at: string;
      data: {
        [key: string]: unknown;
      };
    };
    /** @description Some of the records that were asked for. An answer ends after 10,000 records or 8 MiB. */
    Page2: {
      records: components["schemas"]["Record"][];
      /** @description Where to go on, if there are more */
      next?: string | null;
    };
    /** @description How many records there are. */
    Counted2: {
      collection: string;
      /** Format: int64 */
      count: number;
    };
    /** @description Records that are gone. */
    Deleted5: {
      /** @description Always `deleted` */
      status: string;
      collection: string;
      ids: string[];
    };
    /** @description What is known of a collection. */
    Collection: {
      collection: string;
      /** Format: int64 */
      records: number;
      /**
       * Format: date-time
       * @description When the last of them was changed
       */
      updated_at?: string | null;
      /** @description The fields that have an index */
      indexes?: string[];
      /** @description True if secrets are taken out of its documents; else absent */
      redact?: boolean;
    };
    /** @description A collection and its indexes. */
    Indexed: {
      collection: string;
      /** Format: int64 */
      records: number;
      /**
       * Format: date-time
       * @description When the last of them was changed
       */
      updated_at?: string | null;
      /** @description The fields that have an index */
      indexes?: string[];
      /** @description True if secrets are taken out of its documents; else absent */
      redact?: boolean;
      /** @description True if what was indexed has been made anew; else absent */
      rebuilt?: boolean;
    };
    /** @description One change of a record. */
    Change: {
      put: components["schemas"]["Put"];
    } | {
      delete: components["schemas"]["Removal"];
    };
    /** @description Keep a document in a collection, in place of the one with the same id */
    Put: {
      /** @description The collection, such as jobs; it is made with its first record */
      collection: string;
      /** @description The document */
      data: {
        [key: string]: unknown;
      };
      /** @description Its id [default: the one in the document, or a new one] */
      id?: string | null;
      /**
       * Format: int64
       * @description Only if the record has this revision; 0 means that there is none yet
       */
      if_rev?: number | null;
      /** @description Only if the record is there */
      if_present?: boolean;
      /**
       * Format: date-time
       * @description When it was changed [default: now]
       */
      updated_at?: string | null;
    };
    /** @description A record that is to be gone. */
    Removal: {
      collection: string;
      id: string;
      /** Format: int64 */
      if_rev?: number | null;
    };
    /** @description What came of one change. */
    Applied: {
      id: string;
      /**
       * Format: int64
       * @description Absent if the record is gone
       */
      rev?: number | null;
    };
    /** @description How large the files are. */
    Compacted: {
      /** Format: uint */
      collections: number;
      /** Format: uint64 */
      bytes_before: number;
      /** Format: uint64 */
      bytes: number;
    };
    /** @description What somebody is doing about an issue. */
    Work: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      issue_id: string;
      /** @description That of the issue */
      title: string;
      /**
       * @description What a change is for its users.
       * @enum {string}
       */
      kind: "feature" | "bug" | "improvement" | "refactor" | "chore";
      /**
       * @description The status of work.
       * @enum {string}
       */
      status: "active" | "paused" | "done";
      branch?: string | null;
      steps: components["schemas"]["Step"][];
      /**
       * Format: uint
       * @description The first step that is not done, counted from 1
       */
      current_step?: number | null;
      /** @description Who does it now, or did it last */
      actor: string;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
      /** Format: date-time */
      done_at?: string | null;
      /** @description Who was to do it before somebody else claimed it with this very command */
      was_assigned_to?: string | null;
    };
    /** @description A step of work. */
    Step: {
      title: string;
      /**
       * @description The status of a step.
       * @enum {string}
       */
      status: "pending" | "done";
    };
    /** @description A new release. */
    Shipped: {
      /** @description The id of a release, such as `rel-a1b2c3d4`. */
      id: string;
      name: string;
      /** @description What is shipped together has the same */
      version: string;
      /**
       * @description What a change is for its users.
       * @enum {string}
       */
      kind: "feature" | "bug" | "improvement" | "refactor" | "chore";
      /**
       * @description What was done in it
       * @default []
       */
      issues?: string[];
      notes?: string | null;
      actor: string;
      /** Format: date-time */
      shipped_at: string;
      /** @description Issues of it that are not closed */
      open?: string[];
    };
    /** @description Something that was shipped. */
    Release: {
      /** @description The id of a release, such as `rel-a1b2c3d4`. */
      id: string;
      name: string;
      /** @description What is shipped together has the same */
      version: string;
      /**
       * @description What a change is for its users.
       * @enum {string}
       */
      kind: "feature" | "bug" | "improvement" | "refactor" | "chore";
      /**
       * @description What was done in it
       * @default []
       */
      issues?: string[];
      notes?: string | null;
      actor: string;
      /** Format: date-time */
      shipped_at: string;
    };
    /** @description A text about releases and issues. */
    ChangelogText: {
      markdown: string;
    };
    /** @description Every name and its skills. */
    Skills: {
      mappings: {
        [key: string]: string[];
      };
      /**
       * Format: date-time
       * @description When any of it was last changed; null if nothing ever was
       */
      updatedAt?: string | null;
    };
    /** @description A learning that was kept. */
    Remembered: {
      /** @description The id of a learning, such as `ln-a1b2c3d4`. */
      id: string;
      /** @description What kind of knowledge it is. */
      kind: "pattern" | "approach" | "decision" | "gotcha";
      text: string;
      tags?: string[];
      /** @description The files it is about */
      files?: string[];
      /** @description The issue it came from */
      issue_id?: string | null;
      /** @description The piece of work it came from, by its issue */
      work?: string | null;
      /** @description The session it came from */
      session_id?: string | null;
      /**
       * @description How much it matters.
       * @default medium
       * @enum {string}
       */
      impact?: "high" | "medium" | "low";
      /**
       * Format: date-time
       * @description From when on it no longer holds
       */
      expires_at?: string | null;
      /** @description The learning in whose place this one is */
      supersedes?: string | null;
      /**
       * Format: int64
       * @description How often it was told: 1 and one more each time that somebody found out the same
       * @default 1
       */
      revision?: number;
      /** @description What the work was worth that it came from */
      value?: components["schemas"]["Worth"] | null;
      /** @description The issue of another tracker */
      linear_id?: string | null;
      actor: string;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
      /**
       * Format: date-time
       * @description When somebody last said that it still holds
       */
      verified_at?: string | null;
      /** @description True if it was there already and was told again; else absent */
      merged?: boolean;
      /**
       * Format: int64
       * @description How many secrets were replaced
       */
      redactions?: number;
    };
    /** @description A learning that was recalled. */
    Hit: {
      /** @description The id of a learning, such as `ln-a1b2c3d4`. */
      id: string;
      /** @description What kind of knowledge it is. */
      kind: "pattern" | "approach" | "decision" | "gotcha";
      text: string;
      tags?: string[];
      /** @description The files it is about */
      files?: string[];
      /** @description The issue it came from */
      issue_id?: string | null;
      /** @description The piece of work it came from, by its issue */
      work?: string | null;
      /** @description The session it came from */
      session_id?: string | null;
      /**
       * @description How much it matters.
       * @default medium
       * @enum {string}
       */
      impact?: "high" | "medium" | "low";
      /**
       * Format: date-time
       * @description From when on it no longer holds
       */
      expires_at?: string | null;
      /** @description The learning in whose place this one is */
      supersedes?: string | null;
      /**
       * Format: int64
       * @description How often it was told: 1 and one more each time that somebody found out the same
       * @default 1
       */
      revision?: number;
      /** @description What the work was worth that it came from */
      value?: components["schemas"]["Worth"] | null;
      /** @description The issue of another tracker */
      linear_id?: string | null;
      actor: string;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
      /**
       * Format: date-time
       * @description When somebody last said that it still holds
       */
      verified_at?: string | null;
      /**
       * Format: int64
       * @description How well it fits; only for comparison with others of the same answer
       */
      score: number;
      /** @description True if the text was cut to fit the budget; else absent */
      cut?: boolean;
    };
    /** @description A learning with values computed from others. */
    Shown: {
      /** @description The id of a learning, such as `ln-a1b2c3d4`. */
      id: string;
      /** @description What kind of knowledge it is. */
      kind: "pattern" | "approach" | "decision" | "gotcha";
      text: string;
      tags?: string[];
      /** @description The files it is about */
      files?: string[];
      /** @description The issue it came from */
      issue_id?: string | null;
      /** @description The piece of work it came from, by its issue */
      work?: string | null;
      /** @description The session it came from */
      session_id?: string | null;
      /**
       * @description How much it matters.
       * @default medium
       * @enum {string}
       */
      impact?: "high" | "medium" | "low";
      /**
       * Format: date-time
       * @description From when on it no longer holds
       */
      expires_at?: string | null;
      /** @description The learning in whose place this one is */
      supersedes?: string | null;
      /**
       * Format: int64
       * @description How often it was told: 1 and one more each time that somebody found out the same
       * @default 1
       */
      revision?: number;
      /** @description What the work was worth that it came from */
      value?: components["schemas"]["Worth"] | null;
      /** @description The issue of another tracker */
      linear_id?: string | null;
      actor: string;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
      /**
       * Format: date-time
       * @description When somebody last said that it still holds
       */
      verified_at?: string | null;
      /** @description The learning that is in its place */
      superseded_by?: string | null;
    };
    /** @description A learning that is gone. */
    Forgotten: {
      /** @description Always `deleted` */
      status: string;
      /** @description The id of a learning, such as `ln-a1b2c3d4`. */
      id: string;
    };
    /** @description Work in iterations. */
    Loop: {
      /** @description The id of a loop, such as `lp-a1b2c3d4`. */
      id: string;
      /**
       * @description What a loop makes.
       * @enum {string}
       */
      loop_type: "plan" | "spec" | "phase" | "code";
      /** @description The loop that must be complete before this one can run */
      parent_id?: string | null;
      /** @description The issue that it works on */
      issue_id?: string | null;
      /** @description What it begins with */
      input_artifact?: string | null;
      /**
       * @description What came of it
       * @default []
       */
      output_artifacts?: string[];
      prompt_path: string;
      /** @description Says with its exit code whether an iteration was good */
      validation_command: string;
      /** Format: uint32 */
      max_iterations: number;
      worktree: string;
      /**
       * Format: uint32
       * @description How many iterations were begun
       */
      iteration: number;
      /** @description The status of a loop. */
      status: ("running" | "paused" | "complete" | "failed") | "pending" | "rebasing" | "awaiting_approval" | "invalidated";
      /**
       * @description How far it is, in words
       * @default
       */
      progress?: string;
      /**
       * @description Whatever its prompts need, typed by whoever made it
       * @default null
       */
      context?: unknown;
      /** @description Why it is where it stands, if somebody said so */
      reason?: string | null;
      /** @description Who runs it, or ran it last */
      holder?: string | null;
      /** @description The machine that it runs on */
      host?: string | null;
      /**
       * Format: int64
       * @description The process that runs it
       */
      pid?: number | null;
      /**
       * Format: int64
       * @description Its place among those that can be claimed; absent if it can not be
       */
      runnable?: number | null;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
      /** Format: date-time */
      archived_at?: string | null;
    };
    /** @description A part of a file in the directory of a loop. */
    FilePart: {
      /** @description In the directory of the loop, such as `stdout.log` or `iterations/001/artifacts/plan.md` */
      path: string;
      /**
       * Format: uint64
       * @description Where in the file it begins
       * @default 0
       */
      offset?: number;
      /** @description What it holds */
      text?: string | null;
      /** @description What it holds, two hexadecimal digits a byte, if that is no text */
      hex?: string | null;
    };
    /** @description What became of the files of a loop. */
    TakenFiles: {
      /** @description `imported`, `here` or `clash`, for each part */
      outcomes: ("imported" | "updated" | "here" | "changed" | "clash" | "deleted" | "refused")[];
      /** @description Why none of them was kept */
      no_directory?: string | null;
    };
    /** @description A loop in a tree: below the one before it that has a smaller depth. */
    Branch: {
      /** Format: uint */
      depth: number;
      /** @description The id of a loop, such as `lp-a1b2c3d4`. */
      id: string;
      /**
       * @description What a loop makes.
       * @enum {string}
       */
      loop_type: "plan" | "spec" | "phase" | "code";
      /** @description The loop that must be complete before this one can run */
      parent_id?: string | null;
      /** @description The issue that it works on */
      issue_id?: string | null;
      /** @description What it begins with */
      input_artifact?: string | null;
      /**
       * @description What came of it
       * @default []
       */
      output_artifacts?: string[];
      prompt_path: string;
      /** @description Says with its exit code whether an iteration was good */
      validation_command: string;
      /** Format: uint32 */
      max_iterations: number;
      worktree: string;
      /**
       * Format: uint32
       * @description How many iterations were begun
       */
      iteration: number;
      /** @description The status of a loop. */
      status: ("running" | "paused" | "complete" | "failed") | "pending" | "rebasing" | "awaiting_approval" | "invalidated";
      /**
       * @description How far it is, in words
       * @default
       */
      progress?: string;
      /**
       * @description Whatever its prompts need, typed by whoever made it
       * @default null
       */
      context?: unknown;
      /** @description Why it is where it stands, if somebody said so */
      reason?: string | null;
      /** @description Who runs it, or ran it last */
      holder?: string | null;
      /** @description The machine that it runs on */
      host?: string | null;
      /**
       * Format: int64
       * @description The process that runs it
       */
      pid?: number | null;
      /**
       * Format: int64
       * @description Its place among those that can be claimed; absent if it can not be
       */
      runnable?: number | null;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
      /** Format: date-time */
      archived_at?: string | null;
    };
    /** @description A file of an iteration. */
    IterationFile: {
      /**
       * @description `prompt.md`, `conversation.jsonl`, `validation.log`, or `artifacts/NAME`; `stdout.log` and `stderr.log` are
       *     appended to those of the loop
       */
      path: string;
      /** @description What it holds */
      text?: string | null;
      /** @description What it holds, two hexadecimal digits a byte, if that is no text */
      hex?: string | null;
    };
    /** @description A loop whose next iteration has begun. */
    Iterated: {
      /** @description The id of a loop, such as `lp-a1b2c3d4`. */
      id: string;
      /**
       * @description What a loop makes.
       * @enum {string}
       */
      loop_type: "plan" | "spec" | "phase" | "code";
      /** @description The loop that must be complete before this one can run */
      parent_id?: string | null;
      /** @description The issue that it works on */
      issue_id?: string | null;
      /** @description What it begins with */
      input_artifact?: string | null;
      /**
       * @description What came of it
       * @default []
       */
      output_artifacts?: string[];
      prompt_path: string;
      /** @description Says with its exit code whether an iteration was good */
      validation_command: string;
      /** Format: uint32 */
      max_iterations: number;
      worktree: string;
      /**
       * Format: uint32
       * @description How many iterations were begun
       */
      iteration: number;
      /** @description The status of a loop. */
      status: ("running" | "paused" | "complete" | "failed") | "pending" | "rebasing" | "awaiting_approval" | "invalidated";
      /**
       * @description How far it is, in words
       * @default
       */
      progress?: string;
      /**
       * @description Whatever its prompts need, typed by whoever made it
       * @default null
       */
      context?: unknown;
      /** @description Why it is where it stands, if somebody said so */
      reason?: string | null;
      /** @description Who runs it, or ran it last */
      holder?: string | null;
      /** @description The machine that it runs on */
      host?: string | null;
      /**
       * Format: int64
       * @description The process that runs it
       */
      pid?: number | null;
      /**
       * Format: int64
       * @description Its place among those that can be claimed; absent if it can not be
       */
      runnable?: number | null;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
      /** Format: date-time */
      archived_at?: string | null;
      /** @description The directory of the iteration, where the store has files */
      directory?: string | null;
      /** @description Why there is none, and what was not kept */
      no_directory?: string | null;
    };
    /** @description Create a loop; it can be claimed once its parent is complete */
    Create: {
      /**
       * @description What it makes
       * @enum {string}
       */
      loop_type: "plan" | "spec" | "phase" | "code";
      /** @description The file with its prompt */
      prompt_path: string;
      /** @description What says with its exit code whether an iteration was good */
      validation_command: string;
      /** @description The loop that must be complete before */
      parent?: string | null;
      /** @description The issue that it works on */
      issue?: string | null;
      /**
       * Format: uint32
       * @description Most iterations [default: 100]
       */
      max_iterations?: number | null;
      /** @description Where its work is done [default: worktrees/ID] */
      worktree?: string | null;
      /** @description What it begins with */
      input_artifact?: string | null;
      /** @description Whatever its prompts need: any JSON */
      context?: unknown;
    };
    /** @description A loop that is complete, and those that follow from it. */
    Approved: {
      /** @description The id of a loop, such as `lp-a1b2c3d4`. */
      id: string;
      /**
       * @description What a loop makes.
       * @enum {string}
       */
      loop_type: "plan" | "spec" | "phase" | "code";
      /** @description The loop that must be complete before this one can run */
      parent_id?: string | null;
      /** @description The issue that it works on */
      issue_id?: string | null;
      /** @description What it begins with */
      input_artifact?: string | null;
      /**
       * @description What came of it
       * @default []
       */
      output_artifacts?: string[];
      prompt_path: string;
      /** @description Says with its exit code whether an iteration was good */
      validation_command: string;
      /** Format: uint32 */
      max_iterations: number;
      worktree: string;
      /**
       * Format: uint32
       * @description How many iterations were begun
       */
      iteration: number;
      /** @description The status of a loop. */
      status: ("running" | "paused" | "complete" | "failed") | "pending" | "rebasing" | "awaiting_approval" | "invalidated";
      /**
       * @description How far it is, in words
       * @default
       */
      progress?: string;
      /**
       * @description Whatever its prompts need, typed by whoever made it
       * @default null
       */
      context?: unknown;
      /** @description Why it is where it stands, if somebody said so */
      reason?: string | null;
      /** @description Who runs it, or ran it last */
      holder?: string | null;
      /** @description The machine that it runs on */
      host?: string | null;
      /**
       * Format: int64
       * @description The process that runs it
       */
      pid?: number | null;
      /**
       * Format: int64
       * @description Its place among those that can be claimed; absent if it can not be
       */
      runnable?: number | null;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
      /** Format: date-time */
      archived_at?: string | null;
      children: components["schemas"]["Loop"][];
    };
    /** @description A loop that no longer holds. */
    Invalidated: {
      /** @description The id of a loop, such as `lp-a1b2c3d4`. */
      id: string;
      /**
       * @description What a loop makes.
       * @enum {string}
       */
      loop_type: "plan" | "spec" | "phase" | "code";
      /** @description The loop that must be complete before this one can run */
      parent_id?: string | null;
      /** @description The issue that it works on */
      issue_id?: string | null;
      /** @description What it begins with */
      input_artifact?: string | null;
      /**
       * @description What came of it
       * @default []
       */
      output_artifacts?: string[];
      prompt_path: string;
      /** @description Says with its exit code whether an iteration was good */
      validation_command: string;
      /** Format: uint32 */
      max_iterations: number;
      worktree: string;
      /**
       * Format: uint32
       * @description How many iterations were begun
       */
      iteration: number;
      /** @description The status of a loop. */
      status: ("running" | "paused" | "complete" | "failed") | "pending" | "rebasing" | "awaiting_approval" | "invalidated";
      /**
       * @description How far it is, in words
       * @default
       */
      progress?: string;
      /**
       * @description Whatever its prompts need, typed by whoever made it
       * @default null
       */
      context?: unknown;
      /** @description Why it is where it stands, if somebody said so */
      reason?: string | null;
      /** @description Who runs it, or ran it last */
      holder?: string | null;
      /** @description The machine that it runs on */
      host?: string | null;
      /**
       * Format: int64
       * @description The process that runs it
       */
      pid?: number | null;
      /**
       * Format: int64
       * @description Its place among those that can be claimed; absent if it can not be
       */
      runnable?: number | null;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
      /** Format: date-time */
      archived_at?: string | null;
      /** @description All that were invalidated with it, itself included */
      invalidated: string[];
      /** @description What was sent to those that were under way, if any were */
      signal?: components["schemas"]["Signal"] | null;
    };
    /** @description A signal, and how far it was heard. */
    Signal: {
      /** @description The id of a signal, such as `sg-a1b2c3d4`. */
      id: string;
      /**
       * @description What a signal asks for.
       * @enum {string}
       */
      signal_type: "stop" | "pause" | "resume" | "rebase" | "error" | "info" | "invalidate";
      /** @description The loop that it comes from */
      source_loop?: string | null;
      /** @description The id of a loop, such as `lp-a1b2c3d4`. */
      target_loop?: string | null;
      /** @description The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form. */
      target_agent?: string | null;
      /** @description The id of a run, such as `run-a1b2c3d4`. */
      target_run?: string | null;
      /** @description What said to whom it was sent: `descendants:ID`, `children:ID`, `type:T` or `status:S` */
      target_selector?: string | null;
      /** @default  */
      reason?: string;
      payload?: unknown;
      /** @description Who sent it */
      actor: string;
      /** Format: int64 */
      recipient_count: number;
      /** Format: int64 */
      acknowledged_count: number;
      /** Format: date-time */
      created_at: string;
      /**
       * Format: date-time
       * @description When the last of them acknowledged it
       */
      acknowledged_at?: string | null;
    };
    /** @description A signal that was sent. */
    Sent: {
      /** @description The id of a signal, such as `sg-a1b2c3d4`. */
      id: string;
      /**
       * @description What a signal asks for.
       * @enum {string}
       */
      signal_type: "stop" | "pause" | "resume" | "rebase" | "error" | "info" | "invalidate";
      /** @description The loop that it comes from */
      source_loop?: string | null;
      /** @description The id of a loop, such as `lp-a1b2c3d4`. */
      target_loop?: string | null;
      /** @description The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form. */
      target_agent?: string | null;
      /** @description The id of a run, such as `run-a1b2c3d4`. */
      target_run?: string | null;
      /** @description What said to whom it was sent: `descendants:ID`, `children:ID`, `type:T` or `status:S` */
      target_selector?: string | null;
      /** @default  */
      reason?: string;
      payload?: unknown;
      /** @description Who sent it */
      actor: string;
      /** Format: int64 */
      recipient_count: number;
      /** Format: int64 */
      acknowledged_count: number;
      /** Format: date-time */
      created_at: string;
      /**
       * Format: date-time
       * @description When the last of them acknowledged it
       */
      acknowledged_at?: string | null;
      /** @description Who is to acknowledge it */
      recipients: string[];
    };
    /** @description A signal, and who has not acknowledged it. */
    Shown2: {
      /** @description The id of a signal, such as `sg-a1b2c3d4`. */
      id: string;
      /**
       * @description What a signal asks for.
       * @enum {string}
       */
      signal_type: "stop" | "pause" | "resume" | "rebase" | "error" | "info" | "invalidate";
      /** @description The loop that it comes from */
      source_loop?: string | null;
      /** @description The id of a loop, such as `lp-a1b2c3d4`. */
      target_loop?: string | null;
      /** @description The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form. */
      target_agent?: string | null;
      /** @description The id of a run, such as `run-a1b2c3d4`. */
      target_run?: string | null;
      /** @description What said to whom it was sent: `descendants:ID`, `children:ID`, `type:T` or `status:S` */
      target_selector?: string | null;
      /** @default  */
      reason?: string;
      payload?: unknown;
      /** @description Who sent it */
      actor: string;
      /** Format: int64 */
      recipient_count: number;
      /** Format: int64 */
      acknowledged_count: number;
      /** Format: date-time */
      created_at: string;
      /**
       * Format: date-time
       * @description When the last of them acknowledged it
       */
      acknowledged_at?: string | null;
      missing: string[];
    };
    /** @description What a recipient now has of a signal. */
    Acked: {
      /** @description The id of a signal, such as `sg-a1b2c3d4`. */
      signal_id: string;
      /**
       * @description What a signal asks for.
       * @enum {string}
       */
      signal_type: "stop" | "pause" | "resume" | "rebase" | "error" | "info" | "invalidate";
      recipient: string;
      /**
       * @description What can be sent a signal.
       * @enum {string}
       */
      recipient_kind: "loop" | "agent" | "run";
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      acknowledged_at?: string | null;
      /** @description Who said so */
      acknowledged_by?: string | null;
      /**
       * Format: int64
       * @description How many have not acknowledged it
       */
      missing_count: number;
    };
    /** @description Signals that are gone. */
    Pruned: {
      ids: string[];
    };
    /** @description The state of a lock, as shown to clients. */
    Lock: {
      name: string;
      held: boolean;
      /**
       * Format: int64
       * @description Grows by one with each acquisition, and never goes back
       */
      fencing: number;
      holder?: string | null;
      /** Format: date-time */
      acquired_at?: string | null;
      /** Format: date-time */
      expires_at?: string | null;
      /** @description The secret that renews and releases the lock; only in the answer to acquire */
      token?: string | null;
    };
    /** @description What an agent should know before it goes on. */
    Briefing: {
      sections: components["schemas"]["Section"][];
    };
    /** @description One section. */
    Section: {
      name: string;
      title: string;
      lines: components["schemas"]["Line"][];
      /**
       * Format: uint
       * @description How many more there would have been
       */
      more?: number;
    };
    /** @description One thing that a section tells. */
    Line: {
      /** @description What it is about */
      id?: string | null;
      text: string;
    };
    /** @description A page of changed records. */
    Changed: {
      /** @description The store that answers */
      store_id: string;
      entries: components["schemas"]["Sent2"][];
      /** @description Where the next page begins */
      cursor: string;
      /** @description Whether there is more to be had at once */
      more: boolean;
      /**
       * Format: int64
       * @description How many entries of the log were read
       */
      looked_at: number;
      /** @description Whether the log does not contain the requested position, so that this page starts at the beginning */
      restarted?: boolean;
    };
    /** @description A record that is synced from one store to another. */
    Sent2: {
      /** @description The collection it is in: issues, deps, comments, … */
      collection: string;
      /** @description Its key in the collection */
      id: string;
      /** @description The record as a line of its collection's file */
      line: string;
      /** @description The merge base: the line that both stores last had in common, if any */
      base?: string | null;
    };
    /** @description The sync state between two stores. */
    Progress2: {
      /**
       * @description The other store
       * @default
       */
      store_id?: string;
      /** @description The local name of its server */
      name?: string | null;
      /** @description The URL of its server */
      url?: string | null;
      /**
       * Format: int64
       * @description The number of the sync state on which this is based; refused if it has changed
       * @default 0
       */
      turn?: number;
      /** @description The position in the other log up to which everything is here after this request */
      pulled?: string | null;
      /** @description The position in this log up to which the other store has everything */
      pushed?: string | null;
      /** @description Records that the other store did not apply and that stay pending */
      held?: components["schemas"]["Named"][];
      /** @description Records that the other store no longer has */
      gone?: components["schemas"]["Named"][];
      /** @description Whether the sync state starts over, because nothing known of the other store is valid */
      afresh?: boolean;
      /** @description Whether both stores now have everything of each other */
      done?: boolean;
    };
    /** @description Identifies a record. */
    Named: {
      collection: string;
      id: string;
    };
    /** @description The outcome of applying records. */
    Taken2: {
      /** @description One for each entry, in order */
      outcomes: components["schemas"]["Outcome"][];
      /**
       * Format: int64
       * @description How many records changed
       */
      changed: number;
      /** Format: int64 */
      conflicts: number;
      notes?: string[];
      /** @description Whether two records had the same id and one was given a new one */
      renamed?: boolean;
      /** @description The end of the log before the request */
      before: string;
      /** @description The end of the log after the request */
      after: string;
      /**
       * Format: int64
       * @description The number of the sync state
       */
      turn: number;
      /** @description The position in the other log up to which everything is here */
      pulled?: string | null;
    };
    Outcome: {
      /** @description The outcome for one record. */
      fate: "taken" | "gone" | "waits" | "refused" | "unknown";
      /** @description The local version, if it differs from the line sent */
      line?: string | null;
      /**
       * Format: int64
       * @description For a session: how many entries both have, if the other store has more
       */
      fetch_after?: number | null;
      /**
       * Format: int64
       * @description For a session: how many entries the other store has, if fewer
       */
      send_after?: number | null;
    };
    /** @description A page of pending records. */
    Queue: {
      entries: components["schemas"]["Sent2"][];
      /** @description Records that the other store may have and this one no longer has */
      gone?: components["schemas"]["Named"][];
      /** @description The position in this log up to which the other store has everything after these */
      pushed?: string | null;
      /** @description Where the next page begins, if there is one */
      next?: string | null;
      /**
       * Format: int64
       * @description How many entries of the log were read
       */
      looked_at: number;
    };
    /** @description Another store, and what it does not have yet. */
    Peer: {
      store_id: string;
      name?: string | null;
      url?: string | null;
      /** Format: int64 */
      turn: number;
      pulled?: string | null;
      pushed?: string | null;
      /** @description Local events that are waiting to be sent */
      events: components["schemas"]["Waiting"][];
      /** @description Whether there are more pending events than listed */
      more?: boolean;
      /**
       * Format: int64
       * @description Records that will be sent again or were not applied
       * @default 0
       */
      held?: number;
      /**
       * Format: date-time
       * @description When both stores last had everything of each other
       */
      lastSync?: string | null;
    };
    /** @description A local event that another store does not have yet. */
    Waiting: {
      /** @description Its number in this store's log */
      id: string;
      /** @description What happened, such as `issue.created` */
      type: string;
      /** Format: date-time */
      timestamp: string;
      /** @description Who changed what, and how */
      data: unknown;
      /** @description Always false: synced events are not listed */
      synced: boolean;
    };
    /** @description One record. */
    Given: {
      /** @constant */
      kind: "issue";
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      title: string;
      description?: string | null;
      /** @description What kind of issue it is; never changes. */
      issue_type: "bug" | "task" | "test" | "chore";
      /**
       * @description How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low.
       * @enum {string}
       */
      priority: "p0" | "p1" | "p2" | "p3";
      /** @description Whether it is over; work that is done closes its issue by itself */
      closed?: boolean;
      close_reason?: string | null;
      /** Format: date-time */
      created_at?: string | null;
      /** Format: date-time */
      updated_at?: string | null;
      /** Format: date-time */
      closed_at?: string | null;
      /** @description The spec that it implements */
      spec?: string | null;
      /** @description What was done about it */
      work?: components["schemas"]["GivenWork"] | null;
      origin: components["schemas"]["Origin"];
    } | {
      /** @constant */
      kind: "release";
      /** @description The id of a release, such as `rel-a1b2c3d4`. */
      id: string;
      name: string;
      version: string;
      /**
       * @description What it is for its users
       * @enum {string}
       */
      release_kind: "feature" | "bug" | "improvement" | "refactor" | "chore";
      /** @description What was done in it, as far as it is here */
      issues?: string[];
      notes?: string | null;
      /** Format: date-time */
      shipped_at?: string | null;
      origin: components["schemas"]["Origin"];
    } | {
      /** @constant */
      kind: "learning";
      /** @description What kind of knowledge it is. */
      learning_kind: "pattern" | "approach" | "decision" | "gotcha";
      text: string;
      tags?: string[];
      files?: string[];
      /**
       * @description How much it matters.
       * @default medium
       * @enum {string}
       */
      impact?: "high" | "medium" | "low";
      value?: components["schemas"]["Worth"] | null;
      linear_id?: string | null;
      /** @description The task it came from, by the id that the other tool gave it */
      task?: string | null;
      /** Format: date-time */
      at?: string | null;
      /** @description What the other tool calls it */
      name?: string | null;
      /** @description What the other tool calls the learning in whose place this one is; it comes before, in the same request */
      supersedes?: string | null;
      origin: components["schemas"]["Origin"];
    } | {
      /** @constant */
      kind: "comment";
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      issue_id: string;
      author?: string | null;
      text: string;
      /** Format: date-time */
      at?: string | null;
      origin: components["schemas"]["Origin"];
    } | {
      /** @constant */
      kind: "event";
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      issue_id: string;
      /**
       * Format: uint32
       * @description How many of the same came before it
       * @default 0
       */
      again?: number;
      /** @description As the other tool wrote it */
      data: {
        [key: string]: unknown;
      };
    } | {
      /** @constant */
      kind: "skills";
      name: string;
      skills: string[];
    } | {
      /** @constant */
      kind: "document";
      scope: string;
      key: string;
      text: string;
    };
    /** @description Work on an issue. */
    GivenWork: {
      /**
       * @description What a change is for its users.
       * @enum {string}
       */
      kind: "feature" | "bug" | "improvement" | "refactor" | "chore";
      /**
       * @description The status of work.
       * @enum {string}
       */
      status: "active" | "paused" | "done";
      branch?: string | null;
      steps?: components["schemas"]["Step"][];
      /** Format: date-time */
      started_at?: string | null;
    };
    /** @description Where a record comes from, and what of it has no place. */
    Origin: {
      /** @description The file, by its path in the directory of the tool */
      file: string;
      /** @description Tells whether the record has changed since it was taken in */
      hash: string;
      /** @description Fields that have no place */
      fields?: {
        [key: string]: unknown;
      };
      /** @description Other records with the same id */
      also?: {
        [key: string]: unknown;
      }[];
    };
    /** @description What became of a record. */
    Told: {
      /** @description What became of a record. */
      outcome: "imported" | "updated" | "here" | "changed" | "clash" | "deleted" | "refused";
      /** @description The id under which it is here */
      id?: string | null;
      /** @description What there is to say about it */
      reason?: string | null;
      /**
       * Format: int64
       * @description How many secrets were replaced
       */
      redactions?: number;
    };
  };
  responses: {
    /** @description Why it was not done */
    Error: {
      content: {
        "application/json": components["schemas"]["Error"];
      };
    };
  };
}
export interface operations {
  "issue.list": {
    parameters: {
      query?: {
        /** @description Only those with this status */
        status?: "open" | "in_progress" | "closed" | null;
        /** @description Only those with this priority */
        priority?: "p0" | "p1" | "p2" | "p3" | null;
        /** @description Only those of this assignee; an empty name means unassigned */
        assignee?: string | null;
        /** @description Only those of this type */
        issue_type?: ("bug" | "task" | "test" | "chore") | null;
        /** @description Only those of this spec */
        spec?: string | null;
        /** @description In which order */
        sort?: ("priority" | "created_at" | "updated_at" | "status" | "title" | "impact") | null;
        /** @description At most this many */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Issue"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "issue.create": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description What it is about, in one line */
          title: string;
          /** @description What kind of issue it is */
          issue_type: "bug" | "task" | "test" | "chore";
          /**
           * @description How urgent it is
           * @default p2
           * @enum {string}
           */
          priority?: "p0" | "p1" | "p2" | "p3";
          /** @description Who should do it */
          assignee?: string | null;
          /** @description Stem of the spec it implements: auth for specs/auth.md */
          spec?: string | null;
          /** @description The bug to close together with it */
          fixes?: string | null;
          /** @description Details; - reads them from standard input */
          description?: string | null;
          /** @description An issue that must be closed first; may be given again */
          deps?: string[];
          /** @description The issue that it is a part of */
          parent?: string | null;
          /** @description A label; may be given again */
          labels?: string[];
          /** @description By when it should be closed: tomorrow, +3d, fri, 2026-12-01 */
          due?: string | null;
          /** @description Not ready before this date */
          defer?: string | null;
          /** @description How much work it is: 30m, 4h, 2d */
          estimate?: string | null;
          /** @description What the result must meet; may be given again */
          acceptance?: string[];
          /** @description A custom field of the project, as name=value; may be given again */
          fields?: {
            [key: string]: string;
          };
          /** @description Where else it is known: https://… or linear:PRJ-123; may be given again */
          refs?: string[];
        };
      };
    };
    responses: {
      /** @description Done */
      201: {
        content: {
          "application/json": components["schemas"]["Created"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "issue.show": {
    parameters: {
      query?: never;
      path: {
        /** @description Which issue */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["IssueDetail"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "issue.delete": {
    parameters: {
      query?: {
        /** @description Even if others depend on it, fix it, have commented or hold it */
        force?: boolean;
      };
      path: {
        /** @description Which issue */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Deleted"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "issue.update": {
    parameters: {
      query?: never;
      path: {
        /** @description Which issue */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description A new title */
          title?: string | null;
          /**
           * @description A new status; closed closes it, open reopens a closed one
           * @enum {string|null}
           */
          status?: "open" | "in_progress" | "closed" | null;
          /**
           * @description A new priority
           * @enum {string|null}
           */
          priority?: "p0" | "p1" | "p2" | "p3" | null;
          /** @description A new assignee; an empty name clears it */
          assignee?: string | null;
          /** @description A new description; - reads it from standard input, an empty one clears it */
          description?: string | null;
          /** @description Another spec; an empty one clears it */
          spec?: string | null;
          /** @description Another bug to close together with it; an empty one clears it */
          fixes?: string | null;
          /** @description The issue that it is a part of; an empty one clears it */
          parent?: string | null;
          /** @description A label to add; may be given again */
          add_labels?: string[];
          /** @description A label to remove; may be given again */
          remove_labels?: string[];
          /** @description By when it should be closed: tomorrow, +3d, fri, 2026-12-01; an empty date clears it */
          due?: string | null;
          /** @description Not ready before this date; an empty one clears it */
          defer?: string | null;
          /** @description How much work it is: 30m, 4h, 2d; an empty time clears it */
          estimate?: string | null;
          /** @description What the result must meet as well; may be given again */
          acceptance?: string[];
          /** @description A criterion to take away, as its number or its text; may be given again */
          remove_acceptance?: string[];
          /** @description A custom field of the project, as name=value; name= clears it; may be given again */
          fields?: {
            [key: string]: string;
          };
          /** @description Where else it is known: https://… or linear:PRJ-123; may be given again */
          refs?: string[];
          /** @description Claim it: fails unless it is open */
          claim?: boolean;
          /** @description Let the claim end by itself unless renewed: 30s, 15m, 12h, 1d */
          ttl?: string | null;
          /** @description Give it back: open, without assignee */
          unclaim?: boolean;
          /** @description Change status or assignee even if another holds the claim */
          force?: boolean;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Updated"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "issue.close": {
    parameters: {
      query?: never;
      path: {
        /** @description Which issue */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Why, or how it was done */
          reason?: string | null;
          /** @description The issue that says the same; links to it */
          duplicate_of?: string | null;
          /** @description Close it whatever its status, its children and criteria, and whoever holds it */
          force?: boolean;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Issue"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "issue.accept": {
    parameters: {
      query?: never;
      path: {
        /** @description Which issue */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          /**
           * Format: uint32
           * @description The number of the criterion, from 1; pn show lists them
           */
          number: number;
          /** @description It does not meet it after all */
          undo?: boolean;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Issue"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "issue.reopen": {
    parameters: {
      query?: never;
      path: {
        /** @description Which issue */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Why */
          reason?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Issue"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "issue.release": {
    parameters: {
      query?: never;
      path: {
        /** @description Which issue */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Even if another holds it */
          force?: boolean;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Issue"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "issue.heartbeat": {
    parameters: {
      query?: never;
      path: {
        /** @description Which issue */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description From now on, this long; as long as before unless given */
          ttl?: string | null;
          /** @description Even if another holds it */
          force?: boolean;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Issue"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "issue.ready": {
    parameters: {
      query?: {
        /** @description Only those with this priority */
        priority?: "p0" | "p1" | "p2" | "p3" | null;
        /** @description Only those of this assignee; an empty name means unassigned */
        assignee?: string | null;
        /** @description Only those of this type */
        issue_type?: ("bug" | "task" | "test" | "chore") | null;
        /** @description Only those of this spec */
        spec?: string | null;
        /** @description In which order [default: priority] */
        sort?: ("priority" | "created_at" | "updated_at" | "status" | "title" | "impact") | null;
        /** @description At most this many */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Issue"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "issue.blocked": {
    parameters: {
      query?: {
        /** @description Only those with this status */
        status?: "open" | "in_progress" | "closed" | null;
        /** @description Only those with this priority */
        priority?: "p0" | "p1" | "p2" | "p3" | null;
        /** @description Only those of this assignee; an empty name means unassigned */
        assignee?: string | null;
        /** @description Only those of this type */
        issue_type?: ("bug" | "task" | "test" | "chore") | null;
        /** @description At most this many */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Issue"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "issue.search": {
    parameters: {
      query: {
        /** @description The text, taken literally */
        q: string;
        /** @description Only those with this status */
        status?: "open" | "in_progress" | "closed" | null;
        /** @description Only those with this priority */
        priority?: "p0" | "p1" | "p2" | "p3" | null;
        /** @description Only those of this assignee; an empty name means unassigned */
        assignee?: string | null;
        /** @description Only those of this type */
        issue_type?: ("bug" | "task" | "test" | "chore") | null;
        /** @description At most this many */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Issue"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "issue.count": {
    parameters: {
      query?: {
        /** @description By status */
        by_status?: boolean;
        /** @description By priority */
        by_priority?: boolean;
        /** @description By type */
        by_issue_type?: boolean;
        /** @description By assignee */
        by_assignee?: boolean;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Counted"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "issue.children": {
    parameters: {
      query?: never;
      path: {
        /** @description Which issue */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Issue"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "issue.history": {
    parameters: {
      query?: {
        /** @description At most this many */
        limit?: number | null;
      };
      path: {
        /** @description Which issue */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Event"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "issue.claim_next": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Only issues that match this query */
          q?: string | null;
          /** @description Let the claim end by itself unless renewed: 30s, 15m, 12h, 1d */
          ttl?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Assignment"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "label.list": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["LabelCount"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "label.rename": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description The label */
          old: string;
          /** @description What it is called from now on; an existing label takes its issues over */
          new: string;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["LabelRenamed"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "link.list": {
    parameters: {
      query?: never;
      path: {
        /** @description Which issue */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["LinkedIssue"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "link.add": {
    parameters: {
      query?: never;
      path: {
        /** @description Which issue */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description The other issue */
          to: string;
          /**
           * @description How the first relates to the other
           * @default relates
           */
          kind?: "relates" | "duplicates" | "supersedes" | "discovered-from";
        };
      };
    };
    responses: {
      /** @description Done */
      201: {
        content: {
          "application/json": components["schemas"]["LinkChange"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "link.remove": {
    parameters: {
      query?: {
        /** @description Only links of this kind */
        kind?: ("relates" | "duplicates" | "supersedes" | "discovered-from") | null;
      };
      path: {
        /** @description Which issue */
        id: string;
        /** @description The other issue */
        to: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["LinkChange"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "issue.trace": {
    parameters: {
      query?: {
        /** @description At most this many entries, the last ones; totals count all [default: 500] */
        limit?: number | null;
      };
      path: {
        /** @description The issue */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Trace"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "triage.insights": {
    parameters: {
      query?: {
        /** @description At most this many of each kind [default: 10] */
        limit?: number | null;
        /** @description Call a claim stale after this long without a change [default: 3d] */
        stale?: string | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Insights"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "triage.plan": {
    parameters: {
      query?: {
        /** @description Make this many tracks, one for each agent */
        agents?: number | null;
        /** @description At most this many to start now [default: 10, or one for each agent] */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Plan"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "triage.why": {
    parameters: {
      query?: never;
      path: {
        /** @description Which issue */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Why"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "triage.impact": {
    parameters: {
      query?: never;
      path: {
        /** @description Which issue */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Impact"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "triage.diff": {
    parameters: {
      query: {
        /** @description From when on: how long ago, or a time */
        since: string;
        /** @description Until when: how long ago, or a time [default: now] */
        until?: string | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Diff"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "triage.graph": {
    parameters: {
      query?: {
        /** @description Only issues whose title or description contains this text */
        q?: string | null;
        /** @description At most this many, those that hold up the most [default: 60] */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Network"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "triage.chart": {
    parameters: {
      query?: {
        /** @description From when on: how long ago, or a time [default: 30d] */
        since?: string | null;
        /** @description Until when: how long ago, or a time [default: now] */
        until?: string | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Chart"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "event.list": {
    parameters: {
      query?: {
        /** @description Only what comes after the event with this number; 0 is everything [default: the last 50 events] */
        after?: number | null;
        /** @description Only what is about this: an id or the beginning of one, or a kind such as issue, agent or run */
        subject?: string | null;
        /** @description Only events of this type, such as closed, issue.created or task.*; may be given again */
        type?: string[];
        /** @description Only what this actor did */
        by?: string | null;
        /** @description At most this many: the first after --after, else the last */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Page"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "store.status": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Summary"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "dep.add": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description The issue that waits */
          issue_id: string;
          /** @description The issue that must be closed first */
          depends_on_id: string;
        };
      };
    };
    responses: {
      /** @description Done */
      201: {
        content: {
          "application/json": components["schemas"]["DepChange"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "dep.remove": {
    parameters: {
      query: {
        /** @description The issue that waits */
        issue_id: string;
        /** @description The issue it waits for */
        depends_on_id: string;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["DepChange"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "dep.list": {
    parameters: {
      query?: never;
      path: {
        /** @description Which issue */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Issue"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "dep.tree": {
    parameters: {
      query?: {
        /** @description Down to what it blocks, or up to what blocks it */
        direction?: "up" | "down";
      };
      path: {
        /** @description Which issue */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["TreeNode"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "dep.cycles": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": string[][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "comment.list": {
    parameters: {
      query?: never;
      path: {
        /** @description Which issue */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Comment"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "comment.add": {
    parameters: {
      query?: never;
      path: {
        /** @description Which issue */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description What to say; - reads it from standard input */
          text: string;
        };
      };
    };
    responses: {
      /** @description Done */
      201: {
        content: {
          "application/json": components["schemas"]["Comment"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "ref.list": {
    parameters: {
      query?: never;
      path: {
        /** @description Which issue */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Ref"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "ref.add": {
    parameters: {
      query?: never;
      path: {
        /** @description Which issue */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description An address, or the name of a tracker and a key in it: linear:PRJ-123 */
          target: string;
          /** @description What it is called there */
          title?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      201: {
        content: {
          "application/json": components["schemas"]["Ref"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "ref.remove": {
    parameters: {
      query?: never;
      path: {
        /** @description Which reference; pn ref list shows the ids */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Ref"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "store.export": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Write nothing; tell whether the files are what an export would write, and fail if they are not */
          check?: boolean;
          /** @description Write the history of issues too, into events.jsonl [default: the setting export.events] */
          events?: boolean | null;
          /** @description Leave git's index alone: the files are written, and not staged */
          no_stage?: boolean;
          /** @description The worktree whose files are meant, if it is not the main one */
          worktree?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Transfer"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "store.import": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Make the store what the files are, without whatever else it has; a backup is made before */
          authoritative?: boolean;
          /** @description The worktree whose files are meant, if it is not the main one */
          worktree?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Transfer"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "conflict.list": {
    parameters: {
      query?: {
        /** @description At most this many, oldest first */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Conflict"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "conflict.resolve": {
    parameters: {
      query?: never;
      path: {
        /** @description The conflict, or the beginning of its id */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Which of the two values is right */
          take: "kept" | "other";
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Conflict"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "store.doctor": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Release every claim without a lease and repair what can be repaired */
          fix?: boolean;
          /** @description Also rebuild the state from backup and journal, and compare every record of the database with it */
          deep?: boolean;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Report"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "store.gc": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description How old it must be: 12h, 7d [default: the setting gc.older-than, else 7d] */
          older_than?: string | null;
          /** @description Remove nothing; tell what would be removed */
          dry_run?: boolean;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Collected"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "store.space": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Taken"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "store.backup": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description The file to make; only where the store is */
          file?: string | null;
          /** @description Replace the file if it is there */
          force?: boolean;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["BackedUp"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "store.backups": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["BackedUp"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "store.restore": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description The backup: a file, or the name of one from pn backup --list */
          file: string;
          /** @description Also take a backup of another store */
          force?: boolean;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Restored"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "store.where": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Place"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "store.info": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["StoreInfo"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  batch: {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          operations: ({
            [key: string]: unknown;
          } | null)[];
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": unknown[];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "undo.list": {
    parameters: {
      query?: {
        /** @description Whose operations, in the caller's session [default: the caller's] */
        actor?: string | null;
        /** @description The operations of everybody, not only of this actor and session */
        any?: boolean;
        /** @description How many operations to show; 20 unless said otherwise */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Undoable"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  undo: {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description The last operation of anybody, not only of this actor and session */
          any?: boolean;
          /** @description All that this actor did */
          by?: string | null;
          /** @description All that was done since then: a duration such as 30m, or a time */
          since?: string | null;
          /**
           * Format: int64
           * @description The operation that wrote this event; pn undo --list and pn history show the numbers
           */
          event?: number | null;
          /** @description Even if another holds the claim on an issue whose state it changes */
          force?: boolean;
          /** @description Only show what would be taken back */
          dry_run?: boolean;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Undone"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  redo: {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description The last undo of anybody, not only of this actor and session */
          any?: boolean;
          /**
           * Format: int64
           * @description The undo that wrote this event
           */
          event?: number | null;
          /** @description Even if another holds the claim on an issue whose state it changes */
          force?: boolean;
          /** @description Only show what would be brought back */
          dry_run?: boolean;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Redone"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "project.list": {
    parameters: {
      query?: {
        /** @description Also those that are archived */
        all?: boolean;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Project"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "project.create": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Its name: part of its address, so a-z, 0-9, -, _ and . */
          name: string;
        };
      };
    };
    responses: {
      /** @description Done */
      201: {
        content: {
          "application/json": components["schemas"]["Project"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "project.archive": {
    parameters: {
      query?: never;
      path: {
        /** @description Which project */
        name: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Serve it again */
          undo?: boolean;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Project"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "token.list": {
    parameters: {
      query?: {
        /** @description Only those of this project */
        project?: string | null;
        /** @description Also those that have expired or were revoked */
        all?: boolean;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Token"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "token.create": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description The project it opens */
          project?: string | null;
          /** @description How much its holder may do in the project */
          role?: ("viewer" | "agent" | "maintainer" | "admin" | "operator") | null;
          /** @description Open no project, but manage the projects, tokens and audit of the server */
          operator?: boolean;
          /** @description How long it is good for, such as 90d [default: until it is revoked] */
          expires?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      201: {
        content: {
          "application/json": components["schemas"]["NewToken"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "token.revoke": {
    parameters: {
      query?: never;
      path: {
        /** @description Its id, as pn token list shows it */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": Record<string, never>;
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Token"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "audit.list": {
    parameters: {
      query?: {
        /** @description Only what concerns this project */
        project?: string | null;
        /** @description Only what was done with this token */
        token?: string | null;
        /** @description Only what happened since then: a duration such as 7d, or a time */
        since?: string | null;
        /** @description At most this many */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["AuditLine"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "agent.list": {
    parameters: {
      query?: {
        /** @description Only those of this type */
        type?: string | null;
        /** @description Only those that are active, sleeping or dead */
        lifecycle?: (("active" | "sleeping") | "dead") | null;
        /** @description At most this many */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Agent"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "agent.create": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description What kind of agent it is */
          type: "user" | "cron" | "system" | "subagent" | "app" | "permanent";
          /** @description What to call it */
          name?: string | null;
          /** @description The agent it works for */
          parent?: string | null;
          /** @description What it is, in words of your own */
          descriptor?: {
            [key: string]: unknown;
          } | null;
          /** @description What it may do, in words of your own */
          permissions?: {
            [key: string]: unknown;
          } | null;
          /** @description What the inference provider calls the conversation */
          inference_session_id?: string | null;
          /** @description The issue that the session is about */
          issue_id?: string | null;
          /** @description The run that the session belongs to */
          run_id?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      201: {
        content: {
          "application/json": components["schemas"]["Agent"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "agent.show": {
    parameters: {
      query?: never;
      path: {
        /** @description Which agent: its id, the beginning of it, or its name */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Agent"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "agent.delete": {
    parameters: {
      query?: {
        /** @description Really delete all of it */
        force?: boolean;
        /** @description For good: it cannot be undone */
        purge?: boolean;
      };
      path: {
        /** @description Which agent: its id, the beginning of it, or its name */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Deleted2"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "agent.update": {
    parameters: {
      query?: never;
      path: {
        /** @description Which agent: its id, the beginning of it, or its name */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description A new name; an empty one takes it away */
          name?: string | null;
          /** @description Another descriptor, in place of the one it has */
          descriptor?: {
            [key: string]: unknown;
          } | null;
          /** @description Other permissions, in place of those it has */
          permissions?: {
            [key: string]: unknown;
          } | null;
          /** @description What its last inference cost; null takes it away */
          tokens?: {
            [key: string]: unknown;
          } | null;
          /** @description What all its inferences cost, in place of what it has */
          stats?: {
            [key: string]: unknown;
          } | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Agent"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "agent.sleep": {
    parameters: {
      query?: never;
      path: {
        /** @description Which agent: its id, the beginning of it, or its name */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": Record<string, never>;
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Agent"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "agent.wake": {
    parameters: {
      query?: never;
      path: {
        /** @description Which agent: its id, the beginning of it, or its name */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": Record<string, never>;
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Agent"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "agent.kill": {
    parameters: {
      query?: never;
      path: {
        /** @description Which agent: its id, the beginning of it, or its name */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": Record<string, never>;
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Agent"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "agent.import": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description The id that it has and keeps */
          id: string;
          /** @description Known to this version or not */
          type: string;
          name?: string | null;
          /** @description The agent it worked for */
          parent_id?: string | null;
          /** @default {} */
          descriptor?: {
            [key: string]: unknown;
          };
          /** @default {} */
          permissions?: {
            [key: string]: unknown;
          };
          tokens?: {
            [key: string]: unknown;
          } | null;
          /** @default {} */
          stats?: {
            [key: string]: unknown;
          };
          /** @description The lifecycle state of an agent. */
          lifecycle: ("active" | "sleeping") | "dead";
          /** Format: date-time */
          created_at?: string | null;
          /** Format: date-time */
          updated_at?: string | null;
          /** @description In their order; the last one is active */
          sessions: components["schemas"]["ImportedSession"][];
          /** @description Keep secrets as they are */
          no_redact?: boolean;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Imported"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "session.list": {
    parameters: {
      query?: {
        /** @description Only those of this agent */
        agent?: string | null;
        /** @description At most this many */
        limit?: number | null;
        /** @description Also those that are archived */
        all?: boolean;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Summary2"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "session.search": {
    parameters: {
      query: {
        /** @description The text, taken literally */
        q: string;
        /** @description Only those of this agent */
        agent?: string | null;
        /** @description At most this many [default: 50] */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Found"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "session.show": {
    parameters: {
      query?: never;
      path: {
        /** @description Which session: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Summary2"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "session.delete": {
    parameters: {
      query?: never;
      path: {
        /** @description Which session: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["DeletedSessions"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "session.archive": {
    parameters: {
      query?: never;
      path: {
        /** @description Which session: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": Record<string, never>;
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Session"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "session.prune": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description How long ago they ended, such as 30d */
          older_than: string;
          /** @description Only those of this agent */
          agent?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["DeletedSessions"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "session.reset": {
    parameters: {
      query?: never;
      path: {
        /** @description Which agent: its id, the beginning of it, or its name */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description What the next session begins with; - reads it from standard input */
          message?: string | null;
          /** @description What the inference provider calls the conversation */
          inference_session_id?: string | null;
          /** @description The issue that the session is about */
          issue_id?: string | null;
          /** @description The run that the session belongs to */
          run_id?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      201: {
        content: {
          "application/json": components["schemas"]["Session"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "session.compact": {
    parameters: {
      query?: never;
      path: {
        /** @description Which agent: its id, the beginning of it, or its name */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description What the next session begins with; - reads it from standard input */
          summary: string;
          /** @description What the inference provider calls the conversation */
          inference_session_id?: string | null;
          /** @description The issue that the session is about */
          issue_id?: string | null;
          /** @description The run that the session belongs to */
          run_id?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      201: {
        content: {
          "application/json": components["schemas"]["Session"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "session.append": {
    parameters: {
      query?: never;
      path: {
        /** @description Which agent: its id, the beginning of it, or its name */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description In their order */
          entries: components["schemas"]["NewEntry"][];
          /** @description Keep secrets as they are */
          no_redact?: boolean;
        };
      };
    };
    responses: {
      /** @description Done */
      201: {
        content: {
          "application/json": components["schemas"]["Appended"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "session.history": {
    parameters: {
      query?: {
        /** @description Of all sessions of the agent */
        all?: boolean;
        /** @description Only those after this number */
        after?: number | null;
        /** @description Leave out this many of the oldest, of one session */
        skip?: number | null;
        /** @description At most this many */
        limit?: number | null;
      };
      path: {
        /** @description Which session or agent */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Entry"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "session.context": {
    parameters: {
      query?: {
        /** @description Keep what the session began with, and of the rest the newest whole turns that fit; a token is about four bytes */
        max_tokens?: number | null;
      };
      path: {
        /** @description Which agent: its id, the beginning of it, or its name */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Message"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "repo.list": {
    parameters: {
      query?: {
        /** @description Only those that come from this address */
        remote?: string | null;
        /** @description At most this many */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Repo"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "repo.add": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /**
           * @description The version control system of a repository.
           * @enum {string}
           */
          vcs: "git" | "hg" | "jj" | "bzr" | "fossil" | "pijul";
          /** @description The machine that has the directory */
          host?: string | null;
          root_path?: string | null;
          remote_url?: string | null;
          default_branch?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Repo"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "repo.show": {
    parameters: {
      query?: never;
      path: {
        /** @description Which repository: its id, the beginning of it, or its root */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Repo"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "repo.remove": {
    parameters: {
      query?: never;
      path: {
        /** @description Which repository: its id, the beginning of it, or its root */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Removed2"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "workspace.list": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Workspace"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "workspace.create": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description What to call it */
          name: string;
          /** @description What another system calls it */
          external_id?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      201: {
        content: {
          "application/json": components["schemas"]["Workspace"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "run.list": {
    parameters: {
      query?: {
        /** @description Only those that stand there */
        status?: (("running" | "failed" | "succeeded" | "cancelled") | "created") | null;
        /** @description Only those that work on this issue */
        issue?: string | null;
        /** @description Only those in this repository */
        repo?: string | null;
        /** @description Only those that were launched together as this group */
        group?: string | null;
        /** @description Only those on this machine */
        host?: string | null;
        /** @description At most this many */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Run"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "run.start": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: {
      content: {
        "application/json": {
          /**
           * @description Which repository it takes place in: its id, the beginning of it, or its root [default: the one around the
           *     current directory]
           */
          repo?: string | null;
          /** @description The agent software and its version, such as claude-code@2.1 */
          harness?: string | null;
          /** @description Where it runs: local, nosandbox, devcontainer, devcontainer:PATH */
          runtime?: string | null;
          /** @description The workspace of the server that it belongs to */
          workspace?: string | null;
          /** @description The issue that it works on */
          issue?: string | null;
          /** @description The session that it holds */
          session?: string | null;
          /** @description What the agent is asked to do; - reads it from standard input */
          prompt?: string | null;
          /** @description The branch it works on */
          branch?: string | null;
          /** @description How the work is handed over */
          delivery?: (("branch" | "patch") | "pr") | null;
          /** @description The directory that it has to itself */
          workspace_path?: string | null;
          /** @description It may not use a browser */
          no_browser?: boolean;
          /** @description The profile of its browser */
          browser_profile?: string | null;
          /** @description The account that it uses at ChatGPT */
          chatgpt_username?: string | null;
          /** @description The workspace that it uses at Codex */
          codex_workspace?: string | null;
          /** @description Names and values of your own */
          labels?: {
            [key: string]: string;
          };
          /** @description The repository as it was found, to be remembered if it is not known */
          seen?: components["schemas"]["Seen"] | null;
          /** @description The program and its arguments */
          command?: string[];
          /**
           * Format: int64
           * @description How many runs are launched together
           */
          instances?: number | null;
          /** @description What runs that are launched together have in common */
          group?: string | null;
          /** @description Its command does not run yet */
          created?: boolean;
          /** @description Claim the issue for as long as the run renews the lease this often */
          claim?: string | null;
          /** @description The machine that it runs on */
          host?: string | null;
          /** @description The command's process */
          agent?: components["schemas"]["Process"] | null;
          /** @description The process that looks after it */
          supervisor?: components["schemas"]["Process"] | null;
          /** @description The file that its output goes to */
          log_path?: string | null;
          /** @description The directory in which its output goes to a file that is called as the run is */
          log_dir?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      201: {
        content: {
          "application/json": components["schemas"]["Run"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "run.show": {
    parameters: {
      query?: never;
      path: {
        /** @description Which run: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Run"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "run.update": {
    parameters: {
      query?: never;
      path: {
        /** @description Which run: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Its command runs */
          started?: boolean;
          /** @description The command's process */
          agent?: components["schemas"]["Process"] | null;
          /** @description The process that looks after it */
          supervisor?: components["schemas"]["Process"] | null;
          /** @description The session that it holds */
          session?: string | null;
          /**
           * @description A terminal multiplexer.
           * @enum {string|null}
           */
          multiplexer_kind?: "tmux" | "zellij" | "screen" | null;
          mux_session?: string | null;
          /** Format: int64 */
          mux_window?: number | null;
          pane_left?: string | null;
          pane_right?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Run"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "run.finish": {
    parameters: {
      query?: never;
      path: {
        /** @description Which run: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description succeeded, failed or cancelled */
          status: ("running" | "failed" | "succeeded" | "cancelled") | "created";
          /**
           * Format: int64
           * @description What the command returned
           */
          exit_code?: number | null;
          /**
           * Format: int64
           * @description The signal that ended the command
           */
          signal?: number | null;
          /** @description Why, in words */
          reason?: string | null;
          /** @description The command's process, if nobody has told it before */
          agent?: components["schemas"]["Process"] | null;
          /** @description Only if this process is still the one that looks after it */
          if_supervisor?: components["schemas"]["Process"] | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Run"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "run.events": {
    parameters: {
      query?: {
        /** @description Only what came after the event with this number */
        after?: number | null;
        /** @description At most this many */
        limit?: number | null;
      };
      path: {
        /** @description Which run: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["LogEntry"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "run.event": {
    parameters: {
      query?: never;
      path: {
        /** @description Which run: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description What happened, in a word of your own such as tool_call */
          type: string;
          /** @description Whatever belongs to it: any JSON */
          data?: unknown;
        };
      };
    };
    responses: {
      /** @description Done */
      201: {
        content: {
          "application/json": components["schemas"]["LogEntry"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "harness.list": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Harness"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "harness.set": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description The agent software and its version, such as claude-code@2.1 */
          harness: string;
          /** @description An object in words of your own, in place of the one before; none takes it away */
          metadata?: {
            [key: string]: unknown;
          } | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Harness"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "runtime.list": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Runtime"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "runtime.set": {
    parameters: {
      query?: never;
      path: {
        /** @description Which runtime: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description An object in words of your own, in place of the one before; none takes it away */
          metadata?: {
            [key: string]: unknown;
          } | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Runtime"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "snapshot.list": {
    parameters: {
      query?: {
        /** @description Only those that were taken for this run */
        run?: string | null;
        /** @description Only those of this repository */
        repo?: string | null;
        /** @description Only those that are kept in this way */
        provider?: ("git" | "copy" | "btrfs" | "zfs" | "overlay") | null;
        /** @description Only those on this machine */
        host?: string | null;
        /** @description Only those of the tree at this path */
        root?: string | null;
        /** @description At most this many */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Snapshot"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "snapshot.create": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description What it is called, if it has a name already */
          id?: string | null;
          /**
           * @description Why it was taken
           * @default manual
           */
          kind?: "manual" | "safety";
          /** @description What keeps the content of a snapshot. */
          provider: "git" | "copy" | "btrfs" | "zfs" | "overlay";
          /** @description Which repository the tree belongs to: its id, the beginning of it, or its root */
          repo?: string | null;
          /** @description The repository as it was found, to be remembered if it is not known */
          seen?: components["schemas"]["Seen"] | null;
          /** @description The run that it was taken for */
          run?: string | null;
          /** @description The machine that has the tree and the content */
          host: string;
          /** @description The tree */
          root: string;
          /** @description What the provider calls it */
          ref?: string | null;
          /** @description Where its content can be looked at */
          path?: string | null;
          /** @description The snapshot before it */
          parent?: string | null;
          label?: string | null;
          /** @description What is known of the content, and what proves it */
          metadata?: {
            [key: string]: unknown;
          };
        };
      };
    };
    responses: {
      /** @description Done */
      201: {
        content: {
          "application/json": components["schemas"]["Snapshot"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "snapshot.show": {
    parameters: {
      query?: never;
      path: {
        /** @description Which snapshot: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Snapshot"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "snapshot.delete": {
    parameters: {
      query?: never;
      path: {
        /** @description Which snapshot: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Deleted3"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "snapshot.restore": {
    parameters: {
      query?: never;
      path: {
        /** @description Which snapshot: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description The snapshot of what was there before */
          safety: string;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Snapshot"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "job.list": {
    parameters: {
      query?: {
        /** @description Only those that stand there */
        status?: (("running" | "succeeded" | "failed") | "pending" | "timeout" | "cancelled") | null;
        /** @description Only those of this lane */
        lane?: string | null;
        /** @description Only those of this tool */
        tool?: string | null;
        /** @description Only those of this loop */
        loop?: string | null;
        /** @description Only those of this run */
        run?: string | null;
        /** @description Only those of this session */
        session?: string | null;
        /** @description Only those about this issue */
        issue?: string | null;
        /** @description Only those on this machine */
        host?: string | null;
        /** @description At most this many */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Job"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "job.start": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description The lane whose slot it takes: no-net, net, heavy, or one that is set */
          lane: string;
          /** @description The tool that it is a command of [default: the name of the program] */
          tool?: string | null;
          /** @description The loop that it is a part of */
          loop?: string | null;
          /** @description The run that it is a part of [default: PN_RUN, as pn run exec sets it] */
          run?: string | null;
          /** @description The session that asked for it [default: that of the run] */
          session?: string | null;
          /** @description The issue that it is about [default: that of the run] */
          issue?: string | null;
          /** @description The program and its arguments */
          command?: string[];
          /** @description The directory that it runs in */
          cwd?: string | null;
          /**
           * Format: int64
           * @description How many commands of the lane may run at once on its machine
           */
          slots: number;
          /** @description How long it may take */
          timeout: string;
          /** @description How long it waits in the queue if there is no slot; without that it is refused */
          wait?: string | null;
          /** @description The machine that it runs on */
          host?: string | null;
          /** @description The command's process */
          process?: components["schemas"]["Process"] | null;
          /** @description The process that looks after it */
          supervisor?: components["schemas"]["Process"] | null;
        };
      };
    };
    responses: {
      /** @description Done */
      201: {
        content: {
          "application/json": components["schemas"]["Job"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "job.take": {
    parameters: {
      query?: never;
      path: {
        /** @description Which job: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          /**
           * Format: int64
           * @description How many commands of the lane may run at once on its machine
           */
          slots: number;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Job"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "job.show": {
    parameters: {
      query?: never;
      path: {
        /** @description Which job: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Job"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "job.update": {
    parameters: {
      query?: never;
      path: {
        /** @description Which job: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description The command's process */
          process: components["schemas"]["Process"];
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Job"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "job.finish": {
    parameters: {
      query?: never;
      path: {
        /** @description Which job: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description succeeded, failed, timeout or cancelled [default: what the exit code says] */
          status?: (("running" | "succeeded" | "failed") | "pending" | "timeout" | "cancelled") | null;
          /**
           * Format: int64
           * @description What the command returned
           */
          exit_code?: number | null;
          /**
           * Format: int64
           * @description The signal that ended the command
           */
          signal?: number | null;
          /** @description Why, in words */
          reason?: string | null;
          /** @description What it wrote, as far as that is to be kept */
          output?: string | null;
          /**
           * Format: int64
           * @description Bytes that it wrote, kept or not
           */
          output_bytes?: number | null;
          /** @description Some of what it wrote was not kept */
          truncated?: boolean;
          /** @description The command's process, if nobody has told it before */
          process?: components["schemas"]["Process"] | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Job"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "job.cancel": {
    parameters: {
      query?: never;
      path: {
        /** @description Which job: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": Record<string, never>;
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Job"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "job.settle": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description The machine that was looked at */
          host: string;
          /**
           * @description The jobs of it that nobody looks after any more
           * @default []
           */
          lost?: string[];
          /** @description Those of it that took longer than they may, and whose processes nobody knows */
          overdue?: string[];
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Job"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "job.import": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          records: {
            [key: string]: unknown;
          }[];
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Job"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "job.stats": {
    parameters: {
      query?: {
        /** @description Only those that began since then: a duration such as 24h, or a time */
        since?: string | null;
        /** @description Only those of this lane */
        lane?: string | null;
        /** @description Only those of this tool */
        tool?: string | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["JobStats"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "kv.get": {
    parameters: {
      query: {
        /** @description Its name */
        key: string;
        /** @description user, project, repo, runtime, or another */
        scope: string;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Pair"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "kv.list": {
    parameters: {
      query?: {
        /** @description Only those of this scope */
        scope?: string | null;
        /** @description Only those whose names begin with this */
        prefix?: string | null;
        /** @description At most this many */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Pair"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "kv.set": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Its name */
          key: string;
          /** @description What to keep; - reads it from standard input */
          value: string;
          /** @description user, project, repo, runtime, or another */
          scope: string;
          /** @description Only if this is the value before */
          if_value?: string | null;
          /** @description Only if there is none before */
          if_absent?: boolean;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Pair"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "kv.delete": {
    parameters: {
      query: {
        /** @description Its name */
        key: string;
        /** @description user, project, repo, runtime, or another */
        scope: string;
        /** @description Only if this is the value */
        if_value?: string | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Deleted4"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "record.query": {
    parameters: {
      query?: {
        /** @description Only those that pass this test; may be given again */
        where?: string[];
        /** @description Sort by this field, or by FIELD desc [default: id] */
        order?: string | null;
        /** @description At most this many */
        limit?: number | null;
        /** @description Go on from where an answer said that there is more */
        after?: string | null;
      };
      path: {
        /** @description The collection */
        collection: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Page2"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "record.put": {
    parameters: {
      query?: never;
      path: {
        /** @description The collection, such as jobs; it is made with its first record */
        collection: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description The document */
          data: {
            [key: string]: unknown;
          };
          /** @description Its id [default: the one in the document, or a new one] */
          id?: string | null;
          /**
           * Format: int64
           * @description Only if the record has this revision; 0 means that there is none yet
           */
          if_rev?: number | null;
          /** @description Only if the record is there */
          if_present?: boolean;
          /**
           * Format: date-time
           * @description When it was changed [default: now]
           */
          updated_at?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Record"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "record.delete": {
    parameters: {
      query?: {
        /** @description The record */
        id?: string | null;
        /** @description All that pass this test; may be given again */
        where?: string[];
        /** @description Only if the record has this revision */
        if_rev?: number | null;
      };
      path: {
        /** @description The collection */
        collection: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Deleted5"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "record.get": {
    parameters: {
      query: {
        /** @description Its id */
        id: string;
      };
      path: {
        /** @description Its collection */
        collection: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Record"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "record.count": {
    parameters: {
      query?: {
        /** @description Only those that pass this test; may be given again */
        where?: string[];
      };
      path: {
        /** @description The collection */
        collection: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Counted2"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "record.collections": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Collection"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "record.apply": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          changes: components["schemas"]["Change"][];
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Applied"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "record.index": {
    parameters: {
      query?: never;
      path: {
        /** @description The collection */
        collection: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description The fields */
          fields?: string[];
          /** @description Make what is indexed anew from the records */
          rebuild?: boolean;
          /** @description Take secrets out of documents that are put into it from now on */
          redact?: boolean;
          /** @description Compare what is indexed with the records, and make it anew if they differ */
          check?: boolean;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Indexed"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "record.compact": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: {
      content: {
        "application/json": Record<string, never>;
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Compacted"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "work.start": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description An issue, or the title of a new one */
          what: string;
          /**
           * @description What it is for its users [default: what the issue's type says]
           * @enum {string|null}
           */
          kind?: "feature" | "bug" | "improvement" | "refactor" | "chore" | null;
          /** @description The branch on which it is done */
          branch?: string | null;
          /** @description A step of it; may be given again */
          steps?: string[];
          /** @description Let the claim end by itself unless renewed: 30s, 15m, 12h, 1d */
          ttl?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Work"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "work.current": {
    parameters: {
      query: {
        /** @description Who, if no issue is named */
        actor: string;
        /** @description Work on this issue */
        issue?: string | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Work"] | null;
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "work.pause": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Work on this issue [default: what you are doing] */
          issue?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Work"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "work.resume": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Which issue [default: the one that you have paused] */
          issue?: string | null;
          /** @description Take it over from the actor who has claimed it */
          take?: boolean;
          /** @description Take it over even from a live lease or another session */
          force?: boolean;
          /** @description Let the claim end by itself unless renewed: 30s, 15m, 12h, 1d */
          ttl?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Work"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "work.done": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Work on this issue [default: what you are doing] */
          issue?: string | null;
          /** @description How it was done */
          reason?: string | null;
          /** @description Even if another holds the claim */
          force?: boolean;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Work"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "work.step.list": {
    parameters: {
      query: {
        /** @description Whose work, if no issue is named */
        actor: string;
        /** @description Work on this issue [default: what you are doing] */
        issue?: string | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Step"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "work.step.add": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description What is to be done, a step each */
          steps: string[];
          /** @description Work on this issue [default: what you are doing] */
          issue?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Work"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "work.step.done": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: {
      content: {
        "application/json": {
          /**
           * Format: uint32
           * @description Its number, counted from 1 [default: the first that is not done]
           */
          number?: number | null;
          /** @description Work on this issue [default: what you are doing] */
          issue?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Work"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "work.list": {
    parameters: {
      query?: {
        /** @description Only what stands there */
        status?: "active" | "paused" | "done" | null;
        /** @description Only that of this actor */
        actor?: string | null;
        /** @description At most this many */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Work"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "release.list": {
    parameters: {
      query?: {
        /** @description At most this many */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Release"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "release.ship": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description What, in one line */
          name: string;
          /** @description In which version; what is shipped together has the same */
          version: string;
          /**
           * @description What it is for its users
           * @default feature
           * @enum {string}
           */
          kind?: "feature" | "bug" | "improvement" | "refactor" | "chore";
          /** @description An issue that was done in it; may be given again */
          issues?: string[];
          /** @description What its users should know; - reads it from standard input */
          notes?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      201: {
        content: {
          "application/json": components["schemas"]["Shipped"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "release.changelog": {
    parameters: {
      query?: {
        /** @description Only what came after this version */
        since?: string | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["ChangelogText"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "skill.list": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Skills"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "skill.set": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description The file, such as frontend.md */
          name: string;
          /** @description What it calls for */
          skills: string[];
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Skills"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "skill.remove": {
    parameters: {
      query: {
        /** @description The file */
        name: string;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Skills"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "skill.import": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          mappings: {
            [key: string]: string[];
          };
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Skills"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "learning.list": {
    parameters: {
      query?: {
        /** @description Only those of this kind */
        kind?: ("pattern" | "approach" | "decision" | "gotcha") | null;
        /** @description Only those with this tag */
        tag?: string | null;
        /** @description Only those of this issue or piece of work */
        issue?: string | null;
        /** @description Also those that have expired or were superseded */
        all?: boolean;
        /** @description At most this many */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Shown"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "learning.remember": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description What was found out; - reads it from standard input */
          text: string;
          /** @description What kind of knowledge it is [default: pattern] */
          kind?: ("pattern" | "approach" | "decision" | "gotcha") | null;
          /** @description A word to find it by; may be given again */
          tags?: string[];
          /** @description A file it is about; may be given again */
          files?: string[];
          /** @description The issue it came from */
          issue?: string | null;
          /** @description The piece of work it came from */
          work?: string | null;
          /** @description The session it came from */
          session?: string | null;
          /**
           * @description How much it matters [default: medium]
           * @enum {string|null}
           */
          impact?: "high" | "medium" | "low" | null;
          /** @description For how long it holds, such as 90d */
          expires?: string | null;
          /** @description The learning in whose place it is */
          supersedes?: string | null;
          /** @description Keep secrets as they are */
          no_redact?: boolean;
        };
      };
    };
    responses: {
      /** @description Done */
      201: {
        content: {
          "application/json": components["schemas"]["Remembered"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "learning.take": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Each with lists of patterns, approaches, decisions and gotchas in `learnings` */
          records: {
            [key: string]: unknown;
          }[];
          /** @description Keep secrets as they are */
          no_redact?: boolean;
        };
      };
    };
    responses: {
      /** @description Done */
      201: {
        content: {
          "application/json": components["schemas"]["Remembered"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "learning.recall": {
    parameters: {
      query?: {
        /** @description Words to look for */
        q?: string | null;
        /** @description Those with this word first; may be given again */
        tags?: string[];
        /** @description Those about this file first; may be given again */
        files?: string[];
        /** @description At most so many tokens, at four bytes each */
        max_tokens?: number | null;
        /** @description At most this many [default: 10] */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Hit"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "learning.show": {
    parameters: {
      query?: never;
      path: {
        /** @description Which learning: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Shown"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "learning.forget": {
    parameters: {
      query?: never;
      path: {
        /** @description Which learning: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Forgotten"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "learning.verify": {
    parameters: {
      query?: never;
      path: {
        /** @description Which learning: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description For how long it holds from now on */
          expires?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Learning"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "loop.list": {
    parameters: {
      query?: {
        /** @description Only those of this type */
        loop_type?: "plan" | "spec" | "phase" | "code" | null;
        /** @description Only those that stand there */
        status?: (("running" | "paused" | "complete" | "failed") | "pending" | "rebasing" | "awaiting_approval" | "invalidated") | null;
        /** @description Only those just below this one */
        parent?: string | null;
        /** @description Only those that work on this issue */
        issue?: string | null;
        /** @description Only those that this actor runs, or ran last */
        holder?: string | null;
        /** @description Only those that can be claimed, in the order in which they will be */
        runnable?: boolean;
        /** @description Also those that are archived */
        all?: boolean;
        /** @description At most this many */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Loop"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "loop.create": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /**
           * @description What it makes
           * @enum {string}
           */
          loop_type: "plan" | "spec" | "phase" | "code";
          /** @description The file with its prompt */
          prompt_path: string;
          /** @description What says with its exit code whether an iteration was good */
          validation_command: string;
          /** @description The loop that must be complete before */
          parent?: string | null;
          /** @description The issue that it works on */
          issue?: string | null;
          /**
           * Format: uint32
           * @description Most iterations [default: 100]
           */
          max_iterations?: number | null;
          /** @description Where its work is done [default: worktrees/ID] */
          worktree?: string | null;
          /** @description What it begins with */
          input_artifact?: string | null;
          /** @description Whatever its prompts need: any JSON */
          context?: unknown;
        };
      };
    };
    responses: {
      /** @description Done */
      201: {
        content: {
          "application/json": components["schemas"]["Loop"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "loop.take": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Each a loop; what it lacks but its id, type and status is made up */
          records: {
            [key: string]: unknown;
          }[];
        };
      };
    };
    responses: {
      /** @description Done */
      201: {
        content: {
          "application/json": components["schemas"]["Loop"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "loop.take_files": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description The loop, whose record need not be here */
          id: string;
          /** @description Whether they lie in the archive */
          archived?: boolean;
          parts: components["schemas"]["FilePart"][];
          /** @description The number of the iteration that `current` leads to */
          current?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["TakenFiles"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "loop.show": {
    parameters: {
      query?: never;
      path: {
        /** @description Which loop: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Loop"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "loop.tree": {
    parameters: {
      query?: never;
      path: {
        /** @description Which loop: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Branch"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "loop.claim": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: {
      content: {
        "application/json": {
          /**
           * @description Only one of this type
           * @enum {string|null}
           */
          loop_type?: "plan" | "spec" | "phase" | "code" | null;
          /** @description The machine that it runs on */
          host?: string | null;
          /**
           * Format: int64
           * @description The process that runs it [default: the one that called pn]
           */
          pid?: number | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Loop"] | null;
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "loop.start": {
    parameters: {
      query?: never;
      path: {
        /** @description Which loop: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Why */
          reason?: string | null;
          /** @description How far it is, in words */
          progress?: string | null;
          /** @description The machine that it runs on */
          host?: string | null;
          /**
           * Format: int64
           * @description The process that runs it [default: the one that called pn]
           */
          pid?: number | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Loop"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "loop.pause": {
    parameters: {
      query?: never;
      path: {
        /** @description Which loop: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Why */
          reason?: string | null;
          /** @description How far it is, in words */
          progress?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Loop"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "loop.resume": {
    parameters: {
      query?: never;
      path: {
        /** @description Which loop: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Why */
          reason?: string | null;
          /** @description How far it is, in words */
          progress?: string | null;
          /** @description The machine that it runs on */
          host?: string | null;
          /**
           * Format: int64
           * @description The process that runs it [default: the one that called pn]
           */
          pid?: number | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Loop"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "loop.rebase": {
    parameters: {
      query?: never;
      path: {
        /** @description Which loop: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Why */
          reason?: string | null;
          /** @description How far it is, in words */
          progress?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Loop"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "loop.iterate": {
    parameters: {
      query?: never;
      path: {
        /** @description Which loop: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description How far it is, in words */
          progress?: string | null;
          /** @description What the iteration leaves behind */
          files?: components["schemas"]["IterationFile"][];
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Iterated"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "loop.submit": {
    parameters: {
      query?: never;
      path: {
        /** @description Which loop: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Why */
          reason?: string | null;
          /** @description How far it is, in words */
          progress?: string | null;
          /** @description A file that came of it; may be given again */
          outputs?: string[];
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Loop"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "loop.approve": {
    parameters: {
      query?: never;
      path: {
        /** @description Which loop: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Why */
          reason?: string | null;
          /** @description Loops to create below it */
          children?: components["schemas"]["Create"][];
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Approved"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "loop.reject": {
    parameters: {
      query?: never;
      path: {
        /** @description Which loop: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Why */
          reason?: string | null;
          /** @description How far it is, in words */
          progress?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Loop"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "loop.complete": {
    parameters: {
      query?: never;
      path: {
        /** @description Which loop: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Why */
          reason?: string | null;
          /** @description How far it is, in words */
          progress?: string | null;
          /** @description A file that came of it; may be given again */
          outputs?: string[];
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Loop"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "loop.fail": {
    parameters: {
      query?: never;
      path: {
        /** @description Which loop: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Why */
          reason?: string | null;
          /** @description How far it is, in words */
          progress?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Loop"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "loop.invalidate": {
    parameters: {
      query?: never;
      path: {
        /** @description Which loop: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Why */
          reason?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Invalidated"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "loop.archive": {
    parameters: {
      query?: never;
      path: {
        /** @description Which loop: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Why */
          reason?: string | null;
          /** @description How far it is, in words */
          progress?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Loop"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "loop.recover": {
    parameters: {
      query?: never;
      path: {
        /** @description Which loop: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Whether the place of its work is gone */
          work_is_gone?: boolean;
          /** @description Only if it runs on this machine */
          if_host?: string | null;
          /**
           * Format: int64
           * @description Only if this process runs it
           */
          if_pid?: number | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Loop"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "signal.list": {
    parameters: {
      query?: {
        /** @description Only those to this loop, agent or run */
        for?: string | null;
        /** @description Only those that it has not acknowledged; without --for, those that not all have */
        unacked?: boolean;
        /** @description Only those of this type */
        signal_type?: "stop" | "pause" | "resume" | "rebase" | "error" | "info" | "invalidate" | null;
        /** @description At most this many */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Signal"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "signal.send": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /**
           * @description What it asks for
           * @enum {string}
           */
          signal_type: "stop" | "pause" | "resume" | "rebase" | "error" | "info" | "invalidate";
          /** @description To whom */
          to: string;
          /** @description The loop that it comes from */
          from?: string | null;
          /** @description Why */
          reason?: string | null;
          /** @description Whatever else they need: any JSON */
          payload?: unknown;
        };
      };
    };
    responses: {
      /** @description Done */
      201: {
        content: {
          "application/json": components["schemas"]["Sent"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "signal.take": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Each a signal; what it lacks but its id and type is made up */
          records: {
            [key: string]: unknown;
          }[];
        };
      };
    };
    responses: {
      /** @description Done */
      201: {
        content: {
          "application/json": components["schemas"]["Signal"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "signal.show": {
    parameters: {
      query?: never;
      path: {
        /** @description Which signal: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Shown2"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "signal.ack": {
    parameters: {
      query?: never;
      path: {
        /** @description Which signal: its id, or the beginning of it */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description The loop, agent or run that has heard it */
          as: string;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Acked"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "signal.prune": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description How long ago, such as 30d [default: 7d] */
          older_than?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Pruned"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "lock.list": {
    parameters: {
      query?: {
        /** @description Also those that are free */
        all?: boolean;
        /** @description At most this many [default: 1000] */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Lock"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "lock.acquire": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description What the lock is called */
          name: string;
          /** @description For how long, unless it is renewed: 30s, 15m, 12h, 1d [default: 60s] */
          ttl?: string | null;
          /** @description The secret of the holder [default: a new one] */
          token?: string | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Lock"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "lock.release": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description What the lock is called */
          name: string;
          /** @description Only if it is still held with this token */
          token?: string | null;
          /** @description Also if another holds it */
          force?: boolean;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Lock"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "lock.status": {
    parameters: {
      query: {
        /** @description What the lock is called */
        name: string;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Lock"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  context: {
    parameters: {
      query?: {
        /** @description At most so many tokens, at four bytes each [default: 2000] */
        max_tokens?: number | null;
        /** @description In which form it must fit [default: md] */
        format?: ("json" | "md") | null;
        /** @description For whom it is, if not for everybody */
        who?: string | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Briefing"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "sync.changes": {
    parameters: {
      query?: {
        /** @description The cursor of the previous page; without it, everything */
        after?: string | null;
        /** @description About this many */
        limit?: number | null;
        /** @description Sessions, which are synced separately */
        sessions?: boolean;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Changed"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "sync.take": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @default [] */
          entries?: components["schemas"]["Sent2"][];
          /** @description The store that they come from, if this one keeps the sync state of the two */
          peer?: components["schemas"]["Progress2"] | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Taken2"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "sync.pending": {
    parameters: {
      query: {
        /** @description The id of the other store */
        peer: string;
        /** @description The cursor of the previous page */
        after?: string | null;
        /** @description About this many */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Queue"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "sync.peers": {
    parameters: {
      query?: {
        /** @description Only the store with this id, even if it is unknown */
        peer?: string | null;
        /** @description At most this many pending events for each */
        limit?: number | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Peer"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "import.records": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /**
           * @description Which tool
           * @enum {string}
           */
          from: "prjct";
          /** @description What it kept; issues come before what names them */
          records: components["schemas"]["Given"][];
          /** @description Keep secrets as they are */
          no_redact?: boolean;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Told"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  events: {
    parameters: {
      query?: {
        /** @description The number of the last event that is known; without it, only what happens from now on */
        after?: number;
        /** @description Only what is about this: an id or the beginning of one, or a kind such as issue */
        subject?: string;
        /** @description Only events of these types, with commas between: closed, issue.created, task.* */
        type?: string;
        /** @description Only what this actor did */
        by?: string;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Server-sent events: id is the event's number, data is one event as JSON. An id without data says how far the log was passed over. An event of the type dropped is the last, and its data is an error that says why */
      200: {
        content: {
          "text/event-stream": string;
        };
      };
      default: components["responses"]["Error"];
    };
  };
  openapi: {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description This document */
      200: {
        content: {
          "application/json": Record<string, never>;
        };
      };
    };
  };
}
