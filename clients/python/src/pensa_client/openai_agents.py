"""Keeps conversations of the OpenAI Agents SDK in Pensa, as an agent's session."""

from __future__ import annotations

import asyncio
import re
import uuid
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from .client import Pensa
from .errors import PensaError
from .types import Entry, NewEntry

if TYPE_CHECKING:
    from agents import TResponseInputItem
    from agents.memory import SessionSettings

POPPED = "item_popped"
"""The type of the entry that takes an earlier one back; history itself is never rewritten."""
ENTRY_TYPES = {"user": "user_message", "assistant": "assistant_message"}
"""Types of entries for items with a role that Pensa knows."""


class PensaSession:
    """A conversation, for `Runner.run(agent, input, session=PensaSession("chat-17"))`.

    Its id is the name of an agent, which is made with the first item; `pn session history NAME` shows it. Clearing it
    opens the agent's next session and keeps the history of the last. Secrets in items are replaced before they are
    stored, unless `redact` is false.
    """

    def __init__(
        self,
        session_id: str,
        client: Pensa | None = None,
        *,
        redact: bool = True,
        session_settings: SessionSettings | None = None,
    ) -> None:
        if not session_id:
            raise PensaError("invalid_input", "the id of a conversation is empty")
        self.session_id = session_id
        self.session_settings = session_settings
        self._client = client or Pensa()
        self._redact = redact
        self._agent: str | None = None
        # Names of agents in a path have no blanks.
        self._name = re.sub(r"[\s\x00-\x1f\x7f-\x9f%]", lambda found: quote(found[0]), session_id)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items, oldest first; with a limit the last ones."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        return await asyncio.to_thread(self._get_items, limit)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        if items:
            await asyncio.to_thread(self._add_items, items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Removes and returns the last item."""
        return await asyncio.to_thread(self._pop_item)

    async def clear_session(self) -> None:
        await asyncio.to_thread(self._clear)

    def _get_items(self, limit: int | None) -> list[TResponseInputItem]:
        items = [cast("TResponseInputItem", entry["data"]) for _, entry in self._items()]
        return items if limit is None else items[max(len(items) - limit, 0) :]

    def _add_items(self, items: list[TResponseInputItem]) -> None:
        agent = self._find_agent() or self._create_agent()
        entries = [new_entry(cast("dict[str, Any]", item)) for item in items]
        self._client.session_append(id=agent, entries=entries, no_redact=not self._redact)

    def _pop_item(self) -> TResponseInputItem | None:
        while items := self._items():
            index, last = items[-1]
            popped: NewEntry = {"type": POPPED, "data": {"index": index, "by": str(uuid.uuid4())}}
            # Two that pop the same item at once use one key with different requests, of which only the first succeeds.
            client = self._client.with_options(idempotency_key=f"pop-{last['session_id']}-{index}")
            try:
                client.session_append(id=self._agent or "", entries=[popped])
            except PensaError as error:
                if error.code != "conflict":
                    raise
            else:
                return cast("TResponseInputItem", last["data"])
        return None

    def _clear(self) -> None:
        agent = self._find_agent()
        if agent is not None:
            self._client.session_reset(id=agent)

    def _items(self) -> list[tuple[int, Entry]]:
        """The items of the active session that were not popped, each with its place among all entries of the session."""
        agent = self._find_agent()
        if agent is None:
            return []
        entries = self._client.session_history(id=agent)
        while entries and (part := self._client.session_history(id=agent, after=entries[-1]["id"])):
            entries += part
        popped = {entry["data"]["index"] for entry in entries if entry["type"] == POPPED}
        return [(n, entry) for n, entry in enumerate(entries) if entry["type"] != POPPED and n not in popped]

    def _find_agent(self) -> str | None:
        if self._agent is None:
            try:
                agent = self._client.agent_show(id=self._name)
            except PensaError as error:
                if error.code != "not_found":
                    raise
            else:
                # A name that no agent has may still be the beginning of an id.
                self._agent = agent["id"] if agent.get("name") == self._name else None
        return self._agent

    def _create_agent(self) -> str:
        """Two that begin the same conversation at once use one key, and get one agent."""
        key = f"openai-agents-{quote(self._name)[:200]}"
        self._client.with_options(idempotency_key=key).agent_create(type="app", name=self._name)
        # The key is remembered for a day, also if the agent was deleted since.
        self._agent = self._find_agent() or self._client.agent_create(type="app", name=self._name)["id"]
        return self._agent


def new_entry(item: dict[str, Any]) -> NewEntry:
    return {"type": ENTRY_TYPES.get(item.get("role", ""), "item"), "data": item}
