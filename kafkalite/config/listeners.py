"""What one entry of `listeners` says: `NAME://HOST:PORT`.

Kafka differs: the name, or `listener.security.protocol.map`, says which security protocol is spoken
there. Here it is PLAINTEXT under any name; the names of the protocols that encrypt or authenticate
are refused until those come.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kafkalite.errors import ErrorCode, KafkaError

_ENTRY = re.compile(
    r"(?P<name>[A-Za-z0-9_]+)://(?P<host>\[[0-9a-fA-F:.%]+\]|[^\[\]:/]*):(?P<port>\d+)"
)
_MAX_PORT = 65535
_NOT_SPOKEN = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")


@dataclass(frozen=True, slots=True)
class ListenerAddress:
    """Where to listen, and under which name clients and the metadata know it."""

    name: str
    """In upper case, as Kafka keeps it."""
    host: str
    """Without brackets; empty means all addresses."""
    port: int
    """0 means a free one."""


def parse_listener(text: str) -> ListenerAddress:
    """`KafkaError(INVALID_CONFIG)` for anything that is no listener."""
    found = _ENTRY.fullmatch(text.strip())
    if found is None or int(found["port"]) > _MAX_PORT:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Invalid value {text} for configuration listeners: expected NAME://HOST:PORT",
        )
    if found["name"].upper() in _NOT_SPOKEN:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Invalid value {text} for configuration listeners: only PLAINTEXT is spoken yet",
        )
    return ListenerAddress(found["name"].upper(), found["host"].strip("[]"), int(found["port"]))
