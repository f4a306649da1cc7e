"""Input that may be silent for long, such as a pipe: whoever waits for it looks up now and then."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable
from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING, BinaryIO, cast

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_LOOK_EVERY_S = 0.5
_CHUNK_BYTES = 1 << 16
_CHUNKS_AHEAD = 16


def watched(file: BinaryIO, look: Callable[[], None]) -> BinaryIO:
    """The same bytes. While there are none to read, `look` is called every half a second; what it
    raises, the read raises. Files, which are never silent, are as they were. Nothing must have been
    read from `file`."""
    try:
        descriptor = file.fileno()
    except io.UnsupportedOperation:  # No file of the system.
        return file
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return file
    # `cast`: typeshed has readers apart from `BinaryIO`, which they are.
    return cast("BinaryIO", io.BufferedReader(_WatchedInput(descriptor, look), _CHUNK_BYTES))


class _WatchedInput(io.RawIOBase):
    """Reads on a thread of its own, which nobody waits for: it may be in a read that never ends."""

    def __init__(self, descriptor: int, look: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._look = look
        self._read_ahead: Queue[bytes | OSError] = Queue(_CHUNKS_AHEAD)
        self._chunk = memoryview(b"")
        self._is_over = False
        Thread(target=self._read, name="kafkalite-input", daemon=True).start()

    def readable(self) -> bool:
        """See `io.RawIOBase`."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """See `io.RawIOBase`. `OSError` of the input."""
        if not self._chunk and not self._is_over:
            self._chunk = memoryview(self._next())
            self._is_over = not self._chunk
        wanted = memoryview(buffer).cast("B")
        size = min(len(wanted), len(self._chunk))
        wanted[:size] = self._chunk[:size]
        self._chunk = self._chunk[size:]
        return size

    def _next(self) -> bytes:
        while True:
            try:
                chunk = self._read_ahead.get(timeout=_LOOK_EVERY_S)
            except Empty:
                self._look()
                continue
            if isinstance(chunk, OSError):
                raise chunk
            return chunk

    def _read(self) -> None:
        chunk: bytes | OSError = b"..."
        while chunk and not isinstance(chunk, OSError):
            try:
                chunk = os.read(self._descriptor, _CHUNK_BYTES)
            except OSError as error:
                chunk = error
            self._read_ahead.put(chunk)
