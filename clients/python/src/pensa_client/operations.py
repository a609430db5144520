"""A method for every operation.

Generated from the OpenAPI document by generate.py. Do not edit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Unpack

from . import types

ROUTES = {
    "issue.create": ("POST", "/issues"),
    "issue.list": ("GET", "/issues"),
    "issue.update": ("PATCH", "/issues/{id}"),
    "issue.delete": ("DELETE", "/issues/{id}"),
    "issue.show": ("GET", "/issues/{id}"),
    "issue.close": ("POST", "/issues/{id}/close"),
    "issue.accept": ("POST", "/issues/{id}/accept"),
    "issue.reopen": ("POST", "/issues/{id}/reopen"),
    "issue.release": ("POST", "/issues/{id}/release"),
    "issue.heartbeat": ("POST", "/issues/{id}/heartbeat"),
    "issue.ready": ("GET", "/issues/ready"),
    "issue.blocked": ("GET", "/issues/blocked"),
    "issue.search": ("GET", "/issues/search"),
    "issue.count": ("GET", "/issues/count"),
    "issue.children": ("GET", "/issues/{id}/children"),
    "issue.history": ("GET", "/issues/{id}/history"),
    "issue.claim_next": ("POST", "/issues/claim_next"),
    "label.list": ("GET", "/labels"),
    "label.rename": ("POST", "/labels/rename"),
    "link.add": ("POST", "/issues/{id}/links"),
    "link.list": ("GET", "/issues/{id}/links"),
    "link.remove": ("DELETE", "/issues/{id}/links/{to}"),
    "view.save": ("POST", "/views"),
    "view.list": ("GET", "/views"),
    "view.remove": ("DELETE", "/views/{name}"),
    "issue.trace": ("GET", "/issues/{id}/trace"),
    "cost": ("GET", "/cost"),
    "triage.insights": ("GET", "/insights"),
    "triage.plan": ("GET", "/plan"),
    "triage.why": ("GET", "/issues/{id}/why"),
    "triage.impact": ("GET", "/issues/{id}/impact"),
    "triage.diff": ("GET", "/diff"),
    "triage.graph": ("GET", "/graph"),
    "triage.chart": ("GET", "/chart"),
    "event.list": ("GET", "/log"),
    "store.status": ("GET", "/status"),
    "dep.add": ("POST", "/deps"),
    "dep.remove": ("DELETE", "/deps"),
    "dep.list": ("GET", "/issues/{id}/deps"),
    "dep.tree": ("GET", "/issues/{id}/deps/tree"),
    "dep.cycles": ("GET", "/deps/cycles"),
    "comment.add": ("POST", "/issues/{id}/comments"),
    "comment.list": ("GET", "/issues/{id}/comments"),
    "ref.add": ("POST", "/issues/{id}/refs"),
    "ref.list": ("GET", "/issues/{id}/refs"),
    "ref.remove": ("DELETE", "/refs/{id}"),
    "store.export": ("POST", "/export"),
    "store.import": ("POST", "/import"),
    "conflict.list": ("GET", "/conflicts"),
    "conflict.resolve": ("POST", "/conflicts/{id}/resolve"),
    "store.doctor": ("POST", "/doctor"),
    "store.gc": ("POST", "/gc"),
    "store.space": ("GET", "/space"),
    "store.backup": ("POST", "/backup"),
    "store.backups": ("GET", "/backups"),
    "store.restore": ("POST", "/restore"),
    "store.where": ("GET", "/where"),
    "store.info": ("GET", "/daemon"),
    "batch": ("POST", "/batch"),
    "undo": ("POST", "/undo"),
    "undo.list": ("GET", "/undo"),
    "redo": ("POST", "/redo"),
    "project.create": ("POST", "/projects"),
    "project.list": ("GET", "/projects"),
    "project.archive": ("POST", "/projects/{name}/archive"),
    "token.create": ("POST", "/tokens"),
    "token.list": ("GET", "/tokens"),
    "token.revoke": ("POST", "/tokens/{id}/revoke"),
    "audit.list": ("GET", "/audit"),
    "agent.create": ("POST", "/agents"),
    "agent.list": ("GET", "/agents"),
    "agent.show": ("GET", "/agents/{id}"),
    "agent.update": ("PATCH", "/agents/{id}"),
    "agent.delete": ("DELETE", "/agents/{id}"),
    "agent.sleep": ("POST", "/agents/{id}/sleep"),
    "agent.wake": ("POST", "/agents/{id}/wake"),
    "agent.kill": ("POST", "/agents/{id}/kill"),
    "agent.import": ("POST", "/agents/import"),
    "session.list": ("GET", "/sessions"),
    "session.search": ("GET", "/sessions/search"),
    "session.show": ("GET", "/sessions/{id}"),
    "session.delete": ("DELETE", "/sessions/{id}"),
    "session.archive": ("POST", "/sessions/{id}/archive"),
    "session.prune": ("POST", "/sessions/prune"),
    "session.reset": ("POST", "/agents/{id}/reset"),
    "session.compact": ("POST", "/agents/{id}/compact"),
    "session.append": ("POST", "/agents/{id}/entries"),
    "session.history": ("GET", "/sessions/{id}/entries"),
    "session.context": ("GET", "/agents/{id}/context"),
    "repo.add": ("POST", "/repos"),
    "repo.list": ("GET", "/repos"),
    "repo.show": ("GET", "/repos/{id}"),
    "repo.remove": ("DELETE", "/repos/{id}"),
    "workspace.create": ("POST", "/workspaces"),
    "workspace.list": ("GET", "/workspaces"),
    "run.start": ("POST", "/runs"),
    "run.list": ("GET", "/runs"),
    "run.update": ("PATCH", "/runs/{id}"),
    "run.show": ("GET", "/runs/{id}"),
    "run.finish": ("POST", "/runs/{id}/finish"),
    "run.events": ("GET", "/runs/{id}/events"),
    "run.event": ("POST", "/runs/{id}/events"),
    "harness.list": ("GET", "/harnesses"),
    "harness.set": ("POST", "/harnesses"),
    "runtime.list": ("GET", "/runtimes"),
    "runtime.set": ("PATCH", "/runtimes/{id}"),
    "snapshot.create": ("POST", "/snapshots"),
    "snapshot.list": ("GET", "/snapshots"),
    "snapshot.show": ("GET", "/snapshots/{id}"),
    "snapshot.delete": ("DELETE", "/snapshots/{id}"),
    "snapshot.restore": ("POST", "/snapshots/{id}/restore"),
    "job.start": ("POST", "/jobs"),
    "job.list": ("GET", "/jobs"),
    "job.take": ("POST", "/jobs/{id}/take"),
    "job.update": ("PATCH", "/jobs/{id}"),
    "job.show": ("GET", "/jobs/{id}"),
    "job.finish": ("POST", "/jobs/{id}/finish"),
    "job.cancel": ("POST", "/jobs/{id}/cancel"),
    "job.settle": ("POST", "/jobs/settle"),
    "job.import": ("POST", "/jobs/import"),
    "job.stats": ("GET", "/jobs/stats"),
    "kv.get": ("GET", "/kv/value"),
    "kv.set": ("POST", "/kv"),
    "kv.list": ("GET", "/kv"),
    "kv.delete": ("DELETE", "/kv"),
    "record.put": ("POST", "/records/{collection}"),
    "record.query": ("GET", "/records/{collection}"),
    "record.delete": ("DELETE", "/records/{collection}"),
    "record.get": ("GET", "/records/{collection}/record"),
    "record.count": ("GET", "/records/{collection}/count"),
    "record.collections": ("GET", "/records"),
    "record.apply": ("POST", "/records"),
    "record.index": ("POST", "/records/{collection}/indexes"),
    "record.compact": ("POST", "/taskstore/compact"),
    "work.start": ("POST", "/work/start"),
    "work.current": ("GET", "/work/current"),
    "work.pause": ("POST", "/work/pause"),
    "work.resume": ("POST", "/work/resume"),
    "work.done": ("POST", "/work/done"),
    "work.step.add": ("POST", "/work/steps"),
    "work.step.list": ("GET", "/work/steps"),
    "work.step.done": ("POST", "/work/steps/done"),
    "work.list": ("GET", "/work"),
    "release.ship": ("POST", "/releases"),
    "release.list": ("GET", "/releases"),
    "release.changelog": ("GET", "/changelog"),
    "skill.set": ("POST", "/skills"),
    "skill.list": ("GET", "/skills"),
    "skill.remove": ("DELETE", "/skills"),
    "skill.import": ("POST", "/skills/import"),
    "learning.remember": ("POST", "/learnings"),
    "learning.list": ("GET", "/learnings"),
    "learning.take": ("POST", "/learnings/take"),
    "learning.recall": ("GET", "/learnings/recall"),
    "learning.show": ("GET", "/learnings/{id}"),
    "learning.forget": ("DELETE", "/learnings/{id}"),
    "learning.verify": ("POST", "/learnings/{id}/verify"),
    "learning.useful": ("POST", "/learnings/{id}/useful"),
    "learning.conflicts": ("GET", "/learnings/conflicts"),
    "learning.agree": ("POST", "/learnings/{id}/agree"),
    "learning.supersede": ("POST", "/learnings/{id}/supersede"),
    "learning.merge": ("POST", "/learnings/{id}/merge"),
    "learning.review": ("POST", "/learnings/review"),
    "learning.files": ("GET", "/learnings/files"),
    "learning.about": ("POST", "/learnings/about"),
    "learning.move_files": ("POST", "/learnings/files/move"),
    "learning.stats": ("GET", "/learnings/stats"),
    "distill.propose": ("POST", "/distill"),
    "distill.prompt": ("POST", "/distill/prompt"),
    "learning.remember_all": ("POST", "/learnings/all"),
    "loop.create": ("POST", "/loops"),
    "loop.list": ("GET", "/loops"),
    "loop.take": ("POST", "/loops/take"),
    "loop.take_files": ("POST", "/loops/files"),
    "loop.show": ("GET", "/loops/{id}"),
    "loop.tree": ("GET", "/loops/{id}/tree"),
    "loop.claim": ("POST", "/loops/claim"),
    "loop.start": ("POST", "/loops/{id}/start"),
    "loop.pause": ("POST", "/loops/{id}/pause"),
    "loop.resume": ("POST", "/loops/{id}/resume"),
    "loop.rebase": ("POST", "/loops/{id}/rebase"),
    "loop.iterate": ("POST", "/loops/{id}/iterate"),
    "loop.submit": ("POST", "/loops/{id}/submit"),
    "loop.approve": ("POST", "/loops/{id}/approve"),
    "loop.reject": ("POST", "/loops/{id}/reject"),
    "loop.complete": ("POST", "/loops/{id}/complete"),
    "loop.fail": ("POST", "/loops/{id}/fail"),
    "loop.invalidate": ("POST", "/loops/{id}/invalidate"),
    "loop.archive": ("POST", "/loops/{id}/archive"),
    "loop.recover": ("POST", "/loops/{id}/recover"),
    "signal.send": ("POST", "/signals"),
    "signal.list": ("GET", "/signals"),
    "signal.take": ("POST", "/signals/take"),
    "signal.show": ("GET", "/signals/{id}"),
    "signal.ack": ("POST", "/signals/{id}/ack"),
    "signal.prune": ("POST", "/signals/prune"),
    "lock.acquire": ("POST", "/locks"),
    "lock.list": ("GET", "/locks"),
    "lock.release": ("POST", "/locks/release"),
    "lock.status": ("GET", "/locks/status"),
    "context": ("GET", "/context"),
    "sync.changes": ("GET", "/sync/changes"),
    "sync.take": ("POST", "/sync/take"),
    "sync.pending": ("GET", "/sync/pending"),
    "sync.peers": ("GET", "/sync/peers"),
    "import.records": ("POST", "/import/records"),
    "transcript.import": ("POST", "/transcripts/import"),
    "tracker.import": ("POST", "/import/issues"),
    "tracker.export": ("GET", "/export/issues"),
}


class Operations(ABC):
    """A method for every operation."""

    @abstractmethod
    def call(self, name: str, fields: Mapping[str, object]) -> Any:
        """Runs an operation by its name."""

    def issue_create(self, **fields: Unpack[types.IssueCreateInput]) -> types.Created:
        """Create an issue"""
        return self.call("issue.create", fields)  # type: ignore[no-any-return]

    def issue_list(self, **fields: Unpack[types.IssueListInput]) -> list[types.Issue]:
        """List issues of every status, most urgent first"""
        return self.call("issue.list", fields)  # type: ignore[no-any-return]

    def issue_update(self, **fields: Unpack[types.IssueUpdateInput]) -> types.Updated:
        """Change an issue, claim it or give it back"""
        return self.call("issue.update", fields)  # type: ignore[no-any-return]

    def issue_delete(self, **fields: Unpack[types.IssueDeleteInput]) -> types.Deleted:
        """Delete an issue with its dependencies, comments and events"""
        return self.call("issue.delete", fields)  # type: ignore[no-any-return]

    def issue_show(self, **fields: Unpack[types.IssueShowInput]) -> types.IssueDetail:
        """Show an issue with its dependencies and comments"""
        return self.call("issue.show", fields)  # type: ignore[no-any-return]

    def issue_close(self, **fields: Unpack[types.IssueCloseInput]) -> types.Issue:
        """Close an issue, and the bug it fixes"""
        return self.call("issue.close", fields)  # type: ignore[no-any-return]

    def issue_accept(self, **fields: Unpack[types.IssueAcceptInput]) -> types.Issue:
        """Note that an issue meets one of its acceptance criteria"""
        return self.call("issue.accept", fields)  # type: ignore[no-any-return]

    def issue_reopen(self, **fields: Unpack[types.IssueReopenInput]) -> types.Issue:
        """Reopen a closed issue"""
        return self.call("issue.reopen", fields)  # type: ignore[no-any-return]

    def issue_release(self, **fields: Unpack[types.IssueReleaseInput]) -> types.Issue:
        """Give an issue back: open, without assignee"""
        return self.call("issue.release", fields)  # type: ignore[no-any-return]

    def issue_heartbeat(self, **fields: Unpack[types.IssueHeartbeatInput]) -> types.Issue:
        """Renew the lease of a claim"""
        return self.call("issue.heartbeat", fields)  # type: ignore[no-any-return]

    def issue_ready(self, **fields: Unpack[types.IssueReadyInput]) -> list[types.Issue]:
        """List open issues that nothing blocks, most urgent first

        Bugs are reports, not work, and are never listed.
        """
        return self.call("issue.ready", fields)  # type: ignore[no-any-return]

    def issue_blocked(self, **fields: Unpack[types.IssueBlockedInput]) -> list[types.Issue]:
        """List issues that wait for one that is not closed"""
        return self.call("issue.blocked", fields)  # type: ignore[no-any-return]

    def issue_search(self, **fields: Unpack[types.IssueSearchInput]) -> list[types.Issue]:
        """Find issues by text or query"""
        return self.call("issue.search", fields)  # type: ignore[no-any-return]

    def issue_count(self, **fields: Unpack[types.IssueCountInput]) -> types.Counted:
        """Count issues that are not closed, or all of them by group; or those that match a query"""
        return self.call("issue.count", fields)  # type: ignore[no-any-return]

    def issue_children(self, **fields: Unpack[types.IssueChildrenInput]) -> list[types.Issue]:
        """List the issues that are parts of an issue"""
        return self.call("issue.children", fields)  # type: ignore[no-any-return]

    def issue_history(self, **fields: Unpack[types.IssueHistoryInput]) -> list[types.Event]:
        """Show what happened to an issue, newest first"""
        return self.call("issue.history", fields)  # type: ignore[no-any-return]

    def issue_claim_next(self, **fields: Unpack[types.IssueClaimNextInput]) -> types.Assignment:
        """Claim the first ready issue, and return what is needed to begin"""
        return self.call("issue.claim_next", fields)  # type: ignore[no-any-return]

    def label_list(self, **fields: Unpack[types.LabelListInput]) -> list[types.LabelCount]:
        """List the labels in use, with how many issues have each"""
        return self.call("label.list", fields)  # type: ignore[no-any-return]

    def label_rename(self, **fields: Unpack[types.LabelRenameInput]) -> types.LabelRenamed:
        """Rename a label on every issue that has it"""
        return self.call("label.rename", fields)  # type: ignore[no-any-return]

    def link_add(self, **fields: Unpack[types.LinkAddInput]) -> types.LinkChange:
        """Link two issues"""
        return self.call("link.add", fields)  # type: ignore[no-any-return]

    def link_list(self, **fields: Unpack[types.LinkListInput]) -> list[types.LinkedIssue]:
        """List the links of an issue, in both directions"""
        return self.call("link.list", fields)  # type: ignore[no-any-return]

    def link_remove(self, **fields: Unpack[types.LinkRemoveInput]) -> types.LinkChange:
        """Remove the links between two issues"""
        return self.call("link.remove", fields)  # type: ignore[no-any-return]

    def view_save(self, **fields: Unpack[types.ViewSaveInput]) -> types.View:
        """Save a query under a name, in place of an earlier one"""
        return self.call("view.save", fields)  # type: ignore[no-any-return]

    def view_list(self, **fields: Unpack[types.ViewListInput]) -> list[types.View]:
        """List the saved queries"""
        return self.call("view.list", fields)  # type: ignore[no-any-return]

    def view_remove(self, **fields: Unpack[types.ViewRemoveInput]) -> types.View:
        """Remove a saved query"""
        return self.call("view.remove", fields)  # type: ignore[no-any-return]

    def issue_trace(self, **fields: Unpack[types.IssueTraceInput]) -> types.Trace:
        """Show the whole history of an issue

        Claims, work, runs, sessions with their tokens, jobs, loops, signals, snapshots, comments, learnings
        and releases,
        oldest first.
        """
        return self.call("issue.trace", fields)  # type: ignore[no-any-return]

    def cost(self, **fields: Unpack[types.CostInput]) -> types.CostReport:
        """Add up the tokens of all sessions, and what they cost

        Each message counts once. Prices are list prices, or those of the settings.
        """
        return self.call("cost", fields)  # type: ignore[no-any-return]

    def triage_insights(self, **fields: Unpack[types.TriageInsightsInput]) -> types.Insights:
        """Show which issues hold up the most, with figures

        Bottlenecks are on many of the shortest chains between others (betweenness); much depends on keystones
        (PageRank,
        damping 0.85). Edges run from a waiting issue to the one it waits for; closed issues do not count.
        """
        return self.call("triage.insights", fields)  # type: ignore[no-any-return]

    def triage_plan(self, **fields: Unpack[types.TriagePlanInput]) -> types.Plan:
        """Split the issues that are not closed into tracks to work on in parallel

        Every issue is in one track. Without --agents, tracks do not wait for each other; with it, each agent
        has one. The
        forecast says when all may be closed at the daily rate of the last 90 days.
        """
        return self.call("triage.plan", fields)  # type: ignore[no-any-return]

    def triage_why(self, **fields: Unpack[types.TriageWhyInput]) -> types.Why:
        """Explain why an issue is ready or blocked, and why it is ranked as it is"""
        return self.call("triage.why", fields)  # type: ignore[no-any-return]

    def triage_impact(self, **fields: Unpack[types.TriageImpactInput]) -> types.Impact:
        """Show which issues become ready when an issue is closed, and then those after it"""
        return self.call("triage.impact", fields)  # type: ignore[no-any-return]

    def triage_diff(self, **fields: Unpack[types.TriageDiffInput]) -> types.Diff:
        """Show which issues changed between two times, from the log

        Shows only the net difference of each issue: a change that was reverted is left out.
        """
        return self.call("triage.diff", fields)  # type: ignore[no-any-return]

    def triage_graph(self, **fields: Unpack[types.TriageGraphInput]) -> types.Network:
        """Show the issues that are not closed, and their dependencies"""
        return self.call("triage.graph", fields)  # type: ignore[no-any-return]

    def triage_chart(self, **fields: Unpack[types.TriageChartInput]) -> types.Chart:
        """Count open and closed issues day by day, and how long each took"""
        return self.call("triage.chart", fields)  # type: ignore[no-any-return]

    def event_list(self, **fields: Unpack[types.EventListInput]) -> types.Page:
        """List the events of the store, oldest first"""
        return self.call("event.list", fields)  # type: ignore[no-any-return]

    def store_status(self, **fields: Unpack[types.StoreStatusInput]) -> types.Summary:
        """Show how many issues are open, in progress and closed, by type"""
        return self.call("store.status", fields)  # type: ignore[no-any-return]

    def dep_add(self, **fields: Unpack[types.DepAddInput]) -> types.DepChange:
        """Make an issue wait for another"""
        return self.call("dep.add", fields)  # type: ignore[no-any-return]

    def dep_remove(self, **fields: Unpack[types.DepRemoveInput]) -> types.DepChange:
        """Stop an issue from waiting for another"""
        return self.call("dep.remove", fields)  # type: ignore[no-any-return]

    def dep_list(self, **fields: Unpack[types.DepListInput]) -> list[types.Issue]:
        """List the issues that an issue waits for"""
        return self.call("dep.list", fields)  # type: ignore[no-any-return]

    def dep_tree(self, **fields: Unpack[types.DepTreeInput]) -> list[types.TreeNode]:
        """Show what an issue blocks, or what blocks it, as a tree"""
        return self.call("dep.tree", fields)  # type: ignore[no-any-return]

    def dep_cycles(self, **fields: Unpack[types.DepCyclesInput]) -> list[list[str]]:
        """List cycles of issues that wait for each other; a healthy store has none"""
        return self.call("dep.cycles", fields)  # type: ignore[no-any-return]

    def comment_add(self, **fields: Unpack[types.CommentAddInput]) -> types.Comment:
        """Add a comment to an issue"""
        return self.call("comment.add", fields)  # type: ignore[no-any-return]

    def comment_list(self, **fields: Unpack[types.CommentListInput]) -> list[types.Comment]:
        """List the comments on an issue, oldest first"""
        return self.call("comment.list", fields)  # type: ignore[no-any-return]

    def ref_add(self, **fields: Unpack[types.RefAddInput]) -> types.Ref:
        """Note where else an issue is known"""
        return self.call("ref.add", fields)  # type: ignore[no-any-return]

    def ref_list(self, **fields: Unpack[types.RefListInput]) -> list[types.Ref]:
        """List where else an issue is known"""
        return self.call("ref.list", fields)  # type: ignore[no-any-return]

    def ref_remove(self, **fields: Unpack[types.RefRemoveInput]) -> types.Ref:
        """Remove an external reference"""
        return self.call("ref.remove", fields)  # type: ignore[no-any-return]

    def store_export(self, **fields: Unpack[types.StoreExportInput]) -> types.Transfer:
        """Export the store to its JSONL files, and stage them in git"""
        return self.call("store.export", fields)  # type: ignore[no-any-return]

    def store_import(self, **fields: Unpack[types.StoreImportInput]) -> types.Transfer:
        """Merge the JSONL files into the store"""
        return self.call("store.import", fields)  # type: ignore[no-any-return]

    def conflict_list(self, **fields: Unpack[types.ConflictListInput]) -> list[types.Conflict]:
        """List conflicts: fields that two clones changed, with the value that was not kept"""
        return self.call("conflict.list", fields)  # type: ignore[no-any-return]

    def conflict_resolve(self, **fields: Unpack[types.ConflictResolveInput]) -> types.Conflict:
        """Resolve a conflict: keep the current value, or take the other one"""
        return self.call("conflict.resolve", fields)  # type: ignore[no-any-return]

    def store_doctor(self, **fields: Unpack[types.StoreDoctorInput]) -> types.Report:
        """Check the store's health"""
        return self.call("store.doctor", fields)  # type: ignore[no-any-return]

    def store_gc(self, **fields: Unpack[types.StoreGcInput]) -> types.Collected:
        """Remove old data that is no longer needed

        That is: archived loops, acknowledged signals, the output of finished jobs, deleted issues and agents
        that undo
        could restore, automatic snapshots, and parts of the journal that two backups contain.
        """
        return self.call("store.gc", fields)  # type: ignore[no-any-return]

    def store_space(self, **fields: Unpack[types.StoreSpaceInput]) -> types.Taken:
        """Show how much space the store uses, and how much is free"""
        return self.call("store.space", fields)  # type: ignore[no-any-return]

    def store_backup(self, **fields: Unpack[types.StoreBackupInput]) -> types.BackedUp:
        """Copy the store's database to a file

        Without a file, the copy goes to the store's backups, which keep the newest five.
        """
        return self.call("store.backup", fields)  # type: ignore[no-any-return]

    def store_backups(self, **fields: Unpack[types.StoreBackupsInput]) -> list[types.BackedUp]:
        """List the backups of the store, newest first"""
        return self.call("store.backups", fields)  # type: ignore[no-any-return]

    def store_restore(self, **fields: Unpack[types.StoreRestoreInput]) -> types.Restored:
        """Replace everything in the store with the contents of a backup

        The file is checked and the current contents are backed up first.
        """
        return self.call("store.restore", fields)  # type: ignore[no-any-return]

    def store_where(self, **fields: Unpack[types.StoreWhereInput]) -> types.Place:
        """Print the directory of the store"""
        return self.call("store.where", fields)  # type: ignore[no-any-return]

    def store_info(self, **fields: Unpack[types.StoreInfoInput]) -> types.StoreInfo:
        """Show which store is served, and by which version"""
        return self.call("store.info", fields)  # type: ignore[no-any-return]

    def batch(self, **fields: Unpack[types.BatchInput]) -> list[Any]:
        """Run many operations in one transaction: all of them happen, or none

        Each operation is a JSON object with `op`, the operation's name, and its fields. An operation may name
        what it
        creates with `"as":"login"`; later ones refer to its id as `"@login"`. A null stands for a blank line:
        it does
        nothing and has no result, but counts when an error names a line.
        """
        return self.call("batch", fields)  # type: ignore[no-any-return]

    def undo(self, **fields: Unpack[types.UndoInput]) -> types.Undone:
        """Undo my last operation, or the selected ones

        Repeated, it undoes the operation before; pn redo reverses an undo. Operations that cannot be undone,
        such as a run
        or a signal, are skipped and named. Either everything selected is undone, newest first, or nothing is:
        a later
        change that depends on it is named.
        """
        return self.call("undo", fields)  # type: ignore[no-any-return]

    def undo_list(self, **fields: Unpack[types.UndoListInput]) -> list[types.Undoable]:
        """List operations that can be undone, newest first"""
        return self.call("undo.list", fields)  # type: ignore[no-any-return]

    def redo(self, **fields: Unpack[types.RedoInput]) -> types.Redone:
        """Reverse my last undo

        Repeated, it reverses the undo before.
        """
        return self.call("redo", fields)  # type: ignore[no-any-return]

    def project_create(self, **fields: Unpack[types.ProjectCreateInput]) -> types.Project:
        """Create a project on a server"""
        return self.call("project.create", fields)  # type: ignore[no-any-return]

    def project_list(self, **fields: Unpack[types.ProjectListInput]) -> list[types.Project]:
        """List the projects of a server: all as an operator, your own as an admin"""
        return self.call("project.list", fields)  # type: ignore[no-any-return]

    def project_archive(self, **fields: Unpack[types.ProjectArchiveInput]) -> types.Project:
        """Stop serving a project; its data stays"""
        return self.call("project.archive", fields)  # type: ignore[no-any-return]

    def token_create(self, **fields: Unpack[types.TokenCreateInput]) -> types.NewToken:
        """Create a token for a project, or for operating the server; its secret is shown only once"""
        return self.call("token.create", fields)  # type: ignore[no-any-return]

    def token_list(self, **fields: Unpack[types.TokenListInput]) -> list[types.Token]:
        """List the tokens of your project, or of the server as an operator, without their secrets"""
        return self.call("token.list", fields)  # type: ignore[no-any-return]

    def token_revoke(self, **fields: Unpack[types.TokenRevokeInput]) -> types.Token:
        """Revoke a token; every server refuses it within seconds"""
        return self.call("token.revoke", fields)  # type: ignore[no-any-return]

    def audit_list(self, **fields: Unpack[types.AuditListInput]) -> list[types.AuditLine]:
        """List who did what with which token in your project, or as an operator on the server, newest first"""
        return self.call("audit.list", fields)  # type: ignore[no-any-return]

    def agent_create(self, **fields: Unpack[types.AgentCreateInput]) -> types.Agent:
        """Create an agent and its first session"""
        return self.call("agent.create", fields)  # type: ignore[no-any-return]

    def agent_list(self, **fields: Unpack[types.AgentListInput]) -> list[types.Agent]:
        """List agents, oldest first"""
        return self.call("agent.list", fields)  # type: ignore[no-any-return]

    def agent_show(self, **fields: Unpack[types.AgentShowInput]) -> types.Agent:
        """Show an agent"""
        return self.call("agent.show", fields)  # type: ignore[no-any-return]

    def agent_update(self, **fields: Unpack[types.AgentUpdateInput]) -> types.Agent:
        """Change the name, descriptor, permissions or cost of an agent"""
        return self.call("agent.update", fields)  # type: ignore[no-any-return]

    def agent_delete(self, **fields: Unpack[types.AgentDeleteInput]) -> types.Deleted2:
        """Delete an agent with all its sessions and their entries

        `pn undo` restores it, until `pn gc` removes it permanently.
        """
        return self.call("agent.delete", fields)  # type: ignore[no-any-return]

    def agent_sleep(self, **fields: Unpack[types.AgentSleepInput]) -> types.Agent:
        """Put an agent to sleep; entries can still be appended to its session"""
        return self.call("agent.sleep", fields)  # type: ignore[no-any-return]

    def agent_wake(self, **fields: Unpack[types.AgentWakeInput]) -> types.Agent:
        """Wake a sleeping agent"""
        return self.call("agent.wake", fields)  # type: ignore[no-any-return]

    def agent_kill(self, **fields: Unpack[types.AgentKillInput]) -> types.Agent:
        """End an agent permanently; its sessions stay"""
        return self.call("agent.kill", fields)  # type: ignore[no-any-return]

    def agent_import(self, **fields: Unpack[types.AgentImportInput]) -> types.Imported:
        """Import an agent from another system, with all its sessions

        An existing agent stays as it is, but gets its parent if that was missing.
        """
        return self.call("agent.import", fields)  # type: ignore[no-any-return]

    def session_list(self, **fields: Unpack[types.SessionListInput]) -> list[types.Summary2]:
        """List sessions, oldest first"""
        return self.call("session.list", fields)  # type: ignore[no-any-return]

    def session_search(self, **fields: Unpack[types.SessionSearchInput]) -> list[types.Found]:
        """Search entries for a text, ignoring case, newest first"""
        return self.call("session.search", fields)  # type: ignore[no-any-return]

    def session_show(self, **fields: Unpack[types.SessionShowInput]) -> types.Summary2:
        """Show a session"""
        return self.call("session.show", fields)  # type: ignore[no-any-return]

    def session_delete(self, **fields: Unpack[types.SessionDeleteInput]) -> types.DeletedSessions:
        """Delete an ended session with its entries, permanently"""
        return self.call("session.delete", fields)  # type: ignore[no-any-return]

    def session_archive(self, **fields: Unpack[types.SessionArchiveInput]) -> types.Session:
        """Archive an ended session: leave it out of listings"""
        return self.call("session.archive", fields)  # type: ignore[no-any-return]

    def session_prune(self, **fields: Unpack[types.SessionPruneInput]) -> types.DeletedSessions:
        """Delete sessions that ended long ago with their entries, permanently; never the active one of an agent"""
        return self.call("session.prune", fields)  # type: ignore[no-any-return]

    def session_reset(self, **fields: Unpack[types.SessionResetInput]) -> types.Session:
        """Reset the conversation of an agent: open its next session"""
        return self.call("session.reset", fields)  # type: ignore[no-any-return]

    def session_compact(self, **fields: Unpack[types.SessionCompactInput]) -> types.Session:
        """Compact the conversation of an agent: open its next session with a summary

        The next session keeps the issue and run, unless others are given.
        """
        return self.call("session.compact", fields)  # type: ignore[no-any-return]

    def session_append(self, **fields: Unpack[types.SessionAppendInput]) -> types.Appended:
        """Append entries to the active session of an agent: all of them, or none"""
        return self.call("session.append", fields)  # type: ignore[no-any-return]

    def session_history(self, **fields: Unpack[types.SessionHistoryInput]) -> list[types.Entry]:
        """List the entries of a session, or of an agent's active session, oldest first

        A long answer comes in pages: call again with --after and the number of its last entry, until there
        are no more.
        """
        return self.call("session.history", fields)  # type: ignore[no-any-return]

    def session_context(self, **fields: Unpack[types.SessionContextInput]) -> list[types.Message]:
        """Show the messages that a model would see now, from the active session of an agent"""
        return self.call("session.context", fields)  # type: ignore[no-any-return]

    def repo_add(self, **fields: Unpack[types.RepoAddInput]) -> types.Repo:
        """Add a repository, or update a known one"""
        return self.call("repo.add", fields)  # type: ignore[no-any-return]

    def repo_list(self, **fields: Unpack[types.RepoListInput]) -> list[types.Repo]:
        """List known repositories, oldest first"""
        return self.call("repo.list", fields)  # type: ignore[no-any-return]

    def repo_show(self, **fields: Unpack[types.RepoShowInput]) -> types.Repo:
        """Show a repository"""
        return self.call("repo.show", fields)  # type: ignore[no-any-return]

    def repo_remove(self, **fields: Unpack[types.RepoRemoveInput]) -> types.Removed2:
        """Remove a repository that has neither runs nor snapshots"""
        return self.call("repo.remove", fields)  # type: ignore[no-any-return]

    def workspace_create(self, **fields: Unpack[types.WorkspaceCreateInput]) -> types.Workspace:
        """Create a workspace on a server"""
        return self.call("workspace.create", fields)  # type: ignore[no-any-return]

    def workspace_list(self, **fields: Unpack[types.WorkspaceListInput]) -> list[types.Workspace]:
        """List the workspaces of a server, sorted by name"""
        return self.call("workspace.list", fields)  # type: ignore[no-any-return]

    def run_start(self, **fields: Unpack[types.RunStartInput]) -> types.Run:
        """Record a run that pn does not supervise"""
        return self.call("run.start", fields)  # type: ignore[no-any-return]

    def run_list(self, **fields: Unpack[types.RunListInput]) -> list[types.Run]:
        """List runs, newest first"""
        return self.call("run.list", fields)  # type: ignore[no-any-return]

    def run_update(self, **fields: Unpack[types.RunUpdateInput]) -> types.Run:
        """Update an unfinished run"""
        return self.call("run.update", fields)  # type: ignore[no-any-return]

    def run_show(self, **fields: Unpack[types.RunShowInput]) -> types.Run:
        """Show a run"""
        return self.call("run.show", fields)  # type: ignore[no-any-return]

    def run_finish(self, **fields: Unpack[types.RunFinishInput]) -> types.Run:
        """Record how a run ended"""
        return self.call("run.finish", fields)  # type: ignore[no-any-return]

    def run_events(self, **fields: Unpack[types.RunEventsInput]) -> list[types.LogEntry]:
        """List the events of a run, oldest first"""
        return self.call("run.events", fields)  # type: ignore[no-any-return]

    def run_event(self, **fields: Unpack[types.RunEventInput]) -> types.LogEntry:
        """Add an event of your own to the log of a run"""
        return self.call("run.event", fields)  # type: ignore[no-any-return]

    def harness_list(self, **fields: Unpack[types.HarnessListInput]) -> list[types.Harness]:
        """List the agent software of runs, by name and version"""
        return self.call("harness.list", fields)  # type: ignore[no-any-return]

    def harness_set(self, **fields: Unpack[types.HarnessSetInput]) -> types.Harness:
        """Describe agent software, whether or not a run has used it"""
        return self.call("harness.set", fields)  # type: ignore[no-any-return]

    def runtime_list(self, **fields: Unpack[types.RuntimeListInput]) -> list[types.Runtime]:
        """List the runtime environments of runs"""
        return self.call("runtime.list", fields)  # type: ignore[no-any-return]

    def runtime_set(self, **fields: Unpack[types.RuntimeSetInput]) -> types.Runtime:
        """Describe a runtime environment of runs"""
        return self.call("runtime.set", fields)  # type: ignore[no-any-return]

    def snapshot_create(self, **fields: Unpack[types.SnapshotCreateInput]) -> types.Snapshot:
        """Record a snapshot that a machine has taken"""
        return self.call("snapshot.create", fields)  # type: ignore[no-any-return]

    def snapshot_list(self, **fields: Unpack[types.SnapshotListInput]) -> list[types.Snapshot]:
        """List snapshots, newest first"""
        return self.call("snapshot.list", fields)  # type: ignore[no-any-return]

    def snapshot_show(self, **fields: Unpack[types.SnapshotShowInput]) -> types.Snapshot:
        """Show a snapshot"""
        return self.call("snapshot.show", fields)  # type: ignore[no-any-return]

    def snapshot_delete(self, **fields: Unpack[types.SnapshotDeleteInput]) -> types.Deleted3:
        """Delete the record of a snapshot; its machine deletes the content"""
        return self.call("snapshot.delete", fields)  # type: ignore[no-any-return]

    def snapshot_restore(self, **fields: Unpack[types.SnapshotRestoreInput]) -> types.Snapshot:
        """Record that a machine has restored its tree to a snapshot"""
        return self.call("snapshot.restore", fields)  # type: ignore[no-any-return]

    def job_start(self, **fields: Unpack[types.JobStartInput]) -> types.Job:
        """Take a slot of a lane for a command that the caller supervises

        Without a free slot, returns `busy` and lists who holds the slots. Each machine has its own slots:
        jobs on other
        machines take none of them.
        """
        return self.call("job.start", fields)  # type: ignore[no-any-return]

    def job_list(self, **fields: Unpack[types.JobListInput]) -> list[types.Job]:
        """List jobs, newest first"""
        return self.call("job.list", fields)  # type: ignore[no-any-return]

    def job_take(self, **fields: Unpack[types.JobTakeInput]) -> types.Job:
        """Take the slot that a job waits for, if it is its turn; otherwise it keeps waiting"""
        return self.call("job.take", fields)  # type: ignore[no-any-return]

    def job_update(self, **fields: Unpack[types.JobUpdateInput]) -> types.Job:
        """Record the process of an unfinished job"""
        return self.call("job.update", fields)  # type: ignore[no-any-return]

    def job_show(self, **fields: Unpack[types.JobShowInput]) -> types.Job:
        """Show a job and its stored output"""
        return self.call("job.show", fields)  # type: ignore[no-any-return]

    def job_finish(self, **fields: Unpack[types.JobFinishInput]) -> types.Job:
        """Record how a job ended, and free its slot"""
        return self.call("job.finish", fields)  # type: ignore[no-any-return]

    def job_cancel(self, **fields: Unpack[types.JobCancelInput]) -> types.Job:
        """Cancel a job: a queued job ends at once, a running one when its command exits"""
        return self.call("job.cancel", fields)  # type: ignore[no-any-return]

    def job_settle(self, **fields: Unpack[types.JobSettleInput]) -> list[types.Job]:
        """Fail jobs whose processes are gone from their machine; jobs that have ended meanwhile stay as they are"""
        return self.call("job.settle", fields)  # type: ignore[no-any-return]

    def job_import(self, **fields: Unpack[types.JobImportInput]) -> list[types.Job]:
        """Import jobs from records of another tool; existing jobs stay as they are"""
        return self.call("job.import", fields)  # type: ignore[no-any-return]

    def job_stats(self, **fields: Unpack[types.JobStatsInput]) -> list[types.JobStats]:
        """Show how many jobs there were, how they ended and how long they took, by tool and lane"""
        return self.call("job.stats", fields)  # type: ignore[no-any-return]

    def kv_get(self, **fields: Unpack[types.KvGetInput]) -> types.Pair:
        """Show a value"""
        return self.call("kv.get", fields)  # type: ignore[no-any-return]

    def kv_set(self, **fields: Unpack[types.KvSetInput]) -> types.Pair:
        """Store a value under a name, replacing the old one"""
        return self.call("kv.set", fields)  # type: ignore[no-any-return]

    def kv_list(self, **fields: Unpack[types.KvListInput]) -> list[types.Pair]:
        """List values, sorted by name"""
        return self.call("kv.list", fields)  # type: ignore[no-any-return]

    def kv_delete(self, **fields: Unpack[types.KvDeleteInput]) -> types.Deleted4:
        """Delete a value"""
        return self.call("kv.delete", fields)  # type: ignore[no-any-return]

    def record_put(self, **fields: Unpack[types.RecordPutInput]) -> types.Record:
        """Store a document in a collection, replacing the one with the same id"""
        return self.call("record.put", fields)  # type: ignore[no-any-return]

    def record_query(self, **fields: Unpack[types.RecordQueryInput]) -> types.Page2:
        """Find records by the values of their fields

        Tests look like status=running, n>=5, title~word, kind in ["a","b"] or 'parent is null'; a value that
        is not JSON is
        a string. A test matches only values of its own type: n<5 finds numbers, not strings; a missing field
        is null. ~
        finds a substring, ignoring case, or an element of a list.
        """
        return self.call("record.query", fields)  # type: ignore[no-any-return]

    def record_delete(self, **fields: Unpack[types.RecordDeleteInput]) -> types.Deleted5:
        """Delete a record, or all records that pass tests"""
        return self.call("record.delete", fields)  # type: ignore[no-any-return]

    def record_get(self, **fields: Unpack[types.RecordGetInput]) -> types.Record:
        """Show a record"""
        return self.call("record.get", fields)  # type: ignore[no-any-return]

    def record_count(self, **fields: Unpack[types.RecordCountInput]) -> types.Counted2:
        """Count records"""
        return self.call("record.count", fields)  # type: ignore[no-any-return]

    def record_collections(self, **fields: Unpack[types.RecordCollectionsInput]) -> list[types.Collection]:
        """List the collections"""
        return self.call("record.collections", fields)  # type: ignore[no-any-return]

    def record_apply(self, **fields: Unpack[types.RecordApplyInput]) -> list[types.Applied]:
        """Change many records in one transaction, across collections: all changes happen, or none"""
        return self.call("record.apply", fields)  # type: ignore[no-any-return]

    def record_index(self, **fields: Unpack[types.RecordIndexInput]) -> types.Indexed:
        """Index fields of a collection, so that queries on them need not read every record"""
        return self.call("record.index", fields)  # type: ignore[no-any-return]

    def record_compact(self, **fields: Unpack[types.RecordCompactInput]) -> types.Compacted:
        """Compact the files of records: drop replaced and deleted versions"""
        return self.call("record.compact", fields)  # type: ignore[no-any-return]

    def work_start(self, **fields: Unpack[types.WorkStartInput]) -> types.Work:
        """Start work on an issue, or on a new one; your current work is paused"""
        return self.call("work.start", fields)  # type: ignore[no-any-return]

    def work_current(self, **fields: Unpack[types.WorkCurrentInput]) -> types.Work | None:
        """Show the current work of an actor, or the work on an issue; null if there is none"""
        return self.call("work.current", fields)  # type: ignore[no-any-return]

    def work_pause(self, **fields: Unpack[types.WorkPauseInput]) -> types.Work:
        """Pause work; the issue stays claimed"""
        return self.call("work.pause", fields)  # type: ignore[no-any-return]

    def work_resume(self, **fields: Unpack[types.WorkResumeInput]) -> types.Work:
        """Resume paused work"""
        return self.call("work.resume", fields)  # type: ignore[no-any-return]

    def work_done(self, **fields: Unpack[types.WorkDoneInput]) -> types.Work:
        """Finish work and close its issue"""
        return self.call("work.done", fields)  # type: ignore[no-any-return]

    def work_step_add(self, **fields: Unpack[types.WorkStepAddInput]) -> types.Work:
        """Add steps to work"""
        return self.call("work.step.add", fields)  # type: ignore[no-any-return]

    def work_step_list(self, **fields: Unpack[types.WorkStepListInput]) -> list[types.Step]:
        """List the steps of work"""
        return self.call("work.step.list", fields)  # type: ignore[no-any-return]

    def work_step_done(self, **fields: Unpack[types.WorkStepDoneInput]) -> types.Work:
        """Mark a step as done"""
        return self.call("work.step.done", fields)  # type: ignore[no-any-return]

    def work_list(self, **fields: Unpack[types.WorkListInput]) -> list[types.Work]:
        """List work, most recently changed first"""
        return self.call("work.list", fields)  # type: ignore[no-any-return]

    def release_ship(self, **fields: Unpack[types.ReleaseShipInput]) -> types.Shipped:
        """Record a release"""
        return self.call("release.ship", fields)  # type: ignore[no-any-return]

    def release_list(self, **fields: Unpack[types.ReleaseListInput]) -> list[types.Release]:
        """List releases, newest first"""
        return self.call("release.list", fields)  # type: ignore[no-any-return]

    def release_changelog(self, **fields: Unpack[types.ReleaseChangelogInput]) -> types.ChangelogText:
        """Print a changelog of releases and closed issues, as Markdown"""
        return self.call("release.changelog", fields)  # type: ignore[no-any-return]

    def skill_set(self, **fields: Unpack[types.SkillSetInput]) -> types.Skills:
        """Set the skills that an agent file requires, replacing the old ones"""
        return self.call("skill.set", fields)  # type: ignore[no-any-return]

    def skill_list(self, **fields: Unpack[types.SkillListInput]) -> types.Skills:
        """List the skills that agent files require"""
        return self.call("skill.list", fields)  # type: ignore[no-any-return]

    def skill_remove(self, **fields: Unpack[types.SkillRemoveInput]) -> types.Skills:
        """Remove the skills of an agent file"""
        return self.call("skill.remove", fields)  # type: ignore[no-any-return]

    def skill_import(self, **fields: Unpack[types.SkillImportInput]) -> types.Skills:
        """Set the skills of many agent files; other files keep theirs"""
        return self.call("skill.import", fields)  # type: ignore[no-any-return]

    def learning_remember(self, **fields: Unpack[types.LearningRememberInput]) -> types.Remembered:
        """Remember a finding with its source; near-duplicates are merged"""
        return self.call("learning.remember", fields)  # type: ignore[no-any-return]

    def learning_list(self, **fields: Unpack[types.LearningListInput]) -> list[types.Shown]:
        """List valid learnings, newest first"""
        return self.call("learning.list", fields)  # type: ignore[no-any-return]

    def learning_take(self, **fields: Unpack[types.LearningTakeInput]) -> list[types.Remembered]:
        """Import learnings of another tool, by work: all of them, or none"""
        return self.call("learning.take", fields)  # type: ignore[no-any-return]

    def learning_recall(self, **fields: Unpack[types.LearningRecallInput]) -> list[types.Recalled]:
        """Search everything that was written, best match first"""
        return self.call("learning.recall", fields)  # type: ignore[no-any-return]

    def learning_show(self, **fields: Unpack[types.LearningShowInput]) -> types.Shown:
        """Show a learning"""
        return self.call("learning.show", fields)  # type: ignore[no-any-return]

    def learning_forget(self, **fields: Unpack[types.LearningForgetInput]) -> types.Forgotten:
        """Delete a learning, in every clone"""
        return self.call("learning.forget", fields)  # type: ignore[no-any-return]

    def learning_verify(self, **fields: Unpack[types.LearningVerifyInput]) -> types.Learning:
        """Confirm that a learning is still valid, which makes it fresh"""
        return self.call("learning.verify", fields)  # type: ignore[no-any-return]

    def learning_useful(self, **fields: Unpack[types.LearningUsefulInput]) -> types.Learning:
        """Note that a learning was of use

        It counts once a day for each actor.
        """
        return self.call("learning.useful", fields)  # type: ignore[no-any-return]

    def learning_conflicts(self, **fields: Unpack[types.LearningConflictsInput]) -> list[types.Contradiction]:
        """List learnings that contradict each other, newest first

        Two learnings about the same thing contradict each other if one negates what the other says, or if a
        value differs. Keep
        the right one with pn learning supersede, or both with pn learning agree.
        """
        return self.call("learning.conflicts", fields)  # type: ignore[no-any-return]

    def learning_agree(self, **fields: Unpack[types.LearningAgreeInput]) -> types.Learning:
        """Note that two learnings do not contradict each other"""
        return self.call("learning.agree", fields)  # type: ignore[no-any-return]

    def learning_supersede(self, **fields: Unpack[types.LearningSupersedeInput]) -> types.Learning:
        """Replace a learning by another one, which is recalled instead"""
        return self.call("learning.supersede", fields)  # type: ignore[no-any-return]

    def learning_merge(self, **fields: Unpack[types.LearningMergeInput]) -> types.Learning:
        """Merge a learning into another one that says the same; it notes where both came from"""
        return self.call("learning.merge", fields)  # type: ignore[no-any-return]

    def learning_review(self, **fields: Unpack[types.LearningReviewInput]) -> list[types.ReviewItem]:
        """List learnings to look at again: their files are gone, others contradict them, nobody used or verified
        them for long

        What still holds: pn learning verify. What does not: pn learning forget.
        """
        return self.call("learning.review", fields)  # type: ignore[no-any-return]

    def learning_files(self, **fields: Unpack[types.LearningFilesInput]) -> list[str]:
        """List the files that valid learnings are about"""
        return self.call("learning.files", fields)  # type: ignore[no-any-return]

    def learning_about(self, **fields: Unpack[types.LearningAboutInput]) -> list[types.Learning]:
        """List valid learnings about files, newest first"""
        return self.call("learning.about", fields)  # type: ignore[no-any-return]

    def learning_move_files(self, **fields: Unpack[types.LearningMoveFilesInput]) -> list[types.Learning]:
        """Have learnings follow files that were renamed"""
        return self.call("learning.move_files", fields)  # type: ignore[no-any-return]

    def learning_stats(self, **fields: Unpack[types.LearningStatsInput]) -> types.LearningStats:
        """Count learnings by kind, use and state"""
        return self.call("learning.stats", fields)  # type: ignore[no-any-return]

    def distill_propose(self, **fields: Unpack[types.DistillProposeInput]) -> list[types.Proposal]:
        """Propose learnings from sessions, comments and reasons of closes; nothing is stored"""
        return self.call("distill.propose", fields)  # type: ignore[no-any-return]

    def distill_prompt(self, **fields: Unpack[types.DistillPromptInput]) -> types.DistillPrompt:
        """Write a prompt that asks a model for learnings"""
        return self.call("distill.prompt", fields)  # type: ignore[no-any-return]

    def learning_remember_all(self, **fields: Unpack[types.LearningRememberAllInput]) -> list[types.Remembered]:
        """Remember several findings: all of them, or none"""
        return self.call("learning.remember_all", fields)  # type: ignore[no-any-return]

    def loop_create(self, **fields: Unpack[types.LoopCreateInput]) -> types.Loop:
        """Create a loop; it can be claimed once its parent is complete"""
        return self.call("loop.create", fields)  # type: ignore[no-any-return]

    def loop_list(self, **fields: Unpack[types.LoopListInput]) -> list[types.Loop]:
        """List loops, newest first"""
        return self.call("loop.list", fields)  # type: ignore[no-any-return]

    def loop_take(self, **fields: Unpack[types.LoopTakeInput]) -> list[types.Loop]:
        """Import loops of another tool with their ids: all of them, or none; existing loops stay as they are"""
        return self.call("loop.take", fields)  # type: ignore[no-any-return]

    def loop_take_files(self, **fields: Unpack[types.LoopTakeFilesInput]) -> types.TakenFiles:
        """Import files of a loop of another tool; existing files stay as they are

        A long file is sent in parts. A part that starts where the stored file ends is appended; one that
        differs from the
        stored file is skipped and reported as a clash.
        """
        return self.call("loop.take_files", fields)  # type: ignore[no-any-return]

    def loop_show(self, **fields: Unpack[types.LoopShowInput]) -> types.Loop:
        """Show a loop"""
        return self.call("loop.show", fields)  # type: ignore[no-any-return]

    def loop_tree(self, **fields: Unpack[types.LoopTreeInput]) -> list[types.Branch]:
        """Show a loop and its descendants"""
        return self.call("loop.tree", fields)  # type: ignore[no-any-return]

    def loop_claim(self, **fields: Unpack[types.LoopClaimInput]) -> types.Loop | None:
        """Claim the next runnable loop and start it; null if there is none"""
        return self.call("loop.claim", fields)  # type: ignore[no-any-return]

    def loop_start(self, **fields: Unpack[types.LoopStartInput]) -> types.Loop:
        """Start a pending loop whose parent is complete"""
        return self.call("loop.start", fields)  # type: ignore[no-any-return]

    def loop_pause(self, **fields: Unpack[types.LoopPauseInput]) -> types.Loop:
        """Pause a running loop"""
        return self.call("loop.pause", fields)  # type: ignore[no-any-return]

    def loop_resume(self, **fields: Unpack[types.LoopResumeInput]) -> types.Loop:
        """Resume a paused or rebased loop; the caller becomes its runner"""
        return self.call("loop.resume", fields)  # type: ignore[no-any-return]

    def loop_rebase(self, **fields: Unpack[types.LoopRebaseInput]) -> types.Loop:
        """Mark a loop as rebasing its work onto merged changes"""
        return self.call("loop.rebase", fields)  # type: ignore[no-any-return]

    def loop_iterate(self, **fields: Unpack[types.LoopIterateInput]) -> types.Iterated:
        """Begin the next iteration of a running loop: count it, and create its directory

        Returns the directory, local/loops/ID/iterations/NNN in the store; the link `current` next to it
        points there. The
        given files are stored there; others can be added later.
        """
        return self.call("loop.iterate", fields)  # type: ignore[no-any-return]

    def loop_submit(self, **fields: Unpack[types.LoopSubmitInput]) -> types.Loop:
        """Submit the result of a loop for approval"""
        return self.call("loop.submit", fields)  # type: ignore[no-any-return]

    def loop_approve(self, **fields: Unpack[types.LoopApproveInput]) -> types.Approved:
        """Approve the result of a loop and create its child loops, all in one transaction"""
        return self.call("loop.approve", fields)  # type: ignore[no-any-return]

    def loop_reject(self, **fields: Unpack[types.LoopRejectInput]) -> types.Loop:
        """Reject the result of a loop that awaits approval; it runs again"""
        return self.call("loop.reject", fields)  # type: ignore[no-any-return]

    def loop_complete(self, **fields: Unpack[types.LoopCompleteInput]) -> types.Loop:
        """Complete a loop, so that its children can be claimed"""
        return self.call("loop.complete", fields)  # type: ignore[no-any-return]

    def loop_fail(self, **fields: Unpack[types.LoopFailInput]) -> types.Loop:
        """Mark a loop as failed"""
        return self.call("loop.fail", fields)  # type: ignore[no-any-return]

    def loop_invalidate(self, **fields: Unpack[types.LoopInvalidateInput]) -> types.Invalidated:
        """Invalidate a loop: stop, signal and archive it and its descendants"""
        return self.call("loop.invalidate", fields)  # type: ignore[no-any-return]

    def loop_archive(self, **fields: Unpack[types.LoopArchiveInput]) -> types.Loop:
        """Archive a loop that has ended; its directory moves to local/archive"""
        return self.call("loop.archive", fields)  # type: ignore[no-any-return]

    def loop_recover(self, **fields: Unpack[types.LoopRecoverInput]) -> types.Loop:
        """Release a running or rebasing loop whose runner is gone

        The loop can be claimed again, or fails if its worktree is gone too. A loop whose status has changed
        since is left
        alone.
        """
        return self.call("loop.recover", fields)  # type: ignore[no-any-return]

    def signal_send(self, **fields: Unpack[types.SignalSendInput]) -> types.Sent:
        """Send a signal to a loop, an agent or a run, or to all loops that a selector matches now

        descendants:LOOP, children:LOOP, type:TYPE and status:STATUS are selectors. Finished or archived loops
        only match a
        status that names them.
        """
        return self.call("signal.send", fields)  # type: ignore[no-any-return]

    def signal_list(self, **fields: Unpack[types.SignalListInput]) -> list[types.Signal]:
        """List signals, newest first"""
        return self.call("signal.list", fields)  # type: ignore[no-any-return]

    def signal_take(self, **fields: Unpack[types.SignalTakeInput]) -> list[types.Signal]:
        """Import signals of another tool with their ids: all of them, or none; existing signals stay as they are"""
        return self.call("signal.take", fields)  # type: ignore[no-any-return]

    def signal_show(self, **fields: Unpack[types.SignalShowInput]) -> types.Shown2:
        """Show a signal, and who has not acknowledged it"""
        return self.call("signal.show", fields)  # type: ignore[no-any-return]

    def signal_ack(self, **fields: Unpack[types.SignalAckInput]) -> types.Acked:
        """Acknowledge a signal as one of its recipients"""
        return self.call("signal.ack", fields)  # type: ignore[no-any-return]

    def signal_prune(self, **fields: Unpack[types.SignalPruneInput]) -> types.Pruned:
        """Delete signals that all recipients acknowledged long ago, with their receipts"""
        return self.call("signal.prune", fields)  # type: ignore[no-any-return]

    def lock_acquire(self, **fields: Unpack[types.LockAcquireInput]) -> types.Lock:
        """Acquire a lock, or renew it with the token returned by acquire"""
        return self.call("lock.acquire", fields)  # type: ignore[no-any-return]

    def lock_list(self, **fields: Unpack[types.LockListInput]) -> list[types.Lock]:
        """List the held locks, sorted by name"""
        return self.call("lock.list", fields)  # type: ignore[no-any-return]

    def lock_release(self, **fields: Unpack[types.LockReleaseInput]) -> types.Lock:
        """Release a lock"""
        return self.call("lock.release", fields)  # type: ignore[no-any-return]

    def lock_status(self, **fields: Unpack[types.LockStatusInput]) -> types.Lock:
        """Show who holds a lock, and its fencing number"""
        return self.call("lock.status", fields)  # type: ignore[no-any-return]

    def context(self, **fields: Unpack[types.ContextInput]) -> types.Briefing:
        """Show what an agent needs to continue: work, claims, the queue, learnings and releases"""
        return self.call("context", fields)  # type: ignore[no-any-return]

    def sync_changes(self, **fields: Unpack[types.SyncChangesInput]) -> types.Changed:
        """List records that changed after a position in the store's log, in their current version"""
        return self.call("sync.changes", fields)  # type: ignore[no-any-return]

    def sync_take(self, **fields: Unpack[types.SyncTakeInput]) -> types.Taken2:
        """Apply records of another store, merging each with the local version"""
        return self.call("sync.take", fields)  # type: ignore[no-any-return]

    def sync_pending(self, **fields: Unpack[types.SyncPendingInput]) -> types.Queue:
        """List records of which another store does not have the local version yet"""
        return self.call("sync.pending", fields)  # type: ignore[no-any-return]

    def sync_peers(self, **fields: Unpack[types.SyncPeersInput]) -> list[types.Peer]:
        """Show the sync state with other stores, and what is waiting to be sent"""
        return self.call("sync.peers", fields)  # type: ignore[no-any-return]

    def import_records(self, **fields: Unpack[types.ImportRecordsInput]) -> list[types.Told]:
        """Import records of another tool; existing records stay as they are"""
        return self.call("import.records", fields)  # type: ignore[no-any-return]

    def transcript_import(self, **fields: Unpack[types.TranscriptImportInput]) -> types.TranscriptImport:
        """Take in the next part of a transcript that agent software wrote

        The part is refused as a conflict unless it begins where the last one ended, so that nothing is taken
        twice.
        """
        return self.call("transcript.import", fields)  # type: ignore[no-any-return]

    def tracker_import(self, **fields: Unpack[types.TrackerImportInput]) -> list[types.ImportedItem]:
        """Import issues of another tracker; those imported before get what has changed there since"""
        return self.call("tracker.import", fields)  # type: ignore[no-any-return]

    def tracker_export(self, **fields: Unpack[types.TrackerExportInput]) -> list[types.WholeIssue]:
        """Read whole issues, in the order of their ids"""
        return self.call("tracker.export", fields)  # type: ignore[no-any-return]
