"""Partitions in short, for tests of what becomes of them."""

from __future__ import annotations

from typing import Any

from kafkalite.controller.partition_change import Candidates
from kafkalite.metadata.image import PartitionImage, TopicImage
from kafkalite.protocol.messages.metadata_records import PartitionChangeRecord
from kafkalite.types import BrokerId, LeaderEpoch
from tests.controller.sample_cluster import uuid


def ids(*numbers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))


def partition(
    replicas: tuple[int, ...], isr: tuple[int, ...], leader: int, **more: Any
) -> PartitionImage:
    # Any: fields of the partition.
    return PartitionImage(ids(*replicas), ids(*isr), BrokerId(leader), LeaderEpoch(0), 0, **more)


def topic(replicas: tuple[int, ...], isr: tuple[int, ...], leader: int, **more: Any) -> TopicImage:
    # Any: as above.
    return TopicImage("t", uuid(1), (partition(replicas, isr, leader, **more),))


def active(*numbers: int) -> Candidates:
    return Candidates(dict.fromkeys(ids(*numbers), ()))


def change(**fields: Any) -> PartitionChangeRecord:
    # Any: fields of the record.
    return PartitionChangeRecord(partition_id=0, topic_id=uuid(1), **fields)
