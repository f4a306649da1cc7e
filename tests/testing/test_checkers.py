"""Each checker: what it lets pass, and what it does not."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.testing.checkers import Checker, ProducerIdsAreUnique, TopicsStay, ViolationError
from kafkalite.testing.observations import (
    DeletionSent,
    Died,
    HighWatermarkSeen,
    Observation,
    PartitionAsked,
    PartitionInspected,
    PowerLost,
    ProducerIdGiven,
    RecordsAcknowledged,
    RecordsDeleted,
    RecordsFetched,
    RecordsSent,
    Stopped,
    TopicDeleted,
    TopicSeen,
)
from kafkalite.testing.record_checkers import (
    AcknowledgedRecordsSurvive,
    DeletedRecordsStayAway,
    EachRecordInOrder,
    HighWatermarkNeverFalls,
    OffsetsHaveNoHoles,
    ReadsAreStable,
)
from kafkalite.types import LeaderEpoch, Offset, TopicPartition, Uuid

POEM = TopicPartition("poem", 0)
ONE, OTHER = Uuid(b"1" * 16), Uuid(b"2" * 16)


def tell(checker: Checker, *seen: Observation) -> None:
    for each in seen:
        checker.see(each)


def refuses(checker: Checker, seen: Observation, message: str) -> None:
    with pytest.raises(ViolationError, match=message):
        checker.see(seen)


def acknowledged(offset: int, *values: bytes) -> RecordsAcknowledged:
    return RecordsAcknowledged(POEM, "p", offset, values)


def sent(*values: bytes, is_idempotent: bool = True) -> RecordsSent:
    return RecordsSent(POEM, "p", values, is_idempotent)


def inspected(*values: bytes, start: int = 0, end: int | None = None) -> PartitionInspected:
    records = dict(enumerate(values, start))
    return PartitionInspected(POEM, start, start + len(values) if end is None else end, records)


def batch(offset: int, *values: bytes, epoch: int = 0) -> bytes:
    return bytes(
        build_batch(
            [Record(None, value) for value in values],
            base_offset=Offset(offset),
            leader_epoch=LeaderEpoch(epoch),
        )
    )


def fetched(data: bytes, *, offset: int = 0, high_watermark: int = 100) -> RecordsFetched:
    return RecordsFetched(POEM, offset, high_watermark, data)


def power_lost(end: int | None, topics: Mapping[str, Uuid] | None = None) -> PowerLost:
    return PowerLost({} if end is None else {POEM: end}, topics or {})


def test_acknowledged_records_stand_where_they_were_acknowledged() -> None:
    checker = AcknowledgedRecordsSurvive()
    tell(checker, acknowledged(3, b"a", b"b"), acknowledged(3, b"a", b"b"))
    tell(checker, fetched(batch(3, b"a", b"b")), inspected(b"x", b"a", b"b", start=2))
    tell(checker, inspected(b"b", start=4))  # What is below the log's start was deleted.
    refuses(checker, fetched(batch(4, b"c")), "acknowledged b'b' at offset 4, where b'c' is now")
    refuses(checker, inspected(b"x", b"a", start=2), "at offset 4, where None is now")
    refuses(checker, acknowledged(4, b"d"), "acknowledged b'b' and b'd', both at offset 4")


def test_a_loss_of_power_takes_a_log_s_end_but_not_what_a_clean_stop_left() -> None:
    checker = AcknowledgedRecordsSurvive()
    tell(checker, acknowledged(0, b"a"), Stopped(), acknowledged(1, b"b"), power_lost(1))
    tell(checker, acknowledged(1, b"c"), inspected(b"a", b"c"))
    refuses(checker, power_lost(0), "ends at 0, but was stopped cleanly when it ended at 1")
    refuses(checker, power_lost(None), "ends at 0")


def test_what_a_loss_of_power_left_stays() -> None:
    checker = AcknowledgedRecordsSurvive()
    tell(checker, acknowledged(0, b"a", b"b"), power_lost(1))
    refuses(checker, inspected(), "where None is now")


def test_records_come_in_order_and_those_of_an_idempotent_producer_once() -> None:
    checker = EachRecordInOrder()
    tell(checker, sent(b"a"), sent(b"a"), sent(b"b", b"c"), inspected(b"a", b"c"))
    refuses(checker, inspected(b"b", b"a"), "b'a' at offset 1 .* after what was sent later")
    refuses(checker, inspected(b"a", b"a"), "for the 2th time, of 1 allowed")
    refuses(checker, inspected(b"x"), "nobody sent b'x' at offset 0")


def test_a_plain_producer_s_records_come_at_most_as_often_as_they_were_sent() -> None:
    checker = EachRecordInOrder()
    tell(checker, sent(b"a", is_idempotent=False), sent(b"a", is_idempotent=False))
    tell(checker, sent(b"b", is_idempotent=False), inspected(b"a", b"b", b"a"))
    refuses(checker, inspected(b"a", b"a", b"a"), "for the 3th time, of 2 allowed")


def plain(*batches: bytes) -> EachRecordInOrder:
    """After these, each of which has one record a letter."""
    checker = EachRecordInOrder()
    for letters in batches:
        values = (letters[at : at + 1] for at in range(len(letters)))
        tell(checker, sent(*values, is_idempotent=False))
    return checker


def test_where_the_first_copy_of_a_batch_is_deleted_in_part_the_second_has_no_order() -> None:
    """Simulated seed 91."""
    checker = plain(b"abc", b"abc", b"d")
    tell(checker, inspected(b"c", b"a", b"b", b"c", b"d", start=2))
    refuses(checker, inspected(b"c", b"a", b"b", b"c", b"d"), "b'a' at offset 1 .* sent later")


def test_a_deletion_excuses_nothing_that_had_its_first_copy_above_it() -> None:
    once = plain(b"a", b"b")
    refuses(once, inspected(b"b", b"a", start=2), "b'a' at offset 3 .* after what was sent later")
    whole = plain(b"a", b"a", b"b", b"b")
    refuses(whole, inspected(b"b", b"a", b"a", start=2), "b'a' at offset 3 .* sent later")
    behind = plain(b"a", b"a", b"b", b"c", b"c", b"d")
    refuses(behind, inspected(b"b", b"d", b"c", start=2), "b'c' at offset 4 .* sent later")
    idempotent = EachRecordInOrder()
    tell(idempotent, sent(b"a"), sent(b"a"), sent(b"b"))
    refuses(idempotent, inspected(b"b", b"a", start=2), "b'a' at offset 3 .* sent later")


def test_the_high_watermark_is_at_least_what_was_known_when_it_was_asked_for() -> None:
    checker = HighWatermarkNeverFalls()
    tell(checker, PartitionAsked(1, POEM), acknowledged(0, b"a", b"b"))
    tell(checker, PartitionAsked(2, POEM), HighWatermarkSeen(1, POEM, 0))
    refuses(checker, HighWatermarkSeen(2, POEM, 1), "fell from 2 to 1")
    tell(checker, PartitionAsked(3, POEM), HighWatermarkSeen(3, POEM, 5), PartitionAsked(4, POEM))
    refuses(checker, HighWatermarkSeen(4, POEM, 4), "fell from 5 to 4")


def test_after_a_loss_of_power_the_high_watermark_begins_where_the_log_ends() -> None:
    checker = HighWatermarkNeverFalls()
    tell(checker, acknowledged(0, b"a", b"b"), PartitionAsked(1, POEM), power_lost(1))
    tell(checker, HighWatermarkSeen(1, POEM, 0), PartitionAsked(2, POEM))
    refuses(checker, HighWatermarkSeen(2, POEM, 0), "fell from 1 to 0")


def test_offsets_follow_one_on_the_other() -> None:
    checker = OffsetsHaveNoHoles()
    whole = batch(0, b"a", b"b") + batch(2, b"c")
    tell(checker, fetched(b""), fetched(whole, offset=1), fetched(whole[:-1]))
    tell(checker, inspected(b"a", b"b"))
    refuses(checker, fetched(batch(0, b"a") + batch(2, b"c")), "offset 2 .* follows on offset 0")
    refuses(checker, fetched(whole, offset=2), "the answer to a fetch from 2")
    refuses(checker, fetched(batch(3, b"a"), offset=2), "the answer to a fetch from 2")
    refuses(checker, fetched(whole, high_watermark=2), "offset 2 .* below the high watermark 2")
    refuses(checker, inspected(b"a", end=2), r"should have the offsets of range\(0, 2\)")


def test_a_batch_without_one_of_its_records_has_a_hole() -> None:
    data = build_batch([Record(None, b"a")], last_offset=Offset(1))
    refuses(OffsetsHaveNoHoles(), fetched(bytes(data)), r"holds the offsets \[0\]")


def test_the_same_offset_gives_the_same_bytes() -> None:
    checker = ReadsAreStable()
    tell(checker, fetched(batch(0, b"a") + batch(1, b"b")), fetched(batch(1, b"b")))
    refuses(checker, fetched(batch(1, b"b", epoch=1)), "the batch at offset 1 .* was .* and is")
    tell(checker, power_lost(1), fetched(batch(1, b"c")))
    refuses(checker, fetched(batch(0, b"c")), "the batch at offset 0")


def test_a_batch_whose_crc_is_wrong_is_corrupt() -> None:
    data = bytearray(batch(0, b"abc"))
    data[-2] ^= 1
    refuses(ReadsAreStable(), fetched(bytes(data)), "is corrupt")


def test_no_producer_id_is_given_twice() -> None:
    checker = ProducerIdsAreUnique()
    tell(checker, ProducerIdGiven(1, 0), ProducerIdGiven(2, 0), power_lost(0))
    refuses(checker, ProducerIdGiven(1, 0), "producer id 1 was given twice")
    refuses(checker, ProducerIdGiven(3, 1), "begins with epoch 1")


def test_topics_stay_and_keep_their_ids() -> None:
    checker = TopicsStay()
    tell(checker, TopicSeen("new", None), TopicSeen("new", ONE), TopicSeen("new", ONE))
    refuses(checker, TopicSeen("new", None), "now None")
    refuses(checker, TopicSeen("new", OTHER), "now b'2222")


def test_a_loss_of_power_takes_topics_but_not_those_that_a_clean_stop_left() -> None:
    checker = TopicsStay()
    tell(checker, TopicSeen("old", ONE), Stopped(), TopicSeen("new", ONE))
    tell(checker, power_lost(None, {"old": ONE}), TopicSeen("new", OTHER))
    refuses(checker, power_lost(None, {"new": OTHER}), "topic old is gone")


def test_a_partition_begins_where_records_were_deleted_up_to() -> None:
    checker = DeletedRecordsStayAway()
    tell(checker, inspected(b"a"), DeletionSent(POEM, 5), inspected(b"a"), inspected(b"a", start=5))
    refuses(checker, inspected(b"a", start=6), "begins at 6; deleted was up to 0, at most 5")
    tell(checker, RecordsDeleted(POEM, 5))
    refuses(checker, inspected(b"a", start=4), "begins at 4; deleted was up to 5")
    refuses(checker, RecordsDeleted(POEM, 6), "begins at 6")


def test_a_death_may_bring_back_what_was_deleted_since_the_last_clean_stop() -> None:
    checker = DeletedRecordsStayAway()
    tell(checker, DeletionSent(POEM, 5), RecordsDeleted(POEM, 5), Died(), inspected(b"a"))
    tell(checker, DeletionSent(POEM, 7), RecordsDeleted(POEM, 7), Stopped(), Died())
    refuses(checker, inspected(b"a", start=6), "begins at 6; deleted was up to 7")


def test_a_topic_of_the_same_name_begins_anew() -> None:
    gone = TopicDeleted("poem")
    held, topics, stable = AcknowledgedRecordsSurvive(), TopicsStay(), ReadsAreStable()
    tell(held, acknowledged(0, b"a"), Stopped(), gone, acknowledged(0, b"b"), power_lost(0))
    tell(topics, TopicSeen("poem", ONE), Stopped(), gone, TopicSeen("poem", OTHER))
    tell(stable, fetched(batch(0, b"a")), gone, fetched(batch(0, b"b")))
    high_watermark, deleted = HighWatermarkNeverFalls(), DeletedRecordsStayAway()
    tell(high_watermark, acknowledged(0, b"a"), gone, PartitionAsked(1, POEM))
    tell(high_watermark, HighWatermarkSeen(1, POEM, 0))
    tell(deleted, DeletionSent(POEM, 5), RecordsDeleted(POEM, 5), Stopped(), gone, inspected(b"a"))
    refuses(deleted, inspected(b"a", start=1), "begins at 1; deleted was up to 0, at most 0")
    other = TopicPartition("other", 0)
    tell(held, RecordsAcknowledged(other, "p", 0, (b"x",)), gone)
    refuses(held, RecordsAcknowledged(other, "p", 0, (b"y",)), "both at offset 0")
