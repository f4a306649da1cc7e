"""Judges of records, as `testing.checkers`: what was acknowledged stays, in order and once, at its
offset, and goes only where it was deleted."""

from __future__ import annotations

from collections import Counter, defaultdict

from kafkalite.protocol.records.batch import crc_is_valid, iter_headers
from kafkalite.protocol.records.record import read_records
from kafkalite.testing.checkers import demand, forget_topic
from kafkalite.testing.observations import (
    DeletionSent,
    Died,
    HighWatermarkSeen,
    Observation,
    PartitionAsked,
    PartitionInspected,
    PowerLost,
    RecordsAcknowledged,
    RecordsDeleted,
    RecordsFetched,
    RecordsSent,
    Stopped,
    TopicDeleted,
)
from kafkalite.types import TopicPartition


class AcknowledgedRecordsSurvive:
    """What was acknowledged at an offset stands there ever after."""

    def __init__(self) -> None:
        self._acknowledged: dict[TopicPartition, dict[int, bytes]] = defaultdict(dict)
        self._durable: dict[TopicPartition, int] = {}
        """Below it nothing may go, whatever happens."""

    def see(self, seen: Observation) -> None:
        """See `Checker`."""
        match seen:
            case RecordsAcknowledged():
                self._acknowledge(seen)
            case RecordsFetched():
                for offset, value in values_in(seen.data).items():
                    self._compare(seen.partition, offset, value)
            case PartitionInspected():
                for offset in self._acknowledged[seen.partition]:
                    if offset >= seen.start_offset:
                        self._compare(seen.partition, offset, seen.records.get(offset))
            case Stopped():
                self._durable = {key: max(held) + 1 for key, held in self._held()}
            case PowerLost():
                self._forget(seen)
            case TopicDeleted():
                forget_topic(seen.topic, self._acknowledged)
                forget_topic(seen.topic, self._durable)
            case _:
                pass

    def _held(self) -> list[tuple[TopicPartition, dict[int, bytes]]]:
        return [(key, held) for key, held in self._acknowledged.items() if held]

    def _acknowledge(self, seen: RecordsAcknowledged) -> None:
        held = self._acknowledged[seen.partition]
        for offset, value in enumerate(seen.values, seen.base_offset):
            before = held.setdefault(offset, value)
            demand(
                before == value,
                f"{seen.partition} acknowledged {before!r} and {value!r}, both at offset {offset}",
            )

    def _compare(self, partition: TopicPartition, offset: int, value: bytes | None) -> None:
        promised = self._acknowledged[partition].get(offset)
        demand(
            promised is None or promised == value,
            f"{partition} acknowledged {promised!r} at offset {offset}, where {value!r} is now",
        )

    def _forget(self, seen: PowerLost) -> None:
        for partition, held in self._held():
            end = seen.end_offsets.get(partition, 0)
            durable = self._durable.get(partition, 0)
            demand(
                end >= durable,
                f"{partition} ends at {end}, but was stopped cleanly when it ended at {durable}",
            )
            for offset in [offset for offset in held if offset >= end]:
                del held[offset]


class EachRecordInOrder:
    """A producer's records stand in the order of their sending, and those of an idempotent producer
    once. A plain producer's repeat themselves where it sent them again, and DeleteRecords may have
    taken them where they stood first. Nothing else is there."""

    def __init__(self) -> None:
        self._sent: dict[bytes, tuple[str, int]] = {}
        """Value: its producer, and its place among what that one sent to its partition."""
        self._counts: dict[tuple[str, TopicPartition], int] = defaultdict(int)
        self._times: dict[bytes, int] = defaultdict(int)
        self._idempotent: set[str] = set()

    def see(self, seen: Observation) -> None:
        """See `Checker`."""
        match seen:
            case RecordsSent():
                self._remember(seen)
            case PartitionInspected():
                self._inspect(seen)
            case _:
                pass

    def _remember(self, seen: RecordsSent) -> None:
        if seen.is_idempotent:
            self._idempotent.add(seen.producer)
        key = (seen.producer, seen.partition)
        for value in seen.values:
            self._times[value] += 1
            if value not in self._sent:
                self._sent[value] = (seen.producer, self._counts[key])
                self._counts[key] += 1

    def _inspect(self, seen: PartitionInspected) -> None:
        for offset, value in seen.records.items():
            demand(
                value in self._sent, f"nobody sent {value!r} at offset {offset} of {seen.partition}"
            )
        begun_before = self._begun_before(seen)
        latest: dict[str, int] = {}
        found: dict[bytes, int] = defaultdict(int)
        for offset, value in sorted(seen.records.items()):
            where = f"{value!r} at offset {offset} of {seen.partition}"
            producer, place = self._sent[value]
            found[value] += 1
            if found[value] == 1 and place > begun_before.get(producer, -1):
                demand(place > latest.get(producer, -1), f"{where} comes after what was sent later")
                latest[producer] = place
            allowed = 1 if producer in self._idempotent else self._times[value]
            demand(
                found[value] <= allowed,
                f"{where} is there for the {found[value]}th time, of {allowed} allowed",
            )

    def _begun_before(self, seen: PartitionInspected) -> dict[str, int]:
        """By plain producer, up to which place (inclusive) the first copies may have stood below
        the log's start: what is found of these are copies sent again, in no order.

        First copies stand in order, so with one that is below the start all earlier ones are: each
        of them is found less often than it was sent.
        """
        before: dict[str, int] = {}
        if seen.start_offset == 0:
            return before
        found = Counter(seen.records.values())
        whole = set(self._idempotent)
        for value in sorted(found, key=self._sent.__getitem__):
            producer, place = self._sent[value]
            if producer not in whole and found[value] < self._times[value]:
                before[producer] = place
            else:
                whole.add(producer)
        return before


class HighWatermarkNeverFalls:
    """Nor does it fall behind what was acknowledged: with one replica that is the end."""

    def __init__(self) -> None:
        self._known: dict[TopicPartition, int] = defaultdict(int)
        self._asked: dict[int, int] = {}
        """Token: what was known when the question went out."""

    def see(self, seen: Observation) -> None:
        """See `Checker`."""
        match seen:
            case PartitionAsked():
                self._asked[seen.token] = self._known[seen.partition]
            case HighWatermarkSeen():
                least = self._asked.pop(seen.token)
                demand(
                    seen.high_watermark >= least,
                    f"the high watermark of {seen.partition} fell from {least} to "
                    f"{seen.high_watermark}",
                )
                self._raise(seen.partition, seen.high_watermark)
            case RecordsAcknowledged():
                self._raise(seen.partition, seen.base_offset + len(seen.values))
            case PowerLost():
                self._asked = dict.fromkeys(self._asked, 0)
                self._known.clear()
                self._known.update(seen.end_offsets)
            case TopicDeleted():
                forget_topic(seen.topic, self._known)
            case _:
                pass

    def _raise(self, partition: TopicPartition, offset: int) -> None:
        self._known[partition] = max(self._known[partition], offset)


class OffsetsHaveNoHoles:
    """Each offset of a topic that is not compacted has its record; a fetch begins with the batch of
    what was asked for and gives nothing above the high watermark."""

    def see(self, seen: Observation) -> None:
        """See `Checker`."""
        match seen:
            case RecordsFetched() if seen.data:
                self._check(seen)
            case PartitionInspected():
                expected = range(seen.start_offset, seen.end_offset)
                demand(
                    list(seen.records) == list(expected),
                    f"{seen.partition} should have the offsets of {expected}, "
                    f"not {list(seen.records)}",
                )
            case _:
                pass

    def _check(self, seen: RecordsFetched) -> None:
        expected: int | None = None
        for position, header in iter_headers(seen.data):
            where = f"the batch at offset {header.base_offset} of {seen.partition}"
            if expected is None:
                demand(
                    header.base_offset <= seen.offset <= header.last_offset,
                    f"{where} was the answer to a fetch from {seen.offset}",
                )
            else:
                demand(header.base_offset == expected, f"{where} follows on offset {expected - 1}")
            demand(
                header.last_offset < seen.high_watermark,
                f"{where} was shown below the high watermark {seen.high_watermark}",
            )
            offsets = [record.offset for record in read_records(seen.data, position, header)]
            demand(
                offsets == list(range(header.base_offset, header.next_offset)),
                f"{where} holds the offsets {offsets}",
            )
            expected = header.next_offset


class ReadsAreStable:
    """The same offset gives the same bytes for ever."""

    def __init__(self) -> None:
        self._batches: dict[TopicPartition, dict[int, bytes]] = defaultdict(dict)

    def see(self, seen: Observation) -> None:
        """See `Checker`."""
        match seen:
            case RecordsFetched():
                known = self._batches[seen.partition]
                for position, header in iter_headers(seen.data):
                    batch = seen.data[position : position + header.size_bytes]
                    before = known.setdefault(header.base_offset, batch)
                    where = f"the batch at offset {header.base_offset} of {seen.partition}"
                    demand(batch == before, f"{where} was {before.hex()} and is {batch.hex()}")
                    demand(crc_is_valid(batch, 0, header), f"{where} is corrupt: {batch.hex()}")
            case PowerLost():
                for partition, known in self._batches.items():
                    end = seen.end_offsets.get(partition, 0)
                    for offset in [offset for offset in known if offset >= end]:
                        del known[offset]
            case TopicDeleted():
                forget_topic(seen.topic, self._batches)
            case _:
                pass


class DeletedRecordsStayAway:
    """A partition begins where records were deleted up to, and nowhere else. A death of the broker
    may bring back what was deleted since its last clean stop, for the start is not synced."""

    def __init__(self) -> None:
        self._sent: dict[TopicPartition, int] = defaultdict(int)
        """The most that may be deleted."""
        self._start: dict[TopicPartition, int] = defaultdict(int)
        """Where it begins, or later."""
        self._durable: dict[TopicPartition, int] = {}

    def see(self, seen: Observation) -> None:
        """See `Checker`."""
        match seen:
            case DeletionSent():
                self._sent[seen.partition] = max(self._sent[seen.partition], seen.offset)
            case RecordsDeleted():
                self._begins(seen.partition, seen.start_offset)
                self._start[seen.partition] = seen.start_offset
            case PartitionInspected():
                self._begins(seen.partition, seen.start_offset)
            case Stopped():
                self._durable = dict(self._start)
            case Died():
                self._start.clear()
                self._start.update(self._durable)
            case TopicDeleted():
                for table in (self._sent, self._start, self._durable):
                    forget_topic(seen.topic, table)
            case _:
                pass

    def _begins(self, partition: TopicPartition, start_offset: int) -> None:
        least, most = self._start[partition], self._sent[partition]
        demand(
            least <= start_offset <= most,
            f"{partition} begins at {start_offset}; deleted was up to {least}, at most {most}",
        )


def values_in(data: bytes) -> dict[int, bytes]:
    """Values by offset, of all whole batches."""
    return {
        record.offset: bytes(record.value or b"")
        for position, header in iter_headers(data)
        for record in read_records(data, position, header)
    }
