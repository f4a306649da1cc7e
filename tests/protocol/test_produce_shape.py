"""Shapes against the codecs: what a shape takes is what would be decoded, and what it answers is
what would be encoded; whatever else comes it leaves alone."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.errors import ErrorCode
from kafkalite.protocol.codec import decode_prefix
from kafkalite.protocol.headers import request_frame
from kafkalite.protocol.hot import read_request_header, response_frame
from kafkalite.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafkalite.protocol.produce_shape import FIRST_VERSION, HEAD_BEGINS, ProduceShape, shape_of
from kafkalite.protocol.schema import RawTaggedField
from kafkalite.types import ZERO_UUID, Uuid

VERSIONS = range(FIRST_VERSION, 14)
FLEXIBLE_FROM, IDS_FROM = 9, 13
TOPIC_ID = Uuid(bytes(range(16)))


def produce(
    version: int, *records: bytes | None, topic: str = "orders", index: int = 7, acks: int = -1
) -> ProduceRequest:
    """To as many partitions, from `index` on."""
    name, topic_id = (topic, ZERO_UUID) if version < IDS_FROM else ("", TOPIC_ID)
    data = [PartitionProduceData(index=index + n, records=each) for n, each in enumerate(records)]
    return ProduceRequest(
        acks=acks,
        timeout_ms=1500,
        topic_data=[TopicProduceData(name=name, topic_id=topic_id, partition_data=data)],
    )


def frame_of(
    request: ProduceRequest, version: int, *, correlation_id: int = 1, client_id: str | None = "c"
) -> memoryview:
    """As it comes, without its length; to be changed by whoever likes."""
    parts = request_frame(request, version, correlation_id=correlation_id, client_id=client_id)
    return memoryview(bytearray(b"".join(cast("list[bytes]", parts)))[4:])


def learned(frame: memoryview, version: int) -> ProduceShape | None:
    """What is learned from a frame, as dispatch does it."""
    header, begin = read_request_header(frame)
    request, _ = decode_prefix(ProduceRequest, version, frame, begin)
    return shape_of(request, version, header.client_id, frame, begin)


def shape(version: int) -> ProduceShape:
    """That of `produce`."""
    found = learned(frame_of(produce(version, b"first"), version), version)
    assert found is not None
    return found


def decoded(frame: memoryview, version: int) -> ProduceRequest:
    """By the codec."""
    request, _ = decode_prefix(ProduceRequest, version, frame, read_request_header(frame)[1])
    return request


@pytest.mark.parametrize("client_id", ["client", "", "Jürgen", None])
@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_shape_takes_is_what_the_codec_decodes(version: int, client_id: str | None) -> None:
    """Lengths around those where a varint gets longer, up to the longest that a shape takes."""
    known = learned(frame_of(produce(version, b"first"), version, client_id=client_id), version)
    assert known is not None
    for size in (1, 125, 126, 127, 128, 129, 16_382, 16_383, 16_384, 16_385, (1 << 21) - 2):
        request = produce(version, (b"a batch!" * (size // 8 + 1))[:size])
        frame = frame_of(request, version, correlation_id=size, client_id=client_id)
        assert frame[HEAD_BEGINS:].tobytes().startswith(known.head)
        assert known.take(frame)
        assert known.request == decoded(frame, version)
        assert known.client_id == client_id
        known.let_go()
        assert known.request.topic_data[0].partition_data[0].records is None


def test_a_shape_leaves_what_is_larger_than_2_mib_to_the_codec() -> None:
    known = shape(9)
    frame = frame_of(produce(9, bytes((1 << 21) - 1)), 9)
    assert not known.take(frame)
    # Three bytes of a length, the last of which says that there is a fourth, and there is not.
    fourth = HEAD_BEGINS + len(known.head) + 3
    assert not known.take(memoryview(bytes(frame[:fourth]) + frame[fourth + 1 :]))
    assert known.take(frame_of(produce(9, b"as before"), 9))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_shape_leaves_what_has_no_records_to_the_codec(version: int) -> None:
    known = shape(version)
    for records in (None, b""):
        assert not known.take(frame_of(produce(version, records), version))


@pytest.mark.parametrize("version", range(FLEXIBLE_FROM, 14))
def test_other_bytes_behind_the_records_are_not_taken(version: int) -> None:
    known, frame = shape(version), frame_of(produce(version, b"some records"), version)
    for position in range(frame.tobytes().index(b"some records") + 12, len(frame)):
        frame[position] ^= 1
        assert not known.take(frame)
        frame[position] ^= 1
    assert known.take(frame)


@given(
    st.sampled_from(VERSIONS),
    st.integers(-1, (1 << 63) - 1),
    st.integers(-1, (1 << 63) - 1),
    st.integers(-1, (1 << 63) - 1),
)
def test_what_a_shape_answers_is_what_the_codec_encodes(
    version: int, base_offset: int, append_time: int, log_start: int
) -> None:
    known = shape(version)
    told = PartitionProduceResponse(
        index=7,
        base_offset=base_offset,
        log_append_time_ms=append_time,
        log_start_offset=log_start,
    )
    answer = known.answer(12_345, base_offset, append_time, log_start)
    assert answer == encoded(known.response(told), version, 12_345)


def encoded(response: ProduceResponse, version: int, correlation_id: int) -> bytes:
    """By the codec, in a frame."""
    frame = response_frame(response, version, correlation_id=correlation_id)
    return b"".join(cast("list[bytes]", frame))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_refusal_names_topic_and_partition_as_any_answer(version: int) -> None:
    told = PartitionProduceResponse(index=7, error_code=ErrorCode.CORRUPT_MESSAGE)
    request = produce(version, b"x")
    (topic,) = shape(version).response(told).responses
    assert (topic.name, topic.topic_id) == (
        request.topic_data[0].name,
        request.topic_data[0].topic_id,
    )
    assert topic.partition_responses == [told]


def test_a_topic_named_like_the_mark_is_answered_as_any_other() -> None:
    known = learned(frame_of(produce(9, b"x", topic="KafkaLit" * 4), 9), 9)
    assert known is not None
    told = PartitionProduceResponse(index=7, base_offset=3, log_start_offset=1)
    assert known.answer(1, 3, -1, 1) == encoded(known.response(told), 9, 1)


def in_a_transaction(version: int) -> ProduceRequest:
    request = produce(version, b"x")
    request.transactional_id = "t"
    return request


def to_two_topics(version: int) -> ProduceRequest:
    request = produce(version, b"x")
    request.topic_data += produce(version, b"y", topic="others").topic_data
    return request


@pytest.mark.parametrize("version", VERSIONS)
def test_requests_that_have_no_shape(version: int) -> None:
    for request in (
        in_a_transaction(version),
        to_two_topics(version),
        produce(version, b"x", b"y"),
        produce(version),
        produce(version, None),
        produce(version, b""),
    ):
        assert learned(frame_of(request, version), version) is None


def test_old_versions_have_no_shape() -> None:
    for version in range(3, FIRST_VERSION):
        assert learned(frame_of(produce(version, b"x"), version), version) is None


def test_bytes_that_the_codec_would_not_write_have_no_shape() -> None:
    """A tagged field that is not known, bytes behind the request, a name that is no UTF-8."""
    tagged = produce(9, b"x")
    tagged.topic_data[0].unknown_tagged_fields = (RawTaggedField(5, b"new"),)
    assert learned(frame_of(tagged, 9), 9) is None
    more = memoryview(bytearray(bytes(frame_of(produce(9, b"x"), 9)) + b"more"))
    assert learned(more, 9) is None
    named = bytearray(frame_of(produce(9, b"x"), 9))
    named[named.index(b"orders")] = 0xFF
    assert learned(memoryview(named), 9) is None


def test_only_one_frame_is_taken_at_a_time() -> None:
    """The second one's append would show the first one's handler other records."""
    known, frame = shape(9), frame_of(produce(9, b"x"), 9)
    assert known.take(frame)
    assert not known.take(frame_of(produce(9, b"y"), 9))
    assert known.request == decoded(frame, 9)
    known.let_go()
    assert known.take(frame)


@pytest.mark.parametrize("version", VERSIONS)
def test_frames_that_are_cut_off_are_not_taken(version: int) -> None:
    known, frame = shape(version), frame_of(produce(version, b"some records"), version)
    for end in range(HEAD_BEGINS + len(known.head), len(frame)):
        assert not known.take(frame[:end])
    assert not known.take(memoryview(bytes(frame) + b"\0"))
    assert known.take(frame)


@given(st.sampled_from(VERSIONS), st.data())
def test_whatever_comes_behind_the_head_is_left_alone_or_taken_as_the_codec_would(
    version: int, data: st.DataObject
) -> None:
    known, frame = shape(version), frame_of(produce(version, bytes(140)), version)
    begin = HEAD_BEGINS + len(known.head)
    for position in data.draw(st.lists(st.integers(begin, len(frame) - 1), max_size=3)):
        frame[position] = data.draw(st.integers(0, 255))
    behind = data.draw(st.integers(begin, len(frame)))
    frame = frame[: data.draw(st.sampled_from([behind, len(frame)]))]
    if known.take(frame):
        assert known.request == decoded(frame, version)
