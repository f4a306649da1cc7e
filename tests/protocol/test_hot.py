"""The hand-written paths against `headers`, over golden, generated and damaged frames."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalite.errors import KafkaError, ProtocolError
from kafkalite.protocol import headers, hot
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.codec import decode
from kafkalite.protocol.messages.api_versions import ApiVersionsResponse
from kafkalite.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from kafkalite.protocol.messages.heartbeat import HeartbeatResponse
from kafkalite.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkalite.protocol.schema import Response

DATA = Path(__file__).parent.parent / "data"


def golden_requests() -> Iterator[bytes]:
    """Every request of real clients, without its length."""
    for name in ("wire.jsonl", "versions.jsonl"):
        for line in (DATA / name).read_text().splitlines():
            yield bytes.fromhex(json.loads(line)["request_hex"])[4:]


GOLDEN = sorted(set(golden_requests()))


def outcome(function: Callable[..., Any], *args: object, **named: object) -> object:
    """What it returns, or the kind of error. Any: two functions of the same shape."""
    try:
        return function(*args, **named)
    except (ProtocolError, KafkaError, ValueError) as error:
        return type(error)


def assert_same_header(frame: bytes, position: int = 0) -> None:
    expected = outcome(headers.read_request_header, frame, position)
    for buffer in (frame, bytearray(frame), memoryview(frame)):
        assert outcome(hot.read_request_header, buffer, position) == expected


def test_reads_the_header_of_every_golden_request() -> None:
    assert len(GOLDEN) > 500
    for frame in GOLDEN:
        assert_same_header(frame)
        header, _ = hot.read_request_header(frame)
        assert header.request_api_key in set(ApiKey)


def test_golden_requests_cut_short() -> None:
    for frame in GOLDEN[::40]:
        for size in range(min(len(frame), 40)):
            assert_same_header(frame[:size])


def test_produce_of_a_client_is_decoded_after_its_header() -> None:
    frames = [frame for frame in GOLDEN if int.from_bytes(frame[:2], "big") == ApiKey.PRODUCE]
    assert len(frames) > 20
    served = 0
    for frame in frames:
        header, position = hot.read_request_header(memoryview(frame))
        if header.request_api_version >= 3:
            request = decode(ProduceRequest, header.request_api_version, frame, position)
            served += len(request.topic_data)
    assert served > 20


@settings(max_examples=300)
@given(
    key=st.sampled_from(ApiKey) | st.integers(-(2**15), 2**15 - 1),
    version=st.integers(-1, 20) | st.integers(-(2**15), 2**15 - 1),
    correlation=st.integers(-(2**31), 2**31 - 1),
    client=st.none() | st.binary(max_size=12),
    length=st.none() | st.integers(-(2**15), 2**15 - 1),
    rest=st.sampled_from([b"", b"\x00", b"\x00rest", b"\x01\x00\x01x", b"\x01", b"\xff"]),
    position=st.integers(0, 3),
)
def test_header_of_any_bytes(
    key: int,
    version: int,
    correlation: int,
    client: bytes | None,
    length: int | None,
    rest: bytes,
    position: int,
) -> None:
    size = (-1 if client is None else len(client)) if length is None else length
    fixed = [(key, 2), (version, 2), (correlation, 4), (size, 2)]
    frame = b"".join(number.to_bytes(width, "big", signed=True) for number, width in fixed)
    assert_same_header(bytes(position) + frame + (client or b"") + rest, position)


@given(st.binary(max_size=30), st.integers(0, 5))
def test_no_bytes_crash_it(frame: bytes, position: int) -> None:
    assert_same_header(frame, position)


def test_header_without_a_client_id_is_left_to_the_codecs() -> None:
    """ControlledShutdown v0, the one API with header version 0."""
    frame = b"\x00\x07\x00\x00\x00\x00\x00\x05\x00\x00\x00\x01"
    assert_same_header(frame)
    header, position = hot.read_request_header(frame)
    assert (header.correlation_id, header.client_id, position) == (5, "", 8)


def test_unknown_tagged_fields_survive() -> None:
    frame = b"\x00\x12\x00\x03\x00\x00\x00\x05\x00\x01c\x01\x07\x02xyrest"
    assert_same_header(frame)
    header, position = hot.read_request_header(frame)
    assert len(header.unknown_tagged_fields) == 1
    assert frame[position:] == b"rest"


def test_a_large_frame_is_not_copied() -> None:
    frame = bytearray(b"\x00\x00\x00\x09\x00\x00\x00\x01\x00\x01c\x00") + bytes(1 << 20)
    header, position = hot.read_request_header(memoryview(frame))
    assert header.client_id == "c"
    assert position == 12
    del frame[100:]  # BufferError if a view of it were kept.


class Elsewhere:
    """Records that lie in a file."""

    def __len__(self) -> int:
        return 1000


def fetched(*records: object) -> FetchResponse:
    partitions = [
        PartitionData(partition_index=index, records=part)  # type: ignore[arg-type]  # any part.
        for index, part in enumerate(records)
    ]
    return FetchResponse(responses=[FetchableTopicResponse(partitions=partitions)])


RESPONSES = [
    (ApiVersionsResponse(), 0),
    (ApiVersionsResponse(), 4),
    (ProduceResponse(throttle_time_ms=7), 3),
    (ProduceResponse(throttle_time_ms=7), 9),
    (HeartbeatResponse(error_code=3), 0),
    (HeartbeatResponse(error_code=3), 4),
    (fetched(), 4),
    (fetched(b"records"), 12),
    (fetched(b"one", None, memoryview(b"three")), 13),
    (ProduceResponse(), 99),
]


@pytest.mark.parametrize(("response", "version"), RESPONSES)
def test_response_has_the_same_frame(response: Response, version: int) -> None:
    expected = outcome(headers.response_frame, response, version, correlation_id=-2)
    assert outcome(hot.response_frame, response, version, correlation_id=-2) == expected


def test_records_elsewhere_are_counted_and_handed_on() -> None:
    part = Elsewhere()
    frame = hot.response_frame(fetched(part), 12, correlation_id=9)
    assert frame == headers.response_frame(fetched(part), 12, correlation_id=9)
    assert frame[1] is part
    first = frame[0]
    assert isinstance(first, bytes)
    assert int.from_bytes(first[:4], "big") == sum(map(len, frame)) - 4
