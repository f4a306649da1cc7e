"""What one line of the API table says."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from kafkalite.errors import ErrorCode
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.schema import Request, Response
from kafkalite.server.request import RequestContext


class Api(NamedTuple):
    """An API and the versions that are served; both ends inclusive."""

    key: ApiKey
    request: type[Request]
    response: type[Response]
    min_version: int
    max_version: int
    advertised_min_version: int | None = None
    """Where Kafka advertises versions that it does not serve (Produce); else None."""
    by_controller: bool = False
    """Whether the controller decides: another broker hands the request on to it."""
    between_brokers: bool = False
    """Whether it is served on the listener that brokers talk on alone, and not told to clients."""
    missing: str = ""
    """What a client of Kafka would miss, for the coverage page; empty when nothing."""


class ApiModule(Protocol):
    """The three names of every file in this folder. `Any`: each takes its own request class."""

    API: Api

    def handle(self, ctx: RequestContext, request: Any) -> Any:
        """A response, a `Parked`, or None when the client wants no answer."""
        ...

    def refuse(self, request: Any, code: ErrorCode, message: str) -> Any:
        """The response that refuses the whole request."""
        ...
