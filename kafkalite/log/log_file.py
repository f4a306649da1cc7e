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

    __slots__ = ("_files", "_longest", "_reserved", "_was_reserved", "is_new", "name", "opened")

    def __init__(self, files: Files, name: str) -> None:
        self._files = files
        self._longest = 0
        """How long it may still be on the disk, if it is to be `cut`."""
        self._reserved: int | None = None
        """How long it was made at once; None: it is as long as it is full."""
        self._was_reserved = False
        """Whether a loss of power may leave it longer than it is full: see `trim`."""
        self.is_new = False
        """Whether what opens it first makes it."""
        self.name = name
        self.opened: File | None = None

    def begin(self) -> None:
        """It is new."""
        self.is_new = True

    def make(self, config: TopicConfig) -> None:
        """Make it now, empty. After an `OSError` it can be tried again."""
        self.is_new = True
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
        if self.is_new and config.preallocate:
            file.reserve(config.segment_bytes)
            self._reserved = config.segment_bytes
            self._was_reserved = True
        self.is_new = False
        self.opened = file

    def check(self, size: int) -> None:
        """`InvariantError` unless the disk has so many bytes of it: nobody else may write here."""
        self._check(self._files.size(self.name), size)

    def _check(self, found: int, size: int) -> None:
        if found not in (size, self._reserved) and not size <= found <= self._longest:
            raise InvariantError(f"{self.name} has {found} bytes, not {size}")

    def trim(self) -> bool:
        """From now on it is as long as it is full. Whether the disk is to be told of that: or else
        a loss of power has it end with zeros, where nobody may look again."""
        was_reserved, self._was_reserved = self._was_reserved, False
        if self._reserved is not None:
            assert self.opened is not None
            self.opened.reserve(0)
            self._reserved = None
        return was_reserved

    def shorten(self, size: int) -> None:
        """Of so many bytes only the first count: before anything is written, it is to be `cut`."""
        self._longest = size

    def cut(self, size: int, config: TopicConfig) -> None:
        """Have it be no longer than that on the disk, durably. After an `OSError` it can be tried
        again."""
        file = self.open(size, config)
        if self._longest:
            file.truncate(size)
            self._reserved = None
            file.sync()
            self._longest = 0

    def close(self) -> None:
        """Let it go; leases keep it open until they end."""
        if self.opened is not None:
            self.opened.close()
            self.opened = None
            self._reserved = None
