"""What a group is asked for clients that name topics or their ids, and what these are told."""

from __future__ import annotations

from collections.abc import Sequence

from kafkalite.coordinator.groups.offset_events import FetchedOffset, FetchOffsets, TopicPartitions
from kafkalite.coordinator.groups.offset_questions import AskedTopic, OffsetQuestion, ToldTopic
from kafkalite.errors import ErrorCode
from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.topic_lookup import TopicKey
from kafkalite.types import ZERO_UUID, Offset, Uuid
from tests.metadata.sample_changes import image_of, partition, topic, uuid

T, U, GONE = uuid(1), uuid(2), uuid(9)
IMAGE = image_of(
    topic("t", 1), topic("u", 2), partition(1, 0, [1]), partition(1, 1, [1]), partition(2, 0, [1])
)


def by_name(*asked: tuple[str, tuple[int, ...]]) -> OffsetQuestion:
    topics = [AskedTopic(TopicKey(name), partitions) for name, partitions in asked]
    return OffsetQuestion.of(IMAGE, "g", topics, by_id=False)


def by_id(*asked: tuple[Uuid, tuple[int, ...]]) -> OffsetQuestion:
    topics = [AskedTopic(TopicKey("", id), partitions) for id, partitions in asked]
    return OffsetQuestion.of(IMAGE, "g", topics, by_id=True)


def told(
    question: OffsetQuestion, *fetched: FetchedOffset, image: MetadataImage = IMAGE
) -> Sequence[ToldTopic]:
    return question.told(image, fetched)


def test_names_are_asked_as_they_are_whether_there_is_such_a_topic_or_not() -> None:
    question = by_name(("t", (1, 0)), ("absent", (5,)))
    asked = (TopicPartitions("t", (1, 0)), TopicPartitions("absent", (5,)))
    assert question.event(require_stable=True) == FetchOffsets(
        None, "g", asked, require_stable=True
    )
    first, second, third = (
        FetchedOffset("t", 1),
        FetchedOffset("t", 0, Offset(7)),
        FetchedOffset("absent", 5),
    )
    assert told(question, first, second, third) == [
        ToldTopic("t", ZERO_UUID, (first, second)),
        ToldTopic("absent", ZERO_UUID, (third,)),
    ]


def test_a_topic_that_is_named_twice_is_told_once() -> None:
    question = by_name(("t", (0,)), ("u", (0,)), ("t", (1,)))
    offsets = (FetchedOffset("t", 0), FetchedOffset("u", 0), FetchedOffset("t", 1))
    assert told(question, *offsets) == [
        ToldTopic("t", ZERO_UUID, (offsets[0], offsets[2])),
        ToldTopic("u", ZERO_UUID, (offsets[1],)),
    ]


def test_ids_are_asked_under_the_names_and_told_as_ids() -> None:
    question = by_id((U, (0,)), (T, (0, 1)))
    asked = (TopicPartitions("u", (0,)), TopicPartitions("t", (0, 1)))
    assert question.event(require_stable=False) == FetchOffsets(None, "g", asked)
    offset = FetchedOffset("u", 0, Offset(3))
    assert told(question, offset) == [ToldTopic("", U, (offset,))]


def test_an_unknown_id_is_refused_behind_the_others() -> None:
    question = by_id((GONE, (4, 2)), (T, (0,)))
    assert question.topics == (TopicPartitions("t", (0,)),)
    offset = FetchedOffset("t", 0)
    assert told(question, offset) == [
        ToldTopic("", T, (offset,)),
        ToldTopic(
            "",
            GONE,
            (
                FetchedOffset("", 4, code=ErrorCode.UNKNOWN_TOPIC_ID),
                FetchedOffset("", 2, code=ErrorCode.UNKNOWN_TOPIC_ID),
            ),
        ),
    ]


def test_of_all_that_a_group_has_by_id_what_is_gone_is_left_out() -> None:
    kept, gone = FetchedOffset("t", 0, Offset(1)), FetchedOffset("gone", 0, Offset(1))
    every = OffsetQuestion.of(IMAGE, "g", None, by_id=True)
    assert every.topics is None
    assert told(every, gone, kept) == [ToldTopic("", T, (kept,))]
    named = OffsetQuestion.of(IMAGE, "g", None, by_id=False)
    assert named.topics is None
    assert told(named, gone, kept) == [
        ToldTopic("gone", ZERO_UUID, (gone,)),
        ToldTopic("t", ZERO_UUID, (kept,)),
    ]


def test_a_topic_that_goes_while_its_group_is_asked_is_left_out() -> None:
    question = by_id((T, (0,)))
    assert told(question, FetchedOffset("t", 0), image=MetadataImage()) == []


def test_a_refusal_stands_at_each_partition_that_was_named() -> None:
    question = by_name(("t", (0, 1)))
    code = ErrorCode.NOT_COORDINATOR
    refused = (FetchedOffset("t", 0, code=code), FetchedOffset("t", 1, code=code))
    assert question.refused(code) == [ToldTopic("t", ZERO_UUID, refused)]
    assert OffsetQuestion.of(IMAGE, "g", None, by_id=False).refused(code) == []
