"""Client of Pensa, the state of coding agents, over HTTP."""

from . import types
from .client import Pensa
from .errors import PensaError
from .types import LogEntry

__all__ = ["LogEntry", "Pensa", "PensaError", "types"]
