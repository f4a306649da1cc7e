"""Replicas that a test moves by hand: who is in sync, and how far followers are."""

from __future__ import annotations

from collections.abc import Iterable

from kafkalite.replica.followers import FollowerFetch
from kafkalite.server.partition import Partition
from kafkalite.types import NO_BROKER_EPOCH, BrokerId, Offset, TimestampMs


def set_isr(partition: Partition, isr: Iterable[BrokerId], *, now: int = 0) -> None:
    """As the metadata tells it."""
    leader, in_sync = partition.leading, frozenset(isr)
    if leader.change(
        partition_epoch=leader.partition_epoch + 1,
        replicas=in_sync,
        isr=in_sync,
        now=TimestampMs(now),
    ):
        partition.isr_changed()


def follower_at(partition: Partition, follower: BrokerId, offset: int, *, now: int = 0) -> None:
    """The follower asks for that offset."""
    fetch = FollowerFetch(Offset(offset), Offset(0), NO_BROKER_EPOCH)
    partition.fetched_by(follower, fetch, TimestampMs(now))
