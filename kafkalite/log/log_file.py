"""The `.log` of one segment: opened at its first use, and at its full size if that is wanted.

With `preallocate` the file of a new segment has the segment's full size while the segment is the
active one; what is behind its batches counts for nothing, and goes when it rolls or closes. What a
crash leaves of it, recovery cuts. Source: Kafka's `FileRecords`.
"""

from __future__ import annotations

from kafkalite.config.views import TopicConfig
from kafkalite.errors import InvariantError
from kafkalite.log.files import File, Files


class LogFile:
    """May be closed at any time; the next use opens it again."""

    __slots__ = ("_files", "_is_new", "_reserved", "name", "opened")

    def __init__(self, files: Files, name: str) -> None:
        self._files = files
        self._is_new = False
        self._reserved: int | None = None
        """How long it was made at once; None: it is as long as it is full."""
        self.name = name
        self.opened: File | None = None

    def begin(self) -> None:
        """It is new: what opens it first makes it."""
        self._is_new = True

    def make(self, config: TopicConfig) -> None:
        """Make it now, empty. After an `OSError` it can be tried again."""
        self._is_new = True
        file = self._files.open(self.name)
        try:
            if file.size:
                file.truncate(0)  # Left by a roll that an error cut short.
            self._take(file, config)
        except OSError:
            file.close()
            raise

    def open(self, size: int, config: TopicConfig) -> File:
        """Open it, if it is not. `InvariantError` when it has not so many bytes."""
        if self.opened is not None:
            return self.opened
        file = self._files.open(self.name)
        try:
            self._check(file.size, size)
            self._take(file, config)
        except (InvariantError, OSError):
            file.close()
            raise
        return file

    def _take(self, file: File, config: TopicConfig) -> None:
        if self._is_new and config.preallocate:
            file.reserve(config.segment_bytes)
            self._reserved = config.segment_bytes
        self._is_new = False
        self.opened = file

    def check(self, size: int) -> None:
        """`InvariantError` unless the disk has so many bytes of it: nobody else may write here."""
        self._check(self._files.size(self.name), size)

    def _check(self, found: int, size: int) -> None:
        if found not in (size, self._reserved):
            raise InvariantError(f"{self.name} has {found} bytes, not {size}")

    def trim(self) -> None:
        """From now on it is as long as it is full."""
        if self._reserved is not None:
            assert self.opened is not None
            self.opened.reserve(0)
            self._reserved = None

    def cut(self, opened: File, size: int) -> None:
        """Cut what `open` gave to so many bytes, durably."""
        opened.truncate(size)
        self._reserved = None
        opened.sync()

    def close(self) -> None:
        """Let it go; leases keep it open until they end."""
        if self.opened is not None:
            self.opened.close()
            self.opened = None
            self._reserved = None
