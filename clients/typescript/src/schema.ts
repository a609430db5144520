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
      /** @description Fields that somebody else had changed since their editor read them; pn conflicts shows both values */
      conflicts?: string[];
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
      progress?: components["schemas"]["IssueProgress"] | null;
      /** @description Links of other issues to it */
      linked_by?: components["schemas"]["LinkedIssue"][];
      /** @description What the sessions about it and those of its runs used and cost */
      spent?: components["schemas"]["Spent"] | null;
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
    IssueProgress: {
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
    /** @description What inferences used and cost. */
    Spent: {
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
      /**
       * Format: double
       * @description In dollars, if all models have a price
       */
      cost_usd?: number | null;
      /**
       * @description By model, as the entries tell it; `unknown` where they name none
       * @default {}
       */
      models?: {
        [key: string]: components["schemas"]["ModelUsage"];
      };
    };
    /** @description The usage of one model. */
    ModelUsage: {
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
      /**
       * Format: double
       * @description What it cost in dollars, as far as its entries say
       */
      reported_usd?: number | null;
      /** @description The tokens of entries that do not say what they cost, if others do */
      unreported?: components["schemas"]["Tokens"] | null;
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
      progress?: components["schemas"]["IssueProgress"] | null;
      /** @description Links of other issues to it */
      linked_by?: components["schemas"]["LinkedIssue"][];
      /** @description What the sessions about it and those of its runs used and cost */
      spent?: components["schemas"]["Spent"] | null;
      /** @description The issue that it is a part of */
      parent_issue?: components["schemas"]["Issue"] | null;
      /** @description What was learned about it before */
      learnings?: components["schemas"]["Learning"][];
      /** @description The files that those learnings name */
      files?: string[];
    };
    /** @description A finding with its source. */
    Learning: {
      /** @description The id of a learning, such as `ln-a1b2c3d4`. */
      id: string;
      /** @description The kind of a learning. */
      kind: "pattern" | "approach" | "decision" | "gotcha";
      text: string;
      tags?: string[];
      /** @description The files it is about */
      files?: string[];
      /** @description The issue it came from */
      issue_id?: string | null;
      /** @description The work it came from, by its issue */
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
       * @description When it expires
       */
      expires_at?: string | null;
      /** @description The learning that it replaces */
      supersedes?: string | null;
      /**
       * Format: int64
       * @description How often it was remembered: 1, and one more for each merged duplicate
       * @default 1
       */
      revision?: number;
      /** @description The value of the work it came from */
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
       * @description When it was last confirmed as valid
       */
      verified_at?: string | null;
      /** @description Where the duplicates that were merged into it came from */
      sources?: components["schemas"]["MergedSource"][];
      /** @description The learnings that its text cites */
      derived_from?: string[];
      /** @description Whom it helped, and when; at most once a day for each */
      useful?: components["schemas"]["LearningUse"][];
      /** @description Former names of its files */
      former_files?: string[];
      /** @description Learnings that seem to contradict it, and do not */
      agrees_with?: string[];
    };
    /** @description The value of work, as its author rated it. */
    Worth: {
      /** @description `feature`, `bugfix`, `performance`, `dx`, `refactor`, `infrastructure`, or another */
      type?: string | null;
      description?: string | null;
    };
    /** @description Where a duplicate that was merged into a learning came from. */
    MergedSource: {
      /**
       * Format: date-time
       * @description When it was remembered
       */
      at: string;
      actor: string;
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      issue_id?: string | null;
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      work?: string | null;
      /** @description The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form. */
      session_id?: string | null;
      /** @description The learning that it was, if it had been stored */
      learning?: string | null;
    };
    /** @description That a learning was of use. */
    LearningUse: {
      /** Format: date-time */
      at: string;
      actor: string;
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
    /** @description A query with a name. Listings take `@NAME` in place of it. */
    View: {
      name: string;
      query: string;
      /** Format: date-time */
      updated_at: string;
    };
    /** @description The whole history of one issue. */
    Trace: {
      issue: components["schemas"]["Issue"];
      /** @description What happened, oldest first */
      entries: components["schemas"]["Moment"][];
      /**
       * Format: int64
       * @description How many earlier entries are left out by the limit
       */
      left_out: number;
      totals: components["schemas"]["Totals"];
      /** @description What is missing from the trace, and why */
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
      /** @description The id of its subject, if that is not the issue */
      id?: string | null;
      actor?: string | null;
      /** @description A short description */
      text?: string;
      /**
       * Format: int64
       * @description Its duration in milliseconds, if this is its end
       */
      duration_ms?: number | null;
      /** @description Whether it failed */
      failed?: boolean;
    };
    /** @description Totals of the history of an issue. */
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
      /** @description The tokens by model */
      models?: {
        [key: string]: components["schemas"]["ModelUsage"];
      };
      /**
       * Format: double
       * @description In dollars, if all models have a price, or the entries record it
       */
      cost_usd?: number | null;
      /** Format: int64 */
      commits: number;
      /** Format: int64 */
      learnings: number;
      /** Format: int64 */
      releases: number;
    };
    /** @description A period in which somebody held the issue. */
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
    /** @description Entries of one kind: how many, how many failed, and how long they took together. */
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
    /** @description The cost of a session. */
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
       * @description In dollars, if its entries record it, or all its models have a price
       */
      cost_usd?: number | null;
    };
    /** @description What was spent, in groups. */
    CostReport: {
      /**
       * @description What costs are grouped by.
       * @enum {string}
       */
      by: "issue" | "agent" | "run" | "session" | "model" | "day";
      rows: components["schemas"]["CostRow"][];
      total: components["schemas"]["Spent"];
      /** @description Models without a price */
      unpriced: string[];
      /** @description The day of the list prices */
      prices_of: string;
    };
    /** @description What a group spent. */
    CostRow: {
      /** @description The id, model or day; absent for what belongs to none */
      key?: string | null;
      /** @description What it is called, if it has a name */
      title?: string | null;
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
      /**
       * Format: double
       * @description In dollars, if all models have a price
       */
      cost_usd?: number | null;
      /**
       * @description By model, as the entries tell it; `unknown` where they name none
       * @default {}
       */
      models?: {
        [key: string]: components["schemas"]["ModelUsage"];
      };
    };
    /** @description What matters in the graph of issues that are not closed, with figures. */
    Insights: {
      /**
       * Format: uint32
       * @description Issues that are not closed
       */
      issues: number;
      /**
       * Format: uint32
       * @description Edges between them, from a waiting issue to the one it waits for
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
       * @description The number of issues from which chains were followed for that; absent if all
       */
      sources?: number | null;
      /** @description Issues on the most of the shortest chains between others, by betweenness */
      bottlenecks: components["schemas"]["Ranked"][];
      /** @description Issues on which the most depends, by PageRank */
      keystones: components["schemas"]["Ranked"][];
      /** @description The longest chain, and the issues that are nearly on it */
      critical_path: components["schemas"]["Chain"];
      /** @description Issues whose removal splits their part of the graph, by their number of neighbours */
      articulation_points: components["schemas"]["Ranked"][];
      /**
       * Format: uint32
       * @description How many there are of these
       */
      articulation_count: number;
      /** @description Claims without a change for long, the longest first */
      stale_claims: components["schemas"]["StaleClaim"][];
      /** @description Ready issues that hold up the most */
      blocked_cascades: components["schemas"]["Cascade"][];
      /** @description Issues less urgent than one that waits for them */
      priority_conflicts: components["schemas"]["PriorityConflict"][];
      /**
       * Format: uint32
       * @description How many there are of these
       */
      priority_conflict_count: number;
    };
    /** @description An issue with its score and the figures behind it. */
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
       * @description How many issues it waits for, directly
       */
      waits_for: number;
      /**
       * Format: uint32
       * @description How many issues wait for it, directly
       */
      blocks: number;
      /**
       * Format: uint32
       * @description How many issues wait for it, directly or indirectly
       */
      behind: number;
      /**
       * Format: uint32
       * @description How many issues become ready once it and then each issue it unblocks is closed
       */
      frees: number;
    };
    /** @description The longest chain of issues that wait for each other. */
    Chain: {
      /** @description The unit of length and slack: issues, or seconds of estimates if all issues of the longest chain have one */
      unit: "issues" | "seconds";
      /** Format: int64 */
      length: number;
      /** @description Its issues, the first to be done first */
      issues: components["schemas"]["ChainStep"][];
      /** @description Other issues, by slack */
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
       * @description Slack: how much longer its chains could be without exceeding the longest one
       */
      slack: number;
      /**
       * Format: int64
       * @description Its own share of the length
       */
      length: number;
    };
    /** @description A claim without a change for long. */
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
       * @description How many issues wait for it, directly or indirectly
       */
      behind: number;
    };
    /** @description A ready issue, and what it holds up. */
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
       * @description How many issues wait for it, directly
       */
      blocks: number;
      /**
       * Format: uint32
       * @description How many issues wait for it, directly or indirectly
       */
      behind: number;
      /**
       * Format: uint32
       * @description How many issues become ready once it and then each issue it unblocks is closed
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
       * @description How many issues wait for it, directly or indirectly
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
    /** @description A plan to work on all issues that are not closed, in parallel. */
    Plan: {
      /**
       * Format: uint32
       * @description Issues that are not closed
       */
      issues: number;
      /**
       * Format: uint32
       * @description The number of agents, if given
       */
      agents?: number | null;
      /**
       * Format: uint32
       * @description Issues in or behind a cycle, which are last in their track
       */
      stuck: number;
      /** @description The ready issues to start now, by how many others they make ready */
      start: components["schemas"]["StartIssue"][];
      /** @description Each issue is in one track. Each agent has one track; without agents, tracks do not wait for each other */
      tracks: components["schemas"]["Track"][];
      /** @description The longest chain, which cannot be done in parallel */
      longest_chain: components["schemas"]["Chain"];
      /** @description When all issues may be closed; absent if too few were closed so far */
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
       * @description How many issues become ready once it and then each issue it unblocks is closed
       */
      frees: number;
      /**
       * Format: uint32
       * @description Issues in the longest chain that waits for it
       */
      depth: number;
    };
    /** @description Issues to do one after the other, or independently of other tracks. */
    Track: {
      /**
       * Format: uint32
       * @description From 1
       */
      track: number;
      /** @description In an order that respects dependencies */
      issues: components["schemas"]["TrackIssue"][];
      /**
       * Format: uint32
       * @description The length of its longest chain, in issues
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
      /** @description The issues it waits for */
      after?: string[];
    };
    /** @description When all issues may be closed, at the observed daily rate and without new issues. */
    Forecast: {
      /**
       * Format: date-time
       * @description The median: an earlier and a later date are equally likely
       */
      date: string;
      /**
       * Format: date-time
       * @description The 10th percentile: one outcome in ten is earlier
       */
      earliest: string;
      /**
       * Format: date-time
       * @description The 90th percentile: one outcome in ten is later
       */
      latest: string;
      /**
       * Format: uint32
       * @description Issues that are not closed
       */
      left: number;
      /**
       * Format: uint32
       * @description Issues closed within the observed days
       */
      closed: number;
      /**
       * Format: uint32
       * @description The number of observed days
       */
      days: number;
      /**
       * Format: double
       * @description Average number of issues closed per day
       */
      per_day: number;
      /**
       * Format: double
       * @description The standard deviation of that number
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
      /** @description The issues it waits for directly that are not closed */
      waits_for: components["schemas"]["Held"][];
      /** @description Where to start: the issues it waits for, directly or indirectly, that wait for nothing */
      begin_with: components["schemas"]["Held"][];
      /** @description Its figures; absent if it is closed */
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
    /** @description The ranks of an issue among those that are not closed, from 1. */
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
       * @description Its position in `pn ready`, by priority and then age; absent unless it is ready
       */
      by_priority?: number | null;
      /**
       * Format: uint32
       * @description Its position in `pn ready --sort impact`
       */
      by_impact?: number | null;
      /** @description The issue before it in `pn ready` */
      ahead?: components["schemas"]["IssueBrief"] | null;
      /**
       * Format: uint32
       * @description How many issues wait for it, directly
       */
      blocks: number;
      /**
       * Format: uint32
       * @description How many issues wait for it, directly or indirectly
       */
      behind: number;
      /**
       * Format: uint32
       * @description How many issues become ready once it and then each issue it unblocks is closed
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
       * @description Slack: how much longer its chains could be without exceeding the longest one; absent if unknown
       */
      slack?: number | null;
      /** @description The unit of slack */
      unit: "issues" | "seconds";
      /** @description The most urgent issue that waits for it, if it is more urgent */
      more_urgent?: components["schemas"]["IssueBrief"] | null;
    };
    /** @description The effect of closing an issue. */
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
       * @description How many issues become ready once it and then each issue it unblocks is closed
       */
      frees: number;
      /**
       * Format: uint32
       * @description How many issues wait for it, directly or indirectly
       */
      behind: number;
      /** @description The issues that wait for nothing once it is closed, then once those are closed, and so on */
      waves: components["schemas"]["Wave"][];
      /** @description The issues that wait for it or for an issue it unblocks, and for others too */
      still_blocked: components["schemas"]["StillBlocked"][];
    };
    /** @description Issues that become ready at the same time. */
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
      /** @description What else it waits for */
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
      /** @description Issues whose fields differ */
      changed: components["schemas"]["ChangedIssue"][];
    };
    /** @description A changed issue. */
    ChangedIssue: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      /** @description Its title now, or at its deletion */
      title?: string | null;
      /** @description The actor of the last change */
      actor: string;
      /**
       * Format: date-time
       * @description The time of the last change
       */
      at: string;
      /** @description Fields that differ, each as `{"old":…,"new":…}` */
      fields?: {
        [key: string]: unknown;
      };
      /** @description Dependencies that were added */
      waits_for?: string[];
      /** @description Dependencies that were removed */
      no_longer_waits_for?: string[];
      /**
       * Format: uint32
       * @description The number of new comments
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
    /** @description Figures to draw: one entry for each day in UTC, oldest first. */
    Chart: {
      /** Format: date-time */
      since: string;
      /** Format: date-time */
      until: string;
      days: components["schemas"]["Day"][];
      /** @description Issues closed in this period, in order of closing */
      closed: components["schemas"]["Cycle"][];
      /**
       * Format: int64
       * @description The median of their durations, in milliseconds
       */
      median_ms?: number | null;
      /**
       * Format: int64
       * @description The 85th percentile of their durations, in milliseconds
       */
      p85_ms?: number | null;
    };
    /** @description The state at the end of a day, and its events. */
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
       * @description Issues created on this day
       */
      created: number;
      /**
       * Format: uint32
       * @description Issues closed on this day
       */
      done: number;
    };
    /** @description The duration of an issue. */
    Cycle: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      /**
       * Format: date-time
       * @description When it was first claimed, or created if it never was claimed
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
       * @description The last number that was searched: continue after it
       */
      last: number;
      /**
       * Format: int64
       * @description The number at the end of the log
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
    /** @description How many issues there are, by status and type. */
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
    /** @description How many issues have each status. */
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
    /** @description How many lines of each kind were exported or imported. */
    Transfer: {
      /** @description `ok`, or `drifted` if a check found that an export would change the files */
      status: string;
      /** Format: int64 */
      issues: number;
      /** Format: int64 */
      deps: number;
      /** Format: int64 */
      comments: number;
      /**
       * Format: int64
       * @description How many events were exported or imported, if the files contain events
       */
      events?: number | null;
      /**
       * Format: int64
       * @description How many conflicts were recorded; pn conflicts lists them
       */
      conflicts?: number;
      /** @description Anything unusual */
      notes?: string[];
      /** @description The files that an export would change */
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
    /** @description The findings of a check, and the repairs. */
    Report: {
      findings: components["schemas"]["Finding"][];
      fixes_applied: string[];
    };
    /** @description One finding of a check. */
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
       * @description Newer data stays
       */
      until: string;
      removed: components["schemas"]["Removed"];
      /** @description Whether another call would remove more */
      more?: boolean;
      /** @description Parts that are large, and a disk that is almost full */
      warnings: string[];
    };
    /** @description How much was removed, or would be removed. */
    Removed: {
      /** Format: int64 */
      loops: number;
      /**
       * Format: int64
       * @description Directories of loops that were removed earlier
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
       * @description Deleted earlier, and now removed permanently
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
       * @description Only those of the calling machine
       */
      snapshots: number;
      /** Format: int64 */
      journal_segments: number;
      /**
       * Format: int64
       * @description The size of records and segments
       */
      bytes: number;
    };
    /** @description The size of each part of a store and the free space on its disk, in bytes. Parts in PostgreSQL are absent. */
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
    /** @description The result of restoring a store. */
    Restored: {
      /** @description Always `restored` */
      status: string;
      /**
       * Format: int64
       * @description The number of the event that records the restore
       */
      event: number;
      /** Format: int64 */
      issues: number;
      /** @description The backup of the previous contents */
      backup: string;
    };
    /** @description Where a store is. */
    Place: {
      path: string;
    };
    /** @description A served store and the version that serves it. */
    StoreInfo: {
      project_dir: string;
      version: string;
      store_id: string;
    };
    /** @description The result of an undo. */
    Undone: {
      /**
       * Format: int64
       * @description The number of the undo itself, for pn redo; none if nothing changed
       */
      event?: number | null;
      /** @description Newest first */
      undone: components["schemas"]["TakenBack"][];
      /** @description Later operations that cannot be undone, newest first */
      passed_over?: components["schemas"]["Undoable"][];
    };
    /** @description One event that was undone or redone. */
    TakenBack: {
      /**
       * Format: int64
       * @description Its number
       */
      event: number;
      /**
       * Format: int64
       * @description The number of the first event of its operation
       */
      op: number;
      /** @description What it changed: `issue`, `learning`, `kv` and so on */
      subject_kind: string;
      subject_id: string;
      /** @description The same, if it is an issue */
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
       * @description The number of its first event, or of the redo that restored it: pass it to pn undo --event
       */
      event: number;
      /** @description Its events, oldest first */
      events: components["schemas"]["TakenBack"][];
      /** @description Why it cannot be undone; none if it can */
      refused?: string | null;
      /** @description The command that would reverse it instead, if there is one */
      instead?: string | null;
    };
    /** @description The result of a redo. */
    Redone: {
      /**
       * Format: int64
       * @description The number of the redo itself; none if nothing changed
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
      /** @description Its project; none for an operator's */
      project?: string | null;
      /** @description What a token allows in one project, each role including the one before it; or, as `operator`, on the server itself. */
      role: "viewer" | "agent" | "maintainer" | "admin" | "operator";
      /** Format: date-time */
      expires_at?: string | null;
    };
    /** @description A token, without its secret. */
    Token: {
      /** @description The id of a token, which is not its secret. */
      id: string;
      /** @description Its project; none for an operator's */
      project?: string | null;
      /** @description What a token allows in one project, each role including the one before it; or, as `operator`, on the server itself. */
      role: "viewer" | "agent" | "maintainer" | "admin" | "operator";
      /** Format: date-time */
      created_at: string;
      created_by: string;
      /** Format: date-time */
      expires_at?: string | null;
      /** Format: date-time */
      revoked_at?: string | null;
    };
    /** @description One entry of the audit log. */
    AuditLine: {
      /** Format: date-time */
      at: string;
      /** @description The project; none for the server itself */
      project?: string | null;
      /** @description The token; none if the caller had direct access to the store or database */
      token?: string | null;
      actor: string;
      event_type: string;
      /** @description What was changed: `issue`, `project`, `token` */
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
    /** @description A persistent identity, with a description and permissions. */
    Agent: {
      /** @description The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      /** @description The type of an agent, possibly unknown to this version: an imported agent keeps its type. */
      type: string;
      name?: string | null;
      /** @description The agent it works for */
      parent_id?: string | null;
      /**
       * @description A description of it: a JSON object of its creator
       * @default {}
       */
      descriptor?: {
        [key: string]: unknown;
      };
      /** @description The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form. */
      active_session_id?: string | null;
      /**
       * @description Its permissions: a JSON object of its creator
       * @default {}
       */
      permissions?: {
        [key: string]: unknown;
      };
      /** @description The tokens of its last inference */
      tokens?: {
        [key: string]: unknown;
      } | null;
      /**
       * @description The totals of all its inferences, by provider and model
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
    /** @description A deleted agent, and how much was deleted with it. */
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
    /** @description A session of an imported agent. */
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
    /** @description An entry to append: `{"type","at"?,"data"}`, or with the fields of its data next to `type` and `at`. */
    NewEntry: {
      /** @description Its type, such as user_message */
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
    /** @description The result of importing an agent. */
    Imported: {
      /** @description The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      /** @description Whether it is new */
      imported: boolean;
      /** @description Whether its parent does not exist */
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
    /** @description A session with totals of its entries. */
    Summary2: {
      /** @description The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      /** @description The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form. */
      agent_id: string;
      /** @description Why a session was opened. */
      opened_by: "start" | "reset" | "compaction";
      /** @description The inference provider's id of this conversation */
      inference_session_id?: string | null;
      /** @description The message of the reset, or the summary of the compaction */
      reset_message?: string | null;
      /** @description The issue it is about */
      issue_id?: string | null;
      /** @description The run it belongs to */
      run_id?: string | null;
      /** Format: date-time */
      created_at: string;
      /**
       * Format: date-time
       * @description When the next session replaced it; absent while it is active
       */
      ended_at?: string | null;
      /**
       * Format: date-time
       * @description When it was archived
       */
      archived_at?: string | null;
      /**
       * Format: int64
       * @description How many entries it has
       */
      entries: number;
      /**
       * Format: int64
       * @description From its start to its end, or to its last entry while it is active
       */
      duration_ms: number;
      /** @description By the model in the entries; `unknown` where they name none */
      tokens: {
        [key: string]: components["schemas"]["ModelUsage"];
      };
      /**
       * Format: double
       * @description The cost of the tokens in dollars, if all models have a price
       */
      cost_usd?: number | null;
    };
    /** @description A matching entry. */
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
      /** @description The type of an entry, such as `user_message`. Types unknown to this version are kept. */
      type: string;
      /** Format: date-time */
      at: string;
      /** @description The text around the match */
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
      /** @description The inference provider's id of this conversation */
      inference_session_id?: string | null;
      /** @description The message of the reset, or the summary of the compaction */
      reset_message?: string | null;
      /** @description The issue it is about */
      issue_id?: string | null;
      /** @description The run it belongs to */
      run_id?: string | null;
      /** Format: date-time */
      created_at: string;
      /**
       * Format: date-time
       * @description When the next session replaced it; absent while it is active
       */
      ended_at?: string | null;
      /**
       * Format: date-time
       * @description When it was archived
       */
      archived_at?: string | null;
    };
    /** @description Deleted sessions. */
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
      /** @description The type of an entry, such as `user_message`. Types unknown to this version are kept. */
      type: string;
      /**
       * Format: date-time
       * @description When it happened, possibly before it was written
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
       * @description The author of a message.
       * @enum {string}
       */
      role: "system" | "user" | "assistant" | "tool";
      content: string;
      /** @description The tool calls of the assistant; the results follow at once, in this order */
      tool_calls?: components["schemas"]["ToolCall"][];
      /** @description The call to which a tool's message is the result */
      tool_call_id?: string | null;
      /** @description True when a tool failed, or when its result is unknown; else absent */
      is_error?: boolean;
      /**
       * Format: int64
       * @description Its entry; absent for the opening message and for results that were never recorded
       */
      entry?: number | null;
    };
    /** @description A tool call of an assistant. */
    ToolCall: {
      id: string;
      name: string;
      /** @description Usually an object; anything else as it was sent */
      arguments: unknown;
    };
    /** @description A repository of runs. */
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
    /** @description A removed repository. */
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
      /** @description Its id in another system */
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
    /** @description A process of one machine, distinguishable from a later one with the same number. */
    Process: {
      /** Format: int64 */
      pid: number;
      /** @description Its start time, as its machine states it */
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
      /** @description The issue it works on */
      issue_id?: string | null;
      /** @description Its session */
      session_id?: string | null;
      /** @description The group that runs launched together share */
      group?: string | null;
      actor: string;
      /** @description The program and its arguments */
      command?: string[];
      /**
       * @description The prompt of the agent
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
      /** @description Its machine */
      host?: string | null;
      /** @description The command's process */
      agent?: components["schemas"]["Process"] | null;
      /** @description The process that supervises it */
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
      /** @description Its private working directory */
      workspace_path?: string | null;
      /**
       * Format: int64
       * @description The exit code of the command
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
      /** @description A description of it: a JSON object of your own */
      metadata?: {
        [key: string]: unknown;
      } | null;
    };
    /** @description A runtime environment of runs. */
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
      /** @description How the content of a snapshot is stored. */
      provider: "git" | "copy" | "btrfs" | "zfs" | "overlay";
      /** @description The id of a repository, such as `repo-a1b2c3d4`. */
      repo_id: string;
      /** @description The run it was taken for */
      run_id?: string | null;
      /** @description The machine that has the tree and the content */
      host: string;
      /** @description The tree */
      root: string;
      /** @description Its name at the provider: a ref, a subvolume, a snapshot of a dataset */
      ref?: string | null;
      /** @description The path of its content */
      path?: string | null;
      /** @description Its parent snapshot */
      parent_id?: string | null;
      label?: string | null;
      actor: string;
      /**
       * @description `files`, `bytes`, what was `left_out`, and what the provider needs to verify it
       * @default {}
       */
      metadata?: {
        [key: string]: unknown;
      };
      /** Format: date-time */
      created_at: string;
      /**
       * Format: date-time
       * @description When the tree was last restored to it
       */
      restored_at?: string | null;
    };
    /** @description A deleted snapshot. */
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
      /** @description Its working directory */
      cwd?: string | null;
      /** @description Its loop */
      loop_id?: string | null;
      /** @description The id of a run, such as `run-a1b2c3d4`. */
      run_id?: string | null;
      /** @description The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form. */
      session_id?: string | null;
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      issue_id?: string | null;
      actor: string;
      /** @description Its machine */
      host?: string | null;
      /**
       * Format: int64
       * @description The number of the command's process
       */
      pid?: number | null;
      /** @description The start time of that process, as its machine states it */
      born?: string | null;
      /** @description The process that supervises it */
      supervisor?: components["schemas"]["Process"] | null;
      /**
       * Format: int64
       * @description The exit code of the command
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
       * @description The size of its whole output in bytes, stored or not
       */
      output_bytes: number;
      /** @description Whether only a part of its output is stored */
      truncated: boolean;
      was_timeout: boolean;
      /** @description Whether its end was requested */
      was_cancelled: boolean;
      /**
       * Format: int64
       * @description Its time limit, in milliseconds
       */
      timeout_ms: number;
      /**
       * Format: int64
       * @description Its position in the queue of its lane: smaller numbers come first
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
      /** @description Its stored output; only when one job is shown */
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
       * @description Those that are queued or running
       */
      unfinished: number;
      /**
       * Format: int64
       * @description Those that ended by themselves, with an error
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
    /** @description A deleted value. */
    Deleted4: {
      /** @description Always `deleted` */
      status: string;
      scope: string;
      key: string;
    };
    /** @description A document with its collection and id. */
    Record: {
      collection: string;
      id: string;
      /**
       * Format: int64
       * @description Changes with every change of the record and is never reused, not even for another record with the same id
       */
      rev: number;
      /** Format: date-time */
      updated_at: string;
      data: {
        [key: string]: unknown;
      };
    };
    /** @description A page of matching records. A page ends after 10,000 records or 8 MiB. */
    Page2: {
      records: components["schemas"]["Record"][];
      /** @description Where the next page starts, if there is one */
      next?: string | null;
    };
    /** @description The number of matching records. */
    Counted2: {
      collection: string;
      /** Format: int64 */
      count: number;
    };
    /** @description Deleted records. */
    Deleted5: {
      /** @description Always `deleted` */
      status: string;
      collection: string;
      ids: string[];
    };
    /** @description A collection. */
    Collection: {
      collection: string;
      /** Format: int64 */
      records: number;
      /**
       * Format: date-time
       * @description When a record last changed
       */
      updated_at?: string | null;
      /** @description The indexed fields */
      indexes?: string[];
      /** @description True if secrets in its documents are redacted; else absent */
      redact?: boolean;
    };
    /** @description A collection and its indexes. */
    Indexed: {
      collection: string;
      /** Format: int64 */
      records: number;
      /**
       * Format: date-time
       * @description When a record last changed
       */
      updated_at?: string | null;
      /** @description The indexed fields */
      indexes?: string[];
      /** @description True if secrets in its documents are redacted; else absent */
      redact?: boolean;
      /** @description True if the indexes were rebuilt; else absent */
      rebuilt?: boolean;
    };
    /** @description One change of a record. */
    Change: {
      put: components["schemas"]["Put"];
    } | {
      delete: components["schemas"]["Removal"];
    };
    /** @description Store a document in a collection, replacing the one with the same id */
    Put: {
      /** @description The collection, such as jobs; the first record creates it */
      collection: string;
      /** @description The document */
      data: {
        [key: string]: unknown;
      };
      /** @description Its id [default: the one in the document, or a new one] */
      id?: string | null;
      /**
       * Format: int64
       * @description Only if the record has this revision; 0 means that it does not exist
       */
      if_rev?: number | null;
      /** @description Only if the record exists */
      if_present?: boolean;
      /**
       * Format: date-time
       * @description The time of the change [default: now]
       */
      updated_at?: string | null;
    };
    /** @description A record to delete. */
    Removal: {
      collection: string;
      id: string;
      /** Format: int64 */
      if_rev?: number | null;
    };
    /** @description The result of one change. */
    Applied: {
      id: string;
      /**
       * Format: int64
       * @description Absent if the record was deleted
       */
      rev?: number | null;
    };
    /** @description The size of the files, before and after. */
    Compacted: {
      /** Format: uint */
      collections: number;
      /** Format: uint64 */
      bytes_before: number;
      /** Format: uint64 */
      bytes: number;
    };
    /** @description Work on an issue. */
    Work: {
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      issue_id: string;
      /** @description The title of the issue */
      title: string;
      /**
       * @description What a change means for users.
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
      /** @description Who is doing it, or did it last */
      actor: string;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
      /** Format: date-time */
      done_at?: string | null;
      /** @description The former assignee, if this command claimed it from somebody else */
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
       * @description What a change means for users.
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
      /** @description Its issues that are not closed */
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
       * @description What a change means for users.
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
    /** @description A changelog. */
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
       * @description When anything was last changed; null if nothing was
       */
      updatedAt?: string | null;
    };
    /** @description A stored learning. */
    Remembered: {
      /** @description The id of a learning, such as `ln-a1b2c3d4`. */
      id: string;
      /** @description The kind of a learning. */
      kind: "pattern" | "approach" | "decision" | "gotcha";
      text: string;
      tags?: string[];
      /** @description The files it is about */
      files?: string[];
      /** @description The issue it came from */
      issue_id?: string | null;
      /** @description The work it came from, by its issue */
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
       * @description When it expires
       */
      expires_at?: string | null;
      /** @description The learning that it replaces */
      supersedes?: string | null;
      /**
       * Format: int64
       * @description How often it was remembered: 1, and one more for each merged duplicate
       * @default 1
       */
      revision?: number;
      /** @description The value of the work it came from */
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
       * @description When it was last confirmed as valid
       */
      verified_at?: string | null;
      /** @description Where the duplicates that were merged into it came from */
      sources?: components["schemas"]["MergedSource"][];
      /** @description The learnings that its text cites */
      derived_from?: string[];
      /** @description Whom it helped, and when; at most once a day for each */
      useful?: components["schemas"]["LearningUse"][];
      /** @description Former names of its files */
      former_files?: string[];
      /** @description Learnings that seem to contradict it, and do not */
      agrees_with?: string[];
      /** @description True if it was merged into an existing learning; else absent */
      merged?: boolean;
      /** @description True if the text was recalled from this learning, which is unchanged; else absent */
      recalled?: boolean;
      /**
       * Format: int64
       * @description How many secrets were replaced
       */
      redactions?: number;
    };
    /** @description A text that was recalled. */
    Recalled: {
      /** @description What a text belongs to. */
      kind: "learning" | "issue" | "comment" | "session" | "release" | "commit";
      /** @description Its id; of a session's entry, its number */
      id: components["schemas"]["HitId"];
      /** Format: date-time */
      at: string;
      actor: string;
      /** @description What of it matches, with the words between ** */
      snippet: string;
      /**
       * Format: int64
       * @description Its score; comparable only within the same answer
       */
      score: number;
      /** @description The session that it is from */
      session_id?: string | null;
      /** @description The issue that it is about */
      issue_id?: string | null;
      /** @description Which kind of learning */
      learning_kind?: "pattern" | "approach" | "decision" | "gotcha";
      text?: string;
      tags?: string[];
      files?: string[];
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      work?: string | null;
      /**
       * @description How much it matters.
       * @enum {string}
       */
      impact?: "high" | "medium" | "low";
      /** Format: date-time */
      expires_at?: string | null;
      /** @description The id of a learning, such as `ln-a1b2c3d4`. */
      supersedes?: string | null;
      /** Format: int64 */
      revision?: number;
      value?: components["schemas"]["Worth"] | null;
      linear_id?: string | null;
      /** Format: date-time */
      created_at?: string;
      /** Format: date-time */
      updated_at?: string;
      /** Format: date-time */
      verified_at?: string | null;
      /** @description Where the duplicates that were merged into it came from */
      sources?: components["schemas"]["MergedSource"][];
      /** @description The learnings that its text cites */
      derived_from?: string[];
      /** @description Whom it helped, and when; at most once a day for each */
      useful?: components["schemas"]["LearningUse"][];
      /** @description Former names of its files */
      former_files?: string[];
      /** @description Learnings that seem to contradict it, and do not */
      agrees_with?: string[];
      /** @description Entries before and after that are needed to understand it */
      context?: components["schemas"]["Neighbour"][];
      /** @description True if the text was cut to fit the budget; else absent */
      cut?: boolean;
      /** @description What made its score */
      explain?: components["schemas"]["Explanation"] | null;
    };
    /** @description The id of a text: of a session's entry its number. */
    HitId: number | string;
    /** @description An entry before or after a result. */
    Neighbour: {
      /** Format: int64 */
      id: number;
      /** Format: date-time */
      at: string;
      snippet: string;
    };
    /** @description What made a score: the parts add up to it. */
    Explanation: {
      /** @description What each word of the query contributed */
      terms: components["schemas"]["ExplainedTerm"][];
      /** @description The fields with a match: title, tags, files, links, body */
      fields: string[];
      /**
       * Format: double
       * @description The factor for age and impact
       */
      recency: number;
      /**
       * Format: double
       * @description What nearness of the words contributed
       */
      nearness: number;
      /**
       * Format: double
       * @description What meaning contributed; 0 without a model
       */
      vector: number;
      /**
       * Format: double
       * @description What entries beside it, and other texts of its issue, contributed
       */
      links: number;
    };
    /** @description What a word of the query contributed. */
    ExplainedTerm: {
      term: string;
      /** Format: double */
      score: number;
    };
    /** @description A learning with values computed from others. */
    Shown: {
      /** @description The id of a learning, such as `ln-a1b2c3d4`. */
      id: string;
      /** @description The kind of a learning. */
      kind: "pattern" | "approach" | "decision" | "gotcha";
      text: string;
      tags?: string[];
      /** @description The files it is about */
      files?: string[];
      /** @description The issue it came from */
      issue_id?: string | null;
      /** @description The work it came from, by its issue */
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
       * @description When it expires
       */
      expires_at?: string | null;
      /** @description The learning that it replaces */
      supersedes?: string | null;
      /**
       * Format: int64
       * @description How often it was remembered: 1, and one more for each merged duplicate
       * @default 1
       */
      revision?: number;
      /** @description The value of the work it came from */
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
       * @description When it was last confirmed as valid
       */
      verified_at?: string | null;
      /** @description Where the duplicates that were merged into it came from */
      sources?: components["schemas"]["MergedSource"][];
      /** @description The learnings that its text cites */
      derived_from?: string[];
      /** @description Whom it helped, and when; at most once a day for each */
      useful?: components["schemas"]["LearningUse"][];
      /** @description Former names of its files */
      former_files?: string[];
      /** @description Learnings that seem to contradict it, and do not */
      agrees_with?: string[];
      /** @description The learning that replaced it */
      superseded_by?: string | null;
    };
    /** @description A deleted learning. */
    Forgotten: {
      /** @description Always `deleted` */
      status: string;
      /** @description The id of a learning, such as `ln-a1b2c3d4`. */
      id: string;
      /** @description The learnings that were deleted with it */
      descendants?: string[];
    };
    /** @description Two valid learnings that cannot both be right. */
    Contradiction: {
      /** @description How two learnings contradict each other. */
      kind: "opposite" | "value";
      newer: components["schemas"]["Learning"];
      older: components["schemas"]["Learning"];
    };
    /** @description A learning that should be looked at again. */
    ReviewItem: {
      /** @description The id of a learning, such as `ln-a1b2c3d4`. */
      id: string;
      /** @description The kind of a learning. */
      kind: "pattern" | "approach" | "decision" | "gotcha";
      text: string;
      tags?: string[];
      /** @description The files it is about */
      files?: string[];
      /** @description The issue it came from */
      issue_id?: string | null;
      /** @description The work it came from, by its issue */
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
       * @description When it expires
       */
      expires_at?: string | null;
      /** @description The learning that it replaces */
      supersedes?: string | null;
      /**
       * Format: int64
       * @description How often it was remembered: 1, and one more for each merged duplicate
       * @default 1
       */
      revision?: number;
      /** @description The value of the work it came from */
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
       * @description When it was last confirmed as valid
       */
      verified_at?: string | null;
      /** @description Where the duplicates that were merged into it came from */
      sources?: components["schemas"]["MergedSource"][];
      /** @description The learnings that its text cites */
      derived_from?: string[];
      /** @description Whom it helped, and when; at most once a day for each */
      useful?: components["schemas"]["LearningUse"][];
      /** @description Former names of its files */
      former_files?: string[];
      /** @description Learnings that seem to contradict it, and do not */
      agrees_with?: string[];
      reasons: ("files_gone" | "contradicted" | "duplicate" | "unused" | "unverified")[];
      /** @description Those of its files that are gone */
      gone_files?: string[];
      /** @description An older learning that says the same */
      duplicate_of?: string | null;
    };
    /** @description A file that has another name now. */
    FileMove: {
      from: string;
      to: string;
    };
    /** @description How many learnings there are, of what kind, and how good they are. */
    LearningStats: {
      /**
       * Format: uint
       * @description All that are stored
       */
      total: number;
      /**
       * Format: uint
       * @description Those that are recalled: neither expired nor superseded
       */
      valid: number;
      /** Format: uint */
      expired: number;
      /** Format: uint */
      superseded: number;
      /** @description Valid ones by kind */
      kinds: {
        [key: string]: number;
      };
      /** @description Valid ones by impact */
      impacts: {
        [key: string]: number;
      };
      /**
       * Format: uint
       * @description Valid ones that somebody verified
       */
      verified: number;
      /**
       * Format: uint
       * @description Valid ones that were of use
       */
      useful: number;
      /**
       * Format: uint
       * @description Valid ones with duplicates merged into them
       */
      merged: number;
      /**
       * Format: uint
       * @description Valid ones that cite others
       */
      derived: number;
      /**
       * Format: uint
       * @description Valid ones about files
       */
      about_files: number;
      /**
       * Format: uint
       * @description Pairs that contradict each other
       */
      contradictions: number;
      /**
       * Format: uint
       * @description Those that a review proposes, without a look at files
       */
      to_review: number;
      /** @description The most useful ones, with the number of their uses */
      most_useful: components["schemas"]["UsefulLearning"][];
    };
    /** @description A learning, and how often it was of use. */
    UsefulLearning: {
      /** @description The id of a learning, such as `ln-a1b2c3d4`. */
      id: string;
      /** Format: uint */
      uses: number;
      text: string;
    };
    /** @description A learning that somebody may accept. */
    Proposal: {
      /** @description Its number in the list, or this id, accepts it */
      id: string;
      /** @description The kind of a learning. */
      kind: "pattern" | "approach" | "decision" | "gotcha";
      text: string;
      /** @description How a learning was found. */
      found: "stated" | "fixed_command" | "changed_together" | "close_reason" | "answered";
      tags?: string[];
      files?: string[];
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      issue_id?: string | null;
      /** @description The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form. */
      session_id?: string | null;
      /**
       * Format: int64
       * @description The entry of the session that it is from
       */
      entry?: number | null;
    };
    /** @description A prompt for a model. */
    DistillPrompt: {
      prompt: string;
    };
    /** @description Remember a finding with its source; near-duplicates are merged */
    Remember: {
      /** @description The finding; - reads it from standard input */
      text: string;
      /** @description Its kind [default: pattern] */
      kind?: ("pattern" | "approach" | "decision" | "gotcha") | null;
      /** @description A tag; may be given again */
      tags?: string[];
      /** @description A file it is about; may be given again */
      files?: string[];
      /** @description The issue it came from */
      issue?: string | null;
      /** @description The work it came from, by its issue */
      work?: string | null;
      /** @description The session it came from */
      session?: string | null;
      /**
       * @description How much it matters [default: medium]
       * @enum {string|null}
       */
      impact?: "high" | "medium" | "low" | null;
      /** @description How long it is valid, such as 90d */
      expires?: string | null;
      /** @description The learning that it replaces */
      supersedes?: string | null;
      /** @description Do not redact secrets */
      no_redact?: boolean;
    };
    /** @description Work in iterations. */
    Loop: {
      /** @description The id of a loop, such as `lp-a1b2c3d4`. */
      id: string;
      /**
       * @description The type of a loop, by what it produces.
       * @enum {string}
       */
      loop_type: "plan" | "spec" | "phase" | "code";
      /** @description The loop that must be complete before this one can run */
      parent_id?: string | null;
      /** @description Its issue */
      issue_id?: string | null;
      /** @description The artifact it starts from */
      input_artifact?: string | null;
      /**
       * @description The files it produced
       * @default []
       */
      output_artifacts?: string[];
      prompt_path: string;
      /** @description The command whose exit code says whether an iteration is valid */
      validation_command: string;
      /** Format: uint32 */
      max_iterations: number;
      worktree: string;
      /**
       * Format: uint32
       * @description How many iterations were started
       */
      iteration: number;
      /** @description The status of a loop. */
      status: ("running" | "paused" | "complete" | "failed") | "pending" | "rebasing" | "awaiting_approval" | "invalidated";
      /**
       * @description Its progress, in words
       * @default
       */
      progress?: string;
      /**
       * @description Values for its prompts: any JSON
       * @default null
       */
      context?: unknown;
      /** @description Why it has its status, if given */
      reason?: string | null;
      /** @description The actor that runs it, or ran it last */
      holder?: string | null;
      /** @description The machine that runs it */
      host?: string | null;
      /**
       * Format: int64
       * @description The process that runs it
       */
      pid?: number | null;
      /**
       * Format: int64
       * @description Its position among the loops that can be claimed; absent if it cannot be claimed
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
    /** @description The result of importing files of a loop. */
    TakenFiles: {
      /** @description `imported`, `here` or `clash`, for each part */
      outcomes: ("imported" | "updated" | "here" | "changed" | "clash" | "deleted" | "refused")[];
      /** @description Why none of them was stored */
      no_directory?: string | null;
    };
    /** @description A loop in a tree: below the one before it that has a smaller depth. */
    Branch: {
      /** Format: uint */
      depth: number;
      /** @description The id of a loop, such as `lp-a1b2c3d4`. */
      id: string;
      /**
       * @description The type of a loop, by what it produces.
       * @enum {string}
       */
      loop_type: "plan" | "spec" | "phase" | "code";
      /** @description The loop that must be complete before this one can run */
      parent_id?: string | null;
      /** @description Its issue */
      issue_id?: string | null;
      /** @description The artifact it starts from */
      input_artifact?: string | null;
      /**
       * @description The files it produced
       * @default []
       */
      output_artifacts?: string[];
      prompt_path: string;
      /** @description The command whose exit code says whether an iteration is valid */
      validation_command: string;
      /** Format: uint32 */
      max_iterations: number;
      worktree: string;
      /**
       * Format: uint32
       * @description How many iterations were started
       */
      iteration: number;
      /** @description The status of a loop. */
      status: ("running" | "paused" | "complete" | "failed") | "pending" | "rebasing" | "awaiting_approval" | "invalidated";
      /**
       * @description Its progress, in words
       * @default
       */
      progress?: string;
      /**
       * @description Values for its prompts: any JSON
       * @default null
       */
      context?: unknown;
      /** @description Why it has its status, if given */
      reason?: string | null;
      /** @description The actor that runs it, or ran it last */
      holder?: string | null;
      /** @description The machine that runs it */
      host?: string | null;
      /**
       * Format: int64
       * @description The process that runs it
       */
      pid?: number | null;
      /**
       * Format: int64
       * @description Its position among the loops that can be claimed; absent if it cannot be claimed
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
       * @description The type of a loop, by what it produces.
       * @enum {string}
       */
      loop_type: "plan" | "spec" | "phase" | "code";
      /** @description The loop that must be complete before this one can run */
      parent_id?: string | null;
      /** @description Its issue */
      issue_id?: string | null;
      /** @description The artifact it starts from */
      input_artifact?: string | null;
      /**
       * @description The files it produced
       * @default []
       */
      output_artifacts?: string[];
      prompt_path: string;
      /** @description The command whose exit code says whether an iteration is valid */
      validation_command: string;
      /** Format: uint32 */
      max_iterations: number;
      worktree: string;
      /**
       * Format: uint32
       * @description How many iterations were started
       */
      iteration: number;
      /** @description The status of a loop. */
      status: ("running" | "paused" | "complete" | "failed") | "pending" | "rebasing" | "awaiting_approval" | "invalidated";
      /**
       * @description Its progress, in words
       * @default
       */
      progress?: string;
      /**
       * @description Values for its prompts: any JSON
       * @default null
       */
      context?: unknown;
      /** @description Why it has its status, if given */
      reason?: string | null;
      /** @description The actor that runs it, or ran it last */
      holder?: string | null;
      /** @description The machine that runs it */
      host?: string | null;
      /**
       * Format: int64
       * @description The process that runs it
       */
      pid?: number | null;
      /**
       * Format: int64
       * @description Its position among the loops that can be claimed; absent if it cannot be claimed
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
      /** @description Why there is none, and which files were not stored */
      no_directory?: string | null;
    };
    /** @description Create a loop; it can be claimed once its parent is complete */
    Create: {
      /**
       * @description Its type
       * @enum {string}
       */
      loop_type: "plan" | "spec" | "phase" | "code";
      /** @description The file with its prompt */
      prompt_path: string;
      /** @description The command whose exit code says whether an iteration is valid */
      validation_command: string;
      /** @description The loop that must be complete first */
      parent?: string | null;
      /** @description Its issue */
      issue?: string | null;
      /**
       * Format: uint32
       * @description The most iterations [default: 100]
       */
      max_iterations?: number | null;
      /** @description Its worktree [default: worktrees/ID] */
      worktree?: string | null;
      /** @description The artifact it starts from */
      input_artifact?: string | null;
      /** @description Values for its prompts: any JSON */
      context?: unknown;
    };
    /** @description A complete loop and its new children. */
    Approved: {
      /** @description The id of a loop, such as `lp-a1b2c3d4`. */
      id: string;
      /**
       * @description The type of a loop, by what it produces.
       * @enum {string}
       */
      loop_type: "plan" | "spec" | "phase" | "code";
      /** @description The loop that must be complete before this one can run */
      parent_id?: string | null;
      /** @description Its issue */
      issue_id?: string | null;
      /** @description The artifact it starts from */
      input_artifact?: string | null;
      /**
       * @description The files it produced
       * @default []
       */
      output_artifacts?: string[];
      prompt_path: string;
      /** @description The command whose exit code says whether an iteration is valid */
      validation_command: string;
      /** Format: uint32 */
      max_iterations: number;
      worktree: string;
      /**
       * Format: uint32
       * @description How many iterations were started
       */
      iteration: number;
      /** @description The status of a loop. */
      status: ("running" | "paused" | "complete" | "failed") | "pending" | "rebasing" | "awaiting_approval" | "invalidated";
      /**
       * @description Its progress, in words
       * @default
       */
      progress?: string;
      /**
       * @description Values for its prompts: any JSON
       * @default null
       */
      context?: unknown;
      /** @description Why it has its status, if given */
      reason?: string | null;
      /** @description The actor that runs it, or ran it last */
      holder?: string | null;
      /** @description The machine that runs it */
      host?: string | null;
      /**
       * Format: int64
       * @description The process that runs it
       */
      pid?: number | null;
      /**
       * Format: int64
       * @description Its position among the loops that can be claimed; absent if it cannot be claimed
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
    /** @description An invalidated loop. */
    Invalidated: {
      /** @description The id of a loop, such as `lp-a1b2c3d4`. */
      id: string;
      /**
       * @description The type of a loop, by what it produces.
       * @enum {string}
       */
      loop_type: "plan" | "spec" | "phase" | "code";
      /** @description The loop that must be complete before this one can run */
      parent_id?: string | null;
      /** @description Its issue */
      issue_id?: string | null;
      /** @description The artifact it starts from */
      input_artifact?: string | null;
      /**
       * @description The files it produced
       * @default []
       */
      output_artifacts?: string[];
      prompt_path: string;
      /** @description The command whose exit code says whether an iteration is valid */
      validation_command: string;
      /** Format: uint32 */
      max_iterations: number;
      worktree: string;
      /**
       * Format: uint32
       * @description How many iterations were started
       */
      iteration: number;
      /** @description The status of a loop. */
      status: ("running" | "paused" | "complete" | "failed") | "pending" | "rebasing" | "awaiting_approval" | "invalidated";
      /**
       * @description Its progress, in words
       * @default
       */
      progress?: string;
      /**
       * @description Values for its prompts: any JSON
       * @default null
       */
      context?: unknown;
      /** @description Why it has its status, if given */
      reason?: string | null;
      /** @description The actor that runs it, or ran it last */
      holder?: string | null;
      /** @description The machine that runs it */
      host?: string | null;
      /**
       * Format: int64
       * @description The process that runs it
       */
      pid?: number | null;
      /**
       * Format: int64
       * @description Its position among the loops that can be claimed; absent if it cannot be claimed
       */
      runnable?: number | null;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
      /** Format: date-time */
      archived_at?: string | null;
      /** @description All invalidated loops, including this one */
      invalidated: string[];
      /** @description The signal that was sent to running loops, if any */
      signal?: components["schemas"]["Signal"] | null;
    };
    /** @description A signal, and how many recipients have acknowledged it. */
    Signal: {
      /** @description The id of a signal, such as `sg-a1b2c3d4`. */
      id: string;
      /**
       * @description The type of a signal.
       * @enum {string}
       */
      signal_type: "stop" | "pause" | "resume" | "rebase" | "error" | "info" | "invalidate";
      /** @description The loop that sent it */
      source_loop?: string | null;
      /** @description The id of a loop, such as `lp-a1b2c3d4`. */
      target_loop?: string | null;
      /** @description The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form. */
      target_agent?: string | null;
      /** @description The id of a run, such as `run-a1b2c3d4`. */
      target_run?: string | null;
      /** @description The selector of its recipients: `descendants:ID`, `children:ID`, `type:T` or `status:S` */
      target_selector?: string | null;
      /** @default  */
      reason?: string;
      payload?: unknown;
      /** @description The actor that sent it */
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
    /** @description A sent signal. */
    Sent: {
      /** @description The id of a signal, such as `sg-a1b2c3d4`. */
      id: string;
      /**
       * @description The type of a signal.
       * @enum {string}
       */
      signal_type: "stop" | "pause" | "resume" | "rebase" | "error" | "info" | "invalidate";
      /** @description The loop that sent it */
      source_loop?: string | null;
      /** @description The id of a loop, such as `lp-a1b2c3d4`. */
      target_loop?: string | null;
      /** @description The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form. */
      target_agent?: string | null;
      /** @description The id of a run, such as `run-a1b2c3d4`. */
      target_run?: string | null;
      /** @description The selector of its recipients: `descendants:ID`, `children:ID`, `type:T` or `status:S` */
      target_selector?: string | null;
      /** @default  */
      reason?: string;
      payload?: unknown;
      /** @description The actor that sent it */
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
      /** @description Who must acknowledge it */
      recipients: string[];
    };
    /** @description A signal, and who has not acknowledged it. */
    Shown2: {
      /** @description The id of a signal, such as `sg-a1b2c3d4`. */
      id: string;
      /**
       * @description The type of a signal.
       * @enum {string}
       */
      signal_type: "stop" | "pause" | "resume" | "rebase" | "error" | "info" | "invalidate";
      /** @description The loop that sent it */
      source_loop?: string | null;
      /** @description The id of a loop, such as `lp-a1b2c3d4`. */
      target_loop?: string | null;
      /** @description The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form. */
      target_agent?: string | null;
      /** @description The id of a run, such as `run-a1b2c3d4`. */
      target_run?: string | null;
      /** @description The selector of its recipients: `descendants:ID`, `children:ID`, `type:T` or `status:S` */
      target_selector?: string | null;
      /** @default  */
      reason?: string;
      payload?: unknown;
      /** @description The actor that sent it */
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
    /** @description The receipt of a recipient. */
    Acked: {
      /** @description The id of a signal, such as `sg-a1b2c3d4`. */
      signal_id: string;
      /**
       * @description The type of a signal.
       * @enum {string}
       */
      signal_type: "stop" | "pause" | "resume" | "rebase" | "error" | "info" | "invalidate";
      recipient: string;
      /**
       * @description The kinds of recipients.
       * @enum {string}
       */
      recipient_kind: "loop" | "agent" | "run";
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      acknowledged_at?: string | null;
      /** @description The actor that acknowledged it */
      acknowledged_by?: string | null;
      /**
       * Format: int64
       * @description How many recipients have not acknowledged it
       */
      missing_count: number;
    };
    /** @description Deleted signals. */
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
    /** @description What an agent needs to know to continue. */
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
       * @description How many lines were left out
       */
      more?: number;
    };
    /** @description One line of a section. */
    Line: {
      /** @description Its subject */
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
      /** @description Whether another page is available now */
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
    Progress: {
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
      /** @description Whether it is closed; finished work closes its issue by itself */
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
      /** @description The work on it */
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
       * @description What it means for users
       * @enum {string}
       */
      release_kind: "feature" | "bug" | "improvement" | "refactor" | "chore";
      /** @description Its issues, as far as they exist here */
      issues?: string[];
      notes?: string | null;
      /** Format: date-time */
      shipped_at?: string | null;
      origin: components["schemas"]["Origin"];
    } | {
      /** @constant */
      kind: "learning";
      /** @description The kind of a learning. */
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
      /** @description The task it came from, by its id in the other tool */
      task?: string | null;
      /** Format: date-time */
      at?: string | null;
      /** @description Its name in the other tool */
      name?: string | null;
      /** @description The learning that it replaces, by its name in the other tool; that comes earlier in the same request */
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
       * @description How many equal events came before it
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
       * @description What a change means for users.
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
    /** @description Where a record comes from, and its fields without a place here. */
    Origin: {
      /** @description The path of its file in the directory of the tool */
      file: string;
      /** @description A hash that shows whether the record has changed since its import */
      hash: string;
      /** @description Fields without a place here */
      fields?: {
        [key: string]: unknown;
      };
      /** @description Other records with the same id */
      also?: {
        [key: string]: unknown;
      }[];
    };
    /** @description The outcome for a record. */
    Told: {
      /** @description The outcome for a record. */
      outcome: "imported" | "updated" | "here" | "changed" | "clash" | "deleted" | "refused";
      /** @description Its id in this store */
      id?: string | null;
      /** @description Why, if it was not imported unchanged */
      reason?: string | null;
      /**
       * Format: int64
       * @description How many secrets were replaced
       */
      redactions?: number;
    };
    /** @description How far a transcript was read. */
    ReadPosition: {
      /**
       * Format: uint64
       * @description In bytes of the text, uncompressed
       */
      bytes: number;
      /**
       * Format: uint64
       * @description In lines or messages
       */
      lines: number;
      /**
       * @description A hash of what comes before, to notice that it was written anew
       * @default
       */
      tail?: string;
    };
    /** @description What one agent said in a part of a transcript. */
    TranscriptAgent: {
      /** @description The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      /** @description The types of agents that can be created. */
      type: "user" | "cron" | "system" | "subagent" | "app" | "permanent";
      /** @description What the conversation is called */
      name?: string | null;
      /** @description The agent it worked for */
      parent_id?: string | null;
      /**
       * @description What the software says about itself and where it runs, such as its branch; added to what is known
       * @default {}
       */
      descriptor?: {
        [key: string]: unknown;
      };
      /** @description What the software calls the conversation */
      inference_session_id?: string | null;
      /**
       * @description What goes on in the session that is active
       * @default []
       */
      entries?: components["schemas"]["NewEntry"][];
      /**
       * @description The sessions that follow
       * @default []
       */
      sessions?: components["schemas"]["ImportedSession"][];
      /**
       * Format: date-time
       * @description When the first and the last of it was said
       */
      first_at?: string | null;
      /** Format: date-time */
      last_at?: string | null;
    };
    /** @description What became of a part of a transcript. */
    TranscriptImport: {
      /** @description The agents that were not here before */
      agents: string[];
      /**
       * Format: int64
       * @description How many sessions were opened
       */
      sessions: number;
      /** Format: int64 */
      entries: number;
      /**
       * Format: int64
       * @description How many messages had been counted in another session already
       */
      repeated: number;
      /** @description The issues that its sessions are about */
      issues: string[];
      /**
       * Format: int64
       * @description How many secrets were replaced
       */
      redactions: number;
      /** @description Agents that were deleted here, and so did not come back */
      deleted?: string[];
    };
    /** @description Something that a tracker has. */
    TrackerItem: {
      /** @constant */
      kind: "issue";
      /** @description Its id here, the same at every import */
      id: string;
      /** @description What identifies it there */
      key: string;
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
      spec?: string | null;
      assignee?: string | null;
      labels?: string[];
      /** Format: date */
      due?: string | null;
      /** Format: date */
      defer?: string | null;
      estimate?: string | null;
      acceptance?: components["schemas"]["Criterion"][];
      /** @description The issue that it is a part of */
      parent?: string | null;
      /** @description The issues that must be closed first */
      deps?: string[];
      links?: components["schemas"]["Link"][];
      /** @description Where else it is known */
      refs?: string[];
      comments?: components["schemas"]["TrackerComment"][];
      /** Format: date-time */
      created_at?: string | null;
      /** Format: date-time */
      updated_at?: string | null;
      /** Format: date-time */
      closed_at?: string | null;
      close_reason?: string | null;
      /** @description Fields that have no place here, or that the tracker writes in another way */
      raw?: {
        [key: string]: unknown;
      };
    } | {
      /** @constant */
      kind: "memory";
      key: string;
      text: string;
      /** @description Fields that have no place here */
      raw?: {
        [key: string]: unknown;
      };
    } | {
      /** @constant */
      kind: "tombstone";
      /** @description The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form. */
      id: string;
      /** @description As the tracker wrote it */
      line: string;
    };
    /** @description What somebody said there about an issue. */
    TrackerComment: {
      /** @description What identifies it there; empty if nothing does */
      key?: string;
      author?: string | null;
      text: string;
      /** Format: date-time */
      at?: string | null;
      /** @description Fields that have no place here, or that the tracker writes in another way */
      raw?: {
        [key: string]: unknown;
      };
    };
    /** @description What an import did with an item. */
    ImportedItem: {
      /** @description What an import did with an item. */
      outcome: "created" | "updated" | "unchanged" | "skipped";
      /** @description Its id here */
      id: string;
      /** @description What of it could not be imported, and why */
      problems?: string[];
      /** @description The issues that it refers to and that are not here */
      missing?: string[];
      /**
       * Format: int64
       * @description How many secrets were replaced
       */
      redactions?: number;
    };
    /** @description An issue with all that belongs to it. */
    WholeIssue: {
      issue: components["schemas"]["Issue"];
      /** @description The issues that must be closed first */
      deps: string[];
      comments: components["schemas"]["Comment"][];
      /** @description Where else it is known */
      refs: string[];
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
        /** @description Only those that match this query: 'status:open label:auth -assignee:ben p<=1 due<+7d text', or a view: @NAME */
        q?: string | null;
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
        /** @description Only those with this label; may be given again */
        labels?: string[];
        /** @description Only those that are parts of this issue, or parts of its parts */
        parent?: string | null;
        /** @description Only those that are due before today and not closed */
        overdue?: boolean;
        /** @description In which order; also field.NAME, by a custom field */
        sort?: (("priority" | "created_at" | "updated_at" | "status" | "title" | "due" | "estimate" | "impact") | string) | null;
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
          /** @description Let the claim expire unless renewed: 30s, 15m, 12h, 1d */
          ttl?: string | null;
          /** @description Give it back: open, without assignee */
          unclaim?: boolean;
          /**
           * Format: date-time
           * @description Only if it was last changed at this time, which pn show --json has as updated_at; fails with conflict otherwise
           */
          if_updated_at?: string | null;
          /**
           * @description The values that fields had when their editor read them; an empty text for none. A field that somebody else has
           *     changed since gets the new value, and the value in between is kept as a conflict
           */
          was?: {
            [key: string]: string;
          };
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
          /** @description Close it whatever its status, its children and its criteria, even if another holds it */
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
        /** @description Only those that match this query: 'status:open label:auth -assignee:ben p<=1 due<+7d text', or a view: @NAME */
        q?: string | null;
        /** @description Only those with this priority */
        priority?: "p0" | "p1" | "p2" | "p3" | null;
        /** @description Only those of this assignee; an empty name means unassigned */
        assignee?: string | null;
        /** @description Only those of this type */
        issue_type?: ("bug" | "task" | "test" | "chore") | null;
        /** @description Only those of this spec */
        spec?: string | null;
        /** @description Only those with this label; may be given again */
        labels?: string[];
        /** @description Only those that are parts of this issue, or parts of its parts */
        parent?: string | null;
        /** @description In which order; also field.NAME, by a custom field [default: priority] */
        sort?: (("priority" | "created_at" | "updated_at" | "status" | "title" | "due" | "estimate" | "impact") | string) | null;
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
        /** @description Only those that match this query: 'status:open label:auth -assignee:ben p<=1 due<+7d text', or a view: @NAME */
        q?: string | null;
        /** @description Only those with this status */
        status?: "open" | "in_progress" | "closed" | null;
        /** @description Only those with this priority */
        priority?: "p0" | "p1" | "p2" | "p3" | null;
        /** @description Only those of this assignee; an empty name means unassigned */
        assignee?: string | null;
        /** @description Only those of this type */
        issue_type?: ("bug" | "task" | "test" | "chore") | null;
        /** @description Only those with this label; may be given again */
        labels?: string[];
        /** @description Only those that are parts of this issue, or parts of its parts */
        parent?: string | null;
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
        /** @description A text, taken literally; or a query: label:auth p<=1 words "exact phrase"; or a view: @NAME */
        q: string;
        /** @description Only those with this status */
        status?: "open" | "in_progress" | "closed" | null;
        /** @description Only those with this priority */
        priority?: "p0" | "p1" | "p2" | "p3" | null;
        /** @description Only those of this assignee; an empty name means unassigned */
        assignee?: string | null;
        /** @description Only those of this type */
        issue_type?: ("bug" | "task" | "test" | "chore") | null;
        /** @description Only those with this label; may be given again */
        labels?: string[];
        /** @description Only those that are parts of this issue, or parts of its parts */
        parent?: string | null;
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
        /** @description Only those that match this query: 'status:open label:auth -assignee:ben p<=1 due<+7d text', or a view: @NAME */
        q?: string | null;
        /** @description By status */
        by_status?: boolean;
        /** @description By priority */
        by_priority?: boolean;
        /** @description By type */
        by_issue_type?: boolean;
        /** @description By assignee */
        by_assignee?: boolean;
        /** @description Only those with this label; may be given again */
        labels?: string[];
        /** @description Only those that are parts of this issue, or parts of its parts */
        parent?: string | null;
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
          /** @description Let the claim expire unless renewed: 30s, 15m, 12h, 1d */
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
  "view.list": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["View"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "view.save": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description What to call it; pn ls @NAME uses it */
          name: string;
          /** @description The query: 'status:open label:auth due<+7d' */
          query: string;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["View"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "view.remove": {
    parameters: {
      query?: never;
      path: {
        /** @description Its name */
        name: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["View"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "issue.trace": {
    parameters: {
      query?: {
        /** @description At most this many of the last entries; totals count all [default: 500] */
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
  cost: {
    parameters: {
      query?: {
        /** @description What to group by [default: model] */
        by?: "issue" | "agent" | "run" | "session" | "model" | "day" | null;
        /** @description From when on: how long ago, or a time */
        since?: string | null;
        /** @description Only sessions about this issue, and those of its runs */
        issue?: string | null;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["CostReport"];
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
        /** @description The start: how long ago, or a time */
        since: string;
        /** @description The end: how long ago, or a time [default: now] */
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
        /** @description Only issues that match this query: 'label:auth -assignee:ben p<=1 due<+7d text', or a view: @NAME */
        q?: string | null;
        /** @description At most this many of those that hold up the most [default: 60] */
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
        /** @description The start: how long ago, or a time [default: 30d] */
        since?: string | null;
        /** @description The end: how long ago, or a time [default: now] */
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
        /** @description Only events after this number; 0 lists all [default: the last 50 events] */
        after?: number | null;
        /** @description Only events about this: an id or the beginning of one, or a kind such as issue, agent or run */
        subject?: string | null;
        /** @description Only events of this type, such as closed, issue.created or task.*; may be given again */
        type?: string[];
        /** @description Only events of this actor */
        by?: string | null;
        /** @description At most this many: the first ones with --after, else the last ones */
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
          /** @description The comment; - reads it from standard input */
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
          /** @description Write nothing; fail if an export would change the files */
          check?: boolean;
          /** @description Export the history of issues too, to events.jsonl [default: the setting export.events] */
          events?: boolean | null;
          /** @description Do not stage the files in git */
          no_stage?: boolean;
          /** @description The worktree with the files, if it is not the main one */
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
          /** @description Replace the contents of the store with the files, after a backup */
          authoritative?: boolean;
          /** @description The worktree with the files, if it is not the main one */
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
          /** @description Which value to use */
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
          /** @description Release every claim without a lease, and repair what can be repaired */
          fix?: boolean;
          /** @description Also rebuild the state from backup and journal, and compare it with every record of the database */
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
          /** @description The minimum age: 12h, 7d [default: the setting gc.older-than, else 7d] */
          older_than?: string | null;
          /** @description Only show what would be removed */
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
          /** @description The file to create; only on the machine of the store */
          file?: string | null;
          /** @description Replace an existing file */
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
          /** @description The backup: a file, or a name from pn backup --list */
          file: string;
          /** @description Also restore a backup of another store */
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
        /** @description Only operations of this actor, in the caller's session [default: the caller] */
        actor?: string | null;
        /** @description The operations of everyone, not only of this actor and session */
        any?: boolean;
        /** @description How many operations to list [default: 20] */
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
          /** @description The last operation of anyone, not only of this actor and session */
          any?: boolean;
          /** @description All operations of this actor */
          by?: string | null;
          /** @description All operations since then: a duration such as 30m, or a time */
          since?: string | null;
          /**
           * Format: int64
           * @description The operation that wrote this event; pn undo --list and pn history show the numbers
           */
          event?: number | null;
          /** @description Even if another holds the claim on an issue whose state it changes */
          force?: boolean;
          /** @description Only show what would be undone */
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
          /** @description The last undo of anyone, not only of this actor and session */
          any?: boolean;
          /**
           * Format: int64
           * @description The undo that wrote this event
           */
          event?: number | null;
          /** @description Even if another holds the claim on an issue whose state it changes */
          force?: boolean;
          /** @description Only show what would be redone */
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
        /** @description Archived ones too */
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
          /** @description Its name, which is part of its URL: a-z, 0-9 and the characters . - _ */
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
        /** @description Expired and revoked ones too */
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
          /** @description Its project */
          project?: string | null;
          /** @description Its role in the project */
          role?: ("viewer" | "agent" | "maintainer" | "admin" | "operator") | null;
          /** @description Allow it to manage the projects, tokens and audit of the server, but to open no project */
          operator?: boolean;
          /** @description How long it is valid, such as 90d [default: until it is revoked] */
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
        /** @description Its id; pn token list shows it */
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
        /** @description Only entries of this project */
        project?: string | null;
        /** @description Only entries of this token */
        token?: string | null;
        /** @description Only entries since then: a duration such as 7d, or a time */
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
          /** @description Its type */
          type: "user" | "cron" | "system" | "subagent" | "app" | "permanent";
          /** @description Its name */
          name?: string | null;
          /** @description The agent it works for */
          parent?: string | null;
          /** @description A description of it: a JSON object of your own */
          descriptor?: {
            [key: string]: unknown;
          } | null;
          /** @description Its permissions: a JSON object of your own */
          permissions?: {
            [key: string]: unknown;
          } | null;
          /** @description The inference provider's id of the conversation */
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
        /** @description Confirm the deletion */
        force?: boolean;
        /** @description Delete permanently: it cannot be undone */
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
          /** @description A new name; an empty one removes it */
          name?: string | null;
          /** @description A new descriptor, replacing the old one */
          descriptor?: {
            [key: string]: unknown;
          } | null;
          /** @description New permissions, replacing the old ones */
          permissions?: {
            [key: string]: unknown;
          } | null;
          /** @description The tokens of its last inference; null removes them */
          tokens?: {
            [key: string]: unknown;
          } | null;
          /** @description The totals of all its inferences, replacing the old ones */
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
          /** @description Its id, which it keeps */
          id: string;
          /** @description Its type, which this version may not know */
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
          /** @description In order; the last one is active */
          sessions: components["schemas"]["ImportedSession"][];
          /** @description Do not redact secrets */
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
        /** @description Archived ones too */
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
        /** @description The text to search for, literally */
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
          /** @description The minimum time since their end, such as 30d */
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
          /** @description The message that opens the next session; - reads it from standard input */
          message?: string | null;
          /** @description The inference provider's id of the conversation */
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
          /** @description The summary that opens the next session; - reads it from standard input */
          summary: string;
          /** @description The inference provider's id of the conversation */
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
          /** @description The entries, in order */
          entries: components["schemas"]["NewEntry"][];
          /** @description Do not redact secrets */
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
        /** @description The entries of all sessions of the agent */
        all?: boolean;
        /** @description Only entries after this number */
        after?: number | null;
        /** @description Skip this many of the oldest entries of a session */
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
        /** @description Keep the opening message, and of the rest the newest whole turns that fit; a token is about four bytes */
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
        /** @description Only those with this remote URL */
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
          /** @description Its name */
          name: string;
          /** @description Its id in another system */
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
        /** @description Only those with this status */
        status?: (("running" | "failed" | "succeeded" | "cancelled") | "created") | null;
        /** @description Only those for this issue */
        issue?: string | null;
        /** @description Only those in this repository */
        repo?: string | null;
        /** @description Only those of this group */
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
           * @description Its repository: the id, the beginning of it, or the root [default: the one that contains the current
           *     directory]
           */
          repo?: string | null;
          /** @description The agent software and its version, such as claude-code@2.1 */
          harness?: string | null;
          /** @description Where it runs: local, nosandbox, devcontainer, devcontainer:PATH */
          runtime?: string | null;
          /** @description Its workspace on the server */
          workspace?: string | null;
          /** @description The issue it works on */
          issue?: string | null;
          /** @description Its session */
          session?: string | null;
          /** @description The prompt of the agent; - reads it from standard input */
          prompt?: string | null;
          /** @description The branch it works on */
          branch?: string | null;
          /** @description How the work is delivered */
          delivery?: (("branch" | "patch") | "pr") | null;
          /** @description Its private working directory */
          workspace_path?: string | null;
          /** @description Do not let it use a browser */
          no_browser?: boolean;
          /** @description The profile of its browser */
          browser_profile?: string | null;
          /** @description Its ChatGPT account */
          chatgpt_username?: string | null;
          /** @description Its Codex workspace */
          codex_workspace?: string | null;
          /** @description Labels: names and values of your own */
          labels?: {
            [key: string]: string;
          };
          /** @description The repository as detected; added if it is not known */
          seen?: components["schemas"]["Seen"] | null;
          /** @description The program and its arguments */
          command?: string[];
          /**
           * Format: int64
           * @description How many runs are launched together
           */
          instances?: number | null;
          /** @description The group that runs launched together share */
          group?: string | null;
          /** @description Its command is not running yet */
          created?: boolean;
          /** @description Claim the issue, with a lease of this length that the run renews */
          claim?: string | null;
          /** @description Its machine */
          host?: string | null;
          /** @description The command's process */
          agent?: components["schemas"]["Process"] | null;
          /** @description The process that supervises it */
          supervisor?: components["schemas"]["Process"] | null;
          /** @description The file for its output */
          log_path?: string | null;
          /** @description The directory for its output, in a file named after the run */
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
          /** @description Its command is running */
          started?: boolean;
          /** @description The command's process */
          agent?: components["schemas"]["Process"] | null;
          /** @description The process that supervises it */
          supervisor?: components["schemas"]["Process"] | null;
          /** @description Its session */
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
           * @description The exit code of the command
           */
          exit_code?: number | null;
          /**
           * Format: int64
           * @description The signal that ended the command
           */
          signal?: number | null;
          /** @description Why, in words */
          reason?: string | null;
          /** @description The command's process, if not yet recorded */
          agent?: components["schemas"]["Process"] | null;
          /** @description Only if this process still supervises it */
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
        /** @description Only events after this number */
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
          /** @description Its type, a word of your own such as tool_call */
          type: string;
          /** @description Its data: any JSON */
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
          /** @description A JSON object of your own, replacing the old one; absent removes it */
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
          /** @description A JSON object of your own, replacing the old one; absent removes it */
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
        /** @description Only those of this run */
        run?: string | null;
        /** @description Only those of this repository */
        repo?: string | null;
        /** @description Only those of this provider */
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
          /** @description Its id, if it has one already */
          id?: string | null;
          /**
           * @description Why it was taken
           * @default manual
           */
          kind?: "manual" | "safety";
          /** @description How the content of a snapshot is stored. */
          provider: "git" | "copy" | "btrfs" | "zfs" | "overlay";
          /** @description Which repository the tree belongs to: its id, the beginning of it, or its root */
          repo?: string | null;
          /** @description The repository as detected; added if it is not known */
          seen?: components["schemas"]["Seen"] | null;
          /** @description The run it was taken for */
          run?: string | null;
          /** @description The machine that has the tree and the content */
          host: string;
          /** @description The tree */
          root: string;
          /** @description Its name at the provider */
          ref?: string | null;
          /** @description The path of its content */
          path?: string | null;
          /** @description Its parent snapshot */
          parent?: string | null;
          label?: string | null;
          /** @description Facts about the content, such as its hash */
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
          /** @description The snapshot of the previous state */
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
        /** @description Only those with this status */
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
          /** @description Its lane: no-net, net, heavy, or one from the settings */
          lane: string;
          /** @description Its tool [default: the name of the program] */
          tool?: string | null;
          /** @description Its loop */
          loop?: string | null;
          /** @description Its run [default: PN_RUN, as pn run exec sets it] */
          run?: string | null;
          /** @description The session that requested it [default: that of the run] */
          session?: string | null;
          /** @description Its issue [default: that of the run] */
          issue?: string | null;
          /** @description The program and its arguments */
          command?: string[];
          /** @description Its working directory */
          cwd?: string | null;
          /**
           * Format: int64
           * @description How many slots the lane has on its machine
           */
          slots: number;
          /** @description Its time limit */
          timeout: string;
          /** @description How long to wait in the queue for a slot; without it, the job is refused if no slot is free */
          wait?: string | null;
          /** @description Its machine */
          host?: string | null;
          /** @description The command's process */
          process?: components["schemas"]["Process"] | null;
          /** @description The process that supervises it */
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
           * @description How many slots the lane has on its machine
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
          /** @description succeeded, failed, timeout or cancelled [default: from the exit code] */
          status?: (("running" | "succeeded" | "failed") | "pending" | "timeout" | "cancelled") | null;
          /**
           * Format: int64
           * @description The exit code of the command
           */
          exit_code?: number | null;
          /**
           * Format: int64
           * @description The signal that ended the command
           */
          signal?: number | null;
          /** @description Why, in words */
          reason?: string | null;
          /** @description Its output, as far as it is to be stored */
          output?: string | null;
          /**
           * Format: int64
           * @description The size of its whole output in bytes, stored or not
           */
          output_bytes?: number | null;
          /** @description Whether only a part of its output is stored */
          truncated?: boolean;
          /** @description The command's process, if not yet recorded */
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
          /** @description The machine that was checked */
          host: string;
          /**
           * @description Its jobs without a supervisor
           * @default []
           */
          lost?: string[];
          /** @description Its jobs that exceeded their time limit and have no known process */
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
        /** @description Only those that started since then: a duration such as 24h, or a time */
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
        /** @description Only those whose names start with this */
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
          /** @description The value; - reads it from standard input */
          value: string;
          /** @description user, project, repo, runtime, or another */
          scope: string;
          /** @description Only if this is the old value */
          if_value?: string | null;
          /** @description Only if there is no old value */
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
        /** @description Only records that pass this test; may be given again */
        where?: string[];
        /** @description Sort by this field, or by FIELD desc [default: id] */
        order?: string | null;
        /** @description At most this many */
        limit?: number | null;
        /** @description Continue at the cursor of an earlier answer */
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
        /** @description The collection, such as jobs; the first record creates it */
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
           * @description Only if the record has this revision; 0 means that it does not exist
           */
          if_rev?: number | null;
          /** @description Only if the record exists */
          if_present?: boolean;
          /**
           * Format: date-time
           * @description The time of the change [default: now]
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
        /** @description All records that pass this test; may be given again */
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
        /** @description Only records that pass this test; may be given again */
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
          /** @description Rebuild the indexes from the records */
          rebuild?: boolean;
          /** @description Redact secrets in documents that are stored from now on */
          redact?: boolean;
          /** @description Compare the indexes with the records, and rebuild them if they differ */
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
           * @description What it means for users [default: from the issue's type]
           * @enum {string|null}
           */
          kind?: "feature" | "bug" | "improvement" | "refactor" | "chore" | null;
          /** @description Its branch */
          branch?: string | null;
          /** @description A step; may be given again */
          steps?: string[];
          /** @description Let the claim expire unless renewed: 30s, 15m, 12h, 1d */
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
        /** @description The actor, if no issue is given */
        actor: string;
        /** @description The issue */
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
          /** @description Its issue [default: your current work] */
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
          /** @description Which issue [default: the one you have paused] */
          issue?: string | null;
          /** @description Take it over from the actor who claimed it */
          take?: boolean;
          /** @description Take it over even from a live lease or another session */
          force?: boolean;
          /** @description Let the claim expire unless renewed: 30s, 15m, 12h, 1d */
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
          /** @description Its issue [default: your current work] */
          issue?: string | null;
          /** @description The close reason of the issue */
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
        /** @description The actor, if no issue is given */
        actor: string;
        /** @description Its issue [default: your current work] */
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
          /** @description The steps */
          steps: string[];
          /** @description Its issue [default: your current work] */
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
           * @description Its number, from 1 [default: the first that is not done]
           */
          number?: number | null;
          /** @description Its issue [default: your current work] */
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
        /** @description Only work with this status */
        status?: "active" | "paused" | "done" | null;
        /** @description Only work of this actor */
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
          /** @description What was shipped, in one line */
          name: string;
          /** @description The version; features shipped together share one */
          version: string;
          /**
           * @description What it means for users
           * @default feature
           * @enum {string}
           */
          kind?: "feature" | "bug" | "improvement" | "refactor" | "chore";
          /** @description An issue that it contains; may be given again */
          issues?: string[];
          /** @description Notes for users; - reads them from standard input */
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
        /** @description Only changes after this version */
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
          /** @description The skills that it requires */
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
        /** @description Only those of this issue or of the work on it */
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
          /** @description The finding; - reads it from standard input */
          text: string;
          /** @description Its kind [default: pattern] */
          kind?: ("pattern" | "approach" | "decision" | "gotcha") | null;
          /** @description A tag; may be given again */
          tags?: string[];
          /** @description A file it is about; may be given again */
          files?: string[];
          /** @description The issue it came from */
          issue?: string | null;
          /** @description The work it came from, by its issue */
          work?: string | null;
          /** @description The session it came from */
          session?: string | null;
          /**
           * @description How much it matters [default: medium]
           * @enum {string|null}
           */
          impact?: "high" | "medium" | "low" | null;
          /** @description How long it is valid, such as 90d */
          expires?: string | null;
          /** @description The learning that it replaces */
          supersedes?: string | null;
          /** @description Do not redact secrets */
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
          /** @description Do not redact secrets */
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
        /** @description Words to search for */
        q?: string | null;
        /**
         * @description What to search: learnings, issues, comments, sessions, releases and commits, with commas
         *     [default: learnings,issues,comments]
         */
        in?: string | null;
        /** @description Only what was written since then, such as 7d or 2026-02-01 */
        since?: string | null;
        /** @description Only what this actor or agent wrote */
        by?: string | null;
        /** @description Only what has this tag or label; may be given again, then it must have all */
        tags?: string[];
        /** @description Only what is about this file; may be given again, then one of them is enough */
        files?: string[];
        /** @description At most this many tokens, at four bytes each */
        max_tokens?: number | null;
        /** @description At most this many [default: 10] */
        limit?: number | null;
        /** @description Show what made each score */
        explain?: boolean;
      };
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Recalled"][];
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
      query?: {
        /** @description Also those that were merged with it, supersede it or cite it, and so on */
        with_descendants?: boolean;
      };
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
          /** @description How long it is valid from now on */
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
  "learning.useful": {
    parameters: {
      query?: never;
      path: {
        /** @description Which learning: its id, or the beginning of it */
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
          "application/json": components["schemas"]["Learning"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "learning.conflicts": {
    parameters: {
      query?: {
        /** @description Only those of this learning */
        id?: string | null;
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
          "application/json": components["schemas"]["Contradiction"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "learning.agree": {
    parameters: {
      query?: never;
      path: {
        /** @description Which learning */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description The one that it agrees with */
          other: string;
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
  "learning.supersede": {
    parameters: {
      query?: never;
      path: {
        /** @description The learning that no longer holds */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description The learning that holds */
          by: string;
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
  "learning.merge": {
    parameters: {
      query?: never;
      path: {
        /** @description The learning that goes */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description The learning that stays */
          into: string;
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
  "learning.review": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description After how long without use [default: 180d] */
          unused_for?: string | null;
          /** @description Files that are gone; the caller looks, since a store knows no work tree */
          gone?: string[];
          /**
           * Format: uint32
           * @description At most this many [default: 50]
           */
          limit?: number | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["ReviewItem"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "learning.files": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": string[];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "learning.about": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: {
      content: {
        "application/json": {
          /**
           * @description Paths; a name alone stands for every file of that name
           * @default []
           */
          files?: string[];
          /** @description Only those of this kind */
          kind?: ("pattern" | "approach" | "decision" | "gotcha") | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Learning"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "learning.move_files": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Applied in this order */
          moves: components["schemas"]["FileMove"][];
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Learning"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "learning.stats": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["LearningStats"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "distill.propose": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Only this session */
          session?: string | null;
          /** @description Only this issue, its comments, and the sessions about it */
          issue?: string | null;
          /** @description What happened since then: a duration such as 7d, or a time [default: 7d] */
          since?: string | null;
          /** @description The files of each commit; the caller reads them, since a store knows no repository */
          commits?: string[][];
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["Proposal"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "distill.prompt": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description Only this session */
          session?: string | null;
          /** @description Only this issue, its comments, and the sessions about it */
          issue?: string | null;
          /** @description What happened since then: a duration such as 7d, or a time [default: 7d] */
          since?: string | null;
          /**
           * Format: uint32
           * @description At most this many tokens, at four bytes each [default: 8000]
           */
          max_tokens?: number | null;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["DistillPrompt"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "learning.remember_all": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          learnings: components["schemas"]["Remember"][];
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
  "loop.list": {
    parameters: {
      query?: {
        /** @description Only those of this type */
        loop_type?: "plan" | "spec" | "phase" | "code" | null;
        /** @description Only those with this status */
        status?: (("running" | "paused" | "complete" | "failed") | "pending" | "rebasing" | "awaiting_approval" | "invalidated") | null;
        /** @description Only children of this loop */
        parent?: string | null;
        /** @description Only those for this issue */
        issue?: string | null;
        /** @description Only those that this actor runs or ran last */
        holder?: string | null;
        /** @description Only those that can be claimed, in the order of claiming */
        runnable?: boolean;
        /** @description Archived ones too */
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
           * @description Its type
           * @enum {string}
           */
          loop_type: "plan" | "spec" | "phase" | "code";
          /** @description The file with its prompt */
          prompt_path: string;
          /** @description The command whose exit code says whether an iteration is valid */
          validation_command: string;
          /** @description The loop that must be complete first */
          parent?: string | null;
          /** @description Its issue */
          issue?: string | null;
          /**
           * Format: uint32
           * @description The most iterations [default: 100]
           */
          max_iterations?: number | null;
          /** @description Its worktree [default: worktrees/ID] */
          worktree?: string | null;
          /** @description The artifact it starts from */
          input_artifact?: string | null;
          /** @description Values for its prompts: any JSON */
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
          /** @description Each a loop with at least its id, type and status; the rest has defaults */
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
          /** @description The loop; its record need not exist */
          id: string;
          /** @description Whether they are in the archive */
          archived?: boolean;
          parts: components["schemas"]["FilePart"][];
          /** @description The iteration to which `current` points */
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
          /** @description The machine that runs it */
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
          /** @description Its progress, in words */
          progress?: string | null;
          /** @description The machine that runs it */
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
          /** @description Its progress, in words */
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
          /** @description Its progress, in words */
          progress?: string | null;
          /** @description The machine that runs it */
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
          /** @description Its progress, in words */
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
          /** @description Its progress, in words */
          progress?: string | null;
          /** @description The files of the iteration */
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
          /** @description Its progress, in words */
          progress?: string | null;
          /** @description A file it produced; may be given again */
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
          /** @description The child loops to create */
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
          /** @description Its progress, in words */
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
          /** @description Its progress, in words */
          progress?: string | null;
          /** @description A file it produced; may be given again */
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
          /** @description Its progress, in words */
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
          /** @description Its progress, in words */
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
          /** @description Whether its worktree is gone */
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
        /** @description Only those that the recipient has not acknowledged; without --for, those that any recipient has not */
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
           * @description Its type
           * @enum {string}
           */
          signal_type: "stop" | "pause" | "resume" | "rebase" | "error" | "info" | "invalidate";
          /** @description The recipient */
          to: string;
          /** @description The loop that sends it */
          from?: string | null;
          /** @description Why */
          reason?: string | null;
          /** @description More data for the recipients: any JSON */
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
          /** @description Each a signal with at least its id and type; the rest has defaults */
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
          /** @description The recipient: a loop, agent or run */
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
          /** @description The minimum time since then, such as 30d [default: 7d] */
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
        /** @description Free locks too */
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
          /** @description The name of the lock */
          name: string;
          /** @description How long it lasts unless renewed: 30s, 15m, 12h, 1d [default: 60s] */
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
          /** @description The name of the lock */
          name: string;
          /** @description Only if it is still held with this token */
          token?: string | null;
          /** @description Even if another holds it */
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
        /** @description The name of the lock */
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
        /** @description At most this many tokens, at four bytes each [default: 2000] */
        max_tokens?: number | null;
        /** @description The format to which the limit applies [default: md] */
        format?: ("json" | "md") | null;
        /** @description The actor to brief [default: everybody] */
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
          peer?: components["schemas"]["Progress"] | null;
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
           * @description The tool
           * @enum {string}
           */
          from: "prjct";
          /** @description Its records; issues come before the records that name them */
          records: components["schemas"]["Given"][];
          /** @description Do not redact secrets */
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
  "transcript.import": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description What names the transcript: the software, and what it calls the conversation */
          key: string;
          /** @description Where it was read */
          file?: string | null;
          from: components["schemas"]["ReadPosition"];
          to: components["schemas"]["ReadPosition"];
          /**
           * @description What its reader needs to go on from there
           * @default {}
           */
          state?: {
            [key: string]: unknown;
          };
          /** @description What each agent of the conversation said */
          agents: components["schemas"]["TranscriptAgent"][];
          /**
           * @description Whether this is the end of the transcript for now
           * @default false
           */
          is_end?: boolean;
          /** @description Keep secrets as they are */
          no_redact?: boolean;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["TranscriptImport"];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "tracker.import": {
    parameters: {
      query?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /**
           * @description Which tracker
           * @enum {string}
           */
          from: "backlog" | "beads" | "github" | "gitlab" | "jira" | "linear" | "taskmaster" | "taskwarrior";
          /** @description What it has */
          items: components["schemas"]["TrackerItem"][];
          /** @description Change nothing; tell what would happen */
          dry_run?: boolean;
          /** @description Keep secrets as they are */
          no_redact?: boolean;
        };
      };
    };
    responses: {
      /** @description Done */
      200: {
        content: {
          "application/json": components["schemas"]["ImportedItem"][];
        };
      };
      default: components["responses"]["Error"];
    };
  };
  "tracker.export": {
    parameters: {
      query?: {
        /** @description Only those after this one */
        after?: string | null;
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
          "application/json": components["schemas"]["WholeIssue"][];
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
