"""PLAIN (RFC 4616): authorization id, name and password, with a zero byte between them.

Source: Kafka's `PlainSaslServer` and `PlainServerCallbackHandler`, whose messages clients show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hmac import compare_digest
from typing import Final

from kafkalite.config.jaas import JaasEntry
from kafkalite.config.sasl import PLAIN_MODULE
from kafkalite.security.exchange import Authenticated, NotAuthenticatedError, SaslExchange

_USER: Final = "user_"
_PARTS: Final = 3


def passwords(logins: Iterable[JaasEntry]) -> dict[str, str]:
    """By name, as the options `user_NAME` have them; the first is the one that counts."""
    found: dict[str, str] = {}
    for login in logins:
        if login.module == PLAIN_MODULE:
            for key, password in login.options.items():
                if key.startswith(_USER):
                    found.setdefault(key.removeprefix(_USER), password)
    return found


class PlainExchange(SaslExchange):
    """One token, and it is over."""

    def __init__(self, users: Mapping[str, str]) -> None:
        """`users` are passwords by name."""
        self._users = users

    def step(self, token: bytes, now_ms: int) -> Authenticated:
        """See `SaslExchange`."""
        parts = token.decode("utf-8", "replace").split("\0", _PARTS)
        if len(parts) != _PARTS:
            raise NotAuthenticatedError(
                f"Invalid SASL/PLAIN response: expected {_PARTS} tokens, got {len(parts)}"
            )
        authorization_id, name, password = parts
        if not name:
            raise NotAuthenticatedError("Authentication failed: username not specified")
        if not password:
            raise NotAuthenticatedError("Authentication failed: password not specified")
        expected = self._users.get(name)
        if expected is None or not compare_digest(_bytes(password), _bytes(expected)):
            raise NotAuthenticatedError("Authentication failed: Invalid username or password")
        if authorization_id not in ("", name):
            raise NotAuthenticatedError(
                "Authentication failed: Client requested an authorization id that is different "
                "from username"
            )
        return Authenticated(b"", name)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
