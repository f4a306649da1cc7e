"""Runs the coordinator of one partition of an internal topic, while this broker leads it: of groups
on `__consumer_offsets`, of transactions on `__transaction_state`.

    loading    the log is replayed into a fresh core, a slice a turn of the loop
    active     events are decided; their records are appended to the partition as one batch
    closed     another broker leads, or the topic is gone: who waits is told NOT_COORDINATOR

A batch that the log does not take, for its size or form, or for now, refuses the event that it is
of, and what else is kept here does not notice. An append that fails otherwise throws the core away,
for what it would have become is lost, and loads a new one from the log. So does a log that cannot
be read, after a pause.

Source: Kafka's `CoordinatorRuntime` and `CoordinatorPartitionWriter`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, NamedTuple, Protocol, TypeVar

from kafkalite.core import Core, Outcome, Send
from kafkalite.errors import CorruptRecordError, ErrorCode, KafkaError
from kafkalite.log.validation import AppendOrigin
from kafkalite.ports.clock import Clock, Timer
from kafkalite.server.coordinator_replay import SLICE_BYTES, RecordCodec, Replay
from kafkalite.server.core_driver import BatchRefused, CoreDriver, DrivenEvent, OnReply
from kafkalite.server.disk_troubles import Trouble
from kafkalite.server.partition import Partition
from kafkalite.types import Offset, TimestampMs

_log = logging.getLogger(__name__)

MAX_EARLY = 10_000
"""Events that wait until the log is read, of those that nobody waits for."""
RETRY_MS = 1_000
"""After a log that could not be read, before it is tried again."""
ACKS_LEADER = 1
"""Records are appended without a look at `min.insync.replicas`."""

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
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
"""Of the partition, and it does not pass."""


E = TypeVar("E", bound=DrivenEvent)
R = TypeVar("R")


class CoordinatorCore(Core[E, R], Protocol):
    """A core whose partition may not take what it decided."""

    def refused(self, records: tuple[R, ...], error: KafkaError, now: TimestampMs) -> Outcome[E, R]:
        """See `Settle`."""
        ...


class CoordinatorSettings(NamedTuple, Generic[E, R]):
    """What every coordinator of one kind is made with."""

    new_core: Callable[[], CoordinatorCore[E, R]]
    codec: RecordCodec[R]
    loaded: E
    """What a core is told when all of its log was applied."""
    acks: int = ACKS_LEADER
    """Replies wait for the high watermark whatever it is; with -1 nothing is appended, and all is
    refused, while fewer replicas are in sync than `min.insync.replicas` asks for."""
    before: Callable[[], tuple[E, ...]] = tuple
    """What it is told before that: it may be made long after those things were."""
    load_bytes: int = SLICE_BYTES
    """Read in one turn of the loop, at most."""


class _PartitionJournal(Generic[R]):
    """The partition as a journal."""

    def __init__(
        self, partition: Partition, clock: Clock, codec: RecordCodec[R], acks: int
    ) -> None:
        self._partition = partition
        self._clock = clock
        self._codec = codec
        self._acks = acks

    def append(
        self, records: tuple[R, ...], on_appended: Callable[[Offset | KafkaError], None]
    ) -> None:
        """See `Journal`. Done before it returns."""
        now = self._clock.now_ms()
        try:
            batch = self._codec.batch(records, now)
        except (KafkaError, ValueError) as error:  # A name that is too long for the record.
            on_appended(BatchRefused(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)))
            return
        try:
            appended = self._partition.append(
                memoryview(batch), self._acks, now, AppendOrigin.COORDINATOR
            )
        except KafkaError as error:
            kind = KafkaError if error.code in _ENDS_THE_CORE else BatchRefused
            on_appended(kind(_TOLD_AS.get(error.code, error.code), error.message))
        except OSError as error:
            self._partition.refused(error)
            on_appended(KafkaError(ErrorCode.NOT_COORDINATOR, str(error)))
        else:
            on_appended(Offset(appended.last_offset + 1))


OnSends = Callable[[Partition, tuple[Send, ...]], None]
"""Carries out what the core of that partition sends."""


def no_sends(partition: Partition, sends: tuple[Send, ...]) -> None:
    """Of a coordinator that sends nothing."""
    raise AssertionError(f"the coordinator of {partition.topic} sends nothing: {sends}")


class CoordinatorDriver(Generic[E, R]):
    """The coordinator of one partition that this broker leads, from `load` to `close`."""

    def __init__(
        self,
        partition: Partition,
        clock: Clock,
        settings: CoordinatorSettings[E, R],
        on_sends: OnSends = no_sends,
    ) -> None:
        self.partition = partition
        self._clock = clock
        self._settings = settings
        self._on_sends = on_sends
        self._driver: CoreDriver[E, R] | None = None
        self._early: list[E] = []
        """What came while the log is read."""
        self._trouble = Trouble()
        self._turn: Timer | None = None
        self._closed = False

    @property
    def active(self) -> bool:
        """Whether events are decided."""
        return self._driver is not None

    def submit(self, event: E, on_reply: OnReply) -> None:
        """Have the core decide on `event`, which has a token. `on_reply` is called once, before
        this returns or later, with the body or a `KafkaError`."""
        if self._driver is not None:
            self._driver.submit(event, on_reply)
        else:
            on_reply(_NOT_HERE if self._closed else _LOADING)

    def tell(self, event: E) -> None:
        """Something that nobody waits for. While the log is read it is remembered, but no more than
        `MAX_EARLY` of it."""
        if self._driver is not None:
            self._driver.submit(event)
        elif not self._closed and len(self._early) < MAX_EARLY:
            self._early.append(event)

    def load(self) -> None:
        """Replay the log: at once when it is short, else over some turns of the loop."""
        core = self._settings.new_core()
        self._go_on(core, Replay(core, self._settings.codec, self.partition))

    def close(self) -> None:
        """This broker coordinates what is kept here no more."""
        self._closed = True
        self.partition.on_committed = None
        if self._turn is not None:
            self._turn.cancel()
        driver, self._driver = self._driver, None
        if driver is not None:
            driver.close(_NOT_HERE)

    def _go_on(self, core: CoordinatorCore[E, R], replay: Replay[E, R]) -> None:
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
            self._loaded(core, replay.offset)
        else:
            self._again_at(self._clock.now_ms(), lambda: self._go_on(core, replay))

    def _again_at(self, at_ms: int, callback: Callable[[], None]) -> None:
        self._turn = self._clock.call_at(at_ms, callback)

    def _loaded(self, core: CoordinatorCore[E, R], end: Offset) -> None:
        partition = self.partition
        self._turn = None
        if partition.leader is None:
            return  # About to be closed.
        driver = CoreDriver[E, R](
            core,
            _PartitionJournal(partition, self._clock, self._settings.codec, self._settings.acks),
            self._clock,
            applied=end,
            committed=partition.leader.high_watermark,
            on_sends=lambda sends: self._on_sends(partition, sends),
            on_failed=self._failed,
            overload=ErrorCode.COORDINATOR_NOT_AVAILABLE,
            bystanders=ErrorCode.NOT_COORDINATOR,
            settle=core.refused,
        )
        self._driver = driver
        partition.on_committed = driver.committed
        for event in (*self._settings.before(), self._settings.loaded):
            driver.submit(event)
        early, self._early = self._early, []
        for event in early:
            driver.submit(event)

    def _failed(self, error: KafkaError) -> None:
        """The log took nothing: what the core decided is void."""
        partition = self.partition
        # It is another one when something was written between.
        level = self._trouble.level(f"{partition.log.end_offset} {error}")
        name = partition.log.name
        _log.log(level, "What %s keeps is loaded anew: %s", name, error)
        self._driver = None
        partition.on_committed = None
        if not self._closed:
            self._again_at(self._clock.now_ms(), self.load)
