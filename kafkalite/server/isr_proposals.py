"""Asks the controller for other in-sync replicas: all partitions that want some in one request, one
request at a time.

Source: Kafka's `DefaultAlterPartitionManager`, and `maybeShrinkIsr` of `ReplicaManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, Final

from kafkalite.controller.replica_events import (
    AlteredPartition,
    AlterPartitions,
    PartitionsAltered,
    ProposedIsr,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.ports.clock import Clock, Timer
from kafkalite.replica.isr_proposal import IsrProposal
from kafkalite.server.partition import Partition
from kafkalite.server.periodic import Periodic
from kafkalite.types import BrokerEpoch, BrokerId, TimestampMs

_log = logging.getLogger(__name__)

RETRY_MS: Final = 50
"""Before what was refused for a reason that passes is asked again, as in Kafka."""

# Any: the reply's type follows from the event's.
Submit = Callable[[AlterPartitions, Callable[[Any], None]], None]


class IsrProposals:
    """Of one broker."""

    def __init__(
        self,
        broker_id: BrokerId,
        submit: Submit,
        clock: Clock,
        *,
        broker_epoch: Callable[[], BrokerEpoch],
        lag_time_max_ms: int,
        keeps_order: bool = False,
    ) -> None:
        """`submit` asks the controller, wherever that is; `broker_epoch` is this broker's own.
        `keeps_order`: whoever joins comes last, as Kafka 3.9 has it over ZooKeeper; else members
        are named by id, as Kafka 4.4 names them."""
        self._broker_id = broker_id
        self._submit = submit
        self._clock = clock
        self._broker_epoch = broker_epoch
        self._keeps_order = keeps_order
        self._interval_ms = max(lag_time_max_ms // 2, 1)
        self._waiting: dict[Partition, IsrProposal] = {}
        self._is_asking = False
        self._timer: Timer | None = None
        self._reviews: Periodic | None = None
        self._is_stopped = False

    def start(self, partitions: Callable[[], Iterable[Partition]]) -> None:
        """Have those that lag leave, from now on. `partitions`: all that are in use."""

        def review() -> None:
            now = self._clock.now_ms()
            for partition in partitions():
                partition.review_isr(now)

        self._reviews = Periodic(
            self._clock, review, first_after_ms=self._interval_ms, interval_ms=self._interval_ms
        )

    def propose(self, partition: Partition, proposal: IsrProposal) -> None:
        """Ask for it, in a turn of its own: several come together."""
        self._waiting[partition] = proposal
        self._ask_at(self._clock.now_ms())

    def stop(self) -> None:
        """Ask nothing more."""
        self._is_stopped = True
        self._waiting.clear()
        if self._reviews is not None:
            self._reviews.stop()
        if self._timer is not None:
            self._timer.cancel()

    def _ask_at(self, at_ms: TimestampMs) -> None:
        if not self._is_asking and self._timer is None and not self._is_stopped:
            self._timer = self._clock.call_at(at_ms, self._ask)

    def _ask(self) -> None:
        self._timer = None
        asked = {
            partition: proposal
            for partition, proposal in self._waiting.items()
            if partition.leader is not None and partition.leader.proposal is proposal
        }
        self._waiting = {}
        if not asked:
            return
        event = AlterPartitions(
            None,
            self._broker_id,
            self._broker_epoch(),
            tuple(self._proposed(partition, proposal) for partition, proposal in asked.items()),
        )
        self._is_asking = True
        self._submit(event, lambda reply: self._answered(asked, reply))

    def _answered(self, asked: dict[Partition, IsrProposal], reply: object) -> None:
        self._is_asking = False
        if self._is_stopped:
            return
        now = self._clock.now_ms()
        again: dict[Partition, IsrProposal] = {}
        if isinstance(reply, PartitionsAltered):
            # By name: over the wire they come by topic, and from a Kafka in the order of its map.
            answers = {(each.topic_id, each.partition): each for each in reply.partitions}
            for partition, proposal in asked.items():
                altered = answers.get((partition.topic_id, partition.index))
                if altered is None or _take(partition, proposal, altered, now):
                    again[partition] = proposal
        else:
            assert isinstance(reply, KafkaError)
            _log.warning("the controller does not change in-sync replicas: %s", reply)
            again = asked
        is_new = bool(self._waiting)
        self._waiting = again | self._waiting
        if is_new:
            self._ask_at(now)
        elif again:
            self._ask_at(TimestampMs(now + RETRY_MS))

    def _proposed(self, partition: Partition, proposal: IsrProposal) -> ProposedIsr:
        members = proposal.isr if self._keeps_order else tuple(sorted(proposal.isr))
        return ProposedIsr(
            partition.topic_id,
            partition.index,
            proposal.leader_epoch,
            proposal.partition_epoch,
            members,
        )


def _take(
    partition: Partition, proposal: IsrProposal, altered: AlteredPartition, now: TimestampMs
) -> bool:
    """What became of one proposal. True if it is to be asked again."""
    leader = partition.leader
    if leader is None:
        return False
    if altered.code is not ErrorCode.NONE:
        _log.info(
            "%s-%d: the controller refuses other in-sync replicas with %s",
            partition.topic,
            partition.index,
            altered.code.name,
        )
        return leader.refused(proposal, altered.code)
    if altered.leader_epoch == leader.leader_epoch and leader.altered(
        proposal, altered.isr, altered.partition_epoch, now
    ):
        partition.isr_changed()
    partition.review_isr(now)
    return False
