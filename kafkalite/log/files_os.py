"""The Files port over a real folder: `os` and `fcntl`, with what each platform lacks guarded.

At most one descriptor a file (see `open_files`: none while it is long unused), moved by nobody but
`append`: reads name their position (`pread`), so a slice on loan and an append do not disturb each
other. What is open must not be renamed or removed.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from kafkalite.log.files import Buffer, DiskSpace, Part
from kafkalite.log.open_files import OpenFiles, descriptor_limit
from kafkalite.log.os_lock import OsLock

_BINARY: int = getattr(os, "O_BINARY", 0)
_NO_INHERIT: int = getattr(os, "O_CLOEXEC", 0)
_MAX_PARTS = 1024
"""The smallest IOV_MAX in use: more parts take more calls."""
_TEMPORARY_SUFFIX = ".tmp"
"""Kafka's own name for a checkpoint being replaced."""
_sync = getattr(os, "fdatasync", os.fsync)


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

    __slots__ = ("_closed", "_fd", "_flags", "_open_files", "_path", "leases", "size", "was_used")

    def __init__(self, path: str, flags: int, open_files: OpenFiles) -> None:
        self._path = path
        self._flags = (flags | _BINARY | _NO_INHERIT) & ~os.O_CREAT
        self._open_files = open_files
        self._closed = False
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
        size = os.lseek(fd, 0, os.SEEK_END)
        if size != self.size:
            self._open_files.closed(self)
            os.close(fd)
            raise OSError(errno.EIO, f"{size} bytes are there, not {self.size}", self._path)
        self._fd = fd
        return fd

    def let_go(self) -> None:
        """See `HeldFile`."""
        assert not self.leases
        fd, self._fd = self._fd, -1
        os.close(fd)

    def append(self, parts: Sequence[Buffer]) -> None:
        """Write all parts at the end; after an error the file is as it was."""
        size = len(parts[0]) if len(parts) == 1 else sum(map(len, parts))
        assert not self._closed, "append to a closed file"
        fd = self._descriptor()
        try:
            written = os.write(fd, parts[0]) if len(parts) == 1 else _writev(fd, parts)
            if written != size:
                _write_rest(fd, parts, written)
        except BaseException:
            os.ftruncate(fd, self.size)
            os.lseek(fd, self.size, os.SEEK_SET)
            raise
        self.size += size

    def read(self, position: int, size: int) -> bytes:
        """Up to `size` bytes from `position`."""
        return _read_at(self._descriptor(), position, size)

    def write_at(self, position: int, data: Buffer) -> None:
        """Overwrite bytes below `size` in place."""
        assert position + len(data) <= self.size, "write_at does not lengthen a file"
        fd = self._descriptor()
        os.lseek(fd, position, os.SEEK_SET)
        try:
            with memoryview(data) as view:
                written = 0
                while written < len(view):
                    written += os.write(fd, view[written:])
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
        self.size = size

    def sync(self) -> None:
        """Wait until the disk has the bytes."""
        _sync(self._descriptor())

    def close(self) -> None:
        """Close, now or with the last slice given back."""
        self._closed = True
        self.close_if_done()

    def close_if_done(self) -> None:
        """Let the descriptor go if the file is closed and no slice is out."""
        if self._closed and not self.leases and self._fd >= 0:
            self._open_files.closed(self)
            self.let_go()


def _writev(fd: int, parts: Sequence[Buffer]) -> int:
    if not parts:
        return 0
    if hasattr(os, "writev") and len(parts) <= _MAX_PARTS:
        return os.writev(fd, parts)
    return 0


def _write_rest(fd: int, parts: Sequence[Buffer], written: int) -> None:
    """A call may take fewer bytes than given (a full disk, a limit of 2 GiB): go on."""
    for part in parts:
        with memoryview(part) as view:
            if written >= len(view):
                written -= len(view)
                continue
            while written < len(view):
                written += os.write(fd, view[written:])
            written = 0


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


class OsFiles:
    """The tree below `root`, which need not exist yet."""

    def __init__(
        self, root: str, *, limit: int | None = None, open_files: OpenFiles | None = None
    ) -> None:
        """`limit`: of descriptors, for files and all else; None: what the process has now.
        `open_files`: those of all trees together, where there are several."""
        self._root = os.path.abspath(root)
        self._open_files = open_files or OpenFiles(descriptor_limit() if limit is None else limit)

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def open(self, path: str) -> OsFile:
        """Open for reading and appending, made when missing."""
        return OsFile(self._at(path), os.O_RDWR | os.O_CREAT, self._open_files)

    def open_read(self, path: str) -> OsFile:
        """Open what exists for reading."""
        return OsFile(self._at(path), os.O_RDONLY, self._open_files)

    def exists(self, path: str) -> bool:
        """Whether a file or folder is there."""
        return os.path.exists(self._at(path))

    def is_folder(self, path: str) -> bool:
        """Whether a folder is there."""
        return os.path.isdir(self._at(path))

    def size(self, path: str) -> int:
        """Bytes in the file."""
        return os.stat(self._at(path)).st_size

    def list(self, path: str) -> list[str]:
        """Names in a folder, sorted."""
        return sorted(os.listdir(self._at(path)))

    def make_folder(self, path: str) -> None:
        """Make the folder and those above it; but a root that was there and was removed, with all
        in it, is not to come back as if nothing had been."""
        if not path:
            self._make_root()
        elif os.path.isdir(self._root):
            os.makedirs(self._at(path), exist_ok=True)
        else:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self._root)

    def _make_root(self) -> None:
        """Durably: a loss of power is not to take all that was synced in it."""
        made = []
        missing = self._root
        while not os.path.isdir(missing):
            made.append(missing)
            missing = os.path.dirname(missing)
        os.makedirs(self._root, exist_ok=True)
        for folder in made:
            with suppress(PermissionError):  # Who may write there need not be allowed to read.
                _sync_folder(os.path.dirname(folder))

    def replace(self, path: str, data: bytes, *, sync: bool = True) -> None:
        """Write beside, then rename over."""
        target = self._at(path)
        temporary = target + _TEMPORARY_SUFFIX
        try:
            _write_file(temporary, data, sync=sync)
            os.replace(temporary, target)
        except OSError:
            with suppress(OSError):
                os.remove(temporary)  # A full disk is to get back what was taken of it.
            raise
        if sync:
            _sync_folder(os.path.dirname(target))

    def rename(self, source: str, target: str, *, sync: bool = True) -> None:
        """Rename, and with `sync` wait until the disk knows."""
        before, after = self._at(source), self._at(target)
        os.replace(before, after)
        if not sync:
            return
        _sync_folder(os.path.dirname(after))
        if os.path.dirname(before) != os.path.dirname(after):
            _sync_folder(os.path.dirname(before))

    def remove(self, path: str) -> None:
        """Remove a file."""
        os.remove(self._at(path))

    def remove_folder(self, path: str) -> None:
        """Remove a folder and all in it."""
        import shutil  # 5 ms, which a start need not pay.

        try:
            shutil.rmtree(self._at(path))
        except FileNotFoundError:
            return

    def sync_file(self, path: str) -> None:
        """Wait until the disk has the file's bytes."""
        # A descriptor of its own: those of `OpenFiles` are for the thread of the loop.
        fd = os.open(self._at(path), os.O_RDWR | _BINARY | _NO_INHERIT)
        try:
            _sync(fd)
        finally:
            os.close(fd)

    def sync_folder(self, path: str) -> None:
        """Wait until the disk has the folder's entries."""
        _sync_folder(self._at(path))

    def space(self) -> DiskSpace:
        """Of the file system that the root is on."""
        import shutil  # 5 ms, which a start need not pay.

        usage = shutil.disk_usage(self._root)
        return DiskSpace(usage.total, usage.free)

    def lock(self, path: str) -> OsLock:
        """Hold the lock file."""
        return OsLock(self._at(path))


def _write_file(path: str, data: bytes, *, sync: bool) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY | _NO_INHERIT, 0o644)
    try:
        with memoryview(data) as view:
            written = 0
            while written < len(view):
                written += os.write(fd, view[written:])
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)


def _sync_folder(path: str) -> None:
    if sys.platform == "win32":
        return  # A folder cannot be opened there; NTFS journals its entries by itself.
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
