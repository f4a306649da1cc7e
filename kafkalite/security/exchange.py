"""A SASL exchange, seen from the broker: what every mechanism is."""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple, Protocol


class Challenge(NamedTuple):
    """The client is to answer this."""

    token: bytes


class Authenticated(NamedTuple):
    """The exchange is over, and the client is who it says."""

    token: bytes
    """The last that it is told."""
    name: str
    expires_at_ms: int | None = None
    """When what it has shown holds no more, as milliseconds since 1970; None: never."""


class NotAuthenticatedError(Exception):
    """The exchange is over, and the client is not who it says, or does not say it well."""

    def __init__(self, why: str, *, is_told: bool = True) -> None:
        """`is_told`: whether the client hears why. In Java it does not where the exchange fails
        with a `SaslException` that is no `SaslAuthenticationException`."""
        super().__init__(why)
        self.is_told = is_told


class SaslExchange(Protocol):
    """With one client, by one mechanism."""

    @abstractmethod
    def step(self, token: bytes, now_ms: int) -> Challenge | Authenticated:
        """The answer to what the client has sent. Nothing is asked any more after an
        `Authenticated`, or an error: `NotAuthenticatedError`, or `ProtocolError` for what makes
        Kafka close the connection at once."""
        ...
