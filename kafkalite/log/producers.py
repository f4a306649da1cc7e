"""What a partition remembers of each idempotent or transactional producer (KIP-98, KIP-185).

Enough to tell a retry from a gap: the epoch, and the last five batches. It is rebuilt from the
log's batches, and saved in snapshots (producer_snapshots.py) so that opening replays only what came
after. Source: Kafka's `ProducerStateManager` and `ProducerAppendInfo`.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.log.verifications import Verifications
from kafkalite.protocol.records.batch import MAX_SEQUENCE, NO_SEQUENCE, BatchHeader
from kafkalite.types import NO_PRODUCER_EPOCH, Offset, ProducerEpoch, ProducerId, TimestampMs

BATCHES_RETAINED = 5
"""How far back a retry is recognised; clients have at most five requests in flight."""
PRODUCER_EXPIRATION_MS = 86_400_000
"""The default of `producer.id.expiration.ms`."""
NO_COORDINATOR_EPOCH = -1


class BatchMetadata(NamedTuple):
    """One batch of a producer, as it was appended."""

    last_sequence: int
    last_offset: Offset
    offset_delta: int
    """Last offset less first offset."""
    timestamp: TimestampMs

    @property
    def first_offset(self) -> Offset:
        """The offset of its first record."""
        return Offset(self.last_offset - self.offset_delta)

    @property
    def first_sequence(self) -> int:
        """The sequence of its first record; wraps below 0."""
        return (self.last_sequence - self.offset_delta) & MAX_SEQUENCE


class ProducerState:
    """One producer. `batches` is oldest first, at most five, all of the present epoch."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "epoch",
        "last_timestamp",
        "producer_id",
        "transaction_first_offset",
    )

    def __init__(self, producer_id: ProducerId) -> None:
        self.producer_id = producer_id
        self.epoch = NO_PRODUCER_EPOCH
        self.coordinator_epoch = NO_COORDINATOR_EPOCH
        self.last_timestamp = TimestampMs(-1)
        self.transaction_first_offset: Offset | None = None
        """Where its open transaction began; None when it has none."""
        self.batches: deque[BatchMetadata] = deque(maxlen=BATCHES_RETAINED)

    @property
    def last_sequence(self) -> int:
        """The last sequence appended in this epoch; -1 when none was."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def is_followed_by(self, header: BatchHeader) -> bool:
        """Whether that is the very next batch, as nearly all are: then it repeats none. False says
        nothing: sequences wrap, and epochs begin."""
        batches = self.batches
        return (
            len(batches) > 0
            and header.base_sequence == batches[-1].last_sequence + 1
            and header.producer_epoch == self.epoch
        )

    def find_duplicate(self, header: BatchHeader) -> BatchMetadata | None:
        """The batch that `header` repeats, if it is one of the last five."""
        if header.producer_epoch != self.epoch:
            return None
        first, last = header.base_sequence, header.last_sequence
        for batch in self.batches:
            if batch.last_sequence == last and batch.first_sequence == first:
                return batch
        return None


class _Ended(NamedTuple):
    """A transaction that had records, from the first to its marker, both inclusive."""

    first_offset: Offset
    last_offset: Offset


class ProducerStates:
    """All producers that wrote to one log and have not expired."""

    __slots__ = ("_ended", "_name", "_open", "_states", "expiration_ms", "verifications")

    def __init__(self, name: str, expiration_ms: int = PRODUCER_EXPIRATION_MS) -> None:
        self._name = name
        self.expiration_ms = expiration_ms
        """After how long a producer that is silent is forgotten; may be replaced."""
        self._states: dict[ProducerId, ProducerState] = {}
        self._open: dict[ProducerId, Offset] = {}
        """Open transactions, the one that began first at first: where each began."""
        self.verifications = Verifications()
        """Of transactions that are not open yet."""
        self._ended: deque[_Ended] = deque()
        """Those whose markers may not be committed, in the order of the markers."""

    def __len__(self) -> int:
        return len(self._states)

    def get(self, producer_id: ProducerId) -> ProducerState | None:
        """One producer's state; None when it is unknown or has expired."""
        return self._states.get(producer_id)

    def active(self) -> list[ProducerState]:
        """All states, in the order in which they came."""
        return list(self._states.values())

    @property
    def first_unstable_offset(self) -> Offset | None:
        """Where the oldest open transaction began; None when none is open."""
        for first in self._open.values():
            return first
        return None

    @property
    def has_transactions(self) -> bool:
        """Whether `last_stable_offset` may be below the high watermark."""
        return bool(self._open or self._ended)

    def last_stable_offset(self, high_watermark: Offset) -> Offset:
        """Where, with that high watermark (which does not fall from call to call), the oldest
        transaction began that is open, or whose marker is not committed; else the high
        watermark."""
        ended = self._ended
        while ended and ended[0].last_offset < high_watermark:
            ended.popleft()
        stable = high_watermark
        for first in self._open.values():
            stable = min(stable, first)
            break
        return min(stable, *(each.first_offset for each in ended)) if ended else stable

    def is_in_transaction(self, producer_id: ProducerId, epoch: ProducerEpoch) -> bool:
        """Whether the producer has an open transaction here, in that epoch."""
        return producer_id in self._open and self._states[producer_id].epoch == epoch

    def is_fenced(self, producer_id: ProducerId, epoch: ProducerEpoch) -> bool:
        """Whether another of that id has written here since."""
        state = self._states.get(producer_id)
        return state is not None and epoch < state.epoch

    def check(self, header: BatchHeader, offset: Offset) -> BatchMetadata | None:
        """What a client's batch repeats; None when it is new and in order.

        INVALID_PRODUCER_EPOCH for an epoch gone by, OUT_OF_ORDER_SEQUENCE_NUMBER for a gap,
        INVALID_TXN_STATE for a plain batch amid a transaction. A producer that is not known may
        begin with any sequence: what it wrote before may have been deleted.
        """
        state = self._states.get(header.producer_id)
        if state is None:
            if header.producer_epoch < NO_PRODUCER_EPOCH:
                self._check_epoch(ProducerState(header.producer_id), header.producer_epoch, offset)
            return None
        if not state.is_followed_by(header):
            duplicate = state.find_duplicate(header)
            if duplicate is not None:
                return duplicate
            self._check_epoch(state, header.producer_epoch, offset)
            self._check_sequence(state, header, offset)
        if state.transaction_first_offset is not None and not header.is_transactional:
            raise KafkaError(
                ErrorCode.INVALID_TXN_STATE,
                f"Expected transactional write from producer {header.producer_id} "
                f"at offset {offset} in partition {self._name}",
            )
        return None

    def check_coordinator_batch(self, header: BatchHeader, offset: Offset) -> None:
        """Refuse what a coordinator writes for a producer that was fenced here:
        INVALID_PRODUCER_EPOCH."""
        state = self._states.get(header.producer_id)
        if state is not None:
            self._check_epoch(state, header.producer_epoch, offset)

    def check_marker(
        self, header: BatchHeader, coordinator_epoch: int, offset: Offset, *, bumps_epoch: bool
    ) -> None:
        """Refuse the marker of a producer that was fenced here (INVALID_PRODUCER_EPOCH), or of a
        coordinator that is none any more (TRANSACTION_COORDINATOR_FENCED). `bumps_epoch`: the
        marker's epoch is above the one that its transaction had; when it comes again, nothing is
        open in it."""
        state = self._states.get(header.producer_id)
        if state is None:
            return
        least = header.producer_epoch
        if bumps_epoch and header.producer_id in self._open:
            least = ProducerEpoch(least - 1)
        self._check_epoch(state, least, offset)
        if coordinator_epoch < state.coordinator_epoch:
            raise KafkaError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"Invalid coordinator epoch for producerId {header.producer_id} at offset {offset} "
                f"in partition {self._name}: {coordinator_epoch} (zombie), "
                f"{state.coordinator_epoch} (current)",
            )

    def _check_epoch(self, state: ProducerState, epoch: ProducerEpoch, offset: Offset) -> None:
        if epoch < state.epoch:
            raise KafkaError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"Epoch of producer {state.producer_id} at offset {offset} in {self._name} "
                f"is {epoch}, which is smaller than the last seen epoch {state.epoch}",
            )

    def _check_sequence(self, state: ProducerState, header: BatchHeader, offset: Offset) -> None:
        first = header.base_sequence
        if header.producer_epoch != state.epoch:
            if first != 0 and state.epoch != NO_PRODUCER_EPOCH:
                raise KafkaError(
                    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                    f"Invalid sequence number for new epoch of producer {state.producer_id} "
                    f"at offset {offset} in partition {self._name}: "
                    f"{header.producer_epoch} (request epoch), {first} (seq. number), "
                    f"{state.epoch} (current producer epoch)",
                )
            return
        last = state.last_sequence
        if first != last + 1 and not (first == 0 and last == MAX_SEQUENCE):
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Out of order sequence number for producer {state.producer_id} "
                f"at offset {offset} in partition {self._name}: {first} (incoming seq. number), "
                f"{last} (current end sequence number)",
            )

    def appended(
        self,
        header: BatchHeader,
        base_offset: Offset,
        timestamp: TimestampMs,
    ) -> None:
        """Take in a batch of data with a producer id that now stands at `base_offset`."""
        state = self._states.get(header.producer_id)
        if state is None or state.epoch != header.producer_epoch:
            state = self._state_in_epoch(header.producer_id, header.producer_epoch)
        delta = header.last_offset_delta
        last_offset = Offset(base_offset + delta)
        state.batches.append(BatchMetadata(header.last_sequence, last_offset, delta, timestamp))
        state.last_timestamp = timestamp
        if header.is_transactional:
            self.verifications.appended(header.producer_id)
            if state.transaction_first_offset is None:
                state.transaction_first_offset = self._open[header.producer_id] = base_offset

    def transaction_ended(
        self, header: BatchHeader, coordinator_epoch: int, timestamp: TimestampMs
    ) -> Offset | None:
        """Take in an end-transaction marker; where its transaction began, None if it was empty."""
        state = self._state_in_epoch(header.producer_id, header.producer_epoch)
        first, state.transaction_first_offset = state.transaction_first_offset, None
        self._open.pop(header.producer_id, None)
        self.verifications.transaction_ended(header.producer_id, header.producer_epoch)
        if first is not None:
            self._ended.append(_Ended(first, header.last_offset))
        state.coordinator_epoch = coordinator_epoch
        state.last_timestamp = timestamp
        return first

    def _state_in_epoch(self, producer_id: ProducerId, epoch: ProducerEpoch) -> ProducerState:
        state = self._states.get(producer_id)
        if state is None:
            state = self._states[producer_id] = ProducerState(producer_id)
        if state.epoch != epoch:
            state.epoch = epoch
            state.batches.clear()
        return state

    def remove_expired(self, now: TimestampMs) -> None:
        """Forget producers silent for `producer.id.expiration.ms`, unless in a transaction."""
        for state in self.active():
            if self._is_expired(state, now):
                del self._states[state.producer_id]
        self.verifications.remove_expired(now, self.expiration_ms)

    def _is_expired(self, state: ProducerState, now: TimestampMs) -> bool:
        return (
            state.transaction_first_offset is None
            and now - state.last_timestamp >= self.expiration_ms
        )

    def become(self, other: ProducerStates) -> None:
        """Know what `other` does, which is not used any more, but for verifications."""
        self._states, self._open, self._ended = other._states, other._open, other._ended

    def restore(self, states: list[ProducerState], now: TimestampMs) -> None:
        """Hold these, but for the expired ones, and no others."""
        self._states = {
            state.producer_id: state for state in states if not self._is_expired(state, now)
        }
        self._ended.clear()
        began = (
            (state.producer_id, state.transaction_first_offset) for state in self._states.values()
        )
        self._open = dict(
            sorted(
                ((producer_id, first) for producer_id, first in began if first is not None),
                key=lambda pair: pair[1],
            )
        )
