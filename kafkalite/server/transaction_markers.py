"""End-transaction markers on their way into the partitions that a transaction has written to.

In `__consumer_offsets` the group coordinator appends them, since the offsets count, or not, from
there on. Source: Kafka's `TransactionMarkerChannelManager` and `KafkaApis.handleWriteTxnMarkers`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, NamedTuple, Protocol

from kafkalite.coordinator.groups.offset_events import EndTransactionalOffsets
from kafkalite.errors import ErrorCode, KafkaError, code_for
from kafkalite.log.validation import AppendOrigin
from kafkalite.metadata.topic_names import CONSUMER_OFFSETS
from kafkalite.ports.clock import Clock
from kafkalite.protocol.records.control import EndTransactionMarker, build_end_transaction_batch
from kafkalite.replica.held_back import ACKS_ALL
from kafkalite.server.group_coordinators import GroupCoordinators
from kafkalite.server.purgatory import CommitWait
from kafkalite.server.replica_manager import ReplicaManager
from kafkalite.types import Offset, ProducerEpoch, ProducerId, TimestampMs, TopicPartition

BUMPS_EPOCHS: Final = 2
"""The version of the transaction protocol whose markers have an epoch above their transaction's."""

OnCode = Callable[[ErrorCode], None]
OnCodes = Callable[[dict[TopicPartition, ErrorCode]], None]


class Marker(NamedTuple):
    """How one producer's transaction ends."""

    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    commits: bool
    coordinator_epoch: int
    protocol_version: int


class Markers(Protocol):
    """Has markers written."""

    def write(
        self,
        marker: Marker,
        partitions: Iterable[TopicPartition],
        timeout_ms: int,
        on_codes: OnCodes,
    ) -> None:
        """Append the marker to each; call `on_codes` when all are committed, or were refused."""
        ...


class MarkerWriter:
    """Writes markers to partitions that this broker leads."""

    def __init__(self, replicas: ReplicaManager, groups: GroupCoordinators, clock: Clock) -> None:
        self._replicas = replicas
        self._groups = groups
        self._clock = clock

    def write(
        self,
        marker: Marker,
        partitions: Iterable[TopicPartition],
        timeout_ms: int,
        on_codes: OnCodes,
    ) -> None:
        """See `Markers`."""
        codes: dict[TopicPartition, ErrorCode] = dict.fromkeys(
            sorted(partitions), ErrorCode.REQUEST_TIMED_OUT
        )
        missing = len(codes)
        if not missing:
            on_codes(codes)

        def on_code(partition: TopicPartition, code: ErrorCode) -> None:
            nonlocal missing
            codes[partition] = code
            missing -= 1
            if not missing:
                on_codes(codes)

        for partition in list(codes):
            self._write_one(marker, partition, timeout_ms, partial(on_code, partition))

    def _write_one(
        self, marker: Marker, to: TopicPartition, timeout_ms: int, on_code: OnCode
    ) -> None:
        if to.topic not in self._replicas.image.topics:
            on_code(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        elif marker.producer_id < 0 or marker.producer_epoch < 0:
            on_code(ErrorCode.UNKNOWN_SERVER_ERROR)
        elif to.topic == CONSUMER_OFFSETS:
            self._tell_groups(marker, to, on_code)
        else:
            self._append(marker, to, timeout_ms, on_code)

    def _tell_groups(self, marker: Marker, to: TopicPartition, on_code: OnCode) -> None:
        event = EndTransactionalOffsets(
            None,
            marker.producer_id,
            marker.producer_epoch,
            marker.commits,
            marker.coordinator_epoch,
        )

        def on_reply(reply: object) -> None:
            on_code(reply.code if isinstance(reply, KafkaError) else ErrorCode.NONE)

        self._groups.ask_at(to.partition, event, on_reply)

    def _append(self, marker: Marker, to: TopicPartition, timeout_ms: int, on_code: OnCode) -> None:
        now = self._clock.now_ms()
        batch = build_end_transaction_batch(
            EndTransactionMarker(marker.commits, marker.coordinator_epoch),
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            timestamp=now,
        )
        try:
            partition = self._replicas.find(to.topic, to.partition)
        except KafkaError as error:
            on_code(error.code)
            return
        try:
            appended = partition.append(
                memoryview(batch),
                ACKS_ALL,
                now,
                AppendOrigin.COORDINATOR,
                marker_bumps_epoch=marker.protocol_version >= BUMPS_EPOCHS,
            )
        except (KafkaError, OSError) as error:
            if isinstance(error, OSError):
                partition.refused(error)
            on_code(code_for(error))
            return
        end = Offset(appended.last_offset + 1)
        if partition.high_watermark >= end:
            on_code(ErrorCode.NONE)
            return

        def committed() -> None:
            is_committed = partition.high_watermark >= end
            on_code(ErrorCode.NONE if is_committed else ErrorCode.REQUEST_TIMED_OUT)

        deadline = TimestampMs(now + timeout_ms)
        CommitWait(self._clock, deadline, ends=[(partition, end)], answer=lambda: None).parked.then(
            lambda _: committed()
        )
