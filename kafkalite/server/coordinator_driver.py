"""Runs the group coordinator of one partition of `__consumer_offsets`, while this broker leads it.

    loading    the log is replayed into a fresh core, a slice a turn of the loop
    active     events are decided; their records are appended to the partition as one batch
    closed     another broker leads, or the topic is gone: who waits is told NOT_COORDINATOR

A batch that the log does not take, for its size or form, refuses the event that it is of, and the
other groups do not notice. An append that fails otherwise throws the core away, for what it would
have become is lost, and loads a new one from the log. So does a log that cannot be read, after a
pause.

Source: Kafka's `CoordinatorRuntime` and `CoordinatorPartitionWriter`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

from kafkalite.coordinator.groups.classic.events import Loaded, TopicsDeleted
from kafkalite.coordinator.groups.consumer.events import MetadataChanged
from kafkalite.coordinator.groups.coordinator import GroupCoordinator
from kafkalite.coordinator.groups.events import Event
from kafkalite.coordinator.groups.log_record import Record, encode_record
from kafkalite.core import Send
from kafkalite.errors import CorruptRecordError, ErrorCode, KafkaError
from kafkalite.log.validation import AppendOrigin
from kafkalite.ports.clock import Clock, Timer
from kafkalite.protocol.records import record as log_record
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.record import build_batch
from kafkalite.server.coordinator_replay import BATCH_BYTES, SLICE_BYTES, Replay
from kafkalite.server.core_driver import BatchRefused, CoreDriver, OnReply
from kafkalite.server.partition import Partition
from kafkalite.types import Offset

_log = logging.getLogger(__name__)

MAX_EARLY = 10_000
RETRY_MS = 1_000
"""After a log that could not be read, before it is tried again."""
ACKS_LEADER = 1
"""Records are appended without a look at `min.insync.replicas`; replies wait for the high
watermark."""

_BASE_SEQUENCE = 0
"""As Kafka has it in these batches, though no producer numbers them."""

_LOADING = KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
_NOT_HERE = KafkaError(ErrorCode.NOT_COORDINATOR)
_TOLD_AS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
"""What a refused append means to those who asked the coordinator (Kafka's
`handleOperationException`)."""


_ENDS_THE_CORE = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
"""Of the partition, not of the batch."""


class CoordinatorSettings(NamedTuple):
    """What every coordinator of a broker is made with."""

    new_core: Callable[[], GroupCoordinator]
    compression: Compression = Compression.NONE
    """`offsets.topic.compression.codec`."""
    load_bytes: int = SLICE_BYTES
    """Read in one turn of the loop, at most (`offsets.load.buffer.size`)."""


class _PartitionJournal:
    """The partition as a journal."""

    def __init__(self, partition: Partition, clock: Clock, compression: Compression) -> None:
        self._partition = partition
        self._clock = clock
        self._compression = compression

    def append(
        self, records: tuple[Record, ...], on_appended: Callable[[Offset | KafkaError], None]
    ) -> None:
        """See `Journal`. Done before it returns."""
        now = self._clock.now_ms()
        try:
            encoded = [encode_record(record) for record in records]
        except (KafkaError, ValueError) as error:  # A name that is too long for the record.
            on_appended(BatchRefused(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)))
            return
        size = sum(len(each.key) + len(each.value or b"") for each in encoded)
        if size > BATCH_BYTES:
            on_appended(BatchRefused(ErrorCode.UNKNOWN_SERVER_ERROR, f"a batch of {size} bytes"))
            return
        batch = build_batch(
            [log_record.Record(each.key, each.value, timestamp=now) for each in encoded],
            compression=self._compression,
            base_sequence=_BASE_SEQUENCE,
        )
        try:
            appended = self._partition.append(
                memoryview(batch), ACKS_LEADER, now, AppendOrigin.COORDINATOR
            )
        except KafkaError as error:
            kind = KafkaError if error.code in _ENDS_THE_CORE else BatchRefused
            on_appended(kind(_TOLD_AS.get(error.code, error.code), error.message))
        except OSError as error:
            self._partition.refused(error)
            on_appended(KafkaError(ErrorCode.NOT_COORDINATOR, str(error)))
        else:
            on_appended(Offset(appended.last_offset + 1))


class CoordinatorDriver:
    """The coordinator of one partition that this broker leads, from `load` to `close`."""

    def __init__(self, partition: Partition, clock: Clock, settings: CoordinatorSettings) -> None:
        self.partition = partition
        self._clock = clock
        self._settings = settings
        self._driver: CoreDriver[Event, Record] | None = None
        self._early: dict[str, None] = {}
        """Topics that were deleted while the log is read."""
        self._newest: MetadataChanged | None = None
        """What a core is told before all else: it may be made long after this was."""
        self._turn: Timer | None = None
        self._closed = False

    @property
    def active(self) -> bool:
        """Whether events are decided."""
        return self._driver is not None

    def submit(self, event: Event, on_reply: OnReply) -> None:
        """Have the core decide on `event`, which has a token. `on_reply` is called once, before
        this returns or later, with the body or a `KafkaError`."""
        if self._driver is not None:
            self._driver.submit(event, on_reply)
        else:
            on_reply(_NOT_HERE if self._closed else _LOADING)

    def tell(self, event: TopicsDeleted | MetadataChanged) -> None:
        """Something that nobody waits for. While the log is read it is remembered, but not of more
        than `MAX_EARLY` deleted topics: what is committed for the others stays until it expires."""
        if isinstance(event, MetadataChanged):
            self._newest = event
        if self._driver is not None:
            self._driver.submit(event)
        elif isinstance(event, TopicsDeleted) and not self._closed:
            self._early |= dict.fromkeys(event.topics[: MAX_EARLY - len(self._early)])

    def load(self) -> None:
        """Replay the log: at once when it is short, else over some turns of the loop."""
        self._go_on(Replay(self._settings.new_core(), self.partition.log))

    def close(self) -> None:
        """This broker coordinates these groups no more."""
        self._closed = True
        self.partition.on_committed = None
        if self._turn is not None:
            self._turn.cancel()
        driver, self._driver = self._driver, None
        if driver is not None:
            driver.close(_NOT_HERE)

    def _go_on(self, replay: Replay) -> None:
        """Replay as much as one turn of the loop may take."""
        try:
            is_over = replay.step(self._settings.load_bytes)
        except (KafkaError, CorruptRecordError, OSError) as error:
            partition = self.partition
            _log.error("%s-%d cannot be read: %s", partition.topic, partition.index, error)
            if isinstance(error, OSError):
                partition.refused(error)
            self._again_at(self._clock.now_ms() + RETRY_MS, self.load)
            return
        if is_over:
            self._loaded(replay.core, replay.offset)
        else:
            self._again_at(self._clock.now_ms(), lambda: self._go_on(replay))

    def _again_at(self, at_ms: int, callback: Callable[[], None]) -> None:
        self._turn = self._clock.call_at(at_ms, callback)

    def _loaded(self, core: GroupCoordinator, end: Offset) -> None:
        partition = self.partition
        self._turn = None
        if partition.leader is None:
            return  # About to be closed.
        driver = CoreDriver[Event, Record](
            core,
            _PartitionJournal(partition, self._clock, self._settings.compression),
            self._clock,
            applied=end,
            committed=partition.leader.high_watermark,
            on_sends=_no_sends,
            on_failed=self._failed,
            overload=ErrorCode.COORDINATOR_NOT_AVAILABLE,
            bystanders=ErrorCode.NOT_COORDINATOR,
            settle=core.refused,
        )
        self._driver = driver
        partition.on_committed = driver.committed
        if self._newest is not None:
            driver.submit(self._newest)
        driver.submit(Loaded())
        if self._early:
            driver.submit(TopicsDeleted(tuple(self._early)))
            self._early = {}

    def _failed(self, error: KafkaError) -> None:
        """The log took nothing: what the core decided is void."""
        partition = self.partition
        _log.warning(
            "The groups of %s-%d are loaded anew: %s", partition.topic, partition.index, error
        )
        self._driver = None
        partition.on_committed = None
        if not self._closed:
            self._again_at(self._clock.now_ms(), self.load)


def _no_sends(sends: tuple[Send, ...]) -> None:
    raise AssertionError(f"a group coordinator sends nothing: {sends}")
