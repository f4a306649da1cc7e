from __future__ import annotations

import pytest

from kafkalite.errors import ProtocolError
from kafkalite.protocol import codec
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.headers import (
    read_request_header,
    read_response_header,
    request_frame,
    request_header_version,
    response_frame,
    response_header,
    response_header_version,
)
from kafkalite.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalite.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from kafkalite.protocol.messages.header import RequestHeader, ResponseHeader
from kafkalite.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalite.protocol.schema import RawTaggedField


class Elsewhere:
    """Record bytes that are not in memory."""

    def __len__(self) -> int:
        return 5


@pytest.mark.parametrize(
    ("key", "version", "request_version", "response_version"),
    [
        (ApiKey.METADATA, 8, 1, 0),
        (ApiKey.METADATA, 9, 2, 1),
        (ApiKey.METADATA, 99, 2, 1),
        (ApiKey.API_VERSIONS, 0, 1, 0),
        (ApiKey.API_VERSIONS, 3, 2, 0),
        (ApiKey.API_VERSIONS, 99, 2, 0),
        (ApiKey.CONTROLLED_SHUTDOWN, 0, 0, 0),
        (ApiKey.CONTROLLED_SHUTDOWN, 1, 1, 0),
        (ApiKey.CONTROLLED_SHUTDOWN, 3, 2, 1),
        (ApiKey.SASL_HANDSHAKE, 1, 1, 0),
        (ApiKey.PRODUCE, 0, 1, 0),
    ],
)
def test_header_versions(
    key: ApiKey, version: int, request_version: int, response_version: int
) -> None:
    assert request_header_version(key, version) == request_version
    assert response_header_version(key, version) == response_version


@pytest.mark.parametrize("key", [-1, 500])
def test_a_key_that_is_none(key: int) -> None:
    with pytest.raises(ProtocolError, match=f"no API {key}"):
        request_header_version(key, 0)
    with pytest.raises(ProtocolError, match=f"no API {key}"):
        read_request_header(key.to_bytes(2, "big", signed=True) + bytes(10))


@pytest.mark.parametrize(
    ("data", "client_id", "size"),
    [
        (b"\x00\x03\x00\x08\x00\x00\x00\x4d\x00\x02me", "me", 12),
        (b"\x00\x03\x00\x08\x00\x00\x00\x4d\xff\xff", None, 10),
        (b"\x00\x03\x00\x09\x00\x00\x00\x4d\x00\x02me\x00", "me", 13),
        (b"\x00\x07\x00\x00\x00\x00\x00\x4d", "", 8),
    ],
)
def test_request_header(data: bytes, client_id: str | None, size: int) -> None:
    header, position = read_request_header(memoryview(b"len " + data + b"rest"), 4)
    assert (header.request_api_key, header.request_api_version) == (data[1], data[3])
    assert (header.correlation_id, header.client_id) == (0x4D, client_id)
    assert position == 4 + size


def test_tagged_fields_of_a_request_header_are_kept() -> None:
    data = b"\x00\x03\x00\x09\x00\x00\x00\x4d\x00\x02me\x01\x07\x02xy"
    header, _ = read_request_header(data)
    assert header.unknown_tagged_fields == (RawTaggedField(7, b"xy"),)
    assert codec.encode(header, 2) == data


@pytest.mark.parametrize("size", range(13))
def test_a_request_header_cut_off(size: int) -> None:
    with pytest.raises(ProtocolError):
        read_request_header(b"\x00\x03\x00\x09\x00\x00\x00\x4d\x00\x02me\x00"[:size])


def test_response_header() -> None:
    assert response_header(ApiKey.METADATA, 8, 77) == b"\x00\x00\x00\x4d"
    assert response_header(ApiKey.METADATA, 9, 77) == b"\x00\x00\x00\x4d\x00"
    assert response_header(ApiKey.API_VERSIONS, 4, 77) == b"\x00\x00\x00\x4d"
    for version in (8, 9):
        data = response_header(ApiKey.METADATA, version, 77)
        assert data == codec.encode(ResponseHeader(correlation_id=77), version - 8)
        header, position = read_response_header(ApiKey.METADATA, version, data)
        assert (header.correlation_id, position) == (77, len(data))


def test_request_frame() -> None:
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    (frame,) = request_frame(request, 4, correlation_id=7, client_id="me")
    assert isinstance(frame, bytes)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    header, position = read_request_header(frame, 4)
    assert header == RequestHeader(
        request_api_key=ApiKey.HEARTBEAT, request_api_version=4, correlation_id=7, client_id="me"
    )
    assert codec.decode(HeartbeatRequest, 4, frame, position) == request


def test_response_frame() -> None:
    (frame,) = response_frame(HeartbeatResponse(throttle_time_ms=5), 4, correlation_id=7)
    assert frame == b"\x00\x00\x00\x0c\x00\x00\x00\x07\x00\x00\x00\x00\x05\x00\x00\x00"


def test_frame_of_an_empty_message() -> None:
    (frame,) = request_frame(ApiVersionsRequest(), 0, correlation_id=7, client_id=None)
    assert frame == b"\x00\x00\x00\x0a\x00\x12\x00\x00\x00\x00\x00\x07\xff\xff"


def test_the_response_to_api_versions_has_a_header_that_all_can_read() -> None:
    (frame,) = response_frame(ApiVersionsResponse(error_code=35), 3, correlation_id=7)
    assert isinstance(frame, bytes)
    assert frame[4:10] == b"\x00\x00\x00\x07\x00\x23"


def test_records_elsewhere_are_parts_of_the_frame() -> None:
    records = Elsewhere()
    partition = PartitionData(records=records)
    response = FetchResponse(responses=[FetchableTopicResponse(partitions=[partition])])
    head, spliced, tail = response_frame(response, 12, correlation_id=7)
    assert spliced is records
    assert isinstance(head, bytes)
    assert isinstance(tail, bytes)
    assert int.from_bytes(head[:4], "big") == len(head) - 4 + 5 + len(tail)
