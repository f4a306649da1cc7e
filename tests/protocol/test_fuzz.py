"""Hostile bytes get `ProtocolError`, nothing else, and no more memory than the frame allows."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random  # noqa: TID251  # seeded: the same bytes in each run.

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalite.errors import ProtocolError
from kafkalite.protocol import codec
from kafkalite.protocol.api_keys import request_class, response_class
from kafkalite.protocol.decoding import OBJECT_WEIGHT
from kafkalite.protocol.headers import read_request_header, read_response_header
from kafkalite.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafkalite.protocol.messages.create_topics import CreateTopicsRequest
from kafkalite.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkalite.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalite.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from kafkalite.protocol.messages.produce import ProduceRequest
from kafkalite.protocol.record_frames import decode_coordinator_record, decode_metadata_record
from kafkalite.protocol.schema import Message, RawTaggedField, schema_of
from tests.protocol.message_values import Maker, all_versions, message_classes

DATA = Path(__file__).parents[1] / "data"
VERSIONS = list(all_versions())
HUGE_COUNTS = (
    b"\x7f\xff\xff\xff",
    b"\x00\xff\xff\xff",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\x7f",
)
INTERESTING = (0, 1, 0x7F, 0x80, 0xFF)


def refused(cls: type[Message], version: int, data: bytes) -> bool:
    """Whether the decoder refuses `data`; any error but `ProtocolError` fails the test."""
    try:
        codec.decode(cls, version, data)
    except ProtocolError:
        return True
    return False


@cache
def golden_frames() -> list[bytes]:
    """A request for each API and version of the captures, and the odd ones of errors.json."""
    found: dict[tuple[int, int], bytes] = {}
    for name in ("wire.jsonl", "versions.jsonl"):
        for line in (DATA / name).read_text().splitlines():
            entry = json.loads(line)
            found[entry["key"], entry["version"]] = bytes.fromhex(entry["request_hex"])[4:]
    odd = json.loads((DATA / "errors.json").read_text())
    frames = [*found.values(), *(bytes.fromhex(case["request_hex"])[4:] for case in odd)]
    return [frame for frame in frames if len(frame) > 8]


def read_request(frame: bytes) -> None:
    """As a broker does it: the header, then the request that it names."""
    header, position = read_request_header(frame)
    cls = request_class(header.request_api_key)
    codec.decode_prefix(cls, header.request_api_version, frame, position)


def survives(frame: bytes) -> None:
    with suppress(ProtocolError):
        read_request(frame)


def test_frames_with_flipped_bytes() -> None:
    random = Random("flip")
    for frame in golden_frames():
        for _ in range(40):
            mutated = bytearray(frame)
            for _ in range(random.choice((1, 1, 2, 5))):
                mutated[random.randrange(len(mutated))] = random.choice(INTERESTING)
            survives(bytes(mutated))


def test_frames_with_huge_counts_spliced_in() -> None:
    random = Random("splice")
    for frame in golden_frames():
        for _ in range(20):
            at = random.randrange(4, len(frame) + 1)
            survives(frame[:at] + random.choice(HUGE_COUNTS) + frame[at:])


def test_frames_cut_short() -> None:
    for frame in golden_frames():
        for size in range(min(len(frame), 150)):
            survives(frame[:size])


@pytest.mark.parametrize("seed", range(3))
def test_every_message_cut_short_is_refused(seed: int) -> None:
    """A strict prefix of a message is never a message."""
    random = Random(f"cut {seed}")
    for cls, version in VERSIONS:
        data = codec.encode(Maker((cls.__name__, version, seed)).message(cls, version), version)
        for _ in range(5):
            if data:
                assert refused(cls, version, data[: random.randrange(len(data))])


def test_random_bytes_for_every_message() -> None:
    random = Random("noise")
    for cls, version in VERSIONS:
        for size in (1, 3, 10, 40, 200):
            refused(cls, version, random.randbytes(size))
            refused(cls, version, bytes(random.choice((0, 0, 1, 2, 0xFF)) for _ in range(size)))


@settings(max_examples=300, deadline=None)
@given(choice=st.sampled_from(VERSIONS), data=st.binary(max_size=200))
def test_any_bytes(choice: tuple[type[Message], int], data: bytes) -> None:
    refused(*choice, data)


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=60))
def test_any_bytes_as_headers_and_records(data: bytes) -> None:
    for decode in (
        lambda: read_request(data),
        lambda: read_response_header(3, 9, data),
        lambda: decode_metadata_record(data),
        lambda: decode_metadata_record(b"\x01" + data),
        lambda: decode_coordinator_record("__consumer_offsets", b"\0" + data, data),
    ):
        with suppress(ProtocolError):
            decode()


def hostile() -> Iterator[tuple[type[Message], int, bytes]]:
    """Small frames that announce much."""
    for count in (b"\x7f\xff\xff\xff", b"\x00\x0f\xff\xff"):
        yield MetadataRequest, 1, count
        yield MetadataResponse, 1, count + b"\x00" * 40
        yield ProduceRequest, 3, b"\xff\xff\x00\x01\x00\x00\x00\x00" + count
        yield CreateTopicsRequest, 4, b"\0\0\0\1\0\1t\0\0\0\1\0\1" + count + b"\0" * 8
        yield ProduceRequest, 3, b"\xff\xff\0\1\0\0\0\0\0\0\0\1\0\1t\0\0\0\1\0\0\0\0" + count
    for count in (b"\xff\xff\xff\xff\x07", b"\xff\xff\x3f"):
        yield MetadataRequest, 9, count
        yield MetadataRequest, 9, b"\x00\x00\x00\x00" + count  # a count of tagged fields.
        yield MetadataRequest, 9, b"\x00\x00\x00\x00\x01\x05" + count  # a tagged field's size.


def test_hostile_lengths_allocate_nothing() -> None:
    frames = list(hostile())
    for cls, version, data in frames:
        assert refused(cls, version, data), "which compiles its codec"
    tracemalloc.start()
    try:
        for cls, version, data in frames:
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            assert refused(cls, version, data), (cls, data)
            _, peak = tracemalloc.get_traced_memory()
            assert peak - before < 10_000, (cls, data)
    finally:
        tracemalloc.stop()


def test_an_array_has_a_limit_of_its_own() -> None:
    """Even where the frame has the bytes: a quarter of a million topics are no metadata request."""
    count = codec.WEIGHT_LIMIT // OBJECT_WEIGHT + 1
    data = count.to_bytes(4, "big") + bytes(2 * count)
    codec.decode(MetadataRequest, 1, bytes(4))  # Which compiles it.
    tracemalloc.start()
    try:
        assert refused(MetadataRequest, 1, data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10_000


NUMBERS, STRINGS, STRUCTS = (
    OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(partition_indexes=[7] * 11)]),
    DescribeGroupsRequest(groups=["g"] * 5),
    CreatePartitionsRequest(
        topics=[
            CreatePartitionsTopic(name="t", assignments=[CreatePartitionsAssignment()] * count)
            for count in (3, 2)
        ]
    ),
)


@pytest.mark.parametrize(
    ("request_", "version", "weight"),
    [
        (NUMBERS, 1, 1 * OBJECT_WEIGHT + 11),
        (NUMBERS, 7, 1 * OBJECT_WEIGHT + 11),
        (STRINGS, 1, 5 * OBJECT_WEIGHT),
        (STRINGS, 5, 5 * OBJECT_WEIGHT),
        (STRUCTS, 1, 7 * OBJECT_WEIGHT),
        (STRUCTS, 3, 7 * OBJECT_WEIGHT),
    ],
)
def test_all_arrays_of_a_message_share_one_limit(
    monkeypatch: pytest.MonkeyPatch, request_: Message, version: int, weight: int
) -> None:
    data = codec.encode(request_, version)
    monkeypatch.setattr(codec, "WEIGHT_LIMIT", weight)
    assert not refused(type(request_), version, data)
    monkeypatch.setattr(codec, "WEIGHT_LIMIT", weight - 1)
    with pytest.raises(ProtocolError, match="elements are too many for one message"):
        codec.decode(type(request_), version, data)


def test_tagged_fields_share_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    tags = tuple(RawTaggedField(100 + tag, b"") for tag in range(3))
    data = codec.encode(DescribeGroupsRequest(groups=[], unknown_tagged_fields=tags), 5)
    monkeypatch.setattr(codec, "WEIGHT_LIMIT", 3 * OBJECT_WEIGHT)
    assert not refused(DescribeGroupsRequest, 5, data)
    monkeypatch.setattr(codec, "WEIGHT_LIMIT", 3 * OBJECT_WEIGHT - 1)
    assert refused(DescribeGroupsRequest, 5, data)


def test_memory_grows_with_the_frame_alone() -> None:
    """The dearest bytes are empty structs; even they cost a known multiple of the frame."""
    topics = 20_000
    data = topics.to_bytes(4, "big") + b"\x00\x00" * topics
    codec.decode(MetadataRequest, 1, bytes(4))  # Which compiles it.
    tracemalloc.start()
    try:
        codec.decode(MetadataRequest, 1, data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 60 * len(data)


def test_all_classes_are_fuzzed() -> None:
    assert {cls for cls, _ in VERSIONS} == set(message_classes())
    assert all(schema_of(cls).versions for cls in message_classes())
    assert response_class(3) in message_classes()
