"""Topics as the command line names them: `NAME`, or `NAME:PARTITIONS`."""

from __future__ import annotations

from collections.abc import Iterable

from kafkalite.cli.errors import WrongUseError

MOST_PARTITIONS = (1 << 31) - 1
"""What the protocol can say."""
AS_THE_BROKER_SAYS = -1
"""The number of partitions that CreateTopics takes for `num.partitions`."""


def parse_topics(texts: Iterable[str], *, partitions: int = AS_THE_BROKER_SAYS) -> dict[str, int]:
    """Partitions by topic, in the order of the texts; `partitions` is for those that name none.
    `WrongUseError` for what cannot be meant; whether a name is allowed, the broker says."""
    topics: dict[str, int] = {}
    for text in texts:
        name, colon, number = text.partition(":")
        if not name or (colon and not _is_number_of_partitions(number)):
            raise WrongUseError(f"{text!r} is no topic: expected NAME or NAME:PARTITIONS, like a:3")
        if name in topics:
            raise WrongUseError(f"the topic {name} is named twice")
        topics[name] = int(number) if colon else partitions
    return topics


def _is_number_of_partitions(text: str) -> bool:
    return text.isascii() and text.isdecimal() and 1 <= int(text) <= MOST_PARTITIONS
