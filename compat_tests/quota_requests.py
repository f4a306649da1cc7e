"""Requests about quotas of clients, where none are set. See `record_admin_answers.py`."""

from __future__ import annotations

from collections.abc import Iterator

from compat_tests.config_requests import Asked
from kafkalite.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)

EXACT, DEFAULT, ANY = 0, 1, 2
"""Kinds of a filter's match."""
Part = tuple[str, int, str | None]
"""Type of entity, kind of match, and what it is to match."""


def requests() -> Iterator[Asked]:
    """All of them, in order."""
    user: Part = ("user", EXACT, "adm-alice")
    for version in range(2):
        yield _describe(version=version)
        yield _describe(user, version=version)
        yield _describe(("", EXACT, "x"), version=version)
    for strict in (True, False):
        yield _describe(("user", ANY, None), ("client-id", DEFAULT, None), strict=strict)
        yield _describe(("ip", DEFAULT, None), strict=strict)
    yield _describe(user, ("user", ANY, None))
    yield _describe(("user", ANY, None), user)
    yield _describe(("user", ANY, None), ("user", 7, None))
    for kind in (EXACT, DEFAULT, ANY, 3, -1):
        for match in ("x", None):
            yield _describe(("client-id", kind, match))
            yield _describe(("group", kind, match))
    yield _describe(("", 9, None))
    yield _describe(("User", EXACT, "x"), user)
    yield _describe(user, ("", 9, None), ("group", 9, None))
    for other in ("user", "client-id"):
        yield _describe(("ip", EXACT, "127.0.0.1"), (other, ANY, None))
        yield _describe((other, EXACT, "x"), ("ip", ANY, None))


def _describe(*parts: Part, strict: bool = False, version: int = 1) -> Asked:
    components = [
        ComponentData(entity_type=type, match_type=kind, match=match) for type, kind, match in parts
    ]
    return DescribeClientQuotasRequest(components=components, strict=strict), version
