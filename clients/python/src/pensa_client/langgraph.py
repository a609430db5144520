"""LangGraph's long-term memory in Pensa, as records of a collection."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from .client import Pensa
from .types import Change, Record

Namespace = tuple[str, ...]
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda value, other: bool(value == other),
    "$ne": lambda value, other: bool(value != other),
    "$gt": lambda value, other: float(value) > float(other),
    "$gte": lambda value, other: float(value) >= float(other),
    "$lt": lambda value, other: float(value) < float(other),
    "$lte": lambda value, other: float(value) <= float(other),
}
LOOKUPS = 100
"""Records that one request looks up by their ids."""


class PensaStore(BaseStore):
    """A store for `graph.compile(store=PensaStore())`.

    Each item is a record, which `pn record query langgraph` shows. A batch of puts is one transaction. Search filters
    by namespace and fields, newest first; without embeddings, `query` does not rank. Values have at most 1 MiB.
    """

    __slots__ = ("_client", "_collection")

    def __init__(self, client: Pensa | None = None, *, collection: str = "langgraph") -> None:
        self._client = client or Pensa()
        self._collection = collection

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        every = list(ops)
        wanted = {(op.namespace, op.key) for op in every if isinstance(op, GetOp)}
        found = self._lookup(wanted)
        results = [self._read(op, found) for op in every]
        # As in LangGraph's own stores, a batch reads what was there before its puts, of which the last one counts.
        puts = {(op.namespace, op.key): op for op in every if isinstance(op, PutOp)}
        if puts:
            self._put(puts)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: Op, found: dict[str, Record]) -> Result:
        match op:
            case GetOp(namespace, key):
                record = found.get(record_id(namespace, key))
                return record and Item(**item_fields(record))
            case SearchOp():
                return self._search(op)
            case ListNamespacesOp():
                return self._list_namespaces(op)
            case PutOp():
                return None
        raise ValueError(f"unknown operation {type(op).__name__}")

    def _search(self, op: SearchOp) -> list[SearchItem]:
        fields = (item_fields(record) for record in self._within(op.namespace_prefix))
        matching = (one for one in fields if passes(one["value"], op.filter or {}))
        return [SearchItem(**one) for one in itertools.islice(matching, op.offset, op.offset + op.limit)]

    def _list_namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        every = {tuple(record["data"]["namespace"]) for record in self._within(common_prefix(conditions))}
        matching = {one[: op.max_depth] for one in every if all(matches(condition, one) for condition in conditions)}
        return sorted(matching)[op.offset : op.offset + op.limit]

    def _put(self, puts: dict[tuple[Namespace, str], PutOp]) -> None:
        old = self._lookup({place for place, op in puts.items() if op.value is not None})
        changes: list[Change] = []
        for (namespace, key), op in puts.items():
            id = record_id(namespace, key)
            if op.value is None:
                changes.append({"delete": {"collection": self._collection, "id": id}})
                continue
            within = [path(namespace[:depth]) for depth in range(1, len(namespace) + 1)]
            data = {"namespace": list(namespace), "key": key, "value": dict(op.value), "within": within}
            if id in old:
                data["created_at"] = created_at(old[id])
            changes.append({"put": {"collection": self._collection, "id": id, "data": data}})
        self._client.record_apply(changes=changes)

    def _lookup(self, places: set[tuple[Namespace, str]]) -> dict[str, Record]:
        found: dict[str, Record] = {}
        for some in chunks([record_id(*place) for place in places]):
            found |= {record["id"]: record for record in self._records([f"id in {json.dumps(some)}"])}
        return found

    def _within(self, prefix: Namespace) -> Iterator[Record]:
        return self._records([f"within~{json.dumps(path(prefix))}"] if prefix else [], "updated_at desc")

    def _records(self, where: list[str], order: str = "id") -> Iterator[Record]:
        after: str | None = None
        while True:
            page = self._client.record_query(
                collection=self._collection, where=where, order=order, limit=1000, after=after
            )
            yield from page["records"]
            after = page.get("next")
            if after is None:
                return


def chunks(ids: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), LOOKUPS):
        yield ids[start : start + LOOKUPS]


def path(namespace: Namespace) -> str:
    return json.dumps(namespace, ensure_ascii=False)


def record_id(namespace: Namespace, key: str) -> str:
    """Ids of records are short, and keys need not be."""
    return hashlib.sha256(json.dumps([*namespace, key]).encode()).hexdigest()


def item_fields(record: Record) -> dict[str, Any]:
    data = record["data"]
    return {
        "namespace": tuple(data["namespace"]),
        "key": data["key"],
        "value": data["value"],
        "created_at": datetime.fromisoformat(created_at(record)),
        "updated_at": datetime.fromisoformat(record["updated_at"]),
    }


def created_at(record: Record) -> str:
    """A record that never changed was created when it was last updated, by the clock of the server."""
    return str(record["data"].get("created_at", record["updated_at"]))


def passes(value: Any, wanted: Any) -> bool:
    """Whether a value is as a filter says: equal, or with operators in their place."""
    if isinstance(wanted, dict):
        if any(name.startswith("$") for name in wanted):
            return all(compare(name, value, other) for name, other in wanted.items())
        return isinstance(value, dict) and all(passes(value.get(name), other) for name, other in wanted.items())
    if isinstance(wanted, (list, tuple)):
        same_length = isinstance(value, (list, tuple)) and len(value) == len(wanted)
        return same_length and all(map(passes, value, wanted))
    return bool(value == wanted)


def compare(operator: str, value: Any, other: Any) -> bool:
    if operator not in COMPARE:
        raise ValueError(f"Unsupported operator: {operator}")
    if value is None and operator not in ("$eq", "$ne"):
        return False
    return COMPARE[operator](value, other)


def matches(condition: MatchCondition, namespace: Namespace) -> bool:
    wanted = condition.path
    if len(namespace) < len(wanted):
        return False
    part = namespace[: len(wanted)] if condition.match_type == "prefix" else namespace[-len(wanted) :]
    return all(label in ("*", actual) for label, actual in zip(wanted, part, strict=False))


def common_prefix(conditions: Iterable[MatchCondition]) -> Namespace:
    """The labels with which every namespace begins that can match."""
    prefixes = (condition.path for condition in conditions if condition.match_type == "prefix")
    return max((tuple(itertools.takewhile(lambda label: label != "*", one)) for one in prefixes), key=len, default=())
