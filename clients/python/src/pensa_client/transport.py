"""Sends requests, again after a while if a connection is lost or the server is busy."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from .errors import PensaError, error_in_body

RETRY_DELAYS = (0.2, 0.6, 1.5)
"""Seconds before the second attempt, the third and so on."""
MAX_RETRY_AFTER = 2.0
"""Most of a `Retry-After` header that is honoured, in seconds."""
MAX_IDLE = 16
"""Connections that are kept for later requests."""


class Request(NamedTuple):
    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes | None = None

    @property
    def key(self) -> str | None:
        return self.headers.get("Idempotency-Key")


class Answer(NamedTuple):
    status: int
    retry_after: float
    body: bytes


class Refused(NamedTuple):
    """An attempt without success."""

    error: PensaError
    is_temporary: bool
    wait: float
    may_have_applied: bool


class Transport:
    """Connections to one server. Threads may share it."""

    def __init__(self, url: str, timeout: float, retry_delays: Sequence[float]) -> None:
        # Appending and popping are atomic.
        self._idle: list[http.client.HTTPConnection] = []
        parts = urlsplit(url)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.path = parts.path
        self.timeout = timeout
        self.retry_delays = retry_delays
        self._is_tls = parts.scheme == "https"
        self._netloc = parts.netloc

    def send(self, request: Request) -> Any:
        """Sends until an attempt is final. A change has a key, so that the server makes it only once."""
        deadline = time.monotonic() + self.timeout
        may_have_applied = False
        for delay in [*self.retry_delays, None]:
            try:
                answer = self._attempt(request, deadline)
                refused = self._judge(request, answer)
            except OSError as error:
                refused = Refused(self.unreachable(error), True, 0, not isinstance(error, ConnectionRefusedError))
            except http.client.HTTPException as error:
                refused = Refused(self.unreachable(error), True, 0, True)
            else:
                if refused is None:
                    return self._parsed(answer)
            may_have_applied |= refused.is_temporary and refused.may_have_applied and request.key is not None
            wait = max(delay or 0, refused.wait)
            if not refused.is_temporary:
                raise refused.error
            if delay is None or time.monotonic() + wait >= deadline:
                raise unknown_outcome(refused.error, request.key) if may_have_applied else refused.error
            time.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def connect(self, timeout: float) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._is_tls else http.client.HTTPConnection
        return kind(self._netloc, timeout=timeout)

    def unreachable(self, error: Exception) -> PensaError:
        reason = "it did not answer in time" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
        hint = "is it running? pn daemon starts one"
        unreachable = PensaError("unreachable", f"cannot reach {self.origin}: {reason}", hint=hint)
        unreachable.__cause__ = error
        return unreachable

    def not_pensa(self, status: int) -> PensaError:
        message = f"{self.origin} does not answer like Pensa (HTTP {status})"
        return PensaError("unreachable", message, hint="check the address", status=status)

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _attempt(self, request: Request, deadline: float) -> Answer:
        while True:
            try:
                connection, is_used = self._idle.pop(), True
            except IndexError:
                connection, is_used = self.connect(self.timeout), False
            try:
                return self._exchange(connection, request, deadline)
            except (ConnectionError, http.client.BadStatusLine):
                connection.close()
                # A kept connection may have ended since; the same request on a new one is not an attempt of its own.
                if not is_used:
                    raise
            except BaseException:
                connection.close()
                raise

    def _exchange(self, connection: http.client.HTTPConnection, request: Request, deadline: float) -> Answer:
        left = max(deadline - time.monotonic(), 0.001)
        connection.timeout = left
        if connection.sock is not None:
            connection.sock.settimeout(left)
        connection.request(request.method, self.path + request.target, request.body, dict(request.headers))
        response = connection.getresponse()
        body = response.read()
        if not response.will_close and len(self._idle) < MAX_IDLE:
            self._idle.append(connection)
        else:
            connection.close()
        return Answer(response.status, seconds(response.headers.get("Retry-After")), body)

    def _parsed(self, answer: Answer) -> Any:
        try:
            return json.loads(answer.body)
        except ValueError:
            raise self.not_pensa(answer.status) from None

    def _judge(self, request: Request, answer: Answer) -> Refused | None:
        status = answer.status
        if 200 <= status < 300:
            return None
        error = error_in_body(status, answer.body, request.key)
        if status == 429 or (error and error.is_temporary):
            is_busy = status == 429 or (error is not None and error.code == "busy")
            return Refused(error or self.not_pensa(status), True, answer.retry_after, not is_busy)
        if error is None and 502 <= status <= 504:
            # A proxy before a server that it cannot reach.
            return Refused(self.not_pensa(status), True, answer.retry_after, True)
        return Refused(error or self.not_pensa(status), False, 0, False)


def seconds(retry_after: str | None) -> float:
    """The header in seconds; its form with a date is ignored."""
    return min(float(retry_after), MAX_RETRY_AFTER) if retry_after and retry_after.isdecimal() else 0


def unknown_outcome(error: PensaError, key: str | None) -> PensaError:
    unknown = PensaError(
        error.code,
        f"it is not known whether the change was made: {error.message}",
        hint="look, or try again with the same idempotency key",
        status=error.status,
        idempotency_key=key,
    )
    unknown.__cause__ = error
    return unknown
