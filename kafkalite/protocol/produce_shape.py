"""The shape of a produce: all of a request but its records, and all of its answer but the offsets.

A producer sends the same bytes around its records again and again, and hears the same bytes around
the offsets that they got. Decoding the ones and encoding the others is most of what a small produce
costs. So what came of it once is kept, and a frame of the same shape is compared, not decoded:

    key, version, correlation id | client id, acks, topic, ... | length | records | tagged fields
                                 |            `head`           |                  |    `tail`

Where these lie is not written down here: it is seen from what the codecs make of one request.
"""

from __future__ import annotations

from struct import Struct, error
from typing import Final, cast

from kafkalite.protocol.codec import encode_parts
from kafkalite.protocol.hot import response_frame
from kafkalite.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from kafkalite.protocol.primitives import encode_varint
from kafkalite.protocol.records.batch import ATTRIBUTES_LOW_BYTE, TRANSACTIONAL_BIT
from kafkalite.protocol.schema import schema_of

HEAD_BEGINS: Final = 8
"""Behind the correlation id, in a frame without its length."""
_LENGTH: Final = Struct(">i")
_unpack_length = _LENGTH.unpack_from
_ANSWER_BEGINS: Final = 8
"""Of an answer's frame: behind its length and the correlation id."""
FIRST_VERSION: Final = 7
"""With a shape: before it zstd is refused, and in earlier ones answers have a number less. Only old
clients ask for those."""
MOST_AROUND: Final = 512
"""Bytes around the records. Longer ones have no shape: they may hold a name that is no UTF-8, and
that the codec makes longer than it may be."""
_MARK: Final = 0x4B61666B614C6974
"""Stands for each offset and time, where the bytes around them are looked for."""


class ProduceShape:
    """That of requests with records for one partition which belong to no transaction."""

    __slots__ = (
        "_answer_head", "_answer_size", "_answer_tail", "_data", "_head_ends", "_is_flexible",
        "_pack", "_tail", "_tail_size", "client_id", "head", "request", "version",
    )  # fmt: skip

    def __init__(
        self, request: ProduceRequest, version: int, client_id: str | None, head: bytes, tail: bytes
    ) -> None:
        self.request = request
        """What such frames decode to. It is the same object for all of them: its records are those
        of the frame that `take` was called with, until `let_go`."""
        self.version = version
        self.client_id = client_id
        self.head = head
        """Of the frame, from `HEAD_BEGINS` up to the length of its records."""
        self._head_ends = HEAD_BEGINS + len(head)
        self._tail = tail
        self._tail_size = len(tail)
        self._is_flexible = version in schema_of(ProduceRequest).flexible
        self._data = request.topic_data[0].partition_data[0]
        before, after = _around_numbers(request, version)
        answer = Struct(f">ii{len(before)}sqqq{len(after)}s")
        self._answer_head, self._answer_tail = before, after
        self._answer_size = answer.size - _LENGTH.size
        self._pack = answer.pack

    def take(self, frame: memoryview) -> bool:
        """Put the records of a frame that begins with `head` into `request`, as a view. False when
        it goes on otherwise, or another frame's have not been let go of."""
        data = self._data
        if data.records is not None:
            return False  # Its append has woken somebody who produces the like.
        position = self._head_ends
        try:
            if self._is_flexible:
                size = frame[position] - 1
                position += 1
                if size > 126:
                    second = frame[position]
                    size += (second - 1) << 7
                    position += 1
                    if second > 127:
                        third = frame[position]
                        if third > 127:
                            return False  # Of such a size, decoding costs nothing.
                        size += (third - 1) << 14
                        position += 1
            else:
                (size,) = _unpack_length(frame, position)
                position += 4
        except (IndexError, error):
            return False
        end = position + size
        if size <= 0 or end + self._tail_size != len(frame) or frame[end:] != self._tail:
            return False
        if size > ATTRIBUTES_LOW_BYTE and frame[position + ATTRIBUTES_LOW_BYTE] & TRANSACTIONAL_BIT:
            return False  # To be refused, for want of a transactional id.
        data.records = frame[position:end]
        return True

    def let_go(self) -> None:
        """The frame is handled: keep no view of it."""
        self._data.records = None

    def answer(
        self, correlation_id: int, base_offset: int, append_time_ms: int, log_start_offset: int
    ) -> bytes:
        """The whole frame, length and all, of an answer without an error to `request`."""
        return self._pack(
            self._answer_size,
            correlation_id,
            self._answer_head,
            base_offset,
            append_time_ms,
            log_start_offset,
            self._answer_tail,
        )

    def response(self, told: PartitionProduceResponse) -> ProduceResponse:
        """Any other answer to `request`, for the codec."""
        return _response(self.request, told)


def shape_of(
    request: ProduceRequest, version: int, client_id: str | None, frame: memoryview, begin: int
) -> ProduceShape | None:
    """That of the request which `frame` holds, behind a header that ends at `begin`. None where
    others have nothing to compare: several partitions, no records, much around them, or bytes that
    are not what the codec makes of them, or of a transaction."""
    topics = request.topic_data
    if version < FIRST_VERSION or len(topics) != 1:
        return None
    topic = topics[0]
    if len(topic.partition_data) != 1:
        return None
    records = topic.partition_data[0].records
    if not isinstance(records, memoryview) or not len(records):
        return None
    if len(frame) - len(records) > MOST_AROUND:
        return None
    data = PartitionProduceData(index=topic.partition_data[0].index, records=records)
    own = ProduceRequest(
        acks=request.acks,
        timeout_ms=request.timeout_ms,
        topic_data=[
            TopicProduceData(name=topic.name, topic_id=topic.topic_id, partition_data=[data])
        ],
    )
    # Its records are in memory, so all parts are bytes.
    before, _, *behind = cast("list[bytes]", encode_parts(own, version))
    after = b"".join(behind)
    records_begin = begin + len(before)
    if frame[begin:records_begin] != before or frame[records_begin + len(records) :] != after:
        return None
    is_flexible = version in schema_of(ProduceRequest).flexible
    length_size = len(encode_varint(len(records) + 1)) if is_flexible else _LENGTH.size
    head = bytes(frame[HEAD_BEGINS : records_begin - length_size])
    data.records = None
    return ProduceShape(own, version, client_id, head, after)


def _around_numbers(request: ProduceRequest, version: int) -> tuple[bytes, bytes]:
    """The bytes before and after the numbers in the answer to a request without an error."""
    told = PartitionProduceResponse(
        index=request.topic_data[0].partition_data[0].index,
        base_offset=_MARK,
        log_append_time_ms=_MARK,
        log_start_offset=_MARK,
    )
    response = _response(request, told)
    frame = b"".join(cast("list[bytes]", response_frame(response, version, correlation_id=0)))
    marks = _MARK.to_bytes(8, "big") * 3
    # The last ones: a topic may be named so.
    before, _, after = frame[_ANSWER_BEGINS:].rpartition(marks)
    return before, after


def _response(request: ProduceRequest, told: PartitionProduceResponse) -> ProduceResponse:
    topic = request.topic_data[0]
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name, topic_id=topic.topic_id, partition_responses=[told]
            )
        ]
    )
