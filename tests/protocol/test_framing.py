from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.errors import ProtocolError
from kafkalite.protocol.framing import FrameSplitter, add_length, frame_end

FRAME = b"\x00\x00\x00\x03abc"


class Elsewhere:
    """Record bytes that are not in memory."""

    def __len__(self) -> int:
        return 1000


@pytest.mark.parametrize("arrived", range(4))
def test_the_end_is_unknown_before_the_length_is_whole(arrived: int) -> None:
    assert frame_end(FRAME, 0, arrived, limit_bytes=10) is None


@pytest.mark.parametrize("arrived", range(4, 8))
def test_the_end_is_known_before_the_frame_is_whole(arrived: int) -> None:
    assert frame_end(FRAME, 0, arrived, limit_bytes=10) == 7


def test_frames_stand_anywhere_in_the_buffer() -> None:
    buffer = memoryview(bytearray(b"xx" + FRAME + FRAME))
    assert frame_end(buffer, 2, len(buffer), limit_bytes=10) == 9
    assert frame_end(buffer, 9, len(buffer), limit_bytes=10) == 16


def test_an_empty_frame_is_a_frame() -> None:
    assert frame_end(bytes(4), 0, 4, limit_bytes=0) == 4


@pytest.mark.parametrize("length", [b"\xff\xff\xff\xff", b"\x80\x00\x00\x00", b"\x00\x00\x00\x0b"])
def test_a_length_that_can_not_be_is_refused(length: bytes) -> None:
    with pytest.raises(ProtocolError, match="at most 10"):
        frame_end(length, 0, 4, limit_bytes=10)
    with pytest.raises(ProtocolError):
        FrameSplitter(limit_bytes=10).feed(length)


def test_the_limit_itself_is_allowed() -> None:
    assert frame_end(b"\x00\x00\x00\x0a", 0, 4, limit_bytes=10) == 14


def test_the_default_limit_is_kafkas() -> None:
    assert FrameSplitter().feed((104_857_600).to_bytes(4, "big")) == []
    with pytest.raises(ProtocolError):
        FrameSplitter().feed((104_857_601).to_bytes(4, "big"))


@given(
    bodies=st.lists(st.binary(max_size=20), max_size=6),
    cuts=st.lists(st.integers(1, 9), min_size=1, max_size=40),
    chunk_type=st.sampled_from([bytes, bytearray, memoryview]),
)
def test_however_the_chunks_fall_the_frames_are_the_same(
    bodies: list[bytes], cuts: list[int], chunk_type: Callable[[bytes], bytes]
) -> None:
    stream = b"".join(len(body).to_bytes(4, "big") + body for body in bodies)
    splitter = FrameSplitter(limit_bytes=20)
    frames: list[bytes] = []
    position = turn = 0
    while position < len(stream):
        size = cuts[turn % len(cuts)]
        frames += splitter.feed(chunk_type(stream[position : position + size]))
        position += size
        turn += 1
    assert frames == bodies
    assert splitter.feed(chunk_type(FRAME)) == [b"abc"], "nothing was left over"


def test_what_is_not_whole_is_pending() -> None:
    splitter = FrameSplitter()
    assert splitter.feed(FRAME + FRAME[:5]) == [b"abc"]
    assert splitter.feed(FRAME[5:]) == [b"abc"]


def test_the_length_goes_before_the_first_part() -> None:
    assert add_length([b"abc"]) == [FRAME]
    part = Elsewhere()
    assert add_length([memoryview(b"ab"), part]) == [b"\x00\x00\x03\xeaab", part]
