"""Topics as documents: what `topics list` and `topics describe` tell of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict
from uuid import UUID

from kafkalite.cli.config_changes import ConfigAnswers
from kafkalite.cli.log_ranges import LogRange, Topic, partitions_of
from kafkalite.cli.output import Row
from kafkalite.types import Uuid, format_uuid

if TYPE_CHECKING:
    from kafka import TopicPartition


def listed(topic: Topic, ranges: Mapping[TopicPartition, LogRange]) -> Row:
    """For the list. `records` are those in partitions that have a leader."""
    partitions = partitions_of(topic)
    known = [ranges[each] for each in partitions if each in ranges]
    return {
        "topic": topic["name"],
        "partitions": len(partitions),
        "replication_factor": max(
            (len(each["replica_nodes"]) for each in topic["partitions"]), default=0
        ),
        "internal": topic["is_internal"],
        "records": sum(each.end_offset - each.start_offset for each in known),
    }


class TopicDocument(TypedDict):
    """All of a topic."""

    topic: str
    id: str | None
    """None: of a broker from before Kafka 2.8."""
    internal: bool
    configs: dict[str, str]
    """Those that were set for it."""
    partitions: list[Row]


def described(
    topic: Topic, ranges: Mapping[TopicPartition, LogRange], configs: ConfigAnswers
) -> TopicDocument:
    """All of it. `configs` are kafka-python's answers by key, of its broker too."""
    uuid = topic.get("topic_id")  # Before Kafka 2.8 topics had none.
    return {
        "topic": topic["name"],
        "id": format_uuid(Uuid(UUID(uuid).bytes)) if uuid else None,
        "internal": topic["is_internal"],
        "configs": _own(configs),
        "partitions": _partitions(topic, ranges),
    }


def _own(configs: ConfigAnswers) -> dict[str, str]:
    """Those of the topic, without what its broker says."""
    return {
        key: each["value"]
        for key, each in sorted(configs.items())
        if each["config_source"] == "DYNAMIC_TOPIC_CONFIG"
    }


def _partitions(topic: Topic, ranges: Mapping[TopicPartition, LogRange]) -> list[Row]:
    rows: list[Row] = []
    answers = sorted(topic["partitions"], key=lambda partition: partition["partition_index"])
    for answer, partition in zip(answers, partitions_of(topic), strict=True):
        known = ranges.get(partition)
        rows.append(
            {
                "partition": partition.partition,
                "leader": None if known is None else answer["leader_id"],
                "leader_epoch": answer["leader_epoch"],
                "replicas": list(answer["replica_nodes"]),
                "in_sync_replicas": list(answer["isr_nodes"]),
                "offline_replicas": list(answer["offline_replicas"]),
                "start_offset": None if known is None else known.start_offset,
                "end_offset": None if known is None else known.end_offset,
            }
        )
    return rows
