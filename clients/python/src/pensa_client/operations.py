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
    "issue.trace": ("GET", "/issues/{id}/trace"),
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
        """List issues whose title or description contains a text, whatever its case"""
        return self.call("issue.search", fields)  # type: ignore[no-any-return]

    def issue_count(self, **fields: Unpack[types.IssueCountInput]) -> types.Counted:
        """Count issues that are not closed, or all of them by group"""
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

    def issue_trace(self, **fields: Unpack[types.IssueTraceInput]) -> types.Trace:
        """Tell the whole life of an issue: claims, work, runs, sessions, jobs, loops, comments and all else,
        oldest first
        """
        return self.call("issue.trace", fields)  # type: ignore[no-any-return]

    def triage_insights(self, **fields: Unpack[types.TriageInsightsInput]) -> types.Insights:
        """Show what holds up the most, with the numbers that say so

        Bottlenecks are on most of the shortest chains between others (betweenness), and most rests on
        keystones (PageRank,
        damping 0.85). Edges run from an issue that waits to what it waits for; closed issues do not count.
        """
        return self.call("triage.insights", fields)  # type: ignore[no-any-return]

    def triage_plan(self, **fields: Unpack[types.TriagePlanInput]) -> types.Plan:
        """Split what is not closed into tracks to work on in parallel

        Every issue is in one track. Without --agents, tracks do not wait for each other; with it, each agent
        has one. The
        forecast says when all may be closed if as much is closed each day as in the last 90 days.
        """
        return self.call("triage.plan", fields)  # type: ignore[no-any-return]

    def triage_why(self, **fields: Unpack[types.TriageWhyInput]) -> types.Why:
        """Explain why an issue is ready or blocked, and why it is ranked as it is"""
        return self.call("triage.why", fields)  # type: ignore[no-any-return]

    def triage_impact(self, **fields: Unpack[types.TriageImpactInput]) -> types.Impact:
        """Show what becomes ready if an issue, and then what that frees, is closed"""
        return self.call("triage.impact", fields)  # type: ignore[no-any-return]

    def triage_diff(self, **fields: Unpack[types.TriageDiffInput]) -> types.Diff:
        """Show which issues changed between two times, from the log

        Of each issue only what is different in the end: what was changed and changed back is left out.
        """
        return self.call("triage.diff", fields)  # type: ignore[no-any-return]

    def triage_graph(self, **fields: Unpack[types.TriageGraphInput]) -> types.Network:
        """Show open issues and what waits for what"""
        return self.call("triage.graph", fields)  # type: ignore[no-any-return]

    def triage_chart(self, **fields: Unpack[types.TriageChartInput]) -> types.Chart:
        """Count open and closed issues day by day, and how long each took"""
        return self.call("triage.chart", fields)  # type: ignore[no-any-return]

    def event_list(self, **fields: Unpack[types.EventListInput]) -> types.Page:
        """Read the log: what happened to what, and who did it, oldest first"""
        return self.call("event.list", fields)  # type: ignore[no-any-return]

    def store_status(self, **fields: Unpack[types.StoreStatusInput]) -> types.Summary:
        """Show how many issues are open, in progress and closed, by type"""
        return self.call("store.status", fields)  # type: ignore[no-any-return]

    def dep_add(self, **fields: Unpack[types.DepAddInput]) -> types.DepChange:
        """Make one issue wait for another"""
        return self.call("dep.add", fields)  # type: ignore[no-any-return]

    def dep_remove(self, **fields: Unpack[types.DepRemoveInput]) -> types.DepChange:
        """Make one issue no longer wait for another"""
        return self.call("dep.remove", fields)  # type: ignore[no-any-return]

    def dep_list(self, **fields: Unpack[types.DepListInput]) -> list[types.Issue]:
        """List what an issue waits for"""
        return self.call("dep.list", fields)  # type: ignore[no-any-return]

    def dep_tree(self, **fields: Unpack[types.DepTreeInput]) -> list[types.TreeNode]:
        """Draw what an issue blocks, or what blocks it"""
        return self.call("dep.tree", fields)  # type: ignore[no-any-return]

    def dep_cycles(self, **fields: Unpack[types.DepCyclesInput]) -> list[list[str]]:
        """Find issues that wait for each other; a healthy store has none"""
        return self.call("dep.cycles", fields)  # type: ignore[no-any-return]

    def comment_add(self, **fields: Unpack[types.CommentAddInput]) -> types.Comment:
        """Record an observation about an issue"""
        return self.call("comment.add", fields)  # type: ignore[no-any-return]

    def comment_list(self, **fields: Unpack[types.CommentListInput]) -> list[types.Comment]:
        """List what was said about an issue, oldest first"""
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
        """Write the store to JSONL files beside it and stage them in git"""
        return self.call("store.export", fields)  # type: ignore[no-any-return]

    def store_import(self, **fields: Unpack[types.StoreImportInput]) -> types.Transfer:
        """Take what is new in the JSONL files beside the store into it; nothing that the store has is lost"""
        return self.call("store.import", fields)  # type: ignore[no-any-return]

    def conflict_list(self, **fields: Unpack[types.ConflictListInput]) -> list[types.Conflict]:
        """List values that lost against others when two clones changed the same thing"""
        return self.call("conflict.list", fields)  # type: ignore[no-any-return]

    def conflict_resolve(self, **fields: Unpack[types.ConflictResolveInput]) -> types.Conflict:
        """Settle a conflict: the value that was kept stays, or the other one is taken"""
        return self.call("conflict.resolve", fields)  # type: ignore[no-any-return]

    def store_doctor(self, **fields: Unpack[types.StoreDoctorInput]) -> types.Report:
        """Check the store's health"""
        return self.call("store.doctor", fields)  # type: ignore[no-any-return]

    def store_gc(self, **fields: Unpack[types.StoreGcInput]) -> types.Collected:
        """Remove what is old and no longer needed: archived loops, acknowledged signals, the output of finished
        jobs, what undo
        keeps of deleted issues and agents, snapshots that were taken automatically, and parts of the journal
        that two backups have
        """
        return self.call("store.gc", fields)  # type: ignore[no-any-return]

    def store_space(self, **fields: Unpack[types.StoreSpaceInput]) -> types.Taken:
        """Tell how much space a store takes up, and how much is left"""
        return self.call("store.space", fields)  # type: ignore[no-any-return]

    def store_backup(self, **fields: Unpack[types.StoreBackupInput]) -> types.BackedUp:
        """Copy the store's database to a file

        Without a file the copy goes to the store's backups, where the newest five are kept.
        """
        return self.call("store.backup", fields)  # type: ignore[no-any-return]

    def store_backups(self, **fields: Unpack[types.StoreBackupsInput]) -> list[types.BackedUp]:
        """List the backups of the store, newest first"""
        return self.call("store.backups", fields)  # type: ignore[no-any-return]

    def store_restore(self, **fields: Unpack[types.StoreRestoreInput]) -> types.Restored:
        """Put the contents of a backup in place of everything in the store

        The file is checked first, and what the store holds now is backed up.
        """
        return self.call("store.restore", fields)  # type: ignore[no-any-return]

    def store_where(self, **fields: Unpack[types.StoreWhereInput]) -> types.Place:
        """Print the directory of the store"""
        return self.call("store.where", fields)  # type: ignore[no-any-return]

    def store_info(self, **fields: Unpack[types.StoreInfoInput]) -> types.StoreInfo:
        """Tell which store is served, and by which version"""
        return self.call("store.info", fields)  # type: ignore[no-any-return]

    def batch(self, **fields: Unpack[types.BatchInput]) -> list[Any]:
        """Run many operations in one transaction: all of them happen, or none

        Each operation is a JSON object with `op`, the operation's name, and its fields. A line may name what
        it makes
        with `"as":"login"`; a later line refers to its id by `"@login"`. A null stands for a blank line: it
        does
        nothing and has no result, but counts when an error names a line.
        """
        return self.call("batch", fields)  # type: ignore[no-any-return]

    def undo(self, **fields: Unpack[types.UndoInput]) -> types.Undone:
        """Take back my last operation, or those selected

        Called again, it takes back the one before; pn redo brings back. What cannot be undone, such as a run
        or a signal, is
        passed over and named. Everything selected is taken back, newest first, or nothing is: a later change
        that stands on
        it is named.
        """
        return self.call("undo", fields)  # type: ignore[no-any-return]

    def undo_list(self, **fields: Unpack[types.UndoListInput]) -> list[types.Undoable]:
        """Show what can be taken back, newest first"""
        return self.call("undo.list", fields)  # type: ignore[no-any-return]

    def redo(self, **fields: Unpack[types.RedoInput]) -> types.Redone:
        """Bring back what my last undo took

        Called again, it brings back what the undo before took.
        """
        return self.call("redo", fields)  # type: ignore[no-any-return]

    def project_create(self, **fields: Unpack[types.ProjectCreateInput]) -> types.Project:
        """Make a project on a server"""
        return self.call("project.create", fields)  # type: ignore[no-any-return]

    def project_list(self, **fields: Unpack[types.ProjectListInput]) -> list[types.Project]:
        """List the projects of a server: as an operator all of them, as an admin your own"""
        return self.call("project.list", fields)  # type: ignore[no-any-return]

    def project_archive(self, **fields: Unpack[types.ProjectArchiveInput]) -> types.Project:
        """Stop serving a project; what it holds is kept"""
        return self.call("project.archive", fields)  # type: ignore[no-any-return]

    def token_create(self, **fields: Unpack[types.TokenCreateInput]) -> types.NewToken:
        """Make a token for a project, or for operating the server; its secret is shown this once"""
        return self.call("token.create", fields)  # type: ignore[no-any-return]

    def token_list(self, **fields: Unpack[types.TokenListInput]) -> list[types.Token]:
        """List the tokens of your project, or as an operator those of the server, without their secrets"""
        return self.call("token.list", fields)  # type: ignore[no-any-return]

    def token_revoke(self, **fields: Unpack[types.TokenRevokeInput]) -> types.Token:
        """Make a token good for nothing, on every server within seconds"""
        return self.call("token.revoke", fields)  # type: ignore[no-any-return]

    def audit_list(self, **fields: Unpack[types.AuditListInput]) -> list[types.AuditLine]:
        """Tell who did what with which token in your project, or as an operator on the server, newest first"""
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
        """Change what an agent is called, what it is, what it may do, or what it has cost"""
        return self.call("agent.update", fields)  # type: ignore[no-any-return]

    def agent_delete(self, **fields: Unpack[types.AgentDeleteInput]) -> types.Deleted2:
        """Delete an agent with all its sessions and their entries

        `pn undo` brings it back, until `pn gc` removes what was deleted long ago.
        """
        return self.call("agent.delete", fields)  # type: ignore[no-any-return]

    def agent_sleep(self, **fields: Unpack[types.AgentSleepInput]) -> types.Agent:
        """Put an agent to sleep; its session can still get entries"""
        return self.call("agent.sleep", fields)  # type: ignore[no-any-return]

    def agent_wake(self, **fields: Unpack[types.AgentWakeInput]) -> types.Agent:
        """Wake an agent that sleeps"""
        return self.call("agent.wake", fields)  # type: ignore[no-any-return]

    def agent_kill(self, **fields: Unpack[types.AgentKillInput]) -> types.Agent:
        """End an agent for good; what it has said stays"""
        return self.call("agent.kill", fields)  # type: ignore[no-any-return]

    def agent_import(self, **fields: Unpack[types.AgentImportInput]) -> types.Imported:
        """Take in an agent that lived elsewhere, with all its sessions

        One that is here already is left as it is, except that it gets its parent if that was not here before.
        """
        return self.call("agent.import", fields)  # type: ignore[no-any-return]

    def session_list(self, **fields: Unpack[types.SessionListInput]) -> list[types.Summary2]:
        """List sessions, oldest first"""
        return self.call("session.list", fields)  # type: ignore[no-any-return]

    def session_search(self, **fields: Unpack[types.SessionSearchInput]) -> list[types.Found]:
        """List entries in whose texts a text stands, whatever its case, newest first"""
        return self.call("session.search", fields)  # type: ignore[no-any-return]

    def session_show(self, **fields: Unpack[types.SessionShowInput]) -> types.Summary2:
        """Show a session"""
        return self.call("session.show", fields)  # type: ignore[no-any-return]

    def session_delete(self, **fields: Unpack[types.SessionDeleteInput]) -> types.DeletedSessions:
        """Delete a session that has ended, with its entries, for good"""
        return self.call("session.delete", fields)  # type: ignore[no-any-return]

    def session_archive(self, **fields: Unpack[types.SessionArchiveInput]) -> types.Session:
        """Leave a session that has ended out of listings"""
        return self.call("session.archive", fields)  # type: ignore[no-any-return]

    def session_prune(self, **fields: Unpack[types.SessionPruneInput]) -> types.DeletedSessions:
        """Delete sessions that ended long ago, with their entries, for good; never the active one of an agent"""
        return self.call("session.prune", fields)  # type: ignore[no-any-return]

    def session_reset(self, **fields: Unpack[types.SessionResetInput]) -> types.Session:
        """Begin the conversation of an agent anew, in its next session"""
        return self.call("session.reset", fields)  # type: ignore[no-any-return]

    def session_compact(self, **fields: Unpack[types.SessionCompactInput]) -> types.Session:
        """Go on in the next session of an agent with a summary of the conversation so far

        The next session is about the same issue and run, unless others are given.
        """
        return self.call("session.compact", fields)  # type: ignore[no-any-return]

    def session_append(self, **fields: Unpack[types.SessionAppendInput]) -> types.Appended:
        """Append entries to the active session of an agent: all of them, or none"""
        return self.call("session.append", fields)  # type: ignore[no-any-return]

    def session_history(self, **fields: Unpack[types.SessionHistoryInput]) -> list[types.Entry]:
        """List the entries of a session, or of an agent's active session, oldest first

        A long answer comes in parts: ask again after the number of its last entry, until there are none.
        """
        return self.call("session.history", fields)  # type: ignore[no-any-return]

    def session_context(self, **fields: Unpack[types.SessionContextInput]) -> list[types.Message]:
        """Show the messages that a model would see now, rebuilt from the active session of an agent"""
        return self.call("session.context", fields)  # type: ignore[no-any-return]

    def repo_add(self, **fields: Unpack[types.RepoAddInput]) -> types.Repo:
        """Remember a repository, or what has changed about one that is known"""
        return self.call("repo.add", fields)  # type: ignore[no-any-return]

    def repo_list(self, **fields: Unpack[types.RepoListInput]) -> list[types.Repo]:
        """List the repositories that are known, oldest first"""
        return self.call("repo.list", fields)  # type: ignore[no-any-return]

    def repo_show(self, **fields: Unpack[types.RepoShowInput]) -> types.Repo:
        """Show a repository"""
        return self.call("repo.show", fields)  # type: ignore[no-any-return]

    def repo_remove(self, **fields: Unpack[types.RepoRemoveInput]) -> types.Removed2:
        """Forget a repository that has neither runs nor snapshots"""
        return self.call("repo.remove", fields)  # type: ignore[no-any-return]

    def workspace_create(self, **fields: Unpack[types.WorkspaceCreateInput]) -> types.Workspace:
        """Make a workspace on a server"""
        return self.call("workspace.create", fields)  # type: ignore[no-any-return]

    def workspace_list(self, **fields: Unpack[types.WorkspaceListInput]) -> list[types.Workspace]:
        """List the workspaces of a server by their names"""
        return self.call("workspace.list", fields)  # type: ignore[no-any-return]

    def run_start(self, **fields: Unpack[types.RunStartInput]) -> types.Run:
        """Record a run that somebody else looks after"""
        return self.call("run.start", fields)  # type: ignore[no-any-return]

    def run_list(self, **fields: Unpack[types.RunListInput]) -> list[types.Run]:
        """List runs, newest first"""
        return self.call("run.list", fields)  # type: ignore[no-any-return]

    def run_update(self, **fields: Unpack[types.RunUpdateInput]) -> types.Run:
        """Change what is known about a run that is not over"""
        return self.call("run.update", fields)  # type: ignore[no-any-return]

    def run_show(self, **fields: Unpack[types.RunShowInput]) -> types.Run:
        """Show a run"""
        return self.call("run.show", fields)  # type: ignore[no-any-return]

    def run_finish(self, **fields: Unpack[types.RunFinishInput]) -> types.Run:
        """Record how a run ended"""
        return self.call("run.finish", fields)  # type: ignore[no-any-return]

    def run_events(self, **fields: Unpack[types.RunEventsInput]) -> list[types.LogEntry]:
        """Show what happened to a run, oldest first"""
        return self.call("run.events", fields)  # type: ignore[no-any-return]

    def run_event(self, **fields: Unpack[types.RunEventInput]) -> types.LogEntry:
        """Add an event of your own to the log of a run"""
        return self.call("run.event", fields)  # type: ignore[no-any-return]

    def harness_list(self, **fields: Unpack[types.HarnessListInput]) -> list[types.Harness]:
        """List the agent software that runs had, by name and version"""
        return self.call("harness.list", fields)  # type: ignore[no-any-return]

    def harness_set(self, **fields: Unpack[types.HarnessSetInput]) -> types.Harness:
        """Say what an agent software can do, whether a run has had it yet or not"""
        return self.call("harness.set", fields)  # type: ignore[no-any-return]

    def runtime_list(self, **fields: Unpack[types.RuntimeListInput]) -> list[types.Runtime]:
        """List the surroundings that runs took place in"""
        return self.call("runtime.list", fields)  # type: ignore[no-any-return]

    def runtime_set(self, **fields: Unpack[types.RuntimeSetInput]) -> types.Runtime:
        """Describe surroundings that runs took place in"""
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
        """Forget a snapshot, whose content the machine that has it is going to delete"""
        return self.call("snapshot.delete", fields)  # type: ignore[no-any-return]

    def snapshot_restore(self, **fields: Unpack[types.SnapshotRestoreInput]) -> types.Snapshot:
        """Record that a machine has made its tree equal to a snapshot"""
        return self.call("snapshot.restore", fields)  # type: ignore[no-any-return]

    def job_start(self, **fields: Unpack[types.JobStartInput]) -> types.Job:
        """Take a slot of a lane for a command that somebody else looks after

        Without a free slot the answer is busy, and tells who has them. Slots are those of a machine: jobs on
        other machines
        take none of them.
        """
        return self.call("job.start", fields)  # type: ignore[no-any-return]

    def job_list(self, **fields: Unpack[types.JobListInput]) -> list[types.Job]:
        """List jobs, newest first"""
        return self.call("job.list", fields)  # type: ignore[no-any-return]

    def job_take(self, **fields: Unpack[types.JobTakeInput]) -> types.Job:
        """Take the slot that a job waits for, if it is its turn; else it goes on waiting"""
        return self.call("job.take", fields)  # type: ignore[no-any-return]

    def job_update(self, **fields: Unpack[types.JobUpdateInput]) -> types.Job:
        """Tell the process of a job that is not over"""
        return self.call("job.update", fields)  # type: ignore[no-any-return]

    def job_show(self, **fields: Unpack[types.JobShowInput]) -> types.Job:
        """Show a job and what was kept of its output"""
        return self.call("job.show", fields)  # type: ignore[no-any-return]

    def job_finish(self, **fields: Unpack[types.JobFinishInput]) -> types.Job:
        """Record how a job ended, and give back its slot"""
        return self.call("job.finish", fields)  # type: ignore[no-any-return]

    def job_cancel(self, **fields: Unpack[types.JobCancelInput]) -> types.Job:
        """Ask for the end of a job: one that waits ends at once, one that runs when its command is gone"""
        return self.call("job.cancel", fields)  # type: ignore[no-any-return]

    def job_settle(self, **fields: Unpack[types.JobSettleInput]) -> list[types.Job]:
        """Give up jobs whose processes are gone from their machine; those that are over by now stay as they are"""
        return self.call("job.settle", fields)  # type: ignore[no-any-return]

    def job_import(self, **fields: Unpack[types.JobImportInput]) -> list[types.Job]:
        """Take in jobs that another tool kept as records; those that are here already stay as they are"""
        return self.call("job.import", fields)  # type: ignore[no-any-return]

    def job_stats(self, **fields: Unpack[types.JobStatsInput]) -> list[types.JobStats]:
        """Tell how many jobs there were, how they ended and how long they took, by tool and lane"""
        return self.call("job.stats", fields)  # type: ignore[no-any-return]

    def kv_get(self, **fields: Unpack[types.KvGetInput]) -> types.Pair:
        """Show a value"""
        return self.call("kv.get", fields)  # type: ignore[no-any-return]

    def kv_set(self, **fields: Unpack[types.KvSetInput]) -> types.Pair:
        """Keep a value under a name, in place of the one before"""
        return self.call("kv.set", fields)  # type: ignore[no-any-return]

    def kv_list(self, **fields: Unpack[types.KvListInput]) -> list[types.Pair]:
        """List values by their names"""
        return self.call("kv.list", fields)  # type: ignore[no-any-return]

    def kv_delete(self, **fields: Unpack[types.KvDeleteInput]) -> types.Deleted4:
        """Forget a value"""
        return self.call("kv.delete", fields)  # type: ignore[no-any-return]

    def record_put(self, **fields: Unpack[types.RecordPutInput]) -> types.Record:
        """Keep a document in a collection, in place of the one with the same id"""
        return self.call("record.put", fields)  # type: ignore[no-any-return]

    def record_query(self, **fields: Unpack[types.RecordQueryInput]) -> types.Page2:
        """Find records by what their fields are

        Tests look like status=running, n>=5, title~word, kind in ["a","b"] or 'parent is null'; a value that
        is no JSON is a
        text. A test looks at values of its own kind only, so n<5 finds numbers and no texts; what is missing
        is null. ~ finds
        a text in a text, whatever the case of its letters, and a value in a list.
        """
        return self.call("record.query", fields)  # type: ignore[no-any-return]

    def record_delete(self, **fields: Unpack[types.RecordDeleteInput]) -> types.Deleted5:
        """Delete a record, or all that pass tests"""
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
        """Make many changes of records in one transaction, across collections: all of them happen, or none"""
        return self.call("record.apply", fields)  # type: ignore[no-any-return]

    def record_index(self, **fields: Unpack[types.RecordIndexInput]) -> types.Indexed:
        """Have fields of a collection indexed, so that questions about them need not look at every record"""
        return self.call("record.index", fields)  # type: ignore[no-any-return]

    def record_compact(self, **fields: Unpack[types.RecordCompactInput]) -> types.Compacted:
        """Write the files of records anew, without what was replaced or deleted"""
        return self.call("record.compact", fields)  # type: ignore[no-any-return]

    def work_start(self, **fields: Unpack[types.WorkStartInput]) -> types.Work:
        """Begin to work on an issue, or on something new; what you did before is paused"""
        return self.call("work.start", fields)  # type: ignore[no-any-return]

    def work_current(self, **fields: Unpack[types.WorkCurrentInput]) -> types.Work | None:
        """Show what somebody is doing, or the work on an issue, whoever does it; null if there is none"""
        return self.call("work.current", fields)  # type: ignore[no-any-return]

    def work_pause(self, **fields: Unpack[types.WorkPauseInput]) -> types.Work:
        """Pause work; the issue stays claimed"""
        return self.call("work.pause", fields)  # type: ignore[no-any-return]

    def work_resume(self, **fields: Unpack[types.WorkResumeInput]) -> types.Work:
        """Go on with work that was paused"""
        return self.call("work.resume", fields)  # type: ignore[no-any-return]

    def work_done(self, **fields: Unpack[types.WorkDoneInput]) -> types.Work:
        """Finish work and close its issue"""
        return self.call("work.done", fields)  # type: ignore[no-any-return]

    def work_step_add(self, **fields: Unpack[types.WorkStepAddInput]) -> types.Work:
        """Add steps"""
        return self.call("work.step.add", fields)  # type: ignore[no-any-return]

    def work_step_list(self, **fields: Unpack[types.WorkStepListInput]) -> list[types.Step]:
        """List the steps of work"""
        return self.call("work.step.list", fields)  # type: ignore[no-any-return]

    def work_step_done(self, **fields: Unpack[types.WorkStepDoneInput]) -> types.Work:
        """Tick a step"""
        return self.call("work.step.done", fields)  # type: ignore[no-any-return]

    def work_list(self, **fields: Unpack[types.WorkListInput]) -> list[types.Work]:
        """List work, what was touched last first"""
        return self.call("work.list", fields)  # type: ignore[no-any-return]

    def release_ship(self, **fields: Unpack[types.ReleaseShipInput]) -> types.Shipped:
        """Record that something was shipped"""
        return self.call("release.ship", fields)  # type: ignore[no-any-return]

    def release_list(self, **fields: Unpack[types.ReleaseListInput]) -> list[types.Release]:
        """List what was shipped, newest first"""
        return self.call("release.list", fields)  # type: ignore[no-any-return]

    def release_changelog(self, **fields: Unpack[types.ReleaseChangelogInput]) -> types.ChangelogText:
        """Print what was shipped and closed, as markdown"""
        return self.call("release.changelog", fields)  # type: ignore[no-any-return]

    def skill_set(self, **fields: Unpack[types.SkillSetInput]) -> types.Skills:
        """Say which skills an agent's file calls for, in place of those before"""
        return self.call("skill.set", fields)  # type: ignore[no-any-return]

    def skill_list(self, **fields: Unpack[types.SkillListInput]) -> types.Skills:
        """List the skills that agents' files call for"""
        return self.call("skill.list", fields)  # type: ignore[no-any-return]

    def skill_remove(self, **fields: Unpack[types.SkillRemoveInput]) -> types.Skills:
        """Take out the skills of an agent's file"""
        return self.call("skill.remove", fields)  # type: ignore[no-any-return]

    def skill_import(self, **fields: Unpack[types.SkillImportInput]) -> types.Skills:
        """Take in many at once; names that are not among them stay as they are"""
        return self.call("skill.import", fields)  # type: ignore[no-any-return]

    def learning_remember(self, **fields: Unpack[types.LearningRememberInput]) -> types.Remembered:
        """Remember a finding with its source; near-duplicates are merged"""
        return self.call("learning.remember", fields)  # type: ignore[no-any-return]

    def learning_list(self, **fields: Unpack[types.LearningListInput]) -> list[types.Shown]:
        """List learnings that hold, newest first"""
        return self.call("learning.list", fields)  # type: ignore[no-any-return]

    def learning_take(self, **fields: Unpack[types.LearningTakeInput]) -> list[types.Remembered]:
        """Keep learnings that another tool wrote down, by piece of work: all of them, or none"""
        return self.call("learning.take", fields)  # type: ignore[no-any-return]

    def learning_recall(self, **fields: Unpack[types.LearningRecallInput]) -> list[types.Hit]:
        """Find what was found out, best first: by words, tags and files, and by how fresh and weighty it is"""
        return self.call("learning.recall", fields)  # type: ignore[no-any-return]

    def learning_show(self, **fields: Unpack[types.LearningShowInput]) -> types.Shown:
        """Show a learning"""
        return self.call("learning.show", fields)  # type: ignore[no-any-return]

    def learning_forget(self, **fields: Unpack[types.LearningForgetInput]) -> types.Forgotten:
        """Delete a learning, in every clone"""
        return self.call("learning.forget", fields)  # type: ignore[no-any-return]

    def learning_verify(self, **fields: Unpack[types.LearningVerifyInput]) -> types.Learning:
        """Say that a learning still holds, which makes it fresh"""
        return self.call("learning.verify", fields)  # type: ignore[no-any-return]

    def loop_create(self, **fields: Unpack[types.LoopCreateInput]) -> types.Loop:
        """Create a loop; it can be claimed once its parent is complete"""
        return self.call("loop.create", fields)  # type: ignore[no-any-return]

    def loop_list(self, **fields: Unpack[types.LoopListInput]) -> list[types.Loop]:
        """List loops, newest first"""
        return self.call("loop.list", fields)  # type: ignore[no-any-return]

    def loop_take(self, **fields: Unpack[types.LoopTakeInput]) -> list[types.Loop]:
        """Keep loops that another tool wrote down, with their ids: all of them, or none; those that are here
        stay as they are
        """
        return self.call("loop.take", fields)  # type: ignore[no-any-return]

    def loop_take_files(self, **fields: Unpack[types.LoopTakeFilesInput]) -> types.TakenFiles:
        """Keep files of a loop that another tool has; what is here already stays as it is

        A long file comes in parts. A part that begins where the file here ends is added to it; one that says
        something else
        than the file here is left out and reported as a clash.
        """
        return self.call("loop.take_files", fields)  # type: ignore[no-any-return]

    def loop_show(self, **fields: Unpack[types.LoopShowInput]) -> types.Loop:
        """Show a loop"""
        return self.call("loop.show", fields)  # type: ignore[no-any-return]

    def loop_tree(self, **fields: Unpack[types.LoopTreeInput]) -> list[types.Branch]:
        """Show a loop and all that are below it"""
        return self.call("loop.tree", fields)  # type: ignore[no-any-return]

    def loop_claim(self, **fields: Unpack[types.LoopClaimInput]) -> types.Loop | None:
        """Take the next loop that can be run, and run it; null if there is none"""
        return self.call("loop.claim", fields)  # type: ignore[no-any-return]

    def loop_start(self, **fields: Unpack[types.LoopStartInput]) -> types.Loop:
        """Run a loop that is pending and whose parent is complete"""
        return self.call("loop.start", fields)  # type: ignore[no-any-return]

    def loop_pause(self, **fields: Unpack[types.LoopPauseInput]) -> types.Loop:
        """Pause a loop that runs"""
        return self.call("loop.pause", fields)  # type: ignore[no-any-return]

    def loop_resume(self, **fields: Unpack[types.LoopResumeInput]) -> types.Loop:
        """Go on with a loop that is paused or was rebased; whoever does so runs it"""
        return self.call("loop.resume", fields)  # type: ignore[no-any-return]

    def loop_rebase(self, **fields: Unpack[types.LoopRebaseInput]) -> types.Loop:
        """Mark a loop as rebasing its work onto merged changes"""
        return self.call("loop.rebase", fields)  # type: ignore[no-any-return]

    def loop_iterate(self, **fields: Unpack[types.LoopIterateInput]) -> types.Iterated:
        """Begin the next iteration of a loop that runs: count it, and make its directory

        The answer tells the directory, local/loops/ID/iterations/NNN of the store, which `current` beside it
        points to. Files
        that are given are put there; others can be written there later.
        """
        return self.call("loop.iterate", fields)  # type: ignore[no-any-return]

    def loop_submit(self, **fields: Unpack[types.LoopSubmitInput]) -> types.Loop:
        """Ask for approval of what a loop has made"""
        return self.call("loop.submit", fields)  # type: ignore[no-any-return]

    def loop_approve(self, **fields: Unpack[types.LoopApproveInput]) -> types.Approved:
        """Approve what a loop has made, and create the loops that follow from it: all of that, or nothing"""
        return self.call("loop.approve", fields)  # type: ignore[no-any-return]

    def loop_reject(self, **fields: Unpack[types.LoopRejectInput]) -> types.Loop:
        """Send a loop back to work that awaits approval"""
        return self.call("loop.reject", fields)  # type: ignore[no-any-return]

    def loop_complete(self, **fields: Unpack[types.LoopCompleteInput]) -> types.Loop:
        """Complete a loop, so that its children can be claimed"""
        return self.call("loop.complete", fields)  # type: ignore[no-any-return]

    def loop_fail(self, **fields: Unpack[types.LoopFailInput]) -> types.Loop:
        """Give a loop up"""
        return self.call("loop.fail", fields)  # type: ignore[no-any-return]

    def loop_invalidate(self, **fields: Unpack[types.LoopInvalidateInput]) -> types.Invalidated:
        """Invalidate a loop: stop, signal and archive it and its descendants"""
        return self.call("loop.invalidate", fields)  # type: ignore[no-any-return]

    def loop_archive(self, **fields: Unpack[types.LoopArchiveInput]) -> types.Loop:
        """Archive a loop that has ended; its directory moves to local/archive"""
        return self.call("loop.archive", fields)  # type: ignore[no-any-return]

    def loop_recover(self, **fields: Unpack[types.LoopRecoverInput]) -> types.Loop:
        """Give back a loop that runs or is rebased and whose runner is gone: it can be claimed again, or has
        failed if its work is
        gone too. One that stands elsewhere by now stays as it is
        """
        return self.call("loop.recover", fields)  # type: ignore[no-any-return]

    def signal_send(self, **fields: Unpack[types.SignalSendInput]) -> types.Sent:
        """Send a signal to a loop, an agent or a run, or to all loops that a selector means just now

        descendants:LOOP, children:LOOP, type:TYPE and status:STATUS are selectors. Loops that are over or
        archived are only
        meant by a status that names them.
        """
        return self.call("signal.send", fields)  # type: ignore[no-any-return]

    def signal_list(self, **fields: Unpack[types.SignalListInput]) -> list[types.Signal]:
        """List signals, newest first"""
        return self.call("signal.list", fields)  # type: ignore[no-any-return]

    def signal_take(self, **fields: Unpack[types.SignalTakeInput]) -> list[types.Signal]:
        """Keep signals that another tool wrote down, with their ids: all of them, or none; those that are here
        stay as they are
        """
        return self.call("signal.take", fields)  # type: ignore[no-any-return]

    def signal_show(self, **fields: Unpack[types.SignalShowInput]) -> types.Shown2:
        """Show a signal, and who has not acknowledged it"""
        return self.call("signal.show", fields)  # type: ignore[no-any-return]

    def signal_ack(self, **fields: Unpack[types.SignalAckInput]) -> types.Acked:
        """Acknowledge a signal as one of its recipients"""
        return self.call("signal.ack", fields)  # type: ignore[no-any-return]

    def signal_prune(self, **fields: Unpack[types.SignalPruneInput]) -> types.Pruned:
        """Delete signals that all have acknowledged long ago, with their receipts"""
        return self.call("signal.prune", fields)  # type: ignore[no-any-return]

    def lock_acquire(self, **fields: Unpack[types.LockAcquireInput]) -> types.Lock:
        """Acquire a lock, or renew it with the token returned by acquire"""
        return self.call("lock.acquire", fields)  # type: ignore[no-any-return]

    def lock_list(self, **fields: Unpack[types.LockListInput]) -> list[types.Lock]:
        """List the locks that somebody holds, by name"""
        return self.call("lock.list", fields)  # type: ignore[no-any-return]

    def lock_release(self, **fields: Unpack[types.LockReleaseInput]) -> types.Lock:
        """Give a lock back"""
        return self.call("lock.release", fields)  # type: ignore[no-any-return]

    def lock_status(self, **fields: Unpack[types.LockStatusInput]) -> types.Lock:
        """Show who holds a lock, and its number"""
        return self.call("lock.status", fields)  # type: ignore[no-any-return]

    def context(self, **fields: Unpack[types.ContextInput]) -> types.Briefing:
        """Tell where things stand within a budget: what I am doing, what is next, and what is known about it"""
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
        """Take in records that another tool kept; what is here already stays as it is"""
        return self.call("import.records", fields)  # type: ignore[no-any-return]
