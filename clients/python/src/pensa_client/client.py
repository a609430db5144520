"""The client: every operation as a method, and the event stream."""

from __future__ import annotations

import copy
import json
import os
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from .errors import PensaError
from .events import follow
from .operations import ROUTES, Operations
from .transport import RETRY_DELAYS, Request, Transport
from .types import LogEntry

DEFAULT_URL = "http://127.0.0.1:7533"


class Pensa(Operations):
    """A store behind a daemon or server. Threads may share a client.

    url: address of a daemon or server [default: `PN_DAEMON`, then http://127.0.0.1:7533]
    project: a project on a team server, reached below `/p/{project}`
    token: bearer token [default: `PN_TOKEN`]
    actor: who acts [default: `PN_ACTOR`, then `unknown`]
    session: the caller's session: a claim made in a session is changed by that session only [default: `PN_SESSION`]
    run: the run that the caller is a part of [default: `PN_RUN`]
    host: the machine that is shown with claims
    store_id: the id of the store that is expected; another one is refused with `wrong_store`
    keep_secrets: store secrets that are found in texts instead of replacing them
    timeout: seconds for a call with all its attempts
    retry_delays: seconds before the second attempt, the third and so on
    outage_limit: seconds that the server of an event stream may stay away
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        project: str | None = None,
        token: str | None = None,
        actor: str | None = None,
        session: str | None = None,
        run: str | None = None,
        host: str | None = None,
        store_id: str | None = None,
        keep_secrets: bool = False,
        timeout: float = 120.0,
        retry_delays: Sequence[float] = RETRY_DELAYS,
        outage_limit: float = 60.0,
    ) -> None:
        self.url = address(url or variable("PN_DAEMON") or DEFAULT_URL, project)
        self._transport = Transport(self.url, timeout, retry_delays)
        self._outage_limit = outage_limit
        self._key: str | None = None
        token = variable("PN_TOKEN") if token is None else token
        self._headers = present(
            {
                "Pensa-Actor": encoded(actor or variable("PN_ACTOR")),
                "Pensa-Store": store_id,
                "Authorization": f"Bearer {token}" if token else None,
            }
        )
        self._change_headers = present(
            {
                "Pensa-Session": encoded(session or variable("PN_SESSION")),
                "Pensa-Run": encoded(run or variable("PN_RUN")),
                "Pensa-Host": encoded(host),
                "Pensa-Redact": "off" if keep_secrets else None,
            }
        )

    def with_options(self, *, actor: str | None = None, idempotency_key: str | None = None) -> Self:
        """A client for one call, on the same connections.

        Pass the same idempotency key when the same change is tried again later: it happens once.
        """
        client = copy.copy(self)
        if actor is not None:
            client._headers = {**self._headers, "Pensa-Actor": quote(actor, safe="")}
        client._key = idempotency_key
        return client

    def call(self, name: str, fields: Mapping[str, object]) -> Any:
        """Runs an operation by its name, as the methods do."""
        method, route = ROUTES[name]
        rest = dict(fields)
        path = re.sub(r"{(\w+)}", lambda found: segment(found[1], rest.pop(found[1], None)), route)
        headers = dict(self._headers)
        if method != "GET":
            headers |= self._change_headers
            headers["Idempotency-Key"] = self._key or str(uuid.uuid4())
        if method in ("GET", "DELETE"):
            return self._transport.send(Request(method, path + query(rest), headers))
        headers["Content-Type"] = "application/json"
        return self._transport.send(Request(method, path, headers, json.dumps(rest).encode()))

    def events(
        self,
        *,
        after: int | None = None,
        subject: str | None = None,
        type: str | None = None,
        by: str | None = None,
    ) -> Iterator[LogEntry]:
        """Follows the log: events after a number first, then each new one when it happens.

        Without a number it begins with what happens from now on. `subject` is an id, the beginning of one, or a kind
        such as issue; `type` has commas between types, such as `closed,task.*`; `by` is an actor. Reconnects by itself
        and continues after the last event, so that none is left out and none comes twice. Raises `conflict` if the log
        was replaced, and `unreachable` if the server stays away.
        """
        target = "/events" + query({"after": after, "subject": subject, "type": type, "by": by})
        return follow(self._transport, target, self._headers, self._outage_limit)

    def close(self) -> None:
        """Closes idle connections."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def address(url: str, project: str | None) -> str:
    plain = url.rstrip("/")
    if not re.fullmatch(r"https?://[^@?#\s]+", plain):
        # Not repeated: what is before an @ may be a secret.
        raise PensaError("invalid_input", "not the address of a server", hint=f"such as {DEFAULT_URL}")
    return plain if project is None else f"{plain}/p/{quote(project, safe='')}"


def variable(name: str) -> str | None:
    return os.environ.get(name) or None


def encoded(text: str | None) -> str | None:
    return None if text is None else quote(text, safe="")


def present(headers: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if value is not None}


def segment(name: str, value: object) -> str:
    """Encodes a value of the path. A plain word could be mistaken for a route such as `/issues/ready`."""
    if not isinstance(value, str) or value in ("", ".", ".."):
        raise PensaError("invalid_input", f"{name} is missing, or nothing that can be in a path")
    if re.fullmatch(r"[a-z]+", value):
        return f"%{ord(value[0]):02X}{value[1:]}"
    return quote(value, safe="")


def query(fields: Mapping[str, object]) -> str:
    pairs = [
        f"{name}={quote(text(one), safe='')}"
        for name, value in fields.items()
        for one in (value if isinstance(value, (list, tuple)) else [value])
        if one is not None
    ]
    return f"?{'&'.join(pairs)}" if pairs else ""


def text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
