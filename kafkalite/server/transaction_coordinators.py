"""All transaction coordinators of one broker, and the markers that they send.

A marker that a partition does not take for the moment is tried again; one that is of a deleted
topic, or of a producer that was fenced there, is not wanted any more.

Kafka differs: a transaction whose producer was fenced in one of its partitions stays prepared there
for ever. Here that partition counts as done.

Source: Kafka's `TransactionCoordinator`, `TransactionStateManager` and
`TransactionMarkerChannelManager`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from kafkalite.config.views import BrokerConfig
from kafkalite.coordinator.transactions.coordinator import TransactionCoordinator
from kafkalite.coordinator.transactions.events import (
    AddPartitions,
    DescribeTransactions,
    EndTransaction,
    Event,
    InitProducerId,
    Loaded,
    MarkersWritten,
    NeedProducerId,
    ProducerIdNeeded,
    ProtocolChanged,
    TransactionTimedOut,
    VerifyPartitions,
    WriteMarkers,
)
from kafkalite.coordinator.transactions.initialization import check_request
from kafkalite.coordinator.transactions.records import (
    Record,
    decode_record,
    encode_key,
    encode_value,
)
from kafkalite.coordinator.transactions.settings import TransactionSettings
from kafkalite.core import Send
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.topic_names import TRANSACTION_STATE
from kafkalite.ports.clock import Clock, Timer
from kafkalite.protocol.records import record as log_record
from kafkalite.protocol.records.batch import BatchHeader
from kafkalite.protocol.records.record import build_batch
from kafkalite.replica.held_back import ACKS_ALL
from kafkalite.server.coordinator_driver import CoordinatorSettings
from kafkalite.server.coordinator_replay import SLICE_BYTES
from kafkalite.server.core_driver import OnReply
from kafkalite.server.led_coordinators import LedCoordinators
from kafkalite.server.partition import Partition
from kafkalite.server.producer_ids import ProducerIds
from kafkalite.server.replica_manager import ReplicaManager
from kafkalite.server.transaction_markers import Marker, Markers
from kafkalite.types import ProducerId, TimestampMs, TopicPartition

TransactionRequest = (
    InitProducerId | AddPartitions | VerifyPartitions | EndTransaction | DescribeTransactions
)
"""Events that clients ask for, about one id."""

AskElsewhere = Callable[[AddPartitions | VerifyPartitions, OnReply], None]
FEATURE: Final = "transaction.version"
RETRY_MS: Final = 100
"""After a partition did not take a marker, or there was no producer id to be had."""
_DONE = (
    ErrorCode.NONE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.TRANSACTION_COORDINATOR_FENCED,
)


class _Codec:
    """See `RecordCodec`: each record in the version that `transaction.version` asks for."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas

    def batch(self, records: tuple[Record, ...], now: TimestampMs) -> bytearray:
        version = 1 if protocol_version(self._replicas) > 0 else 0
        return build_batch(
            [
                log_record.Record(encode_key(each), encode_value(each, version), timestamp=now)
                for each in records
            ]
        )

    def read(self, record: log_record.Record, header: BatchHeader) -> Record | None:
        return None if header.is_control else decode_record(record.key or b"", record.value)

    def tells_all(self, record: log_record.Record) -> bool:
        """Each one is read: they are few."""
        return False


def protocol_version(replicas: ReplicaManager) -> int:
    """The cluster's `transaction.version`; 0 where none is finalized."""
    return replicas.image.features.get(FEATURE, 0)


class TransactionCoordinators(LedCoordinators[Event, Record]):
    """A coordinator for each partition of `__transaction_state` that this broker leads."""

    def __init__(
        self,
        config: BrokerConfig,
        replicas: ReplicaManager,
        clock: Clock,
        *,
        markers: Markers,
        producer_ids: ProducerIds,
        ask_elsewhere: AskElsewhere | None = None,
    ) -> None:
        """`ask_elsewhere`: see `VerificationRoutes.ask`; None where there are no others."""
        settings = self._core_settings = TransactionSettings(
            max_timeout_ms=config.transaction_max_timeout_ms,
            id_expiration_ms=config.transactional_id_expiration_ms,
            expiration_check_interval_ms=(
                config.transaction_remove_expired_transaction_cleanup_interval_ms
            ),
        )
        super().__init__(
            config.node_id,
            TRANSACTION_STATE,
            config.transaction_state_log_num_partitions,
            CoordinatorSettings[Event, Record](
                new_core=lambda: TransactionCoordinator(
                    settings, protocol_version=protocol_version(replicas)
                ),
                codec=_Codec(replicas),
                loaded=Loaded(),
                acks=ACKS_ALL,
                load_bytes=min(config.transaction_state_log_load_buffer_size, SLICE_BYTES),
            ),
            replicas=replicas,
            clock=clock,
            on_sends=self._send,
        )
        self._markers = markers
        self._ask_elsewhere = ask_elsewhere
        self._producer_ids = producer_ids
        self._timeout_ms = config.request_timeout_ms
        self._told_version = 0
        self._retries: dict[Timer, None] = {}
        self._verifies_partitions = config.transaction_partition_verification_enable

    @property
    def verifies_partitions(self) -> bool:
        """`transaction.partition.verification.enable`: whether what clients of version 1 of the
        protocol write is taken only for a partition that they have added."""
        return self._verifies_partitions

    def configure(self, config: BrokerConfig) -> None:
        """Act by these settings from now on, where they may change while the broker runs."""
        self._verifies_partitions = config.transaction_partition_verification_enable

    def apply(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """As for every kind; and the version of the protocol may be another one."""
        version = image.features.get(FEATURE, 0)
        if version != self._told_version:
            self._told_version = version
            self.tell_all(ProtocolChanged(version))
        super().apply(image, delta)

    def stop(self) -> None:
        """As for every kind; no marker is tried again."""
        super().stop()
        for timer in self._retries:
            timer.cancel()
        self._retries.clear()

    def ask_about(self, event: TransactionRequest, on_reply: OnReply) -> None:
        """Ask the coordinator of the id that `event` names, as `ask`."""
        if not event.transactional_id:
            on_reply(KafkaError(ErrorCode.INVALID_REQUEST))
        else:
            self.ask(event.transactional_id, event, on_reply)

    def ask_wherever(self, event: AddPartitions | VerifyPartitions, on_reply: OnReply) -> None:
        """As `ask_about`, also where another broker coordinates."""
        is_here = self.coordinates(event.transactional_id)
        if self._ask_elsewhere is None or is_here or not event.transactional_id:
            self.ask_about(event, on_reply)
        else:
            self._ask_elsewhere(event, on_reply)

    def initialize(self, event: InitProducerId, on_reply: OnReply) -> None:
        """As `ask_with_id`; a request that is wrong is refused whoever coordinates."""
        try:
            check_request(event, self._core_settings)
        except KafkaError as error:
            on_reply(error)
        else:
            self.ask_with_id(event, on_reply)

    def ask_with_id(self, event: InitProducerId | EndTransaction, on_reply: OnReply) -> None:
        """As `ask_about`; with a fresh producer id where one turns out to be needed."""

        def first(reply: object) -> None:
            if isinstance(reply, ProducerIdNeeded):
                self._producer_ids.next(again)
            else:
                on_reply(reply)

        def again(fresh: ProducerId | KafkaError) -> None:
            if isinstance(fresh, KafkaError):
                on_reply(fresh)
            else:
                self.ask_about(event._replace(fresh_id=fresh), on_reply)

        self.ask_about(event, first)

    # Markers, and ids that nobody waits for.

    def _send(self, partition: Partition, sends: tuple[Send, ...]) -> None:
        if partition.leader is None:
            return
        epoch = partition.leader.leader_epoch
        for send in sends:
            if isinstance(send.request, NeedProducerId):
                self._get_id(partition, epoch, send.request)
            else:
                assert isinstance(send.request, WriteMarkers), send
                self._write(partition, epoch, send.request, send.request.partitions)

    def _get_id(self, home: Partition, epoch: int, wanted: NeedProducerId) -> None:
        def on_id(fresh: ProducerId | KafkaError) -> None:
            if isinstance(fresh, KafkaError):
                self._retry_later(partial(self._get_id, home, epoch, wanted), home, epoch)
            else:
                id, producer = wanted
                self.tell(home.index, TransactionTimedOut(id, producer, fresh))

        self._producer_ids.next(on_id)

    def _write(
        self,
        home: Partition,
        epoch: int,
        wanted: WriteMarkers,
        partitions: frozenset[TopicPartition],
    ) -> None:
        """`home` keeps the transaction, `epoch` is the leader epoch that its coordinator has."""
        marker = Marker(
            wanted.producer.id,
            wanted.producer.epoch,
            wanted.commits,
            epoch,
            wanted.protocol_version,
        )

        def on_codes(codes: dict[TopicPartition, ErrorCode]) -> None:
            left = frozenset(each for each, code in codes.items() if code not in _DONE)
            if not left:
                self.tell(home.index, MarkersWritten(wanted.transactional_id, wanted.producer))
            else:
                self._retry_later(partial(self._write, home, epoch, wanted, left), home, epoch)

        self._markers.write(marker, partitions, self._timeout_ms, on_codes)

    def _retry_later(self, again: Callable[[], None], home: Partition, epoch: int) -> None:
        """Unless another broker coordinates by then: it sends markers of its own."""

        def fire() -> None:
            del self._retries[timer]
            if home.leader is not None and home.leader.leader_epoch == epoch:
                again()

        timer = self._clock.call_at(self._clock.now_ms() + RETRY_MS, fire)
        self._retries[timer] = None
