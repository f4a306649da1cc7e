"""Where logs begin and end, and who leads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from kafkalite.cli.errors import CommandError
from kafkalite.cli.refusals import Refusal

if TYPE_CHECKING:
    from kafka import TopicPartition
    from kafka.admin import KafkaAdminClient

Topic = Mapping[str, Any]  # `Any`: kafka-python's own words for an answer to Metadata.

Isolation = Literal["read_uncommitted", "read_committed"]
"""Which records of transactions can be read."""


class LogRange(NamedTuple):
    """The records of one partition that can be read."""

    start_offset: int
    end_offset: int
    """Exclusive: that of the next record."""

    def nearest(self, offset: int) -> int:
        """That one, or the end of the log that it is beyond. The end itself may be read from."""
        return min(max(offset, self.start_offset), self.end_offset)


def find_topics(admin: KafkaAdminClient, names: Iterable[str]) -> list[Topic]:
    """Their metadata, in the order of the names, each once. `CommandError` that names all that are
    refused."""
    wanted = list(dict.fromkeys(names))
    found = {topic["name"]: topic for topic in admin.describe_topics(wanted)}
    refusals = [
        f"{name}: {Refusal(found[name]['error_code'])}"
        for name in wanted
        if found[name]["error_code"]
    ]
    if refusals:
        raise CommandError(*refusals)
    return [found[name] for name in wanted]


def partitions_of(topic: Topic) -> list[TopicPartition]:
    """All of them, in order."""
    from kafka import TopicPartition

    numbers = sorted(partition["partition_index"] for partition in topic["partitions"])
    return [TopicPartition(topic["name"], number) for number in numbers]


def log_ranges(
    admin: KafkaAdminClient,
    topics: Iterable[Topic],
    isolation: Isolation = "read_uncommitted",
) -> dict[TopicPartition, LogRange]:
    """Of all partitions that have a leader. With `read_committed` a log ends at its last stable
    offset."""
    from kafka import TopicPartition
    from kafka.admin import OffsetSpec

    led = [
        TopicPartition(topic["name"], partition["partition_index"])
        for topic in topics
        for partition in topic["partitions"]
        if partition["leader_id"] >= 0
    ]
    starts = admin.list_partition_offsets(dict.fromkeys(led, OffsetSpec.EARLIEST))
    ends = admin.list_partition_offsets(dict.fromkeys(led, OffsetSpec.LATEST), isolation)
    return {each: LogRange(starts[each].offset, ends[each].offset) for each in led}
