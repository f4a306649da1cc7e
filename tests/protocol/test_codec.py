from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode, KafkaError, ProtocolError
from kafkalite.protocol import codec
from kafkalite.protocol.decoding import OBJECT_WEIGHT
from kafkalite.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from kafkalite.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from kafkalite.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalite.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.protocol.messages.sync_group import SyncGroupResponse

ONE_TOPIC = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
ONE_TOPIC_V1 = b"\x00\x00\x00\x01\x00\x01t"


class Elsewhere:
    """Record bytes that are not in memory."""

    def __len__(self) -> int:
        return 5


def produce(records: codec.Buffer) -> ProduceRequest:
    partition = PartitionProduceData(records=records)
    return ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=[partition])])


def fetched(*records: codec.Buffer | Elsewhere | None) -> FetchResponse:
    partitions = [PartitionData(records=each) for each in records]
    return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=partitions)])


def test_both_ways() -> None:
    assert codec.encode(ONE_TOPIC, 1) == ONE_TOPIC_V1
    assert codec.decode(MetadataRequest, 1, ONE_TOPIC_V1) == ONE_TOPIC


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_and_any_position(kind: type[bytes]) -> None:
    assert codec.decode(MetadataRequest, 1, kind(b"head" + ONE_TOPIC_V1), 4) == ONE_TOPIC


def test_the_whole_buffer_must_be_the_message() -> None:
    with pytest.raises(ProtocolError, match="3 bytes after MetadataRequest v1"):
        codec.decode(MetadataRequest, 1, ONE_TOPIC_V1 + b"xyz")


def test_what_follows_can_be_left_alone() -> None:
    message, end = codec.decode_prefix(MetadataRequest, 1, ONE_TOPIC_V1 + b"xyz")
    assert (message, end) == (ONE_TOPIC, len(ONE_TOPIC_V1))


def test_arrays_have_at_most_a_mebi_of_numbers() -> None:
    """However many bytes came: each element costs the broker more than it cost the client."""
    numbers = [0] * (codec.WEIGHT_LIMIT - OBJECT_WEIGHT)  # The topic is an element too.
    topic = ListPartitionReassignmentsTopics(name="t", partition_indexes=numbers)
    most = ListPartitionReassignmentsRequest(topics=[topic])
    assert codec.decode(type(most), 0, codec.encode(most, 0)) == most
    topic.partition_indexes.append(0)
    with pytest.raises(ProtocolError):
        codec.decode(type(most), 0, codec.encode(most, 0))


@pytest.mark.parametrize("size", range(len(ONE_TOPIC_V1)))
def test_bytes_that_end_early(size: int) -> None:
    with pytest.raises(ProtocolError):
        codec.decode(MetadataRequest, 1, ONE_TOPIC_V1[:size])


@pytest.mark.parametrize("version", [-1, 14])
def test_a_version_that_is_none(version: int) -> None:
    with pytest.raises(ProtocolError, match=f"MetadataRequest has no version {version}"):
        codec.decode(MetadataRequest, version, ONE_TOPIC_V1)
    with pytest.raises(KafkaError) as refused:
        codec.encode(ONE_TOPIC, version)
    assert refused.value.code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_records_are_views_of_the_frame(kind: type[bytes]) -> None:
    frame = kind(bytearray(codec.encode(produce(b"batch"), 7)))
    request = codec.decode(ProduceRequest, 7, frame)
    records = request.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert bytes(records) == b"batch"
    assert records.obj is memoryview(frame).obj


def test_strings_and_bytes_outlive_the_frame() -> None:
    frame = bytearray(codec.encode(SyncGroupResponse(assignment=b"mine"), 0))
    response = codec.decode(SyncGroupResponse, 0, memoryview(frame))
    frame[:] = bytes(len(frame))
    assert response.assignment == b"mine"
    assert type(response.assignment) is bytes


def test_text_that_is_no_utf8_is_read_as_java_reads_it() -> None:
    request = codec.decode(MetadataRequest, 1, b"\x00\x00\x00\x01\x00\x03a\xffb")
    assert request.topics == [MetadataRequestTopic(name="a\ufffdb")]
    assert codec.encode(request, 1) == b"\x00\x00\x00\x01\x00\x05a\xef\xbf\xbdb"


def test_the_same_in_a_message_with_records() -> None:
    frame = codec.encode(produce(b"batch"), 7).replace(b"\x00\x01t", b"\x00\x01\xff")
    assert codec.decode(ProduceRequest, 7, frame).topic_data[0].name == "\ufffd"


def test_parts_leave_records_uncopied() -> None:
    first, second, third = Elsewhere(), memoryview(b"batch"), Elsewhere()
    parts = codec.encode_parts(fetched(first, second, third), 12)
    assert parts[1] is first
    assert parts[3] is second
    assert parts[5] is third
    in_memory = codec.encode(fetched(b"12345", second, b"54321"), 12)
    joined = b"".join(
        part if isinstance(part, (bytes, memoryview)) else (b"12345", b"54321")[part is third]
        for part in parts
    )
    assert joined == in_memory


def test_empty_records_are_no_part() -> None:
    assert len(codec.encode_parts(fetched(b"", None), 4)) == 1


def test_a_message_may_end_with_records() -> None:
    parts = codec.encode_parts(fetched(b"batch"), 4)
    assert parts[1:] == [b"batch"]
    assert b"".join(part for part in parts if isinstance(part, bytes)) == codec.encode(
        fetched(b"batch"), 4
    )


def test_an_empty_message_has_no_parts() -> None:
    from kafkalite.protocol.messages.api_versions import ApiVersionsRequest

    assert codec.encode(ApiVersionsRequest(), 0) == b""
    assert codec.encode_parts(ApiVersionsRequest(), 0) == []


def test_records_elsewhere_can_not_be_joined() -> None:
    with pytest.raises(ValueError, match="FetchResponse v12 can't hold its values"):
        codec.encode(fetched(Elsewhere()), 12)


@pytest.mark.parametrize(
    "topic",
    [
        MetadataRequestTopic(name=None),
        MetadataRequestTopic(name=5),  # type: ignore[arg-type]  # the point of the test.
        MetadataRequestTopic(name="x" * 32768),
        MetadataRequestTopic(name="\ud800"),
    ],
)
def test_values_that_do_not_fit(topic: MetadataRequestTopic) -> None:
    with pytest.raises(ValueError, match="MetadataRequest v1 can't hold its values"):
        codec.encode(MetadataRequest(topics=[topic]), 1)
    with pytest.raises(ValueError, match="MetadataRequest v1 can't hold its values"):
        codec.encode_parts(MetadataRequest(topics=[topic]), 1)


def test_a_field_that_the_version_lacks_is_refused() -> None:
    request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
    assert codec.encode(request, 4) == b"\xff\xff\xff\xff\x00"
    with pytest.raises(KafkaError, match="allow_auto_topic_creation") as refused:
        codec.encode(request, 3)
    assert refused.value.code == ErrorCode.UNSUPPORTED_VERSION


def test_a_codec_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    codec.decode(SyncGroupResponse, 2, codec.encode(SyncGroupResponse(), 2))
    monkeypatch.setattr(codec, "compile_decoder", None)
    monkeypatch.setattr(codec, "compile_encoder", None)
    data = codec.encode(SyncGroupResponse(), 2)
    assert codec.decode(SyncGroupResponse, 2, data) == SyncGroupResponse()
