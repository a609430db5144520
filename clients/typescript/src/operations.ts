// Generated from the OpenAPI document by generate.mjs. Do not edit.

/** Method and path of every operation. */
export const routes = {
  "issue.create": ["POST", "/issues"],
  "issue.list": ["GET", "/issues"],
  "issue.update": ["PATCH", "/issues/{id}"],
  "issue.delete": ["DELETE", "/issues/{id}"],
  "issue.show": ["GET", "/issues/{id}"],
  "issue.close": ["POST", "/issues/{id}/close"],
  "issue.accept": ["POST", "/issues/{id}/accept"],
  "issue.reopen": ["POST", "/issues/{id}/reopen"],
  "issue.release": ["POST", "/issues/{id}/release"],
  "issue.heartbeat": ["POST", "/issues/{id}/heartbeat"],
  "issue.ready": ["GET", "/issues/ready"],
  "issue.blocked": ["GET", "/issues/blocked"],
  "issue.search": ["GET", "/issues/search"],
  "issue.count": ["GET", "/issues/count"],
  "issue.children": ["GET", "/issues/{id}/children"],
  "issue.history": ["GET", "/issues/{id}/history"],
  "issue.claim_next": ["POST", "/issues/claim_next"],
  "label.list": ["GET", "/labels"],
  "label.rename": ["POST", "/labels/rename"],
  "link.add": ["POST", "/issues/{id}/links"],
  "link.list": ["GET", "/issues/{id}/links"],
  "link.remove": ["DELETE", "/issues/{id}/links/{to}"],
  "view.save": ["POST", "/views"],
  "view.list": ["GET", "/views"],
  "view.remove": ["DELETE", "/views/{name}"],
  "issue.trace": ["GET", "/issues/{id}/trace"],
  "cost": ["GET", "/cost"],
  "triage.insights": ["GET", "/insights"],
  "triage.plan": ["GET", "/plan"],
  "triage.why": ["GET", "/issues/{id}/why"],
  "triage.impact": ["GET", "/issues/{id}/impact"],
  "triage.diff": ["GET", "/diff"],
  "triage.graph": ["GET", "/graph"],
  "triage.chart": ["GET", "/chart"],
  "event.list": ["GET", "/log"],
  "store.status": ["GET", "/status"],
  "dep.add": ["POST", "/deps"],
  "dep.remove": ["DELETE", "/deps"],
  "dep.list": ["GET", "/issues/{id}/deps"],
  "dep.tree": ["GET", "/issues/{id}/deps/tree"],
  "dep.cycles": ["GET", "/deps/cycles"],
  "comment.add": ["POST", "/issues/{id}/comments"],
  "comment.list": ["GET", "/issues/{id}/comments"],
  "ref.add": ["POST", "/issues/{id}/refs"],
  "ref.list": ["GET", "/issues/{id}/refs"],
  "ref.remove": ["DELETE", "/refs/{id}"],
  "store.export": ["POST", "/export"],
  "store.import": ["POST", "/import"],
  "conflict.list": ["GET", "/conflicts"],
  "conflict.resolve": ["POST", "/conflicts/{id}/resolve"],
  "store.doctor": ["POST", "/doctor"],
  "store.gc": ["POST", "/gc"],
  "store.space": ["GET", "/space"],
  "store.backup": ["POST", "/backup"],
  "store.backups": ["GET", "/backups"],
  "store.restore": ["POST", "/restore"],
  "store.where": ["GET", "/where"],
  "store.info": ["GET", "/daemon"],
  "batch": ["POST", "/batch"],
  "undo": ["POST", "/undo"],
  "undo.list": ["GET", "/undo"],
  "redo": ["POST", "/redo"],
  "project.create": ["POST", "/projects"],
  "project.list": ["GET", "/projects"],
  "project.archive": ["POST", "/projects/{name}/archive"],
  "token.create": ["POST", "/tokens"],
  "token.list": ["GET", "/tokens"],
  "token.revoke": ["POST", "/tokens/{id}/revoke"],
  "audit.list": ["GET", "/audit"],
  "agent.create": ["POST", "/agents"],
  "agent.list": ["GET", "/agents"],
  "agent.show": ["GET", "/agents/{id}"],
  "agent.update": ["PATCH", "/agents/{id}"],
  "agent.delete": ["DELETE", "/agents/{id}"],
  "agent.sleep": ["POST", "/agents/{id}/sleep"],
  "agent.wake": ["POST", "/agents/{id}/wake"],
  "agent.kill": ["POST", "/agents/{id}/kill"],
  "agent.import": ["POST", "/agents/import"],
  "session.list": ["GET", "/sessions"],
  "session.search": ["GET", "/sessions/search"],
  "session.show": ["GET", "/sessions/{id}"],
  "session.delete": ["DELETE", "/sessions/{id}"],
  "session.archive": ["POST", "/sessions/{id}/archive"],
  "session.prune": ["POST", "/sessions/prune"],
  "session.reset": ["POST", "/agents/{id}/reset"],
  "session.compact": ["POST", "/agents/{id}/compact"],
  "session.append": ["POST", "/agents/{id}/entries"],
  "session.history": ["GET", "/sessions/{id}/entries"],
  "session.context": ["GET", "/agents/{id}/context"],
  "repo.add": ["POST", "/repos"],
  "repo.list": ["GET", "/repos"],
  "repo.show": ["GET", "/repos/{id}"],
  "repo.remove": ["DELETE", "/repos/{id}"],
  "workspace.create": ["POST", "/workspaces"],
  "workspace.list": ["GET", "/workspaces"],
  "run.start": ["POST", "/runs"],
  "run.list": ["GET", "/runs"],
  "run.update": ["PATCH", "/runs/{id}"],
  "run.show": ["GET", "/runs/{id}"],
  "run.finish": ["POST", "/runs/{id}/finish"],
  "run.events": ["GET", "/runs/{id}/events"],
  "run.event": ["POST", "/runs/{id}/events"],
  "harness.list": ["GET", "/harnesses"],
  "harness.set": ["POST", "/harnesses"],
  "runtime.list": ["GET", "/runtimes"],
  "runtime.set": ["PATCH", "/runtimes/{id}"],
  "snapshot.create": ["POST", "/snapshots"],
  "snapshot.list": ["GET", "/snapshots"],
  "snapshot.show": ["GET", "/snapshots/{id}"],
  "snapshot.delete": ["DELETE", "/snapshots/{id}"],
  "snapshot.restore": ["POST", "/snapshots/{id}/restore"],
  "job.start": ["POST", "/jobs"],
  "job.list": ["GET", "/jobs"],
  "job.take": ["POST", "/jobs/{id}/take"],
  "job.update": ["PATCH", "/jobs/{id}"],
  "job.show": ["GET", "/jobs/{id}"],
  "job.finish": ["POST", "/jobs/{id}/finish"],
  "job.cancel": ["POST", "/jobs/{id}/cancel"],
  "job.settle": ["POST", "/jobs/settle"],
  "job.import": ["POST", "/jobs/import"],
  "job.stats": ["GET", "/jobs/stats"],
  "kv.get": ["GET", "/kv/value"],
  "kv.set": ["POST", "/kv"],
  "kv.list": ["GET", "/kv"],
  "kv.delete": ["DELETE", "/kv"],
  "record.put": ["POST", "/records/{collection}"],
  "record.query": ["GET", "/records/{collection}"],
  "record.delete": ["DELETE", "/records/{collection}"],
  "record.get": ["GET", "/records/{collection}/record"],
  "record.count": ["GET", "/records/{collection}/count"],
  "record.collections": ["GET", "/records"],
  "record.apply": ["POST", "/records"],
  "record.index": ["POST", "/records/{collection}/indexes"],
  "record.compact": ["POST", "/taskstore/compact"],
  "work.start": ["POST", "/work/start"],
  "work.current": ["GET", "/work/current"],
  "work.pause": ["POST", "/work/pause"],
  "work.resume": ["POST", "/work/resume"],
  "work.done": ["POST", "/work/done"],
  "work.step.add": ["POST", "/work/steps"],
  "work.step.list": ["GET", "/work/steps"],
  "work.step.done": ["POST", "/work/steps/done"],
  "work.list": ["GET", "/work"],
  "release.ship": ["POST", "/releases"],
  "release.list": ["GET", "/releases"],
  "release.changelog": ["GET", "/changelog"],
  "skill.set": ["POST", "/skills"],
  "skill.list": ["GET", "/skills"],
  "skill.remove": ["DELETE", "/skills"],
  "skill.import": ["POST", "/skills/import"],
  "learning.remember": ["POST", "/learnings"],
  "learning.list": ["GET", "/learnings"],
  "learning.take": ["POST", "/learnings/take"],
  "learning.recall": ["GET", "/learnings/recall"],
  "learning.show": ["GET", "/learnings/{id}"],
  "learning.forget": ["DELETE", "/learnings/{id}"],
  "learning.verify": ["POST", "/learnings/{id}/verify"],
  "learning.useful": ["POST", "/learnings/{id}/useful"],
  "learning.conflicts": ["GET", "/learnings/conflicts"],
  "learning.agree": ["POST", "/learnings/{id}/agree"],
  "learning.supersede": ["POST", "/learnings/{id}/supersede"],
  "learning.merge": ["POST", "/learnings/{id}/merge"],
  "learning.review": ["POST", "/learnings/review"],
  "learning.files": ["GET", "/learnings/files"],
  "learning.about": ["POST", "/learnings/about"],
  "learning.move_files": ["POST", "/learnings/files/move"],
  "learning.stats": ["GET", "/learnings/stats"],
  "distill.propose": ["POST", "/distill"],
  "distill.prompt": ["POST", "/distill/prompt"],
  "learning.remember_all": ["POST", "/learnings/all"],
  "loop.create": ["POST", "/loops"],
  "loop.list": ["GET", "/loops"],
  "loop.take": ["POST", "/loops/take"],
  "loop.take_files": ["POST", "/loops/files"],
  "loop.show": ["GET", "/loops/{id}"],
  "loop.tree": ["GET", "/loops/{id}/tree"],
  "loop.claim": ["POST", "/loops/claim"],
  "loop.start": ["POST", "/loops/{id}/start"],
  "loop.pause": ["POST", "/loops/{id}/pause"],
  "loop.resume": ["POST", "/loops/{id}/resume"],
  "loop.rebase": ["POST", "/loops/{id}/rebase"],
  "loop.iterate": ["POST", "/loops/{id}/iterate"],
  "loop.submit": ["POST", "/loops/{id}/submit"],
  "loop.approve": ["POST", "/loops/{id}/approve"],
  "loop.reject": ["POST", "/loops/{id}/reject"],
  "loop.complete": ["POST", "/loops/{id}/complete"],
  "loop.fail": ["POST", "/loops/{id}/fail"],
  "loop.invalidate": ["POST", "/loops/{id}/invalidate"],
  "loop.archive": ["POST", "/loops/{id}/archive"],
  "loop.recover": ["POST", "/loops/{id}/recover"],
  "signal.send": ["POST", "/signals"],
  "signal.list": ["GET", "/signals"],
  "signal.take": ["POST", "/signals/take"],
  "signal.show": ["GET", "/signals/{id}"],
  "signal.ack": ["POST", "/signals/{id}/ack"],
  "signal.prune": ["POST", "/signals/prune"],
  "lock.acquire": ["POST", "/locks"],
  "lock.list": ["GET", "/locks"],
  "lock.release": ["POST", "/locks/release"],
  "lock.status": ["GET", "/locks/status"],
  "context": ["GET", "/context"],
  "sync.changes": ["GET", "/sync/changes"],
  "sync.take": ["POST", "/sync/take"],
  "sync.pending": ["GET", "/sync/pending"],
  "sync.peers": ["GET", "/sync/peers"],
  "import.records": ["POST", "/import/records"],
  "transcript.import": ["POST", "/transcripts/import"],
  "tracker.import": ["POST", "/import/issues"],
  "tracker.export": ["GET", "/export/issues"],
} as const;

import type { CallOptions, Input, OperationName, Output } from "./types.js";

/** A method for every operation. */
export abstract class Operations {
  abstract call<Name extends OperationName>(
    name: Name,
    input: Input<Name>,
    options?: CallOptions,
  ): Promise<Output<Name>>;

  /**
   * Create an issue
   */
  issueCreate(input: Input<"issue.create">, options?: CallOptions): Promise<Output<"issue.create">> {
    return this.call("issue.create", input, options);
  }

  /**
   * List issues of every status, most urgent first
   */
  issueList(input: Input<"issue.list"> = {}, options?: CallOptions): Promise<Output<"issue.list">> {
    return this.call("issue.list", input, options);
  }

  /**
   * Change an issue, claim it or give it back
   */
  issueUpdate(input: Input<"issue.update">, options?: CallOptions): Promise<Output<"issue.update">> {
    return this.call("issue.update", input, options);
  }

  /**
   * Delete an issue with its dependencies, comments and events
   */
  issueDelete(input: Input<"issue.delete">, options?: CallOptions): Promise<Output<"issue.delete">> {
    return this.call("issue.delete", input, options);
  }

  /**
   * Show an issue with its dependencies and comments
   */
  issueShow(input: Input<"issue.show">, options?: CallOptions): Promise<Output<"issue.show">> {
    return this.call("issue.show", input, options);
  }

  /**
   * Close an issue, and the bug it fixes
   */
  issueClose(input: Input<"issue.close">, options?: CallOptions): Promise<Output<"issue.close">> {
    return this.call("issue.close", input, options);
  }

  /**
   * Note that an issue meets one of its acceptance criteria
   */
  issueAccept(input: Input<"issue.accept">, options?: CallOptions): Promise<Output<"issue.accept">> {
    return this.call("issue.accept", input, options);
  }

  /**
   * Reopen a closed issue
   */
  issueReopen(input: Input<"issue.reopen">, options?: CallOptions): Promise<Output<"issue.reopen">> {
    return this.call("issue.reopen", input, options);
  }

  /**
   * Give an issue back: open, without assignee
   */
  issueRelease(input: Input<"issue.release">, options?: CallOptions): Promise<Output<"issue.release">> {
    return this.call("issue.release", input, options);
  }

  /**
   * Renew the lease of a claim
   */
  issueHeartbeat(input: Input<"issue.heartbeat">, options?: CallOptions): Promise<Output<"issue.heartbeat">> {
    return this.call("issue.heartbeat", input, options);
  }

  /**
   * List open issues that nothing blocks, most urgent first
   *
   * Bugs are reports, not work, and are never listed.
   */
  issueReady(input: Input<"issue.ready"> = {}, options?: CallOptions): Promise<Output<"issue.ready">> {
    return this.call("issue.ready", input, options);
  }

  /**
   * List issues that wait for one that is not closed
   */
  issueBlocked(input: Input<"issue.blocked"> = {}, options?: CallOptions): Promise<Output<"issue.blocked">> {
    return this.call("issue.blocked", input, options);
  }

  /**
   * Find issues by text or query
   */
  issueSearch(input: Input<"issue.search">, options?: CallOptions): Promise<Output<"issue.search">> {
    return this.call("issue.search", input, options);
  }

  /**
   * Count issues that are not closed, or all of them by group; or those that match a query
   */
  issueCount(input: Input<"issue.count"> = {}, options?: CallOptions): Promise<Output<"issue.count">> {
    return this.call("issue.count", input, options);
  }

  /**
   * List the issues that are parts of an issue
   */
  issueChildren(input: Input<"issue.children">, options?: CallOptions): Promise<Output<"issue.children">> {
    return this.call("issue.children", input, options);
  }

  /**
   * Show what happened to an issue, newest first
   */
  issueHistory(input: Input<"issue.history">, options?: CallOptions): Promise<Output<"issue.history">> {
    return this.call("issue.history", input, options);
  }

  /**
   * Claim the first ready issue, and return what is needed to begin
   */
  issueClaimNext(input: Input<"issue.claim_next"> = {}, options?: CallOptions): Promise<Output<"issue.claim_next">> {
    return this.call("issue.claim_next", input, options);
  }

  /**
   * List the labels in use, with how many issues have each
   */
  labelList(input: Input<"label.list"> = {}, options?: CallOptions): Promise<Output<"label.list">> {
    return this.call("label.list", input, options);
  }

  /**
   * Rename a label on every issue that has it
   */
  labelRename(input: Input<"label.rename">, options?: CallOptions): Promise<Output<"label.rename">> {
    return this.call("label.rename", input, options);
  }

  /**
   * Link two issues
   */
  linkAdd(input: Input<"link.add">, options?: CallOptions): Promise<Output<"link.add">> {
    return this.call("link.add", input, options);
  }

  /**
   * List the links of an issue, in both directions
   */
  linkList(input: Input<"link.list">, options?: CallOptions): Promise<Output<"link.list">> {
    return this.call("link.list", input, options);
  }

  /**
   * Remove the links between two issues
   */
  linkRemove(input: Input<"link.remove">, options?: CallOptions): Promise<Output<"link.remove">> {
    return this.call("link.remove", input, options);
  }

  /**
   * Save a query under a name, in place of an earlier one
   */
  viewSave(input: Input<"view.save">, options?: CallOptions): Promise<Output<"view.save">> {
    return this.call("view.save", input, options);
  }

  /**
   * List the saved queries
   */
  viewList(input: Input<"view.list"> = {}, options?: CallOptions): Promise<Output<"view.list">> {
    return this.call("view.list", input, options);
  }

  /**
   * Remove a saved query
   */
  viewRemove(input: Input<"view.remove">, options?: CallOptions): Promise<Output<"view.remove">> {
    return this.call("view.remove", input, options);
  }

  /**
   * Show the whole history of an issue
   *
   * Claims, work, runs, sessions with their tokens, jobs, loops, signals, snapshots, comments, learnings and releases,
   * oldest first.
   */
  issueTrace(input: Input<"issue.trace">, options?: CallOptions): Promise<Output<"issue.trace">> {
    return this.call("issue.trace", input, options);
  }

  /**
   * Add up the tokens of all sessions, and what they cost
   *
   * Each message counts once. Prices are list prices, or those of the settings.
   */
  cost(input: Input<"cost"> = {}, options?: CallOptions): Promise<Output<"cost">> {
    return this.call("cost", input, options);
  }

  /**
   * Show which issues hold up the most, with figures
   *
   * Bottlenecks are on many of the shortest chains between others (betweenness); much depends on keystones (PageRank,
   * damping 0.85). Edges run from a waiting issue to the one it waits for; closed issues do not count.
   */
  triageInsights(input: Input<"triage.insights"> = {}, options?: CallOptions): Promise<Output<"triage.insights">> {
    return this.call("triage.insights", input, options);
  }

  /**
   * Split the issues that are not closed into tracks to work on in parallel
   *
   * Every issue is in one track. Without --agents, tracks do not wait for each other; with it, each agent has one. The
   * forecast says when all may be closed at the daily rate of the last 90 days.
   */
  triagePlan(input: Input<"triage.plan"> = {}, options?: CallOptions): Promise<Output<"triage.plan">> {
    return this.call("triage.plan", input, options);
  }

  /**
   * Explain why an issue is ready or blocked, and why it is ranked as it is
   */
  triageWhy(input: Input<"triage.why">, options?: CallOptions): Promise<Output<"triage.why">> {
    return this.call("triage.why", input, options);
  }

  /**
   * Show which issues become ready when an issue is closed, and then those after it
   */
  triageImpact(input: Input<"triage.impact">, options?: CallOptions): Promise<Output<"triage.impact">> {
    return this.call("triage.impact", input, options);
  }

  /**
   * Show which issues changed between two times, from the log
   *
   * Shows only the net difference of each issue: a change that was reverted is left out.
   */
  triageDiff(input: Input<"triage.diff">, options?: CallOptions): Promise<Output<"triage.diff">> {
    return this.call("triage.diff", input, options);
  }

  /**
   * Show the issues that are not closed, and their dependencies
   */
  triageGraph(input: Input<"triage.graph"> = {}, options?: CallOptions): Promise<Output<"triage.graph">> {
    return this.call("triage.graph", input, options);
  }

  /**
   * Count open and closed issues day by day, and how long each took
   */
  triageChart(input: Input<"triage.chart"> = {}, options?: CallOptions): Promise<Output<"triage.chart">> {
    return this.call("triage.chart", input, options);
  }

  /**
   * List the events of the store, oldest first
   */
  eventList(input: Input<"event.list"> = {}, options?: CallOptions): Promise<Output<"event.list">> {
    return this.call("event.list", input, options);
  }

  /**
   * Show how many issues are open, in progress and closed, by type
   */
  storeStatus(input: Input<"store.status"> = {}, options?: CallOptions): Promise<Output<"store.status">> {
    return this.call("store.status", input, options);
  }

  /**
   * Make an issue wait for another
   */
  depAdd(input: Input<"dep.add">, options?: CallOptions): Promise<Output<"dep.add">> {
    return this.call("dep.add", input, options);
  }

  /**
   * Stop an issue from waiting for another
   */
  depRemove(input: Input<"dep.remove">, options?: CallOptions): Promise<Output<"dep.remove">> {
    return this.call("dep.remove", input, options);
  }

  /**
   * List the issues that an issue waits for
   */
  depList(input: Input<"dep.list">, options?: CallOptions): Promise<Output<"dep.list">> {
    return this.call("dep.list", input, options);
  }

  /**
   * Show what an issue blocks, or what blocks it, as a tree
   */
  depTree(input: Input<"dep.tree">, options?: CallOptions): Promise<Output<"dep.tree">> {
    return this.call("dep.tree", input, options);
  }

  /**
   * List cycles of issues that wait for each other; a healthy store has none
   */
  depCycles(input: Input<"dep.cycles"> = {}, options?: CallOptions): Promise<Output<"dep.cycles">> {
    return this.call("dep.cycles", input, options);
  }

  /**
   * Add a comment to an issue
   */
  commentAdd(input: Input<"comment.add">, options?: CallOptions): Promise<Output<"comment.add">> {
    return this.call("comment.add", input, options);
  }

  /**
   * List the comments on an issue, oldest first
   */
  commentList(input: Input<"comment.list">, options?: CallOptions): Promise<Output<"comment.list">> {
    return this.call("comment.list", input, options);
  }

  /**
   * Note where else an issue is known
   */
  refAdd(input: Input<"ref.add">, options?: CallOptions): Promise<Output<"ref.add">> {
    return this.call("ref.add", input, options);
  }

  /**
   * List where else an issue is known
   */
  refList(input: Input<"ref.list">, options?: CallOptions): Promise<Output<"ref.list">> {
    return this.call("ref.list", input, options);
  }

  /**
   * Remove an external reference
   */
  refRemove(input: Input<"ref.remove">, options?: CallOptions): Promise<Output<"ref.remove">> {
    return this.call("ref.remove", input, options);
  }

  /**
   * Export the store to its JSONL files, and stage them in git
   */
  storeExport(input: Input<"store.export"> = {}, options?: CallOptions): Promise<Output<"store.export">> {
    return this.call("store.export", input, options);
  }

  /**
   * Merge the JSONL files into the store
   */
  storeImport(input: Input<"store.import"> = {}, options?: CallOptions): Promise<Output<"store.import">> {
    return this.call("store.import", input, options);
  }

  /**
   * List conflicts: fields that two clones changed, with the value that was not kept
   */
  conflictList(input: Input<"conflict.list"> = {}, options?: CallOptions): Promise<Output<"conflict.list">> {
    return this.call("conflict.list", input, options);
  }

  /**
   * Resolve a conflict: keep the current value, or take the other one
   */
  conflictResolve(input: Input<"conflict.resolve">, options?: CallOptions): Promise<Output<"conflict.resolve">> {
    return this.call("conflict.resolve", input, options);
  }

  /**
   * Check the store's health
   */
  storeDoctor(input: Input<"store.doctor"> = {}, options?: CallOptions): Promise<Output<"store.doctor">> {
    return this.call("store.doctor", input, options);
  }

  /**
   * Remove old data that is no longer needed
   *
   * That is: archived loops, acknowledged signals, the output of finished jobs, deleted issues and agents that undo
   * could restore, automatic snapshots, and parts of the journal that two backups contain.
   */
  storeGc(input: Input<"store.gc"> = {}, options?: CallOptions): Promise<Output<"store.gc">> {
    return this.call("store.gc", input, options);
  }

  /**
   * Show how much space the store uses, and how much is free
   */
  storeSpace(input: Input<"store.space"> = {}, options?: CallOptions): Promise<Output<"store.space">> {
    return this.call("store.space", input, options);
  }

  /**
   * Copy the store's database to a file
   *
   * Without a file, the copy goes to the store's backups, which keep the newest five.
   */
  storeBackup(input: Input<"store.backup"> = {}, options?: CallOptions): Promise<Output<"store.backup">> {
    return this.call("store.backup", input, options);
  }

  /**
   * List the backups of the store, newest first
   */
  storeBackups(input: Input<"store.backups"> = {}, options?: CallOptions): Promise<Output<"store.backups">> {
    return this.call("store.backups", input, options);
  }

  /**
   * Replace everything in the store with the contents of a backup
   *
   * The file is checked and the current contents are backed up first.
   */
  storeRestore(input: Input<"store.restore">, options?: CallOptions): Promise<Output<"store.restore">> {
    return this.call("store.restore", input, options);
  }

  /**
   * Print the directory of the store
   */
  storeWhere(input: Input<"store.where"> = {}, options?: CallOptions): Promise<Output<"store.where">> {
    return this.call("store.where", input, options);
  }

  /**
   * Show which store is served, and by which version
   */
  storeInfo(input: Input<"store.info"> = {}, options?: CallOptions): Promise<Output<"store.info">> {
    return this.call("store.info", input, options);
  }

  /**
   * Run many operations in one transaction: all of them happen, or none
   *
   * Each operation is a JSON object with `op`, the operation's name, and its fields. An operation may name what it
   * creates with `"as":"login"`; later ones refer to its id as `"@login"`. A null stands for a blank line: it does
   * nothing and has no result, but counts when an error names a line.
   */
  batch(input: Input<"batch">, options?: CallOptions): Promise<Output<"batch">> {
    return this.call("batch", input, options);
  }

  /**
   * Undo my last operation, or the selected ones
   *
   * Repeated, it undoes the operation before; pn redo reverses an undo. Operations that cannot be undone, such as a run
   * or a signal, are skipped and named. Either everything selected is undone, newest first, or nothing is: a later
   * change that depends on it is named.
   */
  undo(input: Input<"undo"> = {}, options?: CallOptions): Promise<Output<"undo">> {
    return this.call("undo", input, options);
  }

  /**
   * List operations that can be undone, newest first
   */
  undoList(input: Input<"undo.list"> = {}, options?: CallOptions): Promise<Output<"undo.list">> {
    return this.call("undo.list", input, options);
  }

  /**
   * Reverse my last undo
   *
   * Repeated, it reverses the undo before.
   */
  redo(input: Input<"redo"> = {}, options?: CallOptions): Promise<Output<"redo">> {
    return this.call("redo", input, options);
  }

  /**
   * Create a project on a server
   */
  projectCreate(input: Input<"project.create">, options?: CallOptions): Promise<Output<"project.create">> {
    return this.call("project.create", input, options);
  }

  /**
   * List the projects of a server: all as an operator, your own as an admin
   */
  projectList(input: Input<"project.list"> = {}, options?: CallOptions): Promise<Output<"project.list">> {
    return this.call("project.list", input, options);
  }

  /**
   * Stop serving a project; its data stays
   */
  projectArchive(input: Input<"project.archive">, options?: CallOptions): Promise<Output<"project.archive">> {
    return this.call("project.archive", input, options);
  }

  /**
   * Create a token for a project, or for operating the server; its secret is shown only once
   */
  tokenCreate(input: Input<"token.create"> = {}, options?: CallOptions): Promise<Output<"token.create">> {
    return this.call("token.create", input, options);
  }

  /**
   * List the tokens of your project, or of the server as an operator, without their secrets
   */
  tokenList(input: Input<"token.list"> = {}, options?: CallOptions): Promise<Output<"token.list">> {
    return this.call("token.list", input, options);
  }

  /**
   * Revoke a token; every server refuses it within seconds
   */
  tokenRevoke(input: Input<"token.revoke">, options?: CallOptions): Promise<Output<"token.revoke">> {
    return this.call("token.revoke", input, options);
  }

  /**
   * List who did what with which token in your project, or as an operator on the server, newest first
   */
  auditList(input: Input<"audit.list"> = {}, options?: CallOptions): Promise<Output<"audit.list">> {
    return this.call("audit.list", input, options);
  }

  /**
   * Create an agent and its first session
   */
  agentCreate(input: Input<"agent.create">, options?: CallOptions): Promise<Output<"agent.create">> {
    return this.call("agent.create", input, options);
  }

  /**
   * List agents, oldest first
   */
  agentList(input: Input<"agent.list"> = {}, options?: CallOptions): Promise<Output<"agent.list">> {
    return this.call("agent.list", input, options);
  }

  /**
   * Show an agent
   */
  agentShow(input: Input<"agent.show">, options?: CallOptions): Promise<Output<"agent.show">> {
    return this.call("agent.show", input, options);
  }

  /**
   * Change the name, descriptor, permissions or cost of an agent
   */
  agentUpdate(input: Input<"agent.update">, options?: CallOptions): Promise<Output<"agent.update">> {
    return this.call("agent.update", input, options);
  }

  /**
   * Delete an agent with all its sessions and their entries
   *
   * `pn undo` restores it, until `pn gc` removes it permanently.
   */
  agentDelete(input: Input<"agent.delete">, options?: CallOptions): Promise<Output<"agent.delete">> {
    return this.call("agent.delete", input, options);
  }

  /**
   * Put an agent to sleep; entries can still be appended to its session
   */
  agentSleep(input: Input<"agent.sleep">, options?: CallOptions): Promise<Output<"agent.sleep">> {
    return this.call("agent.sleep", input, options);
  }

  /**
   * Wake a sleeping agent
   */
  agentWake(input: Input<"agent.wake">, options?: CallOptions): Promise<Output<"agent.wake">> {
    return this.call("agent.wake", input, options);
  }

  /**
   * End an agent permanently; its sessions stay
   */
  agentKill(input: Input<"agent.kill">, options?: CallOptions): Promise<Output<"agent.kill">> {
    return this.call("agent.kill", input, options);
  }

  /**
   * Import an agent from another system, with all its sessions
   *
   * An existing agent stays as it is, but gets its parent if that was missing.
   */
  agentImport(input: Input<"agent.import">, options?: CallOptions): Promise<Output<"agent.import">> {
    return this.call("agent.import", input, options);
  }

  /**
   * List sessions, oldest first
   */
  sessionList(input: Input<"session.list"> = {}, options?: CallOptions): Promise<Output<"session.list">> {
    return this.call("session.list", input, options);
  }

  /**
   * Search entries for a text, ignoring case, newest first
   */
  sessionSearch(input: Input<"session.search">, options?: CallOptions): Promise<Output<"session.search">> {
    return this.call("session.search", input, options);
  }

  /**
   * Show a session
   */
  sessionShow(input: Input<"session.show">, options?: CallOptions): Promise<Output<"session.show">> {
    return this.call("session.show", input, options);
  }

  /**
   * Delete an ended session with its entries, permanently
   */
  sessionDelete(input: Input<"session.delete">, options?: CallOptions): Promise<Output<"session.delete">> {
    return this.call("session.delete", input, options);
  }

  /**
   * Archive an ended session: leave it out of listings
   */
  sessionArchive(input: Input<"session.archive">, options?: CallOptions): Promise<Output<"session.archive">> {
    return this.call("session.archive", input, options);
  }

  /**
   * Delete sessions that ended long ago with their entries, permanently; never the active one of an agent
   */
  sessionPrune(input: Input<"session.prune">, options?: CallOptions): Promise<Output<"session.prune">> {
    return this.call("session.prune", input, options);
  }

  /**
   * Reset the conversation of an agent: open its next session
   */
  sessionReset(input: Input<"session.reset">, options?: CallOptions): Promise<Output<"session.reset">> {
    return this.call("session.reset", input, options);
  }

  /**
   * Compact the conversation of an agent: open its next session with a summary
   *
   * The next session keeps the issue and run, unless others are given.
   */
  sessionCompact(input: Input<"session.compact">, options?: CallOptions): Promise<Output<"session.compact">> {
    return this.call("session.compact", input, options);
  }

  /**
   * Append entries to the active session of an agent: all of them, or none
   */
  sessionAppend(input: Input<"session.append">, options?: CallOptions): Promise<Output<"session.append">> {
    return this.call("session.append", input, options);
  }

  /**
   * List the entries of a session, or of an agent's active session, oldest first
   *
   * A long answer comes in pages: call again with --after and the number of its last entry, until there are no more.
   */
  sessionHistory(input: Input<"session.history">, options?: CallOptions): Promise<Output<"session.history">> {
    return this.call("session.history", input, options);
  }

  /**
   * Show the messages that a model would see now, from the active session of an agent
   */
  sessionContext(input: Input<"session.context">, options?: CallOptions): Promise<Output<"session.context">> {
    return this.call("session.context", input, options);
  }

  /**
   * Add a repository, or update a known one
   */
  repoAdd(input: Input<"repo.add">, options?: CallOptions): Promise<Output<"repo.add">> {
    return this.call("repo.add", input, options);
  }

  /**
   * List known repositories, oldest first
   */
  repoList(input: Input<"repo.list"> = {}, options?: CallOptions): Promise<Output<"repo.list">> {
    return this.call("repo.list", input, options);
  }

  /**
   * Show a repository
   */
  repoShow(input: Input<"repo.show">, options?: CallOptions): Promise<Output<"repo.show">> {
    return this.call("repo.show", input, options);
  }

  /**
   * Remove a repository that has neither runs nor snapshots
   */
  repoRemove(input: Input<"repo.remove">, options?: CallOptions): Promise<Output<"repo.remove">> {
    return this.call("repo.remove", input, options);
  }

  /**
   * Create a workspace on a server
   */
  workspaceCreate(input: Input<"workspace.create">, options?: CallOptions): Promise<Output<"workspace.create">> {
    return this.call("workspace.create", input, options);
  }

  /**
   * List the workspaces of a server, sorted by name
   */
  workspaceList(input: Input<"workspace.list"> = {}, options?: CallOptions): Promise<Output<"workspace.list">> {
    return this.call("workspace.list", input, options);
  }

  /**
   * Record a run that pn does not supervise
   */
  runStart(input: Input<"run.start"> = {}, options?: CallOptions): Promise<Output<"run.start">> {
    return this.call("run.start", input, options);
  }

  /**
   * List runs, newest first
   */
  runList(input: Input<"run.list"> = {}, options?: CallOptions): Promise<Output<"run.list">> {
    return this.call("run.list", input, options);
  }

  /**
   * Update an unfinished run
   */
  runUpdate(input: Input<"run.update">, options?: CallOptions): Promise<Output<"run.update">> {
    return this.call("run.update", input, options);
  }

  /**
   * Show a run
   */
  runShow(input: Input<"run.show">, options?: CallOptions): Promise<Output<"run.show">> {
    return this.call("run.show", input, options);
  }

  /**
   * Record how a run ended
   */
  runFinish(input: Input<"run.finish">, options?: CallOptions): Promise<Output<"run.finish">> {
    return this.call("run.finish", input, options);
  }

  /**
   * List the events of a run, oldest first
   */
  runEvents(input: Input<"run.events">, options?: CallOptions): Promise<Output<"run.events">> {
    return this.call("run.events", input, options);
  }

  /**
   * Add an event of your own to the log of a run
   */
  runEvent(input: Input<"run.event">, options?: CallOptions): Promise<Output<"run.event">> {
    return this.call("run.event", input, options);
  }

  /**
   * List the agent software of runs, by name and version
   */
  harnessList(input: Input<"harness.list"> = {}, options?: CallOptions): Promise<Output<"harness.list">> {
    return this.call("harness.list", input, options);
  }

  /**
   * Describe agent software, whether or not a run has used it
   */
  harnessSet(input: Input<"harness.set">, options?: CallOptions): Promise<Output<"harness.set">> {
    return this.call("harness.set", input, options);
  }

  /**
   * List the runtime environments of runs
   */
  runtimeList(input: Input<"runtime.list"> = {}, options?: CallOptions): Promise<Output<"runtime.list">> {
    return this.call("runtime.list", input, options);
  }

  /**
   * Describe a runtime environment of runs
   */
  runtimeSet(input: Input<"runtime.set">, options?: CallOptions): Promise<Output<"runtime.set">> {
    return this.call("runtime.set", input, options);
  }

  /**
   * Record a snapshot that a machine has taken
   */
  snapshotCreate(input: Input<"snapshot.create">, options?: CallOptions): Promise<Output<"snapshot.create">> {
    return this.call("snapshot.create", input, options);
  }

  /**
   * List snapshots, newest first
   */
  snapshotList(input: Input<"snapshot.list"> = {}, options?: CallOptions): Promise<Output<"snapshot.list">> {
    return this.call("snapshot.list", input, options);
  }

  /**
   * Show a snapshot
   */
  snapshotShow(input: Input<"snapshot.show">, options?: CallOptions): Promise<Output<"snapshot.show">> {
    return this.call("snapshot.show", input, options);
  }

  /**
   * Delete the record of a snapshot; its machine deletes the content
   */
  snapshotDelete(input: Input<"snapshot.delete">, options?: CallOptions): Promise<Output<"snapshot.delete">> {
    return this.call("snapshot.delete", input, options);
  }

  /**
   * Record that a machine has restored its tree to a snapshot
   */
  snapshotRestore(input: Input<"snapshot.restore">, options?: CallOptions): Promise<Output<"snapshot.restore">> {
    return this.call("snapshot.restore", input, options);
  }

  /**
   * Take a slot of a lane for a command that the caller supervises
   *
   * Without a free slot, returns `busy` and lists who holds the slots. Each machine has its own slots: jobs on other
   * machines take none of them.
   */
  jobStart(input: Input<"job.start">, options?: CallOptions): Promise<Output<"job.start">> {
    return this.call("job.start", input, options);
  }

  /**
   * List jobs, newest first
   */
  jobList(input: Input<"job.list"> = {}, options?: CallOptions): Promise<Output<"job.list">> {
    return this.call("job.list", input, options);
  }

  /**
   * Take the slot that a job waits for, if it is its turn; otherwise it keeps waiting
   */
  jobTake(input: Input<"job.take">, options?: CallOptions): Promise<Output<"job.take">> {
    return this.call("job.take", input, options);
  }

  /**
   * Record the process of an unfinished job
   */
  jobUpdate(input: Input<"job.update">, options?: CallOptions): Promise<Output<"job.update">> {
    return this.call("job.update", input, options);
  }

  /**
   * Show a job and its stored output
   */
  jobShow(input: Input<"job.show">, options?: CallOptions): Promise<Output<"job.show">> {
    return this.call("job.show", input, options);
  }

  /**
   * Record how a job ended, and free its slot
   */
  jobFinish(input: Input<"job.finish">, options?: CallOptions): Promise<Output<"job.finish">> {
    return this.call("job.finish", input, options);
  }

  /**
   * Cancel a job: a queued job ends at once, a running one when its command exits
   */
  jobCancel(input: Input<"job.cancel">, options?: CallOptions): Promise<Output<"job.cancel">> {
    return this.call("job.cancel", input, options);
  }

  /**
   * Fail jobs whose processes are gone from their machine; jobs that have ended meanwhile stay as they are
   */
  jobSettle(input: Input<"job.settle">, options?: CallOptions): Promise<Output<"job.settle">> {
    return this.call("job.settle", input, options);
  }

  /**
   * Import jobs from records of another tool; existing jobs stay as they are
   */
  jobImport(input: Input<"job.import">, options?: CallOptions): Promise<Output<"job.import">> {
    return this.call("job.import", input, options);
  }

  /**
   * Show how many jobs there were, how they ended and how long they took, by tool and lane
   */
  jobStats(input: Input<"job.stats"> = {}, options?: CallOptions): Promise<Output<"job.stats">> {
    return this.call("job.stats", input, options);
  }

  /**
   * Show a value
   */
  kvGet(input: Input<"kv.get">, options?: CallOptions): Promise<Output<"kv.get">> {
    return this.call("kv.get", input, options);
  }

  /**
   * Store a value under a name, replacing the old one
   */
  kvSet(input: Input<"kv.set">, options?: CallOptions): Promise<Output<"kv.set">> {
    return this.call("kv.set", input, options);
  }

  /**
   * List values, sorted by name
   */
  kvList(input: Input<"kv.list"> = {}, options?: CallOptions): Promise<Output<"kv.list">> {
    return this.call("kv.list", input, options);
  }

  /**
   * Delete a value
   */
  kvDelete(input: Input<"kv.delete">, options?: CallOptions): Promise<Output<"kv.delete">> {
    return this.call("kv.delete", input, options);
  }

  /**
   * Store a document in a collection, replacing the one with the same id
   */
  recordPut(input: Input<"record.put">, options?: CallOptions): Promise<Output<"record.put">> {
    return this.call("record.put", input, options);
  }

  /**
   * Find records by the values of their fields
   *
   * Tests look like status=running, n>=5, title~word, kind in ["a","b"] or 'parent is null'; a value that is not JSON is
   * a string. A test matches only values of its own type: n<5 finds numbers, not strings; a missing field is null. ~
   * finds a substring, ignoring case, or an element of a list.
   */
  recordQuery(input: Input<"record.query">, options?: CallOptions): Promise<Output<"record.query">> {
    return this.call("record.query", input, options);
  }

  /**
   * Delete a record, or all records that pass tests
   */
  recordDelete(input: Input<"record.delete">, options?: CallOptions): Promise<Output<"record.delete">> {
    return this.call("record.delete", input, options);
  }

  /**
   * Show a record
   */
  recordGet(input: Input<"record.get">, options?: CallOptions): Promise<Output<"record.get">> {
    return this.call("record.get", input, options);
  }

  /**
   * Count records
   */
  recordCount(input: Input<"record.count">, options?: CallOptions): Promise<Output<"record.count">> {
    return this.call("record.count", input, options);
  }

  /**
   * List the collections
   */
  recordCollections(input: Input<"record.collections"> = {}, options?: CallOptions): Promise<Output<"record.collections">> {
    return this.call("record.collections", input, options);
  }

  /**
   * Change many records in one transaction, across collections: all changes happen, or none
   */
  recordApply(input: Input<"record.apply">, options?: CallOptions): Promise<Output<"record.apply">> {
    return this.call("record.apply", input, options);
  }

  /**
   * Index fields of a collection, so that queries on them need not read every record
   */
  recordIndex(input: Input<"record.index">, options?: CallOptions): Promise<Output<"record.index">> {
    return this.call("record.index", input, options);
  }

  /**
   * Compact the files of records: drop replaced and deleted versions
   */
  recordCompact(input: Input<"record.compact"> = {}, options?: CallOptions): Promise<Output<"record.compact">> {
    return this.call("record.compact", input, options);
  }

  /**
   * Start work on an issue, or on a new one; your current work is paused
   */
  workStart(input: Input<"work.start">, options?: CallOptions): Promise<Output<"work.start">> {
    return this.call("work.start", input, options);
  }

  /**
   * Show the current work of an actor, or the work on an issue; null if there is none
   */
  workCurrent(input: Input<"work.current">, options?: CallOptions): Promise<Output<"work.current">> {
    return this.call("work.current", input, options);
  }

  /**
   * Pause work; the issue stays claimed
   */
  workPause(input: Input<"work.pause"> = {}, options?: CallOptions): Promise<Output<"work.pause">> {
    return this.call("work.pause", input, options);
  }

  /**
   * Resume paused work
   */
  workResume(input: Input<"work.resume"> = {}, options?: CallOptions): Promise<Output<"work.resume">> {
    return this.call("work.resume", input, options);
  }

  /**
   * Finish work and close its issue
   */
  workDone(input: Input<"work.done"> = {}, options?: CallOptions): Promise<Output<"work.done">> {
    return this.call("work.done", input, options);
  }

  /**
   * Add steps to work
   */
  workStepAdd(input: Input<"work.step.add">, options?: CallOptions): Promise<Output<"work.step.add">> {
    return this.call("work.step.add", input, options);
  }

  /**
   * List the steps of work
   */
  workStepList(input: Input<"work.step.list">, options?: CallOptions): Promise<Output<"work.step.list">> {
    return this.call("work.step.list", input, options);
  }

  /**
   * Mark a step as done
   */
  workStepDone(input: Input<"work.step.done"> = {}, options?: CallOptions): Promise<Output<"work.step.done">> {
    return this.call("work.step.done", input, options);
  }

  /**
   * List work, most recently changed first
   */
  workList(input: Input<"work.list"> = {}, options?: CallOptions): Promise<Output<"work.list">> {
    return this.call("work.list", input, options);
  }

  /**
   * Record a release
   */
  releaseShip(input: Input<"release.ship">, options?: CallOptions): Promise<Output<"release.ship">> {
    return this.call("release.ship", input, options);
  }

  /**
   * List releases, newest first
   */
  releaseList(input: Input<"release.list"> = {}, options?: CallOptions): Promise<Output<"release.list">> {
    return this.call("release.list", input, options);
  }

  /**
   * Print a changelog of releases and closed issues, as Markdown
   */
  releaseChangelog(input: Input<"release.changelog"> = {}, options?: CallOptions): Promise<Output<"release.changelog">> {
    return this.call("release.changelog", input, options);
  }

  /**
   * Set the skills that an agent file requires, replacing the old ones
   */
  skillSet(input: Input<"skill.set">, options?: CallOptions): Promise<Output<"skill.set">> {
    return this.call("skill.set", input, options);
  }

  /**
   * List the skills that agent files require
   */
  skillList(input: Input<"skill.list"> = {}, options?: CallOptions): Promise<Output<"skill.list">> {
    return this.call("skill.list", input, options);
  }

  /**
   * Remove the skills of an agent file
   */
  skillRemove(input: Input<"skill.remove">, options?: CallOptions): Promise<Output<"skill.remove">> {
    return this.call("skill.remove", input, options);
  }

  /**
   * Set the skills of many agent files; other files keep theirs
   */
  skillImport(input: Input<"skill.import">, options?: CallOptions): Promise<Output<"skill.import">> {
    return this.call("skill.import", input, options);
  }

  /**
   * Remember a finding with its source; near-duplicates are merged
   */
  learningRemember(input: Input<"learning.remember">, options?: CallOptions): Promise<Output<"learning.remember">> {
    return this.call("learning.remember", input, options);
  }

  /**
   * List valid learnings, newest first
   */
  learningList(input: Input<"learning.list"> = {}, options?: CallOptions): Promise<Output<"learning.list">> {
    return this.call("learning.list", input, options);
  }

  /**
   * Import learnings of another tool, by work: all of them, or none
   */
  learningTake(input: Input<"learning.take">, options?: CallOptions): Promise<Output<"learning.take">> {
    return this.call("learning.take", input, options);
  }

  /**
   * Search everything that was written, best match first
   */
  learningRecall(input: Input<"learning.recall"> = {}, options?: CallOptions): Promise<Output<"learning.recall">> {
    return this.call("learning.recall", input, options);
  }

  /**
   * Show a learning
   */
  learningShow(input: Input<"learning.show">, options?: CallOptions): Promise<Output<"learning.show">> {
    return this.call("learning.show", input, options);
  }

  /**
   * Delete a learning, in every clone
   */
  learningForget(input: Input<"learning.forget">, options?: CallOptions): Promise<Output<"learning.forget">> {
    return this.call("learning.forget", input, options);
  }

  /**
   * Confirm that a learning is still valid, which makes it fresh
   */
  learningVerify(input: Input<"learning.verify">, options?: CallOptions): Promise<Output<"learning.verify">> {
    return this.call("learning.verify", input, options);
  }

  /**
   * Note that a learning was of use
   *
   * It counts once a day for each actor.
   */
  learningUseful(input: Input<"learning.useful">, options?: CallOptions): Promise<Output<"learning.useful">> {
    return this.call("learning.useful", input, options);
  }

  /**
   * List learnings that contradict each other, newest first
   *
   * Two learnings about the same thing contradict each other if one negates what the other says, or if a value differs. Keep
   * the right one with pn learning supersede, or both with pn learning agree.
   */
  learningConflicts(input: Input<"learning.conflicts"> = {}, options?: CallOptions): Promise<Output<"learning.conflicts">> {
    return this.call("learning.conflicts", input, options);
  }

  /**
   * Note that two learnings do not contradict each other
   */
  learningAgree(input: Input<"learning.agree">, options?: CallOptions): Promise<Output<"learning.agree">> {
    return this.call("learning.agree", input, options);
  }

  /**
   * Replace a learning by another one, which is recalled instead
   */
  learningSupersede(input: Input<"learning.supersede">, options?: CallOptions): Promise<Output<"learning.supersede">> {
    return this.call("learning.supersede", input, options);
  }

  /**
   * Merge a learning into another one that says the same; it notes where both came from
   */
  learningMerge(input: Input<"learning.merge">, options?: CallOptions): Promise<Output<"learning.merge">> {
    return this.call("learning.merge", input, options);
  }

  /**
   * List learnings to look at again: their files are gone, others contradict them, nobody used or verified them for long
   *
   * What still holds: pn learning verify. What does not: pn learning forget.
   */
  learningReview(input: Input<"learning.review"> = {}, options?: CallOptions): Promise<Output<"learning.review">> {
    return this.call("learning.review", input, options);
  }

  /**
   * List the files that valid learnings are about
   */
  learningFiles(input: Input<"learning.files"> = {}, options?: CallOptions): Promise<Output<"learning.files">> {
    return this.call("learning.files", input, options);
  }

  /**
   * List valid learnings about files, newest first
   */
  learningAbout(input: Input<"learning.about"> = {}, options?: CallOptions): Promise<Output<"learning.about">> {
    return this.call("learning.about", input, options);
  }

  /**
   * Have learnings follow files that were renamed
   */
  learningMoveFiles(input: Input<"learning.move_files">, options?: CallOptions): Promise<Output<"learning.move_files">> {
    return this.call("learning.move_files", input, options);
  }

  /**
   * Count learnings by kind, use and state
   */
  learningStats(input: Input<"learning.stats"> = {}, options?: CallOptions): Promise<Output<"learning.stats">> {
    return this.call("learning.stats", input, options);
  }

  /**
   * Propose learnings from sessions, comments and reasons of closes; nothing is stored
   */
  distillPropose(input: Input<"distill.propose"> = {}, options?: CallOptions): Promise<Output<"distill.propose">> {
    return this.call("distill.propose", input, options);
  }

  /**
   * Write a prompt that asks a model for learnings
   */
  distillPrompt(input: Input<"distill.prompt"> = {}, options?: CallOptions): Promise<Output<"distill.prompt">> {
    return this.call("distill.prompt", input, options);
  }

  /**
   * Remember several findings: all of them, or none
   */
  learningRememberAll(input: Input<"learning.remember_all">, options?: CallOptions): Promise<Output<"learning.remember_all">> {
    return this.call("learning.remember_all", input, options);
  }

  /**
   * Create a loop; it can be claimed once its parent is complete
   */
  loopCreate(input: Input<"loop.create">, options?: CallOptions): Promise<Output<"loop.create">> {
    return this.call("loop.create", input, options);
  }

  /**
   * List loops, newest first
   */
  loopList(input: Input<"loop.list"> = {}, options?: CallOptions): Promise<Output<"loop.list">> {
    return this.call("loop.list", input, options);
  }

  /**
   * Import loops of another tool with their ids: all of them, or none; existing loops stay as they are
   */
  loopTake(input: Input<"loop.take">, options?: CallOptions): Promise<Output<"loop.take">> {
    return this.call("loop.take", input, options);
  }

  /**
   * Import files of a loop of another tool; existing files stay as they are
   *
   * A long file is sent in parts. A part that starts where the stored file ends is appended; one that differs from the
   * stored file is skipped and reported as a clash.
   */
  loopTakeFiles(input: Input<"loop.take_files">, options?: CallOptions): Promise<Output<"loop.take_files">> {
    return this.call("loop.take_files", input, options);
  }

  /**
   * Show a loop
   */
  loopShow(input: Input<"loop.show">, options?: CallOptions): Promise<Output<"loop.show">> {
    return this.call("loop.show", input, options);
  }

  /**
   * Show a loop and its descendants
   */
  loopTree(input: Input<"loop.tree">, options?: CallOptions): Promise<Output<"loop.tree">> {
    return this.call("loop.tree", input, options);
  }

  /**
   * Claim the next runnable loop and start it; null if there is none
   */
  loopClaim(input: Input<"loop.claim"> = {}, options?: CallOptions): Promise<Output<"loop.claim">> {
    return this.call("loop.claim", input, options);
  }

  /**
   * Start a pending loop whose parent is complete
   */
  loopStart(input: Input<"loop.start">, options?: CallOptions): Promise<Output<"loop.start">> {
    return this.call("loop.start", input, options);
  }

  /**
   * Pause a running loop
   */
  loopPause(input: Input<"loop.pause">, options?: CallOptions): Promise<Output<"loop.pause">> {
    return this.call("loop.pause", input, options);
  }

  /**
   * Resume a paused or rebased loop; the caller becomes its runner
   */
  loopResume(input: Input<"loop.resume">, options?: CallOptions): Promise<Output<"loop.resume">> {
    return this.call("loop.resume", input, options);
  }

  /**
   * Mark a loop as rebasing its work onto merged changes
   */
  loopRebase(input: Input<"loop.rebase">, options?: CallOptions): Promise<Output<"loop.rebase">> {
    return this.call("loop.rebase", input, options);
  }

  /**
   * Begin the next iteration of a running loop: count it, and create its directory
   *
   * Returns the directory, local/loops/ID/iterations/NNN in the store; the link `current` next to it points there. The
   * given files are stored there; others can be added later.
   */
  loopIterate(input: Input<"loop.iterate">, options?: CallOptions): Promise<Output<"loop.iterate">> {
    return this.call("loop.iterate", input, options);
  }

  /**
   * Submit the result of a loop for approval
   */
  loopSubmit(input: Input<"loop.submit">, options?: CallOptions): Promise<Output<"loop.submit">> {
    return this.call("loop.submit", input, options);
  }

  /**
   * Approve the result of a loop and create its child loops, all in one transaction
   */
  loopApprove(input: Input<"loop.approve">, options?: CallOptions): Promise<Output<"loop.approve">> {
    return this.call("loop.approve", input, options);
  }

  /**
   * Reject the result of a loop that awaits approval; it runs again
   */
  loopReject(input: Input<"loop.reject">, options?: CallOptions): Promise<Output<"loop.reject">> {
    return this.call("loop.reject", input, options);
  }

  /**
   * Complete a loop, so that its children can be claimed
   */
  loopComplete(input: Input<"loop.complete">, options?: CallOptions): Promise<Output<"loop.complete">> {
    return this.call("loop.complete", input, options);
  }

  /**
   * Mark a loop as failed
   */
  loopFail(input: Input<"loop.fail">, options?: CallOptions): Promise<Output<"loop.fail">> {
    return this.call("loop.fail", input, options);
  }

  /**
   * Invalidate a loop: stop, signal and archive it and its descendants
   */
  loopInvalidate(input: Input<"loop.invalidate">, options?: CallOptions): Promise<Output<"loop.invalidate">> {
    return this.call("loop.invalidate", input, options);
  }

  /**
   * Archive a loop that has ended; its directory moves to local/archive
   */
  loopArchive(input: Input<"loop.archive">, options?: CallOptions): Promise<Output<"loop.archive">> {
    return this.call("loop.archive", input, options);
  }

  /**
   * Release a running or rebasing loop whose runner is gone
   *
   * The loop can be claimed again, or fails if its worktree is gone too. A loop whose status has changed since is left
   * alone.
   */
  loopRecover(input: Input<"loop.recover">, options?: CallOptions): Promise<Output<"loop.recover">> {
    return this.call("loop.recover", input, options);
  }

  /**
   * Send a signal to a loop, an agent or a run, or to all loops that a selector matches now
   *
   * descendants:LOOP, children:LOOP, type:TYPE and status:STATUS are selectors. Finished or archived loops only match a
   * status that names them.
   */
  signalSend(input: Input<"signal.send">, options?: CallOptions): Promise<Output<"signal.send">> {
    return this.call("signal.send", input, options);
  }

  /**
   * List signals, newest first
   */
  signalList(input: Input<"signal.list"> = {}, options?: CallOptions): Promise<Output<"signal.list">> {
    return this.call("signal.list", input, options);
  }

  /**
   * Import signals of another tool with their ids: all of them, or none; existing signals stay as they are
   */
  signalTake(input: Input<"signal.take">, options?: CallOptions): Promise<Output<"signal.take">> {
    return this.call("signal.take", input, options);
  }

  /**
   * Show a signal, and who has not acknowledged it
   */
  signalShow(input: Input<"signal.show">, options?: CallOptions): Promise<Output<"signal.show">> {
    return this.call("signal.show", input, options);
  }

  /**
   * Acknowledge a signal as one of its recipients
   */
  signalAck(input: Input<"signal.ack">, options?: CallOptions): Promise<Output<"signal.ack">> {
    return this.call("signal.ack", input, options);
  }

  /**
   * Delete signals that all recipients acknowledged long ago, with their receipts
   */
  signalPrune(input: Input<"signal.prune"> = {}, options?: CallOptions): Promise<Output<"signal.prune">> {
    return this.call("signal.prune", input, options);
  }

  /**
   * Acquire a lock, or renew it with the token returned by acquire
   */
  lockAcquire(input: Input<"lock.acquire">, options?: CallOptions): Promise<Output<"lock.acquire">> {
    return this.call("lock.acquire", input, options);
  }

  /**
   * List the held locks, sorted by name
   */
  lockList(input: Input<"lock.list"> = {}, options?: CallOptions): Promise<Output<"lock.list">> {
    return this.call("lock.list", input, options);
  }

  /**
   * Release a lock
   */
  lockRelease(input: Input<"lock.release">, options?: CallOptions): Promise<Output<"lock.release">> {
    return this.call("lock.release", input, options);
  }

  /**
   * Show who holds a lock, and its fencing number
   */
  lockStatus(input: Input<"lock.status">, options?: CallOptions): Promise<Output<"lock.status">> {
    return this.call("lock.status", input, options);
  }

  /**
   * Show what an agent needs to continue: work, claims, the queue, learnings and releases
   */
  context(input: Input<"context"> = {}, options?: CallOptions): Promise<Output<"context">> {
    return this.call("context", input, options);
  }

  /**
   * List records that changed after a position in the store's log, in their current version
   */
  syncChanges(input: Input<"sync.changes"> = {}, options?: CallOptions): Promise<Output<"sync.changes">> {
    return this.call("sync.changes", input, options);
  }

  /**
   * Apply records of another store, merging each with the local version
   */
  syncTake(input: Input<"sync.take"> = {}, options?: CallOptions): Promise<Output<"sync.take">> {
    return this.call("sync.take", input, options);
  }

  /**
   * List records of which another store does not have the local version yet
   */
  syncPending(input: Input<"sync.pending">, options?: CallOptions): Promise<Output<"sync.pending">> {
    return this.call("sync.pending", input, options);
  }

  /**
   * Show the sync state with other stores, and what is waiting to be sent
   */
  syncPeers(input: Input<"sync.peers"> = {}, options?: CallOptions): Promise<Output<"sync.peers">> {
    return this.call("sync.peers", input, options);
  }

  /**
   * Import records of another tool; existing records stay as they are
   */
  importRecords(input: Input<"import.records">, options?: CallOptions): Promise<Output<"import.records">> {
    return this.call("import.records", input, options);
  }

  /**
   * Take in the next part of a transcript that agent software wrote
   *
   * The part is refused as a conflict unless it begins where the last one ended, so that nothing is taken twice.
   */
  transcriptImport(input: Input<"transcript.import">, options?: CallOptions): Promise<Output<"transcript.import">> {
    return this.call("transcript.import", input, options);
  }

  /**
   * Import issues of another tracker; those imported before get what has changed there since
   */
  trackerImport(input: Input<"tracker.import">, options?: CallOptions): Promise<Output<"tracker.import">> {
    return this.call("tracker.import", input, options);
  }

  /**
   * Read whole issues, in the order of their ids
   */
  trackerExport(input: Input<"tracker.export"> = {}, options?: CallOptions): Promise<Output<"tracker.export">> {
    return this.call("tracker.export", input, options);
  }
}
