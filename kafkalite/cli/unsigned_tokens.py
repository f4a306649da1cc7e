"""Tokens of OAUTHBEARER that nobody has signed, as Kafka's clients make them for tests: the claims
are who somebody is, and for how long.

Source: RFC 7515 and 7519; Kafka's `OAuthBearerUnsecuredLoginCallbackHandler`.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from typing import Final

from kafka.net.sasl.oauth import AbstractTokenProvider

from kafkalite.ports.clock import Clock

_LIFETIME_S: Final = 3_600
"""Kafka's."""


class UnsignedTokens(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no types.
    """For kafka-python, which asks for one with each connection."""

    def __init__(self, subject: str, clock: Clock) -> None:
        super().__init__()
        self._subject = subject
        self._clock = clock

    def token(self) -> str:
        """A fresh one."""
        now_s = self._clock.now_ms() // 1000
        claims = {"sub": self._subject, "iat": now_s, "exp": now_s + _LIFETIME_S}
        return f"{_part({'alg': 'none'})}.{_part(claims)}."


def _part(content: dict[str, object]) -> str:
    return urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()
