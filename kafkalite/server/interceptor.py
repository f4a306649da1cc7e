"""Faults and observers: what a test may put between a client and the broker.

Dispatch asks the interceptor before a handler runs and shows it every answer. With none installed
nothing is asked.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from kafkalite.errors import ErrorCode
from kafkalite.protocol.schema import Request, Response
from kafkalite.server.request import RequestContext


class Refuse(NamedTuple):
    """Answer with this code, as if the handler had refused the whole request."""

    code: ErrorCode


class CloseConnection:
    """Close without an answer; the request is not carried out."""

    __slots__ = ()


class LoseAnswer:
    """Carry the request out, then close instead of answering."""

    __slots__ = ()


class Delay(NamedTuple):
    """Carry the request out and hold its answer back."""

    delay_ms: int


Fault = Refuse | CloseConnection | LoseAnswer | Delay


class Interceptor(Protocol):
    """Both methods are called in the event loop and must not wait."""

    def request(self, ctx: RequestContext, request: Request) -> Fault | None:
        """Before the handler. None lets the request pass."""
        ...

    def response(self, ctx: RequestContext, request: Request, response: Response) -> None:
        """An answer is about to be encoded; it may be changed in place."""
        ...
