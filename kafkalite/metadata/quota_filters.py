"""Which quotas of clients somebody asks about (KIP-546): what such a filter may be.

None are kept here yet, so that there is nothing to match.

Source: Kafka's `ClientQuotasImage.describe`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final, NamedTuple

from kafkalite.errors import ErrorCode, KafkaError

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"


class MatchType(IntEnum):
    """The protocol's numbers for what an entity is to be."""

    EXACT = 0
    """The named one."""
    DEFAULT = 1
    """All that have no quotas of their own."""
    SPECIFIED = 2
    """Any, if it is of that type."""


class FilterPart(NamedTuple):
    """What is asked of one type of entity."""

    entity_type: str
    match_type: int
    """A `MatchType`, or a number that there is not."""
    match: str | None


def check_filter(parts: Iterable[FilterPart]) -> None:
    """`KafkaError` for what is no filter: UNSUPPORTED_VERSION for a type of entity that there is
    not, INVALID_REQUEST for all else."""
    seen: set[str] = set()
    for part in parts:
        if not part.entity_type:
            _refuse("Invalid empty entity type.")
        if part.entity_type in seen:
            _refuse(f"Entity type {part.entity_type} cannot appear more than once in the filter.")
        if part.entity_type not in (USER, CLIENT_ID, IP):
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {part.entity_type}"
            )
        _check_match(part)
        seen.add(part.entity_type)
    if IP in seen and len(seen) > 1:
        _refuse(
            "Invalid entity filter component combination. IP filter component should not be used"
            " with user or clientId filter component."
        )


def _check_match(part: FilterPart) -> None:
    match part.match_type:
        case MatchType.EXACT:
            if part.match is None:
                _refuse("Request specified MATCH_TYPE_EXACT, but set match string to null.")
        case MatchType.DEFAULT | MatchType.SPECIFIED as known:
            if part.match is not None:
                name = MatchType(known).name
                _refuse(f"Request specified MATCH_TYPE_{name}, but also specified a match string.")
        case _:
            _refuse(f"Unknown match type {part.match_type}")


def _refuse(message: str) -> None:
    raise KafkaError(ErrorCode.INVALID_REQUEST, message)
