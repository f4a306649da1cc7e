"""Who a client is to a broker."""

from __future__ import annotations

from typing import Final, NamedTuple

USER: Final = "User"


class KafkaPrincipal(NamedTuple):
    """Somebody, as ACLs and quotas name them."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


ITSELF: Final = KafkaPrincipal("Broker", "itself")
"""A broker that asks itself: nobody else is of that type."""
ANONYMOUS: Final = KafkaPrincipal(USER, "ANONYMOUS")
"""Whoever comes in where nobody is asked."""
