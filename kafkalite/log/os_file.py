"""One open file of a real disk, and ranges of it on loan.

At most one descriptor a file (see `open_files`: none while it is long unused), moved by nobody but
`append`: reads name their position (`pread`), so a slice on loan and an append do not disturb each
other. What is open must not be renamed or removed.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress

from kafkalite.log.files import Buffer, Part
from kafkalite.log.open_files import OpenFiles

BINARY: int = getattr(os, "O_BINARY", 0)
NO_INHERIT: int = getattr(os, "O_CLOEXEC", 0)
"""What each `os.open` here has, where the platform knows it."""
sync_data = getattr(os, "fdatasync", os.fsync)
"""Return when the bytes of a descriptor's file are on the disk."""


class OsSlice:
    """A range of a file on loan: the descriptor stays open until `release()`."""

    __slots__ = ("_file", "_size", "fd", "position")

    def __init__(self, file: OsFile, fd: int, position: int, size: int) -> None:
        self._file: OsFile | None = file
        self._size = size
        self.fd = fd
        self.position = position

    def __len__(self) -> int:
        return self._size

    def read(self, offset: int, size: int) -> bytes:
        """`size` bytes from `offset` of the range; fewer when the file was cut meanwhile."""
        assert self._file is not None, "the slice was given back"
        return _read_at(self.fd, self.position + offset, min(size, self._size - offset))

    def release(self) -> None:
        """Give the slice back. A second time is an error of the caller."""
        file, self._file = self._file, None
        assert file is not None, "the slice was given back twice"
        file.leases -= 1
        if not file.leases:
            file.close_if_done()


class OsFile:
    """One open file. `size` is kept here: no other process writes to it."""

    __slots__ = (
        "_closed",
        "_fd",
        "_flags",
        "_open_files",
        "_path",
        "_reserved",
        "leases",
        "size",
        "was_used",
    )

    def __init__(self, path: str, flags: int, open_files: OpenFiles) -> None:
        self._path = path
        self._flags = (flags | BINARY | NO_INHERIT) & ~os.O_CREAT
        self._open_files = open_files
        self._closed = False
        self._reserved = 0
        """How long the file is on the disk, if that is more than `size`: zeros follow then."""
        self.leases = 0
        self.was_used = True
        self._fd = open_files.open(self, path, self._flags | flags)
        """-1: closed, or let go for another's sake."""
        self.size = os.lseek(self._fd, 0, os.SEEK_END)

    def _descriptor(self) -> int:
        self.was_used = True
        return self._fd if self._fd >= 0 else self._open_again()

    def _open_again(self) -> int:
        assert not self._closed, f"{self._path} is closed"
        fd = self._open_files.open(self, self._path, self._flags)
        size, due = os.lseek(fd, 0, os.SEEK_END), max(self.size, self._reserved)
        if size != due:
            self._open_files.closed(self)
            os.close(fd)
            raise OSError(errno.EIO, f"{size} bytes are there, not {due}", self._path)
        if size != self.size:
            os.lseek(fd, self.size, os.SEEK_SET)
        self._fd = fd
        return fd

    def let_go(self) -> None:
        """Close the descriptor until the next use, for another's sake."""
        assert not self.leases
        fd, self._fd = self._fd, -1
        os.close(fd)

    def append(self, data: Buffer) -> None:
        """Write all of it at the end; after an error the file is as it was."""
        assert not self._closed, "append to a closed file"
        self.was_used = True  # As `_descriptor`, without a call for each batch.
        fd = self._fd if self._fd >= 0 else self._open_again()
        size = len(data)
        try:
            written = os.write(fd, data)
            if written != size:
                _write_rest(fd, data, written)
        except BaseException:
            os.ftruncate(fd, self.size)
            os.lseek(fd, self.size, os.SEEK_SET)
            if self._reserved > self.size:
                os.ftruncate(fd, self._reserved)
            raise
        self.size += size

    def read(self, position: int, size: int) -> bytes:
        """Up to `size` bytes from `position`."""
        if self._reserved:
            size = max(min(size, self.size - position), 0)
        return _read_at(self._descriptor(), position, size)

    def write_at(self, position: int, data: Buffer) -> None:
        """Overwrite bytes below `size` in place."""
        assert position + len(data) <= self.size, "write_at does not lengthen a file"
        fd = self._descriptor()
        os.lseek(fd, position, os.SEEK_SET)
        try:
            _write_rest(fd, data, 0)
        finally:
            os.lseek(fd, self.size, os.SEEK_SET)

    def slice(self, position: int, size: int) -> Part:
        """That range, on loan."""
        assert 0 <= position <= position + size <= self.size, "a slice ends with the file"
        assert not self._closed, "a slice of a closed file"
        fd = self._descriptor()
        self.leases += 1
        return OsSlice(self, fd, position, size)

    def truncate(self, size: int) -> None:
        """Cut to `size` bytes."""
        assert size <= self.size, "truncate does not lengthen a file"
        fd = self._descriptor()
        os.ftruncate(fd, size)
        os.lseek(fd, size, os.SEEK_SET)
        self.size, self._reserved = size, 0

    def reserve(self, size: int) -> None:
        """Have it as long as that on the disk; 0: as long as it is."""
        if size > self.size:
            os.ftruncate(self._descriptor(), size)
            self._reserved = size
        elif self._reserved:
            os.ftruncate(self._descriptor(), self.size)
            self._reserved = 0

    def sync(self) -> None:
        """Wait until the disk has the bytes."""
        sync_data(self._descriptor())

    def close(self) -> None:
        """Close, now or with the last slice given back."""
        if self._reserved:
            with suppress(OSError):  # Zeros at the end are cut when it is next recovered.
                self.reserve(0)
            self._reserved = 0
        self._closed = True
        self.close_if_done()

    def close_if_done(self) -> None:
        """Let the descriptor go if the file is closed and no slice is out."""
        if self._closed and not self.leases and self._fd >= 0:
            self._open_files.closed(self)
            self.let_go()


def _write_rest(fd: int, data: Buffer, written: int) -> None:
    """A call may take fewer bytes than given (a full disk, a limit of 2 GiB): go on."""
    with memoryview(data) as view:
        while written < len(view):
            written += os.write(fd, view[written:])


def _read_at(fd: int, position: int, size: int) -> bytes:
    if hasattr(os, "pread"):
        data = os.pread(fd, size, position)
        if len(data) == size or not data:
            return data
        pieces = [data]
        missing = size - len(data)
        while missing and (data := os.pread(fd, missing, position + size - missing)):
            pieces.append(data)
            missing -= len(data)
        return b"".join(pieces)
    before = os.lseek(fd, 0, os.SEEK_CUR)  # Windows: one position a descriptor, so put it back.
    try:
        os.lseek(fd, position, os.SEEK_SET)
        return os.read(fd, size)
    finally:
        os.lseek(fd, before, os.SEEK_SET)
