"""Whether the simulation of a cluster would notice: replication is broken by hand, and the checker
that it concerns must see it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from kafkalite.controller import partition_change
from kafkalite.log.producers import ProducerStates
from kafkalite.metadata import registrations, topics_draft
from kafkalite.metadata.image import PartitionImage
from kafkalite.replica.leader import PartitionLeader
from kafkalite.server.followed_partition import FollowedPartition
from kafkalite.testing.checkers import ViolationError
from kafkalite.types import Offset, TimestampMs
from tests.simulation.cluster_scenario import simulate

MOST_SEEDS = 25
LOST = "was acknowledged or read|where .* was before|both at offset|OFFSET_OUT_OF_RANGE"
DIFFERENT = r"below the high watermark \d+ of both|the logs of brokers . and . differ"
Patch = pytest.MonkeyPatch
Original = Callable[..., Any]  # Any: what is broken is called with whatever the product passes on.


def commits_what_it_alone_has(patch: Patch) -> None:
    def appended(leader: PartitionLeader, end_offset: Offset, now: TimestampMs = 0) -> bool:  # type: ignore[assignment]
        leader.end_offset = leader.high_watermark = end_offset
        return True

    patch.setattr(PartitionLeader, "appended", appended)


def elects_who_is_out_of_sync(patch: Patch) -> None:
    """Any replica that lives, the least likely first."""
    elect: Original = partition_change._elect

    def any_replica(before: PartitionImage, target: Any, candidates: Any, *rules: Any) -> Any:
        if candidates.may_lead(before, before.leader):
            return elect(before, target, candidates, *rules)
        for id in reversed(before.replicas):
            if candidates.may_lead(before, id):
                return partition_change._Elected(id, is_unclean=True)
        return elect(before, target, candidates, *rules)

    patch.setattr(partition_change, "_elect", any_replica)


def keeps_what_its_leader_does_not_have(patch: Patch) -> None:
    """And takes it for the leader's own."""

    def keep(self: FollowedPartition, offset: Offset, now: TimestampMs) -> None:
        self.partition.log.epochs.assign(self.core.leader_epoch, self.partition.log.end_offset)

    patch.setattr(FollowedPartition, "_truncate_to", keep)


def lets_a_mark_fall(patch: Patch) -> None:
    advance: Original = PartitionLeader._advance
    calls = 0

    def fall(leader: PartitionLeader, now: TimestampMs) -> bool:
        nonlocal calls
        calls += 1
        if calls % 20 == 0:
            leader.high_watermark = Offset(max(0, leader.high_watermark - 3))
            return False
        moved: bool = advance(leader, now)
        return moved

    patch.setattr(PartitionLeader, "_advance", fall)


def keeps_in_sync_who_left(patch: Patch) -> None:
    """What the controller agreed to is not what the leader goes by."""
    commit: Original = PartitionLeader._commit

    def keep(leader: PartitionLeader, isr: Any, partition_epoch: int, now: TimestampMs) -> bool:
        before = getattr(leader, "_isr_in_order", ())
        kept: bool = commit(leader, dict.fromkeys((*before, *isr)), partition_epoch, now)
        return kept

    patch.setattr(PartitionLeader, "_commit", keep)


def elects_without_a_new_epoch(patch: Patch) -> None:
    changed: Original = registrations.changed_partition

    def same_epoch(before: PartitionImage, record: Any) -> PartitionImage:
        after: PartitionImage = changed(before, record)
        return after._replace(leader_epoch=before.leader_epoch)

    patch.setattr(topics_draft, "changed_partition", same_epoch)


def forgets_what_producers_sent(patch: Patch) -> None:
    patch.setattr(ProducerStates, "check", lambda states, header, offset: None)


@pytest.mark.parametrize(
    ("sabotage", "seen_as"),
    [
        (commits_what_it_alone_has, LOST),
        (elects_who_is_out_of_sync, f"{LOST}|{DIFFERENT}"),
        (keeps_what_its_leader_does_not_have, DIFFERENT),
        (elects_without_a_new_epoch, "is led by brokers . and . in epoch"),
        (keeps_in_sync_who_left, "are in sync for .* in partition epoch"),
        (lets_a_mark_fall, "the high watermark of .* fell"),
        (forgets_what_producers_sent, "has the records of once-"),
    ],
)
def test_what_is_broken_is_seen(
    monkeypatch: Patch, sabotage: Callable[[Patch], None], seen_as: str
) -> None:
    sabotage(monkeypatch)
    with pytest.raises(ViolationError, match=seen_as):
        _simulate_seeds(seen_as)


def _simulate_seeds(seen_as: str) -> None:
    """Until that checker sees it: others may see it sooner."""
    for seed in range(1, MOST_SEEDS + 1):
        try:
            simulate(seed)
        except BaseExceptionGroup as several:
            first = first_of(several)
            if re.search(seen_as, str(first)):
                raise first from several


def first_of(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
