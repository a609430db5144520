"""Follows the event stream and reconnects, without leaving out an event or repeating one."""

from __future__ import annotations

import http.client
import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from .errors import PensaError, error_in_body
from .transport import Transport
from .types import LogEntry

CONNECT_LIMIT = 3.0
"""Seconds in which the first connection must succeed."""
SILENCE_LIMIT = 45.0
"""Seconds of silence after which the connection counts as lost; a server sends comments more often."""
RECONNECT_DELAY = 1.0
"""Seconds between two connections, unless the server says otherwise."""


@dataclass
class Position:
    """Where a reader is in the log."""

    last: str | None = None
    """The number of the last event that was read or passed over."""
    delay: float = RECONNECT_DELAY
    heard: float | None = None
    """When the server was last heard of."""


@dataclass
class Frame:
    """One block of the stream."""

    fields: dict[str, str] = field(default_factory=dict)

    def add(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data" and "data" in self.fields:
            value = f"{self.fields['data']}\n{value}"
        self.fields[name] = value


def follow(to: Transport, target: str, headers: Mapping[str, str], outage_limit: float) -> Iterator[LogEntry]:
    """The events, until the caller has enough, the log is replaced or the server stays away."""
    at = Position()
    start = time.monotonic()
    while True:
        try:
            yield from connection(to, target, headers, at)
        except PensaError as error:
            limit = CONNECT_LIMIT if at.heard is None else outage_limit
            if not error.is_temporary or time.monotonic() - (at.heard or start) > limit:
                raise
        time.sleep(at.delay)


def connection(to: Transport, target: str, headers: Mapping[str, str], at: Position) -> Iterator[LogEntry]:
    """The events of one connection, until it ends."""
    resume = {} if at.last is None else {"Last-Event-ID": at.last}
    stream = to.connect(SILENCE_LIMIT)
    try:
        stream.request("GET", to.path + target, headers={**headers, **resume})
        response = stream.getresponse()
        if response.status != 200:
            raise error_in_body(response.status, response.read()) or unexpected(to, response.status)
        for frame in frames(response, at):
            event = take(frame, at)
            if event is not None:
                yield event
    except (OSError, http.client.HTTPException) as error:
        raise to.unreachable(error) from error
    finally:
        stream.close()


def frames(response: http.client.HTTPResponse, at: Position) -> Iterator[Frame]:
    frame = Frame()
    while line := response.readline():
        at.heard = time.monotonic()
        text = line.decode().rstrip("\r\n")
        if text:
            frame.add(text)
        else:
            yield frame
            frame = Frame()


def take(frame: Frame, at: Position) -> LogEntry | None:
    """Moves the position. Returns the event, if there is one; raises the error with which a server ends a stream."""
    fields = frame.fields
    if fields.get("retry", "").isdecimal():
        at.delay = int(fields["retry"]) / 1000
    # The server's first line says where a stream begins that was asked for without a number.
    opening = re.match(r"events after (\d+)", fields.get("", ""))
    at.last = fields.get("id") or at.last or (opening and opening[1])
    if "data" not in fields:
        return None
    if fields.get("event") != "dropped":
        return cast(LogEntry, json.loads(fields["data"]))
    error = error_in_body(200, fields["data"].encode())
    if error and error.code == "conflict":
        raise error
    raise PensaError("unreachable", error.message if error else "the server ended the stream")


def unexpected(to: Transport, status: int) -> PensaError:
    if status == 429 or 502 <= status <= 504:
        return to.not_pensa(status)
    return PensaError("unsupported", f"{to.origin} does not stream events like Pensa (HTTP {status})", status=status)
