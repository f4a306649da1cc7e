"""Topics as the command line names them, `NAME` or `NAME:PARTITIONS`, and as the variable
KAFKA_CREATE_TOPICS does.

That variable is of the image wurstmeister/kafka, and others have taken it over: with commas between
(or with what KAFKA_CREATE_TOPICS_SEPARATOR says), each `NAME:PARTITIONS:REPLICAS`, and perhaps
`:CLEANUP_POLICY` behind.

Source: what the image's documentation says, not its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from kafkalite.cli.errors import WrongUseError

MOST_PARTITIONS = (1 << 31) - 1
"""What the protocol can say."""
LAST_PARTITION = MOST_PARTITIONS - 1
"""The largest number of one."""
AS_THE_BROKER_SAYS = -1
"""The number of partitions that CreateTopics takes for `num.partitions`."""

_VARIABLE = "KAFKA_CREATE_TOPICS"
_SEPARATOR = "KAFKA_CREATE_TOPICS_SEPARATOR"
_ENTRY = re.compile(
    r"(?P<name>[^:]+)"
    r"(:(?P<partitions>\d{1,10})(:(?P<replicas>\d{1,5})(:(?P<policy>compact|delete))?)?)?",
    re.ASCII,
)
_FORM = "NAME:PARTITIONS:REPLICAS, perhaps with :compact or :delete behind, such as orders:3:1"

FirstTopics = dict[str | None, dict[str, int]]
"""Partitions by topic (-1: as many as the settings say), by the topics' cleanup.policy (None: that
of the settings)."""


def first_topics(
    options: Iterable[str], environment: Mapping[str, str]
) -> tuple[FirstTopics, list[str]]:
    """The topics of `--topic` and of KAFKA_CREATE_TOPICS, where the first is stronger, and notes as
    `Settings` has them. `WrongUseError` for what cannot be meant."""
    topics: FirstTopics = {}
    notes: list[str] = []
    of_options = parse_topics(options)
    if of_options:
        topics[None] = of_options
    text = environment.get(_VARIABLE, "")
    separator = environment.get(_SEPARATOR) or ","
    for entry in filter(None, map(str.strip, text.split(separator))):
        read = _ENTRY.fullmatch(entry)
        partitions = read["partitions"] if read else None
        if read is None or (partitions and not _is_number_of_partitions(partitions)):
            raise WrongUseError(f"{_VARIABLE}: {entry!r} is no topic: expected {_FORM}")
        name = read["name"]
        if name in of_options:
            notes.append(f"info: --topic {name} is stronger than {_VARIABLE}")
            continue
        if any(name in others for others in topics.values()):
            raise WrongUseError(f"{_VARIABLE}: the topic {name} is named twice")
        of_policy = topics.setdefault(read["policy"], {})
        of_policy[name] = int(partitions) if partitions else AS_THE_BROKER_SAYS
        if int(read["replicas"] or 1) > 1:
            notes.append(
                f"warning: {_VARIABLE}: {name} has 1 replica and not {read['replicas']}, since "
                "there is one broker"
            )
    return topics, notes


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
