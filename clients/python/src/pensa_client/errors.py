"""Errors of the API, and of the way to it."""

from __future__ import annotations

import json

from .types import Code


class PensaError(Exception):
    """What went wrong, and what to do about it. Branch on `code`."""

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        hint: str | None = None,
        status: int | None = None,
        idempotency_key: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.status = status
        """The HTTP status, if the server answered."""
        self.idempotency_key = idempotency_key
        """The key of the change: with it the same change can be tried again, and happens once."""

    @property
    def is_temporary(self) -> bool:
        """Whether the same request may succeed a moment later."""
        return self.code in ("busy", "unreachable", "unknown_outcome") or self.status == 429


def error_in_body(status: int, body: bytes, idempotency_key: str | None = None) -> PensaError | None:
    """The error in the body of an answer; None if the body is not Pensa's."""
    try:
        error = json.loads(body)
        code, message = error["code"], error["error"]
    except (ValueError, TypeError, KeyError):
        return None
    return PensaError(code, message, hint=error.get("hint"), status=status, idempotency_key=idempotency_key)
