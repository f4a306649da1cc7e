"""Frames: four bytes of length, signed and big-endian, then that many bytes.

    length (int32) | header | body

`FrameSplitter` is for whoever gets chunks, such as a client; a broker's connections parse in place
(`server/receive_buffer.py`). Both refuse a length before anything is allocated for it
(`NetworkReceive.java`; the limit is `socket.request.max.bytes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final

from kafkalite.errors import ProtocolError
from kafkalite.protocol.fields import Sized

Buffer = bytes | bytearray | memoryview

LENGTH_SIZE: Final = 4
DEFAULT_FRAME_LIMIT: Final = 104_857_600
"""Kafka's default of `socket.request.max.bytes`."""

_LENGTH: Final = Struct(">i")


def frame_end(buffer: Buffer, begin: int, end: int, *, limit_bytes: int) -> int | None:
    """Where the frame that starts at `begin` ends (exclusive), which may lie beyond `end`: the rest
    has not arrived. None while the length itself is not whole. Its header starts at `begin + 4`.

    `ProtocolError` for a negative length or one above `limit_bytes`.
    """
    if end - begin < LENGTH_SIZE:
        return None
    (length,) = _LENGTH.unpack_from(buffer, begin)
    if not 0 <= length <= limit_bytes:
        raise ProtocolError(f"a frame of {length} bytes, where at most {limit_bytes} are allowed")
    stop: int = begin + LENGTH_SIZE + length
    return stop


def add_length(parts: Sequence[Buffer | Sized]) -> list[Buffer | Sized]:
    """The frame around `parts`: the length joined to the first part, which must be in memory."""
    first, *rest = parts
    assert isinstance(first, (bytes, bytearray, memoryview)), first
    length = sum(map(len, parts))
    return [b"".join((_LENGTH.pack(length), first)), *rest]


class FrameSplitter:
    """Chunks in, whole frames out. Holds at most one frame of `limit_bytes` and the last chunk."""

    def __init__(self, *, limit_bytes: int = DEFAULT_FRAME_LIMIT) -> None:
        self._limit_bytes = limit_bytes
        self._pending = bytearray()

    def feed(self, chunk: Buffer) -> list[bytes]:
        """The frames that `chunk` completes, without their lengths. `ProtocolError` as `frame_end`;
        the splitter is of no use after it."""
        pending = self._pending
        pending += chunk
        frames: list[bytes] = []
        begin = 0
        while True:
            stop = frame_end(pending, begin, len(pending), limit_bytes=self._limit_bytes)
            if stop is None or stop > len(pending):
                break
            frames.append(bytes(memoryview(pending)[begin + LENGTH_SIZE : stop]))
            begin = stop
        if begin:
            del pending[:begin]
        return frames
